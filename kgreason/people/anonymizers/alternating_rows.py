"""Alternating rows: trails of alternately added and removed edges that correct vertex degrees.

A step from v to x adds an edge: v's deficit is settled, and x may have an edge too many. A step from x to y removes
their edge: y may miss one. A row that ends at a vertex with the matching deficit or excess thus corrects both its ends
and changes no other degree. Removing an original edge costs 1, restoring one gains 1; all else is free.

The search is breadth-first over states (vertex, next action, cost so far), each visited once. A row may visit a vertex
more than once, but no pair twice. If edges between any vertices may be added, all vertices but neighbours are
reachable; so `left` holds the unvisited ones, and a search takes time linear in the edges, for each level of cost.
"""

from __future__ import annotations

from typing import NamedTuple

from kgreason.base.jit import Flags, Ints, Rows, inlined, kernel

KEPT, LOST, ADDED, FREE = range(4)


class Graph(NamedTuple):
    """n vertices, and c slots for pairs: original edges, kept or lost, and added edges.

    Attributes
    ----------
    ends
        Smaller and larger end of each pair, shape (c, 2).
    kind
        KEPT, LOST, ADDED or FREE, shape (c,).
    first
        Head of the linked list of each vertex and kind, shape (n, 3); -1: empty. Lists hold halves of pairs: half 2p is
        that of pair p at its smaller end, half 2p + 1 that at its larger end.
    chain
        Next and previous half in the list of each half, shape (2c, 2).
    table
        Hash table of pair numbers by their ends, -1: free; its length is a power of two greater than c.
    free
        Stack of free slots, with its size as last entry, shape (c + 1,).
    lack
        Missing edges of each vertex, negative for an excess, shape (n,).
    """

    ends: Rows
    kind: Ints
    first: Rows
    chain: Rows
    table: Ints
    free: Ints
    lack: Ints


class Search(NamedTuple):
    """Scratch memory of the search for a row whose cost never exceeds `top`.

    Attributes
    ----------
    before, visited, queue
        By state, shape (2n(top + 1),); `visited` holds the stamp of the last search that visited it, or DEAD.
    left, taken
        Shapes (top + 1, n + 1) and (n,).
    path
        Vertices of the row, end first; its length bounds that of rows.
    size
        Number of states visited, and of steps of all searches; shape (2,).
    """

    before: Ints
    visited: Ints
    queue: Ints
    left: Rows
    taken: Ints
    path: Ints
    size: Ints


_ODD = 0x1E3779B97F4A7C15


@inlined
def home(table: Ints, a: int, b: int) -> int:
    """First slot to probe for a pair a < b."""
    mixed = (a * 0x9E3779B1 + b) * _ODD
    return int((mixed ^ (mixed >> 32)) & (len(table) - 1))


@inlined
def slot_of(g: Graph, a: int, b: int) -> int:
    """Slot of a pair, or the free one where it would be inserted."""
    low, high = min(a, b), max(a, b)
    at = home(g.table, low, high)
    while g.table[at] >= 0 and (g.ends[g.table[at], 0] != low or g.ends[g.table[at], 1] != high):
        at = (at + 1) & (len(g.table) - 1)
    return at


@inlined
def link(g: Graph, pair: int, to: int) -> None:
    """Insert a pair into the lists of a kind."""
    g.kind[pair] = to
    for side in range(2):
        half, v = 2 * pair + side, g.ends[pair, side]
        following = g.first[v, to]
        g.chain[half, 0], g.chain[half, 1] = following, -1
        if following >= 0:
            g.chain[following, 1] = half
        g.first[v, to] = half


@inlined
def unlink(g: Graph, pair: int) -> None:
    """Remove a pair from its lists."""
    for side in range(2):
        half = 2 * pair + side
        following, previous = g.chain[half, 0], g.chain[half, 1]
        if following >= 0:
            g.chain[following, 1] = previous
        if previous >= 0:
            g.chain[previous, 0] = following
        else:
            g.first[g.ends[pair, side], g.kind[pair]] = following


@inlined
def put(g: Graph, a: int, b: int) -> int:
    """Add an edge between two vertices that are not adjacent; returns the number of the pair."""
    g.lack[a] -= 1
    g.lack[b] -= 1
    at = slot_of(g, a, b)
    pair = int(g.table[at])
    if pair >= 0:
        unlink(g, pair)
        link(g, pair, KEPT)
        return pair
    last = len(g.free) - 1
    g.free[last] -= 1
    pair = int(g.free[g.free[last]])
    g.ends[pair, 0], g.ends[pair, 1] = min(a, b), max(a, b)
    g.table[at] = pair
    link(g, pair, ADDED)
    return pair


@kernel
def take(g: Graph, pair: int) -> None:
    """Remove an edge."""
    g.lack[g.ends[pair, 0]] += 1
    g.lack[g.ends[pair, 1]] += 1
    unlink(g, pair)
    if g.kind[pair] == KEPT:
        link(g, pair, LOST)
        return
    forget(g, pair)
    g.kind[pair] = FREE
    last = len(g.free) - 1
    g.free[g.free[last]] = pair
    g.free[last] += 1


@inlined
def forget(g: Graph, pair: int) -> None:
    """Delete a pair from the hash table."""
    mask = len(g.table) - 1
    gap = slot_of(g, g.ends[pair, 0], g.ends[pair, 1])
    at = (gap + 1) & mask
    while g.table[at] >= 0:
        wanted = home(g.table, g.ends[g.table[at], 0], g.ends[g.table[at], 1])
        if ((at - wanted) & mask) >= ((at - gap) & mask):
            g.table[gap] = g.table[at]
            gap = at
        at = (at + 1) & mask
    g.table[gap] = -1


@kernel
def enter(g: Graph, count: int) -> None:
    """Insert the first `count` pairs, whose ends and kinds are set, into the lists and the table."""
    for pair in range(count):
        g.table[slot_of(g, g.ends[pair, 0], g.ends[pair, 1])] = pair
        link(g, pair, g.kind[pair])


@kernel
def put_all(g: Graph, pairs: Rows) -> None:
    """Add edges between vertices that are not adjacent."""
    for i in range(len(pairs)):
        put(g, pairs[i, 0], pairs[i, 1])


@kernel
def drop(g: Graph) -> None:
    """Remove original edges of vertices with an excess, whatever the other end."""
    for v in range(len(g.lack)):
        while g.lack[v] < 0 and g.first[v, KEPT] >= 0:
            take(g, g.first[v, KEPT] >> 1)


DEAD = -1  # states from which an earlier search found no row


@inlined
def _unwind(before: Ints, path: Ints, n: int, node: int) -> int:
    """Write the vertices of a row, end first; returns their number, or 0 if it is too long or repeats a pair."""
    count = 0
    while node >= 0:
        if count == len(path):
            return 0
        path[count] = node % n
        count += 1
        node = before[node]
    for i in range(count - 1):
        for j in range(i):
            a, b, c, d = path[i], path[i + 1], path[j], path[j + 1]
            if (a == c and b == d) or (a == d and b == c):
                return 0
    return count


@inlined
def reach(g: Graph, s: Search, stamp: int, most: int, node: int, v: int, adds: int, cost: int) -> int:
    """Visit a state unless it is known; returns the length of a row that ends there, or 0.

    `node` is the current state; the first state of the search is at the head of the queue. The new state is the vertex
    v, `adds` (0: it then misses an edge, 1: it has one too many), and the cost so far.
    """
    n = len(g.lack)
    found = (2 * cost + adds) * n + v
    if s.visited[found] == stamp or s.visited[found] == DEAD:
        return 0
    s.visited[found], s.before[found] = stamp, node
    s.queue[s.size[0]] = found
    s.size[0] += 1
    if cost > most:
        return 0
    own = 1 if s.queue[0] == (1 - adds) * n + v else 0  # a closed row corrects two edges of its end
    if (g.lack[v] if adds else -g.lack[v]) > own:
        return _unwind(s.before, s.path, n, found)
    return 0


@inlined
def follow(g: Graph, s: Search, stamp: int, most: int, node: int, kind: int, adds: int, cost: int) -> int:
    """Continue from a state over all pairs of a kind."""
    half = g.first[node % len(g.lack), kind]
    while half >= 0:
        v = g.ends[half >> 1, 1 - (half & 1)]
        length = reach(g, s, stamp, most, node, v, adds, cost)
        if length:
            return length
        half = g.chain[half, 0]
        s.size[1] += 1
    return 0


@inlined
def venture(g: Graph, s: Search, stamp: int, most: int, node: int, cost: int) -> int:
    """Continue from a state over all pairs without an edge."""
    n = len(g.lack)
    v = node % n
    s.taken[v] = v
    for kind in (KEPT, ADDED):
        half = g.first[v, kind]
        while half >= 0:
            s.taken[g.ends[half >> 1, 1 - (half & 1)]] = v
            half = g.chain[half, 0]
            s.size[1] += 1
    kept = 0
    length = 0
    for i in range(s.left[cost, n]):
        x = s.left[cost, i]
        if length == 0 and s.taken[x] != v:
            length = reach(g, s, stamp, most, node, x, 1, cost)
        else:
            s.left[cost, kept] = x
            kept += 1
    s.size[1] += s.left[cost, n]
    s.left[cost, n] = kept
    return length


@inlined
def search(g: Graph, s: Search, stamp: int, u: int, top: int, most: int, fresh: bool) -> int:
    """Find a row from u, which has a deficit or an excess, to another such vertex; returns its length, or 0.

    No earlier search used the number `stamp`. `top` and `most` bound the cost of the row at each step, and at its end.
    `fresh`: edges may be added between vertices that are not adjacent in the original graph.
    """
    n = len(g.lack)
    root = u if g.lack[u] > 0 else n + u
    s.visited[root], s.before[root], s.queue[0], s.size[0] = stamp, -1, root, 1
    if fresh:
        for v in range(n):
            s.taken[v] = -1
            for cost in range(top + 1):
                s.left[cost, v] = v
        for cost in range(top + 1):
            s.left[cost, n] = n
        s.size[1] += n
    at, length = 0, 0
    while at < s.size[0] and length == 0:
        node = s.queue[at]
        cost = node // (2 * n)
        at += 1
        if node // n % 2:
            length = follow(g, s, stamp, most, node, ADDED, 0, cost)
            if length == 0 and cost < top:
                length = follow(g, s, stamp, most, node, KEPT, 0, cost + 1)
            continue
        length = follow(g, s, stamp, most, node, LOST, 1, max(cost - 1, 0))
        if length == 0 and fresh:
            length = venture(g, s, stamp, most, node, cost)
    return length


@inlined
def mend(g: Graph, s: Search, stamp: int, u: int, top: int, most: int, fresh: bool) -> bool:
    """Find and apply a row from u (see `search`); if there is none, returns False, and visited states become DEAD."""
    adds = g.lack[u] > 0
    length = search(g, s, stamp, u, top, most, fresh)
    if length == 0:
        for i in range(s.size[0]):
            s.visited[s.queue[i]] = DEAD
        return False
    for i in range(length - 1, 0, -1):
        if adds:
            put(g, s.path[i], s.path[i - 1])
        else:
            take(g, g.table[slot_of(g, s.path[i], s.path[i - 1])])
        adds = not adds
    return True


@kernel
def mend_all(g: Graph, s: Search, turns: Ints, stamp: int, top: int, most: int, fresh: bool) -> None:
    """Apply rows from the vertices of `turns`, in order, as long as any is found; `stamp` exceeds all of `visited`.

    An applied row may open a way from a state marked DEAD by an earlier search. Such states stay DEAD until the scratch
    memory is renewed, so rows may be missed: this keeps repeated unsuccessful searches cheap.
    """
    for u in turns:
        going = True
        while going and g.lack[u] != 0:
            going = mend(g, s, stamp, u, top, most, fresh)
            stamp += 1


@kernel
def mix(g: Graph, one: Ints, other: Ints, turn: Flags) -> None:
    """Switch pairs of added edges where this creates neither loops nor existing or original edges."""
    for i in range(len(one)):
        a, b = g.ends[one[i], 0], g.ends[one[i], 1]
        c, d = g.ends[other[i], 1 if turn[i] else 0], g.ends[other[i], 0 if turn[i] else 1]
        if a == c or b == d or a == d or b == c:  # noqa: SIM109
            continue
        if g.table[slot_of(g, a, c)] < 0 and g.table[slot_of(g, b, d)] < 0:
            take(g, one[i])
            take(g, other[i])
            put(g, a, c)
            put(g, b, d)
