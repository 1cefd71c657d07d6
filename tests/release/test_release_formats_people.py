"""Releases of people and of links in the format of their input: CSV, TSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import kgreason
from kgreason.base.errors import DataError, ReleaseError
from kgreason.cli import app
from kgreason.links.folder import contents_of, form, read_released, write_links
from kgreason.links.model import LinkGraph, Released, observations
from kgreason.people.folder import read_published
from kgreason.people.release_tables import labels_of, read_rows
from kgreason.release.plain_tables import FORMATS, read_table, write_table
from kgreason.release.publication import Folders
from kgreason.release.read_back import UNCHANGED

CANARY = "Kanarienvogel"
BESIDE = ("README.txt", "report.html", "report.json")
PEOPLE = [f"{CANARY}{name}" for name in ("Ken", "Mary", "Tom", "Jane", "Ann", "Joe")]


def run(*words: object) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def put(folder: Path, format: str) -> Path:
    """Facts of six people as a file."""
    rows = [(p, "age", str(20 + i // 2)) for i, p in enumerate(PEOPLE)]
    rows += [(p, "job", "clerk" if i % 2 else "nurse") for i, p in enumerate(PEOPLE)]
    rows += [(PEOPLE[i], "follows", PEOPLE[(i + 1) % 6]) for i in range(6)]
    rows += [(PEOPLE[i], "likes", PEOPLE[(i + 2) % 6]) for i in range(0, 6, 2)]
    file = folder / f"facts.{format}"
    columns = [np.array(column, dtype=object) for column in zip(*rows, strict=True)]
    if format == "txt":
        file.write_text("".join(" ".join(row) + "\n" for row in rows))
    else:
        write_table(file, ("user", "relation", "target"), columns)
    return file


def kinds(file: Path) -> list[str]:
    header = "" if file.suffix in (".parquet", ".txt") else "?header=true"
    return [
        f"{file}{header}",
        "--numeric",
        "age",
        "--attributes",
        "job",
        "--relations",
        "follows,likes",
    ]


def schema_beside(file: Path) -> Path:
    header = "" if file.suffix in (".parquet", ".txt") else "header = true\n"
    said = f'[[triples]]\nfiles = ["{file.name}"]\n{header}[kinds]\n'
    said += 'numeric = ["age"]\ncategorical = ["job"]\nrelations = ["follows", "likes"]\n'
    (file.parent / "schema.toml").write_text(said)
    return file.parent / "schema.toml"


@pytest.mark.parametrize("format", [*FORMATS, "txt"])
def test_people_keep_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path, format)
    made = run("people", "anonymize", *kinds(file), "--method", "ckga", "-k", 2)
    assert made.exit_code == 0, made.output
    kept = format if format in FORMATS else "csv"
    tables = {f"{table}.{kept}" for table in ("users", "attributes", "relations")}
    assert {p.name for p in Path("release").iterdir()} == {*tables, "people.toml", *BESIDE}
    readme = Path("release/README.txt").read_text()
    assert all(table in readme for table in tables)
    for path in Path("release").iterdir():
        assert CANARY.encode() not in path.read_bytes()
    pair = ["--original", schema_beside(file), "--mapping", "private"]
    judged = run("people", "verify", "release", *pair, "--model", "k-ad", "-k", 2)
    assert judged.exit_code == 0, judged.output
    assert run("people", "score", "release", *pair).exit_code == 0
    again = kgreason.people.read(Path("release"))
    there = read_published(Path("release")).graph
    assert again.n == there.n == 6
    assert {n: len(r) for n, r in again.relations.items()} == {n: len(r) for n, r in there.relations.items()}
    assert run("people", "anonymize", *kinds(file), "--method", "ckga", "-k", 2, "--force").exit_code == 0


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("type", [pa.list_(pa.int64()), pa.binary(), pa.date32()], ids=str)
def test_columns_of_parquet_that_are_no_texts(tmp_path: Path, type: pa.DataType, rows: int) -> None:
    value = {pa.binary(): b"\xff", pa.date32(): 2**31 - 1}.get(type, [1])
    pq.write_table(pa.table({"user": pa.array([value] * rows, type)}), tmp_path / "users.parquet")
    if rows:
        with pytest.raises(DataError, match=r"row 1: .* is not") as caught:
            read_rows(tmp_path / "users.parquet", ["user"])
        assert (caught.value.column, caught.value.hint) == ("user", UNCHANGED)
    else:
        assert labels_of(read_rows(tmp_path / "users.parquet", ["user"]), "user").to_pylist() == []


@pytest.mark.parametrize("format", [*FORMATS, "txt"])
def test_links_keep_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path, format)
    made = run("links", "anonymize", *kinds(file), "--sensitive", "likes", "-k", 2)
    assert made.exit_code == 0, made.output
    kept = format if format in FORMATS else "csv"
    tables = {f"{table}.{kept}" for table in ("nodes", "attributes", "links")}
    assert {p.name for p in Path("release").iterdir()} == {*tables, "links.toml", *BESIDE}
    for path in Path("release").iterdir():
        assert CANARY.encode() not in path.read_bytes()
    judged = run(
        "links",
        "verify",
        "release",
        "--mapping",
        "private",
        "--original",
        *kinds(file),
        "--sensitive",
        "likes",
        "-k",
        2,
    )
    assert judged.exit_code == 0, judged.output
    assert "files" in judged.output


def weighted() -> Released:
    names = ["ab2c3d4e5f", "bb2c3d4e5f", "cb2c3d4e5f"]
    plain = observations(np.array([0, 1]), np.array([1, 2]))
    heavy = observations(np.array([0]), np.array([2]), weight=np.array([0.1 + 0.2]))
    labels = np.array(names, dtype=object)
    return Released(
        LinkGraph(labels, {"knows": plain, "owes": heavy}, {}, np.ones(3, dtype=np.int64)), "intact"
    )


@pytest.mark.parametrize("format", FORMATS)
def test_weights_of_links_come_back(tmp_path: Path, format: str) -> None:
    released = weighted()
    write_links(tmp_path, released, format)
    back = read_released(tmp_path)
    assert back.graph.observed["owes"].weight.tolist() == [0.1 + 0.2]
    assert back.graph.observed["knows"].weight is None
    assert back.graph.size.tolist() == [1, 1, 1]


def test_parquet_of_links_is_compared_byte_by_byte(tmp_path: Path) -> None:
    released = weighted()
    write_links(tmp_path, released, "parquet")
    contents_of(released, None, "parquet").publish(tmp_path, holds=True, seeded=False)
    assert form(tmp_path, released).holds
    table = pq.read_table(tmp_path / "links.parquet")
    pq.write_table(table, tmp_path / "links.parquet", compression="gzip", store_schema=False)
    found = form(tmp_path, read_released(tmp_path))
    assert found.witnesses == (
        "links.parquet: the same graph is written otherwise, or there is more in the file",
    )
    assert not found.undecided


def test_parquet_of_another_arrow_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = weighted()
    write_links(tmp_path, released, "parquet")
    contents_of(released, None, "parquet").publish(tmp_path, holds=True, seeded=False)
    pq.write_table(pq.read_table(tmp_path / "links.parquet"), tmp_path / "links.parquet", compression="gzip")
    monkeypatch.setattr("kgreason.release.folder_contents._writer", lambda path: f"one of {path.parent}")
    found = form(tmp_path, released)
    assert found.undecided
    assert "verify with that version" in found.witnesses[0]


def test_a_table_that_says_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "users.parquet"
    table = pa.table({"user": ["a"]}).replace_schema_metadata({"who": "Adler"})
    pq.write_table(table, file)
    with pytest.raises(DataError, match="says more than its table, under"):
        read_table(file)


def test_formats_that_people_are_not_released_in(tmp_path: Path) -> None:
    graph = kgreason.people.PeopleGraph.from_triples(["a", "b"], [("a", "job", "x"), ("b", "job", "x")])
    folders = Folders(tmp_path / "release", tmp_path / "private", format="json")
    with pytest.raises(ReleaseError, match="not written as json"):
        kgreason.people.anonymize(graph, k=2, folders=folders)
    chosen = Folders(tmp_path / "release", tmp_path / "private", format="parquet")
    assert kgreason.people.anonymize(graph, k=2, folders=chosen).holds
    assert (tmp_path / "release" / "users.parquet").is_file()
