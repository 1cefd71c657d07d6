"""Compilation of kernels to machine code.

A `kernel` works on the arrays of its caller and allocates nothing. numba compiles it once per machine; afterwards its
machine code is loaded from a file, without importing numba, which takes half a second. Kernels that allocate need the
run-time library of numba, hence numba in each process: `allocating`.

With an empty cache `kgreason reason` on 300 companies takes 5.5 s of processor time, with a filled one 0.75 s. Reading
numba's own cache requires importing numba: 0.26 s and 93 MB, and 0.1 s and 69 MB for NumPy and the LLVM loader.

The name of a cached file holds a digest of the source, of Python, NumPy and numba, and of the processor and its
features: if any of them differs, the kernel is compiled again.

Several threads may call kernels for the first time at once. Compilation holds numba's own lock from source to machine
code and waits for no other lock: with a second one, a thread that compiles a kernel and one that compiles a caller of
it could deadlock.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, update_wrapper
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, cast, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from kgreason.base import caches
from kgreason.base.interrupts import deferred

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


compiling: Callable[[bool], None] | None = None
"""Called before each compilation, which takes long, with whether its result will be kept."""

checked = False
"""Whether kernels that are called for the first time check their arrays in each call, for tests."""

_ABI = 1  # increase when the content of cached files changes its meaning
_HEAD = object.__basicsize__  # NumPy ABI: an array object begins with data pointer, number of axes, lengths
_LOADING = threading.Lock()  # its holder waits for no other lock
_NUMBERS: dict[Any, tuple[Any, str]] = {
    int: (ctypes.c_int64, "np.int64"),
    float: (ctypes.c_double, "np.float64"),
    bool: (ctypes.c_bool, "np.bool_"),
}


class Compiled(ABC, Generic[P, R]):
    """Function as machine code that releases the GIL, compiled on the first call; arguments are positional."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self._run: Callable[P, R] = self._first
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        return self._run(*args, **kwargs)

    def _first(self, *args: P.args, **kwargs: P.kwargs) -> R:
        with deferred():  # an interrupt within the compiler would be lost
            self._run = self._made()
            return self._run(*args, **kwargs)

    @abstractmethod
    def _made(self) -> Callable[P, R]: ...


class Kernel(Compiled[P, R]):
    """Kernel on arrays of its caller.

    Parameters are annotated with the types of this module, `int`, `float` and `bool`, or with a `NamedTuple` of such
    arrays; results are numbers or nothing. Arrays must have the annotated types, which is checked only in tests.
    """

    @property
    def _numba_type_(self) -> Any:  # function that other kernels call instead
        with _compiler():
            return _dispatcher(self.function)._numba_type_

    def _made(self) -> Callable[P, R]:
        hints = get_type_hints(self.function, include_extras=True)
        result = hints.pop("return")
        results = [] if result is type(None) else list(get_args(result)) or [result]
        return _entry(self.function, list(hints.values()), results)


class Allocating(Compiled[P, R]):
    """Function that allocates arrays, compiled by numba in each process that calls it (or read from numba's cache)."""

    @property
    def _numba_type_(self) -> Any:
        return self._made()._numba_type_  # type: ignore[attr-defined]

    def _made(self) -> Callable[P, R]:
        with _compiler():
            return cast(Callable[P, R], _allocating(self.function))


kernel, allocating = Kernel, Allocating  # as decorators


def _compiler() -> Any:
    from numba.core.compiler_lock import global_compiler_lock

    return global_compiler_lock


@cache
def _allocating(function: Callable[..., Any]) -> Any:
    import numba

    try:
        kept = bool(caches.folders(function.__code__.co_filename))
        return numba.njit(nogil=True, cache=kept)(function)
    except RuntimeError:  # numba: "no locator available", i.e. no writable cache folder
        return numba.njit(nogil=True)(function)


@cache
def _dispatcher(function: Callable[..., Any]) -> Any:
    import numba

    # Passing arrays by value would put seven words per array on the stack and count references.
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


def _flat(types: Sequence[Any]) -> list[tuple[int, str, Any]]:
    """Flattened parameters of a kernel: parameter number, expression and type; records are expanded."""
    found: list[tuple[int, str, Any]] = []
    for i, t in enumerate(types):
        fields = get_type_hints(t, include_extras=True).items() if hasattr(t, "_fields") else ()
        found += [(i, f"a{i}.{name}", of) for name, of in fields] or [(i, f"a{i}", t)]
    return found


def _entry(function: Callable[P, R], types: Sequence[Any], results: Sequence[Any]) -> Callable[P, R]:
    fields = [(f"r{i}", _NUMBERS[t][0]) for i, t in enumerate(results or (int,))]
    structure = type("Results", (ctypes.Structure,), {"_fields_": fields})
    flat = _flat(types)
    arguments = [ctypes.c_double if t is float else ctypes.c_int64 for _, _, t in flat]
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *arguments)
    names = [f"a{i}" for i in range(len(types))]
    addresses = [f"id({a})" if get_args(t) else a for _, a, t in flat]
    found = ", ".join(f"result.r{i}" for i in range(len(results))) or "None"
    arrays = [f"fit({a}, {t.__metadata__}, {a!r})" for _, a, t in flat if get_args(t)]
    source = f"""def {function.__name__}({", ".join(names)}):
        {"; ".join(arrays) if checked else "pass"}
        result = Results()
        if call(byref(result), byref(error), {", ".join(addresses)}):
            raise RuntimeError("a kernel failed")
        return {found}"""
    call = signature(_address(function, types, results))
    scope: dict[str, Any] = {
        "Results": structure,
        "byref": ctypes.byref,
        "error": ctypes.c_void_p(),
        "fit": _fit,
        "call": call,
    }
    exec(source, scope)
    return cast(Callable[P, R], scope[function.__name__])


def _fit(array: npt.NDArray[Any], wanted: tuple[str, int], name: str) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == wanted[0] and array.ndim == wanted[1]
    if not fits or not array.flags.c_contiguous:
        raise TypeError(f"{name} of a kernel is no contiguous array of {wanted}")


def _address(function: Callable[..., Any], types: Sequence[Any], results: Sequence[Any]) -> int:
    name = f"{function.__module__}.{function.__name__}".replace(".", "_")
    key = hashlib.sha256(repr((_ABI, *_environment())).encode())
    for path in sorted(_files(function)):
        key.update(Path(path).read_bytes())
    file = f"{name}-{key.hexdigest()[:24]}.bin"
    source = function.__code__.co_filename
    code = _whole(caches.read(file, source))
    if code is None:
        with _compiler():
            code = _whole(caches.read(file, source))  # another thread may have compiled it
            if code is None:
                if compiling:
                    compiling(caches.place(file, source) is not None)
                code = _compile(function, name, types, results)
                content = code[0].encode() + b"\n" + code[1]
                caches.write(file, source, hashlib.sha256(content).digest() + content)
    with _LOADING:
        return _load(code)


@cache
def _environment() -> tuple[str, ...]:
    """Everything that machine code depends on, besides its source."""
    import llvmlite
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    versions = (_installed("numba"), llvmlite.__version__, np.__version__, sys.version)
    return (*versions, llvm.get_default_triple(), llvm.get_host_cpu_name(), features, str(_HEAD))


def _installed(package: str) -> str:
    """Size and time of a package, as looking up its version would take longer."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    status = Path(spec.origin).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _files(function: Callable[..., Any], known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Source files of a kernel and of all kernels that its file refers to."""
    known |= {__file__, function.__code__.co_filename}
    for value in list(function.__globals__.values()):
        if isinstance(value, Kernel) and value.function.__code__.co_filename not in known:
            known = _files(value.function, known)
    return known


def _whole(content: bytes | None) -> tuple[str, bytes] | None:
    """Symbol and machine code of a cached file; `None` if it is missing or damaged."""
    if content is None or hashlib.sha256(content[32:]).digest() != content[:32]:
        return None
    symbol, _, binary = content[32:].partition(b"\n")
    return symbol.decode(), binary


_LOADED: list[Any] = []  # keeps the machine code alive


def _load(code: tuple[str, bytes]) -> int:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if llvm.address_of_symbol(_FREE) is None:  # referenced by code that frees its own arrays; kernels do not
        llvm.add_symbol(_FREE, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value)
    target = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)  # one engine each: no clashes
    engine.add_object_file(llvm.ObjectFileRef.from_data(code[1]))
    engine.finalize_object()
    _LOADED.append(engine)
    address: int = engine.get_function_address(code[0])
    return address


_FREE = "NRT_MemInfo_call_dtor"
_ALLOCATE = b"NRT_MemInfo_alloc"


def _compile(
    function: Callable[..., Any], name: str, types: Sequence[Any], results: Sequence[Any]
) -> tuple[str, bytes]:
    """Compile a driver that takes the addresses of array objects, together with the kernel."""
    import numba
    from numba.core import cgutils
    from numba.core import types as known
    from numba.extending import intrinsic

    @intrinsic
    def pointer(_context: Any, _address: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], cgutils.voidptr_t)

        return known.voidptr(known.int64), generate

    scope: dict[str, Any] = {"np": np, "numba": numba, "pointer": pointer}
    scope["kernel"] = _dispatcher(function)
    flat = _flat(types)
    lines = []
    for i, (_, _, annotated) in enumerate(flat):
        if not get_args(annotated):
            continue
        dtype, axes = annotated.__metadata__
        lengths = ", ".join(f"n{i}[{j}]" for j in range(axes))
        lines += [
            f"h{i} = numba.carray(pointer(a{i} + {_HEAD}), 3, np.int64)",
            f"n{i} = numba.carray(pointer(h{i}[2]), {axes}, np.int64)",
            f"v{i} = numba.carray(pointer(h{i}[0]), ({lengths},), np.{dtype})",
        ]
    parts: list[list[str]] = [[] for _ in types]
    for i, (of, _, t) in enumerate(flat):
        parts[of].append(f"v{i}" if get_args(t) else f"a{i} != 0" if t is bool else f"a{i}")
    values = []
    for i, t in enumerate(types):
        scope[f"record{i}"] = t
        values.append(f"record{i}({', '.join(parts[i])})" if hasattr(t, "_fields") else parts[i][0])
    lines.append(f"r = kernel({', '.join(values)})")
    if len(results) > 1:
        made = [f"{_NUMBERS[t][1]}(r[{i}])" for i, t in enumerate(results)]
        lines.append(f"return {', '.join(made)}")
    else:
        lines.append(f"return {_NUMBERS[results[0]][1]}(r)" if results else "return 0")
    exec(f"def {name}({', '.join(f'a{i}' for i in range(len(flat)))}):\n    " + "\n    ".join(lines), scope)
    signature = tuple(known.float64 if t is float else known.int64 for _, _, t in flat)
    # settings without numba's run-time library
    options: Any = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    driver = numba.njit(nogil=True, error_model="numpy", **options)(scope[name])
    driver.compile(signature)
    made_ = driver.overloads[signature]
    code = made_.library.serialize_using_object_code()[2][0]
    if _ALLOCATE in code:
        raise TypeError(
            f"the kernel {function.__name__} makes arrays (an assignment to a slice may, too), which crashes where "
            "numba is not loaded: write a loop, or make it `allocating`"
        )
    return made_.fndesc.mangled_name, code
