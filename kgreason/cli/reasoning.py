"""Commands about rules: check, reason."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgreason.cli.base import counted, guarded, load_rules, print_json, sources
from kgreason.cli.options import AsJson, DataFiles, FunctionFiles, RulesFile
from kgreason.errors import render_all


@guarded
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files.")],
) -> int:
    """Print everything that is wrong with rule files."""
    from kgreason.analysis.check import check_file
    from kgreason.terminal import source_of

    failed = False
    for file in files:
        diagnostics = check_file(file)
        errors = sum(d.severity == "error" for d in diagnostics)
        if diagnostics:
            print(render_all(diagnostics, source_of(file)), end="\n\n")
        print(f"{file}: {counted(errors, 'error')}, {counted(len(diagnostics) - errors, 'warning')}")
        failed = failed or errors > 0
    return int(failed)


@guarded
def reason(
    rules: RulesFile,
    data: DataFiles = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="PRED", help="Derive PRED; default: every @output."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write PRED.csv files into DIR.")
    ] = None,
    functions: FunctionFiles = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print counts and times.")] = False,
    as_json: AsJson = False,
) -> int:
    """Derive facts from rules and data."""
    from kgreason import api
    from kgreason.publication import write_facts
    from kgreason.terminal import print_facts, print_stats, progress

    program = load_rules(rules, functions)
    with progress() as shown:
        result = api.reason(program, sources(data), outputs=output or None, progress=shown)
        if out is not None:
            write_facts(out, result.facts)
    if as_json:
        facts = {p: result.rows(p) for p in result.predicates} if out is None else {}
        counts = {p: result.facts.count(p) for p in result.predicates}
        print_json({"format": 1, "counts": counts, "facts": facts, "stats": asdict(result.stats)})
        return 0
    if out is None:
        print_facts(result.facts)
    else:
        for predicate in result.predicates:
            print(f"{out / predicate}.csv: {counted(result.facts.count(predicate), 'fact')}")
    if stats:
        print_stats(result.stats)
    return 0
