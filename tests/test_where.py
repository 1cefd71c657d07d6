"""The option ``where``: only the rows in which a column has a value."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgreason.analysis.check import load_text
from kgreason.errors import DataError
from kgreason.graph.io.load import load_facts
from kgreason.graph.io.source import SourceSpec, parse_source
from tests.test_bods import Told

PROGRAM = load_text('@edge("own"). @output("q"). q(X, Y) :- own(X, Y, W).')
ROWS = [
    ("A", "B", 0.5, "owner"),
    ("B", "C", None, "owner's"),
    ("B", "D", 0.25, "voter"),
    ("C", "D", 7.0, "voter"),
]
NAMES = ("source", "target", "weight", "type")


def rows(file: Path, told: Told | None = None, **options: str) -> set[tuple[object, ...]]:
    chosen = {"columns": "source,target,weight", **options}
    return set(load_facts(PROGRAM, {"own": [SourceSpec(file, None, chosen)]}, told or Told()).rows("own"))


def tables(folder: Path) -> list[Path]:
    text = "\n".join(",".join("" if v is None else str(v) for v in row) for row in (NAMES, *ROWS))
    (folder / "t.csv").write_text(text + "\n")
    (folder / "t.json").write_text(json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS]))
    pq.write_table(pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True))), folder / "t.parquet")
    return [folder / "t.csv", folder / "t.json", folder / "t.parquet"]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_rows_with_a_value_are_read_and_the_others_may_hold_anything(tmp_path: Path, kind: int) -> None:
    file = tables(tmp_path)[kind]
    assert rows(file, where="type = 'owner'") == {("A", "B", 0.5)}
    assert rows(file, where="target='B'") == {("A", "B", 0.5)}
    with pytest.raises(DataError, match="the cell is empty"):
        rows(file, where="type = 'owner''s'")
    assert rows(file, where="type = 'owner''s'", missing="skip") == set()


def test_numbers_are_compared_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.edges").write_text("1 2 3\n2 3 4\n")
    (tmp_path / "t.json").write_text(
        '[{"source": 1, "target": 2, "n": 3}, {"source": 2, "target": 3, "n": 4}]'
    )
    assert rows(tmp_path / "t.edges", where="weight = '3'", columns="1,2") == {("1", "2", 1.0)}
    assert rows(tmp_path / "t.json", where="n = '4'", columns="1,2") == {("2", "3", 1.0)}


def test_the_line_of_a_wrong_cell_is_that_of_the_file(tmp_path: Path) -> None:
    told = Told()
    rows(tables(tmp_path)[0], told, where="type = 'voter'")
    assert any("t.csv:5" in note and "7" in note for note in told.notes), told.notes


def test_a_value_that_no_row_has_is_told(tmp_path: Path) -> None:
    told = Told()
    assert rows(tables(tmp_path)[0], told, where="type = 'Owner'") == set()
    assert any("no row has type = 'Owner'" in note for note in told.notes)


def test_on_the_command_line_and_in_rules(tmp_path: Path) -> None:
    predicate, source = parse_source(f"own={tables(tmp_path)[0]}?where=type = 'owner'&columns=1,2,3")
    assert set(load_facts(PROGRAM, {predicate: [source]}, Told()).rows("own")) == {("A", "B", 0.5)}
    program = load_text(
        '@bind("own", "csv columns=1,2,3 where=\\"type = \'owner\'\\"", "' + str(tmp_path) + '", "t.csv").'
        '@edge("own"). @output("q"). q(X, Y) :- own(X, Y, W).'
    )
    assert program.binds[0].options["where"] == "type = 'owner'"


@pytest.mark.parametrize("text", ["type", "type = owner", "= 'owner'", "type = 'it's'", "type > 'a'"])
def test_what_is_no_condition_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="no condition") as error:
        rows(tables(tmp_path)[0], where=text)
    assert "column = 'value'" in str(error.value.hint)


def test_columns_that_are_not_there_or_hold_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no column 'kind'"):
        rows(tables(tmp_path)[0], where="kind = 'owner'")
    (tmp_path / "l.json").write_text('[{"source": "a", "target": "b", "weight": 1, "type": [1]}]')
    with pytest.raises(DataError, match="the column holds lists"):
        rows(tmp_path / "l.json", where="type = 'owner'")
