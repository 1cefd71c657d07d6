"""Function calls over columns: vectorized where possible, else evaluated once per distinct combination of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Protocol, TypeAlias

import numpy as np

from kgreason.base.errors import EvaluationError
from kgreason.engine.expressions.builtin_functions import LARGEST, SMALLEST, Refusal, call, call_user, matches
from kgreason.engine.plan.expression_kinds import NUMBERS, RESULTS, join_all
from kgreason.engine.relations.fact_tables import Kind, Values, dtype
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Symbols, once_each
from kgreason.language.functions import Signature, plain_name, signature
from kgreason.language.syntax.syntax_tree import Binary, Call, Expression
from kgreason.language.values import Null, Value

DAY = 86_400_000_000  # microseconds
IDENTITIES = {"as_string": Kind.STRING, "as_int": Kind.INT, "as_boolean": Kind.BOOL, "as_date": Kind.DATE}
Function: TypeAlias = Callable[[Rows], Values]
Compiled = tuple[Kind, Function]


class _Scope(Protocol):
    """Interface of the expression compiler (`compiled_expressions.Scope`) as used by calls."""

    symbols: Symbols

    def compile(self, node: Expression) -> Compiled: ...
    def condition(self, node: Expression) -> Function: ...
    def widened(self, compiled: Compiled, target: Kind) -> Function: ...
    def pointwise(
        self,
        kind: Kind,
        compute: Callable[..., Value],
        operands: Sequence[Compiled],
        parts: Sequence[Expression],
        whole: Expression,
    ) -> Function: ...
    def refuse(self, bad: Values, what: str, whole: Expression, rows: Values) -> None: ...
    def refused(self, refusal: Refusal, whole: Expression, row: Values) -> EvaluationError: ...


def compile_call(scope: _Scope, node: Call) -> Compiled:
    """Kind of a call and the function that computes it."""
    name = plain_name(node.function)
    given = signature(node.function, len(node.arguments))
    assert given is not None
    operands = [scope.compile(argument) for argument in node.arguments]
    kinds = [k for k, _ in operands]
    if given.call is None and name == "between" and Kind.ANY not in kinds:
        value, low, high = node.arguments
        return scope.compile(Binary("&&", Binary(">=", value, low), Binary("<=", value, high)))
    kind = _result(given, kinds)
    if given.call is not None:

        def user(*values: Value) -> Value:
            return call_user(node.function, given, values, scope.symbols)

        return kind, scope.pointwise(kind, user, operands, node.arguments, node)
    if name == "if":
        condition = scope.condition(node.arguments[0])
        return kind, _choice(kind, condition, *(scope.widened(o, kind) for o in operands[1:]))
    if name == "coalesce":
        return kind, _coalesce(scope, kind, operands)
    quick = _quick(scope, node, name, kind, operands)
    if quick is not None:
        return kind, quick

    typed = Kind.ANY not in kinds
    doubling = given.result == "join" and kind is Kind.DOUBLE

    def scalar(*values: Value) -> Value:
        value = call(name, given, values, typed=typed)
        return float(value) if doubling else value  # type: ignore[arg-type]

    return kind, scope.pointwise(kind, scalar, operands, node.arguments, node)


def _result(given: Signature, kinds: Sequence[Kind]) -> Kind:
    if given.result != "join":
        return RESULTS[given.result]
    joined = join_all([kinds[i] for i in given.joined or range(len(kinds))])
    assert joined is not None
    return joined


def _choice(kind: Kind, condition: Function, then: Function, otherwise: Function) -> Function:
    def evaluate(rows: Values) -> Values:
        holds = np.broadcast_to(condition(rows), len(rows))
        result = np.empty(len(rows), dtype=dtype(kind))
        for wanted, branch in ((holds, then), (~holds, otherwise)):
            # the other branch may fail for these rows
            chosen = np.flatnonzero(wanted)
            if len(chosen):
                result[chosen] = branch(rows[chosen])
        return result

    return evaluate


def _coalesce(scope: _Scope, kind: Kind, operands: Sequence[Compiled]) -> Function:
    branches = [(k, scope.widened((k, f), kind)) for k, f in operands]

    def evaluate(rows: Values) -> Values:
        result = np.empty(len(rows), dtype=dtype(kind))
        waiting = np.arange(len(rows))
        for own, branch in branches:
            if not len(waiting):
                break
            result[waiting] = branch(rows[waiting])
            if own is not Kind.ANY:
                break
            waiting = waiting[_nulls(scope, result[waiting])]
        return result

    return evaluate


def _nulls(scope: _Scope, codes: Values) -> Values:
    """Mask of the codes of labelled nulls."""
    value = scope.symbols.value
    return once_each(codes, lambda found: [c < 0 or isinstance(value(c), Null) for c in found.tolist()]) > 0


def _quick(scope: _Scope, node: Call, name: str, kind: Kind, operands: Sequence[Compiled]) -> Function | None:
    """Vectorized function for these kinds, if there is one."""
    kinds = {k for k, _ in operands}
    functions = [f for _, f in operands]
    first = functions[0]
    if IDENTITIES.get(name) in kinds or (name == "as_double" and kinds <= {*NUMBERS, Kind.BOOL}):
        return lambda rows: first(rows).astype(dtype(kind))
    if name in ("is_null", "is_not_null"):
        if Kind.ANY in kinds:
            return lambda rows: _nulls(scope, np.atleast_1d(first(rows))) == (name == "is_null")
        return lambda _: np.asarray(name != "is_null")
    if name in ("min", "max") and kinds <= {*NUMBERS, Kind.BOOL, Kind.DATE}:
        better = np.minimum if name == "min" else np.maximum
        return lambda rows: reduce(better, [f(rows).astype(dtype(kind)) for f in functions])
    if name in DATES and kinds == {Kind.DATE}:
        part = DATES[name]
        return lambda rows: part(*(f(rows) for f in functions))
    if kinds == {Kind.INT} and name in ("round", "floor", "ceil") and len(functions) == 1:
        return first
    if kinds == {Kind.DOUBLE} and name in WHOLE and len(functions) == 1:
        return _whole(scope, node, WHOLE[name], first)
    if kinds == {Kind.DOUBLE} and name == "abs":
        return lambda rows: np.abs(first(rows))
    if kinds == {Kind.STRING} and name == "rlike":
        return _rlike(scope, node, *functions)
    return None


def _rlike(scope: _Scope, node: Call, text: Function, pattern: Function) -> Function:
    """Match regular expressions over columns: each pattern once, over the distinct texts paired with it."""

    def evaluate(rows: Values) -> Values:
        texts, patterns = (np.broadcast_to(f(rows), len(rows)) for f in (text, pattern))
        result = np.empty(len(rows), dtype=np.bool_)
        for one in np.unique(patterns):
            here = np.flatnonzero(patterns == one)
            codes, which = np.unique(texts[here], return_inverse=True)
            try:
                found = matches(scope.symbols.decode(codes), *scope.symbols.decode([int(one)]))
            except Refusal as refusal:
                raise scope.refused(refusal, node, rows[here[0]]) from None
            result[here] = found[which]
        return result

    return evaluate


def _whole(scope: _Scope, node: Call, compute: Callable[[Values], Values], function: Function) -> Function:
    def evaluate(rows: Values) -> Values:
        whole = compute(function(rows))
        scope.refuse((whole < SMALLEST) | (whole >= LARGEST), "integer overflow", node, rows)
        return whole.astype(np.int64)

    return evaluate


def _half_away(values: Values) -> Values:
    whole = np.trunc(values)
    return np.asarray(np.where(np.abs(values - whole) >= 0.5, whole + np.sign(values), whole))


WHOLE: Mapping[str, Callable[[Values], Values]] = {
    "as_int": np.trunc,
    "round": _half_away,
    "floor": np.floor,
    "ceil": np.ceil,
}


def _date_part(unit: str, within: str | None, shift: int) -> Callable[[Values], Values]:
    def part(micros: Values) -> Values:
        dates = np.asarray(micros).astype("datetime64[us]")
        counted = dates.astype(f"datetime64[{unit}]")
        if within is not None:
            counted = counted - counted.astype(f"datetime64[{within}]").astype(counted.dtype)
        return np.asarray(counted.astype(np.int64)) + shift

    return part


def _diff(later: Values, earlier: Values) -> Values:
    gap = np.asarray(later - earlier)
    return np.asarray(np.where(gap >= 0, gap // DAY, -(-gap // DAY)))


DATES: Mapping[str, Callable[..., Values]] = {
    "year": _date_part("Y", None, 1970),
    "month": _date_part("M", "Y", 1),
    "day": _date_part("D", "M", 1),
    "diff": _diff,
}
