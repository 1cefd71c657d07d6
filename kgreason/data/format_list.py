"""Functions of each format, reading of sources, and detection of files whose content does not match their format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

from kgreason.base.errors import DataError
from kgreason.base.memory import always_limited, claim
from kgreason.data.formats.delimited import DELIMITERS, records
from kgreason.data.raw_table import UNPACKING, Raw, damaged, open_bytes
from kgreason.data.source_options import Options, normal, read_options
from kgreason.data.sources import DATABASES, SourceSpec


class Functions(NamedTuple):
    """Functions of a format, each as its module below `kgreason.data.formats` and its name.

    `write` writes a file or, of databases, opens one to write tables; `beside` writes the file beside that of the
    facts; `columns` returns the column names of an existing file; `check` checks a query without its database;
    `package` is an optional package that is needed for writing; and `stream` opens a file for facts that are written
    piece by piece.
    """

    read: str
    write: str = ""
    beside: str = ""
    columns: str = ""
    check: str = ""
    package: str = ""
    stream: str = ""


_DELIMITED = (
    "delimited.write_delimited",
    "",
    "delimited.delimited_columns",
    "",
    "",
    "delimited.delimited_stream",
)
_LABELS = "vertex_names.write_labels"
FUNCTIONS = {
    "csv": Functions("delimited.read_csv", *_DELIMITED),
    "tsv": Functions("delimited.read_tsv", *_DELIMITED),
    "edges": Functions("edge_list.read_edges", "edge_list.write_edges"),
    "konect": Functions("edge_list.read_edges", "edge_list.write_konect", _LABELS),
    "mtx": Functions("matrix_market.read_mtx", "matrix_market.write_mtx", _LABELS),
    "gml": Functions("gml.read_gml", "gml.write_gml"),
    "graphml": Functions("graphml.read_graphml", "graphml.write_graphml"),
    "net": Functions("pajek.read_pajek", "pajek.write_pajek"),
    "neo4j": Functions("neo4j.read_neo4j", "neo4j.write_neo4j", "neo4j.write_nodes"),
    "parquet": Functions(
        "parquet.read_parquet",
        "parquet.write_parquet",
        columns="parquet.parquet_columns",
        stream="parquet.parquet_stream",
    ),
    "json": Functions("json_rows.read_json", "json_rows.write_json", columns="json_rows.json_columns"),
    "sqlite": Functions("sqlite.read_sqlite", "sqlite.write_sqlite", check="sqlite.check_sqlite"),
    "duckdb": Functions(
        "duckdb_files.read_duckdb",
        "duckdb_files.write_duckdb",
        check="duckdb_files.check_duckdb",
        package="duckdb",
    ),
    "postgresql": Functions(
        "postgresql.read_postgresql",
        "postgresql.write_postgresql",
        check="postgresql.one_select",
        package="psycopg",
    ),
    "rdf": Functions("rdf.read_rdf", "rdf.write_rdf", package="pyoxigraph"),
    "bods": Functions("bods.read_bods", "bods.write_bods"),
    "gleif": Functions("gleif.read_gleif"),
}
_TEXT = frozenset({"csv", "tsv", "edges", "konect", "mtx", "neo4j"})
_START = 1 << 16  # bytes that show the format of a file
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
_STATEMENT = re.compile(rb'"(?:statementType|recordDetails)"\s*:')
_ROOT = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_ROOTS = {b"graphml": "graphml", b"RDF": "rdf", b"gexf": ""}
_CHOSEN = frozenset({"path", "columns", "selectedcolumns"})
"""Options that only who knows the rows of a file gives."""
_PACKED = ("sqlite", "duckdb")


def function_of(name: str) -> Callable[..., Any]:
    """Import a function by its module in this package and its name."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.formats.{module}"), function)
    return found


def read_table(source: SourceSpec, options: Options | None = None) -> Raw:
    """Read a file of any format as columns, of text or typed according to the format.

    The options default to those of `source`. A file that cannot be read in its format, or exceeds the memory limit, is
    a `DataError`.
    """
    kind = source.kind()
    options = understood(source) if options is None else options
    with damaged(source.file), always_limited():
        raw = source.remote.read(options) if source.remote else _read(source, kind, options)
        if options.where is None or kind in DATABASES or raw.vertices is not None:
            return raw
        from kgreason.data.row_conditions import filtered  # imports lark

        return filtered(raw, options)


def _read(source: SourceSpec, kind: str, options: Options) -> Raw:
    """Read a file or database."""
    check_content(source)
    size = source.path.stat().st_size if source.path.is_file() else 0
    claim((1 + (kind in _TEXT)) * size)  # text is temporarily held twice
    neo4j = has_neo4j_header(source, options)
    read = function_of(FUNCTIONS["neo4j" if neo4j else kind].read)
    if source.query is not None:
        queried: Raw = read(source.path, options, source.query, source.location)
        return queried
    raw: Raw = read(source.path, options)
    if neo4j:
        note = f"{source.path}: read as an import file of Neo4j, as its header says"
        raw = replace(raw, notes=(note, *raw.notes))
    return raw


def has_neo4j_header(source: SourceSpec, options: Options) -> bool:
    """Whether the first line of a CSV or TSV file is a header of a Neo4j import file."""
    kind, path = source.kind(), source.path
    if kind not in DELIMITERS or options.header is False or not path.is_file():
        return False
    first = next(records(path, options, options.delimiter or DELIMITERS[kind]), None)
    if first is None or not any(":" in cell for cell in first[1]):
        return False
    from kgreason.data.formats.neo4j import is_header

    return is_header(first[1])


def format_of(source: SourceSpec) -> str:
    """Format of a file, or its extension if that is more specific; ``query`` for a query over files.

    >>> from pathlib import Path
    >>> format_of(SourceSpec(Path("own.csv.gz"))), format_of(SourceSpec(Path("own.ttl")))
    ('csv', 'ttl')
    """
    if source.query is not None and not source.path.is_file():
        return "query"
    kind = source.kind()
    if kind in DELIMITERS and has_neo4j_header(source, understood(source)):
        return "neo4j"
    return "ttl" if kind == "rdf" and source.path.name.lower().removesuffix(".gz").endswith(".ttl") else kind


def understood(source: SourceSpec, more: Mapping[str, str] | None = None) -> Options:
    """Parse the options of a source without opening it; `more` are options of the ``@bind`` that it replaces.

    An option that is unknown, has an invalid value, or does not apply to the format is a `DataError`.
    """
    kind, location = source.kind(), source.location
    options = read_options(location, {**(more or {}), **source.options}, kind)
    if options.where is not None:
        from kgreason.data.row_conditions import parse

        parse(location, options.where)
        if source.query is not None:
            raise DataError(location, "a query has no option where", hint="write WHERE into the query")
    if source.query is not None and kind not in DATABASES:
        raise DataError(location, f"{kind} files take no queries", hint="duckdb queries tables and files")
    if kind not in DATABASES and options.table not in (None, "edges", "vertices"):
        raise DataError(location, f"option table cannot be {options.table!r}", hint="one of edges, vertices")
    return options


def check_content(source: SourceSpec) -> None:
    """Check that the content of a file does not begin as one of another format.

    An explicit ``format=`` option is trusted.
    """
    kind, path = source.kind(), source.path
    if kind in _PACKED or source.query is not None or source.server or not path.is_file():
        return
    start = b""
    with suppress(OSError, *UNPACKING), open_bytes(path) as stream:  # the reader reports these errors
        start = stream.read(_START)
    if start.startswith(_ZIP):
        raise DataError(source.file, "this is a zip file", hint="unpack it first, and name the file in it")
    if source.format is not None or "format" in normal(source.options):
        return
    if kind == "json" and not _CHOSEN.intersection(normal(source.options)) and _STATEMENT.search(start):
        what = "these are statements of BODS, not rows"
        raise DataError(source.file, what, hint="say format=bods; format=json reads them unchanged")
    if start.startswith(_PARQUET) and kind != "parquet":
        raise DataError(source.file, "this is a Parquet file", hint="say format=parquet")
    root = _ROOT.search(start) if kind == "gleif" else None
    if root is not None and root[1] in _ROOTS:
        other = _ROOTS[root[1]]
        hint = f"say format={other}" if other else "save it as GraphML"
        raise DataError(source.file, f"the file holds <{root[1].decode()}>, not records of GLEIF", hint=hint)
