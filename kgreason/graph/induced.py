"""What the rules derive on induced subgraphs, each on its own: Σ(G[X]) for many X at once.

Evaluating millions of subgraphs one by one is slow and mostly repetition. Subgraphs that the rules cannot
tell apart share one evaluation, and the distinct ones are evaluated together, as disjoint parts of one
database.

What is shared is exact, for three reasons:

- Rules that use vertices only by equality commute with renaming, so vertex X[a] may be called a
  (`kgreason.analysis.vertices`). Rules that do more with vertices get them as they are and share nothing.
- Weights may be moved inside the cells that the rules tell apart (`kgreason.analysis.weights`).
- Weights that are added up are seen in full. But where the outcome is the same with all of them at the lower
  and at the upper end of their cells, it is the same in between (`monotone_outcome`). Subgraphs for which the
  ends differ are *ambiguous* and looked at again with their exact weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.generic import holds_edges, is_generic, vertex_positions
from kgreason.analysis.weights import Use, WeightUse, monotone_outcome, weight_uses
from kgreason.engine.table import Facts, Kind, Table, doubles
from kgreason.errors import EvaluationError
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.graph.situations import Cells, Ints, Situations, Ties

Derived = npt.NDArray[np.bool_]

PART = "part_"
CUTS = (0.5, 1.0)  # where cells of added weights end, in parts of the bound of the sum
CHUNK = 1 << 18  # subgraphs looked up, and at most evaluated, at once
REMEMBERED = 1 << 20  # situations kept before all are forgotten


class InducedReasoner:
    """Derives edges on induced subgraphs and remembers every situation it has met.

    Attributes
    ----------
    evaluated
        Parts handed to the engine so far.
    ambiguous
        Subgraphs so far that had to be looked at with their exact weights.
    """

    def __init__(self, graph: KnowledgeGraph, program: CheckedProgram) -> None:
        program = program.restricted(program.derived)
        self.program = program
        uses = weight_uses(program)
        outcome = monotone_outcome(program, uses) if _not_negative(graph, uses) else None
        exact = {p: WeightUse(Use.READ) if u.use is Use.ADDED else u for p, u in uses.items()}
        self._predicates = program.derived
        self._coarse = _View(graph, program, uses, outcome) if outcome else None
        self._exact = _View(graph, program, exact, frozenset())
        self.ambiguous = 0

    @property
    def evaluated(self) -> int:
        """Parts handed to the engine so far."""
        return self._exact.evaluated + (self._coarse.evaluated if self._coarse else 0)

    def derived(self, members: Vertices) -> Derived:
        """Derived edges of Σ(G[X]) for each row X of `members`; see `derived_within`."""
        count, x = members.shape
        found = np.zeros((count, len(self._predicates), x, x), dtype=bool)
        for begin in range(0, count, CHUNK):
            self._chunk(members[begin : begin + CHUNK], found[begin : begin + CHUNK])
        return found

    @property
    def predicates(self) -> tuple[str, ...]:
        return tuple(self._predicates)

    @property
    def ties(self) -> Ties | None:
        view = self._coarse or self._exact
        if not view._generic or view._ties.bits > 12:
            return None
        return view._ties

    def settled(self, members: Vertices) -> tuple[npt.NDArray[np.bool_], Ints]:
        known, derived = (self._coarse or self._exact).resolve(members)
        return known, _masks(derived)

    def masks(self, members: Vertices) -> Ints:
        return _masks(self.derived(members))

    def _chunk(self, members: Vertices, found: Derived) -> None:
        if self._coarse is None:
            found[:] = self._exact.resolve(members)[1]
            return
        known, found[:] = self._coarse.resolve(members)
        open_ = np.flatnonzero(~known)
        self.ambiguous += len(open_)
        if len(open_):
            found[open_] = self._exact.resolve(members[open_])[1]


def derived_within(graph: KnowledgeGraph, program: CheckedProgram, members: Vertices) -> Derived:
    """Reason on induced subgraphs, each alone.

    Whoever asks more than once about the same graph keeps an `InducedReasoner` instead.

    Parameters
    ----------
    members
        int64, shape (N, x): the vertices of each subgraph, none twice.

    Returns
    -------
    ndarray
        bool, shape (N, P, x, x): whether Σ(G[members[i]]) has the edge ``members[i, a] -> members[i, b]`` of
        predicate ``program.derived[p]``. Predicates that do not hold pairs of vertices have none.

    Raises
    ------
    EvaluationError
        If the rules cannot be carried out on one of the subgraphs.

    Examples
    --------
    A holds D and D holds E: on its own, the subgraph of A and E knows nothing of it.

    >>> from kgreason.analysis.check import load_text
    >>> rules = '''@edge("own"). @derived("reach").
    ... reach(X,Y) :- own(X,Y,_). reach(X,Z) :- reach(X,Y), own(Y,Z,_).'''
    >>> graph = KnowledgeGraph.from_edges([("A", "D", 0.6), ("D", "E", 0.8)], relation="own")
    >>> derived_within(graph, load_text(rules), np.array([[0, 1, 2]]))[0, 0].astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    >>> derived_within(graph, load_text(rules), np.array([[0, 2]])).any()
    np.False_
    """
    return InducedReasoner(graph, program).derived(members)


class _View:
    """A graph seen through cells: the distinct situations in it, and what the rules derive in them.

    With an `outcome`, each situation is evaluated at both ends of its cells, and known if they agree on it.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        program: CheckedProgram,
        uses: Mapping[str, WeightUse],
        outcome: frozenset[str],
    ) -> None:
        from kgreason.analysis.lift import lift

        positions = vertex_positions(program)
        self._program = program
        self._lifted = lift(program, PART)
        self._generic = is_generic(program)
        self._holds_edges = [holds_edges(p, positions) for p in program.derived]
        self._outcome = outcome
        seen = {a.predicate for r in program.rules for a in (r.head, *r.positives, *r.negatives)}
        self._relations = {p: graph.relations[p] for p in program.edges if p in graph.relations and p in seen}
        self._uses = uses
        self._graph = graph
        self._forget()
        self.evaluated = 0

    @cached_property
    def _cells(self) -> dict[str, Cells]:
        unread = WeightUse(Use.UNREAD)
        return {p: _cells(relation, self._uses.get(p, unread)) for p, relation in self._relations.items()}

    @cached_property
    def _ties(self) -> Ties:
        return Ties.of(self._graph, self._cells)

    def _forget(self) -> None:
        self._situations: dict[int, Situations] = {}
        self._known: dict[int, npt.NDArray[np.bool_]] = {}
        self._derived: dict[int, Derived] = {}

    def resolve(self, members: Vertices) -> tuple[npt.NDArray[np.bool_], Derived]:
        """Tell for each tuple whether its derived edges are known, and which they are."""
        x = members.shape[1]
        if not self._generic:
            situations = Situations(self._ties, x)
            return self._evaluate(situations, situations.intern(members), members)
        if sum(map(len, self._situations.values())) > REMEMBERED:
            self._forget()
        situations = self._situations.setdefault(x, Situations(self._ties, x))
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
        for predicate, cells in self._cells.items():
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


def _cells(relation: Relation, use: WeightUse) -> Cells:
    weight = relation.weight if relation.weight is not None else np.ones(len(relation))
    if use.use is Use.READ:
        return Cells.exact(weight)
    # Most sums are decided by whether one weight exceeds the bound or two are below half of it.
    return Cells.between(weight, np.union1d(use.constants, np.outer(use.bounds, CUTS)))


def _not_negative(graph: KnowledgeGraph, uses: Mapping[str, WeightUse]) -> bool:
    added = [
        graph.relations[p].weight for p, u in uses.items() if u.use is Use.ADDED and p in graph.relations
    ]
    return all(w is None or bool((w >= 0).all()) for w in added)


def _table(*columns: Ints, weight: npt.NDArray[np.float64] | None = None) -> Table:
    kinds = (Kind.INT,) * len(columns)
    if weight is not None:
        kinds, columns = (*kinds, Kind.DOUBLE), (*columns, doubles(weight))
    return Table(kinds, tuple(np.ascontiguousarray(c, dtype=np.int64) for c in columns), len(columns[0]))


def _masks(derived: Derived) -> Ints:
    count, p, x, _ = derived.shape
    return (derived.reshape(count, p, x * x) * (1 << np.arange(x * x, dtype=np.int64))).sum(axis=2)
