"""Further guarantees on top of an anonymization: degrees, or neighbours' degrees, that at least k vertices have.

For degrees, few vertices are raised to degrees of others, and new vertices get the pairs that are still rare. For
neighbours' degrees, the release consists of k copies of the whole anonymized graph, tied in a ring: a rotation of the
ring maps the release onto itself, so each vertex has k - 1 others with the same structural properties of any kind.

References
----------
M. Hay, G. Miklau, D. Jensen, D. Towsley, P. Weis, "Resisting structural re-identification in anonymized social
networks", PVLDB 1(1), 2008: structural knowledge. docs/anonymization.md, further guarantees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices, Weights
from kgreason.graph.sorted_keys import Ints, distinct, places
from kgreason.isomorphism.anonymizers.assembly import assemble, check_vertices, is_symmetric
from kgreason.isomorphism.anonymizers.degree_fillers import Filled, Fits, filled
from kgreason.isomorphism.anonymizers.degree_raises import DegreeRaises, Pair
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import KNOWN, Anonymizer, Augmented
from kgreason.isomorphism.settings import Further
from kgreason.language.check.checked_program import CheckedProgram


@dataclass(frozen=True)
class WithFurther:
    """Anonymizer whose releases have `further` guarantees with the same k; new weights are distributed as `weights`."""

    inner: Anonymizer
    k: int
    further: tuple[Further, ...]
    weights: Weights | None = None

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Augment a graph, and add what the further guarantees need; no attacked subgraph or image changes."""
        made = self.inner.augment(graph, rules, rng, progress)
        whole = made.graph
        symmetric = is_symmetric(graph) and is_symmetric(whole)
        noising = WeightNoising.fit(graph, rules, 1, self.weights)
        step = _Step(whole, made.copies, self.k, noising, rng, progress, symmetric)
        found = None if "neighbours" in self.further else step.frequent()
        found = step.covered() if found is None else found
        more = {"vertices_added": found.n - whole.n, "edges_added": found.m - whole.m}
        if found is not whole:
            added = f"{more['vertices_added']:,} vertices and {more['edges_added']:,} edges"
            progress.note(f"{added} more protect {' and '.join(KNOWN[one] for one in self.further)}")
        figures = {
            **made.figures,
            **{name: made.figures.get(name, 0) + count for name, count in more.items()},
        }
        guarantee = replace(made.guarantee, further=self.further)
        return replace(made, made=found, guarantee=guarantee, figures=figures, serials=None)


@record(eq=False)
class _Step:
    """An augmented graph, to which vertices and edges are added."""

    graph: KnowledgeGraph
    copies: Vertices | None
    k: int
    noising: WeightNoising
    rng: np.random.Generator
    progress: Progress
    symmetric: bool

    def frequent(self) -> KnowledgeGraph | None:
        """Graph in which at least k vertices have each pair of degrees; `None` if copies of the graph add less."""
        graph, copies = self.graph, self.copies
        fits: Fits = _never
        degrees = graph.in_degree(), graph.out_degree()
        promised = list[int](), list[int]()
        if copies is not None:  # then it is known which vertices are images of each other
            raises = _RaisesOfCopies(*degrees, self.k, copies, symmetric=self.symmetric)
            raises.run(self.rng)
            for ends, new, old in zip(promised, (raises.inner, raises.outer), degrees, strict=True):
                ends += np.repeat(np.arange(graph.n), new - old).tolist()
            degrees, fits = (raises.inner, raises.outer), _Places(graph, copies).fit
        self.progress.step("Adding vertices with rare degrees")
        found = filled(degrees, promised, self.k, fits, self.rng, symmetric=self.symmetric)
        if found is not None and not len(found.edges[0]):
            return graph
        if found is None or self._added(found) > (self.k - 1) * (graph.n + graph.m):
            return None
        check_vertices(len(found.inner))
        more, fixed = assemble(graph, len(found.inner), {}, found.edges, self.rng, symmetric=self.symmetric)
        return self.noising.synthetic(more, fixed, self.rng, self.progress)

    def _added(self, found: Filled) -> int:
        """Number of added vertices and edges."""
        return len(found.inner) - self.graph.n + len(found.edges[0]) * (1 + self.symmetric)

    def covered(self) -> KnowledgeGraph:
        """K copies of the graph in a ring, in which each copy of a vertex has edges to its own and the next new vertex.

        The vertex has the greatest out-degree: no vertex has its new degree, so images still differ in degree. The new
        vertices have incoming edges only (in a symmetric graph, both kinds), so no path leads from copy to copy.
        """
        graph, k = self.graph, self.k
        check_vertices(k * (graph.n + 1))
        self.progress.step("Copying the release")
        hub, new, size = int(graph.out_degree().argmax()), graph.n, graph.n + 1
        ends = np.full(2, hub), np.full(2, new)
        # one copy with both edges to the new vertex, so that the sum of their weights is within its bound
        one, fixed = assemble(graph, size, {}, ends, self.rng, symmetric=self.symmetric)
        one = self.noising.synthetic(one, fixed, self.rng, self.progress)
        relations, drawn = {}, 0
        for name, relation in one.relations.items():
            ways = 1 + self.symmetric
            count = (len(relation) - fixed[name]) // ways
            second = np.zeros(len(relation), dtype=np.bool_)
            second[fixed[name] :] = np.tile(drawn + np.arange(count) == 1, ways)
            drawn += count
            source, target = (
                np.concatenate(
                    [
                        np.where(second & (part == new), (j + 1) % k * size + new, j * size + part)
                        for j in range(k)
                    ]
                )
                for part in (relation.source, relation.target)
            )
            weight = None if relation.weight is None else np.tile(relation.weight, k)
            relations[name] = replace(relation, source=source, target=target, weight=weight)
        labels = np.array([f"{label}/{j}" for j in range(k) for label in one.labels.tolist()], dtype=object)
        return KnowledgeGraph(labels, relations)


def _never(_: int, __: int) -> bool:
    """No edge may join two vertices of the graph."""
    return False


class _Places:
    """Pairs of vertices between which an edge changes no copy and runs beside no other edge."""

    def __init__(self, graph: KnowledgeGraph, copies: Vertices) -> None:
        source, target = graph.ends
        self._n = graph.n
        self._keys = distinct(np.concatenate([source * graph.n + target, target * graph.n + source]))
        self._copy = np.full(graph.n, -1, dtype=np.int64)  # in none: a synthetic vertex
        self._copy[: copies.shape[1]] = 0
        self._copy[copies] = 1 + np.arange(len(copies))[:, None]

    def fit(self, u: int, v: int) -> bool:
        """Whether an edge may join two vertices: they are not in one copy, and not joined yet."""
        if self._copy[u] == self._copy[v] >= 0:
            return False
        return not bool(places(self._keys, np.array([u * self._n + v]))[1][0])


class _RaisesOfCopies(DegreeRaises):
    """Raises after which a vertex and its copies still differ in degree."""

    def __init__(self, inner: Ints, outer: Ints, k: int, copies: Vertices, *, symmetric: bool) -> None:
        super().__init__(inner, outer, k, symmetric=symmetric)
        self._rows = np.vstack([np.arange(copies.shape[1]), copies])
        self._row = np.full(len(inner), -1, dtype=np.int64)
        self._row[self._rows] = np.arange(copies.shape[1])

    def may_have(self, vertex: int, pair: Pair, others: Sequence[int]) -> bool:
        """Whether no other copy has, or will have, one of the degrees."""
        row = int(self._row[vertex])
        if row < 0:
            return True
        mates = self._rows[:, row]
        mates = mates[mates != vertex]
        free = (self.inner[mates] != pair[0]).all() and (self.outer[mates] != pair[1]).all()
        return bool(free) and not any(self._row[other] == row for other in others)
