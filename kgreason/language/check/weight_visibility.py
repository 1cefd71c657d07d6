"""Visibility of edge weights to the rules.

Two graphs whose weights differ only invisibly have the same derived edges, so one evaluation serves both. A weight may
be

- unread: it never leaves its atom;
- compared: it is only compared with numeric constants; then only the open interval between two constants in which it
  lies (or the constant that it equals) is visible;
- added: besides, it is an argument of ``msum`` or ``mmax`` (also inside ``+`` and ``*``) whose result is compared; then
  derived facts can only grow with it, see `monotone_outcome`;
- read: anything else, for instance equality with another weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from kgreason.base.records import record
from kgreason.language.check.checked_program import Aggregation, CheckedProgram, CheckedRule, Filter
from kgreason.language.check.expressions import grown, names
from kgreason.language.syntax.syntax_tree import Binary, Constant, Expression, Unary, Variable
from kgreason.language.vocabulary import COMPARISONS, LOGIC

MIRRORED = {"<": ">", "<=": ">="}


class Use(IntEnum):
    """Visibility of a weight, from nothing to everything."""

    UNREAD = 0
    COMPARED = 1
    ADDED = 2
    READ = 3


@record
class WeightUse:
    """Use of the weights of one edge predicate.

    Single weights are compared with the `constants`, sums and maxima of weights with the `bounds`; both ascend.
    """

    use: Use
    constants: tuple[float, ...] = ()
    bounds: tuple[float, ...] = ()


def weight_uses(program: CheckedProgram) -> dict[str, WeightUse]:
    """Use of the weights of each edge predicate of arity 3."""
    uses = {}
    for predicate in program.edges:
        if program.arities.get(predicate) != 3:
            continue
        # A ground fact of a derived predicate competes with derived facts of the same weight or key.
        use = Use.READ if predicate in program.heads else Use.UNREAD
        constants, bounds = set[float](), set[float]()
        for rule in program.rules:
            for atom in rule.body:
                if atom.predicate == predicate:
                    found, values = _use(rule, atom.terms[2])
                    use = max(use, found)
                    constants |= values
                    bounds |= _bounds(rule) if found is Use.ADDED else set()
        uses[predicate] = WeightUse(use, tuple(sorted(constants)), tuple(sorted(bounds)))
    return uses


def _use(rule: CheckedRule, weight: Variable | Constant) -> tuple[Use, set[float]]:
    if isinstance(weight, Constant):
        value = _number(weight)
        return (Use.READ, set()) if value is None else (Use.COMPARED, {value})
    name, aggregation = weight.name, rule.aggregation
    if sum(t == weight for a in rule.atoms for t in a.terms) > 1:
        return Use.READ, set()
    use, constants = Use.UNREAD, set[float]()
    for step in rule.steps:
        if name not in names(step.expression):
            continue
        values = _compared(step.expression, name) if isinstance(step, Filter) else None
        if values is None:
            return Use.READ, set()
        use, constants = Use.COMPARED, constants | values
    if aggregation:
        # Facts are a set and one contribution counts per contributor: with the weight among the contributors,
        # parallel edges of different weights are distinguished.
        if name in aggregation.contributors or name in aggregation.group:
            return Use.READ, set()
        if aggregation.argument is not None and name in names(aggregation.argument):
            use = Use.ADDED
    return use, constants


def _compared(expression: Expression, name: str) -> set[float] | None:
    """Constants that a variable is compared with; `None` if it is used in other ways."""
    if name not in names(expression):
        return set()
    match expression:
        case Binary() if expression.operator in LOGIC:
            left, right = _compared(expression.left, name), _compared(expression.right, name)
            return None if left is None or right is None else left | right
        case Unary(operator="!"):
            return _compared(expression.operand, name)
        case Binary() if expression.operator in COMPARISONS:
            variable, other = expression.left, expression.right
            if not isinstance(variable, Variable):
                variable, other = other, variable
            value = _number(other)
            return {value} if isinstance(variable, Variable) and value is not None else None
    return None


def _bounds(rule: CheckedRule) -> set[float]:
    assert rule.aggregation is not None
    variable = rule.aggregation.variable
    compared = [_compared(s.expression, variable) for s in rule.after if variable in names(s.expression)]
    return set[float]().union(*(values for values in compared if values))


def _number(node: Expression) -> float | None:
    value = node.value if isinstance(node, Constant) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def monotone_outcome(program: CheckedProgram, uses: Mapping[str, WeightUse]) -> frozenset[str] | None:
    """Predicates that decide whether raising added weights changes the derived facts.

    Let every weight lie between a lower and an upper weight that compare alike with all constants, none of them
    negative. By induction over the strata:

    - A *growing* stratum holds, with higher weights, at least the facts that it holds with lower ones: in its rules an
      added weight only raises sums and maxima, these are only compared with lower bounds, nothing that depends on
      added weights is negated, and its least fixpoint is monotone in its input.
    - Any other stratum must not add weights itself. The predicates of growing strata that it reads, the *outcome*, are
      compared: if they are the same for the lower and the upper weights, they are the same for all weights in between,
      and so is everything that the stratum derives.

    So if each outcome predicate, and each goal in a growing stratum, holds as many facts for the lower as for the upper
    weights, the goals are the same for all weights in between.

    Returns
    -------
    frozenset or None
        The predicates to compare; `None` if a stratum adds weights but does not grow with them.
    """
    added = frozenset(p for p, use in uses.items() if use.use is Use.ADDED)
    growing: set[str] = set()
    outcome: set[str] = set()
    for stratum in program.strata:
        moved = growing | stratum.predicates
        keyed = any(p in program.keyed for p in stratum.predicates)  # a replaced value is no longer derived
        if not keyed and all(_grows(rule, added, moved) for rule in stratum.rules):
            if any(_adds(r, added) or growing & {a.predicate for a in r.positives} for r in stratum.rules):
                growing |= stratum.predicates
        elif any(_adds(rule, added) for rule in stratum.rules):
            return None
        else:
            outcome |= {a.predicate for r in stratum.rules for a in r.body} & growing
    return frozenset(outcome | (set(program.outputs) & growing))


def only_grows(program: CheckedProgram) -> bool:
    """Whether raising weights can only add facts.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> for condition in ("W > 0.5", "W < 0.5", "V = msum(W, <X>), V > 0.5"):
    ...     only_grows(load_text(f'@edge("own"). p(Y) :- own(X,Y,W), {condition}.'))
    True
    False
    True
    """
    uses = weight_uses(program)
    if any(use.use is Use.READ for use in uses.values()):
        return False
    weighed = frozenset(p for p, use in uses.items() if use.use > Use.UNREAD)
    moved = grown(
        weighed,
        lambda met: {r.head.predicate for r in program.rules if any(a.predicate in met for a in r.body)},
    )
    return not any(p in program.keyed for p in moved) and all(
        _grows(rule, weighed, moved) and _asks_for_more(rule, weighed) for rule in program.rules
    )


def only_gains(program: CheckedProgram) -> bool:
    """Whether adding vertices and edges to the graph can only add facts.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> for condition in ("W < 0.5", "V = msum(W, <X>), V > 0.5", "V = msum(W, <X>), V < 0.5", "not own(Y,X,W)"):
    ...     only_gains(load_text(f'@edge("own"). p(Y) :- own(X,Y,W), {condition}.'))
    True
    True
    False
    False
    """
    weighed = frozenset(p for p in program.edges if program.arities.get(p) == 3)
    every = {*program.heads, *program.edges, *program.nodes}
    return not (program.keyed or program.unifications) and all(
        not rule.negatives and _grows(rule, weighed, every) for rule in program.rules
    )


def _asks_for_more(rule: CheckedRule, weighed: frozenset[str]) -> bool:
    """Whether conditions on weights, once true, remain true when the weights rise."""
    weights = [a.terms[2] for a in rule.body if a.predicate in weighed]
    conditions = [step.expression for step in rule.steps]
    return all(
        isinstance(w, Variable) and all(bounds_below(e, w.name) for e in conditions if w.name in names(e))
        for w in weights
    )


def _adds(rule: CheckedRule, added: frozenset[str]) -> frozenset[str]:
    if rule.aggregation is None or rule.aggregation.argument is None:
        return frozenset()
    weights = (t for a in rule.positives if a.predicate in added for t in a.terms[2:])
    return names(rule.aggregation.argument) & {t.name for t in weights if isinstance(t, Variable)}


def _grows(rule: CheckedRule, added: frozenset[str], moved: set[str]) -> bool:
    """Whether a rule keeps its conclusions when added weights rise and `moved` predicates gain facts."""
    if any(a.predicate in moved for a in rule.negatives):
        return False
    aggregation = rule.aggregation
    if aggregation is None:
        return True
    if not any(a.predicate in moved for a in rule.positives) and not _adds(rule, added):
        return True
    return (
        aggregation.monotonic
        and _raises(aggregation, _adds(rule, added))
        and all(t != Variable(aggregation.variable) for t in rule.head.terms)
        and all(
            isinstance(step, Filter) and bounds_below(step.expression, aggregation.variable)
            for step in rule.after
            if aggregation.variable in names(step.expression)
        )
    )


def _raises(aggregation: Aggregation, weights: frozenset[str]) -> bool:
    """Whether the aggregate can only rise with the weights and with further contributors."""
    if aggregation.function == "mcount":
        return True
    argument = aggregation.argument
    return argument is not None and aggregation.function in {"msum", "mmax"} and _rises(argument, weights)


def _rises(expression: Expression, weights: frozenset[str]) -> bool:
    """Whether an expression is never negative and can only rise with the weights, which are not negative."""
    # Rounding is harmless: sums and products of doubles are rounded monotonically.
    if isinstance(expression, Variable):
        return expression.name in weights
    if isinstance(expression, Constant):
        value = _number(expression)
        return value is not None and value >= 0
    if isinstance(expression, Binary) and expression.operator in {"+", "*"}:
        return _rises(expression.left, weights) and _rises(expression.right, weights)
    return False


def bounds_below(expression: Expression, name: str) -> bool:
    """Whether a condition, once true, remains true when the variable rises."""
    if not isinstance(expression, Binary):
        return False
    left, right = expression.left, expression.right
    if expression.operator in {"&&", "||"}:
        return all(bounds_below(e, name) or name not in names(e) for e in (left, right))
    if expression.operator in MIRRORED:
        left, right = right, left
    elif expression.operator not in MIRRORED.values():
        return False
    return isinstance(left, Variable) and left.name == name and name not in names(right)
