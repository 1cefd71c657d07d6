"""k-degree anonymity of a graph of people that is undirected: of one relation, whose links run both ways.

References
----------
KDEGREE; Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.k_degree.k_degree import anonymize_degrees
from kgreason.anonymizers.people.generalize import PeopleRelease, relabelled
from kgreason.anonymizers.people.settings import Settings
from kgreason.errors import AnonymizationError
from kgreason.graph.people.model import Links, PeopleGraph, completed
from kgreason.progress import Progress

Edges = npt.NDArray[np.int64]


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
