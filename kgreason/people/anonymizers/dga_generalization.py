"""Directed graph generalization as published: edges are added, switched, extended and removed one by one.

All users of a cluster are to have the largest out-degree and the largest in-degree of its users. Three techniques of
DGA give an out-edge to a user u that lacks out-edges and an in-edge to a user v that lacks in-edges:

- *edge addition*: (u, v) is added;
- *edge switch*, for u != v and an existing (u, v), so that addition is impossible: an edge (u', v') is replaced by
  (u, v') and (u', v);
- *edge extension*, for u = v: an edge (u', v') is replaced by (u', u) and (u, v').

Switch and extension are the same exchange, which keeps the degrees of u' and v'. If no technique applies, *Degree
Decrement* lowers the largest degree of the cluster that lacks most by one, by random removals (Function 2), and the
techniques are tried again.

The loop terminates: no technique raises the largest degree of a cluster, and each decrement lowers one, so there are at
most as many decrements as the sum of the largest degrees. If decrements alternate between out- and in-degrees, many
edges are lost; `directed_realization` loses none that the degrees allow to keep.

The thesis leaves the order of the techniques open, and the choice among possible edges. Here additions come first, and
choices are random: of users, proportional to the number of edges that they lack; of edges to exchange, uniform.
Departure: no self-link is made, which the printed conditions of switch and extension allow (u' = v or v' = u).

References
----------
THESIS, 3.3.3: Algorithm 2 and Function 2; DGA is that of Casas-Roma et al., as restated there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.model import Counts, Links, distinct_links

_DRAWS = 8  # random partners to try before all of them are examined
_OUT, _IN = 0, 1


def dga_generalized(links: Links, clusters: Clusters, rng: np.random.Generator) -> tuple[Links, int]:
    """Make the degrees of a directed relation equal in each cluster, 0 .. c-1.

    Returns also the number of degree decrements; 0: the techniques of DGA suffice.
    """
    graph = Modified(links, clusters, rng)
    lowered = 0
    graph.complete()
    while graph.lack.any():
        graph.decrease()
        graph.complete()
        lowered += 1
    return graph.links, lowered


class Modified:
    """A directed graph that is being generalized.

    Attributes
    ----------
    lack
        Missing out-edges and in-edges of each user, int64, shape (2, n).
    """

    def __init__(self, links: Links, clusters: Clusters, rng: np.random.Generator) -> None:
        self._n, self._clusters, self._rng = len(clusters), clusters, rng
        self._count = int(clusters.max()) + 1
        self._degree = np.stack(
            [np.bincount(end, minlength=self._n) for end in (links.source, links.target)]
        ).astype(np.int64)
        most = max(int(side.sum()) for side in self._largest()[:, clusters])
        self._ends = np.empty((2, most), dtype=np.int64)  # of all edges, in no order
        self._size = len(links)
        self._ends[:, : self._size] = links.source, links.target
        self._present = set((links.source * self._n + links.target).tolist())
        self._measure()

    @property
    def links(self) -> Links:
        """The edges."""
        return distinct_links(self._n, *self._edges.copy())

    def complete(self) -> None:
        """Add, switch and extend edges while one of these applies (DGA)."""
        while self._applied(self._addition) or self._applied(self._exchange):
            pass

    def decrease(self) -> None:
        """Remove an edge of each user of the largest degree, in the cluster that lacks most edges (Function 2)."""
        lack = [np.bincount(self._clusters, weights=side, minlength=self._count) for side in self.lack]
        side = _OUT if lack[_OUT].max() > lack[_IN].max() else _IN
        members = np.flatnonzero(self._clusters == lack[side].argmax())
        degree = self._degree[side, members]
        for u in members[degree == degree.max()].tolist():
            self._remove(int(self._rng.choice(np.flatnonzero(self._edges[side] == u))))
        self._measure()

    @property
    def _edges(self) -> npt.NDArray[np.int64]:
        return self._ends[:, : self._size]

    def _largest(self) -> Counts:
        largest = np.zeros((2, self._count), dtype=np.int64)
        for most, degree in zip(largest, self._degree, strict=True):
            np.maximum.at(most, self._clusters, degree)
        return largest

    def _measure(self) -> None:
        self.lack = self._largest()[:, self._clusters] - self._degree

    def _applied(self, technique: Callable[[int, list[int]], bool]) -> bool:
        """Apply a technique once to each missing out-edge for which it is possible, in random order."""
        out, into = (np.repeat(np.arange(self._n), lack) for lack in self.lack)
        wanting: list[int] = into.tolist()  # users, once for each missing in-edge
        stuck: set[int] = set()
        applied = False
        for u in self._rng.permutation(out).tolist():
            if not wanting:
                break
            if u in stuck:
                continue
            if technique(u, wanting):
                applied = True
            else:
                stuck.add(u)
        return applied

    def _addition(self, u: int, wanting: list[int]) -> bool:
        """Add an edge from u."""
        places = (self._rng.random(_DRAWS) * len(wanting)).astype(np.int64).tolist()
        place = next((i for i in places if self._addable(u, wanting[i])), None)
        if place is None:
            possible = [i for i, v in enumerate(wanting) if self._addable(u, v)]
            if not possible:
                return False
            place = possible[int(self._rng.integers(len(possible)))]
        self._add(u, self._satisfied(u, wanting, place))
        return True

    def _addable(self, u: int, v: int) -> bool:
        return u != v and u * self._n + v not in self._present

    def _exchange(self, u: int, wanting: list[int]) -> bool:
        """Switch an edge, or extend one if u is both u and v."""
        for v in self._rng.permutation(np.unique(wanting)).tolist():
            if self._addable(u, v):
                continue
            edge = self._exchangeable(u, v)
            if edge is not None:
                self._satisfied(u, wanting, wanting.index(v))
                source, target = self._edges[:, edge].tolist()
                self._remove(edge)
                self._add(u, target)
                self._add(source, v)
                return True
        return False

    def _exchangeable(self, u: int, v: int) -> int | None:
        """A random edge (u', v') for which (u', v) and (u, v') are missing edges, or None."""
        source, target = self._edges
        free = np.ones((2, self._n), dtype=np.bool_)
        free[_OUT, source[target == v]] = free[_OUT, v] = False
        free[_IN, target[source == u]] = free[_IN, u] = False
        found = np.flatnonzero(free[_OUT, source] & free[_IN, target])
        return int(self._rng.choice(found)) if len(found) else None

    def _satisfied(self, u: int, wanting: list[int], place: int) -> int:
        """Count one edge less that u and the user at this place lack; returns that user."""
        v = wanting[place]
        wanting[place] = wanting[-1]
        wanting.pop()
        self.lack[_OUT, u] -= 1
        self.lack[_IN, v] -= 1
        return v

    def _add(self, u: int, v: int) -> None:
        self._ends[:, self._size] = u, v
        self._size += 1
        self._degree[_OUT, u] += 1
        self._degree[_IN, v] += 1
        self._present.add(u * self._n + v)

    def _remove(self, edge: int) -> None:
        u, v = self._edges[:, edge].tolist()
        self._size -= 1
        self._ends[:, edge] = self._ends[:, self._size]
        self._degree[_OUT, u] -= 1
        self._degree[_IN, v] -= 1
        self._present.remove(u * self._n + v)
