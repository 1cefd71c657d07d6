"""What keeps one rule from giving a fact: the first thing in its body that fails, in the match that gets furthest.

A body is followed as it is written, except that what has no value yet waits: conditions for their variables, atoms
until they share a variable with what stands before them, or with the goal. So does a step that cannot be carried out
with the values at hand: a run sees only those of which all facts of the body are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgreason.analysis.checked import Aggregation, Assign, CheckedAtom, Filter, Step
from kgreason.engine.table import Kind
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Binary, Constant, Variable
from kgreason.lang.values import Value, source
from kgreason.plan.place import variables
from kgreason.provenance.equations import differences
from kgreason.provenance.groups import Group, groups, named, written
from kgreason.provenance.match import Binding, Matcher
from kgreason.provenance.proof import EQUAL, Bound, Proof, atom_text, bound, shown, step_text
from kgreason.provenance.search import Search

MOST = 50_000
"""Facts tried for one rule; what got furthest by then is told."""

SHOWN = 3
"""Facts told of the step that gives a fact which should not hold."""

COUNTED = 20
"""Contributions told of an aggregate that falls short."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What fails in the match that gets furthest.

    Attributes
    ----------
    kind, unmet, words, met
        As in `kgreason.provenance.proof.Reason`.
    near
        The part of the body that holds.
    missing
        The atom of which there is no fact.
    unlike
        What the rule makes, and the value that it should be.
    """

    kind: str
    unmet: str
    words: str
    binding: Bound = ()
    met: tuple[str, ...] = ()
    near: float = 0.0
    missing: tuple[str, tuple[Value | None, ...]] | None = None
    unlike: tuple[Value, Value] | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """Something in a body, and the variables that it waits for."""

    part: CheckedAtom | Step
    negated: bool = False
    needs: frozenset[str] = frozenset()

    @property
    def positive(self) -> bool:
        return isinstance(self.part, CheckedAtom) and not self.negated

    @property
    def hidden(self) -> bool:
        return isinstance(self.part, CheckedAtom) and self.part.predicate.startswith("#")

    def ready(self, binding: Binding) -> bool:
        if not self.positive:
            return self.needs <= binding.keys()
        assert isinstance(self.part, CheckedAtom)
        if self.hidden:
            return all(name in binding for name in self.part.variables[:-1])
        terms = self.part.terms
        return not terms or any(isinstance(t, Constant) or t.name in binding for t in terms)


class Obstacles:
    """Looks for the obstacle of one rule.

    The result has the value `kept` in the place of what is wanted, and arguments are wanted that are `equal`.

    Among the matches that get equally far it is that of a comparison of numbers that lacks least, or of a missing fact
    whose values occur at most of its places.
    """

    def __init__(
        self,
        matcher: Matcher,
        search: Search,
        kept: Value | None = None,
        equal: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.matcher, self.search, self.kept = matcher, search, kept
        self.items = [*_items(matcher), *_equalities(matcher, equal)]
        self.best = (-1, -math.inf)
        self.found = Obstacle("head", str(matcher.rule.rule.head), "it gives other values")

    def look(self, goal: Binding) -> Obstacle:
        """Find what fails, the head being the goal."""
        aggregation = self.matcher.rule.rule.aggregation
        if aggregation is None:
            self._follow(goal)
            return self.found
        early = self._without_late_nulls(aggregation)
        for group in groups(early, aggregation, goal, None):
            self._weigh(early, aggregation, group, goal)
        if self.best[0] < 0:  # there is no group
            self._follow({n: goal[n] for n in aggregation.group if n in goal})
        return self.found

    def _without_late_nulls(self, aggregation: Aggregation) -> Matcher:
        """The rule without the nulls that it makes of its groups, for it may make none."""
        matcher, body = self.matcher, self.matcher.body
        needed = {n for s in body.before for n in variables(s.expression)}
        needed |= {*aggregation.group, *aggregation.contributors}
        needed |= set(() if aggregation.argument is None else variables(aggregation.argument))
        logs = [a for a in body.positives[len(matcher.rule.shown) :] if a.variables[-1] in needed]
        positives = (*matcher.rule.shown, *logs)
        rule = replace(matcher.rule, body=replace(body, positives=positives), hidden=len(logs))
        return Matcher(rule, self.search.found, matcher.kinds)

    # --- bodies -------------------------------------------------------------------------------------------------

    def _follow(self, start: Binding) -> None:
        """Match the body as far as possible, in every way."""
        tried = 0
        waiting: list[tuple[Binding, dict[int, str], dict[int, str]]] = [(start, {}, {})]
        while waiting and tried < MOST:
            binding, met, undone = waiting.pop()
            number = self._next(binding, {**met, **undone})
            if number is None:
                self._end(binding, met, undone)
                continue
            item = self.items[number]
            if item.positive:
                assert isinstance(item.part, CheckedAtom)
                ids = self.matcher.candidates(item.part, binding, None, final=True)[:MOST].tolist()
                tried += max(1, len(ids))
                more = []
                for i in ids:
                    extended = self.matcher.extended(item.part, i, binding)
                    if extended is not None:
                        text = "" if item.hidden else atom_text(item.part, self._values(extended))
                        more.append((extended, {**met, number: text}, undone))
                if not more:
                    self._missing(item, binding, met)
                waiting += reversed(more)
                continue
            tried += 1
            try:
                done = self._pass(item, binding)
            except EvaluationError as error:
                waiting.append((binding, met, {**undone, number: error.message}))
                continue
            if done is None:
                self._fail(item, binding, met)
            else:
                waiting.append((done, {**met, number: ""}, undone))

    def _end(self, binding: Binding, met: Mapping[int, str], undone: Mapping[int, str]) -> None:
        """Where nothing is left, except for what could not be carried out."""
        if undone:
            number, message = next(iter(undone.items()))
            self._set((len(met), -math.inf), binding, met, "condition", str(self.items[number].part), message)
        else:
            self._set((len(met), math.inf), binding, met, "head", *self._complete())

    def _next(self, binding: Binding, done: Mapping[int, str]) -> int | None:
        """The first item whose time has come; logs of nulls are read last."""
        left = [i for i in range(len(self.items)) if i not in done]
        shown = [i for i in left if not self.items[i].hidden]
        for some in (shown, left):
            ready = next((i for i in some if self.items[i].ready(binding)), None)
            ready = ready if ready is not None else next((i for i in some if self.items[i].positive), None)
            if ready is not None:
                return ready
        return None

    def _pass(self, item: _Item, binding: Binding) -> Binding | None:
        if isinstance(item.part, CheckedAtom):
            return None if self.matcher.holds(item.part, binding) else binding
        return self.matcher.step(item.part, binding)

    def _missing(self, item: _Item, binding: Binding, met: Mapping[int, str]) -> None:
        assert isinstance(item.part, CheckedAtom)
        atom, known = item.part, self._values(binding)
        if item.hidden:
            words, unlike = self._made(atom, binding)
            self._set((len(met), 0.0), binding, met, "head", "", words, unlike=unlike)
            return
        if len(met) < self.best[0]:
            return
        cells = tuple(t.value if isinstance(t, Constant) else known.get(t.name) for t in atom.terms)
        if len(self.matcher.known[atom.predicate]):
            words = f"there is no {atom_text(atom, known)}"
        else:
            words = f"there is no fact of {atom.predicate} at all"
        rank = (len(met), float(self._occurring(atom, binding)))
        self._set(rank, binding, met, "atom", str(atom), words, (atom.predicate, cells))

    def _made(self, log: CheckedAtom, binding: Binding) -> tuple[str, tuple[Value, Value] | None]:
        """What a rule makes of the values at hand, which is not what it should be."""
        inventions = {i.variable for i in self.matcher.rule.rule.inventions} & set(log.variables)
        made = inventions or {log.variables[-1]}
        given = {name: cell for name, cell in binding.items() if name not in made}
        numbers = self.matcher.candidates(log, given).tolist()
        if not numbers:
            return "it makes no null of these values", None
        found = self._values(self.matcher.extended(log, numbers[0], given) or {})
        wanted = self._values(binding)
        pairs = (pair for n in sorted(made & wanted.keys()) for pair in differences(found[n], wanted[n]))
        value, other = next(pairs)
        return f"what it makes of these values is {source(value)}, not {source(other)}", (value, other)

    def _occurring(self, atom: CheckedAtom, binding: Binding) -> int:
        """At how many of its places the values of an atom occur."""
        fits = 0
        for i, term in enumerate(atom.terms):
            if not isinstance(term, Constant) and term.name in binding:
                fits += len(self.matcher.known[atom.predicate].find((i,), (binding[term.name],))) > 0
        return fits

    def _fail(self, item: _Item, binding: Binding, met: Mapping[int, str]) -> None:
        gap = _gap(self.matcher, item.part, binding)
        rank = (len(met), -gap)
        if rank <= self.best:
            return
        if isinstance(item.part, CheckedAtom):
            self._set(rank, binding, met, "negation", f"not {item.part}", self._holding(item.part, binding))
        else:
            kind = "head" if isinstance(item.part, Assign) else "condition"
            self._set(rank, binding, met, kind, str(item.part), self._failing(item.part, binding))

    def _complete(self) -> tuple[str, str]:
        """Where the whole body holds."""
        if self.kept is None:
            return "", "it gives other values"
        return "", f"it gives this, but the value in the result is {source(self.kept)}"

    def _holding(self, atom: CheckedAtom, binding: Binding) -> str:
        """What holds against a negation, and why."""
        ids = self.matcher.candidates(atom, binding, None).tolist()
        number = next(n for n in ids if self.matcher.extended(atom, n, binding) is not None)
        proof = self.search.prove([(atom.predicate, number)])[0]
        return f"{proof.fact} holds{_because(proof)}"

    def _failing(self, step: Step, binding: Binding) -> str:
        text = step_text(step, self._values(binding))
        if not isinstance(step, Assign):
            return f"{text} does not hold"
        fresh = {k: v for k, v in binding.items() if k != step.variable}
        computed = self.matcher.step(step, fresh) or {}
        value = self._values(computed)[step.variable]
        inner = step_text(step, self._values(fresh))
        wanted = self._values(binding)[step.variable]
        return f"{inner}: that is {source(value)}, and the goal has {source(wanted)}"

    # --- aggregates ---------------------------------------------------------------------------------------------

    def _weigh(self, matcher: Matcher, aggregation: Aggregation, group: Group, goal: Binding) -> None:
        """Conditions on an aggregate, and what it gives."""
        what = f"{aggregation.variable} = {written(matcher.rule.rule)} = {source(group.total)}"
        reached = f"{what} from {group.size:,} contribution{'s' * (group.size != 1)}"
        met = {
            i: f"{bound(part.contributor)}: {source(part.value)}".removeprefix(": ")
            for i, part in enumerate(group.parts[:COUNTED])
        }
        binding, depth = group.binding, len(self.items) + 1
        for step in matcher.body.after:
            if not set(variables(step.expression)) <= binding.keys():
                continue
            done = matcher.step(step, binding)
            if done is None:
                words = f"{reached}, but {step_text(step, self._values(binding))} does not hold"
                rank = (depth, -_gap(matcher, step, binding))
                self._set(rank, binding, met, "aggregate", str(step), words)
                return
            binding, depth = done, depth + 1
        unlike = [
            n for n, c in goal.items() if n in binding and not matcher.same(c, binding[n], matcher.kinds[n])
        ]
        if unlike:
            words = f"{reached}, not what the goal says"
            self._set((depth, 0.0), binding, met, "aggregate", what.rsplit(" = ", 1)[0], words)
        else:
            self._set((depth + 1, 0.0), binding, met, "aggregate", *self._complete())

    # --- what is told -------------------------------------------------------------------------------------------

    def _values(self, binding: Binding) -> dict[str, Value]:
        kinds = self.matcher.kinds
        return {n: self.matcher.value(kinds.get(n, Kind.STRING), c) for n, c in binding.items()}

    def _set(
        self,
        rank: tuple[int, float],
        binding: Binding,
        met: Mapping[int, str],
        kind: str,
        unmet: str,
        words: str,
        missing: tuple[str, tuple[Value | None, ...]] | None = None,
        unlike: tuple[Value, Value] | None = None,
    ) -> None:
        if rank <= self.best:
            return
        self.best = rank
        texts = tuple(dict.fromkeys(met[i] for i in sorted(met) if met[i]))
        near = min(rank[0] / max(len(self.items) + bool(self.matcher.body.aggregation), 1), 1.0)
        self.found = Obstacle(kind, unmet, words, named(self.matcher, binding), texts, near, missing, unlike)


def _items(matcher: Matcher) -> list[_Item]:
    """The body in the order of the text; what only serves the head, and nulls, come last.

    Of a dependency, the atoms that hold the two values come first.
    """
    body = matcher.body
    bindable = {v for a in body.positives for v in a.variables}
    bindable |= {s.variable for s in body.before if isinstance(s, Assign)}
    items = [_Item(atom) for atom in matcher.rule.shown]
    items += [_Item(a, negated=True, needs=frozenset(a.variables) & bindable) for a in body.negatives]
    serving: list[_Item] = []
    for step in body.before:
        item = _Item(step, needs=frozenset(variables(step.expression)))
        (serving if isinstance(step, Assign) and not shown(step.variable) else items).append(item)
    hidden = body.head.predicate.startswith("#")
    ends = {t.name for t in body.head.terms[:2] if hidden and isinstance(t, Variable)}
    first = [i for i in items if isinstance(i.part, CheckedAtom) and ends & set(i.part.variables)]
    items.sort(key=lambda item: (item not in first, item.part.span.line, item.part.span.column))
    return [*items, *serving, *map(_Item, body.positives[len(matcher.rule.shown) :])]


def _equalities(matcher: Matcher, equal: Sequence[tuple[int, int]]) -> Iterator[_Item]:
    """What a goal asks of the head by one variable at two places."""
    head = matcher.rule.rule.head
    for one, other in equal:
        condition = Binary("==", head.terms[one], head.terms[other])
        yield _Item(Filter(condition, head.span), needs=frozenset(variables(condition)))


def _gap(matcher: Matcher, part: CheckedAtom | Step, binding: Binding) -> float:
    """By how much a comparison of numbers fails."""
    expression = part.expression if isinstance(part, Filter) else None
    if not isinstance(expression, Binary) or expression.operator not in ("<", "<=", ">", ">=", "=="):
        return math.inf
    sides = [matcher.value_of(side, binding) for side in (expression.left, expression.right)]
    numbers = [float(v) for v in sides if isinstance(v, int | float) and not isinstance(v, bool)]
    return abs(numbers[0] - numbers[1]) if len(numbers) == 2 else math.inf


def _because(proof: Proof) -> str:
    """The last step of a proof in a line."""
    if proof.rule is None:
        return f" ({proof.source})" if proof.source else ""
    below = list(dict.fromkeys(p.fact for p in proof.below if p.predicate != EQUAL))
    more = ", ..." if len(below) > SHOWN else ""
    return f", by {proof.rule.name}{' from ' if below else ''}{', '.join(below[:SHOWN])}{more}"
