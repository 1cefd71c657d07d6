"""The loss of clusters, column by column, and tallies of the values in each cluster.

A row of the table holds a key, cluster · values + value, and a count; -1: free. Each user has a value once, so there
are never more keys than values of users, and the table never grows. The plain twin is a ``Counter``, in
``tests/people/test_local_search.py``.

Columns of counts, one for each categorical attribute, come first: a cluster has the union of values. Each numeric
attribute has three of the others, whose largest counts: how far the highest number is above the lowest of the domain,
how far the lowest is below the highest, and whether there is any. Each relation has two, out and in.
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
    """Where the search for a key begins."""
    return int(((key * _SPREAD) >> 20) & (len(tally) - 1))


@kernel
def slot(tally: Rows, key: int) -> int:
    """The row that holds a key; if none does, the free one where it would be."""
    at = home(tally, key)
    while tally[at, 0] != key and tally[at, 0] >= 0:
        at = (at + 1) & (len(tally) - 1)
    return at


@kernel
def count_up(tally: Rows, key: int) -> int:
    """Count one more; returns how many there are then."""
    at = slot(tally, key)
    if tally[at, 0] < 0:
        tally[at, 0] = key
        tally[at, 1] = 0
    tally[at, 1] += 1
    return int(tally[at, 1])


@kernel
def count_down(tally: Rows, key: int) -> int:
    """Count one less of a key that is there; returns how many are left. The last one frees its row."""
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
        if ((at - begin) & last) >= ((at - hole) & last):  # the search for it would end at the hole
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
        What each user has of each column, and what one more of it costs him; shape (n, columns).
    counted
        So many columns count values.
    """

    start: Vertices
    value: Vertices
    column: Vertices
    own: Table
    weight: Table
    counted: int

    @cached_property
    def user(self) -> Table:
        """What users have of each column, then their weights; shape (n, 2 · columns)."""
        return np.concatenate([self.own, self.weight], axis=1)

    @property
    def levels(self) -> Levels:
        """Level of each user, the last column; int64, shape (n,)."""
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
    """The three columns of a numeric attribute; who has no number gets all of the range, and one."""
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
