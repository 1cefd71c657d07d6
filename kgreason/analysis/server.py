"""Database servers: how a connection is described, and what of that names the place where a table stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

OPTIONS = (
    *("host", "port", "database", "user", "service", "sslmode"),
    *("sslrootcert", "sslcert", "sslkey", "connect_timeout"),
)
"""Options of a connection; what is not given is as libpq has it (``PGHOST``, ``~/.pg_service.conf`` ...)."""
SYNONYMS = {"dbname": "database", "username": "user"}
SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

_LOCAL = frozenset({"", "localhost", "127.0.0.1", "::1"})
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "database": "PGDATABASE",
    "user": "PGUSER",
    "service": "PGSERVICE",
}


def connection(options: Mapping[str, str]) -> dict[str, str]:
    """Options of the connection among those of a source, by their names here.

    Examples
    --------
    >>> connection({"Host": "db1", "dbname": "register", "percent": "true"})
    {'host': 'db1', 'database': 'register'}
    """
    named = {SYNONYMS.get(name.lower(), name.lower()): value for name, value in options.items()}
    return {name: named[name] for name in OPTIONS if named.get(name)}


def address(options: Mapping[str, str]) -> str:
    """Where a server is, as messages say it: without user and password.

    Examples
    --------
    >>> address({"host": "db1", "port": "5433", "database": "register", "user": "reader"})
    'postgresql://db1:5433/register'
    >>> address({"service": "bank"}), address({"host": "/run/postgresql"})
    ('postgresql://?service=bank', 'postgresql:///?host=/run/postgresql')
    """
    given = connection(options)
    host, database = given.get("host", ""), given.get("database", "")
    socket = host.startswith("/")
    port = f":{given['port']}" if "port" in given else ""
    shown = f"[{host}]" if ":" in host else "" if socket else host
    path = f"/{database}" if database or socket else ""
    if socket:
        return f"postgresql://{port}{path}?host={host}"
    service = f"?service={given['service']}" if "service" in given else ""
    return f"postgresql://{shown}{port}{path}{service}"


def place(options: Mapping[str, str]) -> Path:
    """What tells one database from another before anyone connects: the names of this machine are one.

    Examples
    --------
    >>> one = place({"host": "localhost", "port": "5432", "database": "register"})
    >>> one == place({"host": "127.0.0.1", "dbname": "register", "port": "5432", "user": "reader"})
    True
    """
    said = {name: os.environ.get(variable, "") for name, variable in _VARIABLES.items()}
    given = {**said, **connection(options)}
    host, user = given["host"], given["user"]
    local = host in _LOCAL or host.startswith("/")
    port = given["port"] or "5432"
    return Path(
        "postgresql:",
        given["service"],
        f"{'localhost' if local else host.lower()}:{port}",
        given["database"] or user,
    )


def table_of(options: Mapping[str, str], table: str) -> str:
    """Name of a table with that of its schema, where it has one.

    Examples
    --------
    >>> table_of({"schema": "register"}, "own"), table_of({}, "own")
    ('register.own', 'own')
    """
    schema = next((value for name, value in options.items() if name.lower() == "schema"), "")
    return f"{schema}.{table}" if schema and table else table
