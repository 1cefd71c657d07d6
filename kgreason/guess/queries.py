"""Queries that choose the edges of one kind from a table of several kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgreason.errors import DataError
from kgreason.graph.io.formats import read_table
from kgreason.graph.io.source import DATABASES, SourceSpec
from kgreason.graph.io.sql import quoted
from kgreason.guess.columns import Column
from kgreason.guess.tables import Found, relative
from kgreason.lang.names import SERVERS
from kgreason.records import dataclass

KINDS = 256
"""Kinds of edges up to which each is a relation of its own."""
_FILES = frozenset({"csv", "tsv", "edges", "parquet", "json"})
_OF_VALUES = frozenset({"percent", "decimal", "scale", "missing", "nullString", "prefix", "symmetric"})
"""Options that a query may have, too."""


@dataclass(frozen=True)
class Query:
    """What ``@qbind`` has: an engine with its options, the place of the data, and SQL."""

    engine: str
    options: Mapping[str, str]
    place: str
    sql: str


def query(
    table: Found,
    folder: Path,
    taken: Sequence[Column],
    relation: Column,
    kind: str,
    options: Mapping[str, str],
) -> Query:
    """Choose the edges of a kind.

    Parameters
    ----------
    folder
        Files are named as seen from there.
    taken
        Columns of the result.
    options
        Of the source as a whole; the query takes those that it may have.
    """
    path = relative(table.path, folder)
    kept = {k: v for k, v in options.items() if k in _OF_VALUES}
    engine, place = table.format, path
    if table.format in SERVERS:
        place = options.get("schema", options.get("database", ""))
        said = "schema" if "schema" in options else "database"
        kept |= {k: v for k, v in options.items() if k not in ("table", "columns", said)}
        source = ".".join(quoted(options[k]) for k in ("schema", "table") if k in options)
    elif table.format in DATABASES:
        source = quoted(options["table"])
    else:
        engine, place, source = "duckdb", "", _scan(table, options, path)
    wanted = "'" + kind.replace("'", "''") + "'"
    columns = ", ".join(_name(table, one) for one in taken)
    sql = f"select {columns} from {source} where {_name(table, relation)} = {wanted}"
    return Query(engine, kept, place, sql)


def _name(table: Found, one: Column) -> str:
    if table.format == "json":  # keys of objects within objects
        return ".".join(map(quoted, one.name.split(".")))
    return quoted(one.name if table.raw.named else f"column{one.number - 1}")


def _scan(table: Found, options: Mapping[str, str], path: str) -> str:
    """A file as DuckDB reads it."""
    file = "'" + path.replace("'", "''") + "'"
    if table.format not in ("csv", "tsv", "edges"):
        return file
    mark = options.get("delimiter", {"csv": ",", "tsv": "tab"}.get(table.format, _mark(table)))
    mark = {"tab": "\\t"}.get(mark, mark.replace("'", "''"))
    header = "true" if table.raw.named else "false"
    names = ""
    if not table.raw.named:
        given = ", ".join(f"'column{i}'" for i in range(len(table.columns)))
        names = f", names=[{given}]"
    skip = f", skip={options['skip']}" if "skip" in options else ""
    return f"read_csv({file}, header={header}, delim='{mark}', all_varchar=true{skip}{names})"


def _mark(table: Found) -> str:
    """The mark between the fields of a list of edges."""
    from kgreason.graph.io.raw import open_bytes

    with open_bytes(table.path) as stream:
        lines = [line for line in stream.read(1 << 12).splitlines() if line[:1] not in (b"%", b"#")]
    last = lines[-2:][0] if lines else b""
    return next((mark for mark in (",", "\t") if mark.encode() in last), " ").replace("\t", "tab")


def kinds(table: Found, relation: Column) -> tuple[tuple[str, ...], str | None]:
    """All kinds of edges, the most frequent first; none, and why, if queries cannot choose them."""
    import pyarrow.compute as pc

    counted = pc.value_counts(table.raw.columns[relation.number - 1])
    pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)
    found = Counter({str(v): n for v, n in pairs if v is not None and str(v).strip()})
    if len(found) > KINDS:
        return (), f"there are {len(found):,} of them, more than {KINDS}"
    if not table.whole:
        return (), "the file is large, and only its first rows were looked at"
    names = tuple(name for name, _ in found.most_common())
    if not names or table.format in SERVERS:
        return names, None
    if table.format not in _FILES | DATABASES or {"path", "encoding"} & set(table.options):
        return (), f"no query can choose them from {table.format} as it is read here"
    chosen = query(table, table.path.parent, table.columns[:1], relation, names[0], table.options)
    path = table.path.parent if chosen.engine == "duckdb" and not chosen.place else table.path
    try:
        rows = len(read_table(SourceSpec(path, chosen.engine, {}, chosen.sql)))
    except DataError:
        rows = -1
    if rows != found[names[0]]:
        return (), "no query chooses them from this file (does it need the package duckdb?)"
    return names, None
