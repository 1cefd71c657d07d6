"""Figures of a run, medians over seeds, and the verdict better, equal or worse than the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from kgiso.cases import Setting
from kgiso.runs import Record, Runs

BETTER, EQUAL, WORSE = "better", "equal", "worse"
SLACK, SHARE = 0.005, 0.05  # differences that are none: as such, and as a share of the paper's figure


@dataclass(frozen=True)
class Metric:
    """A quantity of a run.

    Attributes
    ----------
    title, axis
        As heads of tables and axes of plots have it, with its unit.
    of
        Its value in a record, or nothing.
    digits
        Decimals that are shown.
    higher
        Whether higher is better, as of δ.
    """

    title: str
    axis: str
    of: Callable[[Record], float | None]
    digits: int = 3
    higher: bool = False

    def text(self, value: float | None) -> str:
        """Cell of a table; what is below a whole, by however little, does not read as 1."""
        if value is None:
            return "–"
        if self.higher and value < 1 <= round(value, self.digits):
            value = 1 - 10**-self.digits
        return f"{value:,.{self.digits}f}"


def _report(*path: str) -> Callable[[Record], float | None]:
    def of(record: Record) -> float | None:
        found: Any = record.report
        for key in path:
            found = found.get(key) if found else None
        return None if found is None else float(found)

    return of


def _weights(record: Record) -> float | None:
    distances = ((record.report or {}).get("fidelity") or {}).get("weights") or {}
    return next(iter(distances.values()), None)


def _deleted(record: Record) -> float | None:
    figures = (record.report or {}).get("figures") or {}
    deleted = figures.get("edges_deleted")
    return None if deleted is None else 100.0 * deleted / figures["edges"]


METRICS = {
    "u": Metric("U", "U, share of answers", _report("utility", "u")),
    "u_symmetric": Metric("U△", "U△, share of answers", _report("utility", "u_symmetric")),
    "weights": Metric("W1 weights", "W1 of weights, in [0,1]", _weights),
    "degree": Metric("W1 degree", "W1 of degrees, edges", _report("fidelity", "degree")),
    "added": Metric(
        "vertices added, %", "vertices added, %", _report("fidelity", "vertices_added_percent"), 1
    ),
    "delta": Metric("δ", "δ, share of subgraphs", _report("verdict", "delta", "value"), 4, higher=True),
    "alike": Metric(
        "δ, degrees aside",
        "δ, share of subgraphs",
        _report("verdict", "delta_alike", "value"),
        4,
        higher=True,
    ),
    "deleted": Metric("edges deleted, %", "edges deleted, %", _deleted, 0),
    "seconds": Metric("s", "time to anonymize, s", _report("seconds", "anonymize"), 2),
    "vertices": Metric("V", "vertices", _report("original", "vertices"), 0),
    "edges": Metric("E", "edges", _report("original", "edges"), 0),
}


def verdict(ours: float, paper: float, *, higher: bool = False) -> str:
    """Compare two figures: `EQUAL` if they differ by at most 0.005 or 5 % of the paper's.

    A share of protected subgraphs is equal to 1 only if it is 1.
    """
    slack = 0.0 if higher and paper == 1 else max(SLACK, SHARE * abs(paper))
    if abs(ours - paper) <= slack:
        return EQUAL
    return BETTER if (ours > paper) == higher else WORSE


def together(verdicts: Sequence[str]) -> str:
    """Verdict on a row: better (worse) if some figures are and none is the opposite; otherwise the counts of both."""
    better, worse = verdicts.count(BETTER), verdicts.count(WORSE)
    if better and worse:
        return f"better in {better}, worse in {worse} of {len(verdicts)}"
    return BETTER if better else WORSE if worse else EQUAL if verdicts else "not measured"


@dataclass(frozen=True)
class Results:
    """Medians of runs."""

    runs: Runs

    def value(self, setting: Setting, metric: str) -> float | None:
        """Median over the seeds that have it."""
        found = [value for r in self.runs.of(setting) if (value := METRICS[metric].of(r)) is not None]
        return median(found) if found else None

    def estimated(self, setting: Setting) -> bool:
        """Whether δ is an estimate in some run."""
        found = [(r.report or {}).get("verdict", {}).get("delta") or {} for r in self.runs.of(setting)]
        return any(delta.get("estimate") for delta in found)

    def why_not(self, setting: Setting) -> str:
        """Why a setting, or a seed of it, has no result; empty if it has."""
        found = self.runs.of(setting)
        if not found:
            return "not run"
        failed = [r.failed for r in found if r.report is None]
        if not failed:
            return ""
        return (
            failed[0]
            if len(failed) == len(found)
            else f"{failed[0]} with {len(failed)} of {len(found)} seeds"
        )
