"""Facts and their explanations in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from kgreason.notebook.blocks import badge, note, table, view

if TYPE_CHECKING:
    from kgreason.engine.table import Facts
    from kgreason.provenance.explanation import Explanation
    from kgreason.results import Reasoned

PREDICATES = 6
"""Predicates that are shown at most."""
LINES = 40
"""Lines of an explanation that are shown at most."""


def reasoned(found: Reasoned) -> str:
    """What rules derived."""
    from kgreason.output.names import column_names

    def names(predicate: str, arity: int) -> Sequence[str]:
        return column_names(found.program, predicate, arity)

    warnings = "".join(note(f"warning: {w.message}") for w in found.warnings)
    return view("Derived facts", *_tables(found.facts, names), warnings)


def facts(found: Facts) -> str:
    """Facts by predicate."""
    return view("Facts", *_tables(found, lambda _, arity: [f"c{i + 1}" for i in range(arity)]))


def _tables(found: Facts, names: Callable[[str, int], Sequence[str]]) -> list[str]:
    shown = []
    for predicate, data in list(found.tables.items())[:PREDICATES]:
        title = f"{predicate}: {data.length:,} fact{'s' * (data.length != 1)}"
        if data.arity:
            rows = (map(_text, row) for row in found.rows(predicate))
            shown.append(table(names(predicate, data.arity), map(tuple, rows), title, data.length))
        else:
            shown.append(note(f"{predicate}: {'holds' if data.length else 'does not hold'}"))
    left = list(found.tables)[PREDICATES:]
    counts = ", ".join(f"{predicate} {found.count(predicate):,}" for predicate in left)
    return [*shown, note(f"not shown: {counts}" if left else "")]


def _text(value: object) -> object:
    """Strings bare, numbers as such, all else as the language writes it."""
    from kgreason.lang.values import source

    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else source(value)  # type: ignore[arg-type]


def explanation(found: Explanation) -> str:
    """Why a fact holds, or why it does not."""
    lines = found.as_text().splitlines()
    shown = "\n".join(
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in lines[:LINES]
    )
    rest = (
        f"… {len(lines) - LINES:,} more lines; print(explanation.as_text()) shows all"
        if len(lines) > LINES
        else ""
    )
    state = ("holds", "holds") if found.holds else ("given up", "does not hold")
    text = f'<pre style="margin:4px 0;overflow-x:auto">{escape(shown)}</pre>'
    return view(f"Explanation of {found.goal}", badge(*state), text, note(rest))
