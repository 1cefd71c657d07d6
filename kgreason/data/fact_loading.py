"""Loading of facts and knowledge graphs from a program and its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.arrays import as_numpy
from kgreason.base.errors import DataError
from kgreason.base.progress import SILENT, Progress
from kgreason.data.edge_checks import (
    Rows,
    Titles,
    check_range,
    check_titles,
    note_parallel,
    note_sums,
    published,
)
from kgreason.data.program_tables import Data, Loader, no_data
from kgreason.data.sources import SourceSpec
from kgreason.engine.plan.static_kinds import deciding, infer
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, doubles
from kgreason.engine.relations.rows import first_rows
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.check.checked_program import CheckedProgram, Position
from kgreason.language.check.genericity import met_by_vertices
from kgreason.language.check.program_checker import restricted
from kgreason.language.syntax.syntax_tree import Constant

if TYPE_CHECKING:
    from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation


def load_facts(
    program: CheckedProgram,
    data: Data,
    progress: Progress = SILENT,
    goals: Sequence[str] | None = None,
    *,
    complete: bool = True,
    numbered: bool | None = None,
) -> Facts:
    """Load the input facts of a program.

    The facts of a predicate come from its sources in `data`, else from its ``@bind`` annotations; several sources are
    joined. Facts written in the rule file are not included. A unary ``@node`` predicate contains, besides its own data,
    both ends of every ``@edge`` fact. Duplicate rows count once. Vertices are strings; they are integers if all sources
    of ``@edge`` and ``@node`` predicates are typed and give integers, the rules treat all vertices alike, and other
    tables have integers where the rules compare them with vertices.

    Parameters
    ----------
    goals
        Predicates to load, by default all. Files and databases on which neither they nor their number types depend
        are not opened.
    complete
        Whether ``@node`` predicates contain the ends of edges.
    numbered
        Whether vertices may be integers; `None`: if the rules treat all vertices alike.

    Raises
    ------
    DataError
        If a file cannot be read, a value does not fit its column, an ``@input`` or ``@edge`` predicate has no
        data, or a weight of a predicate with ``@incoming_sum`` is outside [0,1].
    """
    loader = Loader(program, data, progress)
    tables: dict[str, Table] = {}
    parts: dict[str, Sequence[Rows]] = {}
    compared: frozenset[Position] | None = None
    if numbered is None:
        compared = met_by_vertices(program)
        numbered = compared is not None
    named = tables
    waiting = loader.predicates()
    needed = {*waiting} if goals is None else _needed(program, goals)
    chosen = needed.union(loader.in_memory())
    while here := [p for p in waiting if p in chosen]:
        for predicate in here:
            with _fitting(program, predicate):
                loaded = loader.load(predicate)
                if loaded is not None:
                    columns = loader.unique(predicate, loaded.joined())
                    tables[predicate] = Table(loaded.kinds, columns, len(columns[0]) if columns else 0)
                    parts[predicate] = loaded.parts
                    numbered = numbered and loaded.numbered in (None, True)
                memory.look(now=True)
        waiting = [p for p in waiting if p not in here]
        if numbered and not {*program.edges, *program.nodes}.intersection(waiting):
            named, numbered = tables, False
            others = tables.keys() - {*program.edges, *program.nodes}
            if all(tables[p].kinds[i] is Kind.INT for p, i in compared or () if p in others):
                tables = _integers(program, tables, loader.symbols)
        if waiting:
            chosen = deciding(program, infer(program, Facts(tables, loader.symbols)), needed)
    for edge in program.edges:
        given = named[edge].columns if edge in named else ()
        strict = edge in program.incoming_sums  # a bound on sums requires shares
        _examined(program, loader, edge, given, parts.get(edge, ()), strict=strict)
    if complete:
        complete_nodes(program, tables, loader.symbols)
    return Facts(tables, loader.symbols)


def _integers(program: CheckedProgram, tables: Mapping[str, Table], symbols: Symbols) -> dict[str, Table]:
    """Convert vertices from strings of digits to integers."""
    numbers = np.zeros(len(symbols), dtype=np.int64)
    changed = dict(tables)
    for predicate in {*program.edges, *program.nodes}.intersection(tables):
        table = tables[predicate]
        columns, kinds = list(table.columns), list(table.kinds)
        for end in range(min(table.arity, 1 + (predicate in program.edges))):
            used = np.zeros(len(symbols), dtype=bool)
            used[columns[end]] = True
            codes = np.flatnonzero(used)
            numbers[codes] = as_numpy(symbols.texts(codes).cast("int64"))
            columns[end], kinds[end] = numbers[columns[end]], Kind.INT
        changed[predicate] = Table(tuple(kinds), tuple(columns), table.length)
    return changed


@contextmanager
def _fitting(program: CheckedProgram, predicate: str) -> Iterator[None]:
    """Convert a memory limit error to an error that names the predicate."""
    try:
        yield
    except memory.Exhausted as error:
        what = f"there is not enough memory to read the facts of {predicate}: {error}"
        hint = "allow more (--memory-limit SIZE, in Python Limits(memory=BYTES))"
        raise DataError(program.file, what, hint=hint) from None


def _needed(program: CheckedProgram, goals: Sequence[str]) -> set[str]:
    left = restricted(program, goals)
    rules = [atom for rule in left.rules for atom in (rule.head, *rule.positives, *rule.negatives)]
    needed = {*goals, *(atom.predicate for atom in (*left.facts, *rules))}
    return needed.union(program.edges) if needed & set(program.nodes) else needed


def load_graph(program: CheckedProgram, data: Data, progress: Progress = SILENT) -> KnowledgeGraph:
    """Load the knowledge graph of a program: its ``@edge`` relations and ``@node`` vertices.

    Vertices are numbered in order of first appearance, those of ``@node`` predicates before the ends of edges.
    Edges and vertices written in the rule file are included.

    Raises
    ------
    DataError
        As `load_facts`; also if a weight is outside [0,1], or a column name is a vertex or a number.
    """
    from kgreason.graph.knowledge_graph import Relation

    loader = Loader(program, data, progress)
    if not program.edges:
        what = "the rules name no ground edges"
        raise DataError(program.file, what, hint='say which predicate they are: @edge("own").')
    stated = {fact.predicate for fact in program.facts}
    for edge in program.edges:
        if not loader.sources(edge) and edge not in stated:
            raise no_data(program, edge)
    loaded = {p: loader.load(p) if loader.sources(p) else None for p in (*program.nodes, *program.edges)}
    codes: list[Codes] = []
    for node in program.nodes:
        given = loaded[node]
        names, _ = _stated(program, node, 1)
        codes += [*(given.joined()[:1] if given else ()), loader.symbols.encode([*map(str, names[0])])]
    relations, titles = {}, tuple[Titles, ...]()
    for edge in program.edges:
        given = loaded.pop(edge)
        columns = loader.unique(edge, given.joined()) if given else ()
        columns = _examined(program, loader, edge, columns, given.parts if given else (), strict=True)
        found = given.titles if given else ()
        del given  # the text of a table is larger than its columns
        weight = columns[2].view(np.float64) if len(columns) > 2 else None
        relations[edge] = Relation(columns[0], columns[1], weight, published(found, len(columns)))
        codes.append(np.stack(columns[:2], axis=1).reshape(-1))
        titles += found
    memory.give_back()
    graph = _numbered(np.concatenate(codes), relations, loader.symbols)
    known = frozenset(name for title in titles for name in title.names)
    labels = known.intersection(map(str.strip, graph.labels.tolist())) if titles else known
    for title in titles:
        check_titles(title, labels)
    return graph


def _examined(
    program: CheckedProgram,
    loader: Loader,
    edge: str,
    columns: tuple[Codes, ...],
    parts: Sequence[Rows],
    *,
    strict: bool,
) -> tuple[Codes, ...]:
    """Distinct edges of the data and the rule file, with checked weights; `strict` requires weights in [0,1]."""
    symbols, progress = loader.symbols, loader.progress
    arity = len(columns) or program.arities.get(edge, 0)
    stated, spans = _stated(program, edge, arity)
    written = [symbols.encode([*map(str, names)]) for names in stated[:2]]
    weights = [np.array([float(str(w)) for w in column], dtype=np.float64) for column in stated[2:3]]
    if spans or not columns:
        written += map(doubles, weights)
        columns = tuple(map(np.concatenate, zip(columns, written, strict=True))) if columns else (*written,)
        keep = first_rows(columns)
        columns = tuple(column[keep] for column in columns)
    if len(columns) == 3:
        check_range(edge, parts, weights[0], spans, progress, strict=strict)
        note_parallel(edge, columns, progress)
        shares = columns[2].view(np.float64)
        note_sums(edge, program.incoming_sums.get(edge), columns[1], shares, symbols, progress)
    return columns


def _stated(program: CheckedProgram, predicate: str, arity: int) -> tuple[list[list[object]], list[str]]:
    """Facts of the rule file as values by column, and their locations."""
    atoms = [fact for fact in program.facts if fact.predicate == predicate]
    rows = [[t.value for t in atom.terms if isinstance(t, Constant)] for atom in atoms]
    columns: list[list[object]] = [[row[i] for row in rows] for i in range(arity)]
    return columns, [str(atom.span) for atom in atoms]


def _numbered(codes: Codes, relations: Mapping[str, Relation], symbols: Symbols) -> KnowledgeGraph:
    """Number the vertices in order of first appearance in `codes`."""
    first = np.full(len(symbols), len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last write is the first occurrence
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    number = np.full(len(symbols), -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    from kgreason.graph.knowledge_graph import KnowledgeGraph

    labels = np.array(symbols.decode(order.tolist()), dtype=object)
    numbered = {
        name: replace(r, source=number[r.source], target=number[r.target]) for name, r in relations.items()
    }
    return KnowledgeGraph(labels, numbered)


def complete_nodes(program: CheckedProgram, tables: dict[str, Table], symbols: Symbols) -> None:
    """Add the ends of all edges to the ``@node`` predicates."""
    known = [tables[p] for p in (*program.edges, *program.nodes) if p in tables]
    kind = next((table.kinds[0] for table in known), Kind.STRING)
    ends = [tables[e].columns[i] for e in program.edges if e in tables for i in (0, 1)]
    for fact in program.facts:
        if fact.predicate in program.edges:
            names = [str(t.value) for t in fact.terms[:2] if isinstance(t, Constant)]
            ends.append(symbols.encode(names))
    for node in program.nodes:
        if program.arities.get(node, 1) != 1:
            continue
        own = [tables[node].columns[0]] if node in tables else []
        codes = np.concatenate([np.empty(0, dtype=np.int64), *own, *ends])
        codes = codes[first_rows([codes])]
        tables[node] = Table((kind,), (codes,), len(codes))


def note_of_spellings(program: CheckedProgram) -> str | None:
    """`spelling_note` for the vertices in the existing files that a program binds."""
    loader = Loader(program, {}, SILENT)
    vertices = dict.fromkeys(program.edges, (0, 1)) | dict.fromkeys(program.nodes, (0,))
    found: list[npt.NDArray[np.int64]] = []
    for predicate, positions in vertices.items():
        given = [source for source, _, _ in loader.sources(predicate)]
        if given and all(isinstance(s, SourceSpec) and s.query is None and s.path.is_file() for s in given):
            loaded = loader.load(predicate)
            columns = loaded.joined() if loaded else ()
            found += [columns[position] for position in positions if position < len(columns)]
    if not found:
        return None
    from kgreason.data.formats.vertex_names import spelling_note

    return spelling_note(loader.symbols.decode(np.unique(np.concatenate(found)).tolist()))
