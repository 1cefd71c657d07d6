"""The sections of a schema file, their keys and the lines they stand on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.graph.people.sources import OTHERS, SKIPPED
from kgreason.lang.names import suggest
from kgreason.toml import parsed

_FILE: dict[str, type] = {
    "files": list,
    "format": str,
    "delimiter": str,
    "quote": str,
    "encoding": str,
    "header": bool,
    "skip": int,
    "columns": list,
}
_DATA: dict[str, type] = {**_FILE, "names": bool, "missing": list}
KEYS: dict[str, dict[str, type]] = {
    "triples": {**_DATA, "relation": str},
    "tables": {**_DATA, "id": str},
    "names": {**_FILE, "of": list},
    "kinds": {**dict.fromkeys(OTHERS, list), "others": str},
}
"""Keys of each section and the type of what they say; a list is one of texts."""
BESIDE = "tables of users"
"""No section: tables that options of commands name, with options behind a question mark."""
_SHOWN = {
    list: ("a list of texts", '["a", "b"]'),
    str: ("a text", '"a"'),
    bool: ("true or false", "true"),
    int: ("a whole number, 0 or more", "1"),
}


@dataclass(frozen=True)
class Section:
    """A section as it is written.

    Attributes
    ----------
    file, line
        Where it begins.
    kind
        triples, tables, names or kinds.
    given
        Its keys and what they say.
    lines
        Line of each key, where known.
    """

    file: str
    kind: str
    given: Mapping[str, Any]
    line: int | None = None
    lines: Mapping[str, int] | None = None

    def error(self, key: str | None, message: str, hint: str | None = None) -> DataError:
        """Build the error that points at a key."""
        line = (self.lines or {}).get(key or "", self.line)
        return DataError(self.file, message, line, hint=hint)

    @property
    def typed_in(self) -> bool:
        """Whether it stands behind the question mark of a file and not in a schema."""
        return self.lines is None

    def check_columns(
        self, columns: tuple[str, ...], roles: tuple[str, ...], *, constant: str | None = None
    ) -> None:
        """See that each role is that of one column.

        Parameters
        ----------
        constant
            The role that is not from the file.

        Raises
        ------
        DataError
            Naming a column that has none, or a role.
        """
        behind = self.typed_in
        hint = f'columns says what each column of the file holds: {", ".join(roles)}, and "{SKIPPED}" for one that is '
        hint += (
            f"not read; names of columns are passed over with {'header=true' if behind else 'header = true'}"
        )
        for column in columns:
            if constant is not None and column == constant:
                raise self.error(
                    "columns", "there is a column relation, and relation = is given too", "leave out one"
                )
            if column not in (*roles, SKIPPED):
                raise self.error("columns", f"a column cannot be {column!r}", hint)
        for role in roles:
            if columns.count(role) != 1:
                said = "no column is" if role not in columns else "two columns are"
                relation = (
                    f"'{self.file}?columns=user,target&relation=friend'" if behind else 'relation = "..."'
                )
                more = f"; of a file without relations say {relation}" if role == "relation" else ""
                raise self.error("columns", f"{said} {role!r}", hint + more)


def sections(path: Path) -> list[Section]:
    """Take a TOML file apart.

    Raises
    ------
    DataError
        If it is no TOML, or has other sections.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        tables = parsed(text)
    except UnicodeDecodeError as error:
        raise DataError(file, f"it is not UTF-8 text: {error.reason}", hint="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\s*\(at line (\d+), column \d+\)", str(error))
        said = str(error).replace(found[0] if found else "", "")
        line = int(found[1]) if found else None
        raise DataError(file, f"not TOML: {said}", line, hint="https://toml.io shows the form") from error
    except OSError as error:
        raise DataError(
            file, f"cannot be read: {error.strerror}", hint="name a file that you may read"
        ) from error
    places = _places(text)
    parts = []
    for kind, given in tables.items():
        repeated = kind != "kinds"
        items = given if isinstance(given, list) else [given]
        if (
            kind not in KEYS
            or isinstance(given, list) != repeated
            or not all(isinstance(i, dict) for i in items)
        ):
            raise _stray(file, kind, places)
        for number, item in enumerate(items):
            line, lines = places[kind][number] if number < len(places.get(kind, ())) else (None, {})
            parts.append(Section(file, kind, item, line, lines))
    return parts


def _stray(file: str, name: str, places: Mapping[str, list[tuple[int, dict[str, int]]]]) -> DataError:
    """Build the error for what is no section, or one in single brackets that must have double ones."""
    line = places[name][0][0] if name in places else places[""][0][1].get(name)
    titles = [f"[[{kind}]]" if kind != "kinds" else "[kinds]" for kind in KEYS]
    if name in KEYS:
        return DataError(file, f"{name} is written {titles[list(KEYS).index(name)]}", line)
    near = suggest(name, KEYS)
    asked = f"did you mean {titles[list(KEYS).index(near)]}? " if near else ""
    return DataError(file, f"unknown section {name!r}", line, hint=f"{asked}there are {', '.join(titles)}")


def _places(text: str) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """Lines of sections and, in each, of keys; what stands in texts over several lines may be taken for them."""
    here: dict[str, int] = {}
    places: dict[str, list[tuple[int, dict[str, int]]]] = {"": [(1, here)]}
    for number, line in enumerate(text.splitlines(), 1):
        if title := re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", line):
            here = {}
            places.setdefault(title[1], []).append((number, here))
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            here.setdefault(key[1], number)
    return places


def typed(part: Section) -> Mapping[str, Any]:
    """Check keys and types of a section.

    Raises
    ------
    DataError
        At the first that does not fit.
    """
    for key, value in part.given.items():
        known = KEYS[part.kind]
        if key not in known:
            raise _unknown(part, key)
        form, example = _SHOWN[known[key]]
        plain = type(value) is known[key] and not (isinstance(value, int) and value < 0)
        if not plain or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
            raise part.error(key, f"{key} is {form}, not {value!r}", f"for instance {key} = {example}")
    return part.given


def _unknown(part: Section, key: str) -> DataError:
    known = _known(part.kind)
    near = suggest(key, known)
    asked = f"did you mean {near}? " if near else ""
    return part.error(key, f"unknown key {key!r} of {part.kind}", f"{asked}there are {', '.join(known)}")


def _known(kind: str) -> dict[str, type]:
    return _FILE if kind == BESIDE else KEYS[kind]


def typed_text(file: str, kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Give options of the command line the types of keys: lists are separated by commas.

    Raises
    ------
    DataError
        If a key is unknown, or its text none of its type.
    """
    found: dict[str, Any] = {}
    for key, text in given.items():
        form = _known(kind).get(key)
        if form is None or key == "files":
            raise _unknown(Section(file, kind, given), key)
        wrong = (form is bool and text not in ("true", "false")) or (form is int and not text.isdecimal())
        if wrong:
            raise DataError(
                file,
                f"{key} is {_SHOWN[form][0]}, not {text!r}",
                hint=f"for instance {key}={_SHOWN[form][1]}",
            )
        found[key] = _made(form, text)
    return found


def _made(form: type, text: str) -> Any:
    if form is list:
        return text.split(",")
    return text == "true" if form is bool else form(text)
