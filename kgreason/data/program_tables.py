"""Tables of a program, loaded from their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgreason.base import memory
from kgreason.base.arrays import pa
from kgreason.base.errors import DataError
from kgreason.base.progress import SILENT, Progress
from kgreason.data.column_kinds import almost_numbers, interned, kinds, nullable, remarks, typed
from kgreason.data.edge_checks import Rows, Titles, both_ways, scaled
from kgreason.data.format_list import read_table, understood
from kgreason.data.predicate_rows import Selected, Shape, select
from kgreason.data.raw_table import Raw
from kgreason.data.source_options import Options, normal
from kgreason.data.sources import TABLES, SourceSpec, sources_of
from kgreason.data.value_conversion import Objects
from kgreason.engine.relations.fact_tables import Kind, doubles
from kgreason.engine.relations.rows import first_rows
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.check.checked_program import Bind, CheckedProgram, Query
from kgreason.language.check.file_access import OPTIONS as CONNECTION
from kgreason.language.syntax.syntax_tree import Variable
from kgreason.language.values import Null, Value
from kgreason.language.vocabulary import suggest

Data = Mapping[str, Any]
"""Sources by predicate: one source or a list of them.

A source is a `SourceSpec`, a path, a string ``FILE?option=value`` or a table-like (see
`kgreason.data.library_imports.as_table`). A list of tuples is one table; a list of strings names files, but
for a unary predicate it holds its values.
"""

_KINDS = {
    "int": Kind.INT,
    "double": Kind.DOUBLE,
    "percent": Kind.DOUBLE,
    "string": Kind.STRING,
    "boolean": Kind.BOOL,
    "date": Kind.DATE,
    "list": Kind.LIST,
    "set": Kind.SET,
}


class Loaded(NamedTuple):
    """Typed rows of a predicate, source by source, with the column names of the first source.

    For ``@edge`` and ``@node`` predicates, `numbered` states whether all sources give the vertices as integers.
    """

    kinds: tuple[Kind, ...]
    parts: tuple[Rows, ...]
    titles: tuple[Titles, ...]
    names: tuple[str, ...] = ()
    numbered: bool | None = None

    def joined(self) -> tuple[Codes, ...]:
        """Columns over all sources."""
        if len(self.parts) == 1:
            return tuple(np.require(column, requirements="W") for column in self.parts[0].columns)
        return tuple(np.concatenate(c) for c in zip(*(p.columns for p in self.parts), strict=True))


class Loader:
    """Loader for the tables of one program, with a common string dictionary."""

    def __init__(self, program: CheckedProgram, data: Data, progress: Progress) -> None:
        self.program, self.progress = program, progress
        self.symbols = Symbols()
        self._bound = [*(b.predicate for b in program.binds), *(q.predicate for q in program.queries_bound)]
        unsure = dict.fromkeys((*program.inputs, *program.outputs, *program.edges, *self._bound))
        # arities of all predicates; `None` if only the data determine it
        known: dict[str, int | None] = {**unsure, **dict.fromkeys(program.nodes, 1), **program.arities}
        for predicate in data:
            if predicate not in known:
                near = suggest(predicate, known)
                hint = f"did you mean {near!r}?" if near else f"they know {', '.join(known)}"
                what = f"the rules know no predicate {predicate!r}, but data are given for it"
                raise DataError(program.file, what, hint=hint)
        self.data = {p: sources_of(p, given, known[p]) for p, given in data.items()}
        tables = (s for sources in self.data.values() for s in sources if isinstance(s, Raw))
        mixed = (column for raw in tables for column in raw.columns if isinstance(column, Objects))
        self._nulls = max((v.number for column in mixed for v in column if isinstance(v, Null)), default=0)

    def predicates(self) -> list[str]:
        """Predicates that have data."""
        program = self.program
        free = {*(fact.predicate for fact in program.facts), *program.heads, *program.nodes}
        for predicate in dict.fromkeys([*program.inputs, *program.edges]):
            if not self.sources(predicate) and predicate not in free:
                raise no_data(program, predicate)
        return [p for p in dict.fromkeys([*program.inputs, *self._bound, *self.data]) if self.sources(p)]

    def in_memory(self) -> list[str]:
        """Predicates given as in-memory tables, whose facts need not be read."""
        return [p for p, given in self.data.items() if all(isinstance(source, Raw) for source in given)]

    def sources(self, predicate: str) -> list[tuple[SourceSpec | Raw, Options, bool]]:
        """Sources of a predicate, each with its options and whether ``@mapping`` columns apply."""
        binds = [bound(b) for b in self.program.binds if b.predicate == predicate]
        if predicate not in self.data:
            queries = [queried(q) for q in self.program.queries_bound if q.predicate == predicate]
            return [(s, self._options(s), s.kind() in TABLES) for s in (*binds, *queries)]
        return [self._replacing(source, binds) for source in self.data[predicate]]

    def _replacing(
        self, source: SourceSpec | Raw, binds: Sequence[SourceSpec]
    ) -> tuple[SourceSpec | Raw, Options, bool]:
        """A source that replaces the ``@bind`` sources; it inherits the options of the one with the same format."""
        if isinstance(source, Raw) or (source.remote is not None and source.remote.memory):
            return source, Options(), True
        format = source.kind()
        like = next((b for b in binds if b.kind() == format), None)
        # connection options are not inherited
        given = {*normal(source.options), *(CONNECTION if source.server else ())}
        kept = {n: v for n, v in normal(like.options if like else {}).items() if n not in given}
        options = self._options(source, kept)
        return source, options, format in TABLES and (like is not None or not binds)

    def _options(self, source: SourceSpec, more: Mapping[str, str] | None = None) -> Options:
        return replace(understood(source, more), allow_files=self.program.allow_files, cells=True)

    def load(self, predicate: str) -> Loaded | None:
        """Read all sources of a predicate; `None` if they have no rows and do not determine the kinds."""
        read = [(self._read(predicate, s, o), o, mapped, s) for s, o, mapped in self.sources(predicate)]
        shape = self._shape(predicate, [(raw, options) for raw, options, _, _ in read])
        tables: list[Selected] = []
        for raw, options, mapped, source in read:
            fit = shape
            if raw.graph:  # vertices of graph files are strings unless the mapping states a type
                ends = tuple(Kind.STRING if k is None else k for k in shape.kinds[:2])
                fit = replace(shape, kinds=(*ends, *shape.kinds[2:]))
            if not mapped:
                if predicate not in self.data and any(c not in (None, *raw.names) for c in fit.columns):
                    what = "no table, so @mapping names no columns of it: they are taken in their order"
                    self.progress.note(f"{raw.file}: {what}")
                fit = replace(fit, columns=(None,) * fit.arity)
            with _placed(source):
                table = select(raw, fit, options)
            self._note_rows(table, fit)
            shape = replace(shape, kinds=fit.kinds)
            if (options.percent or options.scale) and shape.arity and shape.kinds[-1] in (None, Kind.INT):
                shape = replace(shape, kinds=(*shape.kinds[:-1], Kind.DOUBLE))
            tables.append(table)
        found, nulls = kinds(tables, shape), nullable(tables, shape)
        # without rows, only typed sources determine the kinds of a predicate that is not in the rules
        uncertain = [p for p, kind in enumerate(found) if kind is None and p not in nulls]
        if uncertain and predicate in self.program.arities:
            return None
        known = tuple(Kind.STRING if k is None else k for k in found)
        parts = tuple(self._rows(table, known, nulls, shape) for table in tables)
        for table in tables:
            self._notes(remarks(table, known, shape))
        for part in parts:
            self._note_isolated(predicate, part)
        named = [t for t in tables if t.raw.named and t.names]
        titles = tuple(Titles.of(t.names, t.raw, doubtful=self._doubtful(t.raw, shape)) for t in named)
        names = tables[0].names if tables else ()
        coded = tuple(Kind.ANY if p in nulls else k for p, k in enumerate(known))
        return Loaded(coded, parts, titles, names, _numbered(tables, shape))

    def _fresh(self, count: int) -> Codes:
        first = self._nulls + 1
        self._nulls += count
        return interned([Null(n) for n in range(first, first + count)], self.symbols)

    def _read(self, predicate: str, source: SourceSpec | Raw, options: Options) -> Raw:
        if isinstance(source, Raw):
            return source
        self.program.permit(source.span)
        self.progress.step(f"Reading {_title(predicate, source)}")
        with _placed(source):
            read = read_table(source, options)
        memory.look(now=True)
        return read

    def _notes(self, notes: Iterable[str]) -> None:
        for note in notes:
            self.progress.note(note)

    def _note_rows(self, table: Selected, shape: Shape) -> None:
        raw = table.raw
        notes = [raw.doubt] if raw.doubt and self._doubtful(raw, shape) else []
        notes += [*raw.notes, *table.notes, *almost_numbers(table, shape)]
        if not len(raw):
            notes.append(f"{raw.file}: no rows")
        if table.skipped:
            notes.append(f"{raw.file}: {_counted(table.skipped, 'row')} with an empty cell skipped")
        self._notes(notes)

    def _doubtful(self, raw: Raw, shape: Shape) -> bool:
        """Whether it is uncertain that the first line holds names (or data)."""
        return raw.doubt is not None and not (raw.named and self._expects(raw, shape))

    def _expects(self, raw: Raw, shape: Shape) -> bool:
        """Whether the rules name one of the columns, so that the first line holds names."""
        if not {c for c in shape.columns if c is not None}.isdisjoint(raw.names):
            return True
        atoms = [atom for r in self.program.rules for atom in (r.head, *r.positives, *r.negatives)]
        terms = [term for atom in atoms if atom.predicate == shape.predicate for term in atom.terms]
        variables = {term.name.lower() for term in terms if isinstance(term, Variable)}
        words = {shape.predicate.lower(), *shape.predicate.lower().split("_")}
        names = {name.lower() for name in raw.names if len(name) > 1}  # a single letter may be data
        return not names.isdisjoint(variables | words)

    def _note_isolated(self, predicate: str, rows: Rows) -> None:
        """Report the number of declared vertices without edges, which are left out."""
        if predicate not in self.program.edges or rows.raw.vertices is None:
            return
        ends = np.count_nonzero(np.bincount(np.concatenate(rows.columns[:2])))
        isolated = len(rows.raw.vertices) - ends
        if isolated > 0 and not any(self.sources(node) for node in self.program.nodes):
            verb = "vertex is" if isolated == 1 else "vertices are"
            cure = "give the file for a @node predicate as well to keep them"
            self.progress.note(f"{rows.raw.file}: {isolated} declared {verb} on no edge and left out; {cure}")

    def _shape(self, predicate: str, read: Sequence[tuple[Raw, Options]]) -> Shape:
        program = self.program
        mapped = {m.position: m for m in program.mappings if m.predicate == predicate}
        edge, node = predicate in program.edges, predicate in program.nodes
        arity = program.arities.get(predicate)
        if arity is None:  # no rule and no fact mentions it
            columns = max(m + 1 for m in mapped) if mapped else 0
            for raw, options in read:
                table = raw.vertices if options.vertices and raw.vertices else raw
                columns = max(columns, len(table.names if options.columns is None else options.columns))
            arity = 2 + (columns != 2) if edge else 1 if node else columns
        wanted: list[Kind | None] = [
            _KINDS[mapped[i].type] if i in mapped and mapped[i].type else None for i in range(arity)
        ]
        if edge or node:
            fixed = (Kind.STRING, Kind.STRING, Kind.DOUBLE) if edge else (Kind.STRING,)
            wanted[: len(fixed)] = fixed[:arity]
        return Shape(
            predicate,
            arity,
            tuple(wanted),
            tuple(mapped[i].column if i in mapped else None for i in range(arity)),
            frozenset(i for i, m in mapped.items() if m.type == "percent"),
            edge,
            node,
            {i: f"{m.span.file}:{m.span.line}" for i, m in mapped.items()},
        )

    def _rows(self, table: Selected, kinds: Sequence[Kind], nulls: frozenset[int], shape: Shape) -> Rows:
        if not table.columns:
            return Rows(tuple(np.empty(0, dtype=np.int64) for _ in kinds), table.raw, table.rows)
        options = table.options
        raw = replace(table.raw, percent=options.percent or len(kinds) - 1 in shape.percent)
        rows = Rows(typed(table, kinds, nulls, shape, self.symbols, self._fresh), raw, table.rows)
        if options.scale and shape.arity > 2 and kinds[-1] is Kind.DOUBLE:
            weights = doubles(scaled(rows.columns[-1].view(np.float64), options.scale))
            rows = replace(rows, columns=(*rows.columns[:-1], weights))
        if shape.arity > 1 and options.drop_loops:
            kept = rows.take(rows.columns[0] != rows.columns[1])
            self.progress.note(f"{raw.file}: {_counted(len(rows) - len(kept), 'loop')} left out")
            rows = kept
        undirected = raw.undirected is not None if options.symmetric is None else options.symmetric
        if shape.arity > 1 and undirected:
            once = rows.take(first_rows(rows.columns))
            self._repeated(raw.file, len(rows) - len(once))
            both = both_ways(once, every=bool(options.symmetric))
            rows = both.take(first_rows(both.columns))
            added = _counted(len(both) - len(once), "undirected edge")
            self.progress.note(f"{raw.file}: {added} read both ways")
        return rows

    def _repeated(self, name: str, count: int) -> None:
        if count:
            self.progress.note(f"{name}: {_counted(count, 'repeated row')} counted once")

    def unique(self, name: str, columns: tuple[Codes, ...]) -> tuple[Codes, ...]:
        """Drop duplicate rows and report their number."""
        if not columns:
            return columns
        keep = first_rows(columns)
        self._repeated(name, int((~keep).sum()))
        return columns if keep.all() else tuple(c[keep] for c in columns)


def bound(bind: Bind) -> SourceSpec:
    """Source of a ``@bind``; in Vadalog ``csv`` also denotes tab-separated files."""
    path = Path(bind.path)  # for a database server, only an identifier
    format = bind.source
    if format == "csv" and path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        format = "tsv"
    table = {"table": bind.table} if bind.table and "table" not in normal(bind.options) else {}
    return SourceSpec(path, format, {**bind.options, **table}, span=bind.span)


def queried(query: Query) -> SourceSpec:
    """Source of a ``@qbind``; without a database, file names in the query are relative to the rule file."""
    path = Path(query.path) if query.path else Path(query.span.file).parent
    return SourceSpec(path, query.source, query.options, query.query, query.span)


@contextmanager
def _placed(source: SourceSpec | Raw) -> Iterator[None]:
    """Add the location of the annotation to errors that concern the whole file."""
    try:
        yield
    except DataError as error:
        span = source.span if isinstance(source, SourceSpec) else None
        if span is None or error.line is not None or error.column is not None or error.file == str(span):
            raise
        raise replace(error, message=f"{error.message} (bound in {span.file}:{span.line})") from error


def _title(predicate: str, source: SourceSpec) -> str:
    name = source.file if source.server else source.path.name
    if source.query is None:
        return name
    return f"{predicate} by a query of {'files' if source.path.is_dir() else name}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _numbered(selected: Sequence[Selected], shape: Shape) -> bool | None:
    """Whether all sources are typed and give the vertices as integers; `None`: there are no vertices."""
    ends = range(min(2, shape.arity) if shape.edge else int(shape.node))
    columns = [table.columns[end] for table in selected if table.columns for end in ends]
    if not columns:
        return None
    return all(
        not isinstance(column, Objects) and pa.types.is_integer(column.type) and column.type != pa.uint64()
        for column in columns
    )


def no_data(program: CheckedProgram, predicate: str) -> DataError:
    """Error for a predicate that requires data and has none."""
    if predicate in program.edges and predicate in program.heads:
        what = f"@edge says that {predicate!r} is given, but it has no data: rules derive it"
        hint = f'leave @edge("{predicate}") out: what rules derive from the graph goes by @derived("{predicate}")'
        return DataError(program.file, what, hint=hint)
    hint = (
        f"say --data {predicate}=FILE (in Python data={{{predicate!r}: table or file}}), "
        f'or in the rules @bind("{predicate}","csv","dir","file.csv")'
    )
    return DataError(program.file, f"the input predicate {predicate!r} has no data", hint=hint)


def first_files(program: CheckedProgram, data: Data) -> dict[str, SourceSpec | None]:
    """First file of each edge predicate; `None` if there is none, but an in-memory table or facts.

    Files are not opened.
    """
    loader = Loader(program, data, SILENT)
    found = {edge: next((source for source, _, _ in loader.sources(edge)), None) for edge in program.edges}
    return {edge: source if isinstance(source, SourceSpec) else None for edge, source in found.items()}


Lookup = Callable[[str, tuple[Value, ...]], str | None]


def sources(program: CheckedProgram, data: Data) -> Lookup:
    """Lookup of the source locations of facts.

    It maps a predicate and the values of a fact to ``file:line`` (``file:row N`` where the format has no lines), or to
    `None` if no source has the fact. The first call for a predicate reads its sources again.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> find = sources(load_text("t(X, Y) :- e(X, Y)."), {"e": [("a", "b"), ("b", "c")]})
    >>> find("e", ("b", "c")), find("e", ("c", "a"))
    ('<e>:row 2', None)
    """

    @cache
    def loader() -> Loader:
        return Loader(program, data, SILENT)

    @cache
    def loaded(predicate: str) -> Loaded | None:
        return loader().load(predicate) if loader().sources(predicate) else None

    @cache
    def first_line(predicate: str, number: int) -> int | None:
        """Line of the first row of a source, if rows and lines correspond one to one."""
        table = loaded(predicate)
        assert table is not None
        raw = table.parts[number].raw
        first, last = raw.line(0), raw.line(len(raw) - 1)
        even = first is not None and last is not None and last - first == len(raw) - 1
        return first if even else None

    def row_with(predicate: str, values: Mapping[int, Value]) -> str | None:
        table = loaded(predicate)
        codes = {p: _code(v, table.kinds[p], loader().symbols) for p, v in values.items()} if table else {}
        if table is None or not codes or None in codes.values():
            return None
        for number, part in enumerate(table.parts):
            same = np.logical_and.reduce([part.columns[position] == code for position, code in codes.items()])
            if not same.any():
                continue
            raw, row = part.raw, int(part.rows[np.argmax(same)])
            if not raw.ordered:
                return raw.file
            first = first_line(predicate, number)
            line = raw.line(row) if first is None else first + row
            return f"{raw.file}:{line}" if line is not None else f"{raw.file}:row {row + 1}"
        return None

    def find(predicate: str, values: tuple[Value, ...]) -> str | None:
        found = row_with(predicate, dict(enumerate(values)))
        if found is not None or len(values) != 1 or predicate not in program.nodes:
            return found
        ends = ((edge, row_with(edge, {end: values[0]})) for edge in program.edges for end in (0, 1))
        return next((f"{location} (end of {edge})" for edge, location in ends if location is not None), None)

    return find


def _code(value: Value, kind: Kind, symbols: Symbols) -> int | None:
    """Code of a value in a column; `None` if the column holds no values of its type."""
    from kgreason.engine.plan.expression_kinds import join, kind_of
    from kgreason.engine.relations.fact_tables import code

    if kind is Kind.STRING and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # integer vertices are first read as strings
    own = kind_of(value)
    if kind is Kind.INT and isinstance(value, float) and value.is_integer():
        return int(value)  # the rules converted it to a double
    return code(value, kind, symbols) if own is kind or join(own, kind) is kind else None
