"""Import files of Neo4j: nodes with labels and properties, and relationships between their ids.

References
----------
Neo4j Operations Manual, Import, neo4j-admin database import.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.arrays import as_arrow
from kgreason.data.delimited import read_columns, records
from kgreason.engine.table import Kind
from kgreason.errors import DataError
from kgreason.graph.io.cast import coded
from kgreason.graph.io.naming import named
from kgreason.graph.io.neo4j_files import Group, delimiters, groups_of
from kgreason.graph.io.neo4j_header import DATES, DOUBLES, INTEGERS, Field
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import Column, Raw
from kgreason.graph.io.values import CastError

_KINDS = {
    **dict.fromkeys(INTEGERS, Kind.INT),
    **dict.fromkeys(DOUBLES, Kind.DOUBLE),
    **dict.fromkeys(DATES, Kind.DATE),
    "boolean": Kind.BOOL,
}
_ROLES = {"ID": "id", "START_ID": "source", "END_ID": "target"}
_MARKS = (":TYPE", ":LABEL")

Lines = Callable[[int], int | None]
"""Line in its file of each row."""


def read_neo4j(path: Path, options: Options) -> Raw:
    """Read relationships, with the nodes beside them, or nodes alone.

    A relationship has source, target and a weight: the property ``weight``, or the only one that is a number. All
    other properties, ``:TYPE`` and ``:LABEL`` are columns that `columns` can choose by name.

    Raises
    ------
    DataError
        If a header or a value is wrong, nothing is of the type or label asked for, or two id spaces share ids.
    """
    groups, notes = groups_of(path, options)
    nodes = [g for g in groups if any(f.role == "ID" for f in g.fields)]
    links = [g for g in groups if g not in nodes]
    vertices = _nodes(_place(path, nodes), nodes, options) if nodes else None
    if not links:
        if options.type is not None:
            raise DataError(str(path), "these are nodes, which have no type", hint="label= chooses nodes")
        assert vertices is not None
        return _noted(vertices, notes, own=vertices)
    raw = _links(_place(path, links), links, options)
    raw = _noted(raw, notes, own=vertices)
    return named(raw, options, usual=False)


def _place(path: Path, groups: Sequence[Group]) -> str:
    """Where messages look for rows: in their file, if it is one."""
    files = [file for group in groups for file, _ in group.files]
    return str(files[0] if len(files) == 1 else path)


def _noted(raw: Raw, notes: Sequence[str], own: Raw | None) -> Raw:
    return replace(raw, notes=(*raw.notes, *notes), vertices=own)


def _nodes(file: str, groups: Sequence[Group], options: Options) -> Raw:
    table, line = _table(file, groups, options)
    if options.label is not None:
        table, line = _chosen(file, table, line, ":LABEL", options.label)
    named = [name for name in table.column_names if name != "id" and name not in _MARKS]
    return Raw(
        file,
        ("id", *named),
        tuple(table.column(name) for name in ("id", *named)),
        line,
        extra=_extra(table, groups),
        typed=True,
    )


def _links(file: str, groups: Sequence[Group], options: Options) -> Raw:
    table, line = _table(file, groups, options)
    notes: tuple[str, ...] = ()
    if options.type is not None:
        table, line = _chosen(file, table, line, ":TYPE", options.type)
    elif ":TYPE" in table.column_names:
        types = [t for t in table.column(":TYPE").unique().to_pylist() if t is not None]
        if len(types) > 1:
            shown = ", ".join(types[:5]) + ", ..." * (len(types) > 5)
            notes = (
                f"{file}: relationships of {len(types)} types ({shown}) are read; type={types[0]} takes one",
            )
    weight, doubtful = _weight(groups)
    columns = ("source", "target", *((weight,) if weight else ()))
    return Raw(
        file,
        ("source", "target", *(("weight",) if weight else ())),
        tuple(table.column(name) for name in columns),
        line,
        named=False,
        graph=True,
        notes=notes,
        attributes=doubtful,
        extra=_extra(table, groups),
        typed=True,
    )


def _weight(groups: Sequence[Group]) -> tuple[str | None, tuple[str, ...]]:
    """The property that is the weight of relationships, or those that may be."""
    fields = [f for g in groups for f in g.fields if not f.role and not f.array]
    numbers = list(dict.fromkeys(f.name for f in fields if f.type in INTEGERS | DOUBLES))
    if "weight" in numbers or len(numbers) == 1:
        return "weight" if "weight" in numbers else numbers[0], ()
    return None, tuple(numbers)


def _extra(table: Any, groups: Sequence[Group]) -> dict[str, Column]:
    """Columns by the names of properties, by ``:TYPE`` and ``:LABEL``, and as the header writes them."""
    found = {name: table.column(name) for name in table.column_names}
    for field in (f for g in groups for f in g.fields if f.role != "IGNORE"):
        own = _ROLES.get(field.role) or (f":{field.role}" if field.role else field.name)
        found.setdefault(field.written, found[own])
        if field.name:
            found.setdefault(field.name, found[own])
    return found


def _table(file: str, groups: Sequence[Group], options: Options) -> tuple[Any, Lines]:
    """Rows of all groups, and the line of each where there is one file."""
    import pyarrow as pa

    tables, spaces = [], dict[str, list[Column]]()
    for group in groups:
        for (path, own), delimiter in zip(group.files, delimiters(group.files, options), strict=True):
            tables.append(_read(path, group, options, delimiter, spaces, own=own))
    if options.spaces is None:
        _check_spaces(file, spaces)
    table = pa.concat_tables(tables, promote_options="permissive")
    filled = [(p, o) for g in groups for p, o in g.files]
    if len(filled) == 1:
        path, own = filled[0]
        delimiter = delimiters(filled, options)[0]
        return table, lambda row: _line(path, options, delimiter, row + own)
    return table, lambda _: None


def _line(path: Path, options: Options, delimiter: str, record: int) -> int | None:
    return next(itertools.islice(records(path, options, delimiter), record, None), (None, ()))[0]


def _read(
    path: Path, group: Group, options: Options, delimiter: str, spaces: dict[str, list[Column]], *, own: bool
) -> Any:
    """Table of one file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = read_columns(path, options, delimiter, len(group.fields), header=own, nulls=True)
    columns: dict[str, Column] = {}
    for field, column in zip(group.fields, cells, strict=True):
        if field.role == "IGNORE":
            continue
        name = _ROLES.get(field.role) or (f":{field.role}" if field.role else field.name)
        if field.role in _ROLES:
            if column.null_count:
                row = int(np.argmax(column.is_null().to_numpy()))
                raise DataError(
                    str(path),
                    "the cell is empty",
                    _line(path, options, delimiter, row + own),
                    field.written,
                    "give the node an id, or take the line out",
                )
            spaces.setdefault(field.space, []).append(column)
            if options.spaces and field.space:
                large = pa.large_string()
                mark, nothing = pa.scalar(f"{field.space}:", large), pa.scalar("", large)
                column = pc.binary_join_element_wise(mark, column.cast(large), nothing)
        elif not field.role:
            try:
                column = _typed(column, field)
            except CastError as error:
                what = f"{error.value!r} is not {error.expected}"
                line = _line(path, options, delimiter, error.row + own)
                raise DataError(str(path), what, line, field.written, error.hint) from error
        columns[name] = column.cast(pa.large_string()) if pa.types.is_string(column.type) else column
    return pa.table(columns)


def _typed(column: Column, field: Field) -> Column:
    """Values of a property; what the header says nothing of is text."""
    import pyarrow as pa

    kind = _KINDS.get(field.type)
    column = column.combine_chunks().cast(pa.large_string())
    if field.array:
        return _arrays(column, kind)
    return column if kind is None else _values(column, kind)


def _values(column: Column, kind: Kind) -> Column:
    """Typed values, with missing ones where the cells are empty."""
    present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    try:
        codes = coded(column.drop_null(), kind) if len(present) else np.empty(0, dtype=np.int64)
    except CastError as error:
        error.row = int(present[error.row])
        raise
    forms = {Kind.DOUBLE: "float64", Kind.DATE: "datetime64[us]"}
    values = codes.astype(bool) if kind is Kind.BOOL else codes.view(forms.get(kind, "int64"))
    found = as_arrow(values)
    if len(found) == len(column):
        return found
    import pyarrow as pa

    place = np.full(len(column), -1)
    place[present] = np.arange(len(present))
    return found.take(pa.array(place, mask=place < 0))


def _arrays(column: Column, kind: Kind | None) -> Column:
    """Lists of the values between semicolons."""
    import pyarrow as pa
    import pyarrow.compute as pc

    split = pc.split_pattern(column, ";")
    inner = split.flatten()
    if kind is None:
        return split
    try:
        values = _values(inner, kind)
    except CastError as error:
        offsets = split.offsets.to_numpy()
        error.row = int(np.searchsorted(offsets, error.row, side="right")) - 1
        raise
    return pa.LargeListArray.from_arrays(split.offsets.cast(pa.int64()), values, mask=split.is_null())


def _chosen(file: str, table: Any, line: Lines, column: str, wanted: str) -> tuple[Any, Lines]:
    """Rows of the types or labels asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    what = "relationships of the type" if column == ":TYPE" else "nodes with the label"
    if column not in table.column_names:
        raise DataError(
            file,
            f"there is no column {column}, so there are no {what} {wanted!r}",
            hint=f"leave out {'type' if column == ':TYPE' else 'label'}=",
        )
    names = [name.strip() for name in wanted.split(",")]
    labels = pc.split_pattern(pc.fill_null(table.column(column), ""), ";").combine_chunks()
    known = labels.flatten().unique().to_pylist()
    for name in names:
        if name not in known:
            raise DataError(
                file, f"there are no {what} {name!r}", hint=f"there are {', '.join(sorted(known))}"
            )
    hits = pc.is_in(labels.flatten(), pa.array(names, labels.type.value_type)).to_numpy(zero_copy_only=False)
    rows = np.unique(np.repeat(np.arange(len(labels)), pc.list_value_length(labels).to_numpy())[hits])
    return table.take(as_arrow(rows)), lambda row: line(int(rows[row]))


def _check_spaces(file: str, spaces: dict[str, list[Column]]) -> None:
    """Refuse ids that stand in two spaces: without more they would be one vertex."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = {
        space: pa.chunked_array([chunk for c in columns for chunk in c.chunks], pa.string()).unique()
        for space, columns in spaces.items()
    }
    for one, two in itertools.combinations(ids, 2):
        both = ids[two].filter(pc.is_in(ids[two], ids[one]))
        if len(both):
            raise DataError(
                file,
                f"the id {both[0].as_py()!r} stands in the id spaces {one!r} and {two!r}",
                hint=f"spaces=true calls it {two}:{both[0].as_py()} there; spaces=false takes both for one",
            )
