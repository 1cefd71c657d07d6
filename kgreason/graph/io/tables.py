"""What tables a database holds."""

from __future__ import annotations

from pathlib import Path

from kgreason.graph.io.duck import duckdb_tables
from kgreason.graph.io.sqlite import sqlite_tables

_TABLES = {"sqlite": sqlite_tables, "duckdb": duckdb_tables}


def tables_of(path: Path, format: str) -> list[str]:
    """Names of the tables and views of a database file, in order.

    Raises
    ------
    DataError
        If it is no database of the format, or the package for it is missing.
    """
    return _TABLES[format](path)
