"""Clusters and mappings of links that are given by names, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.links.clusters import read_clusters
from kgreason.errors import AnonymizationError, CallError, ReleaseError
from kgreason.graph.links.model import LinkGraph
from kgreason.graph.model import Vertices
from kgreason.links.folder import read_mapping

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
        numbers = _whole(given)
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
    if isinstance(given, Path | str):
        return read_mapping(Path(given), original, released)
    if not isinstance(given, Mapping):
        return _nodes(given, original, released)
    node = {label: i for i, label in enumerate(released.labels.tolist())}
    hint = "is this the mapping of another release?"
    for label in original.labels.tolist():
        named = given.get(label)
        if not isinstance(named, str) or named not in node:
            raise ReleaseError(f"mapping: no node of the release stands for {label!r}", hint=hint)
    if strange := sorted(map(str, set(given) - set(original.labels.tolist()))):
        raise ReleaseError(f"mapping: the original has no entity {strange[0]!r}", hint=hint)
    return np.array([node[given[label]] for label in original.labels.tolist()], dtype=np.int64)


def _nodes(given: object, original: LinkGraph, released: LinkGraph) -> Vertices:
    numbers = _whole(given)
    if numbers is None or numbers.ndim != 1:
        raise CallError(
            "a mapping is names of nodes by entity, whole numbers of nodes, or the private folder, not "
            + _called(given),
            hint="of a result of anonymize_links it is result.mapping",
        )
    hint = "is this the mapping of another release?"
    if len(numbers) != original.n:
        raise ReleaseError(f"mapping: {len(numbers):,} numbers for {original.n:,} entities", hint=hint)
    if len(lost := np.flatnonzero((numbers < 0) | (numbers >= released.n))):
        what = f"{original.labels[lost[0]]!r} is in node {numbers[lost[0]]}, and there are {released.n:,}"
        raise ReleaseError(f"mapping: {what}", hint=hint)
    return numbers.astype(np.int64)


def _called(given: object) -> str:
    if isinstance(given, np.ndarray):
        return f"{given.dtype} of shape {given.shape}"
    return f"of type {type(given).__name__}"


def _whole(given: object) -> npt.NDArray[np.integer] | None:
    """Whole numbers; `None` if they are none."""
    try:
        numbers = np.asarray(given)
    except ValueError:  # rows of different lengths
        return None
    if not numbers.size:
        return numbers.astype(np.int64)
    return numbers if numbers.dtype.kind in "iu" else None


def _numbered(names: Iterable[object]) -> Vertices:
    number: dict[object, int] = {}
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)
