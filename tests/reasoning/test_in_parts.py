"""Facts written part by part: the files, the command line, and what is left after an error."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import kgreason
from kgreason.base.errors import CallError, DataError, KgreasonError, ProgramError, ReleaseError
from kgreason.cli import app
from kgreason.data import fact_streams
from kgreason.reasoning.in_parts import plan_parts, reason_in_parts

RULES = """
@input("edge").
@output("reach").
@output("indegree").
@output("loops").
@output("odd").
reach(X, Y) :- edge(X, Y).
reach(X, Z) :- reach(X, Y), edge(Y, Z).
indegree(Y, N) :- reach(X, Y), N = count(X).
loops :- reach(X, X).
odd(X) :- edge(X, _), not reach(X, _).
"""
DATA = {"edge": [(f"v{i}", f"v{(3 * i + 1) % 20}") for i in range(20)]}


def run(*arguments: str | Path):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.vada"
    file.write_text(RULES, encoding="utf-8")
    lines = ["from,to", *(f"{x},{y}" for x, y in DATA["edge"])]
    (tmp_path / "edge.csv").write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("format", ["parquet", "csv", "tsv"])
def test_files_hold_what_one_evaluation_derives(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fact_streams, "COLUMN_ROWS", 50)  # several pieces for each file
    written = reason_in_parts(RULES, DATA, tmp_path / "out", parts=5, format=format)
    whole = kgreason.reason(RULES, DATA)
    assert {p: whole.facts.count(p) for p in whole.predicates} == dict(written.counts)
    assert written.parts == {1: 5, 2: 5}
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == sorted(
        f"{p}.{format}" for p in ("reach", "indegree", "loops", "odd")
    )
    for predicate, target in written.targets:
        read = kgreason.reason('@input("p"). @output("p").', {"p": target.path})
        if predicate != "loops":
            assert set(read.rows("p")) == set(whole.rows(predicate))


def test_columns_have_names_and_types(tmp_path: Path):
    reason_in_parts(RULES, DATA, tmp_path / "out", parts=3)
    schema = pq.read_schema(tmp_path / "out" / "indegree.parquet")
    assert schema.names == ["Y", "N"]
    assert [str(t) for t in schema.types] == ["string", "int64"]
    assert pq.read_table(tmp_path / "out" / "loops.parquet").to_pydict() == {"holds": [True]}
    assert pq.read_table(tmp_path / "out" / "odd.parquet").num_rows == 0


def test_an_error_leaves_no_folder(tmp_path: Path):
    bad = "p(X, Y) :- e(X, Y). q(X, Z) :- p(X, Y), Z = 1 / Y."
    with pytest.raises(KgreasonError, match="division by zero"):
        reason_in_parts(bad, {"e": [(1, 1), (2, 0)]}, tmp_path / "out", parts=4)
    assert not list(tmp_path.iterdir())


def test_an_existing_folder_keeps_its_other_files(tmp_path: Path):
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "reach.parquet").write_text("old", encoding="utf-8")
    reason_in_parts(RULES, DATA, tmp_path, parts=2, outputs="reach")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["note.txt", "reach.parquet"]
    assert pq.read_table(tmp_path / "reach.parquet").num_rows == kgreason.reason(RULES, DATA).facts.count(
        "reach"
    )


def test_folders_by_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    for folder in (".", "..", "../new/deeper"):
        reason_in_parts(RULES, DATA, folder, parts=2, outputs="reach")
        assert (Path(folder) / "reach.parquet").is_file()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dangling").symlink_to(tmp_path / "later")
    for name, real in (("link", "elsewhere"), ("dangling", "later")):
        reason_in_parts(RULES, DATA, tmp_path / name, parts=2, outputs="reach")
        assert (tmp_path / real / "reach.parquet").is_file()
        assert (tmp_path / name).is_symlink()
    assert not list(tmp_path.rglob(".*"))


def test_an_unknown_output_leaves_nothing(tmp_path: Path):
    with pytest.raises(KgreasonError, match="no rule and no fact mentions the predicate nix"):
        reason_in_parts(RULES, DATA, tmp_path / "out", parts=2, outputs="nix")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(self, predicate, table):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fact_streams.FactStreams, "append", full)
    with pytest.raises(ReleaseError, match="No space left on device") as caught:
        reason_in_parts(RULES, DATA, tmp_path / "out", parts=2)
    assert "free space" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_arguments_are_checked(tmp_path: Path):
    for parts in (0, -1, "many", 1.5, True):
        with pytest.raises(CallError, match="parts is a number from 1 to 1,000,000"):
            reason_in_parts(RULES, DATA, tmp_path / "out", parts=parts)
    with pytest.raises(DataError, match="facts in parts cannot be written as 'gml'"):
        reason_in_parts(RULES, DATA, tmp_path / "out", format="gml")


def test_values_of_several_types_are_written_at_once(tmp_path: Path):
    rules = "p(X, [X, Y]) :- e(X, Y). p(X, [Z]) :- p(X, L), e(X, Z)."
    data = {"e": [(i, i + 1) for i in range(10)]}
    reason_in_parts(rules, data, tmp_path / "out", parts=4)
    table = pq.read_table(tmp_path / "out" / "p.parquet")
    whole = kgreason.reason(rules, data).rows("p")
    assert sorted(zip(*(c.to_pylist() for c in table.columns), strict=True)) == sorted(
        (x, [*y]) for x, y in whole
    )


def test_the_command_writes_parts(rules: Path):
    out = rules.parent / "out"
    edges = rules.parent / "edge.csv"
    found = run(
        "reason", "--rules", rules, "--data", f"edge={edges}", "--parts", "3", "--out", out, "--stats"
    )
    assert found.exit_code == 0
    assert f"{out}/reach.csv: " in found.stdout
    assert "stage 1: 3 parts" in found.stderr
    assert "derived" in found.stderr
    told = run(
        "reason", "--rules", rules, "--data", f"edge={edges}", "--parts", "auto", "--out", out, "--json"
    )
    counts = json.loads(told.stdout)["counts"]
    whole = kgreason.reason(rules, {"edge": edges})
    assert counts == {p: whole.facts.count(p) for p in whole.predicates}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "3"], "--parts: needs --out DIR"),
        (["--parts", "0", "--out", "x"], "'0' is no number from 1 to 1,000,000, and not auto"),
        (["--parts", "3", "--out", "x", "--profile"], "choose it or --parts, not both"),
        (["--parts", "3", "--out", "x", "--format", "gml"], "facts in parts cannot be written as 'gml'"),
    ],
)
def test_options_that_do_not_fit(rules: Path, arguments: list[str], message: str):
    found = run("reason", "--rules", rules, "--data", f"edge={rules.parent / 'edge.csv'}", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr


def test_check_prints_the_plan_or_why_there_is_none(rules: Path):
    found = run("check", "--parts", rules)
    assert found.exit_code == 0
    assert "stage 1: loops scattered, odd by argument 1, reach by argument 1" in found.stdout
    assert json.loads(run("check", "--parts", "--json", rules).stdout)["files"][0]["parts"]["findings"] == []
    rules.write_text("s(X, Y) :- e(X, Y). s(X, Y) :- e(P, X), s(P, Q), e(Q, Y).", encoding="utf-8")
    refused = run("check", "--parts", rules).stdout
    assert "reason --parts refuses these rules" in refused
    assert "rules.vada:1:41: error[E541]: s cannot be divided: no argument of s(P, Q) is copied" in refused
    division, why = plan_parts(rules)
    assert division is None
    assert [d.code for d in why] == ["E541"]
    with pytest.raises(ProgramError, match="E541"):
        reason_in_parts(rules, {"e": [(1, 2)]}, rules.parent / "out")
