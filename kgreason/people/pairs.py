"""Graphs of people and their releases, read from files to be judged.

Of a release folder the tables are read as they stand, not as its own schema wants them read: whoever gets the folder
sees all rows. Only which attributes are numbers, and which relations have no links or are mutual, is taken from the
schema; no link is completed by its reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from kgreason.assess.people.given import source_of
from kgreason.assess.people.information import distinct, paired
from kgreason.assess.people.published import Published, Rows
from kgreason.errors import DataError
from kgreason.form import BESIDE
from kgreason.graph.io.plain_tables import found_format, row_of
from kgreason.graph.io.raw import Raw
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph, distinct_links
from kgreason.graph.people.read import read_people
from kgreason.graph.people.schema import read_schema
from kgreason.graph.people.sources import Schema
from kgreason.graph.people.write import HEADERS, SCHEMA, TABLES, USERS
from kgreason.people.form import form
from kgreason.progress import SILENT, Progress
from kgreason.rows import coded, labels_of, later, places, read_rows
from kgreason.written import UNCHANGED, Cell, check_kind, read_pairs

SHOWN = 5


def read_published(
    release: Path,
    original: Path | Schema | PeopleGraph | None = None,
    mapping: Path | None = None,
    progress: Progress = SILENT,
) -> Published:
    """Read a release, and if it is known its original with who is who.

    Parameters
    ----------
    release
        The folder.
    original
        The original, or its schema, perhaps a file.
    mapping
        The private folder, or a CSV file with the header ``original,released`` and a row for each original user, in
        which the second field is empty for users who are removed.

    Raises
    ------
    DataError, ReleaseError
        If a file is at fault, or the mapping does not fit the graphs.
    """
    progress.step(f"Reading {release}")
    found = _read(release)
    if original is None or mapping is None:
        return found
    graph = original if isinstance(original, PeopleGraph) else read_people(original, progress)
    return _sourced(found, graph, mapping)


def read_named(release: Path, mapping: Path) -> Published:
    """Read a release with the names of its original users, and nothing else of them.

    Raises
    ------
    DataError, ReleaseError
        As for `read_published`.
    """
    names = list(_cells(mapping)[1])
    labels = np.array([*names, None], dtype=object)[:-1]
    return _sourced(_read(release), PeopleGraph(labels, {}, {}), mapping)


def _sourced(found: Published, graph: PeopleGraph, mapping: Path) -> Published:
    file, cells = _cells(mapping)
    names = {label: cell.text for label, cell in cells.items()}
    lines = {label: cell.line for label, cell in cells.items()}
    source = source_of(found.graph, graph, names, file=str(file), lines=lines)
    return replace(found, source=source)


def _cells(mapping: Path) -> tuple[Path, dict[str, Cell]]:
    file = mapping / "mapping.csv" if mapping.is_dir() else mapping
    return file, read_pairs(file, ("original", "released"), partial=True)


def _read(folder: Path) -> Published:
    files = _check_files(folder)
    schema = read_schema(folder / SCHEMA)
    parts = (schema.triples, schema.tables, schema.names)
    named = {file.spec.path.name for part in parts for some in part for file in some.files}
    if strange := sorted(named - set(files.values())):
        raise DataError(
            str(folder / SCHEMA),
            f"it names {strange[0]}, which is none of a release of people",
            hint=UNCHANGED,
        )
    kinds = schema.kinds
    users, values, links = (read_rows(folder / files[name], HEADERS[name]) for name in TABLES)
    labels = labels_of(users, "user")
    owner, (name, attributes), (value, said) = (
        places(values, 0, labels, "user", files[USERS]),
        *(coded(column) for column in values.columns[1:]),
    )
    source, (kind, relations), target = (
        places(links, 0, labels, "user", files[USERS]),
        coded(links.columns[1]),
        places(links, 2, labels, "user", files[USERS]),
    )
    own = [f"{row_of(links, int(row))}: from a user to himself" for row in np.flatnonzero(source == target)]
    again = [*_again(values, owner, name, value), *_again(links, source, kind, target)]
    graph = PeopleGraph(
        np.array(labels.to_pylist(), dtype=object),
        {
            text: _attribute(owner[name == i], value[name == i], said, numeric=text in kinds.numeric)
            for i, text in enumerate(attributes)
        },
        {
            text: distinct_links(len(labels), source[:0], target[:0], mutual=text in kinds.mutual)
            for text in (*kinds.relations, *kinds.mutual)
        }
        | {
            text: distinct_links(
                len(labels), source[kind == i], target[kind == i], mutual=text in kinds.mutual
            )
            for i, text in enumerate(relations)
        },
    )
    rows = Rows(len(again), len(own), tuple([*again, *own][:SHOWN]))
    return Published(graph, rows=rows, name=str(folder), files=form(folder, graph))


def _check_files(folder: Path) -> dict[str, str]:
    """Name of the file of each table."""
    format = found_format(folder, USERS)
    files = {name: f"{name}.{format}" for name in TABLES}
    if not folder.is_dir():
        hint = f"name a folder with {', '.join(files.values())} and {SCHEMA}"
        raise DataError(str(folder), "there is no such release folder", hint=hint)
    check_kind(folder, "people")
    for name in (*files.values(), SCHEMA):
        if not (folder / name).is_file():
            raise DataError(
                str(folder / name), "there is no such file", hint="take an unchanged copy of the folder"
            )
    for path in sorted(folder.iterdir()):
        if path.name not in (*files.values(), SCHEMA, *BESIDE):
            hint = "take it out of the release: what it tells of users is not looked at"
            raise DataError(str(path), "this is none of the files of a release of people", hint=hint)
    return files


def _attribute(user: Vertices, value: Vertices, said: Sequence[str], *, numeric: bool) -> Attribute:
    used = distinct(value)
    key = distinct(user * len(used) + np.searchsorted(used, value))
    domain = np.array([said[i] for i in used.tolist()], dtype=object)
    return Attribute("numeric" if numeric else "categorical", domain, key // len(used), key % len(used))


def _again(raw: Raw, *columns: Vertices) -> Iterator[str]:
    """Rows that stand for the second time or more, in words."""
    for row in later(reduce(paired, columns)):
        yield f"{row_of(raw, int(row))}: a row that stands again"
