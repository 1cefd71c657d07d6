"""Classes of which no member can have k - 1 images, as too few degrees occur where its positions can stand.

An attacked subgraph and its images differ in in-degree and out-degree at every position (Definition 4.1 (iii)), so k
vertices stand there that differ in both. Each of them has at least the edges that the position has within the subgraph.
If fewer than k in-degrees occur among the vertices of the release with so many edges, or fewer than k out-degrees,
there are no images. Automorphisms keep the edges of a position. In a graph of users and what they rate, for instance,
whoever rates has in-degree 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.assess.classes import Form
from kgreason.assess.space import Space

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scarce:
    """A position that too few vertices can take.

    Attributes
    ----------
    position, trait
        The position of the canonical form; 0 for in-degrees, 1 for out-degrees, as in `Space.traits`.
    ingoing, outgoing
        Edges that it has within the subgraph.
    values
        How many values of the trait occur among the vertices with so many edges, fewer than k.
    """

    position: int
    trait: int
    ingoing: int
    outgoing: int
    values: int


class Scarcity:
    """Which traits occur among the vertices of a release that have some edges.

    Examples
    --------
    Two users rate two things, and these rate nothing:

    >>> from kgreason.analysis.check import load_text
    >>> from kgreason.assess.space import Catalogue
    >>> from kgreason.graph.model import KnowledgeGraph
    >>> rules = load_text('@edge("rates"). @output("rates").')
    >>> graph = KnowledgeGraph.from_edges([("u", "a"), ("u", "b"), ("v", "b")], relation="rates")
    >>> catalogue = Catalogue(Space(graph, rules), 2)
    >>> _ = catalogue.classify(np.array([[0, 1]]))
    >>> found = Scarcity(catalogue.space).of(catalogue.full.form(0), k=2)
    >>> found.trait, found.values
    (1, 1)
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._ingoing, self._outgoing = space.graph.in_degree(), space.graph.out_degree()
        self._edges = space.pairs.counts.sum(axis=1)
        self._values: dict[tuple[int, int], tuple[int, ...]] = {}

    def of(self, form: Form, k: int) -> Scarce | None:
        """A position of a canonical form that fewer than k vertices of different traits can take, if there is one."""
        edges = self._edges[form.types % self._space.ground_types]
        needs = zip(edges.sum(axis=0).tolist(), edges.sum(axis=1).tolist(), strict=True)
        for position, (ingoing, outgoing) in enumerate(needs):
            for trait, values in enumerate(self._occurring(ingoing, outgoing)):
                if values < k:
                    return Scarce(position, trait, ingoing, outgoing, values)
        return None

    def _occurring(self, ingoing: int, outgoing: int) -> tuple[int, ...]:
        """How many in-degrees and out-degrees occur among the vertices with at least so many edges."""
        if (ingoing, outgoing) not in self._values:
            fit = (self._ingoing >= ingoing) & (self._outgoing >= outgoing)
            traits = self._space.traits[fit, :2].T
            self._values[ingoing, outgoing] = tuple(len(np.unique(t)) for t in traits)
        return self._values[ingoing, outgoing]
