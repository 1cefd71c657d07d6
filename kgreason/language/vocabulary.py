"""Words of the language: aggregates, annotations, types and formats; suggestions for misspelt words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

# operators
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}  # operator of the exchanged operands
ORDERS = frozenset(MIRRORED)
ARITHMETIC = frozenset("+-*/%")
MEMBERSHIP = frozenset({"in", "!in"})
LOGIC = frozenset({"&&", "||"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONOTONIC = _words("msum mprod mcount mmin mmax munion")
STRATIFIED = _words("sum prod count min max avg median list set union")
AGGREGATES = MONOTONIC | STRATIFIED

ANNOTATIONS = _words(
    "input output bind qbind mapping param post include module label node edge derived query sensitive incoming_sum"
)

SCHEMA_ANNOTATIONS = _words("model")  # they describe predicates, are read, and change nothing
LATER_ANNOTATIONS = _words("library executionMode delete update timeGranularity explain chase temporal")

TYPES = {
    "int": "int",
    "integer": "int",
    "long": "int",
    "double": "double",
    "float": "double",
    "string": "string",
    "bool": "boolean",
    "boolean": "boolean",
    "percent": "percent",
    "date": "date",
}

FileFormat = Literal[
    "csv",
    "tsv",
    "parquet",
    "json",
    "sqlite",
    "duckdb",
    "edges",
    "konect",
    "mtx",
    "gml",
    "graphml",
    "net",
    "neo4j",
    "rdf",
    "bods",
]
"""Formats of files that are read and written."""

FILES: tuple[FileFormat, ...] = get_args(FileFormat)
SERVERS = _words("postgresql")
READ_ALONE = _words("gleif")
DATABASES = SERVERS | _words("sqlite duckdb")
TARGETS = SERVERS | {"pajek", *FILES}
SOURCES = TARGETS | READ_ALONE
LATER_SOURCES = _words("excel mysql mariadb oracle sqlserver mongodb sparql")

ARITIES: dict[str, tuple[int, int | None]] = {
    "edges": (1, None),
    "gml": (1, None),
    "graphml": (1, None),
    "net": (1, 3),
    "mtx": (1, 3),
    "konect": (2, 4),
    "neo4j": (1, None),
    "bods": (1, 3),
}
"""Least and greatest number of arguments of predicates that a format has a place for; others have one for any."""

EXTENSIONS: dict[str, str] = {
    **{name: name for name in FILES + tuple(sorted(READ_ALONE))},
    "txt": "edges",
    "edgelist": "edges",
    "el": "edges",
    "tab": "tsv",
    "pajek": "net",
    "pq": "parquet",
    "jsonl": "json",
    "ndjson": "json",
    "db": "sqlite",
    "db3": "sqlite",
    "sqlite3": "sqlite",
    "ddb": "duckdb",
    "nt": "rdf",
    "ttl": "rdf",
    "xml": "gleif",
}
"""Format by the ending of a file name."""


def suggest(word: str, known: Iterable[str]) -> str | None:
    """Nearest known word, if one is near; nothing is near a single letter."""
    from difflib import get_close_matches

    others = sorted(set(known) - {word}) if len(word) > 1 else []
    near = get_close_matches(word, others, n=1, cutoff=0.65)
    return near[0] if near else None


def meant(word: str, known: Iterable[str], shown: str = "{!r}") -> str | None:
    """Hint at the nearest known word, if one is near."""
    closest = suggest(word, known)
    return f"did you mean {shown.format(closest)}?" if closest else None
