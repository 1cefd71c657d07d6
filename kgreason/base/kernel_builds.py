"""Compilation of all kernels, for a wheel."""

from __future__ import annotations

import importlib
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
    The object files, in `SHIPPED`, where those of other sources are deleted; empty if the platform has no baseline.

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
    """Compile the kernels of a module for the baseline, unless that is done; returns the name of the object file."""
    importlib.import_module(module)
    function = first_kernel(module)
    processor = baseline()
    assert processor is not None
    name = object_file(function).name(processor)
    if not (SHIPPED / name).exists():
        with replacing(SHIPPED / name) as file:
            file.write_bytes(sealed(compiled(function, processor)))
    return name


def kept(module: str) -> str:
    """Compile the kernels of a module for this machine, and keep them in a cache folder; returns the module."""
    importlib.import_module(module)
    function = first_kernel(module)
    object_file(function).keep(compiled(function, target()))
    return module
