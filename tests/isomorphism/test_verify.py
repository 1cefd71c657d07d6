"""The checker against brute force, hand-made violations, and its kernels against plain twins."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.base.progress import SILENT
from kgreason.graph.induced.derivation import InducedReasoner
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.graph.refinement import Pairs
from kgreason.isomorphism.anonymizers.assembly import publish
from kgreason.isomorphism.anonymizers.klone import Klone
from kgreason.isomorphism.verification import image_pools as pools
from kgreason.isomorphism.verification import image_search as search
from kgreason.isomorphism.verification import image_search_kernels, images
from kgreason.isomorphism.verification import subgraph_visits as visits
from kgreason.isomorphism.verification.checker import verify
from kgreason.isomorphism.verification.isomorphism_classes import Classes, Interner
from kgreason.isomorphism.verification.verdict import Delta, Verdict
from kgreason.language.check.checked_program import CheckedProgram
from kgreason.language.check.program_checker import load_text
from tests import naive
from tests.examples import inputs
from tests.folders import ROOT

CONTROL = load_text("""
@node("company"). @edge("own"). @derived("control"). @derived("ultimate"). @incoming_sum("own", 1.0).
control(X,X) :- company(X).
control(X,Z) :- control(X,Y), own(Y,Z,W), V = msum(W,<Y>), V > 0.5.
controlled(Y) :- control(X,Y), X != Y.
ultimate(X,Y) :- control(X,Y), X != Y, not controlled(X).
""")
REACH = load_text("""
@edge("own"). @edge("knows"). @derived("reach").
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.3.
reach(X,Y) :- reach(X,Z), knows(Z,Y), X != Y.
""")
NOTHING = load_text('@edge("own"). @output("isolated"). isolated(X) :- own(X,X,_).')
RULES = [CONTROL, REACH, NOTHING]
# what these derive may vanish as weights grow, so that nothing is shared between sets of the same pattern
UNSHARED = [
    load_text(
        """@edge("own"). @derived("minor").
        held(Y,S) :- own(X,Y,W), S = sum(W,<X>).
        minor(X,Y) :- own(X,Y,W), held(Y,S), S < 0.5."""
    ),
    load_text(
        """@edge("own"). @edge("knows"). @derived("open"). @derived("knows").
        held(Y,S) :- own(X,Y,W), S = sum(W,<X>).
        taken(Y) :- held(Y,S), S >= 0.5.
        open(X,Y) :- own(X,Y,_), not taken(Y).
        knows(Y,X) :- knows(X,Y), not taken(X)."""
    ),
    load_text(
        """@edge("own"). @derived("low").
        low(X,Y) :- own(X,Y,W), M = max(W,<X>), M < 0.5."""
    ),
]


def graph(labels: list[str], **relations: list[tuple]) -> KnowledgeGraph:
    """A graph from numbered edges; a relation whose first edge has two entries has no weights."""
    made = {}
    for name, edges in relations.items():
        ends = np.array([e[:2] for e in edges], dtype=np.int64).reshape(-1, 2)
        weight = np.array([e[2] for e in edges], dtype=np.float64) if edges and len(edges[0]) == 3 else None
        made[name] = Relation(ends[:, 0].copy(), ends[:, 1].copy(), weight)
    return KnowledgeGraph(np.array(labels, dtype=object), made)


# --- brute force --------------------------------------------------------------------------------------------


class Brute:
    """Definition 4.1 item 4 word by word: all vertex sets, all isomorphisms (VF2), the naive evaluator."""

    def __init__(
        self, original: KnowledgeGraph, released: KnowledgeGraph, mapping, rules: CheckedProgram
    ) -> None:
        self.g, self.a, self.mapping, self.rules = original, released, mapping, rules
        self.ins, self.outs = released.in_degree(), released.out_degree()
        self.seen: dict[frozenset[int], tuple[nx.DiGraph, list[str]]] = {}

    def induced(self, vertices: frozenset[int]) -> tuple[nx.DiGraph, list[str]]:
        """What stands on a set of vertices, and the kinds of its pairs, alike where two are isomorphic."""
        if vertices not in self.seen:
            facts = {p: [(v,) for v in vertices] for p in self.rules.nodes}
            pairs: dict[tuple[int, int], Counter] = defaultdict(Counter)
            for name, r in self.a.relations.items():
                weights = r.weight if r.weight is not None else [None] * len(r)
                for u, v, w in zip(r.source.tolist(), r.target.tolist(), weights, strict=True):
                    if {u, v} <= vertices:
                        pairs[u, v][name] += 1
                        if name in self.rules.edges:
                            facts.setdefault(name, []).append((u, v) if w is None else (u, v, float(w)))
            derived = naive.evaluate(self.rules, facts)
            for p in self.rules.derived:
                for u, v in derived.get(p, ()):
                    pairs[u, v]["derived " + p] += 1
            found = nx.DiGraph()
            found.add_nodes_from(vertices)
            found.add_edges_from((*pair, {"kinds": counts}) for pair, counts in pairs.items())
            kinds = sorted(str(sorted(counts.items())) for counts in pairs.values())
            self.seen[vertices] = found, kinds
        return self.seen[vertices]

    def differ(self, u: int, v: int) -> bool:
        return (
            self.a.labels[u] != self.a.labels[v]
            and self.ins[u] != self.ins[v]
            and self.outs[u] != self.outs[v]
        )

    def satisfied(self, x1: frozenset[int], k: int) -> bool:
        first, kinds = self.induced(x1)
        order = sorted(x1)
        placements = []
        for y in map(frozenset, combinations(sorted(set(range(self.a.n)) - x1), len(x1))):
            second, others = self.induced(y)
            if kinds != others:
                continue
            matcher = nx.isomorphism.DiGraphMatcher(
                first, second, edge_match=lambda a, b: a["kinds"] == b["kinds"]
            )
            for phi in matcher.isomorphisms_iter():
                if all(self.differ(v, phi[v]) for v in order):
                    placements.append([phi[v] for v in order])
        return any(
            all(not set(p) & set(q) and all(map(self.differ, p, q)) for p, q in combinations(chosen, 2))
            for chosen in combinations(placements, k - 1)
        )

    def delta(self, k: int, x: int) -> tuple[int, int]:
        undirected = nx.Graph()
        undirected.add_nodes_from(range(self.g.n))
        undirected.add_edges_from(zip(*(e.tolist() for e in self.g.ends), strict=True))
        good = total = 0
        for component in nx.connected_components(undirected):
            for chosen in combinations(sorted(component), min(x, len(component))):
                if nx.is_connected(undirected.subgraph(chosen)):
                    total += 1
                    good += self.satisfied(frozenset(self.mapping[list(chosen)].tolist()), k)
        return good, total


def random_case(seed: int, some: list[CheckedProgram] = RULES):
    """An original, and copies of it with random edges between and sometimes inside them."""
    rng = np.random.default_rng(seed)
    rules = some[rng.integers(len(some))]
    n, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    own, knows = [], []
    for _ in range(int(rng.integers(0, 2 * n))):
        u, v = (int(i) for i in rng.integers(n, size=2))
        if rng.random() < 0.7:
            own.append((u, v, float(rng.choice([0.2, 0.4, 0.6]))))
        else:
            knows.append((u, v))
    original = graph([f"o{v}" for v in range(n)], own=own, knows=knows).distinct()
    copies = int(rng.integers(k - 1, k + 1)) if rng.random() < 0.9 else 1
    total = max(1, copies) * n + int(rng.integers(0, 3))
    many_own = [(u + c * n, v + c * n, w + 0.05) for u, v, w in own for c in range(copies or 1)]
    many_knows = [(u + c * n, v + c * n) for u, v in knows for c in range(copies or 1)]
    if copies >= k and rng.random() < 0.6:  # each copy has other degrees than the one before
        for c, v, w in product(range(1, copies), range(n), (0.01, 0.02, 0.03, 0.04)):
            many_own += [(v + c * n, total + c, w), (total + c, v + c * n, w)]
        total += copies
    inside = rng.random() < 0.3
    for _ in range(int(rng.integers(0, 2 * total))):
        u, v = (int(i) for i in rng.integers(total, size=2))
        if inside or u // n != v // n or u >= copies * n:
            if rng.random() < 0.8 or not many_knows:
                many_own.append((u, v, float(rng.choice([0.1, 0.35, 0.7]))))
            else:
                many_knows.append((u, v))
    if rng.random() < 0.15 and many_own:
        many_own.pop(int(rng.integers(len(many_own))))
    number = rng.permutation(total)
    many_own = [(int(number[u]), int(number[v]), w) for u, v, w in many_own]
    many_knows = [(int(number[u]), int(number[v])) for u, v in many_knows]
    released = graph([f"r{v}" for v in range(total)], own=many_own, knows=many_knows).distinct()
    return original, released, number[:n], rules, k, int(rng.integers(1, 4))


def small(patch: pytest.MonkeyPatch) -> None:
    """So little at once that small graphs need all that large ones do."""
    for module, name, value in [
        *[
            (search, "BLOCK", 2),
            (search, "SAMPLE", 2),
            (search, "FEW", 1),
            (search, "FEW_SETS", 0),
            (search, "PROBED", 2),
            (search, "MANY", 2),
            (search, "ROUND", 1),
        ],
        *[
            (search, "GROWTH", 1),
            (search, "PARTS", 3),
            (visits, "ROWS", 2),
            (visits, "NODES", 1),
            (images, "SHARES", 3),
        ],
        *[
            (images, "SHARES", 3),
            (images, "WINDOW", 2),
            (images, "RAREST", 2),
            (images, "ENTRIES", 1),
            (images, "QUOTA", 1),
        ],
        (pools, "BLOCKS", 2),
        (pools, "SETTLED", 2),
        (visits, "AT_ONCE", 2),
    ]:
        patch.setattr(module, name, value)


@settings(max_examples=inputs(300), deadline=None)
@given(st.integers(0, 2**32))
def test_delta_is_that_of_brute_force(seed: int) -> None:
    original, released, mapping, rules, k, x = random_case(seed)
    with pytest.MonkeyPatch.context() as patch:
        if (
            seed % 4 == 0
        ):  # with one thread and with several; what is enough for small graphs is not for large ones
            small(patch)
        verdict = verify(original, released, mapping, rules, k, x)
    expected = Brute(original, released, mapping, rules).delta(k, x)
    assert (verdict.delta.satisfied, verdict.delta.total) == expected
    assert verdict.delta.exact
    assert verdict["images"].holds == (expected[0] == expected[1])
    assert not verdict["images"].holds or not verdict["images"].witnesses


@settings(max_examples=inputs(150), deadline=None)
@given(st.integers(0, 2**32))
def test_delta_where_nothing_is_shared(seed: int) -> None:
    """Sets of one pattern have different ground edges: the search must not skip them for those of one example."""
    original, released, mapping, rules, k, x = random_case(seed, UNSHARED)
    assert InducedReasoner(released, rules).ties is None
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2 == 0:
            small(patch)
        verdict = verify(original, released, mapping, rules, k, x)
    assert (verdict.delta.satisfied, verdict.delta.total) == Brute(original, released, mapping, rules).delta(
        k, x
    )
    assert verdict.delta.exact


def test_images_with_other_ground_edges_than_the_first_of_their_pattern() -> None:
    """Here q0 and q2 own each other, q4 owns q0, q4 owns q5: images of the sets of the original are only the last."""
    original = graph(["o0", "o1", "o2"], own=[(0, 1, 0.33), (2, 1, 0.33)])
    edges = [(0, 1, 0.1), (0, 2, 0.9), (2, 0, 0.1), (3, 2, 0.2), (4, 0, 0.2), (4, 5, 0.5), (6, 2, 0.1)]
    released = graph([f"q{v}" for v in range(7)], own=edges)
    verdict = verify(original, released, np.array([3, 2, 6]), UNSHARED[0], 2, 2)
    assert verdict["images"].holds


def test_random_cases_hold_and_fail() -> None:
    """Brute force and the checker are compared on both outcomes, also beyond single vertices."""
    seen = Counter()
    for seed in range(200):
        original, released, mapping, rules, k, x = random_case(seed)
        verdict = verify(original, released, mapping, rules, k, x)
        some = "all" if verdict["images"].holds else "none" if verdict.delta.satisfied == 0 else "some"
        edges = bool(original.m) and min(x, original.n) > 1
        seen[some, edges] += 1
    assert all(seen[some, True] >= 10 for some in ("all", "some", "none")), seen


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32))
def test_four_vertices_and_four_images(seed: int) -> None:
    """Larger sets and more images than above, on unweighted graphs with many symmetries."""
    rng = np.random.default_rng(seed)
    edges = [(int(u), int(v)) for u, v in rng.integers(11, size=(20, 2))]
    released = graph([f"r{v}" for v in range(11)], knows=edges).distinct()
    keep = [(u, v) for u, v in edges if max(u, v) < 4]
    original = graph([f"o{v}" for v in range(4)], knows=keep).distinct()
    rules = load_text('@edge("knows"). @derived("mutual"). mutual(X,Y) :- knows(X,Y), knows(Y,X).')
    for k, x in ((2, 3), (4, 2), (5, 1)):
        verdict = verify(original, released, np.arange(4), rules, k, x)
        assert (verdict.delta.satisfied, verdict.delta.total) == Brute(
            original, released, np.arange(4), rules
        ).delta(k, x)


# --- violations, one by one ---------------------------------------------------------------------------------

ORIGINAL = graph(["Adler", "Biber", "Cello"], own=[(0, 1, 0.8)])
EDGE = graph(["Adler", "Biber"], own=[(0, 1, 0.8)])
GOOD = graph(
    ["r0", "r1", "r2", "r3", "r4", "r5", "r6"],
    own=[
        (0, 1, 0.7),
        (2, 3, 0.6),
        *[(2, 4, 0.1), (4, 2, 0.2), (3, 5, 0.1), (6, 3, 0.05)],  # 2 -> 3 differs from 0 -> 1 in all degrees
        *[(1, 5, 0.1), (1, 6, 0.1), (4, 5, 0.1), (1, 4, 0.1)],
    ],
)
MAPPING = np.array([0, 1, 6])


def check(released: KnowledgeGraph = GOOD, original=ORIGINAL, mapping=MAPPING, k=2, x=2) -> Verdict:
    return verify(original, released, mapping[: original.n], CONTROL, k, x)


def failed(verdict: Verdict) -> list[str]:
    return [item.name for item in verdict.items if not item.holds]


def with_edges(*, drop=(), add=()) -> KnowledgeGraph:
    r = GOOD.relations["own"]
    rows = list(zip(r.source.tolist(), r.target.tolist(), r.weight.tolist(), strict=True))
    return graph(list(GOOD.labels), own=[row for row in rows if row[:2] not in drop] + list(add))


def test_good_release() -> None:
    verdict = check()
    assert verdict.holds
    assert str(verdict.delta) == "1.000 (2 of 2, exact)"
    assert [i.name for i in verdict.items] == [
        *["parameters", "mapping", "connected", "augmentation", "labels", "weights", "weight range"],
        *["incoming sums of own", "images"],
    ]
    assert json.loads(json.dumps(verdict.as_dict()))["delta"] == {
        "value": 1.0,
        "satisfied": 2,
        "total": 2,
        "undecided": 0,
        "exact": True,
        "every": False,
        "estimate": False,
        "population": 2,
        "interval": [1.0, 1.0],
        "confidence": 1.0,
    }
    assert str(verdict).splitlines()[0] == "holds  parameters: k = 2, x = 2, 3 vertices"


@pytest.mark.parametrize(
    ("k", "x", "text"),
    [
        (2, 4, "x = 4 is not between 1 and the number of vertices, 3"),
        (2, 0, "x = 0 is not between 1 and the number of vertices, 3"),
        (0, 2, "k = 0 is not between 1 and the number of sets of 2 vertices, 3"),
        (4, 2, "k = 4 is not between 1 and the number of sets of 2 vertices, 3"),
    ],
)
def test_parameters_out_of_range(k: int, x: int, text: str) -> None:
    item = check(k=k, x=x)["parameters"]
    assert (item.holds, item.detail) == (False, text)


def test_images_are_not_examined_without_sense() -> None:
    verdict = check(k=0)
    assert verdict.delta is None
    assert verdict["images"].detail == "not examined: k and x must be at least 1"
    assert verdict.as_dict()["delta"] is None
    assert check(k=1, x=1)["images"].holds


def test_dropped_edge() -> None:
    verdict = check(with_edges(drop=[(0, 1)], add=[(0, 4, 0.1)]))
    assert "augmentation" in failed(verdict)
    assert verdict["augmentation"].witnesses == (
        "own: r0 (original Adler) -> r1 (original Biber): 1 in the original, 0 in the release",
    )


def test_dropped_parallel_edge() -> None:
    original = graph(["Adler", "Biber"], own=[(0, 1, 0.8), (0, 1, 0.1)])
    assert check(original=original)["augmentation"].witnesses == (
        "own: r0 (original Adler) -> r1 (original Biber): 2 in the original, 1 in the release",
    )


def test_dropped_relation() -> None:
    original = graph(["Adler", "Biber"], own=[(0, 1, 0.8)], knows=[(1, 0)])
    assert check(original=original)["augmentation"].witnesses == (
        "knows: r1 (original Biber) -> r0 (original Adler): 1 in the original, 0 in the release",
    )


def test_kept_label() -> None:
    labels = GOOD.labels.copy()
    labels[5] = "Adler"
    verdict = check(replace(GOOD, labels=labels))
    assert failed(verdict) == ["labels"]
    assert verdict["labels"].witnesses == ("Adler",)


def test_kept_weight() -> None:
    verdict = check(with_edges(drop=[(0, 1)], add=[(0, 1, 0.8)]))
    assert failed(verdict) == ["weights"]
    assert verdict["weights"].witnesses == (
        "own: r0 (original Adler) -> r1 (original Biber) still has the weight 0.8",
    )


@pytest.mark.parametrize(
    ("before", "after", "holds"),
    [
        ([0.1, 0.2], [0.1, 0.2], True),  # each can be the other
        ([0.1], [0.1], False),
        ([0.1], [0.1, 0.3], True),
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.4], True),
        ([0.1, 0.1], [0.1], False),  # a row that stands twice is one edge
    ],
)
def test_weights_of_parallel_edges(before: list[float], after: list[float], holds: bool) -> None:
    original = graph(["A", "B"], own=[(0, 1, w) for w in before])
    released = graph(["p", "q"], own=[(0, 1, w) for w in after])
    assert verify(original, released, MAPPING[:2], NOTHING, 1, 2)["weights"].holds is holds
    edges = set(before)
    brute = any(
        all(b != a for b, a in zip(edges, chosen, strict=True))
        for chosen in permutations(set(after), len(edges))
    )
    assert brute is holds


def test_weights_dropped_and_absent() -> None:
    bare = graph(["p", "q"], own=[(0, 1)])
    assert verify(EDGE, bare, MAPPING[:2], NOTHING, 1, 2)["weights"].witnesses == (
        "own: the release has no weights",
    )
    item = verify(graph(["A", "B"], own=[(0, 1)]), bare, MAPPING[:2], NOTHING, 1, 2)["weights"]
    assert (item.holds, item.detail) == (True, "there are no weights")


def test_weight_outside_the_range() -> None:
    verdict = check(with_edges(drop=[(1, 5), (1, 6)], add=[(1, 5, -0.1), (1, 6, float("nan"))]))
    assert failed(verdict) == ["weight range", "incoming sums of own", "images"]
    assert verdict["images"].detail == "not examined: some weights are not between 0 and 1"
    assert verdict["weight range"].witnesses == (
        "own: r1 -> r5 has weight -0.1",
        "own: r1 -> r6 has weight nan",
    )


def test_incoming_sum_exceeded() -> None:
    verdict = check(with_edges(drop=[(1, 5)], add=[(1, 5, 0.9)]))
    assert failed(verdict) == ["incoming sums of own"]
    assert verdict["incoming sums of own"].witnesses == ("incoming weights of r5 sum to 1.1",)
    rounded = [(v, 0, 0.1) for v in range(1, 11)]
    ten = graph([f"r{v}" for v in range(11)], own=rounded)
    assert verify(ORIGINAL, ten, MAPPING, CONTROL, 1, 1)["incoming sums of own"].holds


def test_disconnected_release() -> None:
    verdict = check(replace(GOOD, labels=np.array([*GOOD.labels, "r7"], dtype=object)))
    assert failed(verdict) == ["connected"]
    assert verdict["connected"].witnesses == ("the smallest component has 1 vertices, for instance r7",)


@pytest.mark.parametrize(
    ("mapping", "detail", "witness"),
    [
        ([0], "1 entries for 3 original vertices", ()),
        ([0, 7, 1], "1 original vertices have no released ones", ("Biber has none",)),
        ([-1, 1, 2], "1 original vertices have no released ones", ("Adler has none",)),
        ([3, 3, 6], "1 released vertices are assigned to several originals", ("Adler, Biber all are r3",)),
    ],
)
def test_broken_mapping(mapping: list[int], detail: str, witness: tuple[str, ...]) -> None:
    verdict = check(mapping=np.array(mapping))
    assert (verdict["mapping"].detail, verdict["mapping"].witnesses) == (detail, witness)
    assert verdict["images"].detail == "not examined: the mapping is broken"
    assert verdict.delta is None


def test_missing_image() -> None:
    """The copy is no majority any more: nothing controls anything there."""
    verdict = check(with_edges(drop=[(2, 3)], add=[(2, 3, 0.4)]))
    assert failed(verdict) == ["images"]
    (witness,) = verdict["images"].witnesses
    assert witness.splitlines() == [
        "subgraph of r1 (original Biber), r0 (original Adler)",
        "  edges: own: r0 -> r1",
        "  derived edges: control: r1 -> r1; control: r0 -> r1; ultimate: r0 -> r1; control: r0 -> r0",
        "  KG-isomorphic to 0 other subgraphs of the release; 0 share no vertex with it",
    ]


def test_equal_out_degree() -> None:
    verdict = check(with_edges(drop=[(2, 4)]))
    assert failed(verdict) == ["images"]
    assert verdict["images"].witnesses[0].splitlines()[-1] == (
        "  KG-isomorphic to 1 other subgraphs of the release; 1 share no vertex with it; of these 0 can have "
        "all labels, in-degrees and out-degrees different from its own; in 100% of the placements the vertex "
        "in the place of r0 has its out-degree, 1"
    )


def test_rows_that_stand_twice_are_one_edge() -> None:
    """Were the first edge of the triangle two, its ends would differ in both degrees."""
    original = graph(["A", "B"], knows=[(0, 1)])
    released = graph(["r0", "r1", "r2"], knows=[(0, 1), (0, 1), (1, 2), (2, 0)])
    verdict = verify(original, released, np.arange(2), NOTHING, 2, 1)
    assert (verdict.delta.satisfied, verdict.delta.total) == (0, 2)


def test_overlapping_images() -> None:
    """Only 2 -> 3 and 2 -> 4 differ from 0 -> 1 in all degrees, and they share vertex 2."""
    rules = load_text('@edge("own"). @output("loop"). loop(X) :- own(X,X).')
    edges = [(0, 1), (2, 3), (2, 4), (5, 2), (5, 3), (5, 4), (7, 4), (3, 6), (4, 6)]
    released = graph([f"r{v}" for v in range(8)], own=edges)
    original = graph(["A", "B"], own=[(0, 1)])
    assert verify(original, released, np.arange(2), rules, 2, 2).delta.satisfied == 1
    verdict = verify(original, released, np.arange(2), rules, 3, 2)
    assert verdict.delta.satisfied == 0
    assert verdict["images"].witnesses[0].splitlines()[-1] == (
        "  KG-isomorphic to 8 other subgraphs of the release; 8 share no vertex with it; of these 2 can have "
        "all labels, in-degrees and out-degrees different from its own, but no 2 of them that are disjoint "
        "and different from each other"
    )


def test_delta_is_never_rounded_up_to_one() -> None:
    assert str(Delta(99_999, 100_000)) == "0.999 (99,999 of 100,000, exact)"


def test_many_failures_show_some() -> None:
    ring = graph([f"o{v}" for v in range(9)], own=[(v, (v + 1) % 9, 0.2) for v in range(9)])
    released = graph([f"r{v}" for v in range(9)], own=[(v, (v + 1) % 9, 0.3) for v in range(9)])
    item = verify(ring, released, np.arange(9), CONTROL, 2, 3)["images"]
    assert item.detail == "0 of 9 subgraphs have 2 places, δ = 0.000 (0 of 9, exact)"
    assert (len(item.witnesses), item.witnesses[-1]) == (6, "... and 4 more")


# --- degenerate ---------------------------------------------------------------------------------------------


def test_empty_graph() -> None:
    empty = graph([], own=[])
    verdict = verify(empty, empty, np.empty(0, dtype=np.int64), CONTROL, 2, 2)
    assert failed(verdict) == ["parameters"]
    assert verdict.delta == Delta(0, 0)
    assert verdict.delta.value == 1.0


def test_isolated_vertices_are_components_of_their_own() -> None:
    original = graph(["A", "B", "C"], own=[(0, 1, 0.2)])
    released = graph(
        [f"r{v}" for v in range(6)], own=[(0, 1, 0.1), (3, 4, 0.1), (3, 5, 0.1), (2, 4, 0.1), (5, 3, 0.2)]
    )
    verdict = verify(original, released, np.arange(3), CONTROL, 2, 4)
    assert (verdict.delta.satisfied, verdict.delta.total) == Brute(
        original, released, np.arange(3), CONTROL
    ).delta(2, 4)
    assert verdict.delta.total == 2


@pytest.mark.parametrize("seed", [20, pytest.param(26, marks=pytest.mark.slow)])
def test_what_was_skipped_in_a_sample_is_not_taken_for_known(seed: int) -> None:
    """Copies of a graph with many patterns: looking for samples must not hide patterns from the search."""
    from kgreason.graph.generators import ownership
    from kgreason.isomorphism.arguments import anonymizable
    from kgreason.reasoning.api import load

    rules = anonymizable(load(ROOT / "examples" / "ownership" / "control.vada"))
    original = ownership(300, np.random.default_rng(20))
    rng = np.random.default_rng(seed)
    released = Klone(4, 1).augment(original, rules, rng, SILENT).graph
    labels = np.array([f"a{i}" for i in range(released.n)], dtype=object)
    released = KnowledgeGraph(labels, released.relations)
    assert verify(original, released, np.arange(original.n), rules, 4, 5)["images"].holds


def test_too_large_subgraphs_are_refused() -> None:
    path = graph([f"o{v}" for v in range(10)], own=[(v, v + 1, 0.2) for v in range(9)])
    released = replace(path, labels=np.array([f"r{v}" for v in range(10)], dtype=object))
    with pytest.raises(AnonymizationError) as caught:
        verify(path, released, np.arange(10), CONTROL, 2, 9)
    assert str(caught.value) == (
        "subgraphs of 9 vertices cannot be decided\n  help: choose an x of at most 8"
    )


def test_disconnected_in_the_release_is_undecided_when_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    released = with_edges(drop=[(0, 1)], add=[(0, 4, 0.1)])
    assert check(released).delta.exact
    monkeypatch.setattr(search, "ALL_SUBSETS", 3)
    verdict = check(released)
    assert str(verdict.delta) == "at least 0.500 (1 of 2, 1 undecided)"
    assert verdict["images"].witnesses[0].endswith("not decided: the search was given up")


# --- releases of an anonymizer ------------------------------------------------------------------------------


def klone_release(rules: CheckedProgram, seed: int):
    rng = np.random.default_rng(seed)
    edges = [
        (int(u), int(v), float(rng.uniform(0.05, 0.3))) for u, v in rng.integers(14, size=(20, 2)) if u != v
    ]
    path = [(v, v + 1, 0.2) for v in range(13)]
    original = graph([f"o{v}" for v in range(14)], own=path + edges).distinct()
    if rules is CONTROL:
        total = np.bincount(original.relations["own"].target, original.relations["own"].weight, 14)
        target = original.relations["own"].target
        original = original.with_weights(
            {"own": original.relations["own"].weight / np.maximum(1, total)[target]}
        )
    augmented = Klone(k=3, trials=1).augment(original, rules, rng, SILENT)
    return original, publish(augmented, set(original.labels), rng)


OWN_REACH = load_text("""
@edge("own"). @derived("reach").
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.
reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.
""")


@pytest.mark.parametrize("rules", [CONTROL, OWN_REACH], ids=["control", "reach"])
@pytest.mark.parametrize("x", [2, 3, 4])
def test_klone_releases_hold(rules: CheckedProgram, x: int) -> None:
    original, release = klone_release(rules, x)
    verdict = verify(original, release.graph, release.mapping, rules, 3, x)
    assert verdict.holds, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("x", [2, 3, 4])
def test_klone_on_face_to_face_contacts(real_data: Path, x: int) -> None:
    """410 vertices and up to 535,413 attacked subgraphs."""
    lines = (real_data / "weighted" / "infect-dublin.edges").read_text(encoding="utf-8").splitlines()
    original = KnowledgeGraph.from_edges([tuple(line.split()[:2]) for line in lines], relation="own")
    rng = np.random.default_rng(x)
    augmented = Klone(k=3, trials=1).augment(original, OWN_REACH, rng, SILENT)
    release = publish(augmented, set(original.labels), rng)
    verdict = verify(original, release.graph, release.mapping, OWN_REACH, 3, x)
    assert verdict.holds
    assert verdict.delta.total == {2: 2_765, 3: 34_756, 4: 535_413}[x]


@pytest.mark.parametrize(
    "mutation", ["drop an original edge", "fuse labels", "level degrees", "swap mapping"]
)
def test_mutations_of_a_klone_release_are_found(mutation: str) -> None:
    original, release = klone_release(CONTROL, 7)
    a, mapping = release.graph, release.mapping.copy()
    own = a.relations["own"]
    if mutation == "drop an original edge":
        ends = (own.source == mapping[0]) & (own.target == mapping[1])
        a = replace(a, relations={"own": Relation(own.source[~ends], own.target[~ends], own.weight[~ends])})
    elif mutation == "fuse labels":
        labels = a.labels.copy()
        labels[mapping[0]] = "o3"
        a = replace(a, labels=labels)
    elif mutation == "level degrees":  # every vertex gets the same out-degree
        need = a.out_degree().max() - a.out_degree()
        source = np.repeat(np.arange(a.n), need)
        new = Relation(
            np.concatenate([own.source, source]),
            np.concatenate([own.target, np.full(len(source), a.n)]),
            np.concatenate([own.weight, np.linspace(1e-4, 2e-4, len(source))]),
        )
        a = replace(a, labels=np.array([*a.labels, "sink"], dtype=object), relations={"own": new})
    else:
        mapping[[0, 5]] = mapping[[5, 0]]
    assert not verify(original, a, mapping, CONTROL, 3, 3).holds


# --- plain twins of the kernels -----------------------------------------------------------------------------


def digraph(seed: int, n: int, m: int) -> KnowledgeGraph:
    rng = np.random.default_rng(seed)
    own, knows = (rng.integers(n, size=(m, 2)).tolist() for _ in range(2))
    return graph([str(v) for v in range(n)], own=own, knows=knows)


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 8), st.integers(0, 20))
def test_pair_types_against_counting(seed: int, n: int, m: int) -> None:
    g = digraph(seed, n, m)
    members = np.array(list(permutations(range(n), 3)))[:50]
    pairs = Pairs(g)
    counted = {
        name: Counter(zip(r.source.tolist(), r.target.tolist(), strict=True))
        for name, r in g.relations.items()
    }
    for row, types in zip(members.tolist(), pairs.of(members).reshape(-1, 3, 3), strict=True):
        for a, b in product(range(3), repeat=2):
            expected = [counted[name][row[a], row[b]] for name in g.relations]
            assert pairs.counts[types[a, b]].tolist() == expected


@settings(max_examples=inputs(60), deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), max_size=30), max_size=4))
def test_interner_against_a_dictionary(parts: list[list[tuple[int, int]]]) -> None:
    interner, known = Interner(2), {}
    for part in parts:
        ids = interner.number(np.array(part, dtype=np.int64).reshape(-1, 2))
        assert ids.tolist() == [known.setdefault(row, len(known)) for row in part]
    assert interner.rows.tolist() == [list(row) for row in known]


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_classes_against_all_permutations(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = rng.integers(0, 2 if size > 2 else 3, size=(40, size * size))
    classes = Classes(size)
    numbers, orders = classes.classify(matrices)

    def least(matrix: np.ndarray) -> tuple[int, ...]:
        turned = (matrix[np.ix_(p, p)] for p in map(list, permutations(range(size))))
        return min(tuple(m.reshape(-1).tolist()) for m in turned)

    for flat, number, order in zip(matrices, numbers.tolist(), orders, strict=True):
        matrix = flat.reshape(size, size)
        form = classes.form(number)
        assert tuple(form.types.reshape(-1).tolist()) == least(matrix)
        assert (matrix[np.ix_(order, order)] == form.types).all()
        turns = [p for p in permutations(range(size)) if (form.types[np.ix_(p, p)] == form.types).all()]
        assert form.automorphisms.tolist() == [list(p) for p in turns]


def plain_find_images(targets, members, turns, traits, need):
    """Twin of `find_images`: every choice of `need` placements."""
    found = []
    for target in targets.tolist():
        placements = [[m[i] for i in turn] for m in members.tolist() for turn in turns.tolist()]

        def apart(p, q):
            return not set(p) & set(q) and all(
                (traits[u] != traits[v]).all() for u, v in zip(p, q, strict=True)
            )

        fitting = [p for p in placements if apart(p, target)]
        found.append(
            int(any(all(apart(p, q) for p, q in combinations(c, 2)) for c in combinations(fitting, need)))
        )
    return found


@settings(max_examples=inputs(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([0, 3, 10**6]), st.sampled_from([1, 256]))
def test_find_images_against_every_choice(seed: int, need: int, patience: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    n, size = 16, int(rng.integers(1, 4))
    traits = np.stack(
        [rng.integers(0, 2 + need, n), rng.integers(0, 2 + need, n), rng.permutation(n)], axis=1
    )
    members = np.array([rng.permutation(n)[:size] for _ in range(12)])
    targets = members[rng.integers(12, size=6)]
    turns = np.array(list(permutations(range(size))))[: int(rng.integers(1, 3))]
    images_ = np.full((6, need), -1, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_search_kernels, "PLACEMENTS", room)
        status = search.find_images(targets, members, turns, traits, need, patience, 10**6, images_)
    assert status.tolist() == plain_find_images(targets, members, turns, traits, need)
    for target, row in zip(targets[status == 1], images_[status == 1], strict=True):
        chosen = np.array([target, *(members[i // len(turns)][turns[i % len(turns)]] for i in row)])
        assert len(set(chosen.reshape(-1).tolist())) == chosen.size
        for t in range(3):
            assert all(len(set(column)) == len(chosen) for column in traits[chosen, t].T.tolist())


def test_find_images_gives_up_within_its_budget() -> None:
    n = 40
    traits = np.stack([np.arange(n), np.arange(n) % 20, np.arange(n)], axis=1)
    traits[1:, 0] = 1 + np.arange(n - 1) % 2  # only two in-degrees among the candidates: no three of them
    members = np.arange(n)[:, None]
    found = np.zeros((1, 3), dtype=np.int64)
    turns = np.zeros((1, 1), dtype=np.int64)
    given_up = search.find_images(members[:1], members, turns, traits, 3, 10**6, 5, found)
    decided = search.find_images(members[:1], members, turns, traits, 3, 0, 10**6, found)
    assert (given_up.tolist(), decided.tolist()) == ([-1], [0])
