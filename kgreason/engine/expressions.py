"""Expressions over columns: compiled once per rule into functions from rows to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedRule
from kgreason.engine.relation import Rows
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Kind, decode, doubles
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Binary, Constant, Expression, Unary, Variable
from kgreason.lang.values import Value
from kgreason.plan.kinds import join, kind_of
from kgreason.plan.place import variables

Values = npt.NDArray[Any]
"""INT int64, DOUBLE float64, STRING codes int64, BOOL bool; one per row, or a single one for all."""

Function = Callable[[Rows], Values]

ORDER = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def code(value: Value, kind: Kind, symbols: Symbols) -> int:
    """Coded constant at a position of the kind.

    Examples
    --------
    >>> code(True, Kind.BOOL, Symbols()), code(1, Kind.DOUBLE, Symbols()) == code(1.0, Kind.DOUBLE, Symbols())
    (1, True)
    """
    if kind is Kind.STRING:
        return symbols.code(str(value))
    if kind is Kind.DOUBLE:
        return int(doubles(np.array([value], dtype=np.float64))[0])
    return int(value)


def coded(values: Values, kind: Kind, target: Kind) -> npt.NDArray[np.int64]:
    """Values as codes of a column of kind `target`."""
    if target is Kind.DOUBLE:
        return doubles(np.atleast_1d(values).astype(np.float64)).reshape(values.shape)
    return values.astype(np.int64) if kind is Kind.BOOL else values


class Scope:
    """Where expressions of one rule find their variables.

    Parameters
    ----------
    layout
        Variable of each column of the rows.
    kinds
        Kind of each variable.
    """

    def __init__(
        self, layout: Sequence[str], kinds: Mapping[str, Kind], symbols: Symbols, rule: CheckedRule
    ) -> None:
        self.layout = tuple(layout)
        self.kinds = kinds
        self.symbols = symbols
        self.rule = rule

    def compile(self, node: Expression) -> tuple[Kind, Function]:
        """Kind of an expression and the function that computes it."""
        match node:
            case Constant():
                return self._constant(node.value)
            case Variable():
                return self._variable(node.name)
            case Unary("!"):
                _, operand = self.compile(node.operand)
                return Kind.BOOL, lambda rows: ~operand(rows)
            case Unary("-"):
                return self._arithmetic(Binary("-", Constant(0), node.operand), node)
            case Binary("&&" | "||"):
                return Kind.BOOL, self._logic(node)
            case Binary("+" | "-" | "*" | "/" | "%"):
                return self._arithmetic(node, node)
            case Binary():
                return Kind.BOOL, self._comparison(node)
        raise AssertionError(f"the checker lets no {node} through")

    def _constant(self, value: Value) -> tuple[Kind, Function]:
        kind = kind_of(value)
        single: Values = np.asarray(self.symbols.code(str(value)) if kind is Kind.STRING else value)
        return kind, lambda _rows: single

    def _variable(self, name: str) -> tuple[Kind, Function]:
        column, kind = self.layout.index(name), self.kinds[name]
        if kind is Kind.DOUBLE:
            return kind, lambda rows: rows.view(np.float64)[:, column]
        if kind is Kind.BOOL:
            return kind, lambda rows: rows[:, column] != 0
        return kind, lambda rows: rows[:, column]

    def _logic(self, node: Binary) -> Function:
        _, left = self.compile(node.left)
        _, right = self.compile(node.right)
        stop = node.operator == "||"

        def evaluate(rows: Rows) -> Values:
            result = np.array(np.broadcast_to(left(rows), len(rows)))
            open_rows = np.flatnonzero(result != stop)  # the right side must not fail where the left decides
            if len(open_rows):
                result[open_rows] = right(rows[open_rows])
            return result

        return evaluate

    def _comparison(self, node: Binary) -> Function:
        left_kind, left = self.compile(node.left)
        _, right = self.compile(node.right)
        if node.operator in ("==", "!=", "<>"):
            equal = node.operator == "=="
            return lambda rows: np.asarray((left(rows) == right(rows)) == equal)
        compare = ORDER[node.operator]
        if left_kind is Kind.STRING:
            return lambda rows: compare(*self._ranks(left(rows), right(rows)))
        return lambda rows: compare(left(rows), right(rows))

    def _ranks(self, a: Values, b: Values) -> tuple[Values, Values]:
        if a.size + b.size < len(self.symbols) // 8:  # not worth sorting all strings
            return self._strings(a), self._strings(b)
        ranks = self.symbols.ranks()
        return ranks[a], ranks[b]

    def _strings(self, codes: Values) -> Values:
        return np.array(self.symbols.decode(codes.ravel()), dtype=object).reshape(codes.shape)

    def _arithmetic(self, node: Binary, whole: Expression) -> tuple[Kind, Function]:
        left_kind, left = self.compile(node.left)
        right_kind, right = self.compile(node.right)
        kind = join(left_kind, right_kind)
        assert kind is not None
        compute = {Kind.INT: self._integers, Kind.DOUBLE: self._doubles, Kind.STRING: self._concat}[kind]
        return kind, lambda rows: compute(node.operator, left(rows), right(rows), whole, rows)

    def _concat(self, _operator: str, a: Values, b: Values, _whole: Expression, _rows: Rows) -> Values:
        a, b = np.broadcast_arrays(a, b)
        left, right = self.symbols.decode(a.ravel()), self.symbols.decode(b.ravel())
        return self.symbols.encode([x + y for x, y in zip(left, right, strict=True)]).reshape(a.shape)

    def _doubles(self, operator: str, a: Values, b: Values, whole: Expression, rows: Rows) -> Values:
        if operator in "/%":
            self._refuse(b == 0, "division by zero", whole, rows)
        with np.errstate(all="ignore"):
            compute = {
                "+": np.add,
                "-": np.subtract,
                "*": np.multiply,
                "/": np.divide,
                "%": np.fmod,
            }[operator]
            result: Values = compute(a, b, dtype=np.float64)
        finite = np.isfinite(result)
        if not finite.all():
            self._refuse(np.isnan(result), "not a number", whole, rows)
            self._refuse(~finite, "double overflow", whole, rows)
        return result + 0.0  # -0.0 becomes 0.0

    def _integers(self, operator: str, a: Values, b: Values, whole: Expression, rows: Rows) -> Values:
        if operator in "/%":
            self._refuse(b == 0, "division by zero", whole, rows)
            if operator == "%":
                return np.asarray(np.where(b == -1, 0, np.fmod(a, np.where(b == -1, 1, b))))
            self._refuse((b == -1) & (a == SMALLEST), "integer overflow", whole, rows)
            return np.asarray((a - np.fmod(a, np.where(b == -1, 1, b))) // b)  # toward zero
        compute: Any = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator]
        if not a.size or not b.size or _fits(compute, a, b):
            return np.asarray(compute(a, b))
        exact = compute(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
        self._refuse((exact < SMALLEST) | (exact > LARGEST), "integer overflow", whole, rows)
        return np.asarray(exact, dtype=np.int64)

    def _refuse(self, bad: Values, what: str, whole: Expression, rows: Rows) -> None:
        bad = np.asarray(bad, dtype=bool)
        if bad.any() and len(rows):
            first = rows[int(np.argmax(np.broadcast_to(bad, len(rows))))]
            raise self.error(f"{what} in {whole}", first, tuple(dict.fromkeys(variables(whole))))

    def error(self, message: str, row: npt.NDArray[np.int64], names: Sequence[str]) -> EvaluationError:
        """An error that shows the binding of some variables in one row, and its group as far as it is known."""
        aggregation = self.rule.aggregation
        group = [v for v in aggregation.group if v in self.layout] if aggregation else []
        others = self.binding(row, [v for v in names if v not in group])
        message += f", with {others}" if others else ""
        message += f", in the group {self.binding(row, group)}" if group else ""
        return EvaluationError(message, self.rule.text, self.rule.span)

    def binding(self, row: npt.NDArray[np.int64], names: Sequence[str]) -> str:
        """Some variables of a row and their values, for messages."""
        return ", ".join(f"{name} = {Constant(self._value(row, name))}" for name in names)

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that a user knows."""
        return tuple(name for name in self.layout if not name.startswith(("#", "_")))

    def _value(self, row: npt.NDArray[np.int64], name: str) -> Value:
        column = self.layout.index(name)
        return decode(self.kinds[name], row[column : column + 1], self.symbols)[0]


def _fits(compute: Callable[[int, int], Any], a: Values, b: Values) -> bool:
    """Whether no result can leave 64 bits, judged by the extremes of both sides."""
    ends = [(int(v.min()), int(v.max())) for v in (a, b)]
    operator = {np.add: int.__add__, np.subtract: int.__sub__, np.multiply: int.__mul__}[compute]  # type: ignore[index]
    results = [operator(x, y) for x in ends[0] for y in ends[1]]
    return min(results) >= SMALLEST and max(results) <= LARGEST
