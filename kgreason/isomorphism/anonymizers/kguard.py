"""KGUARD, exact mode: every attacked subgraph gets its images, most of them without any addition.

Nearly all subgraphs have k - 1 images in the graph itself (*natural cover*). For the others, members of their classes
are made by copies of a template that contains them all. Images invalidated by an addition are detected and repaired
until no subgraph lacks images.

References
----------
KGISO, Definition 4.1; docs/methods/kguard.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kgreason.base import memory
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Weights
from kgreason.graph.subgraphs.enumeration import connected_subgraphs, small_components
from kgreason.graph.subgraphs.member_pools import MOST
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Pairs, assemble, is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.edge_plausibility import plausible_joins
from kgreason.isomorphism.anonymizers.forbidden_degrees import ForbiddenDegrees
from kgreason.isomorphism.anonymizers.frequent_degrees import FrequentDegrees
from kgreason.isomorphism.anonymizers.joined_images import JoinedImages
from kgreason.isomorphism.anonymizers.kept_additions import released_weights, with_kept
from kgreason.isomorphism.anonymizers.klone import Klone, least_additions
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.plans import MORE, PlanJudge, choose, unique_degrees
from kgreason.isomorphism.anonymizers.template_copies import TemplateCopies
from kgreason.isomorphism.anonymizers.weight_density import forget_tables
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Earlier, Guarantee, Plan
from kgreason.isomorphism.settings import MAX_STORED
from kgreason.language.check.checked_program import CheckedProgram

_ATTEMPTS = 4  # attempts to find small additions, if there is time
_AMPLE, _MORE_ATTEMPTS = 60, 8  # affordable attempts from which there are more, and how many
_FACT_COSTS = 1.0, 0.3  # cost of a false fact, in edges, in the attempts by turns
_LATE = 64  # components at most that are joined by edges that images need, where possible
_LITTLE = 24  # number of added vertices and edges that is not worth another attempt
_FREE, _RAISED = 6, 12  # repair rounds in which hosts may be original, and in which degrees may be raised
_ROUNDS = 18  # repair rounds in total
_EFFORT = 8_000_000  # subgraphs to examine in all attempts together
_VERTEX_EFFORT = 50  # cost of a vertex, in subgraphs

Lacks = Sequence[tuple[Cover, Lack]]


@dataclass(frozen=True)
class Kguard:
    """Anonymizer for the subgraphs of given sizes, at most 6; smaller components are attacked as a whole.

    With `degrees`, at least k vertices have each pair of in- and out-degree, as far as that is possible. After an
    `earlier` release, its additions stay (module `kept_additions`); copies are followed by copies. Subgraphs that did
    not change keep their images over the releases of a `window`, where that is possible. New weights have the
    distribution of the `weights` instead of the graph's, if there are any.
    """

    k: int
    sizes: tuple[int, ...]
    trials: int
    max_subgraphs: int
    plans: int | None = None
    degrees: bool = False
    earlier: Earlier | None = None
    window: Sequence[Earlier] = ()
    weights: Weights | None = None

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for each x; `max_subgraphs` of a size are allowed."""
        if self.k - 1 > MOST:
            raise AnonymizationError(
                f"KGUARD handles k up to {MOST + 1}, not {self.k}", hint="KLONE handles every k"
            )
        if self.earlier is not None and self.earlier.copies:
            return Klone(self.k, self.trials, self.earlier, self.weights).augment(graph, rules, rng, progress)
        noising = WeightNoising.fit(graph, rules, self.trials, self.weights)
        if self.earlier is None:
            noised, serials = noising.originals(rng, progress), None
        else:
            before = released_weights(graph, self.earlier)
            noised = noising.originals(rng, progress, before)
            noised, serials = with_kept(noised, self.earlier, before, noising, max(self.sizes), rng)
        reasoner = InducedReasoner(noised, rules)
        covers = self._covers(graph, noised, reasoner, rng, progress)
        joined = None
        if self.window and serials is not None:
            attacked = [cover.attacked[0] for cover in covers]
            series = graph, noised, serials, self.window
            joined = JoinedImages(*series, rules, attacked, self.k - 1, rng)
        total = sum(cover.count for cover in covers)
        judge = PlanJudge(graph, rules)
        judged = judge.derives, self.degrees
        search = _AdditionSearch(noising, noised, reasoner, covers, self.k, *judged, rng, progress, joined)
        found = search.plans(self.plans, _EFFORT // max(1, total + _VERTEX_EFFORT * noised.n))
        if not found:
            progress.note("no release is found that adds less than KLONE may: KLONE is used")
            return Klone(self.k, self.trials, self.earlier, self.weights).augment(graph, rules, rng, progress)
        classes = sum(len(cover.catalogue.forms) for cover in covers)
        outdone = search.outdone
        del search, covers, reasoner  # large, and not needed either
        memory.give_back()
        weighing = noising.judging_derived() if judge.derives else noising
        made = []
        while found:
            made.append(_weighed(noised, found.pop(0), weighing, rng, progress))
        plans = [judge.plan(augmented) for augmented, _ in made]
        best = choose(plans)
        plans[best] = replace(plans[best], chosen=True)
        plans = [*outdone, *plans]
        augmented, copied = made[best]
        vertices, edges = augmented.n - graph.n, augmented.m - graph.m
        made_so = "make all images" + ", and all degrees frequent" * self.degrees
        progress.note(f"{vertices:,} vertices and {edges:,} edges {made_so}")
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "subgraphs": total,
            "classes": classes,
            "vertices_added": vertices,
            "edges_added": edges,
            "synthetic_edges": augmented.m - copied,
        }
        forget_tables()
        *also, x = sorted(self.sizes)
        guarantee, known = Guarantee(self.k, x, tuple(also)), noising.judge.known
        if serials is not None:
            new = np.arange(augmented.n - noised.n)
            assert self.earlier is not None
            serials = np.append(serials, 1 + self.earlier.last + new)
        return Augmented(
            augmented,
            guarantee,
            figures,
            originals=graph.n,
            answers=known,
            plans=plans,
            serials=serials,
        )

    def _covers(
        self,
        original: KnowledgeGraph,
        graph: KnowledgeGraph,
        reasoner: InducedReasoner,
        rng: np.random.Generator,
        progress: Progress,
    ) -> list[Cover]:
        """Attacked subgraphs of the original, of each size, in the graph that has additions already."""
        need, covers = self.k - 1, []
        whole = {rows.shape[1]: rows for rows in small_components(original, max(self.sizes))}
        for x in sorted({*self.sizes, *whole}):
            progress.step(f"Classifying subgraphs of {x} vertices")
            targets, limit = (None, self.max_subgraphs) if x in self.sizes else (whole[x], None)
            if targets is None and self.earlier is not None:
                targets = connected_subgraphs(original, x, min(self.max_subgraphs, MAX_STORED))
            covers.append(Cover(graph, reasoner, x, targets, need, rng, limit))
        return [cover for cover in covers if cover.count]


def _weighed(
    noised: KnowledgeGraph,
    augmentation: Augmentation,
    noising: WeightNoising,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[KnowledgeGraph, int]:
    """Augmented graph, and its number of edges that are originals or copies."""
    edges, ties = augmentation.edges(), augmentation.ties
    augmented, fixed = assemble(noised, augmentation.n, edges, ties, rng, symmetric=augmentation.symmetric)
    # the images are valid for these degrees only
    inner, outer = augmented.in_degree(), augmented.out_degree()
    if (inner != augmentation.inner).any() or (outer != augmentation.outer).any():
        raise RuntimeError("KGUARD lost count of degrees")
    del augmentation, edges, ties, inner, outer  # large, and not needed to draw weights
    return noising.synthetic(augmented, fixed, rng, progress), sum(fixed.values())


def _outdone(larger: Augmentation, n: int) -> Plan:
    vertices = larger.n - n
    unique = unique_degrees(larger.inner, larger.outer)
    return Plan(vertices, larger.added - vertices, None, None, None, unique)


@record(eq=False)
class _AdditionSearch:
    """Search for additions to a graph with new weights; `covers` are its subgraphs, by size, that need images.

    `derives`: whether the false facts that additions cause are judged; `frequent`: whether each pair of degrees is to
    be frequent; `joined`: images over the releases of a series; `outdone`: complete plans that smaller ones have
    replaced.
    """

    noising: WeightNoising
    graph: KnowledgeGraph
    reasoner: InducedReasoner
    covers: Sequence[Cover]
    k: int
    derives: bool
    frequent: bool
    rng: np.random.Generator
    progress: Progress
    joined: JoinedImages | None = None
    outdone: list[Plan] = field(default_factory=list)

    def plans(self, count: int | None, affordable: int) -> list[Augmentation]:
        """Complete additions of some attempts, at most 10 % more than the fewest before; none if KLONE may add less.

        By default there are as many attempts as are `affordable`, up to a limit.
        """
        found: list[Augmentation] = []
        number = 0
        most_attempts = _MORE_ATTEMPTS if self.derives and affordable >= _AMPLE else _ATTEMPTS
        count = count or max(1, min(most_attempts, affordable))
        neighbours = undirected(self.graph)
        starts = [
            self._start(_LATE, neighbours)
        ]  # the last attempt joins all components first: better if tiny
        if starts[0][0].parts.count > 1:
            starts.append(self._start(0, neighbours))
        most = least_additions(self.graph, self.k)
        while number < count or (not found and number < len(starts)):
            self.progress.step(f"Making images, attempt {number + 1} of {max(count, number + 1)}")
            start, first, little = starts[-1 if 0 < number >= count - 1 else 0]
            augmentation = self._augmentation(start.ties, neighbours)
            augmentation.raise_to(start.inner, start.outer)
            cost = _FACT_COSTS[number % len(_FACT_COSTS)] if self.derives else 0.0
            number += 1
            made = self._attempt(augmentation, first, most, cost)
            if made is None:
                continue
            if (
                found and not self.derives
            ):  # of which only the size matters, and a large graph has no room for several
                self.outdone.append(_outdone(found.pop(), self.graph.n))
            found.append(made)
            most = min(most, int(MORE * made.added) + 1 if self.derives else made.added)
            if not self.derives and made.added <= little:
                break
        return found

    def _start(self, leave: int, neighbours: Pairs) -> tuple[Augmentation, Lacks, int]:
        """Augmentation with edges that join all but some components, what lacks images, and what is little to add."""
        ties = plausible_joins(self.graph, self.rng, symmetric=is_symmetric(self.graph), leave=leave)
        start = self._augmentation(ties, neighbours)
        little = _LITTLE - start.added
        if self.frequent:
            FrequentDegrees(start, self.k, self.rng).raise_rare()
        return start, self._lacks(start), little + start.added

    def _augmentation(self, ties: Pairs, neighbours: Pairs) -> Augmentation:
        graph, bounds = self.graph, self.noising.program.incoming_sums
        x, symmetric = max(cover.x for cover in self.covers), is_symmetric(graph)
        # plausible partners make about a fifth more false facts on small registers, which are judged
        augmentation = Augmentation(
            *(graph, x, bounds, self.rng),
            symmetric=symmetric,
            neighbours=neighbours,
            plausible=not self.derives,
        )
        for source, target in zip(*(ends.tolist() for ends in ties), strict=True):
            augmentation.tie(source, target)
        return augmentation

    def _lacks(self, augmentation: Augmentation) -> Lacks:
        degrees = augmentation.inner, augmentation.outer
        return [(cover, cover.lack(degrees, self.progress)) for cover in self.covers]

    def _attempt(
        self, augmentation: Augmentation, lacks: Lacks, most: int, fact_cost: float
    ) -> Augmentation | None:
        """Additions after which no images lack; `None` if they are not fewer than `most`."""
        graph = self.graph
        copies = TemplateCopies(self.noising, graph, self.reasoner, augmentation, self.rng, fact_cost)
        for cover in self.covers:
            cover.forget()
        originals = np.arange(graph.n, dtype=np.int64)
        degrees = FrequentDegrees(augmentation, self.k, self.rng)
        for turn in range(_ROUNDS):
            lacking = any(len(lack.members) for _, lack in lacks)
            settled = not lacking and not any(augmentation.open)
            joined = augmentation.parts.count == 1
            if settled and joined and not self.frequent and self.joined is None:
                return augmentation
            for cover, lack in lacks:
                cover.rely(lack)
            augmentation.forbidden = ForbiddenDegrees.of(
                (augmentation.inner, augmentation.outer), lacks, originals
            )
            if lacking:
                copies.make(lacks, keep_degrees=turn >= _FREE)
            elif not settled:
                augmentation.settle()
            elif not joined:
                augmentation.join()
            elif self.joined is not None:
                if turn >= _RAISED or not self.joined.raise_lacking(augmentation):
                    return augmentation
                augmentation.settle()
            elif turn >= _RAISED or not degrees.raise_rare():
                degrees.complete()
                return augmentation
            if augmentation.added >= most:
                return None
            lacks = self._lacks(augmentation)
        return None
