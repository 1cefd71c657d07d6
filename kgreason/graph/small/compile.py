"""From a checked program to a plan for `kgreason.graph.small.kernels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram, Stratum
from kgreason.analysis.generic import check_generic, holds_edges
from kgreason.graph.small import kernels as k
from kgreason.graph.small.expressions import Range, Unfit
from kgreason.graph.small.normal import Normalizer, NormalRule, project
from kgreason.graph.small.rules import RulePlan
from kgreason.lang.ast import Expression

LARGEST = 8
"""Vertices of a subgraph: a relation between them has at most 64 pairs."""

MOST_LOADED = 31  # bits of the flags of a pair


@dataclass(frozen=True)
class Plan:
    """What the interpreter carries out, and what it wants to know of a graph.

    Attributes
    ----------
    code, constants
        As `kgreason.graph.small.kernels` describes.
    loaded
        For each word of edges: the edge predicate, and conditions on `WEIGHT` that its edges meet.
    slots
        Edge predicates whose weights are read.
    outputs
        Number of words that come out for a subgraph.
    integers, doubles
        Memory that it needs besides.
    """

    code: npt.NDArray[np.int64]
    constants: npt.NDArray[np.float64]
    loaded: tuple[tuple[str, tuple[Expression, ...]], ...]
    slots: tuple[str, ...]
    outputs: int
    integers: int
    doubles: int


def compile_small(program: CheckedProgram, weights: Mapping[str, Range], also: Sequence[str] = ()) -> Plan:
    """Make a plan of a program.

    Parameters
    ----------
    weights
        Least and greatest weight of each edge predicate of arity 3.
    also
        Predicates that are wanted besides ``program.derived``; the outputs are those of both, in this order.

    Raises
    ------
    Unfit
        If the interpreter cannot carry the program out. The message says why.

    Examples
    --------
    >>> from kgreason.analysis.check import load_text
    >>> text = '@edge("own"). @derived("p"). p(X,Y) :- own(X,Y,W), W > 0.5.'
    >>> plan = compile_small(load_text(text), {"own": Range(0.0, 1.0)})
    >>> [(predicate, *map(str, conditions)) for predicate, conditions in plan.loaded]
    [('own', 'W > 0.5')]
    """
    for diagnostic in check_generic(program):
        raise Unfit(diagnostic.message)
    if program.facts:
        raise Unfit(f"the rules state the fact {program.facts[0]}")
    program, outputs = project(program), (*program.derived, *also)
    draft = _Compiler(program, weights, MOST_LOADED)
    draft.plan(outputs)
    return _Compiler(program, weights, len(draft.loaded)).plan(outputs)  # now it is known how many are loaded


class _Compiler:
    """Writes a plan, stratum after stratum; see `kgreason.graph.small.rules.Book`."""

    def __init__(self, program: CheckedProgram, weights: Mapping[str, Range], room: int) -> None:
        self.program = program
        self.room = room  # for words of edges, which stand side by side
        self.normalizer = Normalizer(program)
        self.weights = weights
        self.derived = list(dict.fromkeys(r.head.predicate for r in program.rules))
        self.loaded: dict[tuple[str, tuple[Expression, ...]], int] = {}
        self.slots: dict[str, int] = {}
        self.tables: dict[str, int] = {}
        self.ranges: dict[str, Range] = {}  # of the values of derived predicates
        self.constants: dict[float, int] = {}
        self.code = [0] * k.HEADER
        self.further = 0  # words that are no predicates
        self.kept = 2  # the first two are for what is met now
        self.turned: dict[int, int] = {}
        self.moving: set[int] = set()  # words that the present stratum changes
        self.operations: list[tuple[bool, int]] = []  # of the present stratum
        for predicate in program.edges:
            arity = program.arities.get(predicate, 2)
            if arity not in (2, 3) or (arity == 3 and predicate in self.derived):
                raise Unfit(f"the rules derive weighted edges of `{predicate}`, or give them more arguments")

    def plan(self, outputs: Sequence[str]) -> Plan:
        strata = [self._stratum(stratum) for stratum in self.program.strata]
        wanted = [number for predicate in outputs for number in self._output(predicate)]
        places = {
            k.GIVEN: self.put([len(self.derived), *map(self._given, self.derived)]),
            k.STRATA: self.put([len(strata), *(number for s in strata for number in s)]),
            k.OUTPUTS: self.put([len(outputs), *wanted]),
        }
        words = k.FIRST + len(self.derived) + self.room + self.further
        places |= {
            k.WORDS: len(self.code),
            k.RECORDS: len(self.code) + words * k.BLOCK,
            k.MET: len(self.code) + (words + k.MOST) * k.BLOCK,
            k.TABLES: k.CONSTANT + len(self.constants),
            k.SLOTS: len(self.slots),
            k.EDGES: k.FIRST + len(self.derived),
        }
        for name, place in places.items():
            self.code[name] = place
        return Plan(
            np.array(self.code, dtype=np.int64),
            np.array(list(self.constants), dtype=np.float64),
            tuple(self.loaded),
            tuple(self.slots),
            len(outputs),
            (words + k.MOST + self.kept) * k.BLOCK,
            len(self.tables) * k.BLOCK * k.MOST,
        )

    def put(self, numbers: Sequence[int]) -> int:
        """Append numbers to the plan; returns their place."""
        self.code += numbers
        return len(self.code) - len(numbers)

    def word(self, predicate: str, conditions: tuple[Expression, ...] = ()) -> int:
        """Word of a predicate; of an edge predicate: of its edges whose weights meet conditions."""
        if predicate in self.derived:
            return k.FIRST + self.derived.index(predicate)
        if predicate in self.program.nodes:
            return k.ALL
        if predicate in self.program.edges:
            return self._edges(predicate, conditions)
        raise Unfit(f"the facts of `{predicate}` come from elsewhere")

    def fresh(self) -> int:
        """Word of its own for what a rule finds on the way."""
        self.further += 1
        return k.FIRST + len(self.derived) + self.room + self.further - 1

    def transposed(self, word: int) -> int:
        """Word of the transposed relation."""
        if word not in self.turned:
            self.turned[word] = self.fresh()
            self.operation(k.TRANSPOSE, self.turned[word], word, (), again=self.live(word))
        return self.turned[word]

    def live(self, word: int) -> bool:
        """Whether facts of the present stratum change a word."""
        return word in self.moving

    def value(self, predicate: str) -> tuple[int, int, Range]:
        """Slot among computed values, slot of weights (-1: it has none), and range of the value of a predicate."""
        if predicate in self.tables:
            return self.tables[predicate], -1, self.ranges[predicate]
        if predicate in self.program.edges and predicate in self.weights:
            return -1, self.slots.setdefault(predicate, len(self.slots)), self.weights[predicate]
        raise Unfit(f"the value of `{predicate}` is not known before")

    def operation(self, kind: int, word: int, source: int, rest: Sequence[int], *, again: bool) -> None:
        """Append an operation to the present stratum."""
        if again:
            self.moving.add(word)
        self.operations.append((again, self.put([kind, int(again), word, source, *rest])))

    def keep(self) -> int:
        """Place among the met terms for all z."""
        self.kept += LARGEST
        return self.kept - LARGEST

    def _edges(self, predicate: str, conditions: tuple[Expression, ...]) -> int:
        number = self.loaded.setdefault((predicate, conditions), len(self.loaded))
        if number == self.room:
            raise Unfit(f"weights meet more than {MOST_LOADED} different conditions")
        return k.FIRST + len(self.derived) + number

    def _given(self, predicate: str) -> int:
        """Word that a derived predicate begins with."""
        if predicate in self.program.nodes:
            return k.ALL
        return self._edges(predicate, ()) if predicate in self.program.edges else k.NONE

    def _output(self, predicate: str) -> tuple[int, int]:
        """Words of a wanted predicate and of what is no answer, because it was given."""
        wanted_edges = predicate in self.program.derived
        if predicate not in self.derived or (
            wanted_edges and not holds_edges(predicate, self.normalizer.positions)
        ):
            return k.NONE, k.NONE
        return self.word(predicate), self._given(predicate) if wanted_edges else k.NONE

    def _stratum(self, stratum: Stratum) -> list[int]:
        """Write the operations of a stratum; those that nothing recursive goes into come first."""
        self.moving = set[int]()
        if stratum.recursive:
            self.moving = {self.word(predicate) for predicate in stratum.predicates}
        self.operations = []
        for rule in map(self.normalizer.rule, stratum.rules):
            self._check_value(stratum, rule)
            RulePlan(self, rule).write()
        self.operations.sort(key=lambda operation: operation[0])
        return [int(stratum.recursive), len(self.operations), *(place for _, place in self.operations)]

    def _check_value(self, stratum: Stratum, rule: NormalRule) -> None:
        """A value in a head must be the only one for its key, and final."""
        predicate = rule.head.predicate
        if rule.head.value is None:
            return
        if stratum.recursive or len(stratum.rules) > 1 or predicate in self.program.edges:
            raise Unfit(f"the value of `{predicate}` is not found by one rule alone, without recursion")
        self.tables[predicate] = len(self.tables)
