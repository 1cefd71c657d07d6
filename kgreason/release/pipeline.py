"""The one pipeline of releases: anonymize, write, read back, verify, score, report, certificate.

What is verified and reported is what was written, read back: the anonymizer is believed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgreason.base.printable import Displayed
from kgreason.base.progress import Progress
from kgreason.release.publication import Folders, staged

if TYPE_CHECKING:
    import numpy as np

    from kgreason.release.folder_contents import Contents
    from kgreason.release.report.report_data import Report
    from kgreason.release.report.sections import Run
    from kgreason.release.verdicts import Examined


class Clock:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = perf_counter()
        self.laps[stage] = now - self._last
        self._last = now


@dataclass(frozen=True, kw_only=True)
class Result(Displayed, ABC):
    """What an anonymization returns, whatever the family.

    Attributes
    ----------
    verdict
        What the independent checker found.
    seconds
        Time of each stage by name.
    run
        How it was called.
    """

    verdict: Examined
    seconds: Mapping[str, float]
    run: Run

    @property
    def holds(self) -> bool:
        """Whether the checker confirmed the guarantee, with all that it gives up."""
        return self.verdict.as_promised

    @property
    @abstractmethod
    def mapping(self) -> dict[str, str]:
        """Released label of each original label that is released: the secret."""

    @abstractmethod
    def figures_by_name(self) -> dict[str, Any]:
        """What is told as JSON besides the verdict and times; it names nobody of the original."""

    def as_dict(self) -> dict[str, Any]:
        """Everything but the graphs, ready for JSON; `format` is the version of this layout."""
        return self.summary() | {"verdict": self.verdict.as_dict()}

    def summary(self) -> dict[str, Any]:
        """`as_dict` without what names original vertices, such as witnesses: for terminals and logs."""
        found = self.verdict.as_dict()
        items = [{k: v for k, v in item.items() if k != "witnesses"} for item in found["items"]]
        return {
            "format": 1,
            "kgreason": version(),
            **self.figures_by_name(),
            "verdict": {**found, "items": items},
            "seconds": {stage: round(s, 3) for stage, s in self.seconds.items()},
        }


def version() -> str:
    """Version of kgreason."""
    from kgreason.base.version import VERSION

    return VERSION


Made = TypeVar("Made")  # a release in memory
Read = TypeVar("Read")  # what is judged
Found = TypeVar("Found", bound=Result)


@dataclass(frozen=True, eq=False, kw_only=True)
class Family(ABC, Generic[Made, Read, Found]):
    """One anonymization of a family of releases, as `run` calls it.

    Attributes
    ----------
    rng
        Of the anonymization.
    run
        How it was called.
    clock
        Where the time goes.
    progress
        Is told the steps.
    """

    rng: np.random.Generator
    run: Run
    clock: Clock
    progress: Progress

    @property
    def secret(self) -> np.random.Generator | None:
        """Of random labels: the system's, or in an experiment the one that can be repeated."""
        return None if self.run.seed is None else self.rng

    @abstractmethod
    def anonymize(self) -> Made:
        """Make the release and the secret in memory."""

    @abstractmethod
    def held(self, made: Made) -> Read:
        """The release in memory as it is judged where nothing is written."""

    @abstractmethod
    def write(self, made: Made, public: Path, private: Path) -> None:
        """Write the tables to publish, and who is who."""

    @abstractmethod
    def read(self, made: Made, public: Path, private: Path) -> Read:
        """Read what was written."""

    @abstractmethod
    def judge(self, made: Made, read: Read) -> Found:
        """Verify and score what was read."""

    @abstractmethod
    def contents(self, found: Found, read: Read) -> Contents:
        """What the public folder holds."""

    @abstractmethod
    def report(self, found: Found) -> Report:
        """The owner's report: what was protected, at what price, from whom; secret (docs/report.md)."""

    def certify(self, found: Found, read: Read, public: Path, private: Path) -> None:
        """Write what proves the guarantee, when all other files stand in the folders."""

    def noted(self, folders: Folders) -> dict[str, Any]:  # noqa: ARG002
        """What the private ``report.json`` holds besides the result."""
        return {}


def run(family: Family[Made, Read, Found], folders: Folders | None) -> Found:
    """Anonymize, and publish what was made; without folders, only judge it."""
    from kgreason.release.report.report_json import write_report

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
        found = family.judge(made, read)
        seeded = family.run.seed is not None
        family.contents(found, read).publish(public, holds=found.holds, seeded=seeded)
        family.certify(found, read, public, private)
        report = family.report(found)
        clock.lap("report")
        write_report(private, report, found.as_dict() | family.noted(folders))
    return found
