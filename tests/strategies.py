"""Random safe and stratified programs together with data, built as syntax trees.

Every program ends: values that a recursion computes are bounded by conditions, and values under a key (those
of monotonic aggregates) are used in their own stratum only in ways that a better value cannot undo. Without
that the answer would depend on the order of evaluation, and there would be nothing to compare.

Positions have one of these kinds: ``n`` integer >= 0, ``i`` integer, ``w`` double >= 0, ``d`` double, ``s``
string, ``b`` boolean. Doubles of the data are multiples of 1/8. Programs of the whole language have ``t`` dates, ``l``
lists and ``z`` sets of small integers as well, and positions that can hold nulls: ``u`` beside strings, ``v``
beside integers. Nulls are invented outside of recursion only, so that none is nested in one of its own function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from kgreason.language.syntax.syntax_tree import (
    Aggregate,
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
    Term,
    Unary,
    Variable,
)
from kgreason.language.values import Null, Value

Draw = Any
Row = tuple[Value, ...]
FAMILY = {"n": "int", "i": "int", "w": "double", "d": "double", "s": "string", "b": "bool"}
FAMILY |= {"t": "date", "l": "list", "z": "set", "u": "string or null", "v": "int or null"}
PLAIN, WHOLE = "iiinnwwddsb", "iinwdssbtlzuuv"
DATES = [datetime(2024, 2, 28), datetime(2024, 2, 29, 12), datetime(2024, 3, 1), datetime(1999, 12, 31)]
STRINGS = ["a", "b", 'q"\\', "é\n", ""]
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "n": st.integers(0, 4),
    "i": st.integers(-3, 4),
    "w": st.integers(0, 12).map(lambda k: k / 8),
    "d": st.integers(-8, 12).map(lambda k: k / 8),
    "s": st.sampled_from(STRINGS),
    "b": st.booleans(),
    "t": st.sampled_from(DATES),
    "l": st.lists(st.integers(0, 2), max_size=2).map(tuple),
    "z": st.frozensets(st.integers(0, 2), max_size=2),
    "u": st.sampled_from(STRINGS[:2]),
    "v": st.integers(0, 2),
}
CELLS = VALUES | {  # what the data hold
    "u": VALUES["u"] | st.integers(1, 2).map(Null),
    "v": VALUES["v"] | st.integers(1, 3).map(Null),
}
GREATEST = ["msum", "mprod", "mcount", "mmax"]
STRATIFIED = ["sum", "prod", "count", "min", "max", "avg", "median"]
BOUND = 9


@dataclass(frozen=True)
class Signature:
    """A predicate; `keep` and `position` are set where one value per key is final.

    `functions` are the aggregates that may stand at each position. It `copies` where no rule of its own
    aggregates: its values come from other keyed predicates.
    """

    name: str
    kinds: tuple[str, ...]
    functions: tuple[str, ...] = ()
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
    invents: str = ""
    """Where not empty, the head may hold new nulls: the name of their Skolem function."""

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
    wide = {
        "i": ("i", "n"),
        "d": ("d", "w", "i", "n"),
        "w": ("w", "n"),
        "u": ("u", "s"),
        "v": ("v", "i", "n"),
    }
    return wide.get(kind, (kind,))


@st.composite
def signatures(draw: Draw, name: str, kinds: str = PLAIN) -> Signature:
    arity = draw(st.sampled_from([1, 2, 2, 3, 3, 0]))
    return _signature(draw, name, [draw(st.sampled_from(kinds)) for _ in range(arity)])


def _signature(draw: Draw, name: str, kinds: Sequence[str]) -> Signature:
    collecting = {"l": ["list"], "z": ["set", "union"]}
    functions = [draw(st.sampled_from(collecting.get(kind, STRATIFIED))) for kind in kinds]
    return Signature(name, tuple(kinds), tuple(functions))


@st.composite
def rows(
    draw: Draw, signature: Signature, most: int = 8, values: dict[str, st.SearchStrategy[Value]] = CELLS
) -> list[Row]:
    """Rows of a predicate; a column of doubles may hold some integers."""
    cells = [values[k] if k not in "wd" or not chance(draw, 10) else VALUES["n"] for k in signature.kinds]
    least = 0 if chance(draw, 10) else min(most, 4)
    sizes = {"min_size": least, "max_size": most} if cells else {"min_size": 1, "max_size": 1}
    return draw(st.lists(st.tuples(*cells), **sizes))  # type: ignore[no-any-return]


# --- bodies -------------------------------------------------------------------------------------------------


def _argument(scope: _Scope, kind: str) -> Term:
    draw, known = scope.draw, [*scope.like(kind), *(scope.like("s") if kind == "u" else [])]
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
    if kind in "stlzuv" and chance(draw, 50):
        scope.body.append(Condition(_test(scope)))
        return
    operators = ["!=", "=="] if kind in "blz" else ["!=", "<", "<=", ">", ">=", "=="]
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


def _call(function: str, *arguments: Expression | Value) -> Call:
    given = (a if isinstance(a, Expression) else Constant(a) for a in arguments)
    return Call(function, tuple(given))


def _test(scope: _Scope) -> Expression:
    """A boolean of the functions that give one."""

    def some(*kinds: str) -> Expression:
        return _operand(scope, *kinds)

    tests: list[tuple[str, Callable[[], Expression]]] = [
        ("s", lambda: _call("contains", some("s"), some("s"))),
        ("s", lambda: _call("starts_with", some("s"), "a")),
        ("s", lambda: _call("rlike", some("s"), "^[ab]$")),
        ("s", lambda: Binary("!in", some("s"), Collection("list", (Constant("a"), some("s"))))),
        ("in", lambda: _call("between", some("i", "n"), 0, some("n"))),
        ("l", lambda: Binary("in", some("i", "n"), some("l"))),
        ("l", lambda: Binary("==", some("l"), Collection("list", (some("n"), some("n"))))),
        ("z", lambda: _call("contains", some("z"), some("n", "w"))),
        ("z", lambda: Binary("!in", some("n"), some("z"))),
        ("t", lambda: Binary("<", some("t"), some("t"))),
        ("t", lambda: Binary("==", _call("year", some("t")), Constant(2024))),
        ("u", lambda: _call("is_null", some("u"))),
        ("u", lambda: Binary("<", some("u"), Constant("b"))),
        ("u", lambda: Binary("==", _call("coalesce", some("u"), "a"), some("u", "s"))),
        ("v", lambda: Unary("!", Binary("<", some("v"), some("v", "i")))),
        (
            "v",
            lambda: Binary(
                "&&", _call("is_not_null", v := some("v")), Binary(">", Binary("+", v, v), Constant(1))
            ),
        ),
    ]
    fitting = [make for kinds, make in tests if scope.bound(*kinds)]
    return scope.draw(st.sampled_from(fitting))() if fitting else Constant(True)  # type: ignore[no-any-return]


def _value_of(scope: _Scope, kind: str) -> Expression:
    """An expression with functions; outside of recursion, since it may make new values."""

    def some(*kinds: str) -> Expression:
        return _operand(scope, *kinds)

    values: dict[str, list[Callable[[], Expression]]] = {
        "i": [
            lambda: _call("string_length", some("s")),
            lambda: _call("index_of", some("s"), "a"),
            lambda: _call("abs", some("i", "n")),
            lambda: _call("max", some("i", "n"), some("i", "n"), 1),
            lambda: _call("diff", some("t"), some("t")),
            lambda: _call("day", some("t")),
            lambda: _call(scope.draw(st.sampled_from(["round", "floor", "ceil", "as_int"])), some("d", "w")),
            lambda: _call("as_int", _call("as_string", some("i", "n"))),
            lambda: _call("if", _test(scope), some("i", "n"), Binary("+", some("i", "n"), Constant(1))),
        ],
        "d": [
            lambda: _call("sqrt", some("w", "n")),
            lambda: _call("round", some("d", "w"), 1),
            lambda: _call("as_double", some("i", "n")),
            lambda: Binary("/", _call("min", some("d", "w"), some("i", "n")), Constant(2)),
            lambda: Binary("/", _call("if", _test(scope), some("d", "w"), some("i", "n")), Constant(2)),
        ],
        "s": [
            lambda: _call("substring", some("s"), 0, _call("as_int", some("n"))),
            lambda: _call("concat", some("s"), "-", some("s")),
            lambda: _call("to_upper", some("s")),
            lambda: _call("replace", some("s"), "a", some("s")),
            lambda: _call("as_string", some("i", "n")),
            lambda: _call("as_string", some("t")),
            lambda: _call("as_string", some("l")),
            lambda: _call("if", _test(scope), some("s"), some("s")),
        ],
        "t": [
            lambda: _call("if", _test(scope), some("t"), some("t")),
            lambda: _call("as_date", _call("as_string", some("t"))),
            lambda: _call("max", some("t"), some("t")),
        ],
        "l": [
            lambda: Collection("list", (some("n"), some("n"))),
            lambda: Binary("+", some("l"), some("l")),
            lambda: _call("if", _test(scope), some("l"), some("l")),
        ],
        "z": [lambda: Collection("set", (some("n"), some("n"), Constant(1)))],
        "u": [
            lambda: _call("coalesce", some("u"), some("u", "s")),
            lambda: _call("if", _test(scope), some("u", "s"), some("u")),
        ],
        "v": [lambda: _call("if", _call("is_null", v := some("v")), 0, Binary("+", v, Constant(1)))],
    }
    return scope.draw(st.sampled_from(values[kind]))()  # type: ignore[no-any-return]


def _computed(scope: _Scope) -> None:
    """Assign a value that functions compute."""
    kind = scope.draw(st.sampled_from("idstlzuv"))
    name = scope.new(kind)
    scope.body.append(Equation(Variable(name), _value_of(scope, kind)))
    scope.kinds[name] = kind
    scope.assigned.add(name)


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
    if keep == "union":
        scope.body.append(Condition(Binary("in", Constant(scope.draw(VALUES["n"])), Variable(name))))
        return
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


def _collecting(scope: _Scope, function: str) -> Aggregate:
    """A collection of small integers; a set counts as its elements only for a union."""
    own = [n for n, keep in scope.values.items() if keep == "union"]
    if function == "munion" and own and chance(scope.draw, 70):
        return Aggregate(function, Variable(scope.draw(st.sampled_from(own))), _contributors(scope))
    sets = scope.bound("z") if function in ("union", "munion") else []
    argument = Variable(scope.draw(st.sampled_from(sets))) if sets else _operand(scope, "n")
    return Aggregate(function, argument, _contributors(scope) if function in ("union", "munion") else None)


def _aggregate(scope: _Scope, function: str, recursive: bool) -> Aggregate:
    draw = scope.draw
    if function in ("set", "list", "union", "munion"):
        return _collecting(scope, function)
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


def _null(scope: _Scope) -> Expression:
    """An existential variable, perhaps one of another head, or a Skolem term."""
    draw = scope.draw
    if chance(draw, 30):
        bound = sorted(scope.kinds.keys() - scope.values.keys())
        names = draw(st.lists(st.sampled_from(bound), max_size=2)) if bound else []
        return Skolem(scope.invents, tuple(map(Variable, names)))
    return Variable(draw(st.sampled_from(["N", "M"])))


def _head(scope: _Scope, signature: Signature, at: int, value: Term | None) -> Atom:
    """The head; `value` stands at position `at`, bound variables or constants elsewhere."""
    terms: list[Expression] = []
    for i, kind in enumerate(signature.kinds):
        names = scope.bound(*wider(kind))
        if i == at and value is not None:
            terms.append(value)
        elif kind in "uv" and scope.invents and chance(scope.draw, 40):
            terms.append(_null(scope))
        elif names and not chance(scope.draw, 8):
            terms.append(Variable(scope.draw(st.sampled_from(names))))
        else:
            terms.append(Constant(scope.draw(VALUES[kind])))
    return Atom(signature.name, tuple(terms))


def _aggregated_rule(scope: _Scope, head: Signature, recursive: bool) -> Atom:
    draw = scope.draw
    collected = [i for i, k in enumerate(head.kinds) if k in "lz"]
    if head.keep is not None:
        function, at = head.functions[head.position], head.position
    elif collected and not recursive and chance(draw, 70):
        at = draw(st.sampled_from(collected))
        function = head.functions[at]
    else:
        numeric = [i for i, k in enumerate(head.kinds) if k in "id"]
        at = draw(st.sampled_from(numeric)) if numeric and not recursive else -1
        function = head.functions[at] if at >= 0 else draw(st.sampled_from([*GREATEST, "mmin"]))
    aggregate = _aggregate(scope, function, recursive)
    name = scope.new("a")
    atom = _head(scope, head, at, Variable(name))
    scope.body.append(Equation(Variable(name), aggregate))
    if function in ("set", "list", "union", "munion"):
        if chance(draw, 20):
            _monotone_condition(scope, name, "union")
    elif at < 0 or chance(draw, 30):
        if recursive:
            _monotone_condition(scope, name, "least" if function == "mmin" else "greatest")
        else:
            operator = draw(st.sampled_from(["<", ">=", "!="]))
            scope.body.append(Condition(Binary(operator, Variable(name), Constant(draw(VALUES["i"])))))
    return atom


@st.composite
def rules(
    draw: Draw,
    head: Signature,
    lower: Sequence[Signature],
    stratum: Sequence[Signature],
    recursive: bool,
    skolem: str = "",
) -> Rule:
    """One rule for `head` over predicates of lower strata and, in a recursive stratum, of its own."""
    scope = _Scope(draw, fallible=chance(draw, 5))
    if not recursive and head.keep is None:
        scope.invents = skolem
    for _ in range(draw(st.integers(1, 3))):
        inner = recursive and chance(draw, 45)
        _positive(scope, draw(st.sampled_from(list(stratum if inner else lower))), inner)
    for name, keep in scope.values.items():
        if not scope.fallible and chance(draw, 25):
            _monotone_condition(scope, name, keep)
    if chance(draw, 35):
        _assignment(scope, recursive)
    if skolem and not recursive and chance(draw, 60):
        _computed(scope)
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
def _stratum(draw: Draw, number: int, kinds: str) -> list[Signature]:
    result = []
    for i in range(draw(st.integers(1, 2))):
        name = f"p{number}{'ab'[i]}"
        signature = draw(signatures(name, kinds))
        if chance(draw, 40):
            keep = draw(st.sampled_from(["greatest", "least", *(["union"] if kinds == WHOLE else [])]))
            signature = _keyed(draw, signature, keep)
        result.append(signature)
    keeps = [s.keep for s in result if s.keep]
    if keeps and chance(draw, 40):
        copies = _keyed(draw, draw(signatures(f"p{number}c", kinds)), draw(st.sampled_from(keeps)))
        result.append(replace(copies, copies=True))
    return result


def _keyed(draw: Draw, signature: Signature, keep: str) -> Signature:
    """The signature with a further position, which holds the value."""
    key = signature.kinds[:2]
    at = draw(st.integers(0, len(key)))
    value = "z" if keep == "union" else draw(st.sampled_from("id"))
    function = draw(st.sampled_from({"least": ["mmin"], "greatest": GREATEST, "union": ["munion"]}[keep]))
    functions = signature.functions
    return Signature(
        signature.name,
        (*key[:at], value, *key[at:]),
        (*functions[:at], function, *functions[at:]),
        keep,
        at,
    )


def _dependency(draw: Draw, known: Sequence[Signature]) -> list[Clause]:
    """An equality of two values, one of them at a position that can hold nulls, or a constraint."""
    places = [(s, i) for s in known for i, k in enumerate(s.kinds) if k in "uv" and s.keep is None]
    if not places:
        return []
    signature, at = draw(st.sampled_from(places))
    same = draw(st.integers(0, len(signature.kinds) - 1))

    def atom(prefix: str, last: str, of: Signature = signature, key: int = same, place: int = at) -> Atom:
        names = [f"_{prefix}{i}" for i in range(len(of.kinds))]
        names[key], names[place] = "K", last
        return Atom(of.name, tuple(map(Variable, names)))

    if chance(draw, 40):
        unknown: Expression = Call("is_null", (Variable("X"),))
        value = Binary("==", Variable("X"), Constant(draw(VALUES[signature.kinds[at]])))
        return [Constraint((atom("a", "X"), Condition(unknown if chance(draw, 50) else value)))]
    if same == at:
        return []
    numbers = [  # a null of one predicate may become a number of another
        (other, key, place)
        for other in known
        for key, kind in enumerate(other.kinds)
        for place, number in enumerate(other.kinds)
        if other.keep is None and kind == signature.kinds[same] and number in "inwd" and place != key
    ]
    other = draw(st.sampled_from(numbers)) if numbers and chance(draw, 60) else (signature, same, at)
    return [Equality(Variable("X"), Variable("Y"), (atom("a", "X"), atom("b", "Y", *other)))]


@st.composite
def cases(draw: Draw, strata: int = 3, whole: bool = False) -> Case:
    """A random program with data for its input predicates and some facts in the text."""
    kinds = WHOLE if whole else PLAIN
    base = [draw(signatures(f"e{i}", kinds)) for i in range(draw(st.integers(1, 3)))]
    base.append(_signature(draw, "e", draw(st.sampled_from([("i", "i"), ("n", "n", "w"), ("s", "s", "d")]))))
    known, clauses = list(base), list[Clause]()
    for number in range(draw(st.integers(1, strata))):
        stratum, recursive = draw(_stratum(number, kinds)), chance(draw, 35 if whole else 60)
        skolem = f"f{number}" if whole else ""
        for head in stratum:
            for _ in range(draw(st.integers(1, 3))):
                clauses.append(draw(rules(head, known, stratum, recursive, skolem)))
        known += stratum
    if whole and chance(draw, 25):
        clauses += _dependency(draw, known)
    for signature in known:
        if chance(draw, 25):
            clauses += [
                Fact(Atom(signature.name, tuple(map(Constant, row))))
                for row in draw(rows(signature, 2, VALUES))
            ]
    facts = {s.name: draw(rows(s)) for s in known if s in base or chance(draw, 10)}
    for name in [n for n, given_rows in facts.items() if not given_rows and chance(draw, 50)]:
        del facts[name]  # a predicate without a table
    return Case(Program(tuple(clauses)), facts)
