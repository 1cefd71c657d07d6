"""Settings of methods: dataclasses whose fields carry default, range and documentation; checks of arguments.

Each parameter is declared once: command line options, keyword arguments of Python functions, estimators,
``kgreason.toml``, the parameters in reports and the reference pages are all derived from these fields.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache, wraps
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast, get_args, get_origin

from kgreason.base.errors import AnonymizationError, CallError

P = ParamSpec("P")
S = TypeVar("S")
D = TypeVar("D")
R = TypeVar("R")


def setting(
    default: Any,
    *,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    shown: str | None = None,
    option: str | None = None,
    reported: bool = True,
) -> Any:
    """Declare a field of a settings dataclass; it is documented by the docstring below it.

    Parameters
    ----------
    metavar
        Placeholder of the value on the command line.
    least, most
        Range of a number.
    shown
        Default as shown by the command line.
    option
        Command line flags; default: the name with two hyphens; empty: not a command line option.
    reported
        Whether reports list the field.
    """
    return field(
        default=default,
        metadata={
            "metavar": metavar,
            "least": least,
            "most": most,
            "shown": shown,
            "option": option,
            "reported": reported,
        },
    )


@cache
def documentation(settings: type) -> Mapping[str, str]:
    """Docstrings of all fields, inherited ones included, each as one line."""
    found: dict[str, str] = {}
    for part in reversed(settings.__mro__):
        if hasattr(part, "__dataclass_fields__"):
            found |= _docstrings(part.__module__).get(part.__name__, {})
    return found


@cache
def _docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for each in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for pair in pairwise(each.body):
            match pair:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(text):
                    found.setdefault(each.name, {})[name] = " ".join(ast.literal_eval(text).split())
    return found


def ordered(settings: Any) -> list[Field[Any]]:
    """Fields of a settings class or object: first those of the class, then of its bases, last those for Python only."""
    kind = settings if isinstance(settings, type) else type(settings)
    known = {each.name: each for each in fields(kind)}
    names = [name for part in kind.__mro__ for name in vars(part).get("__annotations__", {}) if name in known]
    found = [known[name] for name in dict.fromkeys(names)]
    return sorted(found, key=lambda each: each.metadata.get("option") == "")


def types(settings: type) -> Mapping[str, Any]:
    """Types of the fields that are available on the command line."""
    found: dict[str, Any] = {}
    for part in reversed(settings.__mro__):
        known = vars(sys.modules[part.__module__])
        for name, text in vars(part).get("__annotations__", {}).items():
            field_of = getattr(part, "__dataclass_fields__", {}).get(name)
            if field_of is not None and field_of.metadata.get("option", "") != "":
                found[name] = eval(text, known) if isinstance(text, str) else text
    return found


@cache
def _choices(settings: type) -> Mapping[str, tuple[object, ...]]:
    """Allowed values of the fields whose types list them."""
    found: dict[str, tuple[object, ...]] = {}
    for name, kind in types(settings).items():
        parts = [kind] if get_origin(kind) is Literal else get_args(kind)
        listed = [one for part in parts if get_origin(part) is Literal for one in get_args(part)]
        if listed:
            found[name] = (*listed, *([None] if type(None) in parts else []))
    return found


def check_ranges(settings: Any) -> None:
    """Raise `AnonymizationError` for the first field out of its range, or not among the values that its type lists."""
    kind: Any = type(settings)
    for name, known in _choices(kind).items():
        value = getattr(settings, name)
        if value not in known:
            texts = [str(one) for one in known if one is not None]
            hint = f"choose {', '.join(texts[:-1])} or {texts[-1]}"
            raise AnonymizationError(f"unknown {name} {value!r}", hint=hint)
    for each in fields(settings):
        value = getattr(settings, each.name)
        least, most = each.metadata.get("least"), each.metadata.get("most")
        if value is None or (least is None and most is None):
            continue
        if most is None and isinstance(least, int):
            check_numbers(**{each.name: (value, least)})
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            raise AnonymizationError(f"{each.name} must be a number, not {value!r}")
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            raise AnonymizationError(f"{each.name} must lie between {least:g} and {most:g}, not be {value!r}")


def reported(settings: object, unused: Iterator[str] | tuple[str, ...] = ()) -> dict[str, Any]:
    """Values by name as listed in reports, without the unused ones."""
    left_out = set(unused)
    return {
        each.name: getattr(settings, each.name)
        for each in ordered(settings)
        if each.metadata.get("reported") and each.name not in left_out
    }


def configured(settings: Callable[P, S]) -> Callable[[Callable[[D, S], R]], Callable[Concatenate[D, P], R]]:
    """Turn the fields of settings into keyword arguments of a function of data and settings.

    They are added to its signature and to the section *Parameters* of its docstring.
    """

    def take(function: Callable[[D, S], R]) -> Callable[Concatenate[D, P], R]:
        first = next(iter(inspect.signature(function).parameters))
        known = {each.name for each in ordered(settings)}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            for name in kwargs.keys() - known - {first}:
                from difflib import get_close_matches

                near = get_close_matches(name, known, 1)
                also = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{function.__name__}() has no argument {name!r}{also}")
            data, *rest = (kwargs.pop(first), *args) if first in kwargs else args or (MISSING,)
            if data is MISSING:
                raise TypeError(f"{function.__name__}() needs the argument {first!r}")
            return function(cast("D", data), settings(*rest, **kwargs))

        describe(call, function, settings, 1)
        return cast("Callable[Concatenate[D, P], R]", call)

    return take


def describe(call: Any, function: Callable[..., Any], settings: Any, positional: int) -> None:
    """Set signature and docstring of a function that takes the fields of settings as keyword arguments."""
    own = list(inspect.signature(function).parameters.values())[:positional]
    listed = sorted(ordered(settings), key=lambda each: bool(each.kw_only))
    call.__signature__ = inspect.Signature(
        [*own, *map(_parameter, listed)], return_annotation=inspect.signature(function).return_annotation
    )
    texts = documentation(settings)
    lines = [f"    {each.name}\n        {texts[each.name]}" for each in listed if each.name in texts]
    text = function.__doc__ or ""
    head = "    Parameters\n    ----------\n"
    if head in text:
        before, after = text.split(head)
        first, *rest = after.split("\n\n", 1)
        call.__doc__ = before + head + first + "\n" + "\n".join(lines) + "".join(f"\n\n{one}" for one in rest)


def _parameter(each: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if each.default is MISSING else each.default
    kind = inspect.Parameter.KEYWORD_ONLY if each.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(each.name, kind, default=default, annotation=each.type)


def check_type(value: object, kinds: Any, what: str, hint: str) -> None:
    """Raise `CallError` if a value has another type."""
    if not isinstance(value, kinds):
        raise CallError(f"{what}, not of type {type(value).__name__}", hint=hint)


def check_numbers(**given: tuple[int | None, int]) -> None:
    """Raise `AnonymizationError` for options that are not integers or are below their minimum."""
    for name, (value, least) in given.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise AnonymizationError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_probabilities(**given: object) -> None:
    """Raise `AnonymizationError` for values that are not probabilities."""
    for name, value in given.items():
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:  # type: ignore[operator]
            what = f"{name} must be a probability, not {f'{value:g}' if number else repr(value)}"
            raise AnonymizationError(what, hint="give a number from 0 to 1, as 0.4")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; `tomllib.TOMLDecodeError` is the only error, also for deep nesting and too long integers."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from None
