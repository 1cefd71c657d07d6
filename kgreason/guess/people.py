"""A first schema for a table with a line per person."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

from kgreason.guess.columns import Column
from kgreason.guess.ends import shown
from kgreason.guess.roles import Names
from kgreason.guess.tables import one_line, relative


def schema(found: Names, out: Path) -> tuple[str, tuple[str, ...]]:
    """Write the schema of a table, and say what was guessed.

    Parameters
    ----------
    out
        Where it will stand; the table is named as seen from there.
    """
    table = found.table
    kept = attributes(found)
    numeric = [c for c in kept if c.numeric and not c.others and not c.marked and not c.comma]
    categorical = [c for c in kept if c not in numeric]
    ignored = [c for c in table.columns if c is not found.name and c not in kept]
    said = [f"column {shown(found.name)} names the users: it has another value in each row"]
    said += left_out(found)
    said += [
        f"column {shown(c)} has decimal commas or other marks, so its numbers are taken for categories"
        for c in categorical
        if c.numeric
    ]
    said += [f"not sure: {doubt}" for doubt in found.doubts]
    options = [f'id = "{_escaped(found.name.name)}"', f"header = {'true' if table.raw.named else 'false'}"]
    if "delimiter" in table.options:
        options.append(f'delimiter = "{_escaped(table.options["delimiter"])}"')
    if "encoding" in table.options:
        options.append(f'encoding = "{table.options["encoding"]}"')
    lines = [
        f"# {one_line(str(table.path))}: a line per user, guessed by `kgreason init`. Look at [kinds], then change "
        "what is wrong.",
        "#",
        f"#   kgreason anonymize --method pckga --schema {quote(one_line(out.name))}",
        "#",
        *(f"# {text[:1].upper()}{one_line(text[1:])}." for text in said),
        "",
        "[[tables]]",
        f'files = ["{_escaped(relative(table.path, out.parent))}"]',
        *options,
        "",
        "[kinds]",
        f"numeric = {_list(numeric)}",
        f"categorical = {_list(categorical)}",
        "# Columns that tell nothing, and those whose values name their user, which must not be published.",
        f"ignore = {_list(ignored)}",
        "",
    ]
    return "\n".join(lines), tuple(said)


def left_out(found: Names) -> list[str]:
    """Say why columns of a table of people are no attributes."""
    said = []
    for c in found.table.columns:
        if c is found.name or (c.telling and not _names_its_row(c)):
            continue
        why = "has another value in nearly each row" if c.telling else "has the same value in each row"
        said.append(f"column {shown(c)} {'is empty' if c.missing == c.rows else why}, so it is left out")
    return said


def attributes(found: Names) -> list[Column]:
    """Columns of a table of people that are kept."""
    return [c for c in found.attributes if not _names_its_row(c)]


def _names_its_row(one: Column) -> bool:
    """Whether nearly each value is of one row, as an account number is."""
    return not (one.numeric and not one.whole) and one.distinct > 0.9 * max(2, sum(map(bool, one.values)))


def _list(columns: list[Column]) -> str:
    return "[" + ", ".join(f'"{_escaped(c.name)}"' for c in columns) + "]"


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
