"""Commands that make random graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgreason.cli.base import counted, guarded
from kgreason.cli.options import OutFile, Seed, Vertices

if TYPE_CHECKING:
    from kgreason.graph.model import KnowledgeGraph

generate_app = typer.Typer(help="Make a random graph.", no_args_is_help=True)


@generate_app.command("er")
@guarded
def generate_er(
    out: OutFile,
    n: Vertices = 1000,
    m: Annotated[int | None, typer.Option("-m", min=0, help="Number of edges; default n ln(n) / 2.")] = None,
    seed: Seed = None,
) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.erdos_renyi(n, m, rng), out, seed)


@generate_app.command("scale-free")
@guarded
def generate_scale_free(
    out: OutFile,
    n: Vertices = 1000,
    alpha: Annotated[float, typer.Option(help="Exponent of the out-degree distribution, above 1.")] = 3.0,
    economic: Annotated[bool, typer.Option("--economic", help="Incoming weights sum to at most 1.")] = False,
    seed: Seed = None,
) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.scale_free(n, alpha, rng, economic=economic), out, seed)


@generate_app.command("ownership")
@guarded
def generate_ownership(out: OutFile, n: Vertices = 1000, seed: Seed = None) -> int:
    """Company ownership: groups, joint ventures, dispersed holders; incoming shares sum to at most 1."""
    from kgreason.graph import generators

    return _write(lambda rng: generators.ownership(n, rng), out, seed)


def _write(make: Callable[[Any], KnowledgeGraph], out: Path, seed: int | None) -> int:
    import numpy as np

    from kgreason.publication import write_graph

    graph = make(np.random.default_rng(seed))
    write_graph(out, graph)
    isolated = int(((graph.in_degree() + graph.out_degree()) == 0).sum())
    print(f"{out}: {counted(graph.n - isolated, 'vertex', 'vertices')}, {counted(graph.m, 'edge')}")
    if isolated:
        print(
            f"{counted(isolated, 'vertex', 'vertices')} without edges cannot stand in a table of edges",
            file=sys.stderr,
        )
    return 0
