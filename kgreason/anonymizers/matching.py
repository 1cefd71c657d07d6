"""Synthetic edges between copies: match vertices that need out-edges with vertices that need in-edges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices

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
    """Draw random edges that give vertices their missing degrees, none inside a copy and no two parallel.

    Vertex i of copy j has number ``j * n + i``.

    Parameters
    ----------
    out_missing, in_missing
        Missing degrees, shape (n, k).
    barred
        Sources and targets of edges that must not be repeated.
    undirected
        Whether an edge back counts as a repetition.

    Returns
    -------
    source, target
        The edges.
    sources_left, targets_left
        Ends that found no partner, each vertex as often as it still needs one.
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
    """How many edges to draw from each copy to each other one, so that few ends are left over.

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
    """Shuffle the open ends of each copy and deal them to the copies they go to; blocks row by row."""
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
    """Swap targets within blocks until edges differ; tells which ones still clash after that."""
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
