"""Whether a release names the sensitive relation, in its graph or in any file of its folder."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from kgreason.assess.verdict import Item
from kgreason.assess.witness import listing
from kgreason.graph.links.model import LinkGraph

OWN = frozenset({"nodes.csv", "attributes.csv", "links.csv", "links.toml", "README.txt", "UNVERIFIED"})
"""What the files of a release are called, whatever is in them."""
KEYS = frozenset(
    {"strategy", "relations", "mutual", "directed", "weighted", "attributes", "numeric", "categorical"}
)
"""What a description of links says of itself, whatever its relations are called."""


def sensitive(graph: LinkGraph, name: str, folder: Path | None, ordinary: Collection[str]) -> Item:
    """Whether the sensitive relation has no links in the release, and its name stands in no file of its folder.

    Parameters
    ----------
    folder
        Where the release is; `None`: in memory.
    ordinary
        Words of README.txt that say nothing of any relation.
    """
    kinds = {"links": graph.observed, "values": graph.attributes}
    found = [f"the release has {kind} of {name}" for kind, names in kinds.items() if name in names]
    files = [] if folder is None else sorted(p for p in folder.rglob("*") if not p.is_dir())
    for file in files:
        found += _told(file, name, ordinary)
    if found:
        return Item("sensitive", False, "the release names the sensitive relation", listing(found))
    where = f"nor is its name in any of {len(files)} files" if files else "nor is anything called like it"
    return Item("sensitive", True, f"no link of the sensitive relation is released, {where}")


def _told(file: Path, name: str, ordinary: Collection[str]) -> Iterator[str]:
    """Where a file names a relation, in words."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    if file.name not in OWN and word.search(file.name):
        yield f"{file.name}: the name of the file"
    text = file.read_bytes().decode("utf-8", errors="replace")
    if file.suffix == ".csv":
        if '"' not in name and not word.search(text):
            return  # a cell is written as it is, but for quotation marks
        rows = enumerate(csv.reader(io.StringIO(text, newline="")), 1)
        pieces = ((f"{file.name}, row {row}", cell) for row, cells in rows if row > 1 for cell in cells)
    elif file.suffix == ".toml":
        pieces = ((f"{file.name}, {key}", said) for key, said in _strings(text))
    elif name.lower() in ordinary:
        return
    else:
        pieces = ((f"{file.name}:{line}", said) for line, said in enumerate(text.splitlines(), 1))
    yield from (f"{where}: {said}" for where, said in pieces if word.search(said))


def _strings(text: str) -> Iterator[tuple[str, str]]:
    """Texts and unknown keys of a TOML file, comments too."""
    yield from (("comment", line) for line in text.splitlines() if line.lstrip().startswith("#"))
    try:
        yield from _within("", tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        yield from (("text", line) for line in text.splitlines())


def _within(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in KEYS:
                yield key or name, name
            if name != "strategy":
                yield from _within(name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _within(key, inner)
    elif isinstance(value, str):
        yield key, value
