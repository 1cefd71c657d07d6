"""The plan: for each rule a line of operators, each of which turns a table of bindings into the next.

A table of bindings has one column per variable; joins drop those that are of no use any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kgreason.engine.relations.kinds import Kind
from kgreason.language.check.checked_program import (
    MONOTONIC,
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedRule,
    Filter,
    Invention,
)

UNKNOWN = 1 << 60


def plain(aggregation: Aggregation) -> str:
    """Name of the function without the ``m`` of its monotonic form."""
    return aggregation.function[1:] if aggregation.function in MONOTONIC else aggregation.function


class Part(Enum):
    """Which facts of a relation an operator reads (see `kgreason.engine.seminaive.evaluation`)."""

    ALL = "all"
    STABLE = "stable"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Join:
    """Each binding with every fact of the atom that agrees with it; `size` is their number if it is known before.

    `columns` are the variables that are still of use behind it. Where they hold no new variable of the atom, a binding
    is kept once if there is such a fact.
    """

    atom: CheckedAtom
    part: Part = Part.ALL
    size: int = UNKNOWN
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """The bindings with which no fact of the atom agrees."""

    atom: CheckedAtom


@dataclass(frozen=True, slots=True)
class Invent:
    """The bindings, each with the nulls of the rule's existential variables; without those that the chase may skip."""

    inventions: tuple[Invention, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The facts of the head."""

    atom: CheckedAtom


Operator = Join | AntiJoin | Filter | Assign | Aggregation | Invent | Project
"""Steps and aggregates of rules are operators as they are."""


@dataclass(frozen=True, slots=True)
class Line:
    """The operators of one rule (for one delta), first to last; the last is a `Project`."""

    operators: tuple[Operator, ...]

    @property
    def recent(self) -> str | None:
        """Predicate whose recent facts it reads."""
        found = (o.atom.predicate for o in self.operators if isinstance(o, Join) and o.part is Part.RECENT)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A rule with its lines: one over all facts, or, in recursion, one for each recursive atom."""

    rule: CheckedRule
    lines: tuple[Line, ...]
    kinds: Mapping[str, Kind]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Threshold:
    """A total must be greater than `value` or, unless `strict`, equal to it."""

    value: int | float
    strict: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps from values in facts of `source` to values in facts of `head`, the same for every fixed value.

    Attributes
    ----------
    rule
        The recursive rule that allows them.
    body
        The rule without its recursive atom; `None` where it copies facts, and where the steps are the facts that other
        rules derive (`doubling`): those of ``p(X, Z) :- p(X, Y), p(Y, Z)``.
    columns
        Variables of a step: source, target, then those that tell contributions of one source apart.
    threshold
        What the sum of the contributions to a target must pass; `None` if one step is enough.
    line
        Operators that find the steps.
    """

    rule: CheckedRule
    source: str
    head: str
    body: CheckedRule | None
    columns: tuple[str, ...]
    threshold: Threshold | None
    line: Line | None = None
    doubling: bool = False


@dataclass(frozen=True, slots=True)
class Separable:
    """A stratum that falls apart by the value of one argument of each predicate, 0 or 1 of two (`fixed`)."""

    fixed: Mapping[str, int]
    steps: tuple[Steps, ...]


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """The rules of one stratum; `inventive` if it can make values without end (nulls do not count)."""

    predicates: frozenset[str]
    rules: tuple[RulePlan, ...]
    recursive: bool
    inventive: bool
    separable: Separable | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The strata in evaluation order, the kind of each argument of each predicate, and the positions of doubles."""

    strata: tuple[StratumPlan, ...]
    kinds: Mapping[str, tuple[Kind, ...]]
    doubles: frozenset[tuple[str, int]]
