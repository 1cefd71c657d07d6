"""Subgraphs a second: counted by pattern, and visited one by one with their class, beside igraph.

    python benchmarks/enumerate.py [python with igraph]

Rates are per core (seconds of processor time). igraph's `motifs_randesu` counts ground topology alone, without rules.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from kgreason.analysis.check import load_file
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced import InducedReasoner
from kgreason.graph.model import KnowledgeGraph
from kgreason.resources import resource
from kgreason.subgraphs.adjacency import Adjacency
from kgreason.subgraphs.catalogue import Catalogue
from kgreason.subgraphs.census import census
from kgreason.subgraphs.enumerate import count_connected
from kgreason.subgraphs.visit import visit_all
from kgreason.subgraphs.visit_kernels import PASS

RUNS = 5
IGRAPH = """
import sys, time
import igraph
edges = [tuple(map(int, line.split())) for line in open(sys.argv[1])]
graph = igraph.Graph(n=int(sys.argv[2]), edges=edges, directed=True)
size, times = int(sys.argv[3]), []
for _ in range(3):
    start = time.process_time()
    found = graph.motifs_randesu(size=size)
    times.append(time.process_time() - start)
print(sorted(times)[1])
"""


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Medians of processor and wall-clock seconds."""
    found = []
    for _ in range(RUNS):
        start = process_time(), perf_counter()
        work()
        found.append((process_time() - start[0], perf_counter() - start[1]))
    return median(f[0] for f in found), median(f[1] for f in found)


def igraph_seconds(graph: KnowledgeGraph, x: int, python: str) -> float | None:
    """Processor seconds of igraph for the same graph; it knows sizes 3 and 4 of directed graphs."""
    if x > 4:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edges"
        file.write_text("".join(f"{u} {v}\n" for u, v in zip(*graph.ends, strict=True)))
        done = subprocess.run(
            [python, "-c", IGRAPH, str(file), str(graph.n), str(x)],
            capture_output=True,
            text=True,
            check=False,
        )
    return float(done.stdout) if done.returncode == 0 else None


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; median of {RUNS} runs"
    )
    print(
        "| graph | rules | x | subgraphs | patterns | counted (wall) | by pattern, M/s | visited, M/s | igraph, M/s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for n, m, x in ((500, 5_000, 4), (10_000, 50_000, 4), (500, 5_000, 5), (10_000, 50_000, 5)):
        graph = erdos_renyi(n, m, rng)
        peer = igraph_seconds(graph, x, python)
        for name in ("reachability", "control"):
            rules = load_file(str(resource("rules", f"{name}.vada")))
            reasoner = InducedReasoner(graph, rules)
            catalogue = Catalogue(graph, reasoner, x, rng)
            adjacency = Adjacency.of(graph, reasoner.ties)
            none = np.full(len(catalogue.forms), PASS, dtype=np.uint8)
            total, patterns = catalogue.census.total, len(catalogue.census.counts)
            _, counted = seconds(lambda graph=graph, x=x: count_connected(graph, x))
            grouped, _ = seconds(lambda adjacency=adjacency, x=x: census(adjacency, x))
            visited, _ = seconds(lambda catalogue=catalogue, none=none: visit_all(catalogue, none))
            print(
                f"| ER n={n:,} M={m:,} | {name} | {x} | {total:,} | {patterns:,} | {counted:.2f} s "
                f"| {total / grouped / 1e6:.0f} | {total / visited / 1e6:.0f} "
                f"| {f'{total / peer / 1e6:.1f}' if peer else '-'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
