"""Compiled search for the cheapest place of a member in a template."""

from __future__ import annotations

from kgreason.jit import Doubles, Ints, Rows, kernel


@kernel
def _added(known: Rows, kinds: Rows, edges: Rows, place: Ints, order: Ints, depth: int, v: int) -> int:
    """Edges to add if the next position gets vertex v, -1 a new one; -1 if it does not fit."""
    a = order[depth]
    more: int = edges[a, a] if v < 0 or known[v, v] < 0 else 0
    if v >= 0 and known[v, v] >= 0 and known[v, v] != kinds[a, a]:
        return -1
    for lower in range(depth):
        b = order[lower]
        u = place[b]
        if v < 0 or u < 0:
            more += edges[a, b] + edges[b, a]
            continue
        if known[v, u] < 0:
            more += edges[a, b]
        elif known[v, u] != kinds[a, b]:
            return -1
        if known[u, v] < 0:
            more += edges[b, a]
        elif known[u, v] != kinds[b, a]:
            return -1
    return more


@kernel
def _roomy(known: Rows, weights: Doubles, incoming: Doubles, place: Ints, full: float) -> bool:
    """Whether incoming weights stay within their bound at vertices that are there already."""
    x = len(place)
    for b in range(x):
        v = place[b]
        if v < 0:
            continue
        total = incoming[v]
        for a in range(x):
            if place[a] < 0 or known[place[a], v] < 0:
                total += weights[a * x + b]
        if total > full:
            return False
    return True


@kernel
def cheapest(
    known: Rows, kinds: Rows, edges: Rows, weights: Doubles, incoming: Doubles, order: Ints, vertices: Ints,
    vertex_cost: float, full: float, steps: int, place: Ints, next_: Ints, costs: Doubles, best: Ints,
) -> float:  # fmt: skip
    """Place a member where it adds little, by depth first search that gives up after some steps.

    Parameters
    ----------
    known
        What runs between vertices of the template, -1 where it is open; shape (t, t).
    kinds, edges, weights
        What runs between the positions of the member, how many edges that is, and what it adds to incoming weights
        of which each vertex may have `full`; shape (x, x), the last flat.
    order, vertices
        Orders in which positions are filled and vertices are tried.
    vertex_cost
        Of a new vertex, in edges.
    place, next_, costs
        Room, of lengths x, x + 1 and x + 1.
    best
        Written: vertex of each position, -1 for a new one.

    Returns
    -------
    float
        What it adds.
    """
    x, t = len(order), len(vertices)
    least = x * vertex_cost
    for a in range(x):
        best[a] = -1
        place[a] = -1
        for b in range(x):
            least += edges[a, b]
    depth = 0
    next_[0] = 0
    costs[0] = 0.0
    while depth >= 0 and steps > 0:
        if depth == x:
            if costs[depth] < least and _roomy(known, weights, incoming, place, full):
                least = costs[depth]
                for a in range(x):
                    best[a] = place[a]
            depth -= 1
            continue
        a = order[depth]
        place[a] = -1
        i = next_[depth]
        if i > t:
            depth -= 1
            continue
        next_[depth] = i + 1
        v = vertices[i] if i < t else -1
        steps -= 1
        taken = False
        for lower in range(depth):
            if v >= 0 and place[order[lower]] == v:
                taken = True
        if taken:
            continue
        more = _added(known, kinds, edges, place, order, depth, v)
        cost = costs[depth] + more + (vertex_cost if v < 0 else 0.0)
        if more < 0 or cost >= least:
            continue
        place[a] = v
        depth += 1
        costs[depth] = cost
        next_[depth] = 0
    return least
