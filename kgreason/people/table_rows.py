"""Strict reading of the table rows of a release: everyone with the folder sees all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.arrays import pc
from kgreason.base.errors import DataError
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.statements import empty, texts, texts_of
from kgreason.release.plain_tables import read_table
from kgreason.release.read_back import UNCHANGED, as_written, check_whole


def read_rows(path: Path, header: Sequence[str], blank: Sequence[str] = ()) -> Raw:
    """Read a table of a release as texts.

    Parameters
    ----------
    header
        Required column names.
    blank
        Columns that may have empty cells.

    Raises
    ------
    DataError
        If the file is incomplete, has other columns, or a cell is empty or has no text form.
    """
    with as_written():
        if path.suffix != ".parquet":
            check_whole(path)
        raw = read_table(path)
    if raw.names != tuple(header):
        what = f"the names of columns must be {','.join(header)}, not {','.join(raw.names)}"
        raise DataError(str(path), what, raw.title_line, hint=UNCHANGED)
    raw = replace(raw, columns=tuple(texts_of(raw, i, name, UNCHANGED) for i, name in enumerate(header)))
    for name, column in zip(header, raw.columns, strict=True):
        if name not in blank and (gone := empty(column)).any():
            raise raw.error(int(gone.argmax()), f"there is no {name}", hint=UNCHANGED)
    return raw


def labels_of(raw: Raw, what: str) -> Any:
    """Names in the first column, as an Arrow array; they must be unique.

    Parameters
    ----------
    what
        Kind of the named objects, for messages.

    Raises
    ------
    DataError
        For the first repeated name.
    """
    labels = texts(raw.columns[0])
    if len(again := later(coded(labels)[0])):
        row = int(again[0])
        raise raw.error(row, f"the {what} {labels[row].as_py()!r} stands twice", hint=UNCHANGED)
    return labels


def places(raw: Raw, column: int, labels: Any, what: str, file: str) -> Vertices:
    """Index of each name of a column in a list of names.

    Parameters
    ----------
    labels
        Known names, as an Arrow array.
    what, file
        Kind of the named objects, and the file that lists them, for messages.

    Raises
    ------
    DataError
        For the first unknown name.
    """
    found = pc.index_in(texts(raw.columns[column]), value_set=labels)
    if found.null_count:
        row = int(np.argmax(found.is_null().to_numpy(zero_copy_only=False)))
        who = texts(raw.columns[column])[row].as_py()
        raise raw.error(row, f"the {what} {who!r} is not in {file}", hint=UNCHANGED)
    numbers: Vertices = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def later(numbers: Vertices) -> Vertices:
    """Indices of repeated numbers, without first occurrences.

    Examples
    --------
    >>> later(np.array([3, 5, 3, 3])).tolist()
    [2, 3]
    """
    again = np.ones(len(numbers), dtype=np.bool_)
    again[np.unique(numbers, return_index=True)[1]] = False
    return np.flatnonzero(again)


def coded(column: Any) -> tuple[Vertices, list[str]]:
    """Factorize texts: code of each row, and the distinct texts."""
    found = texts(column).dictionary_encode()
    return found.indices.to_numpy(zero_copy_only=False).astype(np.int64), found.dictionary.to_pylist()
