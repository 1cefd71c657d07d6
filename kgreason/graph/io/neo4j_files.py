"""Which files a source of Neo4j's import is made of: one, a header and its data, or all of a folder."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from kgreason.analysis.reach import parts_of
from kgreason.data.delimited import records
from kgreason.errors import DataError
from kgreason.graph.io.neo4j_header import Field, fields_of, is_header
from kgreason.graph.io.options import Options
from kgreason.graph.io.raw import no_file
from kgreason.records import dataclass

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_HEADER = re.compile(r"[-_.]?headers?$", re.IGNORECASE)


@dataclass(frozen=True)
class Group:
    """Files with one header.

    Attributes
    ----------
    fields
        What the header says.
    files
        Each with whether its first line is the header.
    """

    fields: tuple[Field, ...]
    files: tuple[tuple[Path, bool], ...]


def groups_of(path: Path, options: Options) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """Files of a source by their headers, and notes on those of a folder that have none.

    Raises
    ------
    DataError
        If a file is not there, or none has a header.
    """
    if path.is_dir():
        return _folder(path, options)
    files = parts_of(path)
    for file in files:
        if not file.is_file():
            if file.is_dir():
                raise DataError(str(file), "is a folder", hint="name a folder alone, or files alone")
            raise no_file(file)
    line, cells = _first(files[0], options)
    rest = tuple((file, False) for file in files[1:])
    return (Group(fields_of(str(files[0]), line, cells), ((files[0], True), *rest)),), ()


def _first(path: Path, options: Options) -> tuple[int, list[str]]:
    first = next(itertools.islice(records(path, options, _delimiter(path, options)), 1), None)
    if first is None:
        raise DataError(str(path), "the file is empty", hint="its first line is to be a header")
    return first


def _delimiter(path: Path, options: Options) -> str:
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    return options.delimiter or ("\t" if tabs else ",")


def _folder(folder: Path, options: Options) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    files = sorted(f for f in folder.iterdir() if f.is_file() and f.name.lower().endswith(_ENDINGS))
    first = {file: _first(file, options) for file in files if file.stat().st_size}
    own = [file for file in first if is_header(first[file][1])]
    others = [file for file in first if file not in own]
    groups = []
    for file in own:
        stem = _stem(file)
        base = _HEADER.sub("", stem)
        data = [o for o in others if base != stem and re.match(rf"{re.escape(base)}([^a-zA-Z]|$)", _stem(o))]
        others = [o for o in others if o not in data]
        fields = fields_of(str(file), *first[file])
        groups.append(Group(fields, ((file, True), *((o, False) for o in data))))
    if not groups:
        raise DataError(
            str(folder),
            "no file of the folder has a header of Neo4j",
            hint="with :ID, or :START_ID and :END_ID",
        )
    return tuple(groups), tuple(f"{other}: no header of Neo4j, so the file is left out" for other in others)


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def delimiters(files: Sequence[tuple[Path, bool]], options: Options) -> tuple[str, ...]:
    """Delimiter of each file."""
    return tuple(_delimiter(file, options) for file, _ in files)
