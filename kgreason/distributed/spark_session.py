"""The Spark session of a run: that of the user where there is one, else a new one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kgreason.base.errors import CallError, EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = 17  # least version of Java that Spark 4 runs on
INSTALL = "install Java 17 or newer, and set JAVA_HOME to its folder if `java` is not on the PATH"
_PORTS = {"spark": 7077, "sc": 15002}  # usual ones, by the scheme of a master
_PATIENCE = 10.0  # seconds in which a server has to answer
_CAUSE = "Caused by: "
_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|yarn|(spark|k8s|sc)://.+")
MASTERS = "a master is for instance local[4], spark://host:7077, yarn or sc://host"
# of sessions made here; nothing is set in a session of the user or by spark-submit
OWN = {"spark.ui.showConsoleProgress": "false"}
LOCAL = {"spark.log.level": "OFF", "spark.ui.enabled": "false"}  # a cluster warns if it has no room


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warning of PySpark that it does not fully support pandas 3, of which nothing is used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def session(master: str | None = None) -> SparkSession:
    """Return the active session, or a new one; nothing is changed in the former.

    Parameters
    ----------
    master
        Where a new session runs: ``local[2]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark Connect;
        default: as spark-submit or the configuration of Spark says, else all cores of this machine.

    Raises
    ------
    EngineError
        If PySpark or Java is missing, Spark does not start, or a session runs elsewhere than at `master`.
    """
    try:
        with quiet():
            from py4j.protocol import Py4JError
            from pyspark import SparkContext
            from pyspark.errors import PySparkException
            from pyspark.sql import SparkSession

            running = SparkSession.getActiveSession()
    except ImportError as error:
        what = f"the engine spark needs the package {error.name or 'pyspark'}, which is not installed"
        raise EngineError(what, hint="pip install 'kgreason[spark]'") from None
    if running is None and SparkContext._active_spark_context is not None:
        running = SparkSession.builder.getOrCreate()
    if running is not None:
        return _at(running, master)
    builder = SparkSession.builder
    if master is not None:
        if _MASTER.fullmatch(master) is None:
            raise EngineError(f"{master!r} does not say where Spark runs", hint=MASTERS)
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    asked = master or os.environ.get("SPARK_REMOTE", "")
    elsewhere = asked.startswith("sc://")
    _check_reachable(asked)
    if not submitted and not elsewhere:
        _check_java()
        os.environ.setdefault(
            "PYSPARK_PYTHON", sys.executable
        )  # else workers run the first python3 of the PATH
        here = (master or "local").startswith("local")
        for name, value in (OWN | LOCAL if here else OWN).items():
            builder = builder.config(name, value)
    try:
        with quiet(), _own_interrupts():
            return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        if not elsewhere and (problem := _unfit_java()):
            raise problem from error
        where = f" at {master}" if master else ""
        raise EngineError(f"Spark does not start{where}: {first_line(error)}", hint=MASTERS) from error


def check_session(spark: object) -> None:
    """Raise `CallError` for what is no running session, but for `None`."""
    if spark is None:
        return
    if not hasattr(spark, "createDataFrame"):
        hint = "SparkSession.builder.getOrCreate() makes one; in .master(...) say where it runs"
        raise CallError(f"spark is a SparkSession, not {spark!r}", hint=hint)
    session: Any = spark
    stopped = session.is_stopped if hasattr(spark, "is_stopped") else session.sparkContext._jsc is None
    if stopped:
        raise CallError("the session of Spark has stopped", hint="make another one, and its frames anew")


def _at(running: SparkSession, master: str | None) -> SparkSession:
    there = running.conf.get("spark.master", None) if master else None
    remote = ".connect." in type(running).__module__
    if master and there and there != master and not (remote and master.startswith("sc://")):
        raise EngineError(
            f"a Spark session runs at {there}, not at {master}",
            hint="leave out the master to use it, or stop it first",
        )
    return running


def _check_reachable(master: str) -> None:
    """Check that a server is there: Spark would try for minutes, or wait for it without end."""
    scheme, _, rest = master.partition("://")
    if scheme not in _PORTS:
        return
    problem: Exception | None = None
    for each in re.split("[/;]", rest)[0].split(","):  # of several masters, one suffices
        try:
            place = urlsplit(f"//{each}")
            socket.create_connection((place.hostname or "", place.port or _PORTS[scheme]), _PATIENCE).close()
            return
        except (OSError, ValueError) as error:
            problem = error
    raise EngineError(f"Spark is not at {master}: {problem}", hint=f"start it there; {MASTERS}") from problem


def first_line(error: BaseException) -> str:
    """First line that says something of the message of an error of Spark, which may go on for pages."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    lines = [line.strip() for line in text.splitlines()]
    causes = [line.partition(_CAUSE)[2] for line in str(error).splitlines() if _CAUSE in line]
    if causes and lines and lines[0].endswith("awaitResult:"):  # which tells nothing itself
        return causes[-1][:300]
    return next((line[:300] for line in lines if line), type(error).__name__)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C, which PySpark replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


def _check_java() -> None:
    if _java() is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in JAVA_HOME, {home}" if home else "on the PATH, and JAVA_HOME is not set"
        raise EngineError(f"Spark needs Java {NEEDED} or newer: there is no java {where}", hint=INSTALL)


def _unfit_java() -> EngineError | None:
    """What is wrong with Java, if that is why Spark does not start."""
    java = _java()
    if java is None:
        return None
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if found and int(found[1]) >= NEEDED:
        return None
    version = f"is version {found[1]}" if found else "does not run"
    return EngineError(f"Spark needs Java {NEEDED} or newer: {java} {version}", hint=INSTALL)
