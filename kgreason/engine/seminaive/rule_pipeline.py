"""Pipeline of a rule: physical operators as stages that transform batches of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from time import perf_counter

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores
from kgreason.base.records import record
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.expressions.compiled_expressions import Scope, has_skolem
from kgreason.engine.plan import ir
from kgreason.engine.relations import index_kernels
from kgreason.engine.relations.fact_tables import CODED, Kind, coded, sought
from kgreason.engine.relations.relation import NOTHING, Index, Relation
from kgreason.engine.relations.rows import CHUNK, Rows
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.engine.seminaive.shared_rows import LEAST, RESULT, TASK, Pieces, shared_out
from kgreason.engine.seminaive.value_aggregates import misfit
from kgreason.language.check.checked_program import Aggregation, Assign, CheckedAtom, CheckedRule, Filter
from kgreason.language.syntax.syntax_tree import Constant, Expression, Variable

Batches = Iterator[Rows]
Stage = Callable[[Batches], Batches]
Layout = tuple[str, ...]
Condition = Callable[[Rows], npt.NDArray[np.bool_]]


@dataclass(eq=False, repr=False)
class Pipeline:
    """Stages of a sequence of operators, appended one by one.

    A stage maps a stream of batches to a stream of batches; `lookups` are those that look up rows. Rows are coded;
    `layout` names the variable of each column. A batch holds at most `CHUNK` rows and is valid only until the next one
    is requested, because stages reuse their buffers. `live` are the predicates of the current stratum; `scan` is the
    part of a relation that is the source, if any; `splits` states whether threads may share the rows, i.e. whether
    stages do nothing but read.
    """

    relations: Mapping[str, Relation]
    kinds: Mapping[str, Sequence[Kind]]
    variables: Mapping[str, Kind]
    rule: CheckedRule
    live: frozenset[str]
    nulls: Nulls
    layout: Layout = ()
    stages: list[Stage] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    scan: tuple[Relation, ir.Part] | None = None
    splits: bool = True

    @property
    def symbols(self) -> Symbols:
        """Symbol table of all values."""
        return self.nulls.symbols

    @property
    def reads(self) -> bool:
        """Whether the stages only read, and relations whose rows are in a buffer."""
        return self.splits and all(lookup.probe.index.relation.buffered for lookup in self.lookups)

    @property
    def omitted(self) -> int:
        """Number of rows so far that the last lookup has omitted because they are known."""
        return self.lookups[-1].omitted if self.lookups else 0

    def run(self) -> Batches:
        """Batches from the last stage, in the order of the rows of the source."""
        if self.scan is None:
            yield from self.flow(iter([np.empty((1, 0), dtype=np.int64)]))
            return
        relation, part = self.scan
        rows = relation.size(part)
        if rows < LEAST or not self.lookups or not self.splits or cores() == 1:
            yield from self.flow(relation.batches(part))
            return
        pieces = Pieces(relation.batches(part), rows)
        while pieces.left:
            size, shared = self._share(pieces.left)
            if shared:
                yield from shared_out(self.flow, pieces, size)
            else:
                yield from self.flow(iter([pieces.take(size)]))

    def _share(self, left: int) -> tuple[int, bool]:
        """Number of rows to process at once, given the rows that are left, and whether all threads do so."""
        first, last = self.lookups[0], self.lookups[-1]
        if not first.probed:
            return LEAST, False
        work = sum(stage.work for stage in self.lookups)
        per_row = work / first.probed
        # the caller handles results one by one, and later those of threads than its own, which are near
        pays = work * (cores() - 1) >= RESULT * (last.found - last.omitted) * cores()
        if not pays or left * per_row <= 2 * TASK:
            return CHUNK, False
        return max(1, min(CHUNK, int(TASK / per_row))), True

    def flow(self, batches: Batches) -> Batches:
        """Send batches through all stages."""
        for stage in self.stages:
            batches = stage(batches)
        return batches

    def add(self, operator: ir.Operator) -> None:
        """Append the stages of an operator."""
        match operator:
            case ir.Join():
                (self._join if self.scan else self._scan)(operator)
            case ir.AntiJoin(atom):
                self._anti_join(atom)
            case Filter(expression):
                self.splits = False
                condition = self.scope.condition(expression)
                self.stages.append(each(lambda rows: rows[np.broadcast_to(condition(rows), len(rows))]))
            case Assign(variable, expression):
                self._assign(variable, expression)
            case ir.Invent():
                self._invent(operator)
            case ir.Project(atom):
                self._project(atom)
            case Aggregation():
                raise AssertionError("an aggregate stands between two pipelines")

    @property
    def scope(self) -> Scope:
        """Scope of expressions over the current columns."""
        return Scope(self.layout, self.variables, self.symbols, self.rule, self.nulls)

    def contribute(self, names: Sequence[str], argument: Expression) -> Kind:
        """Arrange the columns for an aggregate: named variables, then the argument; returns the argument's kind."""
        kind, function = self.scope.compile(argument)
        if isinstance(argument, Variable):
            if self.layout != (*names, argument.name):
                self._gather([self.layout.index(name) for name in (*names, argument.name)])
            self.layout = (*names, argument.name)
        else:
            self._gather([*(self.layout.index(name) for name in names), self._coding(function, kind, kind)])
            self.layout = (*names, f"#{argument}")
        if kind is Kind.ANY and self.rule.aggregation is not None:
            self._check_contributions(self.rule.aggregation)
        return kind

    def _check_contributions(self, aggregation: Aggregation) -> None:
        """Raise an error for values (last column, kind ANY) that the aggregate does not accept."""
        scope = self.scope

        def check(rows: Rows) -> Rows:
            found = misfit(aggregation, rows[:, -1], scope.symbols)
            if found is not None:
                at, refusal = found
                hint = refusal.hint and refusal.hint.replace("...", str(aggregation.argument))
                raise scope.error(refusal.what, rows[at], scope.shown, hint)
            return rows

        self.stages.append(each(check))

    def successor(self, layout: Layout) -> Pipeline:
        """Copy without stages, for the operators after an aggregate."""
        return replace(self, layout=layout, stages=[], lookups=[], splits=True)

    def _assign(self, variable: str, expression: Expression) -> None:
        kind, function = self.scope.compile(expression)
        target = self.variables[variable]
        self._gather([*range(len(self.layout)), self._coding(function, kind, target)])
        if target in CODED and has_skolem(expression):  # a negative code marks a null that the chase omits
            self.stages.append(each(lambda rows: rows[rows[:, -1] >= 0]))
        self.layout = (*self.layout, variable)

    def _invent(self, operator: ir.Invent) -> None:
        frontier = tuple(dict.fromkeys(v for i in operator.inventions for v in i.frontier))
        columns = [self.layout.index(v) for v in frontier]
        kinds = [self.variables[v] for v in frontier]

        self.splits = False

        def invent(rows: Rows) -> Rows:
            arguments = np.ascontiguousarray(rows[:, columns])
            kept, codes = self.nulls.activate(self.rule, operator.inventions, arguments, kinds)
            return np.ascontiguousarray(np.column_stack((rows, codes))[kept])

        self.stages.append(each(invent))
        self.layout = (*self.layout, *(i.variable for i in operator.inventions))

    def _coding(
        self, function: Callable[[Rows], npt.NDArray[np.generic]], kind: Kind, target: Kind
    ) -> Callable[[Rows], Codes]:
        return lambda rows: coded(function(rows), kind, target, self.symbols)

    def _gather(self, sources: Sequence[int | Callable[[Rows], Codes]]) -> None:
        """Append a projection: each column is a column of the rows or the result of a function."""
        self.splits = self.splits and all(isinstance(source, int) for source in sources)

        def gather(rows: Rows) -> Rows:
            out = np.empty((len(rows), len(sources)), dtype=np.int64)
            for j, source in enumerate(sources):
                out[:, j] = rows[:, source] if isinstance(source, int) else source(rows)
            return out

        self.stages.append(each(gather))

    def _codes(self, atom: CheckedAtom) -> list[int | None]:
        kinds = self.kinds[atom.predicate]
        return [
            sought(term.value, kind, self.symbols) if isinstance(term, Constant) else None
            for term, kind in zip(atom.terms, kinds, strict=True)
        ]

    def _probe(self, atom: CheckedAtom, relation: Relation, *, whole: bool = False) -> Probe:
        return Probe.make(atom, relation, self.layout, self._codes(atom), atom.predicate in self.live, whole)

    def _scan(self, operator: ir.Join) -> None:
        atom = operator.atom
        self.scan = self.relations[atom.predicate], operator.part
        self._select(atom)
        names = dict.fromkeys(t.name for t in atom.terms if isinstance(t, Variable))
        self.layout = tuple(
            t.name if isinstance(t, Variable) and names.pop(t.name, 0) is None else f"#{i}"
            for i, t in enumerate(atom.terms)
        )

    def _select(self, atom: CheckedAtom) -> None:
        """Append a selection of the rows that agree with the constants and repeated variables of an atom."""
        conditions = [_is(i, code) for i, code in enumerate(self._codes(atom)) if code is not None]
        conditions += [_same(i, j) for i, j in _repeats(atom)]
        if conditions:
            self.stages.append(each(lambda rows: rows[np.logical_and.reduce([c(rows) for c in conditions])]))

    def _join(self, operator: ir.Join) -> None:
        atom, probe = operator.atom, self._probe(operator.atom, self.relations[operator.atom.predicate])
        fresh = {
            t.name: i
            for i, t in reversed(list(enumerate(atom.terms)))
            if isinstance(t, Variable) and t.name not in self.layout
        }
        repeats = [(i, j) for i, j in _repeats(atom) if i in fresh.values()]
        if not repeats and not probe.checks and not fresh.keys() & set(operator.columns):
            self._look_up(Matching(probe, operator.part, True))
            return
        takes = [-1 - fresh[name] if name in fresh else self.layout.index(name) for name in operator.columns]
        pairs = [(-1 - i, -1 - j) for i, j in repeats]
        pairs += [(-1 - i, source) for i, source in probe.checks if source >= 0]
        wanted = [(-1 - i, int(probe.constants[-1 - source])) for i, source in probe.checks if source < 0]
        hidden = list(dict.fromkeys([c for pair in pairs for c in pair] + [c for c, _ in wanted]))
        at = {column: len(takes) + k for k, column in enumerate(hidden)}
        conditions = [_same(at[a], at[b]) for a, b in pairs] + [_is(at[a], c) for a, c in wanted]
        self._look_up(Joining(probe, operator.part, [*takes, *hidden], conditions))
        self.layout = (*operator.columns, *(f"#{column}" for column in hidden))

    def _anti_join(self, atom: CheckedAtom) -> None:
        relation, repeats = self.relations[atom.predicate], _repeats(atom)
        # An index cannot compare columns of one row, so that it gets only the rows whose repeated columns agree.
        if repeats:
            rows = relation.rows(ir.Part.ALL)
            agree = np.logical_and.reduce([rows[:, i] == rows[:, j] for i, j in repeats])
            relation = Relation(relation.arity)
            relation.load(rows[agree], distinct=True)
            relation.settle()
        self._look_up(Matching(self._probe(atom, relation, whole=True), ir.Part.ALL, False))

    def _look_up(self, stage: Lookup) -> None:
        self.stages.append(stage)
        self.lookups.append(stage)

    def _project(self, atom: CheckedAtom) -> None:
        sources: list[int | Callable[[Rows], Codes]] = []
        for term, target in zip(atom.terms, self.kinds[atom.predicate], strict=True):
            if isinstance(term, Variable) and self.variables[term.name] is target:
                sources.append(self.layout.index(term.name))
            else:
                kind, function = self.scope.compile(term)
                sources.append(self._coding(function, kind, target))
        last = self.stages[-1] if self.stages else None
        if isinstance(last, Joining) and not last.conditions and all(isinstance(s, int) for s in sources):
            last.takes = last.takes[np.array(sources, dtype=np.int64)]
            last.head = self.relations.get(atom.predicate)
        elif sources != list(range(len(self.layout))):
            self._gather(sources)


def _same(a: int, b: int) -> Condition:
    return lambda rows: np.asarray(rows[:, a] == rows[:, b])


def _is(a: int, constant: int) -> Condition:
    return lambda rows: np.asarray(rows[:, a] == constant)


def _repeats(atom: CheckedAtom) -> list[tuple[int, int]]:
    first: dict[str, int] = {}
    pairs = []
    for i, term in enumerate(atom.terms):
        if isinstance(term, Variable):
            j = first.setdefault(term.name, i)
            if j != i:
                pairs.append((j, i))
    return pairs


@record
class Probe:
    """Lookup of rows in the index of the relation of an atom, by its text.

    Each column of the index has a `key`: a column of the rows or, if negative, -1 - position in `constants`. `checks`
    are equalities not covered by the index, as (column of the atom, column of the rows or constant).
    """

    index: Index
    key: Codes
    constants: Codes
    checks: tuple[tuple[int, int], ...]
    text: str

    @classmethod
    def make(
        cls,
        atom: CheckedAtom,
        relation: Relation,
        layout: Layout,
        codes: Sequence[int | None],
        live: bool,
        whole: bool = False,
    ) -> Probe:
        """Create the probe of an atom; `live` if its relation still grows, so that fluid values are not hashed.

        A `whole` probe covers all equalities by the index, except those of fluid values.
        """
        columns: list[int] = []
        key: list[int] = []
        constants: list[int] = []
        checks: list[tuple[int, int]] = []
        for i, (term, constant) in enumerate(zip(atom.terms, codes, strict=True)):
            if constant is not None:
                source = -1 - len(constants)
                constants.append(constant)
            elif isinstance(term, Variable) and term.name in layout:
                source = layout.index(term.name)
            else:
                continue
            if live and i == relation.fluid:
                checks.append((i, source))
            else:
                columns.append(i)
                key.append(source)
        enough = columns if whole else relation.enough(columns)
        checks += [(i, source) for i, source in zip(columns, key, strict=True) if i not in enough]
        key = [source for i, source in zip(columns, key, strict=True) if i in enough]
        index = relation.index(tuple(enough))
        return cls(
            index,
            np.array(key, dtype=np.int64),
            np.array(constants, dtype=np.int64),
            tuple(checks),
            str(atom),
        )


class Lookup(ABC):
    """Stage that looks up rows in an index, with counters; `seconds` are those of all threads."""

    @abstractmethod
    def __call__(self, batches: Batches) -> Batches:
        """Look up the rows of all batches."""

    def __init__(self, probe: Probe, part: ir.Part) -> None:
        self.probe = probe
        self.part = part
        self.head: Relation | None = None  # relation that may hold the found rows already
        self.probed = self.found = self.omitted = 0
        self.seconds = 0.0
        self.lock = Lock()

    def count(self, probed: int, found: int, omitted: int, seconds: float) -> None:
        """Add to the counters; `omitted` of the found rows are not passed on, as they are known."""
        with self.lock:
            self.probed += probed
            self.found += found
            self.omitted += omitted
            self.seconds += seconds
            if self.head is not None:
                self.head.tried += omitted

    @property
    def work(self) -> float:
        """Rows looked up and found so far; those that are omitted take a quarter of the time."""
        return self.probed + self.found - 0.75 * self.omitted

    @property
    def now(self) -> int:
        """Extension of the index whose rows are not to be found, or -1."""
        return self.probe.index.now if self.part is ir.Part.STABLE else -1


class Joining(Lookup):
    """Join stage: writes the selected columns of each pair and filters them by conditions.

    If the columns are those of the relation `head`, rows known to be in it may be omitted.
    """

    rooms = (256, CHUNK)  # fewest and most rows of a buffer

    def __init__(
        self, probe: Probe, part: ir.Part, takes: Sequence[int], conditions: Sequence[Condition] = ()
    ) -> None:
        super().__init__(probe, part)
        self.conditions = conditions
        self.takes = np.array(takes, dtype=np.int64)

    def __call__(self, batches: Batches) -> Batches:
        """Join all batches."""
        least, most = self.rooms
        width, room = len(self.takes), 0
        for batch in batches:
            i = done = 0
            if room < len(batch) or not room:
                room = min(max(len(batch), least), most)
                out = np.empty((room, width), dtype=np.int64)
            while i < len(batch):
                start, first = perf_counter(), i
                i, done, n, tried = self._join(batch, out, i, done)
                self.count(i - first, tried, tried - n, perf_counter() - start)
                found = out[:n]
                if n and self.conditions:
                    found = found[np.logical_and.reduce([holds(found) for holds in self.conditions])]
                if len(found):
                    yield found
                if i < len(batch) and room < most:
                    room = min(4 * room, most)
                    out = np.empty((room, width), dtype=np.int64)

    @cached_property
    def _pair(self) -> tuple[int, int, int] | None:
        """Column of the left, position among two columns, and column of the index of the right, if there are these."""
        takes, index = self.takes.tolist(), self.probe.index
        if len(takes) != 2 or index.live or max(takes) < 0 or min(takes) >= 0:
            return None
        second = takes.index(min(takes))
        shift = int(index.where[-1 - takes[second]])
        return (takes[1 - second], second, shift) if shift >= 0 else None

    def _join(self, batch: Rows, out: Rows, i: int, done: int) -> tuple[int, int, int, int]:
        """Join from row i on, see `index_kernels.join`; the fourth result counts omitted rows, too."""
        probe, index = self.probe, self.probe.index
        tables = index.arena, index.entries, index.slots.array, index.starts, self.now
        if self._pair is None:
            i, done, n = index_kernels.join(
                batch,
                probe.key,
                probe.constants,
                index.relation.buffer,
                index.rest,
                index.where,
                *tables,
                self.takes,
                out,
                i,
                done,
            )
            return i, done, n, n
        column, second, shift = self._pair
        return index_kernels.pair(
            batch,
            probe.key,
            probe.constants,
            len(index.rest),
            shift,
            *tables,
            column,
            second,
            *(NOTHING if self.head is None else self.head.known),
            out,
            i,
            done,
        )


class Matching(Lookup):
    """Semi-join (`wanted` true) or anti-join stage: keeps the rows with or without a partner."""

    def __init__(self, probe: Probe, part: ir.Part, wanted: bool) -> None:
        super().__init__(probe, part)
        self.wanted = wanted

    def __call__(self, batches: Batches) -> Batches:
        """Filter all batches."""
        probe, index = self.probe, self.probe.index
        for batch in batches:
            start = perf_counter()
            found = np.empty(len(batch), dtype=np.bool_)
            index_kernels.matches(
                batch,
                probe.key,
                probe.constants,
                index.entries,
                index.slots.array,
                index.starts,
                self.now,
                found,
            )
            kept = batch[found if self.wanted else ~found]
            self.count(len(batch), len(kept), 0, perf_counter() - start)
            if len(kept):
                yield kept


def each(function: Callable[[Rows], Rows]) -> Stage:
    """Stage that applies a function to each batch and drops empty results."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            found = function(batch)
            if len(found):
                yield found

    return stage
