"""Who is seen in the next release: of users who looked alike so far none or at least k stay, and none or at least k go.

References
----------
THESIS, Algorithm 5, lines 5-11 and 16-18.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgreason.anonymizers.people.history import History
from kgreason.choices import LeftOut
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Texts

_NEW = -1


@dataclass(frozen=True, eq=False)
class Turnover:
    """Who will be released.

    Attributes
    ----------
    groups
        For each group of at least k users who are to be made alike among themselves: the users of the original graph
        in it, and its fakes, who are numbered from n on. int64 arrays.
    row
        Row of the history of each user of the original graph and of each fake; -1: he has no pseudonym yet.
        int64, shape (n + fakes,).
    withheld
        Number of users who are there but will not be released.
    new_fakes
        Number of fakes who were not in the history.
    """

    groups: list[tuple[Vertices, Vertices]]
    row: Vertices
    withheld: int
    new_fakes: int


def turnover(history: History, originals: Texts, rng: np.random.Generator, left_out: LeftOut) -> Turnover:
    """Choose who of the users with the same series stays, so that neither those seen nor those unseen are 1 to k-1.

    Parameters
    ----------
    originals
        Names of the users of the original graph, shape (n,).
    rng
        Chooses who goes, where some must: a choice by their data would say something about those who left.
    left_out
        What becomes of users who stay while fewer than k of those like them leave, or while fewer than k stay.

        - ``"withhold"``: some or all of them are not released, until they may be, or until the window has passed since
          they were last seen. So does the thesis.
        - ``"replace"``: they stay; fakes take the pseudonyms of those who left, as many as must be.
    """
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
    return Turnover(groups, rows, withheld, lacking)


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
