"""CTKGA: the next release of a graph of people that changes, safe against a comparison of w releases.

References
----------
THESIS, Algorithm 5, lines 5-11 and 16-18.

THESIS, chapter 5: Definition 22 (kw-Time-Varying Attribute Degree), Algorithms 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kgreason.base.cores import each
from kgreason.base.errors import AnonymizationError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people.anonymizers.generalization import Figures, Generalized
from kgreason.people.anonymizers.generalization import generalize as generalized
from kgreason.people.anonymizers.history import History
from kgreason.people.anonymizers.user_distances import Among, Clusters, Distance
from kgreason.people.anonymizers.valid_clusters import k_medoids_partition
from kgreason.people.model import PeopleGraph, Texts
from kgreason.people.settings import LeftOut
from kgreason.release.opaque_labels import fresh_labels

_NEW = -1


@dataclass(frozen=True, eq=False)
class _Turnover:
    # Each group of at least k users to be made alike: users of the original graph, and fakes, numbered from n on.
    groups: list[tuple[Vertices, Vertices]]
    row: Vertices  # row of the history of each user and fake, shape (n + fakes,); -1: no pseudonym yet
    withheld: int  # users who are there but will not be released
    new_fakes: int  # fakes who were not in the history


def _turnover(history: History, originals: Texts, rng: np.random.Generator, left_out: LeftOut) -> _Turnover:
    """Choose who of the users with the same series stays, so that neither those seen nor those unseen are 1 to k-1."""
    # Who goes, where some must, is drawn: a choice by their data would say something about those who left.
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
        seen, helpers = shown(len(here), len(members) - len(here) - len(free), len(free), k)
        if seen < len(here):
            here = rng.permutation(here)
            missed.append(here[seen:])
        if seen:
            groups.append((here[:seen], np.arange(count, count + helpers)))
            fakes.append(free[:helpers])
            count += helpers
    withheld = sum(map(len, missed))
    new = np.flatnonzero(row < 0)
    lacking = max(0, k - len(new)) if len(new) else 0
    if len(new):
        groups.append((new, np.arange(count, count + lacking)))
    rows = np.concatenate([row, *fakes, np.full(lacking, _NEW, dtype=np.int64)])
    return _Turnover(groups, rows, withheld, lacking)


def shown(present: int, absent: int, fakes: int, k: int) -> tuple[int, int]:
    """Number of present users and of fakes to show of at least k users with the same series.

    Of those shown, and of all others, there are none or at least k. As many present users as possible are shown, and
    beside them as few fakes as possible; no fakes alone.

    Parameters
    ----------
    present, absent
        Users who are in the original graph now, and who are not.
    fakes
        Who can be shown or not, as it suits.

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


Clustering = Callable[[Distance, int, np.random.Generator], Clusters]
"""Clusters of the users of a distance, for a k, of any sizes."""
Partition = Callable[[Distance, Clusters, int, np.random.Generator], Clusters]
"""Clusters of at least k users, everyone in one, made from clusters of any sizes."""


Generalization = Callable[[PeopleGraph, Clusters, np.random.Generator], Generalized]
"""Makes users of a cluster alike; values that nobody has any more must not be in a domain."""


@dataclass(frozen=True, eq=False)
class NextRelease:
    """One more release of a series.

    Attributes
    ----------
    graph
        To be published; labels are pseudonyms, whose order is that of the users.
    mapping
        Released user of each original user, int64, shape (n,); -1: not released.
    history
        To be kept, privately, if and only if the graph is published: the next release needs it.
    figures
        Numbers of users released and withheld, of fakes and of those of them that are new. Fakes are released
        users who are not in the original graph now.
    changes
        What the generalization changed; fakes count as users there.
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
    another one. With a window of 1 nobody keeps his: releases promise nothing together, so nothing links them.

    Why in any `window` releases in a row each user seen shares his series of values and degrees with k - 1 others, by
    induction on the releases: Let it hold for those before. A user who was in one of the last window - 1 has the same
    series in these as k - 1 others, since he has in the window that ends with them, whose further release only tells
    more users apart. `_turnover` shows none or at least k of such a group, and leaves out none or at least k. Those
    left out share one more absence. Those shown are split into clusters of at least k, within which all look alike in
    the new release. Users who were in none of the last window - 1 releases share their absence, and are shown in
    clusters of at least k as well. Attribute types and relations may change from one release to the next: they are
    the same for all users of one release, hence tell none of them from others. `History.after` counts again.

    What differs from Algorithm 5: a fake stays with the users for whom it was made, or goes in place of one of them,
    where there each fake counts as a user who has left, for whose sake others must leave; any group of new users is
    filled up with fakes, also in the first release; users whom the window no longer reaches get new pseudonyms; where
    a clustering finds no cluster of k users, which nobody could join, all users of the group are one.

    Parameters
    ----------
    graph
        The original graph now: n users, known by their labels in all graphs of the series.
    history
        What the last release of the series returned; `None`: there is none.
    k, window
        The promise; it may be weaker than before, not stronger.
    rng
        For all choices but those of pseudonyms.
    distance
        Of the n users.
    cluster, partition
        Clusters of users with the same series: of any sizes (`None`: all are one), and from those such of at least k.
    generalize
        Makes users of a cluster alike in values and degrees. It gets the graph with fakes appended, users without
        values and links, and `Clusters` in which -1 is who will not be released.
    left_out
        What becomes of users who stay while fewer than k of those like them leave, or while fewer than k stay.

        - ``"withhold"``: some or all of them are not released, until they may be, or until the window has passed since
          they were last seen. So does the thesis.
        - ``"replace"``: they stay; fakes take the pseudonyms of those who left, as many as must be.
    secret
        Draws pseudonyms, for experiments; `None`: the operating system does.

    Raises
    ------
    AnonymizationError
        For a k or window that cannot be promised, and if a function given leaves fewer than k users alike.

    Examples
    --------
    >>> from kgreason.people.anonymizers.losses import AttributeDegreeLoss
    >>> jobs = [("Ken", "job", "Student"), ("Mary", "job", "Student"), ("Jane", "job", "Cook")]
    >>> graph = PeopleGraph.from_triples(["Ken", "Mary"], jobs[:2])
    >>> rng = np.random.default_rng(0)
    >>> first = next_release(graph, None, 2, 3, rng, distance=AttributeDegreeLoss(graph))
    >>> later = PeopleGraph.from_triples(["Ken", "Mary", "Jane"], jobs)
    >>> second = next_release(later, first.history, 2, 3, rng, distance=AttributeDegreeLoss(later))
    >>> second.graph  # nobody can tell Jane, the only new user, from the fake beside her
    <PeopleGraph with 4 users; attributes: job 4>
    >>> bool((second.graph.labels[second.mapping[:2]] == first.graph.labels[first.mapping]).all())
    True
    """
    history = History.start(k, window) if history is None else history.agreed(k, window)
    plan = _turnover(history, graph.labels, rng, left_out)
    clusters = _clustered(plan, k, distance, cluster, partition, rng)
    names, originals = _named(graph.labels, plan.row, history, secret)
    alike = generalize(replace(graph, labels=names), clusters, rng)
    order = np.argsort(alike.graph.labels.astype(str))  # of random labels: fakes must not come last
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
    """Clusters of the users of the graph and of the fakes; -1: not released."""

    def split(i: int) -> Clusters:
        (users, fakes), stream = plan.groups[i], streams[i]
        made = np.zeros(len(users), dtype=np.int64)
        if len(users) >= 2 * k:
            part = Among(distance, users)
            found = made if cluster is None else cluster(part, k, stream)
            if np.bincount(found + 1)[1:].max(initial=0) < k:
                found = made  # no cluster that others could join: all are one
            made = partition(part, found, k, stream)
        count = int(made.max()) + 1
        # whose cluster a fake joins has nothing to do with him: he has nothing to lose
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
    """Pseudonym and original name of each user and fake; who has no pseudonym gets one, also if it will not be seen."""
    # One that left the window may in theory be drawn again: no window then holds both of its users.
    names = fresh_labels(len(row), secret, {*history.names, *labels})
    known = row >= 0
    names[known] = history.names[row[known]]
    originals = np.full(len(row), None, dtype=object)
    originals[known] = history.originals[row[known]]
    originals[: len(labels)] = labels
    return names, originals
