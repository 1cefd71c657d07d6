"""What reports say: figures are those of verdicts and scores, and public ones know nothing of the original."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import ReleaseError
from kgreason.graph.knowledge_graph import KnowledgeGraph
from kgreason.isomorphism import report as rules_report
from kgreason.isomorphism.definition import Guarantee
from kgreason.isomorphism.folder import claim_of
from kgreason.isomorphism.reading import read_released
from kgreason.isomorphism.report_words import Promise, safe_private, safe_public, verdict_words
from kgreason.isomorphism.risk import candidate_counts
from kgreason.isomorphism.risk.candidate_counts import of_vertices
from kgreason.isomorphism.verification.verdict import Delta, Verdict
from kgreason.links import report as links_report
from kgreason.links.school import school
from kgreason.people import report as people_report
from kgreason.people.result import Claim
from kgreason.release.publication import Folders
from kgreason.release.report.candidate_tables import as_shown, by_classes
from kgreason.release.report.charts import Series, distribution
from kgreason.release.report.html_page import texts
from kgreason.release.report.report_data import (
    FILES,
    TERMS,
    Chart,
    Figure,
    Finding,
    Picture,
    Report,
    Section,
    Table,
    as_dict,
    from_dict,
    read_report,
    term_of,
)
from kgreason.release.report.sections import SHARED, files_section, state_words
from kgreason.release.verdicts import Item
from tests.examples import inputs
from tests.folders import ROOT

CONTROL = """
@node("company"). @edge("own"). @incoming_sum("own", 1.0). @output("control"). @derived("control"). @query("holder").
control(X, X) :- company(X).
control(X, Z) :- control(X, Y), own(Y, Z, W), V = msum(W, <Y>), V > 0.5.
holder(X) :- control(X, Y), X != Y.
"""
EDGES = [
    *((f"Canary{i}", f"Canary{i + 1}", 0.7) for i in range(9)),
    *((f"Canary{i}", f"Canary{2 * i + 12}", 0.3) for i in range(5)),
]
NAMES = {end for source, target, _ in EDGES for end in (source, target)}
SEED = 481_516


def figures(report: Report) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for section in report.sections:
        for item in section.items:
            if isinstance(item, Figure):
                found.setdefault(item.name, item)
    return found


def items(report: Report) -> Iterator[Any]:
    return (item for section in report.sections for item in section.items)


def table(report: Report, title: str) -> Table:
    return next(item for item in items(report) if isinstance(item, Table) and item.title.startswith(title))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[kgreason.Anonymization, Folders]:
    place = tmp_path_factory.mktemp("rules")
    folders = Folders(place / "release", place / "private")
    data = {"own": EDGES}
    made = kgreason.anonymize(CONTROL, data, method="klone", k=2, x=3, trials=2, seed=SEED, folders=folders)
    return made, folders


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Folders]:
    place = tmp_path_factory.mktemp("people")
    folders = Folders(place / "release", place / "private")
    names = [f"Canary{i}" for i in range(12)]
    graph = kgreason.people.PeopleGraph.from_triples(
        names,
        [(name, "job", "cook" if i % 3 else "nurse") for i, name in enumerate(names)]
        + [(name, "age", str(20 + i // 4)) for i, name in enumerate(names)],
        [(names[i], "follows", names[(i * i + 1) % 12]) for i in range(12) if (i * i + 1) % 12 != i],
        numeric=["age"],
    )
    made = kgreason.people.anonymize(graph, method="pckga", k=3, seed=SEED, folders=folders)
    return made, folders


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Folders]:
    place = tmp_path_factory.mktemp("links")
    folders = Folders(place / "release", place / "private")
    drawn = school(np.random.default_rng(1), students=24, classes=6, groups=6)
    return kgreason.links.anonymize(drawn, k=4, seed=SEED, folders=folders), folders


FAMILIES = ("released", "users", "observed")


@pytest.mark.parametrize("family", FAMILIES)
def test_both_folders_hold_the_page_and_its_data(family: str, request: pytest.FixtureRequest) -> None:
    made, folders = request.getfixturevalue(family)
    for folder, secret in ((folders.private, True), (folders.release, False)):
        found = read_report(folder / "report.json")
        assert found.secret is secret
        assert kgreason.report_page(found) == (folder / "report.html").read_text(encoding="utf-8")
    page = read_report(folders.private / "report.json")
    again = kgreason.report(made)
    times = [s for s in page.sections if s.title != "The run"]
    assert times == [s for s in again.sections if s.title != "The run"]
    assert page.parameters == again.parameters
    assert json.loads((folders.private / "report.json").read_text(encoding="utf-8"))["verdict"]["holds"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_public_report_tells_nothing_of_the_original_or_the_machine(
    family: str, request: pytest.FixtureRequest
) -> None:
    made, folders = request.getfixturevalue(family)
    labels = made.original.graph.labels if family == "observed" else made.original.labels
    private = "".join(
        (folders.private / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "json")
    )
    assert str(SEED) in private  # else what follows shows nothing
    for kind in ("html", "json"):
        text = (folders.release / f"report.{kind}").read_text(encoding="utf-8")
        for secret in (
            *labels,
            "Canary",
            str(SEED),
            str(folders.release.parent),
            "friends",
            "numpy",
            "python",
        ):
            assert str(secret) not in text, secret
    told = read_report(folders.release / "report.json")
    assert dict(told.parameters) == {"kgreason": kgreason.__version__}
    assert not {"U", "U△", "AIL", "told", "synthetic", "fidelity"} & {
        getattr(i, "term", "") for i in items(told)
    }
    assert {type(item) for item in items(told)} <= {Figure, Table, Chart}, "neither pictures nor witnesses"
    assert all(not item.before for item in items(told) if isinstance(item, Chart | Figure))


@pytest.mark.parametrize(
    "make",
    [rules_report.public_report, people_report.public_report, links_report.public_report],
    ids=["rules", "people", "links"],
)
def test_public_reports_cannot_know_the_original(make: Callable[..., Report]) -> None:
    assert not {"original", "mapping", "result", "seed", "program"} & set(inspect.signature(make).parameters)


def test_the_public_report_is_a_function_of_what_is_published(
    released: tuple[kgreason.Anonymization, Folders],
) -> None:
    _, folders = released
    program = kgreason.load(folders.release / "rules.vada")
    from kgreason.data.sources import SourceSpec

    graph = read_released(program, {"own": [SourceSpec(folders.release / "own.csv")]})
    text = (folders.release / "README.txt").read_text()
    claim = claim_of(text)
    assert claim is not None
    promise = Promise.of(claim.guarantee, "every x", ("own",), ("control",), claim.synthetic)
    names = [path.name for path in folders.release.iterdir()]
    told = rules_report.public_report(graph, promise, confirmed=True, seeded=True, files=names)
    assert texts(folders.release, told) == {
        name: (folders.release / name).read_bytes() for name in ("report.html", "report.json")
    }


@pytest.mark.parametrize("method", ["ckga", "pckga", "ctkga", "cdga"])
def test_the_public_report_of_people_is_a_function_of_what_is_published(tmp_path: Path, method: Any) -> None:
    names = [f"Canary {i}" for i in range(9)]
    values = (
        [] if method == "cdga" else [(n, "job", "cook" if i % 3 else "nurse") for i, n in enumerate(names)]
    )
    follows = [(names[i], "follows", names[(i * i + 1) % 9]) for i in range(9) if (i * i + 1) % 9 != i]
    graph = kgreason.people.PeopleGraph.from_triples(names, values, follows)
    folders = Folders(tmp_path / "release", tmp_path / "private")
    own = {name: 1 + i % 3 for i, name in enumerate(names)} if method == "pckga" else None
    made = kgreason.people.anonymize(
        graph, method=method, k=None if own else 2, k_values=own, folders=folders
    )
    assert made.holds
    published = kgreason.people.read(folders.release / "people.toml")
    files = [path.name for path in folders.release.iterdir()]
    readme = (folders.release / "README.txt").read_text(encoding="utf-8")
    assert made.verdict.asked in readme
    told = people_report.public_report(published, Claim.of(made), confirmed=True, seeded=False, files=files)
    for name, text in texts(folders.release, told).items():
        assert (folders.release / name).read_bytes() == text
        assert b"Canary" not in text


def test_each_file_of_links_is_told_for_what_it_is() -> None:
    section = files_section(["links.csv", "links.toml", "nodes.tsv", "report.html"], FILES["links"])
    (files,) = section.items
    assert isinstance(files, Table)
    told = {str(row[0]): str(row[1]) for row in files.rows}
    assert told["links.csv"] == "links between nodes"
    assert told["links.toml"].startswith("the schema of the tables")
    assert told["nodes.tsv"].startswith("the nodes")
    assert told["report.html"].startswith("this report")


def test_the_owners_figures_are_those_of_verdict_and_score(
    released: tuple[kgreason.Anonymization, Folders],
) -> None:
    made, _ = released
    report, score = kgreason.report(made), made.score
    found = figures(report)
    assert made.verdict.delta is not None
    assert found["δ-anonymity"].number == made.verdict.delta.value
    assert (found["U"].number, found["U△"].number) == (score.utility.u, score.utility.u_symmetric)
    assert found["Distance of degrees"].number == score.fidelity.degree
    assert found["Vertices"].before == f"{made.original.n:,}"
    told = [item for item in items(report) if isinstance(item, Finding)]
    assert {(f.name, f.state, f.detail) for f in told} == {
        (i.name, i.state, i.detail) for i in made.verdict.items
    }
    for title, counted in (
        ("Answers", score.utility.per_query),
        ("Derived edges", score.utility.per_derived),
    ):
        rows = {row[0]: row for row in table(report, title).rows}
        assert [*rows] == [*counted]
        for name, q in counted.items():
            assert rows[name][1:5] == tuple(map(str, (q.original, q.released, q.lost, q.gained)))
            shares = q.precision, q.recall, q.u, q.u_symmetric
            assert rows[name][5:] == tuple(f"{share:.3f}" for share in shares)
    assert found["Precision pooled"].number == score.utility.pooled.precision
    assert report.warnings == (SHARED["seeded"],)
    assert report.safe != SHARED["seeded"]


def test_answers_are_named_by_the_original(tmp_path: Path) -> None:
    original = KnowledgeGraph.from_edges([("Ann", "Bob", 0.9), ("Cem", "Dan", 0.9)], relation="own")
    made = KnowledgeGraph.from_edges([("p", "q", 0.9), ("r", "s", 0.1), ("t", "p", 0.8)], relation="own")
    program = kgreason.load(CONTROL)
    mapping = np.array([0, 1, 2, 3])
    score = kgreason.score(original, made, mapping, program)
    from kgreason.isomorphism.report import examples

    (found,) = examples(score.utility, original, made, mapping, program)
    assert set(found.rows) == {("holder(Cem)", "lost"), ("holder(t (synthetic))", "gained")}


# risks


@st.composite
def published(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Classes of the original, classes of the release, and the place of each original there (-1: none)."""
    own = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    more = draw(st.lists(st.integers(0, 4), max_size=3))
    changed = draw(st.lists(st.integers(-1, 4), min_size=len(own), max_size=len(own)))
    shift = draw(st.integers(0, len(own) + len(more) - 1))
    shown = [c if new < 0 else new for c, new in zip(own, changed, strict=True)] + more
    mapping = [-1 if new == 4 else (i + shift) % len(shown) for i, new in enumerate(changed)]
    return own, shown[len(shown) - shift :] + shown[: len(shown) - shift], mapping


@settings(max_examples=inputs(200))
@given(published())
def test_candidates_and_risks_by_classes_are_those_of_their_definitions(
    made: tuple[list[int], list[int], list[int]],
) -> None:
    own, shown, mapping = made
    seen = by_classes("it", np.array(own), np.array(shown), np.array(mapping))
    before, after = seen.before, seen.after
    assert before is not None
    assert after is not None
    there, here = Counter(shown), Counter(own)
    assert after.candidates.tolist() == [there[c] for c in own]
    chance = [1 / there[c] if p >= 0 and shown[p] == c else 0.0 for c, p in zip(own, mapping, strict=True)]
    assert after.average == pytest.approx(sum(chance) / len(own))
    assert after.highest == pytest.approx(max(chance))
    back = [1 / here[c] if p >= 0 and shown[p] == c else 0.0 for c, p in zip(own, mapping, strict=True)]
    assert after.journalist == pytest.approx(max(back))
    assert after.marketer == pytest.approx(sum(back) / len(shown))
    assert after.misled == pytest.approx(chance.count(0.0) / len(own))
    assert before.average == before.marketer == pytest.approx(len(here) / len(own))
    assert after.below(2) == pytest.approx(chance.count(1.0) / len(own))
    as_it_stands = as_shown("it", np.array(own), np.array(shown), np.array(mapping)).after
    assert as_it_stands is not None
    assert as_it_stands.candidates.tolist() == [there[shown[p]] if p >= 0 else 0 for p in mapping]


def test_risks_before_are_those_of_the_command_risk(
    released: tuple[kgreason.Anonymization, Folders],
) -> None:
    made, _ = released
    release, program = made.release, made.run.program
    assert program is not None
    graphs = made.original, release.graph, release.mapping
    known = dict(of_vertices(made.original, None, 2))
    assert [one.knowledge for one in made.exposed] == [*known]
    for one in made.exposed:
        before, expected = one.before, known[one.knowledge]
        assert before is not None
        assert expected is not None
        assert before.candidates.tolist() == expected.candidates.tolist()
        assert (before.average, before.below(2)) == (expected.average, expected.at_risk)
    parts = candidate_counts.compared_subgraphs(*graphs, program, (3,))
    assert [one.remark for one in parts] == [candidate_counts.TOO_LARGE] * 2, "without a generator"


def test_what_is_promised_comes_first_and_the_rest_is_called_so(
    released: tuple[kgreason.Anonymization, Folders],
    users: tuple[Any, Folders],
    observed: tuple[Any, Folders],
) -> None:
    def risk(report: Report) -> tuple[list[Figure], list[Table]]:
        (section,) = (s for s in report.sections if s.title == "Risk before and after")
        found = ([i for i in section.items if isinstance(i, kind)] for kind in (Figure, Table))
        return next(found), next(found)

    rules, people_, links_ = (risk(kgreason.report(made)) for made, _ in (released, users, observed))
    for shown, tables in (rules, people_):
        said = [figure.note.startswith("promised") for figure in shown]
        assert said == sorted(said, reverse=True)
        assert [figure.name for figure in shown if figure.key] == [
            "Candidate set, smallest",
            "Prosecutor's risk, highest",
        ]
        assert all(figure.note.startswith(("promised, ", "not promised, ")) for figure in shown)
        titles = [table.title.split(":")[0] for table in tables]
        assert titles == [f"{n}, {w}" for w in ("promised", "not promised") for n in ("Candidates", "Risks")]
        least = [int(row[2]) for row in tables[0].rows]
        assert min(least) >= made_k(shown)
    assert all(row[0].startswith("part of") for row in rules[1][0].rows)
    assert {row[0] for row in rules[1][2].rows} >= {"nothing", "in- and out-degree"}
    assert all(row[0].endswith("as released") for row in people_[1][0].rows)
    assert [table.title.split(":")[0] for table in links_[1]] == ["Candidates", "Risks"], (
        "nothing is promised"
    )
    assert not any(figure.key for figure in links_[0])


def made_k(shown: list[Figure]) -> int:
    """The fixtures ask for 2 places, and 3 users."""
    return 2 if "part" in shown[0].note else 3


def test_nothing_of_the_risks_of_a_baseline_is_promised() -> None:
    made = kgreason.anonymize(CONTROL, {"own": EDGES}, method="k-iso", k=2, x=3, trials=1)
    report = kgreason.report(made)
    assert any("do not publish it" in warning for warning in report.warnings)
    assert "The guarantee covers none of this" in next(
        s.lead for s in report.sections if s.title.startswith("Risk")
    )
    assert not [t.title for t in items(report) if isinstance(t, Table) and ", promised" in t.title]


def test_parts_have_their_places_after(released: tuple[kgreason.Anonymization, Folders]) -> None:
    made, _ = released
    report = kgreason.report(made)
    rows = {row[0]: row for row in table(report, "Candidates").rows}
    fewest = {name: (int(row[1]), int(row[2])) for name, row in rows.items() if name.startswith("part")}
    assert fewest
    assert all(after >= 2 for _, after in fewest.values())
    assert all(after > before for before, after in fewest.values())


def test_large_graphs_are_not_looked_at_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = KnowledgeGraph.from_edges([("a", "b"), ("b", "c")], relation="own")
    for limit in ("NEAR", "REFINED", "MOST_EDGES"):
        monkeypatch.setattr(candidate_counts, limit, 1)
    graphs, rng = (graph, graph, np.arange(3)), np.random.default_rng(0)
    looked = [one.knowledge for one in candidate_counts.compared_vertices(*graphs) if one.before]
    assert looked == ["nothing", "in-degree", "out-degree", "in- and out-degree"]
    parts = candidate_counts.compared_subgraphs(*graphs, kgreason.load(CONTROL), (2,), rng=rng)
    assert not any(one.before for one in parts)


# sentences

FINE = Item("images", True, "all")
BAD = Item("images", False, "some", ("a, b",))
OPEN = Item("images", False, "some", undecided=True)
CUT = Item("augmentation", False, "lost", given_up=True)
PROMISE = Promise("(3,4)-isomorphism", 3, "x = 4", ("own", "control"))
SAMPLE = Delta(10, 10, population=100)


@pytest.mark.parametrize(
    ("verdict", "words", "said", "kept"),
    [
        (Verdict(3, 4, (FINE,), Delta(7, 7)), "holds", "confirmed it for all 7 such subgraphs", True),
        (Verdict(3, 4, (CUT, FINE), Delta(7, 7)), "holds within parts", "confirmed it", True),
        (
            Verdict(3, 4, (OPEN,), SAMPLE),
            "was not refuted by a sample, which is no proof",
            "but a sample is no proof",
            False,
        ),
        (Verdict(3, 4, (OPEN,), Delta(6, 7, 1)), "was not decided", "do not publish", False),
        (Verdict(3, 4, (BAD,), Delta(6, 7)), "does not hold", "It is not safe", False),
    ],
)
def test_each_state_has_its_sentence(verdict: Verdict, words: str, said: str, kept: bool) -> None:
    promise = replace(PROMISE, within_parts=True) if CUT in verdict.items else PROMISE
    assert state_words(verdict) == words
    sentence = safe_private(promise, verdict, seeded=False)
    assert said in sentence
    assert ("finds at least 3 occurrences" in sentence) is kept
    assert ("edges between them are removed" in sentence) is (CUT in verdict.items)
    assert sentence.count(".") == 1, "one sentence"
    seeded = safe_private(promise, verdict, seeded=True)
    assert ("although the check confirmed" in seeded) is kept
    assert ("nor was it confirmed" in seeded) is not kept
    assert "do not publish" in seeded


def test_k_iso_is_called_a_baseline() -> None:
    promise = replace(PROMISE, baseline=True, text="k-isomorphism: 3 blocks without edges")
    verdict = Verdict(3, 4, (Item("blocks", True, "fine"),), None, model="k-iso")
    for sentence in (
        safe_private(promise, verdict, seeded=False),
        safe_public(promise, confirmed=True, seeded=False),
    ):
        assert sentence.startswith("This is a baseline")
    assert "not confirmed" in safe_public(PROMISE, confirmed=False, seeded=False)
    assert "protects nobody" in safe_public(PROMISE, confirmed=True, seeded=True)
    assert "not even the blocks" in safe_public(promise, confirmed=False, seeded=False)
    assert verdict_words(promise, verdict).endswith("edges: holds")


def test_what_is_given_up_is_said_once() -> None:
    guarantee = Guarantee(3, 4, cut=2)
    promise = Promise.of(guarantee, "x = 4", ("own",), ("control",))
    words = verdict_words(promise, Verdict(3, 4, (CUT, FINE), Delta(7, 7)))
    assert words == "(3,4)-isomorphism within parts (edges between parts are left out): holds"


def test_a_refuted_release_says_in_words_what_is_wrong() -> None:
    sentence = safe_private(PROMISE, Verdict(3, 4, (BAD,), Delta(5, 7, 1)), seeded=False)
    assert "of 7 connected subgraphs with x vertices (x = 4) 1 lack 3 occurrences" in sentence
    wrong = Item("labels", False, "an original label is in the release")
    assert "does not hold: images, labels" in safe_private(
        PROMISE, Verdict(3, 4, (BAD, wrong), Delta(5, 7)), seeded=False
    )


def test_people_and_links_say_what_was_done(
    users: tuple[Any, Folders], observed: tuple[Any, Folders]
) -> None:
    for made, _ in (users, observed):
        report = kgreason.report(made)
        assert report.safe.startswith("It is not safe")
        assert report.warnings == (SHARED["seeded"],)
        unseeded = kgreason.report(replace(made, run=replace(made.run, seed=None)))
        assert unseeded.safe.count(".") == 1
        assert not unseeded.warnings
        broken = replace(made.verdict, items=(BAD,))
        failed = kgreason.report(replace(made, run=unseeded and replace(made.run, seed=None), verdict=broken))
        assert failed.safe.startswith("It is not safe")
        assert failed.state == "fails"
        undecided = replace(made.verdict, items=(OPEN,))
        assert (
            "could not decide"
            in kgreason.report(replace(made, run=replace(made.run, seed=None), verdict=undecided)).safe
        )


def test_what_is_seen_of_people_is_what_the_model_promises(users: tuple[Any, Folders]) -> None:
    made, _ = users
    report = kgreason.report(made)
    rows = {row[0]: row for row in table(report, "Candidates").rows}
    stands = rows["values and numbers of links, as released"]
    assert int(stands[2]) == made.verdict.figures.smallest >= 3
    assert int(stands[1]) == 1
    found = figures(report)
    assert (found["AIL"].number, found["RRU"].number) == (made.utility.ail, made.utility.rru)
    assert {item.title for item in items(report) if isinstance(item, Chart)} == {
        *("follows: links out", "follows: links in", "Values of age", "Values of job")
    }


def test_what_is_seen_of_links_is_what_clusters_hide(observed: tuple[Any, Folders]) -> None:
    made, _ = observed
    report = kgreason.report(made)
    (row,) = table(report, "Candidates").rows
    assert int(row[2]) >= 4
    assert figures(report)["Links kept"].number == made.utility
    assert "All " in report.done
    assert "friends" in report.done


# distributions


@settings(max_examples=inputs(100), deadline=None)
@given(st.lists(st.integers(0, 10**6)), st.lists(st.integers(0, 10**6)))
def test_counts_fall_into_the_bins_that_labels_say(after: list[int], before: list[int]) -> None:
    chart = distribution(
        "t", Series("a", np.array(after, dtype=np.int64), "", ""), np.array(before, dtype=np.int64)
    )
    assert len(chart.labels) == len(chart.after) == len(chart.before)
    spans = [[int(n.replace(",", "")) for n in label.split(" to ")] for label in chart.labels]
    for numbers, shares in ((after, chart.after), (before, chart.before)):
        for (low, high), share in zip(((s[0], s[-1]) for s in spans), shares, strict=True):
            inside = sum(low <= n <= high for n in numbers)
            assert share == pytest.approx(inside / max(len(numbers), 1), abs=1e-4)
        assert sum(shares) == pytest.approx(1 if numbers else 0, abs=1e-2)


@settings(max_examples=inputs(100))
@given(st.lists(st.floats(-1e9, 1e9), max_size=20))
def test_every_weight_falls_into_one_bin(values: list[float]) -> None:
    chart = distribution("t", Series("a", np.array(values, dtype=np.float64), "", ""))
    assert len(chart.labels) == 10
    assert sum(chart.after) == pytest.approx(1 if values else 0, abs=1e-2)


# JSON

plain = st.text(max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
shares = st.lists(numbers, max_size=3).map(tuple)
scalars = st.none() | st.booleans() | st.integers() | numbers | plain
some_items = st.one_of(
    st.builds(Figure, number=st.none() | numbers),
    st.builds(Table),
    st.builds(Chart, before=shares, after=shares),
    st.builds(Picture, x=shares, y=shares),
    st.builds(Finding),
)
reports = st.builds(
    Report,
    sections=st.lists(st.builds(Section, items=st.lists(some_items, max_size=3).map(tuple)), max_size=2).map(
        tuple
    ),
    parameters=st.dictionaries(plain, scalars | st.lists(scalars, max_size=3), max_size=3),
)


@settings(max_examples=inputs(40))
@given(reports)
def test_json_and_back(report: Report) -> None:
    assert from_dict(json.loads(json.dumps(as_dict(report)))) == report


REPORT = Report(
    "t",
    True,
    "holds",
    "v",
    "d",
    "s",
    (Section("a", "b", (Figure("n", "v", number=0.5), Table("t", ("c",), (("x",),)))),),
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("format"), "'format' is missing"),
        (lambda d: d.update(format=2), "has format 2, but this version reads 1"),
        (lambda d: d.update(format=True), "has format True"),
        (lambda d: d.pop("verdict"), "report has no entry 'verdict'"),
        (lambda d: d.update(more=1), "an entry 'more', which is unknown"),
        (lambda d: d.update(state="perhaps"), "report.state is 'perhaps', which is none of 'holds'"),
        (lambda d: d.update(secret=1), "report.secret is 1, which is no bool"),
        (lambda d: d.update(sections={}), "report.sections is no list"),
        (lambda d: d.update(parameters=[]), "report.parameters is no object"),
        (
            lambda d: d["sections"][0]["items"][0].update(kind="film"),
            "report.sections[0].items[0] is no figure",
        ),
        (
            lambda d: d["sections"][0]["items"][0].update(number="x"),
            "items[0].number is 'x', which is no float",
        ),
        (
            lambda d: d["sections"][0]["items"][1]["rows"][0].append(3),
            "items[1].rows[0][1] is 3, which is no str",
        ),
        (lambda d: d["sections"].append(7), "report.sections[1] is no object"),
        (
            lambda d: d["sections"][0]["items"][0].update(number=float("nan")),
            "items[0].number is nan, which is no float",
        ),
    ],
)
def test_broken_reports_are_refused(change: Callable[[Any], object], said: str) -> None:
    data = as_dict(REPORT)
    change(data)
    with pytest.raises(ReleaseError, match=re.escape(said)) as caught:
        from_dict(data, "x/report.json")
    assert str(caught.value).startswith("x/report.json: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Figure("δ", "1", term="delta"), "the term 'delta', which is unknown"),
        (Table("t", ("a", "b"), (("1",),)), "more or fewer cells"),
        (Chart("c", "a", ("1", "2"), (), (0.5,), "n"), "a bar for each label"),
        (Chart("c", "a", ("1",), (0.5, 0.5), (0.5,), "n"), "a bar for each label"),
        (Picture("p", (0.0,), (0.0,), ("a", "b"), (False, False), ()), "does not cover each vertex"),
        (
            Picture("p", (0.0,), (0.0,), ("a",), (False,), ((0, 1, "r", "", False),)),
            "a vertex that it has not",
        ),
        (
            Picture("p", (0.0,), (0.0,), ("a",), (False,), ((-1, 0, "r", "", False),)),
            "a vertex that it has not",
        ),
    ],
)
def test_items_of_which_no_page_can_be_made_are_refused(tmp_path: Path, item: Any, said: str) -> None:
    report = Report("t", True, "holds", "v", "d", "s", (Section("A", "", (item,)),))
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"page": as_dict(report)}), encoding="utf-8")
    with pytest.raises(ReleaseError, match=re.escape(said)) as refused:
        read_report(file)
    assert "report.sections[0].items[0]" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        (b'{"format": 1,\n', "report.json:2: is no report: it ends early"),
        (b"\xff\xfe", "is not in UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b"[]", "holds no JSON object"),
        (b'{"format": 1}', "holds no page"),
        (b'{"page": []}', "'format' is missing"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: bytes | None, said: str) -> None:
    path = tmp_path / "report.json"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ReleaseError, match=re.escape(said)) as caught:
        read_report(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint


# terms


def test_every_definition_is_in_the_documentation() -> None:
    assert len({term.anchor for term in TERMS.values()}) == len(TERMS)
    for term in TERMS.values():
        page, _, section = term.link.partition("#")
        titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not section or section in anchors, term
        assert 1 <= len(re.findall(r"\.(?= |$)", term.definition)) <= 3


@pytest.mark.parametrize("family", FAMILIES)
def test_every_term_of_a_report_is_defined(family: str, request: pytest.FixtureRequest) -> None:
    made, folders = request.getfixturevalue(family)
    for report in (kgreason.report(made), read_report(folders.release / "report.json")):
        named = {item.term for item in items(report) if getattr(item, "term", "")}
        assert named <= set(TERMS)
    assert all(term_of(item.name) for item in made.verdict.items), "each condition has a definition"
