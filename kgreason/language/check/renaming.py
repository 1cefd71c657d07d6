"""Checked programs with other predicate names, and two programs as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kgreason.language.check.checked_program import CheckedAtom, CheckedProgram, CheckedRule


def renamed(rules: CheckedProgram, name: Callable[[str], str]) -> CheckedProgram:
    """Rename all predicates; `name` must be injective. Sources of facts, queries and bounds of sums are dropped.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> rules = load_text('@edge("own"). @output("reach"). reach(X,Y) :- own(X,Y).')
    >>> later = renamed(rules, lambda predicate: f"{predicate}_2")
    >>> print(later.rules[0].head, later.rules[0].positives[0], later.edges, later.outputs)
    reach_2(X, Y) own_2(X, Y) ('own_2',) ('reach_2',)
    """

    def atoms(some: Sequence[CheckedAtom]) -> tuple[CheckedAtom, ...]:
        return tuple(replace(atom, predicate=name(atom.predicate)) for atom in some)

    def rule(one: CheckedRule) -> CheckedRule:
        head, positives, negatives = atoms([one.head])[0], atoms(one.positives), atoms(one.negatives)
        return replace(one, head=head, positives=positives, negatives=negatives)

    strata = tuple(
        s._replace(predicates=frozenset(map(name, s.predicates)), rules=tuple(map(rule, s.rules)))
        for s in rules.strata
    )
    return replace(
        rules,
        facts=atoms(rules.facts),
        strata=strata,
        arities={name(p): arity for p, arity in rules.arities.items()},
        keyed={name(p): keyed for p, keyed in rules.keyed.items()},
        outputs=tuple(map(name, rules.outputs)),
        nodes=tuple(map(name, rules.nodes)),
        edges=tuple(map(name, rules.edges)),
        derived=tuple(map(name, rules.derived)),
        queries=(),
        incoming_sums={},
        binds=(),
        mappings=(),
    )


def side_by_side(one: CheckedProgram, other: CheckedProgram) -> CheckedProgram:
    """Rules of two programs without common predicates, as one program."""
    return replace(
        one,
        facts=(*one.facts, *other.facts),
        strata=(*one.strata, *other.strata),
        arities={**one.arities, **other.arities},
        keyed={**one.keyed, **other.keyed},
        outputs=(*one.outputs, *other.outputs),
        nodes=(*one.nodes, *other.nodes),
        edges=(*one.edges, *other.edges),
        derived=(*one.derived, *other.derived),
    )
