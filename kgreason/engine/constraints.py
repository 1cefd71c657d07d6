"""Equality-generating dependencies and constraints: what must hold of the facts of a finished stratum."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from kgreason.analysis.checked import CheckedAtom, CheckedProgram, CheckedRule, Denial, Stratum, Unification
from kgreason.engine.expressions import code
from kgreason.engine.nulls import Nulls
from kgreason.engine.relation import Relation, Rows
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Kind, any_codes, decode
from kgreason.errors import EvaluationError
from kgreason.lang.ast import Constant, Variable
from kgreason.lang.values import Null, Value, source

SHOWN = 10
"""Violations of one constraint that a message lists."""

Relations = Mapping[str, Relation]
Kinds = Mapping[str, Sequence[Kind]]


def hidden(program: CheckedProgram) -> frozenset[str]:
    """Predicates of unifications and constraints, which no user knows."""
    unified = frozenset(u.predicate for u in program.unifications)
    return unified | frozenset(d.predicate for d in program.denials)


def promptly(strata: Sequence[Stratum], early: Collection[str]) -> tuple[Stratum, ...]:
    """Order strata so that those of some predicates come as soon as what they read is complete.

    A unification then acts before anything is concluded, by negation or aggregation, from facts that it changes.
    """
    ordered: list[Stratum] = []
    waiting = [s for s in strata if s.predicates & set(early)]
    derived = {p for s in strata for p in s.predicates}
    complete: set[str] = set()
    for stratum in (None, *(s for s in strata if s not in waiting)):
        if stratum is not None:
            ordered.append(stratum)
            complete |= stratum.predicates
        ready = [s for s in waiting if _reads(s) & derived - s.predicates <= complete]
        ordered += ready
        waiting = [s for s in waiting if s not in ready]
    return (*ordered, *waiting)


def _reads(stratum: Stratum) -> set[str]:
    return {a.predicate for rule in stratum.rules for a in (*rule.positives, *rule.negatives)}


def unify(unification: Unification, relations: Relations, kinds: Kinds, nulls: Nulls) -> bool:
    """Merge the values that a dependency says are one; tells whether any were different.

    Raises
    ------
    EvaluationError
        If two different constants should be one value.
    """
    rows, types = _facts(unification.predicate, relations, kinds)
    left, right = (any_codes(rows[:, i], types[i], nulls.symbols) for i in range(2))
    different = np.flatnonzero(left != right)
    for i in different.tolist():
        a, b = int(left[i]), int(right[i])
        if not nulls.merge(a, b) and not _either_null(a, b, nulls.symbols):
            raise _clash(unification.rule, rows[i], types, relations, kinds, nulls.symbols)
        # constants that meet through a null merged just now meet face to face in the next run
    return len(different) > 0


def deny(denial: Denial, relations: Relations, kinds: Kinds, symbols: Symbols) -> None:
    """See to it that nothing violates a constraint.

    Raises
    ------
    EvaluationError
        With the first violations.
    """
    rows, types = _facts(denial.predicate, relations, kinds)
    if not len(rows):
        return
    count = len(rows)
    message = "the constraint is violated" + (f" {count} times" if count > 1 else "")
    listed = [_written(_binding(denial.rule, row, types, symbols)) for row in rows[:SHOWN]]
    if any(listed):
        message += "".join(f"\n  with {binding}" for binding in listed)
    if count > SHOWN:
        message += f"\n  and {count - SHOWN} more"
    raise EvaluationError(message, denial.rule.text, denial.rule.span)


def _facts(predicate: str, relations: Relations, kinds: Kinds) -> tuple[Rows, Sequence[Kind]]:
    relation = relations[predicate]
    return relation.buffer[: relation.count], kinds[predicate]


def _either_null(a: int, b: int, symbols: Symbols) -> bool:
    return isinstance(symbols.value(a), Null) or isinstance(symbols.value(b), Null)


def _clash(
    rule: CheckedRule,
    row: Rows,
    types: Sequence[Kind],
    relations: Relations,
    kinds: Kinds,
    symbols: Symbols,
) -> EvaluationError:
    left, right = (decode(types[i], row[i : i + 1], symbols)[0] for i in range(2))
    binding = _binding(rule, row, types, symbols)
    message = f"{source(left)} and {source(right)} cannot be one value, with {_written(binding)}"
    facts = [_instance(atom, binding, relations, kinds, symbols) for atom in rule.positives]
    message += "".join(f"\n  fact: {fact}" for fact in dict.fromkeys(facts))
    hint = "correct one of the facts, or derive a difference instead of demanding equality"
    return EvaluationError(message, rule.text, rule.span, hint)


def _binding(rule: CheckedRule, row: Rows, types: Sequence[Kind], symbols: Symbols) -> dict[str, Value]:
    """Values of the named variables of the body."""
    return {
        term.name: decode(kind, row[i : i + 1], symbols)[0]
        for i, (term, kind) in enumerate(zip(rule.head.terms, types, strict=True))
        if isinstance(term, Variable)
    }


def _written(binding: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {source(value)}" for name, value in binding.items())


def _instance(
    atom: CheckedAtom, binding: Mapping[str, Value], relations: Relations, kinds: Kinds, symbols: Symbols
) -> str:
    """A fact that an atom stands for under a binding."""
    types, relation = kinds[atom.predicate], relations[atom.predicate]
    rows = relation.buffer[: relation.count]
    for i, (term, kind) in enumerate(zip(atom.terms, types, strict=True)):
        if isinstance(term, Constant) or term.name in binding:
            value = term.value if isinstance(term, Constant) else binding[term.name]
            rows = rows[rows[:, i] == code(value, kind, symbols)]
    values = [decode(kind, rows[:1, i], symbols)[0] for i, kind in enumerate(types)]
    return f"{atom.predicate}({', '.join(map(source, values))})" if values else atom.predicate
