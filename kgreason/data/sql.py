"""What databases have in common: which file and table, what to say if they are not there, and all writes or none."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from kgreason.data.raw import no_file
from kgreason.data.whole_files import replacing
from kgreason.errors import DataError, ReleaseError
from kgreason.lang.names import SERVERS, suggest

Writer = Callable[[Any, str, Sequence[str], Any], None]
"""Replaces one table by the facts of a predicate, with these names of columns."""

ONLY_READS = "it does not read rows and nothing else; write one SELECT"


def located(path: Path, table: str | None) -> tuple[Path, str | None]:
    """Tell the database file and the table.

    The table is what the option says, else the last part of a path that leads into an existing file; where the option
    names a file of a folder, as ``@bind("p", "sqlite", "data", "own.db")`` does, that is the database.

    Raises
    ------
    DataError
        If there is no such file.
    """
    if path.is_file():
        return path, table
    if path.parent.is_file():
        return path.parent, table or path.name
    if table and (path / table).is_file():
        return path / table, None
    missing = path if table or path.suffix or path.is_dir() else path.parent
    raise no_file(missing)


def only(file: Path | str, tables: Sequence[str]) -> str:
    """Take the table of a database that has only one.

    Raises
    ------
    DataError
        If it has another number of them.
    """
    if len(tables) == 1:
        return tables[0]
    raise DataError(
        str(file),
        f"the database has {len(tables)} tables, and none is named",
        hint=f"say table=, one of {_listed(tables)}" if tables else None,
    )


def no_table(file: Path | str, table: str, tables: Sequence[str]) -> DataError:
    """Build the error for a table that is not there."""
    near = suggest(table, tables)
    means = f"did you mean {near!r}? " if near else ""
    return DataError(
        str(file),
        f"there is no table {table!r}",
        hint=f"{means}{f'the tables are {_listed(tables)}' if tables else 'the database has no tables'}",
    )


def refused(place: Path | str, query: str, reason: str, tables: Sequence[str]) -> DataError:
    """Build the error for a query that does not run; `place` is where the query is written, or its database."""
    words = " ".join(query.split())
    shown = words if len(words) <= 100 else words[:97] + "..."
    there = f"the tables are {_listed(tables)}" if tables else None
    return DataError(str(place), f"the query `{shown}` fails: {reason}", hint=there)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:20]) + (", ..." if len(names) > 20 else "")


def quoted(name: str) -> str:
    """A name as SQL writes it.

    Examples
    --------
    >>> quoted('a "b')
    '"a ""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def extra(package: str, name: str, file: Path | str) -> ModuleType:
    """Import a package that is an optional extra.

    Raises
    ------
    DataError
        If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:  # the package is not there, or a library of the system that it needs
        what = "servers" if name in SERVERS else "files"
        raise DataError(
            str(file),
            f"{name} {what} need the package {package}, which is not installed",
            hint=f"pip install '.[{name}]' in a checkout of kgreason",
        ) from None


@contextmanager
def database_file(path: Path) -> Iterator[Path]:
    """The database that is there or, for one that is not, a temporary file that becomes it in the end."""
    if path.exists():
        log = path.with_name(f"{path.name}.wal")
        clean = not log.exists()
        try:
            yield path
        except BaseException:
            if clean:  # what DuckDB wrote there is of the transaction that failed
                log.unlink(missing_ok=True)
            raise
    else:
        with replacing(path) as temporary:
            yield temporary


@contextmanager
def writing(path: Path, errors: type[Exception], table: str = "") -> Iterator[None]:
    """Say what the database says, in the terms of the user."""
    try:
        yield
    except errors as error:
        reason = str(error).splitlines()[0]
        what = f"the table {table} cannot be written" if table else "cannot be written"
        full = any(words in reason for words in ("No space left", "is full", "File too large"))
        hint = "is another program using the database, or is it read-only? choose another place"
        if full:
            reason, hint = "no space left on device", f"choose another place, or make room in {path.parent}"
        raise ReleaseError(f"{path}: {what}: {reason}", hint=hint) from error
