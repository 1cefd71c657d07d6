"""Hypothesis strategies: syntax trees of any program, and text that is near to one."""

from __future__ import annotations

from datetime import datetime

from hypothesis import strategies as st

from kgreason.language.syntax.syntax_tree import (
    Aggregate,
    Annotation,
    Atom,
    Binary,
    BodyItem,
    Call,
    Clause,
    Collection,
    Condition,
    Constant,
    Constraint,
    Equality,
    Equation,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Skolem,
    Unary,
    Variable,
)

NAMES = st.sampled_from(["p", "own", "msum", "in", "aB_1"])
VARIABLES = st.builds(Variable, st.sampled_from(["X", "Y", "Total_1"]))
STRINGS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ['"', "\\", "${x}", "$", "%", "a\nb", '""', "% X.", "a. % b\n"]
)
CONSTANTS = st.builds(
    Constant,
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.datetimes()
    | st.datetimes().map(lambda d: datetime(d.year, d.month, d.day))
    | STRINGS,
)
TERMS = VARIABLES | CONSTANTS


def _binary(operator: str, left: Expression, right: Expression) -> Expression:
    """Beside other things than numbers, variables and brackets, ``%`` would start a comment."""
    odd = operator == "%" and any(
        isinstance(side, Collection | Skolem)
        or (isinstance(side, Unary) and not isinstance(side.operand, Variable | Binary))
        or (isinstance(side, Constant) and type(side.value) not in (int, float))
        for side in (left, right)
    )
    return Binary("-" if odd else operator, left, right)


def _minus(operand: Expression) -> Expression:
    """Minus and a number make a number."""
    number = isinstance(operand, Constant) and type(operand.value) in (int, float)
    return operand if number else Unary("-", operand)


def _larger(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    operators = st.sampled_from(
        ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in", "!in"]
    )
    several = st.lists(smaller, max_size=3).map(tuple)
    functions = st.sampled_from(["if", "contains", "math:abs", "type:as_int", "llm:f"])
    return (
        st.builds(_binary, operators, smaller, smaller)
        | st.builds(_minus, smaller)
        | st.builds(Unary, st.just("!"), smaller)
        | st.builds(Collection, st.sampled_from(["list", "set"]), several)
        | st.builds(Skolem, st.sampled_from(["f", "t", "newId_1"]), several)
        | st.builds(Call, functions, several)
    )


_RECURSIVE = st.recursive(TERMS, _larger, max_leaves=8)


@st.composite  # these two keep what hypothesis prints of the strategies short
def _expressions(draw: st.DrawFn) -> Expression:
    return draw(_RECURSIVE)


@st.composite
def _items(draw: st.DrawFn) -> BodyItem:
    return draw(ITEMS)


def _condition(expression: Expression) -> BodyItem:
    if isinstance(expression, Call):
        return Atom(expression.function, expression.arguments)
    return Condition(expression)


def _atom(predicate: str, arguments: tuple[Expression, ...]) -> Atom:
    """The name of an aggregate before lists begins its older form, ``msum(X, [Y])``."""
    lists = len(arguments) > 1 and all(isinstance(a, Collection) for a in arguments[1:])
    return Atom("p" if lists else predicate, arguments)


EXPRESSIONS = _expressions()
ATOMS = st.builds(_atom, NAMES, st.lists(TERMS | EXPRESSIONS, max_size=3).map(tuple))
AGGREGATES = st.builds(
    Aggregate,
    st.sampled_from(["msum", "min", "avg", "munion", "list"]),
    st.none() | EXPRESSIONS,
    st.none() | st.lists(VARIABLES, min_size=1, max_size=2).map(tuple),
)
ITEMS = (
    ATOMS
    | st.builds(Negation, ATOMS)
    | st.builds(Equation, EXPRESSIONS, EXPRESSIONS | AGGREGATES)
    | EXPRESSIONS.map(_condition)
)
BODIES = st.lists(_items(), min_size=1, max_size=4).map(tuple)
HEADS = st.lists(ATOMS, min_size=1, max_size=2).map(tuple)


@st.composite
def _labelled(draw: st.DrawFn) -> tuple[Clause, ...]:
    text = draw(STRINGS)
    weight = draw(st.none() | st.floats(0, 1) | st.integers(0, 1))
    if weight is not None:
        rule = st.builds(Rule, HEADS, BODIES, label=st.just(text), weight=st.just(float(weight)))
        return (Annotation("label", (Constant(text), Constant(weight))), draw(rule))
    rules = (
        st.builds(Rule, HEADS, BODIES, label=st.just(text))
        | st.builds(Equality, VARIABLES, VARIABLES, BODIES, label=st.just(text))
        | st.builds(Constraint, BODIES, label=st.just(text))
    )
    return (Annotation("label", (Constant(text),)), draw(rules))


CLAUSES = (
    st.builds(Fact, ATOMS)
    | st.builds(Rule, HEADS, BODIES)
    | st.builds(Equality, VARIABLES, VARIABLES, BODIES)
    | st.builds(Constraint, BODIES)
    | st.builds(
        Annotation, st.sampled_from(["output", "mapping"]), st.lists(CONSTANTS, max_size=3).map(tuple)
    )
)
PROGRAMS = st.lists(CLAUSES.map(lambda c: (c,)) | _labelled(), max_size=4).map(
    lambda groups: Program(tuple(clause for group in groups for clause in group))
)

_WORDS = "${ :- <- not in 0. #F #f( 2024-02-30 2024-02-29 %% @label msum( {1, in( 1e9 math: \x00 \ud800 é \n"
PIECES = st.sampled_from([*'pX_()[]{}<>,.;:-=!&|+*/%@#$"\\1 ', *_WORDS.split(" ")])
"""Pieces of text that mean something, or all but."""
