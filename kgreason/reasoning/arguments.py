"""Arguments of the functions on rules and facts: each refusal names the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kgreason.base.argument_checks import check_type
from kgreason.base.errors import CallError
from kgreason.base.memory import LEAST, shown
from kgreason.engine.limits import Limits
from kgreason.language.check.checked_program import CheckedProgram

if TYPE_CHECKING:
    pass


def check_rules(rules: object) -> None:
    """Refuse what cannot be rules."""
    what, hint = (
        "rules are a path, a text or what kgreason.load returns",
        'say for instance kgreason.load("control.vada")',
    )
    check_type(rules, str | Path | CheckedProgram, what, hint)


def check_data(data: object) -> None:
    """Refuse data that are not named by their predicates."""
    hint = 'say data={"own": ...} with a file or a table for each predicate'
    check_type(data, Mapping | None, "data are a mapping from predicates", hint)
    for predicate in cast(Mapping[object, object], data or {}):
        if not isinstance(predicate, str):
            raise CallError(f"data are a mapping from names of predicates, and {predicate!r} is none", hint)


def check_goal(goal: object, most: object) -> None:
    """Refuse what is no text of an atom, and what is no number of facts."""
    check_type(goal, str, "a goal is a text", "for instance 'control(\"a\", X)'")
    if not isinstance(most, int) or most < 1:
        raise CallError(f"most is a whole number of at least 1, not {most!r}", hint="say for instance most=1")


def check_limits(limits: object) -> None:
    """Refuse what are no limits."""
    check_type(
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
        check_type(name, str, "outputs are names of predicates", 'say for instance outputs=["control"]')
    return names
