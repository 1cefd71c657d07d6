"""How many pairs two closures have, and have in common: exactly, or estimated on a sample of targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.assess.closure import Closure, Flags, Ints
from kgreason.assess.closure_kernels import common_bits, mark, sinks_first, spread
from kgreason.assess.confidence import NORMAL
from kgreason.cores import each
from kgreason.distinct import GOLDEN
from kgreason.graph.model import Vertices

EFFORT = 4_000_000_000
"""Words of 64 targets that are carried along edges at most; beyond it targets are sampled."""
_BYTES = 1 << 26  # of the bits that one thread holds
_SAMPLES = 30  # groups of sampled targets at least, whose spread tells the error


@dataclass(frozen=True)
class Pairs:
    """Numbers of pairs: of each closure, and those that both have.

    Attributes
    ----------
    sampled
        Number of targets that were looked at if it is a sample; 0: all were, and the numbers are exact.
    margin
        Half-width of the 95 % confidence interval of the share of pairs that only one closure has.
    """

    before: int
    after: int
    common: int
    sampled: int = 0
    margin: float = 0.0


def compare(before: Closure, after: Closure, mapping: Vertices, effort: int = EFFORT) -> Pairs:
    """Count the pairs of two closures by vertex identity.

    Parameters
    ----------
    mapping
        Vertex v of `before` is vertex ``mapping[v]`` of `after`; int64, shape (n,).
    effort
        Bound of the work.

    Examples
    --------
    >>> ends = np.array([0, 1]), np.array([1, 2])
    >>> path = Closure(3, *ends, np.zeros(3, dtype=bool), cycles=False)
    >>> longer = Closure(4, np.array([3, 2, 1]), np.array([2, 1, 0]), np.zeros(4, dtype=bool), cycles=False)
    >>> compare(path, longer, np.array([3, 2, 0]))
    Pairs(before=3, after=6, common=3, sampled=0, margin=0.0)
    """
    first, second = _Condensed(before), _Condensed(after)
    origin = np.full(after.n, -1, dtype=np.int64)
    origin[mapping] = np.arange(before.n)
    kept = _contained(before, after, mapping)
    one, other, sizes = _classes(first.of[: before.n], second.of[mapping])
    cost = len(first.to) + len(second.to) + first.count + second.count + (0 if kept else len(sizes))
    words = -(-after.n // 64)
    affordable = max(effort // max(cost, 1), _SAMPLES)
    width = max(1, min(words, _BYTES // (8 * max(first.count, second.count, 1))))
    if affordable < words:
        words, width = affordable, max(1, min(width, affordable // _SAMPLES))
    # an order that has nothing to do with the numbers of vertices, so that the first ones are a sample
    column = np.argsort(np.arange(1, after.n + 1) * GOLDEN, kind="stable")[: 64 * words]

    def block(start: int) -> tuple[int, int, int]:
        here = column[start : start + 64 * width]
        to, places = origin[here], np.arange(len(here), dtype=np.int64)
        old = to >= 0
        marks = first.reached(first.of[to[old]], places[old], width)
        more = second.reached(second.of[here], places, width)
        ones, twos = (np.arange(c.count, dtype=np.int64) for c in (first, second))
        own = int(old.sum())  # each vertex is marked as reached from itself, which is no pair here
        held = common_bits(first.sizes, ones, marks, ones, marks) - own
        return (
            held,
            common_bits(second.sizes, twos, more, twos, more) - len(here),
            held if kept else common_bits(sizes, one, marks, other, more) - own,
        )

    counted = np.array(each(block, range(0, len(column), 64 * width)), dtype=np.int64).reshape(-1, 3)
    diagonals = first.diagonal(before), second.diagonal(after)
    same = int((diagonals[0] & diagonals[1][mapping]).sum())
    loops = np.array([int(diagonals[0].sum()), int(diagonals[1].sum()), same])
    if len(column) == after.n:
        found = counted.sum(axis=0) + loops
        return Pairs(int(found[0]), int(found[1]), int(found[2]))
    share = len(column) / after.n
    found = np.rint(counted.sum(axis=0) / share).astype(np.int64) + loops
    return Pairs(int(found[0]), int(found[1]), int(found[2]), len(column), _margin(counted, share))


def _margin(counted: npt.NDArray[np.int64], share: float) -> float:
    """Error of a ratio of sums over groups (W. G. Cochran, Sampling Techniques, 3rd edition, 1977, §6.4)."""
    common = counted[:, 2].astype(np.float64)
    union = counted[:, 0] + counted[:, 1] - common
    if not union.sum():
        return 0.0
    rest = common - union * (common.sum() / union.sum())
    groups = len(counted)
    variance = groups / max(groups - 1, 1) * float((rest**2).sum()) * (1 - share)
    return NORMAL * float(np.sqrt(variance)) / float(union.sum())


def _contained(before: Closure, after: Closure, mapping: Vertices) -> bool:
    """Whether all steps of the one are steps of the other, so that all its pairs are, too."""
    ours = mapping[before.source] * after.n + mapping[before.target]
    theirs = after.source * after.n + after.target
    at = np.searchsorted(theirs, ours)
    return not len(ours) or (len(theirs) > 0 and np.array_equal(theirs.take(at, mode="clip"), ours))


def _classes(a: Ints, b: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct pairs of two numbers, and how often each stands there."""
    base = int(b.max(initial=0)) + 1
    keys, counts = np.unique(a * base + b, return_counts=True)
    return keys // base, keys % base, counts.astype(np.int64)


class _Condensed:
    """Strongly connected components and the edges between them; edges lead to lower numbers."""

    def __init__(self, closure: Closure) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = closure.n
        ones = np.ones(len(closure.source), dtype=np.int8)
        matrix = coo_array((ones, (closure.source, closure.target)), shape=(n, n))
        count, of = connected_components(matrix, connection="strong")
        of = of.astype(np.int64)
        a, b = of[closure.source], of[closure.target]
        apart = a != b
        sources, targets, _ = _classes(a[apart], b[apart])
        order: Ints = np.empty(count, dtype=np.int64)
        out = np.bincount(sources, minlength=count).astype(np.int64)
        back = np.argsort(targets, kind="stable")
        sinks_first(_starts(targets, count), np.ascontiguousarray(sources[back]), out, order)
        rank: Ints = np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)
        sources, targets = rank[sources], rank[targets]
        forth = np.argsort(sources, kind="stable")
        self.ptr: Ints = _starts(sources, count)
        self.to: Ints = np.ascontiguousarray(targets[forth])
        self.count, self.of = int(count), rank[of]
        self.sizes: Ints = np.bincount(self.of, minlength=count).astype(np.int64)

    def reached(self, rows: Ints, columns: Ints, width: int) -> npt.NDArray[np.int64]:
        """Bits of the columns that each component reaches, given the components that they are in."""
        marks = np.zeros((self.count, width), dtype=np.int64)
        mark(np.ascontiguousarray(rows), columns, marks)
        spread(self.ptr, self.to, marks)
        return marks

    def diagonal(self, closure: Closure) -> Flags:
        """Mark the vertices that reach themselves."""
        turning: Flags = self.sizes[self.of] > 1
        return closure.loops | turning if closure.cycles else closure.loops


def _starts(numbers: Ints, count: int) -> Ints:
    """Where the entries of each number begin, once they are sorted, shape (count + 1,)."""
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=count))).astype(np.int64)
