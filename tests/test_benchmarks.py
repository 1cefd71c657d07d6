"""Comparison with other reasoners: its inputs, and what it says of results that differ."""

from __future__ import annotations

import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

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
