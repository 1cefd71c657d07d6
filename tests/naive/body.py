"""What one rule gives on all facts so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kgreason.language.check.checked_program import (
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Keyed,
    Step,
    Stratum,
)
from kgreason.language.syntax.syntax_tree import Variable
from kgreason.language.values import Value, source
from tests.naive.aggregates import aggregate
from tests.naive.doubles import double_variables
from tests.naive.expressions import Binding, Scene, TooDeep, error, evaluate
from tests.naive.nulls import Nulls
from tests.naive.values import Fault, compare, key, keys, to_double, to_set, type_of

Row = tuple[Value, ...]


@dataclass
class Database:
    """The facts so far; doubles stand at positions of doubles, and one value under each key."""

    program: CheckedProgram
    doubles: set[tuple[str, int]]
    growth: float
    nulls: Nulls
    relations: dict[str, dict[object, Row]] = field(default_factory=dict)

    def rows(self, predicate: str) -> Iterable[Row]:
        """Facts of a predicate."""
        return self.relations.get(predicate, {}).values()

    def insert(self, predicate: str, row: Row) -> bool:
        """Add a fact; tell whether anything changed.

        Raises
        ------
        Fault
            If it has the key of another fact, and their values do not compare or have no union.
        """
        row = tuple(to_double(v) if (predicate, i) in self.doubles else v for i, v in enumerate(row))
        relation = self.relations.setdefault(predicate, {})
        keyed = self.program.keyed.get(predicate)
        at = keys(row if keyed is None else row[: keyed.position] + row[keyed.position + 1 :])
        old = relation.get(at)
        if old is None or keyed is None:
            relation.setdefault(at, row)
            return old is None
        value = _better(old[keyed.position], row[keyed.position], keyed)
        if key(value) == key(old[keyed.position]):
            return False
        relation[at] = (*row[: keyed.position], value, *row[keyed.position + 1 :])
        return self._grown(old[keyed.position], value)

    def _grown(self, old: Value, new: Value) -> bool:
        if not isinstance(new, float) or not isinstance(old, float):
            return True
        return abs(new - old) > self.growth * abs(old)


def _better(old: Value, new: Value, keyed: Keyed) -> Value:
    if keyed.keep == "union":
        parts = [v if isinstance(v, frozenset) else frozenset({v}) for v in (old, new)]
        return to_set([*parts[0], *parts[1]])
    types = {type_of(old), type_of(new)}
    if key(old) != key(new) and (len(types) > 1 or types & {"null", "list", "set"}):
        raise Fault(f"{source(old)} and {source(new)} do not compare")
    return new if compare(">" if keyed.keep == "greatest" else "<", new, old) else old


def consequences(rule: CheckedRule, stratum: Stratum, database: Database) -> Iterator[Row]:
    """Head facts of a rule."""
    scene = Scene(rule, double_variables(rule, database.doubles), database.nulls.invent)
    bindings = _body(rule, database, scene)
    if rule.aggregation is not None:
        recursive = any(atom.predicate in stratum.predicates for atom in rule.positives)
        groups = aggregate(rule.aggregation, bindings, recursive, scene)
        bindings = (b for group in groups for b in _steps(rule.after, group, scene))
    for binding in bindings:
        invented = _invent(rule, binding, database)
        if invented is not None:
            known = binding | invented
            yield tuple(known[t.name] if isinstance(t, Variable) else t.value for t in rule.head.terms)


def _invent(rule: CheckedRule, binding: Binding, database: Database) -> Binding | None:
    """Nulls of the existential variables; nothing if one of the rule as written would be nested too deep."""
    frontiers = {i.frontier for i in rule.inventions}
    family = [r for r in database.program.rules if r is rule or (rule.number and r.number == rule.number)]
    for other in {i for r in family for i in r.inventions if i.frontier in frontiers}:
        arguments = tuple(binding[v] for v in other.frontier)
        if database.nulls.nesting(other.function, arguments) >= database.nulls.depth:
            return None
    found = {}
    for invention in rule.inventions:
        arguments = tuple(binding[v] for v in invention.frontier)
        value = database.nulls.invent(invention.function, arguments)
        assert value is not None
        found[invention.variable] = value
    return found


def _body(rule: CheckedRule, database: Database, scene: Scene) -> Iterator[Binding]:
    """Bindings of the rule's body before aggregation."""
    assigned = {step.variable for step in rule.before if isinstance(step, Assign)}
    late = [a for a in rule.negatives if assigned & set(a.variables)]
    early = [a for a in rule.negatives if a not in late]
    for match in _join(rule.positives, {}, database):
        if not any(_holds(atom, match, database) for atom in early):
            for binding in _steps(rule.before, match, scene):
                if not any(_holds(atom, binding, database) for atom in late):
                    yield binding


def _join(atoms: Sequence[CheckedAtom], binding: Binding, database: Database) -> Iterator[Binding]:
    if not atoms:
        yield binding
        return
    for row in database.rows(atoms[0].predicate):
        extended = _unify(atoms[0], row, binding)
        if extended is not None:
            yield from _join(atoms[1:], extended, database)


def _holds(atom: CheckedAtom, binding: Binding, database: Database) -> bool:
    """Whether some fact fits; unbound variables are existential."""
    return any(_unify(atom, row, binding) is not None for row in database.rows(atom.predicate))


def _unify(atom: CheckedAtom, row: Row, binding: Binding) -> Binding | None:
    """Extend the binding so that the atom becomes the fact."""
    result = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        wanted = result.setdefault(term.name, value) if isinstance(term, Variable) else term.value
        if wanted is not value and key(wanted) != key(value):
            return None
    return result


def _steps(steps: Sequence[Step], start: Binding, scene: Scene) -> Iterator[Binding]:
    """The binding with its assignments, or nothing if a condition fails."""
    result = dict(start)
    for step in steps:
        try:
            value = evaluate(step.expression, result, scene)
        except TooDeep:
            return
        if isinstance(step, Assign):
            try:
                result[step.variable] = to_double(value) if step.variable in scene.doubles else value
            except Fault as fault:
                raise error(f"{fault} in {step}", result, scene.rule) from None
        elif not isinstance(value, bool):
            raise error(f"{step} is no condition", result, scene.rule)
        elif not value:
            return
    yield result
