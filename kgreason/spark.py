"""Reasoning on Apache Spark: rules over frames, whose results are frames.

Derived facts stay on the workers. The input, predicates that are derived whole, and strings of the input are on the
driver and are sent to all workers: they must fit into the memory of one machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgreason.base.errors import CallError, Diagnostic, ProgramError, ReleaseError
from kgreason.base.memory import limited
from kgreason.base.progress import SILENT, Progress
from kgreason.data.fact_loading import load_facts
from kgreason.data.targets import column_names
from kgreason.distributed.spark_engine import SparkEngine
from kgreason.distributed.spark_memory import check_workers
from kgreason.distributed.spark_session import check_session
from kgreason.distributed.spark_sources import frames_as_sources
from kgreason.distributed.spark_stages import SparkRun
from kgreason.distributed.stage_work import HOLDS, columns, schema
from kgreason.engine.limits import Limits
from kgreason.engine.parts.division import Division
from kgreason.engine.parts.stage_evaluation import planned
from kgreason.engine.parts.stage_programs import division_of
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.engine.relations.symbols import Symbols
from kgreason.engine.seminaive.evaluation import relevant
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import restricted
from kgreason.reasoning.api import Rules, check_data, checked_limits, load, output_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DerivedFrames:
    """Facts that rules derive on Spark, compressed on the disks of the executors until `close` or the session's end.

    Attributes
    ----------
    plan
        By which argument each predicate was divided, in which stage.
    estimates, counts
        Facts of each stage that are results or read by later stages: estimated from a sample before, and derived,
        with duplicates of scattered ones.
    """

    def __init__(
        self, engine: SparkEngine, run: SparkRun, schemas: Mapping[str, pa.Schema], symbols: Symbols
    ) -> None:
        self._engine, self._run, self._schemas, self._symbols = engine, run, schemas, symbols
        self._closed = False
        self.plan: Division = run.division
        self.estimates: Mapping[int, int] = run.estimates
        self.counts: Mapping[int, int] = run.counts

    @property
    def predicates(self) -> tuple[str, ...]:
        """Output predicates."""
        return tuple(self._schemas)

    def frame(self, predicate: str) -> DataFrame:
        """Frame of the facts of an output, without duplicates.

        Columns have the names of ``@mapping`` or of the variables of the first rule, as in files. Dates are
        ``timestamp_ntz``; collections and columns with values of several types are text. A predicate without arguments
        has the column ``holds``, with one row.

        Raises
        ------
        CallError
            If the predicate is no output.
        """
        wanted = self._schema(predicate)
        if wanted is HOLDS:
            return self._engine.frame(pa.table({"holds": [self._holds(predicate)]}, schema=HOLDS))
        there, found = self._run.found.get(predicate), self._run.local.get(predicate)
        if there is not None and there.counts[predicate]:
            frame = there.facts(predicate, wanted)
            return frame.distinct() if self.plan.places[predicate] == "scattered" else frame
        if found is None:
            return self._engine.frame(wanted.empty_table())
        return self._engine.frame(pa.Table.from_arrays(columns(found, self._symbols), schema=wanted))

    def _schema(self, predicate: str) -> pa.Schema:
        if predicate not in self._schemas:
            hint = f"one of {', '.join(self._schemas)}"
            raise CallError(f"{predicate!r} is no output of these rules", hint=hint)
        if self._closed:
            raise CallError(
                "these facts are closed", hint="use their frames before close(), or in the with block"
            )
        return self._schemas[predicate]

    def _holds(self, predicate: str) -> bool:
        there, found = self._run.found.get(predicate), self._run.local.get(predicate)
        return bool(there.counts[predicate] if there else found is not None and found.length)

    def count(self, predicate: str) -> int:
        """Number of facts of an output; those that several parts may derive are counted on Spark.

        Raises
        ------
        CallError
            If the predicate is no output.
        """
        if self._schema(predicate) is HOLDS:
            return int(self._holds(predicate))
        there, found = self._run.found.get(predicate), self._run.local.get(predicate)
        if there is None:
            return 0 if found is None else found.length
        if self.plan.places[predicate] == "scattered":
            return self._engine.asked(self.frame(predicate).count)
        return there.counts[predicate]

    def write(self, folder: str, format: str = "parquet") -> None:
        """Write each output to a folder of its own, ``folder/predicate``, which Spark completes with ``_SUCCESS``.

        If that fails, local folders are removed, and folders elsewhere that have ``_SUCCESS`` are complete outputs.

        Parameters
        ----------
        folder
            Folder on a disk that all machines have, or an address that Spark knows.
        format
            Format that Spark knows; facts of predicates without arguments have the column ``holds``.

        Raises
        ------
        ReleaseError
            If a local folder exists, or cannot be made.
        EngineError
            If Spark cannot write.
        """
        for predicate in self.predicates:
            check_new(folder, predicate)
        place = _path(folder)
        made = [] if place is None else [p for p in (place, *place.parents) if not p.exists()]
        try:
            for predicate in self.predicates:
                writer = self.frame(predicate).write.format(format).options(**WRITTEN.get(format, {}))
                self._engine.asked(partial(writer.save, f"{folder}/{predicate}"))
        except BaseException:
            if place is not None:
                for predicate in self.predicates:
                    rmtree(place / predicate, ignore_errors=True)
            with suppress(OSError):  # another program may have put something there
                for each in made:
                    each.rmdir()
            raise

    def as_dict(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """JSON-ready dictionary with the number of facts of each output; `format` is the version of its layout."""
        stages = [
            {"stage": stage, "facts": facts, "estimated": self.estimates.get(stage)}
            for stage, facts in self.counts.items()
        ]
        return {"format": 1, "counts": dict(counts), "plan": str(self.plan).splitlines(), "stages": stages}

    def close(self) -> None:
        """Remove the facts from the executors. Frames that are used later derive them again."""
        self._closed = True
        self._run.remove()

    def __enter__(self) -> DerivedFrames:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


WRITTEN: Mapping[str, Mapping[str, str]] = {"parquet": {}, "csv": {"header": "true"}, "json": {}}
"""Formats of `DerivedFrames.write` on the command line, and their options."""


def check_new(folder: str, predicate: str) -> None:
    """Raise `ReleaseError` if a local folder for facts exists, or cannot be made."""
    place = _path(folder)
    if place is None:
        return
    if (place / predicate).exists():
        raise there_already(folder, predicate)
    above = next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise ReleaseError(
            f"{folder} cannot be made: {above} is not a folder that you may write to",
            hint="choose another folder",
        )


def there_already(folder: str, predicate: str) -> ReleaseError:
    """Error for a folder that exists."""
    return ReleaseError(f"{folder}/{predicate} exists", hint="choose another folder, or remove it first")


def _path(folder: str) -> Path | None:
    """Path of a folder on this machine's disks."""
    path = re.sub(r"^file:(//)?(?=/)", "", folder)
    return None if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) else Path(path)


def reason(
    rules: Rules,
    data: Mapping[str, Any] | None = None,
    *,
    spark: SparkSession | None = None,
    outputs: str | Sequence[str] | None = None,
    allow_files: bool = False,
    limits: Limits | None = None,
    progress: Progress = SILENT,
) -> DerivedFrames:
    """Derive the output predicates of a rule file on Spark, in independent parts.

    The facts are those of `kgreason.reason`.

    Parameters
    ----------
    data
        As for `kgreason.reason`; tables may be frames of Spark, which are collected on the driver if outputs depend
        on them.
    spark
        The session; default: the active one, or a new one. It is neither configured nor stopped.
    rules, outputs, allow_files, limits
        As for `kgreason.reason`.

    Raises
    ------
    ProgramError
        If the rules are invalid, or none of the outputs can be divided.
    DataError, EvaluationError
        If the data are invalid, or the rules cannot be evaluated on the data.
    CallError
        If `spark` is no session, or it or that of a frame has stopped.
    EngineError
        If Spark is missing or gives up, or rules compute strings or collections that a later stage reads.

    Examples
    --------
    >>> found = reason("control.vada", {"own": frame})  # doctest: +SKIP
    >>> found.frame("control").writeTo("lake.control").createOrReplace()  # doctest: +SKIP
    """
    program = load(rules, allow_files=allow_files)
    check_data(data)
    given, goals, limits = data or {}, output_names(outputs), checked_limits(limits)
    goals = program.outputs if goals is None else goals
    check_session(spark)
    check_division(program, given, goals)
    engine = SparkEngine(spark)
    with limited(limits.memory):
        facts = load_facts(program, frames_as_sources(engine, given), progress, goals)
        plan = planned(program, facts, goals)
        check_workers(sum(8 * t.length * t.arity for t in plan.facts.tables.values()), engine.setting)
        kinds = plan.kinds.tables()
        schemas = {p: schema(column_names(program, p, len(kinds[p])), kinds[p]) for p in plan.goals}
        run = SparkRun(plan, schemas, engine, limits, progress)
        try:
            for stage in run.stages:
                run.evaluate(stage, "auto")
            run.finish()
        except BaseException:
            run.remove()
            raise
    return DerivedFrames(engine, run, schemas, facts.symbols)


def check_division(
    program: CheckedProgram, data: Mapping[str, Any], goals: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """Check that goals are known and can be divided, before anything is read; returns what must fit into the memory.

    Raises
    ------
    ProgramError, EvaluationError
        As `reason`.
    """
    given = {
        *data,
        *(bind.predicate for bind in program.binds),
        *(q.predicate for q in program.queries_bound),
    }
    given.update(fact.predicate for fact in program.facts)
    relevant(restricted(program, goals), Facts({p: Table((), (), 0) for p in given}, Symbols()))
    division, found = division_of(program, goals, given & program.heads)
    if division is None:
        raise ProgramError(found, program.sources or program.text)
    return found
