"""Graphs of every family as tables of edges and of vertex and edge attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Column = np.ndarray[Any, Any]
Vertices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges of one relation.

    Attributes
    ----------
    source, target
        Vertex numbers, int64, shape (m,).
    carried
        Edge attributes by name; arrays of shape (m,).
    columns
        Column names of the table; if empty: ``source``, ``target`` and the names of `carried`.
    mutual
        Whether the relation is undirected; each edge is in the table once.
    """

    source: Vertices
    target: Vertices
    carried: Mapping[str, Column] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    mutual: bool = False


@dataclass(frozen=True, eq=False)
class GraphTables:
    """A graph as tables.

    Attributes
    ----------
    vertices
        Vertex attributes by name; lists of n values.
    edges
        Edges by relation.
    values
        Multi-valued vertex attributes: vertex numbers and values, by attribute.
    """

    vertices: Mapping[str, list[Any]]
    edges: Mapping[str, EdgeTable]
    values: Mapping[str, tuple[Vertices, Column]] = field(default_factory=dict)


class Tabular(Protocol):
    """Graph of any family that can be written as tables."""

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """Names of the vertices, shape (n,)."""

    def tables(self) -> GraphTables:
        """Edges, and attributes of vertices and edges."""
