"""Graphs of observed links: reading, clusters, the five strategies, publication, and files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.data.formats.delimited import write_csv
from kgreason.language.check.program_checker import load_text
from kgreason.links.anonymizers import (
    LinksRelease,
    apply,
    as_people,
    clusters_of,
    publish,
    read_clusters,
    removed_links,
)
from kgreason.links.arguments import mapping_of
from kgreason.links.folder import names_of, read_released, write_links
from kgreason.links.model import LinkGraph, Observations, Original, Released, observations
from kgreason.links.reading import links_of_program
from kgreason.links.reading import read as read_links
from kgreason.links.settings import Strategy
from kgreason.people.file_schema import schema_of_options
from kgreason.people.model import attribute
from tests.examples import inputs

ALL: tuple[Strategy, ...] = ("intact", "partial", "cluster-edge", "constrained", "removed")
Content = dict[str, Counter[Any]]


FILES = tuple(names_of("csv").values())


class Notes:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...
    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        self.notes.append(message)


def texts(*some: str) -> Any:
    return np.array([*some, None], dtype=object)[:-1]


def links(*pairs: tuple[int, int], mutual: bool = True, weight: list[float] | None = None) -> Observations:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    weights = None if weight is None else np.array(weight)
    return observations(ends[:, 0], ends[:, 1], mutual=mutual, weight=weight and weights)


def content(graph: LinkGraph, name: Callable[[int], object] | None = None) -> Content:
    """Links of each relation as (ends, weight) with their number; nodes by label, or as `name` says."""
    called = name or (lambda v: graph.labels[v])
    found: Content = {}
    for relation, o in graph.observed.items():
        weights = [None] * len(o) if o.weight is None else o.weight.tolist()
        found[relation] = Counter()
        for s, t, count, w in zip(
            o.source.tolist(), o.target.tolist(), o.count.tolist(), weights, strict=True
        ):
            ends = (called(s), called(t))
            key = tuple(sorted(ends, key=repr)) if o.mutual else ends
            assert (key, w) not in found[relation]
            found[relation][key, w] = count
    return found


def values(graph: LinkGraph) -> set[tuple[str, str, str]]:
    return {
        (graph.labels[v], name, a.domain[d])
        for name, a in graph.attributes.items()
        for v, d in zip(a.user.tolist(), a.value.tolist(), strict=True)
    }


# Ten entities, eight links of three kinds, three clusters, as in Figure 1 of the paper, whose picture is not in its
# text: classes (without direction) 0-3 twice, 1-3, 4-5, 0-1; groups 3-6; calls (with direction) 6->0, 8->9.
CLUSTERS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])


def ten() -> LinkGraph:
    return LinkGraph(
        texts(*(f"student {i}" for i in range(10))),
        {
            "classes": links((0, 3), (3, 0), (3, 1), (4, 5), (0, 1)),
            "groups": links((3, 6)),
            "calls": links((6, 0), (8, 9), mutual=False),
        },
        {"year": attribute("numeric", np.arange(10), texts(*"1123344555"))},
    )


def test_intact_links_are_those_of_the_original() -> None:
    graph, node = apply(ten(), CLUSTERS, "intact", 0, np.random.default_rng(1))
    assert content(graph) == content(ten())
    assert node.tolist() == list(range(10))
    assert graph.size.tolist() == [1] * 10
    years = {v: {y for u, _, y in values(graph) if u == f"student {v}"} for v in (0, 3, 9)}
    assert years == {0: {"1", "2"}, 3: {"3", "4"}, 9: {"4", "5"}}


def test_half_of_the_links_of_each_relation_go() -> None:
    graph, _ = apply(ten(), CLUSTERS, "partial", 50, np.random.default_rng(1))
    assert {name: o.total for name, o in graph.observed.items()} == {"classes": 2, "groups": 0, "calls": 1}
    for name, found in content(graph).items():
        assert found <= content(ten())[name]


def test_cluster_edges_are_counted_also_within_a_cluster() -> None:
    graph, node = apply(ten(), CLUSTERS, "cluster-edge", 0, np.random.default_rng(1))
    assert node.tolist() == CLUSTERS.tolist()
    assert graph.size.tolist() == [3, 3, 4]
    assert content(graph, int) == {
        "classes": {((0, 1), None): 3, ((1, 1), None): 1, ((0, 0), None): 1},
        "groups": {((1, 2), None): 1},
        "calls": {((2, 0), None): 1, ((2, 2), None): 1},
    }
    assert {(graph.labels.tolist().index(u), y) for u, _, y in values(graph)} == {
        *((0, "1"), (0, "2"), (1, "3"), (1, "4"), (2, "4"), (2, "5"))
    }


def test_constrained_edges_are_as_many_as_the_most_between_two_entities() -> None:
    graph, _ = apply(ten(), CLUSTERS, "constrained", 0, np.random.default_rng(1))
    assert content(graph, int) == {
        "classes": {((0, 1), None): 2, ((1, 1), None): 1, ((0, 0), None): 1},
        "groups": {((1, 2), None): 1},
        "calls": {((2, 0), None): 1, ((2, 2), None): 1},
    }


def test_no_link_is_left_if_they_are_removed() -> None:
    graph, _ = apply(ten(), CLUSTERS, "removed", 0, np.random.default_rng(1))
    assert content(graph) == {"classes": {}, "groups": {}, "calls": {}}
    assert graph.n == 10


def test_weights_of_clusters_are_means_over_their_links() -> None:
    weights = [0.1, 0.1, 0.3, 0.7]
    own = observations(
        np.array([0, 0, 1, 2]),
        np.array([2, 2, 3, 3]),
        count=np.array([1, 2, 1, 1]),
        weight=np.array(weights),
    )
    graph = LinkGraph(texts(*"abcd"), {"own": own})
    found, _ = apply(graph, np.array([0, 0, 1, 1]), "cluster-edge", 0, np.random.default_rng(1))
    made = found.observed["own"]
    assert (made.source.tolist(), made.target.tolist(), made.count.tolist()) == ([0, 1], [1, 1], [4, 1])
    assert made.weight is not None
    assert made.weight.tolist() == [pytest.approx(0.15), 0.7]
    constrained = apply(graph, np.array([0, 0, 1, 1]), "constrained", 0, np.random.default_rng(1))[0]
    assert constrained.observed["own"].count.tolist() == [3, 1]
    assert constrained.observed["own"].weight.tolist() == made.weight.tolist()  # type: ignore[union-attr]


def test_parallel_links_of_several_weights_are_links_of_one_pair() -> None:
    graph = LinkGraph(
        texts(*"ab"), {"own": links((0, 1), (0, 1), (1, 0), mutual=False, weight=[0.2, 0.4, 0.9])}
    )
    found, _ = apply(graph, np.arange(2), "constrained", 0, np.random.default_rng(1))
    assert found.observed["own"].count.tolist() == [2, 1]
    assert found.observed["own"].weight.tolist() == [pytest.approx(0.3), 0.9]  # type: ignore[union-attr]


def test_each_of_several_links_may_go() -> None:
    """A pair with nine links and a pair with one: the one goes as often as each of the nine."""
    graph = LinkGraph(texts(*"abc"), {"r": links(*[(0, 1)] * 9, (1, 2))})
    rng = np.random.default_rng(3)
    gone = sum(len(apply(graph, np.arange(3), "partial", 10, rng)[0].observed["r"]) == 1 for _ in range(2000))
    assert abs(gone / 2000 - 0.1) < 4 * math.sqrt(0.09 / 2000)


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        ([0, -1], "in no cluster"),
        ([0, 2], "not those of this graph"),
        ([0], "not those of this graph"),
    ],
)
def test_clusters_of_another_graph_are_refused(clusters: list[int], said: str) -> None:
    graph = LinkGraph(texts("a", "b"), {"r": links((0, 1))})
    with pytest.raises(AnonymizationError, match=said):
        apply(graph, np.array(clusters), "intact", 0, np.random.default_rng(1))


@pytest.mark.parametrize("weights", [[1e308, 1.7e308], [-1e308, 1.7e308], [1e308, 1e308]])
def test_weights_whose_mean_cannot_be_taken_are_refused(weights: list[float]) -> None:
    graph = LinkGraph(texts(*"abcd"), {"own": links((0, 2), (1, 3), mutual=False, weight=weights)})
    both = np.array([0, 0, 1, 1])
    with pytest.raises(AnonymizationError, match="too large to take their mean"):
        apply(graph, both, "cluster-edge", 0, np.random.default_rng(1))
    left, _ = apply(graph, both, "intact", 0, np.random.default_rng(1))
    assert content(left) == content(graph)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[LinkGraph, Any]:
    """Small graphs with relations of all kinds and attributes, and clusters of their entities."""
    n = draw(st.integers(1, 7))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    some = st.lists(ends, max_size=14) if n > 1 else st.just([])
    observed = {}
    for name in draw(st.lists(st.sampled_from(["hates", 'höchst,"ä\n', "own", "x y"]), unique=True)):
        pairs = draw(some)
        weight = st.lists(st.sampled_from([0.1, 0.3, 1 / 3, 1e-9]), min_size=len(pairs), max_size=len(pairs))
        given = draw(weight) if pairs and draw(st.booleans()) else None
        observed[name] = links(*pairs, mutual=draw(st.booleans()), weight=given)
    attributes = {}
    for name, domain in (("age", ("1", "2.5", "30")), ("job", ("cook", 'née, "X"'))):
        owner = draw(st.lists(st.tuples(st.integers(0, n - 1), st.sampled_from(domain)), max_size=9))
        if owner:
            kind: Any = "numeric" if name == "age" else "categorical"
            attributes[name] = attribute(kind, np.array([v for v, _ in owner]), texts(*(x for _, x in owner)))
    labels = texts(*(f"person {i}" for i in range(n)))
    clusters = np.unique(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), return_inverse=True)[1]
    return LinkGraph(labels, observed, attributes), clusters.astype(np.int64)


@given(graphs(), st.permutations(range(7)))
@settings(max_examples=inputs(40), deadline=None)
def test_renumbered_graphs_are_the_same(given: tuple[LinkGraph, Any], order: list[int]) -> None:
    graph, _ = given
    numbers = np.array([v for v in order if v < graph.n], dtype=np.int64)
    other = graph.renumbered(numbers)
    assert other.labels.tolist() == graph.labels[numbers].tolist()
    assert content(other) == content(graph)
    assert values(other) == values(graph)


def single(graph: LinkGraph) -> dict[str, Counter[tuple[int, int]]]:
    """Number of links of each pair of nodes, in order where the relation has no direction."""
    found: dict[str, Counter[tuple[int, int]]] = {}
    for name, o in graph.observed.items():
        found[name] = Counter()
        for s, t, count in zip(o.source.tolist(), o.target.tolist(), o.count.tolist(), strict=True):
            found[name][(min(s, t), max(s, t)) if o.mutual else (s, t)] += count
    return found


@given(graphs())
@settings(max_examples=inputs(150), deadline=None)
def test_counts_between_clusters_are_sums_or_the_most(given: tuple[LinkGraph, Any]) -> None:
    graph, clusters = given
    rng = np.random.default_rng(1)
    summed, most = (single(apply(graph, clusters, s, 0, rng)[0]) for s in ("cluster-edge", "constrained"))  # type: ignore[arg-type]
    for name, found in single(graph).items():
        sums: Counter[tuple[int, int]] = Counter()
        largest: Counter[tuple[int, int]] = Counter()
        for (s, t), count in found.items():
            pair = int(clusters[s]), int(clusters[t])
            pair = (min(pair), max(pair)) if graph.observed[name].mutual else pair
            sums[pair] += count
            largest[pair] = max(largest[pair], count)
        assert summed[name] == sums
        assert most[name] == largest


@given(graphs(), st.sampled_from([0, 0.1, 12.5, 33.3, 50, 99.9, 100]), st.integers(0, 9))
@settings(max_examples=inputs(150), deadline=None)
def test_exactly_so_many_links_go(given: tuple[LinkGraph, Any], percent: float, seed: int) -> None:
    graph, clusters = given
    left, _ = apply(graph, clusters, "partial", percent, np.random.default_rng(seed))
    for name, found in graph.observed.items():
        gone = math.ceil(Fraction(str(percent)) / 100 * found.total)
        assert left.observed[name].total == found.total - gone
        assert content(left)[name] <= content(graph)[name]


def test_shares_are_taken_as_they_are_written() -> None:
    assert [removed_links(1000, p) for p in (0.1, 0.7, 14.3, 1e-9)] == [1, 7, 143, 1]


@given(graphs())
@settings(max_examples=inputs(60), deadline=None)
def test_clusters_of_one_change_nothing_but_names(given: tuple[LinkGraph, Any]) -> None:
    graph, _ = given
    rng = np.random.default_rng(1)
    alone = clusters_of(graph, "random", 1, rng)
    one, other = (apply(graph, alone, s, 0, rng) for s in ("intact", "cluster-edge"))  # type: ignore[arg-type]
    assert other[1].tolist() == one[1].tolist()
    once = {name: Counter(pairs) for name, pairs in single(one[0]).items()}
    assert single(other[0]) == once == single(graph)
    renamed = {(other[0].labels.tolist().index(v), a, x) for v, a, x in values(other[0])}
    assert renamed == {(one[0].labels.tolist().index(v), a, x) for v, a, x in values(one[0])}


@given(graphs(), st.sampled_from(ALL), st.booleans())
@settings(max_examples=inputs(100), deadline=None)
def test_published_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, given: tuple[LinkGraph, Any], strategy: Strategy, seeded: bool
) -> None:
    graph, clusters = given
    rng = np.random.default_rng(5)
    made, node = apply(graph, clusters, strategy, 40, rng)
    release = publish(made, strategy, node, graph.labels.tolist(), rng if seeded else None)
    shown = release.released.graph
    assert set(shown.labels).isdisjoint(graph.labels)
    back = {int(release.mapping[v]): made.labels[node[v]] for v in range(graph.n)}
    assert content(shown, back.__getitem__) == content(made)
    number = {label: i for i, label in enumerate(shown.labels)}
    assert {(back[number[v]], a, x) for v, a, x in values(shown)} == values(made)
    sizes = np.bincount(release.mapping, minlength=shown.n)
    assert shown.size.tolist() == sizes.tolist()
    folder = tmp_path_factory.mktemp("release")
    write_links(folder, release.released)
    assert sorted(p.name for p in folder.iterdir()) == sorted(FILES)
    read = read_released(folder)
    again = tmp_path_factory.mktemp("again")
    write_links(again, read)
    assert all((again / file).read_bytes() == (folder / file).read_bytes() for file in FILES)
    assert read.strategy == strategy
    assert content(read.graph) == content(shown)
    assert values(read.graph) == values(shown)
    assert dict(zip(read.graph.labels, read.graph.size, strict=True)) == dict(
        zip(shown.labels, shown.size, strict=True)
    )
    assert {n: (o.mutual, o.weight is None) for n, o in read.graph.observed.items()} == {
        n: (o.mutual, o.weight is None) for n, o in shown.observed.items()
    }
    assert {n: a.kind for n, a in read.graph.attributes.items()} == {
        n: a.kind for n, a in shown.attributes.items()
    }


def test_files_tell_nothing_of_the_order_of_nodes(tmp_path: Path) -> None:
    """The same release with its nodes numbered otherwise is the same bytes."""
    graph = ten()
    order = np.random.default_rng(2).permutation(10)
    place = np.argsort(order)
    moved = LinkGraph(
        graph.labels[order],
        {
            name: observations(place[o.source], place[o.target], count=o.count, mutual=o.mutual)
            for name, o in reversed(graph.observed.items())
        },
        {"year": attribute("numeric", place, texts(*"1123344555"))},
    )
    for name, some in (("one", graph), ("other", moved)):
        write_links(tmp_path / name, Released(some, "intact"))
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def written(folder: Path) -> LinksRelease:
    made, node = apply(ten(), CLUSTERS, "cluster-edge", 0, np.random.default_rng(1))
    release = publish(made, "cluster-edge", node, ten().labels.tolist(), np.random.default_rng(1))
    write_links(folder, release.released)
    return release


def edited(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))


def swap(line: str) -> str:
    source, relation, target, count = line.strip().split(",")
    return f"{target},{relation},{source},{count}\n"


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("links.csv", lambda rows: [*rows, rows[1]], r"links\.csv:8: a repeated row"),
        ("links.csv", lambda rows: [r.replace("calls", "likes") for r in rows], "relation 'likes' is not in"),
        ("links.csv", lambda rows: [*rows, "x,calls,y,1\n"], r"links\.csv:8: the node 'x' is not in nodes.csv"),
        ("links.csv", lambda rows: [*rows[:-1], rows[-1].replace(",1", ",0")], r":7: the count is '0'"),
        ("links.csv", lambda rows: [*rows[:-1], rows[-1].replace(",1", ",1.5")], r":7: the count is '1.5'"),
        ("links.csv", lambda rows: [rows[0].replace("count", "n"), *rows[1:]], r"links\.csv:1: the names of col"),
        ("links.csv", lambda rows: [*rows[:-1], rows[-1].rstrip()], "the last line has no end"),
        ("links.csv", lambda rows: [rows[0], *map(swap, rows[1:])], "not in the order of their names"),
        ("links.csv", lambda rows: ["source,relation,target,count,weight\n"], "the names of columns must be"),
        ("nodes.csv", lambda rows: [*rows, rows[1]], r"nodes\.csv:5: the node .* stands twice"),
        ("nodes.csv", lambda rows: [*rows[:-1], "z,0\n"], r"nodes\.csv:4: the size is '0'"),
        ("nodes.csv", lambda rows: rows[:-1], "is not in nodes.csv"),
        ("attributes.csv", lambda rows: [*rows, rows[-1]], r"attributes\.csv:8: a repeated row"),
        ("attributes.csv", lambda rows: [r.replace("year", "job") for r in rows], "attribute 'job' is not in"),
        ("attributes.csv", lambda rows: [*rows[:-1], rows[-1].split(",")[0] + ",year,x\n"], "'x' is no number"),
        ("attributes.csv", lambda rows: [*rows[:-1], rows[-1].split(",")[0] + ",year,\n"], "there is no value"),
        ("links.toml", lambda rows: ['strategy = "none"\n', *rows[1:]], r"links\.toml:1: unknown strategy"),
        ("links.toml", lambda rows: [*rows, "more = 1\n"], r"links\.toml:\d+: unknown key 'more'"),
        ("links.toml", lambda rows: [*rows, "oops\n"], r"links\.toml:\d+: not TOML"),
        ("links.toml", lambda rows: rows[1:], "does not say strategy"),
        ("links.toml", lambda rows: [r.replace("mutual = [", 'mutual = ["calls", ') for r in rows], "is in mutual"),
        ("links.toml", lambda rows: [r.replace("weighted = [", 'weighted = ["q"') for r in rows], "'q' is no rel"),
        ("links.toml", lambda rows: [r.replace("directed = [", "directed = [1, ") for r in rows], "a list of names"),
        ("links.toml", lambda rows: [r.replace("weighted = [", 'weighted = ["calls"') for r in rows], "weight"),
        ("secret.csv", None, "none of the files of a release of links"),
    ],
)  # fmt: skip
def test_changed_releases_are_refused(tmp_path: Path, file: str, change: Any, said: str) -> None:
    written(tmp_path)
    if change is None:
        (tmp_path / file).touch()
    else:
        edited(tmp_path / file, change)
    with pytest.raises(DataError, match=said) as error:
        read_released(tmp_path)
    assert error.value.hint


def test_weights_stand_where_they_belong(tmp_path: Path) -> None:
    both = LinkGraph(texts(*"ab"), {"own": links((0, 1), mutual=False, weight=[0.5]), "sits": links((0, 1))})
    write_links(tmp_path, Released(both, "intact"))
    rows = (tmp_path / "links.csv").read_text()
    assert rows == "source,relation,target,count,weight\na,own,b,1,0.5\na,sits,b,1,\n"
    for old, new, said in (
        ("1,0.5", "1,", "there is no weight"),
        ("b,1,\n", "b,1,0.5\n", "a weight of a relation that has none"),
        ("0.5", "nan", "'nan' is no number"),
    ):
        (tmp_path / "links.csv").write_text(rows.replace(old, new))
        with pytest.raises(DataError, match=said):
            read_released(tmp_path)


def test_missing_folders_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such release folder"):
        read_released(tmp_path / "nowhere")
    written(tmp_path)
    (tmp_path / "links.toml").unlink()
    with pytest.raises(DataError, match=r"links\.toml: there is no such file"):
        read_released(tmp_path)


def test_blank_names_are_not_written(tmp_path: Path) -> None:
    graph = LinkGraph(texts("a", "b"), {" ": links((0, 1))})
    with pytest.raises(ReleaseError, match="a relation has a blank name"):
        write_links(tmp_path, Released(graph, "intact"))


def test_mapping_is_read_back(tmp_path: Path) -> None:
    release, original = written(tmp_path / "release"), ten()
    shown = release.released.graph
    secret = tmp_path / "mapping.csv"
    write_csv(secret, ("original", "released"), (original.labels, shown.labels[release.mapping]))
    assert mapping_of(tmp_path, original, shown).tolist() == release.mapping.tolist()
    whole = secret.read_text()
    for change, said in (
        (whole + f"Zoe,{shown.labels[0]}\n", "'Zoe' is no entity of the original"),
        (whole.replace(shown.labels[0], "zzz"), "is mapped to 'zzz', which the release does not contain"),
        (whole.replace("student 3,", "student 4,", 1), "stands twice"),
        ("\n".join(whole.splitlines()[:-2]) + "\n", r"'student 8' has no row \(2 such of 10 entities\)"),
    ):
        secret.write_text(change)
        with pytest.raises(ReleaseError, match=said):
            mapping_of(secret, original, shown)


# reading


def school(folder: Path, *, classes: str = "a,b\nb,a\nb,a\nc,d\nd,d\n", extra: str = "") -> Path:
    files = {
        "classes.csv": classes,
        "calls.csv": "a,c\na,c\nc,a\n",
        "friends.csv": "a,d\nd,a\nb,c\nb,c\n",
        "people.csv": "name,year,room\na,1,x\nb,2,x\nc,2,y\nd,3,y\n",
        "people.toml": "\n".join(
            [
                *('[[tables]]\nfiles = ["people.csv"]\nid = "name"',),
                *(
                    f'[[triples]]\nfiles = ["{r}.csv"]\nrelation = "{r}"'
                    for r in ("classes", "calls", "friends")
                ),
                *('[kinds]\nnumeric = ["year"]\nrelations = ["calls"]\nmutual = ["classes", "friends"]',),
                extra,
            ]
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / "people.toml"


def test_repeated_rows_are_several_links(tmp_path: Path) -> None:
    notes = Notes()
    found = read_links(school(tmp_path), "friends", notes)
    assert found.graph.labels.tolist() == ["a", "b", "c", "d"]
    assert content(found.graph) == {
        # b, a stands twice and a, b once: both directions of the same links, so there are two
        "classes": {(("a", "b"), None): 2, (("c", "d"), None): 1},
        "calls": {(("a", "c"), None): 2, (("c", "a"), None): 1},
    }
    secret = found.sensitive
    assert (secret.name, secret.mutual) == ("friends", True)
    assert (secret.source.tolist(), secret.target.tolist()) == ([0, 1], [3, 2])
    assert set(found.graph.attributes) == {"year", "room"}
    assert found.graph.attributes["year"].kind == "numeric"
    assert any(note.startswith("links from a user to itself") and "classes 1" in note for note in notes.notes)
    assert not any("completed" in note for note in notes.notes)


def test_sensitive_links_with_a_direction(tmp_path: Path) -> None:
    secret = read_links(school(tmp_path), "calls").sensitive
    assert (secret.source.tolist(), secret.target.tolist(), secret.mutual) == ([0, 2], [2, 0], False)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=25))
@settings(max_examples=inputs(40), deadline=None)
def test_counts_of_files(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]]) -> None:
    folder = tmp_path_factory.mktemp("files")
    lines = [f"p{s},{r},p{t}\n" for r in ("m", "d") for s, t in rows]
    (folder / "links.csv").write_text("".join(lines) + "p0,s,p1\n")
    schema = schema_of_options(
        [f"{folder / 'links.csv'}?columns=user,relation,target"], relations=["d", "s"], mutual=["m"]
    )
    counted = Counter(rows)
    found = content(read_links(schema, "s").graph)
    expected = {((f"p{s}", f"p{t}"), None): count for (s, t), count in counted.items() if s != t}
    assert found["d"] == expected
    pairs = {(min(pair), max(pair)) for pair in counted if pair[0] != pair[1]}
    assert found["m"] == {((f"p{s}", f"p{t}"), None): max(counted[s, t], counted[t, s]) for s, t in pairs}


@pytest.mark.parametrize(
    ("sensitive", "said", "hint"),
    [
        ("freinds", "no relation 'freinds'", "did you mean 'friends'"),
        ("q", "no relation 'q'", "there are classes, calls, friends"),
        ("year", "is a numeric attribute, not a relation", "relations are classes"),
        ("room", "is a categorical attribute, not a relation", "relations are classes"),
    ],
)
def test_what_cannot_be_sensitive_is_refused(tmp_path: Path, sensitive: str, said: str, hint: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        read_links(school(tmp_path), sensitive)
    assert hint in str(error.value)


def test_something_else_must_be_observed(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b\n")
    schema = schema_of_options([f"{tmp_path / 'f.csv'}?relation=friends"], mutual=["friends"])
    with pytest.raises(DataError, match="besides the sensitive 'friends' there is no relation"):
        read_links(schema, "friends")
    ignored = schema_of_options([f"{tmp_path / 'f.csv'}?relation=friends"], ignore=["friends"])
    with pytest.raises(DataError, match="'friends', which is to be sensitive, is ignored"):
        read_links(ignored, "friends")


def test_relations_that_tell_the_sensitive_one_are_named(tmp_path: Path) -> None:
    notes = Notes()
    read_links(school(tmp_path, classes="d,a\nc,b\nc,b\n"), "friends", notes)
    assert [note for note in notes.notes if note.startswith("classes links nearly the same")]
    notes = Notes()
    read_links(school(tmp_path), "friends", notes)
    assert not [note for note in notes.notes if "nearly the same" in note]


def test_entities_that_only_the_sensitive_relation_names_are_left_out(tmp_path: Path) -> None:
    """They would be nodes without links: each would tell that it has sensitive ones."""
    notes = Notes()
    schema = school(tmp_path, classes="a,b\nh,h\n")  # of h nothing is left but that somebody named it
    with (tmp_path / "people.csv").open("a") as stream:
        stream.write("listed,,\n")
    (tmp_path / "friends.csv").write_text("e,f\nf,e\ne,a\nlisted,b\nh,a\n")
    found = read_links(schema, "friends", notes)
    assert found.graph.labels.tolist() == ["a", "b", "c", "d", "listed", "h"]
    secret = found.sensitive
    assert (secret.source.tolist(), secret.target.tolist()) == ([0, 1], [5, 4])
    assert [
        n for n in notes.notes if n.startswith("of 'e', 'f' nothing is known but friends: 2 entities and 2 l")
    ]
    quiet = Notes()
    (tmp_path / "friends.csv").write_text("h,a\n")
    read_links(schema, "friends", quiet)
    assert not [note for note in quiet.notes if "nothing is known" in note]


def test_entities_that_only_sensitive_edges_name_are_left_out() -> None:
    program = load_text('@edge("own"). @edge("sits"). @node("company"). control(X, Y) :- own(X, Y).')
    own = [("Z", "A"), ("Z", "Y"), ("Z", "Z"), ("B", "A"), ("L", "B"), ("Z", "A")]
    data = {"own": own, "sits": [("A", "B"), ("C", "C")], "company": [("L",)]}
    notes = Notes()
    found = links_of_program(program, data, "own", notes)
    assert found.graph.labels.tolist() == ["L", "A", "B", "C"]
    secret = found.sensitive
    assert (secret.source.tolist(), secret.target.tolist()) == ([0, 2], [2, 1])
    assert [
        n for n in notes.notes if n.startswith("of 'Z', 'Y' nothing is known but own: 2 entities and 2 links")
    ]


@given(st.permutations(range(6)), st.booleans())
@settings(max_examples=inputs(40), deadline=None)
def test_numbers_of_entities_do_not_depend_on_sensitive_rows(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], first: bool
) -> None:
    folder = tmp_path_factory.mktemp("files")
    open_rows = ["a,r,b", "c,r,d", "e,r,f"]
    secret = [f"{'abcdef'[order[i]]},s,{'abcdef'[order[i + 1]]}" for i in (0, 2, 4)]
    rows = [*secret, *open_rows] if first else [open_rows[0], *secret, *open_rows[1:]]
    (folder / "links.csv").write_text("\n".join([*rows, ""]))
    schema = schema_of_options(
        [f"{folder / 'links.csv'}?columns=user,relation,target"], relations=["r"], mutual=["s"]
    )
    assert read_links(schema, "s").graph.labels.tolist() == list("acebdf")
    pairs = [tuple(row.split(",")[::2]) for row in secret]
    data = {"s": pairs, "r": [tuple(row.split(",")[::2]) for row in open_rows]}
    program = load_text('@edge("s"). @edge("r"). p(X, Y) :- s(X, Y).')
    assert links_of_program(program, data, "s").graph.labels.tolist() == list("abcdef")


@pytest.mark.parametrize("clustering", ["vac", "degrees", "k-means"])
def test_clusters_do_not_depend_on_the_numbers_of_entities(clustering: str) -> None:
    """Friends beside one another in a file of entities that are all alike share a cluster as often as any two."""
    n, tries = 24, 30
    ring = links(*((i, (i + 5) % n) for i in range(n)))
    graph = LinkGraph(texts(*map(str, range(n))), {"knows": ring})
    friends = np.arange(0, n, 2)
    rng = np.random.default_rng(11)
    together, expected = 0, 0.0
    for _ in range(tries):
        found = clusters_of(graph, clustering, 3, rng)
        size = np.bincount(found)
        together += int((found[friends] == found[friends + 1]).sum())
        expected += len(friends) * float((size * (size - 1)).sum()) / (n * (n - 1))
    assert abs(together - expected) < 4 * math.sqrt(expected)


def test_relations_that_run_both_ways_are_named(tmp_path: Path) -> None:
    rows = [(i, (i + 1) % 12) for i in range(12)]
    (tmp_path / "r.csv").write_text("".join(f"{s},r,{t}\n{t},r,{s}\n" for s, t in rows) + "1,s,5\n")
    notes = Notes()
    file = f"{tmp_path / 'r.csv'}?columns=user,relation,target"
    read_links(schema_of_options([file], relations=["r", "s"]), "s", notes)
    assert [note for note in notes.notes if note.startswith("each link of r has its reverse")]


# rule files

OWN = [("A", "B", 0.6), ("A", "B", 0.2), ("A", "C", 0.2), ("B", "C", 0.4), ("B", "B", 0.1)]
CONTROL = """
@edge("own"). @edge("sits").
control(X, Y) :- own(X, Y, W), W > 0.5.
control(X, Y) :- own(X, Y, W), control(X, Z), own(Z, Y, V), W + V > 0.5, own(X, Y, W).
"""


def test_sensitive_links_may_follow_by_rules() -> None:
    data = {"own": OWN, "sits": [("p", "A"), ("p", "B")]}
    found = links_of_program(load_text(CONTROL), data, "control")
    graph, secret = found.graph, found.sensitive
    assert content(graph) == {
        "own": {
            (("A", "B"), 0.6): 1,
            (("A", "B"), 0.2): 1,
            (("A", "C"), 0.2): 1,
            (("B", "C"), 0.4): 1,
        },
        "sits": {(("p", "A"), None): 1, (("p", "B"), None): 1},
    }
    pairs = {(graph.labels[s], graph.labels[t]) for s, t in zip(secret.source, secret.target, strict=True)}
    assert pairs == {("A", "B"), ("A", "C")}
    assert not secret.mutual


def test_sensitive_edges_are_not_observed() -> None:
    data = {"own": OWN, "sits": [("p", "A"), ("p", "B"), ("p", "C")]}
    notes = Notes()
    found = links_of_program(load_text(CONTROL), data, "own", notes)
    assert set(found.graph.observed) == {"sits"}
    assert len(found.sensitive) == 3  # A B once, and no loop
    assert [note for note in notes.notes if note.startswith("own: 1 pairs of an entity and itself")]


@pytest.mark.parametrize(
    ("sensitive", "said"),
    [
        ("contrl", "no predicate 'contrl'"),
        ("size", "holds no pairs of entities"),
        ("three", "has 3 arguments"),
    ],
)
def test_predicates_that_hold_no_links_are_refused(sensitive: str, said: str) -> None:
    text = CONTROL + "size(X, W) :- own(X, Y, W). three(X, Y, W) :- own(X, Y, W)."
    with pytest.raises(DataError, match=said) as error:
        links_of_program(load_text(text), {"own": OWN, "sits": [("p", "A")]}, sensitive)
    assert error.value.hint


def test_a_program_must_observe_something() -> None:
    with pytest.raises(DataError, match="besides the sensitive 'own' there are no edges"):
        links_of_program(load_text('@edge("own"). p(X) :- own(X, Y, W).'), {"own": OWN}, "own")


# clusters


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 5))
@settings(max_examples=inputs(80), deadline=None)
def test_random_clusters_have_k_each(n: int, k: int, seed: int) -> None:
    graph = LinkGraph(texts(*map(str, range(n))), {})
    if k > n:
        with pytest.raises(AnonymizationError, match=f"k is {k}, and the graph has {n} "):
            clusters_of(graph, "random", k, np.random.default_rng(seed))
        return
    size = np.bincount(clusters_of(graph, "random", k, np.random.default_rng(seed)))
    assert len(size) == n // k
    assert size.min() >= k
    assert size.max() - size.min() <= 1


def test_random_clusters_are_random() -> None:
    graph = LinkGraph(texts(*"abcd"), {})
    rng = np.random.default_rng(7)
    found = Counter(int(c[0] == c[1]) for c in (clusters_of(graph, "random", 2, rng) for _ in range(900)))
    assert abs(found[1] / 900 - 1 / 3) < 4 * math.sqrt(2 / 9 / 900)


def crowd() -> LinkGraph:
    rng = np.random.default_rng(4)
    years = texts(*(str(1 + i // 5) for i in range(20)))
    ends = rng.integers(0, 10, 30), rng.integers(10, 20, 30)
    nothing = attribute("categorical", np.array([], dtype=np.int64), texts())
    return LinkGraph(
        texts(*(f"p{i}" for i in range(20))),
        {"classes": observations(*ends, mutual=True), "none": links()},
        {"year": attribute("numeric", np.arange(20), years), "room": nothing},
    )


@pytest.mark.parametrize("clustering", ["vac", "degrees", "k-means", "k-medoids", "hdbscan", "DBSCAN"])
def test_clusterings_of_people_leave_nobody_out(clustering: str) -> None:
    found = clusters_of(crowd(), clustering, 4, np.random.default_rng(1))
    size = np.bincount(found)
    assert found.min() == 0
    assert size.min() >= 4


def test_clusterings_see_values() -> None:
    """Five entities a year and no links: the clusters are the years."""
    graph = LinkGraph(crowd().labels, {}, crowd().attributes)
    found = clusters_of(graph, "vac", 5, np.random.default_rng(1))
    assert found.tolist() == np.repeat(np.arange(4), 5).tolist()


def test_clusterings_see_each_pair_once() -> None:
    people = as_people(crowd())
    assert set(people.relations) == {"classes"}
    assert set(people.attributes) == {"year"}
    classes = people.relations["classes"]
    assert classes.mutual
    assert len(classes) == 2 * len(crowd().observed["classes"])


@pytest.mark.parametrize(
    ("clustering", "k", "said"),
    [
        ("random", 21, "k is 21, and the graph has 20 entities"),
        ("vac", 0, "k must be at least 1"),
        ("HDBSCAN", 20, "found no cluster of 20"),
        ("best", 2, "there is no clustering best"),
    ],
)
def test_clusters_that_cannot_be_are_refused(clustering: str, k: int, said: str) -> None:
    with pytest.raises(AnonymizationError, match=said):
        clusters_of(crowd(), clustering, k, np.random.default_rng(1))


def test_clusterings_need_something_to_go_by() -> None:
    bare = LinkGraph(crowd().labels, {"none": links()})
    with pytest.raises(AnonymizationError, match="neither attributes nor links"):
        clusters_of(bare, "vac", 2, np.random.default_rng(1))
    valued = LinkGraph(crowd().labels, {"none": links()}, crowd().attributes)
    with pytest.raises(AnonymizationError, match="clusters entities by links"):
        clusters_of(valued, "degrees", 2, np.random.default_rng(1))


@pytest.mark.parametrize("title", ["", "user,cluster\n"])
def test_clusters_of_a_table(tmp_path: Path, title: str) -> None:
    graph = LinkGraph(texts("a", "b", "c,d"), {})
    path = tmp_path / "clusters.csv"
    path.write_text(title + '"c,d",x\nb,y\na,x\n')
    assert read_clusters(path, graph).tolist() == [0, 1, 0]


def test_an_entity_may_be_called_user(tmp_path: Path) -> None:
    path = tmp_path / "clusters.csv"
    path.write_text("user,cluster\nb,cluster\n")
    assert read_clusters(path, LinkGraph(texts("user", "b"), {})).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alfa,1\nbeta,1\nalfa,2\n", r":3: user 'alfa' has a cluster already"),
        ("alfa,1\nbetta,1\n", r":2: there is no user 'betta'"),
        ("alfa,1\n", "no cluster for 'beta'"),
        ("alfa,1\nbeta, \n", r":2: there is no cluster of 'beta'"),
        ("alfa,1,2\n", "not the 2 of user, cluster"),
    ],
)
def test_wrong_tables_of_clusters_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "clusters.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as error:
        read_clusters(path, LinkGraph(texts("alfa", "beta"), {}))
    assert error.value.hint


# the secret


def released(original: Original, folder: Path, strategy: Strategy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters = clusters_of(original.graph, "vac", 2, rng)
    made, node = apply(original.graph, clusters, strategy, 50, rng)
    write_links(folder, publish(made, strategy, node, original.graph.labels.tolist(), rng).released)


@pytest.mark.parametrize("strategy", ALL)
def test_the_sensitive_relation_shapes_no_file(tmp_path: Path, strategy: Strategy) -> None:
    """Other sensitive links, none, or some of entities that nothing else names: the release is the same to the byte."""
    schema = school(tmp_path)
    secrets = ("a,d\nb,c\n", "a,b\na,c\na,d\nb,d\n", "", "z,y\nd,c\nb,z\n")
    for number, secret in enumerate(secrets):
        (tmp_path / "friends.csv").write_text(secret)
        released(read_links(schema, "friends"), tmp_path / str(number), strategy, 3)
    for file in FILES:
        found = {(tmp_path / str(number) / file).read_bytes() for number in range(len(secrets))}
        assert len(found) == 1
        assert b"friend" not in found.pop()


@pytest.mark.parametrize("strategy", ALL)
def test_derived_secrets_are_in_no_file(tmp_path: Path, strategy: Strategy) -> None:
    original = links_of_program(load_text(CONTROL), {"own": OWN, "sits": [("p", "A"), ("p", "B")]}, "control")
    released(original, tmp_path, strategy, 3)
    for file in FILES:
        assert "control" not in (tmp_path / file).read_text()
