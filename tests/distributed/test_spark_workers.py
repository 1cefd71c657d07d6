"""What runs in the workers of Spark, called here without Spark."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from kgreason.base import memory
from kgreason.base.cores import cores
from kgreason.base.errors import (
    AnonymizationError,
    DataError,
    Diagnostic,
    EngineError,
    EvaluationError,
    ProgramError,
    Span,
)
from kgreason.base.memory import Exhausted
from kgreason.distributed import spark_workers as workers
from kgreason.distributed.shipped_objects import Shipping
from tests.distributed import jobs
from tests.needs import needs_pyspark

pytestmark = pytest.mark.slow

NOTHING_SENT = Shipping(lambda files: pytest.fail("small work is no file"))


def rows(*numbers: int) -> Iterator[pa.RecordBatch]:
    if numbers:
        yield pa.RecordBatch.from_pydict({"id": list(numbers)})


def run(work, *numbers: int, tasks: int = 10) -> pa.Table:
    needs_pyspark()
    found = workers.results(NOTHING_SENT.ship(work), workers.Order(tasks), rows(*numbers))
    return pa.Table.from_batches(found, workers.RESULTS)


@pytest.mark.parametrize("tasks", [1, 2, 3, 10, 64, 97, 2048])
def test_every_task_has_a_row(tasks: int) -> None:
    order = workers.Order(tasks)
    assert sorted(order.number(row) for row in range(tasks)) == [*range(tasks)]


def test_neighbours_are_dealt_out() -> None:
    """The ranges of a hub are neighbours."""
    order = workers.Order(1000)
    shares = [
        {order.number(row) // 100 for row in range(start, start + 125)} for start in range(0, 1000, 125)
    ]
    assert all(len(share) == 10 for share in shares)


def test_a_result() -> None:
    found = run(jobs.numbers, 0, 1, 2).to_pylist()
    assert [row["units"] for row in found] == [3]
    assert pickle.loads(found[0]["data"]) == [workers.Order(10).number(i) for i in range(3)]


def test_a_long_result_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PIECE", 10)
    found = run(jobs.numbers, *range(10)).to_pylist()
    assert [row["piece"] for row in found] == [*range(len(found))]
    assert len(found) > 3
    assert sum(row["units"] for row in found) == 10
    assert sorted(pickle.loads(b"".join(row["data"] for row in found))) == [*range(10)]


def test_no_tasks_give_no_result() -> None:
    assert run(jobs.numbers).num_rows == 0


ERRORS = [
    AnonymizationError("too many", hint="take fewer"),
    DataError("own.csv", "no number", line=3, column="share", hint="write 0.5"),
    DataError(file="own.csv", message="no number"),
    EvaluationError("division by zero", rule="p(X) :- q(X).", span=Span("a.vada", 1, 2, 1, 3)),
    ProgramError((Diagnostic("E101", "X is not bound", Span("a.vada", 1, 2, 1, 3), hint="bind X"),), "p(X)."),
    EngineError("gave up"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_travel_as_data(error) -> None:
    found = workers.unpacked(workers.packed(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)


def test_an_error_is_a_row() -> None:
    (row,) = run(jobs.broken, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9).to_pylist()
    assert row["error"]
    with pytest.raises(DataError, match=r"own\.csv:4: a bad row\n  help: mend it"):
        raise workers.unpacked(row["data"])


def test_a_defect_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(jobs.defective, 0)


def test_a_lack_of_memory_is_a_row() -> None:
    found = workers.unpacked(workers.packed(Exhausted("1.0 GB are in use, the limit is 0.9 GB")))
    assert str(found) == (
        "a worker of Spark has too little memory: 1.0 GB are in use, the limit is 0.9 GB\n"
        "  help: run fewer tasks at once on a machine (raise spark.task.cpus), or give Python more memory "
        "(spark.executor.memoryOverhead)"
    )


def test_a_full_disk_is_a_row_and_other_errors_of_the_system_are_raised() -> None:
    found = workers.unpacked(workers.packed(OSError(errno.ENOSPC, "No space left on device", "/tmp/x")))
    assert str(found).startswith("a disk that Spark writes to is full: /tmp/x\n  help: free space there")
    with pytest.raises(TimeoutError):
        workers.packed(TimeoutError("of the network"))


def test_blocks_and_errors_are_rows() -> None:
    needs_pyspark()

    def derived(tasks: int) -> list[dict[str, Any]]:
        given = pa.record_batch(
            [pa.array(range(tasks), pa.int32()), pa.nulls(tasks, pa.string()), pa.nulls(tasks, pa.binary())],
            names=["bucket", "name", "data"],
        )
        found = workers.blocks(NOTHING_SENT.ship(jobs.derived), iter([given]))
        return pa.Table.from_batches(found, workers.BLOCKS).to_pylist()

    found = derived(3)
    assert [row["rows"] for row in found if row["name"] == "own"] == [2, 2, 2]
    batches = [
        pa.RecordBatch.from_pylist([{"name": "control", "data": row["data"]}])
        for row in found
        if row["name"] == "control"
    ]
    facts = pa.Table.from_batches(workers.unpacked_facts(iter(batches)))
    assert sorted(facts["x"].to_pylist()) == ["c0", "c1", "c2"]
    *_, last = derived(9)
    assert last["name"] is None
    assert isinstance(workers.unpacked(last["data"]), AnonymizationError)


def test_a_task_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_pyspark()
    monkeypatch.setattr(workers, "held", lambda: 100 << 20)
    monkeypatch.setattr(workers, "available", lambda: 8 << 30)
    monkeypatch.setattr(workers, "_machine_cores", lambda: 4)
    monkeypatch.delenv("PYSPARK_EXECUTOR_MEMORY_MB", raising=False)
    monkeypatch.setattr(memory, "held", lambda: 100 << 20)
    usual = cores()
    with workers.own_share():
        assert cores() == 1
        assert memory.left() == int(0.95 * (2 << 30))
        with pytest.raises(Exhausted):
            memory.claim(3 << 30)
    assert cores() == usual
    monkeypatch.setenv("PYSPARK_EXECUTOR_MEMORY_MB", "500")
    with workers.own_share():
        assert memory.left() == 400 << 20


def test_where_the_system_does_not_say_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "available", lambda: None)
    assert workers.memory_share(4) is None
