"""Attackers who know an x-subgraph, and its possible occurrences in a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.facts import derived_edges
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.refinement import numbered
from kgreason.isomorphism.attacks.attack_settings import Part, World, united
from kgreason.isomorphism.verification.image_pools import Patterns
from kgreason.isomorphism.verification.isomorphism_classes import Catalogue, Classes, Form
from kgreason.isomorphism.verification.population import count_connected, share_counts
from kgreason.isomorphism.verification.release_index import Adjacency, ReleaseIndex, scrambled, undirected
from kgreason.isomorphism.verification.subgraph_visits import ENDLESS, SHARES, Share, shares
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import only_gains

Ints = npt.NDArray[np.int64]
AT_ONCE = 32  # shares visited before their sets are classified
SAMPLED = 4096  # shares from which some are chosen if there are too many occurrences
Flags = npt.NDArray[np.bool_]
LISTED = 5_000  # maximum number of vertices of a release whose derived edges are all listed
DERIVED = "derived "  # prefix of the names of relations of derived edges
Floats = npt.NDArray[np.float64]
CHUNK = 1 << 14  # edges whose detours are counted at once


@record(eq=False)
class Parts:
    """Connected vertex sets, shape (N, x), and whether they are all such sets of the graph."""

    members: Ints
    all: bool


def draw_parts(graph: KnowledgeGraph, size: int, count: int, rng: np.random.Generator) -> Parts:
    """Draw weakly connected vertex sets of a size; all of them if there are at most `count`.

    The sets are spread over the graph: each grows from a different start vertex, in random order (repeated after all
    vertices were used), by vertices drawn uniformly from its neighbours. Duplicates are dropped.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")])
    >>> np.sort(draw_parts(graph, 2, 10, np.random.default_rng(1)).members).tolist()
    [[0, 1], [1, 2], [3, 4]]
    """
    _, component = graph.components()
    fit = np.flatnonzero(np.bincount(component)[component] >= size)
    if not len(fit):
        return Parts(np.empty((0, size), dtype=np.int64), True)
    if size == 1:
        chosen = fit if len(fit) <= count else np.sort(rng.permutation(fit)[:count])
        return Parts(chosen[:, None], len(fit) <= count)
    adjacency = undirected(graph)
    if count_connected(adjacency, size, count) <= count:
        return Parts(_all(graph, size), True)
    starts = np.resize(rng.permutation(fit), count)
    near = _neighbours(graph)
    grown = np.array([_grow(near, int(v), size, rng) for v in starts], dtype=np.int64).reshape(-1, size)
    return Parts(np.unique(grown, axis=0), False)


def _grow(near: list[Ints], start: int, size: int, rng: np.random.Generator) -> list[int]:
    chosen, border = [start], set(near[start].tolist()) - {start}
    while len(chosen) < size:
        options = sorted(border)
        v = options[int(rng.integers(len(options)))]
        chosen.append(v)
        border = (border | set(near[v].tolist())) - set(chosen)
    return sorted(chosen)


def _neighbours(graph: KnowledgeGraph) -> list[Ints]:
    adjacency = undirected(graph)
    found: list[Ints] = [np.empty(0, dtype=np.int64)] * graph.n
    for i, v in enumerate(adjacency.vertices.tolist()):
        found[v] = adjacency.vertices[adjacency.neighbour[adjacency.indptr[i] : adjacency.indptr[i + 1]]]
    return found


def _all(graph: KnowledgeGraph, size: int) -> Ints:
    """All connected sets; for small numbers only."""
    near = [others.tolist() for others in _neighbours(graph)]
    found = {frozenset((v,)) for v in range(graph.n)}
    for _ in range(size - 1):
        found = {some | {u} for some in found for v in some for u in near[v] if u not in some}
    return np.array(sorted(map(sorted, found)), dtype=np.int64).reshape(-1, size)


class Occurrences:
    """Weakly connected vertex sets of a released graph: number of examined sets, and whether these are all."""

    def __init__(
        self, index: ReleaseIndex, catalogue: Catalogue, released: KnowledgeGraph, vertices: Ints, limit: int
    ) -> None:
        self._catalogue, self._vertices, size = catalogue, vertices, catalogue.size
        self.total, self.complete = released.n, True
        self._shares: list[Share] = []
        if size == 1:
            return
        adjacency = index.bonds(size).attacked(released, vertices)
        self.complete = count_connected(undirected(released), size, limit) <= limit
        self._shares = shares(adjacency, size, SHARES) if self.complete else _sample(adjacency, size, limit)
        self._patterns = Patterns(adjacency, catalogue)
        self.total = self._patterns.learn(self._shares, ENDLESS)

    def counts(self, wanted: Ints | None = None) -> Ints:
        """Number of sets of each class; 0 for classes that are not wanted."""
        found = np.zeros(len(self._catalogue.full), dtype=np.int64)
        for classes, _ in self.rows(wanted):
            more = np.bincount(classes, minlength=len(found))
            more[: len(found)] += found
            found = more
        return found

    def rows(self, wanted: Ints | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Batches of classes and vertices of the sets in canonical order."""
        if self._catalogue.size == 1:
            batches = iter([self._catalogue.classify(self._vertices[:, None])])
        else:
            batches = self._visited(wanted)
        for classes, rows in batches:
            mine = slice(None) if wanted is None else np.isin(classes, wanted)
            yield classes[mine], rows[mine]

    def _visited(self, wanted: Ints | None) -> Iterator[tuple[Ints, Ints]]:
        for begin in range(0, len(self._shares), AT_ONCE):
            yield from self._patterns.members(self._shares[begin : begin + AT_ONCE], wanted)


def _sample(adjacency: Adjacency, size: int, limit: int) -> list[Share]:
    """Shares from all over the release whose sets together do not exceed the limit."""
    # If some tied vertices are not adjacent, the shares may contain fewer sets.
    divided = shares(adjacency, size, SAMPLED)
    chosen: list[Share] = []
    total = 0
    counts = share_counts(adjacency, size, divided)
    for i in scrambled(len(divided)).tolist():
        if total + counts[i] <= limit:
            chosen.append(divided[i])
            total += counts[i]
    return chosen


class Candidates:
    """Candidate occurrences in a release of known x-subgraphs: `parts`, (N, x), vertices of the known graph.

    `total` x-subgraphs of the release are examined; `complete` says whether these are all.
    """

    def __init__(
        self,
        world: World,
        index: ReleaseIndex,
        parts: Ints,
        known: Ints,
        released: KnowledgeGraph,
        limit: int,
    ) -> None:
        self.index, self.catalogue = index, Catalogue(index, parts.shape[1])
        shift = index.graph.n - released.n
        self._shift, self.parts = shift, parts
        self._known, canonical = self.catalogue.classify(known)
        self._rows, self._canonical = known, canonical
        self._true = self.catalogue.classify(world.truth[parts] + shift)[0]
        self._occurrences = Occurrences(
            index, self.catalogue, world.released, np.arange(released.n) + shift, limit
        )
        self.total, self.complete = self._occurrences.total, self._occurrences.complete

    @cached_property
    def _fitting(self) -> dict[int, dict[int, Ints]]:
        """Per known class, the classes of fitting occurrences and the possible vertex bijections."""
        identity = np.arange(self.catalogue.size)[None, :]
        return {c: {c: identity} for c in np.unique(self._known).tolist()}

    def _connected(self, number: int) -> bool:
        return self.catalogue.full.form(number).connected_ground(self.index.ground_types)

    @cached_property
    def _counts(self) -> Ints:
        return self._occurrences.counts(np.unique(self._known))

    @property
    def sizes(self) -> Ints:
        """Number of candidates of each x-subgraph."""
        counts = self._counts
        found = {c: sum(int(counts[f]) for f in fit) for c, fit in self._fitting.items()}
        sizes = np.array([found[c] for c in self._known.tolist()], dtype=np.int64)
        return np.maximum(sizes, self.right) if not self.complete else sizes

    @property
    def right(self) -> Flags:
        """Whether the true occurrence is a candidate; it must be connected."""
        connected = {c: self._connected(c) for c in set(self._true.tolist())}
        pairs = zip(self._known.tolist(), self._true.tolist(), strict=True)
        return np.array([t in self._fitting[c] and connected[t] for c, t in pairs], dtype=np.bool_)


class CandidatesWithoutRules(Candidates):
    """Candidates of an attacker who knows the derived edges of an x-subgraph but not the rules.

    Ground edges must be equal. Each known derived edge must be among all edges that the rules derive in the release,
    which may contain more because of vertices outside.
    """

    def __init__(
        self,
        world: World,
        index: ReleaseIndex,
        parts: Ints,
        known: Ints,
        released: KnowledgeGraph,
        limit: int,
    ) -> None:
        super().__init__(world, index, parts, known, released, limit)
        # relations of ground edges, before those of derived edges
        self._ground = len(world.released.relations)

    def _connected(self, number: int) -> bool:
        form = self.catalogue.full.form(number)
        ground: Ints = self.index.pairs.counts[form.types, : self._ground].max(axis=2)
        return Form(ground, form.automorphisms).connected_ground(int(ground.max()) + 1)

    @cached_property
    def _counts(self) -> Ints:
        return self._occurrences.counts()

    @cached_property
    def _fitting(self) -> dict[int, dict[int, Ints]]:
        counts, size = self.index.pairs.counts, self.catalogue.size
        ground, classes = numbered(counts[:, : self._ground]), range(len(self._counts))
        types = np.array([self.catalogue.full.form(c).types for c in classes]).reshape(-1, size, size)
        alike = Classes(size)
        number, order = alike.classify(ground[types].reshape(-1, size * size))
        derived = counts[types, self._ground :]
        found: dict[int, dict[int, Ints]] = {}
        for c in np.unique(self._known).tolist():
            back = np.argsort(order[c])
            turns = alike.form(int(number[c])).automorphisms
            found[c] = {}
            for f in np.flatnonzero(number == number[c]).tolist():
                bijections = order[f][turns[:, back]]  # position p of c corresponds to bijections[i, p] of f
                there = derived[f][bijections[:, :, None], bijections[:, None, :]]
                fits = (derived[c][None] <= there).all(axis=(1, 2, 3))
                if fits.any():
                    found[c][f] = bijections[fits]
        return found

    @cached_property
    def order(self) -> Ints:
        """Vertex of each x-subgraph at each position of its canonical form, shape (N, x)."""
        order: Ints = (self._rows[:, None, :] == self._canonical[:, :, None]).argmax(axis=2)
        return order

    @cached_property
    def _members(self) -> dict[int, Ints]:
        """Candidates by class, in canonical order, as vertices of the release."""
        wanted = np.unique([f for fit in self._fitting.values() for f in fit]).astype(np.int64)
        found: dict[int, list[Ints]] = {f: [] for f in wanted.tolist()}
        for classes, rows in self._occurrences.rows(wanted):
            for f in np.unique(classes).tolist():
                found[f].append(rows[classes == f] - self._shift)
        none = np.empty((0, self.catalogue.size), dtype=np.int64)
        return {f: np.concatenate([none, *rows]) for f, rows in found.items()}

    def placed(self, i: int, most: int | None = None) -> Ints:
        """Embeddings of x-subgraph i in the order of its canonical form; vertices of the release, shape (M, x).

        They come from all occurrences of each class, or from about `most` that are spread over the release.
        """
        placed = [np.empty((0, self.catalogue.size), dtype=np.int64)]
        for f, turns in self._fitting[int(self._known[i])].items():
            members = self._members[f]
            members = members if most is None else members[:: max(1, len(members) // most)]
            placed += [members[:, turn] for turn in turns]
        return np.concatenate(placed)


@record(eq=False)
class Means:
    """Resources of attackers who know x-subgraphs."""

    rules: Mapping[str, CheckedProgram]  # rules of the release as "rules", and other rules as "other"
    limit: int  # examined x-subgraphs of a release
    derived: dict[KnowledgeGraph, Mapping[str, tuple[Ints, Ints]]] = field(default_factory=dict)  # cache


def candidates(world: World, part: Part, means: Means, parts: Ints) -> Candidates:
    """Find the candidates of known x-subgraphs, vertex sets of the known graph of shape (N, x)."""
    if part.sees == "derived":
        return _candidates_without_rules(world, means, parts)
    both = united(world.known, world.released)
    return Candidates(world, index_of(both, part, means.rules), parts, parts, world.released, means.limit)


def index_of(graph: KnowledgeGraph, part: Part, rules: Mapping[str, CheckedProgram]) -> ReleaseIndex:
    """ReleaseIndex of a graph as an attacker with the knowledge `part` sees it, with or without weights."""
    program = rules.get(part.sees, _no_rules(rules["rules"]))
    index = ReleaseIndex(graph, program)
    if not part.key[1]:
        index.reasoner = InducedReasoner(_without_weights(graph), program)
    return index


def _candidates_without_rules(world: World, means: Means, parts: Ints) -> CandidatesWithoutRules:
    program = lasting(means.rules["rules"])
    if world.released not in means.derived:
        means.derived[world.released] = derived_edges(world.released, program) if program.derived else {}
    released = _with_derived(world.released, means.derived[world.released], parts.shape[1])
    known = _separate(world.known, program, parts)
    rows = np.arange(known.n).reshape(parts.shape)
    index = ReleaseIndex(united(known, released), _no_rules(program))
    return CandidatesWithoutRules(world, index, parts, rows, released, means.limit)


def lasting(program: CheckedProgram) -> CheckedProgram:
    """Restrict the derived predicates to those whose edges persist if the graph gains edges.

    Edges of these predicates that are derived from a subgraph are also derived from the whole graph.
    """
    kept = (p for p in program.derived if p not in program.edges and only_gains(restricted(program, [p])))
    return replace(program, derived=tuple(kept))


def _with_derived(
    graph: KnowledgeGraph, derived: Mapping[str, tuple[Ints, Ints]], size: int
) -> KnowledgeGraph:
    """Graph with derived edges as further relations, restricted to those that connected sets of `size` can contain."""
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
    relations = dict(graph.relations)
    for name, (u, v) in derived.items():
        close = np.isin(u * graph.n + v, keys)
        relations[DERIVED + name] = Relation(u[close], v[close])
    return replace(graph, relations=relations)


def _separate(graph: KnowledgeGraph, program: CheckedProgram, parts: Ints) -> KnowledgeGraph:
    """Disjoint union of x-subgraphs, with the edges derived from each alone as further relations."""
    count, size = parts.shape
    number = np.arange(count * size).reshape(parts.shape)
    relations = {name: _copies(r, parts, graph.n) for name, r in graph.relations.items()}
    if program.derived:
        found = InducedReasoner(graph, program).derived(parts)
        for p, name in enumerate(program.derived):
            row, a, b = np.nonzero(found[:, p])
            relations[DERIVED + name] = Relation(number[row, a], number[row, b])
    return KnowledgeGraph(np.arange(count * size).astype(str).astype(object), relations)


def _copies(relation: Relation, parts: Ints, n: int) -> Relation:
    """Edges of a relation within each x-subgraph."""
    size = parts.shape[1]
    keys = relation.source * n + relation.target
    order = np.argsort(keys, kind="stable")
    wanted = (parts[:, :, None] * n + parts[:, None, :]).reshape(-1)
    begin, end = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(wanted)), end - begin)
    rank = np.arange(len(pair)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    edge = order[np.repeat(begin, end - begin) + rank]
    row, a, b = np.unravel_index(pair, (len(parts), size, size))
    return replace(relation.take(edge), source=row * size + a, target=row * size + b)


def _without_weights(graph: KnowledgeGraph) -> KnowledgeGraph:
    relations = {n: Relation(r.source, r.target, None, r.columns) for n, r in graph.relations.items()}
    return replace(graph, relations=relations).distinct()


def _no_rules(program: CheckedProgram) -> CheckedProgram:
    return replace(
        program, strata=(), derived=(), outputs=(), queries=(), facts=(), unifications=(), denials=()
    )


def implausibility(graph: KnowledgeGraph) -> Floats:
    """Score the implausibility of each edge, relations in their order, from 0 (plausible) to 1; shape (m,).

    The score is the mean of up to three ranks in [0, 1]: few paths of two or three other edges between the ends (KGUARD
    joins distant vertices); a rare in- and out-degree of the rarer end (images must differ in degree); and, where
    relations have weights, a small weight (synthetic edges get the remaining room of sums).

    Examples
    --------
    >>> ring = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d")]
    >>> graph = KnowledgeGraph.from_edges([*ring, ("a", "d")])
    >>> int(implausibility(graph).argmax())
    6
    """
    scores = [_ranks(-np.log1p(_detours(graph))), _ranks(_rarity(graph))]
    weights = [r.weight for r in graph.relations.values()]
    if weights and all(w is not None for w in weights):
        scores.append(_ranks(-np.concatenate([w for w in weights if w is not None])))
    return np.asarray(np.mean(scores, axis=0))


def without_implausible(graph: KnowledgeGraph, count: int) -> tuple[KnowledgeGraph, Flags]:
    """Drop the `count` least plausible edges; returns the rest, and which edges were dropped, shape (m,)."""
    order = np.argsort(-implausibility(graph), kind="stable")
    dropped = np.zeros(graph.m, dtype=np.bool_)
    dropped[order[:count]] = True
    return without_edges(graph, dropped), dropped


def without_edges(graph: KnowledgeGraph, removed: Flags) -> KnowledgeGraph:
    """Graph without some edges; `removed` marks them, relations in their order, shape (m,).

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")])
    >>> without_edges(graph, np.array([True, False])).m
    1
    """
    starts = np.cumsum([0, *(len(r) for r in graph.relations.values())])
    parts = zip(graph.relations.items(), starts[:-1], starts[1:], strict=True)
    relations = {name: r.take(~removed[begin:end]) for (name, r), begin, end in parts}
    return replace(graph, relations=relations)


def _detours(graph: KnowledgeGraph) -> Floats:
    """Number of undirected paths of two or three other edges between the ends of each edge."""
    from scipy.sparse import coo_array

    source, target = graph.ends
    u, v = np.stack(graph.ends)[:, source != target]
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    near = coo_array((np.ones(2 * len(u)), ends), shape=(graph.n, graph.n)).tocsr()
    near.data[:] = 1
    degree = np.asarray(near.sum(axis=1)).reshape(-1)
    found = np.zeros(graph.m)
    for begin in range(0, graph.m, CHUNK):
        u, v = source[begin : begin + CHUNK], target[begin : begin + CHUNK]
        there = near[v]
        two = np.asarray(near[u].multiply(there).sum(axis=1)).reshape(-1)
        three = np.asarray((near[u] @ near).multiply(there).sum(axis=1)).reshape(-1)
        found[begin : begin + CHUNK] = np.where(u == v, 0, two + three - (degree[u] + degree[v] - 1))
    return found


def _rarity(graph: KnowledgeGraph) -> Floats:
    """Rarity of the degrees of the rarer end of each edge, as a negative log frequency."""
    degrees = np.stack([graph.in_degree(), graph.out_degree()], axis=1)
    _, number, count = np.unique(degrees, axis=0, return_inverse=True, return_counts=True)
    rare = -np.log(count[number.reshape(-1)] / max(graph.n, 1))
    source, target = graph.ends
    return np.asarray(np.maximum(rare[source], rare[target]))


def _ranks(values: Floats) -> Floats:
    """Ranks between 0 and 1; ties get the mean rank."""
    from scipy.stats import rankdata

    return np.asarray((rankdata(values) - 0.5) / max(len(values), 1))
