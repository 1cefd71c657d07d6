"""New vertices with rare pairs of degrees, and edges among them, until at least k vertices have each pair.

No other vertex changes its degrees, except one that ties the new vertices to the graph where no other edge does.

References
----------
docs/anonymization.md, further guarantees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from kgreason.base.records import record
from kgreason.graph.sorted_keys import Ints
from kgreason.isomorphism.anonymizers.assembly import Pairs
from kgreason.isomorphism.anonymizers.degree_distributions import Degrees
from kgreason.isomorphism.anonymizers.degree_raises import VERTEX_COST, Pair, pair_counts

_LARGEST = 64  # difference of the degrees of new vertices that balance incoming and outgoing edges
_PER_TIE = 8  # new vertices for each edge that ties them to the graph, where no raised vertex does
_SWAPS = 50  # of edges, for each component that is not yet tied to the graph

Fits = Callable[[int, int], bool]  # whether an edge may join two vertices of the graph


@record(eq=False)
class Filled:
    """Edges, in one direction only if the graph is symmetric, and the degrees of all vertices, new ones last."""

    edges: Pairs
    inner: Degrees
    outer: Degrees


def filled(
    degrees: tuple[Degrees, Degrees],
    promised: tuple[Sequence[int], Sequence[int]],
    k: int,
    fits: Fits,
    rng: np.random.Generator,
    *,
    symmetric: bool,
) -> Filled | None:
    """Add vertices and edges after which at least k vertices have each pair of in- and out-degree.

    `None` if no such edges are found, which never happens for k = 1.

    Parameters
    ----------
    degrees
        In- and out-degrees, promised edges included.
    promised
        Vertices with a promised incoming edge, and those with a promised outgoing edge, with repetitions; in a
        `symmetric` graph, both are equal.
    fits
        Whether an edge between two vertices of the graph may supply both with a promised edge. Edges with new vertices
        always fit.

    Examples
    --------
    The centre of a star with four leaves has a rare pair, which two new vertices get, too:

    >>> star = np.array([4, 0, 0, 0, 0]), np.array([0, 1, 1, 1, 1])
    >>> found = filled(star, ([], []), 3, lambda u, v: False, np.random.default_rng(0), symmetric=False)
    >>> bool(pair_counts(found.inner, found.outer)[2].min() >= 3)
    True
    """
    inner, outer = (degree.copy() for degree in degrees)
    heads, tails = (list(ends) for ends in promised)
    first = len(inner)
    wanted = _wanted(inner, outer, k)
    if wanted and not heads and not tails:
        for v in _anchors(inner, outer, k, rng, most=1 + len(wanted) // _PER_TIE):
            outer[v] += 1
            tails.append(v)
            if symmetric:
                inner[v] += 1
                heads.append(v)
        wanted = _wanted(inner, outer, k)
    # leaves alone, if no pair needs to be frequent: they are always connected to the graph
    palette = {(a, b) for a, b in pair_counts(inner, outer)[0].tolist()} if k > 1 else set()
    more = _balancing(wanted, len(heads), len(tails), palette, k, symmetric=symmetric)
    if more is None:
        return None
    wanted += more
    join = _Join(first, wanted, (heads, tails), fits, rng, symmetric=symmetric)
    join.supply()
    wanted += join.link(int(inner.mean()), k, palette)
    if not join.connect():
        return None
    new = np.array(wanted, dtype=np.int64).reshape(-1, 2)
    return Filled(join.pairs, np.append(inner, new[:, 0]), np.append(outer, new[:, 1]))


def joined(
    promised: tuple[Sequence[int], Sequence[int]],
    n: int,
    fits: Fits,
    rng: np.random.Generator,
    *,
    symmetric: bool,
) -> tuple[Pairs, tuple[list[int], list[int]]]:
    """Edges between vertices of a graph with n vertices that supply promised ends, and the ends that find no partner.

    Parameters are those of `filled`.

    Examples
    --------
    >>> def fits(u: int, v: int) -> bool:
    ...     return v != 2
    >>> edges, left = joined(([1, 2], [0, 0]), 3, fits, np.random.default_rng(0), symmetric=False)
    >>> [ends.tolist() for ends in edges], left
    ([[0], [1]], ([2], [0]))
    """
    join = _Join(n, [], promised, fits, rng, symmetric=symmetric)
    join.supply()
    tails, heads = join.left
    return join.pairs, (heads.tolist(), tails.tolist())


def _wanted(inner: Degrees, outer: Degrees, k: int) -> list[Pair]:
    """Pairs of the new vertices that make every pair frequent."""
    pairs, _, counts = pair_counts(inner, outer)
    lack = np.maximum(k - counts, 0)
    return [(a, b) for a, b in np.repeat(pairs, lack, axis=0).tolist()]


def _anchors(inner: Degrees, outer: Degrees, k: int, rng: np.random.Generator, most: int) -> list[int]:
    """Vertices whose out-degree may rise by one: no vertex has the new degree, so images still differ in degree.

    They have rare pairs, of which new vertices are made in any case; or else it is the one that needs the fewest edges.
    """
    _, number, counts = pair_counts(inner, outer)
    taken, found = set(outer.tolist()), list[int]()
    for v in rng.permutation(np.flatnonzero(counts[number] < k)).tolist():
        if len(found) < most and outer[v] + 1 not in taken:
            taken.add(int(outer[v]) + 1)
            found.append(v)
    if found:
        return found
    free = np.flatnonzero(~np.isin(outer + 1, outer))  # the greatest degree is among them
    edges = (inner + outer) * (k - 1 + (counts[number] <= k))
    return [int(free[edges[free].argmin()])]


def _balancing(
    wanted: Sequence[Pair], heads: int, tails: int, palette: set[Pair], k: int, *, symmetric: bool
) -> list[Pair] | None:
    """Pairs of further new vertices, all of them frequent, after which as many edges begin as end.

    In a symmetric graph, an even number of ends is needed.
    """
    surplus = heads + sum(a for a, _ in wanted) - tails - sum(b for _, b in wanted)
    if symmetric:
        if (heads + sum(a for a, _ in wanted)) % 2 == 0:
            return []
        odd = [pair for pair in (*palette, *([(1, 1)] if k == 1 else [])) if pair[0] % 2]
        return [min(odd)] if odd else None
    sign, leaf = (1, (0, 1)) if surplus > 0 else (-1, (1, 0))
    coins = {
        sign * (b - a): (a, b)
        for a, b in sorted(palette, key=max, reverse=True)
        if 0 < sign * (b - a) <= _LARGEST
    }
    sums = _Sums(coins, abs(surplus))
    leaves = [0, *range(k, abs(surplus) + 1)]  # fewer would be rare
    count = min(leaves, key=lambda count: sums.cost(abs(surplus) - count) + count * (VERTEX_COST + 1))
    found = sums.parts(abs(surplus) - count)
    return None if found is None else found + [leaf] * count


class _Sums:
    """Sums of numbers, each of which stands for a pair of degrees and may occur any number of times, at least cost.

    Examples
    --------
    >>> _Sums({2: (0, 2), 3: (1, 4)}, 7).parts(7)
    [(0, 2), (0, 2), (1, 4)]
    """

    def __init__(self, pairs: Mapping[int, Pair], most: int) -> None:
        self._pairs = pairs
        self._costs = [0.0] + [math.inf] * most
        self._last = [0] * (most + 1)
        for total in range(1, most + 1):
            for number, pair in pairs.items():
                if number <= total and (
                    cost := self._costs[total - number] + VERTEX_COST + max(pair)
                ) < self.cost(total):
                    self._costs[total], self._last[total] = cost, number

    def cost(self, total: int) -> float:
        """Cost of a sum in edges; infinite if there is none."""
        return self._costs[total]

    def parts(self, total: int) -> list[Pair] | None:
        """Pairs of degrees of the cheapest sum; `None` if there is none."""
        found: list[Pair] = []
        while total and self._last[total]:
            found.append(self._pairs[self._last[total]])
            total -= self._last[total]
        return None if total else found


class _Join:
    """Edges that supply vertices with the edges that they want.

    Vertices from `first` on are new, and want the degrees `wanted`; those of the graph have the `promised` ends.
    """

    def __init__(
        self,
        first: int,
        wanted: Sequence[Pair],
        promised: tuple[Sequence[int], Sequence[int]],
        fits: Fits,
        rng: np.random.Generator,
        *,
        symmetric: bool,
    ) -> None:
        self._first, self._n, self._fits = first, first + len(wanted), fits
        self._rng, self._symmetric = rng, symmetric
        old = np.unique(np.concatenate([np.array(ends, dtype=np.int64) for ends in promised]))
        self._vertices = np.append(old, first + np.arange(len(wanted)))
        new = np.array(wanted, dtype=np.int64).reshape(-1, 2)
        self._into, self._out = (
            np.append(np.bincount(np.searchsorted(old, ends), minlength=len(old)), new[:, phi])
            for phi, ends in enumerate(np.array(ends, dtype=np.int64) for ends in promised)
        )
        if symmetric:
            self._into = self._out  # an edge supplies its ends with both
        self._used: set[Pair] = set()
        self._edges: list[Pair] = []

    @property
    def pairs(self) -> Pairs:
        """Sources and targets."""
        edges = np.array(self._edges, dtype=np.int64).reshape(-1, 2)
        return edges[:, 0].copy(), edges[:, 1].copy()

    @property
    def left(self) -> tuple[Ints, Ints]:
        """Vertices that still want outgoing edges, and those that want incoming ones, with repetitions."""
        return np.repeat(self._vertices, self._out), np.repeat(self._vertices, self._into)

    def supply(self) -> None:
        """Join the vertices, those of the graph first, and to new ones if possible, so that the edges mix both."""
        tie = self._rng.random(len(self._vertices))
        for i in np.lexsort((tie, -self._out, self._vertices >= self._first)).tolist():
            self._supply(i)

    def link(self, usual: int, k: int, palette: set[Pair]) -> list[Pair]:
        """Link what is left by further new vertices, of about the `usual` degree; returns their pairs of degrees."""
        tails, heads = self.left
        most = max(
            (int(np.unique(ends, return_counts=True)[1].max()) for ends in (tails, heads) if len(ends)),
            default=0,
        )
        sides = 2 if self._symmetric else 1
        count = len(tails) // sides
        size = min(usual, count // max(most, k))
        links = [] if size < 2 else self._bulk(tails, heads, count // size, size)
        left = count % size if size > 1 else count
        tails, heads = tails[len(tails) - left * sides :], heads[len(heads) - left * sides :]
        if self._symmetric:
            tails, heads = np.split(tails, 2)
        return links + self._chains(tails.tolist(), heads.tolist(), k, palette)

    def _bulk(self, tails: Ints, heads: Ints, count: int, size: int) -> list[Pair]:
        """Link the first ends by new vertices with `size` edges in either direction."""
        links = self._n + np.arange(count)
        self._n += count
        ends = count * size * (2 if self._symmetric else 1)
        # the ends of one vertex are consecutive, and not more than the links
        for u, v in zip(tails[:ends].tolist(), np.resize(links, ends).tolist(), strict=True):
            self._add(u, v)
        for u, v in zip(
            np.resize(links, ends).tolist(), [] if self._symmetric else heads[:ends].tolist(), strict=False
        ):
            self._add(u, v)
        degree = size * (2 if self._symmetric else 1)
        return [(degree, degree)] * count

    def _chains(self, tails: Sequence[int], heads: Sequence[int], k: int, palette: set[Pair]) -> list[Pair]:
        """Link each end to one of the other kind by a new vertex, or by several if that pair would be rare."""
        link = (2, 2) if self._symmetric else (1, 1)
        length = [1 + (self._symmetric and u == v) for u, v in zip(tails, heads, strict=True)]
        if length and link not in palette:
            length[0] += max(0, k - sum(length))
        for u, v, count in zip(tails, heads, length, strict=True):
            chain = [u, *range(self._n, self._n + count), v]
            self._n += count
            for ends in pairwise(chain):
                self._add(*ends)
        return [link] * sum(length)

    def _supply(self, i: int) -> None:
        """Give a vertex its outgoing edges, to the vertices that want the most."""
        u, new = int(self._vertices[i]), self._vertices >= self._first
        wanting = np.flatnonzero(self._into)
        wanting = wanting[wanting != i]
        other = new[wanting] != new[i]
        wanting = wanting[np.lexsort((self._rng.random(len(wanting)), -self._into[wanting], ~other))]
        for j in wanting.tolist():
            if not self._out[i]:
                return
            if self._allowed(u, int(self._vertices[j])):
                self._add(u, int(self._vertices[j]))
                self._out[i] -= 1
                self._into[j] -= 1

    def _allowed(self, u: int, v: int) -> bool:
        if u == v or (u, v) in self._used or (self._symmetric and (v, u) in self._used):
            return False
        if max(u, v) >= self._first:
            return True
        return (v, u) not in self._used and self._fits(u, v)

    def _add(self, u: int, v: int) -> None:
        self._edges.append((u, v))
        self._used.add((u, v))

    def connect(self) -> bool:
        """Exchange the targets of edges until every new vertex is connected to the graph; whether that succeeds."""
        count = self._loose()
        for _ in range(_SWAPS * (count + 1)):
            if not count:
                return True
            component = self._components()
            own = component[np.maximum(self.pairs[0] - self._first + 1, 0)]
            away, near = np.flatnonzero(own), np.flatnonzero(own == 0)
            if not len(away) or not len(near):
                return False
            i, j = int(self._rng.choice(away)), int(self._rng.choice(near))
            (a, b), (c, d) = self._edges[i], self._edges[j]
            if not (self._allowed(a, d) and self._allowed(c, b)):
                continue
            self._exchange(i, j, (a, d), (c, b))
            now = self._loose()
            if now < count:
                count = now
            else:
                self._exchange(i, j, (a, b), (c, d))
        return not count

    def _exchange(self, i: int, j: int, one: Pair, other: Pair) -> None:
        self._used -= {self._edges[i], self._edges[j]}
        self._edges[i], self._edges[j] = one, other
        self._used |= {one, other}

    def _loose(self) -> int:
        """Number of components without a vertex of the graph."""
        return int(self._components().max())

    def _components(self) -> Ints:
        """Component of the graph as a whole, and of each new vertex."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = self._n - self._first + 1
        source, target = (np.maximum(ends - self._first + 1, 0) for ends in self.pairs)
        ties = coo_array((np.ones(len(source)), (source, target)), shape=(size, size))
        found: Ints = connected_components(ties, directed=False)[1].astype(np.int64)
        return found
