"""``kgreason.toml``: options of long runs, read from a file; the command line wins over it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.base.setting_fields import parse_toml
from kgreason.language.vocabulary import suggest

NAME = "kgreason.toml"
SUFFIX = ".log"  # of every log: no table must get lines
EVERYWHERE = "quiet", "log"  # keys that may stand before all sections: they are of every command
# options of the command line alone, and why: the folder, and the file in it, may be a stranger's
NEVER = {
    "functions": "a file that is found in a folder runs no code",
    "allow-files": "a file that is found in a folder opens no others",
}

_HEAD = re.compile(r"\s*\[([^\[\]=,]+)\]\s*(?:#.*)?$")

Defaults = dict[str, Any]  # by the name of a parameter its value, by that of a command its own defaults


@record
class Config:
    """Options from a file: its path as messages name it, its text, and the parsed document."""

    file: Path
    text: str
    document: Mapping[str, Any]

    def defaults(self, app: Any) -> Defaults:
        """Values of parameters, as `default_map` of a context takes them, for the group of all commands.

        Raises
        ------
        DataError
            If a section is of no command, a key no option of it, or a value of a wrong type.
        """
        top = {key: value for key, value in self.document.items() if not isinstance(value, dict)}
        for key in top:
            if key not in EVERYWHERE:
                hint = "options belong into the section of a command, as [anonymize]; only quiet and log stand alone"
                raise self.error((), key, f"unknown key {key!r}", _meant(suggest(key, EVERYWHERE), hint))
        sections = {key: value for key, value in self.document.items() if isinstance(value, dict)}
        return self._of_group(app, sections, top, ())

    def _of_group(
        self, group: Any, sections: Mapping[str, Any], top: Mapping[str, Any], path: tuple[str, ...]
    ) -> Defaults:
        for name, section in sections.items():
            if name not in group.commands or not isinstance(section, dict):
                near = suggest(name, group.commands)
                hint = _meant(
                    near and f"[{'.'.join((*path, near))}]", f"there are {', '.join(group.commands)}"
                )
                raise self.error(
                    (*path, name), None, f"there is no command {' '.join((*path, name))!r}", hint
                )
        found: Defaults = {}
        for name, command in group.commands.items():
            section, here = sections.get(name, {}), (*path, name)
            if hasattr(command, "commands"):
                found[name] = self._of_group(command, section, top, here)
            else:
                found[name] = {**self._values(command, top, ()), **self._values(command, section, here)}
        return found

    def _values(self, command: Any, section: Mapping[str, Any], path: tuple[str, ...]) -> Defaults:
        """Values of the parameters of a command, as texts where the command line has texts."""
        options = {key: p for p in command.params for key in _keys_of(p)}
        found: Defaults = {}
        for key, value in section.items():
            if isinstance(value, dict):
                where = ".".join(path)
                hint = f'options stand in [{where}] itself, whatever it is asked for: method = "klone", k = 3'
                raise self.error((*path, key), None, f"there is no section [{where}.{key}]", hint)
            if key in NEVER and key in options:
                what = f"{key} is an option of the command line alone: {NEVER[key]}"
                raise self.error(path, key, what, f"say --{key} on the command line, where it is wanted")
            if key not in options or key == "help":
                dashed, name = key.replace("_", "-"), " ".join(("kgreason", *path))
                near = dashed if dashed in options else suggest(key, options) or suggest(dashed, options)
                hint = _meant(near, f"{name} --help lists the options; keys are their long names")
                raise self.error(path, key, f"{name} has no option --{key}", hint)
            found[options[key].name] = self._value(options[key], key, value, path)
        return found

    def _value(self, param: Any, key: str, value: object, path: tuple[str, ...]) -> object:
        if getattr(param, "is_flag", False):
            if not isinstance(value, bool):
                hint = f"write {key} = true, or false"
                raise self.error(path, key, f"{key} cannot be {_shown(value)}", hint)
            return value
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) and not _several(param):
            hint = f"write {key} = {_shown((value or ['...'])[0])}"
            raise self.error(path, key, f"{key} is one value, not a list", hint)
        for one in values:
            if isinstance(one, bool) or not isinstance(one, str | int | float):
                hint = f'write {key} = "...", as after --{key}'
                raise self.error(path, key, f"{key} cannot be {_shown(one)}", hint)
        texts = [self._placed(param, str(one), key, path) for one in values]
        return texts if _several(param) else texts[0]

    def _placed(self, param: Any, text: str, key: str, path: Sequence[str]) -> str:
        """A path as seen from the working directory; in the file, relative to its folder, which it may not leave.

        The author of the file may be a stranger.
        """
        metavar = param.metavar or ""
        if not ("FILE" in metavar or "DIR" in metavar):
            return text
        on_the_line = f"say --{key} {text} on the command line"
        if "://" in text:
            raise self.error(path, key, f"{key} names a server", on_the_line)
        before, equals, rest = text.partition("=")
        if "PRED=" not in metavar or not equals or not before.isidentifier():
            before, equals, rest = "", "", text
        if (text.isdecimal() and metavar != "FILE") or not rest:
            return text
        placed = self._beside(rest)
        if not all(map(self.holds, _files(placed))):
            folder = "the working directory" if self.file.parent == Path() else self.file.parent
            raise self.error(path, key, f"{key} leads out of {folder}", on_the_line)
        if key == "log" and not placed.endswith(SUFFIX):
            what = "log names no log: what is there would get lines"
            raise self.error(path, key, what, f'log = "{text}.log"')
        return f"{before}{equals}{placed}"

    def _beside(self, text: str) -> str:
        """A path that is relative to the folder of the file; options behind it stay."""
        return text if self.file.parent == Path() else str(self.file.parent / text)

    def holds(self, path: Path) -> bool:
        """Whether a path lies in the folder of the file, or in one within that, links followed."""
        try:
            return path.resolve().is_relative_to(self.file.parent.resolve())
        except (OSError, RuntimeError, ValueError):  # a circle of links, a name that no file can have
            return False

    @property
    def log(self) -> Path | None:
        """The log that the file names for all commands, if it lies where it may."""
        named = self.document.get("log")
        place = Path(self._beside(named)) if isinstance(named, str) else None
        return place if place is not None and place.suffix == SUFFIX and self.holds(place) else None

    def place(self, path: Sequence[str], key: str | None) -> int | None:
        """Line of a key, or of the head of a section."""
        section: list[str] = []
        for number, line in enumerate(self.text.split("\n"), 1):
            if head := _HEAD.match(line):
                section = [part.strip(" \t\"'") for part in head[1].split(".")]
                found = key is None and section[: len(path)] == list(path)
            else:
                found = section == list(path) and line.partition("=")[0].strip(" \t\"'") == key
            if found:
                return number
        return None

    def error(self, path: Sequence[str], key: str | None, message: str, hint: str) -> DataError:
        """Error that points at a key, or at a section."""
        return DataError(str(self.file), message, self.place(path, key), hint=hint)

    def line_of(self, context: click.Context, name: str | None) -> str | None:
        """Where the value of a parameter stands, as ``kgreason.toml:3``; `None`: not in this file."""
        source = context.get_parameter_source(name or "")
        if source is None or source.name != "DEFAULT_MAP":
            return None
        keys = [key for p in context.command.params if p.name == name for key in _keys_of(p)]
        path = context.command_path.split()[1:]
        lines = [self.place(where, key) for key in keys for where in (path, ())]
        line = next((n for n in lines if n is not None), None)
        return str(self.file) if line is None else f"{self.file}:{line}"

    def flags(self, context: click.Context) -> list[str]:
        """Options of a command that come from the file."""
        return [p.opts[0] for p in context.command.params if self.line_of(context, p.name) is not None]


def _several(param: Any) -> bool:
    return bool(getattr(param, "multiple", False) or param.nargs == -1)


def _keys_of(param: Any) -> list[str]:
    """Keys of an option in the file: its long names, or its letter if it has none; of arguments, data have one."""
    if param.param_type_name == "argument":
        return [param.name] if param.name == "data" else []
    long = [flag[2:] for flag in param.opts if flag.startswith("--")]
    return long or [flag[1:] for flag in param.opts]


def _files(text: str) -> Iterator[Path]:
    """The file that a text names as it stands, and those that it names as a source of data."""
    from kgreason.data.sources import parse_file
    from kgreason.language.check.file_access import files_of

    yield Path(text)
    source = parse_file(text)
    yield from files_of(source.path, source.kind("csv"), source.options)


def _meant(near: str | None, hint: str) -> str:
    return f"did you mean {near}? {hint}" if near else hint


def _shown(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def find_config(named: Path | None) -> Config | None:
    """Read the file that ``--config`` names, or ``kgreason.toml`` of the working directory; `None`: there is none."""
    file = named or Path(NAME)
    if named is None and not file.is_file():
        return None
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        from kgreason.data.raw_table import no_file

        raise no_file(file) from None
    except UnicodeDecodeError as error:
        raise DataError(str(file), f"no UTF-8 text: {error.reason}", hint="save it as UTF-8") from error
    except OSError as error:
        hint = "name a file that you may read"
        raise DataError(str(file), f"cannot be read: {error.strerror}", hint=hint) from error
    try:
        return Config(file, text, parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(file, text, error) from error


def _no_toml(file: Path, text: str, error: tomllib.TOMLDecodeError) -> DataError:
    """Find the line: messages of the parser end in it, or in the end of the file."""
    message, _, where = str(error).rpartition(" (at ")
    number = where.removeprefix("line ").partition(",")[0]
    line = int(number) if number.isdecimal() else text.rstrip("\n").count("\n") + 1
    if message == "Cannot overwrite a value":
        return DataError(str(file), "this key is there already", line, hint="leave one of them out")
    hint = 'write a section as [anonymize], and below it lines such as k = 5 or rules = "control.vada"'
    return DataError(str(file), f"no TOML: {message or error}", line, hint=hint)
