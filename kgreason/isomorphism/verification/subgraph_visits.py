"""Parallel enumeration of the connected vertex sets of an adjacency, in memory independent of their number.

Each set is found once, from its smallest vertex (ESU: Wernicke, "Efficient detection of network motifs", 2006). A share
of the work is a range of adjacency entries: the sets whose smallest vertex and first joining neighbour form an entry of
the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.base.jit import Flags, Ints, Rows, Shorts, inlined, kernel
from kgreason.isomorphism.verification.release_index import Adjacency

FREE, CHECKED, HANDED, SKIPPED = range(4)  # jobs: treatment of the sets of a pattern
DONE, OUT_FULL, TABLE_FULL = range(3)  # reasons why `_visit` returns
PART, ROOT, DEPTH, USED, SETTLED, VISITED, LEFT, COUNT = range(8)  # indices in the head of `_visit`
CHOSEN, NEXT, END, LIMIT, NODE = range(5)  # rows of the path of `_visit`
Share = tuple[int, int]
Handler = Callable[[Ints, Ints], None]
ROWS = 1 << 14  # rows output at once
SHARES = 256  # shares of about equal work, into which an enumeration is divided
AT_ONCE = 64  # most shares that one call visits
TASKS = 64  # groups of shares for the cores, each of which takes one after the other
NODES = 1 << 10  # capacity of a new tree of patterns
ENDLESS = 1 << 62


@inlined
def _slot_of(table: Ints, parent: int, value: int) -> int:
    """Slot in the table of nodes of (parent, value, node), the child of a node with a value, present or not."""
    h = (parent * -7046029254386353131 ^ value) * -4417276706812531889
    mask = (len(table) >> 2) - 1
    slot = (h ^ h >> 32) & mask
    while table[4 * slot + 2] >= 0 and (table[4 * slot] != parent or table[4 * slot + 1] != value):
        slot = (slot + 1) & mask
    return 4 * slot


@inlined
def _add_node(table: Ints, nodes: Rows, parent: int, value: int, used: int) -> int:
    """Number of the child of a node with a value, `used` if new; ``nodes[i]`` is the parent and value of node i."""
    slot = _slot_of(table, parent, value)
    if table[slot + 2] < 0:
        table[slot] = parent
        table[slot + 1] = value
        table[slot + 2] = used
        nodes[used, 0] = parent
        nodes[used, 1] = value
    return int(table[slot + 2])


@kernel
def _add_nodes(
    table: Ints, nodes: Rows, used: int, others: Rows, begin: int, stop: int, numbers: Ints
) -> int:
    """Add nodes ``others[begin:stop]`` of a tree that shares all earlier nodes; `numbers` receives their numbers."""
    for i in range(begin, stop):
        parent = others[i, 0]
        if parent >= 0:
            parent = numbers[parent]
        numbers[i] = _add_node(table, nodes, parent, others[i, 1], used)
        if numbers[i] == used:
            used += 1
    return used


@inlined
def _apart(rows: Rows, row: int, others: Rows, begin: int, traits: Rows) -> bool:
    """Whether a row and ``others[begin]`` share no vertex and no trait at any position."""
    size = rows.shape[1]
    mine, theirs = 0, 0  # bits of the remainders of the vertices
    for p in range(size):
        u = rows[row, p]
        v = others[begin, p]
        for t in range(traits.shape[1]):
            if traits[u, t] == traits[v, t]:
                return False
        mine |= 1 << (u & 63)
        theirs |= 1 << (v & 63)
    if mine & theirs == 0:
        return True
    for p in range(size):
        for q in range(size):
            if rows[row, p] == others[begin, q]:
                return False
    return True


@inlined
def _has_images(
    rows: Rows, row: int, pool: int, most: int, blocks: Rows, members: Rows, need: int, traits: Rows
) -> bool:
    """Whether `need` members of one block of a pool are apart from a row.

    Block b has ``blocks[b, 0]`` of the `members`, from ``b * most`` on, all pairwise apart, and is followed by block
    ``blocks[b, 1]``, or by none if that is negative. A pool has the number of its first block.
    """
    b = pool
    while b >= 0:
        count = blocks[b, 0]
        found = 0
        i = 0
        while found < need and found + count - i >= need:
            if _apart(rows, row, members, b * most + i, traits):
                found += 1
            i += 1
        if found >= need:
            return True
        b = blocks[b, 1]
    return False


@kernel
def _visit(
    indptr: Ints, neighbour: Shorts, tie: Shorts, parts: Rows, quota: int, shape: Ints, held: Ints, opened: Shorts,
    head: Ints, path: Rows, table: Ints, nodes: Rows, jobs: Ints, pools: Ints, orders: Rows, traits: Rows,
    blocks: Rows, members: Rows, out: Rows, patterns: Ints,
) -> int:  # fmt: skip
    """Continue the enumeration of shares: learn new patterns, look up images in pools, output requested sets."""
    # A row of `parts` is a share with its first root; at most `quota` sets of each are visited.
    # Each vertex holds its kind and its ties to the chosen vertices, updated as these join and leave (`held`; its
    # bits `link` are set if a chosen vertex is adjacent). The pattern of a set is a path in a growing tree (`nodes`
    # by parent and the value that the joining vertex holds, numbered by `table`). For each node, `jobs` is the
    # treatment of its sets, `pools` their pool, and `orders` the canonical order of the chosen vertices. `head` and
    # `path` are the state between calls. Output: rows, in canonical order where known, to `out`, their nodes to
    # `patterns`, and their number to ``head[COUNT]``. Returns the reason why it returns.
    bits, low, link, need, most = shape[0], shape[1], shape[2], shape[3], shape[4]
    size = out.shape[1]
    part, root, depth, used = head[PART], head[ROOT], head[DEPTH], head[USED]
    settled, visited, left = head[SETTLED], head[VISITED], head[LEFT]
    count = 0
    why = DONE
    while why == DONE and (depth > 0 or part < len(parts)):
        if depth == 0:
            if root == len(indptr) - 1 or indptr[root] >= parts[part, 1]:
                part += 1
                left = quota
                if part < len(parts):
                    root = parts[part, 2]
                continue
            first, stop = parts[part, 0], parts[part, 1]
            slot = _slot_of(table, -1, held[root])
            if table[slot + 2] < 0:
                if used == len(nodes):
                    why = TABLE_FULL
                    continue
                used += 1
                _add_node(table, nodes, -1, held[root], used - 1)
            node = table[slot + 2]
            path[NEXT, 1] = 0
            path[LIMIT, 1] = 0
            high = 0
            e = indptr[root + 1] - 1
            if jobs[node] == SKIPPED or e < first:
                root += 1
                continue
            while e >= indptr[root] and neighbour[e] > root:
                u = neighbour[e]
                held[u] |= tie[e] << low
                if held[u] & link:
                    opened[high] = u
                    high += 1
                    if e >= stop:
                        path[NEXT, 1] = high
                    if e >= first:
                        path[LIMIT, 1] = high
                e -= 1
            path[CHOSEN, 0] = root
            path[END, 1] = high
            path[NODE, 1] = node
            depth = 1
        at, limit = path[NEXT, depth], path[LIMIT, depth]
        if depth == size - 1:
            last = -1
            node = 0
            job = FREE
            while at < limit and left > 0:
                u = opened[at]
                if held[u] != last:
                    slot = _slot_of(table, path[NODE, depth], held[u])
                    node = table[slot + 2]
                    job = jobs[node] if node >= 0 else HANDED
                    last = held[u]
                if job == FREE:
                    settled += 1
                elif job != SKIPPED:
                    if count == len(out):
                        why = OUT_FULL
                        break
                    if node < 0:
                        if used == len(nodes):
                            why = TABLE_FULL
                            break
                        used += 1
                        node = _add_node(table, nodes, path[NODE, depth], held[u], used - 1)
                        job = jobs[node]
                        settled += 1
                        for p in range(depth):
                            out[count, p] = path[CHOSEN, p]
                        out[count, depth] = u
                        patterns[count] = node
                        count += 1
                    else:
                        for p in range(size):
                            q = orders[node, p]
                            out[count, p] = u if q == depth else path[CHOSEN, q]
                        pool = pools[node]
                        if job == CHECKED and _has_images(
                            out, count, pool, most, blocks, members, need, traits
                        ):
                            settled += 1
                        else:
                            patterns[count] = node
                            count += 1
                at += 1
                visited += 1
                left -= 1
            path[NEXT, depth] = at
            if why != DONE:
                continue
        elif at < limit and left > 0:
            w = opened[at]
            slot = _slot_of(table, path[NODE, depth], held[w])
            if table[slot + 2] < 0:
                if used == len(nodes):
                    why = TABLE_FULL
                    continue
                used += 1
                _add_node(table, nodes, path[NODE, depth], held[w], used - 1)
            path[NEXT, depth] = at + 1
            if jobs[table[slot + 2]] == SKIPPED:
                continue
            path[CHOSEN, depth] = w
            high = path[END, depth]
            e = indptr[w + 1] - 1
            shift = low + bits * depth
            while e >= indptr[w] and neighbour[e] > root:
                u = neighbour[e]
                if held[u] & link == 0:
                    held[u] |= tie[e] << shift
                    if held[u] & link:
                        opened[high] = u
                        high += 1
                else:
                    held[u] |= tie[e] << shift
                e -= 1
            depth += 1
            path[NEXT, depth] = at + 1
            path[END, depth] = high
            path[LIMIT, depth] = high
            path[NODE, depth] = table[slot + 2]
            continue
        depth -= 1
        w = path[CHOSEN, depth]
        keep = (1 << (low + bits * depth)) - 1
        e = indptr[w + 1] - 1
        while e >= indptr[w] and neighbour[e] > root:
            held[neighbour[e]] &= keep
            e -= 1
        if depth == 0:
            root += 1
            if left <= 0:
                root = len(indptr) - 1
    head[PART], head[ROOT], head[DEPTH], head[USED] = part, root, depth, used
    head[SETTLED], head[VISITED], head[LEFT], head[COUNT] = settled, visited, left, count
    return why


@kernel
def settle(
    rows: Rows, pools: Ints, most: int, blocks: Rows, members: Rows, need: int, traits: Rows, found: Flags
) -> None:
    """Whether `need` members of a block of their pool are apart from rows."""
    for i in range(len(rows)):
        found[i] = _has_images(rows, i, pools[i], most, blocks, members, need, traits)


@kernel
def fill(
    rows: Rows, classes: Ints, turns: Rows, starts: Ints, last: Ints, most: int, blocks: Rows, members: Rows,
    traits: Rows,
) -> None:  # fmt: skip
    """Put rows, possibly permuted by an automorphism, into blocks if they are apart from all members there.

    ``turns[starts[c]:starts[c + 1]]`` are the automorphisms of class c, and ``last[c]`` is its block.
    """
    size = rows.shape[1]
    for i in range(len(rows)):
        c = classes[i]
        b = last[c]
        for t in range(starts[c], starts[c + 1]):
            count = blocks[b, 0]
            if count == most:
                break
            place = b * most + count
            for p in range(size):
                members[place, p] = rows[i, turns[t, p]]
            free = True
            for j in range(count):
                if not _apart(members, place, members, b * most + j, traits):
                    free = False
                    break
            if free:
                blocks[b, 0] += 1
                break


def work_of(adjacency: Adjacency, size: int) -> npt.NDArray[np.float64]:
    """Approximate number of sets per entry, a root v and a neighbour u: (deg u + deg v)^(size - 2)."""
    degree, u = np.diff(adjacency.indptr), adjacency.neighbour
    source = np.repeat(np.arange(len(degree)), degree)
    return np.where(u > source, (degree[u] + degree[source]).astype(np.float64) ** (size - 2), 0)


def steps_of(adjacency: Adjacency, size: int, parts: Sequence[Share]) -> float:
    """Approximate number of sets of some shares."""
    done = np.concatenate([[0.0], np.cumsum(work_of(adjacency, size))])
    ends = np.array(parts, dtype=np.int64).reshape(-1, 2)
    return float((done[ends[:, 1]] - done[ends[:, 0]]).sum())


def shares(adjacency: Adjacency, size: int, count: int) -> list[Share]:
    """Divide all entries into ranges of about equal work."""
    m = len(adjacency.neighbour)
    if not m:
        return []
    done = np.cumsum(work_of(adjacency, size) + 1)
    cuts = np.searchsorted(done, done[-1] * np.arange(1, count) / count)
    cuts = np.unique(np.concatenate([[0], cuts, [m]]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def with_roots(adjacency: Adjacency, parts: Sequence[Share]) -> Rows:
    """Shares, each with its first root, shape (shares, 3)."""
    ends = np.array(parts, dtype=np.int64).reshape(-1, 2)
    return np.column_stack([ends, adjacency.indptr.searchsorted(ends[:, 0], side="right") - 1])


def grouped(parts: Sequence[Share], tasks: int = TASKS) -> list[Sequence[Share]]:
    """Divide shares into those that one call of a walker visits, where possible into a number of tasks."""
    step = min(AT_ONCE, len(parts) // tasks + 1)
    return [parts[i : i + step] for i in range(0, len(parts), step)]


def longer(array: Ints, length: int, value: int = 0) -> Ints:
    """Array with at least `length` rows, new ones filled with a value."""
    if length <= len(array):
        return array
    return np.concatenate([array, np.full((length - len(array), *array.shape[1:]), value)])


class Tree:
    """Patterns of vertex sets, as paths of the values that vertices hold when they join."""

    def __init__(self) -> None:
        self.used = 0  # nodes
        self.nodes = np.zeros((NODES, 2), dtype=np.int64)  # parent and value of each node
        self.table = _empty(NODES)  # hash table of the node numbers by parent and value

    def copy(self) -> Tree:
        """Return an independent copy."""
        other = Tree()
        other.used, other.nodes, other.table = self.used, self.nodes.copy(), self.table.copy()
        return other

    def reserve(self, count: int) -> None:
        """Allocate room for `count` nodes."""
        if count <= len(self.nodes):
            return
        old = self.nodes[: self.used]
        self.nodes = np.zeros((1 << (count - 1).bit_length(), 2), dtype=np.int64)
        self.table = _empty(len(self.nodes))
        _add_nodes(self.table, self.nodes, 0, old, 0, self.used, np.empty(self.used, dtype=np.int64))

    def merge(self, other: Tree, begin: int) -> Ints:
        """Add the nodes of a tree that shares the nodes before `begin`; returns their numbers here."""
        numbers = np.arange(other.used)
        self.reserve(self.used + other.used - begin)
        self.used = _add_nodes(self.table, self.nodes, self.used, other.nodes, begin, other.used, numbers)
        return numbers

    def paths(self, leaves: Ints, size: int) -> Ints:
        """Values that vertices hold on the path to each leaf, shape (N, size)."""
        held = np.empty((len(leaves), size), dtype=np.int64)
        at = leaves
        for depth in range(size - 1, -1, -1):
            held[:, depth] = self.nodes[at, 1]
            at = self.nodes[at, 0]
        return held


def _empty(nodes: int) -> Ints:
    return np.full(8 * nodes, -1, dtype=np.int64)  # four numbers per slot, load at most one half


@dataclass
class Orders:
    """Treatment of the sets of each pattern, that is, node of the tree."""

    jobs: Ints  # `FREE`, `CHECKED`, `HANDED` or `SKIPPED`
    pools: Ints
    canonical: Ints  # canonical order of the chosen vertices, shape (nodes, x)
    need: int = 1  # number of images
    most: int = 0  # members of a block of a pool
    blocks: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))
    # as numbers of the adjacency
    members: Ints = field(default_factory=lambda: np.zeros((1, 1), dtype=np.int64))

    @classmethod
    def learning(cls, nodes: int, size: int) -> Orders:
        """Orders that only learn patterns."""
        zeros = np.zeros(nodes, dtype=np.int64)
        return cls(zeros, zeros, np.zeros((nodes, size), dtype=np.int64))


class Walker:
    """Sequential visitor of shares, with a pattern tree of its own if patterns may be new."""

    def __init__(self, adjacency: Adjacency, traits: Ints, size: int, tree: Tree) -> None:
        self._adjacency, self._traits, self._size, self.tree = adjacency, traits, size, tree
        n = len(adjacency.vertices)
        self._held = adjacency.kinds.copy()
        self._opened = np.empty(n + 1, dtype=np.int32)
        self._head = np.zeros(8, dtype=np.int64)
        self._path = np.zeros((5, size + 1), dtype=np.int64)
        self._out = np.empty((ROWS, size), dtype=np.int64)
        self._patterns = np.empty(ROWS, dtype=np.int64)

    def gather(
        self, parts: Sequence[Share], orders: Orders, quota: int = ENDLESS
    ) -> tuple[list[tuple[Ints, Ints]], int, int]:
        """Visit shares; return the output rows with their patterns, and the numbers of sets settled and visited."""
        found: list[tuple[Ints, Ints]] = []
        numbers = self.walk(parts, orders, lambda rows, nodes: found.append((rows, nodes.copy())), quota)
        return found, *numbers

    def walk(
        self, parts: Sequence[Share], orders: Orders, handler: Handler, quota: int = ENDLESS
    ) -> tuple[int, int]:
        """Visit shares, at most `quota` sets of each; pass rows to the handler; return numbers settled and visited."""
        a, tree, head = self._adjacency, self.tree, self._head
        begins = with_roots(a, parts)
        head[:] = 0
        head[ROOT], head[LEFT] = begins[0, 2] if len(parts) else 0, quota
        shape = np.array([a.bits, a.low, a.link(self._size), orders.need, orders.most], dtype=np.int64)
        while True:
            head[USED] = tree.used
            why = _visit(
                *(a.indptr, a.neighbour, a.tie, begins, quota, shape),
                *(self._held, self._opened, head, self._path),
                *(tree.table, tree.nodes, orders.jobs, orders.pools, orders.canonical, self._traits),
                *(orders.blocks, orders.members, self._out, self._patterns),
            )
            tree.used = int(head[USED])
            if count := int(head[COUNT]):
                handler(a.vertices[self._out[:count]], self._patterns[:count])
            if why == DONE:
                return int(head[SETTLED]), int(head[VISITED])
            if why == TABLE_FULL:
                tree.reserve(2 * len(tree.nodes))
                orders.jobs = longer(orders.jobs, len(tree.nodes))
                orders.pools = longer(orders.pools, len(tree.nodes))
                orders.canonical = longer(orders.canonical, len(tree.nodes))
