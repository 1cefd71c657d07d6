"""Rules as a whole and in parts: ``python benchmarks/parts.py [--vertices N] [--companies N]``.

Each line is a process of its own: it derives and writes all facts as Parquet, and prints their number, the processor
time, the greatest resident memory, and a digest of the facts in any order, which must not differ. The inputs are
random: a directed graph with 5 edges a vertex (its closure has nearly as many facts as pairs of vertices), and a
register of companies. The last lines plan the programs of the rule library.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kgreason
from kgreason.base.resources import resource as shipped
from kgreason.data.fact_writing import write_facts

RULES = {
    "closure": "transitive_closure",
    "control": "control",
    "close links": "close_links",
    "series": "integrated_ownership",
}
WAYS = ("whole", "1", "32", "auto")


def main() -> None:
    """Make the inputs, run each way in a process of its own, and plan the rule library."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vertices", type=int, default=10_000, help="of the graph; 33000 for 10^9 facts")
    parser.add_argument("--companies", type=int, default=300_000)
    parser.add_argument("--ways", nargs="*", default=WAYS, help="whole, auto, or numbers of parts")
    parser.add_argument("--memory", type=int, default=None, help="limit in bytes of all runs")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        measure(*asked.run, asked.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        graph, register = Path(folder, "edge.parquet"), Path(folder, "own.csv")
        pq.write_table(edges(asked.vertices), graph)
        generate = [sys.executable, "-m", "kgreason", "generate", "ownership", "--seed", "1"]
        subprocess.run([*generate, "-n", str(asked.companies), "--out", str(register), "--quiet"], check=True)
        print(f"{'rules':12} {'parts':>6} {'facts':>14} {'CPU s':>7} {'MB':>7}  digest")
        for name in RULES:
            for way in asked.ways:
                data = graph if name == "closure" else register
                limit = ["--memory", str(asked.memory)] if asked.memory else []
                subprocess.run([sys.executable, __file__, *limit, "--run", name, way, str(data)], check=True)
    plans()


def edges(vertices: int) -> pa.Table:
    """Distinct random edges between different vertices, as strings."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, vertices, (5 * vertices, 2))
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    names = np.array([f"v{i}" for i in range(vertices)])
    return pa.table({"from": names[ends[:, 0]], "to": names[ends[:, 1]]})


def measure(name: str, way: str, data: str, limit: int | None) -> None:
    """Derive and write the facts of one program, and print what it took."""
    rules = shipped("rules", f"{RULES[name]}.vada")
    given = {"edge" if name == "closure" else "own": Path(data)}
    limits = kgreason.Limits(memory=limit)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        start = time.process_time()
        if way == "whole":
            facts = kgreason.reason(rules, given, limits=limits).facts
            out.mkdir()
            write_facts(out, facts, "parquet")
            del facts
        else:
            kgreason.reason_in_parts(
                rules, given, out, parts=way if way == "auto" else int(way), limits=limits
            )
        spent = time.process_time() - start
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
        number, digest = digested(out)
    print(f"{name:12} {way:>6} {number:14,} {spent:7.1f} {most:7,}  {digest:016x}", flush=True)


def digested(folder: Path) -> tuple[int, int]:
    """Number of facts in Parquet files or folders, one for each predicate, and a sum of hashes, in any order."""
    number, total = 0, 0
    for file in sorted(folder.rglob("*.parquet")):
        predicate = file.relative_to(folder).parts[0].removesuffix(".parquet")
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches():
                number += batch.num_rows
                mixed = np.full(batch.num_rows, len(predicate), dtype=np.uint64)
                for column in batch.columns:
                    mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + hashed(column)
                    mixed ^= mixed >> np.uint64(31)
                total += int(mixed.sum(dtype=np.uint64))
    return number, total % (1 << 64)


def hashed(column: pa.Array) -> np.ndarray:
    """Hash of each value, by its text."""
    coded = column.cast(pa.string()).dictionary_encode()
    texts = [hash_of(text) for text in coded.dictionary.to_pylist()]
    return np.array(texts, dtype=np.uint64)[coded.indices.to_numpy()]


def hash_of(text: str) -> int:
    """Hash of a text, the same in every process."""
    return int.from_bytes(text.encode()[-8:].rjust(8, b"\0"), "little") * 31 + len(text) & (1 << 64) - 1


def plans() -> None:
    """Time the plans of the rule library."""
    for file in sorted(shipped("rules", "control.vada").parent.glob("*.vada")):
        program = kgreason.load(file)
        times = []
        for _ in range(5):
            start = time.process_time()
            division, _ = kgreason.plan_parts(program)
            times.append(time.process_time() - start)
        plan = "refused" if division is None else str(division).replace("\n", "; ")
        print(f"{file.stem:22} {1000 * median(times):6.1f} ms  {plan}")


if __name__ == "__main__":
    main()
