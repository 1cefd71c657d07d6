"""The attacker with rules, against groundings enumerated one by one, closed forms, and worlds counted out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, ProgramError
from kgreason.base.progress import Silent
from kgreason.base.resources import resource
from kgreason.language.check.program_checker import load_file, load_text
from kgreason.links.attacks.entity_pairs import Beliefs, place
from kgreason.links.attacks.noisy_or import Causes, least_fixpoint
from kgreason.links.attacks.rule_attacker import rule_beliefs
from kgreason.links.model import LinkGraph, Observations, Released, observations
from kgreason.links.settings import Strategy
from tests.examples import inputs
from tests.needs import quick

Pair = tuple[int, int]
Fact = tuple[str, int, int]


def graph(n: int, size: list[int] | None = None, **observed: Observations) -> LinkGraph:
    labels = np.array([f"v{i}" for i in range(n)], dtype=object)
    sizes = np.ones(n, dtype=np.int64) if size is None else np.array(size)
    return LinkGraph(labels, observed, size=sizes)


def links(*rows: tuple[int, int, int], mutual: bool = False) -> Observations:
    """Each row is source, target and count."""
    source, target, count = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return observations(source, target, count=count, mutual=mutual)


def believed(
    made: LinkGraph,
    text: str,
    *,
    strategy: Strategy = "intact",
    leak: float = 0.2,
    worlds: int = 1,
    seed: int = 0,
    mutual: bool = False,
    limits: dict[str, int] | None = None,
    sensitive: str = "friends",
) -> Beliefs:
    return rule_beliefs(
        Released(made, strategy),
        load_text(text),
        sensitive=sensitive,
        leak=leak,
        worlds=worlds,
        rng=np.random.default_rng(seed),
        mutual=mutual,
        limits=limits,
    )


def as_dict(found: Beliefs) -> dict[Pair, float]:
    pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
    return dict(zip(pairs, found.probability.tolist(), strict=True))


# --- every grounding, one by one ---------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule of atoms of two variables."""

    weight: float
    head: str
    body: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        body = ", ".join(f"{p}({v[0]}, {v[1]})" for p, v in self.body)
        return f'@label("r", {self.weight}). friends({self.head[0]}, {self.head[1]}) :- {body}.'

    def groundings(self, facts: set[Fact], n: int) -> list[tuple[Pair, tuple[Fact, ...]]]:
        names = sorted({v for _, pair in self.body for v in pair})
        found = []
        for values in product(range(n), repeat=len(names)):
            at = dict(zip(names, values, strict=True))
            body = tuple((p, at[v[0]], at[v[1]]) for p, v in self.body)
            if all(fact in facts for fact in body):
                found.append(((at[self.head[0]], at[self.head[1]]), body))
        return found


RULES = (
    Rule(0.4, "XY", (("classmates", "XY"),)),
    Rule(0.6, "XY", (("groupmates", "XY"),)),
    Rule(0.5, "XY", (("groupmates", "ZX"), ("classmates", "ZY"))),
    Rule(0.7, "XY", (("groupmates", "XY"), ("classmates", "YZ"))),
    Rule(0.3, "XZ", (("friends", "XY"), ("friends", "YZ"))),
    Rule(0.8, "XZ", (("friends", "XY"), ("classmates", "YZ"))),
    Rule(1.0, "YX", (("friends", "XY"), ("groupmates", "YX"))),
)


def naive(
    observed: dict[str, Observations], rules: list[Rule], n: int, leak: float, mutual: bool
) -> dict[Pair, float]:
    counts: Counter[Fact] = Counter()
    same: dict[Fact, Fact] = {}
    for name, found in observed.items():
        rows = zip(found.source.tolist(), found.target.tolist(), found.count.tolist(), strict=True)
        for source, target, count in rows:
            for ends in {(source, target), (target, source) if found.mutual else (source, target)}:
                counts[name, *ends] = count
                same[name, *ends] = (name, source, target)
    facts = set(counts)
    while True:  # all that is derived, each link of a mutual relation in both directions
        heads = {h for rule in rules for h, _ in rule.groundings(facts, n)}
        heads |= {h[::-1] for h in heads} if mutual else set()
        new = facts | {("friends", *h) for h in heads}
        if new == facts:
            break
        facts = new

    def pair(ends: Pair) -> Pair:
        return (min(ends), max(ends)) if mutual else ends

    causes: list[tuple[Pair, float, int, list[Pair]]] = []
    seen = set()
    for number, rule in enumerate(rules):
        for head, body in rule.groundings(facts, n):
            read = tuple(
                (f[0], *pair(f[1:])) if f[0] == "friends" else same[f] if mutual else f for f in body
            )
            key = (number, pair(head), tuple(sorted(read)) if mutual else read)
            if key not in seen:
                seen.add(key)
                needs = [pair(f[1:]) for f in body if f[0] == "friends"]
                if pair(head) in needs:
                    continue
                causes.append((pair(head), rule.weight, prod(counts.get(f, 1) for f in body), needs))
    now = {c[0]: 0.0 for c in causes}
    for _ in range(300):
        before, now = now, {}
        for head in before:
            fails = [(1 - w * prod(before[b] for b in needs)) ** c for h, w, c, needs in causes if h == head]
            now[head] = 1 - (1 - leak * (head[0] != head[1])) * prod(fails)
    return {ends: p for ends, p in now.items() if ends[0] != ends[1]}


@st.composite
def relations(draw: st.DrawFn, n: int) -> Observations:
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 3))
    found = draw(st.lists(pairs, max_size=5))
    return links(*found, mutual=draw(st.booleans()))


@settings(max_examples=inputs(60), deadline=None)
@given(
    st.integers(2, 4).flatmap(lambda n: st.tuples(st.just(n), relations(n), relations(n))),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    st.sampled_from([0.0, 0.2]),
    st.booleans(),
)
def test_every_grounding_counts(
    made: tuple[int, Observations, Observations], rules: list[Rule], leak: float, mutual: bool
) -> None:
    n, first, second = made
    observed = {"classmates": first, "groupmates": second}
    text = '@edge("classmates"). @edge("groupmates"). @edge("friends"). ' + " ".join(map(str, rules))
    found = believed(graph(n, **observed), text, leak=leak, mutual=mutual)
    expected = naive(observed, rules, n, leak, mutual)
    assert as_dict(found) == pytest.approx(expected, abs=1e-9)
    assert (found.others, found.mutual) == (leak, mutual)


# --- closed forms -------------------------------------------------------------------------

NOISY_OR = """@edge("classmates"). @edge("groupmates").
@label("class", 0.4) friends(X, Y) :- classmates(X, Y).
@label("group", 0.6) friends(X, Y) :- groupmates(X, Y)."""
CLASSES = NOISY_OR[: NOISY_OR.rindex("@label")]


@pytest.mark.parametrize("strategy", ["intact", "partial"])
def test_rules_of_one_atom_are_noisy_or(strategy: Strategy) -> None:
    made = graph(
        4,
        classmates=links((0, 1, 3), (1, 2, 1), (3, 3, 2), mutual=True),
        groupmates=links((0, 1, 1), mutual=True),
    )
    found = believed(made, NOISY_OR, strategy=strategy, mutual=True)
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.8 * 0.6**3 * 0.4, (1, 2): 0.52})


def test_of_mutual_links_directed_ones_are_inferred_in_both_directions() -> None:
    found = believed(graph(2, classmates=links((0, 1, 2), mutual=True)), CLASSES)
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.8 * 0.36, (1, 0): 1 - 0.8 * 0.36})


def test_directed_links_in_both_directions_are_two_causes_of_a_mutual_one() -> None:
    found = believed(graph(2, classmates=links((0, 1, 1), (1, 0, 2))), CLASSES, mutual=True)
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.8 * 0.6**3})


def test_after_removal_there_is_the_leak() -> None:
    found = believed(graph(3, classmates=links((0, 1, 2))), CLASSES, strategy="removed")
    assert (len(found.source), found.others) == (0, 0.2)
    assert len(believed(graph(0, classmates=links()), CLASSES).source) == 0


def test_links_of_one_pair_with_several_weights() -> None:
    rules = '@label("strong", 0.5) friends(X, Y) :- pays(X, Y, W), W > 0.3. '
    shares = Observations(
        np.zeros(3, dtype=np.int64),
        np.ones(3, dtype=np.int64),
        np.array([1, 1, 2]),
        weight=np.array([0.1, 0.4, 0.7]),
    )
    # 0.4 once and 0.7 twice
    found = believed(graph(2, pays=shares), '@edge("pays").' + rules, leak=0.0)
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.5**3})
    # without a look at the weight there are four links
    found = believed(graph(2, pays=shares), '@edge("pays"). @label("p", 0.5) friends(X, Y) :- pays(X, Y).')
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.8 * 0.5**4})


def test_rules_may_add_to_an_observed_relation() -> None:
    shares = observations(np.array([0]), np.array([1]), count=np.array([2]), weight=np.array([0.5]))
    rules = """@edge("pays"). pays(Y, X, W) :- pays(X, Y, V), V > 0.4, W = V / 2.
    @label("p", 0.5) friends(X, Y) :- pays(X, Y, W)."""
    assert as_dict(believed(graph(2, pays=shares), rules, leak=0.0)) == {(0, 1): 0.75, (1, 0): 0.5}


def test_recursion_along_a_chain() -> None:
    rules = """@edge("calls"). @label("direct", 0.5) friends(X, Y) :- calls(X, Y).
    @label("through another", 0.4) friends(X, Z) :- friends(X, Y), calls(Y, Z)."""
    found = believed(graph(4, calls=links((0, 1, 1), (1, 2, 1), (2, 3, 1))), rules, leak=0.0)
    expected = {(0, 1): 0.5, (1, 2): 0.5, (2, 3): 0.5, (0, 2): 0.2, (1, 3): 0.2, (0, 3): 0.08}
    assert as_dict(found) == pytest.approx(expected)


def test_recursion_in_a_circle_does_not_feed_itself() -> None:
    """Two links that cause each other: P = 1 - (1 - 0.5)(1 - 0.6 P), so P = 0.5 / 0.7."""
    rules = """@edge("calls"). @label("direct", 0.5) friends(X, Y) :- calls(X, Y).
    @label("back", 0.6) friends(Y, X) :- friends(X, Y)."""
    found = believed(graph(2, calls=links((0, 1, 1), (1, 0, 1))), rules, leak=0.0)
    assert as_dict(found) == pytest.approx({(0, 1): 5 / 7, (1, 0): 5 / 7})
    alone = believed(graph(2, calls=links((0, 1, 1))), rules.replace("0.5", "0.0"), leak=0.0)
    assert as_dict(alone) == {(0, 1): 0.0, (1, 0): 0.0}


def test_a_fixpoint_that_is_not_reached_is_said_to_be() -> None:
    """P = 0.5 + 0.5 P² grows to 1 by one part in t² only."""
    none = np.empty((1, 0), dtype=np.int64)
    one = np.array([0]), np.array([1])
    base = Causes(one[0], 0.5, one[1], none)
    slow = Causes(one[0], 1.0, one[1], np.array([[0, 0]]))
    found, reached = least_fixpoint([base, slow], np.zeros(1))
    assert not reached
    assert 0.999 < found[0] < 1
    assert least_fixpoint([base], np.zeros(1))[1]


def test_what_other_rules_derive_is_certain() -> None:
    rules = """@edge("calls"). near(X, Y) :- calls(X, Y). near(X, Z) :- near(X, Y), calls(Y, Z).
    @label("near", 0.5) friends(X, Y) :- near(X, Y)."""
    found = believed(graph(3, calls=links((0, 1, 1), (1, 2, 1))), rules, leak=0.0)
    assert as_dict(found) == {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5}


def test_an_aggregate_is_one_cause_of_what_it_derives() -> None:
    rules = """@edge("classmates"). @node("student").
    @label("friends of many", 0.5) friends(X, Y) :- classmates(X, Y), classmates(X, Z), C = count(Z), C >= 2.
    @label("met", 0.5) friends(X, Z) :- friends(X, Y), friends(Y, Z)."""
    made = graph(3, classmates=links((0, 1, 2), (1, 2, 1), mutual=True))
    found = believed(made, rules, leak=0.0)  # 1 has two classmates, from whom no rule leads back
    assert as_dict(found) == {(1, 0): 0.5, (1, 2): 0.5}
    # if links are mutual, 0 and 2 have met through 1, and then 0 and 1 through 2
    found = as_dict(believed(made, rules, leak=0.0, mutual=True))
    assert found.keys() == {(0, 1), (0, 2), (1, 2)}
    one, other = found[0, 1], found[0, 2]
    assert found[1, 2] == pytest.approx(one)
    assert one == pytest.approx(1 - 0.5 * (1 - 0.5 * one * other))
    assert other == pytest.approx(0.5 * one**2)


# --- control ------------------------------------------------------------------------------


def test_control_is_revealed_by_an_intact_release() -> None:
    """0 owns most of 1 and 2, which together own most of 3; 4 owns a minority."""
    source, target = np.array([0, 0, 1, 2, 4]), np.array([1, 2, 3, 3, 3])
    own = observations(source, target, weight=np.array([0.6, 0.7, 0.3, 0.3, 0.4]))
    made = Released(graph(5, own=own), "intact")
    text = resource("rules", "control.vada").read_text(encoding="utf-8")
    for weight, program in (
        (1.0, load_file(resource("rules", "control.vada"))),
        (0.9, load_text(text.replace("control(X, Z) :-", '@label("majority", 0.9) control(X, Z) :-'))),
    ):
        found = rule_beliefs(
            made, program, sensitive="control", leak=0.0, worlds=1, rng=np.random.default_rng(0)
        )
        assert as_dict(found) == pytest.approx({(0, 1): weight, (0, 2): weight, (0, 3): weight})


@pytest.mark.parametrize(("worlds", "apart"), quick(1, [(500, 0.055), (2_000, 0.028)]))
def test_control_of_clusters_is_uncertain(worlds: int, apart: float) -> None:
    """Each of two majorities is one of one of two companies, and both may be of the same one.

    Four times as many worlds halve the error, with the same margin; a world takes 4 ms.
    """
    own = observations(np.array([0]), np.array([1]), count=np.array([2]), weight=np.array([0.6]))
    text = """@edge("own"). @node("company"). control(X, X) :- company(X).
    control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5."""
    found = believed(
        graph(2, [1, 2], own=own), text, strategy="cluster-edge", leak=0.0, worlds=worlds, sensitive="control"
    )
    # the two links stand at one pair or at two, so that a pair has one with 3/4
    assert as_dict(found) == pytest.approx({(0, 1): 0.75}, abs=apart)


# --- worlds -------------------------------------------------------------------------------


def hypergeometric(lam: float, slots: int, drawn: int, own: int) -> float:
    ways = [comb(own, j) * comb(slots - own, drawn - j) * (1 - lam) ** j for j in range(min(own, drawn) + 1)]
    return sum(ways) / comb(slots, drawn)


@pytest.mark.parametrize("limit", quick(2, [None, 2, 1]))
@pytest.mark.parametrize("strategy", ["cluster-edge", "constrained"])
def test_worlds_converge_to_the_closed_form(strategy: Strategy, limit: int | None) -> None:
    made = graph(3, [2, 3, 4], classmates=links((0, 1, 4), (0, 2, 1), (2, 2, 3), mutual=True))
    limits = None if limit is None else {"classmates": limit}
    found = believed(made, CLASSES, strategy=strategy, worlds=600, mutual=True, limits=limits)
    expected = {}
    for ends, pairs, count in (((0, 1), 6, 4), ((0, 2), 8, 1), ((2, 2), 6, 3)):
        fails = (
            (1 - 0.4 / pairs) ** count if limit is None else hypergeometric(0.4, limit * pairs, count, limit)
        )
        expected[ends] = 1 - 0.8 * fails
    assert as_dict(found) == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize(("worlds", "apart"), quick(1, [(1_000, 0.007), (3_000, 0.004)]))
def test_worlds_of_a_rule_with_two_atoms(worlds: int, apart: float) -> None:
    """An entity of each of two clusters of two: one has the other as a friend of the same third one."""
    rules = '@edge("calls"). @label("both", 0.5) friends(X, Y) :- calls(Z, X), calls(Z, Y).'
    made = graph(3, [2, 2, 2], calls=links((0, 1, 1), (0, 2, 1)))
    found = believed(made, rules, strategy="cluster-edge", leak=0.0, worlds=worlds, mutual=True)
    # the callers are one with 1/2, and of the four pairs of the called ones it is one
    assert as_dict(found) == pytest.approx({(1, 2): 0.5 * 0.25 * 0.5}, abs=apart)
    assert found.source.tolist() == [1]


def test_one_entity_a_node_needs_no_worlds() -> None:
    made = graph(2, classmates=links((0, 1, 2), mutual=True))
    once = believed(made, CLASSES, strategy="cluster-edge", worlds=1, mutual=True)
    often = believed(made, CLASSES, strategy="constrained", worlds=10**9, mutual=True)
    assert as_dict(once) == as_dict(often) == pytest.approx({(0, 1): 1 - 0.8 * 0.36})


@settings(max_examples=inputs(60), deadline=None)
@given(st.data(), st.booleans(), st.sampled_from([None, 1, 3]), st.integers(0, 2**32))
def test_places_are_pairs_of_the_right_clusters(
    data: st.DataObject, mutual: bool, limit: int | None, seed: int
) -> None:
    size = np.array(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    n = len(size)
    rows = []
    for source, target in product(range(n), repeat=2):
        if not mutual or source <= target:
            pairs = size[source] * size[target] if source != target else size[source] * (size[source] - 1)
            most = int(pairs // (2 if mutual and source == target else 1) * (limit or 2))
            if most or size[source] == 1:
                rows.append((source, target, data.draw(st.integers(1, max(most, 1)))))
    found = links(*rows, mutual=mutual)
    placed = place(found, size, limit, "classmates", np.random.default_rng(seed))
    node = np.repeat(np.arange(n), size)
    loops = placed.source == placed.target
    assert (size[node[placed.source[loops]]] == 1).all()
    assert limit is None or placed.count[~loops].max(initial=0) <= limit
    again = observations(node[placed.source], node[placed.target], count=placed.count, mutual=mutual)
    assert again.source.tolist() == found.source.tolist()
    assert again.target.tolist() == found.target.tolist()
    assert again.count.tolist() == found.count.tolist()


@pytest.mark.parametrize("count", quick(1, [5, 2]))
def test_all_ways_to_take_slots_are_equally_likely(count: int) -> None:
    """Few of many slots are drawn one by one, many of few by shuffling; each pair of links is as likely as any."""
    rng = np.random.default_rng(count)
    slots = {2: 10, 5: 6}[count]
    size = {2: [2, 5], 5: [2, 3]}[count]
    found = links((0, 1, count))
    ways: Counter[tuple[int, ...]] = Counter()
    runs = 6000
    for _ in range(runs):
        placed = place(found, np.array(size), 1, "calls", rng)
        ways[tuple((size[1] * placed.source + placed.target).tolist())] += 1
    every = len(list(combinations(range(slots), count)))
    assert len(ways) == every
    statistic = sum((c - runs / every) ** 2 / (runs / every) for c in ways.values())
    assert statistic < every - 1 + 4 * np.sqrt(2 * (every - 1))


# --- what is refused ----------------------------------------------------------------------


def test_what_makes_no_sense_is_refused() -> None:
    made = graph(2, [2, 2], classmates=links((0, 1, 5), mutual=True))
    with pytest.raises(AnonymizationError, match="no rule of the attacker derives 'enemies'"):
        believed(made, CLASSES, sensitive="enemies")
    with pytest.raises(AnonymizationError, match=r"the leak must be a probability, not 1\.5"):
        believed(made, CLASSES, leak=1.5)
    with pytest.raises(AnonymizationError, match="worlds must be a whole number of at least 1"):
        believed(made, CLASSES, worlds=0)
    with pytest.raises(AnonymizationError, match="5 links of 'classmates' between nodes of 2 and 2 entities"):
        believed(made, CLASSES, strategy="cluster-edge", limits={"classmates": 1})
    with pytest.raises(AnonymizationError, match="holds the relation 'friends' itself"):
        believed(graph(2, friends=links((0, 1, 1))), CLASSES)
    with pytest.raises(AnonymizationError, match="'classmates' has 4 arguments"):
        believed(
            graph(2, classmates=links(), calls=links()),
            """@edge("calls"). classmates(X, Y, 1, 2) :- calls(X, Y). friends(X, Y) :- classmates(X, Y, 1, 2).""",
        )
    with pytest.raises(ProgramError, match="E408"):
        believed(made, '@edge("classmates"). friends(X, Z) :- classmates(X, Y).')
    with pytest.raises(ProgramError, match="E403"):
        believed(made, '@edge("classmates"). friends(X, Y) :- classmates(X, Y), classmates(X, "Ann").')


ALIKE = {
    "recursion": """@label("a", 0.5) friends(X, Y) :- classmates(X, Y).
    @label("b", 0.4) friends(X, Z) :- friends(X, Y), groupmates(Y, Z).""",
    "recursion alone": "friends(X, Y) :- friends(Y, X), classmates(X, Y).",
    "not": '@label("a", 0.5) friends(X, Y) :- classmates(X, Y), not groupmates(X, Y).',
    "aggregate": """@label("a", 0.5)
    friends(X, Y) :- classmates(X, Y), groupmates(X, Z), C = count(Z), C >= 2.""",
    "between": """near(X, Y) :- classmates(X, Y). near(X, Z) :- near(X, Y), groupmates(Y, Z).
    @label("a", 0.5) friends(X, Y) :- near(X, Y).""",
    "weight": '@label("a", 0.5) friends(X, Y) :- pays(X, Y, W), W > 0.4, classmates(X, Y).',
    "total": "friends(X, Y) :- classmates(X, Y), pays(X, Z, W), V = sum(W, <Z>), V > 0.7.",
    "facts of the release's relations": 'classmates("Ann", "Bob"). friends(X, Y) :- classmates(X, Y).',
    "vertices": '@node("student"). @label("a", 0.5) friends(X, Y) :- student(X), student(Y), X != Y.',
}
EDGES = '@edge("classmates"). @edge("groupmates"). @edge("pays"). @edge("friends"). @sensitive("friends"). '


@pytest.mark.parametrize("worlds", [False, True])
@pytest.mark.parametrize("rules", ALIKE.values(), ids=ALIKE)
def test_the_relations_of_a_release_are_edges_without_a_word(rules: str, worlds: bool) -> None:
    pays = Observations(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3, dtype=np.int64), weight=np.array([0.5, 0.4, 0.9])
    )
    made = graph(
        4,
        [1, 2, 1, 2] if worlds else None,
        classmates=links((0, 1, 2), (1, 2, 1), mutual=True),
        groupmates=links((1, 2, 1), (1, 3, 2), (0, 3, 1)),
        pays=pays,
    )
    strategy: Strategy = "cluster-edge" if worlds else "intact"
    bare, declared = (
        believed(made, text + rules, strategy=strategy, worlds=5, leak=0.1) for text in ("", EDGES)
    )
    assert as_dict(bare) == as_dict(declared)
    assert worlds or (len(bare.source) > 0) == (rules != ALIKE["recursion alone"])


def test_what_is_no_link_of_entities_is_refused_without_a_word() -> None:
    made = graph(2, classmates=links((0, 1, 1)))
    for rules, code in {
        "friends(X, C) :- classmates(X, Y), C = count(Y).": "E404",
        "friends(X, Y) :- classmates(X, Y), X < Y.": "E405",
        'friends("Ann", "Bob"). friends(X, Y) :- classmates(X, Y).': "E403",
    }.items():
        with pytest.raises(ProgramError, match=code):
            believed(made, rules)


class Notes(Silent):
    """What is said once."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_a_misspelt_relation_is_no_weaker_adversary() -> None:
    made = graph(2, classmates=links((0, 1, 1), mutual=True), groupmates=links())
    cases = {
        "friends(X, Y) :- classmate(X, Y).": "did you mean 'classmates'",
        "friends(X, Y) :- groupmates(X, Y), not clasmates(X, Y).": "did you mean 'classmates'",
        '@edge("met"). friends(X, Y) :- met(X, Y).': "leave out the rules",
        "near(X, Y) :- classmates(X, Y). friends(X, Y) :- naer(X, Y). friends(X, Y) :- near(X, Y).": "'near'",
    }
    for rules, hint in cases.items():
        for strategy in ("intact", "removed"):
            with pytest.raises(
                AnonymizationError, match="which is no relation or attribute of the release"
            ) as error:
                believed(made, '@edge("classmates"). ' + rules, strategy=strategy)
            assert hint in (error.value.hint or "")
    fine = """@edge("classmates"). @edge("groupmates"). @node("student"). near(X, Y) :- classmates(X, Y). strong(0.5).
    @label("p", 0.5) friends(X, Y) :- near(X, Y), student(X), strong(W), not groupmates(X, Y)."""
    assert as_dict(believed(made, fine, leak=0.0)) == {(0, 1): 0.5, (1, 0): 0.5}


def test_relations_that_no_rule_reads_are_told() -> None:
    made = graph(2, classmates=links((0, 1, 1)), groupmates=links((0, 1, 1)), calls=links())
    for rules, expected in (
        (NOISY_OR, ["calls"]),
        (
            '@edge("calls"). calls(X, Y) :- calls(Y, X). friends(X, Y) :- calls(X, Y).',
            ["classmates, groupmates"],
        ),
        (NOISY_OR + '@edge("calls"). friends(X, Y) :- classmates(X, Y), not calls(X, Y).', []),
    ):
        heard = Notes()
        rule_beliefs(
            Released(made, "intact"),
            load_text(rules),
            sensitive="friends",
            leak=0.2,
            worlds=1,
            rng=np.random.default_rng(0),
            progress=heard,
        )
        told = [
            note.removeprefix("the attacker's rules do not read ").split(", which")[0] for note in heard.notes
        ]
        assert told == expected


def test_probabilities_that_do_not_count_are_told() -> None:
    rules = """@label("near", 0.3) near(X, Y) :- classmates(X, Y). @label("nearer", 1) near(X, Y) :- near(Y, X).
    @label("unasked", 0.2) far(X, Y) :- classmates(X, Y). @label("so", 0.9) friends(X, Y) :- near(X, Y)."""
    heard = Notes()
    found = rule_beliefs(
        Released(graph(2, classmates=links((0, 1, 1))), "intact"),
        load_text(rules),
        sensitive="friends",
        leak=0.0,
        worlds=1,
        rng=np.random.default_rng(0),
        progress=heard,
    )
    assert as_dict(found) == {(0, 1): 0.9, (1, 0): 0.9}
    assert heard.notes == [
        "the attacker's rule 'near', with the probability 0.3, is taken as certain: "
        "probabilities count for rules of friends alone"
    ]


def test_the_leak_feeds_no_recursion() -> None:
    """2 may be a friend of 1 by the leak alone: that does not make him one of 0. Of a link with a cause it counts."""
    rules = """@edge("calls"). @label("direct", 0.5) friends(X, Y) :- calls(X, Y).
    @label("through another", 0.5) friends(X, Z) :- friends(X, Y), friends(Y, Z)."""
    found = believed(graph(3, calls=links((0, 1, 1))), rules, leak=0.2)
    assert as_dict(found) == pytest.approx({(0, 1): 1 - 0.8 * 0.5})
    found = believed(graph(3, calls=links((0, 1, 1), (1, 2, 1))), rules, leak=0.2)
    assert as_dict(found)[0, 2] == pytest.approx(1 - 0.8 * (1 - 0.5 * 0.6**2))


def test_no_link_between_different_entities_is_known() -> None:
    """Limit 0: links of entities with themselves are in no place of others, and a relation may be empty."""
    made = graph(2, [2, 2], classmates=links((0, 0, 2), (1, 1, 1), mutual=True), groupmates=links())
    limits = {"classmates": 0, "groupmates": 0}
    found = believed(made, NOISY_OR, strategy="cluster-edge", worlds=20, mutual=True, limits=limits)
    assert len(found.source) == 0
    with pytest.raises(
        AnonymizationError, match="the limit of 'classmates' must be a whole number of at least 0"
    ):
        believed(made, NOISY_OR, limits={"classmates": -1})


def test_counts_whose_product_is_no_int64() -> None:
    made = graph(3, calls=links((0, 1, 10**15), (1, 2, 10**15)))
    rules = '@edge("calls"). @label("p", 1e-30) friends(X, Z) :- calls(X, Y), calls(Y, Z).'
    assert as_dict(believed(made, rules, leak=0.0)) == pytest.approx({(0, 2): 1 - np.exp(-1.0)})
