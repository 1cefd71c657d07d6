"""Bounds: on evaluation, where values would grow for ever, and on updates, where it is quicker to evaluate anew."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one evaluation.

    Attributes
    ----------
    rounds
        Most rounds of a stratum that makes new values (by arithmetic or aggregation) in recursion. Strata
        that only move values around end by themselves and have no bound.
    growth
        A double of a keyed predicate that improves by at most this fraction is stored but not propagated again.
    patience
        Rounds before `growth` comes into force: what ends by itself keeps its last bit.
    depth
        How often a null may be nested in nulls of the same existential variable where the rules are not
        warded; what would go deeper is left out, with a warning. Warded rules have no bound: they end without
        losing answers.
    cyclic
        Most activations that nest a null in one of the same rule, besides two for each that does not, where rules
        are not warded or have harmful joins: many atoms that join through nulls, over nulls that branch, can
        need very many. What would go beyond is left out, with a warning.
    length
        By how many elements, those within elements too, a list or set that a recursive rule computes may exceed
        twice the longest that was there before; strings by characters, counted by the ten. Rules that make longer
        ones are taken to grow for ever.
    restarts
        How often unified nulls may make the evaluation start again after a run that made new nulls.
    memory
        Bytes that the process may hold; by default what is free when the work begins.

    Examples
    --------
    >>> Limits(rounds=50).growth
    1e-12
    """

    rounds: int = 100_000
    growth: float = 1e-12
    patience: int = 1000
    depth: int = 3
    cyclic: int = 1000
    length: int = 2_000
    restarts: int = 1000
    memory: int | None = None


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
