"""Declarations of options and arguments; those that several commands have are listed here.

Besides, what the shell proposes where click cannot know it: rule files, predicates.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
from click import Argument, Context, Option, Parameter

from kgreason.base.memory import parse_size
from kgreason.base.setting_fields import documentation, ordered, types
from kgreason.cli.run import Log, running
from kgreason.language.vocabulary import FileFormat

_PREDICATES = re.compile(r'^\s*@(?:edge|node|input|bind|qbind)\(\s*"(\w+)"', re.MULTILINE)
_SHOWN = 100  # entries of a folder; more are no help


def rule_files(_: Context, __: Parameter, incomplete: str) -> list[str]:
    """Rule files that begin so, and those in folders that do."""
    found = _beginning(incomplete)
    inside = [file for folder in found if folder.is_dir() for file in _listed(folder)]
    return sorted(_shown(p, incomplete) for p in (*found, *inside) if p.suffix == ".vada" and p.is_file())


def tables_of_predicates(context: Context, _: Parameter, incomplete: str) -> list[str]:
    """``PRED=FILE`` for the predicates of the rules that are named before, and the tables that are there."""
    rules = context.params.get("rules")
    if not rules:
        return _tables(incomplete)
    predicates = _predicates(Path(str(rules)))
    before, equals, rest = incomplete.partition("=")
    names = [p for p in predicates if p == before or (not equals and p.startswith(before))]
    return [f"{name}={file}" for name in names for file in _tables(rest)]


def files_of_people(context: Context, param: Parameter, incomplete: str) -> list[str]:
    """Schemas and tables; under rules tables of their predicates."""
    if context.params.get("rules"):
        return tables_of_predicates(context, param, incomplete)
    schemas = [_shown(p, incomplete) for p in _beginning(incomplete) if p.suffix == ".toml" and p.is_file()]
    return sorted([*schemas, *_tables(incomplete)])


def _tables(incomplete: str) -> list[str]:
    from kgreason.language.check.file_access import is_data

    return [_shown(p, incomplete) for p in _beginning(incomplete) if p.is_file() and is_data(p)]


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


_types = cache(types)
Format = FileFormat
_UNIONS = Union, UnionType  # of names of types, of types
FORMATS = ", ".join(get_args(Format))
REQUIRED = object()


def option(
    usage: str,
    kind: Any,
    help: str,
    default: Any = None,
    *,
    name: str | None = None,
    least: int | None = None,
    most: int | None = None,
    **more: Any,
) -> Option:
    """Declare an option.

    Parameters
    ----------
    usage
        As one types it: flags and, behind them, what stands for the value, as in ``"-k --k N"``.
    kind
        Type of the value; a list for an option that may be repeated, whose values come as a tuple.
    default
        `REQUIRED`: there is none. A flag without a value is off.
    name
        Of the parameter, if not that of the longest flag.
    least, most
        Range of a number.
    more
        What else `click.Option` takes.
    """
    flags = [word for word in usage.split() if word.startswith("-")]
    value = next((word for word in usage.split() if not word.startswith("-")), None)
    name = name or max(flags, key=len).lstrip("-").replace("-", "_")
    one = _one(kind)
    about = {"is_flag": kind is bool or None, "multiple": one is not kind, **_default(default)}
    return Option(
        [*flags, name], help=help, metavar=value, **about | {"type": _type(one, least, most)} | more
    )


def argument(name: str, kind: Any, metavar: str, help: str, default: Any = REQUIRED, **more: Any) -> Argument:
    """Declare an argument of a command; a list takes all words that are left."""
    one = _one(kind)
    about = {"nargs": 1 if one is kind else -1, **_default(default)}
    return Argument([name], help=help, metavar=metavar, **about | {"type": _type(one)} | more)


def _one(kind: Any) -> Any:
    """Type of one value of a list."""
    return get_args(kind)[0] if get_origin(kind) is list else kind


def _default(default: Any) -> dict[str, Any]:
    found = {} if default is None or default is REQUIRED else {"default": default}
    return {"required": default is REQUIRED, **found}


def _type(kind: Any, least: int | None = None, most: int | None = None) -> Any:
    """Type as click takes it."""
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is Path:
        return click.Path(path_type=Path)
    if least is None and most is None:
        return kind
    return click.IntRange(least, most) if kind is int else click.FloatRange(least, most)


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
    ranged = {"least": about["least"], "most": about["most"], "show_default": about["shown"]}
    more = {key: value for key, value in ranged.items() if value is not None} | more
    flags = about["option"] or f"--{name.replace('_', '-')}"
    words = f"{flags} {about['metavar'] or ''}"
    kind = kind or _read_as(_types(settings)[name])
    return option(words, kind, documentation(settings)[name], field.default, name=name, **more)


def _read_as(kind: Any) -> Any:
    """Type by which the command line reads a value: a path or a name where Python takes other objects, too."""
    parts = (
        {part for part in get_args(kind) if part is not NoneType} if get_origin(kind) in _UNIONS else {kind}
    )
    if len(parts) == 1:
        return parts.pop()
    return Path if parts == {Path, str} else str


def names(*options: Parameter) -> tuple[str, ...]:
    """Names of options, which are those of parameters."""
    return tuple(each.name for each in options)


# --- options of every command, and of all that read rules ---


def _be_quiet(context: Context, _: Parameter, value: bool) -> None:
    if not context.resilient_parsing:
        running().context = context
        running().quiet = running().quiet or value


def _allow_files(context: Context, _: Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        running().allow_files = True


def _open_log(context: Context, param: Parameter, value: Path | None) -> None:
    run = running()
    if value is not None and not context.resilient_parsing:
        source = context.get_parameter_source(str(param.name))
        typed = source is not None and source.name == "COMMANDLINE"
        if typed or run.log is None:  # the command line wins over the file, on either side of the command
            run.log = Log(value)


eager = partial(option, is_eager=True, expose_value=False)  # its callback does all
# before or behind the name of any command
COMMON = (
    eager(
        "--quiet -q",
        bool,
        "Print errors and results (--json, facts) only: no tables, progress, notes or warnings.",
        callback=_be_quiet,
    ),
    eager(
        "--log FILE",
        Path,
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
    expose_value=False,
)


# --- options of several commands ---


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def sizes(text: str | int | range) -> range:
    """Read numbers of vertices, as in ``4`` or ``2..4``."""
    if isinstance(text, range):
        return text
    text = str(text)  # a default may be a number
    if found := re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", text):
        first, last = int(found[1]), int(found[2] or found[1])
        if 1 <= first <= last:
            return range(first, last + 1)
    raise click.BadParameter(f"{text[:40]!r} is no number of vertices; say for instance 4, or 2..4")


_QUESTION_MARK = "Options follow a question mark and are joined by &: 'own=a.csv?percent=true'"
rules_file = partial(option, "--rules FILE", shell_complete=rule_files)
mapping_file = partial(
    option, "--mapping FILE", help="The private folder, or the table original,released in it."
)
RULES = rules_file(Path, "Rule file (.vada).", REQUIRED)
DATA = option(
    "--data PRED=FILE",
    list[str],
    f"Facts of PRED, in place of its @bind; repeatable. {_QUESTION_MARK}",
    shell_complete=tables_of_predicates,
)
SOURCES = argument(
    "data",
    list[str],
    "FILE",
    "Schema (.toml) that names the files and what they hold; or the files themselves: triples user, relation, value "
    "or user, or with --table tables with a line per user. Options follow a question mark, as in "
    "'facts.txt?header=true&skip=1'.",
    None,
    shell_complete=files_of_people,
)
# what files of people hold, where no schema says it: see `kgreason.cli.commands.the_schema`
FILES = (
    option("--attributes NAME,...", list[str], "Attributes whose values are names."),
    option("--numeric NAME,...", list[str], "Attributes whose values are numbers."),
    option("--relations NAME,...", list[str], "Relations between users."),
    option("--mutual NAME,...", list[str], "Relations whose links run both ways, as married."),
    option("--table", bool, "The files are tables; FILE?id=COLUMN says which column names the users."),
)
ORIGINAL = option(
    "--original FILE",
    list[str],
    "The original: its schema (.toml), or its files, as anonymize takes them; repeatable.",
    shell_complete=files_of_people,
)
MEMORY_LIMIT = option(
    "--memory-limit SIZE",
    int,
    "Stop before more memory is held, as in 8GB; default: what is free at the start.",
    type=_size,
)
SEED = option("--seed N", int, "Repeatable randomness: for experiments only.", least=0)
RELEASE = argument("release", str, "RELEASE", "The release: its folder or its table.")
OUT = option("--out FILE", Path, "CSV file to write.", REQUIRED)
FORCE = option("--force", bool, "Replace a file or table that is there.")
MASTER = option(
    "--master URL",
    str,
    "With --engine: where Spark runs, as local[4], spark://host:7077, yarn or sc://host.",
    show_default="as spark-submit says, else this machine",
)
ENGINES = (
    option(
        "--engine ENGINE", Literal["spark"], "Enumerate subgraphs on Apache Spark; small graphs stay here."
    ),
    MASTER,
)
AS_JSON = option("--json", bool, "Print JSON.", name="as_json")
WRITTEN = SEED, FORCE, AS_JSON  # of commands that write something random
