"""Functions that make releases, and the graphs that users hand over: anonymize, read_graph, graph_of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kgreason.base.argument_checks import check_numbers
from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT, Progress
from kgreason.isomorphism.arguments import anonymizable, attacked_sizes
from kgreason.isomorphism.graph_input import graph_from, is_graph_like
from kgreason.isomorphism.settings import MAX_SUBGRAPHS, Method, Mode
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.reasoning.api import Rules, load
from kgreason.release.publication import check_folders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.definition import Anonymizer
    from kgreason.isomorphism.graph_input import GraphData
    from kgreason.isomorphism.result import Anonymization
    from kgreason.release.publication import Folders

SMALLER_LEFT = (
    "-x {x} asks for parts of {x} vertices, which does not cover smaller ones: the rules are not proven to commute "
    "(`kgreason check` tells why). -x 2..{x} asks for them, too"
)


def anonymize(
    rules: Rules,
    data: GraphData | None = None,
    *,
    method: Method = "kguard",
    mode: Mode = "exact",
    k: int = 3,
    x: int | Iterable[int] = 4,
    trials: int = 10,
    max_subgraphs: int | None = None,
    split: int | None = None,
    keep_cuts: bool = False,
    seed: int | None = None,
    folders: Folders | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Anonymization:
    """Make an anonymous version of a graph, prove it, and score it.

    Parameters
    ----------
    data
        As for `read_graph`.
    method
        ``"klone"`` protects every x at once at the price of k copies, ``"kguard"`` one x, or some, with far fewer
        additions. ``"k-iso"`` is the baseline: k isomorphic blocks, which protect neither derived edges nor degrees.
    mode
        Of ``"kguard"``: ``"exact"`` protects every subgraph; ``"published"`` follows the paper, with a lighter reading
        of line 11 of its Algorithm 3 (docs/anonymization.md), and may leave some without
        images, which the verdict tells.
    k
        Number of indistinguishable places, at least 2.
    x
        Vertices of the subgraphs an attacker knows, one number or several, as ``range(2, 5)``: all of them are
        protected, and verified. ``"klone"`` protects every number, whatever x is, ``"k-iso"`` none: δ is told of them.
    trials
        Draws of random weights of which the most useful is kept.
    max_subgraphs
        Refuse graphs with more connected subgraphs of x vertices; by default 10^9, or 10^7 for ``"published"``, which
        stores them.
    split
        Anonymize parts of about so many vertices on their own, in parallel processes. The edges between them are
        lost, which the verdict says; for graphs that are too large or too dense otherwise.
    keep_cuts
        With `split`: keep these edges, and protect what crosses them by copies of their surroundings.
    seed
        For experiments only: a release that can be computed again must not be published. Without it the
        operating system seeds the generator.
    folders
        Where to write the release and its secret; what is then verified and scored is what was written, read back.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules or the data are at fault.
    AnonymizationError
        If the graph or the parameters admit no anonymization, or the folders exist.
    """
    from kgreason.isomorphism.anonymization import Isomorphism
    from kgreason.isomorphism.anonymizers.methods import choose, divide
    from kgreason.isomorphism.folder import check_publishable
    from kgreason.isomorphism.release_tables import planned
    from kgreason.release import pipeline
    from kgreason.release.report.sections import Run, rule_files

    if folders is not None:
        check_folders(folders, progress)
    sizes = attacked_sizes(x)
    check_numbers(k=(k, 2), trials=(trials, 1), max_subgraphs=(max_subgraphs, 1))
    check_numbers(split=(split, 1), seed=(seed, 0))
    if keep_cuts and split is None:
        hint = "say for instance --split 1000"
        raise AnonymizationError("keep_cuts has no meaning without split", hint=hint)
    clock, rng = pipeline.Clock(), np.random.default_rng(seed)
    algorithm: Anonymizer = choose(method, mode, k, sizes, trials, max_subgraphs)
    written = load(rules, allow_files=allow_files)
    program = anonymizable(written)
    graph = graph_from(written, data, progress)
    check_publishable(program, graph.labels.tolist())
    chosen = mode if method == "kguard" else None
    parameters = {"rules": rule_files(written), "method": method, "mode": chosen, "trials": trials}
    parameters |= {"max_subgraphs": max_subgraphs, "split": split, "keep_cuts": keep_cuts}
    run = Run(parameters, seed, program, np.random.default_rng(seed))
    layout = None if folders is None else planned(written, _read(data), folders.format, progress)
    _check_large_enough(graph, k, () if method == "k-iso" else sizes)
    attacked = graph
    if split is not None:
        algorithm, attacked = divide(algorithm, graph, split, k, sizes[-1], progress, keep_cuts=keep_cuts)
    most = max_subgraphs or MAX_SUBGRAPHS
    counted = method == "kguard" or (method == "klone" and keep_cuts)
    if counted:
        _tell_work(attacked, program, sizes, most, progress, exact=chosen == "exact")
    clock.lap("read")
    family = Isomorphism(
        *(algorithm, graph, program, sizes, None if counted else most, layout),
        rng=rng,
        run=run,
        clock=clock,
        progress=progress,
    )
    return pipeline.run(family, folders)


def _check_large_enough(graph: KnowledgeGraph, k: int, sizes: Sequence[int]) -> None:
    from kgreason.isomorphism.verification.checker import check_parameters

    check_parameters(graph, 1, 1)
    for size in sizes:
        check_parameters(graph, k, size)


def _tell_work(
    attacked: KnowledgeGraph,
    program: CheckedProgram,
    sizes: Sequence[int],
    most: int,
    progress: Progress,
    *,
    exact: bool,
) -> None:
    """Say how many parts are to be protected, and which are not; refuse too many."""
    from kgreason.isomorphism.verification.checker import count_attacked
    from kgreason.language.check.genericity import hidden_vertices

    for size in sizes:
        count = count_attacked(attacked, size, most)
        progress.note(f"{count:,} connected subgraphs of {size} vertices to protect")
    one = len(sizes) == 1 and sizes[0] > 2
    if exact and one and hidden_vertices(program):
        progress.note(SMALLER_LEFT.format(x=sizes[0]))


def _read(data: GraphData | None) -> Mapping[str, Any] | None:
    """What a graph is read from; nothing, where it is handed over."""
    return None if is_graph_like(data) else cast("Mapping[str, Any]", data or {})
