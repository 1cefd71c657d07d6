"""Which columns of a table are the ends of edges, and which holds the kinds of edges."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from kgreason.data.edge_list import konect_form
from kgreason.errors import DataError
from kgreason.guess.columns import Column, numbers
from kgreason.guess.tables import Found
from kgreason.guess.words import (
    IDS,
    LABELS,
    PREPOSITIONS,
    RELATIONS,
    SHARES,
    SOURCES,
    TARGETS,
    WEAK,
    WEIGHTS,
)
from kgreason.records import dataclass

ENOUGH = 3.0
"""Points that a pair of columns needs to be taken for the ends of edges."""
_WIDE = 6  # columns; of wider tables more must speak for two being ends of edges
_FEWER = 0.2  # kinds of edges per different end
_RATINGS = 20  # different numbers that ratings may have


@dataclass(frozen=True)
class Ends:
    """Source and target.

    Attributes
    ----------
    why
        What speaks for them.
    directed
        Something says which of them is the source.
    sure
        Names, shared values or the format speak for them, not the number of columns alone.
    """

    source: Column
    target: Column
    why: str
    directed: bool
    sure: bool


def ends(table: Found, relation: Column | None) -> Ends | None:
    """Find the ends of edges; `None`: no two columns look so.

    Raises
    ------
    DataError
        If two pairs of columns look so, one as much as the other.
    """
    if table.raw.graph and len(table.columns) >= 2:
        places = (0, 2) if relation is table.columns[1] and len(table.columns) > 2 else (0, 1)
        source, target = (table.columns[i] for i in places)
        if table.format in ("edges", "konect") and konect_form(table.path) is None:
            why = "an edge list has its ends first"
            return Ends(source, target, why, directed=places == (0, 2), sure=True)
        return Ends(source, target, "the format says so", directed=True, sure=True)
    candidates = _candidates(table, relation)
    alone = len(candidates) == 2 and all(
        c in candidates or c is relation or _explained(c) for c in table.columns
    )
    between = relation is not None and not relation.words
    found: list[tuple[float, Ends]] = []
    for first, second in combinations(candidates, 2):
        there, why, sure = _points(first, second, len(table.columns), alone=alone)
        back, why_back, _ = _points(second, first, len(table.columns), alone=alone)
        if back > there:
            first, second, there, back, why = second, first, back, there, why_back
        if there >= ENOUGH:
            found.append((there, Ends(first, second, why, between or there > back, sure)))
    if not found:
        return None
    best = max(points for points, _ in found)
    readings = [one for points, one in found if best - points < 1e-9]
    if len(readings) > 1:
        pairs = [f"{one.source.name} and {one.target.name}" for one in readings[:3]]
        commands = [
            table.reading(f"columns={called(table, one.source)},{called(table, one.target)}")
            for one in readings[:3]
        ]
        raise DataError(
            table.name,
            f"the ends of edges may be {', or '.join(pairs)}: one is as likely as the other",
            hint=f"say which: {', or '.join(commands)}",
        )
    return readings[0]


def _candidates(table: Found, relation: Column | None) -> list[Column]:
    possible = [c for c in table.columns if c is not relation and not (c.constant or c.nested or fraction(c))]
    likely = [
        c
        for c in possible
        if not (c.time or _measure(c))
        and (not c.rank or c.words & (SOURCES | TARGETS) or any(_refers(o, c) for o in possible))
    ]
    return (likely if len(likely) > 1 else [c for c in possible if not c.dated])[:40]


def _refers(one: Column, other: Column) -> bool:
    """Whether a column holds ids of another one, as parent_id does of id."""
    return bool(other.words & IDS) and other.words < one.words and shared(one, other) > 0.02


def _explained(one: Column) -> bool:
    """Whether a column that is no end is nothing else that edges may have: time, rank, weight, one value."""
    part = one.numeric and not one.whole and (one.low or 0) >= 0 and (one.high or 0) <= 1
    measured = one.numeric and (bool(one.words & (WEIGHTS | {"%"})) or one.marked > 0.5)
    return one.constant or one.time or one.rank or one.counter or part or measured


def _measure(one: Column) -> bool:
    return one.numeric and bool(one.words & WEIGHTS) and not one.words & (SOURCES | TARGETS | IDS)


def fraction(one: Column) -> bool:
    """Whether a column holds numbers that are no integers, which name nothing."""
    return one.numeric and (not one.whole or one.marked > 0)


def _named(source: Column, target: Column) -> tuple[float, int]:
    """Points of the names of two columns, and how many of the two are named so."""
    if any(s in source.words and t in target.words for s, t in PREPOSITIONS):
        return 4.0, 2
    points, count = 0.0, 0
    for one, own, other in ((source, SOURCES, TARGETS), (target, TARGETS, SOURCES)):
        if one.words & own:
            points += 1.0 if not one.words & (own - WEAK) else 2.0
            count += 1
        elif one.words & other:
            points -= 1.0 if not one.words & (other - WEAK) else 2.0
    return points, count


def _points(source: Column, target: Column, width: int, *, alone: bool) -> tuple[float, str, bool]:
    """How much speaks for two columns being the ends of edges, what, and whether it is more than their number."""
    why: list[str] = []
    points, named = _named(source, target)
    if named:
        why.append("by their names" if named == 2 else "by a name")
    same = not named and _same_thing(source, target)
    common = 0.0 if same else shared(source, target)
    if common > 0.02 and not (source.few or target.few):
        points += 1.0 + common + 2.0 * (common > 0.3)
        why.append("they share values")
    ids = bool(source.words & IDS), bool(target.words & IDS)
    if all(ids) and source.words != target.words and width <= _WIDE:
        points += 1.5
        why.append("both are ids")
    if same:
        points -= 4.0
    if width <= 3:
        points += 1.5
        why.append("the table has few columns")
    if alone and (width > 2 or source.numeric == target.numeric):
        points += 2.0
        if not named and common <= 0.02 and width > 2:
            why.append("no other columns can be ends")
    if source.numeric != target.numeric:
        points -= 3.0
    for one in (source, target):
        if not one.words & (SOURCES | TARGETS):
            points -= 3.0 * (one.counter and common < 0.3) + 1.5 * (one.few and not alone)
        points -= 1.0 * bool(one.words & WEIGHTS)
        points -= 0.5 * (one.missing > 0.2 * one.rows)
    if width > _WIDE and named < 2:
        points -= 3.0
    return points, ", ".join(why), bool(named) or common > 0.02


def _same_thing(one: Column, other: Column) -> bool:
    """Whether one column holds ids and the other what the same things are called, or how old they are."""
    if shared(one, other) > 0.02 and not (one.numeric and other.numeric):
        return False
    return any(
        key.unique and key.words & IDS and more.words and (more.words & LABELS or not more.words & IDS)
        for key, more in ((one, other), (other, one))
    )


def shared(a: Column, b: Column) -> float:
    """Share of the different values of the smaller column that the other has, too."""
    return len(a.seen & b.seen) / max(1, min(a.distinct, b.distinct))


def called(table: Found, one: Column) -> str:
    """A column as the option ``columns`` names it."""
    plain = one.named and "," not in one.name and [c.name for c in table.columns].count(one.name) == 1
    return one.name if plain and not one.name.isdecimal() else str(one.number)


def relation(table: Found) -> tuple[Column, str | None] | None:
    """Find the column that holds the kinds of edges, and the ``columns`` of another reading if it is not sure.

    Triples have it between their ends; where kinds are numbers, it may stand behind them.
    """
    columns = [c for c in table.columns if not (c.nested or c.dated or fraction(c))]
    columns = [c for c in columns if not (c.constant and (c.missing or c.numeric)) and not _directions(c)]
    for one in columns:
        if one.words & RELATIONS and not one.words & (SOURCES | TARGETS):
            return (one, None) if 2 * one.distinct <= len(one.values) else None
    first_three = table.columns[:3]
    if len(first_three) < 3 or any(c not in columns or any(w[1:] for w in c.words) for c in first_three):
        return None  # letters, as s, p, o, say nothing
    first, second, third = first_three
    if _between(first, second, third):
        return second, None if shared(first, third) > 0.02 else "1,2,3"
    return (third, "1,2,3") if _codes(first, second, third) else None


def _directions(one: Column) -> bool:
    """Whether a column says which edges have a direction, as the type of edges of Gephi does."""
    return {value.lower() for value in one.seen} <= {"directed", "undirected"}


def _between(first: Column, second: Column, third: Column) -> bool:
    """Whether a column without a name stands between two ends as the relation of triples does."""
    if first.numeric != third.numeric or second.distinct < 1:
        return False
    few = second.distinct <= _FEWER * min(first.distinct, third.distinct)
    if second.numeric:
        fewer = second.few and third.distinct > 20 * second.distinct
        return first.numeric and few and (shared(first, third) > 0.02 or fewer)
    apart = shared(first, second) <= 0.02 and shared(second, third) <= 0.02
    fewer = (
        second.distinct < min(first.distinct, third.distinct)
        and 2 * second.distinct <= len(second.values) + 1
    )
    return apart and shared(first, third) > 0.02 and fewer


def _codes(first: Column, second: Column, third: Column) -> bool:
    """Whether numbers behind two ends count through kinds: none is left out, and no low one is most frequent.

    Counts are mostly 1, and a pair of ends has one of them; it may have edges of several kinds.
    """
    if not (first.whole and second.whole and third.whole) or third.low not in (0, 1):
        return False
    few = third.distinct <= _FEWER * min(first.distinct, second.distinct)
    if not few or third.distinct < 0.9 * ((third.high or 0) - third.low + 1):
        return False
    pairs = set(zip(first.values, second.values, strict=True))
    rows = set(zip(first.values, second.values, third.values, strict=True))
    lowest = sum(n == third.low for n in numbers(third)) / len(third.values)
    return len(rows) > 1.01 * len(pairs) or (third.distinct > _RATINGS and lowest < 0.05)


def turned_by_sums(found: Ends, weight: Column) -> Ends:
    """Take the direction in which shares sum to 1 at most for each target, where only one does."""
    if found.directed or not (weight.words & SHARES or weight.marked > 0.5):
        return found
    whole = 100.0 if weight.marked > 0.5 or (weight.high or 0.0) > 2.0 else 1.0
    fits = [_fits(end, weight, 1.005 * whole) for end in (found.source, found.target)]
    if fits[0] == fits[1]:
        return found
    source, target = (found.target, found.source) if fits[0] else (found.source, found.target)
    why = f"{found.why}, shares of each target sum to 1 at most"
    return Ends(source, target, why, directed=True, sure=found.sure)


def _fits(target: Column, weight: Column, most: float) -> bool:
    sums: defaultdict[str, float] = defaultdict(float)
    for name, number in zip(target.values, numbers(weight), strict=True):
        sums[name] += number or 0.0
    return sum(total > most for total in sums.values()) <= 0.05 * len(sums)


def shown(one: Column) -> str:
    """A column as comments call it."""
    return f"{one.number} ({' '.join(one.name.split())})"
