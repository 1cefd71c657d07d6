"""Work that tests divide; workers of Spark import it from here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgreason.base import memory
from kgreason.base.cores import cores
from kgreason.base.errors import AnonymizationError, DataError, EngineError

SCHEMAS = {
    "own": pa.schema([("x", pa.int64()), ("share", pa.float64())]),
    "control": pa.schema([("x", pa.string()), ("y", pa.string())]),
}

Given = Iterator[tuple[int, list[tuple[str, pa.Table]]]]
Blocks = Iterator[tuple[str, int, pa.RecordBatch]]


def numbers(tasks: Iterator[int], advance: Callable[[int], object]) -> list[int]:
    found = []
    for task in tasks:
        found.append(task)
        advance(1)
    return found


def sums(array: Any, tasks: Iterator[int], _: Any) -> int:
    return sum(int(array[task]) for task in tasks)


def broken(tasks: Iterator[int], _: Any) -> None:
    for task in tasks:
        if task == 3:
            raise DataError("own.csv", "a bad row", line=4, hint="mend it")


def defective(tasks: Iterator[int], _: Any) -> float:
    return 1 / (next(tasks) * 0)


def noted(file: str, error: bool, tasks: Iterator[int], _: Any) -> int:
    """Note each attempt in a file; raise an error of kgreason, or return how many tasks there are."""
    with open(file, "a", encoding="ascii") as stream:
        stream.write("attempt\n")
    if error:
        raise AnonymizationError("no x is small enough", hint="choose a smaller one")
    return len(list(tasks))


def derived(tasks: Given) -> Blocks:
    """Facts of two predicates; task 7 fails."""
    for task, _ in tasks:
        if task == 7:
            raise AnonymizationError("task 7 is bad")
        yield "own", task % 5, pa.record_batch([[task, task], [0.5, 1.0]], schema=SCHEMAS["own"])
        yield "control", 0, pa.record_batch([[f"c{task}"], ["d"]], schema=SCHEMAS["control"])


def read(tasks: Given) -> Blocks:
    """Each task, and how many facts it reads."""
    for task, blocks in tasks:
        count = sum(table.num_rows for name, table in blocks if name == "own")
        yield "own", 0, pa.record_batch([[task], [float(count)]], schema=SCHEMAS["own"])


def failing(flag: str, tasks: Given) -> Blocks:
    """A fact a task; fails if a file is there."""
    for task, _ in tasks:
        if Path(flag).exists():
            raise EngineError("too little memory", hint="take more")
        yield "own", task % 2, pa.record_batch([[task], [1.0]], schema=SCHEMAS["own"])


def many(count: int, tasks: Given) -> Blocks:
    for task, _ in tasks:
        x = np.arange(count * task, count * (task + 1))
        yield "own", 0, pa.record_batch([x, x / 2], schema=SCHEMAS["own"])


def share(tasks: Iterator[int], _: Any) -> tuple[int, int, int | None]:
    return len(list(tasks)), cores(), memory.left()


def slow(folder: str, seconds: float, tasks: Iterator[int], _: Any) -> list[tuple[int, int]]:
    """Task and process; begun tasks are files in a folder."""
    found = []
    for task in tasks:
        Path(folder, f"{task}-{os.getpid()}").touch()
        time.sleep(seconds)
        found.append((task, os.getpid()))
    return found


def filling(folder: str, tasks: Iterator[int], _: Any) -> int:
    """Write until the disk is full."""
    with open(Path(folder, f"full-{os.getpid()}"), "wb") as stream:
        for _task in tasks:
            for _i in range(64):
                stream.write(bytes(1 << 20))
    return 0


def large(tasks: Iterator[int], _: Any) -> np.ndarray:
    return np.full(2_000_000, next(tasks))


def slow_facts(folder: str, seconds: float, tasks: Given) -> Blocks:
    """A hundred facts a task; begun tasks are files in a folder."""
    for task, _ in tasks:
        Path(folder, f"{task}-{os.getpid()}").touch()
        time.sleep(seconds)
        x = np.arange(100 * task, 100 * (task + 1))
        yield "own", 0, pa.record_batch([x, x / 2], schema=SCHEMAS["own"])
