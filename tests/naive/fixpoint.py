"""Strata, fixpoints, equalities and constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kgreason.base.errors import EvaluationError
from kgreason.language.check.checked_program import CheckedProgram, CheckedRule, Denial, Stratum, Unification
from kgreason.language.syntax.syntax_tree import Constant
from kgreason.language.values import Value, source
from tests.naive.body import Database, Row, consequences
from tests.naive.doubles import double_positions
from tests.naive.nulls import Nulls, frozen
from tests.naive.values import Fault, key


def evaluate(
    program: CheckedProgram, facts: Mapping[str, Iterable[tuple[Value, ...]]], **bounds: Any
) -> dict[str, set[Row]]:
    """Derive all facts of a program, as `derive` does, as sets: Python takes ([1],) and ([1.0],) for one row.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text("t(X, Y) :- e(X, Y). t(X, Z) :- t(X, Y), e(Y, Z).")
    >>> sorted(evaluate(program, {"e": [(1, 2), (2, 3)]})["t"])
    [(1, 2), (1, 3), (2, 3)]
    """
    return {predicate: set(rows) for predicate, rows in derive(program, facts, **bounds).items()}


def derive(
    program: CheckedProgram,
    facts: Mapping[str, Iterable[tuple[Value, ...]]],
    *,
    rounds: int = 100_000,
    growth: float = 1e-12,
    depth: int = 3,
) -> dict[str, list[Row]]:
    """Derive all facts of a program, each once.

    Parameters
    ----------
    facts
        Rows of the input predicates. A position where a double can come to stand holds doubles only.
    rounds
        Most rounds that a stratum may take.
    growth
        A double of a keyed predicate that improves by at most this fraction does not count as a change.
    depth
        How often a function may occur on one path into the term that a null stands for; what would go deeper is
        left out.

    Returns
    -------
    dict
        All facts, derived or given, of every predicate.

    Raises
    ------
    EvaluationError
        Where an expression has no value, on a negative contribution to a recursive ``msum`` (one below 1 to
        ``mprod``), where two constants would have to be equal, where a constraint is violated, and
        when `rounds` do not suffice.
    """
    rows = {p: [tuple(row) for row in table] for p, table in facts.items()}
    given = [(p, row) for p, table in rows.items() for row in table]
    given += [(a.predicate, tuple(_constant(t) for t in a.terms)) for a in program.facts]
    doubles = double_positions(program, given)
    nulls = Nulls(depth, frozen(rows))
    while True:
        database = Database(program, doubles, growth, nulls)
        for predicate in {*program.arities, *rows}:
            database.relations[predicate] = {}
        for predicate, row in given:
            _insert(database, predicate, row)
        if _run(program, database, rounds):
            return {p: list(table.values()) for p, table in database.relations.items()}


def _run(program: CheckedProgram, database: Database, rounds: int) -> bool:
    """Evaluate the strata in order; `False` where nulls were made equal, so that all must start again."""
    for stratum in program.strata:
        _fixpoint(stratum, database, rounds)
        mergers = [u for u in program.unifications if u.predicate in stratum.predicates]
        merged = [_merge(unification, database) for unification in mergers]
        if any(merged):
            return False
    for denial in program.denials:
        _deny(denial, database)
    return True


def _fixpoint(stratum: Stratum, database: Database, rounds: int) -> None:
    """Carry out all rules on all facts until a round changes nothing."""
    changed: list[tuple[CheckedRule, Row]] = []
    for _ in range(rounds + 1):
        derived = [(rule, row) for rule in stratum.rules for row in consequences(rule, stratum, database)]
        changed = [(rule, row) for rule, row in derived if _insert(database, rule.head.predicate, row, rule)]
        if not changed:
            return
    rule, row = changed[0]
    raise EvaluationError(
        f"values still change after {rounds} rounds, for instance {rule.head.predicate}({_written(row)})",
        rule.text,
        rule.span,
        "bound the values that grow in the recursion",
    )


def _insert(database: Database, predicate: str, row: Row, rule: CheckedRule | None = None) -> bool:
    try:
        return database.insert(predicate, row if rule else tuple(map(database.nulls.canonical, row)))
    except Fault as fault:
        text, span = (rule.text, rule.span) if rule else (None, None)
        raise EvaluationError(f"{fault}, in {predicate}({_written(row)})", text, span) from None


def _merge(unification: Unification, database: Database) -> bool:
    """Make the first two values of every violation equal; tell whether there was one."""
    violations = [row for row in database.rows(unification.predicate) if key(row[0]) != key(row[1])]
    rule = unification.rule
    for row in violations:
        try:
            merged = database.nulls.merge(row[0], row[1])
        except Fault as fault:
            raise EvaluationError(f"{fault}, for {_written(row)}", rule.text, rule.span) from None
        if not merged:
            a, b = (source(database.nulls.canonical(v)) for v in row[:2])
            raise EvaluationError(
                f"{a} and {b} would have to be equal, for {_written(row)}", rule.text, rule.span
            )
    return bool(violations)


def _deny(denial: Denial, database: Database) -> None:
    violations = sorted(_written(row) for row in database.rows(denial.predicate))
    if violations:
        message = f"{len(violations)} violations of a constraint: {'; '.join(violations[:10])}"
        raise EvaluationError(message, denial.rule.text, denial.rule.span)


def _written(row: Row) -> str:
    return ", ".join(map(source, row))


def _constant(term: Any) -> Value:
    assert isinstance(term, Constant)
    return term.value
