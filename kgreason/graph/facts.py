"""Interface between graph and reasoner: facts of a graph, and what rules derive from them.

Vertices are passed as integers, their numbers in the graph. Rules see the vertices (each node predicate holds for all
of them) and the edges of the relations named by edge predicates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.engine.relations.fact_tables import Facts, Kind, Table, doubles
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import holds_edges, vertex_positions
from kgreason.language.check.program_checker import restricted

Rows = npt.NDArray[np.int64]


def graph_facts(graph: KnowledgeGraph, program: CheckedProgram) -> Facts:
    """Represent a graph as facts of the node and edge predicates of a program.

    An edge predicate of arity 3 includes the weight as a double, 1.0 if the relation has none; one of arity 2 omits the
    weight, so that parallel edges become one fact.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text('@node("company"). @edge("own"). p(X) :- company(X), own(X,_,W), W > 0.5.')
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> facts = graph_facts(graph, program)
    >>> sorted(facts.rows("own")), sorted(facts.rows("company"))
    ([(0, 1, 0.6), (1, 2, 0.8)], [(0,), (1,), (2,)])
    """
    tables = {p: Table((Kind.INT,), (np.arange(graph.n, dtype=np.int64),), graph.n) for p in program.nodes}
    for predicate in program.edges:
        if predicate in graph.relations:
            weighted = program.arities.get(predicate) == 3
            tables[predicate] = _edge_table(graph.relations[predicate], weighted=weighted)
    return Facts(tables)


def _edge_table(relation: Relation, *, weighted: bool) -> Table:
    if weighted:
        weight = relation.weight if relation.weight is not None else np.ones(len(relation))
        columns = (relation.source, relation.target, doubles(weight))
        return Table((Kind.INT, Kind.INT, Kind.DOUBLE), columns, len(relation))
    pairs = np.stack([relation.source, relation.target], axis=1)
    if relation.weight is not None:
        pairs = np.unique(pairs, axis=0)
    source, target = np.ascontiguousarray(pairs.T)
    return Table((Kind.INT, Kind.INT), (source, target), len(pairs))


def derived_edges(graph: KnowledgeGraph, program: CheckedProgram) -> dict[str, tuple[Vertices, Vertices]]:
    """Derive the edges of Σ(G) on the whole graph.

    Returns
    -------
    dict
        For each predicate of ``program.derived``, the sources and targets of its edges, int64, in lexicographic order.
        Facts given by the graph are not derived; a predicate that does not hold pairs of vertices has no edges.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text('@edge("own"). @derived("strong"). strong(X,Y) :- own(X,Y,W), W > 0.7.')
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> derived_edges(graph, program)
    {'strong': (array([1]), array([2]))}
    """
    positions = vertex_positions(program)
    ground, found = _evaluated(graph, program, program.derived)
    edges = {}
    for predicate in program.derived:
        rows = _rows(found, predicate, 2)
        if not holds_edges(predicate, positions):
            rows = rows[:0]
        elif predicate in ground.tables:
            known = _rows(ground, predicate, 2)
            rows = rows[~np.isin(rows @ [graph.n, 1], known @ [graph.n, 1])]
        edges[predicate] = (rows[:, 0].copy(), rows[:, 1].copy())
    return edges


def answers(graph: KnowledgeGraph, program: CheckedProgram) -> dict[str, Rows]:
    """Answer the queries of a program on the whole graph.

    Returns
    -------
    dict
        For each ``@query`` predicate (if there is none: each derived one), its distinct answers in lexicographic order,
        int64, shape (rows, arity): vertices by number, other values encoded as described by `Kind`.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text('@edge("own"). @query("owner"). owner(X) :- own(X,_,_).')
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> answers(graph, program)["owner"].tolist()
    [[0], [1]]
    """
    goals = program.queries or program.derived
    _, found = _evaluated(graph, program, goals)
    return {predicate: _rows(found, predicate, program.arities.get(predicate, 0)) for predicate in goals}


def _evaluated(graph: KnowledgeGraph, program: CheckedProgram, goals: Sequence[str]) -> tuple[Facts, Facts]:
    """Facts of the graph, and all facts of the goals."""
    from kgreason.engine.seminaive.evaluation import evaluate

    facts = graph_facts(graph, program)
    return facts, evaluate(restricted(program, goals), facts, goals=tuple(goals)).facts


def _rows(facts: Facts, predicate: str, arity: int) -> Rows:
    table = facts.tables.get(predicate)
    if table is None:
        return np.empty((0, arity), dtype=np.int64)
    if not table.columns:
        return np.empty((table.length, 0), dtype=np.int64)
    order = np.lexsort(table.columns[::-1])
    return np.stack([column[order] for column in table.columns], axis=1)
