"""Initial rule file for edge and vertex tables, or schema for a table of people."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from unicodedata import normalize

from kgreason.base.errors import DataError
from kgreason.data.init.column_roles import SHARED, guess
from kgreason.data.init.table_profiles import Column, Table, tables
from kgreason.data.sources import DATABASES
from kgreason.language.check.file_access import Reach
from kgreason.language.functions import BUILT_IN
from kgreason.language.values import source as quoted
from kgreason.language.vocabulary import AGGREGATES, SERVERS

FEW = 300
"""Vertices up to which all pairs are derived of which one reaches the other: their number grows with the square."""
_WORDS = "own edge link company vertex control holding two_owns reach mutual two_out two_in true false not and or in is"
_RESERVED = AGGREGATES | {*BUILT_IN, *_WORDS.split(), "div", "mod"}
_OWN = ("own", "")  # the group of the tables of shares
_QUOTES = ("'", "''")  # escaping in a condition
_EDGES = "name a table of edges, too: kgreason init EDGES VERTICES"
_ANONYMIZE = "kgreason people anonymize"
_OF_PEOPLE = ("files", "id", "header", "delimiter", "encoding")
_STEPS = ("check", "reason --rules", "risk --rules", "anonymize --rules")


@dataclass(frozen=True)
class Start:
    """Initial rule file or schema: its path, its content, and the topic of its rules, or ``people``.

    Attributes
    ----------
    guesses
        Assumptions about each table, by table name.
    next
        Suggested next commands.
    """

    file: Path
    text: str
    kind: str
    guesses: dict[str, list[str]]
    next: list[str]


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
                    table.doubt("each source stands in one line, so a line may be a vertex or a person", one)
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
    told, relations = [], dict[str, bool]()
    binds: dict[Table, list[str]] = {table: [] for table in edges}
    for (stem, what), alike in groups.items():
        usual = "own" if (stem, what) == _OWN else "edge" if stem and len(groups) == 1 else ""
        name = usual or _predicate(stem or what, relations)
        relations[name] = all("weight" in table.roles for table in alike)
        told += [f"{name} is {', '.join(table.path.name for table in alike)}"] if stem else []
        for table in alike:
            source, target, *weight = table.taken[: 2 + relations[name]]
            where = {} if stem else {"where": f"{table.roles['kind'].name} = '{what.replace(*_QUOTES)}'"}
            ways = ([source, target, *weight], [target, source, *weight])
            binds[table] += [_bind(name, table, way, file, **where) for way in ways[: 1 + bool(stem)]]
    if len(told) > 1:
        note = f"the tables are relations of their own: {'; '.join(told)}"
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

    loader = PackageLoader("kgreason.data.init", "")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["toml"] = lambda value: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return made.get_template(template).render(values).rstrip("\n") + "\n"
