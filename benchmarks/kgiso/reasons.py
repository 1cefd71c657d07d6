"""Why ours differs from the paper's: written by hand, shown where a verdict asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A verdict on one figure: of a table (`row`, `method`, `metric`), or on a claim about a plot (its name)."""

    where: str
    verdict: str
    row: str = ""
    method: str = ""
    metric: str = ""


@dataclass(frozen=True)
class Reason:
    """A reason for verdicts: those that agree in all that is given here."""

    text: str
    where: str
    verdict: str
    row: str = ""
    method: str = ""
    metric: str = ""

    def explains(self, found: Verdict) -> bool:
        """Whether it is the reason for a verdict; of a method its family is enough."""
        wanted = (self.where, self.verdict, self.row, self.metric)
        given = (found.where, found.verdict, found.row, found.metric)
        same = all(mine in ("", theirs) for mine, theirs in zip(wanted, given, strict=True))
        return same and found.method.startswith(self.method)


REASONS: tuple[Reason, ...] = ()


def explained(verdicts: Iterable[Verdict]) -> tuple[list[Reason], list[Verdict]]:
    """Reasons that apply, in their order, and verdicts `worse` that have none."""
    found = list(verdicts)
    reasons = [reason for reason in REASONS if any(map(reason.explains, found))]
    open_ones = [v for v in found if v.verdict == "worse" and not any(r.explains(v) for r in reasons)]
    return reasons, open_ones
