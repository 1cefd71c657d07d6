"""All matches of a body at once, in columns: aggregates may have very many contributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import Assign, CheckedAtom, Step
from kgreason.engine.table import Codes, Kind
from kgreason.lang.ast import Constant, Variable
from kgreason.provenance.known import Heights, Ids
from kgreason.provenance.match import Binding, Match, Matcher
from kgreason.records import dataclass

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Matches of one body.

    Attributes
    ----------
    columns
        Codes by variable, shape (n,) each.
    premises
        Numbers of the facts of the positive atoms, in their order, shape (n,) each; by the place of the atom.
    """

    columns: Mapping[str, Codes]
    premises: Mapping[int, Ids]
    size: int

    def taken(self, rows: Ids | Mask) -> Batch:
        """Some of the matches."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        premises = {i: ids[rows] for i, ids in self.premises.items()}
        size = int(rows.sum()) if rows.dtype == np.bool_ else len(rows)
        return Batch(columns, premises, size)

    def stacked(self, names: Sequence[str]) -> Codes:
        """Some columns side by side."""
        empty = np.empty((self.size, 0), dtype=np.int64)
        return np.column_stack([self.columns[n] for n in names]) if names else empty

    def match(self, matcher: Matcher, row: int) -> Match:
        """One of them."""
        premises = tuple(
            (atom.predicate, int(self.premises[i][row])) for i, atom in enumerate(matcher.body.positives)
        )
        height = max((int(matcher.known[p].heights[n]) for p, n in premises), default=0)
        return Match({name: int(column[row]) for name, column in self.columns.items()}, premises, height)

    def heights(self, matcher: Matcher) -> Heights:
        """The greatest height of the premises of each match."""
        heights = np.zeros(self.size, dtype=np.int64)
        for i, atom in enumerate(matcher.body.positives):
            np.maximum(heights, matcher.known[atom.predicate].heights[self.premises[i]], out=heights)
        return heights


def matched(matcher: Matcher, start: Binding, below: int | None) -> Batch:
    """All matches of a body before aggregation that agree with some values; see `Matcher.matches`."""
    batch = Batch({name: np.array([cell], dtype=np.int64) for name, cell in start.items()}, {}, 1)
    waiting = list(range(len(matcher.body.positives)))
    while waiting:
        sizes = {i: _size(matcher, matcher.body.positives[i], batch) for i in waiting}
        best = min(waiting, key=sizes.__getitem__)
        waiting.remove(best)
        atom = matcher.body.positives[best]
        which, ids = _joined(matcher, atom, batch, below)
        cells = matcher.known[atom.predicate].rows[ids]
        new = {t.name: cells[:, i] for i, t in enumerate(atom.terms) if isinstance(t, Variable)}
        batch = batch.taken(which)
        batch = Batch({**new, **batch.columns}, {**batch.premises, best: ids}, batch.size)
    batch = _absent(matcher, matcher.early, batch)
    for step in matcher.body.before:
        batch = _stepped(matcher, step, batch)
    return _absent(matcher, matcher.late, batch)


def _wanted(matcher: Matcher, atom: CheckedAtom, batch: Batch) -> tuple[tuple[int, ...], Codes] | None:
    """Bound places of an atom with what stands there in each match; `None` if no fact can fit."""
    places, columns = [], []
    for i, term in enumerate(atom.terms):
        if isinstance(term, Constant):
            kind = matcher.known[atom.predicate].kinds[i]
            value = matcher.constant(term.value, kind, (atom.predicate, i))
            if value is None:
                return None
            columns.append(np.full(batch.size, value, dtype=np.int64))
        elif term.name in batch.columns:
            columns.append(batch.columns[term.name])
        else:
            continue
        places.append(i)
    wanted = np.column_stack(columns) if columns else np.empty((batch.size, 0), dtype=np.int64)
    return tuple(places), wanted


def _size(matcher: Matcher, atom: CheckedAtom, batch: Batch) -> int:
    found = _wanted(matcher, atom, batch)
    return 0 if found is None else matcher.known[atom.predicate].fitting(*found)


def _joined(matcher: Matcher, atom: CheckedAtom, batch: Batch, below: int | None) -> tuple[Ids, Ids]:
    """Pairs of a match and a fact that fits the atom in it."""
    nothing = np.empty(0, dtype=np.int64)
    found = _wanted(matcher, atom, batch)
    known = matcher.known[atom.predicate]
    if found is None or not len(known):
        return nothing, nothing
    which, ids = known.join(*found)
    keep = np.ones(len(ids), dtype=np.bool_)
    if below is not None:
        keep &= known.heights[ids] < below
    if matcher.only_final(atom):
        assert known.final is not None
        keep &= known.final[ids]
    first: dict[str, int] = {}
    for i, term in enumerate(atom.terms):
        if isinstance(term, Variable) and first.setdefault(term.name, i) != i:
            keep &= known.rows[ids, i] == known.rows[ids, first[term.name]]
    return which[keep], ids[keep]


def _absent(matcher: Matcher, atoms: Sequence[CheckedAtom], batch: Batch) -> Batch:
    for atom in atoms:
        present = np.zeros(batch.size, dtype=np.bool_)
        present[_joined(matcher, atom, batch, None)[0]] = True
        batch = batch.taken(~present)
    return batch


def _stepped(matcher: Matcher, step: Step, batch: Batch) -> Batch:
    if not isinstance(step, Assign):
        return batch.taken(matcher.computed(step.expression, batch.columns, batch.size) != 0)
    kind = matcher.kinds[step.variable]
    values = matcher.computed(step.expression, batch.columns, batch.size, kind)
    values = matcher.assigned(step.variable, values)
    known = batch.columns.get(step.variable)
    if known is not None:
        return batch.taken(_same(matcher, known, values, kind))
    return Batch({**batch.columns, step.variable: values}, batch.premises, batch.size)


def _same(matcher: Matcher, a: Codes, b: Codes, kind: Kind) -> Mask:
    """As `Matcher.same`."""
    if kind is Kind.DOUBLE:
        one, other = a.view(np.float64), b.view(np.float64)
        return np.asarray(np.isclose(one, other, rtol=1e-9, atol=0.0))
    if kind is Kind.ANY:
        a, b = matcher.symbols.unified(a), matcher.symbols.unified(b)
    return np.asarray(a == b)
