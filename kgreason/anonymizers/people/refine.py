"""Better clusters by local search on the loss that anonymizing them costs.

Clusterings see distances between two users; what a cluster costs depends on all of its users at once. So users move to
another cluster, or change places with one of another cluster, as long as the loss falls, which is that of AIL (PCKGA,
section 6.3). Each round looks at all users in parallel, among the clusters of those near them, and carries out the best
proposals first, one at a time, each if it still pays then. The result depends on neither the number of cores nor on
chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from kgreason.anonymizers.people.cluster_kernels import OF, changes, cheapest, enter, leave, may_leave
from kgreason.anonymizers.people.columns import Columns, Table
from kgreason.anonymizers.people.distance import Clusters, Distance
from kgreason.anonymizers.people.neighbours import neighbours
from kgreason.anonymizers.people.refine_kernels import carry_out, propose, survey
from kgreason.anonymizers.people.validity import numbered
from kgreason.cores import cores, each
from kgreason.graph.model import Vertices


def refine(
    columns: Columns, clusters: Clusters, near: Vertices, rounds: int = 60, least: float = 0.002
) -> Clusters:
    """Lower the loss of clusters by moves and swaps of users; valid clusters stay valid, removed users removed.

    Parameters
    ----------
    columns
        Of the graph, with the level of each user.
    clusters
        Valid ones; int64, shape (n,), -1 for removed users.
    near
        Users near each user, shape (n, candidates): he may go to their clusters.
    rounds
        At most so many.
    least
        The search ends when a round lowers the loss by a smaller share than this.

    Returns
    -------
    Clusters
        Numbered from 0 in the order of their first users.
    """
    search = Search(columns, clusters)
    last = search.loss()
    for now in range(1, rounds + 1):
        done = search.improve(near, now)
        last, before = search.loss(), last
        if not done or before - last < least * before:
            break
    return numbered(search.clusters)


def nearest(distance: Distance, candidates: int = 20) -> Vertices:
    """The users nearest to each user, int64, shape (n, candidates), fewer of them in a small graph."""
    counts = np.full(distance.n, min(candidates, distance.n - 1))
    return neighbours(distance, counts).user.reshape(distance.n, -1)


class Search:
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
        self._scratch = np.empty(width)
        self._constant = (columns.own * columns.weight).sum(
            axis=1
        )  # what kernels leave in the loss of a cluster
        for u in np.flatnonzero(clusters >= 0).tolist():
            self.enter(u, int(clusters[u]))
        self._looked = np.full(n, -1, dtype=np.int64)
        self._changed = np.zeros(count, dtype=np.int64)
        self._gain = np.zeros(n)
        self._goal = np.zeros((n, 2), dtype=np.int64)
        self._parting = np.zeros((n, width + 1))

    @property
    def clusters(self) -> Clusters:
        """Cluster of each user, -1: none; a view."""
        return self.member[:, OF]

    def loss(self) -> float:
        """Summed loss of the users who are in a cluster."""
        return float(self.losses().sum())

    def losses(self) -> Table:
        """Loss of each user, 0 of those who are in no cluster; float64, shape (n,)."""
        found = np.zeros(len(self.member))
        inside = np.flatnonzero(self.member[:, OF] >= 0)
        own, weight = self.columns.own, self.columns.weight
        more = self.sums[self.member[inside, OF], : own.shape[1]] - own[inside]
        found[inside] = (more * weight[inside]).sum(axis=1)
        return found

    def joining(self, u: int, c: int) -> float:
        """How the loss changes if a user who is in no cluster enters this one."""
        more = changes(c, u, -1, *self._values, self.tally, self.sums, self._scratch)
        return more - float(self._constant[u])

    def leaving(self, u: int) -> float:
        """How the loss changes if a user leaves his cluster."""
        c = int(self.member[u, OF])
        more = changes(c, -1, u, *self._values, self.tally, self.sums, self._scratch)
        return more + float(self._constant[u])

    def enter(self, u: int, c: int) -> None:
        """Put a user who is in no cluster into one."""
        enter(u, c, *self._values, *self._state)

    def leave(self, u: int) -> None:
        """Take a user out of his cluster."""
        leave(u, *self._values, *self._state)

    def may_leave(self, u: int) -> bool:
        """Whether the cluster of a user stays valid, or becomes empty, without him."""
        return may_leave(u, self.columns.user, self.member, self.cluster, self.sums)

    def cheapest(self, u: int) -> int:
        """The cluster that a user who is in none enters at the least cost; -1: none has the users that he needs."""
        return cheapest(u, *self._values, self.cluster, self.tally, self.sums, self._scratch)

    def improve(self, near: Vertices, now: int) -> int:
        """Let all users propose what is best for them, and carry it out; returns how many did."""
        self._over_users(self._survey)
        self._over_users(lambda first, stop: self._propose(first, stop, near, now))
        order = np.argsort(-self._gain, kind="stable")
        order = order[self._goal[order, 0] >= 0]
        return carry_out(
            order, self._looked, self._changed, now, self._goal, *self._values, *self._state, self._scratch
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
