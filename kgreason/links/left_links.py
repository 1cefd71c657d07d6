"""Condition of link releases: whether each relation has the links that the strategy leaves. Part of the checker.

References
----------
LINKS, section 4.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.graph.refinement import numbered
from kgreason.links.model import LinkGraph, Observations, Released
from kgreason.links.settings import CLUSTERED
from kgreason.release.verdicts import SHOWN, Item, judged

Doubles = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)
# source, target, weight (0 if unweighted) and count of links
Rows = tuple[Vertices, Vertices, Doubles, Vertices]


@record(eq=False)
class Source:
    """The original of a release, and the mapping: released node of each entity, int64, shape (n,); -1: none."""

    graph: LinkGraph
    mapping: Vertices


def links(released: Released, source: Source, percent: float | None) -> Item:
    """Condition ``links``: each relation has the links that the strategy leaves; `percent` as in `verify_links`."""
    before, after = source.graph.observed, released.graph.observed
    words = [f"{name}: the original has no such relation" for name in sorted(set(after) - set(before))]
    counts = []
    for name, original in before.items():
        found = after.get(name)
        if found is None:
            words.append(f"{name}: the release does not name it")
            continue
        words += [f"{name}: {what}" for what in _wrong(released, source, original, found, percent)]
        counts.append(f"{name} {original.total:,} -> {found.total:,}")
    fails = f"the links are not those that {released.strategy} leaves"
    rest = "; any share may be missing" if released.strategy == "partial" and percent is None else ""
    holds = f"as {released.strategy} leaves them: {', '.join(counts) or 'none'}{rest}"
    return judged("links", words, fails, holds)


def _wrong(
    released: Released, source: Source, original: Observations, found: Observations, percent: float | None
) -> list[str]:
    strategy = released.strategy
    if found.mutual != original.mutual:
        return [f"it is {'mutual' if found.mutual else 'directed'}, and was not"]
    if (found.weight is None) != (original.weight is None):
        return ["its weights are lost" if found.weight is None else "it had no weights"]
    if strategy == "removed":
        return [f"{found.total:,} links are left"] if len(found) else []
    if strategy in CLUSTERED:
        return _of_clusters(released, source, original, found)
    expected = _carried(original, source.mapping)
    rows, surplus = _surplus(expected, _rows(found))
    invented = np.flatnonzero(surplus < 0)
    words = _named(released, rows, invented, "more links than there were")
    if strategy == "intact":
        return words + _named(released, rows, np.flatnonzero(surplus > 0), "links are missing")
    least = 0 if percent is None else math.ceil(Fraction(str(percent)) * original.total / 100)
    missing = original.total - found.total
    if missing < least:
        words.append(f"{missing:,} of {original.total:,} links are missing, and {least:,} should be")
    if released.criterion == "degree" and not words:
        words += _named(
            released,
            rows,
            _out_of_order(expected, rows, surplus),
            "kept, though links of lower degrees are missing",
        )
    return words


def _out_of_order(expected: Rows, rows: Rows, missing: Vertices) -> Vertices:
    """Pairs that are left although their product of degrees is above that of a missing link."""
    degree: dict[int, int] = {}
    had: dict[tuple[int, int, float], int] = {}
    for u, v, weight, count in zip(*(column.tolist() for column in expected), strict=True):
        degree[u] = degree.get(u, 0) + count
        degree[v] = degree.get(v, 0) + count
        had[u, v, weight] = had.get((u, v, weight), 0) + count
    pairs = list(zip(*(column.tolist() for column in rows[:3]), strict=True))
    product = [degree[u] * degree[v] for u, v, _ in pairs]
    least = min((p for p, gone in zip(product, missing.tolist(), strict=True) if gone), default=math.inf)
    left = (had[pair] > gone for pair, gone in zip(pairs, missing.tolist(), strict=True))
    kept = [i for i, (p, some) in enumerate(zip(product, left, strict=True)) if some and p > least]
    return np.array(kept, dtype=np.int64)


def _of_clusters(
    released: Released, source: Source, original: Observations, found: Observations
) -> list[str]:
    expected = _between(original, source.mapping, largest=released.strategy == "constrained")
    mean = expected[2]
    sides = [(a, b, np.zeros(len(a)), many) for a, b, _, many in (expected, _rows(found))]
    rows, surplus = _surplus(*sides)
    words = _named(released, rows, np.flatnonzero(surplus < 0), "more links than the entities have")
    words += _named(released, rows, np.flatnonzero(surplus > 0), "fewer links than the entities have")
    if words or found.weight is None:
        return words
    if len(found) != len(mean):
        return [f"{len(found):,} rows for {len(mean):,} pairs of nodes"]
    order = np.lexsort((found.target, found.source))
    other = np.flatnonzero(found.weight[order] != mean)
    return _named(released, expected, other, "another weight than the mean of the entities")


def _between(original: Observations, mapping: Vertices, *, largest: bool) -> Rows:
    """Links between nodes, ordered, with mean weights; counts, or with `largest` the maximum of an entity pair."""
    a, b, weight, count = _carried(original, mapping)
    pair = numbered(np.column_stack([a, b]))
    many = _sums(pair, count)
    mean = _means(pair, weight, count)
    if largest:
        entities = numbered(np.column_stack([original.source, original.target]))
        single = _sums(entities, original.count)
        many = np.zeros(len(mean), dtype=np.int64)
        np.maximum.at(many, pair, single[entities])
    first = np.unique(pair, return_index=True)[1]
    return a[first], b[first], mean, many


def _means(group: Vertices, weight: Doubles, count: Vertices) -> Doubles:
    """Mean weight of each group from an exact sum, within the range of its weights; NaN where weights are too large.

    The exact sum does not depend on the order of links, which would leave digits that carry information.
    """
    rows: dict[int, list[tuple[float, int]]] = {}
    for key, w, c in zip(group.tolist(), weight.tolist(), count.tolist(), strict=True):
        rows.setdefault(key, []).append((w, c))
    means = []
    for key in sorted(rows):
        weights = [w for w, _ in rows[key]]
        try:
            mean = math.fsum(w * c for w, c in rows[key]) / sum(c for _, c in rows[key])
        except (OverflowError, ValueError):
            mean = math.nan
        means.append(min(max(mean, min(weights)), max(weights)) if math.isfinite(mean) else math.nan)
    return np.array(means, dtype=np.float64)


def _carried(original: Observations, mapping: Vertices) -> Rows:
    """Links of the original, mapped to nodes of the release."""
    _, _, weight, count = _rows(original)
    a, b = mapping[original.source], mapping[original.target]
    return (np.minimum(a, b), np.maximum(a, b), weight, count) if original.mutual else (a, b, weight, count)


def _rows(found: Observations) -> Rows:
    weight = np.zeros(len(found)) if found.weight is None else found.weight
    return found.source, found.target, weight, found.count


def _surplus(expected: Rows, found: Rows) -> tuple[Rows, Vertices]:
    """All pairs (with weights) of both, and the number of expected links less that of found ones, int64."""
    source, target, weight = (np.concatenate([x, y]) for x, y in zip(expected[:3], found[:3], strict=True))
    count = np.concatenate([expected[3], -found[3]])
    group = numbered(np.column_stack([source, target, weight]))
    first = np.unique(group, return_index=True)[1]
    surplus = _sums(group, count)
    return (source[first], target[first], weight[first], surplus), surplus


def _sums(group: Vertices, numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    total = np.zeros(int(group.max(initial=-1)) + 1, dtype=numbers.dtype)
    np.add.at(total, group, numbers)
    return total


def _named(released: Released, rows: Rows, indices: Vertices, what: str) -> list[str]:
    """Messages for pairs of nodes; only the first `SHOWN` name them."""
    labels = released.graph.labels
    return [
        f"{labels[rows[0][i]]}, {labels[rows[1][i]]}: {what}" if n < SHOWN else what
        for n, i in enumerate(indices.tolist())
    ]
