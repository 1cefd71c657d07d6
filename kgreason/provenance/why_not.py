"""Why-not provenance: why no fact fits a goal.

For each rule with the predicate in its head, find the first failing body item in the match that satisfies most of the
body; if this is a missing fact that rules could derive, explain it recursively. If a rule creates another null than the
wanted one, explain why no dependency has unified the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations

from kgreason.engine.plan.expression_kinds import join
from kgreason.engine.relations.symbols import key
from kgreason.language.syntax.syntax_tree import Atom, Constant, Variable
from kgreason.language.values import Value, source
from kgreason.provenance.body_matching import Matcher, decoded_row
from kgreason.provenance.known_facts import Prepared
from kgreason.provenance.obstacles import Obstacle, Obstacles
from kgreason.provenance.proof_search import Search
from kgreason.provenance.proof_tree import Reason, WhyNot, fact_text, note
from kgreason.provenance.traces import Trace

NEAR = 5  # facts shown that agree with the goal in some arguments
DEEPER = 3  # levels of missing facts behind the goal

Wanted = tuple[str, tuple["Value | None", ...]]
"""A predicate and its arguments, `None` for any value."""

Equal = Sequence[tuple[int, int]]
"""Pairs of argument positions that must hold the same value."""


def why_not(
    goal: Atom, text: str, values: Sequence[Value | None], cells: Sequence[int | None], search: Search
) -> WhyNot:
    """Explain, for every rule with the predicate of the goal in its head, why it derives no fitting fact."""
    wanted = (goal.predicate, tuple(values))
    kept = _kept(wanted, search)
    obstacles = _obstacles(wanted, search, kept, _repeated(goal))
    dependencies = cache(partial(_dependencies, search))
    reasons = tuple(_deepened(one, search, dependencies, DEEPER, {wanted}) for one in obstacles)
    words = f"the value in the result is {source(kept)}" if kept is not None else ""
    words = words or _note(goal, search.found, bool(obstacles))
    return WhyNot(text, reasons, _near(goal, cells, search.found), words)


def _obstacles(wanted: Wanted, search: Search, kept: Value | None, equal: Equal = ()) -> list[Obstacle]:
    return [_reason(rule, wanted, search, kept, equal) for rule in search.matchers.get(wanted[0], ())]


def _repeated(goal: Atom) -> Equal:
    """Pairs of positions of a goal with the same variable, each with the first such position."""
    first: dict[str, int] = {}
    variables = [(i, t.name) for i, t in enumerate(goal.arguments) if isinstance(t, Variable)]
    return [(first[name], i) for i, name in variables if first.setdefault(name, i) != i]


def _deepened(
    obstacle: Obstacle,
    search: Search,
    dependencies: Callable[[], Search],
    levels: int,
    explained: set[Wanted],
) -> Reason:
    """The reason, extended by that for the missing fact, from the rule closest to deriving it."""
    missing = obstacle.missing
    if obstacle.unlike is not None and levels and search.equations.runs.scope.unifications:
        return _unequal(obstacle.reason, obstacle.unlike, dependencies, levels, explained)
    if missing is None or missing in explained or not levels:
        return obstacle.reason
    best = max(_obstacles(missing, search, _kept(missing, search)), key=lambda one: one.near, default=None)
    if best is None or best.near < 0:
        return obstacle.reason
    deeper = _deepened(best, search, dependencies, levels - 1, explained | {missing})
    return replace(obstacle.reason, deeper=deeper)


def _dependencies(search: Search) -> Search:
    runs = search.equations.runs
    found = runs.trace(runs.last, [u.predicate for u in runs.scope.unifications])
    return Search(found, search.lookup, search.equations)


def _unequal(
    reason: Reason,
    unlike: tuple[Value, Value],
    dependencies: Callable[[], Search],
    levels: int,
    explained: set[Wanted],
) -> Reason:
    """The reason, extended by why no dependency equates two values, from the closest dependency."""
    search, obstacles = dependencies(), list[Obstacle]()
    for unification in search.equations.runs.scope.unifications:
        for rule in search.matchers.get(unification.predicate, ()):
            rest = (None,) * (len(rule.body.head.terms) - 2)
            pairs = [pair for pair in (unlike, unlike[::-1]) if _occur(rule.rule, pair, search)]
            both = [_reason(rule, (unification.predicate, (*p, *rest)), search, None, ()) for p in pairs]
            obstacles += sorted((one for one in both if one.near >= 0), key=lambda one: -one.near)[:1]
    if not obstacles:
        words = f"{reason.words}, and no equality-generating dependency can make them one"
        return replace(reason, words=words)
    names = [one.reason.rule.name for one in obstacles]
    words = f"{reason.words}, and {' and '.join(names)} {'do' if names[1:] else 'does'} not make them one"
    best = max(obstacles, key=lambda one: one.near)
    return replace(reason, words=words, deeper=_deepened(best, search, dependencies, levels - 1, explained))


def _occur(rule: Prepared, pair: Sequence[Value], search: Search) -> bool:
    """Whether two values occur at all positions where a dependency would read them."""
    for term, value in zip(rule.body.head.terms, pair, strict=False):
        for atom in rule.shown:
            for i in (i for i, t in enumerate(atom.terms) if t == term):
                cell = search.code(atom.predicate, i, value)
                known = search.found.known[atom.predicate]
                if len(known) and (cell is None or not len(known.find((i,), (cell,)))):
                    return False
    return True


def _reason(rule: Matcher, wanted: Wanted, search: Search, kept: Value | None, equal: Equal) -> Obstacle:
    def head(words: str) -> Obstacle:
        return Obstacle(Reason(note(rule.rule.rule), "head", "", words), -1.0)

    misfit = _misfit(rule, wanted[1])
    if misfit:
        return head(misfit)
    aim = rule.aim(wanted[1])
    if aim is None:
        atom = next(a for a in rule.rule.shown if not len(search.found.known[a.predicate]))
        words = f"there is no fact of {atom.predicate} at all"
        return Obstacle(Reason(note(rule.rule.rule), "atom", str(atom), words), 0.0)
    terms = rule.rule.rule.head.terms
    for one, other in equal:
        if join(rule.kind(terms[one]), rule.kind(terms[other])) is None:
            return head(f"it never gives one value as arguments {one + 1} and {other + 1}")
    return Obstacles(rule, search, kept, equal).find(aim)


def _misfit(rule: Matcher, values: Sequence[Value | None]) -> str:
    """Why a head cannot match the wanted values; empty if it can."""
    first: dict[str, int] = {}
    for i, (term, value) in enumerate(zip(rule.body.head.terms, values, strict=True)):
        if value is None:
            continue
        if isinstance(term, Constant):
            if key(term.value) != key(value):
                return f"it only gives facts whose argument {i + 1} is {source(term.value)}"
            continue
        other = first.setdefault(term.name, i)
        before = values[other]
        if before is not None and key(before) != key(value):
            return f"it only gives facts whose arguments {other + 1} and {i + 1} are equal"
        if rule.able and rule.code(term.name, value) is None:
            return f"it never gives {source(value)} as argument {i + 1}"
    return ""


def _kept(wanted: Wanted, search: Search) -> Value | None:
    """The value in the result instead of the wanted one, if the key has a value."""
    predicate, values = wanted
    keyed, known = search.found.program.keyed.get(predicate), search.found.known.get(predicate)
    if keyed is None or known is None or not len(known) or values[keyed.position] is None:
        return None
    others = [i for i in range(len(values)) if i != keyed.position]
    cells = [search.code(predicate, i, values[i]) for i in others]
    if None in cells:
        return None
    ids = known.find(tuple(others), [cell for cell in cells if cell is not None])
    last = next((n for n in ids.tolist() if known.final[n]), None)
    return None if last is None else search.values((predicate, last))[keyed.position]


def _note(goal: Atom, found: Trace, derived: bool) -> str:
    known = found.known.get(goal.predicate)
    if known is None or not len(known):
        return f"there is no fact of {goal.predicate} at all"
    if not derived:
        return f"no rule derives {goal.predicate}: its facts are given, and this one is not among them"
    return ""


def _near(goal: Atom, cells: Sequence[int | None], found: Trace) -> tuple[str, ...]:
    known = found.known.get(goal.predicate)
    columns = [i for i, c in enumerate(cells) if c is not None]
    if known is None:
        return ()
    for size in range(len(columns) - 1, 0, -1):
        texts = []
        for some in combinations(columns, size):
            ids = known.find(some, [cells[i] or 0 for i in some])
            ids = ids[known.final[ids]]
            rows = [decoded_row(known.kinds, known.rows[n], found.symbols) for n in ids[: NEAR + 1].tolist()]
            texts += [fact_text(goal.predicate, values) for values in rows]
        if texts:
            texts = list(dict.fromkeys(texts))
            return tuple(texts[:NEAR]) + (("...",) if len(texts) > NEAR else ())
    return ()
