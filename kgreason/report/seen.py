"""What an attacker with some knowledge finds before and after, as rows of the tables of risks.

Before: the original, its names taken away. After: the release, in which he looks for what he knows of the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.records import dataclass
from kgreason.report.data import Figure, Item, Table

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sight:
    """Candidates of each target in one graph.

    Attributes
    ----------
    candidates
        How many vertices (places) of the graph fit what is known of the target, int64, shape (targets,).
    right
        Whether the target is one of them.
    fits
        The other way round: how many vertices of the original fit what the graph shows of the target, int64, shape
        (targets,); `None`: not counted.
    shown
        How many vertices the graph has; synthetic ones can be named as nobody.
    """

    candidates: Ints
    right: Flags
    fits: Ints | None = None
    shown: int = 0

    @property
    def fewest(self) -> int:
        """Candidates of the most exposed target that is among them; 0 if none is."""
        return int(self.candidates[self.right].min(initial=np.iinfo(np.int64).max)) if self.right.any() else 0

    @property
    def median(self) -> float:
        """Candidates of half of the targets are at most so many."""
        return float(np.median(self.candidates)) if len(self.candidates) else 0.0

    @property
    def unique(self) -> int:
        """Targets that are the only candidate."""
        return int((self.right & (self.candidates == 1)).sum())

    @property
    def highest(self) -> float:
        """Prosecutor's risk of the most exposed target."""
        return 1 / self.fewest if self.fewest else 0.0

    @property
    def average(self) -> float:
        """Prosecutor's risk of a target drawn at random."""
        return _mean(np.where(self.right, 1 / np.maximum(self.candidates, 1), 0.0))

    def below(self, k: int) -> float:
        """Share of the targets that are found with a chance above 1/k."""
        return _mean(self.right & (self.candidates < k))

    @property
    def journalist(self) -> float | None:
        """Journalist's risk of the most exposed target."""
        if self.fits is None:
            return None
        return 1 / float(self.fits[self.right].min()) if self.right.any() else 0.0

    @property
    def marketer(self) -> float | None:
        """Expected share of the graph's vertices that are named rightly if each is named at random."""
        if self.fits is None:
            return None
        return float(np.where(self.right, 1 / np.maximum(self.fits, 1), 0.0).sum()) / max(self.shown, 1)

    @property
    def misled(self) -> float:
        """Share of the targets that are not among the candidates."""
        return _mean(~self.right)


@dataclass(frozen=True, eq=False)
class Seen:
    """What somebody with some knowledge sees.

    Attributes
    ----------
    knowledge
        What he knows of his target.
    before, after
        In the original and in the release; `None`: not looked at.
    remark
        Why it was not looked at, or how.
    """

    knowledge: str
    before: Sight | None = None
    after: Sight | None = None
    remark: str = ""


def by_classes(knowledge: str, original: Ints, released: Ints, mapping: Ints) -> Seen:
    """Candidates where what is known divides vertices into classes.

    Parameters
    ----------
    original, released
        Class of each vertex, numbered alike on both sides.
    mapping
        Released vertex of each original one, -1: none.

    Examples
    --------
    Two of a kind, one alone; in the release three of a kind, one of which is synthetic, and the other is changed:

    >>> found = by_classes("degree", np.array([1, 1, 2]), np.array([1, 1, 3, 1]), np.array([0, 1, 2]))
    >>> found.before.highest, found.after.highest, round(found.after.misled, 2), found.after.marketer
    (1.0, 0.3333333333333333, 0.33, 0.25)
    """
    size = 1 + max(int(original.max(initial=0)), int(released.max(initial=0)))
    inside, there = (np.bincount(side, minlength=size) for side in (original, released))
    everybody = np.ones(len(original), dtype=np.bool_)
    place = np.maximum(mapping, 0)
    shown = released[place] if len(released) else np.zeros(len(original), dtype=np.int64)
    right = (mapping >= 0) & (shown == original) if len(released) else ~everybody
    return Seen(
        knowledge,
        Sight(inside[original], everybody, inside[original], len(original)),
        Sight(there[original], right, inside[shown], len(released)),
    )


def tables(found: Sequence[Seen], k: int, what: str) -> list[Item]:
    """Tables of candidates and of risks.

    Parameters
    ----------
    k
        Targets with fewer candidates are at risk.
    what
        What is looked for: ``"vertices"``.
    """
    looked = [(seen, seen.before, seen.after) for seen in found if seen.before and seen.after]
    note = "; ".join(f"{seen.knowledge}: {seen.remark}" for seen in found if seen.remark)
    return [
        Table(
            f"Candidates: how many {what} fit what an attacker knows",
            (
                *("an attacker knows", "fewest before", "after", "median before", "after"),
                *("unique before", "after", f"fewer than {k} before", "after"),
            ),
            tuple(
                (
                    *(
                        seen.knowledge,
                        *map(_number, (before.fewest, after.fewest, before.median, after.median)),
                    ),
                    *(_number(before.unique), _number(after.unique)),
                    *(_percent(before.below(k)), _percent(after.below(k))),
                )
                for seen, before, after in looked
            ),
            "more candidates are better, and fewer unique ones",
            "candidate set",
            note,
        ),
        Table(
            "Risks: how surely an attacker names them",
            (
                *("an attacker knows", "prosecutor, highest before", "after", "average before", "after"),
                *("journalist, highest before", "after", "marketer before", "after", "misled after"),
            ),
            tuple(
                (
                    seen.knowledge,
                    *map(_risk, (before.highest, after.highest, before.average, after.average)),
                    *map(_risk, (before.journalist, after.journalist, before.marketer, after.marketer)),
                    _percent(after.misled),
                )
                for seen, before, after in looked
            ),
            "less is better",
            "prosecutor's risk",
            note,
        ),
    ]


def figures(seen: Seen, k: int) -> list[Item]:
    """The most telling figures of one kind of knowledge."""
    before, after = seen.before, seen.after
    if before is None or after is None:
        return []
    found: list[Item] = [
        _figure(
            "Candidate set, smallest", "better is more", "candidate set", before.fewest, after.fewest, seen
        ),
        _figure(
            "Prosecutor's risk, highest",
            "better is 0",
            "prosecutor's risk",
            before.highest,
            after.highest,
            seen,
        ),
        _figure(
            "Prosecutor's risk, average",
            "better is 0",
            "prosecutor's risk",
            before.average,
            after.average,
            seen,
        ),
    ]
    for name, old, new in (
        ("Journalist's risk, highest", before.journalist, after.journalist),
        ("Marketer's risk", before.marketer, after.marketer),
    ):
        if old is not None and new is not None:
            found.append(_figure(name, "better is 0", _term(name), old, new, seen))
    return [
        *found,
        _figure(
            "Fewer candidates than k",
            "better is 0",
            "vertices at risk",
            before.below(k),
            after.below(k),
            seen,
        ),
    ]


def _term(name: str) -> str:
    return name.split(",")[0].lower()


def _figure(name: str, better: str, term: str, before: float, after: float, seen: Seen) -> Figure:
    shown = _number if isinstance(after, int) else _risk
    note = "; ".join(filter(None, [f"by whoever knows: {seen.knowledge}", seen.remark]))
    return Figure(name, shown(after), better, term, shown(before), float(after), note)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _risk(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.mean()) if len(values) else 0.0


def strongest(found: Iterable[Seen]) -> Seen | None:
    """The last that was looked at; they go from little knowledge to much."""
    return next((seen for seen in reversed(list(found)) if seen.before and seen.after), None)
