"""Loading at speed: columns of numbers in one pass, strings without objects of Python, nothing of pandas."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from math import isfinite
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.arrays import as_arrow, as_numpy, strings
from kgreason.base.errors import DataError
from kgreason.data.fact_loading import load_facts
from kgreason.data.format_list import read_table
from kgreason.data.formats import delimited
from kgreason.data.library_imports import from_arrow
from kgreason.data.raw_table import Raw
from kgreason.data.source_options import Options
from kgreason.data.sources import Remote, SourceSpec
from kgreason.data.text_conversion import coded, infer, plain
from kgreason.engine.relations.fact_tables import Facts, Kind
from kgreason.engine.relations.rows import first_rows
from kgreason.engine.relations.symbols import Symbols
from kgreason.language.check.program_checker import load_text
from kgreason.language.values import Null
from tests import reference
from tests.examples import inputs

quick = settings(deadline=None)  # the first call of a kernel loads it

CELLS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=True).map(repr),
    st.from_regex(r"[-+]?[0-9]{0,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{0,2})?%?", fullmatch=True),
    st.text("0123456789-+.eE ", max_size=6),
)
TEXTS = st.text(max_size=20) | st.text("ab", max_size=3)


@quick
@given(st.lists(CELLS, min_size=1, max_size=4), st.integers(1, 3))
def test_numbers_are_told_as_by_regular_expressions(cells: list[str], split: int) -> None:
    column = plain(pa.chunked_array([cells[:split], cells[split:]], pa.string()))
    kind = reference.numbers(cells)
    if kind == 0:
        assert infer(column) is Kind.INT
        assert coded(column, Kind.INT).tolist() == list(map(int, cells))
    elif kind == 1 and all(map(isfinite, map(float, cells))):
        assert infer(column) is Kind.DOUBLE
        assert coded(column, Kind.DOUBLE).view(np.float64).tolist() == list(map(float, cells))
    else:
        assert infer(column) is not Kind.INT


@pytest.mark.parametrize(
    "cell",
    [
        "0",
        "-0",
        "007",
        "0x1F",
        "+5",
        " 5",
        "9" * 18,
        "-" + "9" * 18,
        "9" * 19,
        "-" + "9" * 19,
        "--5",
        "5-",
        "-",
        "٣",
    ],
)
def test_integers_have_one_usual_form(cell: str) -> None:
    column = plain(pa.array(["10", cell, "-3"]))
    assert (infer(column) is Kind.INT) == (re.fullmatch("-?(0|[1-9][0-9]{0,17})", cell.strip()) is not None)


@quick
@given(st.text('a,"\n', max_size=12), st.integers(1, 12))
def test_quotation_marks_that_are_amiss_are_doubtful(text: str, block: int) -> None:
    """What is amiss does not depend on where a block ends."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder, "a.csv")
        file.write_text(text)
        whole = delimited._quotation(file, Options(), ",")
        patch.setattr(delimited, "_QUOTES", block)
        assert delimited._quotation(file, Options(), ",") == whole
        try:
            list(delimited.records(file, Options(), ","))
        except DataError:
            assert whole == (True, True)
    assert whole[0] == ('"' in text)


@settings(quick, max_examples=inputs(30))
@given(st.lists(st.lists(TEXTS, max_size=20), max_size=3), st.integers(0, 3))
def test_strings_are_coded_as_by_a_dictionary(parts: list[list[str]], skipped: int) -> None:
    symbols = Symbols()
    codes = symbols.load([strings(texts)[skipped:] for texts in parts])
    texts = [text for part in parts for text in part[skipped:]]
    firsts, groups = reference.grouped(texts)
    assert symbols.values(range(len(symbols))) == [texts[row] for row in firsts]
    assert codes.tolist() == groups


@quick
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)), max_size=30)
)
def test_first_rows_are_those_of_a_dictionary(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    firsts, _ = reference.grouped(rows)
    assert np.flatnonzero(first_rows(columns)).tolist() == firsts


@pytest.mark.parametrize("different", [1, 2, 300_000])
def test_first_of_many_rows(different: int) -> None:
    rows = np.arange(300_000) % different
    assert np.flatnonzero(first_rows([rows << 32])).tolist() == list(range(different))


@pytest.mark.parametrize("values", [[1, -2], [0.5, 2.0], [True, False, True], []])
def test_arrays_pass_to_arrow_and_back(values: list[object]) -> None:
    array = np.array(values)
    assert as_arrow(array).to_pylist() == values
    assert as_numpy(as_arrow(array)[1:]).tolist() == values[1:]


STEPS = st.tuples(st.sampled_from(["load", "encode", "intern", "look"]), st.lists(TEXTS, max_size=6))


@quick
@given(st.lists(STEPS, max_size=6))
def test_symbols_have_the_codes_of_a_plain_dictionary(steps: list[tuple[str, list[str]]]) -> None:
    """Loaded or coded one by one, in any order: codes count the values as they first appear."""
    symbols = Symbols()
    codes: dict[object, int] = {}
    for step, texts in steps:
        if step == "look":
            assert [symbols.known(text) for text in texts] == [text in codes for text in texts]
            continue
        values = [*texts, Null(1)] if step == "intern" else texts
        expected = [codes.setdefault(value, len(codes)) for value in values]
        ways = {
            "load": lambda values: symbols.load([strings(values[:2]), strings(values[2:])]),
            "encode": symbols.encode,
            "intern": lambda values: map(symbols.intern, values),
        }
        assert list(ways[step](values)) == expected
    assert len(symbols) == len(codes)
    known = [value for value in codes if isinstance(value, str)]
    found = np.array([codes[value] for value in known], dtype=np.int64)
    assert symbols.texts(found).to_pylist() == known
    ranks = symbols.ranks()
    assert symbols.decode(found[np.argsort(ranks[found])].tolist()) == sorted(known)
    assert symbols.values(range(len(symbols))) == list(codes)


def loaded(folder: Path, *files: str, options: str = "", rules: str = "q(X,Y) :- p(X,Y).") -> Facts:
    for number, text in enumerate(files):
        (folder / f"{number}.csv").write_text(text, encoding="utf-8")
    sources = [f"{folder / f'{number}.csv'}?useHeaders=false{options}" for number in range(len(files))]
    return load_facts(load_text(rules), {"p": sources})


def test_numbers_that_meet_text_are_the_text_as_written(tmp_path: Path) -> None:
    facts = loaded(tmp_path, "1.50,-0\n2e1,7\n", "x,y\nz,1\n")
    assert sorted(facts.rows("p")) == [("1.50", "-0"), ("2e1", "7"), ("x", "y"), ("z", "1")]


def test_skipped_rows_do_not_shift_the_text_of_numbers(tmp_path: Path) -> None:
    facts = loaded(tmp_path, "1.50,a\n2.50,\n3.50,c\n", "x,y\n", options="&missing=skip")
    assert sorted(facts.rows("p")) == [("1.50", "a"), ("3.50", "c"), ("x", "y")]


def test_integers_that_meet_decimals_are_doubles(tmp_path: Path) -> None:
    facts = loaded(tmp_path, "1,1\n", "0.5,2\n")
    assert facts.tables["p"].kinds == (Kind.DOUBLE, Kind.INT)
    assert sorted(facts.rows("p")) == [(0.5, 2), (1.0, 1)]


def test_a_number_beyond_the_doubles_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="'1e999' is not a finite number"):
        loaded(tmp_path, "1.5,a\n1e999,b\n")


def test_columns_of_the_data_can_be_written_to(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": [0.5, 1.5]}), tmp_path / "0.parquet")
    data = {"p": tmp_path / "0.parquet"}
    table = load_facts(load_text("q(X,Y) :- p(X,Y)."), data).tables["p"]
    assert all(column.flags.writeable for column in table.columns)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"columns": "b,a,w", "percent": "true", "missing": "skip"},
        {"columns": "2,1,3", "missing": "null"},
        {"columns": "a,b,w", "where": "n > 1", "missing": "keep"},
        {"columns": "a,none,w"},
        {"delimiter": ";"},
    ],
)
def test_options_of_remote_tables_are_those_of_files(tmp_path: Path, options: dict[str, str]) -> None:
    columns = {"a": ["x", "y", None], "b": ["y", "z", "z"], "w": [60.05, 7.0, 0.1], "n": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    raw = read_table(SourceSpec(tmp_path / "t.parquet"))
    program = load_text("r(X,Y,W) :- t(X,Y,W).")
    remote = Remote(str(tmp_path / "t.parquet"), lambda _: raw)

    def told(source: SourceSpec) -> object:
        try:
            facts = load_facts(program, {"t": source})
        except DataError as error:
            return str(error)
        return [tuple(v if type(v) is not Null else "null" for v in row) for row in facts.rows("t")]

    given = SourceSpec(Path("elsewhere"), "parquet", options, remote=remote)
    assert told(given) == told(SourceSpec(tmp_path / "t.parquet", None, options))


def test_remote_tables_are_fetched_when_they_are_needed() -> None:
    program = load_text('r(X) :- a(X). s(X) :- b(X). @output("r"). @output("s").')
    fetched: list[str] = []

    def given_as(predicate: str) -> SourceSpec:
        def read(_: Options) -> Raw:
            fetched.append(predicate)
            return from_arrow(pa.table({"x": [1, 2]}), predicate)

        return SourceSpec(Path(predicate), "parquet", remote=Remote(predicate, read, memory=True))

    data = {p: given_as(p) for p in "ab"}
    assert load_facts(program, data, goals=["r"]).count("a") == 2
    assert fetched == ["a"]
    with pytest.raises(DataError, match="the rules know no predicate 'c'"):
        load_facts(program, data | {"c": given_as("c")})
    assert fetched == ["a"]


def test_loading_and_reasoning_import_no_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "own.csv").write_text("owner,company,share,year\na,b,0.5,2020\nb,c,0.75,2021\n")
    pq.write_table(
        pa.table({"owner": ["a"], "company": ["x"], "share": [0.5], "year": [1]}), tmp_path / "o.parquet"
    )
    script = """
import sys
import kgreason
rules = 'big(X,Y) :- own(X,Y,W,T), W > 0.4, T > 0. @input("own"). @output("big").'
for file in sys.argv[1:]:
    print(len(list(kgreason.reason(rules, data={"own": file}).rows("big"))))
assert "pandas" not in sys.modules
"""
    files = [str(tmp_path / "own.csv"), str(tmp_path / "o.parquet")]
    done = subprocess.run([sys.executable, "-c", script, *files], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["2", "1"], "")
