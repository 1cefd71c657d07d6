"""Compiled losses between users, row by row; the plain twins are in ``tests/test_people_losses.py``.

Weights are whole multiples of a unit, held as doubles and so small in number that every sum is exact. That is what
makes losses symmetric and those of equal users exactly 0, however they are summed.
"""

from __future__ import annotations

import numpy as np

from kgreason.jit import ByteRows, DoubleRows, Doubles, Ints, SingleRows, kernel


@kernel
def count_row(
    u: int, lone: Doubles, count: DoubleRows, weight: DoubleRows, absent: Doubles, total: Doubles
) -> None:
    """Cost of taking over all values of each other, as if u and v shared none: Σ_a c_a(v) w_a(u) + c_a(u) w_a(v).

    Parameters
    ----------
    lone
        This cost beside a user without values; shape (n,).
    count, weight
        c_a(v) and w_a(v), shape (attributes, n).
    absent
        w_a of users without a value of a.
    total
        Becomes the cost for each v.
    """
    total[:] = lone
    for a in range(len(absent)):
        held = count[a, u]
        if held > 0:
            more = weight[a, u] - absent[a]
            for v in range(len(total)):
                total[v] += count[a, v] * more + weight[a, v] * held


@kernel
def share_row(
    u: int,
    weight: DoubleRows,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    value_start: Ints,
    holder: Ints,
    total: Doubles,
) -> None:
    """Take back what values cost that u and v share."""
    for e in range(owner_start[u], owner_start[u + 1]):
        t = owned[e]
        a = attribute[t]
        own = weight[a, u]
        for f in range(value_start[t], value_start[t + 1]):
            v = holder[f]
            total[v] -= own + weight[a, v]


@kernel
def widening(
    low: float, high: float, other_low: float, other_high: float, weight: float, span: float
) -> float:
    """Loss of a user when the range of a numeric attribute grows to hold that of another user.

    Parameters
    ----------
    low, high, other_low, other_high
        The ranges; ``low > high`` without a value.
    weight
        One over the most by which this range can grow, and 1.
    span
        Width of the domain.
    """
    if other_low > other_high:
        return 0.0
    if low > high:
        return (other_high - other_low + 1.0) / (span + 2.0)
    return (max(low - other_low, 0.0) + max(other_high - high, 0.0)) * weight


@kernel
def range_row(
    u: int, unit: float, low: DoubleRows, high: DoubleRows, weight: DoubleRows, span: Doubles, total: Doubles
) -> None:
    """Add what it costs to have the ranges of u and v in common; `low` and `high` have shape (numeric, n)."""
    for a in range(len(span)):
        for v in range(len(total)):
            mine = widening(low[a, u], high[a, u], low[a, v], high[a, v], weight[a, u], span[a])
            theirs = widening(low[a, v], high[a, v], low[a, u], high[a, u], weight[a, v], span[a])
            total[v] += (mine + theirs) * unit


@kernel
def degree_row(u: int, degrees: Doubles, degree: DoubleRows, total: Doubles) -> None:
    """Sum of differences between the degrees of u and of each v.

    Parameters
    ----------
    degrees
        Sum of all degrees of each user.
    degree
        Shape (2 · relations, n).
    """
    total[:] = degrees
    for r in range(len(degree)):
        own = degree[r, u]
        if own > 0:
            for v in range(len(total)):
                total[v] += abs(degree[r, v] - own) - degree[r, v]


@kernel
def adm_rows(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    unit: float,
    by_attributes: float,
    by_degrees: float,
    lone: Doubles,
    count: DoubleRows,
    weight: DoubleRows,
    absent: Doubles,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    value_start: Ints,
    holder: Ints,
    low: DoubleRows,
    high: DoubleRows,
    range_weight: DoubleRows,
    span: Doubles,
    degrees: Doubles,
    degree: DoubleRows,
    total: Doubles,
    apart: Doubles,
    out: SingleRows,
) -> None:
    """Fill the rows first .. stop-1 of a block of ADM.

    Parameters
    ----------
    rows, columns
        Users of the block.
    unit
        Units that make a loss of 1 in one attribute.
    by_attributes, by_degrees
        Factors of the sum over attributes, in units, and of the sum over degrees.
    total, apart
        Scratch, shape (n,).
    out
        Shape (rows, columns).
    """
    for i in range(first, stop):
        u = rows[i]
        count_row(u, lone, count, weight, absent, total)
        share_row(u, weight, attribute, owner_start, owned, value_start, holder, total)
        range_row(u, unit, low, high, range_weight, span, total)
        degree_row(u, degrees, degree, apart)
        for j in range(len(columns)):
            v = columns[j]
            out[i, j] = np.float32(by_attributes * total[v] + by_degrees * apart[v])


@kernel
def shared_cost(u: int, v: int, weight: DoubleRows, attribute: Ints, owner_start: Ints, owned: Ints) -> float:
    """Sum over the values that u and v share of their weights."""
    total = 0.0
    e = owner_start[u]
    f = owner_start[v]
    while e < owner_start[u + 1] and f < owner_start[v + 1]:
        s = owned[e]
        t = owned[f]
        if s == t:
            total += weight[attribute[s], u] + weight[attribute[s], v]
        if s <= t:
            e += 1
        if t <= s:
            f += 1
    return total


@kernel
def adm_pairs(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    unit: float,
    by_attributes: float,
    by_degrees: float,
    count: DoubleRows,
    weight: DoubleRows,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    low: DoubleRows,
    high: DoubleRows,
    range_weight: DoubleRows,
    span: Doubles,
    degree: DoubleRows,
    out: SingleRows,
) -> None:
    """Fill rows of a block of few columns, pair by pair: the same numbers as those of `adm_rows`."""
    for i in range(first, stop):
        u = rows[i]
        for j in range(len(columns)):
            v = columns[j]
            total = 0.0
            for a in range(len(count)):
                total += count[a, v] * weight[a, u] + count[a, u] * weight[a, v]
            total -= shared_cost(u, v, weight, attribute, owner_start, owned)
            for a in range(len(span)):
                mine = widening(low[a, u], high[a, u], low[a, v], high[a, v], range_weight[a, u], span[a])
                theirs = widening(low[a, v], high[a, v], low[a, u], high[a, u], range_weight[a, v], span[a])
                total += (mine + theirs) * unit
            apart = 0.0
            for r in range(len(degree)):
                apart += abs(degree[r, u] - degree[r, v])
            out[i, j] = np.float32(by_attributes * total + by_degrees * apart)


@kernel
def atdm_rows(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    by_truth: float,
    by_degrees: float,
    false: ByteRows,
    owner_start: Ints,
    owned: Ints,
    degrees: Doubles,
    degree: DoubleRows,
    marks: Ints,
    apart: Doubles,
    out: SingleRows,
) -> None:
    """Fill rows of a block of ATDM.

    Parameters
    ----------
    false
        Untruthful ordered associations of each two values, 0 to 2, symmetric, 0 for values that one user has.
    marks
        Scratch, shape (p,): of each value its untruthful associations with values of u, and 2^32 if u has it.
    """
    for i in range(first, stop):
        u = rows[i]
        marks[:] = 0
        for e in range(owner_start[u], owner_start[u + 1]):
            of = owned[e]
            for t in range(len(marks)):
                marks[t] += false[of, t]
            marks[of] += 1 << 32
        degree_row(u, degrees, degree, apart)
        own = owner_start[u + 1] - owner_start[u]
        for j in range(len(columns)):
            v = columns[j]
            found = 0
            for f in range(owner_start[v], owner_start[v + 1]):
                found += marks[owned[f]]
            union = own + owner_start[v + 1] - owner_start[v] - (found >> 32)
            untrue = 0.0
            if union > 0:
                untrue = (found & 0xFFFFFFFF) / (union * union)
            out[i, j] = np.float32(by_truth * untrue + by_degrees * apart[v])
