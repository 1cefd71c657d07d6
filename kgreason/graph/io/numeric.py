"""Columns of text that hold nothing but plain numbers, as most columns of numbers do: told in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.arrays import as_arrow, as_numpy, string_buffers
from kgreason.engine.table import Kind
from kgreason.graph.io.kernels import DECIMALS, INTEGERS, integers, numbers
from kgreason.graph.io.raw import Column


def numeric(column: Column, wanted: Kind | None) -> Column | None:
    """Integers or doubles of a column of text; `None`: it is of others, or wants a closer look.

    Parameters
    ----------
    wanted
        Kind of its values, `None`: as they show.
    """
    import pyarrow as pa

    kinds = {None: DECIMALS, Kind.DOUBLE: DECIMALS, Kind.INT: INTEGERS}
    chunked = isinstance(column, pa.ChunkedArray)
    if (
        wanted not in kinds
        or not chunked
        or column.type != pa.string()
        or column.null_count
        or not len(column)
    ):
        return None
    found = INTEGERS
    for chunk in column.chunks:
        found = max(found, numbers(*string_buffers(chunk)))
        if found > kinds[wanted]:
            return None
    if found == INTEGERS:
        return as_arrow(_integers(column))
    values = column.cast(pa.float64()).combine_chunks()
    return values if np.isfinite(as_numpy(values)).all() else None


def _integers(column: Column) -> npt.NDArray[np.int64]:
    """Values of a column of text that is known to hold integers."""
    values = np.empty(len(column), dtype=np.int64)
    first = 0
    for chunk in column.chunks:
        integers(*string_buffers(chunk), first, values)
        first += len(chunk)
    return values
