"""What the weights of edges are held to: the range [0,1], the sums per target, one weight for a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Codes
from kgreason.errors import DataError
from kgreason.graph.io.edges import Rows
from kgreason.progress import Progress

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Written:
    """Weighted edges of one predicate that stand in the rule file, with the place of each."""

    weights: Weights
    spans: Sequence[str]


def check_range(
    edge: str, parts: Sequence[Rows], written: Written, progress: Progress, *, strict: bool
) -> None:
    """See whether all weights are in [0,1].

    Parameters
    ----------
    strict
        Whether another weight is an error; else its number is noted.

    Raises
    ------
    DataError
        At the first weight outside.
    """
    errors = [_outside(rows) for rows in parts]
    errors.append(_outside_written(edge, written))
    found = [(error, count) for error, count in errors if error is not None]
    if not found:
        return
    error = found[0][0]
    if strict:
        raise error
    value = f"{_first_odd(parts, written):g}"
    total = sum(map(len, parts)) + len(written.weights)
    outside = sum(count for _, count in found)
    where = error.file if error.line is None else f"{error.file}:{error.line}"
    help = f" ({error.hint})" if error.hint else ""
    progress.note(
        f"{edge}: {outside:,} of {total:,} weights lie{'s' * (outside == 1)} outside [0,1], "
        f"the first, {value}, in {where}; reasoning takes them as they are, anonymizing refuses them{help}"
    )


def _first_odd(parts: Sequence[Rows], written: Written) -> float:
    weights = np.concatenate([*(rows.columns[2].view(np.float64) for rows in parts), written.weights])
    return float(weights[~((weights >= 0) & (weights <= 1))][0])


def _outside(rows: Rows) -> tuple[DataError | None, int]:
    weights = rows.columns[2].view(np.float64)
    odd = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
    if not len(odd):
        return None, 0
    name = rows.raw.names[2] if len(rows.raw.names) == 3 else None
    first = weights[odd[0]]
    written = f"{first * 100:g} percent" if rows.raw.percent else f"{first:g}"
    error = rows.raw.error(
        int(rows.rows[odd[0]]),
        f"the weight {written} is outside [0,1] ({len(odd)} such row{'s' * (len(odd) != 1)})",
        name,
        _remedy(weights, memory=rows.raw.memory, percent=rows.raw.percent),
    )
    return error, len(odd)


def _remedy(weights: Weights, *, memory: bool, percent: bool) -> str:
    """Advise to correct a few weights, as they are mistakes; and to scale only if most are on another scale."""
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
    other = (
        "divide by the greatest absolute weight"
        if memory
        else "scale=abs (or scale=minmax) brings them to [0,1]"
    )
    if most:
        return other
    return f"shares lie between 0 and 1: correct these rows; if the weights are no shares, {other}"


def _outside_written(edge: str, written: Written) -> tuple[DataError | None, int]:
    odd = np.flatnonzero(~((written.weights >= 0) & (written.weights <= 1)))
    if not len(odd):
        return None, 0
    message = f"the weight {written.weights[odd[0]]:g} of {edge} is outside [0,1]"
    return DataError(written.spans[odd[0]], message), len(odd)


def tell_parallel(edge: str, columns: Sequence[Codes], progress: Progress) -> None:
    """Say how many pairs of vertices have several weights; the rows of `columns` are distinct."""
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


def tell_sums(
    edge: str, bound: float | None, target: Codes, weights: Weights, symbols: Symbols, progress: Progress
) -> None:
    """Say where the weights of incoming edges sum to more than ``@incoming_sum`` allows."""
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
            f"{1 - bound * above / into:.0%} less or more in the mean, and answers that hang on it are lost"
        )
