"""Simple directed graphs with given degrees that keep as many of the original edges as any such graph can.

An edge (u, v) is a pair of u as a source and v as a target, so the graphs with given degrees are the flows of a network
from sources to targets that fill all capacities, where every pair but the loops may carry one unit. Kept edges are
maximized as the cheapest flow: a unit over an original edge costs -1, over another pair 0.

1. A flow of most units within the original edges alone (`scipy.sparse.csgraph.maximum_flow`) is cheapest among the
   flows of its value, as no unit costs less than -1.
2. Each further unit takes a cheapest augmenting path, which keeps the flow cheapest for its value (successive shortest
   paths). No path costs less than 0, otherwise step 1 had not been maximal; so single pairs that are no original edges
   are cheapest paths, and are taken greedily.
3. If no augmenting path is left before all capacities are filled, no simple directed graph has these degrees (a flow
   is maximal if and only if it has no augmenting path).

References
----------
THESIS, 3.3.3, where edges are added, switched and extended one by one (DGA), which may come to no end.
Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 9.7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people import realize_kernels as kernels
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, Links, distinct_links

_ROUNDS = 8  # exchanges that each added edge takes part in, on average


@dataclass(frozen=True, eq=False)
class Unrealizable:
    """What is missing where degrees are not those of any simple directed graph; int64, shape (n,)."""

    out: Counts
    into: Counts


def realize(links: Links, out: Counts, into: Counts, rng: np.random.Generator) -> Links | Unrealizable:
    """Find a graph with given degrees that has as many of the edges as possible, at random among such graphs.

    Parameters
    ----------
    links
        The original edges.
    out, into
        Out- and in-degree that each user shall have, int64, shape (n,), of equal sums.
    rng
        Decides which edges are kept and added, among the best.

    Examples
    --------
    >>> path = Links(np.array([0, 1]), np.array([1, 2]))
    >>> circle = realize(path, np.array([1, 1, 1]), np.array([1, 1, 1]), np.random.default_rng(0))
    >>> circle.source.tolist(), circle.target.tolist()
    ([0, 1, 2], [1, 2, 0])
    """
    n = len(out)
    users = np.zeros(n, dtype=np.bool_)
    users[links.source] = users[links.target] = True
    users |= (out > 0) | (into > 0)
    shuffled = rng.permutation(np.flatnonzero(users))  # nothing depends on the order of users but by chance
    place = np.full(n, -1, dtype=np.int64)
    place[shuffled] = np.arange(len(shuffled))
    edges = distinct_links(len(shuffled), place[links.source], place[links.target])
    rows = _Rows(edges, out[shuffled], into[shuffled])
    rows.keep(_most(edges, rows.out, rows.into))
    rows.fill()
    while rows.lacking:
        if not rows.augment():
            missing = np.zeros((2, n), dtype=np.int64)
            missing[:, shuffled] = rows.out - rows.out_used, rows.into - rows.in_used
            return Unrealizable(*missing)
    rows.mix(rng)
    return distinct_links(n, shuffled[rows.source], shuffled[rows.outs])


def _most(edges: Links, out: Counts, into: Counts) -> npt.NDArray[np.bool_]:
    """A largest set of edges in which nobody has more of them than he shall have.

    Edges between users who have too many on neither side are in it; the flow is only about the rest.
    """
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


class _Rows:
    """The edges chosen so far, as rows of slots by source and by target (see realize_kernels)."""

    def __init__(self, edges: Links, out: Counts, into: Counts) -> None:
        self.edges, self.out, self.into = edges, np.ascontiguousarray(out), np.ascontiguousarray(into)
        n = len(out)
        self.start = _starts(np.bincount(edges.source, minlength=n))
        self.out_start, self.in_start = _starts(self.out), _starts(self.into)
        self.outs, self.ins = np.zeros((2, int(self.out.sum())), dtype=np.int64)
        self.out_used, self.in_used = np.zeros((2, n), dtype=np.int64)

    @property
    def lacking(self) -> bool:
        """Whether somebody lacks an edge."""
        return bool((self.out_used < self.out).any())

    @property
    def source(self) -> Vertices:
        """Source of each slot of `outs`."""
        return np.repeat(np.arange(len(self.out)), self.out)

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Choose the original edges that are kept."""
        n = len(self.out)
        for end, other, start, used, slots in (
            (self.edges.source, self.edges.target, self.out_start, self.out_used, self.outs),
            (self.edges.target, self.edges.source, self.in_start, self.in_used, self.ins),
        ):
            order = np.argsort(end[kept], kind="stable")
            used[:] = np.bincount(end[kept], minlength=n)
            slots[np.repeat(start[:-1] - _starts(used)[:-1], used) + np.arange(len(order))] = other[kept][
                order
            ]

    def fill(self) -> None:
        """Add pairs that are no original edges as long as that is easy."""
        n = len(self.out)
        lack_out, lack_in = self.out - self.out_used, self.into - self.in_used
        order = np.argsort(-lack_in, kind="stable")
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        # those who lack more than r come before head[r]
        head = np.searchsorted(-lack_in[order], -np.arange(int(lack_in.max(initial=0)) + 1), side="left")
        first = np.argsort(-lack_out, kind="stable")
        kernels.fill(
            self.start, self.edges.target,
            self.outs, self.out_start, self.out_used, self.ins, self.in_start, self.in_used,
            first[: np.count_nonzero(lack_out)], order, place, head.astype(np.int64),
            np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64),
        )  # fmt: skip

    def augment(self) -> bool:
        """Bring in one more edge, at the cost of as few original ones as possible; whether that can be."""
        n = len(self.out)
        out_far, in_far, out_from, in_from, left, taken = np.empty((6, n), dtype=np.int64)
        queue, waiting = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.bool_)
        kernels.search(
            self.start, self.edges.target,
            self.outs, self.out_start, self.out_used, self.ins, self.in_start, self.in_used,
            out_far, in_far, out_from, in_from, queue, waiting, np.empty(2, dtype=np.int64), left, taken,
        )  # fmt: skip
        cost = kernels.complete(
            self.outs, self.out_start, self.out_used, self.ins, self.in_start, self.in_used,
            in_far, out_from, in_from,
        )  # fmt: skip
        return cost < kernels.FAR

    def mix(self, rng: np.random.Generator) -> None:
        """Exchange targets of added edges at random, so that nothing is left of the order in which they came."""
        source, n = self.source, len(self.out)
        originals = np.isin(source * n + self.outs, self.edges.source * n + self.edges.target)
        added = rng.permutation(np.flatnonzero(~originals))
        if len(added) > 1:
            one, other = rng.choice(added, (2, _ROUNDS * len(added)))
            kernels.mix(self.start, self.edges.target, self.outs, self.out_start, source, one, other)


def _starts(counts: Counts) -> Vertices:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
