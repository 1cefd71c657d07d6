"""Every folder of ``tests/programs`` is a test: adding one needs no code.

``program.vada`` is evaluated on the tables ``in/<predicate>.csv``, whose header says ``name:type``, by both
engines, and must give the tables ``out/<predicate>.csv``; or it fails with a message that holds the text of
``error.txt``.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kgreason.analysis.check import load_file
from kgreason.analysis.checked import CheckedProgram
from kgreason.engine import naive
from kgreason.engine.table import Facts
from kgreason.errors import EvaluationError, ProgramError
from kgreason.lang.values import Value

CASES = sorted(p.parent for p in (Path(__file__).parent / "programs").glob("*/program.vada"))
TYPES: dict[str, Callable[[str], Value]] = {
    "int": int,
    "double": float,
    "string": str,
    "boolean": lambda text: text == "true",
}
Tables = dict[str, set[tuple[Value, ...]]]


def table(path: Path) -> set[tuple[Value, ...]]:
    """Rows of a table; without a header it has no columns, and each further line is one empty row."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0]:
        return {() for _ in lines[1:]}
    header, *rows = csv.reader(lines)
    types = [TYPES[column.rpartition(":")[2]] for column in header]
    return {tuple(convert(field) for convert, field in zip(types, row, strict=True)) for row in rows}


def tables(folder: Path) -> Tables:
    return {path.stem: table(path) for path in sorted(folder.glob("*.csv"))}


def fast(program: CheckedProgram, facts: Tables) -> Tables:
    from kgreason.engine.seminaive import evaluate

    given = Facts.from_rows({predicate: sorted(rows) for predicate, rows in facts.items() if rows})
    found = evaluate(program, given).facts
    return {p: set(found.rows(p)) if found.count(p) else set() for p in program.outputs}


def slow(program: CheckedProgram, facts: Tables) -> Tables:
    found = naive.evaluate(program, facts)
    return {p: found.get(p, set()) for p in program.outputs}


@pytest.mark.parametrize("engine", [fast, slow])
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_program(
    case: Path,
    engine: Callable[[CheckedProgram, Tables], Tables],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copy(case / "program.vada", tmp_path)
    monkeypatch.chdir(tmp_path)
    error = case / "error.txt"
    if error.exists():
        with pytest.raises((ProgramError, EvaluationError)) as caught:
            engine(load_file("program.vada"), tables(case / "in"))
        assert error.read_text(encoding="utf-8").strip() in str(caught.value)
        return
    found = engine(load_file("program.vada"), tables(case / "in"))
    for predicate, expected in tables(case / "out").items():
        assert typed(found[predicate]) == typed(expected), predicate


def typed(rows: set[tuple[Value, ...]]) -> set[tuple[tuple[str, Value], ...]]:
    """Rows in which 1, 1.0 and true differ."""
    return {tuple((type(v).__name__, v) for v in row) for row in rows}
