"""Groups of an aggregate with their contributions, limited to a readable number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgreason.base.records import record
from kgreason.engine.plan.double_variables import gives_double
from kgreason.engine.plan.ir import plain
from kgreason.engine.relations.fact_tables import Kind, decode
from kgreason.engine.relations.symbols import Codes
from kgreason.engine.seminaive.value_aggregates import TOTALS
from kgreason.language.check.checked_program import Aggregation, CheckedRule
from kgreason.language.values import Value
from kgreason.provenance.body_matching import Batch, Binding, Match, Matcher
from kgreason.provenance.known_facts import Ids
from kgreason.provenance.proof_tree import Bound, shown

LISTED = 100  # contributions of one group that are listed, those of the greatest values


@record
class Part:
    """Contribution of a group: contributor, value, and the match that gives it."""

    contributor: Bound
    value: Value
    match: Match


@dataclass(frozen=True, slots=True)
class Group:
    """Group of an aggregate: a binding of the group variables and the total, and the listed of `size` contributions.

    The `height` is the greatest one of the premises of all contributions.
    """

    binding: Binding
    total: Value
    parts: tuple[Part, ...]
    size: int
    height: int


def groups(matcher: Matcher, aggregation: Aggregation, head: Binding, below: int | None) -> Iterator[Group]:
    """Groups that agree with a head, with totals and contributions; conditions on totals are not checked."""
    start = {name: head[name] for name in aggregation.group if name in head}
    batches = [batch for batch in matcher.matches(start, below) if batch.size]
    if batches:
        yield from _Sorter(matcher, aggregation, Batch.together(batches)).groups()


def group_of(matcher: Matcher, aggregation: Aggregation, whole: Group, parts: Sequence[Part]) -> Group:
    """Group restricted to some contributions, with their total."""
    value = total(plain(aggregation), [part.value for part in parts])
    cell = matcher.code(aggregation.variable, value)
    assert cell is not None
    binding = {name: whole.binding[name] for name in aggregation.group} | {aggregation.variable: cell}
    height = max(part.match.height for part in parts)
    return Group(binding, value, tuple(parts), len(parts), height)


def total(name: str, values: Sequence[Any]) -> Value:
    """Aggregate `name` (without the ``m`` of the monotonic form) of the values of all contributors."""
    if name == "count":
        return len(values)
    if name == "union":
        values = [v for part in values for v in (part if isinstance(part, frozenset) else (part,))]
    found: Value = TOTALS[name](list(values))
    return found


class _Sorter:
    """Partition of the matches of a body into groups, with one match per contributor."""

    def __init__(self, matcher: Matcher, aggregation: Aggregation, batch: Batch) -> None:
        self.matcher, self.aggregation, self.batch = matcher, aggregation, batch
        self.name = plain(aggregation)
        self.heights = matcher.heights(batch)
        self.kind, self.codes = Kind.INT, np.ones(batch.size, dtype=np.int64)
        if self.name != "count" and aggregation.argument is not None:
            self.kind = matcher.kind(aggregation.argument)
            self.codes = matcher.computed(aggregation.argument, batch)
            if self.kind is Kind.ANY and gives_double(aggregation.argument, matcher.doubles):
                self.codes = matcher.symbols.doubled(self.codes)
        self.order = self._ordered()
        if self.name == "min":
            self.order = -self.order

    def _ordered(self) -> Codes | np.ndarray[tuple[int], np.dtype[np.float64]]:
        if self.kind is Kind.DOUBLE:
            return np.ascontiguousarray(self.codes).view(np.float64)
        if self.kind in (Kind.INT, Kind.BOOL, Kind.DATE):
            return self.codes
        return self.matcher.symbols.ranks()[self.codes]

    def groups(self) -> Iterator[Group]:
        groups = self.batch.stacked(self.aggregation.group)
        kept = self._contributors(groups)
        width = len(self.aggregation.group)
        ends = np.flatnonzero(_changes(groups[kept])) if width else np.zeros(1, dtype=np.int64)
        for rows in np.split(kept, ends[1:]):
            yield self._group(rows)

    def _contributors(self, groups: Codes) -> Ids:
        """Match that counts for each contributor: best value, then least height; sorted by group."""
        contributors = self.batch.stacked(self.aggregation.contributors)
        if self.name == "union":  # a union takes all values of each contributor
            contributors = np.column_stack([contributors, *self.batch.premises.values()])
        best = self.heights if self.name == "count" else -self.order
        rest = np.ones(self.batch.size, dtype=np.bool_)
        if self.name == "prod":  # the least of the factors below 1, if there are any
            factors: list[Any] = decode(self.kind, self.codes, self.matcher.symbols)
            rest = np.array([factor >= 1 for factor in factors], dtype=np.bool_)
            best = np.where(rest, best, self.order)
        order = np.lexsort((self.heights, best, rest, *contributors.T[::-1], *groups.T[::-1]))
        return order[_changes(np.column_stack([groups, contributors])[order])]

    def _group(self, rows: Ids) -> Group:
        matcher, aggregation = self.matcher, self.aggregation
        values = decode(self.kind, self.codes[rows], matcher.symbols)
        value = total(self.name, values)
        cell = matcher.code(aggregation.variable, value)
        assert cell is not None
        recursion = aggregation.monotonic and matcher.rule.recursive
        if self.name in ("min", "max") and recursion:
            rows = rows[[values.index(value)]]
        binding = {n: int(self.batch.columns[n][rows[0]]) for n in aggregation.group}
        height = int(self.heights[rows].max())
        listed = rows[np.argsort(-self._weights(rows), kind="stable")]
        if self.name != "union":
            listed = listed[:LISTED]
        parts = tuple(map(self._part, listed.tolist()))
        if self.name == "union" and recursion:
            parts = self._largest(parts)
            height, rows = max(p.match.height for p in parts), listed[: len(parts)]
        return Group({**binding, aggregation.variable: cell}, value, parts, len(rows), height)

    def _weights(self, rows: Ids) -> Codes | np.ndarray[tuple[int], np.dtype[np.float64]]:
        mixed = self.kind is Kind.ANY and self.name not in ("list", "set", "union")
        numbers = mixed or self.kind in (Kind.INT, Kind.DOUBLE)
        sign = -1 if self.name == "min" else 1
        return sign * self.order[rows] if numbers else np.zeros(len(rows), dtype=np.int64)

    def _part(self, row: int) -> Part:
        matcher, aggregation = self.matcher, self.aggregation
        match = matcher.match(self.batch, row)
        names = [n for n in aggregation.contributors if shown(n) and n not in aggregation.group]
        contributor = tuple(zip(names, matcher.values(match.binding, names), strict=True))
        return Part(contributor, decode(self.kind, self.codes[row : row + 1], matcher.symbols)[0], match)

    def _largest(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Contributions to a union without the intermediate sets of a contributor that a larger one contains."""
        sets: dict[tuple[int, ...], list[frozenset[Value]]] = {}
        for part in parts:
            if isinstance(part.value, frozenset):
                sets.setdefault(self._contributor(part), []).append(part.value)

        def smaller(part: Part) -> bool:
            own = part.value
            return isinstance(own, frozenset) and any(own < s for s in sets[self._contributor(part)])

        return tuple(part for part in parts if not smaller(part))

    def _contributor(self, part: Part) -> tuple[int, ...]:
        return tuple(part.match.binding[name] for name in self.aggregation.contributors)


def _changes(rows: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    changes = np.zeros(len(rows), dtype=np.bool_)
    changes[:1] = True
    changes[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return changes


def agree(matcher: Matcher, head: Binding, found: Binding) -> bool:
    """Whether a binding agrees with a head, up to the rounding of doubles."""
    return all(matcher.agrees(n, cell, found[n]) for n, cell in head.items() if n in found)


def named(matcher: Matcher, binding: Binding) -> Bound:
    """Values of the variables that the rule names."""
    names = [n for n in binding if shown(n)]
    return tuple(zip(names, matcher.values(binding, names), strict=True))


def written(rule: CheckedRule) -> str:
    """Text of the aggregate of a rule; contributors only if the rule names some."""
    aggregation = rule.aggregation
    assert aggregation is not None
    inside = [str(aggregation.argument)] if aggregation.argument is not None else []
    names = [name for name in aggregation.contributors if shown(name)]
    every = {v for a in rule.positives for v in a.variables if shown(v)}
    listed = ", ".join(names) if aggregation.function == "count" else f"<{', '.join(names)}>"
    if names and not every <= set(names) and not set(names) & set(aggregation.group):
        inside.append(listed)
    return f"{aggregation.function}({', '.join(inside)})"
