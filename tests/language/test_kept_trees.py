"""Syntax trees from the cache are those that the parser makes."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kgreason.language.syntax import kept_trees, parser
from kgreason.language.syntax.syntax_tree import Constant

ROOT = Path(__file__).parents[2]
FILES = [
    file for folder in ("rules", "examples", "tests/programs") for file in (ROOT / folder).rglob("*.vada")
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_trees_are_those_of_the_parser(folder: Path) -> None:
    assert len(FILES) > 20
    for file in FILES:
        text = file.read_text(encoding="utf-8", errors="replace")
        program, errors = parser.read(text, file.name)
        expected = asdict(program)
        for _ in range(2):
            found, others = kept_trees.read(text, file.name)
            assert (asdict(found), others) == (expected, errors)
    kept = list(folder.glob("*.tree"))
    assert 10 < len(kept) <= kept_trees._FILES
    assert {file.stat().st_mode & 0o77 for file in kept} == {0} or os.name == "nt"


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, parsed = [f"p(X) :- q(X), X > {i}." for i in range(3)], list[str]()
    read = parser.read

    def noted(text: str, *rest: Any) -> Any:
        parsed.append(text)
        return read(text, *rest)

    monkeypatch.setattr(parser, "read", noted)
    monkeypatch.setattr(kept_trees, "_FILES", 1)  # each text replaces the one before
    for text in (texts[0], texts[0], texts[1], texts[1], texts[0]):
        assert str(kept_trees.read(text, "a")[0].clauses[0]) == text
    assert parsed == [texts[0], texts[1], texts[0]]
    kept_trees.read(texts[0], "b")
    monkeypatch.setattr(kept_trees, "_sources", lambda: ("another version",))
    kept_trees.read(texts[0], "b")
    assert len(parsed) == 5


@pytest.mark.parametrize(
    "text", ["p(", "p(X) :- q(X).\np(", "p(X) :- q(X). q(1).", f"p(X) :- q(X). %{'-' * kept_trees._LONGEST}"]
)
def test_errors_facts_and_long_texts_are_not_kept(folder: Path, text: str) -> None:
    assert kept_trees.read(text, "a") == parser.read(text, "a")
    assert not list(folder.glob("*.tree"))


def test_trees_with_parameters_of_other_files_are_not_kept(folder: Path) -> None:
    text = 'p(X) :- q(X, "${name}").'
    shared = {"name": Constant("a")}
    assert kept_trees.read(text, "a", shared) == parser.read(text, "a", shared)
    assert not list(folder.glob("*.tree"))
