"""k-degree anonymity of an undirected simple graph: every degree is that of at least k vertices.

1. The degrees are made k-anonymous at the least cost (sequence.py).
2. A graph with these degrees is made (realize.py): one that keeps all edges, as many as possible, or any.
3. If there is none, some degrees are changed to begin with, and all is tried again: Probing. The largest degrees want
   more ends of edges than there are, so the lowest get one edge more; where degrees may fall, the largest with one edge
   less are tried beside them. Each try adds half of what was lacking in the try before, as what is lacking then falls
   to about a half, and no more is added than it takes. Where few ends were lacking, other ones of equal degrees are
   changed first, without more noise. The number of tries is bounded.

References
----------
KDEGREE, "Graph Anonymization Problem".
Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, sections 3 and 6 (Probing).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kgreason.base.errors import AnonymizationError, NotRealizable
from kgreason.base.progress import SILENT, Progress
from kgreason.people.anonymizers.generalization import PeopleRelease, relabelled
from kgreason.people.anonymizers.k_degree.degree_construction import Obstacle, obstacle
from kgreason.people.anonymizers.k_degree.degree_sequence import anonymous_degrees
from kgreason.people.anonymizers.k_degree.undirected_realization import Edges, construct, relaxed, supergraph
from kgreason.people.model import Counts, Links, PeopleGraph, completed
from kgreason.people.settings import Construction, Sequence, Settings


def raised(degrees: Counts, amount: int, rng: np.random.Generator) -> Counts:
    """Add one to the degrees of so many vertices, the lowest first; to all and then again where they are too few.

    Low degrees mend most, and drawing from all would raise some of them again and again.

    Examples
    --------
    >>> raised(np.array([3, 0, 2, 3, 1]), 2, np.random.default_rng(0)).tolist()
    [3, 1, 2, 3, 2]
    """
    n = len(degrees)
    rounds, rest = divmod(amount, max(n, 1))
    noisy = np.minimum(degrees + min(rounds, n), n - 1)
    able = np.flatnonzero(noisy < n - 1)
    lowest = np.lexsort((rng.random(len(able)), noisy[able]))
    noisy[able[lowest[:rest]]] += 1
    return noisy


def lowered(degrees: Counts, amount: int, largest: int, rng: np.random.Generator) -> Counts:
    """Take so much from so many largest degrees, from each of them as much as from the others.

    Examples
    --------
    >>> lowered(np.array([3, 0, 2, 4, 1]), 5, 2, np.random.default_rng(0)).tolist()
    [1, 0, 2, 1, 1]
    """
    top = np.lexsort((rng.random(len(degrees)), -degrees))[:largest]
    rounds, rest = divmod(amount, max(len(top), 1))
    noisy = degrees.copy()
    noisy[top] -= min(rounds, len(degrees))
    noisy[top[:rest]] -= 1
    return np.maximum(noisy, 0)


_DOUBLED = 5  # tries after which the least noise doubles, for new degrees may swallow what is lacking
_FEW = 8  # lacking ends for which chance may do: which of equal degrees are changed is drawn again
_DRAWN = 5  # times that it is


@dataclass(frozen=True)
class Figures:
    """What it took.

    Attributes
    ----------
    tries
        How often degrees were made anonymous, with the last time.
    distance
        Sum of what the degrees of all vertices changed by, L1.
    cheapest
        The same of the first sequence, before there was noise; with ``"dp"`` no k-anonymous degrees cost less.
    added, removed, kept
        Numbers of edges.
    """

    tries: int
    distance: int
    cheapest: int
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
        How often degrees are made anonymous at most; ``"relaxed"`` tries two sequences each time but the first.

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
    # `lacking` ends of edges were lacking where there was nothing but the edges that are kept; `least` noise
    # is added even where half of that is less.
    half = [((why.short if why else lacking) + 1) // 2 for why in found]
    more = [raised(noisy[0], max(half[0], least), rng)]
    if lowering and (last := found[-1]):
        more.append(lowered(noisy[-1], max(half[-1], least), last.largest, rng))
    return more


def _realized(
    edges: Edges, degrees: Counts, construction: Construction, rng: np.random.Generator
) -> tuple[Edges | None, int]:
    """A graph, or how many ends of edges were lacking where `supergraph` got stuck; the others never do."""
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

    Parameters
    ----------
    secret
        Draws labels; `None`: the operating system's source.

    Raises
    ------
    AnonymizationError
        If the graph is none with one mutual relation, has fewer than k users, or none is found in so many tries.
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
    users = np.arange(graph.n)
    # what became of edges and degrees is measured on the release itself
    figures = {name: f for name, f in made.figures.as_dict().items() if name in ("cheapest", "tries")}
    return relabelled(PeopleGraph(graph.labels, {}, {name: both}), users, figures, graph, secret)


def edges_of(n: int, links: Links) -> Edges:
    """Pairs of n users who are linked, each once; int64, shape (m, 2), the smaller number first, in order.

    Examples
    --------
    >>> edges_of(3, Links(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), mutual=True)).tolist()
    [[0, 1], [1, 2]]
    """
    both = completed(n, links)
    up = both.source < both.target
    return np.stack([both.source[up], both.target[up]], axis=1)


def _relation(graph: PeopleGraph, k: int) -> tuple[str, Links]:
    """The one relation of an undirected graph."""
    if len(graph.relations) != 1:
        raise AnonymizationError(
            f"k-degree is of graphs with one relation, and this one has {len(graph.relations)} "
            f"({', '.join(graph.relations)})",
            hint="leave the others out, or take --method cdga, which makes the degrees of each alike",
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
            f"the graph has {many}, and each must share his degree with k - 1 = {others}",
            hint="lower k"
            if graph.n > 1
            else "one user alone cannot be anonymous: is this all of the graph?",
        )
    return name, links
