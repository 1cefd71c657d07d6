"""Names of columns that a release may publish: no first line of data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgreason.data.delimited import NUMBER
from kgreason.errors import DataError
from kgreason.graph.io.raw import Raw
from kgreason.records import dataclass


@dataclass(frozen=True)
class Titles:
    """Names of the columns of a predicate, in a table.

    Attributes
    ----------
    doubtful
        They may be data.
    """

    names: tuple[str, ...]
    raw: Raw
    doubtful: bool


_PERCENT = re.compile("%|per ?cent|perc$|pct|prozent|porcent|pourcent|procent", re.IGNORECASE)


def published(found: Sequence[Titles], arity: int) -> tuple[str, ...]:
    """Take the first names that are names beyond doubt; weights, which are shares, are not called percentages.

    Examples
    --------
    >>> read = Raw("own.csv", ("owner", "company", "percent"), (), lambda row: row)
    >>> published([Titles(read.names, read, False)], 3)
    ('owner', 'company', 'share')
    """
    names = next(
        (titles.names for titles in found if not titles.doubtful), ("source", "target", "weight")[:arity]
    )
    if len(names) < 3 or not _PERCENT.search(names[2]):
        return names
    return (*names[:2], next(name for name in ("share", "weight", "value") if name not in names), *names[3:])


def check_titles(titles: Titles, labels: frozenset[str]) -> None:
    """Refuse names that are data: a release would publish them, and would lack their edge.

    Parameters
    ----------
    labels
        Of the vertices, without blanks around them; those that are names of columns will do.

    Raises
    ------
    DataError
        If a name is a vertex or, in a file, a number.
    """
    for name in titles.names:
        what = "a vertex" if name in labels else "a number" if _is_number(name, titles.raw) else None
        if what and titles.raw.title_line is None:
            raise DataError(
                titles.raw.file, f"the column {name!r} has the name of {what}", hint="rename the column"
            )
        if what:
            raise DataError(
                titles.raw.file,
                f"this line was read as the names of the columns, but {name!r} is {what}",
                titles.raw.title_line,
                hint="say useHeaders=false if the line is data; if it is not, rename the column",
            )


def _is_number(name: str, raw: Raw) -> bool:
    """Whether a name is a number; columns of tables in memory are numbered where nobody names them."""
    return not raw.memory and NUMBER.fullmatch(name) is not None
