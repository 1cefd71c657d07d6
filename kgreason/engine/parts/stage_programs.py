"""Rules of the stages of a divided program.

The rules of a stage read complete relations, facts of the same part, and *slices*: the facts of a complete relation
whose value at one position belongs to the part. Each rule reads at least one fact of the same part or one slice, so
that it derives nothing for values of other parts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kgreason.base.errors import Diagnostic
from kgreason.engine.parts.division import Division, divide, reasons
from kgreason.engine.plan.separable_strata import doubling
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Denial,
    Position,
    Stratum,
)
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import Variable


class Stage(NamedTuple):
    """Rules evaluated in one pass over the parts.

    `whole` are the predicates that every part reads completely, and `slices` the position by which each slice is taken
    from its predicate. Stage 0 is evaluated once; it has no slices.
    """

    number: int
    strata: tuple[Stratum, ...]
    whole: frozenset[str]
    slices: Mapping[str, Position]
    denials: tuple[Denial, ...]

    @property
    def predicates(self) -> frozenset[str]:
        """Predicates that the stage derives."""
        return frozenset[str]().union(*(s.predicates for s in self.strata))


@dataclass(eq=False, repr=False)
class Copies:
    """Rules and predicates made for a division, and what each is made from.

    A rule, by its identity, is made from a rule with the same variables; or, if it copies the facts of a predicate,
    from that predicate, whose arguments are its variables V0, V1, ...
    """

    rules: dict[int, CheckedRule | str] = field(default_factory=dict)
    predicates: dict[str, str] = field(default_factory=dict)
    made: list[CheckedRule] = field(default_factory=list)  # held, so that identities remain unique

    def rule(self, rule: CheckedRule, origin: CheckedRule | str) -> CheckedRule:
        """Record the origin of a rule; returns the rule."""
        self.rules[id(rule)] = origin
        self.made.append(rule)
        return rule

    def predicate(self, name: str) -> str:
        """Predicate of the program that `name` was made from."""
        while name in self.predicates:
            name = self.predicates[name]
        return name

    def origin(self, number: int, known: Collection[int]) -> int | str:
        """First of the identities in `known`, or the predicate, that a rule was made from."""
        while number not in known:
            made_from = self.rules[number]
            if isinstance(made_from, str):
                return made_from
            number = id(made_from)
        return number


def stages(division: Division, copies: Copies) -> list[Stage]:
    """Stages of a division, in order, without those that derive nothing."""
    last = max(division.stages.values(), default=0)
    made = (_stage(division, number, copies) for number in range(last + 1))
    return [stage for stage in made if stage.strata]


def _stage(division: Division, number: int, copies: Copies) -> Stage:
    program, whole, slices = division.program, set[str](), dict[str, Position]()

    def sliced(atom: CheckedAtom, x: str) -> CheckedAtom:
        position = atom.terms.index(Variable(x))
        name = f"#{atom.predicate}/{position + 1}"
        slices[name] = (atom.predicate, position)
        copies.predicates[name] = atom.predicate
        return replace(atom, predicate=name)

    def rewritten(rule: CheckedRule) -> CheckedRule:
        x = division.kept.get(id(rule), "")

        def read(atom: CheckedAtom) -> CheckedAtom:
            stage = division.stages.get(atom.predicate, 0)
            if 0 < stage < number and Variable(x) in atom.terms:
                return sliced(atom, x)
            if stage < number or atom.predicate not in division.stages:
                whole.add(atom.predicate)
            return atom

        guarded = [
            a for a in rule.positives if division.stages.get(a.predicate, 0) and Variable(x) in a.terms
        ]
        first = (
            next((a for a in rule.positives if Variable(x) in a.terms), None)
            if number and not guarded
            else None
        )
        positives = tuple(sliced(a, x) if a is first else read(a) for a in rule.positives)
        negatives = tuple(map(read, rule.negatives))
        if (positives, negatives) == (rule.positives, rule.negatives):
            return rule
        return copies.rule(replace(rule, positives=positives, negatives=negatives), rule)

    strata = tuple(
        s._replace(rules=tuple(map(rewritten, s.rules)))
        for s in program.strata
        if any(division.stages[p] == number for p in s.predicates)
    )
    here = {p for s in strata for p in s.predicates}
    denials = tuple(d for d in program.denials if d.predicate in here)
    return Stage(number, strata, frozenset(whole - here), slices, denials)


def divided(
    program: CheckedProgram, goals: Sequence[str], given: Collection[str] = ()
) -> tuple[Division | None, Copies]:
    """Divide a program for some goals; `given` are the derived predicates of which facts are given.

    Returns the division, `None` if nothing can be divided, and the origins of its rules and predicates.
    """
    copies = Copies()
    needed = _with_given(restricted(program, goals), given, copies)
    return divide(_linear(needed, copies)), copies


def undivided(
    program: CheckedProgram, goals: Sequence[str], division: Division | None
) -> tuple[Diagnostic, ...]:
    """Why a program, as written, is not divided for some goals, or why some of its recursions are derived whole."""
    return reasons(_linear(restricted(program, goals), Copies()), division)


def _with_given(program: CheckedProgram, given: Collection[str], copies: Copies) -> CheckedProgram:
    """Rules that copy given facts of derived predicates from predicates of their own."""
    arities = dict(program.arities)
    strata = []
    for stratum in program.strata:
        more = []
        for predicate in sorted(stratum.predicates & set(given)):
            name = f"#given {predicate}"
            arities[name] = arities[predicate]
            copies.predicates[name] = predicate
            terms = tuple(Variable(f"V{i}") for i in range(arities[predicate]))
            span = stratum.rules[0].span
            head, atom = CheckedAtom(predicate, terms, span), CheckedAtom(name, terms, span)
            text = f"the given facts of {predicate}"
            more.append(copies.rule(CheckedRule(head, (atom,), (), (), None, (), text, span), predicate))
        strata.append(stratum._replace(rules=(*more, *stratum.rules)))
    return replace(program, strata=tuple(strata), arities=arities)


def _linear(program: CheckedProgram, copies: Copies) -> CheckedProgram:
    """Replace doublings: the second atom of ``p(X, Z) :- p(X, Y), p(Y, Z)`` reads the facts of the other rules of p."""
    strata: list[Stratum] = []
    arities = dict(program.arities)
    for stratum in program.strata:
        recursive = [r for r in stratum.rules if any(a.predicate in stratum.predicates for a in r.positives)]
        if len(stratum.predicates) != 1 or len(recursive) != 1 or not doubling(recursive[0]):
            strata.append(stratum)
            continue
        (predicate,), (rule,) = stratum.predicates, recursive
        base = f"#base {predicate}"
        arities[base] = 2
        copies.predicates[base] = predicate
        exits = tuple(
            copies.rule(replace(r, head=replace(r.head, predicate=base)), r)
            for r in stratum.rules
            if r is not rule
        )
        first = next(a for a in rule.positives if a.terms[0] == rule.head.terms[0])
        second = next(a for a in rule.positives if a is not first)
        copied = replace(rule, positives=(replace(rule.head, predicate=base),))
        step = replace(rule, positives=(first, replace(second, predicate=base)))
        strata.append(Stratum(frozenset({base}), exits, False))
        strata.append(Stratum(stratum.predicates, (copies.rule(copied, rule), copies.rule(step, rule)), True))
    return replace(program, strata=tuple(strata), arities=arities)


def with_copies(kinds: Kinds, copies: Copies) -> Kinds:
    """Kinds of a program, extended to the rules and predicates made from its own.

    Kinds are copied, not inferred again, so that the division cannot change them.
    """
    arities, positions = dict(kinds.arities), dict(kinds.positions)
    doubles = set(kinds.double_positions)
    for predicate in copies.predicates:
        origin = copies.predicate(predicate)
        arities[predicate] = kinds.arities[origin]
        for i in range(arities[predicate]):
            if (origin, i) in positions:
                positions[predicate, i] = positions[origin, i]
            if (origin, i) in doubles:
                doubles.add((predicate, i))
    rules, variables = dict(kinds.rules), dict(kinds.doubles)
    for number in copies.rules:
        source = copies.origin(number, kinds.rules)
        if isinstance(source, str):
            here = range(arities[source])
            rules[number] = {f"V{i}": positions[source, i] for i in here if (source, i) in positions}
            variables[number] = frozenset(f"V{i}" for i in here if (source, i) in doubles)
        else:
            rules[number] = kinds.rules[source]
            variables[number] = kinds.doubles.get(source, frozenset())
    return replace(
        kinds,
        arities=arities,
        positions=positions,
        rules=rules,
        doubles=variables,
        double_positions=frozenset(doubles),
    )
