"""Initial rule file for edge and vertex tables, or schema for a table of people, from the roles of the columns."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Sequence
from itertools import chain, count, permutations
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.formats.edge_list import konect_form
from kgreason.data.sources import DATABASES
from kgreason.data.table_profiles import ROLES, ROWS, SOURCES, TARGETS, Column, Table, tables
from kgreason.language.check.file_access import Reach
from kgreason.language.functions import BUILT_IN
from kgreason.language.values import source as quoted
from kgreason.language.vocabulary import AGGREGATES, SERVERS

KINDS = 256  # kinds of edges up to which each is a relation of its own
SHARED = 0.02  # share of common values above which two columns name the same things
_ENDS, _WEIGHT = 3.0, 2.0  # minimum points for a pair of columns as edge ends, and for a weight column
_SLIPS = 0.05  # share of the weights that may be errors
_OF_ENDS = SOURCES | TARGETS | ROLES["id"]
_ENDS_OF_ONE = (SOURCES | TARGETS) - {"user", "item", "movie", "product"}
_NUMBERS = ("", "numbers the rows", "large numbers")  # possible forms of numeric ids
_DIVIDED = "weights must lie in [0,1], so each is divided by the greatest, without its sign"
_COUNTS = "its numbers are counts, not parts of 1, so each is divided by the greatest; rules of control need parts of 1"
FEW = 300  # vertices up to which all pairs are derived of which one reaches the other
_WORDS = "own edge link company vertex control holding two_owns reach mutual two_out two_in true false not and or in is"
_RESERVED = AGGREGATES | {*BUILT_IN, *_WORDS.split(), "div", "mod"}
_OWN = ("own", "")  # the group of the tables of shares
_QUOTES = ("'", "''")  # escaping in a condition
_EDGES = "name a table of edges, too: kgreason init EDGES VERTICES"
_ANONYMIZE = "kgreason people anonymize"
_OF_PEOPLE = ("files", "id", "header", "delimiter", "encoding")
_STEPS = ("check", "reason --rules", "risk --rules", "anonymize --rules")


@record
class Start:
    """Initial rule file or schema: its path, its content, and the topic of its rules, or ``people``."""

    file: Path
    text: str
    kind: str
    guesses: dict[str, list[str]]  # assumptions about each table, by table name
    next: list[str]  # suggested next commands


def start(files: Sequence[str], out: Path | None = None) -> Start:
    """Infer the content of tables, and write a rule file for them.

    Parameters
    ----------
    files
        File names; options may follow a question mark.
    out
        Path of the rule file; `None`: in the working directory, named after the first table.

    Raises
    ------
    DataError
        If a file cannot be read, or nothing can be inferred; the hint says what to write instead.
    """
    found = [table for file in files for table in tables(file)]
    for table in found:
        guess(table)
    edges = [table for table in found if "source" in table.roles]
    vertices, left = [], {}
    for table in found:
        ends = {end for other in edges if other is not table for side in other.ends for end in side}
        known = {c: len(c.counts.keys() & ends) / max(1, c.distinct) for c in table.columns}
        key = max(table.keys, key=known.__getitem__, default=None)
        if table in edges:
            if table.sure or table.shares or table.kinds or key not in table.taken[:2]:
                continue
            one, other = table.taken[:2] if key is table.taken[0] else table.taken[1::-1]
            if known[one] < 0.5 or (known[other] > SHARED and not other.numeric):
                if not ends and (one.shared(other) <= SHARED or other.distinct <= 0.2 * one.distinct):
                    names, ways = [table.called(c) for c in (one, other, one)], table.reading(*table.taken)
                    why = "a line may be an edge from {} to {}, or a vertex {} with what is known of it"
                    hint = f"say which: edges {ways}, vertices {table.reading(one)} (beside edges, or alone, of people)"
                    if one is table.taken[0] and not table.raw.graph:
                        raise DataError(table.name, why.format(*names), hint=hint)
                    table.doubt("each source is in one line, so a line may be a vertex or a person", one)
                continue
            edges.remove(table)
            table.notes, table.doubts = [], []
            table.doubt("its lines may be edges", *table.taken[:2])
        if key and known[key] > 0.1 and not table.error:
            table.roles = {"key": key}
            table.note(f"column {key} names vertices")
            vertices.append(table)
        else:
            why = table.error.message if table.error else "its rows are no ends of edges"
            left[table.name] = [f"not used: {why}"]
    if edges:
        file = out or Path(f"{edges[0].stem}.vada")
        text, kind = _rules(edges, vertices, file)
        guesses = {table.name: table.notes + table.doubts for table in edges + vertices} | left
        return Start(file, text, kind, guesses, _commands(file, edges + vertices, str(file)))
    if len(found) == 1 and not found[0].error:
        return _people(found[0], out)
    hint = f"{_EDGES}; of people with attributes, one table alone"
    raise found[0].error or DataError(found[0].name, "no table of edges is among these", hint=hint)


def guess(table: Table) -> None:
    """Assign roles to the columns of a table, with reasons; a table without roles gets an error."""
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
    shares, slips = table.shares or weight.percent, max(1, _SLIPS * rows)
    stated = table.options.get("percent")
    marked, few = weight.percent or unmarked < rows, over <= slips and (shares or rows >= 10)
    above = f"{over:,} of {rows:,} numbers are above 1"
    percent, divided = {"percent": "true"}, {"scale": "abs"}
    minmax = {"scale": "minmax"} if weight.low < 0 < weight.high else {}
    # condition, option, value of a full share (0: weights are not shares), reason, alternative option
    readings: tuple[tuple[object, dict[str, str], int, str, dict[str, str]], ...] = (
        ("scale" in table.options, {}, 0, "", {}),
        (stated, {}, 100 if stated == "true" else 1, "", {}),
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


def _commands(file: Path, read: Sequence[Table], name: str) -> list[str]:
    reach = Reach(file.parent)
    inside = all(table.format not in SERVERS and reach.reads(table.path) for table in read)
    return [f"kgreason {step} {shlex.quote(name)}{'' if inside else ' --allow-files'}" for step in _STEPS]


def _people(table: Table, out: Path | None) -> Start:
    """Schema of a table with one row per person; `DataError` without attribute columns or if `out` is not a schema."""
    key, left = table.roles["key"], []
    kinds: dict[str, list[str]] = {"numeric": [], "categorical": [], "ignore": []}
    for one in table.unread:
        why = "holds lists, objects or bytes" if one.nested else "" if one.distinct else "is empty"
        if one.distinct == 1 < one.rows and not one.missing:
            why = "has the same value in each row"
        elif not why and not one.fraction and one.distinct > 0.9 * max(2, one.rows - one.missing):
            why = "has another value in nearly each row"
        plain = one.numeric and not (one.others or one.marked or one.comma or "commas" in one.other)
        kinds["ignore" if why else "numeric" if plain else "categorical"].append(one.name)
        left += [f"column {one} {why}, so it is left out"] if why else []
    table.notes += [f"column {key} names the users: it has another value in each row", *left]
    if not kinds["numeric"] + kinds["categorical"]:
        hint = f"{_EDGES}; if its lines are edges: {table.reading(*table.columns[:2])}" if left else _EDGES
        why = "this is no table of edges, and as one of people it has no attribute"
        raise DataError(table.name, f"{why}: {'; '.join(left)}" if left else why, hint=hint)
    file = out or Path(f"{table.path.name.partition('.')[0]}.toml")
    if file.suffix != ".toml":
        why = "this table is of people, and what is written for it is a schema"
        hint = f"name a file that ends in .toml, for instance --out {file.with_suffix('.toml')}"
        raise DataError(str(file), why, hint=hint)
    if len(table.columns) == 2:
        table.doubt("its lines may be edges", *table.columns)
    values = {"files": [_place(table, file)], "id": key.name, "header": table.raw.named, **table.options}
    values = {name: value for name, value in values.items() if name in _OF_PEOPLE}
    here, there = (f"{_ANONYMIZE} {shlex.quote(name)}" for name in (file.name, str(file)))
    text = _render("schema.toml.j2", table=table, command=here, values=values, kinds=kinds)
    return Start(file, text, "people", {table.name: table.notes + table.doubts}, [there])


def _rules(edges: list[Table], vertices: list[Table], file: Path) -> tuple[str, str]:
    """Rule file of tables, with paths relative to its folder, and the topic of its rules."""
    # groups: shares; edges of one kind; tables whose names differ only by a number
    groups: dict[tuple[str, str], list[Table]] = {}
    for table in edges:
        like = (re.sub(r"[\W_]*\d+$", "", table.stem) or table.stem, table.called(*table.taken))
        own = table.shares and not any(_overlap(table, other) for other in groups.get(_OWN, ()))
        for group in [("", kind) for kind in table.kinds] or [_OWN if own else like]:
            groups.setdefault(group, []).append(table)
    merged, relations = [], dict[str, bool]()
    binds: dict[Table, list[str]] = {table: [] for table in edges}
    for (stem, what), alike in groups.items():
        usual = "own" if (stem, what) == _OWN else "edge" if stem and len(groups) == 1 else ""
        name = usual or _predicate(stem or what, relations)
        relations[name] = all("weight" in table.roles for table in alike)
        merged += [f"{name} is {', '.join(table.path.name for table in alike)}"] if stem else []
        for table in alike:
            source, target, *weight = table.taken[: 2 + relations[name]]
            where = {} if stem else {"where": f"{table.roles['kind'].name} = '{what.replace(*_QUOTES)}'"}
            ways = ([source, target, *weight], [target, source, *weight])
            binds[table] += [_bind(name, table, way, file, **where) for way in ways[: 1 + bool(stem)]]
    if len(merged) > 1:
        note = f"the tables are relations of their own: {'; '.join(merged)}"
        edges[0].note(f"{note}. To join two, give their binds one name")
    sides = [side for table in edges for side in table.ends]
    # topic, derived predicates, and whether they apply
    kinds = (
        ("control", "control", _OWN in groups),
        ("who has edges to whom", None, len(edges) == 1 and sides[0].isdisjoint(sides[1])),
        ("reachability", "reach", len(set().union(*sides)) <= FEW),
        ("mutual edges", "mutual", not all(table.undirected for table in edges)),
        ("who has edges to whom", None, True),
    )
    kind, derived, _ = next(row for row in kinds if row[2])
    node = "company" if kind == "control" else "vertex"
    text = _render(
        "rules.vada.j2",
        kind=kind,
        derived=derived,
        commands=_commands(file, edges + vertices, file.name),
        files=", ".join(table.name.replace(str(table.path), table.path.name) for table in edges),
        edges=binds,
        vertices={table: _bind(node, table, [table.roles["key"]], file) for table in vertices},
        relations=relations,
        node=node,
        bounded=[table.bounded for table in groups.get(_OWN, ())] == [True],
        edge=next(iter(relations)) if len(relations) == 1 else "link",
    )
    return text, kind


def _overlap(*tables: Table) -> bool:
    """Whether two tables share pairs, such as tables of votes and of capital, unlike parts of one register."""
    a, b = (set(zip(*(end.texts for end in table.taken[:2]), strict=True)) for table in tables)
    return len(a & b) > 0.1 * min(len(a), len(b))


def _place(table: Table, file: Path) -> str:
    return Path(os.path.relpath(table.path, file.parent)).as_posix()


def _predicate(text: str, taken: Collection[str]) -> str:
    """New predicate name: the last part of an IRI, else the whole text, else numbered."""
    names = []
    for part in (re.split(r"[/#:]", text.strip("<>"))[-1], text):
        ascii_text = normalize("NFKD", part).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_")
        name = name.lower() if name.isupper() else name[:1].lower() + name[1:]
        name = name if name[:1].isalpha() else f"relation_{name}".rstrip("_")
        names.append(f"{name}_edge" if name in _RESERVED else name)
    return next(new for new in chain(names, (f"{names[0]}_{i}" for i in count(2))) if new not in taken)


def _bind(predicate: str, table: Table, columns: Sequence[Column], file: Path, **options: str) -> str:
    useless = {"columns"} if columns[2:] else {"columns", "percent", "decimal", "scale", "nullString"}
    rest = {name: value for name, value in table.options.items() if name not in useless}
    if not table.raw.graph or [*columns] != table.columns:
        rest["columns"] = table.called(*columns)
    whole = _place(table, file)
    place, name = (whole, rest.pop("table")) if table.format in DATABASES else os.path.split(whole)
    if table.format in SERVERS:
        place = rest.pop("schema", "") or rest.pop("database", "")
    read = [table.format, *(f"{name}={_quoted(value)}" for name, value in (rest | options).items())]
    texts = ", ".join(quoted(text).replace("\r", "\\r") for text in (predicate, " ".join(read), place, name))
    return f"@bind({texts})."


def _quoted(value: str) -> str:
    """Quote an option value if it contains a blank, a comma or a quotation mark."""
    if "'" in value:
        return f'"{value}"'
    return value if re.fullmatch(r"[\w%:./-]+(,[\w%:./()-]+)*:?", value) else f"'{value}'"


def _render(template: str, **values: object) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("kgreason.data", "")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["toml"] = lambda value: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return made.get_template(template).render(values).rstrip("\n") + "\n"
