"""Series of releases under rules: what stays, what is verified, and which series cannot go on."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, ReleaseError
from kgreason.base.resources import resource
from kgreason.graph.knowledge_graph import KnowledgeGraph, Relation
from kgreason.isomorphism.definition import Earlier
from kgreason.isomorphism.result import Anonymization
from kgreason.isomorphism.series import dated, read_release_in_series, read_window
from kgreason.language.check.program_checker import load_file
from tests.cli.test_commands import run
from tests.examples import inputs
from tests.kguard_attempts import one_attempt

CONTROL = resource("rules", "control.vada")
PROGRAM = load_file(CONTROL)


__all__ = ["one_attempt"]


def register(n: int, m: int, rng: np.random.Generator) -> dict[tuple[str, str], float]:
    """Random shareholdings; the shares of a company sum to less than 1."""
    found: dict[tuple[str, str], float] = {}
    held = dict[str, float]()
    for u, v in rng.integers(0, n, (m, 2)).tolist():
        share = round(float(rng.uniform(0.05, 0.6)), 3)
        if u != v and held.get(f"c{v}", 0.0) + share < 1 and (f"c{u}", f"c{v}") not in found:
            found[f"c{u}", f"c{v}"] = share
            held[f"c{v}"] = held.get(f"c{v}", 0.0) + share
    return found


def changed(
    edges: dict[tuple[str, str], float], n: int, count: int, rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """The same register later: some edges are gone, some are new, and some companies, too."""
    gone = set(rng.choice(len(edges), count, replace=False).tolist())
    kept = {edge: share for at, (edge, share) in enumerate(edges.items()) if at not in gone}
    held = dict[str, float]()
    for (_, v), share in kept.items():
        held[v] = held.get(v, 0.0) + share
    for u, v in rng.integers(0, n + 3, (count, 2)).tolist():
        if u != v and held.get(f"c{v}", 0.0) < 0.7 and (f"c{u}", f"c{v}") not in kept:
            kept[f"c{u}", f"c{v}"] = 0.2
            held[f"c{v}"] = held.get(f"c{v}", 0.0) + 0.2
    return kept


def graph_of(edges: dict[tuple[str, str], float]) -> KnowledgeGraph:
    return KnowledgeGraph.from_edges([(u, v, share) for (u, v), share in edges.items()], relation="own")


def release(graph: KnowledgeGraph, folder: Path, number: int, method: str, **more: Any) -> Anonymization:
    after = {"after": folder / f"private{number - 1}"} if number > 1 else {}
    folders = kgreason.Folders(folder / f"release{number}", folder / f"private{number}")
    chosen: dict[str, Any] = {
        "method": method,
        "k": 2,
        "x": 2,
        "trials": 1,
        "seed": number,
        "folders": folders,
    }
    return kgreason.anonymize(CONTROL, graph, **{**chosen, **after, **more})


def edges_of(found: Earlier, real: bool) -> set[tuple[Any, Any]]:
    """Edges between originals and copies, by names and numbers of copies: the real ones or all others."""
    names = list(zip(found.copy.tolist(), found.names, strict=True))
    relation = found.graph.relations["own"]
    rows = zip(
        relation.source.tolist(), relation.target.tolist(), found.synthetic["own"].tolist(), strict=True
    )
    return {(names[u], names[v]) for u, v, synthetic in rows if synthetic != real}


@pytest.fixture(scope="module", params=["klone", "kguard"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A series of three releases."""
    folder, rng = tmp_path_factory.mktemp("series"), np.random.default_rng(3)
    edges = register(28, 56, rng)
    for number in (1, 2, 3):
        made = release(graph_of(edges), folder, number, request.param)
        assert made.holds
        assert (made.verdict.joined is None) == (number == 1)
        edges = changed(edges, 28, 3, rng)
    return folder, request.param


def test_the_private_files_describe_the_series(written: tuple[Path, str]) -> None:
    folder, method = written
    first, second, third = read_window(PROGRAM, folder / "private3", 3)
    assert first.copies == second.copies == third.copies == (method == "klone")
    for found in (first, second, third):
        relation = found.graph.relations["own"]
        assert len(found.names) == len(found.serial) == found.graph.n
        assert ((found.serial > 0) == (found.copy < 0)).all()
        assert len(found.synthetic["own"]) == len(relation)
    assert len(read_window(PROGRAM, folder / "private3", 2)) == 2
    assert [one.released.n for one in dated([first, second])] == [first.graph.n, second.graph.n]


def test_originals_are_what_was_anonymized(written: tuple[Path, str]) -> None:
    """The edges that are not synthetic are those of the original, read from the private files alone."""
    folder, _ = written
    rng = np.random.default_rng(3)
    edges = register(28, 56, rng)
    for one in dated(read_window(PROGRAM, folder / "private3", 3)):
        names = one.original.labels.tolist()
        relation = one.original.relations["own"]
        found = {(names[u], names[v]) for u, v in zip(relation.source, relation.target, strict=True)}
        assert found == edges.keys()
        edges = changed(edges, 28, 3, rng)


def test_synthetic_edges_stay(written: tuple[Path, str]) -> None:
    """Edges between copies (KLONE) and synthetic edges between originals (KGUARD) stay while both ends do."""
    folder, method = written
    before, after = read_window(PROGRAM, folder / "private2", 2)
    still = set(zip(after.copy.tolist(), after.names, strict=True))
    kept = {edge for edge in edges_of(before, real=False) if None not in (edge[0][1], edge[1][1])}
    kept = {edge for edge in kept if set(edge) <= still}
    assert kept
    lost = kept - edges_of(after, real=False)
    # KGUARD leaves out an edge whose ends are now so near that it would change an attacked subgraph
    assert not lost or (method == "kguard" and len(lost) < len(kept) / 4)


def test_labels_are_new(written: tuple[Path, str]) -> None:
    folder, _ = written
    labels = [set(one.graph.labels.tolist()) for one in read_window(PROGRAM, folder / "private3", 3)]
    assert not labels[0] & labels[1]
    assert not labels[1] & labels[2]


def test_verify_takes_the_series(written: tuple[Path, str]) -> None:
    folder, _ = written
    rng = np.random.default_rng(3)
    edges = changed(register(28, 56, rng), 28, 3, rng)
    edges = changed(edges, 28, 3, rng)
    table = folder / "own.csv"
    table.write_text("u,v,w\n" + "".join(f"{u},{v},{w}\n" for (u, v), w in edges.items()))
    asked = ("verify", str(folder / "release3"), "--rules", str(CONTROL), "--data", f"own={table}")
    asked += (
        "--mapping",
        str(folder / "private3"),
        "-k",
        "2",
        "-x",
        "2",
        "--after",
        str(folder / "private2"),
    )
    result = run(*asked, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    written_then = json.loads((folder / "private3" / "report.json").read_text())["verdict"]
    assert found["series"] == written_then["series"]
    assert found["series"]["window"] == 3
    text = (folder / "release3" / "README.txt").read_text()
    assert "the last 3 releases" in " ".join(text.split())
    assert json.loads(run(*asked, "--json", "--window", "2").stdout)["series"]["window"] == 2
    unasked = run(*asked[:-2])
    assert "--after PRIVATE" in unasked.stderr


def test_a_readme_that_claims_more_is_refuted(written: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = written
    shutil.copytree(folder, tmp_path / "all")
    place = tmp_path / "all" / "release2" / "README.txt"
    text = place.read_text()
    assert "Series: " in text
    other = "Series: 12.3 % of the subgraphs that did not change keep 2"
    place.write_text(re.sub("Series: .*? keeps? 2", other, text, flags=re.DOTALL))
    rng = np.random.default_rng(3)
    edges = changed(register(28, 56, rng), 28, 3, rng)
    table = tmp_path / "own.csv"
    table.write_text("u,v,w\n" + "".join(f"{u},{v},{w}\n" for (u, v), w in edges.items()))
    result = run(
        *(
            "verify",
            str(place.parent),
            "--rules",
            str(CONTROL),
            "--data",
            f"own={table}",
            "-k",
            "2",
            "-x",
            "2",
        ),
        *("--mapping", str(tmp_path / "all" / "private2"), "--after", str(tmp_path / "all" / "private1")),
    )
    assert result.exit_code == 1
    assert "README.txt says" in result.stdout


def test_the_same_graph_again_needs_no_further_edge(tmp_path: Path) -> None:
    graph = graph_of(register(24, 48, np.random.default_rng(5)))
    for method in ("klone", "kguard"):
        first = release(graph, tmp_path / method, 1, method)
        again = release(graph, tmp_path / method, 2, method)
        assert again.holds
        assert again.verdict["series"].holds
        assert (again.release.graph.n, again.release.graph.m) == (
            first.release.graph.n,
            first.release.graph.m,
        )
        before, after = read_window(PROGRAM, tmp_path / method / "private2", 2)
        assert edges_of(before, real=False) == edges_of(after, real=False)


def test_kept_weights_are_no_original_ones(tmp_path: Path) -> None:
    """Edges that stay have their released weights, unless the original has just this weight now."""
    edges = register(30, 60, np.random.default_rng(6))
    release(graph_of(edges), tmp_path, 1, "kguard")
    (before,) = read_window(PROGRAM, tmp_path / "private1", 1)
    released = weights(before)
    one = next(iter(edges))
    edges[one] = released[one]
    made = release(graph_of(edges), tmp_path, 2, "kguard")
    assert made.verdict["weights"].holds
    _, after = read_window(PROGRAM, tmp_path / "private2", 2)
    same = [edge for edge, weight in weights(after).items() if released.get(edge) == weight]
    assert len(same) > 0.8 * len(edges)
    assert one not in same


def weights(found: Earlier) -> dict[tuple[str, str], float]:
    """Released weight of each edge between originals, by their names."""
    relation = found.graph.relations["own"]
    assert relation.weight is not None
    rows = zip(relation.source.tolist(), relation.target.tolist(), relation.weight.tolist(), strict=True)
    return {(str(found.names[u]), str(found.names[v])): w for u, v, w in rows if not found.copy[[u, v]].any()}


@settings(max_examples=inputs(40), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["klone", "kguard"]))
def test_any_series_is_what_the_checker_says(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    edges = register(n, 3 * n, rng)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        release(graph_of(edges), folder, 1, method)
        made = release(graph_of(changed(edges, n, 2, rng)), folder, 2, method)
        assert made.holds
        joined = made.verdict.joined
        assert joined is not None
        if method == "klone":
            assert joined.unchanged.every
        found = kgreason.verify_series(
            made.release.graph, folder / "private2", folder / "private1", CONTROL, k=2, x=2
        )
        assert found == (made.verdict["series"], joined)


def test_images_of_copies_are_searched_for_as_well(tmp_path: Path) -> None:
    """Of copies the image search says the same as the comparison of copies."""
    edges = register(12, 25, np.random.default_rng(8))
    release(graph_of(edges), tmp_path, 1, "klone")
    release(graph_of(changed(edges, 12, 2, np.random.default_rng(9))), tmp_path, 2, "klone")
    window = dated(read_window(PROGRAM, tmp_path / "private2", 2))
    from kgreason.isomorphism.verification.joined_releases import Dated, joined_occurrences

    bare = [Dated(one.original, one.released, one.mapping, one.identity) for one in window]
    item, joined = joined_occurrences(bare, PROGRAM, 2, (1, 2, 3), np.random.default_rng(0))
    assert item.holds
    assert joined.unchanged.total > 0
    assert joined.changed.satisfied == joined.changed.total > 0


def test_other_copies_than_before_are_found(tmp_path: Path) -> None:
    edges = register(12, 25, np.random.default_rng(8))
    for number in (1, 2):
        release(graph_of(edges), tmp_path, number, "klone")
    before, after = dated(read_window(PROGRAM, tmp_path / "private2", 2))
    from kgreason.isomorphism.verification.joined_releases import Dated, joined_occurrences

    identity = after.identity.copy()
    assert after.copies is not None
    one, other = after.copies[0, :2]
    identity[[one, other]] = identity[[other, one]]
    swapped = Dated(after.original, after.released, after.mapping, identity, after.copies)
    item, _ = joined_occurrences([before, swapped], PROGRAM, 2, (2,), np.random.default_rng(0))
    assert item.state == "fails"
    assert "are other vertices than before" in item.witnesses[0]


@pytest.mark.slow
def test_images_of_vertex_0_are_raised_as_well(tmp_path: Path) -> None:
    """Edges that are promised to the first vertex alone are added."""
    for seed in range(31, 34):
        rng = np.random.default_rng(seed)
        edges = register(7, 21, rng)
        for number in (1, 2, 3):
            assert release(graph_of(edges), tmp_path / str(seed), number, "kguard").holds
            edges = changed(edges, 7, 1, rng)


def weight_changes(folder: Path, method: str) -> dict[str, list[bool]]:
    """Whether weights changed between two releases, of the kept edges of each kind."""
    before, after = read_window(PROGRAM, folder / "private2", 2)
    first, second = (released_weights(found, method) for found in (before, after))
    kinds: dict[str, list[bool]] = {"synthetic": [], "original": []}
    for edge, (weight, synthetic) in second.items():
        if edge in first:
            kinds["synthetic" if synthetic else "original"].append(first[edge][0] != weight)
    return kinds


def released_weights(found: Earlier, method: str) -> dict[Any, tuple[float, bool]]:
    """Weight and kind of each edge by the identity of its ends; of KLONE, copied edges count as original."""
    names = list(zip(found.copy.tolist(), found.names, found.serial.tolist(), strict=True))
    relation, synthetic = found.graph.relations["own"], found.synthetic["own"].tolist()
    assert relation.weight is not None
    rows = zip(relation.source.tolist(), relation.target.tolist(), relation.weight.tolist(), strict=True)
    assert method in ("klone", "kguard")
    return {(names[u], names[v]): (w, s) for (u, v, w), s in zip(rows, synthetic, strict=True)}


@pytest.mark.parametrize("method", ["klone", pytest.param("kguard", marks=pytest.mark.slow)])
def test_weights_do_not_tell_synthetic_edges(method: str, tmp_path: Path) -> None:
    """Kept edges of both kinds have their released weights, but for a few around new edges."""
    rng = np.random.default_rng(7)
    edges = register(60, 150, rng)
    release(graph_of(edges), tmp_path, 1, method, k=3, x=3)
    release(graph_of(changed(edges, 60, 4, rng)), tmp_path, 2, method, k=3, x=3)
    kinds = weight_changes(tmp_path, method)
    for kept in kinds.values():
        assert len(kept) > 10
        assert np.mean(kept) < 0.25


def test_a_symmetric_state_has_no_one_way_edges(tmp_path: Path) -> None:
    rules = tmp_path / "rules.vada"
    rules.write_text('@edge("own"). @output("own").')
    rng = np.random.default_rng(4)
    pairs = {(int(u), int(v)) for u, v in rng.integers(0, 14, (30, 2)) if u != v}
    mutual = sorted(pairs | {(v, u) for u, v in pairs})
    for method in ("klone", "kguard"):
        for number, rows in ((1, mutual[1:]), (2, mutual)):
            graph = KnowledgeGraph.from_edges([(f"v{u}", f"v{v}") for u, v in rows], relation="own")
            folders = kgreason.Folders(tmp_path / f"{method}r{number}", tmp_path / f"{method}p{number}")
            after = {"after": tmp_path / f"{method}p1"} if number == 2 else {}
            made = kgreason.anonymize(
                rules, graph, method=method, k=2, x=2, seed=number, folders=folders, **after
            )
            assert made.holds
        own = made.release.graph.relations["own"]
        keys = set(zip(own.source.tolist(), own.target.tolist(), strict=True))
        assert keys == {(v, u) for u, v in keys}


def test_numbers_of_synthetic_vertices_are_never_used_twice(tmp_path: Path) -> None:
    """Not even if a release between has none."""
    edges = register(20, 40, np.random.default_rng(4))
    release(graph_of(edges), tmp_path, 1, "kguard")
    path = tmp_path / "private1" / "series.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "last": 900}))
    release(graph_of(edges), tmp_path, 2, "kguard")
    assert json.loads((tmp_path / "private2" / "series.json").read_text())["last"] >= 900


def test_other_questions_do_not_refute_the_readme(written: tuple[Path, str]) -> None:
    folder, _ = written
    rng = np.random.default_rng(3)
    edges = changed(register(28, 56, rng), 28, 3, rng)
    table = folder / "own2.csv"
    table.write_text("u,v,w\n" + "".join(f"{u},{v},{w}\n" for (u, v), w in edges.items()))
    asked = ("verify", str(folder / "release2"), "--rules", str(CONTROL), "--data", f"own={table}", "-k", "2")
    asked += ("--mapping", str(folder / "private2"), "--after", str(folder / "private1"))
    for x in ("1", "1..2"):
        result = run(*asked, "-x", x)
        assert "README.txt says" not in result.stdout


def test_the_release_before_must_be_named(written: tuple[Path, str]) -> None:
    folder, _ = written
    _, _, last = read_window(PROGRAM, folder / "private3", 3)
    for named, what in ((3, "comes after .*private2"), (1, "comes after .*private2")):
        with pytest.raises(ReleaseError, match=what):
            kgreason.verify_series(
                last.graph, folder / "private3", folder / f"private{named}", CONTROL, k=2, x=2
            )
    with pytest.raises(ReleaseError, match="begins a series"):
        kgreason.verify_series(last.graph, folder / "private1", folder / "private1", CONTROL, k=2, x=2)


# --- what cannot go on ---


SMALL = graph_of(register(20, 40, np.random.default_rng(4)))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first release of `SMALL`."""
    folder = tmp_path_factory.mktemp("first")
    release(SMALL, folder, 1, "kguard")
    return folder


@pytest.fixture
def first(released: Path, tmp_path: Path) -> Path:
    """A copy of the first release."""
    return Path(shutil.copytree(released, tmp_path, dirs_exist_ok=True))


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"method": "klone"}, "whose additions KLONE cannot keep"),
        ({"mode": "published"}, "only KGUARD in its exact mode and KLONE make series"),
        ({"method": "k-iso"}, "only KGUARD in its exact mode and KLONE make series"),
        ({"split": 10}, "a series is of whole graphs"),
        ({"also": "degree"}, "further guarantees hold for single releases"),
    ],
)
def test_what_cannot_follow_a_release(more: dict[str, Any], what: str, first: Path) -> None:
    with pytest.raises(AnonymizationError, match=what):
        release(SMALL, first, 2, **{"method": "kguard", **more})
    assert not (first / "release2").exists()


def test_copies_need_the_same_k(tmp_path: Path) -> None:
    release(SMALL, tmp_path, 1, "klone")
    with pytest.raises(AnonymizationError, match="the release before has 2 copies of every vertex") as error:
        release(SMALL, tmp_path, 2, "klone", k=3)
    assert error.value.hint == "say -k 2"
    assert release(SMALL, tmp_path, 2, "kguard").release.copies is not None


@pytest.mark.parametrize(
    ("file", "edit", "what"),
    [
        ("private1/series.json", None, "no series can go on from there: the file series.json is not in it"),
        ("private1/series.json", "{", "is no file of a series: it ends early or was edited"),
        ("private1/series.json", '{"format": 7}', "its format is 7, and this version reads 1"),
        ("private1/series.json", '{"format": 1}', "the entry 'copies' is missing"),
        ("private1/report.json", '{"format": 1}', "this is no report of a release of a series"),
        ("release1/UNVERIFIED", "", "this release was not confirmed, so no series can go on from it"),
    ],
)
def test_damaged_series(file: str, edit: str | None, what: str, first: Path) -> None:
    if edit is None:
        (first / file).unlink()
    else:
        (first / file).write_text(edit)
    with pytest.raises(kgreason.KgreasonError, match=what):
        release(SMALL, first, 2, "kguard")


def test_folders_of_a_series(tmp_path: Path) -> None:
    graph = graph_of(register(20, 40, np.random.default_rng(4)))
    release(graph, tmp_path, 1, "kguard")
    with pytest.raises(ReleaseError, match="there is no such folder"):
        release(graph, tmp_path, 2, "kguard", after=tmp_path / "elsewhere")
    folders = kgreason.Folders(tmp_path / "release2", tmp_path / "private1", force=True)
    with pytest.raises(ReleaseError, match="belongs to an earlier release of the series"):
        release(graph, tmp_path, 2, "kguard", folders=folders)
    shutil.rmtree(tmp_path / "release1")
    with pytest.raises(ReleaseError, match="private1 is not there"):
        release(graph, tmp_path, 2, "kguard")


def test_releases_that_no_other_can_follow_have_no_file(tmp_path: Path) -> None:
    graph = graph_of(register(20, 40, np.random.default_rng(4)))
    made = release(graph, tmp_path, 1, "kguard", also="degree")
    assert made.holds
    assert not (tmp_path / "private1" / "series.json").exists()


def test_another_release_is_recognized(tmp_path: Path) -> None:
    graph = graph_of(register(20, 40, np.random.default_rng(4)))
    release(graph, tmp_path, 1, "kguard")
    other = release(graph, tmp_path / "other", 1, "kguard", seed=9)
    with pytest.raises(ReleaseError):
        read_release_in_series(other.release.graph, tmp_path / "private1")


def test_several_relations(tmp_path: Path) -> None:
    """Kept edges stay in their relation."""
    rules = tmp_path / "rules.vada"
    rules.write_text('@edge("own"). @edge("knows"). @output("own").')
    rng = np.random.default_rng(2)
    number = np.arange(15)
    pairs = [(np.delete(number, 3), np.roll(np.delete(number, 3), s)) for s in (1, 4)]
    relations = {
        name: Relation(u, v, rng.random(len(u)).round(3))
        for name, (u, v) in zip(("own", "knows"), pairs, strict=True)
    }
    graph = KnowledgeGraph(np.array([f"v{i}" for i in number], dtype=object), relations)
    for method in ("klone", "kguard"):
        for at in (1, 2):
            folders = kgreason.Folders(tmp_path / f"{method}r{at}", tmp_path / f"{method}p{at}")
            after = {"after": tmp_path / f"{method}p1"} if at == 2 else {}
            made = kgreason.anonymize(
                rules, graph, method=method, k=2, x=2, seed=at, folders=folders, **after
            )
            assert made.holds
        assert made.verdict["series"].holds
