"""Runs of cases, kept in a file so that none is repeated."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from kgiso.runs import machine

from kgreason.base.errors import KgreasonError
from people_kg.figures import Case, Cell, Measured

NOT_RUN = "not run"


@dataclass(frozen=True)
class Measurement:
    """What became of a run: its figures, or in a few words why there are none."""

    case: str
    run: int
    figures: Measured = field(default_factory=dict)
    failed: str = ""
    machine: str = ""


@dataclass
class Measurements:
    """Runs in a folder of work.

    Attributes
    ----------
    work, data
        Folder of the file of runs, and of public data.
    most
        Runs of a case at most; 0: all.
    """

    work: Path
    data: Path
    most: int = 0
    known: dict[tuple[str, int], Measurement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.is_file():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                try:
                    self.keep(Measurement(**json.loads(line)))
                except json.JSONDecodeError:  # cut off when it was written
                    continue

    @property
    def file(self) -> Path:
        """JSON lines, one a run; of two for the same the later one counts."""
        return self.work / "runs.jsonl"

    def keep(self, made: Measurement) -> None:
        """Take a run in."""
        self.known[made.case, made.run] = made

    def runs(self, case: Case) -> range:
        """Numbers of the runs of a case."""
        return range(min(case.runs, self.most or case.runs))

    def of(self, case: Case) -> list[Measurement]:
        """Runs of a case, as far as there are any."""
        return [made for run in self.runs(case) if (made := self.known.get((case.name, run)))]

    def complete(self, cases: Iterable[Case]) -> None:
        """Measure what is not there yet, or failed."""
        todo = [
            (case, run)
            for case in dict.fromkeys(cases)
            for run in self.runs(case)
            if not ((made := self.known.get((case.name, run))) and made.figures)
        ]
        self.work.mkdir(parents=True, exist_ok=True)
        for i, (case, run) in enumerate(todo, start=1):
            start = time.perf_counter()
            made = self.measure(case, run)
            self.keep(made)
            with self.file.open("a", encoding="utf-8") as stream:
                # the line before may have been cut off
                stream.write("\n" * bool(stream.tell()) + json.dumps(vars(made), ensure_ascii=False))
            outcome = made.failed or f"{time.perf_counter() - start:.1f} s"
            print(f"[{i}/{len(todo)}] {case.name} run={run}: {outcome}", file=sys.stderr, flush=True)

    def measure(self, case: Case, run: int) -> Measurement:
        """Measure once, in this process."""
        try:
            figures = case.measure(self.data, run)
        except FileNotFoundError as error:
            return Measurement(case.name, run, failed=f"{Path(error.filename).name} is not there")
        except KgreasonError as error:
            return Measurement(case.name, run, failed=str(error).splitlines()[0])
        return Measurement(case.name, run, {k: float(v) for k, v in figures.items()}, machine=machine())

    def value(self, cell: Cell) -> float | None:
        """Mean over the runs."""
        found = [made.figures[cell.figure] for made in self.of(cell.case) if cell.figure in made.figures]
        return fmean(found) if found else None

    def why_not(self, case: Case) -> str:
        """Why a case has no figures; empty if it has."""
        found = self.of(case)
        if not found:
            return NOT_RUN
        return next((made.failed for made in found if made.failed), "")
