"""Compiled counting sorts of edges into the neighbourhoods of an undirected graph.

An *entry* of vertex v for one of its edges, except loops, is ``x * codes + code``, where x is the other end. Those of v
are ``entries[ptr[v]:ptr[v + 1]]``. While they are placed, the end of those that v has so far is ``ptr[v + 1]``.
"""

from __future__ import annotations

from kgreason.base.jit import Ints, Rows, Shorts, inlined, kernel


@kernel
def count_entries(source: Ints, target: Ints, ptr: Ints) -> None:
    """Add the number of entries of vertex v to ``ptr[v + 2]``."""
    for i in range(len(source)):
        if source[i] != target[i]:
            ptr[source[i] + 2] += 1
            ptr[target[i] + 2] += 1


@kernel
def place_entries(
    source: Ints, target: Ints, codes: int, outgoing: int, incoming: int, ptr: Ints, entries: Ints
) -> None:
    """Append the entries of some edges, with one code at their sources and another at their targets."""
    for i in range(len(source)):
        s, t = source[i], target[i]
        if s != t:
            entries[ptr[s + 1]] = t * codes + outgoing
            ptr[s + 1] += 1
            entries[ptr[t + 1]] = s * codes + incoming
            ptr[t + 1] += 1


@inlined
def sort(values: Ints, first: int, end: int) -> None:
    """Sort a part of an array in place (Shell sort, which is insertion sort for the few edges of most vertices)."""
    gap = 1
    while 9 * gap < end - first:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, end):
            value = values[i]
            j = i
            while j >= first + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@kernel
def sort_entries(ptr: Ints, entries: Ints, codes: int, degree: Ints) -> None:
    """Sort the entries of each vertex; `degree` receives its number of neighbours."""
    for v in range(len(degree)):
        sort(entries, ptr[v], ptr[v + 1])
        last, found = -1, 0
        for e in range(ptr[v], ptr[v + 1]):
            x = entries[e] // codes
            found += x != last
            last = x
        degree[v] = found


@kernel
def drop_repeated(ptr: Ints, entries: Ints) -> None:
    """Keep one of equal entries of each vertex; the others are moved up."""
    kept = 0
    start = ptr[0]
    for v in range(len(ptr) - 1):
        for e in range(start, ptr[v + 1]):
            if e == start or entries[e] != entries[e - 1]:
                entries[kept] = entries[e]
                kept += 1
        start = ptr[v + 1]
        ptr[v + 1] = kept


@kernel
def describe(
    order: Ints,
    ptr: Ints,
    entries: Ints,
    codes: int,
    cell_ptr: Ints,
    cell_neighbour: Ints,
    cell_tie: Ints,
    at: int,
    e: int,
    owners: Ints,
    neighbours: Ints,
    kinds: Rows,
) -> tuple[int, int, int]:
    """Neighbours of the vertices ``order[at]``, ..., those of the first one from entry e on, as far as there is room.

    Row i receives the place of a vertex in `order`, its neighbour, and the number of entries of the neighbour with each
    code. A further column of `kinds` receives the tie of the two among `cell_neighbour`, 0 if it is not there: those
    of vertex v are ``cell_ptr[v]:cell_ptr[v + 1]``, ascending. Returns the place and the entry with which to continue,
    and the number of rows.
    """
    rows = 0
    while at < len(order):
        v = order[at]
        e = max(e, ptr[v])
        cell = 0
        if kinds.shape[1] > codes:
            cell = cell_ptr[v]
        while e < ptr[v + 1]:
            if rows == len(owners):
                return at, e, rows
            x = entries[e] // codes
            owners[rows] = at
            neighbours[rows] = x
            for c in range(kinds.shape[1]):
                kinds[rows, c] = 0
            while e < ptr[v + 1] and entries[e] // codes == x:
                kinds[rows, entries[e] % codes] += 1
                e += 1
            if kinds.shape[1] > codes:
                while cell < cell_ptr[v + 1] and cell_neighbour[cell] < x:
                    cell += 1
                if cell < cell_ptr[v + 1] and cell_neighbour[cell] == x:
                    kinds[rows, codes] = cell_tie[cell]
            rows += 1
        at += 1
        e = 0
    return at, e, rows


@kernel
def append(
    owners: Ints,
    neighbours: Ints,
    numbers: Ints,
    rows: int,
    rank: Shorts,
    ptr: Ints,
    neighbour: Shorts,
    tie: Shorts,
) -> None:
    """Append each owner, and the number of the tie, to its neighbour, whose row has number `rank` of it."""
    for i in range(rows):
        r = rank[neighbours[i]]
        end = ptr[r + 1]
        neighbour[end] = owners[i]
        if len(tie):
            tie[end] = numbers[i]
        ptr[r + 1] = end + 1


@kernel
def count_greater(ptr: Ints, neighbour: Shorts, found: Ints) -> None:
    """Number of neighbours greater than each vertex; neighbours are ascending."""
    for v in range(len(found)):
        e = ptr[v + 1]
        while e > ptr[v] and neighbour[e - 1] > v:
            e -= 1
        found[v] = ptr[v + 1] - e


@kernel
def sum_of_powers(ptr: Ints, neighbour: Shorts, power: int) -> float:
    """Sum of (deg u + deg v)^power over all neighbours v of all vertices u."""
    total = 0.0
    for u in range(len(ptr) - 1):
        own = ptr[u + 1] - ptr[u]
        for e in range(ptr[u], ptr[u + 1]):
            both = float(own + ptr[neighbour[e] + 1] - ptr[neighbour[e]])
            term = 1.0
            for _ in range(power):
                term *= both
            total += term
    return total
