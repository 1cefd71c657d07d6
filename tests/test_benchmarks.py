"""Comparison with other reasoners: its inputs, and what it says of results that differ."""

from __future__ import annotations

import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Modules of the comparison, which are scripts beside each other."""
    monkeypatch.syspath_prepend(FOLDER)
    import cases
    import comparison
    import engines
    import inputs

    return SimpleNamespace(cases=cases, comparison=comparison, engines=engines, inputs=inputs)


@pytest.mark.parametrize("option", [["--companies", "0"], ["--edits", "-1"], ["--companies", "many"]])
def test_sizes_without_a_meaning_are_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setattr(sys, "argv", ["incremental.py", *option])
        import incremental

        with pytest.raises(SystemExit):
            incremental.main()
    assert f"argument {option[0]}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "checksum"),
    [
        ("er1k", 0xC18A9947),
        ("chain20k", 0xB052A5D7),
        ("comp1k", 0x5EA04162),
        ("pt5k", 0xFFF60175),
        ("sg2k", 0x68799B65),
    ],
)
def test_everyone_has_the_same_inputs(
    benchmarks: SimpleNamespace, tmp_path: Path, name: str, checksum: int
) -> None:
    found = 0
    for path in sorted(benchmarks.inputs.generate(name, tmp_path).iterdir()):
        found = zlib.crc32(path.read_bytes(), found)
    assert found == checksum


@pytest.mark.parametrize(
    ("change", "fine"), [({}, True), ({"size": 9_460}, False), ({"digest": "other"}, False)]
)
def test_a_different_result_is_told(
    benchmarks: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    fine: bool,
) -> None:
    engines, (case,) = benchmarks.engines, [c for c in benchmarks.cases.CASES if str(c) == "control/comp1k"]

    def run(engine: object, *_: object, digest: bool = False) -> object:
        found = engines.Run(1.0, 10.0, case.size, "same" if digest else "")
        if engine is engines.KGREASON:
            return found
        return replace(found, **{name: value for name, value in change.items() if name != "digest" or digest})

    monkeypatch.setattr(benchmarks.comparison, "run", run)
    monkeypatch.setattr(
        benchmarks.comparison, "versions", lambda _, peers: {p.package: "1" for p in peers} | {"egglog": None}
    )
    compared = benchmarks.comparison.Comparison(sys.executable, list(engines.PEERS), 2, 10.0, 5.0, tmp_path)
    line = compared.line(case)
    cells = {peer.name: str(outcome) for peer, outcome in line.peers.items()}
    assert line.fine == fine
    assert cells["clingo"] == ("1.00 (10)" if fine else "DIFFERENT 1.00 (10)")
    assert (cells["egglog"], cells["igraph"]) == ("not installed", "–")
    assert (line.compared, line.ahead) == ("rows", "1.0× (duckdb)" if fine else "–")


def test_memory_is_measured_from_inputs_to_results() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        import memory

        sizes = {
            name: memory.STEPS[name](500)() for name in ("adjacency", "plain", "control", "reach", "klone")
        }
    assert len(sizes["adjacency"].neighbour) == len(sizes["plain"].neighbour)
    assert [graph.sums is None for graph, _ in (sizes["control"], sizes["reach"])] == [False, True]
    assert [len(start.values) for _, start in (sizes["control"], sizes["reach"])] == [100, 100]
    assert sizes["klone"].originals == 100


def test_a_run_has_an_end(benchmarks: SimpleNamespace, tmp_path: Path) -> None:
    folder = benchmarks.inputs.generate("comp1k", tmp_path)
    with pytest.raises(benchmarks.engines.RunError, match=r"> 0\.01 s") as error:
        benchmarks.engines.run(benchmarks.engines.KGREASON, sys.executable, "control", folder, 0.01)
    assert error.value.late


@pytest.mark.slow
def test_reasoners_agree(tmp_path: Path) -> None:
    lines = ["control/comp1k", "samegen/sg2k"]
    words = ["--only", *lines, "--peers", "duckdb", "clingo", "--repeats", "1", "--data", str(tmp_path)]
    command = [sys.executable, str(FOLDER / "reasoner.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| control | comp1k | 9,461 | rows |" in done.stdout
    assert "| samegen | sg2k | 115,376 | rows |" in done.stdout


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that compares the modes of KGUARD."""
    monkeypatch.syspath_prepend(FOLDER)
    import kguard

    return kguard


def test_what_cannot_be_measured_is_said(
    table: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(run: str, *_: object) -> object:
        if run == "kguard/exact":
            raise table.NotDoneError("not done in 5 s")
        return table.Run(report, 1.5, 100.0)

    fidelity = {
        "vertices_added": 3,
        "edges_added": 14,
        "vertices_added_percent": 0.6,
        "degree": 0.25,
        "weights": {"own": 0.125},
    }
    report = {
        "verdict": {"delta": {"value": 0.99999, "exact": True}},
        "original": {"vertices": 500, "edges": 5000},
        "figures": {"subgraphs": 2_000_000, "classes": 12},
        "utility": {"u": 0.0, "u_symmetric": 0.5},
        "fidelity": fidelity,
        "detection": {"auc": None},
    }
    monkeypatch.setattr(table, "measure", measure)
    monkeypatch.setattr(table.Generated, "source", lambda *_: "file")
    monkeypatch.setattr(sys, "argv", ["kguard.py", "graphs", "data", "--only", "1138_bus", "er-500"])
    table.main()
    lines = capsys.readouterr().out.splitlines()
    assert "| 1138_bus | left out: data/weighted/1138_bus.mtx is not there |" in lines
    assert any(line.startswith("| er-500 | kguard/exact | not done in 5 s |") for line in lines)
    published = "| er-500 | kguard/published | 1.5 | 100 | 0.9999 | 2,000,000 | 12 | 500 | 5,000 | 3 | 14 |"
    assert any(line.startswith(published) for line in lines)
    assert any(line.startswith("| er-500 | paper |") and "| 0.154 | 3.354 |" in line for line in lines)
    assert "- er-500: not both are done" in lines
    more = replace(table.Run(report, 1.0, 1.0), report={**report, "fidelity": {**fidelity, "edges_added": 7}})
    assert table.ratio(more, table.Run(report, 1.0, 1.0)) == "vertices 1.000, edges 0.500"


def test_a_benchmarked_run_has_an_end(table: ModuleType) -> None:
    with pytest.raises(table.NotDoneError, match=r"not done in 0 s"):
        table.timed([sys.executable, "-c", "import time; time.sleep(60)"], 0.2)
    refusing = (
        "import sys; print('a note\\nerror: no such thing\\n  help: none', file=sys.stderr); sys.exit(2)"
    )
    with pytest.raises(table.NotDoneError, match="error: no such thing"):
        table.timed([sys.executable, "-c", refusing], 60.0)
    with pytest.raises(table.NotDoneError, match="not done in the memory allowed"):
        table.timed([sys.executable, "-c", "raise MemoryError"], 60.0)
    assert table.timed([sys.executable, "-c", "print('{\"a\": 1}')"], 60.0).report == {"a": 1}
