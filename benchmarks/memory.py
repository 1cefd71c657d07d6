"""Memory and processor time of preparing large graphs: ``python benchmarks/memory.py [--edges M ...]``.

Each line is a process of its own. It makes its input first, which stays in memory: random edges between a fifth as many
vertices, as a `KnowledgeGraph` (labels, int64 ends, float64 weights) or as `Facts` (int64 columns). The peak is the
greatest resident memory during the step over that before it, and held is what is left of this when the step is done,
its result; both in bytes for each edge of the input. Loading the machine code of the kernels is not part of a step.

The steps are: `adjacency`, for the enumeration of subgraphs; `plain`, the same without kinds of edges; `scipy`, with
which they compare, a symmetric sparse matrix of the same edges; `control` and `reach`, all up to the walks of a
recursion, from the facts on, with those of the rules that are not recursive; and `klone`, with k = 3, from the graph to
the augmented one, of which one copy and the edges between copies are held.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kgreason.base import memory
from kgreason.base.progress import SILENT
from kgreason.base.resources import resource as shipped
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.engine.seminaive import separable_walks
from kgreason.engine.seminaive.evaluation import prepare
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.language.check.program_checker import load_file, load_text

CONTROL = """
control(X, X) :- company(X).
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
@output("control").
"""
REACH = """
reach(X, Y) :- own(X, Y, W).
reach(X, Z) :- reach(X, Y), own(Y, Z, W).
@output("reach").
"""
Step = Callable[[], object]


class Walking(BaseException):
    """Raised where the walks would begin, with all that they need."""


def columns(edges: int) -> tuple[Any, Any, Any]:
    """Sources, targets and weights; the weights are multiples of 1e-6."""
    rng = np.random.default_rng(1)
    source, target = (rng.integers(0, max(edges // 5, 1), edges) for _ in range(2))
    weight = rng.integers(1, 1_000_001, edges).astype(np.float64)
    weight /= 1_000_000
    return source, target, weight


def graph(edges: int) -> KnowledgeGraph:
    labels = np.array([str(v) for v in range(max(edges // 5, 1))], dtype=object)
    return KnowledgeGraph(labels, {"own": Relation(*columns(edges))})


def adjacency(edges: int) -> Step:
    given = graph(edges)
    return lambda: Adjacency.of(given)


def plain(edges: int) -> Step:
    given = graph(edges)
    return lambda: Adjacency.plain(given)


def scipy(edges: int) -> Step:
    from scipy.sparse import coo_array

    source, target, _ = columns(edges)

    def step() -> object:
        size = max(edges // 5, 1)
        made = coo_array((np.ones(edges, dtype=np.int32), (source, target)), shape=(size, size)).tocsr()
        return (made + made.T).tocsr()

    return step


def walks(text: str, edges: int) -> Step:
    """All up to the walks of the only recursion of a program."""
    program = load_text(text)
    source, target, weight = columns(edges)
    weight /= 8
    company = np.arange(max(edges // 5, 1))
    tables = {
        "own": Table((Kind.INT, Kind.INT, Kind.DOUBLE), (source, target, weight.view(np.int64)), edges),
        "company": Table((Kind.INT,), (company,), len(company)),
    }
    facts = Facts(tables)
    walked = separable_walks._walked

    def stop(graph: Any, start: Any, *_: Any) -> None:
        raise Walking(graph, start)

    def step() -> object:
        setattr(separable_walks, "_walked", stop)  # noqa: B010
        try:
            chase, _ = prepare(program, facts, tuple(program.outputs), Limits())
            chase.run(SILENT)
        except Walking as reached:
            return reached.args
        finally:
            setattr(separable_walks, "_walked", walked)  # noqa: B010
        raise AssertionError("the program has no walks")

    return step


def control(edges: int) -> Step:
    return walks(CONTROL, edges)


def reach(edges: int) -> Step:
    return walks(REACH, edges)


def klone(edges: int) -> Step:
    given, rules = graph(edges), load_file(str(shipped("rules", "reachability.vada")))
    return lambda: Klone(k=3, trials=10).augment(given, rules, np.random.default_rng(2), SILENT)


STEPS = {made.__name__: made for made in (adjacency, plain, scipy, control, reach, klone)}


def status(name: str) -> int:
    """Bytes in a line of the status of this process, such as VmRSS and VmHWM."""
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def measure(name: str, edges: int) -> None:
    """Print one line."""
    STEPS[name](1000)()  # loads the kernels
    empty = status("VmRSS")
    step = STEPS[name](edges)
    memory.give_back()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is the present size
    before, start = status("VmRSS"), time.process_time()
    result = step()
    seconds = time.process_time() - start
    peak = status("VmHWM")
    memory.give_back()
    held = status("VmRSS")
    del result
    each = [f"{size / edges:8.0f}" for size in (before - empty, peak - before, held - before)]
    print(f"{name:10}{edges:12,}{''.join(each)}{seconds:10.1f}", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Bytes for each edge that preparing takes, Linux only.")
    parser.add_argument("--edges", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--limit", default="14GB", help="memory of a process")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    given = parser.parse_args(words)
    if given.here:
        limit = memory.parse_size(given.limit)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        measure(given.only[0], given.edges[0])
        return
    print(f"{'step':10}{'edges':>12}{'input':>8}{'peak':>8}{'held':>8}{'CPU s':>10}", flush=True)
    for edges in given.edges:
        for name in given.only:
            command = [sys.executable, __file__, "--here", "--only", name, "--edges", str(edges)]
            done = subprocess.run([*command, "--limit", given.limit], check=False, stderr=subprocess.PIPE)
            if done.returncode:
                last = done.stderr.decode().strip().splitlines()[-1:]
                print(f"{name:10}{edges:12,}  not done in {given.limit}: {''.join(last)[:60]}", flush=True)


if __name__ == "__main__":
    main()
