"""Names of the columns of an output."""

from __future__ import annotations

from kgreason.analysis.checked import CheckedProgram
from kgreason.lang.ast import Variable


def column_names(program: CheckedProgram, predicate: str, arity: int) -> tuple[str, ...]:
    """Name columns by ``@mapping``, else by the variable that the heads of all rules have there, else by number.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text("r(X, Y) :- e(X, Y). r(X, Z) :- r(X, Y), e(Y, Z).")
    >>> column_names(program, "r", 2)
    ('X', 'c2')
    """
    mapped = {m.position: m.column for m in program.mappings if m.predicate == predicate}
    heads = [rule.head for rule in program.rules if rule.head.predicate == predicate]
    names: list[str] = []
    for position in range(arity):
        terms = {head.terms[position] for head in heads if len(head.terms) == arity}
        only = next(iter(terms)) if len(terms) == 1 else None
        named = isinstance(only, Variable) and not only.name.startswith("_")
        name = only.name if isinstance(only, Variable) and named else f"c{position + 1}"
        names.append(_free(mapped.get(position) or name, names))
    return tuple(names)


def _free(name: str, taken: list[str]) -> str:
    """The name, numbered if another column has it; databases do not tell cases apart."""
    lower = {t.lower() for t in taken}
    number, free = 1, name
    while free.lower() in lower:
        number += 1
        free = f"{name}_{number}"
    return free
