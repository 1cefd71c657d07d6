"""The limit on memory: what is asked for, what is refused, and what the user hears."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import re
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgreason import reason
from kgreason.base import memory
from kgreason.base.errors import CallError, DataError, EvaluationError
from kgreason.base.memory import Exhausted, claim, limited, look, parse_size, shown
from kgreason.engine.limits import Limits
from kgreason.engine.plan.ir import Part
from kgreason.engine.relations import fact_tables as table
from kgreason.engine.relations import relation
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import chunks
from tests.needs import quick

GB = 10**9


@pytest.fixture
def holding(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A process that holds 1 GB on a machine with 10 GB free; the first entry may be changed."""
    state = [GB]
    monkeypatch.setattr(memory, "held", lambda: state[0])
    monkeypatch.setattr(memory, "available", lambda: 10 * GB)
    return state


def test_what_goes_beyond_the_limit_is_refused(holding: list[int]) -> None:
    with limited(3 * GB):
        claim(2 * GB)
        with pytest.raises(
            Exhausted, match=r"^1\.0 GB are in use, 2\.1 GB more are needed, the limit is 3\.0 GB$"
        ):
            claim(2 * GB + 10**8)
        holding[0] = 3 * GB + 1
        claim(1000)  # not worth a look
        with pytest.raises(Exhausted, match=r"^3\.0 GB are in use, the limit is 3\.0 GB$"):
            look()
    claim(100 * GB)
    look()


def test_by_default_what_is_free_may_be_used(holding: list[int]) -> None:
    with limited():
        claim(9 * GB)
        with pytest.raises(Exhausted, match=r"the limit is 10\.5 GB"):
            claim(10 * GB)


def test_where_the_system_tells_nothing_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_text", lambda _: "")
    assert memory.available() is None
    assert memory.held() == memory.peak()
    with limited():
        claim(10**15)


def test_what_the_system_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    2000 kB\n",
        "/proc/self/statm": "900 70 3 1 0 5 0\n",
    }
    monkeypatch.setattr(memory, "_text", lambda path: files.get(path, ""))
    assert memory.available() == 2_048_000
    files |= {"/sys/fs/cgroup/memory.max": "5000\n", "/sys/fs/cgroup/memory.current": "4000\n"}
    assert memory.available() == 1000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert memory.available() == 2_048_000
    assert memory.held() in (70 * 4096, 70 * 16384, 70 * 65536)


def test_an_array_is_seen() -> None:
    before = memory.held()
    block = np.ones(8_000_000)  # above 32 MiB the allocator takes new pages, and none that it holds already
    after = memory.held()
    assert before is not None
    assert after is not None
    assert after - before > 0.8 * block.nbytes


@pytest.mark.parametrize("text", ["", "8XB", "-3", "GB", "8 GB more", "1e9"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no size; write it as in 8GB or 512MiB"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0", "8", "3 MB"])
def test_sizes_without_their_unit(text: str) -> None:
    with pytest.raises(
        ValueError, match=f"'{text}' is less than 10 MB, which nothing fits; say for instance 8GB or 512MiB"
    ):
        parse_size(text)


@pytest.mark.parametrize("limit", ["8GB", 8, 0, -1, True, 1e9])
def test_limits_are_numbers_of_bytes(limit: Any) -> None:
    with pytest.raises(CallError, match="the limit on memory is a number of bytes, 10 MB or more, not "):
        reason("p(1).", limits=Limits(memory=limit))


def test_sizes() -> None:
    assert [parse_size(t) for t in ("99999999", "20000k", "30 MB", "1.5G", "20480KiB", "2TiB")] == [
        *(99_999_999, 20_000_000, 30_000_000, 1_500_000_000, 20 * 1024**2, 2 * 1024**4)
    ]
    assert [shown(s) for s in (0, 3_400_000, 12_345_000_000)] == ["0 MB", "3 MB", "12.3 GB"]


RULES = {
    "walks": "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).",
    "rounds": "t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), t(Y, Z), X != Z.",
    "pairs": "t(X, Y) :- e(X, _), e(Y, _).",
    "texts": "t(X, S) :- e(X, _), e(Y, Z), S = [X, Y * 1000003, Z].",
}


def _stopped(name: str) -> str:
    """Message of an evaluation that may hold 20 MB."""
    reason(RULES[name], {"e": [(0, 1)]})  # what is imported is none of the matter
    edges = [(i, (i + 1) % 2000) for i in range(2000)]
    with pytest.raises(EvaluationError) as error:
        reason(RULES[name], {"e": edges}, limits=Limits(memory=(memory.held() or 0) + 20_000_000))
    return str(error.value)


@pytest.mark.parametrize("name", quick(1, ["texts", "pairs", "walks", "rounds"]))
def test_evaluation_stops_before_it_holds_too_much(name: str) -> None:
    # in a new process: this one may keep memory that earlier tests have freed, and would take none from the system
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        said = fresh.submit(_stopped, name).result()
    assert "there is not enough memory for what this rule derives" in said
    assert "the limit is" in said
    assert "rule: t(X, " in said
    assert "or allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))" in said


def test_nothing_is_half_written(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "e.csv").write_text("".join(f"{i},{(i + 1) % 5000}\n" for i in range(5000)), encoding="utf-8")
    (tmp_path / "t.vada").write_text(
        '@bind("e", "csv useHeaders=false", "", "e.csv").\n@output("t").\n@output("s").\n'
        "s(X) :- e(X, _).\n" + RULES["pairs"],
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "kgreason", "reason", "--rules", "t.vada", "--out", "found"]
    run = subprocess.run(
        [*command, "--memory-limit", "250MB"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert re.search(r"t\.vada:[45]:", run.stderr)  # which rule it is depends on whether kernels are compiled
    assert "the limit is 250 MB" in run.stderr
    assert not (tmp_path / "found").exists()


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, holding: list[int]) -> None:
    file = tmp_path / "e.csv"
    with file.open("w") as made:
        made.truncate(3 * GB)  # takes no room on the disk
    with pytest.raises(DataError) as e:
        reason("t(X) :- e(X).", {"e": file}, limits=Limits(memory=2 * GB))
    assert str(e.value) == (
        f"{file}: there is not enough memory to read it: 1.0 GB are in use, 6.0 GB more are needed, "
        "the limit is 2.0 GB\n  help: allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))"
    )


def peak(do: Callable[[], object]) -> int:
    """Most bytes of arrays that some work holds."""
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_rows_become_columns_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation, "PIECE", 1000)
    rows = np.arange(30_003).reshape(-1, 3)
    made = Relation(3)
    for piece in chunks(rows):
        made.insert(piece)
    made.settle()
    kept = made.rows(Part.ALL)[:5]  # whoever looks at rows keeps them
    made.transpose()
    assert kept.tolist() == rows[:5].tolist()
    assert [made.column(i).tolist() for i in range(3)] == rows.T.tolist()
    assert made.rows(Part.ALL).tolist() == rows.tolist()


@pytest.mark.parametrize("arity", [2, 3])
def test_a_derived_fact_takes_little_more_than_its_row_and_its_hash(arity: int) -> None:
    rows = np.random.default_rng(3).permutation(arity * 400_000).reshape(-1, arity)

    def grow() -> None:
        made = Relation(arity)
        for piece in chunks(rows):
            made.insert(piece)

    grow()  # kernels are loaded before
    assert peak(grow) < 1.07 * len(rows) * (8 * arity + 24)


def test_the_rows_of_a_round_are_read_while_others_are_added() -> None:
    made = Relation(2)
    made.insert(np.arange(40_000).reshape(-1, 2))
    made.turn()
    read = []
    for batch in made.batches(Part.RECENT):
        for i in range(1, 4):
            made.insert(batch + i * 100_000)
        read += batch.tolist()
    assert read == np.arange(40_000).reshape(-1, 2).tolist()
    assert made.count == 80_000


NAMES = [(f"name {i}", f"name {7 * i}") for i in range(60_000)]


def test_reading_asks_before_it_holds_too_much(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("".join(f"{a},{b}\n" for a, b in NAMES * 5))
    rules = "t(X, Y) :- e(X, Y), X = Y."
    reason(rules, {"e": [("a", "b")]})
    here = memory.held() or 0
    limits = Limits(memory=here + 3 * file.stat().st_size)
    with pytest.raises(DataError, match=r"not enough memory to read (it|the facts of e): .* the limit is"):
        reason(rules, {"e": f"{file}?useHeaders=false"}, limits=limits)


def test_python_objects_are_made_little_by_little(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    facts = Facts.from_rows({"e": NAMES})
    monkeypatch.setattr(table, "PIECE", 1000)
    monkeypatch.setattr(memory, "look", lambda: looks.append(1))
    assert list(facts.rows("e")) == NAMES
    assert len(looks) == 60


LONG = "x" * 1000
BOMBS = {
    "rows.csv": ("", "anna,bert,0.5\n"),
    "quoted.csv": ("", '"anna","bert",0.5\n'),
    "latin.csv?encoding=latin-1": ("", "anna,bert,0.5\n"),
    "neo4j.csv": (":START_ID,:END_ID,w:double\n", "anna,bert,0.5\n"),
    "rows.edges": ("", "1 2 0.5\n"),
    "line.edges": ("", "0"),
    "rows.mtx": ("%%MatrixMarket matrix coordinate real general\n3 3 9\n", "1 2 0.5\n"),
    "rows.net": ("*vertices 3\n*arcs\n", "1 2 0.5\n"),
    "rows.json": ("", f'{{"a": "{LONG}", "b": "bert", "w": 0.5}}\n'),
    "text.json": ('["', "0"),
    "list.json": ("[[", "[],"),
    "edges.gml": ("graph [ ", f'edge [ source 1 target 2 text "{LONG}" ]\n'),
    "text.gml": ('graph [ node [ label "', "0"),
    "edges.graphml": ("<graphml><graph>", '<edge source="1" target="' + LONG + '"/>'),
    "text.graphml": ('<graphml><graph><node id="1"><data key="a">', "0"),
    "text.xml": ("<RelationshipData><a>", "0"),
    "rows.nt": ("", f'<http://a> <http://b> "{LONG}" .\n'),
}
"""Files of a few kB that stand for some 100 MB, told by their beginning and what comes again and again after it."""
SLACK = 80_000_000  # bytes that a reader may take beyond the limit, above all for a block and what Arrow reads ahead
needs_linux = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of some work"
)


def beyond(file: str, room: int) -> tuple[str, int]:
    """Read edges with so much room; what the error says, and how much more than allowed was held."""
    reason("t(X) :- e(X, _, _).", {"e": [("a", "b", 0.5)]})  # what is imported is none of the matter
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier tests have freed is not held any more
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from now on
    limit = (memory.held() or 0) + room
    with pytest.raises(DataError) as e:
        reason("t(X) :- e(X, _, _).", {"e": file}, limits=Limits(memory=limit))
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return str(e.value), 1024 * int(status.split("VmHWM:")[1].split()[0]) - limit


@needs_linux
@pytest.mark.parametrize("name", BOMBS)
def test_files_that_unpack_to_more_than_there_is_room_for(tmp_path: Path, name: str) -> None:
    import gzip

    if name.endswith(".nt"):
        pytest.importorskip("pyoxigraph")
    start, again = BOMBS[name]
    plain, _, options = name.partition("?")
    file = tmp_path / f"{plain}.gz"
    many = gzip.compress((again * (10**7 // len(again))).encode(), 1)
    file.write_bytes(gzip.compress(start.encode()) + many * 15)
    message, more = beyond(f"{file}{'?' * bool(options)}{options}", 20_000_000)
    assert message.startswith(f"{file}: there is not enough memory to read it: ")
    assert message.endswith("help: allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))")
    assert more < SLACK
    assert file.stat().st_size < 4_000_000


@needs_linux
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.net", "*Vertices 1000000\n*arcs\n1 2 0.5\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 2 0.5\n"),
        (
            "a.graphml",
            f"<graphml><key id='a' for='node'><default>{'x' * 1_000_000}</default></key><graph>"
            + "".join(f"<node id='{i}'/>" for i in range(1000))
            + "</graph></graphml>",
        ),
        ("a.json", "".join(f'{{"k{i}": 1}}\n' for i in range(6_000))),
    ],
)
def test_small_files_that_stand_for_much(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="ascii")
    message, more = beyond(str(tmp_path / name), 20_000_000)
    assert message.startswith(f"{tmp_path / name}: there is not enough memory to read it: ")
    assert more < SLACK


@needs_linux
@pytest.mark.parametrize("long", [True, False])
def test_rows_that_a_database_makes(tmp_path: Path, long: bool) -> None:
    import sqlite3
    from contextlib import closing

    duckdb = pytest.importorskip("duckdb")
    text = "x" * (1_000_000 if long else 300)
    numbers = "with recursive t(n) as (select 1 union all select n + 1 from t) select"
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as db:
        db.execute(f"create view e as {numbers} n || 'a' as a, n || '{text}' as b, 0.5 as w from t")
    with closing(duckdb.connect(tmp_path / "a.duckdb")) as db:
        db.execute(
            f"create view e as select n || 'a', n || '{text}' as b, 0.5::double w from range(10000000000) t(n)"
        )
    for name in ("a.sqlite", "a.duckdb"):
        message, more = beyond(str(tmp_path / name), 60_000_000)
        assert message.startswith(f"{tmp_path / name}: there is not enough memory to read it: ")
        assert more < SLACK


@needs_linux
@pytest.mark.parametrize("text", ["x" * 1_000_000, "x"])
def test_a_parquet_file_of_one_value(tmp_path: Path, text: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes = pa.array(np.zeros(10_000_000 if text == "x" else 100_000, dtype=np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array([text]))
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": column, "b": column, "c": column, "d": column}), file)
    assert file.stat().st_size < 1_000_000
    message, more = beyond(str(file), 30_000_000)
    assert message.startswith(f"{file}: there is not enough memory to read it: ")
    assert more < SLACK


@pytest.mark.slow
def test_the_command_ends_as_for_any_input_that_is_wrong(tmp_path: Path) -> None:
    import gzip
    import subprocess
    import sys

    rows = gzip.compress(b"anna,bert,0.5\n" * 10**6, 1) * 40
    (tmp_path / "own.csv.gz").write_bytes(rows)
    (tmp_path / "own.vada").write_text(
        '@input("own").\nt(X) :- own(X, _, _).\n@output("t").', encoding="ascii"
    )
    command = [sys.executable, "-m", "kgreason", "reason", "--rules", "own.vada", "--data", "own=own.csv.gz"]
    run = subprocess.run(
        [*command, "--memory-limit", "250MB"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "own.csv.gz: there is not enough memory to read it: " in run.stderr
    assert "the limit is 250 MB" in run.stderr


def test_without_a_limit_what_is_free_may_be_read(
    tmp_path: Path, holding: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgreason.data.format_list import read_table
    from kgreason.data.formats import edge_list
    from kgreason.data.sources import parse_file

    monkeypatch.setattr(edge_list, "_ALWAYS", 10**9)  # a declaration is believed, however small the file
    (tmp_path / "a.net").write_text("*Vertices 600000000\n*arcs\n1 2 0.5\n", encoding="ascii")
    with pytest.raises(
        DataError, match=r"1\.0 GB are in use, 24\.0 GB more are needed, the limit is 10\.5 GB"
    ):
        read_table(parse_file(str(tmp_path / "a.net")))
