"""Matching of a rule body against known facts, starting from a binding of the head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.engine.expressions.compiled_expressions import Scope
from kgreason.engine.expressions.function_calls import Function
from kgreason.engine.plan.double_variables import VariableKinds, double_variables
from kgreason.engine.plan.expression_kinds import join, kind_of
from kgreason.engine.plan.ir import variables
from kgreason.engine.plan.static_kinds import infer
from kgreason.engine.relations.fact_tables import Facts, Kind, coded, decode, sought
from kgreason.engine.relations.symbols import Codes, Symbols, key, whole
from kgreason.language.check.checked_program import Assign, CheckedAtom, Step, Stratum
from kgreason.language.syntax.syntax_tree import Constant, Expression, Variable
from kgreason.language.values import Value
from kgreason.provenance.known_facts import Heights, Ids, Prepared
from kgreason.provenance.traces import Trace

Binding = dict[str, int]
"""Coded values by variable."""

Premise = tuple[str, int]
"""A predicate and the number of one of its facts."""

Mask = npt.NDArray[np.bool_]

BATCH = 1 << 12  # matches that are extended at once, so that the first complete ones come early


@record
class Match:
    """Match of a body: values of its variables, and the facts of its positive atoms in order."""

    binding: Binding
    premises: tuple[Premise, ...]
    height: int


@record
class Batch:
    """Matches of a body or of a part of it: codes by variable, and fact numbers by index of the positive atom."""

    columns: Mapping[str, Codes]
    premises: Mapping[int, Ids]
    size: int

    @classmethod
    def of(cls, binding: Binding) -> Batch:
        """A single match without any atoms."""
        return cls({name: np.array([cell], dtype=np.int64) for name, cell in binding.items()}, {}, 1)

    @classmethod
    def together(cls, batches: Sequence[Batch]) -> Batch:
        """Concatenation of batches (at least one) over the same atoms."""
        columns = {name: np.concatenate([b.columns[name] for b in batches]) for name in batches[0].columns}
        premises = {i: np.concatenate([b.premises[i] for b in batches]) for i in batches[0].premises}
        return cls(columns, premises, sum(b.size for b in batches))

    def taken(self, rows: Ids | Mask) -> Batch:
        """Subset of the matches."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        premises = {i: ids[rows] for i, ids in self.premises.items()}
        size = int(rows.sum()) if rows.dtype == np.bool_ else len(rows)
        return Batch(columns, premises, size)

    def split(self) -> list[Batch]:
        """The matches in batches of bounded size."""
        if self.size <= BATCH:
            return [self] if self.size else []
        return [self.taken(np.arange(i, min(i + BATCH, self.size))) for i in range(0, self.size, BATCH)]

    def stacked(self, names: Sequence[str]) -> Codes:
        """Columns of some variables as rows."""
        empty = np.empty((self.size, 0), dtype=np.int64)
        return np.column_stack([self.columns[n] for n in names]) if names else empty

    def binding(self, row: int) -> Binding:
        """Binding of one match."""
        return {name: int(column[row]) for name, column in self.columns.items()}


class Matcher:
    """Matcher of one rule; `able` is false, and there are no matches, if the rule reads a predicate without facts."""

    def __init__(self, rule: Prepared, found: Trace, kinds: Mapping[str, Kind] | None) -> None:
        self.rule, self.body, self.able = rule, rule.body, kinds is not None
        self.known, self.symbols = found.known, found.symbols
        self.positions = found.doubles
        self.doubles = double_variables(rule.body, found.doubles)
        self.kinds = VariableKinds(kinds or {}, self.doubles)
        assigned = {s.variable for s in self.body.before if isinstance(s, Assign)}
        self.late = [a for a in self.body.negatives if assigned & set(a.variables)]
        self.early = [a for a in self.body.negatives if a not in self.late]
        self._functions: dict[int, tuple[Scope, Kind, Function]] = {}

    # --- values ---------------------------------------------------------------------------------------------

    def aim(self, values: Sequence[Value | None]) -> Binding | None:
        """Binding of the head variables for values, `None` for any; `None` if no fact of this rule can fit."""
        binding: Binding = {}
        if not self.able:
            return None
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

    def code(self, name: str, value: Value) -> int | None:
        """Code of a value of a variable; `None` if the variable cannot have it."""
        return encode(value, self.kinds[name], self.symbols, name in self.doubles)

    def values(self, binding: Binding, names: Sequence[str]) -> tuple[Value, ...]:
        """Python values of some variables; one of unknown kind holds a string."""
        kinds = [self.kinds.get(name, Kind.STRING) for name in names]
        return decoded_row(kinds, [binding[name] for name in names], self.symbols)

    def named(self, binding: Binding) -> dict[str, Value]:
        """Python values of all variables."""
        return dict(zip(binding, self.values(binding, tuple(binding)), strict=True))

    def computed(self, expression: Expression, batch: Batch, target: Kind | None = None) -> Codes:
        """Codes of an expression for each match, converted to the kind `target`, if given."""
        scope, kind, function = self._compiled(expression)
        codes = coded(function(batch.stacked(scope.layout)), kind, target or kind, self.symbols)
        return np.array(np.broadcast_to(codes, batch.size))

    def decoded(self, expression: Expression, batch: Batch) -> list[Value]:
        """Python values of an expression."""
        return decode(self.kind(expression), self.computed(expression, batch), self.symbols)

    def kind(self, expression: Expression) -> Kind:
        """Kind of an expression."""
        return self._compiled(expression)[1]

    def _compiled(self, expression: Expression) -> tuple[Scope, Kind, Function]:
        found = self._functions.get(id(expression))
        if found is None:
            scope = Scope(variables(expression), self.kinds, self.symbols, self.rule.rule)
            found = self._functions[id(expression)] = (scope, *scope.compile(expression))
        return found

    def same(self, a: Codes, b: Codes, kind: Kind) -> Mask:
        """Mask of equal values, up to the rounding of doubles."""
        if kind is Kind.DOUBLE:
            one, other = (np.ascontiguousarray(codes).view(np.float64) for codes in (a, b))
            return np.asarray(np.isclose(one, other, rtol=1e-9, atol=0.0))
        if kind is Kind.ANY:
            a, b = self.symbols.unified(a), self.symbols.unified(b)
        return np.asarray(a == b)

    def agrees(self, name: str, a: int, b: int) -> bool:
        """Whether two codes of a variable are equal values, up to the rounding of doubles."""
        one, other = (np.array([code], dtype=np.int64) for code in (a, b))
        return bool(self.same(one, other, self.kinds[name])[0])

    # --- parts of a body ------------------------------------------------------------------------------------

    def joined(
        self, atom: CheckedAtom, batch: Batch, below: int | None = None, *, final: bool = False
    ) -> tuple[Ids, Ids]:
        """Pairs of a match and a fact with height less than `below` that matches the atom.

        Within a recursion, facts whose values it improved later are included, unless only `final` ones are wanted.
        """
        found, known = self._wanted(atom, batch), self.known[atom.predicate]
        if found is None or not len(known):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        which, ids = known.join(*found)
        keep = known.heights[ids] < (np.iinfo(np.int64).max if below is None else below)
        if final or not (self.rule.recursive and atom.predicate in self.rule.stratum):
            keep &= known.final[ids]
        first: dict[str, int] = {}
        for i, term in enumerate(atom.terms):
            if isinstance(term, Variable) and first.setdefault(term.name, i) != i:
                keep &= known.rows[ids, i] == known.rows[ids, first[term.name]]
        return which[keep], ids[keep]

    def extended(self, atom: CheckedAtom, batch: Batch, which: Ids, ids: Ids) -> Batch:
        """The matches extended by the values of the paired facts."""
        cells, batch = self.known[atom.predicate].rows[ids], batch.taken(which)
        new = {t.name: cells[:, i] for i, t in enumerate(atom.terms) if isinstance(t, Variable)}
        return replace(batch, columns={**batch.columns, **{n: new[n] for n in new if n not in batch.columns}})

    def present(self, atom: CheckedAtom, batch: Batch) -> Mask:
        """Mask of the matches that contradict a negated atom; its unbound variables are existential."""
        present = np.zeros(batch.size, dtype=np.bool_)
        present[self.joined(atom, batch)[0]] = True
        return present

    def stepped(self, step: Step, batch: Batch) -> tuple[Batch, Mask]:
        """The matches after a step, with the assigned variable, and a mask of those in which the step holds."""
        holds = np.ones(batch.size, dtype=np.bool_)
        if not isinstance(step, Assign):
            return batch, self.computed(step.expression, batch) != 0
        kind, known = self.kinds[step.variable], batch.columns.get(step.variable)
        values = self.computed(step.expression, batch, kind)
        if kind is Kind.ANY and step.variable in self.doubles:
            values = self.symbols.doubled(values)
        if known is not None:
            return batch, self.same(known, values, kind)
        return replace(batch, columns={**batch.columns, step.variable: values}), holds

    def steps(self, steps: Sequence[Step], binding: Binding) -> Binding | None:
        """Execute steps in order; `None` if one fails."""
        batch = Batch.of(binding)
        for step in steps:
            batch, holds = self.stepped(step, batch)
            if not holds.all():
                return None
        return batch.binding(0)

    def _wanted(self, atom: CheckedAtom, batch: Batch) -> tuple[tuple[int, ...], Codes] | None:
        """Bound positions of an atom with their values in each match; `None` if no fact can fit."""
        positions, columns = [], []
        for i, term in enumerate(atom.terms):
            if isinstance(term, Constant):
                double = (atom.predicate, i) in self.positions
                value = encode(term.value, self.known[atom.predicate].kinds[i], self.symbols, double)
                if value is None:
                    return None
                columns.append(np.full(batch.size, value, dtype=np.int64))
            elif term.name in batch.columns:
                columns.append(batch.columns[term.name])
            else:
                continue
            positions.append(i)
        wanted = np.column_stack(columns) if columns else np.empty((batch.size, 0), dtype=np.int64)
        return tuple(positions), wanted

    # --- bodies ---------------------------------------------------------------------------------------------

    def matches(self, start: Binding, below: int | None) -> Iterator[Batch]:
        """Batches of all matches of the body before aggregation that agree with a binding.

        Premises have heights less than `below`; the next atom is always the one with the fewest candidate facts.
        """
        atoms = self.body.positives
        waiting = [(Batch.of(start), tuple(range(len(atoms))))]
        while waiting:
            batch, rest = waiting.pop()
            if not rest:
                yield self._conditions(batch)
                continue
            size, best = 0, rest[0]
            if rest[1:] or batch.size > 1:  # otherwise there is neither a choice nor a need to split
                size, best = min((self._size(atoms[i], batch), i) for i in rest)
            if batch.size > 1 and size > 16 * BATCH:
                half = batch.size // 2  # few matches at a time, because conditions may filter most of them
                parts = np.arange(half, batch.size), np.arange(half)
                waiting += [(batch.taken(part), rest) for part in parts]
                continue
            which, ids = self.joined(atoms[best], batch, below)
            found = self.extended(atoms[best], batch, which, ids)
            found = replace(found, premises={**found.premises, best: ids})
            left = tuple(i for i in rest if i != best)
            waiting += [(part, left) for part in reversed(found.split())]

    def _size(self, atom: CheckedAtom, batch: Batch) -> int:
        found = self._wanted(atom, batch)
        return 0 if found is None else self.known[atom.predicate].count(*found)

    def _conditions(self, batch: Batch) -> Batch:
        for atom in self.early:
            batch = batch.taken(~self.present(atom, batch))
        for step in self.body.before:
            batch, holds = self.stepped(step, batch)
            batch = batch.taken(holds)
        for atom in self.late:
            batch = batch.taken(~self.present(atom, batch))
        return batch

    def heights(self, batch: Batch) -> Heights:
        """Greatest height of the premises of each match."""
        heights = np.zeros(batch.size, dtype=np.int64)
        for i, ids in batch.premises.items():
            np.maximum(heights, self.known[self.body.positives[i].predicate].heights[ids], out=heights)
        return heights

    def match(self, batch: Batch, row: int) -> Match:
        """One match from a batch of complete matches."""
        atoms = enumerate(self.body.positives)
        premises = tuple((atom.predicate, int(batch.premises[i][row])) for i, atom in atoms)
        height = max((int(self.known[p].heights[n]) for p, n in premises), default=0)
        return Match(batch.binding(row), premises, height)


def encode(value: Value, kind: Kind, symbols: Symbols, double: bool = False) -> int | None:
    """Code of a value in a column, `None` if the column cannot hold it.

    `double` states that the numbers of a column of kind ANY are doubles.
    """
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


def decoded_row(kinds: Sequence[Kind], row: Sequence[int] | Codes, symbols: Symbols) -> tuple[Value, ...]:
    """Python values of a coded row."""
    cells = np.array(row, dtype=np.int64)
    return tuple(decode(kind, cells[i : i + 1], symbols)[0] for i, kind in enumerate(kinds))


def matchers(found: Trace) -> dict[str, list[Matcher]]:
    """Matchers of all rules, by the predicate of the head."""
    rules = [rule for ready in found.rules.values() for rule in ready]
    stratum = Stratum(frozenset(found.rules), tuple(r.body for r in rules), recursive=True)
    arities = {p: len(k.kinds) for p, k in found.known.items()}
    program = replace(
        found.program, facts=(), strata=(stratum,), arities=arities, unifications=(), denials=()
    )
    # kinds of all predicates that facts can reach; inference does not need the facts
    tables = {p: table for p in found.known if (table := found.types.table(p)) is not None}
    kinds = infer(program, Facts(tables, found.symbols))

    def made(rule: Prepared) -> Matcher:
        able = all(len(found.known[a.predicate]) for a in rule.shown)
        return Matcher(rule, found, kinds.of_rule(rule.body) if able else None)

    return {predicate: [made(rule) for rule in ready] for predicate, ready in found.rules.items()}
