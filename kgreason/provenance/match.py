"""Matching the body of one rule against known facts, starting from what its head says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import Assign, CheckedAtom, CheckedProgram, Step
from kgreason.engine.columns import Function, coded, sought
from kgreason.engine.expressions import Scope
from kgreason.engine.symbols import Symbols, key, whole
from kgreason.engine.table import Codes, Facts, Kind, decode
from kgreason.lang.ast import Constant, Expression, Variable
from kgreason.lang.values import Value
from kgreason.plan.doubles import VariableKinds, double_variables
from kgreason.plan.kinds import infer
from kgreason.plan.place import variables
from kgreason.plan.types import join
from kgreason.provenance.known import Heights, Ids
from kgreason.provenance.rules import Prepared
from kgreason.provenance.trace import Trace

Binding = dict[str, int]
"""Coded values by variable."""

Premise = tuple[str, int]
"""A predicate and the number of one of its facts."""


@dataclass(frozen=True, slots=True)
class Match:
    """One way to match a body: values of its variables and the facts of its positive atoms, in their order."""

    binding: Binding
    premises: tuple[Premise, ...]
    height: int


class Matcher:
    """Matches one rule; a rule that reads a predicate without facts has no kinds and never matches."""

    def __init__(self, rule: Prepared, found: Trace, kinds: Mapping[str, Kind]) -> None:
        self.rule, self.body = rule, rule.body
        self.known, self.symbols = found.known, found.symbols
        self.positions = found.doubles
        self.doubles = double_variables(rule.body, found.doubles)
        self.kinds = VariableKinds(kinds, self.doubles)
        assigned = {s.variable for s in self.body.before if isinstance(s, Assign)}
        self.late = [a for a in self.body.negatives if assigned & set(a.variables)]
        self.early = [a for a in self.body.negatives if a not in self.late]
        self._functions: dict[int, tuple[Scope, Kind, Function]] = {}

    # --- the head -------------------------------------------------------------------------------------------

    def aim(self, values: Sequence[Value | None]) -> Binding | None:
        """Values that a goal gives to variables of the head; `None` if no fact of this rule can fit.

        Arguments that are `None` may be anything.
        """
        binding: Binding = {}
        for term, value in zip(self.body.head.terms, values, strict=True):
            if value is None:
                continue
            if isinstance(term, Constant):
                if key(term.value) != key(value):
                    return None
                continue
            own = self.code(term.name, value)
            if own is None or binding.setdefault(term.name, own) != own:
                return None
        return binding

    def can_be(self, variable: Variable, value: Value) -> bool:
        """Whether a variable can have a value at all."""
        return self.code(variable.name, value) is not None

    def code(self, name: str, value: Value) -> int | None:
        """Code of a value of a variable; `None` if it cannot have it."""
        return encode(value, self.kinds[name], self.symbols, name in self.doubles)

    def unify(self, kinds: Sequence[Kind], row: Sequence[int], but: int | None = None) -> Binding | None:
        """Values that the head gives to variables so that it becomes the fact; `None` if it cannot.

        What stands at the position `but` may be another value.
        """
        binding: Binding = {}
        for i, (term, kind, cell) in enumerate(zip(self.body.head.terms, kinds, row, strict=True)):
            if i == but:
                continue
            if isinstance(term, Constant):
                if self.constant(term.value, kind, (self.body.head.predicate, i)) != cell:
                    return None
                continue
            own = self.narrowed(cell, kind, term.name)
            if own is None or binding.setdefault(term.name, own) != own:
                return None
        return binding

    def constant(self, value: Value, kind: Kind, position: tuple[str, int]) -> int | None:
        """Code of a value at a position; `None` if no value of the kind equals it."""
        return encode(value, kind, self.symbols, position in self.positions)

    def narrowed(self, cell: int, kind: Kind, name: str) -> int | None:
        """Code of a value of a position in the variable that stands there."""
        own = self.kinds.get(name, kind)
        if kind is own and kind is not Kind.ANY:
            return cell
        return encode(self.value(kind, cell), own, self.symbols, name in self.doubles)

    def assigned(self, name: str, codes: Codes) -> Codes:
        """Codes of a variable for those that an expression gives."""
        doubles = self.kinds[name] is Kind.ANY and name in self.doubles
        return self.symbols.doubled(codes) if doubles else codes

    def value(self, kind: Kind, cell: int) -> Value:
        """Python value of a code."""
        return decode(kind, np.array([cell], dtype=np.int64), self.symbols)[0]

    def values(self, binding: Binding, names: Sequence[str]) -> tuple[Value, ...]:
        """Python values of some variables."""
        return tuple(self.value(self.kinds[name], binding[name]) for name in names)

    # --- atoms ----------------------------------------------------------------------------------------------

    def candidates(
        self, atom: CheckedAtom, binding: Binding, below: int | None = None, *, final: bool = False
    ) -> Ids:
        """Facts that may stand for an atom: those of its bound values, of a height below `below`.

        Within a recursion, values that it improved later are among them, unless only `final` ones are wanted.
        """
        known = self.known[atom.predicate]
        columns, values = [], []
        for i, term in enumerate(atom.terms):
            value: int | None
            if isinstance(term, Constant):
                value = self.constant(term.value, known.kinds[i], (atom.predicate, i))
                if value is None:
                    return np.empty(0, dtype=np.int64)
            elif term.name in binding:
                value = binding[term.name]
            else:
                continue
            columns.append(i)
            values.append(value)
        found = known.find(tuple(columns), values)
        if below is not None:
            found = found[: np.searchsorted(known.heights[found], below)]
        if known.final is not None and (final or self.only_final(atom)):
            found = found[known.final[found]]
        return found

    def only_final(self, atom: CheckedAtom) -> bool:
        """Whether an atom sees the last ones of the values that a recursion improves, and no earlier ones."""
        own = self.rule.recursive and atom.predicate in self.rule.stratum
        return self.known[atom.predicate].final is not None and not own

    def extended(self, atom: CheckedAtom, number: int, binding: Binding) -> Binding | None:
        """The binding with the values of a fact; `None` if a variable would have two."""
        result = dict(binding)
        row = self.known[atom.predicate].rows[number].tolist()
        for term, cell in zip(atom.terms, row, strict=True):
            if isinstance(term, Variable) and result.setdefault(term.name, cell) != cell:
                return None
        return result

    def holds(self, atom: CheckedAtom, binding: Binding) -> bool:
        """Whether a negated atom is contradicted; unbound variables of it are existential."""
        if not len(self.known[atom.predicate]):
            return False
        found = self.candidates(atom, binding, None)
        loose = [t.name for t in atom.terms if isinstance(t, Variable) and t.name not in binding]
        if len(loose) == len(set(loose)):
            return len(found) > 0
        return any(self.extended(atom, n, binding) is not None for n in found.tolist())

    # --- expressions ----------------------------------------------------------------------------------------

    def computed(
        self, expression: Expression, columns: Mapping[str, Codes], size: int, target: Kind | None = None
    ) -> Codes:
        """Codes of an expression for columns of values, in a column of kind `target` or of its own."""
        scope, kind, function = self._compiled(expression)
        rows = np.empty((size, len(scope.layout)), dtype=np.int64)
        for i, name in enumerate(scope.layout):
            rows[:, i] = columns[name]
        codes = coded(function(rows), kind, target or kind, self.symbols)
        return np.array(np.broadcast_to(codes, size))

    def value_of(self, expression: Expression, binding: Binding) -> Value:
        """Value of an expression."""
        return self.value(self.kind(expression), self._one(expression, binding))

    def kind(self, expression: Expression) -> Kind:
        """Kind of an expression."""
        return self._compiled(expression)[1]

    def _compiled(self, expression: Expression) -> tuple[Scope, Kind, Function]:
        found = self._functions.get(id(expression))
        if found is None:
            scope = Scope(variables(expression), self.kinds, self.symbols, self.rule.rule)
            found = self._functions[id(expression)] = (scope, *scope.compile(expression))
        return found

    def _one(self, expression: Expression, binding: Binding, target: Kind | None = None) -> int:
        columns = {name: np.array([binding[name]]) for name in self._compiled(expression)[0].layout}
        return int(self.computed(expression, columns, 1, target)[0])

    def step(self, step: Step, binding: Binding) -> Binding | None:
        """The binding with an assignment carried out; `None` if a condition fails."""
        if isinstance(step, Assign):
            value = self._one(step.expression, binding, self.kinds[step.variable])
            value = int(self.assigned(step.variable, np.array([value], dtype=np.int64))[0])
            known = binding.get(step.variable)
            if known is not None:
                return binding if self.same(known, value, self.kinds[step.variable]) else None
            return {**binding, step.variable: value}
        return binding if self._one(step.expression, binding) else None

    def same(self, a: int, b: int, kind: Kind) -> bool:
        """Whether two codes are the same value, up to the rounding of doubles."""
        if kind is Kind.ANY:
            a, b = self.symbols.unified(np.array([a, b], dtype=np.int64)).tolist()
        if a == b or kind is not Kind.DOUBLE:
            return a == b
        one, other = (float(self.value(kind, c)) for c in (a, b))  # type: ignore[arg-type]
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other))

    def steps(self, steps: Sequence[Step], binding: Binding | None) -> Binding | None:
        """Carry out steps in order."""
        for step in steps:
            if binding is None:
                return None
            binding = self.step(step, binding)
        return binding

    # --- bodies ---------------------------------------------------------------------------------------------

    def matches(self, binding: Binding, below: int | None) -> Iterator[Match]:
        """All matches of the body before aggregation, with premises of heights below `below`."""
        for found, premises in self._join(list(range(len(self.body.positives))), binding, below, {}):
            if any(self.holds(atom, found) for atom in self.early):
                continue
            done = self.steps(self.body.before, found)
            if done is None or any(self.holds(atom, done) for atom in self.late):
                continue
            ordered = [(atom.predicate, premises[i]) for i, atom in enumerate(self.body.positives)]
            height = max((int(self.known[p].heights[n]) for p, n in ordered), default=0)
            yield Match(done, tuple(ordered), height)

    def _join(
        self, waiting: list[int], binding: Binding, below: int | None, premises: dict[int, int]
    ) -> Iterator[tuple[Binding, dict[int, int]]]:
        """Match the waiting atoms, next the one with the fewest facts to try."""
        if not waiting:
            yield binding, premises
            return
        best, ids = -1, None
        for i in waiting:
            found = self.candidates(self.body.positives[i], binding, below)
            if ids is None or len(found) < len(ids):
                best, ids = i, found
                if len(found) <= 1:
                    break
        assert ids is not None
        rest = [i for i in waiting if i != best]
        atom = self.body.positives[best]
        for number in ids:
            extended = self.extended(atom, int(number), binding)
            if extended is not None:
                yield from self._join(rest, extended, below, {**premises, best: int(number)})


def encode(value: Value, kind: Kind, symbols: Symbols, double: bool = False) -> int | None:
    """Code of a value in a column; `None` if the column cannot hold it.

    `double` says that the numbers of a column of kind ANY are doubles.

    Examples
    --------
    >>> encode(2.0, Kind.INT, Symbols()), encode(2.5, Kind.INT, Symbols()), encode("a", Kind.INT, Symbols())
    (2, None, None)
    """
    from kgreason.plan.types import kind_of

    if kind is Kind.INT and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind is Kind.ANY and isinstance(value, int | float) and not isinstance(value, bool):
        if double and value != float(value):
            return None
        return symbols.intern(float(value) if double else whole(value))
    own = kind_of(value)
    if own is not kind and join(own, kind) is not kind:
        return None
    return sought(value, kind, symbols)


def matchers(found: Trace) -> dict[str, list[Matcher | Prepared]]:
    """A matcher for every rule that can match, by the predicate of its head; others stay as they are."""
    rules = [rule for ready in found.rules.values() for rule in ready]
    able = {id(r): r for r in rules if all(len(found.known[a.predicate]) for a in r.shown)}
    kinds = infer(_program(found, rules), _facts(found))
    result: dict[str, list[Matcher | Prepared]] = {}
    for predicate, ready in found.rules.items():
        result[predicate] = []
        for rule in ready:
            own = kinds.of_rule(rule.body) if id(rule) in able else None
            result[predicate].append(rule if own is None else Matcher(rule, found, own))
    return result


def _program(found: Trace, rules: Sequence[Prepared]) -> CheckedProgram:
    from dataclasses import replace

    from kgreason.analysis.checked import Stratum

    stratum = Stratum(frozenset(found.rules), tuple(r.body for r in rules), recursive=True)
    arities = {p: len(k.kinds) for p, k in found.known.items()}
    return replace(found.program, facts=(), strata=(stratum,), arities=arities, unifications=(), denials=())


def _facts(found: Trace) -> Facts:
    """The kinds of all predicates that facts can reach; the facts themselves are not needed for that."""
    tables = {p: table for p in found.known if (table := found.types.table(p)) is not None}
    return Facts(tables, found.symbols)


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
