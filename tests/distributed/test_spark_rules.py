"""Rules on a local session of Spark: the facts of one process, as frames and as written files."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

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
from kgreason.distributed import spark_memory, spark_sources
from kgreason.distributed.spark_memory import check_driver, check_workers

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
        assert found.frame("control").columns == ["X", "Y"] or found.frame("control").columns[0] == "X"
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
            found.write(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@slow
def test_errors(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 0), ("b", 1)], "x string, n int")
    with pytest.raises(EvaluationError, match="division by zero"):
        kgreason.spark.reason('r(X, Y) :- own(X, N), Y = 1 / N. @output("r").', {"own": frame})
    with pytest.raises(ProgramError, match="E541"):
        kgreason.spark.reason('r(X, Y) :- own(X, N). @output("r").', {"own": frame})
    text = 'p(X, Y, N) :- own(X, N), Y = concat(X, "!"). u(Y, S) :- p(X, Y, N), S = sum(N). @output("u").'
    many = spark.range(200_000).selectExpr("cast(id as string) x", "id n")  # more than a sample has
    with pytest.raises(EngineError) as found:
        kgreason.spark.reason(text, {"own": many})
    assert str(found.value) == (
        "strings that rules compute are in facts of p, which another stage reads\n"
        "  help: derive these facts with --parts, on one machine"
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


def _run(*words: str) -> int:
    try:
        return int(app(list(words)) or 0)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "spark"], "needs --out DIR, the folder of the facts"),
        (["--engine", "spark", "--out", "o", "--parts", "3"], "--parts has no meaning with --engine spark"),
        (["--engine", "spark", "--out", "o", "--stats"], "--stats has no meaning with --engine spark"),
        (["--engine", "spark", "--out", "o", "--format", "tsv"], "facts on Spark cannot be written as 'tsv'"),
        (["--master", "local[2]"], "--master has no meaning without --engine spark"),
    ],
)
def test_commands_that_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "control.vada"
    rules.write_text(CONTROL, encoding="utf-8")
    assert _run("reason", "--rules", str(rules), *words) == 2
    assert said in capsys.readouterr().err


@slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("format=csv", "'csv' is not a format that is read on Spark"),
        ("delimiter=;", "option delimiter is not known on Spark"),
        ("columns=a,none", "there is no column 'none'\n  help: it has a, b"),
        ("missing=null", "missing=null is not known on Spark"),
    ],
)
def test_tables_that_are_not_read(options: str, said: str, spark: Any, tmp_path: Path) -> None:
    spark.createDataFrame([("a", "b")], "a string, b string").write.parquet(str(tmp_path / "own"))
    with pytest.raises(DataError) as found:
        spark_sources.read_frame(spark, f"own=file://{tmp_path}/own?{options}")
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
        "the 4 Python workers of an executor need about 1.2 GB, with 105 MB of input; "
        "spark.executor.memoryOverhead allows 403 MB\n  help: set spark.executor.memoryOverhead=2g"
    )
    known["spark.executor.memoryOverhead"] = "2g"
    check()
    del known["spark.executor.memoryOverhead"]
    known["spark.master"] = "local[4]"
    check()
