"""Commands that make up what there is no data of: random graphs (generate), and the k of each user (generate-k)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kgreason.cli import options
from kgreason.cli.commands import check_free, counted, guarded, print_json, the_schema
from kgreason.cli.options import FILES, option, taking
from kgreason.cli.run import tell

if TYPE_CHECKING:
    import numpy as np

    from kgreason.graph.knowledge_graph import KnowledgeGraph
    from kgreason.people.anonymity_levels import Levels
    from kgreason.people.model import PeopleGraph

generate_app = typer.Typer(help="Make a random graph.", no_args_is_help=True)
levels_app = typer.Typer(help="Make up the k of each user, for experiments.", no_args_is_help=True)
N = option("-n N", int, "Number of vertices.", 1000, min=1, max=100_000_000)
WRITTEN = options.SEED, options.FORCE, options.AS_JSON


@generate_app.command("er")
@guarded
@taking(options.OUT, N, option("-m", int | None, "Number of edges; default n ln(n) / 2.", min=0), *WRITTEN)
def generate_er(n: int, m: int | None, **more: Any) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.erdos_renyi(n, m, rng), **more)


@generate_app.command("scale-free")
@guarded
@taking(
    options.OUT,
    N,
    option("--alpha", float, "Exponent of the out-degree distribution, above 1.", 3.0),
    option("--economic", bool, "Incoming weights sum to at most 1."),
    *WRITTEN,
)
def generate_scale_free(n: int, alpha: float, economic: bool, **more: Any) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.scale_free(n, alpha, rng, economic=economic), **more)


@generate_app.command("ownership")
@guarded
@taking(options.OUT, N, *WRITTEN)
def generate_ownership(n: int, **more: Any) -> int:
    """Company ownership: groups, joint ventures, dispersed holders; incoming shares sum to at most 1."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.ownership(n, rng), **more)


def _graph(
    make: Callable[[np.random.Generator], KnowledgeGraph],
    out: Path,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> int:
    import numpy as np

    from kgreason.isomorphism.release_tables import write_graph

    check_free(out, force)
    graph = make(np.random.default_rng(seed))
    write_graph(out, graph)
    isolated = int(((graph.in_degree() + graph.out_degree()) == 0).sum())
    if as_json:
        print_json({"format": 1, "file": str(out), "vertices": graph.n - isolated, "edges": graph.m})
    else:
        print(f"{out}: {counted(graph.n - isolated, 'vertex', 'vertices')}, {counted(graph.m, 'edge')}")
    if isolated:
        tell(f"{counted(isolated, 'vertex', 'vertices')} without edges cannot stand in a table of edges")
    return 0


_most = partial(option, min=0)
_probability = partial(option, min=0, max=1)


@generate_app.command("school")
@guarded
@taking(
    options.OUT,
    option("--students", int, "Number of students.", 100, min=1),
    _most("--classes", int, "Number of classes.", 10),
    _most("--groups", int, "Number of research groups.", 10),
    _most("--classes-each", int, "Classes that each student takes.", 2),
    _most("--groups-each", int, "Groups that each student belongs to.", 1),
    _most("--class-size", int, "Most students of a class.", 25),
    _most("--group-size", int, "Most students of a group.", 15),
    _probability("--leak", float, "Probability of a friendship without a cause.", 0.2),
    _probability("--class-weight", float, "Probability that a shared class causes one.", 0.4),
    _probability("--group-weight", float, "Probability that a shared group causes one.", 0.6),
    *WRITTEN,
)
def generate_school(out: Path, seed: int | None, force: bool, as_json: bool, **said: Any) -> int:
    """Students with classmates, groupmates and friends: triples user, relation, target, a row for each shared class."""
    import numpy as np

    from kgreason.links.reading import write_triples
    from kgreason.links.school import school

    check_free(out, force)
    drawn = school(np.random.default_rng(seed), **said)
    write_triples(out, drawn)
    observed = drawn.graph.observed
    links = {name: found.total for name, found in observed.items()} | {"friends": len(drawn.sensitive)}
    if as_json:
        print_json({"format": 1, "file": str(out), "students": drawn.graph.n, "links": links})
    else:
        told = ", ".join(f"{number:,} links of {name}" for name, number in links.items())
        print(f"{out}: {counted(drawn.graph.n, 'student')}, {told}")
    drawn_links: list[Any] = [*observed.values(), drawn.sensitive]
    ends = [end for found in drawn_links for end in (found.source, found.target)]
    if alone := drawn.graph.n - len(np.unique(np.concatenate(ends))):
        tell(f"{counted(alone, 'student')} without links cannot stand in a table of links")
    return 0


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


@levels_app.command("zipf")
@guarded
@taking(
    options.OUT,
    options.PEOPLE_DATA,
    RANGE,
    option("--alpha", float, "Exponent of the Zipf distribution, above 1.", 2.0),
    options.SCHEMA,
    *WRITTEN,
    *FILES,
)
def zipf(steps: Steps, alpha: float, seed: int | None, **more: Any) -> int:
    """Random levels, low ones by far the most frequent."""
    import numpy as np

    from kgreason.people.anonymity_levels import zipf_levels

    rng = np.random.default_rng(seed)
    return _levels(lambda graph: zipf_levels(graph, *steps, alpha, rng), **more)


@levels_app.command("te")
@guarded
@taking(options.OUT, options.PEOPLE_DATA, RANGE, options.SCHEMA, options.FORCE, options.AS_JSON, *FILES)
def te(steps: Steps, **more: Any) -> int:
    """Levels that grow with the number of a user's edges."""
    from kgreason.people.anonymity_levels import te_levels

    return _levels(lambda graph: te_levels(graph, *steps), **more)


def _levels(
    make: Callable[[PeopleGraph], Levels],
    out: Path,
    data: list[str] | None,
    schema: Path | None,
    force: bool,
    as_json: bool,
    **files: Any,
) -> int:
    import numpy as np

    from kgreason.cli.terminal import progress
    from kgreason.people.anonymity_levels import write_levels
    from kgreason.people.reading import read as read_people

    with progress() as shown:
        graph = read_people(the_schema(data, schema, files), shown)
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
