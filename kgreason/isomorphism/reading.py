"""Reading of an original graph and its release from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from kgreason.base.arrays import pa, strings
from kgreason.base.cores import both
from kgreason.base.errors import DataError, ReleaseError
from kgreason.base.progress import SILENT, Progress
from kgreason.base.records import record
from kgreason.data.fact_loading import load_graph
from kgreason.data.raw_table import similar
from kgreason.data.sources import SourceSpec
from kgreason.data.value_conversion import int64
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.file_access import parts_of
from kgreason.release.mapping import (
    OTHER_RELEASE,
    Names,
    numbers_in,
    numbers_of,
    plain_images,
    read_mapping,
)
from kgreason.release.read_back import (
    as_written,
    check_ends,
    check_folder,
    check_kind,
    check_whole,
    read_nodes,
    read_pairs,
)
from kgreason.release.table_layout import (
    BINARY,
    HEADED,
    LISTING,
    MAYBE_EMPTY,
    Stored,
    found_edges,
    found_nodes,
)

RELEASE = "file or folder", "name a release folder or its table"
LISTED = "vertices of the release"  # a name that no predicate of a rule can have


@record
class Pair:
    """Original graph, its release, and the mapping of vertices (int64, shape (n,))."""

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Vertices
    parts: Vertices | None = (
        None  # of the original vertices if the release leaves out the edges between parts
    )


def read_release(program: CheckedProgram, original: KnowledgeGraph, folder: Path, mapping: Path) -> Pair:
    """Read a release folder."""
    tables = _in_folders({p: [SourceSpec(folder)] for p in program.edges})
    size = sum(path.stat().st_size for path in folder.iterdir())
    graph, images = both(
        lambda: _released(program, tables, _nodes(tables)),
        lambda: plain_images(mapping, original.labels),
        size,
    )
    numbers = None if images is None else numbers_in(graph.labels, images)
    if numbers is None:
        return _pair(original, graph, read_mapping(mapping))
    return Pair(original, graph, numbers, _parts_beside(mapping, original))


def read_pair(
    program: CheckedProgram,
    original: Mapping[str, Sequence[SourceSpec]],
    released: Mapping[str, Sequence[SourceSpec]],
    mapping: Path,
    progress: Progress = SILENT,
) -> Pair:
    """Read an original graph and a release of it.

    Parameters
    ----------
    original, released
        Sources of each edge predicate; a folder stands for its table of the predicate, in any format. The table of
        vertices in the same folder is read, too.
    mapping
        The private folder, or a CSV file with the header ``original,released`` and a row for each original vertex.
        ``parts.csv`` in the same folder is read, too.

    Raises
    ------
    DataError, ReleaseError
        If a file is invalid or the mapping does not fit the graphs.
    """
    _check_exist(original, "file", "name a table of the original graph")
    _check_exist(released, *RELEASE)
    names = read_mapping(mapping)
    tables = _in_folders(original)
    graph = _with_isolated(load_graph(program, tables, progress), tables, names, progress)
    return _pair(graph, read_released(program, released, progress), names)


def read_released(
    program: CheckedProgram, released: Mapping[str, Sequence[SourceSpec]], progress: Progress = SILENT
) -> KnowledgeGraph:
    """Read a release without its original, from sources as in `read_pair`; `DataError` if a file is invalid."""
    _check_exist(released, *RELEASE)
    for folder in {source.path for source in chain(*released.values()) if source.path.is_dir()}:
        check_kind(folder, "rules")
        check_folder(folder, program.edges)
    tables = _in_folders(released)
    return _released(program, tables, _nodes(tables), progress)


def _nodes(tables: Mapping[str, Sequence[SourceSpec]]) -> SourceSpec | None:
    """Table of vertices in the folder of the first edge table that has one."""
    for source in (s for s in chain(*tables.values()) if not s.server):
        edges = Stored(source.kind("csv"), source.path.name, source.options)
        if found := found_nodes(source.path.parent, [edges]):
            return found.source(source.path.parent)
    return None


def _released(
    program: CheckedProgram,
    tables: Mapping[str, Sequence[SourceSpec]],
    nodes: SourceSpec | None,
    progress: Progress = SILENT,
) -> KnowledgeGraph:
    # Binds and mappings describe the input (its units, its columns), not the release.
    bare = replace(program, binds=(), queries_bound=(), mappings=(), facts=())
    sources = {predicate: [*map(_with_header, files)] for predicate, files in tables.items()}
    with as_written():
        for source in chain(*tables.values()):
            if not source.server and source.kind() not in BINARY and "encoding" not in source.options:
                check_whole(source.path, empty=source.kind() in MAYBE_EMPTY)
        if nodes is not None and nodes.kind() not in BINARY:
            check_whole(nodes.path)
    listed = None if nodes is None else read_nodes(nodes)
    if nodes is not None and not bare.nodes and nodes.kind() in LISTING:
        bare = replace(bare, nodes=(LISTED,))  # no warning about left-out vertices without edges
    if nodes is not None and bare.nodes:
        sources[bare.nodes[0]] = [_with_header(nodes)]
    with as_written():
        graph = load_graph(bare, sources, progress)
    if nodes is None or listed is None:
        return graph
    whole = listed.combine_chunks() if isinstance(listed, pa.ChunkedArray) else listed
    if strings(graph.labels.tolist()).equals(whole):
        return graph
    labels = listed.to_pylist()
    check_ends(graph, {name: files[0].path for name, files in tables.items()}, labels, nodes.path)
    return with_vertices(graph, labels)


def _with_isolated(
    graph: KnowledgeGraph, tables: Mapping[str, Sequence[SourceSpec]], names: Names, progress: Progress
) -> KnowledgeGraph:
    """Add the vertices that only the mapping names to the original, with a note, as a row may be missing."""
    if not graph.m:
        file = next((source.file for source in chain(*tables.values())), names.file)
        raise DataError(file, "the original has no edges", hint="is the file cut off? name the whole table")
    whole = with_vertices(graph, names.released)
    if isolated := whole.labels[graph.n :].tolist():
        some = ", ".join(map(repr, isolated[:3])) + ", ..." * (len(isolated) > 3)
        progress.note(
            f"{names.where(isolated[0])}: {len(isolated):,} vertices of the mapping have no edge in the "
            f"original ({some}); if they should have edges, rows of its table are missing"
        )
    return whole


def _check_exist(tables: Mapping[str, Sequence[SourceSpec]], kind: str, hint: str) -> None:
    for source in chain(*tables.values()):
        if not source.server and not parts_of(source.path)[0].exists():
            raise DataError(source.file, f"there is no such {kind}", hint=similar(source.path) or hint)


def _in_folders(tables: Mapping[str, Sequence[SourceSpec]]) -> dict[str, list[SourceSpec]]:
    return {predicate: [_in_folder(s, predicate) for s in files] for predicate, files in tables.items()}


def _in_folder(source: SourceSpec, predicate: str) -> SourceSpec:
    if source.server or not source.path.is_dir() or source.kind("folder") == "neo4j":
        return source
    return found_edges(source.path, predicate).source(source.path)


def _with_header(source: SourceSpec) -> SourceSpec:
    headed = source.kind() in HEADED
    return replace(source, options={"useHeaders": "true", **source.options}) if headed else source


def _pair(original: KnowledgeGraph, released: KnowledgeGraph, names: Names) -> Pair:
    mapping = numbers_of(names, original.labels, released.labels, "vertex", others=True)
    return Pair(original, released, mapping, _parts_beside(Path(names.file), original))


def _parts_beside(mapping: Path, original: KnowledgeGraph) -> Vertices | None:
    """Parts in the folder of a mapping file."""
    parts = mapping.parent / "parts.csv"
    return read_parts(parts, original) if parts.is_file() else None


def renumbered(vertices: Vertices, graph: KnowledgeGraph, other: KnowledgeGraph) -> Vertices:
    """Renumber vertices of a graph as in another graph with the same, unique labels."""
    if graph is other:
        return vertices
    order, theirs = np.argsort(graph.labels.astype(str)), np.argsort(other.labels.astype(str))
    number = np.empty(graph.n, dtype=np.int64)
    number[order] = theirs
    return np.take(number, vertices)


def with_vertices(graph: KnowledgeGraph, labels: Iterable[str]) -> KnowledgeGraph:
    """Add vertices with new labels, isolated."""
    known = set(graph.labels.tolist())
    new = np.array([label for label in labels if label not in known], dtype=object)
    return replace(graph, labels=np.concatenate([graph.labels, new])) if len(new) else graph


def read_parts(path: Path, original: KnowledgeGraph) -> Vertices:
    """Read ``original,part`` rows: the part of each vertex, int64, shape (n,).

    Raises
    ------
    ReleaseError
        As `read_mapping`, or if a vertex has no part, a part is not a number, or a row names an unknown vertex.
    """
    found = read_pairs(path, ("original", "part"))
    labels = original.labels.tolist()
    if lacking := next((label for label in labels if label not in found.texts), None):
        raise ReleaseError(f"{path}: the original vertex {lacking!r} has no row", hint=OTHER_RELEASE)
    for label in found.texts.keys() - set(labels):
        raise ReleaseError(
            f"{path}:{found.line(label)}: {label!r} is no vertex of the original", hint=OTHER_RELEASE
        )
    for label, text in found.texts.items():
        if not text.isdecimal() or int64(text) is None:
            raise ReleaseError(
                f"{path}:{found.line(label)}: {text!r} is no number of an x-subgraph", hint=OTHER_RELEASE
            )
    return np.array([int64(found.texts[label]) for label in labels], dtype=np.int64)
