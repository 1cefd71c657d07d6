"""The owner's report about a release of a graph under rules (docs/report.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgreason.assess.verdict import Verdict
from kgreason.graph.model import KnowledgeGraph
from kgreason.progress import SILENT, Progress
from kgreason.report.answers import examples, utility_items
from kgreason.report.data import Figure, Item, Report, Section
from kgreason.report.exposure import exposures
from kgreason.report.findings import findings
from kgreason.report.graphs import distributions, drawn
from kgreason.report.run import Run, run_section
from kgreason.report.seen import Seen, risk_items
from kgreason.report.words import (
    BASELINE,
    SEEDED,
    Promise,
    done_private,
    safe_private,
    state_words,
    verdict_words,
)

if TYPE_CHECKING:
    from kgreason.isomorphism.release import Anonymization, Score

GUARANTEE = "Every condition was checked on what was written, by code that shares nothing with what made it."
RISK = (
    "Somebody knows a little of a vertex, as a row says, and looks for it: before, in the original without its names; "
    "after, in the release."
)
PARTS = (
    "The guarantee is about connected parts of the sizes that it names; their candidates are the places where they "
    "stand, whereas `kgreason risk` counts the vertices that stand there. Nothing is promised against somebody who "
    "knows other things, such as how many edges a vertex has in the whole graph: what he finds is told, too, and "
    "called so."
)
NOTHING = "Nothing of this is promised: k-Iso makes blocks alike, and protects neither degrees nor what rules derive."
UTILITY = "What the release costs those who work with it."


def private_report(result: Anonymization, run: Run, progress: Progress = SILENT) -> Report:
    """Write the owner's report: all that is known, which is secret.

    Parameters
    ----------
    result
        What `kgreason.anonymize` returns.
    run
        How it was called.
    """
    original, release, verdict = result.original, result.release, result.verdict
    released = release.graph
    promise = promise_of(result)
    seeded = run.seed is not None
    method = str(run.parameters.get("method", "the method"))
    seen = _seen(result, run, progress)
    progress.step("Writing the report")
    picture = drawn(original, released, release.mapping, run.generator)
    sections = (
        Section("Guarantee", GUARANTEE, (*_guarantee(promise, verdict), *findings(verdict))),
        Section(
            "Risk before and after",
            f"{RISK} {NOTHING if promise.baseline else PARTS}",
            tuple(_risk(seen, promise)),
        ),
        Section("Utility", UTILITY, tuple(_utility(result, run))),
        distributions(released, original),
        *([picture] if picture else []),
        run_section(result.seconds, release.figures),
    )
    files = run.parameters.get("rules") or ["rules"]
    return Report(
        f"Release of a graph under {', '.join(files)}",
        True,
        verdict.state,
        verdict_words(promise, verdict),
        done_private(method, original, released, release.guarantee, verdict),
        safe_private(promise, verdict, seeded=seeded),
        sections,
        {"guarantee": promise.text, "k": promise.k, "x": promise.sizes, **run.whole()},
        (*([SEEDED] if seeded else []), *([BASELINE] if promise.baseline else [])),
    )


def promise_of(result: Anonymization) -> Promise:
    """What a release promises."""
    edges = tuple(result.release.graph.relations)
    return Promise.of(result.release.guarantee, result.verdict.sizes, edges, result.derived)


def _guarantee(promise: Promise, verdict: Verdict) -> Iterator[Figure]:
    term = "k-isomorphism" if promise.baseline else "(k,x)-isomorphism"
    yield Figure("Guarantee", promise.text, "", term)
    yield Figure("Verdict", state_words(verdict), "better is holds", term)
    if verdict.delta is not None:
        delta = verdict.delta
        note = "an estimate from a sample" if delta.sampled else ""
        yield Figure(
            "δ-anonymity", str(delta), "better is 1", "δ-anonymity", None, delta.value, note, key=True
        )
    if verdict.alike is not None:
        note = "where places may have the same degrees"
        yield Figure(
            "δ-anonymity, whatever degrees", str(verdict.alike), "better is 1", "δ-anonymity", note=note
        )
    if verdict.edits is not None:
        yield Figure("Changes", str(verdict.edits), "better is less", "edits", key=True)


def _seen(result: Anonymization, run: Run, progress: Progress) -> list[Seen]:
    if run.program is None:
        return []
    verdict, release = result.verdict, result.release
    sizes = sorted({*verdict.also, verdict.x})
    return exposures(
        result.original,
        release.graph,
        release.mapping,
        run.program,
        sizes,
        release.parts,
        run.generator,
        progress,
    )


def _risk(seen: list[Seen], promise: Promise) -> Iterator[Item]:
    promised = [] if promise.baseline else [one for one in seen if one.of_parts]
    others = [one for one in seen if one not in promised]
    degrees = next((one for one in others if one.knowledge == "in- and out-degree"), None)
    yield from risk_items(
        promised, others, promise.k, ("places", "vertices" if promised else "vertices or places"), degrees
    )


def _utility(result: Anonymization, run: Run) -> Iterator[Item]:
    score = result.score
    yield from utility_items(score.utility)
    if run.program is not None:
        graphs = (result.original, result.release.graph, result.release.mapping)
        yield from examples(score.utility, *graphs, run.program)
    yield from _fidelity(score, result.original, result.release.graph)


def _fidelity(score: Score, original: KnowledgeGraph, released: KnowledgeGraph) -> Iterator[Item]:
    f, telling = score.fidelity, score.telling
    yield Figure(
        "Vertices",
        f"{released.n:,} ({f.vertices_added_percent:+.1f} %)",
        "better is 0 % more",
        "fidelity",
        f"{original.n:,}",
        f.vertices_added_percent,
    )
    yield Figure(
        "Edges",
        f"{released.m:,} ({f.edges_added_percent:+.1f} %)",
        "better is 0 % more",
        "fidelity",
        f"{original.m:,}",
        f.edges_added_percent,
        key=True,
    )
    distances = {"degrees": f.degree, "in-degrees": f.in_degree, "out-degrees": f.out_degree}
    distances |= {f"weights of {name}": distance for name, distance in f.weights.items()}
    for name, distance in distances.items():
        yield Figure(f"Distance of {name}", f"{distance:.3f}", "better is 0", "Wasserstein-1", None, distance)
    yield Figure("Synthetic vertices told", str(telling), "better is 0.5", "told", None, telling.auc)
