"""Readers, loaders and the writer, on small files with the oddities of real ones, and on the real ones."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError, Span
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.formats.delimited import write_csv
from kgreason.data.source_options import read_options
from kgreason.data.sources import SourceSpec, parse_source
from kgreason.data.text_conversion import numbers, plain
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.engine.relations.rows import first_rows
from kgreason.language.check.checked_program import Bind, CheckedProgram
from kgreason.language.check.program_checker import load_file, load_text
from kgreason.reasoning.api import reason
from tests.examples import inputs
from tests.folders import REAL

OWN = '@edge("own"). @node("company"). control(X,Y) :- own(X,Y,W), W > 0.5, company(X). @output("control").'
EDGE = '@edge("e"). r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). @output("r").'
FREE = "q(X) :- p(X,Y,Z)."


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...

    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make


def facts(rules: str | CheckedProgram, predicate: str, path: Path, **options: str) -> Facts:
    program = load_text(rules) if isinstance(rules, str) else rules
    return load_facts(program, {predicate: [SourceSpec(path, None, options)]})


def rows(rules: str, predicate: str, path: Path, **options: str) -> list[tuple[object, ...]]:
    return list(facts(rules, predicate, path, **options).rows(predicate))


def fails(rules: str, predicate: str, path: Path, **options: str) -> str:
    with pytest.raises(DataError) as caught:
        facts(rules, predicate, path, **options)
    return str(caught.value).replace(str(path), path.name)


# sources and options


def test_source_text() -> None:
    predicate, source = parse_source("own=dir/a.csv?delimiter=;&missing=skip")
    assert (predicate, source.path, source.options) == (
        "own",
        Path("dir/a.csv"),
        {"delimiter": ";", "missing": "skip"},
    )
    assert parse_source("own=what?.csv")[1].path == Path("what?.csv")


@pytest.mark.parametrize("text", ["own", "=a.csv", "Own=a.csv", "own="])
def test_bad_source_text(text: str) -> None:
    with pytest.raises(DataError, match="expected PRED=FILE"):
        parse_source(text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"usHeaders": "true"}, "did you mean useHeaders?"),
        ({"missing": "ignore"}, "option missing cannot be 'ignore'"),
        ({"delimiter": "ab"}, "not one character"),
        ({"encoding": "klingon"}, "unknown encoding"),
        ({"skip": "-1"}, "option skip cannot be '-1'"),
        ({"prefix": "u"}, "prefix=user:,movie:"),
    ],
)
def test_bad_options(options: dict[str, str], words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_options("a.csv", options)
    assert words in str(caught.value)


def test_quoted_option_values_as_in_bind() -> None:
    assert read_options("a.csv", {"delimiter": "';'", "useHeaders": "'TRUE'"}).delimiter == ";"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv.gz", "csv"),
        ("a.TSV", "tsv"),
        ("a.edges", "edges"),
        ("a.txt", "edges"),
        ("a.mtx.gz", "mtx"),
        ("out.moreno_blogs", "konect"),
        ("a.net", "net"),
        ("a.graphml", "graphml"),
        ("a.parquet", "parquet"),
    ],
)
def test_format_by_name(name: str, kind: str) -> None:
    assert SourceSpec(Path(name)).kind() == kind


def test_format_unknown() -> None:
    with pytest.raises(DataError, match="say format="):
        SourceSpec(Path("a.xyz")).kind()
    with pytest.raises(DataError, match="not a format"):
        SourceSpec(Path("a.csv"), "excel").kind()


# CSV


def test_crlf_bom_no_last_newline_percent(write: Callable[..., Path]) -> None:
    path = write("a.csv.gz", "\ufeffowner,company,percent\r\nH1,A2M,8.15%\r\nH2,A2M,24.50 %".encode())
    assert rows(OWN, "own", path) == [("H1", "A2M", 0.0815), ("H2", "A2M", 0.245)]


def test_percent_option_leaves_marked_shares_alone(write: Callable[..., Path]) -> None:
    path = write("a.csv", "a,b,58.76\nb,c,8.15%\nc,d,1e2\n")
    assert rows(OWN, "own", path, percent="true") == [("a", "b", 0.5876), ("b", "c", 0.0815), ("c", "d", 1.0)]


def test_quoted_commas_quotes_and_line_ends(write: Callable[..., Path]) -> None:
    path = write("a.csv", 'a,b,w\n"Amélie, ""le"" film","x\ny",0.5\nb,c,oops\n')
    text = fails(OWN, "own", path)
    assert text.startswith("a.csv:4: column 'w': 'oops' is not a number")
    path = write("b.csv", 'a,b,w\n"Amélie, ""le"" film","x\ny",0.5\n')
    assert rows(OWN, "own", path) == [('Amélie, "le" film', "x\ny", 0.5)]


def test_kinds_are_inferred_by_column(write: Callable[..., Path]) -> None:
    path = write("a.csv", "1,1.5,007\n-2,3,12\n")
    table = facts(FREE, "p", path).tables["p"]
    assert table.kinds == (Kind.INT, Kind.DOUBLE, Kind.STRING)
    assert rows(FREE, "p", path) == [(1, 1.5, "007"), (-2, 3.0, "12")]


def test_integers_in_percent_or_scaled_are_doubles(write: Callable[..., Path]) -> None:
    path = write("a.csv", "1,2,50\n2,3,25\n")
    assert rows(FREE, "p", path, percent="true") == [(1, 2, 0.5), (2, 3, 0.25)]
    assert rows(FREE, "p", path, scale="abs") == [(1, 2, 1.0), (2, 3, 0.5)]


def test_booleans_only_if_mapped(write: Callable[..., Path]) -> None:
    path = write("a.csv", "k,yes,z\nk2,true,1\nk3,FALSE,2\n")
    assert rows(FREE, "p", path, useHeaders="true")[0] == ("k2", "true", 1)
    mapped = FREE + '@mapping("p",1,"yes","boolean").'
    assert rows(mapped, "p", path, useHeaders="true")[0] == ("k2", True, 1)
    bad = write("b.csv", "k,yes,z\nk2,oui,1\n")
    assert "'oui' is not true or false" in fails(mapped, "p", bad, useHeaders="true")


def test_integers_of_64_bits(write: Callable[..., Path]) -> None:
    mapped = FREE + '@mapping("p",0,"a","int").'
    good = write("a.csv", "a,b,c\n9223372036854775807,x,y\n")
    assert rows(mapped, "p", good)[0][0] == 2**63 - 1
    bad = write("b.csv", "a,b,c\n1,x,y\n9223372036854775808,x,y\n")
    assert "b.csv:3: column 'a': '9223372036854775808' is not an integer of 64 bits" in fails(
        mapped, "p", bad
    )


@pytest.mark.parametrize("text", ["nan", "inf", "0x10", "1,5", "", "--1", "1 2", "1e400"])
def test_no_number(write: Callable[..., Path], text: str) -> None:
    path = write("a.csv", f's,t,w\na,b,"{text}"\n')
    assert fails(OWN, "own", path, useHeaders="true").startswith("a.csv:2: column 'w'")


def test_decimal_comma_is_explained(write: Callable[..., Path]) -> None:
    path = write("a.csv", "s;t;w\na;b;0,5\n")
    text = fails(OWN, "own", path, delimiter=";", useHeaders="true")
    assert "help: if the comma is the decimal point, say decimal=, (in @bind: decimal=',')" in text
    shares = write("b.csv", "s;t;w\na;b;41,27%\n")
    assert "say decimal=," in fails(OWN, "own", shares, delimiter=";")


def test_decimal_comma(write: Callable[..., Path]) -> None:
    path = write("a.csv", "s;t;w\na;b;41,27%\nb;c;0,5\nc;d;,25\n")
    options = {"delimiter": ";", "decimal": ","}
    assert rows(OWN, "own", path, **options) == [("a", "b", 0.4127), ("b", "c", 0.5), ("c", "d", 0.25)]
    plain = write("b.csv", "1;1.234,5;4,4,4\n2;7;x\n")
    assert rows(FREE, "p", plain, **options) == [(1, 1234.5, "4,4,4"), (2, 7.0, "x")]
    percentages = write("c.csv", "a;b;41,27\nb;c;8,15%\n")
    assert rows(OWN, "own", percentages, percent="true", delimiter=";", decimal="comma") == [
        ("a", "b", 0.4127),
        ("b", "c", 0.0815),
    ]
    points = write("d.csv", "a;b;0.600\n")
    assert "'0.600' is not a number with a decimal comma, as in 0,25" in fails(OWN, "own", points, **options)
    grouped = write("d.csv", "-1.234,5;1.234.567;00.600\n")
    assert rows(FREE, "p", grouped, **options) == [(-1234.5, 1234567.0, "00.600")]
    points = write("d.csv", "a;b;0.5\n")
    assert "'0.5' is not a number with a decimal comma, as in 0,25" in fails(OWN, "own", points, **options)
    with pytest.raises(DataError, match=r"option decimal cannot be ''\n  help: write decimal=, or"):
        read_options("a.csv", {"decimal": ""})


def test_two_chosen_columns_are_edges_without_weights(write: Callable[..., Path]) -> None:
    path = write("a.csv", "share,by,of\n0.4,a,b\n")
    notes = Notes()
    spec = SourceSpec(path, None, {"columns": "by,of"})
    assert list(load_facts(load_text(OWN), {"own": [spec]}, notes).rows("own")) == [("a", "b", 1.0)]
    assert notes.said == [f"{path}: no weights, so each is 1"]
    assert rows(OWN, "own", path, columns="of,by", weight="0.3") == [("b", "a", 0.3)]
    assert rows(OWN, "own", path, columns="of,by", percent="true") == [("b", "a", 1.0)]
    graph = load_graph(load_text(OWN), {"own": [spec]})
    assert graph.relations["own"].columns == ("by", "of", "weight")


@pytest.mark.parametrize(("mark", "written"), [(";", ";"), ("\t", "tab"), ("|", "|")])
def test_wrong_delimiter_and_named_columns(write: Callable[..., Path], mark: str, written: str) -> None:
    path = write("a.csv", "s,t,w\na,b,0.5\n".replace(",", mark))
    for text in (fails(OWN, "own", path, columns="s,t,w"), fails(OWN, "own", path)):
        assert f"help: is the delimiter {mark!r}? (delimiter={written})" in text
    mapped = OWN + '@mapping("own",0,"s","string").'
    assert f"(delimiter={written})" in fails(mapped, "own", path, useHeaders="true")


def test_empty_cells(write: Callable[..., Path]) -> None:
    path = write("a.tsv", "id\torigine\tvaleur\tcible\r\n1\tA\t50.00%\tB\r\n2\tA\t\tC\r\n3\tB\t \tC")
    columns = "origine,cible,valeur"
    text = fails(OWN, "own", path, columns=columns)
    assert text.startswith("a.tsv:3: column 'valeur': the cell is empty (2 such rows)")
    assert "missing=skip" in text
    ends = write("ends.csv", "s,t,w\na,b,1\na,,1\n,b,\na,b,\n")
    assert fails(OWN, "own", ends).startswith("ends.csv:3: column 't': the cell is empty (3 such rows)")
    notes = Notes()
    spec = SourceSpec(path, None, {"columns": columns, "missing": "skip"})
    loaded = load_facts(load_text(OWN), {"own": [spec]}, notes)
    assert list(loaded.rows("own")) == [("A", "B", 0.5)]
    assert any("2 rows with an empty cell skipped" in note for note in notes.said)
    assert rows("q(X) :- p(X,Y).", "p", write("b.csv", "x,\ny,z\n"), missing="keep") == [
        ("x", ""),
        ("y", "z"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source,target\na,b\nb,c\n", [("a", "b"), ("b", "c")]),
        ("a,b\nb,c\n", [("a", "b"), ("b", "c")]),
        ("1,2\n2,3\n", [("1", "2"), ("2", "3")]),
        ("owner,owned\n", []),
        ("alice,bob\n", []),
        ("1,bob\n", [("1", "bob")]),
        ("a b!,bob\n", [("a b!", "bob")]),
        ("", []),
        ("\n", []),
    ],
)
def test_header_is_recognized(write: Callable[..., Path], text: str, expected: list[tuple[str, str]]) -> None:
    assert rows(EDGE, "e", write("a.csv", text)) == expected


def test_header_in_doubt_is_said(write: Callable[..., Path]) -> None:
    notes = Notes()
    load_facts(load_text(EDGE), {"e": write("a.csv", "a,b\nc,d\n")}, notes)
    assert any("useHeaders=false" in note for note in notes.said)


@pytest.mark.parametrize(
    ("first", "data", "told"),
    [
        ("A,B,", True, True),
        ("A,B,n/a", True, True),
        ("A,B,-", True, True),
        ("A,B,NULL", True, True),
        ("A,B,\\N", True, True),
        ("A,B,?", True, True),
        ("A,B,w", False, True),
        ("a,b,w", False, False),
        ("a,,w", False, True),
    ],
)
def test_first_row_without_a_number(write: Callable[..., Path], first: str, data: bool, told: bool) -> None:
    """A row is not lost because it lacks its number; a name above numbers is one, with a note if it is in doubt."""
    path, notes = write("a.csv", f"{first}\nB,C,0.7\n,C,0.7\n"), Notes()
    read = load_facts(load_text(FREE), {"p": [SourceSpec(path, None, {"missing": "keep"})]}, notes)
    assert read.count("p") == 2 + data
    advice = (
        "data: say useHeaders=true if it names columns"
        if data
        else "names: say useHeaders=false if it is data"
    )
    note = f"{path}: the first line ({first}) was read as {advice}"
    assert [n for n in notes.said if "first line" in n] == [note] * told


@pytest.mark.parametrize(
    ("first", "told"), [("A,B,0.6", True), ("A,B,2024", True), ("A,B,5,5 %", True), ("A,B,w", False)]
)
def test_numbers_among_names_are_said(write: Callable[..., Path], first: str, told: bool) -> None:
    path, notes = write("a.csv", f"{first.replace(',', ';')}\nB;C;0.7\n".replace("5;5", "5,5")), Notes()
    options = {"useHeaders": "true", "delimiter": ";"}
    load_facts(load_text(FREE), {"p": [SourceSpec(path, None, options)]}, notes)
    assert any("was read as names: say useHeaders=false if it is data" in n for n in notes.said) is told
    notes = Notes()
    load_facts(load_text(FREE), {"p": [SourceSpec(path, None, options | {"columns": "A,B,3"})]}, notes)
    assert notes.said == []


@pytest.mark.parametrize(
    ("header", "options", "name"),
    [
        ("Siemens,Bosch,0.5", "&useHeaders=true", "'Bosch' is a vertex"),
        ("Siemens, Leica ,share", "&useHeaders=true", "'Leica' is a vertex"),
        ("Siemens,Agfa,50%", "&useHeaders=true", "'50%' is a number"),
        ("Siemens,Bosch,n", "", "'Bosch' is a vertex"),
    ],
)
def test_a_first_line_of_data_does_not_name_columns(
    write: Callable[..., Path], header: str, options: str, name: str
) -> None:
    """A release would publish these names, and they are an edge that is missing."""
    path = write("a.csv", f"# made by hand\n{header}\nBosch,Zeiss,0.6\nZeiss,Leica,0.7\n")
    source = f"{path}?skip=1{options}"
    with pytest.raises(DataError) as caught:
        load_graph(load_text(OWN), {"own": source})
    assert str(caught.value) == (
        f"{path}:2: this line was read as the names of the columns, but {name}\n"
        "  help: say useHeaders=false if the line is data; if it is not, rename the column"
    )
    assert reason(load_text(OWN), {"own": source}).rows("control")


def test_columns_of_tables_without_lines_are_not_named_as_vertices() -> None:
    with pytest.raises(
        DataError, match=r"the column 'Bosch' has the name of a vertex\n  help: rename the column"
    ):
        load_graph(load_text(OWN), {"own": {"by": ["Bosch"], "Bosch": ["Zeiss"], "share": [0.6]}})


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("Anna,Bert\nA,B\n", "", ("source", "target")),
        ("Anna,Bert\nA,B\n", "?useHeaders=true", ("Anna", "Bert")),
        ("x,followed\nA,B\n", "", ("x", "followed")),
    ],
)
def test_names_in_doubt_are_not_those_of_a_graph(
    write: Callable[..., Path], text: str, options: str, columns: tuple[str, ...]
) -> None:
    program = load_text('@edge("e"). r(X,Followed) :- e(X,Followed).')
    graph = load_graph(program, {"e": f"{write('a.csv', text)}{options}"})
    assert (graph.m, graph.relations["e"].columns) == (1, columns)


@pytest.mark.parametrize(
    ("rules", "file", "first", "told"),
    [
        ("q(X) :- person(X).", "x.csv", "Person", False),
        ("q(P) :- key_person(P, X).", "x.csv", "person,company", False),
        ("q(Who) :- e(Who, X).", "x.csv", "who,whom", False),
        ("q(X) :- shock(X).", "adler.csv", "Adler", True),
        ('q(X) :- e(X, Y). @mapping("e", 1, "Whom", "string").', "x.csv", "Who,Whom", False),
        ("q(X) :- e(X, Y).", "x.csv", "x,y", True),
        ("q(X) :- e(X, Y).", "x.csv", "anna,bob", True),
    ],
)
def test_expected_names_are_no_doubt(
    write: Callable[..., Path], rules: str, file: str, first: str, told: bool
) -> None:
    notes, program = Notes(), load_text(rules)
    predicate = next(p for p in program.arities if p != "q")
    load_facts(program, {predicate: write(file, f"{first}\n{'z,k' if ',' in first else 'z'}\n")}, notes)
    assert bool(notes.said) is told


def test_names_with_blanks_around_are_said(write: Callable[..., Path]) -> None:
    content = "o,c,s\nA , B,0.6\nA , B,0.7\n C,D,0.8\n"
    note = (
        "a.csv: column 'o': 2 names begin or end with a blank, as 'A ' does, and stay as written; "
        "if 'A' is meant, take the blanks out of the file"
    )
    assert told(write, content)[:2] == [
        note,
        "a.csv: column 'c': 1 name begins or ends with a blank, as ' B' does, and stays as written; "
        "if 'B' is meant, take the blanks out of the file",
    ]
    assert told(write, "o,c,s\nA B,C, 0.6 \n") == []


def test_percentages_beside_numbers_are_said(write: Callable[..., Path]) -> None:
    content = "o;c;s\nA;B;5,5 %\nB;C;7\nC;D;8\n"
    options = {"delimiter": ";", "decimal": ","}
    assert told(write, content, **options) == [
        "a.csv: column 's' mixes 1 number with % and 2 without: the former are divided by 100, the latter stay; "
        "percent=true divides all"
    ]
    assert told(write, content, **options, percent="true") == []
    assert told(write, content.replace("7", "7%").replace("8", "8 %"), **options) == []
    first = "s,o,c\n5%,A,B\n7,B,C\n"
    assert '@mapping("p", 0, "s", "percent") divides all' in told(write, first)[0]
    mapped = FREE + '@mapping("p", 0, "s", "percent").'
    assert rows(mapped, "p", write("b.csv", first)) == [(0.05, "A", "B"), (0.07, "B", "C")]


def test_numbered_rows_have_names(write: Callable[..., Path]) -> None:
    assert rows(EDGE, "e", write("a.csv", ",name\n0,Anna\n1,Bob\n")) == [("0", "Anna"), ("1", "Bob")]


def test_empty_cell_in_the_first_line(write: Callable[..., Path]) -> None:
    assert fails(OWN, "own", write("a.csv", "A,B,\nB,C,0.7\n")) == (
        "a.csv:1: column 'column3': the cell is empty (1 such row)\n"
        "  help: if the first line holds names, say useHeaders=true; missing=skip leaves such rows out and counts them"
    )


def test_columns_by_name_and_number(write: Callable[..., Path]) -> None:
    path = write("a.csv", "7188,1,10,1407470400\n430,1,-5,1376539200\n")
    assert rows(OWN, "own", path, columns="2,1,3") == [("1", "7188", 10.0), ("1", "430", -5.0)]
    assert "the predicate own has 3 arguments in the rules, the file 4 columns (column1, " in fails(
        OWN, "own", path
    )
    assert "columns=1,2,3" in fails(OWN, "own", path)
    named = write("b.csv", "x,y,share\na,b,0.5\n")
    text = fails(OWN, "own", named, columns="x,y,shares")
    assert "there is no column 'shares'" in text
    assert "did you mean 'share'?" in text
    assert "4 columns chosen, but own has 3" in fails(OWN, "own", named, columns="x,y,share,x")
    assert "2 columns chosen, but p has 3" in fails(FREE, "p", named, columns="x,y")


def test_ragged_rows(write: Callable[..., Path]) -> None:
    path = write("a.csv", "s,t,w\na,b,0.5\n\na,b\n")
    assert fails(OWN, "own", path) == (
        "a.csv:4: 2 fields where the first line has 3\n"
        "  help: look for a ',' that is missing in this line, or one inside quotation marks"
    )
    long = write("c.tsv", "a\tb\t1\na\tb\tc\t1\n")
    assert fails(OWN, "own", long) == (
        "c.tsv:2: 4 fields where the first line has 3\n"
        '  help: look for a tab too many in this line; a field that holds one needs quotation marks (")'
    )
    assert fails(OWN, "own", long, quote="none").endswith("look for a tab too many in this line")
    semicolons = write("b.csv", "s;t;w\na;b;0.5\n")
    assert "is the delimiter ';'" in fails(OWN, "own", semicolons)


def test_encoding_only_when_asked(write: Callable[..., Path]) -> None:
    path = write("a.csv", "s,t,w\na,b,0.5\ncaf\xe9,b,0.5\n".encode("latin-1"))
    text = fails(OWN, "own", path)
    assert text.startswith("a.csv:3: byte 0xE9 is not UTF-8 text")
    assert "encoding=latin-1" in text
    assert rows(OWN, "own", path, encoding="latin-1")[1] == ("café", "b", 0.5)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    assert fails(OWN, "own", tmp_path / "no.csv") == (
        "no.csv: there is no such file\n  help: the folder holds no files"
    )
    whole = gzip.compress(b"a b\n" * 1000)
    (tmp_path / "cut.edges.gz").write_bytes(whole[: len(whole) // 2])
    assert "the gzip file is damaged" in fails(EDGE, "e", tmp_path / "cut.edges.gz")


def test_rows_repeated_count_once(write: Callable[..., Path]) -> None:
    notes = Notes()
    load_graph(load_text(OWN), {"own": write("a.csv", "a,b,0.5\na,b,0.5\na,b,0.4\n")}, notes)
    assert "own: 1 repeated row counted once" in notes.said


@pytest.mark.parametrize("text", ["", "source,target,weight\n"])
def test_no_rows_are_said(write: Callable[..., Path], text: str) -> None:
    notes = Notes()
    path = write("a.csv", text)
    assert load_facts(load_text(OWN), {"own": path}, notes).count("own") == 0
    assert f"{path}: no rows" in notes.said
    assert load_facts(load_text(OWN), {"own": []}, notes).count("own") == 0
    assert "<own>: no rows" in notes.said


def test_parallel_edges_are_said(write: Callable[..., Path]) -> None:
    text = "own: 1 pair has several weights; msum(W, <Y>) counts the greatest of a contributor"
    for load in (load_facts, load_graph):
        notes = Notes()
        load(load_text(OWN), {"own": write("a.csv", "a,b,0.5\na,b,0.5\na,b,0.4\na,b,0.3\nb,a,0.5\n")}, notes)
        assert text in notes.said
        notes = Notes()
        load(load_text(OWN), {"own": write("b.csv", "a,b,0.5\na,b,0.5\na,c,0.5\n")}, notes)
        assert notes.said == ["own: 1 repeated row counted once"]


# edge lists, KONECT, MatrixMarket, Pajek, GML, GraphML, Parquet


@pytest.mark.parametrize(
    "text",
    [
        "14 1\n30 1\n",
        "% asym unweighted\n% 2 3 3\n14 1 \n30 1 \n",
        "# from to\r\n14\t1\r\n30\t1",
        "14,1\n\n30 , 1\n",
        "14   1\n  30\t 1\n",
    ],
)
def test_edge_lists(write: Callable[..., Path], text: str) -> None:
    if "\t 1" in text:
        text = text.replace("\t", " ")
    assert rows(EDGE, "e", write("a.edges", text)) == [("14", "1"), ("30", "1")]


def test_edge_list_with_a_count_on_top(write: Callable[..., Path]) -> None:
    path = write("train2id.txt.gz", "2\r\n0 1 7\r\n2 3 8\r\n")
    text = fails(EDGE, "e", path)
    assert text.startswith("train2id.txt.gz:2: 3 fields where the lines before have 1")
    assert "skip=1" in text
    assert rows(EDGE, "e", path, skip="1", columns="1,2") == [("0", "1"), ("2", "3")]


def test_edge_list_weights(write: Callable[..., Path]) -> None:
    path = write("a.txt", "a b 0.5\nb c .25\n")
    assert rows(OWN, "own", path) == [("a", "b", 0.5), ("b", "c", 0.25)]
    unweighted = write("b.txt", "a b\n")
    assert rows(OWN, "own", unweighted) == [("a", "b", 1.0)]
    assert rows(OWN, "own", unweighted, weight="0.3") == [("a", "b", 0.3)]
    header = write("c.txt", "from to w\na b 0.5\n")
    assert "useHeaders=true" in fails(OWN, "own", header)
    assert rows(OWN, "own", header, useHeaders="true") == [("a", "b", 0.5)]


def test_konect_forms(write: Callable[..., Path]) -> None:
    assert rows(EDGE, "e", write("out.x", "% sym unweighted\n1 2\n2 2\n")) == [
        ("1", "2"),
        ("2", "2"),
        ("2", "1"),
    ]
    bipartite = write("out.y", "% bip weighted\n1 1 3\n")
    assert "prefix=left:,right:" in fails(EDGE, "e", bipartite)
    assert rows(EDGE, "e", bipartite, prefix="u,m") == [("u1", "m1")]
    assert "option prefix is for source and target, and n takes one column\n  help: leave" in fails(
        "q(X) :- n(X).", "n", write("n.csv", "id\na\n"), prefix="u,m"
    )


MTX = "%%MatrixMarket matrix coordinate real symmetric\n% comment\n3 3 4\n" + (
    "1 1 1474.8\n2 1 -9.017\n3 2 -.00593\n3 3 2E+1\n"
)


def test_symmetric_matrix(write: Callable[..., Path]) -> None:
    path = write("a.mtx", MTX.rstrip("\n"))
    expected = [("2", "1", -9.017), ("3", "2", -0.00593), ("1", "2", -9.017), ("2", "3", -0.00593)]
    assert rows(OWN, "own", path) == expected
    assert rows(OWN, "own", path, symmetric="false") == expected[:2]
    assert len(rows(OWN, "own", path, diagonal="keep")) == 6
    assert rows(OWN, "own", path, scale="abs")[0] == ("2", "1", 1.0)
    with pytest.raises(DataError, match=r"a\.mtx:5: column 'weight': the weight -9.017 is outside \[0,1\]"):
        load_graph(load_text(OWN), {"own": path})


def test_other_matrices(write: Callable[..., Path]) -> None:
    head = "%%MatrixMarket matrix coordinate "
    general = write("g.mtx", head + "pattern general\n2 2 2\n1 2\n2 2\n")
    assert rows(EDGE, "e", general) == [("1", "2"), ("2", "2")]
    assert rows(EDGE, "e", general, loops="drop") == [("1", "2")]
    skew = write("s.mtx", head + "integer skew-symmetric\n2 2 1\n2 1 -3\n")
    assert rows(OWN, "own", skew) == [("2", "1", -3.0), ("1", "2", 3.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("%%MatrixMarket matrix array real general\n", "no MatrixMarket coordinate file"),
        ("%%MatrixMarket matrix coordinate complex general\n", "a complex general matrix"),
        (
            "%%MatrixMarket matrix coordinate real general\n% c\n",
            "(rows, columns, entries), found ''",
        ),
        ("%%MatrixMarket matrix coordinate real general\n2 2\n", "a.mtx:2: expected the size line"),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
            "1 entries, but the size line says 2",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
            "a.mtx:3: '3' is no column index",
        ),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 0 1\n", "'0' is no column index"),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n",
            "2 fields in an entry of a real matrix",
        ),
    ],
)
def test_bad_matrices(write: Callable[..., Path], text: str, words: str) -> None:
    assert words in fails(EDGE, "e", write("a.mtx", text))


NET = '*vertices 4\r\n  1 "Caf\xe9"\r\n   2 "Twin"\r\n   3 "Twin"\r\n*arcs\r\n1   2\r\n 1 4\r\n*edges\r\n2 3'


def test_pajek(write: Callable[..., Path]) -> None:
    path = write("a.net", NET.encode("latin-1"))
    assert rows(EDGE, "e", path) == [("1", "2"), ("1", "4"), ("2", "3"), ("3", "2")]
    names = "q(X) :- name(X,Y)."
    assert "encoding=latin-1" in fails(names, "name", path, table="vertices")
    found = rows(names, "name", path, table="vertices", encoding="latin-1", missing="keep")
    assert found == [("1", "Café"), ("2", "Twin"), ("3", "Twin"), ("4", "")]
    assert "'9' is no vertex number" in fails(EDGE, "e", write("b.net", "*Vertices 2\n*Arcs\n1 9\n"))
    assert "a section *matrix is not read" in fails(EDGE, "e", write("c.net", "*Vertices 1\n*Matrix\n1\n"))


def test_node_predicate_reads_declared_vertices(write: Callable[..., Path]) -> None:
    path = write("a.net", NET.encode("latin-1").replace(b" 1 4\r\n", b""))
    graph = load_graph(load_text(OWN), {"own": path, "company": path})
    assert (graph.n, graph.m) == (4, 3)
    notes = Notes()
    assert load_graph(load_text(OWN), {"own": path}, notes).n == 3
    assert any("1 declared vertex is on no edge" in note for note in notes.said)


GML = """Creator "someone [else]"
graph [
  # a comment
  directed %d
  node [ id 1 label "1 (sensei)" graphics [ x 1.0 ] ]
  node [ id 2 ]
  edge [ source 1 target 2 %s ]
]"""


def test_gml(write: Callable[..., Path]) -> None:
    assert rows(OWN, "own", write("a.gml", GML % (1, "value 0.5"))) == [("1", "2", 0.5)]
    both = rows(EDGE, "e", write("b.gml", GML % (0, "")))
    assert both == [("1", "2"), ("2", "1")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("graph [ node [ id 1 ] node [ id 1 ] ]", "vertex '1' is declared again"),
        ("graph [ node [ id 1 ]\n edge [ source 1 target 7 ] ]", "a.gml:2: the edge ends at '7'"),
        ("graph [\n edge [ source 1 ] ]", "a.gml:2: an edge without target"),
        ("graph [ node [ label 3 ] ]", "a node without id"),
        ("graph [ node [ id 1 ]", "not closed"),
        ("graph [ ] ]", "a closing bracket without"),
        ("graph [ node id ]", "a.gml:1: no GML: expected a key with its value or list, found 'node id ]"),
        ("{", "no GML"),
    ],
)
def test_bad_gml(write: Callable[..., Path], text: str, words: str) -> None:
    assert words in fails(EDGE, "e", write("a.gml", text))


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="weight" attr.type="double"><default>0.5</default></key>
  <graph edgedefault="directed">
    <node id="a"/><node id="b"/><node id="c"/>
    <edge source="a" target="b"/>
    <edge source="b" target="c" directed="false"><data key="d0">0.25</data></edge>
  </graph>
</graphml>"""


def test_graphml(write: Callable[..., Path]) -> None:
    path = write("a.graphml.gz", GRAPHML)
    assert rows(OWN, "own", path) == [("a", "b", 0.5), ("b", "c", 0.25), ("c", "b", 0.25)]
    assert "b.graphml:9: no well-formed XML" in fails(OWN, "own", write("b.graphml", GRAPHML[:-3]))


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"s": [1, 2], "t": ["x", "y"], "w": [0.5, None]}), path)
    assert "row 2: the cell is empty" in fails(OWN, "own", path)
    assert rows(OWN, "own", path, missing="skip") == [("1", "x", 0.5)]
    (tmp_path / "b.parquet").write_bytes(b"no")
    assert "no Parquet file" in fails(OWN, "own", tmp_path / "b.parquet")


# programs


def bound(folder: Path, text: str) -> CheckedProgram:
    path = folder / "rules.vada"
    path.write_text(text, encoding="utf-8")
    return load_file(path)


def test_bind_mapping_and_replacement(write: Callable[..., Path], tmp_path: Path) -> None:
    write("a.csv", "who;whom;share\na;b;55.5\n")
    write("b.csv", "who;whom;share\nb;c;10\n")
    program = bound(
        tmp_path,
        """@edge("own"). @input("own"). @bind("own","csv delimiter=';' useHeaders=true","","a.csv").
        @mapping("own",0,"whom","string"). @mapping("own",1,"who","string").
        @mapping("own",2,"share","percent").
        control(X,Y) :- own(X,Y,W), W > 0.5.""",
    )
    assert list(load_facts(program, {}).rows("own")) == [("b", "a", 0.555)]
    replaced = load_facts(program, {"own": [SourceSpec(tmp_path / "b.csv")]})
    assert list(replaced.rows("own")) == [("c", "b", 0.1)]
    both = load_facts(program, {"own": [SourceSpec(tmp_path / "a.csv"), SourceSpec(tmp_path / "b.csv")]})
    assert both.count("own") == 2
    other = load_facts(program, {"own": [SourceSpec(write("c.edges", "x y 40\n"))]})
    assert list(other.rows("own")) == [("x", "y", 0.4)]


@pytest.mark.parametrize(
    ("bind", "words"),
    [
        (
            '"csv", "", "owm.csv"',
            "owm.csv: there is no such file (bound in rules.vada:2)\n  help: did you mean own.csv?",
        ),
        (
            '"parquet", "", "twos.csv"',
            "twos.csv: there is no such file (bound in rules.vada:2)\n  help: did you mean two.csv?",
        ),
        (
            '"sqlite", "shares.db", "own"',
            "shares.db: there is no such file (bound in rules.vada:2)\n"
            "  help: the folder holds own.csv, rules.vada, two.csv",
        ),
        (
            '"csv columns=a,b,c", "", "own.csv"',
            "own.csv: there is no column 'a' (bound in rules.vada:2)\n"
            "  help: the file has the columns by, of, share; columns=a,b takes others",
        ),
        (
            '"csv", "", "two.csv"',
            "two.csv: the predicate p has 3 arguments in the rules, the file 2 columns (by, of) "
            "(bound in rules.vada:2)\n  help: p takes one column for each of its 3 arguments",
        ),
        (
            '"csv", "", "own.csv"). @mapping("p", 2, "shares", "double"',
            "own.csv: there is no column 'shares', which @mapping names in rules.vada:2 (bound in rules.vada:2)\n"
            "  help: did you mean 'share'? the file has the columns by, of, share; name one of them in the @mapping, "
            "or columns=a,b takes others",
        ),
    ],
)
def test_errors_of_a_whole_file_name_the_bind(
    write: Callable[..., Path], tmp_path: Path, bind: str, words: str
) -> None:
    write("own.csv", "by,of,share\na,b,0.5\n")
    write("two.csv", "by,of\na,b\n")
    program = bound(tmp_path, f'q(X) :- p(X, Y, Z).\n@bind("p", {bind}).')
    with pytest.raises(DataError) as caught:
        load_facts(program, {})
    assert str(caught.value).replace(f"{tmp_path}/", "") == words


@pytest.mark.parametrize("name", ["own.xlsx", "own.ods"])
def test_spreadsheets_are_not_read(tmp_path: Path, name: str) -> None:
    assert fails(OWN, "own", tmp_path / name) == (
        f"{name}: spreadsheets are not read\n"
        "  help: save the sheet as CSV (in Excel: Save As, CSV UTF-8) and give that file"
    )


def test_sources_are_joined_to_one_kind(write: Callable[..., Path]) -> None:
    program = load_text("q(X) :- p(X).")
    first, second, third = write("a.csv", "1\n2\n"), write("b.csv", "2.5\n"), write("c.csv", "x1\nx1\n")
    assert list(load_facts(program, {"p": [first, second]}).rows("p")) == [(1.0,), (2.0,), (2.5,)]
    assert list(load_facts(program, {"p": [first, third]}).rows("p")) == [("1",), ("2",), ("x1",)]


def test_nodes_hold_for_all_ends(write: Callable[..., Path]) -> None:
    program = load_text(OWN + ' own("z","y",0.2). company("lone").')
    loaded = load_facts(
        program, {"own": write("a.csv", "a,b,0.5\n"), "company": write("c.csv", "company\nq\na\n")}
    )
    assert set(loaded.rows("company")) == {("q",), ("a",), ("b",), ("z",), ("y",)}
    assert list(loaded.rows("own")) == [("a", "b", 0.5)]


def test_graph_takes_facts_of_the_rules(write: Callable[..., Path]) -> None:
    program = load_text(OWN + ' own("z","y",0.2). company("lone").')
    path, nodes = write("a.csv", "share,by,of\n0.5,a,b\n"), write("c.csv", "company\nq\na\n")
    spec = SourceSpec(path, None, {"columns": "by,of,share"})
    graph = load_graph(program, {"own": [spec], "company": [nodes]})
    assert graph.labels.tolist() == ["q", "a", "lone", "b", "z", "y"]
    assert graph.relations["own"].columns == ("by", "of", "share")
    assert graph.relations["own"].weight is not None
    assert graph.relations["own"].weight.tolist() == [0.5, 0.2]


def test_weights_outside_the_unit_interval(write: Callable[..., Path]) -> None:
    program = load_text(OWN)
    with pytest.raises(
        DataError, match=r"a\.csv:2: .*the weight 58.98 is outside \[0,1\] \(1 such row\)"
    ) as caught:
        load_graph(program, {"own": write("a.csv", "s,t,w\na,b,58.98\n")})
    assert caught.value.hint is not None
    assert "percent=true" in caught.value.hint
    with pytest.raises(DataError) as caught:
        load_graph(program, {"own": write("b.csv", "s,t,w\na,b,-3\n")})
    assert caught.value.hint is not None
    assert "scale=abs" in caught.value.hint
    with pytest.raises(DataError, match=r":1:\d+: the weight 7 of own is outside"):
        load_graph(load_text('own("a","b",7.0). ' + OWN), {})


def test_reasoning_on_weights_outside_the_unit_interval(write: Callable[..., Path]) -> None:
    path = write("a.csv", "s,t,w\na,b,0.5\nb,c,60\nc,d,58.98\n")
    notes = Notes()
    load_facts(load_text(OWN), {"own": path}, notes)
    assert notes.said == [
        f"own: 2 of 3 weights lie outside [0,1], the first, 60, in {path}:3; reasoning takes them as they are, "
        "anonymizing refuses them (percent=true divides by 100)"
    ]
    shares = OWN + '@incoming_sum("own", 1.0).'
    assert fails(shares, "own", path) == (
        "a.csv:3: column 'w': the weight 60 is outside [0,1] (2 such rows)\n  help: percent=true divides by 100"
    )
    assert fails(shares, "own", write("d.csv", "s,t,w\na,b,2835\nb,c,12\n"), percent="true") == (
        "d.csv:2: column 'w': the weight 2835 percent is outside [0,1] (1 such row)\n  help: percentages lie between "
        "0 and 100: correct these rows, or say scale=abs (or scale=minmax) in place of percent"
    )
    rounded = write("c.csv", "s,t,w\na,b,100.01%\n")
    assert "help: shares are at most 1: correct these rows" in fails(shares, "own", rounded)
    negative = write("b.csv", "s,t,w\na,b,-3\n")
    assert fails(shares, "own", negative).endswith("scale=abs (or scale=minmax) brings them to [0,1]")
    with pytest.raises(DataError, match=r":1:\d+: the weight 7 of own is outside"):
        load_facts(load_text('own("a","b",7.0). ' + shares), {})
    notes = Notes()
    load_facts(load_text('own("a","b",7.0). ' + OWN), {}, notes)
    assert notes.said[0].startswith("own: 1 of 1 weights lies outside [0,1], the first, 7, in <text>:1:1;")


def test_incoming_sums_above_the_bound_are_noted(write: Callable[..., Path]) -> None:
    notes = Notes()
    program = load_text(OWN + '@incoming_sum("own", 1.0).')
    for load in (load_graph, load_facts):
        notes = Notes()
        load(program, {"own": write("a.csv", "a,c,0.7\nb,c,0.6\n")}, notes)
        assert notes.said == [
            "warning: own: the incoming weights of 1 vertex sum to more than 1, most at 'c': 1.3; reasoning takes "
            "them as they are, anonymizing draws new ones within the bound: 2 of 2 edges get less weight, 23% less "
            "or more in the mean, and answers that depend on it are lost, which U counts"
        ]
    notes = Notes()
    stated = load_text(program.text + ' own("a","c",0.7). own("b","c",0.5).')
    load_facts(stated, {"own": write("b.csv", "a,c,0.7\n")}, notes)
    assert "most at 'c': 1.2;" in notes.said[0]


def test_no_data() -> None:
    with pytest.raises(DataError, match=r"the input predicate 'own' has no data\n.*--data own=FILE"):
        load_graph(load_text(OWN), {})
    with pytest.raises(DataError, match="did you mean 'own'"):
        load_graph(load_text(OWN), {"owns": [SourceSpec(Path("a.csv"))]})
    with pytest.raises(DataError, match="name no ground edges"):
        load_graph(load_text(FREE), {})


def test_an_edge_predicate_needs_data() -> None:
    program = load_text(OWN)
    with pytest.raises(DataError, match="the input predicate 'own' has no data"):
        load_facts(program, {})
    assert load_facts(program, {"own": []}).count("own") == 0


def test_a_diagonal_left_out_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 0.5\n2 1 0.5\n2 2 0.5\n")
    notes = Notes()
    graph = load_graph(load_text(OWN), {"own": [file]}, notes)
    assert graph.m == 2
    assert f"{file}: 2 entries of the diagonal left out; diagonal=keep keeps them" in notes.said
    assert f"{file}: 1 undirected edge read both ways" in notes.said
    file.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.5\n2 1 0.5\n")
    load_graph(load_text(OWN), {"own": [file]}, notes)
    assert f"{file}: 1 entry of the diagonal left out; diagonal=keep keeps them" in notes.said


def test_tables_in_memory() -> None:
    program = load_text(OWN + " q(X) :- person(X).")
    assert load_facts(program, {"own": [("a", "b", 0.5)]}).count("own") == 1
    assert list(load_facts(program, {"own": [], "person": ["ann", "bob"]}).rows("person")) == [
        ("ann",),
        ("bob",),
    ]
    with pytest.raises(DataError, match="<own>: row 2: 2 values where the first row has 3"):
        load_facts(program, {"own": [("a", "b", 0.5), ("a", "b")]})
    with pytest.raises(DataError, match="<own>: column 'column3': row 1: 'x' is not a number") as caught:
        load_facts(program, {"own": [("a", "b", "x")]})
    assert caught.value.hint == "if the first row holds names, leave it out"


DECLARED = ['@input("own"). @output("own").', '@output("own").', '@edge("own"). @output("own").']


@pytest.mark.parametrize("rules", DECLARED)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s,t,w\na,b,0.5\n", [("a", "b", 0.5)]),
        ("source,target\na,b\n", [("a", "b")]),
        ("source,target,weight\n", []),
        ("", []),
    ],
)
def test_declared_predicates_take_the_arity_of_their_file(
    write: Callable[..., Path], rules: str, text: str, expected: list[tuple[object, ...]]
) -> None:
    path = write("a.csv", text)
    assert reason(rules, {"own": path}).rows("own") == expected
    bind = f'@bind("own","csv","{path.parent.as_posix()}","a.csv").'
    assert reason(bind + rules, allow_files=True).rows("own") == expected
    chosen = reason(rules, {"own": f"{path}?columns=2,1&useHeaders=true"}) if expected else None
    assert chosen is None or chosen.rows("own")[0][:2] == ("b", "a")


def test_declared_vertices_and_edges(write: Callable[..., Path]) -> None:
    stated = load_text('@edge("own"). @node("n"). own("a","b",0.7).')
    assert load_facts(stated, {}).count("n") == 2
    assert reason(stated).predicates == ()
    assert reason(stated, outputs=["n", "own"]).rows("n") == [("a",), ("b",)]
    graph = load_graph(stated, {"n": ["z"]})
    assert (graph.labels.tolist(), graph.m) == (["z", "a", "b"], 1)
    bare = load_text('@edge("own"). @node("n").')
    unweighted = load_graph(bare, {"own": write("a.csv", "source,target\na,b\n")})
    assert unweighted.relations["own"].weight is None
    weighted = load_graph(bare, {"own": write("b.csv", "a,b,0.5\n")})
    assert weighted.relations["own"].weight is not None
    with pytest.raises(DataError, match="did you mean 'own'"):
        load_facts(bare, {"owm": []})


# numbers and rows against plain twins


@given(st.decimals(min_value=-1000, max_value=1000, places=4, allow_nan=False))
def test_shares_are_the_nearest_double(value: object) -> None:
    import pyarrow as pa

    text = format(value, "f")
    expected = float(f"{text}e-2")
    assert numbers(plain(pa.array([f"{text}%"]))).tolist() == [expected]
    assert numbers(plain(pa.array([text])), percent=True).tolist() == [expected]
    assert numbers(plain(pa.array([value])), percent=True).tolist() == [expected]
    assert numbers(plain(pa.array([float(text)])), percent=True).tolist() == [expected]
    assert numbers(plain(pa.array([text]))).tolist() == [float(text)]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1))
def test_first_rows(table: list[tuple[int, int, int]]) -> None:
    seen: set[tuple[int, int, int]] = set()
    expected = [row not in seen and not seen.add(row) for row in table]  # type: ignore[func-returns-value]
    assert first_rows([np.array(c) for c in zip(*table, strict=True)]).tolist() == expected


# writing

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@settings(max_examples=inputs(50))
@given(st.lists(st.tuples(CELL, CELL, st.floats(-1e6, 1e6)), max_size=6), st.tuples(CELL, CELL, CELL))
def test_written_tables_are_read_by_the_csv_module(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str, float]], names: tuple[str, str, str]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    columns = [np.array([r[0] for r in table], dtype=object), np.array([r[1] for r in table], dtype=object)]
    write_csv(path, names, [*columns, np.array([r[2] for r in table], dtype=np.float64)])
    with path.open(newline="", encoding="utf-8") as stream:
        header, *found = list(csv.reader(stream))
    assert tuple(header) == names
    assert [(a, b) for a, b, _ in found] == [(a, b) for a, b, _ in table]
    for (_, _, text), (_, _, value) in zip(found, table, strict=True):
        assert abs(float(text) - value) <= 5.1e-7
        assert len(text.partition(".")[2]) <= 6
        assert "e" not in text


def test_written_form(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    weights = np.array([0.5, 1.0, 0.0, 1e-6, 0.1234567, -20.0])
    write_csv(path, ("a, b", "w"), (np.array(["x", 'q"', "é", " p", "", "z\n"], dtype=object), weights))
    text = '"a, b",w\nx,0.5\n"q""",1\né,0\n" p",0.000001\n,0.123457\n"z\n",-20\n'
    assert path.read_bytes() == text.encode()
    write_csv(path, ("v",), (np.array(["", "a"], dtype=object),))
    assert path.read_text() == 'v\n""\na\n'
    write_csv(path, ("i", "b"), (np.array([3]), np.array([True])))
    assert path.read_text() == "i,b\n3,true\n"
    with pytest.raises(ValueError, match="differ in length"):
        write_csv(path, ("v",), (np.array([1]), np.array([2])))


# real files

MEDIA = ("organisation-media", "organisation-organisation", "personne-organisation", "personne-media")


@pytest.mark.skipif(not REAL.is_dir(), reason="the public data sets are not beside this checkout")
@pytest.mark.parametrize(
    ("rules", "sources", "n", "m"),
    [
        (
            OWN,
            [
                f"own=ownership/medias_francais/{t}.tsv?columns=origine,cible,valeur&missing=skip"
                for t in MEDIA
            ],
            315,
            287,
        ),
        (OWN, ["own=ownership/asx200_shares.csv.gz"], 1529, 3603),
        (OWN, ["own=ownership/sgx_top20_shares.csv.gz?percent=true"], 6464, 12954),
        (OWN, ["own=ownership/eva.net.gz"], 7253, 6726),
        (OWN, ["own=ownership/eva.net.gz", "company=ownership/eva.net.gz"], 8497, 6726),
        (EDGE, ["e=ownership/us_companies_ownership.csv.gz?columns=source,target"], 7172, 6677),
        (EDGE, ["e=weighted/infect-dublin.edges"], 410, 2765),
        (OWN, ["own=weighted/1138_bus.mtx?scale=abs"], 1138, 2916),
        (OWN, ["own=weighted/econ-mahindas.mtx?scale=abs"], 1258, 7682),
        (EDGE, ["e=weighted/econ-mahindas.mtx?loops=drop"], 1258, 7576),
        (OWN, ["own=weighted/soc-sign-bitcoinalpha.csv.gz?columns=1,2,3&scale=minmax"], 3783, 24186),
        (
            OWN,
            ["own=weighted/ml-latest-small/ratings.csv.gz?columns=1,2,3&scale=abs&prefix=u,m"],
            10334,
            100836,
        ),
        (EDGE, ["e=classic/karate.gml"], 34, 156),
        (EDGE, ["e=classic/karate.gml?symmetric=false"], 34, 78),
        (EDGE, ["e=classic/out.moreno_blogs_blogs"], 1224, 19025),
        (EDGE, ["e=social/cit-DBLP.edges.gz"], 12591, 49743),
        (EDGE, ["e=social/soc-gplus.edges.gz"], 23628, 39242),
        (EDGE, ["e=social/email-Eu-core.txt"], 1005, 25571),
        (EDGE, ["e=social/email-Eu-core-temporal.txt.gz?columns=1,2"], 986, 24929),
    ],
)
def test_real_files(rules: str, sources: list[str], n: int, m: int) -> None:
    data: dict[str, list[SourceSpec]] = {}
    for text in sources:
        predicate, source = parse_source(text)
        data.setdefault(predicate, []).append(SourceSpec(REAL / source.path, None, source.options))
    graph = load_graph(load_text(rules), data)
    assert (graph.n, graph.m) == (n, m)


@pytest.mark.skipif(not REAL.is_dir(), reason="the public data sets are not beside this checkout")
@pytest.mark.parametrize(
    ("path", "arity", "options", "count"),
    [
        ("weighted/ml-latest-small/movies.csv.gz", 3, {}, 9742),
        ("weighted/ml-latest-small/tags.csv", 4, {}, 3683),
        ("ownership/medias_francais/medias.tsv", 6, {"missing": "keep"}, 218),
        ("tabular/SouthGermanCredit.asc", 21, {"format": "edges", "useHeaders": "true"}, 1000),
        ("social/email-Eu-core-department-labels.txt", 2, {}, 1005),
        ("kg/FB15K237/train2id.txt.gz", 3, {"skip": "1"}, 272115),
        ("kg/FB15K237/relation2id.txt", 2, {"skip": "1"}, 237),
        ("kg/FB15k-237-raw/test.txt.gz", 3, {}, 20466),
        ("kg/mmkb/FB15K_NumericalTriples.txt.gz", 3, {}, 29395),
        ("kg/yago11k/valid.txt", 5, {}, 2050),
        ("kg/ICEWS14/test.txt.gz", 5, {}, 13222),
    ],
)
def test_real_tables(path: str, arity: int, options: dict[str, str], count: int) -> None:
    names = ",".join(f"X{i}" for i in range(arity))
    assert facts(f"q(X0) :- p({names}).", "p", REAL / path, **options).count("p") == count


# cells among numbers that are none

SHARES = "owner,company,share\na,b,0.6\nb,c,n/a\nc,d,0.9\nd,e,0.4\ne,f,0.1\nf,g,n/a\n"


def told(write: Callable[..., Path], content: str, **options: str) -> list[str]:
    path, notes = write("a.csv", content), Notes()
    load_facts(load_text(FREE), {"p": [SourceSpec(path, None, options)]}, notes)
    return [note.replace(str(path), path.name) for note in notes.said]


def test_a_name_among_numbers_is_no_missing_value(write: Callable[..., Path]) -> None:
    assert told(write, "id,b,c\n1,x,y\nA7,x,y\n3,x,y\n") == [
        "a.csv: the whole column 'id' is read as text because of 'A7' in line 3; "
        '@mapping("p", 0, "id", "string") says that it is meant, "int" makes that an error'
    ]
    assert "whole column" in told(write, "id,b,c\n1,x,y\nX,x,y\n3,x,y\n4,x,y\nY,x,y\n")[0]
    for mark in ("NA", "?"):
        assert f"nullString={mark}" in told(write, f"id,b,c\n1,x,y\n{mark},x,y\n3,x,y\n")[0]
    assert "nullString=X" in told(write, "id,b,c\n1,x,y\nX,x,y\n3,x,y\n4,x,y\nX,x,z\n")[0]
    assert "nullString=X" in told(write, "id,b,c\n0.5,x,y\nX,x,y\n3,x,y\n")[0]


def test_decimal_commas_are_told(write: Callable[..., Path]) -> None:
    content = "o;c;s\nA;B;1\nB;C;0,6\n"
    assert told(write, content, delimiter=";") == [
        "a.csv: column 's' is text, as '0,6' is; if the comma is the decimal point, say decimal=, "
        "(in @bind: decimal=',')"
    ]
    assert told(write, content, delimiter=";", decimal=",") == []
    assert told(write, "o;c;s\nA;B;1\nB;C;0.600\n", delimiter=";", decimal=",") == [
        "a.csv: column 's' is text, as '0.600' is; with decimal=, points group thousands; if the point is the "
        "decimal point, leave it out"
    ]
    both = told(write, "o;c;s\nA;B;1,5\nB;C;0.600\n", delimiter=";", decimal=",")
    assert "because of '0.600' in line 3; with decimal=, points group thousands; @mapping" in both[0]
    mixed = "o;c;s\nA;B;1\nB;C;0,7\nC;D;x\nD;E;2\n"
    assert told(write, mixed, delimiter=";") == [
        "a.csv: column 's' is text because of '0,7' in line 3 (and 1 other); if the comma is the decimal point, say "
        'decimal=, (in @bind: decimal=\',\'); @mapping("p", 2, "s", "double") makes that an error'
    ]
    assert "decimal=," not in told(write, mixed.replace("2", "2.5"), delimiter=";")[0]


def test_few_texts_among_numbers_are_told(write: Callable[..., Path]) -> None:
    assert told(write, SHARES) == [
        "a.csv: column 'share' is text because of 'n/a' in line 3 (and 1 other); nullString=n/a makes such cells "
        'missing; @mapping("p", 2, "share", "double") makes that an error'
    ]
    assert told(write, SHARES, nullString="n/a") == []
    half = "a,b,w\n" + "".join(f"x,{i % 2 or 'y'},1\n" for i in range(20))
    assert told(write, half) == ["p: 18 repeated rows counted once"]
    names = "a,b,w\nx,007,1\ny,012,2\nz,12,3\nz,13,3\nz,k,3\n"
    assert told(write, names) == []
    long = "a,b,w\n" + "".join(f"x{i},y,{i}\n" for i in range(400))
    assert "(and 3 others)" in told(write, long + "x,y,-\nz,y,-\nx,z,-\nz,z,-\n")[0]
    assert told(write, long + "".join(f"x{i},z,-\n" for i in range(5))) == []


def test_misfits_are_counted(write: Callable[..., Path]) -> None:
    path = write("a.csv", SHARES)
    mapped = FREE + '@mapping("p", 2, "share", "double").'
    assert fails(mapped, "p", path) == (
        "a.csv:3: column 'share': 'n/a' is not a number, as in 0.25 or 25% (2 such cells)\n"
        "  help: if it means a missing value, say nullString=n/a"
    )
    assert fails(OWN, "own", path).endswith(
        "help: if it means a missing value, nullString=n/a and missing=skip leave such rows out"
    )
    assert len(rows(OWN, "own", path, nullString="n/a", missing="skip")) == 4


@pytest.mark.parametrize(
    ("weights", "hint"),
    [
        ("0.5 0.4 1.4", "shares are at most 1: correct these rows"),
        (
            "0.5 0.4 -0.2",
            "shares lie between 0 and 1: correct these rows; if the weights are no shares, scale=abs (or scale=minmax) "
            "brings them to [0,1]",
        ),
        ("25 12.5 0.3", "percent=true divides by 100"),
        ("-5 7 0.3", "scale=abs (or scale=minmax) brings them to [0,1]"),
        (
            "0.3 0.2 0.5 25",
            "shares lie between 0 and 1: correct these rows; if the weights are no shares, scale=abs (or scale=minmax) "
            "brings them to [0,1]",
        ),
    ],
)
def test_a_share_out_of_range_is_a_mistake_first(write: Callable[..., Path], weights: str, hint: str) -> None:
    path = write("a.csv", "".join(f"a,b{i},{w}\n" for i, w in enumerate(weights.split())))
    with pytest.raises(DataError) as caught:
        load_graph(load_text(OWN), {"own": path})
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("id,owner,country,company,pct\n1,a,IT,b,0.5\n2,c,IT,d,0.25\n", "owner,country,pct"),
        ("owner,share,company,year\na,0.5,b,2020\nc,0.25,d,2021\n", "owner,company,share"),
        ("1,2,10,1407\n4,1,-5,1376\n", "1,2,3"),
    ],
)
def test_the_hint_takes_a_number_for_the_weight(
    write: Callable[..., Path], content: str, columns: str
) -> None:
    path = write("a.csv", content)
    assert fails(OWN, "own", path).endswith(f"choose them, for instance columns={columns}")


def test_only_wanted_columns_of_json_need_values_of_the_language(write: Callable[..., Path]) -> None:
    path = write(
        "a.json",
        '[{"s": {"id": "a", "deep": {"er": 1}}, "x": [{"k": 1}], "t": "b"},\n'
        ' {"s": {"id": "c", "deep": {"er": 2}}, "x": [], "t": "d"}]',
    )
    assert rows("q(X) :- p(X,Y).", "p", path, columns="s.id,t") == [("a", "b"), ("c", "d")]
    mapped = 'q(X) :- p(X,Y). @mapping("p",0,"s.deep.er","int"). @mapping("p",1,"t","string").'
    assert rows(mapped, "p", path) == [(1, "b"), (2, "d")]
    assert fails("q(X) :- p(X,Y).", "p", path, columns="t,x") == (
        "a.json:1: column 'x': {...} is not a number, a string, a truth value, a date or a list of them\n"
        "  help: columns=a,b takes other columns; the file has s.id, s.deep.er, x, t"
    )


@pytest.mark.skipif(not REAL.exists(), reason="the shared data are not there")
def test_statements_of_a_public_register() -> None:
    path = REAL / "ownership" / "gleif_sample" / "rr-updates-data2-out.json"
    columns = "interestedParty.describedByEntityStatement,subject.describedByEntityStatement"
    found = rows("q(X) :- p(X,Y).", "p", path, columns=columns)
    assert len(found) == len(set(found)) > 5
    assert ("1865157c-c635-bb1b-cebf-9edcf88c7938", "8a8e8ee2-5bb4-7582-9b79-d531b6b59c12") in found


def test_a_query_over_files_is_named_by_its_predicate(tmp_path: Path) -> None:
    titles: list[str] = []

    class Titles(Notes):
        def step(self, title: str, total: int | None = None, unit: str = "") -> None:
            titles.append(title)

    (tmp_path / "e.csv").write_text("a,b\nx,y\n")
    (tmp_path / "a.vada").write_text('@qbind("e", "duckdb", "", "select * from \'e.csv\'"). q(X) :- e(X, Y).')
    load_facts(load_file(tmp_path / "a.vada", allow_files=True), {}, Titles())
    assert titles == ["Reading e by a query of files"]


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        (
            "a.parquet",
            {"delimiter": ";"},
            "a parquet source has no option delimiter",
        ),
        ("a.json", {"useHeaders": "true"}, "a json source has no option useHeaders"),
        ("a.csv", {"path": "rows"}, "a csv source has no option path"),
        ("a.db", {"encoding": "latin-1"}, "a sqlite source has no option encoding"),
        ("a.csv", {"table": "own"}, "a csv source has no option table"),
    ],
)
def test_options_of_other_formats(tmp_path: Path, name: str, option: dict[str, str], words: str) -> None:
    with pytest.raises(DataError, match=f"{words}\n  help: leave it out; it is one of "):
        load_facts(load_text(OWN), {"own": SourceSpec(tmp_path / name, None, option)})


def test_names_of_a_mapping_are_for_tables(write: Callable[..., Path]) -> None:
    path = write("a.edges", "a b\n")
    program = load_text('@mapping("e", 0, "who", "string"). p(X) :- e(X, Y).')
    said = Notes()
    bound = replace(program, binds=(Bind("e", "edges", {}, str(path), Span("f", 1, 1, 1, 2)),))
    assert list(load_facts(bound, {}, said).rows("e")) == [("a", "b")]
    assert said.said == [
        f"{path}: no table, so @mapping names no columns of it: they are taken in their order"
    ]
    said = Notes()
    load_facts(program, {"e": path}, said)
    assert said.said == []


def test_a_line_of_odd_names_is_said(write: Callable[..., Path]) -> None:
    mapped = '@mapping("p", 0, "1st", "string"). q(X) :- p(X, Y).'
    assert fails(mapped, "p", write("a.csv", "1st,2nd\n")) == (
        "a.csv: there is no column '1st', which @mapping names in <text>:1\n"
        "  help: the file has 2 unnamed columns; useHeaders=true takes the first line for their names"
    )


def test_a_number_too_long_for_an_integer_is_said(write: Callable[..., Path]) -> None:
    for value, hint in (
        ("99999999999999999999", '"double") rounds it'),
        ("9223372036854775807", '"int") reads it exactly'),
    ):
        path = write("a.csv", f"id,n\n1,{value}\n2,5\n")
        said = Notes()
        assert list(load_facts(load_text("q(X,Y) :- p(X,Y)."), {"p": path}, said).rows("p"))[1] == (2, "5")
        assert [note.replace(str(path), "a.csv") for note in said.said] == [
            f"a.csv: column 'n' is text because of {value!r} in line 2, a number of more than 18 digits; "
            f'@mapping("p", 1, "n", {hint}'
        ]
        mapped = f'@mapping("p", 1, "n", {hint.split(")")[0]}). q(X,Y) :- p(X,Y).'
        assert rows(mapped, "p", path)[0] == (1, float(value) if "double" in hint else int(value))
    said = Notes()
    path = write("b.csv", "id,n\n1,99999999999999999999\n2,88888888888888888888\n")
    load_facts(load_text("q(X,Y) :- p(X,Y)."), {"p": path}, said)
    assert said.said == []


@pytest.mark.slow
def test_fields_of_many_letters_and_open_quotes(write: Callable[..., Path]) -> None:
    program = "q(X) :- p(X, Y)."
    long = "x" * 200_000
    assert rows(program, "p", write("a.csv", f"a,b\n1,{long}\n")) == [(1, long)]
    path = write("b.csv", 'a,b\n1,"' + "x\n" * (1 << 23) + "y")
    assert fails(program, "p", path).startswith("b.csv:2: not a CSV file: field larger than field limit")


_FILL = "".join(f"{i},b\n" for i in range(300))
"""More rows than the sample has."""


@pytest.mark.parametrize("fill", ["", _FILL])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('1,"abc\n2,x\n3,y\n', 2, 2, "the quotation mark before 'abc' is never closed"),
        ('1,"abc', 2, 2, "the quotation mark before 'abc' is never closed"),
        ('"a\r\nb",1\r\n"c,2\r\n', 4, 1, "the quotation mark before 'c,2' is never closed"),
        ('1,"\n"\n2,5"\n3,"say ""hi""\n', 5, 2, """the quotation mark before 'say ""hi""' is never closed"""),
        ('1,"x"y\n2,z\n', 2, 2, "'y' follows the closing quotation mark"),
        ('1,z\n""x,2\n', 3, 1, "'x' follows the closing quotation mark"),
        ('1,"a\nb"""c\n', 3, 2, "'c' follows the closing quotation mark"),
    ],
)
def test_quotation_marks_amiss(
    write: Callable[..., Path], text: str, line: int, column: int, message: str, name: str, fill: str
) -> None:
    line += fill.count("\n")
    assert fails("q(X) :- p(X,Y).", "p", write(name, "id,v\n" + fill + text)) == (
        f"{name}:{line}: column {column}: {message}\n"
        '  help: inside quotation marks write "" for "; quote=none takes them as they are'
    )


def test_quotation_marks_of_other_files(write: Callable[..., Path]) -> None:
    program = "q(X) :- p(X,Y)."
    path = write("a.csv", f"\ufeffid;v\n{_FILL.replace(',', ';')}1;'é\n2;x\n".encode())
    text = fails(program, "p", path, quote="'", delimiter=";")
    assert text.startswith("a.csv:302: column 2: the quotation mark before 'é' is never closed\n")
    assert "write '' for '" in text
    path = write("b.csv", f'id,v\n{_FILL}1,"é\n2,x\n'.encode("latin-1"))
    text = fails(program, "p", path, encoding="latin-1")
    assert text.startswith("b.csv:302: column 2: the quotation mark before 'é' is never closed\n")
    assert ("1", '"é\n2') not in rows(program, "p", path, encoding="latin-1", quote="none")


@pytest.mark.parametrize(
    "cell", ['""', '"\n"', '"a""b"', '"""b"', '"a,""b"', '5"x', '5"', '"x\n\n"', '"a"""', '"\n""c"']
)
def test_quotation_marks_in_order(write: Callable[..., Path], cell: str) -> None:
    expected = next(csv.reader([cell], strict=True))[0] if "\n" not in cell else None
    for end in ("", "\n", "\r\n"):
        path = write("a.csv", f'\ufeff"id","v"\n{_FILL}z,{cell}{end}'.encode())
        read = rows("q(X) :- p(X,Y).", "p", path, missing="keep")[-1][1]
        assert read == (cell[1:-1].replace('""', '"') if expected is None else expected)


def test_marks_of_a_csv_file_are_ascii(write: Callable[..., Path]) -> None:
    path = write("a.csv", "a→b\n1→2\n")
    for name in ("delimiter", "quote"):
        assert fails("q(X) :- p(X,Y).", "p", path, **{name: "→"}) == (
            f"a.csv: option {name} cannot be '→'\n  help: only ASCII characters can"
        )


def test_text_of_two_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-16")
    for source, words in (
        (path, "byte 0xFF is not UTF-8 text"),
        (f"{path}?encoding=utf-16", "text in UTF-16 is not"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            load_facts(load_text("q(X) :- p(X, Y)."), {"p": source})
        assert "save " in str(caught.value)
        assert "as UTF-8" in str(caught.value)


def test_dates_of_a_text_with_a_zone_are_read_as_utc(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("d\n2024-01-15T10:00:00Z\n2024-01-15 00:30:00+02:00\n", encoding="utf-8")
    rules = '@bind("p", "csv", "{}", "t.csv"). @mapping("p", 0, "d", "date"). q(X) :- p(X).'
    found = reason(rules.replace("{}", str(tmp_path)), allow_files=True)
    assert set(found.rows("q")) == {(datetime(2024, 1, 15, 10),), (datetime(2024, 1, 14, 22, 30),)}
    (tmp_path / "t.csv").write_text("d\n2024-01-15T10:00:00.1234567Z\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"help: write dates as .*, with up to 6 more digits and a zone as \+01:00"
    ):
        reason(rules.replace("{}", str(tmp_path)), allow_files=True)
    (tmp_path / "t.csv").write_text("d\n0001-01-01T00:00:00+02:00\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.csv:2: column 'd': '0001-01-01T00:00:00\+02:00' is not a date"):
        reason(rules.replace("{}", str(tmp_path)), allow_files=True)
