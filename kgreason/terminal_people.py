"""How results on graphs of people look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kgreason.terminal import Row, item_rows, publishable, table

if TYPE_CHECKING:
    from kgreason.assess.people.utility import Utility
    from kgreason.assess.people.verdict import PeopleVerdict
    from kgreason.people.results import PeopleAnonymization

TELLING = {"users": "released", "fakes": "fake users"}  # items that tell a number, too


def print_people(result: PeopleAnonymization, release: Path, private: Path, *, seeded: bool) -> None:
    """Print the one table of an anonymization."""
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in result.seconds.items())
    table(
        [
            ("graph", f"{result.original!r}".strip("<>").removeprefix("PeopleGraph with ")),
            ("method", result.settings.method),
            *verdict_rows(result.verdict),
            *utility_rows(result.utility),
            ("time", f"{sum(result.seconds.values()):.1f} s ({seconds})"),
            ("to publish", publishable(result, release, seeded)),
            ("to keep secret", f"{private}/"),
        ]
    )


def print_people_verdict(verdict: PeopleVerdict) -> None:
    """Print each item, who shares, and what a model of graphs of people says."""
    table(list(verdict_rows(verdict)))


def verdict_rows(verdict: PeopleVerdict) -> Iterator[Row]:
    """Rows on the conditions, who shares, and the verdict."""
    figures = verdict.figures
    held = {"fails": "DOES NOT HOLD", "undecided": "NOT DECIDED"}.get(verdict.state, "holds")
    alone = ", as far as a release alone tells" if verdict.needs_original and verdict.holds else ""
    sharing = f"{figures.users:,} users in {figures.classes:,} classes, the smallest of {figures.smallest:,}"
    ratio = "" if figures.ratio is None else f"; {figures.ratio:.2f} of its k at the least"
    yield from item_rows(verdict.items, verdict.needs_original)
    yield "alike", sharing + ratio
    for item in verdict.items:
        if item.holds and item.name in TELLING:
            yield TELLING[item.name], item.detail
    for note in verdict.notes:
        yield "not protected", note
    yield "verdict", f"{held}{alone}: {verdict.asked}"


def utility_rows(utility: Utility) -> Iterator[Row]:
    """Rows on the information that is lost."""
    parts = {
        "values": utility.ail_attributes,
        "degrees": utility.ail_degrees,
        "removed users": utility.ail_removed,
    }
    told = ", ".join(f"{loss:.4f} by {what}" for what, loss in parts.items() if loss)
    yield "AIL (0 is best)", f"{utility.ail:.4f}" + f" ({told})" * bool(told)
    yield "RRU (0 is best)", f"{utility.rru:.4f} ({utility.removed:,} of {utility.users:,} users removed)"
    if utility.values_added:
        yield "values", f"{utility.values_added:,} added"
    for name, changes in utility.changes.items():
        yield f"links of {name}", f"{changes.added:,} added, {changes.removed:,} left out"
