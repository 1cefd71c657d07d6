"""The function `anonymize` for graphs under rules, and `verify_series` for releases that follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.setting_fields import check_ranges, configured, reported, setting
from kgreason.isomorphism.arguments import (
    anonymizable,
    attacked_sizes,
    further_guarantees,
    graph_from,
    is_graph_like,
)
from kgreason.isomorphism.settings import MAX_SUBGRAPHS, Settings
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.reasoning.api import Rules, load
from kgreason.release.publication import Folders, check_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.isomorphism.anonymization import Series
    from kgreason.isomorphism.arguments import GraphData
    from kgreason.isomorphism.definition import Anonymizer
    from kgreason.isomorphism.result import Anonymization
    from kgreason.isomorphism.settings import Further
    from kgreason.isomorphism.verification.verdict import Joined
    from kgreason.release.verdicts import Item

MOST = 1_000  # earlier releases of a series whose folders are not overwritten
SMALLER_LEFT = (
    "-x {x} covers subgraphs of {x} vertices, not smaller ones: the rules are not proven to commute "
    "(`kgreason check` says why). -x 2..{x} covers them, too"
)


@dataclass(frozen=True)
class Call(Settings):
    """What `anonymize` takes besides the rules."""

    data: GraphData | None = None
    """As for `read_graph`."""
    _: KW_ONLY
    allow_files: bool = setting(False, option="", reported=False)
    """As for `kgreason.load`."""
    progress: Progress = setting(SILENT, option="", reported=False)
    """Receives the steps."""


@configured(Call)
def anonymize(rules: Rules, call: Call) -> Anonymization:
    """Anonymize a graph, verify the release, and measure its utility.

    Parameters
    ----------
    rules
        A rule file, its text, or what `kgreason.load` returns.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules or the data are invalid.
    AnonymizationError
        If no anonymization exists for the graph and the parameters, or the folders exist.
    """
    from kgreason.isomorphism.algorithm_inputs import AlgorithmInputs
    from kgreason.isomorphism.anonymization import Isomorphism, choose, divide, guaranteed
    from kgreason.isomorphism.folder import check_publishable
    from kgreason.isomorphism.release_tables import planned
    from kgreason.release import pipeline
    from kgreason.release.report.sections import Run, rule_files

    split, seed, folders, progress = call.split, call.seed, call.folders, call.progress
    if folders is not None:
        check_folders(folders, progress)
    sizes, further = attacked_sizes(call.x), further_guarantees(call.also)
    check_ranges(call)
    if call.keep_cuts and split is None:
        hint = "say for instance --split 1000"
        raise AnonymizationError("keep_cuts has no meaning without split", hint=hint)
    clock, rng = pipeline.Clock(), np.random.default_rng(seed)
    inputs = AlgorithmInputs.of(call)
    choose(call, sizes, further, inputs=inputs)  # complains before anything is read
    written = load(rules, allow_files=call.allow_files)
    program = anonymizable(written)
    graph = graph_from(written, call.data, progress)
    check_publishable(program, graph.labels.tolist())
    exact = call.method == "kguard" and call.mode == "exact"
    parameters = {
        "rules": rule_files(written),
        **reported(call),
        **inputs.shown(call),
        "also": list(further) or None,
    }
    if call.method != "kguard":
        parameters["mode"] = None
    run = Run(parameters, seed, program, np.random.default_rng(seed))
    layout = None if folders is None else planned(written, _sources(call.data), folders.format, progress)
    series = _series(call, program, further)
    continued = (None, ()) if series is None else (series.earlier, series.window)
    inputs.check(graph, numbered=layout is not None and layout.numbered)
    algorithm: Anonymizer = choose(call, sizes, further, *continued, inputs)
    _check_large_enough(graph, call.k, () if call.method == "k-iso" else sizes)
    attacked = graph
    if split is not None:
        parted = graph, split, call.k, sizes[-1], progress
        algorithm, attacked = divide(algorithm, *parted, keep_cuts=call.keep_cuts, weights=inputs.weights)
    algorithm = guaranteed(algorithm, call.k, further, inputs.weights)
    most = call.max_subgraphs or MAX_SUBGRAPHS
    counted = call.method == "kguard" or (call.method == "klone" and call.keep_cuts)
    if counted:
        _tell_work(attacked, program, sizes, most, progress, exact=exact)
    clock.lap("read")
    family = Isomorphism(
        *(algorithm, graph, program, sizes, None if counted else most, layout, series, inputs),
        rng=rng,
        run=run,
        clock=clock,
        progress=progress,
    )
    return pipeline.run(family, folders)


def verify_series(
    released: KnowledgeGraph,
    private: Path | str,
    after: Path | str,
    rules: Rules,
    *,
    k: int = Settings.k,
    x: int | Iterable[int] = Settings.x,
    window: int = Settings.window,
    seed: int | None = None,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> tuple[Item, Joined]:
    """Decide which subgraphs keep k occurrences for an attacker who joins a release with earlier ones of its series.

    Parameters
    ----------
    released
        The release, as read.
    private, after
        Private folders of the release, and of the one before. Earlier ones are found by their private reports.
    window
        Number of consecutive releases that are joined.
    seed
        Seed of the sample, where there are more than 2,000,000 subgraphs.

    Returns
    -------
    tuple
        The condition ``series``, and its figures.

    Raises
    ------
    ReleaseError, DataError
        If a folder does not belong to a series, or a file cannot be read.
    """
    from kgreason.isomorphism.series import dated, read_release_in_series, read_window
    from kgreason.isomorphism.verification.joined_releases import joined_occurrences
    from kgreason.release.earlier_releases import before

    private, after = Path(private), Path(after)
    private = private if private.is_dir() else private.parent
    program = anonymizable(load(rules, allow_files=allow_files))
    progress.step("Reading earlier releases")
    if (named := before(private)) is None or named.resolve() != after.resolve():
        what = "begins a series" if named is None else f"comes after {named}"
        hint = (
            "name its private folder, and that of the release before"
            if named is None
            else f"say --after {named}"
        )
        raise ReleaseError(f"{private}: this release {what}, not after {after}", hint=hint)
    releases = [*read_window(program, after, window - 1), read_release_in_series(released, private)]
    rng = np.random.default_rng(seed)
    return joined_occurrences(dated(releases), program, k, attacked_sizes(x), rng, progress)


def _series(call: Call, program: CheckedProgram, further: Sequence[Further]) -> Series | None:
    """Place in a series; `None` if no release can follow."""
    from kgreason.isomorphism.anonymization import Series
    from kgreason.isomorphism.series import check_continues, read_window

    alone = call.method == "k-iso" or call.mode != "exact"
    if call.after is None:
        return None if alone or call.split is not None or further else Series()
    after = Path(call.after)
    for given, what in (
        (alone, "only KGUARD in its exact mode and KLONE make series"),
        (call.split is not None, "a series is of whole graphs"),
        (bool(further), "further guarantees hold for single releases"),
    ):
        if given:
            hint = "leave --after out, or the method, --mode, --split and --also"
            raise AnonymizationError(f"no release can follow another one: {what}", hint=hint)
    if call.folders is not None:
        _check_apart(call.folders, after)
    call.progress.step("Reading earlier releases")
    window = read_window(program, after, max(call.window - 1, 1))
    check_continues(window[-1], call.k, klone=call.method == "klone")
    return Series(after, window[-1], window if call.window > 1 else ())


def _check_apart(folders: Folders, after: Path) -> None:
    """Refuse folders that hold an earlier release of the series, or its private files."""
    from kgreason.release.earlier_releases import earlier_folders

    new = {folders.release.resolve(), folders.private.resolve()}
    series = [after]
    with suppress(DataError):  # what cannot be read is refused later, if the window needs it
        for earlier in earlier_folders(after, MOST):
            series += earlier
    for folder in series:
        if folder.resolve() in new:
            raise ReleaseError(
                f"{folder} belongs to an earlier release of the series, which must stay",
                hint="each release of a series keeps folders of its own: choose others with --release and --private",
            )


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
    """Report how many x-subgraphs are protected and which are not; refuse too many."""
    from kgreason.isomorphism.verification.checker import count_attacked
    from kgreason.language.check.genericity import hidden_vertices

    for size in sizes:
        count = count_attacked(attacked, size, most)
        progress.note(f"{count:,} connected subgraphs of {size} vertices to protect")
    one = len(sizes) == 1 and sizes[0] > 2
    if exact and one and hidden_vertices(program):
        progress.note(SMALLER_LEFT.format(x=sizes[0]))


def _sources(data: GraphData | None) -> Mapping[str, Any] | None:
    """Sources of the graph; empty if the graph itself was passed."""
    return None if is_graph_like(data) else cast("Mapping[str, Any]", data or {})
