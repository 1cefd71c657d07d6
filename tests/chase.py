"""The oblivious chase, word by word: the oracle for whatever invents nulls.

Each way to match a rule's body with facts, told apart by all its variables, makes nulls of its own; so this chase makes
more nulls than the engine, and ends less often. What both say about constants is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from hypothesis import assume

from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Filter
from kgreason.language.syntax.syntax_tree import Binary, Constant, Variable
from kgreason.language.values import Null, Value

Fact = tuple[str, tuple[Value, ...]]
Binding = dict[str, Value]
STEPS = 3_000
COMPARE = {"==": operator.eq, "!=": operator.ne}


class Unequal(Exception):
    """Two constants should be one."""


class Oblivious:
    """The chase of a program, a round at a time: all rules on all facts of the round before.

    A stratum stops growing beyond `most` facts; `complete` tells whether all came to an end before.
    """

    def __init__(
        self, program: CheckedProgram, facts: Mapping[str, Iterable[tuple[Value, ...]]], most: int = 400
    ):
        self.program = program
        self.facts: dict[Fact, None] = {(p, tuple(row)): None for p, rows in facts.items() for row in rows}
        self.facts |= {(a.predicate, tuple(t.value for t in a.terms)): None for a in program.facts}
        self.nulls: dict[object, Null] = {}
        self.last = max((v.number for _, row in self.facts for v in row if isinstance(v, Null)), default=0)
        self.most = most
        self.complete = False

    def run(self, rounds: int) -> Oblivious:
        self.complete = True
        for stratum in self.program.strata:
            for _ in range(rounds):
                every = (fact for rule in stratum.rules for fact in self.consequences(rule))
                new = list(islice(every, 20 * self.most))  # one round can multiply the facts
                before = len(self.facts)
                self.facts |= dict.fromkeys(new)
                if len(new) == 20 * self.most:
                    self.complete = False
                    break
                merged = self.unify()
                if len(self.facts) == before and not merged:
                    break
                if len(self.facts) > self.most:
                    self.complete = False
                    break
            else:
                self.complete = False
        return self

    def again(self, rounds: int) -> Oblivious:
        """For dependencies: all strata until nothing changes, or `rounds` are over."""
        for _ in range(rounds):
            before = dict(self.facts)
            self.run(rounds)
            if not self.complete or before == self.facts:
                break
        return self

    def consequences(self, rule: CheckedRule) -> Iterator[Fact]:
        groups: dict[tuple[Value, ...], tuple[Binding, set[tuple[Value, ...]]]] = {}
        for binding in self.body(rule):
            if rule.aggregation is None:
                yield self.head(rule, binding)
                continue
            assert rule.aggregation.function in ("count", "mcount")
            key = tuple(binding[v] for v in rule.aggregation.group)
            group = groups.setdefault(key, (binding, set()))
            group[1].add(tuple(binding[v] for v in rule.aggregation.contributors))
        for binding, contributors in groups.values():
            yield self.head(rule, {**binding, rule.aggregation.variable: len(contributors)})

    def body(self, rule: CheckedRule) -> Iterator[Binding]:
        for binding in self.matches(rule.positives, {}):
            if any(next(self.matches((atom,), binding), None) is not None for atom in rule.negatives):
                continue
            if all(holds(step, binding) for step in rule.before):
                yield binding

    def matches(self, atoms: tuple[CheckedAtom, ...], binding: Binding) -> Iterator[Binding]:
        if not atoms:
            yield binding
            return
        for predicate, row in list(self.facts):
            if predicate == atoms[0].predicate and len(row) == len(atoms[0].terms):
                extended = dict(binding)
                if all(agrees(t, v, extended) for t, v in zip(atoms[0].terms, row, strict=True)):
                    yield from self.matches(atoms[1:], extended)

    def head(self, rule: CheckedRule, binding: Binding) -> Fact:
        for invention in rule.inventions:
            made = {i.variable for i in rule.inventions}
            key = (
                invention.function,
                *sorted(((v, x) for v, x in binding.items() if v not in made), key=operator.itemgetter(0)),
            )
            if key not in self.nulls:
                self.last += 1
                self.nulls[key] = Null(self.last)
            binding = {**binding, invention.variable: self.nulls[key]}
        row = tuple(t.value if isinstance(t, Constant) else binding[t.name] for t in rule.head.terms)
        return rule.head.predicate, row

    def unify(self) -> bool:
        """Carry out one step of a dependency on all facts and all that is remembered; tells whether there was one."""
        hidden = {u.predicate for u in self.program.unifications}
        merged = False
        while pair := next((row for p, row in self.facts if p in hidden and row[0] != row[1]), None):
            a, b = pair[:2]
            if not isinstance(a, Null) and not isinstance(b, Null):
                raise Unequal(f"{a} {b}")
            old, new = (a, b) if isinstance(a, Null) else (b, a)
            self.facts = {(p, tuple(new if v == old else v for v in row)): None for p, row in self.facts}
            self.nulls = {
                tuple((k[0], new) if isinstance(k, tuple) and k[1] == old else k for k in key): (
                    new if null == old else null
                )
                for key, null in self.nulls.items()
            }
            merged = True
        return merged


def holds(step: Filter, binding: Binding) -> bool:
    assert isinstance(step, Filter)
    assert isinstance(step.expression, Binary)
    left, right = (
        side.value if isinstance(side, Constant) else binding[side.name]
        for side in (step.expression.left, step.expression.right)
    )
    return COMPARE[step.expression.operator](left, right)


def agrees(term: Constant | Variable, value: Value, binding: Binding) -> bool:
    if isinstance(term, Constant):
        return term.value == value
    return binding.setdefault(term.name, value) == value


def ground(facts: Iterable[Fact]) -> set[Fact]:
    """Facts without nulls."""
    return {(p, row) for p, row in facts if not any(isinstance(v, Null) for v in row)}


def homomorphism(source: Iterable[Fact], target: Iterable[Fact]) -> bool:
    """Whether nulls can be replaced by values so that every fact of the source becomes one of the target.

    The search can take for ever; after very many steps hypothesis is told to draw another example.
    """
    there: dict[tuple[str, int], list[tuple[Value, ...]]] = {}
    for predicate, row in target:
        there.setdefault((predicate, len(row)), []).append(row)
    steps = iter(range(STEPS))
    return all(_embed(part, {}, there, steps) for part in _components(source))


def _components(facts: Iterable[Fact]) -> list[list[Fact]]:
    """Facts that share nulls, one after another."""
    parts: list[tuple[set[Value], list[Fact]]] = []
    for fact in facts:
        nulls: set[Value] = {v for v in fact[1] if isinstance(v, Null)}
        touched = [p for p in parts if p[0] & nulls]
        parts = [p for p in parts if not p[0] & nulls]
        parts.append((nulls.union(*(p[0] for p in touched)), [f for p in touched for f in p[1]] + [fact]))
    return [part for _, part in parts]


def _embed(
    facts: list[Fact],
    images: dict[Value, Value],
    there: dict[tuple[str, int], list[tuple[Value, ...]]],
    steps: Iterator[int],
) -> bool:
    if not facts:
        return True
    assume(next(steps, None) is not None)

    def candidates(fact: Fact) -> list[dict[Value, Value]]:
        found = []
        for row in there.get((fact[0], len(fact[1])), ()):
            extended = dict(images)
            if all(
                extended.setdefault(v, w) == w if isinstance(v, Null) else v == w
                for v, w in zip(fact[1], row, strict=True)
            ):
                found.append(extended)
        return found

    options = {fact: candidates(fact) for fact in facts}
    fact = min(facts, key=lambda f: len(options[f]))  # the one with the fewest images first
    rest = [f for f in facts if f != fact]
    distinct = {tuple(sorted(o.items(), key=str)): o for o in options[fact]}
    return any(_embed(rest, option, there, steps) for option in distinct.values())
