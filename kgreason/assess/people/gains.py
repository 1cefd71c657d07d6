"""What the attribute values that users gain cost them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Attribute, PeopleGraph

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gains:
    """Costs of users, summed over attributes, and values that have changed hands.

    Attributes
    ----------
    loss
        AL' times the number of attributes, of each user; 0 for removed ones; shape (n,).
    am
        The same of AM', of which every denominator is greater by 1.
    added, removed
        Values that users who remain have only in the release, and only in the original.
    """

    loss: Doubles
    am: Doubles
    added: int
    removed: int


def gains(original: PeopleGraph, released: PeopleGraph, mapping: Vertices) -> Gains:
    """Compare the values of the users that remain; `mapping` is as for `measure`.

    A numeric attribute costs the change of both bounds of the range over the largest change possible. Who has no value
    of it gains each unit of his new range, out of those of the domain.
    """
    loss, am = np.zeros(original.n), np.zeros(original.n)
    added = removed = 0
    back = np.full(released.n, -1, dtype=np.int64)
    back[mapping[mapping >= 0]] = np.flatnonzero(mapping >= 0)
    for name, old in original.attributes.items():
        new = released.attributes.get(name)
        ours, theirs, size = _keys(old, new, mapping, back)
        extra = np.setdiff1d(theirs, ours, assume_unique=True)
        added += len(extra)
        removed += len(np.setdiff1d(ours, theirs, assume_unique=True))
        if old.kind == "categorical":
            gained = np.bincount(extra // max(size, 1), minlength=original.n).astype(np.float64)
            room = len(old.domain) - np.bincount(old.user, minlength=original.n).astype(np.float64)
        else:
            gained, room = _widened(original.n, old, new, back)
        loss += gained / np.maximum(np.maximum(room, gained), np.finfo(np.float64).tiny)
        am += gained / (room + 1)
    return Gains(loss, am, added, removed)


def _keys(
    old: Attribute, new: Attribute | None, mapping: Vertices, back: Vertices
) -> tuple[Vertices, Vertices, int]:
    """Pairs (user, value) of the users that remain before and after, as numbers, and how many values there are."""
    place = {text: i for i, text in enumerate(old.domain)}
    if new is None:
        new_user = new_value = np.empty(0, dtype=np.int64)
    else:
        texts = [place.setdefault(text, len(place)) for text in new.domain]
        known = back[new.user] >= 0
        new_user = back[new.user[known]]
        new_value = np.array(texts, dtype=np.int64)[new.value[known]]
    size = len(place)
    stays = mapping[old.user] >= 0
    return old.user[stays] * size + old.value[stays], new_user * size + new_value, size


def _widened(n: int, old: Attribute, new: Attribute | None, back: Vertices) -> tuple[Doubles, Doubles]:
    """Change of the range of each user in a numeric attribute, and the largest change possible."""
    low, high = _bounds(n, old.user, old.numbers[old.value])
    if new is None:
        return np.zeros(n), np.ones(n)
    known = back[new.user] >= 0
    new_low, new_high = _bounds(n, back[new.user[known]], new.numbers[new.value[known]])
    least, most = (old.numbers.min(), old.numbers.max()) if len(old.domain) else (0.0, 0.0)
    had, has = low <= high, new_low <= new_high
    room = np.full(n, most - least + 1)
    room[had] = np.abs(low - least)[had] + np.abs(most - high)[had]
    gained = np.zeros(n)
    gained[has & ~had] = (new_high - new_low)[has & ~had] + 1
    both = has & had
    gained[both] = np.abs(new_low[both] - low[both]) + np.abs(new_high[both] - high[both])
    return gained, room


def _bounds(n: int, user: Vertices, number: Doubles) -> tuple[Doubles, Doubles]:
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, user, number)
    np.maximum.at(high, user, number)
    return low, high
