"""Writing facts to files and databases, all or nothing, and conversion between formats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.base.atomic_files import pack, replacing
from kgreason.base.errors import DataError, ReleaseError
from kgreason.base.progress import SILENT, Progress
from kgreason.data.format_list import function_of
from kgreason.data.formats.sql import Writer
from kgreason.data.predicate_rows import keyed
from kgreason.data.program_tables import Loaded, Loader
from kgreason.data.source_options import normal
from kgreason.data.sources import DATABASES, SourceSpec
from kgreason.data.target_checks import (
    Plan,
    bound_targets,
    check_arity,
    check_outputs,
    check_plan,
    existing_columns,
)
from kgreason.data.targets import DECLARING, Target, column_names, free
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text

_FILES = {
    "csv": "delimited.write_delimited",
    "tsv": "delimited.write_delimited",
    "parquet": "parquet.write_parquet",
    "json": "json_rows.write_json",
    "edges": "edge_list.write_edges",
    "konect": "edge_list.write_konect",
    "mtx": "matrix_market.write_mtx",
    "gml": "gml.write_gml",
    "graphml": "graphml.write_graphml",
    "net": "pajek.write_pajek",
    "neo4j": "neo4j.write_neo4j",
    "rdf": "rdf.write_rdf",
    "bods": "bods.write_bods",
}
"""Module and function of each writer; only those in use are imported."""
_SECOND = {
    "konect": "vertex_names.write_labels",
    "mtx": "vertex_names.write_labels",
    "neo4j": "neo4j.write_nodes",
}
"""Writers of the file beside that of the facts."""
_TABLES = {
    "sqlite": "sqlite.write_sqlite",
    "duckdb": "duckdb_files.write_duckdb",
    "postgresql": "postgresql.write_postgresql",
}
"""Connections to databases, of which one writes all the tables of its file or server."""


def write_output(facts: Facts, predicate: str, target: Target, names: Sequence[str] | None = None) -> None:
    """Write the facts of a predicate, in their order.

    A file is replaced as a whole; in a database only the table is replaced. A predicate without arguments is written as
    a column ``holds`` with one truth value.

    Parameters
    ----------
    names
        Column names; default ``c1, c2, ...``

    Raises
    ------
    ReleaseError
        If the file cannot be written.
    DataError
        If the format cannot represent a value, or needs a package that is not installed.
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

    Raises
    ------
    ReleaseError, DataError
        As `write_output`, or if a file would be replaced that is, or may be meant to be, a source.
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
    """Write ``<predicate>.<extension>`` for every predicate; if one cannot be written, no file is changed.

    Parameters
    ----------
    program
        Supplies column names; without it they are ``c1, c2, ...``
    read
        As for `write_targets`.

    Returns
    -------
    tuple
        Predicate and target of each file written.

    Raises
    ------
    ReleaseError, DataError
        As `write_targets`.
    """
    plan = [(predicate, Target.within(folder, predicate, format)) for predicate in facts.tables]
    arities = {p: table.arity for p, table in facts.tables.items()}
    check_plan(plan, arities, program, read)
    write_plan(facts, plan, {p: column_names(program, p, n) for p, n in arities.items()} if program else {})
    return tuple(plan)


def write_plan(facts: Facts, plan: Plan, names: Mapping[str, Sequence[str]]) -> None:
    """Write predicates to their targets; if one cannot be written, none is changed.

    Temporary files are written next to the targets, then database tables, and only then are the targets replaced.

    Parameters
    ----------
    names
        Column names by predicate; default ``c1, c2, ...``

    Raises
    ------
    ReleaseError, DataError
        As `write_output`.
    """
    databases: dict[object, Writer] = {}
    with ExitStack() as stack:
        for predicate, target in sorted(plan, key=lambda p: p[1].format in _TABLES):
            table = facts.tables[predicate]
            whole = facts
            columns = tuple(names.get(predicate) or (f"c{i + 1}" for i in range(table.arity)))
            check_arity(str(target.path), predicate, table.arity, target.format)
            if not table.arity and target.format != "rdf":
                holds = np.array([table.length > 0], dtype=np.int64)
                whole = Facts({predicate: Table((Kind.BOOL,), (holds,), 1)}, facts.symbols)
                columns = ("holds",)
            if not target.server:
                _make_folder(target.path.parent)
            if target.format in _TABLES:
                database = tuple(target.connection.items()) if target.server else target.path.resolve()
                if database not in databases:
                    databases[database] = stack.enter_context(function_of(_TABLES[target.format])(target))
                databases[database](whole, predicate, columns, target)
            else:
                temporary = stack.enter_context(replacing(target.path))
                function_of(_FILES[target.format])(temporary, whole, predicate, columns, target)
                pack(temporary, target.path.name)
                beside = target.beside(table.arity)
                if beside is not None:
                    _make_folder(beside.parent)
                    second = stack.enter_context(replacing(beside))
                    function_of(_SECOND[target.format])(second, whole, predicate, target)
                    pack(second, beside.name)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be made: {error.strerror or error}", hint="choose another place with --out DIR"
        ) from error


@dataclass(frozen=True)
class Converted:
    """Result of a conversion.

    Attributes
    ----------
    read, written
        Numbers of rows of the source and of the target; in the target an undirected edge counts twice, equal rows once.
    vertices
        Number of vertices without edges, which are also written.
    names
        Column names.
    """

    read: int
    written: int
    vertices: int
    names: tuple[str, ...]


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
        raise DataError(
            target.file, "it is not said which table is to be written", hint="say table= or --name"
        )
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
        raise DataError(
            source.file, "the file has neither rows nor names of columns", hint="is it the one you mean?"
        )
    alone = _alone(source, loaded)
    if alone and not target.declares:
        what = "1 vertex is" if len(alone) == 1 else f"{len(alone):,} vertices are"
        progress.note(
            f"{what} on no edge and left out: {target.format} holds edges only, {', '.join(sorted(DECLARING))} hold "
            "vertices, too"
        )
        alone = []
    columns = loader.unique(predicate, loaded.joined())
    facts = Facts({predicate: Table(loaded.kinds, columns, len(columns[0]))}, loader.symbols)
    progress.step(f"Writing {target.file if target.server else target.path.name}")
    names = _names(loaded)
    write_output(facts, predicate, replace(target, vertices=alone), names)
    single = len(loaded.kinds) == 1
    read = sum(len(part.raw.vertices or part.raw if single else part.raw) for part in loaded.parts)
    return Converted(read, facts.count(predicate), len(alone), names)


def predicate_of(path: Path) -> str:
    """Derive a predicate name from a file name.

    Examples
    --------
    >>> predicate_of(Path("out.own")), predicate_of(Path("Share register.2024.csv"))
    ('own', 'share_register')
    """
    stem = path.name.removeprefix("out.").partition(".")[0]
    bare = re.sub(r"\W", "_", stem, flags=re.ASCII).strip("_")
    return bare[:1].lower() + bare[1:] if bare[:1].isalpha() else f"p{bare and '_'}{bare}"


def _check_free(target: Target, predicate: str) -> None:
    there = target.path
    if target.format in DATABASES:
        if existing_columns(target, predicate) is None:
            return
        what = f"the table {target.table or predicate} is there already"
    else:
        besides = target.beside(2)
        there = next((file for file in (target.path, besides) if file is not None and file.exists()), Path())
        if not there.name:
            return
        what = "the file is there already"
    raise ReleaseError(f"{target.address if target.server else there}: {what}", hint="--force replaces it")


def _alone(source: SourceSpec, loaded: Loaded) -> list[str]:
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
