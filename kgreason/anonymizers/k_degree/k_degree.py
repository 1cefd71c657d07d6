"""k-degree anonymity of an undirected simple graph: whoever knows how many edges somebody has finds k vertices or more.

1. The degrees are made k-anonymous at the least cost (sequence.py).
2. A graph with these degrees is made (realize.py): one that keeps all edges, as many as possible, or any.
3. If there is none, a few vertices of low degree get one edge more to begin with, and all is tried again: Probing. The
   largest degrees want more ends of edges than there are, so others are needed. Each try is a try with more of this
   noise, and their number is bounded.

References
----------
KDEGREE, "Graph Anonymization Problem".
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, sections 3 and 6 (Probing).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from kgreason.anonymizers.k_degree.realizable import Obstacle, obstacle
from kgreason.anonymizers.k_degree.realize import Edges, construct, relaxed, supergraph
from kgreason.anonymizers.k_degree.sequence import anonymous_degrees
from kgreason.choices import Construction, Sequence
from kgreason.errors import AnonymizationError, NotRealizable
from kgreason.graph.people.model import Counts
from kgreason.progress import SILENT, Progress
from kgreason.records import dataclass

_DOUBLED = (
    10  # tries after which each adds twice as much noise: a hundred suffice for whatever noise can mend
)


@dataclass(frozen=True)
class Figures:
    """What it took.

    Attributes
    ----------
    tries
        Sequences of degrees that were tried, with the last.
    distance
        Sum of what the degrees of all vertices changed by, L1.
    added, removed, kept
        Numbers of edges.
    """

    tries: int
    distance: int
    added: int
    removed: int
    kept: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Made:
    """A k-degree anonymous graph.

    Attributes
    ----------
    edges
        int64, shape (m, 2), rows u < v.
    degrees
        Of each vertex, int64, shape (n,).
    """

    edges: Edges
    degrees: Counts
    figures: Figures


def anonymize_degrees(
    edges: Edges,
    n: int,
    k: int,
    *,
    sequence: Sequence = "dp",
    construction: Construction = "relaxed",
    tries: int = 100,
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> Made:
    """Make an undirected simple graph k-degree anonymous.

    Parameters
    ----------
    edges
        int64, shape (m, 2), rows u < v, none twice.
    n
        Number of vertices.
    k
        How many vertices at least shall have each degree that occurs.
    sequence
        Whether degrees are exactly the cheapest, ``"dp"``, or found greedily.
    construction
        ``"supergraph"`` only adds edges, ``"relaxed"`` keeps as many as it can, ``"construct"`` makes a new graph.
    tries
        How many sequences of degrees are tried at most.

    Returns
    -------
    Made

    Raises
    ------
    NotRealizable
        If no simple graph has the last of the degrees that were tried.
    AnonymizationError
        If the last try got stuck, there are fewer than k vertices, or numbers are too small.

    Examples
    --------
    >>> star = np.array([[0, 1], [0, 2], [0, 3]])
    >>> made = anonymize_degrees(star, 4, 2, construction="supergraph", rng=np.random.default_rng(0))
    >>> len(np.unique(made.degrees)) <= 2, made.figures.removed
    (True, 0)
    """
    if tries < 1:
        raise AnonymizationError(f"at least 1 try is needed, not {tries}", hint="the default is 100")
    original = np.bincount(edges.ravel(), minlength=n)
    noisy, found = original, None
    progress.step("Making degrees anonymous")
    for attempt in range(tries):
        degrees = anonymous_degrees(noisy, k, method=sequence, lowering=construction == "relaxed", even=True)
        found = obstacle(degrees)
        if found is None:
            made = _realized(edges, degrees, construction, rng)
            if made is not None:
                return Made(made, degrees, _figures(edges, made, original, degrees, attempt + 1))
        # so many ends are missing; where none are, or new degrees swallow the noise, there is more of it with time
        noisy = _with_noise(noisy, max(found.short if found else 0, 2 ** (attempt // _DOUBLED)), rng)
    raise _given_up(k, construction, tries, found)


def _realized(
    edges: Edges, degrees: Counts, construction: Construction, rng: np.random.Generator
) -> Edges | None:
    if construction == "construct":
        return construct(degrees, rng)
    return (supergraph if construction == "supergraph" else relaxed)(edges, degrees, rng)


def _with_noise(degrees: Counts, vertices: int, rng: np.random.Generator) -> Counts:
    """Add one to the degrees of some vertices: to the lowest, at random among equal ones.

    Low degrees mend most, and drawing from all would raise some of them again and again.
    """
    able = np.flatnonzero(degrees < len(degrees) - 1)
    lowest = np.lexsort((rng.random(len(able)), degrees[able]))
    noisy = degrees.copy()
    noisy[able[lowest[:vertices]]] += 1
    return noisy


def _figures(edges: Edges, made: Edges, original: Counts, degrees: Counts, tries: int) -> Figures:
    n = len(degrees)
    old, new = (one[:, 0] * n + one[:, 1] for one in (edges, made))
    kept = len(np.intersect1d(old, new, assume_unique=True))
    distance = int(np.abs(degrees - original).sum())
    return Figures(tries, distance, len(made) - kept, len(edges) - kept, kept)


def _given_up(k: int, construction: Construction, tries: int, found: Obstacle | None) -> AnonymizationError:
    """Failure of the last try."""
    tried = f"{tries} sequence{'s' * (tries > 1)} of {k}-anonymous degrees tried"
    other = "" if construction == "relaxed" else ", or --construction relaxed, which may also remove edges"
    hint = f"take a smaller k{other}, or more tries"
    if found is not None:
        return NotRealizable(
            f"no graph was found by {construction}: {tried}; of the last, {found}", hint=hint
        )
    return AnonymizationError(
        f"no graph was found by {construction}: {tried}; there are graphs with the last, but none with all edges of "
        "the original one was found",
        hint=hint,
    )
