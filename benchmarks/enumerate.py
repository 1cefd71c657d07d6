"""Rate of counting, classifying and visiting connected induced subgraphs, compared with igraph.

    python benchmarks/enumerate.py [python with igraph]

Each rate is given twice, in millions: for a second of processor time (one core), and for a second on the clock, with
all cores that this process may use. Per graph the first line counts alone: all edges are alike. Without rules,
subgraphs are classified by their edges, as igraph's `motifs_randesu` does on one core; both counts must agree.
"By pattern" starts, like igraph, from a prepared graph; "by class" includes the preparation and evaluates the rules
on each subgraph. The last column compares single cores.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from kgreason.base.cores import cores
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.census import census
from kgreason.graph.subgraphs.enumeration import PASS, visit_all
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.graph.subgraphs.patterns import Catalogue
from kgreason.language.check.program_checker import load_file

RUNS = 3
GRAPHS = ((500, 5_000, 4), (10_000, 50_000, 4), (500, 5_000, 5), (10_000, 50_000, 5))
RULES = (None, "reachability", "control")
HEADER = (
    *("graph", "x", "rules", "subgraphs", "patterns", "classes"),
    *("by pattern", "by class", "visited", "igraph by class", "times igraph, by pattern and by class"),
)
IGRAPH = """
import sys, time
import igraph
edges = [tuple(map(int, line.split())) for line in open(sys.argv[1])]
graph = igraph.Graph(n=int(sys.argv[2]), edges=edges, directed=True)
size, times = int(sys.argv[3]), []
for _ in range(int(sys.argv[4])):
    start = time.process_time()
    found = graph.motifs_randesu(size=size)
    times.append(time.process_time() - start)
print(sorted(times)[len(times) // 2], int(sum(count for count in found if count == count)))
"""


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Medians of processor and wall-clock seconds."""
    found = []
    for _ in range(RUNS):
        start = process_time(), perf_counter()
        work()
        found.append((process_time() - start[0], perf_counter() - start[1]))
    return median(f[0] for f in found), median(f[1] for f in found)


def igraph(graph: KnowledgeGraph, x: int, python: str) -> tuple[float, int] | None:
    """Processor seconds of igraph for the same graph, and its subgraphs; it knows directed ones of 3 and 4 vertices."""
    if x > 4:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edges"
        file.write_text("".join(f"{u} {v}\n" for u, v in zip(*graph.ends, strict=True)))
        done = subprocess.run(
            [python, "-c", IGRAPH, str(file), str(graph.n), str(x), str(RUNS)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return None
    took, total = done.stdout.split()
    return float(took), int(total)


def rates(total: int, took: tuple[float, float]) -> str:
    """Millions a second on one core, and on all."""
    return " / ".join(f"{total / s / 1e6:.0f}" for s in took)


def line(*cells: object) -> None:
    """Print a line of the table."""
    print("| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |", flush=True)


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    print(
        f"{platform.machine()}, {cores()} cores, Python {platform.python_version()}; "
        f"million subgraphs a second on one core / on all, median of {RUNS} runs\n"
    )
    line(*HEADER)
    line(*["---"] * len(HEADER))
    rng = np.random.default_rng(0)
    for n, m, x in GRAPHS:
        graph, name = erdos_renyi(n, m, rng), f"ER n={n:,} M={m:,}"
        plain = Adjacency.plain(graph)
        alone = census(plain, x)
        took = seconds(lambda plain=plain, x=x: census(plain, x))
        counted = alone.total, len(alone.counts)
        line(name, x, "counted alone", *counted, "-", rates(alone.total, took), "-", "-", "-", "-")
        peer = igraph(graph, x, python)
        if peer and peer[1] != alone.total:
            raise SystemExit(f"igraph counts {peer[1]:,} subgraphs, not {alone.total:,}")
        for rules in RULES:
            reasoner = rules and InducedReasoner(graph, load_file(str(resource("rules", f"{rules}.vada"))))
            catalogue = Catalogue(graph, reasoner or None, x, rng)
            adjacency, total = catalogue.adjacency, catalogue.census.total
            none = np.full(len(catalogue.forms), PASS, dtype=np.uint8)
            by_pattern = seconds(lambda adjacency=adjacency, x=x: census(adjacency, x))
            visited = seconds(lambda catalogue=catalogue, none=none: visit_all(catalogue, none))
            by_class = seconds(
                lambda graph=graph, reasoner=reasoner, x=x: Catalogue(graph, reasoner or None, x, rng)
            )
            theirs = peer if peer and not rules else None
            line(
                name,
                x,
                rules or "none",
                total,
                len(catalogue.census.counts),
                len(catalogue.forms),
                *(rates(total, t) for t in (by_pattern, by_class, visited)),
                f"{total / theirs[0] / 1e6:.1f}" if theirs else "-",
                f"{theirs[0] / by_pattern[0]:.1f}, {theirs[0] / by_class[0]:.1f}" if theirs else "-",
            )


if __name__ == "__main__":
    main()
