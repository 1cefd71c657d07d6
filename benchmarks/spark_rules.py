"""Facts of rules on one machine and on Spark: processor time, memory, and whether the facts are equal.

    python benchmarks/spark_rules.py [--master local[2]] [--times 3] [case ...]

Each case reads a Parquet file and writes all facts as Parquet, in three ways: at once and in parts, each in a process
of its own, without its start; and on a session of Spark, the first time with a cold Java. Processor time of Spark is
that of this process, of Java and of the Python workers (as in `spark.py`). MB is the greatest resident memory of the
process, and on Spark that of a worker. The digest is one of the facts in any order.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from parts import digested
from spark import memory, used

import kgreason
from kgreason.base.progress import Silent
from kgreason.data.fact_writing import write_facts
from kgreason.distributed.spark_session import session
from kgreason.graph.generators import erdos_renyi, ownership
from kgreason.graph.knowledge_graph import KnowledgeGraph

REACH = """
@output("reach").
reach(X, Y) :- own(X, Y, W).
reach(X, Z) :- reach(X, Y), own(Y, Z, W).
"""
CONTROL = """
@node("company"). @edge("own"). @output("control").
control(X, X) :- company(X).
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
"""
ULTIMATE = (
    CONTROL.replace('@output("control")', '@output("ultimate")')
    + """
controlled(Y) :- control(X, Y), X != Y.
ultimate(X, Y) :- control(X, Y), X != Y, not controlled(X).
"""
)
WAYS = ("at once", "in parts")
HEADER = ("case", "where", "facts", "wall s", "this process, CPU s", "Java", "Python workers", "MB", "digest")


@dataclass(frozen=True)
class Case:
    """Rules, and the graph that they are applied to."""

    rules: str
    graph: Callable[[], KnowledgeGraph]
    text: bool = False


def random(n: int) -> KnowledgeGraph:
    return erdos_renyi(n, 5 * n, np.random.default_rng(1))


def register(n: int) -> KnowledgeGraph:
    return ownership(n, np.random.default_rng(1))


CASES = {
    "reach, ER 10k/50k, numbers": Case(REACH, partial(random, 10_000)),
    "reach, ER 10k/50k, strings": Case(REACH, partial(random, 10_000), text=True),
    "control, 10^6 companies, numbers": Case(CONTROL, partial(register, 1_000_000)),
    "ultimate, 300k companies, strings": Case(ULTIMATE, partial(register, 300_000), text=True),
    "reach, ER 200/1k, numbers": Case(REACH, partial(random, 200)),
}


def write(case: Case, file: Path) -> None:
    """Write the graph of a case."""
    own = case.graph().relations["own"]
    ends = pa.array(own.source), pa.array(own.target)
    if case.text:
        names = pa.array([f"company-{i:08d}" for i in range(1 + max(own.source.max(), own.target.max()))])
        ends = names.take(ends[0]), names.take(ends[1])
    pq.write_table(pa.table([*ends, pa.array(own.weight)], names=["x", "y", "w"]), file)


def alone(name: str, way: str, file: str, out: str) -> None:
    """Derive and write the facts in this process; print seconds, processor seconds and MB."""
    program = kgreason.load(CASES[name].rules)
    start, before = perf_counter(), process_time()
    if way == "at once":
        facts = kgreason.reason(program, {"own": Path(file)}).facts
        Path(out).mkdir()
        write_facts(Path(out), facts, "parquet")
    else:
        kgreason.reason_in_parts(program, {"own": Path(file)}, out, parts=32)
    lines = (
        Path("/proc/self/status").read_text().splitlines()
    )  # getrusage counts the memory of who started it
    (most,) = (int(line.split()[1]) * 1024 // 10**6 for line in lines if line.startswith("VmHWM:"))
    print(perf_counter() - start, process_time() - before, most)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        alone(*asked.run)
        return
    warnings.simplefilter("ignore", FutureWarning)
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    spark = None
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.cases or CASES:
            file, case = Path(folder, "own.parquet"), CASES[name]
            write(case, file)
            for way in WAYS * asked.times:
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    out = Path(place, "out")
                    words = [sys.executable, __file__, "--run", name, way, str(file), str(out)]
                    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
                    wall, spent, most = map(float, told)
                    number, digest = digested(out)
                    cells = f"{number:,}", wall, spent, "", "", int(most), f"{digest:016x}"
                    print(row(name, way, *cells), flush=True)
            for _ in range(asked.times + (spark is None)):
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    out, steps = Path(place, "out"), Steps()
                    where = "Spark" if spark else "Spark, cold"
                    spark = spark or session(asked.master)
                    frame = spark.read.parquet(str(file))
                    with kgreason.spark.reason(
                        case.rules, {"own": frame}, spark=spark, progress=Noted()
                    ) as found:
                        steps.end()
                        found.write(str(out))
                        steps.end()
                    print(row(name, f"{where}, deriving", "", *steps.times[0], memory()[0]), flush=True)
                    number, digest = digested(out)
                    times = steps.times[1], memory()[0], f"{digest:016x}"
                    print(row(name, f"{where}, writing", f"{number:,}", *times[0], *times[1:]), flush=True)


class Steps:
    """Wall seconds of steps, and processor seconds of this process, Java and Python workers."""

    def __init__(self) -> None:
        self._last = self._now()
        self.times: list[tuple[float, ...]] = []

    def _now(self) -> tuple[float, ...]:
        return perf_counter(), *used()

    def end(self) -> None:
        """End a step."""
        now = self._now()
        self.times.append(tuple(b - a for a, b in zip(self._last, now, strict=True)))
        self._last = now


def row(*cells: object) -> str:
    words = (
        f"{cell:,.0f}" if isinstance(cell, int) else f"{cell:.1f}" if isinstance(cell, float) else str(cell)
        for cell in cells
    )
    return f"| {' | '.join(words)} |"


class Noted(Silent):
    """Prints what is estimated and derived."""

    def note(self, message: str) -> None:
        """Print a message."""
        print(f"  {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
