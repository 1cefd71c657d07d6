"""Checker of people releases: whether a release, or a series of releases, satisfies an anonymity model.

It shares no code with the anonymizers except for the graph model.

References
----------
THESIS, definitions 2 (Paired k-degree), 9 (k-ad), 22 (kw-tad) and 23 (p-k-ad); PCKGA, definition 2; for k-degree
KDEGREE and Liu and Terzi, "Towards identity anonymization on graphs", SIGMOD 2008, definition 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph import measures
from kgreason.graph.measures import keys, pairs
from kgreason.people.model import Counts, PeopleGraph, links_of
from kgreason.people.settings import PeopleModel
from kgreason.people.utility import linked
from kgreason.people.verification import conditions
from kgreason.people.verification.information import degrees, history, information, shared, shared_by_anyone
from kgreason.people.verification.verdict import PeopleVerdict, Published, Source
from kgreason.release.verdicts import SHOWN, Item, judged, listing, no_label_kept

INFORMATION = "values and degrees"
NEEDED = (
    "mapping: whether each user has a released user of its own",
    "users: whether each user is released or listed as removed",
    "values: whether released users have the values that they had",
    "labels: whether original names are in the release",
    "fakes: number of synthetic users",
)
NEEDED_OF_DEGREES = (
    "mapping: whether each user has a released user of its own",
    "labels: whether original names are in the release",
    "users: whether all users are released",
    "fakes: number of synthetic users",
)
NEEDED_EDGES = "edges: whether all original edges are in the release"
NEEDED_OVER = "names: whether users keep their released names"


@record(eq=False)
class Demands:
    """The k of each user, at least 1: of the original users, or else of the released ones."""

    levels: Counts
    original: bool = True


def demands_of(levels: Mapping[str, int] | Counts, release: Published) -> Demands:
    """The k of each user, by name or in the order of the users.

    Names are those of the original; or those of the release if they include all its users, and the original is unknown
    or not all its users are included.

    Raises
    ------
    AnonymizationError
        If a user has no k, or a k is no integer of at least 1.
    """
    original = None if release.source is None else release.source.graph
    if not isinstance(levels, Mapping):
        return _checked(levels, original or release.graph, original is not None)
    asked = release.graph.labels.tolist() if original is None else original.labels.tolist()
    lacking = [label for label in asked if label not in levels]
    if not lacking:
        return _checked([levels[label] for label in asked], original or release.graph, original is not None)
    if original is None and not levels.keys() & set(asked) and len(levels) >= len(asked):
        return _checked(list(levels.values()), None, True)
    if original is not None and levels.keys() >= set(release.graph.labels.tolist()):
        return _checked(
            [levels[label] for label in release.graph.labels.tolist()], release.graph, original=False
        )
    more = f" ({len(lacking):,} such of {len(asked):,} users)" if len(lacking) > 1 else ""
    raise AnonymizationError(
        f"the user {lacking[0]!r} has no k{more}", hint="name the k of every user, 1 for no protection"
    )


def _checked(levels: Sequence[int] | Counts, graph: PeopleGraph | None, original: bool) -> Demands:
    found = np.asarray(levels if len(levels) else np.zeros(0, dtype=np.int64))
    if graph is not None and found.shape != (graph.n,):
        raise AnonymizationError(
            f"there are {len(found):,} values of k for {graph.n:,} users",
            hint="give one for each user, in their order",
        )
    if found.dtype.kind not in "iu" or (found < 1).any():
        raise AnonymizationError("every k must be a whole number of at least 1")
    return Demands(found.astype(np.int64), original)


def verify_people(
    releases: Sequence[Published],
    model: PeopleModel,
    k: int | None = None,
    demands: Demands | None = None,
    window: int | None = None,
    *,
    all_edges: bool = False,
) -> PeopleVerdict:
    """Verify that a release satisfies a model, or for kw-tad the last `window` releases of a series.

    Parameters
    ----------
    releases
        One, or for kw-tad several, latest last. Originals are used if all are known.
    k
        Least number of users that are alike, if the same for all.
    demands
        The k of each user, for p-k-ad, in place of `k`.
    window
        For kw-tad: number of releases that attackers have; `None`: all.
    all_edges
        For k-degree: whether all original edges must be in the release.

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(["a", "b"], [("a", "job", "x"), ("b", "job", "y")])
    >>> verify_people([Published(graph)], "paired-k-degree", 2).holds
    True
    >>> print(verify_people([Published(graph)], "k-ad", 2)["classes"].detail)
    2 of 2 users share values and degrees with too few; at worst 1 user where k = 2
    """
    last = releases[len(releases) - (window or len(releases)) :]
    if any(release.source is None for release in last):
        last = [replace(release, source=None) for release in last]
    if any(release.files is None for release in last):
        last = [replace(release, files=None) for release in last]
    if demands is not None:
        verdict = _personalized(last[0], demands)
    else:
        assert k is not None
        verdict = _series(last, k) if model == "kw-tad" else _alike(last[0], model, k)
    mutual = model != "k-degree" and any(conditions.mutual_relations(release) for release in last)
    found = (_besides(release, model, mutual=mutual, all_edges=all_edges) for release in last)
    columns = zip(*found, strict=True)
    items = [*verdict.items, *(_each(column, last) for column in columns)]
    if last[0].source is None:
        needed = (*verdict.needs_original, *(NEEDED_OF_DEGREES if model == "k-degree" else NEEDED))
        needed += (NEEDED_OVER,) * (model == "kw-tad") + (NEEDED_EDGES,) * all_edges
        return replace(verdict, items=tuple(items), needs_original=needed)
    if model == "kw-tad":
        items.append(conditions.names(last))
    return replace(verdict, items=tuple(items))


def _alike(release: Published, model: PeopleModel, k: int) -> PeopleVerdict:
    """Whether each user shares degrees (Paired k-degree), or values and degrees (k-ad), with k - 1 others."""
    if model == "k-degree":
        return _k_degree(release, k)
    graph = release.graph
    alone = model == "paired-k-degree"
    found, what = (degrees(graph), "degrees") if alone else (information(graph), INFORMATION)
    item, figures = shared(found, graph.labels, np.full(graph.n, k), what)
    notes = (_unprotected_values(graph),) if alone and graph.attributes else ()
    return PeopleVerdict(model, k, 1, (item,), figures, notes=notes)


def _personalized(release: Published, demands: Demands) -> PeopleVerdict:
    """Whether each user shares values and degrees with as many others as the user's k demands."""
    # If it is unknown which released user has which k, only what holds for any assignment is decided.
    found, source, levels = information(release.graph), release.source, demands.levels
    if demands.original:
        if source is None or not conditions.mapping(release, source).holds:
            item, figures = shared_by_anyone(found, levels, INFORMATION)
            needed = () if source else ("levels: whether each released user has the level of its original",)
            return PeopleVerdict("p-k-ad", None, 1, (item,), figures, needed)
        levels = _carried(levels, source, release.graph.n)
    item, figures = shared(found, release.graph.labels, np.maximum(levels, 1), INFORMATION)
    return PeopleVerdict("p-k-ad", None, 1, (item, _levels(levels, release.graph)), figures)


def _series(releases: Sequence[Published], k: int) -> PeopleVerdict:
    """Whether users share the series over the releases, and the information of each single release."""
    # Definition 22 demands both. The second follows from the first, but is reported as well.
    over = history([release.graph for release in releases])
    item, figures = shared(
        over.classes, over.labels, np.full(len(over.labels), k), f"the series of {INFORMATION}"
    )
    alone = [
        shared(information(graph), graph.labels, np.full(graph.n, k), INFORMATION, "each release")[0]
        for graph in (release.graph for release in releases)
    ]
    each = _each(alone, releases)
    return PeopleVerdict("kw-tad", k, len(releases), (item, each), figures)


def _besides(release: Published, model: PeopleModel, *, mutual: bool, all_edges: bool) -> list[Item]:
    """Conditions besides the definition; the same for all releases with equally much known."""
    graph, source, plain = release.graph, release.source, model == "k-degree"
    items = [conditions.simple(release), *([conditions.mutual(release)] if mutual else [])]
    if plain:
        items.append(conditions.both_ways("undirected", graph, graph.relations, "links"))
        items += [_relation(graph, source), _attributes(graph)]
    items += [release.files] if release.files is not None else []
    if source is None:
        return items
    paired = conditions.mapping(release, source)
    items += [paired, no_label_kept(source.graph, graph, "name")]
    if not paired.holds:
        lost = ("users", "fakes", *(["edges"] * all_edges)) if plain else ("users", "values", "fakes")
        broken = "not examined: the mapping is broken"
        return [*items, *(Item(name, False, broken, undecided=True) for name in lost)]
    items.append(_users(source) if plain else conditions.users(source))
    if model == "paired-k-degree" and not graph.attributes:
        items.append(Item("values", True, "the release has no values: the model is of degrees"))
    elif not plain:
        items.append(conditions.values(release, source))
    items.append(conditions.fakes(release, source, allowed=model == "kw-tad"))
    return [*items, *([_edges(graph, source)] if all_edges else [])]


def _each(items: Sequence[Item], releases: Sequence[Published]) -> Item:
    """Conjunction of an item over several releases."""
    if len(items) == 1:
        return items[0]
    bad = [(item, release.name) for item, release in zip(items, releases, strict=True) if not item.holds]
    if not bad:
        where = f"in each of {len(items)} releases; in {releases[-1].name}: "
        return replace(items[-1], detail=where + items[-1].detail)
    detail = "; ".join(f"in {name}: {item.detail}" for item, name in bad)
    words = tuple(f"{name}: {word}" for item, name in bad for word in item.witnesses)
    undecided = all(item.undecided for item, _ in bad)
    return Item(items[0].name, False, detail, words, undecided=undecided)


def _carried(levels: Counts, source: Source, n: int) -> Counts:
    """The k of each released user, 0 for fake users."""
    carried = np.zeros(n, dtype=np.int64)
    kept = source.mapping >= 0
    carried[source.mapping[kept]] = levels[kept]
    return carried


def _levels(levels: Counts, graph: PeopleGraph) -> Item:
    without = np.flatnonzero(levels < 1)
    if len(without):
        words = listing(map(str, graph.labels[without[:SHOWN]]), len(without))
        return Item("levels", False, f"{len(without):,} released users have no k", words)
    between = f"{levels.min()} to {levels.max()}" if len(levels) else "none"
    return Item("levels", True, f"each of {graph.n:,} released users has its level: {between}")


def _unprotected_values(graph: PeopleGraph) -> str:
    many = len(graph.attributes)
    return (
        f"the release has values of {many:,} attribute{'s' * (many > 1)}, which paired-k-degree does not protect, "
        "but k-ad does"
    )


NAMED = 3  # users named for each degree


def _k_degree(release: Published, k: int) -> PeopleVerdict:
    """Verify that each user of a release shares the degree with k - 1 others.

    Links count regardless of relation and direction: the degree of a user is the number of neighbours.

    Examples
    --------
    >>> def path(users: str) -> PeopleGraph:
    ...     return PeopleGraph.from_triples(
    ...         users, [], [(u, "mail", v) for u, v in zip(users, users[1:])], mutual=["mail"]
    ...     )
    >>> _k_degree(Published(path("abcd")), 2).holds
    True
    >>> print(_k_degree(Published(path("abc")), 2)["classes"])
    FAILS  classes: 1 of 3 users share the degree with too few; at worst 1 user where k = 2
        degree 2: 1 user (b), k = 2
    """
    graph = release.graph
    degree = measures.degrees(graph.n, pairs(graph.n, *linked(graph)))
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


def _relation(graph: PeopleGraph, source: Source | None) -> Item:
    """Condition: exactly one relation, which is one of the original if that is known."""
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


def _attributes(graph: PeopleGraph) -> Item:
    """Condition: no attributes are released."""
    names = sorted(graph.attributes)
    what = f"values of {len(names):,} attribute{'s' * (len(names) > 1)}, which distinguish users"
    return judged("attributes", names, f"the release tells {what}", "the release has no values")


def _notes(graph: PeopleGraph, source: Source) -> Iterator[str]:
    for name in sorted(graph.relations):
        links = source.graph.relations.get(name)
        if links is not None and not links.mutual:
            yield (
                f"the original does not say that {name} is mutual: of links that run one way, the release tells only "
                "that there is one"
            )


def _edges(graph: PeopleGraph, source: Source) -> Item:
    """Condition: all original edges are released, in their relation and in either direction."""
    original, lost, total, missing = source.graph, list[str](), 0, 0
    for name, links in sorted(original.relations.items()):
        theirs = links_of(graph, name)
        ends = pairs(original.n, links.source, links.target)
        images = source.mapping[ends]
        there = np.isin(keys(graph.n, *images), keys(graph.n, theirs.source, theirs.target))
        gone = ends[:, ~(there & (images >= 0).all(axis=0))]
        total += ends.shape[1]
        missing += gone.shape[1]
        lost += [f"{a} and {b}" for a, b in original.labels[gone[:, :SHOWN]].T]
    fails = f"{missing:,} of {total:,} original edges are not in the release"
    return judged("edges", lost[:SHOWN], fails, f"all {total:,} original edges are in the release", missing)


def _users(source: Source) -> Item:
    """Condition: all original users are released, as the method removes none."""
    lost = np.flatnonzero(source.mapping < 0)
    total = len(source.mapping)
    fails = f"{len(lost):,} of {total:,} original users are not released, and k-degree removes none"
    words = map(str, source.graph.labels[lost[:SHOWN]])
    return judged("users", words, fails, f"all {total:,} users are released", len(lost))
