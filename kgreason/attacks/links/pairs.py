"""Pairs of entities: how many there are, how links may lie on them, what is believed of them (LINKS, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.errors import AnonymizationError
from kgreason.graph.links.model import Released
from kgreason.graph.model import Vertices
from kgreason.graph.people.model import Counts

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Probabilities that entities are linked by the sensitive relation.

    Row i is of any entity that the released node ``source[i]`` stands for and any (other) one of ``target[i]``.

    Attributes
    ----------
    source, target
        Nodes of the release, int64, shape (m,), no pair twice; if the relation is mutual source <= target. A node with
        itself is of pairs of different entities in it.
    probability
        float64, shape (m,).
    others
        Probability of all other pairs.
    mutual
        Whether direction means nothing.
    """

    source: Vertices
    target: Vertices
    probability: Doubles
    others: float
    mutual: bool


def check_unheld(released: Released, sensitive: str) -> None:
    """Refuse a release that holds the sensitive relation: there is nothing to infer.

    Raises
    ------
    AnonymizationError
        Saying so.
    """
    if sensitive in released.graph.observed:
        raise AnonymizationError(
            f"the release holds the relation {sensitive!r} itself",
            hint="who can read it need not infer it; is this the release, and this the sensitive relation?",
        )


MOST = 2.0**62  # slots of all pairs: sums and differences of so many are int64


def all_pairs(n: int, mutual: bool) -> int:
    """Number of pairs of different ones of n entities, unordered if the relation is mutual.

    Examples
    --------
    >>> all_pairs(4, mutual=True), all_pairs(4, mutual=False)
    (6, 12)
    """
    return n * (n - 1) // 2 if mutual else n * (n - 1)


def pairs_between(size: Counts, source: Vertices, target: Vertices, mutual: bool) -> Counts:
    """Number of pairs of different entities, one in each source and the other in its target.

    Parameters
    ----------
    size
        Entities of each node, int64, shape (n,).
    source, target
        Nodes, int64, shape (m,).
    mutual
        Whether two entities of the same node are one pair; else two.

    Returns
    -------
    Counts
        int64, shape (m,).

    Examples
    --------
    >>> pairs_between(np.array([2, 3]), np.array([0, 1]), np.array([1, 1]), mutual=True).tolist()
    [6, 3]
    """
    one, other = size[source], size[target]
    within = one * (one - 1) // (2 if mutual else 1)
    return np.where(source == target, within, one * other)


def slots_of(each: Counts | int, pairs: Counts) -> Counts:
    """Number of slots of pairs of entities of which each has so many, int64, shape (m,).

    Raises
    ------
    AnonymizationError
        If there are more of them in all than are reckoned with.

    Examples
    --------
    >>> slots_of(2, np.array([6, 3])).tolist()
    [12, 6]
    """
    if (np.asarray(each, dtype=np.float64) * pairs).sum() >= MOST:
        raise AnonymizationError(
            "the release has larger counts than can be reckoned with",
            hint="is this the release of this original?",
        )
    return each * pairs


def expected_power(base: float, slots: Counts, links: Counts, own: Counts) -> Doubles:
    """Expectation of ``base ** J`` where J of some equally likely slots are the own ones of a pair.

    The slots that hold links are any of all slots, so J is hypergeometric. Its probabilities follow from each other by
    ratios of small integers, which keeps the result exact for any number of slots, where factorials would not.

    Parameters
    ----------
    base
        From 0 to 1.
    slots
        Number of slots, int64, shape (m,).
    links
        How many of them hold a link, at most `slots`.
    own
        How many of them belong to the pair, at most `slots`.

    Returns
    -------
    Doubles
        float64, shape (m,).

    Examples
    --------
    >>> expected_power(0.4, np.array([4]), np.array([1]), np.array([1]))  # 1 - 0.6 / 4
    array([0.85])
    """
    cases, back = np.unique(np.stack([slots, links, own], axis=1), axis=0, return_inverse=True)
    slots, links, own = cases.T
    least, most = np.maximum(0, links + own - slots), np.minimum(links, own)
    likely, total, powers = np.ones(len(cases)), np.ones(len(cases)), np.power(base, least.astype(np.float64))
    for step in range(int((most - least).max(initial=0))):
        j = (least + step).astype(np.float64)
        likely = likely * (own - j) * (links - j) / ((j + 1) * (slots - links - own + j + 1))
        total = total + likely
        powers = powers + likely * np.power(base, j + 1)
        scale = np.maximum(likely, 1.0)  # probabilities that are far below the greatest one fade out
        likely, total, powers = likely / scale, total / scale, powers / scale
    expected: Doubles = (powers / total)[back.reshape(-1)]
    return expected
