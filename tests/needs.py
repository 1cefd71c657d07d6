"""What some tests need of the machine: a browser, a database server, Spark.

A test whose need is not met is skipped and says so; where ``KGREASON_TEST_ALL=1`` is set, as in `.ci/run`, it fails.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_PROGRAMS = ("initdb", "postgres")


def quick(count: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters of a test whose cases differ little: the first ones are quick tests, the others slow ones."""
    marks = [pytest.mark.slow]
    return [
        case if i < count else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
        for i, case in enumerate(cases)
    ]


def needed(what: str, there: bool) -> None:
    """Skip the test, or fail it where all tests must run, if something it needs is not there."""
    if there:
        return
    if os.environ.get("KGREASON_TEST_ALL") == "1":
        pytest.fail(f"{what} is not there, and KGREASON_TEST_ALL=1 says that nothing is skipped")
    pytest.skip(f"{what} is not there")


def chromium() -> Path | None:
    """Find the browser."""
    named = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next(
        (Path(found) for found in (*named, "/usr/bin/chromium") if found and Path(found).is_file()), None
    )


def needs_chromium() -> Path:
    """Find the browser, or skip the test."""
    found = chromium()
    needed("the browser chromium", found is not None)
    assert found is not None
    return found


def postgresql() -> Path | None:
    """Find the folder of PostgreSQL's server programs, which Debian keeps out of PATH; the newest of several."""
    named = [Path(found).resolve().parent for name in _PROGRAMS if (found := shutil.which(name))]
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    newest = sorted(versions, key=lambda folder: _number(folder.parent.name), reverse=True)
    folders = [*named, *newest, Path("/usr/local/bin"), Path("/usr/local/pgsql/bin")]
    return next((f for f in folders if all((f / name).is_file() for name in _PROGRAMS)), None)


def needs_postgresql() -> Path:
    """Find PostgreSQL's server programs and the package that speaks to them, or skip the test."""
    found = postgresql()
    needed("the server programs of PostgreSQL (initdb, postgres)", found is not None)
    needed("the package psycopg", find_spec("psycopg") is not None)
    assert found is not None
    return found


def needs_pyspark() -> None:
    """Skip the test where PySpark is missing."""
    needed("the package pyspark", find_spec("pyspark") is not None)


def needs_spark() -> None:
    """Skip the test where PySpark, or Java to run Spark, is missing."""
    needs_pyspark()
    home = os.environ.get("JAVA_HOME")
    needed("java", shutil.which("java", path=f"{home}/bin" if home else None) is not None)


def _number(version: str) -> float:
    try:
        return float(version)
    except ValueError:
        return 0.0
