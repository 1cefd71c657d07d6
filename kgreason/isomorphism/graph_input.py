"""Input graphs: kgreason, NetworkX and igraph graphs, edge tables, or one source per predicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from kgreason.base.errors import CallError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.arguments import check_relations
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.reasoning.api import Rules, check_data, load

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from kgreason.graph.knowledge_graph import KnowledgeGraph

    class ArrowTable(Protocol):
        """Object with the Arrow PyCapsule interface, such as tables of Arrow, Polars and DuckDB."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    class IGraph(Protocol):
        """The interface of igraph graphs that is used; igraph has no types."""

        def get_edgelist(self) -> list[tuple[int, int]]:
            """Ends of the edges."""
            ...

        def vcount(self) -> int:
            """Number of vertices."""
            ...

    GraphLike: TypeAlias = KnowledgeGraph | nx.Graph[Any] | IGraph | pd.DataFrame | ArrowTable
    """A graph of kgreason, NetworkX or igraph, or, under rules with one edge predicate, a table of its edges."""

    GraphData: TypeAlias = Mapping[str, Any] | GraphLike
    """A graph, or a file or table for each predicate."""


def read_graph(
    rules: Rules, data: GraphData | None = None, *, allow_files: bool = False, progress: Progress = SILENT
) -> KnowledgeGraph:
    """Read the graph that the ``@node`` and ``@edge`` predicates of a rule file describe.

    Parameters
    ----------
    data
        A file or table for each predicate; or a kgreason, NetworkX or igraph graph, whose edges may have the
        attributes ``relation`` and ``weight``; or, under rules with one edge predicate, an edge table.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError
        If the rules or the data are invalid.

    Examples
    --------
    >>> import networkx as nx
    >>> read_graph('@edge("own").', nx.DiGraph([("A", "D")]))
    <KnowledgeGraph with 2 vertices; own: 1 edges>
    """
    return graph_from(load(rules, allow_files=allow_files), data, progress)


def graph_from(program: CheckedProgram, data: GraphData | None, progress: Progress) -> KnowledgeGraph:
    """Return a graph that was passed as such, or read it by the rules."""
    from kgreason.data.fact_loading import load_graph

    if data is None or not is_graph_like(data):
        check_data(data)
        return load_graph(program, cast("Mapping[str, Any]", data or {}), progress)
    graph = graph_of(data, program)
    check_relations(graph, program)
    return graph.distinct()


def is_graph_like(given: object) -> bool:
    """Whether `given` is a graph or table by itself, without names of predicates."""
    from kgreason.data.library_imports import is_table
    from kgreason.graph.knowledge_graph import KnowledgeGraph

    return isinstance(given, KnowledgeGraph) or (not isinstance(given, Mapping) and is_table(given))


def graph_of(given: object, program: CheckedProgram) -> KnowledgeGraph:
    """Convert a graph object or an edge table, under rules that declare the edge predicates.

    Parameters
    ----------
    given
        A kgreason, NetworkX or igraph graph (edges may have ``relation`` and ``weight``); with one edge predicate
        also a table with the columns source, target and optionally weight.

    Raises
    ------
    CallError
        If `given` is none of these, or a table although the rules have several edge predicates.
    DataError
        If the graph or table is invalid.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> import pyarrow as pa
    >>> graph_of(pa.table({"by": ["A"], "of": ["D"], "share": [0.6]}), load_text('@edge("own").'))
    <KnowledgeGraph with 2 vertices; own: 1 edges>
    """
    from kgreason.data.fact_loading import load_graph
    from kgreason.data.library_imports import as_foreign
    from kgreason.graph.knowledge_graph import KnowledgeGraph

    if isinstance(given, KnowledgeGraph):
        return given
    if not is_graph_like(given):
        raise CallError(
            f"a graph is a KnowledgeGraph, one of NetworkX or igraph or a table, not of type {type(given).__name__}",
            hint="kgreason.read_graph reads one from files",
        )
    foreign, edges = as_foreign(given), program.edges
    if foreign is not None:
        return foreign.as_graph(edges[0] if len(edges) == 1 else "edge")
    if len(edges) != 1:
        raise CallError(
            f"a table alone does not say of which of the edges {', '.join(edges) or 'none'} it is",
            hint='give a mapping {"own": table, ...}, or a graph whose edges carry relation',
        )
    rules_alone = replace(program.without_graph(), binds=(), queries_bound=())
    return load_graph(rules_alone, {edges[0]: given})
