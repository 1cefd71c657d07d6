"""The readers by format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.delimited import read_csv, read_tsv
from kgreason.graph.io.duck import read_duckdb
from kgreason.graph.io.edgelist import read_edges
from kgreason.graph.io.gml import read_gml
from kgreason.graph.io.graphml import read_graphml
from kgreason.graph.io.jsonrows import read_json
from kgreason.graph.io.matrixmarket import read_mtx
from kgreason.graph.io.options import Options, check_applies, read_options
from kgreason.graph.io.pajek import read_pajek
from kgreason.graph.io.parquet import read_parquet
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.rdf import read_rdf
from kgreason.graph.io.source import DATABASES, SourceSpec
from kgreason.graph.io.sqlite import read_sqlite

READERS: dict[str, Callable[[Path, Options], Raw]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "edges": read_edges,
    "konect": read_edges,
    "mtx": read_mtx,
    "gml": read_gml,
    "graphml": read_graphml,
    "net": read_pajek,
    "parquet": read_parquet,
    "json": read_json,
    "sqlite": read_sqlite,
    "duckdb": read_duckdb,
    "rdf": read_rdf,
}
_QUERIES = {"sqlite": read_sqlite, "duckdb": read_duckdb}


def read_table(source: SourceSpec, options: Options | None = None) -> Raw:
    """Read a file of any format as columns, of text or typed as the format has them.

    Parameters
    ----------
    options
        `None`: those of `source`.

    Raises
    ------
    DataError
        If the file cannot be read as what it is said to be.
    """
    kind = source.kind()
    options = understood(source) if options is None else options
    if source.query is not None:
        return _QUERIES[kind](source.path, options, source.query, source.place)
    return READERS[kind](source.path, options)


def understood(source: SourceSpec, more: Mapping[str, str] | None = None) -> Options:
    """Understand the options of a source without opening it.

    Parameters
    ----------
    more
        Options of the ``@bind`` that the source replaces.

    Raises
    ------
    DataError
        If one is unknown, has no such value, or is not one of the format.
    """
    kind, place = source.kind(), source.place
    options = read_options(place, {**(more or {}), **source.options})
    check_applies(place, source.options, kind)
    if source.query is not None and kind not in _QUERIES:
        raise DataError(place, f"{kind} files take no queries", hint="duckdb queries tables and files")
    if kind not in DATABASES and options.table not in (None, "edges", "vertices"):
        raise DataError(place, f"option table cannot be {options.table!r}", hint="one of edges, vertices")
    return options
