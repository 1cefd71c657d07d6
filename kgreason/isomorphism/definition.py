"""Guarantee, augmented graph and release of an anonymization, and the interface of the anonymizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.copied_graph import CopiedGraph
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.settings import Further, Model
from kgreason.language.check.checked_program import CheckedProgram

KNOWN: Mapping[Further, str] = {"degree": "degrees", "neighbours": "neighbours' degrees"}


@record
class Guarantee:
    """Guarantee of a release: (k,x)-isomorphism (docs/anonymization.md, Definition 4.1) or k-isomorphism.

    Attributes
    ----------
    k
        Every x-subgraph has k - 1 disjoint images; with ``"k-iso"``: the number of isomorphic blocks.
    x
        Size of the x-subgraphs; `None`: every x up to n.
    also
        Further, smaller sizes that are protected.
    cut
        Number of original edges that are left out; the guarantee then refers to the graph without them.
    deleted
        Number of original edges that ``"k-iso"`` deletes.
    model
        Anonymity model; ``"k-iso"`` is weaker: k isomorphic blocks without edges between them, regardless of the rules.
    further
        Knowledge of a vertex in the whole release that at least k vertices share; ``"neighbours"`` follows
        ``"degree"``, which it implies.

    Examples
    --------
    >>> print(Guarantee(3, 4, further=("degree", "neighbours")))
    (3,4)-isomorphism with 3-anonymous degrees and neighbours' degrees
    """

    k: int
    x: int | None
    also: tuple[int, ...] = ()
    cut: int = 0
    deleted: int = 0
    model: Model = "kx-isomorphism"
    further: tuple[Further, ...] = ()

    def __str__(self) -> str:
        if self.model == "k-iso":
            return f"k-isomorphism: {self.k} isomorphic blocks without edges between them"
        if self.x is None:
            what = f"({self.k},x)-isomorphism for every x"
        elif self.also:
            what = f"({self.k},x)-isomorphism for x = {', '.join(map(str, (*self.also, self.x)))}"
        else:
            what = f"({self.k},{self.x})-isomorphism"
        what += " within parts (edges between parts are left out)" if self.cut else ""
        known = " and ".join(KNOWN[one] for one in self.further)
        return f"{what} with {self.k}-anonymous {known}" if known else what

    @classmethod
    def of_all(cls, guarantees: Sequence[Guarantee]) -> Guarantee:
        """Guarantee that holds in each of several graphs, all with equal k and x or with every x.

        Examples
        --------
        >>> str(Guarantee.of_all([Guarantee(3, None), Guarantee(3, 4, (2,))]))
        '(3,x)-isomorphism for x = 2, 4'
        """
        return next((g for g in guarantees if g.x is not None), guarantees[0])


@record
class Plan:
    """Figures of a complete augmentation that was considered for a release; they are secret.

    Attributes
    ----------
    vertices_added, edges_added
        Counts.
    false_facts, precision
        Facts of derived predicates about two vertices that only the augmented graph has, synthetic vertices included;
        and the share of its facts that the original has, too. `None`: not evaluated.
    wrong_answers
        Lost and gained query answers; `None`: not evaluated.
    unique_degrees
        Share of the vertices of the augmented graph whose in- and out-degree no other vertex has.
    chosen
        Whether the release was made of it.
    """

    vertices_added: int
    edges_added: int
    false_facts: int | None
    precision: float | None
    wrong_answers: int | None
    unique_degrees: float
    chosen: bool = False

    @property
    def added(self) -> int:
        """Number of synthetic vertices and edges."""
        return self.vertices_added + self.edges_added


@record(eq=False)
class Earlier:
    """Release before in a series, as its owner knows it.

    Attributes
    ----------
    graph
        The released graph.
    names
        Original name of each released vertex and of the copies of an original one; `None` for other synthetic vertices.
    copy
        0 for originals, j for the j-th copy of an original vertex, -1 for other synthetic vertices; int64, shape (n,).
    serial
        Number of each other synthetic vertex in the series, from 1; 0 for originals and copies. int64, shape (n,).
    synthetic
        Whether each edge is neither original nor copied, by relation; bool, shape (m,).
    last
        Greatest number of a synthetic vertex in the series so far.
    """

    graph: KnowledgeGraph
    names: Sequence[str | None]
    copy: Vertices
    serial: Vertices
    synthetic: Mapping[str, npt.NDArray[np.bool_]]
    last: int = 0

    @property
    def copies(self) -> int:
        """Number of copies of each original vertex; 0 if the graph was not copied."""
        return int(self.copy.max(initial=0))


@record
class Augmented:
    """Augmented graph before publication.

    Attributes
    ----------
    made
        The graph, which may hold its copies as one. Vertices 0 .. n-1 are the originals in their order, the others are
        synthetic. In each relation the remaining original edges come first, in their order: all of them, unless the
        guarantee says otherwise.
    guarantee
        Guarantee of the algorithm.
    figures
        Statistics of the run for the private report (numbers of classes, added edges and vertices, ...).
    originals
        Number n of original vertices; `None`: all of them.
    parts
        Part of each original vertex, int64, shape (n,), if the edges between parts are left out; else `None`.
    copies
        The k - 1 copies of each original vertex, int64, shape (k - 1, n), if the whole graph was copied.
    answers
        Answers of the original to some queries, as far as they were computed; vertices, int64, shape (rows, arity).
    plans
        Plans that were considered, if there are any.
    serials
        Number in the series of each synthetic vertex, int64, from 1; `None`: they are copies, or the first ones.
    """

    made: KnowledgeGraph | CopiedGraph
    guarantee: Guarantee
    figures: Mapping[str, float] = field(default_factory=dict)
    originals: int | None = None
    parts: Vertices | None = None
    copies: Vertices | None = None
    answers: Mapping[str, Vertices] = field(default_factory=dict)
    plans: Sequence[Plan] = ()
    serials: Vertices | None = None

    @property
    def graph(self) -> KnowledgeGraph:
        """The graph with all its edges, which are made with each access if `made` holds copies as one."""
        return self.made if isinstance(self.made, KnowledgeGraph) else self.made.whole()


@record
class Release:
    """Graph to publish, and its secret mapping from the original vertices.

    Attributes
    ----------
    graph
        Released graph: vertices and rows in random order, labels new and random.
    mapping
        Original vertex v is vertex ``mapping[v]`` of `graph`; int64, shape (n,).
    guarantee, figures, parts, copies, answers, plans
        As in `Augmented`.
    serials
        Number in the series of each released vertex, 0 for originals and copies; int64, shape (released n,).
    """

    graph: KnowledgeGraph
    mapping: Vertices
    guarantee: Guarantee
    figures: Mapping[str, float]
    parts: Vertices | None = None
    copies: Vertices | None = None
    answers: Mapping[str, Vertices] = field(default_factory=dict)
    plans: Sequence[Plan] = ()
    serials: Vertices | None = None


class Anonymizer(Protocol):
    """Anonymization algorithm with its parameters."""

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Return the augmented graph: all original vertices, the edges of the guarantee, new weights.

        Raises
        ------
        AnonymizationError
            If no such graph exists for the graph and the parameters.
        """
