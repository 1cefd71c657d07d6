"""Current outputs of a `kgreason.Reasoner` and the changes made by an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgreason.engine.incremental.maintenance import Evaluated, Maintained, apart
from kgreason.engine.post_processing import apply_posts
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.language.values import identity
from kgreason.reasoning.results import no_output

if TYPE_CHECKING:
    from kgreason.engine.relations.symbols import Symbols
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value


Row = tuple["Value", ...]


class Outputs:
    """Output facts after ``@post`` operations, computed per predicate on first access."""

    def __init__(self, state: Evaluated | Maintained, program: CheckedProgram, symbols: Symbols) -> None:
        self._state = state
        self._program = program
        self._symbols = symbols
        self._tables: dict[str, Table] = {}

    def held_by(self, state: Evaluated | Maintained) -> Outputs:
        """Outputs bound to another state that holds the same facts."""
        made = Outputs(state, self._program, self._symbols)
        made._tables.update(self._tables)
        return made

    def table(self, predicate: str) -> Table:
        """Facts of an output predicate."""
        found = self._tables.get(predicate)
        if found is None:
            raw = Facts({predicate: self._state.table(predicate)}, self._symbols)
            found = self._tables[predicate] = apply_posts(self._program, raw).tables[predicate]
        return found

    def forget(self, predicate: str) -> Table | None:
        """Remove and return the cached facts of a predicate whose facts have changed."""
        return self._tables.pop(predicate, None)


def compared(before: Table, after: Table, symbols: Symbols) -> tuple[Table, Table]:
    """Facts that are only in the second table, and those only in the first; 1 and 1.0 are different values."""
    return apart(after, before, symbols, identity), apart(before, after, symbols, identity)


class Difference:
    """Added and removed output facts by predicate, computed once, on first access."""

    def __init__(self, find: Callable[[], Mapping[str, tuple[Table, Table]]], symbols: Symbols) -> None:
        self._find: Callable[[], Mapping[str, tuple[Table, Table]]] | None = find
        self.symbols = symbols

    @cached_property
    def pairs(self) -> Mapping[str, tuple[Table, Table]]:
        """Added and removed facts by predicate."""
        assert self._find is not None
        found = self._find()
        self._find = None  # releases the states it compares
        return found


class ByPredicate(Mapping[str, "list[Row]"]):
    """Added or removed output facts; outputs without a change map to an empty list."""

    def __init__(self, difference: Difference, side: int, goals: Sequence[str]) -> None:
        self._difference = difference
        self._side = side
        self._goals = goals
        self._known: dict[str, list[Row]] = {}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of facts by predicate, without building Python tuples."""
        lengths = {p: pair[self._side].length for p, pair in self._difference.pairs.items()}
        return {p: length for p, length in lengths.items() if length}

    def __getitem__(self, predicate: str) -> list[Row]:
        if predicate not in self.sizes:
            if predicate in self._goals:
                return []
            raise KeyError(no_output(predicate, self._goals))
        if predicate not in self._known:
            table = self._difference.pairs[predicate][self._side]
            self._known[predicate] = list(Facts({"": table}, self._difference.symbols).rows(""))
        return self._known[predicate]

    def __contains__(self, predicate: object) -> bool:
        return predicate in self.sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __getstate__(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "_known": dict(self), "_goals": self._goals}


@dataclass(frozen=True)
class Changes:
    """Changes of the output predicates made by an edit.

    Attributes
    ----------
    added, removed
        New facts and facts that no longer hold, by predicate. When updating a copy, remove `removed` first: 1 and 1.0
        are different facts for the rules, but equal in Python.
    edited
        Number of given facts added or removed; adding a present fact or removing an absent one does not count.
    seconds
        Time of the update, without building Python tuples and, after a full re-evaluation, without comparing the facts:
        both are done on access.
    """

    added: Mapping[str, list[Row]] = field(default_factory=dict)
    removed: Mapping[str, list[Row]] = field(default_factory=dict)
    edited: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __repr__(self) -> str:
        added, removed = (
            sum(found.sizes.values() if isinstance(found, ByPredicate) else map(len, found.values()))
            for found in (self.added, self.removed)
        )
        return f"<Changes: {self.edited:,} edited, {added:,} added, {removed:,} removed>"
