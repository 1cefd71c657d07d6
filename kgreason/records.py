"""Dataclasses that are quick to define: for the many small classes that a run imports and mostly does not use."""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """Make a dataclass, as :func:`dataclasses.dataclass` does.

        That function writes and compiles up to six methods, half a millisecond for every class of a program. Here
        comparison, hash and representation ask for the fields when they are called, and ``__init__`` is written when
        the first object is made. Classes of which users make objects do without: tools read their ``__init__``.

        Parameters
        ----------
        cls : type
            Class with annotated fields.
        frozen, slots, eq, repr : bool
            As there.

        Returns
        -------
        type
            The dataclass: ``fields``, ``replace``, ``asdict`` and patterns know it.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Edge:
        ...     source: str
        ...     target: str
        ...     weight: float = 1.0
        >>> Edge("a", "b") == dataclasses.replace(Edge("a", "c"), target="b")
        True
        >>> Edge("a", "b")
        Edge(source='a', target='b', weight=1.0)
        """

        def define(cls):
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
            methods = {"__init__": _initializer(made, frozen)}
            if repr:
                methods["__repr__"] = _shown
            if eq:
                methods |= _comparison(made, frozen)
            if frozen:
                methods |= _FROZEN
            for name, method in methods.items():
                if cls.__dict__.get(name) is None:  # Python sets __hash__ to None beside an __eq__
                    setattr(made, name, method)
            return made

        return define if cls is None else define(cls)


def _initializer(cls: Any, frozen: bool) -> Callable[..., None]:
    """``__init__`` that writes itself when it is called first."""

    def first(self: Any, /, *args: Any, **named: Any) -> None:
        cls.__init__ = _written(cls, frozen)
        cls.__init__(self, *args, **named)

    return first


def _written(cls: Any, frozen: bool) -> Callable[..., None]:
    """``__init__`` with a parameter for each field, as Python would have it written by hand."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_absent": object()}
    plain: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        parameter = name
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        if field.init:
            (keywords if field.kw_only else plain).append(parameter)
        elif field.default_factory is dataclasses.MISSING:
            if field.default is dataclasses.MISSING:
                continue  # __post_init__ sets it
            value = f"_default_{name}"
        lines.append(f"_set(_self, {name!r}, {value})" if frozen else f"_self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("_self.__post_init__()")
    parameters = ", ".join(["_self", "/", *plain, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names)
    written: Callable[..., None] = names["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"  # errors of a call name it
    return written


def _shown(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparison(cls: Any, frozen: bool) -> dict[str, Any]:
    """``__eq__`` by the fields, for objects of the same class, and the hash that belongs to it."""
    values = _values([field.name for field in dataclasses.fields(cls) if field.compare])

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Function that returns the tuple of some attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _unset(self: Any, name: str, *_: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> dict[str, Any]:
    return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _restore(self: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(self, name, value)


_FROZEN: dict[str, Any] = {
    "__setattr__": _unset,
    "__delattr__": _unset,
    "__getstate__": _state,  # copies and pickles set the fields of a new object
    "__setstate__": _restore,
}
