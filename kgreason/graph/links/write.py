"""Write released links: three tables, and how they are to be taken.

Rows and names stand in the order of what they say, and so do the ends of links that have no direction: the files tell
nothing but the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kgreason.data.plain_tables import write_table
from kgreason.data.whole_files import replacing
from kgreason.errors import ReleaseError
from kgreason.graph.links.model import LinkGraph, Released
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Texts
from kgreason.graph.people.parts import empty
from kgreason.graph.people.write import listed

NODES, VALUES, LINKS = TABLES = ("nodes", "attributes", "links")
"""Tables that links are written as."""
SCHEMA = "links.toml"
HEADERS = {NODES: ("node", "size"), VALUES: ("node", "attribute", "value")}
COUNTED, WEIGHTED = ("source", "relation", "target", "count"), ("weight",)
"""Columns of the table of links, and the one that it has besides if a relation is weighted."""


def names_of(format: str) -> dict[str, str]:
    """File of each table, and of what says how they are to be taken."""
    return {**{name: f"{name}.{format}" for name in TABLES}, SCHEMA: SCHEMA}


def write_links(folder: Path, released: Released, format: str = "csv") -> None:
    """Write released links into a folder, as the files that `names_of` tells.

    Weights are written in full, so that they are read again as they are. Values that nobody has are not written, nor
    are attributes without values; relations without links are named.

    Parameters
    ----------
    format
        Of the tables: ``"csv"``, ``"tsv"`` or ``"parquet"``.

    Raises
    ------
    ReleaseError
        If the folder cannot be written, or a name or value is blank.
    """
    graph = released.graph
    _check(graph)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be made: {error.strerror or error}", hint="choose another place"
        ) from error
    order = np.argsort(graph.labels, kind="stable")
    rank = np.empty(graph.n, dtype=np.int64)
    rank[order] = np.arange(graph.n)
    labels = graph.labels[order]
    files = names_of(format)
    write_table(folder / files[NODES], HEADERS[NODES], (labels, graph.size[order]))
    write_table(folder / files[VALUES], HEADERS[VALUES], _value_rows(graph, labels, rank))
    weighted = any(found.weight is not None for found in graph.observed.values())
    columns = _link_rows(graph, labels, rank)
    header = COUNTED + WEIGHTED if weighted else COUNTED
    write_table(folder / files[LINKS], header, columns[: len(header)], WEIGHTED)
    with replacing(folder / SCHEMA) as path:
        path.write_text(_schema(released), encoding="utf-8", newline="\n")


def _check(graph: LinkGraph) -> None:
    import pyarrow as pa

    texts: dict[str, Iterable[str]] = {
        "a node has": graph.labels,
        "an attribute has": graph.attributes,
        "a relation has": graph.observed,
    }
    texts |= {f"a value of {name} has": a.domain for name, a in graph.attributes.items()}
    for whose, some in texts.items():
        if empty(pa.array(list(some), pa.large_string())).any():
            raise ReleaseError(f"{whose} a blank name", hint="give it another one")


def _value_rows(graph: LinkGraph, labels: Texts, rank: Vertices) -> tuple[Texts, ...]:
    names = np.array([*sorted(graph.attributes), None], dtype=object)[:-1]
    parts = [(_nobody, _nobody, _nobody, _nothing)]
    for place, name in enumerate(names):
        a = graph.attributes[name]
        value = np.argsort(np.argsort(a.domain, kind="stable"))
        parts.append((rank[a.user], np.full(len(a), place), value[a.value], a.domain[a.value]))
    node, name, value, text = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((value, name, node))
    return labels[node[order]], names[name[order]], text[order]


def _link_rows(graph: LinkGraph, labels: Texts, rank: Vertices) -> tuple[np.ndarray, ...]:
    """Columns of the table of links, with that of weights."""
    names = np.array([*sorted(graph.observed), None], dtype=object)[:-1]
    parts = [(_nobody, _nobody, _nobody, _nobody, _weightless, _nothing)]
    for place, name in enumerate(names):
        found = graph.observed[name]
        source, target = rank[found.source], rank[found.target]
        if found.mutual:
            source, target = np.minimum(source, target), np.maximum(source, target)
        # a zero has no sign, which would tell something
        weight = np.zeros(len(found)) if found.weight is None else found.weight + 0.0
        texts = [""] * len(found) if found.weight is None else map(repr, weight.tolist())
        said = np.array([*texts, None], dtype=object)[:-1]
        parts.append((source, np.full(len(found), place), target, found.count, weight, said))
    source, kind, target, count, weight, said = (np.concatenate(c) for c in zip(*parts, strict=True))
    order = np.lexsort((weight, target, kind, source))
    ends = labels[source[order]], names[kind[order]], labels[target[order]]
    return (*ends, count[order], said[order])


_nobody = np.empty(0, dtype=np.int64)
_weightless = np.empty(0, dtype=np.float64)
_nothing = np.empty(0, dtype=object)


def _schema(released: Released) -> str:
    graph = released.graph
    relations: dict[str, list[str]] = {"mutual": [], "directed": [], "weighted": []}
    for name, found in sorted(graph.observed.items()):
        relations["mutual" if found.mutual else "directed"].append(name)
        if found.weight is not None:
            relations["weighted"].append(name)
    kinds: dict[str, list[str]] = {"numeric": [], "categorical": []}
    for name, a in sorted(graph.attributes.items()):
        if len(a):
            kinds[a.kind].append(name)
    return "\n".join(
        [
            f'strategy = "{released.strategy}"',
            *("", "[relations]", *_lists(relations)),
            *("", "[attributes]", *_lists(kinds), ""),
        ]
    )


def _lists(names: dict[str, list[str]]) -> list[str]:
    return [f"{key} = [{listed(some)}]" for key, some in names.items()]
