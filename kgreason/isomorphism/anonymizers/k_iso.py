"""k-Iso, the baseline: k isomorphic blocks without edges between them, regardless of the rules.

References
----------
J. Cheng, A. Fu, J. Liu: K-isomorphism: privacy preserving network publication against structural attacks (SIGMOD 2010);
here for directed multigraphs with several relations. docs/methods/k-iso.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp

import numpy as np

from kgreason.base.jit import Doubles, Ints, inlined, kernel
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, labels_with_synthetic
from kgreason.isomorphism.anonymizers.incoming_sums import lowered
from kgreason.isomorphism.anonymizers.weight_density import GRID, in_units, weights_of
from kgreason.isomorphism.anonymizers.weight_noise import WeightNoising
from kgreason.isomorphism.definition import Augmented, Guarantee
from kgreason.language.check.checked_program import CheckedProgram

_ROUNDS = 50
_COLD = 10  # final rounds without accepted losses
_HEAT = 1.0  # initial temperature, in edges in common
_SWEEPS = 40  # maximum number of attempts per arc in a round
_ATTEMPTS = 1 << 17  # maximum number of attempts in a round
_WORK = 1 << 19  # maximum number of arcs of exchanged vertices in a round: hubs take some seconds in total
ELSEWHERE = 8  # without an example, one in this number of attempts moves to a random row


@dataclass(frozen=True)
class KIso:
    """Anonymizer that makes a graph k isomorphic blocks by deletion and insertion of edges."""

    k: int
    trials: int

    def augment(
        self, graph: KnowledgeGraph, rules: CheckedProgram, rng: np.random.Generator, progress: Progress
    ) -> Augmented:
        """Make k isomorphic blocks; vertices are added until k divides their number."""
        noising = WeightNoising.fit(graph, rules, self.trials)
        slot = _arrange(graph, self.k, rng, progress)
        noised = noising.originals(rng, progress)
        found = {name: equal_blocks(r, slot, self.k, rng) for name, r in noised.relations.items()}
        labels = labels_with_synthetic(graph, len(slot) - graph.n)
        blocks = KnowledgeGraph(labels, {name: relation for name, (relation, _) in found.items()})
        kept = {name: count for name, (_, count) in found.items()}
        weighed = _with_different_weights(noising.synthetic(blocks, kept, rng, progress), kept, noising, rng)
        deleted = graph.m - sum(kept.values())
        figures = {
            "vertices": graph.n,
            "edges": graph.m,
            "vertices_added": weighed.n - graph.n,
            "edges_inserted": weighed.m - sum(kept.values()),
            "edges_deleted": deleted,
        }
        guarantee = Guarantee(self.k, None, deleted=deleted, model="k-iso")
        return Augmented(weighed, guarantee, figures, originals=graph.n)


def _arrange(graph: KnowledgeGraph, k: int, rng: np.random.Generator, progress: Progress) -> Vertices:
    """Divide the vertices into k blocks of equal size and align these, so that they have many edges in common."""
    # Initially vertices of similar degree share a row; then slots are exchanged by simulated annealing (S.
    # Kirkpatrick, C. Gelatt, M. Vecchi, 1983). An edge is in common if two blocks have one between the same rows.
    # Returns ``row * k + block`` of each vertex; n is rounded up to a multiple of k by new vertices.
    n = -(-graph.n // k) * k
    degree = np.zeros(n, dtype=np.int64)
    degree[: graph.n] = graph.in_degree() + graph.out_degree()
    at = np.argsort(-degree, kind="stable").astype(np.int64)
    at = rng.permuted(at.reshape(-1, k), axis=1).reshape(-1)
    slot = np.empty(n, dtype=np.int64)
    slot[at] = np.arange(n)
    arcs = Arcs.of(graph, n)
    attempts = min(_SWEEPS * len(arcs.key), _ATTEMPTS)
    progress.step("Aligning the blocks", _ROUNDS)
    for number in range(_ROUNDS):
        heat = _HEAT * max(0.0, 1 - number / (_ROUNDS - _COLD))
        align(arcs.begin, arcs.key, arcs.count, slot, at, k, heat, rng.random(5 * attempts), _WORK)
        progress.advance()
    return slot


@record(eq=False)
class Arcs:
    """Edges as seen from each end; the arcs of vertex v are those from ``begin[v]`` to ``begin[v + 1]``; int64.

    A `key` is ``kind * n + w``, ascending for each vertex; the kind is twice the number of the relation for edges from
    v to w, plus one for those from w to v; loops are outgoing only. `count` is the number of edges of each arc.
    """

    begin: Vertices
    key: Vertices
    count: Vertices

    @classmethod
    def of(cls, graph: KnowledgeGraph, n: int) -> Arcs:
        """List the arcs of a graph that is padded to n vertices.

        Examples
        --------
        >>> arcs = Arcs.of(KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2), ("b", "b", 1)]), 3)
        >>> arcs.begin.tolist(), arcs.key.tolist(), arcs.count.tolist()
        ([0, 1, 3, 3], [1, 1, 3], [2, 1, 2])
        """
        ends, keys, counts = ([np.empty(0, dtype=np.int64)] for _ in range(3))
        for number, r in enumerate(graph.relations.values()):
            pairs, count = np.unique(r.source * n + r.target, return_counts=True)
            source, target = np.divmod(pairs, max(n, 1))
            back = source != target
            ends += [source, target[back]]
            keys += [2 * number * n + target, (2 * number + 1) * n + source[back]]
            counts += [count, count[back]]
        end, key, count = np.concatenate(ends), np.concatenate(keys), np.concatenate(counts)
        order = np.lexsort((key, end))
        begin = np.searchsorted(end[order], np.arange(n + 1)).astype(np.int64)
        return cls(begin, key[order], count[order].astype(np.int64))


@inlined
def _count(begin: Ints, key: Ints, count: Ints, v: int, wanted: int) -> int:
    """Number of edges of the arc of v with key `wanted`."""
    low, high = begin[v], begin[v + 1]
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < begin[v + 1] and key[low] == wanted:
        found: int = count[low]
        return found
    return 0


@inlined
def _common_edges(
    begin: Ints, key: Ints, count: Ints, slot: Ints, at: Ints, k: int, v: int, skip: int
) -> int:
    """Number of edges at v that other blocks also have at these slots, except those that involve vertex `skip`."""
    n = len(slot)
    block, row, total = slot[v] % k, slot[v] // k, 0
    for arc in range(begin[v], begin[v + 1]):
        w, kind = key[arc] % n, key[arc] // n
        if w == skip or slot[w] % k != block:
            continue
        other_row = slot[w] // k
        for b in range(k):
            u, x = at[row * k + b], at[other_row * k + b]
            if b != block and u != skip and x != skip:
                total += min(count[arc], _count(begin, key, count, u, kind * n + x))
    return total


@inlined
def _common_edges_of_two(
    begin: Ints, key: Ints, count: Ints, slot: Ints, at: Ints, k: int, u: int, v: int
) -> int:
    """Number of common edges that involve u or v."""
    found: int = _common_edges(begin, key, count, slot, at, k, u, -1)
    found += _common_edges(begin, key, count, slot, at, k, v, u)
    return found


@inlined
def _owner(begin: Ints, arc: int) -> int:
    low, high = 0, len(begin) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if begin[middle] <= arc:
            low = middle
        else:
            high = middle
    return low


@inlined
def _exchange(slot: Ints, at: Ints, u: int, v: int) -> None:
    a, b = slot[u], slot[v]
    slot[u], slot[v] = b, a
    at[a], at[b] = v, u


@kernel
def align(
    begin: Ints, key: Ints, count: Ints, slot: Ints, at: Ints, k: int, heat: float, dice: Doubles, work: int
) -> int:
    """Exchange slots of vertices repeatedly where this increases the number of edges in common, which is returned.

    A vertex z with a neighbour w is moved so that the edge coincides with one of another block: into the block of w,
    and into the row of a neighbour of the vertex that occupies the row of w in the other block. If that vertex has no
    such neighbour, a random row is occasionally tried.

    Arcs are those of `Arcs`. `slot` of each vertex, ``row * k + block``, and the vertex `at` each slot are modified in
    place. `heat` is the temperature of simulated annealing, in edges in common; `dice` are five random numbers in [0,
    1) for each attempt; `work` limits the number of arcs of exchanged vertices.
    """
    n, gained = len(slot), 0
    for roll in range(0, len(dice) - 4, 5):
        if work < 0:
            break
        arc = int(dice[roll] * len(key))
        z, w, back = _owner(begin, arc), key[arc] % n, (key[arc] // n) ^ 1
        block = slot[w] % k
        other = (block + 1 + int(dice[roll + 1] * (k - 1))) % k
        u = at[slot[w] // k * k + other]
        row, degree = -1, begin[u + 1] - begin[u]
        if degree > 0:
            example = key[begin[u] + int(dice[roll + 2] * degree)]
            v = example % n
            if example // n == back and slot[v] % k == other:
                row = slot[v] // k
        if row < 0:
            row = int(dice[roll + 4] * ELSEWHERE * (n // k))
            if row >= n // k:
                continue
        y = at[row * k + block]
        if y == z:
            continue
        work -= begin[z + 1] - begin[z] + begin[y + 1] - begin[y]
        before = _common_edges_of_two(begin, key, count, slot, at, k, z, y)
        _exchange(slot, at, z, y)
        gain = _common_edges_of_two(begin, key, count, slot, at, k, z, y) - before
        if gain >= 0 or (heat > 0 and dice[roll + 3] < exp(gain / heat)):
            gained += gain
        else:
            _exchange(slot, at, z, y)
    return gained


def equal_blocks(
    relation: Relation, slot: Vertices, k: int, rng: np.random.Generator
) -> tuple[Relation, int]:
    """Delete and insert as few edges as possible, for given slots of vertices, so that all blocks are isomorphic.

    Edges between blocks are deleted. Between two rows all blocks get the median of their numbers of edges, which
    minimizes the changes; of two medians the greater. The deleted ones of parallel edges are chosen at random. Returns
    the remaining original edges in their order, then inserted edges of weight 0; and the number of the former.

    Examples
    --------
    Of three blocks with two rows and one vertex per row, two have the edge:

    >>> ends = np.array([0, 2, 4]), np.array([1, 3, 2])
    >>> slot = np.array([0, 3, 1, 4, 2, 5])
    >>> found, kept = equal_blocks(Relation(*ends), slot, 3, np.random.default_rng(0))
    >>> found.source.tolist(), found.target.tolist(), kept
    ([0, 2, 4], [1, 3, 5], 2)
    """
    n = len(slot)
    at = np.empty(n, dtype=np.int64)
    at[slot] = np.arange(n)
    row, block = np.divmod(slot, k)
    inside = np.flatnonzero(block[relation.source] == block[relation.target])
    source, target = relation.source[inside], relation.target[inside]
    pairs, pair = np.unique(row[source] * n + row[target], return_inverse=True)
    group = pair.reshape(-1) * k + block[source]
    counts = np.bincount(group, minlength=len(pairs) * k).reshape(-1, k)
    median = np.sort(counts, axis=1)[:, k // 2]
    kept = inside[_ranks(group, rng) < median[pair.reshape(-1)]]
    lacking = np.maximum(median[:, None] - counts, 0)
    where, of = np.divmod(np.repeat(np.arange(lacking.size), lacking.reshape(-1)), k)
    first, second = np.divmod(pairs[where], max(n, 1))
    weight = relation.weight
    changed = replace(
        relation,
        source=np.concatenate([relation.source[kept], at[first * k + of]]),
        target=np.concatenate([relation.target[kept], at[second * k + of]]),
        weight=None if weight is None else np.concatenate([weight[kept], np.zeros(len(of))]),
    )
    return changed, len(kept)


def _ranks(group: Vertices, rng: np.random.Generator) -> Vertices:
    """Number the members of each group from 0, in random order."""
    order = np.lexsort((rng.random(len(group)), group))
    start = np.searchsorted(group[order], group[order])
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[order] = np.arange(len(group)) - start
    return ranks


def _with_different_weights(
    graph: KnowledgeGraph, kept: Mapping[str, int], noising: WeightNoising, rng: np.random.Generator
) -> KnowledgeGraph:
    """Lower weights of inserted edges that equal that of a parallel edge, as two equal rows are one edge."""
    weights = {}
    for name, density in noising.densities.items():
        relation, old, first = graph.relations[name], noising.graph.relations[name], kept[name]
        pair, before = relation.source * graph.n + relation.target, old.source * graph.n + old.target
        units, real = (in_units(weights_of(r)) for r in (relation, old))
        taken = np.append(pair[:first] * (GRID + 1) + units[:first], before * (GRID + 1) + real)
        units[first:] = lowered(pair[first:], units[first:], taken, density.levels, rng, name)
        weights[name] = units / GRID
    return graph.with_weights(weights)
