"""Writing facts piece by piece to a folder that appears as a whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgreason.base.errors import DataError, ReleaseError
from kgreason.data.fact_columns import COLUMN_ROWS
from kgreason.data.fact_writing import check_outputs
from kgreason.data.format_list import FUNCTIONS, function_of
from kgreason.data.targets import Target, column_names
from kgreason.engine.relations.fact_tables import Facts, Kind, Table
from kgreason.engine.relations.symbols import Symbols
from kgreason.language.check.checked_program import CheckedProgram

STREAMED = tuple(name for name, functions in FUNCTIONS.items() if functions.stream)
"""Formats that can be written piece by piece."""


class FactStreams:
    """Open files of some predicates; pieces are joined to groups of about a million facts."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._write: dict[str, Callable[[Facts], None]] = {}
        self._held: dict[str, list[Table]] = {}
        self.counts: dict[str, int] = {}

    def open(self, predicate: str, write: Callable[[Facts], None]) -> None:
        """Add the file of a predicate."""
        self._write[predicate], self._held[predicate], self.counts[predicate] = write, [], 0

    def append(self, predicate: str, table: Table) -> None:
        """Append facts of a predicate, coded with the symbols."""
        held = self._held[predicate]
        held.append(table)
        self.counts[predicate] += table.length
        if sum(piece.length for piece in held) >= COLUMN_ROWS:
            self._flush(predicate)

    def flush(self) -> None:
        """Write all facts."""
        for predicate, held in self._held.items():
            if held:
                self._flush(predicate)

    def _flush(self, predicate: str) -> None:
        held, self._held[predicate] = self._held[predicate], []
        kinds, length = held[0].kinds, sum(piece.length for piece in held)
        columns = held[0].columns
        if len(held) > 1:
            joined = zip(*(piece.columns for piece in held), strict=True)
            columns = tuple(np.concatenate(some) for some in joined)
        if not kinds:
            kinds, columns, length = (Kind.BOOL,), (np.array([length > 0], dtype=np.int64),), 1
        self._write[predicate](Facts({predicate: Table(kinds, columns, length)}, self._symbols))


class Opened(NamedTuple):
    """Files that are being written, and a folder for temporary files beside them."""

    streams: FactStreams
    targets: tuple[tuple[str, Target], ...]
    folder: Path


def check_streams(
    program: CheckedProgram, outputs: Sequence[str], folder: Path, format: str, read: Mapping[str, Any]
) -> None:
    """Check before a run that outputs can be written piece by piece.

    Raises
    ------
    DataError, ReleaseError
        If the format cannot be written piece by piece, or as `check_outputs`.
    """
    if format not in STREAMED:
        what = f"facts in parts cannot be written as {format!r}"
        raise DataError(
            str(folder), what, hint=f"one of {', '.join(STREAMED)}; kgreason convert writes others"
        )
    check_outputs(program, outputs, folder=folder, format=format, read=read)


@contextmanager
def fact_streams(
    program: CheckedProgram,
    outputs: Sequence[str],
    arities: Mapping[str, int],
    symbols: Symbols,
    folder: Path,
    format: str,
) -> Iterator[Opened]:
    """Open ``<predicate>.<extension>`` in a folder for each output; files appear if the block succeeds, else none.

    A new folder appears with all its files. In an existing one, the files replace those of the same name one by one.

    Raises
    ------
    ReleaseError
        If a file cannot be written; the folder is unchanged.
    """
    place = Path(os.path.realpath(folder))
    name = f".{place.name}.{secrets.token_hex(4)}"
    work = place / name if place.exists() else place.with_name(name)
    temporary = work / ".parts"
    targets = tuple((p, Target.within(folder, p, format)) for p in outputs)
    try:
        temporary.mkdir(parents=True)
        with ExitStack() as stack:
            streams = FactStreams(symbols)
            for predicate, target in targets:
                names = column_names(program, predicate, arities.get(predicate, 0)) or ("holds",)
                stream = function_of(FUNCTIONS[format].stream)
                opened = stream(work / target.path.name, predicate, names, target)
                streams.open(predicate, stack.enter_context(opened))
            yield Opened(streams, targets, temporary)
            streams.flush()
        shutil.rmtree(temporary)
        _place(work, place)
    except OSError as error:
        raise ReleaseError(
            f"{folder}: cannot be written: {error.strerror or error}",
            hint=f"choose another folder, or free space in {folder.absolute().parent}",
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _place(work: Path, folder: Path) -> None:
    if not folder.exists():
        work.rename(folder)
        return
    for file in sorted(work.iterdir()):
        file.replace(folder / file.name)
