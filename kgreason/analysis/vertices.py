"""Which positions hold vertices, and whether rules tell vertices apart other than by equality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Filter
from kgreason.lang.ast import Aggregate, Binary, Call, Constant, Expression, Unary, Variable

EQUALITY = frozenset({"==", "=", "!=", "<>"})

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
        for comparison in subexpressions(step.expression):
            if isinstance(comparison, Binary) and comparison.operator in EQUALITY:
                yield node(comparison.left), node(comparison.right)
            elif not isinstance(comparison, Variable | Constant):
                for part in operands(comparison):
                    yield node(part), DATA
    if rule.aggregation:
        yield (number, rule.aggregation.variable), DATA
        if rule.aggregation.argument is not None:
            counted = rule.aggregation.function in {"mcount", "count"}
            for part in subexpressions(rule.aggregation.argument):
                if isinstance(part, Variable) and not counted:
                    yield node(part), DATA


def operands(expression: Expression) -> tuple[Expression, ...]:
    """Direct parts of an expression."""
    if isinstance(expression, Binary):
        return (expression.left, expression.right)
    if isinstance(expression, Unary):
        return (expression.operand,)
    if isinstance(expression, Call):
        return expression.arguments
    if isinstance(expression, Aggregate) and expression.argument is not None:
        return (expression.argument,)
    return ()


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """An expression and all its parts."""
    yield expression
    for part in operands(expression):
        yield from subexpressions(part)
