"""Loss of clusters, kept while users enter and leave them.

The loss of a cluster is a sum over columns: the cluster's amount times the sum of its users' weights, minus a constant.
The first columns count values, one for each categorical attribute: the amount is the size of the union of its users'
values. For all other columns it is the maximum of the users' numbers. Each numeric attribute has three: how far the
highest number is above the minimum of the domain, how far the lowest is below the maximum, and whether there is any.
Each relation has two, out-degree and in-degree. The last column is the level, with weight 0.

A row of the hash table of values holds a key, cluster · values + value, and a count; key -1: free. Each user has a
value at most once, so there are never more keys than values of users, and the table never grows. The plain twin is a
``Counter``, in ``tests/people/test_local_search.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kgreason.base.jit import DoubleRows, Doubles, Ints, Rows, inlined, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.losses import Values, direction_weights
from kgreason.people.anonymizers.user_distances import Clusters, Levels
from kgreason.people.model import Attribute, Numbers, PeopleGraph

_SPREAD = -7046029254386353131  # 2^64 over the golden ratio


@inlined
def home(tally: Rows, key: int) -> int:
    """First slot to probe for a key."""
    return int(((key * _SPREAD) >> 20) & (len(tally) - 1))


@inlined
def slot(tally: Rows, key: int) -> int:
    """Row of a key, or the free row where it would be inserted."""
    at = home(tally, key)
    while tally[at, 0] != key and tally[at, 0] >= 0:
        at = (at + 1) & (len(tally) - 1)
    return at


@inlined
def count_up(tally: Rows, key: int) -> int:
    """Increment the count of a key; returns the new count."""
    at = slot(tally, key)
    if tally[at, 0] < 0:
        tally[at, 0] = key
        tally[at, 1] = 0
    tally[at, 1] += 1
    return int(tally[at, 1])


@inlined
def count_down(tally: Rows, key: int) -> int:
    """Decrement the count of an existing key; returns the new count. A count of 0 frees its row."""
    at = slot(tally, key)
    tally[at, 1] -= 1
    left = int(tally[at, 1])
    if left > 0:
        return left
    last = len(tally) - 1
    hole = at
    tally[hole, 0] = -1
    at = (at + 1) & last
    while tally[at, 0] >= 0:
        begin = home(tally, tally[at, 0])
        if ((at - begin) & last) >= ((at - hole) & last):  # a probe for this key would stop at the hole
            tally[hole, 0] = tally[at, 0]
            tally[hole, 1] = tally[at, 1]
            tally[at, 0] = -1
            hole = at
        at = (at + 1) & last
    return left


@dataclass(frozen=True, eq=False)
class Columns:
    """The loss of generalizing users, as sums over columns.

    Attributes
    ----------
    start, value, column
        Categorical values of user u, ascending: ``value[start[u]:start[u + 1]]``; the column of each value.
    own, weight
        Amount of each user in each column, and the loss of one unit more for that user; shape (n, columns).
    counted
        Number of columns that count values.
    """

    start: Vertices
    value: Vertices
    column: Vertices
    own: Numbers
    weight: Numbers
    counted: int

    @cached_property
    def user(self) -> Numbers:
        """Amounts of users in each column, then their weights; shape (n, 2 · columns)."""
        return np.concatenate([self.own, self.weight], axis=1)

    @property
    def levels(self) -> Levels:
        """Level of each user, from the last column."""
        return self.own[:, -1].astype(np.int64)

    @classmethod
    def of(cls, graph: PeopleGraph, levels: Levels, alpha: float, alpha_dm: float = 0.5) -> Columns:
        """Columns of a graph, with the weights of AIL; the last one holds the levels, with weight 0."""
        categorical = [a for a in graph.attributes.values() if a.kind == "categorical"]
        numeric = [a for a in graph.attributes.values() if a.kind == "numeric"]
        values = Values.of(graph.n, categorical)
        held = [np.bincount(a.user, minlength=graph.n) for a in categorical]
        own: list[Numbers] = [h.astype(np.float64) for h in held]
        share = alpha / max(len(graph.attributes), 1)
        weight = [share / np.maximum(len(a.domain) - h, 1) for a, h in zip(categorical, held, strict=True)]
        for a in numeric:
            for x, w in _ranges(a, graph.n):
                own.append(x)
                weight.append(share * w)
        both = graph.out_degrees(), graph.in_degrees()
        for degrees, factor in zip(both, direction_weights(alpha_dm), strict=True):
            for degree in degrees.T:
                own.append(degree.astype(np.float64))
                weight.append(np.full(graph.n, factor * (1 - alpha) / (2 * graph.n * len(graph.relations))))
        own.append(levels.astype(np.float64))
        weight.append(np.zeros(graph.n))
        return cls(
            values.owner_start,
            values.owned,
            values.attribute,
            np.stack(own, axis=1),
            np.stack(weight, axis=1),
            len(categorical),
        )


def _ranges(attribute: Attribute, n: int) -> list[tuple[Numbers, Numbers]]:
    """The three columns of a numeric attribute; users without a number gain the whole range plus one."""
    numbers = attribute.numbers
    lowest, highest = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    if lowest > highest:
        return []
    low, high = attribute.bounds(n)
    some, span = low <= high, highest - lowest
    low, high = np.where(some, low, highest), np.where(some, high, lowest)
    room = np.where(some, (low - lowest) + (highest - high), span + 1)
    each = 1 / np.where(room > 0, room, 1)
    return [
        (high - lowest, each),
        (highest - low, each),
        (some.astype(np.float64), np.where(some, 0.0, (1 - span) / (span + 1))),
    ]


OF, AFTER, BEFORE = 0, 1, 2
FIRST, SIZE = 0, 1


class State(NamedTuple):
    """Clusters and their amounts in each column.

    Attributes
    ----------
    start, value, column, counted, user
        As in `Columns`.
    member
        Cluster of each user, next and previous user in it; shape (n, 3), -1: none.
    cluster
        First user of each cluster, and its size; shape (clusters, 2).
    tally
        Hash table of the counts of each value in each cluster.
    sums
        Amounts of each cluster, sums of weights, and second largest numbers; shape (clusters, 3 · columns).
    """

    start: Ints
    value: Ints
    column: Ints
    counted: int
    user: DoubleRows
    member: Rows
    cluster: Rows
    tally: Rows
    sums: DoubleRows


@kernel
def enter(of: State, u: int, c: int) -> None:
    """Add an unassigned user to a cluster."""
    columns = of.user.shape[1] >> 1
    head = of.cluster[c, FIRST]
    of.member[u, OF], of.member[u, AFTER], of.member[u, BEFORE] = c, head, -1
    if head >= 0:
        of.member[head, BEFORE] = u
    of.cluster[c, FIRST] = u
    of.cluster[c, SIZE] += 1
    for e in range(of.start[u], of.start[u + 1]):
        if count_up(of.tally, c * len(of.column) + of.value[e]) == 1:
            of.sums[c, of.column[of.value[e]]] += 1.0
    for j in range(columns):
        of.sums[c, columns + j] += of.user[u, columns + j]
    for j in range(of.counted, columns):
        x = of.user[u, j]
        of.sums[c, 2 * columns + j] = max(of.sums[c, 2 * columns + j], min(x, of.sums[c, j]))
        of.sums[c, j] = max(of.sums[c, j], x)


@kernel
def leave(of: State, u: int) -> None:
    """Remove a user from its cluster."""
    columns = of.user.shape[1] >> 1
    c, after, before = of.member[u, OF], of.member[u, AFTER], of.member[u, BEFORE]
    of.member[u, OF] = -1
    of.cluster[c, SIZE] -= 1
    if before >= 0:
        of.member[before, AFTER] = after
    else:
        of.cluster[c, FIRST] = after
    if after >= 0:
        of.member[after, BEFORE] = before
    for e in range(of.start[u], of.start[u + 1]):
        if count_down(of.tally, c * len(of.column) + of.value[e]) == 0:
            of.sums[c, of.column[of.value[e]]] -= 1.0
    for j in range(columns):
        of.sums[c, columns + j] -= of.user[u, columns + j]
    for j in range(of.counted, columns):
        if of.user[u, j] < of.sums[c, 2 * columns + j]:
            continue
        most, second = 0.0, 0.0
        v = of.cluster[c, FIRST]
        while v >= 0:
            second = max(second, min(of.user[v, j], most))
            most = max(most, of.user[v, j])
            v = of.member[v, AFTER]
        of.sums[c, j], of.sums[c, 2 * columns + j] = most, second


@kernel
def changes(of: State, c: int, u: int, v: int, more: Doubles) -> float:
    """Change of the loss of cluster c if u enters and v leaves (-1: nobody).

    `more` receives the increase of the cluster's amounts, shape (columns,).
    """
    columns = of.user.shape[1] >> 1
    for j in range(len(more)):
        more[j] = 0.0
    e, e_end, f, f_end = 0, 0, 0, 0
    if u >= 0:
        e, e_end = of.start[u], of.start[u + 1]
    if v >= 0:
        f, f_end = of.start[v], of.start[v + 1]
    while e < e_end or f < f_end:
        if f == f_end or (e < e_end and of.value[e] < of.value[f]):
            t = of.value[e]
            if of.tally[slot(of.tally, c * len(of.column) + t), 0] < 0:
                more[of.column[t]] += 1.0
            e += 1
        elif e == e_end or of.value[f] < of.value[e]:
            t = of.value[f]
            if of.tally[slot(of.tally, c * len(of.column) + t), 1] == 1:
                more[of.column[t]] -= 1.0
            f += 1
        else:
            e += 1
            f += 1
    for j in range(of.counted, columns):
        rest = of.sums[c, j]
        if v >= 0 and of.user[v, j] >= rest:
            rest = of.sums[c, 2 * columns + j]
        if u >= 0:
            rest = max(rest, of.user[u, j])
        more[j] = rest - of.sums[c, j]
    total = 0.0
    for j in range(columns):
        heavier = 0.0
        if u >= 0:
            heavier += of.user[u, columns + j]
        if v >= 0:
            heavier -= of.user[v, columns + j]
        total += more[j] * (of.sums[c, columns + j] + heavier) + of.sums[c, j] * heavier
    return total


@kernel
def may_leave(of: State, u: int) -> bool:
    """Whether the cluster of a user stays valid, or becomes empty, without that user."""
    c, columns = of.member[u, OF], of.user.shape[1] >> 1
    highest = of.sums[c, columns - 1]
    if of.user[u, columns - 1] >= highest:
        highest = of.sums[c, 3 * columns - 1]
    return bool(of.cluster[c, SIZE] - 1 >= highest)


@kernel
def cheapest(of: State, u: int, more: Doubles) -> int:
    """Cheapest cluster for an unassigned user that is valid with that user, -1: none; `more` is scratch."""
    level = of.user[u, len(more) - 1]
    best, least = -1, 0.0
    for c in range(len(of.cluster)):
        if of.cluster[c, SIZE] > 0 and level <= of.cluster[c, SIZE] + 1:
            cost = changes(of, c, u, -1, more)
            if best < 0 or cost < least:
                best, least = c, cost
    return best


class Search:
    """Clusters and their amounts in each column."""

    def __init__(self, columns: Columns, clusters: Clusters) -> None:
        n, width = columns.own.shape
        count = int(clusters.max(initial=-1)) + 1
        self.columns = columns
        self.state = State(
            columns.start,
            columns.value,
            columns.column,
            columns.counted,
            columns.user,
            np.full((n, 3), -1, dtype=np.int64),
            np.tile(np.array([-1, 0]), (count, 1)),
            np.full((1 << (2 * len(columns.value) + 1).bit_length(), 2), -1, dtype=np.int64),
            np.zeros((count, 3 * width)),
        )
        self._scratch = np.empty(width)
        # constant that the kernels do not subtract from the loss of a cluster
        self._constant = (columns.own * columns.weight).sum(axis=1)
        for u in np.flatnonzero(clusters >= 0).tolist():
            self.enter(u, int(clusters[u]))

    @property
    def clusters(self) -> Clusters:
        """Cluster of each user, -1: none; a view."""
        return self.state.member[:, OF]

    @property
    def sizes(self) -> Vertices:
        """Users of each cluster; a view."""
        return self.state.cluster[:, SIZE]

    def loss(self) -> float:
        """Summed loss of all users in clusters."""
        return float(self.losses().sum())

    def losses(self) -> Numbers:
        """Loss of each user, 0 for users in no cluster; float64, shape (n,)."""
        found = np.zeros(len(self.clusters))
        inside = np.flatnonzero(self.clusters >= 0)
        own, weight = self.columns.own, self.columns.weight
        more = self.state.sums[self.clusters[inside], : own.shape[1]] - own[inside]
        found[inside] = (more * weight[inside]).sum(axis=1)
        return found

    def joining(self, u: int, c: int) -> float:
        """Change of the loss if an unassigned user enters a cluster."""
        return changes(self.state, c, u, -1, self._scratch) - float(self._constant[u])

    def leaving(self, u: int) -> float:
        """Change of the loss if a user leaves its cluster."""
        return changes(self.state, int(self.clusters[u]), -1, u, self._scratch) + float(self._constant[u])

    def enter(self, u: int, c: int) -> None:
        """Add an unassigned user to a cluster."""
        enter(self.state, u, c)

    def leave(self, u: int) -> None:
        """Remove a user from its cluster."""
        leave(self.state, u)

    def may_leave(self, u: int) -> bool:
        """Whether the cluster of a user stays valid, or becomes empty, without that user."""
        return may_leave(self.state, u)

    def cheapest(self, u: int) -> int:
        """Cheapest cluster for an unassigned user that is valid with that user; -1: none."""
        return cheapest(self.state, u, self._scratch)
