"""Information about users that an attacker can extract, and equivalence classes of users by it.

References
----------
THESIS, definitions 1, 6, 18 and 19: I(u), and the series of it over several releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.refinement import multisets, paired
from kgreason.people.model import Counts, PeopleGraph
from kgreason.people.verification.verdict import Figures
from kgreason.release.verdicts import SHOWN, Item, listing

# of each user, shape (n,), at least 0: equal just if the information on them is
Classes = npt.NDArray[np.int64]


def information(graph: PeopleGraph) -> Classes:
    """Classes of users with the same I(u): values, and out-degree and in-degree in each relation.

    Values are equal if their attribute and text are, also for numeric attributes.

    References
    ----------
    THESIS, definition 6; PCKGA, definition 1.
    """
    return paired(values(graph), degrees(graph))


def values(graph: PeopleGraph) -> Classes:
    """Classes of users with the same set of values of all attributes."""
    return multisets(*_entries(graph), graph.n)


def degrees(graph: PeopleGraph) -> Classes:
    """Classes of users with the same out-degree and in-degree in each relation (THESIS, definition 1 and example 7)."""
    columns = np.concatenate([graph.out_degrees(), graph.in_degrees()], axis=1).T
    return reduce(paired, columns, np.zeros(graph.n, dtype=np.int64))


@record(eq=False)
class History:
    """Users and their information over several releases.

    Attributes
    ----------
    labels
        Names of all users, by first appearance; shape (n,).
    classes
        Class of each user: equal if and only if the series of information are.
    present
        Presence of each user in each release, bool, shape (n, releases).
    """

    labels: npt.NDArray[np.object_]
    classes: Classes
    present: npt.NDArray[np.bool_]


def history(graphs: Sequence[PeopleGraph]) -> History:
    """Classes of users with the same series of I(u) over some releases, in the order given.

    Users are identified by name. A user who is not in a release has (∅, ∅, ∅) there. That differs from any user in the
    release, whose degrees are known to be 0. In a release without relations, I(u) of a user without values would be
    equal to it; but attackers know who is in a release, so the two are distinguished there as well.

    References
    ----------
    THESIS, definitions 18 and 19, example 17; section 5.1 on the knowledge of attackers.
    """
    names = list(dict.fromkeys(label for graph in graphs for label in graph.labels.tolist()))
    number = {label: i for i, label in enumerate(names)}
    classes = np.zeros(len(names), dtype=np.int64)
    present = np.zeros((len(names), len(graphs)), dtype=bool)
    for column, graph in enumerate(graphs):
        here = np.array([number[label] for label in graph.labels.tolist()], dtype=np.int64)
        own = np.zeros(len(names), dtype=np.int64)
        own[here] = information(graph) + 1
        present[here, column] = True
        classes = paired(classes, own)
    return History(np.array(names, dtype=object), classes, present)


def sizes(classes: Classes) -> Counts:
    """Size of the class of each user."""
    return np.bincount(classes)[classes].astype(np.int64)


def distinct(numbers: Classes) -> Classes:
    """Distinct numbers in ascending order; for many numbers far faster than `numpy.unique`, which hashes."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _entries(graph: PeopleGraph) -> tuple[Classes, Classes]:
    """Users and their values of all attributes; ordered, pairs are unique."""
    total = sum(len(a.domain) for a in graph.attributes.values())
    parts, before = [np.zeros(0, dtype=np.int64)], 0
    for a in graph.attributes.values():
        parts.append(a.user * total + (before + a.value))
        before += len(a.domain)
    key = distinct(np.concatenate(parts))
    return key // max(total, 1), key % max(total, 1)


def shared(
    classes: Classes, labels: npt.NDArray[np.object_], levels: Counts, what: str, name: str = "classes"
) -> tuple[Item, Figures]:
    """Condition: the class of each user has at least as many users as the user's k; `what` they share, in words.

    References
    ----------
    THESIS, definitions 2, 9, 22 and 23.
    """
    n = len(classes)
    if not n:
        return Item(name, True, "there are no users"), Figures(0, 0, 0, 0, 1.0)
    size = sizes(classes)
    ratio = size / levels
    below = np.flatnonzero(size < levels)
    distinct = int(np.count_nonzero(np.bincount(classes)))
    figures = Figures(n, distinct, int(size.min()), len(below), float(ratio.min()))
    if not len(below):
        spread = f"{distinct:,} classes of {size.min():,} to {size.max():,} users"
        return Item(name, True, f"each of {n:,} users shares {what} with enough others: {spread}"), figures
    worst = below[np.argsort(ratio[below], kind="stable")]
    least = int(worst[0])
    detail = (
        f"{len(below):,} of {n:,} users share {what} with too few; "
        f"at worst {_counted(int(size[least]))} where k = {levels[least]}"
    )
    words = (f"{labels[u]}: {_counted(int(size[u]))} in the class, k = {levels[u]}" for u in worst[:SHOWN])
    return Item(name, False, detail, listing(words, len(below))), figures


def shared_by_anyone(classes: Classes, levels: Counts, what: str) -> tuple[Item, Figures]:
    """Decide `shared` as far as possible if it is unknown which user has which k.

    It holds if all classes have as many users as the highest k. It fails if no injective assignment of these k to the
    users satisfies it. Users beyond the number of k have none. `levels` are those of the original, in any order.
    """
    n = len(classes)
    size = np.sort(sizes(classes)) if n else np.zeros(0, dtype=np.int64)
    smallest = int(size[0]) if n else 0
    figures = Figures(n, len(np.unique(classes)), smallest, None, None)
    highest = int(levels.max(initial=1))
    if not n or smallest >= highest:
        every = (
            f"each of {n:,} users shares {what} with enough others, whichever has the highest k, {highest}"
        )
        return Item("classes", True, every), figures
    spare = np.ones(max(n - len(levels), 0), dtype=np.int64)
    lowest = np.sort(np.concatenate([spare, levels]))[:n]
    # A suitable bijection exists if and only if the one of the ascending order is suitable.
    if (lowest > size).any():
        never = f"users share {what} with too few, in whatever order they have the levels of the table"
        return Item("classes", False, never), figures
    unknown = (
        f"the smallest class has {_counted(smallest)}, the highest k is {highest}, but no mapping is given"
    )
    return Item("classes", False, unknown, undecided=True), figures


def _counted(users: int) -> str:
    return f"{users:,} user{'s' * (users != 1)}"
