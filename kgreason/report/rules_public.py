"""The report that goes with a release of a graph under rules: a function of what is published (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kgreason.graph.model import KnowledgeGraph
from kgreason.report.data import Figure, Report, Section, Table
from kgreason.report.files import files_section
from kgreason.report.graphs import distributions
from kgreason.report.run import release_version
from kgreason.report.words import BASELINE, SEEDED_PUBLIC, Promise, safe_public

FILES = {
    "nodes": "the vertices, whose names are random",
    "graph": "a database with the tables of edges and vertices",
    "rules": "the rules of the guarantee: kgreason reason --rules rules.vada",
}
LIMITS = "What is not promised, or must be reckoned with."
SYNTHETIC = "Some are not real, and the release does not say which: do not rely on a single one."
UNPROTECTED = "Not protected: this is a baseline to compare with."
OTHER_PARTS = "Who knows a part with another number of vertices is not covered: {}."
OTHER = "Who knows all neighbours of a vertex, and theirs, or has a second release, is not covered."
BETWEEN = "The graph was divided into parts, and edges between them are left out."
WEIGHTS = "All were replaced by others of a similar distribution: take them as such, not one by one."


def public_report(
    released: KnowledgeGraph, promise: Promise, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Write the report for everybody: it is made of what is published alone, and so tells nothing else.

    Parameters
    ----------
    released
        The graph as it was published, read back.
    promise
        What ``README.txt`` says.
    confirmed
        Whether the check confirmed it.
    seeded
        Whether the release can be computed again.
    files
        Names of the files of the release.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("p", "q", 0.5)], relation="own")
    >>> promise = Promise("(3,2)-isomorphism", 3, "x = 2", ("own", "control"))
    >>> public_report(graph, promise, confirmed=True, seeded=False).verdict
    '(3,2)-isomorphism holds'
    """
    held = "holds" if confirmed else "was not confirmed"
    weighted = any(r.weight is not None for r in released.relations.values())
    sections = (
        Section("Guarantee", f"{promise.meaning}.", tuple(_guarantee(promise, held))),
        Section("Limits", LIMITS, (Table("Limits", ("what", "how far"), tuple(_limits(promise, weighted))),)),
        distributions(released),
        files_section(files, FILES | {name: f"edges of the relation {name}" for name in released.relations}),
    )
    others = ", edges have other weights than the original" * weighted
    return Report(
        "Anonymized knowledge graph",
        False,
        ("given up" if promise.within_parts else "holds") if confirmed else "fails",
        f"{promise.text}{':' if promise.within_parts or promise.baseline else ''} {held}",
        f"Vertices have random names{others}, and vertices and edges may be synthetic.",
        safe_public(promise, confirmed=confirmed, seeded=seeded),
        sections,
        release_version(),
        (*([SEEDED_PUBLIC] if seeded else []), *([BASELINE] if promise.baseline else [])),
    )


def _guarantee(promise: Promise, held: str) -> Iterator[Figure]:
    term = "k-isomorphism" if promise.baseline else "(k,x)-isomorphism"
    yield Figure("Guarantee", promise.text, "", term)
    if not promise.baseline:
        yield Figure("Checked for", promise.sizes, "", term)
    yield Figure("Edges that it covers", ", ".join(promise.edges), "", term)
    yield Figure("Verdict", held, "better is holds", term)


def _limits(promise: Promise, weighted: bool) -> Iterator[tuple[str, str]]:
    yield "Synthetic vertices and edges", SYNTHETIC
    if promise.baseline:
        yield "Derived edges and degrees", UNPROTECTED
    else:
        if promise.sizes != "every x":
            yield "Other parts", OTHER_PARTS.format(f"the guarantee is for {promise.sizes}")
        yield "Other knowledge", OTHER
    if promise.within_parts:
        yield "Edges between parts", BETWEEN
    if weighted:
        yield "Weights", WEIGHTS
