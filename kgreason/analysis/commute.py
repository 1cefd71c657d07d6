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

from kgreason.analysis.checked import Assign, CheckedProgram, CheckedRule, Filter
from kgreason.analysis.generic import Position, vertex_positions
from kgreason.errors import Span
from kgreason.lang.ast import Binary, Variable
from kgreason.records import dataclass


@dataclass(frozen=True, slots=True)
class HiddenVertex:
    """A vertex in the body of a rule that its head does not show.

    Attributes
    ----------
    variable
        The first of the rule that holds one.
    span
        Where it stands.
    """

    rule: CheckedRule
    variable: Variable
    span: Span

    def __str__(self) -> str:
        return f"{self.span.file}:{self.span.line}: the head leaves out the vertex {self.variable}"


def hidden_vertices(program: CheckedProgram) -> tuple[HiddenVertex, ...]:
    """Find the vertices that rules hide on the way to the derived edges; where there are none, the rules commute.

    Parameters
    ----------
    program
        Rules that can be used for anonymization (`kgreason.analysis.generic`).

    Returns
    -------
    tuple of HiddenVertex
        At most one of each rule, in the order of the text.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '''@edge("own"). @derived("mutual"). @derived("linked").
    ... mutual(X,Y) :- own(X,Y,V), own(Y,X,W), V + W > 1.
    ... linked(X,Z) :- own(X,Y,_), own(Y,Z,_).'''
    >>> [str(hidden) for hidden in hidden_vertices(load_text(text))]
    ['<text>:3: the head leaves out the vertex Y']
    """
    program = program.restricted(program.derived)
    positions = vertex_positions(program)
    found = [h for rule in program.rules if (h := _hidden(rule, positions))]
    return tuple(sorted(found, key=lambda h: (h.span.file, h.span.line, h.span.column)))


def _hidden(rule: CheckedRule, positions: frozenset[Position]) -> HiddenVertex | None:
    shown = _equal(set(rule.head.variables), rule)
    for variable in _vertices(rule, positions):
        if variable.name not in shown:
            return HiddenVertex(rule, variable, variable.span)
    return None


def _vertices(rule: CheckedRule, positions: frozenset[Position]) -> Iterator[Variable]:
    """Variables of the body where vertices stand, those that only a negated atom knows included."""
    for atom in (*rule.positives, *rule.negatives):
        for i, term in enumerate(atom.terms):
            if isinstance(term, Variable) and (atom.predicate, i) in positions:
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
    size = -1
    while size < len(shown):
        size = len(shown)
        shown = shown.union(*(pair for pair in pairs if pair & shown))
    return shown
