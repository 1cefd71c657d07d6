"""The page that holds our figures against the KGISO paper's: verdicts, statements, plots, kept runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgreason
from tests.folders import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Modules of the reproduction, which are scripts beside each other."""
    monkeypatch.syspath_prepend(FOLDER)
    import commands
    import graphs
    import plots
    from kgiso import cases, claims, compare, drawing, page, reasons, runs

    return SimpleNamespace(
        commands=commands,
        graphs=graphs,
        plots=plots,
        cases=cases,
        claims=claims,
        compare=compare,
        drawing=drawing,
        page=page,
        reasons=reasons,
        runs=runs,
    )


def report(**values: Any) -> dict[str, Any]:
    """What `anonymize` prints, as far as it is read."""
    found = {
        "u": 0.0,
        "u_symmetric": 0.1,
        "weights": 0.01,
        "degree": 0.5,
        "added": 2.0,
        "delta": 1.0,
        "s": 1.5,
    }
    found |= values
    return {
        "original": {"vertices": 500, "edges": 5_000},
        "verdict": {"delta": {"value": found["delta"]}},
        "utility": {"u": found["u"], "u_symmetric": found["u_symmetric"]},
        "fidelity": {
            "weights": {"own": found["weights"]},
            "degree": found["degree"],
            "vertices_added_percent": found["added"],
        },
        "seconds": {"anonymize": found["s"]},
    }


@pytest.fixture
def made(parts: SimpleNamespace, tmp_path: Path) -> Any:
    """No runs yet, with one seed."""
    return parts.runs.Runs(tmp_path / "work", tmp_path / "data", 1, (10.0, 1 << 33))


def keep(parts: SimpleNamespace, made: Any, setting: Any, seed: int = 0, **values: Any) -> None:
    made.keep(parts.runs.Record(str(setting), seed, report(**values), 2.0, 100.0, machine="a machine"))


# Verdicts


@pytest.mark.parametrize(
    ("ours", "paper", "higher", "found"),
    [
        (0.000, 0.000, False, "equal"),
        (0.004, 0.000, False, "equal"),
        (0.006, 0.000, False, "worse"),
        (0.154, 0.160, False, "equal"),
        (0.100, 0.154, False, "better"),
        (210.5, 200.0, False, "worse"),
        (209.5, 200.0, False, "equal"),
        (0.9999, 1.0, True, "worse"),
        (1.0, 1.0, True, "equal"),
        (0.80, 0.70, True, "better"),
        (0.60, 0.70, True, "worse"),
        (0.71, 0.70, True, "equal"),
    ],
)
def test_a_figure_is_better_equal_or_worse(
    parts: SimpleNamespace, ours: float, paper: float, higher: bool, found: str
) -> None:
    assert parts.compare.verdict(ours, paper, higher=higher) == found


@pytest.mark.parametrize(
    ("verdicts", "row"),
    [
        (["equal", "equal"], "equal"),
        (["better", "equal"], "better"),
        (["worse", "equal"], "worse"),
        (["better", "worse", "equal"], "better in 1, worse in 1 of 3"),
        ([], "not measured"),
    ],
)
def test_a_row_is_what_its_figures_are(parts: SimpleNamespace, verdicts: list[str], row: str) -> None:
    assert parts.compare.together(verdicts) == row


def test_nearly_all_does_not_read_as_all(parts: SimpleNamespace) -> None:
    assert parts.compare.METRICS["delta"].text(0.99999) == "0.9999"
    assert parts.compare.METRICS["delta"].text(1.0) == "1.0000"
    assert parts.compare.METRICS["delta"].text(0.818) == "0.8180"
    assert parts.compare.METRICS["u"].text(0.9999) == "1.000"
    assert parts.compare.METRICS["u"].text(None) == "–"


# The page


def test_the_page_says_what_is_better_equal_worse_or_missing(parts: SimpleNamespace, made: Any) -> None:
    cases = parts.cases
    dense = next(row for row in cases.TABLE_1.rows if "M = 5k" in row.title)
    (graph,) = dense.readings.values()
    keep(
        parts,
        made,
        cases.Setting(graph, dense.rules, cases.KLONE),
        u_symmetric=0.667,
        weights=0.430,
        degree=5.3,
    )
    keep(
        parts,
        made,
        cases.Setting(graph, dense.rules, cases.EXACT),
        u=0.1,
        u_symmetric=0.03,
        weights=0.02,
        degree=0.4,
    )
    failed = cases.Setting(graph, dense.rules, cases.PUBLISHED)
    made.keep(parts.runs.Record(str(failed), 0, failed="not done in 10 s", bounds=(10.0, 1 << 33)))
    page = parts.page.Page(parts.compare.Results(made), cases.QUICK)
    text = page.text("python benchmarks/paper.py WORK --quick")
    name = "| Erdős–Rényi n = 500, M = 5k | "
    klone = "0.000 (0.000) = | 0.667 (0.667) = | 0.430 (0.423) = | 5.300 (5.314) = | 1.50 | equal |"
    exact = "0.100 (0.000) ▼ | 0.030 (0.154) ▲ | 0.020 (0.418) ▲ | 0.400 (3.354) ▲ | 1.50 | better in 3, worse in 1 "
    assert f"{name}500 / 5,000 | KLONE | {klone}" in text
    assert f"{name}500 / 5,000 | KGUARD, exact | {exact}" in text
    assert f"{name}– / – | KGUARD, published | not done in 10 s |" in text
    assert (
        "| [Table 1](#table-1) |  | ▲ 0 (0), = 4 (4), ▼ 0 (0) |  |  | ▲ 3 (3), = 0 (0), ▼ 1 (1) |  |" in text
    )
    assert "- No reason is known for ▼ in: Erdős–Rényi n = 500, M = 5k, KGUARD, exact, U." in text
    assert f"| {failed} | not done in 10 s |" in text
    assert "- a machine" in text
    assert "A quick series" in text
    assert "$" not in text.replace("$ python", "")


@pytest.mark.parametrize(
    ("size", "vertices", "edges", "same"),
    [
        ((400, 2_800), 410, 2_765, True),
        ((1_100, 2_600), 1_138, 2_596, True),
        ((1_100, 2_600), 1_138, 2_916, False),
        ((1_700, 3_100), 1_823, 3_100, False),
        ((100, None), 100, 155, True),
        ((100, None), None, None, False),
    ],
)
def test_graphs_of_the_papers_size_are_told_apart(
    parts: SimpleNamespace,
    size: tuple[int, int | None],
    vertices: int | None,
    edges: int | None,
    same: bool,
) -> None:
    assert parts.cases.Row("", "", {}, {}, size).same_size(vertices, edges) == same


def test_sections_that_are_not_measured_again_stay(parts: SimpleNamespace) -> None:
    def page(word: str, undone: str) -> str:
        summary = f"| [Figure 4](#figure-4) | {word} |\n| [Table 2](#table-2) | {word} |\n"
        sections = f"## Figure 4\n\n{word}\n\n## Table 2\n\n{word}\n"
        return f"# Title {word}\n\n{summary}\n{sections}\n## Runs without a result\n\n{undone}"

    old = page("old", "| a | late |\n| b | late |\n")
    new = page("new", "| run | why |\n| a | not run |\n| b | late again |\n| c | not run |\n")
    found = parts.page.merged(new, old, ["Table 2"])
    assert "# Title new" in found
    assert "| [Figure 4](#figure-4) | old |\n| [Table 2](#table-2) | new |\n" in found
    assert f"## Figure 4\n\n{parts.page.KEPT}\n\nold\n\n## Table 2\n\nnew\n" in found
    assert found.endswith("| run | why |\n| a | late |\n| b | late again |\n")
    assert parts.page.merged(new, found, ["Table 2"]) == found
    wider = new.replace("| [Table 2](#table-2) | new |", "| [Table 2](#table-2) | new |  | x |")
    wider = wider.replace("| [Figure 4](#figure-4) | new |", "| [Figure 4](#figure-4) | new |  |  |")
    assert "| [Figure 4](#figure-4) | old |  |  |\n" in parts.page.merged(wider, old, ["Table 2"])
    narrow = old.replace("| [Figure 4](#figure-4) | old |", "| [Figure 4](#figure-4) |  | old |")
    with pytest.raises(SystemExit, match=r"Figure 4.* again, too"):
        parts.page.merged(wider, narrow, ["Table 2"])


def test_line_11_is_measured_as_it_stands_too(parts: SimpleNamespace) -> None:
    cases = parts.cases
    found = [s for s in cases.settings(cases.FULL, ["Table 2"]) if s.method == cases.LITERAL]
    assert {setting.graph for setting in found} == cases.LITERALLY
    assert not any(s.method == cases.LITERAL for s in cases.settings(cases.FULL, ["Table 1", "Table 3"]))


def test_readings_of_one_file_have_names_of_their_own(parts: SimpleNamespace) -> None:
    graphs = {graph for table in parts.cases.TABLES for row in table.rows for graph in row.readings.values()}
    assert len({graph.name for graph in graphs}) == len(graphs)


def test_an_estimate_is_named_as_one(parts: SimpleNamespace, made: Any) -> None:
    cases = parts.cases
    row = next(row for row in cases.TABLE_3.rows if "Bitcoin" in row.title)
    setting = cases.Setting(row.readings["all ratings"], row.rules, cases.K_ISO)
    assert setting.sample == cases.SAMPLE
    delta = {"value": 0.5, "estimate": True}
    found = {"verdict": {"delta": delta, "delta_alike": delta}, "figures": {"edges": 4, "edges_deleted": 3}}
    made.keep(parts.runs.Record(str(setting), 0, found | {"seconds": {"anonymize": 1.0}}))
    page = parts.page.Page(parts.compare.Results(made), cases.FULL)
    assert "| 0.5000 est. (0.6050) ▼ | 0.5000 est. (0.6050) ▼ | 75 |" in page.table(cases.TABLE_3)


def test_a_reason_is_shown_where_it_applies(parts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = parts.reasons
    known = reasons.Reason("Because.", ("Table 1",), "worse", method="kguard", metric="u")
    monkeypatch.setattr(reasons, "reasons", lambda *_: [known])
    exact = reasons.Verdict("Table 1", "worse", "row", "kguard/exact", "u")
    klone = reasons.Verdict("Table 1", "worse", "row", "klone", "u")
    fine = reasons.Verdict("Table 1", "equal", "row", "klone", "degree")
    assert reasons.explained([exact, klone, fine]) == ([known], [klone])
    assert reasons.explained([fine]) == ([], [])


def test_reasons_name_what_there_is(parts: SimpleNamespace) -> None:
    rows = {f"Table {t.number}": {row.title for row in t.rows} for t in parts.cases.TABLES}
    source = (FOLDER / "kgiso" / "claims.py").read_text(encoding="utf-8")
    for reason in parts.reasons.reasons():
        assert reason.verdict in {"better", "worse"}
        assert reason.metric in {"", *parts.compare.METRICS}
        assert any(method.startswith(reason.method) for method in parts.cases.TITLES)
        for where in reason.where:
            if where in rows:
                assert reason.row in {"", *rows[where]}
            else:
                assert where in {"Figure 4", "Figure 5"}
                assert (reason.row.partition(": ")[2] or reason.row) in source


def test_seeds_are_summed_up_by_their_median(parts: SimpleNamespace, tmp_path: Path) -> None:
    made = parts.runs.Runs(tmp_path, tmp_path, 3, (10.0, 1 << 33))
    setting = parts.cases.Setting(parts.graphs.erdos_renyi(100), parts.cases.REACH, parts.cases.KLONE)
    for seed, degree in enumerate((0.5, 0.9)):
        keep(parts, made, setting, seed, degree=degree)
    made.keep(parts.runs.Record(str(setting), 2, failed="not done in 10 s"))
    results = parts.compare.Results(made)
    assert results.value(setting, "degree") == pytest.approx(0.7)
    assert results.why_not(setting) == "not done in 10 s with 1 of 3 seeds"


# What the paper says


def lines(parts: SimpleNamespace, made: Any, **values: Callable[[str, int], float]) -> Any:
    """A sweep over x on which each method has the values that a function makes of its name and x."""
    sweep = parts.cases.figures(parts.cases.QUICK)[0].sweeps[2]
    for line, points in sweep.lines.items():
        for x, setting in points.items():
            keep(parts, made, setting, **{name: of(line.method, x) for name, of in values.items()})
    return parts.claims.Lines(parts.compare.Results(made), sweep)


@pytest.mark.parametrize(
    ("rise", "found"), [(lambda x: 0.0, "better"), (lambda x: 2.0 * x, "equal")], ids=["level", "rising"]
)
def test_growth_is_as_in_the_paper_or_better(
    parts: SimpleNamespace, made: Any, rise: Callable[[int], float], found: str
) -> None:
    over = lines(parts, made, added=lambda method, x: 200.0 if method == "klone" else rise(x))
    assert parts.claims.grows(over, "4e", "added", "grows").verdict == found
    assert parts.claims.stays(over, "4e", "added", "is level", 0.01).verdict == "equal"


def test_slight_growth_is_held_against_that_of_klone(parts: SimpleNamespace, made: Any) -> None:
    over = lines(parts, made, added=lambda method, x: 100.0 * x if method == "klone" else 60.0 * x)
    assert parts.claims.grows(over, "4c", "added", "slightly", most=0.5).verdict == "worse"
    assert parts.claims.grows(over, "4c", "added", "slightly", most=0.7).verdict == "equal"
    assert parts.claims.about(over, "4c", "linear", lambda x: 100.0 * x).verdict == "equal"
    assert parts.claims.about(over, "4c", "linear", lambda x: 150.0 * x).verdict == "better"
    assert parts.claims.stays(over, "4e", "added", "is level", 0.01).verdict == "worse"


def test_both_modes_must_stay_below_klone(parts: SimpleNamespace, made: Any) -> None:
    worst = {"klone": 0.7, "kguard/exact": 0.1, "kguard/published": 0.8}
    over = lines(
        parts, made, u_symmetric=lambda method, _: worst[method], delta=lambda m, _: 1 - 0.1 * ("p" in m)
    )
    claim = parts.claims.below(over, "4b", "u_symmetric", "lower")
    assert (claim.verdict, claim.measured) == (
        "worse",
        "KGUARD, exact 0.100 at 2, 0.100 at 4; KGUARD, published 0.800 at 2, 0.800 at 4; "
        "KLONE 0.700 at 2, 0.700 at 4",
    )
    found = {claim.says.partition(":")[0]: claim.verdict for claim in parts.claims.protected([over], "6.1")}
    assert found == {"KLONE": "equal", "KGUARD, published": "worse", "KGUARD, exact": "equal"}


def test_of_what_was_not_measured_nothing_is_said(parts: SimpleNamespace, made: Any) -> None:
    results = parts.compare.Results(made)
    for figure in parts.cases.figures(parts.cases.FULL):
        assert parts.claims.claims(results, figure) == []
    assert [parts.claims.on_table(results, parts.cases.FULL, number) for number in (1, 2, 3)] == [[], [], []]


@pytest.mark.parametrize(("exact", "found"), [(0.1, "equal"), (0.9, "worse")])
def test_klone_is_to_have_more_wrong_answers_on_each_graph(
    parts: SimpleNamespace, made: Any, exact: float, found: str
) -> None:
    cases = parts.cases
    for i, (row, _, graph) in enumerate(cases.TABLE_2.taken(cases.FULL)):
        keep(parts, made, cases.Setting(graph, row.rules, cases.KLONE), u_symmetric=0.95 - 0.1 * (i == 0))
        keep(parts, made, cases.Setting(graph, row.rules, cases.EXACT), u_symmetric=exact if i == 0 else 0.9)
    lost, extra = parts.claims.on_table(parts.compare.Results(made), cases.FULL, 2)
    assert (lost.verdict, extra.verdict) == ("better", found)


# What is run


def test_each_row_has_the_papers_figures(parts: SimpleNamespace) -> None:
    for table in parts.cases.TABLES:
        for row in table.rows:
            for method in table.methods:
                assert len(row.printed(method)) == len(table.metrics), row.title


def test_nothing_is_run_twice(parts: SimpleNamespace) -> None:
    for scale in (parts.cases.FULL, parts.cases.QUICK):
        found = [str(setting) for setting in parts.cases.settings(scale)]
        assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("program", "q"),
    [("rules/reachability", 0), *((f"benchmarks/programs/kgiso_{p}", 0.5) for p in ("control", "ultimate"))],
)
def test_rules_ask_the_papers_queries(program: str, q: float) -> None:
    rules = ROOT / f"{program}.vada"
    assert set(kgreason.load(rules).queries) == {"two_owns", "two_q_owns"}
    own = [
        ("a", "b", 0.6),
        ("a", "c", 0.7),
        ("d", "b", 0.2),
        ("d", "c", 0.9),
        ("e", "e", 0.1),
        ("e", "b", 0.1),
    ]
    text = rules.read_text(encoding="utf-8").replace('@incoming_sum("own", 1.0).', "")
    found = kgreason.reason(text, {"own": own})
    assert {row[0] for row in found.rows("two_owns")} == {"a", "d"}
    assert {row[0] for row in found.rows("two_q_owns")} == ({"a", "d"} if q == 0 else {"a"})


@pytest.mark.slow
def test_drawn_graphs_are_as_large_as_was_asked_for(parts: SimpleNamespace, tmp_path: Path) -> None:
    edges = [(f"u{i}", f"m{j}", (i + j) % 5 + 1) for i in range(20) for j in range(30)]
    (tmp_path / "all.csv").write_text("u,m,w\n" + "".join(f"{u},{m},{w}\n" for u, m, w in edges))
    graph = parts.graphs.Public("all.csv", "scale=minmax", sample=50)
    first, again, other = (
        graph.source(tmp_path / str(i), tmp_path, seed) for i, seed in enumerate((1, 1, 2))
    )
    rows = [set(Path(file).read_text().splitlines()[1:]) for file in (first, again, other)]
    scaled = {f"{u},{m},{(w - 1) / 4:g}" for u, m, w in edges}
    assert len(rows[0]) == 50
    assert rows[0] <= scaled
    assert rows[0] == rows[1] != rows[2]
    assert parts.graphs.Public("missing.csv").source(tmp_path, tmp_path) is None
    assert parts.graphs.Public("all.csv", "a=b").source(tmp_path, tmp_path) == f"{tmp_path}/all.csv?a=b"


def test_drawn_shares_are_at_most_whole(parts: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\n" + "".join(f"v{i},v{i % 7 + 90}\n" for i in range(60)))
    file = parts.graphs.Public("pairs.csv", shares=True).source(tmp_path / "made", tmp_path)
    rows = [line.split(",") for line in Path(file).read_text().splitlines()[1:]]
    held: dict[str, float] = {}
    for _, company, share in rows:
        held[company] = held.get(company, 0.0) + float(share)
    assert len(rows) == 60
    assert max(held.values()) <= 1
    assert min(held.values()) > 0.49
    assert len(np.unique([share for _, _, share in rows])) > 50


# Kept runs


def test_runs_are_kept_and_continued(
    parts: SimpleNamespace, made: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[float] = []

    def timed(command: list[str], seconds: float, memory: int) -> Any:
        del memory
        done.append(seconds)
        if command[command.index("--method") + 1] == "klone":
            raise parts.commands.LateError(f"not done in {seconds:g} s")
        return parts.commands.Run(report(), 1.0, 10.0)

    monkeypatch.setattr(parts.runs, "timed", timed)
    monkeypatch.setattr(parts.graphs.Generated, "source", lambda *_: "graph.csv")
    graph = parts.graphs.erdos_renyi(10_000)
    methods = (parts.cases.KLONE, parts.cases.EXACT)
    settings = [parts.cases.Setting(graph, parts.cases.REACH, method) for method in methods]
    made.complete(settings)
    assert done == [10.0, 10.0]
    with made.file.open("a") as stream:
        stream.write('\n{"setting": "cut o')
    again = parts.runs.Runs(made.work, made.data, 1, made.bounds)
    again.complete(settings)
    assert done == [10.0, 10.0]
    assert [record.failed for setting in settings for record in again.of(setting)] == ["not done in 10 s", ""]
    longer = parts.runs.Runs(made.work, made.data, 1, (20.0, 1 << 33))
    longer.complete(settings)
    assert done == [10.0, 10.0, 20.0]
    last = parts.runs.Runs(made.work, made.data, 1, made.bounds)
    assert [record.failed for setting in settings for record in last.of(setting)] == ["not done in 20 s", ""]


def test_a_run_that_compiled_is_repeated(
    parts: SimpleNamespace, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter(["compiling kernels for this machine: each once", ""])
    runs = parts.runs

    def timed(*_: object) -> Any:
        return parts.commands.Run(report(), 1.0, 10.0, next(said))

    monkeypatch.setattr(runs, "timed", timed)
    monkeypatch.setattr(parts.graphs.Generated, "source", lambda *_: "graph.csv")
    setting = parts.cases.Setting(parts.graphs.erdos_renyi(10_000), parts.cases.REACH, parts.cases.KLONE)
    made.complete([setting])
    assert list(said) == []
    assert made.of(setting)[0].report == report()


def test_a_graph_that_is_not_there_is_said(parts: SimpleNamespace, made: Any) -> None:
    setting = parts.cases.Setting(parts.graphs.ASX, parts.cases.ULTIMATE, parts.cases.KLONE)
    made.complete([setting])
    assert parts.compare.Results(made).why_not(setting) == "the graph is not there"


def test_what_a_late_run_started_ends_with_it(parts: SimpleNamespace, tmp_path: Path) -> None:
    late, sign = tmp_path / "late", tmp_path / "sign"
    child = (
        "import os, time\nend = time.monotonic() + 20\n"
        f"while not os.path.exists({str(late)!r}) and time.monotonic() < end: time.sleep(0.01)\n"
        f"open({str(sign)!r}, 'w')"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with pytest.raises(parts.commands.LateError, match="not done in 0 s"):
        parts.commands.timed([sys.executable, "-c", parent], 0.4)
    late.touch()
    time.sleep(0.3)
    assert not sign.exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "ended by signal 11"),
        ("import sys; print('│ Invalid value │\\n╰──╯', file=sys.stderr); sys.exit(2)", "Invalid value"),
        ("bytearray(1 << 33)", "not done in the memory allowed"),
    ],
)
def test_why_a_run_failed(parts: SimpleNamespace, script: str, reason: str) -> None:
    with pytest.raises(parts.commands.NotDoneError) as error:
        parts.commands.timed([sys.executable, "-c", script], 30.0, 1 << 32)
    assert str(error.value) == reason


@pytest.mark.parametrize("words", [["--repeats", "0"], ["--seconds", "-1"], ["--memory", "many"]])
def test_numbers_without_a_meaning_are_refused(
    parts: SimpleNamespace,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import paper

    monkeypatch.setattr(sys, "argv", ["paper.py", "work", *words])
    with pytest.raises(SystemExit):
        paper.main()
    assert f"argument {words[0]}: '{words[1]}' is not a positive integer" in capsys.readouterr().err


# Plots


def texts(file: Path) -> set[str]:
    """The words of an SVG file."""
    root = ET.parse(file).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return {"".join(element.itertext()).strip() for element in root.iter() if element.tag.endswith("text")}


@pytest.mark.slow
def test_plots_name_their_axes(parts: SimpleNamespace, made: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines(parts, made, added=lambda method, x: 200.0 if method == "klone" else x)
    figure, _ = parts.cases.figures(parts.cases.QUICK)
    parts.drawing.plot(parts.compare.Results(made), figure).write(tmp_path / "figure.svg")
    assert texts(tmp_path / "figure.svg") >= {
        "Erdős–Rényi graphs: lower is better in every panel",
        "vertices of a part, x",
        "vertices added, %",
        "time to anonymize, s",
        "KGUARD, exact",
        "KLONE, upper bound",
        "not measured",
    }


def test_plots_are_the_same_each_time(parts: SimpleNamespace, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    styles = {"one": parts.plots.Style("#0077bb", "o"), "none": parts.plots.Style("#ee7733")}
    panel = parts.plots.Panel(
        "T", "x & y", "<y>", {"one": {10: 1.0, 1000: 20.0}, "none": {}}, True, True, 100.0
    )
    files = [tmp_path / folder / "plot.svg" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        parts.plots.Plot("P", [[panel, panel], [panel]], styles).write(file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert texts(files[0]) >= {"P", "T", "x & y", "<y>", "1,000", "one"}
    assert "none" not in texts(files[0])


# The whole


@pytest.mark.slow
def test_the_command_makes_a_page(
    parts: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    import paper

    cases = parts.cases
    monkeypatch.setattr(cases, "N", 40)
    monkeypatch.setattr(cases, "QUICK", cases.Scale((40,), (), (cases.K,), (cases.X,), repeats=1, most=100))
    row = cases.TABLE_3.rows[0]
    row = replace(row, readings={"α = 5": row.readings["α = 5"]})
    table = replace(cases.TABLE_3, rows=(row,))
    monkeypatch.setattr(cases, "TABLES", (cases.TABLE_1, cases.TABLE_2, table))
    monkeypatch.setattr(sys, "argv", ["paper.py", str(tmp_path), "--quick", "--data", str(tmp_path)])
    paper.main()
    page = tmp_path / "page" / "README.md"
    first = page.read_text(encoding="utf-8")
    assert "| not run |" not in first
    assert "| reach: PowerLaw-100: α = 5 |" in first
    assert {path.name for path in page.parent.iterdir()} == {"README.md", "figure4.svg", "figure5.svg"}
    assert all(json.loads(line)["report"] for line in (tmp_path / "runs.jsonl").read_text().splitlines())
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--page-only"])
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a run"))
    paper.main()
    assert page.read_text(encoding="utf-8") == first
