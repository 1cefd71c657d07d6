"""Files are read piece by piece: the pieces do not show, and little of a file is held at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import DataError
from kgreason.data import raw_table
from kgreason.data.format_list import read_table
from kgreason.data.formats import graphml, json_rows, sqlite
from kgreason.data.raw_table import Raw
from kgreason.data.raw_table import texts as blocks_of
from kgreason.data.sources import SourceSpec
from kgreason.data.value_conversion import CastError, Gathered, Objects, arrow_column
from tests.examples import inputs
from tests.folders import ROOT

BENCHMARK = ROOT / "benchmarks" / "formats.py"
MOST = 0.25
"""Gigabytes for 100,000 edges: 0.2 for the program, and 500 bytes an edge."""


def seen(raw: Raw) -> Any:
    """All that a reader found."""
    vertices = None if raw.vertices is None else seen(raw.vertices)
    return (
        raw.names,
        [column.to_pylist() for column in raw.columns],
        [raw.line(row) for row in range(len(raw))],
        {name: column.to_pylist() for name, column in raw.extra.items()},
        None if raw.undirected is None else raw.undirected.tolist(),
        raw.notes,
        vertices,
    )


def outcome(path: Path) -> Any:
    try:
        return seen(read_table(SourceSpec(path)))
    except DataError as error:
        return str(error)


FILES = {
    "a.gml": """# a graph
graph [ directed 1
  node [ id 1 label "one [&quot;] # no comment" size 3 ]
  node [
    id 2 graphics [ x 1.5 y "q" ] ]
  node [ id -3 ]
  edge [ source 1 target 2 weight .5 ]
  edge [ source 2
    target 1 weight 1e-3 kind "z" ]
  edge [source -3 target 1 weight 2.]
]
""",
    "wrong.gml": "graph [\n node [ id 1 ]\n edge [ source 1 target 1 weight 5 ]\n edge [ source 1 target $ ]\n]\n",
    "twice.gml": "graph [ node [ id 1 ]\n node [ id 2 ]\n node [ id 1 ] ]",
    "open.gml": 'graph [ node [ id 1 label "never closed ]\n]\n',
    "a.graphml": """<?xml version="1.0" encoding="ISO-8859-1"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>0.5</default></key>
<key id="c" for="node" attr.name="kind" attr.type="string"/>
<graph edgedefault="undirected">
<node id="a &amp; b"><data key="c">bank</data></node><node id="ü"/>
<edge source="a &amp; b" target="ü"><data key="w">0.25</data></edge>
<edge source="ü" target="a &amp; b" directed="true"/>
</graph></graphml>
""",
    "wrong.graphml": '<graphml><graph edgedefault="directed">\n<node id="a"/>\n<edge source="a"\ntarget="b"/></graph>',
    "a.net": '% note\n*Vertices 3\n1 "a b"\n3 "ü"\n*arcs\n1 2 0.5\n% note\n2 3 1\n*Edges :1\n3 1 0.25\n*arcs\n',
    "wrong.net": "*Vertices 2\n1 a\n*arcs\n1 2\n2 3\n",
    "a.jsonl": '{"a": 1, "b": {"c": "é"}}\n\n{"a": 2.5, "d": [1, [2]]} {"a": null}\n{"a": 3, "d": []}\n',
    "array.json": '[{"a": true},\n {"a": false, "b": "x"}\n,{"b": "2"}]\n',
    "pairs.json": '[1, "x"]\n[2, "y"]\n',
    "mixed.json": '[{"a": 1}, {"a": 0.5}, {"a": "t"}, {"a": 1e22}, {"a": 12345678901234567}]',
    "wrong.json": '[{"a": 1},\n{"a": 2},\n{"a" 3}]\n',
    "odd.json": '[{"a": 1},\n{"a": 2},\n[3]]\n',
    "a.nt": "".join(
        f"<http://x/{s}> <http://x/p> {o} .\n"
        for s, o in (
            ("a", "<http://x/b>"),
            ("b", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
            ("c", "_:n"),
        )
    ),
    "wrong.nt": "<http://x/a> <http://x/p> <http://x/b> .\n<http://x/a> oops\n",
}


def latin(name: str) -> str:
    return "latin-1" if name == "a.graphml" else "utf-8"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the pieces in which files are read as small as one likes."""

    def cut(size: int) -> None:
        for module in (json_rows, raw_table):
            monkeypatch.setattr(module, "_BLOCK", size)
        for module in (graphml, json_rows, sqlite):
            monkeypatch.setattr(module, "BATCH", size)

    return cut


@pytest.mark.parametrize("name", FILES)
def test_pieces_do_not_show(name: str, tmp_path: Path, small: Callable[[int], None]) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding=latin(name))
    whole = outcome(path)
    assert name.startswith(("wrong", "twice", "open", "odd")) == isinstance(whole, str)
    for size in (1, 2, 3, 7, 20):
        small(size)
        assert outcome(path) == whole, size


@pytest.mark.parametrize("declared", ["", "BOOLEAN", "DATE", "JSON"])
@pytest.mark.parametrize(
    "cells",
    [
        [0, 1, None, 1],
        [0, 1, 2],
        [1.0, 0, None],
        ["2024-01-15", None],
        ["2024-01-15", "x"],
        ["[1]", "[]"],
        ["[1]", "3"],
    ],
)
def test_types_that_are_declared_are_told_by_all_rows(
    declared: str, cells: list[Any], tmp_path: Path, small: Callable[[int], None]
) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t (a {declared})")
        connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        connection.commit()
    whole = outcome(path)
    small(1)
    assert outcome(path) == whole


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3), st.just(-0.0)
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2))


def attempted(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except CastError as error:
        return error


@settings(max_examples=inputs(100))
@given(st.lists(st.lists(st.one_of(VALUES, st.integers(0, 5), st.floats(0, 1)), max_size=4), max_size=4))
def test_a_column_is_that_of_all_values_at_once(pieces: list[list[Any]]) -> None:
    column = Gathered()
    for piece in pieces:
        column.add(piece)
    values = [value for piece in pieces for value in piece]
    assert len(column) == len(values)
    expected = attempted(lambda: arrow_column(values))
    if isinstance(expected, CastError):
        assert attempted(column.whole) == expected
        return
    found = column.whole()
    assert repr(found.to_pylist()) == repr(expected.to_pylist())
    assert isinstance(found, Objects) == isinstance(expected, Objects)
    if not isinstance(found, Objects):
        assert found.type == expected.type


def test_a_column_is_padded() -> None:
    column = Gathered()
    column.pad(2)
    column.add(["a"])
    column.pad(2)
    column.pad(4)
    assert column.whole().to_pylist() == [None, None, "a", None]


def test_blocks_of_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffä€\n𝄞x\n".encode())
    for size in range(1, 12):
        assert "".join(blocks_of(path, "utf-8", size)) == "ä€\n𝄞x\n"
    path.write_bytes("ä\nb\nä".encode() + b"\xe4\n")
    for size in range(1, 12):
        with pytest.raises(DataError, match=r"a\.txt:3: byte 0xE4 is not UTF-8 text") as caught:
            list(blocks_of(path, "utf-8", size))
        assert "encoding=latin-1" in str(caught.value)
    path.write_bytes("a\nä".encode()[:-1])
    for size in range(1, 5):
        with pytest.raises(DataError, match=r"(?s)a\.txt:2: .*is it cut off"):
            list(blocks_of(path, "utf-8", size))


def _files() -> list[str]:
    sys.path.insert(0, str(BENCHMARK.parent))
    try:
        from format_files import WRITERS
    finally:
        sys.path.remove(str(BENCHMARK.parent))
    return list(WRITERS)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1])  # each start of the benchmark loads kernels first
def test_memory_of_many_edges(part: int, tmp_path: Path) -> None:
    names = _files()[part::2]
    words = ["--edges", "100000", "--alone", "--folder", str(tmp_path), "--only", *names]
    done = subprocess.run([sys.executable, str(BENCHMARK), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    peaks = [
        float(line.split(" GB")[0].split()[-1]) for line in done.stdout.splitlines() if "kgreason," in line
    ]
    assert len(peaks) == 2 * len(names), done.stdout
    assert max(peaks) <= MOST, done.stdout
