"""Conditions on releases besides the anonymity models: sets of triples, and truthfulness to the original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import Attribute, PeopleGraph
from kgreason.people.verification.verdict import Published, Rows, Source
from kgreason.release import verdicts as shared
from kgreason.release.mapping import REMOVED, UNLISTED
from kgreason.release.verdicts import SHOWN, Item, judged


def simple(release: Published) -> Item:
    """Condition ``simple``: no repeated triples and no loops, in the graph and the rows it was read from."""
    rows = release.rows or Rows()
    again, own = _repeated(release.graph), _loops(release.graph)
    repeated, loops = rows.repeated + len(again), rows.loops + len(own)
    detail = f"{repeated:,} rows are repeated, {loops:,} links go from a user to itself"
    holds = "no triple is repeated, no user has a link to itself"
    return judged("simple", [*rows.examples, *again, *own][:SHOWN], detail, holds, repeated + loops)


def mapping(release: Published, source: Source) -> Item:
    """Condition ``mapping``: it is injective on the released original users."""
    return shared.mapping(source.graph, release.graph, source.mapping, "users", UNLISTED)


def mutual_relations(release: Published) -> set[str]:
    """Mutual relations of the original, if known, or else of the release."""
    graphs = [release.graph] if release.source is None else [release.graph, release.source.graph]
    return {name for graph in graphs for name, links in graph.relations.items() if links.mutual}


def mutual(release: Published) -> Item:
    """Condition ``mutual``: each link of a mutual relation has its reverse; one-way links would be recognizable."""
    relations = release.graph.relations
    some = sorted(mutual_relations(release) & set(relations))
    return both_ways("mutual", release.graph, some, "links of mutual relations")


def both_ways(name: str, graph: PeopleGraph, relations: Iterable[str], what: str) -> Item:
    """Condition that each link of some relations, in words `what`, has its reverse."""
    alone, total, words = 0, 0, list[str]()
    for relation in sorted(relations):
        links = graph.relations[relation]
        there = links.source * graph.n + links.target
        missing = np.flatnonzero(~np.isin(links.target * graph.n + links.source, there))
        total += len(links)
        alone += len(missing)
        ends = zip(graph.labels[links.source[missing]], graph.labels[links.target[missing]], strict=True)
        words += [f"{relation}: {a} to {b}, not back" for a, b in islice(ends, SHOWN)]
    fails = f"{alone:,} of {total:,} {what} run one way only"
    return judged(name, words[:SHOWN], fails, f"all {total:,} {what} run both ways", alone)


def users(source: Source) -> Item:
    """Condition ``users``: each original user is released, or marked as removed."""
    lost = np.flatnonzero(source.mapping == UNLISTED)
    removed = int(np.count_nonzero(source.mapping == REMOVED))
    kept = len(source.mapping) - removed
    fails = f"{len(lost):,} original users are neither released nor listed as removed"
    holds = f"{kept:,} of {len(source.mapping):,} users are released, {removed:,} removed"
    return judged("users", map(str, source.graph.labels[lost[:SHOWN]]), fails, holds, len(lost))


def values(release: Published, source: Source) -> Item:
    """Condition ``values``: each released user has all original values; the union of a class contains them."""
    lost, total, words = 0, 0, list[str]()
    for name, had in source.graph.attributes.items():
        kept = source.mapping[had.user] >= 0
        user, value = had.user[kept], had.value[kept]
        missing = np.flatnonzero(~_has(release.graph, name, had, source.mapping[user], value))
        total += len(user)
        lost += len(missing)
        for i in missing[:SHOWN]:
            who = f"{source.graph.labels[user[i]]} ({release.graph.labels[source.mapping[user[i]]]})"
            words.append(f"{who} had {name} = {had.domain[value[i]]}")
    fails = f"{lost:,} of {total:,} values of released users are lost"
    holds = f"released users have all {total:,} values that they had"
    return judged("values", words[:SHOWN], fails, holds, lost)


def fakes(release: Published, source: Source, allowed: bool) -> Item:
    """Condition ``fakes``: each released user has an original one; if fake users are allowed, their number.

    The definitions count all users of the release. But CDGA, CKGA and PCKGA add none: with them, a user without
    original indicates a mapping that is incomplete or of another release.
    """
    real = np.zeros(release.graph.n, dtype=bool)
    real[source.mapping[source.mapping >= 0]] = True
    fake = np.flatnonzero(~real)
    refused = fake[:0] if allowed else fake
    fails = f"{len(fake):,} released users are synthetic, and this model adds none"
    holds = f"{len(fake):,} of {release.graph.n:,} released users are synthetic"
    return judged("fakes", map(str, release.graph.labels[refused[:SHOWN]]), fails, holds, len(refused))


def names(releases: Sequence[Published]) -> Item:
    """Condition ``names``: users keep unique released names over all releases, without which there is no series."""
    names: dict[str, str] = {}
    people: dict[str, str] = {}
    words = []
    for release in releases:
        for person, name in _known(release):
            if (before := names.setdefault(person, name)) != name:
                words.append(f"{person} is {before} and {name}")
            if (other := people.setdefault(name, person)) != person:
                words.append(f"{name} is {other} and {person}")
    fails = f"{len(words):,} names change between releases"
    return judged("names", words, fails, f"{len(names):,} users keep their released names")


def _known(release: Published) -> Iterator[tuple[str, str]]:
    if (source := release.source) is not None:
        kept = np.flatnonzero(source.mapping >= 0)
        yield from zip(
            source.graph.labels[kept].tolist(),
            release.graph.labels[source.mapping[kept]].tolist(),
            strict=True,
        )


def _has(
    graph: PeopleGraph, name: str, had: Attribute, user: Vertices, value: Vertices
) -> npt.NDArray[np.bool_]:
    """Whether users have values of the domain of another attribute, one each."""
    attribute = graph.attributes.get(name)
    if attribute is None or not len(attribute.domain):
        return np.zeros(len(user), dtype=bool)
    said = [_said(attribute, text) for text in attribute.domain.tolist()]
    number = {what: i for i, what in enumerate(said)}
    same = np.array([number[what] for what in said], dtype=np.int64)
    place = np.array([number.get(_said(attribute, text), -1) for text in had.domain.tolist()], dtype=np.int64)
    there = np.append(
        np.sort(_keys(attribute, attribute.user, same[attribute.value])), np.iinfo(np.int64).max
    )
    asked = _keys(attribute, user, place[value])
    found: npt.NDArray[np.bool_] = there[np.searchsorted(there, asked)] == asked
    return found & (place[value] >= 0)


def _said(attribute: Attribute, text: str) -> str | Decimal:
    """Normalized value: for numbers, 18.0 equals 18."""
    try:
        number = Decimal(text) if attribute.kind == "numeric" else None
    except InvalidOperation:
        return text
    return text if number is None or number.is_nan() else number


def _keys(attribute: Attribute, user: Vertices, value: Vertices) -> Vertices:
    return user * len(attribute.domain) + value


def _repeated(graph: PeopleGraph) -> list[str]:
    columns = [(name, a.user, a.value) for name, a in graph.attributes.items()]
    columns += [(name, links.source, links.target) for name, links in graph.relations.items()]
    words = []
    for name, left, right in columns:
        size = int(right.max(initial=0)) + 1
        keys = np.sort(left * size + right)
        again = keys[1:][keys[1:] == keys[:-1]]
        words += [f"{name}: a triple of {graph.labels[u]} stands again" for u in again // size]
    doubles = len(graph.labels) - len(set(graph.labels.tolist()))
    return words + doubles * ["a name is repeated"]


def _loops(graph: PeopleGraph) -> list[str]:
    return [
        f"{name}: {graph.labels[u]} has a link to itself"
        for name, links in graph.relations.items()
        for u in links.source[links.source == links.target]
    ]
