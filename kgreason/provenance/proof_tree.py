"""Data model of explanations: proofs, reasons and rule notes as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from kgreason.base.records import record
from kgreason.language.check.checked_program import Assign, CheckedAtom, CheckedRule, Step
from kgreason.language.check.expressions import rewrite
from kgreason.language.syntax.syntax_tree import Constant, Expression, Variable
from kgreason.language.values import Value, plain, source

FORMAT = 1
"""Version of the JSON layout."""

EQUAL = "="
"""Predicate of the proofs that two values are one."""

Bound = tuple[tuple[str, Value], ...]
"""Variables with their values."""

Lookup = Callable[[str, tuple[Value, ...]], str | None]
"""Location of a given fact by predicate and values."""


@record
class RuleNote:
    """Description of a rule for display: position in the text from 1, ``@label``, ``%%`` lines, and ``file:line``."""

    number: int
    label: str
    text: str
    documentation: str
    where: str

    @property
    def name(self) -> str:
        """Quoted label, or ``rule`` with the number."""
        return f'"{self.label}"' if self.label else f"rule {self.number}"


@record(eq=False)
class Contribution:
    """Contribution to an aggregate: contributor, value, and the facts behind it; see `Proof` for the other fields."""

    contributor: Bound
    value: Value
    premises: tuple[Proof, ...]
    conditions: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Contribution {bound(self.contributor)}: {source(self.value)}>"


@record(eq=False)
class Total:
    """Total ``variable = function(...)`` with its contributions: the greatest ones, and the number of `others`."""

    variable: str
    function: str
    text: str
    value: Value
    contributions: tuple[Contribution, ...]
    others: int = 0

    @property
    def size(self) -> int:
        """Number of all contributions."""
        return len(self.contributions) + self.others


@record(eq=False)
class Identified:
    """Value `made`, which equality rules have replaced by `value`; the `chain` proves that both are equal.

    The `variable` is that of the rule that created the value, or the position in a given fact.
    """

    variable: str
    made: Value
    value: Value
    chain: tuple[Proof, ...]

    def __repr__(self) -> str:
        return f"<{self.variable}: {source(self.made)} is {source(self.value)}>"


@record(eq=False)
class Proof:
    """Proof of a fact: the fact is given, or derived by a rule from premises.

    A fact that occurs in several proofs is one object. `height` is the minimal height (see module `heights`).

    Attributes
    ----------
    predicate, values
        The fact.
    rule
        Rule of the last step; `None` for a given fact.
    binding
        Values of the variables that the text of the rule names.
    premises
        Proofs of the positive atoms, in order; with an aggregate, they are in its contributions.
    conditions
        Conditions and assignments of the rule, with variables replaced by values.
    absent
        Negated atoms, none of which holds.
    total
        The aggregate of the rule, if it has one.
    source
        Location of a given fact, ``file:line``; `None` if unknown.
    final
        Final value of the fact, if the recursion improved its aggregated value later.
    notes
        Further remarks. The fact of a union without a rule has, as premises, the parts that the rules derive.
    identified
        Values of the fact that equality rules have replaced since the rule, or the data, produced them.

    Proofs of the equality of two values have the predicate ``=``: either a rule with ``=`` in its head
    derives it, or the values are nulls of one function and the premises prove that its arguments are equal.
    """

    predicate: str
    values: tuple[Value, ...]
    rule: RuleNote | None = None
    binding: Bound = ()
    premises: tuple[Proof, ...] = ()
    conditions: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    total: Total | None = None
    source: str | None = None
    height: int = 0
    final: Value | None = None
    notes: tuple[str, ...] = ()
    identified: tuple[Identified, ...] = ()

    @property
    def fact(self) -> str:
        """The fact in the syntax of the language."""
        return fact_text(self.predicate, self.values)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Contributions to the aggregate of the rule, if it has one."""
        return self.total.contributions if self.total else ()

    @property
    def below(self) -> Iterator[Proof]:
        """Proofs on which this step directly depends."""
        yield from self.premises
        for contribution in self.contributions:
            yield from contribution.premises
        for identified in self.identified:
            yield from identified.chain

    def __repr__(self) -> str:
        return f"<Proof of {self.fact}, height {self.height}>"

    def steps(self) -> list[Proof]:
        """All distinct proofs contained in this one, itself first."""
        found: dict[int, Proof] = {id(self): self}
        waiting = [self]
        while waiting:
            for proof in waiting.pop().below:
                if id(proof) not in found:
                    found[id(proof)] = proof
                    waiting.append(proof)
        return list(found.values())

    def as_dict(self) -> dict[str, Any]:
        """JSON-compatible dictionary: steps refer to each other by number; the first one is the explained fact.

        The list is flat, because a proof may be too deep to nest.
        """
        steps = self.steps()
        numbers = {id(proof): i for i, proof in enumerate(steps)}
        return {
            "format": FORMAT,
            "kind": "proof",
            "fact": self.fact,
            "height": self.height,
            "steps": [{"id": i, "fact": p.fact, **_fields(p, numbers)} for i, p in enumerate(steps)],
        }


_JSON = {"total": "aggregate", "chain": "equations"}
"""Names in JSON of fields that have other ones here."""


def _plain(item: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(item, tuple):
        return [_plain(part, numbers) for part in item]
    if id(item) in numbers:
        return numbers[id(item)]
    return _fields(item, numbers) if is_dataclass(item) else item


def _fields(item: Any, numbers: Mapping[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(item)):
        value = getattr(item, name)
        if name in ("binding", "contributor"):
            value = {variable: plain(v) for variable, v in value}
        elif name == "values":
            value = [plain(v) for v in value]
        elif name in ("value", "made", "final"):
            value = None if value is None else plain(value)
        else:
            value = _plain(value, numbers)
        found[_JSON.get(name, name)] = value
    return found


@record
class Reason:
    """Why a rule does not derive a fact.

    Attributes
    ----------
    kind
        ``"atom"``, ``"condition"``, ``"negation"``, ``"aggregate"`` or ``"head"``.
    unmet
        The first failing item of the body, as written.
    words
        Explanation of the failure, with values.
    binding, met
        Variable binding and facts of the match that satisfies most of the body.
    deeper
        Why the missing fact is not derived, for the rule that is closest to deriving it.
    """

    rule: RuleNote
    kind: str
    unmet: str
    words: str
    binding: Bound = ()
    met: tuple[str, ...] = ()
    deeper: Reason | None = None


@record
class WhyNot:
    """Why no fact fits a goal: one reason per rule, the nearest facts, and perhaps the actual value of a group."""

    goal: str
    reasons: tuple[Reason, ...] = ()
    near: tuple[str, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """JSON-compatible dictionary."""
        return {"format": FORMAT, "kind": "why not", **_fields(self, {})}


def fact_text(predicate: str, values: tuple[Value, ...]) -> str:
    """Text of a fact: ``own("a","b",0.6)``."""
    if predicate == EQUAL:
        return " = ".join(map(source, values))
    return f"{predicate}({','.join(map(source, values))})" if values else predicate


def bound(binding: Bound) -> str:
    """Text of a binding: ``X = "a", W = 0.5``."""
    return ", ".join(f"{name} = {source(value)}" for name, value in binding)


def note(rule: CheckedRule) -> RuleNote:
    """Description of a rule."""
    where = f"{rule.span.file}:{rule.span.line}"
    return RuleNote(rule.number, rule.label, rule.text, rule.documentation, where)


def shown(name: str) -> bool:
    """Whether a variable is named in the text of the rule."""
    return not name.startswith(("_", "#"))


def _substituted(node: Expression, values: Mapping[str, Value]) -> Expression:
    return Constant(values[node.name]) if isinstance(node, Variable) and node.name in values else node


def atom_text(atom: CheckedAtom, values: Mapping[str, Value]) -> str:
    """Text of an atom with bound variables replaced by their values."""
    terms = ",".join(str(_substituted(term, values)) for term in atom.terms)
    return f"{atom.predicate}({terms})" if terms else atom.predicate


def step_text(step: Step, values: Mapping[str, Value]) -> str:
    """Text of a condition or assignment with values: ``W = 0.5 * 0.8 = 0.4``."""
    inner = rewrite(step.expression, partial(_substituted, values=values))
    if not isinstance(step, Assign):
        return str(inner)
    if isinstance(inner, Constant) or step.variable not in values:
        return f"{step.variable} = {inner}"
    return f"{step.variable} = {inner} = {source(values[step.variable])}"
