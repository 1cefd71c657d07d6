"""Depth of a clause, found without recursion: deeper ones would exhaust the stack of the walks over them."""

from __future__ import annotations

from kgreason.lang.ast import (
    Aggregate,
    Atom,
    Binary,
    BodyItem,
    Call,
    Clause,
    Collection,
    Condition,
    Constraint,
    Equality,
    Equation,
    Expression,
    Fact,
    Negation,
    Rule,
    Skolem,
    Unary,
)


def deeper(clause: Clause, limit: int) -> Expression | None:
    """The first expression of a clause that is nested more than so many levels deep.

    Examples
    --------
    >>> from kgreason.lang.parser import parse
    >>> (rule,) = parse("p(X) :- q(Y), X = -(Y + [1]).").clauses
    >>> print(deeper(rule, 3), deeper(rule, 4))
    -(Y + [1]) None
    """
    expressions = (e for item in _items(clause) for e in _expressions(item))
    return next((e for e in expressions if _deep(e, limit)), None)


def _deep(node: Expression, limit: int) -> bool:
    depth, level = 0, [node]
    while level and depth <= limit:
        depth += 1
        level = [child for node in level for child in _children(node)]
    return depth > limit


def _items(clause: Clause) -> tuple[BodyItem, ...]:
    match clause:
        case Rule():
            return (*clause.head, *clause.body)
        case Equality() | Constraint():
            return clause.body
        case Fact():
            return (clause.atom,)
        case _:
            return ()


def _expressions(item: BodyItem) -> tuple[Expression, ...]:
    match item:
        case Atom():
            return item.arguments
        case Negation():
            return item.atom.arguments
        case Equation():
            return (item.left, item.right)
        case Condition():
            return (item.expression,)


def _children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Call() | Skolem():
            return node.arguments
        case Collection():
            return node.elements
        case Aggregate():
            return () if node.argument is None else (node.argument,)
        case _:
            return ()
