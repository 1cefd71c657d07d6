"""Restriction of a program to the rules that some goals depend on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kgreason.language.check.affected_positions import nullable_inputs
from kgreason.language.check.checked_program import CheckedProgram, Stratum
from kgreason.language.check.wardedness import wardedness


def restricted(program: CheckedProgram, goals: Iterable[str]) -> CheckedProgram:
    """Keep only what the `goals` depend on; the goals become the outputs.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> program = load_text("p(X) :- e(X). q(X) :- e(X), not r(X). r(1).")
    >>> sorted(restricted(program, ["q"]).heads)
    ['q']
    """
    goals = tuple(dict.fromkeys(goals))
    needed = set(goals)
    needed.update(u.predicate for u in program.unifications)
    needed.update(d.predicate for d in program.denials)
    strata: list[Stratum] = []
    for stratum in reversed(program.strata):
        if not needed & stratum.predicates:
            continue
        for rule in stratum.rules:  # members of a component depend on each other
            needed.update(a.predicate for a in (*rule.positives, *rule.negatives))
        strata.append(stratum)
    strata.reverse()
    found = program.wardedness
    if not found.warded or found.harmful_joins:  # the restricted program may be warded
        found = wardedness(strata, nullable_inputs((*program.binds, *program.queries_bound), program.arities))
    return replace(
        program,
        facts=tuple(a for a in program.facts if a.predicate in needed),
        strata=tuple(strata),
        outputs=goals,
        wardedness=found,
    )
