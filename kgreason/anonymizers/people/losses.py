"""The information that is lost if two users get the same attribute values and degrees, as a distance.

Weights are whole multiples of a unit, held as doubles and so small in number that every sum is exact. That is what
makes losses symmetric and those of equal users exactly 0, however they are summed.

References
----------
THESIS, Definitions 10-17; PCKGA, Definitions 4-6, of which the last is ADM with alpha = 0.5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from kgreason.anonymizers.people.indicator import Indicator
from kgreason.anonymizers.people.neighbours import (
    Clusters,
    Distance,
    Distances,
    Levels,
    Neighbours,
    neighbours,
)
from kgreason.anonymizers.people.values import Values, all_values
from kgreason.cores import cores, each
from kgreason.errors import AnonymizationError
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph
from kgreason.jit import ByteRows, DoubleRows, Doubles, Ints, SingleRows, kernel


@kernel
def count_row(
    u: int, lone: Doubles, count: DoubleRows, weight: DoubleRows, absent: Doubles, total: Doubles
) -> None:
    """Cost of taking over all values of each other, as if u and v shared none: Σ_a c_a(v) w_a(u) + c_a(u) w_a(v).

    Parameters
    ----------
    lone
        This cost beside a user without values; shape (n,).
    count, weight
        c_a(v) and w_a(v), shape (attributes, n).
    absent
        w_a of users without a value of a.
    total
        Becomes the cost for each v.
    """
    for v in range(len(total)):  # assigning a slice would allocate for its errors
        total[v] = lone[v]
    for a in range(len(absent)):
        held = count[a, u]
        if held > 0:
            more = weight[a, u] - absent[a]
            for v in range(len(total)):
                total[v] += count[a, v] * more + weight[a, v] * held


@kernel
def share_row(
    u: int,
    weight: DoubleRows,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    value_start: Ints,
    holder: Ints,
    total: Doubles,
) -> None:
    """Take back what values cost that u and v share."""
    for e in range(owner_start[u], owner_start[u + 1]):
        t = owned[e]
        a = attribute[t]
        own = weight[a, u]
        for f in range(value_start[t], value_start[t + 1]):
            v = holder[f]
            total[v] -= own + weight[a, v]


@kernel
def widening(
    low: float, high: float, other_low: float, other_high: float, weight: float, span: float
) -> float:
    """Loss of a user when the range of a numeric attribute grows to hold that of another user.

    Parameters
    ----------
    low, high, other_low, other_high
        The ranges; ``low > high`` without a value.
    weight
        One over the most by which this range can grow, and 1.
    span
        Width of the domain.
    """
    if other_low > other_high:
        return 0.0
    if low > high:
        return (other_high - other_low + 1.0) / (span + 2.0)
    return (max(low - other_low, 0.0) + max(other_high - high, 0.0)) * weight


@kernel
def range_row(
    u: int, unit: float, low: DoubleRows, high: DoubleRows, weight: DoubleRows, span: Doubles, total: Doubles
) -> None:
    """Add what it costs to have the ranges of u and v in common; `low` and `high` have shape (numeric, n)."""
    for a in range(len(span)):
        for v in range(len(total)):
            mine = widening(low[a, u], high[a, u], low[a, v], high[a, v], weight[a, u], span[a])
            theirs = widening(low[a, v], high[a, v], low[a, u], high[a, u], weight[a, v], span[a])
            total[v] += (mine + theirs) * unit


@kernel
def degree_row(u: int, degrees: Doubles, degree: DoubleRows, total: Doubles) -> None:
    """Sum of differences between the degrees of u and of each v.

    Parameters
    ----------
    degrees
        Sum of all degrees of each user.
    degree
        Shape (2 · relations, n).
    """
    for v in range(len(total)):
        total[v] = degrees[v]
    for r in range(len(degree)):
        own = degree[r, u]
        if own > 0:
            for v in range(len(total)):
                total[v] += abs(degree[r, v] - own) - degree[r, v]


@kernel
def adm_rows(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    unit: float,
    by_attributes: float,
    by_degrees: float,
    lone: Doubles,
    count: DoubleRows,
    weight: DoubleRows,
    absent: Doubles,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    value_start: Ints,
    holder: Ints,
    low: DoubleRows,
    high: DoubleRows,
    range_weight: DoubleRows,
    span: Doubles,
    degrees: Doubles,
    degree: DoubleRows,
    total: Doubles,
    apart: Doubles,
    out: SingleRows,
) -> None:
    """Fill the rows first .. stop-1 of a block of ADM.

    Parameters
    ----------
    rows, columns
        Users of the block.
    unit
        Units that make a loss of 1 in one attribute.
    by_attributes, by_degrees
        Factors of the sum over attributes, in units, and of the sum over degrees.
    total, apart
        Scratch, shape (n,).
    out
        Shape (rows, columns).
    """
    for i in range(first, stop):
        u = rows[i]
        count_row(u, lone, count, weight, absent, total)
        share_row(u, weight, attribute, owner_start, owned, value_start, holder, total)
        range_row(u, unit, low, high, range_weight, span, total)
        degree_row(u, degrees, degree, apart)
        for j in range(len(columns)):
            v = columns[j]
            out[i, j] = np.float32(by_attributes * total[v] + by_degrees * apart[v])


@kernel
def shared_cost(u: int, v: int, weight: DoubleRows, attribute: Ints, owner_start: Ints, owned: Ints) -> float:
    """Sum over the values that u and v share of their weights."""
    total = 0.0
    e = owner_start[u]
    f = owner_start[v]
    while e < owner_start[u + 1] and f < owner_start[v + 1]:
        s = owned[e]
        t = owned[f]
        if s == t:
            total += weight[attribute[s], u] + weight[attribute[s], v]
        if s <= t:
            e += 1
        if t <= s:
            f += 1
    return total


@kernel
def adm_pairs(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    unit: float,
    by_attributes: float,
    by_degrees: float,
    count: DoubleRows,
    weight: DoubleRows,
    attribute: Ints,
    owner_start: Ints,
    owned: Ints,
    low: DoubleRows,
    high: DoubleRows,
    range_weight: DoubleRows,
    span: Doubles,
    degree: DoubleRows,
    out: SingleRows,
) -> None:
    """Fill rows of a block of few columns, pair by pair: the same numbers as those of `adm_rows`."""
    for i in range(first, stop):
        u = rows[i]
        for j in range(len(columns)):
            v = columns[j]
            total = 0.0
            for a in range(len(count)):
                total += count[a, v] * weight[a, u] + count[a, u] * weight[a, v]
            total -= shared_cost(u, v, weight, attribute, owner_start, owned)
            for a in range(len(span)):
                mine = widening(low[a, u], high[a, u], low[a, v], high[a, v], range_weight[a, u], span[a])
                theirs = widening(low[a, v], high[a, v], low[a, u], high[a, u], range_weight[a, v], span[a])
                total += (mine + theirs) * unit
            apart = 0.0
            for r in range(len(degree)):
                apart += abs(degree[r, u] - degree[r, v])
            out[i, j] = np.float32(by_attributes * total + by_degrees * apart)


@kernel
def atdm_rows(
    first: int,
    stop: int,
    rows: Ints,
    columns: Ints,
    by_truth: float,
    by_degrees: float,
    false: ByteRows,
    owner_start: Ints,
    owned: Ints,
    degrees: Doubles,
    degree: DoubleRows,
    marks: Ints,
    apart: Doubles,
    out: SingleRows,
) -> None:
    """Fill rows of a block of ATDM.

    Parameters
    ----------
    false
        Untruthful ordered associations of each two values, 0 to 2, symmetric, 0 for values that one user has.
    marks
        Scratch, shape (p,): of each value its untruthful associations with values of u, and 2^32 if u has it.
    """
    for i in range(first, stop):
        u = rows[i]
        for t in range(len(marks)):
            marks[t] = 0
        for e in range(owner_start[u], owner_start[u + 1]):
            of = owned[e]
            for t in range(len(marks)):
                marks[t] += false[of, t]
            marks[of] += 1 << 32
        degree_row(u, degrees, degree, apart)
        own = owner_start[u + 1] - owner_start[u]
        for j in range(len(columns)):
            v = columns[j]
            found = 0
            for f in range(owner_start[v], owner_start[v + 1]):
                found += marks[owned[f]]
            union = own + owner_start[v + 1] - owner_start[v] - (found >> 32)
            untrue = 0.0
            if union > 0:
                untrue = (found & 0xFFFFFFFF) / (union * union)
            out[i, j] = np.float32(by_truth * untrue + by_degrees * apart[v])


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
        """See `kgreason.anonymizers.people.neighbours.Distance.between`."""
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


class AnonymizationDistance:
    """d^a(u, v): the largest of both core distances and of d(u, v), times the higher of both levels.

    Parameters
    ----------
    distance
        The distance d.
    levels
        int64, shape (n,).

    References
    ----------
    PCKGA, Definitions 7 and 8.

    Examples
    --------
    >>> from kgreason.anonymizers.people.neighbours import MatrixDistance
    >>> line = MatrixDistance([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> far = AnonymizationDistance(line, np.array([2, 2, 3]))
    >>> far.core.tolist(), far.costs.tolist()
    ([1.0, 1.0, 3.0], [2.0, 2.0, 9.0])
    """

    def __init__(self, distance: Distance, levels: Levels) -> None:
        self.distance = distance
        self.levels = levels

    @property
    def n(self) -> int:
        """Number of users."""
        return self.distance.n

    @cached_property
    def near(self) -> Neighbours:
        """N(u): the k_u - 1 others nearest to each user, or all others if they are fewer."""
        return neighbours(self.distance, self.levels - 1)

    @cached_property
    def core(self) -> Distances:
        """Core distance of each user: how far the farthest of N(u) is; float32, shape (n,)."""
        ends = self.near.start[1:]
        core = np.zeros(self.n, dtype=np.float32)
        some = np.diff(self.near.start) > 0
        core[some] = self.near.distance[ends[some] - 1]
        return core

    @cached_property
    def costs(self) -> npt.NDArray[np.float64]:
        """Anonymization cost of each user: the largest d^a to one of N(u); float64, shape (n,)."""
        user, other = np.repeat(np.arange(self.n), np.diff(self.near.start)), self.near.user
        far = np.maximum(np.maximum(self.core[user], self.core[other]), self.near.distance)
        costs = np.zeros(self.n)
        np.maximum.at(costs, user, far.astype(np.float64) * np.maximum(self.levels[user], self.levels[other]))
        return costs

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        """See `Distance.between`; a user is at some distance even from himself."""
        to: Vertices | slice = slice(None) if columns is None else columns
        far = self.distance.between(rows, columns)
        far = np.maximum(np.maximum(far, self.core[rows][:, None]), self.core[to])
        far *= np.maximum(self.levels[rows][:, None], self.levels[to])
        return far
