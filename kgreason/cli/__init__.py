"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize``, ``verify`` and ``attack``: the guarantee holds, or a sample has nothing
against it), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO, cast

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from kgreason.base.errors import KgreasonError
from kgreason.base.interrupts import INTERRUPTED
from kgreason.base.printable import Screen
from kgreason.base.resources import VERSION
from kgreason.cli.commands import MARKUP, shown, unwrapped
from kgreason.cli.config import find_config
from kgreason.cli.error_messages import Kind, UsageError, explained, fail, give_json
from kgreason.cli.options import COMMON, option, taking
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


class Commands(TyperGroup):
    """Commands whose errors, those on the command line included, are printed in one way, and logged."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands: Any = LazyCommands(COMMANDS)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the program; commands are not imported for it, which saves 0.1 s of 0.35 s."""
        places = {name: place.split(".") for name, place in COMMANDS.items()}
        self.commands = {
            name: TyperCommand(name, help=_summaries(module)[function])
            for name, (module, function) in places.items()
        }
        super().format_help(ctx, formatter)

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


# modules and functions of commands; a command is imported when it is called, or its help is shown
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


class LazyCommands(Mapping[str, Any]):
    """Commands by name, imported on first use."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Any:
        return _command(name, self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def _summaries(module: str) -> dict[str, str]:
    """Docstrings of commands, and help of groups of commands, from the source."""
    found = {}
    for node in ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = unwrapped(ast.get_docstring(node) or "")
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("group("):
            found[ast.unparse(node.targets[0])] = str(ast.literal_eval(cast(ast.Call, node.value).args[0]))
    return found


@cache
def _command(name: str, place: str) -> Any:
    module, _, attribute = place.partition(".")
    app = getattr(import_module(f"kgreason.cli.{module}"), attribute)
    if not isinstance(app, typer.Typer):
        function, app = app, typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
        app.command(name, help=unwrapped(function.__doc__ or ""))(function)
    command = typer.main.get_command(app)
    command.name = name
    return command


app = typer.Typer(
    name="kgreason",
    help="Reason over knowledge graphs, anonymize them against derived edges, and prove it.",
    cls=Commands,
    rich_markup_mode=MARKUP,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        print(TOUR)
        return
    found = running().config = find_config(config)
    if found is not None:
        context.default_map = found.defaults(context.command)
