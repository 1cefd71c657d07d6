"""Options that every command has, and that may as well stand before the command: --quiet, --log; and --allow-files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from kgreason.cli.run import running
from kgreason.runlog import Log

P = ParamSpec("P")
PANEL = "Of every command"


def _be_quiet(context: typer.Context, value: bool) -> bool:
    if not context.resilient_parsing:
        running().context = context
        running().quiet = running().quiet or value
    return value


def _allow_files(context: typer.Context, value: bool) -> bool:
    if value and not context.resilient_parsing:
        running().allow_files = True
    return value


def _open_log(context: typer.Context, param: typer.CallbackParam, value: Path | None) -> Path | None:
    run = running()
    if value is not None and not context.resilient_parsing:
        source = context.get_parameter_source(str(param.name))
        said = source is not None and source.name == "COMMANDLINE"
        if said or run.log is None:  # what stands before the command wins over the file
            run.log = Log(value)
    return value


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print errors and results (--json, facts) only: no tables, progress, notes or warnings.",
        callback=_be_quiet,
        is_eager=True,
        rich_help_panel=PANEL,
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Add to FILE what is run, with what, how long each step takes, and how it ends.",
        callback=_open_log,
        is_eager=True,
        rich_help_panel=PANEL,
    ),
]
AllowFiles = Annotated[
    bool,
    typer.Option(
        "--allow-files",
        help="Trust the rules: they may name files outside of their folder, and servers; queries and views of "
        "DuckDB may read files.",
        callback=_allow_files,
    ),
]
COMMON = {"quiet": (Quiet, False), "log": (LogFile, None), "allow_files": (AllowFiles, False)}
"""Types and defaults of the parameters that commands have and none is called with."""
_READERS = "check", "convert"
"""Commands that let rules or views read files, without an option --rules."""


def with_common(command: Callable[..., Any], run: Callable[P, None]) -> Callable[P, None]:
    """Let Typer see, on `run`, the parameters of `command` and those of every command, or of all that read rules."""
    signature = inspect.signature(command, eval_str=True)
    reads = "rules" in signature.parameters or command.__name__ in _READERS
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type)
        for name, (type, default) in COMMON.items()
        if reads or name != "allow_files"
    ]
    whole = signature.replace(parameters=[*signature.parameters.values(), *more])
    run.__signature__ = whole  # type: ignore[attr-defined]
    return run


def parameter(name: str, type: Any, default: Any, **said: Any) -> inspect.Parameter:
    """An option ``--name`` that commands may share; `said` is what `typer.Option` takes."""
    option = typer.Option(f"--{name.replace('_', '-')}", **said)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[type, option])


def taking(*options: inspect.Parameter) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Give a command more options, whose values it takes as ``**more``."""

    def given(command: Callable[P, int]) -> Callable[P, int]:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return command

    return given


def begin(parameters: Mapping[str, Any]) -> None:
    """Begin the log of a command, and say which of its options come from a file."""
    run = running()
    run.begin(parameters)
    if run.config is not None and run.context is not None:
        run.config.tell(run.context, quiet=run.quiet)
