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
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
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
from kgreason.isomorphism.definition import Augmented, Earlier, Guarantee
from kgreason.language.check.checked_program import CheckedProgram


@dataclass(frozen=True)
class Klone:
    """Anonymizer that protects every x by k copies, the original included.

    After an `earlier` release, of as many copies, its synthetic edges and new vertices stay: copies change with the
    original only.
    """

    k: int
    trials: int
    earlier: Earlier | None = None

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for every x; kn <= vertices <= 2kn + 1."""
        check_vertices(self.k * graph.n)
        noising = WeightNoising.fit(graph, rules, self.trials)
        noised = noising.originals(rng, progress)
        progress.step("Tying the copies together")
        symmetric = is_symmetric(graph)
        kept = self._kept(graph, symmetric=symmetric)
        synthetic, new = self._synthetic_edges(noised, symmetric, rules.incoming_sums, kept, rng)
        relation = np.append(kept.relation, np.full(len(synthetic[0]) - len(kept.relation), -1))
        copies = {name: _copies(noised, name, self.k) for name in graph.relations}
        n = self.k * graph.n + new
        augmented, fixed = assemble(noised, n, copies, synthetic, rng, symmetric=symmetric, relation=relation)
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
        last = 0 if self.earlier is None else int(self.earlier.serial.max(initial=0))
        later = last + 1 + np.arange(new - len(kept.serials))
        serials = np.concatenate([np.zeros((self.k - 1) * graph.n, dtype=np.int64), kept.serials, later])
        copied = np.arange(graph.n, self.k * graph.n).reshape(self.k - 1, graph.n)
        found, known = Guarantee(self.k, None), noising.judge.known
        return Augmented(
            weighed, found, figures, originals=graph.n, copies=copied, answers=known, serials=serials
        )

    def _kept(self, graph: KnowledgeGraph, *, symmetric: bool) -> _Kept:
        """Synthetic edges of the earlier release whose vertices still exist.

        In a symmetric graph, of an edge and its reverse only one is in the result.
        """
        none = np.empty(0, dtype=np.int64)
        if (earlier := self.earlier) is None:
            return _Kept((none, none), none, none)
        number = {name: v for v, name in enumerate(graph.labels.tolist())}
        place = np.array([number.get(name, -1) for name in earlier.names], dtype=np.int64)
        first, others = self.k * graph.n, np.flatnonzero(earlier.copy < 0)
        place = np.where(place >= 0, place + earlier.copy * graph.n, -1)
        place[others] = first + np.arange(len(others))
        found = [(none, none, none)]
        for of, name in enumerate(graph.relations):
            relation = earlier.graph.relations[name]
            ends = place[np.stack([relation.source, relation.target])[:, earlier.synthetic[name]]]
            there = (ends >= 0).all(axis=0) & ((ends[0] < ends[1]) | (not symmetric))
            found.append((*ends[:, there], np.full(np.count_nonzero(there), of)))
        source, target, relations = map(np.concatenate, zip(*found, strict=True))
        used, at = np.unique(np.concatenate([source, target]), return_inverse=True)
        new = used >= first  # the others are without edges now
        used[new] = first + np.arange(np.count_nonzero(new))
        serials = earlier.serial[others[np.unique(np.concatenate([source, target]))[new] - first]]
        source, target = used[at.reshape(2, -1)]
        return _Kept((source, target), relations, serials)

    def _synthetic_edges(
        self,
        graph: KnowledgeGraph,
        symmetric: bool,
        bounds: Mapping[str, float],
        kept: _Kept,
        rng: np.random.Generator,
    ) -> tuple[Pairs, int]:
        """Sources and targets of the synthetic edges, the kept ones first, and the number of new vertices they need."""
        n, k, already = graph.n, self.k, len(kept.serials)
        order = rng.permutation(k)
        tied = connect_components(graph, k, exchanged(kept.edges, n, k, np.argsort(order)), rng)
        (source, target), new = copy_ties(
            graph, k, tied, bounds, rng, symmetric=symmetric, lift=self.earlier is None
        )
        source, target = (ends + already * (ends >= n * k) for ends in (source, target))
        return exchanged((np.append(tied[0], source), np.append(tied[1], target)), n, k, order), already + new


@record(eq=False)
class _Kept:
    """Synthetic edges that stay, their relations by number, and the numbers of their new vertices in the series.

    New vertices follow the copies.
    """

    edges: Pairs
    relation: Vertices
    serials: Vertices


def connect_components(graph: KnowledgeGraph, k: int, kept: Pairs, rng: np.random.Generator) -> Pairs:
    """Edges between different copies that connect the components of all copies: the kept ones, and random ones."""
    tree = _random_tree(graph, k, rng)
    if not len(kept[0]):
        return tree
    count, component = graph.components()
    new = np.arange(count * k, count * k + max(0, int(max(map(np.max, kept))) + 1 - k * graph.n))
    pieces = np.append((component + count * np.arange(k)[:, None]).reshape(-1), new)
    root = np.arange(count * k + len(new))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = v = root[root[v]]
        return v

    needed = np.zeros(len(kept[0]) + len(tree[0]), dtype=np.bool_)
    edges = tuple(np.append(one, other) for one, other in zip(kept, tree, strict=True))
    for i, (u, v) in enumerate(pieces[np.stack(edges)].T.tolist()):
        if needed_here := find(u) != find(v):
            root[find(u)] = find(v)
        needed[i] = needed_here
    needed[: len(kept[0])] = True
    return edges[0][needed], edges[1][needed]


def _random_tree(graph: KnowledgeGraph, k: int, rng: np.random.Generator) -> Pairs:
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


def exchanged(edges: Pairs, n: int, k: int, order: Vertices) -> Pairs:
    """Replace copy c of the ends of synthetic edges by ``order[c]``; vertices from n k on keep their numbers.

    The copies differ only in these edges, whose choice favours copies by number. Without a random permutation the
    original would be the least favoured copy.
    """
    shift = np.append((order - np.arange(k)) * n, 0)
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
