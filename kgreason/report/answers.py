"""Answers of queries that a release has lost or gained: counts, and the first few by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.assess.utility import QueryUtility, Utility
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.report.data import Figure, Item, Table

OTHER = "…"  # a value that is no vertex


def utility_items(utility: Utility) -> Iterator[Item]:
    """U and U△, and a row for each query."""
    if not utility.per_query:
        return
    pooled = utility.pooled
    several = len(utility.per_query) > 1
    yield Figure("U", f"{utility.u:.3f}", "better is 0", "U", None, utility.u)
    if several:
        yield Figure("U pooled", f"{pooled.u:.3f}", "better is 0", "pooled", None, pooled.u)
    margin = f" ± {utility.margin:.3f} (95 %)" if utility.margin else ""
    note = "an estimate: some queries have more answers than can be counted" if margin else ""
    yield Figure(
        "U△",
        f"{utility.u_symmetric:.3f}{margin}",
        "better is 0",
        "U△",
        None,
        utility.u_symmetric,
        note,
        key=True,
    )
    if several:
        yield Figure(
            "U△ pooled", f"{pooled.u_symmetric:.3f}", "better is 0", "pooled", None, pooled.u_symmetric
        )
    yield Table(
        "Answers to the queries",
        ("query", "answers before", "after", "lost", "gained", "U", "U△"),
        tuple(_row(name, query) for name, query in utility.per_query.items()),
        "fewer lost and gained answers are better",
        "query",
        "answers are compared vertex by vertex; those that name a synthetic vertex are gained",
    )


def _row(name: str, query: QueryUtility) -> tuple[str, ...]:
    counts = (query.original, query.released, query.lost, query.gained)
    margin = f" ± {query.margin:.3f}" if query.sampled else ""
    shown = (f"{'~ ' if query.sampled else ''}{count:,}" for count in counts)
    return (name, *shown, f"{query.u:.3f}", f"{query.u_symmetric:.3f}{margin}")


def examples(
    utility: Utility,
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    rules: CheckedProgram,
) -> Iterator[Table]:
    """The first answers that each query has lost and gained, with original names: secret."""
    from kgreason.analysis.generic import vertex_positions

    names = np.array([f"{label} (synthetic)" for label in released.labels.tolist()], dtype=object)
    names[mapping] = original.labels
    positions = vertex_positions(rules)
    for name, query in utility.per_query.items():
        rows = [
            (_shown(name, row, names, positions), what)
            for what, some in (("lost", query.some_lost), ("gained", query.some_gained))
            for row in some
        ]
        if rows:
            more = query.lost + query.gained - len(rows)
            note = f"{more:,} more are not shown" if more else ""
            yield Table(
                f"Answers of {name} that were lost or gained", ("answer", "was"), tuple(rows), note=note
            )


def _shown(name: str, row: Sequence[int], names: Vertices, positions: frozenset[tuple[str, int]]) -> str:
    words = (str(names[value]) if (name, i) in positions else OTHER for i, value in enumerate(row))
    return f"{name}({', '.join(words)})"
