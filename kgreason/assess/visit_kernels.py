"""Compiled loops that visit connected vertex sets; each has a plain twin in ``tests/test_visits.py``.

All sets are found once, from their least vertex (ESU of Wernicke, "Efficient detection of network motifs", 2006). A
share of the work is a range of entries of the adjacency: those sets of which the least vertex and the neighbour of it
that joins first stand in the range.
"""

from __future__ import annotations

from kgreason.jit import Ints, Rows, Shorts, kernel

FREE, CHECKED, HANDED, SKIPPED = range(4)  # what is done with the sets of a pattern
DONE, OUT_FULL, TABLE_FULL = range(3)  # why `visit` returns
ROOT, DEPTH, USED, SETTLED, SEEN, LEFT = range(6)  # places in the head of `visit`
CHOSEN, NEXT, END, LIMIT, NODE = range(5)  # rows of the path of `visit`


@kernel
def slot_of(table: Ints, parent: int, value: int) -> int:
    """Where (parent, value, node) of the child of a node with a value stands in the table of nodes, or would stand."""
    h = (parent * -7046029254386353131 ^ value) * -4417276706812531889
    mask = (len(table) >> 2) - 1
    slot = (h ^ h >> 32) & mask
    while table[4 * slot + 2] >= 0 and (table[4 * slot] != parent or table[4 * slot + 1] != value):
        slot = (slot + 1) & mask
    return 4 * slot


@kernel
def add_node(table: Ints, nodes: Rows, parent: int, value: int, used: int) -> int:
    """Number the child of a node with a value, `used` if it is new; ``nodes[i]`` is the parent and value of node i."""
    slot = slot_of(table, parent, value)
    if table[slot + 2] < 0:
        table[slot] = parent
        table[slot + 1] = value
        table[slot + 2] = used
        nodes[used, 0] = parent
        nodes[used, 1] = value
    return int(table[slot + 2])


@kernel
def add_nodes(table: Ints, nodes: Rows, used: int, others: Rows, begin: int, stop: int, numbers: Ints) -> int:
    """Add nodes ``others[begin:stop]`` of a tree that has the nodes before `begin` in common.

    ``numbers[i]`` becomes the number of the other tree's node i. Returns how many nodes there are then.
    """
    for i in range(begin, stop):
        parent = others[i, 0]
        if parent >= 0:
            parent = numbers[parent]
        numbers[i] = add_node(table, nodes, parent, others[i, 1], used)
        if numbers[i] == used:
            used += 1
    return used


@kernel
def apart(rows: Rows, row: int, others: Rows, begin: int, traits: Rows) -> bool:
    """Whether a row and ``others[begin]`` share no vertex and, position by position, no trait."""
    size = rows.shape[1]
    for p in range(size):
        u = rows[row, p]
        v = others[begin, p]
        if traits[u, 0] == traits[v, 0] or traits[u, 1] == traits[v, 1] or traits[u, 2] == traits[v, 2]:
            return False
    for p in range(size):
        for q in range(size):
            if rows[row, p] == others[begin, q]:
                return False
    return True


@kernel
def stands(
    rows: Rows, row: int, pool: int, most: int, blocks: Rows, members: Rows, need: int, traits: Rows
) -> bool:
    """Whether `need` members of one block of a pool are apart from a row.

    Block b has ``blocks[b, 0]`` of the `members`, from ``b * most`` on, all apart from each other, and is followed by
    block ``blocks[b, 1]``, or by none if that is negative. The number of the first block is that of the pool.
    """
    b = pool
    while b >= 0:
        count = blocks[b, 0]
        found = 0
        i = 0
        while found < need and found + count - i >= need:
            if apart(rows, row, members, b * most + i, traits):
                found += 1
            i += 1
        if found >= need:
            return True
        b = blocks[b, 1]
    return False


@kernel
def visit(
    indptr: Ints,
    neighbour: Shorts,
    tie: Shorts,
    first: int,
    stop: int,
    shape: Ints,
    held: Ints,
    opened: Shorts,
    head: Ints,
    path: Rows,
    table: Ints,
    nodes: Rows,
    jobs: Ints,
    pools: Ints,
    orders: Rows,
    traits: Rows,
    blocks: Rows,
    members: Rows,
    out: Rows,
    patterns: Ints,
) -> int:
    """Go on visiting the sets of a share: learn new patterns, look for images in pools, hand out what is asked for.

    Each vertex holds its kind and its ties to the chosen vertices, kept up to date as they join and leave. The
    pattern of a set is the path in a tree (nodes by parent and what the vertex that joins holds), which grows.

    Parameters
    ----------
    indptr, neighbour, tie
        For each vertex its neighbours, ascending, and its ties to them as the neighbours see them.
    first, stop
        The share.
    shape
        Bits of a tie, bits of a kind, bits of `held` that are set if a chosen vertex is adjacent, images needed, most
        members of a block.
    held, opened
        `held` is the kind of each vertex, before and after; `opened` is scratch of n + 1 numbers.
    head, path
        State between calls: where the walk stands, nodes used, sets settled, sets seen, sets that may still be seen.
    table, nodes
        The tree of patterns.
    jobs, pools, orders
        For each node what to do with its sets, their pool, and the order of the chosen vertices that is canonical.
    traits
        In-degree, out-degree and label of each vertex, shape (n, 3).
    blocks, members
        The pools, as `stands` takes them.
    out, patterns
        Rows handed out, in canonical order where that is known, and their nodes; ``head[LEFT + 1]`` tells how many.

    Returns
    -------
    int
        Why it returns.
    """
    bits, low, link, need, most = shape[0], shape[1], shape[2], shape[3], shape[4]
    size = out.shape[1]
    root, depth, used = head[ROOT], head[DEPTH], head[USED]
    settled, seen, left = head[SETTLED], head[SEEN], head[LEFT]
    count = 0
    why = DONE
    while why == DONE and (depth > 0 or (root < len(indptr) - 1 and indptr[root] < stop)):
        if depth == 0:
            slot = slot_of(table, -1, held[root])
            if table[slot + 2] < 0:
                if used == len(nodes):
                    why = TABLE_FULL
                    continue
                used += 1
                add_node(table, nodes, -1, held[root], used - 1)
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
                    slot = slot_of(table, path[NODE, depth], held[u])
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
                        node = add_node(table, nodes, path[NODE, depth], held[u], used - 1)
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
                        if job == CHECKED and stands(out, count, pool, most, blocks, members, need, traits):
                            settled += 1
                        else:
                            patterns[count] = node
                            count += 1
                at += 1
                seen += 1
                left -= 1
            path[NEXT, depth] = at
            if why != DONE:
                continue
        elif at < limit and left > 0:
            w = opened[at]
            slot = slot_of(table, path[NODE, depth], held[w])
            if table[slot + 2] < 0:
                if used == len(nodes):
                    why = TABLE_FULL
                    continue
                used += 1
                add_node(table, nodes, path[NODE, depth], held[w], used - 1)
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
    head[ROOT], head[DEPTH], head[USED] = root, depth, used
    head[SETTLED], head[SEEN], head[LEFT], head[LEFT + 1] = settled, seen, left, count
    return why


@kernel
def settle(
    rows: Rows, pools: Ints, most: int, blocks: Rows, members: Rows, need: int, traits: Rows, status: Ints
) -> None:
    """Set the status of rows to 1 where `need` members of a block of their pool are apart from them."""
    for i in range(len(rows)):
        if status[i] != 1 and stands(rows, i, pools[i], most, blocks, members, need, traits):
            status[i] = 1


@kernel
def fill(
    rows: Rows,
    classes: Ints,
    turns: Rows,
    starts: Ints,
    places: Ints,
    most: int,
    blocks: Rows,
    members: Rows,
    traits: Rows,
) -> None:
    """Put rows into blocks, as they are or turned, if they are apart from all that are there.

    ``turns[starts[c]:starts[c + 1]]`` are the automorphisms of class c, and ``places[c]`` is the block.
    """
    size = rows.shape[1]
    for i in range(len(rows)):
        c = classes[i]
        b = places[c]
        for t in range(starts[c], starts[c + 1]):
            count = blocks[b, 0]
            if count == most:
                break
            place = b * most + count
            for p in range(size):
                members[place, p] = rows[i, turns[t, p]]
            free = True
            for j in range(count):
                if not apart(members, place, members, b * most + j, traits):
                    free = False
                    break
            if free:
                blocks[b, 0] += 1
                break
