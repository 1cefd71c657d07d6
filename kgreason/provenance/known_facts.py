"""What is known from the evaluation: facts with their heights, and the nulls that rules created.

A second evaluation would create different nulls. Therefore the first one logs, for every rule that creates nulls, which
null belongs to which values, in a hidden predicate in addition to its head; when the rule is matched again, it reads
the log instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.engine.expressions.compiled_expressions import has_skolem
from kgreason.engine.plan.ir import variables
from kgreason.engine.relations.fact_tables import Kind, Table
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Step,
    Stratum,
)
from kgreason.language.check.expressions import rewrite, walk
from kgreason.language.syntax.syntax_tree import Expression, Skolem, Variable

Heights = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int64]

MIX = np.uint64(0x9E3779B97F4A7C15)


class Known:
    """Facts of one predicate, sorted by height, with indexes by values at some positions.

    Parameters
    ----------
    rows
        Coded values, shape (n, arity). Those of a keyed predicate include facts that a recursion has replaced by better
        values.
    heights
        Height of each fact; shape (n,).
    final
        Whether each fact is a result; shape (n,). By default all are.
    """

    def __init__(
        self,
        kinds: tuple[Kind, ...],
        rows: Codes,
        heights: Heights,
        final: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        final = np.ones(len(rows), dtype=np.bool_) if final is None else final
        if np.any(heights[1:] < heights[:-1]):
            order = np.argsort(heights, kind="stable")
            rows, heights, final = rows[order], heights[order], final[order]
        self.kinds, self.rows, self.heights, self.final = kinds, rows, heights, final
        self._indexes: dict[tuple[int, ...], tuple[npt.NDArray[np.uint64], Ids]] = {}

    @classmethod
    def given(cls, table: Table) -> Known:
        """Given facts, of height 0."""
        return cls(table.kinds, table.matrix(), np.zeros(table.length, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def raised(self) -> bool:
        """Whether some fact is derived."""
        return len(self) > 0 and int(self.heights[-1]) > 0

    def finals(self) -> Ids:
        """Numbers of the facts that are results."""
        return np.flatnonzero(self.final)

    def find(self, columns: tuple[int, ...], values: Sequence[int]) -> Ids:
        """Numbers of the facts with some values at the columns, sorted by height."""
        return self.join(columns, np.array([values], dtype=np.int64))[1]

    def count(self, columns: tuple[int, ...], wanted: Codes) -> int:
        """Approximate number of facts that match rows of values at the columns."""
        return int(self.lookup(columns, wanted)[2].sum()) if columns else len(self) * len(wanted)

    def join(self, columns: tuple[int, ...], wanted: Codes) -> tuple[Ids, Ids]:
        """Join of rows of values with the facts at the columns: numbers of the matching rows and facts."""
        if not columns:
            which = np.repeat(np.arange(len(wanted)), len(self))
            return which, np.tile(np.arange(len(self)), len(wanted))
        order, starts, counts = self.lookup(columns, wanted)
        which = np.repeat(np.arange(len(wanted)), counts)
        inside = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        ids = order[np.repeat(starts, counts) + inside]
        if len(columns) == 1:
            return which, ids
        # keys of several columns are hashes
        same = (self.rows[ids][:, list(columns)] == wanted[which]).all(axis=1)
        return which[same], ids[same]

    def numbers(self, rows: Codes) -> Ids:
        """Number of the first fact equal to each row; -1 where there is none."""
        which, ids = self.join(tuple(range(self.rows.shape[1])), rows)
        found = np.full(len(rows), -1, dtype=np.int64)
        found[which[::-1]] = ids[::-1]
        return found

    def lookup(self, columns: tuple[int, ...], wanted: Codes) -> tuple[Ids, Ids, Ids]:
        """Index lookup: fact numbers in key order, and start and length of the range for each row."""
        index = self._indexes.get(columns)
        if index is None:
            keys = _mixed(self.rows, columns)
            order = np.argsort(keys, kind="stable")
            index = self._indexes[columns] = (keys[order], order)
        keys, order = index
        mixed = _mixed(wanted, tuple(range(len(columns))))
        starts = np.searchsorted(keys, mixed)
        return order, starts, np.searchsorted(keys, mixed, side="right") - starts


def _mixed(rows: Codes, columns: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """One number for the values at the columns: the value itself for one column, else a hash."""
    keys = np.ascontiguousarray(rows[:, columns[0]]).view(np.uint64)
    for column in columns[1:]:
        keys = (keys ^ (keys >> np.uint64(29))) * MIX + np.ascontiguousarray(rows[:, column]).view(np.uint64)
    return keys


@record
class Types:
    """Kinds inferred from the whole program and all facts; those of the part needed by a goal may differ.

    The `kinds` are those of predicates that facts can reach; `doubles` are positions of kind ANY whose numbers are all
    doubles: known facts have the code of the double there.
    """

    kinds: Mapping[str, tuple[Kind, ...]]
    doubles: frozenset[tuple[str, int]]

    def doubled(self, predicate: str, kinds: Sequence[Kind], rows: Codes, symbols: Symbols) -> Codes:
        """The rows of a predicate with integers replaced by doubles at the positions `doubles`."""
        wanted = [i for i, kind in enumerate(kinds) if kind is Kind.ANY and (predicate, i) in self.doubles]
        if not wanted or not len(rows):
            return rows
        rows = rows.copy()
        for i in wanted:
            rows[:, i] = symbols.doubled(rows[:, i])
        return rows

    def coded(self, predicate: str, table: Table, kinds: Sequence[Kind], symbols: Symbols) -> Codes:
        """Rows of a table of a predicate, coded by `kinds`."""
        return self.doubled(predicate, kinds, table.converted(kinds, symbols).matrix(), symbols)

    def table(self, predicate: str) -> Table | None:
        """Empty table of a predicate; `None` if it cannot have facts."""
        kinds = self.kinds.get(predicate)
        return None if kinds is None else Table.of(kinds, np.empty((0, len(kinds)), dtype=np.int64))


MADE = "#made:"


@record(eq=False)
class Prepared:
    """Rule prepared for matching against known facts.

    The `body` is the rule without inventions; its last `hidden` positive atoms read the logs. A `recursive` rule reads
    a predicate of its own stratum.
    """

    rule: CheckedRule
    body: CheckedRule
    hidden: int
    recursive: bool
    stratum: frozenset[str]

    @property
    def shown(self) -> tuple[CheckedAtom, ...]:
        """Positive atoms of the rule as written."""
        return self.body.positives[: len(self.body.positives) - self.hidden]


def prepare(program: CheckedProgram) -> tuple[CheckedProgram, tuple[tuple[Prepared, ...], ...]]:
    """Program that logs created nulls, and its rules as `Prepared`, by stratum."""
    strata: list[Stratum] = []
    prepared: list[tuple[Prepared, ...]] = []
    arities = dict(program.arities)
    number = 0
    for stratum in program.strata:
        rules: list[CheckedRule] = []
        ready: list[Prepared] = []
        for rule in stratum.rules:
            logs, body = _logged(rule, number)
            number += len(logs)
            rules += [rule, *logs]
            arities.update({log.head.predicate: len(log.head.terms) for log in logs})
            recursive = any(a.predicate in stratum.predicates for a in rule.positives)
            ready.append(Prepared(rule, body, len(logs), recursive, stratum.predicates))
        predicates = stratum.predicates | {r.head.predicate for r in rules}
        strata.append(stratum._replace(predicates=predicates, rules=tuple(rules)))
        prepared.append(tuple(ready))
    return replace(program, strata=tuple(strata), arities=arities), tuple(prepared)


def _logged(rule: CheckedRule, number: int) -> tuple[list[CheckedRule], CheckedRule]:
    """Logging rules for the nulls of a rule, and the rule that reads the logs."""
    logs: list[CheckedRule] = []

    def log(names: Sequence[str], source: CheckedRule) -> None:
        terms = tuple(map(Variable, dict.fromkeys(names)))
        head = CheckedAtom(f"{MADE}{number + len(logs)}", terms, rule.head.span)
        logs.append(replace(source, head=head))

    inner = replace(rule, aggregation=None, after=(), inventions=())
    before: list[Step] = []
    # without the conditions on nulls, so that nulls are logged also if these fail
    plain = [s for s in rule.before if isinstance(s, Assign) or not has_skolem(s.expression)]
    for step in rule.before:
        if not has_skolem(step.expression):
            before.append(step)
        elif isinstance(step, Assign):
            log([*variables(step.expression), step.variable], inner)
        else:
            before.append(
                _lifted(step, lambda names, made: log(names, replace(inner, before=(*plain, made))))
            )
    after: list[Step] = []
    total = rule.aggregation.variable if rule.aggregation else None
    for step in rule.after:
        used = variables(step.expression)
        if isinstance(step, Assign) and has_skolem(step.expression) and total not in used:
            log([*used, step.variable], replace(rule, inventions=()))
        else:
            after.append(step)
    if rule.inventions:
        frontier = [name for invention in rule.inventions for name in invention.frontier]
        log([*frontier, *(invention.variable for invention in rule.inventions)], rule)
    aggregation = rule.aggregation
    if aggregation is not None and logs:
        made = [name for entry in logs for name in entry.head.variables if name in rule.head.variables]
        group = dict.fromkeys((*aggregation.group, *(n for n in made if n != aggregation.variable)))
        aggregation = replace(aggregation, group=tuple(group))
    body = replace(
        rule,
        positives=(*rule.positives, *(entry.head for entry in logs)),
        before=tuple(before),
        after=tuple(after),
        inventions=(),
        aggregation=aggregation,
    )
    return logs, body


def _lifted(step: Step, log: Callable[[Sequence[str], Assign], None]) -> Step:
    """A condition that reads its Skolem terms from the logs, as variables named like the terms."""
    assert not isinstance(step, Assign)
    terms = [e for e in walk(step.expression) if isinstance(e, Skolem)]
    outer = [t for t in terms if not any(t is not o and any(t is e for e in walk(o)) for o in terms)]
    for term in outer:
        log([*variables(term), str(term)], Assign(str(term), term, step.span))

    def read(node: Expression) -> Expression:
        return Variable(str(node)) if isinstance(node, Skolem) else node

    return replace(step, expression=rewrite(step.expression, read))
