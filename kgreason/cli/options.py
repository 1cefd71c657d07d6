"""How commands declare what they take: an option is a line of a table; those that several commands have stand here.

And what the shell proposes where the library that reads the command line cannot know it: rule files, predicates.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args

import typer

from kgreason.base.memory import parse_size
from kgreason.base.setting_fields import documentation, ordered, types
from kgreason.cli.run import Log, running
from kgreason.language.check.file_access import is_data
from kgreason.language.vocabulary import FileFormat

_PREDICATES = re.compile(r'^\s*@(?:edge|node|input|bind|qbind)\(\s*"(\w+)"', re.MULTILINE)
_SHOWN = 100  # entries of a folder; more are no help


def rule_files(incomplete: str) -> list[str]:
    """Rule files that begin so, and those in folders that do."""
    found = _beginning(incomplete)
    inside = [file for folder in found if folder.is_dir() for file in _listed(folder)]
    return sorted(_shown(p, incomplete) for p in (*found, *inside) if p.suffix == ".vada" and p.is_file())


def tables_of_predicates(context: typer.Context, incomplete: str) -> list[str]:
    """``PRED=FILE`` for the predicates of the rules that are named before, and the tables that are there."""
    rules = context.params.get("rules")
    if not rules:
        return _matching(incomplete, is_data)
    predicates = _predicates(Path(str(rules)))
    before, equals, rest = incomplete.partition("=")
    names = [p for p in predicates if p == before or (not equals and p.startswith(before))]
    return [f"{name}={file}" for name in names for file in _matching(rest, is_data)]


def files_of_people(context: typer.Context, incomplete: str) -> list[str]:
    """Schemas and tables; under rules tables of their predicates."""
    if context.params.get("rules"):
        return tables_of_predicates(context, incomplete)
    return _matching(incomplete, lambda file: file.suffix == ".toml" or is_data(file))


def _matching(incomplete: str, accepted: Callable[[Path], bool]) -> list[str]:
    return [_shown(p, incomplete) for p in _beginning(incomplete) if p.is_file() and accepted(p)]


def _predicates(rules: Path) -> list[str]:
    try:
        text = rules.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return list(dict.fromkeys(_PREDICATES.findall(text)))


def _beginning(incomplete: str) -> list[Path]:
    """Files and folders whose path begins so."""
    folder, _, name = incomplete.rpartition("/")
    where = Path(folder) if folder else Path("/" if incomplete.startswith("/") else ".")
    return [p for p in _listed(where) if p.name.startswith(name)]


def _listed(folder: Path) -> list[Path]:
    try:
        found = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError:
        return []
    return found[:_SHOWN]


def _shown(path: Path, incomplete: str) -> str:
    """A path as it was begun: with a point and a slash, if these are there."""
    text = str(path)
    return f"./{text}" if incomplete.startswith("./") else text


P = ParamSpec("P")
R = TypeVar("R")
_types = cache(types)
Format = FileFormat
Option = inspect.Parameter
REQUIRED = inspect.Parameter.empty
_READERS = "check", "convert"  # commands that let rules or views read files, without an option --rules


def option(
    usage: str, type: Any, help: str, default: Any = None, *, name: str | None = None, **more: Any
) -> Option:
    """Declare an option.

    Parameters
    ----------
    usage
        As one types it: flags and, behind them, what stands for the value, as in ``"-k --k N"``.
    default
        `REQUIRED`: there is none. A flag without a value is off.
    name
        Of the parameter, if not that of the longest flag.
    more
        What else `typer.Option` takes.
    """
    flags = [word for word in usage.split() if word.startswith("-")]
    value = next((word for word in usage.split() if not word.startswith("-")), None)
    declaration = typer.Option(*flags, help=help, metavar=value, **more)
    return Option(
        name or max(flags, key=len).lstrip("-").replace("-", "_"),
        Option.KEYWORD_ONLY,
        default=False if type is bool else default,
        annotation=Annotated[type, declaration],
    )


def settings_options(settings: type, **others: Option) -> tuple[Option, ...]:
    """An option for each field of a settings dataclass; `others` replace options by the name of their field."""
    fields = (each for each in ordered(settings) if each.name in others or each.metadata["option"] != "")
    return tuple(others.get(each.name) or setting_option(settings, each.name) for each in fields)


def setting_option(settings: type, name: str, kind: Any = None, **more: Any) -> Option:
    """The option for a field of a settings dataclass: type, default, range and documentation are those of the field.

    Parameters
    ----------
    kind
        Type, if the command line has the value in another form.
    more
        As for `option`.
    """
    field = next(each for each in ordered(settings) if each.name == name)
    about = field.metadata
    ranged = {"min": about["least"], "max": about["most"], "show_default": about["shown"]}
    more = {key: value for key, value in ranged.items() if value is not None} | more
    flags = about["option"] or f"--{name.replace('_', '-')}"
    words = f"{flags} {about['metavar'] or ''}"
    kind = kind or _read_as(_types(settings)[name])
    return option(words, kind, documentation(settings)[name], field.default, name=name, **more)


def _read_as(kind: Any) -> Any:
    """Type by which the command line reads a value: a path or a name where Python takes other objects, too."""
    parts = get_args(kind)
    if Path not in parts:
        return kind
    return Path | None if set(parts) == {Path, str, type(None)} else str | None


def argument(name: str, type: Any, metavar: str, help: str, default: Any = REQUIRED, **more: Any) -> Option:
    """Declare an argument of a command."""
    declaration = typer.Argument(metavar=metavar, help=help, **more)
    return Option(name, Option.KEYWORD_ONLY, default=default, annotation=Annotated[type, declaration])


def names(*options: Option) -> tuple[str, ...]:
    """Names of options, which are those of parameters."""
    return tuple(each.name for each in options)


def taking(*options: Option) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a command its options, which it gets as keyword arguments."""

    def declared(command: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(command).parameters
        first = [Option("context", Option.KEYWORD_ONLY, annotation=typer.Context)] * ("context" in own)
        command.__signature__ = inspect.Signature([*first, *options])  # type: ignore[attr-defined]
        return command

    return declared


# --- options of every command, and of all that read rules ---


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
        typed = source is not None and source.name == "COMMANDLINE"
        if typed or run.log is None:  # what stands before the command wins over the file
            run.log = Log(value)
    return value


_of_all = partial(option, is_eager=True, rich_help_panel="Options of every command")
# before or behind the name of any command; no command function takes them
COMMON = (
    _of_all(
        "--quiet -q",
        bool,
        "Print errors and results (--json, facts) only: no tables, progress, notes or warnings.",
        callback=_be_quiet,
    ),
    _of_all(
        "--log FILE",
        Path | None,
        "Append the command, its parameters, the times of its steps and its exit code to FILE.",
        callback=_open_log,
    ),
)
ALLOW_FILES = option(
    "--allow-files",
    bool,
    "Trust the rules: they may name files outside of their folder, and servers; queries and views of DuckDB may read "
    "files.",
    callback=_allow_files,
)


def with_common(command: Callable[..., Any], run: Callable[P, None]) -> Callable[P, None]:
    """Let Typer see, on `run`, the parameters of `command` and those of every command, or of all that read rules."""
    signature = inspect.signature(command, eval_str=True)
    reads = "rules" in signature.parameters or command.__name__ in _READERS
    whole = [*signature.parameters.values(), *COMMON, *[ALLOW_FILES] * reads]
    run.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in whole}
    return run


# --- options of several commands ---


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def sizes(text: str | int | range) -> range:
    """Read numbers of vertices, as in ``4`` or ``2..4``."""
    if isinstance(text, range):
        return text
    text = str(text)  # a default may be a number
    if found := re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", text):
        first, last = int(found[1]), int(found[2] or found[1])
        if 1 <= first <= last:
            return range(first, last + 1)
    raise typer.BadParameter(f"{text[:40]!r} is no number of vertices; say for instance 4, or 2..4")


_QUESTION_MARK = "Options follow a question mark and are joined by &: 'own=a.csv?percent=true'"
rules_file = partial(option, "--rules FILE", autocompletion=rule_files)
mapping_file = partial(
    option, "--mapping FILE", help="The private folder, or the table original,released in it."
)
RULES = rules_file(Path, "Rule file (.vada).", REQUIRED)
DATA = option(
    "--data PRED=FILE",
    list[str] | None,
    f"Facts of PRED, in place of its @bind; repeatable. {_QUESTION_MARK}",
    autocompletion=tables_of_predicates,
)
SOURCES = argument(
    "data",
    list[str] | None,
    "FILE",
    "Schema (.toml) that names the files and what they hold; or the files themselves: triples user, relation, value "
    "or user, or with --table tables with a line per user. Options follow a question mark, as in "
    "'facts.txt?header=true&skip=1'.",
    None,
    autocompletion=files_of_people,
)
# what files of people hold, where no schema says it: see `kgreason.cli.commands.the_schema`
FILES = (
    option("--attributes NAME,...", list[str] | None, "Attributes whose values are names."),
    option("--numeric NAME,...", list[str] | None, "Attributes whose values are numbers."),
    option("--relations NAME,...", list[str] | None, "Relations between users."),
    option("--mutual NAME,...", list[str] | None, "Relations whose links run both ways, as married."),
    option("--table", bool, "The files are tables; FILE?id=COLUMN says which column names the users."),
)
MEMORY_LIMIT = option(
    "--memory-limit SIZE",
    int | None,
    "Stop before more memory is held, as in 8GB; default: what is free at the start.",
    parser=_size,
)
SEED = option("--seed N", int | None, "Repeatable randomness: for experiments only.", min=0)
RELEASE = argument("release", str, "RELEASE", "The release: its folder or its table.")
OUT = option("--out FILE", Path, "CSV file to write.", REQUIRED)
FORCE = option("--force", bool, "Replace a file or table that is there.")
AS_JSON = option("--json", bool, "Print JSON.", name="as_json")
WRITTEN = SEED, FORCE, AS_JSON  # of commands that write something random
