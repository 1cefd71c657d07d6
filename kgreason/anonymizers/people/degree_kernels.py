"""The loop of degree_clusters.py: clusters exchange users at random, as long as that makes degrees dearer but little.

Row c of `members` holds the users of cluster c, ``members[c, :size[c]]``; user u stands at `slot[u]` of the row of
`cluster[u]`.
"""

from __future__ import annotations

import math

from kgreason.jit import DoubleRows, Doubles, Ints, Rows, kernel


@kernel
def price(degrees: Rows, members: Rows, size: Ints, c: int, excess: float, target: Ints, top: Ints) -> float:
    """Find what the cheapest degrees of a cluster cost (see targets.py), in half edges.

    Parameters
    ----------
    excess
        What a degree costs that is too large by one, where one too small costs 1.
    target
        Takes the degrees, shape (columns,).
    top
        Scratch, shape (most users of a cluster,).
    """
    s = size[c]
    above = max(math.ceil(s / (1.0 + excess)) - 1, 0)
    cost = 0.0
    for column in range(degrees.shape[1]):
        total, held = 0, 0
        for i in range(s):
            d = degrees[members[c, i], column]
            total += d
            if held <= above:
                held += 1
            elif d <= top[above]:
                continue
            j = held - 1
            while j > 0 and top[j - 1] < d:
                top[j] = top[j - 1]
                j -= 1
            top[j] = d
        most = 0
        for j in range(min(above, held)):
            most += top[j]
        value = top[above] if s else 0
        target[column] = value
        cost += value * (s - above) - (total - most) + excess * (most - value * above)
    return cost


@kernel
def need(levels: Ints, members: Rows, c: int, begin: int, end: int) -> int:
    """Largest level among some of the members of a cluster."""
    most = 0
    for i in range(begin, end):
        most = max(most, levels[members[c, i]])
    return most


@kernel
def put(members: Rows, size: Ints, cluster: Ints, slot: Ints, u: int, c: int) -> None:
    """Bring a user from his cluster into another one."""
    a = cluster[u]
    size[a] -= 1
    last = members[a, size[a]]
    members[a, slot[u]], slot[last] = last, slot[u]
    members[c, size[c]], slot[u], cluster[u] = u, size[c], c
    size[c] += 1


@kernel
def change(
    cost: Doubles, target: Rows, size: Ints, uneven: Ints, c: int, was: int, costs: float, targets: Ints,
    made: bool,
) -> float:  # fmt: skip
    """What a changed cluster adds to the cost of all, but for what uneven sums cost; keeps account of sums.

    Parameters
    ----------
    uneven
        Sum of out- less sum of in-degrees, by relation.
    was
        Users that the cluster had, with its old `target`; now it has `size[c]`, with `targets`.
    made
        Whether the new cost and targets become those of the cluster.
    """
    half = len(uneven)
    for r in range(half):
        uneven[r] += size[c] * (targets[r] - targets[half + r]) - was * (target[c, r] - target[c, half + r])
    added = float(costs - cost[c])
    if made:
        cost[c] = costs
        for column in range(2 * half):
            target[c, column] = targets[column]
    return added


@kernel
def unevenness(uneven: Ints) -> float:
    """What it costs to make sums even: a half edge for each unit."""
    total = 0
    for r in range(len(uneven)):
        total += abs(uneven[r])
    return float(total)


@kernel
def anneal(
    degrees: Rows, levels: Ints, members: Rows, size: Ints, cluster: Ints, slot: Ints,
    cost: Doubles, target: Rows, uneven: Ints,
    cell: Ints, cell_start: Ints, cell_users: Ints, near: Rows,
    active: Ints, random: DoubleRows, temperature: float, excess: float,
    old: Ints, new: Rows, top: Ints,
) -> int:  # fmt: skip
    """Try moves and swaps of users with clusters of users nearby; those that cost more are taken the more rarely.

    Parameters
    ----------
    degrees, levels
        Degrees of users, out-degrees by relation before in-degrees, shape (n, 2 relations), and what each demands.
    members, size, cluster, slot
        The clusters, changed in place.
    cost, target, uneven
        What clusters cost, their degrees, and by how much the sums of these differ, changed in place.
    cell, cell_start, cell_users, near
        Users with equal degrees: the cell of each, the users by cell, and cells nearby, nearest first.
    active
        Users with whom attempts begin.
    random
        Five numbers in [0, 1) for each attempt.
    old, new, top
        Scratch, of the shapes (relations,), (2, 2 relations) and (columns of members,).

    Returns
    -------
    done
        Attempts that were taken.
    """
    capacity = members.shape[1] - 1  # a swap needs one place more
    done = 0
    for attempt in range(len(random)):
        u = active[int(random[attempt, 0] * len(active))]
        draw = random[attempt, 1]
        other = near[cell[u], int(draw * draw * near.shape[1])]
        begin = cell_start[other]
        v = cell_users[begin + int(random[attempt, 2] * (cell_start[other + 1] - begin))]
        a, b = cluster[u], cluster[v]
        if a == b:
            continue
        kind = int(random[attempt, 3] * 3)
        if kind == 1:
            u, v, a, b = v, u, b, a
        was_a, was_b = size[a], size[b]
        if kind < 2 and was_b == capacity:
            continue
        put(members, size, cluster, slot, u, b)
        if kind == 2:
            put(members, size, cluster, slot, v, a)
        fits = size[a] >= need(levels, members, a, 0, size[a]) and size[b] >= need(
            levels, members, b, 0, size[b]
        )
        taken = False
        if fits:
            before = unevenness(uneven)
            for r in range(len(uneven)):
                old[r] = uneven[r]
            cost_a = price(degrees, members, size, a, excess, new[0], top)
            cost_b = price(degrees, members, size, b, excess, new[1], top)
            more = change(cost, target, size, uneven, a, was_a, cost_a, new[0], False)
            more += change(cost, target, size, uneven, b, was_b, cost_b, new[1], False)
            more += unevenness(uneven) - before
            taken = more <= 0 or random[attempt, 4] < math.exp(-more / temperature)
            for r in range(len(uneven)):
                old[r], uneven[r] = uneven[r], old[r]
        if taken:
            change(cost, target, size, uneven, a, was_a, cost_a, new[0], True)
            change(cost, target, size, uneven, b, was_b, cost_b, new[1], True)
            done += 1
        else:
            put(members, size, cluster, slot, u, a)
            if kind == 2:
                put(members, size, cluster, slot, v, b)
    return done
