"""Checks of the arguments of functions on graphs under rules; each error names its argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

import numpy as np

from kgreason.base.errors import AnonymizationError, DataError, ProgramError
from kgreason.base.setting_fields import check_numbers
from kgreason.isomorphism.settings import Model
from kgreason.language.check.checked_program import CheckedProgram

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices


def mapped(mapping: object, original: KnowledgeGraph, released: KnowledgeGraph) -> Vertices:
    """Convert a mapping (array, pairs of labels or table) to released vertices by original vertex."""
    from kgreason.release.mapping import names_of, numbers_of

    names = names_of(mapping)
    if names is None:
        return np.asarray(mapping)
    return numbers_of(names, original.labels, released.labels, "vertex", others=True)


def attacked_sizes(x: object) -> tuple[int, ...]:
    """Sizes of attacked x-subgraphs, ascending, from one number or several.

    Examples
    --------
    >>> attacked_sizes(3), attacked_sizes(range(4, 1, -1))
    ((3,), (2, 3, 4))
    """
    found = tuple(x) if isinstance(x, Iterable) and not isinstance(x, str) else (x,)
    if not found:
        raise AnonymizationError("no number of vertices is given", hint="say for instance x=range(2, 5)")
    for size in found:
        check_numbers(x=(size, 1))
    return tuple(sorted({int(size) for size in found}))


def check_model(model: object) -> None:
    """Raise `AnonymizationError` for an unknown anonymity model."""
    if model not in get_args(Model):
        hint = f"choose {' or '.join(map(str, get_args(Model)))}"
        raise AnonymizationError(f"unknown model {model!r}", hint=hint)


def anonymizable(program: CheckedProgram) -> CheckedProgram:
    """Return the rules of `program` without the data in its file, if graphs can be anonymized under them.

    Raises
    ------
    ProgramError
        If the rules depend on vertex names, declare no edge predicate, or use unsupported features.
    """
    from kgreason.language.check.genericity import for_anonymization, refusals

    rules = for_anonymization(program)
    if diagnostics := refusals(rules):
        raise ProgramError(diagnostics, program.sources or program.text)
    return rules


def check_relations(graph: KnowledgeGraph, program: CheckedProgram) -> None:
    """Check that the relations of a graph are the edge predicates of the rules.

    Raises
    ------
    DataError
        If a relation is missing or unknown, or lacks the weights that the rules read.
    """
    here, there = (", ".join(sorted(names)) or "none" for names in (graph.relations, program.edges))
    if here != there:
        what, hint = (
            f"the graph has the relations {here}, the rules have {there}",
            "name relations as the @edge predicates",
        )
        raise DataError("<graph>", what, hint=hint)
    for name, relation in graph.relations.items():
        if program.arities.get(name) == 3 and relation.weight is None:
            hint = "give the edges weights, or take a weight out of the atoms of this predicate in the rules"
            raise DataError(
                "<graph>", f"the relation {name} has no weights, but the rules read some", hint=hint
            )
