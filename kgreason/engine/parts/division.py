"""Division of a program into parts that are evaluated independently, by the value of one argument of each predicate.

Each derived predicate is divided by an argument, its *place*: a part derives the facts whose value there belongs to the
part. A non-recursive predicate may be *scattered* instead: any part may derive any of its facts, and duplicates are
removed afterwards. Other predicates are derived *whole*. Predicates are derived in *stages*: first those derived whole,
then the parts of the others, one after another. A stage reads the complete facts of earlier stages like input.

A rule is local if one variable X has these properties: every body atom derived in the same stage, negated or not, has X
at its place; the head has X at its place, or is scattered; and X belongs to the group of the aggregate. By induction
over the rounds, a part then derives the facts of its values, and no other part contributes to them: all contributions
to a group and all facts that a negation asks for have the value X. Doublings, ``p(X, Z) :- p(X, Y), p(Y, Z)``, are
replaced by linear rules first.

References
----------
O. Wolfson, A. Silberschatz: Distributed processing of logic programs, SIGMOD 1988, §3 (decomposability).
J. Seib, G. Lausen: Parallelizing Datalog programs by generalized pivoting, PODS 1991, §3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from kgreason.base.errors import Diagnostic
from kgreason.engine.plan.ir import inputs, plain
from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule, Stratum
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.syntax_tree import Skolem, Variable

Place = int | Literal["scattered", "whole"]

PARTIAL = "#partial"
"""Beginning of the names of predicates with the aggregates of single parts."""

PART = "#part"
"""Predicate with one fact, the number of the part."""

_PLANS = 8  # plans of the first strata that are extended to the next stratum, the best ones
_CHOICES = 64  # choices of the places of a stratum that are examined

_INDEPENDENT = "every rule of a divided recursion copies one argument of its recursive atoms to its head"
_UNDIVIDED = "derive these predicates without --parts or Spark"


def _divides(places: Mapping[str, Place], predicate: str) -> bool:
    return places.get(predicate, "whole") != "whole"


class Division(NamedTuple):
    """Places and stages, from 1 on, of the derived predicates of a program.

    `kept` has, by the identity of a rule, the variable whose value stays within a part.
    """

    program: CheckedProgram
    places: Mapping[str, Place]
    stages: Mapping[str, int]
    kept: Mapping[int, str]

    @property
    def whole(self) -> tuple[str, ...]:
        """Predicates derived whole."""
        return tuple(_visible(p for p, place in self.places.items() if place == "whole"))

    @property
    def last(self) -> int:
        """Number of stages."""
        return max(self.stages.values(), default=0)

    def divides(self, predicate: str) -> bool:
        """Whether a predicate is derived in parts."""
        return _divides(self.places, predicate)

    def __str__(self) -> str:
        lines = []
        for stage in range(1, self.last + 1):
            names = _visible(p for p, s in self.stages.items() if s == stage)
            names.sort(key=self.divides)
            if names:
                lines.append(f"stage {stage}: {', '.join(map(self._placed, names))}")
        return "\n".join(lines)

    def _placed(self, predicate: str) -> str:
        place = self.places[predicate]
        return f"{predicate} by argument {place + 1}" if isinstance(place, int) else f"{predicate} {place}"


class _Choice(NamedTuple):
    """Division of the first strata; plans are compared by `cost`.

    Attributes
    ----------
    recursions, whole, scattered
        Numbers of recursions and of predicates derived whole, and of scattered predicates.
    sent
        (stage, predicate) of derived facts that are read as a whole.
    exchanged
        (stage, predicate, position, arity) of derived facts that are read by the values at another position.
    """

    recursions: int = 0
    sent: frozenset[tuple[int, str]] = frozenset()
    whole: int = 0
    exchanged: frozenset[tuple[int, str, int, int]] = frozenset()
    last: int = 0
    scattered: int = 0
    places: Mapping[str, Place] = {}
    stages: Mapping[str, int] = {}
    kept: Mapping[int, str] = {}

    @property
    def cost(self) -> tuple[int, ...]:
        exchanged = sum(arity for *_, arity in self.exchanged)
        return self.recursions, len(self.sent), self.whole, exchanged, self.last, self.scattered

    def complete(self, predicate: str) -> int:
        """First stage in which all facts of a predicate can be read."""
        return self.stages.get(predicate, 1) + self.divides(predicate)

    def divides(self, predicate: str) -> bool:
        return _divides(self.places, predicate)

    def joined(self, more: _Choice) -> _Choice:
        """Add the places of a further stratum, whose costs include those of this plan."""
        return more._replace(
            places={**self.places, **more.places},
            stages={**self.stages, **more.stages},
            kept={**self.kept, **more.kept},
        )


def divide(program: CheckedProgram) -> tuple[Division, tuple[int, ...]] | None:
    """Choose places and stages; `None` if no predicate can be divided (see `reasons`).

    The plan has the fewest recursions derived whole; among those, the fewest derived predicates that are read whole,
    then the fewest predicates derived whole, the fewest columns that are read by the values at another position, the
    fewest stages, and the fewest scattered predicates. Returns the division and these numbers.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> reach = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> division, _ = divide(load_text(f"{reach} indegree(Y, N) :- reach(X, Y), N = count(X)."))
    >>> print(division)
    stage 1: reach by argument 1
    stage 2: indegree by argument 1
    """
    if any(_refusals(program)):
        return None
    best = _plan(program)
    if not any(map(best.divides, best.places)):
        return None
    return Division(program, best.places, best.stages, best.kept), best.cost


def _plan(program: CheckedProgram) -> _Choice:
    plans = [_Choice()]
    for stratum in program.strata:
        choices = list(islice(_choices(stratum, program), _CHOICES))
        extended = [(plan, _divided(plan, stratum, places)) for plan in plans for places in choices]
        extended += [(plan, _whole(plan, stratum)) for plan in plans]
        extended.sort(key=lambda pair: pair[1].cost)
        plans = [plan.joined(more) for plan, more in extended[:_PLANS]]
    return plans[0]


def reasons(program: CheckedProgram, division: Division | None) -> tuple[Diagnostic, ...]:
    """Why a program is not divided, or what in it must fit into the memory nevertheless."""
    refused = tuple(_refusals(program))
    if refused:
        return refused
    blocked = [s for s in program.strata if next(_choices(s, program), None) is None]
    if division is not None:
        recursions = [_blocked(stratum, program, "W516") for stratum in blocked if stratum.recursive]
        return (*recursions, *_loaded(division))
    found = tuple(
        _blocked(stratum, program, "E541") if stratum.recursive else _gathered(stratum) for stratum in blocked
    )
    if found:
        return found
    what = f"nothing is derived for {', '.join(program.outputs)} that could be divided"
    return (Diagnostic("E541", what, hint=_UNDIVIDED),)


def _loaded(division: Division) -> Iterator[Diagnostic]:
    """Divided predicates whose facts a rule reads all at once."""
    for rule in division.program.rules:
        kept = Variable(division.kept.get(id(rule), ""))
        for atom in rule.body:
            if not division.divides(atom.predicate) or _partial(atom) or kept in atom.terms:
                continue
            name = "a constraint" if rule.head.predicate.startswith("#") else rule.head.predicate
            what = f"all facts of {atom.predicate} must fit into the memory: {name} reads them at once"
            hint = (
                "keep an argument in the head; counts, minima and maxima are combined from those of the parts"
            )
            yield Diagnostic("W516", what, atom.span, hint=hint)


def _gathered(stratum: Stratum) -> Diagnostic:
    """A predicate without recursion whose rule keeps no value of its body."""
    rule = stratum.rules[0]
    what = f"{rule.head.predicate} cannot be divided: its head keeps no value of the body"
    return Diagnostic("E541", what, rule.head.span, hint=_UNDIVIDED)


def _refusals(program: CheckedProgram) -> Iterator[Diagnostic]:
    for unification in program.unifications:
        what = "an equality-generating dependency equates values of different parts"
        yield Diagnostic("E541", what, unification.rule.span, hint=_UNDIVIDED)
    for rule in program.rules:
        if rule.inventions:
            what = f"the null {rule.inventions[0].variable} would be made anew in every part"
            yield Diagnostic("E541", what, rule.head.span, hint=_UNDIVIDED)
        for step in rule.steps:
            if any(isinstance(node, Skolem) for node in walk(step.expression)):
                what = f"the nulls of {step} would be made anew in every part"
                yield Diagnostic("E541", what, step.span, hint=_UNDIVIDED)
    for post in program.posts:
        if post.predicate in program.outputs:
            what = f"@post compares facts of {post.predicate} of different parts"
            yield Diagnostic("E541", what, post.span, hint=f"{_UNDIVIDED}, or remove the annotation")


def _blocked(stratum: Stratum, program: CheckedProgram, code: str) -> Diagnostic:
    """The first recursive atom that no choice of places leaves in its part."""
    best: tuple[int, CheckedRule, CheckedAtom] | None = None
    for places in islice(_all_places(stratum, program), _CHOICES):
        for number, rule in enumerate(stratum.rules):
            if not any(_local(rule, x, places) for x in _candidates(rule, places[rule.head.predicate])):
                if best is None or number > best[0]:
                    best = number, rule, _leaving(rule, places)
                break
    names = ", ".join(found := _visible(stratum.predicates))
    if best is None:
        rule = stratum.rules[0]
        return Diagnostic(code, f"{names} has no argument to divide it by", rule.head.span, hint=_UNDIVIDED)
    _, rule, atom = best
    verb = "cannot be divided" if code == "E541" else f"{'are' if len(found) > 1 else 'is'} derived whole"
    what = f"{names} {verb}: no argument of {atom} is copied to the same place of the head {rule.head}"
    hint = "start the recursion from one argument, as in p(X, Z) :- p(X, Y), step(Y, Z)"
    hint += f"; or {_UNDIVIDED}" if code == "E541" else ""
    if len(rule.head.terms) < 2:
        hint = "its facts must fit into the memory" if code == "W516" else _UNDIVIDED
    return Diagnostic(code, what, atom.span if atom.span else rule.span, note=_INDEPENDENT, hint=hint)


def _leaving(rule: CheckedRule, places: Mapping[str, Place]) -> CheckedAtom:
    """First atom of the stratum without the variable that most atoms have at their places."""
    here = [atom for atom in rule.body if atom.predicate in places]
    kept = max(
        _candidates(rule, places[rule.head.predicate]),
        key=lambda x: sum(_holds(atom, places[atom.predicate], x) for atom in here),
        default="",
    )
    return next((a for a in here if not _holds(a, places[a.predicate], kept)), rule.head)


def _choices(stratum: Stratum, program: CheckedProgram) -> Iterator[dict[str, Place]]:
    """Places of the predicates of a stratum by which all its rules are local."""
    return _all_places(stratum, program, [*stratum.rules])


def _all_places(
    stratum: Stratum, program: CheckedProgram, rules: Sequence[CheckedRule] = ()
) -> Iterator[dict[str, Place]]:
    """Places of the predicates of a stratum by which `rules` are local."""
    names = _connected(stratum)
    needs = [{rule.head.predicate, *(a.predicate for a in rule.body)} & stratum.predicates for rule in rules]

    def extended(places: dict[str, Place]) -> Iterator[dict[str, Place]]:
        if len(places) == len(names):
            yield places
            return
        name = names[len(places)]
        for place in _options(name, stratum, program):
            more = {**places, name: place}
            decided = [
                r for r, need in zip(rules, needs, strict=True) if name in need and need <= more.keys()
            ]
            if all(any(_local(r, x, more) for x in _candidates(r, more[r.head.predicate])) for r in decided):
                yield from extended(more)

    return extended({})


def _connected(stratum: Stratum) -> list[str]:
    """Predicates of a stratum, each after one with which it occurs in a rule, if there is one."""
    beside = {p: set[str]() for p in sorted(stratum.predicates)}
    for rule in stratum.rules:
        here = [a.predicate for a in rule.atoms if a.predicate in beside]
        for predicate in here:
            beside[predicate].update(here)
    order: list[str] = []
    waiting = list(beside)
    while waiting:
        near = next((p for p in waiting if not beside[p].isdisjoint(order)), waiting[0])
        order.append(near)
        waiting.remove(near)
    return order


def _options(predicate: str, stratum: Stratum, program: CheckedProgram) -> list[Place]:
    keyed = program.keyed.get(predicate)
    places: list[Place] = [
        i for i in range(program.arities[predicate]) if keyed is None or i != keyed.position
    ]
    return places if stratum.recursive or keyed else [*places, "scattered"]


def _candidates(rule: CheckedRule, place: Place) -> list[str]:
    """Variables whose value the rule hands on to the place of its head."""
    bound = {v for atom in rule.positives if atom.predicate != PART for v in atom.variables}
    aggregation = rule.aggregation
    if aggregation is not None:
        group, contributors = inputs(aggregation)
        if not rule.head.predicate.startswith(PARTIAL):
            bound &= set(group)
        elif plain(aggregation) == "count":  # contributions of different parts must be different
            bound &= {*group, *contributors}
    elif not bound:  # every part derives the same
        return [""] if place == "scattered" else []
    if not isinstance(place, int):
        return sorted(bound)
    term = rule.head.terms[place]
    return [term.name] if isinstance(term, Variable) and term.name in bound else []


def _local(rule: CheckedRule, x: str, places: Mapping[str, Place]) -> bool:
    return all(_holds(atom, places[atom.predicate], x) for atom in rule.body if atom.predicate in places)


def _holds(atom: CheckedAtom, place: Place, x: str) -> bool:
    return isinstance(place, int) and atom.terms[place] == Variable(x)


def _divided(plan: _Choice, stratum: Stratum, places: Mapping[str, Place]) -> _Choice:
    """Extend a plan by a stratum that is derived in parts."""
    kept: dict[int, str] = {}
    stage = 1
    for rule in stratum.rules:
        local = [x for x in _candidates(rule, places[rule.head.predicate]) if _local(rule, x, places)]
        earliest, _, kept[id(rule)] = min((*_earliest(rule, x, plan), x) for x in local)
        stage = max(stage, earliest)
    sent, exchanged = set[tuple[int, str]](), set[tuple[int, str, int, int]]()
    for rule in stratum.rules:
        x = Variable(kept[id(rule)])
        for atom in rule.body:
            if not plan.divides(atom.predicate) or plan.stages[atom.predicate] == stage or _partial(atom):
                continue
            if x in atom.terms:
                exchanged.add((stage, atom.predicate, atom.terms.index(x), len(atom.terms)))
            else:
                sent.add((stage, atom.predicate))
    return plan._replace(
        sent=plan.sent | sent,
        exchanged=plan.exchanged | exchanged,
        last=max(plan.last, stage),
        scattered=plan.scattered + sum(place == "scattered" for place in places.values()),
        places=places,
        stages=dict.fromkeys(places, stage),
        kept=kept,
    )


def _earliest(rule: CheckedRule, x: str, plan: _Choice) -> tuple[int, int]:
    """First stage in which a rule is local with x, and the number of derived atoms without x."""
    stage, without = 1, 0
    for atom in rule.body:
        if not plan.divides(atom.predicate):
            stage = max(stage, plan.complete(atom.predicate))
            continue
        local = _holds(atom, plan.places[atom.predicate], x)
        stage = max(stage, plan.stages[atom.predicate] if local else plan.complete(atom.predicate))
        without += Variable(x) not in atom.terms
    return stage, without


def _whole(plan: _Choice, stratum: Stratum) -> _Choice:
    """Extend a plan by a stratum that is derived whole."""
    atoms = [atom for rule in stratum.rules for atom in rule.body]
    stage = max((plan.complete(atom.predicate) for atom in atoms), default=1)
    sent = {(stage, a.predicate) for a in atoms if plan.divides(a.predicate) and not _partial(a)}
    return plan._replace(
        recursions=plan.recursions + stratum.recursive,
        sent=plan.sent | sent,
        whole=plan.whole + len(stratum.predicates),
        last=max(plan.last, stage),
        places=dict.fromkeys(stratum.predicates, "whole"),
        stages=dict.fromkeys(stratum.predicates, stage),
        kept={},
    )


def _partial(atom: CheckedAtom) -> bool:
    """Whether an atom reads aggregates of parts, which are few."""
    return atom.predicate.startswith(PARTIAL)


def _visible(predicates: Iterable[str]) -> list[str]:
    """Sorted predicates, without internal ones."""
    return sorted(p for p in predicates if not p.startswith("#"))
