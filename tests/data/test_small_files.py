"""Small files that are read without Arrow mean the same as those that Arrow reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgreason.base.errors import KgreasonError
from kgreason.data.fact_loading import load_facts
from kgreason.data.formats import delimited
from kgreason.language.check.program_checker import load_text
from tests.examples import inputs

RULES = [
    '@input("p"). q(X, Y) :- p(X, Y, _). @output("q").',
    '@edge("p"). q(X, Y) :- p(X, Y, W), W > 0.5. @output("q").',
    '@input("p"). @mapping("p", 0, "a", "string"). @mapping("p", 2, "c", "double"). q(X, Y) :- p(X, Y, _).',
    '@input("p"). @mapping("p", 0, "a", "int"). @mapping("p", 1, "b", "date"). q(X, Y) :- p(X, Y, _).',
    '@input("p"). @mapping("p", 0, "a", "boolean"). @mapping("p", 2, "c", "percent"). q(X, Y) :- p(X, Y, _).',
    '@input("p"). q(X) :- p(X, _). @output("q").',
]
INTEGERS = st.sampled_from(["0", "7", "-3", "-0", "007", "+5", "123456789012345", "1234567890123456789"])
DECIMALS = st.sampled_from(
    ["0.5", "1", "-2.25", ".5", "1.", "1e3", "0.1234567890123", "12.5%", "1,5", "0.25"]
)
NAMES = st.sampled_from(
    ["a", "B c", " d", "e ", "", "ä", "NA", "null", "x-1", '"q"', "1st", "true", "a\x0bb", "a;b"]
)
CELLS = st.sampled_from(
    [INTEGERS, DECIMALS, NAMES, st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"])]
)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Text of a table of three columns, most of them of one kind."""
    columns = [draw(CELLS) for _ in range(3)]
    rows = [[draw(cells) for cells in columns] for _ in range(draw(st.integers(0, 6)))]
    head = draw(st.sampled_from([[], [["a", "b", "c"]]]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from(["", end, end + end]))
    return end.join(",".join(row) for row in (*head, *rows)) + last


def loaded(rules: str, file: Path, options: str) -> Any:
    """Facts of the file, or the error, and the notes."""
    notes: list[str] = []

    class Notes:
        def step(self, *_: Any) -> None: ...

        def advance(self, *_: Any) -> None: ...

        def note(self, message: str) -> None:
            notes.append(message)

    try:
        facts = load_facts(load_text(rules), {"p": f"{file}{options}"}, Notes())
    except KgreasonError as error:
        return str(error), notes
    kinds = {name: table.kinds for name, table in facts.tables.items()}
    return kinds, {name: [repr(row) for row in facts.rows(name)] for name in facts.tables}, notes


@settings(max_examples=inputs(400), deadline=None)
@given(
    tables(),
    st.sampled_from(RULES),
    st.sampled_from(["", "?useHeaders=true", "?useHeaders=false", "?skip=1"]),
)
def test_small_files_mean_what_arrow_reads(
    tmp_path_factory: pytest.TempPathFactory, text: str, rules: str, options: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "small.csv"
    file.write_bytes(text.encode())
    found = loaded(rules, file, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_SMALL", -1)
        assert found == loaded(rules, file, options)


@pytest.mark.parametrize("first", [True, False])
def test_small_and_large_files_share_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("x,y\na,b\nb,c\n", encoding="utf-8")
    large.write_text("x,y\nc,a\nb,d\n" + "e,f\n" * 20, encoding="utf-8")
    monkeypatch.setattr(delimited, "_SMALL", 50)
    order = ("p", "r") if first else ("r", "p")
    rules = f'@input("{order[0]}"). @input("{order[1]}"). q(X, Z) :- p(X, Y), r(Y, Z).'
    facts = load_facts(load_text(rules), {"p": str(small), "r": str(large)})
    assert set(facts.rows("p")) == {("a", "b"), ("b", "c")}
    assert set(facts.rows("r")) == {("c", "a"), ("b", "d"), ("e", "f")}


def test_a_small_run_imports_neither_arrow_nor_a_parser(ownership: Path) -> None:
    """Each of these takes from 0.03 to 1 s to import."""
    heavy = {"lark", "matplotlib", "networkx", "numba", "pandas", "pyarrow", "scipy", "sklearn"}
    (ownership / "plain.csv").write_text("owner,company,share\na,b,0.75\nb,c,0.25\n", encoding="utf-8")
    code = f"""
import sys
from kgreason.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code
print(sorted({heavy} & sys.modules.keys()), file=sys.stderr)
"""
    command = [sys.executable, "-c", code, "reason", "--rules", "control.vada", "--data", "own=plain.csv"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(ownership / "cache")}
    for _ in range(2):  # the first run keeps the tree of the rules
        done = subprocess.run(
            command, cwd=ownership, env=environment, capture_output=True, text=True, check=True
        )
    assert done.stderr.splitlines()[-1] == "[]"
    assert 'control("a", "b").' in done.stdout
