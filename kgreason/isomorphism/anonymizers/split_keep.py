"""Split & merge without loss: edges between parts are kept, and copies protect the subgraphs that cross parts.

Parts are anonymized with stubs for the edges that leave them (module `stubs`), so that their vertices have their true
degrees. Subgraphs with an edge between parts lie in the seam (`seam`), of which k - 1 copies are made. No copy is tied
to an original vertex, so that the degree diversity of the images within parts is kept.

References
----------
docs/anonymization.md, Split & merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import Progress
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, inside, pieces
from kgreason.graph.subgraphs.ordered_adjacency import undirected
from kgreason.isomorphism.anonymizers.assembly import Edges, Pairs, assemble, is_symmetric
from kgreason.isomorphism.anonymizers.degree_distributions import DegreeDistribution, choose_across
from kgreason.isomorphism.anonymizers.degree_diversity import Apart, ties
from kgreason.isomorphism.anonymizers.incoming_sums import lowered
from kgreason.isomorphism.anonymizers.klone import check_vertices, halves, partnered
from kgreason.isomorphism.anonymizers.split_merge import augmented, total, with_one_constant
from kgreason.isomorphism.anonymizers.stubs import Glued, stub_relation, with_stubs, without_stubs
from kgreason.isomorphism.anonymizers.weight_density import GRID
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Anonymizer, Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram


def seam(graph: KnowledgeGraph, parts: Vertices, x: int) -> Vertices:
    """Vertices of connected subgraphs of x >= 2 vertices that contain an edge between parts.

    Examples
    --------
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


@dataclass(frozen=True, eq=False)
class Copies:
    """k - 1 copies of a region whose vertices differ in degree from their originals and from each other.

    Attributes
    ----------
    edges
        Edges inside the copies by relation.
    synthetic
        Sources and targets of edges between copies and to new vertices; in a symmetric graph without their reverses.
    n
        Number of vertices of the result: the graph, the copies in order, new vertices.
    """

    edges: dict[str, Edges]
    synthetic: Pairs
    n: int


def copies(
    graph: KnowledgeGraph, region: Vertices, k: int, rng: np.random.Generator, *, symmetric: bool
) -> Copies:
    """Copy the induced subgraph of a region k - 1 times; no edge is added to a vertex of the graph or inside a copy.

    Parameters
    ----------
    graph
        Graph with the final weights and degrees of the region.
    region
        Vertices, ascending.
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


@dataclass(frozen=True, eq=False)
class SplitKeep:
    """Anonymizer of large graphs that keeps all edges.

    Attributes
    ----------
    inner
        Anonymizer of the parts; must protect subgraphs of x vertices, and add no edge inside one.
    parts
        Part of each vertex, numbered from 0 without gaps; components of fewer than x vertices are not divided.
    k, x
        Parameters of `inner`.
    """

    inner: Anonymizer
    parts: Vertices
    k: int
    x: int

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Augment the parts, each with its own random generator, then copy the seam.

        Raises
        ------
        AnonymizationError
            If a part admits no anonymization, or x is 1, as no subgraph of one vertex crosses parts.
        """
        if self.x < 2:
            raise AnonymizationError(
                "single vertices cross no cut", hint="leave --split out, or choose x >= 2"
            )
        divided, name = pieces(graph, self.parts), stub_relation(graph, rules)
        stubbed = with_stubs(graph, self.parts, divided, name)
        found = augmented(self.inner, stubbed, rules, rng, progress)
        glued = without_stubs(graph, divided, stubbed, [a.graph for a in found], name)
        noising = WeightNoising.fit(graph, rules, 1)
        weighed = noising.synthetic(with_one_constant(glued.graph, noising), glued.weighed, rng, progress)
        weighed = _told_apart(graph, weighed, self.parts, glued, rng)
        region = seam(graph, self.parts, self.x)
        progress.note(f"{len(region):,} vertices are in subgraphs that cross a cut, and are copied")
        if 2 * len(region) > graph.n:
            progress.note("that is most of the graph: --method klone without --split may add less")
        check_vertices(weighed.n + (self.k - 1) * len(region))
        progress.step("Copying what crosses the cuts")
        whole, fixed, figures = self._joined(weighed, glued.part, region, is_symmetric(graph), rng)
        final = noising.synthetic(whole, fixed, rng, progress)
        cut = graph.m - inside(graph, self.parts).m
        figures = (
            total(found)
            | figures
            | {
                "parts": len(divided),
                "cut_edges": cut,
                "vertices": graph.n,
                "edges": graph.m,
                "vertices_added": final.n - graph.n,
                "edges_added": final.m - graph.m,
            }
        )
        ordered = _originals_first(graph, self.parts, final, glued)
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
        rows = np.concatenate(
            [region[:, None], graph.n + np.arange(len(region) * (self.k - 1)).reshape(self.k - 1, -1).T],
            axis=1,
        )
        beyond = np.full(copied.n - graph.n, -1, dtype=np.int64)
        apart = Apart(np.concatenate([part, beyond]), rows)
        degrees = more.out_degree(), more.in_degree()
        joining, n = ties(more.components()[1], degrees, apart, rng, symmetric=symmetric)
        whole, _ = assemble(more, n, {}, joining, rng, symmetric=symmetric)
        return whole, fixed, {"seam": len(region), "ties": len(joining[0])}


def _told_apart(
    graph: KnowledgeGraph, drawn: KnowledgeGraph, parts: Vertices, glued: Glued, rng: np.random.Generator
) -> KnowledgeGraph:
    """Lower weights of edges between parts that equal a real weight of their pair, or occur there twice (item 3)."""
    weights = {}
    for name, r in graph.relations.items():
        weight = drawn.relations[name].weight
        rows = np.flatnonzero(parts[r.source] != parts[r.target])
        if r.weight is None or weight is None or not len(rows):
            continue
        place = glued.weighed[name] + np.arange(len(rows))
        pair = np.unique(r.source[rows] * graph.n + r.target[rows], return_inverse=True)[1].reshape(-1)
        old, new = (np.rint(w * GRID).astype(np.int64) for w in (r.weight[rows], weight[place]))
        levels = np.unique(np.rint(weight * GRID).astype(np.int64))
        changed = weight.copy()
        changed[place] = lowered(pair, new, pair * (GRID + 1) + old, levels[levels > 0], rng, name) / GRID
        weights[name] = changed
    return drawn.with_weights(weights)


def _originals_first(
    graph: KnowledgeGraph, parts: Vertices, final: KnowledgeGraph, glued: Glued
) -> KnowledgeGraph:
    relations = {}
    for name, r in graph.relations.items():
        cut = parts[r.source] != parts[r.target]
        place = np.where(cut, glued.weighed[name] + np.cumsum(cut) - 1, np.cumsum(~cut) - 1)
        whole = final.relations[name]
        others = np.ones(len(whole), dtype=np.bool_)
        others[place] = False
        order = np.concatenate([place, np.flatnonzero(others)])
        weight = None if whole.weight is None else whole.weight[order]
        relations[name] = replace(
            whole, source=whole.source[order], target=whole.target[order], weight=weight
        )
    return replace(final, relations=relations)
