"""Statements of files (user, relation or attribute, target), and tables of names for ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import pa, pc
from kgreason.base.errors import DataError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.data.format_list import read_table
from kgreason.data.raw_table import Column, Raw
from kgreason.data.raw_table import texts as file_texts
from kgreason.data.text_conversion import as_texts
from kgreason.data.value_conversion import UNFIT_HINT, CastError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.vocabulary import suggest
from kgreason.people.file_schema import SKIPPED, Data, File, Kinds, Schema

_TITLES = {
    "user": {"user", "source", "head", "subject", "from", "person", "id"},
    "relation": {"relation", "attribute", "predicate", "property", "type", "edge"},
    "target": {"target", "value", "tail", "object", "to"},
}
_NUMBER = r"^\s*[+-]?[0-9]+([.,][0-9]+)?\s*$"
_FEWEST = 4  # further rows needed to compare the first one with them
_MOSTLY = 0.5  # share of other names that repeat, from which a unique name is unusual
Flags = npt.NDArray[np.bool_]
_UNFIT = "ignore the column, or write it as text or numbers where the table is made"
_IS_NUMBER = re.compile(r"[+-]?[\d.,]+(?:_\d+)?")  # readers append _2 to repeated names


def _check_first(
    raw: Raw, found: Mapping[str, Column], missing: Sequence[str], progress: Progress, *, inline: bool
) -> None:
    """Reject a first line that consists of words such as user and value, and note one unlike all others."""
    # It is unlike the others if it has words where the other cells of a column are all numbers, or if it is the
    # only line neither of whose ends occurs again, while most names repeat.
    cells = {role: column[0].as_py().strip() for role, column in found.items()}
    say = "header=true behind the name of the file" if inline else "header = true"
    shown = ", ".join(cells.values())
    if all(cell.lower() in _TITLES[role] for role, cell in cells.items()):
        what = f"the first line ({shown}) looks like names of columns"
        raise raw.error(0, what, hint=f"say {say}")
    if raw.named or len(found["user"]) <= _FEWEST or {"", *missing} & set(cells.values()):
        return
    number = [
        pc.match_substring_regex(found[role], _NUMBER).to_numpy(zero_copy_only=False)
        for role in ("user", "target")
    ]
    words_above = not any(each[0] for each in number) and any(each[1:].all() for each in number)
    if words_above or _alone(found):
        line = raw.line(0)
        place = raw.file if line is None else f"{raw.file}:{line}"
        progress.note(
            f"{place}: the first line ({shown}) is unlike the others, and is taken for data. If it holds names of "
            f"columns, say {say}"
        )


def _alone(found: Mapping[str, Column]) -> bool:
    """Whether the first line is the only one whose ends are unique; its relation must be, too."""
    for role, cell in ((role, column[0]) for role, column in found.items()):
        columns = [found["relation"]] if role == "relation" else [found["user"], found["target"]]
        if sum(pc.sum(pc.equal(column, cell)).as_py() for column in columns) != 1:
            return False
    coded = pa.concat_arrays([found["user"], found["target"]]).dictionary_encode()
    codes = coded.indices.to_numpy()
    times = np.bincount(codes)
    once = (times[codes] == 1).reshape(2, -1).all(axis=0)
    others = len(times) - 2
    return bool(not once[1:].any() and (times > 1).sum() > _MOSTLY * others)


@record
class Part:
    """Statements of one file, or of one column of a table.

    Attributes
    ----------
    row
        Row of each statement in the file, int64, shape (m,).
    user, target
        Arrow texts, shape (m,).
    names, name
        Relations and attributes, and the index of that of each statement, int64, shape (m,); -1: the statement only
        names a user.
    looked_up
        Whether ids are replaced by names.
    table
        Whether the statements are of a table; then only ids of users are replaced.
    both
        Whether the file states that its links run both ways.
    constant
        Whether the relation is set by the schema, not the file.
    missing
        Texts for a missing value.
    number, other
        After numbering: subject and target of each statement, int64, shape (m,); -1: the target is no user.
    """

    raw: Raw
    row: Vertices
    user: Column
    names: tuple[str, ...]
    name: Vertices
    target: Column
    looked_up: bool
    table: bool = False
    constant: bool = False
    both: bool = False
    missing: tuple[str, ...] = ()
    number: Vertices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    other: Vertices = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Vertices) -> Part:
        """A selection of the statements."""
        at = pa.array(rows)
        return replace(
            self,
            row=self.row[rows],
            user=self.user.take(at),
            name=self.name[rows],
            target=self.target.take(at),
            number=self.number[rows] if len(self.number) else self.number,
            other=self.other[rows] if len(self.other) else self.other,
        )


def parts_of(schema: Schema, progress: Progress) -> Iterator[Part]:
    """Read all files of a schema except tables of names: tables first, then triples.

    Raises
    ------
    DataError
        If a file cannot be read, or a statement lacks its user or relation.
    """
    for data in sorted(schema.data, key=lambda data: data.kind != "tables"):
        count = 0
        for file in data.files if data.kind != "names" else ():
            raw = read_raw(file, progress)
            if data.kind == "tables":
                yield from _cells(data, raw, count, schema.kinds)
                count += len(raw)
            else:
                yield _statements(data, file, raw, progress, inline=schema.file is None)
            progress.advance()


def read_raw(file: File, progress: Progress) -> Raw:
    """Read a file as text columns, and pass on notes."""
    raw = read_table(file.spec, file.options) if file.table is None else file.table
    for note in (*raw.notes, raw.doubt):
        if note:
            progress.note(note)
    if len(raw) and file.table is None and file.spec.kind() in ("edges", "konect"):
        first, last = raw.line(0), raw.line(len(raw) - 1)
        between = 0 if first is None or last is None else last - first + 1 - len(raw)
        if between > 0:
            progress.note(
                f"{raw.file}: {between:,} lines between others were passed over, blank or comments (% or #)"
            )
    return raw


def texts(column: Column) -> Column:
    """A column as one Arrow array of texts; null becomes the empty text."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.fill_null(column.cast(pa.large_string()), "")


def texts_of(raw: Raw, place: int, title: str, hint: str | None = None) -> Column:
    """A column of a file as texts; a `DataError` names a value without a text form, with `hint` or a general one."""
    if not len(raw):
        return pa.array([], pa.large_string())
    try:
        return texts(as_texts(raw.columns[place]))
    except CastError as error:
        hint = hint or (_UNFIT if error.hint == UNFIT_HINT else error.hint)
        raise raw.error(error.row, f"{error.value} is not {error.expected}", title, hint) from error


def by_role(raw: Raw, columns: Sequence[str], *, inline: bool = False) -> dict[str, Column]:
    """Columns of a file by role; a `DataError` if their number differs.

    `inline`: options are part of the file name, not of a schema.
    """
    if raw.columns and len(raw.columns) != len(columns):
        width = len(raw.columns)
        raise DataError(
            raw.file,
            f"the file has {width} column{'s' * (width != 1)}, not the {len(columns)} of {', '.join(columns)}",
            raw.line(0) if len(raw) else None,
            hint=_widths(raw.file, width, columns, inline=inline),
        )
    return {role: texts_of(raw, place, role) for place, role in enumerate(columns) if role != SKIPPED}


def _widths(file: str, width: int, columns: Sequence[str], *, inline: bool) -> str:
    if width > len(columns):
        names = [*columns, SKIPPED]
        said = f"'{file}?columns={','.join(names)}'" if inline else f"columns = {json.dumps(names)}"
        return f"name each, as in {said}: {SKIPPED} is not read"
    if width == 1:
        said = f"'{file}?delimiter=;'" if inline else 'delimiter = ";"'
        return f"which delimiter separates the columns? Say for instance {said}"
    said = f"'{file}?columns=user,target&relation=friend'" if inline else 'relation = "friend"'
    return f"of a file without relations say for instance {said}"


def empty(column: Column, missing: Sequence[str] = ()) -> Flags:
    """Mask of empty texts, including `missing` ones."""
    bare = pc.utf8_trim_whitespace(column)
    marked: Flags = pc.is_in(bare, pa.array(["", *missing], column.type)).to_numpy(zero_copy_only=False)
    return marked


def _check_filled(raw: Raw, column: Column, message: str, title: str | None = None) -> None:
    if (gone := np.flatnonzero(empty(column))).size:
        raise raw.error(int(gone[0]), message, title, "complete the line or remove it")


def _statements(triples: Data, file: File, raw: Raw, progress: Progress, *, inline: bool) -> Part:
    found = by_role(raw, triples.columns or (), inline=inline)
    row = np.arange(len(found["user"]), dtype=np.int64)
    for role in ("user", "relation"):
        if role in found:
            _check_filled(raw, found[role], f"the {role} is empty")
    if not file.options.header and len(row):
        _check_first(raw, found, triples.missing, progress, inline=inline)
    if "relation" in found:
        coded = found["relation"].dictionary_encode()
        names, name = tuple(coded.dictionary.to_pylist()), coded.indices.to_numpy().astype(np.int64)
    else:
        names, name = (triples.relation or "",), np.zeros(len(row), dtype=np.int64)
    return Part(
        *(raw, row, found["user"], names, name, found["target"], triples.names),
        constant=triples.relation is not None,
        both=raw.undirected is not None,
        missing=triples.missing,
    )


def _cells(table: Data, raw: Raw, before: int, kinds: Kinds) -> Iterator[Part]:
    titles = _titles(table, raw)
    row = np.arange(len(raw), dtype=np.int64)
    place = _place(table, raw, titles)
    if place is None:
        user = pa.array(np.arange(before + 1, before + 1 + len(raw))).cast(pa.large_string())
    else:
        user = texts_of(raw, place, titles[place])
        _check_filled(raw, user, "the user has no name", titles[place])
    zeros = np.zeros(len(raw), dtype=np.int64)
    unread = pa.array([""], pa.large_string()).take(pa.array(zeros))
    whole = Part(raw, row, user, (), zeros - 1, unread, table.names, table=True, missing=table.missing)
    yield whole
    named = kinds.named()
    for column, title in enumerate(titles):
        if column != place and title != SKIPPED:
            ignored = named.get(title, kinds.others) == "ignore"
            target = unread if ignored else texts_of(raw, column, title)
            yield replace(whole, names=(title,), name=zeros, target=target)


def _titles(table: Data, raw: Raw) -> tuple[str, ...]:
    """Column names; a first line of data is rejected, as it would be published and its user lost."""
    width = len(raw.columns)
    if table.columns is not None:
        if width and len(table.columns) != width:
            what = f"the file has {width} columns, and columns names {len(table.columns)}"
            hint = f'name each, with "{SKIPPED}" for one that is not read'
            raise DataError(raw.file, what, raw.line(0), hint=hint)
        return table.columns
    if not raw.named:
        return tuple(str(i + 1) for i in range(width))
    twice = raw.repeated or sorted({name for name in raw.names if raw.names.count(name) > 1})
    numbers = [name for name in raw.names if _IS_NUMBER.fullmatch(name.strip())]
    if twice or numbers:
        said = f"two columns are called {twice[0]!r}" if twice else f"a column is called {numbers[0]!r}"
        what = f"{said}: the first line looks like data, not like names of columns"
        hint = "say header = false, or give columns names that differ and are no numbers"
        raise DataError(raw.file, what, raw.title_line, hint=hint)
    return raw.names


def _place(table: Data, raw: Raw, titles: tuple[str, ...]) -> int | None:
    if table.id is None:
        return None
    if table.id in titles:
        return titles.index(table.id)
    near = suggest(table.id, titles)
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(titles[:20])}"
    what = f"there is no column {table.id!r} that names the users"
    raise DataError(raw.file, what, raw.title_line, hint=hint)


# Tables of names

_ONE = {"users": "user", "values": "value", "relations": "relation"}


@dataclass(frozen=True)
class Lookup:
    """Names for ids of users, values or relations.

    Attributes
    ----------
    what
        users, values or relations.
    file
        File of the names, for messages.
    ids, names
        Arrow texts; ids are unique.
    """

    what: str
    file: str
    ids: Column
    names: Column

    def of(self, column: Column, raw: Raw, row: Vertices) -> Column:
        """Replace a column of ids by their names; a `DataError` names the first id without a name."""
        at = pc.index_in(column, value_set=self.ids)
        if at.null_count:
            first = int(np.flatnonzero(at.is_null().to_numpy(zero_copy_only=False))[0])
            raise raw.error(
                int(row[first]),
                f"the {_ONE[self.what]} {column[first].as_py()!r} has no name in {self.file}",
                hint="add it there; of files that hold names already say names = false",
            )
        return self.names.take(at)


def lookups(schema: Schema, progress: Progress) -> Mapping[str, Lookup]:
    """Read the tables of names, by kind of id; names of users and of relations are unique."""
    found: dict[str, list[tuple[Raw, Column, Column]]] = {}
    for names in schema.data:
        for file in names.files if names.kind == "names" else ():
            raw, ids, labels = _read(names, file, progress)
            for what in names.of:
                found.setdefault(what, []).append((raw, ids, labels))
            progress.advance()
    made = {}
    for what, tables in found.items():
        ids, labels = (pa.concat_arrays([t[i] for t in tables]) for i in (1, 2))
        _check_unique(tables, ids, labels, f"the id of a {_ONE[what]}", "names")
        codes = ids.dictionary_encode().indices.to_numpy()
        first = pa.array(np.unique(codes, return_index=True)[1])
        ids, labels = ids.take(first), labels.take(first)
        if what != "values":
            _check_unique(tables, labels, ids, f"the name of a {_ONE[what]}", "ids")
        made[what] = Lookup(
            what, tables[0][0].file if len(tables) == 1 else "the tables of names", ids, labels
        )
    return made


def _check_unique(
    tables: Sequence[tuple[Raw, Column, Column]], keys: Column, values: Column, what: str, plural: str
) -> None:
    """Check that rows equal in `keys` are equal in `values`."""
    key, value = (c.dictionary_encode().indices.to_numpy().astype(np.int64) for c in (keys, values))
    order = np.lexsort((value, key))
    wrong = order[1:][(np.diff(key[order]) == 0) & (np.diff(value[order]) != 0)]
    if not len(wrong):
        return
    shown = keys[int(wrong.min())].as_py()
    pair = values.filter(pa.array(key == key[wrong.min()])).unique().to_pylist()[:2]
    column = 1 if plural == "names" else 2
    for table in reversed(tables):
        at = pc.equal(table[column], pa.scalar(shown, keys.type)).to_numpy(zero_copy_only=False)
        if at.any():
            raise table[0].error(
                int(np.flatnonzero(at)[-1]),
                f"{shown!r} is {what} for two {plural}: {pair[0]!r} and {pair[1]!r}",
                hint="keep one of the lines" if plural == "names" else "give them different names",
            )


def _read(names: Data, file: File, progress: Progress) -> tuple[Raw, Column, Column]:
    columns = names.columns or ()
    raw = read_raw(file, progress) if file.spec.kind("edges") != "edges" else _split(file, columns)
    found = by_role(raw, columns)
    for role in ("id", "name"):
        _check_filled(raw, found[role], f"the {role} is empty")
    return raw, found["id"], found["name"]


def _split(file: File, columns: Sequence[str]) -> Raw:
    """Split lines whose names may contain the delimiter: from the end of the line if names come first."""
    text = "".join(file_texts(file.spec.path, file.options.encoding))
    lines = pc.list_flatten(pc.split_pattern(pa.array([text], pa.large_string()), "\n"))
    lines = pc.ascii_rtrim(lines, "\r")
    number = np.arange(1, len(lines) + 1)
    kept = pc.not_equal(pc.ascii_trim_whitespace(lines), "").to_numpy(zero_copy_only=False)
    kept &= number > file.options.skip
    header = bool(file.options.header)
    lines, number = lines.filter(pa.array(kept))[header:], number[kept][header:]
    if not len(lines):
        return Raw(file.spec.file, tuple(columns), (), lambda _: None)
    delimiter = file.options.delimiter or next((d for d in "\t," if d in lines[0].as_py()), " ")
    last = columns[0] == "name"
    fields = pc.split_pattern(lines, delimiter, max_splits=len(columns) - 1, reverse=last)
    widths = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
    if (odd := np.flatnonzero(widths != len(columns))).size:
        shown = {"\t": "tab", " ": "blank"}.get(delimiter, repr(delimiter))
        raise DataError(
            file.spec.file,
            f"{widths[odd[0]]} fields, separated by {shown}, where {', '.join(columns)} are {len(columns)}",
            int(number[odd[0]]),
            hint="say columns = or delimiter =; lines before the data are passed over with skip =",
        )
    split = tuple(pc.list_element(fields, i) for i in range(len(columns)))
    return Raw(file.spec.file, tuple(columns), split, lambda row: int(number[row]))
