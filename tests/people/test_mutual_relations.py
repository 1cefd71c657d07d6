"""Relations that are mutual by nature: read, generalized, written and checked with all links in both directions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import DataError, NotRealizable
from kgreason.cli import app
from kgreason.people import PeopleGraph
from kgreason.people import anonymize as anonymize_people
from kgreason.people import read as read_people
from kgreason.people.anonymizers.degree_targets import KEEP
from kgreason.people.anonymizers.generalization import Generalized, generalize, mutual_links, mutually_alike
from kgreason.people.file_schema import read_schema, schema_of_options
from kgreason.people.folder import read_published
from kgreason.people.model import Links, completed, distinct_links
from kgreason.people.reading import _reversed
from kgreason.people.release_tables import write_people
from kgreason.people.verification.checker import verify_people
from kgreason.people.verification.verdict import Published, Source

EXAMPLE = Path(kgreason.__file__).resolve().parents[1] / "examples" / "people"
seeds = st.integers(0, 2**32).map(np.random.default_rng)
Pairs = list[tuple[int, int]]


class Notes:
    """A progress that remembers what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, *_: object) -> None: ...

    def advance(self) -> None: ...


def undirected(n: int, pairs: Pairs) -> Links:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return completed(n, distinct_links(n, *ends))


def ends_of(links: Links) -> set[tuple[int, int]]:
    return set(zip(links.source.tolist(), links.target.tolist(), strict=True))


@st.composite
def clustered(draw: st.DrawFn, most: int = 12) -> tuple[int, Pairs, np.ndarray]:
    """A graph (any, a star, complete, a path) with clusters (any, or one of all)."""
    n = draw(st.integers(1, most))
    end = st.integers(0, n - 1)
    pairs = draw(
        st.one_of(
            st.lists(st.tuples(end, end), max_size=30),
            st.just([(0, v) for v in range(1, n)]),
            st.just(list(combinations(range(n), 2))),
            st.just([(v, v + 1) for v in range(n - 1)]),
        )
    )
    some = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    return n, pairs, np.array(draw(st.one_of(st.just([0] * n), some)), dtype=np.int64)


def generalized(n: int, pairs: Pairs, clusters: np.ndarray, rng: np.random.Generator) -> Generalized:
    empty = PeopleGraph.from_triples([f"u{i}" for i in range(n)], [("u0", "job", "nurse")])
    return generalize(replace(empty, relations={"married": undirected(n, pairs)}), clusters, rng)


@given(clustered(), seeds)
@example((3, [(0, 1)], np.array([0, 0, 0])), np.random.default_rng(0))  # odd sum: all have two
@example((5, list(combinations(range(5), 2)), np.zeros(5, dtype=np.int64)), np.random.default_rng(0))
@example((4, [(0, 1), (0, 2), (0, 3)], np.array([0, 0, 1, 1])), np.random.default_rng(0))
@settings(max_examples=120, deadline=None)
def test_degrees_become_equal_and_links_run_both_ways(
    case: tuple[int, Pairs, np.ndarray], rng: np.random.Generator
) -> None:
    n, pairs, clusters = case
    before = undirected(n, pairs)
    made = generalized(n, pairs, clusters, rng)
    after = made.graph.relations["married"]
    edges = ends_of(after)
    assert after.mutual
    assert edges == {(v, u) for u, v in edges}
    assert len(edges) == len(after)
    assert all(u != v for u, v in edges)
    degree = np.bincount(after.source, minlength=n)
    for cluster in np.unique(clusters):
        assert len(set(degree[clusters == cluster])) == 1
    figures = made.figures.links["married"]
    assert figures.kept == len(edges & ends_of(before))
    assert (figures.kept + figures.removed, figures.kept + figures.added) == (len(before), len(edges))
    users = set(np.flatnonzero(clusters == clusters[0]).tolist())
    assert set(made.graph.attributes["job"].user.tolist()) == users
    if (
        clusters.max() == clusters.min()
    ):  # with one cluster nothing needs to go but to make room for even sums
        top = int(np.bincount(before.source, minlength=n).max(initial=0))
        assert degree[0] == top + (top * n) % 2


@given(clustered(9), st.data(), seeds)
@settings(max_examples=120, deadline=None)
def test_degrees_are_met_exactly_if_any_graph_has_them(
    case: tuple[int, Pairs, np.ndarray], data: st.DataObject, rng: np.random.Generator
) -> None:
    n, pairs, _ = case
    target = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)), dtype=np.int64)
    if nx.is_graphical(target.tolist()):
        made = mutual_links(undirected(n, pairs), target, rng)
        assert made.mutual
        assert (np.bincount(made.source, minlength=n) == target).all()
    else:
        with pytest.raises(NotRealizable):
            mutual_links(undirected(n, pairs), target, rng)


@given(st.integers(20, 60), st.data(), seeds)
@settings(max_examples=40, deadline=None)
def test_no_original_link_is_lost_where_there_is_room(
    n: int, data: st.DataObject, rng: np.random.Generator
) -> None:
    end = st.integers(0, n - 1)
    pairs = [(u, v) for u, v in data.draw(st.lists(st.tuples(end, end), max_size=8)) if u != v]
    made = generalized(n, pairs, rng.permutation(np.arange(n) // 10 * (n >= 20)), rng)
    figures = made.figures.links["married"]
    assert (figures.removed, figures.lowered) == (0, 0)


def test_a_star_that_no_graph_can_follow_ends_with_lower_degrees() -> None:
    n = 30
    clusters = np.array([0, 0, 0, *([1] * (n - 3))])
    made, lowered = mutually_alike(
        undirected(n, [(0, v) for v in range(1, n)]), clusters, np.random.default_rng(0), KEEP
    )
    degree = np.bincount(made.source, minlength=n)
    assert lowered > 0
    assert len(set(degree[:3])) == len(set(degree[3:])) == 1


def test_added_links_are_not_told_by_chance() -> None:
    """Over many runs each pair that may be added is added about as often as the others."""
    counts = np.zeros((6, 6))
    for seed in range(400):
        rng = np.random.default_rng(seed)
        made, _ = mutually_alike(undirected(6, [(0, 1)]), np.zeros(6, dtype=np.int64), rng, KEEP)
        counts[made.source, made.target] += 1
    assert counts[0, 1] == 400
    others = counts[2:, 2:][np.triu_indices(4, 1)]
    assert others.min() > 90  # 133 of 400 is the mean
    assert others.max() < 180


def test_removed_users_take_their_links_along() -> None:
    made = generalized(5, [(0, 1), (1, 2), (3, 4)], np.array([0, 0, -1, 1, 1]), np.random.default_rng(0))
    assert made.graph.relations["married"].mutual
    assert ends_of(made.graph.relations["married"]) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert made.figures.links["married"].gone == 2


@pytest.mark.parametrize("method", ["pckga", "ctkga"])
def test_whoever_strips_links_without_reverse_gains_nothing(method: str) -> None:
    graph = read_people(EXAMPLE / "people.toml")
    result = anonymize_people(graph, method=method, k=3, seed=1)
    assert result.verdict["mutual"].holds
    assert result.holds
    released = result.release.graph
    married = released.relations["married"]
    assert sum(c.added for c in result.utility.changes.values()) > 0
    assert result.utility.changes["married"].added > 0  # there is something to tell
    edges = ends_of(married)
    both = [(u, v) for u, v in edges if (v, u) in edges]
    stripped = distinct_links(released.n, *np.array(both, dtype=np.int64).T)
    attacked = replace(released, relations={**released.relations, "married": stripped})
    assert verify_people([Published(attacked)], "k-ad", 3).holds
    assert len(stripped) == len(married)


def test_the_attack_succeeds_on_a_relation_not_said_to_be_mutual() -> None:
    graph = read_people(EXAMPLE / "people.toml")
    one_way = {name: replace(links, mutual=False) for name, links in graph.relations.items()}
    result = anonymize_people(replace(graph, relations=one_way), method="pckga", k=3, seed=1)
    edges = ends_of(result.release.graph.relations["married"])
    assert result.holds
    assert edges != {(v, u) for u, v in edges}


def couple(*links: tuple[str, str, str], mutual: bool = True) -> PeopleGraph:
    graph = PeopleGraph.from_triples("abc", [], links)
    return replace(graph, relations={n: replace(r, mutual=mutual) for n, r in graph.relations.items()})


def test_the_checker_finds_links_that_run_one_way() -> None:
    whole = couple(("a", "married", "b"), ("b", "married", "a"))
    broken = couple(("a", "married", "b"), ("b", "married", "a"), ("b", "married", "c"))
    item = verify_people([Published(broken)], "k-ad", 1)["mutual"]
    assert not item.holds
    assert item.witnesses == ("married: b to c, not back",)
    assert item.detail == "1 of 3 links of mutual relations run one way only"
    assert verify_people([Published(whole)], "k-ad", 1)["mutual"].holds
    # the original's word counts, whatever the release says of itself
    said = replace(broken, relations={"married": replace(broken.relations["married"], mutual=False)})
    source = Source(whole, np.arange(3))
    assert not verify_people([Published(said, source)], "k-ad", 1)["mutual"].holds
    assert "mutual" not in [item.name for item in verify_people([Published(said)], "k-ad", 1).items]
    series = verify_people([Published(said, name="one"), Published(whole, name="two")], "kw-tad", 1)
    assert series["mutual"].holds  # of the first release nothing is known


def test_releases_are_read_as_they_stand(tmp_path: Path) -> None:
    graph = PeopleGraph.from_triples(
        "abc", [("a", "job", "x")], [("a", "married", "b")], mutual=["married", "met"]
    )
    write_people(tmp_path, graph)
    for again in (read_people(tmp_path / "people.toml"), read_published(tmp_path).graph):
        assert ends_of(again.relations["married"]) == {(0, 1), (1, 0)}
        assert again.relations["married"].mutual
        assert again.relations["met"].mutual
    assert 'mutual = ["married", "met"]' in (tmp_path / "people.toml").read_text()
    assert "relations = [" not in (tmp_path / "people.toml").read_text()
    (tmp_path / "relations.csv").write_text("source,relation,target\na,married,b\n")
    published = read_published(tmp_path)
    assert len(published.graph.relations["married"]) == 1
    assert not verify_people([published], "k-ad", 1)["mutual"].holds


def test_links_are_completed_by_their_reverse(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,married,b\nb,married,a\nb,married,c\na,met,c\n")
    told = Notes()
    schema = schema_of_options([str(tmp_path / "a.csv")], relations=["met"], mutual=["married"])
    graph = read_people(schema, told)
    assert ends_of(graph.relations["married"]) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert ends_of(graph.relations["met"]) == {(0, 2)}
    assert told.notes == [
        "links of mutual relations whose reverse was missing, completed by it: 1 (married 1)"
    ]
    assert graph.of(np.array([2, 1])).relations["married"].mutual
    assert ends_of(graph.of(np.array([2, 1])).relations["married"]) == {(0, 1), (1, 0)}


def test_mutual_relations_may_be_said_by_an_option(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,married,b\nb,met,c\n")
    files = [str(tmp_path / "a.csv"), "--relations", "met", "--out", str(tmp_path / "k.csv")]
    done = CliRunner().invoke(app, ["people", "generate-k", "te", *files, "--mutual", "married"])
    assert done.exit_code == 0, done.output
    refused = CliRunner().invoke(app, ["people", "generate-k", "te", *files])
    assert refused.exit_code != 0
    assert "--relations or --mutual" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ('relations = ["married"]\nmutual = ["married"]', "in relations and in mutual"),
        ('mutual = ["married", "married"]', "twice in mutual"),
        ("mutual = true", "mutual is a list of texts"),
    ],
)
def test_schemas_that_contradict_themselves(tmp_path: Path, kinds: str, said: str) -> None:
    file = tmp_path / "people.toml"
    file.write_text(f'[[triples]]\nfiles = ["a.csv"]\n[kinds]\n{kinds}\n')
    with pytest.raises(DataError, match=said):
        read_schema(file)


def test_misspelt_mutual_relations_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,maried,b\n")
    (tmp_path / "b.csv").write_text("a,married,b\n")
    files = [str(tmp_path / "a.csv")]
    with pytest.raises(DataError, match="no kind is given for 'maried'") as error:
        read_people(schema_of_options(files, mutual=["married"]))
    assert "did you mean 'married'" in str(error.value)


def noted(**relations: Pairs) -> list[str]:
    links = [(f"u{u}", name, f"u{v}") for name, pairs in relations.items() for u, v in pairs]
    graph = PeopleGraph.from_triples([f"u{i}" for i in range(40)], [], links)
    return suspected(graph)


def suspected(graph: PeopleGraph) -> list[str]:
    from kgreason.people.reading import Remarks

    remarks, told = Remarks(), Notes()
    remarks.check(graph)
    remarks.report(told)  # type: ignore[arg-type]
    return told.notes


def test_relations_that_seem_mutual_are_noted() -> None:
    pairs = [(2 * i, 2 * i + 1) for i in range(10)]
    back = [(v, u) for u, v in pairs]
    assert noted(r=pairs) == []
    assert noted(r=pairs[:4] + back[:4]) == []  # too few to tell
    assert noted(r=pairs + back[:2]) == []
    assert noted(r=pairs + back[:5]) == [
        "67 % of the links of r have their reverse: if r is mutual, say so in [kinds], or added links are recognizable"
    ]
    graph = PeopleGraph.from_triples(
        "abcdefgh", [], [(u, "r", v) for u, v in combinations("abcdefgh", 2)], mutual=["r"]
    )
    assert suspected(graph) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 4)), max_size=40))
def test_reverse_links_are_counted(links: list[tuple[int, int, int]]) -> None:
    names = [f"r{i}" for i in range(4)]
    rows = [(f"u{u}", names[r], f"u{v}") for u, r, v in links]
    graph = PeopleGraph.from_triples([f"u{i}" for i in range(5)], [], rows, relations=names)
    pairs = [set(zip(r.source.tolist(), r.target.tolist(), strict=True)) for r in graph.relations.values()]
    assert _reversed(graph).tolist() == [
        [len({(v, u) for u, v in one} & other) for other in pairs] for one in pairs
    ]


def test_relations_that_run_against_others_are_noted() -> None:
    pairs = [(i, i + 10) for i in range(20)]
    back = [(v, u) for u, v in pairs]
    said = (
        "links of {} mostly run against links of {} ({} %): if the one follows from the other, leave one out, or added "
        "links are recognizable"
    )
    assert said.format("child", "parent", 100) in noted(child=pairs[:10], parent=back)
    assert said.format("parent", "child", 50) in noted(child=pairs[:10], parent=back)
    assert noted(child=pairs[:9], parent=back) == []
