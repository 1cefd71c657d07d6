"""Write released links: three tables, and how they are to be taken.

Rows and names stand in the order of what they say, and so do the ends of links that have no direction: the files tell
nothing but the graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgreason.graph.links.model import LinkGraph, Released
from kgreason.graph.people.write import (
    Columns,
    check_names,
    in_order,
    listed,
    ranks,
    value_rows,
    write_folder,
)

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
    names = {"a node": graph.labels, "an attribute": graph.attributes, "a relation": graph.observed}
    check_names(graph.attributes, names)
    order = np.argsort(graph.labels, kind="stable")
    weighted = any(found.weight is not None for found in graph.observed.values())
    links = COUNTED + WEIGHTED if weighted else COUNTED
    tables: dict[str, tuple[tuple[str, ...], Columns]] = {
        NODES: (HEADERS[NODES], (graph.labels[order], graph.size[order])),
        VALUES: (HEADERS[VALUES], value_rows(graph.labels, graph.attributes)),
        LINKS: (links, _link_rows(graph)[: len(links)]),
    }
    files = {f"{name}.{format}": table for name, table in tables.items()}
    write_folder(folder, files, SCHEMA, _schema(released))


def _link_rows(graph: LinkGraph) -> Columns:
    """Columns of the table of links, with that of weights; rows of one pair stay in the order of their weights."""
    rank, parts = ranks(graph.labels), {}
    for name, found in graph.observed.items():
        swapped = found.mutual & (rank[found.source] > rank[found.target])
        source = np.where(swapped, found.target, found.source)
        parts[name] = source, np.where(swapped, found.source, found.target), graph.labels
    source, relation, target, row = in_order(graph.labels, parts)
    observed = [graph.observed[name] for name in sorted(graph.observed)]
    counts = np.concatenate([*(found.count for found in observed), np.empty(0, dtype=np.int64)])
    weights = [""]  # behind the others, so that the array is one of objects in any case
    for found in reversed(observed):  # a zero has no sign, which would tell something
        cells = [""] * len(found) if found.weight is None else map(repr, (found.weight + 0.0).tolist())
        weights = [*cells, *weights]
    return source, relation, target, counts[row], np.array(weights, dtype=object)[row]


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
