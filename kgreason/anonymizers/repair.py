"""Local search: redraw only the weights that changed answers, as long as that helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.loss import Answers, Judge, Judged
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.progress import Progress

Rows = Mapping[str, npt.NDArray[np.bool_]]
Redraw = Callable[[KnowledgeGraph, Rows, int], KnowledgeGraph]

_PATIENCE = 3  # redraws in vain after which the search ends
_FAR = 4  # edges that a weight may be away from the vertices of an answer it changed


@dataclass(frozen=True, eq=False)
class Repair:
    """The best of some draws, and better ones near it.

    Attributes
    ----------
    judge
        Finds answers and their loss.
    trials
        Bound of draws, and then of redraws.
    progress, title
        Where to tell of them, and as what.
    fixed
        Number of leading edges of each relation that keep their weights; missing: none.
    least
        Loss below which no draw is expected.
    """

    judge: Judge
    trials: int
    progress: Progress
    title: str
    fixed: Mapping[str, int] = field(default_factory=dict)
    least: float = 0.0

    def best(self, first: KnowledgeGraph, draw: Callable[[], KnowledgeGraph]) -> Judged:
        """The best of the draws; a draw that loses no more than is expected ends them."""
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
        """Redraw weights near answers that are not wanted, or wanted and missing, while the loss falls.

        Parameters
        ----------
        wanted
            The best answers there can be; the search ends when it has them.
        redraw
            Gives a graph whose weights differ in the marked rows, which are all that change of their targets;
            gets the number of redraws before, too.

        Returns
        -------
        Judged
            Never worse than `best`.
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
        """Mark edges near marked vertices, with all others into the same targets."""
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
