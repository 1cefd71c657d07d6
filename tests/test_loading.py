"""Loading at speed: columns of numbers in one pass, strings without objects of Python, nothing of pandas."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.analysis.check import load_text
from kgreason.arrays import as_arrow, as_numpy, string_buffers, strings
from kgreason.engine.symbols import Symbols
from kgreason.engine.table import Facts, Kind
from kgreason.graph.io import quotes
from kgreason.graph.io.kernels import integers, marks, numbers
from kgreason.graph.io.load import load_facts
from kgreason.hashing import distinct
from kgreason.hashing.kernels import UPPER, find, hash_texts, partition, renumber, same_texts, tally
from kgreason.lang.values import Null
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
@given(st.lists(CELLS, max_size=4))
def test_numbers_are_told_as_by_regular_expressions(cells: list[str]) -> None:
    assert numbers(*string_buffers(pa.array(cells, pa.string()))) == reference.numbers(cells)


@quick
@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1), st.integers(0, 3))
def test_integers_of_text(values: list[int], first: int) -> None:
    out = np.full(first + len(values), 7)
    integers(*string_buffers(pa.array(map(str, values), pa.string())), first, out)
    assert out.tolist() == [7] * first + values


@quick
@given(st.text('a,"', max_size=12), st.integers(0, 1))
def test_quotation_marks_are_counted_as_one_by_one(text: str, seen: int) -> None:
    inner = np.arange(256) == ord("a")
    counted = marks(np.frombuffer(text.encode(), dtype=np.uint8), ord('"'), inner, seen)
    assert counted == reference.marks(text.encode(), ord('"'), b"a", seen)


@quick
@given(st.text('a,"\n', max_size=12))
def test_blocks_of_a_file_hang_together(text: str) -> None:
    """What is amiss does not depend on where a block ends."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder, "a.csv")
        file.write_text(text)
        whole = quotes.doubtful(file, ",", '"')
        patch.setattr(quotes, "_BLOCK", 3)
        assert quotes.doubtful(file, ",", '"') == whole


@settings(quick, max_examples=inputs(30))
@given(st.lists(st.lists(TEXTS, max_size=20), max_size=3), st.integers(0, 3))
def test_strings_are_grouped_as_by_a_dictionary(parts: list[list[str]], skipped: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "_BLOCK", 3)  # for several threads
        found, codes = distinct.distinct_texts([strings(texts)[skipped:] for texts in parts])
    texts = [text for part in parts for text in part[skipped:]]
    firsts, groups = reference.grouped(texts)
    assert found.to_pylist() == [texts[row] for row in firsts]
    assert codes.tolist() == groups


HASHES = st.integers(-(2**63), 2**63 - 1) | st.tuples(
    st.integers(0, 3), st.integers(0, 9), st.integers(0, 3)
).map(lambda bits: bits[0] << 60 | bits[1] << UPPER | bits[2])


@quick
@given(st.lists(HASHES, max_size=200), st.integers(0, 200), st.sampled_from([2, 8, 512]))
def test_hashes_are_grouped_as_by_a_dictionary(values: list[int], middle: int, room: int) -> None:
    """Also those of one part and of one place in its table, some of which differ by other bits alone."""
    hashes, parts = np.array(values, dtype=np.int64), 4
    rows = [[row for row, h in enumerate(values) if (h >> UPPER) % parts == p] for p in range(parts)]
    sizes = np.zeros(parts, dtype=np.int64)
    tally(hashes, sizes)
    assert sizes.tolist() == [len(some) for some in rows]
    starts, parted = np.append(0, np.cumsum(sizes)), np.empty(2 * len(values), dtype=np.int64)
    places = starts[:-1].copy()
    partition(hashes[:middle], 0, places, parted)
    partition(hashes[middle:], min(middle, len(values)), places, parted)
    assert parted.reshape(-1, 2).tolist() == [[values[row], row] for p in rows for row in p]

    groups, count, p, slots = np.empty_like(hashes), 0, 0, np.empty(room, dtype=np.int64)
    while p < parts:
        p, found = find(starts, parted, p, min(p + 2, parts), slots, groups)
        count += found
        if p < parts and len(set(hashes[rows[p]].tolist())) > len(slots) // 2:
            slots = np.empty(2 * len(slots), dtype=np.int64)
    firsts, numbers = reference.grouped(values)
    assert count == len(firsts)
    assert groups.tolist() == [firsts[n] for n in numbers]
    first = np.empty(len(firsts), dtype=np.int64)
    renumber(groups, first)
    assert (first.tolist(), groups.tolist()) == (firsts, numbers)


def test_hashes_differ_by_few_bits() -> None:
    """Those that tell the part, and those that tell the place in its table."""
    texts = strings([f"Company {i} Ltd" for i in range(100_000)])
    hashes = np.empty(len(texts), dtype=np.int64)
    hash_texts(*string_buffers(texts), 0, hashes)
    numbers = np.arange(100_000)
    for found in (
        hashes,
        distinct._row_hashes([numbers], 0),
        distinct._row_hashes([numbers % 300, numbers // 300], 0),
    ):
        assert len(np.unique(found)) == len(found)
        for shift in (0, UPPER):
            sizes = np.bincount(found >> shift & 0xFF)
            assert 300 < sizes.min() <= sizes.max() < 500


@quick
@given(st.lists(TEXTS, min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=6), st.data())
def test_strings_are_compared_with_their_groups(
    others: list[str], numbers: list[int], data: st.DataObject
) -> None:
    """Wherever the one letter stands that two strings of one length differ by."""
    groups = np.array([number % len(others) for number in numbers], dtype=np.int64)
    texts = [others[group] for group in groups]
    if texts and texts[-1] and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(texts[-1]) - 1))
        texts[-1] = texts[-1][:place] + "b" + texts[-1][place + 1 :]
    same = same_texts(*string_buffers(strings(texts)), *string_buffers(strings(others)), groups)
    assert same == all(text == others[group] for text, group in zip(texts, groups, strict=True))


@quick
@given(st.lists(TEXTS, unique=True, max_size=20))
def test_other_strings_have_other_hashes(texts: list[str]) -> None:
    hashes = np.empty(len(texts), dtype=np.int64)
    hash_texts(*string_buffers(strings(texts)), 0, hashes)
    assert len(set(hashes.tolist())) == len(texts)


def test_equal_hashes_of_other_values_are_hashed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def colliding(offsets: np.ndarray, text: np.ndarray, seed: int, hashes: np.ndarray) -> None:
        seeds.append(seed)
        hash_texts(offsets, text, seed, hashes)
        if not seed:
            hashes[:] = 7

    rows = distinct._row_hashes
    monkeypatch.setattr(distinct, "hash_texts", colliding)
    monkeypatch.setattr(distinct, "_row_hashes", lambda columns, seed: rows(columns, seed) * (seed > 0))
    found, codes = distinct.distinct_texts([strings(["a", "b", "a"])])
    assert (found.to_pylist(), codes.tolist(), seeds) == (["a", "b"], [0, 1, 0], [0, 1])
    assert distinct.first_rows([np.array([1, 2, 1])]).tolist() == [True, True, False]


@pytest.mark.parametrize("different", [1, 2, 300_000])
def test_hash_tables_have_room_for_the_different_rows_alone(
    different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def seen(*given: Any) -> tuple[int, int]:
        sizes.append(len(given[4]))
        return find(*given)

    monkeypatch.setattr(distinct, "find", seen)
    monkeypatch.setattr(distinct, "_PART", 1 << 8)
    rows = np.arange(300_000) % different
    assert np.flatnonzero(distinct.first_rows([rows])).tolist() == list(range(different))
    assert max(sizes) == 8 << 8


@quick
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=30))
def test_first_rows_are_those_of_a_dictionary(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    firsts, _ = reference.grouped(rows)
    assert np.flatnonzero(distinct.first_rows(columns)).tolist() == firsts


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
