"""Files that are not what their names say: packed ones, and those whose extension several formats share."""

from __future__ import annotations

import re
from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.damaged import UNPACKING
from kgreason.graph.io.options import normal
from kgreason.graph.io.raw import open_bytes
from kgreason.graph.io.source import SourceSpec

_LOOKED_AT = 1 << 16
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
_STATEMENT = re.compile(rb'"(?:statementType|recordDetails)"\s*:')
_ROOT = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_ROOTS = {b"graphml": "graphml", b"RDF": "rdf", b"gexf": ""}
_CHOSEN = frozenset({"path", "columns", "selectedcolumns"})
"""Options that only who knows the rows of a file gives."""
_PACKED = ("sqlite", "duckdb")


def check_content(source: SourceSpec) -> None:
    """Refuse a file that begins as one of another format, where reading it would say something less helpful.

    What `format=` says is believed.

    Raises
    ------
    DataError
        With the format that it seems to be.
    """
    kind, path = source.kind(), source.path
    if kind in _PACKED or source.query is not None or source.server or not path.is_file():
        return
    start = _start(path)
    if start.startswith(_ZIP):
        raise DataError(source.file, "this is a zip file", hint="unpack it first, and name the file in it")
    if source.format is not None or "format" in normal(source.options):
        return
    if kind == "json" and not _CHOSEN.intersection(normal(source.options)) and _STATEMENT.search(start):
        raise DataError(
            source.file,
            "these are statements of BODS, not rows",
            hint="say format=bods; format=json reads them as they stand",
        )
    if start.startswith(_PARQUET) and kind != "parquet":
        raise DataError(source.file, "this is a Parquet file", hint="say format=parquet")
    root = _ROOT.search(start) if kind == "gleif" else None
    if root is not None and root[1] in _ROOTS:
        other = _ROOTS[root[1]]
        hint = f"say format={other}" if other else "save it as GraphML"
        raise DataError(source.file, f"the file holds <{root[1].decode()}>, not records of GLEIF", hint=hint)


def _start(path: Path) -> bytes:
    try:
        with open_bytes(path) as stream:
            return stream.read(_LOOKED_AT)
    except (OSError, *UNPACKING):
        return b""  # the reader says why
