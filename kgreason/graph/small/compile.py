"""From a checked program to a plan for `kgreason.graph.small.kernels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.analysis.checked import CheckedProgram, Stratum
from kgreason.analysis.generic import check_generic, holds_edges
from kgreason.graph.small import kernels as k
from kgreason.graph.small.expressions import Range, Unfit
from kgreason.graph.small.normal import Normalizer, NormalRule, project
from kgreason.graph.small.rules import RulePlan
from kgreason.lang.ast import Expression
from kgreason.records import dataclass


@dataclass(frozen=True)
class Plan:
    """What the interpreter carries out, and what it wants to know of a graph.

    Attributes
    ----------
    code, constants
        As `kgreason.graph.small.kernels` describes; they belong to PLAN and CONSTANT.
    loaded
        For each word of edges: the edge predicate, and conditions on `WEIGHT` that its edges meet.
    slots
        Edge predicates whose weights are read.
    tables
        Number of predicates that hold computed values.
    outputs
        Number of words that come out for a subgraph.
    """

    code: npt.NDArray[np.int64]
    constants: npt.NDArray[np.float64]
    loaded: tuple[tuple[str, tuple[Expression, ...]], ...]
    slots: tuple[str, ...]
    tables: int
    outputs: int


def compile_small(
    program: CheckedProgram, weights: Mapping[str, Range], also: Sequence[str] = ()
) -> Plan:
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
    return _Compiler(project(program), weights).plan((*program.derived, *also))


class _Compiler:
    def __init__(self, program: CheckedProgram, weights: Mapping[str, Range]) -> None:
        self.program = program
        self.normalizer = Normalizer(program)
        self.weights = weights
        self.derived = list(dict.fromkeys(r.head.predicate for r in program.rules))
        self.loaded: dict[tuple[str, tuple[Expression, ...]], int] = {}
        self.slots: dict[str, int] = {}
        self.tables: dict[str, int] = {}
        self.ranges: dict[str, Range] = {}  # of the values of derived predicates
        self.constants: dict[float, int] = {}
        self.code = [0] * k.HEADER
        self._check_edges()

    def plan(self, outputs: Sequence[str]) -> Plan:
        strata = [self._stratum(stratum) for stratum in self.program.strata]
        wanted = [number for predicate in outputs for number in self._output(predicate)]
        self.code[k.COPIES - k.PLAN] = self.put([len(self.derived), *map(self._given, self.derived)])
        self.code[k.STRATA - k.PLAN] = self.put([len(strata), *(number for s in strata for number in s)])
        self.code[k.OUTPUTS - k.PLAN] = self.put([len(outputs), *wanted])
        self.code[k.WORDS - k.PLAN] = words = k.FIRST + len(self.derived) + len(self.loaded)
        self.code[k.SLOTS - k.PLAN] = len(self.slots)
        self.code[k.TABLES - k.PLAN] = k.CONSTANT + len(self.constants)
        if words > k.MOST:
            raise Unfit("there are too many predicates")
        return Plan(
            np.array(self.code, dtype=np.int64),
            np.array(list(self.constants), dtype=np.float64),
            tuple(self.loaded),
            tuple(self.slots),
            len(self.tables),
            len(outputs),
        )

    def put(self, numbers: Sequence[int]) -> int:
        """Append numbers to the plan; returns their place."""
        self.code += numbers
        return k.PLAN + len(self.code) - len(numbers)

    def word(self, predicate: str, conditions: tuple[Expression, ...] = ()) -> int:
        """Word of a predicate; of an edge predicate: of its edges whose weights meet conditions."""
        if predicate in self.derived:
            return k.FIRST + self.derived.index(predicate)
        if predicate in self.program.nodes:
            return k.ALL
        if predicate in self.program.edges:
            return self._edges(predicate, conditions)
        raise Unfit(f"the facts of `{predicate}` come from elsewhere")

    def value(self, predicate: str) -> tuple[int, int, Range]:
        """Slot among the computed values (-1: none), slot of the weights, and range of the value of a predicate."""
        if predicate in self.tables:
            return self.tables[predicate], -1, self.ranges[predicate]
        if predicate in self.program.edges and predicate in self.weights:
            return -1, self.slots.setdefault(predicate, len(self.slots)), self.weights[predicate]
        raise Unfit(f"the value of `{predicate}` is not known before")

    def _edges(self, predicate: str, conditions: tuple[Expression, ...]) -> int:
        number = self.loaded.setdefault((predicate, conditions), len(self.loaded))
        return k.FIRST + len(self.derived) + number

    def _given(self, predicate: str) -> int:
        """Word that a derived predicate begins with."""
        if predicate in self.program.nodes:
            return k.ALL
        return self._edges(predicate, ()) if predicate in self.program.edges else k.NONE

    def _output(self, predicate: str) -> tuple[int, int]:
        """Words of a wanted predicate and of what is no answer, because it was given."""
        wanted_edges = predicate in self.program.derived
        if wanted_edges and not holds_edges(predicate, self.normalizer.positions):
            return k.NONE, k.NONE
        if predicate not in self.derived:
            return k.NONE, k.NONE
        return self.word(predicate), self._given(predicate) if wanted_edges else k.NONE

    def _check_edges(self) -> None:
        for predicate in self.program.edges:
            arity = self.program.arities.get(predicate, 2)
            if arity not in (2, 3) or (arity == 3 and predicate in self.derived):
                raise Unfit(f"the rules derive weighted edges of `{predicate}`, or give them more arguments")

    def _stratum(self, stratum: Stratum) -> list[int]:
        rules = [self.normalizer.rule(rule) for rule in stratum.rules]
        for rule in rules:
            self._check_value(stratum, rule)
        # rules that nothing recursive goes into come first, so that the others find their facts
        made = [RulePlan(self, stratum, rule) for rule in rules]
        made.sort(key=lambda rule: rule.when != k.ONCE)
        return [int(stratum.recursive), len(made), *(rule.place() for rule in made)]

    def _check_value(self, stratum: Stratum, rule: NormalRule) -> None:
        """A value in a head must be the only one for its key, and final."""
        predicate = rule.head.predicate
        if rule.head.value is None:
            return
        if stratum.recursive or len(stratum.rules) > 1 or predicate in self.program.edges:
            raise Unfit(f"the value of `{predicate}` is not found by one rule alone, without recursion")
        self.tables[predicate] = len(self.tables)
