"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize``, ``verify`` and ``attack``: the guarantee holds, or a sample has nothing
against it), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TextIO, cast

import click
from click.shell_completion import get_completion_class

from kgreason.base.errors import KgreasonError
from kgreason.base.interrupts import INTERRUPTED
from kgreason.base.printable import Screen
from kgreason.base.resources import VERSION
from kgreason.cli.commands import Group, shown
from kgreason.cli.config import find_config
from kgreason.cli.error_messages import Kind, explained, fail, give_json
from kgreason.cli.options import COMMON, eager, option
from kgreason.cli.run import Log, Run, complain, run_of, running

# what `kgreason` alone shows: the commands in the order of the work
TOUR = f"""\
kgreason {VERSION} reasons over knowledge graphs, anonymizes them also
against edges that rules derive, and verifies the result.

Start with your own table of edges, such as owner,company,share; or make one up:
  kgreason generate ownership -n 60 --out own.csv

The steps of the work, each a command:
  kgreason init own.csv                         writes rules, own.vada
  kgreason reason --rules own.vada --out facts  derives facts
  kgreason risk --rules own.vada                measures the risks
  kgreason anonymize --rules own.vada           writes release/ and private/
  kgreason verify release --rules own.vada --mapping private

Graphs of people: kgreason people. Sensitive links: kgreason links.
All commands: kgreason --help. One: kgreason risk --help.
More: docs/terminal.md in the source."""


class Program(Group):
    """Commands whose errors, those on the command line included, are printed in one way, and logged."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Carry out a command line, and leave with its exit code."""
        words = sys.argv[1:] if args is None else list(args)
        with run_of(words) as run:
            try:
                extra |= {"prog_name": extra.get("prog_name") or "kgreason", "standalone_mode": False}
                code = super().main(words, *more, **extra)
            except click.exceptions.NoArgsIsHelpError as error:  # of a group: its help, as the message
                print(error.format_message())
                sys.exit(0)
            except click.ClickException as error:
                code = _fail(run, explained(error), "usage")
            except KgreasonError as error:
                code = _fail(run, shown(error), "input", error)
            except click.Abort:
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


# modules and functions of commands; a command is imported when it is called, or help is shown
COMMANDS = {
    "init": "file_commands.init",
    "check": "reasoning.check",
    "fmt": "reasoning.fmt",
    "reason": "reasoning.reason",
    "explain": "reasoning.explain",
    "convert": "file_commands.convert",
    "risk": "risking.risk",
    "anonymize": "graphs.anonymize",
    "verify": "graphs.verify",
    "score": "graphs.score",
    "attack": "graphs.attack",
    "people": "people.app",
    "links": "links.app",
    "generate": "file_commands.generate_app",
    "report": "file_commands.report",
}


class LazyCommands(Mapping[str, click.Command]):
    """Commands by name, imported on first use."""

    def __getitem__(self, name: str) -> click.Command:
        module, _, attribute = COMMANDS[name].partition(".")
        found: click.Command = getattr(import_module(f"kgreason.cli.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        print(f"kgreason {VERSION}")
        context.exit()


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    kind = get_completion_class(shell) if shell and not context.resilient_parsing else None
    if kind is not None:
        print(kind(context.command, {}, "kgreason", "_KGREASON_COMPLETE").source())
        context.exit()


def _begin(config: Path | None) -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        print(TOUR)
        return
    found = running().config = find_config(config)
    if found is not None:
        context.default_map = found.defaults(context.command)


app = Program(
    "kgreason",
    help="Reason over knowledge graphs, anonymize them against derived edges, and prove it.",
    callback=_begin,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    params=[
        option(
            "--config FILE",
            Path,
            "Options of commands, by sections; default: kgreason.toml in the working directory.",
        ),
        eager("--version", bool, "Print the version.", callback=_print_version),
        eager(
            "--show-completion SHELL",
            Literal["bash", "zsh", "fish", "powershell"],
            "Print the completion script for a shell (docs/terminal.md).",
            callback=_print_completion,
        ),
        *COMMON,
    ],
)
app.commands = cast("Any", LazyCommands())


def main() -> None:
    """Run the command line."""
    # kernels have threads of their own; those of NumPy's linear algebra, which nothing here uses, take 30 ms to start
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows a question mark
            stream.reconfigure(errors="replace")
    sys.stderr = cast(TextIO, Screen(sys.stderr))  # tracebacks show data, too
    app()
