"""Expressions over weights and counts: their ranges, the edges that meet them, and their steps in a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.graph.small_graphs import bit_kernels as k
from kgreason.language.check.expressions import COMPARISONS
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Unary, Variable

WHOLE = 2.0**53  # below it, doubles represent integers exactly
LARGEST = 1e300  # far below overflow of doubles


class Unfit(Exception):
    """Rules that cannot be compiled to a plan; the message gives the reason."""


@dataclass(frozen=True)
class Range:
    """Least and greatest value of an expression, and whether its values are integers."""

    low: float
    high: float
    whole: bool = False


def range_of(node: Expression, ranges: Mapping[str, Range]) -> Range:
    """Range of an arithmetic expression that can neither fail nor overflow.

    Raises
    ------
    Unfit
        If it can, or is not arithmetic.

    Examples
    --------
    >>> range_of(Binary("-", Constant(1), Variable("W")), {"W": Range(0.0, 0.25)})
    Range(low=0.75, high=1.0, whole=False)
    """
    match node:
        case Variable(name) if name in ranges:
            return ranges[name]
        case Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return _within(float(value), float(value), isinstance(value, int), node)
        case Unary("-", operand):
            return range_of(Binary("-", Constant(0), operand), ranges)
        case Binary(operator, left, right) if operator in _ENDS:
            a, b = range_of(left, ranges), range_of(right, ranges)
            whole = a.whole and b.whole and operator != "/"
            if operator == "/" and b.low <= 0 <= b.high:
                raise Unfit(f"`{node}` perhaps divides by zero")
            ends = [_ENDS[operator](x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return _within(min(ends), max(ends), whole, node)
    raise Unfit(f"`{node}` is more than arithmetic")


_ENDS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
}


def _within(low: float, high: float, whole: bool, node: Expression) -> Range:
    if not (-LARGEST < low <= high < LARGEST) or (whole and max(-low, high) >= WHOLE):
        raise Unfit(f"`{node}` may become too large")
    return Range(low, high, whole)


def conjuncts(node: Expression) -> Iterator[Expression]:
    """Conjuncts of a condition."""
    if isinstance(node, Binary) and node.operator == "&&":
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


def selected(node: Expression, weight: npt.NDArray[np.float64]) -> Any:
    """Evaluate a condition on one variable for all weights; for an arithmetic expression, its values.

    Examples
    --------
    >>> selected(Binary(">", Variable("W"), Constant(0.5)), np.array([0.25, 0.75])).tolist()
    [False, True]
    """
    match node:
        case Variable():
            return weight
        case Constant(value):
            return float(value)  # type: ignore[arg-type]
        case Unary(operator, operand):
            inner = selected(operand, weight)
            return np.logical_not(inner) if operator == "!" else 0 - inner
        case Binary(operator, left, right):
            return _NUMPY[operator](selected(left, weight), selected(right, weight))
    raise AssertionError(node)


_NUMPY: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "&&": np.logical_and,
    "||": np.logical_or,
}

_OPERATORS = {"+": k.ADD, "-": k.SUBTRACT, "*": k.TIMES, "/": k.DIVIDE, "&&": k.AND, "||": k.OR}
_COMPARE = {"<": (k.BELOW, False), ">": (k.BELOW, True), "<=": (k.UP_TO, False), ">=": (k.UP_TO, True)}


class Steps:
    """Steps of one rule, see `kgreason.graph.small_graphs.bit_kernels`.

    Parameters
    ----------
    constants
        Register of each constant of the plan; new ones are added.
    levels
        Number of each vertex variable.
    ranges
        Range of each value variable.
    """

    def __init__(
        self, constants: dict[float, int], levels: Mapping[str, int], ranges: Mapping[str, Range]
    ) -> None:
        self.constants = constants
        self.levels = levels
        self.ranges = ranges
        self.registers: dict[str, int] = {}
        self.used = 0
        self.steps: list[tuple[int, int, int, int]] = []

    def register(self, name: str = "") -> int:
        """Register of a variable, or a free one."""
        if name in self.registers:
            return self.registers[name]
        if self.used == k.MOST - 1:  # the last one is reserved for the kernel
            raise Unfit("a rule has too many values")
        self.used += 1
        if name:
            self.registers[name] = self.used - 1
        return self.used - 1

    def value(self, node: Expression) -> int:
        """Compile a value; returns its register."""
        range_of(node, self.ranges)
        match node:
            case Variable(name):
                return self.registers[name]
            case Constant(value):
                return self.constants.setdefault(float(value), k.CONSTANT + len(self.constants))  # type: ignore[arg-type]
            case Unary(_, operand):
                return self.value(Binary("-", Constant(0), operand))
            case Binary(operator, left, right):
                a, b = self.value(left), self.value(right)
                return self._step(_OPERATORS[operator], self.register(), a, b)
        raise AssertionError(node)

    def condition(self, node: Expression) -> None:
        """Compile a condition that must hold."""
        self._truth(node, -1)

    def take(self) -> list[int]:
        """Return the steps so far, encoded for a plan, and start a new list."""
        found = [len(self.steps), *(number for step in self.steps for number in step)]
        self.steps = []
        return found

    def _truth(self, node: Expression, target: int | None = None) -> int:
        """Compile a condition to 1 or 0 in a register, or to a test if the target is -1."""
        target = self.register() if target is None else target
        match node:
            case Unary("!", operand):
                inner = self._truth(operand)
                return self._step(k.NOT, target, inner, inner)
            case Binary("&&" | "||", left, right):
                a, b = self._truth(left), self._truth(right)
                return self._step(_OPERATORS[node.operator], target, a, b)
            case Binary("!=", left, right):
                equal = self._equal(left, right, self.register())
                return self._step(k.NOT, target, equal, equal)
            case Binary("==", left, right):
                return self._equal(left, right, target)
            case Binary(operator, left, right) if operator in COMPARISONS:
                code, swapped = _COMPARE[operator]
                a, b = self.value(left), self.value(right)
                return self._step(code, target, *((b, a) if swapped else (a, b)))
        raise Unfit(f"`{node}` is more than a comparison")

    def _equal(self, left: Expression, right: Expression, target: int) -> int:
        match left, right:
            case Variable(a), Variable(b) if {a, b} <= self.levels.keys():
                return self._step(k.MEET, target, self.levels[a], self.levels[b])
        return self._step(k.EQUAL, target, self.value(left), self.value(right))

    def _step(self, operator: int, target: int, a: int, b: int) -> int:
        self.steps.append((operator, target, a, b))
        return target
