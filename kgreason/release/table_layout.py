"""File names and formats of the tables of a release (docs/data.md, Releases).

The edges of ``own`` are in the file ``own.<extension>``, or in the table ``own`` of ``graph.sqlite`` or
``graph.duckdb``. The vertices are in ``nodes.<extension>``, in the table ``nodes`` of the database of the first edges,
or in the graph file of the first edges if its format lists vertices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.formats.rdf import BASE
from kgreason.data.sources import SourceSpec
from kgreason.data.targets import DECLARING, FORMATS

README, UNVERIFIED, REPORT = "README.txt", "UNVERIFIED", ("report.html", "report.json")
BESIDE = (README, UNVERIFIED, *REPORT)  # files of a release besides the tables and what describes them
NODES, DATABASE = "nodes", "graph"
NUMBERED = frozenset({"mtx", "konect"})  # formats that know a vertex by a number from 1 to n and nothing else
LISTING = DECLARING - {"neo4j"}  # whose file of edges lists all vertices
EDGES_ALONE = frozenset({"edges", "konect"})  # that have no place for vertices without edges
HEADED = frozenset({"csv", "tsv"})
MAYBE_EMPTY = frozenset({"json", "rdf", "edges"})  # text formats of which a table without rows has no bytes
DATABASES = frozenset({"sqlite", "duckdb"})  # whose tables stand in one file
BINARY = frozenset({"parquet", *DATABASES})
_EXTENSIONS = {**{e: format for format, e in FORMATS.items() if format != "neo4j"}, "ttl": "rdf"}
EXTENSIONS = tuple(f".{extension}" for extension in _EXTENSIONS)
KONECT = "out."  # prefix of a KONECT file, which has no extension
_NODES = "-nodes.csv"


@record
class Stored:
    """One table of a release: format, file name in the folder, and read options for a ``@bind``.

    The options of a database include the table name.
    """

    format: str
    file: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def beside(self) -> str | None:
        """Node file that accompanies the relationships of a Neo4j import."""
        if self.format != "neo4j" or self.file.endswith(_NODES):
            return None
        return nodes_beside(self.file)

    def source(self, folder: Path) -> SourceSpec:
        """Source of the table in a folder."""
        return SourceSpec(folder / self.file, self.format, dict(self.options))

    def bind(self, predicate: str) -> str:
        """``@bind`` annotation that reads the table, for a rule file in the same folder."""
        if self.format in DATABASES:
            return f'@bind("{predicate}", "{self.format}", "{self.file}", "{self.options["table"]}").'
        words = " ".join(
            f"{name}={value}" if value.isalnum() else f"{name}='{value}'"
            for name, value in self.options.items()
        )
        return f'@bind("{predicate}", "{f"{self.format} {words}".rstrip()}", "", "{self.file}").'


@record
class Layout:
    """The tables of a release: edge tables by predicate, and the vertex table."""

    edges: Mapping[str, Stored]
    nodes: Stored

    @classmethod
    def of(cls, formats: Mapping[str, str]) -> Layout:
        """Layout of edge predicates with the given formats or extensions.

        Examples
        --------
        >>> layout = Layout.of({"own": "sqlite", "owes": "ttl"})
        >>> [layout.edges[p].file for p in ("own", "owes")], layout.nodes.options["table"]
        (['graph.sqlite', 'owes.ttl'], 'nodes')
        >>> print(Layout.of({"own": "tsv"}).nodes.bind("company"))
        @bind("company", "tsv useHeaders=true", "", "nodes.tsv").
        """
        edges = {predicate: _edges(predicate, name) for predicate, name in formats.items()}
        first = next(iter(edges), "")
        return cls(edges, _nodes(edges[first], formats[first]) if edges else _plain(NODES, "csv"))

    def instead(self, formats: Mapping[str, str]) -> Layout:
        """Layout with the formats of some edge predicates replaced."""
        kept = {
            p: s.file.rpartition(".")[2] if s.format == "rdf" else s.format for p, s in self.edges.items()
        }
        return Layout.of({**kept, **formats})

    @property
    def numbered(self) -> bool:
        """Whether vertices are numbers from 1 to n."""
        return any(stored.format in NUMBERED for stored in self.edges.values())

    @property
    def listed(self) -> bool:
        """Whether the vertices are listed in an edge file, or in a file written with one."""
        return any(
            self.nodes.file in (s.file, s.beside) and "table" not in s.options for s in self.edges.values()
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Distinct file names; the vertex file comes first."""
        files = [self.nodes.file, *(file for s in self.edges.values() for file in (s.file, s.beside) if file)]
        return tuple(dict.fromkeys(files))


def _edges(predicate: str, name: str) -> Stored:
    if name == "neo4j":
        return Stored(name, f"{predicate}.csv")
    stored = _plain(predicate, name)
    if stored.format != "rdf":
        return stored
    return replace(stored, options={**stored.options, "predicate": predicate})


def _nodes(first: Stored, name: str) -> Stored:
    """Vertex table, in the format of the first edges if that can represent vertices."""
    if first.format in LISTING:
        return first
    if first.beside is not None:
        return Stored(first.format, first.beside)
    stored = _plain(NODES, "csv" if first.format in EDGES_ALONE else name)
    return replace(stored, options={**stored.options, "class": NODES}) if stored.format == "rdf" else stored


def _plain(table: str, name: str) -> Stored:
    extension = FORMATS.get(name, name)
    format = _EXTENSIONS[extension]
    if format in DATABASES:
        return Stored(format, f"{DATABASE}.{extension}", {"table": table})
    options = {"useHeaders": "true"} if format in HEADED else {"base": BASE} if format == "rdf" else {}
    return Stored(format, f"{KONECT}{table}" if format == "konect" else f"{table}.{extension}", options)


def is_table(name: str) -> bool:
    """Whether a file name is one of a release table, as ``own.csv``, ``own.csv.gz`` or ``out.own``."""
    return name.startswith(KONECT) or name.removesuffix(".gz").endswith(EXTENSIONS)


def table_of(name: str) -> str:
    """Table name of a file name, as ``own`` of ``own.csv`` and ``out.own``; `DATABASE` for a database."""
    return name.removeprefix(KONECT).partition(".")[0]


def nodes_beside(name: str) -> str:
    """Node file that accompanies a relationship file of a Neo4j import."""
    return name.removesuffix(".csv") + _NODES


# --- detection in a folder ---------------------------------------------------------------------------------


def found_edges(folder: Path, predicate: str) -> Stored:
    """Table of an edge predicate in a folder: the missing CSV table if there is none; `DataError` if ambiguous."""
    found = [s for s in (_edges(predicate, e) for e in _EXTENSIONS) if (folder / s.file).is_file()]
    stored = _one(folder, predicate, found) or _edges(predicate, "csv")
    neo4j = stored.format == "csv" and (folder / nodes_beside(stored.file)).is_file()
    return _edges(predicate, "neo4j") if neo4j else stored


def found_nodes(folder: Path, edges: Iterable[Stored]) -> Stored | None:
    """Vertex table in a folder; the first edge table may list the vertices itself. `DataError` if ambiguous."""
    first = next(iter(edges), None)
    names = [e for e, format in _EXTENSIONS.items() if format not in LISTING | EDGES_ALONE | DATABASES]
    beside = [s for s in (_nodes(_plain(NODES, e), e) for e in names) if (folder / s.file).is_file()]
    if found := _one(folder, NODES, beside):
        return found
    if first is not None and first.format in DATABASES:
        return replace(first, options={**first.options, "table": NODES})
    if first is not None and first.beside is not None and (folder / first.beside).is_file():
        return Stored(first.format, first.beside)
    return first if first is not None and first.format in LISTING else None


def _one(folder: Path, table: str, found: Sequence[Stored]) -> Stored | None:
    """File of a table; a database only if there is no other file."""
    own = [s for s in found if s.format not in DATABASES] or list(found)
    if len(own) > 1:
        files = " and ".join(s.file for s in own[:2])
        raise DataError(
            str(folder),
            f"both {files} could be the table of {table}",
            hint="take an unchanged copy of the release, where there is one",
        )
    return own[0] if own else None
