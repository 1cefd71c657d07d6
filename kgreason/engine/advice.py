"""What to do about an expression that has no value."""

from __future__ import annotations

import re

from kgreason.lang.ast import Binary, Call, Expression
from kgreason.lang.functions import plain_name
from kgreason.plan.place import variables

PATTERNS = {
    "as_int": "^[+-]?[0-9]+$",
    "as_double": "^[+-]?[0-9]+([.][0-9]+)?$",
    "as_boolean": "^(true|false|1|0)$",
    "as_date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
"""Texts that the casts take, by the most usual of their forms."""

CONTRIBUTIONS = "doubles reach further than integers of 64 bits: as_double(...) of the contribution"


def advice(what: str, node: Expression) -> str | None:
    """Say what helps, where it is obvious.

    Examples
    --------
    >>> from kgreason.lang.ast import Constant, Variable
    >>> advice("division by zero", Binary("/", Constant(1), Variable("X")))
    'test the divisor first, as in if(X == 0, ..., 1 / X)'
    """
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
