"""Runs of all engines on a line of the comparison, and whether their results are the same."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from cases import Case
from engines import KGREASON, Engine, Run, RunError, run, versions
from inputs import generate

WARM_UP = 600.0  # seconds for kgreason's first run, which may compile
DIGESTED = 30_000_000  # rows; of larger results only the sizes are compared


@dataclass(frozen=True)
class Outcome:
    """What became of an engine on a line: medians of its runs, or why there are none."""

    run: Run | None = None
    reason: str = ""
    differs: bool = False

    def __str__(self) -> str:
        if self.run is None:
            return self.reason.replace("|", "/")
        mark = "DIFFERENT " if self.differs else ""
        return f"{mark}{self.run.seconds:.2f} ({self.run.megabytes:,.0f})"


@dataclass(frozen=True)
class Line:
    """What became of all engines on a line."""

    case: Case
    ours: Outcome
    peers: dict[Engine, Outcome]

    @property
    def fine(self) -> bool:
        """Whether kgreason has a result, and nobody another."""
        return self.ours.run is not None and not any(o.differs for o in (self.ours, *self.peers.values()))

    @property
    def compared(self) -> str:
        """What was compared: whole relations, or sizes, for those engines that gave no digest."""
        ended = [(engine.name, outcome.run) for engine, outcome in self.peers.items() if outcome.run]
        sizes = [name for name, found in ended if not found.digest]
        if not ended:
            return "known size"
        if len(sizes) == len(ended):
            return "size"
        return f"rows; size: {', '.join(sizes)}" if sizes else "rows"

    @property
    def ahead(self) -> str:
        """Seconds of the fastest peer by those of kgreason."""
        times = {
            engine.name: outcome.run.seconds
            for engine, outcome in self.peers.items()
            if outcome.run and engine.reasoner and not outcome.differs
        }
        if self.ours.run is None or not times:
            return "–"
        fastest = min(times, key=times.__getitem__)
        return f"{times[fastest] / self.ours.run.seconds:.1f}× ({fastest})"


@dataclass
class Comparison:
    """How engines are run.

    Attributes
    ----------
    python
        Interpreter of the peers.
    peers, installed
        The peers asked for, and the versions of their packages.
    repeats, cap, patience
        Runs of which the median is taken; seconds that a run may take; seconds after which no further run is begun.
    data
        Folder of the inputs.
    pace
        Fewest seconds a row that an engine has needed for a program.
    """

    python: str
    peers: list[Engine]
    repeats: int
    cap: float
    patience: float
    data: Path
    installed: dict[str, str | None] = field(init=False)
    pace: dict[tuple[Engine, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.installed = versions(self.python, self.peers)

    def line(self, case: Case) -> Line:
        """Run all engines on a line."""
        # in a process of its own: those that follow would count what this one has ever held as their own memory
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            folder = pool.submit(generate, case.input, self.data).result()
        ours = self.ours(case, folder)
        return Line(case, ours, {peer: self.peer(peer, case, folder, ours.run) for peer in self.peers})

    def ours(self, case: Case, folder: Path) -> Outcome:
        """Outcome of kgreason; its first run warms up, and makes the digest that others are compared with."""
        digested = case.size <= DIGESTED
        try:
            first = run(KGREASON, sys.executable, case.program, folder, WARM_UP, digest=digested)
            runs = self.timed(KGREASON, sys.executable, case, folder)
        except RunError as error:
            return Outcome(reason=str(error))
        differs = any(each.size != case.size for each in (first, *runs))
        return Outcome(middle(runs, first.digest), differs=differs)

    def peer(self, engine: Engine, case: Case, folder: Path, ours: Run | None) -> Outcome:
        """Outcome of a peer, compared with ours or with the known size."""
        if self.installed[engine.package] is None:
            return Outcome(reason="not installed")
        if case.program not in engine.programs or case.size > engine.most:
            return Outcome(reason="–")
        if self.pace.get((engine, case.program), 0.0) * case.size > self.cap:
            return Outcome(reason="not tried")
        try:
            runs = self.timed(engine, self.python, case, folder)
        except RunError as error:
            if error.late:
                self.learn(engine, case, self.cap)
            return Outcome(reason=str(error))
        self.learn(engine, case, min(each.seconds for each in runs))
        digest = self.digest(engine, case, folder) if ours and ours.digest else ""
        size = ours.size if ours else case.size
        differs = any(each.size != size for each in runs) or bool(digest and ours and digest != ours.digest)
        return Outcome(middle(runs, digest), differs=differs)

    def timed(self, engine: Engine, python: str, case: Case, folder: Path) -> list[Run]:
        """Run an engine several times."""
        runs: list[Run] = []
        while len(runs) < self.repeats and sum(each.seconds for each in runs) < self.patience:
            runs.append(run(engine, python, case.program, folder, self.cap))
            say(f"{case} {engine.name}: {runs[-1].seconds:.2f} s")
        return runs

    def digest(self, engine: Engine, case: Case, folder: Path) -> str:
        """Return the digest of a peer's result, or nothing if handing out all rows takes it too long."""
        try:
            return run(engine, self.python, case.program, folder, self.cap, digest=True).digest
        except RunError as error:
            say(f"{case} {engine.name}: only the size is compared, as its rows were not to be had: {error}")
            return ""

    def learn(self, engine: Engine, case: Case, seconds: float) -> None:
        """Remember how fast an engine was."""
        key = engine, case.program
        self.pace[key] = min(self.pace.get(key, float("inf")), seconds / case.size)


def middle(runs: list[Run], digest: str) -> Run:
    """Medians of runs."""
    seconds, megabytes = (
        median(column) for column in zip(*((r.seconds, r.megabytes) for r in runs), strict=True)
    )
    return Run(seconds, megabytes, runs[0].size, digest)


def say(message: str) -> None:
    """Tell how far it is."""
    print(message, file=sys.stderr, flush=True)
