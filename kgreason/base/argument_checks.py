"""What the functions of `kgreason.api` refuse before they begin: each raises an error that names the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from kgreason.base.choices import Model
from kgreason.base.errors import AnonymizationError, CallError, DataError, ProgramError
from kgreason.base.memory import LEAST, shown
from kgreason.base.progress import Progress
from kgreason.engine.limits import Limits
from kgreason.language.check.checked_program import CheckedProgram

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices


def _check_type(value: object, kinds: Any, what: str, hint: str) -> None:
    if not isinstance(value, kinds):
        raise CallError(f"{what}, not of type {type(value).__name__}", hint=hint)


def check_rules(rules: object) -> None:
    """Refuse what cannot be rules."""
    what, hint = (
        "rules are a path, a text or what kgreason.load returns",
        'say for instance kgreason.load("control.vada")',
    )
    _check_type(rules, str | Path | CheckedProgram, what, hint)


def check_folders(folders: object, progress: Progress) -> None:
    """Refuse what are no folders, and folders that a release must not be written to; tell what was mended there."""
    from kgreason.release.publication import Folders

    hint = 'say folders=kgreason.Folders("release", "private")'
    _check_type(folders, Folders, "folders are of type Folders", hint)
    for mended in cast(Folders, folders).check():
        progress.note(mended)


def check_data(data: object) -> None:
    """Refuse data that are not named by their predicates."""
    hint = 'say data={"own": ...} with a file or a table for each predicate'
    _check_type(data, Mapping | None, "data are a mapping from predicates", hint)
    for predicate in cast(Mapping[object, object], data or {}):
        if not isinstance(predicate, str):
            raise CallError(f"data are a mapping from names of predicates, and {predicate!r} is none", hint)


def check_goal(goal: object, most: object) -> None:
    """Refuse what is no text of an atom, and what is no number of facts."""
    _check_type(goal, str, "a goal is a text", "for instance 'control(\"a\", X)'")
    if not isinstance(most, int) or most < 1:
        raise CallError(f"most is a whole number of at least 1, not {most!r}", hint="say for instance most=1")


def check_limits(limits: object) -> None:
    """Refuse what are no limits."""
    _check_type(
        limits, Limits | None, "limits are a kgreason.Limits", "for instance kgreason.Limits(rounds=100)"
    )
    memory = cast(Limits, limits).memory if limits is not None else None
    if memory is not None and (type(memory) is not int or memory < LEAST):
        what = f"the limit on memory is a number of bytes, {shown(LEAST)} or more, not {memory!r}"
        raise CallError(what, hint="for instance kgreason.Limits(memory=8 * 10**9)")


def output_names(outputs: object) -> tuple[str, ...] | None:
    """Names of outputs, of one or several; `None`: those that the rules say."""
    if outputs is None:
        return None
    names = tuple(outputs) if isinstance(outputs, Iterable) and not isinstance(outputs, str) else (outputs,)
    for name in names:
        _check_type(name, str, "outputs are names of predicates", 'say for instance outputs=["control"]')
    return names


def check_numbers(**given: tuple[int | None, int]) -> None:
    """Refuse options that are no whole numbers or below their least value."""
    for name, (value, least) in given.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise AnonymizationError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_probabilities(**given: object) -> None:
    """Refuse what are no probabilities.

    Examples
    --------
    >>> check_probabilities(leak=2)
    Traceback (most recent call last):
    kgreason.base.errors.AnonymizationError: leak must be a probability, not 2
      help: give a number from 0 to 1, as 0.4
    """
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:  # type: ignore[operator]
            what = f"{name} must be a probability, not {f'{value:g}' if number else repr(value)}"
            raise AnonymizationError(what, hint="give a number from 0 to 1, as 0.4")


def mapped(mapping: object, original: KnowledgeGraph, released: KnowledgeGraph) -> Vertices:
    """Numbers of the released vertices of original ones, also where labels are given, as pairs or as a table."""
    from kgreason.release.mapping import names_of, numbers_of

    names = names_of(mapping)
    if names is None:
        return np.asarray(mapping)
    return numbers_of(names, original.labels, released.labels, "vertex", others=True)


def attacked_sizes(x: object) -> tuple[int, ...]:
    """Numbers of vertices of attacked subgraphs, ascending, of one or several.

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
    """Refuse a model that there is not."""
    if model not in get_args(Model):
        hint = f"choose {' or '.join(map(str, get_args(Model)))}"
        raise AnonymizationError(f"unknown model {model!r}", hint=hint)


def anonymizable(program: CheckedProgram) -> CheckedProgram:
    """Return the rules of `program`, without the data in its file, if anonymization is meaningful under them.

    Raises
    ------
    ProgramError
        If the rules depend on vertex names, name no edges, or cannot be followed otherwise.
    """
    from kgreason.language.check.genericity import for_anonymization, refusals

    rules = for_anonymization(program)
    if diagnostics := refusals(rules):
        raise ProgramError(diagnostics, program.sources or program.text)
    return rules


def check_relations(graph: KnowledgeGraph, program: CheckedProgram) -> None:
    """Refuse a graph whose relations are not the edge predicates of the rules.

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
