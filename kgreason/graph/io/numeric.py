"""Columns of text that hold nothing but plain numbers, as most columns of numbers do: told in one pass."""

from __future__ import annotations

import numpy as np

from kgreason.arrays import as_numpy, string_buffers
from kgreason.engine.table import Kind
from kgreason.graph.io.kernels import DECIMALS, INTEGERS, numbers
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
        return column.cast(pa.int64()).combine_chunks()
    values = column.cast(pa.float64()).combine_chunks()
    return values if np.isfinite(as_numpy(values)).all() else None
