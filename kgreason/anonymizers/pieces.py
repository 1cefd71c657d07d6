"""Copies of a template: images for whole classes, with degrees that few attacked subgraphs have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgreason.anonymizers.copies import copied_edges
from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.noise import WeightNoising
from kgreason.anonymizers.template import Example, Template
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.records import dataclass
from kgreason.subgraphs.adjacency import Ints

_ROWS = 512  # lacking subgraphs of a class that are looked at
_SHARES = (0.0, 0.01, 0.03, 0.1)  # of them that a chosen degree may meet
_ORDERS = 4  # in which classes come into a template
_VERTEX_COST = 2.0  # in edges
_LEFT_COST = 4.0  # how much dearer it is to leave subgraphs for later, at their share of all
_ATTEMPTS = 12


@dataclass(frozen=True, eq=False)
class Planned:
    """A template and where the classes lie in it.

    Attributes
    ----------
    template
        The template.
    graph
        It as a graph, with the weights of the members that were copied.
    places
        By size and class: a member, in canonical order.
    """

    template: Template
    graph: KnowledgeGraph
    places: Mapping[tuple[int, int], Ints]


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

    def make(self, lacks: Sequence[tuple[Cover, Lack]], need: int) -> None:
        """Add copies that hold a member of every lacking class, and tell the covers."""
        planned = min((self._planned(lacks) for _ in range(_ORDERS)), key=_price)
        lacking = {
            (cover.x, int(c)): self._some(lack.members[lack.classes == c])
            for cover, lack in lacks
            for c in np.unique(lack.classes)
        }
        inner, outer = planned.graph.in_degree(), planned.graph.out_degree()
        options = [
            self._degrees(planned, lacking, (inner, outer), need, copies, share)
            for copies in (need, need + 1, need + 2)
            for share in _SHARES
        ]
        _, chosen = min(options, key=lambda option: option[0])
        self._build(planned, chosen, lacks)

    def _some(self, rows: Ints) -> Ints:
        return rows[self._rng.permutation(len(rows))[:_ROWS]]

    def _planned(self, lacks: Sequence[tuple[Cover, Lack]]) -> Planned:
        """Place a random lacking subgraph of each class, those with many edges first."""
        template = Template(self._rng, _VERTEX_COST)
        todo = []
        for cover, lack in lacks:
            for c in np.unique(lack.classes):
                rows = lack.members[lack.classes == c]
                example = self._example(cover, rows[self._rng.integers(len(rows))])
                todo.append((-int(example.edges.sum()) + self._rng.random(), cover.x, int(c), example))
        places: dict[tuple[int, int], Ints] = {}
        for _, x, c, example in sorted(todo, key=lambda t: t[0]):
            place = template.place(example)
            if not self._keeps(template, example, place):
                place = template.place(example, apart=True)
            template.add(example, place)
            places[x, c] = place
        return Planned(template, self._as_graph(template), places)

    def _example(self, cover: Cover, member: Ints) -> Example:
        x = len(member)
        copies = np.arange(x, dtype=np.int64)[None]
        edges, weights = np.zeros((x, x), dtype=np.int64), np.zeros((x, x))
        for name, relation in self._graph.relations.items():
            found = copied_edges(relation, self._graph.n, [(member[None], copies)])
            np.add.at(edges, (found.source, found.target), 1)
            bound = self._noising.program.incoming_sums.get(name)
            if bound is not None and found.weight is not None:
                np.add.at(weights, (found.source, found.target), found.weight / bound)
        return Example(member, cover.catalogue.ties(member[None])[0], edges, weights)

    def _keeps(self, template: Template, example: Example, place: Ints) -> bool:
        """Whether the rules derive on a member at its place what they derive on it."""
        if not self._reasoner.predicates:
            return True
        origin = np.full((len(place), len(place), 2), -1, dtype=np.int64)
        for a, u in enumerate(place):
            for b, v in enumerate(place):
                known = u < len(template) and v < len(template) and template.kinds[u, v] >= 0
                origin[a, b] = template.origin[u, v] if known else (example.member[a], example.member[b])
        alone = InducedReasoner(self._copied(origin), self._reasoner.program)
        found = alone.masks(np.arange(len(place), dtype=np.int64)[None])
        return bool((found == self._reasoner.masks(example.member[None])).all())

    def _as_graph(self, template: Template) -> KnowledgeGraph:
        return self._copied(template.origin)

    def _copied(self, origin: Ints) -> KnowledgeGraph:
        """Edges copied for each ordered pair from the pair of its origin, -1 for none."""
        n = self._graph.n
        u, v = np.nonzero(origin[:, :, 0] >= 0)
        wanted = origin[u, v, 0] * n + origin[u, v, 1]
        relations = {}
        for name, relation in self._graph.relations.items():
            keys = relation.source * n + relation.target
            order = np.argsort(keys, kind="stable")
            start, end = (np.searchsorted(keys[order], wanted, side=s) for s in ("left", "right"))
            rows = [order[a:b] for a, b in zip(start, end, strict=True)]
            many = end - start
            row = np.concatenate([np.empty(0, dtype=np.int64), *rows])
            weight = None if relation.weight is None else relation.weight[row]
            relations[name] = Relation(
                np.repeat(u, many).astype(np.int64), np.repeat(v, many).astype(np.int64), weight
            )
        return KnowledgeGraph(np.arange(len(origin)).astype(str).astype(object), relations)

    def _degrees(
        self,
        planned: Planned,
        lacking: Mapping[tuple[int, int], Ints],
        current: tuple[Ints, Ints],
        need: int,
        copies: int,
        share: float,
    ) -> tuple[float, Ints]:
        """Choose in- and out-degrees of copies, shape (2, copies, t); and what that costs.

        A degree is free for a vertex if at no position where it stands more than `share` of the lacking subgraphs
        have it, and no other copy of the vertex.
        """
        t = len(planned.template)
        chosen = np.zeros((2, copies, t), dtype=np.int64)
        real = self._draft.inner, self._draft.outer
        for phi in range(2):
            for v in range(t):
                met = [
                    real[phi][lacking[key][:, p]]
                    for key, place in planned.places.items()
                    for p in np.flatnonzero(place == v)
                ]
                taken: set[int] = set()
                for copy in range(copies):
                    degree = int(current[phi][v])
                    while degree in taken or any((m == degree).mean() > share for m in met):
                        degree += 1
                    taken.add(degree)
                    chosen[phi, copy, v] = degree
        chosen = self._rng.permuted(chosen, axis=1) if copies > 1 else chosen
        missing = [int((chosen[phi] - current[phi]).sum()) for phi in range(2)]
        cost = max(missing) + copies * (t * _VERTEX_COST + planned.graph.m)
        left = total = 0
        for key, place in planned.places.items():
            rows = lacking[key]
            clash = np.zeros((len(rows), copies), dtype=np.bool_)
            for phi in range(2):
                clash |= (real[phi][rows][:, None] == chosen[phi][None, :, place]).any(axis=2)
            left += int(((~clash).sum(axis=1) < need).sum())
            total += len(rows)
        return cost * (1 + _LEFT_COST * left / max(total, 1)), chosen

    def _build(self, planned: Planned, chosen: Ints, lacks: Sequence[tuple[Cover, Lack]]) -> None:
        draft, t = self._draft, len(planned.template)
        vertices = np.stack([draft.new(t) for _ in range(chosen.shape[1])])
        for row in vertices:
            graph = self._reweighed(planned)
            for name, relation in graph.relations.items():
                weights = relation.weight if relation.weight is not None else np.zeros(len(relation))
                for u, v, w in zip(
                    relation.source.tolist(), relation.target.tolist(), weights.tolist(), strict=True
                ):
                    draft.edge(name, int(row[u]), int(row[v]), w)
            draft.piece(row.tolist())
        lack_in = chosen[0] - draft.inner[vertices]
        lack_out = chosen[1] - draft.outer[vertices]
        draft.raise_degrees(vertices.ravel(), lack_in.ravel(), lack_out.ravel(), self._rng)
        for cover, _ in lacks:
            mine = [(c, place) for (x, c), place in planned.places.items() if x == cover.x]
            members = np.concatenate([row[np.stack([p for _, p in mine])] for row in vertices])
            cover.add(members, np.tile(np.array([c for c, _ in mine], dtype=np.int64), len(vertices)))

    def _reweighed(self, planned: Planned) -> KnowledgeGraph:
        """Weights of their own for a copy, from which the rules derive the same in every member."""
        graph = planned.graph
        if not any(r.weight is not None and len(r) for r in graph.relations.values()):
            return graph
        for _ in range(_ATTEMPTS):
            drawn = self._noising.copies(graph, self._rng)
            if all(self._same(graph, drawn, places) for places in _by_size(planned)):
                return drawn
        return graph

    def _same(self, one: KnowledgeGraph, other: KnowledgeGraph, places: Ints) -> bool:
        if not self._reasoner.predicates:
            return True
        program = self._reasoner.program
        found = [InducedReasoner(g, program).masks(places) for g in (one, other)]
        return bool((found[0] == found[1]).all())


def _by_size(planned: Planned) -> list[Ints]:
    sizes = {x for x, _ in planned.places}
    return [np.stack([p for (x, _), p in planned.places.items() if x == size]) for size in sorted(sizes)]


def _price(planned: Planned) -> float:
    return len(planned.template) * _VERTEX_COST + planned.graph.m
