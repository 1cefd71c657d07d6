"""From tables to a first rule file, or to the schema of a graph of people."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.guess.people import schema
from kgreason.guess.roles import Edges, Names, Nothing, role, shown
from kgreason.guess.rules import program
from kgreason.guess.tables import Found, allowance, tables
from kgreason.records import dataclass


@dataclass(frozen=True)
class Start:
    """What to begin with.

    Attributes
    ----------
    file
        To write.
    text
        What it holds.
    kind
        What the rules are about, or ``people``.
    guesses
        What was guessed of each table, by the name of the table.
    next
        Commands to go on with.
    """

    file: Path
    text: str
    kind: str
    guesses: dict[str, tuple[str, ...]]
    next: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        told = {name: list(texts) for name, texts in self.guesses.items()}
        return {
            "format": 1,
            "file": str(self.file),
            "kind": self.kind,
            "tables": told,
            "next": list(self.next),
        }


def start(files: Sequence[str], out: Path | None = None) -> Start:
    """Guess what tables hold, and write a rule file for them.

    Parameters
    ----------
    files
        Names of files; options may follow a question mark.
    out
        Where it will stand; `None`: in the working directory, called after the first table.

    Raises
    ------
    DataError
        If a file cannot be read, or nothing can be guessed; the hint says what to write instead.
    """
    found = [role(table) for file in files for table in tables(file)]
    edges = [r for r in found if isinstance(r, Edges)]
    named = [r for r in found if isinstance(r, Names)]
    unknown = [r for r in found if isinstance(r, Nothing)]
    if not edges:
        if named and len(found) == len(named) == 1 and len(named[0].attributes) > 1:
            return _people(named[0], out)
        raise _nothing(found)
    ends = {v for e in edges for v in (*e.source.seen, *e.target.seen)}
    vertices = [n for n in named if len(n.name.seen & ends) > 0.1 * len(n.name.seen)]
    stem = edges[0].table.options.get("table") or edges[0].table.path.name.partition(".")[0]
    file = out or Path(f"{stem}.vada")
    made = program(edges, vertices, file)
    guesses: dict[str, tuple[str, ...]] = {e.table.name: (*e.table.said, *e.reasons) for e in edges}
    guesses |= {n.table.name: (f"column {shown(n.name)} names vertices",) for n in vertices}
    left = [n.table for n in named if n not in vertices]
    guesses |= {t.name: ("not used: its rows are no ends of the edges",) for t in left}
    guesses |= {n.table.name: (f"not used: {n.why}",) for n in unknown}
    read = (*(e.table for e in edges), *(n.table for n in vertices))
    rules = shlex.quote(str(file)) + allowance(read, file.parent)
    commands = ("check {}", "reason --rules {}", "risk --rules {}", "anonymize --rules {}")
    return Start(file, made.text, made.kind, guesses, tuple(f"kgreason {c.format(rules)}" for c in commands))


def _people(found: Names, out: Path | None) -> Start:
    table = found.table
    file = out or Path(f"{table.path.name.partition('.')[0]}.toml")
    if file.suffix != ".toml":
        hint = f"name a file that ends in .toml, for instance --out {file.with_suffix('.toml')}"
        raise DataError(
            str(file), "this table is of people, and what is written for it is a schema", hint=hint
        )
    text, said = schema(found, file)
    command = f"kgreason anonymize --method pckga --schema {shlex.quote(str(file))}"
    return Start(file, text, "people", {table.name: (*table.said, *said)}, (command,))


def _nothing(found: Sequence[Edges | Names | Nothing]) -> DataError:
    first = found[0]
    if isinstance(first, Nothing):
        return DataError(first.table.name, f"nothing can be guessed: {first.why}", hint=first.hint)
    table: Found = first.table
    hint = (
        "name a table of edges, too: kgreason init EDGES VERTICES; of people with attributes, one table alone"
    )
    return DataError(table.name, "no table of edges is among these", hint=hint)
