"""Whether the links of a release are those that its strategy makes of the original.

References
----------
LINKS, section 4.2: intact edges, partial-edge removal, cluster-edge, cluster-edge with constraints, removed edges.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kgreason.assess.links.verdict import Source
from kgreason.assess.refinement import numbered
from kgreason.assess.verdict import SHOWN, Item, judged
from kgreason.choices import CLUSTERED
from kgreason.graph.links.model import Observations, Released
from kgreason.graph.model import Vertices

Doubles = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)
Rows = tuple[Vertices, Vertices, Doubles, Vertices]
"""Links: source, target, weight (0 where there is none), and how many."""


def links(released: Released, source: Source, percent: float | None) -> Item:
    """Whether each observed relation has the links that the strategy leaves.

    Parameters
    ----------
    percent
        Of ``"partial"``: how much of each relation must be missing at least; `None`: it is not said.
    """
    before, after = source.graph.observed, released.graph.observed
    words = [f"{name}: the original has no such relation" for name in sorted(set(after) - set(before))]
    told = []
    for name, original in before.items():
        found = after.get(name)
        if found is None:
            words.append(f"{name}: the release does not name it")
            continue
        words += [f"{name}: {what}" for what in _wrong(released, source, original, found, percent)]
        told.append(f"{name} {original.total:,} -> {found.total:,}")
    fails = f"the links are not those that {released.strategy} leaves"
    rest = "; any share may be missing" if released.strategy == "partial" and percent is None else ""
    holds = f"as {released.strategy} leaves them: {', '.join(told) or 'none'}{rest}"
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
    return words


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
    """Links between nodes, ordered, with the mean of their weights: all, or the `largest` number of two entities."""
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
    """Mean weight of each group from an exact sum, within its weights; not a number where weights are too large."""
    # A sum that depended on the order of links would leave digits in which something could stand.
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
    """Links of the original between the nodes of the release."""
    _, _, weight, count = _rows(original)
    a, b = mapping[original.source], mapping[original.target]
    return (np.minimum(a, b), np.maximum(a, b), weight, count) if original.mutual else (a, b, weight, count)


def _rows(found: Observations) -> Rows:
    weight = np.zeros(len(found)) if found.weight is None else found.weight
    return found.source, found.target, weight, found.count


def _surplus(expected: Rows, found: Rows) -> tuple[Rows, Vertices]:
    """Each pair (and weight) of either, and how many links more are expected than found, int64."""
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


def _named(released: Released, rows: Rows, places: Vertices, what: str) -> list[str]:
    """Pairs of nodes for which something is wrong; after the first few only that there are more."""
    labels = released.graph.labels
    return [
        f"{labels[rows[0][i]]}, {labels[rows[1][i]]}: {what}" if n < SHOWN else what
        for n, i in enumerate(places.tolist())
    ]
