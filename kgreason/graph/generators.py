"""Random graphs: Erdős–Rényi, scale-free, and company ownership.

Weights are multiples of 1e-6, so that a table with six decimals represents them exactly.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices, Weights

GRID = 1_000_000
_ROUNDS = 200

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]
_Stakes = tuple[_Ints, _Ints, _Ints]  # owners, companies owned, shares in steps of the grid


def erdos_renyi(n: int, m: int | None, rng: np.random.Generator, relation: str = "own") -> KnowledgeGraph:
    """Draw from D(n, M): m directed edges without loops or duplicates, all such graphs equally likely.

    Weights are uniform in (0, 1].

    Parameters
    ----------
    n
        Number of vertices.
    m
        Number of edges, at most n (n - 1); `None`: n ln(n) / 2.

    Raises
    ------
    AnonymizationError
        If the graph cannot have that many edges.

    References
    ----------
    P. Erdős, A. Rényi: On random graphs I, Publicationes Mathematicae 6, 1959.

    Examples
    --------
    >>> graph = erdos_renyi(100, 345, np.random.default_rng(1))
    >>> graph.n, graph.m
    (100, 345)
    """
    pairs = n * (n - 1)
    m = min(pairs, round(n * math.log(max(n, 1)) / 2)) if m is None else m
    if not 0 <= m <= pairs:
        raise AnonymizationError(
            f"{n} vertices have at most {pairs} edges, so there cannot be {m}",
            hint="ask for fewer edges, or for more vertices",
        )
    chosen = _sample(pairs, m, rng)
    source = chosen // max(n - 1, 1)
    target = chosen % max(n - 1, 1)
    target += target >= source
    return _graph(n, source, target, _uniform(len(chosen), rng), relation)


def scale_free(
    n: int, alpha: float, rng: np.random.Generator, *, economic: bool = False, relation: str = "own"
) -> KnowledgeGraph:
    """Draw out-degrees d >= 1 with probability proportional to d ** -alpha, then targets uniformly.

    Parameters
    ----------
    n
        Number of vertices, at least 2.
    alpha
        Exponent, greater than 1.
    economic
        Whether the incoming weights of each vertex sum to at most 1.

    Raises
    ------
    AnonymizationError
        If n or alpha is too small.

    Examples
    --------
    >>> graph = scale_free(100, 3.0, np.random.default_rng(1), economic=True)
    >>> bool(graph.out_degree().min() >= 1)
    True
    >>> bool(np.bincount(graph.relations["own"].target, graph.relations["own"].weight).max() < 1 + 1e-9)
    True
    """
    if n < 2:
        raise AnonymizationError("a scale-free graph needs at least 2 vertices")
    if not alpha > 1:
        raise AnonymizationError(f"alpha must be above 1, not {alpha:g}")
    mass = np.cumsum(np.arange(1, n, dtype=np.float64) ** -alpha)
    degree = 1 + np.searchsorted(mass, rng.random(n) * mass[-1], side="right").clip(max=n - 2)
    source, target = _edges(n, degree.astype(np.int64), rng)
    weight = _incoming_shares(n, target, rng) if economic else _uniform(len(source), rng)
    return _graph(n, source, target, weight, relation)


def ownership(
    n: int,
    rng: np.random.Generator,
    *,
    persons: float = 0.25,
    group_size: float = 6.0,
    relation: str = "own",
) -> KnowledgeGraph:
    """Draw a company register: groups, joint ventures, minority holders, persons at the top.

    Companies form groups of heavy-tailed size. In a group each company but the first has a majority owner among those
    before it (a pyramid), or is a joint venture of one of them and a company of another group. The first company is
    held by one to three persons. Part of the remaining shares goes to dispersed minority holders, persons or companies.
    Incoming shares sum to at most 1; persons are held by nobody.

    Parameters
    ----------
    n
        Number of vertices, persons and companies together.
    persons
        Share of persons among the vertices.
    group_size
        Mean number of companies in a group.

    Raises
    ------
    AnonymizationError
        If a parameter is out of range.

    Examples
    --------
    >>> graph = ownership(1000, np.random.default_rng(1))
    >>> own = graph.relations["own"]
    >>> bool(np.bincount(own.target, own.weight).max() < 1 + 1e-9)
    True
    """
    people = round(n * persons)
    companies = n - people
    if not (0 <= persons < 1 and group_size >= 1 and companies >= 1):
        raise AnonymizationError("ownership needs a company, a share of persons below 1, groups of 1 or more")
    number = np.arange(companies, dtype=np.int64)
    first = _groups(companies, group_size, rng)
    level = number - first
    # squaring favours owners near the top of the group: pyramids are shallow
    parent = first + (level * rng.random(companies) ** 2).astype(np.int64)
    venture = (level > 0) & (rng.random(companies) < 0.05)
    stakes = [
        _controlling(number, parent, level > 0, venture, rng),
        _partners(number, first, venture, rng),
        _founders(number[level == 0], companies, people, rng),
    ]
    stakes.append(_minorities(stakes, companies, people, rng))
    source, target, steps = (np.concatenate(part) for part in zip(*stakes, strict=True))
    keep = np.zeros(len(source), dtype=bool)
    keep[np.unique(source * n + target, return_index=True)[1]] = True  # the first edge of each pair
    keep &= (source != target) & (steps > 0)
    name = rng.permutation(n)  # so that the order of names carries no information
    return _graph(n, name[source[keep]], name[target[keep]], steps[keep] / GRID, relation)


def _groups(companies: int, mean: float, rng: np.random.Generator) -> _Ints:
    """First company of the group of each company."""
    size = 1 + np.floor((mean - 1) * 0.5 * rng.pareto(1.5, companies)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.minimum(size, max(companies // 10, 1)))])
    starts = starts[starts < companies]
    return starts[np.searchsorted(starts, np.arange(companies), side="right") - 1]


def _controlling(
    number: _Ints, parent: _Ints, held: _Mask, venture: _Mask, rng: np.random.Generator
) -> _Stakes:
    """Majority stakes in groups, a third of them 100 %; joint ventures are held by about 50 %."""
    share = rng.integers(510_000, 990_000, len(number))
    share[rng.random(len(number)) < 0.33] = GRID
    share[venture] = rng.integers(400_000, 500_001, int(venture.sum()))
    return parent[held], number[held], _rounded(share)[held]


def _partners(number: _Ints, first: _Ints, venture: _Mask, rng: np.random.Generator) -> _Stakes:
    """Second owners of joint ventures: companies of earlier groups, so that no ownership cycle arises here."""
    chosen = number[venture & (first > 0)]
    partner = (rng.random(len(chosen)) * first[chosen]).astype(np.int64)
    return partner, chosen, _rounded(rng.integers(300_000, 500_001, len(chosen)))


def _founders(tops: _Ints, companies: int, people: int, rng: np.random.Generator) -> _Stakes:
    """One to three persons who hold the first company of a group."""
    if not people:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    count = rng.choice(np.array([1, 2, 3]), size=len(tops), p=[0.5, 0.3, 0.2])
    target = np.repeat(tops, count)
    total = np.repeat(rng.integers(550_000, GRID, len(tops)) // count, count)
    return _persons(target, companies, people, rng), target, _rounded(total)


def _persons(held: _Ints, companies: int, people: int, rng: np.random.Generator) -> _Ints:
    """A person for each of these stakes, mostly from a circle around the company."""
    near = held * people // companies + rng.integers(0, 2, len(held))
    anyone = rng.integers(0, max(people, 1), len(held))
    return companies + np.where(rng.random(len(held)) < 0.95, near % max(people, 1), anyone)


def _minorities(stakes: list[_Stakes], companies: int, people: int, rng: np.random.Generator) -> _Stakes:
    """Dispersed holders of remaining shares; a few are companies, which may close ownership cycles."""
    taken = np.zeros(companies, dtype=np.int64)
    for _, target, steps in stakes:
        np.add.at(taken, target, steps)
    left = GRID - taken
    count = np.where(left >= 20_000, rng.poisson(0.5, companies), 0)
    target = np.repeat(np.arange(companies, dtype=np.int64), count)
    steps = (left[target] * rng.random(len(target)) / count[target]).astype(np.int64)
    person = _persons(target, companies, people, rng)
    company = rng.integers(0, companies, len(target))
    source = np.where((rng.random(len(target)) < 0.85) & (people > 0), person, company)
    return source, target, _rounded(steps)


def _rounded(steps: npt.NDArray[np.integer]) -> _Ints:
    """Round down to hundredths of a percent, the precision of registers."""
    return (steps // 100 * 100).astype(np.int64)


def _distinct(values: _Ints) -> _Ints:
    """Sorted distinct non-negative values; ten million take 0.6 s, compared with a minute for `numpy.unique`."""
    ordered = np.sort(values)
    distinct: _Ints = ordered[np.diff(ordered, prepend=-1) != 0]
    return distinct


def _sample(size: int, count: int, rng: np.random.Generator) -> _Ints:
    """Draw `count` distinct numbers below `size`, ascending; time and memory linear in `count`."""
    if 2 * count > size:
        left_out = np.ones(size, dtype=bool)
        left_out[_sample(size, size - count, rng)] = False
        return np.flatnonzero(left_out).astype(np.int64)
    found = np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS):  # at least half of all draws are new: the number of rounds grows as log(count)
        if len(found) >= count:
            return np.sort(rng.permutation(found)[:count])
        drawn = rng.integers(0, size, 2 * (count - len(found)) + 16)
        found = _distinct(np.concatenate([found, drawn]))
    raise AnonymizationError(
        f"{_ROUNDS} rounds drew only {len(found)} of {count} distinct edges",
        hint="ask for fewer edges, or for more vertices",
    )


def _edges(n: int, degree: _Ints, rng: np.random.Generator) -> tuple[Vertices, Vertices]:
    """`degree` distinct uniform targets for each vertex, without loops."""
    wide = np.flatnonzero(2 * degree >= n)
    rows = []
    for vertex in wide.tolist():
        drawn = rng.permutation(n - 1)[: degree[vertex]]
        rows.append(vertex * n + drawn + (drawn >= vertex))
    narrow = degree.copy()
    narrow[wide] = 0
    open_ends = np.repeat(np.arange(n, dtype=np.int64), narrow)
    found = np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        if not len(open_ends):
            pairs = np.sort(np.concatenate([found, *rows]))
            return pairs // n, pairs % n
        drawn = rng.integers(0, n - 1, len(open_ends))
        drawn += drawn >= open_ends
        found = _distinct(np.concatenate([found, open_ends * n + drawn]))
        open_ends = np.repeat(np.arange(n, dtype=np.int64), narrow - np.bincount(found // n, minlength=n))
    raise AnonymizationError(
        f"{_ROUNDS} rounds left {len(open_ends)} edges without a target",
        hint="ask for more vertices, or for a higher alpha",
    )


def _uniform(m: int, rng: np.random.Generator) -> Weights:
    return rng.integers(1, GRID, m, endpoint=True) / GRID


def _incoming_shares(n: int, target: Vertices, rng: np.random.Generator) -> Weights:
    """Divide a random total in (1/2, 1] among the edges into each vertex."""
    degree = np.bincount(target, minlength=n)
    if len(target) and degree.max() > GRID // 2:
        raise AnonymizationError(
            "a vertex has too many owners for shares of a millionth",
            hint="ask for more companies, or for fewer owners",
        )
    total = rng.integers(GRID // 2, GRID, n, endpoint=True) - degree
    part = rng.random(len(target)) + 1e-9
    whole = np.bincount(target, weights=part, minlength=n)
    return (1 + np.floor(total[target] * (part / whole[target]) * (1 - 1e-12))) / GRID


def _graph(n: int, source: _Ints, target: _Ints, weight: Weights, relation: str) -> KnowledgeGraph:
    """Name the vertices c000000, ..., and sort the edges."""
    digits = max(6, len(str(max(n - 1, 0))))
    order = np.argsort(source * n + target)
    labels = np.array([f"c{i:0{digits}d}" for i in range(n)], dtype=object)
    return KnowledgeGraph(labels, {relation: Relation(source[order], target[order], weight[order])})
