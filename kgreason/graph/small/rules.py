"""One rule in a plan: the order of its variables, and what each of them must meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgreason.analysis.checked import MONOTONIC, Aggregation, Stratum
from kgreason.analysis.expressions import names, rewrite
from kgreason.analysis.weights import bounds_below
from kgreason.graph.small import kernels as k
from kgreason.graph.small.expressions import Range, Steps, Unfit, range_of
from kgreason.graph.small.normal import Atom, NormalRule
from kgreason.lang.ast import Expression, Variable

WEIGHT = Variable("W")
"""The variable of conditions on a single weight."""

FUNCTIONS = {"sum": k.SUM, "count": k.COUNT, "min": k.LEAST, "max": k.GREATEST}
DEEPEST = 32  # variables of a rule
NOBODY = "_"  # the variable of a rule without variables


class Book(Protocol):
    """What a rule looks up, and where it is written."""

    weights: Mapping[str, Range]
    constants: dict[float, int]
    tables: dict[str, int]
    ranges: dict[str, Range]

    def put(self, numbers: Sequence[int]) -> int:
        """Append numbers to the plan; returns their place."""
        ...

    def word(self, predicate: str, conditions: tuple[Expression, ...] = ()) -> int:
        """Word of a predicate; of an edge predicate: of its edges whose weights meet conditions."""
        ...

    def value(self, predicate: str) -> tuple[int, int, Range]:
        """Slot among computed values, slot of weights (-1: it has none), and range of the value of a predicate."""
        ...


class RulePlan:
    """One rule on its way into a plan.

    Attributes
    ----------
    when
        In which rounds it is carried out.
    """

    def __init__(self, book: Book, stratum: Stratum, rule: NormalRule) -> None:
        self.book, self.rule = book, rule
        live = stratum.predicates if stratum.recursive else frozenset()
        self.recursive = [a for a in rule.positives if a.predicate in live]
        self.order = _order(rule, self.recursive)
        if len(self.order) > DEEPEST:
            raise Unfit(f"a rule has more than {DEEPEST} variables: {rule.text}")
        self.levels = {name: i for i, name in enumerate(self.order)}
        self.when = self._when()
        self.ranges: dict[str, Range] = {}
        self.steps = Steps(book.constants, self.levels, self.ranges)
        self.words: list[tuple[Atom, int]] = []
        self.values: list[int] = []

    def place(self) -> int:
        """Write the rule; returns its place in the plan."""
        rule, put = self.rule, self.book.put
        for condition in self._read():
            self.steps.condition(condition)
        argument = self._argument()
        steps = self.steps.take()
        direct = not self.values and steps == [0]
        predicates = dict.fromkeys(a.predicate for a in self.recursive)
        numbers = [0] * k.R_CONSTRAINTS
        numbers[k.R_LEVELS] = len(self.order)
        numbers[k.R_HEAD] = self.book.word(rule.head.predicate)
        numbers[k.R_ARITY] = len(rule.head.vertices)
        numbers[k.R_ARGUMENTS : k.R_ARGUMENTS + 2] = self._pair(rule.head.vertices)
        numbers[k.R_WHEN] = self.when
        numbers[k.R_RECURSIVE] = put([len(predicates), *map(self.book.word, predicates)])
        numbers[k.R_LEAF] = self._leaf(direct)
        numbers[k.R_VALUES] = put([len(self.values) // 5, *self.values])
        numbers[k.R_STEPS] = put(steps)
        numbers[k.R_TOTAL] = -1 if rule.aggregation is None else self._total(rule.aggregation, argument)
        constraints = [put([len(found) // 4, *found]) for found in self._constraints()]
        return put([*numbers, *constraints])

    def _when(self) -> int:
        if not self.recursive:
            return k.ONCE
        total = self.rule.aggregation
        # a total needs all contributions, not only those of rows that changed
        alone = total is None or self.order[0] in total.group
        return k.BY_ROW if alone and _row(self.recursive) == self.order[0] else k.AGAIN

    def _pair(self, vertices: Sequence[str]) -> list[int]:
        if len(vertices) > 2:
            raise Unfit(f"more than two vertices make a group or a contributor: {self.rule.text}")
        return [*(self.levels[v] for v in vertices), *[-1] * (2 - len(vertices))]

    def _read(self) -> list[Expression]:
        """Let values be read, unless a word of the edges that meet the conditions does; returns other conditions."""
        total, left = self.rule.aggregation, list(self.rule.conditions)
        used = names(total.argument) if total and total.argument is not None else frozenset[str]()
        for atom in self.rule.positives:
            about = [c for c in left if atom.value in names(c)]
            conditions: tuple[Expression, ...] = ()
            if atom.value in used or any(len(names(c)) > 1 for c in about) or (about and self._computed(atom)):
                self._read_value(atom)
            elif about:
                left = [c for c in left if c not in about]
                conditions = tuple(self._alone(c, atom) for c in about)
            self.words.append((atom, self.book.word(atom.predicate, conditions)))
        return left

    def _computed(self, atom: Atom) -> bool:
        return atom.predicate in self.book.tables

    def _alone(self, condition: Expression, atom: Atom) -> Expression:
        """A condition on the weight of one atom, in a form that all rules share."""
        found = rewrite(condition, lambda n: WEIGHT if isinstance(n, Variable) else n)
        range_ = self.book.weights.get(atom.predicate, Range(0, 1))
        trial = Steps({}, {}, {WEIGHT.name: range_})
        trial.register(WEIGHT.name)
        trial.condition(found)
        return found

    def _read_value(self, atom: Atom) -> None:
        assert atom.value is not None
        table, slot, self.ranges[atom.value] = self.book.value(atom.predicate)
        register = self.steps.register(atom.value)
        self.values += [table, slot, *self._pair(atom.vertices), register]

    def _argument(self) -> int:
        total = self.rule.aggregation
        if total is None or _plain(total) == "count" or total.argument is None:
            return 0
        return self.steps.value(total.argument)

    def _total(self, total: Aggregation, argument: int) -> int:
        function = FUNCTIONS.get(_plain(total))
        if function is None:
            raise Unfit(f"`{total.function}` is none of {', '.join(FUNCTIONS)}")
        if self.recursive:
            self._check_recursive(total, function)
        result = self.steps.register(total.variable)
        self.ranges[total.variable] = self._range(total, function)
        for condition in self.rule.after:
            if names(condition) != {total.variable}:
                raise Unfit(f"`{condition}` is not about {total.variable} alone")
            self.steps.condition(condition)
        table = -1
        if self.rule.head.value is not None:
            table = self.book.tables[self.rule.head.predicate]
            self.book.ranges[self.rule.head.predicate] = self.ranges[total.variable]
        ends = [*self._pair(total.group), *self._pair(total.contributors)]
        return self.book.put([function, argument, *ends, result, self.book.put(self.steps.take()), table])

    def _check_recursive(self, total: Aggregation, function: int) -> None:
        """In recursion, conditions that a total meets on its way must be met in the end, too."""
        rising = function != k.LEAST and all(bounds_below(c, total.variable) for c in self.rule.after)
        if not rising or (function == k.SUM and self._range_of_argument(total).low < 0):
            raise Unfit(f"in recursion, a total must rise, and pass bounds from below only: {self.rule.text}")

    def _range_of_argument(self, total: Aggregation) -> Range:
        assert total.argument is not None
        return range_of(total.argument, self.ranges)

    def _range(self, total: Aggregation, function: int) -> Range:
        if function == k.COUNT:
            return Range(0, k.MOST, whole=True)
        one = self._range_of_argument(total)
        if function != k.SUM:
            return one
        return Range(k.MOST * min(one.low, 0), k.MOST * max(one.high, 0), one.whole)

    def _leaf(self, direct: bool) -> int:
        """What the last variable is for."""
        head, last = self.rule.head.vertices, self.order[-1]
        if self.rule.aggregation is not None or not direct:
            return k.EACH
        if last not in head:
            return k.ANY
        return k.ROW if len(head) == 2 and head[0] != last else k.EACH

    def _constraints(self) -> list[list[int]]:
        """Constraints on each variable, by those before it."""
        found: list[list[int]] = [[] for _ in self.order]
        for atom, word in self.words:
            self._constrain(found, atom, word, 0)
        for atom in self.rule.negatives:
            self._constrain(found, atom, self.book.word(atom.predicate), -1)
        head = self.rule.head
        if len(set(head.vertices)) == len(head.vertices) and head.value is None:  # nothing is derived twice
            self._constrain(found, head, self.book.word(head.predicate), -1)
        for a, b, equal in self.rule.same:
            first, second = sorted((self.levels[a], self.levels[b]))
            if first < second:
                found[second] += [k.SAME, k.NONE, first, 0 if equal else -1]
            elif not equal:
                found[first] += [k.UNARY, k.NONE, 0, 0]
        return found

    def _constrain(self, found: list[list[int]], atom: Atom, word: int, flip: int) -> None:
        levels = [self.levels[v] for v in atom.vertices]
        if not levels:
            found[0] += [k.TRUE, word, 0, flip]
        elif len(levels) == 1:
            found[levels[0]] += [k.UNARY, word, 0, flip]
        else:
            kind = k.FORTH if levels[0] < levels[1] else k.BACK
            found[max(levels)] += [kind, word, min(levels), flip]


def _plain(total: Aggregation) -> str:
    return total.function[1:] if total.function in MONOTONIC else total.function


def _row(recursive: Sequence[Atom]) -> str | None:
    """The variable that stands first in all recursive atoms."""
    first = {a.vertices[0] if len(a.vertices) == 2 else None for a in recursive}
    return first.pop() if len(first) == 1 else None


def _order(rule: NormalRule, recursive: Sequence[Atom]) -> list[str]:
    """Variables of a rule in the order in which they are chosen: each is tied to those before it, if that can be."""
    left = list(dict.fromkeys(v for a in rule.positives for v in a.vertices))
    if not left:
        return [NOBODY]
    ties = [a.vertices for a in rule.positives if len(a.vertices) == 2]
    ties += [(a, b) for a, b, equal in rule.same if equal]
    order = [_row(recursive) or next(iter(rule.head.vertices), left[0])]
    left.remove(order[0])

    def tied(name: str) -> tuple[int, bool]:
        return sum(name in tie and bool(set(order) & set(tie)) for tie in ties), name in rule.head.vertices

    while left:
        order.append(max(left, key=tied))
        left.remove(order[-1])
    return order
