"""What commands on graphs of people share: which files, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgreason.errors import CallError
from kgreason.passwords import hidden

if TYPE_CHECKING:
    from kgreason.graph.people.sources import Schema

PeopleFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="A file of triples user, relation, value or user, or with --table a table with a line per user; "
        "repeatable. Options follow a question mark: 'facts.txt?header=true&skip=1'.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="Schema (.toml) that names the files and what they hold."),
]
Attributes = Annotated[
    list[str] | None,
    typer.Option("--attributes", metavar="NAME,...", help="Attributes whose values are names."),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="NAME,...", help="Attributes whose values are numbers."),
]
Relations = Annotated[
    list[str] | None, typer.Option("--relations", metavar="NAME,...", help="Relations between users.")
]
Mutual = Annotated[
    list[str] | None,
    typer.Option("--mutual", metavar="NAME,...", help="Relations whose links run both ways, as married."),
]
IsTable = Annotated[
    bool,
    typer.Option("--table", help="The files are tables; FILE?id=COLUMN says which column names the users."),
]


def the_schema(
    files: Sequence[str] | None,
    schema: Path | None,
    attributes: Sequence[str] | None,
    numeric: Sequence[str] | None,
    relations: Sequence[str] | None,
    mutual: Sequence[str] | None,
    table: bool,
) -> Schema:
    """Where the graph is that the options name.

    Raises
    ------
    CallError
        If they name none, or a schema and files.
    DataError
        If the schema is at fault.
    """
    from kgreason.graph.people.schema import read_schema, schema_of_options

    if schema is not None:
        if files or attributes or numeric or relations or mutual or table:
            raise CallError(
                "the schema says what is read", hint="leave out --data and the options of files, or --schema"
            )
        return read_schema(schema)
    if not files:
        raise CallError("no data are named", hint="name files with --data, or a schema with --schema")
    for text in files:
        predicate, equals, file = text.partition("=")
        if equals and predicate.isidentifier() and not Path(text).exists():
            hint = f"say --rules FILE, or --data {file}"
            raise CallError(f"--data {hidden(text)} is of rules, and none are named", hint=hint)
    return schema_of_options(
        files,
        attributes=_split(attributes),
        numeric=_split(numeric),
        relations=_split(relations),
        mutual=_split(mutual),
        table=table,
    )


def _split(given: Sequence[str] | None) -> list[str]:
    return [name for text in given or () for name in text.split(",")]
