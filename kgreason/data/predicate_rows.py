"""Selection of the columns and rows of a predicate from a source table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import as_arrow, pa, pc
from kgreason.base.cores import each
from kgreason.base.errors import DataError
from kgreason.base.records import record
from kgreason.data.raw_table import Column, Raw
from kgreason.data.source_options import Options, other_delimiter
from kgreason.data.text_conversion import infer, missing, plain
from kgreason.data.value_conversion import UNFIT_HINT, CastError, Unfit, int64, is_text, joined
from kgreason.engine.relations.fact_tables import Kind
from kgreason.language.vocabulary import suggest

_WEIGHT = re.compile("share|weight|percent|stake|amount|value|ratio", re.I)
_SHOWN = 1000  # rows used for guesses


Mask = npt.NDArray[np.bool_]


@record
class Shape:
    """Columns that a predicate requires of a table.

    By position: `kinds` (`None`: inferred from the values); `columns` by name or 1-based number (`None`: the column at
    that position); `locations`, where an ``@mapping`` stands. Values at the positions `percent` are percentages.
    Positions 0 and 1 of an `edge` are vertices and position 2 is a weight; position 0 of a `node` is a vertex.
    """

    predicate: str
    arity: int
    kinds: tuple[Kind | None, ...]
    columns: tuple[str | None, ...]
    percent: frozenset[int] = frozenset()
    edge: bool = False
    node: bool = False
    locations: Mapping[int, str] = field(default_factory=dict)


class Selected(NamedTuple):
    """Columns of a predicate without rows that are skipped for missing cells; `rows` are row numbers in `raw`.

    If `ones`, the last column is not in the source but consists of weights 1. `holes` are the missing cells of each
    column that become labelled nulls, if any.
    """

    raw: Raw
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: npt.NDArray[np.int64]
    options: Options
    notes: tuple[str, ...] = ()
    ones: bool = False
    skipped: int = 0
    holes: tuple[Mask, ...] | None = None

    def present(self, position: int) -> Column:
        """Non-missing cells of a column."""
        column = self.columns[position]
        if self.holes is None or not self.holes[position].any():
            return column
        return column.filter(as_arrow(~self.holes[position]))

    def row_of(self, position: int, number: int) -> int:
        """Row of a cell of `present`."""
        return number if self.holes is None else int(np.flatnonzero(~self.holes[position])[number])


def select(raw: Raw, shape: Shape, options: Options) -> Selected:
    """Select columns by the options, the mapping or their positions."""
    if raw.vertices is not None:
        wanted = shape.arity == 1 if options.vertices is None else options.vertices
        raw = raw.vertices if wanted else raw
        if options.where is not None:
            from kgreason.data.row_conditions import filtered  # imports lark

            raw = filtered(raw, options)
        if wanted and shape.arity == 1 and options.columns is None:
            raw = keyed(raw)
    if not raw.columns:
        return Selected(raw, (), (), np.empty(0, dtype=np.int64), options)
    for name in (*(options.columns or ()), *filter(None, shape.columns)):
        if name not in raw.names and name in raw.extra:
            raw = replace(raw, names=(*raw.names, name), columns=(*raw.columns, raw.extra[name]))
    width = len(raw.columns)
    raw, positions, notes = _chosen(raw, shape, options)
    ones = len(raw.columns) > width and options.weight is None
    columns = each(lambda i: _plain(raw, positions[i], shape.kinds[i]), range(len(positions)), 16 * len(raw))
    if options.normalize:
        from kgreason.data.formats.vertex_names import normal_spelling

        ends = 2 if shape.edge else 1 if shape.node else len(columns)
        columns[:ends] = [normal_spelling(c) if is_text(c) else c for c in columns[:ends]]
    if options.prefix is not None:
        if len(columns) < 2:
            what = f"option prefix is for source and target, and {shape.predicate} takes one column"
            raise DataError(raw.file, what, hint="leave prefix out")
        pairs = zip(options.prefix, columns[:2], strict=True)
        columns[:2] = [joined(prefix, column.cast(pa.large_string())) for prefix, column in pairs]
    names = tuple(raw.names[p] for p in positions)
    selected = Selected(raw, names, tuple(columns), np.arange(len(raw)), options, notes, ones)
    return _present(selected, shape)


def keyed(vertices: Raw) -> Raw:
    """Table of the vertex names only."""
    if vertices.key is None:
        return replace(vertices, names=vertices.names[:1], columns=vertices.columns[:1])
    return replace(vertices, names=vertices.key[:1], columns=vertices.key[1:])


def _plain(raw: Raw, position: int, wanted: Kind | None) -> Column:
    try:
        return plain(raw.columns[position], wanted)
    except CastError as error:
        message = f"{error.value} is not {error.expected}"
        hint = error.hint
        if isinstance(raw.columns[position], Unfit) and hint in (None, UNFIT_HINT):
            hint = f"columns=a,b takes other columns; the file has {', '.join(raw.names[:20])}"
        raise raw.error(error.row, message, raw.names[position], hint) from error


def _chosen(raw: Raw, shape: Shape, options: Options) -> tuple[Raw, list[int], tuple[str, ...]]:
    """Match columns to the arity: add a missing weight, drop surplus columns of graph files."""
    wanted: Sequence[str | None] = shape.columns if options.columns is None else options.columns
    named = any(name is not None for name in wanted)
    width = len(wanted) if options.columns is not None else len(raw.columns)
    # missing weights in an in-memory table are probably an error: the caller can add them
    weightless = raw.graph or (shape.edge and not raw.memory) or options.weight is not None
    if width == 2 and shape.arity == 3 and weightless and (not named or options.columns is not None):
        ends = [position(raw, name) for name in wanted if name is not None] if named else [0, 1]
        raw, notes = _unweighted(raw, shape, options)
        return raw, [*ends, len(raw.names) - 1], notes
    if not named and raw.graph and width > shape.arity >= 2:
        left = ", ".join(raw.names[shape.arity :])
        note = f"{raw.file}: {left} not used, {shape.predicate} has {shape.arity} columns"
        return raw, list(range(shape.arity)), (note,)
    return raw, _positions(raw, shape, wanted), ()


def _unweighted(raw: Raw, shape: Shape, options: Options) -> tuple[Raw, tuple[str, ...]]:
    if raw.attributes:
        carried, first = ", ".join(map(repr, raw.attributes)), raw.attributes[0]
        cure = f"columns=source,target,{first} takes one"
        if raw.memory:
            cure = f"name it so: nx.set_edge_attributes(G, nx.get_edge_attributes(G, {first!r}), 'weight')"
        what = f"edges carry {carried} but no 'weight', and {shape.predicate} has a weight"
        raise DataError(raw.file, what, hint=f"{cure}; or give {shape.predicate} no third argument")
    weight = 1.0 if options.weight is None else options.weight
    column = as_arrow(np.full(len(raw), weight))
    notes = (f"{raw.file}: no weights, so each is 1",) if options.weight is None and len(raw) else ()
    return replace(raw, names=(*raw.names, "weight"), columns=(*raw.columns, column)), notes


def _positions(raw: Raw, shape: Shape, wanted: Sequence[str | None]) -> list[int]:
    arguments = f"{shape.predicate} has {shape.arity} argument{'s' * (shape.arity != 1)}"
    if len(wanted) != shape.arity:
        what = f"{len(wanted)} column{'s' * (len(wanted) != 1)} chosen, but {arguments}"
        raise DataError(raw.file, what, hint="name as many columns as the predicate has arguments")
    if len(raw.names) != shape.arity and any(name is None for name in wanted):
        have = f"{len(raw.names)} column{'s' * (len(raw.names) != 1)}"
        shown = f"{', '.join(raw.names[:12])}{', ...' if len(raw.names) > 12 else ''}"
        what = f"the predicate {arguments} in the rules, the {'table' if raw.memory else 'file'} {have} ({shown})"
        raise DataError(raw.file, what, hint=_choice(raw, shape))
    mapped = shape.locations if wanted is shape.columns else {}
    return [i if name is None else position(raw, name, mapped.get(i)) for i, name in enumerate(wanted)]


def _choice(raw: Raw, shape: Shape) -> str:
    if shape.edge and raw.memory and raw.named and len(raw.names) == 2 and shape.arity == 3:
        return "add the weights as the third column; df.assign(weight=1.0) makes them all 1"
    if len(raw.names) < shape.arity:
        each = f"{shape.predicate} takes one column for each of its {shape.arity} arguments"
        return _delimiter_hint(raw) or each
    if raw.memory:
        chosen = ", ".join(map(repr, raw.names[: shape.arity]))
        rows = f"give rows of {shape.arity} value{'s' * (shape.arity != 1)}"
        return f"choose them, for instance df[[{chosen}]]" if raw.named else rows
    names = raw.names if raw.named else tuple(str(i + 1) for i in range(len(raw.names)))
    return f"choose them, for instance columns={','.join(names[i] for i in _likely(raw, shape))}"


def _likely(raw: Raw, shape: Shape) -> Sequence[int]:
    """Columns to suggest for a predicate; the third of three is usually a number."""
    if shape.arity != 3:
        return range(shape.arity)
    kinds = [_shown_kind(column) for column in raw.columns]
    numbers = [i for i, kind in enumerate(kinds) if kind in (Kind.INT, Kind.DOUBLE)]
    named = [i for i in numbers if _WEIGHT.search(raw.names[i])]
    doubles = [i for i in numbers if kinds[i] is Kind.DOUBLE]
    weight = next(iter((*named, *doubles, *(i for i in numbers if i > 1))), 2)
    names = [i for i, kind in enumerate(kinds) if kind is Kind.STRING and i != weight]
    ends = (*names, *(i for i in range(len(kinds)) if i not in names and i != weight))[:2]
    return (*ends, weight)


def _shown_kind(column: Column) -> Kind | None:
    try:
        values = plain(column[:_SHOWN])
    except CastError:
        return None
    empty = missing(values)
    if empty.all():
        return None
    return infer(values.filter(as_arrow(~empty)))


def _delimiter_hint(raw: Raw) -> str | None:
    """Hint at another delimiter if the only column seems to hold all fields."""
    if raw.memory or len(raw.names) != 1:
        return None
    first = raw.columns[0][:1].to_pylist()[0] if len(raw) and not raw.typed else ""
    return other_delimiter(f"{raw.names[0]}{first}")


def position(raw: Raw, name: str, mapped: str | None = None) -> int:
    """Index of a column given by its name or 1-based number; `mapped` locates the ``@mapping`` that names it."""
    if name in raw.names:
        return raw.names.index(name)
    number = int64(name) if name.isdecimal() else None
    if number is not None and 1 <= number <= len(raw.names):
        return number - 1
    where = f", which @mapping names in {mapped}" if mapped else ""
    hint = _delimiter_hint(raw) or _others(raw, name, mapped=mapped is not None)
    raise DataError(raw.file, f"there is no column {name!r}{where}", hint=hint)


def _others(raw: Raw, name: str, *, mapped: bool) -> str:
    known = [*raw.names, *raw.extra]
    near = suggest(name, known)
    means = f"did you mean {near!r}? " if near else ""
    named = raw.named or raw.extra
    names = f"the columns {', '.join(known[:20])}" if named else f"{len(known)} unnamed columns"
    if raw.memory:
        return f"{means}the table has {names}; df.rename(columns={{...}}) names them as @mapping does"
    if not (named or raw.typed or raw.graph):
        return f"{means}the file has {names}; useHeaders=true takes the first line for their names"
    cure = "name one of them in the @mapping, or " if mapped else ""
    return f"{means}the file has {names}; {cure}columns=a,b takes others"


def _present(selected: Selected, shape: Shape) -> Selected:
    options = selected.options
    if options.missing == "keep":
        filled = tuple(pc.fill_null(c, "") if is_text(c) else c for c in selected.columns)
        selected = selected._replace(columns=filled)
        empty = [missing(c) & (not is_text(c)) for c in filled]
    else:
        blank = not selected.raw.typed or shape.edge or shape.node
        empty = [missing(column, options.null_string, blank=blank) for column in selected.columns]
    holes = np.logical_or.reduce(empty)
    if not holes.any():
        return selected
    if options.missing == "null" and not (shape.edge or shape.node):
        return selected._replace(holes=tuple(empty))
    if options.missing != "skip":
        raise _empty(selected, shape, empty, holes)
    kept = tuple(c.filter(as_arrow(~holes)) for c in selected.columns)
    return selected._replace(columns=kept, rows=selected.rows[~holes], skipped=int(holes.sum()))


def _empty(selected: Selected, shape: Shape, empty: Sequence[Mask], holes: Mask) -> DataError:
    raw, first, count = selected.raw, int(np.argmax(holes)), int(holes.sum())
    hint = "missing=skip leaves such rows out and counts them"
    if raw.memory:
        hint = "df.dropna() leaves such rows out, in Polars df.drop_nulls()"
    if selected.options.missing == "null":
        hint = f"vertices and weights cannot be labelled nulls; {hint}"
    elif not (raw.memory or shape.edge or shape.node):
        hint += "; missing=null takes the cells for labelled nulls"
    if first == 0 and not (raw.named or raw.memory or raw.typed):
        hint = f"if the first line holds names, say useHeaders=true; {hint}"
    what = f"the cell is empty ({count} such row{'s' * (count != 1)})"
    column = next(name for name, cells in zip(selected.names, empty, strict=True) if cells[first])
    return raw.error(int(selected.rows[first]), what, column, hint)
