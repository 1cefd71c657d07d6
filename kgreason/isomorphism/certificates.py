"""Certificates on disk: images of all x-subgraphs of a release, for verification without a search.

Vertices are numbered as the rows of ``nodes.csv``, in the order of their labels. A certificate is secret: it reveals
which vertices are images of each other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base import memory
from kgreason.base.errors import ReleaseError
from kgreason.base.records import record
from kgreason.graph.knowledge_graph import KnowledgeGraph, Vertices
from kgreason.isomorphism.definition import KNOWN
from kgreason.isomorphism.reading import Pair
from kgreason.isomorphism.settings import Further
from kgreason.isomorphism.verification.verdict import Certificate, Donors
from kgreason.release.digests import Fault, differences, imprint, parsed_json
from kgreason.release.table_layout import DATABASE, NODES, nodes_beside, table_of

Ints = npt.NDArray[np.int64]
FORMAT = 1
HINT = "name the certificate.json of the private folder, or verify without a certificate"
FORM = "some rows of vertices do not have the form that they should have"


@record
class Files:
    """Files that a release and its mapping were read from."""

    tables: Mapping[str, Path]  # folder or table of each edge predicate
    mapping: Path  # private folder or mapping file


def write_certificate(path: Path, certificate: Certificate, pair: Pair, folders: Sequence[Path] = ()) -> None:
    """Write a certificate as JSON, with digests of the files of the public and the private folder."""
    order, number = _numbers(pair.released)
    copies = None
    if certificate.copies is not None:
        copies_of = number[np.concatenate([pair.mapping[None], certificate.copies])].T
        copies = copies_of[np.argsort(copies_of[:, 0])].tolist()
    donors = [
        {
            "x": d.size,
            "blocks": [number[block].tolist() for block in d.blocks],
            "images": number[np.concatenate([d.targets[:, None], d.images], axis=1)].tolist(),
        }
        for d in certificate.donors
    ]
    data = {
        "format": FORMAT,
        "k": certificate.k,
        "original": _facts(pair.original),
        "vertices": {"count": pair.released.n, "sha256": _digest(pair.released, order)},
        "copies": copies,
        "donors": donors,
        "also": list(certificate.further),
    }
    memory.give_back()
    data["files"] = [imprint(folder) for folder in folders]
    path.write_text(json.dumps(data) + "\n", encoding="utf-8")


def read_certificate(path: Path, pair: Pair, files: Files | None = None) -> Certificate:
    """Read a certificate for a release; it has a complaint if it belongs to another release or original.

    Parameters
    ----------
    path
        The certificate file or the private folder.
    files
        Files that were read, to be compared with the recorded digests.

    Raises
    ------
    ReleaseError
        If the file cannot be read or is not a certificate.
    """
    path = path / "certificate.json" if path.is_dir() else path
    data = _read_json(path)
    try:
        found = _certificate(data, pair)
        mine = files is not None and not found.complaints  # else the digests are not of these files
        return replace(found, files=_changed(data["files"], files)) if files and mine else found
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        why = f"the entry {error} is missing" if isinstance(error, KeyError) else error
        raise ReleaseError(f"{path}: is no certificate: {why}", hint=HINT) from error


def read_copies(path: Path, released: KnowledgeGraph, mapping: Vertices) -> Vertices:
    """Copies of each original vertex that a certificate names, int64, shape (k - 1, n).

    Raises
    ------
    ReleaseError
        If the file cannot be read, or names no copies of these vertices.
    """
    data = _read_json(path)
    order, _ = _numbers(released)
    try:
        k, rows = _whole(data["k"]), data["copies"]
        if rows is None or data["vertices"]["sha256"] != _digest(released, order):
            raise ValueError("it names no copies of the vertices of this release")
        found = _copies(k, order[_array(rows, (-1, k), released.n)], mapping)
        if found.copies is None:
            raise ValueError("; ".join(found.complaints))
        return found.copies
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        why = f"the entry {error} is missing" if isinstance(error, KeyError) else error
        raise ReleaseError(f"{path}: is no certificate of copies: {why}", hint=HINT) from error


def _read_json(path: Path) -> Mapping[str, Any]:
    data = parsed_json(path, "certificate", HINT)
    if not isinstance(data, dict) or "format" not in data:
        raise ReleaseError(f"{path}: is no certificate: the entry 'format' is missing", hint=HINT)
    if type(data["format"]) is not int or data["format"] != FORMAT:
        raise ReleaseError(
            f"{path}: has format {data['format']!r}, but this version reads {FORMAT}",
            hint="make the release again with this version, or verify without --certificate",
        )
    return data


def _changed(written: Sequence[Mapping[str, Any]], files: Files) -> tuple[Fault, ...]:
    """Files whose content differs from the recorded digests, regardless of their names."""
    if not written:
        why = "the certificate holds no imprint of files"
        return (Fault("added file", str(files.mapping), why, hint=HINT),)
    public, secret = written
    found: list[Fault] = []
    for table, path in files.tables.items():
        if path.is_dir():
            found = differences(public, path)
            break
        name = _recorded(public, table)
        nodes = nodes_beside(name) if nodes_beside(name) in public else _recorded(public, NODES)
        found += _beside(public, name, path, nodes)
    return (*found, *_beside(secret, "mapping.csv", files.mapping, "parts.csv"))


def _recorded(public: Mapping[str, Any], table: str) -> str:
    """Name of the recorded file of a table: its own if recorded, else the database, else CSV."""
    own = (name for name in public if table_of(name) == table)
    return next(own, next((name for name in public if table_of(name) == DATABASE), f"{table}.csv"))


def _beside(recorded: Mapping[str, Any], name: str, path: Path, other: str) -> list[Fault]:
    """Differences of a file or folder, and of the companion file `other`, from their records."""
    if path.is_dir():
        return differences(recorded, path)
    both = {other: path.parent / other, name: path}
    return differences(recorded, {n: p for n, p in both.items() if n in recorded or p.is_file()})


def _certificate(data: Mapping[str, Any], pair: Pair) -> Certificate:
    released, mapping = pair.released, pair.mapping
    order, _ = _numbers(released)
    k, count = _whole(data["k"]), _whole(data["vertices"]["count"])
    further = _further(data.get("also", []))
    same = data["vertices"]["sha256"] == _digest(released, order)
    before, now = data["original"], _facts(pair.original)
    if before != now:
        return Certificate(k, complaints=(_other_original(before, now),))
    if count != released.n or not same:
        here = f"{released.n:,}{' with other labels' if count == released.n else ''}"
        complaint = (
            f"it is of another release: {count:,} vertices are named in it, and this release has {here}"
        )
        return Certificate(k, complaints=(complaint,))
    if data["copies"] is not None:
        found = _copies(k, order[_array(data["copies"], (-1, k), released.n)], mapping)
        return replace(found, further=further)
    return Certificate(k, tuple(_donors(d, k, order) for d in data["donors"]), further=further)


def _further(names: object) -> tuple[Further, ...]:
    if not isinstance(names, list) or any(name not in KNOWN for name in names):
        raise ValueError(f"{names!r} are no further guarantees")
    return tuple(one for one in KNOWN if one in names)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value


def _other_original(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    sizes = (f"{facts['vertices']:,} vertices and {facts['edges']:,} edges" for facts in (before, now))
    difference = f"it is of another original: that had {next(sizes)}, and this one has {next(sizes)}"
    same = all(before[name] == now[name] for name in ("vertices", "edges"))
    return f"{difference}, but not the same ones" if same else difference


def _facts(graph: KnowledgeGraph) -> dict[str, str | int]:
    """Numbers of vertices and edges, and a digest of the edges that does not depend on their order."""
    graph = graph.distinct()
    order, number = _numbers(graph)
    digest = hashlib.sha256(_digest(graph, order).encode())
    for name in sorted(graph.relations):
        relation = graph.relations[name]
        weight = np.zeros(len(relation)) if relation.weight is None else relation.weight
        rows = number[relation.source], number[relation.target], weight
        last = np.lexsort((weight, rows[0] * graph.n + rows[1]))
        digest.update(name.encode())
        for column, kind in zip(rows, ("<i8", "<i8", "<f8"), strict=True):
            digest.update(column[last].astype(kind).tobytes())
    return {"vertices": graph.n, "edges": graph.m, "sha256": digest.hexdigest()}


def _copies(k: int, copies: Ints, mapping: Vertices) -> Certificate:
    copies = copies[np.argsort(copies[:, 0])]
    row = np.searchsorted(copies[:, 0], mapping)
    if (np.append(copies[:, 0], -1)[row] != mapping).any():
        return Certificate(k, complaints=("it names no copies of some vertices: the mapping is another one",))
    return Certificate(k, copies=np.ascontiguousarray(copies[row, 1:].T))


def _donors(data: Mapping[str, Any], k: int, order: Ints) -> Donors:
    x, n = _whole(data["x"]), len(order)
    if not 1 <= x <= n:
        raise ValueError(f"x = {x} is no number of vertices")
    blocks = tuple(order[_array(block, (-1, x), n)] for block in data["blocks"])
    images = order[_array(data["images"], (-1, k, x), n)]
    return Donors(x, blocks, images[:, 0], images[:, 1:])


def _array(rows: object, shape: tuple[int, ...], n: int) -> Ints:
    if rows == []:
        return np.empty((0, *shape[1:]), dtype=np.int64)
    try:
        found = np.array(rows)
    except ValueError as error:  # rows of different lengths
        raise ValueError(FORM) from error
    if found.dtype.kind != "i" or found.ndim != len(shape) or found.shape[1:] != shape[1:]:
        raise ValueError(FORM)
    if found.min() < 0 or found.max() >= n:
        raise ValueError(f"vertices are numbered from 0 to {n - 1}, and some numbers are others")
    return found.astype(np.int64)


def _numbers(released: KnowledgeGraph) -> tuple[Ints, Ints]:
    """Vertices in label order, and the rank of each vertex."""
    order = np.argsort(released.labels.astype(str), kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return order, number


def _digest(released: KnowledgeGraph, order: Ints) -> str:
    text = "\n".join(map(str, released.labels[order].tolist()))
    return hashlib.sha256(text.encode()).hexdigest()
