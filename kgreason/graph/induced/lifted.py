"""Evaluation of induced subgraphs by the engine: many subgraphs as disjoint parts of one database.

The part is the first argument of every atom. Subgraphs that the rules cannot distinguish are evaluated once, and the
distinct ones together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import EvaluationError
from kgreason.base.jit import Ints
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, doubles
from kgreason.graph.induced.situations import Sight, Situations
from kgreason.graph.knowledge_graph import Vertices
from kgreason.language.check.checked_program import (
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Filter,
    Keyed,
    Step,
    Stratum,
)
from kgreason.language.check.expressions import rewrite
from kgreason.language.check.genericity import holds_edges, is_generic, vertex_positions
from kgreason.language.syntax.syntax_tree import Expression, Skolem, Variable

Known = npt.NDArray[np.bool_]
Derived = npt.NDArray[np.bool_]

PART = "part_"
CHUNK = 1 << 18  # subgraphs interned, and at most evaluated, at once
REMEMBERED = 1 << 20  # situations cached before the cache is cleared


def lift(program: CheckedProgram, part: str = PART) -> CheckedProgram:
    """Make a program that evaluates disjoint databases, called parts, in one run; the predicate `part` lists them.

    Facts of different parts never join: all atoms of a rule share the part as first argument. Facts written in the file
    hold in every part, and each null belongs to one part. Sources are dropped: the caller supplies the facts, including
    those of `part`.

    Raises
    ------
    ValueError
        If the program uses `part`, or has equalities or constraints, which concern all parts at once.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> lifted = lift(load_text("reach(X,Y) :- own(X,Y). root(1)."))
    >>> for rule in lifted.rules:
    ...     print(rule.head, rule.positives[0])
    root(Part, 1) part_(Part)
    reach(Part, X, Y) own(Part, X, Y)
    """
    if part in program.arities:
        raise ValueError(f"the program uses the predicate {part!r} itself")
    if program.unifications or program.denials:
        raise ValueError("a program with equalities or constraints cannot be lifted")
    facts: dict[str, list[CheckedRule]] = {}
    for a in program.facts:
        rule = CheckedRule(a, (), (), (), None, (), f"{a}.", a.span)
        facts.setdefault(a.predicate, []).append(_lift_rule(rule, part))
    derived = program.heads
    first = [
        Stratum(frozenset({p}), tuple(rules), recursive=False)
        for p, rules in facts.items()
        if p not in derived
    ]
    strata = []
    for stratum in program.strata:
        stated = [rule for p, rules in facts.items() if p in stratum.predicates for rule in rules]
        strata.append(stratum._replace(rules=(*stated, *(_lift_rule(r, part) for r in stratum.rules))))
    return replace(
        program,
        facts=(),
        strata=(*first, *strata),
        arities={p: arity + 1 for p, arity in program.arities.items()} | {part: 1},
        keyed={p: Keyed(k.position + 1, k.keep) for p, k in program.keyed.items()},
        binds=(),
        mappings=(),
    )


def _lift_rule(rule: CheckedRule, part: str) -> CheckedRule:
    variable = _fresh_variable(rule)

    def lifted(atoms: Iterable[CheckedAtom]) -> tuple[CheckedAtom, ...]:
        return tuple(replace(atom, terms=(variable, *atom.terms)) for atom in atoms)

    def null(node: Expression) -> Expression:
        return replace(node, arguments=(variable, *node.arguments)) if isinstance(node, Skolem) else node

    def with_nulls(steps: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(replace(step, expression=rewrite(step.expression, null)) for step in steps)

    total = rule.aggregation
    if total is not None:
        argument = total.argument and rewrite(total.argument, null)
        total = replace(total, argument=argument, group=(variable.name, *total.group))
    return replace(
        rule,
        head=lifted([rule.head])[0],
        positives=lifted(rule.positives) or (CheckedAtom(part, (variable,), rule.head.span),),
        negatives=lifted(rule.negatives),
        before=with_nulls(rule.before),
        after=with_nulls(rule.after),
        aggregation=total,
        inventions=tuple(i._replace(frontier=(variable.name, *i.frontier)) for i in rule.inventions),
    )


def _fresh_variable(rule: CheckedRule) -> Variable:
    used = {name for atom in rule.atoms for name in atom.variables}
    used |= {step.variable for step in (*rule.steps, *rule.inventions) if not isinstance(step, Filter)}
    if rule.aggregation:
        used.add(rule.aggregation.variable)
    name = "Part"
    while name in used:
        name += "_"
    return Variable(name)


class Lifted:
    """Distinct situations in a graph, and their derived edges.

    With an `outcome`, each situation is evaluated at both ends of its cells, and is known if both ends agree on it.
    """

    def __init__(self, sight: Sight, program: CheckedProgram, outcome: frozenset[str]) -> None:
        positions = vertex_positions(program)
        self._sight = sight
        self._program = program
        self._lifted = lift(program)
        self._generic = is_generic(program)
        self._holds_edges = [holds_edges(p, positions) for p in program.derived]
        self._outcome = outcome
        self._forget()
        self.evaluated = 0  # parts, by the engine

    def _forget(self) -> None:
        self._situations: dict[int, Situations] = {}
        self._known: dict[int, Known] = {}
        self._derived: dict[int, Derived] = {}

    def resolve(self, members: Vertices) -> tuple[Known, Derived]:
        """Whether the derived edges of each tuple are known, and these edges, shape (N, P, x, x)."""
        count, x = members.shape
        known = np.ones(count, dtype=np.bool_)
        derived = np.zeros((count, len(self._holds_edges), x, x), dtype=np.bool_)
        for begin in range(0, count, CHUNK):
            rows = slice(begin, begin + CHUNK)
            known[rows], derived[rows] = self._chunk(members[rows])
        return known, derived

    def _chunk(self, members: Vertices) -> tuple[Known, Derived]:
        x = members.shape[1]
        if not self._generic:
            situations = Situations(self._sight.ties, x)
            return self._evaluate(situations, situations.intern(members), members)
        if sum(map(len, self._situations.values())) > REMEMBERED:
            self._forget()
        situations = self._situations.setdefault(x, Situations(self._sight.ties, x))
        before = len(situations)
        ids = situations.intern(members)
        new = np.arange(before, len(situations))
        if len(new) or x not in self._known:
            known, derived = self._evaluate(situations, new, np.tile(np.arange(x), (len(new), 1)))
            if before:
                known = np.concatenate([self._known[x], known])
                derived = np.concatenate([self._derived[x], derived])
            self._known[x], self._derived[x] = known, derived
        return self._known[x][ids], self._derived[x][ids]

    def _evaluate(self, situations: Situations, numbers: Ints, names: Vertices) -> tuple[Known, Derived]:
        """Evaluate situations; ``names[i, a]`` is the name of vertex a of the i-th situation in the facts."""
        from kgreason.engine.seminaive.evaluation import evaluate

        count = len(numbers)
        ends = 2 if self._outcome else 1
        facts = self._facts(situations.edges(numbers), names, ends)
        goals = dict.fromkeys((*self._program.derived, *sorted(self._outcome)))
        self.evaluated += ends * count
        try:
            result = evaluate(self._lifted, facts, goals=tuple(goals)).facts
        except EvaluationError:
            if not self._outcome:
                raise
            # Failure at the ends of cells implies nothing for the weights in between.
            return np.zeros(count, dtype=bool), self._no_edges(names)
        known = np.ones(count, dtype=bool)
        for predicate in self._outcome:
            table = result.tables.get(predicate)
            if table is not None:  # the facts at the lower end are a subset of those at the upper end
                sizes = np.bincount(table.columns[0], minlength=2 * count)
                known &= sizes[:count] == sizes[count:]
        return known, self._edges(result, facts, names)

    def _facts(self, edges: tuple[Ints, Ints, Ints, Ints], names: Vertices, ends: int) -> Facts:
        """Lifted facts of situations; with two ends, part i + count holds part i at its upper end."""
        part, source, target, cell = edges
        count, x = names.shape
        tables = {PART: _table(np.arange(ends * count))}
        for predicate in self._program.nodes:
            tables[predicate] = _table(np.repeat(np.arange(ends * count), x), np.tile(names.ravel(), ends))
        offset = 0
        for predicate, cells in self._sight.cells.items():
            mine = np.flatnonzero((offset <= cell) & (cell < offset + len(cells.low)))
            row = part[mine]
            columns = [np.concatenate([row + end * count for end in range(ends)])]
            columns += [np.tile(names[row, place[mine]], ends) for place in (source, target)]
            weight = None
            if self._program.arities.get(predicate) == 3:
                weight = np.concatenate([w[cell[mine] - offset] for w in (cells.low, cells.high)[:ends]])
            tables[predicate] = _table(*columns, weight=weight)
            offset += len(cells.low)
        return Facts(tables)

    def _no_edges(self, names: Vertices) -> Derived:
        count, x = names.shape
        return np.zeros((count, len(self._holds_edges), x, x), dtype=bool)

    def _edges(self, result: Facts, facts: Facts, names: Vertices) -> Derived:
        derived = self._no_edges(names)
        for p, predicate in enumerate(self._program.derived):
            if predicate in result.tables and self._holds_edges[p]:
                derived[:, p][_positions(result.tables[predicate], names)] = True
                if predicate in facts.tables:  # facts of the graph are not derived
                    derived[:, p][_positions(facts.tables[predicate], names)] = False
        return derived


def _positions(table: Table, names: Vertices) -> tuple[Ints, Ints, Ints]:
    """Part and the positions of source and target, for the lower ends."""
    rows = np.flatnonzero(table.columns[0] < len(names))
    part = table.columns[0][rows]
    source, target = (names[part] == c[rows, None] for c in table.columns[1:3])
    inside = np.flatnonzero(source.any(axis=1) & target.any(axis=1))
    return part[inside], source.argmax(axis=1)[inside], target.argmax(axis=1)[inside]


def _table(*columns: Ints, weight: npt.NDArray[np.float64] | None = None) -> Table:
    kinds = (Kind.INT,) * len(columns)
    if weight is not None:
        kinds, columns = (*kinds, Kind.DOUBLE), (*columns, doubles(weight))
    return Table(kinds, tuple(np.ascontiguousarray(c, dtype=np.int64) for c in columns), len(columns[0]))
