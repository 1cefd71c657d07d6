"""Clusters of Spark on the loopback device, programs that use them, and the processes of both."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.folders import ROOT
from tests.needs import needs_spark

T = TypeVar("T")
WAIT = 120.0  # seconds for a cluster to begin, or a program to come to a point
MEMORY = "512m"


def environment(**more: str) -> Mapping[str, str]:
    """Variables of programs: workers import kgreason and the tests from this checkout."""
    import pyspark

    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME", "LANG") if name in os.environ}
    return kept | {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        **more,
    }


def until(found: Callable[[], T | None], what: str) -> T:
    """Wait for something."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {WAIT:.0f} s")


def children(pid: int) -> list[int]:
    """Processes that a process started, and those that these started."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        parents.setdefault(parent, []).append(int(folder.name))
    found, waiting = [], [pid]
    while waiting:
        new = parents.get(waiting.pop(), [])
        found += new
        waiting += new
    return found


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def executors(pid: int) -> list[int]:
    """Executors that run below a process."""
    return [p for p in children(pid) if "CoarseGrainedExecutorBackend" in command(p) and "java" in command(p)]


@dataclass
class Cluster:
    """A master, and two workers of one core each."""

    master: str
    processes: Sequence[subprocess.Popen[bytes]]

    @property
    def executors(self) -> list[int]:
        return [found for process in self.processes for found in executors(process.pid)]


@contextmanager
def cluster(folder: Path, **more: str) -> Iterator[Cluster]:
    """Run a standalone cluster."""
    needs_spark()
    known = environment(**more)
    program = f"{known['SPARK_HOME']}/bin/spark-class"
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        with open(log, "wb") as stream:
            called = [program, f"org.apache.spark.deploy.{words[0]}", *words[1:]]
            processes.append(
                subprocess.Popen(called, env=known, stdout=stream, stderr=stream, start_new_session=True)
            )
        return log

    try:
        free = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        log = start("master", "master.Master", *free)
        at = re.compile(r"Starting Spark master at (spark://\S+)")
        master = until(lambda: at.search(log.read_text(errors="replace")), "start of the master")[1]
        for i in (1, 2):
            where = ["-c", "1", "-m", "1g", "-d", str(folder / f"work{i}")]
            start(f"worker{i}", "worker.Worker", *free, *where, master)
        until(
            lambda: log.read_text(errors="replace").count("Registering worker") == 2,
            "registration of workers",
        )
        yield Cluster(master, processes)
    finally:
        for process in processes:
            for pid in [*children(process.pid), process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()


class Program:
    """A program of `driver`, running."""

    def __init__(
        self, folder: Path, job: str, master: str, *words: str, before: Sequence[str] = (), **more: str
    ):
        needs_spark()
        self.out, self.err = folder / "stdout", folder / "stderr"
        called = [*before, sys.executable, "-m", "tests.distributed.driver", job, master, *words]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                called, cwd=folder, env=environment(**more), stdout=out, stderr=err, start_new_session=True
            )

    def result(self) -> Any:
        """Wait for the end; what the program printed."""
        code = self.process.wait(WAIT)
        assert code == 0, self.errors
        return json.loads(self.out.read_text().splitlines()[-1])

    @property
    def errors(self) -> str:
        return self.err.read_text(errors="replace")


@contextmanager
def program(folder: Path, job: str, master: str, *words: str, **more: Any) -> Iterator[Program]:
    running = Program(folder, job, master, *words, **more)
    try:
        yield running
    finally:
        for pid in [*children(running.process.pid), running.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        running.process.wait()


def small_disk(folder: Path, megabytes: int) -> list[str]:
    """Command before another one, which then sees a small disk at a folder."""
    folder.mkdir()
    # what is on the disk at the end goes to standard output, as nobody else sees it
    end = f'{{ "$@"; code=$?; find "{folder}"; exit $code; }}'
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "{folder}" && {end}'
    before = ["unshare", "-rm", "sh", "-c", mount, "sh"]
    try:
        done = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("the program unshare, for a small disk, is not there")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
    return before
