"""The graphs of THESIS, Appendix B, from the folder of public data."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgreason.people.model import PeopleGraph
from people_kg.people_data import people

DIRECTED = {"email-temp": "Email-temp", "bitcoin": "Bitcoin Alpha", "dblp": "DBLP"}
NAMES = {**DIRECTED, "email": "Email-Eu-core", "freebase": "Freebase"}
_FILES = {  # separator, and columns of source and target
    "email-temp": ("social/email-Eu-core-temporal.txt.gz", None),
    "bitcoin": ("weighted/soc-sign-bitcoinalpha.csv.gz", ","),
    "dblp": ("social/cit-DBLP.edges.gz", None),
    "email": ("social/email-Eu-core.txt", None),
}

Rows = npt.NDArray[np.int64]


def rows_of(path: Path, separator: str | None = None) -> list[list[str]]:
    """Cells of the lines of a file but for comments."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = text.decode().splitlines()
    return [line.split(separator) for line in lines if not line.startswith("%")]


@lru_cache
def people_of(data: Path, name: str) -> PeopleGraph:
    """A graph by its key in `NAMES`; users are the ends of edges."""
    if name == "freebase":
        return people(data, name)
    path, separator = _FILES[name]
    edges = {(row[0], row[1]) for row in rows_of(data / path, separator)}
    users = sorted({end for edge in edges for end in edge}, key=int)
    values = []
    if name == "email":
        labels = rows_of(data / "social" / "email-Eu-core-department-labels.txt")
        users = [user for user, _ in labels]
        values = [(user, "department", label) for user, label in labels]
    links = [(a, "to", b) for a, b in edges if a != b]
    return PeopleGraph.from_triples(users, values, links)
