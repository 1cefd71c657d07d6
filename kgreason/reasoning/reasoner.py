"""Incremental reasoning: derived facts are updated after edits of the given facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from kgreason.base.errors import DataError, EvaluationError
from kgreason.base.interrupts import deferred
from kgreason.base.memory import Exhausted, limited
from kgreason.base.progress import SILENT, Progress
from kgreason.data.fact_loading import complete_nodes, load_facts
from kgreason.engine.chase.nulls import Nulls
from kgreason.engine.incremental.database import Deltas, small
from kgreason.engine.incremental.maintenance import Evaluated, Maintained, apart, together
from kgreason.engine.limits import Limits
from kgreason.engine.plan.expression_kinds import NAMES, join
from kgreason.engine.relations.fact_tables import CODED, Facts, Kind, Table
from kgreason.engine.seminaive.evaluation import prepare
from kgreason.engine.statistics import Stats
from kgreason.reasoning.api import Rules, check_data, checked_limits, load, output_names
from kgreason.reasoning.changes import ByPredicate, Changes, Difference, Outputs, Row, compared
from kgreason.reasoning.results import Reasoned, no_output

if TYPE_CHECKING:
    from kgreason.base.errors import Diagnostic


class Reasoner:
    """Rules over changing facts: each edit updates the derived facts.

    After each edit, the facts are identical to what `kgreason.reason` derives from the edited data; only columns keep
    their initial types where these can hold the remaining values. Rules without labelled nulls are maintained
    incrementally: recursions that keep an argument (closure, company control) are recomputed for the affected values,
    other recursions use delete-and-rederive, aggregates are recomputed for the affected groups, and everything else is
    recomputed stratum by stratum. Rules with labelled nulls are re-evaluated as a whole.

    Facts stated in the rule file are permanent; ``@bind`` files are read once. docs/incremental.md gives the cost of
    edits.

    Parameters
    ----------
    rules, data, outputs, allow_files, limits, progress
        As in `kgreason.reason`.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        As `kgreason.reason`.

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

    def __init__(
        self,
        rules: Rules,
        data: Mapping[str, Any] | None = None,
        *,
        outputs: str | Sequence[str] | None = None,
        allow_files: bool = False,
        limits: Limits | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self._program = load(rules, allow_files=allow_files)
        check_data(data)
        self._limits = checked_limits(limits)
        goals = output_names(outputs)
        self._goals = tuple(self._program.outputs if goals is None else goals)
        self._posted = {post.predicate for post in self._program.posts}.intersection(self._goals)
        with limited(self._limits.memory):
            own = load_facts(self._program, data or {}, progress, goals, complete=False)
            self._symbols = own.symbols
            vertices = [p for p in (*self._program.edges, *self._program.nodes) if p in own.tables]
            self._numbered = {own.tables[p].kinds[0] for p in vertices} == {Kind.INT}  # vertices are integers
            self._symbols.known("")  # converts strings to Python objects now rather than in the first edit
            self._evaluate(own, None, progress)
            self._follow()
        self._stopped = self._wait = self._patience = 0  # backoff after abandoned incremental updates

    # --- current facts -----------------------------------------------------------------

    @property
    def predicates(self) -> tuple[str, ...]:
        """The output predicates."""
        return self._goals

    @property
    def facts(self) -> Facts:
        """Facts of all outputs, after ``@post`` operations."""
        return Facts({goal: self._outputs.table(goal) for goal in self._goals}, self._symbols)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings of the last evaluation, as in `Reasoned`; an edit may evaluate again."""
        return self._warnings

    def rows(self, predicate: str) -> list[Row]:
        """Facts of an output predicate as Python tuples; KeyError if it is not among `predicates`."""
        return self._of(predicate).rows(predicate)

    def count(self, predicate: str) -> int:
        """Count the facts of an output predicate; KeyError as for `rows`."""
        if predicate in self._goals and predicate not in self._posted:
            return self._state.count(predicate)
        return self._of(predicate).facts.count(predicate)

    def result(self) -> Reasoned:
        """All outputs in the form of `kgreason.reason`; later edits do not change it."""
        return Reasoned(self.facts, self._stats, self._warnings, self._program)

    def __reduce__(self) -> NoReturn:
        what = "a Reasoner cannot be copied or pickled; build another one from the same rules and data"
        raise TypeError(what)

    def __repr__(self) -> str:
        kept = ", ".join(f"{goal}: {self.count(goal):,}" for goal in self._goals)
        return f"<Reasoner: {kept}>"

    def _repr_html_(self) -> str:
        return self.result()._repr_html_()

    # --- edits ----------------------------------------------------------------------

    def add_facts(self, facts: Mapping[str, Any], *, progress: Progress = SILENT) -> Changes:
        """Add facts and derive their consequences.

        Parameters
        ----------
        facts
            Rows by predicate, as tuples or as any table that `kgreason.reason` takes. Derived predicates may also have
            given facts. Facts that are already given change nothing.
        progress
            Receives warnings about the rows, such as weights outside of [0,1], and the steps of a full re-evaluation.

        Raises
        ------
        DataError
            If the rules have no such predicate, or a value does not fit its column.
        ProgramError, EvaluationError
            As `kgreason.reason`, for instance when a constraint is violated. Then, as after any other error, all facts
            are unchanged. Ctrl-C takes effect before or after an edit, never within it.
        """
        return self._edit(facts, progress, add=True)

    def remove_facts(self, facts: Mapping[str, Any], *, progress: Progress = SILENT) -> Changes:
        """Remove given facts and what no longer follows without them.

        Parameters and errors are those of `add_facts`. Facts that are not given, such as facts that are only derived or
        that are stated in the rule file, change nothing.
        """
        return self._edit(facts, progress, add=False)

    def _edit(self, facts: Mapping[str, Any], progress: Progress, *, add: bool) -> Changes:
        start = perf_counter()
        check_data(facts if facts is not None else ())
        try:
            with limited(self._limits.memory):
                read = {p: self._read(p, given, progress) for p, given in facts.items()}
                tables = {p: table for p, table in read.items() if table is not None}
                updated = self._updated(tables, add=add)
                edited, difference = updated or self._exchanged(tables, progress, add=add)
        except MemoryError as error:
            numbers = f": {error}" if isinstance(error, Exhausted) else ""
            raise EvaluationError(
                f"there is not enough memory for what this edit changes{numbers}",
                hint="edit less at once, or allow more (in Python Limits(memory=BYTES))",
            ) from None
        added, removed = (ByPredicate(difference, side, self._goals) for side in (0, 1))
        return Changes(added, removed, edited, perf_counter() - start)

    def _updated(self, tables: Mapping[str, Table], *, add: bool) -> tuple[int, Difference] | None:
        """Apply an edit incrementally; `None`, with nothing changed, if that is impossible or not worthwhile."""
        rows = sum(table.length for table in tables.values())
        if not small(rows, self._state.size):
            return None
        if isinstance(self._state, Evaluated) and tables:
            if self._wait and rows >= self._stopped:
                self._wait -= 1
                return None
            self._follow()
        state = self._state
        if isinstance(state, Evaluated) or not all(state.fitting(p, table) for p, table in tables.items()):
            return None
        with deferred():
            changes = state.update({p: state.rows(p, table) for p, table in tables.items()}, add=add)
            changed = self._changed(state, changes) if changes is not None else {}
        if changes is None:
            # edits of this size may fail again, and the editable form is expensive: wait longer after each failure
            self._stopped, self._patience = rows, 2 * self._patience + 1
            self._wait = self._patience
            return None
        if rows >= self._stopped:
            self._patience = 0
        return state.edited, Difference(lambda: changed, self._symbols)

    def _exchanged(
        self, tables: Mapping[str, Table], progress: Progress, *, add: bool
    ) -> tuple[int, Difference]:
        own = self._state.own()
        others = self._edited(own, tables, add=add)
        edited = sum(_edits(own.tables.get(p), others.tables.get(p)) for p in tables)
        if not edited:
            return 0, Difference(dict, self._symbols)
        before = self._outputs
        self._evaluate(others, self._state.nulls, progress)
        after, goals, symbols = self._outputs, self._goals, self._symbols
        return edited, Difference(
            lambda: {g: compared(before.table(g), after.table(g), symbols) for g in goals}, symbols
        )

    def _read(self, predicate: str, given: Any, progress: Progress) -> Table | None:
        """Encoded facts of an edit; `None` if there are none."""
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
        read = load_facts(alone, {predicate: given}, progress, complete=False, numbered=self._numbered)
        table = read.tables.get(predicate)
        if table is None or not table.length:
            return None
        columns = tuple(
            self._symbols.recoded(column, read.symbols) if kind in CODED else column
            for kind, column in zip(table.kinds, table.columns, strict=True)
        )
        return Table(table.kinds, columns, table.length)

    def _edited(self, own: Facts, tables: Mapping[str, Table], *, add: bool) -> Facts:
        edited = dict(own.tables)
        for predicate, new in tables.items():
            old = edited.get(predicate)
            if old is None or not (old.length or old.arity):
                if add:
                    edited[predicate] = new
                continue
            if old.arity != new.arity or None in map(join, old.kinds, new.kinds):
                raise _misfit(predicate, old, new)
            edited[predicate] = (together if add else apart)(old, new, self._symbols)
        return Facts(edited, self._symbols)

    # --- states ---------------------------------------------------------------------

    def _evaluate(self, own: Facts, earlier: Nulls | None, progress: Progress) -> None:
        """Derive all facts, and replace the current state."""
        start = perf_counter()
        tables = dict(own.tables)
        complete_nodes(self._program, tables, self._symbols)
        facts = Facts(tables, self._symbols)
        chase, kinds = prepare(self._program, facts, self._goals, self._limits, earlier=earlier)
        chase.run(progress)
        state = Evaluated(chase, kinds, self._program, own, self._goals)
        with deferred():
            self._state: Maintained | Evaluated = state
            self._stats = Stats(tuple(chase.done), perf_counter() - start, chase.restarts)
            self._warnings: tuple[Diagnostic, ...] = tuple(chase.nulls.warnings.values())
            self._outputs = Outputs(state, self._program, self._symbols)

    def _follow(self) -> None:
        """Build the editable form of the facts, if there is one."""
        assert isinstance(self._state, Evaluated)
        made = self._state.updating()
        if made is None:
            return
        self._state, self._outputs = made, self._outputs.held_by(made)
        for goal in self._posted:  # their previous facts are known only before the change
            self._outputs.table(goal)

    def _of(self, predicate: str) -> Reasoned:
        if predicate not in self._goals:
            raise KeyError(no_output(predicate, self._goals))
        shown = Facts({predicate: self._outputs.table(predicate)}, self._symbols)
        return Reasoned(shown, self._stats, self._warnings, self._program)

    def _changed(self, state: Maintained, changes: Deltas) -> dict[str, tuple[Table, Table]]:
        shown = {}
        for goal in changes.keys() & set(self._goals):
            before = self._outputs.forget(goal)
            if goal in self._posted:
                assert before is not None
                shown[goal] = compared(before, self._outputs.table(goal), self._symbols)
            else:
                change, kinds = changes[goal], state.plan.kinds[goal]
                shown[goal] = Table.of(kinds, change.added), Table.of(kinds, change.removed)
        return shown


def _edits(old: Table | None, new: Table | None) -> int:
    """Lower bound on the number of facts added or removed; a change of a column's type is an edit."""
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
