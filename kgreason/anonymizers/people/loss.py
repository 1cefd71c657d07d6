"""How much information is lost if two users get the same attribute values and degrees, as a distance.

References
----------
THESIS, Definitions 10-17; PCKGA, Definitions 4-6, of which the last is ADM with alpha = 0.5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people.distance import Clusters, Distances
from kgreason.anonymizers.people.indicator import Indicator
from kgreason.anonymizers.people.loss_kernels import adm_pairs, adm_rows, atdm_rows
from kgreason.anonymizers.people.values import Values, all_values
from kgreason.cores import cores, each
from kgreason.errors import AnonymizationError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph

Table = npt.NDArray[np.float64]
_LIGHT = 1 << 18  # pairs of users for which another thread would take longer to start
_WHOLE = 10  # losses of a whole row that take as long as one of a pair alone


class _Loss(ABC):
    """A loss of two parts: alpha times that of attributes, and 1 - alpha times that of degrees (DM)."""

    def __init__(self, graph: PeopleGraph, alpha: float) -> None:
        if not 0 <= alpha <= 1:
            raise AnonymizationError(
                f"the share alpha of attributes in the loss must be between 0 and 1, not {alpha}",
                hint="0.5 weighs attributes and degrees alike",
            )
        self._n = graph.n
        self._degree = np.ascontiguousarray(
            np.hstack([graph.out_degrees(), graph.in_degrees()]).T, dtype=np.float64
        )
        self._degrees = self._degree.sum(axis=0)
        relations = len(graph.relations)
        self._by_degrees = (1 - alpha) / (4 * relations * graph.n) if relations and graph.n else 0.0

    @property
    def n(self) -> int:
        """Number of users."""
        return self._n

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `kgreason.anonymizers.people.distance.Distance.between`."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        columns = np.arange(self._n) if columns is None else np.ascontiguousarray(columns, dtype=np.int64)
        out = np.empty((len(rows), len(columns)), dtype=np.float32)
        parts = max(1, min(len(rows), out.size // _LIGHT, 4 * cores()))
        ends = [len(rows) * i // parts for i in range(parts + 1)]
        shares = list(pairwise(ends))
        each(lambda share: self._fill(*share, rows, columns, out), shares)
        return out

    @abstractmethod
    def _fill(self, first: int, stop: int, rows: Vertices, columns: Vertices, out: Distances) -> None:
        """Fill the rows first .. stop-1 of a block, one thread of many."""


class AttributeDegreeLoss(_Loss):
    """ADM = alpha · AM + (1 - alpha) · DM: what two users lose by taking over each other's values and degrees.

    AM is the mean over both users and all attributes. A categorical attribute costs a user the values that are new to
    him over those of the domain that he lacks, plus 1. A numeric one, of which only the range of his values counts,
    costs the change of both bounds over the largest change possible, plus 1; who has no value of it gains the units
    in the other's range over those in the domain, plus 1, as if each unit were a value. DM is the mean over both
    users, both directions and all relations of the change of the degree over the number of users, both getting the
    greater degree.

    A domain is that of the attribute: in a part of a graph, values count that nobody there has.

    Losses are symmetric, never negative, and exactly 0 for users with the same values and degrees. A graph without
    attributes, or without relations, has no loss of that kind.

    Parameters
    ----------
    graph
        The users.
    alpha
        Weight of AM, between 0 and 1: 1 is AM alone, 0 is DM alone.

    Raises
    ------
    AnonymizationError
        If alpha is not between 0 and 1.

    References
    ----------
    THESIS, Definitions 10-15; PCKGA, Definitions 4-6.

    Examples
    --------
    >>> graph = PeopleGraph.from_triples(
    ...     ["Ken", "Mary"],
    ...     [("Ken", "job", "Student"), ("Mary", "job", "Teacher")],
    ...     [("Ken", "follows", "Mary")],
    ... )
    >>> AttributeDegreeLoss(graph).between(np.array([0])).tolist()
    [[0.0, 0.375]]
    """

    def __init__(self, graph: PeopleGraph, alpha: float = 0.5) -> None:
        super().__init__(graph, alpha)
        attributes = list(graph.attributes.values())
        named = [a for a in attributes if a.kind == "categorical"]
        self._values = Values.of(graph.n, named)
        self._count = np.array(
            [np.bincount(a.user, minlength=graph.n) for a in named], dtype=np.float64
        ).reshape(len(named), graph.n)
        sizes = np.array([len(a.domain) for a in named], dtype=np.float64)
        weight = 1 / (sizes[:, None] - self._count + 1)
        absent = 1 / (sizes + 1)
        self._unit = _unit(self._count, weight)
        self._weight = np.rint(weight * self._unit)
        self._absent = np.rint(absent * self._unit)
        self._lone = self._absent @ self._count
        self._low, self._high, self._range_weight, self._span = _ranges(
            graph.n, [a for a in attributes if a.kind == "numeric"]
        )
        self._by_attributes = alpha / (2 * len(attributes) * self._unit) if attributes else 0.0

    def _fill(self, first: int, stop: int, rows: Vertices, columns: Vertices, out: Distances) -> None:
        v = self._values
        if _WHOLE * len(columns) < self._n:
            adm_pairs(
                first, stop, rows, columns, self._unit, self._by_attributes, self._by_degrees, self._count,
                self._weight, v.attribute, v.owner_start, v.owned, self._low, self._high, self._range_weight,
                self._span, self._degree, out,
            )  # fmt: skip
            return
        adm_rows(
            first, stop, rows, columns, self._unit, self._by_attributes, self._by_degrees, self._lone,
            self._count, self._weight, self._absent, v.attribute, v.owner_start, v.owned, v.value_start, v.holder,
            self._low, self._high, self._range_weight, self._span, self._degrees, self._degree,
            np.empty(self._n), np.empty(self._n), out,
        )  # fmt: skip


class TruthDegreeLoss(_Loss):
    """ATDM = alpha · ATM + (1 - alpha) · DM: what is untruthful of the values two users have in common afterwards.

    ATM is the share of untruthful associations among all ordered pairs of the values of either user. Values that one
    user of the graph has are a truthful association by definition, so that no indicator is asked about them, and users
    with the same values have no loss.

    Parameters
    ----------
    graph
        The users.
    indicator
        Says which associations of values of this graph are truthful.
    alpha
        Weight of ATM, between 0 and 1.

    Raises
    ------
    AnonymizationError
        If alpha is not between 0 and 1, or the indicator knows other values than the graph has.

    References
    ----------
    THESIS, Definitions 16 and 17.
    """

    def __init__(self, graph: PeopleGraph, indicator: Indicator, alpha: float = 0.5) -> None:
        super().__init__(graph, alpha)
        self._values = all_values(graph)
        p = len(self._values)
        if indicator.truth.shape != (p, p):
            raise AnonymizationError(
                f"the indicator knows {len(indicator.truth):,} values, but the graph has {p:,}",
                hint="learn the indicator on the graph that is anonymized",
            )
        false = 2 - indicator.truth.view(np.uint8) - indicator.truth.T.view(np.uint8)
        false[self._values.together()] = 0
        self._false = np.ascontiguousarray(false)
        self._by_truth = alpha

    def untruth(self, clusters: Clusters, users: Vertices) -> float:
        """ATM of some users in their clusters (-1: in none), summed: shares of pairs that are untruthful together."""
        total = 0.0
        for cluster in range(int(clusters.max(initial=-1)) + 1):
            members = users[clusters == cluster]
            start, owned = self._values.owner_start, self._values.owned
            values = np.unique(
                np.concatenate([owned[start[u] : start[u + 1]] for u in members] or [owned[:0]])
            )
            if len(values):
                share = float(self._false[np.ix_(values, values)].sum()) / 2 / len(values) ** 2
                total += share * len(members)
        return total

    def _fill(self, first: int, stop: int, rows: Vertices, columns: Vertices, out: Distances) -> None:
        atdm_rows(
            first, stop, rows, columns, self._by_truth, self._by_degrees, self._false, self._values.owner_start,
            self._values.owned, self._degrees, self._degree, np.empty(len(self._values), dtype=np.int64),
            np.empty(self._n), out,
        )  # fmt: skip


def _unit(count: Table, weight: Table) -> float:
    """The power of two in which weights can be counted so that a sum of all of them is exact in doubles."""
    most = 2 * float(np.sum(count.max(axis=1, initial=0) * weight.max(axis=1, initial=0)))
    return math.ldexp(1.0, 52 - math.ceil(math.log2(max(most, 1))))


def _ranges(n: int, attributes: list[Attribute]) -> tuple[Table, Table, Table, Table]:
    """Range of each user in each numeric attribute, weight of its changes, and width of each domain."""
    low, high = np.full((len(attributes), n), np.inf), np.full((len(attributes), n), -np.inf)
    least, most = np.zeros((len(attributes), 1)), np.zeros((len(attributes), 1))
    for a, attribute in enumerate(attributes):
        numbers = attribute.numbers
        np.minimum.at(low[a], attribute.user, numbers[attribute.value])
        np.maximum.at(high[a], attribute.user, numbers[attribute.value])
        if len(numbers):
            least[a], most[a] = numbers.min(), numbers.max()
    weight = 1 / (np.abs(low - least) + np.abs(most - high) + 1)  # 0 without a value
    return low, high, weight, (most - least)[:, 0]
