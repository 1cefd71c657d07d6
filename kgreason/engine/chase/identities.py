"""Unification of values by equality-generating dependencies, with a log of the unifications for explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import EvaluationError
from kgreason.base.records import record
from kgreason.engine.chase.frontiers import Activations, nulls_in
from kgreason.engine.expressions.builtin_functions import Refusal, make_set
from kgreason.engine.relations.fact_tables import Kind
from kgreason.engine.relations.relation import Relation
from kgreason.engine.relations.rows import Rows
from kgreason.engine.relations.symbols import Codes, Symbols, once_each
from kgreason.language.values import Null, Value, source


class Identities:
    """Union-find forest of unified values, by code: each null points to the value that replaced it."""

    def __init__(self, symbols: Symbols, links: Mapping[int, int] | None = None) -> None:
        self.symbols = symbols
        self.links = dict(links or {})  # replacement of each unified value, possibly in several steps
        self._roots: Codes = np.empty(0, dtype=np.int64)

    @property
    def unified(self) -> bool:
        """Whether any value has been replaced."""
        return bool(self.links)

    def find(self, codes: Codes) -> Codes:
        """Current values of a column of kind ANY, LIST or SET, also inside of collections.

        Raises EvaluationError if a resulting collection is not a set, for instance one of booleans and numbers.
        """
        found = self.shallow(codes)
        if not self.links or not len(found):
            return found
        return once_each(found, lambda distinct: list(map(self._current, distinct.tolist())))

    def merge(self, a: int, b: int) -> bool:
        """Unify two values; returns `False` for two different constants.

        A null is replaced by a constant, and the younger of two nulls by the older one. Inside of collections, nulls
        become doubles where the code is that of a double, even of one that equals an integer.
        """
        a, b = self.root(a), self.root(b)
        if a == b:
            return True
        one, other = self.symbols.value(a), self.symbols.value(b)
        if isinstance(other, Null) and (not isinstance(one, Null) or one.number < other.number):
            self.links[b] = a
        elif isinstance(one, Null):
            self.links[a] = b
        else:
            return False
        self._roots = np.empty(0, dtype=np.int64)
        return True

    def roots(self, a: int, b: int) -> tuple[int, int]:
        """Current values of two values."""
        return self.root(a), self.root(b)

    def root(self, code: int) -> int:
        """Current value of one value."""
        while code in self.links:
            code = self.links[code]
        return code

    def shallow(self, codes: Codes) -> Codes:
        """Current values of a column, without those inside of lists and sets."""
        if not self.links:
            return codes
        if len(self._roots) < len(self.symbols):
            self._roots = np.arange(len(self.symbols), dtype=np.int64)
            nulls = np.fromiter(self.links, dtype=np.int64)
            roots = np.fromiter(map(self.root, self.links), dtype=np.int64, count=len(nulls))
            self._roots[nulls] = self.symbols.unified(roots)
        return self._roots[codes]

    def _current(self, code: int) -> int:
        value = self.symbols.value(code)
        if isinstance(value, Null) or next(nulls_in(value), None) is None:
            return code
        try:
            return self.symbols.intern(self.became(value))
        except Refusal as refusal:
            nulls = sorted(set(nulls_in(value)), key=lambda null: null.number)
            became = ", ".join(f"{null} = {source(self.became(null))}" for null in nulls)
            hint = "values cannot become equal (X = Y :- ...) that no set holds side by side"
            raise EvaluationError(f"{refusal.what}, in {source(value)} with {became}", hint=hint) from None

    def became(self, value: Value) -> Value:
        """Current value of one value, also inside of collections."""
        if isinstance(value, tuple):
            return tuple(map(self.became, value))
        if isinstance(value, frozenset):
            return make_set([self.became(element) for element in value])
        known = isinstance(value, Null) and self.symbols.known(value)
        return self.symbols.value(self.root(self.symbols.intern(value))) if known else value


@record(eq=False)
class Link:
    """Unification of two values, given by their codes, in a run, numbered from 0.

    `predicate` and `row` are the hidden predicate of the dependency and its fact; both are `None` for nulls of one
    function whose arguments became equal.
    """

    left: int
    right: int
    run: int
    predicate: str | None = None
    row: Codes | None = None


@record(eq=False)
class Made:
    """Origin of a null: the function (of the rule or Skolem term `name`) and its arguments."""

    name: int | str
    function: str
    kinds: tuple[Kind, ...]
    frontier: Codes


@dataclass(eq=False, repr=False)
class Merges:
    """Log of all unifications of one evaluation, in chronological order, and of the origin of each null by code.

    `relations` are those of each run that ended with unifications; strata that it did not reach are empty. `roots` are
    the unified values at the start of each run except the first, the last one included.
    """

    links: list[Link] = field(default_factory=list)
    made: dict[int, Made] = field(default_factory=dict)
    relations: list[Mapping[str, Relation]] = field(default_factory=list)
    roots: list[Identities] = field(default_factory=list)

    def forget(self) -> None:
        """Clear the log: the evaluation begins anew, with new nulls."""
        for log in (self.links, self.made, self.relations, self.roots):
            log.clear()

    def make(
        self,
        activations: Activations,
        numbers: Codes,
        functions: Sequence[str],
        codes: Rows,
        new: npt.NDArray[np.bool_],
    ) -> None:
        """Record the nulls of some activations that are `new`."""
        frontiers = activations.rows[numbers]
        for i, j in np.argwhere(new).tolist():
            origin = Made(activations.name, functions[j], activations.kinds, frontiers[i])
            self.made[int(codes[i, j])] = origin

    def link(self, left: int, right: int, predicate: str | None = None, row: Codes | None = None) -> None:
        """Record the unification of two values."""
        row = None if row is None else row.copy()
        self.links.append(Link(left, right, len(self.relations), predicate, row))

    def again(self, relations: Mapping[str, Relation], identities: Identities) -> None:
        """End a run; `identities` are those with which the next run begins."""
        self.relations.append(relations)
        self.roots.append(Identities(identities.symbols, identities.links))
