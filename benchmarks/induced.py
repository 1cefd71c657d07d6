"""Rate of evaluating rules on subgraphs, per CPU second: ``python benchmarks/induced.py [subgraphs]``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.induced.lifted import Lifted
from kgreason.graph.induced.situations import Sight
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.language.check.program_checker import load_text, restricted
from kgreason.language.check.weight_visibility import Use, WeightUse, weight_uses

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

SILENT = """@edge("own"). @derived("never"). never(X,Y) :- own(X,Y,W), W > 2.0."""


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


def rate(work: Callable[[Vertices], object], members: Vertices) -> float:
    """Millions of subgraphs a CPU second, the best of three runs."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        work(members)
        seconds.append(time.process_time() - began)
    return len(members) / min(seconds) / 1e6


def main(count: int) -> None:
    rng = np.random.default_rng(7)
    graph = erdos_renyi(10_000, 50_000, rng)
    print(
        "millions of subgraphs a CPU second: edges read and rules carried out; rules alone; cells of weights alone"
    )
    print(
        "(of so many subgraphs ambiguous); the engine on many subgraphs at once, of which few are alike, and with"
    )
    print("what it remembers of like ones")
    print("rules      x  subgraphs   masks  rules  settled  ambiguous  engine  remembering")
    for name, text in RULES.items():
        program = load_text(text)
        reasoner = InducedReasoner(graph, program)
        assert reasoner.outside is None
        silent = InducedReasoner(graph, load_text(SILENT))
        for x in (3, 4, 5):
            members = connected(graph, x, count, rng)
            for each in (reasoner, silent):
                each.masks(members[:10])  # compile, sort the edges
                each.settled(members[:10])
            masks = rate(reasoner.masks, members)
            rules = 1 / (1 / masks - 1 / rate(silent.masks, members))
            share = 1 - reasoner.settled(members)[0].mean()
            few = members[: count // 50]
            program = restricted(program, program.derived)
            exact = Sight(graph, program, {p: WeightUse(Use.READ) for p in program.edges})
            engine = rate(lambda m: Lifted(exact, program, frozenset()).resolve(m), few)  # noqa: B023
            coarse = Lifted(Sight(graph, program, weight_uses(program)), program, frozenset())
            remembering = rate(coarse.resolve, members)
            print(
                f"{name:10} {x}  {len(members):9,}  {masks:6.2f} {rules:6.1f}  {rate(reasoner.settled, members):7.2f}"
                f"  {share:9.4%}  {engine:6.3f}  {remembering:11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
