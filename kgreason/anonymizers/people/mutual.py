"""Simple undirected graphs with equal degrees in each cluster, for relations that are mutual by nature.

If links were added one way only, whoever knows that a relation is mutual would tell them from the others. So links are
added and removed in both directions at once.

1. Every cluster gets a target degree as in targets.py. The sum of all degrees is even; if it is not, the target of a
   cluster of an odd number of users changes by one, where that costs least.
2. If some graph has these degrees, one is made that has as many of the original links as can be, or nearly so
   (k_degree/relaxed.py).
3. Else the largest target is lowered, by what the largest degrees want beyond what there is, and all begins again. What
   was lowered may not rise again, and all degrees zero can be had; so this ends.
"""

from __future__ import annotations

import numpy as np

from kgreason.anonymizers.k_degree.realizable import obstacle
from kgreason.anonymizers.k_degree.relaxed import relaxed
from kgreason.anonymizers.people.distance import Clusters
from kgreason.anonymizers.people.targets import Targets
from kgreason.graph.people.model import Counts, Links, completed


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
        target = targets.value[:count][clusters]
        found = obstacle(target)
        if found is None:
            return undirected(links, target, rng), lowered
        worst = int(targets.value[:count].argmax())
        share = found.short // max(int(targets.size[worst]), found.largest)
        cap = targets.value[worst] - max(1, share)
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


def undirected(links: Links, target: Counts, rng: np.random.Generator) -> Links:
    """Make a mutual relation in which every user has so many links.

    Parameters
    ----------
    links
        The original links, in both directions.
    target
        Degree that each user shall have, those of some graph; int64, shape (n,).
    """
    n = len(target)
    active = target > 0
    active[links.source] = True
    users = np.flatnonzero(active)
    place = np.cumsum(active) - 1
    once = links.source < links.target
    edges = place[np.stack([links.source[once], links.target[once]], axis=1)]
    made = users[relaxed(edges, target[users], rng)]
    return completed(n, Links(made[:, 0], made[:, 1]))
