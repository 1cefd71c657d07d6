"""The log of a run: lines of text at the end of a file that the user names."""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from types import TracebackType

from kgreason.errors import ReleaseError
from kgreason.passwords import hidden
from kgreason.printable import printable
from kgreason.progress import Progress

_SECRET = re.compile(r"(?i)(password|passwd|pwd|token|secret)=('[^']*'|[^\s&;'\"]+)")
SUFFIX = ".log"  # of every log: no table must get lines
_LOGIN = re.compile(r"://([^/\s:@]*):[^/\s@]*@")


class Log:
    r"""A file that lines are added to as a run goes on; none is ever taken out.

    A line is the time (UTC), the number of the process, what kind of line it is, and its text; further lines of a text
    are indented. Each is written at once, so that what a run that was killed had done is known.

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
            raise ReleaseError(
                f"the log {self.file} does not end in .log: lines are added to it, and it may be another file",
                hint=f"name it {self.file}.log",
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        first, *rest = printable(without_secrets(text)).split("\n")
        lines = [f"{now} {os.getpid()} {kind} {first}", *(f"    {line}" for line in rest)]
        try:
            number = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.write("".join(f"{line.rstrip()}\n" for line in lines))
        except OSError as error:
            raise ReleaseError(
                f"the log {self.file} cannot be written: {error.strerror or error}",
                hint="name another place with --log FILE, in a folder that exists",
            ) from error

    def parameters(self, values: Mapping[str, object]) -> None:
        """Add what a command was asked for."""
        self.write("parameters", json.dumps(values, default=_text, ensure_ascii=False))

    def traceback(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Add where an error came from that is a defect of kgreason."""
        self.write("defect", "".join(traceback.format_exception(kind, error, trace)).rstrip())

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
        for name in ("release", "private"):
            folder = folders.get(name)
            if isinstance(folder, str | Path) and Path(folder).resolve() in (place, *place.parents):
                raise _misplaced(self.file, f"{folder}, the {name} folder")
        for folder in place.parents:
            if _is_release(folder):
                raise _misplaced(self.file, f"{folder}, which holds a release")


def _text(value: object) -> str:
    """A value as the command line has it."""
    return f"{value.start}..{value.stop - 1}" if isinstance(value, range) else str(value)


def _misplaced(file: Path, where: str) -> ReleaseError:
    return ReleaseError(
        f"the log {file} would lie in {where}", hint="name a place beside it, for instance --log run.log"
    )


def _is_release(folder: Path) -> bool:
    here = (folder / "README.txt").is_file()
    return here and any((folder / name).is_file() for name in ("rules.vada", "people.toml", "links.toml"))


def without_secrets(text: str) -> str:
    """Text in which passwords are asterisks.

    Examples
    --------
    >>> without_secrets("postgresql://ada:hunter2@db/register")
    'postgresql://ada:***@db/register'
    """
    return _LOGIN.sub(r"://\1:***@", _SECRET.sub(r"\1=***", hidden(text)))


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
