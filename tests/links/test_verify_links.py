"""The checker of releases of links: every kind of damage to releases made by hand fails its item."""

from __future__ import annotations

import re
import shutil
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

from kgreason import Folders, __version__
from kgreason.base.errors import DataError
from kgreason.links import anonymize as anonymize_links
from kgreason.links.arguments import mapping_of
from kgreason.links.folder import contents_of, form, read_released
from kgreason.links.left_links import Source
from kgreason.links.model import LinkGraph, Observations, Original, Released, Sensitive
from kgreason.links.settings import CLUSTERED, Strategy
from kgreason.links.verification import LinksVerdict, verify_links
from kgreason.people.model import attribute
from tests.examples import inputs

Link = tuple[int, int]
Weighted = tuple[int, int, float]
STRATEGIES: tuple[Strategy, ...] = ("intact", "partial", "cluster-edge", "constrained", "removed")

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
    assert fails(judged("partial", changed("partial", gone))) == {"links"}
    assert fails(judged("partial", percent=50.1)) == {"links"}  # 6 of 10 classmates would have to go
    assert judged("partial", percent=None).holds
    assert judged("partial", percent=None)["links"].detail.endswith("; any share may be missing")
    assert "any share" not in judged("partial")["links"].detail
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
    assert fails(judged("removed", changed("removed", gone))) == {"links"}


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


@pytest.mark.parametrize("strategy", STRATEGIES)
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
    if change.get("weight") is not None:  # also of relations without links, which the files name
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


def told(graph: LinkGraph, secret: str = "friends") -> tuple[str, ...]:
    return verify_links(Released(graph, "intact"), secret=secret)["sensitive"].witnesses


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("friends", True),
        ("best Friends of 3", True),
        ("friends_list", True),
        ("all_friends", True),
        ("friendship", False),
        ("boyfriends", False),
        ("friends2", False),
    ],
)
def test_no_name_and_no_value_is_called_like_the_sensitive_relation(text: str, named: bool) -> None:
    hand, _ = released("intact")
    graph = hand.graph()
    for other in (
        replace(graph, observed={**graph.observed, text: graph.observed["cites"]}),
        replace(graph, attributes={text: graph.attributes["job"]}),
        replace(hand, jobs=frozenset({(0, text), (1, "cook")})).graph(),
        replace(hand, labels=(text, *hand.labels[1:])).graph(),
    ):
        assert bool(told(other)) == named


def test_values_that_nobody_has_and_numbers_do_not_name_it() -> None:
    graph = released("intact")[0].graph()
    job = graph.attributes["job"]
    wider = replace(job, domain=np.append(job.domain, "friends"))
    assert not told(replace(graph, attributes={"job": wider}))
    assert not told(graph, "1")  # every count and size is one


# the files


def everything() -> LinkGraph:
    """A graph with values, weights, relations of both kinds and one without links."""
    graph = replace(ORIGINAL, rows={**ORIGINAL.rows, "phones": ()}).graph()
    age = attribute("numeric", np.arange(7), np.array(["1", "1", "2", "2.5", "2.5", "3", "4"], dtype=object))
    return replace(graph, attributes={**graph.attributes, "age": age})


Shop = Callable[..., Folders]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Copies of releases in a place, each of which is made once."""
    made: dict[tuple[Strategy, bool], Path] = {}

    def copied(place: Path, strategy: Strategy, *, seeded: bool = False) -> Folders:
        if (strategy, seeded) not in made:
            made[strategy, seeded] = released_shop(tmp_path_factory.mktemp("shop"), strategy, seeded=seeded)
        shutil.copytree(made[strategy, seeded], place, dirs_exist_ok=True)
        return Folders(place / "release", place / "private")

    return copied


def released_shop(place: Path, strategy: Strategy, *, seeded: bool) -> Path:
    one = np.array([0])
    original = Original(everything(), Sensitive("friends", one, one + 1, mutual=True))
    folders = Folders(place / "release", place / "private")
    result = anonymize_links(original, strategy=strategy, k=2, folders=folders, seed=1 if seeded else None)
    assert result.holds, result.verdict
    assert result.verdict["files"].holds
    return place


def judged_form(folder: Path) -> str:
    """What is found of the form of a folder, or that it is not even read."""
    try:
        return form(folder, read_released(folder)).state
    except DataError:
        return "refused"


def edit(name: str, old: str, new: str, count: int = -1) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old.encode() in data
        (folder / name).write_bytes(data.replace(old.encode(), new.encode(), count))

    return change


def more(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + text.encode())


def turned(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        head, *rows = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join([head, *rows[::-1]]))

    return change


def as_folder(folder: Path) -> None:
    (folder / "README.txt").unlink()
    (folder / "README.txt").mkdir()
    (folder / "README.txt" / "pairs.csv").write_text("A,B\n")


def as_link(folder: Path) -> None:
    other = folder.parent / "elsewhere"
    (folder / "nodes.csv").rename(other)
    (folder / "nodes.csv").symlink_to(other)


def broken_link(folder: Path) -> None:
    (folder / "README.txt").unlink()
    (folder / "README.txt").symlink_to(folder / "nowhere")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a comment": more("links.toml", "# friends: A-B\n"),
    "a comment behind": edit("links.toml", '"\n', '" # A-B\n', 1),
    "an order of rows": turned("links.csv"),
    "an order of nodes": turned("nodes.csv"),
    "ends of lines": edit("links.csv", "\n", "\r\n"),
    "a mark of bytes": edit("links.csv", "source", "\ufeffsource"),
    "blank lines": more("links.csv", "\n\n"),
    "quotation marks": edit("links.csv", ",cites,", ',"cites",', 1),
    "zeros": lambda folder: (folder / "nodes.csv").write_text(
        re.sub(r",(\d)\n", r",0\1\n", (folder / "nodes.csv").read_text())
    ),
    "a name of nothing": edit("links.toml", "categorical = [", 'categorical = ["loves", '),
    "an order of names": edit("links.toml", '"cites", "owes"', '"owes", "cites"'),
    "a text for people": more("README.txt", "A, B\n"),
    "another text": edit("README.txt", "strategy", "stratagem"),
    "another encoding": lambda folder: (folder / "README.txt").write_bytes("A B".encode("utf-16")),
    "no text": lambda folder: (folder / "README.txt").unlink(),
    "a claim": edit("README.txt", "at least 2", "at least 7"),
    "a claim in other digits": edit("README.txt", "at least 2", "at least 02"),
    "a page that says more": more("report.html", "<!-- A-B -->\n"),
    "a report that says more": edit("report.json", '"secret": false', '"secret":  false'),
    "a mark that says more": lambda folder: (folder / "UNVERIFIED").write_text("A B\n"),
    "a mark": lambda folder: (folder / "UNVERIFIED").touch(),
    "a file": lambda folder: (folder / ".hidden").touch(),
    "a folder for a text": as_folder,
    "a link": as_link,
    "a link to nothing": broken_link,
}  # fmt: skip


@pytest.mark.parametrize("strategy", ["intact", "constrained"])
def test_files_hold_nothing_but_the_release(tmp_path: Path, shop: Shop, strategy: Strategy) -> None:
    folders = shop(tmp_path, strategy)
    assert judged_form(folders.release) == "holds"
    found = {}
    for what, change in DAMAGE.items():
        other = tmp_path / what
        shutil.copytree(folders.release, other)
        change(other)
        found[what] = judged_form(other)
    refused = ("a file", "a folder for a text", "a link to nothing")  # before anything is judged
    assert found == {what: "refused" if what in refused else "fails" for what in DAMAGE}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seeded", [False, True])
def test_what_is_written_has_the_form(tmp_path: Path, shop: Shop, strategy: Strategy, seeded: bool) -> None:
    folders = shop(tmp_path, strategy, seeded=seeded)
    found = read_released(folders.release)
    assert form(folders.release, found).holds
    made = contents_of(found, 2, "csv")
    _, text = next(made.texts(folders.release, holds=False, seeded=seeded))
    (folders.release / "README.txt").write_bytes(text)
    assert not form(folders.release, found).holds
    (folders.release / "UNVERIFIED").touch()
    assert [w.split(":")[0] for w in form(folders.release, found).witnesses] == ["README.txt", "UNVERIFIED"]
    report(folders.release, found, holds=False, seeded=seeded)
    assert form(folders.release, found).holds
    for name in ("report.html", "report.json"):  # as in releases of earlier versions
        (folders.release / name).unlink()
    assert form(folders.release, found).holds


def test_a_report_of_another_version_is_no_proof_of_anything(tmp_path: Path, shop: Shop) -> None:
    """Its page may be set otherwise; but what hides elsewhere, or under this version's name, is found."""
    folders = shop(tmp_path, "intact")
    for name in ("report.html", "report.json"):
        file = folders.release / name
        file.write_text(file.read_text(encoding="utf-8").replace(__version__, "0.0.9"), encoding="utf-8")
    item = form(folders.release, read_released(folders.release))
    assert item.state == "undecided"
    assert "written by kgreason 0.0.9" in item.detail
    more("links.toml", "# A-B\n")(folders.release)
    assert judged_form(folders.release) == "fails"


def report(folder: Path, released: Released, *, holds: bool, seeded: bool) -> None:
    """Write the reports of a release."""
    shown = 2 if "at least 2" in (folder / "README.txt").read_text() else None
    contents_of(released, shown, "csv").publish(folder, holds=holds, seeded=seeded)


@pytest.mark.parametrize(
    ("old", "new", "item"),
    [
        ('numeric = ["age"]\ncategorical = ["job"]', 'numeric = []\ncategorical = ["age", "job"]', "values"),
        ('directed = ["cites", "owes", "phones"]', 'directed = ["cites", "owes"]', "links"),
        ('mutual = ["classmates"]\ndirected = ["cites", "owes", "phones"]',
         'mutual = ["classmates", "phones"]\ndirected = ["cites", "owes"]', "links"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_kinds_are_those_of_the_original(
    tmp_path: Path, shop: Shop, strategy: Strategy, old: str, new: str, item: str
) -> None:
    folders = shop(tmp_path, strategy)
    found = read_released(folders.release)
    edit("links.toml", old, new)(folders.release)
    other = read_released(folders.release)
    report(folders.release, other, holds=True, seeded=False)
    assert form(folders.release, other).holds
    graph = everything()
    mapping = mapping_of(folders.private, graph, found.graph)
    assert verify_links(found, source=Source(graph, mapping), k=2).holds
    assert fails(verify_links(other, source=Source(graph, mapping), k=2)) == {item}


def test_tiny_and_large_weights_are_compared() -> None:
    def verdict(weights: list[float], shown: float) -> LinksVerdict:
        rows = tuple((i, i + 2, 1, w) for i, w in enumerate(weights))
        original = Hand(tuple("ABCD"), {"owes": rows}, frozenset(), (1,) * 4)
        made = Hand(("x", "y"), {"owes": ((0, 1, 2, shown),)}, frozenset(), (2, 2))
        source = Source(original.graph(), np.array([0, 0, 1, 1]))
        return verify_links(Released(made.graph(), "cluster-edge"), source=source, k=2)

    assert verdict([1e-12, 3e-12], 2e-12).holds
    assert fails(verdict([1e-12, 3e-12], 1e-10)) == {"links"}
    assert fails(verdict([5e-324, 5e-324], 1e-10)) == {"links"}
    assert verdict([5e-324, 5e-324], 5e-324).holds
    assert verdict([1.0, -1.0 + 1e-9], (1e-9 - 1.0 + 1.0) / 2).holds
    assert fails(verdict([1.0, -1.0 + 1e-9], 5.0000001e-10)) == {
        "links"
    }  # digits in which something may stand
    assert fails(verdict([1.0, -1.0 + 1e-9], 5e-9)) == {"links"}
    assert fails(verdict([1e308, 1.7e308], 1.35e308)) == {"links"}  # nobody can say what their mean is


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
