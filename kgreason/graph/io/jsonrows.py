"""JSON files: one object or array a line, or one array of them, perhaps deep inside an object."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.gathered import PIECE, Gathered, Numbers
from kgreason.graph.io.jsonscan import Malformed, Scanner
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw, texts
from kgreason.graph.io.values import CastError, Unfit

_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz)?$", re.IGNORECASE)
_BLOCK = 1 << 20  # characters that are looked at at once


class _NoArrayOfRows(Exception):
    """What begins as an array of rows is the first of several values, each a row."""


def read_json(path: Path, options: Options) -> Raw:
    """Read rows; keys of objects are columns, keys of objects within them too, joined by points.

    A key that a row lacks is a missing cell.
    """
    try:
        try:
            return _read(path, options, array=None)
        except _NoArrayOfRows:
            return _read(path, options, array=False)
    except Malformed as error:
        raise DataError(
            str(path),
            f"no JSON: {error.message}",
            error.line,
            hint="is the file cut off, or changed by hand? write it anew with the program that made it",
        ) from error


def _read(path: Path, options: Options, *, array: bool | None) -> Raw:
    """Read all rows.

    Parameters
    ----------
    array
        Whether the file is one array of rows; `None`: if it begins so.
    """
    scan = Scanner(texts(path, options.encoding, _BLOCK))
    rows = _Rows(str(path))
    if options.path is not None:
        return _inside(scan, str(path), options.path)
    if array is None and scan.take("["):
        _elements(scan, rows, lined=True)
        first = rows.first
        if not scan.ended() or (rows.count and not isinstance(first, dict | list)):
            raise _NoArrayOfRows
        return rows.raw()
    while not scan.ended():
        line = scan.line
        rows.add(scan.value(), line)
    names = _tables_in(rows.first) if rows.count == 1 and isinstance(rows.first, dict) else []
    if names and not _LINES.search(path.name):
        hint = (
            f"say which of its arrays holds them: path={names[0]}; if it is a row itself, put [ ] around it"
        )
        raise DataError(str(path), "one object, not rows", hint=hint)
    return rows.raw()


def _elements(scan: Scanner, rows: _Rows, *, lined: bool) -> None:
    """Take the elements of an array, whose opening bracket is taken, to its end."""
    if scan.take("]"):
        return
    while True:
        line = scan.line if lined else None
        value = scan.value()
        if lined and not rows.count and not isinstance(value, dict | list):
            raise _NoArrayOfRows
        rows.add(value, line)
        if scan.take("]"):
            return
        if not scan.take(","):
            raise scan.wrong("expected a comma or a bracket")


def _tables_in(value: dict[str, Any]) -> list[str]:
    """Paths of arrays of rows, keys joined by points; arrays without any are such where there is nothing else."""
    flat = _flat(value)
    empty = all(v == [] for v in flat.values())
    return [
        k for k, v in flat.items() if empty or (isinstance(v, list) and v and isinstance(v[0], (dict, list)))
    ]


def _inside(scan: Scanner, file: str, path: str) -> Raw:
    """Read the array that a path leads to; the last, should a key stand twice."""
    found = _descended(scan, file, path, path.split("."))
    if not scan.ended():
        raise scan.wrong("extra data")
    return found.raw()


def _descended(scan: Scanner, file: str, path: str, keys: Sequence[str]) -> _Rows:
    """Take a value, and of it the rows at the end of the keys."""
    rows: _Rows | None = None
    if not keys:
        if not scan.take("["):
            hint = "name the keys that lead to an array of rows, joined by points, as in path=data.rows"
            raise DataError(file, f"path={path} leads to no array of rows", hint=hint)
        rows = _Rows(file, lined=False)
        _elements(scan, rows, lined=False)
        return rows
    if scan.take("{"):
        return _member(scan, file, path, keys)
    there = "none"
    if keys[0].isdecimal() and scan.take("["):
        number = 0
        while not scan.take("]"):
            if number and not scan.take(","):
                raise scan.wrong("expected a comma or a bracket")
            if number == int(keys[0]):
                rows = _descended(scan, file, path, keys[1:])
            else:
                scan.value()
            number += 1
    if rows is None:
        raise _no_key(file, path, keys[0], there)
    return rows


def _member(scan: Scanner, file: str, path: str, keys: Sequence[str]) -> _Rows:
    """Take an object, whose opening brace is taken, and go on at one of its keys."""
    rows: _Rows | None = None
    seen: dict[str, None] = {}
    while not scan.take("}"):
        if seen and not scan.take(","):
            raise scan.wrong("expected a comma or a brace")
        if scan.next() != '"':
            raise scan.wrong("expecting property name enclosed in double quotes")
        key = str(scan.value())
        seen[key] = None
        if not scan.take(":"):
            raise scan.wrong("expecting ':' delimiter")
        if key == keys[0]:
            rows = _descended(scan, file, path, keys[1:])
        else:
            scan.value()
    if rows is None:
        raise _no_key(file, path, keys[0], ", ".join(map(repr, seen)))
    return rows


def _no_key(file: str, path: str, key: str, there: str) -> DataError:
    return DataError(file, f"there is no {key!r} of path={path}", hint=f"the keys there are {there}")


class _Rows:
    """Takes rows one by one, and keeps their cells column by column."""

    def __init__(self, file: str, *, lined: bool = True) -> None:
        self.first: Any = None
        self.count = 0
        self._file = file
        self._lines = Numbers() if lined else None
        self._last: list[Any] = []
        self._columns: dict[str, Gathered] = {}
        self._width = 0

    def add(self, row: Any, line: int | None) -> None:
        """Take the next row."""
        if not self.count:
            self.first = row
            self._width = len(row) if isinstance(row, list) else 1
        if self._lines is not None and line is not None:
            self._lines.append(line)
        self.count += 1
        self._last.append(row)
        if len(self._last) == PIECE:
            self._flush()

    def raw(self) -> Raw:
        """The table of all rows."""
        self._flush()
        keyed = isinstance(self.first, dict)
        if not self.count:
            return Raw(self._file, (), (), self._line, named=False)
        names = tuple(self._columns) if keyed else tuple(f"column{i + 1}" for i in range(self._width))
        columns = []
        for column in self._columns.values():
            column.pad(self.count)
            columns.append(_whole(column))
        return Raw(self._file, names, tuple(columns), self._line, named=keyed, typed=True)

    def _line(self, row: int) -> int | None:
        return None if self._lines is None else self._lines[row]

    def _flush(self) -> None:
        before = self.count - len(self._last)
        if isinstance(self.first, dict):
            self._by_key(before)
        elif self._last:
            self._by_place(before)
        self._last = []

    def _by_key(self, before: int) -> None:
        flat = []
        for number, row in enumerate(self._last, before):
            if not isinstance(row, dict):
                raise self._misfit(number, f"{_shown(row)} where the first row is an object")
            flat.append(_flat(row) if any(isinstance(v, dict) for v in row.values()) else row)
        for name in dict.fromkeys(key for row in flat for key in row):
            column = self._columns.setdefault(name, Gathered())
            column.pad(before)
            column.add([row.get(name) for row in flat])

    def _by_place(self, before: int) -> None:
        listed = [row if isinstance(row, list) else [row] for row in self._last]
        for number, row in enumerate(self._last, before):
            if isinstance(row, dict) or len(listed[number - before]) != self._width:
                raise self._misfit(number, f"{_shown(row)} where the first row has {self._width} values")
        for place in range(self._width):
            self._columns.setdefault(str(place), Gathered()).add([row[place] for row in listed])

    def _misfit(self, row: int, message: str) -> DataError:
        return Raw(self._file, (), (), self._line, named=False).error(row, message)


def _flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{key}."))
        else:
            flat[before + key] = value
    return flat


def _shown(row: object) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(column: Gathered) -> Column:
    try:
        return column.whole()
    except CastError as error:
        return Unfit(len(column), error)
