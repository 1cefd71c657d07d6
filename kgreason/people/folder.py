"""The public folder of a release of people: reading for verification, and expected contents.

The tables of a release folder are read in full and not as its own schema says, as everyone with the folder sees all
rows. The schema only tells which attributes are numeric, and which relations have no links or are mutual; links are not
completed by their reverse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path

import numpy as np

from kgreason.base.errors import DataError
from kgreason.base.progress import SILENT, Progress
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.refinement import paired
from kgreason.people.file_schema import Schema, read_schema
from kgreason.people.model import Attribute, PeopleGraph, distinct_links
from kgreason.people.reading import read as read_people
from kgreason.people.release_tables import (
    HEADERS,
    SCHEMA,
    TABLES,
    USERS,
    coded,
    indices_of,
    labels_of,
    read_rows,
    repeats,
    write_people,
)
from kgreason.people.report import public_report
from kgreason.people.result import LINKS, OF_DEGREES, UNPROTECTED, Claim
from kgreason.people.verification.information import distinct
from kgreason.people.verification.verdict import Published, Rows, Source
from kgreason.release.folder_contents import Contents, files, is_of_kgreason, not_drawn, readme_text
from kgreason.release.mapping import REMOVED, UNLISTED, Names, names_of, numbers_of, read_mapping
from kgreason.release.plain_tables import cell, found_format, indented, row_of, width
from kgreason.release.read_back import UNCHANGED, check_files
from kgreason.release.verdicts import Item

SHOWN = 5


def read_published(
    release: Path,
    original: Path | Schema | PeopleGraph | None = None,
    mapping: Path | None = None,
    progress: Progress = SILENT,
) -> Published:
    """Read a release, optionally with its original and mapping.

    Parameters
    ----------
    original
        The original graph, its schema, or the file of the schema.
    mapping
        The private folder, or a CSV file with the header ``original,released`` and a row for each original user; the
        second field is empty for removed users.

    Raises
    ------
    DataError, ReleaseError
        If a file is invalid, or the mapping does not fit the graphs.
    """
    progress.step(f"Reading {release}")
    found = _read(release)
    if original is None or mapping is None:
        return found
    graph = original if isinstance(original, PeopleGraph) else read_people(original, progress)
    return _sourced(found, graph, mapping)


def read_named(release: Path, mapping: Path) -> Published:
    """Read a release with the names of its original users, without other data of the original."""
    names = list(read_mapping(mapping, partial=True).released)
    labels = np.array([*names, None], dtype=object)[:-1]
    return _sourced(_read(release), PeopleGraph(labels, {}, {}), mapping)


def _sourced(found: Published, graph: PeopleGraph, mapping: Path) -> Published:
    return replace(found, source=source_of(found.graph, graph, read_mapping(mapping, partial=True)))


# released names by original ones, `None` or nothing for a removed user; or the numbers, -1 for a removed user
Mapped = Mapping[str, str | None] | Vertices


def source_of(
    released: PeopleGraph,
    original: PeopleGraph,
    mapping: Mapped | Names,
    removed: Collection[str] | None = None,
) -> Source:
    """Build the `Source` of a release from its original and a mapping.

    `removed` are the names of users that may be missing; `None`: all that the mapping marks as removed.

    Raises
    ------
    ReleaseError
        If the mapping names a user that the original or the release does not have.
    """
    if (names := names_of(mapping)) is not None:
        numbers = numbers_of(names, original.labels, released.labels, "user", partial=True)
    else:
        numbers = np.array(mapping, dtype=np.int64)
    if removed is not None and len(numbers) == original.n:
        listed = np.isin(original.labels.astype(str), np.array(list(removed), dtype=str))
        numbers[numbers < 0] = np.where(listed, REMOVED, UNLISTED)[numbers < 0]
    return Source(original, numbers)


def _read(folder: Path) -> Published:
    format = found_format(folder, USERS)
    tables = {name: f"{name}.{format}" for name in TABLES}
    check_files(folder, "people", (*tables.values(), SCHEMA))
    schema = read_schema(folder / SCHEMA)
    named = {file.spec.path.name for file in schema.files}
    if strange := sorted(named - set(tables.values())):
        raise DataError(
            str(folder / SCHEMA),
            f"it names {strange[0]}, which is none of a release of people",
            hint=UNCHANGED,
        )
    kinds = schema.kinds
    users, values, links = (read_rows(folder / tables[name], HEADERS[name]) for name in TABLES)
    labels = labels_of(users, "user")
    owner = indices_of(values, 0, labels, "user", tables[USERS])
    (name, attributes), (value, texts) = map(coded, values.columns[1:])
    source, target = (indices_of(links, column, labels, "user", tables[USERS]) for column in (0, 2))
    kind, relations = coded(links.columns[1])
    loops = [f"{row_of(links, int(row))}: from a user to itself" for row in np.flatnonzero(source == target)]
    again = [*_again(values, owner, name, value), *_again(links, source, kind, target)]
    numbers = dict.fromkeys((*kinds.relations, *kinds.mutual), -1)  # -1: a relation without links
    numbers |= {text: i for i, text in enumerate(relations)}
    graph = PeopleGraph(
        np.array(labels.to_pylist(), dtype=object),
        {
            text: _attribute(owner[name == i], value[name == i], texts, numeric=text in kinds.numeric)
            for i, text in enumerate(attributes)
        },
        {
            text: distinct_links(
                len(labels), source[kind == i], target[kind == i], mutual=text in kinds.mutual
            )
            for text, i in numbers.items()
        },
    )
    rows = Rows(len(again), len(loops), tuple([*again, *loops][:SHOWN]))
    return Published(graph, rows=rows, name=str(folder), files=form(folder, graph))


def _attribute(user: Vertices, value: Vertices, texts: Sequence[str], *, numeric: bool) -> Attribute:
    used = distinct(value)
    key = distinct(user * len(used) + np.searchsorted(used, value))
    domain = np.array([texts[i] for i in used.tolist()], dtype=object)
    return Attribute("numeric" if numeric else "categorical", domain, key // len(used), key % len(used))


def _again(raw: Raw, *columns: Vertices) -> Iterator[str]:
    for row in repeats(reduce(paired, columns)):
        yield f"{row_of(raw, int(row))}: a repeated row"


# --- folder contents

TEXT = """Anonymized graph of people

Guarantee: {guarantee}.
{checked}
{promise}

NOT PROTECTED: {unprotected}
{series}
Files
  {users}the users; labels are random
  {values}their values{mixed}
  {relations}links between users; {links}
  {schema}the schema of the tables, by which kgreason reads the release
  {report}a report for reading; report.json is the same for programs
"""
MIXED = """; users of one class have the values of all of them, so some are not their
                  own: several ages of one user, for instance, are those of several people"""
SERIES = """
This is release {number} of its series. Users who are in several of its releases have the same label in all of them.
"""


def contents_of(released: PeopleGraph, claim: Claim | None, format: str) -> Contents:
    """Files that kgreason writes into the folder of a release; `claim` is that of a README.txt by kgreason."""
    return Contents(
        (*(f"{name}.{format}" for name in TABLES), SCHEMA),
        lambda place: write_people(place, released, format),
        None if claim is None else partial(_readme, claim, bool(released.attributes), format),
        partial(public_report, released, claim or Claim("", "k-ad", None, 1)),
    )


def _readme(claim: Claim, valued: bool, format: str, holds: bool) -> str:
    return TEXT.format(
        guarantee=claim.asked,
        checked="Confirmed by an exact check of these files.\n" if holds else "",
        promise=claim.promise,
        unprotected=OF_DEGREES if claim.model == "k-degree" else UNPROTECTED,
        links=LINKS[claim.construction if claim.model == "k-degree" else "relaxed"],
        users=cell("users", format),
        values=cell("attributes", format),
        relations=cell("relations", format),
        schema=f"{'people.toml':<{width(format)}}",
        report=f"{'report.html':<{width(format)}}",
        mixed=indented(MIXED, format) if valued else " (none)",
        series="" if claim.releases is None else SERIES.format(number=claim.releases),
    )


def form(folder: Path, released: PeopleGraph) -> Item:
    """Condition ``files``: the folder holds exactly the files of the release read from it."""
    labels = released.labels.tolist() if is_of_kgreason(folder) else []
    contents = contents_of(released, Claim.found(readme_text(folder)), found_format(folder, USERS))
    return files(folder, contents, not_drawn(labels))
