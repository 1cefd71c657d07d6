"""Sessions: what is said where PySpark or Java is missing; that of the user stays as it is."""

from __future__ import annotations

import gc
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgreason.base.errors import EngineError
from kgreason.cli import app
from kgreason.distributed import spark_session
from kgreason.distributed.spark_session import MASTERS, first_line, session
from tests.needs import needs_pyspark

pytestmark = pytest.mark.slow


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EngineError) as found:
        session()
    assert str(found.value) == (
        "the engine spark needs the package pyspark, which is not installed\n  help: pip install 'kgreason[spark]'"
    )


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_pyspark()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    for name in ("_active_spark_context", "_gateway", "_jvm"):
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


@pytest.mark.usefixtures("no_session")
def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError) as found:
        session("local[1]")
    assert str(found.value) == (
        f"Spark needs Java 17 or newer: there is no java in JAVA_HOME, {tmp_path}\n"
        "  help: install Java 17 or newer, and set JAVA_HOME to its folder if `java` is not on the PATH"
    )
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="there is no java on the PATH, and JAVA_HOME is not set"):
        session("local[1]")


def java(folder: Path, told: str) -> None:
    """A program that tells its version, and else fails."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{told}' >&2\nexit 1\n", encoding="ascii")
    program.chmod(0o755)


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is version 11"),
        ('java version "1.8.0_202"', "is version 8"),
        ("cannot execute", "does not run"),
    ],
)
def test_java_that_spark_does_not_run_on(
    told: str,
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    java(tmp_path, told)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with pytest.raises(EngineError, match=f"Spark needs Java 17 or newer: {tmp_path}/bin/java {problem}"):
        session("local[1]")
    capfd.readouterr()
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # PySpark leaves pipes open to a Java that does not start


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine at which a server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_masters_without_server(scheme: str, port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    master = f"{scheme}://127.0.0.1:{closed}"
    with pytest.raises(EngineError) as found:
        session(master)
    assert str(found.value).startswith(f"Spark is not at {master}: ")
    assert "\n  help: start it there; a master is for instance local[4]," in str(found.value)
    spark_session._check_reachable(f"{master},127.0.0.1:{port}")
    spark_session._check_reachable(f"{scheme}://localhost:{port}/;use_ssl=false")
    spark_session._check_reachable("yarn")


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    "master", ["nonsense", "local[no]", "locl[2]", "http://host", "yarn-client", "sc://"]
)
def test_words_that_are_no_masters(master: str) -> None:
    with pytest.raises(EngineError) as found:
        session(master)
    assert str(found.value) == f"{master!r} does not say where Spark runs\n  help: {MASTERS}"


def test_interrupts_stay_those_of_the_program() -> None:
    import signal

    usual = signal.getsignal(signal.SIGINT)
    with spark_session._own_interrupts():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is usual


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n\n[CODE] no.\nat java", "[CODE] no."),
        ("", "ValueError"),
        ("x" * 1000, "x" * 300),
        ("Exception thrown in awaitResult: \nat java\nCaused by: A: b\nCaused by: C: d\n", "C: d"),
    ],
)
def test_first_line(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--master", "local[2]"], "--master has no meaning without --engine spark"),
        (["--engine", "spark", "--method", "klone"], "--engine has no meaning with --method klone"),
        (["--engine", "spark", "--method", "k-iso"], "--engine has no meaning with --method k-iso"),
        (["--engine", "spark", "--split", "100"], "--engine has no meaning with --split"),
        (["--engine", "flink"], "'flink' is not 'spark'"),
    ],
)
def test_options_without_meaning(
    words: list[str], said: str, ownership: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        app(["anonymize", "--rules", str(ownership / "control.vada"), *words])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["anonymize", "risk", "verify"])
def test_commands_tell_what_is_missing(
    command: str, ownership: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.chdir(ownership)
    words = ["own.csv"] * (command == "verify")
    with pytest.raises(SystemExit) as end:
        app([command, *words, "--rules", "control.vada", "--engine", "spark"])
    assert end.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == [
        "error: the engine spark needs the package pyspark, which is not installed",
        "  help: pip install 'kgreason[spark]'",
    ]
    assert not os.path.exists("release")


@pytest.mark.parametrize("words", [["anonymize"], ["risk"], ["verify", "release"]])
def test_files_are_looked_at_before_spark_starts(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def started(_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spark_session, "session", started)
    with pytest.raises(SystemExit) as end:
        app([*words, "--rules", "none.vada", "--data", "own=none.csv", "--engine", "spark"])
    assert end.value.code == 2
    assert "none.vada" in capsys.readouterr().err
