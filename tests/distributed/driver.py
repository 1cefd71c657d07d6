"""Programs that divide work on Spark: python -m tests.distributed.driver JOB MASTER [words]; they print JSON."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kgreason
from kgreason.base.divided_work import divided, divided_by
from kgreason.base.errors import KgreasonError
from kgreason.distributed.spark_engine import SparkEngine, reported
from kgreason.distributed.spark_session import quiet, session
from kgreason.graph.generators import scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.subgraphs.census import census
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from tests.distributed import jobs
from tests.distributed.test_divided_work import CONTROL, equal

STAGES = """
reach(X, Y) :- own(X, Y). reach(X, Z) :- reach(X, Y), own(Y, Z). count(Y, N) :- reach(X, Y), N = count(X).
@output("reach"). @output("count").
"""


def connected(master: str) -> Any:
    """A session; ``connect`` is Spark Connect with a server of its own."""
    if master != "connect":
        return session(master)
    with quiet():
        from pyspark.sql import SparkSession

        SparkSession.builder.remote("local[2]").getOrCreate()
    return session()  # as one that the user has made


def all_kinds(engine: SparkEngine, folder: str) -> dict[str, Any]:
    """What sessions of all kinds must do alike."""
    graph = scale_free(2000, 2.1, np.random.default_rng(5))
    adjacency = Adjacency.of(graph, InducedReasoner(graph, CONTROL).ties)
    alone = census(adjacency, 4)
    noted = Path(folder, "attempts")
    found: dict[str, Any] = {"partitions": engine.partitions}
    with divided_by(engine):
        found["census"] = equal(census(adjacency, 4), alone)
        found["other data"] = [
            sum(divided(partial(jobs.sums, np.full(100_000, value)), 1000)) for value in (1, 2)
        ]
        found["cores"] = [row[1] for row in divided(jobs.share, 4)]
        found["large"] = sum(map(len, divided(jobs.large, 2)))
        try:
            divided(partial(jobs.noted, str(noted), True), 1)
        except KgreasonError as error:
            found["error"] = str(error)
    found["attempts"] = noted.read_text("ascii").count("attempt")
    blocks = engine.blocks(jobs.derived, 7)
    facts = {
        name: blocks.facts(name, schema).toArrow()["x"].to_pylist() for name, schema in jobs.SCHEMAS.items()
    }
    found["facts"] = len(facts["own"]), sorted(facts["control"])
    try:
        engine.blocks(jobs.derived, 8)
    except KgreasonError as error:
        found["blocks"] = str(error)
    own = engine.spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "d")], "x string, y string")
    derived = kgreason.spark.reason(STAGES, {"own": own}, spark=engine.spark)
    found["rules"] = {p: sorted(map(list, derived.frame(p).collect())) for p in derived.predicates}
    return found


def slow_tasks(engine: SparkEngine, folder: str) -> Any:
    with divided_by(engine):
        return [pair for some in divided(partial(jobs.slow, folder, 0.3), 40) for pair in some]


def slow_facts(engine: SparkEngine, folder: str, out: str) -> Any:
    facts = engine.blocks(partial(jobs.slow_facts, folder, 0.3), 40)
    facts.facts("own", jobs.SCHEMAS["own"]).write.parquet(out)
    return "written"


def lost_facts(engine: SparkEngine, folder: str, out: str) -> Any:
    """Rules whose facts are derived, and written when a file appears."""
    own = engine.spark.range(200).selectExpr("id % 20 as x", "(id * 7 + id % 3) % 20 as y").distinct()
    with kgreason.spark.reason(STAGES, {"own": own}, spark=engine.spark) as found:
        Path(folder, "derived").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.1)
        found.write(out)
        return {p: found.count(p) for p in found.predicates}


def full_disk(engine: SparkEngine, folder: str) -> Any:
    """Of the workers' own files."""
    with divided_by(engine):
        return divided(partial(jobs.filling, folder), 8)


def many_facts(engine: SparkEngine, out: str) -> Any:
    facts = engine.blocks(partial(jobs.many, 1_000_000), 16)
    with reported():
        facts.facts("own", jobs.SCHEMAS["own"]).write.parquet(out)
    return "written"


JOBS = {job.__name__: job for job in (all_kinds, slow_tasks, slow_facts, lost_facts, full_disk, many_facts)}

if __name__ == "__main__":
    name, master, *words = sys.argv[1:]
    try:
        print(json.dumps(JOBS[name](SparkEngine(connected(master), least=0), *words)))
    except KgreasonError as error:
        sys.exit(f"error: {error}")
