"""Series of releases of a graph under rules: the private file that continues a series, and the joined releases.

`series.json` tells the synthetic vertices and edges of a release. A release in which every vertex has copies needs no
list of them: its certificate names the copies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.data.sources import SourceSpec
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.certificates import read_copies
from kgreason.isomorphism.definition import Earlier
from kgreason.isomorphism.reading import read_released
from kgreason.isomorphism.utility.edge_detection import edges_between_copies, synthetic_edges
from kgreason.isomorphism.verification.joined_releases import Dated
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.release.digests import parsed_json
from kgreason.release.earlier_releases import earlier_folders
from kgreason.release.mapping import numbers_of, read_mapping

FILE = "series.json"
FORMAT = 1
HINT = "name the private folder of the release before, as it was written"


def release_in_series(
    original: KnowledgeGraph,
    released: KnowledgeGraph,
    mapping: Vertices,
    copies: Vertices | None,
    serials: Vertices,
    last: int,
) -> Earlier:
    """Describe a release whose original is known.

    Parameters
    ----------
    copies
        Copies of each original vertex, int64, shape (k - 1, n), if there are any.
    serials
        Number in the series of each released vertex, 0 for originals and copies; int64, shape (released n,).
    last
        Greatest such number in earlier releases.
    """
    synthetic = synthetic_edges(original, released, mapping, copies)
    return _earlier(original.labels, released, mapping, copies, serials, synthetic, last)


def _earlier(
    originals: npt.NDArray[np.object_],
    released: KnowledgeGraph,
    mapping: Vertices,
    copies: Vertices | None,
    serials: Vertices,
    synthetic: npt.NDArray[np.bool_],
    last: int,
) -> Earlier:
    """Describe a release by the labels of its originals and the kinds of its edges, in the order of `ends`."""
    name = np.full(released.n, None, dtype=object)
    copy = np.full(released.n, -1, dtype=np.int64)
    for number, row in enumerate([mapping] if copies is None else [mapping, *copies]):
        name[row], copy[row] = originals, number
    of_relation, begin = {}, 0
    for predicate, r in released.relations.items():
        of_relation[predicate] = synthetic[begin : begin + len(r)]
        begin += len(r)
    last = max(last, int(serials.max(initial=0)))
    return Earlier(released, name.tolist(), copy, serials, of_relation, last)


def write_series(path: Path, release: Earlier) -> None:
    """Write the private file of a release, for the releases after it."""
    labels = release.graph.labels
    others = np.flatnonzero(release.copy < 0)
    edges = {}
    for predicate, r in release.graph.relations.items():
        between = release.synthetic[predicate] & (release.copy[r.source] == 0) & (release.copy[r.target] == 0)
        rows = np.flatnonzero(between)
        edges[predicate] = [[labels[r.source[i]], labels[r.target[i]]] for i in rows.tolist()]
    serials = dict(zip(labels[others].tolist(), release.serial[others].tolist(), strict=True))
    data = {
        "format": FORMAT,
        "copies": release.copies,
        "last": release.last,
        "vertices": serials,
        "edges": edges,
    }
    path.write_text(json.dumps(data) + "\n", encoding="utf-8")


def read_window(program: CheckedProgram, after: Path, count: int) -> list[Earlier]:
    """Read up to `count` releases, oldest first, of which the last one has the private folder `after`.

    Raises
    ------
    ReleaseError, DataError
        If a folder is missing, was not confirmed, or does not belong to a series.
    """
    found = [_read(program, *folders) for folders in earlier_folders(_checked(after), count)]
    return found[::-1]


def _checked(private: Path) -> Path:
    if not (private / FILE).is_file():
        what = f"the file {FILE} is not in it" if private.is_dir() else "there is no such folder"
        hint = (
            "name the private folder of the release before: one of KGUARD in its exact mode or of KLONE, without "
            "--split and --also"
        )
        raise ReleaseError(f"{private}: no series can go on from there: {what}", hint=hint)
    return private


def _read(program: CheckedProgram, folder: Path, private: Path) -> Earlier:
    if not folder.is_dir():
        hint = "releases of a series must stay where they are, seen from their private folders: bring it back"
        raise ReleaseError(f"{folder}: the release of {private} is not there", hint=hint)
    if (folder / "UNVERIFIED").exists():
        hint = "make that release again, or begin a new series without --after"
        raise ReleaseError(
            f"{folder}: this release was not confirmed, so no series can go on from it", hint=hint
        )
    try:
        released = read_released(program, {p: [SourceSpec(folder)] for p in program.edges})
    except DataError as error:
        hint = f"{error.hint}; all rules of a series have the same @edge predicates"
        raise replace(error, hint=hint) from error
    return read_release_in_series(released, private)


def read_release_in_series(released: KnowledgeGraph, private: Path) -> Earlier:
    """Describe a release by its private folder.

    Raises
    ------
    ReleaseError
        If the folder is of another release, or a file of it cannot be read.
    """
    names = read_mapping(private)
    originals = np.array(list(names.released), dtype=object)
    mapping = numbers_of(names, originals, released.labels, "vertex")
    path = _checked(private) / FILE
    data = parsed_json(path, "file of a series", HINT)
    try:
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this version reads {FORMAT}")
        copies = None
        if data["copies"]:
            copies = read_copies(private / "certificate.json", released, mapping)
        return _described(released, originals, mapping, copies, data)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        why = f"the entry {error} is missing" if isinstance(error, KeyError) else error
        raise ReleaseError(f"{path}: is no file of a series of this release: {why}", hint=HINT) from error


def _described(
    released: KnowledgeGraph,
    originals: npt.NDArray[np.object_],
    mapping: Vertices,
    copies: Vertices | None,
    data: Any,
) -> Earlier:
    number = dict(zip(released.labels.tolist(), range(released.n), strict=True))
    serials = np.zeros(released.n, dtype=np.int64)
    for label, serial in data["vertices"].items():
        serials[number[label]] = serial
    if copies is not None:
        synthetic = edges_between_copies(released, mapping, copies)
    else:
        synthetic = _recorded(released, number, mapping, data["edges"])
    found = _earlier(originals, released, mapping, copies, serials, synthetic, int(data["last"]))
    if (found.copy[serials > 0] >= 0).any() or (serials[found.copy < 0] <= 0).any():
        raise ValueError("it names other synthetic vertices")
    return found


def _recorded(
    released: KnowledgeGraph,
    number: Mapping[str, int],
    mapping: Vertices,
    edges: Mapping[str, Sequence[tuple[str, str]]],
) -> npt.NDArray[np.bool_]:
    """Whether each edge has a synthetic vertex, or is one of some edges between original ones; shape (m,)."""
    original = np.zeros(released.n, dtype=np.bool_)
    original[mapping] = True
    found = [np.empty(0, dtype=np.bool_)]
    for name, r in released.relations.items():
        made = np.array([number[u] * released.n + number[v] for u, v in edges[name]], dtype=np.int64)
        inside = original[r.source] & original[r.target]
        found.append(~inside | np.isin(r.source * released.n + r.target, made))
    return np.concatenate(found)


def dated(window: Sequence[Earlier]) -> list[Dated]:
    """Releases of a window with common numbers of vertices, for the checker.

    A synthetic vertex is the same in two releases if it is the same copy of a vertex, or has the same number in the
    series.
    """
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    for release in window:
        keys = zip(release.copy.tolist(), release.names, release.serial.tolist(), strict=True)
        identity = [
            numbers.setdefault((copy, name) if copy >= 0 else (serial,), len(numbers))
            for copy, name, serial in keys
        ]
        found.append(_dated(release, np.array(identity, dtype=np.int64)))
    return found


def _dated(release: Earlier, identity: Vertices) -> Dated:
    """One release with its original, of which the released edges tell the edges."""
    order = [np.flatnonzero(release.copy == number) for number in range(release.copies + 1)]
    names = np.array(release.names, dtype=object)
    rows = [at[np.argsort(names[at].astype(str), kind="stable")] for at in order]
    mapping = rows[0]
    own = np.full(release.graph.n, -1, dtype=np.int64)
    own[mapping] = np.arange(len(mapping))
    relations = {}
    for name, r in release.graph.relations.items():
        real = r.take(~release.synthetic[name] & (own[r.source] >= 0) & (own[r.target] >= 0))
        relations[name] = type(r)(own[real.source], own[real.target], real.weight, r.columns)
    copies = np.stack(rows[1:]) if release.copies else None
    return Dated(KnowledgeGraph(names[mapping], relations), release.graph, mapping, identity, copies)


def check_continues(before: Earlier, k: int, *, klone: bool) -> None:
    """Check that a release of a method can follow another one.

    Raises
    ------
    AnonymizationError
        If that one has no copies and KLONE is to follow, or copies of another number.
    """
    copies = before.copies
    if klone and not copies:
        raise AnonymizationError(
            "the release before was made by KGUARD, whose additions KLONE cannot keep",
            hint="go on with --method kguard, or begin a series of KLONE without --after",
        )
    if copies and copies != k - 1:
        raise AnonymizationError(
            f"the release before has {copies + 1} copies of every vertex, and k = {k} asks for {k}",
            hint=f"say -k {copies + 1}",
        )
