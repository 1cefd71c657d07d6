"""Lowering of weights whose incoming sums exceed a bound, with few lost query answers.

If shares must sum to 1, at most one of two owners of more than half of a company can keep the majority. Initially the
owners with the fewest such edges keep them, as their answers depend on the fewest edges; then other choices are tried
at many vertices at once, and kept where answers nearby are regained.
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
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import Use, weight_uses

Answers = Mapping[str, npt.NDArray[np.int64]]


def query_answers(graph: KnowledgeGraph, program: CheckedProgram) -> Answers:
    """Answer the ``@query`` predicates; `program` holds the rules that they need."""
    from kgreason.graph.facts import answers

    return answers(graph, program)


def symmetric_loss(original: Answers, changed: Answers) -> float:
    """U△: mean over the queries of size of a △ b / size of a ∪ b; 0 for a query without answers.

    References
    ----------
    docs/anonymization.md, Utility and fidelity.

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
    """Rows of b that a lacks; the rows of each are distinct."""
    if not a.shape[1]:
        return b[len(a) :]
    both = np.concatenate([a, b])
    return b[first_rows(list(np.ascontiguousarray(both.T)))[len(a) :]]


@dataclass(frozen=True, eq=False)
class Judged:
    """Graph with its query answers and their U△."""

    graph: KnowledgeGraph
    answers: Answers
    loss: float


@dataclass(frozen=True, eq=False)
class Judge:
    """Comparison of the query answers of graphs with those of the original.

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
        return query_answers(self.graph, self.needed)

    def judged(self, graph: KnowledgeGraph) -> Judged:
        """Evaluate a graph that contains the original vertices."""
        return self.all_judged(graph)[0]

    def all_judged(self, *graphs: KnowledgeGraph) -> list[Judged]:
        """Evaluate graphs in parallel, as much of the work on one graph uses a single core."""
        reference = self.reference  # computed once, before the threads start
        found = each(lambda graph: query_answers(graph, self.needed), graphs)
        return [Judged(g, a, symmetric_loss(reference, a)) for g, a in zip(graphs, found, strict=True)]

    def lost(self, answers: Answers) -> npt.NDArray[np.float64]:
        """Share of lost original answers, summed over queries, at each vertex of these answers; shape (n,)."""
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
        """Vertices of answers that only one of two sets has, shape (n,); all vertices for answers without vertices."""
        marked = np.zeros(n, dtype=np.bool_)
        for query in a:
            rows: Vertices = np.concatenate([missing(a[query], b[query]), missing(b[query], a[query])])
            places = [i for i in range(rows.shape[1]) if (query, i) in self._positions]
            if len(rows) and not places:
                marked[:] = True
            for i in places:
                marked[rows[:, i]] = True
        return marked


_SPARE = 0.04  # share of a bound that is kept free where weights exceed the bound
_BEYOND = 0.03  # distance of a weight above a cut from the cut, as a share of the bound
_TINY = 1e-9
_ROUNDS = 4  # per trial
_TRIED = 0.3  # initial share of the lowered edges that are raised in a round; halved after a failure, at least one edge
_PATIENCE = 10  # consecutive failures that end the search
_FAR = 3  # maximum number of edges between a changed vertex and the answers attributed to the change

Numbers = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Excess:
    """Lowers weights to the bounds of incoming sums.

    Attributes
    ----------
    judge
        Evaluates the lost answers.
    bounds
        Bounds of incoming sums, by relation.
    cuts
        Cuts of single weights, by relation.
    rng
        Random generator.
    """

    judge: Judge
    bounds: Mapping[str, float]
    cuts: Mapping[str, Cuts]
    rng: np.random.Generator

    def lowered(self, trials: int, progress: Progress) -> Judged:
        """Original graph with weights lowered to the bounds such that few answers are lost."""
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
        """Priority of edges: sources with few edges above a cut first, sources in no answer last."""
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
        """Sum the gains of vertices at the nearest marked vertex, against the direction of edges."""
        source, target = self.judge.graph.ends
        for _ in range(_FAR):
            reached = (near[target] >= 0) & (near[source] < 0)
            near[source[reached]] = near[target[reached]]
        return np.bincount(near[near >= 0], gain[near >= 0], len(near)).astype(np.float64)


def within_bound(
    weights: Weights, target: Vertices, first: npt.NDArray[np.float64], bound: float, cuts: Cuts
) -> Weights:
    """Lower weights whose sum exceeds a bound; as many as fit stay on their sides of the cuts.

    Parameters
    ----------
    first
        Priority of the edges into a vertex for staying on their sides; the smallest numbers first.

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
