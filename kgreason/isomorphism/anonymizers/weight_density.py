"""Weight distribution of a relation, random draws from it, and the thresholds of rules on weights.

Weights on the same sides of all thresholds keep every answer of rules that compare weights; weights whose incoming sums
also keep their sides keep those of rules that add weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import Columns, Weights
from kgreason.language.check.checked_program import CheckedProgram, Filter
from kgreason.language.check.expressions import walk
from kgreason.language.check.weight_visibility import Use, weight_uses
from kgreason.language.syntax.syntax_tree import Binary, Constant
from kgreason.language.vocabulary import COMPARISONS, MIRRORED

GRID = (
    1_000_000  # released weights are multiples of 1/GRID, so that rules read the same numbers from the file
)
Units = npt.NDArray[np.int64]  # weights in multiples of 1/GRID

_TABLED = 1 << 14  # values that are rounded by a table of all numbers instead of binary searches
_ROUNDS = 100  # of repeating draws that lie outside
_MANY = 20_000  # number of edges from which weights have a third significant digit
_SPARSE = 20  # levels per decade for each of the parallel edges
_ABOVE = {">": (False,), "<=": (False,), ">=": (True,), "<": (True,)}


@record(eq=False)
class Cuts:
    """Thresholds (cuts) that divide weights into sides.

    Values ascend, shape (c,); `above` says of each whether weights equal to it lie on its upper side. A value that
    rules test for equality occurs twice, once with either.

    >>> cuts = Cuts.of([(0.5, False), (0.2, True)])
    >>> cuts.side(np.array([0.1, 0.2, 0.5, 0.6])).tolist()
    [0, 1, 1, 2]
    """

    value: Weights
    above: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, cuts: Iterable[tuple[float, bool]]) -> Cuts:
        """Create from values and whether equal weights lie above."""
        # a weight equal to a value tested for equality is above one of its two cuts and below the other
        ordered = sorted(set(cuts), key=lambda cut: (cut[0], not cut[1]))
        return cls(np.array([c[0] for c in ordered]), np.array([c[1] for c in ordered], dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.value)

    def side(self, weight: Weights) -> npt.NDArray[np.int64]:
        """Number of cuts below each weight, in the shape of `weight`."""
        side = np.zeros(weight.shape, dtype=np.int64)
        for value, above in zip(self.value.tolist(), self.above.tolist(), strict=True):
            side += weight >= value if above else weight > value
        return side


@record(eq=False)
class Thresholds:
    """Dependence of the rules on the weights of a relation: cuts of single weights, and of sums into one vertex."""

    use: Use
    single: Cuts
    added: Cuts


NO_THRESHOLDS = Thresholds(Use.UNREAD, Cuts.of(()), Cuts.of(()))  # of a relation whose weights no rule reads


def thresholds(program: CheckedProgram) -> dict[str, Thresholds]:
    """Dependence of the rules on the weights of each edge predicate.

    >>> from kgreason.language.check.program_checker import load_text
    >>> text = '@edge("own"). p(Y) :- own(X,Y,W), V = msum(W, <X>), V > 0.5. q(X) :- own(X,_,W), W >= 0.2.'
    >>> own = thresholds(load_text(text))["own"]
    >>> own.use, own.single.value.tolist(), own.added.value.tolist(), own.added.above.tolist()
    (<Use.ADDED: 2>, [0.2, 0.5], [0.5], [False])
    """
    compared = _compared(program)

    def cuts(values: Iterable[float]) -> Cuts:
        return Cuts.of((value, above) for value in values for above in compared.get(value, {False, True}))

    return {
        name: Thresholds(use.use, cuts({*use.constants, *use.bounds}), cuts(use.bounds))
        for name, use in weight_uses(program).items()
    }


def _compared(program: CheckedProgram) -> dict[float, set[bool]]:
    """Numbers that rules compare with, and the sides of equal weights."""
    found: defaultdict[float, set[bool]] = defaultdict(set)
    for operator, value in _comparisons(program):
        found[value].update(_ABOVE.get(operator, (False, True)))
    return found


def _comparisons(program: CheckedProgram) -> Iterable[tuple[str, float]]:
    """Operators and constants of comparisons, normalized to constants on the right."""
    steps = (step for rule in program.rules for step in (*rule.before, *rule.after))
    for step in steps:
        for node in walk(step.expression) if isinstance(step, Filter) else ():
            if isinstance(node, Binary) and node.operator in COMPARISONS:
                if isinstance(node.right, Constant) and isinstance(node.right.value, int | float):
                    yield node.operator, float(node.right.value)
                elif isinstance(node.left, Constant) and isinstance(node.left.value, int | float):
                    yield MIRRORED.get(node.operator, node.operator), float(node.left.value)


def weights_of(relation: Columns) -> Weights:
    """Weights of a relation that has some."""
    weight = relation.weight
    assert weight is not None
    return weight


def in_units(weights: Weights) -> Units:
    """Weights in grid units."""
    units: Units = np.rint(weights * GRID).astype(np.int64)
    return units


def decimal_levels(digits: int) -> Units:
    """Weights in (0, 1] with at most `digits` significant digits, in grid units, ascending.

    Examples
    --------
    >>> decimal_levels(1)[[0, 1, 8, 9, -2, -1]].tolist()
    [1, 2, 9, 10, 900000, 1000000]
    """
    levels = np.unique(np.outer(np.arange(1, 10**digits), 10 ** np.arange(7)))
    found: Units = levels[levels <= GRID]
    return found


def nearest(levels: Units, units: npt.NDArray[np.float64] | Units) -> Units:
    """Round each value to the nearest of some ascending levels, to the lower one of two."""
    twice = np.minimum(np.ceil(2.0 * units), 2 * GRID)
    return _rounded(levels, (levels[1:] + levels[:-1]).tobytes(), twice)


def floored(levels: Units, units: npt.NDArray[np.float64] | Units) -> Units:
    """Round each value down to one of some ascending levels, or to the smallest level."""
    return _rounded(levels, (2 * levels[1:]).tobytes(), 2 * np.floor(np.minimum(units, GRID)) + 1)


def _rounded(levels: Units, steps: bytes, at: npt.NDArray[np.float64]) -> Units:
    """Level of each value: the first one, and the next after each of the ascending `steps` below the value."""
    number: npt.NDArray[np.integer]
    if len(at) < _TABLED:
        number = np.searchsorted(np.frombuffer(steps, dtype=np.int64), at)
    else:
        number = _table(steps)[np.maximum(at, 0).astype(np.int64)]
    rounded: Units = levels[number]
    return rounded


def forget_tables() -> None:
    """Free the tables of levels, of 8 MB each, which are made again when weights are drawn."""
    _table.cache_clear()


@lru_cache(maxsize=8)
def _table(steps: bytes) -> npt.NDArray[np.int32]:
    """Number of the ascending steps below each of the numbers 0 .. 2 GRID + 1."""
    after: Units = np.diff(np.array([-1, *np.frombuffer(steps, dtype=np.int64), 2 * GRID + 1]))
    return np.repeat(np.arange(len(after), dtype=np.int32), after)


@record(eq=False)
class WeightDensity:
    """Gaussian kernel density of the real weights of a relation, or of other ones, truncated to (0, 1].

    Attributes
    ----------
    values
        Weights that it is fitted to; if empty, draws are uniform.
    bandwidth
        Scott's rule as in scipy; 0.1 for (nearly) constant weights, where it vanishes.
    levels
        Weights that may be released, in grid units, ascending: those with few significant digits, so that weights
        repeat anyway. On a fine grid only those of copies would repeat, and reveal which edges are synthetic.
    constants
        If all real weights are equal, the neighbouring levels, in grid units; one of them becomes the weight of all.
    """

    values: Weights
    bandwidth: float
    levels: Units
    constants: Units

    @classmethod
    def fit(
        cls, weights: Weights, relation: str, parallel: int = 1, like: Weights | None = None
    ) -> WeightDensity:
        """Fit to the weights of a relation, of which at most `parallel` edges lead from one vertex to another.

        The density is that of the weights `like`, if they are given.

        Raises
        ------
        AnonymizationError
            If a weight lies outside [0, 1].
        """
        outside = ~((weights >= 0) & (weights <= 1))
        if outside.any():
            example = float(weights[outside][0])
            raise AnonymizationError(
                f"relation {relation!r} has weights outside [0, 1], for instance {example!r}",
                hint="scale its weights to [0, 1]",
            )
        enough = int(np.ceil(np.log10(_SPARSE * max(parallel, 1))))
        levels = decimal_levels(min(6, max(enough, 3 if len(weights) > _MANY else 2)))
        constants = levels[:0]
        if like is not None:
            weights = like
        elif parallel == 1 and len(weights) and np.ptp(in_units(weights)) == 0:
            unit = np.rint(weights[0] * GRID)
            constants = np.concatenate([levels[levels < unit][-1:], levels[levels > unit][:1]])
        if not len(weights) or float(weights.std()) < 1e-6:
            return cls(weights, 0.1, levels, constants)
        bandwidth = float(weights.std(ddof=1)) * len(weights) ** -0.2
        return cls(weights, max(1e-3, bandwidth), levels, constants)

    def draw(self, rng: np.random.Generator, size: int, levels: Units | None = None) -> Units:
        """Draw weights in grid units from `levels` (default: all levels); draws outside are repeated.

        If hardly any draw lies between the smallest and the greatest of the levels, the nearer of the two is taken.

        >>> density = WeightDensity.fit(np.array([0.2, 0.9, 1.0]), "own")
        >>> drawn = density.draw(np.random.default_rng(0), 1000)
        >>> bool(np.isin(drawn, density.levels).all())
        True
        """
        levels = self.levels if levels is None else levels
        low, high = levels[0] - 0.5, levels[-1] + 0.5
        if not len(self.values):
            return nearest(levels, rng.uniform(low, high, size))
        drawn = np.empty(size)
        missing = np.arange(size)
        for _ in range(_ROUNDS):
            if not len(missing):
                break
            centre = self.values[rng.integers(0, len(self.values), len(missing))]
            drawn[missing] = again = rng.normal(centre, self.bandwidth) * GRID
            missing = missing[(again < low) | (again > high)]
        return nearest(levels, drawn)


@record(eq=False)
class Sample:
    """Sample of drawn weights, ascending and not empty, to draw from, so that new weights repeat existing ones."""

    units: Units
    levels: Units

    def draw(self, rng: np.random.Generator, size: int, levels: Units | None = None) -> Units:
        """Draw weights that lie within a range of adjacent levels; if there are none, the levels nearest to any.

        >>> sample = Sample(np.array([3, 3, 8]), decimal_levels(1))
        >>> drawn = sample.draw(np.random.default_rng(0), 9, np.arange(2, 6))
        >>> np.unique(drawn).tolist()
        [3]
        """
        if levels is None:
            return self.units[rng.integers(0, len(self.units), size)]
        low, high = np.searchsorted(self.units, levels[0]), np.searchsorted(self.units, levels[-1], "right")
        if low < high:
            return self.units[rng.integers(low, high, size)]
        return nearest(levels, self.units[rng.integers(0, len(self.units), size)])
