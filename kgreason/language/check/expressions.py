"""Expressions: traversal, rewriting, and what this version supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from kgreason.base.errors import Findings
from kgreason.language.check.call_types import check_call, check_membership, check_operands, static_type
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
from kgreason.language.vocabulary import ARITHMETIC, LOGIC, MEMBERSHIP

T = TypeVar("T")


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
                fine &= check_call(part, findings)
            case Binary() if part.operator in MEMBERSHIP:
                fine &= check_membership(part, findings)
            case Unary() | Binary():
                fine &= check_operands(part, findings)
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
