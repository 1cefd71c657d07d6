"""Run igraph, no reasoner but made for reachability: ``python run_igraph.py PROGRAM FOLDER [--digest]``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import common
import igraph


def evaluate(program: str, folder: Path) -> common.Relation:
    graph = igraph.Graph(edges=list(common.read(folder / "edge.facts")), directed=True)
    starts = list(graph.vs.indices)
    if program == "reach1":
        starts = list(chain.from_iterable(common.read(folder / "source.facts")))
    groups = (group for group in graph.connected_components(mode="strong") if len(group) > 1)
    cyclic = set(chain.from_iterable(groups))  # that reach themselves

    def size() -> int:
        reached = graph.neighborhood_size(starts, order=graph.vcount(), mode="out")
        return int(sum(reached)) - sum(start not in cyclic for start in starts)

    def rows() -> Iterator[tuple[int, int]]:
        for start in starts:
            reached = graph.subcomponent(start, mode="out")
            yield from ((start, end) for end in reached if end != start or start in cyclic)

    return common.Relation(size, lambda: common.columns(rows()))


if __name__ == "__main__":
    common.main(evaluate)
