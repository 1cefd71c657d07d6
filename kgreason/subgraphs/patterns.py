"""Classes of KG-isomorphic subgraphs: ground and derived edges of each, brought to a canonical form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.subgraphs.enumerate import Members

Cells = npt.NDArray[np.int64]
LARGEST = 6
_CHUNK = 1 << 18
_ROOM = 1 << 62


@dataclass(frozen=True, eq=False)
class Classes:
    """A partition of subgraphs of one size into classes of KG-isomorphism.

    Attributes
    ----------
    ids
        Class of each subgraph, 0 .. count-1; shape (N,).
    members
        Shape (N, x): the vertices of each subgraph in canonical order, so that for two subgraphs of one class
        position by position is an isomorphism.
    count
        Number of classes.
    """

    ids: npt.NDArray[np.int64]
    members: Members
    count: int


def classify(graph: KnowledgeGraph, program: CheckedProgram, members: Members) -> Classes:
    """Partition subgraphs by KG-isomorphism under the rules of `program`.

    Two subgraphs are isomorphic if a bijection preserves for every ordered pair of vertices (a vertex with
    itself included) the number of ground edges of each relation and whether each predicate of
    ``program.derived`` holds in Σ(G[X]).

    Parameters
    ----------
    members
        int64, shape (N, x) with x <= 6.

    References
    ----------
    ANONYMIZATION.md §2, "KG-isomorphism".
    """
    cells = ground_cells(graph, members)
    if program.derived and len(members):
        from kgreason.graph.facts import derived_within

        derived = derived_within(graph, program, members)
        for p in range(derived.shape[1]):
            cells = cells * 2 + derived[:, p]
    return classes_of(cells, members)


def classes_of(cells: Cells, members: Members) -> Classes:
    """Partition members by their cells: ``cells[i, a, b]`` tells what holds from vertex a to vertex b of i.

    Examples
    --------
    >>> cells = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]])  # an edge forth, an edge back
    >>> found = classes_of(cells, np.array([[4, 5], [6, 7]]))
    >>> found.count, found.members.tolist()
    (1, [[5, 4], [6, 7]])
    """
    count, x = members.shape
    if x > LARGEST:
        raise ValueError(f"canonical forms are for at most {LARGEST} vertices, not {x}")
    first, code = distinct_rows(cells.reshape(count, x * x))
    forms, orders = canonical(cells[first])
    _, class_of_code = distinct_rows(forms)
    ids = class_of_code[code]
    ordered = np.take_along_axis(members, orders[code], axis=1)
    return Classes(ids, ordered, int(ids.max()) + 1 if count else 0)


def ground_cells(graph: KnowledgeGraph, members: Members) -> Cells:
    """Number the kinds of ordered pairs by how many edges of each relation they have.

    Returns
    -------
    int64, shape (N, x, x); 0 where there is no edge. Equal numbers mean equal counts in every relation.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2), ("b", "a", 0.5)])
    >>> ground_cells(graph, np.array([[0, 1]])).tolist()
    [[[0, 2], [1, 0]]]
    """
    keys, kinds = _pair_kinds(graph)
    count, x = members.shape
    cells = np.zeros((count, x, x), dtype=np.int64)
    if not len(keys):
        return cells
    for start in range(0, count, _CHUNK):
        chunk = members[start : start + _CHUNK]
        wanted = chunk[:, :, None] * graph.n + chunk[:, None, :]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        cells[start : start + _CHUNK] = np.where(keys[at] == wanted, kinds[at], 0)
    return cells


def _pair_kinds(graph: KnowledgeGraph) -> tuple[Vertices, npt.NDArray[np.int64]]:
    source, target = graph.ends
    keys, at = np.unique(source * graph.n + target, return_inverse=True)
    sizes = [len(r) for r in graph.relations.values()]
    counts = np.zeros((len(keys), len(sizes)), dtype=np.int64)
    np.add.at(counts, (at, np.repeat(np.arange(len(sizes)), sizes)), 1)
    _, kinds = distinct_rows(counts)
    return keys, kinds + 1


def distinct_rows(rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the distinct rows of a matrix of non-negative integers, in lexicographic order.

    Returns
    -------
    first, number
        Index of the first row of each number; number of each row.

    Examples
    --------
    >>> [a.tolist() for a in distinct_rows(np.array([[1, 0], [0, 5], [1, 0]]))]
    [[1, 0], [1, 0, 1]]
    """
    code = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for values in rows.T if len(rows) else ():
        base = int(values.max()) + 1
        if size > _ROOM // base:  # renumber, so that the next digit fits
            found, code = np.unique(code, return_inverse=True)
            size = len(found)
        if size > _ROOM // base:
            seen, values = np.unique(values, return_inverse=True)
            base = len(seen)
        code = code * base + values
        size *= base
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.astype(np.int64)


def canonical(cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Bring matrices to a form that only depends on them up to a permutation of the vertices.

    Parameters
    ----------
    cells
        int64 >= 0, shape (D, x, x).

    Returns
    -------
    forms, orders
        Equal rows of `forms` mean isomorphic matrices; ``orders[i]`` is the permutation that gives
        the form of i.
    """
    count, x, _ = cells.shape
    _, compact = np.unique(cells, return_inverse=True)
    compact = compact.reshape(count, x, x)
    base = int(compact.max(initial=0)) + 1
    digits = max(1, int(62 / max(1.0, np.log2(base))))
    orders = np.empty((count, x), dtype=np.int64)
    best: npt.NDArray[np.int64] | None = None
    for order in permutations(range(x)):
        permuted = compact[:, order][:, :, order].reshape(count, x * x)
        words = _words(permuted, base, digits)
        less = np.ones(count, dtype=np.bool_) if best is None else _less(words, best)
        best = words if best is None else best
        best[less], orders[less] = words[less], order
    return (np.zeros((count, 1), dtype=np.int64) if best is None else best), orders


def _words(rows: npt.NDArray[np.int64], base: int, digits: int) -> npt.NDArray[np.int64]:
    parts = [rows[:, i : i + digits] for i in range(0, rows.shape[1], digits)]
    places = [base ** np.arange(p.shape[1] - 1, -1, -1, dtype=np.int64) for p in parts]
    return np.stack([p @ b for p, b in zip(parts, places, strict=True)], axis=1)


def _less(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    less = np.zeros(len(a), dtype=np.bool_)
    for word in range(a.shape[1] - 1, -1, -1):
        less = (a[:, word] < b[:, word]) | ((a[:, word] == b[:, word]) & less)
    return less
