"""Fixtures shared by the tests: small graphs, rules, and the folder of real data where there is one."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from kgreason.base import jit
from tests.folders import REAL
from tests.postgres import Server, running

jit.checked = True  # every kernel checks the arrays it gets

# Who runs the tests gets the same verdict each time; `pytest --hypothesis-profile=explore` draws new inputs. The
# numbers are how many inputs are tried of a hundred that a property asks for: few here, a fifth of them in `.ci/run`.
# How long inputs take to be drawn says more of what else the machine does than of the test.
SLOW = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, max_examples=7, suppress_health_check=SLOW)
settings.register_profile("many", derandomize=True, max_examples=21, suppress_health_check=SLOW)
settings.register_profile("explore", derandomize=False, max_examples=100, suppress_health_check=SLOW)
settings.load_profile("same")


def pytest_collection(session: pytest.Session) -> None:
    """The second worker imports tests from the last one on: an assertion that one of two has rewritten is kept.

    Each then takes 13 instead of 17 s of processor time to collect the tests.
    """
    folder = Path(__file__).parent
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and session.config.args == ["tests", "kgreason"]:
        for file in sorted(folder.rglob("test_*.py"), reverse=True):
            with suppress(Exception, pytest.skip.Exception):  # its collection tells why
                importlib.import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """What is imported and collected stays: the search for cyclic garbage need not go through it in every test."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # what Python does not free when it ends, duckdb prints as a leak
    gc.set_threshold(200_000, 20, 50)  # at the usual one the search takes 5 % of the tests' time


def pytest_sessionfinish() -> None:
    """Search for garbage once: what is left, pytest would search twice for errors in destructors."""
    gc.collect()
    gc.freeze()


OWNERSHIP = [
    ("Adler", "Dachs", 0.72),
    ("Dachs", "Elster", 0.8),
    ("Adler", "Biber", 0.4),
    ("Elster", "Biber", 0.25),
    ("Falke", "Biber", 0.3),
    ("Falke", "Gams", 0.55),
    ("Gams", "Hase", 0.2),
    ("Dachs", "Hase", 0.35),
]


@pytest.fixture
def real_data() -> Path:
    """Folder of public graphs beside the checkout."""
    if not REAL.is_dir():
        pytest.skip("the public graphs are not there: ../shared/data is missing")
    return REAL


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; each worker has its own, for as long as its tests run."""
    with running() as server:
        yield server


@pytest.fixture
def ownership(tmp_path: Path) -> Path:
    """A folder with ``own.csv`` (percentages) and a ``control.vada`` that binds it."""
    rows = "".join(f"{owner},{company},{share * 100:.2f}%\n" for owner, company, share in OWNERSHIP)
    (tmp_path / "own.csv").write_text("owner,company,share\n" + rows, encoding="utf-8")
    (tmp_path / "control.vada").write_text(CONTROL, encoding="utf-8")
    return tmp_path


CONTROL = """\
% Confidential note: Adler is under investigation.
@node("company").
@edge("own").
@incoming_sum("own", 1.0).
@bind("own", "csv useHeaders=true", "", "own.csv").
@output("control").
@query("two_owns").

%% A company controls itself.
control(X, X) :- company(X).
%% It controls what it and those it controls own more than half of.
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
two_owns(X) :- own(X, Y, W), X != Y, K = mcount(Y), K >= 2.
"""
