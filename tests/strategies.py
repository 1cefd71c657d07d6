"""Random safe and stratified programs together with data, built as syntax trees.

Every program ends: values that a recursion computes are bounded by conditions, and values under a key (those
of monotonic aggregates) are used in their own stratum only in ways that a better value cannot undo. Without
that the answer would depend on the order of evaluation, and there would be nothing to compare.

Positions have one of six kinds: ``n`` integer >= 0, ``i`` integer, ``w`` double >= 0, ``d`` double, ``s``
string, ``b`` boolean. Doubles of the data are multiples of 1/8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from kgreason.lang.ast import (
    Aggregate,
    Atom,
    Binary,
    BodyItem,
    Clause,
    Condition,
    Constant,
    Equation,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Term,
    Unary,
    Value,
    Variable,
)

Draw = Any
Row = tuple[Value, ...]
FAMILY = {"n": "int", "i": "int", "w": "double", "d": "double", "s": "string", "b": "bool"}
STRINGS = ["a", "b", 'q"\\', "é\n", ""]
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "n": st.integers(0, 4),
    "i": st.integers(-3, 4),
    "w": st.integers(0, 12).map(lambda k: k / 8),
    "d": st.integers(-8, 12).map(lambda k: k / 8),
    "s": st.sampled_from(STRINGS),
    "b": st.booleans(),
}
GREATEST = ["msum", "mprod", "mcount", "mmax"]
STRATIFIED = ["sum", "prod", "count", "min", "max", "avg", "median"]
BOUND = 9


@dataclass(frozen=True)
class Signature:
    """A predicate; `keep` and `position` are set where one value per key is final.

    It `copies` where no rule of its own aggregates: its values come from other keyed predicates.
    """

    name: str
    kinds: tuple[str, ...]
    keep: str | None = None
    position: int = -1
    copies: bool = False


@dataclass(frozen=True)
class Case:
    """A program and the rows of its input predicates."""

    program: Program
    facts: dict[str, list[Row]]

    @property
    def text(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        return f"{self.text}{self.facts}"


@dataclass
class _Scope:
    """What one rule has bound so far."""

    draw: Draw
    body: list[BodyItem] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """Values under a key of this very stratum, with what is kept of them."""
    assigned: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    """Variables that hold values of the data."""
    fallible: bool = False
    """Whether a division by zero may happen: only where no condition could come before or after it."""
    fresh: int = 0

    def new(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix.upper()}{self.fresh}"

    def bound(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def like(self, kind: str) -> list[str]:
        return [name for name, k in self.kinds.items() if FAMILY[k] == FAMILY[kind]]


def chance(draw: Draw, percent: int) -> bool:
    return bool(draw(st.integers(0, 99)) >= 100 - percent)  # shrinks to no


def wider(kind: str) -> tuple[str, ...]:
    """Kinds whose variables may stand where `kind` is asked for."""
    return {"i": ("i", "n"), "d": ("d", "w", "i", "n"), "w": ("w", "n")}.get(kind, (kind,))


@st.composite
def signatures(draw: Draw, name: str) -> Signature:
    arity = draw(st.sampled_from([1, 2, 2, 3, 3, 0]))
    return Signature(name, tuple(draw(st.sampled_from("iiinnwwddsb")) for _ in range(arity)))


@st.composite
def rows(draw: Draw, signature: Signature, most: int = 8) -> list[Row]:
    """Rows of a predicate; a column of doubles may hold some integers."""
    cells = [VALUES[k] if k not in "wd" or not chance(draw, 10) else VALUES["n"] for k in signature.kinds]
    least = 0 if chance(draw, 10) else min(most, 4)
    sizes = {"min_size": least, "max_size": most} if cells else {"min_size": 1, "max_size": 1}
    return draw(st.lists(st.tuples(*cells), **sizes))  # type: ignore[no-any-return]


# --- bodies -------------------------------------------------------------------------------------------------


def _argument(scope: _Scope, kind: str) -> Term:
    draw, known = scope.draw, scope.like(kind)
    choice = draw(st.integers(0, 19))
    if choice <= 6 and known:
        return Variable(draw(st.sampled_from(known)))
    if choice == 7:
        return Constant(draw(VALUES[kind]))
    if choice <= 9:
        return Variable(f"_{scope.new('')}")
    name = scope.new(kind)
    scope.kinds[name] = kind
    return Variable(name)


def _positive(scope: _Scope, signature: Signature, same_stratum: bool) -> None:
    before = set(scope.kinds)
    terms: list[Term] = []
    for i, kind in enumerate(signature.kinds):
        if same_stratum and i == signature.position:
            name = scope.new("k")
            scope.values[name] = signature.keep or ""
            terms.append(Variable(name))
        else:
            terms.append(_argument(scope, kind))
    scope.body.append(Atom(signature.name, tuple(terms)))
    if signature.name.startswith("e"):
        scope.given |= scope.kinds.keys() - before


def _negative(scope: _Scope, signature: Signature) -> None:
    """A variable that no other item binds is existential; it may occur twice in the atom."""
    draw = scope.draw
    terms: list[Term] = []
    existential: dict[str, str] = {}
    for kind in signature.kinds:
        family = FAMILY[kind]
        choice, known = draw(st.integers(0, 9)), scope.like(kind)
        if choice <= 5 and known:
            terms.append(Variable(draw(st.sampled_from(known))))
        elif choice == 6:
            terms.append(Constant(draw(VALUES[kind])))
        elif choice == 7:
            terms.append(Variable(f"_{scope.new('')}"))
        else:
            terms.append(Variable(existential.setdefault(family, scope.new("e"))))
    scope.body.append(Negation(Atom(signature.name, tuple(terms))))


def _condition(scope: _Scope) -> None:
    draw = scope.draw
    left = draw(st.sampled_from(sorted(scope.kinds)))
    kind = scope.kinds[left]
    right: Expression = Constant(draw(VALUES[kind]))
    numeric = FAMILY[kind] in ("int", "double")
    others = [n for k in ("i", "d") for n in scope.like(k)] if numeric else scope.like(kind)
    if chance(draw, 60):
        right = Variable(draw(st.sampled_from(sorted(others))))
    operators = ["!=", "=="] if kind == "b" else ["!=", "<", "<=", ">", ">=", "=="]
    operator = draw(st.sampled_from(operators))
    if operator == "==" and left not in scope.assigned and chance(draw, 30):
        scope.body.append(Equation(Variable(left), right))
        return
    test: Expression = Binary(operator, Variable(left), right)
    if kind == "b" and chance(draw, 50):
        test = Variable(left) if chance(draw, 50) else Unary("!", Variable(left))
    elif chance(draw, 25):
        other = Binary(draw(st.sampled_from(["==", "!="])), Variable(left), Constant(draw(VALUES[kind])))
        test = Binary(draw(st.sampled_from(["&&", "||"])), test, other)
        if chance(draw, 30):
            test = Unary("!", test)
    elif kind in "in" and chance(draw, 10):  # the right side must not be computed where the left decides
        quotient = Binary("/", Constant(4), Variable(left))
        test = Binary("&&", Binary("!=", Variable(left), Constant(0)), Binary("<", quotient, Constant(2)))
    scope.body.append(Condition(test))


def _operand(scope: _Scope, *kinds: str) -> Expression:
    names = scope.bound(*kinds)
    if names and chance(scope.draw, 80):
        return Variable(scope.draw(st.sampled_from(names)))
    return Constant(scope.draw(VALUES[kinds[0]]))


def _expression(scope: _Scope, kinds: str) -> Expression:
    """Arithmetic over bound variables."""
    draw = scope.draw
    left, right = _operand(scope, *kinds), _operand(scope, *kinds)
    operator = draw(st.sampled_from(["+", "-", "*", "/", "%", "u"]))
    if operator == "u":
        return Unary("-", left) if isinstance(left, Variable) else left
    if operator in "/%" and not scope.fallible:
        right = Constant(draw(st.sampled_from([-3, -2, 2, 3] if kinds == "in" else [-2.0, 0.5, 2.0, 3.0])))
    result: Expression = Binary(operator, left, right)
    if chance(draw, 25):
        result = Binary(draw(st.sampled_from(["+", "-", "*"])), result, _operand(scope, *kinds))
    return result


def _assignment(scope: _Scope, recursive: bool) -> None:
    draw = scope.draw
    if scope.bound("s") and not recursive and chance(draw, 40):
        name = scope.new("s")
        scope.body.append(Equation(Variable(name), Binary("+", _operand(scope, "s"), _operand(scope, "s"))))
        scope.kinds[name] = "s"
        scope.assigned.add(name)
        return
    double = chance(draw, 40)
    if double and recursive:  # shifted by a constant and bounded: finitely many values
        shift = Binary(draw(st.sampled_from("+-")), _operand(scope, "d", "w"), Constant(draw(VALUES["w"])))
        expression: Expression = shift
    else:
        expression = _expression(scope, "dwin" if double else "in")
    name = scope.new("d" if double else "i")
    scope.body.append(Equation(Variable(name), expression))
    if recursive:
        scope.body.append(Condition(Binary(">=", Variable(name), Constant(-BOUND))))
        scope.body.append(Condition(Binary("<=", Variable(name), Constant(BOUND))))
    scope.kinds[name] = "d" if double else "i"
    scope.assigned.add(name)


def _monotone_condition(scope: _Scope, name: str, keep: str) -> None:
    operators = [">", ">="] if keep == "greatest" else ["<", "<="]
    limit = Constant(scope.draw(st.integers(0, 4)))
    scope.body.append(Condition(Binary(scope.draw(st.sampled_from(operators)), Variable(name), limit)))


# --- aggregates and heads -----------------------------------------------------------------------------------


def _contributors(scope: _Scope) -> tuple[Variable, ...] | None:
    if not scope.kinds or chance(scope.draw, 35):
        return None
    names = scope.draw(st.lists(st.sampled_from(sorted(scope.kinds)), min_size=1, max_size=2, unique=True))
    return tuple(map(Variable, names))


def _product(scope: _Scope, function: str, recursive: bool) -> Aggregate:
    """A product that is exact in any order: powers of two, or at most eight short factors."""
    factors = [n for n in sorted(scope.given) if scope.kinds[n] in ("nw" if recursive else "nwid")]
    few = [n for n in sorted(scope.given) if scope.kinds[n] in "nisb"]
    if not factors or not few or chance(scope.draw, 30):
        return Aggregate(function, Constant(2), _contributors(scope))
    factor: Expression = Variable(scope.draw(st.sampled_from(factors)))
    if recursive:
        factor = Binary("+", factor, Constant(1))
    return Aggregate(function, factor, (Variable(scope.draw(st.sampled_from(few))),))


def _aggregate(scope: _Scope, function: str, recursive: bool) -> Aggregate:
    draw = scope.draw
    if function.endswith("prod"):
        return _product(scope, function, recursive)
    if function.endswith("count"):
        form = draw(st.integers(0, 3))
        if form == 0:
            return Aggregate(function, None, None)
        if form == 1 and scope.kinds:
            return Aggregate(function, Variable(draw(st.sampled_from(sorted(scope.kinds)))), None)
        return Aggregate(function, Constant(1), _contributors(scope))
    own = [n for n, keep in scope.values.items() if keep == ("least" if function == "mmin" else "greatest")]
    argument: Expression
    if recursive and function in ("mmin", "mmax") and own and chance(draw, 80):
        argument = Variable(draw(st.sampled_from(own)))
        if function == "mmin" and chance(draw, 70):
            argument = Binary("+", argument, _operand(scope, "w", "n"))
    elif recursive:
        argument = _operand(scope, "w", "n") if chance(draw, 50) else _operand(scope, "n")
    elif chance(draw, 30):
        argument = _expression(scope, draw(st.sampled_from(["in", "dwin"])))
    else:
        argument = _operand(scope, *draw(st.sampled_from(["in", "dw"])))
    return Aggregate(function, argument, _contributors(scope))


def _head(scope: _Scope, signature: Signature, at: int, value: Term | None) -> Atom:
    """The head; `value` stands at position `at`, bound variables or constants elsewhere."""
    terms: list[Term] = []
    for i, kind in enumerate(signature.kinds):
        names = scope.bound(*wider(kind))
        if i == at and value is not None:
            terms.append(value)
        elif names and not chance(scope.draw, 8):
            terms.append(Variable(scope.draw(st.sampled_from(names))))
        else:
            terms.append(Constant(scope.draw(VALUES[kind])))
    return Atom(signature.name, tuple(terms))


def _aggregated_rule(scope: _Scope, head: Signature, recursive: bool) -> Atom:
    draw = scope.draw
    if head.keep is not None:
        function, at = draw(st.sampled_from(["mmin"] if head.keep == "least" else GREATEST)), head.position
    else:
        numeric = [i for i, k in enumerate(head.kinds) if k in "id"]
        at = draw(st.sampled_from(numeric)) if numeric and not recursive else -1
        function = draw(st.sampled_from(STRATIFIED if at >= 0 else [*GREATEST, "mmin"]))
    aggregate = _aggregate(scope, function, recursive)
    name = scope.new("a")
    atom = _head(scope, head, at, Variable(name))
    scope.body.append(Equation(Variable(name), aggregate))
    if at < 0 or chance(draw, 30):
        if recursive:
            _monotone_condition(scope, name, "least" if function == "mmin" else "greatest")
        else:
            operator = draw(st.sampled_from(["<", ">=", "!="]))
            scope.body.append(Condition(Binary(operator, Variable(name), Constant(draw(VALUES["i"])))))
    return atom


@st.composite
def rules(
    draw: Draw, head: Signature, lower: Sequence[Signature], stratum: Sequence[Signature], recursive: bool
) -> Rule:
    """One rule for `head` over predicates of lower strata and, in a recursive stratum, of its own."""
    scope = _Scope(draw, fallible=chance(draw, 5))
    for _ in range(draw(st.integers(1, 3))):
        inner = recursive and chance(draw, 45)
        _positive(scope, draw(st.sampled_from(list(stratum if inner else lower))), inner)
    for name, keep in scope.values.items():
        if not scope.fallible and chance(draw, 25):
            _monotone_condition(scope, name, keep)
    if chance(draw, 35):
        _assignment(scope, recursive)
    if chance(draw, 25):
        _negative(scope, draw(st.sampled_from(list(lower))))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2])) if scope.kinds and not scope.fallible else 0):
        _condition(scope)
    if not head.copies and chance(draw, 60 if head.keep else 25):
        atoms = [_aggregated_rule(scope, head, recursive)]
    else:
        own = [n for n, keep in scope.values.items() if keep == head.keep]
        value = Variable(draw(st.sampled_from(own))) if own and chance(draw, 70) else None
        atoms = [_head(scope, head, head.position, value)]
        second = draw(st.sampled_from(list(stratum)))
        if second.keep is None and chance(draw, 10):
            atoms.append(_head(scope, second, -1, None))
    return Rule(tuple(atoms), tuple(draw(st.permutations(scope.body))))


@st.composite
def _stratum(draw: Draw, number: int) -> list[Signature]:
    result = []
    for i in range(draw(st.integers(1, 2))):
        name = f"p{number}{'ab'[i]}"
        signature = draw(signatures(name))
        if chance(draw, 40):
            keep = draw(st.sampled_from(["greatest", "least"]))
            signature = _keyed(draw, signature, keep)
        result.append(signature)
    keeps = [s.keep for s in result if s.keep]
    if keeps and chance(draw, 40):
        copies = _keyed(draw, draw(signatures(f"p{number}c")), draw(st.sampled_from(keeps)))
        result.append(replace(copies, copies=True))
    return result


def _keyed(draw: Draw, signature: Signature, keep: str) -> Signature:
    """The signature with a further position, which holds the value."""
    key = signature.kinds[:2]
    at = draw(st.integers(0, len(key)))
    return Signature(signature.name, (*key[:at], draw(st.sampled_from("id")), *key[at:]), keep, at)


@st.composite
def cases(draw: Draw, strata: int = 3) -> Case:
    """A random program with data for its input predicates and some facts in the text."""
    base = [draw(signatures(f"e{i}")) for i in range(draw(st.integers(1, 3)))]
    base.append(Signature("e", draw(st.sampled_from([("i", "i"), ("n", "n", "w"), ("s", "s", "d")]))))
    known, clauses = list(base), list[Clause]()
    for number in range(draw(st.integers(1, strata))):
        stratum, recursive = draw(_stratum(number)), chance(draw, 60)
        for head in stratum:
            for _ in range(draw(st.integers(1, 3))):
                clauses.append(draw(rules(head, known, stratum, recursive)))
        known += stratum
    for signature in known:
        if chance(draw, 25):
            clauses += [
                Fact(Atom(signature.name, tuple(map(Constant, row)))) for row in draw(rows(signature, 2))
            ]
    facts = {s.name: draw(rows(s)) for s in known if s in base or chance(draw, 10)}
    for name in [n for n, given_rows in facts.items() if not given_rows and chance(draw, 50)]:
        del facts[name]  # a predicate without a table
    return Case(Program(tuple(clauses)), facts)
