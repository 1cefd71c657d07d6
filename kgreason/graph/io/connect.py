"""Connections to PostgreSQL, and what to do when there is none; no password is ever seen here."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

from kgreason.analysis.server import address
from kgreason.errors import DataError
from kgreason.graph.io.sql import extra
from kgreason.passwords import hidden

_NAMES = {"database": "dbname"}
_PORT = 5432
_SECONDS = "10"  # to wait for a server that does not answer
_SECONDS_TO_CANCEL = 0.3
_PASSWORD = (
    "the password comes from the environment variable PGPASSWORD, else from a line host:port:database:user:password "
    "in ~/.pgpass (chmod 600; PGPASSFILE names another file)"
)
_GONE = "the server ended it: nothing was read or written by halves, so run it again, or see its log"
_HINTS = (
    ("closed the connection", _GONE),
    ("terminating connection", _GONE),
    ("no password supplied", _PASSWORD),
    ("password authentication failed", f"is it that of this user? {_PASSWORD}"),
    ("connection refused", "is the server running there? host= and port= say where, else PGHOST and PGPORT"),
    ("no such file or directory", "is the server running? host= and port= say where, else PGHOST and PGPORT"),
    ("could not translate host name", "look at host= (or PGHOST)"),
    ("resolve host", "look at host= (or PGHOST)"),
    ("timeout expired", "does the server answer at all? look at host= and port=, and for a firewall between"),
    ("no pg_hba.conf entry", "the server lets this user in from elsewhere, or with sslmode=require only"),
    ("ssl", "look at sslmode= and sslrootcert="),
    ("definition of service", "look at service= and at ~/.pg_service.conf (PGSERVICEFILE)"),
)
_STATES = {
    "28P01": f"is it that of this user? {_PASSWORD}",
    "28000": "does this user exist? user= names another",
    "3D000": "look at database=; psql -l lists the databases",
    "42501": "ask the owner for the right, as in GRANT SELECT ON TABLE own TO reader",
    "25006": "the server is a copy that only reads, or the database is set so",
    "53300": "too many are connected: try again later",
    "57014": "the server ends long statements: ask for a higher statement_timeout",
    "2BP01": "something depends on the table, a view for instance: write to another table, or drop that first",
    "53100": "make room on the server",
}
_STARTS = re.compile(
    r"^(connection failed: |connection is bad: )?(connection to server .*? failed: (FATAL: +)?)?"
)


@contextmanager
def connected(options: Mapping[str, str], where: str) -> Iterator[Any]:
    """A connection to the server of these options; what they leave out is as libpq has it.

    Parameters
    ----------
    where
        The address, as messages show it.

    Raises
    ------
    DataError
        If there is none; the hint says what to look at.
    """
    psycopg = extra("psycopg", "postgresql", where)
    given = {_NAMES.get(name, name): value for name, value in options.items()}
    if "PGCONNECT_TIMEOUT" not in os.environ and "service" not in given:
        given.setdefault("connect_timeout", _SECONDS)
    try:
        connection = psycopg.connect(**given, client_encoding="UTF8", application_name="kgreason")
    except psycopg.Error as error:
        reason, _, _, hint = cause(error)
        raise DataError(where, f"no connection: {reason}", hint=hint) from None
    with closing(connection):
        yield connection


def give_up(connection: Any) -> None:
    """Have a server end what it does for a connection, and wait for its answer no longer; from another thread."""
    import psycopg

    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=_SECONDS_TO_CANCEL)
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)  # a server that hangs does not even heed that it is to end


def found_at(connection: Any, options: Mapping[str, str]) -> str:
    """Address of a server, with what libpq found out of itself."""
    info = connection.info
    port = {} if info.port == _PORT else {"port": str(info.port)}
    return address({**port, **options, "host": info.host, "database": info.dbname, "service": ""})


def cause(error: Exception) -> tuple[str, None, None, str | None]:
    """What the server or libpq says, in one line, and what to do; as `DataError` takes it behind the file."""
    diag = getattr(error, "diag", None)
    primary = getattr(diag, "message_primary", None)
    lines = [line.strip() for line in hidden(str(error)).splitlines() if line.strip()]
    telling = [line for line in lines if "failed:" in line or "FATAL" in line]
    said = hidden(primary or _STARTS.sub("", (telling or lines or [type(error).__name__])[-1]))
    state = getattr(error, "sqlstate", None)
    hint = _STATES.get(state or "") or next((h for words, h in _HINTS if words in said.lower()), None)
    if hint is None and "does not exist" in said:
        hint = _STATES["3D000"] if "database" in said else _STATES["28000"]
    detail = getattr(diag, "message_detail", None)
    return said + (f" ({hidden(detail)})" if detail else ""), None, None, hint
