"""How an attacker who knows a part of a graph compares it with the places of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.weights import only_gains
from kgreason.assess.classes import Classes, Form
from kgreason.assess.refinement import numbered
from kgreason.assess.space import Catalogue, Space
from kgreason.attacks.knowledge import Part
from kgreason.attacks.places import Places
from kgreason.attacks.world import World, united
from kgreason.errors import AnonymizationError
from kgreason.graph.facts import derived_edges
from kgreason.graph.induced import InducedReasoner
from kgreason.graph.model import KnowledgeGraph, Relation

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LISTED = 5_000  # vertices of a release of which all derived edges are listed at most
DERIVED = "derived "  # begins the names of relations that hold derived edges


class Candidates:
    """The places of a release that a known part of some vertices may be.

    Attributes
    ----------
    parts
        The known parts, vertices of the known graph, shape (N, x).
    sizes
        Number of candidates of each part; shape (N,).
    right
        Whether the true place is among them; shape (N,).
    total, complete
        Number of all places, and whether they were all looked at.
    """

    def __init__(
        self, world: World, space: Space, parts: Ints, known: Ints, released: KnowledgeGraph, limit: int
    ) -> None:
        self.space, self.catalogue = space, Catalogue(space, parts.shape[1])
        shift = space.graph.n - released.n
        self._shift, self.parts = shift, parts
        self._known, canonical = self.catalogue.classify(known)
        self._rows, self._canonical = known, canonical
        self._true = self.catalogue.classify(world.truth[parts] + shift)[0]
        self._places = Places(space, self.catalogue, world.released, np.arange(released.n) + shift, limit)
        self.total, self.complete = self._places.total, self._places.complete

    @cached_property
    def _fitting(self) -> dict[int, dict[int, Ints]]:
        """For each known class the classes of places that fit it, and how their vertices may correspond."""
        own = np.arange(self.catalogue.size)[None, :]
        return {c: {c: own} for c in np.unique(self._known).tolist()}

    def _connected(self, number: int) -> bool:
        return self.catalogue.full.form(number).connected_ground(self.space.ground_types)

    @cached_property
    def _counts(self) -> Ints:
        return self._places.counts(np.unique(self._known))

    @property
    def sizes(self) -> Ints:
        """Number of candidates of each part."""
        counts = self._counts
        found = {c: sum(int(counts[f]) for f in fit) for c, fit in self._fitting.items()}
        sizes = np.array([found[c] for c in self._known.tolist()], dtype=np.int64)
        return np.maximum(sizes, self.right) if not self.complete else sizes

    @property
    def right(self) -> Flags:
        """Whether the true place is a candidate; one that is not connected never is."""
        fits = [t in self._fitting[c] for c, t in zip(self._known.tolist(), self._true.tolist(), strict=True)]
        whole = {c: self._connected(c) for c in set(self._true.tolist())}
        return np.array(
            [f and whole[t] for f, t in zip(fits, self._true.tolist(), strict=True)], dtype=np.bool_
        )


class Loose(Candidates):
    """Candidates of somebody who has seen what is derived from his part, and has no rules.

    The edges must agree. Each derived edge must be among all that the rules derive in the release: more may stand
    there, because of vertices outside.
    """

    def __init__(
        self,
        world: World,
        space: Space,
        parts: Ints,
        known: Ints,
        released: KnowledgeGraph,
        limit: int,
        ground: int,
    ) -> None:
        super().__init__(world, space, parts, known, released, limit)
        self._ground = ground

    def _connected(self, number: int) -> bool:
        form = self.catalogue.full.form(number)
        ground: Ints = self.space.pairs.counts[form.types, : self._ground].max(axis=2)
        return Form(ground, form.automorphisms).connected_ground(int(ground.max()) + 1)

    @cached_property
    def _counts(self) -> Ints:
        return self._places.counts()

    @cached_property
    def _fitting(self) -> dict[int, dict[int, Ints]]:
        whole = len(self._counts)
        counts, size = self.space.pairs.counts, self.catalogue.size
        ground = numbered(counts[:, : self._ground])
        types = np.array([self.catalogue.full.form(c).types for c in range(whole)]).reshape(-1, size, size)
        alike = Classes(size)
        number, order = alike.classify(ground[types].reshape(-1, size * size))
        seen = counts[types, self._ground :]
        found: dict[int, dict[int, Ints]] = {}
        for c in np.unique(self._known).tolist():
            back = np.argsort(order[c])
            turns = alike.form(int(number[c])).automorphisms
            fit = {}
            for f in np.flatnonzero(number == number[c]).tolist():
                bijections = order[f][turns[:, back]]  # position p of c corresponds to bijections[i, p] of f
                there = seen[f][bijections[:, :, None], bijections[:, None, :]]
                fine = (seen[c][None] <= there).all(axis=(1, 2, 3))
                if fine.any():
                    fit[f] = bijections[fine]
            found[c] = fit
        return found

    @cached_property
    def order(self) -> Ints:
        """Which vertex of each part stands at each position of its canonical form, shape (N, x)."""
        places: Ints = (self._rows[:, None, :] == self._canonical[:, :, None]).argmax(axis=2)
        return places

    @cached_property
    def _members(self) -> dict[int, Ints]:
        """Candidates by class, in canonical order, as vertices of the release."""
        wanted = np.unique([f for fit in self._fitting.values() for f in fit]).astype(np.int64)
        found: dict[int, list[Ints]] = {f: [] for f in wanted.tolist()}
        for classes, rows in self._places.rows(wanted):
            for f in np.unique(classes).tolist():
                found[f].append(rows[classes == f] - self._shift)
        none = np.empty((0, self.catalogue.size), dtype=np.int64)
        return {f: np.concatenate([none, *rows]) for f, rows in found.items()}

    def placed(self, i: int, most: int | None = None) -> Ints:
        """Ways in which part i fits, in the order of its canonical form; vertices of the release, shape (M, x).

        Parameters
        ----------
        most
            Of each class take so many places, from all over the release; by default all.
        """
        placed = [np.empty((0, self.catalogue.size), dtype=np.int64)]
        for f, turns in self._fitting[int(self._known[i])].items():
            members = self._members[f]
            members = members if most is None else members[:: max(1, len(members) // most)]
            placed += [members[:, turn] for turn in turns]
        return np.concatenate(placed)


@dataclass(frozen=True, eq=False)
class Means:
    """What attackers who know parts work with.

    Attributes
    ----------
    rules
        The rules of the release as ``"rules"``, and those of somebody who has ``"other"`` ones.
    limit
        So many places of a release are looked at, at most.
    derived
        What the rules derive in releases, as far as somebody has asked for it.
    """

    rules: Mapping[str, CheckedProgram]
    limit: int
    derived: dict[KnowledgeGraph, Mapping[str, tuple[Ints, Ints]]] = field(default_factory=dict)


def candidates(world: World, part: Part, means: Means, parts: Ints) -> Candidates:
    """Find the candidates of known parts, vertex sets of the known graph of shape (N, x).

    Raises
    ------
    AnonymizationError
        If the release is too large to list all that the rules derive in it.
    """
    if part.sees == "derived":
        return _loose(world, means, parts)
    both = united(world.known, world.released)
    return Candidates(world, space_of(both, part, means.rules), parts, parts, world.released, means.limit)


def space_of(graph: KnowledgeGraph, part: Part, rules: Mapping[str, CheckedProgram]) -> Space:
    """A graph as somebody sees it who knows a part, with or without weights."""
    program = rules.get(part.sees, _no_rules(rules["rules"]))
    space = Space(graph, program)
    if not part.key[1]:
        space.reasoner = InducedReasoner(_without_weights(graph), program)
    return space


def _loose(world: World, means: Means, parts: Ints) -> Loose:
    program = lasting(means.rules["rules"])
    if world.released not in means.derived:
        means.derived[world.released] = derived_in(world.released, program)
    released = marked(world.released, means.derived[world.released], parts.shape[1])
    known = _seen(world.known, program, parts)
    rows = np.arange(known.n).reshape(parts.shape)
    space = Space(united(known, released), _no_rules(program))
    return Loose(world, space, parts, rows, released, means.limit, len(world.released.relations))


def lasting(program: CheckedProgram) -> CheckedProgram:
    """Keep the derived predicates of which no edge is lost if the graph gains some.

    Those that a part of the graph derives stand there as well when rules see all of it.
    """
    kept = (p for p in program.derived if p not in program.edges and only_gains(program.restricted([p])))
    return replace(program, derived=tuple(kept))


def derived_in(graph: KnowledgeGraph, program: CheckedProgram) -> Mapping[str, tuple[Ints, Ints]]:
    """All derived edges of a release.

    Raises
    ------
    AnonymizationError
        If there may be too many of them.
    """
    if program.derived and graph.n > LISTED:
        raise AnonymizationError(
            f"what the rules derive in a release of more than {LISTED:,} vertices is not listed",
            hint="leave out the knowledge of derived edges without rules",
        )
    return derived_edges(graph, program) if program.derived else {}


def marked(graph: KnowledgeGraph, derived: Mapping[str, tuple[Ints, Ints]], size: int) -> KnowledgeGraph:
    """A graph with derived edges as further relations, those that connected sets of some vertices can hold."""
    from scipy.sparse import coo_array

    source, target = graph.ends
    own = np.arange(graph.n)
    ends = np.concatenate([own, source, target]), np.concatenate([own, target, source])
    step = coo_array((np.ones(len(ends[0]), dtype=np.bool_), ends), shape=(graph.n, graph.n)).tocsr()
    near = step
    for _ in range(size - 2):
        near = near @ step
    rows, columns = near.nonzero()
    keys = np.sort(rows.astype(np.int64) * graph.n + columns)
    more = {}
    for name, (u, v) in derived.items():
        close = np.isin(u * graph.n + v, keys)
        more[DERIVED + name] = Relation(u[close], v[close], None, ("source", "target"))
    return replace(graph, relations={**graph.relations, **more})


def _seen(graph: KnowledgeGraph, program: CheckedProgram, parts: Ints) -> KnowledgeGraph:
    """Parts of a graph side by side, each with what the rules derive from it alone as further relations."""
    count, size = parts.shape
    number = np.arange(count * size).reshape(parts.shape)
    relations = {name: _copies(r, parts, graph.n) for name, r in graph.relations.items()}
    if program.derived:
        found = InducedReasoner(graph, program).derived(parts)
        for p, name in enumerate(program.derived):
            row, a, b = np.nonzero(found[:, p])
            relations[DERIVED + name] = Relation(number[row, a], number[row, b], None, ("source", "target"))
    return KnowledgeGraph(np.arange(count * size).astype(str).astype(object), relations)


def _copies(relation: Relation, parts: Ints, n: int) -> Relation:
    """The edges of a relation within each part."""
    size = parts.shape[1]
    keys = relation.source * n + relation.target
    order = np.argsort(keys, kind="stable")
    wanted = (parts[:, :, None] * n + parts[:, None, :]).reshape(-1)
    begin, end = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(wanted)), end - begin)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    edge = order[np.repeat(begin, end - begin) + place]
    row, rest = np.divmod(pair, size * size)
    a, b = np.divmod(rest, size)
    weight = None if relation.weight is None else relation.weight[edge]
    return Relation(row * size + a, row * size + b, weight, relation.columns)


def _without_weights(graph: KnowledgeGraph) -> KnowledgeGraph:
    relations = {n: Relation(r.source, r.target, None, r.columns) for n, r in graph.relations.items()}
    return replace(graph, relations=relations).distinct()


def _no_rules(program: CheckedProgram) -> CheckedProgram:
    return replace(
        program, strata=(), derived=(), outputs=(), queries=(), facts=(), unifications=(), denials=()
    )
