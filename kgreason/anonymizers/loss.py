"""What noise loses: answers to the queries that are gone or new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.generic import vertex_positions
from kgreason.analysis.weights import Use, weight_uses
from kgreason.cores import each
from kgreason.distinct import first_rows
from kgreason.graph.model import KnowledgeGraph, Vertices

Answers = Mapping[str, npt.NDArray[np.int64]]


def query_answers(graph: KnowledgeGraph, program: CheckedProgram) -> Answers:
    """Answer the ``@query`` predicates; `program` holds what they need."""
    from kgreason.graph.facts import answers

    return answers(graph, program)


def symmetric_loss(original: Answers, changed: Answers) -> float:
    """U△: the mean over the queries of size of a △ b / size of a ∪ b, 0 for a query without any answer.

    References
    ----------
    docs/anonymization.md, "Semantic utility".

    Examples
    --------
    >>> a, b = {"q": np.array([[0], [1]])}, {"q": np.array([[1], [2]])}
    >>> round(symmetric_loss(a, b), 3), symmetric_loss(a, a)
    (0.667, 0.0)
    """
    return float(np.mean([_jaccard_distance(original[q], changed[q]) for q in original])) if original else 0.0


def _jaccard_distance(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    union = len(a) + len(missing(a, b))
    return (2 * union - len(a) - len(b)) / union if union else 0.0


def missing(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows of b that a lacks; those of each are distinct."""
    if not a.shape[1]:
        return b[len(a) :]
    both = np.concatenate([a, b])
    return b[first_rows(list(np.ascontiguousarray(both.T)))[len(a) :]]


@dataclass(frozen=True, eq=False)
class Judged:
    """A graph, its answers, and their U△."""

    graph: KnowledgeGraph
    answers: Answers
    loss: float


@dataclass(frozen=True, eq=False)
class Judge:
    """Compares the answers of graphs with those of the original one.

    Attributes
    ----------
    graph
        The original graph.
    program
        Its rules.
    """

    graph: KnowledgeGraph
    program: CheckedProgram

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """Queries by whose answers it judges: those that depend on weights."""
        return tuple(query for query in self.program.queries if self._weighed(query))

    def _weighed(self, query: str) -> bool:
        uses = weight_uses(self.program.restricted([query]))
        return any(use.use > Use.UNREAD for use in uses.values())

    @cached_property
    def needed(self) -> CheckedProgram:
        """The rules that they need."""
        return self.program.restricted(self.queries)

    @cached_property
    def reference(self) -> Answers:
        """Answers of the original graph."""
        return query_answers(self.graph, self.needed)

    def judged(self, graph: KnowledgeGraph) -> Judged:
        """Judge a graph that has the original vertices, and perhaps more."""
        return self.all_judged(graph)[0]

    def all_judged(self, *graphs: KnowledgeGraph) -> list[Judged]:
        """Judge graphs side by side, for much of the work on one is not shared by cores."""
        reference = self.reference  # made here, once, and not by each
        found = each(lambda graph: query_answers(graph, self.needed), graphs)
        return [Judged(g, a, symmetric_loss(reference, a)) for g, a in zip(graphs, found, strict=True)]

    def lost(self, answers: Answers) -> npt.NDArray[np.float64]:
        """Share of the original answers that are lost, summed over queries, at the vertices of these; shape (n,)."""
        lost = np.zeros(self.graph.n)
        for query, rows in self.reference.items():
            gone = missing(answers[query], rows)
            for i in range(gone.shape[1]) if len(gone) else ():
                if (query, i) in self._positions:
                    lost += np.bincount(gone[:, i], minlength=self.graph.n) / len(rows)
        return lost

    @cached_property
    def _positions(self) -> frozenset[tuple[str, int]]:
        return vertex_positions(self.program)

    def differing(self, a: Answers, b: Answers, n: int) -> npt.NDArray[np.bool_]:
        """Mark the vertices of answers that only one of the two holds, shape (n,); all for answers without any."""
        marked = np.zeros(n, dtype=np.bool_)
        for query in a:
            rows: Vertices = np.concatenate([missing(a[query], b[query]), missing(b[query], a[query])])
            places = [i for i in range(rows.shape[1]) if (query, i) in self._positions]
            if len(rows) and not places:
                marked[:] = True
            for i in places:
                marked[rows[:, i]] = True
        return marked
