"""KLONE: k copies of the graph, connected by synthetic edges that give the copies of a vertex different degrees.

References
----------
KGISO, Algorithm 1; docs/methods/klone.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.assembly import (
    Edges,
    Pairs,
    assemble,
    check_diversity,
    check_vertices,
    is_symmetric,
)
from kgreason.isomorphism.anonymizers.copy_ties import copy_ties
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram


@dataclass(frozen=True)
class Klone:
    """Anonymizer that protects every x by k copies, the original included."""

    k: int
    trials: int

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for every x; kn <= vertices <= 2kn + 1."""
        check_vertices(self.k * graph.n)
        noising = WeightNoising.fit(graph, rules, self.trials)
        noised = noising.originals(rng, progress)
        progress.step("Tying the copies together")
        symmetric = is_symmetric(graph)
        synthetic, new = self._synthetic_edges(noised, symmetric, rules.incoming_sums, rng)
        copies = {name: _copies(noised, name, self.k) for name in graph.relations}
        n = self.k * graph.n + new
        augmented, fixed = assemble(noised, n, copies, synthetic, rng, symmetric=symmetric)
        check_diversity(augmented, [np.arange(self.k * graph.n).reshape(self.k, graph.n)])
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": n - graph.n,
            "edges_added": augmented.m - graph.m,
            "synthetic_edges": augmented.m - sum(fixed.values()),
            "new_vertices": new,
        }
        weighed = noising.synthetic(augmented, fixed, rng, progress, alike=self.k)
        copied = np.arange(graph.n, self.k * graph.n).reshape(self.k - 1, graph.n)
        found, known = Guarantee(self.k, None), noising.judge.known
        return Augmented(weighed, found, figures, originals=graph.n, copies=copied, answers=known)

    def _synthetic_edges(
        self, graph: KnowledgeGraph, symmetric: bool, bounds: Mapping[str, float], rng: np.random.Generator
    ) -> tuple[Pairs, int]:
        """Sources and targets of the synthetic edges, and the number of new vertices they need."""
        n, k = graph.n, self.k
        tied = connect_components(graph, k, rng)
        (source, target), new = copy_ties(graph, k, tied, bounds, rng, symmetric=symmetric)
        return exchanged((np.append(source, tied[0]), np.append(target, tied[1])), n, k, rng), new


def connect_components(graph: KnowledgeGraph, k: int, rng: np.random.Generator) -> Pairs:
    """Random edges between different copies that connect the components of all copies into one tree."""
    n = graph.n
    count, component = graph.components()
    sizes = np.bincount(component, minlength=count)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
    ordered = np.argsort(rank[component], kind="stable")  # vertices, those of large components first
    start = np.concatenate([[0], np.cumsum(np.sort(sizes)[::-1])]).astype(np.int64)
    piece = np.arange(1, count * k)
    own, copy = piece // k, piece % k
    size = start[own + 1] - start[own]
    inner = ordered[start[own] + rng.integers(0, np.maximum(size, 1))]
    # a random vertex of the earlier components: those in all copies, then this one in earlier copies
    at = rng.integers(0, start[own] * k + copy * size)
    before = at < start[own] * k
    within = np.where(before, 0, at - start[own] * k)
    outer = ordered[np.where(before, at // k, start[own] + within % size)]
    outer_copy = np.where(before, at % k, within // size)
    same = outer_copy == copy
    outer_copy = np.where(same, (copy + rng.integers(1, k, len(piece))) % k, outer_copy)
    a, b = copy * n + inner, outer_copy * n + outer
    forth = rng.random(len(piece)) < 0.5
    return np.where(forth, a, b).astype(np.int64), np.where(forth, b, a).astype(np.int64)


def exchanged(edges: Pairs, n: int, k: int, rng: np.random.Generator) -> Pairs:
    """Permute the copies of the ends of synthetic edges at random; vertices from n k on keep their numbers.

    The copies differ only in these edges, whose choice favours copies by number. Without the permutation the original
    would be the least favoured copy.
    """
    shift = np.append((rng.permutation(k) - np.arange(k)) * n, 0)
    source, target = (ends + shift[np.minimum(ends // max(n, 1), k)] for ends in edges)
    return source, target


def _copies(graph: KnowledgeGraph, name: str, k: int) -> Edges:
    relation = graph.relations[name]
    shift = np.repeat(np.arange(1, k) * graph.n, len(relation))
    return Edges(
        np.tile(relation.source, k - 1) + shift,
        np.tile(relation.target, k - 1) + shift,
        None if relation.weight is None else np.tile(relation.weight, k - 1),
    )
