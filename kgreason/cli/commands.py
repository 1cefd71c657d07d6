"""What all commands share: the guard around errors, rule files and data, options without meaning, numbers, JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Literal, NoReturn, ParamSpec

import typer

from kgreason.base.errors import CallError, DataError, Diagnostic, KgreasonError, ReleaseError, render_all
from kgreason.base.interrupts import INTERRUPTED, NOTHING, leave_in_order
from kgreason.base.printable import hidden, screened
from kgreason.cli.error_messages import Kind, fail
from kgreason.cli.options import ALLOW_FILES, COMMON, FILES, names, with_common
from kgreason.cli.run import all_letters, aloud, hushed, running, tell, tell_options

if TYPE_CHECKING:
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.people.file_schema import Schema

P = ParamSpec("P")

NARROW = 60  # columns of a terminal below which boxes would cut the names of options: help is plain there
MARKUP: Literal["rich"] | None = "rich" if get_terminal_size().columns >= NARROW else None


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """Turn errors of a user into one message and an exit code, and give a command the options that all have."""

    @wraps(command)
    def carry_out(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in names(*COMMON, ALLOW_FILES):
            kwargs.pop(name, None)
        try:
            leave_in_order()
            run = running()
            run.json = bool(kwargs.get("as_json"))
            run.begin(kwargs)
            if run.config is not None and run.context is not None:
                tell_options(run.config, run.context, quiet=run.quiet)
            with screened(), hushed(run.quiet):
                code = command(*args, **kwargs)
        except KgreasonError as error:
            _stop(shown(error), "input", 2, error)
        except BrokenPipeError:  # the reader of the output has ended
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

    return with_common(command, carry_out)


def unwrapped(text: str) -> str:
    """A docstring with one line for each paragraph, which the terminal breaks where it ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def group(help: str, *commands: Callable[..., None]) -> typer.Typer:
    """Commands of one kind, called after their functions."""
    app = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=MARKUP, add_completion=False)
    for command in commands:
        app.command(help=unwrapped(command.__doc__ or ""))(command)
    return app


def shown(error: KgreasonError) -> str:
    """An error as the terminal shows it."""
    text = str(error)
    return text if ": error[" in text or text.startswith("error") else f"error: {text}"


def _stop(message: str, kind: Kind, code: int, error: KgreasonError | None = None) -> NoReturn:
    raise typer.Exit(fail(hidden(message), kind, code, error))


def load_rules(
    rules: Path, functions: Sequence[Path] | None = None, bound: Iterable[str] = ()
) -> CheckedProgram:
    """Read a rule file, and before it the Python files that define functions; warnings go to standard error.

    `bound` are predicates whose facts ``--data`` names.
    """
    from kgreason.language.check.program_checker import load_file
    from kgreason.reasoning.api import load_functions

    check_no_table(rules)
    for file in functions or ():
        load_functions(file)
    program = load_file(rules, bound, allow_files=running().allow_files)
    warn(program.warnings, program)
    return program


def check_no_table(file: Path) -> None:
    """Raise `DataError` for a table or a schema where rules are asked for."""
    from kgreason.language.check.file_access import is_data

    if is_data(file) and file.is_file():
        raise DataError(
            str(file), "this is a table, no rule file", hint=f"kgreason init {file} writes rules for it"
        )
    if file.suffix == ".toml" and file.name != "kgreason.toml" and file.is_file():
        hint = f"a graph of people goes without --rules: kgreason people anonymize {file}"
        raise DataError(str(file), "this is a schema, no rule file", hint=hint)


def check_free(out: Path, force: bool) -> None:
    """Raise `ReleaseError` for a file that would be replaced without ``--force``."""
    if (out.is_file() or out.is_symlink()) and not force:
        raise ReleaseError(f"{out} exists already", hint="use --force to replace it, or --out FILE")


def warn(warnings: Sequence[Diagnostic], program: CheckedProgram) -> None:
    """Print warnings on standard error."""
    if warnings:
        tell(render_all(warnings, program.sources), "warning")


def sources(data: Sequence[str] | None) -> dict[str, list[Any]]:
    """Read the values of ``--data``."""
    from kgreason.data.sources import parse_source

    found: dict[str, list[Any]] = {}
    for text in data or ():
        predicate, source = parse_source(text)
        found.setdefault(predicate, []).append(source)
    return found


def tables(program: CheckedProgram, files: Sequence[str]) -> dict[str, list[Any]]:
    """Read ``[PRED=]FILE`` for edge predicates; a folder stands for the tables of all of them."""
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
    return sources(found)


def is_schema(text: str) -> bool:
    """Whether a word of the command line names a schema."""
    place = Path(text.partition("?")[0])
    return place.suffix == ".toml" or place.is_dir()


def the_schema(files: Sequence[str] | None, kinds: Mapping[str, Any], flag: str = "FILE") -> Schema:
    """The schema that `files` names, or that options give for files of people.

    Parameters
    ----------
    kinds
        Options of a command; of these the values of `FILES` say what the files hold.
    flag
        What names the files, for messages.
    """
    from kgreason.people.file_schema import read_schema, schema_of_options

    if not files:
        hint = "a schema (.toml), or files of triples" + (f": say {flag} FILE" if flag != "FILE" else "")
        raise CallError("no data are named", hint=f"name {hint}")
    if any(map(is_schema, files)):
        if len(files) > 1 or holding(kinds):
            raise CallError(
                "the schema says what is read", hint="leave out other files and their options, or the schema"
            )
        return read_schema(Path(files[0]))
    for text in files:
        predicate, equals, file = text.partition("=")
        if equals and predicate.isidentifier() and not Path(text).exists():
            hint = f"kgreason anonymize and kgreason links take --rules FILE; or name {file} alone"
            raise CallError(f"{hidden(text)} is of rules, and none are named", hint=hint)
        if Path(text).suffix == ".vada":
            hint = f"kgreason anonymize and kgreason links take them: --rules {text}"
            raise CallError(f"{text} is a rule file, which goes by an option", hint=hint)
    listed: dict[str, Any] = {
        name: [one for text in kinds[name] or () for one in text.split(",")]
        for name in names(*FILES)
        if name != "table"
    }
    return schema_of_options(files, **listed, table=kinds["table"])


def original_schemas(
    files: Sequence[str] | None, kinds: Mapping[str, Any], *, several: bool
) -> list[Path | Schema]:
    """The schema of an original, or, of a series, one for each release."""
    if not files:
        if holding(kinds):
            raise CallError(
                "options describe files, but no files are named", hint="name them with --original"
            )
        return []
    if not several:
        return [the_schema(files, kinds, "--original")]
    if holding(kinds) or not all(map(is_schema, files)):
        hint = "name the schema (.toml) of the original of each release with --original"
        raise CallError("options of files are for the original of one release", hint=hint)
    return [Path(file) for file in files]


def holding(kinds: Mapping[str, Any]) -> bool:
    """Whether any option says what files of people hold."""
    return any(kinds[name] for name in names(*FILES))


def given(context: typer.Context, name: str, value: Any = True) -> Any:
    """What an option says, or nothing if neither the command line nor kgreason.toml gives it."""
    source = context.get_parameter_source(name)
    return value if source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP") else None


def refuse(context: typer.Context, names: Iterable[str], where: str, other: str = "") -> None:
    """Raise `CallError` for the first of some options that is given although it means nothing there.

    Parameters
    ----------
    names
        Of parameters of the command.
    where
        For instance "with --method ckga".
    other
        What to do other than to leave the option out.
    """
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if given(context, name):
            hint = f"leave it out{', or ' * bool(other)}{other}"
            config = running().config
            line = None if config is None else config.line_of(context, name)
            at = f"{line}: " if line else ""
            raise CallError(f"{at}{flags.get(name, name)} has no meaning {where}", hint=hint)


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def print_json(data: Mapping[str, Any]) -> None:
    """Print JSON that others can read."""
    with aloud():
        text = json.dumps(data, indent=2, ensure_ascii=not all_letters(), allow_nan=False)
        running().answered = True
        print(text)
