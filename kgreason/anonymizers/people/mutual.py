"""Simple undirected graphs with equal degrees in each cluster, for relations that are mutual by nature.

If links were added one way only, whoever knows that a relation is mutual would tell them from the others. So links are
added and removed in both directions at once.

1. Every cluster gets a target degree as in targets.py. The sum of all degrees is even; if it is not, the target of a
   cluster of an odd number of users changes by one, where that costs least.
2. Links of users who have too many are removed, at random, those between two such users first.
3. Missing links are added between users who are not linked, whoever lacks most first.
4. Where all who lack links are linked with each other, links x-y are replaced by u-x and y-v, or in a row of such
   steps by u-x, y-x', y'-v, found by breadth-first search: through added links if that can be, else through others.
   The search may miss rows that meet a user twice. If it finds none although there are graphs with these degrees, what
   is lacking is moved to somebody else at random, a bounded number of times.
5. If that does not help, the target of the cluster that lacks most is lowered and all begins again. What was lowered
   may not rise again, and all degrees zero can be had; so this ends.

References
----------
Havel, "A remark on the existence of finite graphs", 1955, and Hakimi, SIAM J. Appl. Math. 10, 1962, for step 3.
Erdős and Gallai, "Graphs with prescribed degrees of vertices", 1960, for which degrees there are graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kgreason.anonymizers.k_degree.realizable import obstacle
from kgreason.anonymizers.people.distance import Clusters
from kgreason.anonymizers.people.targets import Targets
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts, Links, completed

_ROUNDS = 8  # exchanges that each added link takes part in, on average
_MOVES = 50  # of what is lacking, at random
Neighbours = Mapping[int, set[int]]


def mutually_alike(
    links: Links, clusters: Clusters, rng: np.random.Generator, removal: float
) -> tuple[Links, int]:
    """Make the degrees of a mutual relation equal in each cluster.

    Parameters
    ----------
    links
        The original links, in both directions.
    clusters
        Cluster of each user, 0 .. c-1, int64, shape (n,).
    rng
        Decides, among the best, which links are removed and added.
    removal
        What a removed link counts, where an added one counts 1.

    Returns
    -------
    Links
        The new ones, in both directions.
    int
        How often a target had to be lowered.

    Examples
    --------
    >>> path = Links(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), mutual=True)
    >>> made, lowered = mutually_alike(path, np.zeros(4, dtype=np.int64), np.random.default_rng(0), 1e6)
    >>> np.bincount(made.source).tolist(), lowered
    ([2, 2, 2, 2], 0)
    """
    n = len(clusters)
    degree = np.bincount(links.source, minlength=n)
    count = int(clusters.max()) + 1
    caps = np.full(2 * count, n - 1)
    lowered = 0
    while True:
        targets = Targets(degree, degree, clusters, removal, caps)
        _even(targets, count)
        graph = _Undirected(links, targets.value[:count][clusters], rng)
        lacking = graph.complete(rng)
        if not lacking.any():
            graph.mix(rng)
            return graph.links(), lowered
        lack = np.bincount(clusters, weights=lacking).astype(np.int64)
        worst = int(lack.argmax())
        cap = targets.value[worst] - max(1, int(lack[worst]) // int(targets.size[worst]))
        caps[worst] = caps[count + worst] = max(int(cap), 0)
        lowered += 1


def _even(targets: Targets, count: int) -> None:
    """Change one target by one if the sum of the degrees of all users is odd; there is a degree to lower then."""
    value, size = targets.value[:count], targets.size[:count]
    if int(value @ size) % 2 == 0:
        return
    steps = []
    for i in np.flatnonzero(size % 2).tolist():
        for by in (1, -1):
            cost = targets.cost(i, by, int(value[i]))
            if cost is not None:
                steps.append((cost, -int(value[i]), i, by))
    _, _, i, by = min(steps)
    value[i] += by


def graphical(degrees: Counts) -> bool:
    """Whether a simple undirected graph has these degrees, int64, shape (n,).

    Examples
    --------
    >>> graphical(np.array([2, 2, 2])), graphical(np.array([3, 1])), graphical(np.array([2, 2, 1, 3]))
    (True, False, True)
    """
    return obstacle(degrees) is None


class _Undirected:
    """An undirected graph on its way to given degrees, over the users that have any, in random order.

    Parameters
    ----------
    links
        The original links, in both directions.
    target
        Degree that each user shall have, shape (n,).
    """

    def __init__(self, links: Links, target: Counts, rng: np.random.Generator) -> None:
        self.n = len(target)
        self.target = target
        active = target > 0
        active[links.source] = True
        self.users: Vertices = rng.permutation(np.flatnonzero(active))
        place = np.full(self.n, -1, dtype=np.int64)
        place[self.users] = np.arange(len(self.users))
        source, target_of = place[links.source].tolist(), place[links.target].tolist()
        self.originals: list[set[int]] = [set() for _ in range(len(self.users))]
        for x, y in zip(source, target_of, strict=True):
            self.originals[x].add(y)
        self.near = [set(some) for some in self.originals]
        self.whole = dict(enumerate(self.near))
        self.new: dict[int, set[int]] = {}
        self.lack: list[int] = (target[self.users] - [len(some) for some in self.near]).tolist()
        self._blocked: set[int] = set()
        self._trim(
            rng.permutation(
                [x * len(self.users) + y for x in range(len(self.near)) for y in self.near[x] if x < y]
            )
        )

    def _trim(self, keys: Vertices) -> None:
        """Remove links of users who have too many, where both have first."""
        pairs = [divmod(key, len(self.users)) for key in keys.astype(np.int64).tolist()]
        for both in (True, False):
            for x, y in pairs:
                over = self.lack[x] < 0, self.lack[y] < 0
                if (all(over) if both else any(over)) and y in self.near[x]:
                    self._drop(x, y)

    def _join(self, x: int, y: int) -> None:
        self.near[x].add(y)
        self.near[y].add(x)
        self.lack[x] -= 1
        self.lack[y] -= 1
        if y not in self.originals[x]:
            self.new.setdefault(x, set()).add(y)
            self.new.setdefault(y, set()).add(x)

    def _drop(self, x: int, y: int) -> None:
        self.near[x].discard(y)
        self.near[y].discard(x)
        self.lack[x] += 1
        self.lack[y] += 1
        for one, other in ((x, y), (y, x)):
            if one in self.new:
                self.new[one].discard(other)

    def complete(self, rng: np.random.Generator) -> Counts:
        """Add what is missing; returns what each user lacks after all, shape (n,)."""
        self._fill()
        moves = _MOVES if graphical(self.target) else 0
        left = [u for u, lack in enumerate(self.lack) if lack]
        while left:
            if not self._step(left):
                if not moves:
                    break
                moves -= 1
                left += self._moved(left, rng)
            left = [u for u in left if self.lack[u]]
        lacking = np.zeros(self.n, dtype=np.int64)
        lacking[self.users] = self.lack
        return lacking

    def _fill(self) -> None:
        """Join users who lack links, whoever lacks most with those who lack most, as long as they are not linked."""
        ranks: list[list[int]] = [[] for _ in range(max(self.lack, default=0) + 1)]
        for u, lack in enumerate(self.lack):
            ranks[lack].append(u)
        for rank in range(len(ranks) - 1, 0, -1):
            while ranks[rank]:
                u = ranks[rank].pop()
                for v in self._partners(ranks, u, rank):
                    self._join(u, v)
                    ranks[self.lack[v]].append(v)

    def _partners(self, ranks: list[list[int]], u: int, rank: int) -> list[int]:
        """Take users who lack most, and are not linked with u, out of their ranks."""
        found: list[int] = []
        for some in ranks[rank:0:-1]:
            passed: list[int] = []
            while some and len(found) < self.lack[u]:
                v = some.pop()
                (passed if v in self.near[u] else found).append(v)
            some.extend(reversed(passed))
            if len(found) == self.lack[u]:
                break
        return found

    def _step(self, left: list[int]) -> bool:
        """Bring in one more link for those who are left; whether that can be."""
        lacking = sorted(left, key=lambda u: -self.lack[u])
        for u in lacking:
            for v in lacking:
                if u != v and v not in self.near[u]:
                    self._join(u, v)
                    return True
        for u in lacking:
            if u not in self._blocked:
                if self._exchange(u, lacking, self.new):
                    return True
                self._blocked.add(u)  # looked for once: whoever has got stuck most often stays so
        return any(self._exchange(u, lacking, self.whole) for u in lacking)

    def _moved(self, left: list[int], rng: np.random.Generator) -> list[int]:
        """Join somebody who lacks a link with one who drops another for it; returns who lacks one now and did not."""
        u = int(rng.choice(left))
        far = [x for x, near in enumerate(self.near) if near and x != u and x not in self.near[u]]
        if not far:
            return []
        x = int(rng.choice(far))
        y = int(rng.choice(sorted(self.near[x])))
        self._drop(x, y)
        self._join(u, x)
        return [y] if y not in left else []

    def _exchange(self, u: int, lacking: list[int], through: Neighbours) -> bool:
        """Give a link more to u and to another one who lacks some, or two to u, at the cost of links `through`."""
        before: dict[int, tuple[int, int]] = {}
        ends = [v for v in lacking if v != u or self.lack[u] > 1]
        far = [u]
        unseen: Iterable[int] = through
        while far:
            reached = []
            for w in far:
                left: list[int] = []
                for x in unseen:
                    if x == w or x in self.near[w]:
                        left.append(x)
                        continue
                    for y in through[x]:
                        if y == u or y in before:
                            continue
                        before[y] = (w, x)
                        reached.append(y)
                        for v in ends:
                            if v not in (x, y) and v not in self.near[y] and self._apply(u, y, v, before):
                                return True
                unseen = left
            far = reached
        return False

    def _apply(self, u: int, y: int, v: int, before: Mapping[int, tuple[int, int]]) -> bool:
        """Go along a row of exchanges, unless one meets a link of another."""
        steps = []
        end = y
        while y != u:
            w, x = before[y]
            steps.append((w, x, y))
            y = w
        added = [*((w, x) for w, x, _ in steps), (end, v)]
        dropped = [(x, y) for _, x, y in steps]
        for pairs in (added, dropped):
            if len({frozenset(pair) for pair in pairs}) < len(pairs):
                return False
        for x, y in dropped:
            self._drop(x, y)
        for x, y in added:
            self._join(x, y)
        return True

    def mix(self, rng: np.random.Generator) -> None:
        """Exchange ends of added links at random, so that nothing is left of the order in which they came."""
        pairs = [(x, y) for x, some in self.new.items() for y in some if x < y]
        if len(pairs) < 2:
            return
        chosen = rng.integers(len(pairs), size=(_ROUNDS * len(pairs), 2)).tolist()
        turned = rng.random(len(chosen)) < 0.5
        for (p, q), turn in zip(chosen, turned.tolist(), strict=True):
            (a, b), (c, d) = pairs[p], pairs[q][::-1] if turn else pairs[q]
            if a in (c, d) or b in (c, d) or d in self.near[a] or b in self.near[c]:
                continue
            if d in self.originals[a] or b in self.originals[c]:
                continue
            for x, y in ((a, b), (c, d)):
                self._drop(x, y)
            for x, y in ((a, d), (c, b)):
                self._join(x, y)
            pairs[p], pairs[q] = (a, d), (c, b)

    def links(self) -> Links:
        """The graph as links in both directions."""
        source = np.repeat(self.users, [len(some) for some in self.near])
        target = self.users[np.array(_flat(self.near), dtype=np.int64)]
        return completed(self.n, Links(source, target))


def _flat(rows: Iterable[set[int]]) -> list[int]:
    return [v for row in rows for v in row]
