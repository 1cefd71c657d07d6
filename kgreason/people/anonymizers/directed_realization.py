"""Simple directed graphs with given degrees that keep as many of the original edges as possible.

An edge (u, v) is a pair of u as a source and v as a target, so the graphs with given degrees are the flows of a network
from sources to targets that saturate all capacities, in which every pair but the loops has capacity 1. Kept edges are
maximized by a minimum-cost flow: a unit on an original edge costs -1, on another pair 0.

1. A maximum flow within the original edges alone (`scipy.sparse.csgraph.maximum_flow`) has minimum cost among the
   flows of its value, as no unit costs less than -1.
2. Each further unit takes a cheapest augmenting path, which keeps the flow at minimum cost for its value (successive
   shortest paths). No path costs less than 0, or step 1 would not be maximal; so pairs that are no original edges are
   cheapest paths of length one, and are taken greedily.
3. If no augmenting path is left before all capacities are saturated, no simple directed graph has these degrees (a
   flow is maximum if and only if it has no augmenting path).

References
----------
THESIS, 3.3.3, changes edges one by one instead (`dga_generalization`).
Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 9.7.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.undirected_realization import joined
from kgreason.people.model import Counts, Links, distinct_links

_ROUNDS = 16  # rounds of exchanges, each over all added edges


@record(eq=False)
class Unrealizable:
    """Missing edge ends of degrees that no simple directed graph has; int64, shape (n,)."""

    out: Counts
    into: Counts


def realize(links: Links, out: Counts, into: Counts, rng: np.random.Generator) -> Links | Unrealizable:
    """Find a graph with given degrees that keeps as many of the edges as possible, at random among such graphs.

    `out` and `into` are the wanted out- and in-degree of each user, with equal sums.
    """
    users = (out > 0) | (into > 0)
    users[links.source] = users[links.target] = True
    shuffled = rng.permutation(np.flatnonzero(users))  # the result must not depend on the order of users
    n = len(shuffled)
    place = np.full(len(out), -1, dtype=np.int64)
    place[shuffled] = np.arange(n)
    edges = distinct_links(n, place[links.source], place[links.target])
    original = edges.source * n + edges.target
    wanted = np.concatenate([out[shuffled], into[shuffled]])
    chosen = original[_most(edges, out[shuffled], into[shuffled])]
    chosen = np.concatenate([chosen, _added(edges, wanted - _ends(chosen, n), rng)])
    while (lack := wanted - _ends(chosen, n)).any():
        more = _augmented(chosen, original, lack)
        if more is None:
            missing = np.zeros((2, len(out)), dtype=np.int64)
            missing[:, shuffled] = lack.reshape(2, n)
            return Unrealizable(*missing)
        chosen = more
    source, target = np.divmod(_mixed(chosen, original, n, rng), max(n, 1))
    return distinct_links(len(out), shuffled[source], shuffled[target])


def _ends(pairs: Vertices, n: int) -> Counts:
    """Out-degrees, then in-degrees; pairs are ``source * n + target``."""
    source, target = np.divmod(pairs, max(n, 1))
    return np.bincount(np.concatenate([source, n + target]), minlength=2 * n)


def _most(edges: Links, out: Counts, into: Counts) -> npt.NDArray[np.bool_]:
    """A maximum set of edges in which no user exceeds the wanted out- and in-degree."""
    # Edges without excess at either end are always in it; the flow covers the rest.
    n = len(out)
    outs, ins = np.bincount(edges.source, minlength=n), np.bincount(edges.target, minlength=n)
    kept = (outs <= out)[edges.source] & (ins <= into)[edges.target]
    if kept.all():
        return kept
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    rest = np.flatnonzero(~kept)
    source, target = edges.source[rest], edges.target[rest]
    room_out = out - np.bincount(edges.source[kept], minlength=n)
    room_in = into - np.bincount(edges.target[kept], minlength=n)
    users = np.arange(n)
    tails = np.concatenate([np.full(n, 2 * n), source, n + users])
    heads = np.concatenate([users, n + target, np.full(n, 2 * n + 1)])
    room = np.concatenate([room_out, np.ones(len(rest), dtype=np.int64), room_in]).astype(np.int32)
    network = csr_array((room, (tails.astype(np.int32), heads.astype(np.int32))), shape=(2 * n + 2,) * 2)
    flow = maximum_flow(network, 2 * n, 2 * n + 1).flow.tocoo()
    used = flow.data > 0
    tail, head = flow.row[used].astype(np.int64), flow.col[used].astype(np.int64)
    inside = (tail < n) & (head >= n) & (head < 2 * n)
    chosen = tail[inside] * n + head[inside] - n
    kept[rest] = np.isin(source * n + target, chosen)
    return kept


def _added(edges: Links, lack: Counts, rng: np.random.Generator) -> Vertices:
    """Pairs that are no original edges, in order of the missing out-edges, with the users missing most in-edges."""
    n = len(lack) // 2
    users = np.arange(n)
    excluded = np.stack([np.append(edges.source, users), n + np.append(edges.target, users)], axis=1)
    first = np.argsort(-lack[:n], kind="stable")[: np.count_nonzero(lack[:n])]
    made, _ = joined(excluded, lack, first, rng, others=n + np.flatnonzero(lack[n:]))
    return made[:, 0] * n + made[:, 1] - n


def _augmented(chosen: Vertices, original: Vertices, lack: Counts) -> Vertices | None:
    """Augment the pairs along cheapest paths from users missing an out-edge to users missing an in-edge."""
    # A path alternates between added pairs and dropped edges. Dropping an original edge costs 1, taking one back
    # gains 1, all else is free. The costs of reaching each user as source and as target are relaxed until they no
    # longer change (Bellman-Ford). Then vertex-disjoint paths of least cost are taken; `None`: there is no path.
    n = len(lack) // 2
    users = np.arange(n)
    source, target = np.divmod(chosen, n)
    place = np.searchsorted(original, chosen)
    kept = np.append(original, -1)[place] == chosen
    lost = np.ones(len(original), dtype=np.bool_)
    lost[place[kept]] = False
    lost_source, lost_target = np.divmod(original[lost], n)
    excluded, at = np.append(source, users), np.append(target, users)  # chosen pairs, and loops
    many = np.bincount(at, minlength=n)
    begin = np.cumsum(many) - many
    far = np.where(lack[:n] > 0, 0.0, np.inf), np.full(n, np.inf)
    before = np.full((2, n), -1, dtype=np.int64)

    def lower(side: int, at: Vertices, cost: npt.NDArray[np.float64], origin: Vertices) -> bool:
        least = far[side].copy()
        np.minimum.at(least, at, cost)
        better = (cost < far[side][at]) & (cost == least[at])
        before[side, at[better]] = origin[better]
        far[side][:] = least
        return bool(better.any())

    moved = True
    while moved:
        # each target is reached from the cheapest source with which it is not yet paired
        nearest = np.argsort(far[0], kind="stable")
        rank = np.empty(n, dtype=np.int64)
        rank[nearest] = users
        end, ranks = np.divmod(np.sort(at * n + rank[excluded]), n)
        number = np.arange(len(ranks)) - begin[end]
        free, apart = many.copy(), ranks != number
        np.minimum.at(free, end[apart], number[apart])
        some = users[free < n]
        lower(1, some, far[0][nearest[free[some]]], nearest[free[some]])
        lower(1, lost_target, far[0][lost_source] - 1, lost_source)
        moved = lower(0, source, far[1][target] + kept, target)
    wanting = lack[n:] > 0
    least = far[1].min(where=wanting, initial=np.inf)
    added, dropped, met = list[int](), list[int](), set[int]()
    for end_ in np.flatnonzero(wanting & (far[1] == least)).tolist() if np.isfinite(least) else ():
        path = [int(end_)]  # alternately targets and sources
        while path[-1] >= 0:
            u = int(before[1, path[-1]])
            path += [u, int(before[0, u])]
        ends = {*path[1::2], *(n + v for v in path[:-1:2])}
        if not ends & met:
            met |= ends
            added += [u * n + v for v, u in zip(path[::2], path[1::2], strict=False)]
            dropped += [u * n + v for u, v in zip(path[1:-2:2], path[2:-1:2], strict=True)]
    return np.concatenate([chosen[~np.isin(chosen, dropped)], added]) if added else None


def _mixed(chosen: Vertices, original: Vertices, n: int, rng: np.random.Generator) -> Vertices:
    """Exchange targets of added edges at random, to remove traces of the order of construction."""
    added = np.flatnonzero(~np.isin(chosen, original))
    for _ in range(_ROUNDS if len(added) > 1 else 0):
        added = rng.permutation(added)
        half = len(added) // 2
        one, other = added[:half], added[half : 2 * half]
        (a, b), (c, d) = np.divmod(chosen[one], max(n, 1)), np.divmod(chosen[other], max(n, 1))
        new = np.stack([a * n + d, c * n + b])
        _, place, count = np.unique(new, return_inverse=True, return_counts=True)
        bad = np.isin(new, original) | np.isin(new, chosen) | (count[place.reshape(new.shape)] > 1)
        fine = ~(bad.any(axis=0) | (a == d) | (c == b))
        chosen[one[fine]], chosen[other[fine]] = new[:, fine]
    return chosen
