"""All places of a release where a part of so many vertices may stand, counted by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kgreason.assess.adjacency import Adjacency, undirected
from kgreason.assess.classes import scrambled
from kgreason.assess.patterns import Patterns
from kgreason.assess.space import Catalogue, Space
from kgreason.assess.visit_kernels import HANDED, SKIPPED
from kgreason.assess.visits import ENDLESS, SHARES, Orders, Share, Walker, count_connected, pick, shares
from kgreason.cores import each
from kgreason.graph.model import KnowledgeGraph

Ints = npt.NDArray[np.int64]

AT_ONCE = 32  # shares visited before their sets are classified
SAMPLED = 4096  # shares of which some are visited if there are too many places


class Places:
    """The weakly connected vertex sets of a released graph that lies in a space.

    Attributes
    ----------
    total
        Their number; if there are more than the limit, the number of those that are looked at.
    complete
        Whether all are looked at.
    """

    def __init__(
        self, space: Space, catalogue: Catalogue, released: KnowledgeGraph, vertices: Ints, limit: int
    ) -> None:
        self._catalogue, self._vertices, size = catalogue, vertices, catalogue.size
        self.total, self.complete = released.n, True
        self._shares: list[Share] = []
        if size == 1:
            return
        adjacency = space.bonds(size).attacked(released, vertices)
        self.complete = count_connected(undirected(released), size, limit) <= limit
        self._shares = shares(adjacency, size, SHARES) if self.complete else _some(adjacency, size, limit)
        self._patterns = Patterns(adjacency, catalogue)
        self.total = self._patterns.learn(self._shares, ENDLESS)

    def counts(self, wanted: Ints | None = None) -> Ints:
        """Number of places of each class, or of those that are wanted; the others then count 0."""
        found = np.zeros(len(self._catalogue.full), dtype=np.int64)
        for classes, _ in self.rows(wanted):
            more = np.bincount(classes, minlength=len(found))
            more[: len(found)] += found
            found = more
        return found

    def rows(self, wanted: Ints | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Classes of the places and their vertices in canonical order, many at a time."""
        if self._catalogue.size == 1:
            batches = iter([self._catalogue.classify(self._vertices[:, None])])
        else:
            batches = self._visited(wanted)
        for classes, rows in batches:
            mine = slice(None) if wanted is None else np.isin(classes, wanted)
            yield classes[mine], rows[mine]

    def _visited(self, wanted: Ints | None) -> Iterator[tuple[Ints, Ints]]:
        patterns = self._patterns
        asked = np.full(len(self._catalogue.full), HANDED if wanted is None else SKIPPED, dtype=np.int64)
        if wanted is not None:
            asked[wanted] = HANDED
        jobs = patterns.jobs(asked, all_open=wanted is None)
        orders = Orders(jobs, np.zeros_like(jobs), patterns.canonical)

        def visit(share: Share) -> list[tuple[Ints, Ints]]:
            walker = Walker(patterns.adjacency, patterns.traits, patterns.size, patterns.tree)
            return walker.gather(share, orders)[0]

        for begin in range(0, len(self._shares), AT_ONCE):
            for found in each(visit, self._shares[begin : begin + AT_ONCE]):
                for rows, nodes in found:
                    yield patterns.resolve(rows, nodes)


def _some(adjacency: Adjacency, size: int, limit: int) -> list[Share]:
    """Shares from all over the release that hold about as many sets as the limit allows.

    Where some vertices are tied and not adjacent there may be fewer.
    """
    divided = shares(adjacency, size, SAMPLED)
    chosen: list[Share] = []
    total = 0
    for i in scrambled(len(divided)).tolist():
        here = pick(adjacency, size, divided[i])[0]
        if total + here > limit:
            continue
        chosen.append(divided[i])
        total += here
    return chosen
