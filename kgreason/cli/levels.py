"""Commands that make up the anonymity levels of users."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgreason.cli.base import check_free, counted, guarded, print_json
from kgreason.cli.every import taking
from kgreason.cli.options import AsJson, Force, OutFile, Seed
from kgreason.cli.people import FILES, PeopleFiles, SchemaFile, kinds_of, the_schema

if TYPE_CHECKING:
    from kgreason.graph.people.levels import Levels
    from kgreason.graph.people.model import PeopleGraph

levels_app = typer.Typer(help="Make up the k of each user, for experiments.", no_args_is_help=True)


def _range(text: str | tuple[int, int, int]) -> tuple[int, int, int]:
    if isinstance(text, tuple):  # the default
        return text
    if found := re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,18})", text):
        return int(found[1]), int(found[2]), int(found[3])
    raise typer.BadParameter(f"{text!r} is no range LOW-HIGH-STEP; say for instance 2-5-1 or 5-50-5")


Range = Annotated[
    Any,
    typer.Option(
        "--range", metavar="LOW-HIGH-STEP", parser=_range, help="The levels, as in 2-5-1 or 5-50-5."
    ),
]


@levels_app.command("zipf")
@guarded
@taking(*FILES)
def zipf(
    out: OutFile,
    data: PeopleFiles = None,
    range: Range = "2-5-1",
    alpha: Annotated[float, typer.Option(help="Exponent of the Zipf distribution, above 1.")] = 2.0,
    schema: SchemaFile = None,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
    **more: Any,
) -> int:
    """Random levels, low ones by far the most frequent."""
    import numpy as np

    from kgreason.graph.people.levels import zipf_levels
    from kgreason.graph.people.read import read_people
    from kgreason.terminal import progress

    rng = np.random.default_rng(seed)
    low, high, step = range
    with progress() as shown:
        graph = read_people(the_schema(data, schema, kinds_of(more)), shown)
    return _write(out, graph, zipf_levels(graph, low, high, step, alpha, rng), force, as_json)


@levels_app.command("te")
@guarded
@taking(*FILES)
def te(
    out: OutFile,
    data: PeopleFiles = None,
    range: Range = "2-5-1",
    schema: SchemaFile = None,
    force: Force = False,
    as_json: AsJson = False,
    **more: Any,
) -> int:
    """Levels that grow with the number of a user's edges."""
    from kgreason.graph.people.levels import te_levels
    from kgreason.graph.people.read import read_people
    from kgreason.terminal import progress

    with progress() as shown:
        graph = read_people(the_schema(data, schema, kinds_of(more)), shown)
    return _write(out, graph, te_levels(graph, *range), force, as_json)


def _write(out: Path, graph: PeopleGraph, levels: Levels, force: bool, as_json: bool) -> int:
    import numpy as np

    from kgreason.graph.people.levels import write_levels

    check_free(out, force)
    write_levels(out, graph, levels)
    drawn = {int(k): int(n) for k, n in zip(*np.unique(levels, return_counts=True), strict=True)}
    if as_json:
        print_json({"format": 1, "file": str(out), "users": graph.n, "k": drawn})
        return 0
    print(f"{out}: {counted(graph.n, 'user')}")
    for level, number in drawn.items():
        print(f"  k = {level}: {number:,}")
    return 0
