"""Where a table comes from, and the options that say how it is read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgreason.errors import DataError

FORMATS = ("csv", "tsv", "edges", "konect", "mtx", "gml", "graphml", "net", "parquet")
TABLES = frozenset({"csv", "tsv", "parquet"})

_EXTENSIONS = {
    **{name: name for name in FORMATS},
    "txt": "edges",
    "edgelist": "edges",
    "el": "edges",
    "tab": "tsv",
    "pajek": "net",
    "pq": "parquet",
}
_OPTIONS = {
    "format": FORMATS,
    "delimiter": None,
    "useheaders": ("true", "false", "auto"),
    "quote": None,
    "encoding": None,
    "skip": None,
    "columns": None,
    "percent": ("true", "false"),
    "decimal": None,
    "missing": ("error", "skip", "keep"),
    "symmetric": ("true", "false", "auto"),
    "diagonal": ("drop", "keep"),
    "scale": ("abs", "minmax"),
    "loops": ("keep", "drop"),
    "weight": None,
    "prefix": None,
    "table": ("edges", "vertices"),
}
_SPELLING = {"useheaders": "useHeaders", "header": "useHeaders"}
_DECIMALS = {".": ".", "point": ".", ",": ",", "comma": ","}
_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "bar": "|",
    "pipe": "|",
}


@dataclass(frozen=True)
class SourceSpec:
    """A file and how to read it.

    Attributes
    ----------
    path
        The file; a trailing ``.gz`` means gzip.
    format
        One of `FORMATS`; `None`: told by the extension.
    options
        As written in ``@bind`` or behind the ``?`` of ``--data``; see `Options`.
    """

    path: Path
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The path as messages show it."""
        return str(self.path)

    def kind(self) -> str:
        """Tell the format: as given, else from the name.

        Raises
        ------
        DataError
            If neither says what the file is.

        Examples
        --------
        >>> SourceSpec(Path("a.edges.gz")).kind(), SourceSpec(Path("out.moreno_blogs")).kind()
        ('edges', 'konect')
        """
        given = self.format or _lower(self.options).get("format")
        if given is not None:
            if given not in FORMATS:
                raise DataError(
                    self.file,
                    f"{given!r} is not a format kgreason reads",
                    hint=f"one of {', '.join(FORMATS)}",
                )
            return given
        name = self.path.name.lower().removesuffix(".gz")
        if name.startswith("out."):
            return "konect"
        known = _EXTENSIONS.get(name.rpartition(".")[2])
        if known is None:
            raise DataError(
                self.file,
                "the name does not tell the format",
                hint=f"say format=, one of {', '.join(FORMATS)}",
            )
        return known


def parse_source(text: str) -> tuple[str, SourceSpec]:
    """Read ``PRED=FILE`` or ``PRED=FILE?option=value&option=value``.

    Raises
    ------
    DataError
        If the text has another form.

    Examples
    --------
    >>> predicate, source = parse_source("own=shares.csv?percent=true&delimiter=;")
    >>> predicate, source.path.name, dict(source.options)
    ('own', 'shares.csv', {'percent': 'true', 'delimiter': ';'})
    """
    predicate, equals, rest = text.partition("=")
    if not equals or not re.fullmatch(r"[a-z][A-Za-z0-9_]*", predicate) or not rest:
        raise DataError(text, "expected PRED=FILE or PRED=FILE?option=value&option=value")
    return predicate, parse_file(rest)


def parse_file(text: str) -> SourceSpec:
    """Read ``FILE`` or ``FILE?option=value&option=value``.

    Raises
    ------
    DataError
        If an option has no value.
    """
    path, mark, tail = text.partition("?")
    if mark and not re.match(r"\w+=", tail):
        path, tail = text, ""
    options = {}
    for part in filter(None, tail.split("&")):
        name, equals, value = part.partition("=")
        if not equals:
            raise DataError(path, f"option {part!r} has no value", hint="write option=value")
        options[name] = value
    return SourceSpec(Path(path), None, options)


@dataclass(frozen=True)
class Options:
    """How a file is read, once its options are understood.

    Attributes
    ----------
    delimiter
        One character; `None`: the format's own (edge lists: whatever the first line of data uses).
    header
        Whether the first line holds names; `None`: judge by the content.
    quote
        Quoting character of CSV, `None` for none.
    encoding
        Of text files. Bytes that do not fit are an error, never replaced.
    skip
        Physical lines to pass over at the start.
    columns
        Columns to take, in order, by name or 1-based number; `None`: as ``@mapping`` or their order says.
    percent
        The last column is in percent: divide its plain numbers by 100. Values such as ``8.15%`` always are in
        percent, with or without it.
    decimal
        Decimal point of numbers: with a comma, ``1.234,5`` and ``41,27%`` are numbers, too.
    missing
        What to do with a row that has an empty cell: an error, skip it (and count), keep the empty string.
    symmetric
        Add the reverse of every edge; `None`: if the file says that its edges are undirected.
    keep_diagonal
        Keep the diagonal of a symmetric matrix.
    scale
        Bring weights to [0,1]: ``abs`` is abs(w) / max abs(w), ``minmax`` is (w - min) / (max - min).
    drop_loops
        Leave out edges from a vertex to itself.
    weight
        Weight of every edge of a file without weights.
    prefix
        Put before the values of the first two columns, to keep two name spaces apart.
    vertices
        Take the vertices (id, label) of a graph file, not its edges; `None`: if the predicate is unary.
    """

    delimiter: str | None = None
    header: bool | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"
    skip: int = 0
    columns: tuple[str, ...] | None = None
    percent: bool = False
    decimal: str = "."
    missing: str = "error"
    symmetric: bool | None = None
    keep_diagonal: bool = False
    scale: str | None = None
    drop_loops: bool = False
    weight: float | None = None
    prefix: tuple[str, str] | None = None
    vertices: bool | None = None


def read_options(file: str, given: Mapping[str, str]) -> Options:
    """Understand the options of a source.

    Raises
    ------
    DataError
        If a name or value is unknown, with the names or values there are.
    """
    options = _lower(given)
    for name, value in options.items():
        _known(file, name, value)
    delimiter = options.get("delimiter")
    header = options.get("useheaders", "auto")
    symmetric = options.get("symmetric", "auto")
    quote = options.get("quote", '"')
    columns = options.get("columns")
    return Options(
        delimiter=None if delimiter is None else _delimiter(file, delimiter),
        header=None if header == "auto" else header == "true",
        quote=None if quote in ("", "none") else quote,
        encoding=_encoding(file, options.get("encoding", "utf-8")),
        skip=int(_number(file, "skip", options.get("skip", "0"), whole=True)),
        columns=None if columns is None else tuple(c.strip() for c in columns.split(",")),
        percent=options.get("percent") == "true",
        decimal=_decimal(file, options.get("decimal", ".")),
        missing=options.get("missing", "error"),
        symmetric=None if symmetric == "auto" else symmetric == "true",
        keep_diagonal=options.get("diagonal") == "keep",
        scale=options.get("scale"),
        drop_loops=options.get("loops") == "drop",
        weight=_number(file, "weight", options["weight"]) if "weight" in options else None,
        prefix=_prefix(file, options["prefix"]) if "prefix" in options else None,
        vertices=options["table"] == "vertices" if "table" in options else None,
    )


def _lower(given: Mapping[str, str]) -> dict[str, str]:
    """Option names in lower case, values without quotes."""
    named = {}
    for name, value in given.items():
        bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
        lower = name.lower()
        key = {"header": "useheaders"}.get(lower, lower)
        named[key] = bare.lower() if _OPTIONS.get(key) else bare
    return named


def _known(file: str, name: str, value: str) -> None:
    if name not in _OPTIONS:
        names = [_SPELLING.get(n, n) for n in _OPTIONS]
        near = difflib.get_close_matches(name, [n.lower() for n in names], 1)
        means = f"did you mean {_SPELLING.get(near[0], near[0])}? " if near else ""
        raise DataError(file, f"unknown option {name!r}", hint=f"{means}there are {', '.join(names)}")
    allowed = _OPTIONS[name]
    if allowed is not None and value not in allowed:
        raise DataError(
            file,
            f"option {_SPELLING.get(name, name)} cannot be {value!r}",
            hint=f"one of {', '.join(allowed)}",
        )


def _delimiter(file: str, text: str) -> str:
    character = _DELIMITERS.get(text.lower(), text)
    if len(character) != 1:
        raise DataError(
            file, f"delimiter {text!r} is not one character", hint="for instance delimiter=; or tab"
        )
    return character


def _decimal(file: str, text: str) -> str:
    if text not in _DECIMALS:
        raise DataError(
            file,
            f"option decimal cannot be {text!r}",
            hint="write decimal=, or decimal=comma (in @bind: decimal=',') for numbers such as 41,27",
        )
    return _DECIMALS[text]


def other_delimiter(text: str, used: str | None = None) -> str | None:
    """Ask for the delimiter that a line read as one field shows; `None` if it shows none.

    Examples
    --------
    >>> other_delimiter("owner;company;share")
    "is the delimiter ';'? (delimiter=;)"
    """
    mark = next((c for c in ";\t|," if c in text and c != used), None)
    if mark is None:
        return None
    return f"is the delimiter {mark!r}? (delimiter={'tab' if mark == chr(9) else mark})"


def _encoding(file: str, name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        raise DataError(file, f"unknown encoding {name!r}", hint="for instance utf-8 or latin-1") from None
    return name.lower()


def _number(file: str, name: str, text: str, *, whole: bool = False) -> float:
    pattern = r"\d+" if whole else r"[+-]?(\d+\.?\d*|\.\d+)"
    if not re.fullmatch(pattern, text):
        raise DataError(
            file, f"option {name} cannot be {text!r}", hint=f"write a number, for instance {name}=1"
        )
    return float(text)


def _prefix(file: str, text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma:
        raise DataError(
            file, f"option prefix cannot be {text!r}", hint="write two, as in prefix=user:,movie:"
        )
    return first, second
