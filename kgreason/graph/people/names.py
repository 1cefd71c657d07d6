"""Tables of names: which name an id stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgreason.data.raw import Column, Raw, texts
from kgreason.errors import DataError
from kgreason.graph.model import Vertices
from kgreason.graph.people.parts import by_role, empty, read_raw
from kgreason.graph.people.sources import Data, File, Schema
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
    """See that whatever agrees in `keys` agrees in `values`."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
        if (gone := np.flatnonzero(empty(found[role]))).size:
            raise raw.error(int(gone[0]), f"the {role} is empty", hint="complete the line or remove it")
    return raw, found["id"], found["name"]


def _split(file: File, columns: Sequence[str]) -> Raw:
    """Split lines so that names may hold the delimiter: from the end of the line if names come first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = "".join(texts(file.spec.path, file.options.encoding))
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
