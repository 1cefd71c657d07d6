"""From a table as its file has it to the typed rows of a predicate."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Codes, Kind
from kgreason.errors import DataError
from kgreason.graph.io.cast import CastError, coded, infer, missing, plain, strings
from kgreason.graph.io.raw import Column, Raw
from kgreason.graph.io.source import Options


@dataclass(frozen=True)
class Shape:
    """What a predicate wants of a table.

    Attributes
    ----------
    predicate
        Its name, for messages.
    arity
        Number of columns.
    kinds
        Kind per position, `None`: as the values show.
    columns
        Column per position by name or 1-based number, `None`: the column of that position.
    percent
        Positions whose values are in percent.
    edge
        Positions 0 and 1 are vertices, 2 is a weight.
    """

    predicate: str
    arity: int
    kinds: tuple[Kind | None, ...]
    columns: tuple[str | None, ...]
    percent: frozenset[int] = frozenset()
    edge: bool = False


@dataclass(frozen=True)
class Selected:
    """The columns a predicate wants, rows with missing cells removed; `rows` are their numbers in `raw`."""

    raw: Raw
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: npt.NDArray[np.int64]
    skipped: int = 0
    notes: tuple[str, ...] = ()


def select(raw: Raw, shape: Shape, options: Options) -> Selected:
    """Take the columns that the options, the mapping or the positions name.

    Raises
    ------
    DataError
        If the columns do not match the arity, or a cell is empty (unless `missing` says otherwise).
    """
    if raw.vertices is not None and (options.vertices or (options.vertices is None and shape.arity == 1)):
        raw = raw.vertices
        if shape.arity == 1 and options.columns is None:
            raw = replace(raw, names=raw.names[:1], columns=raw.columns[:1])
    if not raw.columns:
        return Selected(raw, (), (), np.empty(0, dtype=np.int64))
    raw, notes = _fitted(raw, shape, options)
    positions = _positions(raw, shape, options)
    columns = [plain(raw.columns[p]) for p in positions]
    if options.prefix is not None:
        columns[:2] = [_prefixed(c, p) for c, p in zip(columns[:2], options.prefix, strict=True)]
    names = tuple(raw.names[p] for p in positions)
    return _present(replace(Selected(raw, names, tuple(columns), np.arange(len(raw))), notes=notes), options)


def _fitted(raw: Raw, shape: Shape, options: Options) -> tuple[Raw, tuple[str, ...]]:
    """Bring source, target[, weight] to the arity: add a weight where none is, drop what nobody asks for."""
    import pyarrow as pa

    chosen = options.columns is not None or any(c is not None for c in shape.columns)
    if chosen:
        return raw, ()
    width = len(raw.columns)
    unweighted = width == 2 and shape.arity == 3 and (raw.graph or shape.edge or options.weight is not None)
    if unweighted:
        weight = 1.0 if options.weight is None else options.weight
        column = pa.array(np.full(len(raw), weight))
        note = () if options.weight is not None else (f"{raw.file}: no weights, so each is 1",)
        return replace(raw, names=(*raw.names, "weight"), columns=(*raw.columns, column)), note
    if raw.graph and width > shape.arity >= 2:
        left = ", ".join(raw.names[shape.arity :])
        note = (f"{raw.file}: {left} not used, {shape.predicate} has {shape.arity} columns",)
        return replace(raw, names=raw.names[: shape.arity], columns=raw.columns[: shape.arity]), note
    return raw, ()


def _positions(raw: Raw, shape: Shape, options: Options) -> list[int]:
    wanted: Sequence[str | None] = options.columns if options.columns is not None else shape.columns
    if options.columns is not None and len(options.columns) != shape.arity:
        raise DataError(
            raw.file, f"{len(options.columns)} columns chosen, but {shape.predicate} has {shape.arity}"
        )
    if len(raw.names) != shape.arity and any(name is None for name in wanted):
        have = f"{len(raw.names)} ({', '.join(raw.names[:12])}{', ...' if len(raw.names) > 12 else ''})"
        raise DataError(
            raw.file,
            f"{shape.predicate} has {shape.arity} column{'s' * (shape.arity != 1)}, the file {have}",
            hint=_choice(raw, shape),
        )
    return [i if name is None else _position(raw, name) for i, name in enumerate(wanted)]


def _choice(raw: Raw, shape: Shape) -> str:
    if len(raw.names) < shape.arity:
        text = raw.columns[0][0].as_py() if len(raw) else ""
        mark = (
            next((c for c in ";\t|," if c in f"{raw.names[0]}{text}"), None) if len(raw.names) == 1 else None
        )
        return f"is the delimiter {mark!r}? say delimiter" if mark else "the predicate needs more columns"
    names = raw.names if raw.named else tuple(str(i + 1) for i in range(len(raw.names)))
    return f"choose them, for instance columns={','.join(names[: shape.arity])}"


def _position(raw: Raw, name: str) -> int:
    if name in raw.names:
        return raw.names.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(raw.names):
        return int(name) - 1
    near = difflib.get_close_matches(name, raw.names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    names = (
        "has the columns " + ", ".join(raw.names[:20])
        if raw.named
        else f"has {len(raw.names)} unnamed columns"
    )
    raise DataError(
        raw.file, f"there is no column {name!r}", hint=f"{hint}the file {names}; columns=a,b takes others"
    )


def _prefixed(column: Column, prefix: str) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    large = pa.large_string()
    return pc.binary_join_element_wise(pa.scalar(prefix, large), column.cast(large), pa.scalar("", large))


def _present(selected: Selected, options: Options) -> Selected:
    import pyarrow as pa
    import pyarrow.compute as pc

    if options.missing == "keep":
        filled = tuple(
            pc.fill_null(c, "") if pa.types.is_large_string(c.type) else c for c in selected.columns
        )
        return replace(selected, columns=filled)
    holes = np.zeros(len(selected.rows), dtype=bool)
    for name, column in zip(selected.names, selected.columns, strict=True):
        empty = missing(column)
        if options.missing == "error" and empty.any():
            count = int(empty.sum())
            raise selected.raw.error(
                int(selected.rows[np.argmax(empty)]),
                f"the cell is empty ({count} such row{'s' * (count != 1)})",
                name,
                "missing=skip leaves such rows out and counts them",
            )
        holes |= empty
    if not holes.any():
        return selected
    kept = tuple(c.filter(pa.array(~holes)) for c in selected.columns)
    return replace(selected, columns=kept, rows=selected.rows[~holes], skipped=int(holes.sum()))


def kinds(tables: Sequence[Selected], shape: Shape) -> tuple[Kind | None, ...]:
    """Kind of each position over all its sources; `None` if no source has a row.

    Integers meet doubles as doubles; anything that meets text, and truth values that meet numbers, are text.
    """
    found = []
    for position in range(shape.arity):
        kind = shape.kinds[position]
        if kind is None:
            seen = {infer(t.columns[position]) for t in tables if len(t.rows)}
            if position in shape.percent and seen <= {Kind.INT, Kind.DOUBLE}:
                seen = {Kind.DOUBLE} if seen else seen
            kind = _joint(seen)
        found.append(kind)
    return tuple(found)


def _joint(seen: set[Kind]) -> Kind | None:
    if len(seen) <= 1:
        return next(iter(seen), None)
    return Kind.DOUBLE if seen == {Kind.INT, Kind.DOUBLE} else Kind.STRING


def typed(
    table: Selected, kinds: Sequence[Kind], shape: Shape, options: Options, symbols: Symbols
) -> tuple[Codes, ...]:
    """Code the columns of a selection.

    Raises
    ------
    DataError
        At the first value that is not of its kind.
    """
    columns: dict[int, Codes] = {}
    for position, kind in enumerate(kinds):
        if kind is Kind.STRING:
            continue
        share = position in shape.percent or (options.percent and position == shape.arity - 1)
        try:
            columns[position] = coded(table.columns[position], kind, percent=share)
        except CastError as error:
            row = int(table.rows[error.row])
            hint = error.hint
            if hint is None and row == 0 and not table.raw.named:
                hint = "if the first line holds names, say useHeaders=true"
            message = f"{error.value!r} is not {error.expected}"
            raise table.raw.error(row, message, table.names[position], hint) from error
    texts = [position for position, kind in enumerate(kinds) if kind is Kind.STRING]
    if texts:
        codes = strings([table.columns[position] for position in texts], symbols)
        columns.update(zip(texts, codes, strict=True))
    return tuple(columns[position] for position in range(shape.arity))
