"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgreason.errors import ReleaseError


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
            hint="choose another place, or make room there",
        ) from error
    finally:
        with suppress(OSError):  # it has been renamed, or never was
            temporary.unlink()
