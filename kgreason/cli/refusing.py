"""Options of commands that serve several families: which were given, and which mean nothing where they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from kgreason.cli.run import running
from kgreason.errors import CallError


def given(context: typer.Context, name: str, value: Any = True) -> Any:
    """What an option says, or nothing if neither the command line nor kgreason.toml gives it."""
    source = context.get_parameter_source(name)
    return value if source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP") else None


def refuse(context: typer.Context, names: Iterable[str], where: str, other: str = "") -> None:
    """Refuse options that are given although they mean nothing there.

    Parameters
    ----------
    names
        Of parameters of the command.
    where
        For instance "with --method ckga".
    other
        What to do other than to leave the option out.

    Raises
    ------
    CallError
        Naming the first.
    """
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if given(context, name):
            hint = f"leave it out{', or ' * bool(other)}{other}"
            config = running().config
            line = None if config is None else config.line_of(context, name)
            at = f"{line}: " if line else ""
            raise CallError(f"{at}{flags.get(name, name)} has no meaning {where}", hint=hint)
