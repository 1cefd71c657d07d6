"""Static types of expressions: calls of functions, operands of operators."""

from __future__ import annotations

from datetime import datetime

from kgreason.base.errors import Findings
from kgreason.language.functions import BUILT_IN, LIBRARIES, Signature, known, plain_name, signature
from kgreason.language.syntax.syntax_tree import (
    Binary,
    Call,
    Collection,
    Constant,
    Expression,
    Unary,
    Variable,
    children,
)
from kgreason.language.vocabulary import AGGREGATES, ORDERS, meant

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


def check_call(call: Call, findings: Findings) -> bool:
    """Report a call of an unknown function, or with arguments of a wrong number or type."""
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


def check_operands(node: Unary | Binary, findings: Findings) -> bool:
    """Report operands whose static types do not fit the operator."""
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


def check_membership(node: Binary, findings: Findings) -> bool:
    """Report a right operand of ``in`` that is no list or set."""
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
