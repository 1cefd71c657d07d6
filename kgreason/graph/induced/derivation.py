"""Derived edges of many induced subgraphs, each reasoned on separately: Σ(G[X]) for many X at once.

Rules of the usual kinds are compiled to a plan, which a kernel executes on millions of subgraphs per second
(`graph.small_graphs`); all other rules are evaluated by the engine, many subgraphs at once (`graph.induced.lifted`).

Callers that meet the same patterns repeatedly evaluate each pattern once. Sharing results is exact for three reasons:

- Rules that use vertices only by equality commute with renaming, so vertex X[a] may be called a
  (`kgreason.language.check.genericity`). Rules that do more with vertices get the real vertices and share nothing.
- Weights may be changed within the cells that the rules distinguish (`kgreason.language.check.weight_visibility`).
- Weights that are added up are seen exactly. But where the outcome is the same with all of them at the lower and at the
  upper end of their cells, it is the same in between (`monotone_outcome`). Subgraphs for which the two ends differ are
  *ambiguous* and evaluated again with their exact weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property

import numpy as np

from kgreason.base.jit import Ints
from kgreason.graph.induced.lifted import Derived, Known, Lifted
from kgreason.graph.induced.situations import Sight, Ties, weights
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.small_graphs.interpreter import Interpreter
from kgreason.graph.small_graphs.normal_form import Range, Unfit
from kgreason.graph.small_graphs.plan_compiler import LARGEST, Plan, compile_small
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import is_generic
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import Use, WeightUse, monotone_outcome, weight_uses

CHUNK = 1 << 18  # subgraphs whose masks are unpacked at once
_OF_RULES = {"_program", "predicates", "_uses", "_outcome", "_shares", "_plan", "outside"}  # attributes
MOST_TIES = 4096  # with more ties, hardly any pattern is repeated


class InducedReasoner:
    """Derive edges on induced subgraphs.

    `predicates` are the derived ones, in the order of the masks. If the rules are not compiled to a plan, `outside`
    says why they are evaluated by the engine.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('''@edge("own"). @derived("reach").
    ... reach(X,Y) :- own(X,Y,_). reach(X,Z) :- reach(X,Y), own(Y,Z,_).''')
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> reasoner = InducedReasoner(graph, rules)
    >>> reasoner.predicates, reasoner.outside
    (('reach',), None)
    >>> reasoner.derived(np.array([[0, 1, 2]]))[0, 0].astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]

    A holds D and D holds E: the subgraph of A and E alone has neither edge.

    >>> reasoner.derived(np.array([[0, 2]])).any()
    np.False_
    """

    def __init__(self, graph: KnowledgeGraph, program: CheckedProgram) -> None:
        self._program = program = restricted(program, program.derived)
        self.predicates = program.derived
        self._graph = graph
        self._uses = weight_uses(program)
        outcome = monotone_outcome(program, self._uses) if _not_negative(graph, self._uses) else None
        self._outcome = tuple(sorted(outcome or ()))
        self._shares = outcome is not None and is_generic(program)
        self._plan: Plan | None = None
        self.outside: str | None = None
        try:
            self._plan = compile_small(program, self._ranges)
        except Unfit as reason:
            self.outside = str(reason)

    def on(self, graph: KnowledgeGraph) -> InducedReasoner:
        """Derive by the same rules on another graph, all of whose weights occur in this one."""
        other = copy(self)
        other.__dict__ = {name: value for name, value in vars(self).items() if name in _OF_RULES}
        other._graph = graph
        return other

    @property
    def ties(self) -> Ties | None:
        """Adjacency that decides `settled`: tuples with the same ties and loops at each position have the same answer.

        `None` if nothing can be shared, or patterns are hardly ever repeated.
        """
        if not self._shares or len(self._coarse.ties.mirror) - 1 > MOST_TIES:
            return None
        return self._coarse.ties

    def settled(self, members: Vertices) -> tuple[Known, Ints]:
        """Derived edges as far as the cells of the weights determine them; arguments and errors are those of `masks`.

        Returns
        -------
        tuple
            Whether the cells determine the result for each subgraph, bool, shape (N,); and its masks, which are wrong
            for the other subgraphs.
        """
        _check_size(members)
        count = len(members)
        if not self._shares:
            return np.zeros(count, dtype=np.bool_), np.zeros((count, len(self.predicates)), dtype=np.int64)
        if self._plan is None:
            known, derived = self._lifted_coarse.resolve(members)
            return known, _packed(derived)
        low = self._ends.words(members)
        known = np.ones(count, dtype=np.bool_)
        if self._outcome:
            known = (low == self._ends.words(members, 1)).all(axis=1)
        return known, low[:, : len(self.predicates)]

    def masks(self, members: Vertices) -> Ints:
        """Derived edges of Σ(G[X]) for each row X of `members`.

        Parameters
        ----------
        members
            int64, shape (N, x), x <= 8: the vertices of each subgraph, none twice.

        Returns
        -------
        ndarray
            int64, shape (N, P): bit ``a * x + b`` is set if Σ(G[X]) has the edge ``X[a] -> X[b]`` of the predicate.

        Raises
        ------
        EvaluationError
            If the rules cannot be evaluated on one of the subgraphs.
        ValueError
            If there are more than 8 vertices.
        """
        _check_size(members)
        return self._interpreter.words(members) if self._plan else _packed(self._lifted(members))

    def derived(self, members: Vertices) -> Derived:
        """Derived edges of Σ(G[X]) for each row X of `members`.

        Parameters
        ----------
        members
            int64, shape (N, x): the vertices of each subgraph, none twice.

        Returns
        -------
        ndarray
            bool, shape (N, P, x, x): whether Σ(G[X]) has the edge ``X[a] -> X[b]`` of each predicate. Predicates that
            do not hold pairs of vertices have none.

        Raises
        ------
        EvaluationError
            If the rules cannot be evaluated on one of the subgraphs.
        """
        count, x = members.shape
        if self._plan is None or x > LARGEST:
            return self._lifted(members)
        found = np.empty((count, len(self.predicates), x, x), dtype=np.bool_)
        for begin in range(0, count, CHUNK):
            rows = slice(begin, begin + CHUNK)
            found[rows] = _unpacked(self.masks(members[rows]), x)
        return found

    def _lifted(self, members: Vertices) -> Derived:
        """Evaluate by the engine, with exact weights only where the cells do not determine the result."""
        if not self._shares:
            return self._lifted_exact.resolve(members)[1]
        known, found = self._lifted_coarse.resolve(members)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            found[unknown] = self._lifted_exact.resolve(members[unknown])[1]
        return found

    @property
    def _ranges(self) -> dict[str, Range]:
        """Least and greatest weight of each weighted edge predicate."""
        found = {}
        for predicate in self._program.edges:
            if self._program.arities.get(predicate) == 3:
                relation = self._graph.relations.get(predicate)
                values = np.empty(0) if relation is None else weights(relation)
                found[predicate] = Range(float(values.min(initial=1)), float(values.max(initial=0)))
        return found

    @cached_property
    def _coarse(self) -> Sight:
        return Sight(self._graph, self._program, self._uses)

    @cached_property
    def _exact(self) -> Sight:
        exact = {p: WeightUse(Use.READ) if u.use is Use.ADDED else u for p, u in self._uses.items()}
        return Sight(self._graph, self._program, exact)

    @cached_property
    def _interpreter(self) -> Interpreter:
        assert self._plan is not None
        return Interpreter(self._plan, self._graph.n, self._exact.edges)

    @cached_property
    def _ends(self) -> Interpreter:
        """The plan with the weights at both ends of their cells, and with all outcome predicates."""
        plan = compile_small(self._program, self._ranges, self._outcome)
        return Interpreter(plan, self._graph.n, self._coarse.ends)

    @cached_property
    def _lifted_coarse(self) -> Lifted:
        return Lifted(self._coarse, self._program, frozenset(self._outcome))

    @cached_property
    def _lifted_exact(self) -> Lifted:
        return Lifted(self._exact, self._program, frozenset())


def _check_size(members: Vertices) -> None:
    if members.shape[1] > LARGEST:
        raise ValueError(f"a mask has room for {LARGEST} vertices, not for {members.shape[1]}: use derived")


def _packed(derived: Derived) -> Ints:
    count, predicates, x, _ = derived.shape
    bits = np.zeros((count, predicates, 64), dtype=np.bool_)
    bits[:, :, : x * x] = derived.reshape(count, predicates, x * x)
    return np.packbits(bits, axis=2, bitorder="little").view("<i8")[:, :, 0].astype(np.int64)


def _unpacked(masks: Ints, x: int) -> Derived:
    bits = np.ascontiguousarray(masks, dtype="<i8")[:, :, None].view(np.uint8)
    edges = np.unpackbits(bits, axis=2, bitorder="little", count=x * x)
    return edges.view(np.bool_).reshape(*masks.shape, x, x)


def _not_negative(graph: KnowledgeGraph, uses: Mapping[str, WeightUse]) -> bool:
    added = [
        weights(graph.relations[p]) for p, u in uses.items() if u.use is Use.ADDED and p in graph.relations
    ]
    return all(bool((w >= 0).all()) for w in added)
