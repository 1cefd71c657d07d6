"""Random degrees: fitted distributions, degrees that differ, and edges that supply missing degrees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.sorted_keys import distinct, places, repeated
from kgreason.isomorphism.anonymizers.assembly import Pairs

_ROUNDS = 100  # of swaps of targets

Degrees = npt.NDArray[np.int64]


@record
class DegreeDistribution:
    """Negative binomial with the moments of observed degrees; Poisson if they are not overdispersed.

    Draws do not exceed the `bound`: the greatest observed degree, so that no drawn degree is conspicuous, but at least
    1 and at most the number of vertices.

    >>> fitted = DegreeDistribution.fit(np.array([0, 1, 1, 6]))
    >>> fitted.mean, fitted.variance, fitted.bound
    (2.0, 5.5, 4)
    >>> fitted.draw(np.random.default_rng(1), 5).max() <= 4
    np.True_
    """

    mean: float
    variance: float
    bound: int

    @classmethod
    def fit(cls, degrees: Degrees) -> DegreeDistribution:
        """Fit by the method of moments."""
        if not len(degrees):
            return cls(0.0, 0.0, 1)
        bound = max(1, min(int(degrees.max()), len(degrees)))
        return cls(float(degrees.mean()), float(degrees.var()), bound)

    def draw(self, rng: np.random.Generator, size: int) -> Degrees:
        """Draw degrees, shape (size,)."""
        if self.variance > self.mean > 0:
            successes = self.mean**2 / (self.variance - self.mean)
            drawn = rng.negative_binomial(successes, self.mean / self.variance, size)
        else:
            drawn = rng.poisson(self.mean, size)
        return np.minimum(drawn, self.bound).astype(np.int64)


@record(eq=False)
class SampledDegrees:
    """Empirical distribution: draws are `values`, all equally likely.

    >>> SampledDegrees(np.array([3, 3])).draw(np.random.default_rng(0), 2).tolist()
    [3, 3]
    """

    values: Degrees

    def draw(self, rng: np.random.Generator, size: int) -> Degrees:
        """Draw degrees, shape (size,)."""
        drawn: Degrees = self.values[rng.integers(0, len(self.values), size)]
        return drawn


Draws = DegreeDistribution | SampledDegrees


def choose_across(
    degrees: Degrees, fitted: Draws, rng: np.random.Generator, *, fixed: bool = False
) -> Degrees:
    """Raise degrees so that the degrees in each row differ (KGISO, Algorithm 1 lines 8-12, Algorithm 4 ChooseDeg).

    In each row, which holds the degrees of the k copies of a vertex, a random entry (the first, if `fixed`) keeps its
    degree; every other one keeps it if it is free, else takes max(degree + 1, draw) until free. The entry that keeps
    its degree is random, because an original that always had the smallest degree of its copies would be recognizable.

    >>> fitted = DegreeDistribution.fit(np.array([1, 2, 3]))
    >>> chosen = choose_across(np.array([[2, 2, 2], [0, 1, 5]]), fitted, np.random.default_rng(3))
    >>> chosen[1].tolist(), len(set(chosen[0].tolist()))
    ([0, 1, 5], 3)
    """
    draw = rng.random(degrees.shape)
    draw[:, : int(fixed)] = -1
    order = np.argsort(draw, axis=1)
    chosen = np.take_along_axis(degrees, order, axis=1)
    for j in range(1, degrees.shape[1]):
        rows = np.arange(len(chosen))
        while True:
            taken = (chosen[rows, :j] == chosen[rows, j, None]).any(axis=1)
            rows = rows[taken]
            if not len(rows):
                break
            chosen[rows, j] = np.maximum(chosen[rows, j] + 1, fitted.draw(rng, len(rows)))
    result = np.empty_like(chosen)
    np.put_along_axis(result, order, chosen, axis=1)
    return result


def match_between(
    out_missing: Degrees,
    in_missing: Degrees,
    existing: tuple[Vertices, Vertices],
    rng: np.random.Generator,
    *,
    undirected: bool = False,
) -> tuple[Vertices, Vertices, Vertices, Vertices]:
    """Draw random edges that supply missing degrees, without edges inside a copy and without parallel edges.

    Missing degrees have the shape (n, k); vertex i of copy j has number ``j * n + i``. An `existing` edge is not
    repeated, nor its reverse if `undirected`. Also returns the sources and targets without partner, each as often as it
    still needs one.
    """
    n, k = out_missing.shape
    quotas = between_copies(out_missing.sum(axis=0), in_missing.sum(axis=0))
    source, sources_left = _dealt(out_missing, quotas, rng)
    target, targets_left = _dealt(in_missing, quotas.T, rng, transposed=True)
    block = np.repeat(np.arange(k * k), quotas.ravel())
    keys = partial(_keys, size=n * k, undirected=undirected)
    clash = _separate(source, target, block, distinct(keys(*existing)), keys, rng)
    return (
        source[~clash],
        target[~clash],
        np.concatenate([sources_left, source[clash]]),
        np.concatenate([targets_left, target[clash]]),
    )


def between_copies(out_totals: Degrees, in_totals: Degrees) -> Degrees:
    """Numbers of edges to draw between each ordered pair of copies, such that few ends remain.

    The result has the shape (k, k) and a zero diagonal; row sums are at most `out_totals`, column sums at most
    `in_totals`.

    >>> between_copies(np.array([4, 4]), np.array([4, 3])).tolist()
    [[0, 3], [4, 0]]
    """
    share = np.outer(out_totals, in_totals).astype(np.float64)
    np.fill_diagonal(share, 0.0)
    for _ in range(200):  # iterative proportional fitting
        share *= (out_totals / np.maximum(share.sum(axis=1), 1e-300))[:, None]
        share *= (in_totals / np.maximum(share.sum(axis=0), 1e-300))[None, :]
    share *= np.minimum(1.0, out_totals / np.maximum(share.sum(axis=1), 1e-300))[:, None]
    quotas = np.floor(share * (1 - 1e-12)).astype(np.int64)
    out_left, in_left = out_totals - quotas.sum(axis=1), in_totals - quotas.sum(axis=0)
    for a in np.argsort(-out_left):
        for b in np.argsort(-in_left):
            if a != b:
                more = min(out_left[a], in_left[b])
                quotas[a, b] += more
                out_left[a] -= more
                in_left[b] -= more
    return quotas


def _dealt(
    missing: Degrees, quotas: Degrees, rng: np.random.Generator, transposed: bool = False
) -> tuple[Vertices, Vertices]:
    """Shuffle the open ends of each copy and distribute them over the other copies; blocks row by row."""
    n, k = missing.shape
    blocks: list[list[Vertices]] = [[] for _ in range(k)]
    left = []
    for copy in range(k):
        ends = rng.permutation(np.repeat(np.arange(copy * n, copy * n + n), missing[:, copy]))
        *dealt, rest = np.split(ends, np.cumsum(quotas[copy]))
        for other, part in enumerate(dealt):
            blocks[other if transposed else copy].append(part)
        left.append(rest)
    return np.concatenate([part for row in blocks for part in row]), np.concatenate(left)


def _keys(source: Vertices, target: Vertices, size: int, undirected: bool) -> Vertices:
    if undirected:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return source * size + target


def _separate(
    source: Vertices,
    target: Vertices,
    block: Degrees,
    existing: Vertices,
    keys: Callable[[Vertices, Vertices], Vertices],
    rng: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Swap targets within blocks until edges differ; returns which edges still clash."""
    for _ in range(_ROUNDS):
        clash = _clashes(keys(source, target), existing)
        if not clash.any():
            break
        start = np.searchsorted(block, block[clash], side="left")
        end = np.searchsorted(block, block[clash], side="right")
        rows = np.unique(np.concatenate([np.flatnonzero(clash), rng.integers(start, end)]))
        mixed = rows[np.lexsort((rng.random(len(rows)), block[rows]))]
        target[rows] = target[mixed]
    return _clashes(keys(source, target), existing)


def _clashes(keys: Vertices, existing: Vertices) -> npt.NDArray[np.bool_]:
    """Mark repeated keys, and those among the existing ones, which are distinct and ascend."""
    return repeated(keys) | places(existing, keys)[1]


def halves(missing: Degrees, rng: np.random.Generator) -> tuple[Degrees, Degrees]:
    """Divide missing degrees at random into out- and in-degrees."""
    owner = rng.permutation(np.repeat(np.arange(missing.size), missing.ravel()))
    forth = np.bincount(owner[::2], minlength=missing.size).reshape(missing.shape).astype(np.int64)
    return forth, missing - forth


def partnered(
    missing: tuple[Degrees, Degrees],
    existing: Pairs,
    degree: float,
    rng: np.random.Generator,
    *,
    symmetric: bool,
) -> tuple[Pairs, int]:
    """Edges between copies that supply missing degrees, and the number of new vertices for ends without partner.

    Parameters as for `match_between`; new vertices follow the copies and get about the usual `degree`.
    """
    source, target, *left = match_between(*missing, existing, rng, undirected=symmetric)
    if symmetric:
        left = [np.concatenate(left), left[1][:0]]
    outgoing, incoming, new = to_new_vertices(left[0], left[1], missing[0].size, degree, rng)
    sources = np.concatenate([source, outgoing[0], incoming[0]])
    return (sources, np.concatenate([target, outgoing[1], incoming[1]])), new


def to_new_vertices(
    sources: Vertices, targets: Vertices, first: int, degree: float, rng: np.random.Generator
) -> tuple[Pairs, Pairs, int]:
    """Tie open ends to the fewest new vertices that avoid parallel edges and have about the usual degree."""
    most = max((int(np.bincount(e).max()) for e in (sources, targets) if len(e)), default=0)
    usual = int(np.ceil(max(len(sources), len(targets)) / max(1.0, np.ceil(degree))))
    new = max(most, min(usual, first + 1))
    if not new:
        empty = np.empty(0, dtype=np.int64)
        return (empty, empty), (empty, empty), 0
    # the ends of one vertex are consecutive, so they meet different new vertices
    rank = rng.permutation(first)
    sources, targets = (ends[np.argsort(rank[ends])] for ends in (sources, targets))
    outgoing = (sources, first + np.arange(len(sources)) % new)
    incoming = (first + np.arange(len(targets)) % new, targets)
    return outgoing, incoming, new
