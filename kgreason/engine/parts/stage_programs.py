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
from kgreason.engine.parts.division import PART, PARTIAL, Division, divide, reasons
from kgreason.engine.plan.ir import plain
from kgreason.engine.plan.separable_strata import doubling, factored
from kgreason.engine.plan.static_kinds import Kinds
from kgreason.engine.relations.fact_tables import Kind
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
    """Rules evaluated in one pass over the parts; or once, before the parts of the stage of the same number.

    `whole` are the predicates that every part reads completely, and `slices` the position by which each slice is taken
    from its predicate.
    """

    number: int
    once: bool
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

    Attributes
    ----------
    rules
        By the identity of a rule, in the order in which they were made: the rule with the same variables; or, if it
        copies the facts of a predicate, that predicate, whose arguments are its variables V0, V1, ...
    variables
        Kinds of further variables of a rule, or the variable that has the same kind.
    predicates
        Predicates with the arguments of another one.
    heads
        Predicates whose arguments are those of the head of a rule.
    """

    rules: dict[int, CheckedRule | str] = field(default_factory=dict)
    variables: dict[int, Mapping[str, Kind | str]] = field(default_factory=dict)
    predicates: dict[str, str] = field(default_factory=dict)
    heads: dict[str, CheckedRule] = field(default_factory=dict)
    made: list[CheckedRule] = field(default_factory=list)  # held, so that identities remain unique

    def rule(
        self, rule: CheckedRule, origin: CheckedRule | str, variables: Mapping[str, Kind | str] | None = None
    ) -> CheckedRule:
        """Record the origin of a rule, and its further variables; returns the rule."""
        self.rules[id(rule)] = origin
        self.variables[id(rule)] = variables or {}
        self.made.append(rule)
        return rule


def stages(division: Division, copies: Copies) -> list[Stage]:
    """Stages of a division, in order."""
    numbers = range(1, division.last + 1)
    made = [_stage(division, number, once, copies) for number in numbers for once in (True, False)]
    return [stage for stage in made if stage.strata]


def _stage(division: Division, number: int, once: bool, copies: Copies) -> Stage:
    program, whole, slices = division.program, set[str](), dict[str, Position]()
    strata = [
        s
        for s in program.strata
        if all(division.stages[p] == number and division.divides(p) != once for p in s.predicates)
    ]
    here = {p for s in strata for p in s.predicates}

    def sliced(atom: CheckedAtom, x: str) -> CheckedAtom:
        position = atom.terms.index(Variable(x))
        name = f"#{atom.predicate}/{position + 1}"
        slices[name] = (atom.predicate, position)
        copies.predicates[name] = atom.predicate
        return replace(atom, predicate=name)

    def rewritten(rule: CheckedRule) -> CheckedRule:
        x = division.kept.get(id(rule), "")

        def read(atom: CheckedAtom) -> CheckedAtom:
            if atom.predicate in here or atom.predicate == PART:
                return atom
            if not once and division.divides(atom.predicate) and Variable(x) in atom.terms:
                return sliced(atom, x)
            whole.add(atom.predicate)
            return atom

        holding = [a for a in rule.positives if Variable(x) in a.terms]
        within = once or any(division.divides(atom.predicate) for atom in holding)
        first = None if within or not holding else holding[0]
        positives = tuple(sliced(a, x) if a is first else read(a) for a in rule.positives)
        negatives = tuple(map(read, rule.negatives))
        if (positives, negatives) == (rule.positives, rule.negatives):
            return rule
        return copies.rule(replace(rule, positives=positives, negatives=negatives), rule)

    strata = [s._replace(rules=tuple(map(rewritten, s.rules))) for s in strata]
    rules = {rule.head.predicate: rule for s in strata for rule in s.rules}
    denials = tuple(d._replace(rule=rules[d.predicate]) for d in program.denials if d.predicate in here)
    return Stage(number, once, tuple(strata), frozenset(whole), slices, denials)


def divided(
    program: CheckedProgram, goals: Sequence[str], given: Collection[str] = ()
) -> tuple[Division | None, Copies]:
    """Divide a program for some goals; `given` are the derived predicates of which facts are given.

    Returns the division, `None` if nothing can be divided, and the origins of its rules and predicates.
    """
    copies = Copies()
    whole = _linear(_with_given(restricted(program, goals), given, copies), copies)
    best = divide(whole)
    if best is not None and (across := _read_across(best[0])):
        another = divide(_split(whole, across, copies))
        if another is not None and another[1] < best[1]:
            best = another
    return (None if best is None else best[0]), copies


def division_of(
    program: CheckedProgram, goals: Sequence[str], given: Collection[str]
) -> tuple[Division | None, tuple[Diagnostic, ...]]:
    """Division of a program, and why it is not divided or what must fit into the memory; `given` as in `divided`."""
    division, _ = divided(factored(program), goals, given)
    return division, undivided(program, goals, division)


def undivided(
    program: CheckedProgram, goals: Sequence[str], division: Division | None
) -> tuple[Diagnostic, ...]:
    """Why a program, as written, is not divided for some goals, or what in it must fit into the memory."""
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


def _read_across(division: Division) -> set[int]:
    """Identities of the rules that aggregate facts of several parts, if they can combine the aggregates of parts."""
    return {
        id(rule)
        for stratum in division.program.strata
        if not stratum.recursive
        for rule in stratum.rules
        if rule.aggregation is not None and plain(rule.aggregation) in ("count", "min", "max")
        if any(
            division.divides(atom.predicate)
            and division.stages[atom.predicate] < division.stages[rule.head.predicate]
            for atom in rule.positives
        )
    }


def _split(program: CheckedProgram, split: Collection[int], copies: Copies) -> CheckedProgram:
    """Replace rules, by their identities, by two each: one for the aggregates of parts, and one that combines them."""
    arities, strata = dict(program.arities), list[Stratum]()
    for stratum in program.strata:
        rules = list(stratum.rules)
        for i, rule in enumerate(rules):
            if id(rule) in split:
                partial, rules[i] = _partial_rules(rule, f"{PARTIAL}{len(arities)}", copies)
                arities |= {partial.head.predicate: len(partial.head.terms), PART: 1}
                strata.append(Stratum(frozenset({partial.head.predicate}), (partial,), False))
        strata.append(stratum._replace(rules=tuple(rules)))
    return replace(program, strata=tuple(strata), arities=arities)


def _partial_rules(rule: CheckedRule, name: str, copies: Copies) -> tuple[CheckedRule, CheckedRule]:
    """Split a count, minimum or maximum into aggregates of parts, and their sum, minimum or maximum.

    ``n(Y, N) :- p(X, Y), N = count(X)`` becomes ``partial(Y, P, V) :- p(X, Y), part(P), V = count(X)`` and
    ``n(Y, N) :- partial(Y, P, V), N = sum(V, <P>)``, where P is the number of the part.
    """
    found = rule.aggregation
    assert found is not None
    function = plain(found)
    part, value = ((Variable("#P"),) if function == "count" else ()), Variable("#V")
    terms = (*map(Variable, found.group), *part)
    head = CheckedAtom(name, (*terms, Variable(found.variable)), rule.head.span)
    partial = replace(
        rule,
        head=head,
        positives=(*rule.positives, *(CheckedAtom(PART, part, rule.span),) * len(part)),
        aggregation=replace(found, group=tuple(term.name for term in terms)),
        after=(),
    )
    combined = replace(
        found,
        function=("m" if found.monotonic else "") + ("sum" if part else function),
        argument=value,
        contributors=tuple(term.name for term in part or (value,)),
    )
    read = replace(head, terms=(*terms, value))
    final = replace(rule, positives=(read,), negatives=(), before=(), aggregation=combined)
    kinds: dict[str, Kind | str] = {"#P": Kind.INT, "#V": found.variable}
    copies.heads[name] = partial
    return copies.rule(partial, rule, kinds), copies.rule(final, rule, kinds)


def with_copies(kinds: Kinds, copies: Copies) -> Kinds:
    """Kinds of a program, extended to the rules and predicates made from its own.

    Kinds are copied, not inferred again, so that the division cannot change them.
    """
    arities, positions = {**kinds.arities, PART: 1}, {**kinds.positions, (PART, 0): Kind.INT}
    rules, variables, doubles = dict(kinds.rules), dict(kinds.doubles), set(kinds.double_positions)
    for number, origin in copies.rules.items():
        if isinstance(origin, str):
            here = range(arities[origin])
            rules[number] = {f"V{i}": positions[origin, i] for i in here if (origin, i) in positions}
            variables[number] = frozenset(f"V{i}" for i in here if (origin, i) in doubles)
            continue
        found, numbers = dict(rules[id(origin)]), set(variables.get(id(origin), ()))
        for name, same in copies.variables[number].items():
            if isinstance(same, Kind):
                found[name] = same
            elif same in found:
                found[name] = found[same]
                numbers |= {name} if same in numbers else set()
        rules[number], variables[number] = found, frozenset(numbers)
    for predicate, rule in copies.heads.items():
        arities[predicate] = len(rule.head.terms)
        for i, name in enumerate(rule.head.variables):
            if name in rules[id(rule)]:
                positions[predicate, i] = rules[id(rule)][name]
            if name in variables[id(rule)]:
                doubles.add((predicate, i))
    for predicate, source in copies.predicates.items():
        arities[predicate] = arities[source]
        for i in range(arities[source]):
            if (source, i) in positions:
                positions[predicate, i] = positions[source, i]
            if (source, i) in doubles:
                doubles.add((predicate, i))
    return replace(
        kinds,
        arities=arities,
        positions=positions,
        rules=rules,
        doubles=variables,
        double_positions=frozenset(doubles),
    )
