"""From tables to a first rule file, or to the schema of a table of people."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgreason.analysis.reach import Reach
from kgreason.errors import DataError
from kgreason.init.columns import Column
from kgreason.init.roles import guess, keys, settle
from kgreason.init.rules import relative, render, rules
from kgreason.init.tables import Table, tables
from kgreason.lang.names import SERVERS


@dataclass(frozen=True)
class Start:
    """A first rule file or schema.

    Attributes
    ----------
    file, text
        Where it belongs, and what it holds.
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
    guesses: dict[str, list[str]]
    next: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        named = {"file": str(self.file), "kind": self.kind, "tables": self.guesses, "next": self.next}
        return {"format": 1, **named}


def start(files: Sequence[str], out: Path | None = None) -> Start:
    """Guess what tables hold, and write a rule file for them.

    Parameters
    ----------
    files
        Names of files; options may follow a question mark.
    out
        Where the rule file belongs; `None`: in the working directory, called after the first table.

    Raises
    ------
    DataError
        If a file cannot be read, or nothing can be guessed; the hint says what to write instead.
    """
    found = [table for file in files for table in tables(file)]
    for table in found:
        guess(table)
    settle(found)
    edges = [table for table in found if "source" in table.roles]
    if not edges and len(found) == 1 and found[0].error is None:
        return _people(found[0], out)
    if not edges:
        hint = "name a table of edges, too: kgreason init EDGES VERTICES; of people with attributes, one table alone"
        raise found[0].error or DataError(found[0].name, "no table of edges is among these", hint=hint)
    file = out or Path(f"{edges[0].stem}.vada")
    left = {table.name: [f"not used: {why}"] for table in found if (why := _unused(table, edges))}
    vertices = [table for table in found if table not in edges and table.name not in left]
    reach = Reach(file.parent)
    inside = all(t.format not in SERVERS and reach.reads(t.path) for t in (*edges, *vertices))
    steps = ("check", "reason --rules", "risk --rules", "anonymize --rules")
    commands = [f"kgreason {step} {{}}{'' if inside else ' --allow-files'}" for step in steps]
    text, kind = rules(edges, vertices, file, [c.format(shlex.quote(file.name)) for c in commands])
    guesses = {table.name: table.guesses for table in (*edges, *vertices)} | left
    return Start(file, text, kind, guesses, [c.format(shlex.quote(str(file))) for c in commands])


def _unused(table: Table, edges: Sequence[Table]) -> str:
    """Why a table is left out; the key of a table of vertices becomes the column that the edges know best."""
    if table in edges or table.error is not None:
        return "" if table.error is None else table.error.message
    ends = {v for one in edges if "prefix" not in one.added for v in one.ends}
    prefixed = {v for one in edges if "prefix" in one.added for v in one.ends}
    key = max((table.roles["key"], *keys(table)), key=lambda c: len(c.counts.keys() & ends))
    table.roles["key"] = key
    if len(key.counts.keys() & ends) > 0.1 * key.distinct:
        table.notes.append(f"column {key} names vertices")
        return ""
    if len(key.counts.keys() & prefixed) > 0.1 * key.distinct:
        return "the edges have a prefix before these numbers"
    return "its rows are no ends of the edges"


def _people(table: Table, out: Path | None) -> Start:
    """The schema of a table with a line per person.

    Raises
    ------
    DataError
        If no column is an attribute, or the file is not called as a schema.
    """
    key = table.roles["key"]
    left = {c: f"column {c} {why}, so it is left out" for c in table.unread if (why := _why_left(c))}
    kept = [c for c in table.unread if c not in left]
    if not kept:
        hint = "name a table of edges, too: kgreason init EDGES VERTICES"
        if left:
            hint += f"; if its lines are edges: {table.reading(*table.columns[:2])}"
        why = "this is no table of edges, and as one of people it has no attribute"
        raise DataError(table.name, f"{why}{': ' if left else ''}{'; '.join(left.values())}", hint=hint)
    file = out or Path(f"{table.path.name.partition('.')[0]}.toml")
    if file.suffix != ".toml":
        hint = f"name a file that ends in .toml, for instance --out {file.with_suffix('.toml')}"
        raise DataError(
            str(file), "this table is of people, and what is written for it is a schema", hint=hint
        )
    numeric = [c for c in kept if c.numeric and not (c.others or c.marked or c.comma)]
    table.notes += [
        f"column {key} names the users: it has another value in each row",
        *left.values(),
        *(
            f"column {c} has decimal commas or other marks, so its numbers are taken for categories"
            for c in kept
            if c.numeric and c not in numeric
        ),
    ]
    if len(table.columns) == 2:
        table.doubt("its lines may be edges", *table.columns)
    command = "kgreason anonymize --method pckga --schema {}".format
    text = render(
        "schema.toml.j2",
        table=table,
        command=command(shlex.quote(file.name)),
        file=relative(table.path, file.parent),
        key=key,
        kinds={"numeric": numeric, "categorical": [c for c in kept if c not in numeric], "ignore": [*left]},
    )
    return Start(file, text, "people", {table.name: table.guesses}, [command(shlex.quote(str(file)))])


def _why_left(one: Column) -> str:
    """Why a column is no attribute of people."""
    if one.missing == one.rows:
        return "is empty"
    if one.nested:
        return "holds lists, objects or bytes"
    if not one.missing and one.distinct == 1 < one.rows:
        return "has the same value in each row"
    names_its_row = not one.fraction and one.distinct > 0.9 * max(2, one.rows - one.missing)
    return "has another value in nearly each row" if names_its_row else ""
