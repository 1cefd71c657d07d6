"""An original graph and its release, read from files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgreason.analysis.checked import CheckedProgram
from kgreason.errors import DataError, ReleaseError
from kgreason.graph.io.load import load_graph
from kgreason.graph.io.raw import no_file
from kgreason.graph.io.source import SourceSpec
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.records import dataclass


@dataclass(frozen=True)
class Pair:
    """An original graph, its release, and the vertex map between them (int64, shape (n,)).

    Attributes
    ----------
    parts
        Part of each original vertex, where the release gives up the edges between parts; else `None`.
    """

    original: KnowledgeGraph
    released: KnowledgeGraph
    mapping: Vertices
    parts: Vertices | None = None


def read_release(program: CheckedProgram, original: KnowledgeGraph, folder: Path, mapping: Path) -> Pair:
    """Read a release folder back."""
    tables = {p: [SourceSpec(folder / f"{p}.csv")] for p in program.edges}
    return _pair(original, _released(program, tables, folder / "nodes.csv"), read_mapping(mapping), mapping)


def read_pair(
    program: CheckedProgram,
    original: Mapping[str, Sequence[SourceSpec]],
    released: Mapping[str, Sequence[SourceSpec]],
    mapping: Path,
) -> Pair:
    """Read an original graph and a release of it.

    Parameters
    ----------
    original, released
        Sources of each edge predicate; a folder stands for its table of this name. A ``nodes.csv`` beside the
        released table is read too.
    mapping
        The private folder, or a CSV file with the header ``original,released`` and a row for each original vertex.
        A ``parts.csv`` beside it is read too.

    Raises
    ------
    DataError, ReleaseError
        If a file is at fault or the mapping does not fit the graphs.
    """
    mapping = mapping / "mapping.csv" if mapping.is_dir() else mapping
    _need(original, "file", "name a table of the original graph")
    _need(released, "file or folder", "name a release folder or its table")
    original, released = _in_folders(original), _in_folders(released)
    pairs = read_mapping(mapping)
    graph = with_vertices(load_graph(program, original), pairs)
    beside = [source.path.parent / "nodes.csv" for sources in released.values() for source in sources]
    nodes = next((path for path in beside if path.is_file()), None)
    return _pair(graph, _released(program, released, nodes), pairs, mapping)


def _released(
    program: CheckedProgram, tables: Mapping[str, Sequence[SourceSpec]], nodes: Path | None
) -> KnowledgeGraph:
    # Binds and mappings describe the input (its units, its columns), not the release.
    bare = replace(program, binds=(), mappings=(), facts=())
    sources = {predicate: [_with_header(source) for source in given] for predicate, given in tables.items()}
    if nodes is not None and program.nodes:
        sources[program.nodes[0]] = [_with_header(SourceSpec(nodes))]
    return load_graph(bare, sources)


def _need(tables: Mapping[str, Sequence[SourceSpec]], what: str, hint: str) -> None:
    for source in (source for given in tables.values() for source in given):
        if not source.path.exists():
            hint = no_file(source.path).hint or hint
            raise DataError(source.file, f"there is no such {what}", hint=hint)


def _in_folders(tables: Mapping[str, Sequence[SourceSpec]]) -> dict[str, list[SourceSpec]]:
    """The tables meant where folders are named."""
    return {
        predicate: [replace(s, path=s.path / f"{predicate}.csv") if s.path.is_dir() else s for s in given]
        for predicate, given in tables.items()
    }


def _with_header(source: SourceSpec) -> SourceSpec:
    return replace(source, options={"useHeaders": "true", **source.options})


def _pair(original: KnowledgeGraph, released: KnowledgeGraph, pairs: Mapping[str, str], file: Path) -> Pair:
    parts = file.parent / "parts.csv"
    return Pair(
        original,
        released,
        resolve_mapping(pairs, original, released, str(file)),
        read_parts(parts, original) if parts.is_file() else None,
    )


def renumbered(vertices: Vertices, graph: KnowledgeGraph, other: KnowledgeGraph) -> Vertices:
    """Vertices of a graph as another one with the same labels, none of which stands twice, numbers them."""
    order, theirs = np.argsort(graph.labels.astype(str)), np.argsort(other.labels.astype(str))
    number = np.empty(graph.n, dtype=np.int64)
    number[order] = theirs
    found: Vertices = number[vertices]
    return found


def with_vertices(graph: KnowledgeGraph, labels: Iterable[str]) -> KnowledgeGraph:
    """Add the vertices that `graph` lacks, isolated."""
    known = set(graph.labels.tolist())
    new = [label for label in labels if label not in known]
    return (
        replace(graph, labels=np.concatenate([graph.labels, np.array(new, dtype=object)])) if new else graph
    )


def read_mapping(path: Path) -> dict[str, str]:
    """Read ``original,released`` rows.

    Raises
    ------
    ReleaseError
        If the header differs, a row has not two fields, or an original vertex stands twice.
    """
    return _two_columns(path, ("original", "released"))


def read_parts(path: Path, original: KnowledgeGraph) -> Vertices:
    """Read ``original,part`` rows: the part of each vertex, shape (n,).

    Raises
    ------
    ReleaseError
        As `read_mapping`, or if a vertex has no part or one that is no number.
    """
    found = _two_columns(path, ("original", "part"))
    if lacking := next((label for label in original.labels.tolist() if label not in found), None):
        raise ReleaseError(
            f"{path}: the original vertex {lacking!r} has no row", hint="is this of another release?"
        )
    if wrong := next((part for part in found.values() if not part.isdecimal()), None):
        raise ReleaseError(f"{path}: {wrong!r} is no number of a part")
    return np.array([int(found[label]) for label in original.labels.tolist()], dtype=np.int64)


def _two_columns(path: Path, header: tuple[str, str]) -> dict[str, str]:
    kind = "mapping" if header[1] == "released" else "parts"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ReleaseError(f"{path}: cannot be read: {why}") from error
    if not rows or rows[0] != list(header):
        raise ReleaseError(f"{path}:1: the header must be {','.join(header)}", hint=f"is this a {kind}.csv?")
    pairs: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 2:
            raise ReleaseError(f"{path}:{number}: a row needs two fields {','.join(header)}, not {len(row)}")
        if row[0] in pairs:
            raise ReleaseError(f"{path}:{number}: the original vertex {row[0]!r} stands twice")
        pairs[row[0]] = row[1]
    return pairs


def resolve_mapping(
    pairs: Mapping[str, str], original: KnowledgeGraph, released: KnowledgeGraph, file: str
) -> Vertices:
    """Vertex numbers in `released` of the vertices of `original`, shape (n,).

    Raises
    ------
    ReleaseError
        If an original vertex has no row, or a row names a vertex that the release does not have.
    """
    number = {label: i for i, label in enumerate(released.labels.tolist())}
    mapping = np.empty(original.n, dtype=np.int64)
    for i, label in enumerate(original.labels.tolist()):
        target = pairs.get(label)
        if target is None:
            raise ReleaseError(
                f"{file}: the original vertex {label!r} has no row",
                hint="the mapping must have a row original,released for every vertex of the original graph",
            )
        if target not in number:
            raise ReleaseError(
                f"{file}: {label!r} is mapped to {target!r}, which the release does not contain",
                hint="is this the mapping of another release?",
            )
        mapping[i] = number[target]
    return mapping
