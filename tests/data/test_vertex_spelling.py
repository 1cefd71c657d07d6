"""Names that look the same: what is told of them, and what names=normalize makes one."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kgreason import reason
from kgreason.base.errors import DataError
from kgreason.cli import app
from kgreason.data.formats.vertex_names import alike, normal_spelling, spelling_note

SPACED, JOINED = "ธนาคาร กรุงเทพ", "ธนาคารกรุงเทพ"


def one(name: str) -> str:
    return str(normal_spelling(pa.array([name], pa.large_string()))[0].as_py())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (SPACED, JOINED),
        ("トヨタ　自動車", "トヨタ自動車"),
        ("ﾄﾖﾀ", "トヨタ"),
        ("Ａｄａ　Ｌｔｄ", "Ada Ltd"),
        ("  Ada \t Lovelace\u00a0", "Ada Lovelace"),
        ("Ada\u200bLtd", "AdaLtd"),
        ("e\u0301", "é"),
        ("ธนาคาร 1 2", "ธนาคาร1 2"),
        ("SCB ธนาคาร", "SCBธนาคาร"),
        ("AB 1", "AB 1"),
        ("New York", "New York"),
        ("삼성 전자", "삼성 전자"),
        ("m²", "m²"),
        ("Ⅳ", "Ⅳ"),
        ("ada", "ada"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),
    ],
)
def test_one_spelling(name: str, expected: str) -> None:
    assert one(name) == expected
    assert one(expected) == expected


@given(st.text(alphabet="ab 1\u3000\u00a0กข自\uff11\uff21e\u0301\u200b\t", max_size=8))
def test_the_spelling_of_a_spelling_is_itself_and_looks_the_same(name: str) -> None:
    found = one(name)
    assert one(found) == found
    assert [c for c in unicodedata.normalize("NFKC", found) if not c.isspace() and c != "\u200b"] == [
        c for c in unicodedata.normalize("NFKC", name) if not c.isspace() and c != "\u200b"
    ]


def test_names_that_look_the_same() -> None:
    labels = [SPACED, "Ada", JOINED, "A B", "AB", "ＡＢ", "1 23", "12 3", "123", "1 2 3", "ada"]
    assert alike(labels) == [(SPACED, JOINED), ("A B", "AB", "ＡＢ")]
    assert alike(["Ada", "Bo", "Ada"]) == []
    assert alike(["A B", "C D"]) == []
    assert alike([]) == []


def test_the_note_shows_a_few_and_counts_all() -> None:
    assert spelling_note(["A", "B"]) is None
    assert spelling_note([SPACED, JOINED]) == (
        "1 name stands there in spellings that differ by blanks or the width of letters only, and so as several "
        f"vertices: {SPACED!r} and {JOINED!r}; names=normalize makes all of them one"
    )
    many = [f"{letter}{blank}x" for letter in "abcdefghijkl" for blank in ("", " ")]
    pairs = "; ".join(f"'{letter}x' and '{letter} x'" for letter in "abcdefghij")
    assert spelling_note(many) == (
        "12 names stand there in spellings that differ by blanks or the width of letters only, and so as several "
        f"vertices: {pairs}; ...; mend the data if they are one"
    )
    assert str(spelling_note([*many, "d  x"])).endswith("names=normalize makes 1 of them one")


@pytest.fixture
def register(tmp_path: Path) -> Path:
    rows = [(SPACED, "ก ข", 0.6), (JOINED, "Ash", 0.7), ("Ada", "กข", 0.8)]
    (tmp_path / "own.csv").write_text(
        "owner,company,share\n" + "".join(f"{a},{b},{w}\n" for a, b, w in rows), encoding="utf-8"
    )
    rules = tmp_path / "own.vada"
    rules.write_text(
        '@edge("own"). @node("company"). @output("control").\n@bind("own", "csv", "", "own.csv").\n'
        "control(X, Y) :- own(X, Y, W), W > 0.5.\n",
        encoding="utf-8",
    )
    return rules


@pytest.mark.parametrize("command", ["check", "risk", "init"])
def test_the_commands_tell(register: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(register.parent)
    words = {"check": ["own.vada"], "risk": ["--rules", "own.vada", "-k", "2", "-x", "2"]}
    run = CliRunner().invoke(app, [command, *words.get(command, ["own.csv", "--out", "new.vada"])])
    assert run.exit_code == 0, run.output
    said = " ".join(run.stderr.split())
    assert "note: 2 names stand there in spellings that differ by blanks or the width" in said
    assert f"{SPACED!r} and {JOINED!r}; 'ก ข' and 'กข'; names=normalize makes all of them one" in said


def test_check_of_files_that_are_not_there_or_damaged(register: Path) -> None:
    (register.parent / "own.csv").write_text("owner,company,share\nsecret,b\n", encoding="utf-8")
    run = CliRunner().invoke(app, ["check", str(register)])
    assert run.exit_code == 0
    assert "names were not compared, for" in run.stderr
    assert "secret" not in run.output
    (register.parent / "own.csv").unlink()
    run = CliRunner().invoke(app, ["check", str(register)])
    assert "names" not in run.stderr


def test_names_are_brought_to_one_spelling(register: Path) -> None:
    rules = register.read_text(encoding="utf-8")
    register.write_text(rules.replace('"csv"', '"csv names=normalize"'), encoding="utf-8")
    found = set(reason(register).facts.rows("control"))
    assert found == {(JOINED, "กข"), (JOINED, "Ash"), ("Ada", "กข")}
    assert "names stand" not in CliRunner().invoke(app, ["check", str(register)]).stderr


def test_names_of_a_graph_file_too(tmp_path: Path) -> None:
    file = tmp_path / "a.gml"
    file.write_text(
        'graph [ node [ id 1 name "Ａ" ] node [ id 2 name "B  C" ] edge [ source 1 target 2 ] ]',
        encoding="utf-8",
    )
    rules = '@edge("e"). p(X, Y) :- e(X, Y).'
    assert ("A", "B C") in set(reason(rules, {"e": f"{file}?names=name,normalize"}).facts.rows("p"))
    assert ("A", "B C") in set(reason(rules, {"e": f"{file}?names=normalize"}).facts.rows("p"))
    with pytest.raises(DataError, match="a csv source has no option names"):
        reason(rules, {"e": f"{tmp_path / 'a.csv'}?names=label"})
