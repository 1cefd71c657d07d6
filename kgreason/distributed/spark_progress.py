"""Progress of jobs: how many of their tasks Spark has done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.5  # between two questions


@contextmanager
def watched(
    spark: SparkSession, tasks: int, advance: Callable[[int], object], *, classic: bool
) -> Iterator[None]:
    """Call `advance` with the number of tasks that are done since the last call, and with the others at the end.

    Of all stages that run in the session, those with so many tasks count.
    """
    seen = 0

    def reached(done: int) -> None:
        nonlocal seen
        if done > seen:
            advance(done - seen)
            seen = done

    with _classic(spark, tasks, reached) if classic else _connect(spark, tasks, reached):
        yield
    reached(tasks)


@contextmanager
def _classic(spark: SparkSession, tasks: int, reached: Callable[[int], None]) -> Iterator[None]:
    ended = threading.Event()

    def ask() -> None:
        tracker = spark.sparkContext.statusTracker()
        with suppress(Exception):  # the work itself reports what is wrong with the session
            while not ended.wait(_SECONDS):
                running = map(tracker.getStageInfo, tracker.getActiveStageIds())
                reached(max((s.numCompletedTasks for s in running if s and s.numTasks == tasks), default=0))

    watcher = threading.Thread(target=ask, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextmanager
def _connect(spark: Any, tasks: int, reached: Callable[[int], None]) -> Iterator[None]:
    def handle(stages: Any, **_: object) -> None:
        found = [s.num_completed_tasks for s in stages or () if s.num_tasks == tasks]
        reached(max(found, default=0))

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)
