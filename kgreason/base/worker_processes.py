"""Work that several processes share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from kgreason.base.cores import cores
from kgreason.base.resources import PACKAGE


def by_workers(function: str, items: Sequence[str]) -> Iterator[str]:
    """Apply a function to items in new processes, one per core; yields the results in the order in which they are made.

    A worker whose function fails ends; its item and others may lack a result. The module multiprocessing would import
    the user's program again in each process.

    Parameters
    ----------
    function
        ``"package.module:name"``, a function from a line of text to a line of text.
    items
        At most 256 lines.
    """
    module, _, name = function.partition(":")
    code = f"import {__name__}, {module}; {__name__}.share({module}.{name})"
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])
    tasks, numbers = os.pipe()  # a worker takes one byte, the number of an item, at a time
    results, end = os.pipe()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, *items],
            stdin=tasks,
            stdout=end,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        for _ in range(min(len(items), cores()))
    ]
    os.write(numbers, bytes(range(len(items))))
    for descriptor in (tasks, numbers, end):
        os.close(descriptor)
    with open(results, encoding="utf-8") as lines:
        yield from map(str.strip, lines)
    for worker in workers:
        worker.wait()


def share(function: Callable[[str], str]) -> None:
    """Take part in the work of `by_workers`."""
    while number := os.read(0, 1):
        os.write(1, f"{function(sys.argv[1 + number[0]])}\n".encode())
