"""Release pipeline: anonymize, write, read back, verify, score, report, certify.

If files are written, verification, scores and report use the files as read back, not the in-memory release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgreason.base import memory
from kgreason.base.cores import both
from kgreason.base.printable import Displayed
from kgreason.base.progress import Progress
from kgreason.base.resources import VERSION
from kgreason.release.publication import Folders, staged

if TYPE_CHECKING:
    import numpy as np

    from kgreason.release.folder_contents import Contents
    from kgreason.release.report.report_data import Report
    from kgreason.release.report.sections import Run
    from kgreason.release.verdicts import Examined


A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


def give_back_after(call: Callable[[], T]) -> T:
    """Result of a call, after which the memory that it has freed is given back while other threads go on."""
    result = call()
    memory.give_back()
    return result


class Clock:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage, and give back the memory that it has freed."""
        memory.give_back()
        now = perf_counter()
        self.laps[stage] = now - self._last
        self._last = now

    def beside(
        self, one: str, work: Callable[[], A], other: str, task: Callable[[], B], steps: int
    ) -> tuple[A, B]:
        """Run two stages beside each other if they take many `steps` (`kgreason.base.cores.both`)."""
        self.laps |= {one: 0.0, other: 0.0}

        def timed(stage: str, call: Callable[[], T]) -> T:
            start = perf_counter()
            result = give_back_after(call)
            self.laps[stage] = perf_counter() - start
            return result

        results = both(lambda: timed(one, work), lambda: timed(other, task), steps)
        memory.give_back()
        self._last = perf_counter()
        return results


@dataclass(frozen=True, kw_only=True)
class Result(Displayed, ABC):
    """Result of an anonymization, for all families.

    Attributes
    ----------
    verdict
        Verdict of the independent checker.
    seconds
        Seconds by stage name.
    run
        Parameters of the call.
    """

    verdict: Examined
    seconds: Mapping[str, float]
    run: Run

    @property
    def holds(self) -> bool:
        """Whether the checker confirmed the guarantee, except for conditions that the release gives up."""
        return self.verdict.as_promised

    @property
    @abstractmethod
    def mapping(self) -> dict[str, str]:
        """Released label by original label, without removed vertices; must stay private."""

    @abstractmethod
    def figures_by_name(self) -> dict[str, Any]:
        """Figures for JSON besides the verdict and times, without original labels."""

    def as_dict(self) -> dict[str, Any]:
        """All data except the graphs, for JSON; `format` is the version of this layout."""
        return self.summary() | {"verdict": self.verdict.as_dict()}

    def summary(self) -> dict[str, Any]:
        """`as_dict` without original vertices, such as those in witnesses: for terminals and logs."""
        found = self.verdict.as_dict()
        items = [{k: v for k, v in item.items() if k != "witnesses"} for item in found["items"]]
        return {
            "format": 1,
            "kgreason": VERSION,
            **self.figures_by_name(),
            "verdict": {**found, "items": items},
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }


Made = TypeVar("Made")  # release in memory
Read = TypeVar("Read")  # release to be verified
Found = TypeVar("Found", bound=Result)


@dataclass(frozen=True, eq=False, kw_only=True)
class Family(ABC, Generic[Made, Read, Found]):
    """Stages of one anonymization, as `run` calls them; implemented by each family of releases."""

    rng: np.random.Generator
    run: Run
    clock: Clock
    progress: Progress

    @property
    def secret(self) -> np.random.Generator | None:
        """Random generator for labels: the system's, unless a seed makes the experiment reproducible."""
        return None if self.run.seed is None else self.rng

    @abstractmethod
    def anonymize(self) -> Made:
        """Compute the release and the mapping in memory."""

    @abstractmethod
    def held(self, made: Made) -> Read:
        """In-memory release to be judged if no files are written."""

    @abstractmethod
    def write(self, made: Made, public: Path, private: Path) -> None:
        """Write the public tables and the private mapping."""

    @abstractmethod
    def read(self, made: Made, public: Path, private: Path) -> Read:
        """Read the written files."""

    @abstractmethod
    def judge(self, made: Made, read: Read) -> Found:
        """Verify and score the release as read."""

    @abstractmethod
    def contents(self, found: Found, read: Read) -> Contents:
        """Expected content of the release folder."""

    @abstractmethod
    def report(self, found: Found) -> Report:
        """Private report for the owner: guarantee, utility and risks (docs/report.md)."""

    def certify(self, found: Found, read: Read, public: Path, private: Path) -> None:
        """Write the certificate, after all other files."""

    def noted(self, folders: Folders) -> dict[str, Any]:  # noqa: ARG002
        """Entries of the private ``report.json`` besides the result."""
        return {}


def run(family: Family[Made, Read, Found], folders: Folders | None) -> Found:
    """Anonymize, verify and publish; without folders, only anonymize and verify in memory."""
    from kgreason.release.report.html_page import write_report

    clock, progress = family.clock, family.progress
    made = family.anonymize()
    clock.lap("anonymize")
    if folders is None:
        return family.judge(made, family.held(made))
    with staged(folders) as (public, private):
        family.write(made, public, private)
        clock.lap("write")
        progress.step("Reading what was written")
        read = family.read(made, public, private)
        memory.give_back()
        found = family.judge(made, read)
        seeded = family.run.seed is not None
        family.contents(found, read).publish(public, holds=found.holds, seeded=seeded)
        size = sum(path.stat().st_size for folder in (public, private) for path in folder.iterdir())
        _, report = both(
            lambda: family.certify(found, read, public, private),
            lambda: give_back_after(lambda: family.report(found)),
            size,
        )
        clock.lap("report")
        write_report(private, report, found.as_dict() | family.noted(folders))
    return found
