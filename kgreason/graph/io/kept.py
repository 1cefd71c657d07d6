"""The format that the data of a predicate came in."""

from __future__ import annotations

from kgreason.analysis.checked import CheckedProgram
from kgreason.data.delimited import records
from kgreason.graph.io.formats import understood
from kgreason.graph.io.loader import Data, Loader
from kgreason.graph.io.neo4j_header import is_header
from kgreason.graph.io.source import SourceSpec
from kgreason.progress import SILENT


def first_files(program: CheckedProgram, data: Data) -> dict[str, SourceSpec | None]:
    """Tell the first file of each edge predicate; `None` where there is none, but a table in memory or facts.

    Raises
    ------
    DataError
        As `kgreason.graph.io.load.load_graph`, as far as no file is opened.
    """
    loader = Loader(program, data, SILENT)
    given = {predicate: [s for s, _, _ in loader.sources(predicate)] for predicate in program.edges}
    return {
        predicate: first if isinstance(first := next(iter(sources), None), SourceSpec) else None
        for predicate, sources in given.items()
    }


def format_of(source: SourceSpec) -> str:
    """Format of a file, or the extension that tells more than that; of a query over files, ``query``.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(SourceSpec(Path("own.csv.gz"))), format_of(SourceSpec(Path("own.ttl")))
    ('csv', 'ttl')
    """
    if source.query is not None and not source.path.is_file():
        return "query"
    name = source.path.name.lower().removesuffix(".gz")
    if source.kind() in ("csv", "tsv") and _of_neo4j(source):
        return "neo4j"
    return "ttl" if source.kind() == "rdf" and name.endswith(".ttl") else source.kind()


def _of_neo4j(source: SourceSpec) -> bool:
    """Whether the first line of a text is the header of an import file, by which it is read."""
    options = understood(source)
    if options.header is False or not source.path.is_file():
        return False
    delimiter = options.delimiter or ("," if source.kind() == "csv" else "\t")
    return is_header(next((cells for _, cells in records(source.path, options, delimiter)), []))
