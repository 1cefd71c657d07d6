"""A stage of a divided program as work for Spark: tasks are ranges of hashes, results are blocks of facts.

Facts of the outputs leave a worker as values. Facts that a later stage reads leave it as codes, by the task of that
stage that reads them: they are those of the symbols that all workers have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgreason.base.errors import EngineError
from kgreason.base.records import record
from kgreason.data.fact_columns import facts_column
from kgreason.data.value_conversion import text
from kgreason.engine.parts.slices import HASHES, Hashes, Hashing, Slices
from kgreason.engine.parts.stage_evaluation import Ranges, StageEvaluation
from kgreason.engine.relations.fact_tables import CODED, NESTED, Kind, Table
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.engine.seminaive.evaluation import table

PART = 1 << 23  # bytes of facts that a worker derives at once
ROWS = 1 << 17  # facts of a block
_TYPES = {
    Kind.INT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOL: pa.bool_(),
    Kind.DATE: pa.timestamp("us"),
}
ONE_MACHINE = "derive these facts on one machine: --parts without --engine, or kgreason.reason_in_parts"
HOLDS = pa.schema([("holds", pa.bool_())])
"""Columns of a predicate without arguments."""


@record
class Exchanged:
    """Facts of a predicate that a later stage reads by the values at a position."""

    name: str
    predicate: str
    position: int
    hashing: Hashing
    distinct: bool


def schema(names: Sequence[str], kinds: Sequence[Kind]) -> pa.Schema:
    """Columns of facts; collections and values of several types are text."""
    if not kinds:
        return HOLDS
    return pa.schema([(n, _TYPES.get(k, pa.string())) for n, k in zip(names, kinds, strict=True)])


def columns(found: Table, symbols: Symbols) -> list[pa.Array]:
    """Arrow arrays of facts, with the types of `schema`."""
    if not found.kinds:
        return [pa.array([True] * found.length)]
    return [_column(kind, data, symbols) for kind, data in zip(found.kinds, found.columns, strict=True)]


def _column(kind: Kind, data: Codes, symbols: Symbols) -> pa.Array:
    if kind not in NESTED:
        return facts_column(kind, data, symbols)
    used, where = np.unique(data, return_inverse=True)
    return pa.array(list(map(text, symbols.values(used.tolist()))), pa.string()).take(pa.array(where))


def task_of(hashes: Hashes, tasks: int) -> npt.NDArray[np.intp]:
    """Task to whose range each hash belongs.

    >>> bounds = [task_range(i, 3) for i in range(3)]
    >>> task_of(np.array([low for low, _ in bounds] + [high - 1 for _, high in bounds], np.uint32), 3).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    bounds = np.array([task_range(i, tasks)[0] for i in range(tasks)])
    return np.searchsorted(bounds, hashes, side="right") - 1


def task_range(task: int, tasks: int) -> tuple[int, int]:
    """Range of hashes of a task."""
    return HASHES * task // tasks, HASHES * (task + 1) // tasks


@record(eq=False)
class StageWork:
    """Work that derives the facts of a stage.

    Attributes
    ----------
    evaluation, symbols
        Rules of the stage with the facts that all tasks read, and the symbols of these facts.
    tasks, later
        Number of tasks of this stage, and of the ranges by which later ones read its facts.
    outputs
        Columns of the predicates whose facts are results.
    sent, read
        Facts that later stages read, and those of earlier stages, by the slice that they are.
    doubles
        Positions whose numbers may be doubles.
    known
        Number of symbols that all workers have.
    """

    evaluation: StageEvaluation
    symbols: Symbols
    tasks: int
    later: int
    outputs: Mapping[str, pa.Schema]
    sent: tuple[Exchanged, ...]
    read: Mapping[str, Exchanged]
    doubles: frozenset[tuple[str, int]]
    known: int

    def __call__(
        self, tasks: Iterable[tuple[int, list[tuple[str, pa.Table]]]]
    ) -> Iterator[tuple[str, int, pa.RecordBatch]]:
        """Derive the facts of tasks, each with the blocks that it reads."""
        for task, blocks in tasks:
            self.give(blocks)
            for found in self.evaluation.all_parts(Ranges("auto", *task_range(task, self.tasks), most=PART)):
                while found:
                    yield from self._blocks(*found.popitem())

    def give(self, blocks: Sequence[tuple[str, pa.Table]]) -> None:
        """Have the evaluation read some blocks."""
        self.evaluation.give({name: self._slices(each, blocks) for name, each in self.read.items()})

    def _slices(self, each: Exchanged, blocks: Sequence[tuple[str, pa.Table]]) -> Slices:
        tables = [block for name, block in blocks if name == each.name]
        arity = len(self.evaluation.kinds[each.predicate])
        empty = [np.empty(0, dtype=np.int64)] * arity
        parts = [[column.to_numpy() for column in block.columns] for block in tables]
        joined = [np.concatenate(some) for some in zip(empty, *parts, strict=True)]
        return Slices(joined, each.position, each.hashing, distinct=each.distinct)

    def _blocks(self, predicate: str, relation: Relation) -> Iterator[tuple[str, int, pa.RecordBatch]]:
        if not relation.count:
            return
        relation.transpose()
        kinds = self.evaluation.kinds[predicate]
        for each in self.sent:
            if each.predicate == predicate:
                yield from self._by_task(each, kinds, relation)
        if predicate in self.outputs:
            found = table(predicate, relation, kinds, self.doubles, self.symbols)
            for start in range(0, found.length, ROWS):
                some = tuple(column[start : start + ROWS] for column in found.columns)
                piece = Table(found.kinds, some, len(some[0]) if some else found.length)
                arrays = columns(piece, self.symbols)
                yield predicate, 0, pa.RecordBatch.from_arrays(arrays, schema=self.outputs[predicate])

    def _by_task(
        self, each: Exchanged, kinds: Sequence[Kind], relation: Relation
    ) -> Iterator[tuple[str, int, pa.RecordBatch]]:
        if not kinds:
            yield each.name, 0, pa.record_batch([pa.array([True])], schema=HOLDS)
            return
        codes = [relation.column(i) for i in range(relation.arity)]
        for kind, column in zip(kinds, codes, strict=True):
            if kind in CODED and column.max() >= self.known:
                what = (
                    f"strings or collections that rules compute are in facts of {each.predicate}, which "
                    "another stage reads"
                )
                raise EngineError(what, hint=ONE_MACHINE)
        tasks = task_of(each.hashing(codes[each.position]), self.later)
        order = np.argsort(tasks, kind="stable")
        bounds = np.append(np.flatnonzero(np.diff(tasks[order], prepend=-1)), len(order))
        names = [f"c{i}" for i in range(len(codes))]
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[first:last]
            batch = pa.RecordBatch.from_arrays([pa.array(column[rows]) for column in codes], names=names)
            yield each.name, int(tasks[rows[0]]), batch
