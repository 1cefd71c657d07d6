"""The checker of graphs of people: against the definitions in plain Python, and on the examples of the papers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.api.people import verify_people
from kgreason.assess.people.information import degrees, history, information, sizes
from kgreason.assess.people.published import Published, Rows
from kgreason.assess.people.verdict import PeopleVerdict
from kgreason.errors import AnonymizationError, KgreasonError, ReleaseError
from kgreason.graph.people.model import Attribute, Links, PeopleGraph
from tests.people_definition import (
    People,
    k_ad,
    k_w_tad,
    p_k_ad,
    p_k_ad_of_somebody,
    paired_k_degree,
    stable,
    truthful,
)

NAMES = tuple("abcdefg")
RELATIONS = ("follows", "is_tutor")
VALUES = tuple((a, v) for a in ("age", "job") for v in "xyz")
several = settings(max_examples=60, deadline=None)


@st.composite
def people(draw: st.DrawFn, most: int = 6) -> People:
    """Graphs whose users often share: the values of each are one of two sets, links run in circles or anyhow."""
    users = tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=most)))
    sets = draw(st.lists(st.frozensets(st.sampled_from(VALUES), max_size=5), min_size=1, max_size=2))
    values = frozenset((u, *pair) for u in users for pair in draw(st.sampled_from(sets)))
    some = st.sampled_from(users) if users else st.nothing()
    links = draw(
        st.frozensets(st.tuples(some, st.sampled_from(RELATIONS), some), max_size=2) if users else st.just([])
    )
    circle = draw(st.lists(some, unique=True)) if users else []
    links = frozenset(links) | {
        (u, "follows", v) for u, v in zip(circle, circle[1:] + circle[:1], strict=True)
    }
    return People(
        users, values, frozenset(t for t in links if t[0] != t[2]), draw(st.sampled_from([RELATIONS, ()]))
    )


def consistent(g: People) -> People:
    """Without links of relations that the graph does not have."""
    return replace(g, links=frozenset(t for t in g.links if t[1] in g.relations))


# what can be extracted


@several
@given(people())
def test_classes_are_those_of_the_definition(g: People) -> None:
    g = consistent(g)
    graph = g.graph()
    for classes, same in ((information(graph), g.information), (degrees(graph), g.degrees)):
        for i, u in enumerate(g.users):
            for j, v in enumerate(g.users):
                assert (classes[i] == classes[j]) == (same(u) == same(v))


@several
@given(st.lists(people().map(consistent), min_size=1, max_size=4))
def test_series_are_those_of_the_definition(series: list[People]) -> None:
    found = history([g.graph() for g in series])
    assert set(found.labels) == {u for g in series for u in g.users}
    told = [tuple(g.information(u) if u in g.users else None for g in series) for u in found.labels]
    for i, label in enumerate(found.labels):
        assert found.present[i].tolist() == [label in g.users for g in series]
        assert [one == told[i] for one in told] == (found.classes == found.classes[i]).tolist()


@several
@given(st.lists(st.frozensets(st.integers(0, 40), max_size=33), max_size=8))
def test_sets_of_any_size_are_told_apart(sets: list[frozenset[int]]) -> None:
    users = [f"u{i}" for i in range(len(sets))]
    triples = [(u, "a", str(v)) for u, found in zip(users, sets, strict=True) for v in found]
    classes = information(PeopleGraph.from_triples(users, triples))
    assert [[a == b for b in sets] for a in sets] == (classes[:, None] == classes[None, :]).tolist()


def test_values_need_not_be_in_order() -> None:
    """The checker does not lean on how whoever made the graph has ordered it."""
    domain = np.array(["x", "y"], dtype=object)
    attribute = Attribute("categorical", domain, np.array([1, 0, 0, 1]), np.array([0, 1, 0, 1]))
    graph = PeopleGraph(np.array(["a", "b"], dtype=object), {"job": attribute}, {})
    assert sizes(information(graph)).tolist() == [2, 2]


def test_who_is_there_with_nothing_differs_from_who_is_absent() -> None:
    """THESIS, example 17, has (∅, ∅, ∅) for absent users; with no relation at all I(u) of a present one is the same."""
    nobody, somebody = People((), relations=()), People(("a", "b"), relations=())
    series = [somebody.graph(), replace(somebody, users=("b", "c")).graph(), nobody.graph()]
    assert len(set(history(series).classes)) == 3


# models


@several
@given(people().map(consistent), st.integers(1, 4), st.data())
def test_models_of_one_release(g: People, k: int, data: st.DataObject) -> None:
    graph = g.graph()
    assert verify_people(graph, model="paired-k-degree", k=k).holds == paired_k_degree(g, k)
    verdict = verify_people(graph, model="k-ad", k=k)
    assert verdict.holds == k_ad(g, k)
    assert verdict.figures.below == sum(
        sum(g.information(u) == g.information(v) for v in g.users) < k for u in g.users
    )
    levels = {u: data.draw(st.integers(1, 4)) for u in g.users}
    assert verify_people(graph, model="p-k-ad", levels=levels).holds == p_k_ad(g, levels)
    assert verify_people(graph, model="p-k-ad", levels=np.array([*levels.values()], np.int64)).holds == p_k_ad(
        g, levels
    )


@several
@given(people(5).map(consistent), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_levels_of_nobody_knows_whom(g: People, levels: list[int]) -> None:
    """Without the mapping, p-k-ad is decided just where who is who makes no difference."""
    names = {f"original {i}": k for i, k in enumerate(levels)}
    verdict = verify_people(g.graph(), model="p-k-ad", levels=names)
    assert verdict["classes"].state == p_k_ad_of_somebody(g, levels)
    assert verdict.holds == (p_k_ad_of_somebody(g, levels) == "holds")
    assert not g.users or any(needed.startswith("levels") for needed in verdict.needs_original)


@several
@given(st.lists(people().map(consistent), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_models_of_a_series(series: list[People], k: int, data: st.DataObject) -> None:
    if data.draw(st.booleans()):  # so that some hold: the releases tell the same of users who share in the first
        series = [replace(series[0], values=frozenset(), links=frozenset())] * len(series)
    window = data.draw(st.integers(1, len(series)))
    verdict = verify_people([g.graph() for g in series], model="kw-tad", k=k, window=window)
    assert verdict.holds == k_w_tad(series[-window:], k)
    assert verdict["each release"].holds == all(k_ad(g, k) for g in series[-window:])
    assert not verdict["classes"].holds or verdict["each release"].holds  # as it follows


# releases with their originals


@st.composite
def good(draw: st.DrawFn) -> tuple[People, People, dict[str, str]]:
    """An original, a release of it that is 2-ad at least, and who is who."""
    groups = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    original, released = list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    links, mapping = list[tuple[str, str, str]](), dict[str, str]()
    for number, size in enumerate(groups):
        union = draw(st.frozensets(st.sampled_from(VALUES), min_size=1, max_size=4))
        names = [f"user:{number}{i}" for i in range(size)]
        for i, name in enumerate(names):
            person = f"person {number}{i}"
            mapping[person] = name
            had = draw(st.frozensets(st.sampled_from(sorted(union)))) if i else union
            original += [(person, *pair) for pair in had]
            released += [(name, *pair) for pair in union]
            links.append((name, "follows", names[(i + 1) % size]))
    if draw(st.booleans()):
        mapping["Jane"] = ""
        original.append(("Jane", "age", "x"))
    return (
        People(tuple(mapping), frozenset(original)),
        People(tuple(name for name in mapping.values() if name), frozenset(released), frozenset(links)),
        mapping,
    )


def one_value_less(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    return o, replace(r, values=r.values - {pick(sorted(r.values))}), m


def one_link_more(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    new = [(u, "follows", v) for u in r.users for v in r.users if u != v and (u, "follows", v) not in r.links]
    return o, replace(r, links=r.links | ({pick(new)} if new else set())), m


def two_swapped(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    a, b = pick(sorted(m)), pick(sorted(m))
    return o, r, {**m, a: m[b], b: m[a]}


def both_the_same(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    return o, r, {**m, pick(sorted(m)): m[pick(sorted(m))]}


def named_as_before(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
    person = pick([p for p in m if m[p]])
    new = {name: person if name == m[person] else name for name in r.users}
    values = frozenset((new[u], a, v) for u, a, v in r.values)
    links = frozenset((new[u], a, new[v]) for u, a, v in r.links)
    return o, People(tuple(new.values()), values, links), {p: new.get(name, "") for p, name in m.items()}


def one_user_less(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    gone = pick(r.users)
    links = frozenset(t for t in r.links if gone not in t)
    kept = tuple(u for u in r.users if u != gone)
    return (
        o,
        People(kept, frozenset(t for t in r.values if t[0] != gone), links),
        {p: name for p, name in m.items() if name != gone},
    )


def one_row_less(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    gone = pick(sorted(m))
    return o, r, {p: name for p, name in m.items() if p != gone}


MUTATIONS = [
    one_value_less,
    one_link_more,
    two_swapped,
    both_the_same,
    named_as_before,
    one_user_less,
    one_row_less,
    lambda o, r, m, _: (o, r, m),
]


def told(o: People, r: People, m: Mapping[str, str], fakes: bool = False) -> dict[str, str]:
    """What the checker must say of a release beside the definition."""
    injective = len([name for name in m.values() if name]) == len({name for name in m.values() if name})
    found = {
        "mapping": injective,
        "users": set(m) == set(o.users),
        "values": truthful(o, r, m),
        "fakes": fakes or set(r.users) <= set(m.values()),
    }
    states = {
        name: "holds" if holds else "fails" if injective or name == "mapping" else "undecided"
        for name, holds in found.items()
    }
    if not injective:
        states |= dict.fromkeys(["users", "values", "fakes"], "undecided")
    return states | {"labels": "holds" if not set(o.users) & set(r.users) else "fails"}


@several
@given(good(), st.sampled_from(MUTATIONS), st.data())
def test_mutated_releases(case: Any, mutate: Any, data: st.DataObject) -> None:
    original, released, mapping = mutate(*case, lambda some: data.draw(st.sampled_from(some)))
    known: Any = {"original": original.graph(), "mapping": mapping}
    expected = told(original, released, mapping)
    for model, definition in (("paired-k-degree", paired_k_degree), ("k-ad", k_ad)):
        verdict = verify_people(released.graph(), model=model, k=2, **known)
        classes = definition(released, 2)
        assert {name: verdict[name].state for name in expected} == expected
        assert verdict["classes"].holds == classes
        assert verdict.holds == (classes and set(expected.values()) == {"holds"})
    levels = {u: data.draw(st.sampled_from([1, 2, 2, 3])) for u in original.users}
    verdict = verify_people(released.graph(), model="p-k-ad", levels=levels, **known)
    assert {name: verdict[name].state for name in expected} == expected
    if expected["mapping"] == "holds":
        people = {name: p for p, name in mapping.items()}
        assert verdict["levels"].holds == (set(released.users) <= set(people))
        theirs = {name: levels[people[name]] if name in people else 1 for name in released.users}
        assert verdict["classes"].holds == p_k_ad(released, theirs)
    else:
        assert not verdict.holds


@several
@given(good(), st.sampled_from(MUTATIONS), st.sampled_from(MUTATIONS), st.data())
def test_mutated_series(case: Any, first: Any, second: Any, data: st.DataObject) -> None:
    def pick(some: Any) -> Any:
        return data.draw(st.sampled_from(some))

    cases = [case, first(*case, pick), second(*case, pick)]
    verdict = verify_people(
        [r.graph() for _, r, _ in cases],
        model="kw-tad",
        k=2,
        original=[o.graph() for o, _, _ in cases],
        mapping=[m for _, _, m in cases],
    )
    each = [told(*case, fakes=True) for case in cases]
    for name in each[0]:
        states = {one[name] for one in each}
        expected = "fails" if "fails" in states else "undecided" if "undecided" in states else "holds"
        assert verdict[name].state == expected
    assert verdict["names"].holds == stable(m for _, _, m in cases)
    definition = k_w_tad([r for _, r, _ in cases], 2)
    assert verdict["classes"].holds and verdict["each release"].holds if definition else not verdict.holds
    right = all(set(one.values()) == {"holds"} for one in each) and verdict["names"].holds
    assert verdict.holds == (definition and right)
