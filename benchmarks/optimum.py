"""Least additions on tiny graphs, by answer set programming, beside those of KGUARD: ``python benchmarks/optimum.py``.

`least` finds a *faithful* release (see `bounds`) with the fewest additions, edges and new vertices together, that
satisfies item 4 of Definition 4.1, degrees and connection included. Limits of the search: at most `spares` new
vertices, no parallel synthetic edges and no loops, and weights of some levels only, each of which the rules see as
one (control: a majority, or so little that no sum of them is one). The rules must derive the same from a set of
vertices whose weights are replaced by their levels.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from statistics import median

import clingo
import networkx as nx
import numpy as np
from bounds import lower_bound

import kgreason
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.arguments import anonymizable
from kgreason.language.check.checked_program import CheckedProgram

ROOT = Path(__file__).resolve().parent.parent

# Facts: ground(U,V,L), may(U,V), level(L), most(L,N) edges of a level into a vertex; attacked subgraphs S with vertex V
# at position P: at(S,P,V); options O for the levels of their edges: wants(S,O,P,Q,L). Images J of S: image(S,J,P,V).
RULES = """
vertex(0..n+spares-1).  new(n..n+spares-1).
{ add(U,V,L) : level(L) } 1 :- may(U,V).
edge(U,V,L) :- ground(U,V,L).
edge(U,V,L) :- add(U,V,L).
joined(U,V) :- edge(U,V,_).
:- most(L,N), vertex(V), N+1 { edge(U,V,L) }.

degree(in,V,D) :- vertex(V), D = 0..n+spares-1, D { joined(U,V) : vertex(U) } D.
degree(out,V,D) :- vertex(V), D = 0..n+spares-1, D { joined(V,U) : vertex(U) } D.
alike(U,V) :- degree(F,U,D), degree(F,V,D), U != V.

1 { image(S,J,P,V) : vertex(V), not at(S,_,V) } 1 :- at(S,P,_), J = 2..k.
1 { takes(S,J,O) : option(S,O) } 1 :- option(S,_), J = 2..k.
:- at(S,_,_), vertex(V), 2 { image(S,J,P,V) }.
:- image(S,J,P,V), image(S,J,Q,W), at(S,P,T), at(S,Q,U), P != Q, ground(T,U,_), not joined(V,W).
:- image(S,J,P,V), image(S,J,Q,W), at(S,P,T), at(S,Q,U), P != Q, joined(V,W), not ground(T,U,_).
:- takes(S,J,O), wants(S,O,P,Q,L), image(S,J,P,V), image(S,J,Q,W), not edge(V,W,L).
:- image(S,J,P,V), at(S,P,T), alike(T,V).
:- image(S,I,P,V), image(S,J,P,W), I < J, alike(V,W).
:- image(S,J,0,V), image(S,J+1,0,W), V > W.

used(V) :- new(V), joined(V,_).
used(V) :- new(V), joined(_,V).
:- used(V), V > n, not used(V-1).
reached(0).
reached(V) :- reached(U), joined(U,V).
reached(V) :- reached(U), joined(V,U).
:- vertex(V), not new(V), not reached(V).
:- used(V), not reached(V).
#minimize { 1,U,V : add(U,V,_); 1,V : used(V) }.
#show used/1.  #show add/3.
#defined ground/3.  #defined most/2.  #defined wants/5.  #defined may/2.
"""


@dataclass(frozen=True)
class Least:
    """Result of the search.

    Attributes
    ----------
    edges
        Synthetic edges with their levels; `None` if no release was found. Vertices from ``graph.n`` on are new.
    vertices
        Number of new vertices.
    proven
        Whether no release adds less.
    """

    edges: Sequence[tuple[int, int, int]] | None
    vertices: int
    proven: bool

    @property
    def additions(self) -> int | None:
        """Number of edges and vertices."""
        return None if self.edges is None else len(self.edges) + self.vertices


def least(
    graph: KnowledgeGraph,
    rules: CheckedProgram,
    k: int,
    x: int,
    levels: Sequence[float],
    spares: int = 2,
    seconds: float = 60.0,
) -> Least:
    """Find the fewest additions of a faithful release of a graph with one relation.

    Parameters
    ----------
    levels
        Weight of each level, ascending: every weight counts as the greatest of them that is not greater.
    seconds
        Limit of the search, in processor time.
    """
    sizes = [f"-c {name}={value}" for name, value in (("n", graph.n), ("spares", spares), ("k", k))]
    control = clingo.Control([word for size in sizes for word in size.split()])
    control.add("base", [], RULES + "\n".join(facts(graph, rules, x, levels, spares)))
    control.ground([("base", [])])
    found, proven, end = Least(None, 0, False), False, time.process_time() + seconds
    with control.solve(yield_=True, async_=True) as search:
        while not proven:
            search.resume()
            while not (ready := search.wait(0.1)) and time.process_time() < end:
                pass
            if not ready:
                search.cancel()
                break
            if (model := search.model()) is None:
                proven = True
            else:
                shown = model.symbols(shown=True)
                rows = ([a.number for a in one.arguments] for one in shown if one.name == "add")
                edges = sorted((u, v, level) for u, v, level in rows)
                found = Least(edges, len(shown) - len(edges), False)
    return replace(found, proven=proven)


def facts(
    graph: KnowledgeGraph, rules: CheckedProgram, x: int, levels: Sequence[float], spares: int
) -> Iterator[str]:
    """Facts about a graph, its attacked subgraphs and the edges that may be added."""
    ((name, relation),) = graph.relations.items()
    weights = relation.weight if relation.weight is not None else np.full(len(relation), levels[-1])
    at = np.searchsorted(levels, weights, side="right") - 1
    edges = dict(
        zip(zip(relation.source.tolist(), relation.target.tolist(), strict=True), at.tolist(), strict=True)
    )
    if len(edges) < graph.m or any(u == v for u, v in edges) or at.min(initial=0) < 0:
        raise ValueError("the graph has loops, parallel edges or weights below all levels")
    yield from (f"ground({u},{v},{level})." for (u, v), level in edges.items())
    yield from (f"level({level})." for level in range(len(levels)))
    if bound := rules.incoming_sums.get(name):
        yield from (f"most({level},{int(bound / weight)})." for level, weight in enumerate(levels))
    plain = nx.Graph([*edges])
    plain.add_nodes_from(range(graph.n))
    near = {u: set(reached) for u, reached in nx.all_pairs_shortest_path_length(plain, cutoff=x - 1)}
    every = range(graph.n + spares)
    yield from (f"may({u},{v})." for u, v in product(every, every) if u != v and v not in near.get(u, ()))

    @cache
    def derived(y: int, inside: tuple[tuple[int, int, int], ...]) -> bytes:
        rows = [(str(p), str(q), levels[level]) for p, q, level in inside]
        small = KnowledgeGraph.from_edges(rows, name, [str(p) for p in range(y)])
        return InducedReasoner(small, rules).derived(np.arange(y)[None]).tobytes()

    sets = [
        chosen
        for component in nx.connected_components(plain)
        for chosen in combinations(sorted(component), min(x, len(component)))
        if nx.is_connected(plain.subgraph(chosen))
    ]
    reasoner = InducedReasoner(graph, rules)
    for s, chosen in enumerate(sets):
        yield from (f"at({s},{p},{v})." for p, v in enumerate(chosen))
        y, places = len(chosen), range(len(chosen))
        arcs = [(p, q) for p, q in product(places, places) if (chosen[p], chosen[q]) in edges]
        found = derived(y, tuple((p, q, edges[chosen[p], chosen[q]]) for p, q in arcs))
        if found != reasoner.derived(np.array([chosen])).tobytes():
            raise ValueError("the rules derive something else from the levels of the weights")
        for option, those in enumerate(product(range(len(levels)), repeat=len(arcs))):
            inside = tuple((p, q, level) for (p, q), level in zip(arcs, those, strict=True))
            if derived(y, inside) == found:
                yield f"option({s},{option})."
                yield from (f"wants({s},{option},{p},{q},{level})." for p, q, level in inside)


LEVELS = {"reachability": (0.1,), "control": (0.01, 0.51)}


def random_graph(rules: str, n: int, m: int, seed: int) -> KnowledgeGraph:
    """Connected random graph; for control, three of five vertices with owners have one with a majority."""
    rng = np.random.default_rng(seed)
    while True:
        pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
        edges = [pairs[i] for i in np.sort(rng.choice(len(pairs), m, replace=False))]
        plain = nx.Graph(edges)
        if len(plain) == n and nx.is_connected(plain):
            break
    weights = dict.fromkeys(edges, 0.3 if rules == "reachability" else 0.03)
    for v in range(n) if rules == "control" else ():
        owners = [edge for edge in edges if edge[1] == v]
        if owners and rng.random() < 0.6:
            weights[owners[rng.integers(len(owners))]] = 0.7
    rows = [(f"v{u}", f"v{v}", w) for (u, v), w in weights.items()]
    return KnowledgeGraph.from_edges(rows, "own", [f"v{v}" for v in range(n)])


def added(
    graph: KnowledgeGraph, rules: CheckedProgram, k: int, x: int, mode: str, seed: int
) -> tuple[int, float]:
    """Additions of KGUARD, and δ."""
    done = kgreason.anonymize(rules, graph, k=k, x=x, mode=mode, seed=seed)
    assert done.verdict.delta is not None
    released = done.release.graph
    return released.n + released.m - graph.n - graph.m, float(done.verdict.delta.value)


CASES = (
    ("reachability", 8, 9, 2, 2),
    ("reachability", 12, 16, 2, 2),
    ("reachability", 8, 9, 3, 2),
    ("reachability", 8, 9, 2, 3),
    ("control", 10, 12, 2, 2),
    ("control", 12, 16, 2, 2),
    ("control", 8, 9, 2, 3),
)


def main() -> None:
    """Print a line for each case: means over its graphs, and the ratio to the optimum where it is proven."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each case")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a search, in processor time")
    parser.add_argument("--spares", type=int, default=2, help="new vertices at most")
    asked = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print("sums over the graphs; KGUARD: median and best of 5 seeds, published: median and mean δ\n")
    names = (
        "rules",
        "n",
        "m",
        "k",
        "x",
        "proven",
        "bound",
        "optimum",
        "median",
        "best",
        "published",
        "δ",
        "ratio",
    )
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for name, n, m, k, x in CASES:
        rules = anonymizable(kgreason.load(ROOT / "rules" / f"{name}.vada"))
        lines = []
        for seed in range(asked.graphs):
            graph = random_graph(name, n, m, seed)
            found = least(graph, rules, k, x, LEVELS[name], asked.spares, asked.seconds)
            exact, published = (
                [added(graph, rules, k, x, mode, s) for s in range(5)] for mode in ("exact", "published")
            )
            bound = lower_bound(graph, rules, k, x).additions
            mine = [a for a, _ in exact]
            others = median(a for a, _ in published), float(np.mean([d for _, d in published]))
            lines.append(
                (bound, found.additions or 0, median(mine), min(mine), others[0], found.proven, others[1])
            )
        sums = [int(sum(column)) for column in list(zip(*lines, strict=True))[:6]]
        delta = np.mean([line[6] for line in lines])
        ratio = f"{sums[2] / sums[1]:.1f}" if sums[1] else "-"
        cells = (name, n, m, k, x, f"{sums[5]} of {len(lines)}", *sums[:5], f"{delta:.2f}", ratio)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
