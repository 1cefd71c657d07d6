"""Definition 4.1 word by word, in plain Python: docs/anonymization.md and nothing else.

Nothing of the checker is used, nor of the reasoner: rules are functions written by hand, sums are exact fractions
that are rounded once.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from pathlib import Path

Edge = tuple[str, int, int, float | None]
"""Relation, source, target and weight."""
Derived = frozenset[tuple[str, int, int]]
"""Predicate, from, to."""


@dataclass(frozen=True)
class Graph:
    """A directed multigraph: labels of the vertices 0 .. n-1, and a set of edges."""

    labels: tuple[str, ...]
    edges: frozenset[Edge]

    @property
    def vertices(self) -> range:
        return range(len(self.labels))

    @cached_property
    def between(self) -> Mapping[tuple[int, int], Sequence[Edge]]:
        found: dict[tuple[int, int], list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge[1:3], []).append(edge)
        return found

    @cached_property
    def ground(self) -> Mapping[tuple[int, int], Counter[str]]:
        """Number of edges of each relation between two vertices."""
        return {pair: Counter(edge[0] for edge in edges) for pair, edges in self.between.items()}

    @cached_property
    def near(self) -> Sequence[set[int]]:
        near: list[set[int]] = [set() for _ in self.vertices]
        for u, v in self.between:
            near[u].add(v)
            near[v].add(u)
        return near

    @cached_property
    def degrees(self) -> Sequence[tuple[int, int]]:
        """In- and out-degrees."""
        ins, outs = Counter(e[2] for e in self.edges), Counter(e[1] for e in self.edges)
        return [(ins[v], outs[v]) for v in self.vertices]

    def induced(self, chosen: Sequence[int]) -> frozenset[Edge]:
        """Edges among some vertices, which are renumbered by their position."""
        place = {v: i for i, v in enumerate(chosen)}
        pairs = ((u, v) for u in chosen for v in chosen)
        return frozenset(
            (name, place[u], place[v], weight)
            for pair in pairs
            for name, u, v, weight in self.between.get(pair, ())
        )

    def components(self) -> list[list[int]]:
        left, found = set(self.vertices), []
        while left:
            reached = {min(left)}
            while more := {u for v in reached for u in self.near[v]} - reached:
                reached |= more
            found.append(sorted(reached))
            left -= reached
        return found

    def connected(self, chosen: Sequence[int]) -> bool:
        inside, reached = set(chosen), {chosen[0]}
        while more := {u for v in reached for u in self.near[v]} & inside - reached:
            reached |= more
        return reached == inside


@dataclass(frozen=True)
class Rules:
    """Σ as a function from the number of vertices and the edges among them to the derived edges."""

    derive: Callable[[int, frozenset[Edge]], Derived]
    bounds: Mapping[str, Fraction] = field(default_factory=dict)
    known: dict[tuple[int, frozenset[Edge]], Derived] = field(default_factory=dict)

    def __call__(self, n: int, edges: frozenset[Edge]) -> Derived:
        if (n, edges) not in self.known:
            self.known[n, edges] = self.derive(n, edges)
        return self.known[n, edges]


def total(weights: Iterable[float]) -> float:
    """The exact sum, rounded once."""
    return float(sum(map(Fraction, weights), Fraction(0)))


# --- the definition -----------------------------------------------------------------------------------------


def decide(
    original: Graph, released: Graph, mapping: Sequence[int], rules: Rules, k: int, x: int
) -> tuple[dict[str, bool], Fraction | None]:
    """Which conditions hold, and δ; `mapping` has the released vertex of each original one."""
    n = len(original.labels)
    found = {
        "parameters": 1 <= x <= n and 1 <= k <= comb(n, x),
        "mapping": len(mapping) == n and len(set(mapping)) == n and set(mapping) <= set(released.vertices),
        "connected": len(released.components()) <= 1,
        "labels": not set(original.labels) & set(released.labels),
        "weight range": all(e[3] is None or 0 <= e[3] <= 1 for e in released.edges),
        **{
            f"incoming sums of {name}": incoming_sums(released, name, bound)
            for name, bound in rules.bounds.items()
        },
    }
    usable = found["mapping"]
    found["augmentation"] = usable and augmentation(original, released, mapping)
    found["weights"] = usable and weights(original, released, mapping)
    sensible = usable and found["weight range"] and min(k, x) >= 1  # weights outside [0,1] are none
    delta = images(original, released, mapping, rules, k, x) if sensible else None
    found["images"] = delta == 1
    return found, delta


def incoming_sums(graph: Graph, relation: str, bound: Fraction) -> bool:
    """Weights are decimal fractions as they are written."""
    into: dict[int, Fraction] = {}
    for name, _, v, weight in graph.edges:
        if name == relation and weight is not None:
            into[v] = into.get(v, Fraction(0)) + Fraction(repr(weight))
    return all(found <= bound for found in into.values())


def augmentation(original: Graph, released: Graph, mapping: Sequence[int]) -> bool:
    """Item 1: A has all edges of G."""
    return all(
        counts <= released.ground.get((mapping[u], mapping[v]), Counter())
        for (u, v), counts in original.ground.items()
    )


def weights(original: Graph, released: Graph, mapping: Sequence[int]) -> bool:
    """Item 3: every edge of G has another weight in A, where A has an edge for each."""
    for (u, v), edges in original.between.items():
        there = released.between.get((mapping[u], mapping[v]), ())
        for name in {edge[0] for edge in edges}:
            before = [e[3] for e in edges if e[0] == name and e[3] is not None]
            after = [e[3] for e in there if e[0] == name]
            if len(before) <= len(after) and not _others(before, after):
                return False
    return True


def _others(before: Sequence[float], after: Sequence[float | None]) -> bool:
    """Whether each weight can be given another one, no two the same edge."""
    if not before:
        return True
    return any(
        b != before[0] and _others(before[1:], [*after[:i], *after[i + 1 :]]) for i, b in enumerate(after)
    )


def attacked(original: Graph, x: int) -> Iterator[tuple[int, ...]]:
    """Every weakly connected X1; of a component of fewer than x vertices all of it."""
    for component in original.components():
        for chosen in combinations(component, min(x, len(component))):
            if original.connected(chosen):
                yield chosen


def images(
    original: Graph, released: Graph, mapping: Sequence[int], rules: Rules, k: int, x: int
) -> Fraction:
    """Item 4: the share of the X1 that stand at k places, 1 where there is no X1."""
    found = [stands(released, [mapping[v] for v in chosen], rules, k) for chosen in attacked(original, x)]
    return Fraction(sum(found), len(found)) if found else Fraction(1)


def stands(graph: Graph, first: Sequence[int], rules: Rules, k: int) -> bool:
    """Whether X1 has k - 1 images that are disjoint and differ from it and from each other."""
    derived = rules(len(first), graph.induced(first))
    places = [
        place for place in placements(graph, first, []) if rules(len(place), graph.induced(place)) == derived
    ]
    return chosen(graph, places, k - 1)


def placements(graph: Graph, first: Sequence[int], placed: list[int]) -> Iterator[tuple[int, ...]]:
    """Every injective Φ from X1 to vertices outside of it that keeps the ground edges and differs everywhere."""
    if len(placed) == len(first):
        yield tuple(placed)
        return
    v = first[len(placed)]
    for u in graph.vertices:
        if u in first or u in placed or not differ(graph, u, v):
            continue
        pairs = zip((*first[: len(placed)], v), (*placed, u), strict=True)
        if all(
            graph.ground.get((v, a)) == graph.ground.get((u, b))
            and graph.ground.get((a, v)) == graph.ground.get((b, u))
            for a, b in pairs
        ):
            yield from placements(graph, first, [*placed, u])


def differ(graph: Graph, u: int, v: int) -> bool:
    """In label, in-degree and out-degree."""
    (in_u, out_u), (in_v, out_v) = graph.degrees[u], graph.degrees[v]
    return graph.labels[u] != graph.labels[v] and in_u != in_v and out_u != out_v


def chosen(graph: Graph, places: Sequence[tuple[int, ...]], need: int) -> bool:
    """Whether `need` of some placements are pairwise disjoint and differ."""
    if need <= 0:
        return True
    for i, place in enumerate(places):
        rest = [
            other
            for other in places[i + 1 :]
            if not set(place) & set(other)
            and all(differ(graph, u, v) for u, v in zip(place, other, strict=True))
        ]
        if len(rest) >= need - 1 and chosen(graph, rest, need - 1):
            return True
    return False


# --- rules by hand ------------------------------------------------------------------------------------------


def owned(edges: frozenset[Edge]) -> Mapping[tuple[int, int], float]:
    """Who owns what: of parallel edges each owner counts once, with the greatest weight."""
    found: dict[tuple[int, int], float] = {}
    for name, u, v, weight in edges:
        if name == "own" and weight is not None:
            found[u, v] = max(weight, found.get((u, v), weight))
    return found


def control(n: int, edges: frozenset[Edge]) -> Derived:
    shares = owned(edges)
    controlled = {v: {v} for v in range(n)}
    for group in controlled.values():
        while True:
            more = {
                z for z in range(n) if total(w for (y, t), w in shares.items() if t == z and y in group) > 0.5
            }
            if more <= group:
                break
            group |= more
    return frozenset(("control", u, v) for u, group in controlled.items() for v in group)


def ultimate(n: int, edges: frozenset[Edge]) -> Derived:
    pairs = {(u, v) for _, u, v in control(n, edges) if u != v}
    below = {v for _, v in pairs}
    return frozenset(("ultimate", u, v) for u, v in pairs if u not in below)


def reach(n: int, edges: frozenset[Edge]) -> Derived:
    steps = {(u, v) for name, u, v, w in edges if name == "own" and w is not None and w > 0 and u != v}
    pairs = set(steps)
    while more := {(u, v) for u, y in pairs for z, v in steps if y == z and u != v} - pairs:
        pairs |= more
    return frozenset(("reach", u, v) for u, v in pairs)


def heard(n: int, edges: frozenset[Edge]) -> Derived:
    pairs = {(u, v) for name, u, v, w in edges if name == "own" and w is not None and w > 0.3 and u != v}
    steps = {(u, v) for name, u, v, _ in edges if name == "knows"}
    while more := {(u, v) for u, y in pairs for z, v in steps if y == z and u != v} - pairs:
        pairs |= more
    return frozenset(("heard", u, v) for u, v in pairs)


def nothing(n: int, edges: frozenset[Edge]) -> Derived:
    return frozenset()


# --- files --------------------------------------------------------------------------------------------------


def read(folder: Path, relations: Sequence[str]) -> tuple[Graph, Graph, list[int]]:
    """The tables in ``original`` and ``release``, and the mapping in ``private``, as their rows say.

    Raises
    ------
    ValueError
        If a row has no meaning.
    """
    pairs = dict(_rows(folder / "private/mapping.csv"))
    original = _graph(folder / "original", relations, [])
    if not set(original.labels) <= set(pairs):
        raise ValueError("an original vertex has no row")
    original = _graph(folder / "original", relations, pairs)
    released = _graph(folder / "release", relations, [row[0] for row in _rows(folder / "release/nodes.csv")])
    if not set(pairs.values()) <= set(released.labels):
        raise ValueError("the mapping is of another release")
    return original, released, [released.labels.index(pairs[label]) for label in original.labels]


def _graph(folder: Path, relations: Iterable[str], vertices: Iterable[str]) -> Graph:
    number: dict[str, int] = {label: i for i, label in enumerate(dict.fromkeys(vertices))}
    edges: set[Edge] = set()
    for name in relations:
        for row in _rows(folder / f"{name}.csv"):
            u, v = (number.setdefault(cell, len(number)) for cell in row[:2])
            edges.add((name, u, v, float(row[2]) if len(row) > 2 else None))
    return Graph(tuple(number), frozenset(edges))


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file, strict=True) if row]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{path}: rows of other widths")
    return rows[1:]
