"""What can be decided of a release without its original.

An original keeps all its edges in its release (item 1), so whichever graph it is, each of its weakly connected sets
of x vertices is one of the release, too. If all those of the release have their images, item 4 holds for every
original. Sets that have none may hold synthetic vertices or edges, and whether they do only the original tells.

References
----------
KGISO, section 7.3 and Table 3, where it compares k-Iso with KLONE and KGUARD.

Definition 4.1 of the KGISO paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.generic import hidden_vertices
from kgreason.assess import conditions
from kgreason.assess.conditions import are_numbers
from kgreason.assess.images import attacked, decide
from kgreason.assess.population import Drawn
from kgreason.assess.space import Space
from kgreason.assess.verdict import Delta, Item, Verdict
from kgreason.assess.verify import delta_of, examine, senseless, summed
from kgreason.assess.witness import listing
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import SILENT, Progress


def delta(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    diverse: bool = True,
    progress: Progress = SILENT,
    drawn: Drawn | None = None,
) -> Delta:
    """Count the connected subgraphs of a release that have k - 1 disjoint KG-isomorphic images in it.

    Where edges of the original are deleted, its subgraphs are no longer there, so those of the release are counted: all
    sets of x vertices that induce a weakly connected subgraph, and each smaller component as a whole.

    Parameters
    ----------
    diverse
        Whether images of a vertex must differ in label, in-degree and out-degree, as Definition 4.1 (iii) has it.
    drawn
        Sets of the release that were drawn at random, to decide only these and estimate δ.

    Examples
    --------
    Two equal chains of control, and one that looks like them until the rules are applied. Images do not differ in
    degrees:

    >>> from kgreason.analysis.check import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.8), ("c", "d", 0.9), ("e", "f", 0.2)], relation="own")
    >>> print(delta(graph, rules, k=2, x=2, diverse=False))
    0.666 (2 of 3, exact)
    >>> print(delta(graph, rules, k=2, x=2))
    0.000 (0 of 3, exact)
    """
    released = released.distinct()
    space = Space(released, rules, diverse=diverse)
    own = np.arange(released.n)
    sets = attacked(space, released, own, x) if drawn is None else drawn.mapped(own)
    return delta_of([decide(space, size, where, k, progress) for size, where in sets], drawn)


NEEDS_ORIGINAL = (
    "augmentation: all original edges are in the release",
    "labels: none of the release is one of the original",
    "weights: every original edge has another weight in the release",
)


def verify_alone(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    progress: Progress = SILENT,
    also: Sequence[int] = (),
    drawn: Mapping[int, Drawn] | None = None,
) -> Verdict:
    """Check what a release shows of Definition 4.1, item 4 for all of its connected sets or a sample of them.

    Parameters
    ----------
    released
        A, a set of facts: a row that stands twice is one edge.
    rules
        Σ; the edges of ``rules.derived`` count.
    k, x, also, drawn
        As `kgreason.assess.verify.verify` takes them; sets are drawn from the release.

    Returns
    -------
    Verdict
        Item 4 holds if it does for every original, fails if it does for none, and is undecided otherwise. δ is that of
        the release's connected sets.

    Raises
    ------
    AnonymizationError
        If the sets have more than 8 vertices.

    Examples
    --------
    Any two vertices of this release differ in both degrees, and none has a loop:

    >>> from kgreason.analysis.check import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> edges = [("p", "q", 0.7), ("p", "r", 0.4), ("q", "r", 0.9)]
    >>> verdict = verify_alone(KnowledgeGraph.from_edges(edges, relation="own"), rules, k=2, x=1)
    >>> print(verdict.state, verdict["images"].detail, sep=": ")
    holds: 3 of 3 connected sets of the release stand at 2 places, and so do all of any original
    """
    released = released.distinct()
    items = [conditions.parameters(released.n, k, x), conditions.connected(released), _labels(released)]
    items += conditions.bounds(released, rules)
    if reason := senseless(items, k, x):
        items.append(Item("images", False, f"not examined: {reason}"))
        return Verdict(k, x, tuple(items), None, needs_original=NEEDS_ORIGINAL)
    commute = not hidden_vertices(rules)
    deltas, same, space = [], np.arange(released.n), Space(released, rules)
    for size in (*also, x):
        delta, words, _ = examine(space, released, same, k, size, progress, drawn=(drawn or {}).get(size))
        smaller = commute or set(range(1, size)) <= set(also)
        name = "images" if size == x else f"images of {size} vertices"
        items.append(_images(name, delta, words, k, size, smaller))
        deltas.append(delta)
    total, unseen = summed((*also, x), deltas)
    return Verdict(k, x, tuple(items), total, tuple(also), commute, NEEDS_ORIGINAL, unseen)


def _labels(released: KnowledgeGraph) -> Item:
    labels, count = np.unique(released.labels.astype(str), return_counts=True)
    double = labels[count > 1]
    if len(double):
        return Item(
            "distinct labels", False, f"{len(double):,} labels stand at several vertices", listing(double)
        )
    form = f"[a-z0-9]{{{len(labels[0])}}}" if len(labels) else ""
    alike = all(re.fullmatch(form, label) for label in labels.tolist())
    look = (
        f"they are the numbers 1 to {released.n:,}"
        if are_numbers(released)
        else "all are letters and digits of one length"
        if alike
        else "they differ in form: do they tell something?"
    )
    return Item("distinct labels", True, f"each stands once; {look}")


def _images(name: str, delta: Delta, words: tuple[str, ...], k: int, x: int, smaller: bool) -> Item:
    """Item 4 for every graph that may be the original."""
    failed = delta.total - delta.satisfied
    some = f"{delta.satisfied:,} of {delta.total:,} connected sets of the release stand at {k} places"
    if delta.sampled:
        return Item(name, False, f"{some}, a sample: δ of the release = {delta}", words, undecided=True)
    if not failed:
        which = "original" if smaller else "original without components of fewer vertices"
        return Item(name, True, f"{some}, and so do all of any {which}")
    if not delta.satisfied and not delta.undecided:
        which = "original" if x == 1 else f"original with {x} vertices that hang together"
        return Item(name, False, f"{some}, and so does none of any {which}", words)
    return Item(name, False, f"{some}; the others may be synthetic", words, undecided=True)
