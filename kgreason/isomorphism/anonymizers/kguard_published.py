"""KGUARD, published mode: use the isomorphic subgraphs of the graph, and add copies only where there are too few.

It provides images for k chosen members of each bucket only, so item 4 of Definition 4.1 may fail for other members; the
checker reports how many. Line 11 is read in its weaker form: vertices at the same position of chosen members differ in
degree, not all vertices related by a chain of isomorphisms (`degree_diversity.images`).

References
----------
KGISO, Algorithm 3; docs/methods/kguard.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.subgraphs.enumeration import attacked_subgraphs
from kgreason.graph.subgraphs.patterns import classify
from kgreason.isomorphism.anonymizers.assembly import Edges, Pairs, assemble, both_ways, is_symmetric
from kgreason.isomorphism.anonymizers.augmentation import Copied, copied_edges, reweighed
from kgreason.isomorphism.anonymizers.degree_diversity import Diversifier
from kgreason.isomorphism.anonymizers.klone import (
    check_diversity,
    check_k,
    check_vertices,
    check_x,
    ties_to_largest,
)
from kgreason.isomorphism.anonymizers.natural_cover import choose_disjoint
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PublishedKguard:
    """Anonymizer for one x, in published mode.

    Attributes
    ----------
    k
        Number of disjoint isomorphic subgraphs to provide.
    x
        Number of vertices of an attacked subgraph, at most 6; smaller components are attacked as a whole.
    trials
        Number M of weight draws, the best of which is kept.
    max_subgraphs
        Graphs with more connected subgraphs are refused.
    """

    k: int = 3
    x: int = 4
    trials: int = 10
    max_subgraphs: int = 10_000_000

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make the augmented graph of Algorithm 3.

        Raises
        ------
        AnonymizationError
            If k or x is out of range, there are more than `max_subgraphs` subgraphs, weights lie outside
            [0, 1], or the graph has vertices but no relation.
        """
        check_k(self.k)
        check_x(self.x, graph)
        noising = WeightNoising.fit(graph, rules, self.trials)
        progress.step("Counting subgraphs")
        groups = attacked_subgraphs(graph, self.x, self.max_subgraphs)
        noised = noising.originals(rng, progress)
        build = _Build(noised, self.k, rng)
        for members in groups:
            progress.step(f"Classifying subgraphs of {members.shape[1]} vertices", len(members))
            build.fill(rules, members, progress)
        progress.note(f"{len(build.buckets):,} classes, {build.copied_subgraphs:,} copies of members")
        symmetric = is_symmetric(graph)
        ties = ties_to_largest(noised, (copy for _, copy in build.copied), rng)
        degrees = build.degrees(both_ways(ties) if symmetric else ties)
        diversifier = Diversifier(noised, build.buckets, degrees, ties, self.x, rng, symmetric=symmetric)
        diversifier.run(progress)
        source = np.concatenate([ties[0], np.array(diversifier.source, dtype=np.int64)])
        target = np.concatenate([ties[1], np.array(diversifier.target, dtype=np.int64)])
        copies = reweighed(noised, build.copied, build.copies(), noising, rng)
        augmented, fixed = assemble(noised, diversifier.n, copies, (source, target), rng, symmetric=symmetric)
        check_diversity(augmented, build.buckets)
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "subgraphs": sum(map(len, groups)),
            "classes": len(build.buckets),
            "copied_subgraphs": build.copied_subgraphs,
            "vertices_added": augmented.n - graph.n,
            "edges_added": augmented.m - graph.m,
            "synthetic_edges": augmented.m - sum(fixed.values()),
            "new_vertices": diversifier.n - build.n,
        }
        weighed = noising.synthetic(augmented, fixed, rng, progress)
        return Augmented(weighed, Guarantee(self.k, self.x), figures, originals=graph.n)


@dataclass(eq=False)
class _Build:
    """Chosen subgraphs, with copies where a bucket has too few disjoint members."""

    graph: KnowledgeGraph
    k: int
    rng: np.random.Generator
    buckets: list[Rows] = field(default_factory=list)
    copied: Copied = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.graph.n
        self.copied_subgraphs = 0

    def fill(self, rules: CheckedProgram, members: Rows, progress: Progress) -> None:
        """Bucket subgraphs of one size and choose k of each bucket."""
        classes = classify(self.graph, rules, members, progress)
        degrees = (self.graph.in_degree(), self.graph.out_degree())
        for found in choose_disjoint(classes, self.k, degrees, self.rng):
            lacking, size = self.k - len(found), found.shape[1]
            if lacking:
                check_vertices(self.n + lacking * size)
                model = found[self.rng.integers(0, len(found), lacking)]
                copy = self.n + np.arange(lacking * size, dtype=np.int64).reshape(lacking, size)
                self.copied.append((model, copy))
                self.copied_subgraphs += lacking
                self.n += copy.size
                found = np.concatenate([found, copy])
            self.buckets.append(found)

    def copies(self) -> dict[str, Edges]:
        return {name: copied_edges(r, self.graph.n, self.copied) for name, r in self.graph.relations.items()}

    def degrees(self, ties: Pairs) -> tuple[Vertices, Vertices]:
        copied = self.copies().values()
        found = []
        for phi, real in ((1, self.graph.in_degree()), (0, self.graph.out_degree())):
            ends = [ties[phi], *((c.target if phi else c.source) for c in copied)]
            more = np.bincount(np.concatenate(ends), minlength=self.n)
            more[: self.graph.n] += real
            found.append(more.astype(np.int64))
        return found[0], found[1]
