"""Activations of rules by frontier, isomorphism of frontiers, and nesting of nulls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.rows import Keys, Rows, grown
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.values import Null, Value, ordered

Pattern = tuple[object, tuple[Null, ...]]  # shape, equal for isomorphic frontiers; nulls in order of position


def pattern(values: Sequence[Value]) -> Pattern:
    """Pattern of a frontier."""
    nulls = tuple(null for value in values for null in nulls_in(value))
    names = {null: i for i, null in enumerate(dict.fromkeys(nulls))}
    return tuple(_shape(value, names) for value in values), nulls


def alike(one: Pattern, other: Pattern) -> bool:
    """Whether frontiers are isomorphic and their common nulls have equal positions.

    Examples
    --------
    >>> a, b, c = Null(1), Null(2), Null(3)
    >>> alike(pattern([a, b]), pattern([a, c])), alike(pattern([a, b]), pattern([b, c]))
    (True, False)
    """
    if one[0] != other[0]:
        return False
    common = set(one[1]) & set(other[1])
    return all(a == b for a, b in zip(one[1], other[1], strict=True) if a in common or b in common)


def nulls_in(value: Value) -> Iterator[Null]:
    """Nulls of a value, those within lists and sets included."""
    if isinstance(value, Null):
        yield value
    elif isinstance(value, tuple | frozenset):
        for element in value if isinstance(value, tuple) else ordered(value):
            yield from nulls_in(element)


def _shape(value: Value, names: dict[Null, int]) -> object:
    if isinstance(value, Null):
        return ("null", names[value])
    if isinstance(value, tuple | frozenset):
        elements = value if isinstance(value, tuple) else ordered(value)
        return (type(value).__name__, *(_shape(element, names) for element in elements))
    return (type(value).__name__, value)


OPEN, MADE, SKIPPED = 0, 1, 2
NONE = np.empty(0, dtype=np.int64)
NESTING = (Kind.ANY, Kind.LIST, Kind.SET)  # kinds of columns that can hold nulls


@dataclass(eq=False, repr=False)
class Activations:
    """Activations of one rule, or applications of one Skolem function, by number.

    `name` is the number of the rule or the Skolem function, by which nesting is counted, and `kinds` are those of the
    frontier's columns. An activation is `OPEN` until decided, then `MADE` or `SKIPPED`; `nesting` is that of its nulls,
    and `nulls` has its null by function, -1 where there is none yet. The other attributes are found when needed: shapes
    of the cyclic frontiers, and pattern and isomorphic ancestors of each activation.
    """

    name: int | str
    kinds: tuple[Kind, ...]
    frontiers: Keys = field(init=False)
    state: Codes = field(default_factory=lambda: np.zeros(16, dtype=np.int64))
    nesting: Codes = field(default_factory=lambda: np.zeros(16, dtype=np.int64))
    nulls: dict[str, Codes] = field(default_factory=dict)
    shapes: set[object] = field(default_factory=set)
    patterns: dict[int, Pattern] = field(default_factory=dict)
    above: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frontiers = Keys(len(self.kinds))
        self.nested = [i for i, kind in enumerate(self.kinds) if kind in NESTING]

    def number(self, batch: Rows, functions: Sequence[str]) -> Codes:
        """Number of the activation of each frontier; new frontiers are added."""
        numbers = self.frontiers.number(batch)
        room = len(self.frontiers.rows)
        if room > len(self.state):
            self.state, self.nesting = grown(self.state, room, OPEN), grown(self.nesting, room, 0)
        for function in functions:
            known = self.nulls.get(function)
            if known is None or len(known) < room:
                self.nulls[function] = grown(NONE if known is None else known, room, -1)
        return numbers

    def made(self, function: str, frontiers: Rows) -> Codes:
        """Null of a function for each frontier, -1 where there is none."""
        at = self.frontiers.find(frontiers)
        known = self.nulls.get(function, NONE)
        return np.where(at < 0, -1, known[at]) if len(known) else at * 0 - 1

    @property
    def rows(self) -> Rows:
        """All frontiers, by number."""
        return self.frontiers.rows[: self.frontiers.count]


Name = int | str  # number of a rule, or a Skolem function
# how deep each name is nested in a value, sorted; empty for constants and for nulls of the data
Nesting = tuple[tuple[Name, int], ...]


class Nestings:
    """Nesting of each value by code; equal nestings share a number."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self._all: list[Nesting] = [()]
        self._numbers: dict[Nesting, int] = {(): 0}
        self._of: Codes = np.empty(0, dtype=np.int64)  # nesting number of each code, -1 while unknown
        self._found: dict[tuple[Name, tuple[int, ...]], tuple[int, int]] = {}

    def record(self, codes: Codes, numbers: Codes) -> None:
        """Record the nestings of new nulls."""
        self._reserve(int(codes.max()) + 1 if len(codes) else 0)
        self._of[codes] = numbers

    def around(self, name: Name, arguments: Rows) -> tuple[Codes, Codes]:
        """Nesting depth of a name in each row of arguments, and the nesting number of a null with these arguments."""
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
        """Whether no name is nested in itself, for nestings given by number."""
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
        """Nesting of a value other than a null of this evaluation: lists and sets can contain such nulls."""
        if not isinstance(value, tuple | frozenset):
            return 0
        codes = [self.symbols.intern(null) for null in nulls_in(value)]
        self._reserve(len(self.symbols))
        return self._number(self._deepest(max(0, int(self._of[code])) for code in codes))

    def _reserve(self, codes: int) -> None:
        if codes > len(self._of):
            self._of = grown(self._of, max(codes, 2 * len(self._of)), -1)
