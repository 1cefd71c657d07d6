"""Index of a release for the checker: pair types, vertex traits, and classes of vertex sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Pairs
from kgreason.isomorphism.verification.adjacency import Adjacency, Bonds
from kgreason.isomorphism.verification.isomorphism_classes import Classes, Form, scrambled
from kgreason.language.check.checked_program import CheckedProgram

Ints = npt.NDArray[np.int64]
Known = npt.NDArray[np.bool_]


class Space:
    """Pair types, derived edges and vertex traits of a release.

    Attributes
    ----------
    graph, rules
        Release and rules.
    traits
        In-degree, out-degree and label number of each vertex, int64 (n, 3).
    distinct
        Whether all labels are unique.

    Parameters
    ----------
    diverse
        Whether images must differ in traits; otherwise each vertex gets unique traits.
    """

    def __init__(self, graph: KnowledgeGraph, rules: CheckedProgram, *, diverse: bool = True) -> None:
        self.graph = graph
        self.rules = rules
        self.pairs = Pairs(graph)
        self.reasoner = InducedReasoner(graph, rules)
        names, labels = np.unique(graph.labels.astype(str), return_inverse=True)
        self.distinct = len(names) == graph.n or not diverse
        own = labels.reshape(-1).astype(np.int64)
        traits = (graph.in_degree(), graph.out_degree(), own) if diverse else (np.arange(graph.n),) * 3
        self.traits = np.ascontiguousarray(np.stack(traits, axis=1))

    @cached_property
    def degree_marks(self) -> Ints:
        """Sort key of each vertex, equal for equal in- and out-degree; shape (n,)."""
        most = int(self.traits[:, 1].max(initial=0)) + 1
        degrees, mark = np.unique(self.traits[:, 0] * most + self.traits[:, 1], return_inverse=True)
        marks: Ints = scrambled(len(degrees))[mark.reshape(-1)]
        return marks

    @cached_property
    def _bonds(self) -> Bonds:
        return Bonds.of(self.pairs, self.reasoner.ties)

    def shares(self, size: int) -> bool:
        """Whether sets of equal pattern are classified together; otherwise each set is classified."""
        return self.reasoner.ties is not None and self._bonds.fit(size)

    def bonds(self, size: int) -> Bonds:
        """Ties of the release for sets of `size` vertices."""
        return self._bonds if self.shares(size) else Bonds.of(self.pairs, None)

    def rare_first(self, size: int) -> Adjacency:
        """Adjacency of the release with vertices ordered from common to rare degrees.

        As every set is enumerated from its smallest vertex, the last shares hold only sets of rare degrees.
        """
        common = np.ones(self.graph.n)
        for degrees in self.traits[:, :2].T:
            common *= np.bincount(degrees, minlength=1)[degrees]
        return self.bonds(size).release(np.argsort(-common, kind="stable"))

    @cached_property
    def ground_types(self) -> int:
        """Number of ground pair types; a full type is ground + `ground_types` * (bit set of derived predicates)."""
        return len(self.pairs.counts)

    def with_masks(self, ground: Ints, masks: Ints) -> Ints:
        """Add derived edges, bits (N, P) of the reasoner, to the ground types of all pairs (N, x * x)."""
        bits = np.arange(ground.shape[1])
        full = ground.copy()
        for p in range(len(self.rules.derived)):
            full += self.ground_types * (1 << p) * (masks[:, p, None] >> bits & 1)
        return full


class Catalogue:
    """KG-isomorphism classes of the vertex sets of one size, extended on demand.

    Attributes
    ----------
    full, ground
        Classes by all edges, and classes by ground edges alone.
    ground_of
        Ground class of each class.
    """

    def __init__(self, space: Space, size: int) -> None:
        self.space, self.size = space, size
        self.full, self.ground = Classes(size), Classes(size)
        self.ground_of = np.empty(0, dtype=np.int64)

    def settled(self, members: Ints) -> tuple[Known, Ints, Ints, Ints]:
        """Whether all sets of equal pattern are of one class; the class, canonical order and ground class."""
        ground = self.space.pairs.of(members)
        ground_classes = self.ground.classify(ground)[0]
        if not self.space.shares(self.size):
            known = np.zeros(len(members), dtype=bool)
            masks = np.zeros((len(members), len(self.space.rules.derived)), dtype=np.int64)
        else:
            known, masks = self.space.reasoner.settled(members)
        classes = np.full(len(members), -1, dtype=np.int64)
        orders = np.tile(np.arange(self.size), (len(members), 1))
        rows = np.flatnonzero(known)
        if len(rows):
            classes[rows], orders[rows] = self._classify(ground[rows], masks[rows], ground_classes[rows])
        return known, classes, orders, ground_classes

    def classify(self, members: Ints) -> tuple[Ints, Ints]:
        """Class of each set by its exact weights, and its vertices in canonical order."""
        ground = self.space.pairs.of(members)
        masks = self.space.reasoner.masks(members)
        classes, orders = self._classify(ground, masks, self.ground.classify(ground)[0])
        return classes, np.take_along_axis(members, orders, axis=1)

    def _classify(self, ground: Ints, masks: Ints, ground_classes: Ints) -> tuple[Ints, Ints]:
        classes, orders = self.full.classify(self.space.with_masks(ground, masks))
        if (count := len(self.full)) > len(self.ground_of):
            more = np.zeros(count, dtype=np.int64)
            more[: len(self.ground_of)] = self.ground_of
            more[classes] = ground_classes
            self.ground_of = more
        return classes, orders


@dataclass(frozen=True)
class Scarce:
    """Position of a canonical form that too few vertices fit.

    Attributes
    ----------
    position, trait
        Position of the canonical form; trait 0 for in-degrees, 1 for out-degrees, as in `Space.traits`.
    ingoing, outgoing
        Numbers of ingoing and outgoing edges of the position within the subgraph.
    values
        Number of values of the trait among the vertices with at least these edges, fewer than k.
    """

    position: int
    trait: int
    ingoing: int
    outgoing: int
    values: int


class Scarcity:
    """Test for classes without images: too few different degrees occur among the vertices that fit a position.

    An attacked subgraph and its images differ in in-degree and out-degree at every position (Definition 4.1 (iii)), so
    k vertices that differ in both occupy the position. Each of them has at least the edges of the position within the
    subgraph. If fewer than k in-degrees, or fewer than k out-degrees, occur among the vertices of the release with at
    least these edges, no images exist. Automorphisms preserve the edges of a position. In a graph of users and rated
    items, for instance, every user has in-degree 0.

    Examples
    --------
    Two users rate two items, which rate nothing:

    >>> from kgreason.language.check.program_checker import load_text
    >>> from kgreason.graph.knowledge_graph import KnowledgeGraph
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
        """First position of a canonical form that fewer than k vertices of different traits fit, if any."""
        edges = self._edges[form.types % self._space.ground_types]
        needs = zip(edges.sum(axis=0).tolist(), edges.sum(axis=1).tolist(), strict=True)
        for position, (ingoing, outgoing) in enumerate(needs):
            for trait, values in enumerate(self._occurring(ingoing, outgoing)):
                if values < k:
                    return Scarce(position, trait, ingoing, outgoing, values)
        return None

    def _occurring(self, ingoing: int, outgoing: int) -> tuple[int, ...]:
        """Numbers of different in-degrees and out-degrees among the vertices with at least these edges."""
        if (ingoing, outgoing) not in self._values:
            fit = (self._ingoing >= ingoing) & (self._outgoing >= outgoing)
            traits = self._space.traits[fit, :2].T
            self._values[ingoing, outgoing] = tuple(len(np.unique(t)) for t in traits)
        return self._values[ingoing, outgoing]
