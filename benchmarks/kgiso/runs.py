"""Runs of ``kgreason anonymize``, one process each, recorded in a file so that none is repeated."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from commands import NotDoneError, Run, timed

from kgiso.cases import Setting

ROOT = Path(__file__).resolve().parents[2]
MAX_SUBGRAPHS = 2_000_000_000
ESTIMATE = Path(__file__).with_name("estimate.py")
COMPILED = "compiling kernels"  # what a run says whose times are not those of later ones


@dataclass(frozen=True)
class Record:
    """What became of a run.

    Attributes
    ----------
    setting, seed
        What was run, as text.
    report, seconds, megabytes
        What it printed and took; no report if it did not end well.
    failed
        Why not, in a few words.
    bounds
        Seconds and bytes that it might take.
    machine
        Where it ran, and with which versions.
    """

    setting: str
    seed: int
    report: dict[str, Any] | None = None
    seconds: float = 0.0
    megabytes: float = 0.0
    failed: str = ""
    bounds: tuple[int, int] = (0, 0)
    machine: str = ""

    def settled(self, bounds: tuple[int, int]) -> bool:
        """Whether another run within these bounds is needless: it ended well, or would be ended again."""
        final = self.failed.startswith(("not done", "error:"))
        return self.report is not None or (
            final and all(b <= own for b, own in zip(bounds, self.bounds, strict=True))
        )


@dataclass
class Runs:
    """Runs in a folder of work.

    Attributes
    ----------
    work, data
        Folder of generated graphs and of the file of runs; folder of public graphs.
    repeats
        Seeds of small random graphs.
    bounds
        Seconds and bytes of a run.
    """

    work: Path
    data: Path
    repeats: int
    bounds: tuple[int, int]
    records: dict[tuple[str, int], Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.is_file():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:  # cut off when it was written
                    continue
                self.keep(Record(**{**record, "bounds": tuple(record["bounds"])}))

    @property
    def file(self) -> Path:
        """JSON lines, one a run; of two for the same the later one counts."""
        return self.work / "runs.jsonl"

    def keep(self, record: Record) -> None:
        """Take a record in."""
        self.records[record.setting, record.seed] = record

    def of(self, setting: Setting) -> list[Record]:
        """Records of a setting, one a seed, as far as there are any."""
        found = (self.records.get((str(setting), seed)) for seed in setting.seeds(self.repeats))
        return [record for record in found if record]

    def complete(self, settings: Iterable[Setting]) -> None:
        """Run what is not there yet."""
        todo = [
            (setting, seed)
            for setting in settings
            for seed in setting.seeds(self.repeats)
            if not (known := self.records.get((str(setting), seed))) or not known.settled(self.bounds)
        ]
        todo.sort(key=lambda run: run[1])  # a first run of all, then the others
        for i, (setting, seed) in enumerate(todo, start=1):
            record = self.measure(setting, seed)
            self.keep(record)
            with self.file.open("a", encoding="utf-8") as stream:
                # the line before may have been cut off
                stream.write("\n" * bool(stream.tell()) + json.dumps(vars(record), ensure_ascii=False))
            outcome = record.failed or f"{record.seconds:.1f} s"
            print(f"[{i}/{len(todo)}] {setting} seed={seed}: {outcome}", file=sys.stderr, flush=True)

    def measure(self, setting: Setting, seed: int) -> Record:
        """Run with one seed."""
        self.work.mkdir(parents=True, exist_ok=True)
        outcome: dict[str, Any] = {"bounds": self.bounds, "machine": machine()}
        source = setting.graph.source(self.work / "graphs", self.data, seed)
        if source is None:
            return Record(str(setting), seed, failed="the graph is not there", **outcome)
        try:
            run = self.run(setting, source, seed)
        except NotDoneError as error:
            return Record(str(setting), seed, failed=str(error), **outcome)
        return Record(str(setting), seed, run.report, run.seconds, run.megabytes, **outcome)

    def run(self, setting: Setting, source: str, seed: int) -> Run:
        """Run the command, and again if it compiled kernels."""
        rules = ["--rules", str(ROOT / f"{setting.rules}.vada"), "--data", f"own={source}"]
        bound = ["--max-subgraphs", str(MAX_SUBGRAPHS), "--seed", str(seed)]
        if setting.sample:
            words = [rules[1], source, str(setting.k), str(setting.x), str(setting.sample), str(seed)]
            return timed([sys.executable, str(ESTIMATE), *words], *self.bounds)
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            places = ["--release", f"{folder}/release", "--private", f"{folder}/private", "--json", "--force"]
            words = [*rules, *setting.options, *bound, *places]
            command = [sys.executable, "-m", "kgreason", "anonymize", *words]
            try:
                first = timed(command, *self.bounds)
            except NotDoneError as error:
                if COMPILED not in error.said:
                    raise
            else:
                if COMPILED not in first.said:
                    return first
            return timed(command, *self.bounds)


def machine() -> str:
    """The processor, and the versions of what counts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {version(name)}" for name in ("kgreason", "numpy", "numba", "scipy"))
    return f"{processor()}, {cores} cores, Python {platform.python_version()}, {versions}"


def processor() -> str:
    """Model of the processor as it calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
