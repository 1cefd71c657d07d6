"""Round trips through pandas, Polars, Arrow, NetworkX and igraph, and graphs that functions take as they are."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason import KnowledgeGraph, Relation
from kgreason.base.errors import CallError, DataError, ReleaseError
from kgreason.data.library_imports import as_table
from kgreason.links import LinkGraph
from kgreason.links.model import Observations
from kgreason.people import PeopleGraph
from tests.examples import inputs

OWN = '@edge("own"). @derived("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'
EDGES = [("A", "D", 0.6), ("D", "E", 0.8), ("A", "E", 0.2)]
ZONE = timezone(timedelta(hours=2))


class Capsule:
    """Some library's table: all that is known of it is the interface of Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """The older interface of DataFrames."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def __dataframe__(self, *args: Any, **named: Any) -> Any:
        return self._frame.__dataframe__(*args, **named)


def polars_of(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


TABLES = {
    "pandas": lambda t: t.to_pandas(),
    "pandas arrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": polars_of,
    "arrow": lambda t: t,
    "reader": lambda t: t.to_reader(),
    "batch": lambda t: t.combine_chunks().to_batches()[0] if len(t) else t,
    "capsule": Capsule,
    "tuples": lambda t: [tuple(row.values()) for row in t.to_pylist()],
    "mapping": lambda t: t.to_pydict(),
}

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int8(), st.integers(-128, 127)),
    "float": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0)),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    "bool": (pa.bool_(), st.booleans()),
    "date": (
        pa.timestamp("us"),
        st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),
    ),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(-5, 5), max_size=3)),
}


@st.composite
def tables(draw: Any) -> pa.Table:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(VALUES[k][1] for k in kinds)), min_size=1, max_size=6))
    columns = [pa.array(c, VALUES[k][0]) for k, c in zip(kinds, zip(*rows, strict=True), strict=True)]
    return pa.table(columns, names=[f"c{i}" for i in range(len(kinds))])


def values(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted({values(tuple(r.values())) for r in table.to_pylist()}, key=repr)


@settings(max_examples=inputs(60), deadline=None)
@given(tables(), st.sampled_from(sorted(TABLES)))
def test_tables_come_back(table: pa.Table, library: str) -> None:
    handed = TABLES[library](table)
    variables = ", ".join(f"C{i}" for i in range(table.num_columns))
    found = kgreason.reason(f"q({variables}) :- p({variables}).", {"p": handed})
    assert sorted(found.rows("q"), key=repr) == rows_of(table)
    assert rows_of(found.to_arrow("q")) == rows_of(table)
    back = found.to_polars("q")
    assert sorted(map(values, back.rows()), key=repr) == rows_of(table)
    frame = kgreason.reason(f"q({variables}) :- p({variables}).", {"p": found.to_pandas("q")})
    assert sorted(frame.rows("q"), key=repr) == rows_of(table)


def test_categories_of_all_libraries() -> None:
    texts = ["x", "y", "x"]
    frames = [
        pd.DataFrame({"a": pd.Categorical(texts)}),
        pl.DataFrame({"a": pl.Series(texts, dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(texts, dtype=pl.Enum(["x", "y"]))}),
        pa.table({"a": pa.array(texts).dictionary_encode()}),
        pl.Series(texts),
        pd.Series(texts),
    ]
    for frame in frames:
        found = kgreason.reason("q(X) :- p(X).", {"p": frame})
        assert sorted(found.rows("q")) == [("x",), ("y",)], frame


def test_dates_with_and_without_zones() -> None:
    naive = datetime(2024, 1, 1, 10, 30)
    aware = datetime(2024, 1, 1, 12, 30, tzinfo=ZONE)
    frames = [
        [(naive,), (aware,)],
        pd.DataFrame({"t": [aware]}),
        pl.DataFrame({"t": [aware.astimezone(UTC)]}),
        pa.table({"t": pa.array([aware], pa.timestamp("ns", "+02:00"))}),
    ]
    for frame in frames:
        assert kgreason.reason("q(X) :- p(X).", {"p": frame}).rows("q") == [(naive,)]
    assert kgreason.reason("q(X) :- p(X).", {"p": pl.DataFrame({"t": [date(2024, 1, 1)]})}).rows("q") == [
        (datetime(2024, 1, 1),)
    ]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "capsule", "mapping"])
def test_missing_cells_are_errors(library: str) -> None:
    table = pa.table({"a": ["x", None], "b": ["y", "z"]})
    with pytest.raises(DataError, match=r"column 'a': row 2: the cell is empty"):
        kgreason.reason("q(X) :- p(X, Y).", {"p": TABLES[library](table)})


def test_frames_that_hand_nothing_over() -> None:
    with pytest.raises(
        DataError, match=r"a LazyFrame has no rows yet\n  help: give the frame that its collect"
    ):
        as_table(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(DataError, match="hands over no table"):
        as_table(_Broken())


class _Broken:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise TypeError("closed")


@pytest.mark.filterwarnings("ignore:The DataFrame Interchange Protocol:Warning")
def test_the_older_interface() -> None:
    names, columns = as_table(Interchange(pd.DataFrame({"a": [1, 2], "w": [0.5, 0.25]})))
    assert names == ("a", "w")
    assert columns[1].to_pylist() == [0.5, 0.25]


def test_lists_of_tables() -> None:
    table = pa.table({"a": ["x"], "b": ["y"], "w": [0.5]})
    more = pl.DataFrame({"a": ["y"], "b": ["z"], "w": [0.5]})
    for handed in ([table, more], [table.to_reader(), more], [Capsule(table), more]):
        assert kgreason.read_graph(OWN, {"own": handed}).m == 2
    one = igraph.Graph([(0, 1)], directed=True)
    assert (
        kgreason.read_graph('@edge("own"). p(X,Y) :- own(X,Y).', {"own": [one, nx.DiGraph([(5, 6)])]}).m == 2
    )


# --- graphs -----------------------------------------------------------------------------


@st.composite
def graphs(draw: Any) -> KnowledgeGraph:
    labels = draw(
        st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True, min_size=1, max_size=5)
    )
    n, relations = len(labels), {}
    for name in draw(st.lists(st.sampled_from(["own", "knows", "pays"]), min_size=1, unique=True)):
        pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        weight = None
        if draw(st.booleans()) and pairs:
            weight = np.array(draw(st.lists(st.floats(0, 1), min_size=len(pairs), max_size=len(pairs))))
        relations[name] = Relation(ends[:, 0].copy(), ends[:, 1].copy(), weight)
    return KnowledgeGraph(np.array(labels, dtype=object), relations).distinct()


def edges(graph: KnowledgeGraph) -> set[tuple[object, ...]]:
    found = set()
    for name, relation in graph.relations.items():
        weights = [None] * len(relation) if relation.weight is None else (relation.weight + 0.0).tolist()
        ends = graph.labels[relation.source], graph.labels[relation.target]
        found |= set(zip([name] * len(relation), *ends, weights, strict=True))
    return found


@settings(max_examples=inputs(60), deadline=None)
@given(graphs())
def test_graphs_come_back(graph: KnowledgeGraph) -> None:
    for back in (
        kgreason.from_networkx(kgreason.to_networkx(graph)),
        kgreason.from_igraph(kgreason.to_igraph(graph)),
    ):
        assert back.labels.tolist() == graph.labels.tolist()
        assert edges(back) == edges(graph)
    rules = " ".join(f'@edge("{name}").' for name in graph.relations if len(graph.relations[name]))
    weighted = {name for name, r in graph.relations.items() if r.weight is not None}
    for name in graph.relations:
        table = kgreason.to_polars(graph, name)
        assert table.columns == ["source", "target", "weight"][: 3 if name in weighted else 2]
        assert table.height == len(graph.relations[name])
    if rules:
        read = kgreason.read_graph(rules + f" {_uses(graph)}", kgreason.to_igraph(graph))
        assert edges(read) == edges(graph)


def _uses(graph: KnowledgeGraph) -> str:
    return " ".join(
        f"p{i}({name}) :- {name}(X, Y{', W' if r.weight is not None else ''}).".replace(
            f"p{i}({name})", f"p{i}(X)"
        )
        for i, (name, r) in enumerate(graph.relations.items())
        if len(r)
    )


def test_igraph_sorts() -> None:
    bare = igraph.Graph([(0, 1), (1, 1)])
    assert edges(kgreason.from_igraph(bare)) == {
        ("edge", "0", "1", None),
        ("edge", "1", "0", None),
        ("edge", "1", "1", None),
    }
    named = igraph.Graph([(0, 1)], directed=True)
    named.vs["name"], named.es["weight"] = ["a", "b"], [0.7]
    assert edges(kgreason.read_graph(OWN, {"own": named})) == {("own", "a", "b", 0.7)}
    assert edges(kgreason.read_graph(OWN, named)) == {("own", "a", "b", 0.7)}
    named.vs["name"] = ["a", "a"]
    with pytest.raises(DataError, match="same text, 'a'"):
        kgreason.from_igraph(named)
    named.vs["name"] = ["a", None]
    with pytest.raises(DataError, match="some vertices of the graph have no name"):
        kgreason.from_igraph(named)
    named.vs["name"], named.es["weight"] = ["a", "b"], [float("nan")]
    with pytest.raises(DataError, match="a weight is no number: that of edge 1 is nan"):
        kgreason.from_igraph(named)
    assert kgreason.from_igraph(igraph.Graph(3)).n == 3


def test_relations_of_edges_choose_the_predicate() -> None:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_edge("a", "b", relation="own", weight=0.6)
    graph.add_edge("b", "c", relation="knows")
    two = '@edge("own"). @edge("knows"). p(X) :- own(X,Y,W), knows(Y,Z).'
    read = kgreason.read_graph(two, {"own": graph, "knows": graph})
    assert (
        edges(read)
        == {("own", "a", "b", 0.6), ("knows", "b", "c", None)}
        == edges(kgreason.read_graph(two, graph))
    )
    with pytest.raises(DataError, match="of the relations knows, own, none of 'edge'"):
        kgreason.read_graph('@edge("edge"). p(X) :- edge(X,Y).', {"edge": graph})


def test_functions_take_graphs_and_tables() -> None:
    result = kgreason.anonymize(
        OWN,
        nx.DiGraph([("A", "B", {"weight": 0.6}), ("B", "C", {"weight": 0.3})]),
        method="klone",
        k=2,
        x=2,
        seed=1,
    )
    original, released = result.original, result.release.graph
    mapping = result.mapping
    forms: list[Any] = [
        (original, released, mapping),
        (kgreason.to_networkx(original), kgreason.to_networkx(released), mapping),
        (kgreason.to_igraph(original), kgreason.to_igraph(released), pd.Series(mapping).reset_index()),
        (
            kgreason.to_pandas(original),
            kgreason.to_pandas(released),
            pa.table({"o": list(mapping), "r": list(mapping.values())}),
        ),
        (
            kgreason.to_polars(original),
            kgreason.to_arrow(released),
            pl.DataFrame({"o": list(mapping), "r": list(mapping.values())}),
        ),
    ]
    for one, other, pairs in forms:
        assert kgreason.verify(one, other, pairs, OWN, k=2, x=2).holds
        assert kgreason.score(one, other, pairs, OWN).utility.u == 0.0
    for one, other, pairs in forms[1::2]:
        assert kgreason.attack(one, other, pairs, OWN, k=2, x=2, knowledge="part", seed=1).as_promised
    assert kgreason.verify_alone(kgreason.to_networkx(released), OWN, k=2, x=2).state != "fails"
    assert (
        kgreason.risk(
            OWN, kgreason.to_polars(original), population=kgreason.to_networkx(original), k=2
        ).graph.m
        == 2
    )


def test_refusals() -> None:
    two = '@edge("own"). @edge("knows"). p(X) :- own(X,Y,W), knows(Y,Z).'
    with pytest.raises(CallError, match="does not say which of the edges it holds: own, knows"):
        kgreason.read_graph(two, pl.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(
        CallError, match="a graph is a KnowledgeGraph, one of NetworkX or igraph or a table, not of type int"
    ):
        kgreason.verify(3, 4, {}, OWN)  # type: ignore[arg-type]
    graph = KnowledgeGraph.from_edges(EDGES, relation="own")
    with pytest.raises(ReleaseError, match="the mapping has 1 columns"):
        kgreason.verify(graph, graph, pa.table({"o": ["A"]}), OWN)
    with pytest.raises(CallError, match=r"a graph is a KnowledgeGraph, a PeopleGraph or a LinkGraph"):
        kgreason.to_networkx("graph")  # type: ignore[call-overload]
    facts = kgreason.reason("q(X) :- p(X).", {"p": ["a"]})
    with pytest.raises(DataError, match="facts of 1 argument are no edges"):
        facts.to_networkx("q")


def test_facts_as_graphs() -> None:
    rules = "q(X,Y,W,S) :- p(X,Y,W,S)."
    found = kgreason.reason(rules, {"p": [("a", "b", 0.5, "x"), ("b", "c", 0.25, "y")]})
    assert sorted(found.to_networkx("q").edges(data=True)) == [
        ("a", "b", {"relation": "q", "weight": 0.5, "S": "x"}),
        ("b", "c", {"relation": "q", "weight": 0.25, "S": "y"}),
    ]
    made = found.to_igraph("q")
    assert sorted(zip(made.es["weight"], made.es["S"], strict=True)) == [(0.25, "y"), (0.5, "x")]
    with pytest.raises(KeyError, match="is no output"):
        found.to_igraph("r")


# --- people and links --------------------------------------------------------------------


def people() -> PeopleGraph:
    return PeopleGraph.from_triples(
        ["Ken", "Mary", "Tom"],
        [("Ken", "age", "18"), ("Ken", "age", "20"), ("Mary", "age", "19.5"), ("Mary", "job", "Student")],
        [("Ken", "follows", "Mary"), ("Mary", "friends", "Tom")],
        numeric=["age"],
        mutual=["friends"],
    )


def told(graph: PeopleGraph) -> dict[str, object]:
    whole = kgreason.to_networkx(graph)
    found: dict[str, object] = {"labels": sorted(whole)}
    for name, attribute in graph.attributes.items():
        values = whole.nodes(data=name)
        found[name] = attribute.kind, {u: v for u, v in values if v}
    for name, links in graph.relations.items():
        pairs = kgreason.to_arrow(graph, name).to_pylist()
        found[name] = links.mutual, {(row["source"], row["target"]) for row in pairs}
    return found


def test_people_out_and_in_again() -> None:
    graph = people()
    for out in (kgreason.to_arrow, kgreason.to_polars, kgreason.to_pandas):
        frame = {"name": ["Ken", "Mary", "Tom"], "age": [[18.0, 20.0], [19.5], None]}
        schema = kgreason.people.schema(
            frame,
            id="name",
            values=[("Mary", "job", "Student")],
            links={"follows": out(graph, "follows"), "friends": out(graph, "friends")},
            categorical=["job"],
            mutual=["friends"],
        )
        assert told(kgreason.people.read(schema)) == told(graph)
        assert sorted(as_table(out(graph, "age"))[1][1].to_pylist()) == [18.0, 19.5, 20.0]
    with pytest.raises(DataError, match="choose a relation: friends, follows, age, job"):
        kgreason.to_arrow(graph)
    made = kgreason.to_networkx(graph)
    assert made.is_directed()
    assert made.nodes["Ken"]["age"] == [18.0, 20.0]
    assert sorted((s, t, d["relation"]) for s, t, d in made.edges(data=True)) == [
        ("Ken", "Mary", "follows"),
        ("Mary", "Tom", "friends"),
        ("Tom", "Mary", "friends"),
    ]
    assert sorted(kgreason.to_igraph(graph).es["relation"]) == ["follows", "friends", "friends"]


def test_people_of_graphs_and_frames() -> None:
    undirected: nx.Graph[str] = nx.Graph([("Ken", "Mary")])
    undirected.add_node("Ann")
    frame = pl.DataFrame({"name": ["Ken", "Mary"], "age": [18, 19], "city": ["Rome", None]})
    graph = kgreason.people.read(kgreason.people.schema(frame, id="name", links={"mail": undirected}))
    assert told(graph) == {
        "labels": ["Ann", "Ken", "Mary"],
        "age": ("numeric", {"Ken": [18.0], "Mary": [19.0]}),
        "city": ("categorical", {"Ken": ["Rome"]}),
        "mail": (True, {("Ken", "Mary")}),
    }
    directed = igraph.Graph([(0, 1)], directed=True)
    mails = kgreason.people.read(kgreason.people.schema(links={"mail": directed}))
    assert told(mails) == {"labels": ["0", "1"], "mail": (False, {("0", "1")})}
    made = kgreason.people.anonymize(
        kgreason.people.schema({"name": list("abcd"), "job": ["x", "x", "y", "z"]}, id="name"), k=2, seed=1
    )
    assert made.holds


def test_people_refusals() -> None:
    with pytest.raises(CallError, match="no table is given"):
        kgreason.people.schema()
    with pytest.raises(CallError, match="links are a mapping from relations"):
        kgreason.people.schema(links=[("a", "b")])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="there is no column 'who' that names the users"):
        kgreason.people.read(kgreason.people.schema({"name": ["a"], "speaks": [["en"]]}, id="who"))
    with pytest.raises(DataError, match="no kind is given for 'job'\n  help: name them in numeric"):
        kgreason.people.read(kgreason.people.schema(values=[("Ken", "job", "clerk")]))
    with pytest.raises(DataError, match="<follows>: the file has 3 columns"):
        kgreason.people.read(kgreason.people.schema(links={"follows": [("a", "b", 1)]}))
    with pytest.raises(DataError, match="<users>: column 'job'"):
        kgreason.people.schema(pa.table({"name": ["a"], "job": pa.array([{"x": 1}])}), id="name")


def test_links_from_tables() -> None:
    rows = [("a", "b"), ("a", "b"), ("b", "c")]
    schema = kgreason.people.schema(
        links={"class": pl.DataFrame(rows, orient="row"), "friends": [("a", "c")]},
        mutual=["class", "friends"],
    )
    original = kgreason.links.read(schema, "friends")
    assert original.graph.observed["class"].count.tolist() == [2, 1]
    assert kgreason.to_arrow(original.graph, "class").to_pylist() == [
        {"source": "a", "target": "b", "count": 2},
        {"source": "b", "target": "c", "count": 1},
    ]
    made = kgreason.to_networkx(original.graph)
    assert not made.is_directed()
    assert sorted(d["count"] for _, _, d in made.edges(data=True)) == [1, 2]
    weighted = LinkGraph(
        np.array(["a", "b"], dtype=object),
        {"pays": Observations(np.array([0]), np.array([1]), np.array([3]), weight=np.array([0.5]))},
    )
    assert kgreason.to_igraph(weighted).es["weight"] == [0.5]


CODE = """
import sys
class Without:
    def find_spec(self, name, *_):
        if name in ("pandas", "polars", "igraph"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
import kgreason
derived = kgreason.reason("q(X, Y) :- p(X, Y).", {"p": [("a", "b")]})
graph = kgreason.KnowledgeGraph.from_edges([("A", "D", 0.6)], relation="own")
for made in ("pandas", "polars", "igraph"):
    for call in (lambda: getattr(derived, f"to_{made}")("q"), lambda: getattr(kgreason, f"to_{made}")(graph)):
        try:
            call()
        except kgreason.KgreasonError as error:
            print(error)
"""


def test_packages_are_optional() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    packages = {
        "pandas": ("a DataFrame", "to_arrow"),
        "polars": ("a Polars DataFrame", "to_arrow"),
        "igraph": ("an igraph graph", "to_networkx"),
    }
    assert done.stdout == "".join(
        2 * f"to_{name}: {what} needs the package {name}, which is not installed\n"
        f"  help: pip install {name}; {other} does without\n"
        for name, (what, other) in packages.items()
    )
