"""Which positions hold vertices, and whether rules tell vertices apart other than by equality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Filter
from kgreason.analysis.expressions import names, walk
from kgreason.lang.ast import Binary, Expression, Unary, Variable

EQUALITY = frozenset({"==", "!="})

Position = tuple[str, int]  # (predicate, 0-based argument)
Node = Position | tuple[int, str]  # or (number of a rule, variable)

VERTEX, DATA = ("sort", -1), ("sort", -2)  # what every vertex and every other value is unified with


@dataclass(frozen=True)
class VertexPositions:
    """Where vertices stand in a program whose node and edge predicates hold them.

    Attributes
    ----------
    positions
        All (predicate, argument) that may hold a vertex.
    generic
        Whether the rules use vertices only to join, group and test for equality. Renaming the vertices of
        the input then renames the answers and changes nothing else (genericity of queries, Abiteboul,
        Hull and Vianu, *Foundations of Databases*, 1995, section 16.1).
    """

    positions: frozenset[Position]
    generic: bool

    def binary(self, predicate: str, arity: int) -> bool:
        """Whether a predicate holds pairs of vertices."""
        return arity == 2 and {(predicate, 0), (predicate, 1)} <= self.positions


def vertex_positions(program: CheckedProgram) -> VertexPositions:
    """Infer where vertices can stand, by unification of positions and variables.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '@edge("own"). p(X,Y) :- own(X,Y,W), X != Y. n(X,C) :- own(X,Y,_), C = mcount(Y).'
    >>> found = vertex_positions(load_text(text))
    >>> found.generic, found.binary("p", 2), found.binary("n", 2)
    (True, True, False)
    """
    sorts = _Classes()
    for predicate in program.nodes:
        sorts.unify((predicate, 0), VERTEX)
    for predicate in program.edges:
        sorts.unify((predicate, 0), VERTEX)
        sorts.unify((predicate, 1), VERTEX)
        if program.arities.get(predicate) == 3:
            sorts.unify((predicate, 2), DATA)
    for fact in program.facts:
        for i in range(len(fact.terms)):
            sorts.unify((fact.predicate, i), DATA)
    for number, rule in enumerate(program.rules):
        for left, right in _unifications(number, rule):
            sorts.unify(left, right)
    vertex = sorts.find(VERTEX)
    places = [(p, i) for p, arity in program.arities.items() for i in range(arity)]
    return VertexPositions(
        frozenset(place for place in places if sorts.find(place) == vertex), vertex != sorts.find(DATA)
    )


class _Classes:
    """Union-find."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        while (parent := self._parent.get(node, node)) != node:
            node = parent
        return node

    def unify(self, left: Node, right: Node) -> None:
        self._parent[self.find(left)] = self.find(right)


def _unifications(number: int, rule: CheckedRule) -> Iterator[tuple[Node, Node]]:
    def node(expression: Expression) -> Node:
        return (number, expression.name) if isinstance(expression, Variable) else DATA

    def of_atom(atom: CheckedAtom) -> Iterator[tuple[Node, Node]]:
        for i, term in enumerate(atom.terms):
            yield (atom.predicate, i), node(term)

    for atom in (rule.head, *rule.positives, *rule.negatives):
        yield from of_atom(atom)
    for step in (*rule.before, *rule.after):
        if not isinstance(step, Filter):
            yield (number, step.variable), node(step.expression)
        for part in walk(step.expression):
            if isinstance(part, Binary) and part.operator in EQUALITY:
                yield node(part.left), node(part.right)
            elif isinstance(part, Binary):
                yield node(part.left), DATA
                yield node(part.right), DATA
            elif isinstance(part, Unary):
                yield node(part.operand), DATA
    if rule.aggregation:
        yield (number, rule.aggregation.variable), DATA
        counts = rule.aggregation.function in {"mcount", "count"}
        if rule.aggregation.argument is not None and not counts:
            for name in names(rule.aggregation.argument):
                yield (number, name), DATA
