"""Isomorphism of frontiers: equal up to a bijection of their nulls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgreason.lang.values import Null, Value, ordered

Pattern = tuple[object, tuple[Null, ...]]
"""What isomorphic frontiers share, and the nulls of this one in order of position."""


def pattern(values: Sequence[Value]) -> Pattern:
    """Pattern of a frontier.

    Examples
    --------
    >>> one, other = pattern([Null(1), "a", Null(2)]), pattern([Null(5), "a", Null(1)])
    >>> one[0] == other[0], one[0] == pattern([Null(1), "a", Null(1)])[0]
    (True, False)
    """
    nulls = tuple(null for value in values for null in nulls_in(value))
    names = {null: i for i, null in enumerate(dict.fromkeys(nulls))}
    return tuple(_shape(value, names) for value in values), nulls


def alike(one: Pattern, other: Pattern) -> bool:
    """Whether frontiers are isomorphic and the nulls common to both stand at the same positions.

    Examples
    --------
    >>> a, b, c = Null(1), Null(2), Null(3)
    >>> alike(pattern([a, b]), pattern([a, c])), alike(pattern([a, b]), pattern([b, c]))
    (True, False)
    """
    if one[0] != other[0]:
        return False
    common = set(one[1]) & set(other[1])
    return all(a == b for a, b in zip(one[1], other[1], strict=True) if a in common or b in common)


def nulls_in(value: Value) -> Iterator[Null]:
    """Nulls of a value, those within lists and sets included."""
    if isinstance(value, Null):
        yield value
    elif isinstance(value, tuple | frozenset):
        for element in value if isinstance(value, tuple) else ordered(value):
            yield from nulls_in(element)


def _shape(value: Value, names: dict[Null, int]) -> object:
    if isinstance(value, Null):
        return ("null", names[value])
    if isinstance(value, tuple | frozenset):
        elements = value if isinstance(value, tuple) else ordered(value)
        return (type(value).__name__, *(_shape(element, names) for element in elements))
    return (type(value).__name__, value)
