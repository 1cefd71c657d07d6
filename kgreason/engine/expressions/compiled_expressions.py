"""Compilation of expressions: each becomes a function from rows to column values, once per rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgreason.base.errors import EvaluationError
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.expressions.builtin_functions import (
    LARGEST,
    SMALLEST,
    Refusal,
    arithmetic,
    compare,
    make_list,
    make_set,
    member,
    truth,
)
from kgreason.engine.expressions.function_calls import Compiled, Function, compile_call
from kgreason.engine.plan.double_variables import VariableKinds, gives_double
from kgreason.engine.plan.expression_kinds import join, kind_of
from kgreason.engine.plan.ir import variables
from kgreason.engine.relations.fact_tables import (
    CODED,
    Kind,
    Values,
    code,
    coded,
    decode,
    decoded,
    distinct,
    dtype,
    encoded,
    representable,
    widened,
)
from kgreason.engine.relations.symbols import Codes, Symbols, to_doubles
from kgreason.language.check.checked_program import CheckedRule
from kgreason.language.check.expressions import walk
from kgreason.language.functions import plain_name
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Unary,
    Variable,
)
from kgreason.language.values import Null, Value, brief
from kgreason.language.vocabulary import ARITHMETIC, LOGIC, MEMBERSHIP, ORDERS

COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
EQUALITY = {"==": True, "!=": False, "<>": False}


@dataclass(eq=False, repr=False)
class Scope:
    """Compilation context of the expressions of one rule; `layout` names the variable of each column of the rows."""

    layout: tuple[str, ...]
    kinds: Mapping[str, Kind]
    symbols: Symbols
    rule: CheckedRule
    nulls: Nulls | None = None

    @property
    def doubles(self) -> frozenset[str]:
        """Variables of kind ANY whose numbers are doubles."""
        return self.kinds.doubles if isinstance(self.kinds, VariableKinds) else frozenset()

    def compile(self, node: Expression) -> Compiled:
        """Kind of an expression and the function that computes it."""
        match node:
            case Constant():
                return self._constant(node.value)
            case Variable():
                return self._variable(node.name)
            case Unary("!"):
                operand = self.condition(node.operand)
                return Kind.BOOL, lambda rows: ~operand(rows)
            case Unary("-"):
                return self._arithmetic(Binary("-", Constant(0), node.operand), node)
            case Binary(operator) if operator in LOGIC:
                return Kind.BOOL, self._logic(node)
            case Binary(operator) if operator in ARITHMETIC:
                return self._arithmetic(node, node)
            case Binary(operator) if operator in MEMBERSHIP:
                return Kind.BOOL, self._member(node)
            case Binary():
                return Kind.BOOL, self._comparison(node)
            case Call():
                return compile_call(self, node)
            case Collection():
                operands = [self.compile(e) for e in node.elements]
                kind, make = (Kind.LIST, make_list) if node.kind == "list" else (Kind.SET, make_set)
                return kind, self.pointwise(kind, lambda *values: make(values), operands, node.elements, node)
            case Skolem():
                return Kind.ANY, self._skolem(node)
        raise AssertionError(f"the checker lets no {node} through")

    def condition(self, node: Expression) -> Function:
        """Function that computes a boolean expression."""
        kind, function = self.compile(node)
        if kind is Kind.ANY:
            return self.pointwise(Kind.BOOL, truth, [(kind, function)], [node], node)
        return function

    def widened(self, compiled: Compiled, target: Kind) -> Function:
        """Function that computes an expression, converted to the kind `target`."""
        kind, function = compiled
        if kind is target:
            return function
        return lambda rows: widened(function(rows), kind, target, self.symbols)

    def pointwise(
        self,
        kind: Kind,
        compute: Callable[..., Value],
        operands: Sequence[Compiled],
        parts: Sequence[Expression],
        whole: Expression,
    ) -> Function:
        """Function that calls `compute` on Python values, once for each distinct combination in a batch.

        `operands` are the compiled `parts` of the expression `whole`.
        """
        double = [
            k is Kind.ANY and gives_double(part, self.doubles)
            for (k, _), part in zip(operands, parts, strict=True)
        ]
        kinds = [k for k, _ in operands]

        def evaluate(rows: Values, columns: list[Values]) -> Values:
            if not len(rows):
                return np.empty(0, dtype=dtype(kind))
            varying = [i for i, column in enumerate(columns) if column.ndim]
            which: Values = np.zeros(len(rows), dtype=np.int64)
            if varying:
                found, which = distinct([columns[i] for i in varying])
                for i, column in zip(varying, found, strict=True):
                    columns[i] = column
            count = len(columns[varying[0]]) if varying else 1
            columns = [np.broadcast_to(column, count) for column in columns]
            results: list[Value] = []
            values_of = decoded(kinds, columns, self.symbols)
            values_of = [to_doubles(v) if d else v for v, d in zip(values_of, double, strict=True)]
            arguments = zip(*values_of, strict=True) if columns else iter([()])
            for values in arguments:
                try:
                    results.append(compute(*values))
                except Refusal as refusal:
                    row = rows[int(np.argmax(which == len(results)))]
                    raise self.refused(refusal, whole, row) from None
            return encoded(results, kind, self.symbols)[which]

        return self._of(operands, kind, evaluate, whole)

    def _of(
        self,
        operands: Sequence[Compiled],
        kind: Kind,
        evaluate: Callable[[Values, list[Values]], Values],
        whole: Expression,
    ) -> Function:
        """Function that calls `evaluate` with the rows and the columns of its operands, each computed once."""
        # An operand has a negative code where the chase omitted a null; the result is -1 there.

        def function(rows: Values) -> Values:
            return evaluate(rows, [coded(f(rows), k, k, self.symbols) for k, f in operands])

        def guarded(rows: Values) -> Values:
            columns = [coded(f(rows), k, k, self.symbols) for k, f in operands]
            given = np.ones(len(rows), dtype=np.bool_)
            for (operand, _), column in zip(operands, columns, strict=True):
                if operand in CODED:
                    given &= column >= 0
            result = np.full(len(rows), -1, dtype=dtype(kind))
            if given.any():
                result[given] = evaluate(rows[given], [c[given] if c.ndim else c for c in columns])
            return result

        nested = any(isinstance(part, Skolem) and part is not whole for part in walk(whole))
        return guarded if nested else function

    def refuse(self, bad: Values, what: str, whole: Expression, rows: Values) -> None:
        """Raise an error with the binding of the first row marked `bad`."""
        bad = np.asarray(bad, dtype=bool)
        if bad.any() and len(rows):
            first = rows[int(np.argmax(np.broadcast_to(bad, len(rows))))]
            raise self.refused(Refusal(what), whole, first)

    def refused(self, refusal: Refusal, whole: Expression, row: Values) -> EvaluationError:
        """Error for one row."""
        names = variables(whole)
        nulls = [name for name in names if isinstance(self._value(row, name), Null)]
        hint = refusal.hint
        if hint and nulls:
            hint = hint.replace("is_not_null(...)", f"is_not_null({nulls[0]})")
        hint = hint or advice(refusal.what, whole)
        return self.error(f"{refusal.what} in {whole}", row, names, hint)

    def _constant(self, value: Value) -> Compiled:
        kind = kind_of(value)
        plain = value if kind in (Kind.DOUBLE, Kind.BOOL) else code(value, kind, self.symbols)
        single: Values = np.asarray(plain)
        return kind, lambda _rows: single

    def _variable(self, name: str) -> Compiled:
        column, kind = self.layout.index(name), self.kinds[name]
        if kind is Kind.DOUBLE:
            return kind, lambda rows: rows.view(np.float64)[:, column]
        if kind is Kind.BOOL:
            return kind, lambda rows: rows[:, column] != 0
        return kind, lambda rows: rows[:, column]

    def _logic(self, node: Binary) -> Function:
        left, right = self.condition(node.left), self.condition(node.right)
        stop = node.operator == "||"

        def evaluate(rows: Values) -> Values:
            result = np.array(np.broadcast_to(left(rows), len(rows)))
            # the right side must not fail where the left one decides
            open_rows = np.flatnonzero(result != stop)
            if len(open_rows):
                result[open_rows] = right(rows[open_rows])
            return result

        return evaluate

    def _member(self, node: Binary) -> Function:
        wanted = node.operator == "in"
        operands = [self.compile(node.left), self.compile(node.right)]
        parts = (node.left, node.right)
        return self.pointwise(Kind.BOOL, lambda v, whole: member(v, whole) == wanted, operands, parts, node)

    def _skolem(self, node: Skolem) -> Function:
        operands = [self.compile(a) for a in node.arguments]
        kinds = [k for k, _ in operands]
        nulls = self.nulls
        assert nulls is not None

        def evaluate(rows: Values, columns: list[Values]) -> Values:
            arguments = np.empty((len(rows), len(operands)), dtype=np.int64)
            for i, column in enumerate(columns):
                arguments[:, i] = column
            return nulls.invent(f"#{node.function}", arguments, kinds, self.rule)

        return self._of(operands, Kind.ANY, evaluate, node)

    def _comparison(self, node: Binary) -> Function:
        one, other = self.compile(node.left), self.compile(node.right)
        both = join(one[0], other[0])
        assert both is not None
        if node.operator in EQUALITY:
            equal = EQUALITY[node.operator]
            if both is Kind.ANY:
                left, right = self.widened(one, both), self.widened(other, both)
            else:
                left, right = one[1], other[1]
            if one[0] is not other[0] and both is Kind.DOUBLE:
                return lambda rows: np.asarray(np.equal(*_comparable(left(rows), right(rows))) == equal)
            return lambda rows: np.asarray((left(rows) == right(rows)) == equal)
        if both is Kind.ANY:
            parts = (node.left, node.right)
            return self.pointwise(Kind.BOOL, partial(compare, node.operator), [one, other], parts, node)
        left, right, test = one[1], other[1], COMPARE[node.operator]
        assert node.operator in ORDERS
        if one[0] is not other[0]:
            return lambda rows: test(*_comparable(left(rows), right(rows)))
        if both is Kind.STRING:
            return lambda rows: test(*self._ranks(left(rows), right(rows)))
        return lambda rows: test(left(rows), right(rows))

    def _ranks(self, a: Values, b: Values) -> tuple[Values, Values]:
        if a.size + b.size < len(self.symbols) // 8:  # not worth sorting all strings
            return self._strings(a), self._strings(b)
        ranks = self.symbols.ranks()
        return ranks[a], ranks[b]

    def _strings(self, codes: Values) -> Values:
        return np.array(self.symbols.decode(codes.ravel()), dtype=object).reshape(codes.shape)

    def _arithmetic(self, node: Binary, whole: Expression) -> Compiled:
        one, other = self.compile(node.left), self.compile(node.right)
        kind = join(one[0], other[0])
        assert kind is not None
        if kind in (Kind.ANY, Kind.LIST):
            parts = (node.left, node.right)
            return kind, self.pointwise(kind, partial(arithmetic, node.operator), [one, other], parts, whole)
        if node.operator == "/":
            kind = Kind.DOUBLE
        left, right = one[1], other[1]
        compute = {Kind.INT: self._integers, Kind.DOUBLE: self._doubles, Kind.STRING: self._concat}[kind]
        return kind, lambda rows: compute(node.operator, left(rows), right(rows), whole, rows)

    def _concat(self, _operator: str, a: Values, b: Values, _whole: Expression, _rows: Values) -> Values:
        a, b = np.broadcast_arrays(a, b)
        left, right = self.symbols.decode(a.ravel()), self.symbols.decode(b.ravel())
        return self.symbols.encode([x + y for x, y in zip(left, right, strict=True)]).reshape(a.shape)

    def _doubles(self, operator: str, a: Values, b: Values, whole: Expression, rows: Values) -> Values:
        if operator in "/%":
            self.refuse(b == 0, "division by zero", whole, rows)
        with np.errstate(all="ignore"):
            compute = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}[
                operator
            ]
            result: Values = compute(a, b, dtype=np.float64)
        finite = np.isfinite(result)
        if not finite.all():
            self.refuse(np.isnan(result), "not a number", whole, rows)
            self.refuse(~finite, "double overflow", whole, rows)
        return result + 0.0  # -0.0 becomes 0.0

    def _integers(self, operator: str, a: Values, b: Values, whole: Expression, rows: Values) -> Values:
        if operator == "%":
            self.refuse(b == 0, "division by zero", whole, rows)
            with np.errstate(divide="ignore"):  # a constant divisor 0 with no rows
                return np.where(b == -1, 0, np.fmod(a, np.where(b == -1, 1, b)))
        compute: Any = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator]
        if not a.size or not b.size or _fits(compute, a, b):
            return np.asarray(compute(a, b))
        exact = compute(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
        self.refuse((exact < SMALLEST) | (exact > LARGEST), "integer overflow", whole, rows)
        return np.asarray(exact, dtype=np.int64)

    def error(
        self, message: str, row: Codes, names: Sequence[str], hint: str | None = None
    ) -> EvaluationError:
        """Error that shows the binding of some variables in one row, and its group as far as it is known."""
        aggregation = self.rule.aggregation
        group = [v for v in aggregation.group if v in self.layout] if aggregation else []
        others = self.binding(row, [v for v in names if v not in group])
        message += f", with {others}" if others else ""
        message += f", in the group {self.binding(row, group)}" if group else ""
        return EvaluationError(message, self.rule.text, self.rule.span, hint)

    def binding(self, row: Codes, names: Sequence[str]) -> str:
        """Text of a binding, for error messages."""
        return ", ".join(f"{name} = {brief(self._value(row, name))}" for name in names)

    @property
    def shown(self) -> tuple[str, ...]:
        """Variables shown to users."""
        return tuple(dict.fromkeys(name for name in self.layout if not name.startswith(("#", "_"))))

    def _value(self, row: Codes, name: str) -> Value:
        column = self.layout.index(name)
        kind = self.kinds[name]
        values = decode(kind, row[column : column + 1], self.symbols)
        return (to_doubles(values) if kind is Kind.ANY and name in self.doubles else values)[0]


def has_skolem(node: Expression) -> bool:
    """Whether an expression contains a Skolem term."""
    return any(isinstance(part, Skolem) for part in walk(node))


def _comparable(a: Values, b: Values) -> tuple[Values, Values]:
    """Prepare integers and doubles for exact comparison by NumPy: as doubles if all integers are small."""
    if representable(a if a.dtype == np.int64 else b):
        return a, b
    return a.astype(object), b.astype(object)


def _fits(compute: Callable[[int, int], Any], a: Values, b: Values) -> bool:
    """Whether no result can exceed 64 bits, judged by the extremes of both operands."""
    ends = [(int(v.min()), int(v.max())) for v in (a, b)]
    operator = {np.add: int.__add__, np.subtract: int.__sub__, np.multiply: int.__mul__}[compute]  # type: ignore[index]
    results = [operator(x, y) for x in ends[0] for y in ends[1]]
    return min(results) >= SMALLEST and max(results) <= LARGEST


# the most usual texts that each cast takes
PATTERNS = {
    "as_int": "^[+-]?[0-9]+$",
    "as_double": "^[+-]?[0-9]+([.][0-9]+)?$",
    "as_boolean": "^(true|false|1|0)$",
    "as_date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}

CONTRIBUTIONS = "doubles reach further than integers of 64 bits: as_double(...) of the contribution"


def advice(what: str, node: Expression) -> str | None:
    """Hint for an evaluation error, where the remedy is obvious."""
    match node:
        case Binary("/" | "%", _, divisor) if what == "division by zero" and variables(divisor):
            return f"test the divisor first, as in if({divisor} == 0, ..., {node})"
        case Binary() if what == "integer overflow":
            return f"doubles reach further than integers of 64 bits: as_double({node.left})"
        case Call(function, arguments) if arguments:
            return _of_call(what, plain_name(function), arguments[0], node)
    return None


def _of_call(what: str, name: str, argument: Expression, node: Call) -> str | None:
    if what == "integer overflow" and name in ("as_int", "round", "floor", "ceil"):
        return "an integer has 64 bits; leave the number a double"
    if name == "as_date" and re.match(PATTERNS[name][:-1] + '"', what[1:]):
        return "it is written as a date, but no calendar has that day; mend it in the data"
    if name in PATTERNS and what.startswith('"'):
        return f'test the text first, as in rlike({argument}, "{PATTERNS[name]}")'
    if name in ("log", "sqrt") and what.startswith(name):
        order = ">" if name == "log" else ">="
        return f"test the number first, as in if({argument} {order} 0, ..., {node})"
    return None
