"""Folders for what is worth keeping from one run to the next: machine code, tables of the parser."""

from __future__ import annotations

import os
from pathlib import Path


def folders(source: str | Path) -> list[Path]:
    """Folders that may keep what was made from a source file, best first; any of them may refuse to be written.

    Parameters
    ----------
    source
        File of the package. ``NUMBA_CACHE_DIR``, if it is set, is the only folder.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return [Path(source).parent / "__pycache__", Path(home).expanduser() / "kgreason"]


def read(name: str, source: str | Path) -> bytes | None:
    """Content of a file that `write` has kept; `None` if there is none."""
    for folder in folders(source):
        try:
            return (folder / name).read_bytes()
        except OSError:
            continue
    return None


def write(name: str, source: str | Path, content: bytes) -> None:
    """Keep a file if some folder can be written; who reads it at the same time sees it whole or not at all."""
    for folder in folders(source):
        temporary = folder / f"{name}.{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(folder / name)
        except OSError:
            continue
        return


def place(name: str, source: str | Path) -> Path | None:
    """Path of a file for a library that reads and writes it by itself; `None` if no folder can be written."""
    for folder in folders(source):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder / name
    return None
