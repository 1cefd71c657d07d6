"""What is left and what is said where a file system is full."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import kgreason
from kgreason.base.errors import ReleaseError
from kgreason.cli import app
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.language.check.program_checker import load_text
from kgreason.release.publication import Folders

RULES = '@edge("own"). @output("major"). major(X,Y) :- own(X,Y,W), W > 0.5.'


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    words = [str(mount), "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if mount is None or os.geteuid() or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can be mounted by root alone")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@cache
def text(rows: int) -> str:
    rng = np.random.default_rng(1)
    ends = rng.integers(5000, size=(rows, 2)).tolist()
    return "a,b,w\n" + "".join(
        f"v{a},v{b},{w:.6f}\n" for (a, b), w in zip(ends, rng.random(rows), strict=True)
    )


def table(folder: Path, rows: int) -> Path:
    path = folder / f"own{rows}.csv"
    path.write_text(text(rows))
    return path


@pytest.mark.parametrize(
    "name", ["z.csv", "z.json", "z.parquet", "z.duckdb", "z.sqlite", "z.graphml", "z.net.gz"]
)
def test_nothing_is_left_where_there_is_no_room(tmp_path: Path, small: Path, name: str) -> None:
    if name.endswith("duckdb"):
        pytest.importorskip("duckdb")
    file = table(tmp_path, 60_000)
    found = CliRunner().invoke(app, ["convert", str(file), str(small / name)])
    assert found.exit_code == 2, found.output
    words = " ".join(found.output.split())
    assert f"{small / name}: cannot be written: " in words
    assert "no space left on device" in words.lower()
    assert f"free space in {small}" in words
    assert list(small.iterdir()) == []


def test_a_database_that_is_there_stays_as_it_was(tmp_path: Path, small: Path) -> None:
    for name in ("z.sqlite", "z.duckdb"):
        database = (tmp_path if name == "z.duckdb" else small) / name
        if name == "z.duckdb":
            pytest.importorskip("duckdb")
            subprocess.run(["mount", "-o", "remount,size=1100k", str(small)], check=True)
            database = small / name
        run = CliRunner().invoke
        assert run(app, ["convert", str(table(tmp_path, 100)), str(database), "--name", "own"]).exit_code == 0
        before = database.read_bytes()
        found = run(app, ["convert", str(table(tmp_path, 60_000)), str(database), "--name", "more"])
        assert found.exit_code == 2, found.output
        assert f"free space in {small}" in " ".join(found.output.split())
        assert [p.name for p in small.iterdir()] == [name]
        assert database.read_bytes() == before
        database.unlink()


@pytest.mark.parametrize("full", ["release", "private"])
def test_the_folder_that_is_full_is_named(tmp_path: Path, small: Path, full: str) -> None:
    graph = KnowledgeGraph.from_edges([(f"v{i}", f"v{i + 1}", 0.4) for i in range(40)], relation="own")
    (small / "much").write_bytes(bytes(280_000))
    places = {name: (small if name == full else tmp_path) / name for name in ("release", "private")}
    with pytest.raises(ReleaseError) as refused:
        kgreason.anonymize(
            load_text(RULES), graph, method="klone", k=2, x=2, trials=1, folders=Folders(**places)
        )
    assert "cannot be written: No space left on device" in str(refused.value)
    assert str(places[full]) in str(refused.value)
    assert not any(str(place) in str(refused.value) for name, place in places.items() if name != full)
    assert [p.name for p in small.iterdir()] == ["much"]
    assert [p.name for p in tmp_path.iterdir()] == ["small"]
