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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram
from kgreason.analysis.expressions import walk
from kgreason.anonymizers.base import Release
from kgreason.errors import ReleaseError
from kgreason.graph.io.csv_writer import write_csv
from kgreason.graph.model import KnowledgeGraph, Relation, Vertices
from kgreason.interrupts import deferred
from kgreason.lang.ast import Constant, Variable
from kgreason.output.place import replacing

NAMES = {
    "release": {"README.txt", "report.html", "report.json", "rules.vada", "nodes.csv", "UNVERIFIED"}
    | {"people.toml", "users.csv", "attributes.csv", "relations.csv"}
    | {"links.csv", "links.toml"},
    "private": {"mapping.csv", "parts.csv", "certificate.json", "report.html", "report.json", "history.json"},
}


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
    """

    release: Path
    private: Path
    force: bool = False

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
        """
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
    tables = re.findall(r'"([^"]+\.csv)"', rules.read_text(encoding="utf-8")) if rules.is_file() else []
    return NAMES[kind] | (set(tables) if kind == "release" else set())


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
        raise ReleaseError(f"{place}: cannot be written: {error.strerror or error}") from error


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


def write_release(folder: Path, release: Release, program: CheckedProgram) -> None:
    """Write ``<edge predicate>.csv``, ``nodes.csv`` and ``rules.vada`` into an existing folder."""
    graph = release.graph
    node = program.nodes[0] if program.nodes else "node"
    write_csv(folder / "nodes.csv", (node,), (np.sort(graph.labels.astype(str)),))
    for name, relation in graph.relations.items():
        write_csv(folder / f"{name}.csv", relation.columns, _columns(graph, relation))
    (folder / "rules.vada").write_text(public_rules(program), encoding="utf-8")


def check_publishable(program: CheckedProgram, labels: Iterable[str]) -> None:
    """Refuse rules whose text would publish the name of a vertex, and tables that cannot stand in a release.

    Raises
    ------
    ReleaseError
        If an edge predicate is called ``nodes``, if a string constant or a fact of the rules holds a label of
        the graph, or if a variable has the name of a vertex.
    """
    if "nodes" in program.edges:
        raise ReleaseError(
            "the edge predicate `nodes` would be written to nodes.csv, where the vertices go",
            hint="give it another name",
        )
    told = list(dict.fromkeys(_told(program)))
    for label in labels:
        for what, words in told:
            if label == words or (len(label) >= 4 and _plain(label) in _plain(words)):
                raise ReleaseError(
                    f"the rules hold {what} {words!r}, which names the vertex {label!r}, and would be published",
                    hint="take the name out of the rules",
                )


def _plain(words: str) -> str:
    return "".join(c if c.isalnum() else " " for c in words.lower())


def _told(program: CheckedProgram) -> Iterator[tuple[str, str]]:
    """What the text of the rules says besides predicates and numbers in conditions."""
    for fact in program.facts:
        yield from (("the constant", str(t.value)) for t in fact.terms if isinstance(t, Constant))
    for rule in program.rules:
        terms = [t for atom in (rule.head, *rule.positives, *rule.negatives) for t in atom.terms]
        parts = [part for step in (*rule.before, *rule.after) for part in walk(step.expression)]
        for node in (*terms, *parts):
            if isinstance(node, Variable) and len(node.name) >= 4:
                yield "the variable", node.name
            elif isinstance(node, Constant) and isinstance(node.value, str):
                yield "the string", node.value


def public_rules(program: CheckedProgram) -> str:
    """Write the rules so that they tell nothing of the input: no comments, no paths, no facts of the graph.

    Binds point to the tables of the release, so that the file runs in its folder.
    """
    lines = [f'@node("{p}").' for p in program.nodes] + [f'@edge("{p}").' for p in program.edges]
    lines += [f'@incoming_sum("{p}", {bound}).' for p, bound in program.incoming_sums.items()]
    lines += [f'@bind("{p}", "csv useHeaders=true", "", "nodes.csv").' for p in program.nodes]
    lines += [f'@bind("{p}", "csv useHeaders=true", "", "{p}.csv").' for p in program.edges]
    lines += [f'@output("{p}").' for p in program.outputs]
    lines += [f'@derived("{p}").' for p in program.derived]
    lines += [f'@query("{p}").' for p in program.queries]
    lines += [f"{atom}." for atom in program.facts]
    lines += dict.fromkeys(rule.text for rule in program.rules)
    return "\n".join(lines) + "\n"


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
        write_csv(temporary, relation.columns, _columns(graph, relation))


def _columns(graph: KnowledgeGraph, relation: Relation) -> list[npt.NDArray[Any]]:
    ends: list[npt.NDArray[Any]] = [graph.labels[relation.source], graph.labels[relation.target]]
    return ends if relation.weight is None else [*ends, relation.weight]


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a private report."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def write_readme(
    folder: Path,
    program: CheckedProgram,
    release: Release,
    sizes: str,
    *,
    holds: bool,
    seeded: bool,
) -> None:
    """Write README.txt: what was promised, and for which x, in words, the check confirmed it."""
    warnings = []
    baseline = release.guarantee.model == "k-iso"
    asked = "" if baseline else f" for {sizes}"
    if not holds:
        (folder / "UNVERIFIED").touch()
        warnings.append(
            f"UNVERIFIED\n\nThe guarantee below was checked{asked} and does NOT hold. Do not publish this.\n\n"
        )
    if seeded:
        warnings.append(
            "EXPERIMENT\n\nMade with a fixed seed: it can be computed again. Do not publish this.\n\n"
        )
    tables = "".join(f"  {f'{p}.csv':<12} edges of the relation {p}\n" for p in program.edges)
    weighted = any(r.weight is not None for r in release.graph.relations.values())
    promise = K_ISO if baseline else KX_ISOMORPHISM
    text = README.format(
        guarantee=release.guarantee,
        edges=", ".join(program.edges if baseline else [*program.edges, *program.derived]),
        checked=f"Confirmed by an exact check{asked}.\n" if holds else "",
        promise=promise.format(k=release.guarantee.k),
        tables=tables,
        weights=WEIGHTS if weighted else "",
        cut=CUT if release.guarantee.cut else "",
    )
    (folder / "README.txt").write_text("".join([*warnings, text]), encoding="utf-8")


README = """Anonymized knowledge graph

Guarantee: {guarantee}, for the edges {edges}.
{checked}
{promise}
Files
  nodes.csv    the vertices; labels are random
{tables}  rules.vada   the rules under which the guarantee was made; run them with
               kgreason reason --rules rules.vada
  report.html  a page about the release, for reading; report.json is the same for programs

{weights}Vertices and edges may be synthetic. Rows are in random order.
{cut}"""
KX_ISOMORPHISM = """Whoever knows a connected part of the original graph with x vertices, and everything that the rules
derive from that part alone, finds in this graph at least {k} places that look the same and share no vertex;
between any two of them all vertices differ in label, in-degree and out-degree.
"""
K_ISO = """This graph consists of {k} isomorphic blocks without edges between them, so every part of it stands in it
at least {k} times. Edges of the original were deleted and others inserted for that.

NOT PROTECTED: derived edges, that is, what the rules derive from a part, may differ between the blocks and tell them
apart. Vertices in the same place of different blocks have the same degrees. This is a baseline to compare with.
"""
CUT = """The graph was divided into parts. Original edges between parts are left out, and the guarantee is one for
the graph without them.
"""
WEIGHTS = "Weights lie between 0 and 1; all were replaced by others of a similar distribution.\n"
