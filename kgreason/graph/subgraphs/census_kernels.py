"""Compiled enumeration of connected subgraphs by the ties between their vertices.

Subgraphs are enumerated by Wernicke's ESU: each once, from its least vertex `root`, by extending it with greater
vertices; all levels share one array of extensions. ``joint[u]`` packs the colour of an extension u and its ties with
the vertices chosen so far; a vertex that joins adds its ties to its neighbours, and removes them when it leaves. The
path to a subgraph, vertex by vertex, is a path in a trie: a node is the pattern of the vertices chosen so far, and its
child the pattern with one more.

The search state is kept in arrays of the caller, who may enlarge them and continue.

References
----------
S. Wernicke: Efficient detection of network motifs (2006), algorithm ESU.
"""

from __future__ import annotations

import numpy as np

from kgreason.base.jit import Ints, Rows, Shorts, inlined, kernel
from kgreason.engine.relations.hash_kernels import GOLDEN

DONE, MORE_PATTERNS, MORE_VALUES, TOO_MANY = 0, 1, 2, 3


@inlined
def find(parent: int, value: int, slots: Ints, nodes: Rows) -> int:
    """Slot of the child of a node, or the empty slot for it."""
    one, mask = np.uint64(1), np.uint64(len(slots) - 1)  # unsigned indices avoid the check for negative ones
    slot = np.uint64((parent * GOLDEN ^ value) * GOLDEN) >> np.uint64(32) & mask
    while True:
        found = np.uint64(slots[slot])
        if found == 0 or (nodes[found, 0] == parent and nodes[found, 1] == value):
            return int(slot)
        slot = (slot + one) & mask


@inlined
def child(parent: int, value: int, slots: Ints, nodes: Rows, head: Ints) -> int:
    """Number of the child of a node, created if it does not exist; the table must have a free slot."""
    slot = find(parent, value, slots, nodes)
    found: int = slots[slot]
    if found == 0:
        head[2] += 1
        found = head[2]
        slots[slot] = found
        nodes[found, 0] = parent
        nodes[found, 1] = value
    return found


@kernel
def placed(nodes: Rows, count: int, slots: Ints) -> None:
    """Insert the nodes 1 .. count into an empty table."""
    for node in range(1, count + 1):
        slots[find(nodes[node, 0], nodes[node, 1], slots, nodes)] = node


@inlined
def opened(
    root: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts, low: int,
    joint: Ints, extension: Shorts, place: Shorts,
) -> int:  # fmt: skip
    """Make the greater neighbours of a root its extensions; returns their number."""
    size = 0
    e = indptr[root + 1] - 1
    while e >= indptr[root] and neighbour[e] > root:
        u = neighbour[e]
        joint[u] = colour[u] | tie[e] << low
        extension[size] = u
        place[u] = size
        size += 1
        e -= 1
    return size


@inlined
def joined(
    root: int, w: int, shift: int, size: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    joint: Ints, extension: Shorts, place: Shorts,
) -> int:  # fmt: skip
    """Add w: update its neighbours and append new extensions; returns the number of extensions."""
    e = indptr[w + 1] - 1
    while e >= indptr[w] and neighbour[e] > root:
        u = neighbour[e]
        if joint[u] == 0:
            joint[u] = colour[u]
            extension[size] = u
            place[u] = size
            size += 1
        joint[u] |= tie[e] << shift
        e -= 1
    return size


@inlined
def left(
    root: int, w: int, shift: int, low: int, indptr: Ints, neighbour: Shorts, joint: Ints,
) -> None:  # fmt: skip
    """Remove w: restore its neighbours, and drop those that were extensions only through w."""
    e = indptr[w + 1] - 1
    mask = (1 << shift) - 1
    while e >= indptr[w] and neighbour[e] > root:
        u = neighbour[e]
        rest = joint[u] & mask
        joint[u] = rest if rest >> low else 0
        e -= 1


@inlined
def back(
    root: int, depth: int, low: int, bits: int, indptr: Ints, neighbour: Shorts, chosen: Ints, end: Ints,
    joint: Ints, extension: Shorts, head: Ints,
) -> None:  # fmt: skip
    """Backtrack to a depth, from which the search continues; from the root to the next one."""
    head[1] = depth
    if depth > 0:
        left(root, chosen[depth], low + bits * depth, low, indptr, neighbour, joint)
    else:
        for j in range(end[1]):
            joint[extension[j]] = 0
        head[0] += 1


@inlined
def _value_slot(value: int, keys: Ints, used: Shorts) -> int:
    """Slot of a value in the small table, or the empty slot for it."""
    mask = len(keys) - 1
    h = value * GOLDEN
    at = (h ^ h >> 32) & mask
    while used[at] != 0 and keys[at] != value:
        at = (at + 1) & mask
    return at


@inlined
def _number_values(
    first: int, size: int, joint: Ints, extension: Shorts, kind: Shorts,
    keys: Ints, used: Shorts, listed: Ints, here: Ints, before: Ints,
) -> int:  # fmt: skip
    """Number the values of the extensions from `first` on; returns how many there are, -1 if the table is too small."""
    many = 0
    for j in range(first, size):
        value = joint[extension[j]]
        slot = _value_slot(value, keys, used)
        if used[slot] == 0:
            if 2 * many >= len(keys):
                _clear(many, listed, used)
                return -1
            keys[slot] = value
            used[slot] = many + 1
            listed[many] = slot
            here[many] = before[many] = 0
            many += 1
        kind[j] = used[slot] - 1
        here[kind[j]] += 1
    return many


@inlined
def _clear(many: int, listed: Ints, used: Shorts) -> None:
    """Clear the small table."""
    for q in range(many):
        used[listed[q]] = 0


@inlined
def _store_example(found: int, depth: int, w: int, u: int, chosen: Ints, examples: Rows) -> None:
    """Store the chosen vertices, w and u as the example of a pattern."""
    for a in range(depth):
        examples[found, a] = chosen[a]
    examples[found, depth] = w
    examples[found, depth + 1] = u


@inlined
def _last_extension(
    q: int, w: int, i: int, size: int, indptr: Ints, neighbour: Shorts, extension: Shorts, kind: Shorts,
) -> int:  # fmt: skip
    """Last extension of this kind after the i-th, which is w, that is not a neighbour of w."""
    e, stop = indptr[w], indptr[w + 1]
    for j in range(i + 1, size):
        if kind[j] == q:
            u: int = extension[j]
            start, end = e, stop
            while start < end:
                middle = (start + end) >> 1
                if neighbour[middle] < u:
                    start = middle + 1
                else:
                    end = middle
            if start == stop or neighbour[start] != u:
                return u
    return -1


@inlined
def _count_neighbours(
    prefix: int, i: int, depth: int, shift: int,
    root: int, w: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    head: Ints, chosen: Ints, joint: Ints, place: Shorts, kind: Shorts, apart: Ints,
    slots: Ints, nodes: Rows, counts: Ints, examples: Rows,
) -> int:  # fmt: skip
    """Count the neighbours of w that complete a subgraph; former extensions among them are subtracted from `apart`."""
    # Returns the number of new extensions.
    fresh = 0
    e = np.uint64(indptr[w + 1])
    for _ in range(indptr[w + 1] - indptr[w]):
        e -= np.uint64(1)
        u = np.uint64(neighbour[e])
        if neighbour[e] <= root:
            break
        known = joint[u]
        if known == 0 or place[u] > i:
            if known == 0:
                fresh += 1
            else:
                apart[kind[place[u]]] -= 1
            before = head[2]
            found = child(prefix, known | colour[u] | tie[e] << shift, slots, nodes, head)
            if found > before:
                _store_example(found, depth, w, neighbour[e], chosen, examples)
            counts[found] += 1
    return fresh


@kernel
def census(
    task: Ints, x: int, bits: int, low: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    head: Ints, chosen: Ints, at: Ints, end: Ints, node: Ints, joint: Ints, extension: Shorts, place: Shorts,
    kind: Shorts, keys: Ints, used: Shorts, listed: Ints, here: Ints, apart: Ints, before: Ints,
    slots: Ints, nodes: Rows, counts: Ints, examples: Rows, limit: int,
) -> int:  # fmt: skip
    """Count the connected sets of x >= 3 vertices by pattern, without enumerating the last vertex of each.

    If both of the last two vertices are neighbours of the earlier ones, but not of each other, sets that complete the
    same x - 1 vertices by equal ties are counted together, from a histogram of the extensions' values. All other last
    vertices are neighbours of the vertex before.

    Parameters
    ----------
    task
        Roots from ``task[0]`` to ``task[1]``; first vertices among their extensions from ``task[2]`` to ``task[3]``.
    x, bits, low, indptr, neighbour, tie, colour
        Number of vertices; width of a tie and of a colour; `Adjacency`.
    head
        Root, depth, number of nodes of the trie, and number of subgraphs counted so far.
    chosen, at, end, node
        By depth: vertex chosen, next extension, number of extensions, node.
    joint, extension, place
        By vertex: its packed ties, 0 if it is not an extension; the extensions; the index of each.
    kind
        By extension: the number of its value.
    keys, used, listed
        Small hash table of values, `used` initially 0; its length is a power of two. Slot of each value, by number.
    here, apart, before
        By number of a value: remaining extensions with it, those of them that are not neighbours of the chosen one, and
        the node of the subgraph with one of them.
    slots, nodes, counts, examples
        Trie: hash table, parent and value of each node, its number of subgraphs, and one of them.
    limit
        Number of subgraphs after which to stop.

    Returns `DONE`, `TOO_MANY`, or which arrays to enlarge: then call again with unchanged `head`.
    """
    last = x - 2
    shift = low + bits * last
    while head[0] < task[1]:
        root = head[0]
        depth = head[1]
        if depth == 0:
            if head[2] + 1 >= len(nodes):
                return MORE_PATTERNS
            node[1] = child(0, colour[root], slots, nodes, head)
            chosen[0] = root
            end[1] = opened(root, indptr, neighbour, tie, colour, low, joint, extension, place)
            at[1] = task[2]
            depth = 1
        size = end[depth]
        stop = min(size, task[3]) if depth == 1 else size
        if depth == last:
            head[1] = depth
            many = _number_values(at[depth], size, joint, extension, kind, keys, used, listed, here, before)
            if many < 0:
                return MORE_VALUES
            for i in range(at[depth], stop):
                w = extension[i]
                if head[2] + many + indptr[w + 1] - indptr[w] + 2 > len(nodes):  # all may be new
                    at[depth] = i
                    _clear(many, listed, used)
                    return MORE_PATTERNS
                here[kind[i]] -= 1
                for q in range(many):
                    apart[q] = here[q]
                prefix = before[kind[i]]
                if prefix == 0:
                    prefix = before[kind[i]] = child(node[depth], joint[w], slots, nodes, head)
                fresh = _count_neighbours(
                    prefix, i, depth, shift, root, w, indptr, neighbour, tie, colour,
                    head, chosen, joint, place, kind, apart, slots, nodes, counts, examples,
                )  # fmt: skip
                for q in range(many):
                    if apart[q] > 0:
                        known = head[2]
                        found = child(prefix, keys[listed[q]], slots, nodes, head)
                        counts[found] += apart[q]
                        if found > known:
                            u = _last_extension(q, w, i, size, indptr, neighbour, extension, kind)
                            _store_example(found, depth, w, u, chosen, examples)
                head[3] += fresh + size - 1 - i
                if head[3] > limit:
                    _clear(many, listed, used)
                    return TOO_MANY
            _clear(many, listed, used)
        elif at[depth] < stop:
            if head[2] + 1 >= len(nodes):
                head[1] = depth
                return MORE_PATTERNS
            w = extension[at[depth]]
            at[depth] += 1
            chosen[depth] = w
            node[depth + 1] = child(node[depth], joint[w], slots, nodes, head)
            end[depth + 1] = joined(
                root, w, low + bits * depth, size, indptr, neighbour, tie, colour, joint, extension, place
            )
            at[depth + 1] = at[depth]
            head[1] = depth + 1
            continue
        back(root, depth - 1, low, bits, indptr, neighbour, chosen, end, joint, extension, head)
    return DONE


@kernel
def pair_cells(indptr: Ints, target: Ints, kind: Ints, members: Rows, cells: Rows) -> None:
    """Write the kind of every ordered pair of the vertices of each row of `members` into `cells`, 0 for none.

    The directed graph is in compressed rows, with distinct targets ascending in each row, and the kind of each entry;
    shapes are (N, x) and (N, x * x).
    """
    count, x = members.shape
    for i in range(count):
        for a in range(x):
            low, end = indptr[members[i, a]], indptr[members[i, a] + 1]
            for b in range(x):
                wanted = members[i, b]
                start, stop = low, end
                while stop - start > 8:
                    middle = (start + stop) >> 1
                    if target[middle] < wanted:
                        start = middle + 1
                    else:
                        stop = middle
                while start < end and target[start] < wanted:  # few steps, with predictable branches
                    start += 1
                cells[i, a * x + b] = kind[start] if start < end and target[start] == wanted else 0
