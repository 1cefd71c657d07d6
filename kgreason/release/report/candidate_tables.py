"""Re-identification risk tables: candidates of an attacker with given knowledge, before and after anonymization.

Before: the original graph without labels. After: the release, searched with knowledge of the original graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.release.rates import chances
from kgreason.release.report.report_data import Figure, Item, Table
from kgreason.release.verdicts import NORMAL

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
# at the top of a page, for promised knowledge
KEY = (
    "Candidate set, smallest",
    "Prosecutor's risk, highest",
)
NONE = "–"  # not computed


@record(eq=False)
class CandidateSets:
    """Candidates of each target in one graph.

    Attributes
    ----------
    candidates
        Number of vertices or occurrences in the graph that fit the knowledge of the target, int64, shape (targets,).
    right
        Whether the target is a candidate, bool, shape (targets,).
    fits
        Conversely, number of original vertices that fit what the graph shows of the target, int64, shape (targets,);
        `None`: not computed.
    shown
        Number of vertices of the graph, including synthetic ones.
    sampled
        Whether targets are a sample, so that the figures are estimates.
    alone
        Number of targets that no other vertex of the graph equals in what the graph shows of them, be it true or not;
        `None`: not computed.
    """

    candidates: Ints
    right: Flags
    fits: Ints | None = None
    shown: int = 0
    sampled: bool = False
    alone: int | None = None

    @property
    def fewest(self) -> int:
        """Smallest candidate set that contains its target; 0 if none does."""
        return int(self.candidates[self.right].min(initial=np.iinfo(np.int64).max)) if self.right.any() else 0

    @property
    def median(self) -> float:
        """Median number of candidates."""
        return float(np.median(self.candidates)) if len(self.candidates) else 0.0

    @property
    def unique(self) -> int:
        """Number of targets that are the only candidate."""
        return int((self.right & (self.candidates == 1)).sum())

    @property
    def highest(self) -> float:
        """Highest prosecutor's risk of a target."""
        return 1 / self.fewest if self.fewest else 0.0

    @property
    def _found(self) -> npt.NDArray[np.float64]:
        """Prosecutor's risk of each target."""
        return chances(self.candidates, self.right)

    @property
    def average(self) -> float:
        """Average prosecutor's risk."""
        return _mean(self._found)

    @property
    def margin(self) -> float:
        """Half-width of the 95 % confidence interval of `average` if targets are a sample (normal approximation)."""
        n = len(self.candidates)
        return NORMAL * float(self._found.std(ddof=1)) / n**0.5 if n > 1 else 1.0

    def below(self, k: int) -> float:
        """Share of the targets with prosecutor's risk above 1/k."""
        return _mean(self.right & (self.candidates < k))

    @property
    def journalist(self) -> float | None:
        """Highest journalist's risk of a target."""
        if self.fits is None:
            return None
        return 1 / float(self.fits[self.right].min()) if self.right.any() else 0.0

    @property
    def marketer(self) -> float | None:
        """Marketer's risk: expected share of the graph's vertices identified correctly by random matching."""
        if self.fits is None:
            return None
        return float(chances(self.fits, self.right).sum()) / max(self.shown, 1)

    @property
    def misled(self) -> float:
        """Share of the targets that are not among their candidates."""
        return _mean(~self.right)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates found with one kind of attacker knowledge, in the original graph and in the release.

    `None`: not computed, for the reason in `remark`; otherwise a remark says how they were computed.
    """

    knowledge: str
    before: CandidateSets | None = None
    after: CandidateSets | None = None
    remark: str = ""

    @property
    def sampled(self) -> bool:
        """Whether targets are a sample."""
        return self.after is not None and self.after.sampled

    @property
    def of_parts(self) -> bool:
        """Whether the knowledge concerns an x-subgraph rather than a single vertex."""
        return self.knowledge.startswith("part of")


def by_classes(knowledge: str, original: Ints, released: Ints, mapping: Ints) -> Candidates:
    """Candidates for knowledge that partitions vertices into classes.

    Parameters
    ----------
    original, released
        Class of each vertex, with common numbers for both graphs.
    mapping
        Released vertex of each original vertex, -1: none.

    Examples
    --------
    Classes 1, 1, 2; in the release a synthetic vertex of class 1 is added, and class 2 is changed:

    >>> found = by_classes("degree", np.array([1, 1, 2]), np.array([1, 1, 3, 1]), np.array([0, 1, 2]))
    >>> found.before.highest, found.after.highest, round(found.after.misled, 2), found.after.marketer
    (1.0, 0.3333333333333333, 0.33, 0.25)
    >>> found.before.alone, found.after.alone
    (1, 1)
    """
    size = 1 + max(int(original.max(initial=0)), int(released.max(initial=0)))
    inside, there = (np.bincount(side, minlength=size) for side in (original, released))
    everybody = np.ones(len(original), dtype=np.bool_)
    place = np.maximum(mapping, 0)
    shown = released[place] if len(released) else np.zeros(len(original), dtype=np.int64)
    right = (mapping >= 0) & (shown == original) if len(released) else ~everybody
    own = inside[original]
    alone = int((own == 1).sum()), int(((there[shown] == 1) & (mapping >= 0)).sum())
    return Candidates(
        knowledge,
        CandidateSets(own, everybody, own, len(original), alone=alone[0]),
        CandidateSets(there[original], right, inside[shown], len(released), alone=alone[1]),
    )


def as_shown(
    knowledge: str, original: Ints, released: Ints, mapping: Ints, size: Ints | None = None
) -> Candidates:
    """Candidates for knowledge of what the release shows of the target, whether true or not.

    Worst case for a release that changes the attributes it shows. The graph itself is the population.

    Parameters
    ----------
    original, released
        Class of each vertex by what its graph shows; numbered independently for each graph.
    mapping
        As for `by_classes`.
    size
        Number of original vertices that each released vertex represents, int64; `None`: one.

    Examples
    --------
    >>> found = as_shown("values", np.array([0, 1, 2]), np.array([0, 0, 1, 1]), np.array([0, 1, 3]))
    >>> found.before.average, found.after.average, found.after.unique
    (1.0, 0.5, 0)
    """
    own = np.bincount(original, minlength=1)[original]
    everybody = np.ones(len(original), dtype=np.bool_)
    weight = np.ones(len(released), dtype=np.int64) if size is None else size
    alike = np.bincount(released, weight, minlength=1).astype(np.int64)[released]
    there = mapping >= 0
    after = np.zeros(len(original), dtype=np.int64)
    after[there] = alike[mapping[there]]
    return Candidates(
        knowledge,
        CandidateSets(own, everybody, own, len(original)),
        CandidateSets(after, there, after, int(weight.sum())),
    )


def risk_items(
    promised: Sequence[Candidates],
    others: Sequence[Candidates],
    k: int,
    what: tuple[str, str],
    example: Candidates | None = None,
) -> Iterator[Item]:
    """Figures and tables of risks, first for knowledge covered by the guarantee, then for other knowledge.

    Parameters
    ----------
    promised, others
        Kinds of knowledge covered and not covered by the guarantee, both in order of increasing knowledge.
    k
        Targets with fewer candidates are at risk.
    what
        Nouns for the targets of `promised` and of `others`.
    example
        Element of `others` shown as figures; by default the last one if `promised` is empty, else none.
    """
    covered = ("promised" if others else "", "not promised" if promised else "")
    first = list(_figures(_strongest(promised), covered[0], key=True))
    if example is None and not promised:
        example = _strongest(others)
    counted = {figure.name for figure in first}
    yield from first
    yield from (figure for figure in _figures(example, covered[1]) if figure.name not in counted)
    for found, targets, middle in zip((promised, others), what, covered, strict=True):
        if found:
            yield from _tables(found, k, targets, f", {middle}" if middle else "")


def _strongest(found: Iterable[Candidates]) -> Candidates | None:
    """Last kind of knowledge with results; they are in order of increasing knowledge."""
    return next((one for one in reversed(list(found)) if one.before and one.after), None)


def _figures(found: Candidates | None, covered: str, *, key: bool = False) -> Iterator[Figure]:
    """Available figures of one kind of knowledge; `covered` states whether the guarantee covers it."""
    if found is None or found.before is None or found.after is None:
        return
    drawn = " (of some that were drawn)" if found.sampled else ""
    known = f"an attacker knows: {found.knowledge}{drawn}{'; ' * bool(found.remark)}{found.remark}"
    note = f"{covered}, where {known}" if covered else f"where {known}"
    for name, (better, term, attribute, shown) in FIGURES.items():
        before, after = getattr(found.before, attribute), getattr(found.after, attribute)
        if after is not None:
            values = shown(after), better, term, shown(before), float(after)
            yield Figure(name, *values, note, key and name in KEY)


def _tables(found: Sequence[Candidates], k: int, what: str, middle: str) -> Iterator[Table]:
    drawn = any(one.sampled for one in found)
    interval = "± is a 95 % confidence interval where targets were drawn" if drawn else ""
    yield _before_and_after(
        f"Candidates{middle}: how many {what} fit what an attacker knows",
        found,
        {
            "fewest": lambda sets: _number(sets.fewest),
            "median": lambda sets: _number(sets.median),
            "unique": lambda sets: _number(sets.unique),
            f"fewer than {k}": lambda sets: f"{sets.below(k):.1%}",
        },
        "more candidates are better, and fewer unique ones",
        "candidate set",
    )
    risks = _before_and_after(
        f"Risks{middle}: how surely an attacker names them",
        found,
        {
            "prosecutor highest": lambda sets: _risk(sets.highest),
            "prosecutor average": lambda sets: (
                _risk(sets.average) + (f" ± {sets.margin:.4f}" if sets.sampled else "")
            ),
            "journalist": lambda sets: _risk(sets.journalist),
            "marketer": lambda sets: _risk(sets.marketer),
        },
        "less is better",
        "prosecutor's risk",
    )
    misled = (f"{one.after.misled:.1%}" for one in found if one.before and one.after)
    yield replace(
        risks,
        columns=(*risks.columns, "misled, after"),
        rows=tuple((*row, share) for row, share in zip(risks.rows, misled, strict=True)),
        note="; ".join(filter(None, (interval, risks.note))),
    )


def _before_and_after(
    title: str,
    found: Sequence[Candidates],
    counted: Mapping[str, Callable[[CandidateSets], str]],
    better: str,
    term: str,
) -> Table:
    """Table with a row per kind of knowledge with results; measures without any value have no column."""
    computed = [(one.knowledge, (one.before, one.after)) for one in found if one.before and one.after]
    columns = [
        (f"{name}, {side}", [shown(sets[i]) for _, sets in computed])
        for name, shown in counted.items()
        for i, side in enumerate(("before", "after"))
    ]
    columns = [(name, cells) for name, cells in columns if set(cells) != {NONE}]
    about: dict[str, list[str]] = {}
    for one in found:
        if one.remark:
            about.setdefault(one.remark, []).append(one.knowledge)
    return Table(
        title,
        ("an attacker knows", *(name for name, _ in columns)),
        tuple((name, *(cells[i] for _, cells in columns)) for i, (name, _) in enumerate(computed)),
        better,
        term,
        "; ".join(f"{_kinds(names)}: {remark}" for remark, names in about.items()),
    )


def _kinds(names: Sequence[str]) -> str:
    """Names of some kinds of knowledge; x-subgraphs, of which there may be many, are joined to one."""
    parts = [name for name in names if name.startswith("part of")]
    others = [name for name in names if name not in parts]
    return ", ".join([*others, *(["parts"] if len(parts) > 1 else parts)])


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _risk(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.astype(np.float64).mean()) if len(values) else 0.0


# by figure: what is better, term, attribute of `CandidateSets`, and text
FIGURES: Mapping[str, tuple[str, str, str, Callable[[Any], str]]] = {
    "Candidate set, smallest": ("better is more", "candidate set", "fewest", _number),
    "Prosecutor's risk, highest": ("better is 0", "prosecutor's risk", "highest", _risk),
    "Prosecutor's risk, average": ("better is 0", "prosecutor's risk", "average", _risk),
    "Journalist's risk, highest": ("better is 0", "journalist's risk", "journalist", _risk),
    "Marketer's risk": ("better is 0", "marketer's risk", "marketer", _risk),
}
