"""Physical operators: stages that transform batches of rows.

A stage maps a stream of batches to a stream of batches. Rows are coded; `layout` names the variable of each
column. A batch holds at most `CHUNK` rows and is valid only until the next one is requested, because stages
reuse their buffers.
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
    """Lookup of rows in the index of an atom's relation.

    Attributes
    ----------
    key
        For each column of the index: a column of the rows or, if negative, -1 - position in `constants`.
    checks
        Equalities not covered by the index, as (column of the atom, column of the rows or constant).
    text
        Text of the atom.
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


class Looking:
    """Stage that looks up rows in an index, with counters."""

    def __init__(self, probe: Probe, part: ir.Part) -> None:
        self.probe = probe
        self.part = part
        self.probed = self.found = 0
        self.seconds = 0.0


class Joining(Looking):
    """Join stage: writes the selected columns of each pair into its buffer and filters them by conditions."""

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
    """Semi-join (`wanted` true) or anti-join stage: keeps the rows with or without a partner."""

    def __init__(self, probe: Probe, part: ir.Part, wanted: bool) -> None:
        super().__init__(probe, part)
        self.wanted = wanted

    def __call__(self, batches: Batches) -> Batches:
        """Filter all batches."""
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
    """Filter stage for a condition."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            kept = batch[np.broadcast_to(condition(batch), len(batch))]
            if len(kept):
                yield kept

    return stage


def gathering(sources: Sequence[int | Callable[[Rows], npt.NDArray[np.int64]]], cut: bool = False) -> Stage:
    """Projection stage: each column is a column of the rows or the result of a function.

    With `cut` it drops rows whose last value has no code, which marks a null that the chase omits.
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
    """Stage that adds the nulls of existential variables; `columns` are those of their frontier."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            frontier = np.ascontiguousarray(batch[:, columns])
            kept, codes = nulls.activate(rule, operator.inventions, frontier, kinds)
            if kept.any():
                yield np.ascontiguousarray(np.column_stack((batch, codes))[kept])

    return stage


def admitting(aggregation: Aggregation, scope: Scope) -> Stage:
    """Stage that raises an error for values (last column, kind ANY) that the aggregate does not accept."""

    def stage(batches: Batches) -> Batches:
        for batch in batches:
            found = misfit(aggregation, batch[:, -1], scope.symbols)
            if found is not None:
                at, refusal = found
                hint = refusal.hint and refusal.hint.replace("...", str(aggregation.argument))
                raise scope.error(refusal.what, batch[at], scope.shown, hint)
            yield batch

    return stage
