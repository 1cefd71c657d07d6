"""Seconds and peak memory of reading one graph in every format: ``python benchmarks/formats.py --edges 10000000``.

Each reading is a process of its own: as a weighted ``@edge`` predicate into a knowledge graph, as facts, and, where
there is a usual reader of the format, by that one (pandas, NetworkX, SciPy, DuckDB, pyoxigraph). Compare only figures
of one run; those of the clock are without the start of Python. Kernels are compiled before.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from format_files import VOCABULARY, WRITERS, Graph, postgresql

MOST = 4.0  # gigabytes that reading ten million edges may take
RDF = f"?predicate={VOCABULARY}own&weight=1"
OPTIONS = {
    "own-neo4j.csv": "?format=neo4j",
    "own.nt": RDF,
    "own.ttl": RDF,
    "own.sqlite": "?table=own",
    "own.duckdb": "?table=own",
}


@dataclass(frozen=True)
class Reading:
    """What one process took: seconds by the clock and of its processors, most memory, and the edges that it found."""

    seconds: float
    cpu: float
    gigabytes: float
    edges: int


def graph_of(source: str) -> int:
    from kgreason.data.fact_loading import load_graph
    from kgreason.language.check.program_checker import load_text

    return load_graph(load_text('@edge("own"). @incoming_sum("own", 1.0).'), {"own": source}).m


def facts_of(source: str) -> int:
    from kgreason.data.fact_loading import load_facts
    from kgreason.language.check.program_checker import load_text

    return load_facts(load_text('@edge("own"). big(X) :- own(X, Y, W), W > 0.5.'), {"own": source}).count(
        "own"
    )


def pandas(source: str) -> int:
    import pandas as pd

    path = Path(source.partition("?")[0])
    if path.suffix == ".parquet":
        return len(pd.read_parquet(path))
    if path.suffix == ".jsonl":
        return len(pd.read_json(path, lines=True))
    if path.suffix == ".sqlite":
        return len(pd.read_sql("SELECT * FROM own", f"sqlite:///{path}"))
    if path.suffix in (".edges", ".own"):
        return len(pd.read_csv(path, sep=" ", header=None, comment="%"))
    return len(pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ","))


def networkx(source: str) -> int:
    import networkx as nx

    path = Path(source)
    read = {".gml": lambda p: nx.read_gml(p, label="id"), ".graphml": nx.read_graphml, ".net": nx.read_pajek}
    return int(read[path.suffix](path).number_of_edges())


def scipy(source: str) -> int:
    from scipy.io import mmread

    return int(mmread(source).nnz)


def duckdb(source: str) -> int:
    import duckdb as db

    with db.connect(source.partition("?")[0], read_only=True) as connection:
        return len(connection.execute("SELECT * FROM own").fetch_arrow_table())


def sqlite(source: str) -> int:
    import sqlite3

    return len(sqlite3.connect(source.partition("?")[0]).execute("SELECT * FROM own").fetchall())


def oxigraph(source: str) -> int:
    import pyoxigraph

    path = source.partition("?")[0]
    store = pyoxigraph.Store()
    store.bulk_load(path=path, format=pyoxigraph.RdfFormat.from_extension(Path(path).suffix[1:]))
    return len(store)


def psycopg(source: str) -> int:
    import psycopg as driver

    with driver.connect(source.partition("?")[0]) as connection:
        return len(connection.execute("SELECT * FROM own").fetchall())


OURS: tuple[Callable[[str], int], ...] = (graph_of, facts_of)
PEERS: dict[str, Callable[[str], int]] = {
    **dict.fromkeys(
        ("own.csv", "own.csv.gz", "own.tsv", "own.parquet", "own.jsonl", "own.edges", "out.own"), pandas
    ),
    "own-neo4j.csv": pandas,
    **dict.fromkeys(("own.gml", "own.graphml", "own.net"), networkx),
    **dict.fromkeys(("own.nt", "weighted.nt", "own.ttl"), oxigraph),
    "own.mtx": scipy,
    "own.sqlite": sqlite,
    "own.duckdb": duckdb,
    "postgresql": psycopg,
}
READERS = {read.__name__: read for read in (*OURS, *PEERS.values())}


def measure(reader: str, source: str) -> None:
    """Read in this process, and print what it took."""
    start = perf_counter()
    edges = READERS[reader](source)
    seconds = perf_counter() - start
    print(json.dumps({"seconds": seconds, "cpu": process_time(), "gigabytes": _peak(), "edges": edges}))


def _peak() -> float:
    """Most memory that this process held; the figure of `resource` may be that of the process that started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(found.split()[1]) / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


def run(reader: str, source: str, limit: float) -> Reading | str:
    """Read in a process of its own; words if that fails."""
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", reader, source]

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9), int(limit * 1e9)))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=bound)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return f"no result within {limit:g} GB" if "Memory" in said or done.returncode < 0 else said[:90]
    return Reading(**json.loads(done.stdout))


@contextmanager
def database(address: str | None) -> Iterator[str | None]:
    """An address of a PostgreSQL database: the one given, else of a server that is started if there is one."""
    if address is not None:
        yield address
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.needs import postgresql as programs
    from tests.postgres import running

    if programs() is None:
        yield None
        return
    with running() as server, server.database() as name:
        os.environ.update(server.environment())
        yield f"{server.address}/{name}"


def compare(name: str, source: str, size: float, options: argparse.Namespace) -> None:
    """Print a line for each reader of one file."""
    print(f"\n{name}, {size:,.0f} MB", flush=True)
    peer = PEERS.get(name)
    readers = [*OURS, *([peer] if peer and not options.alone else [])]
    for reader in readers:
        found = run(reader.__name__, source, options.limit)
        title = {"graph_of": "kgreason, graph", "facts_of": "kgreason, facts"}.get(
            reader.__name__, reader.__name__
        )
        if isinstance(found, str):
            print(f"  {title:16} {found}", flush=True)
            continue
        mark = "  over the bound" if reader in OURS and found.gigabytes > MOST else ""
        print(
            f"  {title:16} {found.seconds:8.2f} s  cpu {found.cpu:8.2f} s  {found.gigabytes:6.2f} GB  "
            f"{found.edges:,} edges{mark}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", metavar="FILE", help=f"of {', '.join(WRITERS)}, postgresql")
    parser.add_argument("--alone", action="store_true", help="without other readers")
    parser.add_argument("--limit", type=float, default=16.0, help="gigabytes of address space of a reading")
    parser.add_argument("--folder", type=Path, help="for the files, one at a time; default: a temporary one")
    parser.add_argument(
        "--postgresql", metavar="ADDRESS", help="a database whose table `own` may be replaced"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--measure", nargs=2, metavar=("READER", "SOURCE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    graph = Graph(options.edges, options.seed)
    wanted = options.only or [*WRITERS, "postgresql"]
    print(f"{os.cpu_count()} x {platform.machine()} {platform.system()}, Python {platform.python_version()}")
    print(f"{graph.edges:,} edges, {graph.vertices:,} vertices")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        warm = Path(folder, "warm.csv")
        WRITERS["own.csv"](warm, Graph(1000))
        run("graph_of", str(warm), options.limit)
        run("facts_of", str(warm), options.limit)
        for name in (name for name in wanted if name in WRITERS):
            path = Path(folder, name)
            WRITERS[name](path, graph)
            gc.collect()
            compare(name, f"{path}{OPTIONS.get(name, '')}", path.stat().st_size / 1e6, options)
            path.unlink()
        if "postgresql" in wanted:
            with database(options.postgresql) as address:
                if address is None:
                    print("\npostgresql: no server to start")
                else:
                    postgresql(address, graph)
                    compare("postgresql", f"{address}?table=own", 0, options)


if __name__ == "__main__":
    main()
