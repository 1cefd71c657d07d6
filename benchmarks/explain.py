"""Time explanations of single facts among very many: ``python benchmarks/explain.py``.

A fact of the transitive closure of a random graph (about a million facts) and one of company control among 100,000
companies and persons, each time with everything: evaluating the rules, finding the heights, the proof and its
text. Beside it, the time of the evaluation alone. Wall-clock medians of warm runs in this process.
"""

from __future__ import annotations

import argparse
import statistics
from time import perf_counter

import numpy as np

from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.graph.generators import ownership
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text
from kgreason.provenance.explanation import explain_fact

CLOSURE = "reach(X,Y) :- edge(X,Y). reach(X,Z) :- reach(X,Y), edge(Y,Z)."
CONTROL = """
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
"""


def closure(rng: np.random.Generator, n: int = 1000, m: int = 3453) -> Facts:
    """A random graph as facts."""
    codes = rng.choice(n * n, size=m, replace=False)
    return Facts.from_rows({"edge": [(int(c // n), int(c % n)) for c in codes]})


def register(rng: np.random.Generator, n: int = 100_000) -> Facts:
    """A company register as facts."""
    graph = ownership(n, rng)
    own = graph.relations["own"]
    names = graph.labels.tolist()
    assert own.weight is not None
    triples = zip(own.source.tolist(), own.target.tolist(), own.weight.tolist(), strict=True)
    return Facts.from_rows(
        {"own": [(names[a], names[b], w) for a, b, w in triples], "company": [(name,) for name in names]}
    )


def measure(name: str, program: CheckedProgram, facts: Facts, predicate: str, runs: int) -> None:
    """Explain the fact with the highest proof, one that does not hold, and print the times."""
    found = explain_fact(program, facts, f"{predicate}(X, Y)", most=10**9 if predicate == "control" else 1)
    goal = max(found.proofs, key=lambda proof: proof.height).fact
    if predicate == "reach":
        last = evaluate(program, facts).facts
        goal = "reach({},{})".format(*list(last.rows("reach"))[-1])
    alone, whole = [], []
    for _ in range(runs):
        start = perf_counter()
        count = evaluate(program, facts).facts.count(predicate)
        middle = perf_counter()
        result = explain_fact(program, facts, goal)
        text = result.as_text()
        alone.append(middle - start)
        whole.append(perf_counter() - middle)
    print(
        f"{name}: {count:,} facts, {goal} of height {result.proofs[0].height}, {len(text.splitlines())} lines: "
        f"evaluating {statistics.median(alone):.2f} s, explaining (all included) {statistics.median(whole):.2f} s"
    )


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(1)
    measure("closure", load_text(CLOSURE), closure(rng), "reach", runs)
    measure("control", load_text(CONTROL), register(rng), "control", runs)


if __name__ == "__main__":
    main()
