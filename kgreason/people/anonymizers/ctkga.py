"""CTKGA: the next release of a changing graph of people, safe against a comparison of w releases.

References
----------
THESIS, chapter 5: Definition 22 (kw-Time-Varying Attribute Degree), Algorithm 5 (lines 5-11 and 16-18), Algorithm 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kgreason.base.cores import each
from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.generalization import Figures, Generalized
from kgreason.people.anonymizers.generalization import generalize as generalized
from kgreason.people.anonymizers.history import History
from kgreason.people.anonymizers.user_distances import Among, Clusters, Distance
from kgreason.people.anonymizers.valid_clusters import k_medoids_partition
from kgreason.people.model import PeopleGraph, Texts
from kgreason.people.settings import LeftOut
from kgreason.release.mapping import fresh_labels

_NEW = -1


@record(eq=False)
class _Turnover:
    # Groups of at least k users to be made alike: users of the original graph, and fakes, numbered from n.
    groups: list[tuple[Vertices, Vertices]]
    row: Vertices  # history row of each user and fake, shape (n + fakes,); -1: no pseudonym yet
    withheld: int  # present users that are not released
    new_fakes: int  # fakes that are not in the history


def _turnover(history: History, originals: Texts, rng: np.random.Generator, left_out: LeftOut) -> _Turnover:
    """Choose which users of each series are shown, so that 0 or at least k are shown, and 0 or at least k are not."""
    # The choice is random: one by data would disclose information about the users who left.
    n, k = len(originals), history.k
    row = history.rows(originals)
    user = np.full(len(history.names), -1, dtype=np.int64)
    user[row[row >= 0]] = np.flatnonzero(row >= 0)
    fake = np.array([name is None for name in history.originals], dtype=np.bool_)
    if left_out == "replace":
        fake |= user < 0
    group = history.groups()
    order = np.argsort(group, kind="stable")
    groups: list[tuple[Vertices, Vertices]] = []
    fakes: list[Vertices] = []
    missed: list[Vertices] = []
    count = n
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        here, free = user[members][user[members] >= 0], members[fake[members]]
        released, fakes_shown = shown(len(here), len(members) - len(here) - len(free), len(free), k)
        if released < len(here):
            here = rng.permutation(here)
            missed.append(here[released:])
        if released:
            groups.append((here[:released], np.arange(count, count + fakes_shown)))
            fakes.append(free[:fakes_shown])
            count += fakes_shown
    withheld = sum(map(len, missed))
    new = np.flatnonzero(row < 0)
    lacking = max(0, k - len(new)) if len(new) else 0
    if len(new):
        groups.append((new, np.arange(count, count + lacking)))
    rows = np.concatenate([row, *fakes, np.full(lacking, _NEW, dtype=np.int64)])
    return _Turnover(groups, rows, withheld, lacking)


def shown(present: int, absent: int, fakes: int, k: int) -> tuple[int, int]:
    """Number of present users and of fakes to show of at least k users with the same series.

    Of those shown, and of those not shown, there are 0 or at least k. As many present users as possible are shown, with
    as few fakes as possible; fakes are not shown without users. `absent` users are not in the original graph now, and
    `fakes` may be shown or not.

    Examples
    --------
    >>> shown(present=4, absent=1, fakes=0, k=2)  # one must go with him who went
    (3, 0)
    >>> shown(present=2, absent=1, fakes=0, k=2)  # then too few would be left
    (0, 0)
    >>> shown(present=2, absent=1, fakes=1, k=2)  # a fake goes instead
    (2, 0)
    >>> shown(present=1, absent=0, fakes=1, k=2)  # he has company as long as he stays
    (1, 1)
    """
    if not present:
        return 0, 0
    everyone = present + absent + fakes
    few = max(0, k - present)
    rest = everyone - present - few
    if few <= fakes and (rest == 0 or rest >= k):
        return present, few
    if not absent:
        return present, fakes
    return (everyone - k, 0) if present >= k and everyone >= 2 * k else (0, 0)


# clusters of the users of a distance, for a k, of any sizes
Clustering = Callable[[Among, int, np.random.Generator], Clusters]
# clusters of at least k users, everyone in one, made from clusters of any sizes
Partition = Callable[[Among, Clusters, int, np.random.Generator], Clusters]
# makes users of a cluster alike; values that nobody has any more must not be in a domain
Generalization = Callable[[PeopleGraph, Clusters, np.random.Generator], Generalized]


@record(eq=False)
class NextRelease:
    """The next release of a series.

    Attributes
    ----------
    graph
        The graph to publish; labels are pseudonyms, in ascending order.
    mapping
        Released user of each original user, -1: not released.
    history
        Private history for the next release, to be kept if and only if the graph is published.
    figures
        Numbers of users released and withheld, of fakes and of new fakes. Fakes are released users who are not in the
        original graph now.
    changes
        Changes by the generalization; fakes count as users.
    """

    graph: PeopleGraph
    mapping: Vertices
    history: History
    figures: Mapping[str, int]
    changes: Figures


def next_release(
    graph: PeopleGraph,
    history: History | None,
    k: int,
    window: int,
    rng: np.random.Generator,
    *,
    distance: Distance,
    cluster: Clustering | None = None,
    partition: Partition = k_medoids_partition,
    generalize: Generalization = generalized,
    left_out: LeftOut = "withhold",
    secret: np.random.Generator | None = None,
) -> NextRelease:
    """Anonymize a graph so that it can be published after the earlier releases of the same series.

    Users keep their pseudonym while the window reaches their last appearance; after that they count as new and get
    another one. With a window of 1 no pseudonym is kept: the guarantee covers single releases, which are not linked.

    Correctness: in any `window` consecutive releases, each shown user shares the series of values and degrees with k -
    1 others. The proof is by induction. A user shown in one of the last window - 1 releases has the same series in them
    as k - 1 others, because that holds in the longer window that ends with them. `_turnover` shows 0 or at least k
    users of such a group, and leaves out 0 or at least k. Those left out share one more absence. Those shown are split
    into clusters of at least k, whose users are alike in the new release. Users in none of the last window - 1 releases
    share their absence, and are shown in clusters of at least k as well. Attributes and relations may change between
    releases: within a release they are the same for all users, hence distinguish none. `History.after` checks the
    counts again.

    Differences from Algorithm 5: a fake stays with the users for whom it was made, or leaves in place of one of them,
    while in the thesis each fake counts as a user who has left, so that others must leave; any group of new users is
    filled up with fakes, also in the first release; users beyond the window get new pseudonyms; if a clustering finds
    no cluster of k users, which others could join, the whole group is one cluster.

    Parameters
    ----------
    graph
        The current original graph: n users, identified by the same labels in all graphs of the series.
    history
        History returned by the last release of the series; `None` for the first one.
    k, window
        Guarantee of the series; equal to or weaker than that of earlier releases.
    cluster, partition
        Clustering of users with the same series, of any sizes (`None`: one cluster), and its partition into sizes >= k.
    generalize
        Makes the users of a cluster alike in values and degrees. It receives the graph with fakes appended, as users
        without values and links, and `Clusters` with -1 for users not to be released.
    left_out
        Treatment of present users when fewer than k users with the same series leave, or fewer than k stay: they are
        not released (``"withhold"``) until they can be, or until the window has passed since they were last shown, as
        in the thesis; or they stay (``"replace"``), and fakes take the pseudonyms of those who left.
    secret
        Generator of pseudonyms, for experiments; `None`: the source of the operating system.

    Raises
    ------
    AnonymizationError
        If k or the window is invalid, or a given function leaves fewer than k users alike.
    """
    history = History.start(k, window) if history is None else history.agreed(k, window)
    plan = _turnover(history, graph.labels, rng, left_out)
    clusters = _clustered(plan, k, distance, cluster, partition, rng)
    names, originals = _named(graph.labels, plan.row, history, secret)
    alike = generalize(replace(graph, labels=names), clusters, rng)
    order = np.argsort(alike.graph.labels.astype(str))  # labels are random: fakes must not come last
    released, users = alike.graph.of(order), alike.users[order]
    mapping = np.full(len(names), -1, dtype=np.int64)
    mapping[users] = np.arange(len(users))
    fakes = len(names) - graph.n
    figures = {
        "users": len(users) - fakes,
        "withheld": plan.withheld,
        "fakes": fakes,
        "new fakes": plan.new_fakes,
    }
    after = history.after(released, originals[users])
    return NextRelease(released, mapping[: graph.n], after, figures, alike.figures)


def _clustered(
    plan: _Turnover,
    k: int,
    distance: Distance,
    cluster: Clustering | None,
    partition: Partition,
    rng: np.random.Generator,
) -> Clusters:
    """Cluster of each user of the graph and each fake; -1: not released."""

    def split(i: int) -> Clusters:
        (users, fakes), stream = plan.groups[i], streams[i]
        made = np.zeros(len(users), dtype=np.int64)
        if len(users) >= 2 * k:
            part = Among(distance, users)
            found = made if cluster is None else cluster(part, k, stream)
            if np.bincount(found + 1)[1:].max(initial=0) < k:
                found = made  # no cluster that others could join: one cluster
            made = partition(part, found, k, stream)
        count = int(made.max()) + 1
        # fakes join random clusters: they have no values to lose
        whole = np.concatenate([made, stream.integers(count, size=len(fakes))])
        sizes = np.bincount(whole[whole >= 0])
        if whole.min() < 0 or sizes[sizes > 0].min() < k:
            raise AnonymizationError(
                f"the clusters of {len(users):,} users do not all have at least {k} of them, or leave some out",
                hint="use a partition that assigns everyone, such as the k-medoids partition",
            )
        return whole

    streams = rng.spawn(len(plan.groups))
    clusters = np.full(len(plan.row), -1, dtype=np.int64)
    first = 0
    for (users, fakes), made in zip(plan.groups, each(split, range(len(plan.groups))), strict=True):
        clusters[np.concatenate([users, fakes])] = first + made
        first += int(made.max()) + 1
    return clusters


def _named(
    labels: Texts, row: Vertices, history: History, secret: np.random.Generator | None
) -> tuple[Texts, Texts]:
    """Pseudonym and original name of each user and fake; users without a pseudonym get one, even if not shown."""
    # A pseudonym beyond the window may in theory be drawn again: no window then holds both of its users.
    names = fresh_labels(len(row), secret, {*history.names, *labels})
    known = row >= 0
    names[known] = history.names[row[known]]
    originals = np.full(len(row), None, dtype=object)
    originals[known] = history.originals[row[known]]
    originals[: len(labels)] = labels
    return names, originals
