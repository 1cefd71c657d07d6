"""Time of KLONE with 10 weight trials on large graphs: ``python benchmarks/klone.py [vertices]``."""

from __future__ import annotations

import sys
import time

import numpy as np

from kgreason.analysis.check import load_file
from kgreason.analysis.checked import CheckedProgram
from kgreason.anonymizers.klone import Klone
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.model import KnowledgeGraph
from kgreason.resources import resource


class Steps:
    """Prints how long each step took."""

    def __init__(self) -> None:
        self.title, self.start = "fit weights", time.perf_counter()

    def step(self, title: str, total: int | None = None) -> None:
        """End the step before."""
        del total
        now = time.perf_counter()
        print(f"    {self.title}: {now - self.start:.1f} s")
        self.title, self.start = title, now

    def advance(self, units: int = 1) -> None:
        """Ignore it."""

    def note(self, message: str) -> None:
        """Print it."""
        print(f"    {message}")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(0)
    rules = {name: load_file(str(resource("rules", f"{name}.vada"))) for name in ("control", "reachability")}
    run("scale-free, alpha 5, control", scale_free(n, 5.0, rng, economic=True), rules["control"], rng)
    run("Erdos-Renyi, reachability", erdos_renyi(n, None, rng), rules["reachability"], rng)


def run(name: str, graph: KnowledgeGraph, program: CheckedProgram, rng: np.random.Generator) -> None:
    print(f"{name}: n = {graph.n:,}, m = {graph.m:,}")
    start, steps = time.perf_counter(), Steps()
    augmented = Klone(k=3, trials=10).augment(graph, program, rng, steps)
    steps.step("end")
    figures = augmented.figures
    taken = time.perf_counter() - start
    print(
        f"  {taken:.1f} s; {augmented.graph.n:,} vertices, {augmented.graph.m:,} edges, "
        f"{figures['synthetic_edges']:,} synthetic, {figures['new_vertices']} new vertices"
    )


if __name__ == "__main__":
    main()
