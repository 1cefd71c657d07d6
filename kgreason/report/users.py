"""What reports about graphs of people and about links share: charts of links and values, and what is seen of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kgreason.assess.people.information import degrees, information, values
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.graph.people.model import Attribute, Links, PeopleGraph, attribute, distinct_links
from kgreason.report.candidates import Seen, as_shown, by_classes
from kgreason.report.charts import Series, series_charts, values_chart
from kgreason.report.data import Chart

MOST = 12  # values of an attribute that have a bar of their own
MANY = 20  # attributes, and relations, that are drawn
REST = "others"
STANDS = ", as they stand"
"""What kinds of knowledge end with that are of what a graph shows, be it true or not."""


def link_charts(released: PeopleGraph, original: PeopleGraph | None = None) -> Iterator[Chart]:
    """Numbers of links of each relation; of a mutual one once, of others out and in."""
    before = None if original is None else _series(original, original)
    return series_charts(_series(released, original or released), before)


def _series(graph: PeopleGraph, like: PeopleGraph) -> dict[str, Series]:
    """Numbers of links of the relations of `like`."""
    found = {}
    for name in sorted(like.relations)[:MANY]:
        links = _links(graph, name)
        sides = [("links", "degree", links.source)]
        if not like.relations[name].mutual:
            sides = [("links out", "out-degree", links.source), ("links in", "in-degree", links.target)]
        for what, term, ends in sides:
            counts = np.bincount(ends, minlength=graph.n)
            found[f"{name}: {what}"] = Series(what, counts, "users", term)
    return found


def _links(graph: PeopleGraph, name: str) -> Links:
    none = np.empty(0, dtype=np.int64)
    return graph.relations.get(name, Links(none, none))


def value_charts(
    released: Mapping[str, Attribute], original: Mapping[str, Attribute] | None = None
) -> Iterator[Chart]:
    """What share of the entries of each attribute each value, or range of numbers, has."""
    for name in sorted(released if original is None else original)[:MANY]:
        new, old = released.get(name), None if original is None else original[name]
        if not (new or old):  # nobody has a value
            continue
        kind = (new or old or EMPTY).kind
        if kind == "numeric":
            numbers = [None if a is None else a.numbers[a.value] for a in (new, old)]
            after = np.empty(0) if numbers[0] is None else numbers[0]
            yield values_chart(f"Values of {name}", name, after, numbers[1], "entries", "")
        else:
            yield _categories(name, new or EMPTY, old)


EMPTY = Attribute(
    "categorical", np.empty(0, dtype=object), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
)


def _categories(name: str, new: Attribute, old: Attribute | None) -> Chart:
    after = _shares(new)
    before = None if old is None else _shares(old)
    order = sorted(after | (before or {}), key=lambda text: (-(before or after).get(text, 0.0), text))
    shown, rest = order[:MOST], order[MOST:]
    labels = (*shown, *([f"{len(rest):,} {REST}"] if rest else []))

    def bars(shares: Mapping[str, float]) -> tuple[float, ...]:
        more = [sum(shares.get(text, 0.0) for text in rest)] if rest else []
        return tuple(round(share, 4) for share in (*(shares.get(text, 0.0) for text in shown), *more))

    first = () if before is None else bars(before)
    return Chart(f"Values of {name}", name, labels, first, bars(after), "share of entries")


def _shares(attribute: Attribute) -> dict[str, float]:
    counts = np.bincount(attribute.value, minlength=len(attribute.domain)) / max(len(attribute), 1)
    return {
        str(text): share
        for text, share in zip(attribute.domain.tolist(), counts.tolist(), strict=True)
        if share
    }


def seen_of_users(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> Iterator[Seen]:
    """What is seen of users who are known as the graph shows them, and as they truly are.

    Parameters
    ----------
    mapping
        Released user of each original one, -1: removed.
    """
    both, n = beside(original, released), original.n
    kinds = [("numbers of links", degrees)] if original.relations else []
    if original.attributes:
        kinds.append(("values", values))
    if len(kinds) == 2:
        kinds.append(("values and numbers of links", information))
    for name, classes in kinds:
        found = classes(both)
        yield by_classes(f"true {name}", found[:n], found[n:], mapping)
    for name, classes in kinds:
        yield as_shown(f"{name}{STANDS}", classes(original), classes(released), mapping)


def beside(one: PeopleGraph, other: PeopleGraph) -> PeopleGraph:
    """Two graphs as one; users of the second come after those of the first.

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(["Ken"], [("Ken", "age", "18")], numeric=["age"])
    >>> beside(graph, graph).attributes["age"].user.tolist()
    [0, 1]
    """
    n = one.n + other.n
    labels = np.arange(n).astype(str).astype(object)
    attributes, relations = {}, {}
    for name in {**one.attributes, **other.attributes}:
        ours, theirs = one.attributes.get(name, EMPTY), other.attributes.get(name, EMPTY)
        user = np.concatenate([ours.user, theirs.user + one.n])
        texts = np.concatenate([ours.domain[ours.value], theirs.domain[theirs.value]])
        attributes[name] = attribute("categorical", user, texts)
    for name in {**one.relations, **other.relations}:
        first, second = _links(one, name), _links(other, name)
        source = np.concatenate([first.source, second.source + one.n])
        target = np.concatenate([first.target, second.target + one.n])
        relations[name] = distinct_links(n, source, target)
    return PeopleGraph(labels, attributes, relations)


def as_graph(graph: PeopleGraph, like: PeopleGraph | None = None) -> KnowledgeGraph:
    """The links alone, for pictures; a mutual one is drawn once. Relations are those of `like`."""
    relations = {}
    for name in (like or graph).relations:
        links = _links(graph, name)
        once = links.source < links.target if links.mutual else np.ones(len(links), dtype=np.bool_)
        relations[name] = Relation(links.source[once], links.target[once], None, ("source", "target"))
    return KnowledgeGraph(graph.labels.copy(), relations)
