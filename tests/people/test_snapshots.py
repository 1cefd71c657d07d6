"""Series of graphs of people from statements with times: division, times, graphs, the command, a whole series."""

from __future__ import annotations

import csv
import datetime
import itertools
import json
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import kgreason
from kgreason.base.errors import AnonymizationError, DataError, ReleaseError
from kgreason.cli import app
from kgreason.people import PeopleGraph, Snapshots, snapshots
from kgreason.people import read as read_people
from kgreason.people import snapshot_division as division
from kgreason.people import snapshot_series as series
from kgreason.people.file_schema import schema_of_options
from kgreason.people.snapshot_division import Spans, divide
from kgreason.people.temporal_statements import period
from tests.examples import inputs

HISTORY = Path(__file__).resolve().parents[2] / "examples" / "history" / "history.toml"
Span = tuple[int, int, int]  # an edge, and the first and last time at which it exists


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


# --- division


def alive(spans: Iterable[Span], first: int, last: int) -> int:
    return len({edge for edge, a, b in spans if a <= last and b >= first})


def deviation(spans: Sequence[Span], starts: Iterable[int], times: int) -> float:
    counts = [alive(spans, a, b - 1) for a, b in itertools.pairwise((*starts, times))]
    return float(np.std(counts))


def made(spans: Sequence[Span]) -> Spans:
    return Spans.of(*np.array(spans, dtype=np.int64).reshape(-1, 3).T)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Span], int, int]:
    times = draw(st.integers(1, 9))
    moment = st.integers(0, times - 1)
    pairs = st.tuples(st.integers(0, 7), moment, st.integers(0, 3) | moment)
    spans = [(edge, a, min(a + more, times - 1)) for edge, a, more in draw(st.lists(pairs, max_size=25))]
    return [(8, 0, 0), *spans], times, draw(st.integers(1, times))


@given(histories())
@settings(max_examples=inputs(200), deadline=None)
def test_no_division_is_more_even(history: tuple[list[Span], int, int]) -> None:
    spans, times, groups = history
    counts = made(spans).counts(np.arange(times))
    for first, last in itertools.combinations_with_replacement(range(times), 2):
        assert counts[last, first] == alive(spans, first, last)
    found = divide(made(spans), times, groups)
    assert found[0] == 0
    assert len(found) == groups
    assert (np.diff(found) > 0).all()
    best = min(
        deviation(spans, (0, *cuts), times) for cuts in itertools.combinations(range(1, times), groups - 1)
    )
    assert deviation(spans, found.tolist(), times) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("groups", [1, 7, 60])
def test_long_series_are_divided_nearly_as_evenly(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(groups)
    times = 600
    first = np.sort(np.append(rng.integers(0, times, 2000) // 9 * 9, np.arange(times)))
    last = np.minimum(first + rng.integers(0, 40, len(first)), times - 1)
    spans = Spans.of(rng.integers(0, 1500, len(first)), first, last)
    sizes = {}
    for exact in (0, times):
        monkeypatch.setattr(division, "EXACT", exact)
        starts = divide(spans, times, groups)
        assert len(starts) == groups
        sizes[exact] = np.diag(spans.counts(starts))
    assert sizes[times].std() <= sizes[0].std() <= sizes[times].std() + 0.05 * sizes[times].mean()


def test_single_edges_are_divided_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "EXACT", 0)
    each = np.arange(5000)
    assert np.diff(divide(Spans.of(each, each, each), 5000, 50)).tolist() == [100] * 49


# --- times


def fits(text: str, day: datetime.date) -> bool:
    return all(asked in ("#", digit) for asked, digit in zip(text, day.isoformat(), strict=True))


DAYS = [datetime.date(1899, 1, 1) + datetime.timedelta(days=i) for i in range(14 * 366)]


@given(st.sampled_from(DAYS[366:-366]), st.integers(0, 3))
@settings(max_examples=inputs(25), deadline=None)
def test_unknown_digits_last_as_long_as_they_allow(day: datetime.date, unknown: int) -> None:
    text = day.isoformat()
    text = (text, f"{text[:8]}##", f"{text[:5]}##-##", f"{text[:3]}#-##-##")[unknown]
    own = [d for d in DAYS if fits(text, d)]
    if unknown == 3:
        own = [datetime.date(int(f"{text[:3]}{y}"), m, d) for y, m, d in ((0, 1, 1), (9, 12, 31))]
    found = period(text)
    assert found is not None
    assert [moment for _, moment in found] == [min(own).isoformat(), max(own).isoformat()]


def test_times_have_an_order() -> None:
    ascending = ["-431-##-##", "-43#-##-##", "0116-01-05", "1986-02-28", "1986-03-01", "1986-03-01T12:00"]
    ascending += ["1986-03-01T11:30:00-01:00", "12014-01-01"]
    lows = [found[0][0] for text in ascending if (found := period(text))]
    assert len(lows) == len(ascending)
    assert sorted(lows[2:]) == lows[2:]
    assert lows[1] < lows[0] < lows[2]  # -439 and later
    numbers = [found[0][0] for text in ("-3", "2.5", "1e1", "207880") if (found := period(text))]
    assert sorted(numbers) == numbers


@pytest.mark.parametrize(
    "text", ["soon", "1963-64-65", "2014-02-30", "2014-##-05", "2014-13-##", "307-13047-09"]
)
def test_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="no time"):
        period(text)


# --- graphs


def table(file: Path, rows: Iterable[Sequence[object]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return file


def read(
    file: Path, options: str = "header=true&columns=user,relation,target,_,_", **more: object
) -> Snapshots:
    kinds = {"attributes": ["job"], "numeric": ["age"], "relations": ["follows"], "mutual": ["married"]}
    schema = schema_of_options([f"{file}?{options}"], **kinds)
    return snapshots(schema, **{"time": "from", "end": "to", "count": 2} | more)  # type: ignore[arg-type]


Statement = tuple[str, str, str, int, int]


def triples(graph: PeopleGraph) -> set[tuple[str, str, str]]:
    found = {
        (str(graph.labels[u]), name, str(a.domain[v]))
        for name, a in graph.attributes.items()
        for u, v in zip(a.user, a.value, strict=True)
    }
    for name, links in graph.relations.items():
        ends = zip(links.source, links.target, strict=True)
        found |= {(str(graph.labels[u]), name, str(graph.labels[v])) for u, v in ends}
    return found


def true(rows: Iterable[Statement], first: int, last: int) -> tuple[set[tuple[str, str, str]], set[str]]:
    """Edges and users of the statements that are true at some time of a period."""
    own = [row for row in rows if row[3] <= last and row[4] >= first]
    edges = {row[:3] for row in own} | {(o, r, u) for u, r, o, *_ in own if r == "married"}
    users = {row[0] for row in own} | {o for _, r, o, *_ in own if r in ("follows", "married")}
    return {(u, r, o) for u, r, o in edges if u != o}, users


def changed_edges(graphs: Sequence[set[tuple[str, str, str]]], users: set[str]) -> float:
    """MCE of THESIS, Appendix B, word by word."""
    total = 0
    for before, after in itertools.pairwise(graphs):
        for user in users:
            for u, r, o in before ^ after:
                total += user == u or (r in ("follows", "married") and user == o)
    return total / (len(graphs) * len(users))


@st.composite
def statements(draw: st.DrawFn) -> list[Statement]:
    people = st.sampled_from(["Ada", "Ben", "Cem", "Dora"])
    value = st.tuples(people, st.just("job"), st.sampled_from(["cook", "nurse"]))
    number = st.tuples(people, st.just("age"), st.sampled_from(["18", "19"]))
    link = st.tuples(people, st.sampled_from(["follows", "married"]), people)
    rows = draw(st.lists(st.tuples(value | number | link, st.integers(1, 6), st.integers(0, 4)), min_size=2))
    return [(*said, first, first + more) for said, first, more in rows] + [("Ada", "job", "cook", 1, 2)]


@given(statements(), st.integers(1, 2))
@settings(max_examples=inputs(40), deadline=None)
def test_graphs_hold_what_is_true(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Statement], count: int
) -> None:
    file = tmp_path_factory.mktemp("people") / "facts.csv"
    found = read(table(file, [("user", "relation", "target", "from", "to"), *rows]), count=count)
    periods = [(int(a), int(b)) for a, b in found.periods]
    times = {time for row in rows for time in row[3:]}
    assert {a for a, _ in periods} | {b for _, b in periods} <= times
    assert found.times == len(times)
    assert (min(times), max(times)) == (periods[0][0], periods[-1][1])
    edges = []
    for graph, (first, last) in zip(found.graphs, periods, strict=True):
        own, users = true(rows, first, last)
        edges.append(own)
        assert triples(graph) == own
        assert set(graph.labels) == users
    assert found.edges.tolist() == [len(own) for own in edges]
    users = {label for graph in found.graphs for label in graph.labels}
    assert found.users == len(users)
    assert found.mce == pytest.approx(changed_edges(edges, users))


HEAD = ("user", "relation", "target", "from", "to")


def test_open_ends_and_what_is_left_out(tmp_path: Path) -> None:
    rows = [
        ("Ada", "job", "cook", "2014-##-##", "####-##-##"),
        ("Ben", "job", "cook", "", "2014-06-01"),
        ("Cem", "job", "cook", "2016-01-01", "2016-01-01"),
        ("Dora", "job", "cook", "2016-01-01", "2015-01-01"),
        ("Emma", "job", "cook", "", ""),
        ("Finn", "follows", "Finn", "2016-01-01", ""),
    ]
    notes = Notes()
    found = read(table(tmp_path / "facts.csv", [HEAD, *rows]), progress=notes)
    assert [sorted(graph.labels) for graph in found.graphs] == [["Ada", "Ben"], ["Ada", "Cem", "Finn"]]
    assert found.periods == (("2014-01-01", "2014-06-01"), ("2016-01-01", "2016-01-01"))
    assert notes.said == [
        "links from a user to itself, left out: 1 (follows 1)",
        "statements without a time, left out: 1 (job 1)",
        "statements that end before they begin, left out: 1 (job 1)",
        "users without any statement that is kept, left out: 2",
    ]


class Notes:
    """Progress that keeps its notes about omissions."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def step(self, title: str, total: int | None = None, unit: str = "") -> None: ...

    def advance(self, units: int = 1) -> None: ...

    def note(self, message: str) -> None:
        if "left out" in message:
            self.said.append(message)


def test_a_column_of_times_in_tables_is_no_attribute() -> None:
    frame = {
        "name": ["Ken", "Mary", "Ken"],
        "day": ["2021-01-01", "2021-01-02", "2022-05-05"],
        "age": [18, 19, 19],
    }
    found = snapshots(kgreason.people.schema(frame, id="name"), time="day", count=2)
    assert [sorted(triples(graph)) for graph in found.graphs] in (
        [[("Ken", "age", "18")], [("Ken", "age", "19"), ("Mary", "age", "19")]],
        [[("Ken", "age", "18"), ("Mary", "age", "19")], [("Ken", "age", "19")]],
    )
    assert "mean changed edges" in str(found)


def test_files_without_header_have_numbers(tmp_path: Path) -> None:
    file = tmp_path / "mails.txt"
    file.write_text("1 2 30\n2 1 10\n1 3 20\n1 2 20\n")
    schema = schema_of_options([f"{file}?columns=user,target,_&relation=mailed"], relations=["mailed"])
    found = snapshots(schema, time="3", count=3)
    assert found.periods == (("10", "10"), ("20", "20"), ("30", "30"))
    assert found.edges.tolist() == [1, 2, 1]
    assert found.mce == pytest.approx((2 * 3 + 2 * 1) / 9)


# --- errors

ROW = ("Ada", "job", "cook", "1", "2")


@pytest.mark.parametrize(
    ("rows", "asked", "said"),
    [
        ([ROW], {"time": "form"}, "there is no column 'form' of times\n  help: did you mean 'from'?"),
        (
            [ROW],
            {"end": "9"},
            "there is no column '9' of times\n  help: there are user, relation, target, from, to",
        ),
        (
            [ROW],
            {"time": "3"},
            "column 3 holds times, and is read as target\n  help: .*columns=user,relation,_,_,_",
        ),
        ([ROW], {"count": 3}, "there are 2 distinct times, fewer than 3 snapshots\n  help: .* --count 2"),
        (
            [ROW, ("Ben", "job", "cook", "soon", "2")],
            {},
            "csv:3: column 'from': 'soon' is no time\n  help: a time",
        ),
        (
            [ROW, ("Ben", "job", "cook", "1", "2014-01-01")],
            {},
            "facts.csv:3: .*is among times that are numbers",
        ),
        (
            [("Ada", "job", "cook", "", "")],
            {},
            "there are 0 distinct times.*\n  help: is it the right column",
        ),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, rows: list[tuple[str, ...]], asked: dict[str, object], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        read(table(tmp_path / "facts.csv", [HEAD, *rows]), **asked)


def test_a_number_of_graphs_that_cannot_be() -> None:
    for count, said in ((0, "at least 1"), (1001, "at most 1,000")):
        with pytest.raises(AnonymizationError, match=said):
            snapshots(HISTORY, time="from", count=count)


# --- the command


def test_the_command_writes_what_python_reads(tmp_path: Path) -> None:
    out = tmp_path / "years"
    asked = ("people", "snapshots", HISTORY, "--time", "from", "--end", "to", "--count", "3", "--out", out)
    first = run(*asked, "--json")
    assert first.exit_code == 0, first.output
    said = json.loads(first.stdout)
    found = snapshots(HISTORY, time="from", end="to", count=3)
    assert said == {**found.as_dict(), "folder": str(out)}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert sorted(p.name for p in out.iterdir()) == ["01", "02", "03"]
    for number, graph in enumerate(found.graphs, 1):
        assert triples(read_people(out / f"0{number}")) == triples(graph)
        assert set(read_people(out / f"0{number}").labels) == set(graph.labels)
    again = run(*asked)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    smaller = run(*asked[:7], *("--count", "2", "--out", out, "--force"))
    assert smaller.stdout.splitlines()[:2][0] == f"{out}: 01 to 02"
    assert sorted(p.name for p in out.iterdir()) == ["01", "02"]
    (out / "02" / "notes.txt").write_text("mine")
    refused = run(*asked, "--force")
    assert refused.exit_code == 2
    assert "holds files that are not of snapshots" in refused.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["years"]


def test_all_graphs_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = snapshots(HISTORY, time="from", end="to", count=3)
    found.save(tmp_path / "years")
    write = series.write_people

    def fail(folder: Path, graph: PeopleGraph) -> None:
        if folder.name == "03":
            raise OSError(28, "No space left on device")
        write(folder, graph)

    monkeypatch.setattr(series, "write_people", fail)
    for name in ("years", "others"):
        with pytest.raises(ReleaseError, match="No space left"):
            found.save(tmp_path / name, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["years"]
    assert sorted(p.name for p in (tmp_path / "years").iterdir()) == ["01", "02", "03"]


def test_a_series_of_releases_from_snapshots(tmp_path: Path) -> None:
    """From statements with times to releases, of which no two consecutive ones single out a user."""
    years = tmp_path / "years"
    out = ("--time", "from", "--end", "to", "--count", "3", "--out", years)
    assert run("people", "snapshots", HISTORY, *out).exit_code == 0
    releases, originals = [], []
    for number in (1, 2, 3):
        schema, place = (
            years / f"0{number}" / "people.toml",
            (tmp_path / f"r{number}", tmp_path / f"p{number}"),
        )
        after = ("--after", tmp_path / f"p{number - 1}") if number > 1 else ()
        asked = (
            "--method",
            "ctkga",
            "-k",
            "2",
            "--window",
            "2",
            "--release",
            place[0],
            "--private",
            place[1],
            *after,
        )
        made = run("people", "anonymize", schema, *asked)
        assert made.exit_code == 0, made.output
        releases.append(place[0])
        originals += ["--original", schema, "--mapping", place[1]]
    kept = run("people", "verify", *releases, *originals, "--model", "kw-tad", "-k", "2", "--window", "2")
    assert kept.exit_code == 0, kept.output
    assert "holds: kw-tad with k = 2 over 2 releases" in kept.stdout
