"""One run of the command line: whether it is quiet, what it is logged to, and where its options come from."""

from __future__ import annotations

import io
import json
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import typer

from kgreason.base.printable import printable
from kgreason.base.progress import Progress
from kgreason.base.version import VERSION
from kgreason.cli.run_log import Log, Logged

if TYPE_CHECKING:
    from kgreason.cli.config import Config


_UNSAID = "context", "quiet", "log"
_NOTHING: tuple[object, ...] = (None, [], ())


@dataclass
class Run:
    """What holds for the whole of a run.

    Attributes
    ----------
    words
        The command line, without the name of the program.
    quiet
        Say nothing but errors, and what a command is there to print.
    allow_files
        Rule files may name any file and any server.
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
    context: typer.Context | None = None
    begun: bool = False
    json: bool = False
    answered: bool = False

    def wants_json(self) -> bool:
        """Whether results, and so errors, are printed as JSON; known of a line that could not be read, too."""
        words = list(self.words)
        return self.json or "--json" in words[: words.index("--") if "--" in words else len(words)]

    def begin(self, parameters: Mapping[str, Any]) -> None:
        """Note in the log, if there is one, what is run.

        Raises
        ------
        ReleaseError
            If the log is in the wrong place, or cannot be written.
        """
        if self.log is None or self.begun:
            return
        log, self.log = self.log, None  # an error about the log cannot be logged
        log.refuse(parameters)
        log.write("start", f"kgreason {VERSION}: {shlex.join(['kgreason', *self.words])}")
        said = {
            name: value for name, value in parameters.items() if name not in _UNSAID and value not in _NOTHING
        }
        if said:
            log.write("parameters", json.dumps(said, default=_text, ensure_ascii=False))
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
    with ExitStack() as stack:
        if quiet:
            stack.enter_context(redirect_stdout(_Hushed(sys.stdout)))
            stack.enter_context(redirect_stderr(_Hushed(sys.stderr)))
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


def tell_options(config: Config, context: typer.Context, *, quiet: bool) -> None:
    """Say which options of a command come from a file."""
    flags = config.flags(context)
    if flags:
        unsaid = quiet and "--quiet" not in flags  # a file that a stranger wrote does not hide itself
        with hushed(unsaid):
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
