"""Clusters and mappings of links that are given by names, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from kgreason.anonymizers.links.clusters import read_clusters
from kgreason.errors import AnonymizationError
from kgreason.graph.links.model import LinkGraph
from kgreason.graph.model import Vertices
from kgreason.release.mapping import checked_numbers, names_of, numbers_of, read_mapping, whole_numbers

Clusters = Mapping[str, object] | Vertices | Path | str
"""The name of the cluster of each entity, a table ``user,cluster`` of them, or numbers, int64, shape (n,)."""
Mapped = Mapping[str, str] | Vertices | Path | str
"""The released node of each entity: names, numbers, or the private folder."""


def clusters_of(given: Clusters, graph: LinkGraph) -> Vertices:
    """Number of the cluster of each entity, 0 .. c-1, int64, shape (n,).

    Raises
    ------
    DataError
        If a table names an entity that is not in the graph, or one twice.
    AnonymizationError
        If an entity has no cluster.
    """
    if isinstance(given, Path | str):
        return read_clusters(given, graph)
    if not isinstance(given, Mapping):
        numbers = whole_numbers(given)
        if numbers is None or numbers.shape != (graph.n,):
            raise AnonymizationError(
                f"the clusters are no {graph.n:,} whole numbers",
                hint="give one for each entity, in their order",
            )
        return _numbered(numbers.tolist())
    known = set(graph.labels.tolist())
    if strange := [name for name in given if name not in known]:
        raise AnonymizationError(
            f"there is no entity {strange[0]!r} in the graph, of which a cluster is given",
            hint="use the names of the data",
        )
    lacking = [label for label in graph.labels.tolist() if label not in given]
    if lacking:
        more = f", and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        raise AnonymizationError(
            f"the entity {lacking[0]!r} is in no cluster{more}", hint="name a cluster for each entity"
        )
    clusters = [given[label] for label in graph.labels.tolist()]
    for cluster in clusters:
        try:
            hash(cluster)
        except TypeError as error:
            what = f"the name of a cluster cannot be of type {type(cluster).__name__}"
            raise AnonymizationError(what, hint="use texts or whole numbers") from error
    return _numbered(clusters)


def mapping_of(given: Mapped, original: LinkGraph, released: LinkGraph) -> Vertices:
    """Released node of each entity, int64, shape (n,).

    Raises
    ------
    CallError
        If they are no names and no numbers.
    ReleaseError
        If a name is of no entity, a name or number of no node, or an entity has none.
    """
    names = read_mapping(Path(given)) if isinstance(given, Path | str) else names_of(given)
    if names is None:
        return checked_numbers(given, original.labels, released.n)
    return numbers_of(names, original.labels, released.labels, "entity")


def _numbered(names: Iterable[object]) -> Vertices:
    number: dict[object, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
