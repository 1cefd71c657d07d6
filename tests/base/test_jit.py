"""Kernels: from source to machine code, with and without files that keep it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest

from kgreason.base import caches, jit
from tests.needs import quick

KERNELS = """
from __future__ import annotations
import numpy as np
from typing import NamedTuple
from kgreason.base.jit import Doubles, Flags, Ints, Rows, Shorts, allocating, kernel

class Record(NamedTuple):
    values: Ints
    step: int
    cells: Rows

@kernel
def _raised(of: Record, i: int) -> int:
    of.values[i] += of.step
    return int(of.values[i])

@kernel
def raised(of: Record, weight: Doubles) -> float:
    total = 0
    for i in range(len(of.values)):
        total += _raised(of, i) * of.cells[0, i]
    return total * weight[0]

@kernel
def _half(value: float) -> float:
    return value / 2

@kernel
def sums(rows: Rows, totals: Ints, kept: Flags, shift: float, doubled: bool) -> tuple[int, float]:
    low = 0
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            totals[i] += rows[i, j]
        kept[i] = totals[i] > 5
        low += totals[i] * (2 if doubled else 1)
    return low, _half(shift)

@kernel
def fill(values: Shorts, other: Doubles) -> None:
    for i in range(len(values)):
        values[i] = i
        other[i] = i / 4

@kernel
def odd(value: int) -> bool:
    return value % 2 == 1

@allocating
def twice(values: Ints) -> Ints:
    out = np.empty(len(values), dtype=np.int64)
    for i in range(len(values)):
        out[i] = int(_half(4.0 * values[i]))
    return out
"""

USE = """
import sys
import numpy as np
import made
totals, kept = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.bool_)
rows = np.array([[1, 2], [3, 4]])
print(made.sums(rows, totals, kept, 3.0, True), totals.tolist(), kept.tolist(), 'numba' in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "made.py").write_text(KERNELS, encoding="utf-8")
    return tmp_path


def use(folder: Path) -> str:
    run = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def module(folder: Path) -> ModuleType:
    made = ModuleType("made")
    file = folder / "made.py"
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), made.__dict__)
    for value in list(vars(made).values()):
        if isinstance(value, jit.Kernel | jit.Allocating):
            value.function.__module__ = "made"
    sys.modules["made"] = made
    return made


def test_records_are_taken_to_pieces(folder: Path) -> None:
    made = module(folder)
    of = made.Record(np.arange(3), 2, np.array([[1, 10, 100]]))
    assert made.raised(of, np.array([0.5])) == (2 + 30 + 400) / 2
    assert made._raised(of, 1) == 5
    assert of.values.tolist() == [2, 5, 4]


def test_machine_code_that_processes_make_at_once_is_kept_and_needs_no_numba(folder: Path) -> None:
    command = [sys.executable, "-c", USE]
    runs = [subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    found = [run.communicate(timeout=120)[0].strip() for run in runs]
    assert "(20, 1.5) [3, 7] [False, True] True" in found  # the other may have found what this one made
    assert {text.rpartition(" ")[0] for text in found} == {"(20, 1.5) [3, 7] [False, True]"}
    kept = list((folder / "cache").glob("made_sums-*"))
    assert [file.suffix for file in kept] == [".bin"]
    assert use(folder) == "(20, 1.5) [3, 7] [False, True] False"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each compilation, whether its result will be kept."""
    compilations: list[bool] = []
    monkeypatch.setattr(jit, "compiling", compilations.append)
    return compilations


def test_damaged_files_are_made_again(folder: Path, told: list[bool]) -> None:
    assert module(folder).odd(3) is True
    kept = next((folder / "cache").glob("made_odd-*.bin"))
    whole = kept.read_bytes()
    for damaged in (whole[:-5], whole[:40] + b"x" + whole[41:]):
        kept.write_bytes(damaged)
        told.clear()
        assert [module(folder).odd(3), module(folder).odd(4), told] == [True, False, [True]]
        assert len(kept.read_bytes()) == len(whole)


def test_other_source_is_compiled_anew(folder: Path, told: list[bool]) -> None:
    for source, result in (("value % 2 == 1", True), ("value % 2 == 0", False)):
        (folder / "made.py").write_text(KERNELS.replace("value % 2 == 1", source), encoding="utf-8")
        assert module(folder).odd(3) is result
    assert told == [True, True]
    assert len(list((folder / "cache").glob("made_odd-*.bin"))) == 2


def test_another_environment_compiles_anew(
    folder: Path, told: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["numba", "llvmlite", "numpy", "python", "triple", "cpu", "features", "header"]
    here = dict(zip(names, jit._environment(), strict=True))
    assert (here["numpy"], here["python"]) == (np.__version__, sys.version)
    assert here["cpu"]
    assert "+" in here["features"]
    assert module(folder).odd(3) is True
    for count, changed in enumerate(names, 2):
        there = tuple((here | {changed: "another"}).values())
        monkeypatch.setattr(jit, "_environment", lambda there=there: there)
        told.clear()
        assert [module(folder).odd(3), module(folder).odd(3)] == [True, True]
        assert told == [True], changed
        assert len(list((folder / "cache").glob("made_odd-*.bin"))) == count


def test_kernels_compile_where_nothing_can_be_kept(
    folder: Path, told: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "file" / "below"))
    assert caches.read("a", __file__) is None
    made = module(folder)
    values, other = np.zeros(3, dtype=np.int32), np.zeros(3)
    assert made.fill(values, other) is None
    assert (values.tolist(), other.tolist(), told) == ([0, 1, 2], [0.0, 0.25, 0.5], [False])
    assert made.odd(3) is True
    made.fill(values, other)
    assert told == [False, False]


def test_allocating_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_ = numba.njit

    def refuse(**options: bool) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return compile_(**options)

    made = module(folder)
    monkeypatch.setattr(numba, "njit", refuse)
    assert made.twice(np.array([1, 2])).tolist() == [2, 4]


@pytest.mark.parametrize(
    "wrong", [np.zeros(3), np.zeros((3, 1), dtype=np.int32), np.zeros(6, dtype=np.int32)[::2], [1]]
)
def test_arrays_are_checked_in_tests(folder: Path, wrong: object) -> None:
    with pytest.raises(TypeError, match=r"a0 of a kernel is no contiguous array of \('int32', 1\)"):
        module(folder).fill(wrong, np.zeros(3))


@pytest.mark.parametrize(
    "made", quick(1, ["values[i] = np.empty(2)[1]", "values[i:] = values[: len(values) - i]"])
)
def test_a_kernel_that_makes_arrays_is_refused(folder: Path, made: str) -> None:
    source = KERNELS.replace("values[i] = i\n", f"{made}\n")
    (folder / "made.py").write_text(source, encoding="utf-8")
    with pytest.raises(TypeError, match="the kernel fill makes arrays"):
        module(folder).fill(np.zeros(3, dtype=np.int32), np.zeros(3))


THREADS = """
import faulthandler, sys, threading
import numpy as np
import made
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-6)
calls = [
    lambda: made.thrice(np.arange(3)).tolist() == [0, 6, 12],
    lambda: made.odd(3),
    lambda: made.twice(np.arange(3)).tolist() == [0, 2, 4],
    lambda: made.fill(np.zeros(3, dtype=np.int32), np.zeros(3)) is None,
]
barrier, wrong = threading.Barrier(12), []

def work(first):
    barrier.wait()
    for i in range(len(calls)):
        try:
            assert calls[(first + i) % len(calls)]()
        except BaseException as error:
            wrong.append(repr(error))

threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong)
"""

THRICE = """
@allocating
def thrice(values: Ints) -> Ints:
    return twice(values) * (2 + odd(1))
"""


@pytest.mark.slow
@pytest.mark.parametrize("warm", [False, True])
def test_threads_that_call_kernels_for_the_first_time_at_once(folder: Path, warm: bool) -> None:
    (folder / "made.py").write_text(KERNELS + THRICE, encoding="utf-8")
    for _ in range(1 + warm):  # with nothing kept, and with all of it
        run = subprocess.run([sys.executable, "-c", THREADS], cwd=folder, capture_output=True, text=True)
        assert (run.stdout, run.returncode) == ("[]\n", 0), run.stderr[-2000:]


def test_a_thread_that_compiles_does_not_wait_for_one_that_waits_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One compiles a kernel; the other, who holds numba's lock, a caller of a kernel that was never called."""
    from numba.core.compiler_lock import global_compiler_lock

    (folder / "made.py").write_text(KERNELS + THRICE, encoding="utf-8")
    made = module(folder)
    made.thrice._run  # noqa: B018
    other = threading.Thread(target=made.thrice, args=(np.arange(3),), daemon=True)

    def compiling(_: bool) -> None:
        if not other.ident:
            other.start()
            time.sleep(0.3)  # for the other to take the lock if it is free

    monkeypatch.setattr(jit, "compiling", compiling)
    one = threading.Thread(target=made.odd, args=(3,), daemon=True)
    one.start()
    for thread in (one, other):
        thread.join(30)
        assert not thread.is_alive()
    assert not global_compiler_lock.is_locked()


def test_an_interrupt_waits_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a callback of LLVM it would be printed, and the run go on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    done = []

    def made(_: object) -> object:
        signal.raise_signal(signal.SIGINT)
        done.append("whole")
        return lambda: None

    monkeypatch.setattr(jit.Kernel, "_made", made)
    try:
        with pytest.raises(KeyboardInterrupt):
            jit.kernel(made)()  # type: ignore[call-arg]
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["whole"]
