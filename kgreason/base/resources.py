"""Resources of the package: version, shipped files, names that are imported on first use, garbage collection."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

VERSION = "0.1.0"

PACKAGE = Path(__file__).resolve().parent.parent


def resource(folder: str, name: str) -> Path:
    """Path of a shipped file, in the checkout or in the data of the wheel.

    Parameters
    ----------
    folder
        ``"grammars"`` or ``"rules"``.

    Raises
    ------
    FileNotFoundError
        If neither the checkout nor the wheel has the file, i.e. the installation is broken.
    """
    checkout = PACKAGE.parent
    root = checkout if (checkout / "pyproject.toml").is_file() else PACKAGE / "_data"
    path = root / folder / name
    if path.is_file():
        return path
    missing = f"{folder}/{name} is missing from this installation of kgreason"
    raise FileNotFoundError(f"{missing}; install it again")


@contextmanager
def uncollected() -> Iterator[None]:
    """Search for no cyclic garbage while the block imports modules.

    What it makes stays; the searches take 23 ms of the 300 ms of a small `kgreason.reason`.
    """
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()


def collect_rarely() -> None:
    """Run the garbage collector rarely, and not at exit, in a process that ends after one command.

    Imports and plans make many objects that stay. Collections take 26 ms of the 207 ms of `kgreason.reason` on 1,000
    companies (2 cores, best of 25 processes), 14 ms of them at exit. With DuckDB they run at exit as usual, because
    DuckDB reports what is left as a leak.
    """
    gc.set_threshold(100_000)
    atexit.register(lambda: None if "duckdb" in sys.modules else gc.freeze())


@contextmanager
def asleep() -> Iterator[None]:
    """Let the threads of NumPy sleep until they have work, if the block is the first to import NumPy.

    Those of its OpenBLAS would first wait in a busy loop of 2^26 cycles, which takes 0.04 s of processor time.
    """
    name = "OPENBLAS_THREAD_TIMEOUT"
    if name in os.environ:
        yield
        return
    os.environ[name] = "4"  # 2^4 cycles, the least
    try:
        yield
    finally:
        del os.environ[name]


def lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package, which keep its import fast.

    They read the imports in the stub ``__init__.pyi``, which type checkers read as well: each public name and its
    module are written once.

    Parameters
    ----------
    package
        Name of the package.
    file
        Its ``__init__.py``.
    """

    @cache
    def origins() -> dict[str, tuple[str, str]]:
        import ast  # takes 15 ms, which `import kgreason` need not wait for

        stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
        return {
            alias.asname or alias.name: (str(node.module), alias.name)
            for node in stub.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def names() -> list[str]:
        return sorted(origins())

    def attribute(name: str) -> Any:
        if name == "__all__":
            return [name for name in names() if origins()[name][0] != package]
        if name.startswith("_") or name not in origins():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = origins()[name]
        if module == package:  # a module of the package
            return import_module(f"{module}.{original}")
        with uncollected(), asleep():
            found = getattr(import_module(module), original)
        setattr(sys.modules[package], name, found)
        return found

    return attribute, names
