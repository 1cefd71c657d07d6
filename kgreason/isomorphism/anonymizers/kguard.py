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
from dataclasses import dataclass

import numpy as np

from kgreason.base import memory
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.enumeration import small_components
from kgreason.graph.subgraphs.member_pools import MOST
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Pairs, assemble, is_symmetric, ties_to_largest
from kgreason.isomorphism.anonymizers.augmentation import Augmentation, ForbiddenDegrees
from kgreason.isomorphism.anonymizers.frequent_degrees import FrequentDegrees
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.template_copies import TemplateCopies
from kgreason.isomorphism.anonymizers.weight_density import forget_tables
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

_ATTEMPTS = 4  # attempts to find small additions, if there is time
_LITTLE = 24  # number of added vertices and edges that is not worth another attempt
_FREE, _RAISED, _ROUNDS = (
    6,
    12,
    16,
)  # repair rounds in which hosts may be original, degrees be raised, and in total
_EFFORT = 8_000_000  # subgraphs to examine in all attempts together
_VERTEX_EFFORT = 50  # cost of a vertex, in subgraphs

Lacks = Sequence[tuple[Cover, Lack]]


@dataclass(frozen=True)
class Kguard:
    """Anonymizer for the subgraphs of given sizes, at most 6; smaller components are attacked as a whole.

    With `degrees`, at least k vertices have each pair of in- and out-degree, as far as that is possible.
    """

    k: int
    sizes: tuple[int, ...]
    trials: int
    max_subgraphs: int
    degrees: bool = False

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for each x; `max_subgraphs` of a size are allowed."""
        if self.k - 1 > MOST:
            raise AnonymizationError(
                f"KGUARD handles k up to {MOST + 1}, not {self.k}", hint="KLONE handles every k"
            )
        noising = WeightNoising.fit(graph, rules, self.trials)
        noised = noising.originals(rng, progress)
        reasoner = InducedReasoner(noised, rules)
        covers = self._covers(noised, reasoner, rng, progress)
        total = sum(cover.count for cover in covers)
        search = _AdditionSearch(noising, noised, reasoner, covers, self.k, rng, progress, self.degrees)
        least = search.least(_EFFORT // max(1, total + _VERTEX_EFFORT * graph.n))
        if least is None:
            progress.note("KLONE adds no more than this would: it is used instead")
            return Klone(self.k, self.trials).augment(graph, rules, rng, progress)
        edges, ties = least.edges(), least.ties
        augmented, fixed = assemble(noised, least.n, edges, ties, rng, symmetric=least.symmetric)
        # the images are valid for these degrees only
        if (augmented.in_degree() != least.inner).any() or (augmented.out_degree() != least.outer).any():
            raise RuntimeError("KGUARD lost count of degrees")
        classes = sum(len(cover.catalogue.forms) for cover in covers)
        del search, covers, reasoner, least  # large, and not needed to draw weights
        memory.give_back()
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "subgraphs": total,
            "classes": classes,
            "vertices_added": augmented.n - graph.n,
            "edges_added": augmented.m - graph.m,
            "synthetic_edges": augmented.m - sum(fixed.values()),
        }
        weighed = noising.synthetic(augmented, fixed, rng, progress)
        forget_tables()
        *also, x = sorted(self.sizes)
        known = noising.judge.known
        return Augmented(
            weighed, Guarantee(self.k, x, tuple(also)), figures, originals=graph.n, answers=known
        )

    def _covers(
        self, graph: KnowledgeGraph, reasoner: InducedReasoner, rng: np.random.Generator, progress: Progress
    ) -> list[Cover]:
        need, covers = self.k - 1, []
        whole = {rows.shape[1]: rows for rows in small_components(graph, max(self.sizes))}
        for x in sorted({*self.sizes, *whole}):
            progress.step(f"Classifying subgraphs of {x} vertices")
            targets, limit = (None, self.max_subgraphs) if x in self.sizes else (whole[x], None)
            covers.append(Cover(graph, reasoner, x, targets, need, rng, limit))
        return [cover for cover in covers if cover.count]


@record(eq=False)
class _AdditionSearch:
    """Search for additions to a graph with new weights; `covers` are its subgraphs, by size, that need images."""

    noising: WeightNoising
    graph: KnowledgeGraph
    reasoner: InducedReasoner
    covers: Sequence[Cover]
    k: int
    rng: np.random.Generator
    progress: Progress
    frequent: bool  # whether each pair of degrees is to be frequent

    def least(self, attempts: int) -> Augmentation | None:
        """Smallest additions of some attempts; `None` if KLONE adds less."""
        best: Augmentation | None = None
        attempts = max(1, min(_ATTEMPTS, attempts))
        ties = ties_to_largest(self.graph, (), self.rng)
        neighbours = undirected(self.graph)
        start = self._augmentation(ties, neighbours)
        little = _LITTLE - start.added
        if self.frequent:
            FrequentDegrees(start, self.k, self.rng).raise_rare()
        first, little = self._lacks(start), little + start.added
        for number in range(attempts):
            self.progress.step(f"Making images, attempt {number + 1} of {attempts}")
            augmentation = self._augmentation(start.ties, neighbours)
            augmentation.raise_to(start.inner, start.outer)
            best = self._attempt(augmentation, first, best) or best
            if best is not None and best.added <= little:
                break
        if best is not None:
            vertices = best.n - self.graph.n
            made = "make all images, and all degrees frequent" if self.frequent else "make all images"
            self.progress.note(f"{vertices:,} vertices and {best.added - vertices:,} edges {made}")
        return best

    def _augmentation(self, ties: Pairs, neighbours: Pairs) -> Augmentation:
        graph, bounds = self.graph, self.noising.program.incoming_sums
        x, symmetric = max(cover.x for cover in self.covers), is_symmetric(graph)
        augmentation = Augmentation(graph, x, bounds, self.rng, symmetric=symmetric, neighbours=neighbours)
        for source, target in zip(*(ends.tolist() for ends in ties), strict=True):
            augmentation.tie(source, target)
        return augmentation

    def _lacks(self, augmentation: Augmentation) -> Lacks:
        degrees = augmentation.inner, augmentation.outer
        return [(cover, cover.lack(degrees, self.progress)) for cover in self.covers]

    def _attempt(
        self, augmentation: Augmentation, lacks: Lacks, best: Augmentation | None
    ) -> Augmentation | None:
        """Additions after which no images lack; `None` if they exceed the best so far, or those of KLONE."""
        graph = self.graph
        copies = TemplateCopies(self.noising, graph, self.reasoner, augmentation, self.rng)
        most = (self.k - 1) * (graph.n + graph.m) if best is None else best.added
        for cover in self.covers:
            cover.forget()
        originals = np.arange(graph.n, dtype=np.int64)
        degrees = FrequentDegrees(augmentation, self.k, self.rng)
        for turn in range(_ROUNDS):
            lacking = any(len(lack.members) for _, lack in lacks)
            done = not lacking and not any(augmentation.open)
            if done and not self.frequent:
                return augmentation
            for cover, lack in lacks:
                cover.rely(lack)
            augmentation.forbidden = ForbiddenDegrees.of(
                (augmentation.inner, augmentation.outer), lacks, originals
            )
            if done and (turn >= _RAISED or not degrees.raise_rare()):
                degrees.complete()
                return augmentation
            if lacking:
                copies.make(lacks, keep_degrees=turn >= _FREE)
            elif not done:
                augmentation.settle()
            if augmentation.added >= most:
                return None
            lacks = self._lacks(augmentation)
        return None
