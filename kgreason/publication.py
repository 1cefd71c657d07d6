"""A release on disk: one folder to publish, one to keep secret (docs/anonymization.md, Form).

Both are written whole or not at all: files go to a temporary folder beside the target, which is renamed at the end.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgreason.anonymizers.base import Release
from kgreason.errors import ReleaseError
from kgreason.graph.io.csv_writer import write_csv
from kgreason.graph.model import KnowledgeGraph, Vertices
from kgreason.interrupts import deferred
from kgreason.layout import DATABASE, EXTENSIONS, NODES, is_table, nodes_beside
from kgreason.output.place import replacing
from kgreason.release_tables import check_known, columns

TABLES = (NODES, DATABASE, "users", "attributes", "relations", "links")
NAMES = {
    "release": {"README.txt", "UNVERIFIED", "report.html", "report.json"}
    | {"rules.vada", "people.toml", "links.toml"}
    | {f"{table}{extension}" for table in TABLES for extension in EXTENSIONS},
    "private": {"mapping.csv", "parts.csv", "certificate.json", "history.json"}
    | {"report.html", "report.json"},
}
"""What kgreason writes into the folders, besides the tables of edges."""


@dataclass(frozen=True)
class Folders:
    """Where a release goes.

    Attributes
    ----------
    release
        The folder to publish, a path or the text of one.
    private
        The folder that must stay secret; made with mode 0700.
    force
        Whether earlier releases in these places may be replaced.
    format
        Of the tables to publish: ``"csv"``, ``"parquet"`` or another that the family writes; `None`: that of the input.
    """

    release: Path
    private: Path
    force: bool = False
    format: str | None = None

    def __post_init__(self) -> None:
        for name in ("release", "private"):
            object.__setattr__(self, name, Path(getattr(self, name)))

    def check(self) -> None:
        """Refuse places that would overwrite something or publish the secret.

        Raises
        ------
        ReleaseError
            If a folder exists (and `force` is not set), holds something other than a release, or if
            one folder lies inside the other.
        DataError
            If the format is none that kgreason writes, or the package that it needs is not installed.
        """
        check_known(self.format)
        release, private = self.release.resolve(), self.private.resolve()
        if release == private or release in private.parents or private in release.parents:
            raise ReleaseError(
                f"the private folder {self.private} and the release folder {self.release} overlap",
                hint="publishing the one would publish the other; choose two separate folders",
            )
        for folder, kind in ((self.release, "release"), (self.private, "private")):
            _check_writable(folder, kind)
            self._check_replaceable(folder, kind)

    def _check_replaceable(self, folder: Path, kind: str) -> None:
        if not folder.exists() and not folder.is_symlink():
            return
        if not self.force:
            raise ReleaseError(
                f"{folder} exists already",
                hint=f"use --force to replace it, or --{kind} DIR to write elsewhere",
            )
        if folder.is_symlink() or not folder.is_dir():
            raise ReleaseError(f"{folder} is not a folder", hint="move it away first")
        foreign = sorted(p.name for p in folder.iterdir() if p.name not in _written(folder, kind))
        if foreign:
            raise ReleaseError(
                f"{folder} holds files that kgreason did not write ({', '.join(foreign[:3])}), so it is not replaced",
                hint=f"move them away, or choose another place with --{kind} DIR",
            )


def _check_writable(folder: Path, kind: str) -> None:
    """Find out before the work whether a folder can be made, by making one like it that goes at once."""
    nearest = next(p for p in folder.absolute().parents if p.exists())
    trial = _temporary(nearest / folder.name)
    try:
        with deferred():
            trial.mkdir(mode=0o700)
            trial.rmdir()
    except OSError as error:
        why = f"{nearest} is no folder" if not nearest.is_dir() else f"{nearest}: {error.strerror or error}"
        raise ReleaseError(
            f"{folder} cannot be made: {why}", hint=f"choose another place with --{kind} DIR"
        ) from error


def _written(folder: Path, kind: str) -> set[str]:
    """Names of the files that kgreason writes into a folder, by its own account."""
    rules = folder / "rules.vada"
    told = re.findall(r'"([^"/]*)"', rules.read_text(encoding="utf-8")) if rules.is_file() else []
    tables = {name for name in told if is_table(name)}
    tables |= {nodes_beside(name) for name in tables if name.endswith(".csv")}
    return NAMES[kind] | (tables if kind == "release" else set())


@contextmanager
def staged(folders: Folders) -> Iterator[tuple[Path, Path]]:
    """Temporary release and private folders, renamed to their places if the block ends well.

    An error or an interruption inside the block leaves the old state untouched. Both folders change together: an
    interruption while they do waits, and says that they have.

    Raises
    ------
    ReleaseError
        As `Folders.check`, or if a file cannot be written.
    """
    folders.check()
    written = False
    try:
        for place in (folders.release, folders.private):
            place.parent.mkdir(parents=True, exist_ok=True)
        with _beside(folders.release) as release, _beside(folders.private) as private:
            yield release, private
            _seal(private, folder_mode=0o700, file_mode=0o600)
            _seal(release, folder_mode=0o755, file_mode=0o644)
            with deferred():
                with _aside(folders.private), _aside(folders.release):
                    private.rename(folders.private)
                    release.rename(folders.release)
                written = True
    except KeyboardInterrupt:
        if written:
            raise KeyboardInterrupt(interrupted(folders)) from None
        raise
    except OSError as error:
        place = error.filename or folders.release
        raise ReleaseError(
            f"{place}: cannot be written: {error.strerror or error}",
            hint="choose other places with --release DIR and --private DIR, or make room there",
        ) from error


def interrupted(folders: Folders) -> str:
    """What to say of an interruption that came too late."""
    return f"interrupted; {folders.release} and {folders.private} are written"


def _temporary(place: Path) -> Path:
    return place.parent / f".{place.name}-{secrets.token_hex(4)}"


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A temporary folder in the parent of `place`, mode 0700, gone at the end unless renamed."""
    folder = _temporary(place)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        with deferred():
            shutil.rmtree(folder, ignore_errors=True)


def _seal(folder: Path, folder_mode: int, file_mode: int) -> None:
    """Set modes whatever the umask, and one time for all files: when each was written is nobody's business."""
    now = time.time_ns()
    for file in folder.iterdir():
        file.chmod(file_mode)
        os.utime(file, ns=(now, now))
    folder.chmod(folder_mode)


@contextmanager
def _aside(place: Path) -> Iterator[None]:
    """Move what stands at `place` away, for good if the block ends well, else back."""
    with _beside(place) as old:
        kept, replaced = old / place.name, False
        if place.exists():
            place.rename(kept)
        try:
            yield
            replaced = True
        finally:
            if not replaced:
                shutil.rmtree(place, ignore_errors=True)
                if kept.exists():
                    kept.rename(place)


def write_mapping(path: Path, original: KnowledgeGraph, release: Release) -> None:
    """Write ``original,released``, a row for every original vertex, sorted by original label."""
    order = np.argsort(original.labels.astype(str), kind="stable")
    columns = (original.labels[order], release.graph.labels[release.mapping[order]])
    write_csv(path, ("original", "released"), columns)


def write_parts(path: Path, original: KnowledgeGraph, parts: Vertices) -> None:
    """Write ``original,part``, a row for every original vertex, sorted by label: which edges are given up."""
    order = np.argsort(original.labels.astype(str), kind="stable")
    write_csv(path, ("original", "part"), (original.labels[order], parts[order]))


def write_graph(path: Path, graph: KnowledgeGraph) -> None:
    """Write the one relation of a graph as a table."""
    (relation,) = graph.relations.values()
    with replacing(path) as temporary:
        write_csv(temporary, relation.columns, columns(graph, relation))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a private report."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
