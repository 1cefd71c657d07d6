"""Where the files are that an ``@include`` may name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kgreason.lang.names import suggest
from kgreason.records import dataclass
from kgreason.resources import resource

_LIBRARY = re.compile(r"[A-Za-z0-9_]{1,60}(\.vada)?\Z")
_MODULE = re.compile(r'^\s*@module\(\s*"([^"\n]*)"\s*\)', re.MULTILINE)
_SCANNED = 1000  # files of a folder in which a module is looked for
_HEAD = 1 << 16  # bytes at the start of a file in which it names its module


@dataclass(frozen=True, slots=True)
class Found:
    """A rule file, and its name in messages."""

    path: Path
    shown: str


def find_file(wanted: str, folder: Path) -> Found | None:
    """Find the file that an ``@include`` of a file in `folder` names.

    Tried in turn: the path, the path with ``.vada``, a file of the folder that declares the name by ``@module``,
    a file of the rule library.
    """
    for name in (wanted, wanted + ".vada"):
        if wanted and _is_file(folder / name):
            return _beside(folder, name)
    for path, module in modules(folder):
        if module == wanted:
            return _beside(folder, path.name)
    if _LIBRARY.match(wanted):
        name = wanted.removesuffix(".vada") + ".vada"
        try:
            return Found(resource("rules", name), f"rules/{name}")
        except FileNotFoundError:
            return None
    return None


def _beside(folder: Path, name: str) -> Found:
    path = Path(os.path.normpath(folder / name))
    return Found(path, str(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have, or a folder that may not be searched
        return False


def modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """Rule files of a folder that name themselves, with the names."""
    for path in _rule_files(folder):
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except OSError:
            continue
        for match in _MODULE.finditer(head.decode("utf-8", "replace")):
            yield path, match[1]


def _rule_files(folder: Path) -> list[Path]:
    try:
        return [p for p in sorted(folder.glob("*.vada"))[:_SCANNED] if p.is_file()]
    except OSError:
        return []


def near_names(wanted: str, folder: Path) -> str | None:
    """Nearest name that could be included from a folder."""
    library = _rule_files(resource("rules", "control.vada").parent)
    names = {p.stem for p in (*_rule_files(folder), *library)} | {m for _, m in modules(folder)}
    return suggest(wanted.removesuffix(".vada"), names)
