"""Reports as data, independent of their presentation: items, glossary, texts, and versioned JSON with strict parsing.

A report is a list of sections, and a section a list of figures, tables, charts, pictures and findings. Each family of
methods creates its report (`report.py` of the family); one template renders them all (`html_page.py`).
"""

from __future__ import annotations

import math
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Union, get_args, get_origin

from kgreason.base.errors import ReleaseError
from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.release.digests import parsed_json
from kgreason.release.verdicts import State

FORMAT = 1  # version of the JSON; a reader refuses another one
PAGE = "page"  # key of the page in report.json
HINT = "take the report.json of the folder as anonymize wrote it, or anonymize again"
DOCUMENTATION = "docs/"  # where the documentation is, relative to the project


@record
class Figure:
    """One figure and its interpretation.

    Attributes
    ----------
    name, value
        As displayed: ``"δ-anonymity"``, ``"1.000 (1,850 of 1,850, exact)"``.
    better
        Preferred value: ``"better is 1"``; empty if there is none.
    term
        Name in `kgreason.release.report.report_data.TERMS`, whose definition is shown and linked; empty: none.
    before
        The same figure of the original graph, for figures of graphs; `None`: not available.
    number
        The value for programs; `None`: not a number.
    note
        Qualification of the figure, such as that it is an estimate; with key figures only the first clause is shown.
    key
        Whether it is one of the key figures at the top of the page.
    """

    name: str
    value: str
    better: str = ""
    term: str = ""
    before: str | None = None
    number: float | None = None
    note: str = ""
    key: bool = False


@record
class Table:
    """Rows of text; numeric cells are aligned as numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    better: str = ""
    term: str = ""
    note: str = ""


@record
class Chart:
    """Two distributions over the same bins, as bars side by side.

    Attributes
    ----------
    axis
        Quantity of the bins, with its unit: ``"number of incoming edges"``.
    labels
        Bin labels: ``("0", "1", "2", "3 to 4", ...)``.
    before, after
        Share of the vertices (edges, ...) in each bin, with sum 1; `before` is empty in a public report.
    counted
        Quantity of the bars: ``"share of vertices"``.
    """

    title: str
    axis: str
    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    counted: str
    term: str = ""
    note: str = ""


@record
class Picture:
    """A drawing of a graph or of a sample of it.

    Attributes
    ----------
    title
        ``"before"`` or ``"after"``, and the number of vertices: ``"after: 300 of 12,000 vertices"``.
    x, y
        Position of each vertex in the unit square; two digits suffice.
    synthetic
        Whether each vertex is synthetic.
    edges
        Source, target (vertex numbers), relation, weight as text or empty, whether synthetic.
    note
        Sampling method.
    """

    title: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...]
    synthetic: tuple[bool, ...]
    edges: tuple[tuple[int, int, str, str, bool], ...]
    note: str = ""


@record
class Finding:
    """A condition that was checked: its state, the finding, and witnesses if it does not hold."""

    name: str
    state: State
    detail: str
    witnesses: tuple[str, ...] = ()
    term: str = ""


Item = Figure | Table | Chart | Picture | Finding


@record
class Section:
    """A section of a report: a title, an introduction, and items."""

    title: str
    lead: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Report(Displayed):
    """Content of a report page.

    Attributes
    ----------
    title
        For instance ``"Release of own.csv"``; in a public report without names of the original data.
    secret
        Whether it contains information on the original graph, so that it must not be published.
    verdict
        A few words: ``"(3,4)-isomorphism holds"``.
    done, safe
        Two sentences: what was done, and why the release is safe or not.
    warnings
        For instance on a fixed seed.
    sections
        In order: guarantee, risk, utility, distributions, picture, run.
    parameters
        Parameters and versions that reproduce the run.
    """

    title: str
    secret: bool
    state: State
    verdict: str
    done: str
    safe: str
    sections: tuple[Section, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


# --- glossary and texts ---


@record
class Term:
    """A glossary term of the reports: name, one or two sentences, and page and section below `DOCUMENTATION`."""

    name: str
    definition: str
    link: str

    @property
    def anchor(self) -> str:
        """Identifier of the definition within a page, such as ``term-k-x-isomorphism``."""
        plain = self.name.lower().replace("△", " sym").replace("δ", "d")
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in plain).split()
        return "-".join(["term", *words])


def _unwrapped(found: Any) -> Any:
    """Texts with line ends replaced by blanks, recursively."""
    if isinstance(found, str):
        return " ".join(found.split())
    return {name: _unwrapped(value) for name, value in found.items()}


_READ = _unwrapped(tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")))
TEXTS: dict[str, dict[str, str]] = _READ["texts"]  # introductions and limits by family
SHARED = TEXTS["shared"]
FILES: dict[str, dict[str, str]] = _READ["files"]  # what the files of a release hold, by family
TERMS: Mapping[str, Term] = MappingProxyType(
    {name: Term(name, text, link) for link, terms in _READ["terms"].items() for name, text in terms.items()}
)


def term_of(condition: str) -> str:
    """Name in `TERMS` of a condition of a verdict, as images of "images of 2 vertices"; empty if there is none."""
    name = condition.split(" of ")[0]
    return name if name in TERMS else ""


# --- JSON ---

KINDS: Mapping[str, type] = {kind.__name__.lower(): kind for kind in (Figure, Table, Chart, Picture, Finding)}


def as_dict(report: Report) -> dict[str, Any]:
    """Convert a report to plain data for JSON; ``format`` is the version of this layout."""
    return {"format": FORMAT, **_plain(report)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        found = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        kind = type(value).__name__.lower()
        return {"kind": kind, **found} if kind in KINDS else found
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return value


def from_dict(data: object, file: str = "report") -> Report:
    """Parse the output of `as_dict`; `file` is for messages.

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
            return "does not cover each vertex"
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
