"""Commands run as processes with limits on time and memory, which are measured."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Timer
from time import perf_counter
from typing import Any

UNIT_OF_MEMORY = 1 << 20 if sys.platform == "darwin" else 1 << 10  # of ru_maxrss, in MB
MEMORY = 16 << 30  # bytes of address space of a run


class NotDoneError(Exception):
    """A run without a result; `said` is its standard error."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class LateError(NotDoneError):
    """A run that was ended because it took too long."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended: its exit code, what it printed, seconds (by the clock, of processors), peak memory."""

    code: int
    out: str
    errors: str
    seconds: float
    megabytes: float
    processor: float


@dataclass(frozen=True)
class Run:
    """Report, time and memory of one command; `said` is its standard error."""

    report: dict[str, Any]
    seconds: float
    megabytes: float
    said: str = ""

    @property
    def added(self) -> tuple[int, int]:
        """Synthetic vertices and edges."""
        fidelity = self.report["fidelity"]
        return fidelity["vertices_added"], fidelity["edges_added"]


def ended(
    command: Sequence[str],
    seconds: float,
    memory: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command to its end, with all that it starts.

    Parameters
    ----------
    seconds
        It is killed after so many.
    memory
        Bytes of address space that each of its processes may have.

    Raises
    ------
    LateError
        If it was killed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = perf_counter()
        process = subprocess.Popen(
            command, stdout=out, stderr=errors, env=environment, start_new_session=True
        )
        if memory is not None:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (memory, memory))
        timer = Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # such as an interruption, which does not reach the process
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            timer.cancel()
        taken = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        texts = out.read().decode(), errors.read().decode()
    if taken >= seconds:
        raise LateError(f"> {seconds:g} s", texts[1])
    used = usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, *texts, taken, usage.ru_maxrss / UNIT_OF_MEMORY, used)


def timed(command: Sequence[str], seconds: float, memory: int = MEMORY) -> Run:
    """Run a command that prints JSON; its exit code 1 means that a guarantee does not hold.

    Raises
    ------
    NotDoneError
        If it did not end within the bounds, or refused.
    """
    try:
        found = ended(command, seconds, memory)
    except LateError as error:
        raise LateError(f"not done in {seconds:.0f} s", error.said) from None
    # an error of Python itself has exit code 1, too
    if found.code not in (0, 1) or not found.out:
        raise NotDoneError(reason(found.errors, found.code), found.errors)
    return Run(json.loads(found.out), found.seconds, found.megabytes, found.errors)


def reason(said: str, code: int) -> str:
    """Why a command failed, in its own words."""
    if any(sign in said for sign in ("MemoryError", "bad_alloc", "out of memory")):
        return "not done in the memory allowed"
    if code < 0:
        return f"ended by signal {-code}"
    lines = [line.strip("│╭╰╮╯─ ") for line in said.splitlines()]
    lines = [line for line in lines if line] or [f"ended with exit code {code}"]
    return next((line for line in lines if line.startswith("error")), lines[-1])
