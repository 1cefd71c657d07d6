"""Facts to files: each of them whole, in the format that its target says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.engine.table import Facts, Kind, Table
from kgreason.errors import ReleaseError
from kgreason.output.databases import write_duckdb, write_sqlite
from kgreason.output.graphs import write_graphml
from kgreason.output.names import column_names
from kgreason.output.place import replacing
from kgreason.output.tables import write_delimited, write_json, write_parquet
from kgreason.output.target import Target
from kgreason.output.triples import write_rdf

_FILES: dict[str, Callable[[Path, Facts, str, Sequence[str], Target], None]] = {
    "csv": write_delimited,
    "tsv": write_delimited,
    "parquet": write_parquet,
    "json": write_json,
    "graphml": write_graphml,
    "rdf": write_rdf,
}
_TABLES: dict[str, Callable[[Facts, str, Sequence[str], Target], None]] = {
    "sqlite": write_sqlite,
    "duckdb": write_duckdb,
}


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
    table = facts.tables[predicate]
    names = tuple(names or (f"c{i + 1}" for i in range(table.arity)))
    if not table.arity and target.format not in ("graphml", "rdf"):
        holds = Table((Kind.BOOL,), (np.array([table.length > 0], dtype=np.int64),), 1)
        facts, names = Facts({predicate: holds}, facts.symbols), ("holds",)
    try:
        target.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"{target.path.parent}: cannot be made: {error.strerror or error}") from error
    if target.format in _TABLES:
        _TABLES[target.format](facts, predicate, names, target)
        return
    with replacing(target.path) as temporary:
        _FILES[target.format](temporary, facts, predicate, names, target)


def write_targets(program: CheckedProgram, facts: Facts) -> tuple[tuple[str, Target], ...]:
    """Write every output that has a ``@bind`` to where it says.

    Returns
    -------
    tuple
        Predicate and target of each file written.

    Raises
    ------
    ReleaseError, DataError
        As `write_output`.
    """
    targets = [
        (bind.predicate, Target.of(bind)) for bind in program.targets if bind.predicate in facts.tables
    ]
    for predicate, target in targets:
        names = column_names(program, predicate, facts.tables[predicate].arity)
        write_output(facts, predicate, target, names)
    return tuple(targets)


def write_facts(
    folder: Path, facts: Facts, format: str = "csv", program: CheckedProgram | None = None
) -> tuple[tuple[str, Target], ...]:
    """Write ``<predicate>.<extension>`` for every predicate; files are replaced one by one, each of them whole.

    Parameters
    ----------
    program
        Names the columns; without it they are ``c1, c2, ...``

    Returns
    -------
    tuple
        Predicate and target of each file written.

    Raises
    ------
    ReleaseError, DataError
        As `write_output`.
    """
    targets = [(predicate, Target.within(folder, predicate, format)) for predicate in facts.tables]
    for predicate, target in targets:
        arity = facts.tables[predicate].arity
        names = None if program is None else column_names(program, predicate, arity)
        write_output(facts, predicate, target, names)
    return tuple(targets)
