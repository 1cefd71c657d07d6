"""Checker of link releases: whether a release matches its strategy and omits the sensitive relation.

It shares no code with the anonymizers except for the graph model.

References
----------
LINKS, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.closeness import Distance, close, distances
from kgreason.links.left_links import Source, links
from kgreason.links.model import LinkGraph, Observations, Released
from kgreason.links.settings import CLUSTERED, Criterion, Strategy
from kgreason.people.model import Attribute, PeopleGraph
from kgreason.people.verification.information import shared
from kgreason.people.verification.information import values as classes_of_values
from kgreason.release.verdicts import SHOWN, Examined, Item, judged, listing, no_label_kept

NEEDED = (
    "mapping: whether each entity is in a node that counts it",
    "labels: whether original names are in the release",
    "values: whether nodes have the values of their entities",
    "links: whether the links are those that the strategy leaves",
)
UNNAMED = "sensitive: whether the release names the sensitive relation"


@record
class Nodes:
    """Counts of the nodes of a release and of its entities.

    `groups` is the number of sets of entities that differ in links only: nodes that are clusters, or nodes with equal
    values; `smallest` is the number of entities of the smallest set, 0 if there are none.
    """

    number: int
    entities: int
    groups: int
    smallest: int

    def as_dict(self) -> dict[str, int]:
        """Plain data for JSON."""
        return {
            "nodes": self.number,
            "entities": self.entities,
            "clusters": self.groups,
            "smallest": self.smallest,
        }


@dataclass(frozen=True)
class LinksVerdict(Examined, Displayed):
    """Verdict on a release of links: whether it matches its strategy and omits the sensitive relation.

    Attributes
    ----------
    k
        Least number of entities that differ in links only; `None` if it was not asked for, or nothing but links is
        released.
    items
        All examined conditions.
    nodes
        Counts of nodes and of entities with equal values.
    needs_original
        Names of the conditions that need the original, if only the release was examined.
    criterion
        Which links a ``"partial"`` release says to lack.
    closeness
        Largest distance of values that was asked for, or `None`.
    distances
        Node with the largest distance, for each attribute.
    """

    strategy: Strategy
    k: int | None
    items: tuple[Item, ...]
    nodes: Nodes
    needs_original: tuple[str, ...] = ()
    criterion: Criterion = "random"
    closeness: float | None = None
    distances: tuple[Distance, ...] = ()

    def __repr__(self) -> str:
        return f"<LinksVerdict: {self.asked}: {self.state}>"

    @property
    def asked(self) -> str:
        """What was checked, in words."""
        by = "" if self.criterion == "random" else f" by {self.criterion}"
        asked = [] if self.k is None else [f"k = {self.k}"]
        asked += [] if self.closeness is None else [f"closeness {self.closeness:g}"]
        return f"{self.strategy}{by}{' with ' * bool(asked)}{' and '.join(asked)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": 1,
            "model": "links",
            "strategy": self.strategy,
            "criterion": self.criterion if self.strategy == "partial" else None,
            "k": self.k,
            "closeness": self.closeness,
            "distances": {
                one.attribute: {"distance": one.distance, "node": one.node} for one in self.distances
            },
            "nodes": self.nodes.as_dict(),
            **super().as_dict(),
        }


def verify_links(
    released: Released,
    *,
    secret: str | None = None,
    source: Source | None = None,
    k: int | None = None,
    strategy: Strategy | None = None,
    percent: float | None = None,
    criterion: Criterion | None = None,
    closeness: float | None = None,
    form: Item | None = None,
) -> LinksVerdict:
    """Verify that a release of links matches its strategy and omits the sensitive relation.

    Parameters
    ----------
    secret
        Name of the sensitive relation.
    source
        The original and the mapping; `None`: only the release is checked.
    k
        Least number of entities that share a node or its values; `None`: not checked.
    strategy
        Required strategy; `None`: the one that the release states.
    percent
        For ``"partial"``: least share of each relation that must be missing.
    criterion
        For ``"partial"``: required criterion; `None`: the one that the release states.
    closeness
        Largest distance of the values of a node from those of all entities; `None`: not checked.
    form
        Result of the file check; `None` for a release in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from kgreason.links.model import LinkGraph, observations
    >>> taken = observations(np.array([0, 1, 0]), np.array([1, 2, 2]), mutual=True)
    >>> names = np.array(["Ann", "Bob", "Cem", "Dee"], dtype=object)
    >>> original = LinkGraph(names, {"classmates": taken})
    >>> between = observations(np.array([0, 0, 0]), np.array([0, 1, 1]), mutual=True)
    >>> two = np.array([2, 2])
    >>> graph = LinkGraph(np.array(["x", "y"], dtype=object), {"classmates": between}, {}, two)
    >>> where = Source(original, np.array([0, 0, 1, 1]))
    >>> verify_links(Released(graph, "cluster-edge"), secret="friends", source=where, k=2).holds
    True
    >>> print(verify_links(Released(graph, "constrained"), source=where, k=2)["links"].witnesses[0])
    classmates: x, y: more links than the entities have
    """
    well_formed = simple(released.graph)
    items = [] if secret is None else [sensitive(released.graph, secret)]
    if form is not None:
        items.append(form)
    if strategy is not None:
        same = released.strategy == strategy
        detail = f"made by {released.strategy}" + ("" if same else f", not by {strategy}")
        items.append(Item("strategy", same, detail))
    if criterion is not None:
        detail = f"links left out by {released.criterion}"
        same = released.criterion == criterion
        items.append(Item("criterion", same, detail + ("" if same else f", not by {criterion}")))
    if not shows_clusters(released):
        k = None
    found, nodes = clusters(released, k)
    items += [found, well_formed]
    apart = distances(released.graph) if well_formed.holds else ()
    if closeness is not None:
        why = "not examined: the release is no graph of links"
        undecided = Item("closeness", False, why, undecided=True)
        items.append(close(apart, closeness) if well_formed.holds else undecided)
    needed = (UNNAMED,) if secret is None else ()

    def verdict(needed: tuple[str, ...]) -> LinksVerdict:
        found = released.strategy, k, tuple(items), nodes, needed
        return LinksVerdict(*found, released.criterion, closeness, apart)

    if source is None:
        return verdict((*needed, *NEEDED))
    paired = mapping(released, source)
    items += [paired, no_label_kept(source.graph, released.graph, "name")]
    if paired.holds and well_formed.holds:
        items += [values(released, source), links(released, source, percent)]
    else:
        why = "the mapping is broken" if well_formed.holds else "the release is no graph of links"
        items += [Item(name, False, f"not examined: {why}", undecided=True) for name in ("values", "links")]
    return verdict(needed)


def sensitive(graph: LinkGraph, name: str) -> Item:
    """Condition ``sensitive``: no sensitive links, and no text of the release contains the relation's name as a word.

    A word ends at a character other than a letter or digit, as at the _ of ``friends_list``. The file check of a folder
    excludes any other text.
    """
    word = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)
    found = [f"{kind} is {text}" for kind, text in _texts(graph) if word.search(text)]
    holds = "no link of the sensitive relation is released, nor is its name in any name or value"
    return judged("sensitive", found, "the release names the sensitive relation", holds)


def _texts(graph: LinkGraph) -> Iterator[tuple[str, str]]:
    """All texts of a release, each with its kind."""
    yield from (("a node", label) for label in graph.labels.tolist())
    yield from (("a relation", relation) for relation in graph.observed)
    for attribute, a in graph.attributes.items():
        yield "an attribute", attribute
        values = a.domain[np.unique(a.value)].tolist()
        yield from ((f"a value of {attribute}", text) for text in values)


def simple(graph: LinkGraph) -> Item:
    """Condition ``simple``: unique names, existing ends, one row for each pair (and weight), counts of at least 1."""
    again = len(graph.labels) - len(set(graph.labels.tolist()))
    words = again * ["a name is repeated"]
    words += [
        f"{graph.labels[u]} stands for {graph.size[u]} entities" for u in np.flatnonzero(graph.size < 1)
    ]
    for name, found in graph.observed.items():
        words += _malformed(graph, name, found)
    fails = f"{len(words):,} rows are none of a graph of links"
    return judged("simple", words, fails, "each pair occurs once with its count, between existing nodes")


def _malformed(graph: LinkGraph, name: str, found: Observations) -> list[str]:
    ends = np.concatenate([found.source, found.target])
    outside = int(((ends < 0) | (ends >= graph.n)).sum())
    if outside:
        return [f"{name}: {outside:,} ends are no nodes"]
    columns = (
        (found.target, found.source) if found.weight is None else (found.weight, found.target, found.source)
    )
    order = np.lexsort(columns)
    same = np.ones(max(len(found) - 1, 0), dtype=np.bool_)
    for column in columns:
        same &= np.diff(column[order]) == 0
    rows = [(order[1:][same], "stands again"), (np.flatnonzero(found.count < 1), "has no count")]
    if found.mutual:
        rows.append((np.flatnonzero(found.source > found.target), "is the wrong way round"))
    labels = graph.labels
    return [
        f"{name}: the link {labels[found.source[row]]}, {labels[found.target[row]]} {what}"
        for wrong, what in rows
        for row in wrong
    ]


def mapping(released: Released, source: Source) -> Item:
    """Condition ``mapping``: each entity has a node, and each node as many entities as it states."""
    map_, graph = source.mapping, released.graph
    if len(map_) != source.graph.n:
        return Item("mapping", False, f"{len(map_):,} entries for {source.graph.n:,} entities")
    lost = np.flatnonzero((map_ < 0) | (map_ >= graph.n))
    if len(lost):
        words = listing(map(str, source.graph.labels[lost[:SHOWN]]), len(lost))
        return Item("mapping", False, f"{len(lost):,} entities are in no node of the release", words)
    members = np.bincount(map_, minlength=graph.n)
    wrong = np.flatnonzero(members != graph.size)
    if len(wrong):
        some = (f"{graph.labels[u]} says {graph.size[u]}, and stands for {members[u]}" for u in wrong[:SHOWN])
        detail = f"{len(wrong):,} nodes have other numbers of entities than they say"
        return Item("mapping", False, detail, listing(some, len(wrong)))
    several = np.flatnonzero(members > 1)
    several = several[:0] if released.strategy in CLUSTERED else several
    fails = f"{len(several):,} nodes represent several entities, which {released.strategy} does not do"
    holds = f"{source.graph.n:,} entities are in {graph.n:,} nodes, as these say"
    return judged("mapping", map(str, graph.labels[several[:SHOWN]]), fails, holds, len(several))


def shows_clusters(released: Released) -> bool:
    """Whether a release has clusters or attribute values, which distinguish entities besides links."""
    return released.strategy in CLUSTERED or any(len(a) for a in released.graph.attributes.values())


def clusters(released: Released, k: int | None) -> tuple[Item, Nodes]:
    """Condition ``clusters``: each entity shares its node, or its values, with k - 1 others."""
    graph = released.graph
    entities = int(graph.size.sum())
    if released.strategy in CLUSTERED:
        smallest = int(graph.size.min(initial=entities))
        nodes = Nodes(graph.n, entities, graph.n, smallest)
        small = np.flatnonzero(graph.size < (k or 1))
        if len(small):
            words = (f"{graph.labels[u]} stands for {graph.size[u]}, k = {k}" for u in small[:SHOWN])
            detail = f"{len(small):,} nodes represent fewer than {k} entities"
            return Item("clusters", False, detail, listing(words, len(small))), nodes
        detail = f"each of {graph.n:,} nodes represents {smallest:,} entities or more"
        return Item("clusters", True, detail), nodes
    if not shows_clusters(released):
        nodes = Nodes(graph.n, entities, min(graph.n, 1), entities)
        return Item("clusters", True, "entities have links only"), nodes
    levels = np.full(graph.n, k or 1, dtype=np.int64)
    item, figures = shared(classes(graph), graph.labels, levels, "values", "clusters")
    return item, Nodes(graph.n, entities, figures.classes, figures.smallest)


def classes(graph: LinkGraph) -> Vertices:
    """Equivalence classes of nodes with the same values, int64, shape (n,)."""
    found: Vertices = classes_of_values(PeopleGraph(graph.labels, graph.attributes, {}))
    return found


def values(released: Released, source: Source) -> Item:
    """Condition ``values``: each node, or class of nodes with equal values, has exactly the values of its entities.

    If nodes are entities, the values of a class are compared with those of all its entities, whichever clusters the
    anonymizer used.
    """
    graph = released.graph
    clustered = released.strategy in CLUSTERED
    group = np.arange(graph.n) if clustered or not graph.n else classes(graph)
    words: list[str] = []
    total = 0
    for name in sorted({*graph.attributes, *source.graph.attributes}):
        words += _kind(name, source.graph.attributes.get(name), graph.attributes.get(name))
        had = _entries(source.graph.attributes.get(name), group[source.mapping])
        has = _entries(graph.attributes.get(name), group)
        total += len(has)
        who = {int(group[u]): str(graph.labels[u]) for u in range(graph.n)} if had != has else {}
        words += [f"{who[u]} lacks {name} = {text}" for u, text in sorted(had - has)]
        words += [f"{who[u]} has {name} = {text}, which no entity of it has" for u, text in sorted(has - had)]
    fails = f"{len(words):,} values or attributes are lost, invented or of another kind"
    holds = f"nodes have the {total:,} values of the entities that they represent" if total else "no values"
    return judged("values", words, fails, holds)


def _kind(name: str, had: Attribute | None, has: Attribute | None) -> list[str]:
    """Errors of an attribute's kind; attributes without values may be missing."""
    if has is None:
        return []
    if had is None:
        return [f"{name} is no attribute of the original"]
    return [f"{name} is {has.kind}, and was {had.kind}"] if has.kind != had.kind else []


def _entries(attribute: Attribute | None, group: npt.NDArray[np.int64]) -> set[tuple[int, str]]:
    if attribute is None:
        return set()
    return set(zip(group[attribute.user].tolist(), attribute.domain[attribute.value].tolist(), strict=True))
