"""Command line: argv -> api -> exit code. Nothing is computed here.

Exit codes: 0 all is well (for ``anonymize``, ``verify`` and ``attack``: the guarantee holds, or a sample has nothing
against it), 1 it is not, 2 bad usage or input.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from kgreason.cli import attacking, converting, judging, reasoning, releasing, risking
from kgreason.cli.generating import generate_app
from kgreason.cli.levels import levels_app

app = typer.Typer(
    name="kgreason",
    help="Reason over knowledge graphs, anonymize them against derived edges, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
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
):
    app.command()(command)
app.add_typer(generate_app, name="generate")
app.add_typer(levels_app, name="generate-k")


def main() -> None:
    """Run the command line."""
    # kernels have threads of their own; those of NumPy's linear algebra, which nothing here uses, take 30 ms to start
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows a question mark
            stream.reconfigure(errors="replace")
    app()


def _version(wanted: bool) -> None:
    if wanted:
        from kgreason import __version__

        print(f"kgreason {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Reason over knowledge graphs, anonymize them against derived edges, and prove it."""
