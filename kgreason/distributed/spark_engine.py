"""Divided work on Spark: tasks as rows of a frame, work as a function that `mapInArrow` calls.

A frame of task numbers is mapped by the work, which is shipped once (`shipped_objects`). Only what all kinds of
sessions have is used (classic, Connect): neither a SparkContext nor broadcast variables. No configuration is changed.
"""

from __future__ import annotations

import errno
import pickle
import re
import weakref
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from kgreason.base.divided_work import Advance, Work
from kgreason.base.errors import EngineError
from kgreason.base.interrupts import stoppable
from kgreason.base.resources import VERSION
from kgreason.distributed import spark_workers as workers
from kgreason.distributed.shipped_objects import Shipped, Shipping
from kgreason.distributed.spark_session import first_line, quiet, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST = 1 << 27  # steps, of some ns: a job of Spark takes 0.3 s
SPREAD = 4  # partitions for each core, so that none waits long for the last one
FEWEST = 8  # partitions, as executors may still be starting when the cores are counted
_MARK = "kgreason-error:"  # before a packed error in the message of an exception of Spark
_RAISED = (
    f"case when {workers.ERROR} is null then true "
    f"else cast(raise_error(concat('{_MARK}', base64({workers.ERROR}), ':')) as boolean) end"
)
_PACKED = re.compile(f"{_MARK}([A-Za-z0-9+/=\\s]+):")
_PROBED = 1 << 12  # rows, by which Spark makes a partition for each core

_shippings: weakref.WeakKeyDictionary[SparkSession, Shipping] = weakref.WeakKeyDictionary()


class SparkEngine:
    """`Engine` that runs divided work on a Spark session.

    Parameters
    ----------
    spark
        The session; default: the active one, or a new one. It is neither configured nor stopped.
    least
        Number of elementary steps below which work stays on this machine.
    partitions
        Number of partitions of each job; default: four for each core of the session.

    Raises
    ------
    EngineError
        If PySpark or Java is missing, Spark does not start, or its workers cannot import this version of kgreason.
    """

    def __init__(
        self, spark: SparkSession | None = None, *, least: float | None = None, partitions: int | None = None
    ) -> None:
        self.spark = session() if spark is None else spark
        self._least, self._partitions = LEAST if least is None else least, partitions
        if self.spark not in _shippings:
            _shippings[self.spark] = Shipping(_sender(weakref.ref(self.spark)))
        self._shipping = _shippings[self.spark]

    def pays(self, steps: float) -> bool:
        """Whether work of so many elementary steps is sent to Spark."""
        return steps >= self._least

    @property
    def partitions(self) -> int:
        """Number of partitions of a job with many tasks."""
        if self._partitions is None:
            cores = self._probe()
            self._partitions = max(FEWEST, SPREAD * cores)
        return self._partitions

    def _probe(self) -> int:
        """Number of cores; checks the version of kgreason in the workers."""
        found = self._collected(lambda spark: _mapped(spark.range(_PROBED), workers.probe, workers.PROBE))
        others = {version for version in found["version"].to_pylist() if version != VERSION}
        if others:
            raise EngineError(
                f"workers of Spark have kgreason {', '.join(sorted(others))}, the driver has {VERSION}",
                hint="install the same version everywhere",
            )
        return int(found.num_rows)

    def run(self, work: Work[Any], tasks: int, advance: Advance) -> list[Any]:
        """Results of all partitions; `KgreasonError` as raised in a worker, `EngineError` if Spark gives up."""
        job = partial(workers.results, self._shipped(work), workers.Order(tasks))
        rows = self._collected(lambda spark: _mapped(self._tasks(spark, tasks), job, workers.RESULTS))
        pieces: dict[tuple[int, int], bytes] = {}
        for batch in rows.to_batches():  # together, the data may exceed the 2 GB of an array
            for share, piece, units, failed, data in zip(*batch.to_pydict().values(), strict=True):
                if failed:
                    raise workers.unpacked(data)
                pieces[share, piece] = data
                advance(units)
        found: dict[int, list[bytes]] = {}
        for share, piece in sorted(pieces):
            found.setdefault(share, []).append(pieces[share, piece])
        return [pickle.loads(b"".join(each)) for each in found.values()]

    @contextmanager
    def frames(
        self, work: Work[Any], tasks: int, schemas: Mapping[str, pa.Schema], *, keep: bool = True
    ) -> Iterator[dict[str, DataFrame]]:
        """Facts that divided work derives, as a frame for each predicate, to be used within the block.

        Parameters
        ----------
        work
            Returns pairs of a predicate and facts (`pyarrow.RecordBatch` or `Table`), best one at a time.
        schemas
            Columns of each predicate; names and types as in the facts.
        keep
            Derive all facts before the block begins, and keep them on the disks of the executors until it ends.
            Without, each use of a frame derives them again, for one predicate at half of the processor time; an error
            then arises in the block, after Spark has run the task as often as a task may fail.

        Raises
        ------
        EngineError, KgreasonError
            As `run`. Exceptions of Spark in the block, for instance when a frame is written, are converted.
        """
        from pyspark import StorageLevel

        schema = workers.facts_schema(schemas)
        job = partial(workers.facts, self._shipped(work), workers.Order(tasks), schema)
        with ExitStack() as stack, _reported(), quiet():
            made = _mapped(self._tasks(self.spark, tasks), job, schema)
            if keep:
                made = made.persist(StorageLevel.DISK_ONLY)
                stack.callback(_tidied, made.unpersist)
                failures = made.select(workers.ERROR).where(f"{workers.ERROR} is not null")
                for error in self._collected(lambda _: failures)[workers.ERROR].to_pylist():
                    raise workers.unpacked(error)
            else:
                made = made.where(_RAISED)
            yield {name: made.where(f"`{name}` is not null").select(f"`{name}`.*") for name in schemas}

    def _shipped(self, work: Work[Any]) -> Shipped:
        try:
            return self._shipping.ship(work)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            hint = "free space there, or name another folder in TMPDIR"
            raise EngineError(f"the temporary folder {gettempdir()} is full", hint=hint) from error

    def _tasks(self, spark: SparkSession, tasks: int) -> DataFrame:
        return spark.range(0, tasks, 1, min(tasks, self.partitions))

    def _collected(self, frame: Callable[[SparkSession], DataFrame]) -> pa.Table:
        """Rows of a frame; an interrupt cancels its jobs.

        Another thread asks Spark: in callbacks of py4j, which may run while a thread does so, interrupts are lost.
        """
        from pyspark import inheritable_thread_target

        tag = f"kgreason-{uuid4().hex}"

        def collect() -> pa.Table:
            self.spark.addTag(tag)
            try:
                return frame(self.spark).toArrow()
            finally:
                _tidied(self.spark.removeTag, tag)

        work: Callable[[], pa.Table] = inheritable_thread_target(self.spark)(collect)
        with _reported(), quiet():
            return stoppable(work, lambda: _tidied(self.spark.interruptTag, tag))


def _sender(spark: weakref.ref[SparkSession]) -> Callable[[Any], None]:
    def send(files: Any) -> None:
        found = spark()
        assert found is not None
        with _reported():
            found.addArtifacts(*map(str, files), file=True)

    return send


def _mapped(frame: DataFrame, job: Callable[..., Any], schema: pa.Schema) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.mapInArrow(job, from_arrow_schema(schema))


# what is wrong if the text of an exception of Spark contains a word, and what to do
_REASONS = (
    (
        "spark.driver.maxResultSize",
        "the results are larger than Spark lets a driver collect",
        "raise spark.driver.maxResultSize",
    ),
    (
        "No module named 'kgreason",
        "the workers of Spark cannot import kgreason",
        "install kgreason for the Python of the workers, and name that Python in PYSPARK_PYTHON",
    ),
    (
        "No module named '",
        "the Python of the workers of Spark lacks a package",
        "install kgreason with its dependencies for that Python, or name another one in PYSPARK_PYTHON",
    ),
    (
        'Cannot run program "',
        "Spark cannot start the Python of its workers",
        "name a Python that every machine has in PYSPARK_PYTHON",
    ),
    (
        "PYTHON_VERSION_MISMATCH",
        "the workers of Spark run another version of Python",
        "name a Python of the same version in PYSPARK_PYTHON",
    ),
    (
        "ExecutorLostFailure",
        "Spark lost the executors of a task too often",
        "if they are killed for lack of memory, raise spark.executor.memoryOverhead, or run fewer tasks at once on "
        "each machine (spark.executor.cores, spark.task.cpus)",
    ),
    (
        "Python worker exited unexpectedly",
        "Python workers of Spark died",
        "if they are killed for lack of memory, raise spark.executor.memoryOverhead, or run fewer tasks at once on "
        "each machine (spark.executor.cores, spark.task.cpus)",
    ),
)


def _errors() -> tuple[type[Exception], ...]:
    """Exceptions of Spark, or of the connection to it."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError


def _tidied(call: Callable[..., object], *arguments: object) -> None:
    """Tidy up in a session, unless it is gone."""
    with suppress(*_errors()):
        call(*arguments)


@contextmanager
def _reported() -> Iterator[None]:
    """Convert exceptions of Spark to `EngineError`, but for tracebacks of Python, which show defects."""
    from pyspark.errors import PythonException

    try:
        yield
    except _errors() as error:
        text = str(error)
        if (own := _PACKED.search(text)) is not None:
            raise workers.unpacked(b64decode(own[1])) from error
        if "No space left on device" in text or "Disk quota exceeded" in text:
            raise workers.full_disk(first_line(error)) from error
        for word, what, hint in _REASONS:
            if word in text:
                raise EngineError(what, hint=hint) from error
        if isinstance(error, PythonException):
            raise
        raise EngineError(f"Spark gave up: {first_line(error)}") from error
