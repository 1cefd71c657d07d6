"""Tables of a release: only the graph itself, rows in its order, no metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, strings
from kgreason.base.atomic_files import pack, replacing
from kgreason.base.progress import Progress
from kgreason.data.fact_writing import write_plan
from kgreason.data.format_list import format_of
from kgreason.data.formats.delimited import DECIMALS, write_csv
from kgreason.data.program_tables import Data, first_files
from kgreason.data.sources import SourceSpec
from kgreason.data.targets import DECLARING, FORMATS, Target
from kgreason.engine.relations.fact_tables import Facts, Kind, Table, doubles
from kgreason.engine.relations.rows import first_rows
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation, Vertices
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.table_layout import HEADED, NODES, Layout

# Names of columns of formats that have none; a file of Neo4j is read back with them.
COLUMNS = ("source", "target", "weight")
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def planned(program: CheckedProgram, data: Data | None, format: str | None, progress: Progress) -> Layout:
    """Choose the formats of the tables: one for all, else for each edge predicate that of its first file.

    There is no `data` if the graph itself was passed. `DataError` is raised if the package of a format is missing.
    """
    if format is not None:
        return Layout.of(dict.fromkeys(program.edges, format))
    files = dict.fromkeys(program.edges) if data is None else first_files(program, data)
    return Layout.of({p: _format(p, source, progress) for p, source in files.items()})


def _format(predicate: str, source: SourceSpec | None, progress: Progress) -> str:
    """Format of a source if kgreason can write it, else CSV with a note."""
    if source is None:
        progress.note(f"{predicate} was read from no file, so the release holds it as CSV")
        return "csv"
    format = format_of(source)
    if format == "query":
        progress.note(f"{predicate} was read by a query, so the release holds it as CSV")
    elif format != "ttl" and format not in FORMATS:
        progress.note(f"{predicate}: kgreason writes no release as {format}, so it holds {predicate} as CSV")
    else:
        return format
    return "csv"


def fitting(layout: Layout, released: KnowledgeGraph, progress: Progress) -> Layout:
    """Replace matrix formats, which hold no parallel edges, where the graph has such edges."""
    crowded = [
        name
        for name, relation in released.relations.items()
        if layout.edges[name].format == "mtx" and not first_rows([relation.source, relation.target]).all()
    ]
    for name in crowded:
        progress.note(
            f"{name} has parallel edges, and a matrix one entry for each pair: it is released as KONECT"
        )
    return layout.instead(dict.fromkeys(crowded, "konect"))


def write_tables(folder: Path, graph: KnowledgeGraph, layout: Layout, node: str) -> None:
    """Write edges and vertices, in a column `node`, into an existing folder, which has none of the tables yet.

    Raises
    ------
    ReleaseError, DataError
        If a file cannot be written, or its format cannot represent a label or a name.
    """
    order = np.argsort(graph.labels.astype(np.int64 if layout.numbered else str), kind="stable")
    labels = strings(graph.labels.tolist())
    others: list[str] = []
    names: dict[str, tuple[str, ...]] = {NODES: (node,)}
    for name, relation in graph.relations.items():
        stored, known = layout.edges[name], relation.columns
        if stored.format in HEADED:
            ends = [labels.take(as_arrow(end)) for end in (relation.source, relation.target)]
            weights = [] if relation.weight is None else [relation.weight]
            write_csv(folder / stored.file, known, [*ends, *weights], _DELIMITERS[stored.format])
        else:
            others.append(name)
            names[name] = COLUMNS[: len(known)] if stored.format == "neo4j" else safe_names(known)
    vertices, stored = graph.labels[order], layout.nodes
    if stored.format in HEADED:
        write_csv(folder / stored.file, (node,), [labels.take(as_arrow(order))], _DELIMITERS[stored.format])
    elif not layout.listed:
        others.append(NODES)
    if others:
        plan = [(name, _target(folder, layout, name, node, vertices.tolist())) for name in others]
        write_plan(_facts(graph, order), plan, names)


def _target(folder: Path, layout: Layout, name: str, node: str, vertices: Sequence[str]) -> Target:
    stored = layout.nodes if name == NODES else layout.edges[name]
    options = {"label": node} if stored.format == "neo4j" else {}
    if "base" in stored.options:
        options["base"] = stored.options["base"]
    declared = vertices if stored.format in DECLARING else ()
    return Target(folder / stored.file, stored.format, options, stored.options.get("table"), declared)


def safe_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Column names that every format can hold: unchanged unless one is empty or two differ in case alone.

    Examples
    --------
    >>> safe_names(("Owner", "owner", "share"))
    ('source', 'target', 'weight')
    """
    different = len({name.strip().lower() for name in names}) == len(names)
    whole = all(name.strip() and "\0" not in name for name in names)
    return names if whole and different else COLUMNS[: len(names)]


def _facts(graph: KnowledgeGraph, order: npt.NDArray[np.int64]) -> Facts:
    """Facts of a graph: edges in its order, vertices in `order`."""
    symbols = Symbols()
    codes = symbols.encode(graph.labels.tolist())
    tables: Mapping[str, Table] = {name: _table(r, codes) for name, r in graph.relations.items()}
    return Facts({**tables, NODES: Table((Kind.STRING,), (codes[order],), graph.n)}, symbols)


def _table(relation: Relation, codes: Codes) -> Table:
    ends = codes[relation.source], codes[relation.target]
    if relation.weight is None:
        return Table((Kind.STRING, Kind.STRING), ends, len(relation))
    weight = doubles(np.round(relation.weight, DECIMALS))
    return Table((Kind.STRING, Kind.STRING, Kind.DOUBLE), (*ends, weight), len(relation))


def columns(graph: KnowledgeGraph, relation: Relation) -> list[npt.NDArray[Any]]:
    """Labels of sources and targets of the edges of a relation, and the weights if it has any."""
    ends: list[npt.NDArray[Any]] = [graph.labels[relation.source], graph.labels[relation.target]]
    return ends if relation.weight is None else [*ends, relation.weight]


def write_parts(path: Path, original: KnowledgeGraph, parts: Vertices) -> None:
    """Write ``original,part`` rows, sorted by label: the part of every original vertex."""
    order = np.argsort(original.labels.astype(str), kind="stable")
    write_csv(path, ("original", "part"), (original.labels[order], parts[order]))


def write_graph(path: Path, graph: KnowledgeGraph) -> None:
    """Write the only relation of a graph as a table."""
    (relation,) = graph.relations.values()
    with replacing(path) as temporary:
        write_csv(temporary, relation.columns, columns(graph, relation))
        pack(temporary, path.name)
