"""Reports on releases of links: private for the owner, and public (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.progress import SILENT, Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.graph.refinement import paired
from kgreason.links.closeness import Distance, distances
from kgreason.links.model import LinkGraph, Observations, Released
from kgreason.links.settings import CLUSTERED
from kgreason.links.verification import LinksVerdict
from kgreason.links.verification import classes as classes_of_values
from kgreason.people.attacks import STANDS
from kgreason.people.report import MANY, value_charts
from kgreason.release.report.candidate_tables import Candidates, as_shown, risk_items
from kgreason.release.report.charts import Series, series_charts
from kgreason.release.report.report_data import FILES, TEXTS, Figure, Item, Report, Section, Table
from kgreason.release.report.sections import (
    Run,
    drawn,
    files_section,
    findings,
    plain,
    published,
    run_section,
    safe_for_everybody,
    safe_for_owner,
    sentence,
    state_words,
)

if TYPE_CHECKING:
    from kgreason.links.attacks.disclosure import Disclosure
    from kgreason.links.result import LinksAnonymization


LINKS = TEXTS["links"]


def private_report(result: LinksAnonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Build the owner's report (private)."""
    original, verdict = result.original.graph, result.verdict
    released, mapping = result.release.released.graph, result.release.mapping
    seeded, merged = run.seed is not None, result.asked.strategy in CLUSTERED
    progress.step("Writing the report")
    candidates = list(_candidates(original, released, mapping))
    graphs = _graph(original), _graph(released, original)
    guarantee: tuple[Item, ...] = (
        Figure("Strategy", verdict.asked, "", "strategy"),
        Figure("Verdict", state_words(verdict), "better is holds", "strategy"),
        *verdict_figures(verdict),
        *findings(verdict),
    )
    sections = (
        Section("Guarantee", LINKS["guarantee"], guarantee),
        Section(
            "Risk before and after",
            LINKS["risk"],
            tuple(risk_items([], candidates, verdict.k or 2, ("entities", "entities"))),
        ),
        Section("Utility", TEXTS["shared"]["utility"], tuple(utility_items(result))),
        Section(
            "Distributions",
            "Numbers of links of the nodes, and values, in the original and in the release."
            + " Nodes of the release are clusters of entities." * merged,
            (
                *series_charts(_series, released, original),
                *value_charts(released.attributes, original.attributes),
            ),
        ),
        *(() if merged else drawn(*graphs, mapping, run.generator)),
        run_section(result.seconds, {}),
    )
    return Report(
        f"Release of links without {result.original.sensitive.name}",
        True,
        verdict.state,
        f"strategy {verdict.asked}: {state_words(verdict)}",
        _done(result),
        safe_for_owner(
            verdict,
            f"{LINKS['no_promise']}.",
            "could not decide whether the release is what it should be",
            seeded=seeded,
        ),
        sections,
        {"strategy": verdict.asked, **run.whole()},
        (TEXTS["shared"]["seeded"],) if seeded else (),
    )


def _done(result: LinksAnonymization) -> str:
    original, sensitive = result.original.graph, result.original.sensitive
    before, after = (sum(numbers) for numbers in zip((0, 0), *result.links.values(), strict=True))
    counts = {"n": original.n, "before": before, "after": after}
    return sentence("done_links", sensitive=sensitive, asked=result.verdict.asked, **counts)


def verdict_figures(verdict: LinksVerdict) -> Iterator[Figure]:
    """Figures on nodes and on entities with equal values."""
    nodes = verdict.nodes
    shown = f"{nodes.number:,} for {nodes.entities:,} entities"
    yield Figure("Nodes", shown, "", "clusters", number=nodes.number)
    if verdict.k is not None:
        yield from _cluster_figures(verdict)
    yield from _distance(verdict.distances)


def _cluster_figures(verdict: LinksVerdict) -> Iterator[Figure]:
    """Figures of strategies with clusters or values."""
    nodes, enough = verdict.nodes, "better is k or more"
    shown = f"{nodes.smallest:,} entities"
    yield Figure("Smallest cluster", shown, enough, "clusters", number=nodes.smallest, key=True)
    shown = f"{nodes.groups:,} of {nodes.entities:,} entities"
    yield Figure("Clusters", shown, "", "clusters", number=nodes.groups)


def _distance(found: tuple[Distance, ...]) -> Iterator[Figure]:
    """The largest distance of the values of a node from those of all, if there are values."""
    if found:
        worst = max(found, key=lambda one: one.distance)
        shown = f"{worst.distance:.3f} ({worst.attribute})"
        yield Figure("Distance of values", shown, "better is 0", "closeness", number=worst.distance)


def _candidates(original: LinkGraph, released: LinkGraph, mapping: Vertices) -> Iterator[Candidates]:
    size = released.size
    kinds = [
        ("values", classes_of_values),
        ("numbers of links", _degrees),
        ("values and numbers of links", lambda graph: paired(classes_of_values(graph), _degrees(graph))),
    ]
    for name, classes in kinds if original.attributes else kinds[1:2]:
        yield as_shown(f"{name}{STANDS}", classes(original), classes(released), mapping, size)


def _degrees(graph: LinkGraph) -> Vertices:
    columns = [
        counts for name in sorted(graph.observed) for _, counts in _counts(graph, graph.observed[name])
    ]
    return reduce(paired, columns, np.zeros(graph.n, dtype=np.int64))


def _counts(graph: LinkGraph, found: Observations) -> Iterator[tuple[str, Vertices]]:
    """Degrees of each node: in total for mutual relations, otherwise out and in."""
    out, in_ = (
        np.bincount(ends, found.count, graph.n).astype(np.int64) for ends in (found.source, found.target)
    )
    if found.mutual:
        inner = np.bincount(found.source, np.where(found.source == found.target, found.count, 0), graph.n)
        yield "links", out + in_ - inner.astype(np.int64)
    else:
        yield "links out", out
        yield "links in", in_


def _series(graph: LinkGraph) -> dict[str, Series]:
    found = {}
    for name in sorted(graph.observed)[:MANY]:
        links = graph.observed[name]
        for what, counts in _counts(graph, links):
            found[f"{name}: {what}"] = Series(what, counts, "nodes", "degree")
        if links.weight is not None:
            found[f"Weights of {name}"] = Series("weight", links.weight, f"links of {name}", "weight")
    return found


def utility_items(result: LinksAnonymization) -> Iterator[Item]:
    """Share of the links of each relation that are kept."""
    kept = result.utility
    yield Figure("Links kept", f"{kept:.1%}", "better is 100 %", "links kept", number=kept, key=True)
    rows = tuple(
        (name, f"{had:,}", f"{kept:,}", f"{kept / had if had else 1:.1%}")
        for name, (had, kept) in result.links.items()
    )
    yield Table("Links", ("relation", "original", "released", "kept"), rows, "more is better", "links kept")


def _graph(graph: LinkGraph, like: LinkGraph | None = None) -> KnowledgeGraph:
    """Linked pairs as a knowledge graph, for pictures; with the relations of `like`."""
    none = np.empty(0, dtype=np.int64)
    relations = {}
    for name in (like or graph).observed:
        found = graph.observed.get(name, Observations(none, none, none))
        relations[name] = Relation(found.source.copy(), found.target.copy(), None, ("source", "target"))
    return KnowledgeGraph(graph.labels.copy(), relations)


def public_report(
    released: Released, k: int | None, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Build the public report, from published data alone.

    Parameters
    ----------
    k
        Least number of entities of a cluster, as in README.txt; `None` without clusters.
    confirmed, seeded, files
        As for `kgreason.isomorphism.report.public_report`.
    """
    graph, strategy = released.graph, released.strategy
    held = "as it says" if confirmed else "not confirmed"
    meaning = [Figure("Strategy", strategy, "", "strategy"), Figure("Checked", held, "", "strategy")]
    if k is not None:
        meaning.insert(1, Figure("k", f"{k:,}", "", "clusters", number=k))
    meaning += _distance(distances(graph))
    kept = f"{LINKS['no_promise_public']}; that the release is what is said here was confirmed by an exact check."
    return published(
        "Anonymized graph of links",
        f"strategy {strategy}, {held}",
        "Nodes have random names, and links were released as the strategy says.",
        safe_for_everybody(kept, confirmed=confirmed, seeded=seeded),
        (
            Section("What was done", plain(released.done), tuple(meaning)),
            Section("Limits", f"{LINKS['no_promise_public']}.", ()),
            Section(
                "Distributions",
                "How many links the nodes of the release have, and their values.",
                (*series_charts(_series, graph, None), *value_charts(graph.attributes)),
            ),
            files_section(files, FILES["links"]),
        ),
        state="holds" if confirmed else "fails",
        seeded=seeded,
    )


def disclosure_table(found: Disclosure) -> Table:
    """Table of disclosures, a row for each threshold."""
    from kgreason.links.attacks import disclosure

    better = "better is a precision as that of a guess (lift 1), and recall and δ 0"
    return Table("", disclosure.HEAD, tuple(map(disclosure.cells, found.at)), better)
