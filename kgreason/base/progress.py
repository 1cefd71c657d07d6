"""What long steps tell the outside while they run; only the command line shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the state of long steps.

    Steps follow one another: a new `step` ends the one before. Counts are in the unit of the step.
    """

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Begin a step of `total` units (`None`: unknown); their rate is of interest if `unit` names them."""

    def advance(self, units: int = 1) -> None:
        """Report `units` more units of the current step as done."""

    def note(self, message: str) -> None:
        """Say something once, for instance a count or a warning."""


class Silent:
    """A `Progress` that shows nothing."""

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Ignore it."""

    def advance(self, units: int = 1) -> None:
        """Ignore it."""

    def note(self, message: str) -> None:
        """Ignore it."""


SILENT = Silent()
