"""Subgraphs a CPU second on which the rules are carried out: ``python benchmarks/induced.py [subgraphs]``."""

from __future__ import annotations

import sys
import time

import numpy as np

from kgreason.analysis.check import load_text
from kgreason.graph.induced import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices

RULES = {
    "control": """@node("company"). @edge("own"). @derived("control").
        control(X,X) :- company(X).
        control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.""",
    "ultimate": """@node("company"). @edge("own"). @derived("control"). @derived("ultimate").
        control(X,X) :- company(X).
        control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
        controlled(Y) :- control(X,Y), X != Y.
        ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).""",
    "reach": """@edge("own"). @derived("reach").
        reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
        reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.""",
    "read": """@edge("own"). @derived("less").
        less(X,Z) :- own(X,Y,V), own(Y,Z,W), V < W.""",
}


def erdos_renyi(n: int, m: int, rng: np.random.Generator) -> KnowledgeGraph:
    """Random directed graph with uniform weights."""
    source, target = rng.integers(0, n, m), rng.integers(0, n, m)
    proper = source != target
    relation = Relation(source[proper], target[proper], rng.random(int(proper.sum())))
    return KnowledgeGraph(np.arange(n).astype(str).astype(object), {"own": relation}).distinct()


def connected(graph: KnowledgeGraph, x: int, count: int, rng: np.random.Generator) -> Vertices:
    """Weakly connected vertex sets, each grown from a vertex by random neighbours."""
    source, target = graph.ends
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    order = np.argsort(ends[0], kind="stable")
    indptr, neighbour = np.searchsorted(ends[0][order], np.arange(graph.n + 1)), ends[1][order]
    members = np.empty((count, x), dtype=np.int64)
    members[:, 0] = source[rng.integers(0, len(source), count)]
    for step in range(1, x):
        base = members[np.arange(count), rng.integers(0, step, count)]
        members[:, step] = neighbour[rng.integers(indptr[base], indptr[base + 1])]
    distinct = (np.diff(np.sort(members, axis=1), axis=1) > 0).all(axis=1)
    return members[distinct]


def main(count: int) -> None:
    rng = np.random.default_rng(7)
    graph = erdos_renyi(10_000, 50_000, rng)
    print("rules      x  subgraphs    M/s  evaluated  ambiguous")
    for name, text in RULES.items():
        program = load_text(text)
        InducedReasoner(graph, program).derived(connected(graph, 3, 10, rng))  # compile
        for x in (3, 4):
            members = connected(graph, x, count, rng)
            reasoner = InducedReasoner(graph, program)
            began = time.process_time()
            reasoner.derived(members)
            rate = len(members) / (time.process_time() - began) / 1e6
            share = reasoner.ambiguous / len(members)
            print(f"{name:10} {x}  {len(members):9,}  {rate:5.2f}  {reasoner.evaluated:9,}  {share:8.4%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
