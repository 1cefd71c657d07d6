"""How much an update may do before it is quicker to evaluate everything anew."""

from __future__ import annotations

from math import inf

SHARE = 24
"""An update may handle one row for so many facts: a row costs it as much as many facts cost an evaluation."""

LEAST = 1 << 10
"""Rows that it may handle however few facts there are."""

JOINED = 4
"""Rows that a join finds, known ones among them, for what one row costs."""

ANEW = 4
"""Facts of a stratum that is derived anew, and compared, for what one row costs."""


class Costly(Exception):
    """An update does more than it may."""


PART = 8
"""An edit of more than one in so many given facts is no update."""


def small(rows: int, given: int) -> bool:
    """Whether an edit of some rows among given facts may be an update.

    Examples
    --------
    >>> small(100, 0), small(10_000, 20_000)
    (True, False)
    """
    return rows <= (LEAST + given) // PART


class Work:
    """What is left of the work that an update may do.

    Examples
    --------
    >>> work = Work()
    >>> work.begin(0)
    >>> work.pay(1000)
    >>> work.left
    24
    """

    def __init__(self) -> None:
        self.left: float = inf

    def begin(self, facts: int) -> None:
        """Begin an update of so many facts, given and derived."""
        self.left = LEAST + facts // SHARE

    def pay(self, rows: int) -> None:
        """Account for the work of handling some rows.

        Raises
        ------
        Costly
            If that is more than what is left.
        """
        self.left -= rows
        if self.left < 0:
            raise Costly
