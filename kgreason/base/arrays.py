"""Conversion between NumPy and Arrow arrays that share memory.

The conversions of pyarrow import pandas where it is installed, which adds a quarter of a second to start-up. pyarrow is
imported on first use, so commands that read no data start without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

ArrowArray = Any


class Lazy:
    """Module that is imported on first attribute access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa: Any = Lazy("pyarrow")
pc: Any = Lazy("pyarrow.compute")
pq: Any = Lazy("pyarrow.parquet")
arrow_csv: Any = Lazy("pyarrow.csv")


def as_numpy(array: ArrowArray) -> npt.NDArray[Any]:
    """View an Arrow array of numbers or booleans without nulls as a NumPy array.

    Only booleans are copied; other results are read-only.

    Examples
    --------
    >>> as_numpy(as_arrow(np.array([3, 4]))[1:]).tolist()
    [4]
    """
    if pa.types.is_boolean(array.type):
        return as_numpy(array.cast(pa.uint8())).astype(np.bool_)
    dtype = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def as_arrow(array: npt.NDArray[Any]) -> ArrowArray:
    """Convert an array of integers, doubles, booleans or microseconds to Arrow."""
    if array.dtype == np.bool_:
        return _over(np.packbits(array, bitorder="little"), pa.bool_(), len(array))
    kind = pa.timestamp("us") if array.dtype == "datetime64[us]" else pa.type_for_alias(array.dtype.name)
    return _over(np.ascontiguousarray(array), kind, len(array))


def _over(memory: npt.NDArray[Any], kind: Any, length: int) -> ArrowArray:
    return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(memory)])


def string_buffers(array: ArrowArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Offsets of the strings of an Arrow array (one more than there are strings), and the bytes of all strings."""
    _, starts, letters = array.buffers()
    dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if not len(array):
        return np.zeros(1, dtype), np.empty(0, np.uint8)
    offsets = np.frombuffer(starts, dtype, len(array) + 1, array.offset * dtype.itemsize)
    return offsets, np.frombuffer(letters or b"", np.uint8)


def strings(values: Sequence[str]) -> ArrowArray:
    """Convert Python strings to an Arrow array."""
    letters = "".join(values)
    if letters.isascii():  # characters are bytes, and no string is encoded alone
        return texts_of(np.fromiter(map(len, values), np.int64, len(values)), letters.encode())
    encoded = [value.encode() for value in values]
    return texts_of(np.fromiter(map(len, encoded), np.int64, len(encoded)), b"".join(encoded))


def texts_of(lengths: npt.NDArray[np.integer[Any]], letters: bytes | npt.NDArray[np.uint8]) -> ArrowArray:
    """Arrow strings of given lengths, in bytes, that follow each other in `letters`."""
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.large_string(), len(lengths), buffers)


def split_at(letters: npt.NDArray[np.uint8], separators: npt.NDArray[np.bool_]) -> ArrowArray:
    """Strings between the separators in the bytes of a text, each of which is a whole character.

    Examples
    --------
    >>> letters = np.frombuffer(b"a,bc,", dtype=np.uint8)
    >>> split_at(letters, letters == ord(",")).to_pylist()
    ['a', 'bc', '']
    """
    ends = np.append(np.flatnonzero(separators), len(letters))
    return texts_of(np.diff(ends, prepend=-1) - 1, letters[~separators])


def constant(text: str) -> Any:
    """A string as an Arrow scalar, as `pyarrow.scalar` makes it, which imports pandas."""
    return strings([text])[0]
