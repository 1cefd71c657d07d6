"""Top-down search for proofs of minimal height, guided by known heights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kgreason.base.records import record
from kgreason.engine.expressions.compiled_expressions import has_skolem
from kgreason.engine.relations.symbols import Codes
from kgreason.language.check.checked_program import Assign, CheckedRule
from kgreason.language.syntax.syntax_tree import Constant, Variable
from kgreason.language.values import Value
from kgreason.provenance.body_matching import Batch, Binding, Matcher, Premise, decoded_row, encode, matchers
from kgreason.provenance.contributions import Group, Part, agree, group_of, groups, named, written
from kgreason.provenance.equalities import Equations
from kgreason.provenance.proof_tree import (
    Contribution,
    Identified,
    Lookup,
    Proof,
    Total,
    atom_text,
    note,
    shown,
    step_text,
)
from kgreason.provenance.traces import Trace


@record
class Derivation:
    """Application of a rule."""

    matcher: Matcher
    binding: Binding
    premises: tuple[Premise, ...] = ()
    group: Group | None = None

    def below(self) -> Iterator[Premise]:
        """Facts on which the step depends."""
        yield from self.premises
        for part in self.group.parts if self.group else ():
            yield from part.match.premises[: len(self.matcher.rule.shown)]


@record
class Joint:
    """Union of the contributions of several rules or rounds, and of given facts (as rows)."""

    parts: tuple[Derivation, ...]
    given: tuple[Codes, ...] = ()

    def below(self) -> Iterator[Premise]:
        """Facts on which the union depends."""
        for part in self.parts:
            yield from part.below()


class Search:
    """Search for proofs over one trace; each fact is proved once."""

    def __init__(self, found: Trace, lookup: Lookup, equations: Equations) -> None:
        self.found, self.lookup, self.equations = found, lookup, equations
        self.matchers = matchers(found)
        self.proofs: dict[Premise, Proof] = {}

    def prove(self, goals: Sequence[Premise]) -> list[Proof]:
        """A proof for each fact."""
        steps: dict[Premise, Derivation | Joint | None] = {}
        waiting = [goal for goal in goals if goal not in self.proofs]
        while waiting:
            premise = waiting.pop()
            if premise in steps or premise in self.proofs:
                continue
            step = steps[premise] = self.derive(premise)
            waiting += step.below() if step else ()
        for premise in _dependencies_first(steps):
            self.proofs[premise] = self._proof(premise, steps[premise])
        return [self.proofs[goal] for goal in goals]

    # --- derivations ----------------------------------------------------------------------------------------

    def derive(self, premise: Premise) -> Derivation | Joint | None:
        """Last step of a proof of minimal height; `None` for a given fact.

        Within one round of a recursion, a rule may read values that a preceding rule has improved in place; a
        keyed fact may therefore depend on facts of its own height.
        """
        height = int(self.found.known[premise[0]].heights[premise[1]])
        keyed = self.found.program.keyed.get(premise[0])
        unites = keyed is not None and keyed.keep == "union"
        if height == 0:
            row = self.found.known[premise[0]].rows[premise[1]]
            is_given = not unites or (self.found.given[premise[0]] == row).all(axis=1).any()
            return None if is_given else self._joint(premise, 0)
        for level in (height, height + 1):
            found = self._derive(premise, level) or (self._joint(premise, level) if unites else None)
            if found is not None:
                return found
        return None

    def _joint(self, premise: Premise, height: int) -> Joint | None:
        """Given facts and contributions of all rules that together form a union, each of which adds elements."""
        predicate, number = premise
        known, position = self.found.known[predicate], self.found.program.keyed[predicate].position
        values = self.values(premise)
        wanted = values[position]
        assert isinstance(wanted, frozenset)
        row = known.rows[number].tolist()
        missing, parts, given = wanted, list[Derivation](), list[Codes]()
        for fact in self.found.given[predicate]:
            own = self.decoded(predicate, fact)[position]
            if (np.delete(fact, position) == np.delete(row, position)).all() and own & missing:  # type: ignore[operator]
                given.append(fact)
                missing -= own  # type: ignore[operator]
        for matcher in self.matchers.get(predicate, ()):
            others = (*values[:position], None, *values[position + 1 :])
            head = matcher.aim(others)
            for part in self._parts(matcher, head, height, missing, position) if head is not None else ():
                found = self._derived_set(part, position)
                if found <= wanted and found & missing and premise not in part.below():
                    parts.append(part)
                    missing -= found
        return None if missing else Joint(tuple(parts), tuple(given))

    def _parts(
        self, matcher: Matcher, head: Binding, height: int, missing: frozenset[Value], position: int
    ) -> Iterator[Derivation]:
        """Applications of a rule that derive sets for one key; of an aggregate, contributions with missing elements."""
        aggregation = matcher.body.aggregation
        if aggregation is None:
            for batch in matcher.matches(head, height):
                yield from (self._plain(matcher, batch, row) for row in range(batch.size))
            return
        split = matcher.body.head.terms[position] == Variable(aggregation.variable)
        for whole in groups(matcher, aggregation, head, height if matcher.rule.recursive else None):
            if not split:  # the rule derives other values than the union itself
                done = matcher.steps(matcher.body.after, whole.binding)
                if done is not None and whole.height < height:
                    yield Derivation(matcher, done, group=whole)
                continue
            chosen: list[Part] = []
            for part in sorted(whole.parts, key=lambda p: p.match.height):
                elements = part.value if isinstance(part.value, frozenset) else frozenset({part.value})
                if part.match.height < height and elements & missing:
                    chosen.append(part)
                    missing -= elements
            if chosen:
                group = group_of(matcher, aggregation, whole, chosen)
                done = matcher.steps(matcher.body.after, group.binding)
                if done is not None:
                    yield Derivation(matcher, done, group=group)

    def _derived_set(self, part: Derivation, position: int) -> frozenset[Value]:
        """The part of a union that a rule derives."""
        term, matcher = part.matcher.body.head.terms[position], part.matcher
        if isinstance(term, Constant):
            value = term.value
        else:
            (value,) = matcher.values(part.binding, [term.name])
        return value if isinstance(value, frozenset) else frozenset({value})

    def _derive(self, premise: Premise, height: int) -> Derivation | None:
        values = self.values(premise)
        for matcher in self.matchers.get(premise[0], ()):
            head = matcher.aim(values)
            found = None if head is None else self._apply(matcher, head, height)
            if found is not None and premise not in found.below():
                return found
        return None

    def _apply(self, matcher: Matcher, head: Binding, height: int) -> Derivation | None:
        aggregation = matcher.body.aggregation
        if aggregation is None:
            found = next((batch for batch in matcher.matches(head, height) if batch.size), None)
            return None if found is None else self._plain(matcher, found, 0)
        below = height if matcher.rule.recursive else None
        for group in groups(matcher, aggregation, head, below):
            done = matcher.steps(matcher.body.after, group.binding)
            if done is not None and group.height < height and agree(matcher, head, done):
                return Derivation(matcher, done, group=group)
        return None

    def _plain(self, matcher: Matcher, batch: Batch, row: int) -> Derivation:
        found = matcher.match(batch, row)
        return Derivation(matcher, found.binding, found.premises[: len(matcher.rule.shown)])

    # --- proofs ---------------------------------------------------------------------------------------------

    def _proof(self, premise: Premise, step: Derivation | Joint | None) -> Proof:
        predicate, number = premise
        values = self.values(premise)
        height = int(self.found.known[predicate].heights[number])
        if step is None:
            row = self.found.known[predicate].rows[number]
            if height == 0:
                return self._given(predicate, row)
            return Proof(predicate, values, height=height, notes=("it could not be traced any further",))
        height = max(height, 1 + max((self.proofs[p].height for p in step.below()), default=0))
        if isinstance(step, Joint):
            return self._union(premise, values, step, height)
        return self._applied(predicate, values, step, height, self._final(premise))

    def _given(self, predicate: str, row: Codes) -> Proof:
        kinds, values = self.found.known[predicate].kinds, self.decoded(predicate, row)
        given, identified = self.equations.of_given(predicate, kinds, row, values, self.found.run)
        height = 1 + max((p.height for i in identified for p in i.chain), default=-1)
        source = self.lookup(predicate, given)
        return Proof(predicate, values, source=source, height=height, identified=identified)

    def _union(self, premise: Premise, values: tuple[Value, ...], joint: Joint, height: int) -> Proof:
        predicate = premise[0]
        position = self.found.program.keyed[predicate].position
        premises = [self._given(predicate, row) for row in joint.given]
        for part in joint.parts:
            own = (*values[:position], self._derived_set(part, position), *values[position + 1 :])
            level = 1 + max((self.proofs[p].height for p in part.below()), default=0)
            premises.append(self._applied(predicate, own, part, level, None))
        height = max([height, *(1 + p.height for p in premises)])
        note = f"the union of {len(premises)} parts"
        final = self._final(premise)
        return Proof(predicate, values, premises=tuple(premises), height=height, notes=(note,), final=final)

    def _applied(
        self, predicate: str, values: tuple[Value, ...], step: Derivation, height: int, final: Value | None
    ) -> Proof:
        matcher, rule = step.matcher, step.matcher.rule.rule
        binding = named(matcher, step.binding)
        every = matcher.named(step.binding)
        body = matcher.body
        steps = body.after if body.aggregation else body.before
        identified = tuple(self._identified(rule, every))
        height = max([height, *(1 + p.height for i in identified for p in i.chain)])
        return Proof(
            predicate,
            values,
            note(rule),
            binding,
            tuple(self.proofs[p] for p in step.premises),
            tuple(step_text(s, every) for s in steps if not _trivial(s)),
            () if body.aggregation else tuple(atom_text(a, every) for a in body.negatives),
            self._total(step) if step.group else None,
            None,
            height,
            final,
            identified=identified,
        )

    def values(self, premise: Premise) -> tuple[Value, ...]:
        """Python values of a fact."""
        return self.decoded(premise[0], self.found.known[premise[0]].rows[premise[1]])

    def decoded(self, predicate: str, row: Codes) -> tuple[Value, ...]:
        """Python values of a row of a predicate."""
        return decoded_row(self.found.known[predicate].kinds, row, self.found.symbols)

    def code(self, predicate: str, position: int, value: Value | None) -> int | None:
        """Code of a value at a position; `None` if it cannot occur there."""
        if value is None:
            return None
        kind = self.found.known[predicate].kinds[position]
        return encode(value, kind, self.found.symbols, (predicate, position) in self.found.doubles)

    def _total(self, step: Derivation) -> Total:
        matcher, group = step.matcher, step.group
        aggregation = matcher.body.aggregation
        assert aggregation is not None
        assert group is not None
        contributions = tuple(self._contribution(matcher, part) for part in group.parts)
        return Total(
            aggregation.variable,
            aggregation.function,
            written(matcher.rule.rule),
            group.total,
            contributions,
            group.size - len(contributions),
        )

    def _contribution(self, matcher: Matcher, part: Part) -> Contribution:
        body, match = matcher.body, part.match
        every = matcher.named(match.binding)
        return Contribution(
            part.contributor,
            part.value,
            tuple(self.proofs[p] for p in match.premises[: len(matcher.rule.shown)]),
            tuple(step_text(s, every) for s in body.before if not _trivial(s)),
            tuple(atom_text(a, every) for a in body.negatives),
        )

    def _final(self, premise: Premise) -> Value | None:
        predicate, number = premise
        known, keyed = self.found.known[predicate], self.found.program.keyed.get(predicate)
        if keyed is None or known.final[number]:
            return None
        columns = tuple(i for i in range(len(known.kinds)) if i != keyed.position)
        same = known.find(columns, known.rows[number, list(columns)].tolist())
        last = next((int(n) for n in same if known.final[n]), None)
        return None if last is None else self.values((predicate, last))[keyed.position]

    def _identified(self, rule: CheckedRule, values: dict[str, Value]) -> Iterator[Identified]:
        """Nulls created by the rule that have been replaced by other values."""
        run = self.found.run
        if not self.equations.changed(run):
            return
        for invention in rule.inventions:
            value = values.get(invention.variable)
            if value is not None:
                null = self.equations.made(invention.function, [values[n] for n in invention.frontier], run)
                yield from self.equations.identified(invention.variable, null, value, run)
        for step in (*rule.before, *rule.after):
            if isinstance(step, Assign) and step.variable in values and has_skolem(step.expression):
                name = step.variable if shown(step.variable) else str(step.expression)
                made = self.equations.evaluated(step.expression, values, run)
                yield from self.equations.identified(name, made, values[step.variable], run)
            elif not isinstance(step, Assign):
                yield from self.equations.of_condition(step.expression, values, run)


def _dependencies_first(steps: dict[Premise, Derivation | Joint | None]) -> Iterator[Premise]:
    """Facts in dependency order, dependencies first; cycles are cut by dropping a derivation."""
    done: set[Premise] = set()
    for start in list(steps):
        path = [start]
        open_: dict[Premise, Iterator[Premise]] = {}
        while path:
            premise = path[-1]
            if premise not in open_:
                step = steps[premise]
                open_[premise] = step.below() if step and premise not in done else iter(())
            below = next((p for p in open_[premise] if p in steps and p not in done), None)
            if below is None:
                path.pop()
                if premise not in done:
                    done.add(premise)
                    yield premise
            elif below in open_:
                steps[premise], open_[premise] = None, iter(())
            else:
                path.append(below)


def _trivial(step: object) -> bool:
    """Whether a step only names a constant or a term of the head."""
    return isinstance(step, Assign) and (
        not shown(step.variable) or isinstance(step.expression, Constant | Variable)
    )
