"""The readers by format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kgreason.graph.io.delimited import read_csv, read_tsv
from kgreason.graph.io.edgelist import read_edges
from kgreason.graph.io.gml import read_gml
from kgreason.graph.io.graphml import read_graphml
from kgreason.graph.io.matrixmarket import read_mtx
from kgreason.graph.io.pajek import read_pajek
from kgreason.graph.io.parquet import read_parquet
from kgreason.graph.io.raw import Raw
from kgreason.graph.io.source import Options, SourceSpec, read_options

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
}


def read_table(source: SourceSpec, options: Options | None = None) -> Raw:
    """Read a file of any format as text (Parquet: typed) columns.

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
    options = read_options(source.file, source.options) if options is None else options
    return READERS[kind](source.path, options)
