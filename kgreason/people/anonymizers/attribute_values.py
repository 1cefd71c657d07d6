"""Joint numbering of the values of all attributes, their users, and their unions in clusters.

References
----------
THESIS, 4.3 (KGG); PCKGA, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.user_distances import Clusters
from kgreason.people.model import Attribute, PeopleGraph


@dataclass(frozen=True, eq=False)
class Values:
    """Users and their values 0 .. p-1, numbered attribute by attribute.

    Attributes
    ----------
    attribute
        Attribute of each value, by index; int64, shape (p,).
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

    def matrix(self) -> csr_array:
        """User-value incidence: a sparse matrix of ones, float64, shape (n, p)."""
        return csr_array((np.ones(len(self.owned)), self.owned, self.owner_start), shape=(self.n, len(self)))

    def together(self) -> npt.NDArray[np.bool_]:
        """Whether any user has both values, true on the diagonal; shape (p, p)."""
        has = self.matrix()
        found = np.eye(len(self), dtype=np.bool_)
        pairs = (has.T @ has).tocoo()
        found[pairs.row, pairs.col] = True
        return found


def all_values(graph: PeopleGraph) -> Values:
    """Values of all attributes of a graph, in the order of its attributes."""
    return Values.of(graph.n, list(graph.attributes.values()))


def _starts(of: Vertices, size: int) -> Vertices:
    """Start of each of `size` groups when the entries are sorted by group."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=size))]).astype(np.int64)


def united(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each user the values of all users of the same cluster.

    Parameters
    ----------
    clusters
        Cluster of each user, all of 0 .. c-1; int64, shape (n,).

    Returns
    -------
    Attribute
        With a domain of used values: those of removed users are dropped.

    Examples
    --------
    >>> ages = Attribute("numeric", np.array(["18", "19"]), np.array([0, 1, 2]), np.array([0, 1, 1]))
    >>> both = united(ages, np.array([0, 0, 1]))
    >>> both.user.tolist(), both.value.tolist()
    ([0, 0, 1, 1, 2], [0, 1, 0, 1, 1])
    """
    of = collected(attribute, clusters)
    count = np.bincount(of.user, minlength=int(clusters.max(initial=-1)) + 1)
    first = np.cumsum(count) - count
    each = count[clusters]
    user = np.repeat(np.arange(len(clusters)), each)
    entry = np.arange(len(user)) - np.repeat(np.cumsum(each) - each - first[clusters], each)
    return replace(of, user=user, value=of.value[entry])


def collected(attribute: Attribute, clusters: Clusters) -> Attribute:
    """Give each cluster the values of all its users; the users of the result are the clusters.

    Parameters
    ----------
    clusters
        Cluster of each user, all of 0 .. c-1; int64, shape (n,).

    Returns
    -------
    Attribute
        With a domain of used values.

    Examples
    --------
    >>> ages = Attribute("numeric", np.array(["18", "19"]), np.array([0, 1, 2]), np.array([0, 1, 1]))
    >>> both = collected(ages, np.array([0, 0, 1]))
    >>> both.user.tolist(), both.value.tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    width = max(len(attribute.domain), 1)
    pairs = np.unique(clusters[attribute.user] * width + attribute.value)
    known, value = np.unique(pairs % width, return_inverse=True)
    domain = attribute.domain[known]
    return replace(attribute, domain=domain, user=pairs // width, value=value.astype(np.int64))
