"""Obstacles of a rule: the first failing body item, in the match that satisfies most of the body.

Items are matched in textual order, except that unbound ones are postponed: conditions until their variables are bound,
atoms until they share a variable with the preceding items or the goal. Steps that fail with an evaluation error are
postponed, too: an evaluation executes them only for bindings of the whole body.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import EvaluationError
from kgreason.base.records import record
from kgreason.engine.expressions.builtin_functions import number
from kgreason.engine.plan.ir import variables
from kgreason.language.check.checked_program import Aggregation, Assign, CheckedAtom, Filter, Step
from kgreason.language.syntax.syntax_tree import Binary, Constant, Variable
from kgreason.language.values import Value, source
from kgreason.provenance.body_matching import Batch, Binding, Mask, Matcher
from kgreason.provenance.contributions import Group, agree, groups, named, written
from kgreason.provenance.equalities import differences
from kgreason.provenance.proof_search import Search
from kgreason.provenance.proof_tree import EQUAL, Proof, Reason, atom_text, bound, note, shown, step_text

MOST = 50_000  # facts tried for one rule; then the match that satisfies most of the body is reported
SHOWN = 3  # facts named for the last step of a proof that contradicts a negated atom
COUNTED = 20  # contributions listed for an aggregate that falls short


@record
class Obstacle:
    """Failing item of the match that satisfies most of the body.

    Attributes
    ----------
    near
        Satisfied fraction of the body; 1 for all of it, negative if the head cannot match the goal.
    missing
        Missing fact.
    unlike
        Value that the rule creates, and the wanted value.
    """

    reason: Reason
    near: float = 0.0
    missing: tuple[str, tuple[Value | None, ...]] | None = None
    unlike: tuple[Value, Value] | None = None


@record
class _Item:
    part: CheckedAtom | Step
    negated: bool = False
    needs: frozenset[str] = frozenset()

    @property
    def positive(self) -> bool:
        return isinstance(self.part, CheckedAtom) and not self.negated

    @property
    def hidden(self) -> bool:
        return isinstance(self.part, CheckedAtom) and self.part.predicate.startswith("#")

    def ready(self, binding: Mapping[str, object]) -> bool:
        if not self.positive:
            return self.needs <= binding.keys()
        assert isinstance(self.part, CheckedAtom)
        if self.hidden:
            return all(name in binding for name in self.part.variables[:-1])
        terms = self.part.terms
        return not terms or any(isinstance(t, Constant) or t.name in binding for t in terms)


class Obstacles:
    """Search for the obstacle of one rule.

    `kept` is the value in the result instead of the wanted one; `equal` are pairs of arguments that must be equal.
    Among the matches that satisfy equally much of the body, the preferred one fails at a comparison with the smallest
    numeric gap, or at a missing fact whose values occur at most of its positions.
    """

    def __init__(
        self,
        matcher: Matcher,
        search: Search,
        kept: Value | None,
        equal: Sequence[tuple[int, int]],
    ) -> None:
        self.matcher, self.search, self.kept = matcher, search, kept
        self.items = [*_items(matcher), *_equalities(matcher, equal)]
        self.best = (-1, -math.inf)
        reason = Reason(note(matcher.rule.rule), "head", str(matcher.rule.rule.head), "it gives other values")
        self.found = Obstacle(reason)

    def find(self, goal: Binding) -> Obstacle:
        """The obstacle for a binding of the head."""
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
        """Matcher without the nulls created from groups, because there may be none."""
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
        """Extend matches of the body as far as possible, by depth-first search."""
        tried = 0
        waiting: list[tuple[Batch, tuple[int, ...], dict[int, str]]] = [(Batch.of(start), (), {})]
        while waiting and tried < MOST:
            batch, met, failed = waiting.pop()
            number = self._next(batch.columns, {*met, *failed})
            if number is None:
                self._end(batch.binding(0), met, failed)
                continue
            try:
                after, fails = self._passed(self.items[number], batch)
            except EvaluationError as error:  # the error is in some match: bisect
                if batch.size == 1:
                    waiting.append((batch, met, {**failed, number: error.message}))
                else:
                    halves = np.array_split(np.arange(batch.size), 2)
                    waiting += [(batch.taken(rows), met, failed) for rows in reversed(halves)]
                continue
            tried += max(1, after.size)
            if fails.any() and len(met) >= self.best[0]:
                self._fail(self.items[number], batch.taken(fails), met)
            waiting += [(part, (*met, number), failed) for part in reversed(after.split())]

    def _end(self, binding: Binding, met: tuple[int, ...], failed: Mapping[int, str]) -> None:
        if failed:
            number, message = next(iter(failed.items()))
            self._set((len(met), -math.inf), binding, met, "condition", str(self.items[number].part), message)
        else:
            self._set((len(met), math.inf), binding, met, "head", *self._complete())

    def _next(self, bound: Mapping[str, object], done: set[int]) -> int | None:
        """The next item that is ready; logs of nulls come last."""
        rest = [i for i in range(len(self.items)) if i not in done]
        for some in ([i for i in rest if not self.items[i].hidden], rest):
            ready = [i for i in some if self.items[i].ready(bound)]
            for i in ready or [i for i in some if self.items[i].positive]:
                return i
        return None

    def _passed(self, item: _Item, batch: Batch) -> tuple[Batch, Mask]:
        """Extended matches after an item, and a mask of the matches that fail there."""
        matcher, part = self.matcher, item.part
        if not isinstance(part, CheckedAtom):
            after, holds = matcher.stepped(part, batch)
            return after.taken(holds), ~holds
        if item.negated:
            fails = matcher.present(part, batch)
            return batch.taken(~fails), fails
        which, ids = matcher.joined(part, batch, final=True)
        fails = np.ones(batch.size, dtype=np.bool_)
        fails[which] = False
        return matcher.extended(part, batch, which[:MOST], ids[:MOST]), fails

    def _fail(self, item: _Item, batch: Batch, met: tuple[int, ...]) -> None:
        part, ranks = item.part, np.zeros(batch.size)
        if not item.positive:
            ranks = -_gaps(self.matcher, part, batch)
        elif not item.hidden:
            ranks = self._occurring(part, batch)  # type: ignore[arg-type]
        row = int(np.argmax(ranks))
        rank, binding = (len(met), float(ranks[row])), batch.binding(row)
        if rank <= self.best:
            return
        if not isinstance(part, CheckedAtom):
            kind = "head" if isinstance(part, Assign) else "condition"
            self._set(rank, binding, met, kind, str(part), self._failing(part, binding))
        elif item.negated:
            self._set(rank, binding, met, "negation", f"not {part}", self._holding(part, binding))
        elif item.hidden:
            words, unlike = self._made(part, binding)
            self._set(rank, binding, met, "head", "", words, unlike=unlike)
        else:
            known = self.matcher.named(binding)
            cells = tuple(t.value if isinstance(t, Constant) else known.get(t.name) for t in part.terms)
            some = len(self.matcher.known[part.predicate])
            words = atom_text(part, known) if some else f"fact of {part.predicate} at all"
            missing = (part.predicate, cells)
            self._set(rank, binding, met, "atom", str(part), f"there is no {words}", missing)

    def _made(self, log: CheckedAtom, binding: Binding) -> tuple[str, tuple[Value, Value] | None]:
        """What a rule creates from the current values, and how it differs from the wanted value."""
        inventions = {i.variable for i in self.matcher.rule.rule.inventions} & set(log.variables)
        made = inventions or {log.variables[-1]}
        given = Batch.of({name: cell for name, cell in binding.items() if name not in made})
        which, ids = self.matcher.joined(log, given)
        if not len(ids):
            return "it makes no null of these values", None
        found = self.matcher.named(self.matcher.extended(log, given, which, ids).binding(0))
        wanted = self.matcher.named(binding)
        pairs = (pair for n in sorted(made & wanted.keys()) for pair in differences(found[n], wanted[n]))
        value, other = next(pairs)
        return f"what it makes of these values is {source(value)}, not {source(other)}", (value, other)

    def _occurring(self, atom: CheckedAtom, batch: Batch) -> npt.NDArray[np.float64]:
        """Number of positions of an atom at which its values occur in facts."""
        fits = np.zeros(batch.size)
        for i, term in enumerate(atom.terms):
            if not isinstance(term, Constant) and term.name in batch.columns:
                cells = batch.columns[term.name].reshape(-1, 1)
                fits += self.matcher.known[atom.predicate].lookup((i,), cells)[2] > 0
        return fits

    def _complete(self) -> tuple[str, str]:
        if self.kept is None:
            return "", "it gives other values"
        return "", f"it gives this, but the value in the result is {source(self.kept)}"

    def _holding(self, atom: CheckedAtom, binding: Binding) -> str:
        number = int(self.matcher.joined(atom, Batch.of(binding))[1][0])
        proof = self.search.prove([(atom.predicate, number)])[0]
        return f"{proof.fact} holds{_because(proof)}"

    def _failing(self, step: Step, binding: Binding) -> str:
        text = step_text(step, self.matcher.named(binding))
        if not isinstance(step, Assign):
            return f"{text} does not hold"
        fresh = {k: v for k, v in binding.items() if k != step.variable}
        (value,) = self.matcher.values(self.matcher.steps([step], fresh) or {}, [step.variable])
        inner = step_text(step, self.matcher.named(fresh))
        (wanted,) = self.matcher.values(binding, [step.variable])
        return f"{inner}: that is {source(value)}, and the goal has {source(wanted)}"

    # --- aggregates ---------------------------------------------------------------------------------------------

    def _weigh(self, matcher: Matcher, aggregation: Aggregation, group: Group, goal: Binding) -> None:
        what = f"{aggregation.variable} = {written(matcher.rule.rule)} = {source(group.total)}"
        reached = f"{what} from {group.size:,} contribution{'s' * (group.size != 1)}"
        shown = group.parts[:COUNTED]
        met = [f"{bound(p.contributor)}: {source(p.value)}".removeprefix(": ") for p in shown]
        binding, depth = group.binding, len(self.items) + 1
        for step in matcher.body.after:
            if not set(variables(step.expression)) <= binding.keys():
                continue
            done = matcher.steps([step], binding)
            if done is None:
                words = f"{reached}, but {step_text(step, matcher.named(binding))} does not hold"
                rank = (depth, -float(_gaps(matcher, step, Batch.of(binding))[0]))
                self._set(rank, binding, met, "aggregate", str(step), words)
                return
            binding, depth = done, depth + 1
        if agree(matcher, goal, binding):
            self._set((depth + 1, 0.0), binding, met, "aggregate", *self._complete())
        else:
            words = f"{reached}, not what the goal says"
            self._set((depth, 0.0), binding, met, "aggregate", what.rsplit(" = ", 1)[0], words)

    def _set(
        self,
        rank: tuple[int, float],
        binding: Binding,
        met: Sequence[int | str],
        kind: str,
        unmet: str,
        words: str,
        missing: tuple[str, tuple[Value | None, ...]] | None = None,
        unlike: tuple[Value, Value] | None = None,
    ) -> None:
        """Record an obstacle if it is the best one; `met` are texts, or numbers of items."""
        if rank <= self.best:
            return
        self.best, known = rank, self.matcher.named(binding)
        numbers = sorted(i for i in met if isinstance(i, int))
        parts = [self.items[i].part for i in numbers if self.items[i].positive and not self.items[i].hidden]
        texts = [atom_text(part, known) for part in parts if isinstance(part, CheckedAtom)]
        texts += [text for text in met if isinstance(text, str)]
        near = min(rank[0] / max(len(self.items) + bool(self.matcher.body.aggregation), 1), 1.0)
        rule, values = note(self.matcher.rule.rule), named(self.matcher, binding)
        reason = Reason(rule, kind, unmet, words, values, tuple(dict.fromkeys(texts)))
        self.found = Obstacle(reason, near, missing, unlike)


def _items(matcher: Matcher) -> list[_Item]:
    """Body items in textual order; those that only serve the head, and nulls, come last."""
    # The atoms that bind the two values of a dependency come first.
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
    head = matcher.rule.rule.head
    for one, other in equal:
        condition = Binary("==", head.terms[one], head.terms[other])
        yield _Item(Filter(condition, head.span), needs=frozenset(variables(condition)))


def _gaps(matcher: Matcher, part: CheckedAtom | Step, batch: Batch) -> npt.NDArray[np.float64]:
    gaps = np.full(batch.size, math.inf)
    expression = part.expression if isinstance(part, Filter) else None
    if isinstance(expression, Binary) and expression.operator in ("<", "<=", ">", ">=", "=="):
        sides = [matcher.decoded(side, batch) for side in (expression.left, expression.right)]
        for row, (a, b) in enumerate(zip(*sides, strict=True)):
            if number(a) and number(b):
                gaps[row] = abs(float(a) - float(b))
    return gaps


def _because(proof: Proof) -> str:
    if proof.rule is None:
        return f" ({proof.source})" if proof.source else ""
    below = list(dict.fromkeys(p.fact for p in proof.below if p.predicate != EQUAL))
    more = ", ..." if len(below) > SHOWN else ""
    return f", by {proof.rule.name}{' from ' if below else ''}{', '.join(below[:SHOWN])}{more}"
