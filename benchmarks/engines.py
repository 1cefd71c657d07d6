"""Engines of the comparison of reasoners, and runs of them as whole processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commands import LateError, ended

ROOT = Path(__file__).resolve().parent.parent
RUNNERS = ROOT / "benchmarks" / "peers"

PURE = ("reach", "reach1", "samegen", "pointsto")
ALL = (*PURE, "control", "ultimate")


@dataclass(frozen=True)
class Engine:
    """An engine.

    Attributes
    ----------
    name, package
        As it calls itself, and as pip calls it.
    programs
        Those written for it.
    most
        It is not asked for larger results, for which it is not made.
    reasoner
        Whether it evaluates rules; if not, it is shown but does not count.
    quick
        Whether it is asked by ``--quick``, of engines that are not very slow.
    """

    name: str
    package: str
    programs: tuple[str, ...]
    most: int = sys.maxsize
    reasoner: bool = True
    quick: bool = True

    @property
    def runner(self) -> Path:
        """Script that runs it."""
        return RUNNERS / f"run_{self.name.lower()}.py"


KGREASON = Engine("kgreason", "kgreason", ALL)
PEERS = (
    Engine("duckdb", "duckdb", ALL),
    Engine("clingo", "clingo", ALL),
    Engine("egglog", "egglog", (*PURE, "control")),
    Engine("nemo", "nemo-python", ALL),
    Engine("logica", "logica", ("reach", "reach1", "samegen"), quick=False),
    Engine("pyDatalog", "pyDatalog", (*PURE, "control"), most=200_000, quick=False),
    Engine("igraph", "igraph", ("reach", "reach1"), reasoner=False),
)


@dataclass(frozen=True)
class Run:
    """What a run took and found; `digest` is empty if it was not asked for."""

    seconds: float
    megabytes: float
    size: int
    digest: str


class RunError(Exception):
    """A run that gave nothing, and why; `late` if it took too long."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


def versions(python: str, engines: Iterable[Engine]) -> dict[str, str | None]:
    """Version of each engine's package in the environment of an interpreter, or nothing if it is not there."""
    script = """
import importlib.metadata, json, sys
def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({package: version(package) for package in sys.argv[1:]}))
"""
    packages = [engine.package for engine in engines]
    words = [python, "-c", script, *packages]
    found: dict[str, str | None] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return found


def run(engine: Engine, python: str, program: str, folder: Path, cap: float, *, digest: bool = False) -> Run:
    """Run an engine in a process of its own, with all that it starts.

    Raises
    ------
    RunError
        If it needs more than `cap` seconds, or ends otherwise than well.
    """
    command = [python, str(engine.runner), program, str(folder), *(["--digest"] if digest else [])]
    environment = dict(os.environ)
    if engine is KGREASON:
        environment["PYTHONPATH"] = str(ROOT)
    try:
        found = ended(command, cap, environment=environment)
    except LateError as error:
        raise RunError(str(error), late=True) from None
    if found.code:
        last = found.errors.strip().rpartition("\n")[2]
        raise RunError(f"failed ({last[:80] or f'exit code {found.code}'})")
    said = dict(line.split() for line in found.out.splitlines())
    return Run(found.seconds, found.megabytes, int(said["SIZE"]), said.get("DIGEST", ""))
