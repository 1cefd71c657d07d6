"""CTKGA: whoever compares w releases finds each series of values and degrees at least k times (THESIS, chapter 5)."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, DataError
from kgreason.graph.knowledge_graph import Vertices
from kgreason.people import verify as verify_people
from kgreason.people.anonymizers.ctkga import NextRelease, next_release, shown
from kgreason.people.anonymizers.history import History, classes, fingerprint, read_history, write_history
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.anonymizers.user_distances import Clusters, Distance
from kgreason.people.model import Links, PeopleGraph, attribute, distinct_links
from kgreason.people.settings import LeftOut
from tests.examples import inputs
from tests.people.distances import MatrixDistance

Information = tuple[frozenset[tuple[str, str]], tuple[tuple[str, int, int], ...]]


# the definitions, word by word


def information(graph: PeopleGraph) -> dict[str, Information]:
    """I(u) of every user (section 5.2)."""
    values: dict[int, set[tuple[str, str]]] = {u: set() for u in range(graph.n)}
    for name, a in graph.attributes.items():
        for user, value in zip(a.user, a.value, strict=True):
            values[int(user)].add((name, a.domain[value]))
    degrees = [
        (name, Counter(r.source.tolist()), Counter(r.target.tolist())) for name, r in graph.relations.items()
    ]
    return {
        str(label): (frozenset(values[u]), tuple((n, out[u], into[u]) for n, out, into in degrees))
        for u, label in enumerate(graph.labels)
    }


def anonymity(releases: Sequence[dict[str, Information]]) -> dict[str, int]:
    """|C(g, u)| of every user of the historical users set (Definitions 18 and 22)."""
    users = set().union(*releases)
    series = {u: tuple(release.get(u) for release in releases) for u in users}
    counts = Counter(series.values())
    return {u: counts[series[u]] for u in users}


def least(releases: Sequence[PeopleGraph], window: int) -> int:
    """The least |C(g, u)| of any window of consecutive releases; shorter ones at the beginning."""
    known = [information(r) for r in releases]
    views = [known[max(0, t - window + 1) : t + 1] for t in range(len(known))]
    return min((c for view in views for c in anonymity(view).values()), default=10**9)


# stand-ins for what is given to CTKGA


@dataclass(frozen=True)
class Alike:
    graph: PeopleGraph
    users: Vertices
    figures: dict[str, int]


def generalize(graph: PeopleGraph, clusters: Clusters, rng: np.random.Generator) -> Alike:
    """Everyone has the values of his cluster, and is linked to all of it where one of it had a link."""
    users = np.flatnonzero(clusters >= 0)
    attributes = {}
    for name, a in graph.attributes.items():
        had = {(int(clusters[u]), a.domain[v]) for u, v in zip(a.user, a.value, strict=True)}
        pairs = [(i, text) for i, u in enumerate(users) for c, text in had if c == clusters[u]]
        attributes[name] = attribute(
            a.kind,
            np.array([i for i, _ in pairs], dtype=np.int64),
            np.array([t for _, t in pairs], dtype=object),
        )
    relations = {}
    for name, r in graph.relations.items():
        linked = set(clusters[r.source].tolist())
        pairs = [
            (i, j)
            for i, u in enumerate(users)
            for j, v in enumerate(users)
            if clusters[u] == clusters[v] and clusters[u] in linked
        ]
        relations[name] = distinct_links(len(users), *np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
    return Alike(PeopleGraph(graph.labels[users], attributes, relations), users, {})


def chunks(distance: Distance, clusters: Clusters, k: int, rng: np.random.Generator) -> Clusters:
    made = np.empty(distance.n, dtype=np.int64)
    made[rng.permutation(distance.n)] = np.minimum(np.arange(distance.n) // k, distance.n // k - 1)
    return made


def released(
    graph: PeopleGraph,
    history: History | None,
    k: int,
    window: int,
    seed: int = 0,
    left_out: LeftOut = "withhold",
) -> NextRelease:
    return next_release(
        graph,
        history,
        k,
        window,
        np.random.default_rng(seed),
        distance=MatrixDistance(np.zeros((graph.n, graph.n))),
        partition=chunks,
        generalize=generalize,
        left_out=left_out,
    )


def series(
    graphs: Iterable[PeopleGraph], k: int, window: int, left_out: LeftOut = "withhold"
) -> list[NextRelease]:
    made: list[NextRelease] = []
    for seed, graph in enumerate(graphs):
        made.append(released(graph, made[-1].history if made else None, k, window, seed, left_out))
    return made


def people(users: Iterable[str], jobs: dict[str, str] | None = None, links: str = "") -> PeopleGraph:
    """Users with a job each, and links such as ``ab bc``."""
    users = list(users)
    return PeopleGraph.from_triples(
        users,
        [(u, "job", (jobs or {}).get(u, "none")) for u in users],
        [(a, "knows", b) for a, b in links.split()],
        relations=["knows"],
    )


def names(release: NextRelease, graph: PeopleGraph) -> dict[str, str]:
    """Pseudonym of each original user who is released."""
    return {
        str(u): str(release.graph.labels[m])
        for u, m in zip(graph.labels, release.mapping, strict=True)
        if m >= 0
    }


# examples of the thesis

STUDENT, ENGINEER = ("job", "Student"), ("job", "Engineer")


def example(
    users: dict[int | str, list[tuple[str, str]]], follows: str = "", classmate: str = ""
) -> PeopleGraph:
    """A release with users ``user:0`` and so on; links are pairs of single letters, ``f`` a fake."""

    def full(u: int | str) -> str:
        return "fake:0" if u == "f" else f"user:{u}"

    return PeopleGraph.from_triples(
        [full(u) for u in users],
        [(full(u), *v) for u, values in users.items() for v in values],
        [
            (full(p[0]), r, full(p[1]))
            for r, e in (("follows", follows), ("classmate", classmate))
            for p in e.split()
        ],
        relations=["follows", "classmate"] if classmate else ["follows"],
    )


# The figures are not in the text of the thesis; what it says of them fixes these graphs up to what plays no part: the
# ages of user:0, user:1 and user:4, and who follows whom.
YOUNG = [("age", "18"), ("age", "19")]
OLD = [("age", "40"), ("age", "55"), ENGINEER]
G0 = example(
    {0: [*YOUNG, STUDENT], 1: [*YOUNG, STUDENT], 2: OLD, 3: OLD},
    follows="02 13",
)
ALONE = [  # Figure 5.2: each release is 2-ad
    G0,
    example({0: [*OLD], 2: [*OLD], 1: [*YOUNG, STUDENT], 4: [*YOUNG, STUDENT]}, follows="10 42"),
    example({0: [*YOUNG, STUDENT], 1: [*YOUNG, STUDENT], 2: [("age", "21"), *OLD], 3: [("age", "21"), *OLD],
             4: [("age", "21"), *OLD]}, follows="01 10"),
]  # fmt: skip
BOTH = [STUDENT, ENGINEER]
TOGETHER = [  # Figure 5.3
    G0,
    example(
        {0: [*YOUNG, *BOTH], 1: [*YOUNG, *BOTH], 4: [("age", "21"), STUDENT], "f": [("age", "21"), STUDENT]},
        classmate="40 f1",
    ),
    example(
        {0: [*YOUNG, *BOTH], 1: [*YOUNG, *BOTH], 2: OLD, 3: OLD, 4: [("age", "21"), STUDENT],
         "f": [("age", "21"), STUDENT]}, follows="02 13", classmate="40 f1",
    ),
]  # fmt: skip


def test_example_15_information_of_one_release() -> None:
    known = information(G0)
    expected = (frozenset(OLD), (("follows", 0, 1),))
    assert known["user:2"] == known["user:3"] == expected
    assert len(set(classes(G0)[2:])) == 1


def test_examples_13_and_18_releases_that_are_safe_alone_but_not_together() -> None:
    assert [least([g], 1) for g in ALONE] == [2, 2, 2]
    assert set(anonymity([information(g) for g in ALONE]).values()) == {1}
    assert least(ALONE, 3) == 1


def test_examples_14_16_17_and_19_releases_that_are_safe_together() -> None:
    found = anonymity([information(g) for g in TOGETHER])
    assert set(found) == {"user:0", "user:1", "user:2", "user:3", "user:4", "fake:0"}
    assert set(found.values()) == {2}
    assert least(TOGETHER, 3) == 2
    seen = [information(g).get("user:3") for g in TOGETHER]
    assert seen[1] is None
    assert seen[0] is not None
    assert seen[2] is not None
    assert seen[0][0] == seen[2][0] == frozenset(OLD)


def test_history_tells_the_releases_of_the_examples_apart() -> None:
    """It counts as Definition 22 does: Figure 5.3 is let through for w = 3, Figure 5.2 is not."""
    history = History.start(2, 3)
    for g in TOGETHER:
        history = history.after(g, np.array([None] * g.n, dtype=object))
    assert history.series.shape == (6, 2)
    assert sorted(Counter(history.groups().tolist()).values()) == [2, 2, 2]
    first = History.start(2, 3).after(ALONE[0], ALONE[0].labels)
    with pytest.raises(AnonymizationError, match="only 1 users have the same series, not 2"):
        first.after(ALONE[1], ALONE[1].labels)


def test_example_14_is_what_the_algorithm_makes() -> None:
    """Jane is new and gets a fake, Tom goes and takes a user with him, both come back under their pseudonyms."""
    jobs = dict.fromkeys(["Ken", "Mary"], "Student") | dict.fromkeys(["Tom", "Bob"], "Engineer")

    def whole(distance: Distance, clusters: Clusters, k: int, rng: np.random.Generator) -> Clusters:
        return np.array([0, 0, 1, 1])

    zero = people(jobs, jobs)
    first = next_release(
        zero, None, 2, 3, np.random.default_rng(0), distance=MatrixDistance(np.zeros((4, 4))),
        partition=whole, generalize=generalize,
    )  # fmt: skip
    jobs |= {"Ken": "Engineer", "Jane": "Student"}
    one = people(["Ken", "Mary", "Bob", "Jane"], jobs)
    second = released(one, first.history, 2, 3)
    two = people(["Ken", "Mary", "Bob", "Jane", "Tom"], jobs)
    third = released(two, second.history, 2, 3)
    assert set(names(second, one)) == {"Ken", "Mary", "Jane"}
    assert second.graph.n == 4
    assert second.figures == {"users": 3, "withheld": 1, "fakes": 1, "new fakes": 1}
    assert third.figures == {"users": 5, "withheld": 0, "fakes": 1, "new fakes": 0}
    assert names(third, two)["Tom"] == names(first, zero)["Tom"]
    assert names(third, two)["Bob"] == names(first, zero)["Bob"]
    assert names(third, two)["Jane"] == names(second, one)["Jane"]
    seen = information(second.graph)
    assert (
        seen[names(second, one)["Ken"]]
        == seen[names(second, one)["Mary"]]
        == (frozenset(BOTH), (("knows", 0, 0),))
    )
    assert least([first.graph, second.graph, third.graph], 3) == 2


# who is shown


def feasible(present: int, absent: int, fakes: int, k: int) -> list[tuple[int, int]]:
    def fine(count: int) -> bool:
        return count == 0 or count >= k

    return [
        (p, f)
        for p in range(present + 1)
        for f in range(fakes + 1)
        if fine(p + f) and fine(present - p + absent + fakes - f) and (p or not f)
    ]


def test_shown_is_the_best_of_all_that_is_allowed() -> None:
    for k in range(2, 6):
        for present in range(3 * k):
            for absent in range(3 * k):
                for fakes in range(2 * k):
                    if present + absent + fakes >= k:
                        best = max(feasible(present, absent, fakes, k), key=lambda s: (s[0], -s[1]))
                        assert shown(present, absent, fakes, k) == best


# sequences of releases

STEP = st.tuples(st.frozensets(st.sampled_from("abcdefghij")), st.integers(0, 2**20))


def drawn(present: Iterable[str], seed: int) -> PeopleGraph:
    """Users with values and links of their own, attributes and relations that come and go."""
    rng = np.random.default_rng(seed)
    users = sorted(present)
    attributes = [a for a in ("age", "job") if rng.random() < 0.8]
    relations = [r for r in ("knows", "likes") if rng.random() < 0.8]
    values = [(u, a, str(rng.integers(3))) for u in users for a in attributes for _ in range(rng.integers(3))]
    links = [
        (str(rng.choice(users)), r, str(rng.choice(users)))
        for r in relations
        for _ in range(len(users))
        if users
    ]
    return PeopleGraph.from_triples(users, values, links, relations=relations)


@settings(max_examples=inputs(30), deadline=None)
@given(
    st.lists(STEP, min_size=1, max_size=7),
    st.integers(2, 4),
    st.integers(1, 4),
    st.sampled_from(["withhold", "replace"]),
)
def test_every_window_holds(
    steps: list[tuple[frozenset[str], int]], k: int, window: int, left_out: LeftOut
) -> None:
    graphs = [drawn(*step) for step in steps]
    made = series(graphs, k, window, left_out)
    assert least([r.graph for r in made], window) >= k
    for release, graph in zip(made, graphs, strict=True):
        hidden = int((release.mapping < 0).sum())
        assert release.figures["withheld"] == hidden
        assert release.graph.n == graph.n - hidden + release.figures["fakes"]
        assert not set(release.graph.labels) & set(graph.labels)
        taken = release.mapping[release.mapping >= 0]
        assert len(set(taken.tolist())) == len(taken)
        assert left_out == "withhold" or not hidden
        owners = [u for u in release.history.originals if u is not None]
        assert len(set(owners)) == len(owners)


@settings(max_examples=inputs(30), deadline=None)
@given(
    st.lists(STEP, min_size=2, max_size=7),
    st.integers(2, 3),
    st.integers(1, 4),
    st.sampled_from(["withhold", "replace"]),
)
def test_pseudonyms_last_as_long_as_the_window(
    steps: list[tuple[frozenset[str], int]], k: int, window: int, left_out: LeftOut
) -> None:
    """Within it the series of an original user is that of his pseudonym; beyond it nothing links them.

    A fake that has the pseudonym of a user in his absence carries it on.
    """
    graphs = [drawn(*step) for step in steps]
    made = series(graphs, k, window, left_out)
    seen = [names(r, g) for r, g in zip(made, graphs, strict=True)]
    last: dict[str, tuple[int, str]] = {}
    for t, now in enumerate(seen):
        for user, name in now.items():
            if user in last:
                before, old = last[user]
                shown = [i for i in range(before, t) if old in made[i].graph.labels]
                assert (name == old) == (t - shown[-1] < window)
            last[user] = t, name


@settings(max_examples=inputs(30), deadline=None)
@given(
    st.lists(STEP, min_size=2, max_size=6),
    st.integers(2, 4),
    st.integers(2, 4),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_a_promise_may_become_weaker(
    steps: list[tuple[frozenset[str], int]], k: int, window: int, less: int, shorter: int
) -> None:
    graphs = [drawn(*step) for step in steps]
    weak, short = max(2, k - less), max(1, window - shorter)
    made = series(graphs[:1], k, window)
    for seed, graph in enumerate(graphs[1:]):
        made.append(released(graph, made[-1].history, weak, short, seed))
    assert least([r.graph for r in made], short) >= weak


@pytest.mark.parametrize("left_out", ["withhold", "replace"])
def test_the_checker_agrees(left_out: LeftOut) -> None:
    """It also asks that users keep their names in the window."""
    steps = ["abcdefghij", "abcdefghk", "bcdefghkl", "abcdefghijl", "efghijlm"]
    graphs = [drawn(users, seed) for seed, users in enumerate(steps)]
    made = series(graphs, 2, 3, left_out)
    for t in range(2, len(made)):
        verdict = verify_people(
            [r.graph for r in made[: t + 1]],
            model="kw-tad",
            k=2,
            window=3,
            original=graphs[: t + 1],
            mapping=[r.mapping for r in made[: t + 1]],
        )
        assert verdict.holds
        assert len(verdict.items) > 5


@settings(max_examples=inputs(12), deadline=None)
@given(st.lists(STEP, min_size=1, max_size=5), st.integers(2, 4), st.integers(1, 4))
def test_every_window_holds_with_what_is_used_by_default(
    steps: list[tuple[frozenset[str], int]], k: int, window: int
) -> None:
    made: list[NextRelease] = []
    for seed, step in enumerate(steps):
        graph = drawn(*step)
        history = made[-1].history if made else None
        distance = AttributeDegreeLoss(graph)
        made.append(next_release(graph, history, k, window, np.random.default_rng(seed), distance=distance))
    assert least([r.graph for r in made], window) >= k


def test_clusters_are_given_to_the_partition_where_one_is_large_enough() -> None:
    graph, seen = people("abcdef"), []

    def partition(distance: Distance, clusters: Clusters, k: int, rng: np.random.Generator) -> Clusters:
        seen.append((distance.between(np.array([1])).tolist(), clusters.tolist()))
        return np.zeros(distance.n, dtype=np.int64)

    line = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    for given_clusters in ([0, 0, 0, 1, -1, -1], [0, 1, 2, -1, -1, -1]):
        next_release(
            graph, None, 3, 1, np.random.default_rng(0), distance=MatrixDistance(line),
            cluster=lambda *_, c=given_clusters: np.array(c), partition=partition, generalize=generalize,
        )  # fmt: skip
    rows = [[1.0, 0.0, 1.0, 2.0, 3.0, 4.0]]
    assert seen == [(rows, [0, 0, 0, 1, -1, -1]), (rows, [0] * 6)]


def test_a_long_sequence() -> None:
    """Forty releases of sixty users who come and go."""
    rng = np.random.default_rng(5)
    there = rng.random(60) < 0.7
    users = np.array([f"u{i}" for i in range(60)], dtype=object)
    graphs = []
    for t in range(40):
        there ^= rng.random(60) < 0.03
        graphs.append(drawn(users[there], t))
    made = series(graphs, 3, 3)
    assert least([r.graph for r in made], 3) >= 3
    assert sum(r.figures["users"] for r in made) > 0.5 * sum(g.n for g in graphs)
    whole = series(graphs, 3, 3, "replace")
    assert least([r.graph for r in whole], 3) >= 3
    assert sum(r.figures["users"] for r in whole) == sum(g.n for g in graphs)


def test_users_beyond_the_window_are_new() -> None:
    everyone, few = people("abcdef"), people("ab")
    made = series([everyone, few, people(""), everyone], 2, 3)
    first, last = names(made[0], everyone), names(made[3], everyone)
    assert len(last) == 6
    # made in clusters of two: who was seen at last with a or b has kept his name, the others have not been seen for 3
    assert {u for u in first if last[u] == first[u]} <= {"a", "b"}


def test_a_window_of_one_keeps_no_pseudonym() -> None:
    graph = people("abcd")
    one, two = series([graph, graph], 2, 1)
    assert not set(one.graph.labels) & set(two.graph.labels)
    assert two.history.series.shape == (0, 0)


def test_fewer_than_k_users_in_the_first_release_get_fakes() -> None:
    (release,) = series([people("ab", {"a": "cook"}, "ab")], 5, 3)
    assert release.graph.n == 5
    assert release.figures["new fakes"] == 3
    assert len(set(information(release.graph).values())) == 1


def test_nobody_at_first_and_nobody_later() -> None:
    made = series([people(""), people("ab"), people(""), people("ab")], 2, 3)
    assert [r.graph.n for r in made] == [0, 2, 0, 2]
    assert set(made[3].graph.labels) == set(made[1].graph.labels)


def test_fakes_live_and_go_with_their_group() -> None:
    """The thesis has fakes leave with the next release, so that k - 1 real users must leave with them."""
    graph, more, other = people("a"), people("ab", {"b": "cook"}), people("b", {"b": "cook"})
    made = series([graph, graph, more, other, other], 2, 2)
    assert [r.figures["users"] for r in made] == [1, 1, 2, 1, 1]
    assert [r.figures["fakes"] for r in made] == [1, 1, 2, 1, 1]
    assert set(made[0].graph.labels) == set(made[1].graph.labels) < set(made[2].graph.labels)
    assert not set(made[3].graph.labels) & set(made[0].graph.labels)


def test_a_fake_goes_in_the_place_of_a_user() -> None:
    """Three users and a fake; when one of them leaves the fake goes too, and the other two stay."""
    one = released(people("abc"), None, 4, 2)
    assert one.figures["fakes"] == 1
    weaker = released(people("ab"), one.history, 2, 2)
    assert weaker.figures == {"users": 2, "withheld": 0, "fakes": 0, "new fakes": 0}


def test_what_becomes_of_a_user_when_another_leaves() -> None:
    before, now = people("ab"), people("ac")
    one, two = series([before, now], 2, 3, "replace")
    assert two.figures == {"users": 2, "withheld": 0, "fakes": 2, "new fakes": 1}
    assert set(one.graph.labels) < set(two.graph.labels)
    held = series([before, now], 2, 3)[1]
    assert held.figures == {"users": 1, "withheld": 1, "fakes": 1, "new fakes": 1}


def test_the_form_of_a_release_tells_nothing() -> None:
    """Users are in the order of their pseudonyms, so that fakes are not last."""
    graph = people([f"u{i}" for i in range(3)], {"u0": "spy"})
    places = set()
    for seed in range(20):
        release = released(graph, None, 4, 2, seed)
        assert release.graph.labels.tolist() == sorted(release.graph.labels)
        places.add(next(i for i in range(4) if i not in release.mapping))
    assert len(places) > 1


def test_values_of_those_who_are_missing_are_not_told() -> None:
    history = released(people("ab"), None, 2, 2).history
    release = next_release(
        people("acde", {"a": "spy"}), history, 2, 2, np.random.default_rng(0),
        distance=MatrixDistance(np.zeros((4, 4))), partition=chunks,
    )  # fmt: skip
    assert release.mapping.tolist()[0] == -1
    assert release.graph.attributes["job"].domain.tolist() == ["none"]
    assert release.changes.users == 3


def test_the_same_draws_make_the_same_release() -> None:
    graph = people("abcdef", {"a": "x", "b": "y"})

    def run() -> PeopleGraph:
        return next_release(
            graph, None, 2, 2, np.random.default_rng(4), distance=MatrixDistance(np.zeros((6, 6))),
            partition=chunks, generalize=generalize, secret=np.random.default_rng(5),
        ).graph  # fmt: skip

    assert fingerprint(run()) == fingerprint(run())


# what cannot be


@pytest.mark.parametrize(
    ("k", "window", "words"), [(1, 2, "k must be at least 2"), (2, 0, "at least 1 release")]
)
def test_promises_that_are_none(k: int, window: int, words: str) -> None:
    with pytest.raises(AnonymizationError, match=words):
        released(people("ab"), None, k, window)


@pytest.mark.parametrize(
    ("k", "window", "words"), [(3, 2, "k cannot be raised"), (2, 3, "window cannot be raised")]
)
def test_stronger_promises_come_too_late(k: int, window: int, words: str) -> None:
    history = released(people("abc"), None, 2, 2).history
    with pytest.raises(AnonymizationError, match=words) as caught:
        released(people("abc"), history, k, window)
    assert "another private folder" in str(caught.value)


def test_a_generalization_that_makes_nobody_alike_is_caught() -> None:
    def lazy(graph: PeopleGraph, clusters: Clusters, rng: np.random.Generator) -> Alike:
        users = np.flatnonzero(clusters >= 0)
        return Alike(graph.of(users), users, {})

    with pytest.raises(AnonymizationError, match="only 1 users have the same series"):
        next_release(
            people("ab", {"a": "cook"}), None, 2, 2, np.random.default_rng(0),
            distance=MatrixDistance(np.zeros((2, 2))), partition=chunks, generalize=lazy,
        )  # fmt: skip


@pytest.mark.parametrize("made", [[0, 0, 0, 1], [0, 0, -1, 0]])
def test_clusters_that_are_too_small_are_caught(made: list[int]) -> None:
    with pytest.raises(AnonymizationError, match="do not all have at least 2"):
        next_release(
            people("abcd"), None, 2, 2, np.random.default_rng(0), distance=MatrixDistance(np.zeros((4, 4))),
            partition=lambda *_: np.array(made), generalize=generalize,
        )  # fmt: skip


# the ADS-table


@given(st.frozensets(st.sampled_from("abcdefghij")), st.integers(0, 2**20))
def test_classes_are_those_of_the_definition(users: frozenset[str], seed: int) -> None:
    graph = drawn(users, seed)
    known, found = information(graph), classes(graph).tolist()
    for i in range(graph.n):
        for j in range(graph.n):
            assert (found[i] == found[j]) == (known[graph.labels[i]] == known[graph.labels[j]])


def test_the_same_text_in_two_attributes_is_two_values() -> None:
    graph = PeopleGraph.from_triples(
        "abcd", [("a", "x", "1"), ("b", "y", "1"), ("c", "y", "1"), ("d", "y", "2")]
    )
    assert classes(graph).tolist() == [0, 1, 1, 2]
    two = PeopleGraph.from_triples("ab", [], [("a", "r", "b")], relations=["r", "s"])
    assert classes(two).tolist() == [0, 1]


@given(st.frozensets(st.sampled_from("abcdefghij")), st.integers(0, 2**20))
def test_a_fingerprint_is_of_the_graph_and_not_of_its_order(
    users: frozenset[str],
    seed: int,
) -> None:
    graph = drawn(users, seed)
    other = graph.of(np.random.default_rng(seed).permutation(graph.n))
    assert fingerprint(other) == fingerprint(graph)
    for name, links in graph.relations.items():
        if len(links):
            less = replace(
                graph, relations={**graph.relations, name: Links(links.source[1:], links.target[1:])}
            )
            assert fingerprint(less) != fingerprint(graph)
    for name, a in graph.attributes.items():
        if len(a):
            less = replace(
                graph, attributes={**graph.attributes, name: replace(a, user=a.user[1:], value=a.value[1:])}
            )
            assert fingerprint(less) != fingerprint(graph)


def test_each_release_leaves_its_fingerprint() -> None:
    made = series([people("abc"), people("abcd")], 2, 2)
    assert made[1].history.fingerprints == tuple(fingerprint(r.graph) for r in made)


# the file


def test_a_history_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    for graphs in (
        [people("")],
        [people("abc"), people("abd"), people("äé雪")],
        [people("abc"), people("abd")],
    ):
        for window in (1, 3):
            history = series(graphs, 2, window)[-1].history
            write_history(path, history)
            back = read_history(path)
            assert path.stat().st_mode & 0o777 == 0o600
            assert (back.k, back.window, back.releases) == (history.k, history.window, history.releases)
            assert back.fingerprints == history.fingerprints
            for one, two in ((back.names, history.names), (back.originals, history.originals)):
                assert one.tolist() == two.tolist()
            assert np.array_equal(back.series, history.series)
    assert [p.name for p in tmp_path.iterdir()] == ["history.json"]


def test_runs_go_on_from_the_file_as_without_it(tmp_path: Path) -> None:
    graphs = [drawn(users, seed) for seed, users in enumerate(["abcdef", "abcdeg", "bcdefg", "abcdefg"])]
    history = None
    made = []
    for seed, graph in enumerate(graphs):
        made.append(released(graph, history, 2, 3, seed))
        write_history(tmp_path / "history.json", made[-1].history)
        history = read_history(tmp_path / "history.json")
    assert least([r.graph for r in made], 3) >= 2


def test_an_open_file_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text("{}")
    path.chmod(0o644)
    write_history(path, series([people("abc")], 2, 2)[-1].history)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "no JSON"),
        (lambda text: "", "no JSON"),
        (lambda text: "[]", "not the history"),
        (lambda text: "{}", "not the history"),
        (lambda text: text.replace('"version": 1', '"version": 2'), "has version 2"),
        (lambda text: text.replace('"k": 2', '"k": 3'), "not as it was written"),
        (lambda text: text.replace('"a"', '"z"'), "not as it was written"),
        (
            lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "series"}),
            "not as it was",
        ),
        (lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "sum"}), "not as it was"),
    ],
)
def test_damaged_files(tmp_path: Path, damage: object, words: str) -> None:
    path = tmp_path / "history.json"
    write_history(path, series([people("abc")], 2, 2)[-1].history)
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(DataError, match=words) as caught:
        read_history(path)
    assert "help:" in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_history(tmp_path / "history.json")
    (tmp_path / "history.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError, match="no text"):
        read_history(tmp_path / "history.json")


def test_ten_releases_of_ten_thousand_users_are_quick() -> None:
    rng = np.random.default_rng(0)
    n = 10_000
    labels = np.array([f"p{i}" for i in range(n)], dtype=object)
    jobs = np.tile(np.array(["j0", "j1", "j2"], dtype=object), n)
    source = np.repeat(np.arange(n), 4)
    links = distinct_links(n, source, (source + np.tile([1, 2, 3, 4], n)) % n)
    graph = PeopleGraph(
        labels, {"job": attribute("categorical", np.repeat(np.arange(n), 3), jobs)}, {"knows": links}
    )
    history = History.start(2, 11)
    start = time.process_time()
    for _ in range(10):
        history = history.after(graph.of(np.sort(rng.permutation(n))), labels)
        history.groups()
    assert history.series.shape == (n, 10)
    assert time.process_time() - start < 5  # it takes half a second


# real data


def cut(rows: npt.NDArray[np.int64], ends: npt.NDArray[np.float64]) -> list[PeopleGraph]:
    """A graph of each span of time, of those who act in it; columns: source, relation, target, time."""
    relations = np.unique(rows[:, 1]).tolist()
    made = []
    for first, last in pairwise(ends):
        now = rows[(rows[:, 3] >= first) & (rows[:, 3] < last)]
        users, ends_of = np.unique(now[:, [0, 2]], return_inverse=True)
        source, target = ends_of.reshape(-1, 2).T
        links = {
            f"r{r}": distinct_links(len(users), source[now[:, 1] == r], target[now[:, 1] == r])
            for r in relations
        }
        made.append(PeopleGraph(users.astype(str).astype(object), {}, links))
    return made


def mails(folder: Path) -> list[PeopleGraph]:
    """Five spans of the e-mails of an institution."""
    with gzip.open(folder / "social" / "email-Eu-core-temporal.txt.gz") as file:
        rows = np.loadtxt(file, dtype=np.int64)
    rows = np.column_stack([rows[:, 0], np.zeros(len(rows), dtype=np.int64), rows[:, 1:]])
    return cut(rows, np.linspace(rows[:, 3].min(), rows[:, 3].max() + 1, 6))


def events(folder: Path) -> list[PeopleGraph]:
    """Twelve months of political events, of the twenty most usual kinds."""
    tables = []
    for name in ("train", "valid", "test"):
        with gzip.open(folder / "kg" / "ICEWS14" / f"{name}.txt.gz") as file:
            tables.append(np.loadtxt(file, dtype=np.int64)[:, :4])
    rows = np.vstack(tables)
    usual = np.argsort(-np.bincount(rows[:, 1]))[:20]
    return cut(rows[np.isin(rows[:, 1], usual)], np.linspace(0, 365 * 24, 13))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "k", "window", "left_out"),
    [
        (mails, 2, 1, "replace"),
        (mails, 5, 4, "withhold"),
        (mails, 5, 4, "replace"),
        (mails, 10, 2, "withhold"),
        (events, 3, 3, "withhold"),
        (events, 3, 3, "replace"),
    ],
)
def test_real_people(
    real_data: Path, data: Callable[[Path], list[PeopleGraph]], k: int, window: int, left_out: LeftOut
) -> None:
    graphs = data(real_data)
    made: list[NextRelease] = []
    for seed, graph in enumerate(graphs):
        made.append(
            next_release(
                graph,
                made[-1].history if made else None,
                k,
                window,
                np.random.default_rng(seed),
                distance=AttributeDegreeLoss(graph),
                left_out=left_out,
            )
        )
    assert least([r.graph for r in made], window) >= k
    there = sum(g.n for g in graphs)
    withheld = sum(r.figures["withheld"] for r in made)
    assert withheld == 0 if left_out != "withhold" or window == 1 else 0 < withheld < there / 3
    links = sum(len(r) for g in graphs for r in g.relations.values())
    assert sum(f.kept for r in made for f in r.changes.links.values()) > 0.5 * links
