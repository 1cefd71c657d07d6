"""Attackers who know values and numbers of links of users: against a plain count, and as a command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.cli import app
from kgreason.people import PeopleGraph, UserAttacks
from kgreason.people.attacker_knowledge import Series, Traits, beside
from kgreason.people.verification.information import history
from kgreason.people.verification.verdict import Published, Source
from tests.examples import inputs
from tests.folders import ROOT
from tests.people.test_ctkga import ALONE, TOGETHER

USERS = [f"u{i}" for i in range(7)]
EXAMPLE = ROOT / "examples" / "people"

triples = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(USERS), st.just("job"), st.sampled_from(["nurse", "clerk"])),
        st.tuples(st.sampled_from(USERS), st.just("knows"), st.sampled_from(USERS)),
    ),
    max_size=16,
)


def graph(facts: list[tuple[str, str, str]]) -> PeopleGraph:
    values = [fact for fact in facts if fact[1] == "job"]
    links = [fact for fact in facts if fact[1] == "knows" and fact[0] != fact[2]]
    return PeopleGraph.from_triples(USERS, values, links, relations=["knows"])


def known(facts: list[tuple[str, str, str]], user: str) -> tuple[frozenset[str], int, int]:
    """Values of a user, and numbers of links out and in."""
    links = {(a, b) for a, name, b in facts if name == "knows" and a != b}
    jobs = frozenset(value for a, name, value in facts if name == "job" and a == user)
    return jobs, sum(a == user for a, _ in links), sum(b == user for _, b in links)


@settings(max_examples=inputs(200), deadline=None)
@given(triples, triples, st.permutations(range(len(USERS))))
def test_candidates_are_those_of_a_plain_count(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], order: list[int]
) -> None:
    mapping = np.array(order, dtype=np.int64)
    found = kgreason.people.attack(graph(before), graph(after), mapping, k=3)
    seen = {one.knowledge: one for one in found.seen}
    true, stands = (
        seen.get(f"{words}values and numbers of links{more}")
        for words, more in (("true ", ""), ("", ", as released"))
    )
    if true is None or stands is None or true.after is None or stands.after is None:
        assert not graph(before).attributes
        return
    shown = [known(after, user) for user in USERS]
    for number, user in enumerate(USERS):
        of_user = known(before, user)
        assert true.after.candidates[number] == shown.count(of_user)
        assert true.after.right[number] == (shown[order[number]] == of_user)
        assert stands.after.candidates[number] == shown.count(shown[order[number]])
    few = sum(shown.count(shown[order[number]]) < 3 for number in range(len(USERS)))
    assert found.short(stands) == few
    assert few == 0 or not found.holds


@settings(max_examples=inputs(100), deadline=None)
@given(
    triples, triples, st.permutations(range(len(USERS))), st.lists(st.integers(1, 4), min_size=7, max_size=7)
)
def test_candidates_for_a_known_k_are_those_of_a_plain_count(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], order: list[int], k: list[int]
) -> None:
    """The attacker keeps users of classes with at least k users; in the original, users with the same k."""
    own = dict(zip(USERS, k, strict=True))
    found = kgreason.people.attack(graph(before), graph(after), np.array(order), k_values=own)
    shown, true = ([known(facts, user) for user in USERS] for facts in (after, before))
    degrees = "numbers of links and k, as released"
    both = "values, links and k, as released"
    seen = {one.knowledge: one for one in found.seen}
    for name, start in ((degrees, 1), (both, 0)):
        if (one := seen.get(name)) is None:
            assert name == both
            continue
        assert one.before is not None
        assert one.after is not None
        valued = any(fact[1] == "job" for fact in (*before, *after))
        for number in range(len(USERS)):
            mine, own_k = shown[order[number]], k[number]
            fits = [of for of in shown if of[start:] == mine[start:] and shown.count(of) >= own_k]
            if valued or start:
                assert one.after.candidates[number] == len(fits)
                assert one.after.right[number] == (mine in fits)
            pairs = [(of[start:], level) for of, level in zip(true, k, strict=True)]
            assert one.before.candidates[number] == pairs.count(pairs[number])


@settings(max_examples=inputs(50), deadline=None)
@given(triples, triples, st.integers(0, 9))
def test_twins_exchange_each_part_among_users_present_at_the_same_times(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], seed: int
) -> None:
    traits = Traits.of(beside(graph(before), graph(after)))
    groups = np.array([0, 0, 0, 0, 1, 1, 1])
    both = traits.with_twins(7, groups, np.random.default_rng(seed))
    assert both.n == 21
    for part, classes in both.parts.items():
        assert classes[:14].tolist() == traits.parts[part].tolist()
        for group in (slice(0, 4), slice(4, 7)):
            assert sorted(classes[14:][group]) == sorted(classes[:7][group])


def plain_control(classes: list[object], twins: list[object]) -> float:
    """Mean chance of attackers who know the twins, in a release in which each user has the own number."""
    return sum(
        classes.count(t) and (c == t) / classes.count(t) for c, t in zip(classes, twins, strict=True)
    ) / len(twins)


def test_the_control_knows_twins_and_a_naive_attacker_nothing() -> None:
    people = graph(
        [(user, "job", job) for user, job in zip(USERS, ["a", "a", "a", "b", "b", "c", "d"], strict=True)]
    )
    same = np.arange(7)
    found = kgreason.people.attack(people, people, same, k=1, seed=4)
    assert found.naive == pytest.approx(1 / 7)
    twins = Traits.of(beside(people, people)).with_twins(
        7, np.zeros(14, dtype=np.int64)[:7], np.random.default_rng(4)
    )
    for name, classes in twins.kinds().items():
        plain = plain_control(classes[:7].tolist(), classes[14:].tolist())
        assert found.found(found.control[f"true {name}"]).value == pytest.approx(plain)
    # where all are equal, knowledge of others is as good as that of the target
    equal = graph([(user, "job", "nurse") for user in USERS])
    found = kgreason.people.attack(equal, equal, same, k=7)
    for one in found.seen:
        assert one.after is not None
        assert found.found(found.control[one.knowledge]) == found.found(one.after)
        assert found.excess(one) == 0
    # where all differ, the control finds about as many as a guess
    different = PeopleGraph.from_triples(map(str, range(200)), [(str(i), "job", str(i)) for i in range(200)])
    found = kgreason.people.attack(different, different, np.arange(200), seed=1)
    (one, _) = found.seen
    assert found.found(found.control[one.knowledge]).value < 0.03
    assert found.excess(one) == 1


def test_drawn_targets_have_intervals_that_hold_the_mean_of_all() -> None:
    rng = np.random.default_rng(7)
    names = [str(i) for i in range(500)]
    people = PeopleGraph.from_triples(names, [(u, "job", str(rng.zipf(1.6) % 200)) for u in names])
    whole = kgreason.people.attack(people, people, np.arange(500), k=3)
    assert whole.all
    assert "interval" not in str(whole)
    mean = whole.found(whole.seen[0].after)
    assert mean.low == mean.value == mean.high
    inside = 0
    for seed in range(20):
        found = kgreason.people.attack(people, people, np.arange(500), k=3, targets=100, seed=seed)
        assert (len(found.k), found.all) == (100, False)
        rate = found.found(found.seen[0].after)
        assert f"[{rate.low:.3f}, {rate.high:.3f}]" in str(found)
        inside += rate.low <= mean.value <= rate.high
    assert inside >= 17
    assert "95 % interval over the 100 drawn users" in str(found)
    assert kgreason.people.attack(people, people, np.arange(500), targets=501).all


@settings(max_examples=inputs(100), deadline=None)
@given(triples, triples, st.permutations(range(len(USERS))), st.sampled_from([0.2, 0.5, 1.0]))
def test_beliefs_are_shares_of_classes(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], order: list[int], limit: float
) -> None:
    original, released = graph(before), graph(after)
    if "job" not in original.attributes:
        return
    found = kgreason.people.attack(original, released, np.array(order), sensitive=["job"], confidence=limit)
    jobs = [known(before, user)[0] for user in USERS]
    shown = [known(after, user) for user in USERS]
    shares, above = [], 0
    for u, mine in enumerate(jobs):
        others = [v for v in range(7) if shown[order[v]] == shown[order[u]]]
        of = {t: sum(t in jobs[v] for v in others) / len(others) for t in mine}
        if of:
            shares.append(max(of.values()))
            above += any(s > max(limit, sum(t in has for has in jobs) / 7) + 1e-9 for t, s in of.items())
    (belief,) = found.beliefs
    assert (len(belief.users), len(belief.above)) == (len(shares), above)
    assert belief.highest == pytest.approx(max(shares))
    assert belief.average == pytest.approx(sum(shares) / len(shares))
    assert str(belief) in str(found)


# A series: the graphs of chapter 5 of the thesis


def over(series: Sequence[PeopleGraph], k: int = 2) -> tuple[UserAttacks, Series]:
    same = [np.arange(one.n) for one in series]
    found = kgreason.people.attack(series, series, same, k=k)
    return found, Series.of([Published(one, Source(one, m)) for one, m in zip(series, same, strict=True)])


def risks(found: UserAttacks, series: Series) -> dict[str, float]:
    """Definition 21 for all knowledge."""
    last = found.seen[-1].after
    assert last is not None
    return dict(zip(series.labels.tolist(), (1 / last.candidates).tolist(), strict=True))


def test_definition_21_in_examples_14_to_17() -> None:
    found, series = over(TOGETHER)
    assert set(series.labels) == {"user:0", "user:1", "user:2", "user:3", "user:4", "fake:0"}  # Example 16
    assert set(risks(found, series).values()) == {0.5}  # Example 14
    assert found.holds
    number = {label: i for i, label in enumerate(series.labels.tolist())}
    for classes in series.traits.kinds().values():  # Examples 15 and 17
        assert classes[number["user:2"]] == classes[number["user:3"]]
    assert set(risks(*over(TOGETHER[:1])).values()) == {0.5}  # Example 15


def test_definition_21_in_example_18() -> None:
    for one in ALONE:
        assert max(risks(*over([one])).values()) <= 0.5
    found, series = over(ALONE)
    assert set(risks(found, series).values()) == {1.0}
    assert not found.holds
    assert found.state == "5 users have fewer candidates than their level"


@settings(max_examples=inputs(60), deadline=None)
@given(st.lists(st.tuples(triples, st.sets(st.sampled_from(USERS), min_size=1)), min_size=1, max_size=3))
def test_a_series_counts_as_its_checker(facts: list[tuple[list[tuple[str, str, str]], set[str]]]) -> None:
    """Candidates over several releases are the classes of `history`, and absence is known."""
    some = [graph(of).of(np.array([i for i, user in enumerate(USERS) if user in here])) for of, here in facts]
    found, series = over(some)
    seen = history(some)
    assert series.labels.tolist() == seen.labels.tolist()
    last = found.seen[-1].after
    assert last is not None
    assert last.candidates.tolist() == np.bincount(seen.classes)[seen.classes].tolist()


def test_without_values_and_links_a_user_hides_among_all() -> None:
    two = PeopleGraph.from_triples("ab", [])
    found = kgreason.people.attack(two, two, np.arange(2), k=2)
    assert [one.knowledge for one in found.seen] == ["true nothing", "nothing, as released"]
    assert found.holds
    own = kgreason.people.attack(two, two, np.arange(2), k_values={"a": 2, "b": 3})
    assert own.state == "1 user has fewer candidates than its level"


def test_users_of_a_series_keep_their_names() -> None:
    people = graph([("u0", "job", "nurse")])
    same, other = np.arange(7), np.roll(np.arange(7), 1)
    with pytest.raises(ReleaseError, match="user 'u0' has another label in an earlier release"):
        kgreason.people.attack([people, people], [people, people], [same, other])
    two = people.of(np.arange(2))
    with pytest.raises(ReleaseError, match="a released label is that of several original users"):
        kgreason.people.attack(two, people, np.array([1, 1]))
    with pytest.raises(ReleaseError, match="the mapping does not fit the graphs"):
        kgreason.people.attack(people, two, same)
    with pytest.raises(AnonymizationError, match="a k for each user belong to one release, not to 2"):
        kgreason.people.attack([people] * 2, [people] * 2, [same] * 2, k_values=dict.fromkeys(USERS, 2))
    with pytest.raises(AnonymizationError, match="sensitive attributes and a confidence belong together"):
        kgreason.people.attack(people, people, same, sensitive=["job"])
    with pytest.raises(AnonymizationError, match="there is no attribute 'age'"):
        kgreason.people.attack(people, people, same, sensitive=["age"], confidence=0.5)


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout


def test_the_command(tmp_path: Path) -> None:
    folders = "--release", tmp_path / "r", "--private", tmp_path / "p"
    schema, levels = EXAMPLE / "people.toml", ("--k-values", EXAMPLE / "k.csv")
    assert run("people", "anonymize", schema, *levels, *folders)[0] == 0
    original = "--original", schema, "--mapping", tmp_path / "p"
    code, said = run("people", "attack", tmp_path / "r", *original, *levels)
    assert code == 0
    assert said.splitlines()[0].split()[:3] == ["an", "attacker", "knows"]
    assert "every user has as many candidates as its level" in said
    assert run("people", "attack", tmp_path / "r", *original)[0] == 2  # whose k?
    code, said = run("people", "attack", tmp_path / "r", *original, "-k", 61, "--json")
    told = json.loads(said)
    assert code == 1
    assert told["holds"] is False
    assert {one["fewer_than_k"] for one in told["attacks"] if one["promised"]} == {60}
    assert all(one["before"]["fewest"] == 1 for one in told["attacks"])
    assert told["attacks"][0]["control"]["found"]["value"] < 0.1
    assert "user" not in json.dumps(told).replace("users", "")  # nobody of the original is named


def test_the_command_with_drawn_targets_sensitive_values_and_several_releases(tmp_path: Path) -> None:
    schema = EXAMPLE / "people.toml"
    asked = ["--original", schema, "--mapping", tmp_path / "p0"]
    places = [(tmp_path / f"r{i}", tmp_path / f"p{i}") for i in range(2)]
    for i, (release, private) in enumerate(places):
        after = ("--after", tmp_path / "p0") if i else ()
        made = ("people", "anonymize", schema, "--method", "ctkga", "-k", 3, "--window", 2, *after)
        assert run(*made, "--release", release, "--private", private)[0] == 0
    drawn = ("--targets", 20, "--seed", 1, "--sensitive", "job", "--confidence", "0.5")
    code, said = run("people", "attack", places[0][0], *asked, *drawn)
    assert code == 0
    assert "every drawn user has as many candidates as its level" in said
    assert "values of job concluded from the class: confidence 0." in said
    series = (
        "--original",
        schema,
        "--original",
        schema,
        "--mapping",
        places[0][1],
        "--mapping",
        places[1][1],
    )
    code, said = run("people", "attack", places[0][0], places[1][0], *series)
    assert code == 0
    assert "every user has as many candidates as its level" in said  # k is that of the releases


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("r", "r", "--k-values", "k.csv"), "--k-values has no meaning with several releases"),
        (("r", "r", "--sensitive", "job"), "--sensitive has no meaning with several releases"),
        (("r", "--sensitive", "job"), "--sensitive and --confidence belong together"),
        (("r", "r"), "--original is given 1 time for 2 releases"),
        (("r", "r", "--original", "o.toml"), "--mapping is given 1 time for 2 releases"),
        (("r", "--targets", "0"), "--targets"),
    ],
)
def test_wrong_calls(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    places = ("--original", tmp_path / "o.toml", "--mapping", tmp_path / "p")
    done = CliRunner().invoke(app, ["people", "attack", *words, *map(str, places)])
    assert done.exit_code == 2
    assert said in done.stderr


def test_every_user_has_a_k() -> None:
    people = graph([("u0", "job", "nurse")])
    with pytest.raises(AnonymizationError, match="users have no k"):
        kgreason.people.attack(people, people, np.arange(7), k_values={"u0": 2})
