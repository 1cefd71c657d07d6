"""The tables of a people release: writing with the schema that reads them, and strict reading of all rows.

Rows and names are in lexicographic order, so the files contain nothing but the graph; with random user names, the
original order is lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import pa, pc
from kgreason.base.atomic_files import replacing
from kgreason.base.errors import DataError, ReleaseError
from kgreason.data.raw_table import Raw
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import Attribute, PeopleGraph, Texts
from kgreason.people.statements import empty, texts_of
from kgreason.release.mapping import fresh_labels, permutation
from kgreason.release.plain_tables import read_table, write_table
from kgreason.release.read_back import UNCHANGED, as_written, check_whole

USERS, VALUES, LINKS = TABLES = ("users", "attributes", "relations")
SCHEMA = "people.toml"
HEADERS = {
    USERS: ("user",),
    VALUES: ("user", "attribute", "value"),
    LINKS: ("source", "relation", "target"),
}


def opaque(
    graph: PeopleGraph, rng: np.random.Generator | None, taken: Collection[str] = ()
) -> tuple[PeopleGraph, Vertices]:
    """Give the users random numbers and fresh names; returns also the new number of each user, int64, shape (n,).

    `taken` are names to avoid: those of the original graph. Without `rng`, the source of the operating system draws; a
    generator is for experiments.
    """
    order = permutation(graph.n, rng)
    number = np.empty(graph.n, dtype=np.int64)
    number[order] = np.arange(graph.n)
    return replace(graph.of(order), labels=fresh_labels(graph.n, rng, taken)), number


def write_people(folder: Path, graph: PeopleGraph, format: str = "csv") -> None:
    """Write a graph into a folder, as the tables `TABLES` and their schema.

    Values without users and attributes without values are left out.

    Raises
    ------
    ReleaseError
        If the folder cannot be written, a name or value is blank, or an attribute and a relation have the same name.
    """
    if both := sorted(set(graph.attributes) & set(graph.relations)):
        hint = "give one of them another name"
        raise ReleaseError(f"{both[0]!r} is the name of an attribute and of a relation", hint=hint)
    names = [*graph.attributes, *graph.relations]
    check_names(graph.attributes, {"a user": graph.labels, "an attribute or a relation": names})
    tables = {
        USERS: (np.sort(graph.labels),),
        VALUES: value_rows(graph.labels, graph.attributes),
        LINKS: in_order(
            graph.labels, {name: (r.source, r.target, graph.labels) for name, r in graph.relations.items()}
        )[:3],
    }
    write_folder(
        folder,
        {f"{name}.{format}": (HEADERS[name], rows) for name, rows in tables.items()},
        SCHEMA,
        _schema(graph, format),
    )


Columns = Sequence[npt.NDArray[Any]]


def write_folder(
    folder: Path, tables: Mapping[str, tuple[Sequence[str], Columns]], schema: str, text: str
) -> None:
    """Write tables, given by file name with their header and columns, and the text of the schema.

    Raises
    ------
    ReleaseError
        If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be made: {error.strerror or error}", hint="choose another folder"
        ) from error
    for name, (header, columns) in tables.items():
        write_table(folder / name, header, columns, ("weight",))
    with replacing(folder / schema) as path:
        path.write_text(text, encoding="utf-8", newline="\n")


def check_names(attributes: Mapping[str, Attribute], names: Mapping[str, Iterable[str]]) -> None:
    """Reject blank attribute values, and blank names, given by kind (`ReleaseError`)."""
    texts = {**names, **{f"a value of {name}": a.domain for name, a in attributes.items()}}
    for whose, some in texts.items():
        if empty(pa.array(list(some), pa.large_string())).any():
            raise ReleaseError(f"{whose} has a blank name", hint="give it another one")


def value_rows(labels: Texts, attributes: Mapping[str, Attribute]) -> tuple[Texts, Texts, Texts]:
    """Columns of users, attributes and values, in lexicographic order."""
    return in_order(labels, {name: (a.user, a.value, a.domain) for name, a in attributes.items()})[:3]


def in_order(
    labels: Texts, parts: Mapping[str, tuple[Vertices, Vertices, Texts]]
) -> tuple[Texts, Texts, Texts, Vertices]:
    """Columns of users, names and texts, in lexicographic order, and the former index of each row.

    `parts` holds by name the user number and the text number of each row, and the texts.
    """
    names, rank, none = sorted(parts), ranks(labels), np.empty(0, dtype=np.int64)
    rows = [(none, none, none, labels[:0])]
    for i, name in enumerate(names):
        user, number, texts = parts[name]
        order = rank if texts is labels else ranks(texts)
        rows.append((rank[user], np.full(len(user), i), order[number], texts[number]))
    users, name_numbers, numbers, found = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((numbers, name_numbers, users))
    titles = np.array([*names, None], dtype=object)[name_numbers[order]]
    return np.sort(labels)[users[order]], titles, found[order], order


def ranks(texts: Texts) -> Vertices:
    """Rank of each text in ascending order, int64."""
    rank = np.empty(len(texts), dtype=np.int64)
    rank[np.argsort(texts, kind="stable")] = np.arange(len(texts))
    return rank


def _schema(graph: PeopleGraph, format: str) -> str:
    kinds: dict[str, list[str]] = {"numeric": [], "categorical": [], "relations": [], "mutual": []}
    for name in sorted(name for name, a in graph.attributes.items() if len(a)):
        kinds[graph.attributes[name].kind].append(name)
    for name in sorted(graph.relations):
        kinds["mutual" if graph.relations[name].mutual else "relations"].append(name)
    header = () if format == "parquet" else ("header = true",)  # columns of Parquet files have names
    return "\n".join(
        [
            *("[[tables]]", f'files = ["{USERS}.{format}"]', 'id = "user"', ""),
            *("[[triples]]", f'files = ["{VALUES}.{format}", "{LINKS}.{format}"]', *header, ""),
            "[kinds]",
            *(f"{kind} = [{listed(names)}]" for kind, names in kinds.items() if names),
            "",
        ]
    )


def listed(names: Iterable[str]) -> str:
    """TOML list of texts: as JSON, with an escape for the one control character that JSON leaves."""
    return ", ".join(json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f") for name in names)


def read_rows(path: Path, header: Sequence[str], blank: Sequence[str] = ()) -> Raw:
    """Read a table of a release as texts, with exactly the columns `header`; only `blank` ones may have empty cells.

    Raises
    ------
    DataError
        If the file is incomplete, has other columns, or a cell is empty or has no text form.
    """
    with as_written():
        if path.suffix != ".parquet":
            check_whole(path)
        raw = read_table(path)
    if raw.names != tuple(header):
        what = f"the names of columns must be {','.join(header)}, not {','.join(raw.names)}"
        raise DataError(str(path), what, raw.title_line, hint=UNCHANGED)
    raw = replace(raw, columns=tuple(texts_of(raw, i, name, UNCHANGED) for i, name in enumerate(header)))
    for name, column in zip(header, raw.columns, strict=True):
        if name not in blank and (gone := empty(column)).any():
            raise raw.error(int(gone.argmax()), f"there is no {name}", hint=UNCHANGED)
    return raw


def labels_of(raw: Raw, what: str) -> Any:
    """Names in the first column, as an Arrow array; a `DataError` names the first repeated one and `what` has it."""
    labels = raw.columns[0]
    if len(again := repeats(coded(labels)[0])):
        row = int(again[0])
        raise raw.error(row, f"the {what} {labels[row].as_py()!r} stands twice", hint=UNCHANGED)
    return labels


def indices_of(raw: Raw, column: int, labels: Any, what: str, file: str) -> Vertices:
    """Index in `labels` of each name of a column; a `DataError` names an unknown one, and `file`, which lists them."""
    names = raw.columns[column]
    found = pc.index_in(names, value_set=labels)
    if found.null_count:
        row = int(np.argmax(found.is_null().to_numpy(zero_copy_only=False)))
        raise raw.error(row, f"the {what} {names[row].as_py()!r} is not in {file}", hint=UNCHANGED)
    numbers: Vertices = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def repeats(numbers: Vertices) -> Vertices:
    """Indices of repeated numbers, without first occurrences."""
    again = np.ones(len(numbers), dtype=np.bool_)
    again[np.unique(numbers, return_index=True)[1]] = False
    return np.flatnonzero(again)


def coded(column: Any) -> tuple[Vertices, list[str]]:
    """Factorize a column of `read_rows`: code of each row, and the distinct texts."""
    found = column.dictionary_encode()
    return found.indices.to_numpy(zero_copy_only=False).astype(np.int64), found.dictionary.to_pylist()
