"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize``, ``verify`` and ``attack``: the guarantee holds, or a sample has nothing
against it), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO, cast

import typer

from kgreason.cli import attacking, converting, judging, reasoning, releasing, reporting, risking, starting
from kgreason.cli.commands import Commands
from kgreason.cli.config import find_config
from kgreason.cli.generating import generate_app, levels_app
from kgreason.cli.options import COMMON, option, taking
from kgreason.cli.run import running
from kgreason.printable import Screen

NARROW = 60
"""Columns of a terminal below which boxes would cut the names of options: help is plain there."""


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
    reporting.report,
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
        from kgreason import __version__

        print(f"kgreason {__version__}")
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
