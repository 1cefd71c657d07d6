"""How each annotation is written, and the message for one that is written otherwise."""

from __future__ import annotations

from kgreason.analysis.findings import Findings
from kgreason.lang.ast import Annotation, Constant
from kgreason.lang.names import DATABASES, SERVERS

FORMS = {
    "input": '@input("predicate")',
    "output": '@output("predicate")',
    "bind": '@bind("predicate", "csv useHeaders=true", "folder", "file.csv")',
    "qbind": '@qbind("predicate", "sqlite", "file.db", "select ...")',
    "mapping": '@mapping("predicate", 0, "column", "type")',
    "post": '@post("predicate", "orderby(1)")',
    "param": '@param("name", value)',
    "include": '@include("file.vada")',
    "module": '@module("name")',
    "label": '@label("name") or @label("name", 0.9) before a rule',
    "node": '@node("predicate")',
    "edge": '@edge("predicate")',
    "derived": '@derived("predicate")',
    "query": '@query("predicate")',
    "sensitive": '@sensitive("predicate")',
    "incoming_sum": '@incoming_sum("predicate", 1.0)',
}

_SHAPES: dict[str, tuple[type | tuple[type, ...], ...]] = {
    "bind": (str, str, str, str),
    "qbind": (str, str, str, str),
    "mapping": (str, int, str, str),
    "post": (str, str),
    "param": (str, object),
    "incoming_sum": (str, (int, float)),
}

_OPTIONAL: dict[str, tuple[type | tuple[type, ...], ...]] = {"label": ((int, float),)}


def well_formed(clause: Annotation, findings: Findings) -> bool:
    """Whether number and types of the arguments are right."""
    shape, given = _SHAPES.get(clause.name, (str,)), clause.arguments
    if len(given) > len(shape):
        shape += _OPTIONAL.get(clause.name, ())
    if len(shape) == len(given) and all(map(_fits, given, shape)):
        return True
    wrong(clause, None, f"wrong arguments of @{clause.name}", findings)
    return False


def _fits(argument: Constant, wanted: type | tuple[type, ...]) -> bool:
    if wanted is object:
        return True
    return isinstance(argument.value, wanted) and not isinstance(argument.value, bool)


def wrong(clause: Annotation, culprit: Constant | None, message: str, findings: Findings) -> None:
    """Report an annotation whose arguments are not what they should be."""
    span = culprit.span if culprit else clause.span
    findings.add("E302", message, span, hint=f"write {_form(clause)}")


def _form(clause: Annotation) -> str:
    """How an annotation is written; of databases, which name a file and a table, not as of files."""
    if clause.name == "bind" and len(clause.arguments) > 1:
        source = str(clause.arguments[1].value).split(" ")[0]
        if source in SERVERS:
            return (
                f'@bind("predicate", "{source} host=\'localhost\' database=\'register\'", "schema", "table")'
            )
        if source in DATABASES:
            return f'@bind("predicate", "{source}", "file.db", "table")'
    return FORMS[clause.name]
