"""One run of the command line: whether it is quiet, its log, and where its options come from."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

import click

from kgreason.base.errors import ReleaseError
from kgreason.base.printable import hidden, printable
from kgreason.base.progress import Progress
from kgreason.base.resources import VERSION
from kgreason.cli.config import SUFFIX, Config

_NOTHING: tuple[object, ...] = (None, [], ())


class Log:
    """A file to which lines are added as a run goes on.

    A line is the time (UTC), the number of the process, what kind of line it is, and its text; further lines of a text
    are indented. ``logging`` would replace six lines of this: its handlers report a full disk on standard error and go
    on, where a run that was asked for a log must not, and they make files that everybody may read.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def write(self, kind: str, text: str) -> None:
        """Add a line; `ReleaseError` if the file cannot be written, or its name does not end in ``.log``."""
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
            hint = "name another file with --log FILE, in a folder that exists"
            raise ReleaseError(what, hint=hint) from error

    def refuse(self, folders: Mapping[str, object]) -> None:
        """Refuse a log that would be published, or replaced with the folder that it lies in (`ReleaseError`).

        Parameters
        ----------
        folders
            Parameters of this run by name; of interest are ``release`` and ``private``.
        """
        place = self.file.resolve()
        now = [f for name in ("release", "private") if isinstance(f := folders.get(name), str | Path)]
        inside = [f for f in now if Path(f).resolve() in (place, *place.parents)]
        if inside or any(map(_is_release, place.parents)):
            where = f"{inside[0]}, a folder of this run" if inside else "a folder that holds a release"
            hint = "name a file beside it: --log run.log"
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


@dataclass
class Run:
    """What holds for the whole of a run.

    Attributes
    ----------
    words
        The command line, without the name of the program.
    config
        The file that options were read from, if there is one.
    context
        Of the command, once its line is being read.
    json
        Results are printed as JSON.
    answered
        Something has been printed as JSON: nothing else may be.
    """

    words: Sequence[str] = ()
    quiet: bool = False
    allow_files: bool = False
    log: Log | None = None
    config: Config | None = None
    context: click.Context | None = None
    begun: bool = False
    json: bool = False
    answered: bool = False

    def wants_json(self) -> bool:
        """Whether results, and so errors, are printed as JSON; known of a line that could not be read, too."""
        words = list(self.words)
        return self.json or "--json" in words[: words.index("--") if "--" in words else len(words)]

    def begin(self, parameters: Mapping[str, Any]) -> None:
        """Note in the log, if there is one, what is run; `ReleaseError` as `Log.refuse` and `Log.write`."""
        if self.log is None or self.begun:
            return
        log, self.log = self.log, None  # an error about the log cannot be logged
        log.refuse(parameters)
        log.write("start", f"kgreason {VERSION}: {shlex.join(['kgreason', *self.words])}")
        given = {name: value for name, value in parameters.items() if value not in _NOTHING}
        if given:
            log.write("parameters", json.dumps(given, default=_text, ensure_ascii=False))
        self.log, self.begun = log, True

    def record(self, kind: str, text: str) -> None:
        """Add a line to the log, if there is one and it has been begun."""
        if self.log is not None and self.begun:
            self.log.write(kind, text)


def _text(value: object) -> str:
    """A value as the command line has it."""
    return f"{value.start}..{value.stop - 1}" if isinstance(value, range) else str(value)


RUN: ContextVar[Run] = ContextVar("run")


def running() -> Run:
    """The current run; one that is like any other where a command is called as a function."""
    return RUN.get(None) or Run()


@contextmanager
def run_of(words: Sequence[str]) -> Iterator[Run]:
    """The run of a command line, which the block carries out; how it ends is logged."""
    run = Run(words)
    token = RUN.set(run)
    try:
        yield run
    finally:
        error = sys.exception()
        if isinstance(error, SystemExit):
            run.record("end", f"exit code {error.code or 0}")
        elif error is not None:
            run.record("defect", "".join(traceback.format_exception(error)).rstrip())
            run.record("end", "exit code 1")
        RUN.reset(token)


class _Hushed(io.TextIOBase):
    """A stream that swallows all, in place of one that does not."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str, /) -> int:
        return len(text)


@contextmanager
def hushed(quiet: bool) -> Iterator[None]:
    """Swallow what is printed while the block runs, but for results and complaints."""
    if not quiet:
        yield
        return
    with redirect_stdout(_Hushed(sys.stdout)), redirect_stderr(_Hushed(sys.stderr)):
        yield


@contextmanager
def aloud() -> Iterator[None]:
    """Print what a command is there for: JSON, facts, a text; also if it is to be quiet."""
    stream = sys.stdout
    with redirect_stdout(stream.stream if isinstance(stream, _Hushed) else stream):
        yield


def all_letters() -> bool:
    """Whether standard output can show any letter; where it cannot, JSON has escapes in place of question marks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "").startswith("utf")


def tell(text: str, kind: str = "note") -> None:
    """Say something on standard error that is no error, and log it."""
    running().record(kind, text)
    print(printable(text), file=sys.stderr)


def tell_options(config: Config, context: click.Context, *, quiet: bool) -> None:
    """Say which options of a command come from a file."""
    flags = config.flags(context)
    if flags:
        silent = quiet and "--quiet" not in flags  # a file that a stranger wrote does not hide itself
        with hushed(silent):
            tell(f"{config.file} says {', '.join(flags)}")


def complain(text: str) -> None:
    """Say on standard error what is wrong, even if the run is quiet, and log it."""
    running().record("error", text)
    stream = sys.stderr
    print(printable(text), file=stream.stream if isinstance(stream, _Hushed) else stream)


@contextmanager
def logged(shown: Progress) -> Iterator[Progress]:
    """Let the log, if there is one, hear of progress, too."""
    log = running().log
    if log is None:
        yield shown
        return
    both = Logged(shown, log)
    try:
        yield both
    finally:
        both.close()
