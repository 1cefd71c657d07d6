"""Panel of attackers, each with control runs on randomized twins of the graph, and with the promise of the guarantee.

A twin contains no real relationships, so what an attacker finds by knowledge of the twin does not depend on the data.

References
----------
M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi: A unified framework for quantifying privacy risk in synthetic data
(Anonymeter), 2022: attacks on a control set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, inside
from kgreason.isomorphism.attacks.attack_results import Attack, Attacks, Exposed, Filtered, Promise, Run
from kgreason.isomorphism.attacks.attack_settings import PARTS, SEEDS, Part, Setting, World, induced
from kgreason.isomorphism.attacks.known_parts import (
    LISTED,
    Candidates,
    CandidatesWithoutRules,
    Means,
    Parts,
    candidates,
    draw_parts,
    index_of,
    without_implausible,
)
from kgreason.isomorphism.attacks.known_vertices import (
    draw_seeds,
    guessing,
    judged,
    most_exposed,
    seed_attack,
    vertex_attack,
)
from kgreason.isomorphism.attacks.twin_graphs import redrawn, rewired
from kgreason.isomorphism.utility.edge_detection import synthetic_edges
from kgreason.isomorphism.verification.image_pools import packs, placements, tokens
from kgreason.isomorphism.verification.images import decide
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from kgreason.isomorphism.verification.subgraph_visits import ENDLESS
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import hidden_vertices
from kgreason.release.rates import chances

Ints = npt.NDArray[np.int64]

MOST_OCCURRENCES = 5_000_000  # x-subgraphs of a release examined for one size
FEW = 1 << 8  # occurrences of a class among which images are searched before all are
PATIENCE = 1 << 28  # comparisons for one x-subgraph
# Sets of a release visited if the guarantee does not apply; otherwise as many as `verify` visits.
VISITED = 1 << 28
DEFINED = next(part for part in PARTS if part.name == "part:weights+rules")  # the attacker of the definition


def run_panel(
    setting: Setting, knowledge: Sequence[str], rng: np.random.Generator, progress: Progress = SILENT
) -> Attacks:
    """Attack a release with each kind of knowledge."""
    panel = _Panel(setting, rng, progress)
    attacks: list[Attack] = []
    chosen = [part for part in PARTS if part.name in knowledge]
    for size in setting.sizes:
        attacks += panel.by_parts([part for part in chosen if panel.possible(part)], size)
    vertices = [name for name in knowledge if not name.startswith("part:") and name != SEEDS]
    attacks += map(panel.by_vertices, vertices)
    if SEEDS in knowledge:
        attacks.append(panel.by_seeds())
    return Attacks(setting.k, setting.x, tuple(attacks), panel.filtered, tuple(panel.notes))


class _Panel:
    def __init__(self, setting: Setting, rng: np.random.Generator, progress: Progress) -> None:
        self.setting, self.rng, self.progress = setting, rng, progress
        self.notes: list[str] = []
        original, released, mapping = setting.original, setting.released, setting.mapping
        made = synthetic_edges(original, released, mapping)
        count = int(made.sum()) if setting.drop is None else round(setting.drop * released.m)
        self.rest, dropped = without_implausible(released, count)
        self.filtered = Filtered(released.m, int(dropped.sum()), int(made.sum()), int((dropped & made).sum()))
        self.twin, self.random_twin = rewired(original, rng), redrawn(original, rng)
        self.commute = not hidden_vertices(setting.rules["rules"])
        self.same = np.arange(original.n)
        self.means = Means(setting.rules, MOST_OCCURRENCES)

    @cached_property
    def known(self) -> KnowledgeGraph:
        """Original with the weights known to attackers of x-subgraphs."""
        setting = self.setting
        original = setting.weights == "original"
        return setting.original if original else induced(setting.released, setting.mapping)

    @cached_property
    def known_twin(self) -> KnowledgeGraph:
        """Twin of `known`, so that control subgraphs have the same weights and synthetic edges."""
        return self.twin if self.known is self.setting.original else rewired(self.known, self.rng)

    def by_vertices(self, name: str) -> Attack:
        self.progress.step(f"Attacking with knowledge of {name}")
        n, count = self.setting.original.n, self.setting.targets
        targets = self.same if n <= count else np.sort(self.rng.permutation(n)[:count])
        twin = self.random_twin if name in {"degree", "refinement:0", "refinement:1"} else self.twin
        return vertex_attack(name, self._worlds(twin), targets, n <= count, self.setting.original.labels)

    def by_seeds(self) -> Attack:
        self.progress.step("Attacking with seeds")
        original, seeds = self.setting.original, self.setting.seeds
        seeds = draw_seeds(original, seeds, self.rng) if isinstance(seeds, int) else seeds
        return seed_attack(self._worlds(self.twin), seeds, original.labels)

    def _worlds(self, twin: KnowledgeGraph) -> dict[str, World]:
        original, mapping = self.setting.original, self.setting.mapping
        return {
            "main": World(original, self.setting.released, mapping, original),
            "control": World(twin, self.setting.released, mapping, twin),
            "unprotected": World(original, original, self.same, original),
            "filtered": World(original, self.rest, mapping, original),
        }

    def possible(self, part: Part) -> bool:
        """Whether an attack with this knowledge is possible; if not, a note gives the reason."""
        if part.sees == "other" and "other" not in self.setting.rules:
            return False
        if part.sees == "derived" and self.setting.released.n > LISTED:
            note = f"{part.name} is left out: the release has more than {LISTED:,} vertices"
            self.notes += [note] if note not in self.notes else []
            return False
        return True

    def by_parts(self, rows: Sequence[Part], size: int) -> list[Attack]:
        worlds = self._part_worlds()
        drawn: dict[str, Parts] = {}
        for run, world in worlds.items():
            main = drawn.get("main") if world.drawn is worlds["main"].drawn else None
            drawn[run] = main or draw_parts(world.drawn, size, self.setting.targets, self.rng)
        if rows and not len(drawn["main"].members):
            self.notes.append(f"no connected subgraph has {size} vertices")
            return []
        done: dict[object, Attack] = {}
        attacks = []
        for part in rows:
            if part.key not in done:
                self.progress.step(f"Attacking with knowledge of {size} vertices: {part.formula}")
                done[part.key] = self._by_part(part, size, worlds, drawn)
            attacks.append(replace(done[part.key], knowledge=part.name))
        return attacks

    def _part_worlds(self) -> dict[str, World]:
        setting, original = self.setting, self.setting.original
        whole = original if setting.parts is None else inside(original, setting.parts)
        return {
            "main": World(self.known, setting.released, setting.mapping, whole),
            "control": World(self.known_twin, setting.released, setting.mapping, self.known_twin),
            "unprotected": World(original, original, self.same, whole),
            "filtered": World(self.known, self.rest, setting.mapping, whole),
        }

    def _by_part(
        self, part: Part, size: int, worlds: Mapping[str, World], drawn: Mapping[str, Parts]
    ) -> Attack:
        runs: dict[str, Run] = {}
        promise: Promise | None = None
        exposed: tuple[Exposed, ...] = ()
        total, complete = 0, True
        for run, world in worlds.items():
            members = drawn[run].members
            if not len(members):
                continue
            found = candidates(world, part, self.means, members)
            sizes, right = found.sizes, found.right
            runs[run] = judged(sizes, right, drawn[run].all, found.complete)
            if run == "main":
                reason = _not_covered(part, size, self.setting.x, self.commute, self.setting.weights)
                promise = _promise(found, world, part, self.setting.rules, self.setting.k, reason)
                total, complete = found.total, found.complete
                exposed = self._exposed(members, chances(sizes, right))
        runs["naive"] = guessing(total, runs["main"].targets, drawn["main"].all, complete)
        return Attack(part.name, size, runs, exposed, promise)

    def _exposed(self, members: Ints, chance: npt.NDArray[np.float64]) -> tuple[Exposed, ...]:
        best = np.zeros(self.setting.original.n)
        np.maximum.at(best, members, chance[:, None])
        return most_exposed(self.same, best, self.setting.original.labels)


def _not_covered(part: Part, size: int, sizes: Sequence[int], commute: bool, weights: str) -> str:
    """Reason why Definition 4.1 does not protect against knowledge of an x-subgraph; empty if it does.

    For the sizes of the guarantee it protects against attackers who know Σ, and so against those who know less. A
    smaller subgraph lies in one of a guaranteed size, and its images in the images of that: they have the same edges,
    so that rules which see no weights derive the same, and edges derived from the smaller subgraph are present as well.
    Only attackers who know Σ and weights may distinguish the smaller subgraphs, if the rules do not commute
    (Proposition 4.1). The definition covers neither other rules with weights nor edges derived from weights other than
    the ``"released"`` ones. The result is equal for rows of Table 4 with equal keys.
    """
    if part.sees == "other" and part.weighted:
        return "other rules"
    if weights != "released" and (part.sees == "derived" or part.key[1]):
        return "original weights"
    if size > max(sizes):
        return f"x' > {max(sizes)}"
    if part.sees == "rules" and part.weighted and not commute and size not in sizes:
        return f"x' < {min(sizes)}" if size < min(sizes) else f"x' = {size}"
    return ""


def _promise(
    found: Candidates, world: World, part: Part, rules: Mapping[str, CheckedProgram], k: int, reason: str
) -> Promise:
    """Count the x-subgraphs with k candidates that pairwise share no vertex and no degree at any position."""
    right = np.flatnonzero(found.right)
    if isinstance(found, CandidatesWithoutRules):
        resisted, undecided = _decided_without_rules(found, world, rules, k, covered=not reason)
    else:
        rows = world.truth[found.parts[right]]
        resisted, undecided = _decided(rows, world, part, rules, k, covered=not reason)
    return Promise(reason, len(found.parts) - len(right) + resisted, undecided, len(found.parts))


def _decided(
    rows: Ints, world: World, part: Part, rules: Mapping[str, CheckedProgram], k: int, *, covered: bool
) -> tuple[int, int]:
    """Number of occurrences with images in the whole release, and number of those given up."""
    if not len(rows):
        return 0, 0
    most = ENDLESS if covered else VISITED
    outcome = decide(index_of(world.released, part, rules), rows.shape[1], rows, k, SILENT, most=most)
    return outcome.satisfied, outcome.undecided


def _decided_without_rules(
    found: CandidatesWithoutRules, world: World, rules: Mapping[str, CheckedProgram], k: int, *, covered: bool
) -> tuple[int, int]:
    """As `_decided` for an attacker without rules, among the examined occurrences."""
    # If not all occurrences were examined, k of them suffice, but fewer are inconclusive. If the definition covers the
    # attacker, images for an attacker who also knows the rules are images for this one.
    right = np.flatnonzero(found.right)
    traits = ReleaseIndex(world.released, rules["rules"]).traits
    status = np.array([_apart(found, world, traits, i, k - 1) for i in right.tolist()], dtype=np.int64)
    resisted = int((status == 1).sum())
    if found.complete:
        return resisted, int((status == -1).sum())
    if covered:
        rest = world.truth[found.parts[right[status != 1]]]
        resisted += _decided(rest, world, DEFINED, rules, k, covered=covered)[0]
    return resisted, len(right) - resisted


def _apart(found: CandidatesWithoutRules, world: World, traits: Ints, i: int, need: int) -> int:
    """Whether `need` candidates are apart from the true occurrence and each other: 1, 0, or -1 given up."""
    target = world.truth[found.parts[i]][found.order[i]]
    own = np.arange(len(target))[None, :]
    for most in (FEW, None):
        fit = placements(target, found.placed(i, most), own, traits)
        status = packs(tokens(fit, traits), need, PATIENCE)[0] if len(fit) else int(need == 0)
        if status == 1:
            break
    return status
