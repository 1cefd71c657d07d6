"""All code of the documentation runs, and says what its page says.

Each page runs from top to bottom in a folder of its own that holds the `rules`, `grammars` and `examples` of the
checkout, as if its reader stood in the checkout. `tests/pages.py` tells how a page says what is not run, and why. The
pages of diagnostics are run by `test_diagnostics.py`, the notebooks by `test_site.py`.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kgreason.base.errors import KgreasonError
from kgreason.cli import app
from kgreason.language.check.program_checker import examine_file
from kgreason.language.syntax.parser import parse
from tests.folders import ROOT
from tests.needs import needs_spark
from tests.pages import Block, PageError, blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [p for p in PAGES if not re.fullmatch(r"[EW]\d{3}", p.stem)]
FEW = 10
RUNS = re.compile(r"^ *(?:```(?:console|sh|python)|<!-- (?:setup|check|output of))", re.M)
SHELL = re.compile(r"[|<>;&]")


class Reader:
    """Somebody who does what a page says, in `folder`, and looks whether it comes out as the page says."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.said: str | None = None  # by the last block that was run

    def read(self) -> None:
        for block in blocks(self.page):
            self.do(block)

    def do(self, block: Block) -> None:
        if "not run" in block.marks:
            self.said = None
            return
        try:
            if name := block.marks.get("file"):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text(block.text, encoding="utf-8")
            getattr(self, f"do_{block.language or 'nothing'}")(block)
        except AssertionError as error:
            raise AssertionError(f"{self.page.name}:{block.line}: {error}") from error

    def do_setup(self, block: Block) -> None:
        self.shell(block.text)

    def do_sh(self, block: Block) -> None:
        self.said = self.shell(block.text)

    def do_console(self, block: Block) -> None:
        before, *prompts = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.M)
        assert prompts, "no line begins with $"
        assert not before, "the first line does not begin with $"
        said = []
        for i, prompt in enumerate(prompts, 1):
            command, _, shown = prompt.partition("\n")
            code = int(block.marks.get("exit", 0)) if i == len(prompts) else 0
            said.append(self.command(command, code))
            if shown.strip() and "varies" not in block.marks:
                same(said[-1], shown)
        self.said = "".join(said)

    def do_text(self, block: Block) -> None:
        if "varies" in block.marks or "file" in block.marks:
            return
        if command := block.marks.get("output of"):
            self.said = self.command(command, int(block.marks.get("exit", 0)))
        said = self.said if block.follows or "output of" in block.marks else None
        assert said is not None, "a text that no command says: mark it"
        same(said, block.text)

    def do_python(self, block: Block) -> None:
        if block.text.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(
                block.text, self.names, self.page.name, None, block.line
            )
            told: list[str] = []
            doctest.DocTestRunner().run(test, out=told.append, clear_globs=False)
            self.names.update(test.globs)
            assert not told, "".join(told)
            return
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile("\n" * block.line + block.text, self.page.name, "exec"), self.names)
        self.said = said.getvalue()

    def do_check(self, block: Block) -> None:
        exec(compile("\n" * block.line + block.text, self.page.name, "exec"), self.names)

    def do_prolog(self, block: Block) -> None:
        if "fragment" in block.marks:
            parse(block.text, "fragment.vada")
            return
        file = self.folder / block.marks.get("file", "page.vada")
        file.write_text(block.text, encoding="utf-8")
        found = examine_file(str(file))
        assert found.program is not None, str(found)

    do_vadalog = do_prolog

    def do_toml(self, block: Block) -> None:
        tomllib.loads(block.text)

    def do_json(self, block: Block) -> None:
        json.loads(block.text)

    def do_csv(self, block: Block) -> None:
        assert "file" in block.marks, "a table that nothing reads: mark it as a file"

    def command(self, text: str, code: int) -> str:
        """What a command line says; commands of kgreason run in this process if the shell has nothing to do."""
        words = shlex.split(text, comments=True)
        if words[0] != "kgreason" or any(SHELL.fullmatch(w) for w in words) or "*" in text:
            return self.shell(text, code)
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == code, f"{text}\n{result.output}\nends with {result.exit_code}, not {code}"
        return result.stdout if code == 0 else result.output

    def shell(self, text: str, code: int = 0) -> str:
        """What lines of the shell say, where `kgreason` is the one of this checkout."""
        programs = self.folder / ".bin"
        programs.mkdir(exist_ok=True)
        (programs / "kgreason").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kgreason "$@"\n')
        (programs / "kgreason").chmod(0o755)
        home = self.folder / ".home"  # what a page puts there is not to stay
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == code, f"{text}\n{ran.stdout}\nends with {ran.returncode}, not {code}"
        return ran.stdout


def same(said: str, shown: str) -> None:
    """Compare line by line, but for blanks at the ends; a line `...` of the page stands for any lines."""
    lines = [re.escape(line.rstrip()) for line in shown.strip("\n").splitlines()]
    pattern = "\n".join(r"(?:.*\n)*?.*" if line == r"\.\.\." else line for line in lines)
    told = "\n".join(line.rstrip() for line in said.strip("\n").splitlines())
    assert re.fullmatch(pattern, told), f"the page shows\n{shown}\nbut it says\n{told}"


def ways(page: Path) -> Any:
    """A page as a parameter: slow unless it only shows rules and files."""
    name = page.relative_to(ROOT).as_posix()
    runs = RUNS.search(page.read_text(encoding="utf-8"))
    return pytest.param(page, id=name, marks=[pytest.mark.slow] if runs else [])


@pytest.mark.parametrize("page", [ways(page) for page in PAGES])
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "--engine spark" in page.read_text(encoding="utf-8"):
        needs_spark()
    for name in ("examples", "grammars", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    Reader(page, tmp_path).read()


def test_what_is_not_run_is_little_and_has_a_reason() -> None:
    left = [
        f"{page.relative_to(ROOT)}:{block.line}: {block.marks['not run']}"
        for page in PAGES
        for block in blocks(page)
        if "not run" in block.marks
    ]
    assert len(left) <= FEW, "\n".join(left)


def test_constructs_of_the_language_are_one_rule_file(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    table = page.partition("## Constructs\n")[2].partition("\n## ")[0]
    examples = re.findall(r"^\|.*\| `(.+)` \|$", table, re.M)
    assert len(examples) > 20
    file = tmp_path / "constructs.vada"
    file.write_text("\n".join(examples), encoding="utf-8")
    found = examine_file(str(file))
    assert found.program is not None, str(found)


def test_only_known_kinds_of_blocks() -> None:
    for page in PAGES:
        for block in blocks(page):
            known = hasattr(Reader, f"do_{block.language or 'nothing'}") or "not run" in block.marks
            assert known, (
                f"{page.relative_to(ROOT)}:{block.line}: a block of {block.language or 'no language'}"
            )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```console\n$ kgreason check missing.vada\n```\n", "ends with 1, not 0"),
        ("```console\n$ echo a\nb\n```\n", "the page shows b but it says a"),
        ("```console\n$ echo a\n```\nIt says:\n```text\nb\n```\n", "page.md:5: the page shows b"),
        ("```python\nassert 1 == 2, 'no'\n```\n", "page.md:1: no"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected: 3 Got: 2"),
        ("```python\nx = 1\n```\n<!-- check\nassert x == 2, 'x'\n-->\n", "page.md:4: x"),
        ("```prolog\np(X) :- q(Y).\n#F :- q(X), Z > 1.\n```\n", "E101"),
        ("```text\na\n```\n", "a text that no command says"),
        ("<!-- exit: 1 -->\n```console\n$ true\n```\n", "ends with 0, not 1"),
    ],
)
def test_a_page_that_is_wrong_fails(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    reader = Reader(page, tmp_path)
    with pytest.raises(AssertionError) as caught:
        reader.read()
    assert message in " ".join(str(caught.value).split())


def test_wrong_syntax_and_marks_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- fragment: short -->\n```prolog\np(X) :-\n```\n", encoding="utf-8")
    with pytest.raises(KgreasonError):
        Reader(page, tmp_path).do(next(blocks(page)))
    for text in ("<!-- not run -->\n```sh\nx\n```\n", "<!-- varies: a -->\nb\n```text\nx\n```\n"):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(PageError):
            list(blocks(page))


def test_the_folder_of_a_page_stands_for_files_and_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: a.csv -->\n```csv\nx,y\n1,2\n```\n"
        "```console\n$ cat a.csv | head -n 1\nx,y\n$ cat a.csv\nx,y\n...\n```\n"
        "<!-- output of: cat a.csv -->\n```text\nx,y\n1,2\n```\n"
        "<!-- setup\necho 5 > b\n-->\n```console\n$ cat b\n```\nThis says:\n```text\n5\n```\n",
        encoding="utf-8",
    )
    Reader(page, tmp_path).read()
