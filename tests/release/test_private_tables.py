"""Private tables of two columns: the quick reading of plain files against that of any CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kgreason.base.errors import ReleaseError
from kgreason.release.mapping import numbers_in, numbers_of, plain_images, read_mapping
from kgreason.release.read_back import Rows, _parsed, _plain
from tests.examples import inputs

HEADER = "original", "released"
FIELDS = st.text(st.sampled_from("ab ,\"\n\r'é"), max_size=3)


def parsed(text: str, partial: bool) -> Rows | None:
    try:
        return _parsed(Path("mapping.csv"), text, HEADER, partial=partial)
    except ReleaseError:
        return None


@settings(max_examples=inputs(300), deadline=None)
@given(st.lists(st.lists(FIELDS, max_size=3), max_size=4), st.sampled_from(["\n", "\r\n"]), st.booleans())
@example([["a", "x"], ["b", "y"]], "\n", False)
@example([["a", "x"], ["a", "y"]], "\n", False)
@example([["a", "x"], [""], ["b", ""]], "\n", True)
@example([["a", "b", "c"], ["d"]], "\n", False)
def test_plain_tables_are_read_as_any(rows: list[list[str]], end: str, partial: bool) -> None:
    text = end.join([",".join(HEADER), *map(",".join, rows), ""])
    quick = _plain(text, HEADER, partial=partial)
    if quick is not None:
        other = parsed(text, partial)
        assert other is not None
        assert dict(quick.texts) == dict(other.texts)
        assert [quick.line(name) for name in quick.texts] == [other.line(name) for name in other.texts]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_written_table_is_plain(end: str) -> None:
    quick = _plain(f"original,released\nKen,b\nMary,a{end}", HEADER, partial=False)
    assert (quick is not None) == bool(end)
    if quick is not None:
        assert (dict(quick.texts), quick.line("Mary")) == ({"Ken": "b", "Mary": "a"}, 3)


NAMES = st.lists(st.sampled_from(["a", "b", "é", "", "a b", 'q"', "c,d"]), max_size=5, unique=True)
quick_files = settings(
    max_examples=inputs(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick_files
@given(NAMES, NAMES, st.lists(st.tuples(FIELDS, FIELDS), max_size=4))
@example(["a", "b"], ["x", "y"], [("b", "x"), ("a", "y")])
@example(["a", "b"], ["x", "y"], [("b", "x"), ("b", "y")])
@example(["a"], ["x"], [("a", "x"), ("b", "y")])
def test_numbers_of_a_plain_mapping_are_those_of_any(
    tmp_path: Path, original: list[str], released: list[str], rows: list[tuple[str, str]]
) -> None:
    file = tmp_path / "mapping.csv"
    rows = [*rows, *zip(original, released, strict=False)]
    file.write_text("\n".join([",".join(HEADER), *map(",".join, rows), ""]), encoding="utf-8", newline="")
    ours, theirs = (np.array(names, dtype=object) for names in (original, released))
    images = plain_images(file, ours)
    numbers = None if images is None else numbers_in(theirs, images)
    if numbers is not None:
        assert numbers.tolist() == numbers_of(read_mapping(file), ours, theirs, "vertex").tolist()
