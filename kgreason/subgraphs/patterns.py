"""Classes of KG-isomorphic subgraphs: ground and derived edges of each, brought to a canonical form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.progress import SILENT, Progress
from kgreason.subgraphs.adjacency import Ints, numbered, ordered_pairs

Members = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int64]
PairKinds = tuple[tuple[Vertices, Vertices], npt.NDArray[np.int64]]
LARGEST = 6
_CHUNK = 1 << 18


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


def classify(
    graph: KnowledgeGraph, program: CheckedProgram, members: Members, progress: Progress = SILENT
) -> Classes:
    """Partition subgraphs by KG-isomorphism under the rules of `program`.

    Two subgraphs are isomorphic if a bijection preserves for every ordered pair of vertices (a vertex with
    itself included) the number of ground edges of each relation and whether each predicate of
    ``program.derived`` holds in Σ(G[X]).

    Parameters
    ----------
    members
        int64, shape (N, x) with x <= 6.
    progress
        Is advanced by subgraphs.

    References
    ----------
    docs/anonymization.md, "KG-isomorphism".
    """
    from kgreason.graph.facts import InducedReasoner

    x = members.shape[1]
    if x > LARGEST:
        raise ValueError(f"canonical forms are for at most {LARGEST} vertices, not {x}")
    pairs = pair_kinds(graph)
    reasoner = InducedReasoner(graph, program) if program.derived else None
    situations, codes, met = [], [], 0
    for start in range(0, len(members), _CHUNK):
        chunk = members[start : start + _CHUNK]
        cells = cells_between(pairs, chunk)
        if reasoner:
            for derived in np.moveaxis(reasoner.derived(chunk), 1, 0):
                cells *= 2
                cells += derived
        first, number = distinct_rows(cells.reshape(len(chunk), -1))
        situations.append(cells[first])
        codes.append(number + met)
        met += len(first)
        progress.advance(len(chunk))
    if not codes:
        return Classes(np.empty(0, dtype=np.int64), members, 0)
    first, merged = distinct_rows(np.concatenate(situations).reshape(met, x * x))
    forms = Forms(x)
    classes, orders = forms.number(np.concatenate(situations)[first])
    which = merged[np.concatenate(codes)]
    return Classes(classes[which], np.take_along_axis(members, orders[which], axis=1), len(forms))


def cells_between(pairs: PairKinds, members: Members) -> Cells:
    """Number the kinds of ordered pairs by how many edges of each relation they have.

    Returns
    -------
    int64, shape (N, x, x); 0 where there is no edge. Equal numbers mean equal counts in every relation.

    Examples
    --------
    >>> graph = KnowledgeGraph.from_edges([("a", "b", 0.1), ("a", "b", 0.2), ("b", "a", 0.5)])
    >>> cells_between(pair_kinds(graph), np.array([[0, 1]])).tolist()
    [[[0, 2], [1, 0]]]
    """
    from kgreason.subgraphs.census_kernels import pair_cells

    cells = np.empty((*members.shape, members.shape[1]), dtype=np.int64)
    rows, kinds = pairs
    pair_cells(*rows, kinds, np.ascontiguousarray(members), cells)
    return cells


def pair_kinds(graph: KnowledgeGraph) -> PairKinds:
    """Compressed rows of the ordered pairs with an edge, and the kind of each, numbered from 1."""
    keys, kinds = ordered_pairs(graph)
    indptr = np.searchsorted(keys, np.arange(graph.n + 1) * graph.n).astype(np.int64)
    return (indptr, keys % max(graph.n, 1)), kinds


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
    number = numbered([np.zeros(len(rows), dtype=np.int64), *np.ascontiguousarray(rows.T)])
    return np.unique(number, return_index=True)[1].astype(np.int64), number


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
    rows = np.arange(count)
    forms, orders = cells.reshape(count, x * x).copy(), np.tile(np.arange(x, dtype=np.int64), (count, 1))
    for order in permutations(range(x)):
        permuted = cells[:, order][:, :, order].reshape(count, x * x)
        at = (permuted != forms).argmax(axis=1)  # the first difference decides
        less = permuted[rows, at] < forms[rows, at]
        forms[less], orders[less] = permuted[less], order
    return forms, orders


class Forms:
    """Classes of x by x matrices up to permutation of the vertices, numbered as they are met.

    Attributes
    ----------
    x
        Number of vertices.
    cells
        The canonical matrix of each class, shape (C, x, x).
    """

    def __init__(self, x: int) -> None:
        self.x = x
        self._numbers: dict[bytes, int] = {}
        self._cells: list[Ints] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def cells(self) -> Ints:
        """The canonical matrix of each class, shape (C, x, x)."""
        return np.concatenate([np.zeros((0, self.x, self.x), dtype=np.int64), *self._cells])

    def number(self, cells: Ints) -> tuple[Ints, Ints]:
        """Class of each matrix, and the order of its vertices that makes it the canonical one.

        Parameters
        ----------
        cells
            int64 >= 0, shape (D, x, x).

        Examples
        --------
        >>> forms = Forms(2)
        >>> [a.tolist() for a in forms.number(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]]))]
        [[0, 0], [[1, 0], [0, 1]]]
        """
        forms, orders = canonical(cells)
        classes = np.empty(len(cells), dtype=np.int64)
        for i, form in enumerate(forms):
            classes[i] = self._numbers.setdefault(form.tobytes(), len(self._numbers))
            if classes[i] == len(self._cells):
                self._cells.append(form.reshape(1, self.x, self.x))
        return classes, orders

    def turns(self) -> tuple[Ints, Ints]:
        """Automorphisms of each class: those of class c are ``turns[first[c]:first[c + 1]]``, the identity first."""
        cells = self.cells
        orders = np.array(list(permutations(range(self.x))), dtype=np.int64).reshape(-1, self.x)
        same = np.stack([(cells[:, o][:, :, o] == cells).all(axis=(1, 2)) for o in orders], axis=1)
        which, turn = np.nonzero(same)
        first = np.searchsorted(which, np.arange(len(cells) + 1))
        return first.astype(np.int64), orders[turn]
