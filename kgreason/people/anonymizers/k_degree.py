"""k-degree anonymity of an undirected simple graph: every degree is that of at least k vertices.

1. The degrees are made k-anonymous at least cost (degree_sequence.py).
2. A graph with these degrees is built that keeps all edges, as many as possible, or any (undirected_realization.py).
3. If there is none, noise is added to the original degrees, and both steps are repeated (Probing). The largest degrees
   demand more edge ends than available, so the lowest degrees are raised by one; if degrees may fall, lowering the
   largest is tried as well. Each try adds half of what was missing in the try before: the missing amount then falls to
   about a half, and no more noise than needed is added. If few ends are missing, other vertices of equal degree are
   drawn first, without more noise. The number of tries is bounded.

References
----------
KDEGREE, "Graph Anonymization Problem".
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, sections 3 and 6 (Probing).
"""

from __future__ import annotations

import numpy as np

from kgreason.base.errors import AnonymizationError, NotRealizable
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.people.anonymizers.degree_sequence import anonymous_degrees
from kgreason.people.anonymizers.generalization import PeopleRelease, publish
from kgreason.people.anonymizers.undirected_realization import (
    Edges,
    Obstacle,
    construct,
    obstacle,
    relaxed,
    supergraph,
)
from kgreason.people.model import Counts, Links, PeopleGraph, completed
from kgreason.people.settings import Construction, Sequence, Settings


def raised(degrees: Counts, amount: int, rng: np.random.Generator) -> Counts:
    """Add one to the `amount` lowest degrees; to all degrees repeatedly if `amount` exceeds their number.

    Low degrees have most effect, and a random choice would raise some of them repeatedly.
    """
    n = len(degrees)
    rounds, rest = divmod(amount, max(n, 1))
    noisy = np.minimum(degrees + min(rounds, n), n - 1)
    able = np.flatnonzero(noisy < n - 1)
    lowest = np.lexsort((rng.random(len(able)), noisy[able]))
    noisy[able[lowest[:rest]]] += 1
    return noisy


def lowered(degrees: Counts, amount: int, largest: int, rng: np.random.Generator) -> Counts:
    """Subtract `amount` in all from the `largest` largest degrees, evenly."""
    top = np.lexsort((rng.random(len(degrees)), -degrees))[:largest]
    rounds, rest = divmod(amount, max(len(top), 1))
    noisy = degrees.copy()
    noisy[top] -= min(rounds, len(degrees))
    noisy[top[:rest]] -= 1
    return np.maximum(noisy, 0)


_DOUBLED = 5  # tries after which the least noise doubles, as new degrees may absorb it
_FEW = 8  # missing ends up to which other vertices of equal degree are drawn
_DRAWN = 5  # most such draws


@record
class Figures:
    """Effort and changes of an anonymization.

    Attributes
    ----------
    tries
        Number of degree sequences computed, including the last.
    distance
        Sum of the changes of all degrees, L1.
    cheapest
        The same for the first sequence, before any noise; minimal for ``"dp"``.
    added, removed, kept
        Numbers of edges.
    """

    tries: int
    distance: int
    cheapest: int
    added: int
    removed: int
    kept: int


@record(eq=False)
class Made:
    """A k-degree anonymous graph: its edges, and the degree of each vertex."""

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
    sequence
        Method of the degree sequence: ``"dp"`` for least cost, or ``"greedy"``.
    construction
        ``"supergraph"`` only adds edges, ``"relaxed"`` keeps as many as possible, ``"construct"`` makes a new graph.
    tries
        Most degree sequences computed; ``"relaxed"`` computes two per try after the first.

    Raises
    ------
    NotRealizable
        If no simple graph has the degrees of the last try.
    AnonymizationError
        If the last try got stuck, there are fewer than k vertices, or a parameter is too small.
    """
    if tries < 1:
        raise AnonymizationError(f"at least 1 try is needed, not {tries}", hint="the default is 100")
    original = np.bincount(edges.ravel(), minlength=n)
    lowering, cheapest, drawings = construction == "relaxed", 0, 0
    noisy: list[Counts] = [original]
    found: list[Obstacle | None] = [None]
    progress.step("Making degrees anonymous")
    for attempt in range(tries):
        drawn = [
            anonymous_degrees(d, k, rng=rng, method=sequence, lowering=lowering, even=True) for d in noisy
        ]
        found, lacking = [obstacle(degrees) for degrees in drawn], 0
        cheapest = cheapest if attempt else _distance(original, drawn[0])
        possible = [degrees for degrees, why in zip(drawn, found, strict=True) if why is None]
        if possible:
            degrees = min(possible, key=lambda some: _distance(original, some))
            made, lacking = _realized(edges, degrees, construction, rng)
            if made is not None:
                figures = _figures(edges, made, n, attempt + 1, _distance(original, degrees), cheapest)
                return Made(made, degrees, figures)
        if 0 < lacking <= _FEW and drawings < _DRAWN:
            drawings += 1
            continue
        drawings = 0
        noisy = _with_noise(noisy, found, lacking, 2 ** (attempt // _DOUBLED), lowering, rng)
    raise _given_up(k, construction, tries, found[0])


def _with_noise(
    noisy: list[Counts],
    found: list[Obstacle | None],
    lacking: int,
    least: int,
    lowering: bool,
    rng: np.random.Generator,
) -> list[Counts]:
    """Degrees for the next try: the first with some raised, and if `lowering` the last with some lowered."""
    # `lacking` edge ends were missing if only the kept edges were the obstacle; `least` is the minimum noise, used
    # if half of the missing ends is less.
    half = [((why.short if why else lacking) + 1) // 2 for why in found]
    more = [raised(noisy[0], max(half[0], least), rng)]
    if lowering and (last := found[-1]):
        more.append(lowered(noisy[-1], max(half[-1], least), last.largest, rng))
    return more


def _realized(
    edges: Edges, degrees: Counts, construction: Construction, rng: np.random.Generator
) -> tuple[Edges | None, int]:
    """A graph, or the number of missing edge ends if `supergraph` got stuck; other constructions always succeed."""
    if construction == "supergraph":
        return supergraph(edges, degrees, rng)
    return (construct(degrees, rng) if construction == "construct" else relaxed(edges, degrees, rng)), 0


def _distance(one: Counts, other: Counts) -> int:
    return int(np.abs(one - other).sum())


def _figures(edges: Edges, made: Edges, n: int, tries: int, distance: int, cheapest: int) -> Figures:
    old, new = (one[:, 0] * n + one[:, 1] for one in (edges, made))
    kept = len(np.intersect1d(old, new, assume_unique=True))
    return Figures(tries, distance, cheapest, len(made) - kept, len(edges) - kept, kept)


def _given_up(k: int, construction: Construction, tries: int, found: Obstacle | None) -> AnonymizationError:
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


def k_degree_release(
    graph: PeopleGraph,
    k: int,
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress,
    secret: np.random.Generator | None,
) -> PeopleRelease:
    """Anonymize the degrees of an undirected graph; all users are released.

    Raises
    ------
    AnonymizationError
        If the graph does not consist of one mutual relation, has fewer than k users, or all tries fail.
    """
    name, links = _relation(graph, k)
    made = anonymize_degrees(
        edges_of(graph.n, links),
        graph.n,
        k,
        sequence=settings.sequence,
        construction=settings.construction,
        tries=settings.tries,
        rng=rng,
        progress=progress,
    )
    both = completed(graph.n, Links(made.edges[:, 0], made.edges[:, 1]))
    # changes of edges and degrees are measured on the release itself
    figures = {"tries": made.figures.tries, "cheapest": made.figures.cheapest}
    relations = {name: both}
    return publish(PeopleGraph(graph.labels, {}, relations), np.arange(graph.n), figures, graph, secret)


def edges_of(n: int, links: Links) -> Edges:
    """Linked pairs of n users, each once, the smaller number first, in order."""
    both = completed(n, links)
    up = both.source < both.target
    return np.stack([both.source[up], both.target[up]], axis=1)


def _relation(graph: PeopleGraph, k: int) -> tuple[str, Links]:
    if len(graph.relations) != 1:
        raise AnonymizationError(
            f"k-degree is of graphs with one relation, and this one has {len(graph.relations)} "
            f"({', '.join(graph.relations)})",
            hint="name one relation, or take --method cdga, which anonymizes the degrees of each",
        )
    ((name, links),) = graph.relations.items()
    if not links.mutual:
        raise AnonymizationError(
            f"k-degree is of undirected graphs, and links of {name} have a direction",
            hint=f"say --mutual {name} (in a schema: mutual) if direction means nothing, or --method cdga for a "
            "directed graph",
        )
    if graph.n < k:
        many, others = (f"{i:,} {what}{'s' * (i > 1)}" for i, what in ((graph.n, "user"), (k - 1, "other")))
        raise AnonymizationError(
            f"the graph has {many}, and each user must share a degree with k - 1 = {others}",
            hint="lower k"
            if graph.n > 1
            else "one user alone cannot be anonymous: is this all of the graph?",
        )
    return name, links
