"""Associations: unordered pairs of different attribute values that some user has both of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph

Truth = npt.NDArray[np.bool_]


def new_associations(
    original: PeopleGraph, released: PeopleGraph, truth: Truth | None = None
) -> tuple[int, int]:
    """Untruthful associations that are new in a release, and all untruthful pairs of values of the original.

    Parameters
    ----------
    original, released
        The graphs. Values that only the release has are untruthful beside all others.
    truth
        Which ordered pairs of values of the original are truthful; a pair is if it is either way. Those of values that
        somebody has in the original are in any case.

    Raises
    ------
    AnonymizationError
        If `truth` is of another shape than (p, p).
    """
    number = {
        (name, text): i
        for i, (name, text) in enumerate((n, t) for n, a in original.attributes.items() for t in a.domain)
    }
    p = len(number)
    if truth is not None and truth.shape != (p, p):
        raise AnonymizationError(
            f"truthful associations of {len(truth):,} values are given, but the original has {p:,}",
            hint="learn the indicator on the original",
        )
    new = {
        (name, text): number.setdefault((name, text), len(number))
        for name, a in released.attributes.items()
        for text in a.domain
    }
    old = _pairs(original, {key: number[key] for key in list(number)[:p]}, len(number))
    fresh = np.setdiff1d(_pairs(released, new, len(number)), old, assume_unique=True)
    if truth is None:
        return len(fresh), p * (p - 1) // 2 - len(old)
    true = truth | truth.T
    first, second = fresh // len(number), fresh % len(number)
    known = (first < p) & (second < p)
    untrue = len(fresh) - int(np.count_nonzero(true[first[known], second[known]]))
    true[old // len(number), old % len(number)] = True
    true |= true.T
    return untrue, int(np.count_nonzero(np.triu(~true, 1)))


def _pairs(graph: PeopleGraph, number: dict[tuple[str, str], int], size: int) -> Vertices:
    """Associations of a graph, as ``smaller * size + greater``, ascending."""
    from scipy.sparse import csr_array, triu

    user, value = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for name, a in graph.attributes.items():
        user.append(a.user)
        value.append(np.array([number[name, text] for text in a.domain], dtype=np.int64)[a.value])
    who, what = np.concatenate(user), np.concatenate(value)
    has = csr_array((np.ones(len(who), dtype=np.float32), (who, what)), shape=(graph.n, size))
    pairs = triu(has.T @ has, k=1).tocoo()
    return np.sort(pairs.row.astype(np.int64) * size + pairs.col)
