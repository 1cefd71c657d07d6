"""What the shell proposes where the library that reads the command line cannot know it: rule files, predicates."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from kgreason.analysis.reach import is_data

_PREDICATES = re.compile(r'^\s*@(?:edge|node|input|bind|qbind)\(\s*"(\w+)"', re.MULTILINE)
_SHOWN = 100  # entries of a folder; more are no help


def rule_files(incomplete: str) -> list[str]:
    """Rule files that begin so, and those in folders that do."""
    found = _beginning(incomplete)
    inside = [file for folder in found if folder.is_dir() for file in _listed(folder)]
    return sorted(_shown(p, incomplete) for p in (*found, *inside) if p.suffix == ".vada" and p.is_file())


def tables_of_predicates(context: typer.Context, incomplete: str) -> list[str]:
    """``PRED=FILE`` for the predicates of the rules that are named before, and the tables that are there."""
    rules = context.params.get("rules")
    if not rules:
        found = _beginning(incomplete)
        return [_shown(p, incomplete) for p in found if p.is_file() and is_data(p)]
    predicates = _predicates(Path(str(rules)))
    before, equals, rest = incomplete.partition("=")
    names = [p for p in predicates if p == before or (not equals and p.startswith(before))]
    files = [p for p in _beginning(rest) if p.is_file() and is_data(p)]
    return [f"{name}={_shown(p, rest)}" for name in names for p in files]


def _predicates(rules: Path) -> list[str]:
    try:
        text = rules.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return list(dict.fromkeys(_PREDICATES.findall(text)))


def _beginning(incomplete: str) -> list[Path]:
    folder, _, name = incomplete.rpartition("/")
    where = Path(folder) if folder else Path("/" if incomplete.startswith("/") else ".")
    return [p for p in _listed(where) if p.name.startswith(name)]


def _listed(folder: Path) -> list[Path]:
    try:
        found = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError:
        return []
    return found[:_SHOWN]


def _shown(path: Path, incomplete: str) -> str:
    """A path as it was begun: with a point and a slash, if these are there."""
    text = str(path)
    return f"./{text}" if incomplete.startswith("./") else text
