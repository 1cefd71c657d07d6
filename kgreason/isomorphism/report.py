"""Reports of releases of graphs under rules: verdict, query answers, fidelity (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import entries
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.report_words import (
    Promise,
    done_private,
    safe_private,
    safe_public,
    synthetic_note,
    verdict_words,
)
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification.verdict import Verdict
from kgreason.release.report.candidate_tables import Candidates, risk_items
from kgreason.release.report.report_data import FILES, TEXTS, Figure, Item, Report, Section, Table
from kgreason.release.report.sections import (
    Run,
    distributions,
    drawn,
    files_section,
    findings,
    limits_section,
    published,
    run_section,
    state_words,
)

if TYPE_CHECKING:
    from kgreason.isomorphism.attacks.attack_results import Attacks
    from kgreason.isomorphism.result import Anonymization, Score
    from kgreason.isomorphism.risk.advice import Risk
    from kgreason.isomorphism.risk.candidate_counts import Exposure
    from kgreason.isomorphism.utility.query_utility import Fidelity, QueryUtility, Utility
    from kgreason.language.check.checked_program import CheckedProgram


SHARED, RULES = TEXTS["shared"], TEXTS["rules"]
COVERED: dict[Further, tuple[str, ...]] = {
    "degree": ("in-degree", "out-degree", "in- and out-degree"),
    "neighbours": ("neighbours' degrees",),
}
EXAMPLES = "in- and out-degree", "neighbours' degrees"  # knowledge shown first of what is not promised
NO_VERTEX = "…"  # replaces values of answers that are not vertices


def private_report(result: Anonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Private report, with all results of `kgreason.anonymize`; it is secret."""
    original, release, verdict = result.original, result.release, result.verdict
    released, seeded = release.graph, run.seed is not None
    edges, joined = (tuple(released.relations), result.derived), verdict.joined
    series = "" if joined is None else str(joined)
    promise = Promise.of(release.guarantee, verdict.sizes, *edges, series=series)
    exposed = _exposures(result, run, progress)
    progress.step("Writing the report")
    sections = (
        Section("Guarantee", SHARED["guarantee"], (*_guarantee(promise, verdict), *findings(verdict))),
        Section(
            "Risk before and after",
            f"{RULES['risk']} {RULES['nothing'] if promise.baseline else _covered(promise)}",
            tuple(_risk(exposed, promise)),
        ),
        Section("Utility", SHARED["utility"], tuple(_utility(result, run))),
        distributions(released, original),
        *drawn(original, released, release.mapping, run.generator),
        _run(result),
    )
    files = run.parameters.get("rules") or ["rules"]
    method = str(run.parameters.get("method", "the method"))
    return Report(
        f"Release of a graph under {', '.join(files)}",
        True,
        verdict.state,
        verdict_words(promise, verdict),
        done_private(method, original, released, release.guarantee, verdict),
        safe_private(promise, verdict, seeded=seeded),
        sections,
        {"guarantee": promise.text, "k": promise.k, "x": promise.sizes, **run.whole()},
        (*([SHARED["seeded"]] if seeded else []), *([SHARED["baseline"]] if promise.baseline else [])),
    )


def _run(result: Anonymization) -> Section:
    section, plans = run_section(result.seconds, result.release.figures), result.release.plans
    if not plans:
        return section
    rows = tuple(tuple(map(_plain, entries(plan).values())) for plan in plans)
    names = tuple(name.replace("_", " ") for name in entries(plans[0]))
    note = "complete augmentations; the release is made of the chosen one"
    note += ", and of what further guarantees add" if result.release.guarantee.further else ""
    return replace(section, items=(*section.items, Table("Plans", names, rows, note=note)))


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return "not judged" if value is None else f"{value:,}"


def _guarantee(promise: Promise, verdict: Verdict) -> Iterator[Figure]:
    yield Figure("Guarantee", promise.text, "", promise.term)
    yield Figure("Verdict", state_words(verdict), "better is holds", promise.term)
    yield from verdict_figures(verdict)


def verdict_figures(verdict: Verdict) -> Iterator[Figure]:
    """δ-anonymity, and the numbers of edges that k-Iso changed, where known."""
    name = "δ of the release" if verdict.needs_original else "δ-anonymity"
    if (delta := verdict.delta) is None:
        yield Figure(name, "not decided", "better is 1", "δ-anonymity")
    else:
        note = "an estimate from a sample" if delta.sampled else ""
        yield Figure(name, str(delta), "better is 1", "δ-anonymity", None, delta.value, note, key=True)
    if verdict.alike is not None:
        note = "where occurrences may have the same degrees"
        yield Figure(
            "δ-anonymity, whatever degrees", str(verdict.alike), "better is 1", "δ-anonymity", note=note
        )
    if (joined := verdict.joined) is not None:
        unchanged, changed = (
            f"{one.satisfied:,} of {one.total:,}" for one in (joined.unchanged, joined.changed)
        )
        note = "" if joined.unchanged.every else f"{unchanged}; of those that changed, {changed}"
        yield Figure("Series", str(joined), "", "series", note=note)
    if verdict.edits is not None:
        yield Figure("Changes", str(verdict.edits), "better is less", "edits", key=True)


def _exposures(result: Anonymization, run: Run, progress: Progress) -> list[Candidates]:
    from kgreason.isomorphism.risk.candidate_counts import compared_subgraphs

    if run.program is None:
        return []
    progress.step("Comparing risks before and after")
    verdict, release = result.verdict, result.release
    sizes, graphs = sorted({*verdict.also, verdict.x}), (result.original, release.graph, release.mapping)
    parts = compared_subgraphs(*graphs, run.program, sizes, release.parts, run.generator)
    return [*result.exposed, *parts]


def _covered(promise: Promise) -> str:
    """Text on what the guarantee covers of the compared risks."""
    *_, most = ("alone", *promise.further)
    return RULES["parts"].format(RULES[f"parts_{most}"])


def _risk(exposed: list[Candidates], promise: Promise) -> Iterator[Item]:
    known = [name for one in promise.further for name in COVERED[one]]
    promised = [] if promise.baseline else [one for one in exposed if one.of_parts or one.knowledge in known]
    others = [one for one in exposed if one not in promised]
    degrees = next((one for one in others if one.knowledge in EXAMPLES), None)
    both = "vertices or occurrences"
    candidates = both if known else "places", "vertices" if promised else both
    yield from risk_items(list(map(_alone, promised)), others, promise.k, candidates, degrees)


def _alone(found: Candidates) -> Candidates:
    """Candidates without the journalist's risk: with raised degrees, the original is no population of the release."""
    before, after = (sets and replace(sets, fits=None) for sets in (found.before, found.after))
    return replace(found, before=before, after=after)


def _utility(result: Anonymization, run: Run) -> Iterator[Item]:
    score, original, released = result.score, result.original, result.release.graph
    yield from utility_items(score.utility)
    if run.program is not None:
        yield from examples(score.utility, original, released, result.release.mapping, run.program)
    yield from fidelity_figures(score.fidelity, (original, released))
    yield from detection_figures(score)


def utility_items(utility: Utility) -> Iterator[Item]:
    """U and U△, pooled figures, and a table row for each query and each derived predicate."""
    if not utility.per_query:
        return
    margin = f" ± {utility.margin:.3f} (95 %)" if utility.margin else ""
    note = "an estimate: some queries have more answers than can be counted" if margin else ""
    pooled, low, high = utility.pooled, "better is 0", "better is 1"
    yield Figure("U", f"{utility.u:.3f}", low, "U", number=utility.u)
    shown = f"{utility.u_symmetric:.3f}{margin}"
    yield Figure("U△", shown, low, "U△", number=utility.u_symmetric, note=note, key=True)
    about = (
        "~ " if any(q.sampled for q in (*utility.per_query.values(), *utility.per_derived.values())) else ""
    )
    figures = {
        "Precision pooled": (pooled.precision, high, "precision"),
        "Recall pooled": (pooled.recall, high, "recall"),
        "U pooled": (pooled.u, low, "pooled"),
        "U△ pooled": (pooled.u_symmetric, low, "pooled"),
    }
    for name, (value, better, term) in figures.items():
        yield Figure(name, f"{about}{value:.3f}", better, term, number=value, key=name == "Precision pooled")
    if utility.per_query != utility.per_derived:
        note = "answers are compared vertex by vertex; those that name a synthetic vertex are gained"
        yield _answers("Answers", "query", utility.per_query, note)
    if utility.per_derived:
        note = "edges between two vertices, compared vertex by vertex; those of synthetic vertices are gained"
        yield _answers("Derived edges", "derived edges", utility.per_derived, note)


def _answers(title: str, term: str, counted: Mapping[str, QueryUtility], note: str) -> Table:
    columns = "predicate", "before", "after", "lost", "gained", "precision", "recall", "U", "U△"
    rows = tuple(_row(name, query) for name, query in counted.items())
    return Table(title, columns, rows, "fewer lost and gained ones are better", term, note)


def _row(name: str, query: QueryUtility) -> tuple[str, ...]:
    counts = (query.original, query.released, query.lost, query.gained)
    margin = f" ± {query.margin:.3f}" if query.sampled else ""
    shown = (f"{'~ ' if query.sampled else ''}{count:,}" for count in counts)
    estimate = f", from {query.sampled:,} random targets" if query.sampled else ""
    shares = (f"{share:.3f}" for share in (query.precision, query.recall, query.u))
    return (f"{name}{estimate}", *shown, *shares, f"{query.u_symmetric:.3f}{margin}")


def examples(
    utility: Utility,
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
) -> Iterator[Table]:
    """First lost and gained answers of each query with original names; secret."""
    from kgreason.language.check.genericity import vertex_positions

    names = np.array([f"{label} (synthetic)" for label in released.labels.tolist()], dtype=object)
    names[mapping] = original.labels
    positions = vertex_positions(rules)
    for name, query in utility.per_query.items():
        rows = [
            (_shown(name, row, names, positions), change)
            for change, answers in (("lost", query.some_lost), ("gained", query.some_gained))
            for row in answers
        ]
        if rows:
            more = query.lost + query.gained - len(rows)
            note = f"{more:,} more are not shown" if more else ""
            yield Table(
                f"Answers of {name} that were lost or gained", ("answer", "was"), tuple(rows), note=note
            )


def _shown(name: str, row: Sequence[int], names: Vertices, positions: frozenset[tuple[str, int]]) -> str:
    words = (str(names[value]) if (name, i) in positions else NO_VERTEX for i, value in enumerate(row))
    return f"{name}({', '.join(words)})"


def fidelity_figures(
    fidelity: Fidelity, graphs: tuple[KnowledgeGraph, KnowledgeGraph] | None = None
) -> Iterator[Figure]:
    """Numbers of added vertices and edges, with the graph sizes if `graphs` is given, and the distances."""
    f = fidelity
    sizes = [(g.n, g.m) for g in graphs] if graphs else [(None, None), (f.vertices_added, f.edges_added)]
    percents = f.vertices_added_percent, f.edges_added_percent
    for what, before, after, percent in zip(("Vertices", "Edges"), *sizes, percents, strict=True):
        old = None if before is None else f"{before:,}"
        name, shown = what if graphs else f"{what} added", f"{after:,} ({percent:+.1f} %)"
        yield Figure(name, shown, "better is 0 %", "fidelity", old, percent, key=what == "Edges")
    distances = {"degrees": f.degree, "in-degrees": f.in_degree, "out-degrees": f.out_degree}
    distances |= {f"weights of {name}": distance for name, distance in f.weights.items()}
    for name, distance in distances.items():
        shown = f"{distance:.3f}"
        yield Figure(
            f"Distance of {name}", shown, "better is 0", "Wasserstein-1", None, distance, "Wasserstein-1"
        )


def detection_figures(score: Score) -> Iterator[Figure]:
    """Detection AUC of synthetic vertices and edges, and the guarantee without the most suspicious edges."""
    for name, found in (("Detection AUC", score.detection), ("Detection AUC of edges", score.edge_detection)):
        yield Figure(name, str(found), "better is 0.5", "detection AUC", number=found.auc)
    edges, rest = score.edge_detection, score.withstood
    if edges.precision is not None:
        note = f"the share of a random choice is {edges.base:.3f}; classifiers judge no edge that they learned from"
        what = "between copies" if edges.between else "synthetic"
        shown = f"{edges.precision:.3f} of the {edges.synthetic:,} most suspicious edges are {what}"
        yield Figure(
            "Precision at k", shown, "better is 0", "detection AUC", number=edges.precision, note=note
        )
    if rest is not None:
        share = None if rest.reason else rest.kept / max(rest.subgraphs, 1)
        yield Figure(
            "Guarantee without these edges", str(rest), "better is 100 %", "detection AUC", number=share
        )


def score_items(score: Score) -> Iterator[Item]:
    """Utility, fidelity and detection AUC."""
    yield from utility_items(score.utility)
    yield from fidelity_figures(score.fidelity)
    yield from detection_figures(score)


def public_report(
    released: KnowledgeGraph, promise: Promise, *, confirmed: bool, seeded: bool, files: Iterable[str] = ()
) -> Report:
    """Public report; it depends on the published files alone and so reveals nothing else.

    Parameters
    ----------
    released
        Published graph, read back.
    confirmed
        Whether the check confirmed the guarantee.
    seeded
        Whether the release was made with a seed and can be recomputed.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("p", "q", 0.5)], relation="own")
    >>> promise = Promise("(3,2)-isomorphism", 3, "x = 2", ("own", "control"))
    >>> public_report(graph, promise, confirmed=True, seeded=False).verdict
    '(3,2)-isomorphism holds'
    """
    held = "holds" if confirmed else "was not confirmed"
    weighted = any(r.weight is not None for r in released.relations.values())
    guarantee = {"Guarantee": promise.text, "Checked for": promise.sizes}
    guarantee |= {"Edges that it covers": ", ".join(promise.edges), "Verdict": held}
    if promise.baseline:
        del guarantee["Checked for"]
    figures = (
        Figure(name, text, "better is holds" if name == "Verdict" else "", promise.term)
        for name, text in guarantee.items()
    )
    known = FILES["rules"] | {name: f"edges of the relation {name}" for name in released.relations}
    others = ", edges have other weights than the original" * weighted
    return published(
        "Anonymized knowledge graph",
        f"{promise.text}{':' if promise.within_parts or promise.baseline else ''} {held}",
        f"Vertices have random names{others}. Synthetic are {promise.synthetic}.",
        safe_public(promise, confirmed=confirmed, seeded=seeded),
        (
            Section("Guarantee", f"{promise.meaning}.", tuple(figures)),
            limits_section(_limits(promise, weighted)),
            distributions(released),
            files_section(files, known),
        ),
        state=("given up" if promise.within_parts else "holds") if confirmed else "fails",
        seeded=seeded,
        warnings=[SHARED["baseline"]] if promise.baseline else [],
    )


def _limits(promise: Promise, weighted: bool) -> Iterator[tuple[str, str]]:
    yield "Synthetic edges and vertices", f"Synthetic are {promise.synthetic}. {synthetic_note(promise)}"
    if promise.series:
        yield "Series", f"{promise.series[0].upper()}{promise.series[1:]}."
    yield "Not protected", promise.unprotected[0].upper() + promise.unprotected[1:]
    if promise.within_parts:
        yield "Edges between parts", RULES["between"]
    if weighted:
        yield "Weights", RULES["other_weights" if promise.other_weights else "weights"]


def risk_table(found: Risk) -> Table:
    """Table of risks by kind of knowledge: prosecutor's, and with a population journalist's and marketer's."""
    columns = ("an attacker knows", "unique", "", f"fewer than {found.k}", "highest risk", "average")
    among = ("in population: highest", f"fewer than {found.k}", "marketer")
    population = found.population is not None
    return Table(
        "Prosecutor's risk" + ", and those of a journalist and a marketer" * population,
        (*columns, *(among if population else ())),
        tuple(_exposure(exposure, population) for exposure in found.exposures),
        "better is 0 everywhere",
        note="~ is an estimate" if any(e.looked is not None for e in found.exposures) else "",
    )


def _exposure(e: Exposure, population: bool) -> tuple[str, ...]:
    name = e.knowledge if e.looked is None else f"{e.knowledge} ~"
    share = f"{e.unique / max(1, e.vertices):.1%}"
    row = (name, f"{e.unique:,}", share, f"{e.at_risk:.1%}", f"{e.highest:.4f}", f"{e.average:.4f}")
    if not population:
        return row
    return (*row, f"{e.journalist_highest:.4f}", f"{e.journalist_at_risk:.1%}", f"{e.marketer:.4f}")


def attacks_table(found: Attacks) -> Table:
    """Table with a row for each attack."""
    from kgreason.isomorphism.attacks import attack_results

    rows = tuple(map(attack_results.row, found.attacks))
    return Table("", attack_results.HEAD, rows, "better is found 0 %, and no unique target")
