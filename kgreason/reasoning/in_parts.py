"""Reasoning whose results do not fit into the memory: facts are derived and written part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgreason.base.errors import CallError, Diagnostic
from kgreason.base.memory import limited
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_streams import check_streams, fact_streams
from kgreason.data.targets import Target
from kgreason.engine.limits import MOST_PARTS, Limits, Parts
from kgreason.engine.parts.division import Division
from kgreason.engine.parts.stage_evaluation import evaluate_in_parts
from kgreason.engine.parts.stage_programs import division_of
from kgreason.engine.statistics import Stats
from kgreason.reasoning.api import Rules, check_data, checked_limits, load, output_names


@record(eq=False)
class WrittenParts:
    """Facts that were derived and written in parts.

    Attributes
    ----------
    counts
        Number of facts by output predicate.
    targets
        Predicate and target of each file.
    division
        By which argument each predicate was divided, in which stage.
    parts
        Number of parts of each stage.
    stats
        Statistics of the evaluation, summed over the parts.
    """

    counts: Mapping[str, int]
    targets: tuple[tuple[str, Target], ...]
    division: Division
    parts: Mapping[int, int]
    stats: Stats

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary; `format` is the version of its layout."""
        files = {predicate: target.file for predicate, target in self.targets}
        stages = [{"stage": stage, "parts": parts} for stage, parts in self.parts.items()]
        plan = str(self.division).splitlines()
        stats = self.stats.as_dict()
        return {
            "format": 1,
            "counts": dict(self.counts),
            "files": files,
            "plan": plan,
            "parts": stages,
            "stats": stats,
        }


def plan_parts(
    rules: Rules, outputs: str | Sequence[str] | None = None, *, allow_files: bool = False
) -> tuple[Division | None, tuple[Diagnostic, ...]]:
    """Division of a program into parts, and why its predicates, or some of them, are derived whole.

    Raises
    ------
    ProgramError
        If the rules are invalid.

    Examples
    --------
    >>> division, _ = plan_parts("reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z).")
    >>> print(division)
    stage 1: reach by argument 1
    """
    program = load(rules, allow_files=allow_files)
    goals = output_names(outputs)
    goals = tuple(program.outputs if goals is None else goals)
    stated = program.heads.intersection(fact.predicate for fact in program.facts)
    return division_of(program, goals, stated)


def reason_in_parts(
    rules: Rules,
    data: Mapping[str, Any] | None,
    folder: str | Path,
    *,
    parts: Parts = "auto",
    format: str = "parquet",
    outputs: str | Sequence[str] | None = None,
    allow_files: bool = False,
    limits: Limits | None = None,
    progress: Progress = SILENT,
) -> WrittenParts:
    """Derive the output predicates of a rule file and write them to a folder, part by part.

    The facts are those of `kgreason.reason`, in another order. The inputs must fit into the memory; of the derived
    facts, only those of one part are held at a time, those of predicates that are derived whole, and all strings and
    collections that the rules compute.

    Parameters
    ----------
    folder
        Receives ``<predicate>.<extension>`` for every output; a new folder appears when all files are complete.
    parts
        Number of parts; ``"auto"``: parts whose facts fit into a quarter of the free memory.
    format
        ``"parquet"``, ``"csv"`` or ``"tsv"``.
    rules, data, outputs, allow_files, limits
        As for `kgreason.reason`.

    Raises
    ------
    ProgramError
        If the rules are invalid, or none of the outputs can be divided.
    DataError, EvaluationError
        If the data are invalid, or the rules cannot be evaluated on the data.
    ReleaseError
        If a file cannot be written; the folder is then unchanged.

    Examples
    --------
    >>> import tempfile
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = reason_in_parts(closure, {"edge": [("a", "b"), ("b", "c")]}, Path(folder) / "derived")
    >>> dict(written.counts)
    {'reach': 3}
    """
    program = load(rules, allow_files=allow_files)
    check_data(data)
    check_parts(parts)
    goals, limits = output_names(outputs), checked_limits(limits)
    wanted = tuple(dict.fromkeys(program.outputs if goals is None else goals))
    check_streams(program, wanted, Path(folder), format, data or {})
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress, goals)
        arities = {p: table.arity for p, table in facts.tables.items()} | dict(program.arities)
        with fact_streams(program, wanted, arities, facts.symbols, Path(folder), format) as opened:
            evaluated = evaluate_in_parts(
                program,
                facts,
                parts,
                opened.streams.append,
                opened.folder,
                goals=wanted,
                limits=limits,
                progress=progress,
            )
            progress.step("Writing facts")
    counts = opened.streams.counts
    return WrittenParts(counts, opened.targets, evaluated.division, evaluated.parts, evaluated.stats)


def check_parts(parts: object) -> None:
    """Raise `CallError` unless `parts` is a number of parts or ``"auto"``."""
    if parts != "auto" and (type(parts) is not int or not 1 <= parts <= MOST_PARTS):
        what = f'parts is a number from 1 to {MOST_PARTS:,} or "auto", not {parts!r}'
        raise CallError(what, hint='say for instance parts="auto"')
