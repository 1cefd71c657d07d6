"""What is odd about the cells of a column although each of them is read."""

from __future__ import annotations

from collections.abc import Sequence

from kgreason.cores import each
from kgreason.engine.table import Kind
from kgreason.graph.io.select import Selected, Shape
from kgreason.graph.io.values import is_text


def remarks(table: Selected, kinds: Sequence[Kind], shape: Shape) -> tuple[str, ...]:
    """Say of each column which cells may not mean what they say.

    Parameters
    ----------
    kinds
        Of the values at each position.
    """
    if not table.columns:
        return ()

    def remark(position: int) -> str | None:
        if kinds[position] is Kind.STRING:
            return _padded(table, position)
        return _percentages(table, position, shape) if kinds[position] is Kind.DOUBLE else None

    return tuple(note for note in each(remark, range(len(kinds))) if note)


def _padded(table: Selected, position: int) -> str | None:
    """Names with blanks around them, which are other names than those without."""
    import pyarrow.compute as pc

    column = table.present(position)
    if not is_text(column):
        return None
    padded = pc.or_(pc.starts_with(column, " "), pc.ends_with(column, " "))
    if not pc.any(padded).as_py():
        return None
    names = pc.unique(column.filter(padded))
    one = len(names) == 1
    count = "1 name begins or ends" if one else f"{len(names):,} names begin or end"
    first = names[0].as_py()
    where = "table" if table.raw.memory else "file"
    return (
        f"{table.raw.file}: column {table.names[position]!r}: {count} with a blank, as {first!r} does, and "
        f"stay{'s' * one} as written; if {first.strip()!r} is meant, take the blanks out of the {where}"
    )


def _percentages(table: Selected, position: int, shape: Shape) -> str | None:
    """Percentages and plain numbers in one column, where nothing says that all are percentages."""
    import pyarrow.compute as pc

    column = table.present(position)
    stated = position in shape.percent or (table.percent and position == shape.arity - 1)
    if stated or not is_text(column):
        return None
    marked = pc.sum(pc.ends_with(pc.ascii_rtrim_whitespace(column), "%")).as_py() or 0
    plain = len(column) - marked
    if not marked or not plain:
        return None
    last = position == shape.arity - 1
    mapping = f'@mapping("{shape.predicate}", {position}, "{table.names[position]}", "percent")'
    cure = "percent=true" if last and not table.raw.memory else mapping
    return (
        f"{table.raw.file}: column {table.names[position]!r} mixes {marked:,} number{'s' * (marked > 1)} with % and "
        f"{plain:,} without: the former are divided by 100, the latter stay; {cure} divides all"
    )
