"""Values of all attributes under one numbering, and who has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph


@dataclass(frozen=True, eq=False)
class Values:
    """Who has which of the values 0 .. p-1: those of the first attribute, then those of the second, and so on.

    Attributes
    ----------
    attribute
        Attribute of each value, by its place among the given ones; int64, shape (p,).
    owner_start, owned
        Values of user u, ascending: ``owned[owner_start[u]:owner_start[u + 1]]``; int64, shapes (n + 1,) and (m,).
    value_start, holder
        Users of value t, ascending: ``holder[value_start[t]:value_start[t + 1]]``; int64, shapes (p + 1,) and (m,).
    """

    attribute: Vertices
    owner_start: Vertices
    owned: Vertices
    value_start: Vertices
    holder: Vertices

    @classmethod
    def of(cls, n: int, attributes: list[Attribute]) -> Values:
        """Number the values of some attributes of n users."""
        sizes = np.array([len(a.domain) for a in attributes], dtype=np.int64)
        offsets = np.cumsum(sizes) - sizes
        empty = np.empty(0, dtype=np.int64)
        user = np.concatenate([empty, *(a.user for a in attributes)])
        value = np.concatenate([empty, *(a.value + o for a, o in zip(attributes, offsets, strict=True))])
        by_user, by_value = np.lexsort((value, user)), np.lexsort((user, value))
        p = int(sizes.sum())
        return cls(
            np.repeat(np.arange(len(sizes)), sizes),
            _starts(user, n),
            value[by_user],
            _starts(value, p),
            user[by_value],
        )

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.owner_start) - 1

    def __len__(self) -> int:
        return len(self.attribute)

    def together(self) -> npt.NDArray[np.bool_]:
        """Whether somebody has both values, each value with itself included; shape (p, p)."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.owned), dtype=np.float32)
        has = csr_array((ones, self.owned, self.owner_start), shape=(self.n, len(self)))
        found = np.eye(len(self), dtype=np.bool_)
        pairs = (has.T @ has).tocoo()
        found[pairs.row, pairs.col] = True
        return found


def all_values(graph: PeopleGraph) -> Values:
    """Values of all attributes of a graph, in the order of its attributes."""
    return Values.of(graph.n, list(graph.attributes.values()))


def _starts(of: Vertices, size: int) -> Vertices:
    """Where the entries of each of `size` things begin once they are in order."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=size))]).astype(np.int64)
