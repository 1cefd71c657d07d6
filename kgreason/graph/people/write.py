"""Write a graph of people: three tables, and the schema that reads them again.

Rows and names stand in the order of what they say, so the files tell nothing but the graph: given users with opaque
names, nothing of the order they once had.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.data.plain_tables import write_table
from kgreason.data.whole_files import replacing
from kgreason.errors import ReleaseError
from kgreason.graph.labels import fresh_labels, permutation
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import PeopleGraph, Texts
from kgreason.graph.people.parts import empty

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
        For experiments. `None`: the operating system's source.
    taken
        Names that must not occur: those of the original graph.

    Returns
    -------
    PeopleGraph
        The same graph otherwise.
    numpy.ndarray
        Number in it of each user, int64, shape (n,).

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
    """Write a graph into a folder, as the tables `TABLES` and the schema that reads them.

    Values that nobody has are not written, nor are attributes without values.

    Parameters
    ----------
    format
        Of the tables: ``"csv"``, ``"tsv"`` or ``"parquet"``.

    Raises
    ------
    ReleaseError
        If the folder cannot be written, a name or value is blank, or an attribute and a relation have one name.
    """
    _check(graph)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be made: {error.strerror or error}", hint="choose another place"
        ) from error
    rank = np.empty(graph.n, dtype=np.int64)
    rank[np.argsort(graph.labels, kind="stable")] = np.arange(graph.n)
    rows = {
        USERS: (np.sort(graph.labels),),
        VALUES: _attribute_rows(graph, rank),
        LINKS: _link_rows(graph, rank),
    }
    for name, columns in rows.items():
        write_table(folder / f"{name}.{format}", HEADERS[name], columns)
    with replacing(folder / SCHEMA) as path:
        path.write_text(_schema(graph, format), encoding="utf-8", newline="\n")


def _check(graph: PeopleGraph) -> None:
    import pyarrow as pa

    both = sorted(set(graph.attributes) & set(graph.relations))
    if both:
        raise ReleaseError(
            f"{both[0]!r} is the name of an attribute and of a relation", hint="give one of them another name"
        )
    names = [*graph.attributes, *graph.relations]
    texts: dict[str, Iterable[str]] = {"a user has": graph.labels, "an attribute or a relation has": names}
    texts |= {f"a value of {name} has": a.domain for name, a in graph.attributes.items()}
    for whose, some in texts.items():
        if empty(pa.array(list(some), pa.large_string())).any():
            raise ReleaseError(f"{whose} a blank name", hint="give it another one")


def _attribute_rows(graph: PeopleGraph, rank: Vertices) -> tuple[Texts, ...]:
    parts = []
    for place, name in enumerate(sorted(graph.attributes)):
        a = graph.attributes[name]
        value = np.argsort(np.argsort(a.domain, kind="stable"))
        parts.append((rank[a.user], np.full(len(a), place), value[a.value], a.domain[a.value]))
    names = np.array(sorted(graph.attributes), dtype=object)
    return _ordered(graph, names, parts)


def _link_rows(graph: PeopleGraph, rank: Vertices) -> tuple[Texts, ...]:
    parts = []
    for place, name in enumerate(sorted(graph.relations)):
        r = graph.relations[name]
        parts.append((rank[r.source], np.full(len(r), place), rank[r.target], graph.labels[r.target]))
    names = np.array(sorted(graph.relations), dtype=object)
    return _ordered(graph, names, parts)


def _ordered(
    graph: PeopleGraph, names: Texts, parts: list[tuple[Vertices, Vertices, Vertices, Texts]]
) -> tuple[Texts, ...]:
    """Rows of user, name and what it is, in that order; numbers stand for the places of texts among all."""
    if not parts:
        nothing = np.empty(0, dtype=object)
        return nothing, nothing, nothing
    user, name, target, text = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((target, name, user))
    return np.sort(graph.labels)[user[order]], names[name[order]], text[order]


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
    """Texts as TOML has them: as JSON, but for the one control character that JSON leaves alone."""
    return ", ".join(json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f") for name in names)
