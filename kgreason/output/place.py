"""Files that are replaced whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgreason.errors import ReleaseError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, renamed to it if the block ends well.

    Raises
    ------
    ReleaseError
        If the folder does not exist or cannot be written.
    """
    if not path.name or path.is_dir():
        raise ReleaseError(f"{path} is a folder", hint="name a file in it")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise ReleaseError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
