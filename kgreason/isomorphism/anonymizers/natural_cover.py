"""Natural cover: attacked subgraphs that lack images among the natural and the made members of their classes.

References
----------
docs/methods/kguard.md, natural cover.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import each
from kgreason.base.jit import Ints
from kgreason.base.progress import SILENT, Progress
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.graph.sorted_keys import distinct
from kgreason.graph.subgraphs.enumeration import DRAW, PASS, TEST, visit_all
from kgreason.graph.subgraphs.member_pools import Pools, degree_ranks, diverse, search
from kgreason.graph.subgraphs.ordered_adjacency import Shorts
from kgreason.graph.subgraphs.patterns import Catalogue

SAMPLE = 2_048  # sampled members of a class
_POOR_SHARE = 0.2  # share of the sample without images above which a class is repaired before a full visit
_MANY = 5_000_000  # number of subgraphs above which all are visited only after no sampled one lacks images
_SEARCHED = 512  # subgraphs of a class whose images are searched
_MOST_LACKING = 4_096  # subgraphs of a class that may count as lacking ...
_SERVED_SHARE = 0.1  # ... if at most this share of the searched ones finds images
_BUDGET = 1 << 15  # steps of the search for the images of one subgraph
_CANDIDATES = (64, 4_096)  # candidate members per subgraph at most, in the first and the second attempt
_BLOCK = 1 << 7  # subgraphs that one core searches at a time


@dataclass(frozen=True, eq=False)
class Lack:
    """Subgraphs without images, with their classes and numbers of missing images; at least some of each class.

    Members are vertices in canonical order, int64, shape (N, x).
    """

    members: Ints
    classes: Ints
    missing: Ints

    @cached_property
    def of_class(self) -> dict[int, Ints]:
        """Members of each class, ascending."""
        order = np.argsort(self.classes, kind="stable")
        classes, begins = np.unique(self.classes[order], return_index=True)
        return dict(zip(classes.tolist(), np.split(self.members[order], begins[1:]), strict=False))

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Distinct pairs of a position, class * x + its number in the class, and a vertex there, ascending."""
        x, n = self.members.shape[1], int(self.members.max(initial=0)) + 1
        position, vertex = np.divmod(
            distinct((self.classes[:, None] * x + np.arange(x)) * n + self.members), n
        )
        return position, vertex

    def beyond(self, served: int) -> Lack:
        """Subgraphs that lack more than `served` images."""
        more = self.missing > served
        return self if more.all() else Lack(self.members[more], self.classes[more], self.missing[more])


class Cover:
    """Attacked subgraphs of one size with their images.

    They are all connected ones with x vertices, at most `limit`, or the `targets`, shape (T, x). Each needs k - 1
    images.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        reasoner: InducedReasoner,
        x: int,
        targets: Ints | None,
        need: int,
        rng: np.random.Generator,
        limit: int | None = None,
    ) -> None:
        self.x, self.need, self._rng = x, need, rng
        self.catalogue = Catalogue(graph, reasoner, x, rng, limit)
        self._targets = targets
        self.forget()
        self._sample()

    @property
    def count(self) -> int:
        """Number of attacked subgraphs."""
        return self.catalogue.census.total if self._targets is None else len(self._targets)

    def _sample(self) -> None:
        """Sample members of each class."""
        counts = self.catalogue.class_counts()
        threshold = np.minimum(2.0**31, 2.0**31 * SAMPLE / np.maximum(counts, 1)).astype(np.int64)
        draw = np.full(len(counts), DRAW, dtype=np.uint8)
        members, kinds = visit_all(self.catalogue, draw, threshold=threshold)
        classes = self.catalogue.class_of[kinds].astype(np.int64)
        self._counts = np.bincount(classes, minlength=len(self.catalogue.forms))
        self._counts[: len(counts)] = counts
        order = np.lexsort((self._rng.random(len(classes)), classes))
        first = np.searchsorted(classes[order], classes[order])
        order = order[np.arange(len(order)) - first < 2 * SAMPLE]
        self.members = self.catalogue.ordered(members[order], kinds[order])
        self.classes = classes[order]
        if self._targets is not None:
            self.attacked = self.catalogue.classified(self._targets)
            self._counts = np.pad(self._counts, (0, len(self.catalogue.forms) - len(self._counts)))
        self.turns = self.catalogue.forms.turns()

    def forget(self) -> None:
        """Remove all made members."""
        self.made = np.empty((0, self.x), dtype=np.int64), np.empty(0, dtype=np.int64)
        self.relying: list[Lack] = []

    def rely(self, lack: Lack) -> None:
        """Record subgraphs that rely on made members."""
        self.relying.append(lack)

    def add(self, members: Ints, classes: Ints) -> None:
        """Add made members in canonical order."""
        self.made = np.concatenate([members, self.made[0]]), np.concatenate([classes, self.made[1]])

    def candidates(self) -> tuple[Ints, Ints]:
        """Sampled and made members by class, made ones first."""
        members = np.concatenate([self.made[0], self.members])
        classes = np.concatenate([self.made[1], self.classes])
        order = np.argsort(classes, kind="stable")
        return members[order], classes[order]

    def lack(self, degrees: tuple[Vertices, Vertices], progress: Progress = SILENT) -> Lack:
        """Find the attacked subgraphs without images, given the in- and out-degree of each vertex."""
        catalogue, count = self.catalogue, len(self.catalogue.forms)
        ranks, width = degree_ranks(degrees)
        members, classes = self.candidates()
        pools = diverse(members, classes, count, self.turns, ranks, width)
        if self._targets is not None:
            targets, classes = self.attacked
            poor = ~pools.finds(targets, classes, self.need)
            return self._lacking(pools, targets[poor], classes[poor])
        poor = ~pools.finds(self.members, self.classes, self.need)
        size = np.maximum(np.bincount(self.classes, minlength=count), 1)
        share = np.bincount(self.classes[poor], minlength=count) / size
        poor_classes = (share > _POOR_SHARE) & (self._counts > _SEARCHED)
        if self._counts.sum() > _MANY and poor.any():  # first the sampled members, then all
            some = self._lacking(pools, self.members[poor], self.classes[poor])
            if len(some.members):
                return some
        wanted = np.where(poor_classes, PASS, TEST).astype(np.uint8)
        members, kinds = visit_all(catalogue, wanted, pools, self.need, advance=progress.advance)
        classes = catalogue.class_of[kinds].astype(np.int64)
        members = catalogue.ordered(members, kinds)
        if len(catalogue.forms) > count:  # rare classes that the sample missed
            self._add_classes(members[classes >= count], classes[classes >= count])
            return self.lack(degrees, progress)
        rest = poor & poor_classes[self.classes]
        members = np.concatenate([members, self.members[rest]])
        classes = np.concatenate([classes, self.classes[rest]])
        return self._lacking(pools, members, classes)

    def _add_classes(self, members: Ints, classes: Ints) -> None:
        self.members = np.concatenate([self.members, members])
        self.classes = np.concatenate([self.classes, classes])
        self._counts = np.pad(self._counts, (0, len(self.catalogue.forms) - len(self._counts)))
        self.turns = self.catalogue.forms.turns()

    def _lacking(self, pools: Pools, members: Ints, classes: Ints) -> Lack:
        """Subgraphs without images among all candidates."""
        # Of a large class only a sample is searched; if hardly any of it finds images, more count as lacking.
        order = np.lexsort((self._rng.random(len(classes)), classes))
        rank = np.arange(len(order)) - np.searchsorted(classes[order], classes[order])
        order, rank = order[rank < _MOST_LACKING], rank[rank < _MOST_LACKING]
        members, classes = members[order], classes[order]
        searched = rank < _SEARCHED
        missing = np.full(len(members), self.need, dtype=np.int64)
        missing[searched] = self.missing(members[searched], classes[searched], pools.ranks)
        served = np.bincount(classes[searched & (missing == 0)], minlength=len(self._counts))
        without = (missing > 0) & (searched | (served <= _SERVED_SHARE * _SEARCHED)[classes])
        return Lack(members[without], classes[without], missing[without])

    def missing(self, members: Ints, classes: Ints, ranks: Shorts) -> Ints:
        """Number of images that each subgraph, in canonical order, lacks among all candidates."""
        missing = np.full(len(members), self.need, dtype=np.int64)
        rows = np.flatnonzero(~np.isin(classes, self._uniform(members, classes, ranks)))
        missing[rows] = 0
        for need in range(self.need, 0, -1):
            found, apart = self.search(members[rows], classes[rows], ranks, need)
            missing[rows[apart == 0]] += need  # then there is no image at all
            rows = rows[~found & (apart > 0)]
            missing[rows] += 1
        return missing

    def _uniform(self, members: Ints, classes: Ints, ranks: Shorts) -> list[int]:
        """Classes in which these and all candidates have one in- or out-degree at a position: none are apart."""
        found, (candidates, of), (first, turns) = list[int](), self.candidates(), self.turns
        for c in np.unique(classes).tolist():
            low, high = np.searchsorted(of, [c, c + 1])
            met = ranks.reshape(-1, 2).T[:, np.concatenate([candidates[low:high], members[classes == c]])]
            placed = turns[first[c] : first[c + 1]]
            least, most = met.min(axis=1)[:, placed], met.max(axis=1)[:, placed]
            if (least.min(axis=1) == most.max(axis=1)).any():
                found.append(c)
        return found

    def search(
        self, members: Ints, classes: Ints, ranks: Shorts, need: int
    ) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Search `need` images of each subgraph, in canonical order, among all candidates.

        Returns whether they are found, and the number of candidates that are images, as far as they were counted.
        """
        others, of = self.candidates()
        bounds = np.searchsorted(of, np.arange(len(self.catalogue.forms) + 1)).astype(np.int64)
        found, apart = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members), dtype=np.int64)

        def block(rows: Ints) -> None:
            for most in _CANDIDATES:
                mine, count = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.int64)
                room: tuple[Any, ...] = tuple(np.zeros(s, dtype=np.int64) for s in (most, most, need))
                known: tuple[Any, ...] = np.ascontiguousarray(members[rows]), classes[rows], bounds, others
                arguments: tuple[Any, ...] = *known, *self.turns, ranks, need, _BUDGET, *room, mine, count
                search(*arguments)
                found[rows], apart[rows] = mine, count
                rows = rows[~mine & (count == most)]

        each(block, np.array_split(np.arange(len(members)), len(members) // _BLOCK + 1))
        return found, apart
