"""The checker of graphs of people: against the definitions in plain Python, and on the examples of the papers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.cli import app
from kgreason.people import verify as verify_people
from kgreason.people.model import Attribute, Links, PeopleGraph
from kgreason.people.release_tables import write_people
from kgreason.people.verification.information import degrees, history, information, sizes
from kgreason.people.verification.verdict import Published, Rows
from tests.examples import inputs
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
several = settings(max_examples=inputs(60), deadline=None)


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
    assert verify_people(
        graph, model="p-k-ad", levels=np.array([*levels.values()], np.int64)
    ).holds == p_k_ad(g, levels)


@several
@given(people(5).map(consistent), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_levels_of_nobody_knows_whom(g: People, levels: list[int]) -> None:
    """Without the mapping, p-k-ad is decided just where who is who makes no difference."""
    names = {f"original {i}": k for i, k in enumerate(levels)}
    if len(levels) < len(g.users):  # so these are not the users of its original
        with pytest.raises(AnonymizationError, match="has no k"):
            verify_people(g.graph(), model="p-k-ad", levels=names)
        return
    verdict = verify_people(g.graph(), model="p-k-ad", levels=names)
    assert verdict["classes"].state == p_k_ad_of_somebody(g, levels)
    assert verdict.holds == (p_k_ad_of_somebody(g, levels) == "holds")
    assert not g.users or any(needed.startswith("levels") for needed in verdict.needs_original)


@several
@given(st.lists(people().map(consistent), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_models_of_a_series(series: list[People], k: int, data: st.DataObject) -> None:
    if data.draw(
        st.booleans()
    ):  # so that some hold: the releases tell the same of users who share in the first
        series = [replace(series[0], values=frozenset(), links=frozenset())] * len(series)
    window = data.draw(st.integers(1, len(series)))
    verdict = verify_people([g.graph() for g in series], model="kw-tad", k=k, window=window)
    assert verdict.holds == k_w_tad(series[-window:], k)
    assert verdict["each release"].holds == all(k_ad(g, k) for g in series[-window:])
    assert not verdict["classes"].holds or verdict["each release"].holds  # as it follows


# releases with their originals


@st.composite
def good(draw: st.DrawFn) -> tuple[People, People, dict[str, str]]:
    """An original, a release of it that is at least 2-ad, and its mapping."""
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


def one_value_less(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
    return o, replace(r, values=r.values - {pick(sorted(r.values))}), m


def one_link_more(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
    new = [(u, "follows", v) for u in r.users for v in r.users if u != v and (u, "follows", v) not in r.links]
    return o, replace(r, links=r.links | ({pick(new)} if new else set())), m


def two_swapped(o: People, r: People, m: dict[str, str], pick: Any) -> tuple[People, People, dict[str, str]]:
    a, b = pick(sorted(m)), pick(sorted(m))
    return o, r, {**m, a: m[b], b: m[a]}


def both_the_same(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
    return o, r, {**m, pick(sorted(m)): m[pick(sorted(m))]}


def named_as_before(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
    person = pick([p for p in m if m[p]])
    new = {name: person if name == m[person] else name for name in r.users}
    values = frozenset((new[u], a, v) for u, a, v in r.values)
    links = frozenset((new[u], a, new[v]) for u, a, v in r.links)
    return o, People(tuple(new.values()), values, links), {p: new.get(name, "") for p, name in m.items()}


def one_user_less(
    o: People, r: People, m: dict[str, str], pick: Any
) -> tuple[People, People, dict[str, str]]:
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


# what else is looked at


def test_rows_of_files_and_of_graphs_are_simple() -> None:
    loop, twice = np.array([0, 1]), np.array([1, 1])
    graph = People(("a", "b")).graph()
    links = {"r": Links(loop, twice), "s": Links(np.array([0, 0]), twice)}
    verdict = verify_people(replace(graph, relations=links), model="k-ad", k=1)
    assert verdict["simple"].detail == "1 rows are repeated, 1 links go from a user to itself"
    assert not verdict.holds
    read = Published(graph, rows=Rows(repeated=2, examples=("relations.csv:7: a repeated row",)))
    verdict = verify_people(read, model="k-ad", k=1)
    assert verdict["simple"].witnesses == ("relations.csv:7: a repeated row", "... and 1 more")


def test_numbers_are_the_same_in_other_digits() -> None:
    """Of numeric attributes 18.0 is 18, and no other number that a double cannot tell from it."""
    big = 2**60

    def lost(had: str, has: str) -> bool:
        original = PeopleGraph.from_triples(["Ken"], [("Ken", "age", had)], numeric=["age"])
        released = PeopleGraph.from_triples(["a"], [("a", "age", has)], numeric=["age"])
        verdict = verify_people(released, model="k-ad", k=1, original=original, mapping={"Ken": "a"})
        return not verdict["values"].holds

    assert not lost("18", "18.0")
    assert lost("18", "19")
    assert lost(str(big), str(big + 1))


def test_users_who_are_not_listed() -> None:
    original, released = People(("Ken", "Tom", "Jane")).graph(), People(("a", "b")).graph()
    known: Any = {"model": "k-ad", "k": 2, "original": original}
    verdict = verify_people(released, mapping={"Ken": "a", "Tom": "b", "Jane": None}, **known)
    assert verdict.holds
    assert verdict["users"].detail == "2 of 3 users are released, 1 removed"
    assert not verify_people(released, mapping={"Ken": "a", "Tom": "b"}, **known)["users"].holds
    numbers = np.array([1, 0, -1])
    assert verify_people(released, mapping=numbers, **known).holds
    assert verify_people(released, mapping=numbers, removed=["Jane"], **known).holds
    assert verify_people(released, mapping=numbers, removed=[], **known)["users"].witnesses == ("Jane",)


def test_a_mapping_of_numbers_that_are_nobody() -> None:
    original, released = People(("Ken", "Tom")).graph(), People(("a", "b")).graph()
    for mapping in ([0], [0, 2], [0, -3], [1, 1]):
        verdict = verify_people(released, model="k-ad", k=2, original=original, mapping=np.array(mapping))
        assert verdict["mapping"].state == "fails"
        assert verdict["values"].state == "undecided"
        assert not verdict.holds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "k-da"}, "unknown model 'k-da'"),
        ({"model": "k-ad", "k": 0}, "k must be a whole number of at least 1"),
        ({"model": "p-k-ad", "k": 2, "levels": {"a": 1, "b": 1}}, "one k for all users, and one for each"),
        ({"model": "p-k-ad", "levels": {"a": 1}}, "the user 'b' has no k"),
        ({"model": "p-k-ad", "levels": {"a": 1, "b": 0}}, "every k must be a whole number of at least 1"),
        ({"model": "p-k-ad", "levels": np.array([1, 2, 3])}, "there are 3 values of k for 2 users"),
        ({"model": "k-ad", "levels": {"a": 1, "b": 1}}, "k-ad has one k for all users"),
        ({"model": "k-ad", "window": 2}, "k-ad is of one release: no window"),
        ({"model": "kw-tad", "window": 2}, "a window of 2 needs as many releases, not 1"),
        ({"model": "k-ad", "mapping": {"Ken": "a"}}, "original and mapping belong together"),
        (
            {"model": "kw-tad", "original": People(("Ken",)).graph(), "mapping": [{}, {}]},
            "there are 1 releases, 1 originals and 2 mappings",
        ),
        (
            {"model": "k-ad", "original": People(("Ken",)).graph(), "mapping": {"Ken": "c"}},
            "mapping: 'Ken' is mapped to 'c', which the release does not contain",
        ),
        (
            {"model": "k-ad", "original": People(("Ken",)).graph(), "mapping": {"Tom": "a"}},
            "mapping: 'Tom' is no user of the original",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options: Any, said: str) -> None:
    with pytest.raises((AnonymizationError, ReleaseError)) as error:
        verify_people(People(("a", "b")).graph(), **options)
    assert said in str(error.value)


def test_a_series_is_no_release() -> None:
    with pytest.raises(AnonymizationError, match="k-ad is of one release, not of 2"):
        verify_people([People(("a",)).graph()] * 2, model="k-ad")


# examples of the papers


def links(relation: str, text: str) -> set[tuple[str, str, str]]:
    """Links written as ``0>12``: from user 0 to users 1 and 2."""
    return {(a, relation, b) for a, ends in (part.split(">") for part in text.split()) for b in ends}


def test_thesis_example_2_and_3() -> None:
    """Degrees of table 3.1; the figure is not in the text, so links are any that have them."""
    original = People(tuple("01234"), links=frozenset(links("follows", "0>123 1>24 2>4 3>1")))
    graph = original.graph()
    assert graph.out_degrees()[:, 0].tolist() == [3, 2, 1, 1, 0]
    assert graph.in_degrees()[:, 0].tolist() == [0, 2, 2, 1, 2]
    assert sizes(degrees(graph)).tolist() == [1] * 5  # each user of G1 is re-identified
    even = frozenset(links("follows", "0>12 1>23 2>34 3>40 4>01"))
    verdict = verify_people(People(tuple("01234"), links=even).graph(), model="paired-k-degree", k=5)
    assert verdict.holds
    assert verdict.figures.ratio == 1.0  # no higher confidence than 1/5


FIGURE_4_1 = People(
    tuple("0123"),
    frozenset(
        {("0", "age", "18"), ("2", "age", "19"), ("1", "age", "55"), ("3", "age", "40")}
        | {(u, "job", "Student") for u in "02"}
        | {(u, "job", "Professor") for u in "13"}
    ),
    frozenset(links("follows", "0>1 2>3") | links("is_tutor", "1>0 3>2")),
    RELATIONS,
)


def test_thesis_example_7() -> None:
    graph = FIGURE_4_1.graph()
    verdict = verify_people(graph, model="paired-k-degree", k=2)
    assert verdict.holds
    assert "which paired-k-degree does not protect" in verdict.notes[0]
    assert verify_people(graph, model="k-ad", k=2).figures.below == 4


def test_thesis_example_8() -> None:
    ages = {(u, "age", age) for u in "02" for age in ("18", "19")}
    ages |= {(u, "age", age) for u in "13" for age in ("40", "55")}
    released = replace(FIGURE_4_1, values=FIGURE_4_1.values | ages)
    values, (out, into) = released.information("0")  # type: ignore[misc]
    assert values == {("age", "18"), ("age", "19"), ("job", "Student")}
    assert out == {("follows", 1), ("is_tutor", 0)}
    assert into == {("follows", 0), ("is_tutor", 1)}
    assert verify_people(released.graph(), model="k-ad", k=2).holds
    assert not verify_people(released.graph(), model="k-ad", k=3).holds


def group(users: str, *values: str) -> frozenset[tuple[str, str, str]]:
    pairs = [value.split("=") for value in values]
    return frozenset((u, name, value) for u in users for name, value in pairs)


OLD = ("age=40", "age=55", "job=Engineer")
FIRST = People(
    tuple("0123"),
    group("01", "age=18", "age=19", "job=Student") | group("23", *OLD),
    frozenset(links("follows", "0>2 1>3")),
)
# Of figure 5.2 the text tells who appears when, and of user 3 all values and degrees; the rest is one way to have it.
SEPARATE = [
    FIRST,
    People(
        tuple("0124"),
        group("02", "age=19", *OLD) | group("14", "age=18", "job=Student"),
        frozenset(links("classmate_of", "1>4 4>1")),
        ("follows", "classmate_of"),
    ),
    People(tuple("012345"), group("035", "age=21", *OLD) | group("124", "age=18", "job=Student")),
]
# Of figure 5.3 it tells what users 2, 3, 4 and the fake user share.
TOGETHER = [
    FIRST,
    People(
        ("0", "1", "4", "fake:0"),
        group("01", "age=18", "age=19", "job=Student", "job=Engineer")
        | group("4", "job=Student")
        | {("fake:0", "job", "Student")},
        frozenset(links("classmate_of", "4>0") | {("fake:0", "classmate_of", "1")}),
        ("follows", "classmate_of"),
    ),
    People(
        tuple("0123"),
        group("01", "age=21", "job=Student", "job=Engineer") | group("23", *OLD),
        frozenset(links("follows", "0>2 1>3")),
    ),
]


def test_thesis_examples_13_and_18() -> None:
    """Each release is 2-ad, but the series tell all users apart but those whom the text does not name."""
    graphs = [g.graph() for g in SEPARATE]
    for graph in graphs:
        assert verify_people(graph, model="k-ad", k=2).holds
    over = history(graphs)
    alone = dict(zip(over.labels.tolist(), sizes(over.classes).tolist(), strict=True))
    assert all(alone[user] == 1 for user in "01234")
    verdict = verify_people(graphs, model="kw-tad", k=2)
    assert verdict["each release"].holds
    assert not verdict["classes"].holds
    assert not verdict.holds


def test_thesis_examples_14_16_and_19() -> None:
    graphs = [g.graph() for g in TOGETHER]
    over = history(graphs)
    assert set(over.labels) == {*"01234", "fake:0"}
    of = dict(zip(over.labels.tolist(), over.classes.tolist(), strict=True))
    assert (of["0"], of["2"], of["4"]) == (of["1"], of["3"], of["fake:0"])
    assert len(set(of.values())) == 3
    verdict = verify_people(graphs, model="kw-tad", k=2)
    assert verdict.holds
    assert (verdict.figures.classes, verdict.figures.smallest, verdict.window) == (3, 2, 3)
    assert not verify_people([graphs[0], SEPARATE[1].graph(), graphs[2]], model="kw-tad", k=2).holds


def test_thesis_examples_15_and_17() -> None:
    for user in "23":
        values, (out, into) = FIRST.information(user)  # type: ignore[misc]
        assert values == {("age", "40"), ("age", "55"), ("job", "Engineer")}
        assert (out, into) == ({("follows", 0)}, {("follows", 1)})
    over = history([g.graph() for g in TOGETHER])
    three = over.labels.tolist().index("3")
    assert over.present[three].tolist() == [True, False, True]


def test_thesis_fake_users_are_of_a_series_alone() -> None:
    people = {"0": "Ken", "1": "Mary", "2": "Tom", "3": "Henry", "4": "Jane"}
    originals = [People(tuple(people[u] for u in g.users if u in people)).graph() for g in TOGETHER]
    mappings = [{people[u]: u for u in g.users if u in people} for g in TOGETHER]
    graphs = [g.graph() for g in TOGETHER]
    verdict = verify_people(graphs, model="kw-tad", k=2, original=originals, mapping=mappings)
    assert verdict.holds
    single = verify_people(graphs[1], model="k-ad", k=2, original=originals[1], mapping=mappings[1])
    assert single["classes"].holds
    assert single["fakes"].witnesses == ("fake:0",)
    assert not single.holds


def test_pckga_example_1_and_definition_2() -> None:
    """Figure 1: clusters of u0, u1 and of u2, u3; Jane, who asks for 4, is removed."""
    names = {"Ken": "u0", "Mary": "u1", "Henry": "u2", "Tom": "u3", "Jane": ""}
    levels = {"Ken": 2, "Mary": 2, "Henry": 2, "Tom": 1, "Jane": 4}
    young, old = ("age=19", "age=21", "job=Student"), ("age=50", "job=Professor")

    def of(*users: str, values: tuple[str, ...]) -> frozenset[tuple[str, str, str]]:
        return frozenset((u, *value.split("=")) for u in users for value in values)  # type: ignore[misc]

    released = People(
        ("u0", "u1", "u2", "u3"),
        of("u0", "u1", values=young) | of("u2", "u3", values=old),
        frozenset({("u0", "follows", "u2"), ("u1", "follows", "u3")}),
    )
    values, (out, into) = released.information("u0")  # type: ignore[misc]
    assert values == {("age", "19"), ("age", "21"), ("job", "Student")}
    assert (out, into) == ({("follows", 1)}, {("follows", 0)})
    original = PeopleGraph.from_triples(names, [("Ken", "age", "19"), ("Jane", "age", "60")])
    known: Any = {"model": "p-k-ad", "original": original, "mapping": names}
    verdict = verify_people(released.graph(), levels=levels, **known)
    assert verdict.holds
    assert verdict["levels"].detail == "each of 4 released users has its level: 1 to 2"
    more = verify_people(released.graph(), levels={**levels, "Tom": 4}, **known)
    assert more["classes"].witnesses == ("u3: 2 users in the class, k = 4",)
    # whoever of the release is Jane, or nobody is: that cannot be told without the mapping
    assert verify_people(released.graph(), model="p-k-ad", levels=levels).state == "undecided"


# the command line


SCHEMA = """\
[[tables]]
files = ["users.csv"]
id = "user"
[[triples]]
files = ["facts.csv"]
header = true
[kinds]
numeric = ["age"]
categorical = ["job"]
relations = ["follows"]
"""


def table(path: Path, *rows: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An original, its release that is 2-ad, who is who (private) and the k of each (k.csv)."""
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "users.csv", "user", "Ken", "Mary", "Tom", "Jane", "Henry")
    facts = ["Ken,age,18", "Mary,age,19", "Tom,job,Professor", "Jane,job,Professor", "Henry,age,99"]
    table(tmp_path / "facts.csv", "user,relation,target", *facts, "Ken,follows,Tom")
    (tmp_path / "original.toml").write_text(SCHEMA, encoding="utf-8")
    released = PeopleGraph.from_triples(
        "abcd",
        [(u, "age", age) for u in "ab" for age in ("18", "19")] + [(u, "job", "Professor") for u in "cd"],
        [("a", "follows", "c"), ("b", "follows", "d")],
        numeric=["age"],
    )
    write_people(tmp_path / "release", released)
    rows = ("Ken,a", "Mary,b", "Tom,c", "Jane,d", "Henry,")
    table(tmp_path / "private" / "mapping.csv", "original,released", *rows)
    table(tmp_path / "k.csv", "user,k", "Ken,2", "Mary,1", "Tom,2", "Jane,2", "Henry,9")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["people", "verify", *arguments])


KNOWN = ("--original", "original.toml", "--mapping", "private")


def test_a_release_that_holds(written: Path) -> None:
    result = run("release", *KNOWN, "--model", "k-ad", "-k", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "checked and kept                        classes, simple, files, mapping, labels, users, values, fakes\n"
        "smallest class (k or more is best)      2 users\n"
        "classes                                 2 of 4 users\n"
        "least class over k (1 or more is best)  1\n"
        "released                                4 of 5 users are released, 1 removed\n"
        "verdict                                 holds: k-ad with k = 2\n"
    )
    assert run("release", *KNOWN, "--model", "p-k-ad", "--k-values", "k.csv").exit_code == 0


def test_a_release_alone(written: Path) -> None:
    result = run("release", "--model", "paired-k-degree", "-k", "2")
    assert result.exit_code == 0
    assert (
        "undecidable alone                       mapping, users, values, labels, fakes: needs the original"
        in result.stdout
    )
    assert "not protected                           the release has values of 2 attributes" in result.stdout
    assert "holds, for all conditions that a release alone shows: paired-k-degree with k = 2" in result.stdout


def test_k_is_3_unless_said(written: Path) -> None:
    result = run("release", *KNOWN, "--model", "k-ad")
    assert result.exit_code == 1
    assert (
        "violated                                classes: 4 of 4 users share values and degrees with too few"
        in result.stdout
    )
    assert "verdict                                 DOES NOT HOLD: k-ad with k = 3" in result.stdout
    assert "\nWitnesses against classes:\n  a: 2 users in the class, k = 3\n" in result.stdout
    found = json.loads(run("release", *KNOWN, "--model", "k-ad", "--json").stdout)
    assert (found["format"], found["holds"], found["state"], found["k"]) == (1, False, "fails", 3)
    assert found["figures"] == {"users": 4, "classes": 2, "smallest": 2, "below": 4, "ratio": 2 / 3}
    assert found["items"][0]["name"] == "classes"


def test_levels_without_who_is_who(written: Path) -> None:
    result = run("release", "--original", "original.toml", "--model", "p-k-ad", "--k-values", "k.csv")
    assert result.exit_code == 1
    assert "NOT DECIDED: p-k-ad with each user’s own k" in result.stdout
    table(written / "low.csv", "Ken,2", "Mary,1", "Tom,2", "Jane,2", "Henry,2")
    assert (
        run("release", "--original", "original.toml", "--model", "p-k-ad", "--k-values", "low.csv").exit_code
        == 0
    )
    table(written / "released.csv", "a,2", "b,1", "c,2", "d,2")
    assert run("release", "--model", "p-k-ad", "--k-values", "released.csv").exit_code == 0
    table(written / "released.csv", "a,2", "b,3", "c,2", "d,2")
    assert run("release", "--model", "p-k-ad", "--k-values", "released.csv").exit_code == 1


def test_a_series(written: Path) -> None:
    shutil.copytree(written / "release", written / "second")
    again = (
        "--original",
        "original.toml",
        "--original",
        "original.toml",
        "--mapping",
        "private",
        "--mapping",
        "private",
    )
    result = run("release", "second", *again, "--model", "kw-tad", "-k", "2")
    assert result.exit_code == 0, result.output
    assert "holds: kw-tad with k = 2 over 2 releases" in result.stdout
    for name, lost in (
        ("users.csv", "d\n"),
        ("attributes.csv", "d,job,Professor\n"),
        ("relations.csv", "b,follows,d\n"),
    ):
        path = written / "second" / name
        path.write_text(path.read_text(encoding="utf-8").replace(lost, ""), encoding="utf-8")
    result = run("release", "second", "--model", "kw-tad", "-k", "2")
    assert result.exit_code == 1
    assert "each release: in second: 3 of 3 users share values and degrees with too few" in result.stdout
    assert run("release", "second", "--model", "kw-tad", "-k", "2", "--window", "1").exit_code == 1
    assert run("second", "release", "--model", "kw-tad", "-k", "2", "--window", "1").exit_code == 0


@pytest.mark.parametrize(
    ("name", "before", "after", "item"),
    [
        ("release/attributes.csv", "a,age,18\n", "", "classes"),
        ("release/attributes.csv", "a,age,18\n", "a,age,18\na,age,18\n", "simple"),
        ("release/relations.csv", "a,follows,c\n", "a,follows,c\na,follows,a\n", "simple"),
        ("release/relations.csv", "a,follows,c\n", "a,follows,c\nc,follows,a\n", "classes"),
        ("release/users.csv", "d\n", "d\ne\n", "fakes"),
        ("private/mapping.csv", "Ken,a", "Ken,c", "mapping"),
        ("private/mapping.csv", "Ken,a\nMary,b\nTom,c", "Ken,c\nMary,b\nTom,a", "values"),
        ("private/mapping.csv", "Henry,\n", "", "users"),
        ("private/mapping.csv", "Ken,a\n", "Ken,\n", "fakes"),
        ("users.csv", "Jane", "Jane\na", "labels"),
    ],
)
def test_files_that_say_something_else(written: Path, name: str, before: str, after: str, item: str) -> None:
    path = written / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    found = json.loads(run("release", *KNOWN, "--model", "k-ad", "-k", "2", "--json").stdout)
    assert item in {each["name"] for each in found["items"] if each["state"] == "fails"}
    assert not found["holds"]


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        (
            "release/attributes.csv",
            "a,age,18",
            "x,age,18",
            "attributes.csv:2: the user 'x' is not in users.csv",
        ),
        (
            "release/relations.csv",
            "a,follows,c",
            "a,follows,x",
            "relations.csv:2: the user 'x' is not in users.csv",
        ),
        ("release/relations.csv", "a,follows,c", "a,follows,", "relations.csv:2: there is no target"),
        (
            "release/relations.csv",
            "b,follows,d\n",
            "b,follows,d",
            "relations.csv:3: the last line has no end",
        ),
        ("release/users.csv", "b\n", "a\n", "users.csv:3: the user 'a' stands twice"),
        ("release/users.csv", "user\n", "name\n", "users.csv:1: the names of columns must be user, not name"),
        (
            "private/mapping.csv",
            "Ken,a",
            "Ken,x",
            "mapping.csv:2: 'Ken' is mapped to 'x', which the release does not contain",
        ),
        ("private/mapping.csv", "Tom,c", "Tim,c", "mapping.csv:4: 'Tim' is no user of the original"),
        ("private/mapping.csv", "Mary,b", "Ken,b", "mapping.csv:3: the original vertex 'Ken' stands twice"),
    ],
)
def test_files_that_are_at_fault(written: Path, name: str, before: str, after: str, said: str) -> None:
    path = written / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    result = run("release", *KNOWN, "--model", "k-ad", "-k", "2")
    assert result.exit_code == 2
    assert said in result.stderr, result.stderr
    assert "help: " in result.stderr


def test_the_schema_of_a_release_hides_nothing(written: Path) -> None:
    """Rows count as they stand, whatever people.toml would leave out."""
    schema = written / "release" / "people.toml"
    schema.write_text(
        schema.read_text(encoding="utf-8").replace('["job"]', '[]\nignore = ["job"]'), encoding="utf-8"
    )
    rows = written / "release" / "attributes.csv"
    rows.write_text(rows.read_text(encoding="utf-8").replace("c,job,Professor\n", ""), encoding="utf-8")
    assert "ignore" in schema.read_text(encoding="utf-8")
    assert run("release", "--model", "k-ad", "-k", "2").exit_code == 1
    table(written / "release" / "more.csv", "user,salary", "a,1")
    result = run("release", "--model", "k-ad", "-k", "2")
    assert result.exit_code == 2
    assert "more.csv: this is none of the files of a release of people" in result.stderr
    (written / "release" / "more.csv").rename(written / "more.csv")
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace('"relations.csv"', '"relations.csv", "../more.csv"'), encoding="utf-8")
    assert "it names more.csv, which is none of a release" in run("release", "--model", "k-ad").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("release", "kgreason people verify: missing option '--model'"),
        ("release --model k-iso", "'k-iso' is not one of"),
        ("release --model k-ad --rules r.vada", "no such option '--rules'"),
        ("release --model k-ad -x 2", "no such option '-x'"),
        ("release --model k-ad --window 2", "k-ad is of one release: no window"),
        ("release release --model k-ad", "k-ad is of one release, and 2 are named"),
        ("release --model k-ad --k-values k.csv", "k-ad has one k for all users"),
        ("release --model p-k-ad --k-values k.csv", "k.csv:2: there is no user 'Ken' in the graph"),
        (
            "release --model k-ad --original original.toml",
            "the original is named, but no mapping",
        ),
        ("release --model k-ad --mapping private", "a mapping is named, but no original"),
        (
            "release release --model kw-tad --original original.toml --mapping private",
            "--original is given 1 time for 2 releases",
        ),
        ("relaese --model k-ad", "relaese: there is no such release folder"),
        ("private --model k-ad", "users.csv: there is no such file"),
    ],
)
def test_usage(written: Path, words: str, said: str) -> None:
    result = run(*words.split())
    assert result.exit_code == 2
    assert said in result.stderr, result.stderr
    assert "help: " in result.stderr


def test_a_graph_under_rules_has_a_window_in_a_series_only() -> None:
    result = CliRunner().invoke(app, ["verify", "release", "--rules", "r.vada", "--window", "2"])
    assert result.exit_code == 2
    assert "--window" in result.stderr
    assert "--after DIR" in result.stderr
