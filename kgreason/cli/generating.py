"""Commands that make random graphs: generate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgreason.cli import options
from kgreason.cli.commands import check_free, counted, group, guarded, print_json
from kgreason.cli.options import WRITTEN, option, taking
from kgreason.cli.run import tell

if TYPE_CHECKING:
    import numpy as np

    from kgreason.graph.knowledge_graph import KnowledgeGraph

N = option("-n N", int, "Number of vertices.", 1000, min=1, max=100_000_000)


@guarded
@taking(options.OUT, N, option("-m", int | None, "Number of edges; default n ln(n) / 2.", min=0), *WRITTEN)
def er(n: int, m: int | None, **more: Any) -> int:
    """Erdős–Rényi D(n, M) with uniform weights."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.erdos_renyi(n, m, rng), **more)


@guarded
@taking(
    options.OUT,
    N,
    option("--alpha", float, "Exponent of the out-degree distribution, above 1.", 3.0),
    option("--economic", bool, "Incoming weights sum to at most 1."),
    *WRITTEN,
)
def scale_free(n: int, alpha: float, economic: bool, **more: Any) -> int:
    """Out-degrees by a power law, uniform targets."""
    from kgreason.graph import generators

    return _graph(lambda rng: generators.scale_free(n, alpha, rng, economic=economic), **more)


@guarded
@taking(options.OUT, N, *WRITTEN)
def ownership(n: int, **more: Any) -> int:
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


generate_app = group("Make a random graph.", er, scale_free, ownership)
