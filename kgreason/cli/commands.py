"""What all commands share: errors of users, help, rule files and data, options without meaning, numbers, JSON."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgreason.base.atomic_files import check_replaceable
from kgreason.base.errors import CallError, DataError, Diagnostic, KgreasonError, ReleaseError, render_all
from kgreason.base.interrupts import INTERRUPTED, NOTHING, leave_in_order
from kgreason.base.printable import hidden, screened
from kgreason.cli.error_messages import Kind, fail
from kgreason.cli.options import ALLOW_FILES, COMMON, FILES, names
from kgreason.cli.run import all_letters, aloud, hushed, running, tell, tell_options

if TYPE_CHECKING:
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.people.file_schema import Schema


class Command(click.Command):
    """A command; its help lists the options that every command has last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in two sections."""
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        common = [param for param in params if param in COMMON]
        for title, listed in (
            ("Options", [p for p in params if p not in common]),
            ("Options of every command", common),
        ):
            records = [record for param in listed if (record := param.get_help_record(ctx))]
            with formatter.section(title):
                formatter.write_dl(records)


class Group(click.Group):
    """Commands of one kind; its help lists them in their order."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands and the first paragraph on each, whole."""
        lines = [(name, str(command.help).partition("\n\n")[0]) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


def command(*options: click.Parameter) -> Callable[[Callable[..., int]], Command]:
    """Turn a function that returns an exit code into a command.

    The command has the given options, those of every command and, if it reads rules, ``--allow-files``. Errors of the
    user become one message and an exit code.
    """

    def made(function: Callable[..., int]) -> Command:
        about_rules = [ALLOW_FILES] * ("rules" in names(*options))
        name = function.__name__.replace("_", "-")
        params = [*options, *about_rules, *COMMON]
        return Command(name, params=params, help=inspect.getdoc(function), callback=_guarded(function))

    return made


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    @wraps(function)
    def carry_out(**values: Any) -> int:
        try:
            leave_in_order()
            run = running()
            run.json = bool(values.get("as_json"))
            run.begin(values)
            if run.config is not None and run.context is not None:
                tell_options(run.config, run.context, quiet=run.quiet)
            with screened(), hushed(run.quiet):
                return function(**values)
        except KgreasonError as error:
            return _failed(shown(error), "input", 2, error)
        except BrokenPipeError:  # the reader of the output has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            return _failed(f"error: {error.filename or 'a file'}: {error.strerror or error}", "file", 2)
        except MemoryError as error:
            return _failed(
                f"error: there is not enough memory for this{': ' * bool(str(error))}{error}\n"
                "  help: take a smaller graph, a higher --memory-limit or (to anonymize) a smaller k or x",
                "memory",
                2,
            )
        except KeyboardInterrupt as interrupt:
            return _failed(str(interrupt) or NOTHING, "interrupted", INTERRUPTED)

    return carry_out


def shown(error: KgreasonError) -> str:
    """An error as the terminal shows it."""
    text = str(error)
    return text if ": error[" in text or text.startswith("error") else f"error: {text}"


def _failed(message: str, kind: Kind, code: int, error: KgreasonError | None = None) -> int:
    return fail(hidden(message), kind, code, error)


def load_rules(rules: Path, functions: Sequence[Path] = (), bound: Iterable[str] = ()) -> CheckedProgram:
    """Read a rule file, and before it the Python files that define functions; warnings go to standard error.

    `bound` are predicates whose facts ``--data`` names.
    """
    from kgreason.language.check.program_checker import load_file
    from kgreason.reasoning.api import load_functions

    check_no_table(rules)
    for file in functions:
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
    """Raise `ReleaseError` for what is no file, and for a file that would be replaced without ``--force``."""
    check_replaceable(out)
    if (out.is_file() or out.is_symlink()) and not force:
        raise ReleaseError(f"{out} exists already", hint="use --force to replace it, or name another file")


def warn(warnings: Sequence[Diagnostic], program: CheckedProgram) -> None:
    """Print warnings on standard error."""
    if warnings:
        tell(render_all(warnings, program.sources), "warning")


def sources(data: Sequence[str]) -> dict[str, list[Any]]:
    """Read the values of ``--data``."""
    from kgreason.data.sources import parse_source

    found: dict[str, list[Any]] = {}
    for text in data:
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


def the_schema(files: Sequence[str], kinds: Mapping[str, Any], flag: str = "FILE") -> Schema:
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
        name: [one for text in kinds[name] for one in text.split(",")]
        for name in names(*FILES)
        if name != "table"
    }
    return schema_of_options(files, **listed, table=kinds["table"])


def original_schemas(files: Sequence[str], kinds: Mapping[str, Any], *, several: bool) -> list[Path | Schema]:
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


def given(name: str, value: Any = True) -> Any:
    """What an option says, or nothing if neither the command line nor kgreason.toml gives it."""
    source = click.get_current_context().get_parameter_source(name)
    return value if source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP") else None


def engine(asked: dict[str, Any]) -> AbstractContextManager[None]:
    """Context in which divided work is done where ``--engine`` and ``--master``, which are taken out, say."""
    name, master = asked.pop("engine"), asked.pop("master")
    if name is None:
        refuse(["master"], "without --engine spark", "say --engine spark")
        return nullcontext()
    return _on_spark(master)


@contextmanager
def _on_spark(master: str | None) -> Iterator[None]:
    """Start Spark when the block begins, after what the command checks before."""
    from kgreason.base.divided_work import divided_by
    from kgreason.distributed.spark_engine import SparkEngine
    from kgreason.distributed.spark_session import session

    with divided_by(SparkEngine(session(master))):
        yield


def refuse(names: Iterable[str], where: str, other: str = "") -> None:
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
    context = click.get_current_context()
    flags = {p.name: p.opts[0] for p in context.command.params}
    for name in names:
        if given(name):
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
