"""Observed links between entities, and the sensitive links that must not be told (LINKS, section 3).

A relation is a multigraph: two entities may be linked by it several times, as students who take two classes together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgreason.base.printable import Displayed
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.tables import EdgeTable, GraphTables
from kgreason.links.settings import Strategy
from kgreason.people.model import Attribute, Counts, Texts


@dataclass(frozen=True, eq=False)
class Observations:
    """Links of one observed relation: row i stands for ``count[i]`` links from ``source[i]`` to ``target[i]``.

    Attributes
    ----------
    source, target
        int64 node numbers, shape (m,), ordered by source, then target, then weight. Of a mutual relation each link
        stands once, with source <= target. No pair (and weight) stands twice.
    count
        How many links, at least 1; int64, shape (m,).
    mutual
        Whether direction means nothing.
    weight
        float64, shape (m,); `None` for a relation without weights. Links of one pair with different weights are
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


@dataclass(frozen=True, eq=False)
class Sensitive:
    """The relation that must not be told.

    Attributes
    ----------
    name
        What it is called.
    source, target
        Linked entities, int64, shape (s,), ordered, no pair twice, no loop; of a mutual relation source < target.
    mutual
        Whether direction means nothing.
    left_out
        How many more links it has, of entities that are no nodes, for nothing else is known of them.
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
    """An immutable graph of the nodes 0 .. n-1 and their observed links: all that anonymizers see.

    Attributes
    ----------
    labels
        Name of each node, unique; numpy array of str objects, shape (n,).
    observed
        Observed relations by name; none of them is sensitive.
    attributes
        Attributes of nodes by name, by which nodes may be clustered.
    size
        How many entities each node stands for: 1 in originals, more where clusters became nodes; int64, shape (n,).

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
        """Links, with their numbers, and attributes as tables."""
        edges = {}
        for name, found in self.observed.items():
            carried = {"count": found.count} | ({} if found.weight is None else {"weight": found.weight})
            edges[name] = EdgeTable(found.source, found.target, carried, mutual=found.mutual)
        listed = {name: a.listed(self.n) for name, a in self.attributes.items()}
        values = {name: (a.user, a.values) for name, a in self.attributes.items()}
        return GraphTables({"size": self.size.tolist(), **listed}, edges, values)

    def renumbered(self, order: Vertices) -> LinkGraph:
        """The same graph, whose node i is now the one that was ``order[i]``.

        Examples
        --------
        >>> one = Observations(np.array([0]), np.array([2]), np.array([1]))
        >>> graph = LinkGraph(np.array(["Ann", "Bob", "Cem"], dtype=object), {"knows": one})
        >>> other = graph.renumbered(np.array([2, 0, 1]))
        >>> other.labels.tolist(), other.observed["knows"].source.tolist(), other.observed["knows"].target.tolist()
        (['Cem', 'Ann', 'Bob'], [1], [0])
        """
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        observed = {
            name: observations(
                place[o.source], place[o.target], count=o.count, mutual=o.mutual, weight=o.weight
            )
            for name, o in self.observed.items()
        }
        attributes = {name: a.placed(place) for name, a in self.attributes.items()}
        return LinkGraph(self.labels[order], observed, attributes, self.size[order])


@dataclass(frozen=True, eq=False)
class Original(Displayed):
    """A graph with its secret.

    Attributes
    ----------
    graph
        The observed links.
    sensitive
        What must not be told, between nodes of `graph`.
    """

    graph: LinkGraph
    sensitive: Sensitive

    def __repr__(self) -> str:
        return f"<Original: {self.graph!r}; sensitive: {self.sensitive.name} {len(self.sensitive):,}>"


@dataclass(frozen=True, eq=False)
class Released(Displayed):
    """A graph that was made to be published.

    Attributes
    ----------
    graph
        Its nodes are entities, or clusters of them.
    strategy
        How it was made, which tells what its counts mean.
    """

    graph: LinkGraph
    strategy: Strategy

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
    """Put links in any order, with repetitions, together as observations: those of one pair (and weight) are counted.

    Parameters
    ----------
    source, target
        int64, shape (m,); of a mutual relation each link is given once, in any direction.
    count
        How many links each row stands for; `None`: one.

    Examples
    --------
    >>> found = observations(np.array([1, 0, 2]), np.array([0, 1, 1]), mutual=True)
    >>> found.source.tolist(), found.target.tolist(), found.count.tolist()
    ([0, 1], [1, 2], [2, 1])
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
