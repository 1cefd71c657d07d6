"""Data model of the links family: observed links between entities, and sensitive links (LINKS, section 3).

A relation is a multigraph: two entities may be linked several times, as students who take two classes together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import EdgeTable, GraphTables, Vertices
from kgreason.links.settings import DONE, DONE_BY_DEGREE, Criterion, Strategy
from kgreason.people.model import Attribute, Counts, Texts


@record(eq=False)
class Observations:
    """Links of one observed relation: row i stands for ``count[i]`` links from ``source[i]`` to ``target[i]``.

    Attributes
    ----------
    source, target
        Node numbers, int64, shape (m,), ordered by source, target and weight; source <= target in mutual relations.
        Each pair (with each weight) has one row.
    count
        Number of links of each row, at least 1; int64, shape (m,).
    mutual
        Whether the relation is symmetric.
    weight
        float64, shape (m,); `None` for relations without weights. Links of one pair with different weights are in
        different rows.
    """

    source: Vertices
    target: Vertices
    count: Counts
    mutual: bool = False
    weight: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def total(self) -> int:
        """Number of links."""
        return int(self.count.sum())


@record(eq=False)
class Sensitive:
    """The sensitive relation.

    Attributes
    ----------
    name
        Name of the relation.
    source, target
        Linked entities, int64, shape (s,), ordered, each pair once, no loops; source < target in mutual relations.
    mutual
        Whether the relation is symmetric.
    left_out
        Number of further links, whose entities are no nodes because they have no other data.
    """

    name: str
    source: Vertices
    target: Vertices
    mutual: bool = False
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False)
class LinkGraph(Displayed):
    """Immutable graph of the nodes 0 .. n-1 and their observed links: the input of anonymizers.

    Attributes
    ----------
    labels
        Unique name of each node; numpy array of str objects, shape (n,).
    observed
        Observed relations by name; the sensitive one is not included.
    attributes
        Attributes of nodes by name.
    size
        Number of entities of each node: 1 in originals, more for clusters; int64, shape (n,).

    Examples
    --------
    >>> one = Observations(np.array([0]), np.array([1]), np.array([2]), mutual=True)
    >>> LinkGraph(np.array(["Ann", "Bob"], dtype=object), {"classmates": one})
    <LinkGraph with 2 nodes; classmates 2>
    """

    labels: Texts
    observed: Mapping[str, Observations]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    size: Counts = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "observed", MappingProxyType(dict(self.observed)))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        if len(self.size) != len(self.labels):
            object.__setattr__(self, "size", np.ones(len(self.labels), dtype=np.int64))

    def __repr__(self) -> str:
        links = ", ".join(f"{name} {found.total:,}" for name, found in self.observed.items())
        return f"<LinkGraph with {self.n:,} nodes; {links}>"

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def tables(self) -> GraphTables:
        """Link and attribute tables, with link counts."""
        edges = {}
        for name, found in self.observed.items():
            carried = {"count": found.count} | ({} if found.weight is None else {"weight": found.weight})
            edges[name] = EdgeTable(found.source, found.target, carried, mutual=found.mutual)
        listed = {name: a.listed(self.n) for name, a in self.attributes.items()}
        values = {name: (a.user, a.values) for name, a in self.attributes.items()}
        return GraphTables({"size": self.size.tolist(), **listed}, edges, values)

    def renumbered(self, order: Vertices) -> LinkGraph:
        """The graph with its nodes renumbered: node i is the former node ``order[i]``."""
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        observed = {
            name: observations(
                place[o.source], place[o.target], count=o.count, mutual=o.mutual, weight=o.weight
            )
            for name, o in self.observed.items()
        }
        attributes = {name: a.renumbered(place) for name, a in self.attributes.items()}
        return LinkGraph(self.labels[order], observed, attributes, self.size[order])


@dataclass(frozen=True, eq=False)
class Original(Displayed):
    """A link graph, and its sensitive relation between nodes of the graph."""

    graph: LinkGraph
    sensitive: Sensitive

    def __repr__(self) -> str:
        return f"<Original: {self.graph!r}; sensitive: {self.sensitive.name} {len(self.sensitive):,}>"


@dataclass(frozen=True, eq=False)
class Released(Displayed):
    """A released graph, whose nodes are entities or clusters, and the strategy, which decides what counts mean.

    `criterion` says which links a ``"partial"`` release lacks.
    """

    graph: LinkGraph
    strategy: Strategy
    criterion: Criterion = "random"

    @property
    def done(self) -> str:
        """What was done, in words for everybody."""
        return DONE_BY_DEGREE if self.criterion == "degree" else DONE[self.strategy]

    @property
    def certain(self) -> bool:
        """Whether it says which entities are linked: nodes are entities, or there are no links."""
        graph = self.graph
        return bool((graph.size == 1).all()) or self.strategy == "removed" or not graph.observed

    def __repr__(self) -> str:
        return f"<Released by {self.strategy}: {self.graph!r}>"


def observations(
    source: Vertices,
    target: Vertices,
    *,
    count: Counts | None = None,
    mutual: bool = False,
    weight: npt.NDArray[np.float64] | None = None,
) -> Observations:
    """Build observations from links in any order: links of one pair (and weight) are counted.

    Parameters
    ----------
    source, target
        int64, shape (m,); links of a mutual relation are given once, in any direction.
    count
        Number of links of each row; `None`: 1.
    """
    count = np.ones(len(source), dtype=np.int64) if count is None else count
    if mutual:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = [] if weight is None else [weight]
    order = np.lexsort((*keys, target, source))
    source, target, count = source[order], target[order], count[order]
    weight = None if weight is None else weight[order]
    first = np.ones(len(source), dtype=np.bool_)
    first[1:] = (np.diff(source) != 0) | (np.diff(target) != 0)
    if weight is not None:
        first[1:] |= weight[1:] != weight[:-1]
    at = np.flatnonzero(first)
    sums = np.add.reduceat(count, at) if len(at) else count
    return Observations(source[at], target[at], sums, mutual, None if weight is None else weight[at])
