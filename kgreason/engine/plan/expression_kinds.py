"""Kinds of expressions: kinds of their operands and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.functions import Signature, plain_name, signature
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Skolem,
    Unary,
    Variable,
)
from kgreason.language.values import Null, Value
from kgreason.language.vocabulary import ARITHMETIC, LOGIC, MEMBERSHIP, ORDERS

NAMES = {
    Kind.INT: "an integer",
    Kind.DOUBLE: "a double",
    Kind.STRING: "a string",
    Kind.BOOL: "a boolean",
    Kind.DATE: "a date",
    Kind.SET: "a set",
    Kind.LIST: "a list",
    Kind.ANY: "of any type",
}
NUMBERS = (Kind.INT, Kind.DOUBLE)
COLLECTIONS = (Kind.SET, Kind.LIST)

TYPES: Mapping[str, tuple[Kind, ...]] = {
    "int": (Kind.INT,),
    "double": NUMBERS,
    "number": NUMBERS,
    "string": (Kind.STRING,),
    "boolean": (Kind.BOOL,),
    "date": (Kind.DATE,),
    "list": (Kind.LIST,),
    "set": (Kind.SET,),
    "collection": COLLECTIONS,
    "any": tuple(Kind),
}
"""Kinds of arguments that fit a type of a signature; values of kind ANY are checked at run time."""

CASTS = {Kind.INT: "as_int", Kind.DOUBLE: "as_double", Kind.BOOL: "as_boolean", Kind.DATE: "as_date"}

RESULTS: Mapping[str, Kind] = {
    "int": Kind.INT,
    "double": Kind.DOUBLE,
    "string": Kind.STRING,
    "boolean": Kind.BOOL,
    "date": Kind.DATE,
    "list": Kind.LIST,
    "set": Kind.SET,
    "any": Kind.ANY,
}

SIGNATURE = "an operator or function takes the types that it is made for; only integers and doubles may meet"
ONE_TYPE = "values of different types never compare; integers and doubles count as one type"
NO_ORDER = "lists and sets have no order; they can be equal or not"
Complaint = Callable[[str, Expression, str, str, str | None], None]
"""Reports a type error: code, expression, message, the violated rule of the language, hint."""


def kind_of(value: Value) -> Kind:
    """Kind of a Python value."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.INT
    if isinstance(value, str):
        return Kind.STRING
    if isinstance(value, datetime):
        return Kind.DATE
    if isinstance(value, Null):
        return Kind.ANY
    if isinstance(value, tuple):
        return Kind.LIST
    return Kind.SET if isinstance(value, frozenset) else Kind.DOUBLE


def join(a: Kind | None, b: Kind | None) -> Kind | None:
    """Kind that holds the values of both; `None` if there is none."""
    if a is None or b is None or a is b:
        return a if b is None else b
    if Kind.ANY in (a, b):
        return Kind.ANY
    return Kind.DOUBLE if a in NUMBERS and b in NUMBERS else None


def join_all(kinds: Sequence[Kind | None]) -> Kind | None:
    """Kind that holds the values of all; `None` if there is none."""
    result: Kind | None = None
    for kind in (k for k in kinds if k is not None):
        result = join(result, kind)
        if result is None:
            return None
    return result


def words(given: Signature, name: str) -> str:
    """Description of the parameters of a function."""
    required = [_article(t) for t in given.parameters[: len(given.parameters) - given.optional]]
    optional = [_article(t) for t in given.parameters[len(required) :]]
    text = " and ".join(filter(None, [", ".join(required[:-1]), *required[-1:]])) if required else ""
    if optional:
        text = ", ".join(required) + (" and " if required else "") + "optionally " + " and ".join(optional)
    if given.variadic:
        text += ", or more of these"
    return f"{name} takes {text or 'no argument'}"


def _article(type_name: str) -> str:
    if type_name == "any":
        return "any value"
    if type_name == "collection":
        return "a list or set"
    return "an integer" if type_name == "int" else f"a {type_name}"


def remedy(wanted: Kind | None, kind: Kind | None) -> str | None:
    """Hint: a cast that could reconcile two kinds."""
    both = {wanted, kind}
    if Kind.STRING in both and both & {*NUMBERS, Kind.BOOL, Kind.DATE}:
        other = (both - {Kind.STRING}).pop()
        assert other is not None
        return f"as_string(...) makes a string, {CASTS[other]}(...) makes {NAMES[other]} of one"
    if kind is Kind.DOUBLE and wanted is Kind.INT:
        return "as_int(...) drops the fraction, round(...) rounds"
    return None


class ExpressionKinds:
    """Kinds of expressions over variables of known kinds; type errors are passed to `complain`."""

    def __init__(self, variables: Mapping[str, Kind], complain: Complaint) -> None:
        self.variables = variables
        self.complain = complain

    def of(self, node: Expression) -> Kind | None:
        """Kind of an expression; `None` if it depends on variables of unknown kind, or on a type error."""
        match node:
            case Constant():
                return kind_of(node.value)
            case Variable():
                return self.variables.get(node.name)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Collection():
                for element in node.elements:
                    self.of(element)
                return Kind.LIST if node.kind == "list" else Kind.SET
            case Skolem():
                for argument in node.arguments:
                    self.of(argument)
                return Kind.ANY
            case Call():
                return self._call(node)
        return None

    def _unary(self, node: Unary) -> Kind | None:
        kind = self.of(node.operand)
        fits = (Kind.BOOL,) if node.operator == "!" else NUMBERS
        if kind is not None and kind is not Kind.ANY and kind not in fits:
            what = f"{node.operator} does not apply to {node.operand}, {NAMES[kind]}"
            self.complain("E502", node, what, SIGNATURE, remedy(fits[0], kind))
            return None
        return Kind.BOOL if node.operator == "!" else kind

    def _binary(self, node: Binary) -> Kind | None:
        left, right = self.of(node.left), self.of(node.right)
        if node.operator in MEMBERSHIP:
            return self._member(node, left, right)
        if node.operator in LOGIC:
            if not {left, right} <= {Kind.BOOL, Kind.ANY, None}:
                self._misfit(node, left, right)
            return Kind.BOOL
        both = join(left, right)
        if node.operator not in ARITHMETIC:
            unordered = node.operator in ORDERS and {left, right} & set(COLLECTIONS)
            if unordered or (both is None and left is not None and right is not None):
                self._misfit(node, left, right)
            return Kind.BOOL
        if node.operator == "/" and both is Kind.INT:
            return Kind.DOUBLE
        if left is None or right is None:
            return both
        joins = node.operator == "+" and both in (Kind.STRING, Kind.LIST)
        possible = NUMBERS if node.operator != "+" else (*NUMBERS, Kind.STRING, Kind.LIST)
        if both is Kind.ANY and {left, right} <= {*possible, Kind.ANY}:
            return Kind.ANY
        if both in NUMBERS or joins:
            return both
        self._misfit(node, left, right)
        return None

    def _member(self, node: Binary, left: Kind | None, right: Kind | None) -> Kind:
        if right is not None and right not in (*COLLECTIONS, Kind.ANY):
            what = f"{node.operator} takes a list or set, but {node.right} is {NAMES[right]}"
            self.complain("E502", node, what, SIGNATURE, "write [...] for a list, {...} for a set")
        self._element(node, node.left, left, node.right)
        return Kind.BOOL

    def _element(self, node: Expression, part: Expression, kind: Kind | None, whole: Expression) -> None:
        """Report a value that cannot equal any element of a literal list or set."""
        if isinstance(whole, Collection):
            kinds = [self.of(e) for e in whole.elements]
        elif isinstance(whole, Constant) and isinstance(whole.value, tuple | frozenset):
            kinds = [kind_of(v) for v in whole.value]
        else:
            return
        common = None if None in kinds else join_all(kinds)
        if kind is not None and common is not None and join(kind, common) is None:
            name = plain_name(node.function) if isinstance(node, Call) else str(getattr(node, "operator", ""))
            what = f"{name} does not apply to {part}, {NAMES[kind]}, and {whole}, of which each is {NAMES[common]}"
            self.complain("E503", node, what, ONE_TYPE, remedy(common, kind))

    def _misfit(self, node: Binary, left: Kind | None, right: Kind | None) -> None:
        sides = [f"{n}, {NAMES[k]}" for n, k in ((node.left, left), (node.right, right)) if k is not None]
        what = f"{node.operator} does not apply to {', and '.join(sides)}"
        if node.operator in LOGIC:
            self.complain("E502", node, what, SIGNATURE, None)
        elif node.operator in ARITHMETIC:
            hint = remedy(left, right)
            if Kind.DATE in (left, right):
                hint = "diff(A, B) counts the days from B to A"
            self.complain("E502", node, what, SIGNATURE, hint)
        elif node.operator in ORDERS and {left, right} & set(COLLECTIONS):
            self.complain("E503", node, what, NO_ORDER, None)
        else:
            self.complain("E503", node, what, ONE_TYPE, remedy(left, right))

    def _call(self, node: Call) -> Kind | None:
        kinds = [self.of(argument) for argument in node.arguments]
        name = plain_name(node.function)
        given = signature(node.function, len(kinds))
        assert given is not None
        for i, (argument, kind) in enumerate(zip(node.arguments, kinds, strict=True)):
            fits = TYPES[given.parameter(i)]
            if kind is not None and kind is not Kind.ANY and kind not in fits:
                what = f"{words(given, name)}, but {argument} is {NAMES[kind]}"
                self.complain("E502", argument, what, SIGNATURE, remedy(fits[0], kind))
                return None if given.result == "join" else RESULTS[given.result]
        if name == "contains" and given.call is None:
            self._contains(node, kinds)
        if name == "between" and given.call is None:
            self._common(node, kinds, ordered=True)
        if given.result != "join":
            return RESULTS[given.result]
        joined = [kinds[i] for i in given.joined or range(len(kinds))]
        return self._common(node, joined, ordered=name in ("min", "max"))

    def _contains(self, node: Call, kinds: Sequence[Kind | None]) -> None:
        whole, part = kinds
        if whole in (None, Kind.ANY, *COLLECTIONS):
            self._element(node, node.arguments[1], part, node.arguments[0])
            return
        if whole is not Kind.STRING or part not in (None, Kind.ANY, Kind.STRING):
            sides = ", and ".join(
                f"{a} is {NAMES[k]}" for a, k in zip(node.arguments, kinds, strict=True) if k is not None
            )
            what = f"contains looks for a string in a string, or for a value in a list or set, but {sides}"
            self.complain("E502", node, what, SIGNATURE, remedy(whole, part))

    def _common(self, node: Call, kinds: Sequence[Kind | None], *, ordered: bool) -> Kind | None:
        """Common kind of arguments that must have one."""
        result = join_all(kinds)
        known = [k for k in kinds if k is not None]
        name = plain_name(node.function)
        if known and result is None:
            listed = " and ".join(dict.fromkeys(NAMES[k] for k in known))
            what = f"{name} takes values of one type, but gets {listed} in {node}"
            self.complain("E502", node, what, ONE_TYPE, remedy(*list(dict.fromkeys(known))[:2]))
        elif ordered and result in COLLECTIONS:
            what = f"{name} compares values, but {node} has {NAMES[result]}"
            self.complain("E502", node, what, NO_ORDER, None)
        return result
