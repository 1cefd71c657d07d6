"""Utility of answers and derived edges, and fidelity of degrees and weights, of a release compared to its original."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.printable import Displayed
from kgreason.base.records import entries, record
from kgreason.engine.relations.rows import first_rows
from kgreason.graph.facts import answers
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import distinct
from kgreason.isomorphism.utility.transitive_closure import closure, closure_rules, compare
from kgreason.language.check.checked_program import CheckedProgram

SHOWN = 5  # listed lost answers, and listed gained answers, of each query


@record
class QueryUtility:
    """Differences in the answers of one query, or in the derived edges of one predicate, here called answers, too.

    Attributes
    ----------
    original, released
        Numbers of answers in G and in A.
    lost
        Number of answers in G that are not answers in A.
    gained
        Number of answers in A that are not answers in G, including those with synthetic vertices.
    sampled
        0: the numbers are exact. Otherwise they are estimated from the answers whose last vertex is one of this many
        sampled targets.
    margin
        Half-width of the 95 % confidence interval of U△ if sampled.
    some_lost, some_gained
        First lost and gained answers if they were listed, as vertices of A.
    """

    original: int
    released: int
    lost: int
    gained: int
    sampled: int = 0
    margin: float = 0.0
    some_lost: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)
    some_gained: tuple[tuple[int, ...], ...] = field(default=(), compare=False, repr=False)

    @property
    def u(self) -> float:
        """U: share of the original answers that are lost; 0 if there are none."""
        return self.lost / self.original if self.original else 0.0

    @property
    def u_symmetric(self) -> float:
        """U△: share of the answers of either graph that only one of them has; 0 if there are none."""
        union = self.original + self.gained
        return (self.lost + self.gained) / union if union else 0.0

    @property
    def precision(self) -> float:
        """Share of the answers in A that are true, which means that G has them; 1 if A has none."""
        return 1 - self.gained / self.released if self.released else 1.0

    @property
    def recall(self) -> float:
        """Share of the answers in G that A has; 1 if G has none."""
        return 1 - self.u

    def as_dict(self) -> dict[str, float]:
        """Return a JSON-serializable dict without answers."""
        counts = {name: getattr(self, name) for name in ("original", "released", "lost", "gained")}
        shares = {"precision": self.precision, "recall": self.recall}
        errors = {"u": self.u, "u_symmetric": self.u_symmetric}
        sample = {"sampled": self.sampled, "margin": self.margin} if self.sampled else {}
        return counts | shares | errors | sample


@dataclass(frozen=True)
class Utility(Displayed):
    """Errors of a release in query answers and derived edges.

    Attributes
    ----------
    u, u_symmetric
        Means of U and U△ of the KGISO paper over the queries, with equal weights; 0 is best, and 0 without queries.
    per_query
        Results by query predicate; by derived predicate if the rules have no queries.
    per_derived
        Results by derived predicate: derived edges between different vertices. Others, such as ``control(X, X)``, are
        not counted.
    """

    u: float
    u_symmetric: float
    per_query: Mapping[str, QueryUtility]
    per_derived: Mapping[str, QueryUtility] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Utility: U {self.u:.3f}, U△ {self.u_symmetric:.3f}; queries: {', '.join(self.per_query) or 'none'}>"

    @property
    def pooled(self) -> QueryUtility:
        """Answers of all queries and all derived edges together, so that each answer has the same weight.

        Examples
        --------
        >>> few, many = QueryUtility(1, 1, 1, 1), QueryUtility(98, 98, 0, 0)
        >>> found = Utility(0.5, 0.5, {"few": few}, {"many": many})
        >>> round(found.pooled.u, 3), round(found.pooled.precision, 3)
        (0.01, 0.99)
        """
        every = {**self.per_derived, **self.per_query}.values()
        sums = (sum(getattr(q, part) for q in every) for part in ("original", "released", "lost", "gained"))
        return QueryUtility(*sums)

    @property
    def margin(self) -> float:
        """Half-width of the 95 % confidence interval of U△; 0 if it is exact."""
        return math.hypot(*(q.margin for q in self.per_query.values())) / max(len(self.per_query), 1)

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        pooled = self.pooled.as_dict()
        found = {"queries": self.per_query, "derived": self.per_derived}
        return {
            "u": self.u,
            "u_symmetric": self.u_symmetric,
            "pooled": {name: pooled[name] for name in ("precision", "recall", "u", "u_symmetric")},
            **{kind: {name: q.as_dict() for name, q in some.items()} for kind, some in found.items()},
        }


def utility(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    known: Mapping[str, Vertices] = MappingProxyType({}),
) -> Utility:
    """Compare the answers to ``@query`` predicates, and the edges of ``@derived`` ones, of G and A by vertex identity.

    Original vertex v is released vertex ``mapping[v]``; `known` holds the answers of G to some queries.

    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @query("owner"). owner(X) :- own(X,_,_).')
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> released = KnowledgeGraph.from_edges([("p", "q", 0.5), ("r", "q", 0.4)], relation="own")
    >>> found = utility(original, released, np.array([0, 1]), rules)
    >>> found.u, found.u_symmetric
    (0.0, 0.5)
    """
    graphs = original, released
    queries = {name: _closures(*graphs, mapping, rules, name, loops=True) for name in rules.queries}
    derived = {name: _closures(*graphs, mapping, rules, name, loops=False) for name in rules.derived}
    listed = dict.fromkeys(name for found in (queries, derived) for name, q in found.items() if q is None)
    if listed:
        asked = [tuple(name for name in listed if name not in known), tuple(listed)]
        tasks = [(g, replace(rules, queries=goals)) for g, goals in zip(graphs, asked, strict=True) if goals]
        *some, after = each(lambda task: answers(*task), tasks)
        before = {**known, **(some[0] if some else {})}
        for name in listed:
            rows = before[name], after[name]
            if name in queries:
                queries[name] = _compared(_renamed(rows[0], mapping, name, rules), rows[1])
            if name in derived:
                edges = (_edges(r, g, name, rules) for r, g in zip(rows, graphs, strict=True))
                derived[name] = _compared(mapping[next(edges)], next(edges))
    per_derived = {name: q for name, q in derived.items() if q is not None}
    per_query = {name: q for name, q in queries.items() if q is not None} or per_derived
    count = max(len(per_query), 1)
    return Utility(
        sum(q.u for q in per_query.values()) / count,
        sum(q.u_symmetric for q in per_query.values()) / count,
        per_query,
        per_derived,
    )


def _closures(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    name: str,
    *,
    loops: bool,
) -> QueryUtility | None:
    """Differences in the answers of a transitive closure, which may be too many to list; else `None`."""
    closing = closure_rules(rules, name)
    before = closing and closure(original, closing, loops=loops)
    after = closing and before and closure(released, closing, loops=loops)
    if not before or not after:
        return None
    pairs = compare(before, after, mapping)
    lost, gained = pairs.before - pairs.common, pairs.after - pairs.common
    return QueryUtility(pairs.before, pairs.after, lost, gained, pairs.sampled, pairs.margin)


def _edges(rows: Vertices, graph: KnowledgeGraph, name: str, rules: CheckedProgram) -> Vertices:
    """Derived edges between different vertices, int64, shape (edges, 2), without those that the graph states."""
    from kgreason.language.check.genericity import holds_edges, vertex_positions

    if not holds_edges(name, vertex_positions(rules)):
        return np.empty((0, 2), dtype=np.int64)
    rows = rows[rows[:, 0] != rows[:, 1]]
    stated = graph.relations.get(name)
    if stated is None:
        return rows
    return rows[~np.isin(rows @ [graph.n, 1], stated.source * graph.n + stated.target)]


def _renamed(rows: Vertices, mapping: Vertices, name: str, rules: CheckedProgram) -> Vertices:
    """Answers of G with vertices mapped to A; other columns are unchanged."""
    from kgreason.language.check.genericity import vertex_positions

    positions = vertex_positions(rules)
    renamed = rows.copy()
    for i in range(rows.shape[1]):
        if (name, i) in positions:
            renamed[:, i] = mapping[rows[:, i]]
    return renamed


def _compared(before: Vertices, after: Vertices) -> QueryUtility:
    """Count common rows; the rows of each side are distinct."""
    if not before.shape[1]:
        union = max(len(before), len(after))
        return QueryUtility(len(before), len(after), union - len(after), union - len(before))
    gained = missing(before, after)
    lost = missing(after, before) if len(before) + len(gained) > len(after) else gained[:0]
    some = (tuple(map(tuple, rows[:SHOWN].tolist())) for rows in (lost, gained))
    return QueryUtility(len(before), len(after), len(lost), len(gained), 0, 0.0, *some)


def missing(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows of b that a lacks; the rows of each are distinct."""
    if not a.shape[1]:
        return b[len(a) :]
    both = np.concatenate([a, b])
    return b[first_rows(list(np.ascontiguousarray(both.T)))[len(a) :]]


@dataclass(frozen=True)
class Fidelity(Displayed):
    """Differences in size, degrees and weights; distances are Wasserstein-1, 0 is best.

    Attributes
    ----------
    vertices_added, edges_added
        Counts.
    vertices_added_percent, edges_added_percent
        The same in percent of the original's (0 for an empty original).
    degree, in_degree, out_degree
        Distance between the distributions of total, in- and out-degrees, in edges.
    weights
        Distance between the weight distributions of each relation that has weights on both sides.
    """

    vertices_added: int
    edges_added: int
    vertices_added_percent: float
    edges_added_percent: float
    degree: float
    in_degree: float
    out_degree: float
    weights: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<Fidelity: {self.vertices_added:,} vertices and {self.edges_added:,} edges added>"

    def as_dict(self) -> dict[str, object]:
        """Return a JSON-serializable dict."""
        return {**entries(self), "weights": dict(self.weights)}


def fidelity(original: KnowledgeGraph, released: KnowledgeGraph) -> Fidelity:
    """Compare sizes, degree distributions and weight distributions.

    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> edges = [("p", "q", 0.5), ("r", "q", 0.4), ("s", "q", 0.3)]
    >>> released = KnowledgeGraph.from_edges(edges, relation="own")
    >>> found = fidelity(original, released)
    >>> found.vertices_added_percent, found.in_degree, round(found.weights["own"], 3)
    (100.0, 0.75, 0.2)
    """
    vertices, edges = released.n - original.n, released.m - original.m
    ins = original.in_degree(), released.in_degree()
    outs = original.out_degree(), released.out_degree()
    weights = {}
    for name, relation in original.relations.items():
        there = released.relations.get(name)
        if there is not None and relation.weight is not None and there.weight is not None:
            weights[name] = _distance(relation.weight, there.weight)
    return Fidelity(
        vertices_added=vertices,
        edges_added=edges,
        vertices_added_percent=100 * vertices / original.n if original.n else 0.0,
        edges_added_percent=100 * edges / original.m if original.m else 0.0,
        degree=_distance(ins[0] + outs[0], ins[1] + outs[1]),
        in_degree=_distance(*ins),
        out_degree=_distance(*outs),
        weights=weights,
    )


def _distance(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> float:
    """Wasserstein-1 distance of two samples, the area between their cumulative frequencies; 0 if one is empty.

    The import of scipy.stats would take longer than the whole comparison of graphs of a thousand edges.
    """
    if not len(before) or not len(after):
        return 0.0
    values = distinct(np.concatenate([before, after]))
    below = (np.searchsorted(np.sort(w), values[:-1], side="right") / len(w) for w in (before, after))
    return float(np.sum(np.abs(np.subtract(*below)) * np.diff(values)))
