"""Pass: drop each variable behind the last operator that uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgreason.engine.table import Kind
from kgreason.plan.ir import (
    Aggregate,
    AntiJoin,
    Assign,
    Filter,
    Invent,
    Join,
    Line,
    Operator,
    Project,
    Scan,
    plain,
)
from kgreason.plan.place import binds, variables


def prune_columns(line: Line, _kinds: Mapping[str, Kind]) -> Line:
    """Fill in `columns` of every operator, in the order in which the operators behind it want them."""
    bound: list[set[str]] = []
    seen: set[str] = set()
    for operator in line.operators:
        bound.append(set(seen))
        seen |= binds(operator)
    pruned: list[Operator] = []
    live: tuple[str, ...] = ()
    for operator, before in zip(reversed(line.operators), reversed(bound), strict=True):
        pruned.append(replace(operator, columns=live))
        wanted = dict.fromkeys((*live, *_uses(operator)))
        if isinstance(operator, Aggregate):
            wanted = dict.fromkeys(_uses(operator))
        live = tuple(v for v in wanted if v in before)
    return Line(tuple(reversed(pruned)))


def inputs(aggregate: Aggregate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Group variables, and those that tell contributions of a group apart.

    The least or greatest of all values needs no contributors.
    """
    aggregation = aggregate.aggregation
    if plain(aggregation) in ("min", "max"):
        return aggregation.group, ()
    group = set(aggregation.group)
    return aggregation.group, tuple(v for v in dict.fromkeys(aggregation.contributors) if v not in group)


def _uses(operator: Operator) -> tuple[str, ...]:
    match operator:
        case Scan() | Join() | AntiJoin() | Project():
            return operator.atom.variables
        case Filter() | Assign():
            return variables(operator.expression)
        case Invent(inventions):
            return tuple(v for invention in inventions for v in invention.frontier)
        case Aggregate(aggregation):
            group, contributors = inputs(operator)
            argument = () if aggregation.argument is None else variables(aggregation.argument)
            return (*group, *contributors, *argument)
