"""Images that unchanged subgraphs keep over the releases of a series, and degrees that are raised for them.

An attacker who joins a release with earlier ones finds an image of a subgraph if it is one in each of them, at the
same positions, with other degrees in each. The earlier releases are fixed. Where an image has the degrees of the
subgraph, or of another image, in the new release alone, they are raised there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Ints
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.sorted_keys import places
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.natural_cover import Cover
from kgreason.isomorphism.definition import Earlier
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.renaming import renamed, side_by_side

Flags = npt.NDArray[np.bool_]
_POOLS, _POOL = (
    16,
    48,
)  # pools of members of a class, apart from each other, that are tried for all its subgraphs
_CANDIDATES = 2_048  # members of a class that may be images
_MOST = 512  # subgraphs of a class without images in the pool that are examined
_BLOCK = 1 << 14  # subgraphs that are compared with a pool at a time
_HIGHER = 8  # higher degrees that are tried for an image


class JoinedImages:
    """Attacked subgraphs that are equal in all originals of a window, with their images in all releases.

    Parameters
    ----------
    graph
        Graph to be augmented, with the additions that stay; its first vertices are those of `original`.
    serials
        Number in the series of each further vertex.
    window
        Earlier releases.
    attacked
        Attacked subgraphs of the original, one array for each size.
    """

    def __init__(
        self,
        original: KnowledgeGraph,
        graph: KnowledgeGraph,
        serials: Vertices,
        window: Sequence[Earlier],
        rules: CheckedProgram,
        attacked: Sequence[Ints],
        need: int,
        rng: np.random.Generator,
    ) -> None:
        self._need = need
        placed = [_places(original, serials, release) for release in window]
        relations = {_name(name, 0): r for name, r in graph.relations.items()}
        degrees = []
        for number, (release, place) in enumerate(zip(window, placed, strict=True), start=1):
            relations |= _within(release, place, number)
            for degree in (release.graph.in_degree(), release.graph.out_degree()):
                own = (
                    int(degree.max(initial=0)) + 1 + np.arange(graph.n)
                )  # absent vertices differ from all others
                degrees.append(np.where(place < 0, own, degree[place]))
        self._before = np.column_stack(degrees)
        programs = [renamed(rules, partial(_name, number=number)) for number in range(len(window) + 1)]
        joined = KnowledgeGraph(graph.labels, relations)
        reasoner = InducedReasoner(joined, reduce(side_by_side, programs))
        same = _Unchanged(original, window, placed)
        self._covers = []
        for rows in attacked:
            unchanged = rows[same(rows)]
            if len(unchanged):
                cover = Cover(joined, reasoner, rows.shape[1], unchanged, need, rng)
                self._covers.append(cover)
        self._hopeless: set[tuple[int, ...]] = set()

    def raise_lacking(self, augmentation: Augmentation) -> bool:
        """Promise edges to images of subgraphs that lack images; returns whether there are any."""
        promised = False
        for cover in self._covers:
            for target, placed in self._lacking(cover, augmentation):
                promised |= self._raise(target, placed, augmentation)
        return promised

    def _degrees(self, augmentation: Augmentation) -> Ints:
        n = len(self._before)
        return np.column_stack([self._before, augmentation.inner[:n], augmentation.outer[:n]])

    def _lacking(self, cover: Cover, augmentation: Augmentation) -> Iterator[tuple[Ints, Ints]]:
        """Subgraphs without images, each with the placed members of its class."""
        targets, classes = cover.attacked
        first, turns = cover.turns
        for c in np.unique(classes).tolist():
            members = cover.members[cover.classes == c][:_CANDIDATES]
            placed = members[:, turns[first[c] : first[c + 1]]].reshape(-1, cover.x)[:_CANDIDATES]
            degrees = self._degrees(augmentation)
            short, free = targets[classes == c], placed
            for _ in range(_POOLS):
                chosen = _pool(free, degrees, _POOL)
                short = short[~_served(short, free[chosen], degrees, self._need)]
                free = np.delete(free, chosen, axis=0)
                if not len(short) or len(free) < self._need:
                    break
            for target in short[:_MOST]:
                if tuple(target.tolist()) in self._hopeless:
                    continue
                if self._images(target, placed, self._degrees(augmentation)) is None:
                    yield target, placed

    def _images(self, target: Ints, placed: Ints, degrees: Ints) -> list[Ints] | None:
        """Images of a subgraph that are apart from it and from each other; `None` if none are found."""
        images = placed[_apart(target[None], placed, degrees)[0]]
        chosen = _pool(images, degrees, self._need)
        return list(images[chosen]) if len(chosen) == self._need else None

    def _raise(self, target: Ints, placed: Ints, augmentation: Augmentation) -> bool:
        """Raise the degrees of images that are apart from a subgraph and from each other in the earlier releases."""
        inner, outer = augmentation.inner, augmentation.outer
        fit = placed[_apart(target[None], placed, self._before)[0]]
        equal = (inner[fit] == inner[target]).sum(axis=1) + (outer[fit] == outer[target]).sum(axis=1)
        images = self._images(target, fit[np.argsort(equal, kind="stable")], self._before)
        if images is None:
            self._hopeless.add(tuple(target.tolist()))
            return False
        more: dict[int, tuple[int, int]] = {}
        for position in range(len(target)):
            for at, image in enumerate(images):
                others = [int(one[position]) for one in (target, *images[:at])]
                found = self._higher(int(image[position]), others, more, augmentation)
                if found is None:
                    self._hopeless.add(tuple(target.tolist()))
                    return False
                more[int(image[position])] = found
        for vertex, (ingoing, outgoing) in more.items():
            lack_in, lack_out = np.array([ingoing - inner[vertex]]), np.array([outgoing - outer[vertex]])
            augmentation.promise(np.array([vertex]), lack_in, lack_out)
        return any(len(ends) > 0 for ends in augmentation.open)

    def _higher(
        self, vertex: int, others: Sequence[int], more: dict[int, tuple[int, int]], augmentation: Augmentation
    ) -> tuple[int, int] | None:
        """Degrees of a vertex, not lower than now, that differ from those of others and invalidate no image."""
        inner, outer = augmentation.inner, augmentation.outer
        taken = [more.get(v, (int(inner[v]), int(outer[v]))) for v in others]
        start = int(inner[vertex]), int(outer[vertex])
        for steps in range(_HIGHER):
            ingoing, outgoing = start
            while ingoing in {one for one, _ in taken}:
                ingoing += 1
            while outgoing in {one for _, one in taken}:
                outgoing += 1
            if augmentation.symmetric:
                ingoing = outgoing = max(ingoing, outgoing)
            unchanged = (ingoing, outgoing) == (int(inner[vertex]), int(outer[vertex]))
            if unchanged or augmentation.may_have(vertex, ingoing, outgoing):
                return ingoing, outgoing
            start = ingoing + 1, outgoing + (1 if augmentation.symmetric else steps % 2)
        return None


def _name(predicate: str, number: int) -> str:
    return f"{predicate} of release {number}"


def _places(original: KnowledgeGraph, serials: Vertices, release: Earlier) -> Vertices:
    """Vertex of an earlier release for each vertex of the graph; -1 if it has none."""
    real = {name: v for v, name in enumerate(release.names) if release.copy[v] == 0}
    made = {serial: v for v, serial in enumerate(release.serial.tolist()) if serial}
    labels, numbers = original.labels.tolist(), serials.tolist()
    return np.array([*(real.get(n, -1) for n in labels), *(made.get(s, -1) for s in numbers)], dtype=np.int64)


def _within(release: Earlier, place: Vertices, number: int) -> dict[str, Relation]:
    """Relations of an earlier release between vertices of the graph, and the vertices that it has as loops."""
    of = np.full(release.graph.n, -1, dtype=np.int64)
    present = np.flatnonzero(place >= 0)
    of[place[present]] = present
    found = {}
    for name, r in release.graph.relations.items():
        kept = r.take((of[r.source] >= 0) & (of[r.target] >= 0))
        found[_name(name, number)] = Relation(of[kept.source], of[kept.target], kept.weight)
    if len(present) < len(place):
        found[_name("present", number)] = Relation(present, present)
    return found


class _Unchanged:
    """Whether subgraphs have the same edges in an original and in those of earlier releases."""

    def __init__(
        self, original: KnowledgeGraph, window: Sequence[Earlier], placed: Sequence[Vertices]
    ) -> None:
        self._n = n = original.n
        self._stays = np.ones(n, dtype=np.bool_)
        changed = [np.empty(0, dtype=np.int64)]
        for release, place in zip(window, placed, strict=True):
            own = place[:n]
            self._stays &= own >= 0
            of = np.full(release.graph.n, -1, dtype=np.int64)
            of[own[own >= 0]] = np.flatnonzero(own >= 0)
            for name, r in original.relations.items():
                before = release.graph.relations[name].take(~release.synthetic[name])
                before = before.take((of[before.source] >= 0) & (of[before.target] >= 0))
                then, now = of[before.source] * n + of[before.target], r.source * n + r.target
                keys = np.concatenate([then, now])
                known, at = np.unique(keys, return_inverse=True)
                count = np.bincount(at, np.repeat([1, -1], [len(then), len(now)]), len(known))
                changed.append(known[count != 0])
        self._changed = np.unique(np.concatenate(changed))

    def __call__(self, rows: Ints) -> Flags:
        same = np.asarray(self._stays[rows].all(axis=1))
        for p, q in [*permutations(range(rows.shape[1]), 2), *((p, p) for p in range(rows.shape[1]))]:
            same &= ~places(self._changed, rows[:, p] * self._n + rows[:, q])[1]
        return same


def _apart(rows: Ints, others: Ints, degrees: Ints) -> Flags:
    """Whether each row shares no vertex, and at no position a degree, with each other one; shape (rows, others)."""
    found = np.ones((len(rows), len(others)), dtype=np.bool_)
    for p in range(rows.shape[1]):
        for q in range(rows.shape[1]):
            found &= rows[:, p, None] != others[None, :, q]
        for degree in degrees.T:
            found &= degree[rows[:, p]][:, None] != degree[others[:, p]][None]
    return found


def _pool(placed: Ints, degrees: Ints, most: int) -> list[int]:
    """Rows of at most so many placed members that are apart from each other, the first ones where possible."""
    chosen: list[int] = []
    free = np.ones(len(placed), dtype=np.bool_)
    while len(chosen) < most and free.any():
        chosen.append(int(free.argmax()))
        free &= _apart(placed[chosen[-1:]], placed, degrees)[0]
    return chosen


def _served(targets: Ints, pool: Ints, degrees: Ints, need: int) -> Flags:
    """Whether subgraphs have `need` images in a pool."""
    served = np.zeros(len(targets), dtype=np.bool_)
    for begin in range(0, len(targets), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        served[rows] = _apart(targets[rows], pool, degrees).sum(axis=1) >= need
    return served
