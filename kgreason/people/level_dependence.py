"""Dependence of public levels on the data: what an attacker may conclude from the k of a user.

PCKGA (section 2.2) assumes that there is none. Each part of the data is compared with the k of the users, and the
comparison repeated with the same k in random order.

References
----------
PCKGA, sections 2.2 and 7. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 1979.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.people.model import Attribute, Counts, PeopleGraph

LEVEL = 0.05  # probability that anything is reported if nothing depends
ORDERS = 999  # random orders, or more if there are many tests
MOST = 20_000  # users beyond whom a sample is tested
HELD = 1 << 22  # numbers of random orders that are held at a time

Floats = npt.NDArray[np.float64]


@record
class Dependence:
    """Comparison of the k of users with one part of their data.

    Attributes
    ----------
    what
        The part.
    correlation
        Spearman's rank correlation with k, for numbers; `None` for names.
    value, mean, overall
        For names: the value whose users have the most unusual k (`None`: users without a value), their mean k, and that
        of all users.
    p
        Probability of an equally strong dependence by chance, over random orders of the k.
    corrected
        The same for all tests together (Holm).
    """

    what: str
    correlation: float | None
    value: str | None
    mean: float
    overall: float
    p: float
    corrected: float

    @property
    def significant(self) -> bool:
        """Whether chance is an unlikely cause: less than 5 %, for all tests together."""
        return self.corrected < LEVEL

    def __str__(self) -> str:
        sure = f"p = {self.corrected:.3f}"
        if self.correlation is not None:
            way = "rises" if self.correlation > 0 else "falls"
            return f"k {way} with {self.what} (rank correlation {self.correlation:.2f}, {sure})"
        who = f"users without {self.what}" if self.value is None else f"users with {self.value!r}"
        return f"k depends on {self.what}: {who} have {self.mean:.2f} on average, all {self.overall:.2f} ({sure})"


def dependences(graph: PeopleGraph, k: Counts, rng: np.random.Generator) -> tuple[Dependence, ...]:
    """Test whether the k of users depend on their data: numbers of values and links, values of each attribute.

    Numbers are compared by ranks. Of a categorical attribute the statistic is the sum, over the values of two or more
    users and over having none, of the squared mean rank of these users' k, in units of its standard deviation. The
    p-values are those of random orders, drawn by `rng`, corrected by the method of Holm. Of more than 20,000 users as
    many are drawn.

    Parameters
    ----------
    k
        Level of each user; int64, shape (n,).

    Examples
    --------
    >>> users = [f"u{i}" for i in range(40)]
    >>> jobs = [(u, "job", "clerk" if i % 2 else "nurse") for i, u in enumerate(users)]
    >>> graph = PeopleGraph.from_triples(users, jobs)
    >>> k = np.array([3, 5] * 20)
    >>> [str(one) for one in dependences(graph, k, np.random.default_rng(0)) if one.significant]
    ["k depends on job: users with 'clerk' have 5.00 on average, all 4.00 (p = 0.001)"]
    >>> [one for one in dependences(graph, np.array([3] * 20 + [5] * 20), np.random.default_rng(0)) if one.significant]
    []
    """
    if graph.n > MOST:
        drawn = np.sort(rng.permutation(graph.n)[:MOST])
        many, k = _numbers(graph, drawn), k[drawn]
        graph = graph.of(drawn)
    else:
        many = _numbers(graph, np.arange(graph.n))
    ranks = _ranks(k.astype(np.float64))
    if graph.n < 3 or not ranks.any():
        return ()
    names = [name for name, a in graph.attributes.items() if a.kind == "categorical"]
    groups = {name: found for name in names if len((found := _groups(graph.attributes[name], graph.n))[1])}
    rows = {what: row for what, (number, there) in many.items() if (row := _row(number, there)).any()}
    tests = len(rows) + len(groups)
    if not tests:
        return ()
    orders = max(ORDERS, round(2 / LEVEL) * tests - 1)
    lines = np.stack([*rows.values()]) if rows else np.empty((0, graph.n))
    observed = _statistics(lines, [*groups.values()], ranks[:, None])[:, 0]
    above, left = np.ones(tests), orders
    while left:
        some = min(left, max(1, HELD // graph.n))
        reordered = rng.permuted(np.tile(ranks, (some, 1)), axis=1).T
        statistics = _statistics(lines, [*groups.values()], reordered)
        above += (statistics >= observed[:, None] - 1e-9).sum(axis=1)
        left -= some
    p = above / (orders + 1)
    corrected = _holm(p)
    overall = float(k.mean())
    result = []
    for i, (what, (number, there)) in enumerate((what, many[what]) for what in rows):
        strength = float(_ranks(number[there]) @ _ranks(k[there].astype(np.float64)))
        result.append(Dependence(what, strength, None, overall, overall, float(p[i]), float(corrected[i])))
    for i, name in enumerate(groups, len(rows)):
        matrix, members, values = groups[name]
        means = (matrix @ k) / members
        score = np.abs((matrix @ ranks) / np.sqrt(members * (graph.n - members)))
        most = int(score.argmax())
        chosen = None if values[most] < 0 else str(graph.attributes[name].domain[values[most]])
        result.append(
            Dependence(name, None, chosen, float(means[most]), overall, float(p[i]), float(corrected[i]))
        )
    return tuple(result)


def _numbers(graph: PeopleGraph, users: Counts) -> dict[str, tuple[Floats, npt.NDArray[np.bool_]]]:
    """Numbers of some users, and who of them has one."""
    n = graph.n
    everybody = np.ones(len(users), dtype=np.bool_)
    found = {}
    total = sum((np.bincount(a.user, minlength=n) for a in graph.attributes.values()), np.zeros(n, np.int64))
    if graph.attributes:
        found["the number of values"] = total[users].astype(np.float64), everybody
    for name, links in graph.relations.items():
        sides = [("links", links.source)]
        if not links.mutual:
            sides = [("outgoing links", links.source), ("incoming links", links.target)]
        for what, ends in sides:
            counts = np.bincount(ends, minlength=n)[users]
            found[f"{what} of {name}"] = counts.astype(np.float64), everybody
    for name, one in graph.attributes.items():
        if one.kind == "numeric":
            low, high = (bound[users] for bound in one.bounds(n))
            there = low <= high
            middle = np.zeros(len(users))
            middle[there] = (low[there] + high[there]) / 2
            found[name] = middle, there
    return found


def _ranks(numbers: Floats) -> Floats:
    """Ranks with ties, centred and of length 1; zeros if all are equal."""
    from scipy.stats import rankdata

    ranks = rankdata(numbers) if len(numbers) else numbers
    ranks = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt(ranks @ ranks))
    return ranks / length if length > 1e-9 else np.zeros(len(ranks))


def _row(number: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    row = np.zeros(len(number))
    row[there] = _ranks(number[there])
    return row


def _groups(one: Attribute, n: int) -> tuple[Any, Counts, Counts]:
    """Users by value: a sparse matrix of ones, shape (values, n), numbers of users, values, -1 for having none."""
    from scipy.sparse import csr_array

    none = np.flatnonzero(np.bincount(one.user, minlength=n) == 0)
    user = np.concatenate([one.user, none])
    value = np.concatenate([one.value, np.full(len(none), len(one.domain))])
    members = np.bincount(value, minlength=len(one.domain) + 1)
    kept = np.flatnonzero((members > 1) & (members < n))
    matrix = csr_array((np.ones(len(user)), (value, user)), shape=(len(members), n))[kept]
    return matrix, members[kept], np.where(kept == len(one.domain), -1, kept)


def _statistics(rows: Floats, groups: list[tuple[Any, Counts, Counts]], ranks: Floats) -> Floats:
    """Statistic of each test for some orders of the ranks of k, shape (n, orders); shape (tests, orders)."""
    n = len(ranks)
    found = [np.abs(rows @ ranks)]
    for matrix, members, _ in groups:
        # the variance of a sum of h of n centred numbers of length 1
        variance = members * (n - members) / (n * (n - 1))
        found.append((np.square(matrix @ ranks) / variance[:, None]).sum(axis=0, keepdims=True))
    return np.concatenate(found)


def _holm(p: Floats) -> Floats:
    """Corrected p-values.

    Examples
    --------
    >>> _holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected
