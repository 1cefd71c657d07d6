"""Intermediate representation of plans: operators per rule, each mapping a table of bindings to the next.

A table of bindings has one column per variable; joins drop variables that are no longer used.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.check.checked_program import (
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedRule,
    Filter,
    Invention,
)
from kgreason.language.check.expressions import variables as occurrences
from kgreason.language.syntax.syntax_tree import Expression
from kgreason.language.vocabulary import MONOTONIC

UNKNOWN = 1 << 60  # number of facts of a predicate that rules derive


def plain(aggregation: Aggregation) -> str:
    """Name of the function without the ``m`` of its monotonic form."""
    return aggregation.function[1:] if aggregation.function in MONOTONIC else aggregation.function


def inputs(aggregation: Aggregation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Group variables, and variables that distinguish the contributions of a group: none for a minimum or maximum."""
    if plain(aggregation) in ("min", "max"):
        return aggregation.group, ()
    group = set(aggregation.group)
    return aggregation.group, tuple(v for v in dict.fromkeys(aggregation.contributors) if v not in group)


def variables(expression: Expression) -> tuple[str, ...]:
    """Names of the variables of an expression, without duplicates, in order."""
    return tuple(dict.fromkeys(variable.name for variable in occurrences(expression)))


class Part(Enum):
    """Part of a relation that an operator reads (see `kgreason.engine.seminaive.fixpoint`)."""

    ALL = "all"
    STABLE = "stable"
    RECENT = "recent"


class Join(NamedTuple):
    """Join of the bindings with the facts of an atom; `size` is the number of facts if known in advance.

    `columns` are the variables used after the join. If they contain no new variable of the atom, the join is a
    semi-join: a binding is kept once if there is a matching fact.
    """

    atom: CheckedAtom
    part: Part = Part.ALL
    size: int = UNKNOWN
    columns: tuple[str, ...] = ()


class AntiJoin(NamedTuple):
    """Anti-join: the bindings without a matching fact of the atom."""

    atom: CheckedAtom


class Invent(NamedTuple):
    """The bindings extended by the nulls of existential variables, without those that the chase skips."""

    inventions: tuple[Invention, ...]


class Project(NamedTuple):
    """The facts of the head."""

    atom: CheckedAtom


Operator = Join | AntiJoin | Filter | Assign | Aggregation | Invent | Project


class Line(NamedTuple):
    """Operators of one variant of a rule, in order; the last is a `Project`."""

    operators: tuple[Operator, ...]

    @property
    def recent(self) -> str | None:
        """Predicate whose recent facts are read."""
        found = (o.atom.predicate for o in self.operators if isinstance(o, Join) and o.part is Part.RECENT)
        return next(found, None)


class RulePlan(NamedTuple):
    """Rule with its lines: one over all facts or, in recursion, one per recursive atom."""

    rule: CheckedRule
    lines: tuple[Line, ...]
    kinds: Mapping[str, Kind]
    recursive: bool


class Steps(NamedTuple):
    """Steps from values in facts of `source` to values in facts of `head`, the same for every fixed value.

    They come from a recursive `rule`; `body` is the rule without its recursive atom, and `line` computes it. The body
    is `None` if the rule copies facts, or if the steps are the facts derived by other rules (`doubling`), as for
    ``p(X, Z) :- p(X, Y), p(Y, Z)``. The variables `columns` of a step are source, target, then those that distinguish
    contributions of one source. A target is reached when the sum of contributions to it is greater than `bound`, or by
    one step if there is no bound.
    """

    rule: CheckedRule
    source: str
    head: str
    body: CheckedRule | None
    columns: tuple[str, ...]
    bound: float | None
    line: Line | None = None
    doubling: bool = False


class Separable(NamedTuple):
    """Stratum that is separable by the value of one argument, 0 or 1 of two (`fixed`), of each predicate."""

    fixed: Mapping[str, int]
    steps: tuple[Steps, ...]


class StratumPlan(NamedTuple):
    """Rules of one stratum; `inventive` if it can create values without bound (nulls do not count)."""

    predicates: frozenset[str]
    rules: tuple[RulePlan, ...]
    recursive: bool
    inventive: bool
    separable: Separable | None = None


class Plan(NamedTuple):
    """Strata in evaluation order, kinds of the arguments of each predicate, and positions of doubles."""

    strata: tuple[StratumPlan, ...]
    kinds: Mapping[str, tuple[Kind, ...]]
    doubles: frozenset[tuple[str, int]]
