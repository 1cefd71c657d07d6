"""Facts with their heights, indexed by values at some positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.engine.relations.fact_tables import Kind, Table
from kgreason.engine.relations.symbols import Codes, Symbols

Heights = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int64]

MIX = np.uint64(0x9E3779B97F4A7C15)


class Known:
    """Facts of one predicate, sorted by height.

    Parameters
    ----------
    rows
        Coded values, shape (n, arity). For a keyed predicate, these include facts that a
        recursion has replaced by better values.
    heights
        Height of each fact; shape (n,).
    final
        Whether each fact is a result; shape (n,). By default all are.

    Examples
    --------
    >>> known = Known((Kind.INT, Kind.INT), np.array([[1, 2], [1, 3], [2, 3]]), np.array([1, 0, 1]))
    >>> [known.rows[i].tolist() for i in known.find((0,), (1,))]
    [[1, 3], [1, 2]]
    """

    def __init__(
        self,
        kinds: tuple[Kind, ...],
        rows: Codes,
        heights: Heights,
        final: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        order = np.argsort(heights, kind="stable") if np.any(heights[1:] < heights[:-1]) else None
        self.kinds = kinds
        self.rows = rows if order is None else rows[order]
        self.heights = heights if order is None else heights[order]
        final = np.ones(len(rows), dtype=np.bool_) if final is None else final
        self.final = final if order is None else final[order]
        self._indexes: dict[tuple[int, ...], tuple[npt.NDArray[np.uint64], Ids]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def raised(self) -> bool:
        """Whether some fact is derived."""
        return len(self) > 0 and int(self.heights[-1]) > 0

    def finals(self) -> Ids:
        """Numbers of the facts that are results."""
        return np.flatnonzero(self.final)

    def find(self, columns: tuple[int, ...], values: Sequence[int]) -> Ids:
        """Numbers of the facts with some values at the columns, sorted by height."""
        return self.join(columns, np.array([values], dtype=np.int64))[1]

    def fitting(self, columns: tuple[int, ...], wanted: Codes) -> int:
        """Approximate number of facts that match rows of values at the columns."""
        return int(self.found(columns, wanted)[2].sum()) if columns else len(self) * len(wanted)

    def join(self, columns: tuple[int, ...], wanted: Codes) -> tuple[Ids, Ids]:
        """Join of rows of values with the facts at the columns: numbers of the matching rows and facts."""
        if not columns:
            which = np.repeat(np.arange(len(wanted)), len(self))
            return which, np.tile(np.arange(len(self)), len(wanted))
        order, starts, counts = self.found(columns, wanted)
        which = np.repeat(np.arange(len(wanted)), counts)
        inside = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        ids = order[np.repeat(starts, counts) + inside]
        if len(columns) == 1:
            return which, ids
        # keys of several columns are hashes
        same = (self.rows[ids][:, list(columns)] == wanted[which]).all(axis=1)
        return which[same], ids[same]

    def places(self, rows: Codes) -> Ids:
        """Number of the first fact equal to each row; -1 where there is none."""
        which, ids = self.join(tuple(range(self.rows.shape[1])), rows)
        found = np.full(len(rows), -1, dtype=np.int64)
        found[which[::-1]] = ids[::-1]
        return found

    def found(self, columns: tuple[int, ...], wanted: Codes) -> tuple[Ids, Ids, Ids]:
        """Index lookup: fact numbers in key order, and start and length of the range for each row."""
        index = self._indexes.get(columns)
        if index is None:
            keys = _mixed(self.rows, columns)
            order = np.argsort(keys, kind="stable")
            index = self._indexes[columns] = (keys[order], order)
        keys, order = index
        mixed = _mixed(wanted, tuple(range(len(columns))))
        starts = np.searchsorted(keys, mixed)
        return order, starts, np.searchsorted(keys, mixed, side="right") - starts


def _mixed(rows: Codes, columns: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """One number for the values at the columns: the value itself for one column, else a hash."""
    keys = np.ascontiguousarray(rows[:, columns[0]]).view(np.uint64)
    for column in columns[1:]:
        keys = (keys ^ (keys >> np.uint64(29))) * MIX + np.ascontiguousarray(rows[:, column]).view(np.uint64)
    return keys


@dataclass(frozen=True)
class Types:
    """Kinds inferred from the whole program and all facts; those of the part needed by a goal may differ.

    Attributes
    ----------
    kinds
        Kinds by predicate, for predicates that facts can reach.
    doubles
        Positions of kind ANY whose numbers are all doubles; known facts have the code of the double there.
    """

    kinds: Mapping[str, tuple[Kind, ...]]
    doubles: frozenset[tuple[str, int]]

    def doubled(self, predicate: str, kinds: Sequence[Kind], rows: Codes, symbols: Symbols) -> Codes:
        """The rows of a predicate with integers replaced by doubles at the positions `doubles`."""
        wanted = [i for i, kind in enumerate(kinds) if kind is Kind.ANY and (predicate, i) in self.doubles]
        if not wanted or not len(rows):
            return rows
        rows = rows.copy()
        for i in wanted:
            rows[:, i] = symbols.doubled(rows[:, i])
        return rows

    def table(self, predicate: str) -> Table | None:
        """Empty table of a predicate; `None` if it cannot have facts."""
        kinds = self.kinds.get(predicate)
        return None if kinds is None else Table.of(kinds, np.empty((0, len(kinds)), dtype=np.int64))
