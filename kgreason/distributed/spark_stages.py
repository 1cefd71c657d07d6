"""Evaluation of a divided program on Spark: each stage in parts is a job, everything else happens on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

from kgreason.base.errors import EngineError, MemoryLimitError
from kgreason.base.progress import Progress
from kgreason.distributed.spark_engine import Blocks, SparkEngine
from kgreason.distributed.spark_memory import NUMBER, TEXT
from kgreason.distributed.stage_work import ONE_MACHINE, PART, Exchanged, StageWork
from kgreason.engine.limits import Limits, Parts
from kgreason.engine.parts.slices import HASHES, FactFiles, Hashing
from kgreason.engine.parts.stage_evaluation import DividedRun, Planned, StageEvaluation, Wanted
from kgreason.engine.relations.fact_tables import CODED, Kind, Table
from kgreason.engine.relations.rows import Rows
from kgreason.engine.statistics import visible

MOST = 1 << 14  # tasks of a stage
TASK = (
    1 << 26
)  # bytes of the facts of a task: Spark takes 40 ms for a task, and Java may hold a task in its heap
LATER = 1 << 10  # most ranges by which facts are exchanged, as each task yields a block for each range
_SAMPLE = 1 << 10  # the first sample is one in so many hashes
_GROWTH = 8
_ENOUGH = 200_000  # facts of a sample
_SECONDS = 0.2  # of a sample


def _width(kinds: Sequence[Kind]) -> int:
    """Approximate bytes of a fact as values."""
    return sum(TEXT if kind in CODED else NUMBER for kind in kinds)


class BlockFiles(FactFiles):
    """Facts of one predicate that workers keep, by the task that reads them."""

    def __init__(self, exchanged: Exchanged, arity: int) -> None:
        self.exchanged, self.arity = exchanged, arity
        self.blocks: Blocks | None = None

    def rows(self, low: int = 0, high: int = HASHES) -> Rows:  # noqa: ARG002
        """All rows, in this process."""
        found = None if self.blocks is None else self.blocks.table(self.exchanged.name)
        if found is None or not self.arity:
            return np.empty((int(found is not None), self.arity), dtype=np.int64)
        return np.column_stack([column.to_numpy() for column in found.columns])


class SparkRun(DividedRun):
    """Evaluation of a divided program whose parts are tasks of Spark.

    Attributes
    ----------
    found
        Facts that workers keep, by output.
    local
        Facts on the driver, by output: those that are given or derived whole.
    estimates, counts
        Numbers of facts of the outputs and of what later stages read, by stage: estimated before, and derived.
    """

    def __init__(
        self,
        plan: Planned,
        schemas: Mapping[str, pa.Schema],
        engine: SparkEngine,
        limits: Limits,
        progress: Progress,
    ) -> None:
        self._engine, self._schemas = engine, schemas
        self.found: dict[str, Blocks] = {}
        self.local: dict[str, Table] = {}
        self.estimates: dict[int, int] = {}
        self.counts: dict[int, int] = {}
        self._made: list[Blocks] = []
        self._exchanged: dict[Wanted, BlockFiles] = {}
        progress.step("Starting workers of Spark")
        super().__init__(plan, Path(), self.local.__setitem__, limits, progress)
        self._later = engine.partitions

    def _late(self, predicate: str) -> bool:  # noqa: ARG002
        return False

    def _file(self, wanted: Wanted) -> FactFiles:
        predicate, position, hashed = wanted
        kinds = self._tables[predicate]
        kind = kinds[position] if kinds else Kind.INT
        if hashed is Kind.ANY and kind not in CODED:
            what = f"facts of {predicate} are joined with values of several types, which workers number differently"
            raise EngineError(what, hint=ONE_MACHINE)
        hashing = Hashing(kind, hashed, self._symbols)
        distinct = self.division.places[predicate] != "scattered"
        name = f"{predicate}/{position}/{hashed.name}"
        made = BlockFiles(Exchanged(name, predicate, position, hashing, distinct), len(kinds))
        self._exchanged[wanted] = made
        return made

    def _in_parts(self, run: StageEvaluation, parts: Parts) -> None:  # noqa: ARG002
        stage = run.stage
        read = {
            name: self._exchanged[Wanted(*stage.slices[name], hashed)]
            for name, hashed in self._hashed(stage).items()
            if self.division.divides(stage.slices[name][0])
        }
        sent = [file for wanted, file in self._exchanged.items() if wanted.predicate in stage.predicates]
        outputs = [goal for goal in self._goals if goal in stage.predicates]
        blocks = {file.exchanged.predicate: file.exchanged.name for file in sent} | {p: p for p in outputs}
        there = {file.exchanged.name: file.blocks for file in read.values() if file.blocks is not None}
        work = StageWork(
            run,
            self._symbols,
            self._later,
            self._later,
            {goal: self._schemas[goal] for goal in outputs},
            tuple(file.exchanged for file in sent),
            {name: file.exchanged for name, file in read.items()},
            self._kinds.double_positions,
            len(self._symbols),
        )
        if read:
            work.give([(n, t) for n, each in there.items() if (t := each.table(n, 0)) is not None])
        tasks, repeat = self._later, 1
        if (estimate := self._estimate(run, list(blocks), self._later if read else 1)) is not None:
            facts, size = estimate
            self.estimates[stage.number] = facts
            self._progress.note(f"stage {stage.number}: about {facts:,} facts, by a sample")
            repeat = max(1, min(MOST, ceil(size / TASK)) // tasks)
            if not self._made:
                self._later = max(self._later, min(LATER, ceil(size / PART)))
        run.give(read)
        tasks *= repeat
        work = replace(work, tasks=tasks, later=self._later)
        names = ", ".join(visible(sorted(stage.predicates)))
        self._progress.step(f"Deriving {names} on Spark", tasks, "tasks")
        made = self._engine.blocks(
            work, tasks, list(there.items()), repeat=repeat, advance=self._progress.advance
        )
        self._made.append(made)
        for file in sent:
            file.blocks = made
        self.found.update(dict.fromkeys(outputs, made))
        self.parts[stage.number] = tasks
        self.counts[stage.number] = sum(made.counts[name] for name in blocks.values())
        guess = self.estimates.get(stage.number)
        estimated = "" if guess is None else f", estimated {guess:,}"
        self._progress.note(f"stage {stage.number}: {self.counts[stage.number]:,} facts{estimated}")

    def _estimate(self, run: StageEvaluation, names: Sequence[str], tasks: int) -> tuple[int, float] | None:
        """Number of facts, and bytes of all that is derived, from a sample of the first task, on the driver."""
        high = HASHES // tasks
        width, start = max(1, high // _SAMPLE), perf_counter()
        while True:
            try:
                found = run.part(0, width)
            except (MemoryError, MemoryLimitError):
                return None
            facts = sum(found[name].count for name in names)
            share = run.share(width, high) / tasks
            if (share and facts >= _ENOUGH) or width == high or perf_counter() - start > _SECONDS:
                size = sum(r.count * _width(run.kinds[p]) for p, r in found.items())
                share = share or width / HASHES
                return round(facts / share), size / share
            width = min(high, width * _GROWTH)

    def finish(self) -> None:
        """Pass on the goals whose facts are given."""
        for goal in self._goals:
            if goal not in self.division.places:
                self._pass_on(goal, self._relations[goal])

    def remove(self) -> None:
        """Remove the facts that workers keep."""
        for made in self._made:
            made.remove()
