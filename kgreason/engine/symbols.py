"""Dictionary of strings: each distinct string has a code 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


class Symbols:
    """A growing, append-only dictionary; codes never change.

    Examples
    --------
    >>> symbols = Symbols()
    >>> symbols.encode(["b", "a", "b"]).tolist()
    [0, 1, 0]
    >>> symbols.decode([1, 0])
    ['a', 'b']
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._strings: list[str] = []
        self._ranks: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)  # of the strings so far

    def __len__(self) -> int:
        return len(self._strings)

    def code(self, string: str) -> int:
        """Code of one string, new if need be."""
        found = self._codes.setdefault(string, len(self._strings))
        if found == len(self._strings):
            self._strings.append(string)
        return found

    def encode(self, strings: Iterable[str]) -> npt.NDArray[np.int64]:
        """Code of each string."""
        strings = strings if isinstance(strings, list | tuple) else list(strings)
        codes = self._codes
        for string in dict.fromkeys(strings):
            if string not in codes:
                codes[string] = len(self._strings)
                self._strings.append(string)
        return np.fromiter(map(codes.__getitem__, strings), dtype=np.int64, count=len(strings))

    def decode(self, codes: Iterable[int]) -> list[str]:
        """Strings of the codes."""
        strings = self._strings
        return [strings[c] for c in codes]

    def ranks(self) -> npt.NDArray[np.int64]:
        """Position of each code in the order of strings: ``ranks[a] < ranks[b]`` compares strings."""
        if len(self._ranks) == len(self._strings):
            return self._ranks
        order = np.argsort(np.array(self._strings, dtype=object), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        self._ranks = ranks
        return ranks
