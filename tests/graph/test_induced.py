from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import EvaluationError
from kgreason.base.jit import Ints, Rows, kernel
from kgreason.graph.induced import derivation as induced
from kgreason.graph.induced import lifted
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.induced.situations import Cells, Sight, Situations, Ties, place_of, tie_between
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import is_generic
from kgreason.language.check.program_checker import load_text, restricted
from kgreason.language.check.weight_visibility import Use, monotone_outcome, weight_uses
from tests import naive
from tests.examples import inputs

CONTROL = """@node("company"). @edge("own"). @derived("control").
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
"""
ULTIMATE = (
    CONTROL
    + """@derived("ultimate").
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
"""
)
REACH = """@edge("own"). @derived("reach").
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.
"""
MUTUAL = """@edge("own"). @derived("mutual").
mutual(X,Y) :- own(X,Y,W), own(Y,X,V), W >= 0.25, V < 0.6.
"""
RELATIONS = """@node("person"). @edge("own"). @edge("knows"). @edge("bare").
@derived("p"). @derived("q"). @derived("r").
p(X,Z) :- own(X,Y,W), knows(Y,Z), W > 0.2.
q(X,Y) :- knows(X,Y), person(Y), not p(X,Y).
r(X,Y) :- bare(X,Y,W), knows(Y,X), W == 1.0.
"""
EQUAL_WEIGHTS = """@edge("own"). @derived("same").
same(X,Z) :- own(X,_,W), own(Z,_,W), X != Z.
"""
ORDERED = """@edge("own"). @derived("up").
up(X,Y) :- own(X,Y,_), X < Y.
up(X,Y) :- own(X,Y,_), X == 3.
"""
COUNTED = """@edge("own"). @derived("busy"). @derived("fan").
links(X,C) :- own(X,Y,W), C = mcount().
busy(X,Y) :- links(X,C), C >= 3, own(X,Y,_).
fan(X,Y) :- own(X,Y,_), own(Z,Y,_), X != Z, K = mcount(Z), K >= 2.
"""
TOTALS = """@edge("own"). @derived("weak").
total(Y,S) :- own(X,Y,W), S = sum(W,<X>).
weak(X,Y) :- own(X,Y,W), total(Y,S), S < 0.7.
"""
NEGATED_SUM = """@edge("own"). @derived("free").
major(X,Y) :- own(X,Y,W), V = msum(W,<X>), V >= 0.5.
free(X,Y) :- own(X,Y,_), not major(X,Y).
"""
JOINT = """@edge("own"). @derived("joint").
major(Y) :- own(X,Y,W), V = msum(W * 0.5 + 0.1,<X>), V > 0.4 && V != 0.0.
joint(X,Y) :- own(X,Y,W), major(Y), V = mmax(W,<X>), V > 0.3.
"""
GIVEN = """@edge("knows"). @derived("knows").
knows(X,Z) :- knows(X,Y), knows(Y,Z).
"""
MAJORS = """@edge("own"). @derived("p").
major(Y) :- own(X,Y,W), V = msum(W,<X>), V > 0.5.
majors(C) :- major(Y), C = mcount(Y).
p(X,Y) :- own(X,Y,_), majors(C), D = 10 / C, D > 4.
"""
PROGRAMS = {
    name.lower(): text
    for name, text in list(globals().items())
    if name.isupper() and isinstance(text, str) and "@edge" in text
}


@pytest.fixture(scope="module")
def programs() -> dict[str, CheckedProgram]:
    return {name: load_text(text) for name, text in PROGRAMS.items()}


WEIGHTS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.45, 0.5, 0.6, 1.0)


@st.composite
def graphs(draw: st.DrawFn) -> KnowledgeGraph:
    n = draw(st.integers(1, 6))
    vertex = st.integers(0, n - 1)

    def relation(weighted: bool) -> Relation:
        rows = draw(st.lists(st.tuples(vertex, vertex, st.sampled_from(WEIGHTS)), max_size=3 * n))
        source, target = (np.array([r[i] for r in rows], dtype=np.int64) for i in (0, 1))
        return Relation(source, target, np.array([r[2] for r in rows]) if weighted else None)

    labels = np.array([f"v{i}" for i in range(n)], dtype=object)
    relations = {"own": relation(True), "knows": relation(draw(st.booleans())), "bare": relation(False)}
    return KnowledgeGraph(labels, relations).distinct()


def one_by_one(graph: KnowledgeGraph, program: CheckedProgram, members: np.ndarray) -> np.ndarray:
    """Plain twin of `InducedReasoner.derived`: the naive evaluator on each induced subgraph."""
    x = members.shape[1]
    found = np.zeros((len(members), len(program.derived), x, x), dtype=bool)
    for i, chosen in enumerate(members.tolist()):
        place = {v: a for a, v in enumerate(chosen)}
        facts: dict[str, set[tuple]] = {p: {(v,) for v in chosen} for p in program.nodes}
        for predicate in program.edges:
            r = graph.relations[predicate]
            weights = [1.0] * len(r) if r.weight is None else r.weight.tolist()
            rows = zip(r.source.tolist(), r.target.tolist(), weights, strict=True)
            width = program.arities[predicate]
            facts[predicate] = {row[:width] for row in rows if row[0] in place and row[1] in place}
        result = naive.evaluate(program, facts)
        for p, predicate in enumerate(program.derived):
            for u, v in result.get(predicate, set()) - facts.get(predicate, set()):
                found[i, p, place[u], place[v]] = True
    return found


def tuples(graph: KnowledgeGraph, seed: int, count: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = int(rng.integers(1, min(graph.n, 4) + 1))
    return np.array([rng.permutation(graph.n)[:x] for _ in range(count)])


@pytest.mark.parametrize("name", PROGRAMS)
@given(graph=graphs(), seed=st.integers(0, 1000))
@settings(max_examples=inputs(25), deadline=None)
def test_as_one_by_one(
    name: str, programs: dict[str, CheckedProgram], graph: KnowledgeGraph, seed: int
) -> None:
    program, members = programs[name], tuples(graph, seed)
    assert np.array_equal(
        InducedReasoner(graph, program).derived(members), one_by_one(graph, program, members)
    )


@pytest.mark.parametrize("name", PROGRAMS)
@given(graph=graphs(), seed=st.integers(0, 1000))
@settings(max_examples=inputs(15), deadline=None)
def test_on_a_part_of_the_graph(
    name: str, programs: dict[str, CheckedProgram], graph: KnowledgeGraph, seed: int
) -> None:
    program, members = programs[name], tuples(graph, seed)
    rng = np.random.default_rng(seed)
    kept = {n: rng.random(len(r)) < 0.5 for n, r in graph.relations.items()}
    part = KnowledgeGraph(
        graph.labels,
        {
            n: Relation(r.source[kept[n]], r.target[kept[n]], None if r.weight is None else r.weight[kept[n]])
            for n, r in graph.relations.items()
        },
    )
    reasoner = InducedReasoner(graph, program)
    whole = reasoner.derived(members)
    assert np.array_equal(reasoner.on(part).derived(members), one_by_one(part, program, members))
    assert np.array_equal(reasoner.derived(members), whole)


@pytest.mark.parametrize("name", ["ultimate", "majors"])
@given(graph=graphs(), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_many_chunks_and_forgetting(name: str, graph: KnowledgeGraph, seed: int) -> None:
    program, members = load_text(PROGRAMS[name]), tuples(graph, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(induced, "CHUNK", 5)
        patch.setattr(lifted, "CHUNK", 5)
        patch.setattr(lifted, "REMEMBERED", 2)
        reasoner = InducedReasoner(graph, program)
        first, second = reasoner.derived(members), reasoner.derived(members)
    expected = one_by_one(graph, program, members)
    assert np.array_equal(first, expected)
    assert np.array_equal(second, expected)


def test_no_tuples_and_no_edges(programs: dict[str, CheckedProgram]) -> None:
    graph = KnowledgeGraph.from_edges([], relation="own", vertices="ab")
    none = np.empty((0, 2), dtype=np.int64)
    assert InducedReasoner(graph, programs["control"]).derived(none).shape == (0, 1, 2, 2)
    alone = InducedReasoner(graph, programs["control"]).derived(np.array([[0, 1]]))
    assert alone[0, 0].tolist() == [[True, False], [False, True]]


def test_reasoning_inside_is_less_than_restricting_after(programs: dict[str, CheckedProgram]) -> None:
    # Figure 1 of the paper: A -> D -> E by majority, E and A together control B
    edges = [("A", "D", 0.6), ("D", "E", 0.8), ("E", "B", 0.4), ("A", "B", 0.25)]
    graph = KnowledgeGraph.from_edges(edges, relation="own", vertices="ABDE")
    a, b, d, e = range(4)
    whole = InducedReasoner(graph, programs["control"]).derived(np.array([[a, b, d, e]]))[0, 0]
    assert set(zip(*np.nonzero(whole), strict=True)) == {(v, v) for v in range(4)} | {
        (a, d),
        (d, e),
        (a, e),
        (a, b),
    }
    part = InducedReasoner(graph, programs["control"]).derived(np.array([[a, b, e]]))[0, 0]
    assert np.array_equal(part, np.eye(3, dtype=bool))


def test_equal_situations_are_evaluated_once(programs: dict[str, CheckedProgram]) -> None:
    graph = random_graph(np.random.default_rng(0), n=200, m=800)
    members = np.random.default_rng(1).permuted(np.tile(np.arange(200), (4000, 1)), axis=1)[:, :3]
    program = programs["reach"]
    exact = lifted.Lifted(Sight(graph, program, weight_uses(program)), program, frozenset())
    exact.resolve(members)
    assert exact.evaluated < 200
    seen = exact.evaluated
    exact.resolve(members[::-1])
    assert exact.evaluated == seen


def test_few_subgraphs_are_ambiguous(programs: dict[str, CheckedProgram]) -> None:
    graph = random_graph(np.random.default_rng(0), n=200, m=800)
    members = np.random.default_rng(1).permuted(np.tile(np.arange(200), (4000, 1)), axis=1)[:, :3]
    control = InducedReasoner(graph, programs["control"])
    known, masks = control.settled(members)
    assert (~known).sum() < 10
    assert np.array_equal(masks[known], control.masks(members)[known])


def random_graph(rng: np.random.Generator, n: int, m: int) -> KnowledgeGraph:
    labels = np.arange(n).astype(str).astype(object)
    own = Relation(rng.integers(0, n, m), rng.integers(0, n, m), rng.random(m))
    return KnowledgeGraph(labels, {"own": own}).distinct()


def test_joint_control_near_the_bound_is_ambiguous_and_exact(programs: dict[str, CheckedProgram]) -> None:
    # 0.26 + 0.24 is exactly the bound, 0.26 + 0.2400001 above it: the same cells
    edges = [
        ("A", "B", 0.6),
        ("A", "C", 0.26),
        ("B", "C", 0.24),
        ("D", "E", 0.6),
        ("D", "F", 0.26),
        ("E", "F", 0.2400001),
    ]
    graph = KnowledgeGraph.from_edges(edges, relation="own", vertices="ABCDEF")
    reasoner = InducedReasoner(graph, programs["control"])
    members = np.array([[0, 1, 2], [3, 4, 5]])
    found = reasoner.derived(members)
    assert not found[0, 0, 0, 2]
    assert found[1, 0, 0, 2]
    assert reasoner.settled(members)[0].tolist() == [False, False]


def uses(program: CheckedProgram) -> dict[str, tuple[Use, tuple[float, ...]]]:
    return {p: (u.use, u.constants) for p, u in weight_uses(program).items()}


def test_uses_of_weights(programs: dict[str, CheckedProgram]) -> None:
    assert uses(programs["control"]) == {"own": (Use.ADDED, ())}
    assert uses(programs["reach"]) == {"own": (Use.COMPARED, (0.0,))}
    assert uses(programs["mutual"]) == {"own": (Use.COMPARED, (0.25, 0.6))}
    assert uses(programs["equal_weights"]) == {"own": (Use.READ, ())}
    assert uses(programs["ordered"]) == {"own": (Use.UNREAD, ())}
    assert uses(programs["counted"]) == {"own": (Use.READ, ())}
    assert uses(programs["relations"]) == {"own": (Use.COMPARED, (0.2,)), "bare": (Use.COMPARED, (1.0,))}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("0.5 < W", (Use.COMPARED, (0.5,))),
        ("W > -1", (Use.COMPARED, (-1.0,))),
        ("!(W > 0.5) || (W == 1 && X != Y)", (Use.COMPARED, (0.5, 1.0))),
        ("2 * W > 1.0", (Use.READ, ())),
        ("V = W, V > 0.5", (Use.READ, ())),
        ("W > 0.5, own(Y,X,W)", (Use.READ, ())),
        ("not own(Y,X,W)", (Use.READ, ())),
        ("not own(Y,X,0.5)", (Use.COMPARED, (0.5,))),
        ("own(Y,X,_)", (Use.UNREAD, ())),
    ],
)
def test_use_in_one_rule(condition: str, expected: tuple[Use, tuple[float, ...]]) -> None:
    program = load_text(f'@edge("own"). p(X,Y) :- own(X,Y,W), {condition}.')
    assert uses(program) == {"own": expected}


def test_outcome_of_added_weights(programs: dict[str, CheckedProgram]) -> None:
    def outcome(program: CheckedProgram) -> frozenset[str] | None:
        return monotone_outcome(restricted(program, program.derived), weight_uses(program))

    assert outcome(programs["control"]) == {"control"}
    assert outcome(programs["ultimate"]) == {"control", "controlled"}
    assert outcome(programs["negated_sum"]) == {"major"}
    assert outcome(programs["totals"]) is None
    assert outcome(programs["reach"]) == frozenset()


@pytest.mark.parametrize(
    "rule",
    [
        "p(X,Y) :- own(X,Y,W), V = msum(W,<X>), V < 0.5.",
        "p(X,Y) :- own(X,Y,W), V = msum(W,<X>), V > 0.1 && V < 0.5.",
        "p(X,Y) :- own(X,Y,W), V = mmin(W,<X>), V > 0.5.",
        "p(X,Y) :- own(X,Y,W), V = msum(1.0 - W,<X>), V > 0.5.",
        "s(X,V) :- own(X,Y,W), V = msum(W,<Y>). p(X,Y) :- own(X,Y,_), s(X,V), V > 0.5.",
    ],
)
def test_what_does_not_grow_with_weights(rule: str) -> None:
    program = load_text(f'@edge("own"). @derived("p"). {rule}')
    found = weight_uses(program)
    assert found["own"].use is Use.READ or monotone_outcome(restricted(program, ["p"]), found) is None


def test_negative_weights_are_looked_at_in_full() -> None:
    program = load_text(
        '@edge("own"). @derived("p"). p(X,Y) :- own(X,Y,_), q(Y).'
        "q(Y) :- own(X,Y,W), V = msum(W,<X>), V > 0.5."
    )
    graph = KnowledgeGraph.from_edges([("A", "C", 0.9), ("B", "C", -0.5), ("D", "C", -0.3)], relation="own")
    members = np.array([[0, 1], [0, 1], [0, 1]])
    members[1:] = [[0, 2], [0, 3]]
    assert np.array_equal(
        InducedReasoner(graph, program).derived(members), one_by_one(graph, program, members)
    )


def test_ends_of_cells_may_fail_where_weights_do_not() -> None:
    program = load_text(
        """@edge("own"). @derived("p").
        major(Y) :- own(X,Y,W), V = msum(W,<X>), V > 0.5.
        majors(C) :- major(Y), C = mcount(Y).
        p(X,Y) :- own(X,Y,_), majors(C), D = 10 / (C - 1), D > 0."""
    )
    assert monotone_outcome(restricted(program, ["p"]), weight_uses(program)) == {"major"}
    # 0.26 + 0.2 is no majority, but the greatest weights of the same cells, 0.49 + 0.24, are one
    edges = [("A", "C", 0.26), ("B", "C", 0.2), ("D", "E", 0.49), ("E", "D", 0.24)]
    graph = KnowledgeGraph.from_edges(edges, relation="own", vertices="ABCDE")
    reasoner = InducedReasoner(graph, program)
    members = np.array([[0, 1, 2]])
    assert reasoner.outside == "`10 / (C - 1)` perhaps divides by zero"
    assert not reasoner.derived(members).any()
    assert not reasoner.settled(members)[0].any()
    alone = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    with pytest.raises(EvaluationError, match="zero"):
        InducedReasoner(alone, program).derived(np.array([[0, 1]]))


def test_generic_programs(programs: dict[str, CheckedProgram]) -> None:
    generic = {name for name, program in programs.items() if is_generic(program)}
    assert set(programs) - generic == {"ordered"}


@pytest.mark.parametrize(
    "rule",
    [
        "p(X,Y) :- e(X,Y), X < Y.",
        "p(X,Y) :- e(X,Z), Y = Z + 1.",
        "p(X,Y) :- e(X,Y), X == 1.",
        "p(X,Y) :- e(X,Z), Y = mmax(Z).",
        "p(X,Y) :- e(X,Y), q(X). q(1).",
        "p(X,Y) :- e(X,Y), C = mcount(Y), C == X.",
    ],
)
def test_not_generic(rule: str) -> None:
    assert not is_generic(load_text(f'@edge("e"). {rule}'))


@given(graph=graphs(), seed=st.integers(0, 1000), constants=st.lists(st.sampled_from(WEIGHTS), unique=True))
@settings(max_examples=inputs(60), deadline=None)
def test_situations_are_the_induced_edges(graph: KnowledgeGraph, seed: int, constants: list[float]) -> None:
    members = tuples(graph, seed)
    weights = {p: np.ones(len(r)) if r.weight is None else r.weight for p, r in graph.relations.items()}
    cells = {p: Cells.between(w, np.array(sorted(constants))) for p, w in weights.items()}
    situations = Situations(Ties.of(graph, cells), members.shape[1])
    ids = np.concatenate([situations.intern(members[:5]), situations.intern(members[5:])])
    edges = list(zip(*(c.tolist() for c in situations.edges(np.arange(len(situations)))), strict=True))
    assert len(set(edges)) == len(edges)
    found = [frozenset(e[1:] for e in edges if e[0] == i) for i in range(len(situations))]
    assert len(set(found)) == len(found)
    for i, chosen in zip(ids.tolist(), members.tolist(), strict=True):
        assert found[i] == plain_situation(graph, cells, chosen)


def plain_situation(graph: KnowledgeGraph, cells: dict[str, Cells], chosen: list[int]) -> frozenset[tuple]:
    edges, offset = set(), 0
    for predicate in cells:
        relation = graph.relations[predicate]
        rows = zip(
            relation.source.tolist(), relation.target.tolist(), cells[predicate].of_edge.tolist(), strict=True
        )
        for u, v, cell in rows:
            if u in chosen and v in chosen:
                edges.add((chosen.index(u), chosen.index(v), offset + cell))
        offset += len(cells[predicate].low)
    return frozenset(edges)


@kernel
def compiled_tie(indptr: Ints, neighbour: Ints, tie: Ints, mirror: Ints, u: int, v: int) -> int:
    return tie_between(indptr, neighbour, tie, mirror, u, v)


@kernel
def compiled_place(keys: Rows, row: int, table: Ints) -> int:
    return place_of(keys, row, table)


@given(graph=graphs())
@settings(max_examples=inputs(30), deadline=None)
def test_ties(graph: KnowledgeGraph) -> None:
    cells = {"own": Cells.exact(graph.relations["own"].weight)}
    ties = Ties.of(graph, cells)
    for u in range(graph.n):
        for v in set(range(graph.n)) - {u}:
            t = compiled_tie(ties.indptr, ties.neighbour, ties.tie, ties.mirror, u, v)
            assert t == tie_between(ties.indptr, ties.neighbour, ties.tie, ties.mirror, u, v)
            content = ties.content[ties.start[t] : ties.start[t + 1]].tolist()
            outgoing = {c >> 1 for c in content if not c & 1}
            incoming = {c >> 1 for c in content if c & 1}
            edges = plain_situation(graph, cells, [u, v])
            assert outgoing == {cell for a, b, cell in edges if (a, b) == (0, 1)}
            assert incoming == {cell for a, b, cell in edges if (a, b) == (1, 0)}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_places(rows: list[tuple[int, int]]) -> None:
    keys, table, numbers = np.array(rows, dtype=np.int64), np.full(32, -1, dtype=np.int64), dict[tuple, int]()
    for i, row in enumerate(rows):
        place = compiled_place(keys, i, table)
        assert table[place] == numbers.get(row, -1)
        numbers.setdefault(row, i)
        table[place] = numbers[row]


@given(st.lists(st.sampled_from(WEIGHTS), min_size=1), st.lists(st.sampled_from(WEIGHTS), unique=True))
def test_cells_compare_alike(weights: list[float], constants: list[float]) -> None:
    cells = Cells.between(np.array(weights), np.array(sorted(constants)))
    for weight, cell in zip(weights, cells.of_edge.tolist(), strict=True):
        assert cells.low[cell] <= weight <= cells.high[cell]
        for end in (cells.low[cell], cells.high[cell]):
            assert [(end > c, end == c) for c in constants] == [(weight > c, weight == c) for c in constants]
