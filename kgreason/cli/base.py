"""What all commands share: the guard around errors, rule files, data options, numbers and JSON on the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec

import typer

from kgreason.cli.errors import Kind, fail
from kgreason.cli.every import COMMON, begin, with_common
from kgreason.cli.run import all_letters, aloud, hushed, running, tell
from kgreason.errors import DataError, Diagnostic, KgreasonError, ReleaseError, render_all
from kgreason.interrupts import INTERRUPTED, NOTHING, leave_in_order
from kgreason.passwords import hidden
from kgreason.printable import screened

if TYPE_CHECKING:
    from kgreason.analysis.checked import CheckedProgram

P = ParamSpec("P")


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """Turn the errors of a user into one message and an exit code, and give a command the options that all have."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in COMMON:
            kwargs.pop(name, None)
        try:
            leave_in_order()
            running().json = bool(kwargs.get("as_json"))
            begin(kwargs)
            with screened(), hushed(running().quiet):
                code = command(*args, **kwargs)
        except KgreasonError as error:
            _stop(shown(error), "input", 2, error)
        except BrokenPipeError:  # whoever read our output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except OSError as error:
            _stop(f"error: {error.filename or 'a file'}: {error.strerror or error}", "file", 2)
        except MemoryError as error:
            _stop(
                f"error: there is not enough memory for this{': ' * bool(str(error))}{error}\n"
                "  help: take a smaller graph, a higher --memory-limit or (to anonymize) a smaller k or x",
                "memory",
                2,
            )
        except KeyboardInterrupt as interrupt:
            _stop(str(interrupt) or NOTHING, "interrupted", INTERRUPTED)
        raise typer.Exit(code)

    return with_common(command, run)


def shown(error: KgreasonError) -> str:
    """An error as the terminal shows it."""
    text = str(error)
    return text if ": error[" in text or text.startswith("error") else f"error: {text}"


def _stop(message: str, kind: Kind, code: int, error: KgreasonError | None = None) -> NoReturn:
    raise typer.Exit(fail(hidden(message), kind, code, error))


def load_rules(
    rules: Path, functions: Sequence[Path] | None = None, given: Iterable[str] = ()
) -> CheckedProgram:
    """Read a rule file, and before it the Python files that define functions; warnings go to standard error.

    Parameters
    ----------
    given
        Predicates whose facts ``--data`` names.
    """
    from kgreason.analysis.check import load_file
    from kgreason.api import load_functions

    check_no_table(rules)
    for file in functions or ():
        load_functions(file)
    program = load_file(rules, given, allow_files=running().allow_files)
    warn(program.warnings, program)
    return program


def check_no_table(file: Path) -> None:
    """Refuse a table or a schema where rules are asked for.

    Raises
    ------
    DataError
        Naming it.
    """
    from kgreason.analysis.reach import is_data

    if is_data(file) and file.is_file():
        raise DataError(
            str(file), "this is a table, no rule file", hint=f"kgreason init {file} writes rules for it"
        )
    if file.suffix == ".toml" and file.name != "kgreason.toml" and file.is_file():
        hint = f"a graph of people goes without --rules: kgreason anonymize --method pckga --schema {file}"
        raise DataError(str(file), "this is a schema, no rule file", hint=hint)


def check_free(out: Path, force: bool) -> None:
    """Refuse to replace a file without ``--force``.

    Raises
    ------
    ReleaseError
        Naming it.
    """
    if (out.is_file() or out.is_symlink()) and not force:
        raise ReleaseError(f"{out} exists already", hint="use --force to replace it, or --out FILE")


def warn(warnings: Sequence[Diagnostic], program: CheckedProgram) -> None:
    """Print warnings on standard error."""
    if warnings:
        tell(render_all(warnings, program.sources), "warning")


def sources(data: Sequence[str] | None) -> dict[str, list[Any]]:
    """Read the values of ``--data``."""
    from kgreason.data.source import parse_source

    found: dict[str, list[Any]] = {}
    for text in data or ():
        predicate, source = parse_source(text)
        found.setdefault(predicate, []).append(source)
    return found


def tables(program: CheckedProgram, files: Sequence[str]) -> dict[str, list[Any]]:
    """Read ``[PRED=]FILE`` for edge predicates, as `named` names them."""
    return sources(named(program, files))


def named(program: CheckedProgram, files: Sequence[str]) -> list[str]:
    """Write ``[PRED=]FILE`` as ``PRED=FILE``; a folder stands for the tables of all edge predicates.

    Raises
    ------
    DataError
        If it is not said which predicate a file is of.
    """
    found: list[str] = []
    for file in files:
        if file.split("=", 1)[0] in program.edges:
            found.append(file)
        elif Path(file).is_dir():
            found += [f"{predicate}={file}" for predicate in program.edges]
        elif len(program.edges) == 1:
            found.append(f"{program.edges[0]}={file}")
        else:
            names = ", ".join(program.edges) or "none"
            raise DataError(
                file,
                f"which edge predicate is this a table of? The rules have: {names}",
                hint="write PRED=FILE",
            )
    return found


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def print_json(data: Mapping[str, Any]) -> None:
    """Print JSON that others can read."""
    with aloud():
        text = json.dumps(data, indent=2, ensure_ascii=not all_letters(), allow_nan=False)
        running().answered = True
        print(text)
