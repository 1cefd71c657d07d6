"""Graphs of every family as tables of their edges, and of what vertices and edges carry."""

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
        What each edge carries, by name; arrays of shape (m,).
    columns
        Names of the columns of the table; empty: ``source``, ``target`` and the names of `carried`.
    mutual
        Whether the direction means nothing; each edge is in the table once.
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
        What each vertex carries, by name; lists of n values.
    edges
        Edges by relation.
    values
        Of attributes with any number of values for a vertex: vertex numbers and values, by attribute.
    """

    vertices: Mapping[str, list[Any]]
    edges: Mapping[str, EdgeTable]
    values: Mapping[str, tuple[Vertices, Column]] = field(default_factory=dict)


class Tabular(Protocol):
    """A graph of any family."""

    @property
    def labels(self) -> npt.NDArray[np.object_]:
        """Names of the vertices, shape (n,)."""

    def tables(self) -> GraphTables:
        """Edges, and what vertices and edges carry."""
