"""Better clusters by local search on the loss that anonymizing them costs.

Clusterings see distances between two users; what a cluster costs depends on all of its users at once. So users move to
another cluster, or change places with one of another cluster, as long as the loss falls. Each round looks at all users
in parallel, among the clusters of those near them, and carries out the best proposals first, one at a time, each if it
still pays then. The result depends on neither the number of cores nor on chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from kgreason.anonymizers.people.cluster_kernels import OF, enter
from kgreason.anonymizers.people.columns import Columns
from kgreason.anonymizers.people.distance import Clusters, Distance, Levels
from kgreason.anonymizers.people.neighbours import neighbours
from kgreason.anonymizers.people.refine_kernels import carry_out, propose, survey
from kgreason.anonymizers.people.validity import numbered
from kgreason.cores import cores, each
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph


def refine(
    graph: PeopleGraph,
    clusters: Clusters,
    levels: Levels,
    distance: Distance,
    alpha: float = 0.5,
    candidates: int = 20,
    rounds: int = 60,
    least: float = 0.002,
) -> Clusters:
    """Lower the loss of clusters by moves and swaps of users; valid clusters stay valid, removed users removed.

    Parameters
    ----------
    clusters
        Valid ones; int64, shape (n,), -1 for removed users.
    levels
        Anonymity level of each user, int64, shape (n,).
    distance
        Says who is near whom: a user may go to the clusters of the `candidates` users nearest to him.
    alpha
        Weight of attribute values in the loss; that of degrees is 1 - alpha.
    rounds
        At most so many.
    least
        The search ends when a round lowers the loss by a smaller share than this.

    Returns
    -------
    Clusters
        Numbered from 0 in the order of their first users.
    """
    search = _Search(Columns.of(graph, levels, alpha), clusters)
    counts = np.full(graph.n, min(candidates, graph.n - 1))
    near = neighbours(distance, counts).user.reshape(graph.n, -1)
    last = search.loss()
    for now in range(1, rounds + 1):
        done = search.improve(near, now)
        last, before = search.loss(), last
        if not done or before - last < least * before:
            break
    return numbered(search.member[:, OF])


def loss(graph: PeopleGraph, clusters: Clusters, levels: Levels, alpha: float = 0.5) -> float:
    """Loss of anonymizing the users who are in a cluster, summed; the loss of a removed user is not in it."""
    return _Search(Columns.of(graph, levels, alpha), clusters).loss()


class _Search:
    """Clusters, and what they have of each column."""

    def __init__(self, columns: Columns, clusters: Clusters) -> None:
        n, width = columns.own.shape
        count = int(clusters.max(initial=-1)) + 1
        self.columns = columns
        self.member = np.full((n, 3), -1, dtype=np.int64)
        self.cluster = np.tile(np.array([-1, 0]), (count, 1))
        self.tally = np.full((1 << (2 * len(columns.value) + 1).bit_length(), 2), -1, dtype=np.int64)
        self.sums = np.zeros((count, 3 * width))
        self._values = (columns.start, columns.value, columns.column, columns.counted, columns.user)
        self._state = (self.member, self.cluster, self.tally, self.sums)
        for u in np.flatnonzero(clusters >= 0).tolist():
            enter(u, int(clusters[u]), *self._values, *self._state)
        self._looked = np.full(n, -1, dtype=np.int64)
        self._changed = np.zeros(count, dtype=np.int64)
        self._gain = np.zeros(n)
        self._goal = np.zeros((n, 2), dtype=np.int64)
        self._parting = np.zeros((n, width + 1))

    def loss(self) -> float:
        """Summed loss of the users who are in a cluster."""
        width = self.columns.own.shape[1]
        own = (self.columns.own * self.columns.weight)[self.member[:, OF] >= 0]
        return float((self.sums[:, :width] * self.sums[:, width : 2 * width]).sum() - own.sum())

    def improve(self, near: Vertices, now: int) -> int:
        """Let all users propose what is best for them, and carry it out; returns how many did."""
        self._over_users(self._survey)
        self._over_users(lambda first, stop: self._propose(first, stop, near, now))
        order = np.argsort(-self._gain, kind="stable")
        order = order[self._goal[order, 0] >= 0]
        scratch = np.empty(self.columns.own.shape[1])
        return carry_out(
            order, self._looked, self._changed, now, self._goal, *self._values, *self._state, scratch
        )

    def _over_users(self, work: Callable[[int, int], None]) -> None:
        ends = np.linspace(0, len(self.member), 4 * cores() + 1).astype(np.int64).tolist()
        each(lambda share: work(*share), pairwise(ends))

    def _survey(self, first: int, stop: int) -> None:
        scratch = np.empty(self.columns.own.shape[1])
        survey(first, stop, *self._values, self.member, self.tally, self.sums, scratch, self._parting)

    def _propose(self, first: int, stop: int, near: Vertices, now: int) -> None:
        width = self.columns.own.shape[1]
        seen = np.full(len(self.cluster), -1, dtype=np.int64)
        propose(
            first,
            stop,
            near,
            self._looked,
            self._changed,
            now,
            seen,
            self._gain,
            self._goal,
            *self._values,
            *self._state,
            self._parting,
            np.empty(width),
            np.empty(width),
        )
