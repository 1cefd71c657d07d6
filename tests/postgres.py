"""A PostgreSQL server of its own for the tests: a fresh cluster in a temporary folder, with passwords."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.needs import needs_postgresql

WAIT = 60.0  # seconds for a server to begin or to end
TRIES = 3  # ports, for another program may take one before the server does


@dataclass(frozen=True)
class Server:
    """Where the server listens, and who may come in.

    Attributes
    ----------
    host, port
        On the loopback device; besides, there is a Unix socket in `folder`.
    user
        Superuser.
    password
        Of `user`; an odd word that no test writes otherwise, so that a leak is found.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    folder: Path

    @property
    def address(self) -> str:
        """The start of a URI without a password; the name of a database follows."""
        return f"postgresql://{self.user}@{self.host}:{self.port}"

    def environment(self) -> Mapping[str, str]:
        """Variables that let libpq in."""
        return {"PGPASSWORD": self.password}

    def connect(self, database: str = "postgres") -> Any:
        """A connection that commits each statement."""
        import psycopg

        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )

    @contextmanager
    def database(self) -> Iterator[str]:
        """An empty database for one test."""
        name = f"register_{secrets.token_hex(4)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield name
        finally:
            with self.connect() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running() -> Iterator[Server]:
    """Start a server and stop it at the end; the test is skipped where there is none to start."""
    programs = needs_postgresql()
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="kgpg"))  # short: the path of a socket has 107 characters at most
    try:
        password = f"canary-{secrets.token_hex(12)}"
        _initialize(programs, folder, owner, password)
        with _started(programs, folder, owner, password) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner() -> str | None:
    """Tell as whom the server runs: it refuses to be root."""
    if os.geteuid() != 0:
        return None
    import pwd  # not on Windows

    users = {user.pw_name for user in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in users)


def _initialize(programs: Path, folder: Path, owner: str | None, password: str) -> None:
    secret = folder / "password"
    secret.write_text(password, encoding="utf-8")
    if owner is not None:
        shutil.chown(folder, owner)
        shutil.chown(secret, owner)
    command = [
        *(str(programs / "initdb"), "-D", str(folder / "data"), "-U", "steward", f"--pwfile={secret}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **_as(owner))
    assert done.returncode == 0, done.stderr
    secret.unlink()


@contextmanager
def _started(programs: Path, folder: Path, owner: str | None, password: str) -> Iterator[Server]:
    for left in reversed(range(TRIES)):
        server = Server("127.0.0.1", _free_port(), "steward", password, folder)
        process = _launch(programs, server, owner)
        try:
            if _ready(server, process):
                yield server
                return
        finally:
            _stop(process)
        assert left, (folder / "log").read_text(encoding="utf-8")


def _launch(programs: Path, server: Server, owner: str | None) -> subprocess.Popen[bytes]:
    command = [
        *(str(programs / "postgres"), "-D", str(server.folder / "data"), "-k", str(server.folder)),
        *("-h", server.host, "-p", str(server.port), "-c", "fsync=off", "-c", "max_connections=20"),
        *("-c", "shared_buffers=32MB", "-c", "timezone=UTC"),
    ]
    with (server.folder / "log").open("wb") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=server.folder, **_as(owner)
        )


def _ready(server: Server, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server lets in; `False` if it has ended."""
    import psycopg

    end = time.monotonic() + WAIT
    while process.poll() is None and time.monotonic() < end:
        try:
            server.connect().close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return True
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)  # fast shutdown: connections are cut
    try:
        process.wait(WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _as(owner: str | None) -> dict[str, Any]:
    """Arguments of `subprocess` that make the program another user's."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["LC_ALL"] = "C"
    if owner is None:
        return {"env": environment}
    import pwd

    return {"env": environment, "user": owner, "group": pwd.getpwnam(owner).pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])
