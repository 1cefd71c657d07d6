"""Copies of templates that serve as images: choice of host vertices and their degrees, and construction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field

import numpy as np

from kgreason.base.records import record
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.sorted_keys import descending
from kgreason.graph.subgraphs.ordered_adjacency import Ints
from kgreason.isomorphism.anonymizers.assembly import assemble
from kgreason.isomorphism.anonymizers.augmentation import (
    Augmentation,
    ClassKey,
    EdgeIndex,
    Flags,
    ForbiddenDegrees,
)
from kgreason.isomorphism.anonymizers.derived_facts import NEW, Counts, DerivedFacts
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack
from kgreason.isomorphism.anonymizers.templates import Example, Template
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising

VERTEX_COST = 2.0  # cost of a new vertex, in edges
_HOSTS = 4_000  # original vertices that are considered as hosts
_VERTEX_COSTS = 2 * (1.0, 2.0, 6.0)  # costs of a template vertex, in edges, each tried for a template
_EXAMPLES = 8  # members of a class that are considered for a template
_ATTEMPTS = 4  # draws of weights for a copy


@record(eq=False)
class Planned:
    """Template as a graph with the weights of the copied members, and with the positions of the classes in it.

    Attributes
    ----------
    origin
        For each pair of template vertices, the pair of graph vertices from which its edges are copied, -1 for none;
        shape (t, t, 2).
    members
        By size and class: template vertices of a member, in canonical order.
    derived
        Derived edges of these members by predicate, without loops, bool, shape (predicates, x, x); empty if false facts
        cost nothing.
    """

    origin: Ints
    graph: KnowledgeGraph
    members: Mapping[ClassKey, Ints]
    derived: Mapping[ClassKey, Flags] = field(default_factory=dict)

    def ties(self) -> tuple[Flags, Flags]:
        """Whether two template vertices are joined, and whether they must not be, in either direction."""
        t = self.graph.n
        joined, together = np.zeros((2, t, t), dtype=np.bool_)
        for member in self.members.values():
            together[member[:, None], member] = True
        joined[self.graph.ends] = True
        joined |= joined.T
        return joined, together & ~joined


@record(eq=False)
class Embedding:
    """Planned copy of a template: its cost in edges, and the resulting in- and out-degrees, shape (2, t).

    `hosts` are the original vertices that host each template vertex, -1 for a new vertex; shape (t,).
    """

    cost: float
    hosts: Ints
    degrees: Ints


class HostSearch:
    """Search for hosts and degrees of a copy that serves all lacking subgraphs with few additions.

    A copy serves a subgraph if the two share no vertex and no in- or out-degree at any position. The new degrees of the
    hosts must preserve this, and must not invalidate images made before. With `facts`, a false fact to expect costs
    `fact_cost` edges.
    """

    def __init__(
        self,
        augmentation: Augmentation,
        lacks: Sequence[tuple[Cover, Lack]],
        rng: np.random.Generator,
        facts: DerivedFacts | None = None,
        fact_cost: float = 0.0,
    ) -> None:
        self._facts, self._fact_cost = facts, fact_cost if facts else 0.0
        self._augmentation, self._rng = augmentation, rng
        self._real = augmentation.inner, augmentation.outer
        self._vertices = self._candidates()
        self._forbidden = ForbiddenDegrees.of(self._real, lacks, self._vertices)
        self._number = np.full(augmentation.n, -1, dtype=np.int64)
        self._number[self._vertices] = np.arange(len(self._vertices))
        self._rooms = {name: augmentation.room(name, self._vertices) for name in augmentation.graph.relations}

    def _candidates(self) -> Ints:
        """Original vertices without loop outside all images: half of them by degree, half random; in random order."""
        augmentation, n = self._augmentation, self._augmentation.graph.n
        if augmentation.keep_degrees:
            return np.empty(0, dtype=np.int64)
        high = descending(augmentation.inner[:n] + augmentation.outer[:n])[: _HOSTS // 2]
        some = self._rng.choice(n, min(n, _HOSTS // 2), replace=False)
        some = np.unique(np.concatenate([high, some]))
        return self._rng.permutation(some[~augmentation.loops[some] & ~augmentation.in_copies(some)])

    def choose(self, planned: Planned) -> Embedding:
        """Choose hosts and degrees for a copy of a template."""
        t, forbidden = planned.graph.n, self._forbidden.copy()
        hosts = np.full(t, -1, dtype=np.int64)
        degrees = np.zeros((2, t), dtype=np.int64)
        inside = np.stack([planned.graph.in_degree(), planned.graph.out_degree()])
        joined, apart = planned.ties()
        blocked = np.zeros((t, len(self._vertices)), dtype=np.bool_)  # candidates by template vertex
        places: list[list[tuple[ClassKey, int]]] = [[] for _ in range(t)]
        for key, member in planned.members.items():
            for p, v in enumerate(member.tolist()):
                places[v].append((key, p))
        edges = self._derived_edges(planned)
        for v in self._rng.permutation(t).tolist():
            keys = places[v]
            positions = np.array([forbidden.first[key] + p for key, p in keys], dtype=np.int64)
            fits = self._fitting(planned, v) & ~blocked[v]
            for key, _ in keys:
                fits[forbidden.within[key]] = False
            expected = self._expected(edges, v, hosts)
            number, degrees[:, v] = self._host(forbidden, positions, inside[:, v], fits, expected)
            for phi in range(2):
                forbidden.images[phi, positions, degrees[phi, v]] = True
            if number >= 0:
                hosts[v] = self._vertices[number]
                forbidden.record(number, degrees[:, v].tolist())
                host = int(hosts[v])
                blocked[:, number] = True
                blocked[np.ix_(joined[v], self._among(self._augmentation.around(host)))] = True
                blocked[np.ix_(apart[v], self._among(self._augmentation.adjacent(host)))] = True
        false = sum(self._false_facts(p, int(hosts[a]), into=False)[hosts[b]] for p, a, b in edges)
        return Embedding(
            self._cost(planned, hosts, degrees - inside) + self._fact_cost * float(false), hosts, degrees
        )

    def _among(self, vertices: Set[int]) -> Ints:
        """Indices of those vertices that are candidates."""
        number = self._number[list(vertices)]
        return np.asarray(number[number >= 0])

    def _derived_edges(self, planned: Planned) -> list[tuple[str, int, int]]:
        """Derived edges of a template, with those that follow from edges of different members."""
        if self._facts is None:
            return []
        t, names = planned.graph.n, self._facts.predicates
        found = np.zeros((len(names), t, t), dtype=np.bool_)
        for key, member in planned.members.items():
            found[:, member[:, None], member] |= planned.derived[key]
        return [
            (name, int(a), int(b))
            for name, edges in zip(names, found, strict=True)
            for a, b in np.argwhere(self._facts.joined(name, edges))
        ]

    def _expected(self, edges: Sequence[tuple[str, int, int]], v: int, hosts: Ints) -> Counts:
        """False facts to expect if each candidate hosts a template vertex; the last: if it becomes a new vertex."""
        total = np.zeros(len(self._vertices) + 1)
        candidates = np.append(self._vertices, NEW)
        for name, a, b in edges:
            if v in (a, b):
                host = int(hosts[a if v == b else b])
                total += self._false_facts(name, host, into=v == a)[candidates]
        return total

    def _false_facts(self, name: str, host: int, *, into: bool) -> Counts:
        assert self._facts is not None
        return self._facts.expected(name, host, into=into)

    def _host(
        self, forbidden: ForbiddenDegrees, positions: Ints, inside: Ints, allowed: Flags, expected: Counts
    ) -> tuple[int, tuple[int, int]]:
        """Index of the cheapest host (-1 for a new vertex), with its free degrees."""
        after = [forbidden.next_free(phi, positions) for phi in range(2)]
        highest = len(after[0]) - 1
        fresh = int(after[0][inside[0]]), int(after[1][inside[1]])
        now = [np.minimum(self._real[phi][self._vertices] + inside[phi], highest) for phi in range(2)]
        then = [after[phi][now[phi]] for phi in range(2)]
        cost = then[0] - now[0] + then[1] - now[1] + self._fact_cost * expected[:-1]
        allowed = allowed & (cost < VERTEX_COST + sum(fresh) - sum(inside) + self._fact_cost * expected[-1])
        allowed &= (then[0] < highest) & (then[1] < highest)
        some = np.flatnonzero(allowed)
        some = some[np.argsort(cost[some], kind="stable")]
        number = forbidden.first_allowed(some, [degree[some] for degree in then])
        return (-1, fresh) if number < 0 else (number, (int(then[0][number]), int(then[1][number])))

    def _fitting(self, planned: Planned, v: int) -> Flags:
        """Whether each candidate has room for the weights into a template vertex."""
        fits = np.ones(len(self._vertices), dtype=np.bool_)
        for name, relation in planned.graph.relations.items():
            into = relation.target == v
            if (relation.source[into] == v).any():
                fits[:] = False  # a loop
            if relation.weight is not None and (more := float(relation.weight[into].sum())):
                fits &= self._rooms[name] >= more
        return fits

    def _cost(self, planned: Planned, hosts: Ints, degrees: Ints) -> float:
        """Cost in edges; `degrees` exclude the edges of the template, shape (2, t)."""
        before = [len(ends) for ends in self._augmentation.open]
        now = [np.where(hosts >= 0, self._real[phi][hosts], 0) for phi in range(2)]
        after = [before[phi] + int((degrees[phi] - now[phi]).sum()) for phi in range(2)]
        return max(after) - max(before) + planned.graph.m + VERTEX_COST * int((hosts < 0).sum())


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
            options = [(hosts.choose(planned), planned) for planned in self._templates(rest)]
            self._build(*min(options, key=lambda option: option[0].cost), rest)

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
        """The previous template restricted to the lacking classes if it contains them all, and new templates."""
        keys = {(cover.x, c) for cover, lack in lacks for c in lack.of_class}
        if self._last is not None and keys <= set(self._last.members):
            yield self._restricted(self._last, keys)
        for cost in _VERTEX_COSTS:
            yield self._planned(lacks, cost)

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

    def _planned(self, lacks: Sequence[tuple[Cover, Lack]], vertex_cost: float) -> Planned:
        """Place a lacking subgraph of each class, those with many edges first."""
        chosen = []
        for cover, lack in lacks:
            some: list[Ints] = []
            draws: list[float] = []
            classes = [*lack.of_class]
            for c in classes:
                rows = lack.of_class[c]
                some.append(rows[self._rng.permutation(len(rows))[:_EXAMPLES]])
                draws.append(self._rng.random())
            for c, draw, example in zip(classes, draws, self._examples(cover, some), strict=True):
                chosen.append((-int(example.edges.sum()) + draw, (cover.x, c), example))
        examples = {key: example for _, key, example in sorted(chosen, key=lambda entry: entry[0])}
        alone: set[ClassKey] = set()
        while True:  # terminates, in the worst case with all members on separate vertices
            planned = self._placed(examples, alone, vertex_cost)
            changed = {*self._changed(planned, examples)} - alone
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

    def _changed(self, planned: Planned, examples: Mapping[ClassKey, Example]) -> Iterator[ClassKey]:
        """Members from whose template vertices the rules derive other edges than from the member itself."""
        if not self._reasoner.predicates:
            return
        copied = self._reasoner.on(planned.graph)
        for x in {x for x, _ in planned.members}:
            keys = [key for key in planned.members if key[0] == x]
            found = copied.masks(np.stack([planned.members[key] for key in keys]))
            wanted = self._reasoner.masks(np.stack([examples[key].member for key in keys]))
            yield from (keys[i] for i in np.flatnonzero((found != wanted).any(axis=1)))

    def _examples(self, cover: Cover, some: Sequence[Ints]) -> list[Example]:
        """Of some members of each class the one with the least weights, which leaves room for other members."""
        if not some:
            return []
        members = np.concatenate(some)
        count, x = members.shape
        shape = count, x, x
        edges, weights = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        first, second = (
            ends.reshape(-1) for ends in np.broadcast_arrays(members[:, :, None], members[:, None])
        )
        for name, index in self._edges.items():
            pair, row = index.rows(first, second)
            np.add.at(edges.reshape(-1), pair, 1)
            bound = self._noising.program.incoming_sums.get(name)
            if bound is not None and index.relation.weight is not None:
                np.add.at(weights.reshape(-1), pair, index.relation.weight[row] / bound)
        kinds, start = cover.catalogue.ties(members), 0
        chosen = []
        for rows in some:
            chosen.append(min(range(start, start + len(rows)), key=lambda i: float(weights[i].sum())))
            start += len(rows)
        derived = np.zeros((len(chosen), 0, x, x), dtype=np.bool_)
        if self._fact_cost:
            derived = self._reasoner.derived(members[chosen]) & ~np.eye(x, dtype=np.bool_)
        return [
            Example(members[at], kinds[at], edges[at], weights[at], edges_derived)
            for at, edges_derived in zip(chosen, derived, strict=True)
        ]

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
