"""Whether labels of a release tell of the original (item 2 of Definition 4.1), also where they are mere numbers."""

from __future__ import annotations

from math import exp, lgamma

import numpy as np
import numpy.typing as npt

from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.graph.model import KnowledgeGraph, Vertices

CHANCE = 1e-6
"""What is less likely than this, if numbers are given at random, is no chance."""
_GIVEN = "labels are the numbers 1 to {n:,}"


def labels(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices | None = None) -> Item:
    """Item 2: whether no original label is in the release, or numbers are given anew.

    Some formats know vertices by the numbers 1 to n alone. Such a label says nothing if it is given at random; then it
    may be that of an original vertex, too, by chance. So of labels 1 to n it is asked whether more vertices keep
    their number, or more of their order, than chance would let them.

    Parameters
    ----------
    mapping
        Original vertex v is released vertex ``mapping[v]``; `None`: not known, or broken.

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
    kept = sorted(set(map(str, original.labels)) & set(map(str, released.labels)))
    if are_numbers(released):
        if mapping is not None:
            return _given_anew(original, released, mapping)
        if kept:
            detail = _GIVEN.format(n=released.n)
            return Item("labels", False, f"{detail}; a mapping would tell if they are new", undecided=True)
    if kept:
        return Item("labels", False, f"{len(kept):,} original labels are in the release", listing(kept))
    return Item("labels", True, "no original label is in the release")


def are_numbers(graph: KnowledgeGraph) -> bool:
    """Whether the labels of a graph are 1 to n.

    Examples
    --------
    >>> are_numbers(KnowledgeGraph.from_edges([("2", "1")])), are_numbers(KnowledgeGraph.from_edges([("2", "3")]))
    (True, False)
    """
    return set(map(str, graph.labels)) == set(map(str, range(1, graph.n + 1)))


def _given_anew(original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices) -> Item:
    old, new = original.labels.astype(str), released.labels.astype(str)[mapping]
    given, n = _GIVEN.format(n=released.n), original.n
    same = old[old == new].tolist()
    if _keeping(n, released.n, len(same)) < CHANCE:
        verb = "keep theirs" if len(same) > 1 else "keeps its own"
        return Item("labels", False, f"{given}, but {len(same):,} of {n:,} vertices {verb}", listing(same))
    numbers = new.astype(np.int64)
    for order, what in ((np.arange(n), "rows"), (_sorted(old), "labels")):
        if _following(numbers[order]) < CHANCE:
            return Item("labels", False, f"{given}, but they follow the order of the original's {what}")
    keep = (
        f"by chance {len(same):,} of {n:,} vertices keep{'s' * (len(same) == 1)} the number" if same else ""
    )
    return Item("labels", True, f"{given}, given anew; {keep or 'no vertex keeps its own'}")


def _keeping(n: int, among: int, kept: int) -> float:
    """Bound of the chance that so many of n vertices, or more, keep their number if all are drawn at random.

    There are C(n, kept) choices of those that keep theirs, and each is as likely as that as many given numbers are
    drawn in their order.
    """
    choices = lgamma(n + 1) - lgamma(kept + 1) - lgamma(n - kept + 1)
    return min(1.0, exp(choices + lgamma(among - kept + 1) - lgamma(among + 1)))


def _following(numbers: npt.NDArray[np.int64]) -> float:
    """Chance that a random order has as many or as few inversions as this one (Kendall's rank correlation)."""
    from scipy.stats import kendalltau

    if len(numbers) < 2:
        return 1.0
    return float(kendalltau(np.arange(len(numbers)), numbers).pvalue)


def _sorted(names: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    """The order of labels: of their numbers, if all are numbers."""
    if all(name.isascii() and name.isdecimal() for name in names.tolist()):
        return np.array(sorted(range(len(names)), key=lambda i: int(names[i])), dtype=np.int64)
    return np.argsort(names, kind="stable").astype(np.int64)
