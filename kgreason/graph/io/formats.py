"""The readers by format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module

from kgreason.errors import DataError
from kgreason.graph.io.damaged import damaged
from kgreason.graph.io.mistaken import check_content
from kgreason.graph.io.options import Options, check_applies, read_options
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.source import DATABASES, SourceSpec
from kgreason.graph.io.where import filtered, parse
from kgreason.memory import always_limited, claim

READERS = {
    "csv": "kgreason.data.delimited.read_csv",
    "tsv": "kgreason.data.delimited.read_tsv",
    "edges": "edgelist.read_edges",
    "konect": "edgelist.read_edges",
    "mtx": "matrixmarket.read_mtx",
    "gml": "gml.read_gml",
    "graphml": "graphml.read_graphml",
    "net": "pajek.read_pajek",
    "neo4j": "neo4j.read_neo4j",
    "parquet": "kgreason.data.parquet.read_parquet",
    "json": "jsonrows.read_json",
    "sqlite": "kgreason.data.sqlite.read_sqlite",
    "duckdb": "kgreason.data.duckdb_files.read_duckdb",
    "postgresql": "kgreason.data.postgresql.read_postgresql",
    "rdf": "rdf.read_rdf",
    "bods": "bods.read_bods",
    "gleif": "gleif.read_gleif",
}
"""Module and function of each reader; only those in use are imported."""
_TEXT = frozenset({"csv", "tsv", "edges", "konect", "mtx", "neo4j"})
_QUERIED = DATABASES


def _reader(kind: str) -> Callable[..., Raw]:
    module, _, name = READERS[kind].rpartition(".")
    if "." not in module:
        module = f"{__package__}.{module}"
    reader: Callable[..., Raw] = getattr(import_module(module), name)
    return reader


def read_table(source: SourceSpec, options: Options | None = None) -> Raw:
    """Read a file of any format as columns, of text or typed as the format has them.

    Parameters
    ----------
    options
        `None`: those of `source`.

    Raises
    ------
    DataError
        If the file cannot be read as what it is said to be, or takes more memory than there may be used.
    """
    kind = source.kind()
    options = understood(source) if options is None else options
    with damaged(source.file), _remembering(source.file), always_limited():
        check_content(source)
        _claim(source)
        if source.query is not None:
            return _reader(kind)(source.path, options, source.query, source.place)
        raw = _reader(kind)(source.path, options)
        return raw if kind in DATABASES or raw.vertices is not None else filtered(raw, options)


@contextmanager
def _remembering(file: str) -> Iterator[None]:
    """Name the file that there is not enough memory for."""
    try:
        yield
    except MemoryError as error:
        raise DataError(
            file,
            f"there is not enough memory to read it{f': {error}' if str(error) else ''}",
            hint="allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))",
        ) from None


def _claim(source: SourceSpec) -> None:
    """Ask for the memory of a file's rows; of text there are two copies for a while."""
    copies = 2 if source.kind() in _TEXT else 1
    claim(copies * source.path.stat().st_size if source.path.is_file() else 0)


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
    if options.where is not None:
        parse(place, options.where)
        if source.query is not None:
            raise DataError(place, "a query has no option where", hint="write WHERE into the query")
    if source.query is not None and kind not in _QUERIED:
        raise DataError(place, f"{kind} files take no queries", hint="duckdb queries tables and files")
    if kind not in DATABASES and options.table not in (None, "edges", "vertices"):
        raise DataError(place, f"option table cannot be {options.table!r}", hint="one of edges, vertices")
    return options
