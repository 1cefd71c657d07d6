"""A report as one HTML page that needs nothing else: no network, no other file, and no script to be read.

Labels of a graph may be anything. Whatever is not part of the templates is escaped; the page's own style and script are
the only ones that its Content-Security-Policy admits, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kgreason.records import dataclass
from kgreason.report.charts import drawn_chart, percent
from kgreason.report.data import Chart, Figure, Finding, Item, Picture, Report, Section, Table
from kgreason.report.drawing import drawn_picture
from kgreason.report.tables import drawn_table, noted
from kgreason.report.terms import DOCUMENTATION, TERMS, Term

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

KINDS: dict[type, str] = {
    Figure: "figures",
    Table: "tables",
    Chart: "charts",
    Picture: "pictures",
    Finding: "findings",
}
MOST_KEY_FIGURES = 6

# What no HTML document may hold: control characters, half a surrogate pair, characters that are none; and line
# separators, which scripts and text tools take for ends of lines.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_CODE = re.compile("`([^`]+)`")


def page(report: Report) -> str:
    """Write a report as an HTML page.

    Parameters
    ----------
    report
        What the page shows.

    Returns
    -------
    str
        An HTML document, to be encoded in UTF-8; the same for the same report.

    Examples
    --------
    >>> "may be published" in page(Report("Release", False, "holds", "k-ad holds", "Done.", "Safe.", ()))
    True
    """
    style, script = _style(), _script()
    document = (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            sections=[(f"section-{i}", s, list(_blocks(s))) for i, s in enumerate(report.sections, 1)],
            key=_key_figures(report),
            warned=_warned(report),
            parameters=list(_flat(report.parameters)),
            terms=_used(report),
            known=TERMS,
            documentation=DOCUMENTATION,
            style=style,
            script=script,
            policy=_policy(style, script),
        )
    )
    return possible(document) + "\n"


@dataclass(frozen=True, slots=True)
class Block:
    """Items of one kind that follow each other."""

    kind: str
    items: list[Any]


def _blocks(section: Section) -> Iterator[Block]:
    for kind, items in groupby(section.items, lambda item: KINDS[type(item)]):
        yield Block(kind, list(items))


def _key_figures(report: Report) -> list[Figure]:
    """Those that the report calls so, in their order."""
    figures = (item for s in report.sections for item in s.items if isinstance(item, Figure))
    return [figure for figure in figures if figure.key][:MOST_KEY_FIGURES]


def _warned(report: Report) -> bool:
    """Whether something speaks against publishing."""
    return report.state in ("fails", "undecided") or bool(report.warnings)


def _used(report: Report) -> list[Term]:
    """Terms that the items name, by name."""
    named = {name for s in report.sections for item in s.items if (name := _term(item))}
    return sorted((TERMS[name] for name in named), key=lambda term: term.name.casefold())


def _term(item: Item) -> str:
    return "" if isinstance(item, Picture) else item.term


def _flat(parameters: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Names and values; what is nested gets the names above it before its own."""
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
    r"""Text whose characters that a document cannot hold are U+FFFD.

    Examples
    --------
    >>> possible("a\x00b\u2028c")
    'a�b�c'
    """
    return _IMPOSSIBLE.sub("\ufffd", text)


def parts(value: str) -> tuple[str, str]:
    """Divide a value from what stands in brackets behind it.

    Examples
    --------
    >>> parts("1.000 (1,850 of 1,850, exact)"), parts("f(x)")
    (('1.000', '1,850 of 1,850, exact'), ('f(x)', ''))
    """
    found = re.fullmatch(r"([^()]+) \((.+)\)", value)
    return (found[1], found[2]) if found else (value, "")


def prose(text: str) -> Markup:
    """Text whose commands, in backquotes, are set as such.

    Examples
    --------
    >>> str(prose("try `kgreason <command>`"))
    'try <code>kgreason &lt;command&gt;</code>'
    """
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kgreason.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        drawn_chart=drawn_chart,
        drawn_picture=drawn_picture,
        drawn_table=drawn_table,
        noted=noted,
        parts=parts,
        percent=percent,
    )
    environment.filters["prose"] = prose
    return environment


@cache
def _style() -> str:
    return _environment().get_template("style.css").render()


@cache
def _script() -> str:
    return _environment().get_template("script.js").render()


def _policy(style: str, script: str) -> str:
    """Content-Security-Policy under which only this style and this script count, and nothing is loaded."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
