"""Time the reasoner beside other engines on the same input, in one run: ``python benchmarks/reasoner.py``.

Transitive closure of an Erdős–Rényi graph and company control, each run in this process, warm (the first run
of ours, which compiles or loads kernels, is shown apart). All engines get the input as Python or NumPy objects,
and their results are compared for equality. Times are wall-clock medians; compare only figures of one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from collections.abc import Callable
from time import perf_counter

import numpy as np

from kgreason.analysis.check import load_text
from kgreason.engine.seminaive import evaluate
from kgreason.engine.table import Facts, Kind, Table, doubles

CLOSURE = "reach(X,Y) :- edge(X,Y). reach(X,Z) :- reach(X,Y), edge(Y,Z)."
CONTROL = """
    control(X,X) :- company(X).
    control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
"""
UNIT = 4096  # shares are multiples of 1/4096, so that engines with integer sums agree to the last bit

Pairs = np.ndarray  # shape (rows, 2), sorted


def erdos_renyi(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Edges of a directed graph without loops, shape (m, 2)."""
    codes = rng.choice(n * (n - 1), size=m, replace=False)
    source, target = codes // (n - 1), codes % (n - 1)
    return np.column_stack([source, target + (target >= source)])


def ownership(n: int, rng: np.random.Generator) -> np.ndarray:
    """Shareholdings as (owner, company, share of UNIT), shape (rows, 3); shares of a company sum to UNIT at most.

    Every company has one to five owners, some of them large; owners are companies numbered a little lower, so
    that chains of control arise.
    """
    owners = 1 + rng.integers(0, 5, n)
    company = np.repeat(np.arange(n), owners)
    back = 1 + rng.geometric(0.02, len(company))
    owner = (company - back) % n
    weight = rng.random(len(company)) + 3 * (rng.random(len(company)) < 0.15)
    total = np.bincount(company, weight, n)
    share = np.maximum(1, np.floor(weight / total[company] * (UNIT - 8))).astype(np.int64)
    rows = np.column_stack([owner, company, share])
    _, first = np.unique(owner * n + company, return_index=True)
    return rows[first]


def table(*columns: np.ndarray) -> Table:
    kinds = tuple(Kind.DOUBLE if c.dtype == np.float64 else Kind.INT for c in columns)
    data = tuple(doubles(c) if c.dtype == np.float64 else np.ascontiguousarray(c) for c in columns)
    return Table(kinds, data, len(columns[0]))


def ordered(first: np.ndarray, second: np.ndarray) -> Pairs:
    order = np.lexsort((second, first))
    return np.column_stack([first[order], second[order]])


def ours(text: str, goal: str, tables: dict[str, Table]) -> Callable[[], Pairs]:
    program = load_text(text)

    def run() -> Pairs:
        found = evaluate(program, Facts(tables), goals=[goal]).facts.tables[goal]
        return found.columns  # type: ignore[return-value]

    return run


def clingo_runs(text: str, goal: str, facts: str) -> Callable[[], Pairs]:
    import clingo

    def run() -> list[tuple[int, int]]:
        control = clingo.Control(["--warn=none"])
        control.add("base", [], facts + text)
        control.ground([("base", [])])
        atoms = control.symbolic_atoms.by_signature(goal, 2)
        return [(a.symbol.arguments[0].number, a.symbol.arguments[1].number) for a in atoms]

    return run  # type: ignore[return-value]


def clingo_closure(edges: np.ndarray) -> Callable[[], Pairs]:
    facts = "".join(f"edge({a},{b})." for a, b in edges.tolist())
    return clingo_runs(CLOSURE, "reach", facts)


def clingo_control(own: np.ndarray, n: int) -> Callable[[], Pairs]:
    facts = f"company(0..{n - 1})." + "".join(f"own({a},{b},{w})." for a, b, w in own.tolist())
    rules = f"""
        control(X,X) :- company(X).
        control(X,Z) :- company(X), own(_,Z,_), {UNIT // 2} < #sum {{ W,Y : control(X,Y), own(Y,Z,W) }}.
    """
    # ground by reachability, or clingo would try all pairs of companies
    rules = rules.replace("company(X), own(_,Z,_),", "reach(X,Z),")
    rules += "reach(X,Z) :- own(X,Z,_). reach(X,Z) :- control(X,Y), own(Y,Z,_)."
    return clingo_runs(rules, "control", facts)


def duckdb_closure(edges: np.ndarray) -> Callable[[], Pairs]:
    import duckdb

    connection = duckdb.connect()
    x, y = edges.T.copy()
    connection.execute("create table edge(x bigint, y bigint)")
    connection.register("given", {"x": x, "y": y})
    connection.execute("insert into edge select x, y from given")
    query = """
        with recursive reach(x, z) as (
            select x, y from edge union select reach.x, edge.y from reach join edge on reach.z = edge.x
        ) select x, z from reach
    """

    def run() -> Pairs:
        found = connection.execute(query).fetchnumpy()
        return found["x"], found["z"]  # type: ignore[return-value]

    return run


def pydatalog_closure(edges: np.ndarray) -> Callable[[], Pairs]:
    from pyDatalog import pyDatalog

    def run() -> list[tuple[int, int]]:
        pyDatalog.clear()
        for a, b in edges.tolist():
            pyDatalog.assert_fact("edge", a, b)
        pyDatalog.load("reach(X,Y) <= edge(X,Y)\nreach(X,Z) <= reach(X,Y) & edge(Y,Z)")
        return list(pyDatalog.ask("reach(X,Y)").answers)

    return run  # type: ignore[return-value]


def pairs(found: object) -> Pairs:
    if isinstance(found, tuple):
        return ordered(*(np.asarray(column, dtype=np.int64) for column in found))
    rows = np.array(found, dtype=np.int64).reshape(-1, 2)
    return ordered(rows[:, 0], rows[:, 1])


Engines = dict[str, Callable[[], Callable[[], Pairs]]]


def compare(title: str, engines: Engines, repeats: dict[str, int]) -> None:
    print(f"\n{title}")
    expected = None
    for name, make in engines.items():
        try:
            run = make()
        except ImportError as error:
            print(f"  {name:10} not installed ({error.name})")
            continue
        times, first = [], None
        for i in range(repeats.get(name, 3) + (name == "kgreason")):
            start = perf_counter()
            found = run()
            seconds = perf_counter() - start
            if name == "kgreason" and i == 0:
                first = seconds
            else:
                times.append(seconds)
        result = pairs(found)
        expected = result if expected is None else expected
        same = "same result" if np.array_equal(result, expected) else "DIFFERENT RESULT"
        median = statistics.median(times)
        rate = f"{len(result) / median / 1e6:6.2f} M facts/s"
        cold = f"  (first run {first:.2f} s)" if first is not None else ""
        print(f"  {name:10} {median:8.3f} s  {rate}  {len(result):,} facts, {same}, {len(times)} runs{cold}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the Erdős–Rényi graph")
    parser.add_argument("--edges", type=int, default=3453)
    parser.add_argument("--companies", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--clingo-companies", type=int, default=10_000, help="clingo runs up to this size")
    parser.add_argument("--pydatalog-nodes", type=int, default=100, help="size for pyDatalog, which is slow")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    machine = f"{os.cpu_count()} x {platform.machine()} {platform.system()}"
    print(f"{machine}, Python {platform.python_version()}, NumPy {np.__version__}")

    for n, m in [
        (options.nodes, options.edges),
        (options.pydatalog_nodes, options.pydatalog_nodes * options.edges // options.nodes),
    ]:
        edges = erdos_renyi(n, m, rng)
        engines: Engines = {
            "kgreason": lambda e=edges: ours(CLOSURE, "reach", {"edge": table(e[:, 0], e[:, 1])}),
            "duckdb": lambda e=edges: duckdb_closure(e),
            "clingo": lambda e=edges: clingo_closure(e),
        }
        if n <= options.pydatalog_nodes:
            engines["pyDatalog"] = lambda e=edges: pydatalog_closure(e)
        compare(
            f"transitive closure, Erdős–Rényi n = {n:,}, M = {m:,}", engines, {"clingo": 1, "pyDatalog": 1}
        )

    for n in options.companies:
        own = ownership(n, rng)
        tables = {
            "company": table(np.arange(n)),
            "own": table(own[:, 0], own[:, 1], own[:, 2] / UNIT),
        }
        engines = {"kgreason": lambda t=tables: ours(CONTROL, "control", t)}
        if n <= options.clingo_companies:
            engines["clingo"] = lambda o=own, k=n: clingo_control(o, k)
        compare(f"company control, {n:,} companies, {len(own):,} shareholdings", engines, {"clingo": 1})


if __name__ == "__main__":
    main()
