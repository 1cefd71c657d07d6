"""Random school with sensitive friendships: synthetic data for experiments (LINKS, section 8.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.setting_fields import check_probabilities
from kgreason.links.model import LinkGraph, Observations, Original, Sensitive

Members = npt.NDArray[np.int64]  # 0 or 1, shape (students, number)


def school(
    rng: np.random.Generator,
    *,
    students: int = 100,
    classes: int = 10,
    groups: int = 10,
    classes_each: int = 2,
    groups_each: int = 1,
    class_size: int = 25,
    group_size: int = 15,
    leak: float = 0.2,
    class_weight: float = 0.4,
    group_weight: float = 0.6,
) -> Original:
    """Draw a random school with sensitive friendships.

    Students in turn pick distinct classes among those with free seats, uniformly at random, and groups likewise; a
    student takes all of them if fewer are left. Two students are friends with the noisy-or probability of their shared
    classes and groups. The mutual relations ``classmates`` and ``groupmates`` have one link for each shared class or
    group; the sensitive relation is ``friends``.

    Parameters
    ----------
    students
        Number of nodes. Memory grows with its square: about one pair in three are friends.
    classes_each, groups_each
        Number that each student picks.
    class_size, group_size
        Most students of a class or group.
    leak
        Probability of a friendship for other reasons.
    class_weight, group_weight
        Probability that a shared class or group causes a friendship.

    Raises
    ------
    AnonymizationError
        If a number or probability is out of range, or there are too few seats.

    Examples
    --------
    >>> drawn = school(np.random.default_rng(1))
    >>> drawn.graph.n, drawn.graph.observed["classmates"].total > drawn.graph.observed["groupmates"].total
    (100, True)
    """
    check_probabilities(leak=leak, class_weight=class_weight, group_weight=group_weight)
    if students < 0:
        raise AnonymizationError(f"there cannot be {students} students", hint="ask for 1 or more")
    in_class = _members(rng, "class", students, classes, classes_each, class_size)
    in_group = _members(rng, "group", students, groups, groups_each, group_size)
    one, other = np.triu_indices(students, 1)
    shared_classes, shared_groups = ((m @ m.T)[one, other] for m in (in_class, in_group))
    strangers = (1 - leak) * (1 - class_weight) ** shared_classes * (1 - group_weight) ** shared_groups
    friends = rng.random(len(one)) < 1 - strangers
    observed = {
        name: Observations(one[count > 0], other[count > 0], count[count > 0], mutual=True)
        for name, count in (("classmates", shared_classes), ("groupmates", shared_groups))
    }
    labels = np.array([f"student{i + 1}" for i in range(students)], dtype=object)
    return Original(
        LinkGraph(labels, observed), Sensitive("friends", one[friends], other[friends], mutual=True)
    )


def _members(
    rng: np.random.Generator, what: str, students: int, number: int, each: int, size: int
) -> Members:
    if number < 0 or size < 0 or not 0 <= each <= number:
        raise AnonymizationError(
            f"{each} of {number} with {size} students per {what} cannot be picked",
            hint="ask for more or larger classes and groups, or for fewer of them each",
        )
    if students * each > number * size:
        raise AnonymizationError(
            f"{students} students who pick {each} need {students * each} places,"
            f" but there are {number} times {size}",
            hint=f"with {what}_size={-(-students * each // number)} or more there is room",
        )
    members = np.zeros((students, number), dtype=np.int64)
    room = np.full(number, size)
    for row in members:
        open_ones = np.flatnonzero(room)
        picked = rng.choice(open_ones, min(each, len(open_ones)), replace=False)
        row[picked] = 1
        room[picked] -= 1
    return members
