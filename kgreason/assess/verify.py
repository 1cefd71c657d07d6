"""Decide whether a release is a (k,x)-isomorphism anonymization of its original.

References
----------
Definition 4.1 of the KGISO paper. The checker shares no code with the anonymizers, but the graph model and
the reasoner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.commute import hidden_vertices
from kgreason.assess.adjacency import undirected
from kgreason.assess.augmentation import kept_edges, kept_weights, lost_edges
from kgreason.assess.images import attacked, decide
from kgreason.assess.space import Space
from kgreason.assess.verdict import Delta, Item, Verdict
from kgreason.assess.visits import count_connected
from kgreason.assess.witness import image_witness, listing
from kgreason.errors import AnonymizationError
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.graph.parts import inside
from kgreason.progress import SILENT, Progress

__all__ = ["Verdict", "check_parameters", "count_attacked", "verify"]

LARGEST = 8  # vertices of an attacked subgraph; canonical forms try all permutations
ROUGH = 1e-9  # by which, in parts of the sum, a sum in any order may be off
TOLERANCE = 1e-9  # by which a sum of rounded weights may exceed its bound
WITNESSES = 5


def verify(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    k: int,
    x: int,
    progress: Progress = SILENT,
    parts: Vertices | None = None,
    also: Sequence[int] = (),
) -> Verdict:
    """Check every item of Definition 4.1, item 4 for all attacked subgraphs.

    Parameters
    ----------
    original, released
        G and A, sets of facts: a row that stands twice is one edge.
    mapping
        Original vertex v is released vertex ``mapping[v]``; int64, shape (n,), -1 where unknown.
    rules
        Σ; the edges of ``rules.derived`` count.
    k, x
        Images of each attacked subgraph, itself included, and its number of vertices.
    parts
        Part of each original vertex, int64, shape (n,), where the release gives up the edges between parts: all of
        these must be lost and no others, and what is attacked is the graph without them.

    also
        Other numbers of vertices for which item 4 is to be decided.

    Raises
    ------
    AnonymizationError
        If attacked subgraphs have more than 8 vertices.

    Examples
    --------
    Both a holding and its company have a copy, but the holding has one company in either place:

    >>> from kgreason.analysis.check import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.8)], relation="own")
    >>> edges = [("p", "q", 0.7), ("r", "s", 0.9), ("t", "r", 0.2), ("s", "q", 0.1)]
    >>> released = KnowledgeGraph.from_edges(edges, relation="own")
    >>> verdict = verify(original, released, np.array([0, 1]), rules, k=2, x=2)
    >>> verdict["augmentation"].holds, verdict["images"].holds
    (True, False)
    >>> print(verdict["images"].detail)
    0 of 1 subgraphs stand at 2 places, δ = 0.000 (0 of 1, exact)
    """
    original, released = original.distinct(), released.distinct()
    items = [_parameters(original.n, k, x), _mapping(original, released, mapping), _connected(released)]
    usable = items[1].holds
    kept = original if parts is None else inside(original, parts)
    items += [_augmentation(original, kept, released, mapping, usable), _labels(original, released)]
    items += [_weights(original, released, mapping, usable), _weight_range(released)]
    items += [_incoming_sums(released, predicate, bound) for predicate, bound in rules.incoming_sums.items()]
    if reason := _senseless(released, usable, k, x):
        return Verdict(k, x, (*items, Item("images", False, f"not examined: {reason}")), None)
    images, deltas = [], []
    for size in (*also, x):
        found, delta = _images(kept, released, mapping, rules, k, size, progress)
        images.append(found if size == x else replace(found, name=f"images of {size} vertices"))
        deltas.append(delta)
    commute = not hidden_vertices(rules)
    return Verdict(k, x, (*items, *images), sum(deltas[1:], deltas[0]), tuple(also), commute)


def check_parameters(original: KnowledgeGraph, k: int, x: int) -> None:
    """Refuse what cannot be asked of a graph, before any work.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or x is out of range.
    """
    if not original.n:
        raise AnonymizationError("the graph has no vertices", hint="does the file hold any rows?")
    if not (asked := _parameters(original.n, k, x)).holds:
        raise AnonymizationError(asked.detail, hint="choose k and x to fit the graph: -k K -x X")


def count_attacked(original: KnowledgeGraph, x: int, limit: int) -> int:
    """Count the attacked subgraphs, and refuse what could not be decided in reasonable time and memory.

    Raises
    ------
    AnonymizationError
        If attacked subgraphs have more than 8 vertices, or there are more than `limit`.

    Examples
    --------
    >>> count_attacked(KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")]), 3, limit=10)
    2
    """
    _, component = original.components()
    sizes = np.bincount(component)
    check_largest(min(x, int(sizes.max(initial=0))))
    total = int((sizes < x).sum())
    if x == 1:
        total += original.n
    elif (sizes >= x).any():
        total += count_connected(undirected(original), x, limit)
    if total > limit:
        raise AnonymizationError(
            f"the graph has more than {limit:,} connected subgraphs with {x} vertices",
            hint=f"choose an x smaller than {x} (KLONE protects every x, whichever is verified), "
            "or allow more with --max-subgraphs, which takes time and memory",
        )
    return total


def check_largest(size: int) -> None:
    """Refuse subgraphs that are too large to be compared.

    Raises
    ------
    AnonymizationError
        If they have more than 8 vertices.
    """
    if size > LARGEST:
        raise AnonymizationError(
            f"subgraphs of {size} vertices cannot be decided", hint=f"choose an x of at most {LARGEST}"
        )


def _senseless(released: KnowledgeGraph, usable: bool, k: int, x: int) -> str | None:
    """Why item 4 has no meaning here, if it has none."""
    if not usable:
        return "the mapping is broken"
    if any(r.weight is not None and np.isnan(r.weight).any() for r in released.relations.values()):
        return "some weights are not numbers"
    return None if k >= 1 and x >= 1 else "k and x must be at least 1"


def _parameters(n: int, k: int, x: int) -> Item:
    if not 1 <= x <= n:
        return Item("parameters", False, f"x = {x} is not between 1 and the number of vertices, {n}")
    most = math.comb(n, x)
    if not 1 <= k <= most:
        return Item(
            "parameters", False, f"k = {k} is not between 1 and the number of sets of {x} vertices, {most}"
        )
    return Item("parameters", True, f"k = {k}, x = {x}, {n:,} vertices")


def _mapping(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Item:
    if len(mapping) != original.n:
        return Item("mapping", False, f"{len(mapping):,} entries for {original.n:,} original vertices")
    lost = np.flatnonzero((mapping < 0) | (mapping >= released.n))
    if len(lost):
        words = listing(f"{original.labels[v]} has no released vertex" for v in lost[: WITNESSES + 1])
        return Item("mapping", False, f"{len(lost):,} original vertices have no released vertex", words)
    images, count = np.unique(mapping, return_counts=True)
    shared = images[count > 1]
    if len(shared):
        words = listing(
            f"{', '.join(map(str, original.labels[mapping == v]))} all are {released.labels[v]}"
            for v in shared[: WITNESSES + 1]
        )
        return Item("mapping", False, f"{len(shared):,} released vertices stand for several originals", words)
    return Item("mapping", True, f"each of {original.n:,} vertices has its own among {released.n:,}")


def _connected(released: KnowledgeGraph) -> Item:
    count, component = released.components()
    if count <= 1:
        return Item("connected", True, "the release is weakly connected")
    sizes = np.bincount(component)
    least = int(sizes.argmin())
    some = ", ".join(map(str, released.labels[component == least][:WITNESSES]))
    words = (f"the smallest component has {sizes[least]:,} vertices, for instance {some}",)
    return Item("connected", False, f"the release has {count:,} weakly connected components", words)


def _augmentation(
    original: KnowledgeGraph,
    kept: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    usable: bool,
) -> Item:
    if not usable:
        return Item("augmentation", False, "not examined: the mapping is broken")
    missing = [w for name in kept.relations for w in kept_edges(kept, released, mapping, name)]
    if missing:
        return Item("augmentation", False, f"{len(missing):,} pairs lack original edges", listing(missing))
    if kept.m == original.m:
        return Item("augmentation", True, f"all {original.m:,} original edges are among {released.m:,}")
    cut, lost = original.m - kept.m, lost_edges(original, released, mapping)
    if lost != cut:
        return Item("augmentation", False, f"{lost:,} edges are lost, but {cut:,} run between parts")
    return Item("augmentation", False, f"lost for {cut:,} cut edges", given_up=True)


def _labels(original: KnowledgeGraph, released: KnowledgeGraph) -> Item:
    kept = sorted(set(map(str, original.labels)) & set(map(str, released.labels)))
    if kept:
        return Item("labels", False, f"{len(kept):,} original labels are in the release", listing(kept))
    return Item("labels", True, "no original label is in the release")


def _weights(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, usable: bool) -> Item:
    if not usable:
        return Item("weights", False, "not examined: the mapping is broken")
    kept = [w for name in original.relations for w in kept_weights(original, released, mapping, name)]
    if kept:
        return Item("weights", False, f"{len(kept):,} original weights are kept", listing(kept))
    count = sum(len(r) for r in original.relations.values() if r.weight is not None)
    return Item(
        "weights", True, f"all {count:,} original weights are changed" if count else "there are no weights"
    )


def _weight_range(released: KnowledgeGraph) -> Item:
    words = []
    for name, r in released.relations.items():
        if r.weight is not None:
            outside = np.flatnonzero(~((r.weight >= 0) & (r.weight <= 1)))
            for e in outside:
                edge = f"{released.labels[r.source[e]]} -> {released.labels[r.target[e]]}"
                words.append(f"{name}: {edge} has weight {r.weight[e]}")
    if words:
        return Item("weight range", False, f"{len(words):,} weights lie outside [0, 1]", listing(words))
    return Item("weight range", True, "all weights lie in [0, 1]")


def _incoming_sums(released: KnowledgeGraph, predicate: str, bound: float) -> Item:
    name = f"incoming sums of {predicate}"
    relation = released.relations.get(predicate)
    if relation is None or relation.weight is None:
        return Item(name, True, "the relation has no weights")
    most = bound * (1 + TOLERANCE) + TOLERANCE
    rough = np.bincount(relation.target, relation.weight, released.n)
    near = np.flatnonzero(
        ~(rough <= most - ROUGH * np.bincount(relation.target, np.abs(relation.weight), released.n))
    )
    mine = np.flatnonzero(np.isin(relation.target, near))
    mine = mine[np.argsort(relation.target[mine], kind="stable")]
    starts = np.searchsorted(relation.target[mine], near)
    sums = [math.fsum(w) for w in np.split(relation.weight[mine], starts[1:])][: len(near)]
    high = [(v, s) for v, s in zip(near.tolist(), sums, strict=True) if not s <= most]
    if high:
        words = listing(f"incoming weights of {released.labels[v]} sum to {s}" for v, s in high)
        return Item(name, False, f"{len(high):,} vertices exceed {bound:g}", words)
    return Item(name, True, f"incoming weights of every vertex sum to at most {bound:g}")


def _images(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
    k: int,
    x: int,
    progress: Progress,
) -> tuple[Item, Delta]:
    space = Space(released, rules)
    names = np.full(released.n, None, dtype=object)
    names[mapping] = original.labels
    satisfied = total = undecided = 0
    words: list[str] = []
    for size, where in attacked(space, original, mapping, x):
        check_largest(size)
        found = decide(space, size, where, k, progress)
        satisfied += found.satisfied
        undecided += found.undecided
        total += found.total
        words += [image_witness(space, found, i, k, names) for i in range(len(found.status))]
    delta = Delta(satisfied, total, undecided)
    failed = total - satisfied
    detail = f"{satisfied:,} of {total:,} subgraphs stand at {k} places, δ = {delta}"
    return Item("images", not failed, detail, listing(words, failed)), delta
