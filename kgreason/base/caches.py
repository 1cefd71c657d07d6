"""Folders for what is worth keeping from one run to the next: machine code, tables of the parser.

What is kept is run, so nothing is taken from where other users of the machine may write. Without kept machine code
every run compiles: `kgreason check` on a rule file takes 5.2 s of processor time in place of 0.3 s. Without kept tables
of the parser `kgreason fmt` takes 0.24 s in place of 0.20 s. (2 cores, medians of three runs on a busy machine.)
The package platformdirs names folders for caches, too, but not the one beside the source, which is there first.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def folders(source: str | Path) -> list[Path]:
    """Folders that may keep what was made from a source file, best first; any of them may refuse to be written.

    Folders of other users, and those in which everybody may write, are left out.

    Parameters
    ----------
    source
        File of the package. ``NUMBA_CACHE_DIR``, if it is set, is the only folder.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    usual = [Path(source).parent / "__pycache__", Path(home).expanduser() / "kgreason"]
    return [folder for folder in ([Path(chosen)] if chosen else usual) if _safe(folder, source)]


def _safe(path: Path, source: str | Path) -> bool:
    """Whether a file or folder is not there yet, or of who runs this, of the owner of the package or of the system."""
    if not hasattr(os, "getuid"):
        return True
    try:
        status = path.stat()
    except OSError:
        return True
    owners = {0, os.getuid()}
    with suppress(OSError):
        owners.add(Path(source).stat().st_uid)
    return status.st_uid in owners and not status.st_mode & stat.S_IWOTH


def read(name: str, source: str | Path) -> bytes | None:
    """Content of a file that `write` has kept; `None` if there is none."""
    for folder in folders(source):
        with suppress(OSError):
            content = (folder / name).read_bytes()
            if _safe(folder / name, source):
                return content
    return None


def write(name: str, source: str | Path, content: bytes) -> None:
    """Keep a file if some folder can be written; who reads it at the same time sees it whole or not at all."""
    file = place(name, source)
    if file is not None:
        temporary = file.with_name(f"{name}.{os.getpid()}")
        with suppress(OSError):
            temporary.write_bytes(content)
            temporary.replace(file)


def place(name: str, source: str | Path) -> Path | None:
    """Path of a file for a library that reads and writes it by itself; `None` if no folder can be written."""
    for folder in folders(source):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and _safe(folder / name, source):
            return folder / name
    return None
