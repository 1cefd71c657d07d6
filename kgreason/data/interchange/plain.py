"""What a graph of any kind has that other libraries can hold: vertices, edges, and what both carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.errors import CallError, DataError
from kgreason.graph.links.model import LinkGraph
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph

if TYPE_CHECKING:
    import pyarrow as pa


Graph = KnowledgeGraph | PeopleGraph | LinkGraph


@dataclass(frozen=True)
class Edges:
    """Edges of one relation.

    Attributes
    ----------
    source, target
        int64 vertex numbers, shape (m,).
    values
        What each carries, by name; numpy arrays of shape (m,).
    columns
        Names of the two ends and of `values`, for tables.
    mutual
        Whether direction means nothing; each edge stands once then.
    """

    source: Vertices
    target: Vertices
    values: Mapping[str, np.ndarray[Any, Any]]
    columns: tuple[str, ...]
    mutual: bool = False


@dataclass(frozen=True)
class Plain:
    """A graph as other libraries hold it.

    Attributes
    ----------
    labels
        Of the vertices.
    vertices
        What each vertex carries, by name; a list of n values.
    relations
        Edges by relation.
    """

    labels: list[str]
    vertices: Mapping[str, list[Any]]
    relations: Mapping[str, Edges]

    @property
    def directed(self) -> bool:
        """Whether direction means something in any relation, or there is none."""
        return not self.relations or not all(edges.mutual for edges in self.relations.values())

    def ends(self, name: str) -> tuple[list[int], list[int], dict[str, list[Any]]]:
        """Sources, targets and values of a relation; of a directed graph a mutual edge stands in both directions."""
        edges = self.relations[name]
        source, target, values = edges.source, edges.target, dict(edges.values)
        if edges.mutual and self.directed:
            back = np.flatnonzero(source != target)
            source, target = (
                np.concatenate([source, target[back]]),
                np.concatenate([target, source[back]]),
            )
            values = {title: np.concatenate([found, found[back]]) for title, found in values.items()}
        return source.tolist(), target.tolist(), {title: found.tolist() for title, found in values.items()}


def plain(graph: Graph) -> Plain:
    """Take a graph apart.

    Raises
    ------
    CallError
        If it is none of kgreason's.
    """
    if isinstance(graph, KnowledgeGraph):
        carried = {name: values.tolist() for name, values in graph.attributes.items()}
        relations = {}
        for name, r in graph.relations.items():
            values = {} if r.weight is None else {"weight": r.weight}
            relations[name] = Edges(r.source, r.target, values, r.columns)
        return Plain(graph.labels.tolist(), carried, relations)
    if isinstance(graph, PeopleGraph):
        return _of_people(graph)
    if isinstance(graph, LinkGraph):
        return _of_links(graph)
    raise CallError(
        f"a graph is a KnowledgeGraph, a PeopleGraph or a LinkGraph, not of type {type(graph).__name__}",
        hint="of a result of anonymize it is result.release.graph",
    )


def _of_people(graph: PeopleGraph) -> Plain:
    relations = {}
    for name, links in graph.relations.items():
        once = links.source < links.target if links.mutual else np.ones(len(links), dtype=np.bool_)
        ends = links.source[once], links.target[once]
        relations[name] = Edges(*ends, {}, ("source", "target"), links.mutual)
    vertices = {name: values_of(a, graph.n) for name, a in graph.attributes.items()}
    return Plain(graph.labels.tolist(), vertices, relations)


def _of_links(graph: LinkGraph) -> Plain:
    relations = {}
    for name, found in graph.observed.items():
        values: dict[str, np.ndarray[Any, Any]] = {"count": found.count}
        if found.weight is not None:
            values["weight"] = found.weight
        columns = "source", "target", *values
        relations[name] = Edges(found.source, found.target, values, columns, found.mutual)
    vertices = {name: values_of(a, graph.n) for name, a in graph.attributes.items()}
    return Plain(graph.labels.tolist(), {"size": graph.size.tolist(), **vertices}, relations)


def domain(attribute: Attribute) -> np.ndarray[Any, Any]:
    """Values of an attribute: texts, or of a numeric one numbers."""
    return attribute.numbers if attribute.kind == "numeric" else attribute.domain


def values_of(attribute: Attribute, n: int) -> list[list[Any]]:
    """The values of each user, in order."""
    found: list[list[Any]] = [[] for _ in range(n)]
    for user, value in zip(attribute.user.tolist(), domain(attribute)[attribute.value].tolist(), strict=True):
        found[user].append(value)
    return found


def only(names: Mapping[str, object], relation: str | None) -> str:
    """The relation that is asked for, or the only one.

    Raises
    ------
    DataError
        If there is no such relation, or none or several and none is asked for.
    """
    known = ", ".join(names)
    if relation is not None:
        if relation not in names:
            raise DataError(
                "<graph>", f"there is no relation {relation!r}", hint=f"one of {known}" if known else None
            )
        return relation
    if len(names) != 1:
        raise DataError(
            "<graph>",
            f"choose a relation: {known}" if known else "the graph has no relation",
            hint=f"say relation={next(iter(names))!r}" if known else "it holds vertices alone",
        )
    return next(iter(names))


def edges_of(table: pa.Table, predicate: str) -> Plain:
    """Facts as edges: from the first column to the second; a third column of numbers is the weight.

    Raises
    ------
    DataError
        If the facts have fewer than two arguments.
    """
    import pyarrow as pa

    if table.num_columns < 2:
        raise DataError(
            f"<{predicate}>",
            f"facts of {table.num_columns} argument{'s' * (table.num_columns != 1)} are no edges",
            hint="to_arrow, to_pandas and to_polars take facts of any number of arguments",
        )
    names = list(table.column_names)
    kind = table.schema.types[2] if len(names) > 2 else None
    if kind is not None and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        names[2] = "weight"
    ends = [[str(v) for v in column.to_pylist()] for column in table.columns[:2]]
    number: dict[str, int] = {}
    for pair in zip(*ends, strict=True):
        for label in pair:
            number.setdefault(label, len(number))
    source, target = (np.array([number[label] for label in end], dtype=np.int64) for end in ends)
    values = {
        name: _objects(column.to_pylist()) for name, column in zip(names[2:], table.columns[2:], strict=True)
    }
    return Plain(list(number), {}, {predicate: Edges(source, target, values, tuple(names))})


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
