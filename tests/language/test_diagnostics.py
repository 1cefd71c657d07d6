"""Every diagnostic has a page in docs/diagnostics, whose example gives exactly the text that the page shows."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import kgreason
from kgreason.base.errors import KgreasonError, render_all
from kgreason.isomorphism.arguments import anonymizable
from kgreason.language.check.program_checker import examine_file
from kgreason.reasoning.in_parts import plan_parts

PACKAGE = Path(kgreason.__file__).resolve().parent
DOCS = PACKAGE.parent / "docs" / "diagnostics"
PAGES = sorted(DOCS.glob("[EW]*.md"))
CODE = re.compile(r'"([EW]\d{3})"')
BLOCK = re.compile(r"(?:^`([^`\n]+)`(?: says)?:\n\n)?^```(\w+)\n(.*?)\n```$", re.M | re.S)
LATIN = re.compile(r"^(?:The file|`(.+)`) is saved as Latin-1\.$", re.M)
REST = re.compile(r"^`\.\.\.` stands for the conditions `X != (\d+)` to `X != (\d+)`", re.M)
CHAIN = re.compile(r"^`file1.vada` to `file(\d+).vada` include the next one", re.M)


@dataclass
class Page:
    """A page taken apart: its example files, the command that it shows, and what that says."""

    text: str
    command: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    said: str = ""


def read_page(path: Path) -> Page:
    page = Page(path.read_text(encoding="utf-8"))
    for words, language, block in BLOCK.findall(page.text):
        if language == "prolog":
            page.files[words or "example.vada"] = block + "\n"
        else:
            page.command, page.said = shlex.split(words), block
    if rest := REST.search(page.text):
        conditions = "\n".join(f"    X != {i}," for i in range(int(rest[1]), int(rest[2]) + 1))
        page.files = {
            name: text.replace(" ... ", f"\n{conditions}\n    ") for name, text in page.files.items()
        }
    return page


def write(page: Page, folder: Path) -> None:
    """Write the example files; a page says which of them is in another encoding, and where a long chain goes on."""
    latin = {m[1] or "example.vada" for m in LATIN.finditer(page.text)}
    for name, text in page.files.items():
        (folder / name).write_text(text, encoding="latin-1" if name in latin else "utf-8")
    if chain := CHAIN.search(page.text):
        last = int(chain[1])
        for i in range(1, last + 1):
            (folder / f"file{i}.vada").write_text(f'@include("file{i + 1}").\np({i}).\n', encoding="utf-8")
        (folder / f"file{last + 1}.vada").write_text("p(0).\n", encoding="utf-8")


def said(page: Page, folder: Path) -> str:
    """Run the command of a page in its folder; the text of what went wrong."""
    write(page, folder)
    kgreason_, command, *words = page.command
    assert kgreason_ == "kgreason"
    if command == "check" and words[0] == "--parts":
        program = kgreason.load(Path("example.vada"))
        return render_all(plan_parts(program)[1], program.sources)
    if command == "check":
        return str(examine_file(words[0]))
    try:
        program = kgreason.load(Path("example.vada"))
        if command == "explain":
            kgreason.explain(program, words[-1])
        elif command == "anonymize":
            anonymizable(program)
        else:
            return render_all(kgreason.reason(program).warnings, program.sources)
    except KgreasonError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = read_page(path)
    assert page.text.startswith(f"# {path.stem}: ")
    assert f"[{path.stem}]" in page.said
    assert "**Fix.**" in page.text
    assert said(page, tmp_path) == page.said


def test_every_code_has_a_page() -> None:
    used = {
        code
        for source in PACKAGE.rglob("*.py")
        for code in CODE.findall(re.sub(r">>> .*", "", source.read_text(encoding="utf-8")))
    }
    assert sorted(used) == [p.stem for p in PAGES]
