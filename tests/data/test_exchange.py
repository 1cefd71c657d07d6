"""Graphs and tables in and out of other libraries."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import DataError
from kgreason.data.fact_columns import facts_to_arrow
from kgreason.data.fact_loading import load_facts, load_graph
from kgreason.data.library_exports import to_arrow, to_networkx, to_pandas
from kgreason.data.library_imports import as_table, from_networkx
from kgreason.data.text_conversion import plain
from kgreason.engine.relations.fact_tables import Facts
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text

EDGES = [("A", "D", 0.6), ("D", "E", 0.8), ("A", "D", 0.2)]
OWN = load_text('@edge("own"). control(X,Y) :- own(X,Y,W), W > 0.5.')
OWN_PAIRS = '@edge("own"). @output("p"). p(X,Y) :- own(X,Y,W).'
FRAME = pd.DataFrame(EDGES, columns=["by", "of", "share"])


def edges(graph: KnowledgeGraph, relation: str = "own") -> set[tuple[str, str, float | None]]:
    chosen = graph.relations[relation]
    weight = [None] * len(chosen) if chosen.weight is None else chosen.weight.tolist()
    labels = graph.labels
    return set(zip(labels[chosen.source].tolist(), labels[chosen.target].tolist(), weight, strict=True))


@pytest.mark.parametrize(
    "table",
    [
        EDGES,
        FRAME,
        pa.Table.from_pandas(FRAME),
        pa.RecordBatch.from_pandas(FRAME),
        {"by": FRAME["by"], "of": FRAME["of"], "share": FRAME["share"]},
        to_networkx(KnowledgeGraph.from_edges(EDGES)),
        (edge for edge in EDGES),
    ],
    ids=["tuples", "pandas", "arrow", "batch", "mapping", "networkx", "iterator"],
)
def test_table_likes_are_data(table: object) -> None:
    loaded = load_graph(OWN, {"own": table})
    assert edges(loaded) == set(EDGES)


def test_column_names_are_kept() -> None:
    assert load_graph(OWN, {"own": FRAME}).relations["own"].columns == ("by", "of", "share")
    assert load_graph(OWN, {"own": [FRAME, FRAME]}).m == 3


SHARES = load_text('@edge("own"). @incoming_sum("own",1.0). control(X,Y) :- own(X,Y,W), W > 0.5.')
MAPPED = load_text('@edge("own"). @mapping("own",0,"who","string"). control(X,Y) :- own(X,Y,W), W > 0.5.')


@pytest.mark.parametrize(
    ("program", "table", "words"),
    [
        (SHARES, FRAME.assign(share=58.98), "help: divide percentages by 100"),
        (SHARES, FRAME.assign(share=-3.0), "help: divide by the greatest absolute weight"),
        (OWN, FRAME.assign(share=None), "(3 such rows)\n  help: df.dropna() leaves such rows out"),
        (
            OWN,
            FRAME.assign(year=1),
            "own has 3 arguments in the rules, the table 4 columns (by, of, share, year)\n"
            "  help: choose them, for instance df[['by', 'of', 'share']]",
        ),
        (OWN, [("a", "b", 0.5, 1)], "help: give rows of 3 values"),
        (OWN, FRAME[["by"]], "help: own takes one column for each of its 3 arguments"),
        (
            OWN,
            FRAME[["by", "of"]],
            "own has 3 arguments in the rules, the table 2 columns (by, of)\n"
            "  help: add the weights as the third column; df.assign(weight=1.0) makes them all 1",
        ),
        (OWN, [("a", "b")], "help: own takes one column for each of its 3 arguments"),
        (
            OWN,
            ("a", "b", 0.5),
            "<own>: ('a', 'b', 0.5) is one row, not a table\n  help: put it into a list: [(",
        ),
        (OWN, ["a", "b", 0.5], "help: put it into a list: [('a', 'b', 0.5)]"),
        (OWN, ("a", "b", "c"), "('a', 'b', 'c') is one row, not a table"),
        (
            OWN,
            FRAME.assign(share="0,5"),
            "help: if the comma is the decimal point: df['share'].str.replace(',', '.')",
        ),
        (
            MAPPED,
            FRAME,
            "there is no column 'who', which @mapping names in <text>:1\n"
            "  help: the table has the columns by, of, share; df.rename(columns={...}) names them as @mapping does",
        ),
    ],
)
def test_help_for_tables_in_memory(program: CheckedProgram, table: object, words: str) -> None:
    with pytest.raises(DataError) as caught:
        load_facts(program, {"own": table})
    assert words in str(caught.value)


def test_networkx_weights_of_another_name() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edge("a", "b", Anteil=0.7)
    with pytest.raises(DataError) as caught:
        load_facts(OWN, {"own": graph})
    assert str(caught.value) == (
        "<own>: edges carry 'Anteil' but no 'weight', and own has a weight\n"
        "  help: name it so: nx.set_edge_attributes(G, nx.get_edge_attributes(G, 'Anteil'), 'weight'); "
        "or give own no third argument"
    )
    rules = load_text('@edge("e"). r(X,Y) :- e(X,Y).')
    assert load_graph(rules, {"e": graph}).m == 1
    nx.set_edge_attributes(graph, nx.get_edge_attributes(graph, "Anteil"), "weight")
    assert edges(load_graph(OWN, {"own": graph})) == {("a", "b", 0.7)}
    plain = to_networkx(KnowledgeGraph.from_edges([("a", "b")], relation="own"))
    assert edges(load_graph(OWN, {"own": plain})) == {("a", "b", 1.0)}


def test_networkx_weights_as_text() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edge("a", "b", weight="70%")
    assert edges(load_graph(OWN, {"own": graph})) == {("a", "b", 0.7)}
    with pytest.raises(DataError, match=r"a weight is no number: .*'70%'"):
        from_networkx(graph)


def test_no_tables() -> None:
    with pytest.raises(DataError, match="a value of type int is no table"):
        as_table(3)
    with pytest.raises(DataError, match="row 2: 1 values where the first row has 2"):
        as_table([(1, 2), (3,)])
    with pytest.raises(DataError, match=r"row 3: .* is a list where the rows before have a number"):
        as_table([(1,), (None,), ((2, 3),)])
    with pytest.raises(DataError, match=r"row 2 is a mapping\n  help: pandas\.DataFrame\(rows\)"):
        as_table([(1, 2), {"a": 1, "b": 2}])
    with pytest.raises(DataError, match=r"a matrix of SciPy is no table\n  help: networkx\.from_scipy"):
        as_table(scipy.sparse.eye(2))
    with pytest.raises(
        DataError, match=r"<own>: frames of Spark are not read .*\n  help: call kgreason\.spark"
    ):
        kgreason.reason(OWN, {"own": FrameOfSpark()})
    with pytest.raises(DataError, match="frames of Spark are not read"):
        load_graph(OWN, {"own": [FrameOfSpark(), FRAME]})


class FrameOfSpark:
    """Looks like a frame of PySpark, of which nothing else may be asked."""

    sparkSession, columns = object(), ("by", "of", "share")

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AssertionError(name)


@given(st.lists(st.none() | st.decimals(-(10**20), 10**20, places=17), max_size=5), st.sampled_from([38, 60]))
def test_decimals_are_the_nearest_doubles(values: list[Decimal | None], digits: int) -> None:
    kind = pa.decimal128(digits, 17) if digits == 38 else pa.decimal256(digits, 17)
    expected = [None if v is None else float(v) for v in values]
    assert plain(pa.array(values, kind)).to_pylist() == expected
    assert plain(pa.chunked_array([pa.array(values, kind)] * 2)).to_pylist() == 2 * expected


def test_decimals_of_files_and_tables(tmp_path: Path) -> None:
    shares = [Decimal("60.05"), Decimal("0.10"), Decimal("-0.07"), Decimal("12345678.91")]
    table = pa.table({"a": [*"wxyz"], "b": [*"xyzw"], "w": pa.array(shares, pa.decimal128(10, 2))})
    pq.write_table(table, tmp_path / "e.parquet")
    for given_as in (table, tmp_path / "e.parquet", list(zip("wxyz", "xyzw", shares, strict=True))):
        found = kgreason.reason("r(W) :- e(_, _, W).", {"e": given_as}).rows("r")
        assert set(found) == {(60.05,), (0.1,), (-0.07,), (12345678.91,)}


def test_arrays_with_names_and_sparse_columns() -> None:
    rows = np.array([("a", "b", 0.5)], dtype=[("by", "U1"), ("of", "U1"), ("share", float)])
    names, columns = as_table(rows)
    assert (names, [c.to_pylist() for c in columns]) == (("by", "of", "share"), [["a"], ["b"], [0.5]])
    _, (sparse,) = as_table(pd.DataFrame({"x": pd.arrays.SparseArray([0, 1, 0])}))
    assert sparse.to_pylist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["period", "interval"])
def test_types_of_pandas_alone_are_not_read_as_what_stands_behind_them(kind: str) -> None:
    ranges = {"period": pd.period_range("2020", periods=2, freq="Y"), "interval": pd.interval_range(0, 2)}
    frame = pd.DataFrame({"a": ranges[kind], "b": [1, 2]})
    words = f"column 'a': values of the type {kind} are none of the rules"
    for table in (frame, pa.Table.from_pandas(frame)):
        with pytest.raises(DataError, match=words):
            as_table(table)
    assert as_table(frame.astype({"a": str}))[1][0].type in (pa.string(), pa.large_string())


def test_a_table_alone_is_read_as_one_that_is_named() -> None:
    rules = (
        '@node("company"). @bind("company", "csv", "", "not there.csv"). @edge("own"). p(X) :- own(X,Y,W).'
    )
    for frame in (FRAME, pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "w": ["60%", "0.5"]})):
        alone = kgreason.read_graph(rules, frame)
        named = load_graph(OWN, {"own": frame})
        assert alone.labels.tolist() == named.labels.tolist()
        assert edges(alone) == edges(named)
    for frame in (FRAME.assign(by=["A", None, "D"]), FRAME.assign(share=[0.5, np.nan, 0.5])):
        with pytest.raises(DataError, match="row 2: the cell is empty"):
            kgreason.read_graph(rules, frame)


def test_a_weight_of_a_graph_is_no_heading() -> None:
    with pytest.raises(DataError) as caught:
        load_graph(OWN, {"own": nx.DiGraph([("a", "b", {"weight": "heavy"})])})
    assert caught.value.hint is None


def test_missing_values_of_a_frame() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", None], "w": [0.5, 0.5]})
    with pytest.raises(DataError, match="<own>: column 'b': row 2: the cell is empty"):
        load_facts(OWN, {"own": frame})


def test_categories_and_small_integers() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": np.array([1, 2], dtype=np.int8), "w": [1, 0]})
    assert list(load_facts(OWN, {"own": frame}).rows("own")) == [("x", "1", 1.0), ("y", "2", 0.0)]


def test_networkx_sorts() -> None:
    undirected = nx.Graph([("a", "b"), ("c", "c")])
    assert edges(from_networkx(undirected), "edge") == {("a", "b", None), ("b", "a", None), ("c", "c", None)}
    rules = load_text('@edge("e"). r(X,Y) :- e(X,Y).')
    assert load_graph(rules, {"e": undirected}).m == 3
    isolated: nx.DiGraph[int] = nx.DiGraph()
    isolated.add_nodes_from([1, 2])
    assert from_networkx(isolated).n == 2
    with pytest.raises(DataError, match="same text"):
        from_networkx(nx.Graph([(1, "1")]))
    half: nx.DiGraph[str] = nx.DiGraph()
    half.add_edge("a", "b", weight=0.5)
    half.add_edge("b", "c")
    with pytest.raises(DataError, match="1 of the 2 edges of 'edge' have no weight"):
        from_networkx(half)
    with pytest.raises(DataError, match="1 of the 2 edges of the graph have no weight"):
        as_table(half)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.25, 0.5])), max_size=12
    )
)
def test_networkx_round_trip(given_edges: list[tuple[str, str, float]]) -> None:
    graph = KnowledgeGraph.from_edges(given_edges, relation="own", vertices=["z"])
    back = from_networkx(to_networkx(graph), relation="own")
    assert back.labels.tolist() == graph.labels.tolist()
    assert edges(back) == edges(graph)


def test_several_relations_and_attributes() -> None:
    one = np.array([0], dtype=np.int64)
    relations = {"own": Relation(one, one + 1, np.array([0.5])), "knows": Relation(one + 1, one)}
    graph = KnowledgeGraph(np.array(["a", "b"], dtype=object), relations, {"size": np.array([3, 4])})
    made = to_networkx(graph)
    assert dict(made.nodes(data=True)) == {"a": {"size": 3}, "b": {"size": 4}}
    back = from_networkx(made)
    assert edges(back, "own") == {("a", "b", 0.5)}
    assert edges(back, "knows") == {("b", "a", None)}
    with pytest.raises(DataError, match="choose a relation: own, knows"):
        to_arrow(graph)
    with pytest.raises(DataError, match="there is no relation 'owns'"):
        to_arrow(graph, "owns")
    assert to_arrow(graph, "knows").to_pylist() == [{"source": "b", "target": "a"}]


def test_tables_out() -> None:
    graph = load_graph(OWN, {"own": FRAME})
    assert to_pandas(graph).equals(FRAME)
    facts = Facts.from_rows({"p": [("a", 1, 0.5, True), ("b", 2, 0.25, False)]})
    assert facts_to_arrow(facts, "p").to_pylist() == [
        {"c1": "a", "c2": 1, "c3": 0.5, "c4": True},
        {"c1": "b", "c2": 2, "c3": 0.25, "c4": False},
    ]


@pytest.mark.parametrize("name", ["percent", "Percentage", "Anteil in %", "pct_owned"])
def test_a_column_of_percentages_is_called_share_as_it_holds_shares(name: str) -> None:
    graph = load_graph(OWN, {"own": FRAME.set_axis([*FRAME.columns[:2], name], axis=1)})
    assert to_pandas(graph).columns.tolist() == [*FRAME.columns[:2], "share"]


def test_integer_vertices_stay_integers_and_join_the_tables_that_they_came_from() -> None:
    shares = pd.DataFrame({"owner": [1, 2, 3], "company": [2, 3, 4], "share": [0.6, 0.7, 0.4]})
    names = pd.DataFrame({"id": [1, 2, 3, 4], "name": list("abcd")})
    found = kgreason.reason("rules/control.vada", {"own": shares})
    merged = found.to_pandas("control").merge(names, left_on="Z", right_on="id")
    assert set(zip(merged["X"], merged["name"], strict=True)) >= {(1, "b"), (1, "c"), (3, "c")}
    text = kgreason.reason("rules/control.vada", {"own": shares.astype({"owner": str, "company": str})})
    assert {(str(x), str(z)) for x, z in found.rows("control")} == set(text.rows("control"))
    steps = kgreason.explain("rules/control.vada", "control(1, 3)", {"own": shares}).as_text()
    assert "<own>:row 1" in steps  # facts are found again in the table
    reasoner = kgreason.Reasoner("rules/control.vada", {"own": shares})
    assert reasoner.add_facts({"own": [(4, 5, 0.9)]}).added["control"] == [(4, 5), (5, 5)]
    with pytest.raises(DataError, match="argument 1 of own is an integer in the data so far"):
        reasoner.add_facts({"own": [("x", 5, 0.1)]})


@pytest.mark.parametrize(
    ("rules", "data"),
    [
        (OWN_PAIRS, {"own": [("1", 2, 0.6)]}),
        ('@edge("own"). @node("c"). @output("p"). p(X,Y) :- own(X,Y,W).', {"own": [(1, 2, 0.6)], "c": ["x"]}),
        ('@edge("own"). @output("p"). p(X,Y) :- own(X,Y,W), X != "7".', {"own": [(1, 2, 0.6)]}),
    ],
    ids=["one column of strings", "vertices of strings", "rules that name a vertex"],
)
def test_vertices_are_strings_where_some_are_or_the_rules_name_them(rules: str, data: dict) -> None:
    assert kgreason.reason(rules, data).rows("p") == [("1", "2")]


def test_vertices_of_a_text_file_stay_as_written(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("owner,company,share\n1,02,0.6\n")
    assert kgreason.reason(OWN_PAIRS, {"own": tmp_path / "own.csv"}).rows("p") == [("1", "02")]
