"""Attackers who know properties of single vertices."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.refinement import degrees, neighbourhoods, numbered, refined
from kgreason.isomorphism.attacks.attack_results import Attack, Exposed, Run, quantiles
from kgreason.isomorphism.attacks.attack_settings import World, united
from kgreason.release.rates import Floats, Rate, chances

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

HUBS = 5
SHOWN = 5  # number of exposed vertices that are named
Neighbours = tuple[list[list[int]], list[list[int]]]
THETA = 0.5  # eccentricity below which a match is rejected
ROUNDS = 20  # passes over all vertices


def hubs(graph: KnowledgeGraph, count: int = HUBS) -> Ints:
    """Vertices of the highest total degrees; ties by vertex number."""
    return np.argsort(-(graph.in_degree() + graph.out_degree()), kind="stable")[:count]


def fingerprints(graph: KnowledgeGraph, anchors: Ints) -> Ints:
    """Partition the vertices by their directed distances from and to some hubs; shape (n,).

    Each row of `anchors` holds copies of one hub in different components: a vertex uses the one in its component.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("b", "d")])
    >>> fingerprints(path, np.array([[1]])).tolist()
    [0, 1, 2, 2]
    """
    columns = [_distances(graph, row, back) for row in anchors for back in (False, True)]
    return numbered(np.stack([np.zeros(graph.n, dtype=np.int64), *columns], axis=1))


def _distances(graph: KnowledgeGraph, sources: Ints, back: bool) -> Ints:
    """Distance from the nearest source to each vertex, -1 if unreachable."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    source, target = graph.ends[::-1] if back else graph.ends
    edges = coo_array((np.ones(len(source)), (source, target)), shape=(graph.n, graph.n)).tocsr()
    found = dijkstra(edges, indices=sources, unweighted=True, min_only=True)
    return np.where(np.isinf(found), -1, found).astype(np.int64)


def propagate(known: KnowledgeGraph, released: KnowledgeGraph, seeds: dict[int, int]) -> dict[int, int]:
    """Extend a mapping between the vertices of two graphs from seeds.

    Repeatedly, for each known vertex, a released vertex scores for each mapped neighbour of the known vertex whose
    image is its neighbour in the same direction; the score decreases with its number of such neighbours. The best
    vertex is matched if its score exceeds the second by `THETA` standard deviations, and if the known vertex is also
    the best match in the reverse direction. Mapped vertices are revised; seeds are fixed.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> propagate(path, path, {1: 1})
    {1: 1, 0: 0, 2: 2, 3: 3}
    """
    here, there = _neighbours(known), _neighbours(released)
    forth = dict(seeds)
    back = {r: v for v, r in seeds.items()}
    for _ in range(ROUNDS):
        changed = False
        for v in range(known.n):
            if v in seeds:
                continue
            r = _match(v, here, there, forth)
            if r is None or forth.get(v) == r or _match(r, there, here, back) != v:
                continue
            if r in back and back[r] in seeds:
                continue
            if v in forth:
                back.pop(forth[v], None)
            if r in back:
                forth.pop(back[r], None)
            forth[v], back[r] = r, v
            changed = True
        if not changed:
            break
    return forth


def _match(v: int, here: Neighbours, there: Neighbours, forth: dict[int, int]) -> int | None:
    """Released vertex that fits v best, if its score is outstanding."""
    scores: dict[int, float] = {}
    for way in (0, 1):
        for u in here[way][v]:
            if (image := forth.get(u)) is None or u == v:
                continue
            for r in there[1 - way][image]:
                scores[r] = scores.get(r, 0.0) + 1 / math.sqrt(len(there[way][r]))
    return _outstanding(scores, len(there[0]))


def _outstanding(scores: dict[int, float], count: int) -> int | None:
    """Vertex with the best score if its eccentricity is high enough; vertices without a score count as 0."""
    if not scores:
        return None
    best = max(scores, key=scores.__getitem__)
    second, first = sorted([0.0, *scores.values()])[-2:]
    total = sum(scores.values())
    mean = total / count
    variance = sum(s * s for s in scores.values()) / count - mean * mean
    deviation = math.sqrt(max(variance, 0.0))
    return best if deviation and (first - second) / deviation >= THETA else None


def _neighbours(graph: KnowledgeGraph) -> Neighbours:
    """Out- and in-neighbours of each vertex, without duplicates."""
    source, target = graph.ends
    both = []
    for own, other in ((source, target), (target, source)):
        keys = np.unique(own * max(graph.n, 1) + other)
        ends = np.searchsorted(keys, np.arange(graph.n + 1) * graph.n)
        others = (keys % max(graph.n, 1)).tolist()
        both.append([others[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)])
    return both[0], both[1]


def draw_seeds(graph: KnowledgeGraph, count: int, rng: np.random.Generator) -> Ints:
    """Draw vertices with probability proportional to their degree, as attackers know prominent ones."""
    degree = (graph.in_degree() + graph.out_degree()).astype(np.float64)
    fit = np.flatnonzero(degree)
    count = min(count, len(fit))
    return np.sort(rng.choice(fit, count, replace=False, p=degree[fit] / degree[fit].sum())) if count else fit


def vertex_attack(
    name: str, worlds: Mapping[str, World], targets: Ints, everything: bool, labels: npt.NDArray[np.object_]
) -> Attack:
    """Attack vertices, all of them or not (`everything`), by a known property.

    It is ``degree``, ``neighbourhood``, ``hubs`` or ``refinement:I``. The graphs of the runs have the original vertices
    in the same order.
    """
    found = {run: vertex_candidates(name, world, targets) for run, world in worlds.items()}
    return _attack(name, found, worlds["main"], targets, everything, labels)


def seed_attack(worlds: Mapping[str, World], seeds: Ints, labels: npt.NDArray[np.object_]) -> Attack:
    """Propagate a mapping from seeds over the whole graph; unreached vertices are guessed among the rest."""
    targets = np.setdiff1d(np.arange(worlds["main"].known.n), seeds)
    found = {run: _seed_candidates(world, seeds, targets) for run, world in worlds.items()}
    return _attack("seeds", found, worlds["main"], targets, True, labels)


def _attack(
    name: str,
    found: Mapping[str, tuple[Ints, Flags]],
    main: World,
    targets: Ints,
    everything: bool,
    labels: npt.NDArray[np.object_],
) -> Attack:
    runs = {run: judged(sizes, right, everything) for run, (sizes, right) in found.items()}
    runs["naive"] = guessing(main.released.n, len(targets), everything)
    return Attack(name, 0, runs, most_exposed(targets, chances(*found["main"]), labels))


def vertex_candidates(name: str, world: World, targets: Ints) -> tuple[Ints, Flags]:
    """Numbers of candidates of target vertices, and whether the true vertex is among them."""
    both = united(world.known, world.released)
    n = world.known.n
    match name.split(":"):
        case ["degree"]:
            traits = degrees(both)
        case ["neighbourhood"]:
            traits = neighbourhoods(both)
        case ["hubs"]:
            anchors = hubs(world.known)
            traits = fingerprints(both, np.stack([anchors, world.truth[anchors] + n], axis=1))
        case [_, rounds]:
            traits = refined(both, int(rounds))
    counts = np.bincount(traits[n:], minlength=int(traits.max(initial=0)) + 1)
    return counts[traits[targets]], traits[targets] == traits[world.truth[targets] + n]


def _seed_candidates(world: World, seeds: Ints, targets: Ints) -> tuple[Ints, Flags]:
    """As `vertex_candidates`: a matched vertex has one candidate, the others all vertices that are not matched."""
    images = world.truth[seeds].tolist()
    mapped = propagate(world.known, world.released, dict(zip(seeds.tolist(), images, strict=True)))
    image = np.array([mapped.get(v, -1) for v in targets.tolist()], dtype=np.int64)
    truth = world.truth[targets]
    taken = np.isin(truth, list(mapped.values()))
    sizes = np.where(image >= 0, 1, world.released.n - len(mapped))
    return sizes, np.where(image >= 0, image == truth, ~taken)


def judged(sizes: Ints, right: Flags, everything: bool, complete: bool = True) -> Run:
    """Results of a run from the candidates of each target."""
    return Run(
        *(len(sizes), everything, quantiles(sizes.astype(np.float64))),
        Rate.of(chances(sizes, right), everything),
        Rate.of((right & (sizes == 1)).astype(np.float64), everything),
        Rate.of((~right).astype(np.float64), everything),
        complete,
    )


def guessing(count: int, targets: int, everything: bool, complete: bool = True) -> Run:
    """Results of a uniform guess among all vertices or occurrences."""
    return judged(np.full(targets, count), np.ones(targets, dtype=np.bool_), everything, complete)


def most_exposed(targets: Ints, chance: Floats, labels: npt.NDArray[np.object_]) -> tuple[Exposed, ...]:
    """Vertices with the highest probability of being found, if positive."""
    order = np.argsort(-chance, kind="stable")[:SHOWN]
    return tuple(Exposed(str(labels[targets[i]]), float(chance[i])) for i in order.tolist() if chance[i] > 0)
