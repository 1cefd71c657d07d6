"""The rule file of tables of edges: relations, their binds, and the rules that suit them."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import normalize

from kgreason.data.source import DATABASES
from kgreason.init.columns import Column
from kgreason.init.tables import Table
from kgreason.lang.names import AGGREGATES, FUNCTIONS, SERVERS
from kgreason.lang.values import source

if TYPE_CHECKING:
    from jinja2 import Environment

FEW = 300
"""Vertices up to which all pairs are derived of which one reaches the other: their number grows with the square."""
_SHARES = ""  # group of the tables of shares: no file is called so
_WORDS = """own edge link company vertex control holding two_owns reach mutual two_out two_in
true false not and or in is div mod"""
_RESERVED = AGGREGATES | FUNCTIONS | frozenset(_WORDS.split())
_QUOTES = ("'", "''")  # in a condition
_OF_WEIGHTS = ("percent", "decimal", "scale", "nullString")
_DERIVED = {"control": "control", "reachability": "reach", "mutual edges": "mutual"}


@dataclass(frozen=True)
class Relation:
    """Edges of one predicate: of tables that are alike, or of one kind among the edges of a table."""

    predicate: str
    tables: tuple[Table, ...]
    kind: str | None = None

    @property
    def weighted(self) -> bool:
        """Whether all edges have weights."""
        return all("weight" in table.roles for table in self.tables)


def rules(
    edges: Sequence[Table], vertices: Sequence[Table], out: Path, commands: Sequence[str]
) -> tuple[str, str]:
    """Write the rule file of tables, which it names as seen from its folder; and tell what the rules are about."""
    relations = _relations(edges)
    kind = _kind(relations, edges)
    node = "company" if kind == "control" else "vertex"
    own = [table for relation in relations if relation.predicate == "own" for table in relation.tables]
    alone = {r.predicate: ", ".join(t.path.name for t in r.tables) for r in relations if r.kind is None}
    if len(alone) > 1:
        told = "; ".join(f"{name} is {files}" for name, files in alone.items())
        edges[0].notes.append(
            f"the tables are relations of their own: {told}. To join two, give their binds one name"
        )
    text = render(
        "rules.vada.j2",
        files=", ".join(_file(table) for table in edges),
        kind=kind,
        commands=commands,
        edges=[(table, *_binds(table, relations, out.parent)) for table in edges],
        vertices=[(table, _bind(node, table, [table.roles["key"]], out.parent)) for table in vertices],
        relations=relations,
        node=node,
        bounded=len(own) == 1 and own[0].bounded,
        derived=_DERIVED.get(kind, ""),
        edge=relations[0].predicate if len(relations) == 1 else "link",
        weighted=len(relations) == 1 and relations[0].weighted,
    )
    return text, kind


def _file(table: Table) -> str:
    """The name of a file without its folders, and the table in it; of a server the address."""
    return table.name if table.format in SERVERS else table.name.replace(str(table.path), table.path.name)


def _relations(tables: Sequence[Table]) -> list[Relation]:
    """Tables of shares are one relation, as are tables alike but for a number in their names; others stand alone."""
    grouped: dict[str, list[Table]] = {}
    for table in tables:
        if not table.kinds:
            grouped.setdefault(_group(table, grouped), []).append(table)
    taken: set[str] = set()
    found = []
    for group, alike in grouped.items():
        name = "own" if group == _SHARES else "edge"
        if group != _SHARES and (len(grouped) > 1 or any(table.kinds for table in tables)):
            name = _predicate(group, taken)
        found.append(Relation(name, tuple(alike)))
    for table in tables:
        ends = Counter(map(_last, table.kinds))
        for kind in table.kinds:
            name = _predicate(_last(kind) if ends[_last(kind)] == 1 else kind, taken)
            found.append(Relation(name, (table,), kind))
    return found


def _group(table: Table, groups: Mapping[str, Sequence[Table]]) -> str:
    """Name of the tables that a table belongs to."""
    if table.shares and not any(_overlap(table, other) for other in groups.get(_SHARES, ())):
        return _SHARES
    bare = re.sub(r"[\W_]*\d+$", "", table.stem) or table.stem
    names = [c.name for c in table.taken]
    return (
        bare if all(names == [c.name for c in other.taken] for other in groups.get(bare, ())) else table.stem
    )


def _overlap(*tables: Table) -> bool:
    """Whether two tables hold the same pairs, as tables of votes and of capital do; parts of one register do not."""
    a, b = (set(zip(*(end.values for end in table.taken[:2]), strict=True)) for table in tables)
    return len(a & b) > 0.1 * min(len(a), len(b))


def _last(kind: str) -> str:
    """The last part of an IRI."""
    return re.split(r"[/#:]", kind.strip("<>"))[-1]


def _predicate(text: str, taken: set[str]) -> str:
    """A new name of a predicate, made of a text."""
    ascii_text = normalize("NFKD", text).encode("ascii", "ignore").decode()
    bare = re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_")
    name = bare.lower() if bare.isupper() else bare[:1].lower() + bare[1:]
    if not name[:1].isalpha():
        name = f"relation_{name}".rstrip("_")
    if name in _RESERVED:
        name += "_edge"
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    taken.add(name := next(new for new in names if new not in taken))
    return name


def _kind(relations: Sequence[Relation], tables: Sequence[Table]) -> str:
    """What the rules are about."""
    if any(relation.predicate == "own" for relation in relations):
        return "control"
    if len(tables) == 1 and tables[0].apart:
        return "who has edges to whom"
    if sum(len(table.ends) for table in tables) <= FEW:
        return "reachability"
    return "who has edges to whom" if all(table.undirected for table in tables) else "mutual edges"


def _binds(table: Table, relations: Sequence[Relation], folder: Path) -> tuple[list[str], str]:
    """The binds of a table, and the bind that reads its edges in the other direction."""
    own = [relation for relation in relations if table in relation.tables]
    first, second, *weight = table.taken if own[0].weighted else table.taken[:2]
    if not table.kinds:
        ways = ([first, second, *weight], [second, first, *weight])
        bind, turned = (_bind(own[0].predicate, table, columns, folder) for columns in ways)
        return [bind], turned
    wheres = {r.predicate: f"{table.roles['kind'].name} = '{(r.kind or '').replace(*_QUOTES)}'" for r in own}
    return [_bind(p, table, [first, second, *weight], folder, where=w) for p, w in wheres.items()], ""


def _bind(predicate: str, table: Table, columns: list[Column], folder: Path, **options: str) -> str:
    """The annotation that reads some columns of a table."""
    taken = {"columns": ",".join(map(table.called, columns))}
    if table.raw.graph and columns == table.columns:
        taken = {}
    useless = {"columns"} if "weight" in table.roles and columns[2:] else {"columns", *_OF_WEIGHTS}
    said = {name: value for name, value in (table.options | table.added).items() if name not in useless}
    rest = {**said, **taken, **options}
    place, _, file = relative(table.path, folder).rpartition("/")
    if table.format in SERVERS:
        place, file = rest.pop("schema", "") or rest.pop("database", ""), rest.pop("table")
    elif table.format in DATABASES:
        place, file = relative(table.path, folder), rest.pop("table")
    read = " ".join([table.format, *(f"{name}={_quoted(value)}" for name, value in rest.items())])
    texts = ", ".join(source(text).replace("\r", "\\r") for text in (predicate, read, place, file))
    return f"@bind({texts})."


def _quoted(value: str) -> str:
    """A value as an option has it: in quotes if a blank, a comma or a mark would end it."""
    if "'" in value:
        return f'"{value}"'
    return value if re.fullmatch(r"[\w%:./-]+(,[\w%:./()-]+)*:?", value) else f"'{value}'"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("kgreason.init", "")
    made = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(comment=_comment, line=one_line, toml=_toml)
    return made


def render(template: str, **values: object) -> str:
    """Fill in a template; it ends with a newline."""
    return _environment().get_template(template).render(values).rstrip("\n") + "\n"


def _comment(text: str, mark: str = "%%") -> str:
    lines = wrap(one_line(text), 100, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"{mark} {line}" for line in lines)


def one_line(text: object) -> str:
    """A text that a comment may hold: the name of a file may have several lines, and would end the comment."""
    return " ".join(str(text).splitlines())


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def relative(path: Path, folder: Path) -> str:
    """A path as seen from the folder of a rule file."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.resolve().as_posix()
