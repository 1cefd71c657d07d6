"""Subgraphs on one machine and on Spark: processor time, memory of a worker, and whether the results are equal.

    python benchmarks/spark.py [--master local[2]] [--times 3] [case ...]

One line for each run: first on the cores of this machine, then on a session of Spark, the first time with a cold Java.
All of a census is done by Spark, also of the small one, which shows the overhead; of a verdict, what pays.
Processor time of Spark is that of this process, of Java, and of the Python workers with their children, as the system
reports them (/proc); it is complete where all of these run on this machine. Memory is the peak of a worker, in which
pages that workers share are counted for each; PSS, after the run, divides these among them.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import kgreason
from kgreason.base.divided_work import divided_by
from kgreason.distributed.spark_engine import SparkEngine
from kgreason.distributed.spark_session import session
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.census import census
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.isomorphism.verification.checker import verify_alone

RULES = Path(__file__).resolve().parent.parent / "rules" / "control.vada"
TICK = os.sysconf("SC_CLK_TCK")
HEADER = (
    *("case", "where", "result", "wall s", "this process, CPU s", "Java", "Python workers"),
    *("peak MB of a worker", "PSS MB", "equal"),
)


def random(n: int, m: int) -> KnowledgeGraph:
    return erdos_renyi(n, m, np.random.default_rng(1))


def hubs(n: int) -> KnowledgeGraph:
    return scale_free(n, 2.2, np.random.default_rng(1))


@dataclass(frozen=True)
class Case:
    """What is counted or decided of a graph."""

    graph: Callable[[], KnowledgeGraph]
    x: int
    rules: bool = True
    verdict: bool = False


CASES = {
    "census, ER 10k/50k, control": Case(partial(random, 10_000, 50_000), 5),
    "census, scale-free 30k, no rules": Case(partial(hubs, 30_000), 4, rules=False),
    "census, ER 200/1k, control": Case(partial(random, 200, 1_000), 3),
    "verdict, ER 10k/50k, control": Case(partial(random, 10_000, 50_000), 5, verdict=True),
}


def prepared(case: Case) -> Callable[[], tuple[str, tuple[Any, ...]]]:
    """A run: the result in words, and all that must be equal."""
    graph = case.graph()
    program = kgreason.load(RULES)
    if case.verdict:

        def decide() -> tuple[str, tuple[Any, ...]]:
            verdict = verify_alone(graph, program, 3, case.x)
            return str(verdict.delta), (verdict.items, str(verdict.delta))

        return decide
    adjacency = Adjacency.of(graph, InducedReasoner(graph, program).ties if case.rules else None)

    def count() -> tuple[str, tuple[Any, ...]]:
        found = census(adjacency, case.x)
        words = f"{found.total:,} subgraphs, {len(found.counts):,} patterns"
        return words, (found.nodes.tobytes(), found.counts.tobytes())

    return count


def below(pid: int) -> list[int]:
    """Processes that a process started, and those that these started."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    found, waiting = [], [pid]
    while waiting:
        new = parents.get(waiting.pop(), [])
        found += new
        waiting += new
    return found


def is_java(pid: int) -> bool:
    return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def used() -> tuple[float, float, float]:
    """Processor seconds of this process, of Java, and of Python workers, with children that have ended."""
    java = python = 0.0
    for pid in below(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own, ended = (sum(map(int, fields[i : i + 2])) / TICK for i in (11, 13))
            if is_java(pid):
                java += own  # those of its children that have ended are Python
                python += ended
            else:
                python += own + ended
        except OSError:
            continue
    return process_time(), java, python


def memory() -> tuple[int, int]:
    """Largest peak and largest PSS of a Python worker in MB."""
    peaks, shares = [0], [0]
    for pid in below(os.getpid()):
        try:
            if b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes():
                told = Path(f"/proc/{pid}/status").read_text() + Path(f"/proc/{pid}/smaps_rollup").read_text()
                lines = {line.partition(":")[0]: line.split() for line in told.splitlines()}
                peaks.append(int(lines["VmHWM"][1]) * 1024 // 10**6)
                shares.append(int(lines["Pss"][1]) * 1024 // 10**6)
        except (OSError, KeyError):
            continue
    return max(peaks), max(shares)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    engine: SparkEngine | None = None
    for name in asked.cases or CASES:
        run = prepared(CASES[name])
        run()  # reads or compiles the kernels
        start, before = perf_counter(), process_time()
        words, alone = run()
        seconds = f"{perf_counter() - start:.1f}", f"{process_time() - before:.2f}"
        print(f"| {' | '.join((name, 'here', words, *seconds, '', '', '', '', ''))} |", flush=True)
        for _ in range(asked.times):
            where = "Spark" if engine else "Spark, cold"
            start, earlier = perf_counter(), used()
            least = None if CASES[name].verdict else 0
            engine = SparkEngine(engine.spark if engine else session(asked.master), least=least)
            with divided_by(engine):
                words, found = run()
            wall = perf_counter() - start
            spent = (f"{now - then:.2f}" for now, then in zip(used(), earlier, strict=True))
            same = "yes" if found == alone else "NO"
            row = "", where, words, f"{wall:.1f}", *spent, *(f"{size:,}" for size in memory()), same
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
