"""Execution of plans on one graph, whose edges are indexed by pair of vertices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices, Weights
from kgreason.graph.small_graphs.bit_kernels import CONSTANT, derive
from kgreason.graph.small_graphs.plan_compiler import Plan
from kgreason.graph.sorted_keys import distinct, looked_up
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Unary, Variable

Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]
_MOST = np.iinfo(np.int32).max  # pairs with edges, and weights
Relations = Mapping[str, tuple[Vertices, Vertices, Sequence[Weights]]]
Marked = npt.NDArray[np.bool_]

BLOCK = 1 << 15  # subgraphs per task of one core
SPARSE = 16  # times as many vertices as positions from which only the edges between members are indexed, ...
CALLS = 64  # for so many calls; then all edges are
_NUMPY: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "&&": np.logical_and,
    "||": np.logical_or,
}


class Interpreter:
    """Execute a plan on subgraphs of a graph of n vertices.

    `edges` returns sources, targets and weights of the edges between marked vertices (`None`: all) of each relation
    that the plan loads, with one weight array for each variant of the weights.
    """

    def __init__(self, plan: Plan, n: int, edges: Callable[[Marked | None], Relations]) -> None:
        self.plan = plan
        self._n, self._edges, self._calls = n, edges, 0

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs.of(self.plan, self._n, self._edges(None))

    def _indexed(self, members: Ints) -> tuple[Pairs, Ints]:
        """Index of edges that contains those between members, and the numbers of the members in it."""
        if SPARSE * members.size > self._n or self._calls == CALLS:
            return self._pairs, members
        self._calls += 1
        marked = np.zeros(self._n, dtype=np.bool_)
        marked[members] = True
        vertices = np.flatnonzero(marked)
        edges = {
            name: (np.searchsorted(vertices, source), np.searchsorted(vertices, target), weights)
            for name, (source, target, weights) in self._edges(marked).items()
        }
        return Pairs.of(self.plan, len(vertices), edges), np.searchsorted(vertices, members)

    def words(self, members: Vertices, end: int = 0) -> Ints:
        """Words of the outputs in each induced subgraph (N, x), for one variant of the weights; shape (N, outputs)."""
        p, members = self._indexed(np.ascontiguousarray(members, dtype=np.int64))
        found, plan = np.empty((len(members), self.plan.outputs), dtype=np.int64), self.plan

        def block(start: int) -> None:
            integers = np.concatenate([plan.code, np.zeros(plan.integers, dtype=np.int64)])
            doubles = np.concatenate([np.zeros(CONSTANT), plan.constants, np.zeros(plan.doubles)])
            rows = slice(start, start + BLOCK)
            graph = (p.indptr, p.entries, p.loop, p.flags, p.at, p.ends[end])
            derive(integers, doubles, members[rows], *graph, found[rows])

        each(block, range(0, len(members), BLOCK))
        return found


@record
class Pairs:
    """Edges indexed as records of ordered pairs.

    Slot s of record r has the weights ``values[at[r * slots + s]:at[r * slots + s + 1]]`` for each of `ends`.
    """

    indptr: (
        Ints  # neighbours of vertex v, without v, are the entries ``indptr[v] .. indptr[v + 1]``, ascending
    )
    entries: Shorts  # neighbour, record of the pair (v, neighbour), and that of (neighbour, v), -1 for none
    loop: Shorts  # record of each pair (v, v), -1 for none
    flags: Shorts  # for each record: the words that hold for the pair, one bit each
    at: Shorts
    ends: tuple[Weights, ...]

    @classmethod
    def of(cls, plan: Plan, n: int, edges: Relations) -> Pairs:
        """Index the edges of all relations on n vertices."""
        nothing = np.empty(0, dtype=np.int64)
        keys = {p: source * n + target for p, (source, target, _) in edges.items()}
        pairs = distinct(np.concatenate([nothing, *keys.values()]))
        record = {p: np.searchsorted(pairs, key) for p, key in keys.items()}
        flags = np.zeros(len(pairs), dtype=np.int32)
        for word, (predicate, conditions) in enumerate(plan.loaded):
            if predicate in edges:
                belongs = np.ones(len(keys[predicate]), dtype=np.bool_)
                for condition in conditions:
                    belongs &= _selected(condition, edges[predicate][2][0])
                held = np.zeros(len(pairs), dtype=np.bool_)
                held[record[predicate][belongs]] = True
                flags |= held.astype(np.int32) << np.int32(word)
        slots, count = len(plan.slots), max((len(ends) for _, _, ends in edges.values()), default=1)
        read = [(slot, p) for slot, p in enumerate(plan.slots) if p in edges]
        place = np.concatenate([nothing, *(record[p] * slots + slot for slot, p in read)])
        values = np.concatenate([np.empty((count, 0)), *(np.stack(edges[p][2]) for _, p in read)], axis=1)
        if max(len(pairs), len(place)) > _MOST:
            raise AnonymizationError(
                f"the graph has {len(pairs):,} pairs with edges, with {len(place):,} weights; rules are evaluated "
                f"on subgraphs of at most {_MOST:,} of each",
                hint="divide it into several graphs",
            )
        order = np.lexsort((values[0], place))
        at = np.searchsorted(place[order], np.arange(len(pairs) * slots + 1)).astype(np.int32)
        return cls(*_adjacency(n, pairs), flags, at, tuple(end[order] for end in values))


def _adjacency(n: int, pairs: Ints) -> tuple[Ints, Shorts, Shorts]:
    source, target = np.divmod(pairs, max(n, 1))
    loops = np.flatnonzero(source == target)
    loop = np.full(n, -1, dtype=np.int32)
    loop[source[loops]] = loops
    proper = source != target
    entries = distinct(np.concatenate([pairs[proper], (target * n + source)[proper]]))
    u, v = np.divmod(entries, max(n, 1))
    indptr = np.searchsorted(u, np.arange(n + 1)).astype(np.int64)
    forth, back = (looked_up(pairs, np.arange(len(pairs)), keys, -1) for keys in (entries, v * n + u))
    return indptr, np.stack([v, forth, back], axis=1).astype(np.int32).ravel(), loop


def _selected(node: Expression, weight: npt.NDArray[np.float64]) -> Any:
    """Evaluate a condition on one variable for all weights; for an arithmetic expression, its values."""
    match node:
        case Variable():
            return weight
        case Constant(value):
            return float(value)  # type: ignore[arg-type]
        case Unary(operator, operand):
            inner = _selected(operand, weight)
            return np.logical_not(inner) if operator == "!" else 0 - inner
        case Binary(operator, left, right):
            return _NUMPY[operator](_selected(left, weight), _selected(right, weight))
    raise AssertionError(node)
