"""Small releases as plain graphs, and ways to tamper with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

import numpy as np

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.verification.verdict import Certificate
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text
from tests.definition import Edge, Graph, Rules, control, heard, nothing, reach, ultimate

_CONTROL = """
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
"""
_REACH = """
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, W > 0.
heard(X,Y) :- own(X,Y,W), X != Y, W > 0.3.
heard(X,Y) :- heard(X,Z), knows(Z,Y), X != Y.
"""
ONE, TWO = '@edge("own").', '@edge("own"). @edge("knows").'
ECONOMIC = '@node("company"). @incoming_sum("own", 1.0).'
FULL = {"own": Fraction(1)}


def _program(text: str) -> CheckedProgram:
    return load_text(text)


RULES: list[tuple[CheckedProgram, Rules]] = [
    (_program(f'{ONE} {ECONOMIC} @derived("control"). {_CONTROL}'), Rules(control, FULL)),
    (_program(f'{ONE} {ECONOMIC} @derived("ultimate"). {_CONTROL}'), Rules(ultimate, FULL)),
    (_program(f'{TWO} {ECONOMIC} @derived("control"). {_CONTROL}'), Rules(control, FULL)),
    (_program(f'{ONE} @derived("reach"). {_REACH.partition("heard")[0]}'), Rules(reach)),
    (_program(f'{TWO} @derived("heard"). {_REACH}'), Rules(heard)),
    (_program(f'{TWO} @output("loop"). loop(X) :- own(X,X,_).'), Rules(nothing)),
]


@dataclass(frozen=True)
class Case:
    """An original, a release of it, and what is asked."""

    original: Graph
    released: Graph
    mapping: tuple[int, ...]
    rules: int
    k: int
    x: int
    certificate: Certificate | None = field(default=None, compare=False)


def as_graph(graph: Graph, case: Case, rng: Random) -> KnowledgeGraph:
    """A graph with its rows in any order."""
    rows = sorted(graph.edges, key=str)
    rng.shuffle(rows)
    relations = {}
    for name in RULES[case.rules][0].edges:
        mine = [edge for edge in rows if edge[0] == name]
        ends = np.array([edge[1:3] for edge in mine], dtype=np.int64).reshape(-1, 2)
        weight = np.array([edge[3] for edge in mine], dtype=np.float64) if name == "own" else None
        relations[name] = Relation(ends[:, 0].copy(), ends[:, 1].copy(), weight)
    return KnowledgeGraph(np.array(graph.labels, dtype=object), relations)


def plain(graph: KnowledgeGraph) -> Graph:
    edges: set[Edge] = set()
    for name, r in graph.relations.items():
        weights = [None] * len(r) if r.weight is None else np.round(r.weight, 6).tolist()
        edges |= set(zip([name] * len(r), r.source.tolist(), r.target.tolist(), weights, strict=True))
    return Graph(tuple(graph.labels.tolist()), frozenset(edges))


# --- mutations ----------------------------------------------------------------------------------------------

Mutation = Callable[[Case, Random], Case]
MUTATIONS: list[Mutation] = []


def mutation(change: Mutation) -> Mutation:
    MUTATIONS.append(change)
    return change


def _edges(case: Case, edges: set[Edge]) -> Case:
    return replace(case, released=replace(case.released, edges=frozenset(edges)))


def _some(case: Case, rng: Random, *, inside: bool | None = None) -> list[Edge]:
    """Edges in any order: all, those among originals, or those that a synthetic vertex is an end of."""
    real = set(case.mapping)
    found = sorted(case.released.edges, key=str)
    if inside is not None:
        found = [edge for edge in found if ({edge[1], edge[2]} <= real) is inside]
    rng.shuffle(found)
    return found


def _weighted(case: Case, rng: Random, *, inside: bool | None = None) -> list[Edge]:
    return [edge for edge in _some(case, rng, inside=inside) if edge[3] is not None]


def _vertex(case: Case, rng: Random) -> int:
    return rng.randrange(len(case.released.labels))


def _swapped(case: Case, old: Edge, *new: Edge) -> Case:
    return _edges(case, set(case.released.edges) - {old} | set(new))


@mutation
def drop_an_edge(case: Case, rng: Random) -> Case:
    return _edges(case, set(_some(case, rng)[1:]))


@mutation
def drop_an_original_edge(case: Case, rng: Random) -> Case:
    return _edges(case, set(case.released.edges) - set(_some(case, rng, inside=True)[:1]))


@mutation
def damage_a_copy(case: Case, rng: Random) -> Case:
    return _edges(case, set(case.released.edges) - set(_some(case, rng, inside=False)[:1]))


@mutation
def run_a_second_edge_beside(case: Case, rng: Random) -> Case:
    for name, u, v, weight in _weighted(case, rng)[:1]:
        return _edges(case, {*case.released.edges, (name, u, v, round((weight or 0) / 2, 6))})
    return case


@mutation
def redirect_an_edge(case: Case, rng: Random) -> Case:
    for edge in _some(case, rng)[:1]:
        return _swapped(case, edge, (edge[0], edge[1], _vertex(case, rng), edge[3]))
    return case


@mutation
def reverse_an_edge(case: Case, rng: Random) -> Case:
    for edge in _some(case, rng)[:1]:
        return _swapped(case, edge, (edge[0], edge[2], edge[1], edge[3]))
    return case


@mutation
def exchange_two_targets(case: Case, rng: Random) -> Case:
    """All degrees stay."""
    some = _some(case, rng)
    for one in some[:1]:
        for two in [edge for edge in some[1:] if edge[0] == one[0]][:1]:
            rest = set(case.released.edges) - {one, two}
            return _edges(case, rest | {(*one[:2], two[2], one[3]), (*two[:2], one[2], two[3])})
    return case


@mutation
def move_a_weight(case: Case, rng: Random) -> Case:
    """Across a threshold, or not."""
    for name, u, v, weight in _weighted(case, rng)[:1]:
        new = rng.choice([0.0, 0.1, 0.3, 0.300001, 0.5, 0.500001, 0.6, 1.0])
        return _swapped(case, (name, u, v, weight), (name, u, v, new))
    return case


@mutation
def complete_a_half(case: Case, rng: Random) -> Case:
    """Incoming weights sum to one half, or barely to more."""
    for name, u, v, weight in _weighted(case, rng)[:1]:
        others = sum(Fraction(repr(e[3])) for e in case.released.edges if e[2] == v and e[3] is not None)
        new = float(Fraction(1, 2) - others + Fraction(repr(weight))) + rng.choice([0.0, 0.000001])
        if 0 <= new <= 1:
            return _swapped(case, (name, u, v, weight), (name, u, v, round(new, 6)))
    return case


@mutation
def nudge_a_weight(case: Case, rng: Random) -> Case:
    for name, u, v, weight in _weighted(case, rng)[:1]:
        return _swapped(case, (name, u, v, weight), (name, u, v, round((weight or 0) * 0.999, 6)))
    return case


@mutation
def leave_the_range(case: Case, rng: Random) -> Case:
    for name, u, v, weight in _weighted(case, rng)[: rng.random() < 0.3]:
        return _swapped(case, (name, u, v, weight), (name, u, v, rng.choice([-0.1, 1.000001, 7.0])))
    return case


@mutation
def fill_up_to_the_bound(case: Case, rng: Random) -> Case:
    """Incoming weights sum to 1, or barely to more."""
    for name, u, v, weight in _weighted(case, rng)[:1]:
        into = sum(Fraction(repr(e[3])) for e in case.released.edges if e[2] == v and e[3] is not None)
        new = round(float(1 - into) + (weight or 0) + rng.choice([0.0, 0.0, 0.000001]), 6)
        if 0 <= new <= 1:
            return _swapped(case, (name, u, v, weight), (name, u, v, new))
    return case


@mutation
def restore_a_weight(case: Case, rng: Random) -> Case:
    known = [edge for edge in sorted(case.original.edges, key=str) if edge[3] is not None]
    rng.shuffle(known)
    for name, u, v, weight in known[:1]:
        for edge in _weighted(case, rng, inside=True):
            if edge[:3] == (name, case.mapping[u], case.mapping[v]):
                return _swapped(case, edge, (*edge[:3], weight))
    return case


@mutation
def swap_two_entries(case: Case, rng: Random) -> Case:
    mapping = list(case.mapping)
    a, b = rng.randrange(len(mapping)), rng.randrange(len(mapping))
    mapping[a], mapping[b] = mapping[b], mapping[a]
    return replace(case, mapping=tuple(mapping))


@mutation
def map_elsewhere(case: Case, rng: Random) -> Case:
    mapping = list(case.mapping)
    mapping[rng.randrange(len(mapping))] = rng.randrange(-1, len(case.released.labels) + 1)
    return replace(case, mapping=tuple(mapping))


@mutation
def map_onto_a_copy(case: Case, rng: Random) -> Case:
    """Whole components elsewhere: a release by hand has its copies one after the other."""
    n = len(case.original.labels)
    moved = tuple(v + n for v in case.mapping)
    return replace(case, mapping=moved) if max(moved) < len(case.released.labels) else case


@mutation
def restore_a_label(case: Case, rng: Random) -> Case:
    labels = list(case.released.labels)
    label = rng.choice(case.original.labels)
    if label not in labels:
        labels[_vertex(case, rng)] = label
    return replace(case, released=replace(case.released, labels=tuple(labels)))


@mutation
def rename(case: Case, rng: Random) -> Case:
    labels = list(case.released.labels)
    labels[_vertex(case, rng)] = f"new{rng.random()}"
    return replace(case, released=replace(case.released, labels=tuple(labels)))


@mutation
def merge_two_vertices(case: Case, rng: Random) -> Case:
    gone, into = _vertex(case, rng), _vertex(case, rng)
    if gone == into:
        return case
    return _without(replace(case, mapping=tuple(into if v == gone else v for v in case.mapping)), gone, into)


@mutation
def strip_a_synthetic_vertex(case: Case, rng: Random) -> Case:
    gone = _vertex(case, rng)
    return case if gone in case.mapping else _without(case, gone, None)


def _without(case: Case, gone: int, into: int | None) -> Case:
    """The release without a vertex; its edges go as well, or to another."""

    def number(v: int) -> int:
        v = into if v == gone and into is not None else v
        return v - (v > gone)

    kept = {e for e in case.released.edges if into is not None or gone not in e[1:3]}
    edges = frozenset((name, number(u), number(v), weight) for name, u, v, weight in kept)
    labels = case.released.labels[:gone] + case.released.labels[gone + 1 :]
    return replace(case, released=Graph(labels, edges), mapping=tuple(map(number, case.mapping)))


@mutation
def level_a_degree(case: Case, rng: Random) -> Case:
    """One edge more, from or to a vertex that some original is mapped to or that is not."""
    program = RULES[case.rules][0]
    name = rng.choice(program.edges)
    u, v = _vertex(case, rng), _vertex(case, rng)
    return _edges(case, {*case.released.edges, (name, u, v, 0.000001 if name == "own" else None)})


@mutation
def level_many_degrees(case: Case, rng: Random) -> Case:
    """An original vertex gets the in- or out-degree of another vertex, by edges from or to new ones."""
    v, other, side = rng.choice(case.mapping), _vertex(case, rng), rng.randrange(2)
    if not 0 <= v < len(case.released.labels):
        return case
    need = case.released.degrees[other][side] - case.released.degrees[v][side]
    name = RULES[case.rules][0].edges[-1]
    labels, edges = list(case.released.labels), set(case.released.edges)
    for _ in range(min(need, 12)):
        weight = 0.000001 if name == "own" else None
        new = len(labels)
        labels.append(f"level{new}")
        edges.add((name, new, v, weight) if side == 0 else (name, v, new, weight))
    return replace(case, released=Graph(tuple(labels), frozenset(edges)))


@mutation
def add_a_vertex(case: Case, rng: Random) -> Case:
    """Tied to the rest, or not."""
    new, name = len(case.released.labels), rng.choice(RULES[case.rules][0].edges)
    edges = set(case.released.edges)
    if rng.random() < 0.8:
        edges.add((name, new, _vertex(case, rng), 0.000002 if name == "own" else None))
    return replace(case, released=Graph((*case.released.labels, f"added{new}"), frozenset(edges)))


@mutation
def permute(case: Case, rng: Random) -> Case:
    """Harmless: the same graph."""
    number = list(case.released.vertices)
    rng.shuffle(number)
    labels = tuple(case.released.labels[number.index(v)] for v in case.released.vertices)
    edges = frozenset((name, number[u], number[v], w) for name, u, v, w in case.released.edges)
    inside = range(len(number))
    mapping = tuple(number[v] if v in inside else v for v in case.mapping)
    return replace(case, released=Graph(labels, edges), mapping=mapping)


@mutation
def lose_an_original_edge(case: Case, rng: Random) -> Case:
    """The original is another one: fewer X1 are connected."""
    edges = sorted(case.original.edges, key=str)
    rng.shuffle(edges)
    return replace(case, original=replace(case.original, edges=frozenset(edges[1:])))


@mutation
def gain_an_original_edge(case: Case, rng: Random) -> Case:
    n = len(case.original.labels)
    name = rng.choice(RULES[case.rules][0].edges)
    edge = (name, rng.randrange(n), rng.randrange(n), 0.123 if name == "own" else None)
    return replace(case, original=replace(case.original, edges=case.original.edges | {edge}))


@mutation
def ask_for_more_or_less(case: Case, rng: Random) -> Case:
    n = len(case.original.labels)
    return replace(case, k=rng.randint(1, 4), x=rng.randint(1, min(4, n)))
