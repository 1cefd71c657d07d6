"""The log of a run: lines of text at the end of a file that the user names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic

from kgreason.base.errors import ReleaseError
from kgreason.base.printable import hidden, printable
from kgreason.base.progress import Progress

SUFFIX = ".log"  # of every log: no table must get lines


class Log:
    r"""A file to which lines are added as a run goes on.

    A line is the time (UTC), the number of the process, what kind of line it is, and its text; further lines of a text
    are indented. ``logging`` would replace six lines of this: its handlers report a full disk on standard error and go
    on, where a run that was asked for a log must not, and they make files that everybody may read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "run.log"
    >>> Log(file).write("note", "password=hunter2 is not shown")
    >>> file.read_text(encoding="utf-8").split(None, 2)[2]
    'note password=*** is not shown\n'
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def write(self, kind: str, text: str) -> None:
        """Add a line.

        Raises
        ------
        ReleaseError
            If the file cannot be written, or its name does not end in ``.log``: no table must get lines.
        """
        if self.file.suffix != SUFFIX:
            what = (
                f"the log {self.file} does not end in .log: lines are added to it, and it may be another file"
            )
            raise ReleaseError(what, hint=f"name it {self.file}.log")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        lines = f"{now} {os.getpid()} {kind} {printable(hidden(text))}".splitlines()
        try:
            with open(self.file, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)) as stream:
                stream.write("\n    ".join(line.rstrip() for line in lines) + "\n")
        except OSError as error:
            what = f"the log {self.file} cannot be written: {error.strerror or error}"
            hint = "name another place with --log FILE, in a folder that exists"
            raise ReleaseError(what, hint=hint) from error

    def refuse(self, folders: Mapping[str, object]) -> None:
        """Refuse a log that would be published, or replaced with the folder that it lies in.

        Parameters
        ----------
        folders
            Folders of this run by the name of their option, as ``release``; other values are passed over.

        Raises
        ------
        ReleaseError
            If the log lies in one of them, or in a folder that holds an earlier release.
        """
        place = self.file.resolve()
        now = [f for name in ("release", "private") if isinstance(f := folders.get(name), str | Path)]
        inside = [f for f in now if Path(f).resolve() in (place, *place.parents)]
        if inside or any(map(_is_release, place.parents)):
            where = f"{inside[0]}, a folder of this run" if inside else "a folder that holds a release"
            hint = "name a place beside it: --log run.log"
            raise ReleaseError(f"the log {self.file} would lie in {where}", hint=hint)


def _is_release(folder: Path) -> bool:
    here = (folder / "README.txt").is_file()
    return here and any((folder / name).is_file() for name in ("rules.vada", "people.toml", "links.toml"))


class Logged:
    """A `Progress` whose steps, with the seconds they took, and notes go to a log, too."""

    def __init__(self, shown: Progress, log: Log) -> None:
        self._shown, self._log = shown, log
        self._title: str | None = None
        self._since = monotonic()

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """End the step before and begin the next."""
        self.close()
        self._title, self._since = title, monotonic()
        self._shown.step(title, total, unit)

    def advance(self, units: int = 1) -> None:
        """Pass it on."""
        self._shown.advance(units)

    def note(self, message: str) -> None:
        """Write it down, and pass it on."""
        self._log.write("note", message)
        self._shown.note(message)

    def close(self) -> None:
        """End the current step."""
        if self._title:
            self._log.write("step", f"{self._title}: {monotonic() - self._since:.3f} s")
        self._title = None
