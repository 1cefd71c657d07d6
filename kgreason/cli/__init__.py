"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize``, ``verify`` and ``attack``: the guarantee holds, or a sample has nothing
against it), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO, cast

import typer
from typer.core import TyperGroup

from kgreason.base.errors import KgreasonError
from kgreason.base.interrupts import INTERRUPTED
from kgreason.base.printable import Screen
from kgreason.cli import attacking, converting, judging, reasoning, releasing, risking, starting
from kgreason.cli.commands import shown
from kgreason.cli.config import find_config
from kgreason.cli.error_messages import Kind, UsageError, explained, fail, give_json
from kgreason.cli.generating import generate_app, levels_app
from kgreason.cli.options import COMMON, option, taking
from kgreason.cli.run import Run, complain, run_of, running
from kgreason.cli.run_log import Log

NARROW = 60
"""Columns of a terminal below which boxes would cut the names of options: help is plain there."""


class Commands(TyperGroup):
    """Commands whose errors, those on the command line included, are told in one way, and logged."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Carry out a command line, and leave with its exit code."""
        words = sys.argv[1:] if args is None else list(args)
        with run_of(words) as run:
            try:
                extra |= {"prog_name": extra.get("prog_name") or "kgreason", "standalone_mode": False}
                code = super().main(args, *more, **extra)
            except UsageError as error:
                if type(error).__name__ == "NoArgsIsHelpError":  # of a group: its help, as the message
                    print(error.format_message())
                    sys.exit(0)
                code = _fail(run, explained(error), "usage")
            except KgreasonError as error:
                code = _fail(run, shown(error), "input", error)
            except typer.Abort:
                code = INTERRUPTED
            except Exception as defect:
                text = f"error: a defect of kgreason: {type(defect).__name__}: {defect}"
                give_json(text, "defect", 1, defect)
                raise
            sys.exit(code if isinstance(code, int) else 0)


def _fail(run: Run, message: str, kind: Kind, error: KgreasonError | None = None) -> int:
    """Tell an error that came before the command, and log it if the log is known by then."""
    if run.log is None:
        run.log = _named_log(run)
    try:
        run.begin({} if run.context is None else run.context.params)
    except KgreasonError as of_log:
        complain(shown(of_log))
    return fail(message, kind, 2, error)


def _named_log(run: Run) -> Log | None:
    """The log, where the error came before the option that names it was understood."""
    words = [*run.words, ""]
    for word, value in pairwise(words):
        name, equals, rest = word.partition("=")
        if name == "--log" and (rest or value):
            return Log(Path(rest if equals else value))
    named = None if run.config is None else run.config.log
    return None if named is None else Log(named)


def _unwrapped(text: str) -> str:
    """A docstring with one line for each paragraph, which the terminal breaks where it ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    name="kgreason",
    help="Reason over knowledge graphs, anonymize them against derived edges, and prove it.",
    cls=Commands,
    rich_markup_mode="rich" if get_terminal_size().columns >= NARROW else None,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    starting.init,
    reasoning.check,
    reasoning.fmt,
    reasoning.reason,
    reasoning.explain,
    converting.convert,
    risking.risk,
    releasing.anonymize,
    judging.verify,
    judging.score,
    attacking.attack,
    converting.report,
):
    app.command(help=_unwrapped(command.__doc__ or ""))(command)
app.add_typer(generate_app, name="generate")
app.add_typer(levels_app, name="generate-k")


def main() -> None:
    """Run the command line."""
    # kernels have threads of their own; those of NumPy's linear algebra, which nothing here uses, take 30 ms to start
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows a question mark
            stream.reconfigure(errors="replace")
    sys.stderr = cast(TextIO, Screen(sys.stderr))  # tracebacks show data, too
    app()


def _version(wanted: bool) -> None:
    if wanted:
        from kgreason.base.version import VERSION

        print(f"kgreason {VERSION}")
        raise typer.Exit


@app.callback()
@taking(
    *COMMON,
    option(
        "--config FILE",
        Path | None,
        "Options of commands, by sections; default: kgreason.toml in the working directory.",
    ),
    option("--version", bool, "Print the version.", callback=_version, is_eager=True),
)
def begin(context: typer.Context, config: Path | None, **_: Any) -> None:
    """Reason over knowledge graphs, anonymize them against derived edges, and prove it."""
    if context.invoked_subcommand is None:
        print(starting.TOUR)
        return
    found = running().config = find_config(config)
    if found is not None:
        context.default_map = found.defaults(context.command)
