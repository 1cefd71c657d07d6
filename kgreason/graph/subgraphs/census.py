"""Census of the patterns of connected subgraphs: the number of subgraphs of each pattern, without storing them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kgreason.base.divided_work import Advance, divided
from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.sorted_keys import row_numbers
from kgreason.graph.subgraphs import census_kernels as kernels
from kgreason.graph.subgraphs.ordered_adjacency import Adjacency, Ints

_TASKS = 2_048  # approximate number of tasks
_PIECES = 64  # maximum per hub
_ALL = np.iinfo(np.int64).max
_PATTERNS, _VALUES = 1 << 10, 1 << 8  # initial capacities


def tasks(adjacency: Adjacency) -> Ints:
    """Split the search into ranges of roots, and the search from a hub into ranges of its extensions.

    Returns start and stop of the roots, and start and stop of the extensions at depth one; int64, shape (tasks, 4).

    Examples
    --------
    >>> from kgreason.graph.knowledge_graph import KnowledgeGraph
    >>> star = KnowledgeGraph.from_edges([("hub", str(i)) for i in range(300)])
    >>> found = tasks(Adjacency.plain(star))
    >>> found[[0, 1]].tolist(), found[-1, 1].tolist()
    ([[0, 1, 0, 64], [0, 1, 64, 128]], 301)
    """
    n, greater = adjacency.n, adjacency.greater
    share = max(64, int(greater.sum()) // _TASKS)
    found: list[tuple[int, int, int, int]] = []
    hubs = np.flatnonzero(greater > share)
    start = 0
    for hub in (*hubs.tolist(), n):
        if start < hub:
            number = (np.cumsum(greater[start:hub] + 1) - 1) // (2 * share)
            bounds = start + np.flatnonzero(np.diff(number, prepend=-1))
            found += [
                (a, b, 0, _ALL) for a, b in zip(bounds.tolist(), [*bounds[1:].tolist(), hub], strict=True)
            ]
        if hub < n:
            size = int(greater[hub])
            step = max(share, -(-size // _PIECES))
            found += [(hub, hub + 1, i, i + step) for i in range(0, size, step)]
        start = hub + 1
    return np.array(found, dtype=np.int64).reshape(-1, 4)


@record(eq=False)
class Census:
    """Patterns of the connected sets of x vertices: equal colours and ties, vertex by vertex."""

    x: int
    slots: Ints  # hash table of the nodes of a trie of the patterns of 0 .. x vertices
    nodes: Ints  # parent and value of each node
    first: int  # first node that is a complete pattern; there are P of them
    counts: Ints  # subgraphs of each pattern, shape (P,)
    examples: Ints  # one subgraph of each pattern, shape (P, x), vertices of the graph

    @property
    def total(self) -> int:
        """Number of subgraphs."""
        return int(self.counts.sum())


@dataclass(eq=False)
class _Trie:
    """Trie of the patterns met by one thread."""

    x: int
    slots: Ints = field(default_factory=lambda: np.zeros(2 * _PATTERNS, dtype=np.int64))
    nodes: Ints = field(default_factory=lambda: np.zeros((_PATTERNS, 2), dtype=np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(_PATTERNS, dtype=np.int64))
    used: int = 0

    def __post_init__(self) -> None:
        self.examples = np.zeros((len(self.nodes), self.x), dtype=np.int64)

    def grow(self) -> None:
        """Grow the capacity fourfold."""
        more = 3 * len(self.nodes)
        self.nodes = np.concatenate([self.nodes, np.zeros((more, 2), dtype=np.int64)])
        self.counts = np.concatenate([self.counts, np.zeros(more, dtype=np.int64)])
        self.examples = np.concatenate([self.examples, np.zeros((more, self.x), dtype=np.int64)])
        self.slots = np.zeros(2 * len(self.nodes), dtype=np.int64)
        kernels.placed(self.nodes, self.used, self.slots)


@dataclass(eq=False)
class Walk:
    """Search state of one thread."""

    adjacency: Adjacency
    x: int

    def __post_init__(self) -> None:
        n = self.adjacency.n
        self.head = np.zeros(4, dtype=np.int64)
        self.frames = tuple(np.zeros(self.x + 1, dtype=np.int64) for _ in range(4))
        self.joint = np.zeros(n, dtype=np.int64)
        self.extension = np.zeros(n + 1, dtype=np.int32)
        self.place = np.zeros(n, dtype=np.int32)
        self.allocate(_VALUES)

    def allocate(self, size: int) -> None:
        """Allocate the value tables of `census`, from `kind` to `before`, with `size` slots (load at most one half)."""
        kinds = np.int64, np.int32, np.int64, np.int64, np.int64, np.int64
        kind = np.zeros(self.adjacency.n + 1, dtype=np.int32)
        self.values = (kind, *(np.zeros(size, dtype=k) for k in kinds))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Search state as kernel arguments, from `x` to `place`."""
        a = self.adjacency
        graph = self.x, a.bits, a.low, a.indptr, a.neighbour, a.tie, a.colour
        return *graph, self.head, *self.frames, self.joint, self.extension, self.place


def census(adjacency: Adjacency, x: int, limit: int | None = None) -> Census:
    """Count the connected sets of x vertices, 1 to 6, by pattern, as `divided` work.

    Parameters
    ----------
    limit
        Stop soon after the count exceeds it; the total is then only known to be greater.

    Raises
    ------
    AnonymizationError
        If the numbers of x - 1 ties and of a colour do not fit into a word.

    Examples
    --------
    >>> from kgreason.graph.knowledge_graph import KnowledgeGraph
    >>> path = KnowledgeGraph.from_edges([("a", "b"), ("b", "c"), ("d", "c")])
    >>> [census(Adjacency.of(path), x).total for x in (1, 2, 3, 4, 5)]
    [4, 3, 2, 1, 0]
    """
    if x < 1:
        raise ValueError(f"x must be at least 1, not {x}")
    if not adjacency.fits(x):
        raise AnonymizationError(
            f"the graph has too many kinds of parallel edges and loops to distinguish subgraphs of {x} vertices",
            hint="choose a smaller x, or KLONE, which protects every x",
        )
    if x <= 2:
        return _merged(x, [_small(adjacency, x)], adjacency)
    todo = tasks(adjacency) if adjacency.n >= x else np.empty((0, 4), dtype=np.int64)
    work = partial(_counted, adjacency, x, todo, _ALL if limit is None else limit, [])
    return _merged(x, divided(work, len(todo), adjacency.steps(x)), adjacency)


def _counted(
    adjacency: Adjacency, x: int, todo: Ints, limit: int, met: list[int], numbers: Iterator[int], _: Advance
) -> _Trie:
    """Patterns of some tasks; `met` is shared by the threads of a process, which stop soon after the limit."""
    walk, trie = Walk(adjacency, x), _Trie(x)
    for number in numbers:
        if (left := limit - sum(met)) >= 0:
            met.append(_count(walk, trie, todo[number].copy(), left))
    return trie


def _count(walk: Walk, trie: _Trie, task: Ints, limit: int) -> int:
    walk.head[:] = task[0], 0, trie.used, 0
    status = kernels.MORE_VALUES
    while status not in (kernels.DONE, kernels.TOO_MANY):
        found: tuple[Any, ...] = trie.slots, trie.nodes, trie.counts, trie.examples, limit
        arguments: tuple[Any, ...] = task, *walk.arguments, *walk.values, *found
        status = kernels.census(*arguments)
        trie.used = int(walk.head[2])
        if status == kernels.MORE_PATTERNS:
            trie.grow()
        elif status == kernels.MORE_VALUES:
            walk.allocate(2 * len(walk.values[1]))
    if status == kernels.TOO_MANY:
        walk.joint[:] = 0
    return int(walk.head[3])


def _small(a: Adjacency, x: int) -> _Trie:
    """Patterns of single vertices or of pairs."""
    found, colour = _Trie(x), a.colour.astype(np.int64)
    members, parents, values = np.arange(a.n, dtype=np.int64)[:, None], np.zeros(a.n, dtype=np.int64), colour
    inner = np.empty(0, dtype=np.int64)
    if x == 2:
        owner = np.repeat(np.arange(a.n), np.diff(a.indptr))
        up = np.flatnonzero(a.neighbour > owner)
        members = np.stack([owner[up], a.neighbour[up].astype(np.int64)], axis=1)
        inner, number = np.unique(colour, return_inverse=True)
        parents = number.reshape(-1)[members[:, 0]] + 1
        values = colour[members[:, 1]] | a.tie[up].astype(np.int64) << a.low
    _, first, counts = np.unique(row_numbers([parents, values]), return_index=True, return_counts=True)
    found.used = len(inner) + len(first)
    found.nodes, found.counts, found.examples = (
        np.concatenate([np.zeros_like(rows, shape=(len(inner) + 1, *rows.shape[1:])), rows])
        for rows in (np.stack([parents, values], axis=1)[first], counts.astype(np.int64), members[first])
    )
    found.nodes[1 : len(inner) + 1, 1] = inner
    return found


def _merged(x: int, tries: Sequence[_Trie], adjacency: Adjacency) -> Census:
    """Merge tries level by level, ordered by parent and value, independent of which thread met a pattern first."""
    tries = [t for t in tries if t.used]
    number = [np.zeros(t.used + 1, dtype=np.int64) for t in tries]
    level = [_depths(t, x) for t in tries]
    levels, first, rows = [np.zeros((1, 2), dtype=np.int64)], 1, np.zeros((0, 2), dtype=np.int64)
    for depth in range(1, x + 1):
        at = [np.flatnonzero(found == depth) for found in level]
        parts = [
            np.stack([number[i][t.nodes[a, 0]], t.nodes[a, 1]], axis=1)
            for i, (t, a) in enumerate(zip(tries, at, strict=True))
        ]
        first += len(rows)
        met = np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
        rank = row_numbers([met[:, 0], met[:, 1]])
        rows = np.zeros((int(rank.max(initial=-1)) + 1, 2), dtype=np.int64)
        rows[rank] = met
        levels.append(rows)
        ends = np.cumsum([0, *map(len, at)])
        for i, a in enumerate(at):
            number[i][a] = first + rank[ends[i] : ends[i + 1]]
    nodes = np.concatenate(levels)
    counts, examples = np.zeros(len(rows), dtype=np.int64), np.zeros((len(rows), x), dtype=np.int64)
    for i, t in enumerate(tries):
        whole = np.flatnonzero(level[i] == x)
        counts[number[i][whole] - first] += t.counts[whole]
        examples[number[i][whole] - first] = t.examples[whole]
    slots = np.zeros(1 << (4 * len(nodes)).bit_length(), dtype=np.int64)
    kernels.placed(nodes, len(nodes) - 1, slots)
    return Census(x, slots, nodes, first, counts, adjacency.original[examples])


def _depths(trie: _Trie, x: int) -> Ints:
    """Number of vertices of each node; parents precede their children."""
    level = np.zeros(trie.used + 1, dtype=np.int64)
    parents = trie.nodes[1 : trie.used + 1, 0]
    for _ in range(x):
        level[1:] = level[parents] + 1
    return level


def too_many(x: int, limit: int) -> AnonymizationError:
    """Error for a graph with more connected subgraphs than allowed."""
    return AnonymizationError(
        f"the graph has more than {limit:,} connected subgraphs with {x} vertices",
        hint=f"choose a smaller x than {x} (KLONE protects every x, whichever is verified), "
        "or allow more with --max-subgraphs, which takes time and memory",
    )
