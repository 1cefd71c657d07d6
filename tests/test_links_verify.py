"""The checker of releases of links: every kind of damage to releases made by hand fails its item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.assess.links.source import Source
from kgreason.assess.links.verdict import LinksVerdict
from kgreason.assess.links.verify import verify_links
from kgreason.choices import Strategy
from kgreason.graph.links.model import LinkGraph, Observations, Released
from kgreason.graph.people.model import attribute
from tests.examples import inputs

Link = tuple[int, int]
Weighted = tuple[int, int, float]
STRATEGIES: tuple[Strategy, ...] = ("intact", "partial", "cluster-edge", "constrained", "removed")
CLUSTERED = ("cluster-edge", "constrained")

# Seven entities in clusters of three, two and two; classmates is mutual, cites is directed, owes has weights.
CLUSTER = (0, 0, 0, 1, 1, 2, 2)
CLASSMATES: tuple[Link, ...] = (
    (0, 1),
    (0, 1),
    (0, 3),
    (1, 3),
    (3, 4),
    (4, 6),
    (4, 6),
    (4, 5),
    (5, 6),
    (2, 5),
)
CITES: tuple[Link, ...] = ((0, 3), (3, 0), (3, 0), (4, 2), (1, 2))
OWES: tuple[Weighted, ...] = ((0, 3, 0.25), (0, 3, 0.5), (1, 4, 0.5), (1, 4, 0.5), (5, 2, 1.0))
JOBS = ("nurse", "nurse", "cook", "clerk", "cook", "judge", "clerk")


@dataclass(frozen=True)
class Hand:
    """A graph as one writes it down: rows (source, target, count, weight or None) of each relation, and jobs."""

    labels: tuple[str, ...]
    rows: Mapping[str, tuple[tuple[int, int, int, float | None], ...]]
    jobs: frozenset[tuple[int, str]]
    size: tuple[int, ...]

    def graph(self) -> LinkGraph:
        user, text = zip(*sorted(self.jobs), strict=True) if self.jobs else ((), ())
        job = attribute("categorical", np.array(user, dtype=np.int64), np.array(text, dtype=object))
        return LinkGraph(
            np.array([*self.labels, None], dtype=object)[:-1],
            {name: self._observed(name) for name in self.rows},
            {"job": job} if self.jobs else {},
            np.array(self.size, dtype=np.int64),
        )

    def _observed(self, name: str) -> Observations:
        rows = sorted(self.rows[name], key=lambda row: row[:3])
        ends = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]
        weight = np.array([row[3] for row in rows], dtype=np.float64) if name == "owes" else None
        return Observations(ends[0], ends[1], ends[2], name == "classmates", weight)


def counted(links: Iterable[Weighted | Link]) -> tuple[tuple[int, int, int, float | None], ...]:
    found = Counter((*link, None)[:3] for link in links)
    return tuple((u, v, n, w) for (u, v, w), n in found.items())


ORIGINAL = Hand(
    tuple("ABCDEFG"),
    {"classmates": counted(CLASSMATES), "cites": counted(CITES), "owes": counted(OWES)},
    frozenset(enumerate(JOBS)),
    (1,) * 7,
)
ENTITY = (3, 6, 1, 0, 5, 2, 4)  # released node of each entity where entities are nodes
NODE = (2, 0, 1)  # released node of each cluster


def released(strategy: Strategy) -> tuple[Hand, tuple[int, ...]]:
    """The release that the definition asks for, with the node of each entity; partial leaves half of each out."""
    if strategy in CLUSTERED:
        return merged(strategy), tuple(NODE[c] for c in CLUSTER)
    gone = {"intact": 0, "partial": 1, "removed": 2}[strategy]

    def left(links: tuple[Any, ...]) -> tuple[Any, ...]:
        return links[: len(links) - (len(links) * gone + 1) // 2]

    rows = {
        "classmates": counted(_both(ENTITY, link) for link in left(CLASSMATES)),
        "cites": counted((ENTITY[u], ENTITY[v]) for u, v in left(CITES)),
        "owes": counted((ENTITY[u], ENTITY[v], w) for u, v, w in left(OWES)),
    }
    jobs = {(ENTITY[u], JOBS[v]) for u in range(7) for v in range(7) if CLUSTER[u] == CLUSTER[v]}
    return Hand(tuple(f"x{i}" for i in range(7)), rows, frozenset(jobs), (1,) * 7), ENTITY


def merged(strategy: Strategy) -> Hand:
    node = tuple(NODE[c] for c in CLUSTER)

    def between(
        links: tuple[Link, ...] | tuple[Weighted, ...], mutual: bool, weighted: bool
    ) -> tuple[tuple[int, int, int, float | None], ...]:
        pairs: dict[Link, Counter[Link]] = {}
        weights: dict[Link, list[float]] = {}
        for u, v, *w in links:
            ends = _both(node, (u, v)) if mutual else (node[u], node[v])
            pairs.setdefault(ends, Counter())[u, v] += 1
            weights.setdefault(ends, []).extend(w)
        many = max if strategy == "constrained" else sum
        return tuple(
            (*ends, many(entities.values()), sum(weights[ends]) / len(weights[ends]) if weighted else None)
            for ends, entities in pairs.items()
        )

    rows = {
        "classmates": between(CLASSMATES, True, False),
        "cites": between(CITES, False, False),
        "owes": between(OWES, False, True),
    }
    jobs = frozenset((node[u], JOBS[u]) for u in range(7))
    return Hand(("x", "y", "z"), rows, jobs, (2, 2, 3))


def _both(node: tuple[int, ...], link: Link) -> Link:
    u, v = node[link[0]], node[link[1]]
    return min(u, v), max(u, v)


def judged(
    strategy: Strategy,
    hand: Hand | None = None,
    node: Iterable[int] | None = None,
    original: Hand = ORIGINAL,
    k: int = 2,
    secret: str = "friends",
    percent: float | None = 50,
) -> LinksVerdict:
    made, mapping = released(strategy)
    map_ = np.array(list(mapping if node is None else node), dtype=np.int64)
    graph = (hand or made).graph()
    return verify_links(
        Released(graph, strategy),
        secret=secret,
        source=Source(original.graph(), map_),
        k=k,
        percent=percent if strategy == "partial" else None,
    )


def fails(verdict: LinksVerdict) -> set[str]:
    return {item.name for item in verdict.items if item.state == "fails"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_the_definition_asks_for_holds(strategy: Strategy) -> None:
    verdict = judged(strategy)
    assert verdict.holds, verdict
    assert {"sensitive", "clusters", "simple", "mapping", "labels", "values", "links"} == {
        item.name for item in verdict.items
    }
    assert (verdict.nodes.groups, verdict.nodes.smallest, verdict.nodes.entities) == (3, 2, 7)
    assert judged(strategy, k=3)["clusters"].state == "fails"


Rows = dict[str, tuple[tuple[int, int, int, float | None], ...]]


def changed(strategy: Strategy, change: Callable[[Rows], None]) -> Hand:
    hand, _ = released(strategy)
    rows = dict(hand.rows)
    change(rows)
    return replace(hand, rows=rows)


def one_more(rows: Rows) -> None:
    (u, v, n, w), *rest = rows["cites"] or [(0, 1, 0, None)]
    rows["cites"] = ((u, v, n + 1, w), *rest)


def one_less(rows: Rows) -> None:
    u, v, n, w = max(rows["classmates"], key=lambda row: row[2])
    rest = [row for row in rows["classmates"] if row[:2] != (u, v)]
    rows["classmates"] = (*rest, *([(u, v, n - 1, w)] if n > 1 else []))


def moved(rows: Rows) -> None:
    (u, v, n, _), *rest = rows["cites"]
    rows["cites"] = tuple(counted([*[(v, u)] * n, *((a, b) for a, b, m, _ in rest for _ in range(m))]))


def heavier(rows: Rows) -> None:
    (u, v, n, w), *rest = rows["owes"]
    assert w is not None
    rows["owes"] = ((u, v, n, w + 0.001), *rest)


def another(rows: Rows) -> None:
    rows["phones"] = ((0, 1, 1, None),)


def gone(rows: Rows) -> None:
    del rows["classmates"]


@pytest.mark.parametrize("strategy", ["intact", "cluster-edge", "constrained"])
@pytest.mark.parametrize("change", [one_more, one_less, moved, heavier, another, gone])
def test_other_links_fail(strategy: Strategy, change: Callable[[Rows], None]) -> None:
    assert fails(judged(strategy, changed(strategy, change))) == {"links"}


@pytest.mark.parametrize("change", [one_more, heavier, another])
def test_invented_links_fail_with_partial_removal(change: Callable[[Rows], None]) -> None:
    assert fails(judged("partial", changed("partial", change))) == {"links"}


def test_partial_removal_may_leave_more_out_but_not_less() -> None:
    assert judged("partial", changed("partial", one_less)).holds
    assert judged("partial", changed("partial", gone)).holds
    assert fails(judged("partial", percent=50.1)) == {"links"}  # 6 of 10 classmates would have to go
    assert judged("partial", percent=None).holds
    whole = replace(released("partial")[0], rows=released("intact")[0].rows)
    assert judged("partial", whole, percent=None).holds
    assert fails(judged("partial", whole)) == {"links"}


@given(st.integers(0, 1000), st.integers(0, 40))
@settings(max_examples=inputs(60), deadline=None)
def test_links_left_are_rounded_down(tenths: int, total: int) -> None:
    """Of n links at least the percentage rounded up must go: one link more than that leaves is refused."""
    percent = tenths / 10
    least = ceil(Fraction(tenths, 1000) * total)

    def verdict(left: int) -> LinksVerdict:
        def links(n: int) -> LinkGraph:
            found = ((0, 1, n, None),) if n else ()
            return Hand(("a", "b"), {"r": found}, frozenset(), (1, 1)).graph()

        graph = links(left)
        names = LinkGraph(np.array(["x", "y"], dtype=object), graph.observed)
        source = Source(links(total), np.array([0, 1]))
        return verify_links(Released(names, "partial"), source=source, percent=percent)

    assert verdict(total - least).holds
    if least:
        assert fails(verdict(total - least + 1)) == {"links"}


def test_links_are_left_where_all_are_removed() -> None:
    assert fails(judged("removed", changed("removed", one_more))) == {"links"}
    assert judged("removed", changed("removed", gone)).holds


def test_a_strategy_is_not_another() -> None:
    others: tuple[tuple[Strategy, Strategy], ...] = (
        ("cluster-edge", "constrained"),
        ("constrained", "cluster-edge"),
        ("intact", "partial"),
        ("intact", "removed"),
    )
    for strategy, other in others:
        assert fails(judged(strategy, released(other)[0])) == {"links"}
    hand, node = released("intact")
    source = Source(ORIGINAL.graph(), np.array(node))
    found = verify_links(Released(hand.graph(), "intact"), source=source, strategy="partial")
    assert fails(found) == {"strategy"}


@pytest.mark.parametrize("strategy", ["intact", "partial", "cluster-edge", "constrained"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cites", {"mutual": True}),
        ("owes", {"weight": None}),
        ("cites", {"weight": np.ones(20)}),
    ],
)
def test_direction_and_weights_are_kept(strategy: Strategy, name: str, change: dict[str, Any]) -> None:
    made, node = released(strategy)
    graph, source = made.graph(), Source(ORIGINAL.graph(), np.array(node))
    found = graph.observed[name]
    if change.get("weight") is not None:
        change = {"weight": change["weight"][: len(found)]}
    observed = {**graph.observed, name: replace(found, **change)}
    other = LinkGraph(graph.labels, observed, graph.attributes, graph.size)
    assert fails(verify_links(Released(other, strategy), source=source, k=2)) & {"links", "simple"}


# who is who


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_broken_mappings_fail(strategy: Strategy) -> None:
    _, node = released(strategy)
    lost = (-1, *node[1:])
    for broken in (lost, (99, *node[1:]), node[:-1], (node[3], *node[1:])):
        verdict = judged(strategy, node=broken)
        assert fails(verdict) == {"mapping"}
        assert verdict["links"].undecided
        assert verdict["values"].undecided
        assert verdict.state == "fails"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_wrong_sizes_fail(strategy: Strategy) -> None:
    hand, _ = released(strategy)
    assert fails(judged(strategy, replace(hand, size=(hand.size[0] + 1, *hand.size[1:])))) == {"mapping"}
    assert "mapping" in fails(judged(strategy, replace(hand, size=(hand.size[0] - 1, *hand.size[1:]))))


def test_entities_are_nodes_of_their_own_unless_clusters_are_nodes() -> None:
    hand = replace(merged("cluster-edge"), rows={"classmates": (), "cites": (), "owes": ()})
    node = tuple(NODE[c] for c in CLUSTER)
    assert "mapping" in fails(judged("removed", hand, node))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exchanged_entities_fail(strategy: Strategy) -> None:
    """Another mapping with the right sizes is found out by links, or where there are none by values."""
    _, node = released(strategy)
    other = (node[5], *node[1:5], node[0], node[6])
    assert fails(judged(strategy, node=other)) & {"links", "values"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_original_names_fail(strategy: Strategy) -> None:
    hand, _ = released(strategy)
    assert fails(judged(strategy, replace(hand, labels=("D", *hand.labels[1:])))) == {"labels"}


# values


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lost_and_invented_values_fail(strategy: Strategy) -> None:
    hand, node = released(strategy)
    less = {(u, job) for u, job in hand.jobs if (u, job) != (node[3], "cook")}
    more = {*hand.jobs, *((node[u], "pilot") for u in (3, 4))}
    assert "values" in fails(judged(strategy, replace(hand, jobs=frozenset(less))))
    assert fails(judged(strategy, replace(hand, jobs=frozenset(more)))) == {"values"}
    none = judged(strategy, replace(hand, jobs=frozenset()))
    assert "values" in fails(none)


@pytest.mark.parametrize("strategy", ["intact", "partial", "removed"])
def test_a_value_of_one_alone_tells_him(strategy: Strategy) -> None:
    hand, _ = released(strategy)
    assert "clusters" in fails(judged(strategy, replace(hand, jobs=hand.jobs | {(0, "pilot")})))


def test_without_attributes_nothing_but_links_is_told() -> None:
    hand, _ = released("intact")
    bare = replace(hand, jobs=frozenset())
    verdict = judged("intact", bare, original=replace(ORIGINAL, jobs=frozenset()), k=5)
    assert verdict.holds
    assert verdict.nodes.smallest == 7


# what a graph is


def test_what_is_no_graph_fails() -> None:
    made, node = released("cluster-edge")
    graph, source = made.graph(), Source(ORIGINAL.graph(), np.array(node))
    whole = graph.observed["classmates"]

    def verdict(found: Observations, labels: Iterable[str] = made.labels) -> LinksVerdict:
        other = LinkGraph(
            np.array(list(labels), dtype=object),
            {**graph.observed, "classmates": found},
            graph.attributes,
            graph.size,
        )
        return verify_links(Released(other, "cluster-edge"), source=source, k=2)

    again = np.concatenate([whole.source, whole.source[:1]]), np.concatenate([whole.target, whole.target[:1]])
    twice = Observations(*again, np.concatenate([whole.count, whole.count[:1]]), mutual=True)
    at = int(np.flatnonzero(whole.source != whole.target)[0])
    turned = replace(whole, source=whole.source.copy(), target=whole.target.copy())
    turned.source[at], turned.target[at] = whole.target[at], whole.source[at]
    for broken in (
        twice,
        turned,
        replace(whole, count=whole.count * 0),
        replace(whole, target=whole.target + 3),
    ):
        found = verdict(broken)
        assert fails(found) == {"simple"}
        assert found["links"].undecided
    assert "simple" in fails(verdict(whole, ("x", "x", "z")))


# what must not be told


def test_the_sensitive_relation_is_no_relation_and_no_attribute() -> None:
    for strategy in STRATEGIES:
        for name in ("classmates", "job"):
            assert "sensitive" in fails(judged(strategy, secret=name))


def folder(tmp_path: Path, **files: str) -> Path:
    texts = {
        "links_csv": "source,relation,target,count\nx,classmates,y,2\n",
        "links_toml": 'strategy = "intact"\nmutual = ["classmates"]\n',
        "README_txt": "Links among persons.\n",
        **files,
    }
    for name, text in texts.items():
        (tmp_path / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return tmp_path


def told(place: Path, secret: str = "friends", ordinary: Iterable[str] = ()) -> tuple[str, ...]:
    hand, _ = released("intact")
    found = verify_links(
        Released(hand.graph(), "intact"), secret=secret, folder=place, ordinary=frozenset(ordinary)
    )
    return found["sensitive"].witnesses


@pytest.mark.parametrize(
    "files",
    [
        {"links_csv": "source,relation,target,count\nx,friends,y,2\n"},
        {"links_csv": "source,relation,target,count\nx,classmates,y,2\nx,Friends,y,2\n"},
        {"links_toml": 'strategy = "intact"\nmutual = ["classmates", "friends"]\n'},
        {"links_toml": 'strategy = "intact"\n[friends]\nmutual = true\n'},
        {"links_toml": '# without friends\nstrategy = "intact"\n'},
        {"links_toml": "friends\n"},
        {"README_txt": "All but friends.\n"},
        {"friends_csv": "source,target\n"},
        {"more_json": '{"left_out": "friends"}'},
    ],
)
def test_no_file_names_the_sensitive_relation(tmp_path: Path, files: dict[str, str]) -> None:
    assert told(folder(tmp_path, **files))


def test_ordinary_words_do_not_name_it(tmp_path: Path) -> None:
    place = folder(tmp_path)
    assert not told(place)
    for layout in ("source", "relation", "count", "mutual", "strategy"):
        assert not told(place, layout)
    assert not told(place, "csv")
    assert told(place, "persons")
    assert not told(place, "persons", {"persons"})


# without the original


def test_alone_it_says_what_it_cannot_decide() -> None:
    hand, _ = released("cluster-edge")
    alone = verify_links(Released(hand.graph(), "cluster-edge"), k=2)
    assert alone.holds
    assert [what.split(":")[0] for what in alone.needs_original] == [
        "sensitive",
        "mapping",
        "labels",
        "values",
        "links",
    ]
    assert fails(verify_links(Released(hand.graph(), "cluster-edge"), k=3)) == {"clusters"}
    assert alone.as_dict()["nodes"] == {"nodes": 3, "entities": 7, "clusters": 3, "smallest": 2}
    assert "NOT DECIDABLE without the original  links" in str(alone)


# against the definition in plain Python


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, list[Link], list[int]]:
    n = draw(st.integers(1, 6))
    entity = st.integers(0, n - 1)
    links = draw(st.lists(st.tuples(entity, entity), max_size=12))
    clusters = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    numbers = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    return n, links, [numbers[c] for c in clusters]


@given(cases(), st.booleans(), st.sampled_from(CLUSTERED))
@settings(max_examples=inputs(100), deadline=None)
def test_counts_between_clusters_are_those_of_the_definition(
    case: tuple[int, list[Link], list[int]], mutual: bool, strategy: Strategy
) -> None:
    n, links, node = case
    links = [(min(e), max(e)) if mutual else e for e in links]
    name = "classmates" if mutual else "cites"
    expected: dict[Link, list[int]] = {}
    for (u, v), many in Counter(links).items():
        ends = (node[u], node[v])
        expected.setdefault((min(ends), max(ends)) if mutual else ends, []).append(many)
    many_of = max if strategy == "constrained" else sum
    rows = tuple((*ends, many_of(many), None) for ends, many in expected.items())
    size = tuple(node.count(c) for c in range(max(node) + 1))
    original = Hand(tuple(f"e{i}" for i in range(n)), {name: counted(links)}, frozenset(), (1,) * n)
    made = Hand(tuple(f"x{c}" for c in range(len(size))), {name: rows}, frozenset(), size)
    source = Source(original.graph(), np.array(node, dtype=np.int64))
    assert verify_links(Released(made.graph(), strategy), source=source, k=1).holds
    if rows:
        (a, b, many, _), *rest = rows
        worse = replace(made, rows={name: ((a, b, many + 1, None), *rest)})
        assert fails(verify_links(Released(worse.graph(), strategy), source=source, k=1)) == {"links"}
