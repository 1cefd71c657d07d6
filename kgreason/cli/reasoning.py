"""Commands about rules: check, fmt, reason, explain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kgreason.cli.base import counted, guarded, load_rules, print_json, shown, sources, warn
from kgreason.cli.options import (
    DEPTH,
    ROUNDS,
    AsJson,
    DataFiles,
    Depth,
    Format,
    FunctionFiles,
    MemoryLimit,
    Rounds,
    RulesFile,
)
from kgreason.errors import DataError, KgreasonError


@guarded
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files.")],
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Tell where labelled nulls can stand, and what each rule does to them."
        ),
    ] = False,
    functions: FunctionFiles = None,
) -> int:
    """Print everything that is wrong with rule files, their fragment of Vadalog, and whether they commute."""
    from kgreason.analysis.wardreport import explain as explain_nulls
    from kgreason.api import commutation, load_functions
    from kgreason.output.annotated import examine_whole

    for file in functions or ():
        load_functions(file)
    failed = False
    for file in files:
        found = examine_whole(file)
        errors = sum(d.severity == "error" for d in found.diagnostics)
        warnings = counted(len(found.diagnostics) - errors, "warning")
        if found.diagnostics:
            print(found, end="\n\n")
        print(f"{file}: {counted(errors, 'error')}, {warnings}", end="")
        if found.program and not explain:
            print(f", fragment: {found.program.wardedness.fragment}", end="")
        print()
        if found.program and explain:
            print(explain_nulls(found.program))
        commutes = commutation(found.program) if found.program else None
        if commutes:
            print(f"{file}: {commutes}")
        failed = failed or errors > 0
    return int(failed)


@guarded
def fmt(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files; - is standard input.")],
    check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; name the files that would change, and exit with 1."),
    ] = False,
) -> int:
    """Format rule files in place; meaning and comments stay. Standard input goes to standard output."""
    changed = failed = False
    for file in files:
        try:
            differs = _format(file, check=check)
        except KgreasonError as error:  # the other files are formatted all the same
            print(shown(error), file=sys.stderr)
            failed = True
            continue
        changed = changed or differs
    return 2 if failed else int(check and changed)


def _format(file: Path, *, check: bool) -> bool:
    """Format a file, say so, and tell whether that changes it."""
    from kgreason.api import format_file

    if str(file) == "-":
        return _format_input(check=check)
    differs = format_file(file, write=not check)
    if differs:
        print(f"{file}: {'would change' if check else 'formatted'}")
    return differs


def _format_input(*, check: bool) -> bool:
    from kgreason.lang.format import format_text

    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("<stdin>", f"no UTF-8 text: {error.reason}") from None
    formatted = format_text(text, "<stdin>")
    if not check:
        print(formatted, end="")
    elif formatted != text:
        print("<stdin>: would change")
    return formatted != text


@guarded
def reason(
    rules: RulesFile,
    data: DataFiles = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="PRED", help="Derive PRED; default: every @output."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write a file per predicate into DIR, whatever @bind says."
        ),
    ] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="Of the files in DIR; default csv.")
    ] = None,
    depth: Depth = DEPTH,
    rounds: Rounds = ROUNDS,
    memory_limit: MemoryLimit = None,
    functions: FunctionFiles = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="Print the totals: facts, rounds, time, memory.")
    ] = False,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Print what each rule did in each round, and the costliest joins."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Derive facts from rules and data."""
    from kgreason import api
    from kgreason.engine.limits import Limits
    from kgreason.engine.stats import Recorder
    from kgreason.memory import limited
    from kgreason.output.beforehand import check_outputs
    from kgreason.output.write import write_facts, write_targets
    from kgreason.terminal import print_facts, print_profile, print_stats, progress

    if format is not None and out is None:
        raise typer.BadParameter("needs --out DIR, the folder of the files", param_hint="--format")
    limits = Limits(depth=depth, rounds=rounds, memory=memory_limit)
    read, written_as = sources(data), format or "csv"
    program = load_rules(rules, functions, read)
    check_outputs(program, output or None, folder=out, format=written_as, read=read)
    recorder, facts = Recorder(profile=profile), None
    with limited(memory_limit):
        try:
            with progress() as bar:
                result = api.reason(
                    program, read, outputs=output or None, limits=limits, progress=bar, recorder=recorder
                )
                bar.step("Writing facts")
                if out is None:
                    written = write_targets(program, result.facts, read)
                else:
                    written = write_facts(out, result.facts, written_as, program, read)
            facts = result.facts
            warn(result.warnings, program)
        finally:  # of a run that fails, or of which the user has enough, it is of interest all the more
            if profile and recorder.stats is not None:
                print_profile(recorder.stats)
            if stats and recorder.stats is not None:
                print_stats(recorder.stats, facts)
        unwritten = [p for p in result.predicates if p not in dict(written)]
        if as_json:
            print_json(result.as_dict(unwritten, profile=profile))
            return 0
        print_facts(result.facts, unwritten)
        for predicate in unwritten:
            if not result.facts.count(predicate):
                print(f"{predicate}: 0 facts", file=sys.stderr)
        for predicate, target in written:
            print(f"{target.file}: {counted(result.facts.count(predicate), 'fact')}")
        return 0


@guarded
def explain(
    rules: RulesFile,
    goal: Annotated[
        str,
        typer.Argument(
            metavar="FACT", help='What to explain: \'control("a", "b")\'; variables fit any value.'
        ),
    ],
    data: DataFiles = None,
    most: Annotated[
        int, typer.Option("--most", min=1, help="How many facts to explain where several fit.")
    ] = 1,
    levels: Annotated[
        int | None, typer.Option("--levels", min=1, help="Show so many levels of the proof.")
    ] = None,
    depth: Depth = DEPTH,
    rounds: Rounds = ROUNDS,
    memory_limit: MemoryLimit = None,
    functions: FunctionFiles = None,
    as_json: AsJson = False,
    dot: Annotated[bool, typer.Option("--dot", help="Print a graph for Graphviz.")] = False,
) -> int:
    """Tell why a fact holds, by a proof of least height, or why it does not; exits with 1 if it does not."""
    from kgreason import api
    from kgreason.engine.limits import Limits
    from kgreason.terminal import progress

    if as_json and dot:
        raise typer.BadParameter("choose it or --json, not both", param_hint="--dot")
    limits = Limits(depth=depth, rounds=rounds, memory=memory_limit)
    read = sources(data)
    program = load_rules(rules, functions, read)
    with progress() as bar:
        found = api.explain(program, goal, read, most=most, limits=limits, progress=bar)
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.as_dot() if dot else found.as_text(levels))
    return int(not found.holds)
