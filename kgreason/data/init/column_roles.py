"""Inference of column roles: source, target, kind and weight of edges, or the key of a vertex table."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import numpy as np

from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.data.formats.edge_list import konect_form
from kgreason.data.init.table_profiles import ROLES, ROWS, SOURCES, TARGETS, Column, Table

KINDS = 256
"""Kinds of edges up to which each is a relation of its own."""
SHARED = 0.02
"""Share of common values above which two columns name the same things."""
_ENDS, _WEIGHT = 3.0, 2.0  # minimum points for a pair of columns as edge ends, and for a weight column
_SLIPS = 0.05  # share of the weights that may be errors
_OF_ENDS = SOURCES | TARGETS | ROLES["id"]
_ENDS_OF_ONE = (SOURCES | TARGETS) - {"user", "item", "movie", "product"}
_NUMBERS = ("", "numbers the rows", "large numbers")  # possible forms of numeric ids
_DIVIDED = "weights must lie in [0,1], so each is divided by the greatest, without its sign"
_COUNTS = "its numbers are counts, not parts of 1, so each is divided by the greatest; rules of control need parts of 1"


def guess(table: Table) -> None:
    """Assign roles to the columns of a table, with reasons; a table without roles gets an error.

    Raises
    ------
    DataError
        If columns named by the user do not exist or cannot be read.
    """
    stated, kind = table.stated("columns"), next(iter(table.stated("relation")), None)
    titles = {c.name for c in table.columns[1:]} if table.raw.named else set()
    keys = [c for c in table.keys if c.has("id") or not c.numeric]
    why, hint = "", f"name source, target and weight: {table.reading(columns='1,2,3')}, by numbers or names"
    if len(stated) > 3:
        why = "columns names source, target and perhaps weight"
        raise DataError(table.name, why, hint="name two or three")
    if not len(table.raw):
        why, hint = "; ".join(["it has no rows", *table.notes]), "name a table with rows"
        if table.format == "bods":
            hint = f"name the file of relationships, or take other interests: {table.reading(interest='any')}"
    elif len(titles) >= 5 and 2 * len(titles & table.columns[0].counts.keys()) > len(titles):
        why = "it looks like a matrix: its columns are called as its rows are"
        hint = "write it as a list, a line source,target,weight for each cell that is not empty, and name that file"
    elif len(stated) == 1:
        table.roles["key"] = stated[0]
    elif stated:
        table.sure = True
        _explain(table, stated, kind, "as was said")
    elif not _edges(table, kind) and keys:
        table.roles["key"] = max(keys, key=lambda c: c.has("id"))
    elif not table.roles:
        why = "no two columns look like the ends of edges, and none names its rows"
        hint += f"; of people, a line each: kgreason people anonymize --table '{table.path}'"
    table.error = DataError(table.name, why, hint=hint) if why else None


def _edges(table: Table, stated: Column | None) -> bool:
    """Find the ends, the kind and the weight of edges; `stated` is the column of edge kinds, if given."""
    kind, because, directed = stated or _kind(table), "the format says so", True
    if table.raw.graph and len(table.columns) > 1:
        ends = [c for c in table.columns if c is not kind][:2]
        if table.format in ("edges", "konect") and konect_form(table.path) is None:
            because, directed = "an edge list has its ends first", kind is not None
    else:
        possible = [c for c in table.columns if c is not kind and not c.fraction and c.other in _NUMBERS]
        possible = [c for c in possible if not (c.numeric and c.strong and not c.words & _OF_ENDS)][:40]
        alone = len(possible) == 2
        ways = [(*_points(table, *pair, alone=alone), [*pair]) for pair in permutations(possible, 2)]
        most, because, ends = max(ways, key=lambda way: way[0], default=(0.0, "", []))
        if most < _ENDS:
            return False
        alike = [pair for points, _, pair in ways if points == most and pair != ends]
        directed = ends[::-1] not in alike or (kind is not None and not kind.words)
        for pair in (pair for pair in alike if pair != ends[::-1]):
            table.doubt(f"columns {pair[0]} and {pair[1]} are as likely the ends", *pair)
    weights = _weights(table, ends[0], ends[1], kind)
    directed |= table.undirected
    if not directed and weights and (weights[0].has("share") or weights[0].percent):
        parts = _parts(weights[0], 100 if weights[0].high > 2 else 1)
        fits = [np.mean(_sums(end, parts) > 1.005) <= _SLIPS for end in ends]
        if fits[0] != fits[1]:
            directed, because = True, f"{because}, shares of each target sum to 1 at most"
            ends = ends[::-1] if fits[0] else ends
    table.sure = all(c.words <= _OF_ENDS and c.words & (SOURCES | TARGETS) for c in ends)
    owned = bool(weights) and (_owned(ends[0], ends[1]) or weights[0].has("share"))
    if kind and owned and not (stated or kind.constant):
        table.doubt(f"column {kind} may hold kinds of edges, each a relation", relation=table.called(kind))
        kind = None
    elif kind and kind.numeric and not kind.words:
        table.doubt(f"column {kind} may hold no kinds of edges", columns="1,2,3")
    for other in weights[1:]:
        table.doubt(f"column {other} is as likely the weight", *ends, other)
    if not directed:
        more = {"relation": table.called(kind)} if kind else {}
        turned = [*ends[::-1], *weights[:1]]
        table.doubt("nothing says which end is the source, so the first is", *turned, **more)
    _explain(table, [*ends, *weights[:1]], kind, because)
    return True


def _points(table: Table, source: Column, target: Column, *, alone: bool) -> tuple[float, str]:
    """Points for two columns as source and target, and the reasons."""
    named, shared = (source.lean() > 0) + (target.lean() < 0), source.shared(target)
    width, few = len(table.columns), min(source.distinct, target.distinct) < 0.02 * source.rows
    described = False  # one column describes the entity that the other identifies
    for key, one in ((source, target), (target, source)):
        ids = key.unique and key.has("id") and one.words and not one.has("id")
        described |= bool(ids) and not named and (shared <= SHARED or source.numeric)
    alike = shared > SHARED and not few and not described
    # points, condition, reason
    hints: tuple[tuple[float, object, str], ...] = (
        (source.lean() - target.lean(), True, ("", "by a name", "by their names")[named]),
        (1.0 + shared + 2.0 * (shared > 0.3), alike, "they share values"),
        (1.5, width <= 3, "the table has few columns"),
        (2.0, alone and (width > 2 or source.numeric == target.numeric), ""),
        (-4.0, described, ""),
        (-3.0, source.numeric != target.numeric, ""),
        (-3.0, width > 6 and named < 2, ""),
    )
    why = ", ".join(what for _, holds, what in hints if holds and what) or "no other columns can be ends"
    return sum(points for points, holds, _ in hints if holds), why


def _kind(table: Table) -> Column | None:
    """Column of edge kinds: by its name, the second of triples, or codes in the third column."""
    for one in table.columns:
        if one.has("relation") and not one.lean():
            useless = one.nested or one.fraction or (one.constant and (one.missing or one.numeric))
            return one if 2 * one.distinct <= one.rows and not useless else None
    triple = [c for c in table.columns[:3] if c.distinct and not c.fraction]
    if len(triple) < 3 or any(word[1:] for c in triple for word in c.words):
        return None
    first, second, third = triple
    common, least = first.shared(third) > SHARED, min(first.distinct, third.distinct)
    between = second.distinct <= 0.2 * least and (common or third.distinct > 20 * second.distinct)
    if not second.numeric:
        apart = max(first.shared(second), second.shared(third)) <= SHARED
        between = common and apart and second.distinct < least and 2 * second.distinct <= second.rows + 1
    if between and first.numeric == third.numeric:
        return second
    lowest = sum(n for text, n in third.counts.items() if third.numbers.get(text) == third.low)
    dense = third.low in (0, 1) and third.distinct >= 0.9 * (third.high - third.low + 1)
    rare = 20 < third.distinct <= 0.2 * min(first.distinct, second.distinct) and lowest < 0.05 * third.rows
    return third if third.whole and first.whole and second.whole and dense and rare else None


def _weights(table: Table, source: Column, target: Column, kind: Column | None) -> list[Column]:
    """Best weight column; several if their names fit equally well."""
    rated, graph = {}, table.raw.graph or not table.raw.named
    for one in table.columns:
        hints = (
            (3.0, one.strong),
            (3.0, one.marked > 0.5),
            (2.0, one.low >= 0 and one.high <= 1 and one.fraction),
            (0.5, one.low >= 0 and one.high <= 100),
            (1.0, one.fraction),
            (1.0, one.has("share") and _owned(source, target)),
            (2.0, len(table.columns) == 3 or (one.number == 3 and graph)),
            (-1.0, one.has("count")),
            (-3.0, one.constant),
        )
        useless = len(one.others) > 1 or one.other not in ("", "one value") or one in (source, target, kind)
        if one.numeric and not useless:
            rated[one] = sum(points for points, holds in hints if holds)
    best = max(rated, key=rated.__getitem__, default=None)
    if best is None or rated[best] < _WEIGHT:
        return []
    return [best, *(one for one in rated if one.strong and rated[one] == rated[best] and one is not best)]


def _owned(source: Column, target: Column) -> bool:
    return source.has("owner") or target.has("owned")


def _explain(table: Table, taken: list[Column], kind: Column | None, because: str) -> None:
    """Assign source, target, weight and kind columns, with their options and the reasons."""
    source, target, *weights = taken
    table.roles = dict(zip(("source", "target", "weight"), taken, strict=False))
    table.roles |= {"kind": kind} if kind else {}
    for one in table.roles.values():
        if one.nested or (one in weights and (not one.numeric or one.other.startswith("commas"))):
            what = f"the column holds {one.other or 'no numbers'}"
            raise DataError(table.name, what, column=one.name, hint="name other columns, or mend this one")
    table.note(f"column {source} is the source and {target} the target: {because}")
    if kind:
        what = f"{kind.distinct:,} kinds of edges" if kind.distinct > 1 else "the relation of all edges"
        odd = any('"' in text or not text.isprintable() for text in (kind.name, *kind.counts))
        if odd or not 0 < kind.distinct <= KINDS or len(table.raw) > ROWS:
            what += f", which are lost: they are more than {KINDS}, or no condition can hold them"
        else:
            table.kinds = [text for text, _ in kind.counts.most_common()]
            what += ", and each is a relation of its own" if table.kinds[1:] else f" ({table.kinds[0]})"
        gone = f"; {kind.missing:,} rows without one are left out" if kind.missing else ""
        table.note(f"column {kind} holds {what}{gone}")
    for weight in weights:
        table.shares = table.format == "bods" or _owned(source, target)
        table.shares |= weight.has("share") and weight.words <= ROLES["share"] | ROLES["id"]
        _read_weights(table, target, weight)
    if gaps := ", ".join(f"{c.missing:,} in {c}" for c in taken if c.missing):
        table.note(f"rows with missing values are skipped ({gaps})", missing="skip")
    named = [re.fullmatch(r"([^\W\d]\w*?)[\W_]*ids?", c.name.lower()) for c in (source, target) if c.whole]
    stems = {f"{found[1]}:": found[1] for found in named if found}
    if len(stems) == 2 and _ENDS_OF_ONE.isdisjoint(stems.values()):
        what = f"both count their own things, so {' and '.join(stems)} is put before the names"
        table.note(what, prefix=",".join(stems))


def _parts(weight: Column, whole: float) -> Any:
    """Fraction of `whole` of each row, NaN where the value is not a number."""
    parts = {text: number / (100 if "%" in text else whole) for text, number in weight.numbers.items()}
    return np.array([parts.get(text, np.nan) for text in weight.texts])


def _sums(end: Column, parts: Any) -> Any:
    """Sum of the fractions in [0,1] for each distinct value of a column."""
    rows = pa.table({"end": end.texts, "part": np.where((parts >= 0) & (parts <= 1), parts, 0.0)})
    return rows.group_by("end").aggregate([("part", "sum")])["part_sum"].to_numpy()


def _read_weights(table: Table, target: Column, weight: Column) -> None:
    """Choose how edge weights are read, and note the reasons and remaining problems."""
    plain = [(n, weight.counts[t]) for t, n in weight.numbers.items() if "%" not in t]
    rows, unmarked = sum(weight.counts[t] for t in weight.numbers), sum(n for _, n in plain)
    over, over_percent = (sum(n for value, n in plain if not 0 <= value <= most) for most in (1, 100))
    why, mark = "by its name" if weight.strong else "it holds numbers", "%" if weight.percent else ""
    values = f"its values go from {weight.low:g}{mark} to {weight.high:g}{mark}"
    table.note(f"column {weight} is the weight: {why}; {values}")
    if weight.comma:
        table.note("its numbers have decimal commas", decimal=",")
    for text in weight.others[:1]:
        table.note(f"{text!r} in the weight is taken for a missing value", nullString=text, missing="skip")
    shares, slips, said = table.shares or weight.percent, max(1, _SLIPS * rows), table.options.get("percent")
    marked, few = weight.percent or unmarked < rows, over <= slips and (shares or rows >= 10)
    above = f"{over:,} of {rows:,} numbers are above 1"
    percent, divided = {"percent": "true"}, {"scale": "abs"}
    minmax = {"scale": "minmax"} if weight.low < 0 < weight.high else {}
    # condition, option, value of a full share (0: weights are not shares), reason, alternative option
    readings: tuple[tuple[object, dict[str, str], int, str, dict[str, str]], ...] = (
        ("scale" in table.options, {}, 0, "", {}),
        (said, {}, 100 if said == "true" else 1, "", {}),
        (not unmarked, {}, 100, "", {}),
        (not over and marked, {}, 1, "numbers up to 1 may be percentages", percent),
        (not over, {}, 1, "", {}),
        (shares and over_percent > slips, divided, 0, _COUNTS, {}),
        (few and marked, percent, 100, f"{above}: percentages", {"percent": "false"}),
        (few, {}, 1, f"{above} and may be slips", percent),
        (shares, percent, 100, "shares up to 100 are percentages, and divided by 100", {}),
        (True, divided, 0, _DIVIDED, minmax),
    )
    _, options, whole, why, other = next(reading for reading in readings if reading[0])
    table.options |= options
    if other:
        table.doubt(why, **other)
    elif why:
        table.note(why)
    table.shares &= whole > 0
    if not whole:
        return
    parts = _parts(weight, whole)
    wrong = np.flatnonzero((parts < 0) | (parts > 1)).tolist()
    if wrong:
        line, text = table.raw.line(wrong[0]), weight.texts[wrong[0]].strip()
        where = f"row {wrong[0] + 1}: {text}{f' (line {line})' if line else ''}"
        what = f"{len(wrong):,} of {rows:,} weights are outside [0,{whole}] and must be mended, first {where}"
        table.note(f"{what}; reasoning adds up no negative ones, and anonymizing refuses them")
    sums, often = _sums(target, parts), sum(n > 1 for n in target.counts.values()) >= 3
    fits = bool(sums.max() <= 1 + 1e-9)
    table.bounded = fits and len(table.raw) <= ROWS and not wrong
    if not table.shares and ((fits and often) or (weight.percent and np.mean(sums > 1.005) <= _SLIPS)):
        table.shares = True
        table.note("weights of the edges into each vertex sum to 1 at most, as shares do")
