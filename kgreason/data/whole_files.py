"""Files that are replaced whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgreason.errors import ReleaseError

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
