"""What is wrong with the options and queries of ``@bind`` and ``@qbind``, told without opening a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from kgreason.analysis.check import Examined, examine_file
from kgreason.analysis.checked import CheckedProgram
from kgreason.data.duckdb_files import check_duckdb
from kgreason.data.postgresql import one_select
from kgreason.data.sqlite import check_sqlite
from kgreason.errors import DataError, Diagnostic, Span
from kgreason.graph.io.formats import understood
from kgreason.graph.io.loader import bound, queried
from kgreason.graph.io.source import SourceSpec
from kgreason.output.target import Target

_QUERIES: dict[str, Callable[[str, str], object]] = {"sqlite": check_sqlite, "postgresql": one_select}


def examine_whole(path: str | Path, *, allow_files: bool = False) -> Examined:
    """Read and check a rule file as `kgreason.analysis.check.examine_file` does, and what it says of its files."""
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
    check = (
        partial(check_duckdb, allow_files=allow_files)
        if source.kind() == "duckdb"
        else _QUERIES[source.kind()]
    )
    check(source.query or "", source.place)
