"""Facts to files, all or none of them, each in the format that its target says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.data.formats import function_of
from kgreason.data.sql import Writer
from kgreason.data.target import Target, column_names
from kgreason.data.target_checks import Plan, bound_targets, check_arity, check_outputs, check_plan
from kgreason.engine.table import Facts, Kind, Table
from kgreason.errors import ReleaseError
from kgreason.exchange import pack, replacing

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

    A file is replaced whole; of a database only the table is. A predicate without arguments is a table of one
    truth value, ``holds``.

    Parameters
    ----------
    names
        Of the columns; default ``c1, c2, ...``

    Raises
    ------
    ReleaseError
        If the file cannot be written.
    DataError
        If the format has no place for a value, or needs a package that is not installed.
    """
    write_plan(facts, [(predicate, target)], {predicate: names} if names else {})


def write_targets(
    program: CheckedProgram, facts: Facts, read: Mapping[str, Any] | None = None
) -> tuple[tuple[str, Target], ...]:
    """Write every output that has a ``@bind`` to where it says; if one cannot be written, no file is changed.

    Parameters
    ----------
    read
        Sources of the run by predicate, as for `kgreason.api.reason`: none of them is written over.

    Returns
    -------
    tuple
        Predicate and target of each file written.

    Raises
    ------
    ReleaseError, DataError
        As `write_output`, or if a file would be replaced that is or may be meant to be read.
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
        Names the columns; without it they are ``c1, c2, ...``
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
    """Write predicates to their targets, all of them or, if one cannot be written, none.

    Files are written beside their places, then the tables of databases; only then is anything what it was not.

    Parameters
    ----------
    names
        Of the columns by predicate; default ``c1, c2, ...``

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
