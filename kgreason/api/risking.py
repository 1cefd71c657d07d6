"""Function that measures graphs before they are released."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kgreason.api.reasoning import Rules, load
from kgreason.api.releasing import read_graph
from kgreason.arguments import anonymizable, attacked_sizes, check_numbers
from kgreason.choices import MAX_EXAMINED
from kgreason.progress import SILENT, Progress
from kgreason.release.pipeline import Clock

if TYPE_CHECKING:
    from kgreason.advice.report import Risk
    from kgreason.api.given import GraphData


def risk(
    rules: Rules,
    data: GraphData | None = None,
    *,
    population: GraphData | None = None,
    k: int = 3,
    x: int | Iterable[int] | None = None,
    max_subgraphs: int = MAX_EXAMINED,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Risk:
    """Measure what a graph gives away before it is anonymized, and estimate what anonymization would cost.

    What the figures mean: docs/risk.md.

    Parameters
    ----------
    population
        A graph in which an attacker looks for the vertices of this one; default: this one.
    k
        Vertices that fewer than k fit are at risk; the k of the anonymizations that are considered.
    x
        Numbers of vertices of the parts that an attacker may know; default: 2 to 6.
    max_subgraphs
        Where there are more connected subgraphs of x vertices, a random part of the graph is looked at.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    AnonymizationError
        If the graph is empty, or k or x is out of range.
    ProgramError, DataError
        If the rules depend on vertex names, or the data are at fault.

    Examples
    --------
    The middle of a chain of three is unique by what it owns and by who owns it:

    >>> found = risk('@edge("own").', {"own": [("a", "b"), ("b", "c")]}, k=2, x=2)
    >>> found["in- and out-degree"].unique, found["part of 2 vertices, ground edges"].unique
    (3, 0)
    """
    from kgreason.advice.report import measure

    check_numbers(k=(k, 2), max_subgraphs=(max_subgraphs, 1))
    clock, written = Clock(), load(rules, allow_files=allow_files)
    graph = read_graph(written, data, progress=progress)
    bare = replace(written, binds=(), mappings=(), facts=())  # these describe the graph, not its population
    among = None if population is None else read_graph(bare, population, progress=progress)
    sizes = None if x is None else attacked_sizes(x)
    clock.lap("read")
    # a measurement, so that it is the same each time
    rng = np.random.default_rng(0)
    return measure(graph, among, anonymizable(written), k, sizes, max_subgraphs, rng, clock, progress)
