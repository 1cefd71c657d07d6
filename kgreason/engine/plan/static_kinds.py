"""Static type inference: the kind of every argument position and of every variable of a rule.

Kinds of the input, of constants and of rules are propagated forward until a fixpoint. Within a body, a variable and all
its positions have one kind: DOUBLE where integers and doubles occur, and ANY where a labelled null can occur.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from kgreason.base.errors import Diagnostic, ProgramError, Span
from kgreason.engine.plan.double_variables import VariableKinds, double_positions, double_variables
from kgreason.engine.plan.expression_kinds import (
    COLLECTIONS,
    NAMES,
    NO_ORDER,
    NUMBERS,
    SIGNATURE,
    ExpressionKinds,
    join,
    kind_of,
    remedy,
)
from kgreason.engine.plan.ir import plain, variables
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.language.check.checked_program import (
    Aggregation,
    Assign,
    CheckedAtom,
    CheckedProgram,
    CheckedRule,
    Step,
)
from kgreason.language.check.expressions import walk
from kgreason.language.syntax.syntax_tree import NOWHERE, Constant, Expression, Variable

Position = tuple[str, int]

DATA = "the data"  # origin of kinds that come with the facts

COLLECTING = {"set": Kind.SET, "union": Kind.SET, "list": Kind.LIST}  # results of collecting aggregates

_CASTS = tuple(remedy(Kind.STRING, kind) for kind in NUMBERS)


def infer(program: CheckedProgram, facts: Facts, doubles: Collection[Position] = ()) -> Kinds:
    """Infer all kinds.

    Parameters
    ----------
    doubles
        Positions that hold doubles because of rules or facts that are not passed here.

    Raises
    ------
    ProgramError
        With a diagnostic for every rule and fact with incompatible kinds.
    """
    kinds = Kinds(program.arities)
    for predicate, table in facts.tables.items():
        for i, kind in enumerate(table.kinds):
            kinds.meet((predicate, i), kind, DATA)
    for fact in program.facts:
        for i, term in enumerate(fact.terms):
            position = (fact.predicate, i)
            if isinstance(term, Constant) and kind_of(term.value) is not kinds.positions.get(position):
                kinds.meet(position, kind_of(term.value), f"fact {fact}.", fact.span)
    for unification in program.unifications:  # equality is tested for values of any types
        for i in range(2):
            kinds.meet((unification.predicate, i), Kind.ANY, f"rule {unification.rule.text}")
    kinds.changed = True
    while kinds.changed:
        kinds.changed = False
        kinds.clashes.clear()
        for rule in program.rules:
            _Flow(rule, kinds).run()
    # clashes of the data do not matter at positions that accept any type because of nulls
    mixed = (d for position, d in kinds.input_clashes if kinds.positions[position] is not Kind.ANY)
    found = dict.fromkeys((*mixed, *kinds.clashes))
    if found:
        raise ProgramError(tuple(found), program.sources or program.text)
    if Kind.ANY in kinds.positions.values():
        found_doubles = double_positions(program, facts, kinds.positions, doubles)
        kinds.double_positions = frozenset(found_doubles)
        kinds.doubles = {id(rule): double_variables(rule, found_doubles) for rule in program.rules}
    return kinds


@dataclass(eq=False, repr=False)
class Kinds:
    """Inferred kinds; a position or variable that no fact can reach has none.

    `doubles` (variables by rule) and `double_positions` are the variables and positions of kind ANY whose numbers are
    all doubles.
    """

    arities: Mapping[str, int]
    positions: dict[Position, Kind] = field(default_factory=dict)
    origins: dict[Position, str] = field(default_factory=dict)
    rules: dict[int, dict[str, Kind]] = field(default_factory=dict)
    clashes: list[Diagnostic] = field(default_factory=list)
    input_clashes: list[tuple[Position, Diagnostic]] = field(default_factory=list)
    doubles: dict[int, frozenset[str]] = field(default_factory=dict)
    double_positions: frozenset[Position] = frozenset()
    changed: bool = False

    def meet(self, position: Position, kind: Kind, origin: str, span: Span | None = None) -> None:
        """Add values of `kind` to a position."""
        old = self.positions.get(position)
        new = join(old, kind)
        if new is None:
            where = f"argument {position[1] + 1} of {position[0]}"
            assert old is not None
            clash = Diagnostic(
                "E501",
                f"{where} is {NAMES[old]} in {self.origins[position]} and {NAMES[kind]} in {origin}",
                span,
                note="an argument of a predicate has one type; only integers and doubles may meet",
                hint="give it the same type everywhere, for instance with @mapping",
            )
            if span and origin.startswith("rule"):
                self.clashes.append(clash)
            else:
                self.input_clashes.append((position, clash))
        elif new is not old:
            self.positions[position] = new
            self.origins.setdefault(position, origin)
            self.changed = True

    def of_rule(self, rule: CheckedRule) -> VariableKinds | None:
        """Kinds of a rule's variables; `None` if it cannot fire because a predicate has no facts."""
        for atom in rule.positives:
            if any((atom.predicate, i) not in self.positions for i in range(len(atom.terms))):
                return None
        return VariableKinds(self.rules[id(rule)], self.doubles.get(id(rule), frozenset()))

    def tables(self) -> dict[str, tuple[Kind, ...]]:
        """Kinds of every predicate; STRING for positions without facts."""
        return {
            p: tuple(self.positions.get((p, i), Kind.STRING) for i in range(arity))
            for p, arity in self.arities.items()
        }


def mapping(position: Position, name: str) -> str:
    """The annotation that declares the type of a column."""
    return f'@mapping("{position[0]}", {position[1]}, "<column>", "{name}")'


class _Flow:
    """One pass of type propagation through one rule."""

    def __init__(self, rule: CheckedRule, kinds: Kinds) -> None:
        self.rule = rule
        self.kinds = kinds
        self.variables = kinds.rules.setdefault(id(rule), {})

    def run(self) -> None:
        rule = self.rule
        for atom in (*rule.positives, *rule.negatives):
            self.read(atom)
        for step in rule.before:
            self.step(step)
        if rule.aggregation is not None:
            self.bind(rule.aggregation.variable, self.aggregate(), rule.aggregation.span)
        for step in rule.after:
            self.step(step)
        for invention in rule.inventions:
            self.bind(invention.variable, Kind.ANY, rule.span)
        for i, kind in self.term_kinds(rule.head):
            self.kinds.meet((rule.head.predicate, i), kind, f"rule {rule.text}", rule.head.span)

    def step(self, step: Step) -> None:
        if isinstance(step, Assign):
            self.bind(step.variable, self.expression(step.expression, step.span), step.span)
        else:
            kind = self.expression(step.expression, step.span)
            if kind is not None and kind not in (Kind.ANY, Kind.BOOL):
                self.clash("E502", f"{step} is {NAMES[kind]}, not a condition", step.span, SIGNATURE)

    def read(self, atom: CheckedAtom) -> None:
        for i, term in enumerate(atom.terms):
            position = (atom.predicate, i)
            here = self.kinds.positions.get(position)
            if here is None:
                continue
            if isinstance(term, Constant):
                if join(here, kind_of(term.value)) is None:
                    self.mixed(atom, i, here, str(term), kind_of(term.value))
                else:
                    self.kinds.meet(position, kind_of(term.value), f"rule {self.rule.text}", atom.span)
                continue
            kind = self.variables.get(term.name)
            both = join(here, kind)
            if both is None and kind is not None:
                self.mixed(atom, i, here, term.name, kind)
                continue
            self.bind(term.name, here, atom.span)
            self.kinds.meet(position, self.variables[term.name], f"rule {self.rule.text}", atom.span)

    def mixed(self, atom: CheckedAtom, i: int, here: Kind, term: str, kind: Kind) -> None:
        origin = self.kinds.origins[atom.predicate, i]
        self.clash(
            "E501",
            f"{term} is {NAMES[kind]}, but argument {i + 1} of {atom.predicate} is {NAMES[here]}"
            f" (from {origin})",
            atom.span,
            hint=next(filter(None, (self.names(*p) for p in ((atom, i), *self.positions_of(term)))), None),
        )

    def names(self, atom: CheckedAtom, i: int) -> str | None:
        """Hint to read an integer column of the data as strings, because names can be numbers."""
        position = (atom.predicate, i)
        if self.kinds.positions.get(position) is not Kind.INT or self.kinds.origins[position] != DATA:
            return None
        return f"if these are names, read them as strings: {mapping(position, 'string')}"

    def numbers(self, expression: Expression) -> str | None:
        """Hint to read a string column of the data as numbers, if an expression needs numbers."""
        for name in variables(expression):
            for atom, i in self.positions_of(name):
                position = (atom.predicate, i)
                if self.kinds.positions.get(position) is Kind.STRING and self.kinds.origins[position] == DATA:
                    what = f"if {name} should be a number, {mapping(position, 'double')}"
                    return f"{what} names the cells that are none"
        return None

    def positions_of(self, variable: str) -> Iterator[tuple[CheckedAtom, int]]:
        """Positions of a variable in the positive body."""
        for atom in self.rule.positives:
            for i, term in enumerate(atom.terms):
                if isinstance(term, Variable) and term.name == variable:
                    yield atom, i

    def bind(self, variable: str, kind: Kind | None, span: Span) -> None:
        old = self.variables.get(variable)
        new = join(old, kind)
        if new is not None and new is not old:
            self.variables[variable] = new
            self.kinds.changed = True
        elif new is None and old is not None and kind is not None:
            self.clash("E501", f"{variable} is both {NAMES[old]} and {NAMES[kind]}", span)

    def term_kinds(self, atom: CheckedAtom) -> Iterator[tuple[int, Kind]]:
        for i, term in enumerate(atom.terms):
            kind = kind_of(term.value) if isinstance(term, Constant) else self.variables.get(term.name)
            if kind is not None:
                yield i, kind

    def aggregate(self) -> Kind | None:
        aggregation = self.rule.aggregation
        assert aggregation is not None
        name = plain(aggregation)
        argument = aggregation.argument
        if name == "count" or argument is None:
            if argument is not None:
                self.expression(argument, aggregation.span)
            return Kind.INT
        kind = self.expression(argument, aggregation.span)
        if name in COLLECTING:
            return COLLECTING[name]
        if name in ("min", "max"):
            if kind in COLLECTIONS:
                what = f"{aggregation.function} compares values, but {argument} is {NAMES[kind]}"
                self.clash("E502", what, aggregation.span, NO_ORDER)
            return kind
        if kind is not None and kind is not Kind.ANY and kind not in NUMBERS:
            what = f"{aggregation.function} takes numbers, but {argument} is {NAMES[kind]}"
            hint = self.numbers(argument) or remedy(Kind.DOUBLE, kind)
            self.clash("E502", what, aggregation.span, SIGNATURE, hint)
            return None
        # a mean is a double even if the kind of its argument is unknown
        return Kind.DOUBLE if name in ("avg", "median") else kind

    def expression(self, expression: Expression, span: Span) -> Kind | None:
        def complain(code: str, node: Expression, message: str, note: str, hint: str | None) -> None:
            if hint in _CASTS:
                hint = self.numbers(node) or hint
            self.clash(code, message, span if node.span == NOWHERE else node.span, note, hint)

        return ExpressionKinds(self.variables, complain).of(expression)

    def clash(
        self, code: str, message: str, span: Span, note: str | None = None, hint: str | None = None
    ) -> None:
        message = f"{message}\n  rule: {self.rule.text}"
        self.kinds.clashes.append(Diagnostic(code, message, span, note, hint))


def deciding(program: CheckedProgram, kinds: Kinds, needed: Collection[str]) -> set[str]:
    """Predicates whose doubles could turn integers of the `needed` predicates into doubles, through any rules.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> from kgreason.engine.relations.fact_tables import Facts
    >>> program = load_text("r(X) :- a(X, N), w(N). s(X) :- a(X, _), t(X).")
    >>> kinds = infer(program, Facts.from_rows({"a": [("x", 1)]}))
    >>> sorted(deciding(program, kinds, ["a"]))
    ['a', 'w']
    """
    found = {p for p, kind in kinds.positions.items() if p[0] in needed and kind in (Kind.INT, Kind.ANY)}
    size = -1
    while size != len(found):
        size = len(found)
        for rule in program.rules:
            names = _variables(rule, found)
            for atom in (*rule.positives, *rule.negatives):
                found.update(
                    (atom.predicate, i)
                    for i, t in enumerate(atom.terms)
                    if isinstance(t, Variable) and t.name in names
                )
    return {predicate for predicate, _ in found}


def _variables(rule: CheckedRule, positions: Collection[Position]) -> set[str]:
    """Variables of a rule whose types can flow into some of its positions."""
    names = {
        term.name
        for atom in (rule.head, *rule.positives, *rule.negatives)
        for i, term in enumerate(atom.terms)
        if isinstance(term, Variable) and (atom.predicate, i) in positions
    }
    for step in reversed((*rule.before, rule.aggregation, *rule.after)):
        if isinstance(step, Assign) and step.variable in names:
            names |= _used(step.expression)
        elif isinstance(step, Aggregation) and step.variable in names and step.argument is not None:
            names |= _used(step.argument)
    return names


def _used(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Variable)}
