"""Item 4 of Definition 4.1: attacked subgraphs with k - 1 images in the release.

Subgraphs X1 of the original and subgraphs of the release are divided into KG-isomorphism classes, each written in the
canonical order of its class. An image of X1 is a member of its class, permuted by an automorphism. The task is to find
k - 1 such members that share no vertex and, at any position, no trait. Nearly all X1 have them in a small pool of
members that is filled during enumeration. The others are stored and searched for in a growing portion of the release.
An X1 fails only after all members of its class were considered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.verification.certified_images import Proof
from kgreason.isomorphism.verification.image_pools import ENTRIES, QUOTA, RAREST, Patterns, Pools
from kgreason.isomorphism.verification.image_search import Search
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue, Classes, Scarcity
from kgreason.isomorphism.verification.population import small_components
from kgreason.isomorphism.verification.release_index import Adjacency, ReleaseIndex, scrambled
from kgreason.isomorphism.verification.subgraph_visits import (
    CHECKED,
    ENDLESS,
    FREE,
    SHARES,
    Orders,
    Share,
    shares,
    work_of,
)
from kgreason.isomorphism.verification.verdict import Donors

Ints = npt.NDArray[np.int64]

WINDOW = 1 << 17  # attacked subgraphs without images in the pools that are searched for together
SHOWN = 5
HURRIED = 1 << 16, 0  # comparisons for one set and, if that does not suffice, for all sets together
DEGREES = "in-degree", "out-degree"
LOOKED_AT = 1 << 18  # maximum number of members of a class that a witness is derived from


@dataclass
class Outcome:
    """Result of item 4 for the attacked subgraphs of one size."""

    forms: Classes  # canonical forms of the classes
    members: Ints  # some attacked subgraphs without images: vertices of the release in canonical order
    classes: Ints  # class of each of them
    status: Ints  # 0 if no images exist or -1 if undecided
    satisfied: int = 0  # attacked subgraphs with images
    total: int = 0
    undecided: int = 0
    lacking: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # without images, by class
    pools: dict[int, Ints] = field(default_factory=dict)  # all members of some classes, each of shape (M, x)
    donors: Donors | None = None  # members and images that serve the satisfied attacked subgraphs
    complaints: tuple[str, ...] = ()  # faults of the donors of a certificate
    given_up: str = "the search was given up"  # reason why subgraphs are undecided


def attacked(
    index: ReleaseIndex, original: KnowledgeGraph, mapping: Ints, x: int
) -> Iterator[tuple[int, Ints | Adjacency]]:
    """Sizes of the attacked vertex sets, with the sets or the adjacency in which they are enumerated.

    The attacked sets are those of x vertices that induce a weakly connected subgraph, and each smaller component.
    """
    smaller, larger = small_components(original, x)
    for size, rows in smaller:
        yield size, mapping[rows]
    if larger:
        yield x, mapping[:, None] if x == 1 else index.bonds(x).attacked(original, mapping)


def decide(
    index: ReleaseIndex,
    size: int,
    sets: Ints | Adjacency,
    k: int,
    progress: Progress,
    donors: Sequence[Donors] | None = None,
    most: int = ENDLESS,
    *,
    hurried: bool = False,
) -> Outcome:
    """Decide for each attacked vertex set of the release whether it has k - 1 images.

    Parameters
    ----------
    sets
        The sets, shape (T, size), or the adjacency whose connected sets they are.
    donors
        Donors of this size, among which images are looked up; `None`: search the whole release.
    most
        Maximum number of visited sets of the release; sets without images found are then undecided.
    hurried
        Whether hard sets are given up early.
    """
    decision = _Decision(index, size, k, progress, donors, most, hurried=hurried)
    if isinstance(sets, Adjacency):
        decision.visited(sets)
    else:
        decision.listed(sets)
    decision.end()
    return decision.outcome


def decide_each(index: ReleaseIndex, members: Ints, k: int, progress: Progress) -> Ints:
    """Decide whether vertex sets of the release have k - 1 images: 1, 0, or -1 where a small search budget runs out."""
    return _Decision(index, members.shape[1], k, progress, None, ENDLESS, hurried=True).listed(members)


class _Decision:
    def __init__(
        self,
        index: ReleaseIndex,
        size: int,
        k: int,
        progress: Progress,
        donors: Sequence[Donors] | None,
        most: int,
        *,
        hurried: bool,
    ) -> None:
        self.index, self.size, self.progress = index, size, progress
        # there cannot be more disjoint images than vertices, which bounds the arrays
        self.need = min(k - 1, index.graph.n)
        self.catalogue = Catalogue(index, size)
        self.pools = Pools(self.catalogue, self.need)
        none = np.empty(0, dtype=np.int64)
        self.outcome = Outcome(self.catalogue.full, none.reshape(0, size), none, none)
        self.search = Search(self.catalogue, self.pools, progress, most) if donors is None else None
        if hurried and self.search is not None:
            self.search.budget, self.search.left = HURRIED
        self.finder = self.search or Proof(self.catalogue, self.pools, donors or ())

    def listed(self, members: Ints) -> Ints:
        """Decide sets; returns their status."""
        self.outcome.total = len(members)
        status = np.ones(len(members), dtype=np.int64)
        if not self.need:
            self.outcome.satisfied = len(members)
            return status
        classes, rows = self.catalogue.classify(members)
        left = np.ones(len(members), dtype=bool)
        if self.search is None:
            left = ~self.pools.settled(rows, classes)
            self.outcome.satisfied = int((~left).sum())
        elif self.size > 1:
            self._sample(self.search)
        status[left] = self._search_remaining(rows[left], classes[left])
        return status

    def visited(self, adjacency: Adjacency) -> None:
        """Decide all connected sets of an adjacency."""
        patterns = Patterns(adjacency, self.catalogue)
        self.progress.step(f"Listing the attacked subgraphs of {self.size} vertices")
        self.outcome.total = patterns.learn(shares(adjacency, self.size, SHARES), ENDLESS)
        if not self.need:
            self.outcome.satisfied = self.outcome.total
            return
        if self.search is not None:
            self._sample(self.search)
            self.pools.sample(patterns, _spread(adjacency), QUOTA)
        self.progress.step(f"Searching images of the subgraphs of {self.size} vertices", self.outcome.total)
        divided = shares(adjacency, self.size, max(SHARES, self.outcome.total >> 15))
        parts = deque(divided[i] for i in scrambled(len(divided)))  # random order makes batches similar
        kept: list[tuple[Ints, Ints]] = []
        count, batch = 0, 1
        while parts:
            batch = min(batch, len(parts))
            found = self._visit(patterns, [parts.popleft() for _ in range(batch)])
            kept += found
            more = sum(len(rows) for rows, _ in found)
            count += more
            if count and (count > WINDOW or not parts):
                self._search_remaining(*map(np.concatenate, zip(*kept, strict=True)))
                kept, count = [], 0
            batch = max(1, min(2 * batch, WINDOW // max(1, more // batch)))

    def end(self) -> None:
        out = self.outcome
        none = np.empty((0, self.size), dtype=np.int64), np.empty((0, self.need, self.size), dtype=np.int64)
        targets, images = map(np.concatenate, zip(none, *self.finder.found, strict=True))
        out.donors = Donors(self.size, tuple(self.pools.in_blocks()), targets, images)
        if isinstance(self.finder, Proof):
            out.complaints = tuple(self.finder.complaints)
            out.given_up = "the certificate shows no images of it"

    def _sample(self, search: Search) -> None:
        self.pools.sample(search.release, _rarest(search.release.adjacency, self.size), QUOTA << 8)
        self.pools.sample(search.release, _spread(search.release.adjacency), QUOTA)

    def _visit(self, patterns: Patterns, parts: list[Share]) -> list[tuple[Ints, Ints]]:
        """Visit some shares; return the rows without images in the pools, and their classes."""
        self.pools.reserve()
        jobs = patterns.jobs(np.where(self.pools.full(), FREE, CHECKED), all_open=True)
        number = np.empty(self.index.graph.n, dtype=np.int64)
        number[patterns.adjacency.vertices] = np.arange(self.index.graph.n)
        first = np.append(self.pools.first, [-1, -1])[patterns.classes]
        blocks = self.pools.blocks, number[self.pools.members]
        orders = Orders(jobs, first, patterns.canonical, self.need, self.pools.most, *blocks)
        handed, done = patterns.visit(parts, orders, self.progress.advance)
        self.outcome.satisfied += done
        found = []
        for rows, nodes in handed:
            settled = patterns.classes[nodes] < 0  # the pools of ambiguous patterns were not looked at yet
            classes, rows = patterns.resolve(rows, nodes)
            if settled.any():
                settled[settled] = self.pools.settled(rows[settled], classes[settled])
                self.outcome.satisfied += int(settled.sum())
            found.append((rows[~settled], classes[~settled]))
        return found

    def _search_remaining(self, rows: Ints, classes: Ints) -> Ints:
        """Search for the images of sets that have none in the pools."""
        status = self.finder.decide(rows, classes)
        out = self.outcome
        out.satisfied += int((status == 1).sum())
        out.undecided += int((status == -1).sum())
        failed = _some(classes, status)
        out.members = np.concatenate([out.members, rows[failed]])
        out.classes = np.concatenate([out.classes, classes[failed]])
        out.status = np.concatenate([out.status, status[failed]])
        kept = _some(out.classes, out.status)
        out.members, out.classes, out.status = out.members[kept], out.classes[kept], out.status[kept]
        for number in np.unique(out.classes).tolist():
            if number not in out.pools and (members := self.finder.members(number)) is not None:
                out.pools[number] = members
        lacking = np.bincount(classes[status != 1], minlength=len(out.lacking))
        lacking[: len(out.lacking)] += out.lacking
        out.lacking = lacking
        return status


def _some(classes: Ints, status: Ints) -> Ints:
    """A few of the failed rows, undecided ones last, of different classes where possible."""
    failed = np.flatnonzero(status != 1)
    failed = failed[np.argsort(-status[failed], kind="stable")]
    _, first = np.unique(classes[failed], return_index=True)
    picked = dict.fromkeys([*failed[np.sort(first)[:SHOWN]].tolist(), *failed[:SHOWN].tolist()])
    return np.array(list(picked)[:SHOWN], dtype=np.int64)


def _spread(adjacency: Adjacency) -> list[Share]:
    """Some entries from all over an adjacency, in scrambled order."""
    entries = np.flatnonzero(work_of(adjacency, 2))
    picked = entries[:: len(entries) // ENTRIES + 1]
    return [(int(e), int(e) + 1) for e in picked[scrambled(len(picked))]]


def _rarest(adjacency: Adjacency, size: int) -> list[Share]:
    """Last entries, where the sets of rare degrees are visited, in reverse order."""
    m, done = len(adjacency.neighbour), np.cumsum(work_of(adjacency, size)[::-1])
    first = m - int(np.searchsorted(done, RAREST))
    parts = [(max(first, e), min(e + 64, m)) for e in range(max(first, 0), m, 64)]
    return parts[::-1]


def image_witness(
    index: ReleaseIndex, found: Outcome, row: int, k: int, originals: npt.NDArray[np.object_] | None
) -> str:
    """Describe the attacked subgraph in a row of `found`, and the reason why it lacks images.

    `originals` holds the original label of each released vertex, `None` for synthetic vertices or if the original is
    unknown.
    """
    vertices = found.members[row].tolist()
    labels = index.graph.labels
    names = [
        str(labels[v]) if originals is None else f"{labels[v]} (original {originals[v]})" for v in vertices
    ]
    undecided = found.status[row] == -1
    reason = f"not decided: {found.given_up}" if undecided else _reason(index, found, row, k)
    return "\n  ".join([f"subgraph of {', '.join(names)}", *_edges(index, found, row), reason])


def _edges(index: ReleaseIndex, found: Outcome, row: int) -> list[str]:
    labels = index.graph.labels[found.members[row]]
    types = found.forms.form(int(found.classes[row])).types
    ground, derived = [], []
    for a, b in np.argwhere(types):
        counts = index.pairs.counts[types[a, b] % index.ground_types]
        bits = int(types[a, b]) // index.ground_types
        for name, count in zip(index.graph.relations, counts.tolist(), strict=True):
            if count:
                ground.append(f"{name}: {labels[a]} -> {labels[b]}" + f" ({count} edges)" * (count > 1))
        for number, name in enumerate(index.rules.derived):
            if bits >> number & 1:
                derived.append(f"{name}: {labels[a]} -> {labels[b]}")
    return [f"edges: {'; '.join(ground) or 'none'}", f"derived edges: {'; '.join(derived) or 'none'}"]


def _reason(index: ReleaseIndex, found: Outcome, row: int, k: int) -> str:
    number = int(found.classes[row])
    target = found.members[row]
    if number not in found.pools and (scarce := Scarcity(index).of(found.forms.form(number), k)) is not None:
        return (  # the members were not listed
            f"the vertex in the place of {index.graph.labels[target[scarce.position]]} needs {scarce.ingoing} ingoing "
            f"and {scarce.outgoing} outgoing edges; vertices of the release that have them differ too little: number "
            f"of {DEGREES[scarce.trait % 2]}s: {scarce.values}"
        )
    whole = found.pools.get(number, target[None, :])
    pool = whole[:LOOKED_AT]
    about = "at least " if len(whole) > len(pool) else ""
    disjoint = pool[~np.isin(pool, target).any(axis=1)]
    same = max(len(whole) - 1, 0)
    text = (
        f"KG-isomorphic to {same:,} other subgraphs of the release; "
        f"{about}{len(disjoint):,} share no vertex with it"
    )
    if not len(disjoint):
        return text
    turns = found.forms.form(number).automorphisms
    placed = disjoint[:, turns].reshape(-1, len(target))
    differs = index.traits[placed] != index.traits[target][None, :, :]
    count = int(differs.all(axis=(1, 2)).reshape(len(disjoint), -1).any(axis=1).sum())
    text += (
        f"; of these {about}{count:,} can have all labels, in-degrees and out-degrees different from its own"
    )
    if count >= k - 1:
        return f"{text}, but no {k - 1} of them that are disjoint and different from each other"
    return text + _equal_degrees(index, target, differs)


def _equal_degrees(index: ReleaseIndex, target: Ints, differs: npt.NDArray[np.bool_]) -> str:
    """Vertex whose degree is the most common obstacle, in words."""
    equal = (~differs[:, :, :-1]).mean(axis=0)
    position, trait = np.unravel_index(int(equal.argmax()), equal.shape)
    label, degree = index.graph.labels[target[position]], index.traits[target[position], trait]
    return (
        f"; in {equal[position, trait]:.0%} of the placements the vertex in the place of {label} has its "
        f"{DEGREES[trait % 2]}, {degree}"
    )
