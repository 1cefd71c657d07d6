"""Information loss of making two users alike in attribute values and degrees, as distances ADM and ATDM.

Weights are integer multiples of a unit, held as doubles and few enough that every sum is exact. Losses are therefore
symmetric, and exactly 0 for equal users, whatever the order of summation.

References
----------
THESIS, Definitions 10-17; PCKGA, Definitions 4-6, of which the last is ADM with alpha = 0.5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.base.cores import cores, each
from kgreason.base.errors import AnonymizationError
from kgreason.base.jit import DoubleRows, Doubles, Ints, SingleRows, inlined, kernel
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.user_distances import Clusters, Distances
from kgreason.people.model import Attribute, Numbers, PeopleGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@record(eq=False)
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
        from scipy.sparse import csr_array  # kernels of this file are compiled where SciPy is missing

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


class Users(NamedTuple):
    """Data of some users for ADM: categorical values, ranges of numbers, degrees.

    Attributes
    ----------
    held, weight, absent
        c_a(v) and w_a(v), shape (attributes, n), and w_a of users without a value of a.
    lone
        Loss of a user's values for another user without any values; shape (n,).
    attribute
        Attribute of each value.
    start, owned
        Values of user v: ``owned[start[v]:start[v + 1]]``.
    low, high, growth, span
        Ranges of numbers, shape (numeric, n), ``low > high`` without a value; reciprocal of 1 plus the largest possible
        growth of the range; width of each domain.
    degrees, degree
        Sum of all degrees of each user, and the single degrees, shape (2 · relations, n).
    """

    held: DoubleRows
    weight: DoubleRows
    absent: Doubles
    lone: Doubles
    attribute: Ints
    start: Ints
    owned: Ints
    low: DoubleRows
    high: DoubleRows
    growth: DoubleRows
    span: Doubles
    degrees: Doubles
    degree: DoubleRows


@inlined
def _value_row(all_: Users, some: Users, begin: Ints, holder: Ints, u: int, total: Doubles) -> None:
    """Loss of uniting values: Σ_a c_a(v) w_a(u) + c_a(u) w_a(v), minus the terms of common values."""
    # User u is one of `all_`; `total` receives the losses with each of `some`, of whom
    # ``holder[begin[t]:begin[t + 1]]`` have value t.
    for v in range(len(total)):  # a slice assignment would allocate for its error handling
        total[v] = some.lone[v]
    for a in range(len(all_.absent)):
        own = all_.held[a, u]
        if own > 0:
            more = all_.weight[a, u] - all_.absent[a]
            for v in range(len(total)):
                total[v] += some.held[a, v] * more + some.weight[a, v] * own
    for e in range(all_.start[u], all_.start[u + 1]):
        t = all_.owned[e]
        a = all_.attribute[t]
        for f in range(begin[t], begin[t + 1]):
            v = holder[f]
            total[v] -= all_.weight[a, u] + some.weight[a, v]


@inlined
def widening(
    low: float, high: float, other_low: float, other_high: float, growth: float, span: float
) -> float:
    """Loss of a user if a numeric range grows to include that of another user."""
    if other_low > other_high:
        return 0.0
    if low > high:
        return (other_high - other_low + 1.0) / (span + 2.0)
    return (max(low - other_low, 0.0) + max(other_high - high, 0.0)) * growth


@inlined
def _range_row(all_: Users, some: Users, u: int, unit: float, total: Doubles) -> None:
    """Add the loss of uniting the ranges of u and each v."""
    for a in range(len(all_.span)):
        low, high, growth, span = all_.low[a, u], all_.high[a, u], all_.growth[a, u], all_.span[a]
        for v in range(len(total)):
            mine = widening(low, high, some.low[a, v], some.high[a, v], growth, span)
            theirs = widening(some.low[a, v], some.high[a, v], low, high, some.growth[a, v], span)
            total[v] += (mine + theirs) * unit


@inlined
def _degree_row(all_: Users, some: Users, u: int, total: Doubles) -> None:
    """Sum of absolute differences between the degrees of u and of each v."""
    for v in range(len(total)):
        total[v] = some.degrees[v]
    for r in range(len(all_.degree)):
        own = all_.degree[r, u]
        if own > 0:
            for v in range(len(total)):
                total[v] += abs(some.degree[r, v] - own) - some.degree[r, v]


@kernel
def _adm_rows(
    all_: Users, some: Users, begin: Ints, holder: Ints, rows: Ints,
    unit: float, by_attributes: float, by_degrees: float, total: Doubles, apart: Doubles, out: SingleRows,
) -> None:  # fmt: skip
    """Fill a block of ADM, `out`, shape (rows, columns)."""
    # `unit` is a loss of 1 in one attribute; `by_attributes` and `by_degrees` are the factors of the sums over
    # attributes (in units) and over degrees; `total` and `apart` are scratch, shape (columns,).
    for i in range(len(rows)):
        _value_row(all_, some, begin, holder, rows[i], total)
        _range_row(all_, some, rows[i], unit, total)
        _degree_row(all_, some, rows[i], apart)
        for v in range(len(total)):
            out[i, v] = np.float32(by_attributes * total[v] + by_degrees * apart[v])


_LIGHT = 1 << 18  # pairs of users below which another thread does not pay off


def direction_weights(alpha_dm: float) -> tuple[float, float]:
    """Factors of out- and in-degrees in DM, whose sum is 2, for the weight of out-degrees.

    Multiples of 2 ** -20, so that sums over degrees are exact: equal users have no loss.

    Examples
    --------
    >>> direction_weights(0.5), direction_weights(0.25)
    ((1.0, 1.0), (0.5, 1.5))
    """
    if not 0 <= alpha_dm <= 1:
        raise AnonymizationError(
            f"the share alpha_dm of out-degrees in the loss must be between 0 and 1, not {alpha_dm}",
            hint="0.5 gives out-degrees and in-degrees equal weight",
        )
    by_out = round(math.ldexp(alpha_dm, 21)) * 2.0**-20
    return by_out, 2 - by_out


class _Loss(ABC):
    """Weighted sum of two losses: alpha times that of attributes, 1 - alpha times that of degrees (DM)."""

    def __init__(self, graph: PeopleGraph, alpha: float, alpha_dm: float) -> None:
        if not 0 <= alpha <= 1:
            raise AnonymizationError(
                f"the share alpha of attributes in the loss must be between 0 and 1, not {alpha}",
                hint="0.5 gives attributes and degrees equal weight",
            )
        self._n = graph.n
        by_out, by_in = direction_weights(alpha_dm)
        self._degree = np.ascontiguousarray(
            np.hstack([by_out * graph.out_degrees(), by_in * graph.in_degrees()]).T, dtype=np.float64
        )
        relations = len(graph.relations)
        self._by_degrees = (1 - alpha) / (4 * relations * graph.n) if relations and graph.n else 0.0

    @property
    def n(self) -> int:
        return self._n

    def between(self, rows: Vertices, columns: Vertices | None = None) -> Distances:
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        out = np.empty((len(rows), self._n if columns is None else len(columns)), dtype=np.float32)
        parts = max(1, min(len(rows), out.size // _LIGHT, 4 * cores()))
        fill = self._filling(columns)
        each(lambda ends: fill(rows[slice(*ends)], out[slice(*ends)]), _shares(len(rows), parts))
        return out

    @abstractmethod
    def _filling(self, columns: Vertices | None) -> Callable[[Vertices, Distances], None]:
        """Function that fills some rows of a block with these columns; run in several threads."""


def _shares(count: int, parts: int) -> Iterator[tuple[int, int]]:
    return pairwise(count * i // parts for i in range(parts + 1))


class AttributeDegreeLoss(_Loss):
    """ADM = alpha · AM + (1 - alpha) · DM: loss of two users that take over each other's values and degrees.

    AM is the mean over both users and all attributes. For a categorical attribute it is the number of values new to the
    user over 1 plus the number of domain values the user lacks. A numeric attribute is reduced to the range of its
    values: the loss is the change of both bounds over 1 plus the largest possible change; for a user without a value it
    is the number of units of the other range over 1 plus that of the domain, as if each unit were a value. DM is the
    mean over both users and all relations of the change of the degree to the larger one, over the number of users;
    out-degrees have the weight `alpha_dm`, in-degrees the rest.

    The domain is that of the attribute: in a subgraph it includes values without users.

    Losses are symmetric, never negative, and exactly 0 for users with the same values and degrees. A graph without
    attributes, or without relations, has no loss of that kind.

    References
    ----------
    THESIS, Definitions 5 and 10-15; PCKGA, Definitions 4-6.
    """

    def __init__(self, graph: PeopleGraph, alpha: float = 0.5, alpha_dm: float = 0.5) -> None:
        super().__init__(graph, alpha, alpha_dm)
        attributes = list(graph.attributes.values())
        named = [a for a in attributes if a.kind == "categorical"]
        self._values = Values.of(graph.n, named)
        count = np.array([np.bincount(a.user, minlength=graph.n) for a in named], dtype=np.float64)
        count = count.reshape(len(named), graph.n)
        sizes = np.array([len(a.domain) for a in named], dtype=np.float64)
        weight = 1 / (sizes[:, None] - count + 1)
        self._unit = _unit(count, weight)
        absent = np.rint(self._unit / (sizes + 1))
        v = self._values
        ranges = _ranges(graph.n, [a for a in attributes if a.kind == "numeric"])
        self._users = Users(
            *(
                count,
                np.rint(weight * self._unit),
                absent,
                absent @ count,
                v.attribute,
                v.owner_start,
                v.owned,
            ),
            *(*ranges, self._degree.sum(axis=0), self._degree),
        )
        self._by_attributes = alpha / (2 * len(attributes) * self._unit) if attributes else 0.0

    def _filling(self, columns: Vertices | None) -> Callable[[Vertices, Distances], None]:
        users, some, begin, holder = self._users, self._users, self._values.value_start, self._values.holder
        if columns is not None:
            taken = {
                name: np.ascontiguousarray(getattr(users, name)[..., columns])
                for name in ("held", "weight", "lone", "low", "high", "growth", "degrees", "degree")
            }
            some = users._replace(**taken)
            many = np.diff(users.start)[columns]
            holder = np.repeat(np.arange(len(columns)), many)
            value = users.owned[
                np.arange(len(holder)) + np.repeat(users.start[columns] - np.cumsum(many) + many, many)
            ]
            holder = holder[np.argsort(value, kind="stable")]
            begin = np.append(0, np.cumsum(np.bincount(value, minlength=len(self._values))))

        def fill(rows: Vertices, out: Distances) -> None:
            _adm_rows(
                users, some, begin, holder, rows, self._unit, self._by_attributes, self._by_degrees,
                np.empty(out.shape[1]), np.empty(out.shape[1]), out,
            )  # fmt: skip

        return fill


class TruthDegreeLoss(_Loss):
    """ATDM = alpha · ATM + (1 - alpha) · DM: untruthful associations in the united values of two users.

    ATM is the share of untruthful associations among all ordered pairs of the united values. Values of one user of the
    graph are truthful associations by definition, whatever the indicator (`truth`, bool, shape (p, p): the truthful
    ordered pairs of values), and users with the same values have no loss.

    References
    ----------
    THESIS, Definitions 16 and 17.
    """

    def __init__(
        self, graph: PeopleGraph, truth: npt.NDArray[np.bool_], alpha: float = 0.5, alpha_dm: float = 0.5
    ) -> None:
        super().__init__(graph, alpha, alpha_dm)
        self._values = all_values(graph)
        p = len(self._values)
        if truth.shape != (p, p):
            raise AnonymizationError(
                f"the indicator knows {len(truth):,} values, but the graph has {p:,}",
                hint="learn the indicator on the graph that is anonymized",
            )
        false = 2 - truth.view(np.uint8) - truth.T.view(np.uint8)
        false[self._values.together()] = 0
        self._false, self._has, self._alpha = false, self._values.matrix(), alpha

    def untruth(self, clusters: Clusters, users: Vertices) -> float:
        """Sum of ATM over users, for the united values of their clusters (-1: in none)."""
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

    def _filling(self, columns: Vertices | None) -> Callable[[Vertices, Distances], None]:
        others = self._has if columns is None else self._has[columns]
        degrees = self._degree.T if columns is None else self._degree.T[columns]
        start, owned, many = self._values.owner_start, self._values.owned, others.sum(axis=1)

        def fill(rows: Vertices, out: Distances) -> None:
            for i, u in enumerate(rows.tolist()):
                own = owned[start[u] : start[u + 1]]
                marks = np.stack(
                    [self._false[own].sum(axis=0, dtype=np.float64), np.zeros(len(self._values))]
                )
                marks[1, own] = 1
                untrue, shared = marks @ others.T
                union = np.maximum(len(own) + many - shared, 1)
                apart = np.abs(degrees - self._degree[:, u]).sum(axis=1)
                out[i] = self._alpha * untrue / union**2 + self._by_degrees * apart

        return fill


def _unit(count: Numbers, weight: Numbers) -> float:
    """Largest power of two by which weights can be scaled so that all their sums are exact in doubles."""
    most = 2 * float(np.sum(count.max(axis=1, initial=0) * weight.max(axis=1, initial=0)))
    return math.ldexp(1.0, 52 - math.ceil(math.log2(max(most, 1))))


def _ranges(n: int, attributes: list[Attribute]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Range of each user in each numeric attribute, weight of its changes, and width of each domain."""
    low, high = np.empty((2, len(attributes), n))
    least, most = np.zeros((len(attributes), 1)), np.zeros((len(attributes), 1))
    for a, attribute in enumerate(attributes):
        numbers = attribute.numbers
        low[a], high[a] = attribute.bounds(n)
        if len(numbers):
            least[a], most[a] = numbers.min(), numbers.max()
    weight = 1 / (np.abs(low - least) + np.abs(most - high) + 1)  # 0 without a value
    return low, high, weight, (most - least)[:, 0]
