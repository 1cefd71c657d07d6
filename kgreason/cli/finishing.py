"""The end of `kgreason anonymize`, whatever was anonymized: what is told of the release, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kgreason.cli.base import print_json
from kgreason.cli.run import complain, tell
from kgreason.release.publication import Folders, interrupted


class Result(Protocol):
    """What became of a graph."""

    @property
    def holds(self) -> bool:
        """Whether the release is what it promises to be."""

    def summary(self) -> Mapping[str, Any]:
        """What is told as JSON."""


R = TypeVar("R", bound=Result, contravariant=True)


class Show(Protocol[R]):
    """Prints a result as a table."""

    def __call__(self, result: R, release: Path, private: Path, *, seeded: bool) -> None:
        """Print it."""


def finish(
    result: R,
    folders: Folders,
    show: Show[R],
    failed: str,
    *,
    as_json: bool,
    seed: int | None,
    remark: str | None = None,
) -> int:
    """Tell what was made, and give the exit code.

    Parameters
    ----------
    show
        Prints the table.
    failed
        What the report tells of a release that is not what it promises.
    remark
        Something more to say of this one.

    Raises
    ------
    KeyboardInterrupt
        Of one who interrupts now, with the news that everything is written.
    """
    release, private = folders.release, folders.private
    try:
        if as_json:
            print_json({**result.summary(), "release": str(release), "private": str(private)})
        else:
            show(result, release, private, seeded=seed is not None)
        if seed is not None:
            tell("Made with --seed: anybody can compute it again, so it is not for publishing.", "warning")
        if not result.holds:
            complain(f"{private / 'report.json'} tells {failed}, and why.")
        if remark is not None:
            complain(remark)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(folders)) from None
    return int(not result.holds)
