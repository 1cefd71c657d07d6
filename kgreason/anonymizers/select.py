"""Choose from each bucket k vertex-disjoint members, preferably ones that already differ in degree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.subgraphs.patterns import Classes

_SAMPLE = 20_000
_RESTARTS = 8


def choose_disjoint(
    classes: Classes, k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Choose up to k pairwise disjoint members of each class.

    Parameters
    ----------
    degrees
        In- and out-degree of each vertex. Of the members disjoint from those chosen before, one is taken
        whose vertices differ from theirs, position by position, in as many degrees as possible.

    Returns
    -------
    Per class an array of 1 .. k rows: members in canonical order. Fewer than k rows mean that no k disjoint
    members were found; the search is greedy with restarts.

    Examples
    --------
    >>> members = np.array([[0, 1], [1, 2], [3, 4]])
    >>> classes = Classes(np.zeros(3, dtype=np.int64), members, 1)
    >>> degree = np.array([1, 1, 1, 2, 2])
    >>> chosen = choose_disjoint(classes, 2, (degree, degree), np.random.default_rng(0))
    >>> chosen[0].shape, 3 in chosen[0]
    ((2, 2), True)
    """
    order = np.argsort(classes.ids, kind="stable")
    bounds = np.searchsorted(classes.ids[order], np.arange(classes.count + 1))
    chosen = []
    for start, end in pairwise(bounds.tolist()):
        bucket = classes.members[order[start:end]]
        chosen.append(_choose(bucket, k, degrees, rng))
    return chosen


def _choose(
    bucket: npt.NDArray[np.int64], k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    best = bucket[:0]
    if len(bucket) > _SAMPLE:
        best = _greedy(bucket[rng.choice(len(bucket), _SAMPLE, replace=False)], k, degrees, rng)
    for _ in range(min(_RESTARTS, len(bucket))):
        if len(best) == k:
            break
        found = _greedy(bucket, k, degrees, rng)
        best = found if len(found) > len(best) else best
    return best


def _greedy(
    bucket: npt.NDArray[np.int64], k: int, degrees: tuple[Vertices, Vertices], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    taken: list[npt.NDArray[np.int64]] = []
    differs = np.ones((len(degrees), *bucket.shape), dtype=np.bool_)
    free = np.arange(len(bucket))
    while len(taken) < k and len(free):
        score = differs[:, free].sum(axis=(0, 2)) + rng.random(len(free))
        member = bucket[free[score.argmax()]]
        taken.append(member)
        free = free[~np.isin(bucket[free], member).any(axis=1)]
        for phi, degree in enumerate(degrees):
            differs[phi] &= degree[bucket] != degree[member]
    return np.array(taken, dtype=np.int64).reshape(-1, bucket.shape[1])
