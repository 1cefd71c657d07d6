"""Compiled visit of every connected subgraph, one by one: which of them lack images, and samples of them."""

from __future__ import annotations

from kgreason.distinct import GOLDEN
from kgreason.jit import Bytes, Ints, Rows, Shorts, kernel
from kgreason.subgraphs.census_kernels import back, find, joined, opened

PASS, TAKE, DRAW, TEST = 0, 1, 2, 3  # what is done with the subgraphs of a pattern
_STEPS = 4_000  # of the search for images that are apart; what takes longer counts as not found


@kernel
def _met(member: Ints, other: Rows, row: int, x: int) -> bool:
    """Whether a subgraph shares a vertex with a member of a pool."""
    for a in range(x):
        for b in range(x):
            if member[a] == other[row, b]:
                return True
    return False


@kernel
def _images(
    free: int, need: int, x: int, first: int, size: int, member: Ints, pool: Rows, apart: Ints, open_: Ints
) -> bool:
    """Whether `need` of the free members of a pool are apart from each other and share no vertex with a subgraph.

    Parameters
    ----------
    free
        Bit set of members, those that differ from the subgraph in all degrees.
    first, size
        The pool is ``pool[first : first + size]``; `apart` holds for each of its members those apart from it.
    open_
        Room for `need` bit sets.
    """
    level = 0
    open_[0] = free
    i = 0
    for _ in range(_STEPS):
        rest = open_[level]
        while i < size and (rest >> i) & 1 == 0:
            i += 1
        if rest == 0 or i >= size:
            if level == 0:
                return False
            level -= 1
            i = 0
            continue
        open_[level] = rest & ~(1 << i)
        if _met(member, pool, first + i, x):
            for lower in range(level):
                open_[lower] &= ~(1 << i)
            i += 1
            continue
        if level + 1 == need:
            return True
        level += 1
        open_[level] = open_[level - 1] & apart[first + i]
        i = 0
    return False


@kernel
def covered(
    kind: int, x: int, need: int, member: Ints, ordered: Ints, open_: Ints, ranks: Shorts,
    class_of: Shorts, orders: Rows, first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows, apart: Ints,
    width: int, taken: Ints,
) -> bool:  # fmt: skip
    """Whether a subgraph finds its images in the pool of its class.

    Parameters
    ----------
    kind
        Of the subgraph; its class is ``class_of[kind]``, and ``member[orders[kind]]`` are its vertices in the
        canonical order of the class.
    ranks
        Rank of the in-degree of each vertex, then that of its out-degree, each among all distinct ones.
    first_turn, turns
        Automorphisms of each class.
    first_member, pool, apart
        Pool of each class, at most 63 members in canonical order, and the bit set of those apart from each.
    width, taken
        ``taken[(class * x + position) * width + rank]``: members that have this degree there.
    """
    c = class_of[kind]
    first = first_member[c]
    size = first_member[c + 1] - first
    if size < need:
        return False
    n = len(ranks) >> 1
    for a in range(x):
        ordered[a] = member[orders[kind, a]]
    everyone = (1 << size) - 1
    for turn in range(first_turn[c], first_turn[c + 1]):
        clash = 0
        for a in range(x):
            v = ordered[turns[turn, a]]
            at = (c * x + a) * width
            clash |= taken[at + ranks[v]] | taken[at + ranks[n + v]]
        free = everyone & ~clash
        if free != 0 and _images(free, need, x, first, size, member, pool, apart, open_):
            return True
    return False


@kernel
def visit(
    task: Ints, x: int, bits: int, low: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    head: Ints, chosen: Ints, at: Ints, end: Ints, node: Ints, joint: Ints, extension: Shorts, place: Shorts,
    slots: Ints, nodes: Rows, action: Bytes, counts: Ints,
    marks: Ints, mark: Ints, threshold: Ints,
    need: int, ordered: Ints, open_: Ints, ranks: Shorts, class_of: Shorts, orders: Rows,
    first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows, apart: Ints, width: int, taken: Ints,
    out: Rows,
) -> int:  # fmt: skip
    """Visit the connected sets of x >= 2 vertices and write those that are wanted.

    Parameters
    ----------
    task, x, bits, low, indptr, neighbour, tie, colour, head, chosen, at, end, node, joint, extension, place
        As `census` takes them.
    slots, nodes
        Trie of all patterns.
    action
        By pattern: `PASS` none, `TAKE` all, `DRAW` a sample, `TEST` those not `covered`.
    counts
        Raised by the subgraphs of each pattern.
    marks, mark, threshold
        A random number of each vertex, room for their sums, and by pattern the bound, at most 2^31, below which
        31 mixed bits of a subgraph's sum must lie for it to be drawn.
    need .. taken
        As `covered` takes them.
    out
        Rows of vertices and pattern. ``head[3]`` is the number of rows written.

    Returns
    -------
    int
        0 if all is done; 1 if `out` is full: then call again.
    """
    last = x - 1
    while head[0] < task[1]:
        root = head[0]
        depth = head[1]
        if depth == 0:
            node[1] = slots[find(0, colour[root], slots, nodes)]
            chosen[0] = root
            mark[1] = marks[root]
            end[1] = opened(root, indptr, neighbour, tie, colour, low, joint, extension, place)
            at[1] = task[2]
            depth = 1
        stop = min(end[depth], task[3]) if depth == 1 else end[depth]
        if depth == last:
            before = node[depth]
            for i in range(at[depth], stop):
                u = extension[i]
                found = slots[find(before, joint[u], slots, nodes)]
                what = action[found]
                if what != PASS:
                    chosen[last] = u
                    if what == DRAW:
                        h = (mark[depth] + marks[u]) * GOLDEN
                        wanted = (h >> 32) & 0x7FFFFFFF < threshold[found]
                    elif what == TEST:
                        wanted = not covered(
                            found, x, need, chosen, ordered, open_, ranks, class_of, orders,
                            first_turn, turns, first_member, pool, apart, width, taken,
                        )  # fmt: skip
                    else:
                        wanted = True
                    if wanted:
                        row = head[3]
                        if row == len(out):
                            head[1], at[depth] = depth, i
                            return 1
                        for a in range(x):
                            out[row, a] = chosen[a]
                        out[row, x] = found
                        head[3] = row + 1
                counts[found] += 1
        elif at[depth] < stop:
            w = extension[at[depth]]
            at[depth] += 1
            chosen[depth] = w
            mark[depth + 1] = mark[depth] + marks[w]
            node[depth + 1] = slots[find(node[depth], joint[w], slots, nodes)]
            end[depth + 1] = joined(
                root, w, low + bits * depth, end[depth], indptr, neighbour, tie, colour,
                joint, extension, place,
            )  # fmt: skip
            at[depth + 1] = at[depth]
            head[1] = depth + 1
            continue
        back(root, depth - 1, low, bits, indptr, neighbour, chosen, end, joint, extension, head)
    return 0
