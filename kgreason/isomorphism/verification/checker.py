"""Checker of (k,x)-isomorphism of a release, with or without its original.

Item 1 keeps all edges of the original in the release, so for every possible original each weakly connected set of x
vertices is also weakly connected in the release. If all such sets of the release have their images, item 4 holds for
every original. A set without images may contain synthetic vertices or edges; only the original shows whether it does.

References
----------
Definition 4.1 of the KGISO paper. The checker shares no code with the anonymizers except the graph model and the
reasoner. Section 7.3 and Table 3 of the paper, which compare k-Iso with KLONE and KGUARD, report δ of releases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.errors import AnonymizationError, TooLargeError
from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, inside
from kgreason.isomorphism.definition import KNOWN
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification import conditions
from kgreason.isomorphism.verification.certified_images import faults_of_copies
from kgreason.isomorphism.verification.conditions import are_numbers, labels
from kgreason.isomorphism.verification.images import Outcome, attacked, decide, image_witness
from kgreason.isomorphism.verification.population import Drawn, count_connected, small_components
from kgreason.isomorphism.verification.release_index import ReleaseIndex, undirected
from kgreason.isomorphism.verification.subgraph_visits import ENDLESS
from kgreason.isomorphism.verification.verdict import Certificate, Delta, Verdict
from kgreason.isomorphism.verification.vertex_knowledge import shared_knowledge
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import hidden_vertices
from kgreason.release import verdicts as shared
from kgreason.release.verdicts import Item, judged, listing

NEEDS_ORIGINAL = (
    "augmentation: all original edges are in the release",
    "labels: none of the release is one of the original",
    "weights: every original edge has another weight in the release",
)


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
    certificate: Certificate | None = None,
    drawn: Mapping[int, Drawn] | None = None,
    further: Sequence[Further] = (),
) -> Verdict:
    """Check every item of Definition 4.1, item 4 for all attacked subgraphs or a sample of them.

    Attacked subgraphs of more than 8 vertices raise `TooLargeError`.

    Parameters
    ----------
    mapping
        Original vertex v is released vertex ``mapping[v]``; -1 where unknown.
    parts
        Part of each original vertex if the release leaves out the edges between parts: exactly these edges must be
        missing, and attacked subgraphs are those of the graph without them.
    also
        Further sizes for which item 4 is decided.
    certificate
        Images to look up instead of a search: attacked subgraphs without stated images are undecided, and faults of the
        certificate fail. A certificate of copies shows item 4 for every size, whatever x is.
    drawn
        Randomly drawn attacked subgraphs of each size; only these are decided (module `population`). The verdict then
        estimates δ, and item 4 stays undecided if all of them have images.
    further
        Further guarantees that are decided; those that a certificate states are, too.

    Examples
    --------
    Both the holding and its company have a copy, but both occurrences contain the same company:

    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> original = KnowledgeGraph.from_edges([("A", "B", 0.8)], relation="own")
    >>> edges = [("p", "q", 0.7), ("r", "s", 0.9), ("t", "r", 0.2), ("s", "q", 0.1)]
    >>> released = KnowledgeGraph.from_edges(edges, relation="own")
    >>> verdict = verify(original, released, np.array([0, 1]), rules, k=2, x=2)
    >>> verdict["augmentation"].holds, verdict["images"].holds
    (True, False)
    >>> print(verdict["images"].detail)
    0 of 1 subgraphs have 2 places, δ = 0.000 (0 of 1, exact)
    """
    original, released = original.distinct(), released.distinct()
    mapped = shared.mapping(original, released, mapping)
    stated = () if certificate is None or certificate.complaints else certificate.further
    further = [one for one in KNOWN if one in further or one in stated]
    kept = original if parts is None else inside(original, parts)
    items = [
        conditions.parameters(original.n, k, x),
        mapped,
        conditions.connected(released),
        conditions.augmentation(original, kept, released, mapping, mapped.holds),
        labels(original, released, mapping if mapped.holds else None),
        conditions.weights(original, released, mapping, mapped.holds),
        *conditions.bounds(released, rules),
        *shared_knowledge(released, k, further),
    ]
    if reason := _senseless(items, k, x):
        return Verdict(k, x, (*items, Item("images", False, f"not examined: {reason}")), None)
    commute = not hidden_vertices(rules)
    if certificate is not None and certificate.files is not None:
        items.append(shared.files(certificate.files))
    if certificate is not None and certificate.copies is not None:
        faults = certificate.complaints or faults_of_copies(kept, released, mapping, certificate.copies, k)
        held = f"the release holds {k} copies of the original, apart from each other"
        detail = "not examined: the certificate does not show them" if faults else held
        shown = _certified(faults), Item("images", not faults, detail, undecided=bool(faults))
        proven = _held(items, further)
        proof = certificate if certificate.further == proven else replace(certificate, further=proven)
        proved = (None, None) if faults else (Delta(0, 0, every=True), proof)
        return Verdict(k, x, (*items, *shown), proved[0], tuple(also), commute, certificate=proved[1])
    images, deltas, outcomes = [], [], []
    index = ReleaseIndex(released, rules)
    for size in (*also, x):
        sample = (drawn or {}).get(size)
        delta, words, more = examine(index, kept, mapping, k, size, progress, certificate, sample)
        images.append(_images("images" if size == x else f"images of {size} vertices", delta, words, k))
        deltas.append(delta)
        outcomes += more
    if certificate is not None:
        items.append(_certified(_faults(certificate, outcomes, k)))
    donors = tuple(found.donors for found in outcomes if found.donors is not None)
    own = (
        Certificate(k, donors, further=_held(items, further)) if all(item.holds for item in images) else None
    )
    total, unseen = _summed((*also, x), deltas)
    return Verdict(k, x, (*items, *images), total, tuple(also), commute, unseen=unseen, certificate=own)


def check_parameters(original: KnowledgeGraph, k: int, x: int) -> None:
    """Raise `AnonymizationError` if the graph is empty, or k or x is out of its range."""
    if not original.n:
        raise AnonymizationError("the graph has no vertices", hint="does the file hold any rows?")
    if not (item := conditions.parameters(original.n, k, x)).holds:
        raise AnonymizationError(item.detail, hint="choose k and x to fit the graph: -k K -x X")


def count_attacked(original: KnowledgeGraph, x: int, limit: int) -> int:
    """Count the attacked subgraphs; `TooLargeError` if they have more than 8 vertices, or there are more than `limit`.

    Examples
    --------
    >>> count_attacked(KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")]), 3, limit=10)
    2
    """
    smaller, larger = small_components(original, x)
    total = sum(len(rows) for _, rows in smaller)
    if larger:
        total += original.n if x == 1 else count_connected(undirected(original), x, limit)
    if total > limit:
        raise TooLargeError(
            f"the graph has more than {limit:,} connected subgraphs with {x} vertices",
            hint=f"choose an x smaller than {x} (KLONE protects every x, whichever is verified), "
            "or allow more with --max-subgraphs, which takes time and memory",
        )
    return total


def _held(items: Sequence[Item], further: Sequence[Further]) -> tuple[Further, ...]:
    """Further guarantees whose conditions hold."""
    names = {item.name for item in items if item.holds}
    return tuple(one for one in further if KNOWN[one] in names)


def _senseless(items: Sequence[Item], k: int, x: int) -> str | None:
    """Reason why item 4 cannot be evaluated, if any; rules may be undefined for invalid weights."""
    failed = {item.name for item in items if not item.holds}
    if "mapping" in failed:
        return "the mapping is broken"
    if "weight range" in failed:
        return "some weights are not between 0 and 1"
    return None if k >= 1 and x >= 1 else "k and x must be at least 1"


def _summed(sizes: Sequence[int], deltas: Sequence[Delta]) -> tuple[Delta, tuple[int, ...]]:
    """δ of several sizes together, and the sizes of which a sample contains no subgraph."""
    unseen = tuple(size for size, d in zip(sizes, deltas, strict=True) if d.sampled and not d.total)
    return sum(deltas[1:], deltas[0]), unseen


def examine(
    index: ReleaseIndex,
    original: KnowledgeGraph,
    mapping: Vertices,
    k: int,
    x: int,
    progress: Progress,
    certificate: Certificate | None = None,
    drawn: Drawn | None = None,
) -> tuple[Delta, tuple[str, ...], list[Outcome]]:
    """Decide item 4 for all attacked subgraphs, or for the drawn ones, with witnesses of failures.

    They are those of `original`, which is the graph of `index` itself if the original is unknown.
    """
    names = np.full(index.graph.n, None, dtype=object)
    names[mapping] = original.labels
    known = None if original is index.graph else names
    outcomes: list[Outcome] = []
    words: list[str] = []
    most, population = (ENDLESS, None) if drawn is None else (drawn.limit, drawn.population)
    chosen = None if drawn is None else ((size, mapping[rows]) for size, rows in drawn.sets)
    for size, sets in chosen or attacked(index, original, mapping, x):
        donors = None if certificate is None else certificate.of(size, k)
        found = decide(index, size, sets, k, progress, donors, most)
        outcomes.append(found)
        words += [image_witness(index, found, i, k, known) for i in range(len(found.status))]
    satisfied, undecided = sum(f.satisfied for f in outcomes), sum(f.undecided for f in outcomes)
    delta = Delta(satisfied, sum(f.total for f in outcomes), undecided, population)
    return delta, listing(words, delta.total - delta.satisfied), outcomes


def _images(name: str, delta: Delta, words: tuple[str, ...], k: int) -> Item:
    failed = delta.total - delta.satisfied
    if delta.sampled and not failed:
        detail = f"no failure among {delta.total:,} of {delta.population:,} subgraphs, δ = {delta}"
        if not delta.total:
            detail = (
                f"none of {delta.population:,} subgraphs was drawn: ask for this number of vertices alone"
            )
        return Item(name, False, detail, undecided=True)
    detail = f"{delta.satisfied:,} of {delta.total:,} subgraphs have {k} places, δ = {delta}"
    return Item(name, not failed, detail, words, undecided=0 < failed == delta.undecided)


def _faults(certificate: Certificate, outcomes: Sequence[Outcome], k: int) -> tuple[str, ...]:
    """Faults of a certificate that states donors."""
    if certificate.complaints:
        return certificate.complaints
    if certificate.k < k:
        return (f"it shows {certificate.k} places, not {k}",)
    shown = sorted({donors.size for donors in certificate.donors})
    without = sorted({s for f in outcomes if f.undecided and (s := f.members.shape[1]) not in shown})
    if without:
        stated, missing = (", ".join(map(str, sizes)) for sizes in (shown, without))
        return (f"it is for x = {stated or 'nothing'} and does not speak of {missing} vertices",)
    wrong = tuple(complaint for found in outcomes for complaint in found.complaints)
    lacking = sum(found.undecided for found in outcomes)
    return (*wrong, f"it shows no images of {lacking:,} subgraphs") if lacking else wrong


def _certified(faults: tuple[str, ...]) -> Item:
    fails = "it does not show all of this; run again without it, and images are searched for"
    return judged("certificate", faults, fails, "what it names was looked up in the release")


def delta(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    diverse: bool = True,
    progress: Progress = SILENT,
    drawn: Drawn | None = None,
) -> Delta:
    """Measure the share of connected subgraphs of a release with k - 1 disjoint KG-isomorphic images in it.

    The subgraphs of the release are counted, as a release without some original edges lacks subgraphs of the original:
    all sets of x vertices that induce a weakly connected subgraph, and each smaller component as a whole, or only those
    `drawn`. Unless `diverse`, images need not differ in label, in-degree and out-degree at every position (Definition
    4.1 (iii)).

    Examples
    --------
    Two equal chains of control, and one that equals them only in its ground edges. Images do not differ in degrees:

    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.8), ("c", "d", 0.9), ("e", "f", 0.2)], relation="own")
    >>> print(delta(graph, rules, k=2, x=2, diverse=False))
    0.666 (2 of 3, exact)
    >>> print(delta(graph, rules, k=2, x=2))
    0.000 (0 of 3, exact)
    """
    released = released.distinct()
    index, own = ReleaseIndex(released, rules, diverse=diverse), np.arange(released.n)
    return examine(index, released, own, k, x, progress, drawn=drawn)[0]


def verify_alone(
    released: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    progress: Progress = SILENT,
    also: Sequence[int] = (),
    drawn: Mapping[int, Drawn] | None = None,
    further: Sequence[Further] = (),
) -> Verdict:
    """Check the conditions of Definition 4.1 on a release alone, item 4 for all its connected sets or a sample.

    Parameters and errors are those of `verify`; sets are drawn from the release. Item 4 holds if it holds for every
    original, fails if it holds for none, and is undecided otherwise. δ is that of the connected sets of the release.

    Examples
    --------
    Any two vertices of this release differ in both degrees, and none has a loop:

    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.')
    >>> edges = [("p", "q", 0.7), ("p", "r", 0.4), ("q", "r", 0.9)]
    >>> verdict = verify_alone(KnowledgeGraph.from_edges(edges, relation="own"), rules, k=2, x=1)
    >>> print(verdict.state, verdict["images"].detail, sep=": ")
    holds: 3 of 3 connected sets of the release have 2 places, and so do all of any original
    """
    released = released.distinct()
    items = [
        conditions.parameters(released.n, k, x),
        conditions.connected(released),
        _distinct_labels(released),
        *conditions.bounds(released, rules),
        *shared_knowledge(released, k, further),
    ]
    if reason := _senseless(items, k, x):
        items.append(Item("images", False, f"not examined: {reason}"))
        return Verdict(k, x, tuple(items), None, needs_original=NEEDS_ORIGINAL)
    commute = not hidden_vertices(rules)
    deltas, same, index = [], np.arange(released.n), ReleaseIndex(released, rules)
    for size in (*also, x):
        found, words, _ = examine(index, released, same, k, size, progress, drawn=(drawn or {}).get(size))
        smaller = commute or set(range(1, size)) <= set(also)
        name = "images" if size == x else f"images of {size} vertices"
        items.append(_images_alone(name, found, words, k, size, smaller))
        deltas.append(found)
    total, unseen = _summed((*also, x), deltas)
    return Verdict(k, x, tuple(items), total, tuple(also), commute, NEEDS_ORIGINAL, unseen)


def _distinct_labels(released: KnowledgeGraph) -> Item:
    labels, count = np.unique(released.labels.astype(str), return_counts=True)
    double = labels[count > 1]
    if len(double):
        return Item(
            "distinct labels", False, f"{len(double):,} labels belong to several vertices", listing(double)
        )
    form = "they differ in form: do they carry information?"
    if are_numbers(released):
        form = f"they are the numbers 1 to {released.n:,}"
    elif all(re.fullmatch("[a-z0-9]*", v) and len(v) == len(labels[0]) for v in labels.tolist()):
        form = "all are letters and digits of one length"
    return Item("distinct labels", True, f"each occurs once; {form}")


def _images_alone(name: str, delta: Delta, words: tuple[str, ...], k: int, x: int, smaller: bool) -> Item:
    """Item 4 for every possible original."""
    failed = delta.total - delta.satisfied
    some = f"{delta.satisfied:,} of {delta.total:,} connected sets of the release have {k} places"
    if delta.sampled:
        return Item(name, False, f"{some}, a sample: δ of the release = {delta}", words, undecided=True)
    if not failed:
        which = "original" if smaller else "original without components of fewer vertices"
        return Item(name, True, f"{some}, and so do all of any {which}")
    if not delta.satisfied and not delta.undecided:
        which = "original" if x == 1 else f"original with {x} connected vertices"
        return Item(name, False, f"{some}, and so does none of any {which}", words)
    return Item(name, False, f"{some}; the others may be synthetic", words, undecided=True)
