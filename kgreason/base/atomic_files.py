"""Two folders that are replaced together: by both new ones or by none, although the process may be killed at any time.

Each new folder is made in a workspace beside its place, ``.NAME-TOKEN``, which holds

``places``
    where the two folders go, as JSON, so that one workspace is found from the other;
``new``
    the new folder, until it is in its place;
``old``
    the one that it replaces;
``ready``
    in the workspace of the secret folder: the inodes of the two new folders. Before this file is there, nothing is
    changed. As soon as it is there, both folders are put into their places, the secret one first; if the process dies
    meanwhile, the next one does the rest.

A process locks its workspaces as long as it lives: those that are not locked were left by one that was killed.

`replacing` does so with a single file.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kgreason.base.errors import ReleaseError
from kgreason.base.interrupts import deferred

try:
    import fcntl
except ImportError:  # Windows: whether a process lives is not known there, so nothing of it is touched
    fcntl = None  # type: ignore[assignment]

PLACES, READY, NEW, OLD = "places", "ready", "new", "old"
_UNSURE = "ready~"  # not yet whole


@dataclass(frozen=True)
class Side:
    """One of the two folders.

    Attributes
    ----------
    place
        Where it goes.
    space
        Its workspace.
    """

    place: Path
    space: Path

    @classmethod
    def of(cls, place: Path, token: str) -> Side:
        """The side of a place; names in its parent are compared with those of workspaces, so it is resolved."""
        place = place.parent.resolve() / place.name
        return cls(place, place.parent / f".{place.name}-{token}")

    @property
    def new(self) -> Path:
        """The folder to put into place."""
        return self.space / NEW

    @property
    def old(self) -> Path:
        """Where the one that it replaces waits meanwhile."""
        return self.space / OLD

    def waits(self, inode: int) -> bool:
        """Whether the new folder, of this inode, is not in its place."""
        return self.new.is_dir() and self.new.stat().st_ino == inode

    def put(self, inode: int) -> None:
        """Put the new folder into its place, if it is not there."""
        if self.waits(inode):
            if os.path.lexists(self.place):
                self.place.rename(self.old)
            self.new.rename(self.place)

    def take_back(self, inode: int) -> None:
        """Put back what stood in the place before, if it is not there."""
        if not self.waits(inode) and os.path.lexists(self.place):
            self.place.rename(self.new)
        if self.old.is_dir():
            self.old.rename(self.place)

    def remove(self) -> None:
        """Remove the workspace; what says whose it is goes last."""
        with deferred():
            for folder in (self.new, self.old):
                shutil.rmtree(folder, ignore_errors=True)
            for name in (_UNSURE, READY, PLACES):
                with suppress(OSError):
                    (self.space / name).unlink()
            with suppress(OSError):
                self.space.rmdir()


@dataclass(frozen=True)
class Exchange:
    """The two folders of a release on their way into their places."""

    public: Side
    secret: Side

    def finish(self) -> None:
        """Put both into their places or, if one cannot be put there, none.

        Raises
        ------
        OSError
            If one cannot be put there.
        """
        ready = self.secret.space / READY
        if not ready.exists():
            inodes = [side.new.stat().st_ino for side in (self.secret, self.public)]
            (self.secret.space / _UNSURE).write_text(json.dumps(inodes), encoding="utf-8")
            (self.secret.space / _UNSURE).rename(ready)
        secret, public = json.loads(ready.read_text(encoding="utf-8"))
        try:
            self.secret.put(secret)
            self.public.put(public)
        except OSError:
            self.undo()
            raise

    def undo(self) -> None:
        """Put back what stood in both places before."""
        ready = self.secret.space / READY
        secret, public = json.loads(ready.read_text(encoding="utf-8"))
        if self.public.space.is_dir():
            self.public.take_back(public)
        self.secret.take_back(secret)
        ready.unlink()

    @property
    def sides(self) -> list[Side]:
        """Those that have a workspace; the secret one comes first."""
        both = dict.fromkeys([self.secret, self.public])  # of a workspace that was not filled they are one
        return [side for side in both if side.space.is_dir()]

    @property
    def waiting(self) -> list[Side]:
        """Sides whose new folder is not in its place yet, if an exchange has begun."""
        inodes = json.loads((self.secret.space / READY).read_text(encoding="utf-8"))
        return [side for side, i in zip((self.secret, self.public), inodes, strict=True) if side.waits(i)]

    @property
    def halfway(self) -> bool:
        """Whether the two places do not hold the folders of one run."""
        there = all(os.path.lexists(side.place) for side in (self.secret, self.public))
        return self.begun and (len(self.waiting) == 1 or not there)

    @property
    def begun(self) -> bool:
        """Whether folders may have been put into their places."""
        return (self.secret.space / READY).is_file()


@contextmanager
def workspaces(public: Path, secret: Path) -> Iterator[Exchange]:
    """Workspaces for two folders that are to be put into these places; they are gone at the end.

    Raises
    ------
    OSError
        If they cannot be made.
    """
    token = secrets.token_hex(4)
    exchange = Exchange(Side.of(public, token), Side.of(secret, token))
    with ExitStack() as stack:
        for side in (exchange.secret, exchange.public):
            stack.enter_context(_workspace(side, exchange))
        yield exchange


@contextmanager
def _workspace(side: Side, exchange: Exchange) -> Iterator[None]:
    lock = None
    try:
        lock = _make(side.space)
        places = [os.path.relpath(s.place, side.space.parent) for s in (exchange.public, exchange.secret)]
        (side.space / PLACES).write_text(json.dumps(places), encoding="utf-8")
        side.new.mkdir(mode=0o700)
        yield
    finally:
        side.remove()
        if lock is not None:
            os.close(lock)


def _make(space: Path) -> int | None:
    """Make a workspace and lock it; again, if another process took it for a left one in between."""
    while True:
        space.mkdir(mode=0o700)
        if fcntl is None:
            return None
        with suppress(FileNotFoundError):
            lock = os.open(space, os.O_RDONLY)
            try:
                with suppress(OSError):  # not every file system has locks; others then take it for one in use
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if space.stat().st_ino == os.fstat(lock).st_ino:
                    return lock
            except FileNotFoundError:
                os.close(lock)


# --- what a process that was killed has left ----------------------------------------------------------------


def mend(public: Path, secret: Path, replaceable: Callable[[Path], bool]) -> list[str]:
    """Finish or undo what processes that were killed have begun in these places, and remove their workspaces.

    Parameters
    ----------
    replaceable
        Whether a folder may be replaced; if the one in a place may not any more, the exchange is undone.

    Returns
    -------
    list
        What was found and done, in words.

    Raises
    ------
    ReleaseError
        If that is not possible, naming the folders.
    """
    said: list[str] = []
    for place in (public, secret):
        for space in _left(place):
            with suppress(FileNotFoundError), _abandoned(space) as exchange:  # or another process removed it
                if exchange is not None:
                    said += _mended(exchange, replaceable)
    return said


def check_settled(place: Path) -> None:
    """Refuse a folder whose replacement was begun by a process that was killed, and not finished.

    Raises
    ------
    ReleaseError
        Naming both folders of the release.
    """
    for space in _left(place):
        with _abandoned(space) as exchange:
            if exchange is not None and exchange.halfway:
                both = f"{exchange.public.place} and {exchange.secret.place}"
                raise ReleaseError(
                    f"a run that replaced {both} was killed before it had replaced both",
                    hint="make the release once more with these folders: that first finishes the replacement (without "
                    "--force it does nothing else)",
                )


def _mended(exchange: Exchange, replaceable: Callable[[Path], bool]) -> Iterator[str]:
    public, secret = exchange.public, exchange.secret
    sides = exchange.sides
    begun = exchange.begun and bool(exchange.waiting)
    if begun:
        both = f"{public.place} and {secret.place}"
        try:
            if all(replaceable(side.place) for side in exchange.waiting):
                exchange.finish()
                done = "finished: both are of that run now"
            else:
                exchange.undo()
                done = "undone, as they hold other files by now: both are of the run before it"
        except OSError as error:
            raise ReleaseError(
                f"a run that replaced {both} was killed, and that can be neither finished nor undone: "
                f"{error.strerror or error}",
                hint=f"the folders are in {' and '.join(str(side.space) for side in sides)}: put them back by hand",
            ) from error
        yield f"a run that replaced {both} was killed before it had replaced both; that was {done}"
    for side in sides:
        side.remove()
        if side.space.exists():
            yield f"{side.space}, left by a run that was killed, cannot be removed: remove it yourself"
        elif not begun:
            yield f"{side.space}, left by a run that was killed, was removed"


@contextmanager
def _abandoned(space: Path) -> Iterator[Exchange | None]:
    """What a workspace is for, if no process works in it any more."""
    exchange = _read(space)
    with ExitStack() as stack:
        free = [stack.enter_context(_free(side.space)) for side in exchange.sides] if exchange else []
        yield exchange if all(free) and free else None


@contextmanager
def _free(space: Path) -> Iterator[bool]:
    """Whether no process works in a workspace; none begins to, meanwhile."""
    if fcntl is None:
        yield False
        return
    lock, free = os.open(space, os.O_RDONLY), False
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        yield free
    finally:
        os.close(lock)


def _read(space: Path) -> Exchange | None:
    """Which folders a workspace is for; of one that was not filled yet it is of no matter."""
    token = space.name.rpartition("-")[2]
    names = {path.name for path in space.iterdir()}
    if not names <= {PLACES, READY, _UNSURE, NEW, OLD}:
        return None  # no workspace
    try:
        places = json.loads((space / PLACES).read_text(encoding="utf-8"))
        public, secret = (Side.of(space.parent / place, token) for place in places)
    except (OSError, ValueError, TypeError):
        if names - {PLACES}:
            return None
        public = secret = Side(space.parent / space.name[1:].rpartition("-")[0], space)
    return Exchange(public, secret)


def _left(place: Path) -> list[Path]:
    """Folders that have the name of a workspace of a place."""
    place = place.parent.resolve() / place.name
    form = re.compile(re.escape(f".{place.name}-") + "[0-9a-f]{8}")
    there = sorted(place.parent.iterdir()) if place.parent.is_dir() else ()
    return [p for p in there if form.fullmatch(p.name) and p.is_dir() and not p.is_symlink()]


_BESIDE = (".gz", ".wal", "-journal", "-wal", "-shm")
"""Ends of the names of files that `pack`, DuckDB and SQLite write beside another, and leave there if a disk is full."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, renamed to it if the block ends well.

    Of a link, what it leads to is replaced; a file that is there keeps its mode.

    Raises
    ------
    ReleaseError
        If the folder does not exist or cannot be written.
    """
    if not path.name or path.is_dir():
        raise ReleaseError(f"{path} is a folder", hint="name a file in it")
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        if target.is_file():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        raise ReleaseError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=f"choose another place, or make room in {target.parent}",
        ) from error
    finally:
        for left in (temporary, *(temporary.with_name(f"{temporary.name}{end}") for end in _BESIDE)):
            with suppress(OSError):  # it has been renamed, or never was
                left.unlink()
        shutil.rmtree(temporary.with_name(f"{temporary.name}.tmp"), ignore_errors=True)  # DuckDB's


def pack(path: Path, name: str) -> None:
    """Pack a file with gzip if it is to have a name that says so; neither its name nor the time is told in it."""
    if not name.lower().endswith(".gz"):
        return
    packed = path.with_name(f"{path.name}.gz")
    with path.open("rb") as plain, packed.open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as stream:
        shutil.copyfileobj(plain, stream)
    packed.replace(path)
