"""Roles of columns: source, target, weight and kind of edges, or the key of a table with a line for each vertex."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import combinations

from kgreason.data.edge_list import konect_form
from kgreason.errors import DataError
from kgreason.init import words
from kgreason.init.columns import Column, often, sums
from kgreason.init.tables import Table
from kgreason.init.weights import read_weights

KINDS = 256
"""Kinds of edges up to which each is a relation of its own."""
_ENDS, _WEIGHT = 3.0, 2.0  # points that make two columns the ends of edges, and one the weight
_CLOSE = 0.75  # points by which a weight must lead another whose name says as much
_WIDE = 6  # columns; in wider tables more must speak for two being ends
_SHARED = 0.02  # share of common values above which two columns name the same things


def guess(table: Table) -> None:
    """Give roles to the columns of a table. With source, target and key, its lines may be edges as well as vertices.

    Raises
    ------
    DataError
        If the user names columns that are not there, or several readings are equally likely.
    """
    titles = {c.name for c in table.columns[1:]} if table.raw.named else set()
    stated = [
        table.column(name.strip()) for name in table.options.get("columns", "").split(",") if name.strip()
    ]
    kind = None if table.relation is None else table.column(table.relation)
    if not len(table.raw):
        table.error = _empty(table)
    elif len(titles) >= 5 and 2 * len(titles & table.columns[0].counts.keys()) > len(titles):
        hint = "write it as a list, a line source,target,weight for each cell that is not empty, and name that file"
        why = "it looks like a matrix: its columns are called as its rows are"
        table.error = DataError(table.name, why, hint=hint)
    elif len(stated) == 1:
        table.roles["key"] = stated[0]
    elif len(stated) > 3:
        raise DataError(
            table.name, "columns names source, target and perhaps weight", hint="write two names or three"
        )
    elif stated:
        table.roles = dict(zip(("source", "target", "weight"), stated, strict=False))
        table.roles |= {"kind": kind} if kind else {}
        table.stated = True
        _explain(table)
    elif _guess_edges(table, kind):
        _explain(table)
        key, target = _vertex_key(table, frozenset()), table.roles["target"]
        table.sure |= any(one.words & words.SHARES for one in table.taken[2:])
        if key is not None and not table.sure:
            table.roles["key"] = key
        elif key is not None and table.raw.graph and target.distinct <= 0.2 * key.distinct:
            what = f"each source has one edge, so column {target} may be an attribute of vertices"
            table.doubt(what, reading="the other reading, beside a table of edges", columns="1")
    elif found := [c for c in keys(table) if c.words & words.IDS] or [
        c for c in keys(table) if not c.numeric
    ]:
        table.roles["key"] = found[0]
    else:
        hint = f"name source, target and weight: {table.reading(columns='1,2,3')}, by numbers or names"
        why = "it has one column only, and an edge has two ends"
        if len(table.columns) > 1:
            hint += (
                f"; of people, a line each: kgreason anonymize --method pckga --table --data '{table.path}'"
            )
            why = "no two columns look like the ends of edges, and none names its rows"
        table.error = DataError(table.name, why, hint=hint)


def _empty(table: Table) -> DataError:
    """Say that there are no rows; what the reader left out may be what is wanted."""
    left = "; ".join(table.said)
    hint = "name a table with rows"
    if table.format == "bods" and left:
        hint = f"take other interests: {table.reading(interest='any')}"
    elif table.format in ("bods", "gleif"):
        hint = "it tells of entities and persons alone: name the file of relationships"
    return DataError(table.name, f"it has no rows{f' ({left})' if left else ''}", hint=hint)


def keys(table: Table) -> list[Column]:
    """Columns that may name the rows of a table."""
    return [c for c in table.columns if c.unique and not c.fraction]


def _vertex_key(table: Table, ends: Set[str]) -> Column | None:
    """The column that names vertices, if the lines of a table may be vertices.

    Without `ends`, those of the edges of other tables, it is the source if each source has one line.
    """
    source, target, kind = table.roles["source"], table.roles["target"], table.roles.get("kind")
    if table.stated or table.shares or (kind is not None and not kind.constant):
        return None
    if not ends:
        return source if source.unique else None
    for key, other in ((source, target), (target, source)):
        known = len(key.counts.keys() & ends) >= 0.5 * min(key.distinct, len(ends))
        if (
            key.unique
            and known
            and (other.numeric or len(other.counts.keys() & ends) <= _SHARED * other.distinct)
        ):
            return key
    return None


def settle(tables: Sequence[Table]) -> None:
    """Tell tables of vertices from tables of edges by what the other tables hold.

    Raises
    ------
    DataError
        If the lines of a table may be either, and no other table tells.
    """
    candidates = [table for table in tables if "source" in table.roles]
    found = {}
    for table in candidates:
        ends = {v for other in candidates if other is not table for v in other.ends}
        if key := _vertex_key(table, ends) if ends else None:
            found[table.given] = key
        elif own := table.roles.get("key"):
            names = [table.called(c) for c in (*table.taken[:2], own)]
            edges, vertices = table.reading(*table.taken), table.reading(own)
            raise DataError(
                table.name,
                "a line may be an edge from {} to {}, or a vertex {} with what is known of it".format(*names),
                hint=f"say which: edges {edges}, vertices {vertices} (beside a table of edges, or alone, of people)",
            )
    for table in candidates:
        table.roles.pop("key", None)
        if table.given in found and len(found) < len(candidates):
            table.notes.clear()
            table.doubt("its lines may be edges", *table.taken[:2])
            table.roles = {"key": found[table.given]}


def _guess_edges(table: Table, stated: Column | None) -> bool:
    """Find the edges that names, values and the format tell; `stated` is the column of their kinds."""
    kind, other = (stated, "") if stated else _kind(table)
    if not _find_ends(table, kind):
        if stated or kind is None or not _find_ends(table, None):
            return False
        kind = None
    _find_weight(table, kind)
    _turn_by_sums(table)
    if kind is not None and stated is None and table.shares:
        if not kind.constant:
            reading = "the other reading, in which each kind is a relation"
            table.doubt(
                f"column {kind} may hold kinds of edges", reading=reading, relation=table.called(kind)
            )
        kind = None
    elif kind is not None and other:
        table.doubt(f"column {kind} may hold no kinds of edges", columns=other)
    if kind is not None:
        table.roles["kind"] = kind
    if not table.directed and not table.undirected:
        source, target, *weight = table.taken
        more = {"relation": table.called(kind)} if kind else {}
        table.doubt("nothing says which end is the source, so the first is", target, source, *weight, **more)
    return True


def _find_ends(table: Table, kind: Column | None) -> bool:
    width = len(table.columns)
    if table.raw.graph and width >= 2:
        between = kind is table.columns[1] and width > 2
        table.roles |= {"source": table.columns[0], "target": table.columns[2 if between else 1]}
        table.because = "the format says so"
        if table.format in ("edges", "konect") and konect_form(table.path) is None:
            table.because, table.directed = "an edge list has its ends first", between
        return True
    possible = [c for c in table.columns if c is not kind and not (c.constant or c.nested or c.fraction)]
    likely = [
        c
        for c in possible
        if not c.time
        and not (c.numeric and c.named_weight and not c.named_end and not c.words & words.IDS)
        and (not c.rank or c.named_end or any(_refers(other, c) for other in possible))
    ]
    likely = (likely if len(likely) > 1 else [c for c in possible if not c.dated])[:40]
    alone = len(likely) == 2 and all(c in likely or c is kind or _explained(c) for c in table.columns)
    rated = []
    for pair in combinations(likely, 2):
        there, back = _score(pair[0], pair[1], width, alone), _score(pair[1], pair[0], width, alone)
        ends, (points, why, sure) = ([*reversed(pair)], back) if back[0] > there[0] else ([*pair], there)
        rated.append((points, ends, why, sure, there[0] != back[0]))
    best = max((points for points, *_ in rated), default=0.0)
    if best < _ENDS:
        return False
    alike = [one for one in rated if best - one[0] < 1e-9]
    _check_one(table, "ends of edges", [ends for _, ends, *_ in alike])
    _, (source, target), table.because, table.sure, directed = alike[0]
    table.directed = directed or (kind is not None and not kind.words)
    table.roles |= {"source": source, "target": target}
    return True


def _check_one(table: Table, what: str, alike: Sequence[list[Column]], *ends: Column) -> None:
    """Ask which columns are meant, if several are equally likely."""
    if len(alike) > 1:
        names = ", or ".join(" and ".join(c.name for c in columns) for columns in alike[:3])
        readings = ", or ".join(table.reading(*ends, *columns) for columns in alike[:3])
        why = f"the {what} may be {names}: one is as likely as the other"
        raise DataError(table.name, why, hint=f"say which: {readings}")


def _refers(one: Column, other: Column) -> bool:
    """Whether a column holds ids of another one, as parent_id does of id."""
    return bool(other.words & words.IDS) and other.words < one.words and _shared(one, other) > _SHARED


def _explained(one: Column) -> bool:
    """Whether a column is something else that edges may have: time, rank, weight, one value."""
    part = one.fraction and one.low >= 0 and one.high <= 1
    measured = one.numeric and (one.named_weight or one.percent)
    return one.constant or one.time or one.rank or one.counter or part or measured


def _score(source: Column, target: Column, width: int, alone: bool) -> tuple[float, str, bool]:
    """Points for two columns being source and target, what speaks for it, and whether it is more than their number."""
    strengths = [
        _strength(source, words.SOURCES) or -_strength(source, words.TARGETS),
        _strength(target, words.TARGETS) or -_strength(target, words.SOURCES),
    ]
    if any(s in source.words and t in target.words for s, t in words.PREPOSITIONS):
        strengths = [2, 2]
    named = sum(strength > 0 for strength in strengths)
    same = not named and (_describes(source, target) or _describes(target, source))
    common = 0.0 if same else _shared(source, target)
    sharing = common > _SHARED and not (source.few or target.few)
    ids = source.words & words.IDS and target.words & words.IDS and source.words != target.words
    evidence = [
        (sum(strengths), "by their names" if named == 2 else "by a name" if named else "", True),
        (1.0 + common + 2.0 * (common > 0.3), "they share values", sharing),
        (1.5, "both are ids", ids and width <= _WIDE),
        (1.5, "the table has few columns", width <= 3),
        (2.0, "", alone and (width > 2 or source.numeric == target.numeric)),
        (0.0, "no other columns can be ends", alone and width > 2 and not named and common <= _SHARED),
        (-4.0, "", same),
        (-3.0, "", source.numeric != target.numeric),
        (-3.0, "", width > _WIDE and named < 2),
    ]
    why = ", ".join(what for _, what, holds in evidence if holds and what)
    return sum(points for points, _, holds in evidence if holds), why, named > 0 or common > _SHARED


def _strength(one: Column, group: Set[str]) -> int:
    """How much a name says that a column is an end: 2, or 1 if its words stand for either end."""
    return bool(one.words & group) + bool(one.words & (group - words.EITHER))


def _describes(one: Column, key: Column) -> bool:
    """Whether a column tells what the things are called, or how old they are, whose ids another column holds."""
    if _shared(one, key) > _SHARED and not (one.numeric and key.numeric):
        return False
    return key.unique and bool(
        key.words & words.IDS and one.words and (one.words & words.LABELS or not one.words & words.IDS)
    )


def _shared(a: Column, b: Column) -> float:
    """Share of the different values of the smaller column that the other column has."""
    return len(a.counts.keys() & b.counts.keys()) / max(1, min(a.distinct, b.distinct))


def _kind(table: Table) -> tuple[Column | None, str]:
    """The column of kinds of edges, and the option ``columns`` of the other reading if it is not sure.

    Triples have it between their ends; kinds that are numbers may be behind the ends.
    """
    possible = [
        c
        for c in table.columns
        if not (c.nested or c.dated or c.fraction or (c.constant and (c.missing or c.numeric)))
        and not {value.lower() for value in c.counts} <= {"directed", "undirected"}  # as Gephi writes
    ]
    for one in possible:
        if one.words & words.RELATIONS and not one.named_end:
            return (one, "") if 2 * one.distinct <= one.rows else (None, "")
    triple = table.columns[:3]
    if len(triple) < 3 or any(c not in possible or any(word[1:] for word in c.words) for c in triple):
        return None, ""  # letters, as s, p, o, say nothing
    first, second, third = triple
    common, least = _shared(first, third) > _SHARED, min(first.distinct, third.distinct)
    if second.numeric:
        fewer = second.distinct <= 0.2 * least
        between = (
            fewer and first.numeric and (common or (second.few and third.distinct > 20 * second.distinct))
        )
    else:
        apart = max(_shared(first, second), _shared(second, third)) <= _SHARED
        between = apart and common and second.distinct < least and 2 * second.distinct <= second.rows + 1
    if between and second.distinct and first.numeric == third.numeric:
        return second, "" if common else "1,2,3"
    return (third, "1,2,3") if _codes(first, second, third) else (None, "")


def _codes(first: Column, second: Column, third: Column) -> bool:
    """Whether numbers behind two ends are kinds: none is left out, and no low one is most frequent.

    Counts are mostly 1, and a pair of ends has one count; it may have edges of several kinds.
    """
    few = third.distinct <= 0.2 * min(first.distinct, second.distinct)
    dense = third.low in (0, 1) and third.distinct >= 0.9 * (third.high - third.low + 1)
    if not (first.whole and second.whole and third.whole and few and dense):
        return False
    pairs = set(zip(first.values, second.values, strict=True))
    rows = set(zip(first.values, second.values, third.values, strict=True))
    lowest = sum(n for text, n in third.counts.items() if third.numbers.get(text) == third.low)
    return len(rows) > 1.01 * len(pairs) or (third.distinct > 20 and lowest < 0.05 * third.rows)


def _find_weight(table: Table, kind: Column | None) -> None:
    """Find the column that tells best how strong an edge is, and whether weights are shares in something owned."""
    source, target = table.taken
    owned = bool(source.words & words.OWNERS or target.words & words.OWNED)
    rated = []
    for one in table.columns:
        useless = one.grouped or len(one.others) > 1 or one.counter or one.time or one.rank
        if not one.numeric or useless or one in (source, target, kind):
            continue
        evidence = (
            (3.0, one.named_weight),
            (3.0, one.marked > 0.5),
            (-3.0, one.constant),
            (2.0, one.low >= 0 and one.high <= 1 and one.fraction),
            (0.5, one.low >= 0 and one.high <= 100),
            (1.0, one.fraction),
            (1.0, owned and one.words & words.SHARES),
            (2.0, len(table.columns) == 3 or (table.raw.graph and one.number == 3)),
            (2.0, not table.raw.named and one.number == 3),
            (-1.0, one.words & words.COUNTS),
        )
        points = sum(points for points, holds in evidence if holds)
        if points >= _WEIGHT and one.large:
            table.doubt(f"column {one} may be times or counts, so it is no weight", source, target, one)
        elif points >= _WEIGHT:
            rated.append((points, one))
    best, weight = max(rated, key=lambda one: one[0], default=(0.0, None))
    alike = [one for points, one in rated if best - points < _CLOSE]
    if all(one.named_weight for one in alike):
        _check_one(table, "weight", [[one] for one in alike], source, target)
    if weight is not None:
        table.roles["weight"] = weight
        table.shares = _are_shares(table)


def _are_shares(table: Table) -> bool:
    """Whether names or the format say that weights are shares in something owned."""
    source, target, weight = table.taken
    owned = source.words & words.OWNERS or target.words & words.OWNED
    of_shares = weight.words & words.SHARES and not weight.words - words.SHARES - {"%"} - words.IDS
    return table.format == "bods" or bool(owned or of_shares)


def _turn_by_sums(table: Table) -> None:
    """Take the direction in which shares sum to 1 at most for each target, where only one direction does."""
    weight = table.roles.get("weight")
    if table.directed or weight is None or not (weight.words & words.SHARES or weight.marked > 0.5):
        return
    whole = 100.0 if weight.marked > 0.5 or weight.high > 2.0 else 1.0
    source, target = table.taken[:2]
    fits = [not often(sums(end, weight, whole), 1.005, 0.05) for end in (source, target)]
    if fits[0] != fits[1]:
        table.directed = True
        table.because += ", shares of each target sum to 1 at most"
        if fits[0]:
            table.roles |= {"source": target, "target": source}


def _explain(table: Table) -> None:
    """Read the weights and kinds of edges, with the options that they need, and say why.

    Raises
    ------
    DataError
        If a column cannot be read.
    """
    source, target, kind, weight = (table.roles.get(role) for role in ("source", "target", "kind", "weight"))
    for role, one in table.roles.items():
        if one.nested:
            hint = "name other columns, or write the values into columns of their own"
            raise DataError(
                table.name, "the column holds lists, objects or bytes", column=one.name, hint=hint
            )
        if one.grouped and role == "weight":
            what = f"commas between thousands, as in {one.grouped}, are not read"
            raise DataError(table.name, what, column=one.name, hint="write the numbers without them")
    table.notes.append(f"column {source} is the source and {target} the target: {table.because}")
    table.notes += [
        f"column {c} is no weight: commas between thousands, as in {c.grouped}, are not read"
        for c in table.unread
        if c.grouped
    ]
    if kind is not None:
        table.notes.append(f"column {kind} holds {_take_kinds(table, kind)}")
    if weight is not None:
        table.shares = _are_shares(table)
        read_weights(table)
        if weight.others:
            table.added["nullString"] = weight.others[0]
            table.notes.append(f"{weight.others[0]!r} in the weight is taken for a missing value")
    gaps = ", ".join(f"{c.missing:,} in {c}" for c in table.taken if c.missing)
    if gaps or "nullString" in table.added:
        table.added["missing"] = "skip"
        table.notes.append(f"rows with missing values are skipped{f' ({gaps})' if gaps else ''}")
    if prefixes := _prefixes(*table.taken[:2]):
        table.added["prefix"] = ",".join(prefixes)
        table.notes.append(
            f"both count their own things, so {' and '.join(prefixes)} is put before the names"
        )
    ends = [one.words for one in table.taken[:2]]
    named = bool(ends[0] & words.SOURCES and ends[1] & words.TARGETS)  # the type of an owner is not an owner
    table.stated |= named and ends[0] | ends[1] <= words.SOURCES | words.TARGETS | words.IDS


def _take_kinds(table: Table, kind: Column) -> str:
    """Make kinds of edges relations of their own, if they can be told apart, and say what the column holds."""
    lost = ""
    if kind.distinct > KINDS:
        lost = f"there are {kind.distinct:,} of them, more than {KINDS}"
    elif not table.whole:
        lost = "the file is large, and only its first rows were looked at"
    elif any('"' in text or not text.isprintable() for text in (kind.name, *kind.counts)):
        lost = "no condition can hold the quotation marks in them"
    if lost:
        return f"kinds of edges, which are lost, for {lost}: all edges are of one relation"
    table.kinds = sorted(kind.counts, key=lambda text: -kind.counts[text])
    what = f"{len(table.kinds)} kinds of edges, and each is a relation of its own"
    if kind.distinct == 1:
        what = f"the relation of all edges ({table.kinds[0]})"
    return what + (f"; {kind.missing:,} rows without one are left out" if kind.missing else "")


def _prefixes(source: Column, target: Column) -> list[str]:
    """Prefixes that tell two kinds of numbers apart, if both ends are called after what they count, as userId."""
    if not (source.whole and target.whole) or source.words < target.words or target.words < source.words:
        return []
    stems = [re.sub(r"[\W_]*ids?$", "", c.name, flags=re.IGNORECASE).lower() for c in (source, target)]
    ends = (words.SOURCES | words.TARGETS) - {"user", "item", "movie", "product"}
    named = all(
        s.isidentifier() and s != c.name.lower() for s, c in zip(stems, (source, target), strict=True)
    )
    return [f"{stem}:" for stem in stems] if named and stems[0] != stems[1] and not ends & {*stems} else []
