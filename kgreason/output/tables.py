"""Facts as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import repeat
from pathlib import Path

from kgreason.engine.table import Facts
from kgreason.graph.io.raw import open_bytes
from kgreason.lang.values import plain
from kgreason.output.target import Target

_START = 1 << 16  # characters; an object beyond it is not looked at


def write_json(path: Path, facts: Facts, predicate: str, names: Sequence[str], target: Target) -> None:
    """Write an object a line; in a file called ``.json`` the lines make one array."""
    array = target.path.suffix.lower() == ".json"
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        lines = (encoder.encode(row) for row in _objects(facts, predicate, names))
        if not array:
            stream.writelines(line + "\n" for line in lines)
            return
        stream.write("[")
        for between, line in zip(_commas(), lines, strict=False):
            stream.write(between + line)
        stream.write("\n]\n")


def _commas() -> Iterator[str]:
    yield "\n"
    yield from repeat(",\n")


def _objects(facts: Facts, predicate: str, names: Sequence[str]) -> Iterator[dict[str, object]]:
    for row in facts.rows(predicate):
        yield {name: plain(value) for name, value in zip(names, row, strict=True)}


def json_columns(target: Target, _: str) -> tuple[str, ...] | None:
    """Keys of the first object of a file that an output would replace; `None`: there is none."""
    with TextIOWrapper(open_bytes(target.path), encoding="utf-8", errors="replace") as stream:
        start = stream.read(_START).lstrip("\ufeff[ \r\n\t")
    try:
        first, _end = json.JSONDecoder().raw_decode(start)
    except json.JSONDecodeError:
        return None
    return tuple(first) if isinstance(first, dict) else None
