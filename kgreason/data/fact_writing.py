"""Writing facts to files and databases, all or nothing; checks before a run; conversion between formats."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.errors import DataError, Diagnostic, ReleaseError, Span
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.data.format_list import FUNCTIONS, function_of, read_table, understood
from kgreason.data.formats.sql import Writer, dotted, extra, quoted
from kgreason.data.predicate_rows import keyed
from kgreason.data.program_tables import Loaded, Loader, bound, queried
from kgreason.data.source_options import normal
from kgreason.data.sources import DATABASES, SourceSpec, parse_file
from kgreason.data.targets import DECLARING, FORMATS, Target, column_names, free, no_format
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.file_access import Place, parts_of, place_of, place_on_server
from kgreason.language.check.program_checker import Examined, examine_file, load_text
from kgreason.language.vocabulary import ARITIES

Plan = Sequence[tuple[str, Target]]  # predicates and where each is written


def examine_whole(path: str | Path, *, allow_files: bool = False) -> Examined:
    """Read and check a rule file as `examine_file` does, including its sources and targets."""
    found = examine_file(path, allow_files=allow_files)
    if found.program is None:
        return found
    checks: list[tuple[Span, Callable[[], object]]] = [
        *((bind.span, partial(understood, bound(bind))) for bind in found.program.binds),
        *((bind.span, partial(Target.of, bind)) for bind in found.program.targets),
        *(
            (query.span, partial(_check_query, queried(query), allow_files))
            for query in found.program.queries_bound
        ),
    ]
    wrong = []
    for span, check in sorted(checks, key=lambda c: (c[0].file, c[0].line, c[0].column)):
        try:
            check()
        except DataError as error:
            wrong.append(Diagnostic("E302", error.message, span, hint=error.hint))
    return found._replace(program=None, diagnostics=(*found.diagnostics, *wrong)) if wrong else found


def _check_query(source: SourceSpec, allow_files: bool) -> None:
    understood(source)
    kind = source.kind()
    more = {"allow_files": allow_files} if kind == "duckdb" else {}
    function_of(FUNCTIONS[kind].check)(source.query or "", source.location, **more)


def check_format(format: str) -> None:
    """Check that a format can be written.

    Raises
    ------
    DataError
        If the format is unknown, or its package is not installed.
    """
    if format not in FORMATS:
        raise no_format("--format", format)
    _check_package(format, "--format")


def _check_package(format: str, file: str) -> None:
    if package := FUNCTIONS[format].package:
        extra(package, format, file)


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
    """Targets of the ``@bind`` annotations of some outputs."""
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
    """Check arities, packages and locations of outputs; sources are never overwritten."""
    binds = program.binds if program else ()
    sources = [*((b.predicate, place_of(b, written=False)) for b in binds), *_sources(read or {})]
    for predicate, target in plan:
        check_arity(target.file, predicate, arities.get(predicate), target.format)
        _check_package(target.format, target.file)
        for place in _places(target, predicate, arities.get(predicate, 0)):
            if name := next((name for name, source in sources if place.meets(source)), None):
                file, kind = (target.file, "table") if target.server else (place.file, "file")
                what = f"the output {predicate} is not written over the {kind} that {name} is read from"
                raise ReleaseError(f"{file}: {what}", hint="write to another file")


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
        what = f"{path} cannot be made: {folder} is not open for writing"
        raise ReleaseError(what, hint="choose another folder")


def check_arity(file: str, predicate: str, arity: int | None, format: str) -> None:
    """Check that a format supports the arity of a predicate."""
    least, most = ARITIES.get(format, (0, None))
    if arity is None or (least <= arity and (most is None or arity <= most)):
        return
    hint = "write another format"
    if not arity:
        raise DataError(file, f"{predicate} has no arguments, so it makes no graph", hint=hint)
    places = f"{least} to {most}" if most else f"{least} and more"
    count = f"{arity} argument{'s' * (arity != 1)}"
    raise DataError(file, f"{predicate} has {count}, {format} files have places for {places}", hint=hint)


def _sources(read: Mapping[str, Any]) -> Iterator[tuple[str, Place]]:
    """Files and tables that predicates are read from."""
    for predicate, given in read.items():
        for source in given if isinstance(given, (list, tuple)) else (given,):
            spec = parse_file(source) if isinstance(source, str) else source
            spec = SourceSpec(spec) if isinstance(spec, Path) else spec
            if not isinstance(spec, SourceSpec):
                continue
            if spec.server:
                yield predicate, place_on_server(spec.options, normal(spec.options).get("table"))
            elif spec.kind("csv") == "neo4j":
                parts = sorted(spec.path.iterdir()) if spec.path.is_dir() else parts_of(spec.path)
                yield from ((predicate, Place(part.resolve())) for part in parts)
            elif spec.path.parent.is_file():  # database table written as folder/file
                yield predicate, Place(spec.path.parent.resolve(), spec.path.name)
            else:
                yield predicate, Place(spec.path.resolve(), spec.options.get("table"))


def existing_columns(target: Target, predicate: str) -> tuple[str, ...] | None:
    """Column names of an existing file or table that `target` would replace; `None` if absent or unknown."""
    if not target.server and not (target.path.is_file() and target.path.stat().st_size):
        return None
    if function := FUNCTIONS[target.format].columns:
        columns: tuple[str, ...] | None = function_of(function)(target)
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
    if found is not None and found != names:
        what = f"this {'table' if target.server else 'file'} with columns {', '.join(found)}"
        why = f"is no output {predicate}({', '.join(names)}) of an earlier run, so it is not replaced"
        hint = f'if the rules are to read it, say @input("{predicate}"); if nobody needs it, remove it first'
        raise ReleaseError(f"{target.file}: {what} {why}", hint=hint)


def write_output(facts: Facts, predicate: str, target: Target, names: Sequence[str] | None = None) -> None:
    """Write the facts of a predicate, in their order, with column names that default to ``c1, c2, ...``.

    A file is replaced as a whole; in a database only the table is replaced. A predicate without arguments is written as
    a column ``holds`` with one truth value. A file that cannot be written is a `ReleaseError`; a value that the format
    cannot represent, or a package that is not installed, a `DataError`.
    """
    write_plan(facts, [(predicate, target)], {predicate: names} if names else {})


def write_targets(
    program: CheckedProgram, facts: Facts, read: Mapping[str, Any] | None = None
) -> tuple[tuple[str, Target], ...]:
    """Write every output to the target of its ``@bind``; if one cannot be written, no file is changed.

    Parameters
    ----------
    read
        Sources of the run by predicate, as for `kgreason.reasoning.api.reason`; they are never overwritten.

    Returns
    -------
    tuple
        Predicate and target of each file written.
    """
    check_outputs(program, tuple(facts.tables), read=read)
    plan = bound_targets(program, tuple(facts.tables))
    write_plan(facts, plan, {p: column_names(program, p, t.arity) for p, t in facts.tables.items()})
    return tuple(plan)


def write_facts(
    folder: Path,
    facts: Facts,
    format: str = "csv",
    program: CheckedProgram | None = None,
    read: Mapping[str, Any] | None = None,
) -> tuple[tuple[str, Target], ...]:
    """Write ``<predicate>.<extension>`` for every predicate, as `write_targets`.

    Parameters
    ----------
    program
        Supplies column names; without it they are ``c1, c2, ...``
    """
    plan = [(predicate, Target.within(folder, predicate, format)) for predicate in facts.tables]
    arities = {p: table.arity for p, table in facts.tables.items()}
    check_plan(plan, arities, program, read)
    write_plan(facts, plan, {p: column_names(program, p, n) for p, n in arities.items()} if program else {})
    return tuple(plan)


def write_plan(facts: Facts, plan: Plan, names: Mapping[str, Sequence[str]]) -> None:
    """Write predicates to their targets, as `write_output`; if one cannot be written, none is changed.

    Temporary files are written next to the targets, then database tables, and only then are the targets replaced.
    The column `names` of a predicate default to ``c1, c2, ...``.
    """
    databases: dict[object, Writer] = {}
    with ExitStack() as stack:
        for predicate, target in sorted(plan, key=lambda p: p[1].format in DATABASES):
            table = facts.tables[predicate]
            whole = facts
            columns = tuple(names.get(predicate) or (f"c{i + 1}" for i in range(table.arity)))
            check_arity(str(target.path), predicate, table.arity, target.format)
            if not table.arity and target.format != "rdf":
                holds = np.array([table.length > 0], dtype=np.int64)
                whole = Facts({predicate: Table((Kind.BOOL,), (holds,), 1)}, facts.symbols)
                columns = ("holds",)
            functions = FUNCTIONS[target.format]
            if target.format in DATABASES:
                database = tuple(target.connection.items()) if target.server else target.path.resolve()
                if not target.server:
                    _make_folder(target.path.parent)
                if database not in databases:
                    databases[database] = stack.enter_context(function_of(functions.write)(target))
                databases[database](whole, predicate, columns, target)
                continue
            from kgreason.base.atomic_files import pack, replacing

            writers = {target.path: functions.write}
            if (beside := target.beside(table.arity)) is not None:
                writers[beside] = functions.beside
            for path, writer in writers.items():
                _make_folder(path.parent)
                temporary = stack.enter_context(replacing(path))
                function_of(writer)(temporary, whole, predicate, columns, target)
                pack(temporary, path.name)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder}: cannot be made: {error.strerror or error}"
        raise ReleaseError(what, hint="choose another folder with --out DIR") from error


@record
class Converted:
    """Result of a conversion."""

    # read, written: numbers of rows of the source and of the target; in the target an undirected edge counts twice,
    # equal rows once
    read: int
    written: int
    vertices: int  # number of vertices without edges, which are also written
    names: tuple[str, ...]  # column names


def convert(
    source: SourceSpec,
    target: Target,
    *,
    name: str | None = None,
    force: bool = False,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Converted:
    """Write the rows of a source to another file, with the column types that both formats support.

    Parameters
    ----------
    name
        Predicate, table or relation name for formats that need one; default: derived from the file name.
    force
        Replace an existing file or table.
    allow_files
        Allow views of DuckDB to read files other than their database.

    Raises
    ------
    DataError
        If the source cannot be read, or the target format cannot represent a value.
    ReleaseError
        If the target is the source, exists already, or cannot be written.
    """
    if target.server and not (name or target.table):
        what = "no table to write is named"
        raise DataError(target.file, what, hint="say table= or --name")
    predicate = name or target.table or predicate_of(target.path)
    if not re.fullmatch(r"[a-z][A-Za-z0-9_]*", predicate):
        raise DataError("--name", f"{predicate!r} is no name of a predicate", hint="as in own or heldBy")
    program = load_text(f'@input("{predicate}").', allow_files=allow_files)
    loader = Loader(program, {predicate: [source]}, progress)
    check_plan([(predicate, target)], {}, read={predicate: [source]})
    if not force:
        _check_free(target, predicate)
    loaded = loader.load(predicate)
    if loaded is None or not loaded.kinds:
        what = "the file has neither rows nor names of columns"
        raise DataError(source.file, what, hint="is it the one you mean?")
    isolated = _isolated(source, loaded)
    if isolated and not target.declares:
        what = "1 vertex is" if len(isolated) == 1 else f"{len(isolated):,} vertices are"
        progress.note(
            f"{what} on no edge and left out: {target.format} holds edges only, {', '.join(sorted(DECLARING))} hold "
            "vertices, too"
        )
        isolated = []
    columns = loader.unique(predicate, loaded.joined())
    facts = Facts({predicate: Table(loaded.kinds, columns, len(columns[0]))}, loader.symbols)
    progress.step(f"Writing {target.file if target.server else target.path.name}")
    names = _names(loaded)
    write_output(facts, predicate, replace(target, vertices=isolated), names)
    single = len(loaded.kinds) == 1
    read = sum(len(part.raw.vertices or part.raw if single else part.raw) for part in loaded.parts)
    return Converted(read, facts.count(predicate), len(isolated), names)


def predicate_of(path: Path) -> str:
    """Derive a predicate name from a file name.

    >>> predicate_of(Path("out.own")), predicate_of(Path("Share register.2024.csv"))
    ('own', 'share_register')
    """
    stem = path.name.removeprefix("out.").partition(".")[0]
    bare = re.sub(r"\W", "_", stem, flags=re.ASCII).strip("_")
    return bare[:1].lower() + bare[1:] if bare[:1].isalpha() else f"p{bare and '_'}{bare}"


def _check_free(target: Target, predicate: str) -> None:
    """Check that a conversion replaces no file and no table."""
    if target.format in DATABASES:
        if existing_columns(target, predicate) is not None:
            what = f"the table {target.table or predicate} is there already"
            hint = "--force replaces it"
            raise ReleaseError(f"{target.address if target.server else target.path}: {what}", hint=hint)
        return
    for file in filter(None, (target.path, target.beside(2))):
        if file.exists():
            raise ReleaseError(f"{file}: the file is there already", hint="--force replaces it")


def _isolated(source: SourceSpec, loaded: Loaded) -> list[str]:
    """Vertices without edges that the source declares."""
    if len(loaded.kinds) < 2 or {"prefix", "columns", "table"}.intersection(normal(source.options)):
        return []
    found: list[str] = []
    for part in loaded.parts:
        if part.raw.graph and part.raw.vertices is not None and part.raw.vertices.columns:
            names = keyed(part.raw.vertices).columns[0]
            ends = {name for column in part.raw.columns[:2] for name in column.unique().to_pylist()}
            found += [name for name in names.to_pylist() if name not in ends]
    return found


def _names(loaded: Loaded) -> tuple[str, ...]:
    names: list[str] = []
    for place in range(len(loaded.kinds)):
        name = loaded.names[place] if place < len(loaded.names) else f"c{place + 1}"
        names.append(free(name.lstrip(":") or f"c{place + 1}", names))
    return tuple(names)
