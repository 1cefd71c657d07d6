"""What every anonymizer takes and gives: the guarantee travels with the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.settings import Model
from kgreason.language.check.checked_program import CheckedProgram


@dataclass(frozen=True)
class Guarantee:
    """A promise about a release: it is a (k,x)-isomorphism anonymization (docs/anonymization.md, Definition 4.1).

    Attributes
    ----------
    k
        Each attacked subgraph has k - 1 disjoint images; of ``"k-iso"``: the number of isomorphic blocks.
    x
        Number of vertices of the attacked subgraphs; `None`: every x up to n.
    also
        Smaller numbers of vertices that are protected as well.
    cut
        Number of original edges that are given up: the release is one of the graph without them.
    deleted
        Number of original edges that ``"k-iso"`` deletes.
    model
        What is promised: ``"k-iso"`` is less, k isomorphic blocks without edges between them, whatever rules derive.
    """

    k: int
    x: int | None
    also: tuple[int, ...] = ()
    cut: int = 0
    deleted: int = 0
    model: Model = "kx-isomorphism"

    def __str__(self) -> str:
        if self.model == "k-iso":
            return f"k-isomorphism: {self.k} isomorphic blocks without edges between them"
        if self.x is None:
            what = f"({self.k},x)-isomorphism for every x"
        elif self.also:
            what = f"({self.k},x)-isomorphism for x = {', '.join(map(str, (*self.also, self.x)))}"
        else:
            what = f"({self.k},{self.x})-isomorphism"
        return what + (" within parts (edges between parts are left out)" if self.cut else "")

    @classmethod
    def of_all(cls, guarantees: Sequence[Guarantee]) -> Guarantee:
        """What holds in every one of some graphs; all are for the same k and for the same numbers or every one.

        Examples
        --------
        >>> str(Guarantee.of_all([Guarantee(3, None), Guarantee(3, 4, (2,))]))
        '(3,x)-isomorphism for x = 2, 4'
        """
        return next((g for g in guarantees if g.x is not None), guarantees[0])


@dataclass(frozen=True)
class Augmented:
    """An augmented graph before publication.

    Attributes
    ----------
    graph
        Vertices 0 .. n-1 are the originals in their order, the others are synthetic. In each relation the
        original edges that are left come first, in their order: all of them, unless the guarantee says otherwise.
    guarantee
        What the algorithm promises of it.
    figures
        What the algorithm did, for the private report (counts of classes, edges and vertices added, ...).
    originals
        Number n of original vertices; `None`: all of them.
    parts
        Part of each original vertex, int64, shape (n,), where the edges between parts are given up; else `None`.
    copies
        The k - 1 copies of each original vertex, int64, shape (k - 1, n), where the whole graph was copied.
    """

    graph: KnowledgeGraph
    guarantee: Guarantee
    figures: Mapping[str, float] = field(default_factory=dict)
    originals: int | None = None
    parts: Vertices | None = None
    copies: Vertices | None = None


@dataclass(frozen=True)
class Release:
    """A graph to publish, and the secret that connects it with the original.

    Attributes
    ----------
    graph
        Vertices and rows in random order, labels fresh and opaque.
    mapping
        Original vertex v is vertex ``mapping[v]`` of `graph`; int64, shape (n,).
    guarantee, figures, parts, copies
        As in `Augmented`.
    """

    graph: KnowledgeGraph
    mapping: Vertices
    guarantee: Guarantee
    figures: Mapping[str, float]
    parts: Vertices | None = None
    copies: Vertices | None = None


class Anonymizer(Protocol):
    """An algorithm with its parameters."""

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make the augmented graph; original vertices stay, and edges as the guarantee says; weights change.

        Raises
        ------
        AnonymizationError
            If the graph or the parameters admit no such graph.
        """
