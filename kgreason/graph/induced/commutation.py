"""Commutation of rules with induced subgraphs: proved from the rules, or refuted by a small counterexample.

The proof is that of `language.check.genericity`. If it fails, random graphs are tried, small ones first; the graphs of
one size and their induced subgraphs are evaluated together. It suffices to leave out one vertex, since every induced
subgraph is obtained by leaving out vertices one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np

from kgreason.base.errors import EvaluationError
from kgreason.base.records import record
from kgreason.engine.limits import Limits
from kgreason.engine.relations.fact_tables import Facts
from kgreason.graph.induced.lifted import lift
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import hidden_vertices
from kgreason.language.check.program_checker import restricted
from kgreason.language.check.weight_visibility import weight_uses
from kgreason.language.syntax.syntax_tree import Variable

Row = tuple[int | float, ...]
Edges = Mapping[str, tuple[Row, ...]]
Derived = set[tuple[str, Any, Any]]

PART = "part_"
NAMES = "abcde"
SIZES = (2, 3, 4, 5)  # vertices of the random graphs
GRAPHS = 40  # per size, acyclic and cyclic
WEIGHTS = tuple(w / 10 for w in range(1, 11))  # used besides the numbers in the rules
ROUNDS = 16  # graphs on which the rules take more rounds, or do not terminate, are skipped

_TAKING = "with taking parts of the graph"
_FEWER = "attackers who know fewer than N vertices"
_ALONE = f"KGUARD with -x N need not cover {_FEWER}, with -x 2..N it does"


@record
class Counterexample:
    """Graph on which the rules do not commute; vertices are numbers."""

    edges: Edges  # by predicate
    # the node predicate and the vertices without edges; empty without node predicate
    lone: tuple[tuple[str, int], ...]
    left_out: int  # the vertex missing from the induced subgraph
    predicate: str  # of the derived edge on which the graph and the induced subgraph differ
    source: int
    target: int
    lost: bool  # whether it is derived on the graph only, or else on the induced subgraph only

    def __str__(self) -> str:
        facts = [_fact(predicate, row) for predicate, rows in self.edges.items() for row in rows]
        facts += [_fact(predicate, (vertex,)) for predicate, vertex in self.lone]
        edge, ground = _fact(self.predicate, (self.source, self.target)), ", ".join(facts)
        without = f"without {NAMES[self.left_out]}"
        if self.lost:
            return f"{edge} follows from {ground}, but not {without}"
        return f"{edge} does not follow from {ground}, but does {without}"


@record
class Commutation:
    """Result of the commutation analysis."""

    hidden: tuple[
        Variable, ...
    ] = ()  # one hidden vertex per rule that hides any; without any, the rules commute
    counterexample: Counterexample | None = None  # a graph on which the rules do not commute

    @property
    def outcome(self) -> Literal["commute", "do not commute", "unknown"]:
        """Result of the analysis."""
        if not self.hidden:
            return "commute"
        return "do not commute" if self.counterexample else "unknown"

    def __str__(self) -> str:
        if not self.hidden:
            return f"the rules commute {_TAKING}: KGUARD with -x N covers {_FEWER}, too"
        if self.counterexample:
            found = [f"the rules do not commute {_TAKING}: {_ALONE}", self.counterexample]
        else:
            found = [f"the rules are not known to commute {_TAKING}: {_ALONE}"]
        left_out = [f"{v.span.file}:{v.span.line}: the head leaves out the vertex {v}" for v in self.hidden]
        return "\n  ".join(map(str, [*found, *left_out]))


def commutation(program: CheckedProgram, rng: np.random.Generator) -> Commutation:
    """Decide whether rules for anonymization commute: Σ(G[X]) is Σ(G) restricted to X for every graph G and all X.

    Examples
    --------
    >>> from kgreason.language.check.program_checker import load_text
    >>> text = '@edge("own"). @derived("linked"). linked(X,Z) :- own(X,Y), own(Y,Z).'
    >>> print(commutation(load_text(text), np.random.default_rng(0)).counterexample)
    linked(a, c) follows from own(a, b), own(b, c), but not without b
    """
    program = restricted(program, program.derived)
    hidden = hidden_vertices(program)
    return Commutation(hidden, _search(program, rng) if hidden else None)


def _search(program: CheckedProgram, rng: np.random.Generator) -> Counterexample | None:
    lifted = lift(program, PART)
    for cycles in (False, True):
        for n in SIZES:
            drawn = dict.fromkeys(_random(program, n, rng, cycles=cycles) for _ in range(GRAPHS))
            graphs = [dict(graph) for graph in sorted(drawn, key=lambda g: sum(len(rows) for _, rows in g))]
            for graph, sets in zip(graphs, _derived(lifted, program, n, graphs), strict=True):
                if found := _refuted(program, n, graph, sets):
                    return found
    return None


def _refuted(program: CheckedProgram, n: int, edges: Edges, derived: list[Derived]) -> Counterexample | None:
    """Compare the derived edges of a graph with those of its induced subgraphs without one vertex."""
    for left_out, alone in enumerate(derived[:-1]):
        restricted = {(p, u, v) for p, u, v in derived[-1] if left_out not in (u, v)}
        for edge in sorted(restricted ^ alone):
            ends = {v for rows in edges.values() for row in rows for v in row[:2]}
            lone = tuple((p, v) for p in program.nodes for v in range(n) if v not in ends)
            return Counterexample(edges, lone, left_out, *edge, lost=edge in restricted)
    return None


def _derived(
    lifted: CheckedProgram, program: CheckedProgram, n: int, graphs: Sequence[Edges]
) -> list[list[Derived]]:
    """Derived edges of each graph without its first vertex, ..., without its last vertex, and of the whole graph.

    A graph on which the evaluation fails, for instance with an unbounded sum, has an empty list.
    """
    from kgreason.engine.seminaive.evaluation import evaluate

    facts: dict[str, set[Row]] = {p: set() for p in (PART, *program.nodes, *program.edges)}
    for (number, graph), left_out in product(enumerate(graphs), range(n + 1)):
        part = number * (n + 1) + left_out
        facts[PART].add((part,))
        for predicate in program.nodes:
            facts[predicate].update((part, v) for v in range(n) if v != left_out)
        for predicate, rows in graph.items():
            facts[predicate].update((part, *row) for row in rows if left_out not in row[:2])
    ground = {(p, *row[:3]) for p, rows in facts.items() for row in rows}
    tables = Facts.from_rows({p: rows for p, rows in facts.items() if rows})
    try:
        result = evaluate(lifted, tables, goals=program.derived, limits=Limits(rounds=ROUNDS)).facts
    except EvaluationError:
        if len(graphs) == 1:
            return [[]]
        return [_derived(lifted, program, n, [graph])[0] for graph in graphs]
    sets: list[list[Derived]] = [[set() for _ in range(n + 1)] for _ in graphs]
    for predicate in program.derived:
        for row in result.rows(predicate):
            at, u, v = row[:3]
            assert isinstance(at, int)
            if (predicate, at, u, v) not in ground:
                sets[at // (n + 1)][at % (n + 1)].add((predicate, u, v))
    return sets


def _random(
    program: CheckedProgram, n: int, rng: np.random.Generator, *, cycles: bool
) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """Draw a graph of n vertices with a random density."""
    pairs = [(u, v) for u in range(n) for v in range(n) if cycles or u < v]
    uses, share = weight_uses(program), rng.random()
    graph = []
    for predicate in program.edges:
        rows: tuple[Row, ...] = tuple(pair for pair in pairs if rng.random() < share)
        if predicate in uses:
            use, bound = uses[predicate], program.incoming_sums.get(predicate, math.inf)
            thresholds = {w for w in (*use.constants, *use.bounds) if 0 < w <= 1}
            weights = rng.choice(sorted({*WEIGHTS, *thresholds}), len(rows)).tolist()
            rows = tuple(_weighted(rows, weights, bound))
        graph.append((predicate, rows))
    return tuple(graph)


def _weighted(pairs: Sequence[Row], weights: Sequence[float], bound: float) -> Iterator[Row]:
    """Edges with weights, reduced or omitted where the incoming weights of a vertex would exceed the bound."""
    room: dict[int | float, float] = {}
    for (source, target), weight in zip(pairs, weights, strict=True):
        left = room.get(target, bound)
        if left > 0:
            yield source, target, min(weight, left)
            room[target] = round(left - min(weight, left), 9)


def _fact(predicate: str, row: Row) -> str:
    vertices = [NAMES[int(v)] for v in row[:2]]
    return f"{predicate}({', '.join([*vertices, *(f'{w:g}' for w in row[2:])])})"
