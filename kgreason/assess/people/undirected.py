"""Decide whether a release is k-degree anonymous: undirected, and each user shares his degree with k - 1 others.

References
----------
KDEGREE; Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, Definition 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.assess.people import conditions
from kgreason.assess.people.published import Published, Source
from kgreason.assess.people.sharing import shared
from kgreason.assess.people.verdict import Figures, PeopleVerdict
from kgreason.assess.verdict import Item
from kgreason.assess.witness import SHOWN, listing
from kgreason.graph.people.model import Counts, PeopleGraph

Ends = npt.NDArray[np.int64]
NAMED = 3  # users of a degree

NEEDED = (
    "mapping: whether each user has a released user of his own",
    "labels: whether original names are in the release",
    "users: whether all users are released",
    "fakes: how many released users stand for nobody",
)


def k_degree(release: Published, k: int) -> PeopleVerdict:
    """Decide whether a release is k-degree anonymous.

    Links count whatever their relation and whichever way they run, so that the degree is the number of users whom a
    user is linked with.

    Examples
    --------
    >>> def path(users: str) -> PeopleGraph:
    ...     return PeopleGraph.from_triples(
    ...         users, [], [(u, "mail", v) for u, v in zip(users, users[1:])], mutual=["mail"]
    ...     )
    >>> k_degree(Published(path("abcd")), 2).holds
    True
    >>> print(k_degree(Published(path("abc")), 2)["classes"])
    FAILS  classes: 1 of 3 users share the degree with too few; at worst 1 user where k = 2
        degree 2: 1 user (b), k = 2
    """
    item, figures = _classes(release.graph, k)
    items = [item, conditions.simple(release), _undirected(release.graph), *_alone(release.graph)]
    source = release.source
    if source is None:
        return PeopleVerdict("k-degree", k, 1, tuple(items), figures, NEEDED)
    paired = conditions.mapping(release, source)
    items += [paired, conditions.labels(release, source)]
    if paired.holds:
        items += [_users(source), conditions.fakes(release, source, allowed=False)]
    else:
        broken = "not examined: the mapping is broken"
        items += [Item(name, False, broken, undecided=True) for name in ("users", "fakes")]
    return PeopleVerdict("k-degree", k, 1, tuple(items), figures)


def _classes(graph: PeopleGraph, k: int) -> tuple[Item, Figures]:
    """Whether each degree is that of k users, or of none."""
    degree = _degrees(graph)
    item, figures = shared(degree, graph.labels, np.full(graph.n, k, dtype=np.int64), "the degree")
    if item.holds:
        return item, figures
    size = np.bincount(degree)
    rare = np.flatnonzero((size > 0) & (size < k))
    worst = rare[np.argsort(size[rare], kind="stable")]
    words = (_witness(graph, degree, int(d), k) for d in worst[:SHOWN])
    return replace(item, witnesses=listing(words, len(rare))), figures


def _witness(graph: PeopleGraph, degree: Counts, of: int, k: int) -> str:
    users = np.flatnonzero(degree == of)
    names = ", ".join(map(str, graph.labels[users[:NAMED]])) + ", ..." * (len(users) > NAMED)
    return f"degree {of:,}: {len(users):,} user{'s' * (len(users) > 1)} ({names}), k = {k}"


def _degrees(graph: PeopleGraph) -> Counts:
    """How many users each is linked with, int64, shape (n,); a link to himself is none."""
    source, target = _ends(graph)
    n = max(graph.n, 1)
    other = source != target
    low, high = np.minimum(source, target)[other], np.maximum(source, target)[other]
    edges = np.stack(np.divmod(np.unique(low * n + high), n))
    return np.bincount(edges.ravel(), minlength=graph.n)


def _ends(graph: PeopleGraph) -> Ends:
    """Links of all relations, int64, shape (2, m)."""
    parts = [np.stack([links.source, links.target]) for links in graph.relations.values()]
    return np.concatenate([np.empty((2, 0), dtype=np.int64), *parts], axis=1)


def _undirected(graph: PeopleGraph) -> Item:
    """Whether each link stands in both directions."""
    source, target = _ends(graph)
    alone = np.flatnonzero(~np.isin(target * graph.n + source, source * graph.n + target))
    if len(alone):
        detail = f"{len(alone):,} of {len(source):,} links run one way only"
        ends = zip(graph.labels[source[alone[:SHOWN]]], graph.labels[target[alone[:SHOWN]]], strict=True)
        return Item(
            "undirected", False, detail, listing((f"{a} to {b}, not back" for a, b in ends), len(alone))
        )
    return Item("undirected", True, f"all {len(source):,} links run both ways")


def _alone(graph: PeopleGraph) -> tuple[Item, Item]:
    """Whether there is nothing besides: one relation, and no attributes."""
    relations, attributes = sorted(graph.relations), sorted(graph.attributes)
    one, told = len(relations) == 1, len(attributes)
    kinds = (
        f"{len(relations):,} relations, and k-degree is of one"
        if not one
        else f"one relation, {relations[0]}"
    )
    values = (
        f"values of {told:,} attribute{'s' * (told > 1)}, which tell users apart" if told else "no values"
    )
    return (
        Item("relation", one, f"the release has {kinds}", () if one else listing(relations)),
        Item("attributes", not told, f"the release tells {values}", listing(attributes)),
    )


def _users(source: Source) -> Item:
    """Whether all original users are released: the method leaves out nobody."""
    lost = np.flatnonzero(source.mapping < 0)
    if len(lost):
        detail = f"{len(lost):,} of {len(source.mapping):,} original users are not released, and k-degree removes none"
        return Item("users", False, detail, listing(map(str, source.graph.labels[lost[:SHOWN]]), len(lost)))
    return Item("users", True, f"all {len(source.mapping):,} users are released")
