"""What an attacker with some knowledge finds before and after, as rows of the tables of risks.

Before: the original, its names taken away. After: the release, in which he looks for what he knows of the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.assess.confidence import NORMAL
from kgreason.records import dataclass
from kgreason.report.data import Figure, Item, Table

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
KEY = ("Candidate set, smallest", "Prosecutor's risk, highest")
"""Figures that stand on top of a page, where they are of what is promised."""


NONE = "–"
"""What was not counted."""


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
    def _found(self) -> npt.NDArray[np.float64]:
        """Prosecutor's risk of each target."""
        return np.where(self.right, 1 / np.maximum(self.candidates, 1), 0.0)

    @property
    def average(self) -> float:
        """Prosecutor's risk of a target drawn at random."""
        return _mean(self._found)

    @property
    def margin(self) -> float:
        """Half-width of the 95 % confidence interval of `average`, where targets were drawn (normal approximation)."""
        n = len(self.candidates)
        return NORMAL * float(self._found.std(ddof=1)) / n**0.5 if n > 1 else 1.0

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
    sampled
        Whether targets were drawn, so that figures are estimates.
    """

    knowledge: str
    before: Sight | None = None
    after: Sight | None = None
    remark: str = ""
    sampled: bool = False

    @property
    def of_parts(self) -> bool:
        """Whether a connected part is known, and not something of one vertex."""
        return self.knowledge.startswith("part of")


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


def as_shown(knowledge: str, original: Ints, released: Ints, mapping: Ints, size: Ints | None = None) -> Seen:
    """Candidates of somebody who knows of his target what the graph shows of it, be it true or not.

    The worst case for a release that changes what it shows. The graph itself is the population.

    Parameters
    ----------
    original, released
        Class of each vertex by what its graph shows; numbered on each side as it comes.
    mapping
        As for `by_classes`.
    size
        How many originals each released vertex stands for, int64; `None`: one.

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
    return Seen(
        knowledge,
        Sight(own, everybody, own, len(original)),
        Sight(after, there, after, int(weight.sum())),
    )


def risk_items(
    promised: Sequence[Seen],
    others: Sequence[Seen],
    k: int,
    what: tuple[str, str],
    example: Seen | None = None,
) -> Iterator[Item]:
    """Figures and tables of risks: first of what is promised, then of what is not.

    Parameters
    ----------
    promised, others
        Kinds of knowledge against which something is promised, and all others; both from little knowledge to much.
    k
        As for `tables`.
    what
        What is looked for: of what is promised, and of the others.
    example
        Of the others, which one has figures; by default the last where nothing is promised, else none.
    """
    last = strongest(promised)
    example = strongest(others) if example is None and not promised else example
    counted = set()
    if last is not None:
        for figure in figures(last, "promised" if others else "", key=True):
            counted.add(figure.name)
            yield figure
    if example is not None:
        said = "not promised" if promised else ""
        yield from (one for one in figures(example, said) if one.name not in counted or last is None)
    yield from tables(promised, k, what[0], "promised" if others else "")
    yield from tables(others, k, what[1], "not promised" if promised else "")


def tables(found: Sequence[Seen], k: int, what: str, said: str = "") -> list[Item]:
    """Tables of candidates and of risks; none if there is nothing to say.

    Parameters
    ----------
    k
        Targets with fewer candidates are at risk.
    what
        What is looked for: ``"vertices"``.
    said
        Whether this is promised, for the titles.
    """
    if not found:
        return []
    middle = f", {said}" if said else ""
    looked = [(seen, seen.before, seen.after) for seen in found if seen.before and seen.after]
    return [
        Table(
            f"Candidates{middle}: how many {what} fit what an attacker knows",
            (
                *("an attacker knows", "fewest, before", "fewest, after", "median, before", "median, after"),
                *("unique, before", "unique, after", f"fewer than {k}, before", f"fewer than {k}, after"),
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
            _remarks(found),
        ),
        _risks(f"Risks{middle}: how surely an attacker names them", found, looked),
    ]


def _risks(title: str, found: Sequence[Seen], looked: Sequence[tuple[Seen, Sight, Sight]]) -> Table:
    """Risks before and after; what was counted for none of them has no column."""
    known = ["prosecutor highest", "prosecutor average", "journalist", "marketer"]
    cells = [
        (
            *((_risk(before.highest), _risk(after.highest)), (_average(before, seen), _average(after, seen))),
            *(
                (_risk(before.journalist), _risk(after.journalist)),
                (_risk(before.marketer), _risk(after.marketer)),
            ),
        )
        for seen, before, after in looked
    ]
    there = [i for i in range(len(known)) if any(row[i] != (NONE, NONE) for row in cells)]
    pairs = [f"{known[i]}, {side}" for i in there for side in ("before", "after")]
    interval = "± is a 95 % confidence interval where targets were drawn; "
    drawn = any(seen.sampled for seen, _, _ in looked)
    return Table(
        title,
        ("an attacker knows", *pairs, "misled, after"),
        tuple(
            (seen.knowledge, *(cell for i in there for cell in row[i]), _percent(after.misled))
            for (seen, _, after), row in zip(looked, cells, strict=True)
        ),
        "less is better",
        "prosecutor's risk",
        f"{interval if drawn else ''}{_remarks(found)}".removesuffix("; "),
    )


def figures(seen: Seen, said: str = "", *, key: bool = False) -> Iterator[Figure]:
    """Figures of one kind of knowledge, those that were counted.

    Parameters
    ----------
    said
        Whether this is promised, for the note.
    key
        Whether the smallest candidate set and the highest risk are key figures.
    """
    before, after = seen.before, seen.after
    if before is None or after is None:
        return
    found = {
        "Candidate set, smallest": ("better is more", before.fewest, after.fewest),
        "Prosecutor's risk, highest": ("better is 0", before.highest, after.highest),
        "Prosecutor's risk, average": ("better is 0", before.average, after.average),
        "Journalist's risk, highest": ("better is 0", before.journalist, after.journalist),
        "Marketer's risk": ("better is 0", before.marketer, after.marketer),
    }
    for name, (better, old, new) in found.items():
        if old is not None and new is not None:
            shown = _number if isinstance(new, int) else _risk
            drawn = " (of some that were drawn)" if seen.sampled else ""
            known = f"an attacker knows: {seen.knowledge}{drawn}{'; ' * bool(seen.remark)}{seen.remark}"
            note = f"{said}, where {known}" if said else f"where {known}"
            chosen = key and name in KEY
            yield Figure(name, shown(new), better, _term(name), shown(old), float(new), note, chosen)


def strongest(found: Iterable[Seen]) -> Seen | None:
    """The last that was looked at; they go from little knowledge to much."""
    return next((seen for seen in reversed(list(found)) if seen.before and seen.after), None)


def _term(name: str) -> str:
    first = name.split(",")[0]
    return first[0].lower() + first[1:]


def _remarks(found: Sequence[Seen]) -> str:
    """Each remark once, with the kinds of knowledge that it is about."""
    about: dict[str, list[str]] = {}
    for seen in found:
        if seen.remark:
            about.setdefault(seen.remark, []).append(seen.knowledge)
    return "; ".join(f"{_kinds(names)}: {remark}" for remark, names in about.items())


def _kinds(names: Sequence[str]) -> str:
    """Names of some kinds of knowledge; those of parts, of which there may be many, as one."""
    parts = [name for name in names if name.startswith("part of")]
    others = [name for name in names if name not in parts]
    return ", ".join([*others, *(["parts"] if len(parts) > 1 else parts)])


def _average(sight: Sight, seen: Seen) -> str:
    return f"{sight.average:.4f} ± {sight.margin:.4f}" if seen.sampled else f"{sight.average:.4f}"


def _number(value: float | None) -> str:
    value = value or 0
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _risk(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.astype(np.float64).mean()) if len(values) else 0.0
