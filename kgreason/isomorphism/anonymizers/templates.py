"""Templates: small graphs that contain a member of each of some classes, with shared vertices and edges."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Doubles, Ints, Rows, inlined, kernel
from kgreason.base.records import record

_UNIT = 10  # costs are whole numbers, in parts of an edge
_STEPS = 200_000  # placements that are examined for each class
_FULL = 0.9  # share of a bound on incoming weights that members may use


@record(eq=False)
class Example:
    """Member of a class, with the edges between its vertices; arrays have the shape (x, x).

    Attributes
    ----------
    member
        Vertices of the graph in canonical order, shape (x,).
    kinds
        Pair type of each two vertices, 0 for none; the diagonal contains loops.
    edges
        Number of edges of each ordered pair.
    weights
        Sum of the weights that count towards a bound on incoming weights, as a share of the bound.
    derived
        Derived edges of each predicate, bool, shape (predicates, x, x).
    """

    member: Ints
    kinds: Ints
    edges: Ints
    weights: npt.NDArray[np.float64]
    derived: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 1, 1), dtype=np.bool_))


class Template:
    """Template under construction from members of classes.

    `kinds` are the pair types of each two vertices, -1 for undetermined pairs, which no member contains; shape (t, t).
    `origin` is the pair of graph vertices from which the edges of each pair are copied; shape (t, t, 2). A new
    vertex costs `vertex_cost` edges, a new derived edge `derived_cost`.
    """

    def __init__(self, rng: np.random.Generator, vertex_cost: float, derived_cost: float = 0.0) -> None:
        self.kinds: Ints = np.empty((0, 0), dtype=np.int64)
        self.origin: Ints = np.empty((0, 0, 2), dtype=np.int64)
        self._incoming = np.empty(0)
        self._rng, self._vertex_cost, self._derived_cost = rng, vertex_cost, derived_cost

    def __len__(self) -> int:
        return len(self.kinds)

    def place(self, example: Example, *, apart: bool = False) -> Ints:
        """Place a member at low cost, on pairs that are equal already or undetermined; `apart`: on new vertices only.

        Returns vertices of the template, those from its length on new; shape (x,).
        """
        placement = [-1] * len(example.kinds) if apart else self._cheapest(example)
        new = iter(range(len(self), len(self) + len(placement)))
        return np.array([v if v >= 0 else next(new) for v in placement], dtype=np.int64)

    def add(self, example: Example, placement: Ints) -> None:
        """Add a member at its placement."""
        t = len(self)
        if (size := int(placement.max()) + 1) > t:
            kinds, origin, incoming = self.kinds, self.origin, self._incoming
            self.kinds, self.origin = np.full((size, size), -1), np.full((size, size, 2), -1)
            self._incoming = np.zeros(size)
            self.kinds[:t, :t], self.origin[:t, :t], self._incoming[:t] = kinds, origin, incoming
        pairs = placement[:, None], placement
        new = self.kinds[pairs] < 0
        self.kinds[pairs] = np.where(new, example.kinds, self.kinds[pairs])
        for end, vertices in enumerate((example.member[:, None], example.member)):
            self.origin[*pairs, end] = np.where(new, vertices, self.origin[*pairs, end])
        self._incoming[placement] += (example.weights * new).sum(axis=0)

    def _cheapest(self, example: Example) -> list[int]:
        """Template vertex of each position, -1 for a new one."""
        x = len(example.kinds)
        derived = example.derived.sum(axis=0) * (1 - np.eye(x, dtype=np.int64))
        costs = np.rint(_UNIT * (example.edges + self._derived_cost * derived))
        room: tuple[Any, ...] = np.zeros(x, np.int64), np.zeros(x + 1, np.int64), np.zeros(x + 1)
        member: tuple[Any, ...] = example.kinds, costs.astype(np.int64), example.weights.ravel()
        orders: tuple[Any, ...] = _order((example.kinds != 0).tobytes(), x), self._rng.permutation(len(self))
        limits: tuple[Any, ...] = _UNIT * self._vertex_cost, _FULL, _STEPS
        best = np.zeros(x, dtype=np.int64)
        known = np.ascontiguousarray(self.kinds)
        arguments: tuple[Any, ...] = known, *member, self._incoming, *orders, *limits, *room, best
        cheapest(*arguments)
        found: list[int] = best.tolist()
        return found


@lru_cache(1 << 10)
def _order(ties: bytes, x: int) -> Ints:
    """Order of x positions in which each has as many ties to earlier ones as possible; do not change it."""
    tied = np.frombuffer(ties, dtype=np.bool_).reshape(x, x)
    order = [int(tied.sum(axis=1).argmax())]
    while len(order) < x:
        rest = [a for a in range(x) if a not in order]
        order.append(max(rest, key=lambda a: int(tied[a, order].sum())))
    return np.array(order, dtype=np.int64)


@inlined
def _added(known: Rows, kinds: Rows, edges: Rows, placement: Ints, order: Ints, depth: int, v: int) -> int:
    """Number of edges to add if the next position gets vertex v (-1: a new one); -1 if it does not fit."""
    a = order[depth]
    more: int = edges[a, a] if v < 0 or known[v, v] < 0 else 0
    if v >= 0 and known[v, v] >= 0 and known[v, v] != kinds[a, a]:
        return -1
    for lower in range(depth):
        b = order[lower]
        u = placement[b]
        if v < 0 or u < 0:
            more += edges[a, b] + edges[b, a]
            continue
        if known[v, u] < 0:
            more += edges[a, b]
        elif known[v, u] != kinds[a, b]:
            return -1
        if known[u, v] < 0:
            more += edges[b, a]
        elif known[u, v] != kinds[b, a]:
            return -1
    return more


@inlined
def _roomy(known: Rows, weights: Doubles, incoming: Doubles, placement: Ints, full: float) -> bool:
    """Whether incoming weights satisfy their bound at existing vertices."""
    x = len(placement)
    for b in range(x):
        v = placement[b]
        if v < 0:
            continue
        total = incoming[v]
        for a in range(x):
            if placement[a] < 0 or known[placement[a], v] < 0:
                total += weights[a * x + b]
        if total > full:
            return False
    return True


@kernel
def cheapest(
    known: Rows, kinds: Rows, edges: Rows, weights: Doubles, incoming: Doubles, order: Ints, vertices: Ints,
    vertex_cost: float, full: float, steps: int, placement: Ints, next_: Ints, costs: Doubles, best: Ints,
) -> float:  # fmt: skip
    """Place a member at low cost, by depth-first search with a limited number of steps; returns the cost.

    The template is `known` by its pair types, -1 where undetermined, shape (t, t); the member by `kinds`, `edges` and
    flat `weights` as in `Example`. Incoming weights may reach `full` at each vertex. Positions are filled in `order`,
    for which `vertices` are tried in theirs; a new vertex costs `vertex_cost` edges. The output `best` is the vertex of
    each position, -1 for a new one; `placement`, `next_` and `costs` are scratch arrays of lengths x, x + 1 and x + 1.
    """
    x, t = len(order), len(vertices)
    least = x * vertex_cost
    for a in range(x):
        best[a] = -1
        placement[a] = -1
        for b in range(x):
            least += edges[a, b]
    depth = 0
    next_[0] = 0
    costs[0] = 0.0
    while depth >= 0 and steps > 0:
        if depth == x:
            if costs[depth] < least and _roomy(known, weights, incoming, placement, full):
                least = costs[depth]
                for a in range(x):
                    best[a] = placement[a]
            depth -= 1
            continue
        a = order[depth]
        placement[a] = -1
        i = next_[depth]
        if i > t:
            depth -= 1
            continue
        next_[depth] = i + 1
        v = vertices[i] if i < t else -1
        steps -= 1
        taken = False
        for lower in range(depth):
            if v >= 0 and placement[order[lower]] == v:
                taken = True
        if taken:
            continue
        more = _added(known, kinds, edges, placement, order, depth, v)
        cost = costs[depth] + more + (vertex_cost if v < 0 else 0.0)
        if more < 0 or cost >= least:
            continue
        placement[a] = v
        depth += 1
        costs[depth] = cost
        next_[depth] = 0
    return least
