"""Damaged files: the error names the file and the place, says what is wrong and what to do; the exit code is 2."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kgreason.base.errors import DataError
from kgreason.cli import app
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.sources import parse_file
from kgreason.language.check.program_checker import load_text
from kgreason.people.reading import read as read_people
from tests.conftest import CONTROL, OWNERSHIP
from tests.fuzz import run
from tests.fuzz.corpus import Case, cases
from tests.fuzz.mutation import LARGEST, mutate
from tests.fuzz.run import drawn, examine
from tests.needs import quick

TABLE = load_text('@input("t"). @output("t").')
WHOLE = load_text('@input("t"). @mapping("t", 0, "n", "int"). @output("t").')
EDGES = load_text('@edge("t"). @output("far"). far(X, Y) :- t(X, Y, W), W > 0.')
LONG = "9" * 4_400
XML = '<?xml version="1.0" encoding="{}"?>\n<{}></{}>'


def failed(source: Path | str, program: Any = TABLE) -> DataError:
    with pytest.raises(DataError) as caught:
        list(load_facts(program, {"t": [parse_file(str(source))]}).rows("t"))
    return caught.value


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, compression="none")
    return path


READ = """
import sys
from kgreason.base.errors import DataError
from kgreason.data.format_list import read_table
from kgreason.data.sources import parse_file
try:
    read_table(parse_file(sys.argv[1]))
except DataError as error:
    print(error.message)
"""
FORMATS = ["csv", "edges", "mtx", "gml", "graphml", "net", "json", "ttl", "bods.json", "xml"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("damage", ["cut", "flipped", "followed"])
def test_damaged_gzip(tmp_path: Path, format: str, damage: str) -> None:
    packed = gzip.compress("".join(f"# {n * n}\n" for n in range(5_000)).encode(), mtime=0)
    middle = len(packed) // 2
    data = {
        "cut": packed[:middle],
        "flipped": packed[:-8] + bytes(b ^ 0xFF for b in packed[-8:]),
        "followed": packed[:10] + b"\xff" * 30,
    }[damage]
    error = failed(written(tmp_path / f"own.{format}.gz", data))
    assert error.file == str(tmp_path / f"own.{format}.gz")
    assert "the gzip file is damaged: " in error.message
    assert error.hint == "fetch or pack it again"


@pytest.mark.parametrize("part", ["magic", "footer", "page", "cut", "compression"])
def test_damaged_parquet(tmp_path: Path, part: str) -> None:
    path = tmp_path / "own.parquet"
    rows = pa.table({"owner": ["Ann", "Ben"] * 200, "share": [0.5, 0.25] * 200})
    pq.write_table(rows, path, compression="snappy", use_dictionary=False)
    data = bytearray(path.read_bytes())
    start, end = {"magic": (-4, -1), "footer": (-200, -60), "page": (4, 30), "compression": (40, 90)}.get(
        part, (0, 0)
    )
    data[start:end] = b"\xff" * (end - start)
    error = failed(written(path, bytes(data[:50] if part == "cut" else data)))
    assert (error.file, error.message[:34]) == (str(path), "no Parquet file that can be read: ")
    assert error.hint is not None
    assert "is the file damaged? fetch it again" in error.hint


@pytest.mark.parametrize("where", ["a cell", "the name of a column"])
def test_parquet_whose_texts_are_no_text(tmp_path: Path, where: str) -> None:
    sound = parquet(tmp_path / "own.parquet", owner=["Müller", "Ben"], share=[0.5, 0.25]).read_bytes()
    old, new = ("Müller".encode(), b"M\xff\xffller") if where == "a cell" else (b"owner", b"\xff\xfener")
    assert old in sound
    error = failed(written(tmp_path / "own.parquet", sound.replace(old, new)))
    assert error.message.startswith("no Parquet file that can be read: ")


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("a.net", f"*Vertices {LONG}\n", 1, "expected *vertices and their number"),
        ("a.net", f"*Vertices 2\n{LONG} Ann\n", 2, "expected a vertex number from 1 to 2"),
        ("a.net", f"*Vertices 2\n*Arcs\n1 {LONG} 1\n", 3, "is no vertex number"),
        ("a.net", "*Vertices 5000000\n", 1, "the file declares 5,000,000 vertices"),
        (
            "a.mtx",
            f"%%MatrixMarket matrix coordinate real general\n{LONG} 1 1\n",
            2,
            "expected the size line",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n5000000 1 0\n",
            2,
            "the file declares 5,000,000",
        ),
        ("a.json", f'[\n{{"a": {LONG}}}]', 2, "no JSON: an integer of 4,400 digits is not read"),
        ("a.json", '[{"a": 1},\n{"a": "\\ud800"}]', 2, "no JSON: a text holds half of a surrogate pair"),
        ("a.json", '[{"a": 1},\n{"\\udfff": 1}]', 2, "no JSON: a text holds half of a surrogate pair"),
        ("a.json", "[1,\n" + "[" * 300 + "]" * 300 + "]", 2, "no JSON: nested too deeply"),
        (
            "a.bods.json",
            '[\n{"statementID": "\\ud800"}]',
            2,
            "no JSON: a text holds half of a surrogate pair",
        ),
        (
            "a.bods.json",
            f'[\n{{"statementID": {LONG}}}]',
            2,
            "no JSON: an integer of 4,400 digits is not read",
        ),
        (
            "a.graphml",
            XML.format("klingon", "graphml", "graphml"),
            1,
            "the encoding 'klingon', which is not read",
        ),
        (
            "a.graphml",
            XML.format("utf-7", "graphml", "graphml"),
            1,
            "the encoding 'utf-7', which is not read",
        ),
        ("a.graphml", XML.format("idna", "graphml", "graphml"), 1, "the encoding 'idna', which is not read"),
        (
            "a.xml",
            XML.format("klingon", "LEIData", "LEIData"),
            1,
            "the encoding 'klingon', which is not read",
        ),
        (
            "a.xml",
            XML.format("shift_jis", "LEIData", "LEIData"),
            1,
            "the encoding 'shift_jis', which is not read",
        ),
    ],
)
def test_damaged_texts(tmp_path: Path, name: str, text: str, line: int, said: str) -> None:
    error = failed(written(tmp_path / name, text))
    assert (error.file, error.line) == (str(tmp_path / name), line)
    assert said in error.message
    assert error.hint
    assert len(error.message) < 5_000


def test_encodings_of_xml_that_are_read(tmp_path: Path) -> None:
    text = XML.format("iso-8859-15", "graphml", "graphml").replace("></", "><graph><node id='€'/></graph></")
    graph = load_facts(
        load_text('@input("t"). @output("t"). q(X) :- t(X).'),
        {"t": [parse_file(str(written(tmp_path / "a.graphml", text.encode("iso-8859-15"))))]},
    )
    assert list(graph.rows("t")) == [("€",)]


def test_as_many_vertices_as_a_file_may_declare(tmp_path: Path) -> None:
    assert (
        load_graph(
            EDGES, {"t": [parse_file(str(written(tmp_path / "a.net", "*Vertices 999999\n*Arcs\n1 2 1\n")))]}
        ).n
        == 2
    )


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.net", f"*Vertices {10**18}\n", 1),
        ("a.mtx", f"%%MatrixMarket matrix coordinate real general\n{10**18} 1 0\n", 2),
    ],
)
def test_more_vertices_than_any_machine_holds(tmp_path: Path, name: str, text: str, line: int) -> None:
    error = failed(written(tmp_path / name, text))
    assert (error.file, error.line) == (str(tmp_path / name), line)
    assert "the file declares 1,000,000,000,000,000,000 vertices" in error.message


def test_letters_of_pajek_that_are_none(tmp_path: Path) -> None:
    rules = load_text('@input("t"). @output("t"). q(X) :- t(X).')
    file = written(tmp_path / "a.net", '*Vertices 2\n1 "a&#55296;"\n2 "b&#233;"\n*Arcs\n1 2\n')
    assert set(load_facts(rules, {"t": [parse_file(str(file))]}).rows("t")) == {("a&#55296;",), ("bé",)}


@pytest.mark.parametrize(
    ("cell", "said"),
    [(LONG, "999...' is not an integer of 64 bits"), ("0" * 5_000 + "7", None), (str(2**63), "64 bits")],
)
def test_long_integers_in_tables(tmp_path: Path, cell: str, said: str | None) -> None:
    file = written(tmp_path / "a.csv", f"n\n1\n{cell}\n")
    if said is None:
        assert list(load_facts(WHOLE, {"t": [parse_file(str(file))]}).rows("t")) == [(1,), (7,)]
    else:
        error = failed(file, WHOLE)
        assert (error.line, error.column) == (3, "n")
        assert said in error.message


def test_a_long_integer_among_others_is_remarked(tmp_path: Path) -> None:
    rows = "".join(f"{n}\n" for n in range(50))
    found = load_facts(TABLE, {"t": [parse_file(str(written(tmp_path / "a.csv", f"n\n{rows}{LONG}\n")))]})
    assert (LONG,) in set(found.rows("t"))


def test_sqlite_with_names_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE own (owner TEXT, company TEXT)")
        connection.execute("INSERT INTO own VALUES ('Ann', 'Adler')")
        connection.commit()
    sound = path.read_bytes()
    for old, new in (
        (b"owner TEXT", b"\xff\xfener TEXT"),
        (b"tableown", b"table\xff\xfe\xfd"),
        (b"Ann", b"\xff\xff\xff"),
    ):
        assert old in sound
        error = failed(written(path, sound.replace(old, new)))
        assert error.file == str(path)
        assert error.message.startswith("no SQLite database that can be read: ")
        assert error.hint


# --- dates and numbers that there are none of ---------------------------------------------------------------

NO_DATES = [
    ("DATE 'infinity'", "infinity"),
    ("DATE '-infinity'", "-infinity"),
    ("TIMESTAMP 'infinity'", "infinity"),
    ("TIMESTAMPTZ '-infinity'", "-infinity"),
    ("DATE '0044-03-15 (BC)'", "a date of about the year 44 BC"),
    ("TIMESTAMP '0044-03-15 (BC) 10:00:00'", "a date of about the year 44 BC"),
    ("DATE '30000-07-01'", "a date of about the year 30000"),
    ("TIMESTAMP_S '30000-07-01'", "a date of about the year 30000"),
    ("TIMESTAMP_MS '30000-07-01'", "a date of about the year 30000"),
]


def database(path: Path, value: str) -> Path:
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 1 AS n, {value} AS v")
    return path


@pytest.mark.parametrize(("value", "shown"), NO_DATES)
def test_dates_of_duckdb_that_are_none(tmp_path: Path, value: str, shown: str) -> None:
    error = failed(database(tmp_path / "t.duckdb", value))
    assert (error.message, error.column) == (f"row 1: {shown} is not a date from the year 1 to 9999", "v")
    assert error.hint is not None
    assert "CAST(day AS VARCHAR)" in error.hint
    listed = failed(database(tmp_path / "list.duckdb", f"[{value}]"))
    assert listed.message.startswith("row 1: [...] is not a list of values of the rules")


@pytest.mark.parametrize("value", ["1::VARINT", "'99999999999999999999999'::VARINT", "-(12::VARINT)"])
def test_numbers_of_duckdb_that_are_none(tmp_path: Path, value: str) -> None:
    error = failed(database(tmp_path / "t.duckdb", value))
    assert error.message == "row 1: a value of type bignum is not a value of the rules"
    assert error.hint is not None
    assert "CAST(n AS BIGINT)" in error.hint


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**31 - 1], pa.date32()),
        pa.array([2**62], pa.date64()),
        pa.array([2**62], pa.timestamp("s")),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([2**62], pa.timestamp("us", "Europe/Vienna")),
        pa.array([-(2**62)], pa.timestamp("us")).dictionary_encode(),
    ],
    ids=str,
)
def test_dates_of_arrow_that_are_none(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(DataError, match="is not a date from the year 1 to 9999"):
        load_facts(TABLE, {"t": pa.table({"a": ["x"], "v": column})})
    if column.type != pa.timestamp("s"):  # Parquet has no seconds
        assert "row 1: " in failed(parquet(tmp_path / "t.parquet", a=["x"], v=column)).message


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[2**62]], pa.list_(pa.timestamp("us"))),
        pa.array([[2**62]], pa.list_(pa.duration("s"))),
        pa.array([2**62], pa.duration("s")),
        pa.array([{"a": 2**62}], pa.struct([("a", pa.timestamp("us"))])),
    ],
    ids=str,
)
def test_other_values_that_python_has_not(tmp_path: Path, column: pa.Array) -> None:
    error = failed(parquet(tmp_path / "t.parquet", a=["x"], v=column))
    assert error.column == "v"
    assert "the column is of type" in error.message
    assert error.hint is not None
    assert "columns=" in error.hint


def test_a_column_of_bytes_that_is_empty(tmp_path: Path) -> None:
    empty = parquet(tmp_path / "t.parquet", a=["x"], v=pa.nulls(1, pa.binary()))
    assert "the cell is empty" in failed(empty).message
    assert len(list(load_facts(TABLE, {"t": [parse_file(f"{empty}?missing=null")]}).rows("t"))) == 1


def test_a_footer_that_ends_the_process_if_arrow_is_asked_for_it(tmp_path: Path) -> None:
    """Arrow aborts where the sizes of a column do not fit its levels."""
    path = parquet(tmp_path / "own.parquet", owner=["Ann", "Ben"], share=[1, 2])
    sound = path.read_bytes()
    place = sound.rindex(b"\x02\x18\x05share")  # its repetition: optional, and required then
    done = subprocess.run(
        [sys.executable, "-c", READ, str(written(path, sound[:place] + b"\x00" + sound[place + 1 :]))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout[:18]) == (0, "no Parquet file th")


def test_the_first_and_the_last_date(tmp_path: Path) -> None:
    ends = pa.array(["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"]).cast(pa.timestamp("us"))
    file = parquet(tmp_path / "t.parquet", n=[1, 2], v=ends)
    assert sorted(row[1].year for row in load_facts(TABLE, {"t": [parse_file(str(file))]}).rows("t")) == [
        1,
        9999,
    ]


@pytest.mark.parametrize(
    "value",
    [np.datetime64("20000-01-01"), np.datetime64("-0044-03-15"), "half \ud800", ["\udfff"]],
    ids=ascii,
)
def test_values_of_python_that_are_none(value: object) -> None:
    with pytest.raises(DataError):
        load_facts(TABLE, {"t": [("a", value), ("b", 1)]})
    with pytest.raises(DataError):
        load_facts(TABLE, {"t": [("a", value)]})


def test_lists_of_objects_in_a_wide_table(tmp_path: Path) -> None:
    row = '{"a": "x", "b": "y", "tags": ["p", 1], "c": 1}'
    file = written(tmp_path / "a.json", f"[{row}, {row}]")
    with pytest.raises(DataError, match="has 3 arguments in the rules, the file 4 columns"):
        load_graph(EDGES, {"t": [parse_file(str(file))]})


# --- the command line ---------------------------------------------------------------------------------------


def test_the_command_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, the file, and nothing written."""
    monkeypatch.chdir(tmp_path)
    Path("rules.vada").write_text(
        '@edge("own"). @output("far"). far(X, Y) :- own(X, Y, W), W > 0.', encoding="utf-8"
    )
    written(Path("own.csv.gz"), gzip.compress(b"a,b,0.5\n" * 1_000)[:-20])
    words = ["reason", "--rules", "rules.vada", "--data", "own=own.csv.gz", "--out", "out"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: own.csv.gz: the gzip file is damaged: ")
    assert "help: fetch or pack it again" in done.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize("size", ["9" * 400, "9" * 5_000, "99999999999999999999GB"], ids=len)
def test_sizes_of_memory_beyond_all_machines(size: str) -> None:
    done = CliRunner().invoke(app, ["reason", "--rules", "x.vada", "--memory-limit", size])
    assert done.exit_code == 2
    assert "is more than any machine has" in done.stderr


@pytest.mark.parametrize("k", [10**18, 10**400], ids=["18 digits", "400 digits"])
def test_a_k_beyond_all_graphs(tmp_path: Path, k: int) -> None:
    rows = "".join(f"{owner},{company},{share}\n" for owner, company, share in OWNERSHIP)
    rules, own = (
        written(tmp_path / "rules.vada", CONTROL),
        written(tmp_path / "own.csv", f"owner,company,share\n{rows}"),
    )
    words = ["risk", "--rules", str(rules), "--data", f"own={own}", "-k", str(k)]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0


# --- schemas and configuration ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (f"[[triples]]\nfiles = ['a.csv']\nskip = {LONG}\n", None, "Exceeds the limit"),
        ("[[triples]]\nfiles = " + "[" * 5_000, None, "nested too deeply"),
        ('[[triples]]\nfiles = ["a\\u0000.csv"]\n', None, "cannot be read: embedded null byte"),
        ('[[triples]]\nfiles = ["' + "a" * 300 + '.csv"]\n', None, "File name too long"),
    ],
    ids=["digits", "brackets", "zero byte", "long name"],
)
def test_schemas_of_people(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    file = written(tmp_path / "people.toml", text)
    with pytest.raises(DataError) as caught:
        read_people(file)
    assert caught.value.line == line
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[anonymize]\nk = {LONG}\n", "no TOML: Exceeds the limit"),
        ("[anonymize]\nk = " + "[" * 5_000, "no TOML: lists or tables are nested too deeply"),
    ],
    ids=["digits", "brackets"],
)
def test_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kgreason.toml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["check", "x.vada"])
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    "columns", ["[0:999999999999999999]", f"[0:{LONG}]", f"[{LONG}]"], ids=["range", "long", "one"]
)
def test_columns_that_no_file_has(tmp_path: Path, columns: str) -> None:
    file = written(tmp_path / "a.csv", "a,b\nx,y\n")
    assert "no file has as many columns" in failed(f"{file}?selectedColumns={columns}").message


@pytest.mark.parametrize("option", [f"skip={LONG}", f"weight={LONG}"], ids=["skip", "weight"])
def test_long_numbers_in_options(tmp_path: Path, option: str) -> None:
    assert "cannot be '999" in failed(f"{written(tmp_path / 'a.csv', 'a,b')}?{option}").message


def test_an_empty_table_in_percent(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "")
    assert list(load_facts(TABLE, {"t": [parse_file(f"{file}?percent=true")]}).rows("t")) == []


# --- mutations ----------------------------------------------------------------------------------------------


def examined(known: list[Case], inputs: range, folder: Path) -> list[str]:
    """What is wrong with reading mutated inputs."""
    found = (examine(*drawn(known, 1, number), folder / "input", number) for number in inputs)
    return [f"{finding.number} {finding.kind}: {finding.text}" for finding in found if finding is not None]


def test_mutated_inputs(tmp_path: Path) -> None:
    """A few; `python -m tests.fuzz` tries as many as there is time for, in `.ci/run` for a minute."""
    assert examined(cases(releases=False), range(60), tmp_path) == []


def test_valid_files_are_read(tmp_path: Path) -> None:
    """A fuzzer whose files are refused before they are mutated tests little."""
    read = set()
    for case in cases(releases=False):
        if case.mutated == "rules.vada":
            continue  # other tests run them

        def noted(folder: Path, case: Case = case) -> None:
            case.read(folder)
            read.add(id(case))

        data = case.files[case.mutated]
        assert examine(replace(case, read=noted), data, tmp_path / "input") is None, case.name
    assert len(read) > 25


def test_what_the_fuzzer_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(read: Callable[[Path], object]) -> str:
        finding = examine(Case("a", {"a.csv": b"x"}, read), b"y", tmp_path / "input", 7)
        assert finding is not None
        return finding.kind

    def nameless(folder: Path) -> None:
        raise DataError("elsewhere", "it is wrong")

    def large(folder: Path) -> None:
        np.ones(10_000_000)

    def slow(folder: Path) -> None:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    assert found(lambda folder: int("x")) == "ValueError in test_damaged_files.py:<lambda>"
    assert found(nameless) == "no file: DataError a"
    monkeypatch.setattr(run, "MEMORY", 50_000_000)
    assert found(large) == "memory: a"
    monkeypatch.setattr(run, "SECONDS", 0.01)
    assert found(slow) == "time: a"
    assert all(len(mutate(b"a\n" * 400_000, Random(n), binary=False)) <= LARGEST for n in range(12))
    assert drawn(cases(releases=False), 3, 11)[1] == drawn(cases(releases=False), 3, 11)[1]


@pytest.mark.parametrize("name", ["own.csv.gz", "own.parquet", "own.db"])
def test_init_of_damaged_files(tmp_path: Path, name: str) -> None:
    files = {
        "own.csv.gz": gzip.compress("".join(f"{n},{n * n},0.5\n" for n in range(9_000)).encode(), mtime=0)[
            :2_000
        ],
        "own.parquet": b"PAR1" + b"\xff" * 100 + b"PAR1",
        "own.db": b"SQLite format 3\0" + b"\xff" * 100,
    }
    file = written(tmp_path / name, files[name])
    done = CliRunner().invoke(
        app, ["init", str(file), "--out", str(tmp_path / "out.vada")], catch_exceptions=False
    )
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {file}: ")


@pytest.mark.parametrize(
    "value", quick(3, ["7::VARINT", "INTERVAL 300000 YEARS", *(value for value, _ in NO_DATES)])
)
def test_init_leaves_out_values_that_are_none(tmp_path: Path, value: str) -> None:
    table, rules = tmp_path / "t.duckdb", str(tmp_path / "o.vada")
    with closing(duckdb.connect(str(table))) as connection:
        rows = "VALUES ('a', 'b', 0.6), ('b', 'c', 0.7), ('a', 'd', 0.9)"
        connection.execute(
            f"CREATE TABLE own AS SELECT *, {value} AS v FROM ({rows}) o(owner, company, share)"
        )

    def code(*words: str) -> int:
        return CliRunner().invoke(app, words, catch_exceptions=False).exit_code

    for named in ("relation=v", "columns=owner,company,v", "columns=owner,v"):
        assert code("init", f"{table}?{named}", "--out", rules, "--force") in (0, 2)
    assert code("init", str(table), "--out", rules, "--force") == 0
    assert code("reason", "--rules", rules) == 0


def test_options_that_are_no_text(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "a,b\nx,y\n")
    for option in ("prefix=\udcff:,b:", "columns=\udcff,b", "\udcff=1"):
        assert "holds bytes that are no text" in failed(f"{file}?{option}").message or option.startswith(
            "\udcff"
        )


def test_times_of_day(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for name, said in (("last", "23:59:59.999999"), ("next", "24:00:00")):
        with closing(duckdb.connect(str(tmp_path / f"{name}.duckdb"))) as database:
            database.execute(
                f"CREATE TABLE t AS SELECT 'x' a, TIME '00:00:00' v UNION SELECT 'y', TIME '{said}'"
            )
    last = load_facts(TABLE, {"t": [parse_file(str(tmp_path / "last.duckdb"))]}).rows("t")
    assert sorted(last) == [("x", "00:00:00.000000"), ("y", "23:59:59.999999")]
    error = failed(tmp_path / "next.duckdb")
    assert error.column == "v"
    assert "86,400,000,000 us is not a time of day before 24:00:00" in error.message


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([1, 2**31 - 1], pa.date32()), "row 2: infinity is not a date from the year 1 to 9999"),
        (pa.array([None, 2**62], pa.timestamp("us")), "row 2: a date of about the year 148108 is not a date"),
        (pa.array([None, [1, 2]], pa.list_(pa.int64())), "row 2: [...] is not one value"),
        (pa.array([{"a": 1}, None]), "row 1: {...} is not a value of the rules"),
        (pa.array([b"\xff", b"a"]), "row 1: b'\\xff' is not a value of the rules"),
    ],
    ids=lambda column: str(getattr(column, "type", "")),
)
def test_columns_of_people_without_a_text(tmp_path: Path, column: pa.Array, said: str) -> None:
    parquet(tmp_path / "p.parquet", id=["x", "y"], city=["a", "b"], v=column)
    text = '[[tables]]\nfiles = ["p.parquet"]\nid = "id"\n[kinds]\ncategorical = ["city"]\n'
    with pytest.raises(DataError) as caught:
        read_people(written(tmp_path / "people.toml", f'{text}others = "categorical"\n'))
    assert (caught.value.file, caught.value.column) == (str(tmp_path / "p.parquet"), "v")
    assert caught.value.message.startswith(said)
    assert caught.value.hint
    for ignored in ('ignore = ["v"]', 'others = "ignore"'):
        people = read_people(written(tmp_path / "people.toml", f"{text}{ignored}\n"))
        assert list(people.attributes) == ["city"]
