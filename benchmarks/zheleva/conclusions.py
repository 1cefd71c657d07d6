"""Conclusions of the paper, checked against measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from zheleva.series import (
    COARSE,
    COARSE_CONSTRAINED,
    FINE,
    FINE_CONSTRAINED,
    INTACT,
    PARTIAL,
    THRESHOLDS,
    Measured,
    Point,
    Release,
    Series,
)

MUCH = 4.0  # times fewer revealed: "much better"
ALIKE = 0.03  # precisions and recalls that differ by no more "overlap" or are "invariant"
NEARLY = 0.06  # "almost the same"
FEW = 1.0  # predicted pairs a school: of fewer there is no precision to speak of
HIDDEN = 0.01  # of the sensitive pairs: as little as a line of a plot is wide


@dataclass(frozen=True)
class Check:
    """One comparison: where it was made, the figures, and whether they are as the paper says."""

    where: str
    figures: str
    holds: bool


@dataclass(frozen=True)
class Conclusion:
    """A statement of the paper with all checks of it."""

    says: str
    means: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """Whether it holds, or where it fails."""
        failing = [check.where for check in self.checks if not check.holds]
        if not failing:
            return "holds"
        return "fails" if len(failing) == len(self.checks) else f"fails at: {'; '.join(failing)}"


def conclusions(found: Measured) -> list[Conclusion]:
    """What section 8.3 concludes from its figures, in its order."""
    graphs = {"dense": found.dense, "sparse": found.sparse}
    return [
        *over_thresholds(graphs, {"sparse": found.sparse}, "friends"),
        Conclusion(
            "5a. At classmate densities above 0.4 cluster-edge k=6 has almost the same precision as partial 50 %",
            f"precisions differ by at most {NEARLY:g}; where cluster-edge predicts nobody it fails",
            tuple(
                _precise(f"{density:g}, {at:g}", series, at, COARSE, PARTIAL, NEARLY)
                for density, series in _above(found, 0.4)
                for at in (0.4, 0.6, 0.8)
            ),
        ),
        Conclusion(
            "5b. At densities above 0.5 cluster-edge k=6 has a much higher recall",
            "higher by 0.05 or more (from 0.5 on)",
            tuple(
                _recalled(f"{density:g}, {at:g}", series, at)
                for density, series in _above(found, 0.49)
                for at in (0.4, 0.6, 0.8)
            ),
        ),
        Conclusion(
            "6. Precision and recall are invariant to the number of students",
            f"from 100 to 400 students they stay within {ALIKE:g}, where {FEW:g} pair or more a school is predicted",
            tuple(_steady(found)),
        ),
    ]


def over_thresholds(
    graphs: Mapping[str, Series], alike: Mapping[str, Series], links: str
) -> list[Conclusion]:
    """Conclusions 1 to 4 on some graphs, 3b on those that are `alike`; `links` names the sensitive ones."""
    return [
        Conclusion(
            "1. At thresholds 0.6 and 0.8 cluster-edge preserves privacy much better than removing 50 %",
            f"reveals at most a {MUCH:g}th as many {links}",
            tuple(
                _revealed(
                    f"{name}, {at:g}, k={fewer.k}", series, at, fewer, PARTIAL, lambda a, b: MUCH * a <= b
                )
                for name, series in graphs.items()
                for at in (0.6, 0.8)
                for fewer in (FINE, COARSE)
            ),
        ),
        Conclusion(
            "2. With a lower k cluster-edge reveals more",
            f"k=2 reveals at least as many {links} as k=6",
            tuple(
                _revealed(f"{name}, {at:g}", series, at, FINE, COARSE, lambda a, b: a >= b)
                for name, series in graphs.items()
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            "3a. Constrained, k makes no difference",
            f"equal numbers of {links} revealed",
            tuple(
                _revealed(
                    f"{name}, {at:g}", series, at, FINE_CONSTRAINED, COARSE_CONSTRAINED, lambda a, b: a == b
                )
                for name, series in graphs.items()
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            f"3b. In the {' and the '.join(alike)} graph cluster-edge with k=6 overlaps with constrained",
            f"numbers revealed differ by at most {HIDDEN:.0%} of the {links}",
            tuple(
                _revealed(f"{name}, {at:g}", series, at, COARSE, COARSE_CONSTRAINED, _near(series))
                for name, series in alike.items()
                for at in THRESHOLDS
            ),
        ),
        Conclusion(
            "4a. Low thresholds reveal much with low precision, high ones few with high precision",
            f"from threshold to threshold no more {links} are revealed, and precision does not fall",
            tuple(
                check
                for name, series in graphs.items()
                for release in (INTACT, PARTIAL, FINE, COARSE)
                for check in _monotone(name, series, release)
            ),
        ),
        Conclusion(
            "4b. The precision of partial 50 % overlaps with that of intact",
            f"precisions differ by at most {ALIKE:g}",
            tuple(
                _precise(f"{name}, {at:g}", series, at, PARTIAL, INTACT, ALIKE)
                for name, series in graphs.items()
                for at in THRESHOLDS
            ),
        ),
    ]


def _near(series: Series) -> Callable[[float, float], bool]:
    return lambda a, b: abs(a - b) <= HIDDEN * series.points[INTACT, THRESHOLDS[0]].sensitive


def _revealed(
    where: str, series: Series, at: float, one: Release, other: Release, fine: Callable[[float, float], bool]
) -> Check:
    a, b = series.points[one, at].revealed, series.points[other, at].revealed
    return Check(where, f"{a:,.1f} : {b:,.1f}", fine(a, b))


def _monotone(name: str, series: Series, release: Release) -> Iterator[Check]:
    for low, high in pairwise(THRESHOLDS):
        a, b = series.points[release, low], series.points[release, high]
        if b.predicted < FEW:
            continue
        fine = a.revealed >= b.revealed and (a.precision or 0) <= (b.precision or 0)
        yield Check(f"{name}, {release}, {low:g} to {high:g}", f"{formatted(a)} → {formatted(b)}", fine)


def formatted(point: Point) -> str:
    """Number revealed and precision."""
    return f"{point.revealed:,.1f} ({precise(point)})"


def precise(point: Point) -> str:
    """Precision, if so many pairs are predicted that there is one."""
    if point.precision is None:
        return "none"
    return f"{point.precision:.2f}" if point.predicted >= FEW else "few"


def _precise(where: str, series: Series, at: float, one: Release, other: Release, most: float) -> Check:
    a, b = series.points[one, at].precision, series.points[other, at].precision
    shown = " : ".join("none" if x is None else f"{x:.3f}" for x in (a, b))
    return Check(where, shown, a is not None and b is not None and abs(a - b) <= most)


def _recalled(where: str, series: Series, at: float) -> Check:
    a, b = series.points[COARSE, at].recall, series.points[PARTIAL, at].recall
    return Check(where, f"{a:.3f} : {b:.3f}", a >= b + 0.05)


def _above(found: Measured, bound: float) -> Iterable[tuple[float, Series]]:
    return [(density, series) for density, series in found.by_density.items() if density > bound]


def _steady(found: Measured) -> Iterator[Check]:
    for release in (INTACT, PARTIAL, COARSE, COARSE_CONSTRAINED):
        for at in THRESHOLDS:
            points = [series.points[release, at] for series in found.by_size.values()]
            if min(point.predicted for point in points) < FEW:
                continue
            for name, values in (
                ("precision", [point.precision or 0.0 for point in points]),
                ("recall", [point.recall for point in points]),
            ):
                low, high = min(values), max(values)
                yield Check(f"{release}, {at:g}, {name}", f"{low:.3f} to {high:.3f}", high - low <= ALIKE)
