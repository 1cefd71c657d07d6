"""From tables to a first rule file, or to the schema of a graph of people."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgreason.errors import DataError
from kgreason.guess.ends import called, shown
from kgreason.guess.people import attributes, left_out, schema
from kgreason.guess.roles import Edges, Either, Names, Nothing, as_names, keys, role, vertex_key
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
    found = _settled([role(table) for file in files for table in tables(file)])
    edges = [r for r in found if isinstance(r, Edges)]
    named = [r for r in found if isinstance(r, Names)]
    unknown = [r for r in found if isinstance(r, Nothing)]
    if not edges:
        if len(found) == len(named) == 1 and attributes(named[0]):
            return _people(named[0], out)
        raise _nothing([r for r in found if not isinstance(r, Edges)])
    stem = edges[0].table.options.get("table") or edges[0].table.path.name.partition(".")[0]
    file = out or Path(f"{stem}.vada")
    vertices, left = _vertices(edges, named)
    made = program(edges, vertices, file)
    guesses: dict[str, tuple[str, ...]] = {e.table.name: _told(e) for e in edges}
    if made.said:
        guesses[edges[0].table.name] += made.said
    for names in vertices:
        doubts = (f"not sure: {doubt}" for doubt in names.doubts)
        guesses[names.table.name] = (
            *names.table.said,
            f"column {shown(names.name)} names vertices",
            *doubts,
        )
    guesses |= left
    guesses |= {n.table.name: (f"not used: {n.why}",) for n in unknown}
    read = (*(e.table for e in edges), *(n.table for n in vertices))
    rules = shlex.quote(str(file)) + allowance(read, file.parent)
    commands = ("check {}", "reason --rules {}", "risk --rules {}", "anonymize --rules {}")
    return Start(file, made.text, made.kind, guesses, tuple(f"kgreason {c.format(rules)}" for c in commands))


def _told(edges: Edges) -> tuple[str, ...]:
    return (
        *edges.table.said,
        *edges.reasons,
        *(f"wrong: {text}" for text in edges.wrong),
        *(f"not sure: {doubt}" for doubt in edges.doubts),
    )


def _settled(found: Sequence[Edges | Names | Either | Nothing]) -> list[Edges | Names | Nothing]:
    """Tell tables of vertices from tables of edges by what the others hold.

    Raises
    ------
    DataError
        If a table may be either, and no other one tells.
    """
    settled: list[Edges | Names | Nothing] = []
    for one in found:
        if isinstance(one, Names | Nothing):
            settled.append(one)
            continue
        edges = one.edges if isinstance(one, Either) else one
        ends = frozenset(v for other in found if other is not one for v in _ends(other))
        key = vertex_key(edges, ends) if ends else None
        if key is not None:
            taken = f"{called(edges.table, edges.source)},{called(edges.table, edges.target)}"
            reading = edges.table.reading(f"columns={taken}")
            doubt = f"its lines may be edges; the other reading: {reading}"
            settled.append(as_names(edges.table, key, doubt))
        elif isinstance(one, Either):
            raise one.error()
        else:
            settled.append(one)
    if not any(isinstance(one, Edges) for one in settled):
        return [one.edges if isinstance(one, Either) else one for one in found]
    return settled


def _ends(one: Edges | Names | Either | Nothing) -> frozenset[str]:
    edges = one.edges if isinstance(one, Either) else one
    return edges.source.seen | edges.target.seen if isinstance(edges, Edges) else frozenset()


def _vertices(
    edges: Sequence[Edges], named: Sequence[Names]
) -> tuple[list[Names], dict[str, tuple[str, ...]]]:
    """Tables of vertices, by the column that the edges know; and why others are left out."""
    ends = frozenset(v for e in edges if "prefix" not in e.options for v in _ends(e))
    prefixed = frozenset(v for e in edges if "prefix" in e.options for v in _ends(e))
    vertices: list[Names] = []
    left: dict[str, tuple[str, ...]] = {}
    for one in named:
        best = max(keys(one.table), key=lambda c: len(c.seen & ends), default=one.name)
        name = one.name if len(one.name.seen & ends) >= len(best.seen & ends) else best
        if len(name.seen & ends) > 0.1 * len(name.seen):
            vertices.append(one if name is one.name else as_names(one.table, name, *one.doubts))
        elif len(name.seen & prefixed) > 0.1 * len(name.seen):
            left[one.table.name] = ("not used: the edges have a prefix before these numbers",)
        else:
            left[one.table.name] = ("not used: its rows are no ends of the edges",)
    return vertices, left


def _people(found: Names, out: Path | None) -> Start:
    table = found.table
    file = out or Path(f"{table.path.name.partition('.')[0]}.toml")
    if file.suffix != ".toml":
        hint = f"name a file that ends in .toml, for instance --out {file.with_suffix('.toml')}"
        raise DataError(
            str(file), "this table is of people, and what is written for it is a schema", hint=hint
        )
    if len(table.columns) == 2:
        doubt = f"its lines may be edges; the other reading: {_as_edges(table)}"
        found = replace(found, doubts=(*found.doubts, doubt))
    text, said = schema(found, file)
    command = f"kgreason anonymize --method pckga --schema {shlex.quote(str(file))}"
    return Start(file, text, "people", {table.name: (*table.said, *said)}, (command,))


def _nothing(found: Sequence[Names | Nothing]) -> DataError:
    first = found[0]
    if isinstance(first, Nothing):
        return DataError(first.table.name, f"nothing can be guessed: {first.why}", hint=first.hint)
    table: Found = first.table
    hint = "name a table of edges, too: kgreason init EDGES VERTICES"
    if len(found) > 1:
        hint += "; of people with attributes, one table alone"
        return DataError(table.name, "no table of edges is among these", hint=hint)
    if len(table.columns) > 1:
        hint += f"; if its lines are edges: {_as_edges(table)}"
    left = "; ".join(left_out(first))
    why = f"this is no table of edges, and as one of people it has no attribute{f': {left}' if left else ''}"
    return DataError(table.name, why, hint=hint)


def _as_edges(table: Found) -> str:
    """The command that takes the first two columns for the ends of edges."""
    ends = ",".join(called(table, one) for one in table.columns[:2])
    return table.reading(f"columns={ends}")
