"""Releases in the format of their input: written, read back, judged; nothing of the original is in their bytes."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau

import kgreason
from kgreason.base.errors import DataError, ReleaseError
from kgreason.base.progress import SILENT, Progress
from kgreason.cli import app
from kgreason.data.format_list import format_of
from kgreason.data.sources import SourceSpec
from kgreason.data.targets import FORMATS
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.definition import Augmented, Guarantee, Release
from kgreason.isomorphism.reading import read_release
from kgreason.isomorphism.release_tables import fitting, planned, write_tables
from kgreason.isomorphism.verification.conditions import CHANCE, labels
from kgreason.language.check.program_checker import load_text
from kgreason.release.mapping import write_mapping
from kgreason.release.publication import Folders
from kgreason.release.table_layout import LISTING, NUMBERED, Layout
from tests.conftest import OWNERSHIP

RULES = """\
@node("company").
@edge("own").
@incoming_sum("own", 1.0).
@derived("major").
@query("two_owns").
major(X, Y) :- own(X, Y, W), W > 0.5.
two_owns(X) :- own(X, Y, W), X != Y, K = mcount(Y), K >= 2.
"""
WEIGHTED = list(FORMATS)
PACKAGES = {"duckdb": "duckdb", "rdf": "pyoxigraph"}
CANARY = "Kanarienvogel"
BESIDE = {"README.txt", "rules.vada", "report.html", "report.json"}


class Notes(Progress):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def need(name: str) -> None:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])


def ownership(name: str) -> KnowledgeGraph:
    """The small graph of companies, with labels that the format can hold and nobody else has."""
    numbers = name in NUMBERED
    known: dict[str, str] = {}
    for row in OWNERSHIP:
        for end in row[:2]:
            known.setdefault(end, str(len(known) + 1) if numbers else f"{CANARY}{end}")
    edges: Sequence[Any] = [(known[a], known[b], w) for a, b, w in OWNERSHIP]
    return KnowledgeGraph.from_edges(edges, relation="own")


def put(folder: Path, name: str) -> Path:
    """The small graph as a file of a format, with its rules beside it."""
    folder.mkdir(exist_ok=True)
    layout = Layout.of({"own": name})
    write_tables(folder, ownership(name), layout, "company")
    (folder / "rules.vada").write_text(RULES, encoding="utf-8")
    return folder / layout.edges["own"].file


def given(file: Path) -> str:
    options = {".sqlite": "?table=own", ".duckdb": "?table=own"}.get(file.suffix, "")
    if (file.parent / "own-nodes.csv").is_file():
        options = "?format=neo4j"
    if file.suffix in (".nt", ".ttl"):
        options = "?predicate=urn:kgreason:own&base=urn:kgreason:"
    return f"own={file}{options}"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "parquet" else [pytest.mark.slow]) for n in (*FORMATS, "ttl")],
)
def test_a_release_keeps_the_format_and_is_judged_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    need("rdf" if name == "ttl" else name)
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", name)
    rules = ["--rules", "in/rules.vada"]
    made = run("anonymize", *rules, "--data", given(file), "-k", 2, "-x", 2, "--trials", 1)
    assert made.exit_code == 0, made.output
    layout = Layout.of({"own": name})
    files = {p.name for p in Path("release").iterdir()}
    assert files == {*BESIDE, *layout.files}
    readme = Path("release/README.txt").read_text()
    assert all(file in readme for file in layout.files)
    held = read_back(name)
    assert held.original.m == len(OWNERSHIP)
    assert held.released.m > held.original.m
    pair = ["release", "--data", given(file), "--mapping", "private", *rules]
    judged = run("verify", *pair, "-k", 2, "-x", 2, "--certificate", "private")
    assert judged.exit_code == 0, judged.output
    assert "files" in judged.output
    known = ["--data", given(file), "--mapping", "private", *rules, "--targets", 20, "--knowledge", "part"]
    attacked = run("attack", "release", *known, "-k", 2, "-x", 2, "--json")
    assert attacked.exit_code == 0, attacked.output
    scored = run("score", *pair, "--json")
    assert scored.exit_code == 0, scored.output
    assert json.loads(scored.stdout)["fidelity"]["edges_added"] == held.released.m - held.original.m
    reasoned = run("reason", "--rules", "release/rules.vada", "--json")
    assert reasoned.exit_code == 0, reasoned.output
    again = run("anonymize", *rules, "--data", given(file), "-k", 2, "-x", 2, "--trials", 1, "--force")
    assert again.exit_code == 0, again.output
    for path in Path("release").iterdir():
        assert CANARY.encode() not in path.read_bytes(), path


def read_back(name: str) -> Any:
    program = load_text(RULES)
    return read_release(program, ownership(name), Path("release"), Path("private/mapping.csv"))


def released(graph: KnowledgeGraph, seed: int, *, numbers: bool) -> Release:
    augmented = Augmented(graph, Guarantee(1, None), originals=graph.n)
    avoid = None if numbers else graph.labels.tolist()
    return publish(augmented, avoid, np.random.default_rng(seed))


def large(name: str) -> KnowledgeGraph:
    """A path, its rows in the order of its vertices."""
    numbers = name in NUMBERED
    names = [str(i + 1) if numbers else f"{CANARY}{i:05}" for i in range(400)]
    pairs = list(pairwise(names))
    return KnowledgeGraph.from_edges([(*pair, (i + 1) / 1000) for i, pair in enumerate(pairs)], "own")


@pytest.mark.parametrize("name", [*FORMATS, "ttl"])
def test_tables_come_back_and_their_bytes_tell_nothing(tmp_path: Path, name: str) -> None:
    need("rdf" if name == "ttl" else name)
    graph = large(name)
    release = released(graph, 3, numbers=name in NUMBERED)
    public, mapping = tmp_path / "release", tmp_path / "mapping.csv"
    public.mkdir()
    layout = Layout.of({"own": name})
    write_tables(public, release.graph, layout, "company")
    write_mapping(mapping, graph.labels, release.graph.labels, release.mapping)
    pair = read_release(load_text(RULES), graph, public, mapping)
    own, back = release.graph.relations["own"], pair.released.relations["own"]
    names = release.graph.labels
    assert pair.released.n == graph.n
    ends = [
        (names[own.source], names[own.target]),
        tuple(pair.released.labels[e] for e in (back.source, back.target)),
    ]
    before, after = (list(zip(*map(np.ndarray.tolist, e), strict=True)) for e in ends)
    assert before == after or name == "ttl"  # Turtle brings the triples of a subject together
    assert sorted(before) == sorted(after)
    if own.weight is not None:
        assert back.weight is not None
        assert np.array_equal(np.round(own.weight, 6), back.weight)
    for path in public.iterdir():
        data = path.read_bytes()
        for encoding in ("utf-8", "utf-16-le"):
            assert CANARY.encode(encoding) not in data
    place = {label: i for i, label in enumerate(graph.labels.tolist())}
    number = {
        released_label: place[label]
        for label, released_label in zip(
            graph.labels.tolist(), pair.released.labels[pair.mapping].tolist(), strict=True
        )
    }
    order = [number[source] for source, _ in after]
    assert kendalltau(np.arange(len(order)), order).pvalue > 1e-4
    listed = [number[label] for label in pair.released.labels.tolist()]
    assert kendalltau(np.arange(len(listed)), listed).pvalue > 1e-4


def test_parquet_and_databases_hold_no_traces(tmp_path: Path) -> None:
    graph = large("parquet")
    release = released(graph, 5, numbers=False)
    for name in ("parquet", "sqlite"):
        write_tables(tmp_path, release.graph, Layout.of({"own": name}), "company")
    held = pq.read_metadata(tmp_path / "own.parquet")
    assert set(held.metadata) <= {b"ARROW:schema"}
    assert held.created_by.startswith("parquet-cpp-arrow")
    with closing(sqlite3.connect(tmp_path / "graph.sqlite")) as base:
        assert base.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert {row[0] for row in base.execute("SELECT name FROM sqlite_master")} == {"own", "nodes"}
        kinds = base.execute("SELECT typeof(source), typeof(weight) FROM own").fetchone()
        assert kinds == ("text", "real")


def test_each_predicate_keeps_its_own_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"{CANARY}{a}", f"{CANARY}{b}", w) for a, b, w in OWNERSHIP]
    pd.DataFrame(rows, columns=["owner", "company", "share"]).to_parquet("own.parquet")
    with gzip.GzipFile("owes.tsv.gz", "wb") as packed:
        packed.write("".join(f"{a}\t{b}\n" for a, b, _ in rows[:5]).encode())
    rules = load_text(
        '@edge("own"). @edge("owes"). @edge("knows"). @derived("d"). d(X, Y) :- own(X, Y, W), owes(X, Y), knows(Y, X).'
    )
    notes = Notes()
    data = {
        "own": "own.parquet",
        "owes": "owes.tsv.gz?useHeaders=false",
        "knows": [(b, a) for a, b, _ in rows[:3]],
    }
    folders = Folders(Path("release"), Path("private"))
    made = kgreason.anonymize(rules, data, k=2, x=2, trials=1, folders=folders, progress=notes)
    assert made.holds
    files = {p.name for p in Path("release").iterdir()}
    assert files == {"own.parquet", "owes.tsv", "knows.csv", "nodes.parquet", *BESIDE}
    assert [note for note in notes.told if "CSV" in note] == [
        "knows was read from no file, so the release holds it as CSV"
    ]
    assert pq.read_schema("release/own.parquet").names == ["owner", "company", "share"]
    pd.DataFrame({"a": ["x"]}).to_csv("release/mine.csv")
    with pytest.raises(ReleaseError, match=r"mine\.csv"):
        Folders(Path("release"), Path("private"), force=True).check()


def test_a_format_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", "csv")
    rules = tmp_path / "in" / "rules.vada"
    folders = Folders(Path("release"), Path("private"), format="json")
    made = kgreason.anonymize(rules, {"own": str(file)}, k=2, x=2, trials=1, folders=folders)
    assert made.holds
    rows = [json.loads(line) for line in Path("release/own.jsonl").read_text().splitlines()]
    assert set(rows[0]) == {"source", "target", "weight"}
    with pytest.raises(DataError, match="cannot be written as 'xlsx'"):
        Folders(Path("a"), Path("b"), format="xlsx").check()
    refused = run("anonymize", "--rules", rules, "--data", f"own={file}", "--format", "xlsx")
    assert refused.exit_code == 2


def test_what_no_file_holds_is_released_as_csv(tmp_path: Path) -> None:
    server = SourceSpec(Path(), "postgresql", {"host": "db1", "table": "own"})
    asked = SourceSpec(tmp_path, "duckdb", query="select * from 'own.parquet'")
    base = tmp_path / "own.db"
    base.touch()
    assert [format_of(s) for s in (server, asked, SourceSpec(base, query="select 1"))] == [
        *("postgresql", "query", "sqlite")
    ]
    notes = Notes()
    rules = load_text(RULES)
    for source in (server, asked):
        assert planned(rules, {"own": source}, None, notes).edges["own"].file == "own.csv"
    planned(rules, None, None, notes)
    assert [note.partition(":")[0] for note in notes.told] == [
        "own",
        "own was read by a query, so the release holds it as CSV",
        "own was read from no file, so the release holds it as CSV",
    ]


@pytest.mark.parametrize("k_iso", [False, True])
def test_numbers_are_given_anew(k_iso: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", "mtx")
    folders = Folders(Path("release"), Path("private"))
    method: Any = "k-iso" if k_iso else "kguard"
    rules = tmp_path / "in" / "rules.vada"
    made = kgreason.anonymize(rules, {"own": str(file)}, method=method, k=2, x=2, trials=1, folders=folders)
    found = made.verdict["labels"]
    assert found.holds
    assert found.detail.startswith(f"labels are the numbers 1 to {made.release.graph.n}, given anew; ")
    head = Path("release/own.mtx").read_text().splitlines()[0]
    assert head == "%%MatrixMarket matrix coordinate real general"
    alone = run("verify", "release", "--rules", rules, "-k", 2, "-x", 1)
    assert (
        k_iso
        or f"the numbers 1 to {made.release.graph.n}"
        in run("verify", "release", "--rules", rules, "-k", 2, "-x", 1, "--json").stdout
    ), alone.output


def path_of(names: Sequence[str]) -> KnowledgeGraph:
    return KnowledgeGraph.from_edges(list(pairwise(names)))


def test_numbers_that_tell_are_refused() -> None:
    n = 60
    numbers = [str(i + 1) for i in range(n)]
    original, release = path_of(numbers), path_of(numbers)
    same = np.arange(n)
    assert (
        labels(original, release, same).detail
        == f"labels are the numbers 1 to {n}, but {n} of {n} vertices keep theirs"
    )
    shifted = labels(original, release, (same + 1) % n)
    assert not shifted.holds
    assert "follow the order" in shifted.detail
    assert not labels(original, release, same[::-1].copy()).holds
    named = path_of([f"{chr(97 + i % 26)}{i}" for i in range(n)])
    assert labels(named, release, same).detail.endswith("follow the order of the original's rows")
    alphabet = np.argsort(np.argsort(named.labels.astype(str)))
    assert labels(named, release, alphabet).detail.endswith("follow the order of the original's labels")
    assert labels(original, release).undecided
    assert labels(named, release).holds


def test_numbers_given_at_random_are_hardly_ever_refused() -> None:
    rng = np.random.default_rng(1)
    assert CHANCE < 1e-4
    for n in (1, 2, 3, 8, 12, 40):
        numbers = [str(i + 1) for i in range(n)]
        graph = replace(path_of(numbers), labels=np.array(numbers, dtype=object))
        assert all(labels(graph, graph, rng.permutation(n)).holds for _ in range(100))


def test_parallel_edges_are_no_matrix() -> None:
    notes = Notes()
    zero, one = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    graph = KnowledgeGraph(
        np.array(["1", "2"], dtype=object), {"own": Relation(zero, one, np.array([0.25, 0.5]))}
    )
    layout = fitting(Layout.of({"own": "mtx"}), graph, notes)
    assert [stored.file for stored in (layout.nodes, layout.edges["own"])] == ["nodes.csv", "out.own"]
    assert "parallel edges" in notes.told[0]
    simple = KnowledgeGraph.from_edges([("1", "2", 0.5)], "own")
    assert fitting(Layout.of({"own": "mtx"}), simple, SILENT).edges["own"].file == "own.mtx"


@pytest.mark.parametrize(
    "name", ["csv", "json", "rdf", "edges", "parquet", "sqlite", "mtx", "gml", "net", "neo4j", "graphml"]
)
def test_an_empty_relation_and_vertices_without_edges(tmp_path: Path, name: str) -> None:
    need(name)
    numbers = name in NUMBERED
    names = ["1", "2", "3"] if numbers else ["p", "q", "r"]
    none = np.empty(0, dtype=np.int64)
    whole = Relation(np.array([0]), np.array([1]))
    graph = KnowledgeGraph(np.array(names, dtype=object), {"own": whole, "owes": Relation(none, none)})
    write_tables(tmp_path, graph, Layout.of({"own": name, "owes": name}), "node")
    (tmp_path / "mapping.csv").write_text("original,released\n" + "".join(f"{n},{n}\n" for n in names))
    rules = load_text('@edge("own"). @edge("owes"). @derived("d"). d(X, Z) :- own(X, Y), owes(Y, Z).')
    back = read_release(rules, graph, tmp_path, tmp_path / "mapping.csv").released
    assert sorted(back.labels.tolist()) == names
    assert [len(back.relations[p]) for p in ("own", "owes")] == [1, 0]


def test_a_folder_with_two_tables_of_one_predicate_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", "csv")
    put(tmp_path / "in", "tsv")
    found = run("verify", "in", "--rules", "in/rules.vada", "-k", 2, "-x", 1)
    assert found.exit_code == 2
    assert "both own.csv and own.tsv could be the table of own" in found.output
    file.unlink()
    (tmp_path / "in" / "nodes.csv").unlink()
    assert run("verify", "in", "--rules", "in/rules.vada", "-k", 2, "-x", 1).exit_code in (0, 1)


def test_a_database_with_more_tables_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", "sqlite")
    with closing(sqlite3.connect(file)) as base:
        base.execute("CREATE TABLE names (who TEXT)")
    found = run("verify", "in", "--rules", "in/rules.vada", "-k", 2, "-x", 1)
    assert found.exit_code == 2
    assert "the rules have no edges names" in found.output


def test_a_changed_file_is_told_in_any_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / "in", "sqlite")
    rules = ["--rules", "in/rules.vada"]
    assert run("anonymize", *rules, "--data", given(file), "-k", 2, "-x", 2, "--trials", 1).exit_code == 0
    with closing(sqlite3.connect("release/graph.sqlite")) as base:
        base.execute("UPDATE own SET weight = 0.001 WHERE rowid = 1")
        base.commit()
    pair = ["release", "--data", given(file), "--mapping", "private", *rules, "-k", 2, "-x", 2]
    found = run("verify", *pair, "--certificate", "private", "--json")
    assert found.exit_code == 1, found.output
    files = next(item for item in json.loads(found.stdout)["items"] if item["name"] == "files")
    assert "other content" in files["witnesses"][0]


def test_formats_that_list_vertices_are_those_that_do() -> None:
    layouts = {name: Layout.of({"own": name}) for name in FORMATS}
    shared = {name for name, layout in layouts.items() if len(layout.files) == 1}
    assert shared == LISTING | {"sqlite", "duckdb"}
