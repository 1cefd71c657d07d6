"""Kernels: functions on NumPy arrays that run as machine code.

A `kernel` works on the arrays of its caller and allocates nothing. numba compiles it to machine code, which needs
neither numba nor the GIL. An `inlined` function is compiled into the kernels that call it.

Importing numba takes 0.26 s and 93 MB, NumPy 0.08 s and 28 MB, the LLVM loader 0.03 s and 50 MB.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, cast, get_args

import numpy as np
import numpy.typing as npt

from kgreason.base.calling_convention import entry_name, flat, signature
from kgreason.base.cores import cores
from kgreason.base.interrupts import deferred
from kgreason.base.machine_code import ObjectFile, Processor, load, target
from kgreason.base.resources import PACKAGE

P = ParamSpec("P")
R = TypeVar("R")

Ints = Annotated[npt.NDArray[np.int64], "int64", 1]
Rows = Annotated[npt.NDArray[np.int64], "int64", 2]
Shorts = Annotated[npt.NDArray[np.int32], "int32", 1]
Singles = Annotated[npt.NDArray[np.float32], "float32", 1]
SingleRows = Annotated[npt.NDArray[np.float32], "float32", 2]
Doubles = Annotated[npt.NDArray[np.float64], "float64", 1]
DoubleRows = Annotated[npt.NDArray[np.float64], "float64", 2]
Flags = Annotated[npt.NDArray[np.bool_], "bool", 1]
Bytes = Annotated[npt.NDArray[np.uint8], "uint8", 1]
"""Arguments of kernels: C-contiguous arrays of a type and a number of axes."""

checked = False
"""Whether kernels that are called for the first time check their arrays in each call, for tests."""

compiling: Callable[[int, int, bool], None] | None = None
"""Called while files are compiled with how many are compiled, how many will be, and whether the results are kept."""

_LOCK = threading.Lock()
# a kernel of each imported module of the package that has kernels
_FUNCTIONS: dict[str, Callable[..., Any]] = {}
_ENGINE = "__machine_code__"  # among the globals of a module: keeps its machine code alive


class Inlined(Generic[P, R]):
    """Function compiled into the kernels that call it; elsewhere a Python function.

    Parameters are annotated with the types of this module, `int`, `float` and `bool`, or with a `NamedTuple` of such
    arrays; results are numbers or nothing.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function."""
        return self.function(*args, **kwargs)

    @property
    def _numba_type_(self) -> Any:
        from kgreason.base.kernel_compiler import callee

        return callee(self.function)


class Kernel(Inlined[P, R]):
    """Function with an entry from Python; arguments are positional.

    Arrays must have the annotated types, which is checked only in tests.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        super().__init__(function)
        if function.__module__.startswith(f"{PACKAGE.name}."):
            _FUNCTIONS[function.__module__] = function
        self._run: Callable[P, R] = self._first

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        return self._run(*args, **kwargs)

    def _first(self, *args: P.args, **kwargs: P.kwargs) -> R:
        with deferred():  # an interrupt within the compiler would be lost
            self._run = _entry(self.function)
            return self._run(*args, **kwargs)


inlined, kernel = Inlined, Kernel  # as decorators

_NUMBERS: dict[Any, Any] = {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_int64}


def _entry(function: Callable[P, R]) -> Callable[P, R]:
    """Python function that passes the addresses of array objects, and numbers, to the machine code."""
    types, results = signature(function)
    fields = [(f"r{i}", _NUMBERS[t]) for i, t in enumerate(results or (int,))]
    structure = type("Results", (ctypes.Structure,), {"_fields_": fields})
    parameters = flat(types)
    arguments = [ctypes.c_double if t is float else ctypes.c_int64 for _, _, t in parameters]
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *arguments)
    names = [f"a{i}" for i in range(len(types))]
    addresses = [f"id({a})" if get_args(t) else a for _, a, t in parameters]
    values = [f"result.r{i}" + (" != 0" if t is bool else "") for i, t in enumerate(results)]
    arrays = [f"fit({a}, {t.__metadata__}, {a!r})" for _, a, t in parameters if get_args(t)]
    source = f"""def {function.__name__}({", ".join(names)}):
        {"; ".join(arrays) if checked else "pass"}
        result = Results()
        if call(byref(result), {", ".join(addresses)}):
            raise RuntimeError("a kernel failed")
        return {", ".join(values) or "None"}"""
    scope: dict[str, Any] = {
        "Results": structure,
        "byref": ctypes.byref,
        "fit": _fit,
        "call": prototype(_address(function)),
    }
    exec(source, scope)
    return cast(Callable[P, R], scope[function.__name__])


def _fit(array: npt.NDArray[Any], wanted: tuple[str, int], name: str) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == wanted[0] and array.ndim == wanted[1]
    if not fits or not array.flags.c_contiguous:
        raise TypeError(f"{name} of a kernel is no contiguous array of {wanted}")


def _address(function: Callable[..., Any]) -> int:
    """Address of a kernel's entry; its file is compiled if there is no machine code for it."""
    scope = function.__globals__
    with _LOCK:
        if _ENGINE not in scope:
            file = object_file(function)
            scope[_ENGINE] = file.linked() or load(file.read() or _compiled_at_first_use(function))
    found: int = scope[_ENGINE](entry_name(function))
    return found


def object_file(function: Callable[..., Any]) -> ObjectFile:
    """Object file of a kernel's source file."""
    return ObjectFile(function.__module__, function.__code__.co_filename, _sources(function))


def compiled(function: Callable[..., Any], processor: Processor) -> bytes:
    """Machine code of all kernels in the file of a kernel.

    Raises
    ------
    TypeError
        If a function cannot be compiled, for instance since it makes an array.
    """
    from kgreason.base import kernel_compiler

    found = [value for value in list(function.__globals__.values()) if isinstance(value, Kernel)]
    own = [each.function for each in found if each.__module__ == function.__module__]
    return kernel_compiler.compiled(own, processor)


def first_kernel(module: str) -> Callable[..., Any]:
    """A kernel of an imported module."""
    return _FUNCTIONS[module]


def _made(file: ObjectFile) -> bool:
    return file.linked() is not None or file.read() is not None


def _compiled_at_first_use(function: Callable[..., Any]) -> bytes:
    """Compile the file of a kernel, and at once other imported files of the package that lack machine code."""
    report = compiling or (lambda *_: None)
    file = object_file(function)
    kept = file.kept()
    package = list(_FUNCTIONS.items()) if function.__module__ in _FUNCTIONS else []
    missing = [module for module, of in package if not _made(object_file(of))]
    if kept and len(missing) > 1 and cores() > 1:
        from kgreason.base.worker_processes import by_workers

        report(0, len(missing), kept)
        for done, _ in enumerate(by_workers("kgreason.base.kernel_builds:kept", missing), 1):
            report(done, len(missing), kept)
    code = file.read()
    if code is None:
        report(0, 1, kept)
        code = compiled(function, target())
        file.keep(code)
        report(1, 1, kept)
    return code


def _sources(function: Callable[..., Any]) -> dict[str, list[tuple[str, float]]]:
    """Files on which the machine code of a kernel's file depends, each with the numbers among its globals.

    They define the compiler, the kernels, the functions and records that the kernels use, and theirs in turn.
    """
    compiler = ("jit", "kernel_compiler", "calling_convention")
    found: dict[str, list[tuple[str, float]]] = {
        str(Path(__file__).with_name(f"{name}.py")): [] for name in compiler
    }
    functions = [function]
    while functions:
        one = functions.pop()
        scope = dict(one.__globals__)
        numbers = [(name, value) for name, value in scope.items() if isinstance(value, int | float)]
        found[one.__code__.co_filename] = sorted(numbers)
        for value in scope.values():
            if isinstance(value, Inlined) and value.function.__code__.co_filename not in found:
                functions.append(value.function)
            elif isinstance(value, type) and hasattr(value, "_fields"):
                file = getattr(sys.modules.get(value.__module__), "__file__", None)
                if file is not None:
                    found.setdefault(file, [])
    return found
