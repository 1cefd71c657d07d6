"""Writing tables as CSV: UTF-8, LF, fields quoted where they must be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.graph.io.raw import Column

_ROWS = 1 << 20
DECIMALS = 6


def write_csv(
    path: Path, names: Sequence[str], columns: Sequence[npt.ArrayLike], delimiter: str = ","
) -> None:
    """Write columns of equal length under a line of names.

    Parameters
    ----------
    names
        One per column.
    columns
        Arrays of strings, integers, truth values (true and false) or doubles (with up to 6 decimals).
    delimiter
        A comma or a tab.

    Notes
    -----
    A text column in memory is one buffer: once the fields of a row are joined with their line end, the
    buffer is the file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = [np.asarray(column) for column in columns]
    length = len(arrays[0]) if arrays else 0
    if len(names) != len(arrays) or any(len(a) != length for a in arrays):
        raise ValueError("names and columns of a table differ in length")
    between, newline, nothing = (pa.scalar(mark, pa.large_string()) for mark in (delimiter, "\n", ""))
    with path.open("wb") as stream:
        header = [
            _quoted(pa.array([name], pa.large_string()), alone=len(names) == 1)[0].as_py() for name in names
        ]
        stream.write((delimiter.join(header) + "\n").encode())
        for start in range(0, length, _ROWS):
            fields = [_fields(a[start : start + _ROWS], alone=len(arrays) == 1) for a in arrays]
            rows = pc.binary_join_element_wise(*fields, between)
            stream.write(_bytes(pc.binary_join_element_wise(rows, newline, nothing)))


def _fields(array: npt.NDArray[Any], *, alone: bool) -> Column:
    import pyarrow as pa

    large = pa.large_string()
    if array.dtype.kind == "f":
        return _decimals(array)
    if array.dtype.kind in "iub":
        return pa.array(array).cast(large)
    values = pa.array(array.tolist())
    if pa.types.is_floating(values.type):
        return _decimals(np.array(array, dtype=np.float64))
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    return _quoted(values.cast(large), alone=alone) if text else values.cast(large)


def _decimals(values: npt.NDArray[np.floating]) -> Column:
    """Doubles as text with at most 6 decimals and no idle zeros; ones too large for that as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    exact = values.astype(np.float64) * 10.0**DECIMALS
    if not (np.abs(exact) < 2.0**53).all():
        return pa.array(values.astype(np.float64)).cast(pa.large_string())
    scaled = np.rint(exact).astype(np.int64)
    # an Arrow decimal is a 128-bit integer and a count of decimals: low half, then sign extension
    halves = np.ascontiguousarray(np.stack([scaled, scaled >> 63], axis=1))
    decimals = pa.Array.from_buffers(
        pa.decimal128(20, DECIMALS), len(scaled), [None, pa.py_buffer(halves.tobytes())]
    )
    return pc.ascii_rtrim(pc.ascii_rtrim(decimals.cast(pa.large_string()), "0"), ".")


def _quoted(text: Column, *, alone: bool) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    special = pc.match_substring_regex(text, r'[",\t\r\n]|^\s|\s$|^\x{FEFF}')
    if alone:  # an empty line would not be read as a row
        special = pc.or_(special, pc.equal(text, ""))
    if not pc.any(special).as_py():
        return text
    mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(mark, doubled, mark, nothing), text)


def _bytes(rows: Column) -> memoryview:
    """Text of all rows on end."""
    _, offsets, data = rows.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)
    return memoryview(data)[int(bounds[rows.offset]) : int(bounds[rows.offset + len(rows)])]
