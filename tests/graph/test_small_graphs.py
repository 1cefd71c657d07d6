"""Rules as plans on small subgraphs: what the engine finds on each induced subgraph alone."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, ProgramError
from kgreason.base.resources import resource
from kgreason.engine.relations.fact_tables import Facts
from kgreason.engine.seminaive.evaluation import evaluate
from kgreason.graph.induced import derivation
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.induced.situations import Ties
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.small_graphs import interpreter
from kgreason.graph.small_graphs.bit_kernels import PART
from kgreason.graph.small_graphs.bit_kernels import _sum as exact_sum
from kgreason.graph.small_graphs.interpreter import Pairs
from kgreason.graph.small_graphs.plan_compiler import Plan
from kgreason.isomorphism.arguments import anonymizable
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text, restricted
from kgreason.language.syntax.syntax_tree import Binary, Constant, Variable
from tests.examples import inputs

WEIGHTS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.45, 0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), 0.6, 1.0)
USUAL = {
    "control": None,
    "reachability": None,
    "ultimate_controller": None,
    "holding": None,
    "close_links": "`inflow(X, X, 1.0)` holds a value that is no aggregate",
}


@st.composite
def graphs(draw: st.DrawFn, most: int = 8) -> KnowledgeGraph:
    n = draw(st.integers(2, most))
    vertex = st.integers(0, n - 1)

    def relation(weighted: bool, size: int) -> Relation:
        rows = draw(st.lists(st.tuples(vertex, vertex, st.sampled_from(WEIGHTS)), max_size=size * n))
        source, target = (np.array([r[i] for r in rows], dtype=np.int64) for i in (0, 1))
        return Relation(source, target, np.array([r[2] for r in rows]) if weighted else None)

    labels = np.array([f"v{i}" for i in range(n)], dtype=object)
    relations = {"own": relation(True, 3), "lend": relation(True, 1), "knows": relation(False, 2)}
    return KnowledgeGraph(labels, relations).distinct()


def subsets(graph: KnowledgeGraph, seed: int, count: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = int(rng.integers(1, graph.n + 1))
    return np.array([rng.permutation(graph.n)[:x] for _ in range(count)])


def alone(graph: KnowledgeGraph, program: CheckedProgram, members: np.ndarray) -> np.ndarray:
    """Plain twin of `InducedReasoner.masks`: the engine on each induced subgraph."""
    x = members.shape[1]
    masks = np.zeros((len(members), len(program.derived)), dtype=np.int64)
    for i, chosen in enumerate(members.tolist()):
        facts: dict[str, list[tuple]] = {p: [(v,) for v in chosen] for p in program.nodes}
        for predicate in program.edges:
            r = graph.relations[predicate]
            weights = [1.0] * len(r) if r.weight is None else r.weight.tolist()
            rows = zip(r.source.tolist(), r.target.tolist(), weights, strict=True)
            width = program.arities.get(predicate, 2)
            facts[predicate] = list({row[:width] for row in rows if {row[0], row[1]} <= set(chosen)})
        given_ = {p: set(rows) for p, rows in facts.items()}
        found = evaluate(program, Facts.from_rows(facts), goals=program.derived).facts
        for p, predicate in enumerate(program.derived):
            for u, v in set(found.rows(predicate)) - given_.get(predicate, set()):
                bit = chosen.index(u) * x + chosen.index(v)
                masks[i, p] |= (
                    np.int64(bit - 64 if bit == 63 else 1 << bit) if bit < 63 else np.int64(-(2**63))
                )
    return masks


HEADER = '@node("all"). @edge("own"). @edge("lend"). @edge("knows").\n'
BOUNDS = ("0.0", "0.1", "0.25", "0.5", "0.75", "1.0", "1")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Text of a program that plans can carry out; a few of its rules may be unsafe."""
    number = st.integers(0, 10**6)

    def pick(options: list[str]) -> str:
        return options[draw(number) % len(options)]

    arities = {"own": 2, "lend": 2, "knows": 2, "all": 1}
    valued = {"own": "", "lend": ""}
    lines, names = [], "XYZT"

    def atom(predicate: str, weights: list[str], *, plain: bool = False) -> str:
        ends = [pick(list(names)) for _ in range(arities[predicate])]
        if predicate in valued:
            weights += [] if plain else [f"W{len(weights)}"]
            ends.append("_" if plain or pick(["", "", "_"]) else weights[-1])
        return f"{predicate}({', '.join(ends)})"

    for i in range(draw(st.integers(1, 4))):
        name, arity = f"p{i}", 2 if i == 0 else draw(st.integers(0, 2))
        totals = draw(number) % 3 == 0 and i > 0
        for r in range(1 if totals else draw(st.integers(1, 2))):
            weights: list[str] = []
            known = [*arities, *([name] * 3 if r and not totals else [])]
            arities.setdefault(name, arity)
            body = [atom(pick(known), weights) for _ in range(draw(st.integers(1, 3)))]
            bound = sorted({c for part in body for c in part if c in names})
            read = sorted({w for part in body for w in weights if f" {w})" in part})
            assume(len(bound) >= (1 if arity else 0))
            ends = [pick(bound) for _ in range(arity)]
            for _ in range(draw(number) % 2 if bound else 0):
                body.append(f"{pick(bound)} {pick(['!=', '!=', '=='])} {pick(bound)}")
            for _ in range(draw(number) % 2 if read else 0):
                left = pick(
                    [*read, f"{pick(read)} * 0.5", f"{pick(read)} + {pick(read)}", f"1 - {pick(read)}"]
                )
                body.append(f"{left} {pick(['<', '<=', '>', '>=', '==', '!='])} {pick([*read, *BOUNDS])}")
            if draw(number) % 4 == 0 and len(bound) > 1:
                body.append(f"({bound[0]} != {bound[1]} || {(read or ['1'])[0]} > 0.25)")
            if draw(number) % 3 == 0:
                lower = [p for p in arities if p != name]
                body.append("not " + atom(pick(lower), [], plain=True))
            if draw(number) % 2 or totals:
                function = pick(["msum", "mcount", "mmax", "sum", "count", "mmin"])
                argument = pick(read) if read else "1.0"
                argument = pick([argument, argument, f"{argument} * 0.5 + 0.25"])
                inside = pick([c for c in bound if c not in ends] or bound or [""])
                by = f"<{inside}>" if inside else ""
                inner = f"{argument}, {by}" if function[-5:] != "count" and by else inside or argument
                body.append(f"V = {function}({inner})")
                bounds = ("2", "1") if "count" in function else BOUNDS
                if not totals or draw(number) % 2:
                    body.append(f"V {pick(['>', '>', '>=', '<'])} {pick(list(bounds))}")
            head = f"{name}({', '.join([*ends, *(['V'] if totals else [])])})"
            lines.append(f"{head} :- {', '.join(body)}.")
        if totals:
            valued[name] = ""
    wanted = [p for p in arities if p[0] == "p" and arities[p] == 2 and p not in valued]
    return HEADER + "".join(f'@derived("{p}"). ' for p in wanted) + "\n" + "\n".join(lines)


def test_random_rules_as_the_engine() -> None:
    inside: list[bool] = []

    @given(text=programs(), graph=graphs(), seed=st.integers(0, 1000))
    @settings(max_examples=inputs(400), deadline=None)
    def compare(text: str, graph: KnowledgeGraph, seed: int) -> None:
        try:
            program = load_text(text)
        except ProgramError:
            assume(False)
        program = restricted(program, program.derived)
        reasoner, members = InducedReasoner(graph, program), subsets(graph, seed)
        inside.append(reasoner.outside is None)
        assume(inside[-1])
        expected = alone(graph, program, members)
        assert np.array_equal(reasoner.masks(members), expected)
        known, settled = reasoner.settled(members)
        assert np.array_equal(settled[known], expected[known])

    compare()
    assert sum(inside) > len(inside) / 2


@given(
    graph=graphs(),
    seed=st.integers(0, 1000),
    name=st.sampled_from(["control", "ultimate_controller", "reachability"]),
)
@settings(max_examples=inputs(60), deadline=None)
def test_settled_is_decided_by_ties(graph: KnowledgeGraph, seed: int, name: str) -> None:
    reasoner = InducedReasoner(own(graph), usual(name))
    members = subsets(graph, seed, 30)
    known, masks = reasoner.settled(members)
    ties = reasoner.ties
    assert ties is not None
    seen: dict[tuple[int, ...], tuple[object, ...]] = {}
    for i, chosen in enumerate(members.tolist()):
        pattern = tuple(tie(ties, u, v) for u in chosen for v in chosen)
        answer = (known[i], *masks[i])
        assert seen.setdefault(pattern, answer) == answer


def tie(ties: Ties, u: int, v: int) -> int:
    if u == v:
        return int(ties.loop[u])
    row = slice(ties.indptr[u], ties.indptr[u + 1])
    found = ties.tie[row][ties.neighbour[row] == v]
    return int(found[0]) if len(found) else 0


def usual(name: str) -> CheckedProgram:
    return anonymizable(kgreason.load(resource("rules", f"{name}.vada")))


def own(graph: KnowledgeGraph) -> KnowledgeGraph:
    return KnowledgeGraph(graph.labels, {"own": graph.relations["own"]})


@pytest.mark.parametrize(("name", "reason"), USUAL.items())
def test_usual_rules(name: str, reason: str | None) -> None:
    graph = KnowledgeGraph.from_edges([("A", "B", 0.6), ("B", "C", 0.6)], relation="own")
    reasoner = InducedReasoner(graph, usual(name))
    assert reasoner.outside == reason
    assert reasoner.predicates == usual(name).derived
    assert reasoner.masks(np.array([[0, 1, 2]])).shape == (1, len(reasoner.predicates))


@pytest.mark.parametrize("name", USUAL)
@given(graph=graphs(5), seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_usual_rules_as_the_engine(name: str, graph: KnowledgeGraph, seed: int) -> None:
    program, members = usual(name), subsets(graph, seed)
    r = graph.relations["own"]
    assert r.weight is not None
    small = own(graph).with_weights({"own": r.weight / 8})  # integrated ownership stays finite
    small = small if name == "close_links" else own(graph)
    assert np.array_equal(InducedReasoner(small, program).masks(members), alone(small, program, members))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("p(X,Y) :- own(X,Y,_), X < Y.", "`X < Y` compares vertices by their names"),
        (
            "p(X,Y) :- own(X,Y,W), 1 / (W - 0.5) > 0.5.",
            "`1 / (W - 0.5)` perhaps divides by zero",
        ),
        ("p(X,Y) :- own(X,Y,W), W * 1E301 > 0.5.", "`1e+301` may become too large"),
        ("p(X,Y) :- own(X,Y,W), sqrt(W) > 0.5.", "`sqrt(W)` is more than arithmetic"),
        ("p(X,Y) :- own(X,Y,W), not own(Y,X,W).", "`not own(Y, X, W)` is about a value"),
        ("p(X,Y) :- own(X,Y,W), V = prod(W,<X>), V > 0.5.", "`prod` is none of sum, count, min, max"),
        ("p(X,Y) :- own(X,Y,W), V = msum(W,<W>), V > 0.5.", "W is where only vertices can be"),
        (
            "p(X,Y) :- own(X,Y,A), own(Y,Z,B), own(Z,T,C), A + B < C.",
            "weights of more than three vertices come together: "
            "p(X, Y) :- own(X, Y, A), own(Y, Z, B), own(Z, T, C), (A + B) < C.",
        ),
        (
            "p(X,Y) :- own(X,Y,_). p(X,Z) :- p(X,Y), own(Y,Z,W), V = msum(W - 0.9,<Y>), V > 0.5.",
            "in recursion, a total must rise, and pass bounds from below only: "
            "p(X, Z) :- p(X, Y), own(Y, Z, W), V = msum(W - 0.9, <Y>), V > 0.5.",
        ),
        ("p(X,Y) :- own(X,Y,W), limit(L), W > L. limit(0.5).", "the rules state the fact limit(0.5)"),
    ],
)
def test_what_is_left_to_the_engine(rule: str, reason: str) -> None:
    graph = KnowledgeGraph.from_edges([("A", "B", 0.6), ("B", "C", 0.5)], relation="own")
    program = load_text(f'@edge("own"). @derived("p"). {rule}')
    reasoner = InducedReasoner(graph, program)
    assert reasoner.outside == reason
    members = np.array([[0, 1, 2], [2, 1, 0]])
    if "- 0.5" not in rule and "- 0.9" not in rule:  # there the engine stops, too
        assert np.array_equal(reasoner.masks(members), alone(graph, program, members))


def test_vertices_that_are_told_apart_share_nothing() -> None:
    graph = KnowledgeGraph.from_edges([("A", "B", 0.6)], relation="own")
    reasoner = InducedReasoner(graph, load_text('@edge("own"). @derived("p"). p(X,Y) :- own(X,Y,_), X < Y.'))
    assert reasoner.ties is None
    assert not reasoner.settled(np.array([[0, 1]]))[0].any()
    assert reasoner.masks(np.array([[0, 1], [1, 0]])).tolist() == [[0b10], [0b100]]


def test_too_many_ties_are_not_worth_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = KnowledgeGraph.from_edges([("A", "B", 0.6), ("B", "C", 0.5)], relation="own")
    program = load_text('@edge("own"). @derived("p"). p(X,Z) :- own(X,Y,V), own(Y,Z,W), V > W.')
    reasoner = InducedReasoner(graph, program)
    assert reasoner.ties is not None
    monkeypatch.setattr(derivation, "MOST_TIES", 3)
    assert reasoner.ties is None


@settings(max_examples=inputs(40), deadline=None)
@given(st.sampled_from(sorted(USUAL)), graphs(), st.integers(0, 2**32))
def test_few_subgraphs_read_the_edges_between_their_vertices_alone(
    name: str, graph: KnowledgeGraph, seed: int
) -> None:
    """Parts of a graph with many more vertices, by an index of the edges between members, and of all edges."""
    labels = np.array([*graph.labels, *(f"w{i}" for i in range(200))], dtype=object)
    large, members = KnowledgeGraph(labels, graph.relations), subsets(graph, seed)
    found = []
    for calls in (1_000, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interpreter, "SPARSE", 1)
            patch.setattr(interpreter, "CALLS", calls)
            reasoner = InducedReasoner(own(large), usual(name))
            found.append((reasoner.masks(members), *reasoner.settled(members)))
    for few, every in zip(*found, strict=True):
        assert np.array_equal(few, every)


def test_masks_have_room_for_eight_vertices() -> None:
    labels = [f"v{i}" for i in range(9)]
    edges = [(a, b, 0.6) for a, b in pairwise(labels)]
    graph = KnowledgeGraph.from_edges(edges, relation="own")
    program = usual("control")
    reasoner = InducedReasoner(graph, program)
    eight = np.arange(8)[None, ::-1].copy()
    assert np.array_equal(reasoner.masks(eight), alone(graph, program, eight))
    assert reasoner.masks(eight)[0, 0] < 0
    assert np.array_equal(reasoner.derived(eight)[0, 0], np.tri(8, dtype=bool))
    with pytest.raises(ValueError, match="a mask has room for 8 vertices, not for 9: use derived"):
        reasoner.masks(np.arange(9)[None])
    with pytest.raises(ValueError, match="use derived"):
        reasoner.settled(np.arange(9)[None])
    assert np.array_equal(reasoner.derived(np.arange(9)[None])[0, 0], np.triu(np.ones((9, 9), dtype=bool)))


@pytest.mark.parametrize("shift", [-1, 0, 1])
@pytest.mark.parametrize("parts", [(0.25, 0.25), (0.1, 0.2, 0.2), (0.3, 0.1, 0.1), (0.05, 0.1, 0.15, 0.2)])
def test_sums_at_the_bound(parts: tuple[float, ...], shift: int) -> None:
    """One owner holds all others by majority; together they hold about half of the last one."""
    rest = float(Fraction(1, 2) - sum(map(Fraction, parts[:-1])))
    last = rest if shift == 0 else math.nextafter(rest, math.copysign(1, shift))
    holders = [f"h{i}" for i in range(len(parts))]
    edges = [("top", h, 0.75) for h in holders]
    edges += [(h, "last", w) for h, w in zip(holders, [*parts[:-1], last], strict=True)]
    graph = KnowledgeGraph.from_edges(edges, relation="own")
    program = usual("control")
    rng = np.random.default_rng(0)
    members = np.array([rng.permutation(graph.n) for _ in range(20)])
    reasoner = InducedReasoner(graph, program)
    assert np.array_equal(reasoner.masks(members), alone(graph, program, members))
    controls = math.fsum([*parts[:-1], last]) > 0.5
    found = reasoner.derived(np.arange(graph.n)[None])[0, 0]
    assert found[0, list(graph.labels).index("last")] == controls
    known, masks = reasoner.settled(members)
    assert np.array_equal(masks[known], reasoner.masks(members)[known])


@given(
    st.lists(st.floats(-1e9, 1e9) | st.sampled_from([2.0**-54, 2.0**-107, 0.5, 1.0]), min_size=1, max_size=8)
)
@settings(max_examples=inputs(300), deadline=None)
def test_sums_are_rounded_once(values: list[float]) -> None:
    d = np.zeros(PART + 64)
    d[PART : PART + len(values)] = values
    assert exact_sum(d, len(values)) == math.fsum(values)


@given(graph=graphs(40))
@settings(max_examples=inputs(40), deadline=None)
def test_pairs(graph: KnowledgeGraph) -> None:
    r, knows = graph.relations["own"], graph.relations["knows"]
    assert r.weight is not None
    heavy = Binary(">", Variable("W"), Constant(0.3))
    nothing = np.empty(0, dtype=np.int64)
    loaded = (("own", ()), ("knows", ()), ("own", (heavy,)))
    plan = Plan(nothing, np.empty(0), loaded, ("own",), outputs=0, integers=0, doubles=0)
    edges = {
        "own": (r.source, r.target, (r.weight,)),
        "knows": (knows.source, knows.target, (np.ones(len(knows)),)),
    }
    pairs = Pairs.of(plan, graph.n, edges)
    for u in range(graph.n):
        row = pairs.entries[3 * pairs.indptr[u] : 3 * pairs.indptr[u + 1]].reshape(-1, 3).tolist()
        assert [e[0] for e in row] == sorted({e[0] for e in row})
        entry = {v: (forth, back) for v, forth, back in row}
        for v in range(graph.n):
            record = int(pairs.loop[u]) if u == v else entry.get(v, (-1, -1))[0]
            weights = sorted(r.weight[(r.source == u) & (r.target == v)].tolist())
            knowing = bool(((knows.source == u) & (knows.target == v)).any())
            expected = bool(weights) + 2 * knowing + 4 * any(w > 0.3 for w in weights)
            assert (pairs.flags[record] if record >= 0 else 0) == expected
            if record >= 0:
                assert pairs.ends[0][pairs.at[record] : pairs.at[record + 1]].tolist() == weights
            if u != v and v in entry:
                back = pairs.entries[3 * pairs.indptr[v] : 3 * pairs.indptr[v + 1]].reshape(-1, 3).tolist()
                assert entry[v][1] == next(e[1] for e in back if e[0] == u)


def test_long_and_short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub's row is searched, others are read from end to end."""
    rng = np.random.default_rng(3)
    n = 120
    source, target = rng.integers(0, 8, 1500), rng.integers(0, n, 1500)
    graph = KnowledgeGraph(
        np.arange(n).astype(str).astype(object), {"own": Relation(source, target, rng.random(1500))}
    ).distinct()
    members = np.concatenate(
        [
            rng.permuted(np.tile(np.arange(12), (300, 1)), axis=1)[:, :4],
            rng.permuted(np.tile(np.arange(n), (300, 1)), axis=1)[:, :4],
        ]
    )
    program = usual("reachability")
    assert np.array_equal(InducedReasoner(graph, program).masks(members), alone(graph, program, members))


def test_more_pairs_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = np.empty(0, dtype=np.int64)
    plan = Plan(nothing, np.empty(0), (("own", ()),), ("own",), outputs=0, integers=0, doubles=0)
    edges = {"own": (np.array([0, 0, 0]), np.array([1, 1, 2]), (np.array([0.1, 0.2, 0.3]),))}
    assert len(Pairs.of(plan, 3, edges).flags) == 2
    monkeypatch.setattr(interpreter, "_MOST", 2)
    with pytest.raises(
        AnonymizationError, match="the graph has 2 pairs with edges, with 3 weights; rules are"
    ):
        Pairs.of(plan, 3, edges)
