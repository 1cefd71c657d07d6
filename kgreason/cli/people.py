"""What commands on graphs of people share: which files, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

import typer

from kgreason.cli.every import parameter
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
FILES = (
    parameter(
        *("attributes", list[str] | None, None), metavar="NAME,...", help="Attributes whose values are names."
    ),
    parameter(
        *("numeric", list[str] | None, None), metavar="NAME,...", help="Attributes whose values are numbers."
    ),
    parameter(*("relations", list[str] | None, None), metavar="NAME,...", help="Relations between users."),
    parameter(
        *("mutual", list[str] | None, None),
        metavar="NAME,...",
        help="Relations whose links run both ways, as married.",
    ),
    parameter(
        *("table", bool, False),
        help="The files are tables; FILE?id=COLUMN says which column names the users.",
    ),
)
"""What files of people hold, where no schema says it; see `Kinds`."""


class Kinds(TypedDict):
    """Values of `FILES`."""

    attributes: Sequence[str] | None
    numeric: Sequence[str] | None
    relations: Sequence[str] | None
    mutual: Sequence[str] | None
    table: bool


def kinds_of(options: dict[str, Any]) -> Kinds:
    """Take the values of `FILES` out of those of a command."""
    return cast(Kinds, {option.name: options.pop(option.name) for option in FILES})


def the_schema(files: Sequence[str] | None, schema: Path | None, kinds: Kinds) -> Schema:
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
        if files or any(kinds.values()):
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
    attributes, numeric, relations, mutual = (
        [name for text in given or () for name in text.split(",")]
        for given in (kinds["attributes"], kinds["numeric"], kinds["relations"], kinds["mutual"])
    )
    return schema_of_options(
        files,
        attributes=attributes,
        numeric=numeric,
        relations=relations,
        mutual=mutual,
        table=kinds["table"],
    )
