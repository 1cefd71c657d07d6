"""Evaluation of a divided program, stage by stage and part by part."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from kgreason.base import memory
from kgreason.base.errors import MemoryLimitError, ProgramError
from kgreason.base.progress import SILENT, Progress
from kgreason.engine.chase.constraints import deny
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.limits import Limits, Parts
from kgreason.engine.parts.division import PART, Division
from kgreason.engine.parts.slices import HASHES, FactFiles, Hashing, Slices, common
from kgreason.engine.parts.stage_programs import Copies, Stage, divided, stages, undivided, with_copies
from kgreason.engine.plan.ir import Part, StratumPlan
from kgreason.engine.plan.planner import compile_program
from kgreason.engine.plan.separable_strata import factored
from kgreason.engine.plan.static_kinds import Kinds, infer
from kgreason.engine.relations.fact_tables import NESTED, Facts, Kind, Table
from kgreason.engine.relations.relation import Relation, empty_relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.engine.seminaive.evaluation import load_relations, relevant, table
from kgreason.engine.seminaive.fixpoint import Fixpoint
from kgreason.engine.seminaive.separable_walks import KeptGraphs
from kgreason.engine.statistics import RuleStats, Stats, StratumStats, visible
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import restricted

Receive = Callable[[str, Table], None]
Read = Slices | FactFiles


class Wanted(NamedTuple):
    """File of a derived predicate: the position by whose values later stages read it, and the kind that is hashed."""

    predicate: str
    position: int
    hashed: Kind


_FIRST = 32  # parts of which the first one is tried, where their number is chosen
_GROWTH = 4  # greatest factor between the sizes of two parts
_SHARE = 4  # a part takes one in so many bytes that are free
_AT_ONCE = 1 << 26  # bytes of facts from which duplicates are removed at once
_COPIES = 3  # bytes that an evaluation takes for a byte of derived facts, with hash tables and walks


class Evaluated(NamedTuple):
    """Result of `evaluate_in_parts`: division, statistics, and the number of parts of each stage."""

    division: Division
    stats: Stats
    parts: Mapping[int, int]


class StageEvaluation:
    """Rules of a stage over relations that all parts read, and slices."""

    def __init__(
        self,
        stage: Stage,
        program: CheckedProgram,
        kinds: Kinds,
        relations: Mapping[str, Relation],
        slices: Mapping[str, Read],
        symbols: Symbols,
        limits: Limits,
    ) -> None:
        self.stage, self._relations, self._slices = stage, relations, slices
        self._keyed, self._wardedness = program.keyed, program.wardedness
        self._symbols, self._limits = symbols, limits
        self._nulls = Nulls(symbols, program.wardedness, limits)
        sizes = {p: relation.count for p, relation in relations.items()}
        plan = compile_program(replace(program, strata=stage.strata), kinds, sizes)
        self._strata: Sequence[StratumPlan] = plan.strata
        self.kinds = plan.kinds
        self.stats: dict[frozenset[str], StratumStats] = {}
        self._graphs = KeptGraphs(self._columns)

    def __getstate__(self) -> dict[str, Any]:
        """State for another process: columns of the relations, and the slices that are in memory."""
        kept = {n: v for n, v in vars(self).items() if n not in ("_graphs", "_nulls", "stats")}
        columns = {p: [r.column(i) for i in range(r.arity)] for p, r in self._relations.items()}
        counts = {p: relation.count for p, relation in self._relations.items()}
        slices = {name: s for name, s in self._slices.items() if isinstance(s, Slices)}
        return kept | {"_relations": (columns, counts), "_slices": slices}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns, counts = state.pop("_relations")
        vars(self).update(state)
        self._relations = {p: _adopted(columns[p], counts[p]) for p in columns}
        self.stats = {}
        self._nulls = Nulls(self._symbols, self._wardedness, self._limits)
        self._graphs = KeptGraphs(self._columns)

    def give(self, slices: Mapping[str, Read]) -> None:
        """Replace slices by others of the same names, for the parts that follow."""
        self._slices = {**self._slices, **slices}

    def _columns(self, kind: Kind) -> list[Codes]:
        """Columns of a kind that the stage reads."""
        columns = [
            relation.column(i)
            for p, relation in self._relations.items()
            for i in range(relation.arity)
            if self.kinds[p][i] is kind
        ]
        for name, slices in self._slices.items():
            if isinstance(slices, Slices):
                columns += [c for c, k in zip(slices.columns, self.kinds[name], strict=True) if k is kind]
        return columns

    def part(self, low: int, high: int, progress: Progress = SILENT) -> dict[str, Relation]:
        """Relations of the predicates that the stage derives, for values with a hash in [low, high)."""
        relations = {**self._relations, PART: Relation(1)}
        relations[PART].load(np.array([[low]]), distinct=True)
        relations[PART].settle()
        for name, slices in self._slices.items():
            rows = slices.rows(low, high)
            relations[name] = Relation(rows.shape[1])
            relations[name].load(rows, distinct=slices.distinct)
            relations[name].settle()
        for predicate in self.stage.predicates:
            keyed, kinds = self._keyed.get(predicate), self.kinds[predicate]
            relations[predicate] = empty_relation(len(kinds), keyed, kinds, self._symbols, self._limits)
        for stratum in self._strata:
            fixpoint = Fixpoint(
                stratum, self.kinds, relations, self._nulls, self._limits, graphs=self._graphs
            )
            fixpoint.run(_Advancing(progress))
            self._count(stratum.predicates, fixpoint.stats())
        names = {name: predicate for name, (predicate, _) in self.stage.slices.items()}
        deny(self.stage.denials, relations, self.kinds, self._symbols, names)
        return {p: relations[p] for p in self.stage.predicates}

    def all_parts(self, ranges: Ranges, progress: Progress = SILENT) -> Iterator[dict[str, Relation]]:
        """Relations of each part, in turn; a part that exceeds the memory is divided further."""
        for low, high in ranges:
            try:
                found = self.part(low, high, progress)
            except (MemoryError, MemoryLimitError):
                if not self.several(low, high):
                    raise
                ranges.halve(low, high)
                continue
            ranges.adapt(high - low, sum(8 * r.count * r.arity for r in found.values()))
            yield found
            del found
            gc.collect(0)  # rules, relations and indexes refer to each other

    def _count(self, predicates: frozenset[str], new: StratumStats) -> None:
        """Add the counts of a part to those of the parts before."""
        rules = tuple(rule._replace(rounds=()) for rule in new.rules)
        new = new._replace(rules=rules, joins=())
        old = self.stats.get(predicates)
        if old is not None:
            rules = tuple(
                RuleStats(a.rule, a.facts + b.facts, a.seconds + b.seconds, a.tried + b.tried)
                for a, b in zip(old.rules, rules, strict=True)
            )
            rounds, seconds = max(old.rounds, new.rounds), old.seconds + new.seconds
            new = StratumStats(new.predicates, rounds, seconds, rules, old.walks + new.walks)
        self.stats[predicates] = new

    def share(self, part: int, whole: int) -> float:
        """Rows with a hash below `part`, as a share of those below `whole`, in the slices that are in memory."""
        slices = [each for each in self._slices.values() if isinstance(each, Slices)]
        return sum(s.count(0, part) for s in slices) / max(1, sum(s.count(0, whole) for s in slices))

    def several(self, low: int, high: int) -> bool:
        """Whether the values of a part can be divided further."""
        return any(slices.several(low, high) for slices in self._slices.values())


def _adopted(columns: Sequence[Codes], count: int) -> Relation:
    """Relation of distinct rows."""
    relation = Relation(len(columns))
    if columns:
        relation.adopt(tuple(columns))
    elif count:
        relation.load(np.empty((count, 0), dtype=np.int64), distinct=True)
        relation.settle()
    return relation


class _Advancing:
    """Progress within a part: only facts are counted."""

    def __init__(self, progress: Progress) -> None:
        self.advance, self.note = progress.advance, progress.note

    def step(self, title: str, total: int | None = None, unit: str = "") -> None:
        pass


class Ranges:
    """Ranges of hashes, one for each part; their width follows the memory, unless their number is given.

    Parameters
    ----------
    low, high
        Bounds of all hashes.
    most
        Bytes that the facts of a part may have at most; default: as the memory allows.
    """

    def __init__(self, parts: Parts, low: int = 0, high: int = HASHES, most: int | None = None) -> None:
        self._follows, self._most = parts == "auto", most
        number = 1 if parts == "auto" else parts
        bounds = [low + (high - low) * i // number for i in range(number + 1)]
        self._waiting = list(pairwise(bounds))[::-1]
        self._width = max(1, (high - low) // _FIRST) if self._follows else high - low
        self._done = self._size = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while self._waiting:
            low, high = self._waiting.pop()
            middle = min(high, low + self._width)
            if middle < high:
                self._waiting.append((middle, high))
            yield low, middle

    def halve(self, low: int, high: int) -> None:
        """Divide a range again whose part does not fit into the memory."""
        middle = (low + high) // 2
        self._waiting += [(middle, high), (low, middle)]
        self._width = min(self._width, middle - low)

    def adapt(self, width: int, size: int) -> None:
        """Choose the next width after a part of some width whose facts have `size` bytes."""
        self._done += width
        self._size += size
        free = memory.available() if (left := memory.left()) is None else left
        room = None if free is None else free / _SHARE / _COPIES
        if self._most is not None:
            room = self._most if room is None else min(room, self._most)
        if self._follows and room is not None:
            factor = room / width * self._done / max(1, self._size)  # a single part may be untypical
            self._width = max(1, int(width * min(_GROWTH, max(1 / _GROWTH, factor))))


def evaluate_in_parts(
    program: CheckedProgram,
    facts: Facts,
    parts: Parts,
    receive: Receive,
    folder: Path,
    *,
    goals: Sequence[str] | None = None,
    limits: Limits = Limits(),  # noqa: B008
    progress: Progress = SILENT,
) -> Evaluated:
    """Derive the facts of the goal predicates part by part.

    All parts together have the facts that `kgreason.engine.seminaive.evaluation.evaluate` derives. A part that does not
    fit into the memory is divided further.

    Parameters
    ----------
    facts
        Input facts, of any predicates (derived ones too).
    parts
        Number of parts, at least 1; ``"auto"``: parts as large as fit into a quarter of the free memory.
    receive
        Called with a goal and the table of some of its facts, coded with the symbols of `facts`; at least once for each
        goal. No fact is passed twice. Facts of a goal without arguments, or with collections or values of several
        types, are passed at once.
    folder
        Existing folder for the facts of earlier stages.

    Raises
    ------
    ProgramError
        If the types of data and rules are incompatible, or nothing can be divided.
    EvaluationError
        As `evaluate`; `MemoryLimitError` if the facts of a single value do not fit into the memory.

    Examples
    --------
    >>> import tempfile
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> given = Facts.from_rows({"e": [(1, 2), (2, 3)]})
    >>> found = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for_each = lambda predicate, table: found.extend(Facts({predicate: table}, given.symbols).rows(predicate))
    ...     evaluated = evaluate_in_parts(program, given, 4, for_each, Path(folder))
    >>> sorted(found), dict(evaluated.parts)
    ([(1, 2), (1, 3), (2, 3)], {1: 4})
    """
    start = perf_counter()
    run = DividedRun(planned(program, facts, goals), folder, receive, limits, progress)
    for stage in run.stages:
        run.evaluate(stage, parts)
    run.finish()
    return Evaluated(run.division, Stats(tuple(run.stats), perf_counter() - start), run.parts)


class Planned(NamedTuple):
    """A divided program, and the facts that it reads."""

    division: Division
    copies: Copies
    kinds: Kinds
    facts: Facts
    goals: tuple[str, ...]


def planned(program: CheckedProgram, facts: Facts, goals: Sequence[str] | None) -> Planned:
    """Divide a program for some goals, by default its outputs; errors as of `evaluate_in_parts`."""
    goals = tuple(dict.fromkeys(program.outputs if goals is None else goals))
    whole = factored(program)
    kinds = infer(whole, facts)
    derived = whole.heads
    given = {p for p, t in facts.tables.items() if t.length}.union(a.predicate for a in whole.facts) & derived
    facts = relevant(restricted(program, goals), facts)
    division, copies = divided(whole, goals, given)
    if division is None:
        raise ProgramError(undivided(program, goals, None), program.sources or program.text)
    return Planned(division, copies, kinds, facts, goals)


class DividedRun:
    """Evaluation in parts: complete relations, and files of the facts that later stages read."""

    def __init__(
        self,
        plan: Planned,
        folder: Path,
        receive: Receive,
        limits: Limits,
        progress: Progress,
    ) -> None:
        self.division, copies, kinds, facts, self._goals = plan
        self.stages = stages(self.division, copies)
        self.parts: dict[int, int] = {}
        self.stats: list[StratumStats] = []
        self._passed: set[str] = set()
        self._limits, self._progress, self._folder, self._receive = limits, progress, folder, receive
        self._symbols = facts.symbols
        self._kinds = with_copies(kinds, copies)
        self._program = replace(self.division.program, arities=self._kinds.arities)
        self._tables = self._kinds.tables()
        self._relations = self._given(facts, copies)
        self._files = {wanted: self._file(wanted) for wanted in self._wanted()}

    def _given(self, facts: Facts, copies: Copies) -> dict[str, Relation]:
        """Relations of the given facts."""
        renamed = {copies.predicates[name]: name for name in copies.predicates if name.startswith("#given ")}
        tables = {renamed.get(p, p): table for p, table in facts.tables.items()}
        stated = tuple(
            replace(a, predicate=renamed.get(a.predicate, a.predicate)) for a in self._program.facts
        )
        read = {
            source
            for stage in self.stages
            for source in (*stage.whole, *(p for p, _ in stage.slices.values()))
        }
        read.update(self._goals)
        arities = {p: self._program.arities[p] for p in sorted(read - self.division.places.keys())}
        base = replace(
            self._program,
            arities=arities,
            facts=tuple(a for a in stated if a.predicate in arities),
            strata=(),
        )
        nulls = Nulls(self._symbols, base.wardedness, self._limits)
        return load_relations(base, Facts(tables, self._symbols), self._tables, self._limits, nulls)

    def _hashed(self, stage: Stage) -> dict[str, Kind]:
        """Kind in which the values are hashed that select each slice."""
        own = {name: self._tables[p][i] for name, (p, i) in stage.slices.items()}
        joint = common(list(own.values()))
        return {name: joint[kind] for name, kind in own.items()}

    def _wanted(self) -> list[Wanted]:
        """Files of the divided predicates that later stages read, or whose duplicates have to be removed."""
        wanted: list[Wanted] = []
        for stage in self.stages:
            for name, hashed in self._hashed(stage).items():
                if self.division.divides(stage.slices[name][0]):
                    wanted.append(Wanted(*stage.slices[name], hashed))
            wanted += [self._any(p, wanted) for p in sorted(stage.whole) if self.division.divides(p)]
        wanted += [self._any(p, wanted) for p in self._goals if self._late(p)]
        return list(dict.fromkeys(wanted))

    def _any(self, predicate: str, wanted: Sequence[Wanted]) -> Wanted:
        """A file of a predicate, ordered by any position."""
        kinds = self._tables[predicate]
        own = Wanted(predicate, 0, kinds[0] if kinds else Kind.INT)
        return next((each for each in wanted if each.predicate == predicate), own)

    def _late(self, predicate: str) -> bool:
        """Whether the facts of a goal are complete only after all parts."""
        if not self.division.divides(predicate):
            return False
        nested = not NESTED.isdisjoint(self._tables[predicate])
        return nested or self.division.places[predicate] == "scattered"

    def _file(self, wanted: Wanted) -> FactFiles:
        predicate, position, hashed = wanted
        kinds = self._tables[predicate]
        hashing = Hashing(kinds[position] if kinds else Kind.INT, hashed, self._symbols)
        folder = self._folder / f"{predicate.replace('#', '_')}-{position}-{hashed.name}"
        folder.mkdir()
        return FactFiles(folder, len(kinds), position, hashing)

    def evaluate(self, stage: Stage, parts: Parts) -> None:
        """Derive the facts of a stage."""
        names = ", ".join(visible(sorted(stage.predicates)))
        self._progress.step(f"Deriving {names}" + ("" if stage.once else " in parts"), unit="facts")
        run = StageEvaluation(
            stage,
            self._program,
            self._kinds,
            {p: self._complete(p) for p in stage.whole},
            {name: self._slices(stage, name) for name in stage.slices},
            self._symbols,
            self._limits,
        )
        if stage.once:
            self._relations.update(run.part(0, HASHES, self._progress))
            for predicate in stage.predicates.intersection(self._goals):
                self._pass_on(predicate, self._relations[predicate])
        else:
            self._in_parts(run, parts)
        self.stats += run.stats.values()

    def _in_parts(self, run: StageEvaluation, parts: Parts) -> None:
        ranges = Ranges(parts)
        done = 0
        for found in run.all_parts(ranges, self._progress):
            done += 1
            while found:
                self._keep(*found.popitem())
        self.parts[run.stage.number] = done

    def _keep(self, predicate: str, relation: Relation) -> None:
        """Pass the facts of a part on, to files and to the receiver."""
        files = [file for wanted, file in self._files.items() if wanted.predicate == predicate]
        if files and relation.count:
            rows = relation.rows(Part.ALL).copy()
            for file in files:
                file.append(rows)
        if predicate in self._goals and not self._late(predicate):
            relation.transpose()
            self._pass_on(predicate, relation)

    def _pass_on(self, predicate: str, relation: Relation) -> None:
        if relation.count:
            kinds = self._tables[predicate]
            self._passed.add(predicate)
            self._receive(
                predicate, table(predicate, relation, kinds, self._kinds.double_positions, self._symbols)
            )

    def _complete(self, predicate: str) -> Relation:
        """Relation of all facts of a predicate."""
        if predicate not in self._relations:
            file = next(file for wanted, file in self._files.items() if wanted.predicate == predicate)
            try:
                self._relations[predicate] = self._loaded(predicate, file.rows())
            except MemoryError as error:
                what = f"there is not enough memory for all facts of {predicate}: {error}"
                hint = "kgreason check --parts names the rule that reads them at once; allow more (--memory-limit SIZE)"
                raise MemoryLimitError(what, hint=hint) from None
        return self._relations[predicate]

    def _loaded(self, predicate: str, rows: Rows) -> Relation:
        relation = Relation(self._program.arities[predicate])
        relation.load(rows, distinct=self.division.places[predicate] != "scattered")
        relation.settle()
        return relation

    def _slices(self, stage: Stage, name: str) -> Read:
        predicate, position = stage.slices[name]
        hashed = self._hashed(stage)[name]
        if self.division.divides(predicate):
            return self._files[Wanted(predicate, position, hashed)]
        relation = self._relations[predicate]
        columns = [relation.column(i) for i in range(relation.arity)]
        return Slices(columns, position, Hashing(self._tables[predicate][position], hashed, self._symbols))

    def finish(self) -> None:
        """Pass on the goals whose facts are given, or complete only now, and those without facts."""
        for goal in self._goals:
            if goal not in self.division.places:
                self._pass_on(goal, self._relations[goal])
            elif self._late(goal):
                file = self._files[self._any(goal, list(self._files))]
                size = 8 * file.arity * file.appended
                number = 1 if not NESTED.isdisjoint(self._tables[goal]) else 1 + size // _AT_ONCE
                for i in range(number):
                    rows = file.rows(HASHES * i // number, HASHES * (i + 1) // number)
                    self._pass_on(goal, self._loaded(goal, rows))
        for goal in self._goals:
            if goal not in self._passed:
                kinds = self._tables[goal]
                self._receive(goal, Table.of(kinds, Relation(len(kinds)).rows(Part.ALL)))
