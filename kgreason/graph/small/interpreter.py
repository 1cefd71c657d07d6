"""A plan at work on one graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.cores import each
from kgreason.graph.model import Vertices, Weights
from kgreason.graph.small.compile import Plan
from kgreason.graph.small.expressions import selected
from kgreason.graph.small.kernels import CONSTANT, derive
from kgreason.graph.small.pairs import Edges, Pairs

Ints = npt.NDArray[np.int64]

BLOCK = 1 << 15  # subgraphs that one core takes at a time


class Interpreter:
    """Carries a plan out on subgraphs of a graph.

    Parameters
    ----------
    n
        Number of vertices.
    edges
        Sources, targets and weights of the edges of each relation that the plan loads; the weights so often as they
        are to be seen differently.
    """

    def __init__(
        self, plan: Plan, n: int, edges: Mapping[str, tuple[Vertices, Vertices, Sequence[Weights]]]
    ) -> None:
        self.plan = plan
        collected = []
        for predicate, (source, target, ends) in edges.items():
            words = []
            for number, (loaded, conditions) in enumerate(plan.loaded):
                if loaded == predicate:
                    belongs = np.ones(len(source), dtype=np.bool_)
                    for condition in conditions:
                        belongs &= selected(condition, ends[0])
                    words.append((number, belongs))
            slot = plan.slots.index(predicate) if predicate in plan.slots else -1
            collected.append(Edges(source, target, ends, words, slot))
        self.pairs = Pairs.of(n, collected, len(plan.slots))

    def words(self, members: Vertices, end: int = 0) -> Ints:
        """Words of the outputs in each induced subgraph, with one of the weights.

        Parameters
        ----------
        members
            int64, shape (N, x), x <= 8, no vertex twice in a row.

        Returns
        -------
        ndarray
            int64, shape (N, outputs).
        """
        members = np.ascontiguousarray(members, dtype=np.int64)
        found = np.empty((len(members), self.plan.outputs), dtype=np.int64)
        p, plan = self.pairs, self.plan

        def block(start: int) -> None:
            integers = np.concatenate([plan.code, np.zeros(plan.integers, dtype=np.int64)])
            doubles = np.concatenate([np.zeros(CONSTANT), plan.constants, np.zeros(plan.doubles)])
            derive(
                integers,
                doubles,
                members[start : start + BLOCK],
                p.indptr,
                p.entries,
                p.loop,
                p.flags,
                p.at,
                p.ends[end],
                found[start : start + BLOCK],
            )

        each(block, range(0, len(members), BLOCK))
        return found
