"""Why no fact fits a goal.

For each rule that could give it: the first thing that fails, in the match that got furthest; and where that is a fact
which rules could give, why not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from kgreason.analysis.checked import Assign, CheckedAtom, Filter, Step
from kgreason.engine.table import Kind
from kgreason.lang.ast import Atom, Binary, Constant
from kgreason.lang.values import Value, source
from kgreason.provenance.known import Ids
from kgreason.provenance.match import Binding, Matcher
from kgreason.provenance.proof import EQUAL, Bound, Proof, Reason, WhyNot, bound, fact_text
from kgreason.provenance.rules import Prepared
from kgreason.provenance.search import Group, Search, decoded_row, groups, named, written
from kgreason.provenance.trace import Trace
from kgreason.provenance.words import atom_text, note, step_text

MOST = 50_000
"""Facts tried for one rule; what got furthest by then is told."""

SHOWN = 3
"""Facts told of the step that gives a fact which should not hold."""

NEAR = 5
"""Facts shown that come close to the goal."""


Item = tuple[str, str, Callable[[Binding], Binding | None], Callable[[Binding], str], Step | None]
"""Something behind the atoms of a body: its kind, its text, what it does with a binding, why it fails, and itself."""


DEEPER = 3
"""Levels of missing facts behind the goal."""


@dataclass(slots=True)
class _Furthest:
    """The match that got furthest: how many items hold, its binding, the facts met, and what failed.

    Among those that get equally far it is the one whose failing comparison of numbers lacks least.
    """

    depth: int = -1
    gap: float = math.inf
    binding: Binding | None = None
    met: tuple[str, ...] = ()
    kind: str = ""
    unmet: str = ""
    words: str = ""
    missing: CheckedAtom | None = None


@dataclass(frozen=True, slots=True)
class _Told:
    """A reason, how near its rule comes to the fact (1 is all of the body), and the atom that is missing."""

    reason: Reason
    near: float
    missing: tuple[str, tuple[Value | None, ...]] | None = None


def why_not(
    goal: Atom, text: str, values: Sequence[Value | None], cells: Sequence[int | None], search: Search
) -> WhyNot:
    """Look at every rule whose head could be the goal."""
    found, derived = search.found, search.matchers.get(goal.predicate, ())
    told = _told(goal.predicate, tuple(values), search)
    seen = {(goal.predicate, tuple(values))}
    reasons = tuple(_deepened(one, search, DEEPER, seen) for one in told)
    return WhyNot(text, reasons, _near(goal, cells, found), _note(goal, cells, found, bool(derived)))


def _told(predicate: str, values: tuple[Value | None, ...], search: Search) -> list[_Told]:
    rules = search.matchers.get(predicate, ())
    return [told for rule in rules if (told := _reason(rule, values, search)) is not None]


def _deepened(
    told: _Told, search: Search, levels: int, seen: set[tuple[str, tuple[Value | None, ...]]]
) -> Reason:
    """The reason with that for the fact that is missing, from the rule that comes nearest to it."""
    if told.missing is None or told.missing in seen or not levels:
        return told.reason
    inner = _told(*told.missing, search)
    if not inner:
        return told.reason
    best = max(inner, key=lambda one: one.near)
    return replace(told.reason, deeper=_deepened(best, search, levels - 1, seen | {told.missing}))


def _note(goal: Atom, cells: Sequence[int | None], found: Trace, derived: bool) -> str:
    keyed = found.program.keyed.get(goal.predicate)
    known = found.known.get(goal.predicate)
    if keyed is not None and known is not None and cells[keyed.position] is not None:
        columns = [i for i, c in enumerate(cells) if c is not None and i != keyed.position]
        if len(columns) == len(cells) - 1:
            ids = known.find(tuple(columns), [cells[i] or 0 for i in columns])
            for n in ids.tolist():
                if known.final is None or known.final[n]:
                    values = decoded_row(known.kinds, known.rows[n], found)
                    return f"the value is {source(values[keyed.position])}"
    if known is None or not len(known):
        return f"there is no fact of {goal.predicate} at all"
    if not derived:
        return f"no rule derives {goal.predicate}: its facts are given, and this one is not among them"
    return ""


def _near(goal: Atom, cells: Sequence[int | None], found: Trace) -> tuple[str, ...]:
    """Facts that differ from the goal in as few arguments as possible, but in not all."""
    known = found.known.get(goal.predicate)
    columns = [i for i, c in enumerate(cells) if c is not None]
    if known is None:
        return ()
    for size in range(len(columns) - 1, 0, -1):
        texts = []
        for some in combinations(columns, size):
            ids = known.find(some, [cells[i] or 0 for i in some])
            ids = ids if known.final is None else ids[known.final[ids]]
            rows = [decoded_row(known.kinds, known.rows[n], found) for n in ids[: NEAR + 1].tolist()]
            texts += [fact_text(goal.predicate, values) for values in rows]
        if texts:
            texts = list(dict.fromkeys(texts))
            return tuple(texts[:NEAR]) + (("...",) if len(texts) > NEAR else ())
    return ()


def _reason(matcher: Matcher | Prepared, values: Sequence[Value | None], search: Search) -> _Told | None:
    found = search.found
    if isinstance(matcher, Prepared):
        rule = matcher.rule
        atom = next(a for a in matcher.body.positives if not len(found.known[a.predicate]))
        if atom.predicate.startswith("#"):
            atom = next((a for a in matcher.shown if not len(found.known[a.predicate])), atom)
        words = f"there is no fact of {atom.predicate} at all"
        return _Told(Reason(note(rule), "atom", str(atom), words), 0.0)
    head = matcher.aim(values)
    if head is None:
        return None
    furthest = _Furthest()
    if matcher.body.aggregation is None:
        _search(matcher, head, furthest, search)
    else:
        _aggregate(matcher, head, furthest, search)
    binding = furthest.binding or {}
    reason = Reason(
        note(matcher.rule.rule),
        furthest.kind or "head",
        furthest.unmet or str(matcher.rule.rule.head),
        furthest.words or "its head gives other values",
        named(matcher, binding),
        furthest.met,
    )
    body = matcher.body
    items = len(body.positives) + len(body.negatives) + len(body.before) + bool(body.aggregation)
    near = min(furthest.depth / max(items, 1), 1.0)
    if furthest.missing is None:
        return _Told(reason, near)
    known = _plain(matcher, binding)
    terms = furthest.missing.terms
    cells = tuple(t.value if isinstance(t, Constant) else known.get(t.name) for t in terms)
    return _Told(reason, near, (furthest.missing.predicate, cells))


def _search(matcher: Matcher, start: Binding, furthest: _Furthest, search: Search) -> None:
    """Match the body, next the atom that fewest facts fit, and remember what stops the match that gets furthest.

    Atoms that no fact fits come last: so the values of the goal are followed from all sides.
    """
    positives = matcher.rule.body.positives
    tried = 0
    waiting: list[tuple[Binding, dict[int, str]]] = [(start, {})]
    while waiting and tried < MOST:
        binding, met = waiting.pop()
        depth = len(met)
        texts = tuple(met[i] for i in sorted(met) if not positives[i].predicate.startswith("#"))
        if depth == len(positives):
            _after_atoms(matcher, binding, texts, furthest, search)
            continue
        best, ids = _next(matcher, binding, met)
        atom = positives[best]
        tried += max(1, len(ids))
        more = []
        for number in ids[:MOST].tolist():
            extended = matcher.extended(atom, number, binding)
            if extended is not None:
                more.append((extended, {**met, best: atom_text(atom, _plain(matcher, extended))}))
        if not more and depth > furthest.depth:
            if atom.predicate.startswith("#"):
                words, kind, unmet = (
                    "it makes another null for these values",
                    "head",
                    str(matcher.rule.rule.head),
                )
                _set(furthest, depth, binding, texts, kind, unmet, words)
            else:
                words = f"there is no {atom_text(atom, _plain(matcher, binding))}"
                _set(furthest, depth, binding, texts, "atom", str(atom), words, missing=atom)
        waiting += reversed(more)


def _next(matcher: Matcher, binding: Binding, met: Mapping[int, str]) -> tuple[int, Ids]:
    """The atom that fewest facts fit, with these; one that none fits only if no other is left."""
    best, ids = -1, None
    for i, atom in enumerate(matcher.rule.body.positives):
        if i in met:
            continue
        found = matcher.candidates(atom, binding, None)
        known = matcher.known[atom.predicate]
        if known.final is not None:
            found = found[known.final[found]]
        if ids is None or (len(found) and (not len(ids) or len(found) < len(ids))):
            best, ids = i, found
    assert ids is not None
    return best, ids


def _after_atoms(
    matcher: Matcher, binding: Binding, met: tuple[str, ...], furthest: _Furthest, search: Search
) -> None:
    """Negations, conditions and assignments, once all atoms are matched."""
    depth = len(matcher.body.positives)
    items: list[Item] = []
    for atom in matcher.early:
        items.append(_negation(matcher, atom, search))
    for step in matcher.body.before:
        items.append(_step(matcher, step))
    for atom in matcher.late:
        items.append(_negation(matcher, atom, search))
    for kind, unmet, carry_out, words, condition in items:
        done = carry_out(binding)
        if done is None:
            gap = _gap(matcher, condition, binding)
            if (depth, -gap) > (furthest.depth, -furthest.gap):
                _set(furthest, depth, binding, met, kind, unmet, words(binding), gap)
            return
        binding = done
        depth += 1


def _gap(matcher: Matcher, step: Step | None, binding: Binding) -> float:
    """By how much a comparison of numbers fails."""
    expression = step.expression if isinstance(step, Filter) else None
    if not isinstance(expression, Binary) or expression.operator not in ("<", "<=", ">", ">=", "=="):
        return math.inf
    sides = [
        matcher.value(matcher.kind(side), matcher.compute(side, [binding])[0])
        for side in (expression.left, expression.right)
    ]
    numbers = [float(v) for v in sides if isinstance(v, int | float) and not isinstance(v, bool)]
    return abs(numbers[0] - numbers[1]) if len(numbers) == 2 else math.inf


def _negation(matcher: Matcher, atom: CheckedAtom, search: Search) -> Item:
    def words(binding: Binding) -> str:
        ids = matcher.candidates(atom, binding, None).tolist()
        number = next(n for n in ids if matcher.extended(atom, n, binding) is not None)
        proof = search.prove([(atom.predicate, number)])[0]
        return f"{proof.fact} holds{_because(proof)}"

    return "negation", f"not {atom}", lambda b: None if matcher.holds(atom, b) else b, words, None


def _because(proof: Proof) -> str:
    """The last step of a proof in a line."""
    if proof.rule is None:
        return f" ({proof.source})" if proof.source else ""
    name = f'"{proof.rule.label}"' if proof.rule.label else f"rule {proof.rule.number}"
    below = list(dict.fromkeys(p.fact for p in proof.below if p.predicate != EQUAL))
    more = ", ..." if len(below) > SHOWN else ""
    return f", by {name}{' from ' if below else ''}{', '.join(below[:SHOWN])}{more}"


def _step(matcher: Matcher, step: Step) -> Item:
    def words(binding: Binding) -> str:
        text = step_text(step, _plain(matcher, binding))
        if isinstance(step, Assign) and step.variable in binding:
            fresh = {k: v for k, v in binding.items() if k != step.variable}
            computed = matcher.step(step, fresh) or {}
            value = _plain(matcher, {step.variable: computed[step.variable]})[step.variable]
            inner = step_text(step, _plain(matcher, fresh))
            wanted = _plain(matcher, binding)[step.variable]
            return f"{inner}: that is {source(value)}, and the goal has {source(wanted)}"
        return f"{text} does not hold"

    kind = "head" if isinstance(step, Assign) else "condition"
    return kind, str(step), lambda b: matcher.step(step, b), words, step


def _aggregate(matcher: Matcher, head: Binding, furthest: _Furthest, search: Search) -> None:
    aggregation = matcher.body.aggregation
    assert aggregation is not None
    found = groups(matcher, aggregation, head, None)
    if not found:
        _search(matcher, {n: head[n] for n in aggregation.group if n in head}, furthest, search)
        return
    for group in found:
        _group(matcher, group, furthest)


def _group(matcher: Matcher, group: Group, furthest: _Furthest) -> None:
    aggregation = matcher.body.aggregation
    assert aggregation is not None
    many = len(group.parts)
    what = f"{aggregation.variable} = {written(aggregation)} = {source(group.total)}"
    reached = f"{what} from {many} contribution{'s' * (many != 1)}"
    binding = group.binding
    depth = 1000
    parts = tuple(
        f"{bound(_contributor(matcher, aggregation.contributors, aggregation.group, part.contributor))}: "
        f"{source(part.value)}".removeprefix(": ")
        for part in group.parts
    )
    for step in matcher.body.after:
        done = matcher.step(step, binding)
        if done is None:
            gap = _gap(matcher, step, binding)
            if (depth, -gap) > (furthest.depth, -furthest.gap):
                words = f"{reached}, but {step_text(step, _plain(matcher, binding))} does not hold"
                _set(furthest, depth, binding, parts, "aggregate", str(step), words, gap)
            return
        binding, depth = done, depth + 1
    if depth > furthest.depth:
        words = f"{reached}, not what the goal says"
        _set(furthest, depth, binding, parts, "aggregate", what.rsplit(" = ", 1)[0], words)


def _contributor(matcher: Matcher, names: Sequence[str], group: Sequence[str], cells: Sequence[int]) -> Bound:
    pairs = [(n, c) for n, c in zip(names, cells, strict=True) if n not in group and not n.startswith("_")]
    return tuple((n, matcher.value(matcher.kinds[n], c)) for n, c in pairs)


def _plain(matcher: Matcher, binding: Binding) -> dict[str, Value]:
    return {n: matcher.value(matcher.kinds.get(n, Kind.STRING), c) for n, c in binding.items()}


def _set(
    furthest: _Furthest,
    depth: int,
    binding: Binding,
    met: tuple[str, ...],
    kind: str,
    unmet: str,
    words: str,
    gap: float = math.inf,
    missing: CheckedAtom | None = None,
) -> None:
    furthest.depth, furthest.binding, furthest.met = depth, binding, met
    furthest.gap, furthest.missing = gap, missing
    furthest.kind, furthest.unmet, furthest.words = kind, unmet, words
