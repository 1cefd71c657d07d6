"""What expressions refer to, and whether they are of this version."""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.analysis.findings import Findings
from kgreason.lang.ast import (
    Aggregate,
    Binary,
    Call,
    Constant,
    Expression,
    Unary,
    Unsupported,
    Variable,
)
from kgreason.lang.names import AGGREGATES, FUNCTIONS, suggest

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
ORDERS = frozenset({"<", "<=", ">", ">="})
ARITHMETIC = frozenset("+-*/%")
_LOGIC = frozenset({"&&", "||"})


def walk(node: Expression) -> Iterator[Expression]:
    """The node and all below it, left to right."""
    yield node
    match node:
        case Unary():
            yield from walk(node.operand)
        case Binary():
            yield from walk(node.left)
            yield from walk(node.right)
        case Call():
            for argument in node.arguments:
                yield from walk(argument)
        case Aggregate():
            if node.argument is not None:
                yield from walk(node.argument)
            yield from node.contributors or ()


def variables(node: Expression) -> tuple[Variable, ...]:
    """Occurrences of variables, left to right."""
    return tuple(n for n in walk(node) if isinstance(n, Variable))


def names(node: Expression) -> frozenset[str]:
    """Names of the variables."""
    return frozenset(v.name for v in variables(node))


def supported(node: Expression, findings: Findings) -> bool:
    """Whether this version runs the expression; says why not."""
    fine = True
    for part in walk(node):
        match part:
            case Unsupported():
                findings.add(
                    "E203",
                    f"{part.feature}: `{_short(part.text)}` is not supported by this version",
                    part.span,
                    note="terms are integers, doubles, strings, booleans and variables",
                )
                fine = False
            case Call():
                _refuse_call(part, findings)
                fine = False
            case Binary() if part.operator in ("in", "!in"):
                findings.add(
                    "E203",
                    f"the operator `{part.operator}` is not supported by this version",
                    part.span,
                    hint="make the values facts, `allowed(1). allowed(2).`, and test `allowed(X)`",
                )
                fine = False
    return fine


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


def _refuse_call(call: Call, findings: Findings) -> None:
    name = call.function
    if name in FUNCTIONS:
        findings.add("E202", f"the function `{name}` is not supported by this version", call.span)
    elif ":" in name:
        library = name.split(":")[0]
        findings.add("E202", f"library functions (`{library}:`) are not supported by this version", call.span)
    elif name in AGGREGATES:
        findings.add(
            "E112",
            f"`{name}` takes one expression and its contributors",
            call.span,
            hint=f"write `{name}(X, <C>)`",
        )
    else:
        closest = suggest(name, FUNCTIONS | AGGREGATES)
        findings.add(
            "E108",
            f"there is no function `{name}`",
            call.span,
            note="a predicate cannot stand inside of an expression",
            hint=f"did you mean `{closest}`?" if closest else None,
        )


def boolean(node: Expression) -> bool | None:
    """Whether the value is a boolean; `None` where only the data tells."""
    match node:
        case Variable():
            return None
        case Constant():
            return isinstance(node.value, bool)
        case Unary():
            return node.operator == "!"
        case Binary():
            return node.operator in COMPARISONS or node.operator in _LOGIC
        case _:
            return None


def well_formed(node: Expression, findings: Findings) -> bool:
    """Whether booleans and other values stand where they belong, as far as the text tells."""
    fine = True
    for part in walk(node):
        if isinstance(part, Unary | Binary):
            wanted = part.operator in _LOGIC or part.operator == "!"
            operands = (part.operand,) if isinstance(part, Unary) else (part.left, part.right)
            if part.operator in ("==", "!="):
                continue
            for operand in operands:
                if boolean(operand) is (not wanted):
                    _clash(operand, part.operator, wanted, findings)
                    fine = False
    return fine


def _clash(operand: Expression, operator: str, wanted: bool, findings: Findings) -> None:
    kind = "a condition" if wanted else "a value"
    findings.add(
        "E107",
        f"`{operator}` takes {kind}, and `{operand}` is none",
        operand.span,
        note="conditions are comparisons and booleans, joined by `&&`, `||` and `!`",
        hint="inside of an expression, equality is written `==`"
        if wanted
        else "put the comparison elsewhere",
    )
