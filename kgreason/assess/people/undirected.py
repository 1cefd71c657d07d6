"""Decide whether a release is k-degree anonymous: undirected, and each user shares his degree with k - 1 others.

References
----------
KDEGREE; Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, Definition 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kgreason.assess.measures import degrees, keys, pairs
from kgreason.assess.people.information import shared
from kgreason.assess.people.structure import NONE, linked
from kgreason.assess.people.verdict import PeopleVerdict, Published, Source
from kgreason.assess.verdict import SHOWN, Item, judged, listing
from kgreason.graph.people.model import Counts, PeopleGraph

NAMED = 3  # users of a degree


def k_degree(release: Published, k: int) -> PeopleVerdict:
    """Decide whether each user of a release shares his degree with k - 1 others.

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
    graph = release.graph
    degree = degrees(graph.n, pairs(graph.n, *linked(graph)))
    item, figures = shared(degree, graph.labels, np.full(graph.n, k, dtype=np.int64), "the degree")
    size = np.bincount(degree)
    rare = np.flatnonzero((size > 0) & (size < k))
    worst = rare[np.argsort(size[rare], kind="stable")]
    words = (_witness(graph, degree, int(d), k) for d in worst[:SHOWN])
    item = replace(item, witnesses=listing(words, len(rare)))
    notes = () if release.source is None else tuple(_notes(graph, release.source))
    return PeopleVerdict("k-degree", k, 1, (item,), figures, notes=notes)


def _witness(graph: PeopleGraph, degree: Counts, of: int, k: int) -> str:
    users = np.flatnonzero(degree == of)
    names = ", ".join(map(str, graph.labels[users[:NAMED]])) + ", ..." * (len(users) > NAMED)
    return f"degree {of:,}: {len(users):,} user{'s' * (len(users) > 1)} ({names}), k = {k}"


def relation(graph: PeopleGraph, source: Source | None) -> Item:
    """Whether there is one relation: one of the original, if that is known."""
    names = sorted(graph.relations)
    if len(names) != 1:
        detail = f"the release has {len(names):,} relations, and k-degree is of one"
        return Item("relation", False, detail, listing(names))
    detail = f"the release has one relation, {names[0]}"
    if source is not None and names[0] not in source.graph.relations:
        others = sorted(source.graph.relations)
        detail += ", which the original does not have"
        return Item(
            "relation", False, detail, listing((f"the original has {one}" for one in others), len(others))
        )
    return Item("relation", True, detail)


def attributes(graph: PeopleGraph) -> Item:
    """Whether nothing is told besides."""
    names = sorted(graph.attributes)
    what = f"values of {len(names):,} attribute{'s' * (len(names) > 1)}, which tell users apart"
    return judged("attributes", names, f"the release tells {what}", "the release tells no values")


def _notes(graph: PeopleGraph, source: Source) -> Iterator[str]:
    for name in sorted(graph.relations):
        links = source.graph.relations.get(name)
        if links is not None and not links.mutual:
            yield (
                f"the original does not say that {name} is mutual: of links that run one way, the release tells only "
                "that there is one"
            )


def edges(graph: PeopleGraph, source: Source) -> Item:
    """Whether all original edges are in the release, in their relation; a link back counts as the same edge."""
    original, lost, total, missing = source.graph, list[str](), 0, 0
    for name, links in sorted(original.relations.items()):
        theirs = graph.relations.get(name, NONE)
        ends = pairs(original.n, links.source, links.target)
        images = source.mapping[ends]
        there = np.isin(keys(graph.n, *images), keys(graph.n, theirs.source, theirs.target))
        gone = ends[:, ~(there & (images >= 0).all(axis=0))]
        total += ends.shape[1]
        missing += gone.shape[1]
        lost += [f"{a} and {b}" for a, b in original.labels[gone[:, :SHOWN]].T]
    fails = f"{missing:,} of {total:,} original edges are not in the release"
    return judged("edges", lost[:SHOWN], fails, f"all {total:,} original edges are in the release", missing)


def users(source: Source) -> Item:
    """Whether all original users are released: the method leaves out nobody."""
    lost = np.flatnonzero(source.mapping < 0)
    total = len(source.mapping)
    fails = f"{len(lost):,} of {total:,} original users are not released, and k-degree removes none"
    words = map(str, source.graph.labels[lost[:SHOWN]])
    return judged("users", words, fails, f"all {total:,} users are released", len(lost))
