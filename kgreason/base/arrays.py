"""Arrays of NumPy and Arrow, each in the memory of the other.

pyarrow's own conversions import pandas where it is installed, a quarter of a second of start-up. pyarrow itself is
imported at its first use: commands that read no data start without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

ArrowArray = Any


class Lazy:
    """A module that is imported when something of it is used first.

    Parameters
    ----------
    name
        Of the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa: Any = Lazy("pyarrow")
pc: Any = Lazy("pyarrow.compute")
pq: Any = Lazy("pyarrow.parquet")
arrow_csv: Any = Lazy("pyarrow.csv")


def as_numpy(array: ArrowArray) -> npt.NDArray[Any]:
    """Values of an Arrow array of numbers or truth values, none of which is null.

    Only truth values are copied; the others cannot be written to.

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
    """Arrow array of integers, doubles, truth values or microseconds.

    Examples
    --------
    >>> as_arrow(np.array([True, False])).to_pylist()
    [True, False]
    """
    if array.dtype == np.bool_:
        return _over(np.packbits(array, bitorder="little"), pa.bool_(), len(array))
    kind = pa.timestamp("us") if array.dtype == "datetime64[us]" else pa.type_for_alias(array.dtype.name)
    return _over(np.ascontiguousarray(array), kind, len(array))


def _over(memory: npt.NDArray[Any], kind: Any, length: int) -> ArrowArray:
    return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(memory)])


def string_buffers(array: ArrowArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Where each string of an Arrow array begins and ends (one number more than strings), and the bytes of all."""
    _, places, letters = array.buffers()
    dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if not len(array):
        return np.zeros(1, dtype), np.empty(0, np.uint8)
    offsets = np.frombuffer(places, dtype, len(array) + 1, array.offset * dtype.itemsize)
    return offsets, np.frombuffer(letters or b"", np.uint8)


def strings(values: Sequence[str]) -> ArrowArray:
    """Arrow array of strings of Python.

    Examples
    --------
    >>> strings(["a", "", "é"]).to_pylist()
    ['a', '', 'é']
    """
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
