"""Conditions of a verdict as items of a report."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.assess.verdict import Examined, Item, State
from kgreason.report.data import Finding
from kgreason.report.terms import term_of


def findings(verdict: Examined) -> tuple[Finding, ...]:
    """All conditions: first those that fail, then those that are not decided or given up, then those that hold."""
    order: list[State] = ["fails", "undecided", "given up", "holds"]
    items = sorted(verdict.items, key=lambda item: order.index(item.state))
    return (*map(finding, items), *_undecidable(verdict))


def finding(item: Item) -> Finding:
    """One condition."""
    return Finding(item.name, item.state, item.detail, item.witnesses, term_of(item.name))


def _undecidable(verdict: Examined) -> Iterator[Finding]:
    for what in verdict.needs_original:
        name, _, detail = what.partition(": ")
        yield Finding(name, "undecided", f"only the original could tell: {detail}", (), term_of(name))
