"""Edges as read: reversal, scaling, and checks of weights and column names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import DataError
from kgreason.base.progress import Progress
from kgreason.base.records import record
from kgreason.data.formats.delimited import NUMBER
from kgreason.data.raw_table import Raw
from kgreason.engine.relations.symbols import Codes, Symbols

Weights = npt.NDArray[np.float64]

_PERCENT = re.compile("%|per ?cent|perc$|pct|prozent|porcent|pourcent|procent", re.IGNORECASE)
_HALF = float(np.finfo(np.float64).max) / 2


@record
class Rows:
    """Typed rows: codes by column, the source table, and the row number in it of each row (int64)."""

    columns: tuple[Codes, ...]
    raw: Raw
    rows: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: npt.NDArray[np.bool_]) -> Rows:
        """Keep the rows selected by a mask."""
        return Rows(tuple(c[keep] for c in self.columns), self.raw, self.rows[keep])


def both_ways(rows: Rows, *, every: bool) -> Rows:
    """Append the reverse of undirected edges (of `every` edge), except self-loops."""
    mark = rows.columns[0] != rows.columns[1]
    if not every and rows.raw.undirected is not None:
        mark &= rows.raw.undirected[rows.rows]
    back = rows.take(mark)
    reverse = (back.columns[1], back.columns[0], *back.columns[2:])
    columns = tuple(np.concatenate(pair) for pair in zip(rows.columns, reverse, strict=True))
    return Rows(columns, rows.raw, np.concatenate([rows.rows, back.rows]))


def scaled(weights: npt.NDArray[np.float64], scale: str) -> npt.NDArray[np.float64]:
    """Scale weights to [0,1]; if all are equal, ``minmax`` maps them to 1.

    >>> scaled(np.array([-10.0, 5.0]), "abs").tolist(), scaled(np.array([-10.0, 5.0, -4.0]), "minmax").tolist()
    ([1.0, 0.5], [0.0, 1.0, 0.4])
    >>> scaled(np.array([-1e308, 1e308, 0.0]), "minmax").tolist()
    [0.0, 1.0, 0.5]
    """
    if not len(weights):
        return weights
    if scale == "abs":
        size = np.abs(weights)
        top = float(size.max())
        return size / top if top else size
    if np.abs(weights).max() > _HALF:
        weights = weights / 2  # avoids overflow of max - min
    low, high = float(weights.min()), float(weights.max())
    return np.ones_like(weights) if low == high else (weights - low) / (high - low)


def check_range(
    edge: str,
    parts: Sequence[Rows],
    stated: Weights,
    spans: Sequence[str],
    progress: Progress,
    *,
    strict: bool,
) -> None:
    """Check that all weights are in [0,1]; unless `strict`, weights outside are not an error, but reported.

    The weights `stated` in the rule file have the locations `spans`.
    """
    outside, error, value = 0, None, 0.0
    for rows in (*parts, None):
        weights = stated if rows is None else rows.columns[2].view(np.float64)
        odd = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
        outside += len(odd)
        if error is None and len(odd):
            value = float(weights[odd[0]])
            message = f"the weight {value:g} of {edge} is outside [0,1]"
            error = _error(rows, odd) if rows is not None else DataError(spans[odd[0]], message)
    if error is None:
        return
    if strict:
        raise error
    total = sum(map(len, parts)) + len(stated)
    where = error.file if error.line is None else f"{error.file}:{error.line}"
    help = f" ({error.hint})" if error.hint else ""
    progress.note(
        f"{edge}: {outside:,} of {total:,} weights lie{'s' * (outside == 1)} outside [0,1], "
        f"the first, {value:g}, in {where}; reasoning takes them as they are, anonymizing refuses them{help}"
    )


def _error(rows: Rows, odd: npt.NDArray[np.int64]) -> DataError:
    raw, weights = rows.raw, rows.columns[2].view(np.float64)
    first = weights[odd[0]]
    shown = f"{first * 100:g} percent" if raw.percent else f"{first:g}"
    what = f"the weight {shown} is outside [0,1] ({len(odd)} such row{'s' * (len(odd) != 1)})"
    column = raw.names[2] if len(raw.names) == 3 else None
    hint = _remedy(weights, memory=raw.memory, percent=raw.percent)
    return raw.error(int(rows.rows[odd[0]]), what, column, hint)


def _remedy(weights: Weights, *, memory: bool, percent: bool) -> str:
    """Hint: correct a few outliers; scale if most weights lie outside [0,1]."""
    if percent:
        other = "" if memory else ", or say scale=abs (or scale=minmax) in place of percent"
        return f"percentages lie between 0 and 100: correct these rows{other}"
    odd = ~((weights >= 0) & (weights <= 1))
    most = 2 * odd.sum() > len(weights)
    percentages = weights.min() >= 0 and 2 <= weights.max() <= 100
    if percentages and most:
        return "divide percentages by 100" if memory else "percent=true divides by 100"
    if weights.min() >= 0 and weights.max() < 2:
        return "shares are at most 1: correct these rows"
    scale = "scale=abs (or scale=minmax) brings them to [0,1]"
    other = "divide by the greatest absolute weight" if memory else scale
    if most:
        return other
    return f"shares lie between 0 and 1: correct these rows; if the weights are no shares, {other}"


def note_parallel(edge: str, columns: Sequence[Codes], progress: Progress) -> None:
    """Report the number of vertex pairs with several weights; rows of `columns` are distinct."""
    source, target = columns[:2]
    numbers = np.sort(source * (target.max(initial=0) + 1) + target)
    same = numbers[1:] == numbers[:-1]
    pairs = len(np.unique(numbers[1:][same]))
    if not pairs:
        return
    progress.note(
        f"{edge}: {pairs:,} pair{'s have' if pairs > 1 else ' has'} several weights; "
        "msum(W, <Y>) counts the greatest of a contributor"
    )


def note_sums(
    edge: str, bound: float | None, target: Codes, weights: Weights, symbols: Symbols, progress: Progress
) -> None:
    """Report vertices whose incoming weights sum to more than ``@incoming_sum`` allows."""
    if bound is None or not len(target):
        return
    sums = np.bincount(target, weights=weights)
    high = sums > bound * (1 + 1e-9)
    above = int(high.sum())
    if above:
        most = symbols.decode([int(np.argmax(sums))])[0]
        edges, into = int(high[target].sum()), float(sums[high].sum())
        progress.note(
            f"warning: {edge}: the incoming weights of {above:,} vert{'ices sum' if above > 1 else 'ex sum'} "
            f"to more than {bound:g}, most at {most!r}: {sums.max():.6g}; reasoning takes them as they are, "
            f"anonymizing draws new ones within the bound: {edges:,} of {len(target):,} edges get less weight, "
            f"{1 - bound * above / into:.0%} less or more in the mean, and answers that depend on it are lost, "
            "which U counts"
        )


class Titles(NamedTuple):
    """Column names of a predicate in a table; if `doubtful`, they may be data.

    `file`, `line` and `memory` are those of the `Raw` table, which is not held for them.
    """

    names: tuple[str, ...]
    file: str
    line: int | None
    memory: bool
    doubtful: bool

    @classmethod
    def of(cls, names: tuple[str, ...], raw: Raw, *, doubtful: bool = False) -> Titles:
        """Names of columns of a table."""
        return cls(names, raw.file, raw.title_line, raw.memory, doubtful)


def published(found: Sequence[Titles], arity: int) -> tuple[str, ...]:
    """First undoubted column names; a percentage column of weights is renamed to ``share``.

    >>> read = Raw("own.csv", ("owner", "company", "percent"), (), lambda row: row)
    >>> published([Titles.of(read.names, read)], 3)
    ('owner', 'company', 'share')
    """
    names = next(
        (titles.names for titles in found if not titles.doubtful), ("source", "target", "weight")[:arity]
    )
    if len(names) < 3 or not _PERCENT.search(names[2]):
        return names
    return (*names[:2], next(name for name in ("share", "weight", "value") if name not in names), *names[3:])


def check_titles(titles: Titles, labels: frozenset[str]) -> None:
    """Check that column names are not data: a release would publish them and lack their edge.

    A name must not be a vertex or, in a file, a number. `labels` are the vertex labels, without surrounding blanks, or
    those of them that equal a column name.
    """
    for name in titles.names:
        number = not titles.memory and NUMBER.fullmatch(name)  # default names of columns in memory
        what = "a vertex" if name in labels else "a number" if number else None
        file, line = titles.file, titles.line
        if what and line is None:
            raise DataError(file, f"the column {name!r} has the name of {what}", hint="rename the column")
        if what:
            what = f"this line was read as the names of the columns, but {name!r} is {what}"
            hint = "say useHeaders=false if the line is data; if it is not, rename the column"
            raise DataError(file, what, line, hint=hint)
