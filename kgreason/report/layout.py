"""Where the vertices of a picture stand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices

Places = npt.NDArray[np.float64]


def places(
    n: int, source: Vertices, target: Vertices, pull: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[Places, Places]:
    """Place vertices in the unit square, such that edges are short.

    Parameters
    ----------
    n
        Number of vertices.
    source, target
        int64, shape (m,): the edges.
    pull
        How strongly each edge pulls its ends together, shape (m,).
    rng
        Source of the first places.

    Returns
    -------
    tuple of Places
        float64, shape (n,), three digits each.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for s, t, p in zip(source.tolist(), target.tolist(), pull.tolist(), strict=True):
        if s != t:
            graph.add_edge(s, t, weight=max(p, graph.get_edge_data(s, t, {}).get("weight", 0.0)))
    found = nx.spring_layout(graph, iterations=200, seed=int(rng.integers(2**31)))
    at = np.array([found[v] for v in range(n)], dtype=np.float64).reshape(n, 2)
    return _fitted(at[:, 0]), _fitted(at[:, 1])


def _fitted(values: Places) -> Places:
    if not len(values):
        return values
    low, span = values.min(), np.ptp(values)
    return np.round((values - low) / span if span > 0 else np.full(len(values), 0.5), 3)
