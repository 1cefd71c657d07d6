"""Plain twins of the kernels: the same results, by sets and dictionaries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import exp

Row = tuple[int, ...]


def numbers(cells: Iterable[str]) -> int:
    """0 where all cells are integers, 1 where all are decimals, else 2."""
    integer = r"-?(0|[1-9][0-9]{0,17})"
    decimal = rf"({integer}(\.[0-9]*)?|-?\.[0-9]+)([eE][+-]?[0-9]+)?"
    return max(
        (
            0 if re.fullmatch(integer, cell, re.ASCII) else 1 if re.fullmatch(decimal, cell, re.ASCII) else 2
            for cell in cells
        ),
        default=0,
    )


def grouped(values: Sequence[object]) -> tuple[list[int], list[int]]:
    """Row of the first of each set of equal values, and the number of the set of each value."""
    number: dict[object, int] = {}
    groups = [number.setdefault(value, len(number)) for value in values]
    return [groups.index(group) for group in range(len(number))], groups


def insert(batch: Iterable[Row], old: Sequence[Row]) -> list[Row]:
    return list(dict.fromkeys([*old, *batch]))


def improve(
    batch: Iterable[Row], old: dict[Row, float], position: int, greatest: bool
) -> tuple[dict[Row, float], set[Row]]:
    """Values by key, and the keys whose value changed."""
    values = dict(old)
    for row in batch:
        key, value = row[:position] + row[position + 1 :], row[position]
        values.setdefault(key, value)
        values[key] = max(values[key], value) if greatest else min(values[key], value)
    return values, {key for key, value in values.items() if old.get(key) != value}


def join(
    left: Iterable[Row], left_key: Sequence[int], right: Sequence[Row], right_key: Sequence[int]
) -> list[Row]:
    return sorted(a + b for a in left for b in right if [a[i] for i in left_key] == [b[i] for i in right_key])


def matches(
    left: Iterable[Row], left_key: Sequence[int], right: Sequence[Row], right_key: Sequence[int]
) -> list[bool]:
    keys = {tuple(b[i] for i in right_key) for b in right}
    return [tuple(a[i] for i in left_key) in keys for a in left]


def totals(batch: Iterable[Row], width: int, function: str) -> dict[Row, float]:
    """Total by group of rows (group, contributor, value), each contributor with its best value."""
    best: dict[Row, dict[Row, float]] = {}
    keep = min if function == "min" else max
    for row in batch:
        group, contributor, value = row[:width], row[:-1], row[-1]
        known = best.setdefault(group, {})
        known[contributor] = keep(known.get(contributor, value), value)
    combine = {"sum": math.fsum, "count": len, "min": min, "max": max, "prod": math.prod}[function]
    return {group: combine(known.values()) for group, known in best.items()}


class Held:
    """A relation whose rows come and go: a set."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = set(rows)

    def holds(self, rows: Iterable[Row]) -> list[bool]:
        return [row in self.rows for row in rows]

    def append(self, rows: Iterable[Row]) -> None:
        self.rows |= set(rows)

    def remove(self, rows: Iterable[Row]) -> None:
        self.rows -= set(rows)

    def matching(self, columns: Sequence[int], keys: Iterable[Row]) -> list[Row]:
        return sorted(row for key in keys for row in self.rows if tuple(row[i] for i in columns) == key)


def by_source(steps: Sequence[Row]) -> list[Row]:
    return sorted(steps, key=lambda step: step[0])


def preorder(steps: Sequence[Row], states: int) -> list[int]:
    """Numbers in the order of a search in depth that takes the last step first."""
    numbers: dict[int, int] = {}

    def visit(state: int) -> None:
        if state not in numbers:
            numbers[state] = len(numbers)
            for step in reversed([s for s in steps if s[0] == state]):
                visit(int(step[1]))

    for state in range(states):
        visit(state)
    return [numbers[state] for state in range(states)]


def rounds_of_walk(
    seeds: Iterable[int], steps: Sequence[Row], sums: Sequence[Row], bound: float
) -> list[Counter[tuple[str, int]]]:
    """What each rule tries and finds in each round of a walk; plain steps end with their rule, that of sums is 9."""
    reached: dict[int, None] = dict.fromkeys(seeds)
    totals: Counter[int] = Counter()
    rounds = []
    recent = list(reached)
    while recent:
        here: Counter[tuple[str, int]] = Counter()
        before = len(reached)
        for state in recent:
            for _, t, rule in (row for row in steps if row[0] == state):
                here["tried", rule] += 1
                here["new", rule] += t not in reached
                reached.setdefault(t)
            for _, t, weight in (row for row in sums if row[0] == state):
                here["tried", 9] += 1
                totals[t] += weight
                here["new", 9] += t not in reached and totals[t] > bound
                if totals[t] > bound:
                    reached.setdefault(t)
        rounds.append(here)
        recent = list(reached)[before:]
    return rounds


def walk(seeds: Iterable[int], steps: Sequence[Row], sums: Sequence[Row], bound: float) -> set[int]:
    """What is reached from some states by steps, or where the weights of steps from reached states exceed a bound."""
    reached = set(seeds)
    while True:
        more = {t for s, t in steps if s in reached}
        targets = {t for _, t, _ in sums}
        more |= {u for u in targets if sum(w for s, t, w in sums if t == u and s in reached) > bound}
        if more <= reached:
            return reached
        reached |= more


def coreness(near: Sequence[set[int]]) -> list[int]:
    """Core numbers: for c = 1, 2, ... take away vertices of degree below c until there is none."""
    left, core = set(range(len(near))), [0] * len(near)
    for c in range(1, len(near) + 1):
        while gone := {v for v in left if len(near[v] & left) < c}:
            left -= gone
        for v in left:
            core[v] = c
    return core


def links(near: Sequence[set[int]], v: int) -> int:
    """Ordered pairs of neighbours of v that are neighbours."""
    return sum(w in near[u] for u in near[v] for w in near[v])


def connected_sets(near: Sequence[set[int]], size: int) -> list[Row]:
    """All connected sets of vertices: of all combinations those whose first vertex reaches the others."""

    def connected(chosen: Row) -> bool:
        inside, reached = set(chosen), {chosen[0]}
        while more := {u for v in reached for u in near[v]} & inside - reached:
            reached |= more
        return reached == inside

    return [c for c in combinations(range(len(near)), size) if connected(c)]


def apart(one: Row, other: Row, degrees: Sequence[Sequence[int]]) -> bool:
    """Whether two sets share no vertex and differ in all degrees, position by position."""
    return not set(one) & set(other) and all(
        degree[u] != degree[v] for degree in degrees for u, v in zip(one, other, strict=True)
    )


def has_images(
    target: Row, members: Iterable[Row], turns: Sequence[Row], degrees: Sequence[Sequence[int]], need: int
) -> bool:
    """Whether some choice of members, each turned, is apart from a set and from each other."""
    turned = {tuple(member[a] for a in turn) for member in members for turn in turns}
    fit = [member for member in sorted(turned) if apart(target, member, degrees)]
    return any(
        all(apart(a, b, degrees) for a, b in combinations(chosen, 2)) for chosen in combinations(fit, need)
    )


def least_addition(
    known: Sequence[Sequence[int]],
    kinds: Sequence[Sequence[int]],
    edges: Sequence[Sequence[int]],
    weights: Sequence[Sequence[float]],
    incoming: Sequence[float],
    vertex_cost: float,
    full: float,
) -> float:
    """What the cheapest place of a member in a template adds, by all places; -1 stands for a new vertex."""
    t, x = len(known), len(kinds)
    costs = []
    for place in product(range(-1, t), repeat=x):
        old = [v for v in place if v >= 0]
        if len(set(old)) < len(old):
            continue
        pairs = [(a, b, place[a], place[b]) for a in range(x) for b in range(x)]
        fresh = [(a, b) for a, b, u, v in pairs if min(u, v) < 0 or known[u][v] < 0]
        if any((a, b) not in fresh and known[u][v] != kinds[a][b] for a, b, u, v in pairs):
            continue
        more = {b: sum(weights[a][c] for a, c in fresh if c == b) for b in range(x)}
        if not old or all(incoming[v] + more[b] <= full for b, v in enumerate(place) if v >= 0):
            costs.append(vertex_cost * (x - len(old)) + sum(edges[a][b] for a, b in fresh))
    return min(costs)


def common_edges(edges: Sequence[tuple[int, int, int]], place: Sequence[int], k: int) -> int:
    """Edges (relation, source, target) between the same rows of two blocks, summed up over all pairs of blocks."""
    counts: dict[tuple[int, int, int], list[int]] = {}
    for relation, source, target in edges:
        if place[source] % k == place[target] % k:
            rows = relation, place[source] // k, place[target] // k
            counts.setdefault(rows, [0] * k)[place[source] % k] += 1
    return sum(min(c[a], c[b]) for c in counts.values() for a in range(k) for b in range(a))


def aligned(
    edges: Sequence[tuple[int, int, int]], place: Sequence[int], k: int, heat: float, dice: Sequence[float]
) -> tuple[list[int], int]:
    """Places after exchanges for the sake of edges in common, and what was gained."""
    n, place, gained = len(place), list(place), 0
    arcs: list[list[int]] = [[] for _ in range(n)]
    for relation, source, target in dict.fromkeys(edges):
        arcs[source].append(2 * relation * n + target)
        if source != target:
            arcs[target].append((2 * relation + 1) * n + source)
    owned = [(v, key) for v in range(n) for key in sorted(arcs[v])]
    for roll in range(0, len(dice) - 4, 5):
        arc, turn, guide, luck, elsewhere = dice[roll : roll + 5]
        z, key = owned[int(arc * len(owned))]
        kind, w = divmod(key, n)
        block = place[w] % k
        other = (block + 1 + int(turn * (k - 1))) % k
        options = sorted(arcs[place.index(place[w] // k * k + other)])
        row = int(elsewhere * 8 * (n // k))
        if options:
            back, v = divmod(options[int(guide * len(options))], n)
            if back == kind ^ 1 and place[v] % k == other:
                row = place[v] // k
        if row >= n // k:
            continue
        y = place.index(row * k + block)
        tried = list(place)
        tried[z], tried[y] = place[y], place[z]
        gain = common_edges(edges, tried, k) - common_edges(edges, place, k)
        if gain >= 0 or (heat > 0 and luck < exp(gain / heat)):
            place, gained = tried, gained + gain
    return place, gained
