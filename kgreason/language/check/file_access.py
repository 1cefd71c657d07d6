"""File access of annotations: only files in the folder of the rule file, unless the user allows more.

Also descriptions of connections to database servers, and which of their options identify a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kgreason.base.errors import Findings, Span
from kgreason.base.resources import resource
from kgreason.language.check.checked_program import Bind, Query
from kgreason.language.vocabulary import DATABASES, EXTENSIONS, SERVERS

ALLOW = "if you trust who wrote this, say --allow-files (in Python allow_files=True)"
_READ = (
    "a rule file reads what lies in its own folder or, if that lies in the working directory, there; nothing whose "
    "name begins with a dot"
)


class Reach(NamedTuple):
    """Files that the annotations of a rule file, and of those it includes, may name.

    The `folder` is that of the rule file, or the working directory for rules given as text. If `allowed`, the rules may
    name any file and any server.
    """

    folder: Path
    allowed: bool = False

    def check_include(self, path: Path, span: Span, findings: Findings) -> bool:
        """Whether a rule file may be included; reports a finding if not."""
        if self.allowed or _inside(path, (self.folder, resource("rules", "control.vada").parent)):
            return True
        findings.add(
            "E209",
            f"@include: {_where(path)}",
            span,
            note="a rule file includes files of its own folder, of folders within that, and of the rule library",
            hint=ALLOW,
        )
        return False

    def check_source(self, source: Bind | Query, findings: Findings) -> None:
        """Report a ``@bind`` or ``@qbind`` that reads what the rule file may not read."""
        if self._needs_no_check(source, findings):
            return
        for path in _files(source):
            if not self.reads(path):
                what = "@bind" if isinstance(source, Bind) else "@qbind"
                hint = f"{ALLOW}, or name the table yourself: --data {source.predicate}=FILE"
                findings.add("E209", f"{what}: {_where(path)}", source.span, note=_READ, hint=hint)
                return

    def check_target(self, bind: Bind, findings: Findings) -> None:
        """Report the ``@bind`` of an output whose target the rule file may not write."""
        if self._needs_no_check(bind, findings):
            return
        for path in _files(bind):
            if not _inside(path, (self.folder,)):
                message = _where(path)
            elif not path.is_dir() and not is_data(path):
                message = f"{path}: the name is not that of a data file"
            else:
                continue
            findings.add(
                "E210",
                f"@bind of the output `{bind.predicate}`: {message}",
                bind.span,
                note="a rule file writes data files (.csv, .parquet, .json ...) in its own folder and in folders "
                "within that; none whose name begins with a dot",
                hint=f"{ALLOW}, or choose the place yourself: --out DIR",
            )
            return

    def reads(self, path: Path) -> bool:
        """Whether a rule file may read a file without further permission."""
        return _inside(path, (self.folder, *self._working()))

    def _working(self) -> tuple[Path, ...]:
        """The working directory if it contains the rule file, but not the home folder with its unrelated files."""
        here = Path.cwd()
        try:
            home = Path.home().resolve()
        except RuntimeError:  # user without a home folder
            home = Path()
        return (here,) if self.folder.resolve().is_relative_to(here) and not home.is_relative_to(here) else ()

    def _needs_no_check(self, source: Bind | Query, findings: Findings) -> bool:
        """Whether files need no check; reports a server that may not be reached."""
        if self.allowed or source.source not in SERVERS:
            return self.allowed
        table = f"--data {source.predicate}=postgresql://USER@HOST/DATABASE?table=NAME"
        written = "" if isinstance(source, Query) else f", or for tables that are read: {table}"
        findings.add(
            "E211",
            f"the rules name a server: {source.path}",
            source.span,
            note="the author of the rules would use the server with your rights, and could have your password sent "
            "to a server of theirs",
            hint=ALLOW + written,
        )
        return True


def files_of(
    path: Path, format: str, options: Mapping[str, str], tables: Iterable[str] = ()
) -> Iterator[Path]:
    """Files, or folders of files, that a source or a target may open.

    The names of the `options` are in any case; `tables` are those of a database, or names of files in a folder.
    """
    named = {name.lower(): value for name, value in options.items()}
    if format == "neo4j":
        for part in parts_of(path):
            yield part
            with suppress(OSError):  # a file, or an unreadable folder, which is reported on reading
                yield from part.iterdir()
        return
    yield path
    if "labels" in named:
        yield path.parent / named["labels"]
    if format in DATABASES and path.is_dir():
        yield from (path / table for table in (*tables, named.get("table")) if table)


def parts_of(path: Path) -> tuple[Path, ...]:
    """Files of a comma-separated path; relative to the working directory, else to the folder of the first file."""
    if path.exists() or "," not in str(path):
        return (path,)
    first, *others = (Path(part.strip()) for part in str(path).split(","))
    return (first, *(other if other.exists() else first.parent / other for other in others))


def _files(source: Bind | Query) -> Iterator[Path]:
    path = Path(source.path) if source.path else Path(source.span.file).parent
    return files_of(path, source.source, source.options, [source.table] if isinstance(source, Bind) else ())


def _inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a path, with symbolic links resolved, is inside one of some folders and below no hidden folder."""
    try:
        found = path.resolve()
    except (OSError, RuntimeError, ValueError):  # cyclic links or an invalid file name: reported on reading
        return True
    folders = [root.resolve() for root in roots]
    within = [found.relative_to(folder).parts for folder in folders if found.is_relative_to(folder)]
    return any(not any(part.startswith(".") for part in parts) for parts in within)


def is_data(path: Path) -> bool:
    """Whether a file is a table or graph by its name."""
    name = path.name.lower().removesuffix(".gz")
    return name.startswith("out.") or name.rpartition(".")[2] in EXTENSIONS


def _where(path: Path) -> str:
    found = path.resolve()
    plain = Path.cwd() / path
    linked = any(p.is_symlink() for p in (plain, *plain.parents))
    return f"{path}{f' leads to {found}, which' if linked else ''} is outside of what the rules may reach"


OPTIONS = (
    *("host", "port", "database", "user", "service", "sslmode"),
    *("sslrootcert", "sslcert", "sslkey", "connect_timeout"),
)
"""Options of a connection; what is not given is as libpq has it (``PGHOST``, ``~/.pg_service.conf`` ...)."""
SYNONYMS = {"dbname": "database", "username": "user"}
SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

_LOCAL = frozenset({"", "localhost", "127.0.0.1", "::1"})
_IDENTIFYING = ("host", "port", "database", "user", "service")  # ``PGHOST``, ``PGPORT``, ...


def connection(options: Mapping[str, str]) -> dict[str, str]:
    """Connection options of a source, with normalized names: ``dbname`` is ``database``."""
    named = {SYNONYMS.get(name.lower(), name.lower()): value for name, value in options.items()}
    return {name: named[name] for name in OPTIONS if named.get(name)}


def address(options: Mapping[str, str]) -> str:
    """Address of a server for messages, without user and password.

    Examples
    --------
    >>> address({"host": "db1", "port": "5433", "database": "register", "user": "reader"})
    'postgresql://db1:5433/register'
    >>> address({"service": "bank"}), address({"host": "/run/postgresql"})
    ('postgresql://?service=bank', 'postgresql:///?host=/run/postgresql')
    """
    named = connection(options)
    host, database = named.get("host", ""), named.get("database", "")
    port = f":{named['port']}" if "port" in named else ""
    if host.startswith("/"):  # a socket
        return f"postgresql://{port}/{database}?host={host}"
    shown = f"[{host}]" if ":" in host else host
    service = f"?service={named['service']}" if "service" in named else ""
    return f"postgresql://{shown}{port}{f'/{database}' if database else ''}{service}"


def database_identity(options: Mapping[str, str]) -> Path:
    """Identity of a database before connecting; all names of the local host are the same.

    Examples
    --------
    >>> one = database_identity({"host": "localhost", "port": "5432", "database": "register"})
    >>> one == database_identity({"host": "127.0.0.1", "dbname": "register", "port": "5432", "user": "reader"})
    True
    """
    environment = {name: os.environ.get(f"PG{name.upper()}", "") for name in _IDENTIFYING}
    found = {**environment, **connection(options)}
    host = found["host"]
    local = host in _LOCAL or host.startswith("/")
    server = f"{'localhost' if local else host.lower()}:{found['port'] or '5432'}"
    return Path("postgresql:", found["service"], server, found["database"] or found["user"])


def table_of(options: Mapping[str, str], table: str) -> str:
    """Name of a table, qualified by its schema if there is one."""
    schema = next((value for name, value in options.items() if name.lower() == "schema"), "")
    return f"{schema}.{table}" if schema and table else table


class Place(NamedTuple):
    """A file, or a table of a database; `table` is `None` if only the file is known.

    A table on a server may be named with or without its schema; without, it matches any table of this name.

    Examples
    --------
    >>> Place(Path("a.db"), "t").meets(Place(Path("a.db"))), Place(Path("a.db"), "t").meets(Place(Path("a.db"), "s"))
    (True, False)
    >>> Place(Path("db"), "public.t", server=True).meets(Place(Path("db"), "t", server=True))
    True
    """

    file: Path
    table: str | None = None
    server: bool = False

    def meets(self, other: Place) -> bool:
        """Whether both can be the same file or table."""
        if self.file != other.file:
            return False
        if self.table is None or other.table is None:
            return True
        one, two = self.table.lower(), other.table.lower()
        if self.server and ("." in one) != ("." in two):
            one, two = one.rpartition(".")[2], two.rpartition(".")[2]
        return one == two


def place_of(bind: Bind, *, written: bool) -> Place:
    """Place of a bind."""
    path = Path(bind.path)
    if bind.source not in DATABASES:
        return Place(path.resolve())
    table = next((v for name, v in bind.options.items() if name.lower() == "table"), None)
    if bind.source in SERVERS:
        return place_on_server(bind.options, table or bind.table)
    if path.is_dir():  # folder and file, as for other sources
        return Place((path / bind.table).resolve(), table or (bind.predicate if written else None))
    return Place(path.resolve(), table or bind.table)


def place_on_server(options: Mapping[str, str], table: str | None) -> Place:
    """Place of a table on a database server."""
    return Place(database_identity(options), table_of(options, table) if table else None, server=True)
