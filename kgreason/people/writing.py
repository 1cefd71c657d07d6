"""Writing a graph of people: three tables, and the schema that reads them.

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

from kgreason.base.arrays import pa
from kgreason.base.atomic_files import replacing
from kgreason.base.errors import ReleaseError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.model import Attribute, PeopleGraph, Texts
from kgreason.people.statements import empty
from kgreason.release.mapping import fresh_labels, permutation
from kgreason.release.plain_tables import write_table

USERS, VALUES, LINKS = TABLES = ("users", "attributes", "relations")
"""Tables that a graph of people is written as."""
SCHEMA = "people.toml"
HEADERS = {
    USERS: ("user",),
    VALUES: ("user", "attribute", "value"),
    LINKS: ("source", "relation", "target"),
}


def opaque(
    graph: PeopleGraph, rng: np.random.Generator | None, taken: Collection[str] = ()
) -> tuple[PeopleGraph, Vertices]:
    """Give the users random numbers and fresh names.

    Parameters
    ----------
    rng
        Generator, for experiments; `None`: the source of the operating system.
    taken
        Names to avoid: those of the original graph.

    Returns
    -------
    PeopleGraph
        The renumbered and renamed graph.
    numpy.ndarray
        New number of each user, int64, shape (n,).

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary"], [("Ken", "age", "18")], numeric=["age"])
    >>> released, number = opaque(graph, None, graph.labels)
    >>> released.labels[number[0]] in graph.labels, released.attributes["age"].user.tolist() == [number[0]]
    (False, True)
    """
    order = permutation(graph.n, rng)
    number = np.empty(graph.n, dtype=np.int64)
    number[order] = np.arange(graph.n)
    return replace(graph.of(order), labels=fresh_labels(graph.n, rng, taken)), number


def write_people(folder: Path, graph: PeopleGraph, format: str = "csv") -> None:
    """Write a graph into a folder, as the tables `TABLES` and their schema.

    Values without users and attributes without values are left out.

    Parameters
    ----------
    format
        Format of the tables: ``"csv"``, ``"tsv"`` or ``"parquet"``.

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
    """Write tables, given by file name with their columns, and the text of the schema.

    Raises
    ------
    ReleaseError
        If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be made: {error.strerror or error}", hint="choose another place"
        ) from error
    for name, (header, columns) in tables.items():
        write_table(folder / name, header, columns, ("weight",))
    with replacing(folder / schema) as path:
        path.write_text(text, encoding="utf-8", newline="\n")


def check_names(attributes: Mapping[str, Attribute], names: Mapping[str, Iterable[str]]) -> None:
    """Reject blank attribute values, and blank names, given by kind."""
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

    Parameters
    ----------
    parts
        By name: user numbers and text numbers of the rows, and the texts.
    """
    names, rank, none = sorted(parts), ranks(labels), np.empty(0, dtype=np.int64)
    rows = [(none, none, none, labels[:0])]
    for place, name in enumerate(names):
        user, number, texts = parts[name]
        order = rank if texts is labels else ranks(texts)
        rows.append((rank[user], np.full(len(user), place), order[number], texts[number]))
    users, places, numbers, found = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((numbers, places, users))
    titles = np.array([*names, None], dtype=object)[places[order]]
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
