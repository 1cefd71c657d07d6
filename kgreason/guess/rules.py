"""A first rule file for tables of edges: what was guessed, why, and what else it could be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from textwrap import wrap

from kgreason.guess.roles import Edges, Names
from kgreason.guess.tables import Found, allowance, one_line, relative
from kgreason.lang.names import SERVERS
from kgreason.records import dataclass

FEW = 300
"""Vertices up to which all pairs are derived of which one reaches the other: their number grows with the square."""
_PLAIN = re.compile(r"[^\W\d][\w .%()-]*")
_WIDTH = 100

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


@dataclass(frozen=True)
class Program:
    """A rule file.

    Attributes
    ----------
    text
        What it holds.
    edge
        The predicate of edges.
    kind
        ``control``, ``reachability`` or ``mutual edges``, as the rules go.
    """

    text: str
    edge: str
    kind: str


def program(edges: Sequence[Edges], names: Sequence[Names], out: Path) -> Program:
    """Write the rule file of some tables.

    Parameters
    ----------
    names
        Tables whose lines are vertices.
    out
        Where it will stand; the tables are named as seen from there.
    """
    weighted = all(e.weight is not None for e in edges)
    kind = _kind(edges, weighted)
    edge = "own" if kind == "control" else "edge"
    node = "company" if kind == "control" else "vertex"
    variables = (
        {"xy": "X, Y, W", "yz": "Y, Z, V", "yx": "Y, X, V"}
        if weighted
        else {"xy": "X, Y", "yz": "Y, Z", "yx": "Y, X"}
    )
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
    for one in edges:
        lines += [*_edges(one, edge, weighted, out.parent), ""]
    for table in names:
        lines += [*_names(table, node, out.parent), ""]
    lines += [*_meaning(edges, kind, edge, node, bool(names)), ""]
    return Program("\n".join(lines) + _rules(kind, edge, variables), edge, kind)


def _kind(edges: Sequence[Edges], weighted: bool) -> str:
    if weighted and all(e.ownership for e in edges):
        return "control"
    if all(e.apart for e in edges) and len(edges) == 1:
        return "who has edges to whom"
    if sum(e.vertices for e in edges) <= FEW:
        return "reachability"
    return "who has edges to whom" if all(e.undirected for e in edges) else "mutual edges"


def _edges(found: Edges, edge: str, weighted: bool, folder: Path) -> Iterator[str]:
    """The bind of a table, and why it is so."""
    table = found.table
    for text in (*table.said, *found.reasons):
        yield from _comment(f"{text[:1].upper()}{text[1:]}.")
    if found.others:
        yield from _comment(f"Not read: {', '.join(found.others)}.")
    taken = [c for c in (found.source, found.target, found.weight if weighted else None) if c is not None]
    options = {**table.options, **found.options}
    if not weighted:
        for name in ("percent", "decimal", "scale", "nullString"):
            options.pop(name, None)
    if not table.raw.graph or len(table.columns) != len(taken):
        options["columns"] = ",".join(_column(table, c.number) for c in taken)
    yield _bind(edge, table, options, folder)
    swapped = {
        **options,
        "columns": ",".join(_column(table, c.number) for c in (taken[1], taken[0], *taken[2:])),
    }
    yield from _comment("The other direction would be:")
    yield f"% {_bind(edge, table, swapped, folder)}"
    if found.undirected:
        yield from _comment("The file says that its edges have no direction: each is read both ways.")
    else:
        yield from _comment("If edges have no direction, add symmetric=true: each is then read both ways.")


def _names(found: Names, node: str, folder: Path) -> Iterator[str]:
    left = ", ".join(c.name for c in found.attributes)
    yield from _comment(
        f"A line for each vertex: column {found.name.number} ({found.name.name}) has another value in each row"
        + (f". Not read: {left}." if left else ".")
    )
    options = {**found.table.options, "columns": _column(found.table, found.name.number)}
    yield _bind(node, found.table, options, folder)


def _meaning(edges: Sequence[Edges], kind: str, edge: str, node: str, named: bool) -> Iterator[str]:
    """What the predicates are to reasoning and anonymization."""
    if kind == "control" or named:
        yield from _comment(f"Vertices; every end of an edge is one, too: {node}(X).")
        yield f'@node("{node}").'
    yield from _comment("Edges that are given.")
    yield f'@edge("{edge}").'
    if kind == "control" and all(e.bounded for e in edges) and len(edges) == 1:
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
    for query in ("holding", "two_owns") if kind == "control" else ("two_out", "two_in"):
        yield f'@query("{query}").'
    yield ""


def _rules(kind: str, edge: str, variables: dict[str, str]) -> str:
    if kind == "control":
        return CONTROL
    degrees = DEGREES.format(edge=edge, **variables)
    reach = REACH.format(edge=edge, **variables)
    if kind == "reachability":
        return f"{reach}\n{degrees}"
    later = "".join(f"% {line}\n" for line in reach.splitlines()[1:])
    note = "%% Which vertices can be reached is as much as the square of their number, so it is not derived at first:\n"
    first = MUTUAL.format(edge=edge, **variables) + "\n" if kind == "mutual edges" else ""
    return f'{first}{degrees}\n{note}% @output("reach").\n{later}'


def _file(table: Found) -> str:
    """The name of a file without its folders, and the table in it; of a server that of the table."""
    if table.format in SERVERS:
        return table.name
    return table.name.replace(str(table.path), table.path.name)


def _comment(text: str) -> list[str]:
    return [f"%% {line}" for line in wrap(text, _WIDTH, break_on_hyphens=False)]


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


def _quoted(value: str) -> str:
    """A value as an option has it: in quotes if a blank, a comma or a mark would end it."""
    return value if re.fullmatch(r"[\w%:./-]+(,[\w%:./()-]+)*:?", value) else f"'{value}'"


def _escaped(text: str) -> str:
    """A text as a string has it, on one line."""
    for sign, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("${", "\\${")):
        text = text.replace(sign, escape)
    return text
