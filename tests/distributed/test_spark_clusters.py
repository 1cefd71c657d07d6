"""Sessions of other kinds than the local one, and what fails while they work.

Each test starts programs of its own: a process has one session.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kgreason
from kgreason.base.interrupts import INTERRUPTED, NOTHING
from tests.distributed.clusters import (
    Cluster,
    children,
    cluster,
    command,
    environment,
    program,
    small_disk,
    until,
)
from tests.distributed.driver import STAGES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


REACHED = [["a", "b"], ["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"], ["c", "d"]]


def begun(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "connect", "standalone"])
def test_kinds_of_sessions(master: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if master == "standalone":
        master = request.getfixturevalue("standalone").master
    with program(tmp_path, "all_kinds", master, str(tmp_path)) as running:
        found = running.result()
    assert found == {
        "partitions": found["partitions"],
        "census": True,
        "other data": [1000, 2000],
        "cores": found["cores"],
        "large": 4_000_000,
        "error": "no x is small enough\n  help: choose a smaller one",
        "attempts": 1,
        "facts": [14, [f"c{i}" for i in range(7)]],
        "blocks": "task 7 is bad",
        "rules": {"count": [["b", 1], ["c", 2], ["d", 3]], "reach": REACHED},
    }
    assert found["partitions"] >= 8
    assert set(found["cores"]) == {1}


def test_an_executor_is_killed(standalone: Cluster, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    with program(tmp_path, "slow_tasks", standalone.master, str(tasks)) as running:
        until(lambda: len(begun(tasks)) >= 5, "start of tasks")
        os.kill(standalone.executors[0], signal.SIGKILL)
        found = running.result()
    assert sorted(task for task, _ in found) == [*range(40)]
    assert len(begun(tasks)) > 40  # some were done again
    assert len({process for _, process in found}) > 1


def test_an_executor_is_killed_while_facts_are_derived(standalone: Cluster, tmp_path: Path) -> None:
    tasks, out = tmp_path / "tasks", tmp_path / "out"
    tasks.mkdir()
    with program(tmp_path, "slow_facts", standalone.master, str(tasks), str(out)) as running:
        until(lambda: len(begun(tasks)) >= 5, "start of tasks")
        os.kill(standalone.executors[-1], signal.SIGKILL)
        assert running.result() == "written"
    assert (out / "_SUCCESS").exists()
    facts = pq.read_table(out)
    assert sorted(facts["x"].to_pylist()) == [*range(4000)]
    assert len(begun(tasks)) > 40


def test_executors_are_killed_between_deriving_and_writing(standalone: Cluster, tmp_path: Path) -> None:
    """Their facts are derived again, those of an earlier stage too."""
    out = tmp_path / "out"
    with program(tmp_path, "lost_facts", standalone.master, str(tmp_path), str(out)) as running:
        until((tmp_path / "derived").exists, "the facts")
        for executor in standalone.executors:
            os.kill(executor, signal.SIGKILL)
        (tmp_path / "go").touch()
        found = running.result()
    edges = {(i % 20, (i * 7 + i % 3) % 20) for i in range(200)}
    expected = kgreason.reason(STAGES, {"own": sorted(edges)})
    for predicate in expected.predicates:
        table = pq.read_table(out / predicate)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        assert sorted(rows) == sorted(expected.rows(predicate))
        assert found[predicate] == expected.facts.count(predicate)


@pytest.mark.parametrize("whom", ["driver", "Java"])
def test_the_driver_is_killed(standalone: Cluster, whom: str, tmp_path: Path) -> None:
    tasks, out = tmp_path / "tasks", tmp_path / "out"
    tasks.mkdir()
    with program(tmp_path, "slow_facts", standalone.master, str(tasks), str(out)) as running:
        until(lambda: len(begun(tasks)) >= 5, "start of tasks")
        java = [pid for pid in children(running.process.pid) if "SparkSubmit" in command(pid)]
        os.kill(running.process.pid if whom == "driver" else java[0], signal.SIGKILL)
        code = running.process.wait(60)
        assert code == (-signal.SIGKILL if whom == "driver" else 1)
        if whom == "Java":
            (line,) = [line for line in running.errors.splitlines() if line.startswith("error: ")]
            assert line.startswith("error: Spark gave up: ")
        until(lambda: not standalone.executors, "end of the executors")
    assert not out.exists()


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
from kgreason.distributed import spark_engine
from kgreason.__main__ import main
spark_engine.LEAST = 0
main()
"""


@pytest.mark.parametrize("master", ["local[2]"])
def test_a_command_is_interrupted(master: str, ownership: Path, tmp_path: Path) -> None:
    words = ["anonymize", "--rules", "control.vada", "-x", "2..3", "--engine", "spark", "--master", master]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with open(tmp_path / "stderr", "wb") as err:
        running = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            cwd=ownership,
            env=environment() | {"TMPDIR": str(temporary)},
            stdout=err,
            stderr=err,
        )
    try:
        until(lambda: any("pyspark.daemon" in command(p) for p in children(running.pid)), "start of workers")
        below = children(running.pid)
        for _ in range(3):  # Python drops an interrupt that arrives in a callback, such as those of py4j
            with suppress(subprocess.TimeoutExpired):
                running.send_signal(signal.SIGINT)
                running.wait(15)
                break
        assert running.wait(60) == INTERRUPTED
        until(lambda: not any(map(command, below)), "end of Spark")
    finally:
        running.kill()
    assert not list(temporary.glob("kgreason-*"))
    assert NOTHING in (tmp_path / "stderr").read_text().splitlines()
    assert not (ownership / "release").exists()
    assert not (ownership / "private").exists()


def test_the_disk_of_a_worker_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    before = small_disk(disk, 50)
    with program(tmp_path, "full_disk", "local[2]", str(disk), before=before) as running:
        assert running.process.wait(120) == 1
        assert "error: a disk that Spark writes to is full: " in running.errors
        assert "SPARK_LOCAL_DIRS" in running.errors
        assert "Traceback" not in running.errors


@pytest.mark.parametrize("which", ["kept", "written"])
def test_the_disk_of_facts_is_full(which: str, tmp_path: Path) -> None:
    """That of what Spark keeps within a job, and that of the result."""
    disk = tmp_path / "disk"
    before = small_disk(disk, 30)
    out = tmp_path / "out" if which == "kept" else disk / "out"
    local = {"SPARK_LOCAL_DIRS": str(disk)} if which == "kept" else {}
    with program(tmp_path, "many_facts", "local[2]", str(out), before=before, **local) as running:
        code = running.process.wait(180)
        if code == 0:  # Spark went on without what it could not keep
            assert pq.read_table(out).num_rows == 16_000_000
        else:
            (line,) = [line for line in running.errors.splitlines() if line.startswith("error: ")]
            assert line.startswith("error: a disk that Spark writes to is full: ")
            assert not (out / "_SUCCESS").exists()
            assert "_SUCCESS" not in running.out.read_text()
            assert str(disk) in running.out.read_text()
