"""Whether rules commute: the proof against brute force, and the graphs that refute it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import ProgramError
from kgreason.graph.facts import derived_edges
from kgreason.graph.induced.commutation import Counterexample
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.genericity import hidden_vertices
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs
from tests.folders import ROOT
from tests.graphs import build

SHARES = [0.2, 0.3, 0.5, 0.75]
GRAPH = '@node("person"). @edge("own"). @edge("knows"). @derived("d").\n'


def disagreement(graph: KnowledgeGraph, program: CheckedProgram) -> str | None:
    """Compare Σ(G[X]) with Σ(G) restricted to X for every X; where they differ, say so."""
    whole = {
        (p, int(u), int(v))
        for p, ends in derived_edges(graph, program).items()
        for u, v in zip(*ends, strict=True)
    }
    for size in range(1, graph.n):
        parts = np.array(list(combinations(range(graph.n), size)))
        for part, found in zip(parts, InducedReasoner(graph, program).derived(parts), strict=True):
            alone = {(program.derived[p], int(part[a]), int(part[b])) for p, a, b in np.argwhere(found)}
            restricted = {(p, u, v) for p, u, v in whole if u in part and v in part}
            if alone != restricted:
                return f"{part.tolist()}: {sorted(alone ^ restricted)}"
    return None


def graph_of(found: Counterexample, program: CheckedProgram) -> KnowledgeGraph:
    """The graph of a counterexample."""
    relations = {}
    for predicate, rows in found.edges.items():
        ends = [np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1)]
        weight = np.array([row[2] for row in rows]) if program.arities.get(predicate) == 3 else None
        relations[predicate] = Relation(*ends, weight)
    named = [found.left_out, found.source, found.target, *(v for _, v in found.lone)]
    ends = [int(v) for r in relations.values() for v in (*r.source, *r.target)]
    labels = np.array([f"v{i}" for i in range(max([*named, *ends]) + 1)], dtype=object)
    return KnowledgeGraph(labels, relations)


COMMUTE = {
    "copies": "d(X,Y) :- own(X,Y,W).",
    "weights are compared": "d(X,Y) :- own(X,Y,W), W > 0.5.",
    "two edges": "d(X,Y) :- own(X,Y,V), own(Y,X,W), V + W > 1, V != W.",
    "two relations": "d(X,Y) :- own(Y,X,_), knows(X,Y).",
    "vertex predicate": "d(X,Y) :- person(X), person(Y), X != Y.",
    "loops": "d(X,X) :- own(X,X,W).",
    "negation": "d(X,Y) :- own(X,Y,_), not knows(X,Y).",
    "negated weight": "d(X,Y) :- knows(X,Y), not own(X,Y,_).",
    "negation of what is derived": "e(X,Y) :- own(X,Y,W), W > 0.5. d(X,Y) :- knows(X,Y), not e(Y,X).",
    "recursion": "d(X,Y) :- own(X,Y,_). d(X,Y) :- d(Y,X).",
    "sum within a pair": "t(X,Y,S) :- own(X,Y,W), S = sum(W). d(X,Y) :- t(X,Y,S), S > 0.5.",
    "count of head variables": "d(X,Y) :- own(X,Y,_), C = mcount(Y), C >= 1.",
    "recursive sum within a pair": "t(X,Y,S) :- own(X,Y,W), S = msum(W). t(X,Y,S) :- t(X,Y,V), V < 1, S = msum(V). "
    "d(X,Y) :- t(X,Y,S), S > 0.5.",
    "three vertices in the head": "t(X,Y,Z) :- own(X,Y,_), own(Y,Z,_). d(X,Y) :- t(X,Y,X).",
    "equal by assignment": "d(X,Z) :- own(Y,Z,_), X = Y.",
    "equal by comparison": "d(X,Z) :- own(X,Y,_), knows(V,Z), Y == V, V = Z.",
    "facts of numbers": "least(0.5). d(X,Y) :- own(X,Y,W), least(L), W > L.",
    "functions of weights": "d(X,Y) :- own(X,Y,W), round(W * 2, 0) > 0.5.",
    "what is hidden is not needed": "d(X,Y) :- own(X,Y,_). q(X) :- own(X,Y,_), own(Y,_,_).",
}

HIDE = {
    "path": ("d(X,Z) :- own(X,Y,_), own(Y,Z,_).", "Y"),
    "transitive": ("d(X,Y) :- knows(X,Y). d(X,Z) :- d(X,Y), knows(Y,Z).", "Y"),
    "anonymous": ("d(X,Y) :- own(X,Y,_), knows(Y,_).", "_"),
    "a set of vertices": ("busy(X) :- own(X,Y,_). d(X,Y) :- busy(X), busy(Y).", "Y"),
    "anything anywhere": ("some() :- own(X,X,_). d(X,Y) :- knows(X,Y), some().", "X"),
    "count of others": ("d(X,Y) :- own(X,Y,_), own(X,Z,_), C = mcount(Z), C >= 2.", "Z"),
    "count of edges": ("t(X,C) :- own(X,Y,_), C = count(Y). d(X,Y) :- own(X,Y,_), t(X,C), C > 1.", "Y"),
    "sum over others": ("d(X,Y) :- own(X,Y,_), own(Z,Y,W), S = sum(W,<Z>), S > 0.5.", "Z"),
    "recursive sum": (
        "d(X,X) :- person(X). d(X,Z) :- d(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.",
        "Y",
    ),
    "negated anonymous": ("d(X,Y) :- own(X,Y,_), not knows(Y,_).", "_"),
    "negated what hides": ("e(Y) :- own(X,Y,_). d(X,Y) :- knows(X,Y), not e(X).", "X"),
    "number": ("m(W) :- own(X,Y,W), W > 0.5. d(X,Y) :- knows(X,Y), m(W).", "X"),
    "second head": ("e(X,S), f(X,Y) :- own(X,Y,W), S = sum(W). d(X,Y) :- own(X,Y,_), e(X,S), S > 0.5.", "Y"),
    "given and derived": (
        '@derived("knows"). knows(X,Z) :- knows(X,Y), knows(Y,Z). d(X,Y) :- knows(X,Y).',
        "Y",
    ),
}


@pytest.mark.parametrize("name", COMMUTE)
def test_rules_that_commute(name: str) -> None:
    found = kgreason.commutation(GRAPH + COMMUTE[name])
    assert found is not None
    assert (found.outcome, found.hidden, found.counterexample) == ("commute", (), None)


@pytest.mark.parametrize("name", HIDE)
def test_rules_that_do_not(name: str) -> None:
    text, variable = HIDE[name]
    found = kgreason.commutation(GRAPH + text)
    assert found is not None
    assert found.outcome == "do not commute"
    assert str(found.hidden[0]) == variable
    assert found.hidden[0].span.line == 2
    program = load_text(GRAPH + text)
    assert found.counterexample is not None
    assert disagreement(graph_of(found.counterexample, program), program) is not None


@pytest.mark.parametrize(
    "rule",
    [
        "d(X,Y) :- own(X,Y,_), person(Z).",  # X is such a person in every part
        "d(X,Y) :- own(X,Y,_), own(X,Z,W), W > 1.5.",  # weights are at most 1
        "d(X,Y) :- own(X,Y,_). d(X,Y) :- own(X,Y,_), own(Y,Z,_).",  # adds nothing to the first rule
    ],
)
def test_unknown(rule: str) -> None:
    found = kgreason.commutation(GRAPH + rule)
    assert found is not None
    assert (found.outcome, found.counterexample) == ("unknown", None)
    assert str(found).startswith("the rules are not known to commute")


SHIPPED = {
    "close_links": "do not commute",
    "control": "do not commute",
    "holding": "do not commute",
    "reachability": "do not commute",
    "ultimate_controller": "do not commute",
}


@pytest.mark.parametrize("topic", sorted(p.stem for p in (ROOT / "rules").glob("*.vada")))
def test_shipped_rules(topic: str) -> None:
    found = kgreason.commutation(ROOT / "rules" / f"{topic}.vada")
    assert (found and found.outcome) == SHIPPED.get(topic)


def test_the_majority_of_control_is_a_path() -> None:
    found = kgreason.commutation(ROOT / "rules" / "control.vada")
    assert found is not None
    path, rule = str(found).splitlines()[1:]
    assert path.startswith("  control(a, c) follows from own(a, b, ")
    assert path.endswith(", but not without b")
    assert rule.endswith("control.vada:33: the head leaves out the vertex Y")


def test_a_part_may_derive_more() -> None:
    found = kgreason.commutation(GRAPH + "d(X,Y) :- person(X), person(Y), X != Y, not knows(X,_).")
    assert found is not None
    assert found.counterexample is not None
    assert not found.counterexample.lost
    assert "does not follow from" in str(found)
    assert "person(" in str(found)  # a vertex without edges


def test_bounds_of_incoming_sums_are_kept() -> None:
    rule = "d(X,Y) :- own(X,Y,V), own(Z,Y,W), Z != X, V + W > 1."
    found = kgreason.commutation(GRAPH + rule)
    assert found is not None
    assert found.outcome == "do not commute"
    bounded = kgreason.commutation('@incoming_sum("own", 1.0). ' + GRAPH + rule)
    assert bounded is not None
    assert bounded.outcome == "unknown"


def test_sums_without_an_end_do_no_harm() -> None:
    rules = """t(X,Y,S) :- own(X,Y,W), S = msum(W).
    t(X,Z,S) :- t(X,Y,V), own(Y,Z,W), S = msum(V + W,<Y>).
    d(X,Y) :- t(X,Y,_)."""
    found = kgreason.commutation(GRAPH + rules)
    assert found is not None
    assert found.outcome == "do not commute"


@pytest.mark.parametrize(
    "text",
    [
        "p(X,Y) :- q(X,Y).",  # no graph
        '@edge("own"). @output("c"). c(X,Y,Z) :- own(X,Y,_), own(Y,Z,_).',  # no derived edges
        GRAPH + "d(X,Y) :- own(X,Z,_), side(Z,Y).",  # a table beside the graph
        GRAPH + "e(X,Z) :- own(X,Y,_). d(X,Y) :- e(X,Z), e(Y,Z).",  # a null
    ],
)
def test_rules_of_which_nothing_is_said(text: str) -> None:
    assert kgreason.commutation(text) is None


def test_heads_of_one_rule_count_once() -> None:
    found = hidden_vertices(load_text(GRAPH + "e(X), f(X) :- own(X,Y,_).\nd(X,Y) :- e(X), f(Y)."))
    assert [(v.name, v.span.line) for v in found] == [("Y", 2)]


def test_rules_at_fault_are_reported() -> None:
    with pytest.raises(ProgramError, match="E1"):
        kgreason.commutation(GRAPH + "d(X,Y) :- own(X,Y,W), V > 0.5.")


Draw = st.DrawFn
GROUND = {"person": 1, "own": 3, "knows": 2}


@st.composite
def programs(draw: Draw) -> str:
    """Rules with joins, negation, recursion and sums; about half of them commute."""
    known, lines = dict(GROUND), [GRAPH]
    for name, arity in (("a", 1), ("t", 3), ("b", 2), ("d", 2)):
        total = draw(st.sampled_from(["sum(W0)", "count()"]))
        for _ in range(draw(st.integers(1, 2))):
            recursive = {name: arity} if arity < 3 else {}
            lines.append(draw(one_rule(name, arity, known, recursive, total)))
        known[name] = arity
    return "\n".join(lines)


@st.composite
def one_rule(
    draw: Draw, name: str, arity: int, known: dict[str, int], recursive: dict[str, int], total: str
) -> str:
    wanted = "XY"[: min(arity, 2)]
    pool = wanted if draw(st.integers(0, 2)) else "XYZ"

    def atom(among: dict[str, int], place: int, vertices: str) -> str:
        predicate = draw(st.sampled_from(sorted(among)))
        ends = [draw(st.sampled_from(vertices)) for _ in range(min(among[predicate], 2))]
        return f"{predicate}({','.join([*ends, f'W{place}'] if among[predicate] == 3 else ends)})"

    derived = {p: arity for p, arity in known.items() if p not in GROUND} or known
    body = ["own(X,Y,W0)" if len(wanted) == 2 else "own(X,X,W0)", atom(derived, 1, pool)]
    body += [atom(known | recursive, i, pool) for i in range(2, draw(st.integers(2, 4)))]
    if draw(st.booleans()):
        negated = atom(known, 9, wanted if draw(st.integers(0, 4)) else wanted + "_")
        body.append("not " + negated.replace("W9", "_"))
    body += draw(st.lists(st.sampled_from(["W0 > 0.3", f"{wanted[0]} != {wanted[-1]}"]), max_size=2))
    if "Z" in pool and draw(st.integers(0, 3)) and any("Z" in item for item in body):
        body.append("Z == X")
    if arity == 3:
        return f"{name}(X,Y,S) :- {', '.join(body)}, S = {total}."
    return f"{name}({','.join(draw(st.permutations(wanted)))}) :- {', '.join(body)}."


@given(text=programs(), seed=st.integers(0, 1000))
@settings(max_examples=inputs(100), deadline=None)
def test_the_proof_agrees_with_brute_force(text: str, seed: int) -> None:
    program = load_text(text)
    proved = not hidden_vertices(program)
    event("proved" if proved else "not proved")
    if proved:
        rng = np.random.default_rng(seed)
        for n, m in ((3, 5), (6, 8), (6, 16)):
            ends = rng.integers(0, n, (2, m, 2)).tolist()
            own = [(u, v, float(w)) for (u, v), w in zip(ends[0], rng.choice(SHARES, m), strict=True)]
            assert disagreement(build(n, own, [(u, v) for u, v in ends[1]]), program) is None
