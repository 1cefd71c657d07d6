"""Options that several commands have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from kgreason.cli.completing import rule_files, tables_of_predicates
from kgreason.engine.limits import Limits
from kgreason.lang.names import FileFormat
from kgreason.memory import parse_size

RulesFile = Annotated[
    Path,
    typer.Option("--rules", metavar="FILE", autocompletion=rule_files, help="Rule file (.vada)."),
]
SomeRules = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        autocompletion=rule_files,
        help="Rule file (.vada); not for graphs of people.",
    ),
]
DataFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PRED=FILE",
        autocompletion=tables_of_predicates,
        help="Facts of PRED, in place of its @bind; repeatable. Options follow a question mark and are joined by &: "
        "'own=a.csv?percent=true'",
    ),
]
Original = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="[PRED=]FILE",
        autocompletion=tables_of_predicates,
        help="Facts of PRED under rules, in place of its @bind; without rules a file of triples user, relation, value "
        "or user, or a table with --table. Repeatable. Options follow a question mark and are joined by &: "
        "'own=a.csv?percent=true'",
    ),
]
FunctionFiles = Annotated[
    list[Path] | None,
    typer.Option("--functions", metavar="FILE.py", help="Python file with @kgreason.function definitions."),
]
DEPTH, ROUNDS = Limits().depth, Limits().rounds
Depth = Annotated[
    int,
    typer.Option(
        "--depth",
        min=0,
        metavar="N",
        help="How deep to nest nulls of one kind where rules are not warded, and so need a bound.",
    ),
]
Rounds = Annotated[
    int,
    typer.Option(
        "--rounds", min=1, metavar="N", help="How many rounds to carry out where recursion makes new values."
    ),
]


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


MemoryLimit = Annotated[
    int | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        parser=_size,
        help="Stop before more memory is held, as in 8GB; default: what is free at the start.",
    ),
]
Format = FileFormat
ReleaseFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Of the tables to publish; default: that of the input. Of people and links csv, tsv or parquet.",
    ),
]
Read = Format  # each format that is read is written
K = Annotated[
    int,
    typer.Option(
        "-k", "--k", min=2, metavar="N", help="Number of places, or of users, that look the same; 2 or more."
    ),
]


def _sizes(text: str | range) -> range:
    if isinstance(text, range):  # the default
        return text
    if found := re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", text):
        first, last = int(found[1]), int(found[2] or found[1])
        if 1 <= first <= last:
            return range(first, last + 1)
    raise typer.BadParameter(f"{text[:40]!r} is no number of vertices; say for instance 4, or 2..4")


X = Annotated[
    range,
    typer.Option(
        "-x",
        "--x",
        metavar="X|A..B",
        parser=_sizes,
        show_default="4",
        help="Vertices of the part that an attacker knows, or several numbers, as in 2..4: 1 to 6 for kguard, up to 8 "
        "to be verified.",
    ),
]
DEFAULT_X = range(4, 5)
SomeX = Annotated[
    range | None,
    typer.Option(
        "-x",
        "--x",
        metavar="X|A..B",
        parser=_sizes,
        show_default="2..6",
        help="Vertices of the part that an attacker knows, or several numbers, as in 2..4: 1 to 8.",
    ),
]
Known = Annotated[
    range | None,
    typer.Option(
        "--known",
        metavar="N|A..B",
        parser=_sizes,
        show_default="x, one less and one more",
        help="Vertices of the parts that the attacker knows, at most 8.",
    ),
]
MaxSubgraphs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Refuse graphs with more connected subgraphs of x vertices; default: 10^9, or 10^7 for published.",
    ),
]
Split = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="VERTICES",
        help="Anonymize parts of about so many vertices in parallel and leave out the edges between them: for graphs "
        "too large or too dense as a whole. The verdict says what is lost.",
    ),
]
KeepCuts = Annotated[
    bool,
    typer.Option(
        "--keep-cuts",
        help="With --split: keep the edges between parts, and copy their surroundings so that nothing is lost.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, metavar="N", help="Repeatable randomness: for experiments only."),
]
Release = Annotated[str, typer.Argument(metavar="RELEASE", help="The release: its folder or its table.")]
Releases = Annotated[
    list[str],
    typer.Argument(
        metavar="RELEASE", help="The release: its folder or its table. For kw-tad several, the latest last."
    ),
]
MappingFile = Annotated[
    Path,
    typer.Option(
        "--mapping", metavar="FILE", help="The private folder, or the table original,released in it."
    ),
]
OutFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file or table that is there.")]
Vertices = Annotated[int, typer.Option("-n", min=1, max=100_000_000, metavar="N", help="Number of vertices.")]
