"""Targets of outputs, which must never overwrite a file that the program reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgreason.base.errors import Findings, Span
from kgreason.language.check.annotations import Annotations
from kgreason.language.check.bindings import check_target
from kgreason.language.check.checked_program import Bind, Query
from kgreason.language.check.expressions import grown
from kgreason.language.check.file_access import place as place_of_server
from kgreason.language.check.file_access import table_of
from kgreason.language.syntax.syntax_tree import Atom, Program, Rule
from kgreason.language.vocabulary import DATABASES, SERVERS

_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


@dataclass(frozen=True)
class Place:
    """A file, or a table of a database; `table` is `None` if only the file is known.

    A table on a server may be named with or without its schema; without, it matches any table of this name.

    Examples
    --------
    >>> Place(Path("a.db"), "t").meets(Place(Path("a.db"))), Place(Path("a.db"), "t").meets(Place(Path("a.db"), "s"))
    (True, False)
    >>> Place(Path("db"), "public.t", server=True).meets(Place(Path("db"), "t", server=True))
    True
    """

    file: Path
    table: str | None = None
    server: bool = False

    def meets(self, other: Place) -> bool:
        """Whether both can be the same file or table."""
        if self.file != other.file:
            return False
        if self.table is None or other.table is None:
            return True
        one, two = self.table.lower(), other.table.lower()
        if self.server and ("." in one) != ("." in two):
            one, two = one.rpartition(".")[2], two.rpartition(".")[2]
        return one == two


def place_of(bind: Bind, *, written: bool) -> Place:
    """Place of a bind."""
    path = Path(bind.path)
    if bind.source not in DATABASES:
        return Place(path.resolve())
    table = next((v for name, v in bind.options.items() if name.lower() == "table"), None)
    if bind.source in SERVERS:
        return place_on_server(bind.options, table or bind.table)
    if path.is_dir():  # folder and file, as for other sources
        return Place((path / bind.table).resolve(), table or (bind.predicate if written else None))
    return Place(path.resolve(), table or bind.table)


def place_on_server(options: Mapping[str, str], table: str | None) -> Place:
    """Place of a table on a database server."""
    return Place(place_of_server(options), table_of(options, table) if table else None, server=True)


def check_targets(program: Program, notes: Annotations, derived: Collection[str], findings: Findings) -> None:
    """Check the binds of outputs: their formats, and that writing them destroys no data."""
    targets = notes.writes(derived)
    arities = {atom.predicate: atom.arity for atom in program.heads}
    for bind in targets:
        check_target(bind, arities.get(bind.predicate), findings)
    unfounded = _unfounded(program, notes, {b.predicate for b in targets})
    for bind in targets:
        if (name := bind.predicate) in unfounded:
            findings.add(
                "E313",
                f"is the file of `{name}` read or written?",
                bind.span,
                note=f"`{name}` is an @output with rules, so its @bind says where it is written; but all its rules "
                f"need facts of `{name}`, and nothing gives it any",
                hint=f'to read the file, add @input("{name}"); to write one, derive another predicate and bind that',
            )
    read = [b for b in notes.binds if b not in targets]
    for number, bind in enumerate(targets):
        if bind.predicate not in unfounded:
            _check_place(bind, targets[:number], read, notes.queries, findings)


def _check_place(
    bind: Bind, before: Sequence[Bind], read: Sequence[Bind], queries: Sequence[Query], findings: Findings
) -> None:
    place = place_of(bind, written=True)
    of = bind.path if place.server else place.file.name
    what = f"the table {place.table!r} of {of}" if place.table else of
    found: list[tuple[str, Span, str]] = []
    for other in [b for b in before if place.meets(place_of(b, written=True))]:
        also = " twice" if other.predicate == bind.predicate else f", as is `{other.predicate}`"
        found.append((f"is written to {what}{also}", other.span, "written here"))
    readers: list[Bind | Query] = [b for b in read if place.meets(place_of(b, written=False))]
    for reader in [*readers, *(q for q in queries if _asks(q, place))]:
        message = f"would be written over {what}, from which `{reader.predicate}` is read"
        found.append((message, reader.span, "read here"))
    for message, span, word in found[:1]:
        findings.add(
            "E312",
            f"the output `{bind.predicate}` {message}",
            bind.span,
            note="an output replaces the whole of what it is written to",
            hint=f"give `{bind.predicate}` a {'table' if bind.source in DATABASES else 'file'} of its own",
            related=((span, word),),
        )


def _asks(query: Query, place: Place) -> bool:
    """Whether a query reads a place: its database, or a file that it names."""
    if query.source in SERVERS or place.server:
        table = (place.table or "").rpartition(".")[2]
        same = query.source in SERVERS and place_of_server(query.options) == place.file
        return place.server and same and _names(query, table)
    base = Path(query.path) if query.path else Path(query.span.file).parent
    if place.file == base.resolve():
        return place.table is None or _names(query, place.table)
    folder = base if not query.path or base.is_dir() else Path()
    named = (single or double for single, double in _QUOTED.findall(query.query))
    return any(place.file == (folder / name).resolve() for name in named if "\0" not in name)


def _names(query: Query, table: str) -> bool:
    return bool(re.search(rf"\b{re.escape(table)}\b", query.query, re.I))


def _unfounded(program: Program, notes: Annotations, targets: set[str]) -> set[str]:
    """Written predicates whose rules all depend, directly or not, on facts that only their own files could supply."""
    rules = [
        (atom.predicate, {a.predicate for a in rule.body if isinstance(a, Atom)})
        for rule in program.clauses
        if isinstance(rule, Rule)
        for atom in rule.head
    ]
    given = {f.atom.predicate for f in program.facts}
    given |= notes.inputs() - targets
    given |= {q.predicate for q in notes.queries}
    heads = {head for head, _ in rules}
    others = {p for _, needs in rules for p in needs} - heads
    founded = grown(given | others, lambda known: {head for head, needs in rules if needs <= known})
    return (heads & targets) - founded
