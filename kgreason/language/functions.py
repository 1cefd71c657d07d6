"""Functions in expressions: their signatures, and user-defined functions in Python."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeVar, get_type_hints, overload

from kgreason.base.errors import DataError
from kgreason.language.values import Value

F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_TYPES: Mapping[object, str] = {
    int: "int",
    float: "double",
    str: "string",
    bool: "boolean",
    datetime: "date",
    tuple: "list",
    frozenset: "set",
    object: "any",
    Any: "any",
}
_RESULTS: Mapping[object, str] = {**_TYPES, list: "list", set: "set"}


class Signature(NamedTuple):
    """Parameter and result types of a function.

    Attributes
    ----------
    parameters
        Type of each argument: ``int double number string boolean date list set collection any``. An integer is accepted
        for a double.
    optional
        Number of trailing parameters that may be omitted.
    variadic
        Whether the last parameter may be repeated.
    result
        A type, or ``"join"``: the common type of the arguments at the positions `joined` (empty: all).
    call
        The Python function, for a user-defined function.
    """

    parameters: tuple[str, ...]
    result: str
    optional: int = 0
    variadic: bool = False
    joined: tuple[int, ...] = ()
    call: Callable[..., Value] | None = None

    def takes(self, count: int) -> bool:
        """Whether a call may have `count` arguments."""
        least = len(self.parameters) - self.optional
        return least <= count and (self.variadic or count <= len(self.parameters))

    def parameter(self, position: int) -> str:
        """Type of an argument."""
        return self.parameters[min(position, len(self.parameters) - 1)]


def _of(parameters: str, result: str, **options: Any) -> Signature:
    return Signature(tuple(parameters.split()), result, **options)


BUILT_IN: Mapping[str, Signature] = MappingProxyType(
    {
        # strings; positions count from 0, ends are exclusive
        "substring": _of("string int int", "string", optional=1),
        "contains": _of("any any", "boolean"),  # substring of a string, element of a list or set
        "starts_with": _of("string string", "boolean"),
        "ends_with": _of("string string", "boolean"),
        "concat": _of("string", "string", variadic=True),
        "string_length": _of("string", "int"),
        "index_of": _of("string string", "int"),  # -1 if there is none
        "to_lower": _of("string", "string"),
        "to_upper": _of("string", "string"),
        "split": _of("string string", "list"),
        "replace": _of("string string string", "string"),
        "rlike": _of("string string", "boolean"),
        # conditionals
        "if": _of("boolean any any", "join", joined=(1, 2)),
        "between": _of("any any any", "boolean"),
        "is_null": _of("any", "boolean"),
        "is_not_null": _of("any", "boolean"),
        "coalesce": _of("any", "join", variadic=True),
        # casts
        "as_string": _of("any", "string"),
        "as_int": _of("any", "int"),
        "as_double": _of("any", "double"),
        "as_boolean": _of("any", "boolean"),
        "as_date": _of("any", "date"),
        # numbers; round, floor and ceil of one number give an integer, round to n digits a double
        "abs": _of("number", "join"),
        "sqrt": _of("number", "double"),
        "pow": _of("number number", "double"),
        "exp": _of("number", "double"),
        "log": _of("number", "double"),
        "round": _of("number", "int"),
        "floor": _of("number", "int"),
        "ceil": _of("number", "int"),
        "min": _of("any any", "join", variadic=True),
        "max": _of("any any", "join", variadic=True),
        # dates; diff counts whole days from the second date to the first
        "year": _of("date", "int"),
        "month": _of("date", "int"),
        "day": _of("date", "int"),
        "diff": _of("date date", "int"),
    }
)

_ROUND_TO_DIGITS = _of("number int", "double")

LIBRARIES = frozenset({"math", "string", "date", "type", "collections", "nullManagement"})
"""Prefixes under which Vadalog knows its functions: ``math:sqrt`` is ``sqrt``."""

_users: dict[str, Signature] = {}
_LATER = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def signature(name: str, arguments: int) -> Signature | None:
    """Signature of a function; `None` if there is no such function."""
    library, _, base = name.rpartition(":")
    if library and library not in LIBRARIES:
        return None
    if base == "round" and arguments == 2:
        return _ROUND_TO_DIGITS
    return BUILT_IN.get(base) or (None if library else _users.get(name))


def plain_name(name: str) -> str:
    """Name of a function without its library prefix."""
    return name.rpartition(":")[2]


def known() -> frozenset[str]:
    """Names of all functions."""
    return frozenset(BUILT_IN) | frozenset(_users)


@overload
def function(wrapped: F) -> F: ...
@overload
def function(*, name: str | None = None) -> Callable[[F], F]: ...
def function(wrapped: Any = None, *, name: str | None = None) -> Any:
    """Make a Python function callable from rules.

    Its parameters and its result need annotations of int, float, str, bool, `datetime`, tuple (a list), frozenset (a
    set) or object (any type); the result may also be a Python list or set. It must depend only on its arguments: it is
    called once for each different combination of them.

    Parameters
    ----------
    name
        Name in rules; default: the name of the Python function.

    Raises
    ------
    TypeError
        If an annotation is missing or of another type.
    ValueError
        If the name is not a valid function name, or is that of a built-in function.

    Examples
    --------
    >>> @function
    ... def initials(name: str) -> str:
    ...     return "".join(word[0] for word in name.split())
    >>> from kgreason import reason
    >>> reason('short(S) :- person(N), S = initials(N). person("Ada Lovelace").').rows("short")
    [('AL',)]
    """
    if wrapped is None:
        return lambda wrapped: _register(wrapped, name or wrapped.__name__)
    return _register(wrapped, name or wrapped.__name__)


def _register(wrapped: F, name: str) -> F:
    if not _NAME.match(name) or name in BUILT_IN:
        why = "is a function of the language" if name in BUILT_IN else "is no name of a function"
        raise ValueError(f"{name!r} {why}; choose another with @function(name=...)")
    if any(test(wrapped) for test in _LATER):
        raise TypeError(f"{name}: a function of rules gives its value at once: no async, no yield")
    hints = get_type_hints(wrapped)
    parameters = list(inspect.signature(wrapped).parameters.values())
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        raise TypeError(f"{name}: a function of rules has positional parameters only")
    types = [_type(name, p.name, hints.get(p.name)) for p in parameters]
    optional = sum(p.default is not p.empty for p in parameters)
    result = _type(name, "return", hints.get("return"))
    _users[name] = Signature(tuple(types), result, optional=optional, call=wrapped)
    return wrapped


def _type(function: str, parameter: str, hint: object) -> str:
    base = getattr(hint, "__origin__", hint)
    types = _RESULTS if parameter == "return" else _TYPES  # arguments are immutable
    if base not in types:
        what = "the result" if parameter == "return" else f"the parameter {parameter!r}"
        known = "int, float, str, bool, datetime, tuple, frozenset or object"
        raise TypeError(f"{function}: {what} needs a type: {known}")
    return types[base]


def run_definitions(path: str | Path) -> None:
    """Run a Python file to register its `kgreason.function` definitions.

    Raises
    ------
    DataError
        If the file cannot be read, is not valid Python, or fails; with the line number.
    """
    file = Path(path)
    if file.suffix != ".py":
        hint = "functions of rules are defined in a file FILE.py"
        raise DataError(str(path), "this is no Python file", hint=hint)
    try:
        text = file.read_bytes()
    except OSError as error:
        hint = "name a Python file that you may read"
        raise DataError(str(path), error.strerror or str(error), hint=hint) from None
    module = ModuleType(f"kgreason_functions_{file.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and annotations look names up there
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        if error.filename != str(path):  # error of an imported module
            raise DataError(str(path), exception_text(error), _line(error, str(path))) from None
        line = f": `{error.text.strip()}`" if error.text else ""
        raise DataError(str(path), f"{error.msg}{line}", error.lineno or None) from None
    except (Exception, SystemExit) as error:  # whatever user code raises is an error of that file
        ours = traceback.extract_tb(error.__traceback__)[-1].filename == __file__
        raise DataError(
            str(path), str(error) if ours else exception_text(error), _line(error, str(path))
        ) from None


def exception_text(error: BaseException) -> str:
    """Type and text of an exception raised by user code."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # even the text of a user's exception may fail
        text = ""
    return f"{name}: {text}" if text else name


def _line(error: BaseException, file: str) -> int | None:
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
