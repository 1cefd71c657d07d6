"""Cluster loss as a sum over columns, and hash tables of the value counts in each cluster.

A row of the table holds a key, cluster · values + value, and a count; key -1: free. Each user has a value at most once,
so there are never more keys than values of users, and the table never grows. The plain twin is a ``Counter``, in
``tests/people/test_local_search.py``.

Count columns, one for each categorical attribute, come first: a cluster has the union of its users' values. For all
other columns a cluster has the maximum. Each numeric attribute has three: how far the highest number is above the
minimum of the domain, how far the lowest is below the maximum, and whether there is any. Each relation has two,
out-degree and in-degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Rows, kernel
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.user_distances import Levels
from kgreason.people.model import Attribute, PeopleGraph

_SPREAD = -7046029254386353131  # 2^64 over the golden ratio


@kernel
def home(tally: Rows, key: int) -> int:
    """First slot to probe for a key."""
    return int(((key * _SPREAD) >> 20) & (len(tally) - 1))


@kernel
def slot(tally: Rows, key: int) -> int:
    """Row of a key, or the free row where it would be inserted."""
    at = home(tally, key)
    while tally[at, 0] != key and tally[at, 0] >= 0:
        at = (at + 1) & (len(tally) - 1)
    return at


@kernel
def count_up(tally: Rows, key: int) -> int:
    """Increment the count of a key; returns the new count."""
    at = slot(tally, key)
    if tally[at, 0] < 0:
        tally[at, 0] = key
        tally[at, 1] = 0
    tally[at, 1] += 1
    return int(tally[at, 1])


@kernel
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


Table = npt.NDArray[np.float64]


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
    own: Table
    weight: Table
    counted: int

    @cached_property
    def user(self) -> Table:
        """Amounts of users in each column, then their weights; shape (n, 2 · columns)."""
        return np.concatenate([self.own, self.weight], axis=1)

    @property
    def levels(self) -> Levels:
        """Level of each user, from the last column; int64, shape (n,)."""
        return self.own[:, -1].astype(np.int64)

    @classmethod
    def of(cls, graph: PeopleGraph, levels: Levels, alpha: float) -> Columns:
        """Columns of a graph, with the weights of AIL; the last one holds the levels, with weight 0."""
        categorical = [a for a in graph.attributes.values() if a.kind == "categorical"]
        numeric = [a for a in graph.attributes.values() if a.kind == "numeric"]
        first = np.concatenate([[0], np.cumsum([len(a.domain) for a in categorical])]).astype(np.int64)
        user = np.concatenate([np.empty(0, np.int64), *(a.user for a in categorical)])
        value = np.concatenate([first[:0], *(a.value + f for a, f in zip(categorical, first, strict=False))])
        order = np.lexsort((value, user))
        held = [np.bincount(a.user, minlength=graph.n) for a in categorical]
        own: list[Table] = [h.astype(np.float64) for h in held]
        share = alpha / max(len(graph.attributes), 1)
        weight = [share / np.maximum(len(a.domain) - h, 1) for a, h in zip(categorical, held, strict=True)]
        for a in numeric:
            for x, w in _ranges(a, graph.n):
                own.append(x)
                weight.append(share * w)
        for degrees in (graph.out_degrees(), graph.in_degrees()):
            for degree in degrees.T:
                own.append(degree.astype(np.float64))
                weight.append(np.full(graph.n, (1 - alpha) / (2 * graph.n * len(graph.relations))))
        own.append(levels.astype(np.float64))
        weight.append(np.zeros(graph.n))
        return cls(
            np.concatenate([[0], np.cumsum(np.bincount(user, minlength=graph.n))]).astype(np.int64),
            value[order],
            np.repeat(np.arange(len(categorical)), np.diff(first)),
            np.stack(own, axis=1),
            np.stack(weight, axis=1),
            len(categorical),
        )


def _ranges(attribute: Attribute, n: int) -> list[tuple[Table, Table]]:
    """The three columns of a numeric attribute; users without a number gain the whole range plus one."""
    numbers = attribute.numbers
    lowest, highest = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    if lowest > highest:
        return []
    low, high = np.full(n, highest), np.full(n, lowest)
    np.minimum.at(low, attribute.user, numbers[attribute.value])
    np.maximum.at(high, attribute.user, numbers[attribute.value])
    span = highest - lowest
    some = np.zeros(n)
    some[attribute.user] = 1.0
    room = np.where(some > 0, (low - lowest) + (highest - high), span + 1)
    each = 1 / np.where(room > 0, room, 1)
    return [
        (high - lowest, each),
        (highest - low, each),
        (some, np.where(some > 0, 0.0, (1 - span) / (span + 1))),
    ]
