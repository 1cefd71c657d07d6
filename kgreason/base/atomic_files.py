"""Atomic replacement of two folders: both are replaced or neither, even if the process is killed at any time.

Each new folder is built in a workspace next to its target, ``.NAME-TOKEN``, which holds

``places``
    the targets of both folders, as JSON, so that each workspace leads to the other;
``new``
    the new folder, until it is moved to its target;
``old``
    the folder that it replaces;
``ready``
    in the workspace of the secret folder only: the inodes of the two new folders. Before this file exists, nothing is
    changed. Once it exists, both folders are moved to their targets, the secret one first; if the process dies in
    between, the next process completes the exchange.

A process locks its workspaces while it runs; workspaces without a lock were left by a killed process.

`replacing` does the same for a single file.
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
from pathlib import Path

from kgreason.base.errors import ReleaseError
from kgreason.base.interrupts import deferred
from kgreason.base.records import record

try:
    import fcntl
except ImportError:  # Windows: whether the owning process is alive is unknown, so no workspace is touched
    fcntl = None  # type: ignore[assignment]

TARGETS, READY, NEW, OLD = "places", "ready", "new", "old"
_UNSURE = "ready~"  # not completely written yet


@record
class Side:
    """One of the two folders: its target path, and its workspace."""

    target: Path
    workspace: Path

    @classmethod
    def of(cls, target: Path, token: str) -> Side:
        """Side of a target path; its parent is resolved, because names in it are compared with those of workspaces."""
        target = target.parent.resolve() / target.name
        return cls(target, target.parent / f".{target.name}-{token}")

    @property
    def new(self) -> Path:
        """New folder, before it is moved to the target."""
        return self.workspace / NEW

    @property
    def old(self) -> Path:
        """Replaced folder, during the exchange."""
        return self.workspace / OLD

    def waits(self, inode: int) -> bool:
        """Whether the new folder, identified by its inode, has not been moved to its target."""
        return self.new.is_dir() and self.new.stat().st_ino == inode

    def put(self, inode: int) -> None:
        """Move the new folder to its target unless done already."""
        if self.waits(inode):
            if os.path.lexists(self.target):
                self.target.rename(self.old)
            self.new.rename(self.target)

    def take_back(self, inode: int) -> None:
        """Restore the previous folder unless done already."""
        if not self.waits(inode) and os.path.lexists(self.target):
            self.target.rename(self.new)
        if self.old.is_dir():
            self.old.rename(self.target)

    def remove(self) -> None:
        """Remove the workspace; the file that identifies its owner is removed last."""
        with deferred():
            for folder in (self.new, self.old):
                shutil.rmtree(folder, ignore_errors=True)
            for name in (_UNSURE, READY, TARGETS):
                with suppress(OSError):
                    (self.workspace / name).unlink()
            with suppress(OSError):
                self.workspace.rmdir()


@record
class Exchange:
    """Exchange of the two folders of a release."""

    public: Side
    secret: Side

    def finish(self) -> None:
        """Move both folders to their targets or, if one cannot be moved, neither: then raise `OSError`."""
        ready = self.secret.workspace / READY
        if not ready.exists():
            inodes = [side.new.stat().st_ino for side in (self.secret, self.public)]
            (self.secret.workspace / _UNSURE).write_text(json.dumps(inodes), encoding="utf-8")
            (self.secret.workspace / _UNSURE).rename(ready)
        secret, public = json.loads(ready.read_text(encoding="utf-8"))
        try:
            self.secret.put(secret)
            self.public.put(public)
        except OSError:
            self.undo()
            raise

    def undo(self) -> None:
        """Restore the previous folders at both targets."""
        ready = self.secret.workspace / READY
        secret, public = json.loads(ready.read_text(encoding="utf-8"))
        if self.public.workspace.is_dir():
            self.public.take_back(public)
        self.secret.take_back(secret)
        ready.unlink()

    @property
    def sides(self) -> list[Side]:
        """Sides that have a workspace, the secret one first."""
        both = dict.fromkeys([self.secret, self.public])  # in an unfinished workspace both sides are the same
        return [side for side in both if side.workspace.is_dir()]

    @property
    def waiting(self) -> list[Side]:
        """Sides whose new folder has not been moved yet, if an exchange has begun."""
        inodes = json.loads((self.secret.workspace / READY).read_text(encoding="utf-8"))
        return [side for side, i in zip((self.secret, self.public), inodes, strict=True) if side.waits(i)]

    @property
    def halfway(self) -> bool:
        """Whether the two targets hold folders of different runs."""
        there = all(os.path.lexists(side.target) for side in (self.secret, self.public))
        return self.begun and (len(self.waiting) == 1 or not there)

    @property
    def begun(self) -> bool:
        """Whether folders may have been moved to their targets."""
        return (self.secret.workspace / READY).is_file()


@contextmanager
def workspaces(public: Path, secret: Path) -> Iterator[Exchange]:
    """Create workspaces for two folders with these targets, or for one that is named twice; they are removed on exit.

    Raises
    ------
    OSError
        If a workspace cannot be created.
    """
    token = secrets.token_hex(4)
    exchange = Exchange(Side.of(public, token), Side.of(secret, token))
    with ExitStack() as stack:
        for side in dict.fromkeys((exchange.secret, exchange.public)):
            stack.enter_context(_workspace(side, exchange))
        yield exchange


@contextmanager
def _workspace(side: Side, exchange: Exchange) -> Iterator[None]:
    lock = None
    try:
        lock = _make(side.workspace)
        targets = [
            os.path.relpath(s.target, side.workspace.parent) for s in (exchange.public, exchange.secret)
        ]
        (side.workspace / TARGETS).write_text(json.dumps(targets), encoding="utf-8")
        side.new.mkdir(mode=0o700)
        yield
    finally:
        side.remove()
        if lock is not None:
            os.close(lock)


def _make(workspace: Path) -> int | None:
    """Create and lock a workspace; retry if another process removed it as abandoned in the meantime."""
    while True:
        workspace.mkdir(mode=0o700)
        if fcntl is None:
            return None
        with suppress(FileNotFoundError):
            lock = os.open(workspace, os.O_RDONLY)
            try:
                with suppress(OSError):  # file systems without locks: other processes then treat it as in use
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if workspace.stat().st_ino == os.fstat(lock).st_ino:
                    return lock
            except FileNotFoundError:
                os.close(lock)


# --- recovery after a killed process ------------------------------------------------------------------------------


def mend(public: Path, secret: Path, replaceable: Callable[[Path], bool]) -> list[str]:
    """Complete or undo exchanges of killed processes at these targets, and remove their workspaces.

    Parameters
    ----------
    replaceable
        Whether a folder may be replaced; if the one at a target no longer may, the exchange is undone.

    Returns
    -------
    list
        Descriptions of what was found and done.

    Raises
    ------
    ReleaseError
        If recovery is impossible; names the folders.
    """
    done: list[str] = []
    for target in (public, secret):
        for workspace in _workspaces_of(target):
            with (
                suppress(FileNotFoundError),
                _abandoned(workspace) as exchange,
            ):  # or another process removed it
                if exchange is not None:
                    done += _mended(exchange, replaceable)
    return done


def check_settled(target: Path) -> None:
    """Raise `ReleaseError` for a folder whose replacement was left unfinished by a killed process."""
    for workspace in _workspaces_of(target):
        with _abandoned(workspace) as exchange:
            if exchange is not None and exchange.halfway:
                both = f"{exchange.public.target} and {exchange.secret.target}"
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
        both = f"{public.target} and {secret.target}"
        try:
            if all(replaceable(side.target) for side in exchange.waiting):
                exchange.finish()
                done = "finished: both are of that run now"
            else:
                exchange.undo()
                done = "undone, as they hold other files by now: both are of the run before it"
        except OSError as error:
            raise ReleaseError(
                f"a run that replaced {both} was killed, and that can be neither finished nor undone: "
                f"{error.strerror or error}",
                hint=f"the folders are in {' and '.join(str(side.workspace) for side in sides)}: put them back by hand",
            ) from error
        yield f"a run that replaced {both} was killed before it had replaced both; that was {done}"
    for side in sides:
        side.remove()
        if side.workspace.exists():
            yield f"{side.workspace}, left by a run that was killed, cannot be removed: remove it yourself"
        elif not begun:
            yield f"{side.workspace}, left by a run that was killed, was removed"


@contextmanager
def _abandoned(workspace: Path) -> Iterator[Exchange | None]:
    """The exchange of a workspace, if no process uses it any more."""
    exchange = _read(workspace)
    with ExitStack() as stack:
        free = [stack.enter_context(_free(side.workspace)) for side in exchange.sides] if exchange else []
        yield exchange if all(free) and free else None


@contextmanager
def _free(workspace: Path) -> Iterator[bool]:
    """Whether no process uses a workspace; no other process can start using it within the block."""
    if fcntl is None:
        yield False
        return
    lock, free = os.open(workspace, os.O_RDONLY), False
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        yield free
    finally:
        os.close(lock)


def _read(workspace: Path) -> Exchange | None:
    """The exchange of a workspace; both sides of an unfinished workspace are the workspace itself."""
    token = workspace.name.rpartition("-")[2]
    names = {path.name for path in workspace.iterdir()}
    if not names <= {TARGETS, READY, _UNSURE, NEW, OLD}:
        return None  # not a workspace
    try:
        targets = json.loads((workspace / TARGETS).read_text(encoding="utf-8"))
        public, secret = (Side.of(workspace.parent / target, token) for target in targets)
    except (OSError, ValueError, TypeError):
        if names - {TARGETS}:
            return None
        public = secret = Side(workspace.parent / workspace.name[1:].rpartition("-")[0], workspace)
    return Exchange(public, secret)


def _workspaces_of(target: Path) -> list[Path]:
    """Folders named like workspaces of a target."""
    target = target.parent.resolve() / target.name
    form = re.compile(re.escape(f".{target.name}-") + "[0-9a-f]{8}")
    there = sorted(target.parent.iterdir()) if target.parent.is_dir() else ()
    return [p for p in there if form.fullmatch(p.name) and p.is_dir() and not p.is_symlink()]


_BESIDE = (".gz", ".wal", "-journal", "-wal", "-shm")
"""Ends of the names of files that `pack`, DuckDB and SQLite write beside another, and leave there if a disk is full."""


def check_replaceable(path: Path) -> None:
    """Raise `ReleaseError` for a folder, a device or a pipe."""
    if not path.name or path.is_dir():
        raise ReleaseError(f"{path} is a folder", hint="name a file in it")
    if path.exists() and not path.is_file():
        raise ReleaseError(f"{path} is a device or a pipe", hint="name a file, which can be replaced")


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Temporary file next to `path`, renamed to it if the block succeeds; raise `ReleaseError` if that is impossible.

    For a symbolic link, its target is replaced. An existing file keeps its mode; a `private` one is readable by its
    owner only.
    """
    check_replaceable(path)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        if private:
            temporary.touch(mode=0o600)
        yield temporary
        if target.is_file() and not private:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        raise ReleaseError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=f"choose another folder, or free space in {target.parent}",
        ) from error
    finally:
        for left in (temporary, *(temporary.with_name(f"{temporary.name}{end}") for end in _BESIDE)):
            with suppress(OSError):  # already renamed, or never created
                left.unlink()
        shutil.rmtree(temporary.with_name(f"{temporary.name}.tmp"), ignore_errors=True)  # of DuckDB


def pack(path: Path, name: str) -> None:
    """Compress a file with gzip if its final name asks for it; the gzip header holds neither the name nor the time."""
    if not name.lower().endswith(".gz"):
        return
    packed = path.with_name(f"{path.name}.gz")
    with path.open("rb") as plain, packed.open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as stream:
        shutil.copyfileobj(plain, stream)
    packed.replace(path)
