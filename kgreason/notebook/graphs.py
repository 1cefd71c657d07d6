"""Graphs in notebooks: counts per relation, first rows, and how degrees are distributed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.notebook.blocks import ROWS, note, table, view

if TYPE_CHECKING:
    from kgreason.graph.links.model import LinkGraph, Original, Released
    from kgreason.graph.model import KnowledgeGraph, Vertices
    from kgreason.graph.people.model import Attribute, PeopleGraph

_DEGREES = ("degree", "least", "median", "mean", "greatest")


def _summary(name: str, degrees: np.ndarray[Any, Any]) -> tuple[object, ...]:
    if not len(degrees):
        return name, 0, 0, 0, 0
    least, greatest = int(degrees.min()), int(degrees.max())
    return name, least, float(np.median(degrees)), float(degrees.mean()), greatest


def knowledge_graph(graph: KnowledgeGraph) -> str:
    """A knowledge graph."""
    relations = [
        (name, len(r), "yes" if r.weight is not None else "no") for name, r in graph.relations.items()
    ]
    blocks = [table(("relation", "edges", "weights"), relations, count=len(relations))]
    for name, relation in list(graph.relations.items())[:3]:
        rows: Iterator[tuple[object, ...]] = zip(
            graph.labels[relation.source[: ROWS + 1]], graph.labels[relation.target[: ROWS + 1]], strict=True
        )
        if relation.weight is not None:
            weights = relation.weight[: ROWS + 1].tolist()
            rows = ((s, t, w) for (s, t), w in zip(rows, weights, strict=True))
        blocks.append(table(relation.columns, rows, name, len(relation)))
    degrees = [_summary("in", graph.in_degree()), _summary("out", graph.out_degree())]
    title = f"Knowledge graph: {graph.n:,} vertices, {graph.m:,} edges"
    return view(title, *blocks, table(_DEGREES, degrees, "degrees over all relations"))


def people_graph(graph: PeopleGraph) -> str:
    """A graph of people."""
    relations = [(n, len(r), "mutual" if r.mutual else "directed") for n, r in graph.relations.items()]
    blocks = [_attributes(graph.attributes), _first_users(graph)]
    if relations:
        out, in_ = graph.out_degrees(), graph.in_degrees()
        degrees = [
            _summary(f"{name}, {way}", found[:, i])
            for i, name in enumerate(graph.relations)
            for way, found in (("out", out), ("in", in_))
        ]
        blocks.append(table(("relation", "links", "direction"), relations, count=len(relations)))
        blocks.append(table(_DEGREES, degrees, "degrees", len(degrees)))
    return view(f"Graph of people: {graph.n:,} users", *blocks)


def _attributes(attributes: Any) -> str:
    rows = [(name, a.kind, len(a), len(a.domain)) for name, a in attributes.items()]
    if not rows:
        return note("no attributes")
    return table(("attribute", "kind", "values", "different"), rows, count=len(rows))


def _first_users(graph: PeopleGraph) -> str:
    names = list(graph.attributes)[:6]
    if not names:
        return ""
    rows = (
        (label, *(_values(graph.attributes[name], user) for name in names))
        for user, label in enumerate(graph.labels[: ROWS + 1].tolist())
    )
    return table(("user", *names), rows, "users", graph.n)


def _values(attribute: Attribute, user: int) -> str:
    """Values of a user, whose entries are together."""
    first, last = np.searchsorted(attribute.user, (user, user + 1))
    return ", ".join(attribute.domain[attribute.value[first:last]].tolist())


def link_graph(graph: LinkGraph, title: str = "Graph of links", more: str = "") -> str:
    """A graph of observed links."""
    relations = [
        (n, r.total, len(r), "mutual" if r.mutual else "directed") for n, r in graph.observed.items()
    ]
    blocks = [table(("relation", "links", "rows", "direction"), relations, count=len(relations)), note(more)]
    for name, found in list(graph.observed.items())[:3]:
        ends = (_labels(graph, end) for end in (found.source, found.target))
        rows = zip(*ends, found.count[: ROWS + 1].tolist(), strict=True)
        blocks.append(table(("source", "target", "links"), rows, name, len(found)))
    if graph.attributes:
        blocks.append(_attributes(graph.attributes))
    entities = int(graph.size.sum())
    of = "" if entities == graph.n else f" of {entities:,} entities"
    return view(f"{title}: {graph.n:,} nodes{of}", *blocks)


def _labels(graph: LinkGraph, end: Vertices) -> list[str]:
    found: list[str] = graph.labels[end[: ROWS + 1]].tolist()
    return found


def original_links(found: Original) -> str:
    """A graph of links with its secret."""
    secret = found.sensitive
    told = f"sensitive: {secret.name}, {len(secret):,} links, which must not be told"
    return link_graph(found.graph, "Graph of links with its secret", told)


def released_links(found: Released) -> str:
    """A release of links."""
    return link_graph(found.graph, "Release of links", f"strategy: {found.strategy}")
