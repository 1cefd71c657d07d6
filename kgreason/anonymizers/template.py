"""A small graph that contains a member of each of some classes, sharing vertices and edges between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.subgraphs.adjacency import Ints

_STEPS = 200_000  # placements that are looked at for each class


@dataclass(frozen=True, eq=False)
class Example:
    """A member of a class, and what runs between its vertices.

    Attributes
    ----------
    member
        Vertices of the graph in canonical order, shape (x,).
    kinds
        What runs between each two, 0 for nothing; the diagonal tells of loops; shape (x, x).
    edges
        Number of edges from each to each other one, shape (x, x).
    weights
        Sum of the weights of those that count against a bound on incoming weights, in parts of it; shape (x, x).
    """

    member: Ints
    kinds: Ints
    edges: Ints
    weights: npt.NDArray[np.float64]


class Template:
    """Grows by members of classes.

    Attributes
    ----------
    kinds
        What runs between each two vertices, -1 where no member holds both, so that anything might; shape (t, t).
    origin
        For each pair of vertices, the vertices of the graph from which its edges are copied; shape (t, t, 2).
    """

    def __init__(self, rng: np.random.Generator, vertex_cost: float) -> None:
        self.kinds: Ints = np.empty((0, 0), dtype=np.int64)
        self.origin: Ints = np.empty((0, 0, 2), dtype=np.int64)
        self._incoming = np.empty(0)
        self._rng, self._vertex_cost = rng, vertex_cost

    def __len__(self) -> int:
        return len(self.kinds)

    def place(self, example: Example, *, apart: bool = False) -> Ints:
        """Find places for a member that cost little: where its pairs are there already, or are free.

        Parameters
        ----------
        apart
            Whether to place it on vertices of its own.

        Returns
        -------
        Vertices of the template, those from its length on new; shape (x,).
        """
        place = [-1] * len(example.kinds) if apart else self._cheapest(example)
        new = iter(range(len(self), len(self) + len(place)))
        return np.array([v if v >= 0 else next(new) for v in place], dtype=np.int64)

    def add(self, example: Example, place: Ints) -> None:
        """Take a member in at its place."""
        fresh = max(0, int(place.max()) + 1 - len(self))
        self.kinds = np.pad(self.kinds, (0, fresh), constant_values=-1)
        self.origin = np.pad(self.origin, ((0, fresh), (0, fresh), (0, 0)), constant_values=-1)
        self._incoming = np.pad(self._incoming, (0, fresh))
        for a, u in enumerate(place):
            for b, v in enumerate(place):
                if self.kinds[u, v] < 0:
                    self.kinds[u, v] = example.kinds[a, b]
                    self.origin[u, v] = example.member[a], example.member[b]
                    self._incoming[v] += example.weights[a, b]

    def _cheapest(self, example: Example) -> list[int]:
        """Vertex of the template for each position, -1 for a new one."""
        from kgreason.anonymizers.template_kernels import cheapest

        x = len(example.kinds)
        room: tuple[Any, ...] = np.zeros(x, np.int64), np.zeros(x + 1, np.int64), np.zeros(x + 1)
        member: tuple[Any, ...] = example.kinds, example.edges, example.weights.ravel(), self._incoming
        orders: tuple[Any, ...] = _order(example.kinds != 0), self._rng.permutation(len(self))
        best = np.zeros(x, dtype=np.int64)
        known = np.ascontiguousarray(self.kinds)
        given: tuple[Any, ...] = known, *member, *orders, self._vertex_cost, _FULL, _STEPS, *room, best
        cheapest(*given)
        found: list[int] = best.tolist()
        return found


_FULL = 0.9  # part of a bound on incoming weights that members may use up


def _order(tied: npt.NDArray[np.bool_]) -> Ints:
    """Positions, each after the first with as many ties to those before as there are."""
    order = [int(tied.sum(axis=1).argmax())]
    while len(order) < len(tied):
        rest = [a for a in range(len(tied)) if a not in order]
        order.append(max(rest, key=lambda a: int(tied[a, order].sum())))
    return np.array(order, dtype=np.int64)
