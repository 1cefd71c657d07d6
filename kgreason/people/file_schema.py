"""Schema of the files of a graph of people, read from TOML or built from options.

::

    [[triples]]                       # lines user, relation, value (or another user)
    files = ["facts.csv"]
    header = true

    [[tables]]                        # a line per user, an attribute per column
    files = ["people.csv"]
    id = "name"

    [kinds]                           # kind of each relation and column
    numeric = ["age"]
    categorical = ["job", "city"]
    relations = ["follows"]
    mutual = ["married"]              # relations whose links run both ways
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.base.setting_fields import parse_toml
from kgreason.data.raw_table import Raw, no_file
from kgreason.data.source_options import Options
from kgreason.data.sources import SourceSpec, parse_file
from kgreason.language.vocabulary import suggest

OTHERS = ("numeric", "categorical", "relations", "mutual", "ignore")
LINKS = ("relations", "mutual")  # kinds of what relates users
ROLES = ("user", "relation", "target")
SKIPPED = "_"  # name of columns that are not read


@record
class File:
    """A file with its format and reading options; `table` holds the rows of a table in memory, instead of a file."""

    spec: SourceSpec
    options: Options
    table: Raw | None = None


@record
class Data:
    """Files of one section of a schema; their rows are concatenated.

    Attributes
    ----------
    kind
        ``triples`` (a statement in each row), ``tables`` (a user in each row, an attribute in each column) or ``names``
        (an id and its name in each row).
    columns
        Role of each column: user, relation, target, name, id or `SKIPPED`. For tables without header, the column names;
        `None`: column numbers.
    relation
        For triples: the relation (or attribute) of all rows, if the files have no column for it.
    id
        For tables: the column with the users; `None`: users are numbered from 1.
    of
        For names: where these ids occur (users, values, relations).
    names
        Whether ids are replaced by their names; in tables only those of users.
    missing
        Texts for a missing value, besides the empty one.
    """

    kind: str
    files: tuple[File, ...]
    columns: tuple[str, ...] | None = None
    relation: str | None = None
    id: str | None = None
    of: tuple[str, ...] = ()
    names: bool = True
    missing: tuple[str, ...] = ()


@record
class Kinds:
    """Kind of each relation and column.

    Attributes
    ----------
    numeric, categorical
        Attributes with numbers or with names as values.
    relations, mutual
        Relations between users; mutual ones are symmetric by nature.
    ignore
        Names to leave out.
    others
        Kind of all other names; `None`: columns of tables are categorical, names in triples must be listed.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    mutual: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    others: str | None = None

    def named(self) -> dict[str, str]:
        """Kind of each listed name."""
        return {name: kind for kind in OTHERS for name in getattr(self, kind)}


@record
class Schema:
    """Complete schema of the files of a graph of people.

    Attributes
    ----------
    file
        Path of the schema for messages; `None` if it was built from options.
    line
        Line of the ``[kinds]`` section.
    """

    data: tuple[Data, ...]
    kinds: Kinds
    file: str | None = None
    line: int | None = None

    @property
    def format(self) -> str:
        """Format of the first file of triples or, without any, of tables."""
        first = min((d for d in self.data if d.kind != "names"), key=lambda d: d.kind != "triples")
        return first.files[0].spec.kind("edges")

    @property
    def files(self) -> list[File]:
        """All files."""
        return [file for some in self.data for file in some.files]

    def error(self, message: str, hint: str | None = None) -> DataError:
        """Build an error that points at the ``[kinds]`` section."""
        return DataError(self.file or "options", message, self.line, hint=hint)


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
# no section: tables named by options of commands, with options behind a question mark
USER_TABLE = "tables of users"
# keys of each section and the type of what they say; a list is one of texts
_KEYS: dict[str, dict[str, type]] = {
    "triples": {**_DATA, "relation": str},
    "tables": {**_DATA, "id": str},
    "names": {**_FILE, "of": list},
    "kinds": {**dict.fromkeys(OTHERS, list), "others": str},
    USER_TABLE: _FILE,
}
_TITLES = {"triples": "[[triples]]", "tables": "[[tables]]", "names": "[[names]]", "kinds": "[kinds]"}
_SHOWN = {
    list: ("a list of texts", '["a", "b"]'),
    str: ("a text", '"a"'),
    bool: ("true or false", "true"),
    int: ("a whole number, 0 or more", "1"),
}


@record
class Section:
    """A section of a schema before interpretation.

    Attributes
    ----------
    kind
        triples, tables, names or kinds.
    entries
        Its keys and values.
    lines
        Line of each key; `None`: options after the question mark of a file name.
    """

    file: str
    kind: str
    entries: Mapping[str, Any]
    line: int | None = None
    lines: Mapping[str, int] | None = None

    def error(self, key: str | None, message: str, hint: str | None = None) -> DataError:
        """Build an error that points at a key."""
        line = (self.lines or {}).get(key or "", self.line)
        return DataError(self.file, message, line, hint=hint)

    def check_columns(
        self, columns: tuple[str, ...], roles: tuple[str, ...], *, constant: str | None = None
    ) -> None:
        """Check that each role has exactly one column; the role `constant` is not in the file."""
        inline = self.lines is None
        header = "header=true" if inline else "header = true"
        hint = f'columns says what each column of the file holds: {", ".join(roles)}, and "{SKIPPED}" for one that is '
        hint += f"not read; names of columns are passed over with {header}"
        for column in columns:
            if constant is not None and column == constant:
                what = "there is a column relation, and relation = is given too"
                raise self.error("columns", what, "leave out one")
            if column not in (*roles, SKIPPED):
                raise self.error("columns", f"a column cannot be {column!r}", hint)
        for role in roles:
            if columns.count(role) != 1:
                said = "no column is" if role not in columns else "two columns are"
                example = f"'{self.file}?columns=user,target&relation=friend'"
                relation = example if inline else 'relation = "..."'
                more = f"; of a file without relations say {relation}" if role == "relation" else ""
                raise self.error("columns", f"{said} {role!r}", hint + more)


def _sections(path: Path) -> list[Section]:
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        tables = parse_toml(text)
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
    positions = _section_lines(text)
    parts = []
    for kind, entries in tables.items():
        items = entries if isinstance(entries, list) else [entries]
        repeated = isinstance(entries, list) == (kind != "kinds")
        if kind not in _TITLES or not repeated or not all(isinstance(i, dict) for i in items):
            line = positions[kind][0][0] if kind in positions else positions[""][0][1].get(kind)
            if kind in _TITLES:
                raise DataError(file, f"{kind} is written {_TITLES[kind]}", line)
            near = suggest(kind, _TITLES)
            hint = f"did you mean {_TITLES[near]}? " if near else ""
            hint += f"there are {', '.join(_TITLES.values())}"
            raise DataError(file, f"unknown section {kind!r}", line, hint=hint)
        for number, item in enumerate(items):
            line, lines = positions[kind][number] if number < len(positions.get(kind, ())) else (None, {})
            parts.append(Section(file, kind, item, line, lines))
    return parts


def _section_lines(text: str) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """Lines of sections and their keys; lines of multi-line texts may be mistaken for them."""
    here: dict[str, int] = {}
    positions: dict[str, list[tuple[int, dict[str, int]]]] = {"": [(1, here)]}
    for number, line in enumerate(text.splitlines(), 1):
        if title := re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", line):
            here = {}
            positions.setdefault(title[1], []).append((number, here))
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            here.setdefault(key[1], number)
    return positions


def _typed(part: Section) -> Mapping[str, Any]:
    for key, value in part.entries.items():
        known = _KEYS[part.kind]
        if key not in known:
            raise _unknown(part, key)
        form, example = _SHOWN[known[key]]
        plain = type(value) is known[key] and not (isinstance(value, int) and value < 0)
        if not plain or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
            raise part.error(key, f"{key} is {form}, not {value!r}", f"for instance {key} = {example}")
    return part.entries


def _unknown(part: Section, key: str) -> DataError:
    known = _KEYS[part.kind]
    near = suggest(key, known)
    asked = f"did you mean {near}? " if near else ""
    return part.error(key, f"unknown key {key!r} of {part.kind}", f"{asked}there are {', '.join(known)}")


def typed_text(file: str, kind: str, entries: Mapping[str, str]) -> dict[str, Any]:
    """Convert command-line options to the types of schema keys; lists are separated by commas."""
    found: dict[str, Any] = {}
    for key, text in entries.items():
        form = _KEYS[kind].get(key)
        if form is None or key == "files":
            raise _unknown(Section(file, kind, entries), key)
        if (form is bool and text not in ("true", "false")) or (form is int and not text.isdecimal()):
            what, example = _SHOWN[form]
            raise DataError(file, f"{key} is {what}, not {text!r}", hint=f"for instance {key}={example}")
        found[key] = text.split(",") if form is list else text == "true" if form is bool else form(text)
    return found


def read_schema(path: Path | str) -> Schema:
    """Read a schema file; file paths in it are relative to it.

    Raises
    ------
    DataError
        If it is no valid TOML, or has an unknown key, a wrong type or contradictory values.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    found = _sections(path)
    data = tuple(_data(part, path.parent) for part in found if part.kind != "kinds")
    kinds = next((part for part in found if part.kind == "kinds"), Section(str(path), "kinds", {}))
    if all(part.kind == "names" for part in data):
        raise DataError(
            str(path), "no data are named", hint="write a section [[triples]] or [[tables]] with files"
        )
    return _checked(Schema(data, _kinds(kinds), str(path), kinds.line))


def schema_of_options(
    files: Sequence[str],
    *,
    attributes: Sequence[str] = (),
    numeric: Sequence[str] = (),
    relations: Sequence[str] = (),
    mutual: Sequence[str] = (),
    ignore: Sequence[str] = (),
    others: str | None = None,
    table: bool = False,
) -> Schema:
    """Build a schema from options instead of a file.

    Parameters
    ----------
    files
        Files of triples, optionally with options after a question mark: the keys of a section of the schema, lists
        separated by commas, as in ``facts.txt?columns=user,target,relation&skip=1``.
    attributes, numeric, relations, mutual, ignore
        Names of categorical and numeric attributes, of relations, of mutual relations, and names to leave out.
    others
        Kind of all other names; see `Kinds`.
    table
        Whether the files are tables.

    Raises
    ------
    DataError
        If an option is unknown or contradicts others.
    """
    data, kind = [], "tables" if table else "triples"
    for text in files:
        spec = parse_file(text)
        file = str(spec.path)
        entries = typed_text(file, kind, spec.options)
        data.append(_data(Section(file, kind, {"files": [file], **entries}), Path()))
    lists = numeric, attributes, relations, mutual, ignore
    kinds: dict[str, Any] = {name: list(entries) for name, entries in zip(OTHERS, lists, strict=True)}
    if others is not None:
        kinds["others"] = others
    return _checked(Schema(tuple(data), _kinds(Section("options", "kinds", kinds))))


def _data(part: Section, folder: Path) -> Data:
    entries = _typed(part)
    relation, columns, of = entries.get("relation"), entries.get("columns"), tuple(entries.get("of", ()))
    header = entries.get("header", part.kind == "tables")
    if part.kind == "names":
        wrong = [o for o in of if o not in ("users", "values", "relations")]
        if wrong or not of:
            said = f"of cannot be {wrong[0]!r}" if wrong else "nothing is given that has these names"
            raise part.error("of", said, 'write of = ["users"], or "values", "relations", or several of them')
    if part.kind == "tables":
        if columns is not None and header:
            hint = "write header = false if the file has none"
            raise part.error("columns", "the columns have names already", hint)
    else:
        roles = tuple(r for r in ROLES if r != "relation" or relation is None)
        roles = ("name", "id") if part.kind == "names" else roles
        columns = roles if columns is None else columns
        part.check_columns(tuple(columns), roles, constant="relation" if relation is not None else None)
    if not entries.get("files"):
        raise part.error("files", "no file is named", 'write files = ["..."]')
    return Data(
        part.kind,
        tuple(file_of(part, folder / name, entries, header=header) for name in entries["files"]),
        None if columns is None else tuple(columns),
        relation,
        entries.get("id"),
        of,
        entries.get("names", True),
        tuple(entries.get("missing", ())),
    )


def file_of(part: Section, path: Path, entries: Mapping[str, Any], *, header: bool) -> File:
    """Convert the keys of a section to reading options; a `DataError` if people are not read from the format."""
    from kgreason.data.format_list import understood

    options = {
        name: str(entries[name]) for name in ("delimiter", "quote", "encoding", "skip") if name in entries
    }
    spec = SourceSpec(path, entries.get("format"), options)
    kind = spec.kind("edges")
    if kind not in ("csv", "tsv", "edges", "konect", "parquet"):
        raise part.error(
            "format", f"{path}: people are not read from {kind} files", "csv, tsv, edges and parquet are read"
        )
    if kind != "parquet":
        options["useHeaders"] = str(header).lower()
    elif "header" in entries:
        raise part.error("header", f"{path}: the columns of parquet files have names", "leave it out")
    spec = SourceSpec(path, kind, options)
    return File(spec, understood(spec))


def _kinds(part: Section) -> Kinds:
    entries = _typed(part)
    found: dict[str, str] = {}
    for kind in OTHERS:
        for name in entries.get(kind, ()):
            if name in found:
                twice = f"twice in {kind}" if found[name] == kind else f"in {found[name]} and in {kind}"
                raise part.error(kind, f"{name!r} is {twice}", "a name is of one kind: leave out one")
            found[name] = kind
    others = entries.get("others")
    if others is not None and others not in OTHERS:
        raise part.error("others", f"others cannot be {others!r}", f"one of {', '.join(OTHERS)}")
    return Kinds(**{kind: tuple(entries.get(kind, ())) for kind in OTHERS}, others=others)


def _checked(schema: Schema) -> Schema:
    named = [d for d in schema.data if d.kind != "names"]
    unnamed = [d for d in named if d.kind == "tables" and d.id is None]
    if unnamed and len(named) > 1:
        raise DataError(
            schema.file or unnamed[0].files[0].spec.file,
            "the users of a table are numbered, and other files name users as well",
            hint='say which column of the table names them: id = "..."',
        )
    return schema
