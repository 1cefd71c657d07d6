"""Make members of rare classes by completing what the graph has nearly: all vertices but one.

A set of x - 1 original vertices that is a member of the class but for one vertex becomes one by edges with a vertex
far from it, or with a new one: no attacked subgraph changes, and few edges are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.augmentation import Draft
from kgreason.anonymizers.natural_cover import Cover, Lack
from kgreason.anonymizers.partition import Between
from kgreason.anonymizers.weight_noise import WeightNoising
from kgreason.graph.facts import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation
from kgreason.subgraphs.catalogue import Catalogue
from kgreason.subgraphs.pools import degree_ranks
from kgreason.subgraphs.visit import DRAW, visit_all

Ints = npt.NDArray[np.int64]

_DRAWN = 512  # sets that are looked at for each completion
_HOSTS = 48  # vertices that are tried as the last one
_TRIED = 24  # completions whose derived edges are looked at
_ATTEMPTS = 4  # at weights of their own


@dataclass(frozen=True, eq=False)
class Model:
    """A class without one of its vertices.

    Attributes
    ----------
    member
        A member of the class in canonical order, shape (x,).
    hole
        The position that is left out.
    rest
        The other positions, in the canonical order of the smaller class.
    number
        That class.
    tied
        Which positions have an edge with the hole.
    edges
        Edges between the hole and the others, and its loops: relation, positions, weight.
    """

    member: Ints
    hole: int
    rest: Ints
    number: int
    tied: npt.NDArray[np.bool_]
    edges: tuple[tuple[str, int, int, float], ...]


class Completer:
    """Completes sets of x - 1 vertices.

    Parameters
    ----------
    cover
        Of the subgraphs with x vertices.
    """

    def __init__(
        self,
        cover: Cover,
        noising: WeightNoising,
        reasoner: InducedReasoner,
        draft: Draft,
        rng: np.random.Generator,
    ) -> None:
        self._noising = noising
        self.cover, self.draft, self.rng = cover, draft, rng
        self._reasoner = reasoner
        self._graph = cover.catalogue.graph
        self._small = Catalogue(self._graph, None, cover.x - 1, rng)
        counts = np.maximum(self._small.class_counts(), 1)
        bound = np.minimum(2.0**31, 2.0**31 * 4 * _DRAWN / counts).astype(np.int64)
        members, kinds = visit_all(self._small, np.full(len(counts), DRAW, np.uint8), threshold=bound)
        self._rows = self._small.ordered(members, kinds)
        self._of = self._small.class_of[kinds]
        self._between = Between.of(self._graph)

    def mend(self, lack: Lack) -> Lack:
        """Make members for the subgraphs that lack images; returns those that none could be made for."""
        left: list[Lack] = []
        for number in np.unique(lack.classes).tolist():
            rows = lack.members[lack.classes == number]
            for _ in range(2 * self.cover.need):
                member = self.complete(number, rows)
                if member is None:
                    break
                self.cover.add(member[None], np.array([number], dtype=np.int64))
                rows = self._still(rows, number).members
                if not len(rows):
                    break
            left.append(self._still(rows, number))
        return Lack(
            np.concatenate([lack.members[:0], *(some.members for some in left)]),
            np.concatenate([lack.classes[:0], *(some.classes for some in left)]),
            np.concatenate([lack.missing[:0], *(some.missing for some in left)]),
        )

    def _still(self, rows: Ints, number: int) -> Lack:
        """Those that lack images yet."""
        ranks, _ = degree_ranks((self.draft.inner, self.draft.outer))
        classes = np.full(len(rows), number, dtype=np.int64)
        missing = self.cover.missing(rows, classes, ranks)
        open_ = missing > 0
        return Lack(rows[open_], classes[open_], missing[open_])

    def complete(self, number: int, lacking: Ints) -> Ints | None:
        """Make one member of a class for subgraphs that lack images; `None` if none would do.

        Parameters
        ----------
        lacking
            Subgraphs of the class in canonical order, shape (N, x).
        """
        best: tuple[float, Ints, Model] | None = None
        for model in self._models(lacking[self.rng.integers(len(lacking))]):
            found = self._best(model, number, lacking)
            if found is not None and (best is None or found[0] > best[0]):
                best = (*found, model)
        if best is None:
            return None
        _, member, model = best
        return self._made(member, model)

    def _models(self, member: Ints) -> Iterator[Model]:
        """The class without each vertex that leaves it connected and has the fewest ties."""
        x = len(member)
        tied = self._tied(member)
        degree = tied.sum(axis=1)
        fits = [p for p in range(x) if _connected(np.delete(np.delete(tied, p, 0), p, 1))]
        least = min(degree[p] for p in fits)
        for p in fits:
            if degree[p] == least:
                others = np.delete(np.arange(x), p)
                ordered, number = self._small.classified(member[None, others])
                rest = others[[int(np.flatnonzero(member[others] == v)[0]) for v in ordered[0]]]
                edges = tuple(e for e in self._edges(member) if p in e[1:3])
                yield self._reweighed(Model(member, p, rest.astype(np.int64), int(number[0]), tied[p], edges))

    def _reweighed(self, model: Model) -> Model:
        """Weights of their own, such as copies get, from which the rules derive the same, if some are found."""
        relations = {}
        for name, between in self._between.items():
            a, b, w = np.array([e[1:] for e in model.edges if e[0] == name]).reshape(-1, 3).T
            weight = None if between.relation.weight is None else w
            relations[name] = Relation(a.astype(np.int64), b.astype(np.int64), weight)
        graph = KnowledgeGraph(np.arange(len(model.member)).astype(object), relations)
        for _ in range(_ATTEMPTS):
            drawn = self._noising.copies(graph, self.rng).relations.items()
            new = {name: iter(r.weight.tolist()) for name, r in drawn if r.weight is not None}
            edges = tuple((n, a, b, next(new[n]) if n in new else w) for n, a, b, w in model.edges)
            own = replace(model, edges=edges)
            if self._derives(model.member, own):
                return own
        return model

    def _edges(self, vertices: Ints) -> Iterator[tuple[str, int, int, float]]:
        """Edges among some vertices: relation, positions, weight."""
        for name, between in self._between.items():
            weight = between.relation.weight
            for a, b, row in zip(*(c.tolist() for c in between.among(vertices)), strict=True):
                yield name, a, b, 0.0 if weight is None else float(weight[row])

    def _tied(self, member: Ints) -> npt.NDArray[np.bool_]:
        """Which vertices have an edge, either way; shape (x, x)."""
        found = np.zeros((len(member), len(member)), dtype=np.bool_)
        for _, a, b, _ in self._edges(member):
            found[a, b] = found[b, a] = a != b
        return found

    def _best(self, model: Model, number: int, lacking: Ints) -> tuple[float, Ints] | None:
        """The completion that serves most of the lacking ones; a member in canonical order, -1 a new vertex."""
        draft, x = self.draft, len(model.member)
        pool = self._rows[self._of == model.number]
        pool = pool[self.rng.permutation(len(pool))[:_DRAWN]]
        if not len(pool):
            return None
        more = self._more(model)
        rows = np.full((len(pool), x), -1, dtype=np.int64)
        rows[:, model.rest] = pool
        found: list[tuple[float, Ints]] = []
        hosts = self._hosts()
        made = self.cover.made[0][self.cover.made[1] == number]
        for host in hosts:
            filled = rows.copy()
            filled[:, model.hole] = host
            inner = np.where(filled < 0, 0, draft.inner[filled]) + more[0]
            outer = np.where(filled < 0, 0, draft.outer[filled]) + more[1]
            score = self._score(filled, inner, outer, lacking, made)
            cost = 0.0 if 0 <= host < self._graph.n else 0.3 if host >= 0 else 0.6
            for i in np.argsort(-score)[:4]:
                if score[i] > 0 and self._may(filled[i], model, more):
                    found.append((float(score[i]) - cost, filled[i]))
        found.sort(key=lambda f: -f[0])
        for value, member in found[:_TRIED]:
            if self._derives(member, model):
                return value, member
        return None

    def _hosts(self) -> list[int]:
        """Vertices to complete with: some originals, all new ones so far, and a fresh one."""
        n, many = self._graph.n, self.draft.n
        some = self.rng.choice(n, min(n, _HOSTS), replace=False).tolist()
        return [*some, *range(n, many), -1]

    def _score(
        self, members: Ints, inner: Ints, outer: Ints, lacking: Ints, made: Ints
    ) -> npt.NDArray[np.float64]:
        """How many of the lacking ones a member would serve, those first that no member made before does not fit."""
        draft = self.draft

        def apart(others: Ints) -> npt.NDArray[np.bool_]:
            far: npt.NDArray[np.bool_] = (inner[:, None] != draft.inner[others][None]).all(axis=2)
            far &= (outer[:, None] != draft.outer[others][None]).all(axis=2)
            far &= (members[:, None, :, None] != others[None, :, None, :]).all(axis=(2, 3))
            return far

        serves: npt.NDArray[np.float64] = apart(lacking[: 1 << 10]).sum(axis=1).astype(np.float64)
        if len(made):
            serves *= (1 + apart(made).sum(axis=1)) / (1 + len(made))
        return serves

    def _more(self, model: Model) -> Ints:
        """In- and out-degree that each position gains, shape (2, x)."""
        more = np.zeros((2, len(model.member)), dtype=np.int64)
        for _, a, b, _ in model.edges:
            more[0, b] += 1
            more[1, a] += 1
        return more

    def _may(self, member: Ints, model: Model, more: Ints) -> bool:
        """Whether the edges are safe and no other ones run between the vertices."""
        draft, n, host = self.draft, self._graph.n, int(member[model.hole])
        inside = {int(v) for v in member}
        if len(inside) < len(member) or any(draft.beside(v) & inside for v in inside if v >= 0):
            return False
        if any(
            more[:, p].any() and not self._bears(int(v), more[:, p])
            for p, v in enumerate(member)
            if 0 <= v < n
        ):
            return False
        if any(
            self._weight(model, name, p) > draft.room(name, v)
            for name in self._between
            for p, v in enumerate(member)
            if v >= 0
        ):
            return False
        if host < 0:
            return True
        if any(a == b for _, a, b, _ in model.edges) or (host < n and draft.loops[host]):
            return False
        return all(
            draft.fits(host, int(v)) if model.tied[p] else host >= n or not draft.adjacent(host, int(v))
            for p, v in enumerate(member)
            if p != model.hole
        )

    def _bears(self, vertex: int, more: Ints) -> bool:
        """Whether an original vertex may get so many more edges in and out."""
        draft = self.draft
        return draft.may(vertex, int(draft.inner[vertex] + more[0]), int(draft.outer[vertex] + more[1]))

    def _derives(self, member: Ints, model: Model) -> bool:
        """Whether the rules derive on a completion what they derive on the class."""
        if not self._reasoner.predicates:
            return True
        known = member[model.rest]
        relations = {}
        for name, between in self._between.items():
            a, b, row = between.among(known)
            new = [e[1:] for e in model.edges if e[0] == name]
            source = np.concatenate([model.rest[a], np.array([e[0] for e in new], dtype=np.int64)])
            target = np.concatenate([model.rest[b], np.array([e[1] for e in new], dtype=np.int64)])
            weight = between.relation.weight
            if weight is not None:
                weight = np.concatenate([weight[row], np.array([e[2] for e in new], dtype=np.float64)])
            relations[name] = Relation(source, target, weight)
        places = np.arange(len(member), dtype=np.int64)
        alone = InducedReasoner(
            KnowledgeGraph(places.astype(str).astype(object), relations), self._noising.program
        )
        return bool((alone.masks(places[None]) == self._reasoner.masks(model.member[None])).all())

    @staticmethod
    def _weight(model: Model, relation: str, position: int) -> float:
        """What a completion adds to the incoming weights of a vertex."""
        return sum(w for name, _, b, w in model.edges if (name, b) == (relation, position))

    def _made(self, member: Ints, model: Model) -> Ints:
        """Add the edges, and the vertex if it is new."""
        member = member.copy()
        if member[model.hole] < 0:
            member[model.hole] = self.draft.new(1)[0]
        for name, a, b, weight in model.edges:
            self.draft.edge(name, int(member[a]), int(member[b]), weight)
        self.draft.piece(member.tolist())
        return member


def _connected(tied: npt.NDArray[np.bool_]) -> bool:
    reach = tied | np.eye(len(tied), dtype=np.bool_)
    for _ in range(len(tied)):
        reach = reach @ reach
    return bool(reach.all())
