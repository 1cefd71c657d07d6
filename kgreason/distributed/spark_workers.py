"""What runs in the Python workers of Spark: divided work on some tasks, whose results leave as Arrow batches.

An error of kgreason, and a lack of memory or disk space, leave the worker as a row: as an exception, Spark would run
the task three more times and report a traceback of Python within one of Java.
"""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain
from math import ceil, gcd
from typing import Any

import pyarrow as pa

from kgreason.base.cores import cores, sharing
from kgreason.base.errors import EngineError, KgreasonError
from kgreason.base.memory import SPARE, available, held, limited
from kgreason.base.records import record
from kgreason.base.resources import VERSION
from kgreason.distributed.shipped_objects import Shipped, received

PIECE = 1 << 22  # bytes of a result in one row: messages of Spark Connect are limited
ERROR = "error"  # column of packed errors
RESULTS = pa.schema(
    [
        ("share", pa.int32()),  # number of the partition
        ("piece", pa.int32()),
        ("units", pa.int64()),  # of progress
        (ERROR, pa.bool_()),
        ("data", pa.binary()),
    ]
)
BLOCKS = pa.schema(
    [("name", pa.string()), ("bucket", pa.int32()), ("rows", pa.int64()), ("data", pa.binary())]
)
"""Facts: a compressed stream of Arrow a row, with its name, and the task of a later job that reads it."""
PROBE = pa.schema([("version", pa.string())])


@record
class Order:
    """Order of tasks: neighbours, which often are alike, go to different partitions."""

    tasks: int

    def number(self, row: int) -> int:
        """Task in a row.

        >>> [Order(10).number(i) for i in range(10)]
        [0, 7, 4, 1, 8, 5, 2, 9, 6, 3]
        """
        step = max(1, int(0.618 * self.tasks))
        while gcd(step, self.tasks) > 1:
            step += 1
        return row * step % self.tasks


def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the version of kgreason in this worker."""
    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"version": [VERSION]}, schema=PROBE)


def results(shipped: Shipped, order: Order, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the tasks of a partition; yield the pickled result, in pieces, or the error."""
    from pyspark import TaskContext

    numbers = _numbers(order, batches)
    first = next(numbers, None)
    if first is None:
        return
    units = 0

    def advance(more: int) -> None:
        nonlocal units
        units += more

    failed = False
    try:
        with own_share():
            result = _work(shipped)(chain([first], numbers), advance)
        data = pickle.dumps(result, protocol=5)
    except (KgreasonError, MemoryError, OSError) as error:
        data, failed = packed(error), True
    context = TaskContext.get()
    share = context.partitionId() if context else 0
    for piece, start in enumerate(range(0, len(data), PIECE)):
        row = (share, piece, 0 if piece else units, failed, data[start : start + PIECE])
        yield _batch(row, RESULTS)


def blocks(shipped: Shipped, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the tasks of a partition; yield blocks of facts, or an error as a block without name.

    Rows of `batches` have a task, and the name and data of a block that it reads, or nothing; rows of a task are
    adjacent.
    """
    return_memory()
    try:
        with own_share():
            for name, bucket, rows in _kept_work(shipped)(_given(batches)):
                yield _batch((name, bucket, rows.num_rows, _compressed(rows)), BLOCKS)
    except (KgreasonError, MemoryError, OSError) as error:
        yield _batch((None, 0, 0, packed(error)), BLOCKS)


def _given(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[tuple[str, pa.Table]]]]:
    """Tasks, each with the blocks that it reads."""
    task, held = -1, list[tuple[str, pa.Table]]()
    for batch in batches:
        numbers, names = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for number, name, data in zip(numbers, names, batch.column(2), strict=True):
            if number != task:
                if task >= 0:
                    yield task, held
                task, held = number, []
            if data.is_valid:
                held.append((name, opened(name, data).read_all()))
    if task >= 0:
        yield task, held


def unpacked_facts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the facts of blocks, given by name and data."""
    return_memory()
    for batch in batches:
        for name, data in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield from opened(name, data)


def opened(name: str | None, data: pa.BinaryScalar) -> pa.RecordBatchStreamReader:
    """Facts of a block; raise the error that is in one without name.

    Such a block is there if a worker has to derive lost facts again, and fails.
    """
    if name is None:
        raise unpacked(data.as_py())
    return pa.ipc.open_stream(data.as_buffer())


def _compressed(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def _batch(row: Sequence[object], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([value], kind) for value, kind in zip(row, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@lru_cache(maxsize=1)
def _kept_work(shipped: Shipped) -> Any:
    """The work of the last job, whose graphs and indexes serve all tasks of a worker."""
    return _work(shipped)


def _numbers(order: Order, batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    return (order.number(row) for batch in batches for row in batch.column(0).to_pylist())


def _work(shipped: Shipped) -> Any:
    from pyspark import SparkFiles

    return received(shipped, SparkFiles.get)


def return_memory() -> None:
    """Have Arrow return freed memory; otherwise it keeps 65 MB of a worker (10^8 facts with strings)."""
    pa.set_memory_pool(pa.system_memory_pool())


def own_share() -> ExitStack:
    """Limit cores and memory to what belongs to one task of Spark; to be used as a context."""
    from pyspark import TaskContext

    context = TaskContext.get()
    cpus = max(1, context.cpus()) if context else 1
    stack = ExitStack()
    stack.enter_context(limited(memory_share(max(1, _machine_cores() // cpus))))
    stack.enter_context(sharing(cpus))
    return stack


def memory_share(tasks: int) -> int | None:
    """Limit of this process where so many tasks run on the machine, in bytes; `None` if the system does not say."""
    here, free = held(), available()
    if here is None or free is None:
        return None
    share = here + int(SPARE * free / tasks)
    most = int(
        os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "0")
    )  # spark.executor.pyspark.memory, of one worker
    return min(share, most << 20) if most > 0 else share


def _machine_cores() -> int:
    """Cores of the machine, or of the container."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        return cores()
    return min(cores(), ceil(int(quota) / int(period))) if quota != "max" else cores()


def packed(error: Exception) -> bytes:
    """Error as data; one of the system is raised again unless the disk is full, as it may pass."""
    if isinstance(error, OSError):
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise error
        error = full_disk(str(error.filename or error.strerror))
    elif isinstance(error, MemoryError):
        error = EngineError(
            f"a worker of Spark has too little memory{f': {error}' if str(error) else ''}",
            hint="run fewer tasks at once on a machine (raise spark.task.cpus), or give Python more memory "
            "(spark.executor.memoryOverhead)",
        )
    return pickle.dumps((type(error), error.args, vars(error)), protocol=5)


def unpacked(data: bytes) -> Exception:
    """Inverse of `packed`."""
    kind, arguments, attributes = pickle.loads(data)
    error: Exception = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


def full_disk(what: str) -> EngineError:
    """Error for a disk without space."""
    return EngineError(
        f"a disk that Spark writes to is full: {what}",
        hint="free space there, or name folders with more of it: SPARK_LOCAL_DIRS for what Spark keeps for itself, "
        "and --out for the result",
    )
