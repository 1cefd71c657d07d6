"""Tables of names: which name an id stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgreason.data.options import Options
from kgreason.data.raw import Column, Raw, decoded, whole_lines
from kgreason.errors import DataError
from kgreason.graph.model import Vertices
from kgreason.graph.people.parts import by_role, empty, read_raw
from kgreason.graph.people.sources import File, Names, Schema
from kgreason.progress import Progress

_ONE = {"users": "user", "values": "value", "relations": "relation"}


@dataclass(frozen=True)
class Lookup:
    """Names of the ids of users, of values or of relations.

    Attributes
    ----------
    what
        users, values or relations.
    file
        Where they stand, for messages.
    ids, names
        Arrow texts; ids are unique.
    """

    what: str
    file: str
    ids: Column
    names: Column

    def of(self, column: Column, raw: Raw, row: Vertices) -> Column:
        """Names of a column of ids.

        Raises
        ------
        DataError
            At the first id without a name.
        """
        import pyarrow.compute as pc

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
    """Read the tables of names, by what they are of.

    Raises
    ------
    DataError
        If an id has two names, or if two users or two relations have one.
    """
    import pyarrow as pa

    found: dict[str, list[tuple[Raw, Column, Column]]] = {}
    for names in schema.names:
        for file in names.files:
            raw, ids, labels = _read(names, file, progress)
            for what in names.of:
                found.setdefault(what, []).append((raw, ids, labels))
            progress.advance()
    made = {}
    for what, tables in found.items():
        ids, labels = (pa.concat_arrays([t[i] for t in tables]) for i in (1, 2))
        _check_unique(tables, ids, labels, f"the id of a {_ONE[what]}", "names")
        first = _first(ids)
        ids, labels = ids.take(pa.array(first)), labels.take(pa.array(first))
        if what != "values":
            _check_unique(tables, labels, ids, f"the name of a {_ONE[what]}", "ids")
        made[what] = Lookup(
            what, tables[0][0].file if len(tables) == 1 else "the tables of names", ids, labels
        )
    return made


def _first(column: Column) -> Vertices:
    """Where each text occurs first, in that order."""
    codes = column.dictionary_encode().indices.to_numpy()
    return np.unique(codes, return_index=True)[1].astype(np.int64)


def _check_unique(
    tables: Sequence[tuple[Raw, Column, Column]], keys: Column, values: Column, what: str, plural: str
) -> None:
    """See that whatever agrees in `keys` agrees in `values`."""
    key = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    value = values.dictionary_encode().indices.to_numpy().astype(np.int64)
    order = np.lexsort((value, key))
    wrong = order[1:][(np.diff(key[order]) == 0) & (np.diff(value[order]) != 0)]
    if not len(wrong):
        return
    shown = keys[int(wrong.min())].as_py()
    pair = values.filter(_equal(keys, shown)).unique().to_pylist()[:2]
    column = 1 if plural == "names" else 2
    for raw, *columns in reversed(tables):
        rows = np.flatnonzero(_equal(columns[column - 1], shown).to_numpy(zero_copy_only=False))
        if len(rows):
            raise raw.error(
                int(rows[-1]),
                f"{shown!r} is {what} for two {plural}: {pair[0]!r} and {pair[1]!r}",
                hint="keep one of the lines" if plural == "names" else "give them different names",
            )


def _equal(column: Column, text: str) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.equal(column, pa.scalar(text, column.type))


def _read(names: Names, file: File, progress: Progress) -> tuple[Raw, Column, Column]:
    kind = file.spec.kind("edges")
    raw = read_raw(file, progress) if kind != "edges" else _split(file, names.columns)
    found = by_role(raw, names.columns)
    for role in ("id", "name"):
        if (gone := np.flatnonzero(empty(found[role]))).size:
            raise raw.error(int(gone[0]), f"the {role} is empty", hint="complete the line or remove it")
    return raw, found["id"], found["name"]


def _split(file: File, columns: Sequence[str]) -> Raw:
    """Split lines so that names may hold the delimiter: from the end of the line if names come first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    options: Options = file.options
    text = _text(file)
    lines = pc.list_flatten(pc.split_pattern(pa.array([text], pa.large_string()), "\n"))
    lines = pc.ascii_rtrim(lines, "\r")
    number = np.arange(1, len(lines) + 1)
    kept = pc.not_equal(pc.ascii_trim_whitespace(lines), "").to_numpy(zero_copy_only=False) & (
        number > options.skip
    )
    lines, number = lines.filter(pa.array(kept)), number[kept]
    if options.header:
        lines, number = lines[1:], number[1:]
    if not len(lines):
        return Raw(file.spec.file, tuple(columns), (), lambda _: None)
    delimiter = options.delimiter or next((d for d in "\t," if d in lines[0].as_py()), " ")
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


def _text(file: File) -> str:
    blocks, first = [], 1
    for block in whole_lines(file.spec.path):
        blocks.append(decoded(file.spec.file, block, file.options.encoding, first))
        first += block.count(b"\n")
    return "".join(blocks)
