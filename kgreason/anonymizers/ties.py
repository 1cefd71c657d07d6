"""Edges that make a graph weakly connected and leave images different in degree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.assemble import Pairs
from kgreason.anonymizers.degrees import Degrees
from kgreason.graph.model import Vertices


@dataclass(frozen=True, eq=False)
class Apart:
    """Which vertices must stay different in degree: those of a part, and those of a row.

    Attributes
    ----------
    part
        Part of each vertex; -1: of none.
    rows
        Vertices and, row by row, the copies of each; int64, shape (any, k).
    """

    part: Vertices
    rows: Vertices

    def others(self, v: int) -> Vertices:
        """Vertices from which v must stay apart."""
        part = np.flatnonzero(self.part == self.part[v]) if self.part[v] >= 0 else self.rows[:0, 0]
        row = self.rows[(self.rows == v).any(axis=1)].ravel()
        found: Vertices = np.union1d(part, row)
        others: Vertices = found[found != v]
        return others


def ties(
    component: Vertices,
    degrees: tuple[Degrees, Degrees],
    apart: Apart,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[Pairs, int]:
    """Choose edges that join the components.

    They end at vertices that nothing keeps apart from others. A component without such a vertex gets a new one, tied
    to a vertex of it by an edge, or by edges to further new ones until its degree is one that none of those has from
    which it must stay apart.

    Parameters
    ----------
    component
        Component of each vertex, from 0.
    degrees
        Out- and in-degree of each vertex.
    symmetric
        Whether the reverse of each edge will be added, too.

    Returns
    -------
    edges, n
        Sources and targets, and the number of vertices afterwards.
    """
    count = int(component.max(initial=-1)) + 1
    if count < 2:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), len(component)
    loose = apart.part < 0
    loose[apart.rows.ravel()] = False
    degrees = degrees[0].copy(), degrees[1].copy()
    edges: list[tuple[int, int]] = []
    n = len(component)
    ends: list[Vertices] = []
    for c in range(count):
        members = np.flatnonzero(component == c)
        own = members[loose[members]]
        if not len(own):
            v, phi, more = _least(rng.permutation(members)[:_TRIED], degrees, apart, symmetric)
            own = np.arange(n, n + more)
            edges += [(v, u) if phi == 0 else (u, v) for u in own.tolist()]
            n += more
            for raised in degrees if symmetric else degrees[phi : phi + 1]:
                raised[v] += more
        ends.append(own)
    for c in range(1, count):
        pair = int(rng.choice(ends[c])), int(rng.choice(ends[int(rng.integers(c))]))
        edges.append(pair if rng.random() < 0.5 else pair[::-1])
    chosen = np.array(edges, dtype=np.int64)
    return (chosen[:, 0].copy(), chosen[:, 1].copy()), n


_TRIED = 20  # vertices of a component that are looked at


def _least(
    members: Vertices, degrees: Sequence[Degrees], apart: Apart, symmetric: bool
) -> tuple[int, int, int]:
    """Vertex, direction and number of edges by which its degree becomes free, the fewest found."""
    found = []
    for v in members.tolist():
        others = apart.others(v)
        taken = [set((degree[others] - degree[v]).tolist()) for degree in degrees]
        if symmetric:
            taken = [taken[0] | taken[1]]
        for phi, differences in enumerate(taken):
            more = next(m for m in range(1, len(differences) + 2) if m not in differences)
            found.append((more, v, phi))
    more, v, phi = min(found)
    return v, phi, more
