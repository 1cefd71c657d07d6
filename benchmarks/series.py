"""Releases of a graph that changes, joined by an attacker: what the second release of a series keeps, and its price.

    python benchmarks/series.py DATA [--seeds N] [--share S]

DATA is the folder of public graphs. In each of the two states of a graph a random 2 % (S) of its edges are missing,
others in each. KGUARD (exact mode) and KLONE release the second state alone, and after the first one. Figures are
medians over N seeds (3): added edges of both; subgraphs of three vertices that did not change, and the share of them
that keep three occurrences for an attacker who joins the two releases vertex by vertex; the same if both releases have
one occurrence more (k = 4); and the share of the subgraphs that changed.
"""

from __future__ import annotations

import argparse
import math
import platform
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from detection import GRAPHS, row

import kgreason
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.verification.verdict import Joined

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "ownership" / "own.csv"
COLUMNS = (
    "graph",
    "method",
    "edges added alone",
    "after",
    "unchanged",
    "keep 3",
    "keep 3 (k = 4)",
    "changed keep 3",
)


def state(graph: KnowledgeGraph, share: float, rng: np.random.Generator) -> KnowledgeGraph:
    """Graph without a random share of the edges, and without vertices that then have none."""
    own = graph.relations["own"]
    kept = own.take(np.sort(rng.permutation(len(own))[: round(len(own) * (1 - share))]))
    used = np.unique(np.concatenate([kept.source, kept.target]))
    source, target = (np.searchsorted(used, ends) for ends in (kept.source, kept.target))
    return KnowledgeGraph(graph.labels[used], {"own": Relation(source, target, kept.weight)})


def joined(
    rules: Path, states: list[KnowledgeGraph], folder: Path, k: int, **chosen: Any
) -> tuple[int, Joined]:
    """Added edges of the second release of a series, and what it keeps of three occurrences."""
    after: dict[str, Path] = {}
    for number, graph in enumerate(states):
        private = folder / f"private{number}"
        folders = kgreason.Folders(folder / f"release{number}", private)
        made = kgreason.anonymize(rules, graph, k=k, x=3, folders=folders, **chosen, **after)
        assert made.holds
        if number == 0:
            after = {"after": private}
    _, found = kgreason.verify_series(made.release.graph, private, after["after"], rules, k=3, x=3)
    return made.release.graph.m - states[1].m, found


def figures(data: Path, name: str, method: str, seeds: int, share: float) -> str:
    """Row of one graph and method."""
    program, source = GRAPHS.get(name, ("control", ""))
    rules = ROOT / "rules" / f"{program}.vada"
    whole = kgreason.read_graph(rules, {"own": f"{data}/{source}" if source else str(EXAMPLE)})
    alone, later, unchanged, kept, spare, changed = ([] for _ in range(6))
    for seed in range(1, seeds + 1):
        rng = np.random.default_rng(seed)
        states = [state(whole, share, rng) for _ in range(2)]
        single = kgreason.anonymize(rules, states[1], method=method, k=3, x=3, seed=seed)
        alone.append(single.release.graph.m - states[1].m)
        with tempfile.TemporaryDirectory() as place:
            added, found = joined(rules, states, Path(place) / "3", 3, method=method, seed=seed)
            later.append(added)
            unchanged.append(found.unchanged.total)
            kept.append(found.unchanged.value)
            changed.append(found.changed.value)
            if method == "kguard":
                spare.append(
                    joined(rules, states, Path(place) / "4", 4, method=method, seed=seed)[1].unchanged.value
                )
    edges = (f"{median(count):,.0f}" for count in (alone, later))
    if method == "klone":
        return row(name, method, *edges, "all", "100 %", "", "100 %")
    shares = (f"{math.floor(median(one) * 1e5) / 1e3:.3f} %" for one in (kept, spare, changed))
    return row(name, method, *edges, f"{median(unchanged):,.0f}", *shares)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.02)
    asked = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.processor() or platform.machine()}")
    print(row(*COLUMNS))
    print(row(*["---"] * len(COLUMNS)))
    for name in ("example", *GRAPHS):
        for method in ("kguard", "klone"):
            print(figures(asked.data, name, method, asked.seeds, asked.share), flush=True)


if __name__ == "__main__":
    main()
