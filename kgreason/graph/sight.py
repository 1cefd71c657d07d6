"""What rules can see of the edges of a graph: the cells that its weights fall into."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.weights import Use, WeightUse
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices, Weights
from kgreason.graph.situations import Cells, Ties

CUTS = (0.5, 1.0)  # where cells of added weights end, in parts of the bound of the sum


class Sight:
    """The relations of a graph that the rules read, their weights sorted into cells.

    Parameters
    ----------
    uses
        How much the rules are to see of the weights.
    """

    def __init__(self, graph: KnowledgeGraph, program: CheckedProgram, uses: Mapping[str, WeightUse]) -> None:
        read = {a.predicate for r in program.rules for a in (r.head, *r.positives, *r.negatives)}
        self.graph, self.uses = graph, uses
        self.relations = {p: graph.relations[p] for p in program.edges if p in graph.relations and p in read}

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """Cells of the weights, by relation."""
        unread = WeightUse(Use.UNREAD)
        return {p: _cells(relation, self.uses.get(p, unread)) for p, relation in self.relations.items()}

    @cached_property
    def ties(self) -> Ties:
        """Adjacency by cells."""
        return Ties.of(self.graph, self.cells)

    def ends(self) -> dict[str, tuple[Vertices, Vertices, tuple[Weights, Weights]]]:
        """Sources and targets by relation, each cell between two vertices once, and its least and greatest weight."""
        found = {}
        for predicate, relation in self.relations.items():
            cells = self.cells[predicate]
            rows = np.stack([relation.source, relation.target, cells.of_edge], axis=1)
            source, target, cell = np.ascontiguousarray(np.unique(rows, axis=0).T)
            found[predicate] = (source, target, (cells.low[cell], cells.high[cell]))
        return found

    def edges(self) -> dict[str, tuple[Vertices, Vertices, tuple[Weights]]]:
        """Sources, targets and weights by relation."""
        return {p: (r.source, r.target, (weights(r),)) for p, r in self.relations.items()}


def weights(relation: Relation) -> Weights:
    """Weights as rules see them: 1 where the relation has none."""
    return relation.weight if relation.weight is not None else np.ones(len(relation))


def _cells(relation: Relation, use: WeightUse) -> Cells:
    if use.use is Use.READ:
        return Cells.exact(weights(relation))
    # Most sums are decided by whether one weight exceeds the bound or two are below half of it.
    return Cells.between(weights(relation), np.union1d(use.constants, np.outer(use.bounds, CUTS)))
