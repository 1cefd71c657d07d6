"""Checker of a series of releases, compared with the definition."""

from itertools import combinations, permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.verification.joined_releases import Dated, joined_occurrences
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs

RULES = load_text("""@edge("own"). @derived("reach"). @derived("major").
reach(X,Y) :- own(X,Y,W), X != Y, W > 0.3. reach(X,Y) :- reach(X,Z), own(Z,Y,W), X != Y, Z != Y, W > 0.3.
major(X,Y) :- own(X,Y,W), W > 0.5.""")


def graph(edges, vertices):
    """Graph whose labels are numbers of the series, as text."""
    labels = np.array([str(v) for v in vertices], dtype=object)
    number = {v: i for i, v in enumerate(vertices)}
    source, target = (np.array([number[e[i]] for e in edges], dtype=np.int64) for i in range(2))
    return KnowledgeGraph(labels, {"own": Relation(source, target, np.array([e[2] for e in edges], float))})


def derived(edges, chosen):
    """Derived edges of the subgraph of some vertices, by definition."""
    inner = [e for e in edges if e[0] in chosen and e[1] in chosen]
    major = {(u, v) for u, v, w in inner if w > 0.5}
    strong = {(u, v) for u, v, w in inner if w > 0.3}
    reach = {(u, v) for u, v in strong if u != v}
    while more := {(u, z) for u, v in reach for w, z in strong if v == w and u != z and v != z} - reach:
        reach |= more
    return sorted((u, v) for u, v, _ in inner), reach, major


def described(releases, chosen):
    """What a tuple of vertices shows in all releases, by positions."""
    at = {v: i for i, v in enumerate(chosen)}
    shown = []
    for vertices, edges in releases:
        ground, *facts = derived(edges, set(chosen))
        present = [v in vertices for v in chosen]
        ground = sorted((at[u], at[v]) for u, v in ground)
        shown.append((present, ground, [sorted((at[u], at[v]) for u, v in found) for found in facts]))
    return shown


def degrees(releases, v):
    """In- and out-degree of a vertex in each release that has it."""
    return [
        (sum(e[1] == v for e in edges), sum(e[0] == v for e in edges)) if v in vertices else None
        for vertices, edges in releases
    ]


def apart(releases, one, other):
    """Whether two tuples share no vertex, and no degree at any position in any release."""
    if set(one) & set(other):
        return False
    for u, v in zip(one, other, strict=True):
        for first, second in zip(degrees(releases, u), degrees(releases, v), strict=True):
            if first and second and (first[0] == second[0] or first[1] == second[1]):
                return False
    return True


def keeps(releases, target, k):
    """Whether a set keeps k places over all releases."""
    everything = sorted({v for vertices, _ in releases for v in vertices})
    shown = described(releases, target)
    images = [
        placed
        for placed in permutations(everything, len(target))
        if apart(releases, target, placed) and described(releases, placed) == shown
    ]
    return any(
        all(apart(releases, a, b) for a, b in combinations(some, 2)) for some in combinations(images, k - 1)
    )


@st.composite
def series(draw):
    """Releases of originals on the vertices 0 .. n-1, with synthetic vertices beyond."""
    n, more = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    weights = st.sampled_from([0.2, 0.4, 0.6])
    found = []
    for number in range(2):
        gone = (
            draw(st.sets(st.integers(0, n + more - 1), max_size=1))
            if number or draw(st.booleans())
            else set()
        )
        vertices = [v for v in range(n + more) if v not in gone]
        pairs = st.tuples(st.sampled_from(vertices), st.sampled_from(vertices))
        chosen = draw(st.sets(pairs, min_size=1, max_size=9))
        if found and draw(st.booleans()):  # mostly unchanged
            chosen = {e[:2] for e in found[0][1] if not gone & set(e[:2])} | draw(st.sets(pairs, max_size=1))
        found.append((vertices, [(u, v, draw(weights)) for u, v in sorted(chosen)]))
    return n, found


@settings(max_examples=inputs(200), deadline=None)
@given(series(), st.integers(1, 2))
def test_checker_agrees_with_the_definition(drawn, x):
    n, releases = drawn
    dated, originals = [], []
    for vertices, edges in releases:
        real = [v for v in vertices if v < n]
        inner = [e for e in edges if e[0] < n and e[1] < n]
        released = graph(edges, vertices)
        mapping = np.array([vertices.index(v) for v in real], dtype=np.int64)
        dated.append(Dated(graph(inner, real), released, mapping, np.array(vertices, dtype=np.int64)))
        originals.append((set(real), inner))
    everything = sorted({v for vertices, _ in releases for v in vertices})
    number = {v: i for i, v in enumerate(everything)}
    dated = [
        Dated(
            d.original,
            d.released,
            d.mapping,
            np.array([number[v] for v in d.identity.tolist()], dtype=np.int64),
        )
        for d in dated
    ]
    union = sorted({e for _, inner in originals for e in inner})
    known = sorted({v for real, _ in originals for v in real})
    expected = [0, 0, 0, 0]
    for target in components_or_sets(union, known, x):
        shown = [sorted(e[:2] for e in inner if set(e[:2]) <= set(target)) for _, inner in originals]
        changed = shown[0] != shown[1] or not all(set(target) <= real for real, _ in originals)
        expected[2 * changed] += 1
        expected[2 * changed + 1] += keeps(releases, target, 2)
    item, joined = joined_occurrences(dated, RULES, 2, (x,), np.random.default_rng(0))
    same, kept, other, lucky = expected
    assert (joined.unchanged.total, joined.unchanged.satisfied) == (same, kept)
    assert (joined.changed.total, joined.changed.satisfied) == (other, lucky)
    assert item.detail == (
        f"of {same} subgraphs that did not change over the last 2 releases, {kept} keep 2 places in all of them; "
        f"of {other} that changed, {lucky}"
    )
    assert item.holds == (same == kept)
    assert item.given_up == (same != kept)


def components_or_sets(edges, vertices, x):
    """Connected sets of x vertices, and smaller components."""
    near = {v: {v} for v in vertices}
    for u, v, _ in edges:
        near[u].add(v)
        near[v].add(u)

    def closure(start, within):
        reached, waiting = {start}, [start]
        while waiting:
            for v in near[waiting.pop()] & within - reached:
                reached.add(v)
                waiting.append(v)
        return reached

    whole = {tuple(sorted(closure(v, set(vertices)))) for v in vertices}
    yield from sorted(c for c in whole if len(c) < x)
    for some in combinations(vertices, x):
        if closure(some[0], set(some)) == set(some):
            yield some
