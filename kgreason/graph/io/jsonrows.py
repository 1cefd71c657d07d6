"""JSON files: one object or array a line, or one array of them, perhaps deep inside an object."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw, decoded, open_bytes, read_block
from kgreason.graph.io.values import CastError, Unfit, arrow_column

_BLANK = re.compile(r"\s*")
_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz)?$", re.IGNORECASE)


class _NoNumber(ValueError):
    """``NaN`` or ``Infinity``."""


def read_json(path: Path, options: Options) -> Raw:
    """Read rows; keys of objects are columns, keys of objects within them too, joined by points.

    A key that a row lacks is a missing cell.
    """
    with open_bytes(path) as stream:
        content = decoded(str(path), read_block(path, stream, -1), options.encoding)
    try:
        rows, lines = _rows(path, content, options.path)
    except json.JSONDecodeError as error:
        raise DataError(
            str(path),
            f"no JSON: {error.msg.lower()}",
            error.lineno,
            hint="is the file cut off, or changed by hand? write it anew with the program that made it",
        ) from error
    except (RecursionError, _NoNumber) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else f"{error} is no value of JSON"
        raise DataError(str(path), what) from error
    return _table(str(path), rows, lines)


def _rows(file: Path, content: str, path: str | None) -> tuple[list[Any], list[int] | None]:
    """All rows, and where the file shows it the line of each.

    One object that holds arrays of rows is no row itself, unless the name says that each line is one.
    """
    decoder = json.JSONDecoder(parse_constant=_refused)
    if path is not None:
        return _inside(str(file), decoder.decode(content), path), None
    start = _BLANK.match(content).end()  # type: ignore[union-attr]
    array = content.startswith("[", start)
    starts = [m.end() for m in re.finditer("\n", content)]
    if array:
        within, lines, end = _values(decoder, content, start + 1, starts, array=True)
        beyond = content[end:].strip()
        if not beyond and (not within or isinstance(within[0], (dict, list))):
            return within, lines
    rows, lines, _ = _values(decoder, content, start, starts, array=False)
    names = _tables_in(rows[0]) if len(rows) == 1 and isinstance(rows[0], dict) else []
    if names and not _LINES.search(file.name):
        hint = (
            f"say which of its arrays holds them: path={names[0]}; if it is a row itself, put [ ] around it"
        )
        raise DataError(str(file), "one object, not rows", hint=hint)
    return rows, lines


def _refused(name: str) -> None:
    raise _NoNumber(name)


def _tables_in(value: dict[str, Any]) -> list[str]:
    """Paths of arrays of rows, keys joined by points; arrays without any are such where there is nothing else."""
    flat = _flat(value)
    empty = all(v == [] for v in flat.values())
    return [
        k for k, v in flat.items() if empty or (isinstance(v, list) and v and isinstance(v[0], (dict, list)))
    ]


def _values(
    decoder: json.JSONDecoder, content: str, at: int, starts: Sequence[int], *, array: bool
) -> tuple[list[Any], list[int], int]:
    """Values on end from `at`, with the line each begins on; an array ends with its bracket."""
    rows: list[Any] = []
    lines: list[int] = []
    while True:
        blank = _BLANK.match(content, at)
        assert blank is not None
        at = blank.end()
        if array and content.startswith("]", at):
            return rows, lines, at + 1
        if at == len(content) and not array:
            return rows, lines, at
        if array and rows:
            if not content.startswith(",", at):
                raise json.JSONDecodeError("expected a comma or a bracket", content, at)
            between = _BLANK.match(content, at + 1)
            assert between is not None
            at = between.end()
        lines.append(bisect_right(starts, at) + 1)
        value, at = decoder.raw_decode(content, at)
        rows.append(value)


def _inside(file: str, value: Any, path: str) -> list[Any]:
    for key in path.split("."):
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            there = ", ".join(map(repr, value)) if isinstance(value, dict) else "none"
            raise DataError(file, f"there is no {key!r} of path={path}", hint=f"the keys there are {there}")
    if not isinstance(value, list):
        raise DataError(
            file,
            f"path={path} leads to no array of rows",
            hint="name the keys that lead to an array of rows, joined by points, as in path=data.rows",
        )
    return value


def _table(file: str, rows: list[Any], lines: list[int] | None) -> Raw:
    def line(row: int) -> int | None:
        return None if lines is None else lines[row]

    blank = Raw(file, (), (), line, named=False)
    if not rows:
        return blank
    if isinstance(rows[0], dict):
        names, columns = _by_key(rows, blank)
    else:
        names, columns = _by_place(rows, blank)
    return Raw(file, names, tuple(columns), line, named=isinstance(rows[0], dict), typed=True)


def _by_key(rows: list[Any], blank: Raw) -> tuple[tuple[str, ...], list[Column]]:
    flat = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise blank.error(number, f"{_shown(row)} where the first row is an object")
        flat.append(_flat(row) if any(isinstance(v, dict) for v in row.values()) else row)
    names = list(dict.fromkeys(key for row in flat for key in row))
    return tuple(names), [_column([row.get(name) for row in flat]) for name in names]


def _flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{key}."))
        else:
            flat[before + key] = value
    return flat


def _by_place(rows: list[Any], blank: Raw) -> tuple[tuple[str, ...], list[Column]]:
    listed = [row if isinstance(row, list) else [row] for row in rows]
    width = len(listed[0])
    for number, row in enumerate(rows):
        if isinstance(row, dict) or len(listed[number]) != width:
            raise blank.error(number, f"{_shown(row)} where the first row has {width} values")
    names = tuple(f"column{i + 1}" for i in range(width))
    columns = [list(c) for c in zip(*listed, strict=True)]
    return names, [_column(c) for c in columns]


def _shown(row: object) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _column(values: Sequence[object]) -> Column:
    try:
        return arrow_column(values)
    except CastError as error:
        return Unfit(len(values), error)
