"""Arguments of functions on graphs under rules: graphs, mappings, rules and sizes; errors name the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, get_args

import numpy as np

from kgreason.base.errors import AnonymizationError, CallError, DataError, ProgramError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_numbers
from kgreason.isomorphism.settings import Further, Model
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.reasoning.api import Rules, check_data, load

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices

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
    return graphs_under(program, data)[0].distinct()


def is_graph_like(data: object) -> bool:
    """Whether `data` is a graph or table by itself, without names of predicates."""
    from kgreason.data.library_imports import is_table
    from kgreason.graph.knowledge_graph import KnowledgeGraph

    return isinstance(data, KnowledgeGraph) or (not isinstance(data, Mapping) and is_table(data))


def graph_of(graph: object, program: CheckedProgram) -> KnowledgeGraph:
    """Convert a graph object or an edge table, under rules that declare the edge predicates.

    Edges of NetworkX and igraph graphs may have ``relation`` and ``weight``. With one edge predicate, a table may have
    the columns source, target and optionally weight.

    Raises
    ------
    CallError
        If `graph` is none of these, or a table although the rules have several edge predicates.
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

    if isinstance(graph, KnowledgeGraph):
        return graph
    if not is_graph_like(graph):
        raise CallError(
            f"a graph is a KnowledgeGraph, one of NetworkX or igraph or a table, not of type {type(graph).__name__}",
            hint="kgreason.read_graph reads one from files",
        )
    foreign, edges = as_foreign(graph), program.edges
    if foreign is not None:
        return foreign.as_graph(edges[0] if len(edges) == 1 else "edge")
    if len(edges) != 1:
        raise CallError(
            f"a table alone does not say which of the edges it holds: {', '.join(edges) or 'none'} it is",
            hint='give a mapping {"own": table, ...}, or a graph whose edges carry relation',
        )
    rules_alone = replace(program.without_graph(), binds=(), queries_bound=())
    return load_graph(rules_alone, {edges[0]: graph})


def graphs_under(program: CheckedProgram, *graphs: object) -> list[KnowledgeGraph]:
    """Convert graph objects or edge tables, and check that the relations are the edge predicates of the rules."""
    found = [graph_of(graph, program) for graph in graphs]
    for graph in found:
        check_relations(graph, program)
    return found


def mapped(mapping: object, original: KnowledgeGraph, released: KnowledgeGraph) -> Vertices:
    """Convert a mapping (array, pairs of labels or table) to released vertices by original vertex."""
    from kgreason.release.mapping import names_of, numbers_of

    names = names_of(mapping)
    if names is None:
        return np.asarray(mapping)
    return numbers_of(names, original.labels, released.labels, "vertex", others=True)


def attacked_sizes(x: object) -> tuple[int, ...]:
    """Sizes of attacked x-subgraphs, ascending, from one number or several.

    Examples
    --------
    >>> attacked_sizes(3), attacked_sizes(range(4, 1, -1))
    ((3,), (2, 3, 4))
    """
    found = tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,)
    if not found:
        raise AnonymizationError("no number of vertices is given", hint="say for instance x=range(2, 5)")
    for size in found:
        check_numbers(x=(size, 1))
    return tuple(sorted({int(size) for size in found}))


def further_guarantees(also: object) -> tuple[Further, ...]:
    """Further guarantees from the name of one or several; knowledge of neighbours' degrees includes degrees.

    Examples
    --------
    >>> further_guarantees(()), further_guarantees("degree"), further_guarantees(["neighbours"])
    ((), ('degree',), ('degree', 'neighbours'))
    """
    asked = [also] if isinstance(also, str) or not isinstance(also, Iterable) else list(also)
    known = get_args(Further)
    for one in asked:
        if one not in known:
            hint = f"choose {' or '.join(known)}"
            raise AnonymizationError(f"unknown further guarantee {one!r}", hint=hint)
    return known[: max((1 + known.index(one) for one in asked), default=0)]


def check_model(model: object, further: Sequence[Further] = ()) -> None:
    """Raise `AnonymizationError` for an unknown anonymity model, or for further guarantees that it does not have."""
    if model not in get_args(Model):
        hint = f"choose {' or '.join(map(str, get_args(Model)))}"
        raise AnonymizationError(f"unknown model {model!r}", hint=hint)
    if model == "k-iso" and further:
        raise AnonymizationError("k-Iso has no further guarantees", hint="leave also out, or the model")


def anonymizable(program: CheckedProgram) -> CheckedProgram:
    """Return the rules of `program` without the data in its file, if graphs can be anonymized under them.

    Raises
    ------
    ProgramError
        If the rules depend on vertex names, declare no edge predicate, or use unsupported features.
    """
    from kgreason.language.check.genericity import for_anonymization, refusals

    rules = for_anonymization(program)
    if diagnostics := refusals(rules):
        raise ProgramError(diagnostics, program.sources or program.text)
    return rules


def check_relations(graph: KnowledgeGraph, program: CheckedProgram) -> None:
    """Raise `DataError` unless the relations are the edge predicates of the rules, with the weights they read."""
    here, there = (", ".join(sorted(names)) or "none" for names in (graph.relations, program.edges))
    if here != there:
        what = f"the graph has the relations {here}, the rules have {there}"
        raise DataError("<graph>", what, hint="name relations as the @edge predicates")
    for name, relation in graph.relations.items():
        if program.arities.get(name) == 3 and relation.weight is None:
            what = f"the relation {name} has no weights, but the rules read some"
            hint = "give the edges weights, or take a weight out of the atoms of this predicate in the rules"
            raise DataError("<graph>", what, hint=hint)
