"""Labelled nulls of the chase: one for each function and arguments, and what equalities make of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from kgreason.language.values import Null, Value
from tests.naive.values import key, keys, to_set


class Nulls:
    """All nulls so far; they keep their numbers when the evaluation starts again.

    Parameters
    ----------
    depth
        How often a function may occur on one path into the term that a null stands for.
    given
        Values of the input: new nulls get numbers above theirs.

    Examples
    --------
    >>> nulls = Nulls(depth=1, given=[])
    >>> a, b = nulls.invent("f", (1,)), nulls.invent("f", (2,))
    >>> nulls.invent("f", (1,)) == a, nulls.invent("f", (a,))
    (True, None)
    >>> nulls.merge(a, b), nulls.merge(b, "x"), nulls.canonical((a, b))
    (True, True, ('x', 'x'))
    """

    def __init__(self, depth: int, given: Iterable[Value]) -> None:
        self.depth = depth
        self.known: dict[tuple[str, Hashable], Null] = {}
        self.origins: dict[Null, tuple[str, tuple[Value, ...]]] = {}
        self.instead: dict[Null, Value] = {}
        self.next = max((n.number for v in given for n in nulls_in(v)), default=0) + 1

    def invent(self, function: str, arguments: tuple[Value, ...]) -> Value | None:
        """The null of a function for some arguments, or what it is equal to; `None` if it is nested too deep."""
        if self.nesting(function, arguments) >= self.depth:
            return None
        name = (function, keys(arguments))
        if name not in self.known:
            self.known[name] = null = Null(self.next)
            self.origins[null] = (function, arguments)
            self.next += 1
        return self.canonical(self.known[name])

    def nesting(self, function: str, value: Value) -> int:
        """How often a function occurs on one path into the terms that a value stands for."""
        if isinstance(value, Null):
            if value not in self.origins:
                return 0
            own, arguments = self.origins[value]
            return self.nesting(function, arguments) + (own == function)
        if isinstance(value, tuple | frozenset):
            return max((self.nesting(function, v) for v in value), default=0)
        return 0

    def canonical(self, value: Value) -> Value:
        """The value with every null replaced by what it is equal to."""
        while isinstance(value, Null) and value in self.instead:
            value = self.instead[value]
        if isinstance(value, tuple):
            return tuple(self.canonical(v) for v in value)
        return to_set(map(self.canonical, value)) if isinstance(value, frozenset) else value

    def merge(self, a: Value, b: Value) -> bool:
        """Make two values equal; tell whether that is possible: two constants are not."""
        a, b = self.canonical(a), self.canonical(b)
        if key(a) == key(b):
            return True
        if isinstance(a, Null) and (not isinstance(b, Null) or b.number < a.number):
            self.instead[a] = b
            return True
        if isinstance(b, Null):
            self.instead[b] = a
            return True
        return False


def nulls_in(value: Value) -> set[Null]:
    """Nulls in a value, at any depth.

    Examples
    --------
    >>> nulls_in((1, (Null(2), "a")))
    {Null(number=2)}
    """
    if isinstance(value, Null):
        return {value}
    return {n for v in value for n in nulls_in(v)} if isinstance(value, tuple | frozenset) else set()


def frozen(rows: Mapping[str, Iterable[tuple[Value, ...]]]) -> list[Value]:
    """All values of some rows."""
    return [value for table in rows.values() for row in table for value in row]
