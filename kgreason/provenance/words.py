"""Parts of a rule with the values of one binding in the place of its variables."""

from __future__ import annotations

from collections.abc import Mapping

from kgreason.analysis.checked import Assign, CheckedAtom, CheckedRule, Step
from kgreason.analysis.expressions import rewrite
from kgreason.lang.ast import Constant, Expression, Variable
from kgreason.lang.values import Value, source
from kgreason.provenance.proof import RuleNote


def note(rule: CheckedRule) -> RuleNote:
    """What is told of a rule."""
    where = f"{rule.span.file}:{rule.span.line}"
    return RuleNote(rule.number, rule.label, rule.text, rule.documentation, where)


def shown(name: str) -> bool:
    """Whether a variable is one that the text of the rule names."""
    return not name.startswith(("_", "#"))


def substituted(node: Expression, values: Mapping[str, Value]) -> Expression:
    """The expression with values in the place of the variables that have one.

    Examples
    --------
    >>> from kgreason.lang.ast import Binary
    >>> str(substituted(Binary(">", Variable("V"), Constant(0.5)), {"V": 0.65}))
    '0.65 > 0.5'
    """

    def value(part: Expression) -> Expression:
        return Constant(values[part.name]) if isinstance(part, Variable) and part.name in values else part

    return rewrite(node, value)


def atom_text(atom: CheckedAtom, values: Mapping[str, Value]) -> str:
    """The atom with values, written like a fact; what is not bound stays a variable."""
    terms = [
        str(t) if not isinstance(t, Variable) else source(values[t.name]) if t.name in values else str(t)
        for t in atom.terms
    ]
    return f"{atom.predicate}({','.join(terms)})" if terms else atom.predicate


def step_text(step: Step, values: Mapping[str, Value]) -> str:
    """A condition or an assignment with values: ``W = 0.5 * 0.8 = 0.4``."""
    inner = substituted(step.expression, values)
    if not isinstance(step, Assign):
        return str(inner)
    if isinstance(inner, Constant) or step.variable not in values:
        return f"{step.variable} = {inner}"
    return f"{step.variable} = {inner} = {source(values[step.variable])}"
