"""Why no fact fits a goal.

For each rule that could give it: the first thing that fails, in the match that got furthest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from kgreason.analysis.checked import Assign, CheckedAtom, Step
from kgreason.engine.table import Kind
from kgreason.explain.match import Binding, Matcher
from kgreason.explain.proof import Bound, Reason, WhyNot, bound, fact_text
from kgreason.explain.rules import Prepared
from kgreason.explain.search import Group, decoded_row, groups, named, written
from kgreason.explain.trace import Trace
from kgreason.explain.words import atom_text, note, step_text
from kgreason.lang.ast import Atom
from kgreason.lang.values import Value, source

MOST = 50_000
"""Facts tried for one rule; what got furthest by then is told."""

NEAR = 5
"""Facts shown that come close to the goal."""


Item = tuple[str, str, Callable[[Binding], Binding | None], Callable[[Binding], str]]
"""Something behind the atoms of a body: its kind, its text, what it does with a binding, and why it fails."""


@dataclass(slots=True)
class _Furthest:
    """The match that got furthest: how many items hold, its binding, the facts met, and what failed."""

    depth: int = -1
    binding: Binding | None = None
    met: tuple[str, ...] = ()
    kind: str = ""
    unmet: str = ""
    words: str = ""


def why_not(
    goal: Atom,
    text: str,
    values: Sequence[Value | None],
    cells: Sequence[int | None],
    found: Trace,
    matchers: Sequence[Matcher | Prepared],
) -> WhyNot:
    """Look at every rule whose head could be the goal."""
    reasons = [reason for m in matchers if (reason := _reason(m, values, found)) is not None]
    near = _near(goal, cells, found)
    return WhyNot(text, tuple(reasons), near, _note(goal, cells, found, bool(matchers)))


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


def _reason(matcher: Matcher | Prepared, values: Sequence[Value | None], found: Trace) -> Reason | None:
    if isinstance(matcher, Prepared):
        rule = matcher.rule
        atom = next(a for a in matcher.body.positives if not len(found.known[a.predicate]))
        if atom.predicate.startswith("#"):
            atom = next((a for a in matcher.shown if not len(found.known[a.predicate])), atom)
        return Reason(note(rule), "atom", str(atom), f"there is no fact of {atom.predicate} at all")
    head = matcher.aim(values)
    if head is None:
        return None
    furthest = _Furthest()
    if matcher.body.aggregation is None:
        _search(matcher, head, furthest)
    else:
        _aggregate(matcher, head, furthest)
    binding = furthest.binding or {}
    return Reason(
        note(matcher.rule.rule),
        furthest.kind or "head",
        furthest.unmet or str(matcher.rule.rule.head),
        furthest.words or "its head gives other values",
        named(matcher, binding),
        furthest.met,
    )


def _search(matcher: Matcher, start: Binding, furthest: _Furthest) -> None:
    """Match the body in its order, and remember what stops the match that gets furthest."""
    positives = matcher.rule.body.positives
    tried = 0
    waiting: list[tuple[int, Binding, tuple[str, ...]]] = [(0, start, ())]
    while waiting and tried < MOST:
        depth, binding, met = waiting.pop()
        if depth == len(positives):
            _after_atoms(matcher, binding, met, furthest)
            continue
        atom = positives[depth]
        ids = matcher.candidates(atom, binding, None)
        known = matcher.known[atom.predicate]
        if known.final is not None:
            ids = ids[known.final[ids]]
        tried += max(1, len(ids))
        more = []
        for number in ids[:MOST].tolist():
            extended = matcher.extended(atom, number, binding)
            if extended is not None:
                text = atom_text(atom, _plain(matcher, extended))
                more.append((depth + 1, extended, met if atom.predicate.startswith("#") else (*met, text)))
        if not more and depth > furthest.depth:
            if atom.predicate.startswith("#"):
                words, kind, unmet = (
                    "it makes another null for these values",
                    "head",
                    str(matcher.rule.rule.head),
                )
            else:
                text = atom_text(atom, dict(_plain(matcher, binding)))
                words, kind, unmet = f"there is no {text}", "atom", str(atom)
            _set(furthest, depth, binding, met, kind, unmet, words)
        waiting += reversed(more)


def _after_atoms(matcher: Matcher, binding: Binding, met: tuple[str, ...], furthest: _Furthest) -> None:
    """Negations, conditions and assignments, once all atoms are matched."""
    depth = len(matcher.body.positives)
    items: list[Item] = []
    for atom in matcher.early:
        items.append(_negation(matcher, atom))
    for step in matcher.body.before:
        items.append(_step(matcher, step))
    for atom in matcher.late:
        items.append(_negation(matcher, atom))
    for kind, unmet, carry_out, words in items:
        done = carry_out(binding)
        if done is None:
            if depth > furthest.depth:
                _set(furthest, depth, binding, met, kind, unmet, words(binding))
            return
        binding = done
        depth += 1


def _negation(matcher: Matcher, atom: CheckedAtom) -> Item:
    return (
        "negation",
        f"not {atom}",
        lambda b: None if matcher.holds(atom, b) else b,
        lambda b: f"{atom_text(atom, _plain(matcher, b))} holds",
    )


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
    return kind, str(step), lambda b: matcher.step(step, b), words


def _aggregate(matcher: Matcher, head: Binding, furthest: _Furthest) -> None:
    aggregation = matcher.body.aggregation
    assert aggregation is not None
    found = groups(matcher, aggregation, head, None)
    if not found:
        _search(matcher, {n: head[n] for n in aggregation.group if n in head}, furthest)
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
            if depth > furthest.depth:
                words = f"{reached}, but {step_text(step, _plain(matcher, binding))} does not hold"
                _set(furthest, depth, binding, parts, "aggregate", str(step), words)
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
) -> None:
    furthest.depth, furthest.binding, furthest.met = depth, binding, met
    furthest.kind, furthest.unmet, furthest.words = kind, unmet, words
