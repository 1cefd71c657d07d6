"""Proofs of minimal height, found from the top down along known heights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kgreason.analysis.checked import Aggregation, Assign, CheckedRule
from kgreason.engine.table import Codes, Kind, decode
from kgreason.lang.ast import Constant, Variable
from kgreason.lang.values import Value
from kgreason.plan.ir import plain
from kgreason.provenance.equations import Equations, skolem
from kgreason.provenance.match import Binding, Match, Matcher, Premise, encode, matchers
from kgreason.provenance.proof import Bound, Contribution, Identified, Proof, Total
from kgreason.provenance.totals import EXTREMES, better, total
from kgreason.provenance.trace import Trace
from kgreason.provenance.words import atom_text, note, shown, step_text

Lookup = Callable[[str, tuple[Value, ...]], str | None]
"""Where a given fact comes from."""


@dataclass(frozen=True, slots=True)
class Part:
    """One contribution of a group: values of the contributor, its value, and the match that gives it."""

    contributor: tuple[int, ...]
    value: Value
    match: Match


@dataclass(frozen=True, slots=True)
class Group:
    """A group of an aggregate: its binding with the total and what follows from it, and its contributions."""

    binding: Binding
    total: Value
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One application of a rule."""

    matcher: Matcher
    binding: Binding
    premises: tuple[Premise, ...] = ()
    group: Group | None = None

    def below(self) -> Iterator[Premise]:
        """Facts that it rests on."""
        yield from self.premises
        for part in self.group.parts if self.group else ():
            yield from part.match.premises[: len(self.matcher.rule.shown)]


@dataclass(frozen=True, slots=True)
class Joint:
    """The union of what several rules, or several rounds of one, give."""

    parts: tuple[Derivation, ...]

    def below(self) -> Iterator[Premise]:
        """Facts that it rests on."""
        for part in self.parts:
            yield from part.below()


class Search:
    """Proofs of facts of one trace; facts that several proofs need are proved once."""

    def __init__(self, found: Trace, lookup: Lookup, equations: Equations) -> None:
        self.found, self.lookup, self.equations = found, lookup, equations
        self.matchers = matchers(found)
        self.proofs: dict[Premise, Proof] = {}

    def prove(self, goals: Sequence[Premise]) -> list[Proof]:
        """One proof for each fact."""
        steps: dict[Premise, Derivation | Joint | None] = {}
        waiting = [goal for goal in goals if goal not in self.proofs]
        while waiting:
            premise = waiting.pop()
            if premise in steps or premise in self.proofs:
                continue
            step = steps[premise] = self.derive(premise)
            waiting += step.below() if step else ()
        for premise in _upwards(steps):
            self.proofs[premise] = self._proof(premise, steps[premise])
        return [self.proofs[goal] for goal in goals]

    # --- derivations ----------------------------------------------------------------------------------------

    def derive(self, premise: Premise) -> Derivation | Joint | None:
        """The last step of a lowest proof; `None` for a given fact.

        Within one round of a recursion, a rule may see what a rule before it has improved in place, so what is under a
        key may rest on facts of its own height.
        """
        height = int(self.found.known[premise[0]].heights[premise[1]])
        if height == 0:
            return None
        found: Derivation | Joint | None = self._derive(premise, height) or self._derive(premise, height + 1)
        if found is None and self._unites(premise[0]):
            found = self._joint(premise, height) or self._joint(premise, height + 1)
        return found

    def _unites(self, predicate: str) -> bool:
        keyed = self.found.program.keyed.get(predicate)
        return keyed is not None and keyed.keep == "union"

    def _joint(self, premise: Premise, height: int) -> Joint | None:
        """Contributions of all rules that give parts of a union, each with something that those before lack."""
        predicate, number = premise
        known, position = self.found.known[predicate], self.found.program.keyed[predicate].position
        wanted = self.values(premise)[position]
        assert isinstance(wanted, frozenset)
        row = known.rows[number].tolist()
        missing, parts = wanted, list[Derivation]()
        for matcher in self.matchers.get(predicate, ()):
            term = matcher.body.head.terms[position]
            if not isinstance(matcher, Matcher) or not isinstance(term, Variable):
                continue
            head = matcher.unify(known.kinds, row)
            if head is None:
                continue
            del head[term.name]
            for piece in self._pieces(matcher, head, height, missing):
                given = self._given_by(piece, term.name)
                if given <= wanted and given & missing and premise not in piece.below():
                    parts.append(piece)
                    missing -= given
        return None if missing else Joint(tuple(parts))

    def _pieces(
        self, matcher: Matcher, head: Binding, height: int, missing: frozenset[Value]
    ) -> Iterator[Derivation]:
        """Applications of a rule that give sets under one key; of an aggregate, contributions of what is missing."""
        aggregation = matcher.body.aggregation
        if aggregation is None:
            for found in matcher.matches(head, height):
                yield Derivation(matcher, found.binding, found.premises[: len(matcher.rule.shown)])
            return
        for whole in groups(matcher, aggregation, head, height if matcher.rule.recursive else None):
            chosen: list[Part] = []
            for part in sorted(whole.parts, key=lambda p: p.match.height):
                given = part.value if isinstance(part.value, frozenset) else frozenset({part.value})
                if part.match.height < height and given & missing:
                    chosen.append(part)
                    missing -= given
            if chosen:
                group = group_of(matcher, aggregation, whole, chosen)
                done = matcher.steps(matcher.body.after, group.binding)
                if done is not None:
                    yield Derivation(matcher, done, group=group)

    def _given_by(self, part: Derivation, variable: str) -> frozenset[Value]:
        value = part.matcher.value(part.matcher.kinds[variable], part.binding[variable])
        return value if isinstance(value, frozenset) else frozenset({value})

    def _derive(self, premise: Premise, height: int) -> Derivation | None:
        predicate, number = premise
        known = self.found.known[predicate]
        for matcher in self.matchers.get(predicate, ()):
            if not isinstance(matcher, Matcher):
                continue
            head = matcher.unify(known.kinds, known.rows[number].tolist())
            found = None if head is None else self._apply(matcher, head, height)
            if found is not None and premise not in found.below():
                return found
        return None

    def _apply(self, matcher: Matcher, head: Binding, height: int) -> Derivation | None:
        aggregation = matcher.body.aggregation
        if aggregation is None:
            found = next(matcher.matches(head, height), None)
            if found is None:
                return None
            premises = found.premises[: len(matcher.rule.shown)]
            return Derivation(matcher, found.binding, premises)
        below = height if matcher.rule.recursive else None
        for group in groups(matcher, aggregation, head, below):
            done = matcher.steps(matcher.body.after, group.binding)
            lower = all(part.match.height < height for part in group.parts)
            if done is not None and lower and agree(matcher, head, done):
                return Derivation(matcher, done, group=group)
        return None

    # --- proofs ---------------------------------------------------------------------------------------------

    def _proof(self, premise: Premise, step: Derivation | Joint | None) -> Proof:
        predicate, number = premise
        values = self.values(premise)
        height = int(self.found.known[predicate].heights[number])
        if step is None:
            return self._given(premise, values) if height == 0 else _untraced(predicate, values, height)
        height = max(height, 1 + max((self.proofs[p].height for p in step.below()), default=0))
        if isinstance(step, Joint):
            return self._union(premise, values, step, height)
        return self._applied(predicate, values, step, height, self._final(premise))

    def _given(self, premise: Premise, values: tuple[Value, ...]) -> Proof:
        predicate, number = premise
        known = self.found.known[predicate]
        row, run = known.rows[number], self.found.run
        given, identified = self.equations.of_given(predicate, known.kinds, row, values, run)
        height = 1 + max((p.height for i in identified for p in i.chain), default=-1)
        source = self.lookup(predicate, given)
        return Proof(predicate, values, source=source, height=height, identified=identified)

    def _union(self, premise: Premise, values: tuple[Value, ...], joint: Joint, height: int) -> Proof:
        predicate = premise[0]
        position = self.found.program.keyed[predicate].position
        premises = []
        for part in joint.parts:
            term = part.matcher.body.head.terms[position]
            assert isinstance(term, Variable)
            own = (*values[:position], self._given_by(part, term.name), *values[position + 1 :])
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
        every = {n: matcher.value(matcher.kinds[n], c) for n, c in step.binding.items()}
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
            tuple(step_text(s, every) for s in steps if not _plumbing(s)),
            () if body.aggregation else tuple(atom_text(a, every) for a in body.negatives),
            self._total(step) if step.group else None,
            None,
            height,
            final,
            identified=identified,
        )

    def values(self, premise: Premise) -> tuple[Value, ...]:
        """Python values of a fact."""
        known = self.found.known[premise[0]]
        return decoded_row(known.kinds, known.rows[premise[1]], self.found)

    def _total(self, step: Derivation) -> Total:
        matcher, group = step.matcher, step.group
        aggregation = matcher.body.aggregation
        assert aggregation is not None
        assert group is not None
        width = len(matcher.rule.shown)
        contributions = [
            Contribution(
                tuple(
                    (name, matcher.value(matcher.kinds[name], cell))
                    for name, cell in zip(aggregation.contributors, part.contributor, strict=True)
                    if shown(name) and name not in aggregation.group
                ),
                part.value,
                tuple(self.proofs[p] for p in part.match.premises[:width]),
            )
            for part in group.parts
        ]
        return Total(
            aggregation.variable,
            aggregation.function,
            written(aggregation),
            group.total,
            tuple(contributions),
        )

    def _final(self, premise: Premise) -> Value | None:
        """The last value of a fact that a recursion improved."""
        predicate, number = premise
        known, keyed = self.found.known[predicate], self.found.program.keyed.get(predicate)
        if keyed is None or known.final is None or known.final[number]:
            return None
        columns = tuple(i for i in range(len(known.kinds)) if i != keyed.position)
        same = known.find(columns, known.rows[number, list(columns)].tolist())
        last = next((int(n) for n in same if known.final[n]), None)
        return None if last is None else self.values((predicate, last))[keyed.position]

    def _identified(self, rule: CheckedRule, values: dict[str, Value]) -> Iterator[Identified]:
        """Nulls that the rule makes, where they are something else by now."""
        run = self.found.run
        if not self.equations.changed(run):
            return
        for invention in rule.inventions:
            value = values.get(invention.variable)
            if value is not None:
                frontier = [values[name] for name in invention.frontier]
                name = invention.variable
                yield from self.equations.of_null(name, invention.function, frontier, value, run)
        for step in (*rule.before, *rule.after):
            if isinstance(step, Assign) and step.variable in values and skolem(step.expression):
                name = step.variable if shown(step.variable) else str(step.expression)
                value = values[step.variable]
                yield from self.equations.of_term(name, step.expression, values, value, run)
            elif not isinstance(step, Assign):
                yield from self.equations.of_condition(step.expression, values, run)


def _untraced(predicate: str, values: tuple[Value, ...], height: int) -> Proof:
    return Proof(predicate, values, height=height, notes=("it could not be traced any further",))


def _upwards(steps: dict[Premise, Derivation | Joint | None]) -> Iterator[Premise]:
    """Facts, each behind those that it rests on; one that would rest on itself is left without a derivation."""
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


def groups(matcher: Matcher, aggregation: Aggregation, head: Binding, below: int | None) -> list[Group]:
    """Groups that agree with a head, each with its total and its contributions; conditions on the total come later."""
    start = {name: head[name] for name in aggregation.group if name in head}
    found = list(matcher.matches(start, below))
    name = plain(aggregation)
    values: list[Value] = [1] * len(found)
    if name != "count" and aggregation.argument is not None and found:
        kind = matcher.kind(aggregation.argument)
        codes = matcher.compute(aggregation.argument, [m.binding for m in found])
        values = [matcher.value(kind, c) for c in codes]
    sorted_out: dict[tuple[int, ...], dict[object, Part]] = {}
    for match, value in sorted(zip(found, values, strict=True), key=lambda pair: pair[0].height):
        group = tuple(match.binding[v] for v in aggregation.group)
        contributor = tuple(match.binding[v] for v in aggregation.contributors)
        one = (contributor, match.premises if name == "union" else ())  # a union takes all values of each
        parts = sorted_out.setdefault(group, {})
        old = parts.get(one)
        if old is None or (name != "count" and better(name, value, old.value)):
            parts[one] = Part(contributor, value, match)
    return [
        _group(matcher, aggregation, name, cells, list(parts.values())) for cells, parts in sorted_out.items()
    ]


def group_of(matcher: Matcher, aggregation: Aggregation, whole: Group, parts: list[Part]) -> Group:
    """Some contributions of a group, with their own total."""
    cells = tuple(whole.binding[name] for name in aggregation.group)
    return _group(matcher, aggregation, plain(aggregation), cells, parts)


def _group(
    matcher: Matcher, aggregation: Aggregation, name: str, cells: tuple[int, ...], parts: list[Part]
) -> Group:
    value = total(name, [part.value for part in parts])
    binding = dict(zip(aggregation.group, cells, strict=True))
    cell = encode(value, matcher.kinds[aggregation.variable], matcher.symbols)
    assert cell is not None
    if name == "union" and aggregation.monotonic and matcher.rule.recursive:
        parts = _largest(parts)
    if name in EXTREMES and aggregation.monotonic and matcher.rule.recursive:
        parts = [next(part for part in parts if part.value == value)]
    return Group({**binding, aggregation.variable: cell}, value, tuple(sorted(parts, key=_weight)))


def _largest(parts: Sequence[Part]) -> list[Part]:
    """Contributions to a union without the smaller sets that a contributor had on the way to a larger one."""

    def smaller(one: Part, other: Part) -> bool:
        sets = isinstance(one.value, frozenset) and isinstance(other.value, frozenset)
        return sets and one.contributor == other.contributor and one.value < other.value  # type: ignore[operator]

    return [part for part in parts if not any(smaller(part, other) for other in parts)]


def _weight(part: Part) -> tuple[float, str]:
    value = part.value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (-float(value) if number else 0.0, str(part.contributor))  # type: ignore[arg-type]


def agree(matcher: Matcher, head: Binding, found: Binding) -> bool:
    """Whether a binding gives the head its values, up to the rounding of doubles."""
    return all(matcher.same(cell, found[n], matcher.kinds[n]) for n, cell in head.items() if n in found)


def named(matcher: Matcher, binding: Binding) -> Bound:
    """Variables that the rule names, with their values."""
    names = [n for n in binding if shown(n)]
    return tuple(zip(names, matcher.values(binding, names), strict=True))


def written(aggregation: Aggregation) -> str:
    """An aggregate as a rule writes it."""
    inside = [str(aggregation.argument)] if aggregation.argument is not None else []
    names = [name for name in aggregation.contributors if shown(name)]
    inside += [f"<{', '.join(names)}>"] if names else []
    return f"{aggregation.function}({', '.join(inside)})"


def _plumbing(step: object) -> bool:
    """Whether a step only names a constant or a term of the head."""
    return isinstance(step, Assign) and (
        not shown(step.variable) or isinstance(step.expression, Constant | Variable)
    )


def decoded_row(kinds: Sequence[Kind], row: Codes, found: Trace) -> tuple[Value, ...]:
    """Python values of a coded row."""
    return tuple(decode(kind, row[i : i + 1], found.symbols)[0] for i, kind in enumerate(kinds))
