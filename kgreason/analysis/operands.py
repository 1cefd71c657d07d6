"""Operands of arithmetic, order and membership: whether their types fit as far as the text tells."""

from __future__ import annotations

from kgreason.analysis.calls import article, fits, static_type
from kgreason.analysis.findings import Findings
from kgreason.lang.ast import Binary, Expression, Unary

_Typed = tuple[Expression, str]


def check_operands(node: Unary | Binary, findings: Findings) -> bool:
    """Whether arithmetic and order have operands of types they know, as far as the text tells."""
    operands = (node.operand,) if isinstance(node, Unary) else (node.left, node.right)
    known = [(n, t) for n in operands if (t := static_type(n)) is not None and t != "boolean"]
    mixed = len({_family(t) for _, t in known}) > 1
    verb = f"takes {article(known[0][1])} here" if mixed else ""
    if node.operator in "-*/%":
        wrong = [(n, t) for n, t in known if _family(t) != "number"]
        rule, verb = "arithmetic is for numbers; `+` joins strings and lists as well", "takes numbers"
    elif node.operator == "+":
        wrong = [(n, t) for n, t in known if t in ("date", "set")]
        rule = "`+` adds two numbers, or joins two strings or two lists"
        verb = "takes no dates or sets" if wrong else verb
    elif node.operator in ("<", "<=", ">", ">="):
        wrong, rule = [], "an order is within one type; integers and doubles compare"
    else:
        return True
    wrong = wrong or (known[1:] if mixed else [])
    if wrong:
        _report(node, verb, rule, wrong[0], [_family(t) for _, t in known], findings)
    return not wrong


def _family(kind: str) -> str:
    return "number" if kind in ("int", "double") else kind


def _report(
    node: Unary | Binary, verb: str, rule: str, culprit: _Typed, families: list[str], findings: Findings
) -> None:
    operand, kind = culprit
    findings.add(
        "E124",
        f"`{node.operator}` {verb}, and `{operand}` is {article(kind)}",
        operand.span,
        note=rule,
        hint=_operand_hint(operand, kind, [k for k in families if k != kind], node.operator),
    )


def _operand_hint(culprit: Expression, kind: str, others: list[str], operator: str) -> str | None:
    if operator == "-" and kind == "date":
        return "write `diff(A, B)` for the days from B to A"
    if "string" in others and kind not in ("list", "set"):
        return f"write `as_string({culprit})`"
    if kind == "string" and (operator in "-*/%" or "number" in others):
        return f"write `as_int({culprit})` or `as_double({culprit})`"
    return None


def check_membership(node: Binary, findings: Findings) -> bool:
    """Whether ``in`` and ``!in`` have a list or a set on the right."""
    given = static_type(node.right)
    if fits(given, "collection"):
        return True
    findings.add(
        "E123",
        f"`{node.operator}` takes a list or a set, and `{node.right}` is {article(str(given))}",
        node.right.span,
        note="`X in [1, 2]` and `X in {1, 2}` test whether X is one of the elements",
        hint=f"write `{node.left} {'==' if node.operator == 'in' else '!='} {node.right}`",
    )
    return False
