"""Attackers who know values and numbers of links of users: against a plain count, and as a command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError
from kgreason.cli import app
from kgreason.people import PeopleGraph
from tests.examples import inputs
from tests.folders import ROOT

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
    assert "user" not in json.dumps(told).replace("users", "")  # nobody of the original is named


def test_every_user_has_a_k() -> None:
    people = graph([("u0", "job", "nurse")])
    with pytest.raises(AnonymizationError, match="users have no k"):
        kgreason.people.attack(people, people, np.arange(7), k_values={"u0": 2})
