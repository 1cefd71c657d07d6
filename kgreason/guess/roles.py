"""Which columns of a table are the ends of edges, which their weight; or which one names vertices."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import permutations

from kgreason.errors import DataError
from kgreason.guess.columns import Column, numbers
from kgreason.guess.tables import Found
from kgreason.guess.words import IDS, OWNED, OWNERS, SHARES, SOURCES, TARGETS, WEIGHTS
from kgreason.lang.names import suggest
from kgreason.records import dataclass

ENOUGH = 3.0
"""Points that a pair of columns needs to be taken for the ends of edges."""
MORE = 2.0
"""What shares are above if they are percentages; sums that are a little above 1 are none."""
_SEVERAL = 3  # targets
_WIDE = 6  # columns; of wider tables more must speak for two being ends of edges


@dataclass(frozen=True)
class Edges:
    """A table of edges.

    Attributes
    ----------
    source, target, weight
        Its columns; a weight may be missing.
    options
        What a source needs to be told besides the columns.
    ownership
        Whether the weights are shares in something owned.
    bounded
        Whether the weights of edges into each vertex sum to 1 at most.
    undirected
        The file says that edges have no direction.
    apart
        No source is ever a target.
    vertices
        Different ends among the rows that were looked at.
    reasons
        Why these columns, and what the options do.
    others
        Other columns that might have been meant, each with the words to say so.
    """

    table: Found
    source: Column
    target: Column
    weight: Column | None
    options: dict[str, str]
    ownership: bool
    bounded: bool
    vertices: int
    undirected: bool
    apart: bool
    reasons: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Names:
    """A table with a line for each vertex or user; `attributes` are its other columns."""

    table: Found
    name: Column
    attributes: tuple[Column, ...]


@dataclass(frozen=True)
class Nothing:
    """A table that could not be made out, and why; `hint` says what to write."""

    table: Found
    why: str
    hint: str


def role(table: Found) -> Edges | Names | Nothing:
    """Guess what a table holds.

    Raises
    ------
    DataError
        If the user names columns that are not there.
    """
    if not table.columns or not table.raw.columns or not len(table.raw):
        return Nothing(table, "it has no rows", "name a table with rows")
    if _is_matrix(table):
        hint = "write it as a list, a line source,target,weight for each cell that is not empty, and name that file"
        return Nothing(table, "it looks like a matrix: its columns are called as its rows are", hint)
    pair = _said(table) or _ends(table)
    if pair is not None:
        return _edges(table, *pair)
    named = _name(table)
    if named is not None:
        return Names(table, named, tuple(c for c in table.columns if c is not named and not c.constant))
    hint = f"name source, target and weight: kgreason init '{table.path}?columns=1,2,3', by numbers or names"
    if len(table.columns) > 2:
        hint += f"; of people, a line each: kgreason anonymize --method pckga --table --data '{table.path}'"
    if len(table.columns) < 2:
        return Nothing(table, "it has one column only, and an edge has two ends", hint)
    return Nothing(table, "no two columns look like the ends of edges, and none names its rows", hint)


def _is_matrix(table: Found) -> bool:
    """Whether the names of the columns are values of the first."""
    titles = set(table.raw.names[1:]) if table.raw.named else set()
    if len(titles) < 5:
        return False
    return len(titles & table.columns[0].seen) > 0.5 * len(titles)


def _ends(table: Found) -> tuple[Column, Column, str] | None:
    """Source and target, and why they are."""
    if table.raw.graph and len(table.columns) >= 2:
        return table.columns[0], table.columns[1], "the format says so"
    candidates = [c for c in table.columns if not c.constant and not c.time and not _fraction(c)][:40]
    best: tuple[float, Column, Column, str] | None = None
    for source, target in permutations(candidates, 2):
        points, why = _points(source, target, len(table.columns))
        if points >= ENOUGH and (best is None or points > best[0]):
            best = (points, source, target, why)
    return None if best is None else best[1:]


def _said(table: Found) -> tuple[Column, Column, str] | None:
    """Ends that the user names, by the option `columns`."""
    said = [_called(table, name) for name in _named(table)]
    if not said:
        return None
    if len(said) not in (2, 3):
        raise DataError(
            table.name, "columns names source, target and perhaps weight", hint="write two names or three"
        )
    grouped = next((c for c in said[2:] if c.grouped), None)
    if grouped is not None:
        raise DataError(
            table.name,
            f"commas between thousands, as in {grouped.grouped}, are not read",
            column=grouped.name,
            hint="write the numbers without them",
        )
    return said[0], said[1], "as was said"


def _named(table: Found) -> list[str]:
    return [name.strip() for name in table.options.get("columns", "").split(",") if name.strip()]


def _called(table: Found, name: str) -> Column:
    """The column of a name, or of a number from 1."""
    known = {str(c.number): c for c in table.columns} | {c.name: c for c in table.columns}
    if name not in known:
        near = suggest(name, [c.name for c in table.columns])
        there = ", ".join(c.name for c in table.columns[:20])
        means = f"did you mean {near}? " if near else ""
        raise DataError(table.name, f"there is no column {name!r}", hint=f"{means}there are {there}")
    return known[name]


def _fraction(one: Column) -> bool:
    return one.numeric and (not one.whole or one.marked > 0)


def _points(source: Column, target: Column, width: int) -> tuple[float, str]:
    """How much speaks for two columns being the ends of edges, and what."""
    why: list[str] = []
    points = 0.0
    named = bool(source.words & SOURCES), bool(target.words & TARGETS)
    points += 2.0 * sum(named)
    if any(named):
        why.append("by their names" if all(named) else "by a name")
    if (source.words & TARGETS and not named[0]) or (target.words & SOURCES and not named[1]):
        points -= 2.0
    shared = _shared(source, target)
    if shared > 0.02 and not (source.few or target.few):
        points += 1.0 + shared + 2.0 * (shared > 0.3)
        why.append("they share values")
    if source.words & IDS and target.words & IDS and source.words != target.words and width <= _WIDE:
        points += 1.5
        why.append("both are ids")
    if width <= 3:
        points += 1.5
        why.append("the table has few columns")
    if width == 2 and not (source.numeric or target.numeric):
        points += 2.0
    if source.numeric != target.numeric:
        points -= 3.0
    for one in (source, target):
        if not one.words & (SOURCES | TARGETS):
            points -= 3.0 * one.counter + 1.5 * one.few
        points -= 1.0 * bool(one.words & WEIGHTS)
        points -= 0.5 * (one.missing > 0.2 * one.rows)
    if width > _WIDE and not all(named):
        points -= 3.0
    points -= 0.2 * (source.number > target.number) + 0.02 * (source.number + target.number)
    return points, ", ".join(why)


def _shared(a: Column, b: Column) -> float:
    return len(a.seen & b.seen) / max(1, min(a.distinct, b.distinct))


def _edges(table: Found, source: Column, target: Column, why: str) -> Edges:
    rest = [c for c in table.columns if c not in (source, target)]
    named = _named(table)
    weight = None if len(named) == 2 else _called(table, named[2]) if named else _weight(table, rest)
    ends = f"column {shown(source)} is the source and {shown(target)} the target"
    reasons, options = [f"{ends}: {why}" if why else ends], {}
    reasons += [
        f"column {shown(c)} is no weight: commas between thousands, as in {c.grouped}, are not read"
        for c in rest
        if c.grouped and c is not weight
    ]
    ownership = bool(source.words & OWNERS or target.words & OWNED)
    bounded = False
    if weight is not None:
        ownership = ownership or bool(weight.words & SHARES and not weight.words - SHARES - {"%"} - IDS)
        found, words = _scaled(target, weight, ownership)
        options.update(found)
        reasons += [f"column {shown(weight)} is the weight: {_why_weight(weight)}", *words]
        if "scale" not in found:
            sums = _sums(target, weight, "percent" in found or weight.marked > 0)
            every = table.whole and len(target.values) == target.rows
            bounded = every and max(sums, default=2.0) <= 1.0 + 1e-9
            like = bool(sums) and sorted(sums)[int(0.95 * (len(sums) - 1))] <= 1.005
            if bounded and not ownership and _joint(target):
                ownership = True
                reasons.append("weights of the edges into each vertex sum to 1 at most, as shares do")
            ownership = ownership or (like and (weight.percent or weight.marked > 0.5))
        else:
            ownership = False
    options.update(_gaps([c for c in (source, target, weight) if c is not None], reasons))
    prefix = _prefix(source, target)
    if prefix:
        options["prefix"] = prefix
        reasons.append(
            f"both count their own things, so {prefix.replace(',', ' and ')} is put before the names"
        )
    others = tuple(_other(c) for c in rest if c is not weight)
    undirected = table.raw.undirected is not None and bool(table.raw.undirected.all())
    vertices = len(source.seen | target.seen)
    rows = len(table.raw)
    if rows > len(source.values):
        vertices = max(vertices, _vertices(table, source, target))
    return Edges(
        *(table, source, target, weight, options, ownership and weight is not None, bounded, vertices),
        *(undirected, not source.seen & target.seen or prefix is not None, tuple(reasons), others),
    )


def _vertices(table: Found, source: Column, target: Column) -> int:
    import pyarrow.compute as pc

    ends = (table.raw.columns[source.number - 1], table.raw.columns[target.number - 1])
    return max(len(pc.unique(end)) for end in ends)


def _weight(table: Found, rest: Sequence[Column]) -> Column | None:
    """The column that tells best how strong an edge is."""
    best: tuple[float, Column] | None = None
    for one in rest:
        if not one.numeric or one.counter or len(one.others) > 1 or one.grouped:
            continue
        low, high = one.low or 0.0, one.high or 0.0
        points = 3.0 * bool(one.words & (WEIGHTS | {"%"})) + 3.0 * (one.marked > 0.5) - 3.0 * one.constant
        points += 2.0 * (low >= 0 and high <= 1 and not one.whole) + 0.5 * (low >= 0 and high <= 100)
        points += 1.0 * (not one.whole) - 4.0 * (one.time and not one.words & WEIGHTS)
        points += 2.0 * ((table.raw.graph and one.number == 3) or len(table.columns) == 3)
        points += 2.0 * (not table.raw.named and one.number == 3)
        if points >= 2.0 and (best is None or points > best[0]):
            best = (points, one)
    return None if best is None else best[1]


def _why_weight(one: Column) -> str:
    what = "by its name" if one.words & (WEIGHTS | {"%"}) else "it holds numbers"
    unit = "%" if one.marked > 0.5 else ""
    return f"{what}; its values go from {one.low:g}{unit} to {one.high:g}{unit}"


def _scaled(target: Column, weight: Column, ownership: bool) -> tuple[dict[str, str], list[str]]:
    """Options that bring weights into [0,1], and words on them."""
    options: dict[str, str] = {}
    words: list[str] = []
    if weight.comma:
        options["decimal"] = ","
        words.append("its numbers have decimal commas")
    low, high = weight.low or 0.0, weight.high or 0.0
    if weight.marked > 0 and low >= 0 and high <= 100:
        if weight.marked < 1:
            options["percent"] = "true"
            words.append("some of its numbers have a % and some do not: all are taken for percentages")
        return options, words
    if low >= 0 and high <= 1:
        return options, words
    if (
        low >= 0
        and high <= 100
        and (weight.percent or (ownership and high > MORE) or _sums_like_percent(target, weight))
    ):
        options["percent"] = "true"
        words.append("numbers up to 100 that are shares are taken for percentages and divided by 100")
        return options, words
    options["scale"] = "abs"
    words.append("weights must lie in [0,1], so each is divided by the greatest, without its sign")
    return options, words


def _joint(target: Column) -> bool:
    """Whether several targets have several edges, so that it says something if their weights sum to 1 at most."""
    return sum(number > 1 for number in Counter(target.values).values()) >= _SEVERAL


def _sums_like_percent(target: Column, weight: Column) -> bool:
    sums = sorted(_sums(target, weight, percent=False))
    return bool(sums) and not weight.whole and sums[len(sums) // 2] >= 50 and sums[-1] <= 105


def _sums(target: Column, weight: Column, percent: bool) -> list[float]:
    """Sums of the weights into each target, among the first rows."""
    sums: defaultdict[str, float] = defaultdict(float)
    for name, number in zip(target.values, numbers(weight), strict=True):
        if number is not None:
            sums[name] += number / 100 if percent else number
    return list(sums.values())


def _gaps(columns: Sequence[Column], reasons: list[str]) -> dict[str, str]:
    """Options for cells that are missing, or hold a word for it."""
    options: dict[str, str] = {}
    word = next(
        (c.others[0] for c in columns if c.numeric and c.others and c.number == columns[-1].number), None
    )
    if word is not None and len(columns) > 2:
        options["nullString"] = word
        reasons.append(f"{word!r} in the weight is taken for a missing value")
    gaps = {shown(c): c.missing for c in columns if c.missing}
    if gaps or options:
        options["missing"] = "skip"
        told = ", ".join(f"{number:,} in {name}" for name, number in gaps.items())
        reasons.append(f"rows with missing values are skipped{f' ({told})' if told else ''}")
    return options


def _prefix(source: Column, target: Column) -> str | None:
    """Two name spaces, where both ends are numbers called after what they count, as userId and movieId."""
    if not (source.whole and target.whole):
        return None
    stems = [re.sub(r"[\W_]*ids?$", "", c.name, flags=re.IGNORECASE).lower() for c in (source, target)]
    known = (OWNERS | OWNED | SOURCES | TARGETS) - {"user", "item", "movie", "product"}
    called = [s.isidentifier() and s != c.name.lower() for s, c in zip(stems, (source, target), strict=True)]
    if not all(called) or stems[0] == stems[1] or set(stems) & known:
        return None
    return f"{stems[0]}:,{stems[1]}:"


def _other(one: Column) -> str:
    """What is left out, with a word on what it looks like."""
    if one.constant:
        return f"{shown(one)} (one value)"
    if one.time:
        return f"{shown(one)} (a time)"
    if one.counter:
        return f"{shown(one)} (numbers the rows)"
    return f"{shown(one)} ({one.distinct:,} {'numbers' if one.numeric else 'values'})"


def _name(table: Found) -> Column | None:
    """The column that names the rows."""
    unique = [c for c in table.columns if c.unique and not _fraction(c)]
    called = [c for c in unique if c.words & IDS]
    return next(iter([*called, *(c for c in unique if not c.numeric)]), None)


def shown(one: Column) -> str:
    """A column as comments call it."""
    return f"{one.number} ({' '.join(one.name.split())})"
