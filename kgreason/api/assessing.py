"""Functions that judge releases, and graphs before they are released: verify, score, risk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgreason.api.reasoning import Rules, load
from kgreason.arguments import anonymizable, attacked_sizes, check_numbers, check_relations, mapped
from kgreason.choices import MAX_EXAMINED, MAX_SUBGRAPHS
from kgreason.progress import SILENT, Progress
from kgreason.results import Clock, Score

if TYPE_CHECKING:
    from kgreason.advice.report import Risk
    from kgreason.assess.certificate import Certificate
    from kgreason.assess.verify import Verdict
    from kgreason.graph.model import KnowledgeGraph, Vertices


def verify(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Mapping[str, str] | Vertices,
    rules: Rules,
    *,
    k: int = 3,
    x: int | Iterable[int] = 4,
    parts: Vertices | None = None,
    certificate: Certificate | str | Path | None = None,
    max_subgraphs: int = MAX_SUBGRAPHS,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide whether a release is a (k,x)-isomorphism anonymization (Definition 4.1), exactly.

    Parameters
    ----------
    original, released
        Graphs, for instance from `kgreason.pairs.read_pair`. A row that stands twice is one edge, as in files.
    mapping
        Original vertex v is vertex ``mapping[v]`` of the release; int64, shape (n,). Or released labels by original
        ones, as `Anonymization.mapping` has them.
    k, x
        Parameters of the guarantee; x is one number of vertices or several.
    parts
        Part of each original vertex, int64, shape (n,), if the release gives up the edges between parts.
    certificate
        What shows the images of all subgraphs, so that none has to be searched for: the ``certificate.json`` of
        the private folder, or `Verdict.certificate`. What is wrong with it is told, and does not hold.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices.

    Raises
    ------
    AnonymizationError
        If there are more than `max_subgraphs`, or they have more than 8 vertices.
    ReleaseError
        If the certificate cannot be read.
    ProgramError, DataError
        If the rules depend on vertex names, or the graphs do not fit them.
    """
    from kgreason.assess import verify as checker
    from kgreason.certificates import read_certificate
    from kgreason.graph.parts import inside

    sizes = attacked_sizes(x)
    program = anonymizable(load(rules))
    for graph in (original, released):
        check_relations(graph, program)
    mapping = mapped(mapping, original, released)
    if isinstance(certificate, str | Path):
        certificate = read_certificate(Path(certificate), released, mapping)
    for size in sizes if certificate is None or certificate.copies is None else ():
        checker.count_attacked(original if parts is None else inside(original, parts), size, max_subgraphs)
    pair = original, released, mapping
    return checker.verify(*pair, program, k, sizes[-1], progress, parts, sizes[:-1], certificate)


def score(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Mapping[str, str] | Vertices,
    rules: Rules,
    *,
    progress: Progress = SILENT,
) -> Score:
    """Measure utility U and U△ of the ``@query`` predicates, fidelity, and how well synthetic vertices can be told.

    What these mean: docs/anonymization.md.

    Parameters
    ----------
    original, released, mapping
        As in `verify`.

    Raises
    ------
    DataError
        If the graphs do not fit the rules.
    """
    from kgreason.assess.fidelity import fidelity
    from kgreason.assess.telling import telling
    from kgreason.assess.utility import utility

    progress.step("Scoring")
    program = load(rules).without_graph()
    mapping = mapped(mapping, original, released)
    for graph in (original, released):
        check_relations(graph, program)
    original, released = original.distinct(), released.distinct()
    # a measurement, so that it is the same each time
    told = telling(released, np.asarray(mapping), np.random.default_rng(0))
    return Score(utility(original, released, mapping, program), fidelity(original, released), told)


def risk(
    rules: Rules,
    data: Mapping[str, Any] | KnowledgeGraph | None = None,
    *,
    population: Mapping[str, Any] | KnowledgeGraph | None = None,
    k: int = 3,
    x: int | Iterable[int] | None = None,
    max_subgraphs: int = MAX_EXAMINED,
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
    from kgreason.api.releasing import read_graph

    check_numbers(k=(k, 2), max_subgraphs=(max_subgraphs, 1))
    clock, written = Clock(), load(rules)
    graph = read_graph(written, data, progress=progress)
    bare = replace(written, binds=(), mappings=(), facts=())  # these describe the graph, not its population
    among = None if population is None else read_graph(bare, population, progress=progress)
    sizes = None if x is None else attacked_sizes(x)
    clock.lap("read")
    # a measurement, so that it is the same each time
    rng = np.random.default_rng(0)
    return measure(graph, among, anonymizable(written), k, sizes, max_subgraphs, rng, clock, progress)
