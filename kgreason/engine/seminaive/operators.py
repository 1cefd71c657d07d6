"""Operators of a plan at work on batches of rows.

A stage turns a stream of batches into the next. Rows are coded; `layout` names the variable in each column. A
batch holds at most `CHUNK` rows and is only valid until the next one is asked for, because stages write into
buffers of their own again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from kgreason.engine.aggregates.value_aggregates import misfit
from kgreason.engine.expressions.compiled_expressions import Inventor, Scope
from kgreason.engine.plan import ir
from kgreason.engine.relations import index_kernels
from kgreason.engine.relations.kinds import Kind
from kgreason.engine.relations.relation import Index, Relation
from kgreason.engine.relations.rows import CHUNK, Rows
from kgreason.language.check.checked_program import Aggregation, CheckedAtom, CheckedRule
from kgreason.language.syntax.syntax_tree import Variable

Batches = Iterator[Rows]
Stage = Callable[[Batches], Batches]
Layout = tuple[str, ...]
Condition = Callable[[Rows], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Probe:
    """How rows look up their partners for an atom in an index of its relation.

    Attributes
    ----------
    key
        For each column of the index: a column of the rows or, below 0, -1 - position in `constants`.
    checks
        What the index leaves open, as (column of the atom, column of the rows or constant).
    text
        The atom, as a user reads it.
    """

    index: Index
    key: npt.NDArray[np.int64]
    constants: npt.NDArray[np.int64]
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
        """Key of an atom; `live` if the relation is still growing, so that fluid values may not be hashed.

        Where the probe must be `whole`, nothing else is left open.
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


class Looking:
    """A stage that looks rows up in an index, and keeps count of it."""

    def __init__(self, probe: Probe, part: ir.Part) -> None:
        self.probe = probe
        self.part = part
        self.probed = self.found = 0
        self.seconds = 0.0


class Joining(Looking):
    """Stage of a join: writes the wanted columns of each pair into its buffer, and keeps what meets some conditions."""

    def __init__(
        self, probe: Probe, part: ir.Part, takes: Sequence[int], conditions: Sequence[Condition] = ()
    ) -> None:
        super().__init__(probe, part)
        self.conditions = conditions
        self.takes = np.array(takes, dtype=np.int64)
        self.out: Rows = np.empty((256, len(takes)), dtype=np.int64)

    def __call__(self, batches: Batches) -> Batches:
        """Join all batches."""
        probe, index = self.probe, self.probe.index
        relation = index.relation
        for batch in batches:
            limit = relation.limit(self.part)
            self.probed += len(batch)
            i, at = 0, -1
            while i < len(batch):
                start = perf_counter()
                i, at, n = index_kernels.join(
                    batch,
                    probe.key,
                    probe.constants,
                    relation.buffer,
                    index.folded,
                    index.entries,
                    index.slots.array,
                    index.following,
                    index.base,
                    limit,
                    self.takes,
                    index.where,
                    self.out,
                    i,
                    at,
                )
                self.seconds += perf_counter() - start
                self.found += n
                found = self.out[:n]
                if n and self.conditions:
                    found = found[np.logical_and.reduce([holds(found) for holds in self.conditions])]
                if len(found):
                    yield found
                if i < len(batch) and len(self.out) < CHUNK:
                    self.out = np.empty((4 * len(self.out), self.out.shape[1]), dtype=np.int64)


class Matching(Looking):
    """Stage of a semi-join (`wanted` true) or anti-join: keeps rows with or without a partner."""

    def __init__(self, probe: Probe, part: ir.Part, wanted: bool) -> None:
        super().__init__(probe, part)
        self.wanted = wanted

    def __call__(self, batches: Batches) -> Batches:
        """Look up the rows of all batches."""
        probe, index = self.probe, self.probe.index
        relation = index.relation
        for batch in batches:
            start = perf_counter()
            found = np.empty(len(batch), dtype=np.bool_)
            index_kernels.matches(
                batch,
                probe.key,
                probe.constants,
                index.entries,
                index.slots.array,
                index.following,
                index.base,
                relation.limit(self.part),
                found,
            )
            kept = batch[found if self.wanted else ~found]
            self.seconds += perf_counter() - start
            self.probed += len(batch)
            self.found += len(kept)
            if len(kept):
                yield kept


def filtering(condition: Condition) -> Stage:
    """Stage that keeps the rows for which a condition holds."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            kept = batch[np.broadcast_to(condition(batch), len(batch))]
            if len(kept):
                yield kept

    return stage


def gathering(sources: Sequence[int | Callable[[Rows], npt.NDArray[np.int64]]], cut: bool = False) -> Stage:
    """Stage that makes each column from a column of the rows or by a function.

    With `cut` it drops rows whose last value has no code: that is a null that the chase leaves out.
    """

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            out = np.empty((len(batch), len(sources)), dtype=np.int64)
            for j, source in enumerate(sources):
                out[:, j] = batch[:, source] if isinstance(source, int) else source(batch)
            if cut:
                out = out[out[:, -1] >= 0]
            if len(out):
                yield out

    return stage


def inventing(
    nulls: Inventor, rule: CheckedRule, operator: ir.Invent, columns: Sequence[int], kinds: Sequence[Kind]
) -> Stage:
    """Stage that adds the nulls of a rule's existential variables; `columns` are those of their frontier."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            frontier = np.ascontiguousarray(batch[:, columns])
            kept, codes = nulls.activate(rule, operator.inventions, frontier, kinds)
            if kept.any():
                yield np.ascontiguousarray(np.column_stack((batch, codes))[kept])

    return stage


def admitting(aggregation: Aggregation, scope: Scope) -> Stage:
    """Stage that refuses what an aggregate of values of any type cannot take; the value is the last column."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            found = misfit(aggregation, batch[:, -1], scope.symbols)
            if found is not None:
                at, refusal = found
                hint = refusal.hint and refusal.hint.replace("...", str(aggregation.argument))
                raise scope.error(refusal.what, batch[at], scope.shown, hint)
            yield batch

    return stage
