"""Compilation of kernels by numba.

All kernels of a source file become one object file, with the functions that they call. numba's own dispatchers compile
each function for itself, optimize it, and optimize it again within its callers: 100 s of processor time for the kernels
of kgreason, where this module takes 38 s. Reference counts are left out, hence kernels cannot make arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args, get_type_hints

from llvmlite import ir
from numba import types
from numba.core import compiler, errors, typing
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typing.templates import make_concrete_template
from numba.np.arrayobj import populate_array

from kgreason.base.calling_convention import HEAD, PREFIX, entry_name, flat, signature
from kgreason.base.machine_code import Processor

_WORD = ir.IntType(64)
_NUMBERS = {int: types.int64, float: types.float64, bool: types.boolean}


class _Object:
    """Kernels of a source file, compiled for a processor."""

    def __init__(self, name: str, processor: Processor) -> None:
        codegen = _Codegen(name, processor)
        self.context = cpu_target.target_context.subtarget(_internal_codegen=codegen, aot_mode=True)
        self.library = codegen.create_library(name)
        self._compiled: dict[Callable[..., Any], Any] = {}
        self._flags = compiler.Flags()
        self._flags.no_compile = True  # machine code is made once, of the whole file
        self._flags.no_cpython_wrapper = True
        self._flags.no_cfunc_wrapper = True
        self._flags.release_gil = True
        self._flags.error_model = "numpy"
        self._flags.forceinline = True  # arrays by value would put seven words each on the stack

    def template(self, function: Callable[..., Any]) -> Any:
        """Numba's type of a function of this file, which is compiled first."""
        self.descriptor(function)
        return make_concrete_template(function.__name__, (self, function), [_numba_signature(function)])

    def descriptor(self, function: Callable[..., Any]) -> Any:
        """Numba's description of a compiled function."""
        if function not in self._compiled:
            of = _numba_signature(function)
            try:
                result = compiler.compile_extra(
                    cpu_target.typing_context, self.context, function, of.args, of.return_type,
                    self._flags, {}, library=self.library,
                )  # fmt: skip
            except errors.NumbaError as error:
                message = f"{function.__name__} cannot be compiled (kernels make no arrays): {error}"
                raise TypeError(message) from error
            self.context.insert_user_function((self, function), result.fndesc)
            self._compiled[function] = result.fndesc
        return self._compiled[function]

    def add_entry(self, function: Callable[..., Any]) -> None:
        """Add a function that takes a place for results, addresses of array objects and numbers, and calls a kernel."""
        described = self.descriptor(function)
        call = self.context.call_conv
        annotated, _ = signature(function)
        parameters = flat(annotated)
        module = self.library.create_ir_module(f"entry of {function.__name__}")
        words = [ir.DoubleType() if t is float else _WORD for _, _, t in parameters]
        entry = ir.FunctionType(ir.IntType(32), [_WORD.as_pointer(), *words])
        builder = ir.IRBuilder(ir.Function(module, entry, entry_name(function)).append_basic_block())
        place, *values = builder.function.args
        parts: list[list[Any]] = [[] for _ in annotated]
        for (i, _, t), value in zip(parameters, values, strict=True):
            parts[i].append(self._argument(builder, t, value))
        arguments = [
            self.context.make_tuple(builder, of, part) if isinstance(of, types.NamedTuple) else part[0]
            for of, part in zip(described.argtypes, parts, strict=True)
        ]
        kernel = ir.Function(
            module, call.get_function_type(described.restype, described.argtypes), described.llvm_func_name
        )
        status, result = call.call_function(builder, kernel, described.restype, described.argtypes, arguments)
        for i, number in enumerate(_results(builder, described.restype, result)):
            word = builder.zext(number, _WORD) if number.type == ir.IntType(1) else number
            pointer = builder.gep(place, [_WORD(i)])
            builder.store(word, builder.bitcast(pointer, word.type.as_pointer()))
        builder.ret(status.code)
        self.library.add_ir_module(module)

    def _argument(self, builder: Any, annotated: Any, value: Any) -> Any:
        """Value of a number, or array of the object at an address."""
        if not get_args(annotated):
            return builder.icmp_signed("!=", value, _WORD(0)) if annotated is bool else value
        of = _numba_type(annotated)
        header = builder.inttoptr(builder.add(value, _WORD(HEAD)), _WORD.as_pointer())
        lengths = builder.inttoptr(builder.load(builder.gep(header, [_WORD(2)])), _WORD.as_pointer())
        shape = [builder.load(builder.gep(lengths, [_WORD(i)])) for i in range(of.ndim)]
        size = _WORD(self.context.get_abi_sizeof(self.context.get_data_type(of.dtype)))
        strides = [size]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        array = self.context.make_array(of)(self.context, builder)
        data = builder.inttoptr(builder.load(header), array.data.type)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    def code(self) -> bytes:
        """Machine code of the entries."""
        for function in self.library._final_module.functions:
            if not function.is_declaration and not function.name.startswith(PREFIX):
                function.linkage = "internal"
        made: bytes = self.library.emit_native_object()
        return made


class _Codegen(AOTCPUCodegen):  # type: ignore[misc]
    """Code generation for a processor with given features."""

    def __init__(self, name: str, processor: Processor) -> None:
        self._features = processor[1]
        super().__init__(name, processor[0])

    def _customize_tm_features(self) -> str:
        return self._features


def _numba_type(annotated: Any) -> Any:
    if get_args(annotated):
        dtype, axes = annotated.__metadata__
        return types.Array(types.boolean if dtype == "bool" else getattr(types, dtype), axes, "C")
    if hasattr(annotated, "_fields"):
        fields = get_type_hints(annotated, include_extras=True).values()
        return types.NamedTuple([_numba_type(field) for field in fields], annotated)
    return _NUMBERS[annotated]


def _numba_signature(function: Callable[..., Any]) -> Any:
    annotated, results = signature(function)
    found = [_NUMBERS[t] for t in results]
    result = types.BaseTuple.from_types(found) if len(found) > 1 else (*found, types.none)[0]
    return typing.signature(result, *map(_numba_type, annotated))


def _results(builder: Any, of: Any, result: Any) -> list[Any]:
    if of is types.none:
        return []
    return (
        [builder.extract_value(result, i) for i in range(len(of))]
        if isinstance(of, types.BaseTuple)
        else [result]
    )


_current: _Object | None = None  # guarded by numba's lock


def callee(function: Callable[..., Any]) -> Any:
    """Numba's type of a function that a kernel calls.

    Raises
    ------
    TypeError
        If numba compiles something else than a kernel.
    """
    if _current is None:
        raise TypeError(f"{function.__name__} is callable from kernels only")
    return types.Function(_current.template(function))


def compiled(functions: Sequence[Callable[..., Any]], processor: Processor) -> bytes:
    """Machine code of kernels.

    Raises
    ------
    TypeError
        If a function cannot be compiled, for instance since it makes an array.
    """
    global _current
    with global_compiler_lock:
        _current = _Object(functions[0].__module__, processor)
        try:
            for function in functions:
                _current.add_entry(function)
            code = _current.code()
        finally:
            _current = None
    return code
