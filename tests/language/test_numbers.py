"""Integers and doubles: they compare by their values, and no integer is rounded unasked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason import Reasoner, explain, reason
from kgreason.base.errors import DataError, EvaluationError, KgreasonError, ProgramError
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.naive import evaluate

BIG, NEAR = 2**53 + 1, 2.0**53
HUGE = 2**64 - 1

BOTH = {"a": [(BIG,), (1,)], "b": [(NEAR,)]}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (f"p(X) :- a(X), X = {NEAR}.", set()),
        (f"p(X) :- a(X), {BIG} = {NEAR}.", set()),
        (f"p(X) :- a(X), X != {NEAR}, X > 1.", {(BIG,)}),
        ("p(X) :- a(X), b(Y), X > Y.", {(BIG,)}),
        ("p(X) :- a(X), b(Y), X <= Y.", {(1,)}),
        (f"p(X) :- a(X), X in [{NEAR}].", set()),
        (f"p(X) :- b(X), X in [{BIG}].", set()),
        (f"p(X) :- b(X), not c({BIG}). c(0.5) :- a(1).", {(NEAR,)}),
        (f"p(X) :- b(X), b({BIG}).", set()),
        (f"n(Z) :- a(X). n(X) :- a(X). p(X) :- n(X), X > {NEAR}.", {(BIG,)}),
        (f"n(Z) :- a(X). n(X) :- a(X). p(X) :- n(X), X = {NEAR}.", set()),
        ("p(M) :- a(X), M = max(X).", {(BIG,)}),
        ("p(S) :- a(X), S = sum(X).", {(BIG + 1,)}),
        ("p(Y) :- a(X), X > 1, Y = as_double(X).", {(NEAR,)}),
        ("p(Y) :- a(X), X > 1, Y = X * 1.0.", {(NEAR,)}),  # arithmetic of doubles rounds
    ],
)
def test_numbers_compare_by_their_values(rules: str, expected: set[tuple[Any, ...]]) -> None:
    text = f'@input("a"). @input("b"). @output("p"). {rules}'
    assert set(reason(text, BOTH).facts.rows("p")) == expected
    assert set(evaluate(load_text(text), BOTH, rounds=100, depth=3)["p"]) == expected


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ("p(X) :- a(X), b(X).", ", in the data of a"),
        ("p(X) :- a(X), not b(X).", ", in the data of a"),
        ("p(X) :- a(X). p(X) :- b(X).", "rule: p(X) :- a(X)."),
        ("p(S) :- a(X), S = {X, 0.5}.", "rule: p(S) :- "),
        ("p(M) :- a(X), M = max(X). p(M) :- b(M).", "rule: p(M) :- a(X), M = max(X)."),
        ("p(M) :- a(X), b(Y), M = if(X > 1, X, Y).", "rule: p(M) :- "),
        (f"b({BIG}). p(X) :- b(X), a(X).", f"in the fact b({BIG})"),
        ("n(X, Z) :- a(X). n(X, X) :- b(X). p(X) :- n(X, _).", "rule: n(X, Z) :- a(X)."),
        ("X = Y :- n(X), b(Y). n(X) :- a(X). n(Z) :- a(X). p(1).", "double"),
    ],
)
def test_no_integer_is_rounded_unasked(rules: str, place: str) -> None:
    text = f'@input("a"). @input("b"). @output("p"). {rules}'
    data = BOTH if "b(90" not in rules else {"a": [(0.5,)]}
    with pytest.raises(EvaluationError) as e:
        reason(text, data)
    assert f"no double equals the integer {BIG}, which occurs among doubles" in str(e.value)
    assert place in str(e.value)
    with pytest.raises(EvaluationError, match=f"no double equals {BIG}|would have to be equal"):
        evaluate(load_text(text), data, rounds=100, depth=3)


def test_literals_and_goals() -> None:
    with pytest.raises(ProgramError, match=f"E122.*holds {BIG}, which no double equals, beside doubles"):
        load_text(f'@input("a"). p(X) :- a(X), X in {{{BIG}, 0.5}}.')
    rules = '@input("b"). p(X) :- b(X).'
    assert explain(rules, f"p({NEAR})", data={"b": [(NEAR,)]}).holds
    assert not explain(rules, f"p({BIG})", data={"b": [(NEAR,)]}).holds


def test_edits() -> None:
    reasoner = Reasoner('@output("p"). p(X) :- a(X), b(X).', {"a": [(2,)], "b": [(NEAR,)]})
    with pytest.raises(KgreasonError, match=f"no double equals the integer {BIG}|{BIG} is not a double"):
        reasoner.add_facts({"a": [(BIG,)]})
    assert list(reasoner.rows("p")) == []
    reasoner.add_facts({"a": [(2**53,)]})
    assert list(reasoner.rows("p")) == [(NEAR,)]


numbers = st.one_of(
    st.sampled_from(
        [s * (2**e + d) for e in (0, 52, 53, 54, 62) for d in (-2, -1, 0, 1, 2) for s in (1, -1)]
    ),
    st.sampled_from([2.0**53, -(2.0**53), 2.0**54 + 4, 0.5, 1.0, 2.0**63, -(2.0**63), 2.0**70]),
)


@settings(max_examples=inputs(100), deadline=None)
@given(st.lists(numbers, min_size=1, max_size=6), st.lists(numbers, min_size=1, max_size=6))
def test_comparisons_are_those_of_python(left: list[Any], right: list[Any]) -> None:
    whole = [v for v in left if isinstance(v, int)] or [1]
    broken = [v for v in right if isinstance(v, float)] or [0.5]
    rules = "".join(
        f'@output("p{i}"). p{i}(X, Y) :- a(X), b(Y), X {name} Y. '
        for i, name in enumerate(("<", "<=", "=", "!=", ">=", ">"))
    )
    found = reason(rules, {"a": [(v,) for v in whole], "b": [(v,) for v in broken]}).facts
    pairs = [(x, y) for x in set(whole) for y in set(broken)]
    assert sorted(found.rows("p0")) == sorted((x, y) for x, y in pairs if x < y)
    assert sorted(found.rows("p1")) == sorted((x, y) for x, y in pairs if x <= y)
    assert sorted(found.rows("p2")) == sorted((x, y) for x, y in pairs if x == y)
    assert sorted(found.rows("p3")) == sorted((x, y) for x, y in pairs if x != y)
    assert sorted(found.rows("p4")) == sorted((x, y) for x, y in pairs if x >= y)
    assert sorted(found.rows("p5")) == sorted((x, y) for x, y in pairs if x > y)


def file(folder: Path, kind: str, values: list[Any]) -> Path:
    """A table of one column ``a`` of integers, and of doubles."""
    path = folder / f"t.{kind}"
    path.unlink(missing_ok=True)
    mixed = any(isinstance(v, float) for v in values)
    if kind == "json":
        path.write_text("[" + ", ".join(f'{{"a": {v!r}}}' for v in values) + "]")
    elif kind == "csv":
        path.write_text("a\n" + "".join(f"{v!r}\n" for v in values))
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"CREATE TABLE t (a {'NUMERIC' if mixed else 'INTEGER'})")
            db.execute("INSERT INTO t VALUES " + ", ".join(f"({v!r})" for v in values))
            db.commit()
    elif kind == "parquet":
        pq.write_table(pa.table({"a": pa.array(values, pa.uint64())}), path)
    elif kind == "decimal.parquet":
        pq.write_table(pa.table({"a": pa.array(list(map(Decimal, values)), pa.decimal128(38, 0))}), path)
    else:
        duckdb = pytest.importorskip("duckdb")
        with closing(duckdb.connect(str(path))) as db:
            db.execute(f"CREATE TABLE t AS SELECT unnest([{', '.join(map(repr, values))}])::hugeint AS a")
    return path


def column(path: Any, kind: str | None = None) -> list[Any]:
    mapping = f'@mapping("t", 0, "a", "{kind}").' if kind else ""
    found = reason(f'@input("t"). {mapping} p(X) :- t(X).', {"t": path}).facts
    return sorted((x for (x,) in found.rows("p")), key=str)


@pytest.mark.parametrize("kind", ["json", "sqlite", "parquet", "decimal.parquet", "duckdb"])
def test_integers_beyond_64_bits(tmp_path: Path, kind: str) -> None:
    path = file(tmp_path, kind, [HUGE, 1])
    rounded = kind == "sqlite"  # it keeps them as doubles
    shown = int(float(HUGE)) if rounded else HUGE
    for wanted in (None, "int", *(["string"] if rounded else [])):
        with pytest.raises(DataError, match=f"column 'a'.*{shown} is not an integer of 64 bits") as e:
            column(path, wanted)
        assert "as double" in str(e.value)
    assert column(path, "double") == [1.0, float(HUGE)]
    if not rounded:
        assert column(path, "string") == ["1", str(HUGE)]
    assert column(file(tmp_path, "csv", [HUGE, 1])) == ["1", str(HUGE)]  # so many digits are a name


@pytest.mark.parametrize("kind", ["json", "sqlite", "parquet", "decimal.parquet", "duckdb", "csv"])
def test_integers_of_64_bits_are_exact(tmp_path: Path, kind: str) -> None:
    path = file(tmp_path, kind, [BIG, 10**17])
    assert column(path) == [10**17, BIG]
    assert column(path, "string") == [str(10**17), str(BIG)]
    assert column(path, "double") == [1e17, NEAR]


@pytest.mark.parametrize("kind", ["json", "sqlite", "csv"])
def test_integers_beside_doubles(tmp_path: Path, kind: str) -> None:
    path = file(tmp_path, kind, [0.5, BIG])
    with pytest.raises(
        DataError, match=f"'?{BIG}'? is not a double, as other numbers of the column are"
    ) as e:
        column(path)
    assert "help: map the column as string, or as double, which rounds" in str(e.value)
    assert column(path, "string") == ["0.5", str(BIG)]
    assert column(path, "double") == [0.5, NEAR]
    assert column(file(tmp_path, kind, [0.5, BIG + 1])) == [0.5, NEAR + 2]


def test_several_sources_and_tables_in_memory(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"a,b\n{BIG},1\n")
    (tmp_path / "b.csv").write_text("a,b\n0.5,1\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(DataError, match=rf"a\.csv:2: column 'a': '{BIG}' is not a double"):
        reason("p(X) :- t(X, _).", {"t": files})
    for table in ([(BIG,), (0.5,)], pa.table({"a": pa.array([HUGE], pa.uint64())})):
        with pytest.raises(DataError, match=r"is not a double, as other|is not an integer of 64 bits"):
            reason("p(X) :- t(X).", {"t": table})


def test_weights_are_doubles_by_their_nature(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"a,b,w\nx,y,{BIG}\n")
    found = reason('@edge("e"). p(W) :- e(_, _, W).', {"e": tmp_path / "e.csv"}).facts
    assert list(found.rows("p")) == [(NEAR,)]


@pytest.mark.parametrize("others", [[], [0.5]], ids=["integers", "doubles"])
def test_integers_beyond_the_range_of_doubles(tmp_path: Path, others: list[float]) -> None:
    path = file(tmp_path, "json", [10**400, *others])
    for kind, wrong in ((None, "an integer of 64 bits"), ("double", "a double, which ends near 1.8e308")):
        with pytest.raises(DataError, match=f"column 'a': 10{{59}}\\.\\.\\. is not {wrong}"):
            column(path, kind)
    assert str(10**400) in column(path, "string")
