"""KLONE with k = 3 and 10 weight trials: ``python benchmarks/klone.py [vertices]``.

First its loss on the graphs of the KGISO paper, compared with the paper's figures; then the time of `Klone.augment` by
steps and the peak memory on large graphs, each in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from resource import RUSAGE_SELF, getrusage

import numpy as np

from kgreason.base.progress import SILENT
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.assessment import score
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_file


class Steps:
    """Prints how long each step took."""

    def __init__(self) -> None:
        self.title, self.start = "fit weights", time.perf_counter()

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        """End the step before."""
        del total, unit
        now = time.perf_counter()
        print(f"    {self.title}: {now - self.start:.1f} s")
        self.title, self.start = title, now

    def advance(self, units: int = 1) -> None:
        """Ignore it."""

    def note(self, message: str) -> None:
        """Print it."""
        print(f"    {message}")


def main() -> None:
    if len(sys.argv) > 2:
        large(sys.argv[2], int(sys.argv[1]))
        return
    print("graph: U, U△, W1 weights, W1 degree of kgreason (of the paper)")
    for name, graph, program, paper in published():
        print(f"  {name}: {losses(graph, program)} ({paper})")
    for kind in ("scale-free", "erdos-renyi"):
        size = sys.argv[1] if len(sys.argv) > 1 else "1000000"
        subprocess.run([sys.executable, __file__, size, kind], check=True)


def published() -> Iterator[tuple[str, KnowledgeGraph, CheckedProgram, str]]:
    """Graphs of the paper's models."""
    rng = np.random.default_rng(0)
    control, reach = rules("control"), rules("reachability")
    yield (
        "power law n=500 α=3",
        scale_free(500, 3.0, rng, economic=True),
        control,
        "0.157, 0.891, 0.211, 3.315",
    )
    yield (
        "power law n=10k α=5",
        scale_free(10_000, 5.0, rng, economic=True),
        control,
        "0.118, 0.970, 0.186, 3.165",
    )
    yield "ER n=500 M=5k", erdos_renyi(500, 5_000, rng), reach, "0, 0.667, 0.423, 5.314"
    yield "ER n=10k M=50k", erdos_renyi(10_000, 50_000, rng), reach, "0, 0.683, 0.007, 4.631"


def rules(name: str) -> CheckedProgram:
    return load_file(str(resource("rules", f"{name}.vada")))


def losses(graph: KnowledgeGraph, program: CheckedProgram) -> str:
    rng = np.random.default_rng(1)
    augmented = Klone(k=3, trials=10).augment(graph, program, rng, SILENT).graph
    found = score(graph, augmented, np.arange(graph.n), program)
    (weights,) = found.fidelity.weights.values()
    figures = (found.utility.u, found.utility.u_symmetric, weights, found.fidelity.degree)
    return ", ".join(f"{figure:.3f}" for figure in figures)


def large(kind: str, n: int) -> None:
    rng = np.random.default_rng(0)
    if kind == "scale-free":
        graph, program = scale_free(n, 5.0, rng, economic=True), rules("control")
    else:
        graph, program = erdos_renyi(n, None, rng), rules("reachability")
    print(f"{kind}: n = {graph.n:,}, m = {graph.m:,}")
    start, steps = time.perf_counter(), Steps()
    augmented = Klone(k=3, trials=10).augment(graph, program, rng, steps)
    steps.step("end")
    taken, cpu, figures = time.perf_counter() - start, time.process_time(), augmented.figures
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"  {taken:.1f} s ({cpu:.1f} s of processors, making the graph included), at most {peak:.1f} GB; "
        f"{augmented.made.n:,} vertices, {augmented.made.m:,} edges, "
        f"{figures['synthetic_edges']:,} synthetic, {figures['new_vertices']} new vertices"
    )


if __name__ == "__main__":
    main()
