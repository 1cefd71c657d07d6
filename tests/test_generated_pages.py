"""Reference that the site generates: it has every option, command, format and code."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from kgreason.cli import app
from kgreason.data.format_list import FUNCTIONS
from kgreason.data.source_options import Options
from tests.folders import ROOT

DOCS = ROOT / "docs"
HEADINGS = ["Guarantee", "Algorithm", "Options", "Example", "Limits"]
METHODS = sorted(p for p in (DOCS / "methods").glob("*.md") if p.stem != "README")
WORDS = 30_000
"""Words of all pages without diagnostics, reproduction and README; a word has a letter or a digit."""


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "hooks" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", METHODS, ids=lambda p: p.stem)
def test_the_page_of_a_method(path: Path, reference: ModuleType) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.M) == HEADINGS
    family, method = re.findall(r"^<!-- options: (\w+) ([\w-]+) -->$", text, re.M)[0]
    assert method == path.stem
    listed = reference.options(family, method)
    names = {each.name for each in fields(reference.settings_of(family, method))}
    assert names == set(re.findall(r"\| <code>(\w+)</code> \|", listed))


def test_all_settings_are_on_one_page(reference: ModuleType) -> None:
    assert sorted(re.findall(r"^## ([\w-]+)$", reference.options(), re.M)) == [p.stem for p in METHODS]


def test_all_commands_and_their_options(reference: ModuleType) -> None:
    text = reference.commands()
    for name, command in app.commands.items():
        for one, each in getattr(command, "commands", {"": command}).items():
            section = text.partition(f"# kgreason {name} {one}".rstrip() + "\n")[2].partition("\n## ")[0]
            told = section + text.partition("\n## kgreason")[0]
            given = [option.opts[-1] for option in each.params if option.opts[-1].startswith("-")]
            assert [flag for flag in given if flag not in told and flag not in ("-h", "--help")] == []


def test_all_formats_and_options(reference: ModuleType) -> None:
    text = reference.formats()
    assert all(f"| <code>{name}</code> |" in text for name in FUNCTIONS)
    for each in fields(Options):
        option = each.metadata.get("option")
        assert option is None or f"| <code>{option.spelling or each.name}</code> |" in text


def test_all_diagnostics(reference: ModuleType) -> None:
    codes = [p.stem for p in sorted((DOCS / "diagnostics").glob("[EW]*.md"))]
    assert re.findall(r"^\| \[(\w+)\]\(\1\.md\) \| .+ \|$", reference.diagnostics(), re.M) == codes


def test_all_rule_files(reference: ModuleType) -> None:
    text = reference.rules()
    for file in (ROOT / "rules").glob("*.vada"):
        section = text.partition(f"### {file.stem}\n")[2].partition("\n### ")[0]
        assert "| Derived | Meaning |" in section, file
        assert f"--rules {file.name}" in section, file


def test_pages_are_short() -> None:
    pages = [
        p for p in DOCS.rglob("*.md") if p.parent.name != "reproduction" and not re.match(r"[EW]\d", p.stem)
    ]
    words = [word for p in pages for word in p.read_text(encoding="utf-8").split() if re.search(r"\w", word)]
    assert len(words) <= WORDS


def test_pages_that_the_code_names_exist() -> None:
    for source in (*(ROOT / "kgreason").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", source.read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), f"{source}: {name}"
