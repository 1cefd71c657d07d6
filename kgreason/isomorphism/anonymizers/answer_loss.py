"""Lost query answers of graphs with other weights, and the search for weights that lose few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.facts import answers
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.utility.query_utility import missing
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import vertex_positions
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import Use, weight_uses

_PATIENCE = 3  # consecutive failed redraws that end the search
_FAR = 4  # maximum number of edges between a weight and the vertices of an answer that it changes

Answers = Mapping[str, npt.NDArray[np.int64]]
Rows = Mapping[str, npt.NDArray[np.bool_]]  # marked edges of each relation
Redraw = Callable[[KnowledgeGraph, Rows, int], KnowledgeGraph]


def symmetric_loss(original: Answers, changed: Answers) -> float:
    """U△: mean over the queries of size of a △ b / size of a ∪ b; 0 for a query without answers.

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


@record(eq=False)
class Judged:
    """Graph with its query answers and their U△."""

    graph: KnowledgeGraph
    answers: Answers
    loss: float


@dataclass(frozen=True, eq=False)
class Judge:
    """Comparison of the query answers of graphs with those of the original graph."""

    graph: KnowledgeGraph
    program: CheckedProgram

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """Queries that are compared: those that depend on weights."""
        return tuple(query for query in self.program.queries if self._weighed(query))

    def _weighed(self, query: str) -> bool:
        uses = weight_uses(restricted(self.program, [query]))
        return any(use.use > Use.UNREAD for use in uses.values())

    @cached_property
    def needed(self) -> CheckedProgram:
        """Rules that these queries need."""
        return restricted(self.program, self.queries)

    @cached_property
    def reference(self) -> Answers:
        """Answers of the original graph."""
        return answers(self.graph, self.needed)

    @property
    def known(self) -> Answers:
        """Answers of the original graph that consist of vertices and are fewer than its edges, if `reference` is known.

        Codes of other values may depend on the rules that are evaluated.
        """
        if "reference" not in self.__dict__:
            return {}
        found = {query: self.reference[query] for query in self.queries}
        return {
            query: rows
            for query, rows in found.items()
            if len(rows) < self.graph.m and all((query, i) in self._positions for i in range(rows.shape[1]))
        }

    def judged(self, graph: KnowledgeGraph) -> Judged:
        """Evaluate a graph that contains the original vertices."""
        return self.all_judged(graph)[0]

    def all_judged(self, *graphs: KnowledgeGraph) -> list[Judged]:
        """Evaluate graphs in parallel, as much of the work on one graph uses a single core."""
        reference = self.reference  # computed once, before the threads start
        found = each(lambda graph: answers(graph, self.needed), graphs)
        return [Judged(g, a, symmetric_loss(reference, a)) for g, a in zip(graphs, found, strict=True)]

    def lost(self, found: Answers) -> npt.NDArray[np.float64]:
        """Share of lost original answers, summed over queries, at each vertex of these answers; shape (n,)."""
        lost = np.zeros(self.graph.n)
        for query, rows in self.reference.items():
            gone = missing(found[query], rows)
            for i in range(gone.shape[1]) if len(gone) else ():
                if (query, i) in self._positions:
                    lost += np.bincount(gone[:, i], minlength=self.graph.n) / len(rows)
        return lost

    @cached_property
    def _positions(self) -> frozenset[tuple[str, int]]:
        return vertex_positions(self.program)

    def differing(self, a: Answers, b: Answers, n: int) -> npt.NDArray[np.bool_]:
        """Vertices of answers that only one of two sets has, shape (n,); all vertices for answers without vertices."""
        marked = np.zeros(n, dtype=np.bool_)
        for query in a:
            rows: Vertices = np.concatenate([missing(a[query], b[query]), missing(b[query], a[query])])
            columns = [i for i in range(rows.shape[1]) if (query, i) in self._positions]
            if len(rows) and not columns:
                marked[:] = True
            for i in columns:
                marked[rows[:, i]] = True
        return marked


@record(eq=False)
class Repair:
    """Search for a draw with few lost answers, by at most `trials` independent draws, and as many local redraws.

    `fixed` leading edges of each relation keep their weights; `least` is a lower bound of the loss that a draw can be
    expected to reach.
    """

    judge: Judge
    trials: int
    progress: Progress
    title: str
    fixed: Mapping[str, int] = field(default_factory=dict)
    least: float = 0.0

    def best(self, first: KnowledgeGraph, draw: Callable[[], KnowledgeGraph]) -> Judged:
        """Best of the draws; a draw with at most the expected minimum loss ends the search."""
        self.progress.step(self.title, self.trials)
        best = self.judge.judged(first)
        for trial in range(1, self.trials):
            if best.loss <= self.least:
                self.progress.advance(self.trials - trial)
                break
            self.progress.advance()
            candidate = self.judge.judged(draw())
            best = min(best, candidate, key=lambda judged: judged.loss)
        self.progress.advance()
        return best

    def repaired(self, best: Judged, wanted: Answers, redraw: Redraw) -> Judged:
        """Redraw weights near unwanted answers, and near missing wanted ones, while the loss decreases.

        The search ends when the best possible answers, `wanted`, are reached. `redraw` returns a graph with other
        weights in the marked rows, which include all non-fixed edges into their targets; its last argument is the
        number of earlier redraws.
        """
        refused = 0
        for attempt in range(self.trials):
            marked = self.judge.differing(best.answers, wanted, best.graph.n)
            if refused == _PATIENCE or not marked.any():
                break
            if not attempt:
                self.progress.step("Redrawing weights that changed answers")
            rows = self._near(best.graph, marked, min(attempt + 1, _FAR))
            candidate = self.judge.judged(redraw(best.graph, rows, attempt))
            refused = 0 if candidate.loss < best.loss else refused + 1
            best = min(best, candidate, key=lambda judged: judged.loss)
        return best

    def _near(self, graph: KnowledgeGraph, marked: npt.NDArray[np.bool_], far: int) -> Rows:
        """Mark edges near marked vertices, with all other edges into the same targets."""
        source, target = graph.ends
        for _ in range(far - 1):
            touched = marked[source] | marked[target]
            marked = marked.copy()
            marked[source[touched]] = True
            marked[target[touched]] = True
        return {name: self._into(r.source, r.target, marked, name) for name, r in graph.relations.items()}

    def _into(
        self, source: Vertices, target: Vertices, marked: npt.NDArray[np.bool_], name: str
    ) -> npt.NDArray[np.bool_]:
        free = np.arange(len(source)) >= self.fixed.get(name, 0)
        into = np.zeros(len(marked), dtype=np.bool_)
        into[target[free & (marked[source] | marked[target])]] = True
        return free & into[target]
