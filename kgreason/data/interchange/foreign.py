"""A graph of another library, once its vertices have numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.data.interchange.python import array, in_memory
from kgreason.data.raw import Raw
from kgreason.errors import DataError
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices, Weights


@dataclass(frozen=True)
class Foreign:
    """A graph of another library.

    Attributes
    ----------
    labels
        Text of each vertex, unique.
    source, target
        int64 vertex numbers, shape (m,).
    values
        What edges carry, by name; a list of m values, `None` where an edge lacks it.
    directed
        Whether direction means something.
    """

    labels: list[str]
    source: Vertices
    target: Vertices
    values: Mapping[str, Sequence[Any]]
    directed: bool

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            twice = next(label for label, count in Counter(self.labels).items() if count > 1)
            what = f"two vertices of the graph have the same text, {twice!r}"
            raise DataError("<graph>", what, hint="relabel them")

    def as_raw(self, name: str) -> Raw:
        """As a table to load from, of the edges alone whose relation is the predicate that `name` names.

        Raises
        ------
        DataError
            If edges are of several relations and not of that one, or only some have a weight.
        """
        rows = self._of(name)
        weights = self._weights(rows)
        if weights is not None and any(w is None for w in weights):
            raise DataError(
                name,
                "some edges of the graph have a weight and some have none",
                hint="give each edge a weight, or none",
            )
        labels = np.array(self.labels, dtype=object)
        columns = [array(name, labels[end[rows]].tolist()) for end in (self.source, self.target)]
        columns += [] if weights is None else [array(name, weights)]
        vertices = in_memory(name, ("id",), [array(name, self.labels)])
        return Raw(
            name,
            ("source", "target", "weight")[: len(columns)],
            tuple(columns),
            lambda _: None,
            named=False,
            graph=True,
            undirected=None if self.directed else np.ones(len(rows), dtype=bool),
            vertices=vertices,
            memory=True,
            attributes=tuple(sorted(self.values.keys() - {"relation", "weight"})),
        )

    def as_graph(self, relation: str) -> KnowledgeGraph:
        """As a knowledge graph; undirected edges run both ways.

        Parameters
        ----------
        relation
            Name of the relation of edges that carry no ``relation``.

        Raises
        ------
        DataError
            If only some edges of a relation have a weight, or one that is no number.
        """
        names = self.values.get("relation") or [None] * len(self.source)
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows.setdefault(relation if name is None else str(name), []).append(row)
        found = {name: self._relation(name, np.array(some, dtype=np.int64)) for name, some in rows.items()}
        empty = np.empty(0, dtype=np.int64)
        found = found or {relation: Relation(empty, empty.copy())}
        return KnowledgeGraph(np.array(self.labels, dtype=object), found).distinct()

    def _relation(self, name: str, rows: Vertices) -> Relation:
        weights = self._weights(rows)
        absent = 0 if weights is None else sum(w is None for w in weights)
        if absent:
            raise DataError(
                "<graph>",
                f"{absent} of the {len(rows)} edges of {name!r} have no weight",
                hint="give each edge of a relation a weight, or none",
            )
        weight = None if weights is None else numbers("<graph>", weights)
        source, target = self.source[rows], self.target[rows]
        if not self.directed:
            back = source != target
            source, target = np.concatenate([source, target[back]]), np.concatenate([target, source[back]])
            weight = None if weight is None else np.concatenate([weight, weight[back]])
        return Relation(source, target, weight)

    def _of(self, name: str) -> Vertices:
        """Edges of the relation that is asked for: all, unless they say which relation they are of."""
        whole, said = np.arange(len(self.source)), self.values.get("relation")
        wanted = name.strip("<>")
        if not said or len(known := set(said) - {None}) == 0:
            return whole
        if wanted in known:
            return np.flatnonzero([one in (None, wanted) for one in said])
        if len(known) > 1:
            raise DataError(
                name,
                f"edges of the graph are of the relations {', '.join(sorted(map(str, known)))}, none of {wanted!r}",
                hint="the edge attribute relation says which predicate an edge is of: name it as the rules do",
            )
        return whole

    def _weights(self, rows: Vertices) -> list[Any] | None:
        """Weights of some edges; `None` if none of them has one."""
        every = self.values.get("weight")
        weights = None if every is None else [every[row] for row in rows.tolist()]
        return None if weights is None or all(w is None for w in weights) else weights


def numbers(name: str, values: Sequence[Any]) -> Weights:
    """Weights as float64.

    Raises
    ------
    DataError
        If one is no number, or not finite.
    """
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            name, f"a weight is no number: {error}", hint="make the attribute weight a number"
        ) from error
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise DataError(
            name,
            f"a weight is no number: that of edge {row + 1} is {values[row]!r}",
            hint="give the edge a weight, or take it out",
        )
    return found
