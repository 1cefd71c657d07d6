"""The same product from Python."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kgreason
from kgreason.base.errors import CallError
from kgreason.graph.knowledge_graph import Relation
from kgreason.isomorphism.reading import with_vertices
from kgreason.release.mapping import Names, numbers_of, read_mapping
from kgreason.release.publication import Folders
from tests.conftest import CONTROL, OWNERSHIP

RULES = "\n".join(line for line in CONTROL.splitlines() if not line.startswith("@bind"))
CONTROLLED = {
    ("Adler", "Dachs"),
    ("Adler", "Elster"),
    ("Adler", "Biber"),
    ("Dachs", "Elster"),
    ("Falke", "Gams"),
}


def graph() -> nx.DiGraph[str]:
    made: nx.DiGraph[str] = nx.DiGraph()
    made.add_weighted_edges_from(OWNERSHIP)
    return made


TABLES: dict[str, Any] = {
    "rows": OWNERSHIP,
    "pandas": pd.DataFrame(OWNERSHIP, columns=["owner", "company", "share"]),
    "arrow": pa.table(dict(zip(("o", "c", "w"), map(list, zip(*OWNERSHIP, strict=True)), strict=True))),
    "networkx": graph(),
}


@pytest.mark.parametrize("kind", TABLES)
def test_reason_on_tables_in_memory(kind: str) -> None:
    result = kgreason.reason(RULES, {"own": TABLES[kind]})
    assert {row for row in result.rows("control") if row[0] != row[1]} == CONTROLLED
    assert set(result.predicates) == {"control"}


def test_facts_go_out_as_pandas_and_arrow() -> None:
    result = kgreason.reason(RULES, {"own": OWNERSHIP})
    frame = result.to_pandas("control")
    assert {(a, b) for a, b in frame.itertuples(index=False) if a != b} == CONTROLLED
    assert result.to_arrow("control").num_rows == len(frame)


def test_rules_from_path_text_or_program(ownership: Path) -> None:
    file = ownership / "control.vada"
    program = kgreason.load(file)
    assert kgreason.load(str(file)) == program
    for name in ("own.csv", __file__):  # no such file; one that does not end in .vada
        with pytest.raises(CallError, match="is the name of a file, no rules\n  help: rule files end in"):
            kgreason.load(name)
    assert len(kgreason.load("p(1). % as in own.csv").facts) == 1
    assert kgreason.load(program) is program
    assert kgreason.load(RULES).rules == program.rules


def test_missing_rule_file_is_not_taken_for_text() -> None:
    with pytest.raises(kgreason.KgreasonError, match=r"nowhere\.vada"):
        kgreason.load("nowhere.vada")


def test_anonymize_in_memory() -> None:
    result = kgreason.anonymize(RULES, {"own": graph()}, method="klone", k=2, x=3, trials=1)
    assert result.holds
    released, mapping = result.release.graph, result.release.mapping
    assert len(set(mapping.tolist())) == result.original.n
    assert not set(released.labels) & set(result.original.labels)
    verdict = kgreason.verify(result.original, released, mapping, RULES, k=2, x=2)
    assert verdict.holds
    graphs, proof = (result.original, released, mapping), result.verdict.certificate
    assert kgreason.score(*graphs, RULES, k=2, x=3, certificate=proof) == result.score


def test_anonymize_takes_a_graph() -> None:
    knowledge = kgreason.read_graph(RULES, {"own": OWNERSHIP})
    assert kgreason.anonymize(RULES, knowledge, method="klone", x=2, trials=1).holds


def doubled(knowledge: kgreason.KnowledgeGraph) -> kgreason.KnowledgeGraph:
    """The first three edges stand twice."""
    own = knowledge.relations["own"]
    assert own.weight is not None
    columns = (np.concatenate([a, a[:3]]) for a in (own.source, own.target, own.weight))
    return kgreason.KnowledgeGraph(knowledge.labels, {"own": Relation(*columns)})


def test_rows_of_a_graph_that_stand_twice_are_one_edge() -> None:
    original = kgreason.read_graph(RULES, {"own": OWNERSHIP})
    found = kgreason.anonymize(RULES, doubled(original), method="klone", k=2, x=2, trials=1)
    assert found.original.m == original.m
    released, mapping = found.release.graph, found.release.mapping
    twice = doubled(original), doubled(released), mapping, RULES
    assert kgreason.verify(*twice, k=2, x=2, certificate=found.verdict.certificate) == found.verdict
    assert kgreason.score(*twice, k=2, x=2, certificate=found.verdict.certificate) == found.score


def test_a_graph_must_fit_the_rules() -> None:
    foreign = kgreason.KnowledgeGraph.from_edges([("a", "b", 0.9)], relation="foo")
    with pytest.raises(kgreason.DataError, match="the graph has the relations foo, the rules have own"):
        kgreason.anonymize(RULES, foreign, method="klone", k=2, x=1)
    bare = kgreason.KnowledgeGraph.from_edges([("a", "b")], relation="own")
    with pytest.raises(kgreason.DataError, match="own has no weights"):
        kgreason.verify(bare, bare, np.arange(2), RULES)


def test_graphs_are_immutable() -> None:
    knowledge = kgreason.KnowledgeGraph.from_edges(OWNERSHIP, relation="own")
    for array in (knowledge.labels, knowledge.relations["own"].source, knowledge.relations["own"].weight):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(TypeError):
        knowledge.relations["more"] = knowledge.relations["own"]  # type: ignore[index]
    assert repr(knowledge) == "<KnowledgeGraph with 7 vertices; own: 8 edges>"


def test_a_release_goes_out_as_tables() -> None:
    result = kgreason.anonymize(RULES, {"own": OWNERSHIP}, method="klone", x=2, trials=1)
    assert len(kgreason.to_pandas(result.release.graph)) == result.release.graph.m
    assert kgreason.to_networkx(result.release.graph).number_of_edges() == result.release.graph.m
    assert set(result.mapping) == set(result.original.labels)
    assert "holds" in repr(result)
    graphs = result.original, result.release.graph
    assert kgreason.verify(*graphs, result.mapping, RULES, x=2).holds
    shown = result.verdict.certificate
    verdict = kgreason.verify(*graphs, result.mapping, RULES, x=2, certificate=shown)
    assert verdict.as_dict() == result.verdict.as_dict()
    scored = kgreason.score(*graphs, result.mapping, RULES).fidelity
    assert scored == kgreason.score(*graphs, result.release.mapping, RULES).fidelity
    with pytest.raises(kgreason.ReleaseError, match="has no row"):
        kgreason.verify(*graphs, {}, RULES, x=2)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"seed": 1.5}, "seed must be"),
        ({"k": "3"}, "k must be a whole number of at least 2, not '3'"),
        ({"trials": 0}, "trials must be"),
        ({"mode": "foo"}, "mode 'foo'"),
        ({"method": "x"}, "method 'x'"),
        ({"method": "klone", "mode": "published"}, "only KGUARD has modes"),
        ({"x": ()}, "no number of vertices is given"),
    ],
)
def test_bad_options(option: dict[str, Any], message: str) -> None:
    with pytest.raises(kgreason.AnonymizationError, match=message):
        kgreason.anonymize(RULES, {"own": OWNERSHIP}, **{"x": 2, **option})


def test_folders_are_paths(tmp_path: Path) -> None:
    folders: Any = (str(tmp_path / "release"), str(tmp_path / "private"))
    assert Folders(*folders) == Folders(*map(Path, folders))
    with pytest.raises(TypeError, match="folders are of type Folders, not of type tuple"):
        kgreason.anonymize(RULES, {"own": OWNERSHIP}, x=2, folders=folders)


def test_written_release_is_the_one_returned(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "release", tmp_path / "private")
    result = kgreason.anonymize(RULES, {"own": OWNERSHIP}, method="klone", x=3, trials=1, folders=folders)
    pairs = read_mapping(folders.private / "mapping.csv").released
    released = result.release.graph.labels
    assert pairs == dict(
        zip(result.original.labels.tolist(), released[result.release.mapping].tolist(), strict=True)
    )


def test_without_seed_two_runs_differ() -> None:
    first, second = (
        kgreason.anonymize(RULES, {"own": OWNERSHIP}, method="klone", x=2, trials=1) for _ in range(2)
    )
    assert set(first.release.graph.labels) != set(second.release.graph.labels)


def test_a_graph_written_in_the_rule_file(tmp_path: Path) -> None:
    facts = "".join(f'own("{a}", "{b}", {w}).\n' for a, b, w in OWNERSHIP)
    folders = Folders(tmp_path / "release", tmp_path / "private")
    result = kgreason.anonymize(RULES + "\n" + facts, method="klone", x=3, trials=1, folders=folders)
    assert result.holds
    assert result.original.m == len(OWNERSHIP)
    assert "Adler" not in (folders.release / "rules.vada").read_text()


def test_rules_that_name_a_vertex_are_refused() -> None:
    rules = RULES + '\nspecial(X) :- own("Adler", X, W).\n@query("special").'
    with pytest.raises(kgreason.ProgramError, match="Adler"):
        kgreason.anonymize(rules, {"own": OWNERSHIP})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header must be original,released"),
        ("a,b\nx,y\n", "header must be original,released"),
        ("original,released\nx\n", ":2: a row needs two fields"),
        ("original,released\nx,y\nx,z\n", ":3: the original vertex 'x' stands twice"),
    ],
)
def test_bad_mapping_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mapping.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(kgreason.ReleaseError) as caught:
        read_mapping(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_mapping_must_fit_the_graphs() -> None:
    original = kgreason.KnowledgeGraph.from_edges([("a", "b")])
    released = kgreason.KnowledgeGraph.from_edges([("p", "q")])
    assert numbers_of(
        Names({"a": "q", "b": "p"}, "m.csv"), original.labels, released.labels, "vertex"
    ).tolist() == [1, 0]
    with pytest.raises(kgreason.ReleaseError, match="the original vertex 'b' has no row"):
        numbers_of(Names({"a": "q"}, "m.csv"), original.labels, released.labels, "vertex")
    with pytest.raises(
        kgreason.ReleaseError, match="'b' is mapped to 'z', which the release does not contain"
    ):
        numbers_of(Names({"a": "q", "b": "z"}, "m.csv"), original.labels, released.labels, "vertex")
    assert with_vertices(original, ["a", "c"]).labels.tolist() == ["a", "b", "c"]


def test_public_names() -> None:
    for name in kgreason.__all__:
        assert getattr(kgreason, name).__doc__
    assert "anonymize" in dir(kgreason)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kgreason.nothing  # noqa: B018


HINT = '\n  help: say data={"own": ...} with a file or a table for each predicate'


LOAD = '\n  help: say for instance kgreason.load("control.vada")'


@pytest.mark.parametrize(
    ("rules", "data", "message"),
    [
        (5, None, f"rules are a path, a text or what kgreason.load returns, not of type int{LOAD}"),
        (None, None, f"rules are a path, a text or what kgreason.load returns, not of type NoneType{LOAD}"),
        ("p(X) :- q(X).", [("a",)], f"data are a mapping from predicates, not of type list{HINT}"),
        ("p(X) :- q(X).", {5: [("a",)]}, f"data are a mapping from names of predicates, and 5 is none{HINT}"),
    ],
)
def test_arguments_of_a_wrong_type(rules: Any, data: Any, message: str) -> None:
    with pytest.raises(kgreason.KgreasonError) as caught:
        kgreason.reason(rules, data)
    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == message


def test_outputs_are_names() -> None:
    for wrong in (5, ["p", 5]):
        with pytest.raises(
            kgreason.KgreasonError,
            match=r"^outputs are names of predicates, not of type int\n  help: say for instance",
        ):
            kgreason.reason("p(X) :- q(X). q(1).", outputs=wrong)  # type: ignore[arg-type]


def test_unknown_output_is_told_with_its_neighbour() -> None:
    found = kgreason.reason("control(X) :- q(X).", {"q": [("a",)]})
    for ask in (found.rows, found.to_arrow, found.to_pandas):
        with pytest.raises(KeyError) as caught:
            ask("contrl")
        assert caught.value.args == ("'contrl' is no output; did you mean 'control'? there are control",)


OF_ONE_TYPE = "\n  help: a column has values of one type; str(...) makes strings of them"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([(1,), ("a",)], f"<q>: row 2: 'a' is a string where the rows before have a number{OF_ONE_TYPE}"),
        ([(True,), (1,)], f"<q>: row 2: 1 is a number where the rows before have a truth value{OF_ONE_TYPE}"),
        (
            [(1.5,), (True,)],
            f"<q>: row 2: True is a truth value where the rows before have a number{OF_ONE_TYPE}",
        ),
        (
            pd.DataFrame({"x": [None, 1, "a"]}),
            f"<q>: column 'x': row 3: 'a' is a string where the rows before have a number{OF_ONE_TYPE}",
        ),
        (
            {"x": 5},
            "<q>: column 'x': a column is a list of values, not of type int\n  help: give a list, or an array",
        ),
        (
            {"x": [1, 2], "y": [1]},
            "<q>: column 'y': 1 values where the first column has 2\n  help: give all columns the same length",
        ),
        ([("a\ud800",)], "<q>: 'a\\ud800' is no Unicode text\n  help: replace the lone surrogates in it"),
    ],
)
def test_tables_in_memory_that_do_not_fit(table: Any, message: str) -> None:
    with pytest.raises(kgreason.DataError) as caught:
        kgreason.reason("p(X) :- q(X).", {"q": table})
    assert str(caught.value) == message


def test_tables_in_memory_of_numbers_and_of_nothing() -> None:
    assert kgreason.reason("p(X) :- q(X).", {"q": [(1,), (2.5,)]}).rows("p") == [(1.0,), (2.5,)]
    assert kgreason.reason("p(X) :- q(X).", {"q": []}).rows("p") == []
    texts = [("7",), ("",)]
    for table in (texts, {"a": ["7", ""]}, pd.DataFrame({"a": ["7", ""]})):
        assert sorted(kgreason.reason("p(X) :- q(X).", {"q": table}).rows("p")) == sorted(texts)
    assert kgreason.reason("p(X) :- q(X).", {"q": np.array(["2024-01-15"], "datetime64[ns]")}).rows("p") == [
        (datetime(2024, 1, 15),)
    ]
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert kgreason.reason("p(X, Y) :- q(X, Y).", {"q": twice}).rows("p") == [(1, 2)]


def test_labelled_nulls_go_in_again(tmp_path: Path) -> None:
    one, nine = kgreason.Null(1), kgreason.Null(9)
    rows = [(one, "a"), (one, 2), (nine, 2.0), ("x", nine)]
    given = {"q": rows, "w": [("x", "y"), ("7", "z")]}
    found = kgreason.reason(
        '@output("p"). @output("v"). p(X, Y) :- q(X, Y). v(X) :- w(X, Y), q(X, Z).', given
    )
    assert found.rows("p") == [(one, "a"), (one, 2), (nine, 2), ("x", nine)]
    assert found.rows("v") == [("x",)]
    with pytest.raises(kgreason.DataError, match="row 2: '_:n1' is not an integer"):
        kgreason.reason('@mapping("q", 0, "column1", "int"). p(X) :- q(X).', {"q": [(1,), (one,)]})
    again = kgreason.reason("p(X, Z) :- q(X, Y).", {"q": rows}).rows("p")
    assert len({z for _, z in again}) == len(again) == 3
    assert min(z.number for _, z in again if isinstance(z, kgreason.Null)) == 10
    holes = tmp_path / "h.csv"
    holes.write_text("a,b\nu,\n")
    both = {"f": f"{holes}?missing=null", "q": [("u", nine)]}
    assert kgreason.reason("p(X, Y) :- f(X, Y). p(X, Y) :- q(X, Y).", both).rows("p") == [
        ("u", kgreason.Null(10)),
        ("u", nine),
    ]


def test_explaining_wants_a_text_and_a_number() -> None:
    wrong: list[dict[str, Any]] = [{"goal": 5}, {"goal": "q(1)", "most": 0}, {"goal": "q(1)", "limits": 5}]
    said = ["a goal is a text, not of type int", "most is a whole number of at least 1, not 0"]
    for given, words in zip(wrong, [*said, "limits are a kgreason.Limits, not of type int"], strict=True):
        with pytest.raises(kgreason.KgreasonError, match=f"^{words}") as caught:
            kgreason.explain("p(X) :- q(X). q(1).", **given)
        assert isinstance(caught.value, TypeError)
    with pytest.raises(KeyError, match="5 is no output; there are p"):
        kgreason.reason("p(X) :- q(X). q(1).").rows(5)  # type: ignore[arg-type]
