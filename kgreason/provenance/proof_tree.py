"""What an explanation is made of; all of it plain values, ready to be written in any form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class RuleNote:
    """A rule as a reader wants to see it.

    Attributes
    ----------
    number
        Counted from 1 in the order of the text.
    label
        From ``@label``, else empty.
    documentation
        Of the ``%%`` lines above it, else empty.
    where
        ``file:line``.
    """

    number: int
    label: str
    text: str
    documentation: str
    where: str

    @property
    def name(self) -> str:
        """Quoted label, or ``rule`` with the number."""
        return f'"{self.label}"' if self.label else f"rule {self.number}"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return _fields(self, {})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contribution:
    """One contribution to an aggregate: who contributes, what, and the facts that say so.

    `conditions` and `absent` are those of the rule's body before the aggregate, as in `Proof`.
    """

    contributor: Bound
    value: Value
    premises: tuple[Proof, ...]
    conditions: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Contribution {bound(self.contributor)}: {source(self.value)}>"


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """``variable = function(...)`` over contributions; of very many the greatest are told, and how many `others`."""

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Identified:
    """A value that equality rules made another one.

    Attributes
    ----------
    variable
        Of the rule that made it, or the place in a given fact.
    made
        What it was at first.
    value
        What it is in the fact.
    chain
        Proofs of equalities that lead from the one to the other.
    """

    variable: str
    made: Value
    value: Value
    chain: tuple[Proof, ...]

    def __repr__(self) -> str:
        return f"<{self.variable}: {source(self.made)} is {source(self.value)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proof:
    """Why a fact holds: it is given, or a rule derives it from premises.

    A fact that several proofs need is one object. `height` is the least possible one (see module `traces`).

    Attributes
    ----------
    predicate, values
        The fact.
    rule
        `None` for a given fact.
    binding
        Values of the rule's variables as far as the text names them.
    premises
        Proofs of the positive atoms in their order; with an aggregate they stand in its contributions.
    conditions
        Conditions and assignments of the rule with values in the place of variables.
    absent
        Negated atoms: what does not hold.
    total
        The aggregate of the rule, if it has one.
    source
        Where a given fact comes from, ``file:line``; `None` where that is not known.
    final
        Where a recursion improved the aggregated value of this fact later: the last value.
    notes
        What else is to be said. A fact of a union without a rule has, as its premises, the parts that the rules give.
    identified
        Values of the fact that were others to the rule, or in the data, until equality rules made them one.

    Proofs that two values are one have the predicate ``=``; a rule with ``=`` in its head names them, or they are nulls
    of one function, and their premises tell that its arguments are equal.
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
        """The fact as the language writes it."""
        return fact_text(self.predicate, self.values)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Of the aggregate of the rule; empty without one."""
        return self.total.contributions if self.total else ()

    @property
    def below(self) -> Iterator[Proof]:
        """Proofs that this step rests on directly."""
        yield from self.premises
        for contribution in self.contributions:
            yield from contribution.premises
        for identified in self.identified:
            yield from identified.chain

    def __repr__(self) -> str:
        return f"<Proof of {self.fact}, height {self.height}>"

    def steps(self) -> list[Proof]:
        """All proofs within this one, each once, itself first."""
        found: dict[int, Proof] = {id(self): self}
        waiting = [self]
        while waiting:
            for proof in waiting.pop().below:
                if id(proof) not in found:
                    found[id(proof)] = proof
                    waiting.append(proof)
        return list(found.values())

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: steps refer to one another by number, the first is the fact that is explained.

        Flat, since a proof may be too deep to nest.
        """
        steps = self.steps()
        numbers = {id(proof): i for i, proof in enumerate(steps)}
        return {
            "format": FORMAT,
            "kind": "proof",
            "fact": self.fact,
            "height": self.height,
            "steps": [
                {"id": i, "fact": proof.fact, **_fields(proof, numbers)} for i, proof in enumerate(steps)
            ],
        }


_JSON = {"total": "aggregate", "chain": "equations"}
"""Names in JSON of fields that have other ones here."""


def _plain(item: Any, numbers: Mapping[int, int]) -> Any:
    """Fields of parts of an explanation, ready for JSON; proofs by their numbers."""
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


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one rule does not give a fact.

    Attributes
    ----------
    unmet
        The first item of the body that fails, as written.
    kind
        ``"atom"``, ``"condition"``, ``"negation"``, ``"aggregate"`` or ``"head"``.
    words
        The same in words, with values.
    binding
        What was bound when it failed, in the match that got furthest.
    met
        Facts that the match had found before it failed.
    deeper
        Where a fact is missing that rules could give: why it is missing, by the rule that comes nearest to it.
    """

    rule: RuleNote
    kind: str
    unmet: str
    words: str
    binding: Bound = ()
    met: tuple[str, ...] = ()
    deeper: Reason | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return _fields(self, {})


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why no fact fits a goal, rule by rule.

    Attributes
    ----------
    near
        Facts that come closest to the goal.
    note
        What else is to be said, for instance the value that a group has instead.
    """

    goal: str
    reasons: tuple[Reason, ...] = ()
    near: tuple[str, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"format": FORMAT, "kind": "why not", **_fields(self, {})}


def fact_text(predicate: str, values: tuple[Value, ...]) -> str:
    """Write a fact.

    Examples
    --------
    >>> fact_text("own", ("a", "b", 0.6)), fact_text("p", ())
    ('own("a","b",0.6)', 'p')
    """
    if predicate == EQUAL:
        return " = ".join(map(source, values))
    return f"{predicate}({','.join(map(source, values))})" if values else predicate


def bound(binding: Bound) -> str:
    """Write variables with their values.

    Examples
    --------
    >>> bound((("X", "a"), ("W", 0.5)))
    'X = "a", W = 0.5'
    """
    return ", ".join(f"{name} = {source(value)}" for name, value in binding)


def note(rule: CheckedRule) -> RuleNote:
    """What is told of a rule."""
    where = f"{rule.span.file}:{rule.span.line}"
    return RuleNote(rule.number, rule.label, rule.text, rule.documentation, where)


def shown(name: str) -> bool:
    """Whether a variable is one that the text of the rule names."""
    return not name.startswith(("_", "#"))


def _substituted(node: Expression, values: Mapping[str, Value]) -> Expression:
    """The expression with values in the place of the variables that have one."""

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
    inner = _substituted(step.expression, values)
    if not isinstance(step, Assign):
        return str(inner)
    if isinstance(inner, Constant) or step.variable not in values:
        return f"{step.variable} = {inner}"
    return f"{step.variable} = {inner} = {source(values[step.variable])}"


Lookup = Callable[[str, tuple[Value, ...]], str | None]
"""Where a given fact comes from."""
