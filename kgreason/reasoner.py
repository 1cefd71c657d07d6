"""Reasoning that goes on: derived facts follow the edits of the facts that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from kgreason.api import Rules, load
from kgreason.arguments import check_data, check_limits, output_names
from kgreason.collector import paused
from kgreason.engine.expressions import CODED
from kgreason.engine.incremental.anew import Anew, apart, difference, from_rows, together, without_nulls
from kgreason.engine.incremental.change import Change
from kgreason.engine.incremental.update import Updating
from kgreason.engine.limits import Limits
from kgreason.engine.memory import Exhausted, limited
from kgreason.engine.post import apply_posts
from kgreason.engine.relation import Rows
from kgreason.engine.seminaive import prepare
from kgreason.engine.stats import Stats
from kgreason.engine.table import Facts, Kind, Table
from kgreason.errors import DataError, EvaluationError
from kgreason.graph.io.load import complete_nodes, load_facts
from kgreason.lang.values import identity
from kgreason.plan.types import NAMES, join
from kgreason.progress import SILENT, Progress
from kgreason.results import Reasoned, no_output

if TYPE_CHECKING:
    from kgreason.errors import Diagnostic
    from kgreason.lang.values import Value

Row = tuple["Value", ...]
State = Updating | Anew
Warnings = tuple["Diagnostic", ...]


class ByPredicate(dict[str, "list[Row]"]):
    """Facts of the outputs that changed; any other output has none."""

    def __init__(self, facts: Mapping[str, list[Row]], outputs: Sequence[str]) -> None:
        super().__init__(facts)
        self._outputs = outputs

    def __missing__(self, predicate: str) -> list[Row]:
        if predicate in self._outputs:
            return []
        raise KeyError(no_output(predicate, self._outputs))


@dataclass(frozen=True)
class Changes:
    """What an edit changed of the output predicates.

    Attributes
    ----------
    added, removed
        By predicate, the facts that are new and those that hold no more. Who keeps a copy takes the removed ones out
        first: 1 and 1.0 are two facts for the rules, but equal for Python.
    edited
        Number of given facts that came or went: adding what is there and removing what is not counts nothing.
    seconds
        Time it took.
    """

    added: Mapping[str, list[Row]] = field(default_factory=dict)
    removed: Mapping[str, list[Row]] = field(default_factory=dict)
    edited: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __repr__(self) -> str:
        sizes = [sum(map(len, rows.values())) for rows in (self.added, self.removed)]
        return f"<Changes: {self.edited:,} edited, {sizes[0]:,} added, {sizes[1]:,} removed>"


class Reasoner:
    """Rules over facts that change: each edit updates what the rules derive.

    After each edit the facts are those that `kgreason.reason` derives from the edited data, to the last bit; only
    columns keep the types that they had at first, where these hold the values that are left. Rules without nulls follow
    an edit in steps: recursions that keep an argument (closure, company control) walk again for the values concerned,
    other recursions delete and rederive, aggregates are found anew for the groups concerned, and what has no
    faster way is derived anew, stratum by stratum. Rules with nulls are evaluated anew as a whole.

    Facts that the rule file states stay; ``@bind`` files are read once. docs/incremental.md says what edits cost.

    Parameters
    ----------
    rules, data, outputs, limits
        As in `kgreason.reason`.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        As `kgreason.reason`.

    References
    ----------
    A. Gupta, I. S. Mumick, V. S. Subrahmanian: Maintaining views incrementally, SIGMOD 1993, §7.
    J. F. Naughton: Compiling separable recursions, SIGMOD 1988, §2.

    Examples
    --------
    >>> control = '''
    ... control(X, X) :- own(X, _, _).
    ... control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
    ... '''
    >>> reasoner = Reasoner(control, {"own": [("a", "b", 0.6), ("a", "c", 0.3)]})
    >>> reasoner.add_facts({"own": [("b", "c", 0.3)]}).added
    {'control': [('a', 'c'), ('b', 'b')]}
    >>> sorted(reasoner.remove_facts({"own": [("a", "b", 0.6)]}).removed["control"])
    [('a', 'b'), ('a', 'c')]
    >>> sorted(reasoner.rows("control"))
    [('a', 'a'), ('b', 'b')]
    """

    @paused()
    def __init__(
        self,
        rules: Rules,
        data: Mapping[str, Any] | None = None,
        *,
        outputs: str | Sequence[str] | None = None,
        limits: Limits | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self._program = load(rules)
        check_data(data)
        check_limits(limits)
        self._limits = limits or Limits()
        goals = output_names(outputs)
        self._goals = tuple(self._program.outputs if goals is None else goals)
        self._posted = {post.predicate for post in self._program.posts}.intersection(self._goals)
        with limited(self._limits.memory):
            own = load_facts(self._program, data or {}, progress, goals, complete=False)
            self._symbols = own.symbols
            self._symbols.known("")  # now, not in the first edit, strings become objects of Python
            self._take(self._evaluated(own, progress))

    # --- what holds -----------------------------------------------------------------

    @property
    def predicates(self) -> tuple[str, ...]:
        """The output predicates."""
        return self._goals

    @property
    def facts(self) -> Facts:
        """The facts of all outputs, as ``@post`` wants them."""
        return Facts({goal: self._table(goal) for goal in self._goals}, self._symbols)

    def rows(self, predicate: str) -> list[Row]:
        """Facts of an output predicate as Python tuples.

        Raises
        ------
        KeyError
            If it is not among `predicates`.
        """
        return self._of(predicate).rows(predicate)

    def count(self, predicate: str) -> int:
        """Count the facts of an output predicate.

        Raises
        ------
        KeyError
            If it is not among `predicates`.
        """
        if predicate in self._goals and predicate not in self._posted:
            return self._state.count(predicate)
        return self._of(predicate).facts.count(predicate)

    def result(self) -> Reasoned:
        """All outputs as `kgreason.reason` gives them; later edits do not change it."""
        return Reasoned(self.facts, self._stats, self._warnings, self._program)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Reasoner cannot be copied or pickled; build another one from the same rules and data"
        )

    def __repr__(self) -> str:
        kept = ", ".join(f"{goal}: {self.count(goal):,}" for goal in self._goals)
        return f"<Reasoner: {kept}>"

    # --- edits ----------------------------------------------------------------------

    def add_facts(self, facts: Mapping[str, Any]) -> Changes:
        """Add facts and derive what follows.

        Parameters
        ----------
        facts
            For each predicate the rows, as tuples or as any table that `kgreason.reason` takes. Derived predicates
            may have some, too. Facts that are there already change nothing.

        Raises
        ------
        DataError
            If the rules know no such predicate, or a value does not fit its column.
        ProgramError, EvaluationError
            As `kgreason.reason`, for instance when a constraint is violated. Then, as with any other error, all
            facts are as before.
        """
        return self._limited(facts, add=True)

    def remove_facts(self, facts: Mapping[str, Any]) -> Changes:
        """Remove given facts, and with them what only they made true.

        The parameters and errors are those of `add_facts`. Facts that are not given, as those that are only derived
        or stated in the rule file, change nothing.
        """
        return self._limited(facts, add=False)

    @paused()
    def _limited(self, facts: Mapping[str, Any], *, add: bool) -> Changes:
        """Edit facts within the memory that there may be used."""
        try:
            with limited(self._limits.memory):
                return self._edit(facts, add=add)
        except MemoryError as error:
            told = f": {error}" if isinstance(error, Exhausted) else ""
            raise EvaluationError(
                f"there is not enough memory for what this edit changes{told}",
                hint="edit less at once, or allow more (in Python Limits(memory=BYTES))",
            ) from None

    def _edit(self, facts: Mapping[str, Any], *, add: bool) -> Changes:
        start = perf_counter()
        check_data(facts)
        tables = {p: table for p, given in facts.items() if (table := self._read(p, given)) is not None}
        state = self._state
        if isinstance(state, Updating) and all(state.fitting(p, table) for p, table in tables.items()):
            found = state.update({p: state.rows(p, table) for p, table in tables.items()}, add=add)
            edited, shown = state.edited, self._changed(state, found)
        else:
            own = state.own()
            others = self._edited(own, tables, add=add)
            edited = sum(_edits(own.tables.get(p), others.tables.get(p)) for p in tables)
            shown = self._exchanged(others) if edited else {}
        added = {p: rows for p, (rows, _) in shown.items() if rows}
        removed = {p: rows for p, (_, rows) in shown.items() if rows}
        seconds = perf_counter() - start
        return Changes(ByPredicate(added, self._goals), ByPredicate(removed, self._goals), edited, seconds)

    def _read(self, predicate: str, given: Any) -> Table | None:
        """Facts of an edit, coded; `None` if there are none."""
        program = self._program
        alone = replace(
            program,
            inputs=tuple(p for p in program.inputs if p == predicate),
            edges=tuple(p for p in program.edges if p == predicate),
            nodes=tuple(p for p in program.nodes if p == predicate),
            binds=(),
            queries_bound=(),
            facts=(),
        )
        read = load_facts(alone, {predicate: given}, complete=False)
        table = read.tables.get(predicate)
        if table is None or not table.length:
            return None
        columns = tuple(
            self._symbols.recoded(column, read.symbols) if kind in CODED else column
            for kind, column in zip(table.kinds, table.columns, strict=True)
        )
        return Table(table.kinds, columns, table.length)

    def _edited(self, own: Facts, tables: Mapping[str, Table], *, add: bool) -> Facts:
        """The given facts with some more or some less."""
        edited = dict(own.tables)
        for predicate, new in tables.items():
            old = edited.get(predicate)
            if old is None or not (old.length or old.arity):
                if add:
                    edited[predicate] = new
                continue
            both = together(old, new, self._symbols) if old.arity == new.arity else None
            if both is None:
                raise _misfit(predicate, old, new)
            edited[predicate] = both if add else apart(old, new, self._symbols)
        return Facts(edited, self._symbols)

    # --- states ---------------------------------------------------------------------

    def _evaluated(self, own: Facts, progress: Progress = SILENT) -> tuple[State, Stats, Warnings]:
        """Evaluate the rules on given facts."""
        start = perf_counter()
        tables = dict(own.tables)
        complete_nodes(self._program, tables, self._symbols)
        chase, kinds = prepare(self._program, Facts(tables, self._symbols), self._goals, self._limits)
        strata = chase.run(progress)
        warnings = tuple(chase.nulls.warnings.values())
        state: State
        if without_nulls(chase.plan):
            state = Updating(chase, kinds, self._program, own)
        else:
            state = Anew(chase, kinds, own, self._goals)
        stats = Stats(strata, perf_counter() - start, chase.restarts)
        return state, stats, warnings

    def _take(self, found: tuple[State, Stats, Warnings]) -> None:
        """Go on with other facts."""
        self._state, self._stats, self._warnings = found
        self._tables: dict[str, Table] = {}
        for goal in self._posted:
            self._table(goal)

    def _table(self, goal: str) -> Table:
        """Facts of an output, as ``@post`` wants them."""
        found = self._tables.get(goal)
        if found is None:
            raw = Facts({goal: self._state.table(goal)}, self._symbols)
            found = self._tables[goal] = apply_posts(self._program, raw).tables[goal]
        return found

    def _of(self, predicate: str) -> Reasoned:
        """Result with one of the outputs."""
        if predicate not in self._goals:
            nothing = Facts(dict.fromkeys(self._goals, Table((), (), 0)), self._symbols)
            return Reasoned(nothing, self._stats, self._warnings, self._program)
        shown = Facts({predicate: self._table(predicate)}, self._symbols)
        return Reasoned(shown, self._stats, self._warnings, self._program)

    def _exchanged(self, own: Facts) -> dict[str, tuple[list[Row], list[Row]]]:
        """Evaluate other facts; returns what that changes of the outputs."""
        found = self._evaluated(own)
        before = {goal: self._table(goal) for goal in self._goals}
        self._take(found)
        return {goal: self._compared(before[goal], self._table(goal)) for goal in self._goals}

    def _changed(
        self, state: Updating, changes: Mapping[str, Change]
    ) -> dict[str, tuple[list[Row], list[Row]]]:
        """What is different of the outputs."""
        shown = {}
        for goal in changes.keys() & set(self._goals):
            before = self._tables.pop(goal, None)
            if goal in self._posted:
                assert before is not None
                shown[goal] = self._compared(before, self._table(goal))
            else:
                change, kinds = changes[goal], state.table_kinds(goal)
                shown[goal] = (self._decoded(change.added, kinds), self._decoded(change.removed, kinds))
        return shown

    def _compared(self, before: Table, after: Table) -> tuple[list[Row], list[Row]]:
        if before.kinds == after.kinds:
            added, removed = difference(before, after)
            return self._decoded(added, after.kinds), self._decoded(removed, before.kinds)
        old, new = (
            {tuple(map(identity, row)): row for row in Facts({"": table}, self._symbols).rows("")}
            for table in (before, after)
        )
        return [new[k] for k in new if k not in old], [old[k] for k in old if k not in new]

    def _decoded(self, rows: Rows, kinds: Sequence[Kind]) -> list[Row]:
        return list(Facts({"": from_rows(rows, kinds)}, self._symbols).rows(""))


def _edits(old: Table | None, new: Table | None) -> int:
    """How many facts came or went, at least; a column of another type is an edit."""
    lengths = [0 if table is None else table.length for table in (old, new)]
    retyped = old is not None and new is not None and old.kinds != new.kinds
    return max(abs(lengths[0] - lengths[1]), int(retyped))


def _misfit(predicate: str, old: Table, new: Table) -> DataError:
    name = f"<{predicate}>"
    if old.arity != new.arity:
        what = f"{predicate} has {old.arity} columns in the data so far, but these facts have {new.arity}"
        return DataError(name, what)
    at = next(i for i, (a, b) in enumerate(zip(old.kinds, new.kinds, strict=True)) if join(a, b) is None)
    before, here = NAMES[old.kinds[at]], NAMES[new.kinds[at]]
    what = f"argument {at + 1} of {predicate} is {before} in the data so far, but {here} in these facts"
    return DataError(name, what, hint="a column has values of one type")
