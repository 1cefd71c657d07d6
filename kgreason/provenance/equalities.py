"""Proofs of equalities: chains of unifications, each derived by a dependency from facts.

Unification restarts the evaluation, so that a unification is proved from the facts of the run that ended with it, in
which the two values were still different; proofs of these facts cannot depend on the unification itself. Nulls of one
function whose arguments have become equal are unified, too, by the unifications of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from kgreason.engine.chase.constraints import shortest_chain
from kgreason.engine.chase.identities import Link, Made
from kgreason.engine.relations.fact_tables import Kind, Table, decode
from kgreason.engine.relations.symbols import Codes, key, whole
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.syntax_tree import Collection, Constant, Expression, Skolem, Variable
from kgreason.language.values import Null, Value
from kgreason.provenance.body_matching import Premise
from kgreason.provenance.proof_tree import EQUAL, Identified, Proof
from kgreason.provenance.traces import Runs, Trace

NESTED = 100  # maximum depth of unifications that depend on other unifications


class _Prover(Protocol):
    """Interface of `proof_search.Search` for equations."""

    found: Trace

    def prove(self, goals: Sequence[Premise]) -> list[Proof]: ...


class Equations:
    """Unifications of one evaluation with their proofs, each proved once."""

    def __init__(self, runs: Runs, prover: Callable[[Trace, Equations], _Prover]) -> None:
        self.runs, self._prover = runs, prover
        self.symbols = runs.result.symbols
        self._searches: dict[int, _Prover] = {}
        self._proofs: dict[int, Proof] = {}
        self._links = [self._ends(link) for link in runs.merges.links]
        self._made: dict[int, dict[object, Null]] = {}
        self._nested = 0

    # --- what was made, and what it has become ----------------------------------------------------------------

    def made(self, function: str, arguments: Sequence[Value], run: int) -> Null | None:
        """The null that a function created from values of a run, before unification."""
        if run not in self._made:
            index = self._made[run] = {}
            for code, made in self.runs.merges.made.items():
                null = self.symbols.value(code)
                assert isinstance(null, Null)
                index.setdefault((made.function, self._keys(self._frontier(made), run)), null)
        return self._made[run].get((function, self._keys(arguments, run)))

    def _keys(self, values: Iterable[Value], run: int) -> tuple[object, ...]:
        return tuple(key(self.runs.identities[run].became(value)) for value in values)

    def _frontier(self, made: Made) -> list[Value]:
        columns = zip(made.kinds, made.frontier.tolist(), strict=True)
        return [decode(kind, np.array([cell], dtype=np.int64), self.symbols)[0] for kind, cell in columns]

    def changed(self, run: int) -> bool:
        """Whether any values had been unified before a run."""
        return self.runs.identities[run].unified

    def of_condition(
        self, condition: Expression, values: Mapping[str, Value], run: int
    ) -> Iterator[Identified]:
        """Original values of the Skolem terms of a condition."""
        for term in walk(condition):
            made = self.evaluated(term, values, run) if isinstance(term, Skolem) else None
            if made is not None:
                yield from self.identified(str(term), made, self.runs.identities[run].became(made), run)

    def evaluated(self, term: Expression, values: Mapping[str, Value], run: int) -> Value | None:
        """Value of a Skolem term, possibly inside a list, before unification; `None` if unknown."""
        match term:
            case Variable():
                return values.get(term.name)
            case Constant():
                return term.value
            case Skolem():
                arguments = [self.evaluated(a, values, run) for a in term.arguments]
                known = [a for a in arguments if a is not None]
                return self.made(f"#{term.function}", known, run) if len(known) == len(arguments) else None
            case Collection(kind="list"):
                elements = [self.evaluated(e, values, run) for e in term.elements]
                known = [e for e in elements if e is not None]
                return tuple(known) if len(known) == len(elements) else None
        return None

    def identified(self, variable: str, made: Value | None, value: Value, run: int) -> Iterator[Identified]:
        """Differences between two values, position by position in lists, with the chains that unify them."""
        for a, b in differences(made, value) if made is not None else ():
            chain = self.chain(a, b, self.runs.starts[run])
            if chain:
                yield Identified(variable, a, b, chain)

    def of_given(
        self, predicate: str, kinds: Sequence[Kind], row: Codes, values: Sequence[Value], run: int
    ) -> tuple[tuple[Value, ...], tuple[Identified, ...]]:
        """A given fact as in the data, and the unifications that led to its current values."""
        table = self.runs.facts.tables.get(predicate)
        values = tuple(values)
        if table is None or not table.length or not self.changed(run):
            return values, ()
        same = np.flatnonzero((self.runs.rooted(predicate, table, kinds, run) == row).all(axis=1))
        if not len(same):
            return values, ()
        own = Table(table.kinds, tuple(c[same[:1]] for c in table.columns), 1)
        cells, symbols = zip(own.kinds, own.columns, strict=True), self.runs.facts.symbols
        given = tuple(decode(kind, column, symbols)[0] for kind, column in cells)
        pairs = zip(given, values, strict=True)
        found = [i for n, (a, b) in enumerate(pairs, 1) for i in self.identified(f"argument {n}", a, b, run)]
        return given, tuple(found)

    # --- chains -------------------------------------------------------------------------------------------------

    def chain(self, a: Value, b: Value, before: int) -> tuple[Proof, ...]:
        """Shortest chain between two values among the first `before` unifications; empty if there is none."""
        start, end = (self.symbols.intern(whole(v)) for v in (a, b))
        links = self._links[:before]
        return tuple(self._proof(number) for number in shortest_chain(links, start, end) or ())

    def _ends(self, link: Link) -> tuple[int, int]:
        """Codes of both values; 1 and 1.0 are one value and share a code."""
        left, right = self.symbols.unified(np.array([link.left, link.right], dtype=np.int64)).tolist()
        return left, right

    def _proof(self, number: int) -> Proof:
        if number not in self._proofs:
            link = self.runs.merges.links[number]
            values = (self.symbols.value(link.left), self.symbols.value(link.right))
            if self._nested >= NESTED:
                return Proof(EQUAL, values, height=1, notes=("it is not traced any further",))
            self._nested += 1
            proof = self._by_arguments(link, values, number) if link.row is None else self._by_rule(link)
            self._proofs[number] = replace(proof, predicate=EQUAL, values=values)
            self._nested -= 1
        return self._proofs[number]

    def _by_rule(self, link: Link) -> Proof:
        assert link.predicate is not None
        assert link.row is not None
        search = self.search(link.run)
        known = search.found.known[link.predicate]
        row = self.runs.types.doubled(link.predicate, known.kinds, link.row[None, :], self.symbols)
        return search.prove([(link.predicate, int(known.numbers(row)[0]))])[0]

    def _by_arguments(self, link: Link, values: tuple[Value, Value], number: int) -> Proof:
        one, other = (self.runs.merges.made[code] for code in (link.left, link.right))
        frontiers = zip(self._frontier(one), self._frontier(other), strict=True)
        pairs = [pair for a, b in frontiers for pair in differences(a, b)]
        premises = tuple(dict.fromkeys(p for a, b in pairs for p in self.chain(a, b, number)))
        name = f"rule {one.name}" if isinstance(one.name, int) else one.name
        height = 1 + max((p.height for p in premises), default=0)
        note = f"{name} makes one null of equal values"
        return Proof(EQUAL, values, premises=premises, height=height, notes=(note,))

    def search(self, run: int) -> _Prover:
        """Search over the facts of a run that ended with unifications."""
        if run not in self._searches:
            fired = {link.predicate for link in self.runs.merges.links if link.run == run}
            found: Trace = self.runs.trace(run, sorted(p for p in fired if p is not None))
            self._searches[run] = self._prover(found, self)
        return self._searches[run]


def differences(a: Value, b: Value) -> Iterator[tuple[Value, Value]]:
    """Pairs of different values at corresponding positions of lists and sets, or the two values themselves."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        for one, other in zip(a, b, strict=True):
            yield from differences(one, other)
    elif isinstance(a, frozenset) and isinstance(b, frozenset):
        yield from zip(sorted(a - b, key=str), sorted(b - a, key=str), strict=False)
    elif key(a) != key(b):
        yield a, b
