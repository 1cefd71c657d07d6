"""Symbol table: dictionary coding of strings and of all other values without an int64 representation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
import numpy.typing as npt

from kgreason.base.arrays import ArrowArray, as_arrow, as_numpy, pa, pc, strings
from kgreason.language.values import Null, Value, as_double


class Symbols:
    """Append-only symbol table; codes are 0, 1, 2, ... and never change.

    Loaded strings (`load`) remain in Arrow arrays until they are needed as Python objects.

    Strings have fast methods (`code`, `encode`, `decode`); values of any type, strings included, go through `intern`
    and `values`. 1 and 1.0 have different codes, and so have [1] and [1.0]; columns of kind ANY, where 1 and 1.0 are
    one value, hold the code of the integer (`unified`).

    Examples
    --------
    >>> symbols = Symbols()
    >>> symbols.encode(["b", "a", "b"]).tolist()
    [0, 1, 0]
    >>> symbols.decode([1, 0])
    ['a', 'b']
    >>> [symbols.intern(v) for v in ("a", 1, True, 1.0, (1, "a"))]
    [1, 2, 3, 4, 5]
    >>> symbols.unified(np.array([1, 4])).tolist()
    [1, 2]
    """

    def __init__(self) -> None:
        self._texts: ArrowArray = None  # strings of the first `_loaded` codes
        self._loaded = 0
        self._list: list[Value] = []  # values of the first codes, at least those that are not in `_texts`
        self._dict: dict[Hashable, int] = {}  # codes of the first values of `_list`
        self._ranks: Codes = np.empty(0, dtype=np.int64)  # ranks of the values so far
        self._mixed = False  # whether there are values other than strings
        self._whole: dict[int, int] = {}  # code of each double that equals an integer -> code of the integer
        self.calls: dict[Hashable, Value] = {}  # results of user-defined functions, by function and arguments

    def __getstate__(self) -> dict[str, Any]:
        """State for another process: strings in an Arrow array, if there are no other values."""
        state = vars(self) | {"_dict": {}, "_ranks": self._ranks[:0], "calls": {}}
        if not self._mixed and len(self):
            texts = self._texts if len(self) == self._loaded else strings(self.decode(range(len(self))))
            state |= {"_texts": texts, "_loaded": len(texts), "_list": []}
        return state

    def __len__(self) -> int:
        return max(self._loaded, len(self._list))

    @property
    def loaded(self) -> bool:
        """Whether the table has strings of Arrow arrays."""
        return self._loaded > 0

    @property
    def _values(self) -> list[Value]:
        """All values by code; loaded strings become Python objects at the first access."""
        if len(self._list) < self._loaded:
            self._list = [*self._list, *self._texts.slice(len(self._list)).to_pylist()]
        return self._list

    @property
    def _codes(self) -> dict[Hashable, int]:
        """All codes by value, created at the first lookup."""
        known, count = len(self._dict), len(self)
        if known < count:
            new = self._values[known:]
            self._dict.update(zip(map(form, new) if self._mixed else new, range(known, count), strict=True))
        return self._dict

    def code(self, string: str) -> int:
        """Code of one string, added if it is new."""
        count = len(self)
        found = self._codes.setdefault(string, count)
        if found == count:
            self._list.append(string)
        return found

    def known(self, value: Hashable) -> bool:
        """Whether a string or a null has a code."""
        return value in self._codes

    def encode(self, strings: Iterable[str]) -> Codes:
        """Codes of strings; new ones are added."""
        strings = strings if isinstance(strings, list | tuple) else list(strings)
        if not strings:
            return np.empty(0, dtype=np.int64)
        codes, values = self._codes, self._values
        for string in dict.fromkeys(strings):
            if string not in codes:
                codes[string] = len(values)
                values.append(string)
        return np.fromiter(map(codes.__getitem__, strings), dtype=np.int64, count=len(strings))

    def load(self, texts: Sequence[ArrowArray]) -> Codes:
        """Codes of the strings in Arrow arrays of large strings, without creating Python objects."""
        count = self._loaded
        if not count and self._list and not self._mixed:
            self._texts, count = strings(self.decode(range(len(self)))), len(self)
        elif count < len(self._list):  # some codes are of values outside the Arrow array
            return self.encode([string for some in texts for string in some.to_pylist()])
        parts = [self._texts, *texts] if count else texts
        encoded = pa.chunked_array(parts, pa.large_string()).dictionary_encode().unify_dictionaries()
        if not encoded.num_chunks:
            return np.empty(0, dtype=np.int64)
        self._texts = encoded.chunk(0).dictionary
        self._loaded = len(self._texts)
        codes = np.empty(len(encoded), dtype=np.int64)
        np.concatenate([as_numpy(chunk.indices) for chunk in encoded.chunks], out=codes)
        return codes[count:]

    def texts(self, codes: Codes) -> ArrowArray:
        """Strings with the given codes, as an Arrow array."""
        if len(codes) and codes.max() < self._loaded:
            return self._texts.take(as_arrow(codes))
        used, where = np.unique(codes, return_inverse=True)
        return strings(self.decode(used.tolist())).take(as_arrow(where))

    def decode(self, codes: Iterable[int]) -> list[str]:
        """Strings with the given codes."""
        return self.values(codes)  # type: ignore[return-value]

    def intern(self, value: Value) -> int:
        """Code of any value, added if it is new."""
        if isinstance(value, str):
            return self.code(value)
        if isinstance(value, frozenset | tuple):
            value = tidy(value)
        name = form(value)
        found = self._codes.get(name)
        if found is None:
            value = tidy(value)
            found = self._dict[name] = len(self._list)
            self._list.append(value)
            self._mixed = True
            if isinstance(value, float) and isinstance(whole(value), int):
                self._whole[found] = self.intern(whole(value))
        return found

    def recoded(self, codes: Codes, other: Symbols) -> Codes:
        """Codes in this table of values that are coded by another one."""
        return once_each(codes, lambda found: [self.intern(v) for v in other.values(found.tolist())])

    def unified(self, codes: Codes) -> Codes:
        """The codes, with each double that equals an integer replaced by the integer."""
        if not self._whole or not np.isin(codes, list(self._whole)).any():
            return codes
        return once_each(codes, lambda found: [self._whole.get(c, c) for c in found.tolist()])

    def doubled(self, codes: Codes) -> Codes:
        """The codes, with each integer replaced by the equal double."""
        return once_each(codes, lambda found: list(map(self.intern, to_doubles(self.values(found.tolist())))))

    def nulls(self, first: int, count: int) -> Codes:
        """Codes of `count` nulls, numbered from `first`."""
        made = [Null(number) for number in range(first, first + count)]
        start = len(self)
        if not self._codes.keys().isdisjoint(made):  # another evaluation had nulls with these numbers
            return np.fromiter(map(self.intern, made), dtype=np.int64, count=count)
        self._dict.update(zip(made, range(start, start + count), strict=True))
        self._list.extend(made)
        self._mixed = True
        return np.arange(start, start + count, dtype=np.int64)

    def value(self, code: int) -> Value:
        """Value of a code."""
        return self._values[code]

    def values(self, codes: Iterable[int]) -> list[Value]:
        """Values with the given codes."""
        values = self._values
        return [values[c] for c in codes]

    def ranks(self) -> Codes:
        """Rank of each code in the order of strings: ``ranks[a] < ranks[b]`` compares strings.

        Values of different types, and values without an order, are ordered by `rank`.
        """
        if len(self._ranks) == len(self):
            return self._ranks
        if self._mixed:
            order = np.array(sorted(range(len(self)), key=lambda c: rank(self._values[c])), dtype=np.int64)
        elif len(self) == self._loaded:
            order = as_numpy(pc.sort_indices(self._texts))  # the order of UTF-8 bytes is that of characters
        else:
            order = np.argsort(np.array(self._values, dtype=object), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        self._ranks = ranks
        return ranks


def once_each(codes: Codes, function: Callable[[Codes], Sequence[int]]) -> Codes:
    """Replace codes by the results of a function, which gets the distinct codes."""
    found, which = np.unique(codes, return_inverse=True)
    return np.array(function(found), dtype=np.int64)[which].reshape(codes.shape)


def key(value: Value) -> Hashable:
    """Hashable that is the same for equal values: 1 equals 1.0; 1 differs from ``#T``, and [1] from [1.0].

    Examples
    --------
    >>> key(1) == key(1.0), key(1) == key(True), key((1,)) == key((1.0,)), key(frozenset({2})) == key((2,))
    (True, False, False, False)
    """
    return form(whole(value))


def form(value: Value) -> Hashable:
    """Hashable that is the same for identical values: 1 and 1.0 differ."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, float):
        return ("double", value + 0.0)
    if isinstance(value, tuple):
        return ("list", *map(form, value))
    if isinstance(value, frozenset):
        return ("set", frozenset(map(form, value)))
    return value if isinstance(value, datetime) else _midnight(value)


def whole(value: Value) -> Value:
    """The integer equal to a double if there is one of 64 bits; any other value unchanged."""
    if isinstance(value, float) and value.is_integer() and -(2.0**63) <= value < 2.0**63:
        return int(value)
    return value


def to_doubles(values: Sequence[Value]) -> list[Value]:
    """Replace integers by doubles; InexactError for an integer that no double represents."""
    return [as_double(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in values]


def tidy(value: Value) -> Value:
    """Normal form of a value: days become dates at midnight and -0.0 becomes 0.0, also within lists and sets.

    Integers become doubles in a set that also holds doubles. Raises TypeError for a value outside the rule language.
    """
    if isinstance(value, tuple):
        return tuple(map(tidy, value))
    if isinstance(value, frozenset):
        elements = list(map(tidy, value))
        return frozenset(to_doubles(elements) if any(isinstance(v, float) for v in elements) else elements)
    if isinstance(value, float):
        return value + 0.0
    value = _midnight(value)
    if not isinstance(value, int | str | datetime | Null) or (
        isinstance(value, datetime) and value.tzinfo is not None
    ):
        raise TypeError(f"{value!r} is no value of the rule language")
    return value


def rank(value: Value) -> tuple[object, ...]:
    """Sort key for values of all types: booleans, dates, lists, nulls, numbers, sets, strings.

    Examples
    --------
    >>> sorted([Null(1), "b", 2.5, (1,), "a", 1, True], key=rank)
    [True, (1,), Null(number=1), 1, 2.5, 'a', 'b']
    """
    if isinstance(value, bool):
        return (0, value)
    if isinstance(value, int | float):
        return (4, value, isinstance(value, float))
    if isinstance(value, tuple):
        return (2, tuple(map(rank, value)))
    if isinstance(value, frozenset):
        return (5, tuple(sorted(map(rank, value))))
    if isinstance(value, Null):
        return (3, value.number)
    return (6, value) if isinstance(value, str) else (1, value)


def _midnight(value: Value) -> Value:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


Codes = npt.NDArray[np.int64]
