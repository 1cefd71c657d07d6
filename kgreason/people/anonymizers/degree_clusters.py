"""Clusters of users with similar degrees, for graphs without attributes (Paired k-degree, K-In&Out-Degree).

Row c of `members` holds the users of cluster c, ``members[c, :size[c]]``; user u is at position `slot[u]` of the row
of `cluster[u]`.

Users with equal degrees, if there are enough, are clusters of cost 0. The others start in clusters with the nearest
users. Simulated annealing then moves users to nearby clusters, or swaps them. It minimizes the cost of the
generalization: the cost of the best targets of each cluster (degree_targets.py), plus half an edge for each unit of
difference between the sums of out- and in-degrees. With largest degrees as targets, that is two for each added edge.

References
----------
THESIS, chapter 3; Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science, 1983.
"""

from __future__ import annotations

import math

import numpy as np

from kgreason.base import cores
from kgreason.base.jit import DoubleRows, Doubles, Ints, Rows, inlined, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.degree_targets import KEEP, excess
from kgreason.people.anonymizers.user_distances import Clusters, Levels
from kgreason.people.model import Counts


@kernel
def price(degrees: Rows, members: Rows, size: Ints, c: int, excess: float, target: Ints, top: Ints) -> float:
    """Cost of the cheapest target degrees of a cluster (see degree_targets.py), in half edges.

    `excess` is the cost of a degree one unit too large, where one unit too small costs 1. The output `target` holds the
    target degrees, shape (columns,); `top` is scratch, shape (largest cluster,).
    """
    s = size[c]
    above = max(math.ceil(s / (1.0 + excess)) - 1, 0)
    cost = 0.0
    for column in range(degrees.shape[1]):
        total, held = 0, 0
        for i in range(s):
            d = degrees[members[c, i], column]
            total += d
            if held <= above:
                held += 1
            elif d <= top[above]:
                continue
            j = held - 1
            while j > 0 and top[j - 1] < d:
                top[j] = top[j - 1]
                j -= 1
            top[j] = d
        most = 0
        for j in range(min(above, held)):
            most += top[j]
        value = top[above] if s else 0
        target[column] = value
        cost += value * (s - above) - (total - most) + excess * (most - value * above)
    return cost


@inlined
def need(levels: Ints, members: Rows, c: int, begin: int, end: int) -> int:
    """Largest level among members begin .. end-1 of a cluster."""
    most = 0
    for i in range(begin, end):
        most = max(most, levels[members[c, i]])
    return most


@inlined
def put(members: Rows, size: Ints, cluster: Ints, slot: Ints, u: int, c: int) -> None:
    """Move a user to another cluster."""
    a = cluster[u]
    size[a] -= 1
    last = members[a, size[a]]
    members[a, slot[u]], slot[last] = last, slot[u]
    members[c, size[c]], slot[u], cluster[u] = u, size[c], c
    size[c] += 1


@inlined
def change(
    cost: Doubles, target: Rows, size: Ints, uneven: Ints, c: int, was: int, costs: float, targets: Ints,
    made: bool,
) -> float:  # fmt: skip
    """Change of the total cost by a changed cluster, without the cost of uneven sums; updates the sums.

    `uneven` holds the sum of out-degrees minus the sum of in-degrees, by relation. The cluster had `was` users, with
    the old `target`; now there are ``size[c]``, with `targets`. The new cost and targets are stored if `made`.
    """
    half = len(uneven)
    for r in range(half):
        uneven[r] += size[c] * (targets[r] - targets[half + r]) - was * (target[c, r] - target[c, half + r])
    added = float(costs - cost[c])
    if made:
        cost[c] = costs
        for column in range(2 * half):
            target[c, column] = targets[column]
    return added


@inlined
def _unevenness(uneven: Ints) -> float:
    """Cost of making the sums even: a half edge for each unit."""
    total = 0
    for r in range(len(uneven)):
        total += abs(uneven[r])
    return float(total)


@kernel
def _anneal(
    degrees: Rows, levels: Ints, members: Rows, size: Ints, cluster: Ints, slot: Ints,
    cost: Doubles, target: Rows, uneven: Ints,
    cell: Ints, cell_start: Ints, cell_users: Ints, near: Rows,
    active: Ints, random: DoubleRows, temperature: float, excess: float,
    old: Ints, new: Rows, top: Ints,
) -> int:  # fmt: skip
    """Try moves and swaps of users between nearby clusters (Metropolis rule); returns how many were accepted."""
    # `degrees`, shape (n, 2 relations), holds out-degrees by relation, then in-degrees; `members`, `size`,
    # `cluster` and `slot` are the clusters; `cost`, `target` and `uneven` their costs, target degrees and
    # differences of sums: all are changed in place. Users with equal degrees form a cell; `near` holds the nearest
    # cells of each, nearest first. Each attempt begins with one of `active` and takes five numbers of `random` in
    # [0, 1). `old`, `new` and `top` are scratch of the shapes (relations,), (2, 2 relations) and
    # (columns of members,).
    capacity = members.shape[1] - 1  # a swap temporarily needs one more slot
    done = 0
    for attempt in range(len(random)):
        u = active[int(random[attempt, 0] * len(active))]
        draw = random[attempt, 1]
        other = near[cell[u], int(draw * draw * near.shape[1])]
        begin = cell_start[other]
        v = cell_users[begin + int(random[attempt, 2] * (cell_start[other + 1] - begin))]
        a, b = cluster[u], cluster[v]
        if a == b:
            continue
        kind = int(random[attempt, 3] * 3)
        if kind == 1:
            u, v, a, b = v, u, b, a
        was_a, was_b = size[a], size[b]
        if kind < 2 and was_b == capacity:
            continue
        put(members, size, cluster, slot, u, b)
        if kind == 2:
            put(members, size, cluster, slot, v, a)
        fits = size[a] >= need(levels, members, a, 0, size[a]) and size[b] >= need(
            levels, members, b, 0, size[b]
        )
        taken = False
        if fits:
            before = _unevenness(uneven)
            for r in range(len(uneven)):
                old[r] = uneven[r]
            cost_a = price(degrees, members, size, a, excess, new[0], top)
            cost_b = price(degrees, members, size, b, excess, new[1], top)
            more = change(cost, target, size, uneven, a, was_a, cost_a, new[0], False)
            more += change(cost, target, size, uneven, b, was_b, cost_b, new[1], False)
            more += _unevenness(uneven) - before
            taken = more <= 0 or random[attempt, 4] < math.exp(-more / temperature)
            for r in range(len(uneven)):
                old[r], uneven[r] = uneven[r], old[r]
        if taken:
            change(cost, target, size, uneven, a, was_a, cost_a, new[0], True)
            change(cost, target, size, uneven, b, was_b, cost_b, new[1], True)
            done += 1
        else:
            put(members, size, cluster, slot, u, a)
            if kind == 2:
                put(members, size, cluster, slot, v, b)
    return done


_NEAR = 32  # cells that count as nearby
_CHUNK = 50_000  # attempts at one temperature
_PER_USER = 2_000  # attempts
_LEAST = 4_000_000
_COLD = 0.1  # half edges
_WINDOW = 1_000  # users searched for the nearest ones in the initial clusters


def degree_clusters(
    out: Counts,
    into: Counts,
    levels: Levels,
    rng: np.random.Generator,
    removal: float = KEEP,
    attempts: int | None = None,
    runs: int = 1,
) -> Clusters:
    """Cluster users so that equal degrees in each cluster change few edges.

    Parameters
    ----------
    out, into
        Degrees by relation, int64, shape (n, relations).
    levels
        Least cluster size of each user. Users whose level cannot be satisfied are in no cluster (-1).
    removal
        Cost of a removed edge, where an added one costs 1; pass the same to `generalize`.
    attempts
        Number of attempted changes; `None`: 2,000 per user, at least 4,000,000 (about 7,000,000 run in a second).
    runs
        Number of independent runs, on all cores; the best result is returned.
    """
    degrees = np.ascontiguousarray(np.concatenate([out, into], axis=1))
    clusters = np.full(len(degrees), -1, dtype=np.int64)
    users = _satisfiable(levels)
    if not len(users):
        return clusters
    tried = max(_LEAST, _PER_USER * len(users)) if attempts is None else attempts
    near = _Near(degrees[users])
    start = _started(near, degrees[users], levels[users])

    def run(stream: np.random.Generator) -> _Annealing:
        state = _Annealing(near, degrees[users], levels[users], start.copy(), excess(removal))
        state.run(stream, tried)
        return state

    best = min(cores.each(run, rng.spawn(runs)), key=lambda state: state.price)
    clusters[users] = np.unique(best.cluster, return_inverse=True)[1]
    return clusters


def _satisfiable(levels: Levels) -> Vertices:
    """Users without those, highest level first, whose level exceeds the number of remaining users."""
    order = np.argsort(-levels, kind="stable")
    enough = levels[order] <= len(levels) - np.arange(len(levels))
    first = int(enough.argmax()) if enough.any() else len(levels)
    return np.sort(order[first:])


class _Near:
    """Cells (sets of users with equal degrees) and the nearest cells of each."""

    def __init__(self, degrees: Counts) -> None:
        from scipy.spatial import cKDTree

        points, cell = np.unique(degrees, axis=0, return_inverse=True)
        self.cell = cell.reshape(-1).astype(np.int64)
        self.count = np.bincount(self.cell)
        self.start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.count)])
        self.users = np.argsort(self.cell, kind="stable")
        nearest = np.arange(1, min(_NEAR, len(points)) + 1)
        found = cKDTree(points).query(points, k=nearest, p=1, workers=-1)[1]
        self.near: Vertices = np.ascontiguousarray(found, dtype=np.int64)


def _started(near: _Near, degrees: Counts, levels: Levels) -> Clusters:
    """Valid initial clusters: of equal users, the remaining ones of similar users."""
    clusters = np.full(len(degrees), -1, dtype=np.int64)
    count = 0
    for begin, end in zip(near.start[:-1], near.start[1:], strict=True):
        equal = near.users[begin:end]
        equal = equal[_satisfiable(levels[equal])]
        equal = equal[np.argsort(-levels[equal], kind="stable")]
        while len(equal):
            wanted = int(levels[equal[0]])
            group = equal[:wanted] if len(equal) >= 2 * wanted else equal
            clusters[group] = count
            count += 1
            equal = equal[len(group) :]
    rest = np.flatnonzero(clusters < 0)
    rest = rest[np.lexsort((-degrees[rest].sum(axis=1), -levels[rest]))]
    while len(rest) and len(rest) >= levels[rest[0]]:
        wanted = int(levels[rest[0]])
        window = rest[: max(_WINDOW, 10 * wanted)]
        group = np.argsort(_apart(degrees[window], degrees[rest[0]]), kind="stable")[:wanted]
        clusters[rest[group]] = count
        count += 1
        rest = np.delete(rest, group)
    if len(rest):
        _absorb(clusters, rest, degrees, int(levels[rest[0]]))
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def _apart(degrees: Counts, others: Counts) -> Counts:
    apart: Counts = np.abs(degrees - others).sum(axis=1)
    return apart


def _absorb(clusters: Clusters, rest: Vertices, degrees: Counts, wanted: int) -> None:
    """Merge the remaining users with the nearest clusters, taken whole so that no cluster loses users."""
    outside = np.flatnonzero(clusters >= 0)
    new = int(clusters.max()) + 1
    clusters[rest] = new
    for u in outside[np.argsort(_apart(degrees[outside], degrees[rest[0]]), kind="stable")]:
        if np.count_nonzero(clusters == new) >= wanted:
            break
        clusters[clusters == clusters[u]] = new


class _Annealing:
    def __init__(self, near: _Near, degrees: Counts, levels: Levels, clusters: Clusters, over: float) -> None:
        self.near, self.degrees, self.levels, self.cluster, self._over = near, degrees, levels, clusters, over
        self.size = np.bincount(clusters)
        count, width = len(self.size), degrees.shape[1]
        room = 1 + max(int(self.size.max()), 2 * int(levels.max()))
        self.members = np.zeros((count, room), dtype=np.int64)
        order = np.argsort(clusters, kind="stable")
        self.slot = np.empty(len(clusters), dtype=np.int64)
        self.slot[order] = np.arange(len(clusters)) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        self.members[clusters, self.slot] = np.arange(len(clusters))
        self.cost = np.zeros(count)
        self.target = np.zeros((count, width), dtype=np.int64)
        self._top = np.zeros(room, dtype=np.int64)
        for c in range(count):
            self.cost[c] = price(degrees, self.members, self.size, c, over, self.target[c], self._top)
        differ = self.target[:, : width // 2] - self.target[:, width // 2 :]
        self.uneven: Counts = (self.size[:, None] * differ).sum(axis=0)

    @property
    def price(self) -> float:
        """Total cost of all clusters, in half edges."""
        return float(self.cost.sum() + np.abs(self.uneven).sum())

    def run(self, rng: np.random.Generator, attempts: int) -> None:
        """Anneal, from the mean cost of a user as initial temperature."""
        hot = max(1.0, self.price / len(self.cluster))
        chunks = -(-attempts // _CHUNK)
        width = self.degrees.shape[1]
        old, new = np.zeros(width // 2, dtype=np.int64), np.zeros((2, width), dtype=np.int64)
        for temperature in np.geomspace(hot, _COLD, chunks).tolist():
            rare = self.near.count[self.near.cell] < self.levels
            active = np.flatnonzero(rare | (self.cost[self.cluster] > 0))
            if not len(active):
                return
            _anneal(
                self.degrees, self.levels, self.members, self.size, self.cluster, self.slot,
                self.cost, self.target, self.uneven,
                self.near.cell, self.near.start, self.near.users, self.near.near,
                active, rng.random((min(attempts, _CHUNK), 5)), temperature, self._over, old, new, self._top,
            )  # fmt: skip
