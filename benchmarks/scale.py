"""Seconds and bytes over the size of the input, and what they say about 10^9 edges and 10^11 facts.

    python benchmarks/scale.py [--census M ...] [--x4 M] [--facts M ...]

Each line is a process of its own (Linux only). First, the census of the connected sets of x vertices of random graphs
with M edges and 2 M / 10 vertices, in arrays alone: all labels are one object. *Hubs* draws the targets of edges with
a density of i^(-2/3). Peak and held are bytes for each edge, over the process without a graph: with the input (16 B),
at the peak of all steps, and at the end.

Then, rules in parts over edges in a Parquet file of integers, written to Parquet: closures of graphs that consist of
random blocks with 5 edges a vertex, of 500 or 50 vertices, and control of companies with one majority owner and four
others: owners in trees of 500 companies, or in chains of 100. Vertices are numbered at random. The peak is beyond the
process before; parts have about 4,000,000 facts.

Models are fitted to the smaller sizes, and their error is that of the prediction for the largest one. The last tables
are computed from the models fitted to all sizes. All takes about 10 minutes and 6 GB; for a short run:

    python benchmarks/scale.py --census 20000 50000 100000 --x4 100000 --facts 5000 10000 20000
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from memory import status
from scipy.optimize import nnls

import kgreason
from kgreason.base import memory
from kgreason.base.cores import cores
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.subgraphs.census import census
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency

PART = 4_000_000  # facts
EDGES, FACTS = 10**9, 10**11
JAVA = 0.2e-6  # seconds a fact through Java: of benchmarks/spark.py, not measured here
CORES = 2, 64, 1_000
CLOSURE = """
reach(X, Y) :- own(X, Y).
reach(X, Z) :- reach(X, Y), own(Y, Z).
@output("reach").
"""
CONTROL = """
control(X, Y) :- own(X, Y, W), W > 0.5.
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
@output("control").
"""
CASES = {"closure 500": CLOSURE, "closure 50": CLOSURE, "control trees": CONTROL, "control chains": CONTROL}
EACH = {
    "closure 500": 100,
    "closure 50": 10,
    "control trees": 2,
    "control chains": 10,
}  # facts an edge, about
Row = dict[str, float]


def random_graph(edges: int, *, hubs: bool) -> KnowledgeGraph:
    """Random edges between a fifth as many vertices, which have no labels."""
    n, rng = edges // 5, np.random.default_rng(1)
    source = rng.integers(0, n, edges)
    target = (n * rng.random(edges) ** 3).astype(np.int64) if hubs else rng.integers(0, n, edges)
    return KnowledgeGraph(np.broadcast_to(np.array("", dtype=object), n), {"own": Relation(source, target)})


def census_of(name: str, edges: int, x: int) -> Row:
    """One census, from the generator on."""
    census(Adjacency.of(random_graph(1_000, hubs=False)), x)  # loads the kernels
    memory.give_back()
    empty, times = status("VmRSS"), [time.process_time()]
    graph = random_graph(edges, hubs=name == "hubs")
    times.append(time.process_time())
    adjacency = Adjacency.of(graph)
    times.append(time.process_time())
    found = census(adjacency, x)
    times.append(time.process_time())
    peak = status("VmHWM") - empty
    degree = int(np.diff(adjacency.indptr).max())
    n = graph.n
    del graph
    memory.give_back()
    generate, prepare, enumerate_ = np.diff(times).tolist()
    return {
        "edges": edges,
        "vertices": n,
        "degree": degree,
        "peak": peak / edges,
        "held": (status("VmRSS") - empty) / edges,
        "generate": generate,
        "prepare": prepare,
        "enumerate": enumerate_,
        "sets": found.total,
        "ns": 1e9 * enumerate_ / max(found.total, 1),
        "patterns": len(found.counts),
    }


def edges_of(name: str, edges: int) -> pa.Table:
    """Edges in blocks, whose vertices are numbered at random."""
    kind, shape = name.split()
    size, rng = {"500": 500, "50": 50, "trees": 500, "chains": 100}[shape], np.random.default_rng(1)
    n = max(edges // 5 // size, 1) * size
    start, place = np.divmod(np.arange(n), size)
    number = rng.permutation(n)
    owners = [start * size + rng.integers(0, size, n) for _ in range(5)]
    columns = [np.concatenate([number[o] for o in owners]), np.tile(number, 5)]
    if kind == "closure":
        return pa.table({"from": columns[0], "to": columns[1]})
    above = place - 1 if shape == "chains" else (rng.random(n) * place).astype(np.int64)
    columns[0][:n] = number[start * size + np.maximum(above, 0)]
    weight = np.repeat([0.6, 0.05], [n, 4 * n])
    kept = np.arange(5 * n) >= n
    kept[:n] = place > 0
    return pa.table({"from": columns[0][kept], "to": columns[1][kept], "share": weight[kept]})


def facts_of(name: str, edges: int, _: int) -> Row:
    """One program in parts."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "own.parquet"), Path(folder, "out")
        for size in (2_500, edges):  # the first one loads the kernels
            table = edges_of(name, size)
            number = table.num_rows
            pq.write_table(table, data)
            del table
            memory.give_back()
            Path("/proc/self/clear_refs").write_text("5")  # the peak is the present size
            before, start = status("VmRSS"), time.process_time()
            parts = max(size * EACH[name] // PART, 4)
            done = kgreason.reason_in_parts(CASES[name], {"own": data}, out / str(size), parts=parts)
            seconds, peak = time.process_time() - start, status("VmHWM") - before
        (facts,) = done.counts.values()
        disk = sum(file.stat().st_size for file in (out / str(edges)).iterdir())
    return {
        "edges": number,
        "facts": facts,
        "parts": parts,
        "seconds": seconds,
        "peak": peak,
        "disk": disk / max(facts, 1),
    }


def run(step: str, name: str, edges: int, x: int = 0) -> Row:
    """Measure in a process of its own."""
    words = [sys.executable, __file__, "--run", step, name, str(edges), str(x)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return {key: float(value) for key, value in (line.split() for line in done.stdout.splitlines())}


def line(*cells: object) -> None:
    """Print a line of a table."""
    shown = (
        f"{c:,.3g}" if isinstance(c, float) and c < 1000 else f"{c:,.0f}" if isinstance(c, float) else c
        for c in cells
    )
    print("| " + " | ".join(map(str, shown)) + " |", flush=True)


def head(*names: str) -> None:
    print()
    line(*names)
    line(*["---"] * len(names))


def fitted(rows: list[list[float]], values: list[float]) -> list[float]:
    """Non-negative coefficients of least relative error."""
    scale = np.array(values)
    return nnls(np.array(rows) / scale[:, None], np.ones(len(scale)))[0].tolist()


def predicted(rows: list[list[float]], values: list[float]) -> tuple[list[float], float]:
    """Coefficients fitted to all rows; relative error for the last one of those fitted to the rows before."""
    error = float(np.dot(fitted(rows[:-1], values[:-1]), rows[-1]) / values[-1] - 1)
    return fitted(rows, values), error


def told(error: float) -> str:
    return f"error for the largest {100 * error:+.0f} %"


def censuses(sizes: list[int], most: int) -> tuple[dict[str, float], list[Row]]:
    """Measure and fit the census: ns at `EDGES`, and the measurements of the largest graph for each x."""
    names = "generate", "prepare", "enumerate", "sets", "ns", "patterns"
    head("graph", "x", "edges", "vertices", "largest degree", "peak, B an edge", "held", *names)
    threes, fours = [], []
    cases = [("random", m, 3) for m in sizes] + [("random", m, 4) for m in sizes if m <= most]
    cases += [("hubs", m, 3) for m in sizes[:2]]
    for name, edges, x in cases:
        row = run("census", name, edges, x)
        line(name, x, *row.values())
        row["x"] = x
        if name == "random":
            (threes if x == 3 else fours).append(row)
    print()
    found = {"prepare, ns an edge": [(r["edges"], 1e9 * r["prepare"] / r["edges"]) for r in threes]}
    found |= {
        f"x = {rows[0]['x']:.0f}, ns a set": [(r["edges"], r["ns"]) for r in rows]
        for rows in (threes, fours)
        if rows
    }
    models = {}
    for name, points in found.items():
        rows = [[1.0, float(np.log10(m / sizes[0]))] for m, _ in points]
        (a, b), error = predicted(rows, [y for _, y in points])
        models[name] = a + b * float(np.log10(EDGES / sizes[0]))
        print(f"{name}: {a:.1f} + {b:.1f} log10(edges / {sizes[0]:,}); {told(error)}")
    return models, [rows[-1] for rows in (threes, fours) if rows]


class Cost(NamedTuple):
    """Of rules on `EDGES` edges: undivided seconds, seconds a fact, bytes of the peak, and bytes a fact on disk."""

    fixed: float
    fact: float
    peak: float
    disk: float


def programs(sizes: list[int]) -> dict[str, Cost]:
    """Measure and fit rules in parts."""
    head("program", "edges", "facts", "parts", "CPU s", "peak, MB", "Parquet, B a fact")
    found: dict[str, list[Row]] = {"closure": [], "control": []}
    for edges in sizes:
        for name in sorted(CASES, key=EACH.__getitem__):
            row = run("facts", name, edges)
            found[name.split()[0]].append(row)
            line(name, *list(row.values())[:4], row["peak"] / 1e6, row["disk"])
    print()
    costs = {}
    for name, rows in found.items():
        orders = [float(np.log10(r["edges"] / sizes[0])) for r in rows]
        features = [[1.0, r["edges"], r["facts"], r["facts"] * o] for r, o in zip(rows, orders, strict=True)]
        (start, edge, fact, more), error = predicted(features, [r["seconds"] for r in rows])
        parts = [[1.0, r["edges"], r["facts"] / r["parts"]] for r in rows]
        (least, each, part), off = predicted(parts, [r["peak"] for r in rows])
        print(
            f"{name}: {start:.2f} s + {1e6 * edge:.2f} µs an edge + ({1e9 * fact:.0f} + {1e9 * more:.0f} "
            f"log10(edges / {sizes[0]:,})) ns a fact; {told(error)}"
        )
        print(
            f"peak: {least / 1e6:.0f} MB + {each:.0f} B an edge + {part:.0f} B a fact of a part; {told(off)}"
        )
        here = fact + more * float(np.log10(EDGES / sizes[0]))
        peak = least + each * EDGES + part * PART
        costs[name] = Cost(start + edge * EDGES, here, peak, rows[-1]["disk"])
    return costs


def wall(fixed: float, divided: float, java: float) -> list[str]:
    """Hours on each number of cores, and with rows through Java."""
    alone, through = ([(fixed + some / p) / 3600 for p in CORES] for some in (divided, divided + java))
    return [f"{a:.2f}" + (f" ({b:.2f})" if java else "") for a, b in zip(alone, through, strict=True)]


def extrapolate(costs: dict[str, float], last: list[Row], rules: dict[str, Cost]) -> None:
    """Print what the models say about `EDGES` and `FACTS`; control has a tenth of the facts."""
    print(f"\nExtrapolated to {EDGES:,} edges, {EDGES // 5:,} vertices; hours in brackets: rows through Java")
    hours = [f"{p:,} cores, h" for p in CORES]
    head("work", "results", "peak, GB", "held, GB", "CPU h", "divided, %", *hours, "Parquet, GB")
    for row in last:
        sets, x = row["sets"] * EDGES / row["edges"], f"x = {row['x']:.0f}"
        divided = 1e-9 * sets * costs[f"{x}, ns a set"]
        fixed = 1e-9 * EDGES * costs["prepare, ns an edge"]
        sizes = (EDGES * row[name] / 1e9 for name in ("peak", "held"))
        share = 100 * divided / (fixed + divided)
        line(f"census, {x}", sets, *sizes, (fixed + divided) / 3600, share, *wall(fixed, divided, 0), "")
    for name, cost in rules.items():
        facts = float(FACTS if name == "closure" else FACTS // 10)
        fixed, divided = cost.fixed, cost.fact * facts
        sums = (fixed + divided) / 3600, 100 * divided / (fixed + divided)
        times = wall(fixed, divided, JAVA * facts)
        line(f"{name}, in parts", facts, cost.peak / 1e9, "", *sums, *times, cost.disk * facts / 1e9)
    labels = status("VmRSS")
    made = np.array([f"company {i}" for i in range(10**6)], dtype=object)
    each = (status("VmRSS") - labels) / len(made)
    print(f"\nlabels: {each:.0f} B a vertex as Python strings, {each * EDGES / 5 / 1e9:.0f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--census", type=int, nargs="+", default=[10**6, 10**7, 10**8], help="edges")
    parser.add_argument("--x4", type=int, default=10**8, help="most edges for x = 4")
    parser.add_argument(
        "--facts", type=int, nargs="+", default=[10**5, 3 * 10**5, 10**6, 3 * 10**6], help="edges"
    )
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        step, name, edges, x = asked.run
        for key, value in (census_of if step == "census" else facts_of)(name, int(edges), int(x)).items():
            print(key, value)
        return
    processor = next(x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name"))
    memory_ = Path("/proc/meminfo").read_text().split()[1]
    print(
        f"{processor.partition(': ')[2]}, {cores()} cores, {int(memory_) / 1e6:.0f} GB, "
        f"Python {platform.python_version()}; processor time, single runs"
    )
    costs, last = censuses(asked.census, asked.x4)
    extrapolate(costs, last, programs(asked.facts))


if __name__ == "__main__":
    main()
