"""`kgreason convert`: between any two formats, with the types that both have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgreason.cli import app
from kgreason.data.fact_loading import load_facts
from kgreason.data.sources import parse_file
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Value

Row = tuple[Value, ...]
ROWS: list[Row] = [("1", "2", 0.5), ("2", "3", 1e-300), ("3", "1", 0.25)]
FILES = {
    "csv": "own.csv",
    "tsv": "own.tsv",
    "parquet": "own.parquet",
    "json": "own.jsonl",
    "sqlite": "own.sqlite",
    "duckdb": "own.duckdb",
    "edges": "own.edges",
    "konect": "out.own",
    "mtx": "own.mtx",
    "gml": "own.gml",
    "graphml": "own.graphml",
    "net": "own.net",
    "neo4j": "neo.csv",
}


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["convert", *words])


def rows(path: Path | str, arity: int = 3, strings: bool = True) -> list[Row]:
    variables = ", ".join(f"X{i}" for i in range(arity))
    kinds = '@edge("p").' if strings and arity == 3 else ""
    program = load_text(f"{kinds} q(X0) :- p({variables}).")
    numbered = False if kinds else None  # vertices are strings, also of formats that have integers
    return list(load_facts(program, {"p": [parse_file(str(path))]}, numbered=numbered).rows("p"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def there_and_back(one: str, others: Iterable[str]) -> None:
    Path("first.edges").write_text("1 2 0.5\n2 3 1e-300\n3 1 0.25\n")
    done = run("first.edges", FILES[one], "--to", one)
    assert done.stdout == f"first.edges: 3 rows -> {FILES[one]}: 3 rows\n", done.output
    for other in others:
        back = "out.b" if other == "konect" else f"b-{FILES[other]}"
        done = run(FILES[one], back, "--from", one, "--to", other)
        assert done.exit_code == 0, (one, other, done.output)
        assert rows(f"{back}?format={other}") == ROWS, (one, other)


@pytest.mark.parametrize("one", FILES)
def test_every_format(here: Path, one: str) -> None:
    there_and_back(one, ["json"])


@pytest.mark.slow
@pytest.mark.parametrize("one", FILES)
def test_every_format_to_every_other(here: Path, one: str) -> None:
    there_and_back(one, FILES.keys() - {one})


def test_rdf(here: Path) -> None:
    (here / "a.csv").write_text("a,b\nx y,z\n")
    assert run("a.csv", "own.nt").exit_code == 0
    assert rows("own.nt?predicate=own&base=urn:kgreason:", 2) == [("x y", "z")]
    assert run("own.nt?predicate=own&base=urn:kgreason:", "b.ttl").exit_code == 0


@pytest.mark.parametrize(
    ("one", "other"), list(itertools.permutations(["a.parquet", "a.jsonl", "a.sqlite", "a.duckdb"], 2))
)
def test_types_stay(here: Path, one: str, other: str) -> None:
    (here / "in.jsonl").write_text(
        '{"id": "007", "n": 7, "x": 1.0, "ok": true}\n{"id": "1", "n": -1, "x": 0.5, "ok": false}\n'
    )
    assert run("in.jsonl", one).exit_code == 0
    done = run(one, f"b-{other}")
    assert done.exit_code == 0, done.output
    found = rows(f"b-{other}", 4)
    assert found == [("007", 7, 1.0, True), ("1", -1, 0.5, False)]
    assert [type(v) for v in found[0]] == [str, int, float, bool]


def test_names_of_columns_stay(here: Path) -> None:
    (here / "in.csv").write_text("owner,company,share,code\na,b,0.5,007\n")
    assert run("in.csv", "b.jsonl").exit_code == 0
    assert (here / "b.jsonl").read_text() == '{"owner": "a", "company": "b", "share": 0.5, "code": "007"}\n'
    assert run("in.csv", "g.gml").exit_code == 0
    assert 'weight 0.5 code "007"' in (here / "g.gml").read_text()
    assert run("g.gml?columns=source,target,code", "c.csv").exit_code == 0
    assert (here / "c.csv").read_text() == '"source","target","code"\n"a","b","007"\n'
    assert run("in.csv?columns=company,owner", "d.csv").exit_code == 0
    assert (here / "d.csv").read_text() == '"company","owner"\n"b","a"\n'


def test_vertices_without_edges(here: Path) -> None:
    (here / "a.net").write_text('*vertices 3\n1 "A"\n2 "B"\n3 "C"\n*edges\n1 2 0.5\n')
    for name in ("b.gml", "b.graphml", "b.net", "b.csv?format=neo4j", "b.mtx?labels=b.txt"):
        done = run("a.net", name)
        path = name.partition("?")[0]
        assert done.stdout == f"a.net: 1 row -> {path}: 2 rows and 1 vertex without edges\n", done.output
    assert '3 "C"' in (here / "b.net").read_text()
    assert '"C","Vertex"' in (here / "b-nodes.csv").read_text()
    assert (here / "b.txt").read_text() == "A\nB\nC\n"
    assert [r for (r,) in rows("b.graphml", 1)] == ["A", "B", "C"]
    done = run("a.net", "b.edges")
    assert done.stdout == "a.net: 1 row -> b.edges: 2 rows\n"
    assert (
        "1 vertex is on no edge and left out: edges holds edges only, gml, graphml, mtx, neo4j, net"
        in done.stderr
    )
    done = run("a.net?table=vertices&columns=label", "v.csv")
    assert (here / "v.csv").read_text() == '"label"\n"A"\n"B"\n"C"\n'


def test_nothing_is_replaced_unasked(here: Path) -> None:
    (here / "a.csv").write_text("1,2,0.5\n")
    (here / "b.csv").write_text("before")
    done = run("a.csv", "b.csv")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: b.csv: the file is there already\n  help: --force replaces it\n",
    )
    assert (here / "b.csv").read_text() == "before"
    assert run("a.csv", "b.csv", "--force").exit_code == 0
    assert (here / "b.csv").read_text() != "before"
    (here / "n.txt").write_text("before")
    assert "n.txt: the file is there already" in run("a.csv", "c.mtx?labels=n.txt").stderr
    assert not (here / "c.mtx").exists()
    done = run("a.csv", "a.csv", "--force")
    assert (done.exit_code, (here / "a.csv").read_text()) == (2, "1,2,0.5\n")
    assert "is not written over the file that a is read from" in done.stderr
    assert run("a.csv", "d.db?table=one").exit_code == 0
    assert run("a.csv", "d.db?table=two").exit_code == 0
    assert "d.db: the table one is there already" in run("a.csv", "d.db?table=one").stderr
    assert run("d.db?table=one", "e.csv").exit_code == 0


def test_a_failure_leaves_nothing(here: Path) -> None:
    (here / "a.csv").write_text("a,b\nx,\n")
    assert "a.csv:2: column 'b': the cell is empty" in run("a.csv", "b.gml").stderr
    assert run("a.csv?missing=skip", "b.mtx").exit_code == 0  # of no rows
    (here / "c.csv").write_text("x,y\n")
    assert "no names such as 'x'" in run("c.csv?useHeaders=false", "d.mtx").stderr
    assert not (here / "d.mtx").exists()
    (here / "e.edges").write_text("")
    assert "e.edges: the file has neither rows nor names of columns" in run("e.edges", "f.csv").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.csv", "b.xyz"), "b.xyz: the name does not show the format\n  help: say format="),
        (("a.xyz", "b.csv"), "a.xyz: the name does not show the format"),
        (("none.csv", "b.csv"), "none.csv: there is no such file"),
        (("a.csv", "b.gml?names=x"), "unknown option 'names' of a gml output"),
        (("a.csv?delim=;", "b.gml"), "unknown option 'delim'"),
        (("a.csv", "b.csv", "--name", "Own it"), "--name: 'Own it' is no name of a predicate"),
        (
            ("a.csv", "b.csv", "--to", "xlsx"),
            "invalid value for '--to': 'xlsx' is not one of 'csv', 'tsv', 'parquet', 'json'",
        ),
    ],
)
def test_mistakes_are_told(here: Path, words: tuple[str, ...], message: str) -> None:
    (here / "a.csv").write_text("1,2,0.5\n")
    done = run(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", "").split()) or message in done.stderr
    assert sorted(p.name for p in here.iterdir()) == ["a.csv"]


def test_names_of_relations(here: Path) -> None:
    (here / "a.csv").write_text("a,b,0.5\n")
    assert run("a.csv", "Share register.csv", "--to", "neo4j").exit_code == 0
    assert '"share_register"' in (here / "Share register.csv").read_text()
    assert run("a.csv", "b.nt?base=http://x/", "--name", "owns").exit_code == 0
    assert "<http://x/owns>" in (here / "b.nt").read_text()


def test_formats_of_the_commands_are_those_of_the_writers() -> None:
    from typing import get_args

    from kgreason.cli.options import Format
    from kgreason.data.format_list import FUNCTIONS
    from kgreason.data.source_options import FORMATS
    from kgreason.data.targets import FORMATS as WRITTEN
    from kgreason.language.vocabulary import SERVERS, SOURCES, TARGETS

    writable = {format for format, functions in FUNCTIONS.items() if functions.write}
    assert {*get_args(Format)} == {*WRITTEN} == writable - SERVERS
    assert {*FUNCTIONS} == {*FORMATS} >= writable
    assert {*FUNCTIONS} == {*SOURCES} - {"pajek"}
    assert writable == {*TARGETS} - {"pajek"}


@pytest.mark.parametrize("one", FILES)
def test_a_name_that_ends_as_that_of_gzip(here: Path, one: str) -> None:
    """What is written is packed, tells neither name nor time, and is read again; formats that cannot be are refused."""
    Path("first.edges").write_text("1 2 0.5\n2 3 1e-300\n3 1 0.25\n")
    file = here / f"{FILES[one]}.gz"
    done = run("first.edges", file.name, "--to", one)
    if one in ("parquet", "sqlite", "duckdb", "neo4j"):
        assert done.exit_code == 2
        assert f"{file.name}: a file of the format {one} is not packed with gzip" in done.output
        assert f"write {FILES[one]}" in done.output
        assert not file.exists()
        return
    assert done.exit_code == 0, done.output
    data = file.read_bytes()
    assert data[:4] == b"\x1f\x8b\x08\x00"  # no name
    assert data[4:8] == bytes(4)  # no time
    assert rows(f"{file.name}?format={one}") == ROWS
    assert run("first.edges", file.name, "--to", one, "--force").exit_code == 0
    assert file.read_bytes() == data
    assert {p.name for p in here.iterdir()} == {"first.edges", file.name}


def test_a_damaged_file_is_replaced(here: Path) -> None:
    Path("first.edges").write_text("1 2 0.5\n")
    assert run("first.edges", "own.parquet").exit_code == 0
    data = Path("own.parquet").read_bytes()
    Path("own.parquet").write_bytes(data[:4] + bytes(len(data) - 12) + data[-8:])
    assert run("first.edges", "own.parquet", "--force").exit_code == 0
    assert Path("own.parquet").read_bytes() == data
