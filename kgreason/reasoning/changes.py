"""The outputs of a `kgreason.Reasoner` as they are, and what an edit changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgreason.reasoning.results import no_output

if TYPE_CHECKING:
    from kgreason.engine.relations.fact_tables import Facts
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from kgreason.engine.incremental.maintenance import apart
from kgreason.engine.post_processing import apply_posts
from kgreason.engine.relations.fact_tables import Facts, Table
from kgreason.language.values import identity

if TYPE_CHECKING:
    from kgreason.engine.relations.symbols import Symbols
    from kgreason.language.check.checked_program import CheckedProgram
    from kgreason.language.values import Value


Row = tuple["Value", ...]


class State(Protocol):
    """Where derived facts are held."""

    def table(self, predicate: str) -> Table:
        """Facts of a predicate."""
        ...


class Outputs:
    """Facts of the outputs, as ``@post`` wants them; those of each predicate are found when they are wanted."""

    def __init__(self, state: State, program: CheckedProgram, symbols: Symbols) -> None:
        self._state = state
        self._program = program
        self._symbols = symbols
        self._tables: dict[str, Table] = {}

    def held_by(self, state: State) -> Outputs:
        """The same facts, which another state holds now."""
        made = Outputs(state, self._program, self._symbols)
        made._tables.update(self._tables)
        return made

    def table(self, predicate: str) -> Table:
        """Facts of an output."""
        found = self._tables.get(predicate)
        if found is None:
            raw = Facts({predicate: self._state.table(predicate)}, self._symbols)
            found = self._tables[predicate] = apply_posts(self._program, raw).tables[predicate]
        return found

    def forget(self, predicate: str) -> Table | None:
        """Give away what was found of a predicate, because its facts have changed."""
        return self._tables.pop(predicate, None)


def compared(before: Table, after: Table, symbols: Symbols) -> tuple[Table, Table]:
    """Facts that are only in the second of two tables, and those only in the first; 1 and 1.0 are two values."""
    return apart(after, before, symbols, identity), apart(before, after, symbols, identity)


class Difference:
    """Facts of outputs that came, and those that went, by predicate; looked for once, when they are wanted."""

    def __init__(self, find: Callable[[], Mapping[str, tuple[Table, Table]]], symbols: Symbols) -> None:
        self._find: Callable[[], Mapping[str, tuple[Table, Table]]] | None = find
        self.symbols = symbols

    @cached_property
    def pairs(self) -> Mapping[str, tuple[Table, Table]]:
        """By predicate both."""
        find = self._find
        assert find is not None
        found = find()
        self._find = None  # with what it compares
        return found


class ByPredicate(Mapping[str, "list[Row]"]):
    """Facts of the outputs that came, or that went; any other output has none."""

    def __init__(self, difference: Difference, side: int, goals: Sequence[str]) -> None:
        self._difference = difference
        self._side = side
        self._goals = goals
        self._known: dict[str, list[Row]] = {}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of facts, without a look at them."""
        lengths = {p: pair[self._side].length for p, pair in self._difference.pairs.items()}
        return {p: length for p, length in lengths.items() if length}

    def __getitem__(self, predicate: str) -> list[Row]:
        if predicate not in self._known:
            if predicate in self.sizes:
                table = self._difference.pairs[predicate][self._side]
                self._known[predicate] = list(Facts({"": table}, self._difference.symbols).rows(""))
            elif predicate in self._goals:
                return []
            else:
                raise KeyError(no_output(predicate, self._goals))
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
    """What an edit changed of the output predicates.

    Attributes
    ----------
    added, removed
        By predicate, the facts that are new and those that hold no more. Who keeps a copy takes the removed ones out
        first: 1 and 1.0 are two facts for the rules, but equal for Python.
    edited
        Number of given facts that came or went: adding what is there and removing what is not counts nothing.
    seconds
        Time it took, without that for making Python tuples of the facts; nor, if everything was evaluated anew, for
        comparing them: both is done when somebody looks.
    """

    added: Mapping[str, list[Row]] = field(default_factory=dict)
    removed: Mapping[str, list[Row]] = field(default_factory=dict)
    edited: int = 0
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __repr__(self) -> str:
        sizes = [
            sum(
                (
                    found.sizes if isinstance(found, ByPredicate) else {p: len(r) for p, r in found.items()}
                ).values()
            )
            for found in (self.added, self.removed)
        ]
        return f"<Changes: {self.edited:,} edited, {sizes[0]:,} added, {sizes[1]:,} removed>"
