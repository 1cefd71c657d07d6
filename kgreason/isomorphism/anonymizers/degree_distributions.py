"""Random degrees of synthetic edges: fitted distributions, and edges that match missing out- with in-degrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices

Degrees = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DegreeDistribution:
    """Negative binomial with the moments of observed degrees; Poisson if they are not overdispersed.

    Attributes
    ----------
    mean, variance
        Moments of the observed degrees.
    bound
        Upper limit of draws: the greatest observed degree, so that no drawn degree is conspicuous, but at least 1 and
        at most the number of vertices.

    References
    ----------
    docs/methods/klone.md; "p_in and p_out negative binomial".

    Examples
    --------
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


def choose_across(
    degrees: Degrees, fitted: DegreeDistribution, rng: np.random.Generator, *, fixed: bool = False
) -> Degrees:
    """Raise degrees so that the degrees in each row differ.

    In each row a random entry (the first, if `fixed`) keeps its degree; every other one keeps it if it is free, else
    takes max(degree + 1, draw) until free. The entry that keeps its degree is random, because an original that always
    had the smallest degree of its copies would be recognizable.

    Parameters
    ----------
    degrees
        Shape (n, k): degrees of the k copies of each vertex.

    References
    ----------
    KGISO, Algorithm 1 lines 8-12 and Algorithm 4 (ChooseDeg).

    Examples
    --------
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


def choose_apart(
    degrees: Degrees,
    order: Iterable[int],
    apart: Sequence[Iterable[int]],
    fitted: DegreeDistribution,
    rng: np.random.Generator,
) -> Degrees:
    """Raise degrees so that each vertex differs from the vertices it must stay apart from (ChooseDeg).

    Parameters
    ----------
    degrees
        Current degrees, shape (n,).
    order
        Vertices to process, in this order.
    apart
        Per vertex the vertices whose degree must differ; symmetric.

    Examples
    --------
    >>> fitted = DegreeDistribution.fit(np.array([0]))
    >>> rng = np.random.default_rng(0)
    >>> choose_apart(np.array([2, 2, 2]), [0, 1, 2], [[1], [0, 2], [1]], fitted, rng).tolist()
    [2, 3, 2]
    """
    chosen = degrees.copy()
    settled: set[int] = set()
    for v in order:
        taken = {int(chosen[u]) for u in apart[v] if u in settled}
        degree = int(chosen[v])
        while degree in taken:
            degree = max(degree + 1, int(fitted.draw(rng, 1)[0]))
        chosen[v] = degree
        settled.add(v)
    return chosen


Counts = npt.NDArray[np.int64]
_ROUNDS = 100


def match_between(
    out_missing: Counts,
    in_missing: Counts,
    barred: tuple[Vertices, Vertices],
    rng: np.random.Generator,
    *,
    undirected: bool = False,
) -> tuple[Vertices, Vertices, Vertices, Vertices]:
    """Draw random edges that supply missing degrees, without edges inside a copy and without parallel edges.

    Vertex i of copy j has number ``j * n + i``.

    Parameters
    ----------
    out_missing, in_missing
        Missing degrees, shape (n, k).
    barred
        Sources and targets of existing edges, which must not be repeated.
    undirected
        Whether the reverse of an edge counts as a repetition.

    Returns
    -------
    source, target
        The edges.
    sources_left, targets_left
        Ends without partner, each vertex as often as it still needs one.
    """
    n, k = out_missing.shape
    quotas = between_copies(out_missing.sum(axis=0), in_missing.sum(axis=0))
    source, sources_left = _dealt(out_missing, quotas, rng)
    target, targets_left = _dealt(in_missing, quotas.T, rng, transposed=True)
    block = np.repeat(np.arange(k * k), quotas.ravel())
    keys = partial(_keys, size=n * k, undirected=undirected)
    clash = _separate(source, target, block, keys(*barred), keys, rng)
    return (
        source[~clash],
        target[~clash],
        np.concatenate([sources_left, source[clash]]),
        np.concatenate([targets_left, target[clash]]),
    )


def between_copies(out_totals: Counts, in_totals: Counts) -> Counts:
    """Numbers of edges to draw between each ordered pair of copies, such that few ends remain.

    Returns
    -------
    int64, shape (k, k), zero diagonal; row sums are at most `out_totals`, column sums at most `in_totals`.

    Examples
    --------
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
    missing: Counts, quotas: Counts, rng: np.random.Generator, transposed: bool = False
) -> tuple[Vertices, Vertices]:
    """Shuffle the open ends of each copy and distribute them over the other copies; blocks row by row."""
    n, k = missing.shape
    blocks: list[list[Vertices]] = [[] for _ in range(k)]
    left = []
    for copy in range(k):
        ends = rng.permutation(np.repeat(np.arange(copy * n, copy * n + n), missing[:, copy])).astype(
            np.int64
        )
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
    block: Counts,
    barred: Vertices,
    keys: Callable[[Vertices, Vertices], Vertices],
    rng: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Swap targets within blocks until edges differ; returns which edges still clash."""
    for _ in range(_ROUNDS):
        clash = _clashes(keys(source, target), barred)
        if not clash.any():
            break
        start = np.searchsorted(block, block[clash], side="left")
        end = np.searchsorted(block, block[clash], side="right")
        rows = np.unique(np.concatenate([np.flatnonzero(clash), rng.integers(start, end)]))
        mixed = rows[np.lexsort((rng.random(len(rows)), block[rows]))]
        target[rows] = target[mixed]
    return _clashes(keys(source, target), barred)


def _clashes(keys: Vertices, barred: Vertices) -> npt.NDArray[np.bool_]:
    repeated = np.ones(len(keys), dtype=np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    return repeated | np.isin(keys, barred)
