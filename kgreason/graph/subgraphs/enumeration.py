"""Enumeration of all connected subgraphs as divided work, returning a selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.divided_work import Advance, divided
from kgreason.base.jit import Bytes, Ints, Rows, Shorts, kernel
from kgreason.engine.relations.hash_kernels import GOLDEN
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.graph.subgraphs.census import Census, Walk, census, tasks, too_many
from kgreason.graph.subgraphs.census_kernels import back, find, joined, opened
from kgreason.graph.subgraphs.member_pools import Pools, covered
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency
from kgreason.graph.subgraphs.patterns import Catalogue, Members

PASS, TAKE, DRAW, TEST = 0, 1, 2, 3  # action for the subgraphs of a pattern
_OPEN = 4_000_000  # approximate maximum of subgraphs of ambiguous patterns that are drawn
_ROWS = 1 << 14  # rows written by one thread before they are collected
_BLOCK, _ALL = 64, 1 << 62  # tasks between classifications of subgraphs of ambiguous patterns


def visit_all(
    catalogue: Catalogue,
    wanted: npt.NDArray[np.uint8],
    pools: Pools | None = None,
    need: int = 0,
    threshold: Ints | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Ints, Ints]:
    """Visit every subgraph and return the selected ones: vertices in visiting order, shape (N, x), and kinds.

    The order of rows depends only on the graph.

    Parameters
    ----------
    wanted
        By class: `PASS`, `TAKE`, `DRAW` or `TEST`. Classes not known before are taken.
    pools, need
        For `TEST`: subgraphs without `need` images in their pool are returned.
    threshold
        For `DRAW`, by class: approximate number drawn of 2^31 subgraphs.
    advance
        Called with the number of subgraphs visited since the last call, by any thread.
    """
    c, a, x = catalogue.census, catalogue.adjacency, catalogue.x
    known = catalogue.class_of[: len(c.nodes)].astype(np.int64)
    action = np.full(len(c.nodes), TAKE, dtype=np.uint8)
    action[: c.first] = PASS
    action[known >= 0] = wanted[known[known >= 0]]
    bound = np.full(len(c.nodes), threshold.max(initial=0) if threshold is not None else 0, dtype=np.int64)
    if threshold is not None:
        bound[known >= 0] = threshold[known[known >= 0]]
    if not (action[c.first :] != PASS).any():
        advance(c.total)
        return np.empty((0, x), dtype=np.int64), np.empty(0, dtype=np.int64)
    pools = pools or Pools.none(x, len(catalogue.forms), catalogue.graph.n)

    def select_ambiguous(members: Ints, kinds: Ints) -> tuple[Ints, Ints]:
        """Classify and select subgraphs of ambiguous patterns, as is done for others during the visit."""
        keep = np.ones(len(members), dtype=np.bool_)
        at = np.flatnonzero(catalogue.class_of[kinds] < 0)
        if len(at):
            kinds[at] = catalogue.resolve(members[at], kinds[at])
            keep[at] = _kept(catalogue, members[at], kinds[at], wanted, pools, need, threshold)
        return members[keep], kinds[keep]

    if x == 1:
        members = np.arange(catalogue.graph.n, dtype=np.int64)[:, None]
        _, rank = np.unique(a.colour, return_inverse=True)
        kinds = np.empty(len(members), dtype=np.int64)
        kinds[a.original] = c.first + rank.reshape(-1)
        members, kinds = select_ambiguous(members, kinds)
        keep = _kept(catalogue, members, kinds, wanted, pools, need, threshold)
        return members[keep], kinds[keep]
    marks, mine = catalogue.marks[a.original], pools.renumbered(a.original)
    test = (need, mine.ranks, catalogue.class_of, catalogue.orders, *mine.arrays)
    block = _BLOCK if catalogue.ambiguous else _ALL
    return _visited(a, c, action, marks, bound, test, select_ambiguous, block, advance)


def _listed(adjacency: Adjacency, found: Census) -> Ints:
    """All connected sets of x >= 2 vertices that a census has counted; shape (N, x), vertices of the graph."""
    size, x = len(found.nodes), found.x
    zeros = np.zeros(max(size, adjacency.n), dtype=np.int64)
    none = Pools.none(x)
    test = (0, none.ranks, zeros.astype(np.int32), zeros[:, None], *none.arrays)
    action = np.full(size, TAKE, dtype=np.uint8)
    return _visited(adjacency, found, action, zeros, zeros, test)[0]


def _visited(
    a: Adjacency,
    c: Census,
    action: npt.NDArray[np.uint8],
    marks: Ints,
    bound: Ints,
    test: tuple[Any, ...],
    select: Callable[[Ints, Ints], tuple[Ints, Ints]] = lambda members, kinds: (members, kinds),
    block: int = _ALL,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Ints, Ints]:
    # processed in an order that does not depend on the number of threads
    x, todo = c.x, tasks(a)
    none = np.empty((0, x + 1), dtype=np.int64)
    found = [(none[:, :x], none[:, x])]
    for start in range(0, len(todo), block):
        some = todo[start : start + block]
        work = partial(_selected, a, x, (c.slots, c.nodes, action), (marks, bound), test, some)
        parts = divided(work, len(some), c.total * len(some) / len(todo), advance)
        ordered = sorted((task for part in parts for task in part), key=lambda task: task[0])
        rows = np.concatenate([none, *(rows for _, rows in ordered)])
        found.append(select(a.original[rows[:, :x]], rows[:, x].copy()))
    return np.concatenate([m for m, _ in found]), np.concatenate([k for _, k in found])


def _selected(
    a: Adjacency,
    x: int,
    patterns: tuple[Ints, Ints, npt.NDArray[np.uint8]],
    drawn: tuple[Ints, Ints],
    test: tuple[Any, ...],
    todo: Ints,
    numbers: Iterator[int],
    advance: Advance,
) -> list[tuple[int, Ints]]:
    """Selected rows of some tasks, without tasks of which none is."""
    (slots, nodes, action), (marks, bound), (need, *arrays) = patterns, drawn, test
    walk = Walk(a, x)
    mark, counts = np.zeros(x + 1, dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    room: tuple[Any, ...] = tuple(np.zeros(s, dtype=np.int64) for s in (x, max(need, 1)))
    out = np.zeros((_ROWS, x + 1), dtype=np.int64)
    selection: tuple[Any, ...] = slots, nodes, action, counts, marks, mark, bound
    found: list[tuple[int, Ints]] = []
    for number in numbers:
        task = todo[number].copy()
        arguments: tuple[Any, ...] = task, *walk.arguments, *selection, need, *room, *arrays, out
        walk.head[:2] = task[0], 0
        counts[:] = 0
        more = 1
        while more:
            walk.head[3] = 0
            more = visit(*arguments)
            if walk.head[3]:
                found.append((number, out[: walk.head[3]].copy()))
        advance(int(counts.sum()))
    return found


def _kept(
    catalogue: Catalogue,
    members: Ints,
    kinds: Ints,
    wanted: npt.NDArray[np.uint8],
    pools: Pools,
    need: int,
    threshold: Ints | None,
) -> npt.NDArray[np.bool_]:
    """Which subgraphs are selected; those of unknown classes are, up to the size of a sample."""
    classes = catalogue.class_of[kinds].astype(np.int64)
    known = np.minimum(classes, len(wanted))
    what = np.append(wanted, TAKE if threshold is None else DRAW)[known]
    keep: npt.NDArray[np.bool_] = what == TAKE
    at = np.flatnonzero(what == DRAW)
    if len(at) and threshold is not None:
        share = min(2**31, 2**31 * _OPEN // max(catalogue.ambiguous, 1))
        bound = np.append(threshold, share)[known[at]]
        hashed = catalogue.marks[members[at]].sum(axis=1) * np.int64(GOLDEN)  # as in `visit`
        keep[at] = (hashed >> 32) & 0x7FFFFFFF < bound
    at = np.flatnonzero(what == TEST)
    if len(at):
        keep[at] = ~pools.finds(catalogue.ordered(members[at], kinds[at]), classes[at], need)
    return keep


@kernel
def visit(
    task: Ints, x: int, bits: int, low: int, indptr: Ints, neighbour: Shorts, tie: Shorts, colour: Shorts,
    head: Ints, chosen: Ints, at: Ints, end: Ints, node: Ints, joint: Ints, extension: Shorts, place: Shorts,
    slots: Ints, nodes: Rows, action: Bytes, counts: Ints,
    marks: Ints, mark: Ints, threshold: Ints,
    need: int, ordered: Ints, candidates: Ints, ranks: Shorts, class_of: Shorts, orders: Rows,
    first_turn: Ints, turns: Rows, first_member: Ints, pool: Rows, apart: Ints, width: int, taken: Ints, holders: Ints,
    out: Rows,
) -> int:  # fmt: skip
    """Visit the connected sets of x >= 2 vertices and write the selected ones.

    Parameters
    ----------
    task, x, bits, low, indptr, neighbour, tie, colour, head, chosen, at, end, node, joint, extension, place
        As in `census`.
    slots, nodes
        Trie of all patterns.
    action
        By pattern: `PASS` none, `TAKE` all, `DRAW` a sample, `TEST` those not `covered`.
    counts
        Incremented by the number of subgraphs of each pattern.
    marks, mark, threshold
        Random number of each vertex; buffer for their sums; and by pattern the bound, at most 2^31: a subgraph is drawn
        if 31 mixed bits of its sum are below it.
    need .. holders
        As in `covered`.
    out
        Rows of vertices and pattern. ``head[3]`` is the number of rows written.

    Returns 0 if finished; 1 if `out` is full: then call again.
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
                            found, x, need, chosen, ordered, candidates, ranks, class_of, orders,
                            first_turn, turns, first_member, pool, apart, width, taken, holders,
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


def count_connected(graph: KnowledgeGraph, x: int, limit: int | None = None) -> int:
    """Count the vertex sets of size x whose induced subgraph is weakly connected; for `limit` see `census`.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c")])
    >>> [count_connected(path, x) for x in (1, 2, 3, 4, 5)]
    [4, 3, 2, 1, 0]
    """
    return census(Adjacency.plain(graph), x, limit).total


def connected_subgraphs(graph: KnowledgeGraph, x: int, limit: int | None = None) -> Members:
    """List the vertex sets of size x whose induced subgraph is weakly connected, each once; int64, shape (count, x).

    Raises
    ------
    AnonymizationError
        If there are more than `limit`; raised before any is listed.

    Examples
    --------
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c")])
    >>> sorted(sorted(s) for s in connected_subgraphs(path, 3).tolist())
    [[0, 1, 2], [1, 2, 3]]
    """
    adjacency = Adjacency.plain(graph)
    found = census(adjacency, x, limit)
    if limit is not None and found.total > limit:
        raise too_many(x, limit)
    return np.arange(graph.n, dtype=np.int64).reshape(-1, 1) if x == 1 else _listed(adjacency, found)


def attacked_subgraphs(graph: KnowledgeGraph, x: int, limit: int | None = None) -> list[Members]:
    """List the sets that an attacker may know: per component C the connected sets of min(x, |C|) vertices.

    There is one array for each size that occurs, ascending; sizes below x hold whole components. More than `limit` sets
    with x vertices raise `AnonymizationError`.

    References
    ----------
    docs/anonymization.md, Definition 4.1.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")], vertices=["d"])
    >>> [np.sort(members).tolist() for members in attacked_subgraphs(graph, 3)]
    [[[0]], [[1, 2, 3]]]
    """
    whole = small_components(graph, x)
    largest = connected_subgraphs(graph, x, limit)
    return [*whole, largest] if len(largest) else whole


def small_components(graph: KnowledgeGraph, x: int) -> list[Members]:
    """Components with fewer than x vertices; an array for each size, ascending."""
    _, component = graph.components()
    size_of = np.bincount(component)[component]
    by_component = np.argsort(component, kind="stable")
    sizes = np.unique(size_of[size_of < x]).tolist()
    return [by_component[size_of[by_component] == size].reshape(-1, size) for size in sizes]
