"""Stratification: strongly connected components of predicates, and the cycles that make it impossible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kgreason.analysis.aggregation import IN_RECURSION
from kgreason.analysis.checked import STRATIFIED
from kgreason.analysis.findings import Findings
from kgreason.analysis.rules import Written
from kgreason.errors import Span
from kgreason.lang.ast import Aggregate, Atom, Equation, Negation


@dataclass(frozen=True, slots=True)
class Dependency:
    """`head` needs `body`; through negation or a stratified aggregate it needs all of it before."""

    head: str
    body: str
    kind: Literal["positive", "negative", "aggregate"]
    span: Span

    def __str__(self) -> str:
        through = {"positive": "", "negative": " under `not`", "aggregate": " under an aggregate"}
        return f"`{self.head}` depends on `{self.body}`{through[self.kind]}"


def dependencies(rules: Iterable[Written]) -> list[Dependency]:
    """All edges of the dependency graph; also those of rules with other mistakes."""
    edges = []
    for rule in rules:
        kind: Literal["positive", "aggregate"] = "aggregate" if _strict(rule) else "positive"
        for head in rule.head:
            for item in rule.body:
                if isinstance(item, Atom):
                    edges.append(Dependency(head.predicate, item.predicate, kind, item.span))
                elif isinstance(item, Negation):
                    edges.append(Dependency(head.predicate, item.atom.predicate, "negative", item.span))
    return edges


def _strict(rule: Written) -> bool:
    """Whether the rule has an aggregate without a monotonic form."""
    aggregates = [i.right for i in rule.body if isinstance(i, Equation) and isinstance(i.right, Aggregate)]
    return any(a.function in STRATIFIED and a.function not in IN_RECURSION for a in aggregates)


def components(edges: Sequence[Dependency], heads: Iterable[str]) -> list[frozenset[str]]:
    """Strongly connected components of the head predicates, each after those it depends on.

    Kosaraju's algorithm, without recursion, so that long chains of predicates need no deep stack.
    """
    below: dict[str, list[str]] = {h: [] for h in heads}
    above: dict[str, list[str]] = {h: [] for h in below}
    for edge in edges:
        if edge.body in below:
            below[edge.head].append(edge.body)
            above[edge.body].append(edge.head)
    seen: set[str] = set()
    left = [node for start in below for node in _left(start, below, seen)]
    seen = set()
    found = [frozenset(part) for start in reversed(left) if (part := list(_left(start, above, seen)))]
    return found[::-1]


def _left(start: str, following: Mapping[str, Sequence[str]], seen: set[str]) -> Iterator[str]:
    """Nodes in the order in which a depth-first search leaves them; those `seen` are no part of it."""
    work = [(start, iter(following[start]))] if start not in seen else []
    seen.add(start)
    while work:
        _, rest = work[-1]
        step = next((n for n in rest if n not in seen), None)
        if step is None:
            yield work.pop()[0]
        else:
            seen.add(step)
            work.append((step, iter(following[step])))


def report_unstratified(
    parts: Iterable[frozenset[str]], edges: Sequence[Dependency], findings: Findings
) -> None:
    """Report every negation or stratified aggregate inside of a component, with its cycle."""
    for part in parts:
        inside = [e for e in edges if e.head in part and e.body in part]
        reported: set[tuple[str, str, str]] = set()
        for edge in inside:
            if edge.kind == "positive" or _key(edge) in reported:
                continue
            path = _path(edge.body, edge.head, inside)
            reported.update(map(_key, (edge, *path)))  # one cycle with two negations is one mistake
            _report(edge, path, findings)


def _key(edge: Dependency) -> tuple[str, str, str]:
    return edge.head, edge.body, edge.kind


def _path(start: str, goal: str, edges: Sequence[Dependency]) -> list[Dependency]:
    """Shortest path of dependencies, empty if `start` is `goal`."""
    came: dict[str, Dependency | None] = {start: None}
    queue = [start]
    for node in queue:
        for edge in edges:
            if edge.head == node and edge.body not in came:
                came[edge.body] = edge
                queue.append(edge.body)
    path: list[Dependency] = []
    step = came[goal]
    while step is not None:
        path.append(step)
        step = came[step.head]
    return path[::-1]


def _report(edge: Dependency, path: Sequence[Dependency], findings: Findings) -> None:
    cycle = " -> ".join([edge.head, edge.body, *(e.body for e in path)])
    through = "its own negation" if edge.kind == "negative" else "an aggregate of itself"
    findings.add(
        "E106",
        f"`{edge.head}` depends on {through}: {cycle}",
        edge.span,
        note="all of a predicate must be known before it is negated or aggregated: no cycle may do so",
        hint="negate a predicate that does not depend on this one"
        if edge.kind == "negative"
        else "use a monotonic aggregate (msum, mprod, mcount, mmin, mmax, munion), or aggregate in a later rule",
        related=tuple((e.span, str(e)) for e in (edge, *path)),
    )
