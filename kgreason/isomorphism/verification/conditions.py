"""Conditions of Definition 4.1 except the images, and further conditions of kgreason on releases.

Edges that k-Iso inserts and deletes are counted here, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import exp, lgamma

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.sorted_keys import looked_up, places
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.verdicts import SHOWN, Item, judged, listing, no_label_kept

CHANCE = 1e-6  # what is less likely than this, if numbers are assigned at random, is no chance
ROUGH = 1e-9  # relative error of a sum in arbitrary order
TOLERANCE = 1e-9  # excess of a sum of rounded weights over its bound that is accepted


def _missing_edges(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Iterator[str]:
    """Vertex pairs with fewer edges of a relation in the release than in the original, in words."""
    for name in original.relations:
        keys, counts, present = _pairs(original, released, mapping, name)
        for i in np.flatnonzero(present < counts):
            edge = _edge(original, released, mapping, name, int(keys[i]))
            yield f"{edge}: {counts[i]} in the original, {present[i]} in the release"


def lost_edges(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> int:
    """Number of original edges that the release lacks."""
    lost = 0
    for name in original.relations:
        _, counts, present = _pairs(original, released, mapping, name)
        lost += int(np.maximum(counts - present, 0).sum())
    return lost


def _pairs(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> tuple[Vertices, Vertices, Vertices]:
    """Vertex pairs with original edges of a relation, and the numbers of these in the original and the release."""
    mine, theirs = original.relations[name], released.relations.get(name)
    keys, counts = np.unique(_keys(mine, mapping, released.n), return_counts=True)
    if theirs is None:
        return keys, counts, np.zeros(len(keys), dtype=np.int64)
    known, numbers = np.unique(_keys(theirs, np.arange(released.n), released.n), return_counts=True)
    return keys, counts, looked_up(known, numbers, keys)


def repeated_weights(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Iterator[str]:
    """Weights that the release has between the same vertices as the original, in words; edges may be missing."""
    same = np.arange(released.n)
    for name, mine in original.relations.items():
        theirs = released.relations.get(name)
        if mine.weight is not None and theirs is not None and theirs.weight is not None:
            before = zip(_keys(mine, mapping, released.n).tolist(), mine.weight.tolist(), strict=True)
            after = zip(_keys(theirs, same, released.n).tolist(), theirs.weight.tolist(), strict=True)
            for key, weight in sorted(set(before) & set(after)):
                yield f"{_edge(original, released, mapping, name, key)} still has the weight {weight}"


def _kept_weights(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str
) -> Iterator[str]:
    """Original weights that the release keeps, in words; pairs that lack edges are left to item 1."""
    # The release does not identify parallel edges, so it suffices that each original edge can be assigned a released
    # edge of another weight. By Hall's theorem this fails only if some weight occurs more often among the original
    # edges of a pair than the release has other weights there.
    mine, theirs = original.relations[name], released.relations.get(name)
    if mine.weight is None or theirs is None:
        return
    if theirs.weight is None:
        yield f"{name}: the release has no weights"
        return
    keys = _keys(mine, mapping, released.n)
    their_keys = _keys(theirs, np.arange(released.n), released.n)
    known, number = np.unique(keys, return_inverse=True)
    at, shared = places(known, their_keys)
    at, new = at[shared], theirs.weight[shared]
    # nearly all pairs have one edge in either graph, with another weight: there is nothing to assign
    single = (np.bincount(number) == 1) & (np.bincount(at, minlength=len(known)) == 1)
    released_weight, changed = np.full(len(known), np.nan), np.zeros(len(known), dtype=np.bool_)
    released_weight[at] = new
    changed[number] = released_weight[number] != mine.weight
    examined = ~(single & changed)
    rows, their_rows = examined[number], examined[at]
    old, keys = mine.weight[rows], keys[rows]
    both, pair = np.concatenate([old, new[their_rows]]), np.concatenate([number[rows], at[their_rows]])
    values, weight = np.unique(both, return_inverse=True, equal_nan=False)
    edge, first, which = np.unique(pair * len(values) + weight, return_index=True, return_inverse=True)
    before, after = np.split(which, [len(keys)])
    number, there = (np.bincount(part, minlength=len(edge)) for part in (before, after))
    pairs = edge // max(len(values), 1)
    total, count = (np.bincount(pairs, part).astype(np.int64)[pairs] for part in (number, there))
    kept = np.flatnonzero((number > 0) & (total <= count) & (number > count - there))
    for i in kept[np.argsort(first[kept])]:
        words = _edge(original, released, mapping, name, int(keys[first[i]]))
        yield f"{words} still has the weight {float(old[first[i]])}"


def _keys(relation: Relation, mapping: Vertices, n: int) -> Vertices:
    return mapping[relation.source] * n + mapping[relation.target]


def _edge(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, name: str, key: int) -> str:
    """Edge in words: released labels with the original labels in brackets."""
    ends = []
    for v in divmod(key, released.n):
        (u,) = np.flatnonzero(mapping == v)
        ends.append(f"{released.labels[v]} (original {original.labels[u]})")
    return f"{name}: {' -> '.join(ends)}"


def labels(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices | None = None) -> Item:
    """Item 2: no original label is in the release, or numbers are assigned anew.

    Some formats identify vertices by the numbers 1 to n only. Numbers that are assigned at random reveal nothing,
    although they may coincide with original labels by chance. For labels 1 to n the condition is therefore that no more
    vertices keep their number, and no more of their order is kept, than chance explains.

    The mapping is `None` if it is unknown or broken.

    Examples
    --------
    >>> original = KnowledgeGraph.from_edges([("acme", "bolt")])
    >>> print(labels(original, KnowledgeGraph.from_edges([("p", "bolt")])).detail)
    1 original labels are in the release
    >>> numbers = [str(number) for number in range(1, 13)]
    >>> path = KnowledgeGraph.from_edges(list(zip(numbers, numbers[1:])))
    >>> print(labels(path, path, np.arange(12)).detail)
    labels are the numbers 1 to 12, but 12 of 12 vertices keep theirs
    """
    found = no_label_kept(original, released)
    if are_numbers(released):
        form = f"labels are the numbers 1 to {released.n:,}"
        if mapping is not None:
            return _new_numbers(original, released, mapping, form)
        if not found.holds:
            return Item("labels", False, f"{form}; a mapping would show whether they are new", undecided=True)
    return found


def are_numbers(graph: KnowledgeGraph) -> bool:
    """Whether the labels of a graph are the numbers 1 to n.

    Examples
    --------
    >>> are_numbers(KnowledgeGraph.from_edges([("2", "1")])), are_numbers(KnowledgeGraph.from_edges([("2", "3")]))
    (True, False)
    """
    labels = graph.labels.tolist()
    return all(str(label).isdecimal() for label in labels[:1]) and set(map(str, labels)) == set(
        map(str, range(1, graph.n + 1))
    )


def _new_numbers(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, form: str) -> Item:
    old, new = original.labels.astype(str), released.labels.astype(str)[mapping]
    n, same = original.n, old[old == new].tolist()
    if _chance_of_kept(n, released.n, len(same)) < CHANCE:
        verb = "keep theirs" if len(same) > 1 else "keeps its own"
        return Item("labels", False, f"{form}, but {len(same):,} of {n:,} vertices {verb}", listing(same))
    numbers = new.astype(np.int64)
    for order, what in ((np.arange(n), "rows"), (_sorted(old), "labels")):
        if _chance_of_order(numbers[order]) < CHANCE:
            return Item("labels", False, f"{form}, but they follow the order of the original's {what}")
    kept = "no vertex keeps its own"
    if same:
        kept = f"by chance {len(same):,} of {n:,} vertices keep{'s' * (len(same) == 1)} the number"
    return Item("labels", True, f"{form}, given anew; {kept}")


def _chance_of_kept(n: int, among: int, kept: int) -> float:
    """Upper bound of the probability that at least `kept` of n vertices keep their number in a random assignment."""
    # C(n, kept) choices of the vertices that keep their number, times the probability of each choice
    choices = lgamma(n + 1) - lgamma(kept + 1) - lgamma(n - kept + 1)
    return min(1.0, exp(choices + lgamma(among - kept + 1) - lgamma(among + 1)))


def _chance_of_order(numbers: npt.NDArray[np.int64]) -> float:
    """Probability that a random order has an inversion count at least as extreme (Kendall's rank correlation)."""
    from scipy.stats import kendalltau

    if len(numbers) < 2:
        return 1.0
    return float(kendalltau(np.arange(len(numbers)), numbers).pvalue)


def _sorted(names: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    """Order of labels, numeric if all labels are numbers."""
    if all(name.isascii() and name.isdecimal() for name in names.tolist()):
        return np.array(sorted(range(len(names)), key=lambda i: int(names[i])), dtype=np.int64)
    return np.argsort(names, kind="stable").astype(np.int64)


def parameters(n: int, k: int, x: int) -> Item:
    """Condition on k and x: a graph of n vertices has k sets of x vertices."""
    if not 1 <= x <= n:
        return Item("parameters", False, f"x = {x} is not between 1 and the number of vertices, {n}")
    most = math.comb(n, x)
    if not 1 <= k <= most:
        detail = f"k = {k} is not between 1 and the number of sets of {x} vertices, {most}"
        return Item("parameters", False, detail)
    return Item("parameters", True, f"k = {k}, x = {x}, {n:,} vertices")


def connected(released: KnowledgeGraph) -> Item:
    """Condition: the release is weakly connected."""
    count, component = released.components()
    if count <= 1:
        return Item("connected", True, "the release is weakly connected")
    sizes = np.bincount(component)
    least = int(sizes.argmin())
    some = ", ".join(map(str, released.labels[component == least][:SHOWN]))
    words = (f"the smallest component has {sizes[least]:,} vertices, for instance {some}",)
    return Item("connected", False, f"the release has {count:,} weakly connected components", words)


def augmentation(
    original: KnowledgeGraph, kept: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, usable: bool
) -> Item:
    """Item 1: all original edges are kept, except those that a release in parts leaves out."""
    if not usable:
        return Item("augmentation", False, "not examined: the mapping is broken")
    if missing := list(_missing_edges(kept, released, mapping)):
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
    """Item 3: every original edge has another weight."""
    if not usable:
        return Item("weights", False, "not examined: the mapping is broken")
    kept = [w for name in original.relations for w in _kept_weights(original, released, mapping, name)]
    count = sum(len(r) for r in original.relations.values() if r.weight is not None)
    holds = f"all {count:,} original weights are changed" if count else "there are no weights"
    return judged("weights", kept, f"{len(kept):,} original weights are kept", holds)


def _weight_range(released: KnowledgeGraph) -> Item:
    words = []
    for name, r in released.relations.items():
        if r.weight is not None:
            for e in np.flatnonzero(~((r.weight >= 0) & (r.weight <= 1))):
                edge = f"{released.labels[r.source[e]]} -> {released.labels[r.target[e]]}"
                words.append(f"{name}: {edge} has weight {r.weight[e]}")
    fails = f"{len(words):,} weights lie outside [0, 1]"
    return judged("weight range", words, fails, "all weights lie in [0, 1]")


def bounds(released: KnowledgeGraph, rules: CheckedProgram) -> list[Item]:
    """Conditions on weights: they lie in [0, 1], and incoming sums satisfy the bounds of the rules."""
    sums = [_incoming_sums(released, predicate, bound) for predicate, bound in rules.incoming_sums.items()]
    return [_weight_range(released), *sums]


def _incoming_sums(released: KnowledgeGraph, predicate: str, bound: float) -> Item:
    """Condition: the weights of the edges into each vertex satisfy the bound of ``@incoming_sum``."""
    name = f"incoming sums of {predicate}"
    relation = released.relations.get(predicate)
    if relation is None or relation.weight is None:
        return Item(name, True, "the relation has no weights")
    most = bound * (1 + TOLERANCE) + TOLERANCE
    rough = np.bincount(relation.target, relation.weight, released.n)
    error = ROUGH * np.bincount(relation.target, np.abs(relation.weight), released.n)
    near = np.flatnonzero(~(rough <= most - error))
    mine = np.flatnonzero(np.isin(relation.target, near))
    mine = mine[np.argsort(relation.target[mine], kind="stable")]
    starts = np.searchsorted(relation.target[mine], near)
    sums = [math.fsum(w) for w in np.split(relation.weight[mine], starts[1:])][: len(near)]
    high = [(v, s) for v, s in zip(near.tolist(), sums, strict=True) if not s <= most]
    words = (f"incoming weights of {released.labels[v]} sum to {s}" for v, s in high)
    holds = f"incoming weights of every vertex sum to at most {bound:g}"
    return judged(name, words, f"{len(high):,} vertices exceed {bound:g}", holds)
