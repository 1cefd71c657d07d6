"""Ties: the synthetic edges between the copies of a graph, which give the copies of each vertex different degrees.

An edge u -> v of the graph has the *lift* u_i -> v_j between different copies i and j. Vertices are divided into two
sides at random, and edges between the sides are lifted, from each copy of the first side to the next copy of the second
side or vice versa. Each copy of the first side and the next copy of the second one then form one more copy of these
edges: lifts have the degrees, common neighbours and distances of copied edges. The remaining ties make degrees differ;
of a vertex without incoming (or outgoing) edges, which must get some, they are implausible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import distinct, places
from kgreason.isomorphism.anonymizers.assembly import Pairs, both_ways
from kgreason.isomorphism.anonymizers.degree_distributions import (
    Degrees,
    Draws,
    choose_across,
    halves,
    match_between,
    partnered,
)

LEAST, MOST = 1.5, 2.5  # numbers of lifts for each implausible tie
SHARE = 0.4  # share of the edges that may be lifted besides, where there are enough of them


def copy_ties(
    graph: KnowledgeGraph,
    k: int,
    placed: Pairs,
    bounds: Mapping[str, float],
    rng: np.random.Generator,
    *,
    symmetric: bool,
    lift: bool = True,
    draws: Sequence[Draws | None] = (None, None),
) -> tuple[Pairs, int]:
    """Ties after which the k copies of each vertex differ in both degrees, and the number of new vertices they need.

    Vertex v of copy j has number ``j * n + v``, new vertices follow. The `placed` ties, of which some may have a new
    vertex, exist already and are not returned. If `symmetric`, the reverse of each tie, placed or returned, is added
    later. The `bounds` are those of the incoming sums by relation. Unless `lift`, there are no lifts. Degrees that must
    differ are drawn if there are `draws` of in- or out-degrees, as in Algorithm 1; else they are the least.
    """
    within = np.maximum(*placed) < graph.n * k
    existing = placed[0][within], placed[1][within]
    already = len(existing[0])
    if lift:
        existing = _joined(existing, lifts(graph, k, existing, bounds, rng, symmetric=symmetric))
    every = _joined(placed, _after(existing, already))
    missing = _missing(graph, k, every, rng, symmetric=symmetric, draws=draws)
    if symmetric:  # a vertex has one degree, and each edge that it lacks is directed at random
        missing = halves(missing[0], rng)
    else:
        plain = _between_implausible(graph, missing, existing, rng)
        existing = _joined(existing, plain)
        missing = missing[0] - _counts(plain[0], graph.n, k), missing[1] - _counts(plain[1], graph.n, k)
    usual = graph.m / max(graph.n, 1)
    rest, new = partnered(missing, existing, usual, rng, symmetric=symmetric)
    return _joined(_after(existing, already), rest), new


def lifts(
    graph: KnowledgeGraph,
    k: int,
    placed: Pairs,
    bounds: Mapping[str, float],
    rng: np.random.Generator,
    *,
    symmetric: bool,
) -> Pairs:
    """Lifts of edges between two random sides, from each copy to the next one: k for each edge.

    Vertices with more outgoing edges are more often on the first side, so that in bipartite graphs most edges run
    between the sides. If many vertices have no incoming or no outgoing edges, more edges are lifted, at last to further
    copies; but not more than weights of median size fit below the `bounds`. For k `placed` lifts, one edge less is
    lifted.
    """
    n, outer, inner = graph.n, graph.out_degree(), graph.in_degree()
    keys = distinct(graph.ends[0] * n + graph.ends[1])
    already = places(keys, placed[0] % max(n, 1) * n + placed[1] % max(n, 1))[1].sum()
    source, target = np.divmod(keys, max(n, 1))
    del keys  # as large as the graph
    if symmetric:
        source, target = source[source < target], target[source < target]
    first = rng.random(n) * (outer + inner) < outer
    crossing = np.flatnonzero(first[source] != first[target])
    implausible = max((outer == 0).sum(), (inner == 0).sum()) * (k - 1) / 2  # for each copy
    most = SHARE * len(source) + MOST * implausible
    wanted = int(np.clip(len(crossing), LEAST * implausible, most))
    wanted = min(wanted, _room(graph, bounds)) - int(already) // k
    found: list[Pairs] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for step in range(1, k):
        some = rng.permutation(crossing)[: max(wanted, 0)]
        wanted -= len(some)
        found.append(_to_next(source[some], target[some], first, step, k))
    del source, target, crossing
    made, size = _joined(*found), n * k
    del found
    ends = both_ways(placed) if symmetric else placed
    again = places(distinct(ends[0] * size + ends[1]), made[0] * size + made[1])[1]
    return made if not again.any() else (made[0][~again], made[1][~again])


def _to_next(source: Vertices, target: Vertices, first: npt.NDArray[np.bool_], step: int, k: int) -> Pairs:
    """Lifts of each edge from all copies of its end on the `first` side to the copies that are `step` further."""
    copy = np.tile(np.arange(k), len(source))
    made = []
    for ends in (source, target):
        of = copy + step * np.repeat(~first[ends], k)
        made.append(of % k * len(first) + np.repeat(ends, k))
    return made[0], made[1]


def _room(graph: KnowledgeGraph, bounds: Mapping[str, float]) -> int:
    """Number of edges whose weights fit below the bounds of incoming sums if they have the median weight.

    Edges belong to relations in proportion to their sizes.
    """
    fitting = [float(graph.m * graph.n)]
    for name, bound in bounds.items():
        r = graph.relations.get(name)
        if r is not None and r.weight is not None and len(r):
            room = np.maximum(bound - np.bincount(r.target, r.weight), 0)[np.unique(r.target)].sum()
            fitting.append(room / max(float(np.median(r.weight)), 1e-9) * graph.m / len(r))
    return int(min(fitting))


def _joined(*ties: Pairs) -> Pairs:
    source, target = (np.concatenate(ends) for ends in zip(*ties, strict=True))
    return source, target


def _after(ties: Pairs, count: int) -> Pairs:
    """All but the first ties."""
    return ties[0][count:], ties[1][count:]


def _counts(ends: Vertices, n: int, k: int) -> Degrees:
    """Number of ends at each vertex and copy, without new vertices; shape (n, k)."""
    return np.bincount(ends[ends < n * k], minlength=n * k).reshape(k, n).T


def _degrees(graph: KnowledgeGraph, k: int, ties: Pairs, *, symmetric: bool) -> tuple[Degrees, Degrees]:
    """Out- and in-degrees of the copies of vertices, shape (n, k)."""
    outer, inner = (_counts(ends, graph.n, k) for ends in (both_ways(ties) if symmetric else ties))
    return graph.out_degree()[:, None] + outer, graph.in_degree()[:, None] + inner


def _missing(
    graph: KnowledgeGraph,
    k: int,
    ties: Pairs,
    rng: np.random.Generator,
    *,
    symmetric: bool,
    draws: Sequence[Draws | None],
) -> tuple[Degrees, Degrees]:
    """Out- and in-degrees that the copies of vertices lack, shape (n, k)."""
    chosen = chosen_degrees(graph, k, ties, rng, symmetric=symmetric, draws=draws)
    now = _degrees(graph, k, ties, symmetric=symmetric)
    return chosen[0] - now[0], chosen[1] - now[1]


def chosen_degrees(
    graph: KnowledgeGraph,
    k: int,
    ties: Pairs,
    rng: np.random.Generator,
    *,
    symmetric: bool,
    draws: Sequence[Draws | None] = (None, None),
) -> tuple[Degrees, Degrees]:
    """Out- and in-degrees of the copies of vertices after further ties, shape (n, k), with equal totals."""
    now = _degrees(graph, k, ties, symmetric=symmetric)
    of_in, of_out = draws
    if symmetric:
        chosen = _differing(now[0], of_in, rng)
        _raise_greatest(chosen, graph.out_degree() > 0, int((chosen - now[0]).sum()) % 2, rng)
        return chosen, chosen
    both = _differing(now[0], of_out, rng), _differing(now[1], of_in, rng)
    surplus = int(both[0].sum() - both[1].sum())
    lesser = int(surplus > 0)
    _raise_greatest(both[lesser], (graph.out_degree(), graph.in_degree())[lesser] > 0, abs(surplus), rng)
    return both


def _differing(degrees: Degrees, draws: Draws | None, rng: np.random.Generator) -> Degrees:
    return differing(degrees, rng) if draws is None else choose_across(degrees, draws, rng)


def differing(degrees: Degrees, rng: np.random.Generator) -> Degrees:
    """Raise degrees by as little as possible so that the degrees in each row differ; equal ones in random order.

    >>> differing(np.array([[2, 5, 2], [0, 1, 5]]), np.random.default_rng(0)).tolist()
    [[3, 5, 2], [0, 1, 5]]
    """
    order = np.argsort(degrees + rng.random(degrees.shape), axis=1)
    rank = np.arange(degrees.shape[1])
    raised = np.maximum.accumulate(np.take_along_axis(degrees, order, axis=1) - rank, axis=1) + rank
    result = np.empty_like(degrees)
    np.put_along_axis(result, order, raised, axis=1)
    return result


def _raise_greatest(
    chosen: Degrees, preferred: npt.NDArray[np.bool_], surplus: int, rng: np.random.Generator
) -> None:
    """Raise degrees of the preferred rows by `surplus` in total: evenly, and by the remainder at greatest entries."""
    # Rows stay free of repeats, as either all entries of a row rise equally or only the greatest does.
    rows = np.flatnonzero(preferred) if preferred.any() else np.arange(len(chosen))
    if not len(rows):
        return
    evenly, rest = divmod(surplus, chosen[rows].size)
    more = np.full(len(rows), rest // len(rows))
    more[rng.choice(len(rows), rest % len(rows), replace=False)] += 1
    greatest = chosen[rows].argmax(axis=1)
    chosen[rows] += evenly
    chosen[rows, greatest] += more


def _between_implausible(
    graph: KnowledgeGraph, missing: tuple[Degrees, Degrees], ties: Pairs, rng: np.random.Generator
) -> Pairs:
    """Ties from vertices without outgoing edges to vertices without incoming ones: fewer ties are implausible."""
    without = [(degree == 0)[:, None] for degree in (graph.out_degree(), graph.in_degree())]
    source, target, *_ = match_between(missing[0] * without[0], missing[1] * without[1], ties, rng)
    return source, target
