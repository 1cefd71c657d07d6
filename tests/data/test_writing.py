"""Facts written to files of every format, read back, and compared value by value."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError, ReleaseError, Span
from kgreason.data import fact_columns as tables
from kgreason.data import fact_writing as output
from kgreason.data.fact_columns import facts_to_arrow
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_writing import check_outputs, write_facts, write_output, write_targets
from kgreason.data.sources import SourceSpec
from kgreason.data.targets import Target, column_names
from kgreason.data.value_conversion import text
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.language.check.checked_program import Bind, CheckedProgram, Mapped
from kgreason.language.check.program_checker import load_file, load_text
from kgreason.language.values import Null, Value, identity

HERE = Span("a.vada", 1, 1, 1, 2)
Row = tuple[Value, ...]


def written(folder: Path, rows: Sequence[Row], target: str) -> Path:
    given = Target.parse(f"{folder}/{target}")
    write_output(Facts.from_rows({"p": rows}), "p", given)
    return given.path


@cache
def program(arity: int, types: tuple[str, ...] = ()) -> CheckedProgram:
    variables = ", ".join(f"X{i}" for i in range(arity))
    checked = load_text(f"q(X0) :- p({variables}).")
    mapped = (Mapped("p", i, str(i + 1), type, HERE) for i, type in enumerate(types) if type)
    return replace(checked, mappings=tuple(mapped))


def read(path: Path, arity: int, types: tuple[str, ...] = (), **options: str) -> list[Row]:
    source = SourceSpec(path, None, options)
    return list(load_facts(program(arity, types), {"p": [source]}).rows("p"))


# round trips

TEXT = st.text(max_size=6) | st.sampled_from(
    ["", "007", "1.5", "true", '"', "a,b", "x\ny", " é ", "_:x", "a:b%zz", "\\${x}"]
)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0)
DATES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
LISTS = st.lists(TEXT, max_size=3).map(tuple)
ROWS = st.lists(st.tuples(TEXT, INTEGERS, DOUBLES, st.booleans(), DATES, LISTS), min_size=1, max_size=4)
TYPES = ("string", "int", "double", "boolean", "date", "list")


def distinct(rows: Sequence[Row]) -> list[Row]:
    return list({tuple(map(identity, row)): row for row in rows}.values())


@pytest.mark.parametrize(
    ("target", "types", "options"),
    [
        ("p.parquet", (), {}),
        ("p.sqlite", (), {}),
        ("p.duckdb", (), {}),
        ("p.json", ("", "", "", "", "date", ""), {}),
        ("p.jsonl", ("", "", "", "", "date", ""), {}),
        ("p.csv", TYPES, {"missing": "keep"}),
        ("p.tsv", TYPES, {"missing": "keep"}),
    ],
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_values_come_back(
    tmp_path: Path, target: str, types: tuple[str, ...], options: dict[str, str], rows: list[Row]
) -> None:
    path = written(tmp_path, rows, target)
    found = read(path, 6, types, **options)
    assert list(map(identity, found)) == list(map(identity, distinct(rows)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_pairs_come_back_from_rdf(tmp_path: Path, rows: list[Row]) -> None:
    for name in ("p.nt", "p.ttl"):
        path = written(tmp_path, rows, name)
        assert set(read(path, 2, predicate="p", base="urn:kgreason:")) == set(rows)


@pytest.mark.parametrize(
    "values", [[1, 2**62], [0.1, 5e-324], [True, False], [datetime(2024, 1, 15, 10, 30)]]
)
def test_literals_come_back_from_rdf(tmp_path: Path, values: list[Value]) -> None:
    rows: list[Row] = [(f"a{i}", v) for i, v in enumerate(values)]
    found = read(written(tmp_path, rows, "p.nt"), 2, predicate="p", base="urn:kgreason:")
    assert sorted(map(identity, found)) == sorted(map(identity, rows))  # type: ignore[type-var]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(exclude_categories=("C",)), min_size=1).filter(str.strip)] * 2, DOUBLES
        ),
        min_size=1,
        max_size=4,
    )
)
def test_edges_come_back_from_graphml(tmp_path: Path, rows: list[Row]) -> None:
    found = read(written(tmp_path, rows, "p.graphml"), 3, ("string", "string", "double"))
    assert found == distinct(rows)


@pytest.mark.parametrize("name", ["p.parquet", "p.json", "p.sqlite", "p.duckdb"])
@pytest.mark.parametrize(
    "values", [[{1, 2}, {3}], [{1.5, 2}, {1}], [{"a"}, set()], [{datetime(2024, 1, 15)}]]
)
def test_sets_come_back_as_lists_in_order(tmp_path: Path, name: str, values: list[set[Value]]) -> None:
    rows: list[Row] = [(str(i), frozenset(v)) for i, v in enumerate(values)]
    found = read(written(tmp_path, rows, name), 2, ("", "set"))
    if name == "p.parquet" or not isinstance(next(iter(values[0])), datetime):
        assert found == rows


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.json", "p.sqlite", "p.duckdb", "p.nt"])
def test_nulls_are_written_by_their_labels(tmp_path: Path, name: str) -> None:
    rows: list[Row] = [("a", Null(1)), ("b", "x"), ("c", Null(12))]
    options = {"predicate": "p", "base": "urn:kgreason:"} if name == "p.nt" else {}
    found = read(written(tmp_path, rows, name), 2, **options)
    assert sorted(found) == [("a", "_:n1"), ("b", "x"), ("c", "_:n12")]  # type: ignore[type-var]


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.parquet", "p.json", "p.sqlite", "p.duckdb"])
@pytest.mark.parametrize(
    "value", [(Null(1), "x"), frozenset({Null(1)}), (Null(1), 2), ((Null(1),),)], ids=str
)
def test_nulls_within_lists_are_written_by_their_labels(tmp_path: Path, name: str, value: Value) -> None:
    ((_, found),) = read(written(tmp_path, [("a", value)], name), 2)
    assert "_:n1" in str(found)
    facts = Facts.from_rows({"p": [(value,)]})
    kept = {(Null(1), "x"): ["_:n1", "x"], frozenset({Null(1)}): ["_:n1"]}  # of one type, so lists
    assert facts_to_arrow(facts, "p")["c1"].to_pylist() == [kept.get(value, text(value))]  # type: ignore[call-overload]


# forms


def test_form_of_csv(tmp_path: Path) -> None:
    rows: list[Row] = [("a,b", 0.5, True, (1, "x"), frozenset({2, 1}), datetime(2024, 1, 15))]
    assert written(tmp_path, rows, "p.csv").read_text() == (
        '"c1","c2","c3","c4","c5","c6"\n"a,b",0.5,true,"[1, ""x""]","{1, 2}","2024-01-15"\n'
    )


def test_options_of_csv(tmp_path: Path) -> None:
    rows: list[Row] = [("a", 1, Null(3)), ("b", 2, "x")]
    path = written(tmp_path, rows, "p.csv?delimiter=;&useHeaders=false&nullString=\\N")
    assert path.read_text() == '"a";1;"\\N"\n"b";2;"x"\n'
    assert read(path, 3, delimiter=";", nullString="\\N") == [("a", 1, Null(1)), ("b", 2, "x")]
    assert written(tmp_path, rows, "p.tsv?quoteMode=NONE").read_text() == "c1\tc2\tc3\na\t1\t_:n3\nb\t2\tx\n"
    with pytest.raises(DataError, match="cannot be written without quotes"):
        written(tmp_path, [("a,b",)], "p.csv?quoteMode=none")


def test_form_of_json(tmp_path: Path) -> None:
    rows: list[Row] = [("é", 1.0, (1, (True,)), Null(1)), ("b", 0.1, (), "x")]
    lines = written(tmp_path, rows, "p.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '{"c1": "é", "c2": 1.0, "c3": [1, [true]], "c4": "_:n1"}'
    array = json.loads(written(tmp_path, rows, "p.json").read_text(encoding="utf-8"))
    assert array == [json.loads(line) for line in lines]
    empty = Target.parse(str(tmp_path / "none.json"))
    write_output(Facts({"p": Facts.from_rows({"p": [(1,)]}).tables["p"]}), "p", empty)
    assert json.loads(empty.path.read_text()) == [{"c1": 1}]


@pytest.mark.parametrize("name", ["p.csv", "p.tsv?useHeaders=false", "p.parquet"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_pieces_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    rows = [(f"a{i}", i, i / 4, i % 2 == 0, datetime(2020, 1, 1 + i)) for i in range(8)][:count]
    facts = Facts.from_rows({"p": rows or [("a", 1, 0.5, True, datetime(2020, 1, 1))]})
    if not rows:
        table = facts.tables["p"]
        facts = Facts({"p": Table(table.kinds, tuple(c[:0] for c in table.columns), 0)}, facts.symbols)
    found = []
    for rows_of_a_piece in (100, 3):
        monkeypatch.setattr(tables, "COLUMN_ROWS", rows_of_a_piece)
        target = Target.parse(f"{tmp_path}/{rows_of_a_piece}{name}")
        write_output(facts, "p", target)
        found.append(
            pq.read_table(target.path).to_pylist() if "parquet" in name else target.path.read_bytes()
        )
    assert found[0] == found[1]
    assert len(found[0]) == count if "parquet" in name else found[0].count(b"\n") == count + ("csv" in name)


def test_columns_of_parquet_are_typed(tmp_path: Path) -> None:
    rows: list[Row] = [("a", 1, True, datetime(2024, 1, 15), (1, 2), (1, "mixed"), Null(1))]
    schema = pq.read_table(written(tmp_path, rows, "p.parquet")).schema
    assert schema.types == [
        *(pa.string(), pa.int64(), pa.bool_(), pa.timestamp("us"), pa.list_(pa.int64())),
        *(pa.string(), pa.string()),
    ]


def test_form_of_rdf(tmp_path: Path) -> None:
    facts = Facts.from_rows(
        {
            "company": [("A & B",)],
            "control": [("http://x/a", "b"), ("_:n1", Null(1))],
            "own": [("a", "b", 0.5)],
            "holds": [()],
        }
    )
    write_facts(tmp_path, facts, "rdf")
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    double = "<http://www.w3.org/2001/XMLSchema#double>"
    texts = {p.name: p.read_text().splitlines() for p in sorted(tmp_path.iterdir())}
    assert texts == {
        "company.nt": [
            f"<urn:kgreason:A%20%26%20B> {kind} <urn:kgreason:company> .",
            '<urn:kgreason:A%20%26%20B> <http://www.w3.org/2000/01/rdf-schema#label> "A & B" .',
        ],
        "control.nt": [
            "<http://x/a> <urn:kgreason:control> <urn:kgreason:b> .",
            "_:n1 <urn:kgreason:control> _:n1 .",
        ],
        "own.nt": [
            f"_:own1 {kind} <urn:kgreason:own> .",
            "_:own1 <urn:kgreason:source> <urn:kgreason:a> .",
            "_:own1 <urn:kgreason:target> <urn:kgreason:b> .",
            f'_:own1 <urn:kgreason:weight> "0.5"^^{double} .',
        ],
        "holds.nt": [f"_:holds1 {kind} <urn:kgreason:holds> ."],
    }


def test_options_of_rdf(tmp_path: Path) -> None:
    path = written(tmp_path, [("a", "a name")], "p.nt?base=http://x/&literals=2")
    assert path.read_text() == '<http://x/a> <http://x/p> "a name" .\n'
    assert read(path, 2, predicate="p", base="http://x/") == [("a", "a name")]
    with pytest.raises(DataError, match="option base cannot be 'x'"):
        written(tmp_path, [("a", "b")], "p.nt?base=x")
    with pytest.raises(DataError, match="there is no column '3'\n  help: the columns are c1, c2"):
        written(tmp_path, [("a", "b")], "p.nt?literals=3")


def test_form_of_graphml(tmp_path: Path) -> None:
    text = written(tmp_path, [("a<b", 'c"d', 0.5, "x & y")], "p.graphml").read_text()
    assert '<key id="d0" for="edge" attr.name="weight" attr.type="double"/>' in text
    assert '<key id="d1" for="edge" attr.name="c4" attr.type="string"/>' in text
    assert (
        '<edge source="a&lt;b" target=\'c"d\'><data key="d0">0.5</data><data key="d1">x &amp; y</data></edge>'
        in text
    )
    assert read(written(tmp_path, [("a",), ("b",)], "u.graphml"), 1) == [("a",), ("b",)]
    with pytest.raises(DataError, match="holds a character that XML cannot"):
        written(tmp_path, [("a\x00", "b")], "p.graphml")
    with pytest.raises(DataError, match="p has no arguments, so it makes no graph"):
        written(tmp_path, [()], "p.graphml")


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "json", "sqlite", "duckdb"])
def test_a_proposition_is_one_truth_value(tmp_path: Path, format: str) -> None:
    ((_, target),) = write_facts(tmp_path, Facts.from_rows({"p": [()]}), format)
    assert read(target.path, 1, ("boolean",)) == [(True,)]


# databases and places


@pytest.mark.parametrize("name", ["d.sqlite", "d.duckdb"])
def test_other_tables_of_a_database_stay(tmp_path: Path, name: str) -> None:
    written(tmp_path, [("old", 1)], f"{name}?table=kept")
    for rows in ([("a", 1), ("b", 2)], [("c", 3)]):
        path = written(tmp_path, rows, f"{name}?table=changed")
    assert read(path, 2, table="kept") == [("old", 1)]
    assert read(path, 2, table="changed") == [("c", 3)]


@pytest.mark.parametrize("format", ["sqlite", "duckdb", "csv"])
@pytest.mark.parametrize("before", [True, False])
def test_an_interrupt_leaves_all_outputs_as_they_were(tmp_path, monkeypatch, format, before):
    def folder() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    def interrupt(*given: Any) -> None:
        if "q" in given:
            raise KeyboardInterrupt

    @contextmanager
    def tables_then_interrupt(path: Path) -> Iterator[Any]:
        with database(path) as write:
            yield lambda *given: (write(*given), interrupt(*given))

    if before:
        write_facts(tmp_path / "out", Facts.from_rows({"p": [("a", 1)], "q": [("b", 2)]}), format)
    known = folder() if before else {}
    if format == "csv":
        file = output.function_of(output.FUNCTIONS[format].write)
        writer = lambda *given: (file(*given), interrupt(*given))  # noqa: E731
    else:
        database = output.function_of(output.FUNCTIONS[format].write)
        writer = tables_then_interrupt
    monkeypatch.setattr(output, "function_of", lambda _: writer)
    with pytest.raises(KeyboardInterrupt):
        write_facts(tmp_path / "out", Facts.from_rows({"p": [("c", 3)], "q": [("d", 4)]}), format)
    assert folder() == known


def test_a_failed_database_is_as_before(tmp_path: Path) -> None:
    path = written(tmp_path, [("a", 1)], "d.db?table=t")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.close()
    with pytest.raises(ReleaseError, match='the table "v" cannot be written: use DROP VIEW'):
        written(tmp_path, [("b", 2)], "d.db?table=v")
    assert read(path, 2, table="v") == [("a", 1)]
    (tmp_path / "text.db").write_text("no database, but long enough to be read as one" * 100)
    with pytest.raises(ReleaseError, match="file is not a database"):
        written(tmp_path, [("b", 2)], "text.db")
    with pytest.raises(ReleaseError, match=r"text\.db: cannot be written: .*not a valid DuckDB"):
        written(tmp_path, [("b", 2)], "text.db?format=duckdb")


def test_a_failed_file_is_as_before(tmp_path: Path) -> None:
    path = written(tmp_path, [("a", "b")], "p.graphml")
    before = path.read_bytes()
    with pytest.raises(DataError):
        written(tmp_path, [("a\x01", "b")], "p.graphml")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.graphml"]
    (tmp_path / "file").touch()
    with pytest.raises(ReleaseError, match="cannot be made"):
        written(tmp_path, [("a",)], "file/p.csv")


@pytest.mark.parametrize(
    ("package", "extra", "name"), [("duckdb", "duckdb", "p.duckdb"), ("pyoxigraph", "rdf", "p.ttl")]
)
def test_missing_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for action in (lambda: written(tmp_path, [("a",)], name), lambda: read(tmp_path / name, 1)):
        with pytest.raises(DataError) as caught:
            action()
        assert str(caught.value) == (
            f"{tmp_path / name}: {extra} files need the package {package}, which is not installed\n"
            f"  help: pip install '.[{extra}]' in a checkout of kgreason"
        )


# names and targets


def test_columns_are_named_by_the_heads() -> None:
    rules = load_text("r(X, Y, _Z) :- e(X, Y, _Z). r(X, Z, W) :- r(X, Y, W), e(Y, Z, _).")
    assert column_names(rules, "r", 3) == ("X", "Y", "W")
    mapped = replace(rules, mappings=(Mapped("r", 1, "target", "string", HERE),))
    assert column_names(mapped, "r", 3) == ("X", "target", "W")
    assert column_names(load_text("d(X, X) :- e(X)."), "d", 2) == ("X", "c2")
    assert column_names(rules, "e", 3) == ("c1", "c2", "c3")


@pytest.mark.parametrize(
    ("bind", "name", "table"),
    [
        (Bind("r", "csv", {"delimiter": ";"}, "out/r.csv", HERE), "out/r.csv", None),
        (Bind("r", "sqlite", {}, "out/all.db", HERE, "reach"), "out/all.db", "reach"),
        (Bind("r", "sqlite", {}, "out", HERE, "all.db"), "out/all.db", None),
        (Bind("r", "duckdb", {"table": "t"}, "new.duckdb", HERE), "new.duckdb", "t"),
        (Bind("r", "json", {}, "r.jsonl", HERE), "r.jsonl", None),
    ],
)
def test_bound_outputs_are_written(tmp_path: Path, bind: Bind, name: str, table: str | None) -> None:
    (tmp_path / "out").mkdir()
    rules = load_text("r(X, Y) :- e(X, Y).")
    bound = replace(rules, targets=(replace(bind, path=str(tmp_path / bind.path)),))
    ((predicate, target),) = write_targets(bound, Facts.from_rows({"r": [("a", 1)]}))
    assert (predicate, target.path, target.table) == ("r", tmp_path / name, table)
    assert list(
        load_facts(
            replace(
                load_text("q(X) :- r(X, Y)."),
                mappings=(Mapped("r", 0, "X", "", HERE), Mapped("r", 1, "Y", "", HERE)),
            ),
            {
                "r": [
                    SourceSpec(
                        target.path, target.format, {**bind.options, **({"table": table} if table else {})}
                    )
                ]
            },
        ).rows("r")
    ) == [("a", 1)]


def failed(attempt: Callable[[], object]) -> str:
    with pytest.raises((DataError, ReleaseError)) as caught:
        attempt()
    return str(caught.value)


# nothing is lost, and nothing is written by halves


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    facts = Facts.from_rows({"a": [("x", "y")], "b": [("x\x00", "y")]})
    (tmp_path / "a.graphml").write_text("before")
    assert "'x\\x00' holds a character that XML cannot" in failed(
        lambda: write_facts(tmp_path, facts, "graphml")
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.graphml"]
    assert (tmp_path / "a.graphml").read_text() == "before"
    facts = Facts.from_rows({"a": [("x", "y")], "b": [()]})
    assert failed(lambda: write_facts(tmp_path / "new", facts, "graphml")) == (
        f"{tmp_path}/new/b.graphml: b has no arguments, so it makes no graph\n  help: write another format"
    )
    assert not (tmp_path / "new").exists()


def test_outputs_are_checked_before_the_run(tmp_path: Path) -> None:
    rules = load_text('@output("p"). @output("q"). p :- e(X, Y). q(X) :- e(X, Y).')
    check_outputs(rules, folder=tmp_path)
    check_outputs(rules, ["q"], folder=tmp_path, format="graphml")
    assert "p has no arguments" in failed(lambda: check_outputs(rules, folder=tmp_path, format="graphml"))
    assert failed(lambda: check_outputs(rules, folder=tmp_path, format="xlsx")) == (
        "--format: facts cannot be written as 'xlsx'\n"
        "  help: one of csv, tsv, parquet, json, sqlite, duckdb, edges, konect, mtx, gml, graphml, net, neo4j, "
        "rdf, bods"
    )
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "in" / "it"):
        words = f"{folder}/q.csv cannot be made: {tmp_path}/file is a file\n  help: name another folder"
        assert failed(lambda folder=folder: check_outputs(rules, ["q"], folder=folder)) == words
    check_outputs(rules, ["q"], folder=tmp_path / "a" / "new" / "folder")
    (tmp_path / "q.csv").mkdir()
    assert failed(lambda: check_outputs(rules, ["q"], folder=tmp_path)).startswith(
        f"{tmp_path}/q.csv is a folder"
    )


@pytest.mark.parametrize(
    "given",
    [
        str,
        lambda p: f"{p}?useHeaders=true",
        Path,
        SourceSpec,
        lambda p: ["other.csv", p.parent / "." / p.name],
    ],
)
def test_data_of_the_run_are_not_written_over(tmp_path: Path, given: Callable[[Path], object]) -> None:
    path = tmp_path / "e.csv"
    path.write_text("a,b\n")
    source = given(path)
    rules = load_text('@input("e"). @output("e"). q(X) :- e(X, Y).')
    facts = Facts.from_rows({"e": [("a", "b")]})
    refused = (
        f"{path}: the output e is not written over the file that d is read from\n"
        "  help: write to another file"
    )
    assert failed(lambda: check_outputs(rules, folder=tmp_path, read={"d": source})) == refused
    assert failed(lambda: write_facts(tmp_path, facts, "csv", rules, {"d": source})) == refused
    here = replace(rules, targets=(Bind("e", "csv", {}, str(path), HERE),))
    assert failed(lambda: write_targets(here, facts, {"d": source})) == refused
    assert path.read_text() == "a,b\n"


def test_other_tables_of_a_source_are_written(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    rules = load_text("r(X, Y) :- e(X, Y).")
    facts = Facts.from_rows({"r": [("a", "b")]})
    write_output(facts, "r", Target.parse(f"{path}?table=e"))
    bound = [replace(rules, targets=(Bind("r", "sqlite", {}, str(path), HERE, t),)) for t in "er"]
    for place in (f"{path}?table=e", f"{path}/e"):
        write_targets(bound[1], facts, {"e": place})
        assert "not written over the file that e is read from" in failed(
            partial(write_targets, bound[0], facts, {"e": place})
        )
    write_targets(bound[0], facts, {"e": ["x", "y"], "d": [("a", 1)], "c": "other.xyz"})


def test_a_bound_source_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.vada").write_text(
        '@input("e"). @bind("e","csv","","e.csv"). @output("e"). q(X) :- e(X,Y).'
    )
    (tmp_path / "e.csv").write_text("a,b\n")
    rules = load_file(tmp_path / "a.vada")
    facts = Facts.from_rows({"e": [("a", "b")]})
    assert "e is not written over the file that e is read from" in failed(
        lambda: write_facts(tmp_path, facts, "csv", rules)
    )


NAMES = ["r.csv", "r.tsv", "r.parquet", "r.json", "r.jsonl", "r.db?table=r", "r.duckdb?table=r"]


@pytest.mark.parametrize("name", NAMES)
def test_only_an_earlier_output_is_replaced_where_rules_read_it(tmp_path: Path, name: str) -> None:
    rules = load_text("r(X, Y) :- e(X, Y). r(X, Z) :- r(X, Y), e(Y, Z).")
    target = Target.parse(str(tmp_path / name))
    bind = Bind("r", target.format, {}, str(target.path), HERE, target.table or "")
    bound = replace(rules, targets=(bind,))
    facts = Facts.from_rows({"r": [("a", "b")]})
    for _ in range(2):
        write_targets(bound, facts)
    write_output(facts, "r", target, ("owner", "owned"))
    assert failed(lambda: write_targets(bound, facts)) == (
        f"{target.path}: this file with columns owner, owned is no output r(X, Y) of an earlier run, so it is not "
        'replaced\n  help: if the rules are to read it, say @input("r"); if nobody needs it, remove it first'
    )
    alone = load_text("r(X, Y) :- e(X, Y).")
    write_targets(replace(alone, targets=(bind,)), facts)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (
            lambda: Target.parse("a.xml?format=xlsx"),
            "a.xml: 'xlsx' is not a format kgreason reads\n  help: one of csv, tsv, ",
        ),
        (lambda: Target.within(Path("d"), "p", "xml"), "d: facts cannot be written as 'xml'"),
        (
            lambda: Target.parse("a.csv?delimeter=;"),
            "unknown option 'delimeter' of a csv output\n  help: did you mean delimiter? there are useHeaders",
        ),
        (
            lambda: Target.parse("a.parquet?x=1"),
            "unknown option 'x' of a parquet output\n  help: it has none",
        ),
        (lambda: Target.parse("a"), "the name does not show the format"),
    ],
)
def test_impossible_targets(attempt: Callable[[], Target], words: str) -> None:
    with pytest.raises(DataError) as caught:
        attempt()
    assert words in str(caught.value)
