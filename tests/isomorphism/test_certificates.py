"""Certificates: they show what holds, and nothing else, whatever is written in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import ReleaseError
from kgreason.base.resources import resource
from kgreason.graph.generators import erdos_renyi, scale_free
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism.api import anonymize
from kgreason.isomorphism.arguments import read_graph
from kgreason.isomorphism.assessment import verify
from kgreason.isomorphism.certificates import read_certificate, write_certificate
from kgreason.isomorphism.reading import Pair
from kgreason.isomorphism.result import Anonymization
from kgreason.isomorphism.verification.certified_images import faults_of_copies, repeated
from kgreason.isomorphism.verification.verdict import Certificate, Donors
from kgreason.release.digests import Fault
from kgreason.release.verdicts import files
from tests.examples import inputs

CONTROL = resource("rules", "control.vada")
REACH = resource("rules", "reachability.vada")


@pytest.fixture(scope="module")
def made() -> Anonymization:
    """A release of KGUARD for several sizes, of a graph in several components."""
    graph = scale_free(60, 2.5, np.random.default_rng(5), economic=True)
    return anonymize(CONTROL, graph, k=2, x=(2, 3), trials=1, plans=1, seed=1)


@pytest.fixture(scope="module")
def copied() -> Anonymization:
    """A release of KLONE."""
    graph = scale_free(60, 2.5, np.random.default_rng(5), economic=True)
    return anonymize(CONTROL, graph, method="klone", k=3, x=3, trials=1, seed=1)


def known(result: Anonymization) -> tuple[KnowledgeGraph, KnowledgeGraph, Any]:
    return result.original, result.release.graph, result.release.mapping


def test_donors_show_what_a_search_finds(made: Anonymization) -> None:
    certificate = made.verdict.certificate
    assert certificate is not None
    assert {d.size for d in certificate.donors} >= {2, 3}
    again = verify(*known(made), CONTROL, k=2, x=(2, 3), certificate=certificate)
    assert again.holds
    assert again["certificate"].holds
    assert again.delta == made.verdict.delta
    smaller = verify(*known(made), CONTROL, k=2, x=2, certificate=certificate)
    assert smaller.holds


@pytest.mark.parametrize("method", ["kguard", "klone"])
def test_no_search_is_made(
    method: Any, made: Anonymization, copied: Anonymization, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made if method == "kguard" else copied
    monkeypatch.setattr("kgreason.isomorphism.verification.images.Search", None)
    verdict = verify(
        *known(result),
        CONTROL,
        k=result.release.guarantee.k,
        x=3,
        certificate=result.verdict.certificate,
    )
    assert verdict.holds


def test_copies_show_every_size(copied: Anonymization) -> None:
    verdict = copied.verdict
    assert verdict.holds
    assert verdict.sizes == "every x"
    assert verdict.delta is not None
    assert str(verdict.delta) == "1.000 (all of any size, exact)"
    again = verify(*known(copied), CONTROL, k=3, x=3, certificate=verdict.certificate)
    assert again.certificate is verdict.certificate
    other = resource("rules", "ultimate_controller.vada")
    assert verify(*known(copied), other, k=2, x=59, certificate=verdict.certificate).holds, "any rules"
    assert verify(*known(copied), CONTROL, k=3, x=(1, 2, 3)).holds, "as a search finds"


def test_a_certificate_without_donors_shows_nothing(made: Anonymization) -> None:
    verdict = verify(*known(made), CONTROL, k=2, x=3, certificate=Certificate(2))
    assert verdict["certificate"].witnesses == ("it is for x = nothing and does not speak of 3 vertices",)


def test_files_that_differ_are_counted() -> None:
    wrong = [Fault("other content", f"{name}.csv", "it has other rows") for name in "ab"]
    fine = Fault("other encoding", "c.csv", "it is packed", harmless=True)
    for faults, words in (
        ([], "they are as written"),
        ([fine], "they say what was written, but for c.csv: other encoding"),
        ([wrong[0], fine], "1 file is not as written"),
        (wrong, "2 files are not as written"),
    ):
        assert files(faults).detail == words


def test_copies_for_a_large_k() -> None:
    """A search among alike places would take minutes."""
    graph = erdos_renyi(40, 60, np.random.default_rng(1))
    found = anonymize(REACH, graph, method="klone", k=12, x=4, trials=1)
    assert found.holds
    assert len(found.verdict.certificate.copies) == 11  # type: ignore[union-attr,arg-type]


def test_a_star_has_too_many_subgraphs_to_list_and_is_proven() -> None:
    hub = KnowledgeGraph.from_edges([("hub", f"leaf {i}", 0.5) for i in range(1000)], relation="own")
    assert anonymize(REACH, hub, method="klone", k=2, x=4, trials=1).holds


def test_of_another_original(made: Anonymization, tmp_path: Path) -> None:
    """An original that has lost a row is not the one that was anonymized, though all that is left is protected."""
    from dataclasses import replace

    original, released, mapping = known(made)
    own = original.relations["own"]
    assert own.weight is not None
    less = replace(own, source=own.source[1:], target=own.target[1:], weight=own.weight[1:])
    cut = replace(original, relations={"own": less})
    assert made.verdict.certificate is not None
    file = tmp_path / "certificate.json"
    write_certificate(file, made.verdict.certificate, Pair(original, released, mapping))
    verdict = verify(cut, released, mapping, CONTROL, k=2, x=3, certificate=file)
    assert verdict["certificate"].witnesses == (
        f"it is of another original: that had 60 vertices and {original.m} edges, "
        f"and this one has 60 vertices and {original.m - 1} edges",
    )
    heavier = original.with_weights({"own": np.minimum(own.weight * 1.001, 1.0)})
    verdict = verify(heavier, released, mapping, CONTROL, k=2, x=3, certificate=file)
    assert verdict["certificate"].witnesses[0].endswith("edges, but not the same ones")


def forged(certificate: Certificate, change: Callable[[list[np.ndarray]], None]) -> Certificate:
    """A certificate with other blocks."""
    donors = []
    for d in certificate.donors:
        blocks = [b.copy() for b in d.blocks]
        change(blocks)
        donors.append(Donors(d.size, tuple(blocks), d.targets, d.images))
    return Certificate(certificate.k, tuple(donors))


def swap(blocks: list[np.ndarray]) -> None:
    """Members of different classes in one block."""
    blocks[0][-1], blocks[-1][0] = blocks[-1][0].copy(), blocks[0][-1].copy()


def repeat(blocks: list[np.ndarray]) -> None:
    """The same member twice."""
    longest = max(range(len(blocks)), key=lambda b: len(blocks[b]))
    blocks[longest][-1] = blocks[longest][0]


def stutter(blocks: list[np.ndarray]) -> None:
    """A vertex twice in a member."""
    blocks[0][0, 0] = blocks[0][0, -1]


def turn(blocks: list[np.ndarray]) -> None:
    """A member with its vertices in another order, in a block of more than two."""
    for block in blocks:
        if len(block) > 2:
            block[-1] = block[-1][::-1].copy()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap, "does not look like the others of its block"),
        (repeat, "meets another of its block in a vertex, a degree or a label"),
        (stutter, "is no set of vertices of the release"),
        (turn, "does not look like the others of its block"),
        (list.clear, "it shows no images of"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_forged_donors(made: Anonymization, change: Any, words: str) -> None:
    certificate = made.verdict.certificate
    assert certificate is not None
    verdict = verify(*known(made), CONTROL, k=2, x=3, certificate=forged(certificate, change))
    assert not verdict.holds
    assert not verdict["certificate"].holds
    assert any(words in witness for witness in verdict["certificate"].witnesses), verdict


def test_images_that_are_none(made: Anonymization) -> None:
    """Each attacked subgraph is said to be its own image, or one that is not apart from it."""
    certificate = made.verdict.certificate
    assert certificate is not None
    (donors,) = certificate.of(3, 2)
    rows = np.concatenate(donors.blocks)
    alone = Donors(3, (), rows, rows[:, None])
    verdict = verify(*known(made), CONTROL, k=2, x=3, certificate=Certificate(2, (alone,)))
    assert verdict["certificate"].state == "fails"
    assert any("has images that are none" in w for w in verdict["certificate"].witnesses)
    assert verdict["images"].state == "undecided"


def test_images_in_vertices_that_are_not_there(made: Anonymization) -> None:
    """A certificate in memory may be one of a larger release."""
    n = made.release.graph.n
    nowhere = Donors(3, (), np.array([[0, 1, n]]), np.array([[[n + 1, n + 2, n + 3]]]))
    verdict = verify(*known(made), CONTROL, k=2, x=3, certificate=Certificate(2, (nowhere,)))
    assert verdict["certificate"].state == "fails"
    assert f"no vertex {n} has images that are none" in verdict["certificate"].witnesses[0]


def test_a_certificate_for_fewer_places_or_sizes(made: Anonymization, copied: Anonymization) -> None:
    verdict = verify(*known(made), CONTROL, k=3, x=3, certificate=made.verdict.certificate)
    assert verdict["certificate"].witnesses == ("it shows 2 places, not 3",)
    verdict = verify(*known(made), CONTROL, k=2, x=4, certificate=made.verdict.certificate)
    assert not verdict.holds
    assert verdict["certificate"].witnesses == ("it is for x = 2, 3 and does not speak of 4 vertices",)
    verdict = verify(*known(copied), CONTROL, k=4, x=3, certificate=copied.verdict.certificate)
    assert verdict["certificate"].witnesses == ("it names 3 places of each vertex, not 4",)
    assert verdict["images"].state == "undecided"


def with_edge(graph: KnowledgeGraph, source: int, target: int, weight: float) -> KnowledgeGraph:
    from dataclasses import replace

    own = graph.relations["own"]
    more = replace(
        own,
        source=np.append(own.source, source),
        target=np.append(own.target, target),
        weight=np.append(own.weight, weight),  # type: ignore[arg-type]
    )
    return replace(graph, relations={"own": more})


def test_copies_that_are_none(copied: Anonymization) -> None:
    original, released, mapping = known(copied)
    certificate = copied.verdict.certificate
    assert certificate is not None
    assert certificate.copies is not None
    copies = certificate.copies
    assert faults_of_copies(original, released, mapping, copies, 3) == ()
    other = copies.copy()
    other[:, [0, 1]] = other[:, [1, 0]]
    assert any(
        "is not the same in copy" in f for f in faults_of_copies(original, released, mapping, other, 3)
    )
    own = np.concatenate([mapping[None], copies[1:]])
    assert any("is assigned to several" in f for f in faults_of_copies(original, released, mapping, own, 3))
    edge = with_edge(released, int(copies[0, 3]), int(copies[0, 7]), 0.01)
    assert any("is not the same in copy 1" in f for f in faults_of_copies(original, edge, mapping, copies, 3))
    own_edge = released.relations["own"]
    assert own_edge.weight is not None
    inside = np.flatnonzero(np.isin(own_edge.source, mapping) & np.isin(own_edge.target, mapping))
    weights = own_edge.weight.copy()
    weights[inside[0]] *= 0.5
    faults = faults_of_copies(original, released.with_weights({"own": weights}), mapping, copies, 3)
    assert any("is not the same in copy" in f for f in faults)
    verdict = verify(original, edge, mapping, CONTROL, k=3, x=3, certificate=certificate)
    assert (verdict["certificate"].state, verdict["images"].state) == ("fails", "undecided")


def test_equal_degrees_are_found() -> None:
    graph = KnowledgeGraph.from_edges([("a", "b", 0.5)])
    released = KnowledgeGraph.from_edges([("p", "q", 0.7), ("r", "s", 0.7)])
    faults = faults_of_copies(graph, released, np.array([0, 1]), np.array([[2, 3]]), 2)
    assert "the places p, r of original a have equal in-degree" in faults
    assert len(faults) == 4


@settings(max_examples=inputs(60), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_repeated_is_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, count, size = 8, int(rng.integers(1, 8)), int(rng.integers(1, 4))
    traits = np.stack([rng.integers(0, 4, n), rng.integers(0, 4, n), np.arange(n)], axis=1)
    rows = np.array([rng.choice(n, size, replace=False) for _ in range(count)])
    of = np.sort(rng.integers(0, 3, count))
    expected = [
        any(
            of[i] == of[j]
            and j != i
            and (bool(set(rows[i]) & set(rows[j])) or bool((traits[rows[i]] == traits[rows[j]]).any()))
            for j in range(count)
        )
        for i in range(count)
    ]
    assert repeated(rows, of, traits).tolist() == expected


@pytest.mark.parametrize("method", ["kguard", "klone"])
def test_written_and_read(method: str, made: Anonymization, copied: Anonymization, tmp_path: Path) -> None:
    result = made if method == "kguard" else copied
    original, released, mapping = known(result)
    certificate = result.verdict.certificate
    assert certificate is not None
    file = tmp_path / "certificate.json"
    write_certificate(file, certificate, Pair(original, released, mapping))
    read = read_certificate(tmp_path, Pair(original, released, mapping))
    k = certificate.k
    assert verify(original, released, mapping, CONTROL, k=k, x=3, certificate=read).holds
    assert verify(original, released, mapping, CONTROL, k=k, x=3, certificate=file).holds
    order = np.random.default_rng(0).permutation(released.n)
    number = np.argsort(order)
    turned = KnowledgeGraph(
        released.labels[order],
        {
            name: kgreason.Relation(number[r.source], number[r.target], r.weight)
            for name, r in released.relations.items()
        },
    )
    assert verify(original, turned, number[mapping], CONTROL, k=k, x=3, certificate=file).holds


@pytest.mark.parametrize("method", ["kguard", "klone"])
def test_of_another_release(method: Any, made: Anonymization, copied: Anonymization, tmp_path: Path) -> None:
    result = made if method == "kguard" else copied
    options: dict[str, Any] = {"plans": 1} if method == "kguard" else {"method": "klone"}
    k = result.release.guarantee.k
    file = tmp_path / "certificate.json"
    assert result.verdict.certificate is not None
    write_certificate(file, result.verdict.certificate, Pair(*known(result)))
    other = anonymize(CONTROL, result.original, k=k, x=3, trials=1, **options)
    verdict = verify(*known(other), CONTROL, k=k, x=3, certificate=file)
    assert not verdict.holds
    assert verdict["certificate"].witnesses[0].startswith("it is of another release: ")
    assert verdict.certificate is None
    assert verify(*known(other), CONTROL, k=k, x=3).holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "certificate.json:1: is no certificate: it ends early or was edited"),
        (
            '{"format": 1, "k": 2,\n "vert',
            "certificate.json:2: is no certificate: it ends early or was edited",
        ),
        ("[]", "the entry 'format' is missing"),
        ('{"format": 7}', "has format 7, but this version reads 1"),
        ('{"format": 1}', "the entry 'k' is missing"),
        ('{"format": 1, "k": 3.9}', "3.9 is no whole number"),
        ('{"format": true}', "has format True, but this version reads 1"),
        ("[" * 100_000, "is no certificate"),
    ],
)
def test_a_file_that_is_no_certificate(made: Anonymization, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "certificate.json").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError) as error:
        read_certificate(tmp_path, Pair(*known(made)))
    assert words in str(error.value)
    assert "certificate.json" in str(error.value)


def edited(made: Anonymization, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    assert made.verdict.certificate is not None
    write_certificate(path, made.verdict.certificate, Pair(*known(made)))
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["donors"][0]["blocks"][0][0].pop(), "some rows of vertices do not have the form"),
        (lambda d: d["donors"][0]["blocks"][0][0].__setitem__(0, 10**6), "vertices are numbered from 0 to"),
        (lambda d: d["donors"][0]["blocks"][0][0].__setitem__(0, -1), "vertices are numbered from 0 to"),
        (lambda d: d["donors"][0]["blocks"][0][0].__setitem__(0, 0.5), "do not have the form"),
        (lambda d: d["donors"][0].__setitem__("x", 0), "x = 0 is no number of vertices"),
        (lambda d: d["donors"][0].pop("images"), "the entry 'images' is missing"),
        (lambda d: d.__setitem__("copies", [[0]]), "do not have the form"),
        (lambda d: d.__setitem__("donors", 3), "is no certificate"),
    ],
)
def test_an_edited_file(made: Anonymization, tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        read_certificate(edited(made, tmp_path / "c.json", change), Pair(*known(made)))


@settings(max_examples=inputs(40), deadline=None)
@given(data=st.data())
def test_no_forgery_makes_a_bad_release_hold(made: Anonymization, data: st.DataObject) -> None:
    """A release that lacks a synthetic edge, and a certificate with vertices changed at random."""
    original, released, mapping = known(made)
    own = released.relations["own"]
    drop = data.draw(st.integers(0, len(own) - 1))
    keep = np.arange(len(own)) != drop
    from dataclasses import replace

    weight = None if own.weight is None else own.weight[keep]
    bad = replace(
        released,
        relations={"own": replace(own, source=own.source[keep], target=own.target[keep], weight=weight)},
    )
    searched = verify(original, bad, mapping, CONTROL, k=2, x=3)
    assert made.verdict.certificate is not None
    donors = []
    for d in made.verdict.certificate.donors:
        blocks = [b.copy() for b in d.blocks]
        for _ in range(data.draw(st.integers(0, 3))):
            block = blocks[data.draw(st.integers(0, len(blocks) - 1))]
            block[data.draw(st.integers(0, len(block) - 1)), data.draw(st.integers(0, d.size - 1))] = (
                data.draw(st.integers(0, released.n - 1))
            )
        donors.append(Donors(d.size, tuple(blocks), d.targets, d.images))
    verdict = verify(original, bad, mapping, CONTROL, k=2, x=3, certificate=Certificate(2, tuple(donors)))
    assert searched.holds or not verdict.holds
    assert verdict["images"].holds <= searched["images"].holds


def test_the_command_takes_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from kgreason.cli import app

    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    own = tmp_path / "own.csv"
    own.write_text("s,t,w\nA,B,0.6\nB,C,0.3\nD,C,0.6\nC,E,0.9\nE,F,0.2\n", encoding="utf-8")
    rules = ["--rules", str(CONTROL)]
    made = run(app, ["anonymize", *rules, "--data", f"own={own}", "-k", "2", "-x", "2"])
    assert made.exit_code == 0, made.output
    words = [
        "verify",
        "release",
        "--data",
        f"own={own}",
        *rules,
        "--mapping",
        "private",
        "-k",
        "2",
        "-x",
        "2",
    ]
    done = run(app, [*words, "--certificate", "private"])
    assert done.exit_code == 0, done.output
    assert "files, certificate, images" in done.output
    table = tmp_path / "release" / "own.csv"
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join([header, *rows[::-1]]) + "\n", encoding="utf-8")
    found = run(app, [*words, "--certificate", "private", "--json"])
    assert found.exit_code == 1, "of a folder, each file is to the byte as it was written"
    items = {item["name"]: item for item in json.loads(found.stdout)["items"]}
    assert "own.csv: not as it was written" in items["files"]["witnesses"][0]
    words[1] = "release/own.csv"
    found = run(app, [*words, "--certificate", "private", "--json"])
    assert found.exit_code == 0, found.output
    items = {item["name"]: item for item in json.loads(found.stdout)["items"]}
    assert items["files"]["detail"].endswith("own.csv: reordered rows")
    words[1] = "release"
    ends, _, weight = rows[0].rpartition(",")
    lighter = f"{ends},{float(weight) / 2:.4f}"
    table.write_text("\n".join([header, *rows, lighter]) + "\n", encoding="utf-8")
    found = run(app, [*words, "--certificate", "private"])
    assert found.exit_code == 1
    assert "own.csv: added rows" in found.output or "added rows: there are 1 more lines" in found.output
    table.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    elsewhere = tmp_path / "x.csv"
    elsewhere.write_text("\n".join([header, lighter, *rows[1:]]) + "\n", encoding="utf-8")
    words[1] = str(elsewhere)
    found = run(app, [*words, "--certificate", "private"])
    assert found.exit_code == 1
    assert "x.csv:2: edited weights" in found.output, (
        "a table is compared with what was written, whatever its name is"
    )
    words[1] = "release"
    secret = (tmp_path / "private" / "mapping.csv").read_text(encoding="utf-8").splitlines()
    first, second = (line.split(",") for line in secret[1:3])
    swapped = [secret[0], f"{first[0]},{second[1]}", f"{second[0]},{first[1]}", *secret[3:]]
    other = tmp_path / "other.csv"
    other.write_text("\n".join(swapped) + "\n", encoding="utf-8")
    words[words.index("private")] = str(other)
    found = run(app, [*words, "--certificate", "private"])
    assert "swapped mapping" in found.output
    words[words.index(str(other))] = "private"
    bare = json.loads((tmp_path / "private" / "certificate.json").read_text(encoding="utf-8"))
    (tmp_path / "bare.json").write_text(json.dumps(bare | {"files": []}), encoding="utf-8")
    found = run(app, [*words, "--certificate", "bare.json"])
    assert found.exit_code == 1
    assert "the certificate holds no imprint of files" in found.output
    missing = run(app, [*words, "--certificate", "privat"])
    assert missing.exit_code == 2
    assert "privat: cannot be read: No such file or directory" in missing.output
    sampled = run(app, [*words, "--certificate", "private", "--sample", "3"])
    assert sampled.exit_code == 2
    assert "a certificate shows all subgraphs" in sampled.output
    assert read_graph(CONTROL, {"own": own}).n == 6
