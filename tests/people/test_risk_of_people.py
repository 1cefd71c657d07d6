"""Risks of users before any anonymization, the k recommended to them, and what their k tells of their data."""

from __future__ import annotations

import json
import stat
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, CallError
from kgreason.cli import app
from kgreason.people import PeopleGraph
from kgreason.people.anonymity_levels import te_levels, zipf_levels
from kgreason.people.anonymizers.losses import AttributeDegreeLoss
from kgreason.people.level_dependence import _groups, _holm, _ranks, _statistics, dependences
from kgreason.people.recommended_levels import recommended
from kgreason.people.user_risks import PeopleRisk, seen_in
from tests.examples import inputs
from tests.folders import ROOT
from tests.people.test_reading_people import FREEBASE, authors_levels, numbered, real

RNG = np.random.default_rng
EXAMPLE = ROOT / "examples" / "people"


def people(draw: st.DrawFn, least: int = 1) -> PeopleGraph:
    users = [f"u{i}" for i in range(draw(st.integers(least, 9)))]
    user = st.sampled_from(users)
    jobs = st.tuples(user, st.just("job"), st.sampled_from(["nurse", "clerk", "cook"]))
    ages = st.tuples(user, st.just("age"), st.sampled_from(["20", "30", "70"]))
    links = st.tuples(user, st.sampled_from(["knows", "likes"]), user)
    return PeopleGraph.from_triples(
        users,
        draw(st.lists(st.one_of(jobs, ages), max_size=18)),
        [link for link in draw(st.lists(links, max_size=12)) if link[0] != link[2]],
        numeric=["age"],
        relations=["knows"],
    )


@st.composite
def graphs(draw: st.DrawFn) -> PeopleGraph:
    return people(draw)


def values_of(graph: PeopleGraph, name: str) -> list[frozenset[str]]:
    one = graph.attributes[name]
    return [
        frozenset(t for v, t in zip(one.user.tolist(), one.domain[one.value], strict=True) if v == u)
        for u in range(graph.n)
    ]


def plain_knowledge(graph: PeopleGraph, levels: Sequence[int]) -> dict[str, list[object]]:
    """What is known of each user, in plain Python."""
    links: list[object] = [
        tuple(((r.source == u).sum(), (r.target == u).sum()) for r in graph.relations.values())
        for u in range(graph.n)
    ]
    found = {"numbers of links": links}
    single = {name: values_of(graph, name) for name in graph.attributes}
    if len(single) > 1:
        found |= {f"values of {name}": list(of) for name, of in single.items()}
    last = "numbers of links"
    if single:
        values: list[object] = list(zip(*single.values(), strict=True))
        last = "values and numbers of links"
        found |= {"values": values, last: list(zip(values, links, strict=True))}
    return found | {
        f"{last.replace(' and numbers of', ',')} and k": list(zip(found[last], levels, strict=True))
    }


@settings(max_examples=inputs(100), deadline=None)
@given(graphs(), st.lists(st.integers(1, 3), min_size=9, max_size=9))
def test_candidates_are_those_of_a_plain_count(graph: PeopleGraph, k: list[int]) -> None:
    levels = np.array(k[: graph.n])
    found = PeopleRisk(graph, levels, seen_in(graph, levels))
    plain = plain_knowledge(graph, k[: graph.n])
    assert [one.knowledge for one in found.seen] == [*plain]
    for one in found.seen:
        known = plain[one.knowledge]
        assert one.before is not None
        candidates = one.before.candidates.tolist()
        assert candidates == [known.count(of) for of in known]
        assert found.at_risk(one.before) == sum(c < k[u] for u, c in enumerate(candidates))
    assert found.risks.tolist() == [1 / known.count(of) for of in known]  # Definition 8, for all knowledge


# Chapter 4 of the thesis, Figure 4.1; the figure is not in its text, which fixes the graphs up to their labels

AGES = {"user:0": "18", "user:1": "40", "user:2": "19", "user:3": "50"}
JOBS = dict(zip(AGES, ["Student", "Professor"] * 2, strict=True))
LINKS = [
    ("user:0", "follows", "user:1"),
    ("user:2", "follows", "user:3"),
    ("user:1", "is_tutor", "user:0"),
    ("user:3", "is_tutor", "user:2"),
]
ALIKE = {u: [v for v in AGES if JOBS[v] == JOBS[u]] for u in AGES}


def figure(ages: Sequence[tuple[str, str]]) -> PeopleGraph:
    values = [(u, "age", age) for u, age in ages] + [(u, "job", job) for u, job in JOBS.items()]
    return PeopleGraph.from_triples(AGES, values, LINKS, numeric=["age"])


def test_definition_8_in_examples_7_and_8() -> None:
    """Equal degrees hide nobody whose age is known; equal information leaves a risk of one half."""
    degrees, *_, everything = (one.before for one in kgreason.people.risk(figure([*AGES.items()])).seen)
    assert degrees is not None
    assert everything is not None
    assert degrees.candidates.tolist() == [2, 2, 2, 2]
    assert everything.candidates.tolist() == [1, 1, 1, 1]
    both = kgreason.people.risk(figure([(u, AGES[v]) for u in AGES for v in ALIKE[u]]), k=2)
    assert both.risks.tolist() == [0.5] * 4
    assert both.at_risk(both.strongest) == 0


# Recommended k


def plain_recommended(graph: PeopleGraph, confidence: Fraction, sensitive: list[str]) -> list[int]:
    n, least = graph.n, ceil(1 / confidence)
    far = AttributeDegreeLoss(graph).between(np.arange(n))
    held = {name: values_of(graph, name) for name in sensitive}

    def fine(u: int, size: int) -> bool:
        order = [u, *(v for v in np.argsort(far[u], kind="stable").tolist() if v != u)][:size]
        return all(
            Fraction(sum(t in of[v] for v in order), size)
            <= max(confidence, Fraction(sum(t in has for has in of), n))
            for of in held.values()
            for t in of[u]
        )

    def enough(u: int) -> int:
        for k in range(least, min(10 * least, n) + 1):
            if all(fine(u, size) for size in range(k, min(2 * k - 1, n) + 1)):
                return k
        return 0

    return [enough(u) for u in range(n)]


@settings(max_examples=inputs(100), deadline=None)
@given(
    graphs(), st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(2, 5), Fraction(1, 3), Fraction(1, 5)])
)
def test_recommended_k_are_those_of_the_definition(graph: PeopleGraph, confidence: Fraction) -> None:
    names = [*graph.attributes]
    if ceil(1 / confidence) > graph.n:
        with pytest.raises(AnonymizationError, match=f"more users than the {graph.n} of the graph"):
            recommended(graph, float(confidence), names)
        return
    found = recommended(graph, float(confidence), names)
    assert str(PeopleRisk(graph, found.k, seen_in(graph), found))
    assert found.k.tolist() == plain_recommended(graph, confidence, names)
    assert found.least == ceil(1 / confidence)
    assert ((found.k == 0) | (found.k >= found.least)).all()
    if found.most == graph.n:  # a class of everybody tells nothing
        assert not len(found.without)
    assert recommended(graph, float(confidence)).k.tolist() == [found.least] * graph.n


@pytest.mark.parametrize(
    ("confidence", "least"),
    [(0.1, 10), (0.2, 5), (0.3, 4), (1 / 3, 3), (0.34, 3), (1.0, 1), (0.999, 2), (1 / 49, 49), (1 / 50, 50)],
)
def test_the_least_k_is_exact(confidence: float, least: int) -> None:
    graph = PeopleGraph.from_triples(map(str, range(50)), [])
    assert set(recommended(graph, confidence).k.tolist()) == {least}


@pytest.mark.parametrize("confidence", [1 / 51, 1e-9, 1e-320])
def test_a_confidence_below_one_over_the_users_is_refused(confidence: float) -> None:
    graph = PeopleGraph.from_triples(map(str, range(50)), [])
    with pytest.raises(AnonymizationError, match="needs more users than the 50 of the graph") as raised:
        recommended(graph, confidence)
    assert "1/50" in str(raised.value.hint)


def test_many_values_are_examined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(100, RNG(3))
    whole = recommended(graph, 0.5, ["job"])
    monkeypatch.setattr("kgreason.people.recommended_levels.EXAMINED", 100)
    assert recommended(graph, 0.5, ["job"]).k.tolist() == whole.k.tolist()
    assert len(set(whole.k.tolist())) > 2


# Dependence of k on the data


def random_graph(n: int, rng: np.random.Generator) -> PeopleGraph:
    users = [f"u{i}" for i in range(n)]
    values = [(u, "job", f"job{rng.integers(6)}") for u in users for _ in range(rng.integers(1, 6))]
    values += [(u, "age", str(rng.integers(20, 80))) for u in users if rng.random() < 0.8]
    ends = rng.integers(0, n, size=(2, 3 * n))
    ends[0, : n // 2] //= 20  # some have many links
    links = [(users[a], "knows", users[b]) for a, b in ends.T.tolist() if a != b]
    return PeopleGraph.from_triples(users, values, links, numeric=["age"])


def test_levels_by_edges_depend_on_the_data_and_random_ones_do_not() -> None:
    graph = random_graph(300, RNG(1))
    found = dependences(graph, te_levels(graph, 2, 5, 1), RNG(0))
    seen = {one.what: one for one in found if one.significant}
    assert seen["outgoing links of knows"].correlation == pytest.approx(0.5, abs=0.3)
    assert str(seen["outgoing links of knows"]).startswith("k rises with outgoing links of knows (rank")
    assert "incoming links of knows" in {one.what for one in found}
    for seed in range(5):
        drawn = zipf_levels(graph, 2, 5, 1, 2.0, RNG(100 + seed))
        assert [str(one) for one in dependences(graph, drawn, RNG(0)) if one.significant] == []


def test_a_k_of_some_job_and_one_that_falls_with_age_are_found() -> None:
    users = [f"u{i}" for i in range(60)]
    jobs = [(u, "job", "politician" if i % 6 == 0 else f"job{i % 4}") for i, u in enumerate(users)]
    ages = [(u, "age", str(20 + i)) for i, u in enumerate(users)]
    graph = PeopleGraph.from_triples(users, jobs + ages, numeric=["age"])
    by_job = np.array([9 if i % 6 == 0 else 2 + i % 2 for i in range(60)])
    told = [str(one) for one in dependences(graph, by_job, RNG(0)) if one.significant]
    assert len(told) == 1
    assert told[0].startswith("k depends on job: users with 'politician' have 9.00 on average, all ")
    told = [str(one) for one in dependences(graph, np.arange(60, 0, -1), RNG(0)) if one.significant]
    assert told == ["k falls with age (rank correlation -1.00, p = 0.002)"]
    assert dependences(graph, np.full(60, 3), RNG(0)) == ()


@pytest.mark.parametrize(
    ("name", "least"),
    # te: values and links in both directions of all three relations, and all but one of ten attributes
    [("te_5-50-5_0", 16), ("zipf_2-5-1-2_0", 0)],
)
def test_the_levels_of_the_authors(real_data: Path, tmp_path: Path, name: str, least: int) -> None:
    """Those by edges tell of the data, random ones do not."""
    said = FREEBASE.split("[[names]]")[0] + '[kinds]\nrelations = ["9", "10", "11"]\nothers = "categorical"\n'
    graph, ids = real(said, real_data, tmp_path), numbered(real_data, "freebase")
    authors = {ids[user]: k for user, k in authors_levels(real_data, f"freebase_{name}").items()}
    k = np.array([authors[label] for label in graph.labels])
    found = [one for one in dependences(graph, k, RNG(0)) if one.significant]
    assert len(found) == least
    assert all(one.correlation > 0.2 for one in found if one.correlation is not None)


@pytest.mark.slow
def test_recommended_k_hide_more_values_than_the_least_k(real_data: Path, tmp_path: Path) -> None:
    """An estimate: the confidence holds for most, but not for all users who have a recommended k."""
    graph = real(FREEBASE, real_data, tmp_path)
    found = recommended(graph, 0.2, ["religion"])
    held = {}
    for name, k in (("recommended", np.where(found.k > 0, found.k, found.most)), ("least", found.k * 0 + 5)):
        own = dict(zip(graph.labels.tolist(), k.tolist(), strict=True))
        made = kgreason.people.anonymize(graph, k_values=own, seed=1)
        asked = {"k_values": own, "sensitive": ["religion"], "confidence": 0.2}
        attack = kgreason.people.attack(graph, made.release.graph, made.release.mapping, **asked)
        assert attack.holds  # identity is guaranteed
        (belief,) = attack.beliefs
        some = np.intersect1d(belief.users, np.flatnonzero(found.k))
        held[name] = 1 - len(np.intersect1d(belief.above, some)) / len(some)
    assert held["recommended"] > 0.6
    assert held["least"] < 0.3


def test_of_many_users_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgreason.people.level_dependence.MOST", 200)
    monkeypatch.setattr("kgreason.people.level_dependence.HELD", 1000)
    graph = random_graph(300, RNG(1))
    k = te_levels(graph, 2, 5, 1)
    whole = {one.what for one in dependences(graph, k, RNG(0))}
    assert whole == {
        "the number of values",
        "outgoing links of knows",
        "incoming links of knows",
        "age",
        "job",
    }
    assert any(one.significant for one in dependences(graph, k, RNG(0)))


@settings(max_examples=inputs(50), deadline=None)
@given(graphs(), st.lists(st.integers(1, 4), min_size=9, max_size=9))
def test_statistics_are_those_of_plain_sums(graph: PeopleGraph, k: list[int]) -> None:
    from scipy.stats import spearmanr

    if "job" not in graph.attributes or graph.n < 3 or len(set(k[: graph.n])) < 2:
        return
    n, ranks = graph.n, _ranks(np.array(k[: graph.n], dtype=np.float64))
    groups = _groups(graph.attributes["job"], n)
    jobs = values_of(graph, "job")
    total = 0.0
    for value in [*sorted(frozenset().union(*jobs)), None]:
        of = [u for u in range(n) if (not jobs[u] if value is None else value in jobs[u])]
        if 1 < len(of) < n:
            total += ranks[of].sum() ** 2 / (len(of) * (n - len(of)) / (n * (n - 1)))
    assert _statistics(np.empty((0, n)), [groups], ranks[:, None])[0, 0] == pytest.approx(total)
    counts = np.array([len(of) for of in jobs], dtype=np.float64)
    if len(set(counts)) > 1:
        assert _ranks(counts) @ ranks == pytest.approx(spearmanr(counts, k[:n]).statistic)


@settings(max_examples=inputs(50), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_its_definition(p: list[float]) -> None:
    order = sorted(range(len(p)), key=lambda i: p[i])
    plain = [0.0] * len(p)
    for place, i in enumerate(order):
        plain[i] = max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(place + 1))
    assert _holm(np.array(p)).tolist() == pytest.approx(plain)


# The command


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


SCHEMA = EXAMPLE / "people.toml"


def test_the_command(tmp_path: Path) -> None:
    out, levels = tmp_path / "risks.csv", tmp_path / "k.csv"
    done = run(
        *("people", "risk", SCHEMA, "--k-values", EXAMPLE / "k.csv", "--confidence", "0.25"),
        *("--sensitive", "job", "--exposed", 2, "--out", out, "--k-out", levels),
    )
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "60 users, before any anonymization"
    assert lines[2].split()[:3] == ["an", "attacker", "knows"]
    assert any(line.startswith("values, links and k") for line in lines)
    assert "guaranteed: with k = 4 no user is found with a confidence above 0.25" in lines
    assert "  k = 4: 3 users" in lines
    assert "  k = 13 to 22: 1 user" in lines
    assert "these k depend on the values: keep them secret" in lines
    assert lines[-3].startswith("most exposed")
    assert "keep this output secret" in done.stderr
    header, *rows = (line.split(",") for line in out.read_text(encoding="utf-8").splitlines())
    assert header[:2] == ["user", "k"]
    assert header[-2:] == ["risk", "recommended k"]
    assert len(rows) == 60
    assert [stat.S_IMODE(place.stat().st_mode) for place in (out, levels)] == [0o600, 0o600]
    found = dict(line.split(",") for line in levels.read_text(encoding="utf-8").splitlines()[1:])
    assert {row[0]: row[-1] for row in rows if row[-1] != "0"} == found
    assert set(map(int, found.values())) > {4}
    folders = "--release", tmp_path / "r", "--private", tmp_path / "p"
    assert run("people", "anonymize", SCHEMA, "--k-values", levels, "-k", 9, *folders).exit_code == 0
    again = run("people", "risk", SCHEMA, "--out", out)
    assert again.exit_code == 2
    assert "use --force to replace it" in again.stderr
    out.chmod(0o644)
    assert run("people", "risk", SCHEMA, "--out", out, "--force").exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_the_command_as_json_names_nobody_unless_asked() -> None:
    told = json.loads(run("people", "risk", SCHEMA, "--confidence", "0.2", "--json").stdout)
    assert told["recommended"] == {
        "confidence": 0.2,
        "sensitive": [],
        "least": 5,
        "most": 50,
        "k": {"5": 60},
        "none_suffices": 0,
    }
    assert [one["knowledge"] for one in told["risks"]][-1] == "values and numbers of links"
    assert "exposed" not in told
    assert told["dependences"] is None
    told = json.loads(run("people", "risk", SCHEMA, "--exposed", 1, "--json").stdout)
    assert len(told["exposed"]) == 1
    asked = "people", "risk", SCHEMA, "--confidence", "0.25", "--sensitive", "job"
    assert json.loads(run(*asked, "--json").stdout)["recommended"]["none_suffices"] == 16
    assert "  no k up to 40 suffices: 16 users" in run(*asked).stdout.splitlines()
    for more in ((), ("--json",)):
        said = run(*asked, *more).stdout
        assert not any(user in said for user in kgreason.people.read(SCHEMA).labels)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sensitive", "job"), "--sensitive has no meaning without --confidence"),
        (("--k-out", "k.csv"), "--k-out has no meaning without --confidence"),
        (("--confidence", "0"), "a confidence is above 0 and at most 1, not 0"),
        (("--confidence", "1.5"), "a confidence is above 0 and at most 1, not 1.5"),
        (("--confidence", "nan"), "a confidence is above 0 and at most 1, not nan"),
        (("--confidence", "0.01"), "a confidence of 0.01 needs more users than the 60 of the graph"),
        (("--confidence", "0.2", "--sensitive", "jobs"), "there is no attribute 'jobs'"),
        (("--out", "nowhere/risks.csv"), "there is no folder nowhere"),
        (("--confidence", "0.2", "--out", "a.csv", "--k-out", "a.csv"), "name one file"),
        (("--confidence", "0.2", "--out", "a.csv", "--k-out", "."), ". is a folder"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("people", "risk", SCHEMA, *words)
    assert not [*tmp_path.iterdir()]
    assert done.exit_code == 2
    assert said in done.stderr
    assert "help:" in done.stderr


def test_wrong_calls_from_python() -> None:
    graph = PeopleGraph.from_triples(["a"], [])
    with pytest.raises(AnonymizationError, match="sensitive attributes need a confidence"):
        kgreason.people.risk(graph, sensitive=["job"])
    with pytest.raises(AnonymizationError, match="the graph has no users"):
        kgreason.people.risk(PeopleGraph.from_triples([], []))
    with pytest.raises(AnonymizationError, match="sensitive is a list of attributes, not one name"):
        kgreason.people.risk(graph, sensitive="job", confidence=1)
    with pytest.raises(AnonymizationError, match="a confidence is above 0 and at most 1, not '0"):
        kgreason.people.risk(graph, confidence="0.2")
    for levels in ({"k": 10**19}, {"k_values": {"a": 10**19}}):
        with pytest.raises(AnonymizationError, match="must be at most 9,223,372,036,854,775,807, not 10,000"):
            kgreason.people.risk(graph, **levels)
    with pytest.raises(CallError, match="not of type list"):
        kgreason.people.risk([])
    assert kgreason.people.risk(graph).risks.tolist() == [1.0]
    assert str(kgreason.people.risk(graph)).startswith("1 user, before any anonymization")


def test_many_attributes_are_shown_by_their_unique_users() -> None:
    users = [f"u{i}" for i in range(4)]
    values = [(u, f"a{j:02}", u if j in (3, 24) else "same") for u in users for j in range(25)]
    found = kgreason.people.risk(PeopleGraph.from_triples(users, values))
    text = str(found)
    assert "values of a03" in text
    assert "values of a24" in text
    assert "further attributes, with fewer unique users: 5" in text
    assert Counter(one.knowledge.startswith("values of") for one in found.seen)[True] == 25
