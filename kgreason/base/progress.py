"""Progress of long steps; shown by the command line only."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receiver of the progress of long steps.

    Steps are sequential: a new `step` ends the previous one. Counts are in the unit of the step.
    """

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Begin a step of `total` units (`None`: unknown); if `unit` names them, their rate is shown."""

    def advance(self, units: int = 1) -> None:
        """Report `units` more units of the current step as done."""

    def note(self, message: str) -> None:
        """Report a message, for instance a count or a warning."""


class Silent:
    """`Progress` that shows nothing."""

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """Do nothing."""

    def advance(self, units: int = 1) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""


SILENT = Silent()
