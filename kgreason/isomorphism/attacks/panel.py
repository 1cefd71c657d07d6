"""Panel of attackers, each with control runs on randomized twins of the graph.

A twin contains no real relationships, so what an attacker finds by knowledge of the twin does not depend on the data.

References
----------
M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi: A unified framework for quantifying privacy risk in synthetic data
(Anonymeter), 2022: attacks on a control set. S. Maslov, K. Sneppen: Specificity and stability in topology of protein
networks, Science 296, 2002: rewiring that keeps degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, inside
from kgreason.isomorphism.attacks.attack_results import Attack, Attacks, Exposed, Promise, Run
from kgreason.isomorphism.attacks.attack_settings import PARTS, SEEDS, Part, Setting, World, induced
from kgreason.isomorphism.attacks.known_parts import (
    LISTED,
    Means,
    Parts,
    candidates,
    draw_parts,
    synthetic,
    without_implausible,
)
from kgreason.isomorphism.attacks.known_parts import judged as judged_edges
from kgreason.isomorphism.attacks.known_vertices import (
    draw_seeds,
    guessing,
    judged,
    most_exposed,
    seed_attack,
    vertex_attack,
)
from kgreason.isomorphism.attacks.promise import kept, unpromised
from kgreason.language.check.genericity import hidden_vertices

Ints = npt.NDArray[np.int64]
Change = Callable[[Ints, Ints, int, np.random.Generator, bool], tuple[Ints, Ints]]
"""Of sources, targets, the number of vertices, a generator, and whether direction does not matter."""

SWAPS = 10  # attempted swaps per edge
DRAWS = 20  # attempts to redraw the ends of loops and duplicate edges


def rewired(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Swap the sources of random pairs of edges: each vertex keeps its in- and out-degree in each relation.

    A weight stays with the target, so sums of incoming weights are preserved. A symmetric relation (with the reverse of
    each edge) stays symmetric; its weights stay with the edges. No loop and no parallel edge is created.
    """
    return _each(graph, rng, _swap)


def redrawn(graph: KnowledgeGraph, rng: np.random.Generator) -> KnowledgeGraph:
    """Redraw the ends of all edges uniformly: only the numbers of vertices and edges and the weights are kept."""
    return _each(graph, rng, _draw)


def _each(graph: KnowledgeGraph, rng: np.random.Generator, change: Change) -> KnowledgeGraph:
    relations = {}
    for name, r in graph.relations.items():
        half = _half(r, graph.n)
        if half is None:
            source, target = change(r.source, r.target, graph.n, rng, False)
            relations[name] = replace(r, source=source, target=target)
        else:
            forth, back = half
            source, target = change(r.source[forth], r.target[forth], graph.n, rng, True)
            weight = None if r.weight is None else r.weight[np.concatenate([forth, back])]
            ends = np.concatenate([source, target]), np.concatenate([target, source])
            relations[name] = Relation(*ends, weight, r.columns)
    return replace(graph, relations=relations)


def _half(r: Relation, n: int) -> tuple[Ints, Ints] | None:
    """Edges and their reverses if the relation is symmetric without duplicates, else `None`."""
    keys, mirrored = r.source * n + r.target, r.target * n + r.source
    forth = np.flatnonzero(r.source < r.target)
    order = np.argsort(keys)
    if 2 * len(forth) != len(r) or len(np.unique(keys)) != len(r):
        return None
    place = np.searchsorted(keys[order], mirrored[forth])
    back = order[np.minimum(place, len(r) - 1)] if len(r) else order
    return (forth, back) if np.array_equal(keys[back], mirrored[forth]) else None


def _swap(
    source: Ints, target: Ints, n: int, rng: np.random.Generator, undirected: bool
) -> tuple[Ints, Ints]:
    source, target = source.copy(), target.copy()
    half = len(source) // 2
    for _ in range(SWAPS):
        if undirected:  # the end that counts as the source is drawn for each swap
            turned = rng.random(len(source)) < 0.5
            source[turned], target[turned] = target[turned], source[turned]
        order = rng.permutation(len(source))
        a, b = order[:half], order[half : 2 * half]
        new = np.concatenate(
            [_keys(source[b], target[a], n, undirected), _keys(source[a], target[b], n, undirected)]
        )
        fine = ~np.isin(new, _keys(source, target, n, undirected)) & _single(new)
        fine &= np.concatenate([source[b] != target[a], source[a] != target[b]])
        both = fine[:half] & fine[half:]
        a, b = a[both], b[both]
        source[a], source[b] = source[b], source[a]
    return source, target


def _draw(old: Ints, _target: Ints, n: int, rng: np.random.Generator, undirected: bool) -> tuple[Ints, Ints]:
    source, target = rng.integers(0, n, size=(2, len(old)))
    for _round in range(DRAWS):
        again = np.ones(len(old), dtype=np.bool_)
        again[np.unique(_keys(source, target, n, undirected), return_index=True)[1]] = False
        again |= source == target
        if not again.any():
            break
        source[again], target[again] = rng.integers(0, n, size=(2, int(again.sum())))
    return source, target


def _keys(source: Ints, target: Ints, n: int, undirected: bool) -> Ints:
    if undirected:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return source * n + target


def _single(keys: Ints) -> npt.NDArray[np.bool_]:
    _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    single: npt.NDArray[np.bool_] = (count == 1)[place.reshape(-1)]
    return single


PLACES = 5_000_000  # maximum number of x-subgraphs of a release examined for one size


def run_panel(
    setting: Setting, knowledge: Sequence[str], rng: np.random.Generator, progress: Progress = SILENT
) -> Attacks:
    """Attack a release with each kind of knowledge."""
    panel = _Panel(setting, rng, progress)
    attacks: list[Attack] = []
    chosen = [part for part in PARTS if part.name in knowledge]
    for size in setting.sizes:
        attacks += panel.by_parts([part for part in chosen if panel.possible(part)], size)
    attacks += [
        panel.by_vertices(name) for name in knowledge if not name.startswith("part:") and name != SEEDS
    ]
    if SEEDS in knowledge:
        attacks.append(panel.by_seeds())
    return Attacks(setting.k, setting.x, tuple(attacks), panel.filtered, tuple(panel.notes))


class _Panel:
    def __init__(self, setting: Setting, rng: np.random.Generator, progress: Progress) -> None:
        self.setting, self.rng, self.progress = setting, rng, progress
        self.notes: list[str] = []
        original, released, mapping = setting.original, setting.released, setting.mapping
        made = synthetic(original, released, mapping)
        count = int(made.sum()) if setting.drop is None else round(setting.drop * released.m)
        self.rest, gone = without_implausible(released, count)
        self.filtered = judged_edges(gone, made)
        self.twin, self.random_twin = rewired(original, rng), redrawn(original, rng)
        self.commute = not hidden_vertices(setting.rules["rules"])
        self.same = np.arange(original.n)
        self.means = Means(setting.rules, PLACES)

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
        given = self.setting.seeds
        seeds = draw_seeds(self.setting.original, given, self.rng) if isinstance(given, int) else given
        return seed_attack(self._worlds(self.twin), seeds, self.setting.original.labels)

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
            same = drawn.get("main") if world.drawn is worlds["main"].drawn else None
            drawn[run] = same or draw_parts(world.drawn, size, self.setting.targets, self.rng)
        if rows and not len(drawn["main"].members):
            self.notes.append(f"no connected part has {size} vertices")
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
            right = found.right
            runs[run] = judged(found.sizes, right, drawn[run].all, found.complete)
            if run == "main":
                reason = unpromised(part, size, self.setting.x, self.commute, self.setting.weights)
                promise = kept(found, world, part, self.setting.rules, self.setting.k, reason)
                total, complete = found.total, found.complete
                exposed = self._exposed(members, np.where(right, 1 / np.maximum(found.sizes, 1), 0.0))
        runs["naive"] = guessing(total, runs["main"].targets, drawn["main"].all, complete)
        return Attack(part.name, size, runs, exposed, promise)

    def _exposed(self, members: Ints, sure: npt.NDArray[np.float64]) -> tuple[Exposed, ...]:
        best = np.zeros(self.setting.original.n)
        np.maximum.at(best, members, np.repeat(sure[:, None], members.shape[1], axis=1))
        return most_exposed(self.same, best, self.setting.original.labels)
