"""Names of the columns of an output."""

from __future__ import annotations

from collections.abc import Sequence

from kgreason.analysis.checked import CheckedProgram
from kgreason.lang.ast import Variable


def column_names(program: CheckedProgram, predicate: str, arity: int) -> tuple[str, ...]:
    """Name columns by ``@mapping``, else by the first rule that has a new variable there, else by number.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> program = load_text("r(X, Y) :- e(X, Y). r(X, Z) :- r(X, Y), e(Y, Z).")
    >>> column_names(program, "r", 2)
    ('X', 'Y')
    """
    mapped = {m.position: m.column for m in program.mappings if m.predicate == predicate}
    heads = [rule.head for rule in program.rules if rule.head.predicate == predicate]
    names: list[str] = []
    for position in range(arity):
        terms = [head.terms[position] for head in heads if len(head.terms) == arity]
        found = (t.name for t in terms if isinstance(t, Variable) and not t.anonymous and t.name not in names)
        name = mapped.get(position) or next(found, f"c{position + 1}")
        names.append(free(name, names))
    return tuple(names)


def free(name: str, taken: Sequence[str]) -> str:
    """Number a name if another column has it; databases do not tell cases apart.

    Examples
    --------
    >>> free("share", ["Share"])
    'share_2'
    """
    lower = {t.lower() for t in taken}
    number, free = 1, name
    while free.lower() in lower:
        number += 1
        free = f"{name}_{number}"
    return free
