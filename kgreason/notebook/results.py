"""Anonymizations in notebooks: what was made, whether it holds, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgreason.notebook.blocks import badge, figures, items, note, table, view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgreason.assess.verdict import Examined
    from kgreason.isomorphism.release import Anonymization
    from kgreason.links.release import LinksAnonymization
    from kgreason.people.release import PeopleAnonymization

_HINT = ".verdict, .release.graph (to publish) and .mapping (secret) have more"


def anonymization(result: Anonymization) -> str:
    """An anonymization of a graph under rules."""
    before, after, score = result.original, result.release.graph, result.score
    delta = result.verdict.delta
    sizes = [("vertices", before.n, after.n), ("edges", before.m, after.m)]
    numbers = [
        ("δ-anonymity", "none" if delta is None else str(delta), "better is 1"),
        ("U", f"{score.utility.u:.3f}", "better is 0"),
        ("U△", f"{score.utility.u_symmetric:.3f}", "better is 0"),
        ("synthetic vertices told", str(score.telling), "better is 0.5"),
    ]
    shown = (
        _sizes(sizes),
        figures(numbers),
        _conditions(result.verdict),
        _seconds(result.seconds),
        note(f"{_HINT}; .score"),
    )
    return view(f"Anonymization: {result.release.guarantee}", _state(result.holds, result.verdict), *shown)


def people_anonymization(result: PeopleAnonymization) -> str:
    """An anonymization of a graph of people."""
    before, after = result.original, result.release.graph
    values, links = (
        [sum(map(len, getattr(graph, part).values())) for graph in (before, after)]
        for part in ("attributes", "relations")
    )
    sizes = [("users", before.n, after.n), ("values", values[0], values[1]), ("links", links[0], links[1])]
    lost = result.utility
    numbers = [("what is lost", "not measured", "")]
    if lost is not None:
        numbers = [("AIL", f"{lost.ail:.4f}", "better is 0"), ("RRU", f"{lost.rru:.4f}", "better is 0")]
        if lost.structure is not None:
            numbers.append(("L1 of degrees", f"{lost.structure.l1:,}", "better is 0"))
    shown = (
        _sizes(sizes),
        figures(numbers),
        _conditions(result.verdict),
        _seconds(result.seconds),
        note(f"{_HINT}; .utility"),
    )
    return view(
        f"Anonymization by {result.settings.method}: {result.verdict.asked}",
        _state(result.holds, result.verdict),
        *shown,
    )


def links_anonymization(result: LinksAnonymization) -> str:
    """An anonymization of links."""
    before, after = result.original.graph, result.release.released.graph
    sizes = [("nodes", before.n, after.n), *((name, had, kept) for name, (had, kept) in result.links.items())]
    numbers = [("links kept", f"{100 * result.utility:.1f} %", "better is 100 %")]
    if result.clusters is not None:
        least = int(result.cluster_sizes.min(initial=before.n))
        numbers.append(("smallest cluster", f"{least:,} entities", "better is k or more"))
    left = f"sensitive, and left out: {result.original.sensitive.name}"
    hint = ".verdict, .release.released (to publish) and .mapping (secret) have more"
    shown = (
        _sizes(sizes),
        figures(numbers),
        note(left),
        _conditions(result.verdict),
        _seconds(result.seconds),
        note(hint),
    )
    return view(
        f"Anonymization of links: {result.verdict.asked}", _state(result.holds, result.verdict), *shown
    )


def _state(holds: bool, verdict: Examined) -> str:
    if holds:
        return badge(verdict.state, "holds")
    undecided = verdict.state == "undecided"
    return badge(
        verdict.state, "not decided: do not publish" if undecided else "does not hold: do not publish"
    )


def _sizes(rows: list[tuple[str, int, int]]) -> str:
    return table(("", "original", "released"), rows, count=len(rows))


def _conditions(verdict: Examined) -> str:
    """Those that do not hold; the verdict itself shows all."""
    wrong = [item for item in verdict.items if not item.holds]
    return items(wrong) if wrong else note(f"{len(verdict.items)} conditions were checked, and hold")


def _seconds(seconds: Mapping[str, float]) -> str:
    return note(
        f"{sum(seconds.values()):.1f} s: " + ", ".join(f"{stage} {s:.1f}" for stage, s in seconds.items())
    )
