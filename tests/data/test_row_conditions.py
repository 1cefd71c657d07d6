"""Conditions on the rows of a source: what they mean, in files and in databases, and what they cannot do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason import reason
from kgreason.base.errors import DataError
from kgreason.data.format_list import read_table
from kgreason.data.row_conditions import parse
from kgreason.data.source_options import read_options
from kgreason.data.sources import SourceSpec, parse_file, parse_source
from tests.examples import inputs

REGISTER = """owner,company,share,kind,since
Ada,Ash,60%,owner,2020-01-01
Bo,Birch,abc,"x & y",
Cy,Cedar,0.2,,2021-05-05
Dee,Dogwood,0.5,Owner,2022-01-01
"""


@pytest.fixture
def register(tmp_path: Path) -> Path:
    file = tmp_path / "own.csv"
    file.write_text(REGISTER, encoding="utf-8")
    return file


def owners(file: Path, where: str, more: str = "") -> list[str]:
    raw = read_table(parse_file(f"{file}?where={where}{more}"))
    return list(raw.columns[0].to_pylist())


def fails(call: Callable[[], object]) -> str:
    with pytest.raises(DataError) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("kind = 'owner'", ["Ada"]),
        ("KIND ilike 'OWN%' and not share < 0.55", ["Ada"]),
        ("kind = 'x & y'", ["Bo"]),
        ("kind is null", ["Cy"]),
        ("kind is not null", ["Ada", "Bo", "Dee"]),
        ("kind <> 'owner'", ["Bo", "Dee"]),  # of an empty cell nothing is known
        ("not kind = 'owner'", ["Bo", "Dee"]),
        ("kind = 'owner' or kind is null", ["Ada", "Cy"]),
        ("owner in ('Ada', 'Cy')", ["Ada", "Cy"]),
        ("owner not in ('Ada', 'Cy')", ["Bo", "Dee"]),
        ("owner between 'B' and 'Cz'", ["Bo", "Cy"]),
        ("since >= '2021-01-01'", ["Cy", "Dee"]),
        ("\"owner\" like '_y'", ["Cy"]),
        ("owner < company", ["Ada", "Dee"]),
        ("(owner = 'Ada' or owner = 'Bo') and company = 'Birch'", ["Bo"]),
        ("'Ada' = owner", ["Ada"]),
        ("'B' <= owner", ["Bo", "Cy", "Dee"]),
        ("owner = 'Eve'", []),
    ],
)
def test_rows_that_meet_a_condition(register: Path, where: str, expected: list[str]) -> None:
    if "share" in where:
        register.write_text(REGISTER.replace("abc", "0.3"), encoding="utf-8")
    assert owners(register, where) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("note = 'x'", ["1"]),
        ("a = 'A' or note = 'y'", ["1", "2"]),
        ("not note = 'x'", ["2"]),
        ("date >= '2024-01-20'", ["2"]),
        ("date = date '2024-01-15'", ["1"]),
        ("date like '2024-02%'", ["2"]),
        ("datetime > 2024", ["2"]),
        ("true_name = 1", ["1"]),
        ("falsehood is not null", ["1", "2"]),
        ("order_no = 3 and android = 4", ["1"]),
    ],
)
def test_columns_may_begin_with_words_of_the_language(
    tmp_path: Path, where: str, expected: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(
        "id,note,a,date,e,datetime,true_name,falsehood,order_no,android\n"
        "1,x,A,2024-01-15,x,2024,1,0,3,4\n"
        "2,y,B,2024-02-15,y,2025,2,0,3,5\n"
    )
    source = SourceSpec(tmp_path / "t.csv", None, {"where": where})
    assert read_table(source).columns[0].to_pylist() == expected


def test_what_is_left_out_is_told_and_not_looked_at(register: Path) -> None:
    rules = '@input("own"). @mapping("own", 0, "owner", "string"). p(X, W) :- own(X, _, W).'
    source = f"{register}?columns=owner,company,share&where=kind = 'owner' OR kind = 'Owner'"
    assert sorted(reason(rules, {"own": source}).facts.rows("p")) == [("Ada", 0.6), ("Dee", 0.5)]
    assert read_table(parse_file(source)).notes == (
        f"{register}: 2 of 4 rows meet where=kind = 'owner' OR kind = 'Owner'",
    )


def test_lines_in_messages_are_those_of_the_file(register: Path) -> None:
    rules = '@input("own"). @mapping("own", 2, "share", "double"). p(X, W) :- own(X, _, W).'
    source = f"{register}?columns=owner,company,share&where=owner > 'B'"
    assert f"{register}:3: column 'share': 'abc' is not a number" in fails(
        lambda: reason(rules, {"own": source})
    )


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "nosuch = 1",
            "where=nosuch = 1: there is no column 'nosuch'\n  help: there are owner, company, share",
        ),
        ("compny = 1", "did you mean 'company'? there are"),
        ("owner =", "expected a column, a number or a text in '...', found the end"),
        ("owner = 'A", 'cannot read "\'A"'),
        ("owner 'A'", "found 'A'"),
        ("owner < 5", "own.csv:2: column 'owner': where=owner < 5: 'Ada' is not a number"),
        ("owner", "'Ada' is not true or false"),
        ("'a' = 'b'", "a comparison names no column"),
        ("share > 0.1", "own.csv:3: column 'share': where=share > 0.1: 'abc' is not a number"),
        ("owner in ()", "expected a number or a text in '...', found )"),
        ("owner between 1", "expected AND, found the end"),
        ("owner not 'A'", "expected BETWEEN, IN or LIKE, found 'A'"),
        ("share > 1e999", "expected a smaller number, found 1e999"),
        (f"share < -{'9' * 40}", "expected a smaller number, found -999"),
        ("owner like 5", "expected a text in '...', found 5"),
        (" ", "expected (, NOT, a column, a number or a text in '...', found the end"),
        (f"{'(' * 60}owner = 'A'{')' * 60}", "more than 50 brackets within one another"),
    ],
)
def test_what_cannot_be_read_names_file_expression_and_columns(
    register: Path, where: str, message: str
) -> None:
    found = fails(lambda: owners(register, where))
    assert found.startswith(str(register))
    assert message in found


def test_the_text_to_compare_with_is_one_that_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("owner,company\nd'Arc,Ash\n", encoding="utf-8")
    hint = fails(lambda: owners(file, "owner > 5")).partition("help: compare with a text: ")[2]
    assert owners(file, hint) == ["d'Arc"]
    file.write_text(f"owner,company\n{'d' * 70},Ash\n", encoding="utf-8")  # which is shown in part
    assert "help: compare the column with a text, in '...'" in fails(lambda: owners(file, "owner > 5"))


@pytest.mark.parametrize(
    "where",
    [
        "owner = read_text('/etc/passwd')",
        "owner in (select * from read_text('/etc/passwd'))",
        "exists (select 1)",
        "(select 1) = 1",
        "owner = 'a'; drop table own",
        "1 = 1) union all select * from glob('*'",
        "owner = 'a' -- comment",
        "owner || 'a' = 'b'",
        "owner::int = 1",
        "owner = getenv('HOME')",
        "load_extension('x')",
        "owner = $$a$$",
        "owner = x'00'",
        "writefile (owner, 'x')",
    ],
)
@pytest.mark.parametrize("kind", ["csv", "sqlite", "duckdb"])
def test_nothing_but_cells_of_the_row_is_read(tmp_path: Path, register: Path, where: str, kind: str) -> None:
    file = {"csv": register}.get(kind) or made(tmp_path, kind)
    message = fails(lambda: owners(file, where))
    assert f"where={where}: " in message
    assert "root:" not in message


def made(folder: Path, kind: str) -> Path:
    """A database of the table own."""
    rows = [("a", 1, 0.5, "x & y"), ("b", 2, None, "it's"), ("c", 9007199254740993, 0.25, "A%")]
    file = folder / f"own.{kind}"
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        connection = duckdb.connect(str(file))
    else:
        connection = sqlite3.connect(file)
    with closing(connection) as db:
        db.execute('CREATE TABLE own (owner VARCHAR, n BIGINT, share DOUBLE, "Kind of" VARCHAR)')
        db.executemany("INSERT INTO own VALUES (?, ?, ?, ?)", rows)
        db.commit()
    return file


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_databases_get_the_condition(tmp_path: Path, kind: str) -> None:
    file = made(tmp_path, kind)
    assert owners(file, "owner <> 'a' and n >= 2") == ["b", "c"]
    assert owners(file, "share is null") == ["b"]
    assert owners(file, "not share > 0.3") == ["c"]
    assert owners(file, "\"kind of\" = 'x & y'") == ["a"]
    assert owners(file, "\"Kind of\" = 'it''s'") == ["b"]
    assert owners(file, "\"Kind of\" like 'a%'") == []
    assert owners(file, "\"Kind of\" ilike 'a%'") == ["c"]
    assert owners(file, "n = 9007199254740993") == ["c"]
    assert owners(file, "n = 9007199254740992") == []
    message = fails(lambda: owners(file, "\"nosuch\" = 'a'"))  # SQLite alone would take it for a text
    assert "there is no column 'nosuch'\n  help: there are owner, n, share, Kind of" in message


@pytest.mark.parametrize(
    ("view", "said"), [("read_csv('x.csv')", "x.csv"), ("gone", "Table with name gone does not exist")]
)
def test_conditions_on_views_that_cannot_be_read(tmp_path: Path, view: str, said: str) -> None:
    file = made(tmp_path, "duckdb")
    (tmp_path / "x.csv").write_text("owner\na\n", encoding="utf-8")
    with closing(pytest.importorskip("duckdb").connect(str(file))) as db, chdir(tmp_path):
        db.execute(f"CREATE TABLE gone (owner VARCHAR); CREATE VIEW v AS SELECT owner FROM {view}")
        db.execute("DROP TABLE gone")
    message = fails(lambda: owners(file, "owner = 'a'", "&table=v"))
    assert message.startswith(str(file))
    assert said in message


def test_integers_are_compared_exactly(tmp_path: Path) -> None:
    file = tmp_path / "n.csv"
    file.write_text("n,m\n9007199254740993,1\n9007199254740992,2.5\n5,3\n", encoding="utf-8")
    assert owners(file, "n = 9007199254740993") == ["9007199254740993"]
    assert owners(file, "n > 9007199254740992.0") == ["9007199254740993"]
    assert owners(file, "n > 4.5 and n <= 5.5") == ["5"]
    assert owners(file, "n = 4.5 or n <> 4.5") == ["9007199254740993", "9007199254740992", "5"]
    assert owners(file, "n < 99999999999999999999") == ["9007199254740993", "9007199254740992", "5"]
    assert owners(file, "n > 1e300") == []
    assert "no double equals 9007199254740993" in fails(lambda: owners(file, "m = 9007199254740993"))
    file.write_text("n,m\n5,\n6,\n", encoding="utf-8")
    assert owners(file, "m <> 9007199254740993 or n = 6") == ["6"]
    file.write_text("n,m\n", encoding="utf-8")
    assert owners(file, "m < 9007199254740993") == []


def test_conditions_on_a_graph_are_on_its_edges_or_its_vertices(tmp_path: Path) -> None:
    file = tmp_path / "g.gml"
    file.write_text(
        'graph [ node [ id 1 kind "p" ] node [ id 2 kind "c" ] node [ id 3 kind "c" ]'
        ' edge [ source 1 target 2 kind "own" weight 0.5 ] edge [ source 1 target 3 kind "aid" weight 7 ] ]',
        encoding="utf-8",
    )
    edges = reason('@edge("own"). p(X, Y) :- own(X, Y, _).', {"own": f"{file}?where=kind = 'own'"})
    assert ("1", "2") in set(edges.facts.rows("p"))
    assert ("1", "3") not in set(edges.facts.rows("p"))
    firms = reason('@input("firm"). p(X) :- firm(X).', {"firm": f"{file}?where=kind = 'c'"})
    assert sorted(firms.facts.rows("p")) == [("2",), ("3",)]


def test_in_a_rule_file(tmp_path: Path, register: Path) -> None:
    rules = tmp_path / "a.vada"
    bind = '@bind("own", "csv where=""kind = \'x & y\'"" columns=owner,company", "", "own.csv").'
    rules.write_text(f'{bind}\np(X) :- own(X, _).\n@output("p").\n', encoding="utf-8")
    assert list(reason(rules).facts.rows("p")) == [("Bo",)]


def test_options_behind_a_condition() -> None:
    _, source = parse_source("own=a.csv?where=kind = 'a&b' AND \"x&y\" < 5&delimiter=;&quote='")
    assert dict(source.options) == {
        "where": "kind = 'a&b' AND \"x&y\" < 5",
        "delimiter": ";",
        "quote": "'",
    }
    assert read_options("a.csv", {"where": "'a' = x or y = 'b'"}).where == "'a' = x or y = 'b'"


def test_a_query_has_its_own(tmp_path: Path) -> None:
    made(tmp_path, "sqlite")
    rules = '@qbind("own", "sqlite where=\'n > 1\'", "own.sqlite", "select owner from own"). p(X) :- own(X).'
    (tmp_path / "a.vada").write_text(rules, encoding="utf-8")
    assert "a query has no option where" in fails(lambda: reason(tmp_path / "a.vada"))


NAMES = ("a", "i", "d", "b")
literal = {
    "a": st.sampled_from(["'x'", "'y z'", "''", "'x%'"]),
    "i": st.sampled_from(["0", "1", "-2", "1.5", "9007199254740993", "9007199254740992"]),
    "d": st.sampled_from(["0", "0.5", "-2.25", "1"]),
    "b": st.sampled_from(["true", "false"]),
}


@st.composite
def atoms(draw: Any) -> str:
    name = draw(st.sampled_from(NAMES))
    one, two = draw(literal[name]), draw(literal[name])
    forms = [f"{name} is null", f"{name} is not null", f"{name} in ({one}, {two})", f"{name} not in ({one})"]
    forms += [f"{name} {o} {one}" for o in ("=", "<>", "!=", "==")]
    if name != "b":
        forms += [f"{name} {o} {one}" for o in ("<", "<=", ">", ">=")]
        forms += [f"{one} < {name}", f"{name} between {one} and {two}", f"{name} not between {one} and {two}"]
    else:
        forms.append("b")
    if name == "a":
        forms += [
            f"a {o} '{p}'" for o in ("like", "not like", "ilike") for p in ("x", "%Y%", "_", "", "x\\\\%")
        ]
    if name == "d":
        forms += ["d < e", "d = e", "e <> d"]
    return draw(st.sampled_from(forms))


conditions = st.recursive(
    atoms(),
    lambda part: st.one_of(
        st.builds("({} AND {})".format, part, part),
        st.builds("{} or {}".format, part, part),
        st.builds("not ({})".format, part),
    ),
    max_leaves=5,
)
cells = st.fixed_dictionaries(
    {
        "a": st.none() | st.sampled_from(["x", "y z", "", "X", "x%", "x\\%"]),
        "i": st.none() | st.sampled_from([0, 1, 2, -2, 2**53, 2**53 + 1]),
        "d": st.none() | st.sampled_from([0.0, 0.5, -2.25, 1.0]),
        "e": st.none() | st.sampled_from([0.0, 0.5, 3.0]),
        "b": st.none() | st.booleans(),
    }
)


@settings(max_examples=inputs(60), deadline=None)
@given(st.lists(cells, min_size=1, max_size=8), st.lists(conditions, min_size=1, max_size=8))
def test_conditions_mean_what_they_mean_in_duckdb(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], wheres: list[str]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"a": pa.string(), "i": pa.int64(), "d": pa.float64(), "e": pa.float64(), "b": pa.bool_()}
    table = pa.table({n: pa.array([row[n] for row in rows], t) for n, t in types.items()})
    table = table.append_column("row", pa.array(range(len(rows))))
    file = tmp_path_factory.mktemp("where") / "t.parquet"
    pq.write_table(table, file)
    for where in wheres:
        asked = duckdb.sql(f"SELECT row FROM '{file}' WHERE {where} ORDER BY row").fetchall()
        found = read_table(parse_file(f"{file}?where={where}")).columns[-1].to_pylist()
        assert found == [row for (row,) in asked], where


def test_a_condition_is_read_as_it_binds() -> None:
    assert parse("f", "not a = 1 and b = 2 or c = 3") == parse("f", "((not (a = 1)) and b = 2) or c = 3")


def test_integers_that_doubles_equal_compare_with_doubles(tmp_path: Path) -> None:
    file = tmp_path / "big.csv"
    file.write_text("owner,company,share\nA,B,0.6\nB,C,1e18\n", encoding="utf-8")
    assert owners(file, "share < 1000000000000000000") == ["A"]
    assert owners(file, "share >= 1000000000000000000") == ["B"]
    assert "no double equals" in fails(lambda: owners(file, "share < 1000000000000000001"))
