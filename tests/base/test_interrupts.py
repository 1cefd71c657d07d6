"""Interrupts that wait."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import kgreason
from kgreason.base.errors import DataError
from kgreason.base.interrupts import deferred
from kgreason.data.format_list import read_table
from kgreason.data.sources import SourceSpec


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []

    def work() -> None:
        with deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_wait_as_well(name):
    number, done = getattr(signal, name), []
    before = signal.signal(number, signal.default_int_handler)

    def work() -> None:
        with deferred():
            signal.raise_signal(number)
            done.append("whole")

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert (done, signal.getsignal(number)) == (["whole"], signal.default_int_handler)
    finally:
        signal.signal(number, before)


def test_an_error_of_the_block_comes_out():
    with pytest.raises(ValueError, match="no"), deferred():
        raise ValueError("no")


def test_what_ignores_interrupts_goes_on_doing_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_are_not_interrupted():
    done = []

    def work() -> None:
        with deferred():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


# Queries that would take hours.

ENDLESS = {
    "sqlite": "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
    "duckdb": "select sum(a.range * b.range % 7) from range(10000000) a, range(10000000) b",
}


@contextmanager
def interrupted(number: int, after: float = 0.3) -> Iterator[None]:
    """Send a signal to this process, and expect that the block ends of it within a second."""
    before = signal.signal(number, signal.default_int_handler)
    sent: list[float] = []

    def send() -> None:
        sent.append(monotonic())
        os.kill(os.getpid(), number)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        assert monotonic() - sent[0] < 1
    finally:
        timer.cancel()
        signal.signal(number, before)


def _connected(kind: str, file: Path) -> Any:
    return sqlite3.connect(file) if kind == "sqlite" else pytest.importorskip("duckdb").connect(str(file))


def endless(kind: str, folder: Path) -> SourceSpec:
    """A query of an empty database."""
    file = folder / f"own.{kind}"
    with closing(_connected(kind, file)) as connection:
        connection.execute("create table own (owner text)")
        connection.commit()
    return SourceSpec(file, kind, {}, ENDLESS[kind])


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_ends_when_its_user_wants(tmp_path: Path, kind: str, name: str) -> None:
    source, threads = endless(kind, tmp_path), threading.active_count()
    with interrupted(getattr(signal, name)):
        read_table(source)
    assert [p.name for p in tmp_path.iterdir()] == [f"own.{kind}"]
    assert threading.active_count() <= threads


def test_a_view_of_a_database_ends_as_well(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute(f"create view own as {ENDLESS['sqlite']}")
    with interrupted(signal.SIGINT):
        read_table(SourceSpec(tmp_path / "own.db", "sqlite"))


def test_an_error_of_a_query_comes_out(tmp_path: Path) -> None:
    for kind in ENDLESS:
        source = replace(endless(kind, tmp_path), query="select none from own")
        with pytest.raises(DataError, match="none"):
            read_table(source)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_the_command_ends_with_the_code_of_interrupts(tmp_path: Path, name: str) -> None:
    endless("duckdb", tmp_path)
    rules = f'@qbind("own", "duckdb", "own.duckdb", "{ENDLESS["duckdb"]}"). @output("p").\n'
    rules += '@bind("p", "csv", "", "p.csv"). p(X) :- own(X).\n'
    (tmp_path / "own.vada").write_text(rules)
    before = {p.name for p in tmp_path.iterdir()}
    command = [sys.executable, "-m", "kgreason", "reason", "--rules", "own.vada"]
    variables = {**os.environ, "PYTHONPATH": str(Path(kgreason.__file__).parent.parent)}
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True) as run:
        sleep(4)
        since = monotonic()
        run.send_signal(getattr(signal, name))
        _, said = run.communicate(timeout=30)
    assert (run.returncode, said) == (130, "interrupted; nothing was written\n")
    assert monotonic() - since < 1
    assert {p.name for p in tmp_path.iterdir()} == before
