"""Rules on a local session of Spark: the facts of one process, as frames and as written files."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kgreason
from kgreason.base.errors import (
    CallError,
    DataError,
    EngineError,
    EvaluationError,
    ProgramError,
    ReleaseError,
)
from kgreason.cli import app
from kgreason.data.fact_loading import load_facts
from kgreason.data.source_options import Options
from kgreason.data.sources import SourceSpec, parse_source
from kgreason.distributed import spark_memory, spark_session, spark_sources, spark_stages
from kgreason.distributed.spark_engine import SparkEngine
from kgreason.distributed.spark_memory import check_driver, check_workers
from kgreason.language.values import Null

slow = pytest.mark.slow

CONTROL = """
@edge("own"). @output("control"). @output("held"). @output("some"). @output("owners").
control(X, X) :- own(X, _, _).
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
held(X, N) :- control(X, Y), N = count(Y).
some(Y) :- control(X, Y), X != Y.
owners(Y, N) :- control(X, Y), N = count(X).
"""
OWN = [(f"c{i}", f"c{(i * 7 + j) % 40}", 0.2 + 0.1 * j) for i in range(40) for j in range(1, 5)]
TYPES = """
@output("older"). @output("named"). @output("large"). @output("open"). @output("any").
older(X, D) :- person(X, D, _, _), D < as_date("2000-01-01").
named(X, N) :- person(X, _, _, _), N = concat(X, "!").
large(X, S) :- person(X, _, S, _), S > 0.5.
open(X, B) :- person(X, _, _, B).
any :- person(X, _, _, _).
"""


def rows(frame: Any) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, frame.collect()))


@slow
def test_facts_are_those_of_one_process(spark: Any) -> None:
    frame = spark.createDataFrame(OWN, "a string, b string, w double")
    expected = kgreason.reason(CONTROL, {"own": OWN})
    with kgreason.spark.reason(CONTROL, {"own": frame}, spark=spark) as found:
        assert found.predicates == ("control", "held", "some", "owners")
        assert str(found.plan).startswith("stage 1: control by argument 1")
        for predicate in found.predicates:
            assert rows(found.frame(predicate)) == Counter(expected.rows(predicate))
            assert found.count(predicate) == expected.facts.count(predicate)
        assert found.frame("held").columns == ["X", "N"]
        assert set(found.counts) == {1, 2}
        assert found.estimates[1] > 0
        with pytest.raises(CallError, match="'own' is no output of these rules"):
            found.frame("own")


@slow
def test_types(spark: Any) -> None:
    people = [
        ("é", datetime.date(1999, 12, 31), Decimal("0.75"), True),
        ("b", datetime.date(2001, 1, 1), Decimal("0.25"), False),
    ]
    frame = spark.createDataFrame(people, "x string, born date, share decimal(10, 2), b boolean")
    with kgreason.spark.reason(TYPES, {"person": frame}) as found:
        assert rows(found.frame("older")) == Counter([("é", datetime.datetime(1999, 12, 31))])
        assert rows(found.frame("named")) == Counter([("é", "é!"), ("b", "b!")])
        assert rows(found.frame("large")) == Counter([("é", 0.75)])
        assert rows(found.frame("open")) == Counter([("é", True), ("b", False)])
        assert rows(found.frame("any")) == Counter([(True,)])
    stamped = frame.withColumn("born", frame["born"].cast("timestamp"))
    with kgreason.spark.reason(TYPES, {"person": stamped}, outputs="older") as found:
        assert rows(found.frame("older")) == Counter([("é", datetime.datetime(1999, 12, 31))])
        assert dict(found.frame("older").dtypes)["D"] == "timestamp_ntz"


@slow
def test_other_data_of_the_same_name(spark: Any) -> None:
    for size in (10, 20):
        frame = spark.createDataFrame(OWN[:size], "a string, b string, w double")
        with kgreason.spark.reason(CONTROL, {"own": frame}, outputs="control") as found:
            expected = kgreason.reason(CONTROL, {"own": OWN[:size]}, outputs="control")
            assert rows(found.frame("control")) == Counter(expected.rows("control"))


@slow
def test_given_facts_have_the_types_of_derived_ones(spark: Any) -> None:
    text = '@output("e"). @output("r"). @output("none"). @output("no"). r(X, Y) :- e(X, Y). '
    text += 'none(X, Y) :- e(X, Y), X = "z". no :- e("z", Y).'
    frame = spark.sql("select 'a' x, timestamp_ntz'2020-03-08 02:30:00' y")
    with kgreason.spark.reason(text, {"e": frame}) as found:
        for predicate in ("e", "r", "none"):
            assert [kind for _, kind in found.frame(predicate).dtypes] == ["string", "timestamp_ntz"]
        for predicate in ("e", "r"):
            assert rows(found.frame(predicate)) == Counter([("a", datetime.datetime(2020, 3, 8, 2, 30))])
        assert [found.count(p) for p in found.predicates] == [1, 1, 0, 0]
        assert rows(found.frame("no")) == Counter([(False,)])
    with pytest.raises(CallError, match=r"these facts are closed\n  help: use their frames before close\(\)"):
        found.frame("r")


@slow
def test_outputs_are_written_all_or_not_at_all(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(OWN, "a string, b string, w double")
    with kgreason.spark.reason(CONTROL, {"own": frame}, spark=spark) as found:
        (tmp_path / "owners").touch()
        with pytest.raises(ReleaseError, match=r"owners exists\n  help: choose another folder"):
            found.write(f"file://{tmp_path}")
        with pytest.raises(ReleaseError, match=r"owners/out cannot be made: .*/owners is not a folder"):
            found.write(str(tmp_path / "owners" / "out"))
        (tmp_path / "owners").unlink()
        kept = found.frame

        def broken(predicate: str) -> Any:
            return (
                kept(predicate).selectExpr("raise_error('broken')")
                if predicate == "held"
                else kept(predicate)
            )

        found.frame = broken  # type: ignore[method-assign]
        with pytest.raises(EngineError, match=r"Spark gave up: .*broken"):
            found.write(str(tmp_path / "new" / "folder"))
    assert list(tmp_path.iterdir()) == []


@slow
def test_tasks_that_read_the_same_facts(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_stages, "TASK", 2000)
    frame = spark.createDataFrame(OWN, "a string, b string, w double")
    text = """@output("pair"). p(X, Y) :- own(X, Y, _). p(X, Z) :- p(X, Y), own(Y, Z, _).
    pair(X, Y, Z) :- p(X, Y), own(X, Z, W), not p(Z, Z), W < 0.45. pair(X, Y, X) :- p(X, Y), p(X, X)."""
    expected = kgreason.reason(text, {"own": OWN})
    with kgreason.spark.reason(text, {"own": frame}, spark=spark) as found:
        assert rows(found.frame("pair")) == Counter(expected.rows("pair"))


@slow
def test_errors(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 0), ("b", 1)], "x string, n int")
    with pytest.raises(EvaluationError, match="division by zero"):
        kgreason.spark.reason('r(X, Y) :- own(X, N), Y = 1 / N. @output("r").', {"own": frame})
    with pytest.raises(ProgramError, match="E541"):
        kgreason.spark.reason('r(X, Y) :- own(X, N). @output("r").', {"own": frame})
    text = 'p(X, Y, N) :- own(X, N), Y = concat(X, "!"). u(Y, S) :- p(X, Y, N), S = sum(N). @output("u").'
    many = spark.range(3).selectExpr("cast(id as string) x", "id n")
    with pytest.raises(EngineError) as found:
        kgreason.spark.reason(text, {"own": many})
    assert str(found.value) == (
        "strings or collections that rules compute are in facts of p, which another stage reads\n"
        "  help: derive these facts on one machine: --parts without --engine, or kgreason.reason_in_parts"
    )


@slow
def test_command(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("control.vada").write_text(CONTROL, encoding="utf-8")
    Path("own.csv").write_text("".join(f"{a},{b},{w}\n" for a, b, w in OWN), encoding="ascii")
    words = ["reason", "--rules", "control.vada", "--engine", "spark", "--out", str(tmp_path / "derived")]
    assert _run(*words, "--data", "own=own.csv", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    expected = kgreason.reason(CONTROL, {"own": OWN})
    assert report["counts"] == {p: expected.facts.count(p) for p in expected.predicates}
    for predicate in expected.predicates:
        table = pq.read_table(f"derived/{predicate}")
        assert Counter(zip(*(c.to_pylist() for c in table.columns), strict=True)) == Counter(
            expected.rows(predicate)
        )
    assert _run(*words, "--data", "own=own.csv") == 2
    assert f"{tmp_path}/derived/control exists" in capsys.readouterr().err
    engine = SparkEngine(spark)
    assert engine.exists(f"file://{tmp_path}/derived/control")
    assert not engine.exists(f"file://{tmp_path}/derived/other")
    with pytest.raises(
        EngineError, match=r"this Spark cannot read addresses s3a://\n  help: add the package"
    ):
        engine.exists("s3a://lake/own")
    percent = spark.createDataFrame(
        [(w * 100, b, a, None) for a, b, w in OWN] + [(1.0, "x", None, 1)],
        "w double, b string, a string, z int",
    )
    percent.write.parquet(str(tmp_path / "own.parquet"))
    address = f"own=file://{tmp_path}/own.parquet?columns=a,b,1&percent=true&missing=skip"
    assert _run(*words[:-1], str(tmp_path / "again"), "--data", address, "--output", "control") == 0
    out = capsys.readouterr()
    assert out.out == f"{tmp_path}/again/control: {expected.facts.count('control')} facts\n"
    table = pq.read_table("again/control")
    assert Counter(zip(*(c.to_pylist() for c in table.columns), strict=True)) == Counter(
        expected.rows("control")
    )


EMPTY = [("a", "b", 60.05, 1), ("b", "c", 7.0, 2), ("c", None, 0.1, 3)]


@slow
@pytest.mark.parametrize(
    "options",
    [
        "columns=a,b,w.w&percent=true&missing=skip",
        "columns=2,1,3&missing=null",
        "columns=a,b,w.w&where=n>1&missing=keep",
        "columns=a,b,d&percent=true&missing=skip",
        "columns=a,b,w.w",
        "columns=a,none,n",
    ],
)
def test_options_of_addresses_are_those_of_files(options: str, spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(EMPTY, "a string, b string, `w.w` double, n int")
    frame = frame.withColumn("d", frame["`w.w`"].cast("decimal(10,2)"))
    frame.coalesce(1).write.parquet(str(tmp_path / "t"))
    (file,) = (tmp_path / "t").glob("*.parquet")
    program, place = kgreason.load("r(X, Y, W) :- t(X, Y, W)."), f"file://{tmp_path}/t"

    def told(source: SourceSpec) -> object:
        try:
            facts = load_facts(program, {"t": source})
        except DataError as error:
            return str(error).replace(str(file), place).replace("row 3: ", "")  # frames have no order
        return [tuple(v if type(v) is not Null else "null" for v in row) for row in facts.rows("t")]

    predicate, source = spark_sources.parse_address(f"t={place}?{options}")
    assert predicate == "t"
    assert told(source) == told(parse_source(f"t={file}?{options}")[1])


@slow
def test_only_columns_that_are_named_are_collected(spark: Any) -> None:
    frame = spark.sql("select 'a' a, 1 / (id - id) bad, 'b' `b.b` from range(2)")
    options = Options(columns=("b.b", "1"))
    engine = SparkEngine(spark)
    found = spark_sources.collected(engine, frame, "t", options)
    assert [column.to_pylist() for column in found.columns] == [["a", "a"], [None, None], ["b", "b"]]
    assert found.names == ("a", "bad", "b.b")
    with pytest.raises(EngineError, match="DIVIDE_BY_ZERO"):
        spark_sources.collected(engine, frame, "t", Options())
    assert spark_sources.collected(engine, frame.select(), "t", Options()).columns == ()


@slow
@pytest.mark.parametrize(("one", "other"), [("x.y", "a.b"), ("x", "a`b"), ("x", "x"), ("x", "X")])
def test_columns_are_read_by_position(one: str, other: str, spark: Any) -> None:
    frame = spark.sql(
        "select 'a' p, timestamp'2020-03-29 02:30:00' q, array(timestamp'2020-01-01 10:00:00') r"
    )
    found = spark_sources.collected(SparkEngine(spark), frame.toDF(one, other, "r"), "t", Options())
    assert found.names == (one, other, "r")
    assert [column.to_pylist() for column in found.columns] == [
        ["a"],
        [datetime.datetime(2020, 3, 29, 2, 30)],
        [[datetime.datetime(2020, 1, 1, 10)]],
    ]


@slow
def test_frames_are_collected_if_outputs_depend_on_them(spark: Any) -> None:
    bad = spark.sql("select 1 / (id - id) x from range(2)")
    good = spark.sql("select id x from range(2)")
    rules = 'r(X) :- a(X). s(X) :- b(X). @output("r"). @output("s"). u(S) :- a(X), S = sum(X).'
    with kgreason.spark.reason(
        rules, {"a": [good, pa.table({"x": [5]})], "b": bad}, outputs="r", spark=spark
    ) as found:
        assert rows(found.frame("r")) == Counter([(0,), (1,), (5,)])
    with pytest.raises(ProgramError, match="E541"):
        kgreason.spark.reason(rules, {"a": bad}, outputs="u", spark=spark)
    with pytest.raises(DataError, match="the rules know no predicate 'c'"):
        kgreason.spark.reason(rules, {"a": bad, "c": bad}, outputs="r", spark=spark)
    with pytest.raises(EngineError, match="DIVIDE_BY_ZERO"):
        kgreason.spark.reason(rules, {"a": good, "b": bad}, spark=spark)


def test_what_needs_no_spark_is_checked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(kgreason.spark, "SparkEngine", started)
    with pytest.raises(ProgramError, match=r"E541(.|\n)*without --parts or Spark"):
        kgreason.spark.reason('u(S) :- a(X), S = sum(X). @output("u").', {"a": [1]})
    with pytest.raises(
        EvaluationError, match=r"mentions the predicate controls\n  help: did you mean control\?"
    ):
        kgreason.spark.reason(CONTROL, {"own": OWN}, outputs="controls")
    with pytest.raises(CallError, match=r"spark is a SparkSession, not 'local\[2\]'\n  help: SparkSession"):
        kgreason.spark.reason(CONTROL, {"own": OWN}, spark="local[2]")  # type: ignore[arg-type]
    for stopped in (Stopped(), Unconnected()):
        with pytest.raises(CallError, match="the session of Spark has stopped\n  help: make another"):
            kgreason.spark.reason(CONTROL, {"own": OWN}, spark=stopped)  # type: ignore[arg-type]
    monkeypatch.setattr(kgreason.spark, "SparkEngine", lambda _: None)
    with pytest.raises(CallError, match="the session of Spark has stopped"):
        kgreason.spark.reason(CONTROL, {"own": SimpleNamespace(sparkSession=Stopped())})


class Stopped:
    """A session of Spark's own Java after `stop`."""

    createDataFrame, sparkContext = None, SimpleNamespace(_jsc=None)


class Unconnected:
    """A session of Spark Connect after `stop`."""

    createDataFrame, is_stopped = None, True


def test_given_facts_of_derived_predicates_count_as_rules() -> None:
    doubling = 'p(X, Z) :- p(X, Y), p(Y, Z). @output("p").'
    assert kgreason.spark.check_division(kgreason.load(doubling), {"p": [(1, 2)]}, ["p"]) == ()


@slow
def test_sessions_that_run_are_taken(spark: Any) -> None:
    spark_session.check_session(spark)
    spark_session.check_session(spark.newSession())


def _run(*words: str) -> int:
    try:
        return int(app(list(words)) or 0)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "spark", "--out", "o", "--output", "same"], "error[E541]: same cannot be divided"),
        (["--engine", "spark", "--out", "o", "--output", "sane"], "did you mean same?"),
        (["--engine", "spark", "--out", "o", "--data", "owm=s3a://b/x"], "no predicate 'owm'"),
        (["--engine", "spark", "--out", "o", "--data", "own=s3a://b/x.csv"], "'csv' is not a format"),
        (["--engine", "spark", "--out", "o", "--output", "control"], "'own' has no data"),
        (["--engine", "spark", "--out", "old"], "old/control exists"),
        (["--engine", "spark"], "needs --out DIR, the folder of the facts"),
        (["--engine", "spark", "--out", "o", "--parts", "3"], "--parts has no meaning with --engine spark"),
        (["--engine", "spark", "--out", "o", "--stats"], "--stats has no meaning with --engine spark"),
        (["--engine", "spark", "--out", "o", "--format", "tsv"], "facts on Spark cannot be written as 'tsv'"),
        (["--master", "local[2]"], "--master has no meaning without --engine spark"),
    ],
)
def test_commands_that_are_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark_session, "session", started)
    monkeypatch.chdir(tmp_path)
    Path("old/control").mkdir(parents=True)
    Path("control.vada").write_text(CONTROL + SAME, encoding="utf-8")
    assert _run("reason", "--rules", "control.vada", *words) == 2
    assert said in capsys.readouterr().err


SAME = """
same(X, Y) :- own(P, X, _), own(P, Y, _).
same(X, Y) :- own(P, X, _), same(P, Q), own(Q, Y, _).
"""


def test_warnings_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(*_: object) -> None:
        raise EngineError("there is no Spark")

    monkeypatch.setattr(spark_session, "session", absent)
    rules = tmp_path / "rules.vada"
    rules.write_text(f"{SAME}r(X, Y) :- same(X, Y), X != Y.", encoding="utf-8")
    words = ["--engine", "spark", "--out", str(tmp_path / "o"), "--data", "own=s3a://b/own.parquet"]
    assert _run("reason", "--rules", str(rules), *words) == 2
    said = capsys.readouterr().err
    assert "warning[W516]: same is derived whole" in said
    assert said.endswith("error: there is no Spark\n")
    assert "W501" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("own=s3a://b/own?format=csv", "'csv' is not a format that is read on Spark\n  help: say format="),
        ("own=s3a://key:word@b/own.db", "s3a://key:***@b/own.db: 'sqlite' is not a format"),
        ("own=s3a://b/own?delimiter=;", "s3a://b/own: a parquet source has no option delimiter"),
        ("own=s3a://b/own?missing=drop", "s3a://b/own: option missing cannot be 'drop'"),
        ("été=s3a://b/own", "expected PRED=FILE"),
    ],
)
def test_addresses_that_are_not_read(text: str, said: str) -> None:
    assert spark_sources.is_address(text)
    with pytest.raises(DataError) as found:
        spark_sources.parse_address(text)
    assert said in str(found.value)


def test_memory_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    need = spark_memory.input_size(50_000_000, ["string", "string", "double"])
    assert need == 3_600_000_000
    known: dict[str, str] = {}

    def check(*, classic: bool = True) -> None:
        check_driver(need, lambda name, default: known.get(name, default), classic=classic)

    with pytest.raises(
        EngineError, match=r"3\.6 GB.*maxResultSize is 1\.1 GB\n  help: set spark.driver.maxResultSize=4g"
    ):
        check()
    known["spark.driver.maxResultSize"] = "0"
    monkeypatch.setattr(spark_memory, "available", lambda: 5 << 30)
    with pytest.raises(
        EngineError, match=r"spark.driver.memory is 1\.1 GB\n  help: set spark.driver.memory=6g"
    ):
        check()
    with pytest.raises(EngineError, match=r"5\.4 GB are free\n  help: a machine with 10\.8 GB"):
        check(classic=False)
    monkeypatch.setattr(spark_memory, "available", lambda: 50 << 30)
    check(classic=False)
    known["spark.driver.memory"] = "8g"
    check()


def test_memory_of_workers() -> None:
    known = {"spark.master": "yarn", "spark.executor.cores": "4", "spark.executor.memory": "2g"}

    def check() -> None:
        check_workers(100 << 20, lambda name, default: known.get(name, default))

    with pytest.raises(EngineError) as found:
        check()
    assert str(found.value) == (
        "the 4 Python workers of an executor need about 1.4 GB, with 105 MB of input; "
        "spark.executor.memoryOverhead allows 403 MB\n  help: set spark.executor.memoryOverhead=2g"
    )
    known["spark.executor.memoryOverhead"] = "2g"
    check()
    del known["spark.executor.memoryOverhead"]
    known["spark.master"] = "local[4]"
    check()
