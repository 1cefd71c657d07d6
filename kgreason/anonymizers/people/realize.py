"""Simple directed graphs with given degrees that keep as many of the original edges as any such graph can.

Row u of `outs` holds the targets of the selected edges of u, row v of `ins` the sources of those of v; both begin at
`out_start` and `in_start` and have as many slots as the user shall have edges. `used` says how many are taken. The
original edges are rows of ascending targets, `targets` from `start` on.

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

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, Links, distinct_links
from kgreason.jit import Flags, Ints, kernel

FAR = 1 << 40


@kernel
def original(start: Ints, targets: Ints, u: int, v: int) -> bool:
    """Whether the edge (u, v) is an original one."""
    low, high = start[u], start[u + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < start[u + 1] and targets[low] == v)


@kernel
def select(outs: Ints, out_start: Ints, out_used: Ints, u: int, v: int) -> None:
    """Put v into the row of u."""
    outs[out_start[u] + out_used[u]] = v
    out_used[u] += 1


@kernel
def drop(outs: Ints, out_start: Ints, out_used: Ints, u: int, v: int) -> None:
    """Take v out of the row of u."""
    place = out_start[u]
    while outs[place] != v:
        place += 1
    out_used[u] -= 1
    outs[place] = outs[out_start[u] + out_used[u]]


@kernel
def fill(
    start: Ints, targets: Ints,
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    first: Ints, order: Ints, place: Ints, head: Ints, taken: Ints, chosen: Ints,
) -> None:  # fmt: skip
    """Add pairs that are no original edges: who lacks most out-edges, first, to those who lack most in-edges.

    Parameters
    ----------
    first
        The users whose rows are filled, in this order.
    order, place, head
        Users by what their rows of `ins` lack, most first; where each of them is; `head[r]` is where those begin
        that lack at most r, shape (most + 2,).
    taken, chosen
        Scratch, shape (n,); `taken` -1 throughout.
    """
    for u in first:
        taken[u] = u
        for i in range(start[u], start[u + 1]):
            taken[targets[i]] = u
        for i in range(out_start[u], out_start[u] + out_used[u]):
            taken[outs[i]] = u
        wanted = out_start[u + 1] - out_start[u] - out_used[u]
        count = 0
        for i in range(head[0]):  # head[0]: where those begin that lack nothing
            if count == wanted:
                break
            if taken[order[i]] != u:
                chosen[count] = order[i]
                count += 1
        for i in range(count):
            v = chosen[i]
            lack = in_start[v + 1] - in_start[v] - in_used[v]
            select(outs, out_start, out_used, u, v)
            select(ins, in_start, in_used, v, u)
            last = head[lack - 1] - 1  # of those who lack as much; the border moves over it
            other = order[last]
            order[place[v]], place[other] = other, place[v]
            order[last], place[v] = v, last
            head[lack - 1] = last


@kernel
def wait(queue: Ints, waiting: Flags, ring: Ints, w: int) -> None:
    """Let a user wait for his turn, unless he does; `ring` is where the queue begins and how long it is."""
    if not waiting[w]:
        waiting[w] = True
        queue[(ring[0] + ring[1]) % len(queue)] = w
        ring[1] += 1


@kernel
def back(
    start: Ints, targets: Ints, ins: Ints, in_start: Ints, in_used: Ints,
    out_far: Ints, out_from: Ints, queue: Ints, waiting: Flags, ring: Ints, v: int, far: int,
) -> None:  # fmt: skip
    """Go on from v over edges that might be dropped, to their sources."""
    for i in range(in_start[v], in_start[v] + in_used[v]):
        u = ins[i]
        farther = far + (1 if original(start, targets, u, v) else 0)
        if farther < out_far[u]:
            out_far[u], out_from[u] = farther, v
            wait(queue, waiting, ring, u)


@kernel
def forth(
    start: Ints, targets: Ints, outs: Ints, out_start: Ints, out_used: Ints,
    in_far: Ints, in_from: Ints, queue: Ints, waiting: Flags, ring: Ints, left: Ints, lefts: int, taken: Ints,
    u: int, far: int,
) -> int:  # fmt: skip
    """Go on from u over pairs that might be added, to their targets; returns how many are left that are farther."""
    n = len(in_far)
    taken[u] = u
    for i in range(out_start[u], out_start[u] + out_used[u]):
        taken[outs[i]] = u
    for i in range(start[u], start[u + 1]):
        v = targets[i]
        if taken[v] != u and far - 1 < in_far[v]:
            in_far[v], in_from[v] = far - 1, u
            wait(queue, waiting, ring, n + v)
    kept = 0
    for i in range(lefts):
        v = left[i]
        if in_far[v] > far and taken[v] == u:
            left[kept] = v
            kept += 1
        elif in_far[v] > far:
            in_far[v], in_from[v] = far, u
            wait(queue, waiting, ring, n + v)
    return kept


@kernel
def search(
    start: Ints, targets: Ints,
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    out_far: Ints, in_far: Ints, out_from: Ints, in_from: Ints,
    queue: Ints, waiting: Flags, ring: Ints, left: Ints, taken: Ints,
) -> None:  # fmt: skip
    """Find what cheapest alternating paths from users who lack an out-edge cost, and whence they come.

    Such a path consists of pairs that are added and edges that are dropped, in turn. To drop an original edge costs 1,
    to take one back gains 1, all else is free. Labels are corrected until none can be, cheapest first. Each user is
    joined to nearly all others; so `left` holds those that are farther than the level at hand, and a level takes time
    linear in users and edges.

    Parameters
    ----------
    out_far, in_far, out_from, in_from
        Cost of the way to each user as source and as target, and the user before; made here, shape (n,).
    queue, waiting, ring
        Ring of users that wait, sources as u and targets as n + v, who does, where it begins and how many there are;
        scratch, shape (2n,), (2n,), (2,).
    left, taken
        Scratch, shape (n,).
    """
    n = len(out_far)
    in_far[:], out_far[:], taken[:], waiting[:], ring[:] = FAR, FAR, -1, False, 0
    for u in range(n):
        if out_used[u] < out_start[u + 1] - out_start[u]:
            out_far[u], out_from[u] = 0, -1
            wait(queue, waiting, ring, u)
    level, lefts = FAR, 0
    while ring[1]:
        least = FAR
        for i in range(ring[1]):
            w = queue[(ring[0] + i) % (2 * n)]
            least = min(least, out_far[w] if w < n else in_far[w - n])
        if least != level:
            level, lefts = least, 0
            for v in range(n):
                if in_far[v] > level:
                    left[lefts] = v
                    lefts += 1
        for _ in range(ring[1]):
            w = queue[ring[0]]
            ring[0] = (ring[0] + 1) % (2 * n)
            ring[1] -= 1
            waiting[w] = False
            if (out_far[w] if w < n else in_far[w - n]) != level:
                wait(queue, waiting, ring, w)
            elif w < n:
                lefts = forth(
                    start, targets, outs, out_start, out_used, in_far, in_from, queue, waiting, ring,
                    left, lefts, taken, w, level,
                )  # fmt: skip
            else:
                back(
                    start, targets, ins, in_start, in_used, out_far, out_from, queue, waiting, ring,
                    w - n, level,
                )  # fmt: skip


@kernel
def complete(
    outs: Ints, out_start: Ints, out_used: Ints,
    ins: Ints, in_start: Ints, in_used: Ints,
    in_far: Ints, out_from: Ints, in_from: Ints,
) -> int:  # fmt: skip
    """Complete one more edge along the cheapest path to a user who lacks an in-edge.

    Returns
    -------
    cost
        Original edges lost, or FAR if there is no path: then no choice of edges has the degrees.
    """
    best, cost = -1, FAR
    for v in range(len(in_far)):
        if in_used[v] < in_start[v + 1] - in_start[v] and in_far[v] < cost:
            best, cost = v, in_far[v]
    v = best
    while v >= 0:
        u = in_from[v]
        before = out_from[u]
        if before >= 0:  # first out of the rows, which may have no slot to spare
            drop(outs, out_start, out_used, u, before)
            drop(ins, in_start, in_used, before, u)
        select(outs, out_start, out_used, u, v)
        select(ins, in_start, in_used, v, u)
        v = before
    return cost


@kernel
def has(outs: Ints, out_start: Ints, u: int, v: int) -> bool:
    """Whether v is in the row of u, all slots of which are taken."""
    place, end = out_start[u], out_start[u + 1]
    while place < end and outs[place] != v:
        place += 1
    return bool(place < end)


@kernel
def mix(
    start: Ints, targets: Ints, outs: Ints, out_start: Ints, source: Ints, one: Ints, other: Ints
) -> None:  # fmt: skip
    """Let pairs of added edges change their targets, wherever no edge is met twice and no original one.

    Parameters
    ----------
    source
        Whose row each slot of `outs` is in; all slots are taken.
    one, other
        Slots of added edges that shall change, one pair after the other.
    """
    for i in range(len(one)):
        p, q = one[i], other[i]
        a, b, c, d = source[p], outs[p], source[q], outs[q]
        if a == c or b == d or a == d or c == b:  # noqa: SIM109
            continue
        if original(start, targets, a, d) or original(start, targets, c, b):
            continue
        if not has(outs, out_start, a, d) and not has(outs, out_start, c, b):
            outs[p], outs[q] = d, b


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
    """The edges chosen so far, as rows of slots by source and by target (see above)."""

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
        fill(
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
        search(
            self.start, self.edges.target,
            self.outs, self.out_start, self.out_used, self.ins, self.in_start, self.in_used,
            out_far, in_far, out_from, in_from, queue, waiting, np.empty(2, dtype=np.int64), left, taken,
        )  # fmt: skip
        cost = complete(
            self.outs, self.out_start, self.out_used, self.ins, self.in_start, self.in_used,
            in_far, out_from, in_from,
        )  # fmt: skip
        return cost < FAR

    def mix(self, rng: np.random.Generator) -> None:
        """Exchange targets of added edges at random, so that nothing is left of the order in which they came."""
        source, n = self.source, len(self.out)
        originals = np.isin(source * n + self.outs, self.edges.source * n + self.edges.target)
        added = rng.permutation(np.flatnonzero(~originals))
        if len(added) > 1:
            one, other = rng.choice(added, (2, _ROUNDS * len(added)))
            mix(self.start, self.edges.target, self.outs, self.out_start, source, one, other)


def _starts(counts: Counts) -> Vertices:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
