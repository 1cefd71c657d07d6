"""Released links as facts for the rules of an adversary, who can tell how many links each fact stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.engine.table import Kind, Table, doubles
from kgreason.graph.links.model import Observations, observations

Ints = npt.NDArray[np.int64]


class Seen:
    """Links of one relation as facts, in both directions if it is mutual, and how many links each fact stands for."""

    def __init__(self, found: Observations, entities: int, arity: int) -> None:
        if arity == 2 and found.weight is not None:
            found = observations(found.source, found.target, count=found.count, mutual=found.mutual)
        self.mutual, self._entities = found.mutual, entities
        back = (found.source != found.target) if found.mutual else np.zeros(len(found), dtype=np.bool_)
        source = np.concatenate([found.source, found.target[back]])
        target = np.concatenate([found.target, found.source[back]])
        self._columns = [source, target]
        if arity == 3:
            weight = np.ones(len(found)) if found.weight is None else found.weight
            self._columns.append(doubles(np.concatenate([weight, weight[back]])))
        self._counts = np.concatenate([found.count, found.count[back]])
        self._single = bool((self._counts == 1).all())
        self._weights = np.unique(self._columns[2]) if arity == 3 else np.empty(0, dtype=np.int64)
        if not self._single:
            keys = self._keys(np.stack(self._columns, axis=1))
            order = np.argsort(keys)
            self._sorted, self._ordered = keys[order], self._counts[order]

    def table(self) -> Table:
        """The links as facts."""
        return facts_table(self._columns)

    def _keys(self, rows: Ints) -> Ints:
        keys: Ints = self._entities * rows[:, 0] + rows[:, 1]
        if rows.shape[1] == 3:
            at = np.searchsorted(self._weights, rows[:, 2])
            known = self._weights[np.minimum(at, len(self._weights) - 1)] == rows[:, 2]
            keys = np.where(known, keys * len(self._weights) + at, -1)
        return keys

    def count(self, rows: Ints) -> Ints:
        """How many links each fact stands for; 1 for one that is no link but derived."""
        if self._single or not len(rows):  # also where there is no link at all
            return np.ones(len(rows), dtype=np.int64)
        keys = self._keys(rows)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        found = self._sorted[at] == keys
        return np.where(found, self._ordered[at], 1)


def facts_table(columns: Sequence[Ints]) -> Table:
    """Facts of entities and, in a third column, weights."""
    kinds = (Kind.INT, Kind.INT, Kind.DOUBLE)[: len(columns)]
    return Table(kinds, tuple(columns), len(columns[0]))


def in_worlds(table: Table, entities: int) -> Table:
    """The same facts with the world of their entities as a further first argument."""
    world = table.columns[0] // max(entities, 1)
    return Table((Kind.INT, *table.kinds), (world, *table.columns), table.length)


def packed(rows: Ints) -> Ints:
    """A number for each row, at least 0 and the same for the same row; shape (m,).

    Examples
    --------
    >>> packed(np.array([[1, 2], [0, 1], [1, 2]])).tolist()
    [5, 1, 5]
    """
    key = np.zeros(len(rows), dtype=np.int64)
    for given in rows.T:
        column = given
        if (
            column.min(initial=0) < 0
            or (int(key.max(initial=0)) + 1) * (int(column.max(initial=0)) + 1) >> 60
        ):
            key, column = (np.unique(c, return_inverse=True)[1] for c in (key, column))
        key = key * (column.max(initial=0) + 1) + column
    return key
