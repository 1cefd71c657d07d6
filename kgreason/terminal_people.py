"""How results on graphs of people look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kgreason.terminal import Row, item_rows, publishable, table

if TYPE_CHECKING:
    from kgreason.assess.people.structure import Structure
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.people.release import PeopleAnonymization


def print_people(result: PeopleAnonymization, release: Path, private: Path, *, seeded: bool) -> None:
    """Print the one table of an anonymization."""
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
    table(
        [
            ("graph", _graph(result)),
            ("method", result.settings.method),
            *verdict_rows(result.verdict),
            *_withheld(result),
            *_measured(result),
            ("time", f"{sum(result.seconds.values()):.1f} s ({seconds})"),
            ("to publish", publishable(result, release, seeded)),
            ("to keep secret", f"{private}/"),
        ]
    )


def _measured(result: PeopleAnonymization) -> Iterator[Row]:
    if result.utility is None:
        yield "lost", "not measured"
    else:
        yield from utility_rows(result.utility, result.release.figures)


def _graph(result: PeopleAnonymization) -> str:
    """Users, attributes and relations; of an undirected graph its edges, each once, as in all rows."""
    graph, utility = result.original, result.utility
    told = f"{graph!r}".strip("<>").removeprefix("PeopleGraph with ")
    if utility is None or utility.structure is None:
        return told
    (links,) = graph.relations.values()
    return told.removesuffix(f"{len(links):,}") + f"{utility.structure.edges:,}"


def _withheld(result: PeopleAnonymization) -> Iterator[Row]:
    """Row on users who are not released for the sake of those who left a series."""
    if withheld := result.release.figures.get("withheld"):
        why = "too few of those like them left or stay; --left-out replace would keep them"
        yield "withheld", f"{withheld:,} users: {why}"


def print_people_verdict(verdict: PeopleVerdict) -> None:
    """Print each item, who shares, and what a model of graphs of people says."""
    table(list(verdict_rows(verdict)))


def verdict_rows(verdict: PeopleVerdict) -> Iterator[Row]:
    """Rows on the conditions, who shares, and the verdict."""
    figures = verdict.figures
    held = {"fails": "DOES NOT HOLD", "undecided": "NOT DECIDED"}.get(verdict.state, "holds")
    alone = ", as far as a release alone tells" if verdict.needs_original and verdict.holds else ""
    groups = f"{figures.classes:,} class{'es' * (figures.classes != 1)}"
    sharing = f"{figures.users:,} users in {groups}, the smallest of {figures.smallest:,}"
    times = "" if figures.ratio is None else f"{figures.ratio:,.2f}".removesuffix(".00")
    ratio = f"; at the least {times} times as many as asked for" * bool(times)
    yield from item_rows(verdict.items, verdict.needs_original)
    yield "alike", sharing + ratio
    for item in verdict.items:
        if item.holds and item.name == "users":
            yield "released", item.detail
        elif item.holds and item.name == "fakes" and verdict.model == "kw-tad":
            yield "fake users", item.detail
    for note in verdict.notes:
        yield "not protected", note
    yield "verdict", f"{held}{alone}: {verdict.asked}"


def utility_rows(utility: Utility, figures: Mapping[str, object] = MappingProxyType({})) -> Iterator[Row]:
    """Rows on the information that is lost; of an undirected graph without attributes on its structure alone.

    Parameters
    ----------
    figures
        What the method says of a release, if it is known.
    """
    structure = utility.structure
    if structure is None or utility.values or utility.removed:
        yield from _losses(utility)
    if utility.values:
        yield "values", f"{utility.values:,}, {_more(utility.values_added, utility.values)} added"
    if structure is not None:
        yield from _structure_rows(structure, figures)
        return
    for name, changes in utility.changes.items():
        added = _more(changes.added, changes.original)
        yield f"links of {name}", f"{changes.original:,}, {added} added, {changes.removed:,} left out"


def _losses(utility: Utility) -> Iterator[Row]:
    parts = {
        "values": utility.ail_attributes,
        "degrees": utility.ail_degrees,
        "removed users": utility.ail_removed,
    }
    told = ", ".join(f"{loss:.4f} by {what}" for what, loss in parts.items() if loss)
    yield "AIL (0 is best)", f"{utility.ail:.4f}" + f" ({told})" * bool(told)
    yield "RRU (0 is best)", f"{utility.rru:.4f} ({utility.removed:,} of {utility.users:,} users removed)"


def _structure_rows(found: Structure, figures: Mapping[str, object]) -> Iterator[Row]:
    """Rows on degrees, edges, triangles and distances of an undirected graph."""
    edges = f"{found.edges:,}, {_more(found.added, found.edges)} added, {found.removed:,} left out, {found.kept:,} kept"
    yield "edges", edges
    tries, cheapest = figures.get("tries", 1), figures.get("cheapest")
    probed = isinstance(tries, int) and isinstance(cheapest, int) and tries > 1
    before = f" ({cheapest:,} before {tries:,} tries)" if probed else ""
    yield "L1 (0 is best)", f"{found.l1:,} by degrees{before}"
    yield "clustering", f"{found.clustering:.4f} -> {found.clustering_released:.4f}"
    if found.sources != 0:
        before, after = (
            "none" if length is None else f"{length:.3f}"
            for length in (found.path_length, found.path_length_released)
        )
        some = "" if found.sources is None else f" (from {found.sources:,} sources)"
        yield "path length", f"{before} -> {after}{some}"


def _more(added: int, before: int) -> str:
    return f"{added:,} ({added / before:+.0%})" if before else f"{added:,}"
