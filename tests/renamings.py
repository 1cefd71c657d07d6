"""Facts that are the same up to the names of their labelled nulls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from kgreason.language.values import Null, Value

Row = tuple[Value, ...]
Facts = Mapping[str, Iterable[Row]]
Colors = dict[Null, int]


def isomorphic(a: Facts, b: Facts, *, typed: bool = False) -> bool:
    """Whether a bijection of nulls makes `a` into `b`; `typed` tells 1 from 1.0 (1 and ``#T`` always differ)."""
    left, right = _facts(a), _facts(b)
    return _match(left, right, dict.fromkeys(_nulls(left), 0), dict.fromkeys(_nulls(right), 0), typed)


def has_nulls(facts: Facts) -> bool:
    return bool(_nulls(_facts(facts)))


def _facts(facts: Facts) -> list[tuple[str, Row]]:
    return [(predicate, row) for predicate, rows in facts.items() for row in set(rows)]


def nulls_in(value: Value) -> set[Null]:
    if isinstance(value, Null):
        return {value}
    return {n for v in value for n in nulls_in(v)} if isinstance(value, tuple | frozenset) else set()


def _nulls(facts: list[tuple[str, Row]]) -> set[Null]:
    return {n for _, row in facts for n in nulls_in(row)}


def shape(value: Value, paint: Callable[[Null], object], typed: bool) -> str:
    """The value as text, its nulls as they are painted."""
    if isinstance(value, Null):
        return f"<{paint(value)}>"
    if isinstance(value, tuple):
        return f"[{','.join(shape(v, paint, typed) for v in value)}]"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(shape(v, paint, typed) for v in value))}}}"
    if isinstance(value, float) and not typed and value.is_integer():
        return repr(int(value))
    return repr(value)


def _painted(facts: list[tuple[str, Row]], colors: Colors, typed: bool) -> Counter[tuple[str, str]]:
    return Counter((predicate, shape(row, colors.__getitem__, typed)) for predicate, row in facts)


def _refine(facts: list[tuple[str, Row]], colors: Colors, typed: bool) -> Colors:
    """Tell nulls apart by the facts that they stand in, until that tells no more."""
    where: dict[Null, list[tuple[str, Row]]] = {n: [] for n in colors}
    for fact in facts:
        for null in nulls_in(fact[1]):
            where[null].append(fact)
    for _ in colors:
        finer = {null: _color(null, where[null], colors, typed) for null in colors}
        stable = len(set(finer.values())) == len(set(colors.values()))
        colors = finer
        if stable:
            break
    return colors


def _color(null: Null, facts: list[tuple[str, Row]], colors: Colors, typed: bool) -> int:
    def paint(other: Null) -> object:
        return "self" if other == null else colors[other]

    return hash((colors[null], *sorted(p + shape(row, paint, typed) for p, row in facts)))


def _match(
    left: list[tuple[str, Row]], right: list[tuple[str, Row]], a: Colors, b: Colors, typed: bool
) -> bool:
    if len(a) != len(b):
        return False
    a, b = _refine(left, a, typed), _refine(right, b, typed)
    if Counter(a.values()) != Counter(b.values()) or _painted(left, a, typed) != _painted(right, b, typed):
        return False
    shared = {color for color, count in Counter(a.values()).items() if count > 1}
    if not shared:
        return True
    null = min((n for n in a if a[n] in shared), key=lambda n: n.number)
    fresh = len(a) + 1
    return any(
        _match(left, right, {**a, null: fresh}, {**b, other: fresh}, typed)
        for other in b
        if b[other] == a[null]
    )
