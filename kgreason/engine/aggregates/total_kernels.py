"""Compiled kernels of aggregation: contributions by contributor, totals by group."""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Doubles, Ints, Rows, kernel
from kgreason.engine.relations.hash_kernels import ANY, DOUBLE, FACTOR, GREATEST, LOW, before, find, hashed

SPLITTER = 134217729.0  # 2^27 + 1: splits a double into two halves whose products are exact

SUM, PROD, COUNT, EXTREME = 0, 1, 2, 3

ONE = 0x3FF0000000000000  # 1.0, as a coded double


@kernel
def contribute(
    batch: Rows,
    keep: int,
    kind: int,
    ranks: Ints,
    contributors: Rows,
    contributor_slots: Ints,
    contributor_key: Ints,
    count: int,
    values: Ints,
    owner: Ints,
    groups: Rows,
    group_slots: Ints,
    group_key: Ints,
    group_count: int,
    touched: Ints,
    olds: Ints,
    news: Ints,
    fresh: Ints,
) -> tuple[int, int, int]:
    """Keep the best value of each contributor; rows of `batch` are group columns, contributor columns, value.

    The best of several factors is the least if one of them is below 1, so that it decreases the product;
    otherwise the greatest. `touched` lists the contributors that are new (`fresh`) or whose value improved
    from `olds` to `news`, in order, one entry per change. Returns the numbers of contributors, groups and
    changes.
    """
    width = len(contributor_key)
    one = ONE if kind == DOUBLE else 1
    n = 0
    for i in range(len(batch)):
        value = batch[i, width]
        tag = hashed(batch, i, contributor_key, contributor_key)
        s = find(
            batch,
            i,
            contributor_key,
            contributor_key,
            contributors,
            contributor_key,
            contributor_slots,
            tag,
        )
        if contributor_slots[s] >= 0:
            row = contributor_slots[s] & LOW
            old = values[row]
            greatest = keep == GREATEST
            if keep == FACTOR:
                greatest = not before(old, one, kind, ranks) and not before(value, one, kind, ranks)
            low, high = (old, value) if greatest else (value, old)
            if keep == ANY or not before(low, high, kind, ranks):
                continue
            olds[n] = old
            fresh[n] = 0
        else:
            row = count
            contributor_slots[s] = tag << 32 | row
            for j in range(width):
                contributors[row, j] = batch[i, j]
            tag = hashed(batch, i, group_key, group_key)
            s = find(batch, i, group_key, group_key, groups, group_key, group_slots, tag)
            if group_slots[s] < 0:
                group_slots[s] = tag << 32 | group_count
                for j in range(len(group_key)):
                    groups[group_count, j] = batch[i, j]
                group_count += 1
            owner[row] = group_slots[s] & LOW
            count += 1
            fresh[n] = 1
        values[row] = value
        news[n] = value
        touched[n] = row
        n += 1
    return count, group_count, n


@kernel
def _add(high: float, low: float, x: float) -> tuple[float, float]:
    """Add to a double-double number (Knuth's two-sum)."""
    total = high + x
    part = total - high
    low += (high - (total - part)) + (x - part)
    high = total + low
    rest = low - (high - total)
    return (high, rest) if rest == rest else (total, 0.0)


@kernel
def _times(high: float, low: float, x: float) -> tuple[float, float]:
    """Multiply a double-double number (Dekker's product)."""
    product = high * x
    a = SPLITTER * high
    a_high = a - (a - high)
    a_low = high - a_high
    b = SPLITTER * x
    b_high = b - (b - x)
    b_low = x - b_high
    low = low * x + (((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
    high = product + low
    rest = low - (high - product)
    return (high, rest) if rest == rest else (product, 0.0)


@kernel
def tally(
    touched: Ints,
    owner: Ints,
    olds: Ints,
    news: Ints,
    fresh: Ints,
    function: int,
    kind: int,
    high: Doubles,
    low: Doubles,
    whole: Ints,
    stamps: Ints,
    now: int,
    changed: Ints,
    n_changed: int,
) -> int:
    """Apply changed contributions to the totals of their groups; the arrays are those of `contribute`.

    The total of a group is the double-double number `high + low` and, for integers, `whole` modulo 2^64: a
    distance between the two reveals an overflow. `changed[:n_changed]` lists the groups whose total has
    changed since round `now` began; returns the new n_changed.
    """
    old_doubles = olds.view(np.float64)
    new_doubles = news.view(np.float64)
    for i in range(len(touched)):
        g = owner[touched[i]]
        first = fresh[i] == 1
        if function == COUNT:
            whole[g] += 1
            high[g] += 1.0
        elif function == EXTREME:
            whole[g] = news[i]
        else:
            new = new_doubles[i] if kind == DOUBLE else float(news[i])
            old = old_doubles[i] if kind == DOUBLE else float(olds[i])
            if function == SUM:
                high[g], low[g] = _add(high[g], low[g], new)
                whole[g] += news[i]
                if not first:
                    high[g], low[g] = _add(high[g], low[g], -old)
                    whole[g] -= olds[i]
            else:
                if stamps[g] == -1:  # empty product
                    high[g] = 1.0
                    whole[g] = 1
                high[g], low[g] = _times(high[g], low[g], new)
                if first:
                    whole[g] *= news[i]
                else:  # values of an updated product are at least 1
                    whole[g] = whole[g] // olds[i] * news[i]
                    quotient = high[g] / old
                    h, p = _times(quotient, 0.0, old)
                    high[g], low[g] = _add(quotient, (high[g] - h - p + low[g]) / old, 0.0)
        if stamps[g] != now:
            stamps[g] = now
            changed[n_changed] = g
            n_changed += 1
    return n_changed
