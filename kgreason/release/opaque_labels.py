"""Random vertex labels and orders, independent of the original ones."""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices

_LETTERS = np.array(list("abcdefghjkmnpqrstuvwxyz"))
_SIGNS = np.array(list("abcdefghjkmnpqrstuvwxyz23456789"))
_LENGTH = 10


def fresh_labels(
    count: int, rng: np.random.Generator | None, avoid: Collection[str] = ()
) -> npt.NDArray[np.object_]:
    """Draw distinct labels of equal length; they begin with a letter, so that they are not parsed as numbers."""
    avoid = set(avoid)
    found: dict[str, None] = {}
    while len(found) < count:
        drawn = _spelled(_words(count - len(found), rng))
        found.update((label, None) for label in drawn if label not in avoid)
    return np.array(list(found), dtype=object)


def fresh(label: str) -> bool:
    """Whether `fresh_labels` may draw a label, which then carries no information.

    Examples
    --------
    >>> fresh("a7k2m9xw4b"), fresh("acme"), fresh("1234567890")
    (True, False, False)
    """
    return len(label) == _LENGTH and label[0] in set(_LETTERS) and set(label) <= set(_SIGNS)


def numbers(count: int) -> npt.NDArray[np.object_]:
    """Labels 1 to n in order; they carry no information if the vertices are in random order."""
    return np.array([str(number + 1) for number in range(count)], dtype=object)


def _spelled(words: npt.NDArray[np.uint64]) -> list[str]:
    signs = np.empty((len(words), _LENGTH), dtype="<U1")
    words, first = np.divmod(words, np.uint64(len(_LETTERS)))
    signs[:, 0] = _LETTERS[first]
    for i in range(1, _LENGTH):
        words, sign = np.divmod(words, np.uint64(len(_SIGNS)))
        signs[:, i] = _SIGNS[sign]
    spelled: list[str] = signs.view(f"<U{_LENGTH}").ravel().tolist()
    return spelled


def permutation(count: int, rng: np.random.Generator | None) -> Vertices:
    """Random permutation of 0 .. count-1, int64."""
    return np.argsort(_words(count, rng), kind="stable").astype(np.int64)


def _words(count: int, rng: np.random.Generator | None) -> npt.NDArray[np.uint64]:
    """Random 64-bit words, shape (count,)."""
    if rng is None:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    return rng.integers(0, 2**64, count, dtype=np.uint64)
