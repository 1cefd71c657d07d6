"""Plain twins of the engine's kernels: the same results, by sets and dictionaries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Row = tuple[int, ...]


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


def differ(old: Sequence[set[int]], new: Sequence[set[int]]) -> tuple[list[set[int]], list[set[int]]]:
    """Of each value, the states that it does not reach any more, and those that it did not."""
    pairs = list(zip(old, new, strict=True))
    return [a - b for a, b in pairs], [b - a for a, b in pairs]


def reached(
    seeds: Iterable[int],
    plain: dict[int, list[int]],
    sums: dict[int, list[tuple[int, float]]],
    bound: float,
) -> set[int]:
    """States that a walk reaches, by steps or because the weights of steps to them pass a bound."""
    found = set(seeds)
    while True:
        totals: dict[int, float] = {}
        for state in found:
            for target, weight in sums.get(state, ()):
                totals[target] = totals.get(target, 0) + weight
        more = {t for s in found for t in plain.get(s, ())} | {t for t, w in totals.items() if w > bound}
        if more <= found:
            return found
        found |= more
