"""A first rule file for tables of edges: what was guessed, why, and what else it could be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from textwrap import wrap
from unicodedata import normalize

from kgreason.guess.ends import shown
from kgreason.guess.roles import Edges, Names
from kgreason.guess.tables import Found, allowance, one_line, relative
from kgreason.lang.names import AGGREGATES, FUNCTIONS, SERVERS
from kgreason.records import dataclass

FEW = 300
"""Vertices up to which all pairs are derived of which one reaches the other: their number grows with the square."""
_PLAIN = re.compile(r"[^\W\d][\w .%()-]*")
_WIDTH = 100
_WORDS = frozenset({"true", "false", "not", "and", "or", "in", "is", "div", "mod"})

CONTROL = """\
%% Every company controls itself.
control(X, X) :- company(X).

%% X controls Z if the companies that X controls own more than half of Z together.
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.

%% Companies that control at least two others.
holding(X) :- control(X, Y), X != Y, C = mcount(Y), C >= 2.

%% Companies that own shares of at least two others.
two_owns(X) :- own(X, Y, W), X != Y, K = mcount(Y), K >= 2.
"""
REACH = """\
%% X reaches Y by an edge, or from what it reaches.
reach(X, Y) :- {edge}({xy}), X != Y.
reach(X, Z) :- reach(X, Y), {edge}({yz}), X != Z, Y != Z.
"""
MUTUAL = """\
%% X and Y have edges to each other.
mutual(X, Y) :- {edge}({xy}), {edge}({yx}), X != Y.
"""
DEGREES = """\
%% Vertices with edges to at least two others.
two_out(X) :- {edge}({xy}), X != Y, K = mcount(Y), K >= 2.

%% Vertices with edges from at least two others.
two_in(Y) :- {edge}({xy}), X != Y, K = mcount(X), K >= 2.
"""


LINK = """\
%% X and Y have an edge, of whatever relation.
"""
_TAKEN = frozenset({"own", "edge", "link", "company", "vertex", "control", "holding", "two_owns"}) | {
    *("reach", "mutual", "two_out", "two_in"),
}
"""Predicates that the rules use."""
_SHARES = ""
"""Group of the tables of shares: no file is called so."""


@dataclass(frozen=True)
class Relation:
    """Edges of one predicate: of a table, of several alike, or those of one kind among the edges of a table."""

    predicate: str
    tables: tuple[Edges, ...]
    kind: str | None = None

    @property
    def weighted(self) -> bool:
        """Whether its edges have weights."""
        return all(e.weight is not None for e in self.tables)


@dataclass(frozen=True)
class Program:
    """A rule file.

    Attributes
    ----------
    text
        What it holds.
    kind
        ``control``, ``reachability`` or ``mutual edges``, as the rules go.
    said
        What was decided about several tables.
    """

    text: str
    kind: str
    said: tuple[str, ...]


def program(edges: Sequence[Edges], names: Sequence[Names], out: Path) -> Program:
    """Write the rule file of some tables.

    Parameters
    ----------
    names
        Tables whose lines are vertices.
    out
        Where it will stand; the tables are named as seen from there.
    """
    relations = _relations(edges)
    kind = _kind(relations, edges)
    node = "company" if kind == "control" else "vertex"
    ruled = _ruled(relations, kind)
    allow = allowance((*(e.table for e in edges), *(n.table for n in names)), out.parent)
    rules = quote(one_line(out.name)) + allow
    lines = [
        *_comment(f"{', '.join(_file(e.table) for e in edges)}: {kind}. Written by kgreason init."),
        "%%",
        "%% All of this was guessed: look at what it says of the columns, then change what is wrong.",
        "%%",
        f"%%   kgreason check {rules}",
        f"%%   kgreason reason --rules {rules}",
        f"%%   kgreason risk --rules {rules}",
        f"%%   kgreason anonymize --rules {rules}",
        "",
    ]
    said = _apart(relations)
    for text in said:
        lines += [*_comment(f"{text[:1].upper()}{text[1:]}."), ""]
    for one in edges:
        lines += [*_edges(one, relations, out.parent), ""]
    for table in names:
        lines += [*_names(table, node, out.parent), ""]
    lines += [*_meaning(relations, kind, node, bool(names)), ""]
    return Program("\n".join(lines) + _rules(kind, relations, ruled), kind, said)


def _relations(edges: Sequence[Edges]) -> tuple[Relation, ...]:
    """Tables of shares are one relation, as are those alike but for a number in their names; all others stand alone."""
    grouped: dict[str, list[Edges]] = {}
    split: list[Edges] = []
    for one in edges:
        if one.kinds:
            split.append(one)
        else:
            grouped.setdefault(_group(one, grouped), []).append(one)
    alone = len(grouped) == 1 and not split
    taken: set[str] = set()
    found = []
    for group, tables in grouped.items():
        name = "own" if group == _SHARES else "edge" if alone else _predicate(group, taken)
        taken.add(name)
        found.append(Relation(name, tuple(tables)))
    for one in split:
        last = Counter(re.split(r"[/#:]", kind.strip("<>"))[-1] for kind in one.kinds)
        for kind in one.kinds:
            short = re.split(r"[/#:]", kind.strip("<>"))[-1]
            name = _predicate(short if last[short] == 1 else kind, taken)
            taken.add(name)
            found.append(Relation(name, (one,), kind))
    return tuple(found)


def _group(one: Edges, others: Mapping[str, Sequence[Edges]]) -> str:
    """Name of the tables that a table belongs to."""
    if one.ownership and not any(_overlap(one, other) for other in others.get(_SHARES, ())):
        return _SHARES
    stem = one.table.options.get("table") or one.table.path.name.partition(".")[0]
    bare = re.sub(r"[\W_]*\d+$", "", stem) or stem
    alike = all(_columns_of(one) == _columns_of(other) for other in others.get(bare, ()))
    return bare if alike else stem


def _columns_of(one: Edges) -> tuple[str | None, ...]:
    return tuple(c.name if c is not None else None for c in (one.source, one.target, one.weight))


def _overlap(one: Edges, other: Edges) -> bool:
    """Whether two tables tell of the same pairs, as tables of votes and of capital do; parts of one register do not."""
    pairs = [set(zip(e.source.values, e.target.values, strict=True)) for e in (one, other)]
    return len(pairs[0] & pairs[1]) > 0.1 * min(map(len, pairs))


def _predicate(text: str, taken: Collection[str]) -> str:
    """A name that a predicate may have, made of another."""
    bare = re.sub(r"[^A-Za-z0-9]+", "_", normalize("NFKD", text).encode("ascii", "ignore").decode()).strip(
        "_"
    )
    name = bare.lower() if bare.isupper() else bare[:1].lower() + bare[1:]
    if not name[:1].isalpha():
        name = f"relation_{name}".rstrip("_")
    if name in _TAKEN or name in AGGREGATES or name in FUNCTIONS or name in _WORDS:
        name += "_edge"
    number, first = 2, name
    while name in taken:
        name, number = f"{first}_{number}", number + 1
    return name


def _apart(relations: Sequence[Relation]) -> tuple[str, ...]:
    """Say which tables are relations of their own, and how they would be one."""
    tables = {r.predicate: [e.table.path.name for e in r.tables] for r in relations if r.kind is None}
    if len(tables) < 2:
        return ()
    told = "; ".join(f"{name} is {', '.join(files)}" for name, files in tables.items())
    return (f"the tables are relations of their own: {told}. To join two, give their binds one name",)


def _ruled(relations: Sequence[Relation], kind: str) -> str:
    """The predicate that the rules go by."""
    if kind == "control":
        return "own"
    return relations[0].predicate if len(relations) == 1 else "link"


def _kind(relations: Sequence[Relation], edges: Sequence[Edges]) -> str:
    if any(r.predicate == "own" for r in relations):
        return "control"
    if all(e.apart for e in edges) and len(edges) == 1:
        return "who has edges to whom"
    if sum(e.vertices for e in edges) <= FEW:
        return "reachability"
    return "who has edges to whom" if all(e.undirected for e in edges) else "mutual edges"


def _edges(found: Edges, relations: Sequence[Relation], folder: Path) -> Iterator[str]:
    """The binds of a table, and why they are so."""
    table = found.table
    for text in (*table.said, *found.reasons):
        yield from _comment(f"{text[:1].upper()}{text[1:]}.")
    for text in found.wrong:
        yield from _comment(f"Wrong: {text}.")
    for text in found.doubts:
        yield from _comment(f"Not sure: {text}.")
    if found.others:
        yield from _comment(f"Not read: {', '.join(found.others)}.")
    own = [r for r in relations if any(found is one for one in r.tables)]
    weighted = own[0].weighted
    taken = [c for c in (found.source, found.target, found.weight if weighted else None) if c is not None]
    options = {name: value for name, value in {**table.options, **found.options}.items() if name != "columns"}
    if not weighted:
        for name in ("percent", "decimal", "scale", "nullString"):
            options.pop(name, None)
    if not table.raw.graph or [c.number for c in taken] != list(range(1, len(table.columns) + 1)):
        options["columns"] = ",".join(_column(table, c.number) for c in taken)
    for relation in own:
        where = {} if relation.kind is None else {"where": _where(found, relation.kind)}
        yield _bind(relation.predicate, table, {**options, **where}, folder)
    if own[0].kind is not None:
        return
    swapped = {
        **options,
        "columns": ",".join(_column(table, c.number) for c in (taken[1], taken[0], *taken[2:])),
    }
    yield from _comment("The other direction would be:")
    yield f"% {_bind(own[0].predicate, table, swapped, folder)}"
    if found.undirected:
        yield from _comment("The file says that its edges have no direction: each is read both ways.")
    else:
        yield from _comment("If edges have no direction, add symmetric=true: each is then read both ways.")


def _names(found: Names, node: str, folder: Path) -> Iterator[str]:
    left = ", ".join(" ".join(c.name.split()) for c in found.attributes)
    for text in found.table.said:
        yield from _comment(f"{text[:1].upper()}{text[1:]}.")
    yield from _comment(
        f"A line for each vertex: column {shown(found.name)} has another value in each row"
        + (f". Not read: {left}." if left else ".")
    )
    for text in found.doubts:
        yield from _comment(f"Not sure: {text}.")
    options = {**found.table.options, "columns": _column(found.table, found.name.number)}
    yield _bind(node, found.table, options, folder)


def _meaning(relations: Sequence[Relation], kind: str, node: str, named: bool) -> Iterator[str]:
    """What the predicates are to reasoning and anonymization."""
    if kind == "control" or named:
        yield from _comment(f"Vertices; every end of an edge is one, too: {node}(X).")
        yield f'@node("{node}").'
    yield from _comment("Edges that are given.")
    for relation in relations:
        yield f'@edge("{relation.predicate}").'
    owned = [e for r in relations if r.predicate == "own" for e in r.tables]
    if kind == "control" and all(e.bounded for e in owned) and len(owned) == 1:
        yield from _comment("Shares of a company sum to 1 at most; weights of a release are drawn so, too.")
        yield '@incoming_sum("own", 1.0).'
    elif kind == "control":
        yield from _comment(
            "Shares of a company should sum to 1 at most, which is not so, or not known, of these tables. If it should "
            "be so in the release:"
        )
        yield '% @incoming_sum("own", 1.0).'
    derived = {"control": "control", "reachability": "reach", "mutual edges": "mutual"}.get(kind)
    if derived:
        yield from _comment("What `reason` derives, and what nobody may be found by in a release.")
        yield f'@output("{derived}").'
        yield f'@derived("{derived}").'
    else:
        yield from _comment(
            "What `reason` derives. Nothing is @derived yet, so a release protects edges alone."
        )
        yield '@output("two_out").'
    yield from _comment("What people will ask of a release: `anonymize` keeps the answers as well as it can.")
    for asked in ("holding", "two_owns") if kind == "control" else ("two_out", "two_in"):
        yield f'@query("{asked}").'
    yield ""


def _rules(kind: str, relations: Sequence[Relation], edge: str) -> str:
    if kind == "control":
        return CONTROL
    weighted = edge != "link" and relations[0].weighted
    variables = (
        {"xy": "X, Y, W", "yz": "Y, Z, V", "yx": "Y, X, V"}
        if weighted
        else {"xy": "X, Y", "yz": "Y, Z", "yx": "Y, X"}
    )
    links = ""
    if edge == "link":
        links = LINK + "".join(
            f"link(X, Y) :- {r.predicate}(X, Y{', W' if r.weighted else ''}).\n" for r in relations
        )
        links += "\n"
    degrees = DEGREES.format(edge=edge, **variables)
    reach = REACH.format(edge=edge, **variables)
    if kind == "reachability":
        return f"{links}{reach}\n{degrees}"
    later = "".join(f"% {line}\n" for line in reach.splitlines()[1:])
    note = "%% Which vertices can be reached is as much as the square of their number, so it is not derived at first:\n"
    first = MUTUAL.format(edge=edge, **variables) + "\n" if kind == "mutual edges" else ""
    return f'{links}{first}{degrees}\n{note}% @output("reach").\n{later}'


def _file(table: Found) -> str:
    """The name of a file without its folders, and the table in it; of a server that of the table."""
    if table.format in SERVERS:
        return table.name
    return table.name.replace(str(table.path), table.path.name)


def _comment(text: str) -> list[str]:
    return [f"%% {line}" for line in wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)]


def _column(table: Found, number: int) -> str:
    """A column by its name, where that can be written and is one; else by its number."""
    name = table.raw.names[number - 1]
    plain = (
        table.raw.named
        and table.raw.names.count(name) == 1
        and _PLAIN.fullmatch(name)
        and name == name.strip()
    )
    return name if plain else str(number)


def _bind(predicate: str, table: Found, options: dict[str, str], folder: Path) -> str:
    said = " ".join(f"{name}={_quoted(value)}" for name, value in options.items() if name != "table")
    if table.format in SERVERS:
        options = {name: value for name, value in options.items() if name != "schema"}
        where, file = table.options.get("schema", ""), table.options["table"]
        if not where:
            where = options.pop("database", "")
        said = " ".join(f"{name}={_quoted(value)}" for name, value in options.items() if name != "table")
        return (
            f'@bind("{predicate}", "{_escaped(f"{table.format} {said}".strip())}", '
            f'"{_escaped(where)}", "{_escaped(file)}").'
        )
    path = relative(table.path, folder)
    where, _, file = path.rpartition("/")
    if "table" in options and table.format in ("sqlite", "duckdb"):
        where, file = path, options["table"]
    elif "table" in options:
        said += f" table={options['table']}"
    first = f"{table.format} {said}".strip()
    return f'@bind("{predicate}", "{_escaped(first)}", "{_escaped(where)}", "{_escaped(file)}").'


def _where(found: Edges, kind: str) -> str:
    """The condition that chooses the edges of a kind."""
    assert found.relation is not None
    return f"{found.relation.name} = '{kind.replace(chr(39), chr(39) * 2)}'"


def _quoted(value: str) -> str:
    """A value as an option has it: in quotes if a blank, a comma or a mark would end it."""
    if "'" in value:
        return f'"{value}"'
    return value if re.fullmatch(r"[\w%:./-]+(,[\w%:./()-]+)*:?", value) else f"'{value}'"


def _escaped(text: str) -> str:
    """A text as a string has it, on one line."""
    for sign, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("${", "\\${")):
        text = text.replace(sign, escape)
    return text
