"""Commands that make random graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgreason.cli.base import check_free, counted, guarded, print_json
from kgreason.cli.options import AsJson, Force, OutFile, Seed, Vertices
from kgreason.cli.run import tell

if TYPE_CHECKING:
    from kgreason.graph.links.model import Original
    from kgreason.graph.model import KnowledgeGraph
    from kgreason.graph.model import Vertices as Ints

generate_app = typer.Typer(help="Make a random graph.", no_args_is_help=True)


@generate_app.command("er")
@guarded
def generate_er(
    out: OutFile,
    n: Vertices = 1000,
    m: Annotated[int | None, typer.Option("-m", min=0, help="Number of edges; default n ln(n) / 2.")] = None,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.erdos_renyi(n, m, rng), out, seed, force, as_json)


@generate_app.command("scale-free")
@guarded
def generate_scale_free(
    out: OutFile,
    n: Vertices = 1000,
    alpha: Annotated[float, typer.Option(help="Exponent of the out-degree distribution, above 1.")] = 3.0,
    economic: Annotated[bool, typer.Option("--economic", help="Incoming weights sum to at most 1.")] = False,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _write(
        lambda rng: generators.scale_free(n, alpha, rng, economic=economic), out, seed, force, as_json
    )


@generate_app.command("ownership")
@guarded
def generate_ownership(
    out: OutFile, n: Vertices = 1000, seed: Seed = None, force: Force = False, as_json: AsJson = False
) -> int:
    """Company ownership: groups, joint ventures, dispersed holders; incoming shares sum to at most 1."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.ownership(n, rng), out, seed, force, as_json)


def _write(
    make: Callable[[Any], KnowledgeGraph], out: Path, seed: int | None, force: bool, as_json: bool
) -> int:
    import numpy as np

    from kgreason.isomorphism.tables import write_graph

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


@generate_app.command("school")
@guarded
def generate_school(
    out: OutFile,
    students: Annotated[int, typer.Option(min=1, help="Number of students.")] = 100,
    classes: Annotated[int, typer.Option(min=0, help="Number of classes.")] = 10,
    groups: Annotated[int, typer.Option(min=0, help="Number of research groups.")] = 10,
    classes_each: Annotated[int, typer.Option(min=0, help="Classes that each student takes.")] = 2,
    groups_each: Annotated[int, typer.Option(min=0, help="Groups that each student belongs to.")] = 1,
    class_size: Annotated[int, typer.Option(min=0, help="Most students of a class.")] = 25,
    group_size: Annotated[int, typer.Option(min=0, help="Most students of a group.")] = 15,
    leak: Annotated[
        float, typer.Option(min=0, max=1, help="Probability of a friendship without a cause.")
    ] = 0.2,
    class_weight: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that a shared class causes one.")
    ] = 0.4,
    group_weight: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that a shared group causes one.")
    ] = 0.6,
    seed: Seed = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Students with classmates, groupmates and friends: triples user, relation, target, a row for each shared class."""
    import numpy as np

    from kgreason.graph.links.read import write_triples
    from kgreason.graph.links.school import school

    check_free(out, force)
    drawn = school(
        np.random.default_rng(seed),
        students=students,
        classes=classes,
        groups=groups,
        classes_each=classes_each,
        groups_each=groups_each,
        class_size=class_size,
        group_size=group_size,
        leak=leak,
        class_weight=class_weight,
        group_weight=group_weight,
    )
    write_triples(out, drawn)
    links = {
        **{name: found.total for name, found in drawn.graph.observed.items()},
        "friends": len(drawn.sensitive),
    }
    if as_json:
        print_json({"format": 1, "file": str(out), "students": drawn.graph.n, "links": links})
    else:
        told = ", ".join(f"{number:,} links of {name}" for name, number in links.items())
        print(f"{out}: {counted(drawn.graph.n, 'student')}, {told}")
    alone = set(range(drawn.graph.n)) - {int(u) for ends in _ends(drawn) for u in ends}
    if alone:
        tell(f"{counted(len(alone), 'student')} without links cannot stand in a table of links")
    return 0


def _ends(drawn: Original) -> Iterator[Ints]:
    """Ends of the links of all relations."""
    for found in drawn.graph.observed.values():
        yield from (found.source, found.target)
    yield from (drawn.sensitive.source, drawn.sensitive.target)
