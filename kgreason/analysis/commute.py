"""Whether rules commute with taking a part of the graph: Σ(G[X]) is Σ(G) restricted to X, for all G and X.

Whether they do is undecidable, but no rule that hides a vertex is a simple proof. A rule *hides* a vertex if its body
holds one that its head does not: whether the rule applies may then hang on a vertex outside of X. Without such rules,
let p|X be the facts of p whose vertices all lie in X. By induction over the strata, and in each over the rounds, the
rules derive p|X from G[X] where they derive p from G:

- G[X] holds the facts of G whose vertices lie in X, and the facts in the rule file name no vertices.
- A match of a rule on G has the vertices of its head. So it is a match on G[X] just if the head is in p|X; for what is
  negated, lower strata agree on the vertices of X.
- The head has all vertices of the body, so the matches of a group of an aggregate have the same vertices: on G[X] there
  are all of them or none.
- Functions and comparisons see the values of one match or group.

This takes rules that treat vertices alike and make no nulls (`kgreason.analysis.generic`).

References
----------
The KGISO paper, Proposition 4.1 (commutative property).
"""

from __future__ import annotations

from collections.abc import Iterator

from kgreason.analysis.checked import Assign, CheckedProgram, CheckedRule, Filter, Position, places
from kgreason.analysis.expressions import grown
from kgreason.analysis.generic import vertex_positions
from kgreason.lang.ast import Binary, Variable


def hidden_vertices(program: CheckedProgram) -> tuple[Variable, ...]:
    """Find the vertices that rules hide on the way to the derived edges; where there are none, the rules commute.

    Parameters
    ----------
    program
        Rules that can be used for anonymization (`kgreason.analysis.generic`).

    Returns
    -------
    tuple of Variable
        Of each rule that hides vertices the first variable that holds one, in the order of the text.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '''@edge("own"). @derived("mutual"). @derived("linked").
    ... mutual(X,Y) :- own(X,Y,V), own(Y,X,W), V + W > 1.
    ... linked(X,Z) :- own(X,Y,_), own(Y,Z,_).'''
    >>> [(variable.name, variable.span.line) for variable in hidden_vertices(load_text(text))]
    [('Y', 3)]
    """
    program = program.restricted(program.derived)
    positions = vertex_positions(program)
    hidden = [next(_hidden(rule, positions), None) for rule in program.rules]
    by_place = {
        (v.span.file, v.span.line, v.span.column): v for v in hidden if v
    }  # heads of a rule share its body
    return tuple(by_place[place] for place in sorted(by_place))


def _hidden(rule: CheckedRule, positions: frozenset[Position]) -> Iterator[Variable]:
    """Variables that hold vertices, those that only a negated atom knows included, and no head shows."""
    shown = _equal(set(rule.head.variables), rule)
    for place, term in places(rule.body):
        if place in positions and term.name not in shown:
            yield term


def _equal(shown: set[str], rule: CheckedRule) -> set[str]:
    """Variables that hold what one of those `shown` holds."""
    pairs = []
    for step in rule.before:
        match step:
            case Assign(variable, Variable() as other):
                pairs.append({variable, other.name})
            case Filter(Binary("==", Variable() as left, Variable() as right)):
                pairs.append({left.name, right.name})
    return grown(shown, lambda known: set[str]().union(*(pair for pair in pairs if pair & known)))
