"""What is nested in a null: each rule and Skolem function, and how deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from kgreason.engine.frontiers import nulls_in
from kgreason.engine.rows import Rows, grown
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Codes
from kgreason.lang.values import Value

Name = int | str
"""Number of a rule, or a Skolem function."""

Nesting = tuple[tuple[Name, int], ...]
"""How deep each name is nested in a value, sorted; empty for constants and for nulls of the data."""


class Nestings:
    """Nesting of every value, by code; equal ones have one number.

    Examples
    --------
    >>> nestings = Nestings(Symbols())
    >>> levels, numbers = nestings.around("#f", np.empty((1, 0), dtype=np.int64))
    >>> nestings.record(np.array([0]), numbers)  # code 0 is #f()
    >>> nestings.around("#f", np.array([[0]]))[0].tolist()  # within #f(#f()) it is nested once already
    [1]
    """

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self._all: list[Nesting] = [()]
        self._numbers: dict[Nesting, int] = {(): 0}
        self._of: Codes = np.empty(0, dtype=np.int64)  # number for each code, -1 where it is not known yet
        self._found: dict[tuple[Name, tuple[int, ...]], tuple[int, int]] = {}

    def record(self, codes: Codes, numbers: Codes) -> None:
        """Say how new nulls are nested."""
        self._reserve(int(codes.max()) + 1 if len(codes) else 0)
        self._of[codes] = numbers

    def level(self, name: Name, arguments: Rows) -> Codes:
        """How deep a name is nested in each row of arguments.

        Examples
        --------
        >>> nestings = Nestings(Symbols())
        >>> nestings.record(np.array([0]), nestings.around("#f", np.empty((1, 0), dtype=np.int64))[1])
        >>> nestings.level("#f", np.array([[0, 0]])).tolist(), nestings.level("#g", np.array([[0, 0]])).tolist()
        ([1], [0])
        """
        inside = self._look_up(arguments)
        depths = np.array([dict(nesting).get(name, 0) for nesting in self._all], dtype=np.int64)
        levels: Codes = depths[inside].max(axis=1, initial=0)
        return levels

    def around(self, name: Name, arguments: Rows) -> tuple[Codes, Codes]:
        """How deep a name is nested in each row of arguments, and the number of the nesting of a null made of it."""
        if not arguments.shape[1]:
            level, number = self._around(name, ())
            return np.full(len(arguments), level), np.full(len(arguments), number)
        inside = self._look_up(arguments)
        if inside.shape[1] == 1:
            distinct, which = np.unique(inside[:, 0], return_inverse=True)
            distinct = distinct[:, None]
        else:
            distinct, which = np.unique(inside, axis=0, return_inverse=True)
        found = np.array([self._around(name, tuple(row)) for row in distinct.tolist()], dtype=np.int64)
        both = found[which.ravel()]
        return both[:, 0], both[:, 1]

    def flat(self, numbers: Codes) -> npt.NDArray[np.bool_]:
        """Whether nothing is nested in itself, in nestings given by number.

        Examples
        --------
        >>> nestings = Nestings(Symbols())
        >>> once = nestings.around("#f", np.empty((1, 0), dtype=np.int64))[1]
        >>> nestings.record(np.array([0]), once)
        >>> twice = nestings.around("#f", np.array([[0]]))[1]
        >>> nestings.flat(np.concatenate((once, twice))).tolist()
        [True, False]
        """
        flat = np.array([all(depth == 1 for _, depth in nesting) for nesting in self._all])
        among: npt.NDArray[np.bool_] = flat[numbers]
        return among

    def _around(self, name: Name, inside: tuple[int, ...]) -> tuple[int, int]:
        found = self._found.get((name, inside))
        if found is None:
            depths = self._deepest(inside)
            level = depths.get(name, 0)
            found = self._found[name, inside] = (level, self._number({**depths, name: level + 1}))
        return found

    def _deepest(self, numbers: Iterable[int]) -> dict[Name, int]:
        depths: dict[Name, int] = {}
        for number in numbers:
            for name, depth in self._all[number]:
                depths[name] = max(depths.get(name, 0), depth)
        return depths

    def _number(self, depths: Mapping[Name, int]) -> int:
        nesting = tuple(sorted(depths.items(), key=str))
        number = self._numbers.setdefault(nesting, len(self._all))
        if number == len(self._all):
            self._all.append(nesting)
        return number

    def _look_up(self, codes: Rows) -> Rows:
        self._reserve(len(self.symbols))
        unknown = np.unique(codes[self._of[codes] < 0])
        if len(unknown):
            self._of[unknown] = [self._of_value(value) for value in self.symbols.values(unknown.tolist())]
        return self._of[codes]

    def _of_value(self, value: Value) -> int:
        """Nesting of a value that is no null of ours: only lists and sets can hold some."""
        if not isinstance(value, tuple | frozenset):
            return 0
        codes = [self.symbols.intern(null) for null in nulls_in(value)]
        self._reserve(len(self.symbols))
        return self._number(self._deepest(max(0, int(self._of[code])) for code in codes))

    def _reserve(self, codes: int) -> None:
        if codes > len(self._of):
            self._of = grown(self._of, max(codes, 2 * len(self._of)), -1)
