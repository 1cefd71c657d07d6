"""Where copies of a template stand, and which degrees their vertices get."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.draft import Draft
from kgreason.graph.model import KnowledgeGraph
from kgreason.records import dataclass
from kgreason.subgraphs.adjacency import Ints

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
    places: Mapping[tuple[int, int], Ints]


@dataclass(frozen=True, eq=False)
class Choice:
    """Copies of a template.

    Attributes
    ----------
    cost
        In edges, vertices counted in.
    left
        Part of the lacking images that will still lack.
    hosts
        Original vertex in which each vertex of each copy stands, -1 for a new one; shape (copies, t).
    degrees
        In- and out-degrees that they get, shape (2, copies, t).
    """

    cost: float
    left: float
    hosts: Ints
    degrees: Ints


class DegreeChooser:
    """Chooses hosts and degrees so that copies serve as images and little is added.

    Parameters
    ----------
    lacking
        By size and class: subgraphs that lack images, in canonical order, and how many images each lacks.
    made
        By size and class: the members that were made before.
    """

    def __init__(
        self,
        draft: Draft,
        planned: Planned,
        lacking: Mapping[tuple[int, int], tuple[Ints, Ints]],
        made: Mapping[tuple[int, int], Ints],
        rng: np.random.Generator,
    ) -> None:
        self._draft, self._planned, self._lacking = draft, planned, lacking
        self._rng = rng
        graph = planned.graph
        self._real = draft.inner, draft.outer
        self._inside = graph.in_degree(), graph.out_degree()
        self._top = 2 * int(max(d.max(initial=0) for d in self._real)) + 64
        self._shares = [[self._share(phi, v) for v in range(planned.graph.n)] for phi in range(2)]
        self._barred = [
            [
                {
                    int(self._real[phi][u])
                    for key, place in planned.places.items()
                    for p in np.flatnonzero(place == v)
                    for u in made[key][:, p]
                }
                for v in range(planned.graph.n)
            ]
            for phi in range(2)
        ]
        n = draft.graph.n
        high = np.argsort(-(draft.inner[:n] + draft.outer[:n]), kind="stable")[: _HOSTS // 2]
        some = rng.choice(n, min(n, _HOSTS // 2), replace=False)
        self._candidates = rng.permutation(np.unique(np.concatenate([high, some])))
        self._fit = [self._fitting(v) for v in range(planned.graph.n)]

    def _share(self, phi: int, v: int) -> npt.NDArray[np.float64]:
        """For each degree the greatest share of lacking subgraphs that have it where v stands."""
        found = np.zeros(self._top)
        for key, place in self._planned.places.items():
            rows, _ = self._lacking[key]
            for p in np.flatnonzero(place == v):
                counts = np.bincount(self._real[phi][rows[:, p]], minlength=self._top)[: self._top]
                found = np.maximum(found, counts / len(rows))
        return found

    def choose(self, copies: int, share: tuple[float, float]) -> Choice:
        """Choose copies whose in- and out-degrees at most such shares of the lacking subgraphs have anywhere."""
        t = self._planned.graph.n
        hosts = np.full((copies, t), -1, dtype=np.int64)
        degrees = np.zeros((2, copies, t), dtype=np.int64)
        taken = [[set(barred) for barred in row] for row in self._barred]
        used: set[int] = set()
        for copy in range(copies):
            near: set[int] = set()
            for v in self._rng.permutation(t).tolist():
                host, found = self._host(v, share, taken, near | used)
                hosts[copy, v] = host
                if host >= 0:
                    near |= self._draft.ball(host) | self._draft.mates(host) | self._draft.beside(host)
                    used.add(host)
                for phi in range(2):
                    degrees[phi, copy, v] = found[phi]
                    taken[phi][v].add(found[phi])
        return self._valued(hosts, degrees)

    def _host(
        self, v: int, share: tuple[float, float], taken: list[list[set[int]]], barred: set[int]
    ) -> tuple[int, tuple[int, int]]:
        """Original vertex that is cheapest to give a free degree, or -1; and these degrees."""
        after = [self._next_free(phi, v, share[phi], taken[phi][v]) for phi in range(2)]
        inside = [int(self._inside[phi][v]) for phi in range(2)]
        fresh = int(after[0][inside[0]]), int(after[1][inside[1]])
        least = VERTEX_COST + sum(f - i for f, i in zip(fresh, inside, strict=True))
        if self._draft.apart or self._draft.symmetric or self._looped(v):
            return -1, fresh
        now = [self._real[phi][self._candidates] + inside[phi] for phi in range(2)]
        then = [after[phi][np.minimum(now[phi], self._top - 1)] for phi in range(2)]
        raised = then[0] - now[0] + then[1] - now[1]
        raised[~self._fit[v]] = self._top
        cheap = np.flatnonzero(raised < least)
        for i in cheap[np.argsort(raised[cheap], kind="stable")].tolist():
            host = int(self._candidates[i])
            if host not in barred:
                return host, (int(then[0][i]), int(then[1][i]))
        return -1, fresh

    def _next_free(self, phi: int, v: int, share: float, taken: set[int]) -> Ints:
        """For each degree the least free one from it on."""
        free = self._shares[phi][v] <= share
        free[[d for d in taken if d < self._top]] = False
        free[-1] = True
        at = np.where(free, np.arange(self._top), self._top)
        return np.minimum.accumulate(at[::-1])[::-1]

    def _fitting(self, v: int) -> npt.NDArray[np.bool_]:
        """Candidates without loops that have room for the weights into a vertex."""
        fits: npt.NDArray[np.bool_] = ~self._draft.loops[self._candidates]
        for name, relation in self._planned.graph.relations.items():
            if relation.weight is not None:
                more = float(relation.weight[relation.target == v].sum())
                fits &= (more == 0) | (self._draft.room(name, self._candidates) >= more)
        return fits

    def _looped(self, v: int) -> bool:
        relations = self._planned.graph.relations.values()
        return any(((r.source == v) & (r.target == v)).any() for r in relations)

    def _valued(self, hosts: Ints, degrees: Ints) -> Choice:
        copies = len(hosts)
        before = [len(ends) for ends in self._draft.open]
        after = []
        for phi in range(2):
            now = np.where(hosts >= 0, self._real[phi][hosts], 0) + self._inside[phi]
            after.append(before[phi] + int((degrees[phi] - now).sum()))
        cost = (
            max(after) - max(before) + copies * self._planned.graph.m + VERTEX_COST * int((hosts < 0).sum())
        )
        left = seen = 0
        for key, place in self._planned.places.items():
            rows, lacks = self._lacking[key]
            clash = np.zeros((len(rows), copies), dtype=np.bool_)
            for phi in range(2):
                met = self._real[phi][rows][:, None] == degrees[phi][None, :, place]
                clash |= met.any(axis=2)
            left += int(np.maximum(lacks - (~clash).sum(axis=1), 0).sum())
            seen += int(lacks.sum())
        return Choice(cost, left / max(seen, 1), hosts, degrees)
