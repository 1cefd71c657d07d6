"""Functions on rules and facts: load, reason, explain, format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgreason.base.errors import CallError, ProgramError
from kgreason.base.memory import LEAST, limited, shown
from kgreason.base.progress import SILENT, Progress
from kgreason.base.resources import uncollected
from kgreason.base.setting_fields import check_type
from kgreason.engine.limits import Limits
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.file_access import is_data
from kgreason.reasoning.results import Reasoned

if TYPE_CHECKING:
    from kgreason.engine.statistics import Recorder
    from kgreason.provenance.explanation import Explanation


Rules = str | Path | CheckedProgram


def load(rules: Rules, *, allow_files: bool = False) -> CheckedProgram:
    """Parse and check a rule file or rule text.

    Parameters
    ----------
    allow_files
        Whether the rules may name servers and files outside their own folder (for rules given as text: outside the
        working directory), and whether DuckDB queries and views may read files; see docs/security.md. A program that is
        already checked keeps its own value.

    Raises
    ------
    ProgramError
        With all diagnostics of the file.
    CallError
        If `rules` has another type, or is a string that names a table or another file that holds no rules.

    Examples
    --------
    >>> load("p(X) :- q(X). q(1).").outputs
    ('p',)
    """
    from kgreason.language.check.program_checker import load_file, load_text

    what = "rules are a path, a text or what kgreason.load returns"
    check_type(rules, Rules, what, 'say for instance kgreason.load("control.vada")')
    if isinstance(rules, CheckedProgram):
        return rules
    if isinstance(rules, Path) or (rules.strip() and "\n" not in rules and rules.endswith(".vada")):
        return load_file(Path(rules), allow_files=allow_files)
    try:
        return load_text(rules, allow_files=allow_files)
    except ProgramError:
        if "\n" in rules or not (is_data(Path(rules)) or os.path.isfile(rules)):
            raise
        hint = "rule files end in .vada, or are given as Path; of a table, kgreason init writes rules"
        raise CallError(f"{rules[:100]!r} is the name of a file, no rules", hint=hint) from None


def load_functions(path: str | Path) -> None:
    """Run a Python file that defines functions for rules with `kgreason.function`.

    Raises
    ------
    DataError
        If the file cannot be read, is not valid Python, fails, or has a definition that is refused.
    """
    from kgreason.language.functions import run_definitions

    run_definitions(path)


def reason(
    rules: Rules,
    data: Mapping[str, Any] | None = None,
    *,
    outputs: str | Sequence[str] | None = None,
    allow_files: bool = False,
    limits: Limits | None = None,
    progress: Progress = SILENT,
    recorder: Recorder | None = None,
) -> Reasoned:
    """Derive the output predicates of a rule file.

    Parameters
    ----------
    outputs
        Predicates to derive; default: those annotated with ``@output``. Files they do not depend on are not opened.
    allow_files
        As for `kgreason.load`.
    limits
        Bounds on rounds, on the growth of values, and on memory.
    recorder
        Receives `Reasoned.stats`, even if the evaluation fails.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules or the data are invalid, or the rules cannot be evaluated on the data.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> sorted(reason(closure, {"edge": [("a", "b"), ("b", "c")]}).rows("reach"))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    with uncollected():
        from kgreason.data.fact_loading import load_facts
        from kgreason.engine.post_processing import apply_posts
        from kgreason.engine.seminaive.evaluation import evaluate

    program = load(rules, allow_files=allow_files)
    check_data(data)
    goals, limits = output_names(outputs), checked_limits(limits)
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress, goals)
        result = evaluate(program, facts, goals=goals, limits=limits, progress=progress, recorder=recorder)
        return Reasoned(apply_posts(program, result.facts), result.stats, result.warnings, program)


def explain(
    rules: Rules,
    goal: str,
    data: Mapping[str, Any] | None = None,
    *,
    most: int = 1,
    allow_files: bool = False,
    limits: Limits | None = None,
    progress: Progress = SILENT,
) -> Explanation:
    """Explain why a fact holds, by a proof of least height, or why it does not hold.

    Parameters
    ----------
    goal
        An atom such as ``control("a", "b")``; variables match any value.
    most
        Number of facts to prove if several match.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules, the data or the goal are invalid, or the rules cannot be evaluated on the data.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> found = explain(closure, 'reach("a", "c")', {"edge": [("a", "b"), ("b", "c")]})
    >>> found.holds, found.proofs[0].height
    (True, 2)
    """
    from kgreason.data.fact_loading import load_facts
    from kgreason.data.program_tables import sources
    from kgreason.provenance.explanation import explain_fact

    program = load(rules, allow_files=allow_files)
    check_data(data)
    check_goal(goal, most)
    limits = checked_limits(limits)
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress)
        progress.step("Explaining")
        lookup = sources(program, data or {})
        return explain_fact(program, facts, goal, most=most, limits=limits, sources=lookup)


def format_file(path: str | Path, *, write: bool = True) -> bool:
    """Format a rule file; returns whether the text changes.

    Parameters
    ----------
    write
        Whether to overwrite the file with the result.

    Raises
    ------
    ProgramError
        If the file cannot be read or parsed; it is left unchanged.
    """
    from kgreason.base.atomic_files import replacing
    from kgreason.language.check.includes import read_text
    from kgreason.language.formatter import format_text

    text, unreadable = read_text(path)
    if unreadable:
        raise ProgramError((unreadable,))
    formatted = format_text(text, str(path))
    if write and formatted != text:
        with replacing(Path(path)) as temporary:
            temporary.write_text(formatted, encoding="utf-8", newline="")
    return formatted != text


def check_data(data: object) -> None:
    """Raise `CallError` unless the data are keyed by predicate."""
    hint = 'say data={"own": ...} with a file or a table for each predicate'
    check_type(data, Mapping | None, "data are a mapping from predicates", hint)
    for predicate in cast(Mapping[object, object], data or {}):
        if not isinstance(predicate, str):
            raise CallError(f"data are a mapping from names of predicates, and {predicate!r} is none", hint)


def check_goal(goal: object, most: object) -> None:
    """Raise `CallError` unless `goal` is a string and `most` a valid number of facts."""
    check_type(goal, str, "a goal is a text", "for instance 'control(\"a\", X)'")
    if not isinstance(most, int) or most < 1:
        raise CallError(f"most is a whole number of at least 1, not {most!r}", hint="say for instance most=1")


def checked_limits(limits: object) -> Limits:
    """The limits, by default `Limits()`; `CallError` for another argument."""
    hint = "for instance kgreason.Limits(rounds=100)"
    check_type(limits, Limits | None, "limits are a kgreason.Limits", hint)
    checked = cast(Limits, limits or Limits())
    memory = checked.memory
    if memory is not None and (type(memory) is not int or memory < LEAST):
        what = f"the limit on memory is a number of bytes, {shown(LEAST)} or more, not {memory!r}"
        raise CallError(what, hint="for instance kgreason.Limits(memory=8 * 10**9)")
    return checked


def output_names(outputs: object) -> tuple[str, ...] | None:
    """Output names as a tuple; `None`: the outputs declared by the rules."""
    if outputs is None:
        return None
    names = tuple(outputs) if isinstance(outputs, Iterable) and not isinstance(outputs, str) else (outputs,)
    for name in names:
        check_type(name, str, "outputs are names of predicates", 'say for instance outputs=["control"]')
    return names
