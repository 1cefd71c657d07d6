"""Where copies of a template stand, and which degrees their vertices get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.standing import Key, Standing
from kgreason.graph.model import KnowledgeGraph
from kgreason.subgraphs.adjacency import Ints

Flags = npt.NDArray[np.bool_]

VERTEX_COST = 2.0  # of a new vertex, in edges
_HOSTS = 4_000  # original vertices that are looked at


@dataclass(frozen=True, eq=False)
class Planned:
    """A template and where the classes lie in it.

    Attributes
    ----------
    origin
        For each pair of its vertices, the vertices of the graph from which its edges are copied, -1 for none;
        shape (t, t, 2).
    graph
        It as a graph, with the weights of the members that were copied.
    places
        By size and class: a member, in canonical order.
    """

    origin: Ints
    graph: KnowledgeGraph
    places: Mapping[Key, Ints]


@dataclass(frozen=True, eq=False)
class Choice:
    """A copy of a template.

    Attributes
    ----------
    cost
        In edges, vertices counted in.
    hosts
        Original vertex in which each vertex stands, -1 for a new one; shape (t,).
    degrees
        In- and out-degrees that they get, shape (2, t).
    """

    cost: float
    hosts: Ints
    degrees: Ints


class Hosts:
    """Chooses hosts and degrees so that a copy serves all lacking subgraphs and little is added.

    A copy serves a subgraph if none of its vertices stands in one of the subgraph, nor has the in- or out-degree of
    the one in whose place it stands. The degrees that the hosts have from then on must not undo that, nor what images
    do that were made before.

    Parameters
    ----------
    lacks
        The attacked subgraphs by size, and those of them that lack images.
    """

    def __init__(self, draft: Draft, lacks: Sequence[tuple[Cover, Lack]], rng: np.random.Generator) -> None:
        self._draft, self._rng = draft, rng
        self._real = draft.inner, draft.outer
        self._vertices = self._candidates()
        self._standing = Standing.of(draft, lacks, self._vertices)
        self._number = np.full(draft.n, -1, dtype=np.int64)
        self._number[self._vertices] = np.arange(len(self._vertices))

    def _candidates(self) -> Ints:
        """Some original vertices that are in no image and have no loop, in random order."""
        draft, n = self._draft, self._draft.graph.n
        if draft.apart or draft.symmetric:
            return np.empty(0, dtype=np.int64)
        high = np.argsort(-(draft.inner[:n] + draft.outer[:n]), kind="stable")[: _HOSTS // 2]
        some = self._rng.choice(n, min(n, _HOSTS // 2), replace=False)
        some = np.unique(np.concatenate([high, some]))
        return self._rng.permutation(some[~draft.loops[some] & ~draft.serving(some)])

    def choose(self, planned: Planned) -> Choice:
        """Choose a copy of a template."""
        t, standing = planned.graph.n, self._standing.copy()
        hosts = np.full(t, -1, dtype=np.int64)
        degrees = np.zeros((2, t), dtype=np.int64)
        inside = np.stack([planned.graph.in_degree(), planned.graph.out_degree()])
        near = np.zeros(len(self._vertices) + 1, dtype=np.bool_)  # the last for all others
        for v in self._rng.permutation(t).tolist():
            keys = [
                (key, int(p)) for key, place in planned.places.items() for p in np.flatnonzero(place == v)
            ]
            places = np.array([standing.first[key] + p for key, p in keys], dtype=np.int64)
            fits = self._fitting(planned, v) & ~near[:-1]
            for key, _ in keys:
                fits[standing.within[key]] = False
            number, degrees[:, v] = self._host(standing, places, inside[:, v], fits)
            for phi in range(2):
                standing.images[phi, places, degrees[phi, v]] = True
            if number >= 0:
                hosts[v] = self._vertices[number]
                standing.change(number, degrees[:, v].tolist())
                near[self._number[list(self._draft.around(int(hosts[v])))]] = True
        return Choice(self._cost(planned, hosts, degrees - inside), hosts, degrees)

    def _host(
        self, standing: Standing, places: Ints, inside: Ints, allowed: Flags
    ) -> tuple[int, tuple[int, int]]:
        """Number of the vertex that is cheapest to give free degrees, or -1 for a new one; and these degrees."""
        after = [standing.after(phi, places) for phi in range(2)]
        highest = len(after[0]) - 1
        fresh = int(after[0][inside[0]]), int(after[1][inside[1]])
        now = [np.minimum(self._real[phi][self._vertices] + inside[phi], highest) for phi in range(2)]
        then = [after[phi][now[phi]] for phi in range(2)]
        raised = then[0] - now[0] + then[1] - now[1]
        allowed = allowed & (raised < VERTEX_COST + sum(fresh) - sum(inside))
        allowed &= (then[0] < highest) & (then[1] < highest)
        allowed &= standing.harmless(then)
        if not allowed.any():
            return -1, fresh
        number = int(np.where(allowed, raised, np.inf).argmin())
        return number, (int(then[0][number]), int(then[1][number]))

    def _fitting(self, planned: Planned, v: int) -> Flags:
        """Candidates that have room for the weights into a vertex of the template."""
        fits = np.ones(len(self._vertices), dtype=np.bool_)
        for name, relation in planned.graph.relations.items():
            into = relation.target == v
            if (relation.source[into] == v).any():
                fits[:] = False  # a loop
            if relation.weight is not None:
                more = float(relation.weight[into].sum())
                fits &= (more == 0) | (self._draft.room(name, self._vertices) >= more)
        return fits

    def _cost(self, planned: Planned, hosts: Ints, degrees: Ints) -> float:
        """In edges; `degrees` are those besides the template's own edges, shape (2, t)."""
        before = [len(ends) for ends in self._draft.open]
        now = [np.where(hosts >= 0, self._real[phi][hosts], 0) for phi in range(2)]
        after = [before[phi] + int((degrees[phi] - now[phi]).sum()) for phi in range(2)]
        return max(after) - max(before) + planned.graph.m + VERTEX_COST * int((hosts < 0).sum())
