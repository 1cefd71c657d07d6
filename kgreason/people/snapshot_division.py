"""Division of consecutive times into groups with nearly equal numbers of edges (THESIS, Appendix B).

A group of times i..j has the edges that exist at any of its times, each counted once. Among all divisions into a given
number of groups, `divide` finds one that minimizes the standard deviation of these counts. It moves all borders at
once, up to `_AROUND` places each, from far to near; then, for at most `EXACT` times, among all places. For more times,
the deviation itself bounds the distance from the optimum, which is at least 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.graph.knowledge_graph import Vertices

EXACT = 3000
_AROUND = 8  # places on each side of a border that are tried at once in longer series
_PLACES = 2500  # at most, except if 3 for each border are more
_EQUAL = 1e-9  # relative difference of sums of squares that counts as none

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spans:
    """Times at which edges exist: disjoint intervals of each edge.

    Attributes
    ----------
    first, last
        First and last time of each interval, int64, shape (m,).
    before
        Last time of the preceding interval of the same edge; -1 for the first one.
    """

    first: Vertices
    last: Vertices
    before: Vertices

    @classmethod
    def of(cls, edge: Vertices, first: Vertices, last: Vertices) -> Spans:
        """Unite overlapping intervals of the same edge, given by its number; times start at 0."""
        order = np.lexsort((first, edge))
        edge, first, last = edge[order], first[order], last[order]
        beyond = int(last.max(initial=0)) + 1
        reach = np.maximum.accumulate(edge * beyond + last) - edge * beyond
        same = np.diff(edge, prepend=-1) == 0
        begins = np.flatnonzero(~(same & (first <= np.roll(reach, 1))))
        ends = np.append(begins[1:], len(edge)) - 1
        last = reach[ends[begins <= ends]]
        return cls(first[begins], last, np.where(same[begins], np.roll(last, 1), -1))

    def counts(self, starts: Vertices) -> Vertices:
        """Number of edges of each group of blocks i..j in entry (j, i), int64, shape (b, b); 0 for i > j.

        `starts` are the first times of the blocks; the first is 0.
        """
        # the first interval of an edge that ends at block i or later: its predecessor ends before i, itself does not
        first, last, before = (
            np.searchsorted(starts, times, "right") - 1 for times in (self.first, self.last, self.before)
        )
        b = len(starts)
        found = np.bincount(first * (b + 1) + before + 1, minlength=b * (b + 1)).reshape(b, b + 1)[:, :b]
        found = np.cumsum(np.cumsum(found, axis=0), axis=1)
        found -= np.cumsum(np.bincount(last + 1, minlength=b + 1)[:b])
        return np.tril(found)


def divide(spans: Spans, times: int, groups: int) -> Vertices:
    """First time of each of `groups` groups that divide the times 0..times-1; int64, shape (groups,).

    Examples
    --------
    >>> day = np.array([0, 1, 2, 3, 4, 5])
    >>> divide(Spans.of(np.arange(6), day, day), 6, 3).tolist()
    [0, 2, 4]
    """
    begun = np.sort(spans.first)
    found = np.union1d(0, begun[(np.arange(groups) * len(begun)) // groups])[:groups]
    found = np.union1d(found, np.setdiff1d(np.arange(times), found)[: groups - len(found)])
    wide = min(_AROUND, max(_PLACES // (2 * groups), 1))
    around = np.arange(-wide, wide + 1)
    step = times // groups
    while step:
        places = np.unique(found[:, None] + step * around)
        places = np.union1d(found, places[(places > 0) & (places < times)])
        better = places[improved(spans.counts(places), np.searchsorted(places, found))]
        if np.array_equal(better, found):
            step //= 2
        found = better
    return least_deviation(spans.counts(np.arange(times)), found) if times <= EXACT else found


def improved(counts: Vertices, starts: Vertices) -> Vertices:
    """Better division than that with the given first blocks, by dynamic programs for the mean of the one before."""
    while True:
        band = _Band.of(counts, starts)
        better = band.best(band.mean)
        if not band.better(better):
            return starts
        starts = better.starts


def least_deviation(counts: Vertices, starts: Vertices) -> Vertices:
    """First block of each group of a division with the least standard deviation of `counts`; shape (groups,).

    The sum of squared differences from a given number c is least for a division that dynamic programming finds. It is
    min over divisions of Q - 2cS + groups·c², with the sum S of counts and Q of their squares; without the last term
    this is concave in c. Intervals of c are divided where a chord of the concave function admits a better division.

    Parameters
    ----------
    starts
        First blocks of any division to begin with.
    """
    band = _Band.of(counts, improved(counts, starts))
    best = band.known
    waiting = [(band.best(band.mean - 2 * band.radius), band.best(band.mean + 2 * band.radius))]
    while waiting:
        low, high = waiting.pop()
        best = min(best, low, high, key=lambda d: d.deviation)
        if low.sum < high.sum and _bound(low, high) < best.deviation * (1 - _EQUAL):
            middle = band.best((high.square - low.square) / (2 * (high.sum - low.sum)))
            if middle.value < low.line(middle.mean) - _EQUAL * low.square:
                waiting += [(low, middle), (middle, high)]
    return best.starts


@dataclass(frozen=True)
class _Division:
    """Division that is best for a given `mean`: first blocks, sum of its counts and of their squares."""

    starts: Vertices
    mean: float
    sum: int
    square: int

    @property
    def deviation(self) -> float:
        """Sum of squared deviations from its own mean."""
        return self.square - self.sum**2 / len(self.starts)

    def line(self, mean: float) -> float:
        """Q - 2cS at a mean c."""
        return self.square - 2 * mean * self.sum

    @property
    def value(self) -> float:
        """Q - 2cS at its given mean."""
        return self.line(self.mean)


def _bound(low: _Division, high: _Division) -> float:
    """Lower bound of the sum of squared deviations of divisions for means between two."""
    groups = len(low.starts)
    slope = (high.value - low.value) / (high.mean - low.mean)
    mean = min(max(-slope / (2 * groups), low.mean), high.mean)
    return groups * mean**2 + low.value + slope * (mean - low.mean)


@dataclass(frozen=True)
class _Band:
    """Groups that a division better than `known` can have, as a band of the matrix of counts.

    With the sum r² of squared deviations of the known division, the counts of a better one are within r of their mean.
    The two means differ by at most 2r: otherwise all groups of one division have more edges than all of the other, and
    end later, although both end with the last block. So all counts are within 3r of the known mean.

    Attributes
    ----------
    first
        First blocks of the groups that end with each block, and some others; int64, shape (b, width).
    count
        Their numbers of edges; inf where no group is.
    """

    known: _Division
    radius: float
    first: Vertices
    count: Floats

    @classmethod
    def of(cls, counts: Vertices, starts: Vertices) -> _Band:
        """The band around a known division."""
        known = _division(counts, starts)
        mean, radius = known.sum / len(starts), known.deviation**0.5
        fits = np.tril(np.abs(counts - mean) <= 3 * radius + 0.5)  # counts are whole
        low = fits.argmax(axis=1)
        width = max(int(fits.sum(axis=1).max()), 1)  # counts fall along a row: those that fit are neighbours
        first = np.minimum(low[:, None] + np.arange(width), len(counts) - 1)
        inside = np.take_along_axis(fits, first, axis=1) & (low[:, None] + np.arange(width) < len(counts))
        count = np.where(inside, np.take_along_axis(counts, first, axis=1), np.inf)
        return cls(known, radius, first, count)

    @property
    def mean(self) -> float:
        """Mean of the known division."""
        return self.known.sum / len(self.known.starts)

    def better(self, other: _Division) -> bool:
        """Whether a division is better than the known one."""
        return other.deviation < self.known.deviation * (1 - _EQUAL)

    def best(self, mean: float) -> _Division:
        """Division of the band with the least sum of squared differences from `mean`."""
        blocks, groups = np.arange(len(self.first)), len(self.known.starts)
        cost = (self.count - mean) ** 2
        least = np.full(len(blocks) + 1, np.inf)  # of the blocks before each
        least[0] = 0
        chosen = np.empty((groups, len(blocks)), dtype=np.int64)
        for group in range(groups):
            sums = least[self.first] + cost
            chosen[group] = sums.argmin(axis=1)
            least = np.append(np.inf, sums[blocks, chosen[group]])
        starts, counts = np.empty(groups, dtype=np.int64), []
        end = len(blocks) - 1
        for group in reversed(range(groups)):
            counts.append(int(self.count[end, chosen[group, end]]))
            starts[group] = self.first[end, chosen[group, end]]
            end = starts[group] - 1
        return _Division(starts, mean, sum(counts), sum(count**2 for count in counts))


def _division(counts: Vertices, starts: Vertices) -> _Division:
    own = counts[np.append(starts[1:], len(counts)) - 1, starts].tolist()
    return _Division(starts, sum(own) / len(own), sum(own), sum(count**2 for count in own))
