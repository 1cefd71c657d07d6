"""Connected subgraphs and classes a second: ``python benchmarks/enumerate.py``."""

from __future__ import annotations

import time

import numpy as np

from kgreason.graph.generators import erdos_renyi
from kgreason.subgraphs.enumerate import connected_subgraphs, count_connected
from kgreason.subgraphs.patterns import classes_of, ground_cells


def main() -> None:
    rng = np.random.default_rng(0)
    small = erdos_renyi(10, 20, rng)
    ground_cells(small, connected_subgraphs(small, 3))  # compile
    for n, m, x in ((500, 5_000, 4), (500, 5_000, 5), (10_000, 50_000, 4), (10_000, 50_000, 5)):
        graph = erdos_renyi(n, m, rng)
        start = time.perf_counter()
        count = count_connected(graph, x)
        counted = time.perf_counter()
        print(f"ER n={n} m={m} x={x}: {count:,} subgraphs; count {counted - start:.2f} s", end="")
        if count <= 10_000_000:
            members = connected_subgraphs(graph, x)
            listed = time.perf_counter()
            classes = classes_of(ground_cells(graph, members), members)
            classified = time.perf_counter()
            print(
                f", list {listed - counted:.2f} s, {classes.count} classes {classified - listed:.2f} s",
                end="",
            )
        print()


if __name__ == "__main__":
    main()
