"""Split & merge without loss: edges between parts are kept, and copies protect the subgraphs that cross parts.

Parts are anonymized with stubs for the edges that leave them (module `partition`), so that their vertices have their
true degrees. Subgraphs with an edge between parts lie in the seam (`seam`), of which k - 1 copies are made. No copy is
tied to an original vertex, so that the degree diversity of the images within parts is kept.

References
----------
docs/anonymization.md, Split & merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, Weights, inside, pieces
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Edges, Pairs, assemble, check_vertices, is_symmetric
from kgreason.isomorphism.anonymizers.degree_distributions import (
    DegreeDistribution,
    Degrees,
    choose_across,
    halves,
    partnered,
)
from kgreason.isomorphism.anonymizers.incoming_sums import lowered
from kgreason.isomorphism.anonymizers.partition import Merged, stub_relation, with_stubs, without_stubs
from kgreason.isomorphism.anonymizers.split_merge import augmented, total, with_one_constant
from kgreason.isomorphism.anonymizers.weight_density import GRID, in_units
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Anonymizer, Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

_TRIED = 20  # vertices of a component that are tried


@record(eq=False)
class SplitKeep:
    """Anonymizer of large graphs that keeps all edges.

    Attributes
    ----------
    inner
        Anonymizer of the parts with the same `k`; must protect subgraphs of x vertices, and add no edge inside one.
    parts
        Part of each vertex, numbered from 0 without gaps; components of fewer than x vertices are not divided.
    weights
        Distribution of new weights instead of the graph's.
    """

    inner: Anonymizer
    parts: Vertices
    k: int
    x: int
    weights: Weights | None = None

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Augment the parts, each with its own random generator, then copy the seam; x must be at least 2."""
        if self.x < 2:
            raise AnonymizationError(
                "single vertices cross no cut", hint="leave --split out, or choose x >= 2"
            )
        divided, name = pieces(graph, self.parts), stub_relation(graph, rules)
        stubbed = with_stubs(graph, self.parts, divided, name)
        found = augmented(self.inner, stubbed, rules, rng, progress)
        merged = without_stubs(graph, divided, stubbed, [a.graph for a in found], name)
        noising = WeightNoising.fit(graph, rules, 1, self.weights)
        weighed = noising.synthetic(with_one_constant(merged.graph, noising), merged.weighed, rng, progress)
        weighed = _with_different_weights(graph, weighed, self.parts, merged, rng)
        region = seam(graph, self.parts, self.x)
        progress.note(f"{len(region):,} vertices are in subgraphs that cross a cut, and are copied")
        if 2 * len(region) > graph.n:
            progress.note("that is most of the graph: --method klone without --split may add less")
        check_vertices(weighed.n + (self.k - 1) * len(region))
        progress.step("Copying what crosses the cuts")
        whole, fixed, figures = self._joined(weighed, merged.part, region, is_symmetric(graph), rng)
        final = noising.synthetic(whole, fixed, rng, progress)
        cut = graph.m - inside(graph, self.parts).m
        figures = {
            **total(found),
            **figures,
            "parts": len(divided),
            "cut_edges": cut,
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": final.n - graph.n,
            "edges_added": final.m - graph.m,
        }
        ordered = _originals_first(graph, self.parts, final, merged)
        inner = Guarantee.of_all([part.guarantee for part in found])
        guarantee = Guarantee(self.k, self.x) if inner.x is None else inner
        return Augmented(ordered, guarantee, figures, originals=graph.n)

    def _joined(
        self,
        graph: KnowledgeGraph,
        part: Vertices,
        region: Vertices,
        symmetric: bool,
        rng: np.random.Generator,
    ) -> tuple[KnowledgeGraph, dict[str, int], dict[str, float]]:
        """Add the copies of the seam, and edges that make the graph weakly connected."""
        symmetric = symmetric and is_symmetric(graph)
        copied = copies(graph, region, self.k, rng, symmetric=symmetric)
        more, fixed = assemble(graph, copied.n, copied.edges, copied.synthetic, rng, symmetric=symmetric)
        rows = np.vstack([region, graph.n + np.arange(len(region) * (self.k - 1)).reshape(self.k - 1, -1)]).T
        constraints = DegreeConstraints(np.append(part, np.full(copied.n - graph.n, -1)), rows)
        degrees = more.out_degree(), more.in_degree()
        joining, n = connecting_edges(more.components()[1], degrees, constraints, rng, symmetric=symmetric)
        whole, _ = assemble(more, n, {}, joining, rng, symmetric=symmetric)
        return whole, fixed, {"seam": len(region), "ties": len(joining[0])}


def seam(graph: KnowledgeGraph, parts: Vertices, x: int) -> Vertices:
    """Vertices of connected subgraphs of x >= 2 vertices that contain an edge between parts.

    >>> path = KnowledgeGraph.from_edges([(str(i), str(i + 1)) for i in range(7)])
    >>> parts = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> [seam(path, parts, x).tolist() for x in (2, 3)]
    [[3, 4], [2, 3, 4, 5]]
    """
    source, target = graph.ends
    cut = parts[source] != parts[target]
    reached = np.zeros(graph.n, dtype=np.bool_)
    reached[source[cut]] = reached[target[cut]] = True
    indptr, neighbours = undirected(graph)
    of = np.repeat(np.arange(graph.n), np.diff(indptr))
    for _ in range(x - 2):
        reached[neighbours[reached[of]]] = True
    return np.flatnonzero(reached)


@record(eq=False)
class Copies:
    """Edges inside the copies of a region by relation, and synthetic edges between copies and to new vertices.

    In a symmetric graph the latter come without their reverses. The result has n vertices: those of the graph, the
    copies in order, new vertices.
    """

    edges: dict[str, Edges]
    synthetic: Pairs
    n: int


def copies(
    graph: KnowledgeGraph, region: Vertices, k: int, rng: np.random.Generator, *, symmetric: bool
) -> Copies:
    """Copy the induced subgraph of a region k - 1 times; no edge is added to a vertex of the graph or inside a copy.

    The graph has the final weights and degrees of the region, whose vertices ascend.
    """
    count = len(region)
    local = np.full(graph.n, -1, dtype=np.int64)
    local[region] = np.arange(count)
    shifts = graph.n + np.arange(k - 1) * count
    edges, inner = {}, [np.zeros(count, dtype=np.int64) for _ in range(2)]
    for name, r in graph.relations.items():
        rows = np.flatnonzero((local[r.source] >= 0) & (local[r.target] >= 0))
        source, target = local[r.source[rows]], local[r.target[rows]]
        weight = None if r.weight is None else np.tile(r.weight[rows], k - 1)
        shift = np.repeat(shifts, len(rows))
        edges[name] = Edges(np.tile(source, k - 1) + shift, np.tile(target, k - 1) + shift, weight)
        for phi, ends in enumerate((source, target)):
            inner[phi] += np.bincount(ends, minlength=count)
    lacks = []
    for mine, whole in zip(inner, (graph.out_degree(), graph.in_degree()), strict=True):
        now = np.concatenate([whole[region, None], np.tile(mine[:, None], (1, k - 1))], axis=1)
        chosen = choose_across(now, DegreeDistribution.fit(whole), rng, fixed=True)
        lacks.append(chosen[:, 1:] - mine[:, None])
    missing = halves(lacks[0], rng) if symmetric else (lacks[0], lacks[1])
    nothing = np.empty(0, dtype=np.int64)
    usual = graph.m / max(graph.n, 1)
    (source, target), new = partnered(missing, (nothing, nothing), usual, rng, symmetric=symmetric)
    return Copies(edges, (graph.n + source, graph.n + target), graph.n + count * (k - 1) + new)


@record(eq=False)
class DegreeConstraints:
    """Vertices that must differ in degree: those of a part (-1 for none), and those of a row.

    Each of the `rows`, int64, shape (any, k), holds a vertex and its copies.
    """

    part: Vertices
    rows: Vertices

    def others(self, v: int) -> Vertices:
        """Vertices from which v must differ in degree."""
        part = np.flatnonzero(self.part == self.part[v]) if self.part[v] >= 0 else self.rows[:0, 0]
        row = self.rows[(self.rows == v).any(axis=1)].ravel()
        found: Vertices = np.union1d(part, row)
        others: Vertices = found[found != v]
        return others


def connecting_edges(
    component: Vertices,
    degrees: tuple[Degrees, Degrees],
    constraints: DegreeConstraints,
    rng: np.random.Generator,
    *,
    symmetric: bool = False,
) -> tuple[Pairs, int]:
    """Choose edges that connect the components; also returns the new number of vertices.

    Their ends are vertices without degree constraints. A component without such a vertex gets a new one, tied to a
    vertex of the component by an edge, or by edges via further new vertices until the degree of that vertex differs
    from all from which it must differ. `degrees` are out- and in-degrees; in a `symmetric` graph the reverse of each
    edge will be added, too.
    """
    count = int(component.max(initial=-1)) + 1
    if count < 2:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), len(component)
    loose = constraints.part < 0
    loose[constraints.rows.ravel()] = False
    degrees = degrees[0].copy(), degrees[1].copy()
    edges: list[tuple[int, int]] = []
    n = len(component)
    ends: list[Vertices] = []
    for c in range(count):
        members = np.flatnonzero(component == c)
        own = members[loose[members]]
        if not len(own):
            v, phi, more = _fewest_edges(rng.permutation(members)[:_TRIED], degrees, constraints, symmetric)
            own = np.arange(n, n + more)
            edges += [(v, u) if phi == 0 else (u, v) for u in own.tolist()]
            n += more
            for raised in degrees if symmetric else degrees[phi : phi + 1]:
                raised[v] += more
        ends.append(own)
    for c in range(1, count):
        pair = int(rng.choice(ends[c])), int(rng.choice(ends[int(rng.integers(c))]))
        edges.append(pair if rng.random() < 0.5 else pair[::-1])
    chosen = np.array(edges, dtype=np.int64)
    return (chosen[:, 0].copy(), chosen[:, 1].copy()), n


def _fewest_edges(
    members: Vertices, degrees: Sequence[Degrees], constraints: DegreeConstraints, symmetric: bool
) -> tuple[int, int, int]:
    """Vertex, direction and number of edges that make the degree of the vertex free; the fewest found."""
    found = []
    for v in members.tolist():
        others = constraints.others(v)
        taken = [set((degree[others] - degree[v]).tolist()) for degree in degrees]
        if symmetric:
            taken = [taken[0] | taken[1]]
        for phi, differences in enumerate(taken):
            more = next(m for m in range(1, len(differences) + 2) if m not in differences)
            found.append((more, v, phi))
    more, v, phi = min(found)
    return v, phi, more


def _with_different_weights(
    graph: KnowledgeGraph, drawn: KnowledgeGraph, parts: Vertices, merged: Merged, rng: np.random.Generator
) -> KnowledgeGraph:
    """Lower weights of edges between parts that equal a real weight of their pair, or occur there twice (item 3)."""
    weights = {}
    for name, r in graph.relations.items():
        weight = drawn.relations[name].weight
        rows = np.flatnonzero(parts[r.source] != parts[r.target])
        if r.weight is None or weight is None or not len(rows):
            continue
        here = merged.weighed[name] + np.arange(len(rows))
        pair = np.unique(r.source[rows] * graph.n + r.target[rows], return_inverse=True)[1].reshape(-1)
        old, new = in_units(r.weight[rows]), in_units(weight[here])
        levels = np.unique(in_units(weight))
        changed = weight.copy()
        changed[here] = lowered(pair, new, pair * (GRID + 1) + old, levels[levels > 0], rng, name) / GRID
        weights[name] = changed
    return drawn.with_weights(weights)


def _originals_first(
    graph: KnowledgeGraph, parts: Vertices, final: KnowledgeGraph, merged: Merged
) -> KnowledgeGraph:
    """Reorder edges: the original ones in their order, then the synthetic ones."""
    relations = {}
    for name, r in graph.relations.items():
        cut = parts[r.source] != parts[r.target]
        original = np.where(cut, merged.weighed[name] + np.cumsum(cut) - 1, np.cumsum(~cut) - 1)
        others = np.ones(len(final.relations[name]), dtype=np.bool_)
        others[original] = False
        relations[name] = final.relations[name].take(np.append(original, np.flatnonzero(others)))
    return replace(final, relations=relations)
