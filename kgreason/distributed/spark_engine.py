"""Divided work on Spark: tasks as rows of a frame, work as a function that `mapInArrow` calls.

A frame of task numbers is mapped by the work, which is shipped once (`shipped_objects`). Only what all kinds of
sessions have is used (classic, Connect): neither a SparkContext nor broadcast variables. No configuration is changed.
"""

from __future__ import annotations

import errno
import pickle
import re
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import uuid4

import pyarrow as pa

from kgreason.base.divided_work import Advance, Work
from kgreason.base.errors import EngineError
from kgreason.base.interrupts import stoppable
from kgreason.base.resources import VERSION
from kgreason.distributed import spark_workers as workers
from kgreason.distributed.shipped_objects import Shipped, Shipping
from kgreason.distributed.spark_progress import watched
from kgreason.distributed.spark_session import first_line, quiet, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST = 1 << 27  # steps, of some ns: a job of Spark takes 0.3 s
SPREAD = 4  # partitions for each core, so that none waits long for the last one
FEWEST = 8  # partitions, as executors may still be starting when the cores are counted
_PROBED = 1 << 12  # rows, by which Spark makes a partition for each core

T = TypeVar("T")

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
        found = self.asked(lambda: _mapped(self.spark.range(_PROBED), workers.probe, workers.PROBE).toArrow())
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
        share = min(tasks, self.partitions)
        rows = self.asked(
            lambda: _mapped(self.spark.range(0, tasks, 1, share), job, workers.RESULTS).toArrow()
        )
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

    def blocks(
        self,
        work: Callable[..., Iterator[Block]],
        tasks: int,
        read: Sequence[tuple[str, Blocks]] = (),
        *,
        repeat: int = 1,
        advance: Advance = lambda _: None,
    ) -> Blocks:
        """Derive facts on the workers and keep them there, on disk.

        Parameters
        ----------
        work
            Called with an iterator over tasks, each with the blocks that it reads: pairs of a name and an Arrow table.
            Yields blocks of facts: a name, the task of a later job that reads them (if one does), and a record batch.
        read
            Names of blocks that the tasks read, and where they are.
        repeat
            Number of neighbouring tasks that read the same blocks.
        advance
            Called with numbers of tasks that are done.

        Raises
        ------
        EngineError, KgreasonError
            As `run`.
        """
        from pyspark import StorageLevel

        alone = ("cast(id as int) as bucket", "cast(null as string) as name", "cast(null as binary) as data")
        job = partial(workers.blocks, self._shipped(work))
        with reported(), quiet():
            frame = self.spark.range(0, tasks, 1, tasks).selectExpr(*alone)
            for name, there in read:
                each = f"explode(sequence(bucket * {repeat}, bucket * {repeat} + {repeat - 1})) as bucket"
                frame = frame.unionAll(there.of(name).selectExpr(each, "name", "data"))
            if read:
                frame = frame.repartition(tasks, "bucket").sortWithinPartitions("bucket")
            made = _mapped(frame, job, workers.BLOCKS).persist(StorageLevel.DISK_ONLY)
        try:
            with watched(self.spark, tasks, advance, classic=self.classic):
                return Blocks(self, made)
        except BaseException:
            _tidied(made.unpersist)
            raise

    def setting(self, name: str, default: str) -> str:
        """Setting of the session."""
        return str(self.spark.conf.get(name, default))

    @property
    def classic(self) -> bool:
        """Whether the driver runs in this session's own Java, not on a server."""
        return ".connect." not in type(self.spark).__module__

    def frame(self, table: pa.Table) -> DataFrame:
        """Frame of an Arrow table of this process."""
        from pyspark.sql.pandas.types import from_arrow_schema

        with reported(), quiet():
            return self.spark.createDataFrame(table, from_arrow_schema(table.schema))

    def collected(self, frame: DataFrame) -> pa.Table:
        """Arrow table of a frame."""
        return self.asked(frame.toArrow)

    def exists(self, address: str) -> bool:
        """Whether there is a file or folder at an address."""
        try:
            self.asked(lambda: self.spark.read.text(address).schema)
        except EngineError as error:
            if "PATH_NOT_FOUND" in error.message:
                return False
            raise
        return True

    def _shipped(self, work: Work[Any]) -> Shipped:
        try:
            return self._shipping.ship(work)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            hint = "free space there, or name another folder in TMPDIR"
            raise EngineError(f"the temporary folder {gettempdir()} is full", hint=hint) from error

    def asked(self, ask: Callable[[], T]) -> T:
        """Result of a call that runs jobs, with exceptions of Spark as `EngineError`; an interrupt cancels the jobs.

        Another thread asks Spark: in callbacks of py4j, which may run while a thread does so, interrupts are lost.
        """
        from pyspark import inheritable_thread_target

        tag = f"kgreason-{uuid4().hex}"

        def tagged() -> T:
            self.spark.addTag(tag)
            try:
                return ask()
            finally:
                _tidied(self.spark.removeTag, tag)

        work: Callable[[], T] = inheritable_thread_target(self.spark)(tagged)
        with reported(), quiet():
            return stoppable(work, lambda: _tidied(self.spark.interruptTag, tag))


Block: TypeAlias = tuple[str, int, pa.RecordBatch]


class Blocks:
    """Facts that a job derived, compressed on the disks of the executors.

    Attributes
    ----------
    made
        Frame of the blocks (`spark_workers.BLOCKS`).
    counts
        Number of facts by name.
    """

    def __init__(self, engine: SparkEngine, made: DataFrame) -> None:
        self._engine, self.made = engine, made
        from pyspark.sql.functions import expr

        with reported(), quiet():
            totals = made.groupBy("name").agg(
                expr("sum(rows)"), expr("first(if(name is null, data, null), true)")
            )
        self.counts: Counter[str] = Counter()
        for name, count, error in zip(*engine.collected(totals).to_pydict().values(), strict=True):
            if error is not None:
                raise workers.unpacked(error)
            self.counts[name] = count

    def of(self, name: str) -> DataFrame:
        """Frame of the blocks of a name, and of errors."""
        return self.made.where(f"name = '{name}' or name is null")

    def facts(self, name: str, schema: pa.Schema) -> DataFrame:
        """Frame of the facts of a name."""
        return _mapped(self.of(name).select("name", "data"), workers.unpacked_facts, schema)

    def table(self, name: str, bucket: int | None = None) -> pa.Table | None:
        """All facts of a name, or those for a task, in this process; `None` if there are none."""
        frame = self.of(name) if bucket is None else self.of(name).where(f"bucket = {bucket}")
        found = self._engine.collected(frame.select("name", "data"))
        streams = [
            workers.opened(name, data).read_all()
            for batch in found.to_batches()
            for name, data in zip(batch.column(0).to_pylist(), batch.column(1), strict=True)
        ]
        return pa.concat_tables(streams) if streams else None

    def remove(self) -> None:
        """Remove the facts from the disks."""
        _tidied(self.made.unpersist)


def _sender(spark: weakref.ref[SparkSession]) -> Callable[[Any], None]:
    def send(files: Any) -> None:
        found = spark()
        assert found is not None
        with reported():
            found.addArtifacts(*map(str, files), file=True)

    return send


def _mapped(frame: DataFrame, job: Callable[..., Any], schema: pa.Schema) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    with quiet():
        return frame.mapInArrow(job, from_arrow_schema(schema))


_OWN = re.compile(r"kgreason\.base\.errors\.\w+: (.*)(?:\n\s*help: (.*))?")
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
        "S3AFileSystem not found",
        "this Spark cannot read addresses s3a://",
        "add the package org.apache.hadoop:hadoop-aws, in the version of its Hadoop (spark-submit --packages)",
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
def reported() -> Iterator[None]:
    """Convert exceptions of Spark to `EngineError`, but for tracebacks of Python, which show defects."""
    from pyspark.errors import PythonException

    try:
        yield
    except _errors() as error:
        text = str(error)
        if "No space left on device" in text or "Disk quota exceeded" in text:
            raise workers.full_disk(first_line(error)) from error
        for word, what, hint in _REASONS:
            if word in text:
                raise EngineError(what, hint=hint) from error
        if isinstance(error, PythonException):
            if found := _OWN.search(text):
                what = f"facts that Spark had lost could not be derived again: {found[1]}"
                raise EngineError(what, hint=found[2] or "run it again") from error
            raise
        raise EngineError(f"Spark gave up: {first_line(error)}") from error
