"""Plans: complete augmentations of one graph, compared by additions, derived facts, query answers and degrees.

References
----------
docs/methods/kguard.md, plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgreason.graph.facts import answers, derived_edges
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.anonymizers.answer_loss import Answers
from kgreason.isomorphism.anonymizers.degree_raises import pair_counts
from kgreason.isomorphism.definition import Plan
from kgreason.isomorphism.utility.query_utility import missing
from kgreason.isomorphism.utility.transitive_closure import closure_rules
from kgreason.language.check.checked_program import CheckedProgram

MORE = 1.1  # additions of a plan that may be chosen, as a multiple of the fewest

_VERTICES = 4_000  # vertices of graphs whose derived facts are judged


@dataclass(frozen=True, eq=False)
class PlanJudge:
    """Comparison of augmented graphs with the original `graph`.

    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @derived("strong"). strong(X,Y) :- own(X,Y,W), W > 0.7.')
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.9)], relation="own")
    >>> more = KnowledgeGraph.from_edges([("a", "b", 0.8), ("a", "c", 0.8), ("c", "d", 0.1)], relation="own")
    >>> found = PlanJudge(graph, rules).plan(more)
    >>> found.vertices_added, found.edges_added, found.precision, found.unique_degrees
    (2, 2, 0.5, 0.5)
    """

    graph: KnowledgeGraph
    program: CheckedProgram

    @cached_property
    def derives(self) -> bool:
        """Whether derived facts are judged: there are some, not too many, and not of a transitive closure.

        Almost every additional edge makes many further pairs of a closure, whichever plan it belongs to.
        """
        names = self.program.derived
        closed = any(closure_rules(self.program, name) is not None for name in names)
        return bool(names) and not closed and self.graph.n <= _VERTICES

    def plan(self, augmented: KnowledgeGraph) -> Plan:
        """Judge a graph whose first vertices are the original ones."""
        false, precision, wrong = None, None, None
        if self.derives:
            found, facts = self._evaluated(augmented)
            gained = [len(missing(self._original[1][name], rows)) for name, rows in facts.items()]
            false, all_facts = sum(gained), sum(map(len, facts.values()))
            precision = 1 - false / all_facts if all_facts else 1.0
            wrong = sum(
                len(missing(a, b)) + len(missing(b, a))
                for a, b in ((self._original[0][query], rows) for query, rows in found.items())
            )
        return Plan(
            augmented.n - self.graph.n, augmented.m - self.graph.m, false, precision, wrong,
            unique_degrees(augmented.in_degree(), augmented.out_degree()),
        )  # fmt: skip

    @cached_property
    def _original(self) -> tuple[Answers, Answers]:
        return self._evaluated(self.graph)

    def _evaluated(self, graph: KnowledgeGraph) -> tuple[Answers, Answers]:
        """Query answers, and derived facts about two vertices."""
        edges = {
            name: np.stack(ends, axis=1)[ends[0] != ends[1]]
            for name, ends in derived_edges(graph, self.program).items()
        }
        return answers(graph, self.program) if self.program.queries else {}, edges


def unique_degrees(inner: Vertices, outer: Vertices) -> float:
    """Share of the vertices whose in- and out-degree no other vertex has.

    >>> unique_degrees(np.array([0, 1, 1, 2]), np.array([1, 1, 1, 0]))
    0.5
    """
    if not len(inner):
        return 0.0
    return float((pair_counts(inner, outer)[2] == 1).sum() / len(inner))


def choose(plans: Sequence[Plan]) -> int:
    """Number of the plan with the highest precision, of those with at most 10 % more additions than the fewest.

    Equal precision is decided by wrong answers, then by additions.

    >>> plans = [Plan(0, 100, 50, 0.5, 7, 0.1), Plan(2, 107, 10, 0.9, 9, 0.1), Plan(0, 120, 0, 1.0, 0, 0.1)]
    >>> choose(plans)
    1
    """
    most = MORE * min(plan.added for plan in plans)
    few = [number for number, plan in enumerate(plans) if plan.added <= most]
    return min(few, key=lambda i: (-(plans[i].precision or 0.0), plans[i].wrong_answers or 0, plans[i].added))
