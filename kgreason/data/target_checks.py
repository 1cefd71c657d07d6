"""Validation of input and output locations, formats and options before a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kgreason.base.errors import DataError, Diagnostic, ReleaseError, Span
from kgreason.data.format_list import function_of, read_table, understood
from kgreason.data.formats.sql import dotted, extra, quoted
from kgreason.data.program_tables import bound, queried
from kgreason.data.source_options import normal
from kgreason.data.sources import DATABASES, SourceSpec, parse_file
from kgreason.data.targets import FORMATS, Target, column_names, no_format
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.file_access import Place, parts_of, place_of, place_on_server
from kgreason.language.check.program_checker import Examined, examine_file
from kgreason.language.vocabulary import ARITIES

_QUERIES = {
    "sqlite": "sqlite.check_sqlite",
    "duckdb": "duckdb_files.check_duckdb",
    "postgresql": "postgresql.one_select",
}
"""Module and function of each check of a query."""


def examine_whole(path: str | Path, *, allow_files: bool = False) -> Examined:
    """Read and check a rule file as `examine_file` does, including its sources and targets."""
    found = examine_file(path, allow_files=allow_files)
    wrong = tuple(_misfits(found.program)) if found.program else ()
    return replace(found, program=None, diagnostics=(*found.diagnostics, *wrong)) if wrong else found


def _misfits(program: CheckedProgram) -> Iterator[Diagnostic]:
    for span, check in sorted(_checks(program), key=lambda c: (c[0].file, c[0].line, c[0].column)):
        try:
            check()
        except DataError as error:
            yield Diagnostic("E302", error.message, span, hint=error.hint)


def _checks(program: CheckedProgram) -> Iterator[tuple[Span, Callable[[], object]]]:
    for bind in program.binds:
        yield bind.span, partial(understood, bound(bind))
    for bind in program.targets:
        yield bind.span, partial(Target.of, bind)
    for query in program.queries_bound:
        yield query.span, partial(_query, queried(query), program.allow_files)


def _query(source: SourceSpec, allow_files: bool) -> None:
    understood(source)
    kind = source.kind()
    more = {"allow_files": allow_files} if kind == "duckdb" else {}
    function_of(_QUERIES[kind])(source.query or "", source.place, **more)


Plan = Sequence[tuple[str, Target]]
"""Predicates and where each is written."""

_COLUMNS = {
    "csv": "delimited.delimited_columns",
    "tsv": "delimited.delimited_columns",
    "parquet": "parquet.parquet_columns",
    "json": "json_rows.json_columns",
}
"""Module and function that tell the columns of what an output would replace."""
_PACKAGES = {"duckdb": "duckdb", "postgresql": "psycopg", "rdf": "pyoxigraph"}


def check_format(format: str) -> None:
    """Check that a format can be written.

    Raises
    ------
    DataError
        If the format is unknown, or its package is not installed.

    Examples
    --------
    >>> check_format("xlsx")
    Traceback (most recent call last):
    kgreason.base.errors.DataError: --format: facts cannot be written as 'xlsx'
      help: one of csv, tsv, parquet, json, sqlite, duckdb, edges, konect, mtx, gml, graphml, net, neo4j, rdf, bods
    """
    if format not in FORMATS:
        raise no_format("--format", format)
    if format in _PACKAGES:
        extra(_PACKAGES[format], format, Path("--format"))


def check_outputs(
    program: CheckedProgram,
    outputs: Sequence[str] | None = None,
    *,
    folder: Path | None = None,
    format: str = "csv",
    read: Mapping[str, Any] | None = None,
) -> None:
    """Check before a run that its outputs can be written.

    Parameters
    ----------
    outputs
        Predicates to derive; default: the outputs of the program.
    folder, format
        As for `kgreason.data.fact_writing.write_facts`; without a folder, the targets of the ``@bind`` annotations.
    read
        Sources of the run by predicate, as for `kgreason.reasoning.api.reason`; they are never overwritten.

    Raises
    ------
    DataError, ReleaseError
        For the first output that cannot be written.
    """
    wanted = tuple(program.outputs if outputs is None else outputs)
    if folder is not None:
        check_format(format)
        plan: Plan = [(p, Target.within(folder, p, format)) for p in wanted]
    else:
        plan = bound_targets(program, wanted)
    check_plan(plan, {p: program.arities[p] for p, _ in plan if p in program.arities}, program, read)
    if folder is None:
        for predicate, target in plan:
            _check_known(program, predicate, target)


def bound_targets(program: CheckedProgram, predicates: Sequence[str]) -> Plan:
    """Targets of the ``@bind`` annotations of some outputs.

    Raises
    ------
    ProgramError
        If the rules are not allowed to write there.
    """
    wanted = [bind for bind in program.targets if bind.predicate in predicates]
    for bind in wanted:
        program.permit(bind.span)
    return [(bind.predicate, Target.of(bind)) for bind in wanted]


def check_plan(
    plan: Plan,
    arities: Mapping[str, int],
    program: CheckedProgram | None = None,
    read: Mapping[str, Any] | None = None,
) -> None:
    """Check arities, packages and locations of outputs; sources are never overwritten.

    Raises
    ------
    DataError, ReleaseError
        For the first output that cannot be written.
    """
    binds = program.binds if program else ()
    sources = [*((b.predicate, place_of(b, written=False)) for b in binds), *_given(read or {})]
    for predicate, target in plan:
        check_arity(target.file, predicate, arities.get(predicate), target.format)
        if target.format in _PACKAGES:
            extra(_PACKAGES[target.format], target.format, target.file)
        for place in _places(target, predicate, arities.get(predicate, 0)):
            if name := next((name for name, source in sources if place.meets(source)), None):
                file, what = (target.file, "table") if target.server else (place.file, "file")
                raise ReleaseError(
                    f"{file}: the output {predicate} is not written over the {what} that {name} is read from",
                    hint="write it to another place",
                )


def _places(target: Target, predicate: str, arity: int) -> Iterator[Place]:
    """Files and tables that an output is written to; each file is checked to be writable."""
    if target.server:
        yield place_on_server(target.options, target.table or predicate)
        return
    _check_writable(target.path)
    yield Place(target.path.resolve(), (target.table or predicate) if target.format in DATABASES else None)
    beside = target.beside(arity)
    if beside is not None:
        _check_writable(beside)
        yield Place(beside.resolve())


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder", hint="name a file in it")
    folder = next(p for p in path.absolute().parents if p.exists())
    if not folder.is_dir():
        raise ReleaseError(f"{path} cannot be made: {folder} is a file", hint="name another folder")
    if not os.access(folder, os.W_OK):
        raise ReleaseError(
            f"{path} cannot be made: {folder} is not open for writing", hint="choose another place"
        )


def check_arity(file: str, predicate: str, arity: int | None, format: str) -> None:
    """Check that a format supports the arity of a predicate.

    Raises
    ------
    DataError
        If it does not; the message states the supported arities.

    Examples
    --------
    >>> check_arity("own.mtx", "own", 4, "mtx")
    Traceback (most recent call last):
    kgreason.base.errors.DataError: own.mtx: own has 4 arguments, mtx files have places for 1 to 3
      help: write another format
    """
    least, most = ARITIES.get(format, (0, None))
    if arity is None or (least <= arity and (most is None or arity <= most)):
        return
    hint = "write another format"
    if not arity:
        raise DataError(file, f"{predicate} has no arguments, so it makes no graph", hint=hint)
    places = f"{least} to {most}" if most else f"{least} and more"
    count = f"{arity} argument{'s' * (arity != 1)}"
    raise DataError(file, f"{predicate} has {count}, {format} files have places for {places}", hint=hint)


def _given(read: Mapping[str, Any]) -> Iterator[tuple[str, Place]]:
    for predicate, given in read.items():
        for source in given if isinstance(given, (list, tuple)) else (given,):
            spec = parse_file(source) if isinstance(source, str) else source
            if isinstance(spec, SourceSpec) and spec.server:
                yield predicate, place_on_server(spec.options, normal(spec.options).get("table"))
            elif isinstance(spec, SourceSpec) and spec.kind("csv") == "neo4j":
                parts = sorted(spec.path.iterdir()) if spec.path.is_dir() else parts_of(spec.path)
                yield from ((predicate, Place(part.resolve())) for part in parts)
            elif isinstance(spec, SourceSpec):
                path, table = spec.path, spec.options.get("table")
                if path.parent.is_file():  # database table written as folder/file
                    path, table = path.parent, path.name
                yield predicate, Place(path.resolve(), table)
            elif isinstance(spec, Path):
                yield predicate, Place(spec.resolve())


def existing_columns(target: Target, predicate: str) -> tuple[str, ...] | None:
    """Column names of an existing file or table that `target` would replace; `None` if absent or unknown."""
    if not target.server and not (target.path.is_file() and target.path.stat().st_size):
        return None
    if target.format in _COLUMNS:
        columns: tuple[str, ...] | None = function_of(_COLUMNS[target.format])(target)
        return columns
    if target.format not in DATABASES:
        return None
    name = target.table or predicate
    table = dotted(name, target.options.get("schema")) if target.server else quoted(name)
    try:
        query = f"SELECT * FROM {table} LIMIT 0"
        return read_table(SourceSpec(target.path, target.format, target.connection, query)).names
    except DataError as error:
        if error.message.startswith("no connection"):
            raise
        return None


def _check_known(program: CheckedProgram, predicate: str, target: Target) -> None:
    """Check that an existing file has the columns of the output, if its ``@bind`` may be meant for reading."""
    # Only if rules read the predicate can the existing file be meant as its source.
    if all(predicate not in {a.predicate for a in (*r.positives, *r.negatives)} for r in program.rules):
        return
    names = column_names(program, predicate, program.arities[predicate]) or ("holds",)
    found = existing_columns(target, predicate)
    what = "table" if target.server else "file"
    if found is not None and found != names:
        raise ReleaseError(
            f"{target.file}: this {what} with columns {', '.join(found)} is no output "
            f"{predicate}({', '.join(names)}) of an earlier run, so it is not replaced",
            hint=f'if the rules are to read it, say @input("{predicate}"); if nobody needs it, remove it first',
        )
