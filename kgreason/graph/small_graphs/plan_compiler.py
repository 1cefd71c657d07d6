"""Compiler from a checked program to a plan for `kgreason.graph.small_graphs.bit_kernels`.

Variables of a rule beyond three are eliminated one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kgreason.base.records import record
from kgreason.graph.small_graphs import bit_kernels as k
from kgreason.graph.small_graphs.normal_form import Atom, NormalRule, Range, Unfit, project, range_of
from kgreason.language.check.checked_program import Aggregation, CheckedProgram, Stratum
from kgreason.language.check.expressions import names, rewrite
from kgreason.language.check.genericity import check_generic, holds_edges, vertex_positions
from kgreason.language.check.weight_visibility import bounds_below
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Unary, Variable
from kgreason.language.vocabulary import COMPARISONS, MONOTONIC

LARGEST = 8  # vertices of a subgraph: a relation between them has at most 64 pairs
MOST_LOADED = 31  # bits of the flags of a pair
WEIGHT = Variable("W")  # in conditions on a single weight

FUNCTIONS = {"sum": k.SUM, "count": k.COUNT, "min": k.LEAST, "max": k.GREATEST}
DIRECTIONS: dict[tuple[int, ...], int] = {(0, 2): k.COLUMN, (2, 1): k.ROW, (0, 1): k.PLAIN}
EQUALITIES: dict[tuple[int, ...], int] = {(0, 2): k.A_IS_Z, (2, 1): k.Z_IS_B, (0, 1): k.A_IS_B}
_OPERATORS = {"+": k.ADD, "-": k.SUBTRACT, "*": k.TIMES, "/": k.DIVIDE, "&&": k.AND, "||": k.OR}
_COMPARE = {"<": (k.BELOW, False), ">": (k.BELOW, True), "<=": (k.UP_TO, False), ">=": (k.UP_TO, True)}


@record
class Plan:
    """Plan for the interpreter, with the data it needs from a graph."""

    code: npt.NDArray[np.int64]  # as described in `kgreason.graph.small_graphs.bit_kernels`
    constants: npt.NDArray[np.float64]
    # for each word of edges: the edge predicate, and the conditions on `WEIGHT` that its edges meet
    loaded: tuple[tuple[str, tuple[Expression, ...]], ...]
    slots: tuple[str, ...]  # edge predicates whose weights are read
    outputs: int  # number of output words per subgraph
    integers: int  # size of the working memory
    doubles: int


def compile_small(program: CheckedProgram, weights: Mapping[str, Range], also: Sequence[str] = ()) -> Plan:
    """Compile a program to a plan.

    `weights` holds the range of the weights of each edge predicate of arity 3, `also` the predicates wanted after
    ``program.derived``. If the interpreter cannot run the program, `Unfit` gives the reason.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
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
    trial = _Compiler(program, weights, MOST_LOADED)
    trial.plan(outputs)
    return _Compiler(program, weights, len(trial.loaded)).plan(outputs)  # room for the loaded words only


class _Compiler:
    """Compiler of one plan, stratum by stratum."""

    def __init__(self, program: CheckedProgram, weights: Mapping[str, Range], room: int) -> None:
        self.program = program
        self.room = room  # number of words of edges, which are contiguous
        self.positions = vertex_positions(program)
        self.weights = weights
        self.derived = list(dict.fromkeys(r.head.predicate for r in program.rules))
        self.loaded: dict[tuple[str, tuple[Expression, ...]], int] = {}
        self.slots: dict[str, int] = {}
        self.tables: dict[str, int] = {}
        self.ranges: dict[str, Range] = {}  # of the values of derived predicates
        self.constants: dict[float, int] = {}
        self.code = [0] * k.HEADER
        self.further = 0  # auxiliary words
        self.kept = 2  # the first two are reserved for the terms met now
        self.turned: dict[int, int] = {}
        self.moving: set[int] = set()  # words changed by the current stratum
        self.operations: list[tuple[bool, int]] = []  # of the current stratum
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
        """Append numbers to the plan; returns their index."""
        self.code += numbers
        return len(self.code) - len(numbers)

    def word(self, predicate: str, conditions: tuple[Expression, ...] = ()) -> int:
        """Word of a predicate; for an edge predicate, of its edges whose weights meet the conditions."""
        if predicate in self.derived:
            return k.FIRST + self.derived.index(predicate)
        if predicate in self.program.nodes:
            return k.ALL
        if predicate in self.program.edges:
            return self._edges(predicate, conditions)
        raise Unfit(f"the facts of `{predicate}` come from elsewhere")

    def fresh(self) -> int:
        """New auxiliary word for an intermediate result."""
        self.further += 1
        return k.FIRST + len(self.derived) + self.room + self.further - 1

    def transposed(self, word: int) -> int:
        if word not in self.turned:
            self.turned[word] = self.fresh()
            self.operation(k.TRANSPOSE, self.turned[word], word, (), again=self.live(word))
        return self.turned[word]

    def live(self, word: int) -> bool:
        """Whether the current stratum changes a word."""
        return word in self.moving

    def value(self, predicate: str) -> tuple[int, int, Range]:
        """Slot of computed values, slot of weights (-1: none), and range of the value of a predicate."""
        if predicate in self.tables:
            return self.tables[predicate], -1, self.ranges[predicate]
        if predicate in self.program.edges and predicate in self.weights:
            return -1, self.slots.setdefault(predicate, len(self.slots)), self.weights[predicate]
        raise Unfit(f"the value of `{predicate}` is not known before")

    def operation(self, kind: int, word: int, source: int, rest: Sequence[int], *, again: bool) -> None:
        if again:
            self.moving.add(word)
        self.operations.append((again, self.put([kind, int(again), word, source, *rest])))

    def keep(self) -> int:
        """Index among the met terms, for all z."""
        self.kept += LARGEST
        return self.kept - LARGEST

    def _edges(self, predicate: str, conditions: tuple[Expression, ...]) -> int:
        number = self.loaded.setdefault((predicate, conditions), len(self.loaded))
        if number == self.room:
            raise Unfit(f"weights meet more than {MOST_LOADED} different conditions")
        return k.FIRST + len(self.derived) + number

    def _given(self, predicate: str) -> int:
        """Word that a derived predicate is initialized with."""
        if predicate in self.program.nodes:
            return k.ALL
        return self._edges(predicate, ()) if predicate in self.program.edges else k.NONE

    def _output(self, predicate: str) -> tuple[int, int]:
        """Words of a wanted predicate and of its given facts, which are not part of the answer."""
        wanted_edges = predicate in self.program.derived
        if predicate not in self.derived or (wanted_edges and not holds_edges(predicate, self.positions)):
            return k.NONE, k.NONE
        return self.word(predicate), self._given(predicate) if wanted_edges else k.NONE

    def _stratum(self, stratum: Stratum) -> list[int]:
        """Write the operations of a stratum; those outside the recursion come first."""
        self.moving = set[int]()
        if stratum.recursive:
            self.moving = {self.word(predicate) for predicate in stratum.predicates}
        self.operations = []
        for checked in stratum.rules:
            rule = NormalRule(checked, self.program.arities, self.positions)
            if rule.head.value is not None:
                predicate = rule.head.predicate
                if stratum.recursive or len(stratum.rules) > 1 or predicate in self.program.edges:
                    raise Unfit(
                        f"the value of `{predicate}` is not found by one rule alone, without recursion"
                    )
                self.tables[predicate] = len(self.tables)
            _RulePlan(self, rule).write()
        self.operations.sort(key=lambda operation: operation[0])
        return [int(stratum.recursive), len(self.operations), *(place for _, place in self.operations)]


@record
class _Term:
    """A word over at most two variables, or an equality of two variables (no word)."""

    word: int | None
    vertices: tuple[str, ...]
    positive: bool = True


class _RulePlan:
    def __init__(self, compiler: _Compiler, rule: NormalRule) -> None:
        self.compiler, self.rule = compiler, rule
        self.ranges: dict[str, Range] = {}
        self.read: list[Atom] = []  # atoms whose values are read
        self.conditions = list(rule.conditions)
        self.terms = [self._term(atom) for atom in rule.positives]
        self.terms += [_Term(compiler.word(a.predicate), a.vertices, positive=False) for a in rule.negatives]
        self.terms += [_Term(None, (a, b), equal) for a, b, equal in rule.same]

    def write(self) -> None:
        rule, total = self.rule, self.rule.aggregation
        ends = tuple(dict.fromkeys(rule.head.vertices))
        used = {v for atom in self.read for v in atom.vertices}
        used |= {v for c in self.conditions for v in names(c)} & {v for t in self.terms for v in t.vertices}
        third = set(total.contributors) | (used - set(ends)) if total else used - set(ends)
        if len(third) > 1:
            raise Unfit(f"weights of more than three vertices come together: {rule.text}")
        self._eliminate({*ends, *third}, spare=int(not third and not total))
        third |= {v for t in self.terms for v in t.vertices} - set(ends)
        order = [*ends, *[""] * (2 - len(ends)), *third]
        places = {name: i for i, name in enumerate(order) if name}
        word = self.compiler.word(rule.head.predicate)
        source = -1 if third else 1
        if total is None and not self.read and not self.conditions:
            if len(ends) < len(rule.head.vertices):
                self.terms.append(_Term(None, (ends[0], "twin")))
                places["twin"] = 1
            self._operation(k.COMBINE, word, source, places)
        else:
            self._operation(k.TOTAL, word, source, places, (self._shape(), self._total(places)))

    def _term(self, atom: Atom) -> _Term:
        """Term of an atom; its value is read unless words of edges already reflect all conditions on it."""
        total = self.rule.aggregation
        about = [c for c in self.conditions if atom.value in names(c)]
        used = atom.value is not None and total is not None and total.argument is not None
        used = used and atom.value in names(total.argument)  # type: ignore[union-attr, arg-type]
        conditions: tuple[Expression, ...] = ()
        if (
            used
            or any(len(names(c)) > 1 for c in about)
            or (about and atom.predicate in self.compiler.tables)
        ):
            self.read.append(atom)
        elif about:
            self.conditions = [c for c in self.conditions if c not in about]
            conditions = tuple(self._alone(c, atom) for c in about)
        return _Term(self.compiler.word(atom.predicate, conditions), atom.vertices)

    def _alone(self, condition: Expression, atom: Atom) -> Expression:
        """Condition on the weight of one atom, normalized so that rules share it."""
        found = rewrite(condition, lambda n: WEIGHT if isinstance(n, Variable) else n)
        trial = _Steps({}, {}, {WEIGHT.name: self.compiler.weights.get(atom.predicate, Range(0, 1))})
        trial.register(WEIGHT.name)
        trial.condition(found)
        return found

    def _eliminate(self, kept: set[str], spare: int) -> None:
        """Eliminate variables except those to keep and `spare` others, by auxiliary words."""
        while len(left := {v for t in self.terms for v in t.vertices} - kept) > spare:

            def near(variable: str) -> set[str]:
                return {v for t in self.terms if variable in t.vertices for v in t.vertices} - {variable}

            variable = min(sorted(left), key=lambda v: len(near(v)))
            ends = sorted(near(variable))
            if len(ends) > 2:
                raise Unfit(f"more than three variables depend on each other: {self.rule.text}")
            others = [t for t in self.terms if variable not in t.vertices]
            self.terms = [t for t in self.terms if variable in t.vertices]
            word = self.compiler.fresh()
            places = {name: i for i, name in enumerate(ends)} | {variable: 2}
            self._operation(k.COMBINE, word, -1, places)
            self.terms = [*others, _Term(word, tuple(ends))]

    def _operation(
        self, kind: int, word: int, source: int, places: Mapping[str, int], total: tuple[int, int] = (0, 0)
    ) -> None:
        again = any(t.word is not None and self.compiler.live(t.word) for t in self.terms)
        written = [number for t in self.terms for number in self._written(t, places)]
        kept = self.compiler.keep() if kind == k.TOTAL else 0
        rest = [self.compiler.put([len(written) // 3, *written]), kept, *total]
        self.compiler.operation(kind, word, source, rest, again=again)

    def _written(self, term: _Term, places: Mapping[str, int]) -> tuple[int, int, int]:
        flip = 0 if term.positive else -1
        ends = tuple(places[v] for v in term.vertices)
        if term.word is None:
            if ends[0] == ends[1]:
                return k.PLAIN, k.ALL, flip
            return EQUALITIES.get(ends, EQUALITIES.get(ends[::-1], 0)), k.ALL, flip
        if len(ends) == 0 or ends == (0,):
            return k.PLAIN, term.word, flip
        if ends == (2,):
            return k.ROW, term.word, flip
        if ends == (1,):
            return k.PLAIN, self.compiler.transposed(term.word), flip
        if ends in DIRECTIONS:
            return DIRECTIONS[ends], term.word, flip
        return DIRECTIONS[ends[::-1]], self.compiler.transposed(term.word), flip

    def _shape(self) -> int:
        head = self.rule.head.vertices
        if len(head) == 2:
            return k.PAIRS if head[0] != head[1] else k.DIAGONAL
        return k.ONES if head else k.NOTHING

    def _total(self, places: Mapping[str, int]) -> int:
        """Write a total: the steps before it, the aggregate, the steps after it."""
        steps = _Steps(self.compiler.constants, places, self.ranges)
        values: list[int] = []
        for atom in self.read:
            assert atom.value is not None
            table, slot, self.ranges[atom.value] = self.compiler.value(atom.predicate)
            ends = [*(places[v] for v in atom.vertices), *[-1] * (2 - len(atom.vertices))]
            values += [table, slot, *ends, steps.register(atom.value)]
        for condition in self.conditions:
            steps.condition(condition)
        total = self.rule.aggregation
        function, argument = k.EXISTS, 0
        if total is not None:
            name = total.function[1:] if total.function in MONOTONIC else total.function
            function = FUNCTIONS.get(name, -1)
            if function < 0:
                raise Unfit(f"`{total.function}` is none of {', '.join(FUNCTIONS)}")
            if function != k.COUNT and total.argument is not None:
                argument = steps.value(total.argument)
        before = steps.take()
        result, table = 0, -1
        if total is not None:
            result = steps.register(total.variable)
            self.ranges[total.variable] = self._range(total, function)
            if any(t.word is not None and self.compiler.live(t.word) for t in self.terms):
                self._check_recursive(total, function)
            for condition in self.rule.after:
                if names(condition) != {total.variable}:
                    raise Unfit(f"`{condition}` is not about {total.variable} alone")
                steps.condition(condition)
        if self.rule.head.value is not None:
            table = self.compiler.tables[self.rule.head.predicate]
            self.compiler.ranges[self.rule.head.predicate] = self.ranges[self.rule.head.value]
        put = self.compiler.put
        numbers = [function, argument, result, put(steps.take()), table, put(before)]
        return put([*numbers, len(self.read), *values])

    def _check_recursive(self, total: Aggregation, function: int) -> None:
        """Check that in recursion, conditions met by an intermediate total are also met by the final one."""
        rising = function != k.LEAST and all(bounds_below(c, total.variable) for c in self.rule.after)
        if rising and function == k.SUM and total.argument is not None:
            rising = range_of(total.argument, self.ranges).low >= 0
        if not rising or self.rule.head.value is not None:
            raise Unfit(f"in recursion, a total must rise, and pass bounds from below only: {self.rule.text}")

    def _range(self, total: Aggregation, function: int) -> Range:
        if function == k.COUNT or total.argument is None:
            return Range(0, k.MOST, whole=True)
        one = range_of(total.argument, self.ranges)
        if function != k.SUM:
            return one
        return Range(k.MOST * min(one.low, 0), k.MOST * max(one.high, 0), one.whole)


class _Steps:
    """Steps of one rule (`bit_kernels`), from the registers of the plan's constants, to which new ones are added."""

    def __init__(
        self, constants: dict[float, int], levels: Mapping[str, int], ranges: Mapping[str, Range]
    ) -> None:
        self.constants = constants
        self.levels = levels  # 0 to 2 for each vertex variable
        self.ranges = ranges  # of each value variable
        self.registers: dict[str, int] = {}
        self.used = 0
        self.steps: list[tuple[int, int, int, int]] = []

    def register(self, name: str = "") -> int:
        """Register of a variable, or a free one."""
        if name in self.registers:
            return self.registers[name]
        if self.used == k.MOST - 1:  # the last one is reserved for the kernel
            raise Unfit("a rule has too many values")
        self.used += 1
        if name:
            self.registers[name] = self.used - 1
        return self.used - 1

    def value(self, node: Expression) -> int:
        """Compile a value; returns its register."""
        range_of(node, self.ranges)
        match node:
            case Variable(name):
                return self.registers[name]
            case Constant(value):
                return self.constants.setdefault(float(value), k.CONSTANT + len(self.constants))  # type: ignore[arg-type]
            case Unary(_, operand):
                return self.value(Binary("-", Constant(0), operand))
            case Binary(operator, left, right):
                a, b = self.value(left), self.value(right)
                return self._step(_OPERATORS[operator], self.register(), a, b)
        raise AssertionError(node)

    def condition(self, node: Expression) -> None:
        """Compile a condition that must hold."""
        self._truth(node, -1)

    def take(self) -> list[int]:
        """Return the steps so far, encoded for a plan, and start a new list."""
        found = [len(self.steps), *(number for step in self.steps for number in step)]
        self.steps = []
        return found

    def _truth(self, node: Expression, target: int | None = None) -> int:
        """Compile a condition to 1 or 0 in a register, or to a test if the target is -1."""
        target = self.register() if target is None else target
        match node:
            case Unary("!", operand):
                inner = self._truth(operand)
                return self._step(k.NOT, target, inner, inner)
            case Binary("&&" | "||", left, right):
                a, b = self._truth(left), self._truth(right)
                return self._step(_OPERATORS[node.operator], target, a, b)
            case Binary("!=", left, right):
                equal = self._equal(left, right, self.register())
                return self._step(k.NOT, target, equal, equal)
            case Binary("==", left, right):
                return self._equal(left, right, target)
            case Binary(operator, left, right) if operator in COMPARISONS:
                code, swapped = _COMPARE[operator]
                a, b = self.value(left), self.value(right)
                return self._step(code, target, *((b, a) if swapped else (a, b)))
        raise Unfit(f"`{node}` is more than a comparison")

    def _equal(self, left: Expression, right: Expression, target: int) -> int:
        match left, right:
            case Variable(a), Variable(b) if {a, b} <= self.levels.keys():
                return self._step(k.MEET, target, self.levels[a], self.levels[b])
        return self._step(k.EQUAL, target, self.value(left), self.value(right))

    def _step(self, operator: int, target: int, a: int, b: int) -> int:
        self.steps.append((operator, target, a, b))
        return target
