"""How much of the answers to queries survives an anonymization."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.graph.facts import answers
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.records import dataclass


@dataclass(frozen=True)
class QueryUtility:
    """Answers of one query.

    Attributes
    ----------
    original, released
        Number of answers in G and in A.
    lost
        Answers in G that are not answers in A.
    gained
        Answers in A that are not answers in G; those with synthetic vertices among them.
    """

    original: int
    released: int
    lost: int
    gained: int

    @property
    def u(self) -> float:
        """Share of the original answers that are lost, 0 if there are none."""
        return self.lost / self.original if self.original else 0.0

    @property
    def u_symmetric(self) -> float:
        """Share of all answers that are in only one of the graphs, 0 if there are none."""
        union = self.original + self.gained
        return (self.lost + self.gained) / union if union else 0.0


@dataclass(frozen=True)
class Utility:
    """Semantic utility of a release; 0 is best.

    Attributes
    ----------
    u, u_symmetric
        Means of the queries' figures (U and U△); 0 without queries.
    per_query
        By query predicate.
    """

    u: float
    u_symmetric: float
    per_query: Mapping[str, QueryUtility]

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        queries = {
            name: {
                "original": q.original,
                "released": q.released,
                "lost": q.lost,
                "gained": q.gained,
                "u": q.u,
                "u_symmetric": q.u_symmetric,
            }
            for name, q in self.per_query.items()
        }
        return {"u": self.u, "u_symmetric": self.u_symmetric, "queries": queries}


def utility(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, rules: CheckedProgram
) -> Utility:
    """Compare the answers to the ``@query`` predicates of G and A by vertex identity.

    Parameters
    ----------
    original, released
        G and A.
    mapping
        Original vertex v is released vertex ``mapping[v]``; int64, shape (n,).
    rules
        Σ with its queries.

    References
    ----------
    Semantic utility U and U△ of the KGISO paper.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> rules = load_text('@edge("own"). @query("owner"). owner(X) :- own(X,_,_).')
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> released = KnowledgeGraph.from_edges([("p", "q", 0.5), ("r", "q", 0.4)], relation="own")
    >>> found = utility(original, released, np.array([0, 1]), rules)
    >>> found.u, found.u_symmetric
    (0.0, 0.5)
    """
    before, after = answers(original, rules), answers(released, rules)
    per_query = {
        name: _compared(_renamed(rows, mapping, name, rules), after[name]) for name, rows in before.items()
    }
    count = max(len(per_query), 1)
    return Utility(
        sum(q.u for q in per_query.values()) / count,
        sum(q.u_symmetric for q in per_query.values()) / count,
        per_query,
    )


def _renamed(rows: Vertices, mapping: Vertices, name: str, rules: CheckedProgram) -> Vertices:
    """Answers of G in the vertices of A; other columns stay."""
    from kgreason.analysis.generic import vertex_positions

    positions = vertex_positions(rules)
    renamed = rows.copy()
    for i in range(rows.shape[1]):
        if (name, i) in positions:
            renamed[:, i] = mapping[rows[:, i]]
    return renamed


def _compared(before: Vertices, after: Vertices) -> QueryUtility:
    """Count common rows; the rows of each side are distinct."""
    both = np.concatenate([before, after])
    if both.shape[1]:
        _, counts = np.unique(both, axis=0, return_counts=True)
        common = int((counts == 2).sum())
    else:
        common = min(len(before), len(after))
    return QueryUtility(len(before), len(after), len(before) - common, len(after) - common)
