"""Sections that reports about graphs under rules share: distributions, and a picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.report.data import Chart, Section
from kgreason.report.distributions import counts_chart, values_chart

DEGREES = "Degrees count the edges of all relations."


def distributions(released: KnowledgeGraph, original: KnowledgeGraph | None = None) -> Section:
    """Degrees and weights, of the release and, if it is given, of the original."""
    lead = (
        "How many edges the vertices of the release have, and what their weights are."
        if original is None
        else "How many edges vertices have, and what the weights are, in the original and in the release."
    )
    return Section("Distributions", f"{lead} {DEGREES}", tuple(_charts(released, original)))


def _charts(released: KnowledgeGraph, original: KnowledgeGraph | None) -> Iterator[Chart]:
    before = (None, None) if original is None else (original.in_degree(), original.out_degree())
    yield counts_chart("In-degree", "incoming edges", released.in_degree(), before[0], term="in-degree")
    yield counts_chart("Out-degree", "outgoing edges", released.out_degree(), before[1], term="out-degree")
    for name, relation in released.relations.items():
        if relation.weight is None:
            continue
        old = None if original is None else original.relations[name].weight
        if original is None or old is not None:
            yield values_chart(f"Weights of {name}", "weight", relation.weight, old, f"edges of {name}")


def drawn(
    original: KnowledgeGraph, released: KnowledgeGraph, mapping: Vertices, rng: np.random.Generator | None
) -> Section | None:
    """A picture before and after; `None` if nothing may be drawn at random."""
    from kgreason.report.picture import pictures

    if rng is None or not original.n:
        return None
    lead = (
        "The same part of the graph before and after; synthetic vertices and edges are marked. Only you see this: "
        "the release does not tell which they are."
    )
    return Section("Picture", lead, pictures(original, released, mapping, rng))
