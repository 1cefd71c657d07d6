"""Pairs of entities: counts, random placement of links on them, and beliefs (LINKS, section 6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Vertices
from kgreason.links.model import Observations, Released, observations
from kgreason.people.model import Counts

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST = 2.0**62  # most slots of all pairs: sums and differences fit into int64
ROUNDS = 1_000  # at most a quarter of the draws of a row collide, so a few rounds suffice


@record(eq=False)
class Beliefs:
    """Probabilities that pairs of entities are linked by the sensitive relation.

    Row i gives the probability of each pair of an entity of the released node ``source[i]`` and a different entity of
    ``target[i]``: both int64, shape (m,), each pair once; source <= target if the relation is mutual. `others` is the
    probability of all pairs without a row.
    """

    source: Vertices
    target: Vertices
    probability: Doubles
    others: float
    mutual: bool


def check_unheld(released: Released, sensitive: str) -> None:
    """Raise `AnonymizationError` if a release holds the sensitive relation: there is nothing to infer."""
    if sensitive in released.graph.observed:
        raise AnonymizationError(
            f"the release holds the relation {sensitive!r} itself",
            hint="who can read it need not infer it; is this the release, and this the sensitive relation?",
        )


def all_pairs(n: int, mutual: bool) -> int:
    """Number of pairs of different entities among n, unordered if the relation is mutual."""
    return n * (n - 1) // 2 if mutual else n * (n - 1)


def pairs_between(size: Counts, source: Vertices, target: Vertices, mutual: bool) -> Counts:
    """Number of pairs of different entities, one of each source node and one of its target node; int64, shape (m,).

    Parameters
    ----------
    size
        Entities of each node, int64, shape (n,).
    mutual
        Whether pairs are unordered; otherwise two entities of one node are two pairs.

    Examples
    --------
    >>> pairs_between(np.array([2, 3]), np.array([0, 1]), np.array([1, 1]), mutual=True).tolist()
    [6, 3]
    """
    one, other = size[source], size[target]
    within = one * (one - 1) // (2 if mutual else 1)
    return np.where(source == target, within, one * other)


def slots_of(each: Counts | int, pairs: Counts) -> Counts:
    """Number of slots of all pairs with `each` slots; `AnonymizationError` if there are more than `MOST` in all."""
    if (np.asarray(each, dtype=np.float64) * pairs).sum() >= MOST:
        raise AnonymizationError(
            "the release has counts that are too large to compute with",
            hint="is this the release of this original?",
        )
    return each * pairs


def expected_power(base: float, slots: Counts, links: Counts, own: Counts) -> Doubles:
    """Expectation of ``base ** J`` (base from 0 to 1), where J is the number of links on a pair's own slots.

    The links occupy a uniformly random subset of the slots, so J is hypergeometric. Its probabilities follow from each
    other by ratios of small integers; this stays exact for any number of slots, which factorials would not.

    Parameters
    ----------
    slots, links, own
        Numbers of slots, of those that hold a link, and of those that belong to the pair; int64, shape (m,).

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
        scale = np.maximum(likely, 1.0)  # rescaled: probabilities far below the greatest vanish
        likely, total, powers = likely / scale, total / scale, powers / scale
    expected: Doubles = (powers / total)[back.reshape(-1)]
    return expected


def place(
    found: Observations, size: Ints, limit: int | None, name: str, rng: np.random.Generator
) -> Observations:
    """Place each link between two nodes on a random pair of their entities.

    With a limit, each pair has that many slots, and all choices of distinct slots are equally likely; without one,
    links are placed independently. Entities of node v are numbered from ``size[:v].sum()``. `name` is for messages.

    Raises
    ------
    AnonymizationError
        If two nodes have more links than the limit allows. (Within a node, excess links are taken for loops of entities
        and left out.)

    Examples
    --------
    >>> three = Observations(np.array([0]), np.array([1]), np.array([3]))
    >>> placed = place(three, np.array([1, 3]), 1, "classmates", np.random.default_rng(0))
    >>> placed.source.tolist(), placed.target.tolist()
    ([0, 0, 0], [1, 2, 3])
    """
    loops = (found.source == found.target) & (size[found.source] == 1)  # loops of an entity
    pairs = np.where(loops, 1, pairs_between(size, found.source, found.target, found.mutual))
    count = found.count
    if limit is None:
        row = np.repeat(np.arange(len(found)), count)
        pair = rng.integers(0, pairs[row])
    else:
        _check(found, size, pairs, limit, name)
        slots = np.where(loops, count, slots_of(limit, pairs))  # loops have no limit
        count = np.minimum(count, slots)
        row = np.repeat(np.arange(len(found)), count)
        pair = _slots(slots, count, rng) % pairs[row]
    source, target = _ends(found, size, row, pair)
    weight = None if found.weight is None else found.weight[row]
    return observations(source, target, mutual=found.mutual, weight=weight)


def _check(found: Observations, size: Ints, pairs: Ints, limit: int, name: str) -> None:
    crowded = np.flatnonzero((found.source != found.target) & (found.count > limit * pairs))
    if len(crowded):
        row = crowded[0]
        first, second = size[found.source[row]], size[found.target[row]]
        raise AnonymizationError(
            f"the release has {found.count[row]:,} links of {name!r} between nodes of {first} and {second} entities, "
            f"which is more than {limit} a pair",
            hint="say a larger limit, or none",
        )


def _slots(slots: Ints, count: Ints, rng: np.random.Generator) -> Ints:
    """Draw `count` distinct slots of each row, grouped by row; shape (sum of counts,)."""
    dense = 4 * count > slots
    chosen = [_dense(slots, np.where(dense, count, 0), rng), _sparse(slots, np.where(dense, 0, count), rng)]
    row, slot = np.concatenate(chosen, axis=1)
    ordered: Ints = slot[np.argsort(row, kind="stable")]
    return ordered


def _dense(slots: Ints, count: Ints, rng: np.random.Generator) -> Ints:
    """Draw by shuffling all slots of each row with a count; rows and slots, shape (2, m)."""
    slots = np.where(count > 0, slots, 0)
    row = np.repeat(np.arange(len(slots)), slots)
    start = np.cumsum(slots) - slots
    slot = np.arange(len(row)) - start[row]
    rank = slot
    order = np.lexsort((rng.random(len(row)), row))
    return np.stack([row, slot[order]])[:, rank < count[row]]


def _sparse(slots: Ints, count: Ints, rng: np.random.Generator) -> Ints:
    """Draw slots by rejection of repeated ones; rows and slots, shape (2, m)."""
    most = int(slots.max(initial=1))
    drawn = np.empty(0, dtype=np.int64)  # row * most + slot, ascending
    for _ in range(ROUNDS):
        row = np.repeat(np.arange(len(count)), count)
        if not len(row):
            return np.stack([drawn // most, drawn % most])
        new = np.sort(row * most + rng.integers(0, slots[row]))
        new = new[np.append(True, new[1:] != new[:-1])]
        at = np.minimum(np.searchsorted(drawn, new), max(len(drawn) - 1, 0))
        new = new[drawn[at] != new] if len(drawn) else new
        drawn = np.sort(np.concatenate([drawn, new]), kind="stable")
        count = count - np.bincount(new // most, minlength=len(count))
    raise AnonymizationError(f"{ROUNDS} draws did not place all links", hint="try again")


def _ends(found: Observations, size: Ints, row: Ints, pair: Ints) -> tuple[Ints, Ints]:
    """Both entities of each pair, from its number among the pairs of the row's nodes."""
    first = np.cumsum(size) - size
    source, target = found.source[row], found.target[row]
    own = (source == target) & (size[source] > 1)
    width = np.where(own, size[target] - 1, size[target])
    a, b = pair // width, pair % width
    b = np.where(own & (b >= a), b + 1, b)
    if found.mutual:  # the pair a < b has the number b(b-1)/2 + a
        high = ((1 + np.sqrt(1.0 + 8.0 * pair)) // 2).astype(np.int64)
        high -= high * (high - 1) // 2 > pair
        high += high * (high + 1) // 2 <= pair
        a, b = np.where(own, pair - high * (high - 1) // 2, a), np.where(own, high, b)
    return first[source] + a, first[target] + b
