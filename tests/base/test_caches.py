"""Where things are kept from one run to the next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgreason.base import caches
from kgreason.language.syntax.parser import parse
from kgreason.language.syntax.tree_builder import Builder, compiled


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source file in a folder of its own, beside a home folder."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "package").mkdir()
    return tmp_path / "package" / "source.py"


def test_beside_the_source_first(package: Path) -> None:
    caches.write("a.bin", package, b"1")
    assert (package.parent / "__pycache__" / "a.bin").read_bytes() == b"1"
    assert caches.read("a.bin", package) == b"1"
    assert caches.place("b", package) == package.parent / "__pycache__" / "b"


def test_then_at_home(package: Path, tmp_path: Path) -> None:
    (package.parent / "__pycache__").write_text("no folder")
    caches.write("a.bin", package, b"1")
    assert (tmp_path / "home" / "kgreason" / "a.bin").read_bytes() == b"1"
    assert caches.read("a.bin", package) == b"1"
    assert caches.place("b", package) == tmp_path / "home" / "kgreason" / "b"


def test_or_nowhere(package: Path, tmp_path: Path) -> None:
    (package.parent / "__pycache__").write_text("no folder")
    (tmp_path / "home").write_text("no folder either")
    caches.write("a.bin", package, b"1")
    assert caches.read("a.bin", package) is None
    assert caches.place("b", package) is None


def test_nothing_half_written_is_left(package: Path) -> None:
    caches.write("a.bin", package, b"1")
    caches.write("a.bin", package, b"22")
    assert [p.name for p in (package.parent / "__pycache__").iterdir()] == ["a.bin"]
    assert caches.read("a.bin", package) == b"22"


def test_the_environment_names_the_only_folder(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert caches.folders(package) == [tmp_path / "chosen"]


@pytest.mark.parametrize("content", [None, b"", b"damaged", b"x" * 64 + b"\n" + b"\x80\x04."])
def test_tables_of_the_parser_are_made_again_where_they_are_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kept = tmp_path / "vadalog.grammar"
    if content is not None:
        kept.write_bytes(content)
    first = compiled(Builder())
    assert kept.stat().st_size > 1000
    again = compiled(Builder())
    assert list(first.lex("p(X) :- q(X).")) == list(again.lex("p(X) :- q(X)."))
    assert str(parse("p(X) :- q(X).").clauses[0]) == "p(X) :- q(X)."


def test_nothing_is_taken_from_where_everybody_may_write(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shared"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    caches.write("a.bin", package, b"1")
    assert caches.read("a.bin", package) == b"1"
    (folder / "a.bin").chmod(0o666)
    assert caches.read("a.bin", package) is None
    assert caches.place("a.bin", package) is None
    (folder / "a.bin").chmod(0o600)
    folder.chmod(0o777)
    assert caches.folders(package) == []
    assert caches.read("a.bin", package) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser can give files away")
def test_nothing_is_taken_from_other_users(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "theirs"))
    caches.write("a.bin", package, b"1")
    os.chown(tmp_path / "theirs", 1234, 1234)
    assert caches.read("a.bin", package) is None
    assert caches.place("b", package) is None
