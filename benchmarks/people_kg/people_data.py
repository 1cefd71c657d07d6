"""The graphs of people of the papers, and the k of each user, from the folder of public data."""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from kgreason.people import read as read_people
from kgreason.people.anonymity_levels import zipf_levels
from kgreason.people.anonymizers.user_distances import Levels
from kgreason.people.model import PeopleGraph

RELATIONS = {"freebase": ["9", "10", "11"], "yago": ["11", "14", "15", "23"]}
TABLES = {"coil": "ticdata2000.txt.gz", "credit": "SouthGermanCredit.asc"}


@lru_cache(maxsize=1)
def people(data: Path, name: str) -> PeopleGraph:
    """A graph of PCKGA; users, values and relations are known by their numbers, rows of tables as well."""
    if name in TABLES:
        return tabular(data / "tabular" / TABLES[name])
    files = [f"{data}/pckga/{name}/{part}" for part in ("attrs.edges.gz", "rels.edges")]
    return by_schema(
        f'[[triples]]\nfiles = {files}\n[kinds]\nrelations = {RELATIONS[name]}\nothers = "categorical"'
    )


def by_schema(schema: str) -> PeopleGraph:
    """A graph read as a schema says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.toml"
        path.write_text(schema, encoding="utf-8")
        return read_people(path)


def tabular(path: Path) -> PeopleGraph:
    """Users of a table without relations: all columns are categorical; a first line of names is left out."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        rows = [line.split() for line in lines]
    rows = rows[not rows[0][0].isdigit() :]
    users = [str(i) for i in range(len(rows))]
    values = [(u, str(a), v) for u, row in zip(users, rows, strict=True) for a, v in enumerate(row)]
    return PeopleGraph.from_triples(users, values)


def authors_levels(data: Path, name: str, setting: str, run: int) -> Levels:
    """The k of each user in the authors' file; those for Credit, of which there is none, are drawn.

    Freebase's number nodes as they occur first in attrs.edges and then rels.edges, Coil's number rows.
    """
    graph = people(data, name)
    if name == "credit":
        return zipf_levels(graph, 5, 50, 5, 2.0, np.random.default_rng(run))
    with gzip.open(data / "pckga" / "k_values" / f"{name}_{setting}_{run}.txt.gz", "rt") as lines:
        k = {user: int(level) for user, level in csv.reader(lines)}
    if name == "freebase":
        ends = dict.fromkeys(end for s, _, t in statements(data / "pckga" / name) for end in (s, t))
        k = {label: k[str(i)] for i, label in enumerate(ends) if str(i) in k}
    if name == "coil":
        k = {str(i): level for i, level in enumerate(k.values())}
    return np.array([k[label] for label in graph.labels], dtype=np.int64)


def statements(folder: Path) -> Iterator[list[str]]:
    """Edges of a folder of PCKGA: source, relation, target."""
    with gzip.open(folder / "attrs.edges.gz", "rt") as attributes:
        yield from csv.reader(attributes)
    with (folder / "rels.edges").open() as relations:
        yield from csv.reader(relations)
