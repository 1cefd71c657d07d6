"""Lower weights where the original ones exceed an incoming sum, and the query answers that new weights lose.

Of two owners who hold more than half of a company each, one at most can do so where shares sum to 1. Which of them
loses it is chosen: at first who has the fewest such stakes keeps them, since those answers need the fewest; then
others are tried at many vertices at once, and kept where answers nearby come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.progress import Progress
from kgreason.engine.relations.rows import first_rows
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, Weights
from kgreason.isomorphism.anonymizers.weight_density import Cuts
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import vertex_positions
from kgreason.language.check.restriction import restricted
from kgreason.language.check.weight_visibility import Use, weight_uses

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
        uses = weight_uses(restricted(self.program, [query]))
        return any(use.use > Use.UNREAD for use in uses.values())

    @cached_property
    def needed(self) -> CheckedProgram:
        """The rules that they need."""
        return restricted(self.program, self.queries)

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


_SPARE = 0.04  # share of a bound that is kept free where weights sum to more than the bound
_BEYOND = 0.03  # share of a bound that lies between a cut and a weight above it there
_TINY = 1e-9
_ROUNDS = 4  # for each trial
_TRIED = 0.3  # share of the lowered edges that are tried at once; in vain: half as many, one at least
_PATIENCE = 10  # rounds in vain after which the search ends
_FAR = 3  # edges between a vertex where others are tried and the answers that are taken for a consequence

Numbers = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Excess:
    """Lowers weights to bounds of incoming sums.

    Attributes
    ----------
    judge
        Tells which answers are lost.
    bounds
        Of incoming sums, by relation.
    cuts
        Of single weights, by relation.
    rng
        Source of randomness.
    """

    judge: Judge
    bounds: Mapping[str, float]
    cuts: Mapping[str, Cuts]
    rng: np.random.Generator

    def lowered(self, trials: int, progress: Progress) -> Judged:
        """The graph of the judge with weights within the bounds, of which few answers are lost."""
        graph, cuts = self.judge.graph, self.cuts
        first = self._few_first()
        best = self._with(first)
        if not best.loss:
            return best
        rounds = _ROUNDS * trials
        progress.step("Choosing which weights to lower", rounds)
        lost, tried, refused = self.judge.lost(best.answers), _TRIED, 0
        for number in range(rounds):
            if not best.loss or refused == _PATIENCE:
                progress.advance(rounds - number)
                break
            progress.advance()
            other, near = {}, np.full(graph.n, -1, dtype=np.int64)
            for name in self.bounds:
                r, now = graph.relations[name], best.graph.relations[name].weight
                assert r.weight is not None
                assert now is not None
                fallen = cuts[name].side(now) < cuts[name].side(r.weight)
                raised = fallen & (self.rng.random(len(r)) < max(tried, 1 / max(fallen.sum(), 1)))
                other[name] = np.where(raised, first[name].min() - self.rng.random(len(r)) - 1, first[name])
                near[r.target[raised]] = r.target[raised]
            tries = self._with(other)
            gain = self._gain(near, lost - self.judge.lost(tries.answers))
            taken = (gain > 0) | ((gain == 0) & (self.rng.random(graph.n) < 0.5))
            mixed = {n: np.where(taken[graph.relations[n].target], other[n], first[n]) for n in self.bounds}
            found, chosen = min((self._with(mixed), mixed), (tries, other), key=lambda made: made[0].loss)
            refused = 0 if found.loss < best.loss else refused + 1
            tried /= 2 if refused else 1
            if found.loss <= best.loss:
                best, first, lost = found, chosen, self.judge.lost(found.answers)
        return best

    def _few_first(self) -> Numbers:
        """Number edges: the fewer of them that see a cut their source has, the less; in the end who is in no answer."""
        graph, first = self.judge.graph, {}
        answering = self.judge.lost({query: rows[:0] for query, rows in self.judge.reference.items()}) > 0
        for name, bound in self.bounds.items():
            r = graph.relations[name]
            assert r.weight is not None
            over = np.bincount(r.target, r.weight, graph.n) > bound
            at_stake = over[r.target] & (self.cuts[name].side(r.weight) > 0)
            few = np.bincount(r.source[at_stake], minlength=graph.n)[r.source]
            first[name] = np.where(answering[r.source], 0, len(r)) + few + self.rng.random(len(r))
        return first

    def _with(self, first: Numbers) -> Judged:
        weights = {}
        for name, bound in self.bounds.items():
            r = self.judge.graph.relations[name]
            assert r.weight is not None
            weights[name] = within_bound(r.weight, r.target, first[name], bound, self.cuts[name])
        return self.judge.judged(self.judge.graph.with_weights(weights))

    def _gain(self, near: Vertices, gain: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sum gains of vertices for the marked one nearest to each, against the direction of edges."""
        source, target = self.judge.graph.ends
        for _ in range(_FAR):
            reached = (near[target] >= 0) & (near[source] < 0)
            near[source[reached]] = near[target[reached]]
        return np.bincount(near[near >= 0], gain[near >= 0], len(near)).astype(np.float64)


def within_bound(
    weights: Weights, target: Vertices, first: npt.NDArray[np.float64], bound: float, cuts: Cuts
) -> Weights:
    """Lower weights where they sum to more than a bound; as many as fit stay on their sides of the cuts.

    Parameters
    ----------
    first
        Which edges into a vertex stay on their sides rather than others: those of the least numbers.

    Examples
    --------
    >>> half = Cuts.of([(0.5, False)])
    >>> weights, target = np.array([0.6, 0.7, 0.3, 0.9]), np.array([0, 0, 0, 1])
    >>> within_bound(weights, target, np.array([2.0, 1.0, 3.0, 4.0]), 1.0, half).round(2).tolist()
    [0.24, 0.6, 0.12, 0.9]
    """
    over = np.flatnonzero((np.bincount(target, weights=weights) > bound * (1 + _TINY))[target])
    rows = over[np.lexsort((first[over], target[over]))]
    _, vertex = np.unique(target[rows], return_inverse=True)
    start = np.searchsorted(vertex, vertex)
    old, most = weights[rows], bound * (1 - _SPARE)
    limits = np.append(0.0, cuts.value + _BEYOND * bound)
    side = cuts.side(old)
    while True:
        least = np.minimum(limits[side], old)
        before = np.cumsum(least) - least
        crowded = np.flatnonzero((before - before[start] + least > most) & (side > 0))
        if not len(crowded):
            break
        side[crowded[np.unique(vertex[crowded], return_index=True)[1]]] -= 1
    taken, rest = (np.bincount(vertex, weights=w) for w in (least, old - least))
    share = np.minimum(1.0, (most - taken) / np.maximum(rest, _TINY))
    lowered = weights.copy()
    lowered[rows] = least + (old - least) * share[vertex]
    return lowered
