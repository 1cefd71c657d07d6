"""Partial removal by degrees: against sorting all links, and the checker's decision."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, DataError
from kgreason.cli import app
from kgreason.links.anonymizers import apply, removed_links
from kgreason.links.folder import read_released
from kgreason.links.left_links import Source
from kgreason.links.model import LinkGraph, Observations, Original, Released, observations
from kgreason.links.school import school
from kgreason.links.verification import verify_links
from tests.examples import inputs

Link = tuple[int, int, float]


def singly(found: Observations) -> list[Link]:
    """Every link with its weight, parallel ones several times."""
    weight = np.zeros(len(found)) if found.weight is None else found.weight
    rows = zip(found.source.tolist(), found.target.tolist(), weight.tolist(), strict=True)
    return [row for row, n in zip(rows, found.count.tolist(), strict=True) for _ in range(n)]


def products(links: list[Link]) -> dict[Link, int]:
    degree = Counter(end for u, v, _ in links for end in (u, v))
    return {(u, v, w): degree[u] * degree[v] for u, v, w in links}


@st.composite
def relations(draw: st.DrawFn) -> Observations:
    n = 7
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1])
    pairs = np.array(draw(st.lists(ends, min_size=1, max_size=20))).reshape(-1, 2)
    weight = None
    if draw(st.booleans()):
        weight = np.array([draw(st.sampled_from([0.1, 0.5])) for _ in pairs])
    return observations(pairs[:, 0], pairs[:, 1], mutual=draw(st.booleans()), weight=weight)


def of(found: Observations) -> LinkGraph:
    return LinkGraph(np.array([f"v{i}" for i in range(7)], dtype=object), {"knows": found})


def judged(original: LinkGraph, left: Observations, criterion: str = "degree") -> bool:
    names = np.array([f"r{i}" for i in range(7)], dtype=object)
    released = Released(LinkGraph(names, {"knows": left}), "partial", criterion)  # type: ignore[arg-type]
    return verify_links(released, source=Source(original, np.arange(7)))["links"].holds


@settings(max_examples=inputs(150), deadline=None)
@given(relations(), st.sampled_from([0.0, 10.0, 50.0, 80.0, 100.0]), st.integers(0, 9))
def test_the_links_of_the_largest_products_go(found: Observations, percent: float, seed: int) -> None:
    original = of(found)
    every = np.zeros(7, dtype=np.int64)
    graph, _ = apply(original, every, "partial", percent, np.random.default_rng(seed), "degree")
    before, after = singly(found), singly(graph.observed["knows"])
    product = products(before)
    ranked = sorted(map(product.__getitem__, before))
    assert not Counter(after) - Counter(before)
    assert (
        sorted(product[link] for link in after) == ranked[: len(before) - removed_links(len(before), percent)]
    )
    assert judged(original, graph.observed["knows"])
    assert graph.observed["knows"].mutual == found.mutual


@settings(max_examples=inputs(150), deadline=None)
@given(relations(), st.data())
def test_the_checker_decides_by_the_products(found: Observations, data: st.DataObject) -> None:
    """Any links are left; it is as it should be where none that is left has a larger product than a missing one."""
    links = singly(found)
    kept = data.draw(st.lists(st.booleans(), min_size=len(links), max_size=len(links)))
    left = [link for link, keep in zip(links, kept, strict=True) if keep]
    gone = Counter(links) - Counter(left)
    ends = np.array([link[:2] for link in left], dtype=np.int64).reshape(-1, 2)
    weight = None if found.weight is None else np.array([link[2] for link in left])
    remaining = observations(ends[:, 0], ends[:, 1], mutual=found.mutual, weight=weight)
    product = products(links)
    expected = all(product[a] <= product[b] for a in left for b in gone)
    assert judged(of(found), remaining) == expected
    assert judged(of(found), remaining, "random")


def test_ties_are_drawn_at_random() -> None:
    ring = observations(np.arange(6), (np.arange(6) + 1) % 6, mutual=True)
    left = Counter(
        link
        for seed in range(300)
        for link in singly(
            apply(
                of(ring), np.zeros(7, dtype=np.int64), "partial", 50, np.random.default_rng(seed), "degree"
            )[0].observed["knows"]
        )
    )
    assert len(left) == 6
    assert all(100 < count < 200 for count in left.values())


# --- commands -----------------------------------------------------------------------------


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


MUTUAL = ("--mutual", "classmates,groupmates,friends", "--sensitive", "friends")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("school") / "school.csv"
    assert run("links", "generate", "--students", 30, "--seed", 3, "--out", path).exit_code == 0
    return f"{path}?header=true"


def test_a_release_says_its_criterion(tmp_path: Path, table: str) -> None:
    release, private = tmp_path / "release", tmp_path / "private"
    asked = ("--strategy", "partial", "--criterion", "degree", "--percent", 40)
    folders = ("--release", release, "--private", private)
    made = run("links", "anonymize", table, *MUTUAL, *asked, *folders)
    assert made.exit_code == 0, made.stderr
    assert "partial, 40 % left out by degree" in made.stdout
    assert "holds: partial by degree" in made.stdout
    report = json.loads((private / "report.json").read_text(encoding="utf-8"))
    assert report["criterion"] == report["verdict"]["criterion"] == "degree"
    for name in ("README.txt", "report.html"):
        text = " ".join((release / name).read_text(encoding="utf-8").split())
        assert "the links with the largest product of the degrees of their ends were removed" in text
    assert (
        (release / "links.toml")
        .read_text(encoding="utf-8")
        .startswith('strategy = "partial"\ncriterion = "degree"\n')
    )
    judge = ("links", "verify", release)
    known = (*judge, "--original", table, *MUTUAL, "--mapping", private)
    assert run(*known, "--criterion", "degree", "--percent", 40).exit_code == 0
    assert run(*judge).exit_code == 0
    other = run(*judge, "--criterion", "random")
    assert other.exit_code == 1
    assert "links left out by degree, not by random" in other.stdout
    # another release by chance that says it is by degree
    assert (
        run("links", "anonymize", table, *MUTUAL, "--strategy", "partial", *folders, "--force").exit_code == 0
    )
    schema = release / "links.toml"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace('partial"\n', 'partial"\ncriterion = "degree"\n'), encoding="utf-8")
    found = run(*known)
    assert found.exit_code == 1
    assert "kept, though links of lower degrees are missing" in found.stdout
    for wrong, what in (
        ('strategy = "partial"\ncriterion = "age"', "unknown criterion 'age': there are random, degree"),
        ('strategy = "intact"\ncriterion = "degree"', "intact has no criterion, by which links are left out"),
    ):
        schema.write_text(text.replace('strategy = "partial"', wrong), encoding="utf-8")
        with pytest.raises(DataError, match=what) as error:
            read_released(release)
        assert error.value.line == 2
        assert "links.toml" in str(error.value)


def test_a_criterion_needs_links_that_are_left_out(table: str, tmp_path: Path) -> None:
    drawn: Original = school(np.random.default_rng(1), students=12)
    made = kgreason.links.anonymize(drawn)
    with pytest.raises(AnonymizationError, match="cluster-edge does not choose links to leave out"):
        kgreason.links.anonymize(drawn, criterion="degree")
    with pytest.raises(AnonymizationError, match="criterion has no effect: cluster-edge does not choose"):
        kgreason.links.verify(made.release.released, criterion="degree")
    with pytest.raises(AnonymizationError, match="unknown criterion 'age'"):
        kgreason.links.anonymize(drawn, strategy="partial", criterion="age")  # type: ignore[arg-type]
    folders = ["--release", tmp_path / "r", "--private", tmp_path / "p"]
    said = run("links", "anonymize", table, *MUTUAL, "--criterion", "degree", *folders)
    assert (said.exit_code, "leave criterion out, or choose partial" in said.stderr) == (2, True)
