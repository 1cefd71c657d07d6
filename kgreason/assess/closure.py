"""Answers of queries that are transitive closures, counted without listing them.

A closure of a million vertices has 10^12 pairs, but its graph has few strongly connected components, or they reach
few others: bits say which vertices each component reaches, for some thousands of vertices at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Filter, Step, Stratum
from kgreason.analysis.expressions import names
from kgreason.analysis.generic import vertex_positions
from kgreason.graph.facts import answers
from kgreason.graph.model import KnowledgeGraph
from kgreason.lang.ast import Binary, Variable

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BASE, STEP = "#base", "#step"


@dataclass(frozen=True)
class ClosureRules:
    """Rules of a predicate that may be a closure.

    Attributes
    ----------
    program
        Derives with `BASE` what the other rules derive, and with `STEP` the pairs by which recursive ones go on.
    cycles
        Whether a vertex on a cycle reaches itself.
    """

    program: CheckedProgram
    cycles: bool


def closure_rules(program: CheckedProgram, query: str) -> ClosureRules | None:
    """Recognize a predicate whose recursive rules go one step on, at either end, or join it with itself.

    It is the closure of its base if the steps are the same pairs; that depends on the data.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '@edge("e"). r(X,Y) :- e(X,Y). r(X,Y) :- r(X,Z), e(Z,Y){}.'
    >>> [closure_rules(load_text(text.format(more)), "r") is None for more in ("", ", X != Y", ", X != 3")]
    [False, False, True]
    """
    stratum = next((s for s in program.strata if query in s.predicates), None)
    vertices = vertex_positions(program)
    if (
        stratum is None
        or stratum.predicates != {query}
        or not stratum.recursive
        or program.arities[query] != 2
        or query in program.keyed
        or query in (*program.edges, *program.nodes, *(fact.predicate for fact in program.facts))
        or not {(query, 0), (query, 1)} <= vertices
        or program.unifications
    ):
        return None
    recursive = [r for r in stratum.rules if any(a.predicate == query for a in r.positives)]
    base = [r for r in stratum.rules if r not in recursive]
    steps = [_step(rule, query) for rule in recursive]
    if not base or any(s is None for s in steps) or len({s[1] for s in steps if s}) > 1:
        return None
    cycles = all(s[1] for s in steps if s)
    found = [s[0] for s in steps if s and s[0] is not None]
    heads = [replace(r, head=_renamed(r.head, BASE)) for r in base]
    strata = [s for s in program.strata if s is not stratum]
    at = program.strata.index(stratum)
    new = [Stratum(frozenset({BASE}), tuple(heads), recursive=False)]
    if found:
        new.append(Stratum(frozenset({STEP}), tuple(found), recursive=False))
    strata[at:at] = new
    outputs = (BASE, STEP) if found else (BASE,)
    arities = {**program.arities, BASE: 2, STEP: 2}
    whole = replace(program, strata=tuple(strata), arities=arities, outputs=outputs, queries=outputs)
    return ClosureRules(whole.restricted(outputs), cycles)


def _renamed(atom: CheckedAtom, predicate: str) -> CheckedAtom:
    return replace(atom, predicate=predicate)


def _step(rule: CheckedRule, query: str) -> tuple[CheckedRule | None, bool] | None:
    """The rule of the steps that a recursive one goes (none for ``p(X,Z), p(Z,Y)``), and whether in circles, too."""
    here = [a for a in rule.positives if a.predicate == query]
    plain = not (rule.negatives or rule.aggregation or rule.inventions)
    if not plain or not all(_two_variables(a) for a in (rule.head, *here)):
        return None
    start, end = (t.name for t in rule.head.terms if isinstance(t, Variable))
    apart = [step for step in rule.before if _unequal(step, start, end)]
    before = tuple(step for step in rule.before if step not in apart)
    rest = tuple(a for a in rule.positives if a.predicate != query)
    if len(here) == 2 and not rest and not before:
        middle = {t for a in here for t in a.variables} - {start, end}
        ends = {tuple(a.variables) for a in here}
        if len(middle) == 1 and ends == {(start, *middle), (*middle, end)}:
            return None, not apart
        return None
    if len(here) != 1 or not rest:
        return None
    one, other = here[0].variables
    if one == start and other not in (start, end):
        kept, terms = start, (other, end)
    elif other == end and one not in (start, end):
        kept, terms = end, (start, one)
    else:
        return None
    used = {v for a in rest for v in a.variables}
    # the pair itself may be told apart: it has nothing in common then; the kept end must not matter otherwise
    turned = [step for step in before if _unequal(step, kept, terms[0] if kept == start else terms[1])]
    before = tuple(step for step in before if step not in turned) if apart else before
    if kept in used or any(kept in _names(step) for step in before):
        return None
    head = CheckedAtom(STEP, tuple(Variable(t) for t in terms), rule.head.span)
    return replace(rule, head=head, positives=rest, before=before), not apart


def _two_variables(atom: CheckedAtom) -> bool:
    return len(atom.terms) == len(atom.variables) == 2


def _names(step: Step) -> frozenset[str]:
    return names(step.expression)


def _unequal(step: Step, a: str, b: str) -> bool:
    """Whether a step asks that two variables differ, no more."""
    match step:
        case Filter(expression=Binary(operator="!=", left=Variable(name=left), right=Variable(name=right))):
            return {left, right} == {a, b}
    return False


@dataclass(frozen=True, eq=False)
class Closure:
    """All pairs of vertices joined by a path of steps.

    Attributes
    ----------
    n
        Number of vertices.
    source, target
        Of the steps, int64; their ends differ.
    loops
        Vertices that reach themselves by a fact of their own, shape (n,).
    cycles
        Whether those on cycles do, too.
    """

    n: int
    source: Ints
    target: Ints
    loops: Flags
    cycles: bool


def closure(graph: KnowledgeGraph, rules: ClosureRules) -> Closure | None:
    """The closure that the rules define on a graph; `None` if they go on by other steps than they begin with."""
    found = answers(graph, rules.program)
    base = found[BASE]
    steps = found.get(STEP, base)
    apart, turned = base[base[:, 0] != base[:, 1]], steps[steps[:, 0] != steps[:, 1]]
    if not np.array_equal(apart, turned):
        return None
    loops = np.zeros(graph.n, dtype=np.bool_)
    loops[base[base[:, 0] == base[:, 1], 0]] = True
    return Closure(graph.n, apart[:, 0].copy(), apart[:, 1].copy(), loops, rules.cycles)
