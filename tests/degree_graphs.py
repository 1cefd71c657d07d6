"""Small undirected graphs for the tests of k-degree anonymity."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Edges = npt.NDArray[np.int64]
Pair = frozenset[int]


EMPTY = np.empty((0, 2), dtype=np.int64)


def edges_of(pairs: object) -> Edges:
    return np.array(sorted(sorted(pair) for pair in pairs), dtype=np.int64).reshape(-1, 2)  # type: ignore[attr-defined]


def pairs_of(edges: Edges) -> set[Pair]:
    return {frozenset(row) for row in edges.tolist()}


def degrees_of(edges: Edges, n: int) -> npt.NDArray[np.int64]:
    return np.bincount(edges.ravel(), minlength=n)


def anonymous(degrees: npt.NDArray[np.int64], k: int) -> bool:
    """Whether each degree that occurs is that of at least k vertices."""
    return bool((np.unique(degrees, return_counts=True)[1] >= k).all())


def check(edges: Edges, degrees: npt.NDArray[np.int64]) -> None:
    """A simple graph in the promised form, with these degrees."""
    assert edges.dtype == np.int64
    assert edges.shape == (len(edges), 2)
    rows = edges.tolist()
    assert all(u < v for u, v in rows)
    assert rows == sorted(rows)
    assert len(pairs_of(edges)) == len(rows)
    assert (degrees_of(edges, len(degrees)) == degrees).all()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def graphs(draw: st.DrawFn, least: int = 0, most: int = 9) -> tuple[int, Edges]:
    n = draw(st.integers(least, most))
    possible = list(combinations(range(n), 2))
    return n, edges_of(draw(st.sets(st.sampled_from(possible))) if possible else [])


@st.composite
def two_graphs(draw: st.DrawFn, most: int = 9) -> tuple[int, Edges, Edges]:
    """A graph, and another over the same vertices."""
    n, one = draw(graphs(most=most))
    possible = list(combinations(range(n), 2))
    flipped = draw(st.sets(st.sampled_from(possible))) if possible else set()
    return n, one, edges_of(pairs_of(one) ^ {frozenset(pair) for pair in flipped})


def star(n: int) -> Edges:
    """0 is linked with all others."""
    return np.array([[0, i] for i in range(1, n)], dtype=np.int64)


@st.composite
def demands(draw: st.DrawFn, most: int = 12) -> tuple[list[int], int]:
    """Degrees within 0 .. n - 1, and a k of at most n."""
    n = draw(st.integers(1, most))
    degrees = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return degrees, draw(st.integers(1, n))
