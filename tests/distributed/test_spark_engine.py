"""Divided work on a local session of Spark: the same results, errors in one line, no attempt repeated."""

from __future__ import annotations

import errno
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgreason
from kgreason.base.divided_work import divided, divided_by
from kgreason.base.errors import AnonymizationError, EngineError
from kgreason.cli import app
from kgreason.distributed import spark_engine, spark_workers
from kgreason.distributed.spark_engine import SparkEngine
from kgreason.distributed.spark_session import session
from kgreason.graph.generators import ownership, scale_free
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.subgraphs.census import census
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.isomorphism.risk.occurrences import survey
from kgreason.isomorphism.verification.checker import verify_alone
from kgreason.isomorphism.verification.release_index import ReleaseIndex
from tests.distributed import jobs
from tests.distributed.copies import same
from tests.distributed.test_divided_work import CONTROL, MINOR, equal, surveyed

pytestmark = pytest.mark.slow

slow = pytest.mark.slow
RULES = {"control": CONTROL, "minor": MINOR}


@pytest.fixture
def engine(spark: Any) -> SparkEngine:
    return SparkEngine(spark, least=0, partitions=4)


def test_on_spark(engine: SparkEngine, tmp_path: Path) -> None:
    """One quick test of all that the slow ones look at in turn, as a session takes seconds to start."""
    graph = scale_free(3000, 2.2, np.random.default_rng(5))
    adjacency = Adjacency.of(graph, InducedReasoner(graph, CONTROL).ties)
    with divided_by(engine):
        assert equal(census(adjacency, 3), _alone(adjacency, 3))
        noted = tmp_path / "attempts"
        with pytest.raises(AnonymizationError) as found:
            divided(partial(jobs.noted, str(noted), True), 1)
    assert str(found.value) == "no x is small enough\n  help: choose a smaller one"
    assert noted.read_text("ascii") == "attempt\n"


def _alone(adjacency: Adjacency, x: int) -> Any:
    with divided_by(None):
        return census(adjacency, x)


@slow
@pytest.mark.parametrize("rules", [None, CONTROL], ids=["none", "control"])
@pytest.mark.parametrize("x", [3, 4])
def test_census(engine: SparkEngine, rules: Any, x: int) -> None:
    graph = scale_free(2000, 2.1, np.random.default_rng(5))
    adjacency = Adjacency.of(graph, InducedReasoner(graph, rules).ties if rules else None)
    with divided_by(engine):
        assert equal(census(adjacency, x), _alone(adjacency, x))


@slow
@pytest.mark.parametrize("name", RULES)
def test_risk_and_verdict(engine: SparkEngine, name: str) -> None:
    graph = ownership(150, np.random.default_rng(4))
    found = []
    for each in (None, engine):
        with divided_by(each):
            index = ReleaseIndex(graph, RULES[name])
            seen = surveyed(survey(index, 3, 10**6, np.random.default_rng(0), kgreason_silent()))
            verdict = verify_alone(graph, RULES[name], 2, 3, also=(2,))
            found.append((seen if name == "control" else sorted(seen[2]), verdict.items, str(verdict.delta)))
    assert same(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


def kgreason_silent() -> Any:
    from kgreason.base.progress import SILENT

    return SILENT


@slow
def test_anonymization(engine: SparkEngine) -> None:
    graph = ownership(60, np.random.default_rng(7))
    found = []
    for each in (None, engine):
        with divided_by(each):
            found.append(kgreason.anonymize(CONTROL, graph, k=2, x=3, seed=5))
    one, other = (result.release for result in found)
    assert all(result.holds for result in found)
    assert same(one.mapping, other.mapping)
    assert same(*(graph.relations["own"].weight for graph in (one.graph, other.graph)))


@slow
@pytest.mark.usefixtures("spark")
def test_commands(
    ownership: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_engine, "LEAST", 0)
    monkeypatch.chdir(ownership)
    told: dict[tuple[str, ...], list[str]] = {}
    for words in (
        ("anonymize", "--seed", "1", "--force"),
        ("risk",),
        ("verify", "release", "--mapping", "private"),
    ):
        for more in ([], ["--engine", "spark", "--master", "local[2]"]):
            with pytest.raises(SystemExit):
                app([*words, "--rules", "control.vada", "-k", "2", "-x", "3", "--json", "--quiet", *more])
            found = json.loads(capsys.readouterr().out)
            told.setdefault(words, []).append(_without_times(found))
    for one, other in told.values():
        assert one == other


def _without_times(found: Any) -> Any:
    if isinstance(found, dict):
        return {
            k: _without_times(v)
            for k, v in found.items()
            if k not in ("seconds", "time", "megabytes", "memory")
        }
    return [_without_times(each) for each in found] if isinstance(found, list) else found


@slow
def test_the_session_is_left_alone(spark: Any, engine: SparkEngine) -> None:
    before = spark.conf.getAll
    assert session() is spark
    assert session("local[2]") is spark
    with pytest.raises(EngineError, match=r"a Spark session runs at local\[2\], not at local\[7\]"):
        session("local[7]")
    with divided_by(engine):
        divided(jobs.numbers, 5)
    assert spark.conf.getAll == before
    assert spark.getTags() == set()
    assert spark.range(3).count() == 3


@slow
def test_other_data_of_the_same_name(engine: SparkEngine) -> None:
    """Names of files depend on their content alone."""
    for value in (1, 2):
        with divided_by(engine):
            found = divided(partial(jobs.sums, np.full(100_000, value)), 1000)
        assert sum(found) == 1000 * value


@slow
@pytest.mark.parametrize("error", [False, True])
def test_attempts(engine: SparkEngine, error: bool, tmp_path: Path) -> None:
    noted = tmp_path / "attempts"
    with divided_by(engine):
        if error:
            with pytest.raises(AnonymizationError, match="no x is small enough"):
                divided(partial(jobs.noted, str(noted), error), 4)
        else:
            assert divided(partial(jobs.noted, str(noted), error), 4) == [1, 1, 1, 1]
    assert noted.read_text("ascii") == 4 * "attempt\n"


@slow
def test_a_defect_shows_its_traceback(engine: SparkEngine) -> None:
    from pyspark.errors import PythonException

    with divided_by(engine), pytest.raises(PythonException, match="ZeroDivisionError"):
        divided(jobs.defective, 2)


@slow
def test_progress_and_pieces(engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    units: list[int] = []
    with divided_by(engine):
        found = divided(jobs.numbers, 50_000, advance=units.append)
    assert sorted(n for some in found for n in some) == [*range(50_000)]
    assert len(found) == 4
    assert sum(units) == 50_000


@slow
def test_large_results(engine: SparkEngine) -> None:
    """Of several pieces each."""
    with divided_by(engine):
        found = divided(jobs.large, 4)
    assert [len(array) for array in found] == [2_000_000] * 4
    assert sorted(int(array[-1]) for array in found) == [0, 1, 2, 3]


@slow
def test_a_task_has_its_share(engine: SparkEngine) -> None:
    with divided_by(engine):
        found = divided(jobs.share, 4)
    assert [row[1] for row in found] == [1, 1, 1, 1]
    free = spark_workers.available()
    assert free is not None
    assert all(0 < row[2] < free for row in found)


@slow
def test_cores_are_counted(spark: Any) -> None:
    found = SparkEngine(spark)
    assert found.partitions == max(spark_engine.FEWEST, 2 * spark_engine.SPREAD)
    assert not found.pays(1000)
    assert found.pays(1e12)


@slow
def test_another_version_in_the_workers(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_engine, "VERSION", "9.9")
    with pytest.raises(EngineError, match=r"workers of Spark have kgreason .*, the driver has 9\.9"):
        SparkEngine(spark).partitions  # noqa: B018


@slow
def test_blocks(engine: SparkEngine, tmp_path: Path) -> None:
    found = engine.blocks(jobs.derived, 7)
    own, control = (found.facts(name, jobs.SCHEMAS[name]).toArrow() for name in ("own", "control"))
    assert own.column_names == ["x", "share"]
    assert sorted(own["x"].to_pylist()) == sorted(2 * [*range(7)])
    assert sorted(control["x"].to_pylist()) == [f"c{i}" for i in range(7)]
    assert found.counts == {"own": 14, "control": 7}
    assert found.table("none") is None
    read = engine.blocks(jobs.read, 5, [("own", found)])
    table = read.table("own")
    assert table is not None
    assert sorted(zip(table["x"].to_pylist(), table["share"].to_pylist(), strict=True)) == [
        (i, 4.0 if i < 2 else 2.0)
        for i in range(5)  # blocks of task i are for i % 5
    ]
    out = str(tmp_path / "own")
    found.facts("own", jobs.SCHEMAS["own"]).write.parquet(out)
    found.remove()
    assert (tmp_path / "own" / "_SUCCESS").exists()
    with pytest.raises(AnonymizationError, match="task 7 is bad"):
        engine.blocks(jobs.derived, 8)


@slow
def test_facts_that_cannot_be_derived_again(engine: SparkEngine, tmp_path: Path) -> None:
    """As after the loss of an executor: a worker that fails then must not pass for one without facts."""
    flag, advanced = tmp_path / "flag", list[int]()
    found = engine.blocks(partial(jobs.failing, str(flag)), 5, advance=advanced.append)
    assert sum(advanced) == found.counts["own"] == 5
    flag.touch()
    found.remove()
    facts = found.facts("own", jobs.SCHEMAS["own"])
    again = "facts that Spark had lost could not be derived again: too little memory\n  help: take more"
    with pytest.raises(EngineError) as error:
        engine.asked(facts.count)
    assert str(error.value) == again
    for read in (lambda: found.table("own"), lambda: engine.blocks(jobs.read, 2, [("own", found)])):
        with pytest.raises(EngineError, match="too little memory\n  help: take more"):
            read()


def test_a_full_temporary_folder(engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EngineError, match=r"the temporary folder \S+ is full\n  help: .* TMPDIR"):
        engine.run(partial(jobs.sums, np.random.default_rng().random(100_000)), 1, len)


def test_a_session_elsewhere(spark: Any) -> None:
    assert session("local[2]") is spark
    for master in ("local[3]", "sc://127.0.0.1"):
        with pytest.raises(
            EngineError, match=rf"a Spark session runs at local\[2\], not at {re.escape(master)}"
        ):
            session(master)


@slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Total size of results is bigger than spark.driver.maxResultSize",
            "raise spark.driver.maxResultSize",
        ),
        ("ModuleNotFoundError: No module named 'kgreason'", "install kgreason for the Python of the workers"),
        ("No module named 'pyarrow'", "lacks a package\n  help: install kgreason with its dependencies"),
        ('Cannot run program "/no/python": error=2', "PYSPARK_PYTHON"),
        ("java.io.IOException: No space left on device", "SPARK_LOCAL_DIRS"),
        ("ExecutorLostFailure (executor 1 exited", "raise spark.executor.memoryOverhead"),
        ("Python worker exited unexpectedly (crashed)", "raise spark.executor.memoryOverhead"),
        ("[OTHER] something\nat java.lang", "Spark gave up: [OTHER] something"),
    ],
)
def test_errors_of_spark(text: str, said: str) -> None:
    from pyspark.errors import PySparkRuntimeError

    with pytest.raises(EngineError) as found, spark_engine.reported():
        raise PySparkRuntimeError(text)
    assert said in str(found.value)
    assert "java.lang" not in str(found.value)
