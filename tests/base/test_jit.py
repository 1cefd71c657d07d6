"""Kernels: from source to machine code, with and without files that keep it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import ANY

import numpy as np
import pytest
from llvmlite.binding.targets import FeatureMap

from kgreason.base import caches, jit, kernel_builds, machine_code, worker_processes
from tests.needs import quick

KERNELS = """
from __future__ import annotations
import numpy as np
from typing import NamedTuple
from kgreason.base.jit import Doubles, Flags, Ints, Rows, Shorts, inlined, kernel

class Record(NamedTuple):
    values: Ints
    step: int
    cells: Rows

@inlined
def _raised(of: Record, i: int) -> int:
    of.values[i] += of.step
    return int(of.values[i])

@kernel
def raised(of: Record, weight: Doubles) -> float:
    total = 0
    for i in range(len(of.values)):
        total += _raised(of, i) * of.cells[0, i]
    return total * weight[0]

@inlined
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
"""

ODD = """
from __future__ import annotations
from kgreason.base.jit import kernel

@kernel
def odd(value: int) -> bool:
    return value % 2 == 1
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


@pytest.fixture
def odd(folder: Path) -> Path:
    """A folder whose only kernel compiles quickly."""
    (folder / "made.py").write_text(ODD, encoding="utf-8")
    return folder


def use(folder: Path) -> str:
    run = subprocess.run([sys.executable, "-c", USE], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def module(folder: Path) -> ModuleType:
    made = ModuleType("made")
    file = folder / "made.py"
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), made.__dict__)
    for value in list(vars(made).values()):
        if isinstance(value, jit.Inlined):
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
    kept = list((folder / "cache").glob("made-*"))
    assert [file.suffix for file in kept] == [".bin"]
    assert use(folder) == "(20, 1.5) [3, 7] [False, True] False"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each compilation, whether its result will be kept."""
    compilations: list[bool] = []

    def compiling(done: int, total: int, kept: bool) -> None:
        assert total == 1
        if not done:
            compilations.append(kept)

    monkeypatch.setattr(jit, "compiling", compiling)
    return compilations


def test_damaged_files_are_made_again(odd: Path, told: list[bool]) -> None:
    assert module(odd).odd(3) is True
    kept = next((odd / "cache").glob("made-*.bin"))
    whole = kept.read_bytes()
    for damaged in (whole[:-5], whole[:40] + b"x" + whole[41:]):
        kept.write_bytes(damaged)
        told.clear()
        assert [module(odd).odd(3), module(odd).odd(4), told] == [True, False, [True]]
        again = kept.read_bytes()
        assert again == machine_code.sealed(again[32:])


def test_other_source_is_compiled_anew(odd: Path, told: list[bool]) -> None:
    for source, result in (("value % 2 == 1", True), ("value % 2 == 0", False)):
        (odd / "made.py").write_text(ODD.replace("value % 2 == 1", source), encoding="utf-8")
        assert module(odd).odd(3) is result
    assert told == [True, True]
    assert len(list((odd / "cache").glob("made-*.bin"))) == 2


def test_another_target_compiles_anew(odd: Path, told: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    assert module(odd).odd(3) is True
    llvm = machine_code._llvm()
    host = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    for count, processor in enumerate([host, (host[0], "+avx"), ("", "")], 2):
        for of in (machine_code, jit):
            monkeypatch.setattr(of, "target", lambda processor=processor: processor)
        told.clear()
        assert [module(odd).odd(3), module(odd).odd(4)] == [True, False]
        assert told == [True], processor
        assert len(list((odd / "cache").glob("made-*.bin"))) == count
    file = jit.object_file(module(odd).odd.function)
    name = file.name(host)
    monkeypatch.setattr(machine_code, "HEAD", 32)
    assert file.name(host) != name


def test_a_processor_without_the_baseline_has_a_target_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = machine_code._llvm()
    monkeypatch.setattr(llvm, "get_default_triple", lambda: "x86_64-unknown-linux-gnu")
    features = dict.fromkeys(machine_code._X86_64_V3, True)
    whole, part = FeatureMap(features), FeatureMap(features | {"bmi2": False})
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: whole)
    assert machine_code.target() == machine_code.baseline() == ("x86-64-v3", "")
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: part)
    assert machine_code.target() == (llvm.get_host_cpu_name(), part.flatten())
    assert "-bmi2" in part.flatten()


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_linux_and_llvm_agree_on_the_processor() -> None:
    assert machine_code._baseline_of_linux() is (machine_code.target() == machine_code.baseline())


@pytest.mark.parametrize(
    ("triple", "processor"),
    [
        ("aarch64-unknown-linux-gnu", "generic"),
        ("arm64-apple-darwin22.6.0", "apple-m1"),
        ("riscv64-linux", ""),
    ],
)
def test_baselines(triple: str, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = machine_code._llvm()
    monkeypatch.setattr(llvm, "get_default_triple", lambda: triple)
    if processor:
        assert machine_code.baseline() == (processor, "")
    else:
        assert machine_code.baseline() is None
        assert machine_code.target() == (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
        assert kernel_builds.build() == []


def test_numbers_and_records_of_other_files_belong_to_the_sources(odd: Path) -> None:
    made = module(odd)
    target = machine_code.target()
    names = {jit.object_file(made.odd.function).name(target)}
    made.IMPORTED = 5
    names.add(jit.object_file(made.odd.function).name(target))
    made.IMPORTED = 6
    names.add(jit.object_file(made.odd.function).name(target))
    assert len(names) == 3
    assert str(odd / "made.py") in jit._sources(made.odd.function)
    assert jit.__file__ in jit._sources(made.odd.function)


def test_shipped_code_is_used_if_it_belongs_to_the_sources(
    odd: Path, told: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module(odd).odd(3) is True
    kept = next((odd / "cache").glob("made-*.bin"))
    shipped = odd / "shipped"
    shipped.mkdir()
    monkeypatch.setattr(machine_code, "SHIPPED", shipped)
    file = kept.rename(shipped / kept.name)
    told.clear()
    assert module(odd).odd(3) is True
    assert told == []
    (odd / "made.py").write_text(ODD.replace("value % 2 == 1", "value % 2 == 0"), encoding="utf-8")
    assert module(odd).odd(3) is False
    assert told == [True]
    (odd / "made.py").write_text(ODD, encoding="utf-8")
    file.write_bytes(file.read_bytes()[:-1])
    assert module(odd).odd(3) is True
    assert told == [True, True]


SMALL = ["kgreason.graph.refinement", "kgreason.people.anonymizers.cdga_merging"]


def test_workers_compile_several_files_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jit, "cores", lambda: 2)
    monkeypatch.setattr(machine_code, "SHIPPED", tmp_path / "none")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    for module in SMALL:
        import_module(module)
    functions = {module: jit.first_kernel(module) for module in SMALL}
    monkeypatch.setattr(jit, "_FUNCTIONS", functions)
    steps: list[tuple[int, int, bool]] = []
    monkeypatch.setattr(jit, "compiling", lambda *step: steps.append(step))
    made = jit._compiled_at_first_use(functions[SMALL[0]])
    assert steps == [(0, 2, True), (1, 2, True), (2, 2, True)]
    assert [jit.object_file(f).read() for f in functions.values()] == [made, ANY]


def test_a_build_makes_the_files_that_a_run_looks_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for of in (kernel_builds, machine_code):
        monkeypatch.setattr(of, "SHIPPED", tmp_path)
    import_module(SMALL[0])
    file = jit.object_file(jit.first_kernel(SMALL[0]))
    with monkeypatch.context() as without:
        without.setattr(shutil, "which", lambda _: None)
        assert kernel_builds.shipped(SMALL[0]) == file.name(machine_code.baseline() or ("", ""))
    assert file.linked() is None
    name = kernel_builds.shipped(SMALL[0])
    if sys.platform == "linux" and shutil.which("ld"):
        assert name == file.library()
        assert (file.linked() is not None) is machine_code._baseline_of_linux()
    before = (tmp_path / name).stat()
    (tmp_path / "stale.bin").write_bytes(b"")
    monkeypatch.setattr(
        kernel_builds, "by_workers", lambda _, modules: [kernel_builds.shipped(SMALL[0]), *modules[1:]]
    )
    assert len(kernel_builds.build()) > 20
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_mtime_ns == before.st_mtime_ns


def test_workers_share_items_and_a_failure_ends_one() -> None:
    names = ["DIGIT ONE", "DIGIT TWO", "DIGIT SIX"]
    assert sorted(worker_processes.by_workers("unicodedata:lookup", names)) == ["1", "2", "6"]
    assert set(worker_processes.by_workers("unicodedata:lookup", ["none", "none"])) == set()


def test_a_build_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_builds, "SHIPPED", tmp_path)
    monkeypatch.setattr(kernel_builds, "by_workers", lambda _, modules: modules[:1])
    with pytest.raises(RuntimeError, match=r"\d+ of \d+ files of kernels do not compile"):
        kernel_builds.build()


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
    made.fill(values, other)
    assert told == [False]


def test_inlined_functions_run_in_python_and_only_kernels_inline_them(folder: Path) -> None:
    import numba

    made = module(folder)
    assert made._half(3.0) == 1.5
    with pytest.raises(Exception, match="_half is callable from kernels only"):
        numba.njit(lambda: made._half(2.0))()


def test_arrays_are_checked_in_tests(folder: Path) -> None:
    made = module(folder)
    for wrong in (np.zeros(3), np.zeros((3, 1), dtype=np.int32), np.zeros(6, dtype=np.int32)[::2], [1]):
        with pytest.raises(TypeError, match=r"a0 of a kernel is no contiguous array of \('int32', 1\)"):
            made.fill(wrong, np.zeros(3))


@pytest.mark.parametrize(
    "made", quick(1, ["values[i] = np.empty(2)[1]", "values[i:] = values[: len(values) - i]"])
)
def test_a_kernel_that_makes_arrays_is_refused(folder: Path, made: str) -> None:
    source = KERNELS.replace("values[i] = i\n", f"{made}\n")
    (folder / "made.py").write_text(source, encoding="utf-8")
    with pytest.raises(TypeError, match="fill cannot be compiled"):
        module(folder).fill(np.zeros(3, dtype=np.int32), np.zeros(3))


THREADS = """
import faulthandler, sys, threading
import numpy as np
import made
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-6)
calls = [
    lambda: made.raised(made.Record(np.arange(3), 2, np.ones((1, 3), dtype=int)), np.ones(1)) == 9,
    lambda: made.sums(np.ones((2, 2), dtype=int), np.zeros(2, dtype=int), np.zeros(2, dtype=bool), 1.0, False)[0] == 4,
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


@pytest.mark.slow
@pytest.mark.parametrize("warm", [False, True])
def test_threads_that_call_kernels_for_the_first_time_at_once(folder: Path, warm: bool) -> None:
    (folder / "made.py").write_text(KERNELS, encoding="utf-8")
    for _ in range(1 + warm):  # with nothing kept, and with all of it
        run = subprocess.run([sys.executable, "-c", THREADS], cwd=folder, capture_output=True, text=True)
        assert (run.stdout, run.returncode) == ("[]\n", 0), run.stderr[-2000:]


def test_an_interrupt_waits_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a callback of LLVM it would be printed, and the run go on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    done = []

    def made(_: object) -> object:
        signal.raise_signal(signal.SIGINT)
        done.append("whole")
        return lambda: None

    monkeypatch.setattr(jit, "_entry", made)
    try:
        with pytest.raises(KeyboardInterrupt):
            jit.kernel(made)()  # type: ignore[call-arg]
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["whole"]


# The address space has one hole of 20 kB at the top of 6 GB that nothing may use: code fits in, constants do not.
FULL = """
import ctypes
from kgreason.base import jit, machine_code
from kgreason.people.anonymizers.degree_clusters import price

PAGE, SIZE = 4096, 6 << 30
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserve(size):
    PRIVATE_ANONYMOUS_NORESERVE = 0x4022
    return libc.mmap(None, size, 0, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)

code = jit.compiled(price.function, machine_code.target())
machine_code._initialize()
start = reserve(SIZE)
for size in (5 * PAGE, PAGE):
    while reserve(size) > start:
        pass
libc.munmap(start + SIZE - 8 * PAGE, 5 * PAGE)
print(machine_code.load(code)("kgreason_price") > 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
def test_code_and_constants_are_loaded_near_each_other() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
