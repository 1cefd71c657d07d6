"""Sentences of the reports of graphs under rules: method, guarantee and safety."""

from __future__ import annotations

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification.verdict import Verdict
from kgreason.release.report.report_data import SHARED, TEXTS
from kgreason.release.report.sections import safe_for_everybody, safe_for_owner, sentence, state_words

DEGREE = "the in- and out-degree of a vertex in the whole release"
NEIGHBOURS = f"{DEGREE}, and those of all its neighbours"
RULES = TEXTS["rules"]
METHODS = {"kguard": "KGUARD", "klone": "KLONE", "k-iso": "k-Iso"}


@record
class Promise:
    """Guarantee as stated in README.txt; independent of the original.

    Attributes
    ----------
    text
        Text of the guarantee.
    k
        Number of occurrences, or of blocks.
    sizes
        Checked sizes in words: ``"x = 2, 4"``.
    edges
        Predicates of the ground and derived edges that the guarantee covers.
    within_parts
        Whether edges between parts are left out.
    baseline
        Whether the guarantee is that of k-Iso.
    further
        Further guarantees.
    synthetic
        Shares of synthetic edges and vertices in words (`synthetic_words`).
    series
        What is kept for who joins the releases of a series, in words; empty for a single release.
    other_weights
        Whether new weights have another distribution than the original ones, which the owner chose.
    """

    text: str
    k: int
    sizes: str
    edges: tuple[str, ...]
    within_parts: bool = False
    baseline: bool = False
    further: tuple[Further, ...] = ()
    synthetic: str = ""
    series: str = ""
    other_weights: bool = False

    @classmethod
    def of(
        cls,
        guarantee: Guarantee,
        sizes: str,
        edges: tuple[str, ...],
        derived: tuple[str, ...],
        synthetic: str = "",
        series: str = "",
    ) -> Promise:
        """Create from a guarantee and the checked sizes."""
        baseline = guarantee.model == "k-iso"
        covered = edges if baseline else (*edges, *derived)
        cut, further = bool(guarantee.cut), guarantee.further
        return cls(str(guarantee), guarantee.k, sizes, covered, cut, baseline, further, synthetic, series)

    @property
    def term(self) -> str:
        """Name of its definition in `kgreason.release.report.report_data.TERMS`."""
        return "k-isomorphism" if self.baseline else "(k,x)-isomorphism"

    @property
    def meaning(self) -> str:
        """Meaning of the guarantee for an attacker, without a full stop."""
        if self.baseline:
            return SHARED["k_iso"]
        return sentence("meaning", promise=self)

    @property
    def unprotected(self) -> str:
        """Knowledge of attackers that the guarantee does not cover."""
        if self.baseline:
            return RULES["unprotected_blocks"]
        other = "" if self.sizes == "every x" else RULES["other_parts"].format(self.sizes)
        if " and fewer" in self.sizes:
            other = RULES["larger_parts"].format(self.sizes.split(" and fewer")[0])
        known = RULES["_".join(("unprotected", *self.further[-1:]))]
        again = RULES["unprotected_series" if self.series else "unprotected_again"]
        again += RULES["unprotected_changed"] if self.series and "every subgraph" not in self.series else ""
        return f"{known}; {again}; {RULES['unprotected_always']}{other}."

    @property
    def degrees(self) -> str:
        """Knowledge of degrees that the further guarantees cover, in words; empty if there are none."""
        return {(): "", ("degree",): DEGREE}.get(self.further, NEIGHBOURS)

    @property
    def vertices(self) -> str:
        """Sizes as a number of vertices in words."""
        if self.sizes == "every x":
            return "any number of vertices"
        return f"x vertices ({self.sizes})"


NOTHING_ADDED = "none of the edges, none of the vertices"


def synthetic_words(released: KnowledgeGraph, edges: int, vertices: int) -> str:
    """Shares of the released edges and vertices that are synthetic, in whole percent.

    Parameters
    ----------
    edges, vertices
        Numbers of original edges and vertices in the release.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("p", "q"), ("q", "r")])
    >>> synthetic_words(graph, 1, 3)
    'about 50 % of the edges, none of the vertices'
    """
    shares = _share(released.m - edges, released.m), _share(released.n - vertices, released.n)
    return "{} of the edges, {} of the vertices".format(*shares)


def synthetic_note(promise: Promise) -> str:
    """What the synthetic shares mean for the reader."""
    if promise.synthetic != NOTHING_ADDED:
        return RULES["synthetic"]
    return RULES["without" if promise.baseline or promise.within_parts else "as_it_is"]


def _share(part: int, whole: int) -> str:
    if part <= 0:
        return "none"
    return "less than 1 %" if 100 * part < whole else f"about {100 * part / whole:.0f} %"


def verdict_words(promise: Promise, verdict: Verdict) -> str:
    """Guarantee and verdict in words; the text of the guarantee already names left-out edges.

    Examples
    --------
    >>> from kgreason.isomorphism.verification.verdict import Item
    >>> promise = Promise("(3,4)-isomorphism", 3, "x = 4", ("own", "control"))
    >>> verdict_words(promise, Verdict(3, 4, (Item("images", True, "all"),), None))
    '(3,4)-isomorphism holds'
    """
    if promise.baseline or promise.within_parts:
        return f"{promise.text}: {'holds' if verdict.as_promised else state_words(verdict)}"
    return f"{promise.text} {state_words(verdict)}"


def done_private(
    method: str, original: KnowledgeGraph, released: KnowledgeGraph, guarantee: Guarantee, verdict: Verdict
) -> str:
    """Description of the anonymization with figures of the original; secret."""
    weighted = any(r.weight is not None for r in released.relations.values())
    figures = {"original": original, "released": released, "edits": verdict.edits, "weighted": weighted}
    name = METHODS.get(method, method)
    return sentence("done_rules", name=name, cut=guarantee.cut, k=guarantee.k, **figures)


def safe_private(promise: Promise, verdict: Verdict, *, seeded: bool) -> str:
    """One sentence: why the release is safe, or that it is not."""
    delta = verdict.delta
    if promise.baseline and not seeded:
        unsafe = "" if verdict.as_promised else f"{SHARED['no_blocks']}, so do not publish it"
        return f"{SHARED['k_iso']}{unsafe}."
    if verdict.nothing_against and not verdict.as_promised and delta is not None and not seeded:
        return sentence("sampled", total=delta.total)
    number = "" if delta is None or not delta.total else f" for all {delta.total:,} such subgraphs"
    kept = f"{promise.meaning}; an independent check of what was written confirmed it{number}."
    undecided = "could not decide for all subgraphs whether they are protected, so nothing is confirmed"
    return safe_for_owner(verdict, kept, undecided, seeded=seeded, refuted=_refuted(promise, verdict))


def _refuted(promise: Promise, verdict: Verdict) -> str:
    """Failed guarantee in words for non-experts; empty if the conditions themselves explain it."""
    others = [i.name for i in verdict.items if i.state == "fails" and not i.name.startswith("images")]
    delta = verdict.delta
    if others or delta is None or delta.satisfied + delta.undecided == delta.total:
        return ""
    bad = delta.total - delta.satisfied - delta.undecided
    return sentence("refuted", promise=promise, delta=delta, bad=bad)


def safe_public(promise: Promise, *, confirmed: bool, seeded: bool) -> str:
    """One sentence for recipients: why the release is safe, or that it is not."""
    if promise.baseline and not seeded:
        return f"{SHARED['k_iso']}{'' if confirmed else SHARED['no_blocks']}."
    kept = f"{promise.meaning}; an exact check confirmed it."
    return safe_for_everybody(kept, confirmed=confirmed, seeded=seeded)
