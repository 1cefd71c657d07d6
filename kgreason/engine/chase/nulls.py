"""Labelled nulls: creation, and termination of the chase.

A null is a Skolem term: a function applied to the frontier of a rule's activation, or to the arguments of an explicit
``#f(X)``. It is *cyclic* if its rule or function already occurs inside its arguments. All other nulls are created, and
there are finitely many of them. The chase first runs without termination rules: it succeeds if it ends before it has
created many cyclic nulls. Otherwise (`Endless`) the evaluation restarts, and each activation that would create a cyclic
null is decided once:

- Warded rules without harmful joins: it is skipped if a cyclic activation of the same rule with an isomorphic frontier
  exists. Everything derived from it would have an isomorphic copy.
- Warded rules with harmful joins of at most q atoms: nulls of q isomorphic copies can meet in a join, so that it is
  skipped only below q activations of the rule that are isomorphic to it and to each other, or beyond `Limits.cyclic`,
  with a warning.
- Other rules, and explicit Skolem terms: it is skipped if its nesting would reach `Limits.depth`, or beyond
  `Limits.cyclic`, with a warning.

Negation and aggregates over nulls count as harmful joins. If they read a bounded chase there is a warning, because
their results over omitted nulls are not certain.

References
----------
L. Bellomarini, E. Sallinger, G. Gottlob: The Vadalog system: Datalog-based reasoning for knowledge graphs, PVLDB
11(9), 2018, §3 (termination by isomorphism of facts with one ward, harmful joins).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.errors import Diagnostic
from kgreason.engine.chase.frontiers import (
    MADE,
    OPEN,
    SKIPPED,
    Activations,
    Nestings,
    Pattern,
    alike,
    nulls_in,
    pattern,
)
from kgreason.engine.chase.identities import Identities, Merges
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Kind, any_codes
from kgreason.engine.relations.rows import CHUNK, Rows, grown
from kgreason.engine.relations.symbols import Codes, Symbols
from kgreason.language.check.checked_program import CheckedRule, Invention, Wardedness
from kgreason.language.values import Null, Value

CUT = -1  # code for the null of a Skolem term that is nested too deep: the binding is dropped
DEEP = 50  # most levels of cyclic nulls in a chase without termination rules


class Endless(Exception):
    """The chase may not terminate and must be bounded."""


class Nulls:
    """Nulls of one evaluation, kept when it restarts after a unification.

    Skolem terms get the same nulls as in an `earlier` evaluation of other data.
    """

    def __init__(
        self,
        symbols: Symbols,
        wardedness: Wardedness = Wardedness(),  # noqa: B008
        limits: Limits = Limits(),  # noqa: B008
        earlier: Nulls | None = None,
    ) -> None:
        self.symbols = symbols
        self.wardedness = wardedness
        self.limits = limits
        self.cyclic = 0  # cyclic activations made in this run
        self.plain = 0  # activations without cyclic nulls: their number is bounded by the data
        self.whole = True  # whether the chase runs without termination rules
        self.last: int = 0 if earlier is None else earlier.last  # number of the newest null
        self.earlier = earlier
        self.identities = Identities(symbols)
        self.merges: Merges | None = None  # set if explanations are wanted
        self.warnings: dict[int | str, Diagnostic] = {}
        self._activations: list[Activations] = []
        self._numbers: dict[object, int] = {}  # index into the activations, by rule or function
        self._nestings = Nestings(symbols)
        self._given: set[int] = set()  # codes of the nulls in the data
        self._owner: Codes = np.empty((0, 2), dtype=np.int64)  # activation of each null

    # --- invention ------------------------------------------------------------------

    def leave_out(self, codes: Codes) -> None:
        """Number new nulls after those that occur in some values."""
        for value in self.symbols.values(np.unique(codes).tolist()):
            for null in nulls_in(value):
                self._given.add(self.symbols.intern(null))
                self.last = max(self.last, null.number)

    def invent(
        self, function: str, arguments: Rows, kinds: Sequence[Kind], rule: CheckedRule | None = None
    ) -> Codes:
        """Nulls of an explicit Skolem term, `CUT` where it is nested too deep.

        The arguments are one row per null, coded by `kinds`; `rule` contains the term, for the warning.
        """
        rows = np.empty(arguments.shape, dtype=np.int64)
        for i, kind in enumerate(kinds):
            rows[:, i] = any_codes(arguments[:, i], kind, self.symbols)
        index = self._index((function, len(kinds)), function, (Kind.ANY,) * len(kinds))
        codes = np.full(len(rows), CUT, dtype=np.int64)
        for start in range(0, len(rows), CHUNK):
            chunk = slice(start, start + CHUNK)
            codes[chunk] = self._run(index, rows[chunk], [function], rule)[1][:, 0]
        return codes

    def activate(
        self, rule: CheckedRule, inventions: Sequence[Invention], frontier: Rows, kinds: Sequence[Kind]
    ) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Nulls of the existential variables of a rule, which share one frontier.

        `frontier` holds that of each binding, coded by `kinds`, at most one chunk. Returns a mask of the bindings whose
        activation is carried out, and the nulls of the inventions for each binding; `CUT` where it is dropped.
        """
        name = rule.number or inventions[0].function
        index = self._index((name, inventions[0].frontier), name, tuple(kinds))
        return self._run(index, frontier, [i.function for i in inventions], rule)

    def _index(self, key: object, name: int | str, kinds: tuple[Kind, ...]) -> int:
        index = self._numbers.setdefault(key, len(self._activations))
        if index == len(self._activations):
            self._activations.append(Activations(name, kinds))
        return index

    def _run(
        self, index: int, batch: Rows, functions: Sequence[str], rule: CheckedRule | None
    ) -> tuple[npt.NDArray[np.bool_], Rows]:
        activations = self._activations[index]
        if self._full(activations.name):
            open_ = self._known_or_plain(activations, batch)
            if not open_.all():
                keep, codes = np.zeros(len(batch), dtype=np.bool_), np.full((len(batch), len(functions)), CUT)
                if open_.any():
                    keep[open_], codes[open_] = self._run(index, batch[open_], functions, rule)
                return keep, codes
        numbers = activations.number(batch, functions)
        undecided = np.unique(numbers[activations.state[numbers] == OPEN])
        if len(undecided):
            self._decide(index, undecided, rule)
        keep = activations.state[numbers] == MADE
        self._complete(index, np.unique(numbers[keep]), functions)
        codes = np.full((len(batch), len(functions)), CUT, dtype=np.int64)
        for j, function in enumerate(functions):
            codes[keep, j] = self.identities.shallow(activations.nulls[function][numbers[keep]])
        return keep, codes

    def _full(self, name: int | str) -> bool:
        """Whether the budget of cyclic activations of a rule or function is used up."""
        bound = not self.wardedness.warded or self.wardedness.harmful_joins > 0 or isinstance(name, str)
        return bound and self.cyclic > self._room()

    def _room(self) -> int:
        """Maximal number of cyclic activations, which grows with the data."""
        return self.limits.cyclic + 2 * self.plain

    def _known_or_plain(self, activations: Activations, batch: Rows) -> npt.NDArray[np.bool_]:
        """Mark the frontiers that are already decided or not cyclic; the others are not stored."""
        known = activations.frontiers.find(batch) >= 0
        fresh = np.flatnonzero(~known)
        if len(fresh):
            known[fresh] = (
                self._nestings.around(activations.name, batch[fresh][:, activations.nested])[0] == 0
            )
        return known

    def _complete(self, index: int, numbers: Codes, functions: Sequence[str]) -> None:
        """Create the missing nulls of activations; the nulls of one activation get consecutive numbers."""
        activations = self._activations[index]
        known = np.column_stack([activations.nulls[function][numbers] for function in functions])
        missing = known < 0
        if not missing.any():
            return
        if self.earlier is not None:
            known[missing] = self._again(self.earlier, index, numbers, functions)[missing]
        fresh = known < 0
        count = int(fresh.sum())
        first, self.last = self.last + 1, self.last + count
        known[fresh] = self.symbols.nulls(first, count)
        codes = known[missing]
        for j, function in enumerate(functions):
            activations.nulls[function][numbers] = known[:, j]
        if self.merges is not None:
            self.merges.make(activations, numbers, functions, known, missing)
        owners = np.broadcast_to(numbers[:, None], known.shape)[missing]
        self._nestings.record(codes, activations.nesting[owners])
        if len(self.symbols) > len(self._owner):
            self._owner = grown(self._owner, max(len(self.symbols), 2 * len(self._owner)), -1)
        self._owner[codes, 0] = index
        self._owner[codes, 1] = owners

    def _again(self, earlier: Nulls, index: int, numbers: Codes, functions: Sequence[str]) -> Rows:
        """Nulls of the same terms in an earlier evaluation, -1 where there are none or the data hold the null."""
        here = self._activations[index]
        key = next(key for key, number in self._numbers.items() if number == index)
        there = earlier._numbers.get(key)
        if there is None or earlier._activations[there].kinds != here.kinds:
            return np.full((len(numbers), len(functions)), -1)
        frontiers = here.frontiers.rows[numbers]
        codes = np.column_stack([earlier._activations[there].made(f, frontiers) for f in functions])
        codes[np.isin(codes, list(self._given))] = -1
        return codes

    # --- decisions ------------------------------------------------------------------

    def _decide(self, index: int, numbers: Codes, rule: CheckedRule | None) -> None:
        """Decide activations; all acyclic ones are made."""
        activations = self._activations[index]
        inside = activations.frontiers.rows[numbers][:, activations.nested]
        levels, activations.nesting[numbers] = self._nestings.around(activations.name, inside)
        activations.state[numbers] = MADE
        self.plain += int(self._nestings.flat(activations.nesting[numbers]).sum())
        for i in np.flatnonzero(levels).tolist():  # cyclic ones
            if not self._admits(index, int(numbers[i]), int(levels[i]), rule):
                activations.state[numbers[i]] = SKIPPED

    def _admits(self, index: int, number: int, level: int, rule: CheckedRule | None) -> bool:
        activations = self._activations[index]
        if self.whole:
            self.cyclic += 1
            if level > max(DEEP, self.limits.depth) or self.cyclic > self._room():
                raise Endless
            return True
        if not self.wardedness.warded or isinstance(activations.name, str):
            if level >= self.limits.depth:
                what = f"those nested more than {self.limits.depth} deep"
                self._warn(activations.name, rule, what, "--depth")
                return False
            return self._counted(activations.name, rule)
        here = self._pattern(index, number)
        if self.wardedness.harmful_joins > 0:
            if self._repeats(index, number, [here], self.wardedness.harmful_joins):
                if self.wardedness.closed:
                    self._warn(activations.name, rule, "those like others before them", None)
                return False
            return self._counted(activations.name, rule)
        if here[0] in activations.shapes:
            return False
        activations.shapes.add(here[0])
        return True

    def _counted(self, name: int | str, rule: CheckedRule | None) -> bool:
        """Whether the budget allows one more cyclic activation."""
        self.cyclic += 1
        if self.cyclic <= self._room():
            return True
        self._warn(name, rule, f"those behind the first {self._room()}", "Limits.cyclic in Python")
        return False

    def _repeats(self, index: int, number: int, chosen: list[Pattern], need: int) -> bool:
        """Whether a chain of `need` ancestors is isomorphic to the `chosen` activations and to itself."""
        if need == 0:
            return True
        for ancestor in self._ancestors(index, number):
            one = self._pattern(index, ancestor)
            fits = all(alike(one, other) for other in chosen)
            if fits and self._repeats(index, ancestor, [*chosen, one], need - 1):
                return True
        return False

    def _ancestors(self, index: int, number: int) -> frozenset[int]:
        """Isomorphic activations of the same rule among the ancestors of an activation."""
        known = self._activations[index].above.get(number)
        if known is not None:
            return known
        reached: set[tuple[int, int]] = set()
        waiting = [(index, number)]
        while waiting:
            here, i = waiting.pop()
            for null in self._pattern(here, i)[1]:
                owner = self._made_by(null)
                if owner is not None and owner not in reached:
                    reached.add(owner)
                    waiting.append(owner)
        shape = self._pattern(index, number)[0]
        above = frozenset(i for p, i in reached if p == index and self._pattern(p, i)[0] == shape)
        self._activations[index].above[number] = above
        return above

    def _made_by(self, null: Null) -> tuple[int, int] | None:
        """Activation that created a null; `None` for nulls of the data."""
        code = self.symbols.intern(null)
        index, number = self._owner[code].tolist() if code < len(self._owner) else (-1, -1)
        return (index, number) if index >= 0 else None

    def _pattern(self, index: int, number: int) -> Pattern:
        activations = self._activations[index]
        found = activations.patterns.get(number)
        if found is None:
            codes = activations.rows[number].tolist()
            frontier: list[Value] = list(codes)
            for i in activations.nested:
                frontier[i] = self.symbols.value(codes[i])
            found = activations.patterns[number] = pattern(frontier)
        return found

    def _warn(self, name: int | str, rule: CheckedRule | None, left_out: str, bound: str | None) -> None:
        if name in self.warnings:
            return
        what = f"{name}(...)" if isinstance(name, str) else "this rule"
        text = f"\n  rule: {rule.text}" if rule else ""
        uncertain = "what rules negate or aggregate over nulls is not certain"
        effect = "results can be missing" + (f", and {uncertain}" if self.wardedness.closed else "")
        note = "nulls that can be nested without end need a bound where rules are not warded, or join nulls"
        mended = "bound the recursion by a condition" if self.wardedness.warded else "make the rules warded"
        shown = "" if self.wardedness.warded else " (kgreason check --explain shows what they lack)"
        hint = f"{mended}{shown} or raise the bound ({bound})"
        if bound is None:
            effect = uncertain
            note = "nulls that can be nested without end have no number, and the last ones lack what follows from them"
            hint = "negate and aggregate values that are no nulls only: test is_not_null(...) first"
        self.warnings[name] = Diagnostic(
            "W506",
            f"{what} makes nulls from its own nulls; {left_out} are left out, so {effect}{text}",
            rule.span if rule else None,
            note=note,
            hint=hint,
        )

    # --- unification ----------------------------------------------------------------

    def restart(self) -> None:
        """Reset all decisions, and apply the unifications to the arguments of all nulls.

        Nulls whose arguments have become equal are unified, until a fixpoint.
        """
        self.cyclic = self.plain = 0
        self.warnings.clear()
        changed = self.identities.unified
        while changed:
            changed = False
            for index in range(len(self._activations)):
                changed |= self._rebuild(index)
        for activations in self._activations:
            activations.state[:] = OPEN
            activations.shapes.clear()
            activations.patterns.clear()
            activations.above.clear()

    def _rebuild(self, index: int) -> bool:
        """Renumber the activations of a rule by their current frontiers; returns whether nulls were unified."""
        old = self._activations[index]
        rows = old.rows.copy()
        for i in old.nested:
            rows[:, i] = self.identities.find(rows[:, i])
        new = self._activations[index] = Activations(old.name, old.kinds)
        numbers = np.empty(len(rows), dtype=np.int64)
        functions = list(old.nulls)
        for start in range(0, len(rows), CHUNK):
            numbers[start : start + CHUNK] = new.number(rows[start : start + CHUNK], functions)
        merged = False
        for function in functions:
            codes = old.nulls[function][: len(rows)]
            for number, code in zip(numbers[codes >= 0].tolist(), codes[codes >= 0].tolist(), strict=True):
                known = int(new.nulls[function][number])
                if known < 0:
                    new.nulls[function][number] = code
                elif self.identities.root(known) != self.identities.root(code):
                    self.identities.merge(known, code)
                    if self.merges is not None:
                        self.merges.link(known, code)
                    merged = True
        mine = np.flatnonzero(self._owner[:, 0] == index)
        self._owner[mine, 1] = numbers[self._owner[mine, 1]]
        return merged
