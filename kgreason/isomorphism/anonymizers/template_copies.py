"""Copies of templates that serve as images: templates of the lacking classes, and construction of the cheapest copy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import cycle, islice

import numpy as np

from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.subgraphs.ordered_adjacency import Ints
from kgreason.isomorphism.anonymizers.assembly import assemble
from kgreason.isomorphism.anonymizers.augmentation import Augmentation, EdgeIndex
from kgreason.isomorphism.anonymizers.derived_facts import DerivedFacts
from kgreason.isomorphism.anonymizers.forbidden_degrees import ClassKey
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.template_hosts import Embedding, HostSearch, Planned
from kgreason.isomorphism.anonymizers.templates import Example, Template
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising

_VERTEX_COSTS = 1.0, 2.0, 6.0  # costs of a template vertex, in edges, tried by turns
_PATIENCE = 8  # templates in a row that cost no less than the best one, after which no other is tried
_POOL, _EXAMPLES = 32, 8  # members of a class that are considered for all templates, and for one of them
_ATTEMPTS = 4  # draws of weights for a copy


class TemplateCopies:
    """Builder of copies of templates, which serve as images."""

    def __init__(
        self,
        noising: WeightNoising,
        graph: KnowledgeGraph,
        reasoner: InducedReasoner,
        augmentation: Augmentation,
        rng: np.random.Generator,
        fact_cost: float = 0.0,
    ) -> None:
        self._noising, self._reasoner = noising, reasoner
        self._augmentation, self._rng, self._fact_cost = augmentation, rng, fact_cost
        self._last: Planned | None = None
        self._edges = EdgeIndex.of(graph)

    def make(self, lacks: Sequence[tuple[Cover, Lack]], *, keep_degrees: bool) -> None:
        """Add copies that contain a member of every lacking class, and register them with the covers.

        With `keep_degrees`, only new vertices are used, and all other vertices keep their degrees, which invalidates no
        image.
        """
        self._augmentation.keep_degrees = keep_degrees
        for served in range(max(int(lack.missing.max(initial=0)) for _, lack in lacks)):
            rest = [(cover, lack.beyond(served)) for cover, lack in lacks]
            hosts = HostSearch(self._augmentation, rest, self._rng, self._facts(), self._fact_cost)
            self._build(*self._cheapest(hosts, rest), rest)

    def _cheapest(self, hosts: HostSearch, lacks: Sequence[tuple[Cover, Lack]]) -> tuple[Embedding, Planned]:
        """Cheapest copy of several templates."""
        best, worse = None, 0
        for planned in self._templates(lacks):
            found = hosts.choose(planned, best[0].cost if best else math.inf)
            if found is not None:
                best, worse = (found, planned), 0
            elif (worse := worse + 1) >= _PATIENCE:
                break
        assert best is not None
        return best

    def _facts(self) -> DerivedFacts | None:
        """Derived facts of the graph with the copies made so far, if false facts cost anything."""
        if not self._fact_cost:
            return None
        augmentation = self._augmentation
        nothing = np.empty(0, dtype=np.int64)
        graph, _ = assemble(
            augmentation.graph, augmentation.n, augmentation.edges(), (nothing, nothing), self._rng
        )
        return DerivedFacts(graph, self._noising.program)

    def _templates(self, lacks: Sequence[tuple[Cover, Lack]]) -> Iterator[Planned]:
        """The last template, if it has all lacking classes, restricted to them; then new templates without end."""
        keys = {(cover.x, c) for cover, lack in lacks for c in lack.of_class}
        if self._last is not None and keys <= set(self._last.members):
            yield self._restricted(self._last, keys)
        pool: dict[ClassKey, list[Example]] = {}
        for cover, lack in lacks:
            pool |= self._examples(cover, lack)
        for cost in cycle(_VERTEX_COSTS):
            yield self._planned(pool, cost)

    def _restricted(self, planned: Planned, keys: Set[ClassKey]) -> Planned:
        """Restrict a template to the vertices and edges that some classes need."""
        members = {key: member for key, member in planned.members.items() if key in keys}
        used = np.unique(np.concatenate(list(members.values())))
        origin = np.full_like(planned.origin, -1)
        for member in members.values():
            pairs = np.ix_(member, member)
            origin[pairs] = planned.origin[pairs]
        origin = origin[np.ix_(used, used)]
        moved = {key: np.searchsorted(used, member) for key, member in members.items()}
        return Planned(origin, self._copied(origin), moved, planned.derived)

    def _planned(self, pool: Mapping[ClassKey, Sequence[Example]], vertex_cost: float) -> Planned:
        """Place a lacking subgraph of each class, those with many edges first."""
        chosen = []
        for key, members in pool.items():
            some = self._rng.permutation(len(members))[:_EXAMPLES].tolist()
            lightest = min((members[i] for i in some), key=lambda example: float(example.weights.sum()))
            chosen.append((-int(lightest.edges.sum()) + self._rng.random(), key, lightest))
        examples = {key: example for _, key, example in sorted(chosen, key=lambda entry: entry[0])}
        alone: set[ClassKey] = set()
        while True:  # terminates, in the worst case with all members on separate vertices
            planned = self._placed(examples, alone, vertex_cost)
            changed = {*self._changed(planned)} - alone
            if not changed:
                return planned
            alone |= changed

    def _placed(
        self, examples: Mapping[ClassKey, Example], alone: Set[ClassKey], vertex_cost: float
    ) -> Planned:
        """Place members at low cost, those in `alone` on separate vertices."""
        template = Template(self._rng, vertex_cost, self._fact_cost)
        members: dict[ClassKey, Ints] = {}
        for key in sorted(examples, key=alone.__contains__):
            members[key] = template.place(examples[key], apart=key in alone)
            template.add(examples[key], members[key])
        derived = {key: example.derived for key, example in examples.items()}
        return Planned(template.origin, self._copied(template.origin), members, derived)

    def _changed(self, planned: Planned) -> Iterator[ClassKey]:
        """Members from whose template vertices the rules derive other edges than from the member itself."""
        if not self._reasoner.predicates:
            return
        copied = self._reasoner.on(planned.graph)
        for x in {x for x, _ in planned.members}:
            keys = [key for key in planned.members if key[0] == x]
            found = copied.derived(np.stack([planned.members[key] for key in keys]))
            wanted = np.stack([planned.derived[key] for key in keys])
            yield from (keys[i] for i in np.flatnonzero((found != wanted).any(axis=(1, 2, 3))))

    def _examples(self, cover: Cover, lack: Lack) -> dict[ClassKey, list[Example]]:
        """Some members of each lacking class."""
        rows = [some[self._rng.permutation(len(some))[:_POOL]] for some in lack.of_class.values()]
        if not rows:
            return {}
        members = np.concatenate(rows)
        count, x = members.shape
        edges, weights = np.zeros((count, x, x), dtype=np.int64), np.zeros((count, x, x))
        first, second = (
            ends.reshape(-1) for ends in np.broadcast_arrays(members[:, :, None], members[:, None])
        )
        for name, index in self._edges.items():
            pair, row = index.rows(first, second)
            np.add.at(edges.reshape(-1), pair, 1)
            bound = self._noising.program.incoming_sums.get(name)
            if bound is not None and index.relation.weight is not None:
                np.add.at(weights.reshape(-1), pair, index.relation.weight[row] / bound)
        parts = members, cover.catalogue.ties(members), edges, weights, self._reasoner.derived(members)
        examples = map(Example, *parts)
        return {
            (x, c): list(islice(examples, len(some))) for c, some in zip(lack.of_class, rows, strict=True)
        }

    def _copied(self, origin: Ints) -> KnowledgeGraph:
        """Graph with the edges of each ordered pair copied from the pair of its origin, -1 for none."""
        u, v = np.nonzero(origin[:, :, 0] >= 0)
        relations = {}
        for name, index in self._edges.items():
            pair, row = index.rows(origin[u, v, 0], origin[u, v, 1])
            weight = None if index.relation.weight is None else index.relation.weight[row]
            relations[name] = Relation(u[pair].astype(np.int64), v[pair].astype(np.int64), weight)
        return KnowledgeGraph(np.arange(len(origin)).astype(str).astype(object), relations)

    def _build(self, chosen: Embedding, planned: Planned, lacks: Sequence[tuple[Cover, Lack]]) -> None:
        augmentation, self._last = self._augmentation, planned
        vertices = chosen.hosts.copy()
        vertices[vertices < 0] = augmentation.add_vertices(int((vertices < 0).sum()))
        for name, relation in self._reweighed(planned, vertices).relations.items():
            weights = relation.weight if relation.weight is not None else np.zeros(len(relation))
            ends = vertices[relation.source].tolist(), vertices[relation.target].tolist()
            for u, v, w in zip(*ends, weights.tolist(), strict=True):
                augmentation.add_edge(name, u, v, w)
        augmentation.add_copy(vertices.tolist())
        self._attach(planned, vertices, chosen.degrees)
        augmentation.promise(
            vertices,
            chosen.degrees[0] - augmentation.inner[vertices],
            chosen.degrees[1] - augmentation.outer[vertices],
        )
        for cover, _ in lacks:
            mine = {c: member for (x, c), member in planned.members.items() if x == cover.x}
            if mine:
                cover.add(vertices[np.stack(list(mine.values()))], np.array(list(mine), dtype=np.int64))

    def _attach(self, planned: Planned, vertices: Ints, degrees: Ints) -> None:
        """Tie a copy on new vertices only to the rest, if possible by an edge that is needed anyway."""
        augmentation = self._augmentation
        count, component = planned.graph.components()
        for c in range(count):
            mine = np.flatnonzero(component == c)
            if (vertices[mine] < augmentation.graph.n).any():
                continue
            lack = degrees - np.stack([augmentation.inner[vertices], augmentation.outer[vertices]])
            phi, at = np.unravel_index(int(lack[:, mine].argmax()), (2, len(mine)))
            augmentation.tie_to_partner(int(vertices[mine[at]]), incoming=bool(phi == 0))

    def _reweighed(self, planned: Planned, row: Ints) -> KnowledgeGraph:
        """Draw weights for a copy from which the rules derive the same in every member."""
        graph = planned.graph
        if not any(r.weight is not None and len(r) for r in graph.relations.values()):
            return graph
        for _ in range(_ATTEMPTS):
            drawn = self._noising.copies(graph, self._rng)
            if self._fits(drawn, row) and self._derive_same(graph, drawn, planned):
                return drawn
        return graph

    def _fits(self, graph: KnowledgeGraph, row: Ints) -> bool:
        """Whether the vertices of a copy have room for the weights into them."""
        return all(
            r.weight is None
            or (
                np.bincount(r.target, weights=r.weight, minlength=graph.n)
                <= self._augmentation.room(name, row)
            ).all()
            for name, r in graph.relations.items()
        )

    def _derive_same(self, one: KnowledgeGraph, other: KnowledgeGraph, planned: Planned) -> bool:
        if not self._reasoner.predicates:
            return True
        first, second = (InducedReasoner(graph, self._noising.program) for graph in (one, other))
        for size in sorted({x for x, _ in planned.members}):
            members = np.stack([member for (x, _), member in planned.members.items() if x == size])
            if (first.masks(members) != second.masks(members)).any():
                return False
        return True
