"""Hosts of a copy of a template: original vertices, and the degrees that they get.

References
----------
docs/methods/kguard.md, made images.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import field

import numpy as np

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.sorted_keys import descending
from kgreason.graph.subgraphs.ordered_adjacency import Ints
from kgreason.isomorphism.anonymizers.augmentation import Augmentation
from kgreason.isomorphism.anonymizers.derived_facts import NEW, Counts, DerivedFacts
from kgreason.isomorphism.anonymizers.forbidden_degrees import ClassKey, Flags, ForbiddenDegrees
from kgreason.isomorphism.anonymizers.natural_cover import Cover, Lack

VERTEX_COST = 2.0  # cost of a new vertex, in edges
_HOSTS = 4_000  # original vertices that are considered as hosts
_ORDERS = 3  # orders of the vertices of a template, in which hosts are chosen


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
        Derived edges of these members by predicate, bool, shape (predicates, x, x).
    """

    origin: Ints
    graph: KnowledgeGraph
    members: Mapping[ClassKey, Ints]
    derived: Mapping[ClassKey, Flags] = field(default_factory=dict)


@record(eq=False)
class Embedding:
    """Planned copy of a template: its cost in edges, and the resulting in- and out-degrees, shape (2, t).

    `hosts` are the original vertices that host each template vertex, -1 for a new vertex; shape (t,).
    """

    cost: float
    hosts: Ints
    degrees: Ints


@record(eq=False)
class _Requirements:
    """What hosts of the vertices of a template must satisfy.

    Attributes
    ----------
    keys
        Classes in which each vertex has a position.
    positions
        Its positions, numbered as in `ForbiddenDegrees`.
    inside
        In- and out-degrees in the template, shape (2, t).
    joined, apart
        Whether an edge joins two vertices, and whether none may join them, in either direction; shape (t, t).
    """

    keys: list[list[ClassKey]]
    positions: list[Ints]
    inside: Ints
    joined: Flags
    apart: Flags

    @classmethod
    def of(cls, planned: Planned, forbidden: ForbiddenDegrees) -> _Requirements:
        t = planned.graph.n
        keys: list[list[ClassKey]] = [[] for _ in range(t)]
        positions: list[list[int]] = [[] for _ in range(t)]
        joined, together = np.zeros((2, t, t), dtype=np.bool_)
        for key, member in planned.members.items():
            together[member[:, None], member] = True
            for p, v in enumerate(member.tolist()):
                keys[v].append(key)
                positions[v].append(forbidden.first[key] + p)
        joined[planned.graph.ends] = True
        joined |= joined.T
        inside = np.stack([planned.graph.in_degree(), planned.graph.out_degree()])
        return cls(keys, [np.array(p, dtype=np.int64) for p in positions], inside, joined, together & ~joined)


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

    def choose(self, planned: Planned, most: float = math.inf) -> Embedding | None:
        """Choose hosts and degrees for a copy of a template; `None` if no copy is found that costs less than `most`.

        Hosts are chosen one after the other, in some random orders of the template vertices.
        """
        required = _Requirements.of(planned, self._forbidden)
        fits = np.stack([self._fitting(planned, v) for v in range(planned.graph.n)])
        for v, keys in enumerate(required.keys):
            for key in keys:
                fits[v, self._forbidden.within[key]] = False
        derived, best = self._derived_edges(planned), None
        for _ in range(_ORDERS):
            found = self._embedded(planned, required, fits, derived, most)
            if found is not None:
                best, most = found, found.cost
        return best

    def _embedded(
        self,
        planned: Planned,
        required: _Requirements,
        fits: Flags,
        derived: Sequence[tuple[str, int, int]],
        most: float,
    ) -> Embedding | None:
        """Choose hosts in a random order of the template vertices."""
        t, forbidden = planned.graph.n, self._forbidden.copy()
        hosts = np.full(t, -1, dtype=np.int64)
        degrees = np.zeros((2, t), dtype=np.int64)
        blocked = ~fits
        raised, new = np.zeros(2, dtype=np.int64), 0
        for v in self._rng.permutation(t).tolist():
            if self._cost(planned, raised, new) >= most:
                return None
            inside, positions = required.inside[:, v], required.positions[v]
            expected = self._expected(derived, v, hosts)
            number, degrees[:, v] = self._host(forbidden, positions, inside, ~blocked[v], expected)
            raised += degrees[:, v] - inside
            new += number < 0
            for phi in range(2):
                forbidden.images[phi, positions, degrees[phi, v]] = True
            if number >= 0:
                host = hosts[v] = int(self._vertices[number])
                raised -= [int(degree[host]) for degree in self._real]
                forbidden.record(number, degrees[:, v].tolist())
                blocked[:, number] = True
                around, adjacent = (
                    self._among(near(host))
                    for near in (self._augmentation.around, self._augmentation.adjacent)
                )
                for u in range(t):
                    if required.joined[v, u]:
                        blocked[u, around] = True
                    elif required.apart[v, u]:
                        blocked[u, adjacent] = True
        false = sum(self._false_facts(p, int(hosts[a]), into=False)[hosts[b]] for p, a, b in derived)
        cost = self._cost(planned, raised, new) + self._fact_cost * float(false)
        return Embedding(cost, hosts, degrees) if cost < most else None

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
            for a, b in np.argwhere(self._facts.joined(name, edges) & ~np.eye(t, dtype=np.bool_))
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

    def _cost(self, planned: Planned, raised: Ints, new: int) -> float:
        """Cost in edges of a copy that raises in- and out-degrees by so much, besides its edges, shape (2,)."""
        before = [len(ends) for ends in self._augmentation.open]
        after = max(ends + int(more) for ends, more in zip(before, raised, strict=True))
        return after - max(before) + planned.graph.m + VERTEX_COST * new
