"""Functions on rules and facts: load, reason, explain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.base.errors import CallError, ProgramError
from kgreason.base.progress import SILENT, Progress
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.file_access import is_data
from kgreason.reasoning.arguments import check_data, check_goal, check_limits, check_rules, output_names
from kgreason.reasoning.results import Reasoned

if TYPE_CHECKING:
    from kgreason.engine.limits import Limits
    from kgreason.engine.statistics import Recorder
    from kgreason.provenance.explanation import Explanation

Rules = str | Path | CheckedProgram


def load(rules: Rules, *, allow_files: bool = False) -> CheckedProgram:
    """Parse and check a rule file or rule text.

    Parameters
    ----------
    allow_files
        Whether the rules may name files outside of their own folder (of rules as text: of the working directory), and
        servers, and whether queries and views of DuckDB may read files; see docs/security.md. A program that is
        checked already keeps what was said then.

    Raises
    ------
    ProgramError
        With all diagnostics of the file.
    CallError
        If `rules` is none of these, or a text that is the name of a table or of another file.

    Examples
    --------
    >>> load("p(X) :- q(X). q(1).").outputs
    ('p',)
    """
    from kgreason.language.check.program_checker import load_file, load_text

    check_rules(rules)
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
    """Run a Python file whose `kgreason.function` definitions rules may call afterwards.

    Raises
    ------
    DataError
        If the file cannot be read or is no Python, fails, or has a definition that is refused.
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
        Predicates to derive; default: those annotated with ``@output``. Files that they do not need are not opened.
    allow_files
        As for `kgreason.load`.
    limits
        Bounds on rounds, on the growth of values, and on memory.
    recorder
        Gets the `Reasoned.stats`, even if the evaluation fails.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules, the data or their meeting are at fault.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> sorted(reason(closure, {"edge": [("a", "b"), ("b", "c")]}).rows("reach"))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    from kgreason.base.memory import limited
    from kgreason.data.fact_loading import load_facts
    from kgreason.engine.limits import Limits
    from kgreason.engine.post_processing import apply_posts
    from kgreason.engine.seminaive.evaluation import evaluate

    program = load(rules, allow_files=allow_files)
    check_data(data)
    check_limits(limits)
    goals, limits = output_names(outputs), limits or Limits()
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
    """Tell why a fact holds, by a proof of least height, or why it does not.

    Parameters
    ----------
    goal
        An atom such as ``control("a", "b")``; variables fit any value.
    most
        Number of facts that are proved where several fit.
    allow_files
        As for `kgreason.load`.

    Raises
    ------
    ProgramError, DataError, EvaluationError
        If the rules, the data, the goal or their meeting are at fault.

    Examples
    --------
    >>> closure = "reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."
    >>> found = explain(closure, 'reach("a", "c")', {"edge": [("a", "b"), ("b", "c")]})
    >>> found.holds, found.proofs[0].height
    (True, 2)
    """
    from kgreason.base.memory import limited
    from kgreason.data.fact_loading import load_facts
    from kgreason.data.program_tables import sources
    from kgreason.engine.limits import Limits
    from kgreason.provenance.explanation import explain_fact

    program = load(rules, allow_files=allow_files)
    check_data(data)
    check_limits(limits)
    check_goal(goal, most)
    limits = limits or Limits()
    with limited(limits.memory):
        facts = load_facts(program, data or {}, progress)
        progress.step("Explaining")
        lookup = sources(program, data or {})
        return explain_fact(program, facts, goal, most=most, limits=limits, sources=lookup)


def format_file(path: str | Path, *, write: bool = True) -> bool:
    """Format a rule file; returns whether that changes it.

    Parameters
    ----------
    write
        Whether to write the result, in place of the file.

    Raises
    ------
    ProgramError
        If the file cannot be read or parsed; it stays as it is.
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
