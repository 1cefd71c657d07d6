"""What tables hold: edges between vertices, perhaps of several kinds, or a line for each vertex."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kgreason.errors import DataError
from kgreason.guess.columns import Column, texts
from kgreason.guess.ends import (
    Ends,
    called,
    ends,
    fraction,
    relation,
    shown,
    turned_by_sums,
)
from kgreason.guess.scale import Scale, scale, sums, wrong_rows
from kgreason.guess.tables import Found
from kgreason.guess.words import COUNTS, IDS, OWNED, OWNERS, SHARES, SOURCES, TARGETS, WEIGHTS
from kgreason.lang.names import suggest
from kgreason.records import dataclass

KINDS = 256
"""Kinds of edges up to which each is a relation of its own."""
_SEVERAL = 3  # targets
_CLOSE = 0.75
"""Points by which a weight must lead another whose name says as much."""


@dataclass(frozen=True)
class Edges:
    """A table of edges.

    Attributes
    ----------
    source, target, weight
        Its columns; a weight may be missing.
    relation
        The column that holds the kinds of edges; `None`: all are of one kind.
    kinds
        These kinds, the most frequent first; empty if they are too many.
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
    said
        The user names the columns, or the names of both do.
    vertices
        Different ends among the rows that were looked at.
    reasons
        Why these columns, and what the options do.
    doubts
        What is not sure, and how the other reading is chosen.
    wrong
        Rows whose weights are none.
    others
        Other columns that might have been meant, each with the words to say so.
    """

    table: Found
    source: Column
    target: Column
    weight: Column | None
    relation: Column | None
    kinds: tuple[str, ...]
    options: dict[str, str]
    ownership: bool
    bounded: bool
    vertices: int
    undirected: bool
    apart: bool
    said: bool
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    wrong: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Names:
    """A table with a line for each vertex or user; `attributes` are its other columns."""

    table: Found
    name: Column
    attributes: tuple[Column, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Either:
    """A table that may be one of edges as well as one with a line for each vertex; other tables may tell."""

    table: Found
    edges: Edges
    names: Names

    def error(self) -> DataError:
        """Ask for the choice."""
        table, e = self.table, self.edges
        taken = [called(table, c) for c in (e.source, e.target, e.weight) if c is not None]
        name = called(table, self.names.name)
        return DataError(
            table.name,
            f"a line may be an edge from {taken[0]} to {taken[1]}, or a vertex {name} with what is known of it",
            hint=f"say which: edges {table.reading('columns=' + ','.join(taken))}, "
            f"vertices {table.reading('columns=' + name)} (beside a table of edges, or alone, of people)",
        )


@dataclass(frozen=True)
class Nothing:
    """A table that could not be made out, and why; `hint` says what to write."""

    table: Found
    why: str
    hint: str


def role(table: Found) -> Edges | Names | Either | Nothing:
    """Guess what a table holds.

    Raises
    ------
    DataError
        If the user names columns that are not there, or several readings are as likely as each other.
    """
    if not table.columns or not table.raw.columns or not len(table.raw):
        return _empty(table)
    if _is_matrix(table):
        hint = "write it as a list, a line source,target,weight for each cell that is not empty, and name that file"
        return Nothing(table, "it looks like a matrix: its columns are called as its rows are", hint)
    names = [_called(table, name) for name in _named(table)]
    if len(names) == 1:
        return as_names(table, names[0])
    if len(names) > 3:
        raise DataError(
            table.name, "columns names source, target and perhaps weight", hint="write two names or three"
        )
    if names:
        kinds = None if table.relation is None else _called(table, table.relation)
        weight = names[2] if len(names) > 2 else None
        return _edges(table, Ends(names[0], names[1], "as was said", True, True), weight, kinds, ())
    found = _guessed(table)
    if found is not None:
        return found
    key = _name(table)
    if key is not None:
        return as_names(table, key)
    hint = f"name source, target and weight: kgreason init '{table.path}?columns=1,2,3', by numbers or names"
    if len(table.columns) > 2:
        hint += f"; of people, a line each: kgreason anonymize --method pckga --table --data '{table.path}'"
    if len(table.columns) < 2:
        return Nothing(table, "it has one column only, and an edge has two ends", hint)
    return Nothing(table, "no two columns look like the ends of edges, and none names its rows", hint)


def _empty(table: Found) -> Nothing:
    """Say why there are no rows: what the reader left out may be what is wanted."""
    left = "; ".join(table.said)
    hint = "name a table with rows"
    if table.format == "bods" and left:
        hint = f"take other interests: {table.reading('interest=any')}"
    elif table.format in ("bods", "gleif"):
        hint = "it tells of entities and persons alone: name the file of relationships"
    return Nothing(table, f"it has no rows{f' ({left})' if left else ''}", hint)


def _is_matrix(table: Found) -> bool:
    """Whether the names of the columns are values of the first."""
    titles = set(table.raw.names[1:]) if table.raw.named else set()
    if len(titles) < 5:
        return False
    return len(titles & table.columns[0].seen) > 0.5 * len(titles)


def _guessed(table: Found) -> Edges | Either | None:
    """Edges, as names, values and the format of the table tell them."""
    doubts: list[str] = []
    said = None if table.relation is None else (_called(table, table.relation), None)
    kinds = said or relation(table)
    found = ends(table, kinds[0] if kinds else None)
    if found is None and kinds is not None and said is None:
        kinds, found = None, ends(table, None)
    if found is None:
        return None
    taken = (found.source, found.target)
    rest = [c for c in table.columns if c not in taken and (kinds is None or c is not kinds[0])]
    weight = _weight(table, found, rest, doubts)
    if weight is not None:
        found = turned_by_sums(found, weight)
    if kinds is not None and said is None and _shares(table, found, weight):
        if not kinds[0].constant:
            doubts.append(
                f"column {shown(kinds[0])} may hold kinds of edges; the other reading, in which each kind is a "
                f"relation: {table.reading('relation=' + called(table, kinds[0]))}"
            )
        kinds = None
    elif kinds is not None and kinds[1] is not None:
        doubts.append(
            f"column {shown(kinds[0])} may hold no kinds of edges; the other reading: "
            f"{table.reading(f'columns={kinds[1]}')}"
        )
    if not found.directed and not _both_ways(table):
        turned = replace(found, source=found.target, target=found.source)
        more = f"&relation={called(table, kinds[0])}" if kinds else ""
        doubts.append(
            f"nothing says which end is the source, so the first is; the other reading: "
            f"{table.reading(f'columns={_columns(table, turned, weight)}{more}')}"
        )
    edges = _edges(table, found, weight, kinds[0] if kinds else None, doubts)
    key = vertex_key(edges, frozenset())
    if key is None or found.sure or (weight is not None and weight.words & SHARES):
        if key is found.source and table.raw.graph and found.target.distinct <= 0.2 * found.source.distinct:
            doubt = (
                f"each source has one edge, so column {shown(found.target)} may be an attribute of vertices; the other "
                f"reading, beside a table of edges: {table.reading('columns=1')}"
            )
            return replace(edges, doubts=(*edges.doubts, doubt))
        return edges
    return Either(table, edges, as_names(table, key))


def _both_ways(table: Found) -> bool:
    return table.raw.undirected is not None and bool(table.raw.undirected.all())


def _columns(table: Found, found: Ends, weight: Column | None) -> str:
    taken = (found.source, found.target, weight)
    return ",".join(called(table, c) for c in taken if c is not None)


def as_names(table: Found, key: Column, *doubts: str) -> Names:
    """Take a table for one with a line for each vertex."""
    return Names(table, key, tuple(c for c in table.columns if c is not key and c.telling), doubts)


def vertex_key(edges: Edges, ends: frozenset[str]) -> Column | None:
    """The column that names the rows of a table which may be one of vertices; `None`: it is one of edges.

    Parameters
    ----------
    ends
        Ends of the edges of other tables; empty if there are none.
    """
    if edges.said or edges.ownership or (edges.relation is not None and not edges.relation.constant):
        return None
    if not ends:
        return edges.source if edges.source.unique else None
    for key in (c for c in (edges.source, edges.target) if c.unique):
        other = edges.target if key is edges.source else edges.source
        known = len(key.seen & ends) >= 0.5 * min(len(key.seen), len(ends))
        if known and (other.numeric or len(other.seen & ends) <= 0.02 * max(1, len(other.seen))):
            return key
    return None


def _named(table: Found) -> list[str]:
    return [name.strip() for name in table.options.get("columns", "").split(",") if name.strip()]


def _called(table: Found, name: str) -> Column:
    """The column of a name, or of a number from 1.

    Raises
    ------
    DataError
        If there is none.
    """
    known = {str(c.number): c for c in table.columns} | {c.name: c for c in table.columns}
    if name not in known:
        near = suggest(name, [c.name for c in table.columns])
        there = ", ".join(c.name for c in table.columns[:20])
        means = f"did you mean {near}? " if near else ""
        raise DataError(table.name, f"there is no column {name!r}", hint=f"{means}there are {there}")
    return known[name]


def _weight(table: Found, found: Ends, rest: Sequence[Column], doubts: list[str]) -> Column | None:
    """The column that tells best how strong an edge is.

    Raises
    ------
    DataError
        If the names of two say so alike.
    """
    owned = bool(found.source.words & OWNERS or found.target.words & OWNED)
    rated: list[tuple[float, Column]] = []
    for one in rest:
        if not one.numeric or one.counter or len(one.others) > 1 or one.grouped or one.time or one.rank:
            continue
        low, high = one.low or 0.0, one.high or 0.0
        points = 3.0 * bool(one.words & (WEIGHTS | {"%"})) + 3.0 * (one.marked > 0.5) - 3.0 * one.constant
        points += 2.0 * (low >= 0 and high <= 1 and not one.whole) + 0.5 * (low >= 0 and high <= 100)
        points += 1.0 * (not one.whole) + 1.0 * (owned and bool(one.words & SHARES))
        points += 2.0 * ((table.raw.graph and one.number == 3) or len(table.columns) == 3)
        points += 2.0 * (not table.raw.named and one.number == 3) - 1.0 * bool(one.words & COUNTS)
        if points >= 2.0 and one.large:
            reading = table.reading(f"columns={_columns(table, found, one)}")
            doubts.append(
                f"column {shown(one)} may be times or counts, so it is no weight; the other reading: {reading}"
            )
        elif points >= 2.0:
            rated.append((points, one))
    if not rated:
        return None
    best = max(points for points, _ in rated)
    alike = [one for points, one in rated if best - points < _CLOSE]
    if len(alike) > 1 and all(one.words & (WEIGHTS | {"%"}) for one in alike):
        readings = [table.reading(f"columns={_columns(table, found, one)}") for one in alike]
        raise DataError(
            table.name,
            f"the weight may be {' or '.join(one.name for one in alike)}: one is as likely as the other",
            hint=f"say which: {', or '.join(readings)}",
        )
    return next(one for points, one in rated if points == best)


def _shares(table: Found, found: Ends, weight: Column | None) -> bool:
    """Whether names say that weights are shares in something owned."""
    if weight is None:
        return False
    named = bool(found.source.words & OWNERS or found.target.words & OWNED)
    return (
        table.format == "bods"
        or named
        or bool(weight.words & SHARES and not weight.words - SHARES - {"%"} - IDS)
    )


def _edges(
    table: Found, found: Ends, weight: Column | None, kinds: Column | None, doubts: Sequence[str]
) -> Edges:
    source, target = found.source, found.target
    _refuse(table, *(c for c in (source, target, weight, kinds) if c is not None))
    rest = [c for c in table.columns if c not in (source, target, kinds)]
    line = f"column {shown(source)} is the source and {shown(target)} the target"
    reasons = [f"{line}: {found.why}" if found.why else line]
    reasons += [
        f"column {shown(c)} is no weight: commas between thousands, as in {c.grouped}, are not read"
        for c in rest
        if c.grouped and c is not weight
    ]
    names: tuple[str, ...] = ()
    if kinds is not None:
        names, lost = _kinds(table, kinds)
        told = f"{len(names)} kinds of edges, and each is a relation of its own"
        if len(names) == 1:
            told = f"the relation of all edges ({names[0]})"
        if kinds.missing and names:
            told += f"; {kinds.missing:,} rows without one are left out"
        if lost is not None:
            told = f"kinds of edges, which are lost, for {lost}: all edges are of one relation"
        reasons.append(f"column {shown(kinds)} holds {told}")
    options: dict[str, str] = {}
    wrong: tuple[str, ...] = ()
    ownership, bounded = False, False
    if weight is not None:
        ownership = _shares(table, found, weight)
        read = scale(table, target, weight, ownership=ownership)
        options.update(read.options)
        reasons += [f"column {shown(weight)} is the weight: {_why_weight(weight)}", *read.said]
        doubts, wrong = (*doubts, *read.doubts), wrong_rows(table, weight, read)
        if wrong:
            reasons.append(
                f"rows with weights outside [0,{read.whole:g}] are wrong and must be mended: reasoning takes them as "
                "they are, but adds up no negative ones; anonymizing refuses them"
            )
        ownership, bounded = _owned(table, target, weight, read, reasons, ownership=ownership)
    options.update(_gaps([c for c in (source, target, weight) if c is not None], reasons))
    prefix = _prefix(source, target)
    if prefix:
        options["prefix"] = prefix
        reasons.append(
            f"both count their own things, so {prefix.replace(',', ' and ')} is put before the names"
        )
    others = tuple(_other(c) for c in rest if c is not weight)
    vertices = len(source.seen | target.seen)
    if len(table.raw) > len(source.values):
        vertices = max(vertices, _vertices(table, source, target))
    words = source.words | target.words  # the type of an owner is not an owner
    named = bool(source.words & SOURCES and target.words & TARGETS) and words <= SOURCES | TARGETS | IDS
    return Edges(
        *(table, source, target, weight, kinds, names, options, ownership, bounded, vertices),
        undirected=_both_ways(table),
        apart=not source.seen & target.seen or prefix is not None,
        said=named or found.why == "as was said",
        reasons=tuple(reasons),
        doubts=tuple(doubts),
        wrong=wrong,
        others=others,
    )


def _refuse(table: Found, *columns: Column) -> None:
    for one in columns:
        if one.nested:
            hint = "name other columns, or write the values into columns of their own"
            raise DataError(
                table.name, "the column holds lists, objects or bytes", column=one.name, hint=hint
            )
    grouped = next((c for c in columns[2:] if c.grouped), None)
    if grouped is not None:
        raise DataError(
            table.name,
            f"commas between thousands, as in {grouped.grouped}, are not read",
            column=grouped.name,
            hint="write the numbers without them",
        )


def _kinds(table: Found, relation: Column) -> tuple[tuple[str, ...], str | None]:
    """All kinds of edges, the most frequent first; none, and why, if they cannot be told apart."""
    import pyarrow.compute as pc

    counted = pc.value_counts(table.raw.columns[relation.number - 1])
    pairs = zip(texts(counted.field("values")), counted.field("counts").to_pylist(), strict=True)
    found = Counter({text: n for text, n in pairs if text.strip()})
    if len(found) > KINDS:
        return (), f"there are {len(found):,} of them, more than {KINDS}"
    if not table.whole:
        return (), "the file is large, and only its first rows were looked at"
    if any('"' in text or not text.isprintable() for text in (relation.name, *found)):
        return (), "no condition can hold the quotation marks in them"
    return tuple(name for name, _ in found.most_common()), None


def _owned(
    table: Found, target: Column, weight: Column, read: Scale, reasons: list[str], *, ownership: bool
) -> tuple[bool, bool]:
    """Whether weights are shares, and whether those of each target sum to 1 at most."""
    if read.whole is None:
        return False, False
    totals = sums(target, weight, read.whole, most=read.whole)
    every = table.whole and len(target.values) == target.rows and not read.wrong
    fits = max(totals, default=2.0) <= 1.0 + 1e-9
    like = bool(totals) and sorted(totals)[int(0.95 * (len(totals) - 1))] <= 1.005
    if fits and not ownership and _joint(target):
        ownership = True
        reasons.append("weights of the edges into each vertex sum to 1 at most, as shares do")
    return ownership or (like and (weight.percent or weight.marked > 0.5)), every and fits


def _joint(target: Column) -> bool:
    """Whether several targets have several edges, so that it says something if their weights sum to 1 at most."""
    return sum(number > 1 for number in Counter(target.values).values()) >= _SEVERAL


def _why_weight(one: Column) -> str:
    what = "by its name" if one.words & (WEIGHTS | {"%"}) else "it holds numbers"
    unit = "%" if one.marked > 0.5 else ""
    return f"{what}; its values go from {one.low or 0:g}{unit} to {one.high or 0:g}{unit}"


def _vertices(table: Found, source: Column, target: Column) -> int:
    import pyarrow.compute as pc

    ends = (table.raw.columns[source.number - 1], table.raw.columns[target.number - 1])
    return max(len(pc.unique(end)) for end in ends)


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
    if not (source.whole and target.whole) or source.words < target.words or target.words < source.words:
        return None
    stems = [re.sub(r"[\W_]*ids?$", "", c.name, flags=re.IGNORECASE).lower() for c in (source, target)]
    known = (OWNERS | OWNED | SOURCES | TARGETS) - {"user", "item", "movie", "product"}
    called = [s.isidentifier() and s != c.name.lower() for s, c in zip(stems, (source, target), strict=True)]
    if not all(called) or stems[0] == stems[1] or set(stems) & known:
        return None
    return f"{stems[0]}:,{stems[1]}:"


def _other(one: Column) -> str:
    """What is left out, with a word on what it looks like."""
    for what, known in (
        ("lists, objects or bytes", one.nested),
        ("one value", one.constant),
        ("a time", one.time),
        ("numbers the rows", one.counter),
        ("ranks", one.rank),
        ("counts", one.numeric and one.whole and bool(one.words & (SHARES | COUNTS))),
        ("large numbers", one.large),
    ):
        if known:
            return f"{shown(one)} ({what})"
    return f"{shown(one)} ({one.distinct:,} {'numbers' if one.numeric else 'values'})"


def _name(table: Found) -> Column | None:
    """The column that names the rows."""
    unique = [c for c in table.columns if c.unique and not fraction(c)]
    named = [c for c in unique if c.words & IDS]
    return next(iter([*named, *(c for c in unique if not c.numeric)]), None)


def keys(table: Found) -> list[Column]:
    """Columns that may name the rows of a table of vertices."""
    return [c for c in table.columns if c.unique and not fraction(c)]
