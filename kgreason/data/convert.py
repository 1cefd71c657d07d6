"""From one file to another: the rows of any format that is read, in any that is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from kgreason.analysis.check import load_text
from kgreason.data.options import normal
from kgreason.data.program_tables import Loaded, Loader
from kgreason.data.select import keyed
from kgreason.data.source import DATABASES, SourceSpec
from kgreason.data.target import DECLARING, Target, free
from kgreason.data.target_checks import check_plan, existing_columns
from kgreason.data.write import write_output
from kgreason.engine.table import Facts, Table
from kgreason.errors import DataError, ReleaseError
from kgreason.progress import SILENT, Progress


@dataclass(frozen=True)
class Converted:
    """What became of a file.

    Attributes
    ----------
    read, written
        Number of rows of the source and of the target: undirected edges are two, equal rows are one.
    vertices
        Vertices without edges that are written besides.
    names
        Of the columns.
    """

    read: int
    written: int
    vertices: int
    names: tuple[str, ...]


def convert(
    source: SourceSpec,
    target: Target,
    *,
    name: str | None = None,
    force: bool = False,
    allow_files: bool = False,
    progress: Progress = SILENT,
) -> Converted:
    """Write the rows of a file to another, with the types that both formats have.

    Parameters
    ----------
    name
        Of the predicate, the table or the relation, where the format names it; default: as the file is called.
    force
        Whether a file or table that is there may be replaced.
    allow_files
        Whether views of DuckDB may read other files than their database.

    Raises
    ------
    DataError
        If the source cannot be read, or the target has no place for a value.
    ReleaseError
        If the target is the source, is there already, or cannot be written.
    """
    if target.server and not (name or target.table):
        raise DataError(
            target.file, "it is not said which table is to be written", hint="say table= or --name"
        )
    predicate = name or target.table or _predicate_of(target.path)
    if not re.fullmatch(r"[a-z][A-Za-z0-9_]*", predicate):
        raise DataError("--name", f"{predicate!r} is no name of a predicate", hint="as in own or heldBy")
    program = load_text(f'@input("{predicate}").', allow_files=allow_files)
    loader = Loader(program, {predicate: [source]}, progress)
    check_plan([(predicate, target)], {}, read={predicate: [source]})
    if not force:
        _check_free(target, predicate)
    loaded = loader.load(predicate)
    if loaded is None or not loaded.kinds:
        raise DataError(
            source.file, "the file has neither rows nor names of columns", hint="is it the one you mean?"
        )
    alone = _alone(source, loaded)
    if alone and not target.declares:
        what = "1 vertex is" if len(alone) == 1 else f"{len(alone):,} vertices are"
        progress.note(
            f"{what} on no edge and left out: {target.format} holds edges only, {', '.join(sorted(DECLARING))} hold "
            "vertices, too"
        )
        alone = []
    columns = loader.unique(predicate, loaded.joined())
    facts = Facts({predicate: Table(loaded.kinds, columns, len(columns[0]))}, loader.symbols)
    progress.step(f"Writing {target.file if target.server else target.path.name}")
    names = _names(loaded)
    write_output(facts, predicate, replace(target, vertices=alone), names)
    single = len(loaded.kinds) == 1
    read = sum(len(part.raw.vertices or part.raw if single else part.raw) for part in loaded.parts)
    return Converted(read, facts.count(predicate), len(alone), names)


def _predicate_of(path: Path) -> str:
    """Name a predicate as a file is called, as far as its letters allow."""
    stem = path.name.removeprefix("out.").partition(".")[0]
    bare = re.sub(r"\W", "_", stem, flags=re.ASCII).strip("_")
    return bare[:1].lower() + bare[1:] if bare[:1].isalpha() else f"p{bare and '_'}{bare}"


def _check_free(target: Target, predicate: str) -> None:
    there = target.path
    if target.format in DATABASES:
        if existing_columns(target, predicate) is None:
            return
        what = f"the table {target.table or predicate} is there already"
    else:
        besides = target.beside(2)
        there = next((file for file in (target.path, besides) if file is not None and file.exists()), Path())
        if not there.name:
            return
        what = "the file is there already"
    raise ReleaseError(f"{target.address if target.server else there}: {what}", hint="--force replaces it")


def _alone(source: SourceSpec, loaded: Loaded) -> list[str]:
    """Vertices that the source declares and no edge ends at."""
    if len(loaded.kinds) < 2 or {"prefix", "columns", "table"}.intersection(normal(source.options)):
        return []
    found: list[str] = []
    for part in loaded.parts:
        if part.raw.graph and part.raw.vertices is not None and part.raw.vertices.columns:
            names = keyed(part.raw.vertices).columns[0]
            ends = {name for column in part.raw.columns[:2] for name in column.unique().to_pylist()}
            found += [name for name in names.to_pylist() if name not in ends]
    return found


def _names(loaded: Loaded) -> tuple[str, ...]:
    names: list[str] = []
    for place in range(len(loaded.kinds)):
        name = loaded.names[place] if place < len(loaded.names) else f"c{place + 1}"
        names.append(free(name.lstrip(":") or f"c{place + 1}", names))
    return tuple(names)
