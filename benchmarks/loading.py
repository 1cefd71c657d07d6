"""Time of loading CSV and Parquet files, compared with other readers: ``python benchmarks/loading.py``.

A file of integers and one of names and weights, each as CSV and as Parquet. kgreason reads them as
facts: it infers column kinds, encodes strings and drops repeated rows; the others read tables. Times are wall-clock
medians of warm runs (the first run of kgreason, which compiles or loads kernels, has its own column); compare only
figures of one run.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from kgreason.data.fact_loading import load_facts
from kgreason.engine.relations.rows import first_rows
from kgreason.language.check.program_checker import load_text

PROGRAM = load_text('held(X,Y) :- own(X,Y,W). @input("own").')
MEGABYTE = 1_000_000


def integers(size: int, rng: np.random.Generator) -> pa.Table:
    """Columns of integers that take about `size` bytes as CSV."""
    rows = size // 21
    ends = rng.integers(0, 1_000_000, (2, rows))
    return pa.table({"owner": ends[0], "company": ends[1], "units": rng.integers(0, 1_000_000, rows)})


def names(size: int, rng: np.random.Generator) -> pa.Table:
    """Columns of names and weights of 4 decimals that take about `size` bytes as CSV."""
    rows = size // 45
    ends = [
        pa.array([f"Company {n} Ltd" for n in rng.integers(0, rows // 3, rows).tolist()]) for _ in range(2)
    ]
    weights = rng.integers(0, 10_000, rows) / 10_000
    return pa.table({"owner": ends[0], "company": ends[1], "share": weights})


def ours(path: Path) -> int:
    return load_facts(PROGRAM, {"own": path}).count("own")


def arrow(path: Path) -> int:
    table = csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    return int(table.num_rows)


def pandas(path: Path) -> int:
    import pandas as pd

    return len(pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path))


def duckdb(path: Path) -> int:
    import duckdb

    read = "read_csv" if path.suffix == ".csv" else "read_parquet"
    with duckdb.connect() as connection:
        connection.execute(f"create table own as select * from {read}('{path}')")
        (rows,) = connection.execute("select count(*) from own").fetchone()
    return int(rows)


READERS: dict[str, Callable[[Path], int]] = {
    "kgreason": ours,
    "pyarrow": arrow,
    "pandas": pandas,
    "duckdb": duckdb,
}


def compare(path: Path, runs: int) -> None:
    """Read one file with each reader."""
    size = path.stat().st_size / MEGABYTE
    print(f"\n{path.name}, {size:.1f} MB")
    for name, read in READERS.items():
        try:
            start = perf_counter()
            rows = read(path)
            first = perf_counter() - start
        except ModuleNotFoundError as error:
            print(f"  {name:10} not installed ({error.name})")
            continue
        times = []
        for _ in range(runs):
            start = perf_counter()
            read(path)
            times.append(perf_counter() - start)
        median = statistics.median(times)
        rate = f"{size / median:8.1f} MB/s"
        print(f"  {name:10} {median:8.3f} s  {rate}  {rows:,} rows, {runs} runs  (first run {first:.2f} s)")


def distinct(size: int, rng: np.random.Generator) -> None:
    """Ways to find the first of equal rows of three columns, and their most memory beyond that of the rows."""
    columns = [
        rng.integers(0, size // 20, size),
        rng.integers(0, size // 20, size),
        rng.integers(0, 10_000, size),
    ]

    def sorted_rows() -> int:
        order = np.lexsort(columns)
        return 1 + int(np.any([c[order][1:] != c[order][:-1] for c in columns], axis=0).sum())

    def grouped() -> int:
        table = pa.table({"a": columns[0], "b": columns[1], "c": columns[2], "row": np.arange(size)})
        return len(table.group_by(["a", "b", "c"]).aggregate([("row", "min")]))

    first_rows([np.array([1])])  # compiles or loads the kernel
    ways = {"first_rows": lambda: int(first_rows(columns).sum()), "lexsort": sorted_rows, "group_by": grouped}
    for name, way in ways.items():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from now on
        before, start = _memory("VmRSS"), perf_counter()
        rows = way()
        seconds, more = perf_counter() - start, _memory("VmHWM") - before
        print(f"  {name:10} {seconds:8.3f} s  {more:6.2f} GB  {rows:,} of {size:,} rows")


def _memory(name: str) -> float:
    """Gigabytes of this process, as Linux tells them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split(f"{name}:")[1].split()[0]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=50, help="size of each CSV file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--distinct", type=int, metavar="ROWS", help="compare ways to drop repeated rows instead"
    )
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    machine = f"{os.cpu_count()} x {platform.machine()} {platform.system()}"
    print(f"{machine}, Python {platform.python_version()}, NumPy {np.__version__}, pyarrow {pa.__version__}")
    if options.distinct:
        distinct(options.distinct, rng)
        return
    with tempfile.TemporaryDirectory() as folder:
        for make in (integers, names):
            table = make(options.megabytes * MEGABYTE, rng)
            for suffix, write in ((".csv", csv.write_csv), (".parquet", pq.write_table)):
                path = Path(folder, make.__name__ + suffix)
                write(table, path)
                compare(path, options.runs)


if __name__ == "__main__":
    main()
