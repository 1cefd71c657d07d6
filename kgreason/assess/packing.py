"""Whether some of many sets of tokens are pairwise disjoint: the hard rest of the search for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]
BLOCK = 64  # sets compared with all others at once
CALL = 1 << 14  # comparisons that take as long as one more call of `packs`


def placements(target: Ints, members: Ints, turns: Ints, traits: Ints) -> Ints:
    """List the placements of members that are apart from a target.

    Parameters
    ----------
    target
        Vertices in canonical order, shape (x,).
    members, turns
        Members of its class, shape (M, x), and the automorphisms of the class, shape (F, x).
    traits
        In-degree, out-degree and label number of each vertex, shape (n, 3).

    Returns
    -------
    ndarray
        int64 (P, x): position by position, they differ from the target in all traits and share no vertex with it.
    """
    found = [members[:0]]
    for turn in turns:
        placed = members[:, turn]
        apart = (traits[placed] != traits[target][None]).all(axis=(1, 2))
        found.append(placed[apart & ~np.isin(placed, target).any(axis=1)])
    return np.concatenate(found)


def tokens(placed: Ints, traits: Ints) -> csr_array[Any]:
    """What each placement takes up: its vertices, and at each position an in-degree, an out-degree and a label.

    Two placements are apart if and only if they have no token in common.

    Returns
    -------
    csr_array
        Incidence of placements (rows) and tokens, int32.
    """
    from scipy.sparse import csr_array

    count, size = placed.shape
    n = len(traits)
    vertices = placed.reshape(count, size)
    place = np.arange(size * 3).reshape(1, size, 3)
    most = int(traits.max(initial=0)) + 1
    marks = n + place * most + traits[placed]
    ids = np.concatenate([vertices, marks.reshape(count, size * 3)], axis=1)
    _, dense = np.unique(ids, return_inverse=True)
    starts = np.arange(count + 1) * ids.shape[1]
    ones = np.ones(dense.size, dtype=np.int32)
    return csr_array((ones, dense.reshape(-1), starts), shape=(count, int(dense.max(initial=-1)) + 1))


def packs(sets: csr_array[Any], need: int, budget: int) -> tuple[int, int, tuple[int, ...]]:
    """Decide whether `need` of the sets are pairwise disjoint.

    At most one of them holds the most frequent token, so all but one are among the sets without it: only these
    are tried as a start, each against all others.

    Returns
    -------
    status, spent, chosen
        1 there are, 0 there are not (exact), -1 it would cost more than `budget`; the cost, in pairs compared; and
        which they are.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> sets = csr_array(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=np.int32))
    >>> packs(sets, 2, 1 << 20)[::2], packs(sets, 3, 1 << 20)[0]
    ((1, (0, 2)), 0)
    """
    count = sets.shape[0]
    if need <= 1 or count < need:
        return (1, 0, tuple(range(need))) if count >= need else (0, 0, ())
    commonest = int(np.asarray(sets.sum(axis=0)).argmax())
    without = np.flatnonzero(sets[:, [commonest]].toarray().reshape(-1) == 0)
    spent = CALL
    for begin in range(0, len(without), BLOCK):
        starts = without[begin : begin + BLOCK]
        spent += len(starts) * count
        if spent > budget:
            return -1, spent, ()
        disjoint = (sets @ sets[starts].T).toarray() == 0
        if need == 2 and disjoint.any():
            other, column = np.argwhere(disjoint)[0]
            return 1, spent, (int(other), int(starts[column]))
        if need > 2:
            for column in range(len(starts)):
                others = np.flatnonzero(disjoint[:, column])
                status, more, found = packs(sets[others], need - 1, budget - spent)
                spent += more
                if status or spent > budget:
                    chosen = (*others[list(found)].tolist(), int(starts[column])) if found else ()
                    return status or -1, spent, chosen
    return 0, spent, ()
