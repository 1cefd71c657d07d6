"""Compiled enumeration of connected subgraphs by what runs between their vertices.

Subgraphs are met by Wernicke's ESU: each once, from its least vertex `root`, by extending it with greater vertices;
all levels share one array of extensions. ``joint[u]`` holds, packed, the colour of an extension u and its ties with
the vertices chosen so far; a vertex that joins puts its ties into its neighbours, and takes them out when it leaves.
The way to a subgraph, vertex by vertex, is a path in a trie: a node is the pattern of the vertices chosen so far, and
its child the pattern with one more.

The state of a search stays in arrays of the caller, who may give more room and go on.

References
----------
S. Wernicke: Efficient detection of network motifs (2006), algorithm ESU.
"""

from __future__ import annotations

from kgreason.hashing.kernels import GOLDEN
from kgreason.jit import Ints, Rows, Shorts, kernel

DONE, MORE_PATTERNS, MORE_VALUES, TOO_MANY = 0, 1, 2, 3


@kernel
def find(parent: int, value: int, slots: Ints, nodes: Rows) -> int:
    """Slot of the child of a node, or the empty one where it belongs."""
    mask = len(slots) - 1
    h = (parent * GOLDEN ^ value) * GOLDEN
    slot = (h ^ h >> 32) & mask
    while True:
        found = slots[slot]
        if found == 0 or (nodes[found, 0] == parent and nodes[found, 1] == value):
            return slot
        slot = (slot + 1) & mask


@kernel
def child(parent: int, value: int, slots: Ints, nodes: Rows, head: Ints) -> int:
    """Number of the child of a node, which is made if it is not there; the table must have room."""
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
    """Fill an empty table with the nodes 1 .. count."""
    for node in range(1, count + 1):
        slots[find(nodes[node, 0], nodes[node, 1], slots, nodes)] = node


@kernel
def opened(
    root: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts, low: int,
    joint: Ints, extension: Shorts, place: Shorts,
) -> int:  # fmt: skip
    """Make the greater neighbours of a root its extensions; returns how many there are."""
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


@kernel
def joined(
    root: int, w: int, shift: int, size: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    joint: Ints, extension: Shorts, place: Shorts,
) -> int:  # fmt: skip
    """Let w join: its neighbours learn of it, and new ones become extensions; returns how many there are now."""
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


@kernel
def left(
    root: int, w: int, shift: int, low: int, indptr: Ints, neighbour: Shorts, joint: Ints,
) -> None:  # fmt: skip
    """Let w leave: its neighbours forget it, and those that were extensions by it alone are none."""
    e = indptr[w + 1] - 1
    mask = (1 << shift) - 1
    while e >= indptr[w] and neighbour[e] > root:
        u = neighbour[e]
        rest = joint[u] & mask
        joint[u] = rest if rest >> low else 0
        e -= 1


@kernel
def back(
    root: int, depth: int, low: int, bits: int, indptr: Ints, neighbour: Shorts, chosen: Ints, end: Ints,
    joint: Ints, extension: Shorts, head: Ints,
) -> None:  # fmt: skip
    """Go back to a depth, from where the search goes on; from the root to the next one."""
    head[1] = depth
    if depth > 0:
        left(root, chosen[depth], low + bits * depth, low, indptr, neighbour, joint)
    else:
        for j in range(end[1]):
            joint[extension[j]] = 0
        head[0] += 1


@kernel
def _valued(value: int, keys: Ints, used: Shorts) -> int:
    """Place of a value in a small table, the empty one if it is not there."""
    mask = len(keys) - 1
    h = value * GOLDEN
    at = (h ^ h >> 32) & mask
    while used[at] != 0 and keys[at] != value:
        at = (at + 1) & mask
    return at


@kernel
def _last_of(
    value: int, w: int, i: int, size: int, shift: int, indptr: Ints, neighbour: Shorts,
    tie: Shorts, colour: Shorts, joint: Ints, extension: Shorts, place: Shorts,
) -> int:  # fmt: skip
    """A vertex that completes the vertices chosen, w the last of them, by this value."""
    if value >> shift != 0:  # a neighbour of w
        e = indptr[w + 1] - 1
        while True:
            u: int = neighbour[e]
            known = joint[u]
            if (known | tie[e] << shift | colour[u]) == value and (known == 0 or place[u] > i):
                return u
            e -= 1
    e, stop = indptr[w], indptr[w + 1]
    for j in range(i + 1, size):
        u = extension[j]
        if joint[u] == value:
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


@kernel
def census(
    task: Ints, x: int, bits: int, low: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    head: Ints, chosen: Ints, at: Ints, end: Ints, node: Ints, joint: Ints, extension: Shorts, place: Shorts,
    keys: Ints, used: Shorts, here: Ints, now: Ints, listed: Ints,
    slots: Ints, nodes: Rows, counts: Ints, examples: Rows, limit: int,
) -> int:  # fmt: skip
    """Count the connected sets of x >= 3 vertices by pattern, the last vertex of each not one by one.

    Vertices that complete the same x - 1 by equal ties are counted together: a histogram of the extensions' values
    is kept over all choices of the vertex before the last, and corrected at its neighbours.

    Parameters
    ----------
    task
        Roots from ``task[0]`` to ``task[1]``; of their extensions the first vertices from number ``task[2]`` to
        ``task[3]``.
    x, bits, low
        Vertices; width of a tie and of a colour.
    indptr, neighbour, tie, colour
        `Adjacency`.
    head
        Root, depth, number of nodes of the trie, and number of subgraphs counted so far.
    chosen, at, end, node
        By depth: vertex chosen, next extension, number of extensions, node.
    joint, extension, place
        By vertex: its packed ties, 0 if it is no extension; the extensions; the index of each.
    keys, used, here, now, listed
        Small table of values, all 0; its length a power of two.
    slots, nodes, counts, examples
        Trie: hash table, parent and value of each node, its subgraphs, and one of them.
    limit
        Number of subgraphs after which to stop.

    Returns
    -------
    int
        `DONE`, `TOO_MANY`, or what there must be more room for: then call again, with `head` as it is.
    """
    room = min(len(nodes) - 1, len(slots) >> 1)
    last = x - 2
    shift = low + bits * last
    while head[0] < task[1]:
        root = head[0]
        depth = head[1]
        if depth == 0:
            if head[2] + 1 > room:
                return MORE_PATTERNS
            node[1] = child(0, colour[root], slots, nodes, head)
            chosen[0] = root
            end[1] = opened(root, indptr, neighbour, tie, colour, low, joint, extension, place)
            at[1] = task[2]
            depth = 1
        if depth == last:
            size = end[depth]
            stop = min(size, task[3]) if depth == 1 else size
            many = 0
            for j in range(at[depth], size):
                slot = _valued(joint[extension[j]], keys, used)
                if used[slot] == 0:
                    if 2 * many >= len(keys):
                        head[1] = depth
                        return MORE_VALUES
                    used[slot] = 1
                    keys[slot] = joint[extension[j]]
                    listed[many] = slot
                    many += 1
                here[slot] += 1
            for i in range(at[depth], stop):
                w = extension[i]
                here[_valued(joint[w], keys, used)] -= 1
                all_ = many
                e = indptr[w + 1] - 1
                while e >= indptr[w] and neighbour[e] > root:
                    u = neighbour[e]
                    known = joint[u]
                    if known == 0 or place[u] > i:
                        if known != 0:
                            now[_valued(known, keys, used)] -= 1
                        value = known | colour[u] | tie[e] << shift
                        slot = _valued(value, keys, used)
                        if used[slot] == 0:
                            if 2 * all_ >= len(keys):
                                head[1], at[depth] = depth, i
                                return MORE_VALUES
                            used[slot] = 1
                            keys[slot] = value
                            listed[all_] = slot
                            all_ += 1
                        now[slot] += 1
                    e -= 1
                if head[2] + all_ + 1 > room:
                    head[1], at[depth] = depth, i
                    return MORE_PATTERNS
                before = child(node[depth], joint[w], slots, nodes, head)
                for q in range(all_):
                    slot = listed[q]
                    count = here[slot] + now[slot]
                    now[slot] = 0
                    if count > 0:
                        head[3] += count
                        known = head[2]
                        found = child(before, keys[slot], slots, nodes, head)
                        counts[found] += count
                        if found > known:
                            for a in range(depth):
                                examples[found, a] = chosen[a]
                            examples[found, depth] = w
                            examples[found, depth + 1] = _last_of(
                                keys[slot], w, i, size, shift, indptr, neighbour, tie, colour,
                                joint, extension, place,
                            )  # fmt: skip
                if head[3] > limit:
                    return TOO_MANY
                for q in range(many, all_):  # linear probing: what came last may go
                    used[listed[q]] = 0
            for q in range(many):
                used[listed[q]] = 0
                here[listed[q]] = 0
        elif at[depth] < (min(end[depth], task[3]) if depth == 1 else end[depth]):
            if head[2] + 1 > room:
                head[1] = depth
                return MORE_PATTERNS
            w = extension[at[depth]]
            at[depth] += 1
            chosen[depth] = w
            node[depth + 1] = child(node[depth], joint[w], slots, nodes, head)
            end[depth + 1] = joined(
                root, w, low + bits * depth, end[depth], indptr, neighbour, tie, colour,
                joint, extension, place,
            )  # fmt: skip
            at[depth + 1] = at[depth]
            head[1] = depth + 1
            continue
        back(root, depth - 1, low, bits, indptr, neighbour, chosen, end, joint, extension, head)
    return DONE
