"""JSON rows, in one array or concatenated, read incrementally with ijson; facts are written one object per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

from kgreason.base.arrays import Lazy
from kgreason.base.errors import DataError
from kgreason.data.raw_table import Column, Raw, open_bytes, texts
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.value_conversion import BATCH, CastError, Gathered, Unfit
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.values import plain

ijson: Any = Lazy("ijson")

_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz)?$", re.IGNORECASE)
_BLOCK = 1 << 14  # bytes read at once; ijson needs quadratic memory for levels opened within one block
_HINT = "is the file whole, and JSON, which has no NaN and no Infinity? format= says what else it is"
_START = 1 << 16  # characters; objects that end beyond are not inspected
_TRAILING = "trailing garbage"  # message of yajl

# Input that ijson 3.6 with yajl does not reject: an unpaired surrogate is read as "?", an integer with more digits than
# Python's int() accepts ends the process (if use_float is off), and 20,000 levels take 1 GB.
_DEEPEST = re.compile(rb"[\[{]{200}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LONG = b"0" * 4301
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F])|.)",
    re.DOTALL,
)
_SEPARATORS = b"\n", b" ", b",", b":"  # no number or escape sequence continues after these


class JsonFile:
    """Incremental reader of the values of a JSON file; `array`: whether the file begins with an array."""

    def __init__(self, path: Path, encoding: str = "utf-8") -> None:
        self.path, self._encoding, self._exact = path, encoding, False
        blocks = map(str.strip, texts(path, encoding, _BLOCK))
        self._first = next(filter(None, blocks), "")[:1]
        self.array = self._first == "["

    def values(self, prefix: str, *, exact: bool = False) -> Iterator[Any]:
        """Values at an ijson path: ``item`` for array elements; empty for all top-level values.

        If `exact`, numbers with a point or exponent are `decimal.Decimal`. Invalid JSON is a `DataError` with the line.
        """
        if not self._first:
            return  # ijson does not accept empty input
        self._exact |= exact  # or a number beyond 64 bits was found
        count = 0
        try:
            found = ijson.items(self._text(), prefix, use_float=not self._exact, multiple_values=not prefix)
            for value in found if exact or not self._exact else map(_with_doubles, found):
                count += 1
                yield value
        except (ijson.JSONError, InvalidOperation) as error:
            if self._exact or "overflow" not in str(error):
                raise self._malformed(error, prefix) from error
            self._exact = True
        else:
            return
        yield from islice(self.values(prefix), count, None)

    def line(self, prefix: str, number: int) -> int:
        """Line on which a value begins, or the line of the first error; reads the file again."""
        text = self._text(by_line=True)
        level = 0  # nesting depth within a value, whose keys may look like the path itself
        try:
            for path, event, _ in ijson.parse(text, use_float=not self._exact, multiple_values=not prefix):
                if event.startswith("end_"):
                    level -= level > 0
                    continue
                if not level and path == prefix and event != "map_key":
                    if not number:
                        return text.line
                    number -= 1
                level += event.startswith("start_") and (level > 0 or path == prefix)
        except (ijson.JSONError, InvalidOperation):
            pass
        line = text.line
        while text.read():
            pass  # read to the end, where a damaged gzip file is detected
        return line

    def _text(self, *, by_line: bool = False) -> _Text:
        blocks = texts(self.path, self._encoding, _BLOCK)
        return _Text(str(self.path), blocks, by_line=by_line, exact=self._exact)

    def _malformed(self, error: Exception, prefix: str) -> DataError:
        words = str(error).partition("\n")[0].rstrip(".").split("error: ", 1)[-1]
        words = words.replace("premature EOF", "the file ends within a value")
        if isinstance(error, InvalidOperation):
            words = "a number has an exponent that is too large"
        return DataError(str(self.path), f"no JSON: {words}", self.line(prefix, -1), hint=_HINT)


class _Text:
    """Checked input stream for ijson; `line` is the first line of the last block."""

    def __init__(self, file: str, blocks: Iterator[str], *, by_line: bool, exact: bool) -> None:
        self.line = 1
        self._blocks = self._checked(file, blocks, by_line, exact)

    def read(self, size: int = -1) -> bytes:
        """Read the next block; `size` is ignored."""
        return next(self._blocks, b"") if size else b""

    def _checked(self, file: str, blocks: Iterator[str], by_line: bool, exact: bool) -> Iterator[bytes]:
        rest = b""
        for block in chain(blocks, [""]):
            data = rest + block.encode()
            cut = max(map(data.rfind, _SEPARATORS)) + 1 if block else len(data)
            data, rest = data[:cut], data[cut:]
            if found := _refused(data, exact=exact):
                offset, message = found
                line = self.line + data.count(b"\n", 0, offset)
                raise DataError(file, f"no JSON: {message}", line, hint=_HINT)
            for part in data.splitlines(keepends=True) if by_line else filter(None, [data]):
                yield part
                self.line += part.count(b"\n")


def _refused(data: bytes, *, exact: bool) -> tuple[int, str] | None:
    """Byte offset and reason of the first unsupported construct."""
    if _DEEPEST.search(data.translate(None, _NO_BRACKETS)):
        return len(data) - 1, "nested too deeply"
    zeros = data.translate(_DIGITS) if exact else b""
    if (offset := zeros.find(_LONG)) >= 0:
        count = len(zeros) - offset - len(zeros[offset:].lstrip(b"0"))
        return offset, f"an integer of {count:,} digits is not read"
    if b"\\ud" in data or b"\\uD" in data:
        half = next((m.start() for m in _ESCAPES.finditer(data) if m["half"]), None)
        if half is not None:
            return half, "a text holds half of a surrogate pair, which is no letter"
    return None


def _with_doubles(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_with_doubles(element) for element in value]
    return {key: _with_doubles(v) for key, v in value.items()} if isinstance(value, dict) else value


def read_json(path: Path, options: Options) -> Raw:
    """Read rows; object keys are columns, with nested keys joined by points.

    A key that a row lacks is a missing cell. Rows are objects or arrays, one per line or in one array, and are
    streamed: 10,000,000 edges take 2.3 GB. An object with arrays of rows needs `path`, except in ``.jsonl`` and
    ``.ndjson``.
    """
    file = JsonFile(path, options.encoding)
    try:
        if options.path is not None:
            return _inside(file, options.path)
        if file.array:
            try:
                first = next(file.values("item"), None)
                if first is None or isinstance(first, dict | list):
                    return _table(file, file.values("item"), "item")
            except DataError as error:
                if _TRAILING not in error.message:
                    raise
        return _table(file, file.values(""), "", single=not _LINES.search(path.name))
    except RecursionError as error:
        raise DataError(str(path), "no JSON: nested too deeply", hint=_HINT) from error


def _inside(file: JsonFile, path: str) -> Raw:
    keys = path.split(".")
    prefix = f"{path}.item"
    if not any(map(str.isdecimal, keys)) and next(file.values(prefix), None) is not None:
        return _table(file, file.values(prefix), prefix)
    value = next(file.values(""), None)
    for key in keys:
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            known = ", ".join(map(repr, value)) if isinstance(value, dict) else "none"
            what = f"there is no {key!r} of path={path}"
            raise DataError(str(file.path), what, hint=f"the keys there are {known}")
    if not isinstance(value, list):
        hint = "name the keys that lead to an array of rows, joined by points, as in path=data.rows"
        raise DataError(str(file.path), f"path={path} leads to no array of rows", hint=hint)
    return _table(file, iter(value), None)


def _table(file: JsonFile, rows: Iterator[Any], prefix: str | None, *, single: bool = False) -> Raw:
    """Table of rows at path `prefix` (`None`: rows have no lines); a `single` object may be their container."""
    name = str(file.path)
    raw = Raw(name, (), (), lambda row: None if prefix is None else file.line(prefix, row), named=False)
    columns: dict[str, Gathered] = {}
    first: Any = None
    count = 0
    while batch := list(islice(rows, BATCH)):
        first = first if count else batch[0]
        for title, cells in (_by_key if isinstance(first, dict) else _by_position)(raw, batch, first, count):
            column = columns.setdefault(title, Gathered())
            column.pad(count)
            column.add(cells)
        count += len(batch)
    if single and count == 1 and isinstance(first, dict) and (arrays := _arrays_of_rows(first)):
        hint = f"say which of its arrays holds them: path={arrays[0]}"
        hint += "; if it is a row itself, put [ ] around it"
        raise DataError(name, "one object, not rows", hint=hint)
    found: list[Column] = []
    for column in columns.values():
        column.pad(count)
        try:
            found.append(column.whole())
        except CastError as error:
            found.append(Unfit(count, error))
    keyed = isinstance(first, dict)
    return Raw(name, tuple(columns), tuple(found), raw.line, named=keyed, typed=bool(count))


def _by_key(raw: Raw, batch: Sequence[Any], _: Any, before: int) -> Iterator[tuple[str, list[Any]]]:
    for number, row in enumerate(batch, before):
        if not isinstance(row, dict):
            raise raw.error(number, f"{_shown(row)} where the first row is an object")
    flat = [_flat(row) if any(isinstance(v, dict) for v in row.values()) else row for row in batch]
    for title in dict.fromkeys(key for row in flat for key in row):
        yield title, [row.get(title) for row in flat]


def _by_position(raw: Raw, batch: Sequence[Any], first: Any, before: int) -> Iterator[tuple[str, list[Any]]]:
    width = len(first) if isinstance(first, list) else 1
    listed = [row if isinstance(row, list) else [row] for row in batch]
    for number, (row, cells) in enumerate(zip(batch, listed, strict=True), before):
        if isinstance(row, dict) or len(cells) != width:
            raise raw.error(number, f"{_shown(row)} where the first row has {width} values")
    for position in range(width):
        yield f"column{position + 1}", [row[position] for row in listed]


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{key}."))
        else:
            flat[before + key] = value
    return flat


def _arrays_of_rows(value: Mapping[str, Any]) -> list[str]:
    """Paths of arrays of rows, keys joined by points; empty arrays count only if there are no others."""
    flat = _flat(value)
    empty = all(v == [] for v in flat.values())
    rows = (k for k, v in flat.items() if isinstance(v, list) and v and isinstance(v[0], (dict, list)))
    return list(flat if empty else rows)


def _shown(row: object) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def write_json(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write one object per line; if the file name ends with ``.json``, the lines form one array."""
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
    rows = (dict(zip(names, map(plain, row), strict=True)) for row in facts.rows(predicate))
    write_values(path, map(encoder.encode, rows), array=target.path.suffix.lower() == ".json")


def write_values(path: Path, values: Iterator[str], *, array: bool) -> None:
    """Write one value per line, or values as the elements of one array."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        if not array:
            stream.writelines(f"{value}\n" for value in values)
            return
        stream.write("[")
        stream.writelines(f",\n{value}" if number else f"\n{value}" for number, value in enumerate(values))
        stream.write("\n]\n")


def json_columns(target: Target) -> tuple[str, ...] | None:
    """Keys of the first object of a file that an output would replace; `None` if there is none."""
    with TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace") as stream:
        start = stream.read(_START).lstrip("\ufeff[ \r\n\t")
    try:
        first, _end = json.JSONDecoder().raw_decode(start)
    except json.JSONDecodeError:
        return None
    return tuple(first) if isinstance(first, dict) else None
