"""Options of data sources: names, allowed values and meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import partial
from typing import Any

from kgreason.base.errors import DataError
from kgreason.base.printable import HINT, names_password
from kgreason.base.records import record
from kgreason.language.check import file_access
from kgreason.language.vocabulary import FILES, READ_ALONE, SERVERS, suggest

FORMATS = (*FILES, *sorted(SERVERS), *sorted(READ_ALONE))  # all that is read, as `format=` names it

_SYNONYMS = {"header": "useheaders", "nullmarker": "nullstring", "null": "nullstring", **file_access.SYNONYMS}
_DECIMALS = {".": ".", "point": ".", ",": ",", "comma": ","}
_DELIMITERS = {
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "bar": "|",
    "pipe": "|",
    "tab": "\t",
    "\\t": "\t",
}


def delimiter_of(file: str, text: str) -> str:
    """Parse a delimiter: a character or its name."""
    character = _DELIMITERS.get(text.lower(), text)
    if len(character) != 1:
        what = f"delimiter {text!r} is not one character"
        raise DataError(file, what, hint="for instance delimiter=; or tab")
    return character


def _quote(file: str, text: str) -> str | None:
    if text in ("", "none"):
        return None
    if len(text) != 1:
        raise DataError(file, f"quote {text!r} is not one character", hint="for instance quote=' or none")
    return text


def _selected(file: str, text: str) -> list[str]:
    """Columns of ``[0:2; 4; 'name']``; numbers are 0-based and ranges include both ends."""
    chosen: list[str] = []
    for part in re.split(r"[;,]", text.strip().removeprefix("[").removesuffix("]")):
        item = part.strip()
        if pair := re.fullmatch(r"([0-9]{1,5}):([0-9]{1,5})", item):
            chosen += [str(n + 1) for n in range(int(pair[1]), int(pair[2]) + 1)]
        elif re.fullmatch("[0-9]{1,5}", item):
            chosen.append(str(int(item) + 1))
        elif re.fullmatch("[0-9:]+", item):
            raise DataError(file, f"no file has as many columns as {item[:40]!r}", hint="count them from 0")
        elif item.strip("'\""):
            chosen.append(item.strip("'\""))
        else:
            hint = "write numbers from 0, ranges or names, as in selectedColumns=[0:2;4;'share']"
            raise DataError(file, f"option selectedColumns cannot be {text!r}", hint=hint)
    return chosen


def _decimal(file: str, text: str) -> str:
    if text not in _DECIMALS:
        hint = "write decimal=, or decimal=comma (in @bind: decimal=',') for numbers such as 41,27"
        raise DataError(file, f"option decimal cannot be {text!r}", hint=hint)
    return _DECIMALS[text]


def _encoding(file: str, name: str) -> str:
    from string import printable

    try:
        plain = printable.encode(name)
    except (LookupError, ValueError):  # unknown codec, not a text encoding, or invalid name
        raise DataError(file, f"unknown encoding {name!r}", hint="for instance utf-8 or latin-1") from None
    if plain != printable.encode():
        raise DataError(file, f"text in {name.upper()} is not read", hint="save the file as UTF-8")
    return name.lower()


def _number(name: str, file: str, text: str, *, whole: bool = False) -> float:
    pattern = r"[0-9]{1,18}" if whole else r"[+-]?([0-9]{1,300}(\.[0-9]*)?|\.[0-9]+)"
    if not re.fullmatch(pattern, text):
        hint = f"write a number, for instance {name}=1"
        raise DataError(file, f"option {name} cannot be {text[:60]!r}", hint=hint)
    return int(text) if whole else float(text)


def _prefix(file: str, text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma:
        hint = "write two, as in prefix=user:,movie:"
        raise DataError(file, f"option prefix cannot be {text!r}", hint=hint)
    return first, second


@record
class _Option:
    """An option of sources or outputs.

    `read` converts the file name (for messages) and the option text to the value of an `Options` field; options without
    `read` apply to outputs or connections. `values` are the allowed texts in lower case; `None`: any.
    """

    spelling: str
    read: Callable[[str, str], object] | None = None
    values: tuple[str, ...] | None = None
    formats: tuple[str, ...] = FORMATS
    field: str = ""


def _option(
    default: object,
    read: Callable[[str, str], object] | Mapping[str, object] | Sequence[str] | None = None,
    formats: tuple[str, ...] = FORMATS,
    spelling: str = "",
) -> Any:
    """Declare an `Options` field; `read` is a parser, the allowed values, or a mapping from texts to values."""
    if isinstance(read, Sequence):
        read = dict(zip(read, read, strict=True))
    if isinstance(read, Mapping):
        option = _Option(spelling, lambda _, text: read[text], tuple(read), formats)
    else:
        option = _Option(spelling, read or (lambda _, text: text), None, formats)
    return field(default=default, metadata={"option": option})


_DELIMITED = ("csv", "tsv")
_LINES = (*_DELIMITED, "edges", "konect")
_GRAPHS = ("gml", "graphml", "net")
_NAMED = ("bods", "gleif")
_TABLES = ("sqlite", "duckdb", "postgresql", *_GRAPHS, "neo4j", *_NAMED)
_ENCODED = (*_LINES, "mtx", "gml", "net", "neo4j", "json", "bods")
_FLAG = {"true": True, "false": False}
_AUTO = {**_FLAG, "auto": None}


@record
class Options:
    """Parsed options of a data source.

    Attributes
    ----------
    delimiter
        A character, or tab, comma, semicolon, space or bar; `None`: the default of the format (edge lists: detected in
        the first line of data).
    header
        Whether the first line holds column names; `None`: by content, with a note in doubt. Names used by the rules, or
        a single line without numbers, are a header; an empty cell or ``n/a`` above numbers is data.
    quote
        Quote character; `None`: no quoting. Unclosed quotes, or text after the closing quote, are errors.
    encoding
        Encoding of text files, not UTF-16. Undecodable bytes are an error, never replaced.
    skip
        Number of physical lines to skip at the start.
    columns
        Columns to read, in order, by name or 1-based number; `None`: from ``@mapping`` or by position. Two columns of a
        weighted edge mean weight 1.
    percent
        Divide plain numbers of the last column by 100. Values such as ``8.15%`` are always percentages.
    decimal
        Decimal separator; with a comma, ``1.234,5`` and ``41,27%`` are also numbers, and ``0.600`` is none.
    missing
        Treatment of empty cells, NULL of SQL and null of JSON: raise an error, skip (and count) the row, keep the empty
        string, or create a fresh labelled null.
    null_string
        Cell text that counts as empty, in addition to the empty cell, such as ``n/a``; `missing` is then null.
    symmetric
        Add the reverse of every edge; `None`: only if the file declares its edges undirected.
    keep_diagonal
        Keep the diagonal of a symmetric matrix.
    scale
        Scale weights to [0,1]: ``abs`` is abs(w) / max abs(w), ``minmax`` is (w - min) / (max - min).
    drop_loops
        Remove self-loops.
    weight
        Weight of every edge of a file without weights; `None`: 1, with a note (an error for Python tables).
    prefix
        Prefixes of the values of the first two columns, to separate name spaces: ``u:,m:``.
    table
        Table of a database, `None`: the only one; for graph files ``edges`` or ``vertices``, `None`: vertices for unary
        predicates.
    where
        Condition on columns; only rows that satisfy it are read, and counted in a note.
    names
        Vertex attribute of graph files that supplies vertex names, or ``id``; RDF: a property, or ``label``; `None`:
        labels if they are distinct. ``normalize`` unifies spellings, also as ``label,normalize``.
    normalize
        Normalize the spelling of names (`kgreason.data.formats.vertex_names.normal_spelling`).
    labels
        For formats with numbered vertices: file with one vertex name per line. GLEIF: LEI-CDF file of the names. It
        lies in the same folder.
    type
        Neo4j: relationship types to read, separated by commas. GLEIF: relationship type, or ``any``; `None`:
        ``IS_DIRECTLY_CONSOLIDATED_BY``.
    label
        Neo4j: node labels to read, separated by commas. BODS, GLEIF: ``name`` reads names in place of ids; equal names
        get ids appended, as ``Adler (E1)``.
    spaces
        Neo4j: prefix ids with their id space, as ``Person:7``; false identifies equal ids of two spaces; `None`: ids
        that occur in two id spaces are an error.
    schema
        Schema of a table of a database server; `None`: resolved by its search path.
    connection
        Connection options of a database server.
    path
        Location of the rows in a JSON file, keys separated by points.
    predicate
        RDF: read the pairs of this predicate, full or shortened; `None`: all triples, or the relation of a file by
        kgreason.
    category
        RDF: read the facts of this class, or its members (one column).
    base
        RDF: base IRI for relative IRIs; also removed as a prefix of IRIs.
    strip
        RDF: shorten every IRI to the part after its last ``#`` or ``/``.
    interest
        BODS: interest type that is read as an edge, or ``any``.
    share
        BODS: number that represents a range of shares; `None`: ranges are an error.
    level
        BODS: ``direct``, ``indirect``, ``unknown`` or ``any``; `None`: all except indirect interests.
    allow_files
        DuckDB: allow queries and views to read other files. Set by the caller only, never by a source.
    cells
        CSV and TSV: columns of small files may be `kgreason.data.value_conversion.Cells`. Set by the caller only.
    """

    delimiter: str | None = _option(None, delimiter_of, (*_LINES, "neo4j"))
    header: bool | None = _option(None, _AUTO, _LINES, "useHeaders")
    quote: str | None = _option('"', _quote, (*_DELIMITED, "neo4j"))
    encoding: str = _option("utf-8", _encoding, _ENCODED)
    skip: int = _option(0, partial(_number, "skip", whole=True), _LINES)
    columns: tuple[str, ...] | None = _option(None, lambda _, text: tuple(map(str.strip, text.split(","))))
    percent: bool = _option(False, _FLAG)
    decimal: str = _option(".", _decimal)
    missing: str = _option("error", ("error", "skip", "keep", "null"))
    null_string: str | None = _option(None, spelling="nullString")
    symmetric: bool | None = _option(None, _AUTO)
    keep_diagonal: bool = _option(False, {"drop": False, "keep": True}, ("mtx",), "diagonal")
    scale: str | None = _option(None, ("abs", "minmax"))
    drop_loops: bool = _option(False, {"keep": False, "drop": True}, spelling="loops")
    weight: float | None = _option(None, partial(_number, "weight"))
    prefix: tuple[str, str] | None = _option(None, _prefix)
    where: str | None = _option(None)
    table: str | None = _option(None, formats=_TABLES)
    names: str | None = _option(None, formats=(*_GRAPHS, "neo4j", "rdf"))
    normalize: bool = False
    labels: str | None = _option(None, formats=("mtx", "konect", "gleif"))
    type: str | None = _option(None, formats=("neo4j", "gleif"))
    label: str | None = _option(None, formats=("neo4j", *_NAMED))
    spaces: bool | None = _option(None, _FLAG, ("neo4j",))
    schema: str | None = _option(None, formats=("postgresql",))
    connection: Mapping[str, str] = field(default_factory=dict)
    path: str | None = _option(None, formats=("json",))
    predicate: str | None = _option(None, formats=("rdf",))
    category: str | None = _option(None, formats=("rdf",), spelling="class")
    base: str | None = _option(None, formats=("rdf",))
    strip: bool = _option(False, _FLAG, ("rdf",))
    interest: str = _option("shareholding", formats=("bods",))
    share: str | None = _option(None, ("exact", "minimum", "maximum", "middle"), ("bods",))
    level: str | None = _option(None, ("direct", "indirect", "unknown", "any"), ("bods",))
    allow_files: bool = False
    cells: bool = False

    @property
    def vertices(self) -> bool | None:
        """Whether to read the vertices (id, label) of a graph file; `None`: if the predicate is unary."""
        return {"vertices": True, "edges": False}.get(self.table or "")


_ALL = (
    _Option("format", values=FORMATS),
    *(
        replace(o, spelling=o.spelling or f.name, field=f.name)
        for f in fields(Options)
        if (o := f.metadata.get("option"))
    ),
    *(_Option(name, formats=("postgresql",)) for name in file_access.OPTIONS if name != "sslmode"),
    _Option("sslmode", values=file_access.SSLMODES, formats=("postgresql",)),
    _Option("selectedColumns", _selected, field="columns"),
    _Option("recordSeparator", values=("\n", "\r\n", "\\n", "\\r\\n"), formats=_DELIMITED),
    _Option("quoteMode", values=("all", "minimal", "non_numeric", "none"), formats=_DELIMITED),
)
_OPTIONS = {option.spelling.lower(): option for option in _ALL}


def read_options(file: str, given: Mapping[str, str], format: str | None = None) -> Options:
    """Parse the options of a source; `format` is `None` if it is not known yet.

    An unknown name or value, or an option that does not apply to the format, is a `DataError`.
    """
    options = normal(given)
    for name, value in options.items():
        _check_known(file, name, value)
    # of selectedColumns and columns, the latter takes precedence
    ordered = sorted(options, key=lambda name: name == "columns")
    read: dict[str, Any] = {
        o.field: o.read(file, options[name]) for name in ordered if (o := _OPTIONS[name]).read
    }
    for name, value in options.items():
        option = _OPTIONS[name]
        anywhere = format is None or (name == "names" and _listed(value) == ["normalize"])
        if not anywhere and format not in option.formats:
            what = f"a {format} source has no option {option.spelling}"
            raise DataError(file, what, hint=f"leave it out; it is one of {', '.join(option.formats)}")
    if "nullstring" in options:
        read.setdefault("missing", "null")
    if "names" in options:  # an attribute, "normalize", or both
        named = _listed(options["names"])
        read["names"] = ",".join(part for part in named if part != "normalize") or None
        read["normalize"] = "normalize" in named
    return Options(**read, connection=file_access.connection(options))


def _listed(names: str) -> list[str]:
    return [part.strip() for part in names.split(",")]


def normal(given: Mapping[str, str]) -> dict[str, str]:
    """Convert option names to lower case and strip quotes from values."""
    named = {}
    for name, value in given.items():
        key = _SYNONYMS.get(name.lower(), name.lower())
        if key != "where" and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]  # quotes in a condition belong to its string literals
        named[key] = value.lower() if key in _OPTIONS and _OPTIONS[key].values else value
    return named


def _check_known(file: str, name: str, value: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in f"{name}{value}"):  # undecodable bytes of the command line
        raise DataError(file, f"option {name!a} holds bytes that are no text", hint="write it in UTF-8")
    if names_password(name):
        raise DataError(file, f"option {name} would hold a password", hint=HINT)
    if name not in _OPTIONS:
        near = suggest(name, _OPTIONS)
        means = f"did you mean {_OPTIONS[near].spelling}? " if near else ""
        there = ", ".join(option.spelling for option in _ALL)
        raise DataError(file, f"unknown option {name!r}", hint=f"{means}there are {there}")
    check_value(file, name, value)


def check_value(file: str, name: str, value: str) -> None:
    """Check the value of an option, whose name is in lower case."""
    if name in ("port", "connect_timeout") and not value.isdecimal():
        raise DataError(file, f"option {name} is no number", hint=f"write a number, as in {name}=5432")
    option = _OPTIONS.get(name)
    if option is not None and option.values is not None and value not in option.values:
        hint = f"one of {', '.join(repr(a).strip(chr(39)) for a in option.values)}"
        raise DataError(file, f"option {option.spelling} cannot be {value!r}", hint=hint)


def other_delimiter(text: str, used: str | None = None) -> str | None:
    """Hint at the delimiter that a line read as one field appears to use; `None` if there is none."""
    mark = next((c for c in ";\t|," if c in text and c != used), None)
    if mark is None:
        return None
    return f"is the delimiter {mark!r}? (delimiter={'tab' if mark == chr(9) else mark})"
