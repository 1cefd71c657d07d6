"""KLONE: k copies of the graph, connected by synthetic edges that give the copies of a vertex different degrees.

References
----------
KGISO, Algorithm 1; docs/methods/klone.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.anonymizers.assembly import (
    Edges,
    Pairs,
    assemble,
    both_ways,
    check_diversity,
    check_vertices,
    is_symmetric,
)
from kgreason.isomorphism.anonymizers.degree_distributions import (
    DegreeDistribution,
    Degrees,
    choose_across,
    halves,
    partnered,
)
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
        synthetic, new = self._synthetic_edges(graph, symmetric, kept, rng)
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
        self, graph: KnowledgeGraph, symmetric: bool, kept: _Kept, rng: np.random.Generator
    ) -> tuple[Pairs, int]:
        """Sources and targets of the synthetic edges, the kept ones first, and the number of new vertices they need."""
        # In a symmetric graph the reverses are added later: a vertex then has one degree, and each edge it lacks is
        # directed at random.
        n, k = graph.n, self.k
        order = rng.permutation(k)
        tied = connect_components(graph, k, exchanged(kept.edges, n, k, np.argsort(order)), rng)
        between = (np.maximum(*tied) < n * k) if len(tied[0]) else np.zeros(0, dtype=np.bool_)
        existing = tied[0][between], tied[1][between]
        missing = (
            self._missing_halves(graph, tied, rng) if symmetric else self._missing_degrees(graph, tied, rng)
        )
        (source, target), new = partnered(missing, existing, graph.m / max(n, 1), rng, symmetric=symmetric)
        already = len(kept.serials)
        source, target = (ends + already * (ends >= n * k) for ends in (source, target))
        edges = np.append(tied[0], source), np.append(tied[1], target)
        return exchanged(edges, n, k, order), already + new

    def _missing_degrees(
        self, graph: KnowledgeGraph, tied: Pairs, rng: np.random.Generator
    ) -> tuple[Degrees, Degrees]:
        """Missing out- and in-degrees of the copies of vertices, shape (n, k), with equal totals."""
        out_chosen, out_missing = self._chosen(graph.out_degree(), tied[0], rng)
        in_chosen, in_missing = self._chosen(graph.in_degree(), tied[1], rng)
        surplus = int(out_missing.sum() - in_missing.sum())
        lesser = (in_chosen, in_missing) if surplus > 0 else (out_chosen, out_missing)
        _raise_greatest(*lesser, abs(surplus), rng)
        return out_missing, in_missing

    def _missing_halves(
        self, graph: KnowledgeGraph, tied: Pairs, rng: np.random.Generator
    ) -> tuple[Degrees, Degrees]:
        """Missing degrees of the copies of vertices, divided at random into equal totals."""
        chosen, missing = self._chosen(graph.out_degree(), both_ways(tied)[0], rng)
        _raise_greatest(chosen, missing, int(missing.sum()) % 2, rng)
        return halves(missing, rng)

    def _chosen(self, real: Degrees, ends: Vertices, rng: np.random.Generator) -> tuple[Degrees, Degrees]:
        """Chosen degrees of the copies, and the missing degrees, given the ends of the ties."""
        ties = (
            np.bincount(ends[ends < len(real) * self.k], minlength=len(real) * self.k)
            .reshape(self.k, len(real))
            .T
        )
        current = real[:, None] + ties
        chosen = choose_across(current, DegreeDistribution.fit(real), rng)
        return chosen, chosen - current


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


def _raise_greatest(chosen: Degrees, missing: Degrees, surplus: int, rng: np.random.Generator) -> None:
    """Raise degrees by `surplus` in total: evenly, and by the remainder at the greatest entries of random rows."""
    # Rows stay free of repeats, as either all entries of a row rise equally or only the greatest does.
    rows, k = chosen.shape
    if not rows:
        return
    evenly, rest = divmod(surplus, rows * k)
    more = np.full(rows, rest // rows)
    more[rng.choice(rows, rest % rows, replace=False)] += 1
    raised = np.full_like(chosen, evenly)
    raised[np.arange(rows), chosen.argmax(axis=1)] += more
    chosen += raised
    missing += raised


def _copies(graph: KnowledgeGraph, name: str, k: int) -> Edges:
    relation = graph.relations[name]
    shift = np.repeat(np.arange(1, k) * graph.n, len(relation))
    return Edges(
        np.tile(relation.source, k - 1) + shift,
        np.tile(relation.target, k - 1) + shift,
        None if relation.weight is None else np.tile(relation.weight, k - 1),
    )
