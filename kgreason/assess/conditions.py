"""The items of Definition 4.1 but for the images, and what kgreason asks of a release besides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess.augmentation import kept_edges, kept_weights, lost_edges
from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.imprint import Fault

ROUGH = 1e-9  # by which, in parts of the sum, a sum in any order may be off
TOLERANCE = 1e-9  # by which a sum of rounded weights may exceed its bound
WITNESSES = 5


def parameters(n: int, k: int, x: int) -> Item:
    """Whether a graph of n vertices has k sets of x vertices."""
    if not 1 <= x <= n:
        return Item("parameters", False, f"x = {x} is not between 1 and the number of vertices, {n}")
    most = math.comb(n, x)
    if not 1 <= k <= most:
        return Item(
            "parameters", False, f"k = {k} is not between 1 and the number of sets of {x} vertices, {most}"
        )
    return Item("parameters", True, f"k = {k}, x = {x}, {n:,} vertices")


def mapping(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Item:
    """Whether each original vertex has a released one of its own."""
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


def connected(released: KnowledgeGraph) -> Item:
    """Whether the release is weakly connected."""
    count, component = released.components()
    if count <= 1:
        return Item("connected", True, "the release is weakly connected")
    sizes = np.bincount(component)
    least = int(sizes.argmin())
    some = ", ".join(map(str, released.labels[component == least][:WITNESSES]))
    words = (f"the smallest component has {sizes[least]:,} vertices, for instance {some}",)
    return Item("connected", False, f"the release has {count:,} weakly connected components", words)


def augmentation(
    original: KnowledgeGraph,
    kept: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    usable: bool,
) -> Item:
    """Item 1: whether all original edges are kept, but for those that a release in parts gives up."""
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
    return Item(
        "augmentation", False, f"lost for {cut:,} of {original.m:,} edges, those between parts", given_up=True
    )


def weights(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, usable: bool) -> Item:
    """Item 3: whether every original edge has another weight."""
    if not usable:
        return Item("weights", False, "not examined: the mapping is broken")
    kept = [w for name in original.relations for w in kept_weights(original, released, mapping, name)]
    if kept:
        return Item("weights", False, f"{len(kept):,} original weights are kept", listing(kept))
    count = sum(len(r) for r in original.relations.values() if r.weight is not None)
    return Item(
        "weights", True, f"all {count:,} original weights are changed" if count else "there are no weights"
    )


def weight_range(released: KnowledgeGraph) -> Item:
    """Whether all weights lie in [0, 1]."""
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


def bounds(released: KnowledgeGraph, rules: CheckedProgram) -> list[Item]:
    """Whether weights lie in [0, 1], and those that come into a vertex sum to what the rules allow."""
    sums = [incoming_sums(released, predicate, bound) for predicate, bound in rules.incoming_sums.items()]
    return [weight_range(released), *sums]


def incoming_sums(released: KnowledgeGraph, predicate: str, bound: float) -> Item:
    """Whether the weights of the edges into each vertex keep the bound of ``@incoming_sum``."""
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


def files(faults: Sequence[Fault]) -> Item:
    """Whether the files are those that were written, but for what changes nothing."""
    harm = [str(fault) for fault in faults if not fault.harmless]
    if harm:
        some = "file is" if len(harm) == 1 else "files are"
        return Item("files", False, f"{len(harm):,} {some} not as written", listing(harm))
    other = "; ".join(f"{fault.file}: {fault.kind}" for fault in faults)
    return Item(
        "files", True, f"they say what was written, but for {other}" if other else "they are as written"
    )
