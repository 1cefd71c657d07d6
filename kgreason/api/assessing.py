"""Functions that judge releases: verify, verify_alone, score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgreason.api.given import graph_of
from kgreason.api.reasoning import Rules, load
from kgreason.arguments import (
    anonymizable,
    attacked_sizes,
    check_model,
    check_numbers,
    check_relations,
    mapped,
)
from kgreason.choices import MAX_SUBGRAPHS, Model
from kgreason.errors import AnonymizationError, TooLargeError
from kgreason.progress import SILENT, Progress

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram
    from kgreason.api.given import ArrowTable, GraphLike
    from kgreason.assess.certificate import Certificate
    from kgreason.assess.population import Drawn
    from kgreason.assess.verify import Verdict
    from kgreason.graph.model import KnowledgeGraph, Vertices
    from kgreason.isomorphism.release import Score


def verify(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    k: int = 3,
    x: int | Iterable[int] = 4,
    parts: Vertices | None = None,
    certificate: Certificate | str | Path | None = None,
    max_subgraphs: int | None = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide whether a release is a (k,x)-isomorphism anonymization (Definition 4.1), exactly or by a sample.

    Parameters
    ----------
    original, released
        Graphs, for instance from `kgreason.read_pair`, or those of NetworkX or igraph; under rules with one edge
        predicate also tables of its edges. A row that stands twice is one edge, as in files.
    mapping
        Original vertex v is vertex ``mapping[v]`` of the release; int64, shape (n,). Or released labels by original
        ones, as `Anonymization.mapping` has them, or a table of
        two columns that says it.
    k, x
        Parameters of the guarantee; x is one number of vertices or several.
    parts
        Part of each original vertex, int64, shape (n,), if the release gives up the edges between parts.
    certificate
        What shows the images of all subgraphs, so that none has to be searched for: the ``certificate.json`` of
        the private folder, or `Verdict.certificate`. What is wrong with it is told, and does not hold.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices; with `sample`, of x - 1 vertices, which are counted.
        `None`: they are not counted.
    sample
        Decide only so many connected subgraphs, drawn uniformly at random from those of all x together, without
        replacement. δ is then an estimate with a 95 % confidence interval, and the verdict never `holds`, but may have
        `nothing_against` it. If there are no more than that, all are decided.
    seed
        Of the drawing; without it the operating system seeds the generator.
    model
        ``"k-iso"``: decide instead whether the release is k isomorphic blocks without edges between them, whatever the
        rules derive; δ is then that of the release's connected subgraphs, and decides nothing.
    allow_files
        As for `kgreason.load`.

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
    from kgreason.graph.parts import inside
    from kgreason.isomorphism.certificates import read_certificate
    from kgreason.isomorphism.reading import Pair

    sizes = attacked_sizes(x)
    program = anonymizable(load(rules, allow_files=allow_files))
    original, released = graph_of(original, program), graph_of(released, program)
    for graph in (original, released):
        check_relations(graph, program)
    check_model(model)
    mapping = mapped(mapping, original, released)
    if model == "k-iso":
        if certificate is not None:
            raise AnonymizationError(
                "a certificate shows images, not blocks", hint="leave the certificate out"
            )
        known = original, mapping
        return _k_iso(released, program, k, sizes, max_subgraphs, sample, seed, progress, *known)
    if isinstance(certificate, str | Path):
        certificate = read_certificate(Path(certificate), Pair(original, released, mapping))
    if certificate is not None and sample is not None:
        raise AnonymizationError(
            "a certificate shows all subgraphs", hint="leave sample out, or the certificate"
        )
    attacked = original if parts is None else inside(original, parts)
    counted = sizes if certificate is None or certificate.copies is None else ()
    drawn = _drawn(attacked, counted, max_subgraphs, sample, seed, progress)
    pair = original, released, mapping
    return checker.verify(*pair, program, k, sizes[-1], progress, parts, sizes[:-1], certificate, drawn)


def verify_alone(
    released: GraphLike,
    rules: Rules,
    *,
    k: int = 3,
    x: int | Iterable[int] = 4,
    max_subgraphs: int = MAX_SUBGRAPHS,
    sample: int | None = None,
    seed: int | None = None,
    model: Model = "kx-isomorphism",
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Verdict:
    """Decide of Definition 4.1 what a release shows without its original.

    Item 4 holds if it does for every graph that may be the original, fails if it does for none, and is undecided
    otherwise. What nothing can be said of is in `Verdict.needs_original`.

    Parameters
    ----------
    released
        Graph, for instance from `kgreason.isomorphism.reading.read_released`, or what `verify` takes for one.
    k, x, max_subgraphs, sample, seed, model, allow_files
        As in `verify`; the connected subgraphs are those of the release.

    Raises
    ------
    AnonymizationError, ProgramError, DataError
        As in `verify`.
    """
    from kgreason.assess import verify as checker

    sizes = attacked_sizes(x)
    program = anonymizable(load(rules, allow_files=allow_files))
    released = graph_of(released, program)
    check_relations(released, program)
    check_model(model)
    if model == "k-iso":
        return _k_iso(released, program, k, sizes, max_subgraphs, sample, seed, progress)
    drawn = _drawn(released, sizes, max_subgraphs, sample, seed, progress)
    return checker.verify_alone(released, program, k, sizes[-1], progress, sizes[:-1], drawn)


def _k_iso(
    released: KnowledgeGraph,
    program: CheckedProgram,
    k: int,
    sizes: tuple[int, ...],
    limit: int | None,
    sample: int | None,
    seed: int | None,
    progress: Progress,
    original: KnowledgeGraph | None = None,
    mapping: Vertices | None = None,
) -> Verdict:
    """Decide what k-Iso promises, and count δ; the verdict lacks it where there are too many subgraphs."""
    from kgreason.assess import k_iso
    from kgreason.assess.verify import delta

    check_numbers(k=(k, 1))
    verdict = replace(k_iso.verify(released, program, k, sizes[-1], original, mapping), also=sizes[:-1])
    try:
        drawn = _drawn(released, sizes, limit, sample, seed, progress)
    except TooLargeError as error:
        progress.note(f"δ is not told: {error.message}")
        return verdict
    found = [
        [delta(released, program, k, size, diverse, progress, drawn.get(size)) for size in sizes]
        for diverse in (True, False)
    ]
    diverse, alike = (sum(each[1:], each[0]) for each in found)
    return replace(verdict, delta=diverse, alike=alike)


def _drawn(
    graph: KnowledgeGraph,
    sizes: Sequence[int],
    limit: int | None,
    sample: int | None,
    seed: int | None,
    progress: Progress,
) -> Mapping[int, Drawn]:
    """Random connected subgraphs of each size; none if all are to be decided, `limit` at most."""
    from kgreason.assess.population import draw
    from kgreason.assess.verify import count_attacked

    check_numbers(sample=(sample, 1), seed=(seed, 0), max_subgraphs=(limit, 1))
    if seed is not None and sample is None:
        raise AnonymizationError("seed has no meaning without sample", hint="say for instance --sample 1000")
    if sample is not None:
        progress.step("Drawing connected subgraphs")
        most = MAX_SUBGRAPHS if limit is None else limit
        return draw(graph, sizes, sample, most, np.random.default_rng(seed))
    if limit is not None:
        for size in sizes:
            count_attacked(graph, size, limit)
    return {}


def score(
    original: GraphLike,
    released: GraphLike,
    mapping: Mapping[str, str] | Vertices | ArrowTable,
    rules: Rules,
    *,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Score:
    """Measure utility U and U△ of the ``@query`` predicates, fidelity, and how well synthetic vertices can be told.

    What these mean: docs/anonymization.md.

    Parameters
    ----------
    original, released, mapping, allow_files
        As in `verify`.

    Raises
    ------
    DataError
        If the graphs do not fit the rules.
    """
    from kgreason.assess.detection import telling
    from kgreason.assess.fidelity import fidelity
    from kgreason.assess.utility import utility
    from kgreason.isomorphism.release import Score

    progress.step("Scoring")
    program = load(rules, allow_files=allow_files).without_graph()
    original, released = graph_of(original, program), graph_of(released, program)
    mapping = mapped(mapping, original, released)
    for graph in (original, released):
        check_relations(graph, program)
    original, released = original.distinct(), released.distinct()
    # a measurement, so that it is the same each time
    told = telling(released, np.asarray(mapping), np.random.default_rng(0))
    return Score(utility(original, released, mapping, program), fidelity(original, released), told)
