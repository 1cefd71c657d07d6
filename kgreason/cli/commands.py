"""The group of all commands: how a run begins and ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from kgreason.cli.base import shown
from kgreason.cli.errors import Kind, UsageError, explained, fail, give_json
from kgreason.cli.run import Run, complain, run_of
from kgreason.errors import KgreasonError
from kgreason.interrupts import INTERRUPTED
from kgreason.runlog import Log


class Commands(TyperGroup):
    """Commands whose errors, those on the command line included, are told in one way, and logged."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Carry out a command line, and leave with its exit code."""
        del standalone_mode  # errors are told here in any case
        words = sys.argv[1:] if args is None else list(args)
        with run_of(words) as run:
            try:
                code = super().main(
                    args, prog_name or "kgreason", complete_var, False, windows_expand_args, **extra
                )
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
