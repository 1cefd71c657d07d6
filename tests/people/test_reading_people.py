"""Graphs of people in files: schemas, reading, writing, and the levels of users."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, DataError, KgreasonError, ReleaseError
from kgreason.cli import app
from kgreason.people.anonymity_levels import (
    binned,
    level_range,
    read_levels,
    te_levels,
    write_levels,
    zipf_levels,
    zipf_shares,
)
from kgreason.people.file_schema import read_schema, schema_of_options
from kgreason.people.model import PeopleGraph, attribute
from kgreason.people.reading import read as read_people
from kgreason.people.release_tables import SCHEMA, TABLES, opaque, write_people
from tests.examples import inputs
from tests.folders import ROOT

FILES = (*(f"{table}.csv" for table in TABLES), SCHEMA)
EXAMPLE = ROOT / "examples" / "people"


class Notes:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def step(self, *_: Any) -> None: ...
    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.notes.append(message)


def files(folder: Path, **texts: str) -> Path:
    """Write files named name_extension, and return the schema among them."""
    for name, text in texts.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text, encoding="utf-8", newline="")
    return folder / "people.toml"


def content(graph: PeopleGraph) -> dict[str, Any]:
    """All that a graph says, whatever the numbers of users and values."""
    label = graph.labels.tolist()
    return {
        "users": sorted(label),
        "attributes": {
            name: (a.kind, sorted((label[u], a.domain[v]) for u, v in zip(a.user, a.value, strict=True)))
            for name, a in graph.attributes.items()
        },
        "relations": {
            name: sorted((label[s], label[t]) for s, t in zip(r.source, r.target, strict=True))
            for name, r in graph.relations.items()
        },
    }


def equal(one: PeopleGraph, other: PeopleGraph) -> bool:
    """Whether two graphs agree in every array."""
    return (
        one.labels.tolist() == other.labels.tolist()
        and list(one.attributes) == list(other.attributes)
        and list(one.relations) == list(other.relations)
        and all(
            (a.kind, a.domain.tolist(), a.user.tolist(), a.value.tolist())
            == (b.kind, b.domain.tolist(), b.user.tolist(), b.value.tolist())
            for a, b in zip(one.attributes.values(), other.attributes.values(), strict=True)
        )
        and all(
            (a.source.tolist(), a.target.tolist()) == (b.source.tolist(), b.target.tolist())
            for a, b in zip(one.relations.values(), other.relations.values(), strict=True)
        )
    )


SMALL = """\
[[triples]]
files = ["facts.csv"]
[kinds]
numeric = ["age"]
categorical = ["job"]
relations = ["follows"]
"""


def test_reads_what_from_triples_builds(tmp_path: Path) -> None:
    schema = files(
        tmp_path,
        people_toml=SMALL,
        facts_csv='Ken,age,18\nMary,follows,Zoe\nKen,job,"cook, baker"\nMary,age,19\nKen,follows,Mary\n',
    )
    read = read_people(schema)
    built = PeopleGraph.from_triples(
        ["Ken", "Mary", "Zoe"],
        [("Ken", "age", "18"), ("Mary", "age", "19"), ("Ken", "job", "cook, baker")],
        [("Mary", "follows", "Zoe"), ("Ken", "follows", "Mary")],
        numeric=["age"],
    )
    assert content(read) == content(built)
    assert read.labels.tolist() == ["Ken", "Mary", "Zoe"]
    assert read.attributes["age"].numbers.tolist() == [18.0, 19.0]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    facts = "a,age,1\na,age,1.0\na,age,1\na,job,\nb,follows,b\nb,follows,a\nb,follows,a\nc,job,?\n"
    facts += "a,secret,x\nd,secret,y\n"
    schema = files(
        tmp_path,
        people_toml=SMALL.replace("[kinds]", 'missing = ["?"]\n[kinds]\nignore = ["secret"]'),
        facts_csv=facts,
    )
    told = Notes()
    graph = read_people(schema, told)
    assert sorted(graph.labels) == ["a", "b", "c"]  # of d there is nothing but what is ignored
    assert content(graph)["attributes"] == {"age": ("numeric", [("a", "1")]), "job": ("categorical", [])}
    assert told.notes == [
        "empty values, left out: 2 (job 2)",
        "links from a user to itself, left out: 1 (follows 1)",
        "statements that repeat others, counted once: 3 (age 2, follows 1)",
        "numbers written in several ways (1.0 and 1), read as one value: 1 (age 1)",
        "statements left out as the schema says: 2 (secret 2)",
    ]


def test_values_that_are_users_are_noted(tmp_path: Path) -> None:
    told = Notes()
    schema = files(tmp_path, people_toml=SMALL, facts_csv="Ken,job,Mary\nMary,age,1\nKen,follows,Mary\n")
    read_people(schema, told)
    assert any("are names of users" in note and "job 1" in note for note in told.notes)


def test_tables_and_triples_name_the_same_users(tmp_path: Path) -> None:
    schema = files(
        tmp_path,
        people_toml="""\
[[tables]]
files = ["one.csv", "two.csv"]
id = "name"
[[triples]]
files = ["links.tsv"]
columns = ["target", "_", "user"]
relation = "knows"
[kinds]
relations = ["boss"]
mutual = ["knows"]
ignore = ["note"]
""",
        one_csv="name,city,boss,note\nann,Como,bob,x\nbob,,,y\n",
        two_csv="city,name\nLecco,cyd\nComo,cyd\n",
        links_tsv="ann\t2020\tcyd\n",
    )
    graph = read_people(schema)
    assert graph.labels.tolist() == ["ann", "bob", "cyd"]
    assert content(graph)["attributes"] == {
        "city": ("categorical", [("ann", "Como"), ("cyd", "Como"), ("cyd", "Lecco")])
    }
    assert content(graph)["relations"] == {
        "knows": [("ann", "cyd"), ("cyd", "ann")],
        "boss": [("ann", "bob")],
    }


def test_rows_of_tables_without_ids_are_users(tmp_path: Path) -> None:
    text = '[[tables]]\nfiles = ["a.txt", "b.txt"]\nheader = false\n[kinds]\nnumeric = ["2"]\n'
    schema = files(tmp_path, people_toml=text, a_txt="x 1\r\ny 2\r\n", b_txt="x 3")
    graph = read_people(schema)
    assert graph.labels.tolist() == ["1", "2", "3"]
    assert graph.attributes["1"].domain.tolist() == ["x", "y"]
    assert graph.attributes["2"].numbers.tolist() == [1.0, 2.0, 3.0]


def test_parquet_files_keep_their_values(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"name": ["a", "b"], "age": [18, None]}), tmp_path / "people.parquet")
    said = '[[tables]]\nfiles = ["people.parquet"]\nid = "name"\n[kinds]\nnumeric = ["age"]\n'
    told = Notes()
    graph = read_people(files(tmp_path, people_toml=said), told)
    assert graph.labels.tolist() == ["a", "b"]
    assert graph.attributes["age"].numbers.tolist() == [18.0]
    assert told.notes == ["empty values, left out: 1 (age 1)"]


def test_undirected_files_are_read_both_ways(tmp_path: Path) -> None:
    said = '[[triples]]\nfiles = ["a.edges"]\nrelation = "knows"\n[kinds]\nrelations = ["knows"]\n'
    graph = read_people(files(tmp_path, people_toml=said, a_edges="% sym unweighted\n1 2\n2 3\n2 1\n"))
    assert content(graph)["relations"]["knows"] == [("1", "2"), ("2", "1"), ("2", "3"), ("3", "2")]
    assert graph.relations["knows"].mutual


def test_names_may_hold_the_delimiter(tmp_path: Path) -> None:
    schema = files(
        tmp_path,
        people_toml="""\
[[triples]]
files = ["facts.edges"]
columns = ["user", "target", "relation"]
skip = 1
[[names]]
of = ["users"]
files = ["users.idx"]
[[names]]
of = ["values"]
files = ["values.txt"]
columns = ["id", "name"]
delimiter = " "
[[names]]
of = ["relations"]
files = ["relations.tsv"]
columns = ["_", "name", "id"]
header = true
[kinds]
categorical = ["lives in"]
relations = ["loves"]
""",
        facts_edges="2\n7 7 0\n7 8 1\n",
        users_idx="Smith, Ann,7\nBob,8\n",
        values_txt="7 New York City\n",
        relations_tsv="x\tname\tid\n-\tlives in\t0\n-\tloves\t1\n",
    )
    assert content(read_people(schema)) == {
        "users": ["Bob", "Smith, Ann"],
        "attributes": {"lives in": ("categorical", [("Smith, Ann", "New York City")])},
        "relations": {"loves": [("Smith, Ann", "Bob")]},
    }


def test_a_relation_without_links_is_there(tmp_path: Path) -> None:
    told = Notes()
    schema = files(tmp_path, people_toml=SMALL, facts_csv="Ken,age,18\n")
    graph = read_people(schema, told)
    assert list(graph.relations) == ["follows"]
    assert "the data have nothing of 'follows', which the schema names among the relations" in told.notes


ERRORS = {
    "unknown section": (
        {"people_toml": "[[triple]]\nfiles = []\n"},
        "people.toml:1: unknown section 'triple'",
        "did you mean [[triples]]?",
    ),
    "single brackets": ({"people_toml": "[triples]\n"}, "people.toml:1: triples is written [[triples]]", ""),
    "unknown key": (
        {"people_toml": SMALL.replace("[kinds]", "\n[kinds]\nnumerc = []")},
        "people.toml:5: unknown key 'numerc' of kinds",
        "did you mean numeric?",
    ),
    "wrong type": (
        {"people_toml": '[[triples]]\nfiles = "facts.csv"\n'},
        "people.toml:2: files is a list of texts, not 'facts.csv'",
        'files = ["a", "b"]',
    ),
    "no toml": ({"people_toml": "[[triples]]\nfiles = [1 2]\n"}, "people.toml:2: not TOML", "toml.io"),
    "no data": ({"people_toml": "[kinds]\n"}, "people.toml: no data are named", "[[triples]]"),
    "no file": ({"people_toml": "[[triples]]\n"}, "people.toml:1: no file is named", "files ="),
    "missing file": ({"people_toml": SMALL, "fact_csv": ""}, "facts.csv: there is no such file", "fact.csv"),
    "wrong role": (
        {"people_toml": '[[triples]]\nfiles = ["a.csv"]\ncolumns = ["head", "relation", "target"]\n'},
        "people.toml:3: a column cannot be 'head'",
        "user, relation, target",
    ),
    "no role": (
        {"people_toml": '[[triples]]\nfiles = ["a.csv"]\ncolumns = ["user", "target"]\n'},
        "people.toml:3: no column is 'relation'",
        "say relation =",
    ),
    "two kinds": (
        {"people_toml": SMALL.replace('["job"]', '["job", "age"]')},
        "people.toml:5: 'age' is in numeric and in categorical",
        "leave out one",
    ),
    "two numberings": (
        {"people_toml": SMALL + '[[tables]]\nfiles = ["t.csv"]\n'},
        "people.toml: the users of a table are numbered, and other files name users as well",
        "id =",
    ),
    "format": (
        {"people_toml": '[[triples]]\nfiles = ["a.json"]\n'},
        "people are not read from json files",
        "csv, tsv",
    ),
    "unsaid": (
        {"people_toml": SMALL, "facts_csv": "a,age,1\na,jop,cook\na,pet,cat\n"},
        "facts.csv:2: no kind is given for 'jop', 'pet'",
        "did you mean 'job'? name them under [kinds]",
    ),
    "misspelt": (
        {
            "people_toml": '[[tables]]\nfiles = ["t.csv"]\n[kinds]\nnumeric = ["laufzeti"]\n',
            "t_csv": "laufzeit\n1\n2\n",
        },
        "people.toml:3: the numeric attributes name 'laufzeti', which does not occur",
        "did you mean 'laufzeit'?",
    ),
    "no number": (
        {"people_toml": SMALL, "facts_csv": "a,age,1\nb,age,19 years\n"},
        "facts.csv:2: '19 years' is no number, as the values of age are to be",
        'missing = ["19 years"]',
    ),
    "a line of names": (
        {"people_toml": SMALL, "facts_csv": "user,relation,value\na,age,1\n"},
        "facts.csv:1: the first line (user, relation, value) looks like names of columns",
        "header = true",
    ),
    "too many columns": (
        {"people_toml": SMALL, "facts_csv": "a,age,1,2\n"},
        "facts.csv:1: the file has 4 columns, not the 3 of user, relation, target",
        'columns = ["user", "relation", "target", "_"]',
    ),
    "too few columns": (
        {"people_toml": SMALL, "facts_csv": "a,b\n"},
        "facts.csv:1: the file has 2 columns",
        'say for instance relation = "friend"',
    ),
    "no user": (
        {"people_toml": SMALL, "facts_csv": "a,age,1\n,age,2\n"},
        "facts.csv:2: the user is empty",
        "line",
    ),
    "ragged": ({"people_toml": SMALL, "facts_csv": "a,age,1\nb,2\n"}, "facts.csv:2: 2 fields where", ""),
    "no id column": (
        {"people_toml": '[[tables]]\nfiles = ["t.csv"]\nid = "nam"\n', "t_csv": "name,age\na,1\n"},
        "t.csv:1: there is no column 'nam' that names the users",
        "did you mean 'name'?",
    ),
    "no name": (
        {
            "people_toml": SMALL + '[[names]]\nof = ["users"]\nfiles = ["u.idx"]\n',
            "facts_csv": "1,age,1\n2,age,1\n",
            "u_idx": "ann,1\n",
        },
        "facts.csv:2: the user '2' has no name in",
        "names = false",
    ),
    "two names": (
        {
            "people_toml": SMALL + '[[names]]\nof = ["users"]\nfiles = ["u.idx"]\n',
            "facts_csv": "1,age,1\n",
            "u_idx": "ann,1\nbob,1\n",
        },
        "u.idx:2: '1' is the id of a user for two names: 'ann' and 'bob'",
        "keep one",
    ),
    "two ids": (
        {
            "people_toml": SMALL + '[[names]]\nof = ["users"]\nfiles = ["u.idx"]\n',
            "facts_csv": "1,age,1\n",
            "u_idx": "ann,1\nann,2\n",
        },
        "u.idx:2: 'ann' is the name of a user for two ids: '1' and '2'",
        "different names",
    ),
    "names of what": (
        {"people_toml": SMALL + '[[names]]\nof = ["people"]\nfiles = ["u.idx"]\n'},
        "people.toml:8: of cannot be 'people'",
        'of = ["users"]',
    ),
    "named columns": (
        {"people_toml": '[[tables]]\nfiles = ["t.csv"]\ncolumns = ["a"]\n'},
        "people.toml:3: the columns have names already",
        "header = false",
    ),
    "option of another format": (
        {"people_toml": '[[triples]]\nfiles = ["a.txt"]\nquote = "|"\n'},
        "a edges source has no option quote",
        "csv, tsv",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_place_and_remedy(tmp_path: Path, name: str) -> None:
    texts, message, hint = ERRORS[name]
    with pytest.raises(DataError) as caught:
        read_people(files(tmp_path, **texts))
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_options_stand_for_a_schema(tmp_path: Path) -> None:
    schema = files(tmp_path, people_toml=SMALL, facts_csv="Ken,age,18\nKen,job,cook\nKen,follows,Mary\n")
    said = schema_of_options(
        [str(tmp_path / "facts.csv")], attributes=["job"], numeric=["age"], relations=["follows"]
    )
    assert equal(read_people(said), read_people(schema))


def test_options_of_files(tmp_path: Path) -> None:
    files(tmp_path, facts_txt="3\nMary|x|Ken\n")
    said = schema_of_options(
        [f"{tmp_path / 'facts.txt'}?columns=target,_,user&skip=1&delimiter=bar&relation=follows"],
        relations=["follows"],
    )
    assert content(read_people(said))["relations"] == {"follows": [("Ken", "Mary")]}
    for option, message in {"skip=x": "skip is a whole number", "hed=1": "unknown key 'hed'"}.items():
        with pytest.raises(DataError, match=message):
            schema_of_options([f"a.csv?{option}"])


# Names as people write them: with all that CSV and TOML must protect. NumPy drops trailing NULs.
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from(",\"\n\r\t;#%\\'\x7f"),
    min_size=1,
    max_size=6,
).filter(lambda text: text.strip(" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0") and not text.isspace())


@st.composite
def graphs(draw: st.DrawFn) -> PeopleGraph:
    users = draw(st.lists(NAMES, unique=True, max_size=6))
    titles = draw(st.lists(NAMES, unique=True, max_size=5))
    cut = draw(st.integers(0, len(titles)))
    some = st.sampled_from(users) if users else st.nothing()
    numbers = st.integers(-9, 99).map(str) | st.floats(-1e6, 1e6).map(repr).filter(
        lambda t: float(t) != int(float(t))
    )
    numeric = set(draw(st.lists(st.sampled_from(titles[:cut]), unique=True))) if cut else set()
    values = [
        (user, name, draw(numbers if name in numeric else NAMES))
        for name in titles[:cut]
        for user in (draw(st.lists(some, max_size=6)) if users else [])
    ]
    links = [
        (source, name, draw(some))
        for name in titles[cut:]
        for source in (draw(st.lists(some, max_size=6)) if users else [])
    ]
    return PeopleGraph.from_triples(users, values, links, numeric, titles[cut:])


@settings(max_examples=inputs(100), deadline=None)
@given(graph=graphs())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, graph: PeopleGraph) -> None:
    folder = tmp_path_factory.mktemp("people")
    write_people(folder, graph)
    again = read_people(folder / "people.toml")
    assert content(again) == content(graph)
    assert again.labels.tolist() == sorted(graph.labels.tolist())


@settings(max_examples=inputs(60), deadline=None)
@given(graph=graphs(), seed=st.integers(0, 99))
def test_what_is_written_tells_nothing_of_the_order_of_users(
    tmp_path_factory: pytest.TempPathFactory, graph: PeopleGraph, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("people")
    write_people(folder / "a", graph)
    shuffled = graph.of(np.random.default_rng(seed).permutation(graph.n))
    write_people(folder / "b", shuffled)
    for name in FILES:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_the_files_hold_the_graph_and_nothing_else(tmp_path: Path) -> None:
    write_people(tmp_path / "out", read_people(EXAMPLE / "people.toml"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert (tmp_path / "out" / "people.toml").read_text() == (
        '[[tables]]\nfiles = ["users.csv"]\nid = "user"\n\n'
        '[[triples]]\nfiles = ["attributes.csv", "relations.csv"]\nheader = true\n\n'
        '[kinds]\nnumeric = ["age"]\ncategorical = ["city", "job", "speaks"]\n'
        'relations = ["follows"]\nmutual = ["married"]\n'
    )


def test_graphs_that_cannot_be_written(tmp_path: Path) -> None:
    both = PeopleGraph.from_triples("ab", [("a", "knows", "x")], [("a", "knows", "b")])
    with pytest.raises(ReleaseError, match="'knows' is the name of an attribute and of a relation"):
        write_people(tmp_path, both)
    with pytest.raises(ReleaseError, match="a value of job has a blank name"):
        write_people(tmp_path, PeopleGraph.from_triples("a", [("a", "job", " ")]))
    (tmp_path / "file").write_text("")
    with pytest.raises(ReleaseError, match="cannot be made"):
        write_people(tmp_path / "file" / "folder", PeopleGraph.from_triples("a", []))


@given(graph=graphs(), seed=st.integers(0, 99) | st.none())
def test_opaque_users_have_the_same_graph(graph: PeopleGraph, seed: int | None) -> None:
    rng = None if seed is None else np.random.default_rng(seed)
    released, number = opaque(graph, rng, graph.labels)
    assert set(released.labels).isdisjoint(graph.labels)
    assert sorted(number.tolist()) == list(range(graph.n))
    back = released.of(number)
    assert equal(PeopleGraph(graph.labels, back.attributes, back.relations), graph)


def test_the_example_is_complete() -> None:
    told = Notes()
    graph = read_people(EXAMPLE / "people.toml", told)
    assert told.notes == []
    assert graph.n == 60
    assert {name: a.kind for name, a in graph.attributes.items()} == {
        "age": "numeric",
        "job": "categorical",
        "city": "categorical",
        "speaks": "categorical",
    }
    assert len(graph.attributes["speaks"]) > 60
    married = graph.relations["married"]
    assert Counter(zip(married.source, married.target, strict=True)) == Counter(
        zip(married.target, married.source, strict=True)
    )
    assert set(read_levels(EXAMPLE / "k.csv", graph).tolist()) == {2, 3, 4, 5}


# Levels

TRIO = PeopleGraph.from_triples(["ann", "bob", "cyd"], [])


def test_levels_with_and_without_a_line_of_names(tmp_path: Path) -> None:
    for text in ("user,k\ncyd,4\nann,2\nbob,3\n", "cyd,4\nann, 2\nbob,3"):
        (tmp_path / "k.csv").write_text(text)
        assert read_levels(tmp_path / "k.csv", TRIO).tolist() == [2, 3, 4]
    with gzip.open(tmp_path / "k.txt.gz", "wt") as stream:
        stream.write("ann 2\n")
    assert read_levels(tmp_path / "k.txt.gz", TRIO, default=5).tolist() == [2, 5, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ann,2\nbop,3\ncyd,4\n",
            r"k.csv:2: there is no user 'bop' in the graph\n  help: did you mean 'bob'",
        ),
        ("ann,2\n", r"k.csv: no k for 'bob', 'cyd' \(2 of 3 users\)\n  help: add a line for each"),
        (
            "user,k\nann,2\nbob,0\n",
            r"k.csv:3: the k of user 'bob' is less than 1\n  help: write a whole number",
        ),
        ("ann,2.5\n", r"k.csv:1: the k of user 'ann' is '2.5'\n  help: write a whole number"),
        ("ann,-1\n", r"k.csv:1: the k of user 'ann' is '-1'"),
        ("ann,2\nann,2\n", r"k.csv:2: user 'ann' has a k already\n  help: remove one"),
        ("ann,2,3\n", r"k.csv:1: the file has 3 columns, not the 2 of user, k"),
    ],
)
def test_levels_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "k.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_levels(tmp_path / "k.csv", TRIO)


@settings(max_examples=inputs(40), deadline=None)
@given(graph=graphs(), seed=st.integers(0, 99))
def test_written_levels_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, graph: PeopleGraph, seed: int
) -> None:
    path = tmp_path_factory.mktemp("levels") / "k.csv"
    levels = np.random.default_rng(seed).integers(1, 60, graph.n)
    write_levels(path, graph, levels)
    assert read_levels(path, graph).tolist() == levels.tolist()


def test_a_default_level_is_one(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("ann,2\n")
    with pytest.raises(AnonymizationError, match="the default level is at least 1, not 0"):
        read_levels(tmp_path / "k.csv", TRIO, default=0)


def test_ranges() -> None:
    assert level_range(5, 50, 5).tolist() == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    for wrong in ((0, 3, 1), (2, 5, 2), (5, 2, 1), (2, 5, 0)):
        with pytest.raises(AnonymizationError, match="levels cannot run from"):
            level_range(*wrong)


@given(st.lists(st.integers(0, 60), min_size=1), st.integers(1, 12))
def test_levels_by_edges_grow_with_them(counts: list[int], many: int) -> None:
    levels = binned(np.array(counts), np.arange(1, many + 1))
    order = np.argsort(counts, kind="stable")
    assert (np.diff(levels[order]) >= 0).all()
    assert levels.min() == 1
    if min(counts) < max(counts):
        assert levels.max() == many
        assert (levels == many).sum() == (np.array(counts) == max(counts)).sum() or many == 1


def test_zipf_needs_an_exponent_above_one() -> None:
    with pytest.raises(AnonymizationError, match="alpha must be above 1"):
        zipf_levels(TRIO, 2, 5, 1, 1.0, np.random.default_rng(1))


# The public data

FREEBASE = """\
[[triples]]
files = ["{data}/pckga/freebase/attrs.edges.gz", "{data}/pckga/freebase/rels.edges"]
[[names]]
of = ["users"]
files = ["{data}/pckga/freebase/users.idx.gz"]
[[names]]
of = ["values"]
files = ["{data}/pckga/freebase/values.idx.gz"]
[[names]]
of = ["relations"]
files = ["{data}/pckga/freebase/attrs.idx", "{data}/pckga/freebase/rels.idx"]
[kinds]
relations = ["children", "parents", "spouse"]
others = "categorical"
"""
YAGO = """\
[[triples]]
files = ["{data}/pckga/yago/attrs.edges.gz", "{data}/pckga/yago/rels.edges"]
[[names]]
of = ["users"]
files = ["{data}/pckga/yago/entities.idx.gz"]
[[names]]
of = ["values"]
files = ["{data}/pckga/yago/values.idx.gz"]
[[names]]
of = ["relations"]
files = ["{data}/pckga/yago/attrs.idx", "{data}/pckga/yago/rels.idx"]
[kinds]
relations = ["isMarriedTo_rel", "hasAcademicAdvisor_rel", "influences_rel", "hasChild_rel"]
others = "categorical"
"""
YAGO11K = """\
[[triples]]
files = ["{data}/kg/yago11k/train.txt.gz", "{data}/kg/yago11k/valid.txt", "{data}/kg/yago11k/test.txt"]
columns = ["user", "relation", "target", "_", "_"]
[[names]]
of = ["users", "values"]
files = ["{data}/kg/yago11k/entity2id.txt.gz"]
columns = ["name", "id", "_", "_"]
[[names]]
of = ["relations"]
files = ["{data}/kg/yago11k/relation2id.txt"]
[kinds]
relations = ["<isMarriedTo>"]
others = "categorical"
"""
FB15K237 = """\
[[triples]]
files = [
    "{data}/kg/FB15K237/train2id.txt.gz",
    "{data}/kg/FB15K237/valid2id.txt.gz",
    "{data}/kg/FB15K237/test2id.txt.gz",
]
columns = ["user", "target", "relation"]
skip = 1
[[names]]
of = ["users", "values"]
files = ["{data}/kg/FB15K237/entity2id.txt.gz"]
skip = 1
[[names]]
of = ["relations"]
files = ["{data}/kg/FB15K237/relation2id.txt"]
skip = 1
[kinds]
others = "relations"
"""
ICEWS14 = """\
[[triples]]
files = ["{data}/kg/ICEWS14/train.txt.gz", "{data}/kg/ICEWS14/valid.txt.gz", "{data}/kg/ICEWS14/test.txt.gz"]
columns = ["user", "relation", "target", "_", "_"]
[[names]]
of = ["users"]
files = ["{data}/kg/ICEWS14/entity2id.txt"]
[[names]]
of = ["relations"]
files = ["{data}/kg/ICEWS14/relation2id.txt"]
[kinds]
others = "relations"
"""
EMAIL = """\
[[triples]]
files = ["{data}/social/email-Eu-core.txt"]
relation = "mails"
[[triples]]
files = ["{data}/social/email-Eu-core-department-labels.txt"]
relation = "department"
[kinds]
relations = ["mails"]
categorical = ["department"]
"""
DBLP = """\
[[triples]]
files = ["{data}/social/cit-DBLP.edges.gz"]
relation = "cites"
[kinds]
relations = ["cites"]
"""
CREDIT = """\
[[tables]]
files = ["{data}/tabular/SouthGermanCredit.asc"]
[kinds]
numeric = ["laufzeit", "hoehe", "alter"]
"""
COIL = '[[tables]]\nfiles = ["{data}/tabular/ticdata2000.txt.gz"]\nheader = false\n'


def real(text: str, data: Path, folder: Path, progress: Notes | None = None) -> PeopleGraph:
    (folder / "people.toml").write_text(text.replace("{data}", data.as_posix()))
    return read_people(read_schema(folder / "people.toml"), progress or Notes())


@pytest.mark.parametrize(
    ("text", "users", "attributes", "values", "entries", "relations", "links"),
    [
        # users, values, attributes and relations as in Table 1 of PCKGA; 4 of its 2,713 links are loops
        pytest.param(FREEBASE, 5000, 10, 4016, 41067, 3, 2713 - 4, id="freebase"),
        pytest.param(YAGO, 8917, 21, 4386, 94472, 4, 1894, id="yago"),
        pytest.param(YAGO11K, 6498, 9, 4168, None, 1, None, id="yago11k"),
        pytest.param(
            *(FB15K237, 14541, 0, 0, 0, 237, 272115 + 17535 + 20466 - 1806),
            id="fb15k237",
            marks=pytest.mark.slow,
        ),
        # of 50,295 different triples one is a loop
        pytest.param(ICEWS14, 7128, 0, 0, 0, 230, 50295 - 1, id="icews14", marks=pytest.mark.slow),
        pytest.param(EMAIL, 1005, 1, 42, 1005, 1, 25571 - 642, id="email"),
        pytest.param(DBLP, 12591, 0, 0, 0, 1, 49743 - 15, id="dblp"),
        pytest.param(CREDIT, 1000, 21, None, 21000, 0, 0, id="credit"),
        pytest.param(COIL, 5822, 86, 41, 500692, 0, 0, id="coil"),
    ],
)
def test_public_data(
    real_data: Path,
    tmp_path: Path,
    text: str,
    users: int,
    attributes: int,
    values: int | None,
    entries: int | None,
    relations: int,
    links: int | None,
) -> None:
    graph = real(text, real_data, tmp_path)
    assert (graph.n, len(graph.attributes), len(graph.relations)) == (users, attributes, relations)
    if values is not None:
        assert len({v for a in graph.attributes.values() for v in a.domain}) == values
    if entries is not None:
        assert sum(map(len, graph.attributes.values())) == entries
    if links is not None:
        assert sum(map(len, graph.relations.values())) == links


def test_relations_can_be_taken_as_attributes(real_data: Path, tmp_path: Path) -> None:
    chosen = (
        'others = "ignore"\ncategorical = ["/people/person/gender"]\n'
        'relations = ["/people/person/spouse_s./people/marriage/spouse"]'
    )
    told = Notes()
    graph = real(FB15K237.replace('others = "relations"', chosen), real_data, tmp_path, told)
    assert graph.attributes["/people/person/gender"].domain.tolist() == ["/m/02zsn", "/m/05zppz"]
    assert any("left out as the schema says" in note for note in told.notes)


def authors_levels(data: Path, name: str) -> dict[int, int]:
    with gzip.open(data / "pckga" / "k_values" / f"{name}.txt.gz", "rt") as stream:
        return {int(user): int(k) for user, k in csv.reader(stream)}


def numbered(data: Path, folder: str) -> list[str]:
    """Ids of nodes in the order in which the authors number them: as they occur first, values included."""
    with gzip.open(data / "pckga" / folder / "attrs.edges.gz", "rt") as stream:
        lines = stream.readlines()
    lines += (data / "pckga" / folder / "rels.edges").read_text().splitlines()
    return list(dict.fromkeys(end for line in lines for end in line.strip().split(",")[::2]))


@pytest.mark.parametrize(("name", "levels"), [("5-50-5", (5, 50, 5)), ("2-5-1", (2, 5, 1))])
def test_levels_by_edges_are_those_of_the_authors(
    real_data: Path, tmp_path: Path, name: str, levels: tuple[int, int, int]
) -> None:
    ids = numbered(real_data, "freebase")
    assert len(ids) == 9016
    said = FREEBASE.split("[[names]]")[0] + '[kinds]\nrelations = ["9", "10", "11"]\nothers = "categorical"\n'
    graph = real(said, real_data, tmp_path)
    authors = {ids[user]: k for user, k in authors_levels(real_data, f"freebase_te_{name}_0").items()}
    theirs = np.array([authors[label] for label in graph.labels])
    links = (real_data / "pckga" / "freebase" / "rels.edges").read_text().split()
    loops = Counter(s for s, _, t in csv.reader(links) if s == t)
    assert loops.total() == 4  # the authors count them, as two edges each
    edges = graph.out_degrees().sum(axis=1) + graph.in_degrees().sum(axis=1)
    edges += sum(np.bincount(a.user, minlength=graph.n) for a in graph.attributes.values())
    with_loops = edges + np.array([2 * loops[label] for label in graph.labels])
    assert binned(with_loops, level_range(*levels)).tolist() == theirs.tolist()
    assert set(graph.labels[te_levels(graph, *levels) != theirs]) <= set(loops)


def test_levels_by_edges_of_the_mails(real_data: Path) -> None:
    # the authors count a mail to oneself, which is no link, as two edges; all users have one department more
    ends = np.loadtxt(real_data / "social" / "email-Eu-core.txt", dtype=np.int64)
    edges = np.bincount(ends.ravel(), minlength=1005)
    authors = [k for _, k in sorted(authors_levels(real_data, "email_te_5-50-5_0").items())]
    assert Counter(binned(edges, level_range(5, 50, 5)).tolist()) == Counter(authors)


# The te levels of YAGO do not follow from the numbers of edges by this rule: nearly all are the lowest one there.


@pytest.mark.parametrize("levels", [(2, 5, 1), (5, 50, 5)])
def test_random_levels_are_distributed_as_those_of_the_authors(
    real_data: Path, levels: tuple[int, int, int]
) -> None:
    from scipy.stats import chisquare

    values = level_range(*levels)
    low, high, step = levels
    counts = np.zeros(len(values))
    for path in (real_data / "pckga" / "k_values").glob(f"*_zipf_{low}-{high}-{step}-2_*"):
        found = Counter(authors_levels(real_data, path.name.removesuffix(".txt.gz")).values())
        counts += [found[k] for k in values.tolist()]
    assert counts.sum() > 40_000
    assert chisquare(counts, zipf_shares(len(values), 2.0) * counts.sum()).pvalue > 0.01
    graph = PeopleGraph.from_triples(map(str, range(40_000)), [])
    drawn = zipf_levels(graph, *levels, 2.0, np.random.default_rng(5))
    mine = np.array([(drawn == k).sum() for k in values])
    assert chisquare(mine, zipf_shares(len(values), 2.0) * mine.sum()).pvalue > 0.001


# The command


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize("strategy", ["zipf", "te"])
def test_the_command_writes_levels(tmp_path: Path, strategy: str) -> None:
    schema, out = EXAMPLE / "people.toml", tmp_path / "k.csv"
    result = run("people", "generate-k", strategy, schema, "--out", out, "--range", "5-50-5")
    assert result.exit_code == 0, result.output
    assert "60 users" in result.output
    assert set(read_levels(out, read_people(schema)).tolist()) <= set(range(5, 51, 5))


def test_the_command_takes_files(tmp_path: Path) -> None:
    out = tmp_path / "k.csv"
    lists = ("--relations", "follows,married", "--attributes", "speaks")
    result = run("people", "generate-k", "te", f"{EXAMPLE / 'facts.csv'}?header=true", *lists, "--out", out)
    assert result.exit_code == 0, result.output
    table = f"{EXAMPLE / 'people.csv'}?id=name"
    numeric = ("--table", "--numeric", "age", "--out", out, "--force")
    assert run("people", "generate-k", "te", table, *numeric).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no data are named"),
        (("a.csv", "people.toml"), "the schema says what is read"),
        (("none.toml",), "there is no such file"),
        (
            (str(EXAMPLE / "people.toml"), "--range", "5-2-1"),
            "levels cannot run from 5 to 2 by 1",
        ),
        ((str(EXAMPLE / "people.toml"), "--range", "2-5"), "is no range LOW-HIGH-STEP"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run("people", "generate-k", "te", *arguments, "--out", tmp_path / "k.csv")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


@pytest.mark.slow
def test_a_million_triples_take_seconds(tmp_path: Path) -> None:
    from time import perf_counter

    from kgreason.data.formats.delimited import write_csv

    rng = np.random.default_rng(1)
    m = 1_000_000
    user, value = rng.integers(0, 200_000, m).astype(str), rng.integers(0, 5000, m).astype(str)
    write_csv(
        tmp_path / "facts.csv", ("u", "r", "t"), (user, rng.choice(["age", "job", "follows"], m), value)
    )
    (tmp_path / "people.toml").write_text(SMALL.replace("[kinds]", "header = true\n[kinds]"))
    start = perf_counter()
    graph = read_people(tmp_path / "people.toml")
    assert perf_counter() - start < 10
    assert graph.n > 190_000


@settings(max_examples=inputs(50), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), NAMES)))
def test_attributes_are_those_of_the_model(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, str]]
) -> None:
    graph = PeopleGraph.from_triples("abcde", [])
    users, texts = (list(column) for column in zip(*entries, strict=True)) if entries else ([], [])
    model = attribute("categorical", np.array(users, dtype=np.int64), np.array(texts, dtype=object))
    folder = tmp_path_factory.mktemp("people")
    write_people(folder, PeopleGraph(graph.labels, {"x": model}, {}))
    found = read_people(folder / "people.toml").attributes
    assert ("x" in found) == bool(entries)  # that there was such an attribute is told by its values alone
    if not entries:
        return
    read = found["x"]
    assert read.domain.tolist() == model.domain.tolist()
    assert (read.user.tolist(), read.value.tolist()) == (model.user.tolist(), model.value.tolist())


def test_errors_are_those_of_users() -> None:
    with pytest.raises(KgreasonError):
        read_people("nowhere.toml")


# What a first look at a table would miss


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("33\t1\tx\n34\t2\ty\n", "a column is called '33': the first line looks like data"),
        ("name,x, x\na,1,2\n", "two columns are called 'x'"),
        ("name\tjob\tjob\na\tx\ty\n", "two columns are called 'job': the first line looks like data"),
    ],
)
def test_a_first_line_of_data_is_not_lost(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / ("t.csv" if "," in text else "t.txt")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(said)) as caught:
        read_people(schema_of_options([str(file)], table=True))
    assert "header = false" in str(caught.value)


def test_numbers_are_told_apart_that_doubles_confuse(tmp_path: Path) -> None:
    texts = ["9007199254740993", "9007199254740992", "1.0", "1", "1e2", "100"]
    rows = "".join(f"u{i},{text}\n" for i, text in enumerate(texts))
    (tmp_path / "t.csv").write_text("name,n\n" + rows, encoding="utf-8")
    graph = read_people(schema_of_options([f"{tmp_path / 't.csv'}?id=name"], numeric=["n"], table=True))
    assert sorted(graph.attributes["n"].domain) == ["1", "100", "9007199254740992", "9007199254740993"]


def test_numbers_beyond_doubles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,n\na,1\nb,1e301\n", encoding="utf-8")
    with pytest.raises(DataError, match="'1e301' is no number"):
        read_people(schema_of_options([f"{tmp_path / 't.csv'}?id=name"], numeric=["n"], table=True))


def test_columns_that_name_their_users_are_noted(tmp_path: Path) -> None:
    rows = "".join(f"person {i},{'cook' if i % 2 else 'nurse'}\n" for i in range(12))
    (tmp_path / "t.csv").write_text("name,job\n" + rows, encoding="utf-8")
    notes = Notes()
    read_people(schema_of_options([str(tmp_path / "t.csv")], table=True), notes)
    assert any("nearly all values of name are of one user each (12 of 12)" in note for note in notes.notes)
    assert not any("job" in note for note in notes.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "f.csv: the file is empty"), ("a,b\n", "f.csv: the file has names of columns alone")],
)
def test_a_graph_without_users_is_of_files_without_rows(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    notes, file = Notes(), f"{tmp_path / 'f.csv'}?relation=friend&header={str(bool(text)).lower()}"
    assert read_people(schema_of_options([file], relations=["friend"]), notes).n == 0
    assert any(note.endswith(said) for note in notes.notes), notes.notes
    folders = ("--release", str(tmp_path / "release"), "--private", str(tmp_path / "private"))
    asked = ("people", "anonymize", file, "--method", "ckga", "--relations", "friend", *folders)
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert "the graph has no users" in refused.stderr


FRIENDS = "Ann,Bob\nBob,Cyd\nCyd,Ann\nDan,Ann\nEve,Bob\n"
NUMBERED = "1,2\n2,3\n4,5\n6,7\n8,9\n"


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        (f"Person,Freund\n{FRIENDS}", True),
        (f"von,nach\n{NUMBERED}", True),
        ("Name,Alter\nAnn,3\nBob,4\nCyd,5\nDan,5\n", True),  # a number each
        (FRIENDS, False),
        (f"Person,Freund\nPerson,Ann\n{FRIENDS}", False),  # occurs again
        (f"Fay,Gil\n{FRIENDS}Hal,Ina\n", False),  # another line is as lonely
        ("Ann,cook\nBob,nurse\nCyd,smith\nDan,judge\nEve,judge\n", False),  # hardly anybody occurs again
        (NUMBERED, False),
        ("Ann,\nBob,4\nCyd,5\nDan,5\nEve,1\n", False),  # no value
        ("Person,Freund\nAnn,Bob\nBob,Ann\n", False),  # too few to compare with
    ],
)
def test_a_first_line_unlike_the_others_is_noted(tmp_path: Path, text: str, noted: bool) -> None:
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    file = f"{tmp_path / 'f.csv'}?columns=user,target&relation=friend"
    notes = Notes()
    read_people(schema_of_options([file], relations=["friend"]), notes)
    first = text.split("\n")[0].replace(",", ", ")
    told = [note for note in notes.notes if "f.csv:1: " in note]
    assert len(told) == noted
    assert all(f"({first})" in note and "say header=true behind" in note for note in told)
    notes = Notes()
    read_people(schema_of_options([f"{file}&header=true"], relations=["friend"]), notes)
    assert not [note for note in notes.notes if "unlike" in note and first in note]


def test_a_first_line_with_a_relation_of_its_own_is_noted(tmp_path: Path) -> None:
    rows = FRIENDS.replace(",", ",friend,")
    for title, noted in (("Person,Art,Freund\n", 1), ("Person,friend,Freund\n", 0)):
        (tmp_path / "f.csv").write_text(title + rows, encoding="utf-8")
        notes = Notes()
        read_people(schema_of_options([str(tmp_path / "f.csv")], others="relations"), notes)
        assert len([note for note in notes.notes if "unlike the others" in note]) == noted


@pytest.mark.parametrize(
    ("text", "options", "message", "hint"),
    [
        (
            "a,b\n",
            "",
            "has 2 columns, not the 3",
            "say for instance '{}?columns=user,target&relation=friend'",
        ),
        ("a,b,c,d\n", "", "has 4 columns", "as in '{}?columns=user,relation,target,_'"),
        ("a b\n", "?delimiter=,", "has 1 column,", "'{}?delimiter=;'"),
        ("a,b\n", "?columns=Person,Freund", "a column cannot be 'Person'", "passed over with header=true"),
        ("a,b\n", "?columns=Person,Freund", "a column cannot be 'Person'", "user, relation, target"),
        (
            "a,b\n",
            "?columns=user,target",
            "no column is 'relation'",
            "'{}?columns=user,target&relation=friend'",
        ),
        ("user,relation,target\na,friend,b\n", "", "looks like names of columns", "say header=true behind"),
    ],
)
def test_options_are_mended_as_they_are_typed(
    tmp_path: Path, text: str, options: str, message: str, hint: str
) -> None:
    file = tmp_path / "f.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_people(schema_of_options([f"{file}{options}"], relations=["friend"]))
    assert message in str(caught.value)
    assert hint.format(file) in str(caught.value)


def test_tables_of_users_take_options(tmp_path: Path) -> None:
    file = tmp_path / "k.csv"
    for text, options in (
        ("user;k\ncyd;4\nann;2\nbob;3\n", "delimiter=;"),
        ("who;k\ncyd;4\nann;2\nbob;3\n", "delimiter=;&header=true"),
        ("# by hand\n4,x,cyd\n2,y,ann\n3,z,bob\n", "skip=1&columns=k,_,user"),
    ):
        file.write_text(text, encoding="utf-8")
        assert read_levels(f"{file}?{options}", TRIO).tolist() == [2, 3, 4]
    for options, message in (
        ("columns=user", "no column is 'k'"),
        ("of=users", "unknown key 'of' of tables of users"),
        ("header=yes", "header is true or false"),
        ("format=json", "people are not read from json files"),
    ):
        with pytest.raises(DataError, match=message):
            read_levels(f"{file}?{options}", TRIO)
    file.write_text("who,many\ncyd,4\nann,2\nbop,3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"k.csv:1: there is no user 'who' .*\(2 such users of 4\)") as caught:
        read_levels(file, TRIO)
    assert "a first line of names must be user,k" in str(caught.value)
    file.write_text("user,k\nuser,4\n", encoding="utf-8")
    assert read_levels(file, PeopleGraph.from_triples(["user"], [])).tolist() == [4]
