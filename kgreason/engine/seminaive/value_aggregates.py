"""Aggregates over Python values: collecting aggregates, and all aggregates of values of mixed types."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kgreason.engine.expressions.builtin_functions import (
    Refusal,
    checked,
    described,
    make_list,
    make_set,
    no_null,
    number,
)
from kgreason.engine.plan.expression_kinds import COLLECTIONS, kind_of, remedy
from kgreason.engine.plan.ir import plain
from kgreason.engine.plan.static_kinds import COLLECTING
from kgreason.engine.relations.fact_tables import Kind, decode, encoded
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols, key, rank, to_doubles
from kgreason.language.check.checked_program import Aggregation
from kgreason.language.values import Value

if TYPE_CHECKING:
    from fractions import Fraction

NUMERIC = frozenset({"sum", "prod", "avg", "median"})


class NoTotal(Refusal):
    """A group, given by its number, has no total."""

    def __init__(self, group: int, refusal: Refusal) -> None:
        super().__init__(refusal.what, refusal.hint)
        self.group = group


def misfit(aggregation: Aggregation, values: Codes, symbols: Symbols) -> tuple[int, Refusal] | None:
    """First value of kind ANY that an aggregate does not accept, with the reason."""
    name = plain(aggregation)
    if name not in NUMERIC and name not in ("min", "max"):
        return None
    found, first = np.unique(values, return_index=True)
    order = np.argsort(first)
    for at, value in zip(first[order].tolist(), symbols.values(found[order].tolist()), strict=True):
        try:
            no_null(aggregation.function, value)
        except Refusal as refusal:
            return at, refusal
        if not number(value) if name in NUMERIC else kind_of(value) in COLLECTIONS:
            takes = "takes numbers" if name in NUMERIC else "compares values"
            what = f"type clash: {aggregation.function} {takes}, not {described(value)}"
            return at, Refusal(what, remedy(Kind.DOUBLE, kind_of(value)))
    return None


class Gathered:
    """Contributions by group as Python values, with the interface of `grouped_aggregates.Groups`.

    Totals of changed groups are recomputed from all contributions; only a union is updated in place.
    """

    def __init__(
        self, aggregation: Aggregation, width: int, kind: Kind, symbols: Symbols, double: bool = False
    ) -> None:
        self.name = plain(aggregation)
        self.kind = kind
        self.symbols = symbols
        self.double = double  # whether numbers of kind ANY are doubles
        self.width = width
        self.numbers: dict[tuple[int, ...], int] = {}  # numbers of the groups
        self.held: list[dict[Hashable, Value]] = []  # by group: contributor or element -> value
        self.changed: dict[int, None] = {}
        self.result = Kind.DOUBLE if self.name in ("avg", "median") else COLLECTING.get(self.name, kind)

    def group(self, number: int) -> Codes:
        """Coded variables of a group."""
        return np.array(list(self.numbers)[number], dtype=np.int64)

    def below(self, values: Codes, floor: int) -> npt.NDArray[np.bool_]:
        """Mask of the coded values less than `floor`."""
        numbers: list[Any] = decode(self.kind, values, self.symbols)
        return np.array([number < floor for number in numbers], dtype=np.bool_)

    def add(self, batch: Rows, *, track: bool) -> None:  # noqa: ARG002
        """Add contributions; `NoTotal` if two values of one contributor are not comparable."""
        values = decode(self.kind, np.ascontiguousarray(batch[:, -1]), self.symbols)
        values = to_doubles(values) if self.double else values
        width = self.width
        for row, value in zip(batch.tolist(), values, strict=True):
            number = self.numbers.setdefault(tuple(row[:width]), len(self.numbers))
            if number == len(self.held):
                self.held.append({})
                self.changed[number] = None
            self._keep(number, tuple(row[:-1]), value)

    def changes(self) -> tuple[Rows, Codes]:
        """Groups whose total may have changed since the last call, and the coded totals; `NoTotal` for an error."""
        changed, self.changed = list(self.changed), {}
        groups = list(self.numbers) if changed else []
        rows = np.array([groups[n] for n in changed], dtype=np.int64).reshape(len(changed), self.width)
        totals: list[Value] = []
        for group in changed:
            try:
                totals.append(checked(TOTALS[self.name](list(self.held[group].values()))))
            except Refusal as refusal:
                raise NoTotal(group, refusal) from None
        coded = encoded(totals, self.result, self.symbols)
        return rows, np.ascontiguousarray(coded).view(np.int64)

    def totals(self) -> tuple[Rows, Codes]:
        """All groups and their coded totals."""
        return self.changes()

    def _keep(self, group: int, contributor: tuple[int, ...], value: Value) -> None:
        held = self.held[group]
        if self.name == "union":
            for element in value if isinstance(value, frozenset) else (value,):
                self._put(group, key(element), element)
            return
        at = key(value) if self.name == "set" else contributor
        old = held.get(at)
        if old is None or self.name == "set":
            self._put(group, at, value)
            return
        if self.name != "list" and not _comparable(old, value):
            raise NoTotal(group, _meeting(old, value))
        falls = self.name == "min" or (self.name == "prod" and min(rank(old), rank(value)) < rank(1))
        if rank(value) < rank(old) if falls else rank(old) < rank(value):
            held[at] = value
            self.changed[group] = None

    def _put(self, group: int, at: Hashable, value: Value) -> None:
        held = self.held[group]
        if at not in held or (isinstance(value, float) and not isinstance(held[at], float)):
            held[at] = value  # of 1 and 1.0 the double is kept, whichever comes first
            self.changed[group] = None


def _comparable(a: Value, b: Value) -> bool:
    return type(a) is type(b) or (number(a) and number(b))


def _meeting(a: Value, b: Value) -> Refusal:
    return Refusal(f"type clash: {described(a)}, meets {described(b)}", remedy(kind_of(a), kind_of(b)))


def exact_sum(values: Sequence[float | int]) -> float:
    """Sum of finite numbers, rounded once."""
    try:
        return math.fsum(values)
    except OverflowError:  # possibly only an intermediate overflow
        return _rounded(sum(_fractions(values)))


def exact_product(values: Sequence[float | int]) -> float:
    """Product of finite numbers, rounded once."""
    return _rounded(math.prod(_fractions(values)))


def exact_mean(values: Sequence[float | int]) -> float:
    """Mean of finite numbers, from the rounded sum, or from the exact sum if that overflows."""
    try:
        return exact_sum(values) / len(values)
    except Refusal:
        return float(sum(_fractions(values)) / len(values))


def _exact_median(values: Sequence[float | int]) -> float:
    import statistics

    low, high = statistics.median_low(values), statistics.median_high(values)
    middle = float(statistics.median(values))
    return middle if math.isfinite(middle) else low / 2 + high / 2


def _fractions(values: Sequence[float | int]) -> Iterator[Fraction]:
    from fractions import Fraction

    return map(Fraction, values)


def _rounded(exact: Fraction | int) -> float:
    try:
        return float(exact)
    except OverflowError:
        raise Refusal("double overflow") from None


def _whole(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int) for v in values)


def _extreme(values: Sequence[Value], pick: Callable[..., Value]) -> Value:
    other = next((v for v in values if not _comparable(values[0], v)), None)
    if other is not None:
        raise _meeting(values[0], other)
    return pick(values)


TOTALS: Mapping[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: sum(values) if _whole(values) else exact_sum(values),
    "prod": lambda values: math.prod(values) if _whole(values) else exact_product(values),
    "min": lambda values: _extreme(values, min),
    "max": lambda values: _extreme(values, max),
    "avg": exact_mean,
    "median": _exact_median,
    "set": make_set,
    "list": lambda values: make_list(sorted(values, key=rank)),
    "union": make_set,
}
