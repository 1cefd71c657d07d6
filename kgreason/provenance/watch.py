"""In which round of a recursion facts came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.engine.keyed import KeyedRelation
from kgreason.engine.relation import Relation
from kgreason.engine.table import Codes
from kgreason.provenance.known import Heights


class Watch:
    """Notes in which round the facts of some predicates came."""

    def __init__(self, predicates: Sequence[str]) -> None:
        self.predicates = predicates
        self.rounds = 0
        self.rows: dict[str, list[Codes]] = {p: [] for p in predicates}
        self.heights: dict[str, list[Heights]] = {p: [] for p in predicates}
        self.ends: dict[str, list[int]] = {p: [] for p in predicates}
        self.relations: dict[str, Relation] = {}

    def __call__(self, relations: Mapping[str, Relation]) -> None:
        """Note what has come in a round."""
        for predicate in self.predicates:
            relation = self.relations[predicate] = relations[predicate]
            if isinstance(relation, KeyedRelation):
                recent = np.array(relation.recent)
                self.rows[predicate].append(recent)
                self.heights[predicate].append(np.full(len(recent), self.rounds))
            else:
                self.ends[predicate].append(relation.seen)
        self.rounds += 1

    def found(self, predicate: str, arity: int) -> tuple[Codes, Heights]:
        """Facts and their heights."""
        relation = self.relations[predicate]
        if isinstance(relation, KeyedRelation):
            rows = np.concatenate(self.rows[predicate])
            return rows.reshape(-1, arity), np.concatenate(self.heights[predicate])
        sizes = np.diff(self.ends[predicate], prepend=0)
        rows = relation.buffer[: self.ends[predicate][-1]]
        return rows, np.repeat(np.arange(len(sizes)), sizes)
