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
from kgreason.graph.copied_graph import CopiedGraph
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights, joined
from kgreason.isomorphism.anonymizers.assembly import (
    Pairs,
    assigned,
    check_diversity,
    check_vertices,
    is_symmetric,
)
from kgreason.isomorphism.anonymizers.copy_ties import copy_ties
from kgreason.isomorphism.anonymizers.degree_distributions import Draws
from kgreason.isomorphism.anonymizers.kept_additions import Kept, redrawn_targets, released_weights
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Earlier, Guarantee
from kgreason.language.check.checked_program import CheckedProgram


def least_additions(graph: KnowledgeGraph, k: int) -> int:
    """Vertices and edges that KLONE adds at least: k - 1 copies, and edges that make the k degrees of a vertex differ.

    >>> least_additions(KnowledgeGraph.from_edges([("a", "b")]), 3)
    12
    """
    return (k - 1) * (graph.n + graph.m) + graph.n * k * (k - 1) // 2


@dataclass(frozen=True)
class Klone:
    """Anonymizer that protects every x by k copies, the original included.

    After an `earlier` release, of as many copies, its synthetic edges and new vertices stay: copies change with the
    original only. `weights` and `degrees` (in, out) are distributions instead of those of the graph.
    """

    k: int
    trials: int
    earlier: Earlier | None = None
    weights: Weights | None = None
    degrees: tuple[Draws | None, Draws | None] = (None, None)

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make a (k,x)-isomorphism anonymization for every x; kn <= vertices <= 2kn + 1."""
        check_vertices(self.k * graph.n)
        noising = WeightNoising.fit(graph, rules, self.trials, self.weights)
        earlier = self.earlier if self.earlier is not None and self.earlier.copies else None
        before = {} if earlier is None else released_weights(graph, earlier)
        noised = noising.originals(rng, progress, before)
        progress.step("Tying the copies together")
        symmetric = is_symmetric(graph)
        kept = None if earlier is None else Kept.of(graph, earlier, self.k)
        copied, new = self._tied(noised, symmetric, rules.incoming_sums, kept, rng)
        redrawn = redrawn_targets(noised, before)
        del noised
        check_diversity(copied, [np.arange(self.k * graph.n).reshape(self.k, graph.n)])
        own = {name: self.k * len(r) for name, r in graph.relations.items()}
        fixed = own if kept is None else {name: own[name] + len(r) for name, r in kept.edges.items()}
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": copied.n - graph.n,
            "edges_added": copied.m - graph.m,
            "synthetic_edges": copied.m - sum(fixed.values()),
            "new_vertices": new,
        }
        made: KnowledgeGraph | CopiedGraph
        if kept is None and not noising.lowered:
            progress.step("Drawing weights of synthetic edges")
            made = copied.with_ties(noising.synthetic_weights(copied.relations, fixed, rng, alike=self.k))
        else:  # weights depend on each other, and on the rules
            made = copied.whole()
            del copied  # held as well, it would take more
            if kept is not None:
                made = noising.again(made, own, _in_copies(redrawn, self.k, graph.n), rng)
            made = noising.synthetic(made, fixed, rng, progress, alike=self.k)
        serials = np.zeros((self.k - 1) * graph.n, dtype=np.int64)
        numbers = np.empty(0, dtype=np.int64) if kept is None else kept.serials
        last = 0 if self.earlier is None else self.earlier.last
        serials = np.concatenate([serials, numbers, last + 1 + np.arange(new - len(numbers))])
        copies = np.arange(graph.n, self.k * graph.n).reshape(self.k - 1, graph.n)
        found, known = Guarantee(self.k, None), noising.judge.known
        return Augmented(
            made, found, figures, originals=graph.n, copies=copies, answers=known, serials=serials
        )

    def _tied(
        self,
        noised: KnowledgeGraph,
        symmetric: bool,
        bounds: Mapping[str, float],
        kept: Kept | None,
        rng: np.random.Generator,
    ) -> tuple[CopiedGraph, int]:
        """All copies with their synthetic edges, not yet drawn weights of which are 0; the number of new vertices."""
        synthetic, new = self._synthetic_edges(noised, symmetric, bounds, kept, rng)
        ties = {}
        for name, (source, target) in assigned(noised, synthetic, rng, symmetric=symmetric).items():
            weight = None if noised.relations[name].weight is None else np.zeros(len(source))
            ties[name] = Relation(source, target, weight)
            if kept is not None:
                ties[name] = joined(kept.edges[name], ties[name])
        return CopiedGraph(noised, self.k, self.k * noised.n + new, ties), new

    def _synthetic_edges(
        self,
        graph: KnowledgeGraph,
        symmetric: bool,
        bounds: Mapping[str, float],
        kept: Kept | None,
        rng: np.random.Generator,
    ) -> tuple[Pairs, int]:
        """Sources and targets of further synthetic edges, and the number of new vertices, kept ones included."""
        n, k = graph.n, self.k
        order, already = rng.permutation(k), 0 if kept is None else len(kept.serials)
        placed = _placed(kept, symmetric=symmetric)
        placed = exchanged(placed, n, k, np.argsort(order))
        tree = connect_components(graph, k, placed, rng)
        tied = np.append(placed[0], tree[0]), np.append(placed[1], tree[1])
        ties, new = copy_ties(
            *(graph, k, tied, bounds, rng), symmetric=symmetric, lift=kept is None, draws=self.degrees
        )
        if already:
            ties = ties[0] + already * (ties[0] >= n * k), ties[1] + already * (ties[1] >= n * k)
        ties = np.append(ties[0], tree[0]), np.append(ties[1], tree[1])
        return exchanged(ties, n, k, order), already + new


def _placed(kept: Kept | None, *, symmetric: bool) -> Pairs:
    """Ends of the kept edges; of an edge and its reverse only one if the graph is symmetric."""
    none = np.empty(0, dtype=np.int64)
    relations = [] if kept is None else list(kept.edges.values())
    source = np.concatenate([none, *(r.source for r in relations)])
    target = np.concatenate([none, *(r.target for r in relations)])
    one = source < target if symmetric else np.ones(len(source), dtype=np.bool_)
    return source[one], target[one]


def _in_copies(targets: Mapping[str, Vertices], k: int, n: int) -> dict[str, Vertices]:
    """All copies of some vertices."""
    return {
        name: np.concatenate([vertices + n * copy for copy in range(k)]) for name, vertices in targets.items()
    }


def connect_components(graph: KnowledgeGraph, k: int, placed: Pairs, rng: np.random.Generator) -> Pairs:
    """Random edges between different copies that connect the components of all copies, which some edges may do."""
    tree = _random_tree(graph, k, rng)
    if not len(placed[0]):
        return tree
    count, component = graph.components()
    new = np.arange(count * k, count * k + max(0, int(max(map(np.max, placed))) + 1 - k * graph.n))
    pieces = np.append((component + count * np.arange(k)[:, None]).reshape(-1), new)
    root = np.arange(count * k + len(new))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = v = root[root[v]]
        return v

    def joins(u: int, v: int) -> bool:
        one, other = find(u), find(v)
        root[one] = other
        return one != other

    for u, v in pieces[np.stack(placed)].T.tolist():
        joins(u, v)
    needed = np.array([joins(u, v) for u, v in pieces[np.stack(tree)].T.tolist()], dtype=np.bool_)
    return tree[0][needed], tree[1][needed]


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
