"""Rules on induced subgraphs through the engine: many subgraphs are disjoint parts of one database.

Subgraphs that the rules cannot tell apart share one evaluation, and the distinct ones are evaluated together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.generic import holds_edges, is_generic, vertex_positions
from kgreason.analysis.lift import lift
from kgreason.engine.table import Facts, Kind, Table, doubles
from kgreason.errors import EvaluationError
from kgreason.graph.model import Vertices
from kgreason.graph.situations import Ints, Sight, Situations

Derived = npt.NDArray[np.bool_]

PART = "part_"
CHUNK = 1 << 18  # subgraphs looked up, and at most evaluated, at once
REMEMBERED = 1 << 20  # situations kept before all are forgotten


class Lifted:
    """The distinct situations in a graph, and what the rules derive in them.

    With an `outcome`, each situation is evaluated at both ends of its cells, and known if they agree on it.

    Attributes
    ----------
    evaluated
        Parts handed to the engine so far.
    """

    def __init__(self, sight: Sight, program: CheckedProgram, outcome: frozenset[str]) -> None:
        positions = vertex_positions(program)
        self._sight = sight
        self._program = program
        self._lifted = lift(program, PART)
        self._generic = is_generic(program)
        self._holds_edges = [holds_edges(p, positions) for p in program.derived]
        self._outcome = outcome
        self._forget()
        self.evaluated = 0

    def _forget(self) -> None:
        self._situations: dict[int, Situations] = {}
        self._known: dict[int, npt.NDArray[np.bool_]] = {}
        self._derived: dict[int, Derived] = {}

    def resolve(self, members: Vertices) -> tuple[npt.NDArray[np.bool_], Derived]:
        """Tell for each tuple whether its derived edges are known, and which they are, shape (N, P, x, x)."""
        count, x = members.shape
        known = np.ones(count, dtype=np.bool_)
        derived = np.zeros((count, len(self._holds_edges), x, x), dtype=np.bool_)
        for begin in range(0, count, CHUNK):
            rows = slice(begin, begin + CHUNK)
            known[rows], derived[rows] = self._chunk(members[rows])
        return known, derived

    def _chunk(self, members: Vertices) -> tuple[npt.NDArray[np.bool_], Derived]:
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

    def _evaluate(
        self, situations: Situations, numbers: Ints, names: Vertices
    ) -> tuple[npt.NDArray[np.bool_], Derived]:
        """Reason on situations; ``names[i, a]`` is what vertex a of the i-th is called in the facts."""
        from kgreason.engine.seminaive import evaluate

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
            # That the ends of cells fail proves nothing about the weights between.
            return np.zeros(count, dtype=bool), np.zeros(
                (count, len(self._holds_edges), *[names.shape[1]] * 2), bool
            )
        known = np.ones(count, dtype=bool)
        for predicate in self._outcome:
            table = result.tables.get(predicate)
            if table is not None:  # the lower end has a subset of the facts of the upper one
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

    def _edges(self, result: Facts, facts: Facts, names: Vertices) -> Derived:
        count, x = names.shape
        derived = np.zeros((count, len(self._holds_edges), x, x), dtype=bool)
        for p, predicate in enumerate(self._program.derived):
            table = result.tables.get(predicate)
            if table is None or not self._holds_edges[p]:
                continue
            derived[:, p][_places(table, names)] = True
            if predicate in facts.tables:  # what was given is not derived
                derived[:, p][_places(facts.tables[predicate], names)] = False
        return derived


def _places(table: Table, names: Vertices) -> tuple[Ints, Ints, Ints]:
    """Part and the positions of source and target, for the rows of the first end."""
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
