"""The noisy-or attacker and what he discloses: against the definitions, plain twins and the examples of the paper."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, perm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError
from kgreason.links.anonymizers import apply
from kgreason.links.attacks.disclosure import disclosure
from kgreason.links.attacks.entity_pairs import Beliefs, expected_power, pairs_between, slots_of
from kgreason.links.attacks.noisy_or import Knowledge, Noise, beliefs_of, knowledge_of
from kgreason.links.model import LinkGraph, Observations, Original, Released, Sensitive, observations
from kgreason.links.school import school
from tests.examples import inputs

NOISE = Noise(0.2, {"with": 0.4, "calls": 0.6})
SHARES = st.floats(0, 1)


def names(n: int) -> np.ndarray:
    return np.array([*map(str, range(n)), None], dtype=object)[:-1]


def random_original(rng: np.random.Generator, n: int, *, mutual: bool, loops: bool) -> Original:
    """A mutual relation and a directed one, each pair up to thrice, and a sensitive one."""
    observed = {}
    for name, both in (("with", True), ("calls", False)):
        ends = rng.integers(n, size=(2, rng.integers(0, 3 * n)))
        ends = ends if loops else ends[:, ends[0] != ends[1]]
        observed[name] = observations(*ends, mutual=both)
    chosen = [p for p in (combinations if mutual else permutations)(range(n), 2) if rng.random() < 0.4]
    source, target = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    return Original(LinkGraph(names(n), observed), Sensitive("likes", source, target, mutual))


def random_clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.unique(rng.integers(max(1, n // 2), size=n), return_inverse=True)[1].reshape(-1)


def belief(beliefs: Beliefs, s: int, t: int) -> float:
    """Probability of an entity of node s and one of node t."""
    if beliefs.mutual:
        s, t = min(s, t), max(s, t)
    found = np.flatnonzero((beliefs.source == s) & (beliefs.target == t))
    assert len(found) <= 1
    return float(beliefs.probability[found[0]]) if len(found) else beliefs.others


# Plain twins.


def noisy_or(leak: float, weights: list[float], chances: list[float]) -> float:
    """Section 6.1: causes that exist with a chance, each on its own."""
    return leak + (1 - leak) * (1 - math.prod(1 - w * p for w, p in zip(weights, chances, strict=True)))


def plain_power(base: Fraction, slots: int, links: int, own: int) -> Fraction:
    ways = [comb(own, j) * comb(slots - own, links - j) for j in range(min(own, links) + 1)]
    return Fraction(sum(w * base**j for j, w in enumerate(ways)), comb(slots, links))


def directions(found: Observations, u: int, v: int, mutual: bool) -> list[tuple[int, int]]:
    """Ordered pairs of one relation that tell of a sensitive link from u to v."""
    return [(u, v), (v, u)] if mutual and not found.mutual else [(u, v)]


def count_of(found: Observations, s: int, t: int) -> int:
    if found.mutual:
        s, t = min(s, t), max(s, t)
    return int(found.count[(found.source == s) & (found.target == t)].sum())


def plain_belief(
    released: Released, mapping: list[int], known: Knowledge, u: int, v: int, mutual: bool, sharp: bool
) -> float:
    """What he believes of entities u and v, from explicit lists of all places where a link may be."""
    lacking = Fraction(1)
    entities = range(len(mapping))
    for name, found in released.graph.observed.items():
        fails = 1 - Fraction(NOISE.weights[name])
        limit, total = known.limits[name], known.totals[name]
        places = list((combinations if found.mutual else permutations)(entities, 2))
        ways = directions(found, u, v, mutual)
        if released.strategy in ("intact", "partial"):
            lacking *= fails ** sum(count_of(found, mapping[s], mapping[t]) for s, t in ways)
        elif released.strategy == "constrained":
            size = {
                (s, t): count_of(found, mapping[s], mapping[t]) if sharp else limit
                for s, t in permutations(entities, 2)
            }
            slots = sum(size[place] for place in places)
            lacking *= plain_power(fails, slots, min(total, slots), sum(size[way] for way in ways))
        elif released.strategy == "cluster-edge":
            between = [(mapping[s], mapping[t]) for s, t in ways]
            for row in set(between):
                alike = {row, row[::-1]} if found.mutual else {row}
                slots = limit * sum((mapping[s], mapping[t]) in alike for s, t in places)
                count = min(count_of(found, *row), slots)
                lacking *= plain_power(fails, slots, count, limit * between.count(row))
    return float(1 - (1 - Fraction(NOISE.leak)) * lacking)


# Noisy-or.


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.2, 0.3, 0.7, 0.9])
def test_without_causes_there_is_the_leak_to_the_bit(leak):
    nothing = Released(LinkGraph(np.array(["a", "b"], dtype=object), {}), "intact")
    assert beliefs_of(nothing, Noise(leak, {}), Knowledge({}, {}), True).others == leak


def test_noise_is_checked():
    with pytest.raises(AnonymizationError, match=r"the leak must be a probability, not 1\.5"):
        Noise(1.5, {})
    with pytest.raises(AnonymizationError, match="the weight of 'with' must be a probability, not nan"):
        Noise(0.5, {"with": float("nan")})
    with pytest.raises(AnonymizationError, match=r"the weight of 'with' must be a probability, not '0\.4'"):
        Noise(0.5, {"with": "0.4"})
    with pytest.raises(AnonymizationError, match="the leak must be a probability, not True"):
        Noise(True, {})


def test_every_relation_needs_a_weight_and_what_is_known():
    graph = random_original(np.random.default_rng(0), 5, mutual=True, loops=False).graph
    with pytest.raises(
        AnonymizationError, match=r"'calls' of the release has no weight \(there are: 'with'\)"
    ) as error:
        beliefs_of(Released(graph, "intact"), Noise(0.2, {"with": 0.4}), knowledge_of(graph), True)
    assert error.value.hint
    with pytest.raises(AnonymizationError, match="nothing is known of the relation 'with'"):
        beliefs_of(Released(graph, "cluster-edge"), NOISE, Knowledge({}, {}), True)


# Where links may lie.


@given(st.data())
@settings(max_examples=inputs(200), deadline=None)
def test_expectations_are_those_of_all_placements(data):
    slots = data.draw(st.integers(0, 60))
    links, own = data.draw(st.integers(0, slots)), data.draw(st.integers(0, slots))
    base = data.draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(3, 5), Fraction(1)]))
    found = expected_power(float(base), *(np.array([x]) for x in (slots, links, own)))
    assert found[0] == pytest.approx(float(plain_power(base, slots, links, own)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("slots", "links", "own"), [(5000, 2500, 2400), (3000, 2990, 2000)])
def test_expectations_stay_exact_for_many_slots_of_a_pair(slots, links, own):
    found = expected_power(0.75, *(np.array([x]) for x in (slots, links, own)))[0]
    assert found == pytest.approx(float(plain_power(Fraction(3, 4), slots, links, own)), rel=1e-9)


@pytest.mark.parametrize(
    ("slots", "links", "own"), [(10**13, 10**12, 3), (10**12, 7, 2), (10**12, 10**12 - 5, 9)]
)
def test_expectations_stay_exact_for_many_slots(slots, links, own):
    exact = sum(
        comb(own, j) * perm(links, j) * perm(slots - links, own - j) * Fraction(3, 4) ** j
        for j in range(own + 1)
    ) / perm(slots, own)
    found = expected_power(0.75, *(np.array([x]) for x in (slots, links, own)))[0]
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_example_of_the_paper():
    """Section 7.2: 30 observations between two classes of 10 have probability 0.3, 50 of 100 pairs 0.5."""
    count = np.array([30])
    graph = LinkGraph(
        names(2), {"with": Observations(np.array([0]), np.array([1]), count, True)}, size=np.array([10, 10])
    )
    known, noise = Knowledge({"with": 1}, {"with": 50}), Noise(0.2, {"with": 0.4})
    found = beliefs_of(Released(graph, "cluster-edge"), noise, known, True)
    assert found.probability.tolist() == pytest.approx([float(noisy_or(0.2, [0.4], [0.3]))])
    assert found.others == 0.2
    spread = beliefs_of(Released(graph, "constrained"), noise, known, True)
    assert len(spread.source) == 0
    assert spread.others == pytest.approx(float(noisy_or(0.2, [0.4], [50 / 190])))
    sharp = beliefs_of(
        Released(graph, "constrained"), noise, Knowledge({"with": 1}, {"with": 1500}), True, sharp=True
    )
    assert sharp.others == 0.2  # the two clusters have 30 links a pair at most, so 3000 slots in all


@given(
    st.integers(0, 2**32),
    st.sampled_from(["intact", "partial", "cluster-edge", "constrained", "removed"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=inputs(200), deadline=None)
def test_beliefs_are_those_of_explicit_places(seed, strategy, mutual, sharp, loops):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    original = random_original(rng, n, mutual=mutual, loops=loops)
    graph, mapping = apply(original.graph, random_clusters(rng, n), strategy, 50.0, rng)
    released, known = Released(graph, strategy), knowledge_of(original.graph)
    found = beliefs_of(released, NOISE, known, mutual, sharp=sharp)
    for u, v in permutations(range(n), 2):
        expected = plain_belief(released, mapping.tolist(), known, u, v, mutual, sharp)
        assert belief(found, mapping[u], mapping[v]) == pytest.approx(expected, abs=1e-12)
    assert (found.source <= found.target).all() or not mutual
    assert (pairs_between(graph.size, found.source, found.target, mutual) > 0).all()


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=inputs(50), deadline=None)
def test_clusters_of_one_hide_nothing(seed, mutual):
    rng = np.random.default_rng(seed)
    graph = random_original(rng, 6, mutual=mutual, loops=False).graph
    one = apply(graph, np.arange(6), "cluster-edge", 0, rng)[0]
    certain = beliefs_of(Released(graph, "intact"), NOISE, Knowledge({}, {}), mutual)
    placed = beliefs_of(Released(one, "cluster-edge"), NOISE, knowledge_of(graph), mutual)
    assert np.array_equal(certain.source, placed.source)
    assert np.array_equal(certain.target, placed.target)
    np.testing.assert_allclose(certain.probability, placed.probability, rtol=1e-12)


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=inputs(50), deadline=None)
def test_one_cluster_tells_no_more_than_totals(seed, mutual):
    rng = np.random.default_rng(seed)
    graph = random_original(rng, 6, mutual=mutual, loops=False).graph
    whole = apply(graph, np.zeros(6, dtype=np.int64), "cluster-edge", 0, rng)[0]
    known = knowledge_of(graph)
    spread = beliefs_of(Released(whole, "constrained"), NOISE, known, mutual)
    placed = beliefs_of(Released(whole, "cluster-edge"), NOISE, known, mutual)
    assert belief(placed, 0, 0) == pytest.approx(spread.others)


def test_weights_of_links_do_not_part_them():
    """Two links of a pair with different weights are two rows, and two links."""
    two = Observations(np.array([0, 0]), np.array([1, 1]), np.array([1, 2]), True, np.array([0.5, 0.7]))
    graph = LinkGraph(names(2), {"with": two})
    assert knowledge_of(graph) == Knowledge({"with": 3}, {"with": 3})
    found = beliefs_of(Released(graph, "intact"), Noise(0, {"with": 0.5}), Knowledge({}, {}), True)
    assert found.probability.tolist() == [0.875]


# What is disclosed.


@given(
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from(["intact", "partial", "cluster-edge", "constrained"]),
)
@settings(max_examples=inputs(100), deadline=None)
def test_disclosure_is_that_of_a_loop_over_all_pairs(seed, mutual, strategy):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    original = random_original(rng, n, mutual=mutual, loops=True)
    graph, mapping = apply(original.graph, random_clusters(rng, n), strategy, 50.0, rng)
    beliefs = beliefs_of(
        Released(graph, strategy), NOISE, knowledge_of(original.graph), mutual, sharp=seed % 2 == 0
    )
    shuffled = rng.permutation(len(beliefs.source))  # the order of rows means nothing
    beliefs = Beliefs(
        *(a[shuffled] for a in (beliefs.source, beliefs.target, beliefs.probability)), beliefs.others, mutual
    )
    thresholds = (0.0, 0.2, 0.3, 0.6)
    found = disclosure(beliefs, graph, original.sensitive, mapping, thresholds)
    true = set(zip(original.sensitive.source.tolist(), original.sensitive.target.tolist(), strict=True))
    pairs = list((combinations if mutual else permutations)(range(n), 2))
    assert (found.entities, found.pairs, found.sensitive) == (n, len(pairs), len(true))
    assert found.base_rate == (len(true) / len(pairs) if pairs else 0)
    for one, threshold in zip(found.at, thresholds, strict=True):
        above = {(u, v) for u, v in pairs if belief(beliefs, mapping[u], mapping[v]) > threshold + 1e-12}
        relationships = sum(
            (u, v) in above or (mutual and (v, u) in above) for u, v in product(range(n), repeat=2)
        )
        assert one.threshold == threshold
        assert (one.predicted, one.revealed) == (len(above), len(above & true))
        assert one.precision == (len(above & true) / len(above) if above else None)
        assert one.recall == (len(above & true) / len(true) if true else None)
        assert one.delta == relationships / n**2


@pytest.mark.parametrize("leak", [0.1, 0.2, 0.3, 0.6, 0.7])
def test_a_probability_at_the_threshold_is_not_above_it(leak):
    original = school(np.random.default_rng(3), students=30, classes=4, classes_each=1)
    graph = apply(original.graph, np.arange(30), "removed", 0, np.random.default_rng(0))[0]
    noise = Noise(leak, {"classmates": 0.4, "groupmates": 0.6})
    nothing = beliefs_of(Released(graph, "removed"), noise, Knowledge({}, {}), True)
    assert disclosure(nothing, graph, original.sensitive, np.arange(30), [leak]).at[0].predicted == 0


def test_rounding_does_not_lift_a_probability_above_the_threshold():
    """1 - 0.8 (1 - 0.5) is 0.6, and a little more in doubles; so is leak 0 with weight 0.3."""
    one = np.array([0])
    graph = LinkGraph(names(3), {"with": Observations(one, one + 1, one + 1, True)})
    for leak, weight, threshold in ((0.2, 0.5, 0.6), (0, 0.3, 0.3)):
        found = beliefs_of(Released(graph, "intact"), Noise(leak, {"with": weight}), Knowledge({}, {}), True)
        assert found.probability[0] > threshold
        assert (
            disclosure(found, graph, Sensitive("likes", one, one + 1, True), np.arange(3), [threshold])
            .at[0]
            .predicted
            == 0
        )


@pytest.mark.slow
def test_hundred_thousand_entities():
    """All pairs would be ten thousand million."""
    n, rng = 100_000, np.random.default_rng(5)
    ends = rng.integers(n, size=(2, 300_000))
    ends = ends[:, ends[0] != ends[1]]
    graph = LinkGraph(names(n), {"with": observations(*ends, mutual=True)})
    found = graph.observed["with"]
    sensitive = Sensitive("likes", found.source[::3], found.target[::3], mutual=True)
    known, noise = knowledge_of(graph), Noise(0.2, {"with": 0.4})
    for strategy in ("intact", "cluster-edge", "constrained"):
        made, mapping = apply(graph, np.arange(n) // 5, strategy, 0, rng)
        beliefs = beliefs_of(Released(made, strategy), noise, known, True)
        seen = disclosure(beliefs, made, sensitive, mapping, [0.0, 0.2, 0.5])
        assert seen.at[0].predicted == n * (n - 1) // 2
        assert seen.at[0].recall == 1
        assert seen.at[0].delta == (n - 1) / n
        if strategy == "intact":
            assert (seen.at[2].predicted, seen.at[2].revealed) == (len(found), len(sensitive))


def test_disclosure_in_words():
    one = np.array([0])
    graph, sensitive = LinkGraph(names(4), {}), Sensitive("likes", one, one + 1, mutual=True)
    found = disclosure(Beliefs(one, one + 1, np.array([0.5]), 0.2, True), graph, sensitive, np.arange(4))
    assert [line.split() for line in str(found).splitlines()[1:5]] == [
        ["0.2", "1", "1", "1.00", "6.00", "1.00", "0.125"],
        ["0.4", "1", "1", "1.00", "6.00", "1.00", "0.125"],
        ["0.6", "0", "0", "none", "none", "0", "0"],
        ["0.8", "0", "0", "none", "none", "0", "0"],
    ]
    assert str(found).endswith("a guess among all 6 pairs finds a sensitive one with probability 0.167")
    told = found.as_dict()
    assert told["base_rate"] == 1 / 6
    assert told["thresholds"][3] == {
        "threshold": 0.8,
        "predicted": 0,
        "revealed": 0,
        "precision": None,
        "lift": None,
        "recall": 0.0,
        "delta": 0.0,
    }


def test_shares_of_many_pairs_can_be_read():
    """Of 200,000,000 pairs two are sensitive: a guess finds one with 1e-8, and not with 0.000."""
    n, one = 20_000, np.array([0])
    graph = LinkGraph(names(n), {})
    sensitive = Sensitive("likes", np.array([0, 0]), np.array([1, 2]), mutual=True)
    rows = np.arange(1, 1501)
    beliefs = Beliefs(0 * rows, rows, np.full(1500, 0.5), 0.2, True)
    found = disclosure(beliefs, graph, sensitive, np.arange(n), [0.4])
    at, pairs = found.at[0], n * (n - 1) // 2
    assert at.lift == pytest.approx((2 / 1500) / (2 / pairs))
    head, row, guess = str(found).splitlines()
    assert head.split() == ["above", "predicted", "revealed", "precision", "lift", "recall", "δ"]
    assert row.split() == ["0.4", "1,500", "2", "0.00133", "133,327", "1.00", "0.00000750"]
    assert guess.endswith("probability 0.0000000100")
    nobody = Sensitive("likes", one[:0], one[:0], mutual=True)
    assert disclosure(beliefs, graph, nobody, np.arange(n), [0.4]).at[0].lift is None


def test_counts_beyond_reckoning_are_refused():
    """15 digits are the most that a release may say; times the pairs of large clusters int64 overflows."""
    count, size = np.array([10**15]), np.array([10_000, 10_000])
    graph = LinkGraph(names(2), {"with": Observations(np.array([0]), np.array([1]), count, True)}, size=size)
    known, noise = Knowledge({"with": 1}, {"with": 50}), Noise(0.2, {"with": 0.4})
    with pytest.raises(AnonymizationError, match="counts that are too large to compute with"):
        beliefs_of(Released(graph, "constrained"), noise, known, True, sharp=True)
    many = Knowledge({"with": 10**15}, {"with": 50})
    for strategy in ("cluster-edge", "constrained"):
        with pytest.raises(AnonymizationError, match="too large to compute with"):
            beliefs_of(Released(graph, strategy), noise, many, True)
    assert slots_of(10**10, np.array([10**8, 7])).tolist() == [10**18, 7 * 10**10]


def test_what_does_not_belong_together_is_refused():
    one = np.array([0])
    graph, sensitive = LinkGraph(names(4), {}), Sensitive("likes", one, one + 1, mutual=True)
    beliefs = Beliefs(one, one + 1, np.array([0.5]), 0.2, True)
    with pytest.raises(AnonymizationError, match="the mapping does not fit"):
        disclosure(beliefs, graph, sensitive, np.array([0, 1, 2, 2]))
    with pytest.raises(AnonymizationError, match="the mapping does not fit"):
        disclosure(beliefs, graph, sensitive, np.arange(5))
    with pytest.raises(AnonymizationError, match="both be mutual, or neither"):
        disclosure(beliefs, graph, Sensitive("likes", one, one + 1), np.arange(4))
    with pytest.raises(AnonymizationError, match="a threshold must be a probability, not 2"):
        disclosure(beliefs, graph, sensitive, np.arange(4), [2])


# The generator.


@given(
    st.integers(0, 2**32),
    st.integers(0, 40),
    st.integers(1, 8),
    st.integers(0, 8),
    st.integers(1, 4),
)
@settings(max_examples=inputs(50), deadline=None)
def test_classes_stay_in_bounds(seed, students, classes, classes_each, spare):
    classes_each = min(classes, classes_each)
    size = -(-students * classes_each // classes) + spare - 1
    rng = np.random.default_rng(seed)
    made = school(rng, students=students, classes=classes, classes_each=classes_each, class_size=size, groups=3,
                  group_size=20)  # fmt: skip
    found = made.graph.observed["classmates"]
    assert found.mutual
    assert (found.source < found.target).all()
    assert (found.count <= classes_each).all()
    # each class of p students has p (p - 1) / 2 links; sizes are at most `size`
    assert 2 * found.total <= students * classes_each * max(size - 1, 0)
    assert (made.graph.observed["groupmates"].count == 1).all()
    assert made.sensitive.mutual


def test_no_group_has_more_than_there_is_room_for():
    """Groups that must all be full."""
    for seed in range(5):
        made = school(np.random.default_rng(seed), groups=10, group_size=10)
        assert made.graph.observed["groupmates"].total == 10 * comb(10, 2)


def test_friends_are_drawn_by_noisy_or():
    """Among pairs that share as many classes and groups, the share of friends is that of the model."""
    met: dict[tuple[int, int], list[bool]] = {}
    for seed in range(10):
        made = school(np.random.default_rng(seed))
        seen = {name: np.zeros((100, 100), dtype=int) for name in ("classmates", "groupmates")}
        for name, table in seen.items():
            found = made.graph.observed[name]
            table[found.source, found.target] = found.count
        friends = np.zeros((100, 100), dtype=bool)
        friends[made.sensitive.source, made.sensitive.target] = True
        for u, v in combinations(range(100), 2):
            key = int(seen["classmates"][u, v]), int(seen["groupmates"][u, v])
            met.setdefault(key, []).append(bool(friends[u, v]))
    assert set(met) == {(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)}
    for (classes, groups), friendly in met.items():
        expected = float(noisy_or(0.2, [0.4] * classes + [0.6] * groups, [1] * (classes + groups)))
        deviation = (expected * (1 - expected) / len(friendly)) ** 0.5
        assert np.mean(friendly) == pytest.approx(expected, abs=4 * deviation)


def test_a_school_without_room_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(AnonymizationError, match="100 students who pick 2 need 200 places") as error:
        school(rng, classes=10, class_size=19)
    assert "class_size=20" in (error.value.hint or "")
    school(rng, classes=10, class_size=20)
    with pytest.raises(AnonymizationError, match="places, but there are 10 times 9"):
        school(rng, group_size=9)
    with pytest.raises(AnonymizationError, match="11 of 10"):
        school(rng, classes_each=11, class_size=200)
    with pytest.raises(AnonymizationError, match="leak must be a probability, not 2"):
        school(rng, leak=2)
    with pytest.raises(AnonymizationError, match="-1 students"):
        school(rng, students=-1)
