"""Expressions: traversal, static types of calls and operands, and what this version supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from kgreason.base.errors import Findings
from kgreason.language.functions import BUILT_IN, LIBRARIES, Signature, known, plain_name, signature
from kgreason.language.syntax.syntax_tree import (
    PARTS,
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
    children,
)
from kgreason.language.values import Value, identity
from kgreason.language.vocabulary import AGGREGATES, meant

T = TypeVar("T")

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
ORDERS = frozenset({"<", "<=", ">", ">="})
ARITHMETIC = frozenset("+-*/%")
MEMBERSHIP = frozenset({"in", "!in"})
LOGIC = frozenset({"&&", "||"})


def walk(node: Expression) -> Iterator[Expression]:
    """The node and its descendants, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)
    if isinstance(node, Aggregate):
        yield from (node.groups if node.contributors is None else node.contributors) or ()


def rewrite(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Replace each node by the result of `change`, bottom-up; contributors are left unchanged."""
    made: dict[str, Any] = {}
    for name in PARTS.get(type(node), ()):
        part = getattr(node, name)
        several = isinstance(part, tuple)
        made[name] = tuple(rewrite(p, change) for p in part) if several else part and rewrite(part, change)
    return change(replace(node, **made) if made else node)


def grown(found: Iterable[T], more: Callable[[set[T]], Iterable[T]]) -> set[T]:
    """Least superset closed under `more`."""
    known, size = set(found), -1
    while size < len(known):
        size = len(known)
        known.update(more(known))
    return known


def variables(node: Expression) -> tuple[Variable, ...]:
    """Occurrences of variables, left to right."""
    return tuple(n for n in walk(node) if isinstance(n, Variable))


def names(node: Expression) -> frozenset[str]:
    """Names of the variables."""
    return frozenset(v.name for v in variables(node))


def fold(node: Expression, findings: Findings) -> Expression:
    """Replace each list and set of constants by a constant; in a set, integers beside doubles become doubles."""

    def change(part: Expression) -> Expression:
        if not isinstance(part, Collection):
            return part
        values = tuple(e.value for e in part.elements if isinstance(e, Constant))
        if len(values) < len(part.elements):
            return part
        if part.kind == "list":
            return Constant(values, span=part.span)
        return Constant(_set(values, part, findings), span=part.span)

    return rewrite(node, change)


def _set(values: tuple[Value, ...], node: Collection, findings: Findings) -> frozenset[Value]:
    inexact: list[Value] = []
    if any(type(v) is float for v in values):
        inexact = [v for v in values if type(v) is int and float(v) != v]
        values = tuple(float(v) if type(v) is int else v for v in values)
    result = frozenset(values)
    truths = any(isinstance(v, bool) for v in values) and any(type(v) in (int, float) for v in values)
    alike = len(result) < len(set(map(identity, values)))
    if truths or alike or inexact:
        what = "holds values that differ only in the types of their elements"
        if truths:
            what = "mixes booleans and numbers"
        elif inexact:
            what = f"holds {inexact[0]}, which no double equals, beside doubles"
        findings.add(
            "E122",
            f"the set `{node}` {what}",
            node.span,
            note="a set holds booleans or numbers, not both; integers become doubles beside doubles",
            hint="write a list: [...]",
        )
    return result


def supported(node: Expression, findings: Findings) -> bool:
    """Whether this version supports the expression; reports the reason if not."""
    fine = True
    for part in walk(node):
        match part:
            case Unsupported():
                findings.add(
                    "E203",
                    f"{part.feature}: `{_short(part.text)}` is not supported by this version",
                    part.span,
                    note=None
                    if part.feature == "temporal operator"
                    else "terms are variables, numbers, strings, booleans, dates, lists, sets and Skolem terms",
                )
                fine = False
            case Call():
                fine &= _check_call(part, findings)
            case Binary() if part.operator in MEMBERSHIP:
                fine &= _check_membership(part, findings)
            case Unary() | Binary():
                fine &= _check_operands(part, findings)
    return fine


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


def boolean(node: Expression) -> bool | None:
    """Whether the value is a boolean; `None` if that depends on the data."""
    if isinstance(node, Constant):
        return isinstance(node.value, bool)
    if isinstance(node, Skolem) or (isinstance(node, Binary) and node.operator in ARITHMETIC):
        return False
    known = static_type(node)
    return None if known is None else known == "boolean"


def well_formed(node: Expression, findings: Findings) -> bool:
    """Whether booleans and other values are used correctly, as far as statically known."""
    fine = True
    for part in walk(node):
        if not isinstance(part, Unary | Binary) or part.operator in MEMBERSHIP | {"==", "!="}:
            continue
        kind, hint = "a value", "put the comparison elsewhere"
        if wanted := part.operator in LOGIC | {"!"}:
            kind, hint = "a condition", "inside of an expression, equality is written `==`"
        for operand in children(part):
            if boolean(operand) is (not wanted):
                fine = False
                findings.add(
                    "E107",
                    f"`{part.operator}` takes {kind}, and `{operand}` is none",
                    operand.span,
                    note="conditions are comparisons and booleans, joined by `&&`, `||` and `!`",
                    hint=hint,
                )
    return fine


_NUMBERS = frozenset({"int", "double", "number"})
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (datetime, "date"),
    (tuple, "list"),
    (frozenset, "set"),
)


def _check_call(call: Call, findings: Findings) -> bool:
    found = signature(call.function, len(call.arguments))
    if found is None:
        _unknown(call, findings)
        return False
    count = len(call.arguments)
    if not found.takes(count):
        findings.add(
            "E121",
            f"`{call.function}` does not take {count} argument{'' if count == 1 else 's'}",
            call.span,
            note=f"the function is {_call_form(call.function, found)}",
        )
        return False
    fine = True
    for i, argument in enumerate(call.arguments):
        given, wanted = static_type(argument), found.parameter(i)
        if (
            plain_name(call.function) == "contains"
            and i == 0
            and given not in (None, "string", "list", "set")
        ):
            wanted = "collection"
        if not _fits(given, wanted):
            fine = False
            _misfit(call, i, wanted, str(given), found, findings)
    return fine


def no_predicate(node: Expression, findings: Findings) -> bool:
    """Whether a condition is not of the form ``!atom(...)``, a negation in other languages; reports it otherwise."""
    call = node.operand if isinstance(node, Unary) and node.operator == "!" else None
    if not isinstance(call, Call) or ":" in call.function or call.function in AGGREGATES:
        return True
    if signature(call.function, len(call.arguments)):
        return True
    slip, negation = meant(call.function, known(), "`{}`"), f"negation of atoms is `not`: `not {call}`"
    findings.add(
        "E108",
        f"there is no function `{call.function}`",
        call.span,
        note="`!` negates conditions, and an expression holds no predicates",
        hint=f"{slip} {negation}"
        if slip
        else f"{negation}; a function of your own needs --functions FILE.py",
    )
    return False


def _as_aggregate(call: Call) -> str:
    value, *others = call.arguments or (Variable("X"),)
    contributors = [str(a) for a in others if isinstance(a, Variable) and not a.anonymous]
    fine = contributors and len(contributors) == len(others)
    return f"{call.function}({value}, <{', '.join(contributors) if fine else 'C'}>)"


def _call_form(name: str, found: Signature) -> str:
    """Signature as a call: ``substring(string, int [, int])``, ``concat(string, ...)``."""
    least = len(found.parameters) - found.optional
    text = ", ".join(found.parameters[:least])
    for more in found.parameters[least:]:
        text += f" [, {more}]" if text else f"[{more}]"
    return f"{name}({text}{', ...' if found.variadic else ''})"


def static_type(node: Expression) -> str | None:
    """Static type of an expression, `None` if unknown; ``"number"`` for an integer or a double."""
    match node:
        case Constant():
            return next((name for kind, name in _TYPES if isinstance(node.value, kind)), None)
        case Collection():
            return node.kind
        case Unary():
            return "boolean" if node.operator == "!" else "number"
        case Binary(operator="+"):
            return _joined((node.left, node.right))
        case Binary():
            return "number" if node.operator in "-*/%" else "boolean"
        case Call():
            found = signature(node.function, len(node.arguments))
            if found is None or found.result == "any":
                return None
            return _join(node, found) if found.result == "join" else found.result
    return None


def _join(call: Call, found: Signature) -> str | None:
    positions = [i for i in found.joined or range(len(call.arguments)) if i < len(call.arguments)]
    taken = {found.parameter(i) for i in positions} if found.takes(len(call.arguments)) else set()
    common = _joined(tuple(call.arguments[i] for i in positions))
    return taken.pop() if common is None and len(taken) == 1 and "any" not in taken else common


def _joined(nodes: tuple[Expression, ...]) -> str | None:
    types = {static_type(n) for n in nodes}
    if len(types) == 1:
        return types.pop()
    return "number" if None not in types and types <= _NUMBERS else None


def _fits(given: str | None, wanted: str) -> bool:
    """Whether a value of type `given` (`None`: unknown) can be an argument of type `wanted`."""
    if given is None or wanted in ("any", given):
        return True
    if wanted == "collection":
        return given in ("list", "set")
    if wanted in ("double", "number"):
        return given in _NUMBERS
    return wanted == "int" and given == "number"


def article(kind: str) -> str:
    """Type name with its article."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _misfit(call: Call, position: int, wanted: str, given: str, found: Signature, findings: Findings) -> None:
    argument = call.arguments[position]
    taken = {"collection": "a string, a list or a set"}.get(wanted, article(wanted))
    findings.add(
        "E123",
        f"`{call.function}` takes {taken} as argument {position + 1}, and `{argument}` is {article(given)}",
        argument.span,
        note=f"the function is {_call_form(call.function, found)}",
        hint=_cast(argument, wanted, given),
    )


def _cast(argument: Expression, wanted: str, given: str) -> str | None:
    casts = {"int", "double", "string", "boolean", "date"}
    if wanted == "int" and given == "double":
        return f"write `floor({argument})` or `round({argument})`"
    return f"write `as_{wanted}({argument})`" if wanted in casts and given in casts else None


def _unknown(call: Call, findings: Findings) -> None:
    name = call.function
    library, _, base = name.rpartition(":")
    if library and library not in LIBRARIES:
        findings.add(
            "E202",
            f"library functions (`{library}:`) are not supported by this version",
            call.span,
            note="the libraries are " + ", ".join(f"{name}:" for name in sorted(LIBRARIES)),
            hint=meant(library, LIBRARIES, f"`{{}}:{base}`"),
        )
    elif name in AGGREGATES:
        findings.add(
            "E112",
            f"`{name}` takes one expression and its contributors",
            call.span,
            hint=f"write `{_as_aggregate(call)}`",
        )
    else:
        words = frozenset(BUILT_IN) if library else known() | AGGREGATES
        findings.add(
            "E108",
            f"there is no function `{name}`",
            call.span,
            note="an expression holds no predicates",
            hint=meant(base, words, f"`{library}:{{}}`" if library else "`{}`")
            or "functions of your own are written in Python, under @kgreason.function, and given by "
            "--functions FILE.py",
        )


def _check_operands(node: Unary | Binary, findings: Findings) -> bool:
    known = [(n, t) for n in children(node) if (t := static_type(n)) is not None and t != "boolean"]
    mixed = len({_family(t) for _, t in known}) > 1
    verb = f"takes {article(known[0][1])} here" if mixed else ""
    if node.operator in "-*/%":
        wrong = [(n, t) for n, t in known if _family(t) != "number"]
        rule, verb = "arithmetic is for numbers; `+` joins strings and lists as well", "takes numbers"
    elif node.operator == "+":
        wrong = [(n, t) for n, t in known if t in ("date", "set")]
        rule = "`+` adds two numbers, or joins two strings or two lists"
        verb = "takes no dates or sets" if wrong else verb
    elif node.operator in ORDERS:
        wrong, rule = [], "an order is within one type; integers and doubles compare"
    else:
        return True
    wrong = wrong or (known[1:] if mixed else [])
    for operand, kind in wrong[:1]:
        others = [family for _, t in known if (family := _family(t)) != kind]
        findings.add(
            "E124",
            f"`{node.operator}` {verb}, and `{operand}` is {article(kind)}",
            operand.span,
            note=rule,
            hint=_operand_hint(operand, kind, others, node.operator),
        )
    return not wrong


def _family(kind: str) -> str:
    return "number" if kind in ("int", "double") else kind


def _operand_hint(culprit: Expression, kind: str, others: list[str], operator: str) -> str | None:
    if operator == "-" and kind == "date":
        return "write `diff(A, B)` for the days from B to A"
    if "string" in others and kind not in ("list", "set"):
        return f"write `as_string({culprit})`"
    if kind == "string" and (operator in "-*/%" or "number" in others):
        return f"write `as_int({culprit})` or `as_double({culprit})`"
    return None


def _check_membership(node: Binary, findings: Findings) -> bool:
    given = static_type(node.right)
    if _fits(given, "collection"):
        return True
    findings.add(
        "E123",
        f"`{node.operator}` takes a list or a set, and `{node.right}` is {article(str(given))}",
        node.right.span,
        note="`X in [1, 2]` and `X in {1, 2}` test whether X is one of the elements",
        hint=f"write `{node.left} {'==' if node.operator == 'in' else '!='} {node.right}`",
    )
    return False
