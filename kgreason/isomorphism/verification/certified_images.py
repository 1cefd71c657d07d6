"""Images that a certificate states, instead of images found by search.

Copies: let k vertices of the release be given for each vertex of the attacked graph, the mapped one first, all
different. Suppose that for each weakly connected component C of the attacked graph the ground edges of the release
inside C and inside each copy of C are equal, weights included, and that the k vertices given for each vertex differ in
in-degree, out-degree and label. An attacked subgraph X1 lies in one C. Its copies are disjoint, and rules derive the
same edges from equal edges and weights, so the copies are KG-isomorphic to it: item 4 of Definition 4.1 holds for every
x and any rules. The check takes time linear in the size of the release, except for sorting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.refinement import paired
from kgreason.isomorphism.verification.image_pools import Pools
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue
from kgreason.isomorphism.verification.verdict import Donors
from kgreason.release.verdicts import listing

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Proof:
    """Donors of one size after verification; invalid ones are left out, and their faults are `complaints`."""

    def __init__(self, catalogue: Catalogue, pools: Pools, donors: Sequence[Donors]) -> None:
        self._catalogue, self._index, self._need = catalogue, catalogue.index, pools.need
        self._pools = pools
        self.complaints: list[str] = []
        self.found: list[tuple[Ints, Ints]] = []
        for part in donors:
            self._add_blocks(part.blocks)
            self._add_images(part)

    def decide(self, rows: Ints, classes: Ints) -> Ints:
        """Status of attacked subgraphs in canonical order: 1 if stated or served by a pool, else -1."""
        stated = np.concatenate([rows[:0], *(targets for targets, _ in self.found)])
        both = np.sort(np.concatenate([stated, rows]), axis=1)
        _, number = np.unique(both, axis=0, return_inverse=True)
        mine, theirs = np.split(number.reshape(-1), [len(stated)])
        status = np.where(np.isin(theirs, mine), 1, -1).astype(np.int64)
        for c in np.unique(classes).tolist():
            # the canonical order of a subgraph depends on the vertex numbers, so try its automorphisms
            for turn in self._catalogue.full.form(c).automorphisms[1:]:
                left = np.flatnonzero((status < 0) & (classes == c))
                status[left[self._pools.settled(rows[left][:, turn], classes[left])]] = 1
        return status

    def members(self, _number: int) -> None:
        """No members are listed."""

    def _add_blocks(self, blocks: Sequence[Ints]) -> None:
        if not blocks:
            return
        rows = np.concatenate(blocks)
        of = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
        sound = self._known(rows)
        self._complain(rows, ~sound, "is no set of vertices of the release")
        rows = np.where(sound[:, None], rows, np.arange(rows.shape[1]))
        classes, canonical = self._catalogue.classify(rows)
        # the order that makes the first member of a block canonical makes the others canonical, too
        first = np.searchsorted(of, of)
        turn = (canonical[first][:, :, None] == rows[first][:, None, :]).argmax(axis=2)
        rows = np.take_along_axis(rows, turn, axis=1)
        number = classes[first]
        form = self._catalogue.full.form
        same = (self._types(rows) == [form(int(c)).types.reshape(-1) for c in number]).all(axis=1)
        self._complain(rows, sound & ~same, "does not look like the others of its block")
        met = repeated(rows, of, self._index.traits)
        self._complain(
            rows, sound & same & met, "meets another of its block in a vertex, a degree or a label"
        )
        good = np.bincount(of, ~(sound & same & ~met)) == 0
        ends = np.cumsum([len(b) for b in blocks])
        for block in np.flatnonzero(good & (np.bincount(of) >= max(self._need, 1))).tolist():
            mine = slice(ends[block] - len(blocks[block]), ends[block])
            self._pools.adopt(rows[mine], int(number[mine][0]))

    def _add_images(self, donors: Donors) -> None:
        targets, images = donors.targets, donors.images[:, : self._need]
        if not len(targets) or images.shape[1] < self._need:
            return
        count, size = targets.shape
        placed = np.concatenate([targets[:, None], images], axis=1)
        rows = placed.reshape(-1, size)
        known = self._known(rows)
        rows = np.where(known[:, None], rows, np.arange(size))
        types = self._types(rows).reshape(count, -1, size * size)
        same = (types == types[:, :1]).all(axis=(1, 2))
        met = repeated(rows, np.repeat(np.arange(count), placed.shape[1]), self._index.traits)
        good = same & known.reshape(count, -1).all(axis=1) & ~met.reshape(count, -1).any(axis=1)
        self._complain(targets, ~good, "has images that are none")
        self.found.append((targets[good], images[good]))

    def _known(self, rows: Ints) -> Flags:
        ordered = np.sort(rows, axis=1)
        inside = ((rows >= 0) & (rows < self._index.graph.n)).all(axis=1)
        known: Flags = inside & (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        return known

    def _types(self, rows: Ints) -> Ints:
        """Ground and derived edges of all ordered pairs of positions, shape (N, x * x)."""
        return self._index.with_masks(self._index.pairs.of(rows), self._index.reasoner.masks(rows))

    def _complain(self, rows: Ints, where: Flags, why: str) -> None:
        labels = self._index.graph.labels
        for row in rows[where]:
            named = (str(labels[v]) if 0 <= v < len(labels) else f"no vertex {v}" for v in row.tolist())
            self.complaints.append(f"the donor {', '.join(named)} {why}")


def repeated(rows: Ints, of: Ints, traits: Ints) -> Flags:
    """Whether rows (N, x) share a vertex, or a trait at a position, with another row of their block `of`.

    Examples
    --------
    >>> traits = np.array([[1, 1, 0], [2, 2, 1], [3, 1, 2]])
    >>> repeated(np.array([[0], [1], [2], [1]]), np.array([0, 0, 0, 1]), traits).tolist()
    [True, False, True, False]
    """
    count, size = rows.shape
    found = np.zeros(count, dtype=bool)
    found |= _occur_again(np.repeat(of, size), rows.ravel()).reshape(count, size).any(axis=1)
    for p in range(size):
        for trait in traits.T:
            found |= _occur_again(of, trait[rows[:, p]])
    return found


def _occur_again(left: Ints, right: Ints) -> Flags:
    """Whether pairs of numbers occur more than once."""
    number = paired(left, right)
    again: Flags = np.bincount(number)[number] > 1
    return again


def faults_of_copies(
    attacked: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Ints,
    copies: Ints,
    k: int,
    *,
    whole: bool = False,
) -> tuple[str, ...]:
    """Reasons why stated copies do not give every subgraph k occurrences; empty if they do.

    `attacked` is the original without the left-out edges; `copies` are those of its vertices, int64, shape (K - 1, n)
    with K >= k. Edges inside a copy must be the same in each; those between two components only if the copies are
    compared as a `whole`.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.5)])
    >>> edges = [("p", "q", 0.7), ("r", "s", 0.7), ("p", "s", 0.1), ("q", "r", 0.2)]
    >>> released = KnowledgeGraph.from_edges(edges)
    >>> faults_of_copies(graph, released, np.array([0, 1]), np.array([[2, 3]]), 2)
    ()
    """
    placed = np.concatenate([mapping[None], copies[: k - 1]])
    if len(placed) < k:
        return (f"it names {len(placed)} places of each vertex, not {k}",)
    if placed.shape[1] != attacked.n or (placed < 0).any() or (placed >= released.n).any():
        return ("its copies are not of vertices of this release",)
    vertices, count = np.unique(placed, return_counts=True)
    shared = (f"{v} is assigned to several vertices" for v in released.labels[vertices[count > 1]].tolist())
    return listing(
        [
            *shared,
            *_equal_traits(attacked, released, placed),
            *_differences(attacked, released, placed, whole=whole),
        ]
    )


def _equal_traits(attacked: KnowledgeGraph, released: KnowledgeGraph, placed: Ints) -> Iterator[str]:
    """Vertices of which two copies share a degree or a label."""
    _, label = np.unique(released.labels.astype(str), return_inverse=True)
    traits = {"in-degree": released.in_degree(), "out-degree": released.out_degree(), "label": label}
    for name, trait in traits.items():
        values = trait.reshape(-1)[placed]
        for i, j in combinations(range(len(placed)), 2):
            for v in np.flatnonzero(values[i] == values[j]).tolist():
                a, b = released.labels[placed[[i, j], v]]
                yield f"the places {a}, {b} of original {attacked.labels[v]} have equal {name}"


def _differences(
    attacked: KnowledgeGraph, released: KnowledgeGraph, placed: Ints, *, whole: bool
) -> Iterator[str]:
    """Edges inside a component, or a copy as a `whole`, that a copy lacks or has in addition."""
    component = np.zeros(attacked.n, dtype=np.int64) if whole else attacked.components()[1]
    for name, relation in released.relations.items():
        first, *others = (_inside(relation, component, row, released.n) for row in placed)
        for number, other in enumerate(others, start=1):
            if np.array_equal(first, other):
                continue
            counts = Counter(map(tuple, first.tolist()))
            counts.subtract(map(tuple, other.tolist()))
            for source, target, weight in (row for row, more in counts.items() if more):
                ends = " -> ".join(map(str, released.labels[placed[0, [int(source), int(target)]]]))
                yield f"{name}: {ends} with weight {weight} is not the same in copy {number}"


def _inside(relation: Relation, component: Ints, copies: Ints, n: int) -> npt.NDArray[np.float64]:
    """Source, target and weight of the edges inside the copies of components, in original numbers, sorted."""
    original = np.full(n, -1, dtype=np.int64)
    original[copies] = np.arange(len(copies))
    source, target = original[relation.source], original[relation.target]
    inside = (source >= 0) & (target >= 0) & (component[source] == component[target])
    weight = np.zeros(len(relation)) if relation.weight is None else relation.weight
    rows = np.stack([source, target, weight], axis=1)[inside]
    return np.take(rows, np.lexsort(rows.T[::-1]), axis=0)
