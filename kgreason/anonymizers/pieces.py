"""Copies of a template: images for whole classes, with degrees that few attacked subgraphs have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import numpy as np

from kgreason.anonymizers.between import Between
from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.hosts import Choice, Hosts, Planned
from kgreason.anonymizers.noise import WeightNoising
from kgreason.anonymizers.standing import Key
from kgreason.anonymizers.template import Example, Template
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.subgraphs.adjacency import Ints

_VERTEX_COSTS = 2 * (1.0, 2.0, 6.0)  # in edges, for templates to choose from
_EXAMPLES = 8  # members of a class that are looked at for a template
_ATTEMPTS = 4


class Pieces:
    """Makes copies of templates."""

    def __init__(
        self,
        noising: WeightNoising,
        graph: KnowledgeGraph,
        reasoner: InducedReasoner,
        draft: Draft,
        rng: np.random.Generator,
    ) -> None:
        self._noising, self._graph, self._reasoner = noising, graph, reasoner
        self._draft, self._rng = draft, rng
        self._before: Planned | None = None
        self._between = Between.of(graph)

    def make(self, lacks: Sequence[tuple[Cover, Lack]], *, apart: bool) -> None:
        """Add copies that hold a member of every lacking class, and tell the covers.

        Parameters
        ----------
        apart
            Whether to stand on new vertices only, and to change the degree of no other vertex: nothing breaks by
            that.
        """
        self._draft.apart = apart
        for served in range(max(int(lack.missing.max(initial=0)) for _, lack in lacks)):
            rest = [(cover, lack.beyond(served)) for cover, lack in lacks]
            hosts = Hosts(self._draft, rest, self._rng)
            options = [(hosts.choose(planned), planned) for planned in self._plans(rest)]
            self._build(*min(options, key=lambda option: option[0].cost), rest)

    def _plans(self, lacks: Sequence[tuple[Cover, Lack]]) -> Iterator[Planned]:
        """The template of before as far as it is needed, in which classes stand where they stood, or new ones."""
        keys = {(cover.x, int(c)) for cover, lack in lacks for c in np.unique(lack.classes)}
        if self._before is not None and keys <= set(self._before.places):
            yield self._restricted(self._before, keys)
        for cost in _VERTEX_COSTS:
            yield self._planned(lacks, cost)

    def _restricted(self, planned: Planned, keys: Set[Key]) -> Planned:
        """Only the vertices and edges that some classes need."""
        places = {key: place for key, place in planned.places.items() if key in keys}
        used = np.unique(np.concatenate(list(places.values())))
        origin = np.full_like(planned.origin, -1)
        for place in places.values():
            pairs = place[:, None], place[None, :]
            origin[pairs] = planned.origin[pairs]
        origin = origin[used[:, None], used[None, :]]
        moved = {key: np.searchsorted(used, place) for key, place in places.items()}
        return Planned(origin, self._copied(origin), moved)

    def _planned(self, lacks: Sequence[tuple[Cover, Lack]], vertex_cost: float) -> Planned:
        """Place a random lacking subgraph of each class, those with many edges first."""
        todo = []
        for cover, lack in lacks:
            for c in np.unique(lack.classes):
                rows = lack.members[lack.classes == c]
                rows = rows[self._rng.permutation(len(rows))[:_EXAMPLES]]
                some = [self._example(cover, row) for row in rows]
                example = min(some, key=lambda e: float(e.weights.sum()))  # leaves room for others
                todo.append((-int(example.edges.sum()) + self._rng.random(), (cover.x, int(c)), example))
        examples = {key: example for _, key, example in sorted(todo, key=lambda t: t[0])}
        alone: set[Key] = set()
        while True:  # ends: in the worst case all stand alone
            planned = self._placed(examples, alone, vertex_cost)
            strange = {key for key in self._strange(planned, examples) if key not in alone}
            if not strange:
                return planned
            alone |= strange

    def _placed(self, examples: Mapping[Key, Example], alone: Set[Key], vertex_cost: float) -> Planned:
        """Place members where they cost little, some on vertices of their own."""
        template = Template(self._rng, vertex_cost)
        places: dict[Key, Ints] = {}
        for key in sorted(examples, key=alone.__contains__):
            places[key] = template.place(examples[key], apart=key in alone)
            template.add(examples[key], places[key])
        return Planned(template.origin, self._copied(template.origin), places)

    def _strange(self, planned: Planned, examples: Mapping[Key, Example]) -> Iterator[Key]:
        """Members on whose places the rules derive something else than on them, for edges came from elsewhere."""
        if not self._reasoner.predicates:
            return
        copied = InducedReasoner(planned.graph, self._noising.program)
        for x in {x for x, _ in planned.places}:
            keys = [key for key in planned.places if key[0] == x]
            found = copied.masks(np.stack([planned.places[key] for key in keys]))
            wanted = self._reasoner.masks(np.stack([examples[key].member for key in keys]))
            yield from (keys[i] for i in np.flatnonzero((found != wanted).any(axis=1)))

    def _example(self, cover: Cover, member: Ints) -> Example:
        x = len(member)
        edges, weights = np.zeros((x, x), dtype=np.int64), np.zeros((x, x))
        for name, between in self._between.items():
            a, b, row = between.among(member)
            np.add.at(edges, (a, b), 1)
            bound = self._noising.program.incoming_sums.get(name)
            if bound is not None and between.relation.weight is not None:
                np.add.at(weights, (a, b), between.relation.weight[row] / bound)
        return Example(member, cover.catalogue.ties(member[None])[0], edges, weights)

    def _copied(self, origin: Ints) -> KnowledgeGraph:
        """Edges copied for each ordered pair from the pair of its origin, -1 for none."""
        u, v = np.nonzero(origin[:, :, 0] >= 0)
        relations = {}
        for name, between in self._between.items():
            pair, row = between.rows(origin[u, v, 0], origin[u, v, 1])
            weight = None if between.relation.weight is None else between.relation.weight[row]
            relations[name] = Relation(u[pair].astype(np.int64), v[pair].astype(np.int64), weight)
        return KnowledgeGraph(np.arange(len(origin)).astype(str).astype(object), relations)

    def _build(self, chosen: Choice, planned: Planned, lacks: Sequence[tuple[Cover, Lack]]) -> None:
        draft, self._before = self._draft, planned
        vertices = chosen.hosts.copy()
        vertices[vertices < 0] = draft.new(int((vertices < 0).sum()))
        for name, relation in self._reweighed(planned, vertices).relations.items():
            weights = relation.weight if relation.weight is not None else np.zeros(len(relation))
            ends = vertices[relation.source].tolist(), vertices[relation.target].tolist()
            for u, v, w in zip(*ends, weights.tolist(), strict=True):
                draft.edge(name, u, v, w)
        draft.piece(vertices.tolist())
        self._attach(planned, vertices, chosen.degrees)
        draft.promise(
            vertices, chosen.degrees[0] - draft.inner[vertices], chosen.degrees[1] - draft.outer[vertices]
        )
        for cover, _ in lacks:
            mine = {c: place for (x, c), place in planned.places.items() if x == cover.x}
            if mine:
                cover.add(vertices[np.stack(list(mine.values()))], np.array(list(mine), dtype=np.int64))

    def _attach(self, planned: Planned, vertices: Ints, degrees: Ints) -> None:
        """Tie what stands on new vertices alone to the rest, by an edge that is needed anyway if there is one."""
        draft = self._draft
        count, component = planned.graph.components()
        for c in range(count):
            mine = np.flatnonzero(component == c)
            if (vertices[mine] < draft.graph.n).any():
                continue
            lack = degrees - np.stack([draft.inner[vertices], draft.outer[vertices]])
            phi, at = np.unravel_index(int(lack[:, mine].argmax()), (2, len(mine)))
            draft.tie_to_partner(int(vertices[mine[at]]), incoming=bool(phi == 0))

    def _reweighed(self, planned: Planned, row: Ints) -> KnowledgeGraph:
        """Weights of their own for a copy, from which the rules derive the same in every member."""
        graph = planned.graph
        if not any(r.weight is not None and len(r) for r in graph.relations.values()):
            return graph
        for _ in range(_ATTEMPTS):
            drawn = self._noising.copies(graph, self._rng)
            if self._fits(drawn, row) and all(self._same(graph, drawn, p) for p in _by_size(planned)):
                return drawn
        return graph

    def _fits(self, graph: KnowledgeGraph, row: Ints) -> bool:
        """Whether its vertices have room for the weights into them."""
        return all(
            r.weight is None
            or (
                np.bincount(r.target, weights=r.weight, minlength=graph.n) <= self._draft.room(name, row)
            ).all()
            for name, r in graph.relations.items()
        )

    def _same(self, one: KnowledgeGraph, other: KnowledgeGraph, places: Ints) -> bool:
        if not self._reasoner.predicates:
            return True
        found = [InducedReasoner(g, self._noising.program).masks(places) for g in (one, other)]
        return bool((found[0] == found[1]).all())


def _by_size(planned: Planned) -> list[Ints]:
    sizes = {x for x, _ in planned.places}
    return [np.stack([p for (x, _), p in planned.places.items() if x == size]) for size in sorted(sizes)]
