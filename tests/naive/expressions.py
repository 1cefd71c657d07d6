"""Values of expressions under a binding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgreason.base.errors import EvaluationError
from kgreason.language.check.checked_program import CheckedRule
from kgreason.language.functions import plain_name
from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Unary,
    Unsupported,
    Variable,
)
from kgreason.language.values import Null, Value, source
from tests.naive.doubles import is_double
from tests.naive.functions import call
from tests.naive.values import (
    Fault,
    arithmetic,
    checked,
    compare,
    deep,
    member,
    to_double,
    to_set,
    type_of,
)

Binding = dict[str, Value]
Invent = Callable[[str, tuple[Value, ...]], "Value | None"]
"""Gives the null of a function for some arguments; `None` where it would be nested too deep."""


class TooDeep(Exception):
    """A null that is not made, so that the binding is left out."""


@dataclass(frozen=True)
class Scene:
    """Where expressions are evaluated: in a rule, some of whose variables hold doubles."""

    rule: CheckedRule
    doubles: set[str]
    invent: Invent


def evaluate(node: Expression, binding: Binding, scene: Scene) -> Any:
    """Value of an expression.

    Raises
    ------
    EvaluationError
        With the rule and the binding.
    TooDeep
        Where a Skolem term has no null.
    """
    try:
        return _value(node, binding, scene)
    except Fault as fault:
        raise error(f"{fault}", binding, scene.rule) from None


def error(message: str, binding: Binding, rule: CheckedRule) -> EvaluationError:
    """Message with the binding and the rule."""
    where = ", ".join(f"{name} = {source(value)}" for name, value in binding.items())
    return EvaluationError(f"{message}, with {where}" if where else message, rule.text, rule.span)


def truth(value: Value) -> bool:
    """Refuse anything but a boolean."""
    if not isinstance(value, bool):
        raise Fault(f"a {type_of(value)} is no condition")
    return value


def _value(node: Expression, binding: Binding, scene: Scene) -> Any:
    match node:
        case Constant():
            return node.value
        case Variable():
            return binding[node.name]
        case Collection(kind, elements):
            values = [_value(e, binding, scene) for e in elements]
            deep(values)
            return tuple(values) if kind == "list" else to_set(values)
        case Skolem(function, arguments):
            null = scene.invent("#" + function, tuple(_value(a, binding, scene) for a in arguments))
            if null is None:
                raise TooDeep
            return null
        case Unary("-", operand):
            value = _value(operand, binding, scene)
            return checked(arithmetic("-", 0, value))
        case Unary("!", operand):
            return not truth(_value(operand, binding, scene))
        case Binary(name, left, right):
            return _binary(name, left, right, binding, scene)
        case Call(function, arguments):
            value = _call(function, arguments, binding, scene)
            return to_double(value) if is_double(node, scene.doubles) else value
        case Aggregate() | Unsupported() | Unary():
            raise AssertionError(f"the checker lets no {node} through")


def _binary(name: str, left: Expression, right: Expression, binding: Binding, scene: Scene) -> Any:
    a = _value(left, binding, scene)
    if name == "&&":
        return truth(a) and truth(_value(right, binding, scene))
    if name == "||":
        return truth(a) or truth(_value(right, binding, scene))
    b = _value(right, binding, scene)
    if name in ("in", "!in"):
        return member(a, b) == (name == "in")
    return arithmetic(name, a, b) if name in "+-*/%" else compare(name, a, b)


def _call(function: str, arguments: tuple[Expression, ...], binding: Binding, scene: Scene) -> Any:
    """What ``if`` and ``coalesce`` do not choose is not computed."""
    if plain_name(function) == "if":
        chosen = truth(_value(arguments[0], binding, scene))
        return _value(arguments[1 if chosen else 2], binding, scene)
    if plain_name(function) == "coalesce":
        value: Any = None
        for argument in arguments:
            value = _value(argument, binding, scene)
            if not isinstance(value, Null):
                break
        return value
    return call(function, [_value(a, binding, scene) for a in arguments])
