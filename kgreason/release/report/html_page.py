"""Self-contained HTML page of a report, without network access or other files, readable without scripts.

Graph labels are untrusted. Everything outside the templates is escaped, and the Content-Security-Policy admits only the
style and script of the page, by their hashes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base import caches
from kgreason.base.atomic_files import replacing
from kgreason.base.records import record
from kgreason.release.digests import JSON, digests, with_digests
from kgreason.release.report.charts import drawn_chart, drawn_picture, percent, short
from kgreason.release.report.report_data import (
    DOCUMENTATION,
    KINDS,
    PAGE,
    TERMS,
    Figure,
    Report,
    Table,
    Term,
    as_dict,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket
    from markupsafe import Markup

BLOCKS = {kind: f"{name}s" for name, kind in KINDS.items()}  # name of a block of items of one kind
MOST_KEY_FIGURES = 6
HTML = "report.html"
LONG = 22  # letters of a word that is broken where it does not fit

_NUMBER = re.compile(r"(?:at least |about |[≥≤<>~] ?)?[+−–-]?\d(?:[\d,.' ]*\d)?\s?%?(?: ± [\d,.]+)?")
_NOTHING = frozenset({"", "-", "–", "—"})
_PAIR = re.compile(r"(.+), (before|after)")

# Characters not allowed in HTML: control characters, unpaired surrogates, noncharacters; and line separators, which
# scripts and text tools interpret as line ends.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_CODE = re.compile("`([^`]+)`")


def page(report: Report) -> str:
    """Render a report as an HTML page, to be encoded in UTF-8; deterministic."""
    environment = templates()
    style, script = (environment.get_template(name).render() for name in ("style.css", "script.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    document = environment.get_template("page.html").render(
        report=report,
        sections=[(f"section-{i}", s, blocks(s.items)) for i, s in enumerate(report.sections, 1)],
        key=_key_figures(report),
        warned=report.state in ("fails", "undecided") or bool(report.warnings),
        parameters=list(_flat(report.parameters)),
        terms=_used(report),
        known=TERMS,
        documentation=DOCUMENTATION,
        style=style,
        script=script,
        policy=policy,
    )
    return possible(document) + "\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


def blocks(items: Iterable[object], kinds: Mapping[type, str] = BLOCKS) -> list[tuple[str, list[Any]]]:
    """Consecutive items of one kind, with the name of the kind."""
    return [(kind, list(some)) for kind, some in groupby(items, lambda item: kinds[type(item)])]


def _key_figures(report: Report) -> list[Figure]:
    figures = (item for s in report.sections for item in s.items if isinstance(item, Figure))
    return [figure for figure in figures if figure.key][:MOST_KEY_FIGURES]


def _used(report: Report) -> list[Term]:
    """Glossary terms of the items, sorted by name."""
    named = {getattr(item, "term", "") for s in report.sections for item in s.items} - {""}
    return sorted((TERMS[name] for name in named), key=lambda term: term.name.casefold())


def _flat(parameters: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Flattened names and values; nested names are prefixed by the outer ones."""
    for name, value in parameters.items():
        full = f"{above} {name}".strip()
        if isinstance(value, Mapping):
            yield from _flat(value, full)
        elif isinstance(value, (list, tuple)) and all(isinstance(v, (str, int, float)) for v in value):
            yield full, ", ".join(map(str, value))
        elif value is None or isinstance(value, bool):
            yield full, {None: "none", True: "yes", False: "no"}[value]
        else:
            yield (
                full,
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str),
            )


def possible(text: str) -> str:
    r"""Replace characters that a document cannot contain by U+FFFD.

    Examples
    --------
    >>> possible("a\x00b\u2028c")
    'a�b�c'
    """
    return _IMPOSSIBLE.sub("\ufffd", text)


def parts(value: str) -> tuple[str, str]:
    """Split a value from a trailing text in brackets.

    Examples
    --------
    >>> parts("1.000 (1,850 of 1,850, exact)"), parts("f(x)")
    (('1.000', '1,850 of 1,850, exact'), ('f(x)', ''))
    """
    found = re.fullmatch(r"([^()]+) \((.+)\)", value)
    return (found[1], found[2]) if found else (value, "")


def prose(text: str) -> Markup:
    """Markup of a text with commands in backquotes."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def shown(value: object, width: int = 100) -> str:
    """Text of a value in a notebook: long values are truncated, invisible characters are escaped."""
    text = " ".join(str(value).split("\n"))
    characters = short(text, width)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in characters)


@record
class Head:
    """A table head cell: its text, column span and row span."""

    text: str
    columns: int
    rows: int
    numeric: bool


def numeric(table: Table) -> list[bool]:
    """Whether all non-empty cells of each column are numbers.

    Examples
    --------
    >>> numeric(Table("", ("n", "risk", "known"), (("1,204", "0.01 ± 0.02", "12 to 14"), ("~ 3", "–", "0"))))
    [True, True, False]
    """
    columns = ([row[i].strip() for row in table.rows] for i in range(len(table.columns)))
    held = ([cell for cell in column if cell not in _NOTHING] for column in columns)
    return [bool(cells) and all(map(_NUMBER.fullmatch, cells)) for cells in held]


def heads(table: Table) -> list[list[Head]]:
    """Rows of head cells: consecutive columns ``x, before`` and ``x, after`` share the head ``x``."""
    columns, numbers = table.columns, numeric(table)
    stems = [match[1] if (match := _PAIR.fullmatch(column)) else "" for column in columns]
    groups = [list(group) for _, group in groupby(range(len(columns)), lambda i: stems[i] or i)]
    paired = [i for group in groups if len(group) > 1 for i in group]
    first = [
        Head(stems[i], len(group), 1, all(numbers[i] for i in group))
        if len(group) > 1
        else Head(columns[i], 1, 2 if paired else 1, numbers[i])
        for group in groups
        for i in group[:1]
    ]
    second = [Head(columns[i].removeprefix(f"{stems[i]}, "), 1, 1, numbers[i]) for i in paired]
    return [first, second] if paired else [first]


def long(text: str) -> bool:
    """Whether a text contains a word that may need to be broken."""
    return max(map(len, text.split()), default=0) > LONG


def noted(figures: list[Figure]) -> list[tuple[str, list[Figure]]]:
    """Group consecutive figures with a common note, which is shown once; other figures keep their note."""
    groups = [(note, list(group)) for note, group in groupby(figures, lambda figure: figure.note)]
    return [(note if len(group) > 1 else "", group) for note, group in groups]


@cache
def templates() -> Environment:
    """Templates of pages and notebooks, with automatic escaping.

    They are compiled once: that takes 0.1 s.
    """
    from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, __version__

    class Compiled(BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            if (code := caches.read(self._name(bucket), __file__)) is not None:
                bucket.bytecode_from_string(
                    code
                )  # ignored if the template or the version of Python has changed

        def dump_bytecode(self, bucket: Bucket) -> None:
            caches.write(self._name(bucket), __file__, bucket.bytecode_to_string())

        def _name(self, bucket: Bucket) -> str:
            return f"template-{bucket.key}-{__version__}.bin"

    environment = Environment(
        loader=PackageLoader("kgreason.release.report"),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=Compiled(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (drawn_chart, drawn_picture, heads, long, noted, numeric, parts, percent):
        environment.globals[function.__name__] = function
    environment.filters |= {"prose": prose, "shown": shown}
    return environment


def texts(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """Report files by name; `data` are further JSON entries, besides digests of the files in the folder."""
    html = page(report).encode()
    files = {**digests(folder), HTML: sha256(html).hexdigest()}
    whole = {"format": 1, **(data or {}), PAGE: as_dict(report)}
    return {HTML: html, JSON: with_digests(whole, dict(sorted(files.items()))).encode()}


def write_report(folder: Path, report: Report, data: Mapping[str, Any] | None = None) -> None:
    """Write both files into an existing folder that already contains all others."""
    for name, text in texts(folder, report, data).items():
        (folder / name).write_bytes(text)


def write_page(path: Path, report: Report) -> None:
    """Write the page only, atomically; a private report is readable by its owner only."""
    with replacing(path) as temporary:
        temporary.touch(mode=0o600 if report.secret else 0o644)
        temporary.write_bytes(page(report).encode())
