"""Commands about rules: check, fmt, reason, explain."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from kgreason.base.errors import DataError, Diagnostic, KgreasonError, ProgramError, render_all
from kgreason.base.memory import limited
from kgreason.base.printable import hidden
from kgreason.cli import options, terminal
from kgreason.cli.commands import (
    check_no_table,
    command,
    counted,
    load_rules,
    print_json,
    refuse,
    shown,
    sources,
    warn,
)
from kgreason.cli.error_messages import finding
from kgreason.cli.options import FORMATS, Format, argument, option, rule_files
from kgreason.cli.run import aloud, complain, running, tell
from kgreason.engine.limits import MOST_PARTS as MOST
from kgreason.engine.limits import Limits, Parts

if TYPE_CHECKING:
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.check.program_checker import Examined


def _number_of_parts(_: click.Context, __: click.Parameter, value: str | None) -> Parts | None:
    """Value of --parts."""
    if value is None or value == "auto":
        return cast(Parts | None, value)
    if not value.isdecimal() or not 1 <= int(value) <= MOST:
        raise click.BadParameter(f"{value!r} is no number from 1 to {MOST:,}, and not auto")
    return int(value)


FUNCTIONS = option("--functions FILE.py", list[Path], "Python file with @kgreason.function definitions.")
LIMITS = (
    option(
        "--depth N",
        int,
        "How deep to nest nulls of one kind where rules are not warded, and so need a bound.",
        Limits().depth,
        least=0,
    ),
    option(
        "--rounds N",
        int,
        "How many rounds to carry out where recursion makes new values.",
        Limits().rounds,
        least=1,
    ),
    options.MEMORY_LIMIT,
    FUNCTIONS,
)


@command(
    argument("files", list[Path], "FILE", "Rule files.", shell_complete=rule_files),
    option("--explain", bool, "Show positions of labelled nulls, and the effect of each rule on them."),
    option("--parts", bool, "Show how reason --parts divides the predicates, or why it does not."),
    FUNCTIONS,
    options.ALLOW_FILES,
    options.AS_JSON,
)
def check(files: list[Path], explain: bool, parts: bool, functions: Sequence[Path], as_json: bool) -> int:
    """Print errors of rule files, their fragment, whether they commute, and what anonymize would refuse."""
    from kgreason.data.fact_writing import examine_whole
    from kgreason.reasoning.api import load_functions

    for file in functions:
        load_functions(file)
    allowed = running().allow_files
    for file in files:
        check_no_table(file)
    found = {file: examine_whole(file, allow_files=allowed) for file in files}
    for file in files:
        tell_alike(file)
    if as_json:
        print_json({"format": 1, "files": [_examined(file, found[file], parts=parts) for file in found]})
    else:
        for file, examined in found.items():
            _print_examined(file, examined, explain=explain)
            if parts and examined.program is not None:
                _print_parts(file, examined.program)
    return int(any(d.severity == "error" for examined in found.values() for d in examined.diagnostics))


def tell_alike(file: Path) -> None:
    """Note names that look the same in the tables that a rule file binds, or that the tables cannot be read."""
    from kgreason.data.fact_loading import note_of_spellings
    from kgreason.language.check.program_checker import load_file

    if file.suffix == ".toml":
        return
    try:
        alike = note_of_spellings(load_file(file))
    except ProgramError:
        return  # errors of the rules are reported elsewhere
    except DataError as error:
        alike = f"names were not compared, for {error.file} cannot be read as the rules say"
    if alike is not None:
        tell(f"note: {alike}")


def _print_examined(file: Path, found: Examined, *, explain: bool) -> None:
    from kgreason.isomorphism.assessment import commutation
    from kgreason.language.check.wardedness import explain as explain_nulls

    errors = sum(d.severity == "error" for d in found.diagnostics)
    if found.diagnostics and running().quiet:
        if errors:
            complain(render_all([d for d in found.diagnostics if d.severity == "error"], found.sources))
    elif found.diagnostics:
        print(found, end="\n\n")
    warnings = len(found.diagnostics) - errors
    print(f"{hidden(str(file))}: {counted(errors, 'error')}, {counted(warnings, 'warning')}", end="")
    if found.program and not explain:
        print(f", fragment: {found.program.wardedness.fragment}", end="")
    print()
    if found.program and explain:
        print(explain_nulls(found.program))
    commutes = commutation(found.program) if found.program else None
    if commutes:
        print(f"{file}: {commutes}")
    refused, lacking = _refused(found)
    if refused:
        unless = " unless --data gives the edges" if lacking else ""
        print(f"{hidden(str(file))}: reason takes these rules, anonymize refuses them{unless}:")
        print(render_all(refused, found.sources))


def _print_parts(file: Path, program: CheckedProgram) -> None:
    """Print how the predicates of a program are divided, or why they are not."""
    from kgreason.reasoning.in_parts import plan_parts

    division, why = plan_parts(program)
    if division is None:
        print(f"{hidden(str(file))}: reason --parts refuses these rules:")
    else:
        print(f"{hidden(str(file))}: parts")
        print(textwrap.indent(str(division), "  "))
    if why:
        print(render_all(why, program.sources))


def _refused(found: Examined) -> tuple[Sequence[Diagnostic], bool]:
    """Why anonymize refuses rules about a graph, and whether only data for edges are lacking."""
    # Rules about sensitive links are for attackers: they are not examined.
    from kgreason.language.check.genericity import for_anonymization, not_given, refusals

    program = found.program
    if program is None or not program.edges or program.sensitive:
        return (), False
    refused = refusals(for_anonymization(program))
    heads = {rule.head.span: rule.head.predicate for rule in program.rules}
    reported = {heads.get(d.span) for d in refused if d.code == "E127" and d.span}
    missing = [d for d in not_given(program) if d.span and heads[d.span] not in reported]
    return (*refused, *missing), not refused


def _examined(file: Path, found: Examined, *, parts: bool) -> dict[str, object]:
    """The report on a rule file, for JSON."""
    from kgreason.isomorphism.assessment import commutation
    from kgreason.reasoning.in_parts import plan_parts

    more: dict[str, object] = {}
    if parts and found.program:
        division, why = plan_parts(found.program)
        more["parts"] = {
            "plan": str(division).splitlines() if division else None,
            "findings": _told(file, why),
        }
    commutes = commutation(found.program) if found.program else None
    return {
        "file": hidden(str(file)),
        "fragment": found.program.wardedness.fragment if found.program else None,
        "commutes": str(commutes) if commutes else None,
        "findings": _told(file, found.diagnostics),
        "anonymize": _told(file, _refused(found)[0]),
        **more,
    }


def _told(file: Path, diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    return [{**finding(d), "file": d.span.file if d.span else hidden(str(file))} for d in diagnostics]


@command(
    argument("files", list[Path], "FILE", "Rule files; - is standard input.", shell_complete=rule_files),
    option("--check", bool, "Change nothing; name the files that would change, and exit with 1."),
    options.AS_JSON,
)
def fmt(files: list[Path], check: bool, as_json: bool) -> int:
    """Format rule files in place; meaning and comments stay. Standard input goes to standard output."""
    from kgreason.reasoning.api import format_file

    changed, failed = list[str](), list[str]()
    text: str | None = None
    for file in files:
        standard_input = str(file) == "-"
        try:
            if standard_input:
                differs, text = _format_input()
            else:
                check_no_table(file)
                differs = format_file(file, write=not check)
        except KgreasonError as error:  # the other files are formatted all the same
            complain(shown(error))
            failed.append(str(file))
            continue
        if differs:
            changed.append(str(file))
        if as_json:
            continue
        if standard_input and not check:
            with aloud():
                print(text, end="")
        elif differs:
            name = "<stdin>" if standard_input else file
            print(f"{name}: {'would change' if check else 'formatted'}")
    if as_json:
        formatted = {"text": text} if text is not None and not check else {}
        print_json(
            {"format": 1, "would change" if check else "formatted": changed, "failed": failed, **formatted}
        )
    return 2 if failed else int(check and bool(changed))


def _format_input() -> tuple[bool, str]:
    """Format standard input: whether that changes it, and the text."""
    from kgreason.language.formatter import format_text

    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("<stdin>", f"no UTF-8 text: {error.reason}", hint="save it as UTF-8") from None
    formatted = format_text(text, "<stdin>")
    return formatted != text, formatted


@command(
    options.RULES,
    options.DATA,
    option("--output PRED", list[str], "Derive PRED; default: every @output."),
    option("--out DIR", str, "Write a file per predicate into DIR, whatever @bind says."),
    option(
        "--format FORMAT",
        Format,
        f"Format of the files in DIR: {FORMATS}; default csv.",
    ),
    option(
        "--parts N",
        str,
        "Derive and write the facts in N parts, or auto: as the memory allows.",
        callback=_number_of_parts,
    ),
    option(
        "--engine ENGINE",
        Literal["spark"],
        "Derive the facts in parts on Apache Spark, which writes a folder per predicate into DIR.",
    ),
    options.MASTER,
    *LIMITS,
    option("--stats", bool, "Print the totals: facts, rounds, time, memory."),
    option("--profile", bool, "Print what each rule did in each round, and the costliest joins."),
    options.AS_JSON,
)
def reason(
    rules: Path,
    data: Sequence[str],
    output: Sequence[str],
    out: str | None,
    format: Format | None,
    parts: Parts | None,
    engine: str | None,
    master: str | None,
    functions: Sequence[Path],
    stats: bool,
    profile: bool,
    as_json: bool,
    **bounds: int,
) -> int:
    """Derive facts from rules and data."""
    from kgreason.data.fact_writing import check_outputs, write_facts, write_targets
    from kgreason.engine.statistics import Recorder
    from kgreason.reasoning import api

    if format is not None and out is None:
        raise click.BadParameter("needs --out DIR, the folder of the files", param_hint="--format")
    limits = Limits(depth=bounds["depth"], rounds=bounds["rounds"], memory=bounds["memory_limit"])
    if engine is not None:
        refuse(["parts"], "with --engine spark, which divides the facts itself")
        refuse(["functions", "profile", "stats"], "with --engine spark")
        if out is None:
            raise click.BadParameter("needs --out DIR, the folder of the facts", param_hint="--engine")
        _reason_on_spark(rules, data, out, format or "parquet", master, output, limits, as_json=as_json)
        return 0
    refuse(["master"], "without --engine spark", "say --engine spark")
    read, written_as = sources(data), format or "csv"
    folder = None if out is None else Path(out)
    program = load_rules(rules, functions, read)
    if parts is not None:
        if folder is None:
            raise click.BadParameter("needs --out DIR, the folder of the files", param_hint="--parts")
        if profile:
            raise click.BadParameter("choose it or --parts, not both", param_hint="--profile")
        _reason_in_parts(
            program, read, folder, parts, written_as, output, limits, stats=stats, as_json=as_json
        )
        return 0
    check_outputs(program, output or None, folder=folder, format=written_as, read=read)
    recorder, facts = Recorder(profile=profile), None
    with limited(limits.memory):
        try:
            with terminal.progress() as bar:
                result = api.reason(
                    program, read, outputs=output or None, limits=limits, progress=bar, recorder=recorder
                )
                bar.step("Writing facts")
                if folder is None:
                    written = write_targets(program, result.facts, read)
                else:
                    written = write_facts(folder, result.facts, written_as, program, read)
            facts = result.facts
            warn(result.warnings, program)
        finally:  # of a run that fails, or of which the user has enough, it is of interest all the more
            if profile and recorder.stats is not None:
                terminal.print_profile(recorder.stats)
            if stats and recorder.stats is not None:
                counts = {p: facts.count(p) for p in facts.tables} if facts is not None else None
                terminal.print_stats(recorder.stats, counts)
        unwritten = [p for p in result.predicates if p not in dict(written)]
        if as_json:
            print_json(result.as_dict(unwritten, profile=profile))
            return 0
        with aloud():
            terminal.print_facts(result.facts, unwritten)
        for predicate in unwritten:
            if not result.facts.count(predicate):
                tell(f"{predicate}: 0 facts")
        for predicate, target in written:
            print(f"{target.file}: {counted(result.facts.count(predicate), 'fact')}")
        return 0


def _reason_on_spark(
    rules: Path,
    data: Sequence[str],
    out: str,
    format: str,
    master: str | None,
    output: Sequence[str],
    limits: Limits,
    *,
    as_json: bool,
) -> None:
    from kgreason import spark
    from kgreason.base.progress import SILENT
    from kgreason.data.program_tables import Loader
    from kgreason.distributed.spark_engine import SparkEngine
    from kgreason.distributed.spark_session import session
    from kgreason.distributed.spark_sources import is_address, parse_address
    from kgreason.reasoning.api import output_names

    if format not in spark.WRITTEN:
        hint = f"one of {', '.join(spark.WRITTEN)}; kgreason convert writes others"
        raise DataError(out, f"facts on Spark cannot be written as {format!r}", hint=hint)
    read = sources([text for text in data if not is_address(text)])
    for predicate, source in map(parse_address, filter(is_address, data)):
        read.setdefault(predicate, []).append(source)
    program = load_rules(rules, (), read)
    goals = output_names(output or None) or program.outputs
    for predicate in goals:
        spark.check_new(out, predicate)
    warn(spark.check_division(program, read, goals), program)
    Loader(program, read, SILENT).predicates()  # before Spark starts, which takes seconds
    engine = SparkEngine(session(master))
    for predicate in goals:
        if engine.exists(f"{out}/{predicate}"):
            raise spark.there_already(out, predicate)
    with terminal.progress() as bar:
        found = spark.reason(
            program, read, spark=engine.spark, outputs=output or None, limits=limits, progress=bar
        )
        with found:
            bar.step("Writing facts")
            found.write(out, format)
            counts = {p: found.count(p) for p in found.predicates}
    if as_json:
        print_json(found.as_dict(counts))
        return
    for predicate, count in counts.items():
        print(f"{out}/{predicate}: {counted(count, 'fact')}")


def _reason_in_parts(
    program: CheckedProgram,
    read: Mapping[str, Any],
    out: Path,
    parts: Parts,
    format: str,
    output: Sequence[str],
    limits: Limits,
    *,
    stats: bool,
    as_json: bool,
) -> None:
    from kgreason.reasoning.in_parts import plan_parts, reason_in_parts

    _, why = plan_parts(program, output or None)
    warn([diagnostic for diagnostic in why if diagnostic.severity == "warning"], program)
    with terminal.progress() as bar:
        written = reason_in_parts(
            program,
            read,
            out,
            parts=parts,
            format=format,
            outputs=output or None,
            limits=limits,
            progress=bar,
        )
    if stats:
        terminal.print_stats(written.stats, written.counts)
    if as_json:
        print_json(written.as_dict())
        return
    for stage, number in written.parts.items():
        tell(f"stage {stage}: {counted(number, 'part')}")
    for predicate, target in written.targets:
        print(f"{target.file}: {counted(written.counts[predicate], 'fact')}")


@command(
    options.RULES,
    argument("goal", str, "FACT", 'What to explain: \'control("a", "b")\'; variables fit any value.'),
    options.DATA,
    option("--most N", int, "How many facts to explain where several fit.", 1, least=1),
    option("--levels N", int, "Maximum number of levels of the proof.", least=1),
    *LIMITS,
    options.AS_JSON,
    option("--dot", bool, "Print a graph for Graphviz."),
)
def explain(
    rules: Path,
    goal: str,
    data: Sequence[str],
    most: int,
    levels: int | None,
    functions: Sequence[Path],
    as_json: bool,
    dot: bool,
    **bounds: int,
) -> int:
    """Explain why a fact holds, by a proof of least height, or why not; exits with 1 if it does not hold."""
    from kgreason.reasoning import api

    if as_json and dot:
        raise click.BadParameter("choose it or --json, not both", param_hint="--dot")
    limits = Limits(depth=bounds["depth"], rounds=bounds["rounds"], memory=bounds["memory_limit"])
    read = sources(data)
    program = load_rules(rules, functions, read)
    with terminal.progress() as bar:
        found = api.explain(program, goal, read, most=most, limits=limits, progress=bar)
    if as_json:
        print_json(found.as_dict())
    else:
        with aloud():
            print(found.as_dot() if dot else found.as_text(levels))
    return int(not found.holds)
