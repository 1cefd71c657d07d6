"""Further guarantees of KGUARD and KLONE: their price, and the vertices that remain unique.

    python benchmarks/also.py ../shared/data [--method klone] [name ...]

One run for each graph and guarantee, with k = 3 and x = 3. A vertex of the original is unique if no other vertex of the
release shares what an attacker knows of it there: the worst case, in which the attacker knows the released degrees. The
first line of a graph has the vertices that are unique in the original. Public graphs that are missing are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from graphs import BITCOIN, BUS, INFECT_DUBLIN, Graph, scale_free

import kgreason
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import Sides, degrees, refine

RULES = Path(__file__).resolve().parent.parent / "rules"
CASES: dict[str, tuple[str, Graph]] = {
    "infect-dublin": ("reachability", INFECT_DUBLIN),
    "1138_bus": ("reachability", BUS),
    "bitcoin-alpha": ("reachability", BITCOIN),
    "scale-free": ("control", scale_free(2_000, 3)),
}
OPTIONS: tuple[tuple[str, ...], ...] = ((), ("degree",), ("neighbours",))
HEADER = (
    *("graph", "also", "vertices added", "edges added", "U△", "AUC"),
    *("unique by degree", "neighbours' degrees", "two hops", "CPU s"),
)


def unique(graph: KnowledgeGraph, vertices: np.ndarray) -> tuple[str, ...]:
    """Numbers of vertices that degrees, degrees of neighbours, and of their neighbours, make unique."""
    sides, both = Sides.of(graph), degrees(graph)
    classes = (refine(sides, both, rounds) for rounds in range(3))
    return tuple(f"{(np.bincount(c)[c][vertices] == 1).sum():,}" for c in classes)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--method", default="kguard", choices=["kguard", "klone"])
    asked = parser.parse_args()
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    with TemporaryDirectory() as folder:
        for name in asked.names or CASES:
            rules, graph = CASES[name]
            source = graph.source(Path(folder), asked.data)
            if source is None:
                continue
            original = kgreason.read_graph(RULES / f"{rules}.vada", {"own": source})
            size = f"{original.n:,} vertices", f"{original.m:,} edges"
            row = name, "original", *size, "", "", *unique(original, np.arange(original.n)), ""
            print(f"| {' | '.join(row)} |", flush=True)
            for also in OPTIONS:
                start = process_time()
                found = kgreason.anonymize(
                    RULES / f"{rules}.vada", original, method=asked.method, k=3, x=3, also=also, seed=0
                )
                seconds = process_time() - start
                assert found.holds, found.verdict
                fidelity = found.score.fidelity
                added = (
                    f"{fidelity.vertices_added:,} ({fidelity.vertices_added_percent:.1f} %)",
                    f"{fidelity.edges_added:,} ({fidelity.edges_added_percent:.1f} %)",
                )
                auc = found.score.detection.auc
                row = (
                    *("", *(also or ("none",))),
                    *added,
                    f"{found.score.utility.u_symmetric:.3f}",
                    "" if auc is None else f"{auc:.2f}",
                    *unique(found.release.graph, found.release.mapping),
                    f"{seconds:.1f}",
                )
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
