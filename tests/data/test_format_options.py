"""JSON, databases, queries, RDF, attributes of graphs, labelled nulls, dates and lists as sources."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgreason.base.errors import DataError, Span
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_writing import examine_whole
from kgreason.data.sources import SourceSpec
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.check.checked_program import Bind, CheckedProgram, Mapped, Query
from kgreason.language.check.program_checker import load_file, load_text
from kgreason.language.values import Null, Value
from kgreason.reasoning.api import reason

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyoxigraph")

PAIR = load_text("q(X) :- p(X, Y).")
TRIPLE = load_text("q(X) :- p(X, Y, Z).")
Rows = list[tuple[Value, ...]]
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


def facts(file: Path, program: CheckedProgram = PAIR, **options: str) -> Facts:
    return load_facts(program, {"p": [SourceSpec(file, None, options)]})


def rows(file: Path, program: CheckedProgram = PAIR, **options: str) -> Rows:
    return list(facts(file, program, **options).rows("p"))


def fails(action: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        action()
    folder = Path(caught.value.file)
    folder = folder if folder.is_dir() else folder.parent
    return str(caught.value).replace(f"{folder}/", "").replace(str(folder), ".")


def mapped(*types: str) -> CheckedProgram:
    maps = tuple(Mapped("p", i, str(i + 1), t, SPAN) for i, t in enumerate(types) if t)
    return replace(PAIR, mappings=maps)


SPAN = Span("rules.vada", 1, 1, 1, 2)


# JSON


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": "x"}\n{"b": "y", "a": 2}\n',
        '[{"a": 1, "b": "x"},\n {"a": 2, "b": "y"}]',
        '\ufeff[[1, "x"], [2, "y"]]',
        '[1, "x"]\n\n[2, "y"]',
        '{"a": 1,\n "b": "x"}\n{"a": 2, "b": "y"}',
    ],
)
def test_forms_of_json(write: Write, text: str) -> None:
    assert rows(write("a.json", text)) == [(1, "x"), (2, "y")]


def test_types_of_json(write: Write) -> None:
    path = write("a.jsonl", '{"a": 1, "b": "007"}\n{"a": 2.5, "b": ""}\n')
    assert rows(path) == [(1.0, "007"), (2.5, "")]
    assert rows(write("b.json", "[[true, [1, [2]]], [false, []]]")) == [(True, (1, (2,))), (False, ())]
    assert rows(write("c.json", '[["a", 1], ["b", "x"]]')) == [("a", "1"), ("b", "x")]


def test_rows_inside_a_json_object(write: Write) -> None:
    path = write("a.json", '{"meta": 1, "data": {"rows": [{"id": 1, "at": {"city": "Rome"}}]}}')
    assert rows(path, path="data.rows", columns="id,at.city") == [(1, "Rome")]
    assert fails(lambda: rows(path, path="data.row")) == (
        "a.json: there is no 'row' of path=data.row\n  help: the keys there are 'rows'"
    )
    one = write("b.json", '{"rows": [[1, 2]]}')
    assert fails(lambda: rows(one)) == (
        "b.json: one object, not rows\n"
        "  help: say which of its arrays holds them: path=rows; if it is a row itself, put [ ] around it"
    )
    assert "path=data.rows;" in fails(lambda: rows(path))
    assert "path=a" in fails(lambda: rows(write("c.json", '{"a": []}')))
    assert rows(write("d.json", '{"name": "x", "tags": []}')) == [("x", ())]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": 2}\n{"a": 1, }', "a.json:2: no JSON: "),
        ("[[1, 2]\n,[3, 4]", "a.json:2: no JSON: the file ends within a value"),
        ("[[1, 2],\n[3, NaN]]", "a.json:2: no JSON: invalid char in json text"),
        ("[" * 100_000, "a.json:1: no JSON: nested too deeply"),
        (
            "[[" + "[" * 101 + "]" * 101 + ", 1]]",
            "a.json:1: column 'column1': [...] is not a list or set nested 100 deep at most",
        ),
        ("[[1, 2],\n[3, 4, 5]]", "a.json:2: [3, 4, 5] where the first row has 2 values"),
        ('{"a": 1, "b": 2}\n[1, 2]', "a.json:2: [1, 2] where the first row is an object"),
        (
            "[[1, 2],\n[3, 99999999999999999999]]",
            "a.json:2: column 'column2': 99999999999999999999 is not an integer of 64 bits",
        ),
        ('{"a": 1, "b": 2}\n{"a": 3}', "a.json:2: column 'b': the cell is empty (1 such row)"),
        ("[[1, [2]], [3, 4]]", "a.json:1: column 'column2': 4 is not of one type with the values before"),
        ("[[1, [{}]]]", "a.json:1: column 'column2': {...} is not a number, a string, a truth value"),
    ],
)
def test_bad_json(write: Write, text: str, words: str) -> None:
    path = write("a.json", text)
    assert fails(lambda: rows(path)).startswith(words)


# databases


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "register.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE own (owner TEXT, share REAL, seen DATE, live BOOLEAN);"
        "INSERT INTO own VALUES ('007', 0.5, '2024-01-15', 1), ('b', 1, '2023-12-31', 0);"
        "CREATE TABLE holes (a, b); INSERT INTO holes VALUES (1, 'x'), (NULL, 'y');"
        "CREATE VIEW large AS SELECT owner, share FROM own WHERE share > 0.6;"
    )
    connection.close()
    return path


def test_tables_and_views_of_sqlite(database: Path) -> None:
    assert rows(database, table="large") == [("b", 1.0)]
    assert rows(database, table="OWN", columns="owner,live") == [("007", True), ("b", False)]
    assert rows(database, table="own", columns="owner,seen")[0] == ("007", datetime(2024, 1, 15))
    assert rows(database, table="holes", missing="null") == [(1, "x"), (Null(1), "y")]


def test_errors_of_sqlite(database: Path, tmp_path: Path) -> None:
    assert fails(lambda: rows(database, table="own2")) == (
        "register.db: there is no table 'own2'\n  help: did you mean 'own'? the tables are holes, large, own"
    )
    assert fails(lambda: rows(database)) == (
        "register.db: the database has 3 tables, and none is named\n"
        "  help: say table=, one of holes, large, own"
    )
    assert fails(lambda: rows(database, table="holes")) == (
        "register.db: column 'a': row 2: the cell is empty (1 such row)\n"
        "  help: missing=skip leaves such rows out and counts them; "
        "missing=null takes the cells for labelled nulls"
    )
    assert fails(lambda: rows(tmp_path / "none.db", table="t")) == (
        "none.db: there is no such file\n  help: the folder holds register.db"
    )
    assert not (tmp_path / "none.db").exists()
    text = tmp_path / "text.db"
    text.write_text("hello " * 1000)
    assert "text.db: no SQLite database that can be read: " in fails(lambda: rows(text, table="t"))


def test_tables_of_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "register.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE own AS SELECT 'a' AS owner, DATE '2024-01-15' AS seen")
    connection.execute("CREATE TABLE lists AS SELECT 1 AS a, [1, 2] AS b")
    connection.close()
    assert rows(path, table="own") == [("a", datetime(2024, 1, 15))]
    assert rows(path, table="lists") == [(1, (1, 2))]
    assert fails(lambda: rows(path, table="owns")) == (
        "register.duckdb: there is no table 'owns'\n  help: did you mean 'own'? the tables are lists, own"
    )


def test_bound_databases_and_queries_are_joined(database: Path, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("who,much\nc,0.25\n")
    here = replace(SPAN, file=str(tmp_path / "rules.vada"))
    program = replace(
        PAIR,
        binds=(
            Bind("p", "sqlite", {}, str(database), SPAN, "large"),
            Bind("p", "csv", {}, str(tmp_path / "more.csv"), SPAN),
        ),
        queries_bound=(
            Query("p", "sqlite", {}, str(database), "SELECT owner, share FROM own WHERE share < 0.6", SPAN),
            Query("p", "duckdb", {}, "", "SELECT upper(who), much FROM 'more.csv'", here),
        ),
        allow_files=True,
    )
    found = list(load_facts(program, {}).rows("p"))
    assert found == [("b", 1.0), ("c", 0.25), ("007", 0.5), ("C", 0.25)]
    assert list(load_facts(program, {"p": [("z", 1.0)]}).rows("p")) == [("z", 1.0)]


READS = "fails: it does not read rows and nothing else; write one SELECT"


@pytest.mark.parametrize(
    ("source", "query", "words"),
    [
        (
            "sqlite",
            "SELECT owner,\n  shar FROM own",
            "rules.vada:1:1: the query `SELECT owner, shar FROM own` fails: no such column: shar\n"
            "  help: the tables are holes, large, own",
        ),
        ("sqlite", "DELETE FROM own", "fails: attempt to write a readonly database"),
        ("sqlite", "ATTACH 'new.db' AS n", READS),
        ("sqlite", "VACUUM INTO 'new.db'", READS),
        ("sqlite", "CREATE TEMP TABLE t(x)", READS),
        ("duckdb", "SELECT * FROM 'nope.csv'", "nope.csv"),
        ("duckdb", "COPY (SELECT 1) TO 'new.csv'", READS),
        ("duckdb", "ATTACH 'new.db'", READS),
        ("duckdb", "SELECT 1; SELECT 2", READS),
        ("duckdb", "SELECT 1 AS a, {'x': 1} AS b", "column 'b': row 1: {...} is not a value of the rules"),
    ],
)
def test_bad_queries(
    database: Path, source: str, query: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(database.parent)
    before = set(database.parent.iterdir())
    path = str(database) if source == "sqlite" else ""
    here = replace(SPAN, file=str(database.parent / "rules.vada"))
    program = replace(PAIR, queries_bound=(Query("p", source, {}, path, query, here),))
    assert words in fails(lambda: load_facts(program, {}))
    assert sqlite3.connect(database).execute("SELECT count(*) FROM own").fetchone() == (2,)
    assert set(database.parent.iterdir()) == before


# RDF

TURTLE = """\
@prefix x: <http://x/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
x:a x:age 7 ; x:name "a name"@en ; x:seen "2024-01-15"^^xsd:date ; x:knows _:b , x:c%20d ; a x:Person .
x:e x:age "8"^^xsd:long ; x:live true ; x:rate 0.5 , 2.5e0 .
"""


def test_triples(write: Write) -> None:
    path = write("a.ttl", TURTLE)
    assert rows(path, predicate="http://x/age") == [("http://x/a", 7), ("http://x/e", 8)]
    assert rows(path, predicate="age", base="http://x/") == [("a", 7), ("e", 8)]
    assert rows(path, predicate="name", strip="true") == [("a", "a name")]
    assert rows(path, predicate="seen", strip="true") == [("a", datetime(2024, 1, 15))]
    assert rows(path, predicate="knows", base="http://x/")[1] == ("a", "c d")
    assert str(rows(path, predicate="knows", base="http://x/")[0][1]).startswith("_:")
    assert rows(path, predicate="live", strip="true") == [("e", True)]
    assert rows(path, predicate="rate", strip="true") == [("e", 0.5), ("e", 2.5)]
    unary = load_text("q(X) :- p(X).")
    assert rows(path, unary, **{"class": "Person", "base": "http://x/"}) == [("a",)]
    assert len(rows(path, TRIPLE)) == 10
    assert ("a", "age", "7") in rows(path, TRIPLE, base="http://x/")


def test_bad_triples(write: Write) -> None:
    path = write("a.ttl", TURTLE)
    assert fails(lambda: rows(path, predicate="agee", base="http://x/")).startswith(
        "a.ttl: no triple has the predicate 'agee'\n  help: did you mean 'age'? there are age, name, seen"
    )
    broken = write("b.nt", "<http://x/a> <http://x/p> <http://x/b> .\n<http://x/a> oops .\n")
    assert fails(lambda: rows(broken)).startswith(
        "b.nt:2: no N-Triples: The predicate of a triple must be an IRI\n  help: is it of another format?"
    )
    wrong = write("c.ttl", TURTLE.replace('"8"', '"eight"'))
    assert fails(lambda: rows(wrong, predicate="age", strip="true")) == (
        "c.ttl: column 'object': row 2: 'eight' is not of type xsd:long\n"
        "  help: mend the literal, or leave out its type: it is text then"
    )
    twins = write("d.nt", "<http://x/a> <http://x/p> <http://y/a> .\n")
    assert fails(lambda: rows(twins, predicate="p", strip="true")) == (
        "d.nt: <http://x/a> and <http://y/a> would both be 'a'\n  help: shorten names by base= alone"
    )


# attributes of graphs

GRAPHML = """<graphml>
<key id="k" for="node" attr.name="kind"><default>firm</default></key><key id="r" for="edge" attr.name="role"/>
<graph edgedefault="directed">
<node id="1"/><node id="2"><data key="k">person</data></node>
<edge source="1" target="2"><data key="r">owner</data></edge>
</graph></graphml>"""


def test_attributes_of_graphml(write: Write) -> None:
    path = write("g.graphml", GRAPHML)
    assert rows(path) == [("1", "2")]
    assert rows(path, TRIPLE, columns="source,target,role") == [("1", "2", "owner")]
    assert rows(path, table="vertices", columns="id,kind") == [("1", "firm"), ("2", "person")]
    assert fails(lambda: rows(path, TRIPLE, columns="source,target,rule")) == (
        "g.graphml: there is no column 'rule'\n"
        "  help: did you mean 'role'? the file has the columns source, target, role; columns=a,b takes others"
    )
    assert "option table cannot be 'edge'" in fails(lambda: rows(path, table="edge"))


# nulls, dates, lists


def test_empty_cells_are_nulls_in_reading_order(write: Write) -> None:
    path = write("a.csv", "a,b\n1,\n,x\n,\n3,4\n")
    found = facts(path, missing="null", useHeaders="true")
    assert found.tables["p"].kinds == (Kind.ANY, Kind.ANY)
    assert list(found.rows("p")) == [(1, Null(1)), (Null(2), "x"), (Null(3), Null(4)), (3, "4")]


def test_one_source_with_nulls_makes_the_column_any(write: Write) -> None:
    sources = [
        SourceSpec(write(f"{i}.csv", f"a,b\n{c},x\n"), None, {"missing": "null"})
        for i, c in enumerate(["", 5])
    ]
    found = load_facts(PAIR, {"p": sources})
    assert found.tables["p"].kinds == (Kind.ANY, Kind.STRING)
    assert list(found.rows("p")) == [(Null(1), "x"), (5, "x")]


def test_null_string(write: Write) -> None:
    path = write("a.csv", "a,b\n1,\\N\n2,3\n")
    assert rows(path, nullString="\\N") == [(1, Null(1)), (2, 3)]
    assert rows(path, nullString="\\N", missing="skip") == [(2, 3)]
    assert rows(path) == [(1, "\\N"), (2, "3")]


def test_vertices_and_weights_are_no_nulls(write: Write) -> None:
    path = write("a.csv", "a,b\nx,\n")
    edges = load_text('@edge("p"). q(X) :- p(X, Y).')
    assert fails(lambda: rows(path, edges, missing="null", useHeaders="true")) == (
        "a.csv:2: column 'b': the cell is empty (1 such row)\n"
        "  help: vertices and weights cannot be labelled nulls; missing=skip leaves such rows out and counts them"
    )


def test_dates(write: Write, tmp_path: Path) -> None:
    path = write("a.csv", "2024-01-15,2024-01-15 10:30\n0001-01-01, 9999-12-31T23:59:59.999999\n")
    assert rows(path) == [("2024-01-15", "2024-01-15 10:30"), ("0001-01-01", " 9999-12-31T23:59:59.999999")]
    assert rows(path, mapped("date", "date")) == [
        (datetime(2024, 1, 15), datetime(2024, 1, 15, 10, 30)),
        (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ]
    bad = write("b.csv", "2024-01-15,x\n2023-02-29,y\n")
    assert fails(lambda: rows(bad, mapped("date", "string"))) == (
        "b.csv:2: column 'column1': '2023-02-29' is not a date, as in 2024-01-15 or 2024-01-15 10:30:00"
    )
    german = write("c.csv", "15.01.2024,x\n02.03.2024,y\n")
    text = fails(lambda: rows(german, mapped("date", "string")))
    advice = "write dates as 2024-01-15; or map the column as string and let a rule make dates of day, month and year: "
    assert advice in text
    rules = load_text(f"q(V) :- p(D, X), V = {text.partition(advice)[2]}.")
    assert reason(rules, {"p": german}).rows("q") == [(datetime(2024, 1, 15),), (datetime(2024, 3, 2),)]
    short = write("d.csv", "15/1/24,x\n")
    assert fails(lambda: rows(short, mapped("date", "string"))).endswith(
        "help: write dates as 2024-01-15, or map the column as string"
    )
    table = pa.table({"a": pa.array([date(2024, 1, 15)], pa.date32()), "b": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert rows(tmp_path / "a.parquet") == [(datetime(2024, 1, 15), "x")]
    assert rows(tmp_path / "a.parquet", mapped("string", "")) == [("2024-01-15", "x")]
    assert "'2024-01-15' is not an integer" in fails(lambda: rows(tmp_path / "a.parquet", mapped("int", "")))
    fine = pa.table({"a": pa.array([1, 1001], pa.timestamp("ns")), "b": ["x", "y"]})
    assert "is not a date of microseconds" in fails(lambda: load_facts(PAIR, {"p": fine}))


def test_lists_and_sets(write: Write, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x"], "b": [[1.5, 2.0]]}), tmp_path / "a.parquet")
    assert rows(tmp_path / "a.parquet") == [("x", (1.5, 2.0))]
    assert rows(tmp_path / "a.parquet", mapped("", "set")) == [("x", frozenset({1.5, 2.0}))]
    path = write("a.csv", 'x;[1, "a"]\ny;[]\n')
    assert rows(path, mapped("", "list"), delimiter=";") == [("x", (1, "a")), ("y", ())]
    bad = write("b.csv", "x;{1, 2}\ny;3\n")
    assert fails(lambda: rows(bad, mapped("", "set"), delimiter=";", useHeaders="false")) == (
        "b.csv:2: column 'column2': '3' is not a set, as in {1, \"a\"}"
    )
    assert "'[1.5, 2.0]' is not an integer" in fails(lambda: rows(tmp_path / "a.parquet", mapped("", "int")))


def test_values_of_python() -> None:
    given: Rows = [("a", (1, 2)), ("b", ())]
    assert list(load_facts(PAIR, {"p": given}).rows("p")) == given
    frame = pd.DataFrame({"a": pd.to_datetime(["2024-01-15"]), "b": [True]})
    assert list(load_facts(PAIR, {"p": frame}).rows("p")) == [(datetime(2024, 1, 15), True)]
    assert list(load_facts(PAIR, {"p": [("a", frozenset({1}))]}).rows("p")) == [("a", frozenset({1}))]
    assert fails(lambda: load_facts(PAIR, {"p": [("a", 2**63)]})) == (
        "<p>: column 'column2': row 1: 9223372036854775808 is not an integer of 64 bits\n"
        "  help: map the column as string, or as double, which rounds"
    )
    assert "is not a number, a string" in fails(lambda: load_facts(PAIR, {"p": [("a", b"x")]}))


def test_one_object_a_line_is_a_row(write: Write) -> None:
    assert rows(write("a.jsonl", '{"c1": [], "c2": [[1]]}\n')) == [((), ((1,),))]


def test_options_and_queries_are_checked_unopened(write: Write) -> None:
    path = write(
        "a.vada",
        """@bind("t", "csv delimter=;", "", "nope.csv").
@bind("u", "csv useHeaders=yes", "", "nope.csv").
@qbind("v", "sqlite", "no.db", "/* rows */ DELETE FROM x").
@qbind("w", "duckdb", "", "DELETE FROM x").
@qbind("x", "sqlite", "no.db", "SELECT a FRM b").
@qbind("y", "sqlite", "no.db", "WITH a AS (SELECT 1) SELECT * FROM a, x").
@qbind("z", "duckdb", "", "FROM 'nope.csv'").
p(X) :- t(X), u(X), v(X), w(X), x(X), y(X), z(X).
@bind("p", "csv delimiter=ab", "", "out.csv").
@output("p").
""",
    )
    found = examine_whole(path)
    assert found.program is None
    beyond = 'it reaches beyond its database: Cannot access file "nope.csv"'
    reads = "it does not read rows and nothing else; write one SELECT"
    assert [(d.code, d.span and d.span.line, d.message) for d in found.diagnostics] == [
        ("E302", 1, "unknown option 'delimter'"),
        ("E302", 2, "option useHeaders cannot be 'yes'"),
        ("E302", 3, f"the query `/* rows */ DELETE FROM x` fails: {reads}"),
        ("E302", 4, f"the query `DELETE FROM x` fails: {reads}"),
        ("E302", 5, 'the query `SELECT a FRM b` fails: near "b": syntax error'),
        ("E302", 7, f"the query `FROM 'nope.csv'` fails: {beyond}"),
        ("E302", 9, "delimiter 'ab' is not one character"),
    ]
    assert str(found).startswith(
        f"""{path}:1:1: error[E302]: unknown option 'delimter'
  1 | @bind("t", "csv delimter=;", "", "nope.csv").
    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  help: did you mean delimiter? there are format,"""
    )


def test_option_errors_name_the_bind(write: Write) -> None:
    rules = write("a.vada", 'q(X) :- p(X).\n@bind("p", "csv useHeaders=yes", "", "nope.csv").\n')
    assert fails(lambda: load_facts(load_file(rules), {})) == (
        "a.vada:2:1: option useHeaders cannot be 'yes'\n  help: one of true, false, auto"
    )


# options of other systems


@pytest.mark.parametrize(
    ("chosen", "expected"), [("[0; 2]", (1, "x")), ("[1:2]", (2, "x")), ("['c'; 0]", ("x", 1))]
)
def test_selected_columns_count_from_zero(write: Write, chosen: str, expected: tuple[Value, ...]) -> None:
    assert rows(write("a.csv", "a,b,c\n1,2,x\n"), selectedColumns=chosen) == [expected]


def test_options_that_change_nothing_are_known(write: Write) -> None:
    path = write("a.csv", "a,b\n1,2\n")
    assert rows(path, recordSeparator="\\n", quoteMode="ALL") == [(1, 2)]
    assert "option recordSeparator cannot be '|'" in fails(lambda: rows(path, recordSeparator="|"))
    assert "option selectedColumns cannot be '[;]'" in fails(lambda: rows(path, selectedColumns="[;]"))


def test_large_integers_keep_all_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([[2**63 - 1, -(2**63)], [1, 2]]))
    assert rows(path) == [(2**63 - 1, -(2**63)), (1, 2)]
    frame = pa.table({"a": pa.array([2**53 + 1]), "b": ["x"]})
    assert list(load_facts(mapped("int", ""), {"p": frame}).rows("p")) == [(2**53 + 1, "x")]
