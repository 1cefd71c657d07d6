"""Decide whether a release is a (k,x)-isomorphism anonymization of its original.

References
----------
Definition 4.1 of the KGISO paper. The checker shares no code with the anonymizers, but the graph model and
the reasoner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.commute import hidden_vertices
from kgreason.assess import conditions
from kgreason.assess.adjacency import undirected
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
    items = [
        conditions.parameters(original.n, k, x),
        conditions.mapping(original, released, mapping),
        conditions.connected(released),
    ]
    usable = items[1].holds
    kept = original if parts is None else inside(original, parts)
    items += [
        conditions.augmentation(original, kept, released, mapping, usable),
        conditions.labels(original, released),
    ]
    items += [conditions.weights(original, released, mapping, usable), conditions.weight_range(released)]
    items += [
        conditions.incoming_sums(released, predicate, bound)
        for predicate, bound in rules.incoming_sums.items()
    ]
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
    if not (asked := conditions.parameters(original.n, k, x)).holds:
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
    _check_largest(min(x, int(sizes.max(initial=0))))
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


def _check_largest(size: int) -> None:
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
        _check_largest(size)
        found = decide(space, size, where, k, progress)
        satisfied += found.satisfied
        undecided += found.undecided
        total += found.total
        words += [image_witness(space, found, i, k, names) for i in range(len(found.status))]
    delta = Delta(satisfied, total, undecided)
    failed = total - satisfied
    detail = f"{satisfied:,} of {total:,} subgraphs stand at {k} places, δ = {delta}"
    return Item("images", not failed, detail, listing(words, failed)), delta
