"""Mutated inputs one by one: which input a number stands for, and what reading it must not do."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import kgreason
from kgreason.base.errors import KgreasonError
from tests.fuzz.corpus import Case, cases, weights
from tests.fuzz.mutation import mutate

SECONDS = 10
MEMORY = 10**9
"""Bytes that reading may take, besides ten times the size of the files."""

_PACKAGE = Path(kgreason.__file__).parent
ADDRESSES = 8 * 10**9
"""Bytes of addresses that a process may take beyond those of its start: protects the machine."""


@dataclass(frozen=True)
class Finding:
    """An input that does what none may do.

    Attributes
    ----------
    kind
        What is alike in findings of one cause: the exception and where it was raised, or the limit and the case.
    """

    number: int
    case: str
    kind: str
    text: str


def drawn(cases: Sequence[Case], seed: int, number: int) -> tuple[Case, bytes]:
    """Case of an input, and what its mutated file holds."""
    rng = Random(f"{seed}/{number}")
    (case,) = rng.choices(cases, weights(cases))
    data = case.files[case.mutated]
    return case, mutate(data, rng, binary=b"\x00" in data)


def examine(case: Case, data: bytes, folder: Path, number: int = 0) -> Finding | None:
    """Read an input, and tell what is wrong with how that goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data if name == case.mutated else content)
    size = sum(map(len, case.files.values())) + len(data)
    for again in (False, True):  # the second time kernels have been compiled
        before, started = _peak(), time.process_time()
        wrong = _wrong(case, folder)
        seconds, bytes_more = time.process_time() - started, _peak(reset=False) - before
        if wrong is not None:
            return Finding(number, case.name, *wrong)
        slow, large = seconds > SECONDS, bytes_more > 10 * size + MEMORY
        if not (slow or large):
            return None
        if again:
            kind = f"{seconds:.0f} s" if slow else f"{bytes_more / 1e9:.1f} GB"
            return Finding(
                number, case.name, f"{'time' if slow else 'memory'}: {case.name}", f"it took {kind}"
            )
    return None


def _wrong(case: Case, folder: Path) -> tuple[str, str] | None:
    try:
        case.read(folder)
    except KgreasonError as error:
        said = str(error)
        if case.named and str(folder) not in said:
            return f"no file: {type(error).__name__} {case.name}", said
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if str(_PACKAGE) in frame.filename]
        last = own[-1] if own else frames[-1]
        kind = f"{type(error).__name__} in {Path(last.filename).name}:{last.name}"
        return kind, "".join(traceback.format_exception(error, limit=-12))[-6_000:]
    return None


def _peak(*, reset: bool = True) -> int:
    """Most bytes that the process has held since this was called last with `reset`."""
    with suppress(OSError):
        if reset:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def work(
    worker: int,
    workers: int,
    first: int,
    count: int | None,
    seed: int,
    seconds: float | None,
    place: Path,
    pipe: Connection,
    at: Any,
    done: Any,
) -> None:
    """Examine every `workers`-th input."""
    known = cases()
    folder = place / str(worker)
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, resource.RLIM_INFINITY))
    end = None if seconds is None else time.time() + seconds  # kernels have been compiled
    number, parent = first, multiprocessing.parent_process()
    while (
        parent is not None
        and parent.is_alive()
        and (count is None or number < count)
        and (end is None or time.time() < end)
    ):
        at[worker] = number
        case, data = drawn(known, seed, number)
        if (found := examine(case, data, folder / "input", number)) is not None:
            pipe.send(found)
        done[worker] += 1
        number += workers
