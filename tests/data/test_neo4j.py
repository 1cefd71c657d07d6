"""Import files of Neo4j: headers, types, id spaces, folders, and that what is written comes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from kgreason.base.errors import DataError
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.fact_writing import write_output
from kgreason.data.formats.neo4j import fields_of
from kgreason.data.sources import parse_file
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Value

Row = tuple[Value, ...]
GRAPH = load_text('@node("company"). @edge("own"). q(X) :- company(X). r(X) :- own(X, Y, W).')
TABLES = load_text("q(X) :- company(X). s(X) :- link(X, Y). t(X) :- name(X, N). u(X) :- fact(X, T, Y).")
COMPANIES = (
    "id:ID,name,:LABEL,founded:date,staff:int,codes:string[]\n"
    '1,"Adler ""AG""",Company;Bank,1999-01-15,12,a;b\n2,,Company,,,\n'
)
OWNS = ":START_ID,:END_ID,share:double,since:int,:TYPE\n1,2,0.5,2001,OWNS\n2,1,1e-300,2002,CONTROLS\n"


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...
    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return make


def rows(predicate: str, source: str, notes: Notes | None = None) -> list[Row]:
    rules = GRAPH if predicate == "own" else TABLES
    return list(load_facts(rules, {predicate: [parse_file(source)]}, notes or Notes()).rows(predicate))


def fails(predicate: str, source: str) -> str:
    with pytest.raises(DataError) as error:
        rows(predicate, source)
    return str(error.value).replace(f"{Path(source.partition('?')[0]).parent}/", "")


def test_relationships(write: Callable[[str, str], Path]) -> None:
    path, notes = write("rels.csv", OWNS), Notes()
    assert rows("link", f"{path}?format=neo4j", notes) == [("1", "2"), ("2", "1")]
    assert notes.said == [f"{path}: relationships of 2 types (OWNS, CONTROLS) are read; type=OWNS takes one"]
    assert rows("own", f"{path}?format=neo4j&type=OWNS&columns=source,target,share") == [("1", "2", 0.5)]
    assert rows("own", f"{path}?format=neo4j&type=OWNS,CONTROLS&columns=:END_ID,:START_ID,share:double") == [
        ("2", "1", 0.5),
        ("1", "2", 1e-300),
    ]
    assert rows("fact", f"{path}?format=neo4j&columns=source,:TYPE,target")[0] == ("1", "OWNS", "2")
    assert fails("own", f"{path}?format=neo4j") == (
        "rels.csv: edges carry 'share', 'since' but no 'weight', and own has a weight\n"
        "  help: columns=source,target,share takes one; or give own no third argument"
    )
    assert "there are no relationships of the type 'OWN'\n  help: there are CONTROLS, OWNS" in fails(
        "own", f"{path}?format=neo4j&type=OWN"
    )


def test_a_csv_with_such_a_header_is_told_apart(write: Callable[[str, str], Path]) -> None:
    path, notes = write("rels.csv", OWNS.replace("since:int", "since")), Notes()
    assert rows("own", str(path), notes) == [("1", "2", 0.5), ("2", "1", 1e-300)]
    assert notes.said[0] == f"{path}: read as an import file of Neo4j, as its header says"
    nodes = write("nodes.csv", COMPANIES)
    assert rows("company", str(nodes)) == [("1",), ("2",)]
    plain = write("plain.csv", "a:int,b\nx,y\n")
    assert rows("link", f"{plain}?useHeaders=true") == [("x", "y")]
    assert rows("link", f"{plain}?useHeaders=false") == [("a:int", "b"), ("x", "y")]


def test_mapping_names_properties(write: Callable[[str, str], Path]) -> None:
    program = load_text('@edge("own"). @mapping("own",2,"share","double"). q(X) :- own(X,Y,W).')
    facts = load_facts(program, {"own": f"{write('rels.csv', OWNS)}?format=neo4j"})
    assert list(facts.rows("own")) == [("1", "2", 0.5), ("2", "1", 1e-300)]


def test_nodes_are_typed(write: Callable[[str, str], Path]) -> None:
    path = write("nodes.csv", COMPANIES)
    at = f"{path}?format=neo4j"
    assert rows("company", at) == [("1",), ("2",)]
    assert rows("company", f"{at}&label=Bank") == [("1",)]
    assert rows("company", f"{at}&label=Bank,Company") == [("1",), ("2",)]
    assert fails("company", f"{at}&label=Banks") == (
        "nodes.csv: there are no nodes with the label 'Banks'\n  help: there are Bank, Company"
    )
    assert rows("name", f"{at}&label=Bank&columns=id,name") == [("1", 'Adler "AG"')]
    assert "nodes.csv:3: column 'name': the cell is empty" in fails("name", f"{at}&columns=id,name")
    assert rows("name", f"{at}&columns=id,staff&missing=skip") == [("1", 12)]
    assert rows("name", f"{at}&columns=id,founded&missing=skip") == [("1", datetime(1999, 1, 15))]
    assert rows("name", f"{at}&columns=id,codes&missing=skip") == [("1", ("a", "b"))]
    assert rows("name", f"{at}&columns=id,:LABEL") == [("1", "Company;Bank"), ("2", "Company")]
    assert fails("company", f"{at}&type=X") == (
        "nodes.csv: these are nodes, which have no type\n  help: label= chooses nodes"
    )


def test_arrays_of_numbers(write: Callable[[str, str], Path]) -> None:
    path = write("n.csv", ":ID,years:int[]\na,2001;2002\nb,7\n")
    assert rows("name", f"{path}?format=neo4j") == [("a", (2001, 2002)), ("b", (7,))]
    bad = write("m.csv", ":ID,years:int[]\na,2001;2002\nb,7;x\n")
    assert fails("name", f"{bad}?format=neo4j") == "m.csv:3: column 'years:int[]': 'x' is not an integer"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ":START_ID,share:double,:END_ID\n1,half,2\n",
            "a.csv:2: column 'share:double': 'half' is not a number",
        ),
        (
            ":START_ID,:END_ID,on:date\n1,2,15.1.2024\n",
            "a.csv:2: column 'on:date': '15.1.2024' is not a date",
        ),
        (
            ":START_ID,:END_ID,ok:boolean\n1,2,\n1,2,maybe\n",
            "a.csv:3: column 'ok:boolean': 'maybe' is not true or false",
        ),
        (":START_ID,:END_ID\n1,2\n,2\n", "a.csv:3: column ':START_ID': the cell is empty"),
        (":START_ID,:END_ID\n1,2,3\n", "a.csv:2: 3 fields where the first line has 2"),
        ("a,b\n1,2\n", "a.csv:1: this is no header of Neo4j: it names neither :ID nor"),
        (
            ":ID,x:number\n1,2\n",
            "a.csv:1: column 'x:number': there is no type 'number'\n  help: one of boolean",
        ),
        (":ID,:ID\n1,2\n", "a.csv:1: two columns :ID"),
        (":ID,at:datetime{timezone:+01:00}\n1,2024-01-01\n", "time zones of headers are not read"),
        ("", "a.csv: the file is empty"),
    ],
)
def test_mistakes_are_named(write: Callable[[str, str], Path], text: str, words: str) -> None:
    assert words in fails("link", f"{write('a.csv', text)}?format=neo4j")


def test_fields() -> None:
    cells = ["companyId:ID(Company){label:Company}", "name", "a:b:string[]", ":IGNORE", "p:point{crs:WGS-84}"]
    read = [(f.name, f.role, f.type, f.array, f.space) for f in fields_of("f", 1, cells)]
    assert read == [
        ("companyId", "ID", "id", False, "Company"),
        ("name", "", "string", False, ""),
        ("a:b", "", "string", True, ""),
        ("", "IGNORE", "ignore", False, ""),
        ("p", "", "point", False, ""),
    ]


def test_headers_of_their_own_and_several_files(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    write("nodes-header.csv", ":ID,name")
    write("nodes-1.csv", "1,Adler\n")
    write("nodes-2.csv", "2,Dachs\n")
    write("owns_header.csv", ":START_ID;:END_ID;share:double\n".replace(";", ","))
    write("owns.csv", "1,2,0.5\n")
    write("readme.csv", "nothing,of that\n")
    parts = f"{tmp_path}/nodes-header.csv,nodes-1.csv,{tmp_path}/nodes-2.csv?format=neo4j"
    assert rows("company", parts) == [("1",), ("2",)]
    assert rows("name", parts) == [("1", "Adler"), ("2", "Dachs")]
    notes = Notes()
    folder = f"{tmp_path}?format=neo4j"
    assert rows("own", folder, notes) == [("1", "2", 0.5)]
    assert notes.said == [
        f"{tmp_path}/readme.csv: no header of Neo4j, so the file is left out",
        f"{tmp_path}: vertices are called by their ids; names=name calls them by their name",
    ]
    assert rows("own", f"{folder}&names=name") == [("Adler", "Dachs", 0.5)]
    assert rows("company", f"{folder}&names=name") == [("Adler",), ("Dachs",)]
    assert rows("name", f"{folder}&table=vertices&columns=id,name") == [("1", "Adler"), ("2", "Dachs")]
    graph = load_graph(GRAPH, {"own": folder, "company": folder})
    assert (graph.n, graph.m) == (2, 1)
    assert "there is no such file" in fails("own", f"{tmp_path}/nodes-header.csv,nodes-3.csv?format=neo4j")
    (tmp_path / "empty").mkdir()
    assert "no file of the folder has a header" in fails("own", f"{tmp_path}/empty?format=neo4j")


def test_a_bind(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    write("d/h.csv", ":START_ID|:END_ID|w:float")
    write("d/r.csv", "1|2|0.5\n")
    write(
        "a.vada",
        '@edge("own"). @bind("own", "neo4j delimiter=bar", "d", "h.csv,r.csv"). q(X) :- own(X, Y, W).',
    )
    from kgreason.language.check.program_checker import load_file

    assert list(load_facts(load_file(tmp_path / "a.vada"), {}).rows("own")) == [("1", "2", 0.5)]


def test_id_spaces(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    write("people.csv", "id:ID(Person),name\n1,Bo\n")
    write("firms.csv", "id:ID(Firm),name\n1,Adler\n2,Dachs\n")
    write("owns.csv", ":START_ID(Person),:END_ID(Firm),share:double\n1,1,0.5\n1,2,0.25\n")
    folder = f"{tmp_path}?format=neo4j"
    assert fails("own", folder).endswith(
        ": the id '1' is in the id spaces 'Person' and 'Firm'\n"
        "  help: spaces=true calls it Firm:1 there; spaces=false takes both for one"
    ) or "'Firm' and 'Person'" in fails("own", folder)
    apart = f"{folder}&spaces=true"
    assert rows("own", apart) == [("Person:1", "Firm:1", 0.5), ("Person:1", "Firm:2", 0.25)]
    assert sorted(rows("company", apart)) == [("Firm:1",), ("Firm:2",), ("Person:1",)]
    assert rows("own", f"{apart}&names=name") == [("Bo", "Adler", 0.5), ("Bo", "Dachs", 0.25)]
    assert rows("own", f"{tmp_path}/owns.csv?format=neo4j&spaces=false") == [
        ("1", "1", 0.5),
        ("1", "2", 0.25),
    ]


def test_an_end_that_is_no_node(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    write("n.csv", ":ID,name\n1,Bo\n")
    write("r.csv", ":START_ID,:END_ID,w:double\n1,9,0.5\n")
    assert "r.csv:2: the edge ends at '9', which is no vertex of" in fails(
        "own", f"{tmp_path}?format=neo4j&names=name"
    )


def test_what_is_written(tmp_path: Path) -> None:
    facts: list[Row] = [
        ("a b", 'q"x, é', 0.5, 7, True, datetime(2024, 1, 15, 10), (1, 2), "007", ("x;y",)),
        ("line\nend", "a b", 1.0, 8, False, datetime(2020, 1, 1), (3,), "", ()),
    ]
    target = Target.parse(f"{tmp_path}/own.csv?format=neo4j&type=OWNS&label=Firm")
    names = ("owner", "firm", "share", "n:o", "ok", "at", "years", "code", "odd")
    write_output(Facts.from_rows({"p": facts}), "p", target, names)
    header, first, *_ = target.path.read_text().splitlines()
    assert header == (
        ":START_ID,:END_ID,share:double,n_o:long,ok:boolean,at:localdatetime,years:long[],code:string,"
        "odd:string,:TYPE"
    )
    assert first == '"a b","q""x, é",0.5,7,true,"2024-01-15T10:00:00","1;2","007","[""x;y""]","OWNS"'
    nodes = (tmp_path / "own-nodes.csv").read_text()
    assert nodes == 'name:ID,:LABEL\n"a b","Firm"\n"line\nend","Firm"\n"q""x, é","Firm"\n'
    program = load_text("q(A) :- p(A,B,C,D,E,F,G,H,I).")
    columns = "source,target,share,n_o,ok,at,years,code,odd"
    source = f"{target.path}?format=neo4j&columns={columns}"
    found = list(load_facts(program, {"p": source}).rows("p"))
    assert found == [(*facts[0][:8], '["x;y"]'), (*facts[1][:8], "[]")]
    assert [type(v) for v in found[0]] == [str, str, float, int, bool, datetime, tuple, str, str]
    assert rows("link", f"{tmp_path}?format=neo4j") == [row[:2] for row in facts]


def test_single_values_are_nodes(tmp_path: Path) -> None:
    target = Target.parse(f"{tmp_path}/company.csv?format=neo4j")
    write_output(Facts.from_rows({"company": [("Adler",), ("Dachs",)]}), "company", target)
    assert target.path.read_text() == 'name:ID,:LABEL\n"Adler","company"\n"Dachs","company"\n'
    assert [p.name for p in tmp_path.iterdir()] == ["company.csv"]
    assert rows("company", f"{target.path}?format=neo4j&label=company") == [("Adler",), ("Dachs",)]
