"""Copies of a template: images for whole classes, with degrees that few attacked subgraphs have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import product

import numpy as np

from kgreason.anonymizers.between import Between
from kgreason.anonymizers.cover import Cover, Lack
from kgreason.anonymizers.draft import Draft
from kgreason.anonymizers.hosts import Choice, DegreeChooser, Planned
from kgreason.anonymizers.noise import WeightNoising
from kgreason.anonymizers.template import Example, Template
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.subgraphs.adjacency import Ints

_ROWS = 512  # lacking subgraphs of a class that are looked at
_SHARES = (0.0, 0.03, 0.12)  # of them that a chosen degree may meet
_LATER = 3.0  # what it costs to make an image later, in edges
_AGAIN = 0.35  # what it costs at most to begin again, as a part of making all images at once
_VERTEX_COSTS = (1.0, 2.0, 6.0)  # in edges, for templates to choose from
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
            Whether to stand on new vertices only, with degrees that no lacking subgraph has, and to change the
            degree of no other vertex: nothing breaks by that.
        """
        self._draft.apart = apart
        lacking, made, most = {}, {}, 1
        total = sum(len(lack.members) for _, lack in lacks)
        for cover, lack in lacks:
            for c in np.unique(lack.classes):
                rows = np.flatnonzero(lack.classes == c)
                rows = rows[self._rng.permutation(len(rows))[:_ROWS]]
                lacking[cover.x, int(c)] = lack.members[rows], lack.missing[rows]
                made[cover.x, int(c)] = cover.made[0][cover.made[1] == c]
                most = max(most, int(lack.missing[rows].max()))
        best: tuple[float, Choice, Planned] | None = None
        for planned in self._plans(lacks):
            chooser = DegreeChooser(self._draft, planned, lacking, made, self._rng)
            whole = chooser.choose(most, (0.0, 0.0))
            options = [] if apart else product(range(1, most + 1), product(_SHARES, _SHARES))
            some = [chooser.choose(*option) for option in options]
            for choice in (whole, *some):
                later = min(
                    _LATER * total * choice.left, whole.cost * (_AGAIN * (choice.left > 0) + choice.left)
                )
                if best is None or choice.cost + later < best[0]:
                    best = choice.cost + later, choice, planned
        assert best is not None
        self._build(*best[1:], lacks)

    def _plans(self, lacks: Sequence[tuple[Cover, Lack]]) -> Iterator[Planned]:
        """The template of before as far as it is needed, in which classes stand where they stood; else new ones."""
        keys = {(cover.x, int(c)) for cover, lack in lacks for c in np.unique(lack.classes)}
        if self._before is not None and keys <= set(self._before.places):
            yield self._restricted(self._before, keys)
        else:
            for cost in _VERTEX_COSTS:
                yield self._planned(lacks, cost)

    def _restricted(self, planned: Planned, keys: Set[tuple[int, int]]) -> Planned:
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
        template = Template(self._rng, vertex_cost)
        todo = []
        for cover, lack in lacks:
            for c in np.unique(lack.classes):
                rows = lack.members[lack.classes == c]
                some = [self._example(cover, r) for r in self._rng.permutation(rows)[:_EXAMPLES]]
                example = min(some, key=lambda e: float(e.weights.sum()))  # leaves room for others
                todo.append((-int(example.edges.sum()) + self._rng.random(), cover.x, int(c), example))
        places: dict[tuple[int, int], Ints] = {}
        for _, x, c, example in sorted(todo, key=lambda t: t[0]):
            place = template.place(example)
            if not self._keeps(template, example, place):
                place = template.place(example, apart=True)
            template.add(example, place)
            places[x, c] = place
        return Planned(template.origin, self._copied(template.origin), places)

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

    def _keeps(self, template: Template, example: Example, place: Ints) -> bool:
        """Whether the rules derive on a member at its place what they derive on it."""
        if not self._reasoner.predicates:
            return True
        origin = np.full((len(place), len(place), 2), -1, dtype=np.int64)
        for a, u in enumerate(place):
            for b, v in enumerate(place):
                known = u < len(template) and v < len(template) and template.kinds[u, v] >= 0
                origin[a, b] = template.origin[u, v] if known else (example.member[a], example.member[b])
        alone = InducedReasoner(self._copied(origin), self._noising.program)
        found = alone.masks(np.arange(len(place), dtype=np.int64)[None])
        return bool((found == self._reasoner.masks(example.member[None])).all())

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
        draft, self._before = self._draft, self._before or planned
        vertices = chosen.hosts.copy()
        vertices[vertices < 0] = draft.new(int((vertices < 0).sum()))
        for row in vertices:
            graph = self._reweighed(planned, row)
            for name, relation in graph.relations.items():
                weights = relation.weight if relation.weight is not None else np.zeros(len(relation))
                for u, v, w in zip(
                    relation.source.tolist(), relation.target.tolist(), weights.tolist(), strict=True
                ):
                    draft.edge(name, int(row[u]), int(row[v]), w)
            draft.piece(row.tolist())
        self._attach(planned, vertices, chosen.degrees)
        lack_in = chosen.degrees[0] - draft.inner[vertices]
        lack_out = chosen.degrees[1] - draft.outer[vertices]
        draft.promise(vertices.ravel(), lack_in.ravel(), lack_out.ravel())
        for cover, _ in lacks:
            mine = [(c, place) for (x, c), place in planned.places.items() if x == cover.x]
            members = np.concatenate([row[np.stack([p for _, p in mine])] for row in vertices])
            cover.add(members, np.tile(np.array([c for c, _ in mine], dtype=np.int64), len(vertices)))

    def _attach(self, planned: Planned, vertices: Ints, degrees: Ints) -> None:
        """Tie what stands on new vertices alone to the rest, by an edge that is needed anyway if there is one."""
        draft = self._draft
        count, component = planned.graph.components()
        for copy, row in enumerate(vertices):
            for c in range(count):
                mine = np.flatnonzero(component == c)
                if (row[mine] < draft.graph.n).any():
                    continue
                lack = np.stack([degrees[0, copy] - draft.inner[row], degrees[1, copy] - draft.outer[row]])
                phi, at = np.unravel_index(int(lack[:, mine].argmax()), (2, len(mine)))
                draft.tie_to_partner(int(row[mine[at]]), incoming=bool(phi == 0))

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
