"""How much a release looks like its original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import KnowledgeGraph
from kgreason.printable import Displayed


@dataclass(frozen=True)
class Fidelity(Displayed):
    """Structural closeness; distances are Wasserstein-1, 0 is best.

    Attributes
    ----------
    vertices_added, edges_added
        Counts.
    vertices_added_percent, edges_added_percent
        The same in percent of the original's (0 for an empty original).
    degree, in_degree, out_degree
        Distance between the distributions of total, in- and out-degrees, in edges.
    weights
        Distance between the weight distributions of each relation that has weights on both sides.
    """

    vertices_added: int
    edges_added: int
    vertices_added_percent: float
    edges_added_percent: float
    degree: float
    in_degree: float
    out_degree: float
    weights: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<Fidelity: {self.vertices_added:,} vertices and {self.edges_added:,} edges added>"

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {**vars(self), "weights": dict(self.weights)}


def fidelity(original: KnowledgeGraph, released: KnowledgeGraph) -> Fidelity:
    """Compare sizes, degree distributions and weight distributions.

    Examples
    --------
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    >>> edges = [("p", "q", 0.5), ("r", "q", 0.4), ("s", "q", 0.3)]
    >>> released = KnowledgeGraph.from_edges(edges, relation="own")
    >>> found = fidelity(original, released)
    >>> found.vertices_added_percent, found.in_degree, round(found.weights["own"], 3)
    (100.0, 0.75, 0.2)
    """
    vertices, edges = released.n - original.n, released.m - original.m
    ins = original.in_degree(), released.in_degree()
    outs = original.out_degree(), released.out_degree()
    weights = {}
    for name, relation in original.relations.items():
        there = released.relations.get(name)
        if there is not None and relation.weight is not None and there.weight is not None:
            weights[name] = _distance(relation.weight, there.weight)
    return Fidelity(
        vertices_added=vertices,
        edges_added=edges,
        vertices_added_percent=100 * vertices / original.n if original.n else 0.0,
        edges_added_percent=100 * edges / original.m if original.m else 0.0,
        degree=_distance(ins[0] + outs[0], ins[1] + outs[1]),
        in_degree=_distance(*ins),
        out_degree=_distance(*outs),
        weights=weights,
    )


def _distance(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> float:
    """Wasserstein-1 distance of two samples: the area between their cumulative frequencies; 0 where one is empty.

    scipy.stats has it, too, but to import that takes longer than all of this on graphs of a thousand edges.
    """
    if not len(before) or not len(after):
        return 0.0
    values = np.unique(np.concatenate([before, after]))
    below = (np.searchsorted(np.sort(w), values[:-1], side="right") / len(w) for w in (before, after))
    return float(np.sum(np.abs(np.subtract(*below)) * np.diff(values)))
