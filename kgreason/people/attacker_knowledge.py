"""What attackers may know of users: values of attributes, numbers of links, or both, in one graph or a series.

References
----------
THESIS, Definitions 6, 7, 19 and 20, examples 15 to 17; PCKGA, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Literal

import numpy as np

from kgreason.base.errors import ReleaseError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.refinement import paired
from kgreason.people.model import EMPTY, PeopleGraph, Texts, attribute, distinct_links, links_of
from kgreason.people.verification.information import Classes, degrees, values
from kgreason.people.verification.verdict import Published, Source

LINKS, VALUES, BOTH = "numbers of links", "values", "values and numbers of links"


def known_k(kind: str) -> str:
    """Name of a kind of knowledge with the k of the user."""
    return f"{kind.replace(' and numbers of', ',')} and k"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first column is aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    ]


Part = tuple[Literal["values", "links"], str]


@record(eq=False)
class Traits:
    """Users by what may be known of them, part by part: users of one class are equal in the part.

    Attributes
    ----------
    n
        Number of users.
    parts
        Classes by the set of values of each attribute, ``("values", name)``, and by the out-degree and in-degree in
        each relation, ``("links", name)``; int64, shape (n,).

    Examples
    --------
    >>> graph = PeopleGraph.from_triples("abc", [("a", "job", "nurse"), ("b", "job", "nurse")], [("a", "likes", "c")])
    >>> {what: len(set(classes.tolist())) for what, classes in Traits.of(graph).kinds().items()}
    {'numbers of links': 3, 'values': 2, 'values and numbers of links': 3}
    """

    n: int
    parts: Mapping[Part, Classes]

    @classmethod
    def of(cls, graph: PeopleGraph) -> Traits:
        """Traits of the users of a graph."""
        parts: dict[Part, Classes] = {}
        for name, one in graph.attributes.items():
            parts["values", name] = values(PeopleGraph(graph.labels, {name: one}, {}))
        for name, links in graph.relations.items():
            parts["links", name] = degrees(PeopleGraph(graph.labels, {}, {name: links}))
        return cls(graph.n, parts)

    def kinds(self) -> dict[str, Classes]:
        """Classes of users by kind of knowledge, from little to much; "nothing" without attributes and relations."""
        start = np.zeros(self.n, dtype=np.int64)
        found: dict[str, Classes] = {}
        for what, kind in (("links", LINKS), ("values", VALUES)):
            if some := [classes for (part, _), classes in self.parts.items() if part == what]:
                found[kind] = reduce(paired, some, start)
        if len(found) == 2:
            found[BOTH] = paired(found[LINKS], found[VALUES])
        return found or {"nothing": start}

    def take(self, users: Vertices) -> Traits:
        """Traits of some users, in the given order."""
        return Traits(len(users), {part: classes[users] for part, classes in self.parts.items()})

    def with_twins(self, n: int, groups: Classes, rng: np.random.Generator) -> Traits:
        """Append a twin of each of the first n users: a person who is not in the data.

        Each part of a twin, such as the values of an attribute, is that of a random user of the same group, and each
        user of the group is taken once. A twin has plausible traits, but not together. `groups`: int64, shape (n,).
        """
        parts = {
            part: np.concatenate([classes, classes[_exchanged(groups, rng)]])
            for part, classes in self.parts.items()
        }
        return Traits(self.n + n, parts)


def _exchanged(groups: Classes, rng: np.random.Generator) -> Vertices:
    """Random permutation of users within their groups."""
    drawn = np.empty(len(groups), dtype=np.int64)
    drawn[np.argsort(groups, kind="stable")] = np.lexsort((rng.random(len(groups)), groups))
    return drawn


def beside(one: PeopleGraph, other: PeopleGraph) -> PeopleGraph:
    """Disjoint union of two graphs; users of the second follow those of the first."""
    n = one.n + other.n
    labels = np.arange(n).astype(str).astype(object)
    attributes, relations = {}, {}
    for name in {**one.attributes, **other.attributes}:
        ours, theirs = one.attributes.get(name, EMPTY), other.attributes.get(name, EMPTY)
        user = np.concatenate([ours.user, theirs.user + one.n])
        texts = np.concatenate([ours.domain[ours.value], theirs.domain[theirs.value]])
        attributes[name] = attribute("categorical", user, texts)
    for name in {**one.relations, **other.relations}:
        first, second = links_of(one, name), links_of(other, name)
        source = np.concatenate([first.source, second.source + one.n])
        target = np.concatenate([first.target, second.target + one.n])
        relations[name] = distinct_links(n, source, target)
    return PeopleGraph(labels, attributes, relations)


@record(eq=False)
class Series:
    """Users of one or several releases, and of their originals.

    Attributes
    ----------
    labels
        Original users, by first appearance; shape (n,).
    traits
        Traits of the n original users, then of the m released ones, over all releases: absence in a release is a trait.
    mapping
        Released user of each original one, -1: never released; int64, shape (n,).
    present
        Classes of the n + m users by the graphs in which they are.
    """

    labels: Texts
    traits: Traits
    mapping: Vertices
    present: Classes

    @classmethod
    def of(cls, releases: Sequence[Published]) -> Series:
        """Users and their traits over some releases, in the order given.

        Users are identified by name: original ones in the originals, released ones in the releases.

        Raises
        ------
        ReleaseError
            If a user has different released names, or a released name is that of several users.

        References
        ----------
        THESIS, Definitions 18 and 19.
        """
        sources = [release.source for release in releases if release.source is not None]
        graphs = [(s.graph, r.graph) for s, r in zip(sources, releases, strict=True)]
        ours, theirs = (_numbered(graph.labels for graph in side) for side in zip(*graphs, strict=True))
        n, m = len(ours), len(theirs)
        mapping = np.full(n, -1, dtype=np.int64)
        found: list[tuple[Traits, Vertices]] = []
        for (original, released), source in zip(graphs, sources, strict=True):
            users = np.array([ours[label] for label in original.labels.tolist()], dtype=np.int64)
            shown = np.array([theirs[label] for label in released.labels.tolist()], dtype=np.int64)
            _enter(mapping, users, shown, source)
            found.append((Traits.of(beside(original, released)), np.concatenate([users, shown + n])))
        present = np.zeros(n + m, dtype=np.int64)
        for _, place in found:
            present = paired(present, np.isin(np.arange(n + m), place).astype(np.int64))
        parts = {part: present for traits, _ in found for part in traits.parts}
        for traits, place in found:
            for part, classes in traits.parts.items():
                here = np.zeros(n + m, dtype=np.int64)
                here[place] = classes
                parts[part] = paired(parts[part], here)
        labels = np.array([*ours, None], dtype=object)[:-1]
        return cls(labels, Traits(n + m, parts), mapping, present)


def _numbered(labels: Iterable[Texts]) -> dict[str, int]:
    names = dict.fromkeys(label for some in labels for label in some.tolist())
    return {name: i for i, name in enumerate(names)}


def _enter(mapping: Vertices, users: Vertices, shown: Vertices, source: Source) -> None:
    """Enter the released users of one release."""
    labels, images = source.graph.labels, source.mapping
    if len(images) != len(users) or images.max(initial=-1) >= len(shown):
        raise ReleaseError("the mapping does not fit the graphs", hint="is this the mapping of this release?")
    there = np.flatnonzero(images >= 0)
    image, before = shown[images[there]], mapping[users[there]]
    hint = "name the releases of one series, whose users keep their labels"
    if len(other := there[(before >= 0) & (before != image)]):
        raise ReleaseError(f"user {labels[other[0]]!r} has another label in an earlier release", hint=hint)
    mapping[users[there]] = image
    taken = np.bincount(mapping[mapping >= 0])
    if (taken > 1).any():
        raise ReleaseError("a released label is that of several original users", hint=hint)
