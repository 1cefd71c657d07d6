"""Serialization of reports as JSON, and strict parsing with error messages.

``report.html`` can be generated again from ``report.json``.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from kgreason.base.atomic_files import replacing
from kgreason.base.errors import ReleaseError
from kgreason.release.digests import account, digests, parsed_json
from kgreason.release.report.html_page import page
from kgreason.release.report.report_data import FORMAT, Chart, Figure, Finding, Item, Picture, Report, Table
from kgreason.release.report.words import TERMS

KINDS: Mapping[str, type] = {
    "figure": Figure,
    "table": Table,
    "chart": Chart,
    "picture": Picture,
    "finding": Finding,
}
"""Items of a section by the ``kind`` that stands in JSON."""
NAMES = {kind: name for name, kind in KINDS.items()}
PAGE = "page"
"""Key of the page in ``report.json``."""
HINT = "take the report.json of the folder as anonymize wrote it, or anonymize again"


def as_dict(report: Report) -> dict[str, Any]:
    """Convert a report to plain data for JSON; ``format`` is the version of this layout.

    Examples
    --------
    >>> from kgreason.release.report.report_data import Section
    >>> report = Report("Release", True, "holds", "it holds", "Done.", "Safe.", (Section("Risk", "", ()),))
    >>> from_dict(as_dict(report)) == report
    True
    """
    return {"format": FORMAT, **_plain(report)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        found = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        kind = NAMES.get(type(value))
        return found if kind is None else {"kind": kind, **found}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return value


def from_dict(data: object, file: str = "report") -> Report:
    """Parse the output of `as_dict`.

    Parameters
    ----------
    data
        Parsed JSON.
    file
        File name, for messages.

    Raises
    ------
    ReleaseError
        If the data have another format, or are not a report.
    """
    if not isinstance(data, Mapping) or "format" not in data:
        raise ReleaseError(f"{file}: is no report: the entry 'format' is missing", hint=HINT)
    if type(data["format"]) is not int or data["format"] != FORMAT:
        raise ReleaseError(
            f"{file}: the report has format {data['format']!r}, but this version reads {FORMAT}",
            hint="use the version of kgreason that wrote it, or anonymize again",
        )
    rest = {name: value for name, value in data.items() if name != "format"}
    try:
        return typing.cast(Report, _object(Report, rest, "report"))
    except _Wrong as wrong:
        raise ReleaseError(f"{file}: is no report: {wrong}", hint=HINT) from wrong


def read_report(path: Path) -> Report:
    """Read the report in a ``report.json`` of a private or release folder.

    Raises
    ------
    ReleaseError
        If the file cannot be read, or contains no report or one of another format.
    """
    data = parsed_json(path, "report", HINT)
    if not isinstance(data, Mapping):
        raise ReleaseError(f"{path}: is no report: it holds no JSON object", hint=HINT)
    if PAGE not in data:
        hint = "it was written by an earlier version: anonymize again to have a page"
        raise ReleaseError(f"{path}: holds no page", hint=hint)
    found = from_dict(data[PAGE], str(path))
    for number, section in enumerate(found.sections):
        for i, item in enumerate(section.items):
            if wrong := _lacks(item):  # cannot be rendered
                where = f"report.sections[{number}].items[{i}]"
                raise ReleaseError(f"{path}: is no report: {where} {wrong}", hint=HINT)
    return found


class _Wrong(Exception):
    """Error in report data, with its location."""


def _lacks(item: Item) -> str:
    """Error in an item; empty if it is valid."""
    if not isinstance(item, Picture) and item.term and item.term not in TERMS:
        return f"names the term {item.term!r}, which is unknown"
    if isinstance(item, Table) and any(len(row) != len(item.columns) for row in item.rows):
        return "has a row with more or fewer cells than columns"
    if isinstance(item, Chart):
        bars = {len(item.labels), len(item.after), len(item.before or item.after)}
        return "has not a bar for each label" if len(bars) > 1 else ""
    if isinstance(item, Picture):
        n = len(item.labels)
        if {len(item.x), len(item.y), len(item.synthetic)} != {n}:
            return "has not a place for each vertex"
        if any(not 0 <= end < n for edge in item.edges for end in edge[:2]):
            return "has an edge of a vertex that it has not"
    return ""


def _object(kind: type, data: object, where: str) -> object:
    if not isinstance(data, Mapping):
        raise _Wrong(f"{where} is no object")
    known = {f.name: f for f in fields(kind)}
    if unknown := sorted(map(str, data.keys() - known.keys())):
        raise _Wrong(f"{where} has an entry {unknown[0]!r}, which is unknown")
    for name, f in known.items():
        if name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise _Wrong(f"{where} has no entry {name!r}")
    hints = _hints(kind)
    return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in data.items()})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(hint: Any, value: Any, where: str) -> Any:
    """Value of the type `hint` from JSON."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if is_dataclass(hint):
        return _object(typing.cast(type, hint), value, where)
    if origin is Literal:
        if value not in inner:
            raise _Wrong(f"{where} is {value!r}, which is none of {', '.join(map(repr, inner))}"[:200])
        return value
    if origin in (Union, types.UnionType) and type(None) in inner:
        return None if value is None else _value(inner[0], value, where)
    if origin in (Union, types.UnionType):
        kind = KINDS.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
        if kind is None:
            raise _Wrong(f"{where} is no {', '.join(KINDS)}")
        return _object(kind, {name: held for name, held in value.items() if name != "kind"}, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _Wrong(f"{where} is no list")
        each = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        if len(value) != len(each):
            raise _Wrong(f"{where} has {len(value)} entries, and not {len(each)}")
        return tuple(_value(h, v, f"{where}[{i}]") for i, (h, v) in enumerate(zip(each, value, strict=True)))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise _Wrong(f"{where} is no object")
        return dict(value)
    fits = type(value) is hint or (hint is float and type(value) is int)
    if not fits or (hint is float and not math.isfinite(value)):
        raise _Wrong(f"{where} is {value!r}, which is no {hint.__name__}"[:200])
    return value


HTML, JSON = "report.html", "report.json"
"""Names of the files of a report."""


def texts(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """Report files by name; `data` are further JSON entries, besides digests of the files in the folder."""
    shown = page(report).encode()
    files = {**digests(folder), HTML: sha256(shown).hexdigest()}
    whole = {"format": 1, **(data or {}), PAGE: as_dict(report)}
    return {HTML: shown, JSON: account(whole, dict(sorted(files.items()))).encode()}


def write_report(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> None:
    """Write both files into an existing folder that already contains all others."""
    for name, text in texts(folder, report, data).items():
        (folder / name).write_bytes(text)


def write_page(path: Path, report: Report) -> None:
    """Write the page only, atomically; a private report is readable by its owner only."""
    with replacing(path) as temporary:
        temporary.touch(mode=0o600 if report.secret else 0o644)
        temporary.write_bytes(page(report).encode())
