"""Command that makes up the k of each user: generate-k."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgreason.cli import options
from kgreason.cli.commands import check_free, counted, group, guarded, print_json, the_schema
from kgreason.cli.options import FILES, WRITTEN, option, taking

if TYPE_CHECKING:
    from kgreason.people.anonymity_levels import Levels
    from kgreason.people.model import PeopleGraph


def _range(text: str | tuple[int, int, int]) -> tuple[int, int, int]:
    if isinstance(text, tuple):  # the default
        return text
    if found := re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})-([0-9]{1,18})", text):
        return int(found[1]), int(found[2]), int(found[3])
    raise typer.BadParameter(f"{text!r} is no range LOW-HIGH-STEP; say for instance 2-5-1 or 5-50-5")


RANGE = option(
    "--range LOW-HIGH-STEP", Any, "The levels, as in 2-5-1 or 5-50-5.", "2-5-1", parser=_range, name="steps"
)
Steps = tuple[int, int, int]


@guarded
@taking(
    options.OUT,
    options.SOURCES,
    RANGE,
    option("--alpha", float, "Exponent of the Zipf distribution, above 1.", 2.0),
    *WRITTEN,
    *FILES,
)
def zipf(steps: Steps, alpha: float, seed: int | None, **more: Any) -> int:
    """Random levels, low ones by far the most frequent."""
    import numpy as np

    from kgreason.people.anonymity_levels import zipf_levels

    rng = np.random.default_rng(seed)
    return _levels(lambda graph: zipf_levels(graph, *steps, alpha, rng), **more)


@guarded
@taking(options.OUT, options.SOURCES, RANGE, options.FORCE, options.AS_JSON, *FILES)
def te(steps: Steps, **more: Any) -> int:
    """Levels that grow with the number of a user's edges."""
    from kgreason.people.anonymity_levels import te_levels

    return _levels(lambda graph: te_levels(graph, *steps), **more)


def _levels(
    make: Callable[[PeopleGraph], Levels],
    out: Path,
    data: Sequence[str] | None,
    force: bool,
    as_json: bool,
    **files: Any,
) -> int:
    import numpy as np

    from kgreason.cli.terminal import progress
    from kgreason.people.anonymity_levels import write_levels
    from kgreason.people.reading import read as read_people

    with progress() as shown:
        graph = read_people(the_schema(data, files), shown)
    levels = make(graph)
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


levels_app = group("Make up the k of each user, for experiments.", zipf, te)
