"""What `kgreason reason` says about its own work: totals, profile, rate, compilation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.progress import Progress as Bars

from kgreason import reason
from kgreason.base import cores, jit, memory
from kgreason.cli import app, terminal
from kgreason.engine.seminaive import separable_walks as walks
from kgreason.engine.statistics import JoinStats, RoundStats, RuleStats, Stats, StratumStats, condensed

RULES = """\
@output("t").
@output("s").
e(0, 1). e(1, 2). e(2, 3). e(3, 4).
t(X, Y) :- e(X, Y).
t(X, Z) :- t(X, Y), e(Y, Z), X != Z.
s(X, Y) :- e(X, Y).
s(X, Z) :- s(X, Y), e(Y, Z).
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "t.vada"
    file.write_text(RULES, encoding="utf-8")
    return file


def said(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.stderr


def test_stats_are_the_totals(rules: Path) -> None:
    said("reason", "--rules", rules)  # which may compile kernels, and say so
    lines = said("reason", "--rules", rules, "--stats").splitlines()
    assert lines[:3] == [
        "facts    20 of t, s",
        "derived  20 new ones of 20 tried",
        "rounds   6 in 2 strata, and 4 walks",
    ]
    assert re.fullmatch(r"time     \d+\.\d{3} s of evaluation, [\d,]+ facts/s", lines[3])
    assert re.fullmatch(r"memory   [\d.,]+ [MG]B at most, of the whole process", lines[4])


def test_profile_by_rule_and_round_and_the_costliest_joins(rules: Path) -> None:
    text = re.sub(r"\d+\.\d{3}", "0.000", said("reason", "--rules", rules, "--profile"))
    assert "stratum t: 5 rounds, 0.000 s" in text
    assert "stratum s: 4 walks, 0.000 s" in text
    table = text[text.index("  t(X, Z) :-") : text.index("stratum s")].splitlines()[:6]
    assert [line.split() for line in table[1:]] == [
        ["round", "tried", "new", "seconds"],
        ["2", "3", "3", "0.000"],
        ["3", "2", "2", "0.000"],
        ["4", "1", "1", "0.000"],
        ["all", "6", "6", "0.000"],
    ]
    walked = text[text.index("stratum s") : text.index("costliest")].splitlines()
    assert walked[:3] == [
        "stratum s: 4 walks, 0.000 s",
        "  a round is one step of all walks; seconds are shared out by what is tried",
        "  s(X, Y) :- e(X, Y).",
    ]
    assert [line.split()[:3] for line in walked[5:]] == [
        ["s(X,", "Z)", ":-"],
        ["round", "tried", "new"],
        ["2", "3", "3"],
        ["3", "2", "2"],
        ["4", "1", "1"],
        ["all", "6", "6"],
    ]
    assert "costliest joins\n" in text
    assert "0.000 s  e(Y, Z): 10 looked up, 6 found, in t(X, Z) :- t(X, Y), e(Y, Z), X != Z." in text


ENDLESS = """\
@output("n").
e(0, 1). e(1, 2).
s(X, Y) :- e(X, Y).
s(X, Z) :- s(X, Y), e(Y, Z).
n(X) :- s(X, _).
n(Y) :- n(X), Y = X + 1.
"""


def failed(rules: Path, text: str, *arguments: str) -> tuple[int, list[str]]:
    """Exit code and what is said of a run that does not come to its end; times are 0."""
    rules.write_text(text, encoding="utf-8")
    said("check", rules)
    result = CliRunner().invoke(app, ["reason", "--rules", str(rules), *arguments])
    assert not result.stdout
    return result.exit_code, re.sub(r"\d+\.\d{3}", "0.000", result.stderr).splitlines()


def test_a_run_stopped_by_a_limit_tells_what_it_did(rules: Path) -> None:
    code, lines = failed(rules, ENDLESS, "--rounds", "9", "--profile", "--stats")
    assert code == 2
    assert lines[0] == "stratum s: 2 walks, 0.000 s"
    at = lines.index("  n(Y) :- n(X), Y = X + 1.")
    assert lines[at + 2].split() == ["2", "2", "1", "0.000"]
    assert lines[at + 9].split() == ["9", "1", "1", "0.000"]
    assert lines[at + 11 : at + 14] == [
        "facts    none, for the run did not end",
        "derived  13 new ones of 15 tried",
        "rounds   10 in 2 strata, and 2 walks",
    ]
    errors = [i for i, line in enumerate(lines) if "values still change after 9 rounds" in line]
    assert errors
    assert min(errors) > at + 13  # the last thing said is what went wrong


def test_a_run_that_fails_says_nothing_of_it_unasked(rules: Path) -> None:
    code, lines = failed(rules, ENDLESS, "--rounds", "9")
    assert code == 2
    assert not [line for line in lines if line.startswith(("stratum", "facts", "  n("))]


def test_a_run_without_enough_memory_tells_what_it_did(rules: Path) -> None:
    here = memory.held() or 0
    text = "".join(f"e({i}). " for i in range(50)) + '@output("t"). t(X, Y, Z, U) :- e(X), e(Y), e(Z), e(U).'
    code, lines = failed(rules, text, "--memory-limit", f"{here + 30_000_000}", "--profile")
    assert code == 2
    assert lines[0] == "stratum t: 1 round, 0.000 s"
    name, tried, new, _ = lines[3].split()
    assert name == "1"
    assert 0 < int(new.replace(",", "")) <= int(tried.replace(",", "")) < 50**4
    assert "there is not enough memory for what this rule derives, besides the" in "".join(lines)


@pytest.mark.parametrize("profile", [True, False])
def test_an_interrupted_run_tells_what_it_did(
    rules: Path, monkeypatch: pytest.MonkeyPatch, profile: bool
) -> None:
    def interrupt(blocks: walks.Blocks, *counts: int) -> None:
        record(blocks, *counts)
        raise KeyboardInterrupt

    record = walks.Blocks.record
    monkeypatch.setattr(cores, "cores", lambda: 1)
    monkeypatch.setattr(walks.Blocks, "record", interrupt)
    code, lines = failed(rules, ENDLESS, "--profile" if profile else "--stats")
    assert code == 130
    if profile:
        assert lines[0] == "stratum s: 1 walk, 0.000 s"
        assert lines[lines.index("  s(X, Z) :- s(X, Y), e(Y, Z).") + 2].split() == ["2", "1", "1", "0.000"]
    else:
        assert lines[1:3] == ["derived  3 new ones of 3 tried", "rounds   1 in 1 stratum, and 1 walk"]
    assert lines[-1] == "interrupted; nothing was written"


def test_costliest_joins_come_first() -> None:
    joins = tuple(JoinStats("r", f"a{i}", 1, 1, seconds) for i, seconds in enumerate((0.1, 0.4, 0.2, 0.3)))
    stats = Stats((StratumStats(("p",), 1, 1.0, (RuleStats("r", 2, 0.5, 7),), 0, joins),), 1.0)
    assert [join.atom for join in stats.costliest()] == ["a1", "a3", "a2"]
    assert (stats.facts, stats.tried, stats.rounds) == (2, 7, 1)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100, 20_001])
def test_many_rounds_take_few_lines_and_none_is_lost(count: int) -> None:
    rounds = [RoundStats(i, i, 1, 0.5) for i in range(1, count + 1)]
    lines = condensed(rounds, 8)
    assert len(lines) <= 8
    assert sum(done.facts for _, done in lines) == count
    assert sum(done.tried for _, done in lines) == count * (count + 1) // 2
    assert [first for first, _ in lines] == [
        1 + last for last in [0, *(d.round for _, d in lines)][: len(lines)]
    ]


def test_stats_in_json_are_short() -> None:
    document = reason(RULES).as_dict([])
    [t, s] = document["stats"]["strata"]
    assert (t["walks"], s["walks"], t["rounds"]) == (0, 4, 5)
    assert t["rules"][1] | {"seconds": 0} == {
        "rule": "t(X, Z) :- t(X, Y), e(Y, Z), X != Z.",
        "facts": 6,
        "seconds": 0,
        "tried": 6,
    }


def test_a_profile_in_json_tells_every_round_and_join() -> None:
    document = reason(RULES).as_dict([], profile=True)
    t = document["stats"]["strata"][0]
    rounds = t["rules"][1]["rounds"]
    assert [(r["round"], r["tried"], r["facts"]) for r in rounds] == [(2, 3, 3), (3, 2, 2), (4, 1, 1)]
    assert [join["atom"] for join in t["joins"]] == ["e(Y, Z)"]


def test_a_line_tells_facts_per_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 5.0, 10.0, 14.0, 15.0, 18.0])
    monkeypatch.setattr(terminal, "monotonic", lambda: next(clock))
    plain = terminal.Plain()
    plain.step("Deriving t", unit="facts")
    plain.advance(1000)
    plain.advance(3000)
    plain.step("Scoring", 7)
    plain.advance(7)
    plain.close()
    assert capsys.readouterr().err.splitlines() == [
        "Deriving t: 4.0 s, 4,000 facts, 1,000 a second",
        "Scoring (7): 3.0 s",
    ]


def test_the_bar_tells_facts_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Bars] = []
    start = Bars.start
    monkeypatch.setattr(terminal.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(Bars, "start", lambda bars: (made.append(bars), start(bars))[1])
    with terminal.progress() as bar:
        bar.step("Deriving t", unit="facts")
        for _ in range(3):
            bar.advance(500)
        (task,) = made[0].tasks
        task.get_time = iter(range(100)).__next__
        bar.advance(500)
        bar.advance(500)
        console = Console(width=120)
        with console.capture() as shown:
            console.print(made[0].get_renderable())
        bar.note("said above")
    assert "facts/s" in shown.get()


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (True, "compiling kernels for this machine, once\n"),
        (
            False,
            "compiling kernels in each run: no folder is writable to keep them, NUMBA_CACHE_DIR may name one\n",
        ),
    ],
)
def test_compilation_is_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kept: bool, line: str
) -> None:
    monkeypatch.setattr(jit, "compiling", jit.compiling)
    with terminal.progress():
        jit.compiling(0, 2, kept)
        jit.compiling(1, 2, kept)
    assert capsys.readouterr().err == line
