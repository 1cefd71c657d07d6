"""Common functions of database formats: file and table resolution, error messages, and transactional writes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from kgreason.base.errors import DataError, ReleaseError
from kgreason.data.raw_table import no_file
from kgreason.language.vocabulary import SERVERS, suggest

Writer = Callable[[Any, str, Sequence[str], Any], None]
"""Replaces one table by the facts of a predicate, with these names of columns."""

ONLY_READS = "it does not read rows and nothing else; write one SELECT"


def located(path: Path, table: str | None) -> tuple[Path, str | None]:
    """Resolve a path and option to the database file and the table.

    The table is the option, else the last component of a path below an existing file; if the path is a folder and the
    option a file in it, as for ``@bind("p", "sqlite", "data", "own.db")``, that file is the database.
    """
    if path.is_file():
        return path, table
    if path.parent.is_file():
        return path.parent, table or path.name
    if table and (path / table).is_file():
        return path / table, None
    missing = path if table or path.suffix or path.is_dir() else path.parent
    raise no_file(missing)


def resolved(file: str, table: str | None, tables: Mapping[str, str], hint: str | None = None) -> str:
    """Resolve a table name; case is ignored if the match is unique.

    `tables` are the table names by all accepted spellings; `hint` is for a database without tables.
    """
    known = sorted({*tables.values()})
    if not table:
        if len(known) == 1:
            return known[0]
        what = f"the database has {len(known)} tables, and none is named"
        raise DataError(file, what, hint=f"say table=, one of {_listed(known)}" if known else hint)
    if table in tables:
        return tables[table]
    near = {name for called, name in tables.items() if called.lower() == table.lower()}
    if len(near) == 1:
        return near.pop()
    like = suggest(table, known)
    means = f"did you mean {like!r}? " if like else ""
    there = f"the tables are {_listed(known)}" if known else "the database has no tables"
    raise DataError(file, f"there is no table {table!r}", hint=means + there)


def refused(location: str, query: str, reason: str, tables: Collection[str] = ()) -> DataError:
    """Error for a query that fails; `location` is that of the query, or its database."""
    words = " ".join(query.split())
    shown = words if len(words) <= 100 else words[:97] + "..."
    there = f"the tables are {_listed(tables)}" if tables else None
    return DataError(location, f"the query `{shown}` fails: {reason}", hint=there)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)[:20]) + (", ..." if len(names) > 20 else "")


def quoted(name: str) -> str:
    """Quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def dotted(name: str, schema: str | None = None) -> str:
    """Quoted SQL name of a table, qualified by its schema if it has one.

    >>> dotted("register.own"), dotted('o"n', "register")
    ('"register"."own"', '"register"."o""n"')
    """
    return ".".join(map(quoted, (schema, name) if schema else name.split(".", 1)))


def extra(package: str, name: str, file: Path | str) -> ModuleType:
    """Import an optional package."""
    try:
        return importlib.import_module(package)
    except ImportError:  # the package, or a system library that it needs, is missing
        kinds = "servers" if name in SERVERS else "files"
        what = f"{name} {kinds} need the package {package}, which is not installed"
        raise DataError(str(file), what, hint=f"pip install '.[{name}]' in a checkout of kgreason") from None


@contextmanager
def replacing_tables(
    path: Path,
    errors: type[Exception],
    connect: Callable[[Path], Any],
    replace: Callable[[Any, str, Any, str, Sequence[str]], None],
) -> Iterator[Writer]:
    """Replace tables of a database file: all if the block succeeds, else none.

    `connect` opens a file without a transaction; `replace` is called with a connection, a quoted table name, facts, a
    predicate and column names; `errors` are the exceptions of the database, converted to `ReleaseError`.
    """
    with _file(path) as file, _writing(path, errors), closing(connect(file)) as connection:
        connection.execute("BEGIN")

        def write(facts: Any, predicate: str, names: Sequence[str], target: Any) -> None:
            name = quoted(target.table or predicate)
            with _writing(path, errors, name):
                replace(connection, name, facts, predicate, names)

        yield write
        connection.execute("COMMIT")


@contextmanager
def _file(path: Path) -> Iterator[Path]:
    """The existing database or, for a new one, a temporary file that is renamed at the end."""
    if not path.exists():
        from kgreason.base.atomic_files import replacing

        with replacing(path) as temporary:
            yield temporary
        return
    log = path.with_name(f"{path.name}.wal")
    clean = not log.exists()
    try:
        yield path
    except BaseException:
        if clean:  # DuckDB leaves files of the failed transaction
            log.unlink(missing_ok=True)
        raise


@contextmanager
def _writing(path: Path, errors: type[Exception], table: str = "") -> Iterator[None]:
    try:
        yield
    except errors as error:
        reason = str(error).splitlines()[0]
        what = f"the table {table} cannot be written" if table else "cannot be written"
        hint = "is another program using the database, or is it read-only? choose another folder"
        if any(words in reason for words in ("No space left", "is full", "File too large")):
            reason, hint = "no space left on device", f"choose another folder, or free space in {path.parent}"
        raise ReleaseError(f"{path}: {what}: {reason}", hint=hint) from error
