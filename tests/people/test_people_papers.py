"""The page that holds our figures against those of the papers on people: verdicts, tables, kept runs."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kgreason.base.errors import AnonymizationError
from kgreason.people.anonymizers.user_distances import AnonymizationDistance
from tests.folders import ROOT
from tests.people.distances import MatrixDistance


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Modules of the benchmark, which are scripts beside each other."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import people_papers
    from people_kg import comparison_page, figures, measurements, pckga, pckga_cases, people_data

    return SimpleNamespace(
        command=people_papers,
        page=comparison_page,
        figures=figures,
        measurements=measurements,
        pckga=pckga,
        cases=pckga_cases,
        data=people_data,
    )


@pytest.mark.parametrize(
    ("ours", "paper", "kind"),
    [
        (0.00064, ".0006", "equal"),
        (0.00066, ".0006", "worse"),
        (0.00054, ".0006", "better"),
        (0.218, ".221", "equal"),  # 5 % are none
        (0.0004, ".000", "equal"),
        (0.0006, ".000", "worse"),
        (98.0, "97.24", "equal"),
    ],
)
def test_figures_are_equal_as_printed(parts: SimpleNamespace, ours: float, paper: str, kind: str) -> None:
    assert parts.page.verdict(ours, paper) == kind
    opposite = {"better": "worse", "worse": "better", "equal": "equal"}
    assert parts.page.verdict(ours, paper, higher=True) == opposite[kind]


def test_a_page_has_means_verdicts_and_what_is_missing(parts: SimpleNamespace, tmp_path: Path) -> None:
    def measured(_: Path, run: int) -> dict[str, float]:
        return {"ail": (0.1, 0.3)[run], "holds": 1 - run}

    def refused(*_: object) -> dict[str, float]:
        raise AnonymizationError("no user can be released", hint="lower k")

    good, bad = parts.figures.Case("good", measured, 2), parts.figures.Case("bad", refused)
    cells = [parts.figures.Cell(good, "ail", paper) for paper in (".300", ".2", ".1", "")]
    row = parts.figures.Row("users", (*cells, parts.figures.Cell(bad, "ail", ".5"), None))
    table = parts.figures.Table("Table 9", "Loss", "data", tuple("abcdef"), (row,), digits=2)
    found = parts.measurements.Measurements(tmp_path, tmp_path)
    page = parts.page.ComparisonPage(found)
    assert page.table(table).splitlines()[-1] == "| users | – (.300) | – (.2) | – (.1) | – | – (.5) |  |"
    found.complete(table.cases)
    line = "| users | 0.20 (.300) ▲ | 0.20 (.2) = | 0.20 (.1) ▼ | 0.20 | – (.5) |  |"
    text = page.table(table)
    assert line in text
    assert "No reason is known for ▼ in: users, c." in text
    whole = page.text({"pckga": [table]}, "command", quick=False)
    assert "| [Table 9](#table-9) | 1 | 1 | 1 |" in whole
    assert "**1 of 2 releases hold**" in whole
    assert "| bad | no user can be released |" in whole
    again = parts.measurements.Measurements(tmp_path, tmp_path)
    assert again.known == found.known
    again.complete([parts.figures.Case("good", lambda *_: pytest.fail("measured again"), 2)])


def test_all_tables_have_a_case_for_each_printed_figure(parts: SimpleNamespace) -> None:
    tables = parts.pckga.tables(quick=False)
    assert len({table.name for table in tables}) == len(tables) == 11
    for table in tables:
        assert all(len(row.cells) == len(table.columns) for row in table.rows)
        if "Table" in table.name:
            assert all(cell.paper for row in table.rows for cell in row.cells)
    cells = [(table, row, cell) for table in tables for row in table.rows for cell in row.cells]
    row = next(r for t, r, _ in cells if (t.name, r.title) == ("PCKGA, Table 2b", "YAGO zipf 5-50-5"))
    vac = row.cells[4]
    assert (vac.paper, vac.figure, vac.case.runs) == (".0025", "rru", 3)
    assert vac.case.name == "yago zipf_5-50-5-2 VAC"
    defaults = {c.case.name for _, _, c in cells if c.case.name.endswith(" exact")}
    assert {f"coil {parts.cases.HARD} exact", f"credit {parts.cases.HARD} exact"} < defaults
    names = [case.name for table in parts.pckga.tables(quick=True) for case in table.cases]
    assert not {case.name for table in tables for case in table.cases} & set(names)  # may share a folder


def test_ail_as_the_authors_compute_it(parts: SimpleNamespace) -> None:
    """Two users of a domain of 2 values: each gains the other one, of 1 that it lacks; the program divides by 2."""
    from kgreason.people.model import PeopleGraph

    graph = PeopleGraph.from_triples("ab", [("a", "sex", "m"), ("b", "sex", "f")])
    found = parts.cases.released(graph, np.array([2, 2]), np.array([0, 0]), np.random.default_rng(1))
    assert found == {"ail": 0.5, "rru": 0.0, "ail_program": 0.25, "holds": True}


def test_vac_of_the_authors_program(parts: SimpleNamespace) -> None:
    """Users on a line: the cheap ones first, each cluster as large as the k in it."""
    at = np.array([0.0, 1.0, 3.0, -1.5, 20.0, 21.0, 23.5])
    far = AnonymizationDistance(MatrixDistance(abs(at[:, None] - at)), np.array([3, 3, 3, 1, 2, 2, 2]))
    found = parts.cases.vac_of_the_program(far)
    clusters = [set(np.flatnonzero(found == c).tolist()) for c in range(found.max() + 1)]
    assert {3} in clusters
    assert all(len(users) >= max(far.levels[list(users)]) for users in clusters[:-1])
    assert sum(map(len, clusters)) == 7
    assert {4, 5} in clusters


def made_up(folder: Path, n: int = 60) -> None:
    """Data in the layout of the authors' Freebase: users 0 .. n-1, values above."""
    rng = np.random.default_rng(1)
    (folder / "pckga" / "freebase").mkdir(parents=True)
    (folder / "pckga" / "k_values").mkdir()
    values = [f"{u},{a},{1000 + 10 * a + rng.integers(4)}\n" for u in range(n) for a in range(3)]
    with gzip.open(folder / "pckga" / "freebase" / "attrs.edges.gz", "wt") as stream:
        stream.writelines(values)
    links = [f"{u},{9 + u % 3},{(u + 1) % n}\n" for u in range(n)]
    (folder / "pckga" / "freebase" / "rels.edges").write_text("".join(links))
    order = list(dict.fromkeys(end for line in [*values, *links] for end in line.strip().split(",")[::2]))
    for setting, levels in {"te_2-5-1": (2, 3, 5), "zipf_5-50-5-2": (5, 5, 10)}.items():
        with gzip.open(folder / "pckga" / "k_values" / f"freebase_{setting}_0.txt.gz", "wt") as stream:
            stream.writelines(f"{order.index(str(u))},{levels[u % 3]}\n" for u in range(n))


def test_the_command_makes_a_page_of_people(
    parts: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_up(tmp_path / "data")
    words = ["people_papers.py", str(tmp_path / "work"), "--quick", "--data", str(tmp_path / "data")]
    monkeypatch.setattr(sys, "argv", [*words, "--only", "PCKGA"])
    parts.command.main()
    page = tmp_path / "work" / "page" / "people.md"
    first = page.read_text(encoding="utf-8")
    assert "It is no measurement" in first
    assert "`python benchmarks/people_papers.py WORK --quick`" in first
    assert "| Freebase zipf 5-50-5 | 0." in first
    runs = [json.loads(line) for line in (tmp_path / "work" / "runs.jsonl").read_text().splitlines()]
    assert all(run["figures"]["holds"] == 1 for run in runs)
    assert f"All {len(runs)} releases hold" in first
    monkeypatch.setattr(sys, "argv", [*words, "--page-only"])
    monkeypatch.setattr(parts.measurements.Measurements, "measure", lambda *_: pytest.fail("a run"))
    parts.command.main()
    assert page.read_text(encoding="utf-8") == first
    monkeypatch.setattr(sys, "argv", [*words, "--only", "Table 99"])
    with pytest.raises(SystemExit, match="no table has one of Table 99 in its name"):
        parts.command.main()


def test_what_is_not_there_is_told(parts: SimpleNamespace, tmp_path: Path) -> None:
    found = parts.measurements.Measurements(tmp_path, tmp_path)
    users = parts.cases.Users("coil", "Coil")
    case = parts.cases.anonymized(users, parts.cases.HARD, "exact")
    found.complete([case])
    assert found.why_not(case) == "ticdata2000.txt.gz is not there"
