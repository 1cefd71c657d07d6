"""Writes own.csv: an invented register of 300 companies and persons. ``python examples/ownership/make.py``."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from kgreason.graph.generators import ownership
from kgreason.graph.knowledge_graph import KnowledgeGraph

SEED = 20
ROOTS = [
    "Alder",
    "Birch",
    "Cedar",
    "Drift",
    "Ember",
    "Fjord",
    "Garnet",
    "Heron",
    "Iris",
    "Juniper",
    "Kestrel",
    "Larch",
    "Maple",
    "Nettle",
    "Osprey",
    "Pine",
    "Quartz",
]
FIELDS = [
    "Bank",
    "Capital",
    "Energy",
    "Foods",
    "Holding",
    "Logistics",
    "Media",
    "Mining",
    "Motors",
    "Paper",
    "Ports",
    "Properties",
    "Steel",
    "Telecom",
    "Textiles",
]
FIRST = [
    "Ada",
    "Bruno",
    "Carla",
    "Dario",
    "Elsa",
    "Fabio",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Karin",
    "Luca",
    "Mara",
    "Nils",
    "Olga",
    "Paolo",
]
LAST = (
    "Amsel",
    "Brandt",
    "Conti",
    "Dahl",
    "Egger",
    "Ferri",
    "Grau",
    "Holm",
    "Ivers",
    "Jansen",
)


def named(graph: KnowledgeGraph, rng: np.random.Generator) -> list[str]:
    """Invented names; those whom nobody owns and who own are persons in half of the cases."""
    companies = rng.permutation([f"{root} {field}" for root, field in product(ROOTS, FIELDS)]).tolist()
    persons = rng.permutation([f"{first} {last}" for first, last in product(FIRST, LAST)]).tolist()
    free = graph.in_degree() == 0
    return [(persons if free[v] else companies).pop() for v in range(graph.n)]


def main() -> None:
    """Write the table beside this file."""
    rng = np.random.default_rng(SEED)
    graph = ownership(300, rng)
    names, own = named(graph, rng), graph.relations["own"]
    assert own.weight is not None
    rows = [
        f"{names[s]},{names[t]},{100 * w:.2f}%\n"
        for s, t, w in zip(own.source, own.target, own.weight, strict=True)
    ]
    header = "owner,company,share\n"
    (Path(__file__).parent / "own.csv").write_text(header + "".join(sorted(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
