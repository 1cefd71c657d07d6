"""Checker's time on KLONE releases of Erdős–Rényi graphs: ``python benchmarks/verify.py [n] [m] [x ...]``."""

from __future__ import annotations

import sys
import time

import numpy as np

from kgreason.analysis.check import load_text
from kgreason.anonymizers.klone import Klone
from kgreason.anonymizers.publish import publish
from kgreason.assess.verify import verify
from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.progress import SILENT

REACH = """
@edge("own"). @derived("reach").
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.
"""


def erdos_renyi(n: int, m: int, rng: np.random.Generator) -> KnowledgeGraph:
    pairs = rng.choice(n * (n - 1), size=m, replace=False)
    source, target = pairs // (n - 1), pairs % (n - 1)
    target += target >= source
    labels = np.array([f"v{i}" for i in range(n)], dtype=object)
    return KnowledgeGraph(labels, {"own": Relation(source, target, rng.uniform(0.05, 0.95, m))})


def main(n: int = 1_000, m: int = 3_453, *sizes: int) -> None:
    rng = np.random.default_rng(7)
    rules, graph = load_text(REACH), erdos_renyi(n, m, rng)
    release = publish(Klone(k=3, trials=1).augment(graph, rules, rng, SILENT), set(graph.labels), rng)
    print(f"n = {n:,}, m = {m:,}; released n = {release.graph.n:,}, m = {release.graph.m:,}")
    for x in (2, *(sizes or (2, 3, 4))):  # the first run also compiles
        start = time.perf_counter()
        verdict = verify(graph, release.graph, release.mapping, rules, 3, x)
        print(f"x = {x}: δ = {verdict.delta}, holds: {verdict.holds}, {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
