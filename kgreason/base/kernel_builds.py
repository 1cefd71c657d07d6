"""Compilation of all kernels, for a wheel."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kgreason.base.atomic_files import replacing
from kgreason.base.jit import compiled, first_kernel, object_file
from kgreason.base.machine_code import SHIPPED, baseline, sealed, target
from kgreason.base.resources import PACKAGE
from kgreason.base.worker_processes import by_workers


def build() -> list[Path]:
    """Compile the kernels of the package for the baseline of the platform, unless that is done already.

    Returns
    -------
    Shared libraries or object files, in `SHIPPED`, where those of other sources are deleted; empty if the platform has
    no baseline.

    Raises
    ------
    RuntimeError
        If a file cannot be compiled.
    """
    if baseline() is None:
        return []
    sources = [file for file in PACKAGE.rglob("*.py") if "\n@kernel\n" in file.read_text(encoding="utf-8")]
    sources.sort(key=lambda file: file.stat().st_size, reverse=True)  # long ones first
    modules = [".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in sources]
    SHIPPED.mkdir(exist_ok=True)
    made = {SHIPPED / name for name in by_workers(f"{__name__}:shipped", modules)}
    if len(made) < len(modules):
        raise RuntimeError(f"{len(modules) - len(made)} of {len(modules)} files of kernels do not compile")
    for stale in set(SHIPPED.iterdir()) - made:
        stale.unlink()
    return sorted(made)


def shipped(module: str) -> str:
    """Compile the kernels of a module for the baseline, unless that is done; returns the name of the file."""
    importlib.import_module(module)
    function = first_kernel(module)
    processor = baseline()
    assert processor is not None
    linker = shutil.which("ld") if sys.platform == "linux" else None
    of = object_file(function)
    name = of.library() if linker else of.name(processor)
    if not (SHIPPED / name).exists():
        code = compiled(function, processor)
        with replacing(SHIPPED / name) as file:
            file.write_bytes(_linked(code, linker) if linker else sealed(code))
    return name


def _linked(code: bytes, linker: str) -> bytes:
    """Shared library of an object file; it names no version of the C library, whose functions the process has."""
    with tempfile.TemporaryDirectory() as folder:
        made, library = Path(folder, "made.o"), Path(folder, "made.so")
        made.write_bytes(code)
        subprocess.run([linker, "-shared", "-s", "-o", library, made], check=True)
        return library.read_bytes()


def kept(module: str) -> str:
    """Compile the kernels of a module for this machine, and keep them in a cache folder; returns the module."""
    importlib.import_module(module)
    function = first_kernel(module)
    object_file(function).keep(compiled(function, target()))
    return module
