"""What can be done to edges as they are read: reverse, scale, leave out loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.engine.table import Codes
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Raw

_HALF = float(np.finfo(np.float64).max) / 2


@dataclass(frozen=True)
class Rows:
    """Typed rows, each with its place in the table it was read from.

    Attributes
    ----------
    columns
        Codes, one array per column.
    raw
        The table read.
    rows
        Row of `raw` each comes from, int64.
    """

    columns: tuple[Codes, ...]
    raw: Raw
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: npt.NDArray[np.bool_]) -> Rows:
        """Keep the marked rows."""
        return Rows(tuple(c[keep] for c in self.columns), self.raw, self.rows[keep])


def loopless(rows: Rows) -> Rows:
    """Leave out edges from a vertex to itself."""
    return rows.take(rows.columns[0] != rows.columns[1])


def both_ways(rows: Rows, options: Options) -> Rows:
    """Append the reverse of the undirected edges (of all, with `symmetric`), loops excepted."""
    undirected = rows.raw.undirected
    if options.symmetric is False or (options.symmetric is None and undirected is None):
        return rows
    mark = rows.columns[0] != rows.columns[1]
    if options.symmetric is None and undirected is not None:
        mark &= undirected[rows.rows]
    back = rows.take(mark)
    reverse = (back.columns[1], back.columns[0], *back.columns[2:])
    columns = tuple(np.concatenate(pair) for pair in zip(rows.columns, reverse, strict=True))
    return Rows(columns, rows.raw, np.concatenate([rows.rows, back.rows]))


def scaled(weights: npt.NDArray[np.float64], scale: str) -> npt.NDArray[np.float64]:
    """Bring weights to [0,1]; where all are equal, ``minmax`` makes them 1.

    Examples
    --------
    >>> scaled(np.array([-10.0, 5.0]), "abs").tolist()
    [1.0, 0.5]
    >>> scaled(np.array([-10.0, 5.0, -4.0]), "minmax").tolist()
    [0.0, 1.0, 0.4]
    >>> scaled(np.array([-1e308, 1e308, 0.0]), "minmax").tolist()
    [0.0, 1.0, 0.5]
    """
    if not len(weights):
        return weights
    if scale == "abs":
        size = np.abs(weights)
        top = float(size.max())
        return size / top if top else size
    if np.abs(weights).max() > _HALF:
        weights = weights / 2  # what lies between the least and the greatest is a double, too
    low, high = float(weights.min()), float(weights.max())
    return np.ones_like(weights) if low == high else (weights - low) / (high - low)
