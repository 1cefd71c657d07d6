"""Schemas from tables in memory, for graphs of people and of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgreason.base.arrays import pa
from kgreason.base.errors import CallError, DataError
from kgreason.data.library_imports import as_raw, in_memory, is_table
from kgreason.data.raw_table import Column, Raw
from kgreason.data.source_options import Options
from kgreason.data.sources import SourceSpec
from kgreason.data.text_conversion import plain
from kgreason.data.value_conversion import CastError, Objects, text
from kgreason.people.file_schema import OTHERS, Data, File, Kinds, Schema

_READ = Options(header=True)


def schema(
    users: Any = None,
    *,
    id: str | None = None,
    values: Any = None,
    links: Mapping[str, Any] | None = None,
    numeric: Iterable[str] = (),
    categorical: Iterable[str] = (),
    relations: Iterable[str] = (),
    mutual: Iterable[str] = (),
    ignore: Iterable[str] = (),
    missing: Iterable[str] = (),
) -> Schema:
    """Build a schema from tables in memory.

    The schema can be used in place of a schema file: `kgreason.people.read`, `kgreason.links.read`,
    `kgreason.people.anonymize`, `kgreason.links.anonymize`. Tables may be pandas or Polars DataFrames, Arrow tables,
    mappings from names to columns, or lists of tuples.

    Parameters
    ----------
    users
        A table with a user in each row and an attribute in each column, or a list of such tables. Cells of list columns
        give several values; empty cells give none.
    id
        The column of `users` with their names; by default users are numbered from 1.
    values
        Rows (user, attribute or relation, value or other user), or a list of such tables.
    links
        For each relation a table of two columns, or a graph of NetworkX or igraph, whose vertices become users; the
        relation of an undirected graph is mutual.
    numeric, categorical, relations, mutual, ignore
        Kinds of the columns and of the names in `values`, as in a schema file. Other columns of `users` are numeric if
        they hold numbers, else categorical.
    missing
        Texts for a missing value.

    Raises
    ------
    DataError
        If an object is no table, or has other columns.
    CallError
        If no table is given, or `links` is no mapping.

    Examples
    --------
    >>> from kgreason.people import read as read_people
    >>> frame = {"name": ["Ken", "Mary"], "age": [18, 19], "speaks": [["de", "en"], ["en"]]}
    >>> read_people(schema(frame, id="name", links={"follows": [("Ken", "Mary")]}))
    <PeopleGraph with 2 users; attributes: age 2, speaks 3; relations: follows 1>
    """
    if users is None and values is None and not links:
        raise CallError("no table is given", hint="say for instance schema(frame, id='name')")
    if links is not None and not isinstance(links, Mapping):
        raise CallError(
            f"links are a mapping from relations to tables, not of type {type(links).__name__}",
            hint='say links={"follows": [("Ken", "Mary")]}',
        )
    found = _Found(id, tuple(missing))
    for raw in _raws(users, "<users>"):
        found.add_users(raw)
    for raw in _raws(values, "<values>"):
        found.add_triples(raw, ("user", "relation", "target"))
    for name, table in (links or {}).items():
        found.add_links(as_raw(table, f"<{name}>"), str(name))
    given = (numeric, categorical, relations, mutual, ignore)
    kinds: dict[str, Any] = {kind: tuple(names) for kind, names in zip(OTHERS, given, strict=True)}
    said = {name for names in kinds.values() for name in names}
    for name, kind in found.kinds.items():
        if name not in said:
            kinds[kind] += (name,)
    return Schema(tuple(found.data), Kinds(**kinds))


class _Found:
    """Schema parts from tables, and default kinds of their columns and relations."""

    def __init__(self, id: str | None, missing: tuple[str, ...]) -> None:
        self.id, self.missing = id, missing
        self.data: list[Data] = []
        self.kinds: dict[str, str] = {}

    def add_users(self, raw: Raw) -> None:
        """Add a table with a user in each row; list columns become triples."""
        columns = {
            name: _plain(raw, name, column) for name, column in zip(raw.names, raw.columns, strict=True)
        }
        lists = {name: c for name, c in columns.items() if isinstance(c, Objects) and name != self.id}
        rest = {name: _texts(c) if name == self.id else c for name, c in columns.items() if name not in lists}
        for name, column in rest.items():
            number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
            if name != self.id:
                self.kinds.setdefault(name, "numeric" if number else "categorical")
        made = in_memory(raw.file, tuple(rest), rest.values(), named=raw.named)
        self.data.append(Data("tables", (_file(made),), id=self.id, missing=self.missing))
        names = columns.get(self.id) if self.id is not None else pa.array(range(1, len(raw) + 1))
        for name, cells in lists.items() if names is not None else ():  # else the reader reports it
            pairs = [
                (user, value)
                for user, cell in zip(_texts(names).to_pylist(), cells, strict=True)
                for value in cell or ()
                if value is not None
            ]
            numbers = bool(pairs) and {type(value) for _, value in pairs} <= {int, float}
            self.kinds.setdefault(name, "numeric" if numbers else "categorical")
            ends = [user for user, _ in pairs], [text(value) for _, value in pairs]
            statements = in_memory(
                raw.file, ("user", "target"), [pa.array(e, pa.large_string()) for e in ends]
            )
            self._add(statements, ("user", "target"), name)

    def _add(self, raw: Raw, columns: tuple[str, ...], relation: str | None) -> None:
        self.data.append(Data("triples", (_file(raw),), columns, relation, missing=self.missing))

    def add_triples(self, raw: Raw, columns: tuple[str, ...], relation: str | None = None) -> None:
        """Add a table with a statement in each row."""
        plain_columns = [_texts(_plain(raw, n, c)) for n, c in zip(raw.names, raw.columns, strict=True)]
        self._add(replace(raw, columns=tuple(plain_columns)), columns, relation)

    def add_links(self, raw: Raw, name: str) -> None:
        """Add the links of a relation, with the vertices of a graph as users."""
        if raw.graph:
            raw = replace(raw, names=raw.names[:2], columns=raw.columns[:2])
        self.add_triples(raw, ("user", "target"), name)
        self.kinds[name] = "relations"
        if raw.vertices is not None:
            vertices = replace(raw.vertices, named=True)
            self.data.append(Data("tables", (_file(vertices),), id="id"))


def _raws(given: Any, name: str) -> list[Raw]:
    several = (
        isinstance(given, list | tuple)
        and given
        and all(is_table(g) or isinstance(g, Mapping) for g in given)
    )
    return [] if given is None else [as_raw(one, name) for one in (given if several else [given])]


def _file(raw: Raw) -> File:
    return File(SourceSpec(Path(raw.file)), _READ, raw)


def _plain(raw: Raw, name: str, column: Column) -> Column:
    try:
        return plain(column)
    except CastError as error:
        message = f"row {error.row + 1}: {error.value} is not {error.expected}"
        raise DataError(raw.file, message, column=name, hint=error.hint) from error


def _texts(column: Column) -> Column:
    """A column as texts; missing values stay missing."""
    if isinstance(column, Objects) or pa.types.is_timestamp(column.type):
        return pa.array([None if v is None else text(v) for v in column.to_pylist()], pa.large_string())
    return column.cast(pa.large_string())
