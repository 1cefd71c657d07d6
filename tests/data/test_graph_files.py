"""Graph files: what is written comes back, other programs read it, and what they write is read."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from string import whitespace

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgreason import reason
from kgreason.base.errors import DataError, ReleaseError
from kgreason.data.fact_loading import load_facts
from kgreason.data.fact_writing import write_facts, write_output
from kgreason.data.sources import parse_file
from kgreason.data.targets import Target
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Value
from tests.examples import inputs

Row = tuple[Value, ...]
AWKWARD = [
    *(
        "a b",
        '"',
        "'",
        "\\",
        "é",
        "日本",
        "%x",
        "#x",
        "*arcs",
        "&amp;",
        "&#34;",
        "&eacute;",
        "[ ]",
        "007",
        "1",
    ),
    *(
        " padded ",
        "tab\there",
        "line\nend",
        "\r\nx",
        "\x01",
        "\x7f",
        "\x85",
        "\ufeffx",
        "a,b",
        "_:x",
        "null",
        "\U0001f600",
    ),
]
NAMES = st.sampled_from(AWKWARD) | st.text(
    st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5
).filter(lambda name: name.strip(whitespace) != "")
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0) | st.sampled_from(
    [1e-300, 5e-324, 1.0, 0.1, 1e22, 1.7976931348623157e308]
)
EDGES = st.lists(st.tuples(NAMES, NAMES, DOUBLES), min_size=1, max_size=5, unique=True)
SLOW_FIXTURE = settings(
    max_examples=inputs(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...
    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.said.append(message)


def written(folder: Path, rows: Sequence[Row], target: str) -> Path:
    to = Target.parse(f"{folder}/{target}")
    write_output(Facts.from_rows({"p": rows}), "p", to)
    return to.path


def empty(folder: Path, like: Row, target: str) -> Path:
    facts = Facts.from_rows({"p": [like]})
    table = facts.tables["p"]
    facts = Facts({"p": Table(table.kinds, tuple(c[:0] for c in table.columns), 0)}, facts.symbols)
    to = Target.parse(f"{folder}/{target}")
    write_output(facts, "p", to)
    return to.path


def read(file: Path | str, arity: int, notes: Notes | None = None) -> list[Row]:
    variables = ", ".join(f"X{i}" for i in range(arity))
    program = load_text(f"q(X0) :- p({variables}).")
    facts = load_facts(program, {"p": [parse_file(str(file))]}, notes or Notes())
    return list(facts.rows("p")) if "p" in facts.tables else []


def refused(folder: Path, rows: Sequence[Row], target: str) -> str:
    with pytest.raises((DataError, ReleaseError)) as error:
        written(folder, rows, target)
    assert list(folder.iterdir()) == []
    return str(error.value).replace(f"{folder}/", "")


# round trips


@SLOW_FIXTURE
@given(EDGES)
@pytest.mark.parametrize("name", ["p.gml", "p.net", "p.csv?format=neo4j"])
def test_labels_and_weights_come_back(tmp_path: Path, name: str, rows: list[Row]) -> None:
    path = written(tmp_path, rows, name)
    assert read(f"{path}?format=neo4j" if "neo4j" in name else path, 3) == rows


@SLOW_FIXTURE
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(-(10**17), 10**17)), min_size=1, max_size=5, unique=True))
@pytest.mark.parametrize("name", ["p.gml", "p.net"])
def test_integers_stay_integers(tmp_path: Path, name: str, rows: list[Row]) -> None:
    found = read(written(tmp_path, rows, name), 3)
    assert found == rows
    assert {type(row[2]) for row in found} == {int}


@SLOW_FIXTURE
@given(st.lists(st.tuples(NAMES), min_size=1, max_size=5, unique=True))
@pytest.mark.parametrize("name", ["p.gml", "p.net", "p.csv?format=neo4j"])
def test_vertices_come_back(tmp_path: Path, name: str, rows: list[Row]) -> None:
    path = written(tmp_path, rows, name)
    found = read(f"{path}?format=neo4j" if "neo4j" in name else path, 1)
    numbers = {(str(i + 1),) for i in range(len(rows))}
    assert found == (
        sorted(rows, key=lambda r: int(str(r[0]))) if set(rows) == numbers and "neo" not in name else found
    )
    assert sorted(found) == sorted(rows)  # type: ignore[type-var]


@SLOW_FIXTURE
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), DOUBLES), min_size=1, unique_by=lambda r: r[:2])
)
@pytest.mark.parametrize("name", ["p.mtx", "out.p", "p.edges", "p.gml", "p.net"])
def test_numbers_come_back_from_every_format(tmp_path: Path, name: str, rows: list[Row]) -> None:
    named = [(str(a), str(b), w) for a, b, w in rows]
    assert read(written(tmp_path, rows, name), 3) == named
    assert read(written(tmp_path, [r[:2] for r in rows], name), 2) == [r[:2] for r in named]


@SLOW_FIXTURE
@given(
    st.lists(
        st.tuples(*[NAMES.filter(lambda n: not {*"\r\n"} & {*n} and n[0] != "\ufeff")] * 2, DOUBLES),
        min_size=1,
        max_size=5,
        unique_by=lambda r: r[:2],
    )
)
@pytest.mark.parametrize("name", ["p.mtx", "out.p"])
def test_names_come_back_from_a_second_file(tmp_path: Path, name: str, rows: list[Row]) -> None:
    path = written(tmp_path, rows, f"{name}?labels=names.txt")
    assert read(f"{path}?labels=names.txt", 3) == rows
    vertices = {name for row in rows for name in row[:2]}
    assert {name for (name,) in read(f"{path}?labels=names.txt", 1)} == vertices


@SLOW_FIXTURE
@given(EDGES)
@pytest.mark.parametrize("delimiter", ["space", "tab", "comma", ";"])
def test_an_edge_list_comes_back_or_is_refused(tmp_path: Path, delimiter: str, rows: list[Row]) -> None:
    try:
        path = written(tmp_path, rows, f"p.edges?delimiter={delimiter}")
    except DataError:
        assert any(not str(v).isalnum() for row in rows for v in row[:2])
        return
    options = "?delimiter=;" if delimiter == ";" else ""
    assert read(f"{path}{options}", 3) == rows


@pytest.mark.parametrize(
    "name", ["p.gml", "p.net", "p.mtx", "out.p", "p.edges", "p.graphml", "p.csv?format=neo4j"]
)
@pytest.mark.parametrize("like", [("1", "2", 0.5), ("1", "2")])
def test_no_edges(tmp_path: Path, name: str, like: Row) -> None:
    path = empty(tmp_path, like, name)
    assert read(f"{path}?format=neo4j" if "neo4j" in name else path, len(like)) == []


@pytest.mark.parametrize("name", ["p.gml", "p.graphml"])
def test_further_columns(tmp_path: Path, name: str) -> None:
    rows: list[Row] = [("a", "b", 0.5, 'x "&" é', 7, True), ("b", "c", 0.25, "007", -1, False)]
    path = written(tmp_path, rows, name)
    assert read(path, 3) == [row[:3] for row in rows]
    found = read(f"{path}?columns=source,target,weight,c4,c5,c6", 6)
    truth = {True: "true", False: "false"} if name == "p.gml" else {True: True, False: False}  # GML has none
    assert found == [(*row[:5], truth[bool(row[5])]) for row in rows]
    texts: list[Row] = [("a", "b", 0.5, "7", 7.0), ("b", "c", 1.0, "8", 8.0)]
    found = read(f"{written(tmp_path, texts, name)}?columns=source,target,weight,c4,c5", 5)
    assert found == texts
    assert [type(v) for v in found[0]] == [str, str, float, str, float]


@pytest.mark.parametrize("name", ["p.gml", "p.net", "p.graphml"])
def test_pieces_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from kgreason.data import fact_columns

    rows: list[Row] = [(f"a{i}", f"b{i % 3}", i / 4) for i in range(8)]
    whole = written(tmp_path, rows, name).read_bytes()
    monkeypatch.setattr(fact_columns, "TEXT_ROWS", 3)
    assert written(tmp_path, rows, name).read_bytes() == whole


def test_text_of_files(tmp_path: Path) -> None:
    rows: list[Row] = [("2", "1", 1.0), ("1", "3", 0.5)]
    texts = {
        "p.mtx": "%%MatrixMarket matrix coordinate real general\n3 3 2\n2 1 1.0\n1 3 0.5\n",
        "out.p": "% asym weighted\n% 2 3 3\n2 1 1.0\n1 3 0.5\n",
        "p.edges": "2 1 1.0\n1 3 0.5\n",
        "p.net": '*vertices 3\n1 "1"\n2 "2"\n3 "3"\n*arcs\n2 1 1.0\n1 3 0.5\n',
    }
    assert {name: written(tmp_path, rows, name).read_text() for name in texts} == texts
    assert (
        written(tmp_path, [("1", "2", 3)], "i.mtx")
        .read_text()
        .startswith("%%MatrixMarket matrix coordinate integer")
    )
    assert written(tmp_path, [("1",), ("2",)], "v.mtx").read_text().endswith("pattern general\n2 2 0\n")
    assert written(tmp_path, [("1", "2", 1.5, 9)], "out.t").read_text().endswith("1 2 1.5 9\n")


# what a format has no place for


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("p.mtx", [("a", "b")], "p.mtx: mtx holds numbers of vertices, from 1 on, and no names such as 'a'"),
        ("out.p", [("1", "02")], "no names such as '02'\n  help: write gml, net or csv, or labels=names.txt"),
        ("p.mtx", [("1", "99999999")], "too great for its number"),
        ("p.mtx", [("1",), ("3",)], "but only 2 of the vertices 1 to 3 are given"),
        (
            "p.mtx",
            [("1", "2", 0.5), ("1", "2", 0.6)],
            "one entry for a pair, but 1 more than one, as that of rows 1 and 2",
        ),
        ("p.mtx", [("1", "2", "x")], "column 'c3': the weights of p are no numbers, and mtx holds no others"),
        ("p.net", [("1", "2", True)], "the weights of p are no numbers"),
        ("out.p", [("1", "2", 1.0, "x")], "the times of p are no integers"),
        ("p.net", [("a", "")], "p holds a vertex with an empty name"),
        ("p.gml", [("", "a")], "p holds a vertex with an empty name"),
        ("p.net", [(" ", "a")], "p holds a vertex with a blank name"),
        ("p.mtx?labels=n.txt", [("a\nb", "a")], "n.txt: the name 'a\\nb' does not fit a line"),
        (
            "p.edges",
            [("a b", "c")],
            "p.edges: 'a b' would be read as more than one value, or less\n  help: delimiter=tab",
        ),
        ("p.edges?delimiter=tab", [("a\tb", "c")], "help: csv holds any text"),
        ("p.edges", [("%a", "c")], "a line that begins with '%a' would be read as a comment"),
        ("p.edges", [("a", "")], "cannot hold an empty value"),
        ("p.edges?delimiter=#", [("a", "b")], "option delimiter cannot be '#'"),
        ("p.mtx", [("a", "b", 1.0, 2)], "p has 4 arguments, mtx files have places for 1 to 3"),
        ("out.p", [("a",)], "p has 1 argument, konect files have places for 2 to 4"),
        ("p.gml", [()], "p has no arguments, so it makes no graph"),
        ("p.gml?delimiter=;", [("a", "b")], "unknown option 'delimiter' of a gml output"),
    ],
)
def test_refused(tmp_path: Path, name: str, rows: list[Row], words: str) -> None:
    assert words in refused(tmp_path, rows, name)


def test_a_second_file_is_not_written_over_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("a b 0.5\n")
    rules = (
        '@input("e"). @output("p"). @bind("p", "mtx labels=names.txt", "DIR", "p.mtx"). p(X,Y,W) :- e(X,Y,W).'
    )
    program = load_text(rules.replace("DIR", str(tmp_path)), allow_files=True)
    from kgreason.data.fact_writing import write_targets

    source = f"{tmp_path}/names.txt"
    facts = reason(program, {"e": source}).facts
    with pytest.raises(
        ReleaseError, match=r"names\.txt: the output p is not written over the file that e is read"
    ):
        write_targets(program, facts, {"e": source})
    assert [p.name for p in tmp_path.iterdir()] == ["names.txt"]


def test_a_folder_of_every_format(tmp_path: Path) -> None:
    facts = Facts.from_rows({"own": [("1", "2", 0.5), ("2", "3", 0.25)]})
    for format in ("edges", "konect", "mtx", "gml", "net", "neo4j"):
        ((_, target),) = write_facts(tmp_path, facts, format)
        assert read(f"{target.path}?format={format}", 3) == [("1", "2", 0.5), ("2", "3", 0.25)]
    assert {"own.edges", "out.own", "own.mtx", "own.gml", "own.net", "own.csv", "own-nodes.csv"} == {
        p.name for p in tmp_path.iterdir()
    }


# what vertices are called

NET = '*vertices 3\n1 "{}"\n2 "{}"\n3 "{}"\n*arcs\n1 2\n2 3\n'


def test_labels_name_vertices_if_they_can(tmp_path: Path) -> None:
    path = tmp_path / "a.net"
    path.write_text(NET.format("Ada", "Bo", "Cy"))
    notes = Notes()
    assert read(path, 2, notes) == [("Ada", "Bo"), ("Bo", "Cy")]
    assert read(f"{path}?names=id", 2, notes) == [("1", "2"), ("2", "3")]
    assert read(path, 1, notes) == [("Ada",), ("Bo",), ("Cy",)]
    assert read(f"{path}?names=id", 1, notes) == [("1",), ("2",), ("3",)]
    assert read(f"{path}?table=vertices&columns=id,label", 2) == [("1", "Ada"), ("2", "Bo"), ("3", "Cy")]
    assert notes.said == []


def test_labels_that_are_no_names(tmp_path: Path) -> None:
    path, notes = tmp_path / "a.net", Notes()
    path.write_text(NET.format("Ada", "Bo", "Ada"))
    assert read(path, 2, notes) == [("1", "2"), ("2", "3")]
    assert notes.said == [
        f"{path}: vertices are called by their ids; vertices '1' and '3' have the same label, 'Ada'"
    ]
    with pytest.raises(
        DataError, match=r"a\.net:4: vertices '1' and '3' have the same label, 'Ada'\n  help: names=id"
    ):
        read(f"{path}?names=label", 2)
    path.write_text(NET.format("Ada", "", "Cy"))
    with pytest.raises(DataError, match=r"a\.net:3: vertex '2' has no label"):
        read(f"{path}?names=label", 2)
    with pytest.raises(DataError, match="the vertices have no 'lable'\n  help: did you mean label"):
        read(f"{path}?names=lable", 2)


def test_labels_need_their_encoding_only_if_they_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a.net"
    path.write_bytes(NET.format("Café", "Bo", "Cy").encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.net:2: byte 0xE9 is not UTF-8 text\n  help: .*encoding=latin-1"):
        read(path, 2)
    assert read(f"{path}?encoding=latin-1", 2) == [("Café", "Bo"), ("Bo", "Cy")]
    assert read(f"{path}?names=id", 2) == [("1", "2"), ("2", "3")]
    path.write_bytes(b"\xef\xbb\xbf" + NET.format("Café", "Bo", "Cy").encode())
    assert read(path, 1) == [("Café",), ("Bo",), ("Cy",)]


def test_real_labels_repeat(real_data: Path) -> None:
    notes, path = Notes(), real_data / "ownership" / "eva.net.gz"
    found = read(path, 2, notes)
    assert all(str(name).isdecimal() for row in found for name in row)
    assert notes.said[0] == f"{path}: vertices are called by their ids; vertex '105' has no label"


def test_labels_of_a_file_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    for text, words in [
        ("a\n", "1 lines for the 2 vertices of a.mtx"),
        ("a\na\n", "names.txt:2: vertices '1' and '2' have the same name, 'a'"),
        ("a\n\n", "names.txt:2: vertex '2' has no name"),
    ]:
        (tmp_path / "names.txt").write_text(text)
        with pytest.raises(DataError) as error:
            read(f"{path}?labels=names.txt", 2)
        assert words in str(error.value)
    (tmp_path / "names.txt").write_text("a\r\nb c\r\n")
    assert read(f"{path}?labels=names.txt", 2) == [("a", "b c")]
    (tmp_path / "out.k").write_text("% asym unweighted\n1 3\n")
    with pytest.raises(
        DataError, match=r"out\.k:2: the edge ends at '3', which is no vertex of .*names\.txt"
    ):
        read(f"{tmp_path}/out.k?labels=names.txt", 2)


# other programs

OURS: list[Row] = [
    ("Adler AG", "Dachs & Co", 0.5),
    ("Dachs & Co", "Elster", 1e-300),
    ("Elster", "Adler AG", 2.0),
]


def edges_of(graph: nx.Graph) -> list[tuple[str, str, float]]:  # type: ignore[type-arg]
    return sorted((a, b, data["weight"]) for a, b, data in graph.edges(data=True))


@pytest.mark.parametrize("extra", ["Käse", "a'b", 'say "x"', "#hash", "line\nend", "100"])
def test_networkx_reads_ours(tmp_path: Path, extra: str) -> None:
    rows = [*OURS, (extra, "Elster", 0.25)]
    expected = sorted(rows)  # type: ignore[type-var]
    assert edges_of(nx.read_gml(written(tmp_path, rows, "p.gml"))) == expected
    assert edges_of(nx.read_graphml(written(tmp_path, rows, "p.graphml"))) == expected
    if not {'"', "\n"} & {*extra}:  # which it takes for the numbers that stand for them
        assert edges_of(nx.read_pajek(written(tmp_path, rows, "p.net"))) == expected
    if extra[0] != "#" and "\n" not in extra:
        tabs = nx.read_weighted_edgelist(
            written(tmp_path, rows, "p.edges?delimiter=tab"), delimiter="\t", create_using=nx.DiGraph
        )
        assert edges_of(tabs) == expected


def test_igraph_reads_ours(tmp_path: Path) -> None:
    def edges(graph: igraph.Graph, key: str) -> list[Row]:
        names = graph.vs[key]
        return [(names[e.source], names[e.target], e["weight"]) for e in graph.es]

    assert edges(igraph.Graph.Read_GML(str(written(tmp_path, OURS, "p.gml"))), "label") == OURS
    # it leaves &#38; in ids
    plain = [(str(a).replace("&", "+"), str(b).replace("&", "+"), w) for a, b, w in OURS]
    assert edges(igraph.Graph.Read_GraphML(str(written(tmp_path, plain, "p.graphml"))), "id") == plain
    pajek = igraph.Graph.Read_Pajek(str(written(tmp_path, OURS, "p.net")))
    assert edges(pajek, "name") == OURS
    assert pajek.is_directed()
    numbers = written(tmp_path, [("1", "2"), ("2", "3")], "p.edges")
    assert igraph.Graph.Read_Edgelist(str(numbers)).get_edgelist() == [(1, 2), (2, 3)]


def test_scipy_reads_ours(tmp_path: Path) -> None:
    matrix = scipy.io.mmread(
        written(tmp_path, [("1", "2", 0.5), ("3", "1", 1e-300), ("2", "2", 2.0)], "p.mtx")
    )
    assert matrix.shape == (3, 3)
    assert matrix.toarray().tolist() == [[0, 0.5, 0], [0, 2.0, 0], [1e-300, 0, 0]]
    whole = scipy.io.mmread(written(tmp_path, [("1", "2", 2**53 + 1)], "i.mtx"))
    assert whole.toarray()[0, 1] == 2**53 + 1
    assert scipy.io.mmread(written(tmp_path, [("1", "2")], "u.mtx")).nnz == 1
    assert scipy.io.mmread(written(tmp_path, [("1",), ("2",)], "v.mtx")).shape == (2, 2)


def test_networkx_writes_ours(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    rows = [("a b", 'say "x"', 0.5), ("é&", "7", 1e-300)]
    graph.add_weighted_edges_from(rows)
    nx.write_gml(graph, tmp_path / "n.gml")
    assert read(tmp_path / "n.gml", 3) == rows
    nx.write_graphml(graph, tmp_path / "n.graphml")
    assert read(tmp_path / "n.graphml", 3) == rows
    plain = nx.DiGraph()
    plain.add_weighted_edges_from([("a b", "c", 0.5), ("é", "7", 1e-300)])
    nx.write_pajek(plain, tmp_path / "n.net")
    assert read(tmp_path / "n.net", 3) == [("a b", "c", 0.5), ("é", "7", 1e-300)]
    nx.write_weighted_edgelist(plain, tmp_path / "n.edges", delimiter="\t")
    assert read(tmp_path / "n.edges", 3) == [("a b", "c", 0.5), ("é", "7", 1e-300)]


def test_igraph_writes_ours(tmp_path: Path) -> None:
    rows = [("a b", 'say "x"', 0.5), ("é", "a b", 1e-300)]
    graph = igraph.Graph.TupleList(rows, directed=True, weights=True)
    graph.write_gml(str(tmp_path / "i.gml"))
    assert read(tmp_path / "i.gml", 3) == rows
    graph.write_pajek(str(tmp_path / "i.net"))
    assert read(tmp_path / "i.net", 3) == rows
    graph.write_graphml(str(tmp_path / "i.graphml"))
    notes = Notes()
    assert read(tmp_path / "i.graphml", 3, notes) == [("n0", "n1", 0.5), ("n2", "n0", 1e-300)]
    assert any("names=name calls them by their name" in note for note in notes.said)
    assert read(f"{tmp_path}/i.graphml?names=name", 3) == rows
    assert read(f"{tmp_path}/i.graphml?names=name", 1) == [("a b",), ('say "x"',), ("é",)]


def test_scipy_writes_ours(tmp_path: Path) -> None:
    scipy.io.mmwrite(
        tmp_path / "s.mtx", scipy.sparse.coo_array(np.array([[0, 0.5], [1e-300, 0]])), symmetry="general"
    )
    assert sorted(read(tmp_path / "s.mtx", 3)) == [("1", "2", 0.5), ("2", "1", 1e-300)]  # type: ignore[type-var]


def test_packed_files(tmp_path: Path) -> None:
    path = written(tmp_path, OURS, "p.gml")
    packed = tmp_path / "q.gml.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, 3) == OURS


def test_undirected_vertices_and_edges_of_one_file_agree(tmp_path: Path) -> None:
    path = tmp_path / "a.gml"
    path.write_text('graph [ node [ id 4 label "A" ] node [ id 7 label "B" ] edge [ source 7 target 4 ] ]')
    assert read(path, 2) == [("B", "A"), ("A", "B")]
    assert read(path, 1) == [("A",), ("B",)]
