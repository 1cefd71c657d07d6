"""Neo4j import files: nodes with labels and properties, and relationships between node ids.

References
----------
Neo4j Operations Manual, Import, neo4j-admin database import and CSV header format.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.arrays import arrow_csv, as_arrow, as_numpy, pa, pc, strings
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.fact_columns import row_ranges, texts, typed_array
from kgreason.data.formats.delimited import line_of, read_columns, records
from kgreason.data.formats.vertex_names import named, vertices_of
from kgreason.data.raw_table import Column, Raw, no_file
from kgreason.data.source_options import Options
from kgreason.data.targets import Target
from kgreason.data.text_conversion import coded
from kgreason.data.value_conversion import CastError, joined, text
from kgreason.engine.relations.fact_tables import Facts, Kind, decode
from kgreason.language.check.file_access import parts_of
from kgreason.language.values import Value, ordered

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_HEADER = re.compile(r"[-_.]?headers?$", re.IGNORECASE)
_CELL = re.compile(
    r"(?P<name>.*?)(?::(?P<type>[A-Za-z][A-Za-z_]*)(?P<array>\[\])?(?:\((?P<space>[^)]*)\))?(?P<rest>\{.*\})?)?"
)
_ENDS = {"ID": "id", "START_ID": "source", "END_ID": "target"}
_ROLES = {**_ENDS, "TYPE": ":TYPE", "LABEL": ":LABEL", "IGNORE": ""}
_KINDS: dict[str, Kind | None] = {
    **dict.fromkeys(("int", "long", "short", "byte"), Kind.INT),
    **dict.fromkeys(("float", "double"), Kind.DOUBLE),
    **dict.fromkeys(("date", "datetime", "localdatetime"), Kind.DATE),
    **dict.fromkeys(("string", "char", "time", "localtime", "duration", "point")),
    "boolean": Kind.BOOL,
}
_TYPES = {Kind.INT: "long", Kind.DOUBLE: "double", Kind.BOOL: "boolean", Kind.DATE: "localdatetime"}
_ELEMENTS = {int: "long", float: "double", bool: "boolean", str: "string"}
_ODD = re.compile(r'[:(){}\[\],;"\r\n]')


@record
class Field:
    """A column declared in a header.

    `role` is ``ID``, ``START_ID``, ``END_ID``, ``TYPE``, ``LABEL`` or ``IGNORE``, and empty for other properties. The
    `type` is in lower case; cells of an `array` are lists; the id `space` is empty if there is only one.
    """

    written: str
    name: str
    role: str = ""
    type: str = "string"
    array: bool = False
    space: str = ""

    @property
    def column(self) -> str:
        """Column name in tables."""
        return _ROLES[self.role] if self.role else self.name


Group = tuple[Sequence[Field], Sequence[tuple[Path, bool]]]
"""Files with one header, each with whether the header is its first line."""


def is_header(cells: Sequence[str]) -> bool:
    """Whether a line is a header of an import file: it declares an id, or both ends of relationships.

    >>> is_header(["companyId:ID(Company)", "name"]), is_header([":START_ID", ":END_ID"]), is_header(["a:b", "ID"])
    (True, True, False)
    """
    roles = [field.role for field in map(_field, cells) if f":{field.role}" in field.written]
    return "ID" in roles or {"START_ID", "END_ID"}.issubset(roles)


def fields_of(file: str, line: int, cells: Sequence[str]) -> tuple[Field, ...]:
    """Parse a header."""
    fields = tuple(map(_field, cells))
    for field in fields:
        if not field.role and field.type not in _KINDS:
            hint = f"one of {', '.join(sorted(_KINDS))}"
            raise DataError(file, f"there is no type {field.type!r}", line, field.written, hint=hint)
        if field.written.endswith("}") and field.type == "datetime" and "timezone" in field.written:
            hint = "write a zone in each cell"
            raise DataError(file, "time zones of headers are not read", line, field.written, hint=hint)
    roles = [field.role for field in fields]
    for role in ("ID", "START_ID", "END_ID", "TYPE"):
        if roles.count(role) > 1:
            raise DataError(file, f"two columns :{role}", line, hint="leave one of them out, or say :IGNORE")
    if "ID" in roles or {"START_ID", "END_ID"}.issubset(roles):
        return fields
    what = "this is no header of Neo4j: it names neither :ID nor :START_ID and :END_ID"
    hint = "a header in a file of its own comes first: format=neo4j of nodes-header.csv,nodes.csv"
    raise DataError(file, what, line, hint=hint)


def _field(cell: str) -> Field:
    found = _CELL.fullmatch(cell.strip())
    if found is None:  # the cell contains a line end, which headers do not
        return Field(cell, cell)
    type = found["type"] or "string"
    role = type.upper() if type.upper() in _ROLES else ""
    array, space = found["array"] is not None, found["space"] or ""
    return Field(cell.strip(), found["name"], role, type.lower(), array, space)


class _Table:
    """Rows of nodes or relationships, from files with one or several headers; `file` locates them in messages."""

    def __init__(self, path: Path, groups: Sequence[Group], options: Options) -> None:
        self._options = options
        self.fields = [field for fields, _ in groups for field in fields if field.role != "IGNORE"]
        self._files = [file for _, some in groups for file in some]
        self.file = str(self._files[0][0] if len(self._files) == 1 else path)
        spaces: dict[str, list[Column]] = {}
        parts = [self._read(*file, fields, spaces) for fields, some in groups for file in some]
        if options.spaces is None and len(spaces) > 1:
            self._check_spaces(spaces)
        self.rows = pa.concat_tables(parts, promote_options="permissive")
        self._kept = np.arange(len(self.rows))

    def choose(self, column: str, wanted: str, what: str) -> None:
        if column not in self.rows.column_names:
            message = f"there is no column {column}, so there are no {what} {wanted!r}"
            raise DataError(self.file, message, hint=f"leave out {column[1:].lower()}=")
        names = [name.strip() for name in wanted.split(",")]
        labels = pc.split_pattern(pc.fill_null(self.rows.column(column), ""), ";").combine_chunks()
        flat = labels.flatten()
        known = sorted(flat.unique().to_pylist())
        for name in names:
            if name not in known:
                message = f"there are no {what} {name!r}"
                raise DataError(self.file, message, hint=f"there are {', '.join(known)}")
        hits = as_numpy(pc.is_in(flat, pa.array(names, flat.type)))
        self._kept = np.unique(labels.value_parent_indices().to_numpy()[hits])
        self.rows = self.rows.take(as_arrow(self._kept))

    def raw(self, columns: Sequence[str], names: Sequence[str], **more: Any) -> Raw:
        """Columns `columns` renamed to `names`; all others are available by property name and by header cell."""
        extra = {name: self.rows.column(name) for name in self.rows.column_names}
        for field in self.fields:
            for name in filter(None, (field.written, field.name)):
                extra.setdefault(name, extra[field.column])
        found = tuple(self.rows.column(name) for name in columns)
        return Raw(self.file, tuple(names), found, self._line, extra=extra, typed=True, **more)

    def _line(self, row: int) -> int | None:
        return self._line_in(*self._files[0], int(self._kept[row])) if len(self._files) == 1 else None

    def _line_in(self, path: Path, own: bool, row: int) -> int | None:
        return line_of(path, self._options, _delimiter(path, self._options), row + own)

    def _read(self, path: Path, own: bool, fields: Sequence[Field], spaces: dict[str, list[Column]]) -> Any:
        delimiter = _delimiter(path, self._options)
        cells = read_columns(path, self._options, delimiter, len(fields), header=own, nulls=True)
        columns: dict[str, Column] = {}
        for field, column in zip(fields, cells, strict=True):
            if field.role == "IGNORE":
                continue
            column = column.cast(pa.large_string())
            try:
                if field.role in _ENDS:
                    if column.null_count:
                        row = int(np.argmax(as_numpy(column.combine_chunks().is_null())))
                        raise CastError(row, "", "", "give the node an id, or take the line out")
                    spaces.setdefault(field.space, []).extend(column.chunks)
                    if self._options.spaces and field.space:
                        column = joined(f"{field.space}:", column)
                elif not field.role:
                    column = _typed(column.combine_chunks(), field)
            except CastError as error:
                what = f"{error.value!r} is not {error.expected}" if error.expected else "the cell is empty"
                line = self._line_in(path, own, error.row)
                raise DataError(str(path), what, line, field.written, error.hint) from error
            columns[field.column] = column
        return pa.table(columns)

    def _check_spaces(self, spaces: Mapping[str, Sequence[Column]]) -> None:
        """Reject ids that occur in two id spaces: without prefixes they would be one vertex."""
        ids = {space: pa.chunked_array(some, pa.large_string()).unique() for space, some in spaces.items()}
        for one, two in itertools.combinations(ids, 2):
            both = ids[two].filter(pc.is_in(ids[two], ids[one]))
            if len(both):
                what = f"the id {both[0].as_py()!r} is in the id spaces {one!r} and {two!r}"
                hint = f"spaces=true calls it {two}:{both[0].as_py()} there; spaces=false takes both for one"
                raise DataError(self.file, what, hint=hint)


def read_neo4j(path: Path, options: Options) -> Raw:
    """Read relationships together with their nodes, or nodes only.

    A relationship has source, target and a weight: the property ``weight``, or the only numeric one. All other
    properties, ``:TYPE`` and ``:LABEL`` are columns that `columns` can select by name.

    Headers: ``:ID`` and ``:LABEL`` of nodes; ``:START_ID``, ``:END_ID`` and ``:TYPE`` of relationships; properties
    with optional types (``share:double``; ``codes:string[]``, separated by semicolons). Separate headers come
    first: ``nodes-header.csv,nodes-1.csv,nodes-2.csv?format=neo4j``. A folder holds all nodes and relationships:
    ``register?format=neo4j``; there ``nodes-header.csv`` belongs to ``nodes.csv``, ``nodes-1.csv`` etc., and other
    files are skipped with a note.

    Unary predicates read ids of nodes, wider ones properties: ``columns=id,name``, or ``@mapping``.
    ``columns=id,:LABEL`` gives text such as ``Company;Bank``. ``names=name``, for a folder, names vertices by a
    property.

    Raises
    ------
    DataError
        If a header or value is invalid, no row has the requested type or label, or two id spaces share ids.
    """
    groups, notes = _folder(path, options) if path.is_dir() else ([_listed(path, options)], [])
    nodes = [group for group in groups if any(field.role == "ID" for field in group[0])]
    links = [group for group in groups if group not in nodes]
    vertices = None
    if nodes:
        table = _Table(path, nodes, options)
        if options.label is not None:
            table.choose(":LABEL", options.label, "nodes with the label")
        names = ["id", *(n for n in table.rows.column_names if n not in ("id", ":TYPE", ":LABEL"))]
        vertices = table.raw(names, names)
    if not links:
        if options.type is not None:
            raise DataError(str(path), "these are nodes, which have no type", hint="label= chooses nodes")
        assert vertices is not None
        return replace(vertices, notes=tuple(notes), vertices=vertices)
    table = _Table(path, links, options)
    if options.type is not None:
        table.choose(":TYPE", options.type, "relationships of the type")
    elif ":TYPE" in table.rows.column_names:
        types = table.rows.column(":TYPE").drop_null().unique().to_pylist()
        if len(types) > 1:
            shown = ", ".join(types[:5]) + ", ..." * (len(types) > 5)
            note = f"relationships of {len(types)} types ({shown}) are read; type={types[0]} takes one"
            notes = [f"{table.file}: {note}", *notes]
    properties = [field for field in table.fields if not field.role and not field.array]
    numbers = list(dict.fromkeys(f.name for f in properties if _KINDS[f.type] in (Kind.INT, Kind.DOUBLE)))
    weight = ["weight"] if "weight" in numbers else numbers if len(numbers) == 1 else []
    raw = table.raw(
        ["source", "target", *weight],
        ("source", "target", "weight")[: 2 + len(weight)],
        named=False,
        graph=True,
        notes=tuple(notes),
        attributes=() if weight else tuple(numbers),
        vertices=vertices,
    )
    return named(raw, options, usual=False)


def _listed(path: Path, options: Options) -> Group:
    """One file, or several files whose first begins with the header."""
    files = parts_of(path)
    for file in files:
        if file.is_dir():
            raise DataError(str(file), "is a folder", hint="name a folder alone, or files alone")
        if not file.is_file():
            raise no_file(file)
    fields = fields_of(str(files[0]), *_first(files[0], options))
    return fields, [(file, file == files[0]) for file in files]


def _folder(folder: Path, options: Options) -> tuple[list[Group], list[str]]:
    """Files of a folder grouped by header, and notes on files without a header."""
    files = sorted(f for f in folder.iterdir() if f.is_file() and f.name.lower().endswith(_ENDINGS))
    first = {file: _first(file, options) for file in files if file.stat().st_size}
    own = [file for file in first if is_header(first[file][1])]
    others = [file for file in first if file not in own]
    groups: list[Group] = []
    for file in own:
        stem = file.name.partition(".")[0]
        base = _HEADER.sub("", stem)
        follows = re.compile(rf"{re.escape(base)}([^a-zA-Z]|$)")
        data = [o for o in others if base != stem and follows.match(o.name.partition(".")[0])]
        others = [o for o in others if o not in data]
        groups.append((fields_of(str(file), *first[file]), [(file, True), *((o, False) for o in data)]))
    if not groups:
        message = "no file of the folder has a header of Neo4j"
        raise DataError(str(folder), message, hint="with :ID, or :START_ID and :END_ID")
    return groups, [f"{other}: no header of Neo4j, so the file is left out" for other in others]


def _first(path: Path, options: Options) -> tuple[int, list[str]]:
    first = next(records(path, options, _delimiter(path, options)), None)
    if first is None:
        raise DataError(str(path), "the file is empty", hint="its first line is to be a header")
    return first


def _delimiter(path: Path, options: Options) -> str:
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    return options.delimiter or ("\t" if tabs else ",")


def _typed(column: Column, field: Field) -> Column:
    """Values of a property; list elements are separated by semicolons."""
    kind = _KINDS[field.type]
    if not field.array:
        return column if kind is None else _values(column, kind)
    split = pc.split_pattern(column, ";")
    if kind is None:
        return split
    offsets = split.offsets.cast(pa.int64())
    try:
        values = _values(split.flatten(), kind)
    except CastError as error:
        error.row = int(np.searchsorted(offsets.to_numpy(), error.row, side="right")) - 1
        raise
    return pa.LargeListArray.from_arrays(offsets, values, mask=split.is_null())


def _values(column: Column, kind: Kind) -> Column:
    """Typed values; empty cells are missing values."""
    empty = {Kind.BOOL: "false", Kind.DATE: "1970-01-01"}.get(kind, "0")
    values = as_arrow(typed_array(kind, coded(pc.fill_null(column, empty), kind)))
    return pc.if_else(column.is_valid(), values, pa.scalar(None, values.type))


def write_neo4j(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write relationships with typed properties or, for unary predicates, nodes.

    In property names, characters with a meaning in headers are replaced by an underscore.
    """
    table = facts.tables[predicate]
    if table.arity == 1:
        write_nodes(path, facts, predicate, names, target)
        return
    properties = [_property(facts, position, names, predicate) for position in range(2, table.arity)]
    header = [":START_ID", ":END_ID", *(head for head, _ in properties), ":TYPE"]

    def rows() -> Iterator[list[Column]]:
        for some in row_ranges(facts, predicate):
            data = list(zip(table.kinds, (column[some] for column in table.columns), strict=True))
            cells = [texts(kind, codes, facts) for kind, codes in data[:2]]
            for (kind, codes), (_, form) in zip(data[2:], properties, strict=True):
                typed = kind in (Kind.INT, Kind.DOUBLE, Kind.BOOL)
                cells.append(as_arrow(typed_array(kind, codes)) if typed else texts(kind, codes, facts, form))
            yield [*cells, _same(target.options.get("type", predicate), len(cells[0]))]

    _write(path, header, rows())


def write_nodes(path: Path, facts: Facts, predicate: str, _: Sequence[str], target: Target) -> None:
    """Write the vertices of a predicate as nodes with one label."""
    found = vertices_of(facts, predicate, target)
    label = target.options.get("label", predicate if len(found.ends) == 1 else "Vertex")
    _write(path, ["name:ID", ":LABEL"], iter([[strings(list(found.names)), _same(label, len(found.names))]]))


def _write(path: Path, header: Sequence[str], parts: Iterator[Sequence[Column]]) -> None:
    """Write columns in parts; numbers are unquoted, text is quoted."""
    names = [str(position) for position in range(len(header))]
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
    with path.open("wb") as stream:
        stream.write((",".join(header) + "\n").encode())
        for part in parts:
            arrow_csv.write_csv(pa.Table.from_arrays(list(part), names=names), stream, options)


def _same(words: str, count: int) -> Column:
    return strings([words]).take(as_arrow(np.zeros(count, dtype=np.int64)))


def _property(
    facts: Facts, position: int, names: Sequence[str], predicate: str
) -> tuple[str, Callable[[Value], str]]:
    """Header cell, and a function that formats values."""
    name, table = _ODD.sub("_", names[position]), facts.tables[predicate]
    kind, data = table.kinds[position], table.columns[position]
    if kind in (Kind.LIST, Kind.SET, Kind.ANY):
        element = _element(decode(kind, np.unique(data), facts.symbols))
        if element:
            return f"{name}:{element}[]", _array
    return f"{name}:{_TYPES.get(kind, 'string')}", _date if kind is Kind.DATE else text


def _element(values: Sequence[Value]) -> str | None:
    """Element type of lists and sets; `None`: other values, or lists that Neo4j cannot represent as arrays."""
    elements = [e for v in values if isinstance(v, tuple | frozenset) for e in v or (None,)]
    types = {type(e) for e in elements}
    if len(types) != 1 or not all(isinstance(v, tuple | frozenset) for v in values):
        return None
    if any(isinstance(e, str) and (not e or ";" in e) for e in elements):
        return None
    return _ELEMENTS.get(types.pop())


def _array(value: Value) -> str:
    elements = ordered(value) if isinstance(value, frozenset) else value
    assert isinstance(elements, tuple | list)
    return ";".join(map(text, elements))


def _date(value: Value) -> str:
    return text(value).replace(" ", "T") if " " in text(value) else f"{text(value)}T00:00:00"
