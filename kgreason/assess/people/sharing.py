"""Whether users share what can be extracted of them with as many others as they must."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.assess.people.information import Classes, sizes
from kgreason.assess.people.verdict import Figures
from kgreason.assess.verdict import Item
from kgreason.assess.witness import SHOWN, listing
from kgreason.graph.people.model import Counts


def shared(
    classes: Classes, labels: npt.NDArray[np.object_], levels: Counts, what: str, name: str = "classes"
) -> tuple[Item, Figures]:
    """Whether the class of each user has at least as many users as his k, himself included.

    Parameters
    ----------
    classes
        Class of each user, int64, shape (n,).
    labels
        Their names, shape (n,).
    levels
        The k of each, int64, shape (n,).
    what
        What users of a class share, in words.

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
    """What can be said of `shared` if it is not known whose k is which.

    It holds if all classes have as many users as the highest k, and fails if users cannot be given any of these k, no
    two the same one, so that it holds. Users that nobody's k is left for have none.

    Parameters
    ----------
    levels
        The k of the users of the original, int64, in any order.
    """
    n = len(classes)
    size = np.sort(sizes(classes)) if n else np.zeros(0, dtype=np.int64)
    smallest = int(size[0]) if n else 0
    figures = Figures(n, len(np.unique(classes)), smallest, None, None)
    highest = int(levels.max(initial=1))
    if not n or smallest >= highest:
        every = f"each of {n:,} users shares {what} with enough others, whoever has the highest k, {highest}"
        return Item("classes", True, every), figures
    spare = np.ones(max(n - len(levels), 0), dtype=np.int64)
    lowest = np.sort(np.concatenate([spare, levels]))[:n]
    # Bijections that suit exist just if that of the ascending order does.
    if (lowest > size).any():
        never = f"users share {what} with too few, whoever of them has which k of the table"
        return Item("classes", False, never), figures
    unknown = f"the smallest class has {_counted(smallest)}, the highest k is {highest}, and whose it is is not said"
    return Item("classes", False, unknown, undecided=True), figures


def _counted(users: int) -> str:
    return f"{users:,} user{'s' * (users != 1)}"
