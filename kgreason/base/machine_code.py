"""Files with machine code: one for each source file of kernels.

A wheel contains the machine code of all kernels for the baseline of its platform: as shared libraries if it was built
on Linux with a linker, otherwise as object files. Where the processor lacks a part of the baseline, and where a source
was edited, kernels are compiled at their first use, and a cache folder keeps the object files. Loading object files
takes LLVM, that is 0.03 s and 50 MB.

The name of a file holds a digest of the sources, of the processor for which it is compiled, and of the layout
of Python objects: machine code that does not belong to the sources is never loaded. Kernels read the header of NumPy's
array objects, which is the same in all versions 2, and call nothing of Python: the version of Python does not matter.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from kgreason.base import caches
from kgreason.base.calling_convention import HEAD
from kgreason.base.resources import PACKAGE

SHIPPED = PACKAGE / "_machine_code"
"""Folder of a wheel's machine code."""

Processor = tuple[str, str]
"""Name and features of a processor, as LLVM knows them."""

Addresses = Callable[[str], int]
"""Addresses of entries by their names."""

_X86_64_V3 = {"avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"}
_OF_LINUX = {"bmi": "bmi1", "lzcnt": "abm", "sahf": "lahf_lm"}
"""Names of parts of the baseline in ``/proc/cpuinfo`` where LLVM has others."""


def baseline() -> Processor | None:
    """Processor for which a wheel is compiled on this platform."""
    triple = _llvm().get_default_triple()
    machine = triple.partition("-")[0]
    if machine == "x86_64":
        return "x86-64-v3", ""
    if machine in ("aarch64", "arm64"):
        return "apple-m1" if "darwin" in triple else "generic", ""
    return None


def target() -> Processor:
    """Processor for which this machine compiles: the baseline, unless there is none or the processor lacks a part."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    wanted = baseline()
    if wanted is None or (wanted[0] == "x86-64-v3" and not all(features.get(name) for name in _X86_64_V3)):
        return llvm.get_host_cpu_name(), features.flatten()
    return wanted


@dataclass(frozen=True)
class ObjectFile:
    """Object file of a source file with kernels.

    Parameters
    ----------
    module
        Name of the module.
    source
        Path of its file.
    sources
        All files on which the machine code depends, each with further values on which it does.
    """

    module: str
    source: str
    sources: Mapping[str, Any]

    def name(self, processor: Processor) -> str:
        """Name of the file for a processor."""
        return f"{self.module}-{self._digest(_llvm().get_default_triple(), processor)}.bin"

    def library(self) -> str:
        """Name of the shared library for the baseline of Linux on this machine."""
        return f"{self.module}-{self._digest(os.uname().machine)}.so"

    def _digest(self, *target: object) -> str:
        key = hashlib.sha256(repr((HEAD, *target)).encode())
        for path, values in sorted(self.sources.items()):
            key.update(Path(path).read_bytes())
            key.update(repr(values).encode())
        return key.hexdigest()[:24]

    @cached_property
    def _here(self) -> str:
        return self.name(target())

    def linked(self) -> Addresses | None:
        """Addresses in the shared library of the wheel; `None` if there is none for this machine."""
        if not _baseline_of_linux():
            return None
        with suppress(OSError):
            library = ctypes.CDLL(str(SHIPPED / self.library()))
            return lambda name: ctypes.cast(library[name], ctypes.c_void_p).value or 0
        return None

    def read(self) -> bytes | None:
        """Machine code for this machine, of the wheel or from a cache folder; `None` if there is none."""
        for found in (_shipped(self._here), caches.read(self._here, self.source)):
            if found is not None and sealed(found[32:]) == found:
                return found[32:]
        return None

    def keep(self, code: bytes) -> None:
        """Store machine code for this machine in a cache folder, if one is writable."""
        caches.write(self._here, self.source, sealed(code))

    def kept(self) -> bool:
        """Whether a cache folder is writable."""
        return caches.place(self._here, self.source) is not None


def sealed(code: bytes) -> bytes:
    """Content of an object file: a checksum and the machine code."""
    return hashlib.sha256(code).digest() + code


def load(code: bytes) -> Addresses:
    """Load an object file; the machine code lives as long as the result."""
    llvm = _llvm()
    _initialize()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    # One engine each: no clashes. llvmlite's memory manager puts code and constants side by side; the default one maps
    # them apart, and where they are more than 2 GB apart, LLVM aborts the process.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: Addresses = engine.get_function_address
    return found


@cache
def _baseline_of_linux() -> bool:
    """Whether this is Linux on a processor with all parts of the baseline."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return sys.platform == "linux" and os.uname().machine == "aarch64"
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
        return {_OF_LINUX.get(name, name) for name in _X86_64_V3}.issubset(flags)
    return False


def _shipped(name: str) -> bytes | None:
    try:
        return (SHIPPED / name).read_bytes()
    except OSError:
        return None


def _llvm() -> Any:
    import llvmlite.binding as llvm

    return llvm


@cache
def _initialize() -> None:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
