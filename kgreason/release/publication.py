"""Release and private folders on disk (docs/anonymization.md, Form).

Both are written atomically, by way of workspaces next to the targets (`kgreason.base.atomic_files`).
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from kgreason.base.atomic_files import Exchange, Side, mend, workspaces
from kgreason.base.errors import ReleaseError
from kgreason.base.interrupts import deferred
from kgreason.base.progress import Progress
from kgreason.base.setting_fields import check_type, setting

_FULL = 1 << 16  # bytes of free space below which a device counts as full


@dataclass(frozen=True)
class Folders:
    """Target folders of a release.

    Attributes
    ----------
    release
        The folder to publish, a path or its text.
    private
        The folder that must remain private; created with mode 0700.
    force
        Replace existing releases at these paths.
    format
        Format of the published tables: ``"csv"``, ``"parquet"`` or another one of the family; `None`: as the input.
    """

    release: Path
    private: Path
    force: bool = False
    format: str | None = None

    def __post_init__(self) -> None:
        for name in ("release", "private"):
            object.__setattr__(self, name, Path(getattr(self, name)))

    def check(self) -> list[str]:
        """Check that the folders can be written without loss of other data or disclosure of the private folder.

        First, an interrupted exchange of an earlier run is completed or undone, and its temporary files are removed;
        returns messages on these repairs.

        Raises
        ------
        ReleaseError
            If a folder exists (and `force` is not set), contains something other than a release, or if
            one folder is inside the other.
        DataError
            If the format is not supported, or the package that it needs is not installed.
        """
        from kgreason.data.fact_writing import check_format

        if self.format is not None:
            check_format(self.format)
        release, private = self.release.resolve(), self.private.resolve()
        if release == private or release in private.parents or private in release.parents:
            raise ReleaseError(
                f"the private folder {self.private} and the release folder {self.release} overlap",
                hint="publishing the one would publish the other; choose two separate folders",
            )
        mended = mend(self.release, self.private, _is_replaceable)
        try:
            for folder, kind in ((self.release, "release"), (self.private, "private")):
                _check_writable(folder, kind)
            self.check_replaceable()
        except ReleaseError as error:  # the message includes the repairs
            raise replace(error, message="; ".join((*mended, error.message))) from error
        return mended

    def check_replaceable(self) -> None:
        """Check that existing folders contain only files that kgreason wrote, unchanged.

        Raises
        ------
        ReleaseError
            Names the folder and its other files.
        """
        for folder, kind in ((self.release, "release"), (self.private, "private")):
            if not os.path.lexists(folder):
                continue
            if not self.force:
                raise ReleaseError(
                    f"{folder} exists already",
                    hint=f"use --force to replace it, or --{kind} DIR to write elsewhere",
                )
            if folder.is_symlink() or not folder.is_dir():
                raise ReleaseError(f"{folder} is not a folder", hint="move it away first")
            foreign, there = _foreign(folder), _few(sorted(path.name for path in folder.iterdir()))
            elsewhere = f"choose another folder with --{kind} DIR"
            if foreign is None:
                from kgreason.release.digests import JSON

                raise ReleaseError(
                    f"{folder} does not list the files that kgreason wrote into it (there are {there}), so it is "
                    f"not replaced: its {JSON} is missing, was edited, or is of an earlier version of kgreason",
                    hint=f"move it away, or {elsewhere}",
                )
            if foreign:
                raise ReleaseError(
                    f"{folder} holds files that kgreason did not write, or not as they are now ({_few(foreign)}), so "
                    "it is not replaced",
                    hint=f"move them away, or {elsewhere}",
                )


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + f" and {len(names) - 3:,} more" * (len(names) > 3)


def _foreign(folder: Path) -> list[str] | None:
    """Files in a folder that kgreason did not write; `None`: unknown."""
    from kgreason.release.digests import changed_files  # imports NumPy, which help does not need

    try:
        return changed_files(folder) if any(folder.iterdir()) else []
    except OSError as error:
        raise ReleaseError(
            f"{error.filename or folder}: cannot be read: {error.strerror or error}",
            hint="what is not known to be of kgreason is not replaced: move it away",
        ) from error


def _is_replaceable(folder: Path) -> bool:
    """Whether a folder can be replaced without loss."""
    if not os.path.lexists(folder):
        return True
    return not folder.is_symlink() and folder.is_dir() and _foreign(folder) == []


def _check_writable(folder: Path, kind: str) -> None:
    """Check before the run that a folder can be created, by creating and removing a similar one."""
    nearest = next(p for p in folder.absolute().parents if p.exists())
    trial = nearest / f".{folder.name}-{secrets.token_hex(4)}"
    try:
        with deferred():
            trial.mkdir(mode=0o700)
            with suppress(FileNotFoundError):  # a concurrent repair may have removed it
                trial.rmdir()
    except OSError as error:
        why = f"{nearest} is no folder" if not nearest.is_dir() else f"{nearest}: {error.strerror or error}"
        raise ReleaseError(
            f"{folder} cannot be made: {why}", hint=f"choose another folder with --{kind} DIR"
        ) from error


@contextmanager
def staged(folders: Folders) -> Iterator[tuple[Path, Path]]:
    """Temporary release and private folders, moved to their targets if the block succeeds.

    An error or an interruption within the block leaves the targets unchanged. Both folders are exchanged together: an
    interruption during the exchange is deferred and reported; if the process is killed, the next run with these targets
    completes the exchange (`Folders.check`).

    Raises
    ------
    ReleaseError
        As `Folders.check`, or if a file cannot be written.
    """
    folders.check()
    written = False
    try:
        for place in (folders.release, folders.private):
            place.parent.mkdir(parents=True, exist_ok=True)
        with workspaces(folders.release, folders.private) as exchange, _blamed(folders, exchange):
            release, private = exchange.public.new, exchange.secret.new
            yield release, private
            _seal(private, folder_mode=0o700, file_mode=0o600)
            _seal(release, folder_mode=0o755, file_mode=0o644)
            folders.check_replaceable()  # again, for files created during the run
            with deferred():
                exchange.finish()
                written = True
    except KeyboardInterrupt:
        if written:
            raise KeyboardInterrupt(interrupted(folders)) from None
        raise
    except OSError as error:
        raise _unwritten(str(error.filename or folders.release), error) from error


@contextmanager
def _blamed(folders: Folders, exchange: Exchange) -> Iterator[None]:
    """Replace workspace paths in errors by the target folders, and name the device that is full."""
    sides = {exchange.public: folders.release, exchange.secret: folders.private}
    try:
        yield
    except OSError as error:
        full = [place for side, place in sides.items() if shutil.disk_usage(side.workspace).free < _FULL]
        where = error.filename or " and ".join(map(str, full or sides.values()))
        raise _unwritten(_named(str(where), sides), error) from error
    except ReleaseError as error:
        hint = None if error.hint is None else _named(error.hint, sides)
        raise replace(error, message=_named(error.message, sides), hint=hint) from error


def _named(words: str, sides: Mapping[Side, Path]) -> str:
    for side, place in sides.items():
        for path in (side.new, side.workspace):
            words = words.replace(str(path), str(place))
    return words


def _unwritten(where: str, error: OSError) -> ReleaseError:
    return ReleaseError(
        f"{where}: cannot be written: {error.strerror or error}",
        hint="choose other folders with --release DIR and --private DIR, or free space there",
    )


def interrupted(folders: Folders) -> str:
    """Message for an interruption after the folders were written."""
    return f"interrupted; {folders.release} and {folders.private} are written"


def _seal(folder: Path, folder_mode: int, file_mode: int) -> None:
    """Set modes independently of the umask, and equal file times, which would otherwise disclose the writing order."""
    now = time.time_ns()
    for file in folder.iterdir():
        file.chmod(file_mode)
        os.utime(file, ns=(now, now))
    folder.chmod(folder_mode)


def check_folders(folders: object, progress: Progress) -> None:
    """Check the type and state of target folders; repairs of earlier runs are reported to `progress`."""
    hint = 'say folders=kgreason.Folders("release", "private")'
    check_type(folders, Folders, "folders are of type Folders", hint)
    for mended in cast(Folders, folders).check():
        progress.note(mended)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What an anonymization takes whatever its method."""

    seed: int | None = setting(None, metavar="N", least=0, reported=False)
    """Repeatable randomness, for experiments only: a release that can be computed again must not be published. Without
    a seed, the operating system seeds the generator."""
    folders: Folders | None = setting(None, option="", reported=False)
    """Where to write the release and its secret; what is then verified and scored is what was written, read back."""
